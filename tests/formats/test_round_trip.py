"""What `hosemi parse` writes for annotation tools, `hosemi convert` reads."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_hosemi.formats.records import (
    ExtractedField,
    ExtractedRecord,
    Segmentation,
    WordToken,
)

from .test_readers import messages, phrases, read, segments, spans
from .test_writers import write

NAMES = ("csv", "jsonl", "json", "prodigy", "doccano", "label-studio")


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
    tokens = [WordToken(i, i + 1, False) for i in range(len(text))]
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
