"""Suspicious gold: evidence against enumeration, and gold that was made wrong."""

import math
from functools import partial

import numpy as np
import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

from spacy_hosemi.cli.common import print_json
from spacy_hosemi.cli.suspicious import _print_counts
from spacy_hosemi.component.folds import folds_of
from spacy_hosemi.explain.label_errors import LabelError, _mean, judge_labels

from ..helpers import (
    SMALL,
    TRAIN,
    as_json,
    count_encoded,
    hosemi,
    make_trained,
    random_pipe,
    randomize,
    write_config,
)

WORDS = ["Ada", "met", "Mary", "in"]
GOLDS = [
    [],
    [(0, 1, "PER")],
    [(0, 1, "PER"), (2, 3, "PER")],
    [(0, 2, "LOC"), (2, 3, "PER"), (3, 4, "LOC")],
    [(0, 4, "PER")],
]
CONFIGS = {
    "plain": {},
    "order 2": {"max_order": 2, "pattern_min_count": 1},
    "tokens": {"outside": "token"},
    "rules": {"label_rules": ["PER at most twice"]},
}


def example_of(nlp, gold):
    predicted = Doc(nlp.vocab, words=WORDS)
    reference = Doc(nlp.vocab, words=WORDS)
    reference.ents = [Span(reference, *span) for span in gold]
    return Example(predicted, reference)


def oracle(pipe, doc, gold):
    """By all segmentations: those that have all gold spans but one, or one and more
    beside all of them."""
    gold, odds, own = {*gold}, 0.0, -math.inf
    for one in pipe.kbest(doc, 10_000):
        spans = {*one.spans}
        if spans == gold:
            own = one.log_probability
        elif len(gold - spans) == 1 or gold < spans:
            odds += one.probability
    return math.log(odds) - own if odds else -math.inf, own


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("gold", GOLDS, ids=len)
def test_evidence(name, gold):
    nlp = make_trained(max_length=4, **CONFIGS[name])
    pipe = nlp.get_pipe("hosemi")
    randomize(pipe, seed=len(gold), size=0.7)
    (found,) = judge_labels(pipe, [example_of(nlp, gold)])
    expected, own = oracle(pipe, Doc(nlp.vocab, words=WORDS), gold)
    assert found.evidence == pytest.approx(expected, abs=1e-9)
    assert found.log_probability == pytest.approx(own, abs=1e-9)
    assert found.gold != found.instead or not found.gold


def test_sentences_are_judged_together():
    nlp = spacy.blank("en")
    model = {"features": SMALL}
    pipe, _ = random_pipe(nlp, TRAIN, model, size=0.7, scope="sents")

    def made(gold):
        example = example_of(nlp, gold)
        for doc in (example.predicted, example.reference):
            for k in range(4):
                doc[k].is_sent_start = k in (0, 2)
        return example

    gold = [(0, 1, "PER"), (2, 4, "LOC")]
    example = made(gold)
    (found,) = judge_labels(pipe, [example])
    expected, own = oracle(pipe, example.predicted, gold)
    assert found.log_probability == pytest.approx(own, abs=1e-9)
    # One place is wrong: of the other sentence all is right.
    assert found.evidence <= expected + 1e-9 and found.evidence > -math.inf


def test_impossible_gold():
    nlp = make_trained(max_length=2)
    pipe = nlp.get_pipe("hosemi")
    (found,) = judge_labels(pipe, [example_of(nlp, [(0, 4, "PER")])])
    assert found.evidence == math.inf and found.log_probability == -math.inf
    assert found.gold == [(0, 15, "PER")]


@pytest.mark.parametrize("encoding", ["IO", "BIO", "BILUO"])
def test_tags_on_tokens(encoding):
    nlp = make_trained(encoding=encoding)
    with pytest.raises(ValueError, match="HS366.*segments"):
        judge_labels(nlp.get_pipe("hosemi"), [example_of(nlp, [])])


def test_the_mean_of_rounds():
    one = LabelError(3, 1.0, -2.0, "label", [(0, 1, "A")], [(0, 1, "B")])
    other = LabelError(3, 5.0, -4.0, "border", [(0, 1, "A")], [(0, 2, "A")])
    found = _mean([one, other])
    assert (found.evidence, found.log_probability) == (3.0, -3.0)
    assert (found.kind, found.instead) == ("border", other.instead)


def test_folds():
    keys = ["a", "b", "a", "c", "d", "b"]
    for seed in range(5):
        found = folds_of(keys, 2, seed)
        assert found[0] == found[2] and found[1] == found[5]
        assert {*found} == {0, 1} and np.bincount(found).min() >= 2
    assert folds_of(keys, 2, 0) == folds_of(keys, 2, 0)


# --- the command ------------------------------------------------------------------

WRONG = {
    "label": lambda doc: [Span(doc, 0, 2, "LOC"), Span(doc, 4, 5, "LOC")],
    "border": lambda doc: [Span(doc, 0, 3, "PER"), Span(doc, 4, 5, "LOC")],
    "missing": lambda doc: [Span(doc, 4, 5, "LOC")],
    "extra": lambda doc: [
        Span(doc, 0, 2, "PER"),
        Span(doc, 2, 3, "PER"),
        Span(doc, 4, 5, "LOC"),
    ],
}
FIRST = ["Ada", "Mary", "Grace", "Emmy", "Sofja", "Rosa", "Lise"]
LAST = ["Lovelace", "Somerville", "Hopper", "Noether", "Kovalevskaya", "Luxemburg"]
CITIES = ["London", "Paris", "Rome", "Bern"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sentences that are annotated alike, and one that is not, of each kind."""
    folder, nlp = tmp_path_factory.mktemp("suspicious"), spacy.blank("en")
    for kind, annotate in WRONG.items():
        docs = []
        for k in range(20):
            words = [FIRST[k % 7], LAST[k % 6], "lived", "in", CITIES[k % 4], "."]
            doc = Doc(nlp.vocab, words=words)
            doc.ents = [Span(doc, 0, 2, "PER"), Span(doc, 4, 5, "LOC")]
            doc.user_data["source"] = k // 2
            docs.append(doc)
        docs[17].ents = annotate(docs[17])
        data = DocBin(docs=docs, store_user_data=True)
        data.to_disk(folder / f"{kind}.spacy")
    return folder


run = partial(hosemi, "suspicious")


@pytest.mark.parametrize("kind", WRONG)
def test_what_was_made_wrong(folder, kind):
    found = as_json("suspicious", folder / f"{kind}.spacy")
    first, second = found["records"][:2]
    assert first["place"] == f"{kind}.spacy#18" and found["n_documents"] == 20
    assert first["found"]["kind"] == kind
    assert first["found"]["evidence"] > max(second["found"]["evidence"], 0.0)
    assert first["text"].startswith("Emmy Luxemburg lived")


def test_vectors_of_words(folder, tmp_path, monkeypatch):
    """Each document is encoded once."""
    encoded = count_encoded(monkeypatch)
    path = write_config(tmp_path / "a.cfg", words=" ".join(FIRST + LAST))
    found = as_json("suspicious", folder / "label.spacy", "--config", path)
    assert found["records"][0]["place"] == "label.spacy#18"
    assert len(encoded) == encoded.total() == 20


def test_groups_of_annotated_texts(folder, tmp_path):
    """What `convert` reads has its keys, as the file that it writes with --group."""
    docs = DocBin().from_disk(folder / "label.spacy").get_docs(spacy.blank("en").vocab)
    lines = [
        {
            "text": doc.text,
            "spans": [[x.start_char, x.end_char, x.label_] for x in doc.ents],
            "source": k // 2,
        }
        for k, doc in enumerate(docs)
    ]
    srsly.write_jsonl(tmp_path / "a.jsonl", lines)
    args = "--group", "source", "--folds", "2"
    found = as_json("suspicious", tmp_path / "a.jsonl", *args)
    assert found["records"][0]["place"] == "a.jsonl:18"
    converted = tmp_path / "a.spacy"
    hosemi("convert", tmp_path / "a.jsonl", converted, "--group", "source")
    again = as_json("suspicious", converted, *args)
    assert again["records"][0]["found"] == found["records"][0]["found"]
    assert "convert --group x" in run(converted, "--group", "x", code=2).output


def test_all_records_are_counted(folder):
    records = as_json("suspicious", folder / "label.spacy", "--folds", 2)["records"]
    n = sum(x["found"]["evidence"] > 0 for x in records)
    result = run(folder / "label.spacy", "--folds", 2, "--top", 1)
    assert f"Evidence above 0: {n}" in result.stdout and n >= 1
    said = f"Note: {n} of {len(records)} records have evidence above 0"
    assert (said in result.stderr) == (5 * n > len(records))


def test_a_record_without_a_kind_is_named(capsys):
    errors = [LabelError(0, 1.0, 0.0, kind, [], []) for kind in ("label", "", "label")]
    _print_counts(errors)
    printed = capsys.readouterr().out
    assert printed == "\nEvidence above 0: 3 (label 2, no single change 1)\n"


def test_json_has_no_infinity(capsys):
    one = LabelError(3, math.inf, -math.inf, "", [], [])
    print_json({"found": one, "nan": math.nan, "half": 0.5})
    found = srsly.json_loads(capsys.readouterr().out)
    assert found["found"]["evidence"] is None and found["nan"] is None
    assert found["found"]["log_probability"] is None and found["half"] == 0.5


def test_table_and_file(folder, tmp_path):
    path = tmp_path / "look.spacy"
    args = folder / "label.spacy", "-n", 3, "--output", path, "--group", "source"
    found = run(*args, "--rounds", 2)
    assert "label.spacy#18" in found.stdout and "LOC: Emmy" in found.stdout
    assert "Evidence above 0: " in found.stdout
    docs = [*DocBin().from_disk(path).get_docs(spacy.blank("en").vocab)]
    assert len(docs) == 3 and docs[0].ents[0].label_ == "LOC"
    assert docs[0].user_data["source"] == 8
    run(*args, code=2)  # it is there now


@pytest.mark.parametrize("form", ["prodigy", "doccano", "label-studio"])
def test_to_be_mended_in_a_tool(folder, tmp_path, form):
    path = tmp_path / "look"
    run(folder / "label.spacy", "-n", 2, "-o", path, "-F", form, "--folds", 2)
    text = path.read_text("utf-8")
    tasks = srsly.json_loads(text) if form == "label-studio" else jsonl(text)
    first = tasks[0]
    beside = {"prodigy": "meta", "label-studio": "data"}.get(form)
    notes = first if beside is None else first[beside]
    assert notes["place"] == "label.spacy#18" and notes["kind"] == "label"
    assert notes["evidence"] > 0 and "line" not in notes
    if form == "label-studio":
        gold, other = first["predictions"]
        assert other["model_version"] == "more probable"
        assert gold["score"] < 0.5 and other["score"] is None
        for task in tasks:
            task["annotations"] = [task["predictions"][-1]]
        path.write_text(srsly.json_dumps(tasks), "utf-8")
    else:
        said = "not LOC 'Emmy Luxemburg'; but PER 'Emmy Luxemburg'"
        assert notes["more probable"] == said and notes["score"] < 0.5
    back = tmp_path / "back.spacy"
    hosemi("convert", path, back)
    doc, *_ = DocBin().from_disk(back).get_docs(spacy.blank("en").vocab)
    label = "PER" if form == "label-studio" else "LOC"
    assert [(x.text, x.label_) for x in doc.ents][0] == ("Emmy Luxemburg", label)


def jsonl(text):
    return [*map(srsly.json_loads, text.splitlines())]


def test_what_it_refuses(folder, tmp_path):
    path = folder / "label.spacy"
    assert "Expected it with --output" in run(path, "-F", "doccano", code=2).output
    said = run(path, "-F", "csv", "-o", tmp_path / "x", code=2).output
    assert "There is no format 'csv'" in said
    assert "have no 'x' in user_data" in run(path, "--group", "x", code=2).output
    assert "21 or more for --folds 21" in run(path, "--folds", 21, code=2).output
    nlp = spacy.blank("en")
    docs = [nlp(f"nothing {k}") for k in range(9)]
    for doc in docs:
        doc.set_ents([], default="outside")
    DocBin(docs=docs).to_disk(tmp_path / "none.spacy")
    assert "No document has a span" in run(tmp_path / "none.spacy", code=2).output
    DocBin(docs=[nlp("a"), nlp("b")]).to_disk(tmp_path / "open.spacy")
    assert "different documents: 0" in run(tmp_path / "open.spacy", code=2).output
