"""Bad files: each fault is named with its line, and all else is read."""

import re
import time

import pytest

from spacy_hosemi.formats import ReaderSettings, read_annotations

from .exports import REFERENCES, WRITERS, jsonl, label_studio, table
from .test_readers import ALL, messages, read, write_brat


def lines_of(*records):
    return "".join(record + "\n" for record in records)


GOOD = '{"text": "Frege 1879", "spans": [[0, 5, "author"]]}'


OUTSIDE = "0, 11", "-1, 5", "5, 0"


def with_spans(spans):
    return f'{{"text": "Frege 1879", "spans": {spans}}}'


@pytest.mark.parametrize(
    "record, said",
    [
        ("{", "is not JSON: Expecting property name"),
        ('{"text": "a", "spans": [[0', "is the file cut off?"),
        ("[1, 2]", "expected an object, found [1, 2]"),
        ('"text"', 'expected an object, found "text"'),
        ('{"spans": []}', 'the key "text" is missing; keys are "spans"'),
        ('{"text": "a"}', 'the key "spans" is missing'),
        ('{"text": 3, "spans": []}', 'expected a string as "text", found 3'),
        ('{"text": "", "spans": [[0, 1, "a"]]}', "not inside the 0 characters"),
        (with_spans("3"), "expected a list of spans, found 3"),
        (with_spans("[[0, 5]]"), "expected [start, end, label], found [0, 5]"),
        (with_spans('[["0", 5, "a"]]'), 'expected whole numbers as start and end'),
        (with_spans("[[0, true, 1]]"), "expected whole numbers"),
        (with_spans("[[0, 5, null]]"), "expected a string as label, found None"),
        (with_spans('[[0, 5, ""]]'), "empty label"),
        (with_spans('[[0, 5, "a\\nb"]]'), 'the label "a\\nb"; expected printable'),
        (with_spans('[[0, 5, " a"]]'), 'the label " a"; expected printable'),
        *((with_spans(f'[[{x}, "a"]]'), "not inside the 10 c") for x in OUTSIDE),
        (with_spans('[[3, 3, "a"]]'), "is empty; expected its end after its start"),
        (with_spans('[[5, 6, "a"]]'), "white space alone"),
        (with_spans('[[0, 5, "a"], [3, 9, "b"]]'), '"a"] "Frege" and [3, 9, "b"] "ge '),
        (with_spans('[[0, 5, "a"], [0, 5, "b"]]'), "overlap; expected one of them"),
        ('{"text": "\\ud83d x", "spans": []}', "half a character (a lone"),
        ('{"tokens": [1], "spans": []}', "expected tokens with a letter, found 1"),
        ('{"tokens": ["a", " "], "spans": []}', 'a letter, found " "'),
        ('{"tokens": "a", "spans": []}', 'expected a list as "tokens", found "a"'),
        ('{"tokens": ["a"], "spans": [[0, 2, "x"]]}', "not inside the 1 tokens"),
        ("[" * 100_000, "is not JSON"),
        ('{"text": "a", "spans": [], "text": "b"}', 'has the key "text" twice'),
        (with_spans('[{"start": 0, "start": 1}]'), 'has the key "start" twice'),
    ],
)  # fmt: skip
def test_each_fault_has_its_line(tmp_path, record, said):
    found = read(tmp_path, lines_of(GOOD, "", record, GOOD), "x.jsonl", format="jsonl")
    (message,) = messages(found)
    assert message.startswith(f"{tmp_path / 'x.jsonl'}:3: ") and said in message
    assert "\n" not in message and len(message) < 300 + len(str(tmp_path))
    assert len(found.texts) == 2


@pytest.mark.parametrize(
    "name, content",
    [
        ("x.jsonl", '{"text": " ", "spans": []}\n{"text": "a", "spans": []}'),
        ("x.csv", "line,record_confidence,x,text\n1,1,,\n2,1,a,a"),
        ("x.csv", "line,text,start,end,label\n1,,,,\n2,a,0,1,x"),
        ("x.xml", "<d><sequence></sequence>\n<sequence><x>a</x></sequence></d>"),
    ],
)
def test_empty_texts_are_counted(tmp_path, name, content):
    found = read(tmp_path, content, name)
    assert not found.faults and found.skipped == {"empty text(s)": 1}
    assert [text.text for text in found.texts] == ["a"]


def test_a_span_given_twice_is_read_once(tmp_path):
    found = read(tmp_path, with_spans('[[0, 5, "a"], [0, 5, "a"]]'), "x.jsonl")
    assert "is given twice" in messages(found)[0]
    assert [tuple(span[:3]) for span in found.texts[0].spans] == [(0, 5, "a")]


@ALL
def test_every_beginning_of_a_file(tmp_path, name):
    """Wherever a file is cut off, what is whole is read, and it never ends otherwise
    than with texts or faults."""
    reader, write = WRITERS[name]
    whole = write(REFERENCES)
    expected = read(tmp_path, whole, format=reader).texts
    n_faulty = 0
    for end in range(0, len(whole), max(len(whole) // 40, 1)):
        try:
            found = read(tmp_path, whole[:end], format=reader)
        except ValueError as e:  # cut off in the header
            assert reader == "csv" and "HS162" in str(e)
            continue
        n_faulty += bool(found.faults)
        for text, same in zip(found.texts[:-1], expected):
            assert text.text == same.text
    assert n_faulty or reader == "columns"


@ALL
def test_every_reader_on_every_other_format(tmp_path, name):
    text = WRITERS[name][1](REFERENCES)
    for reader in {reader for reader, _ in WRITERS.values()} - {WRITERS[name][0]}:
        try:
            found = read(tmp_path, text, format=reader)
        except ValueError as e:
            assert reader == "csv" and "HS162" in str(e)
            continue
        # Prodigy and JSON lines may have the same keys.
        assert found.faults or found.texts, reader


@ALL
def test_empty_files(tmp_path, name):
    for text in ("", "\n \n", " [] \n", "{}"):
        found = read(tmp_path, text, format=WRITERS[name][0])
        assert "is empty; expected annotated texts" in messages(found)[0]


def test_a_table_of_a_header_alone(tmp_path):
    for text in ("text,date", "text\tdate\n", "\ufeffText;date\n", "line,raw\n,\n"):
        assert "has no text" in messages(read(tmp_path, text))[0]
    for text in ("date,title\n", "date,title\n1987,x\n", "x"):
        (tmp_path / "x.TSV").write_text(text, "utf8")
        with pytest.raises(ValueError, match="HS162.*no column 'text'.*Rename or"):
            read_annotations(tmp_path / "x.TSV")


def test_an_xml_file_without_texts(tmp_path):
    empty = read(tmp_path, "<dataset></dataset>", format="xml")
    assert "has no element <sequence> or <bibl>" in messages(empty)[0]


@pytest.mark.parametrize(
    "raw, said, encoding",
    [
        ("Gödel".encode("latin-1"), "it looks like latin-1; give", "latin-1"),
        ("“Gödel”".encode("cp1252"), "it looks like cp1252; give", "cp1252"),
        ("xé".encode()[:-1], "ends within a character: the file is cut off", None),
        (b"\x80\0\0\1", "is a binary file", None),
    ],
)
def test_other_encodings(tmp_path, raw, said, encoding):
    path = tmp_path / "x.jsonl"
    head, tail = b'{"text": "a", "spans": []}\n{"text": "', b'", "spans": []}\n'
    path.write_bytes(head + raw + (tail if encoding else b""))
    found = read_annotations(path)
    (message,) = messages(found)
    assert message.startswith(f"{path}:2: ") and said in message
    assert not found.texts
    if encoding:
        settings = ReaderSettings(encoding=encoding)
        assert len(read_annotations(path, settings=settings).texts) == 2


@pytest.mark.parametrize(
    "text, encoding, said",
    [
        ("é", "ascii", "is not ascii: .*byte 0xc3.; give"),
        ("xn--a", "idna", "is not idna: .*; give"),  # it does not say where
    ],
)
def test_a_wrong_encoding_is_named(tmp_path, text, encoding, said):
    settings = ReaderSettings(encoding=encoding)
    (message,) = messages(read(tmp_path, text, settings=settings))
    assert re.search(f"{said} --encoding$", message)


def test_a_long_line(tmp_path):
    """A line of 10 MB is one fault, and takes no time."""
    long = jsonl([[("x" * 10_000_000, "author")]])
    found = read(tmp_path, lines_of(GOOD) + long + lines_of(GOOD))
    said = ":2: the text has 10,000,000 characters; expected at most 1,000,000"
    assert said in messages(found)[0] and len(found.faults) == 1
    assert len(found.texts) == 2


def test_mixed_files(tmp_path):
    doccano = '{"text": "Frege", "label": [[0, 5, "a"]]}'
    with pytest.raises(ValueError, match="HS165.*may be jsonl or doccano"):
        read(tmp_path, lines_of(GOOD, doccano))
    found = read(tmp_path, lines_of(GOOD, doccano), format="jsonl")
    assert len(found.texts) == 1 and 'the key "spans" is missing' in messages(found)[0]


def test_a_cut_list_gives_what_is_whole(tmp_path):
    whole = label_studio(REFERENCES)
    found = read(tmp_path, whole[: -len(whole) // 4])
    assert len(found.texts) == 2 and "is the file cut off?" in messages(found)[0]


def test_a_key_twice_in_a_list(tmp_path):
    twice = with_spans("[]")[:-1] + ', "spans": []}'
    found = read(tmp_path, f"[{GOOD},\n{twice},\n{GOOD}]")
    assert len(found.texts) == 2
    assert ':2: has the key "spans" twice; expected each once' in messages(found)[0]
    with pytest.raises(ValueError, match='HS165.*and line 1 has the key "spans" twice'):
        read(tmp_path, twice)


@pytest.mark.parametrize(
    "value, said",
    [
        ('{"start": 0, "end": 5, "labels": []}', "a region has no label"),
        ('{"start": 0, "end": 5, "labels": ["a", "b"]}', "a region has 2 labels"),
        ('{"start": "/p[1]", "startOffset": 0, "hypertextlabels": ["a"]}',
         "has paths into an HTML page; expected a project with a Text tag"),
        ('{"start": 0, "end": 4, "channel": 0, "labels": ["a"]}', "is of sound"),
        ('{"start": 0, "labels": ["a"]}', "expected whole numbers"),
        ('{"start": 0, "end": 5, "labels": ["a"], "text": "Zadeh"}',
         'is "Frege", the file says "Zadeh"'),
    ],
)  # fmt: skip
def test_regions_of_label_studio(tmp_path, value, said):
    result = f'[{{"value": {value}}}]'
    text = f'[{{"data": {{"text": "Frege"}}, "annotations": [{{"result": {result}}}]}}]'
    (message,) = messages(read(tmp_path, text, shift=0))
    assert said in message and ":1: " in message


@pytest.mark.parametrize(
    "text, line, said",
    [
        ("a B-x\nb I-y\n", 2, "has I-y after B-x; expected B-y"),
        ("a B-x\n\nb I-x\n", 3, "has I-x after the begin; expected B-x"),
        ("a B-x\nb L-x\nc I-x\n", 3, "has I-x; expected B-x before it"),
        ("a U-x\nb B-x\nc O\n", 3, "has O; expected I-x or the last of x"),
        ("a U-x\nb B-x\n", 2, 'ends within "x"; expected its last'),
        ("a (a*\nb (b*\nc *)\n\nd *\n", 2, "has B-b; expected I-a or the last of a"),
        ("a B-x\nb\nc O\n", 2, 'expected a token and a tag, found "b"'),
        ("a N B-x\nb O\nc N O\n", 2, 'has 2 columns, "b O"; expected 3'),
    ],
)
def test_tags_that_do_not_fit(tmp_path, text, line, said):
    good = "q N O\n" if " N " in text else "z O"
    found = read(tmp_path, f"{text}\n{good}\n", format="columns")
    assert f":{line}: {said}" in messages(found)[0]
    assert len(found.texts) >= 1


def test_rows_of_a_table(tmp_path):
    text = table(REFERENCES).replace("r1,", "r1,too,many,")
    found = read(tmp_path, text)
    (message,) = messages(found)
    assert ":3: has " in message and "as the header has" in message
    assert len(found.texts) == 2
    with pytest.raises(ValueError, match="HS162.*'raw'.*columns are"):
        read(tmp_path, text, format="csv", settings=ReaderSettings("raw"))
    with pytest.raises(ValueError, match="HS162.*'nothing'"):
        read(tmp_path, text, settings=ReaderSettings(fields=("nothing",)))


def test_xml_that_ends_in_the_middle(tmp_path):
    good = "<sequence><author>Frege</author></sequence>"
    found = read(tmp_path, f"<dataset>\n{good}\n<sequence>&</sequence>")
    (message,) = messages(found)
    assert ":3: is not XML that can be read: not well-formed" in message
    assert len(found.texts) == 1


@pytest.mark.parametrize("line", ["<bibl>a", "<sequence>a", "<bibl>&</bibl>", "<bibl"])
def test_xml_with_faults_on_each_line_takes_linear_time(tmp_path, line):
    began = time.process_time()
    assert messages(read(tmp_path, f"{line}\n" * 20_000, format="xml"))
    assert time.process_time() - began < 20


def test_entities_are_not_expanded(tmp_path):
    bomb = '<!DOCTYPE a [<!ENTITY x "xx">]><a><bibl>&x;</bibl></a>'
    assert "it declares entities; expected none" in messages(read(tmp_path, bomb))[0]


@pytest.mark.parametrize(
    "line, said",
    [
        ("T1 author 0 5 Frege", "is no annotation of brat"),
        ("T1\tauthor 0 x\tFrege", 'T1 has "author 0 x"'),
        ("T1\tauthor 0 5\tZadeh", 'is "Frege", the file says "Zadeh"'),
        ("hello", "is no annotation of brat"),
        ("Name 0 5\tFrege", "is no annotation of brat"),
        ("Event\tauthor 0 5\tFrege", "is no annotation of brat"),
        ("T9\tauthor 0 5;7 9\tFrege G.", "T9 is in pieces (author 0 5;7 9); expected"),
        ("T9\tdate 0 1;1 2;4 5\tF", "T9 is in pieces"),
    ],
)
def test_lines_of_brat(tmp_path, line, said):
    write_brat(tmp_path, REFERENCES[0], "a", line + "\n")
    found = read_annotations(tmp_path / "a.ann")
    (message,) = messages(found)
    assert message.startswith(f"{tmp_path / 'a.ann'}:4: ") and said in message
    assert not found.texts


@pytest.mark.parametrize(
    "more, code",
    [
        ({"format": "word"}, "HS164.*format is 'word'"),
        ({"ends": "open"}, "HS164.*ends is 'open'"),
        ({"unit": "bytes"}, "HS164.*offsets is 'bytes'"),
        *(
            ({"settings": ReaderSettings(encoding=name)}, f"HS161.*{name!r}")
            for name in ("utf-9", "base64", "rot13", "undefined")
        ),
    ],
)
def test_settings_are_checked(tmp_path, more, code):
    with pytest.raises(ValueError, match=code):
        read(tmp_path, GOOD, **more)


def test_there_must_be_a_file(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="HS160.*does not exist"):
        read_annotations(tmp_path / "nothing")
    with pytest.raises(ValueError, match="HS160.*is a folder without one"):
        read_annotations(tmp_path)
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(ValueError, match="HS160.*is closed"):
        read_annotations("-")


def test_one_of_several_files_is_unknown(tmp_path):
    (tmp_path / "a.jsonl").write_text(GOOD)
    (tmp_path / "b.json").write_text('{"a": 1}')
    found = read_annotations(tmp_path)
    assert len(found.texts) == 1
    assert "b.json: " in messages(found)[0] and "unknown format" in messages(found)[0]
