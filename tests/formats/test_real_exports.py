"""What exports of real projects have, and no manual says."""

import json

import pytest

from spacy_hosemi.formats import ReaderSettings
from spacy_hosemi.formats.readers.columns import read_columns

from .exports import REFERENCES, json_lines, onto_notes, spans_of
from .test_readers import messages, read, spans, task


def labeled(found):
    """The parts of the texts that have labels."""
    return [[(x.text[s:e], n) for s, e, n in spans(x)] for x in found.texts]


def test_a_span_of_brat_over_line_breaks_is_one(tmp_path):
    (tmp_path / "a.txt").write_text("Frege,\r\nG.\r\n1879", "utf-8", newline="")
    lines = "T1\tauthor 0 6;8 10\tFrege, G.\nT2\tdate 12 16\t1879\n"
    found = read(tmp_path, lines, "a.ann")
    assert not found.faults
    assert spans(found.texts[0]) == [(0, 10, "author"), (12, 16, "date")]


def prodigy_task(words, *spans, text=None):
    """A task as a recipe makes it that joins the words of another tokenizer."""
    tokens, at = [], 0
    for i, word in enumerate(words):
        end = at + len(word)
        tokens.append({"text": word, "start": at, "end": end, "id": i, "ws": True})
        at = end + 1
    keys = "token_start", "token_end", "label", "text", "start", "end"
    made = [
        (*x, "what a model had found", tokens[x[0]]["start"], tokens[x[1]]["end"])
        for x in spans
    ]
    made = [dict(zip(keys, x)) for x in made]
    text = " ".join(words) if text is None else text
    return {"text": text, "tokens": tokens, "spans": made, "answer": "accept"}


def test_people_correct_spans_and_prodigy_keeps_their_text(tmp_path):
    found = read(tmp_path, json_lines([prodigy_task(["Frege", "1879"], (0, 0, "a"))]))
    assert not found.faults and labeled(found) == [[("Frege", "a")]]


def test_tokens_of_prodigy_that_are_not_where_they_say(tmp_path):
    """Offsets count in the joined words; the text has no blank before a comma."""
    words = ["Frege", ",", "G", ".", "1879"]
    good = prodigy_task(words, (0, 3, "author"), (4, 4, "date"), text="Frege, G. 1879")
    other = prodigy_task(words, (4, 4, "date"), text="Zadeh, L. 1965")
    lost = prodigy_task(words, (4, 4, "date"), text="Frege, G. 1879")
    outside = json.loads(json.dumps(lost))
    outside["spans"][0]["token_end"] = 5
    del lost["spans"][0]["token_end"]
    bare = {**lost, "spans": [[8, 12, "date"]]}
    # Offsets need no mending, whatever others of the file do.
    for more in ({}, {"ends": "inclusive"}):
        found = read(tmp_path, json_lines([good, other, lost, outside, bare]), **more)
        assert labeled(found) == [[("Frege, G.", "author"), ("1879", "date")]]
        assert [fault.line for fault in found.faults] == [2, 3, 4, 5]
    second, third, fourth, _ = messages(found)
    assert 'the token "Frege" is not where the text goes on, "Zadeh, L. 1965"' in second
    assert 'has no "token_start" and "token_end"' in third
    assert "is not among the 5 tokens" in fourth


PART = {"start": 0, "end": 5, "text": "Frege"}


def test_answers_about_a_region_are_no_spans(tmp_path):
    others = {"choices": ["sure"]}, {"taxonomy": [["person"]]}, {"text": ["a note"]}
    values = [PART | x for x in ({"labels": ["author"]}, *others)]
    found = read(tmp_path, json.dumps([task((values, {}))]))
    assert not found.faults and labeled(found) == [[("Frege", "author")]]


def test_the_text_is_where_regions_fit(tmp_path):
    data = {"url": "http://a", "about": "Frege 1879", "year": "1879"}
    parts = PART | {"labels": ["author"]}, PART | {"labels": ["author"], "end": 4}
    tasks = [task(([part], {}), **data) for part in parts]
    found = read(tmp_path, json.dumps(tasks))
    assert labeled(found) == [[("Frege", "author")]]
    (message,) = messages(found)  # a list on one line: its number says more
    assert ':1: object 2: expected one text in data, found "url", "about"' in message


def test_faults_in_a_list_on_one_line(tmp_path):
    tasks = [task(([{"start": s, "end": 9, "labels": ["a"]}], {})) for s in (0, 99)]
    (message,) = messages(read(tmp_path, json.dumps(tasks)))
    assert ":1: object 2: the span [99, 9" in message
    indented = json.dumps(tasks, indent=0)
    assert "object" not in messages(read(tmp_path, indented))[0]


def test_columns_that_are_given(tmp_path):
    """As in GermEval 2014; one line has a tab too many."""
    rows = "#\thttp://a\t[2009]\n1\tAda\tB-PER\tO\n2\tmet\tO\tO\t\n"
    found = read(tmp_path, rows)
    said = "column(s); tokens are in column 2, tags in 3: see --columns"
    assert found.skipped == {said: 2} and labeled(found) == [[("Ada", "PER")]]
    found = read(tmp_path, rows, settings=ReaderSettings(columns=(2, -1)))
    assert labeled(found) == [[]] and not found.skipped and not found.faults


def test_columns_of_onto_notes(tmp_path):
    """Rows have as many columns more as their sentence has verbs."""
    text = onto_notes(REFERENCES).replace("-\n", "* -\n", 2)
    found = read(tmp_path, text, settings=ReaderSettings(columns=(4, 11)))
    assert not found.faults and found.formats == {"columns": 1}
    assert [spans(x) for x in found.texts] == [spans_of(x) for x in REFERENCES]


@pytest.mark.parametrize(
    "text, expected",
    [("token=1,tag=4", (1, 4)), ("token=2, tag=-1", (2, -1)), ("token=0,tag=3", None),
     ("1,4", None), ("token=1", None), ("token=1,tag=1", None), ("", None)],
)  # fmt: skip
def test_names_of_columns(text, expected):
    if expected:
        assert read_columns(text) == expected
        return
    with pytest.raises(ValueError, match="HS210.*from 1, such as 'token=1,tag=4'"):
        read_columns(text)


def test_a_table_of_tokens_with_an_empty_cell(tmp_path):
    rows = "doc_id,token,label\na,Ada,B-x\na,,O\nb,Eva,B-x\nb,met,I-y\nc,Ada,B-x\n"
    found = read(tmp_path, rows)
    assert found.formats == {"csv": 1} and labeled(found) == [[("Ada", "x")]]
    assert [":3: expected a token" in messages(found)[0]] == [True]
    assert ":5: has I-y after B-x; expected B-y" in messages(found)[1]


def test_entities_of_other_programs(tmp_path):
    """Objects with `start` under `entities`; the first texts have none."""
    lines = '{"text": "x", "entities": []}\n' * 60
    lines += '{"text": "Frege", "entities": [{"start": 0, "end": 5, "label": "a"}]}\n'
    lines += '{"text": "Zadeh"}\n{"text": "Ada", "entities": [[0, 3]]}\n'
    found = read(tmp_path, lines)
    assert found.formats == {"spacy": 1} and labeled(found)[60] == [("Frege", "a")]
    assert [":62: expected [text" in messages(found)[0]] == [True]
    assert ":63: expected [start, end, label]" in messages(found)[1]


TITLE = {"result": [{"value": PART | {"labels": ["a"]}, "to_name": x} for x in "ab"]}


@pytest.mark.parametrize(
    "value, said",
    [
        ({"text": "Frege 1879", "label": [[0, 4, "a"]]}, "with --ends inclusive"),
        ({"text": "Frege", "label": [[0, 5, "a"]], "labels": [[0, 5, "b"]]}, "one of"),
        (task() | {"annotations": [TITLE]}, 'of several texts, "a", "b"; expected one'),
        ({"text": "x", "ents": [], "spans": {"sc": [{}]}}, 'in groups, "sc"; expect'),
        (["Frege", {"entities": [], "spans": {"x": [[0, 5, "a"]]}}], "in groups"),
    ],
)
def test_spans_that_would_be_lost_or_wrong(tmp_path, value, said):
    found = read(tmp_path, json.dumps([value]))
    assert not found.texts and said in messages(found)[0]


def test_all_places_of_spans_are_read(tmp_path):
    rest = {"text": "1879", "start": 6, "end": 10, "labels": ["b"]}
    both = {"text": "Frege 1879", "x": [PART | {"labels": ["a"]}], "y": [rest]}
    one = {"text": "Frege", "label": [[0, 5, "a"]], "labels": []}
    rows = "#FORMAT=WebAnno TSV 2\n1-1\tFrege\tB-a\n1-2\t1879\tB-b\n"
    for text in (*map(json.dumps, (both, one)), rows):
        expected = [("Frege", "a"), ("1879", "b")][: 1 + ("1879" in text)]
        assert labeled(read(tmp_path, text)) == [expected]
