"""Each format gives back the texts and spans that were written."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_hosemi.formats import ReaderSettings, read_annotations
from spacy_hosemi.formats.reading import recognize
from spacy_hosemi.formats.sources import SourceText

from .exports import OF_TOKENS, REFERENCES, WRITERS, anystyle, spans_of, text_of

ALL = pytest.mark.parametrize("name", WRITERS)


def read(tmp_path, text, name="file", encoding="utf-8", settings=None, **more):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return read_annotations(path, settings=settings, **more)


def spans(text):
    return [tuple(span[:3]) for span in text.spans]


def messages(found):
    return [str(fault) for fault in found.faults]


@ALL
def test_an_export_is_recognized_and_read(tmp_path, name):
    reader, write = WRITERS[name]
    found = read(tmp_path, write(REFERENCES))
    assert not found.faults and found.formats == {reader: 1}
    assert [text.text for text in found.texts] == [text_of(x) for x in REFERENCES]
    assert [spans(text) for text in found.texts] == [spans_of(x) for x in REFERENCES]
    assert found.n_spans == sum(map(len, map(spans_of, REFERENCES)))
    assert all((text.tokens is not None) == (name in OF_TOKENS) for text in found.texts)


words = st.text("abZé#<&,\"'1漢😀", min_size=1, max_size=5)
phrases = st.lists(words, min_size=1, max_size=3).map(" ".join)
labels = st.sampled_from(["author", "title", "date"])
segments = st.lists(st.tuples(phrases, st.none() | labels), min_size=1, max_size=6)


@ALL
def test_backslashes(tmp_path, name):
    """What looks like an escaped line break is text, as in LaTeX."""
    segments = [("Of \\nu and", "author"), (r"C:\new \n", "title"), ("1879", "date")]
    found = read(tmp_path, WRITERS[name][1]([segments]), format=WRITERS[name][0])
    assert messages(found) == []
    assert found.texts[0].text.strip() == text_of(segments)
    assert spans(found.texts[0]) == spans_of(segments)


def once(found):
    """Each label once, each field other words: what a table can say."""
    seen, texts = set(), []
    for i, (phrase, label) in enumerate(found):
        texts.append((f"{phrase}x{i}x", label if label not in seen else None))
        seen.add(label)
    return texts


PREPARE = {
    "csv": once,
    "csv, tabs": once,
    "xml, AnyStyle": lambda x: [(words, label or "note") for words, label in x],
}


@ALL
@settings(max_examples=15, deadline=None)
@given(texts=st.lists(segments, min_size=1, max_size=4))
def test_what_is_written_is_read(tmp_path_factory, name, texts):
    reader, write = WRITERS[name]
    prepare = PREPARE.get(name, lambda x: x)
    texts = [prepare(x) for x in texts]
    found = read(tmp_path_factory.mktemp("x"), write(texts), format=reader)
    if not any(spans_of(x) for x in texts) and reader == "csv":
        return  # no column has a value
    assert messages(found) == []
    assert [text.text for text in found.texts] == [text_of(x) for x in texts]
    assert [spans(text) for text in found.texts] == [spans_of(x) for x in texts]


@ALL
@pytest.mark.parametrize("mark, encoding", [("\ufeff", "utf-8"), ("", "utf-16")])
def test_marks_of_byte_order(tmp_path, name, mark, encoding):
    found = read(tmp_path, mark + WRITERS[name][1](REFERENCES), encoding=encoding)
    assert not found.faults and len(found.texts) == len(REFERENCES)


@ALL
def test_line_ends_of_windows(tmp_path, name):
    text = WRITERS[name][1](REFERENCES).replace("\r\n", "\n").replace("\n", "\r\n")
    found = read(tmp_path, text)
    assert [spans(text) for text in found.texts] == [spans_of(x) for x in REFERENCES]


def write_brat(folder, segments, name="a", more=""):
    text = text_of(segments)
    (folder / f"{name}.txt").write_text(text, "utf-8")
    lines = [
        f"T{i}\t{label} {s} {e}\t{text[s:e]}\n"
        for i, (s, e, label) in enumerate(spans_of(segments))
    ]
    (folder / f"{name}.ann").write_text("".join(lines) + more, "utf-8")


def test_brat(tmp_path):
    other = "R1\tof Arg1:T0 Arg2:T1\n#1\tAnnotatorNotes T0\tsure?\n*\tEquiv T0 T1\n"
    write_brat(tmp_path, REFERENCES[0], "a", other)
    write_brat(tmp_path, REFERENCES[1], "b")
    found = read_annotations(tmp_path)
    assert not found.faults and found.formats == {"brat": 2}
    assert [spans(text) for text in found.texts] == list(map(spans_of, REFERENCES[:2]))
    assert [text.meta["doc_id"] for text in found.texts] == ["a", "b"]
    (same,) = read_annotations(tmp_path / "a.txt", "brat").texts
    assert same == found.texts[0]
    without = read(tmp_path, "T1\tauthor 0 5\tFrege\n", "c.ann")
    assert "there is no c.txt" in messages(without)[0]


def test_pairs_of_a_text_and_its_spans(tmp_path):
    text = '[["Frege 1879", [[0, 5, "author"]]], ["x", []], ["y", [[0]]]]'
    found = read(tmp_path, text)
    assert found.formats == {"spacy": 1}
    assert [spans(text) for text in found.texts] == [[(0, 5, "author")], []]
    assert 'expected [text, {"entities": [..]}]' in messages(found)[0]


def test_only_what_was_accepted(tmp_path):
    lines = '{"text": "a", "spans": [], "answer": "reject"}\n' * 2
    lines += '{"text": "b", "answer": "accept"}\n{"text": "c", "answer": "ignore"}\n'
    lines += '{"text": "d", "answer": "maybe"}\n'
    found = read(tmp_path, lines)
    assert [text.text for text in found.texts] == ["b"]
    assert found.skipped == {"rejected": 2, "ignored": 1}
    assert ':5: "answer" is "maybe"; expected accept' in messages(found)[0]


def task(*annotations, **data):
    made = [
        {"result": [{"value": x} for x in values], **more}
        for values, more in annotations
    ]
    return {"data": data or {"text": "Frege 1879"}, "annotations": made}


AUTHOR = {"start": 0, "end": 5, "labels": ["author"], "text": "Frege"}
DATE = {"start": 6, "end": 10, "labels": ["date"], "text": "1879"}
OTHER = {"of another annotator": 1}
CANCELLED = [], {"was_cancelled": True}


@pytest.mark.parametrize(
    "one, labels, skipped",
    [
        (task(([AUTHOR], {}), ([DATE], {})), ["date"], OTHER),
        (task(([AUTHOR], {"ground_truth": True}), ([DATE], {})), ["author"], OTHER),
        (task(([AUTHOR], {}), CANCELLED), ["author"], {"cancelled": 1}),
        (task(CANCELLED), None, {"cancelled": 1}),
        (task(), None, {"without annotation": 1}),
        ({**task(), "predictions": [{}]}, None, {"predicted, not annotated": 1}),
        (task(([AUTHOR, {"choices": ["x"]}], {})), ["author"], {}),
        (task(([AUTHOR], {}), reference="Frege 1879"), ["author"], {}),
    ],
)
def test_tasks_of_label_studio(tmp_path, one, labels, skipped):
    found = read(tmp_path, json.dumps([one]))
    assert not found.faults and found.skipped == skipped
    expected = [] if labels is None else [labels]
    assert [[span.label for span in text.spans] for text in found.texts] == expected


def test_documents_and_comments_of_columns(tmp_path):
    first = "-DOCSTART- O\n\n# id = r1\nFrege B-author\n# O\n\n"
    first, second = read(tmp_path, f"{first}-DOCSTART- O\n\n1879 B-date\n").texts
    assert first.tokens == ("Frege", "#")
    assert first.meta == {"id": "r1", "docstart": "1"}
    assert second.meta == {"docstart": "2"}


TWEETS = "love\tV\tO\n#Berlin\tN\tB-LOC\n\n#Paris\tN\tB-LOC\nrocks\tV\tO\n"


@pytest.mark.parametrize("separator", ["\t", " "])
@pytest.mark.parametrize("columns", [None, (1, 3), (1, -1)])
def test_tokens_with_a_hash(tmp_path, separator, columns):
    text = TWEETS.replace("\t", separator)
    first, second = read(tmp_path, text, settings=ReaderSettings(columns=columns)).texts
    assert (first.tokens, spans(first)) == (("love", "#Berlin"), [(5, 12, "LOC")])
    assert (second.tokens, spans(second)) == (("#Paris", "rocks"), [(0, 6, "LOC")])


@pytest.mark.parametrize(
    "text, tokens, meta",
    [
        ("EU\tx\tORG\n#tag\tx\tHASH\n", ("EU", "#tag"), {}),
        ("EU x ORG\n#tag x HASH\n", ("EU", "#tag"), {}),
        ("# id = 3\nEU x x ORG\n#tag x x HASH\n", ("EU", "#tag"), {"id": "3"}),
        ("# id = 3\nEU x x B-ORG\n# x x O\n", ("EU", "#"), {"id": "3"}),
        ("#begin document\nEU B-ORG\n", ("EU",), {"begin": "document"}),
        ("# a comment ends with O\nEU x B-ORG\n", ("EU",), {"a": "comment"}),
        ("#EU B-ORG\n#is O\n", ("#EU", "#is"), {}),
    ],
)
def test_comments_cannot_be_rows(tmp_path, text, tokens, meta):
    found = read(tmp_path, text, format="columns")
    assert not found.faults
    (only,) = found.texts
    assert (only.tokens, only.meta) == (tokens, meta)


@pytest.mark.parametrize("row", ["#tag\tB-HASH", "#\tx\ty\tO"])
def test_faulty_rows_with_a_hash(tmp_path, row):
    found = read(tmp_path, f"EU\tx\tB-ORG\n{row}\nis\tx\tO\n")
    assert ":2: has" in messages(found)[0] and "expected 3" in messages(found)[0]


@pytest.mark.parametrize("columns", [None, (2, 3)])
def test_documents_begin_in_the_column_of_tokens(tmp_path, columns):
    text = "1 -DOCSTART- O\n\n1 EU B-ORG\n2 is O\n1 -DOCSTART- O\n1 far O\n"
    found = read(tmp_path, text, settings=ReaderSettings(columns=columns))
    assert [text.tokens for text in found.texts] == [("EU", "is"), ("far",)]
    assert [text.meta["docstart"] for text in found.texts] == ["1", "2"]


@pytest.mark.parametrize(
    "text, format, found",
    [
        ('{"text": "a", "spans": []}\n', "auto", "looks like jsonl"),
        ('{"other": "a"}\n', "auto", "looks like JSON"),
        ("text,author\nFrege 1879,Frege\n", "auto", "looks like csv"),
        ("a O\n", "csv", "is to be read as csv"),
    ],
)
def test_columns_of_other_formats(tmp_path, text, format, found):
    settings = ReaderSettings(columns=(1, 2))
    with pytest.raises(ValueError, match=f"HS305.*file {found}.*--columns"):
        read(tmp_path, text, settings=settings, format=format)
    (tmp_path / "b.conll").write_text("a O\n")
    (tmp_path / "file").rename(tmp_path / "a.json")
    both = read_annotations(tmp_path, format, settings)
    assert found in messages(both)[0]
    assert read(tmp_path, "[ x\n", settings=settings).texts[0].tokens == ("[",)


@pytest.mark.parametrize(
    "value, expected",
    [(x, "Fuzzy Sets") for x in ("Fuzzy  sets", "FUZZY SETS")]
    + [("ﬁeld", "field"), ("１９６５", "1965"), ("3", "3")],
)
def test_values_are_found_in_spite_of_their_form(tmp_path, value, expected):
    text = "Fuzzy Sets in a field 1965 13(3)"
    (found,) = read(tmp_path, f"text,a\n{text},{value}\n").texts
    assert [text[s:e] for s, e, _ in spans(found)] == [expected]


def test_a_value_takes_the_next_free_place(tmp_path):
    found = read(tmp_path, "text,volume,number,pages\n3(3):3-9,3,3,3-9\n")
    labels = (0, 1, "volume"), (2, 3, "number"), (5, 8, "pages")
    assert spans(found.texts[0]) == [*labels]


@pytest.mark.parametrize(
    "row, n",
    [
        ("Cantor 1879. On 1879.,1879,", 1),
        ("In 1880: Bar 1880,1880,Bar", 1),
        ("3(3) 4,3,3", 2),  # the order of columns decides
        ("7 and 7: Cantor,7 | 7,Cantor", 0),
        ("Baz 7 1-7 1990,1-7,1990", 0),
        ("Aa 4 44-45 AA,44,Aa", 0),
        ("44-45 4 aa AA,4,Aa", 1),
    ],
)
def test_values_that_stand_elsewhere_too(tmp_path, row, n):
    found = read(tmp_path, f"text,a,b\n{row}\n")
    assert sum(text.n_ambiguous for text in found.texts) == n


def test_values_that_are_not_in_the_text(tmp_path):
    table = "text,author,source_url\nFrege 1879,Frege,x/1\nZadeh 1965,Gödel,x/2\n"
    found = read(tmp_path, table)
    assert [text.text for text in found.texts] == ["Frege 1879"]
    (message,) = messages(found)
    assert ':3: "author" is "Gödel", which is not in the text' in message
    rarely = "whose values are rarely in their texts"
    assert found.skipped == {f'column "source_url", {rarely}': 1}
    found = read(tmp_path, table, settings=ReaderSettings(fields=("source_url",)))
    assert len(found.faults) == 2


def test_nested_elements(tmp_path):
    text = (
        "<listBibl><bibl n='7'>[1] <author><persName>G. <surname>Frege</surname>"
        '</persName></author>,\n  <hi><title level="m">Be&#103;riff</title></hi>'
        '<lb/>(<date> 1879 </date>), <biblScope unit="volume">1</biblScope>.</bibl>'
        "</listBibl>"
    )
    (found,) = read(tmp_path, text).texts
    assert found.text == "[1] G. Frege, Begriff ( 1879 ), 1."
    assert [(found.text[s:e], label) for s, e, label in spans(found)] == [
        ("G. Frege", "author"),
        ("Begriff", "title:m"),
        ("1879", "date"),
        ("1", "biblScope:volume"),
    ]
    assert found.meta == {"n": "7"}
    more = text.replace("</bibl>", "<note><p> </p></note></bibl>")
    outer = read(tmp_path, more)
    within = "element(s) within others; --inner reads these, not those around them"
    assert outer.skipped == {within: 2, "empty element(s)": 2}
    inner = read(tmp_path, more, settings=ReaderSettings(inner=True))
    assert inner.skipped == {"element(s) around others": 2, "empty element(s)": 2}
    assert spans(inner.texts[0]) == [(7, 12, "surname"), *spans(found)[1:]]


WORDS = "<d><a><n>1</n> <s>Main</s> <s>Oak</s> <s>St</s>, <s>x</s> <c>U</c></a></d>"


@pytest.mark.parametrize(
    "join, text, expected",
    [
        (True, WORDS, [(0, 1, "n"), (2, 13, "s"), (15, 16, "s"), (17, 18, "c")]),
        (False, WORDS, None),
        (None, WORDS, "HS377.*each word, and 2 of 6 .*--join if they are, --no-join"),
        (None, WORDS.replace("Main", "Main Old"), None),
    ],
)
def test_an_element_for_each_word(tmp_path, join, text, expected):
    settings = ReaderSettings(text_key="a", join=join)
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            read(tmp_path, text, settings=settings, format="xml")
        return
    (found,) = read(tmp_path, text, settings=settings, format="xml").texts
    assert spans(found) == expected if join else len(found.spans) == 6


@pytest.mark.parametrize("more", [{"inner": True}, {"join": True}, {"join": False}])
def test_other_formats_have_no_elements(tmp_path, more):
    with pytest.raises(ValueError, match="HS325.*columns, and --.* expected xml"):
        read(tmp_path, "a B-x\n", settings=ReaderSettings(**more))


def test_fields_of_anystyle_on_one_line(tmp_path):
    text = anystyle(REFERENCES).replace("\n", "").replace("  ", "")
    found = read(tmp_path, text)
    assert [x.text for x in found.texts] == [text_of(x) for x in REFERENCES]


def test_another_key_has_the_text(tmp_path):
    for key, reader, text in (
        ("raw", "jsonl", '{"raw": "Frege", "spans": [[0, 5, "author"]]}'),
        ("ref", "xml", "<a><ref><author>Frege</author></ref></a>"),
    ):
        own = ReaderSettings(text_key=key)
        (found,) = read(tmp_path, text, settings=own, format=reader).texts
        assert spans(found) == [(0, 5, "author")]


@pytest.mark.parametrize(
    "text, said",
    [
        ("Dear reader", "has an unknown format"),
        ('{"a": 1}', "has an unknown format"),
        ("name,value\n1,2\n", "has an unknown format"),
        ("File,Line,Begin Offset\na.txt,0,0\n", "has an unknown format"),
        ("<html><body>x</body></html>", "has an unknown format"),
        ('{"text": "a", "spans": [], "label": []}', "may be jsonl or doccano"),
    ],
)
def test_unknown_and_ambiguous_files(text, said):
    with pytest.raises(ValueError, match="HS165") as raised:
        recognize(SourceText("file", text))
    assert said in str(raised.value) and "--format" in str(raised.value)


def test_json_lines_whose_text_looks_like_columns(tmp_path):
    line = '{"text": "  B-PER  1\x85x\u2028,\\t\\u000b", "spans": [[2, 7, "A"]]}\n'
    assert read(tmp_path, line).formats == {"jsonl": 1}
