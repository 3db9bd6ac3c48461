"""Scores on other documents, in the log of a fit."""

import numpy as np
import pytest
import spacy
from spacy.tokens import DocBin
from spacy.training import Example

from spacy_hosemi.component.judging import (
    GoldDoc,
    count_spans,
    f1_of,
    record_accuracy_of,
    scores_of,
)
from spacy_hosemi.labels.partial import PartialLabels
from spacy_hosemi.training import fit_progress

from ..helpers import (
    TRAIN,
    initialize,
    lbfgs,
    make_examples,
    make_nlp,
    parse,
    read_log,
    references,
    triples,
)

PAIRS = [parse(line) for line in TRAIN]
SCORES = ("ents_p", "ents_r", "ents_f", "ents_record_accuracy")
DEV = ["[PER Ada] met [PER Zoe] in [LOC Paris].", "[PER Mary] wrote."]


def fit(nlp, path, watched, l1=0.0, **settings):
    hosemi, dev = nlp.get_pipe("hosemi"), make_examples(nlp, DEV)
    settings = {"progress": False, "log": str(path), "l1": l1, **settings}
    more = {"dev": dev} if watched else {}
    result = hosemi.fit(PAIRS, nlp=nlp, **more, **settings)
    assert [triples(eg.predicted.ents) for eg in dev] == [[], []]
    return result, [x for x in read_log(path) if "dev" in x]


@pytest.mark.parametrize("l1", [0.0, 0.05])
def test_scores_are_those_of_a_fit_that_ends_there(tmp_path, monkeypatch, l1):
    monkeypatch.setattr(fit_progress, "WATCH_EVERY", 4)
    _, scored = fit(make_nlp(), tmp_path / "log", True, l1, max_iter=8)
    assert [x["iteration"] for x in scored] == [4, 8, 8]
    assert {*scored[0]["dev"]} == {*SCORES}
    for k in (4, 8):
        nlp = make_nlp()
        fit(nlp, tmp_path / "other", False, l1, max_iter=k)
        expected = nlp.evaluate(make_examples(nlp, DEV))
        found = next(x["dev"] for x in scored if x["iteration"] == k)
        assert found == {name: expected[name] for name in SCORES}
    assert 0.0 < found["ents_f"] < 1.0


def test_to_watch_changes_nothing(tmp_path):
    watched, other = make_nlp(), make_nlp()
    first, scored = fit(watched, tmp_path / "log", True)
    second, none = fit(other, tmp_path / "log", False)
    assert len(scored) >= 2 and not none
    assert (first.loss, first.n_iterations) == (second.loss, second.n_iterations)
    found = [x.get_pipe("hosemi").get_weights() for x in (watched, other)]
    assert found[0].tolist() == found[1].tolist()


def test_l2_auto_logs_the_last_fit(tmp_path):
    result, scored = fit(make_nlp(), tmp_path / "log", True, l2="auto")
    assert len(scored) >= 1 and len(result.reports) == 1
    assert len({x["event"] for x in scored}) >= 1


def test_the_last_level_of_a_tree_is_watched(tmp_path):
    nlp = make_nlp(hierarchy={"@misc": "spacy_hosemi.hierarchy.v1"}, max_order=1)
    train, dev = (
        [(x, [(i, j, f"N/{y}") for i, j, y in spans]) for x, spans in pairs]
        for pairs in (PAIRS, [parse(line) for line in DEV])
    )
    log = str(tmp_path / "log")
    hosemi = nlp.get_pipe("hosemi")
    hosemi.fit(train, nlp=nlp, dev=dev, progress=False, log=log)
    events = read_log(log)
    assert {x["part"] for x in events} == {0, 1}
    scored = [x for x in events if "dev" in x]
    assert {x["part"] for x in scored} == {1}
    expected = nlp.evaluate(
        [Example.from_dict(nlp.make_doc(x), {"entities": spans}) for x, spans in dev]
    )
    assert scored[-1]["dev"] == {name: expected[name] for name in SCORES}
    assert expected["ents_f"] > 0.0


def test_the_block_dev_of_a_config(tmp_path):
    nlp = make_nlp()
    DocBin(docs=references(DEV)).to_disk(tmp_path / "dev.spacy")
    dev = {"@readers": "spacy.Corpus.v1", "path": str(tmp_path / "dev.spacy")}
    dev |= {"gold_preproc": False, "max_length": 0, "limit": 0, "augmenter": None}
    initialize(nlp, fit=lbfgs(log=str(tmp_path / "log")), dev=dev)
    assert "ents_f" in read_log(tmp_path / "log")[-1]["dev"]


def test_what_is_not_annotated_is_neither_right_nor_wrong(tmp_path):
    nlp = make_nlp()
    dev = make_examples(nlp, DEV)
    dev[0].reference.set_ents(
        [dev[0].reference.ents[0]], missing=[dev[0].reference[2:]]
    )
    hosemi = nlp.get_pipe("hosemi")
    log = str(tmp_path / "log")
    hosemi.fit(PAIRS, nlp=nlp, dev=dev, progress=False, log=log, max_iter=8)
    found = read_log(tmp_path / "log")[-1]["dev"]
    for example in dev:
        example.predicted = nlp(example.predicted)
    expected = hosemi.score(dev)
    assert found == {name: expected[name] for name in SCORES}


def test_counts_leave_out_what_is_not_annotated():
    blocked = np.array([True, True, False, False, True, True])
    known = PartialLabels(((0, 1, "a"),), (), blocked)
    doc = spacy.blank("en")("a b c d e f")
    spans = [(0, 1, "a"), (1, 2, "a"), (2, 4, "a"), (3, 5, "b"), (4, 6, "b")]
    assert count_spans(GoldDoc(doc, known), spans) == (1, 3, 1, 1)
    assert count_spans(GoldDoc(doc, known, 2, False), spans) == (1, 3, 3, 0)


def test_scores_of_counts():
    counts = np.array([[1, 3, 1, 1], [2, 2, 2, 1], [0, 0, 0, 0]])
    assert f1_of(counts) == pytest.approx(6 / 8)
    assert record_accuracy_of(counts) == 0.5
    assert scores_of(counts)["ents_p"] == pytest.approx(3 / 5)
    assert f1_of(np.zeros((2, 4), int)) == 0.0
    nothing = dict.fromkeys(SCORES)
    assert scores_of(np.zeros((2, 4), int)) == nothing
