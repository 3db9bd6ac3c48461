"""The paired bootstrap: against loops over documents, and where truth is known."""

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import DocBin
from spacy.training import Example

from spacy_hosemi.component.judging import DocumentResult, judge_pipeline
from spacy_hosemi.explain.comparing import ChangedSpan, compare_results, differences

from ..helpers import as_json, hosemi, make_trained, references

TEXT = "abcdefghijklmnopqrst"


def random_answers(seed, n=40, share=(0.7, 0.8)):
    """Two pipelines that find these shares of the spans, and some wrong ones."""
    rng = np.random.default_rng(seed)
    both = [], []
    for _ in range(n):
        labels = rng.choice(["A", "B"], 10)
        gold = frozenset((2 * i, 2 * i + 1, str(y)) for i, y in enumerate(labels))
        is_complete = bool(rng.random() < 0.9)
        for some, p in zip(both, share):
            found = {span for span in gold if rng.random() < p}
            at = [2 * i + 1 for i in range(3) if rng.random() < 0.1]
            wrong = {(i, i + 1, "A") for i in at}
            answer = DocumentResult(TEXT, frozenset(found | wrong), gold, is_complete)
            some.append(answer)
    return both


def f1_of(some, label=None):
    """By the definition."""
    pairs = [
        (
            {x for x in one.predicted if label in (None, x[2])},
            {x for x in one.gold if label in (None, x[2])},
        )
        for one in some
    ]
    right = sum(len(found & gold) for found, gold in pairs)
    n = sum(len(found) + len(gold) for found, gold in pairs)
    return 2 * right / n if n else 0.0


@pytest.mark.parametrize("label", [None, "A", "B"])
def test_as_by_loops(label):
    first, second = random_answers(1)
    found = compare_results(first, second, n_draws=200, seed=3)
    one = found.f1 if label is None else found.labels[label]
    pair = [f1_of(some, label) for some in (first, second)]
    assert [one.first, one.second] == pytest.approx(pair)
    rng, n = np.random.default_rng(3), len(first)
    drawn = []
    for times in rng.multinomial(n, np.full(n, 1 / n), 200):
        places = np.repeat(np.arange(n), times)
        pair = [f1_of([some[k] for k in places], label) for some in (first, second)]
        drawn.append(pair[1] - pair[0])
    assert [one.low, one.high] == pytest.approx(np.percentile(drawn, [2.5, 97.5]))
    worse = min(np.mean(np.array(drawn) <= 0), np.mean(np.array(drawn) >= 0))
    assert one.p == pytest.approx(max(2 * worse, 2 / 200))


def test_records():
    first, second = random_answers(2, share=(0.97, 0.99))
    found = compare_results(first, second, n_draws=100)
    for some, value in zip(
        (first, second), (found.records.first, found.records.second)
    ):
        whole = [one for one in some if one.is_complete]
        assert value == pytest.approx(np.mean([x.predicted == x.gold for x in whole]))
    assert found.n_records == len(whole)
    assert found.n_spans == 400 == sum(found.n_of_label.values())


def test_chance_is_called_so():
    """Of two pipelines that are equally good, one is better in 1 of 20 comparisons."""
    p = [
        compare_results(*random_answers(seed, 60, (0.8, 0.8)), n_draws=400).f1.p
        for seed in range(100)
    ]
    assert 0.01 <= np.mean(np.array(p) < 0.05) <= 0.11
    assert compare_results(*random_answers(0, 60, (0.7, 0.9))).f1.p < 0.01


def test_the_same_pipeline_twice():
    first, _ = random_answers(4)
    found = compare_results(first, first, n_draws=100)
    assert (found.f1.low, found.f1.high, found.f1.p) == (0.0, 0.0, 1.0)
    assert found.better == found.worse == []


def test_changes():
    gold = frozenset([(0, 1, "A"), (2, 3, "B")])
    first = [DocumentResult("abcd", frozenset([(0, 1, "A"), (1, 2, "B")]), gold, True)]
    second = [DocumentResult("abcd", frozenset([(2, 3, "B"), (3, 4, "A")]), gold, True)]
    found = compare_results(first, second, n_draws=100)
    assert found.better == [
        ChangedSpan(0, 1, 2, "B", "b", is_gold=False),
        ChangedSpan(0, 2, 3, "B", "c", is_gold=True),
    ]
    assert found.worse == [
        ChangedSpan(0, 0, 1, "A", "a", is_gold=True),
        ChangedSpan(0, 3, 4, "A", "d", is_gold=False),
    ]


def test_what_cannot_be_compared():
    first, second = random_answers(5)
    with pytest.raises(ValueError, match="HS351.*40 and 39"):
        compare_results(first, second[:-1])
    with pytest.raises(ValueError, match="HS351"):
        compare_results(first, second[::-1])
    empty = [DocumentResult("a", frozenset(), frozenset(), True)] * 3
    with pytest.raises(ValueError, match="HS350.*3 documents"):
        compare_results(empty, empty)
    none = [DocumentResult("a", frozenset(), frozenset([(0, 1, "A")]), False)]
    assert compare_results(none, none, n_draws=100).records is None


def test_draws_are_shared():
    """One score twice is the same twice."""
    counts = np.random.default_rng(0).random((30, 5))
    one, other = differences([(lambda x: x[..., :2], counts)] * 2, 500, 1)
    assert one == other


# --- pipelines --------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two models, another tokenizer in the second, and gold."""
    folder = tmp_path_factory.mktemp("compare")
    make_trained().to_disk(folder / "a")
    other = spacy.blank("en")
    ruler = other.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "LOC", "pattern": "London"}])
    other.to_disk(folder / "b")
    DocBin(docs=references()).to_disk(folder / "gold.spacy")
    return folder


def run(*args, code=0):
    return hosemi("compare", *args, code=code).output


def test_command(folder):
    args = folder / "a", folder / "b", folder / "gold.spacy"
    found = as_json("compare", *args, "--draws", 200)["comparison"]
    nlp = spacy.load(folder / "a")
    examples = [Example(nlp.make_doc(x.text), x) for x in references()]
    scores = nlp.evaluate(examples)
    assert found["f1"]["first"] == pytest.approx(scores["ents_f"])
    assert found["f1"]["second"] < found["f1"]["first"]
    assert found["worse"] and found["n_documents"] == len(references())
    shown = run(*args, "--examples", "2")
    assert f"became wrong: {len(found['worse']):,}" in shown
    assert "F1 of spans" in shown and "exact records" in shown
    assert "may be chance" in run(folder / "a", folder / "a", args[2])


def test_documents_without_annotation_are_left_out():
    nlp = make_trained()
    doc = nlp.make_doc("In Paris .")
    bare = Example(nlp.make_doc(doc.text), doc)
    assert judge_pipeline(nlp, [bare]) == []


@Language.component("refuses_paris")
def refuse_paris(doc):
    if "Paris" in doc.text:
        raise ValueError("no Paris here")
    return doc


def test_a_pipeline_that_fails(folder, tmp_path):
    nlp = spacy.load(folder / "b")
    nlp.add_pipe("refuses_paris")
    nlp.to_disk(tmp_path / "c")
    printed = run(tmp_path / "c", folder / "a", folder / "gold.spacy", code=2)
    assert "Cannot predict with" in printed and "no Paris here" in printed
    nlp.set_error_handler(lambda *_: None)
    examples = [Example(nlp.make_doc(x.text), x) for x in references()]
    found = judge_pipeline(nlp, examples)
    kept = [x for x in references() if "Paris" not in x.text]
    assert 0 < len(kept) < len(examples)
    assert [one.text for one in found] == [x.text for x in kept]
    assert [len(one.gold) for one in found] == [len(x.ents) for x in kept]
