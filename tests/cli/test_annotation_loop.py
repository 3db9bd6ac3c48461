"""Predictions go to an annotation tool; answers come back, and training uses them."""

import json

import pytest
import spacy

from ..formats.exports import json_lines
from ..helpers import TRAIN, hosemi, make_examples, make_nlp
from .test_convert import convert, ents

TEXTS = ["Ada Lovelace wrote to Charles Babbage.", "She met Ada in Paris."]
KEY = 'incorrect_spans_key = "incorrect_spans"'


@pytest.fixture(scope="module")
def trained(model):
    return spacy.load(model)


@pytest.fixture
def predicted(model, tmp_path):
    """RETURNS (Callable): What parse writes for a tool."""
    lines = tmp_path / "lines.txt"
    lines.write_text("\n".join(TEXTS), "utf-8")

    def parse(format):
        return hosemi("parse", model, lines, "-F", format, "-k", 2).stdout

    return parse


def taught(task, *answers):
    """A task for each span, as ner.teach asks for them."""
    spans = task["spans"]
    return [{**task, "spans": [x], "answer": y} for x, y in zip(spans, answers)]


def places(task):
    return [(x["start"], x["end"], x["label"]) for x in task["spans"]]


def test_answers_for_single_spans(trained, predicted, tmp_path):
    first, second = map(json.loads, predicted("prodigy").splitlines())
    right, wrong = places(first)
    answers = [*taught(first, "accept", "reject"), *taught(second, "ignore", "accept")]
    given = json_lines(answers)
    printed, said, docs = convert(tmp_path, given, "--binary")
    assert KEY in said and "beside the spans of 2 texts" in said
    assert "1 ignored" in said and "2 texts" in printed
    doc, other = docs
    assert ents(doc) == [right] and ents(other) == places(second)[1:]
    assert [x.ent_iob_ for x in doc] == ["B", "I", *[""] * (len(doc) - 2)]
    (span,) = doc.spans["incorrect_spans"]
    assert (span.start_char, span.end_char, span.label_) == wrong
    assert "incorrect_spans" not in other.spans

    nlp = make_nlp(incorrect_spans_key="incorrect_spans")
    full = [example.reference for example in make_examples(nlp, TRAIN)]
    nlp.get_pipe("hosemi").fit([*full, *docs], nlp=nlp, progress=False)
    before, after = (probability(x, doc.text, wrong) for x in (trained, nlp))
    assert after < before / 2
    before, after = (probability(x, doc.text, right) for x in (trained, nlp))
    assert after >= before


def probability(nlp, text, span):
    start, end, label = span
    doc = nlp(text)
    pipe, found = nlp.get_pipe("hosemi"), doc.char_span(start, end)
    of_label = 1 + pipe.labels.index(label)
    return pipe.marginals(doc).segment(found.start, found.end, of_label)


def test_as_a_whole(predicted, tmp_path):
    """What is accepted or corrected is all there is: each token is known."""
    first, second = map(json.loads, predicted("prodigy").splitlines())
    corrected = {**first, "spans": first["spans"][:1], "answer": "accept"}
    rejected = {**second, "answer": "reject"}
    _, said, (doc,) = convert(tmp_path, json_lines([corrected, rejected]))
    assert ents(doc) == places(first)[:1] and all(x.ent_iob_ for x in doc)
    assert "left out: 1 rejected" in said and KEY not in said


def test_corrected_in_label_studio(predicted, tmp_path):
    tasks = json.loads(predicted("label-studio"))
    for task in tasks:
        best, runner_up = task["predictions"]
        assert runner_up["score"] < best["score"]
        task["annotations"] = [{"result": best["result"][1:]}]
    _, _, docs = convert(tmp_path, json.dumps(tasks))
    for doc, task in zip(docs, tasks, strict=True):
        values = [x["value"] for x in task["annotations"][0]["result"]]
        assert ents(doc) == [(x["start"], x["end"], x["labels"][0]) for x in values]
        assert all(token.ent_iob_ for token in doc)


def task(*spans, answer="accept", text="Frege 1879"):
    return {"text": text, "spans": [*spans], "answer": answer, "_task_hash": 1}


AUTHOR = {"start": 0, "end": 5, "label": "author"}
DATE = {"start": 6, "end": 10, "label": "date"}


def test_spans_with_answers_of_their_own(tmp_path):
    given = json_lines([task(AUTHOR, {**DATE, "answer": "reject"})])
    _, said, docs = convert(tmp_path, given, code=1)
    assert docs is None and "a span of it is not; give --binary" in said
    _, _, (doc,) = convert(tmp_path, given, "--binary")
    assert ents(doc) == [(0, 5, "author")]
    assert [str(span) for span in doc.spans["incorrect_spans"]] == ["1879"]


def test_what_says_nothing_of_a_span(tmp_path):
    tasks = [task(AUTHOR), task(AUTHOR, DATE, answer="reject"), task(), task(AUTHOR)]
    _, said, (doc,) = convert(tmp_path, json_lines(tasks), "--binary")
    assert ents(doc) == [(0, 5, "author")] and not doc.spans
    assert "1 rejected with several spans" in said
    assert "1 without an answer for a span" in said


def test_borders_of_wrong_spans(tmp_path):
    """They cut tokens, lose white space, and may overlap what is right."""
    inside = {"start": 7, "end": 9, "label": "date"}
    over = {"start": 0, "end": 6, "label": "title"}
    tasks = [task(x, answer="reject") for x in (inside, over)]
    _, said, (doc,) = convert(tmp_path, json_lines([task(AUTHOR), *tasks]), "--binary")
    assert [str(x) for x in doc.spans["incorrect_spans"]] == ["Frege", "87"]
    assert "tokens were cut" in said and "white space" in said


def test_an_answer_that_cannot_be_read(tmp_path):
    """The others to the same text stay, and its line is named."""
    outside = {"start": 8, "end": 99, "label": "date"}
    tasks = [task(AUTHOR), task(outside), task(outside, answer="reject")]
    _, said, (doc,) = convert(tmp_path, json_lines(tasks), "--binary", code=1)
    assert ents(doc) == [(0, 5, "author")] and not doc.spans
    assert said.count("99") == 2 and ":2: " in said and ":3: " in said


WORD = "expected accept, reject or ignore"


@pytest.mark.parametrize(
    "tasks, message, code",
    [
        ([task({"start": 8, "end": 99, "label": "date"})], "99", 1),
        ([task(AUTHOR), task(AUTHOR, answer="reject")], "accepted and rejected", 1),
        ([task({**AUTHOR, "answer": "maybe"})], f'"answer" is "maybe"; {WORD}', 1),
        ([task({**AUTHOR, "answer": None})], f'"answer" is None; {WORD}', 1),
        ([task({**AUTHOR, "answer": []})], f'"answer" is []; {WORD}', 1),
        ([{"text": "Frege", "spans": [[0, 5, "author"]]}], "HS325", 2),
    ],
)
def test_no_answer_that_can_be_read(tmp_path, tasks, message, code):
    _, said, docs = convert(tmp_path, json_lines(tasks), "--binary", code=code)
    assert docs is None and message in said


def test_spans_as_lists(tmp_path):
    given = json_lines([task([0, 5, "author"]), task([6, 10, "date"], answer="reject")])
    _, _, (doc,) = convert(tmp_path, given, "--binary")
    assert ents(doc) == [(0, 5, "author")]
    assert [str(span) for span in doc.spans["incorrect_spans"]] == ["1879"]
