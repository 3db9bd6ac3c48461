"""What `hosemi parse` writes for annotation tools, `hosemi convert` reads."""

import csv
import io
import json
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_hosemi.formats.readers import ReaderSettings, inline
from spacy_hosemi.formats.records import (
    ExtractedField,
    ExtractedRecord,
    Segmentation,
)
from spacy_hosemi.formats.sources import SourceText
from spacy_hosemi.formats.tokenizers import blank_pipeline

from .test_readers import messages, phrases, read, segments, spans
from .test_writers import write

NAMES = ("csv", "jsonl", "json", "prodigy", "doccano", "label-studio", "xml")


@st.composite
def texts_and_spans(draw):
    """Texts with fields; words of any kind, some without a field."""
    parts = draw(segments)
    text, found = draw(phrases), []
    for words, label in parts:
        start = len(text) + 1
        text += f" {words}"
        found += [(start, len(text), label)] * (label is not None)
    return text, found


def record_of(line, text, found):
    fields = [ExtractedField(s, e, label, text[s:e], 0.5) for s, e, label in found]
    tokens = [(i, i + 1, False) for i in range(len(text))]
    others = [Segmentation([], 0.1)]
    return ExtractedRecord(line, text, Segmentation(fields, 0.9), others, tokens)


def annotated(text):
    """Tasks that someone accepted as they were predicted."""
    tasks = json.loads(text)
    for task in tasks:
        task["annotations"] = [{"result": task.pop("predictions")[0]["result"]}]
    return json.dumps(tasks)


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=20)
@given(st.lists(texts_and_spans(), min_size=1, max_size=4))
def test_there_and_back(tmp_path_factory, name, made):
    text = write(name, [record_of(i, *x) for i, x in enumerate(made, start=1)])
    text = annotated(text) if name == "label-studio" else text
    found = read(tmp_path_factory.mktemp("x"), text)
    assert messages(found) == []
    assert [x.text for x in found.texts] == [x for x, _ in made]
    assert [spans(x) for x in found.texts] == [x for _, x in made]
    if name != "prodigy":
        lines = [int(x.meta["line"]) for x in found.texts]
        assert lines == [*range(1, len(made) + 1)]


BESIDE = "U\u0308ber 3º Re\u03015, 2001a/‘E\u0301a’ 3º A4/👩‍👩‍👧 Mu\u0308ller a1b2 k9/"
BESIDE += "हिन्दी 12-15नरेन्द्रが दिल्ली/😀漢字、東京 ok2020 שָׁלוֹם 12km ที่ดี x1"


@pytest.mark.parametrize("name", ["jsonl", "doccano", "prodigy"])
@pytest.mark.parametrize("text", BESIDE.split("/"))
def test_single_spans_beside_combining_characters(tmp_path, name, text):
    """Whatever tokens a span has, its offsets are right, which nothing overrules."""
    doc = blank_pipeline(None, "en").make_doc(text)
    tokens = [(x.idx, x.idx + len(x), bool(x.whitespace_)) for x in doc]
    for first, last in combinations(range(len(doc) + 1), 2):
        place = doc[first:last].start_char, doc[first:last].end_char, "a"
        record = replace(record_of(1, text, [place]), tokens=tokens)
        for n in (1, 3):
            found = read(tmp_path, write(name, [record] * n))
            assert messages(found) == [] and spans(found.texts[0]) == [place]


DANGEROUS = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"


@pytest.mark.parametrize("name", ["csv", "table"])
@settings(deadline=None, max_examples=60)
@given(st.lists(st.text(f"' a{DANGEROUS}").filter(str.strip), min_size=1, max_size=3))
def test_no_cell_runs_as_a_formula(tmp_path_factory, name, texts):
    """And nothing is lost, apostrophes that were there among it."""
    label, made = "'=1+1", []
    for text in texts:
        start, value = text.index(text.strip()), text.strip()
        made.append((text, [(start, start + len(value), label)]))
    records = [record_of(i, *x) for i, x in enumerate(made, start=1)]
    text = write(name, records, labels=[label])
    cells = [cell for row in csv.reader(io.StringIO(text, "")) for cell in row]
    assert not any(cell[0] in DANGEROUS for cell in cells if cell)
    found = read(tmp_path_factory.mktemp("x"), text)
    assert messages(found) == []
    assert [x.text for x in found.texts] == texts
    assert [spans(x) for x in found.texts] == [x for _, x in made]
    as_it_is = write(name, records, labels=[label], is_safe=False)
    assert f"''{label}" not in as_it_is and label in as_it_is
    found = read(
        tmp_path_factory.mktemp("x"), as_it_is, settings=ReaderSettings(has_marks=False)
    )
    assert [x.text for x in found.texts] == texts


LABELS = ["title", "volume", "source", "text", "line", "verdict"]  # some as columns


def tables(made, has_verdicts=False):
    """What `hosemi parse -F table` writes of lines [(text, [(start, end, label)])]."""
    records = [record_of(i, *x) for i, x in enumerate(made, start=1)]
    return write("table", records, labels=LABELS, has_verdicts=has_verdicts)


BIBLIOGRAPHY = [
    ("1. On 2 sets 1879", [(3, 12, "title"), (13, 17, "volume")]),
    ("2. A | B, 1879, 1880", [(3, 8, "title"), (10, 14, "volume"), (16, 20, "volume")]),
    ("3. 7 and 7: Cantor", [(3, 4, "volume"), (9, 10, "volume"), (12, 18, "source")]),
    ("4. x y z", [(3, 4, "text"), (5, 6, "line"), (7, 8, "verdict")]),
    ("5. nothing", []),
]


@pytest.mark.parametrize("has_verdicts", [False, True])
@pytest.mark.parametrize("change", ["", "sep=;", "BOM", "CRLF"])
def test_a_table_of_records_comes_back(tmp_path, change, has_verdicts):
    """Line numbers are no fields, and cells with several values are several fields."""
    text = tables(BIBLIOGRAPHY, has_verdicts)
    if change == "sep=;":
        rows = csv.reader(io.StringIO(text))
        out = io.StringIO()
        csv.writer(out, delimiter=";").writerows(rows)
        text = "sep=;\r\n" + out.getvalue()
    elif change == "CRLF":
        text = text.replace("\n", "\r\n")
    text = "\ufeff" * (change == "BOM") + text
    found = read(tmp_path, text)
    assert messages(found) == [] and not found.skipped
    assert [(x.text, spans(x)) for x in found.texts] == BIBLIOGRAPHY
    assert [x.meta["line"] for x in found.texts] == ["1", "2", "3", "4", "5"]


def test_a_table_of_records_that_was_corrected(tmp_path):
    text = tables(BIBLIOGRAPHY)
    text = text.replace("On 2 sets", "On 2 sets 1879", 1).replace(",1879,", ",,", 1)
    text = text.replace("1879 | 1880", "1879 | 1881")
    found = read(tmp_path, text)
    assert spans(found.texts[0]) == [(3, 17, "title")]
    (message,) = messages(found)
    assert ':3: "volume" is "1881", which is not in the text' in message
    assert message.endswith("; a spreadsheet may have changed it")
    texts = [text for text, _ in BIBLIOGRAPHY]
    assert [x.text for x in found.texts] == texts[:1] + texts[2:]


def test_columns_of_other_tables_that_are_rarely_in_their_texts(tmp_path):
    rows = [("Ada 1", "Ada", "1"), ("Bob 2", "Bob", "7"), ("Cid 3", "Cid", "8")]
    table = "text,name,number\n" + "".join(",".join(row) + "\n" for row in rows)
    found = read(tmp_path, table)
    assert [spans(x) for x in found.texts] == [[(0, 3, "name")]] * 3
    said = 'column "number", whose values are rarely in their texts'
    assert [*found.skipped] == [said]


ODD = 'i b span sequence title:j x:y:z : a: - 9 ² 作者 ünï x1.2-3_ label xml:space q"<&'
ODD = [*ODD.split(), "a b"]
ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
PARTS = st.lists(st.tuples(ANY, st.sampled_from([None, *ODD])), min_size=1, max_size=6)


@settings(deadline=None, max_examples=200)
@given(st.lists(PARTS, min_size=1, max_size=3))
def test_tagged_lines_have_each_character(made):
    """Of any text, around spans with any label; notes are none of it."""
    lines, records = [], []
    for number, parts in enumerate(made, start=1):
        text, found = "", []
        for part, label in parts:
            start = len(text) + len(part) - len(part.lstrip())
            if label and part.strip():
                found.append((start, start + len(part.strip()), label))
            text += part
        if text.strip():
            lines.append((text, found))
            records.append(replace(record_of(number, text, found), notes={"a": "<--"}))
    xml = write("xml", records, has_verdicts=True)
    assert xml.count("\n") == 3 + len(lines) and "verdict" not in xml
    found = [*inline.READER.read(SourceText("x", xml), ReaderSettings())]
    assert not lines or [(x.text, [y[:3] for y in x.spans]) for x in found] == lines
    for text, record in zip(found if lines else (), records):
        notes = {"line": str(record.line), "record_confidence": "0.9", "a": "<--"}
        assert text.meta == notes


LINE = '<sequence line="2" xml:space="preserve">(<date>1879</date>)</sequence>'


@pytest.mark.parametrize(
    "broken, said",
    [
        (LINE.replace("1879", "A&T"), "not well-formed"),
        (LINE.replace("1879", "1 < 2"), "not well-formed"),
        (LINE.replace("</date>", ""), "mismatched tag"),
        (LINE.replace("</date>", "</dat>"), "mismatched tag"),
        (LINE.replace("</sequence>", ""), "<sequence> within <sequence>"),
        (LINE.replace('"2"', '"2'), "not well-formed"),
        (LINE.replace("1879", "<?char -1?>"), "arg not in range"),
        (LINE.replace("1879", "<?char ffffffffff?>"), "arg not in range"),
        (LINE.replace("1879", "<!-- -- -->"), "not well-formed"),
        (LINE.replace("<date>1879</date>", "nothing"), ""),
    ],
)
@pytest.mark.parametrize("around", ["<a>\n{}</a>\n", "\ufeff\n{}", "{}</a>"])
def test_a_broken_line_leaves_the_others(tmp_path, broken, said, around):
    lines = [LINE, broken, LINE, broken, LINE]
    text = around.format("\r\n".join(lines) + "\n")
    found = read(tmp_path, text)
    n_broken = 2 * bool(said)
    assert [x.text for x in found.texts if "1879" in x.text] == ["(1879)"] * 3
    assert all(said in message for message in messages(found))
    assert len(messages(found)) == n_broken
    if said and "within" not in said:
        before = text[: text.index(broken)].count("\n") + 1
        assert f":{before}: " in messages(found)[0]


def test_predictions_alone_are_no_annotations(tmp_path):
    found = read(tmp_path, write("label-studio", [record_of(1, "ab", [(0, 2, "x")])]))
    assert not found.texts and found.skipped == {"predicted, not annotated": 1}


def test_a_table_that_was_edited(tmp_path):
    """Values, offsets and labels that do not fit are named with their line."""
    table = (
        "text,start,end,label,value\n"
        "Frege 1879,0,5,author,Frege\n"
        "Frege 1879,6,10,date,1880\n"
        "Zadeh 1965,0,5,author,Zadeh\n"
        "Zadeh 1965,x,10,date,1965\n"
        "a b,,,,\n"
    )
    found = read(tmp_path, table, shift=0)
    assert [text.text for text in found.texts] == ["a b"]
    first, second = messages(found)
    assert ':3: the span [6, 10, "date"] is "1879", the file says "1880"' in first
    assert ':5: expected whole numbers as start and end, found "x" and "10"' in second
