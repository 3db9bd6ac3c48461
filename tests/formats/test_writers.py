"""Records in each format, read back by libraries, or by the rules of the tool."""

import csv
import io
import json
from dataclasses import replace

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from spacy_hosemi.formats.records import (
    ExtractedField,
    ExtractedRecord,
    Segmentation,
)
from spacy_hosemi.formats.references.fields import COMMON_LABELS, KEYS
from spacy_hosemi.formats.writers import WRITERS, WriterOptions, tables
from spacy_hosemi.formats.writers.references import escape
from spacy_hosemi.formats.writers.tables import COLUMNS, HAS_NULL, label_columns

ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
P = st.one_of(st.none(), st.floats(0, 1))


@st.composite
def segmentations(draw, text):
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=6)))
    pairs = zip(cuts[::2], cuts[1::2])
    labels = st.sampled_from([*COMMON_LABELS, 'odd "label", ü'])
    fields = [ExtractedField(i, j, draw(labels), text[i:j], draw(P)) for i, j in pairs]
    return Segmentation(fields, draw(P))


@st.composite
def records(draw):
    found = []
    for line in range(1, draw(st.integers(0, 3)) + 1):
        text = draw(ANY)
        several = draw(st.lists(segmentations(text), min_size=1, max_size=3))
        tokens = [(i, i + 1, False) for i in range(len(text))]
        found.append(ExtractedRecord(line, text, several[0], several[1:], tokens))
    return found


def write(name, found, **options):
    file = io.StringIO()
    options = {"fields": COMMON_LABELS, **options}
    WRITERS[name].write(iter(found), file, WriterOptions("m 1", **options))
    return file.getvalue()


def close(left, right):
    return left is right or left == pytest.approx(right, rel=1e-5)


def same(spans, segmentation):
    """Whether objects have the fields of a segmentation."""
    fields = [field[:3] for field in segmentation.fields]
    assert [(x["start"], x["end"], x["label"]) for x in spans] == fields
    return True


def in_table(text):
    """What a table has in the place of a text."""
    return text if HAS_NULL else text.replace("\0", "\ufffd")


@pytest.mark.parametrize("has_null, expected", [(True, "a\0b"), (False, "a\ufffdb")])
def test_null_in_a_table(monkeypatch, has_null, expected):
    if has_null and not HAS_NULL:
        pytest.skip("`csv` cannot write it")
    monkeypatch.setattr(tables, "HAS_NULL", has_null)
    for name in ("csv", "table"):
        text = write(name, [reference("[title a\0b]")], labels=["title"])
        assert expected in text


@settings(max_examples=40)
@given(found=records())
def test_csv(found):
    text = write("csv", found, is_safe=False)
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert header == [*COLUMNS]
    expected = [
        (record, field) for record in found for field in (record.best.fields or [None])
    ]
    assert len(rows) == len(expected)
    for row, (record, field) in zip(rows, expected):
        row = dict(zip(COLUMNS, row))
        assert row["text"] == in_table(record.text)
        assert row["line"] == str(record.line)
        whole = record.best.confidence
        cell = "" if whole is None else f"{whole:.6f}"  # texts are sorted, too
        assert row["record_confidence"] == cell
        if field is None:
            assert row["label"] == row["start"] == row["value"] == ""
        else:
            place = str(field.start), str(field.end), field.label
            assert (row["start"], row["end"], row["label"]) == place
            assert row["value"] == in_table(field.value)


@settings(max_examples=40)
@given(found=records())
def test_table(found):
    labels = [*COMMON_LABELS, 'odd "label", ü']  # all but one that `records` draws
    labels.remove("title")
    text = write("table", found, labels=labels, is_safe=False)
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert header == ["line", "record_confidence", *labels, "text"]
    for row, record in zip(rows, found, strict=True):
        line, whole, *cells, last = row
        assert (line, last) == (str(record.line), in_table(record.text))
        confidence = record.best.confidence
        assert whole == ("" if confidence is None else f"{confidence:.6f}")
        for label, cell in zip(labels, cells, strict=True):
            values = [x.value for x in record.best.fields if x.label == label]
            assert cell == in_table(" | ".join(values))


def test_table_with_labels_like_its_columns():
    labels = ["text", "line_label", "line", "record_confidence", "Text"]
    columns = "text_label line_label line_label_label record_confidence_label Text"
    assert [*label_columns(labels)] == columns.split()
    records = [reference("[text Ada] [line 7] [text B, C]", 3)]
    text = write("table", records, labels=labels)
    (row,) = csv.DictReader(io.StringIO(text))
    assert row["text_label"] == "Ada | B, C" and row["line_label_label"] == "7"
    assert row["line_label"] == "" and row["text"].startswith("[text Ada]")


@settings(max_examples=40)
@given(found=records(), name=st.sampled_from(["json", "jsonl"]))
def test_json(found, name):
    text = write(name, found)
    lines = text.split("\n")[:-1]
    objects = json.loads(text) if name == "json" else [*map(json.loads, lines)]
    assert len(objects) == len(found)
    for one, record in zip(objects, found):
        assert (one["line"], one["text"]) == (record.line, record.text)
        ways = [one, *one.get("alternatives", [])]
        assert len(ways) == 1 + len(record.alternatives)
        for way, segmentation in zip(ways, [record.best, *record.alternatives]):
            assert same(way["spans"], segmentation)
            assert close(way["record_confidence"], segmentation.confidence)
            for x, field in zip(way["spans"], segmentation.fields):
                assert x["value"] == one["text"][x["start"] : x["end"]]
                assert close(x["confidence"], field.confidence)


@settings(max_examples=20)
@given(found=records())
def test_label_studio(found):
    tasks = json.loads(write("label-studio", found))
    for task, record in zip(tasks, found, strict=True):
        assert task["data"]["text"] == record.text
        for prediction, one in zip(
            task["predictions"], [record.best, *record.alternatives], strict=True
        ):
            assert close(prediction["score"], one.confidence)
            spans = []
            for x in prediction["result"]:
                kind = x["from_name"], x["to_name"], x["type"]
                assert kind == ("label", "text", "labels")
                value = x["value"]
                assert value["text"] == record.text[value["start"] : value["end"]]
                spans.append({**value, "label": value["labels"][0]})
            assert same(spans, one)


@settings(max_examples=20)
@given(found=records())
def test_prodigy_and_doccano(found):
    objects = [json.loads(x) for x in write("prodigy", found).split("\n")[:-1]]
    for one, record in zip(objects, found, strict=True):
        assert one["text"] == record.text and same(one["spans"], record.best)
        for x in one["spans"]:
            first, last = one["tokens"][x["token_start"]], one["tokens"][x["token_end"]]
            assert (first["start"], last["end"]) == (x["start"], x["end"])
            assert (first["id"], last["id"]) == (x["token_start"], x["token_end"])
    objects = [json.loads(x) for x in write("doccano", found).split("\n")[:-1]]
    for one, record in zip(objects, found, strict=True):
        assert one["text"] == record.text
        assert one["label"] == [[*field[:3]] for field in record.best.fields]
        for score, field in zip(one["span_scores"], record.best.fields, strict=True):
            assert close(score, field.confidence)


def test_runner_ups_in_words():
    best = reference("[author Frege] [date 1879]").best
    frege, date = best.fields
    longer = frege._replace(end=10, value="Frege 1879")
    others = [Segmentation([longer], 0.25), Segmentation([frege], None)]
    record = ExtractedRecord(1, "Frege 1879", best, others)
    record.tokens.append((0, 5, True))
    said = "0.25: not author 'Frege'; not date '1879'; but author 'Frege 1879'"
    found = {"runner-up 1": said, "runner-up 2": "not date '1879'"}
    assert json.loads(write("doccano", [record])).items() >= found.items()
    with_one = replace(
        record, best=Segmentation([frege], 0.75), alternatives=others[:1]
    )
    meta = json.loads(write("prodigy", [with_one]))["meta"]
    said = "0.25: not author 'Frege'; but author 'Frege 1879'"
    assert meta == {"line": 1, "score": 0.75, "runner-up 1": said}


def reference(text, line=1):
    """A record of a text such as "[author Marx K.] [date 1867]"."""
    fields = []
    for part in text.split("["):
        if part:
            label, value = part.split("]")[0].split(" ", 1)
            fields.append(ExtractedField(0, len(value), label, value, 1.0))
    return ExtractedRecord(line, text, Segmentation(fields, 1.0))


@settings(max_examples=40, deadline=None)
@given(found=records())
def test_references_can_be_read(found):
    bibtexparser = pytest.importorskip("bibtexparser")
    library = bibtexparser.parse_string(write("bib", found))
    assert not library.failed_blocks
    keys = [entry.key for entry in library.entries]
    items = json.loads(write("csl", found))
    assert keys == [item["id"] for item in items]
    assert len({*keys}) == len(keys)
    known = {*KEYS, "year", "month", "annote"}
    for entry in library.entries:
        assert {field.key for field in entry.fields} <= known


BOOK = "[author Marx K., Engels, F.] [title 100% {Kapital} & Größe_1] [date (1867)]"


def test_bibtex():
    bibtexparser = pytest.importorskip("bibtexparser")
    from pylatexenc.latex2text import LatexNodes2Text

    found = [
        reference(f"{BOOK} [publisher Meissner] [location Hamburg]"),
        reference(
            "[author A. Lee et al.] [journal J. X.] [volume 41(6)] [pages 3–5]", 7
        ),
        reference("[other nothing]", 8),
    ]
    book, article = bibtexparser.parse_string(write("bib", found)).entries
    assert (book.entry_type, book.key) == ("book", "ref1")
    assert book["author"] == "Marx, K. and Engels, F."
    assert LatexNodes2Text().latex_to_text(book["title"]) == "100% {Kapital} & Größe_1"
    hostile = "ﬁ ʼx' \"é“ß ~^\\ {a} --- ''y`` ?` 100%&$#_"
    said = LatexNodes2Text().latex_to_text(escape(hostile))
    assert said.replace("ˆ", "^") == hostile
    for text in ("}a{", "a {b", "{a}} {b}"):  # BibTeX counts braces that are escaped
        assert escape(text) == text.replace("{", "(").replace("}", ")")
    assert (book["year"], book["address"]) == ("1867", "Hamburg")
    assert (article.entry_type, article.key) == ("article", "ref7")
    said = LatexNodes2Text().latex_to_text(book["annote"])
    assert said == f"line 1, record confidence 1.0: {found[0].text}"
    assert article["author"] == "Lee, A. and others"
    names = "[author Étienne Łoś; Иванов, И. И.; Đorđe Παπάς; 山田 太郎; Å. Ø’Brien]"
    (entry,) = bibtexparser.parse_string(write("bib", [reference(names)])).entries
    assert entry["author"] == (
        r"{\L}o{\'s}, {\'E}tienne and Иванов, И. И. and Παπάς, Đorđe and "
        r"山田, 太郎 and {\O}’Brien, {\r{A}}."
    )
    no_doi = reference("[title T] [doi 山田太郎. 東京]")
    (entry,) = bibtexparser.parse_string(write("bib", [no_doi])).entries
    assert ("doi" in entry.fields_dict, entry["note"]) == (False, "山田太郎. 東京")
    values = [article[x] for x in ("journal", "volume", "number", "pages")]
    assert values == ["J. X.", "41", "6", "3--5"]


def test_csl():
    pytest.importorskip("bibtexparser")
    names = "[author Ludwig van Beethoven; World Health Organization] [editor ?]"
    rest = "[title A] [booktitle Proc. X] [date 12 May 2004] [doi 10.1000/x.]"
    (item,) = json.loads(write("csl", [reference(f"{names} {rest}")]))
    assert item == {
        "id": "ref1",
        "type": "paper-conference",
        "author": [
            {"family": "Beethoven", "given": "Ludwig", "non-dropping-particle": "van"},
            {"literal": "World Health Organization"},
        ],
        "editor": [{"literal": "?"}],
        "title": "A",
        "container-title": "Proc. X",
        "issued": {"date-parts": [[2004, 5, 12]]},
        "DOI": "10.1000/x",
        "custom": {"line": 1, "text": f"{names} {rest}", "record_confidence": 1.0},
    }
    assert json.loads(write("csl", [])) == []


def test_labels_of_ones_own():
    pytest.importorskip("bibtexparser")
    text = write("bib", [reference("[who Ada] [title X]")], fields={"who": "author"})
    assert "author = {Ada}" in text and "title =" not in text
