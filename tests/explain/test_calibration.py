"""How far confidences can be trusted, and thresholds: against plain counting."""

import math
import sys
from collections import Counter

import hypothesis.strategies as st
import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

from spacy_hosemi.component.judging import JudgedSpans, judge_component, load_examples
from spacy_hosemi.explain.calibration import (
    ENDINGS,
    EXPECTED_F1,
    calibrate,
    choose_temperature,
    draw_calibration,
    log_loss,
    measure_reliability,
)
from spacy_hosemi.explain.operating_points import (
    choose_expected_f1,
    choose_threshold,
    choose_thresholds,
    merit,
    short_between,
    try_thresholds,
)
from spacy_hosemi.labels.alignment import judge

from ..component.test_thresholds import make_uncertain
from ..helpers import initialize, make_trained, references

P = st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.9, 1.0]))
ROWS = st.lists(st.tuples(st.sampled_from("AB"), P, st.booleans()), max_size=12)


def make_judged(rows, missed=()) -> JudgedSpans:
    """rows: (label, confidence, whether it is right)."""
    return JudgedSpans(
        np.array([label for label, _, _ in rows], str),
        np.array([p for _, p, _ in rows], float),
        np.array([right for *_, right in rows], bool),
        Counter([label for label, _, right in rows if right] + list(missed)),
    )


@pytest.fixture(scope="module")
def dev(tmp_path_factory):
    path = tmp_path_factory.mktemp("dev") / "dev.spacy"
    DocBin(docs=references()).to_disk(path)
    return path


def uncertain_on(dev, **config):
    """A pipeline that makes mistakes, its component, and examples to judge it by."""
    nlp = make_uncertain(**config)
    pipe = nlp.get_pipe("hosemi")
    return nlp, pipe, load_examples(nlp, pipe, dev)


def scores_of(nlp, dev):
    return nlp.evaluate(list(spacy.training.Corpus(dev)(nlp)))


# --- reliability ------------------------------------------------------------------


@given(ROWS.filter(bool), st.integers(1, 12))
def test_error_equals_plain_counting(rows, n_bins):
    found = measure_reliability(make_judged(rows), 1.5, n_bins)
    members = {}
    for _, p, right in rows:
        k = 0
        while k + 1 < n_bins and p * n_bins >= k + 1:
            k += 1
        members.setdefault(k, []).append((p, right))
    error = loss = 0.0
    for b, k in zip(found.bins, sorted(members), strict=True):
        some = members[k]
        assert (b.low, b.high, b.n) == (k / n_bins, (k + 1) / n_bins, len(some))
        assert b.confidence == pytest.approx(sum(p for p, _ in some) / len(some))
        assert b.right == sum(right for _, right in some) / len(some)
        error += abs(sum(p - right for p, right in some)) / len(rows)
        clipped = [(min(max(p, 1e-15), 1 - 1e-15), right) for p, right in some]
        loss -= sum(math.log(p if x else 1 - p) for p, x in clipped) / len(rows)
    assert found.error == pytest.approx(error, abs=1e-12)
    assert found.log_loss == pytest.approx(loss)
    assert found.temperature == 1.5


# --- temperature ------------------------------------------------------------------


@pytest.mark.parametrize("truth", [0.6, 1.0, 1.8, 3.0])
def test_the_temperature_is_found(truth):
    """Scores as of two segmentations, right as often as at that temperature."""
    rng = np.random.default_rng(0)
    scores = rng.uniform(-1.0, 5.0, 4000)
    right = rng.random(4000) < 1.0 / (1.0 + np.exp(-scores / truth))

    def judge_at(temperature):
        p = 1.0 / (1.0 + np.exp(-scores / temperature))
        return JudgedSpans(np.full(len(p), "A"), p, right, Counter(A=4000))

    found = choose_temperature(judge_at)
    assert found == pytest.approx(truth, rel=0.1)
    losses = [log_loss(judge_at(t)) for t in (found, 0.97 * found, 1.03 * found)]
    assert losses[0] == min(losses)
    before, after = (measure_reliability(judge_at(t), t).error for t in (1.0, found))
    assert after < before or truth == 1.0


@pytest.mark.parametrize("right", [True, False])
def test_no_temperature_where_all_are_alike(right):
    rows = [("A", 0.8, right), ("B", 0.3, right)]
    assert choose_temperature(lambda _: make_judged(rows)) is None


# --- thresholds -------------------------------------------------------------------


def counted(rows, missed, threshold):
    """Right ones, and all that are left; how many there should be."""
    kept = [right for _, p, right in rows if p >= threshold]
    return sum(kept), len(kept), sum(right for *_, right in rows) + missed


def scored(rows, missed, threshold):
    n_right, n, n_gold = counted(rows, missed, threshold)
    p, r = n_right / n if n else 0.0, n_right / n_gold if n_gold else 0.0
    return {"precision": p, "recall": r, "f1": 2 * p * r / (p + r) if p + r else 0.0}


@given(ROWS, st.integers(0, 3), st.floats(0, 1))
def test_what_is_left_equals_plain_counting(rows, missed, threshold):
    judged = make_judged(rows, "A" * missed)
    found = try_thresholds(judged, threshold)
    assert found.n == counted(rows, missed, threshold)[1]
    for name, value in scored(rows, missed, threshold).items():
        assert getattr(found, name) == pytest.approx(value, abs=1e-12)
    both = try_thresholds(judged, {"A": threshold, "B": threshold})
    assert both == found
    only = try_thresholds(judged, {"B": threshold})
    assert only.n == sum(x != "B" or p >= threshold for x, p, _ in rows)


@settings(max_examples=100)
@given(
    ROWS.filter(bool),
    st.integers(0, 3),
    st.sampled_from(["precision", "recall", "f1"]),
    st.sampled_from([0.3, 0.5, 0.75, 0.9, 1.0]),
)
def test_the_best_threshold_equals_a_search(rows, missed, figure, wanted):
    """Of all different sets of entities that a threshold can leave."""
    judged = make_judged(rows, "A" * missed)
    options = {} if figure == "f1" else {figure: wanted}
    found = choose_threshold(judged, **options)
    tried = sorted({p for _, p, _ in rows})
    values = {threshold: scored(rows, missed, threshold)[figure] for threshold in tried}
    enough = [
        threshold
        for threshold in tried
        if figure != "f1" and values[threshold] >= wanted
    ]
    best = [x for x in tried if values[x] >= max(values.values()) - 1e-12]
    choice = enough or best
    expected = max(choice) if figure == "recall" else min(choice)
    kept = counted(rows, missed, expected)
    assert counted(rows, missed, found) == kept
    assert 0.0 <= found <= 1.0 and (found == 0.0) == (kept[1] == len(rows))


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_short_number_between(x, y):
    low, high = sorted([x, y])
    if low < high:
        assert low < short_between(low, high) <= high
    assert short_between(0.31, 0.95) == 0.6
    assert short_between(0.996, 0.999) == 0.998
    assert short_between(0.5, np.nextafter(0.5, 1)) == np.nextafter(0.5, 1)


@given(
    st.dictionaries(
        st.sampled_from([None, *EXPECTED_F1]),
        st.tuples(*[st.sampled_from([0.0, 0.3, 0.6, 0.61])] * 2),
        min_size=1,
    ),
    st.data(),
)
def test_the_best_expected_f1_equals_a_search(merits, data):
    present = data.draw(st.sampled_from([*merits]))
    chosen = choose_expected_f1(merits, present)
    first = max(x for x, _ in merits.values())
    second = max(y for x, y in merits.values() if x == first)
    best = [value for value, found in merits.items() if found == (first, second)]
    if present in best:
        assert chosen == present
    elif chosen is None:
        assert best == [None]
    else:
        assert chosen in best
        lower = sum(value < chosen for value in best if value is not None)
        higher = sum(value > chosen for value in best if value is not None)
        assert lower - higher in (0, 1)


@given(ROWS, st.sampled_from([{}, {"precision": 0.8}, {"recall": 0.5}]))
def test_by_label(rows, wanted):
    judged = make_judged(rows, "AB")
    found = choose_thresholds(judged, "ABC", **wanted)
    for label in "AB":
        own = make_judged([x for x in rows if x[0] == label], label)
        threshold = choose_threshold(own, **wanted)
        assert found.get(label, 0.0) == threshold
        assert (label in found) == (threshold > 0.0)
    assert "C" not in found
    assert choose_thresholds(judged, **wanted) == choose_threshold(judged, **wanted)


# --- a pipeline -------------------------------------------------------------------


@pytest.mark.parametrize("config", [{}, {"decoding": "mbr"}, {"encoding": "BIO"}])
def test_what_is_judged_is_what_spacy_scores(config, dev):
    for seed in range(2):
        nlp, pipe, examples = uncertain_on(dev, seed=seed, min_confidence=0.9, **config)
        judged = judge_component(pipe, examples)
        assert (pipe.min_confidence, pipe.confidence) == (0.9, False)
        for threshold in (0.0, 0.5, {"PER": 0.3, "LOC": 0.7}):
            pipe.min_confidence = threshold
            scores = scores_of(nlp, dev)
            point = try_thresholds(judged, threshold)
            for name, key in (("precision", "p"), ("recall", "r"), ("f1", "f")):
                assert getattr(point, name) == pytest.approx(scores[f"ents_{key}"])
            for label, found in scores["ents_per_type"].items():
                own = try_thresholds(judged.of_label(label), threshold)
                assert own.f1 == pytest.approx(found["f"])


def test_missing_annotation_is_not_judged():
    nlp = spacy.blank("en")
    words = "a b c d e f".split()
    reference = Doc(nlp.vocab, words=words)
    reference.set_ents(
        [Span(reference, 0, 2, "X"), Span(reference, 5, 6, "Y")],
        missing=[reference[2:3]],
    )
    spans = [(0, 2, "X"), (0, 1, "X"), (2, 3, "X"), (2, 5, "Y"), (3, 4, "Y")]
    found, gold = judge(Example(Doc(nlp.vocab, words=words), reference), spans)
    assert found == [True, False, None, None, False]
    assert gold == ["X", "Y"]


def test_other_tokens_are_aligned():
    nlp = spacy.blank("en")
    reference = Doc(nlp.vocab, words=["New", "York-", "Paris"], spaces=[True, False, 0])
    reference.set_ents([Span(reference, 0, 2, "X"), Span(reference, 2, 3, "X")])
    predicted = Doc(nlp.vocab, words=["New", "York", "-", "Paris"], spaces=[1, 0, 0, 0])
    spans = [(0, 3, "X"), (3, 4, "X"), (3, 4, "Y")]
    found, gold = judge(Example(predicted, reference), spans)
    assert found == [True, True, False]
    assert gold == ["X", "X"]


def test_preset_entities_are_not_ours(dev):
    nlp = make_uncertain()
    ruler = nlp.add_pipe("entity_ruler", first=True)
    ruler.add_patterns(
        [{"label": "LOC", "pattern": text} for text in ("London", "Nobody")]
    )
    pipe = nlp.get_pipe("hosemi")
    examples = load_examples(nlp, pipe, dev)
    judged = judge_component(pipe, examples)
    n_gold = Counter(ent.label_ for eg in examples for ent in eg.reference.ents)
    n_london = sum(ent.text == "London" for eg in examples for ent in eg.reference.ents)
    assert n_london > 0
    assert judged.n_gold == n_gold - Counter(LOC=n_london)
    found = [p for eg in examples for p in pipe(eg.predicted.copy()).ents]
    ours = [ent for ent in found if ent.text not in ("London", "Nobody")]
    assert len(judged.labels) == len(ours)


@pytest.mark.parametrize("decoding", ["viterbi", "mbr"])
def test_calibrate(decoding, dev, tmp_path):
    nlp = make_trained(decoding=decoding, temperature=2.0, min_confidence=0.3)
    pipe = nlp.get_pipe("hosemi")
    examples = load_examples(nlp, pipe, dev)
    for i in (0, 3):  # two mistakes
        examples[i].reference.set_ents(examples[i].reference.ents[1:])
    wrong = tmp_path / "wrong.spacy"
    DocBin(docs=[eg.reference for eg in examples]).to_disk(wrong)
    seen = []

    def progress(some):
        seen.append(len(some))
        return some

    found = calibrate(pipe, examples, labels=pipe.labels, progress=progress)
    assert (pipe.temperature, pipe.min_confidence) == (2.0, 0.3)
    assert pipe.decoding == decoding and set(seen) == {len(examples)}
    before, after = found.reliability
    assert before.temperature == 2.0
    assert after.temperature == found.chosen["temperature"] != 2.0
    if decoding == "viterbi":
        losses = [
            log_loss(judge_component(pipe, examples, temperature=t))
            for t in (after.temperature, 1.1 * after.temperature, 3.0, 1.0, 0.3)
        ]
        assert min(losses) == losses[0] == after.log_loss
    pipe.cfg = found.chosen
    nlp.to_disk(tmp_path / "model")
    loaded = spacy.load(tmp_path / "model")
    thresholds, point = found.thresholds[-1]
    assert thresholds == found.chosen["min_confidence"]
    assert point.f1 == pytest.approx(scores_of(loaded, wrong)["ents_f"])
    again = calibrate(loaded.get_pipe("hosemi"), examples, labels=pipe.labels)
    assert again.chosen == found.chosen  # what was there before does not matter
    assert again.reliability[0] == again.reliability[1] == after


@given(ROWS, st.sampled_from([{}, {"precision": 0.5}, {"recall": 0.5}]))
def test_merit(rows, wanted):
    judged, limits = make_judged(rows, "AB"), {"A": 0.4}
    point, (first, second) = try_thresholds(judged, limits), merit(judged, limits)
    assert (first, second) == (point.f1, 0.0)
    for figure, other in (("precision", "recall"), ("recall", "precision")):
        if figure in wanted:
            found = merit(judged, limits, **wanted)
            assert found == (min(getattr(point, figure), 0.5), getattr(point, other))
            found = merit(judged, limits, "AB", **wanted)
            points = [
                try_thresholds(judged.of_label(y), limits.get(y, 0.0)) for y in "AB"
            ]
            mean = sum(min(getattr(x, figure), 0.5) for x in points) / 2
            assert found == pytest.approx((mean, getattr(point, other)))


@pytest.mark.parametrize("settings", [{}, {"min_confidence": 0.3, "temperature": 2.0}])
def test_the_expected_f1_is_what_spacy_scores(settings, dev):
    config = {"decoding": "mbr", "expected_f1": 0.15, **settings}
    nlp, pipe, examples = uncertain_on(dev, **config)
    args = {"with_temperature": bool(settings), "with_threshold": False}
    found = calibrate(pipe, examples, **args)
    assert pipe.expected_f1 == 0.15
    assert found.expected.keys() == {None, 0.15, *EXPECTED_F1}
    temperature = {"temperature"} if settings else set()
    assert found.chosen.keys() == {"expected_f1"} | temperature
    chosen = found.expected[found.chosen["expected_f1"]]
    for value, point in found.expected.items():
        pipe.cfg = {**found.chosen, "expected_f1": value}
        assert point.f1 == pytest.approx(scores_of(nlp, dev)["ents_f"])
        assert point.f1 <= chosen.f1
    assert len({point.f1 for point in found.expected.values()}) > 1


@pytest.mark.parametrize("wanted", [{"precision": 0.4}, {"recall": 0.2}])
@pytest.mark.parametrize("by_label", [False, True])
def test_expected_f1_and_min_confidence_have_what_is_wanted(wanted, by_label, dev):
    _, pipe, examples = uncertain_on(dev, decoding="mbr")
    labels = pipe.labels if by_label else None
    found = calibrate(pipe, examples, labels=labels, with_temperature=False, **wanted)
    merits = {}
    for value in found.expected:
        judged = judge_component(pipe, examples, expected_f1=value)
        thresholds = choose_thresholds(judged, labels, **wanted)
        assert found.expected[value] == try_thresholds(judged, thresholds)
        merits[value] = merit(judged, thresholds, labels, **wanted)
    assert merits[found.chosen["expected_f1"]] == max(merits.values())
    point = try_thresholds(found.judged, found.chosen["min_confidence"])
    assert point == found.expected[found.chosen["expected_f1"]]


def test_an_expected_f1_is_found_where_the_old_one_finds_nothing(dev):
    config = {"decoding": "mbr", "expected_f1": 1.0, "temperature": 50.0}
    _, pipe, examples = uncertain_on(dev, **config)
    with pytest.raises(ValueError, match="HS092"):
        calibrate(pipe, examples, with_expected_f1=False, with_temperature=False)
    found = calibrate(pipe, examples, with_temperature=False)
    assert found.chosen["expected_f1"] != 1.0 and found.reliability == []
    assert len(found.judged.labels) > 0


def test_what_cannot_be_reached_is_said(dev):
    _, pipe, examples = uncertain_on(dev)
    found = calibrate(pipe, examples, with_temperature=False, recall=1.0)
    recall = try_thresholds(found.judged, 0.0).recall
    assert found.notes == [f"The recall is at most {recall:.4f}, not 1."]
    options = {"with_temperature": False, "precision": 1.0}
    found = calibrate(pipe, examples, labels=pipe.labels, **options)
    missed = {label for label, (_, x) in found.by_label.items() if x.precision < 1.0}
    assert missed and len(found.notes) == len(missed)
    for label in missed:
        assert any(f" of {label} " in note for note in found.notes)


def test_labels_that_are_no_keys_are_saved(tmp_path):
    marked = ("[A a] b c", "[B b] a c", "c [A a b]")
    nlp = make_uncertain()
    initialize(nlp, marked, labels=["A", "B", "x:y"])
    thresholds = {"A": 0.25, "x:y": 0.5}
    nlp.get_pipe("hosemi").min_confidence = [[*x] for x in thresholds.items()]
    nlp.to_disk(tmp_path)
    assert spacy.load(tmp_path).get_pipe("hosemi").min_confidence == thresholds


# --- pictures ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "ways", [{}, {"labels": ["LOC", "PER"]}, {"with_threshold": False}]
)
def test_pictures(ways, dev, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    _, pipe, examples = uncertain_on(dev)
    found = calibrate(pipe, examples, with_temperature=bool(ways), **ways)
    for ending in [".svg"] if ways else ENDINGS:
        path = tmp_path / f"found{ending}"
        draw_calibration(path, found)
        first = path.read_bytes()
        draw_calibration(path, found)
        assert path.read_bytes() == first and len(first) > 1000
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="HS100.*pip install matplotlib"):
        draw_calibration(tmp_path / "found.png", found)
