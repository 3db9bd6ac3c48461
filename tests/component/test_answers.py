"""Alternatives, entropy and rows, against enumeration."""

import itertools
import math
from dataclasses import replace

import hypothesis.strategies as st
import pytest
import spacy
from hypothesis import assume, given, settings
from spacy.tokens import Doc, Span

from spacy_hosemi.prediction import posterior

from .. import oracles
from ..helpers import (
    SMALL,
    UNTRAINED,
    as_problem,
    initialize,
    instances_of,
    make_doc,
    make_nlp,
    make_trained,
    random_pipe,
    triples,
)
from ..hierarchy.test_component import make_tree_nlp

NLP = spacy.blank("en")
MARKED = ("[A a b] c [B b] .", "a [B b a] c - [A c]", "c [A c c] a [B a]")
CONFIGS = {
    "segments": {},
    "sents": {"scope": "sents"},
    "token": {"outside": "token", "max_length": 2, "explicit_length": 2},
    "none": {"outside": "none"},
    "mbr": {"decoding": "mbr", "min_confidence": 0.9},
    "collective": {"collective": 1.0},
    "both": {"collective": 1.0, "scope": "sents"},
    "hard": {"hard": ["a b", "c"]},
    "hard sents": {"hard": ["a b", "c"], "scope": "sents"},
    "IO": {"encoding": "IO"},
    "BIO": {"encoding": "BIO"},
    "BILUO": {"encoding": "BILUO"},
    "BIO sents": {"encoding": "BIO", "scope": "sents"},
}
PIPES = {}


def make_pipe(*, hard=None, mode="hard", seed=0, size=1.0, marked=MARKED, **config):
    """A component with random weights; hard: entries of a list of As."""
    model, readers = {"features": SMALL}, {}
    if hard:
        list_ = {"@misc": "spacy_hosemi.gazetteer.v1", "attr": "LOWER"}
        label = "A" if mode == "hard" else None
        model["gazetteers"] = {"x": {**list_, "mode": mode, "label": label}}
        readers["x"] = lambda: hard
    if config.get("outside") == "none":
        marked = ("[A a b] [B c b]", "[B a] [A b a c]", "[A c c a]")
    return random_pipe(
        NLP, marked, model, readers=readers, seed=seed, size=size, **config
    )[0]


def pipe_of(name):
    if name not in PIPES:
        PIPES[name] = make_pipe(**CONFIGS[name])
    return PIPES[name]


def doc_of(name, parts) -> Doc:
    """As much of it as can be enumerated: with L tags there are (L + 1)^n."""
    if "encoding" in CONFIGS[name]:
        parts = [parts[0][:3], *(part[:1] for part in parts[1:] if "sents" in name)]
    return joined(parts)


def joined(parts) -> Doc:
    """Sentences of words as a document."""
    words = sum(parts, [])
    starts = [i == 0 for part in parts for i in range(len(part))]
    return Doc(NLP.vocab, words=words, sent_starts=starts)


def distributions(pipe, doc) -> list[oracles.Scores]:
    """The scored segmentations of each instance, and its first token."""
    found = []
    for problem in instances_of(pipe.decoder.posterior(doc)):
        given = as_problem(pipe.automaton, problem.potentials, problem.constraints)
        found.append((problem.instance.start, oracles.scored(given)))
    return found


def by_spans(pipe, doc) -> dict:
    """P(spans) of all sets of spans that a document may have, from the scores at
    temperature 1."""
    temperature, pipe.temperature = pipe.temperature, 1.0
    of_instances, whole = distributions(pipe, doc), {(): 1.0}
    pipe.temperature = temperature
    for low, scores in of_instances:
        scaled = {s: score / temperature for s, score in scores.items()}
        instance = {}
        for segments, p in oracles.probabilities(scaled).items():
            spans = tuple(
                (i + low, j + low, y) for i, j, y in pipe.inventory.decode(segments)
            )
            instance[spans] = instance.get(spans, 0.0) + p
        pairs = itertools.product(whole.items(), instance.items())
        whole = {(*x, *y): p * q for (x, p), (y, q) in pairs}
    return whole


UNITS = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", "-"]), min_size=1, max_size=3),
    min_size=1,
    max_size=2,
)


@pytest.fixture(autouse=True)
def as_they_were():
    """Pipelines are shared with other tests."""
    yield
    for pipe in PIPES.values():
        pipe.temperature = 1.0


@pytest.mark.parametrize("name", CONFIGS)
@settings(max_examples=10)
@given(
    parts=UNITS,
    k=st.sampled_from([1, 2, 3, 7, 10_000]),
    temperature=st.sampled_from([1.0, 1.0, 0.3, 0.8, 1.7, 6.0]),
)
def test_all_answers_equal_enumeration(name, parts, k, temperature):
    pipe, doc = pipe_of(name), doc_of(name, parts)
    pipe.temperature = 1.0
    best = triples(pipe(doc.copy()).ents)
    pipe.temperature = temperature
    expected = by_spans(pipe, doc)
    positive = sorted((p for p in expected.values() if p > 0), reverse=True)
    of_span = {}
    for spans, p in expected.items():
        for span in spans:
            of_span[span] = of_span.get(span, 0.0) + p

    alternatives = pipe.kbest(doc, k)
    assert len(alternatives) == min(k, len(positive))
    assert len({tuple(x.spans) for x in alternatives}) == len(alternatives)
    probs = [x.probability for x in alternatives]
    assert probs == sorted(probs, reverse=True)
    assert probs == pytest.approx(positive[:k], abs=1e-12)
    for x in alternatives:
        assert x.probability == pytest.approx(expected[tuple(x.spans)], abs=1e-12)
        assert x.probability == pytest.approx(math.exp(x.log_probability))
    entropy = -sum(p * math.log(p) for p in positive)
    assert pipe.entropy(doc) == pytest.approx(entropy, abs=1e-6)

    doc = pipe(doc)
    predicted = tuple(triples(doc.ents))
    if pipe.decoding == "viterbi":
        assert [*predicted] == best == alternatives[0].spans
    for ent in doc.ents:
        p = of_span[ent.start, ent.end, ent.label_]
        assert ent._.confidence == pytest.approx(p, abs=1e-9)
    answers, rows = pipe.ranked(doc, k), pipe.to_rows(doc, k)
    others = [spans for x in alternatives if (spans := tuple(x.spans)) != predicted]
    assert [tuple(x.spans) for x in answers] == [predicted, *others[: k - 1]]
    for x in answers:
        p = expected.get(tuple(x.spans), 0.0)
        assert x.probability == pytest.approx(p, abs=1e-9)
    assert len(rows) == sum(len(x.spans) for x in answers)
    marginals = pipe.marginals(doc)
    for row in rows:
        span = row["start"], row["end"], row["label"]
        assert span in answers[row["rank"] - 1].spans
        assert row["probability"] == answers[row["rank"] - 1].probability
        assert row["text"] == doc[row["start"] : row["end"]].text
        assert row["text"] == doc.text[row["start_char"] : row["end_char"]]
        assert row["confidence"] == pytest.approx(of_span.get(span, 0.0), abs=1e-9)
        assert {type(value) for value in row.values()} == {int, float, str}
        if not pipe.inventory.on_tokens:
            label = pipe.inventory.names.index(row["label"])
            p = marginals.segment(*span[:2], label)
            assert p == pytest.approx(of_span.get(span, 0.0), abs=1e-9)
    assert pipe.to_rows(doc) == [row for row in rows if row["rank"] == 1]


@pytest.mark.parametrize("n_sents, k", [(1, 9), (7, 5), (40, 3), (40, 30)])
def test_many_sentences(n_sents, k):
    """The best combinations, found by trying all with one more sentence each time."""
    pipe = pipe_of("sents")
    doc = joined([["a", "b", "-"], ["c"], ["b", "a"]] * n_sents)
    sums = [(0.0, ())]
    for low, scores in distributions(pipe, doc):
        log_z = oracles.log_z(scores)
        pairs = itertools.product(sums, oracles.ranked(scores)[:k])
        more = [
            (
                x + score - log_z,
                (*spans, *((i + low, j + low, y) for i, j, y in s if y)),
            )
            for (x, spans), (s, score) in pairs
        ]
        sums = sorted(more, key=lambda pair: -pair[0])[:k]
    found = pipe.kbest(doc, k)
    logs = [one.log_probability for one in found]
    assert logs == pytest.approx([x for x, _ in sums], abs=1e-9)
    names = pipe.inventory.names
    best = [(i, j, names[y]) for i, j, y in sums[0][1]]
    assert found[0].spans == best


@pytest.mark.parametrize("encoding", ["IO", "BIO", "BILUO"])
def test_tags_over_whitespace_are_one_alternative(encoding):
    pipe = make_pipe(encoding=encoding, clean_text=False)
    doc = make_doc(NLP, "a", "\n", "b")
    ((_, scores),) = distributions(pipe, doc)
    expected = {}
    for segments, p in oracles.probabilities(scores).items():
        spans = []
        for i, j, y in pipe.inventory.decode(segments):
            i, j = i + (i == 1), j - (j == 2)  # without "\n"
            spans += [(i, j, y)] if i < j else []
        expected[tuple(spans)] = expected.get(tuple(spans), 0.0) + p
    assert len(expected) < len(oracles.possible(scores))
    found = pipe.kbest(doc, 10_000)
    assert {tuple(x.spans): x.probability for x in found} == pytest.approx(expected)
    some = pipe.kbest(doc, 4)
    assert len(some) <= 4
    for one in some:  # of those found
        assert one.probability <= expected[tuple(one.spans)] + 1e-12


def test_extreme_scores():
    """Probabilities that no number can hold; nothing but one segmentation."""
    pipe = make_pipe(size=200.0)
    doc = make_doc(NLP, *"abc-" * 300)
    found = pipe.kbest(doc, 3)
    logs = [one.log_probability for one in found]
    assert logs == sorted(logs, reverse=True) and logs[0] <= 0.0
    assert 0.0 <= pipe.entropy(doc) < math.inf
    flat = make_pipe(size=1e-3)
    best = flat.kbest(doc, 1)[0]
    assert best.log_probability < -800 and best.probability == 0.0


@pytest.mark.parametrize("name", CONFIGS)
def test_an_empty_doc(name):
    pipe, doc = pipe_of(name), make_doc(NLP)
    (one,) = pipe.kbest(doc, 3)
    assert (one.spans, one.probability) == ([], 1.0)
    assert pipe.entropy(doc) == 0.0
    assert pipe.to_rows(doc, 3) == []


@UNTRAINED
def test_an_untrained_model():
    initialized = make_nlp()
    initialize(initialized, MARKED)
    for nlp in (make_nlp(), initialized):
        pipe = nlp.get_pipe("hosemi")
        doc = make_doc(NLP, "a", "b")
        (one,) = pipe.kbest(doc, 3)
        assert (one.spans, one.probability) == ([], 1.0)
        assert pipe.entropy(doc) == 0.0
        assert pipe.to_rows(doc, 3) == []


@pytest.mark.parametrize("k", [0, -1, 2**70, 1.0, math.nan, True, "2", None])
def test_k_out_of_range(k):
    pipe, doc = pipe_of("segments"), make_doc(NLP, "a")
    for of_doc in (doc, make_doc(NLP)):
        with pytest.raises(ValueError, match="HS043.*k is .*; expected a whole"):
            pipe.kbest(of_doc, k)
        with pytest.raises(ValueError, match="HS043"):
            pipe.to_rows(of_doc, k)


def test_nothing_is_possible():
    pipe = make_pipe(outside="none", max_length=1, label_rules=["A at most once"])
    rules = ["A or B at most once"]
    pipe.schema = replace(pipe.schema, rules=tuple(rules))
    doc = make_doc(NLP, "a", "b")
    for ask in (pipe.entropy, lambda x: pipe.kbest(x, 2), lambda x: pipe.to_rows(x)):
        with pytest.raises(ValueError, match="HS060.*'a b ?'.*label_rules"):
            ask(doc)


def test_a_trained_pipeline():
    nlp = make_trained()
    pipe = nlp.get_pipe("hosemi")
    doc = nlp("Ada Lovelace wrote to Łukasz in London.")
    found = pipe.kbest(doc, 4)
    assert triples(doc.ents) == found[0].spans
    assert found[0].probability > found[1].probability > 0.0
    before = doc.to_bytes()
    rows = pipe.to_rows(doc, 4)
    assert doc.to_bytes() == before
    for row in rows[: len(doc.ents)]:
        ent = doc[row["start"] : row["end"]]
        assert (ent.start_char, ent.end_char) == (row["start_char"], row["end_char"])
    confidences = [row["confidence"] for row in rows[: len(doc.ents)]]
    assert confidences == pytest.approx([ent._.confidence for ent in doc.ents])


@pytest.mark.parametrize("is_saved", [True, False])
@pytest.mark.parametrize("name", CONFIGS)
@settings(max_examples=8)
@given(parts=UNITS, data=st.data())
def test_what_came_later_changes_no_row(name, is_saved, parts, data):
    pipe, doc = pipe_of(name), doc_of(name, parts)
    pipe.confidence = is_saved
    before = doc.copy()
    rows = pipe.to_rows(before, 3)
    doc = pipe(doc)
    pipe.confidence = False
    for token in doc[1:]:
        token.is_sent_start = data.draw(st.booleans())
    free = [token.i for token in doc if token.ent_iob_ == "O"]
    spans = [Span(doc, i, i + 1, "VERB") for i in free[:1]]
    doc.set_ents(spans, default="unmodified")
    again = [row for row in pipe.to_rows(doc, 3) if row["label"] != "VERB"]
    assert [{**row, "rank": 0} for row in again] == [{**row, "rank": 0} for row in rows]
    first = [row for row in pipe.to_rows(doc)]
    assert [(x["start"], x["end"], x["label"]) for x in first] == triples(doc.ents)


@pytest.mark.parametrize("is_before", [True, False])
def test_rows_of_entities_of_others_have_no_confidence(is_before):
    nlp = make_trained()
    pipe, text = nlp.get_pipe("hosemi"), "Ada Lovelace wrote to Łukasz in London."
    doc = nlp.make_doc(text) if is_before else nlp(text)
    doc.set_ents([Span(doc, 2, 3, "VERB")], default="unmodified")
    doc = pipe(doc) if is_before else doc
    shown = {(ent.start, ent.end): ent._.confidence for ent in doc.ents}
    assert shown[2, 3] is None and len(shown) > 1
    for row in pipe.to_rows(doc, 3):
        is_verb = row["label"] == "VERB"
        assert (row["confidence"] is None) == is_verb == (row["start"] == 2)


@pytest.mark.parametrize("name", [x for x in CONFIGS if "encoding" not in CONFIGS[x]])
@settings(max_examples=12)
@given(parts=UNITS, threshold=st.sampled_from([1e-6, 0.05, 0.3, 0.7]))
def test_spans_above_a_threshold(name, parts, threshold):
    pipe, doc = pipe_of(name), doc_of(name, parts)
    everything = by_spans(pipe, doc)
    expected = {}
    for spans, p in everything.items():
        for span in spans:
            expected[span] = expected.get(span, 0.0) + p
    assume(all(abs(p - threshold) > 1e-9 for p in expected.values()))
    above = {x: p for x, p in sorted(expected.items()) if p > threshold}
    plain = triples(pipe(doc.copy()).ents)
    pipe.spans_key, pipe.spans_threshold = "all", threshold
    try:
        pipe(doc)
    finally:
        pipe.spans_threshold = pipe.spans_key = None
    assert triples(doc.ents) == plain
    assert triples(doc.spans["all"]) == list(above)
    scores = doc.spans["all"].attrs["scores"].tolist()
    assert scores == pytest.approx(list(above.values()), abs=1e-6)


def test_the_threshold_of_a_pipeline():
    config = {"spans_key": "all", "spans_threshold": 0.01, "confidence": True}
    nlp = make_trained(**config)
    doc = nlp("Ada Lovelace wrote to Łukasz in London.")
    found = dict(zip(triples(doc.spans["all"]), doc.spans["all"].attrs["scores"]))
    assert len(found) > len(doc.ents) > 0
    for ent in doc.ents:
        score = found[ent.start, ent.end, ent.label_]
        assert ent._.confidence == pytest.approx(score, rel=1e-6)
    pipe = nlp.get_pipe("hosemi")
    pipe.redecode(doc, forbid=[(0, 2, None)])
    assert (0, 2, "PER") not in triples(doc.spans["all"])
    for words in ([], ["Ada"]):
        pipe(make_doc(nlp, *words))
    assert len(nlp("").spans["all"]) == 0
    untrained = make_nlp(**config).get_pipe("hosemi")
    assert len(untrained(make_doc(nlp, "Ada")).spans["all"]) == 0


@pytest.mark.parametrize("name", ["segments", "sents", "tree"])
def test_a_threshold_that_nearly_all_spans_have(name, monkeypatch):
    """The most probable spans are listed, with a warning; else the same as before."""
    monkeypatch.setattr(posterior, "LISTED", 10)
    monkeypatch.setattr(posterior, "LISTED_PER_TOKEN", 2)
    if name == "tree":
        pipe = make_tree_nlp(max_order=0, tree={"exact_up_to": 0, "threshold": 0.0})
        pipe = pipe.get_pipe("hosemi")
        doc = make_doc(pipe, *"Ada met Mary in London .".split())
    else:
        pipe, doc = pipe_of(name), joined([["a", "b", "c", "-"], ["b", "c"]])
    limit = 2 * len(doc)
    monkeypatch.setattr(pipe, "spans_key", "all")
    monkeypatch.setattr(pipe, "spans_threshold", 1e-9)
    with monkeypatch.context() as patch:
        patch.setattr(posterior, "LISTED", 1000)
        whole = pipe(doc.copy())
    group = whole.spans["all"]
    every = dict(zip(triples(group), group.attrs["scores"].tolist()))
    assert len(every) > limit
    words = "Ada met" if name == "tree" else "a b c"
    with pytest.warns(UserWarning, match=f"HSW11.*1e-09.*{limit} spans.*'{words}"):
        group = pipe(doc).spans["all"]
    listed = triples(group)
    assert listed == sorted(listed) and len(listed) == limit
    assert group.attrs["scores"].tolist() == [every[span] for span in listed]
    others = [p for span, p in every.items() if span not in listed]
    assert max(others) <= min(group.attrs["scores"])
