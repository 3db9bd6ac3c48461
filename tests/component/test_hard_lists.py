"""Lists in mode "hard": their exact matches are entities, the rest is decoded anew."""

import itertools

import numpy as np
import pytest
import spacy
from spacy.tokens import Span

from spacy_hosemi.labels.partial import PartialLabels
from spacy_hosemi.model.active_features import read_docs
from spacy_hosemi.prediction.limits import choose_spans

from .. import oracles
from ..helpers import (
    as_problem,
    assert_gradient,
    instances_of,
    make_doc,
    make_examples,
    make_nlp,
    randomize,
    triples,
)

NLP = spacy.blank("en")
LIST = "spacy_hosemi.gazetteer.v1"
MARKED = ("[A a b] c [B b] .", "a [B b a] c - [A c]", "c [A c c] a [B a]")
WORDS = "abc.-"


def make_pipe(entries, label="A", mode="hard", fuzzy=None, nlp=None, **config):
    """A component with random weights and the list "x"."""
    x = {"@misc": LIST, "attr": "LOWER", "mode": mode, "label": label}
    model = {"gazetteers": {"x": {**x, "fuzzy": fuzzy}}}
    nlp = make_nlp(nlp=nlp, model=model, **config)
    pipe, examples = nlp.get_pipe("hosemi"), make_examples(NLP, MARKED)
    pipe.initialize(lambda: examples, nlp=NLP, gazetteers={"x": lambda: entries})
    randomize(pipe)
    return pipe


def docs_of(size, n_docs=12):
    rng = np.random.default_rng(size)
    return [
        make_doc(NLP, *rng.choice(list(WORDS), size).tolist()) for _ in range(n_docs)
    ]


def wanted(doc, entries) -> list[tuple[int, int]]:
    """The longest match first, of equal ones the leftmost; without overlap."""
    spans = itertools.combinations(range(len(doc) + 1), 2)
    found = [s for s in spans if doc[slice(*s)].text in entries]
    chosen = []
    for i, j in sorted(found, key=lambda s: (s[0] - s[1], s)):
        if all(j <= start or end <= i for start, end in chosen):
            chosen.append((i, j))
    return sorted(chosen)


@pytest.mark.parametrize("decoding", ["viterbi", "mbr"])
@pytest.mark.parametrize("entries", [["a b", "b c a", "c"], ["a"], ["z"]])
def test_the_rest_is_decoded_exactly(entries, decoding):
    pipe = make_pipe(entries, decoding=decoding, confidence=True)
    free = make_pipe(entries, label=None, mode="feature")
    free.set_weights(pipe.get_weights())
    n_changed = 0
    for doc in [*docs_of(5), *docs_of(1, 3), make_doc(NLP)]:
        if not len(doc):
            assert not pipe(doc).ents
            continue
        hard = {(i, j, "A") for i, j in wanted(doc, entries)}
        (instance,) = instances_of(free.decoder.posterior(doc))
        problem = as_problem(pipe.automaton, instance.potentials)
        scores = {
            s: value
            for s, value in oracles.scored(problem).items()
            if hard <= {(i, j, pipe.inventory.names[y]) for i, j, y in s}
        }
        if decoding == "viterbi":
            best, _ = oracles.best(scores)
            expected = [(i, j, pipe.inventory.names[y]) for i, j, y in best if y]
            free_best = triples(free(doc.copy()).ents)
            assert triples(pipe(doc).ents) == expected
            n_changed += free_best != expected
        pipe(doc)
        assert hard <= set(triples(doc.ents))
        probs = oracles.span_probabilities(scores)
        for ent in doc.ents:
            y = pipe.inventory.names.index(ent.label_)
            p = probs[ent.start, ent.end, y]
            assert ent._.confidence == pytest.approx(p)
    assert n_changed or entries == ["z"] or decoding == "mbr"


@pytest.mark.parametrize("encoding", ["segments", "IO", "BIO", "BILUO"])
def test_encodings(encoding):
    entries = ["a b", "b c a", "c"]
    pipe = make_pipe(entries, encoding=encoding)
    for doc in docs_of(7):
        pipe(doc)
        hard = wanted(doc, entries)
        if encoding == "IO":  # no tag says where of two spans side by side one ends
            joins = [a for a, b in itertools.pairwise(hard) if a[1] == b[0]]
            hard = [] if joins else hard
        assert {(i, j, "A") for i, j in hard} <= set(triples(doc.ents))


def test_entities_before_win():
    pipe = make_pipe(["a b", "c"])
    doc = make_doc(NLP, "a", "b", "c", "a", "b")
    matches = pipe.weights.extractor.gazetteers.entities(doc)
    assert matches == [(0, 2, "A"), (3, 5, "A"), (2, 3, "A")]
    assert choose_spans(matches, None, None, 5) == matches
    blocked = PartialLabels(blocked=np.arange(5) // 2 == 1)
    assert choose_spans(matches, blocked, None, 5) == [(0, 2, "A")]
    borders = np.array([1, 3])
    assert choose_spans(matches, None, borders, 5) == [(3, 5, "A"), (2, 3, "A")]
    doc.set_ents([Span(doc, 1, 3, label="B")])
    assert triples(pipe(doc).ents)[-2:] == [(1, 3, "B"), (3, 5, "A")]
    # what the component has written itself is not preset
    doc = make_doc(NLP, "a", "b", "c", "a", "b")
    pipe(doc)
    ents = triples(doc.ents)
    assert triples(pipe(doc).ents) == ents


@pytest.mark.parametrize("encoding", ["segments", "BIO", "BILUO"])
def test_no_match_crosses_a_sentence_start(encoding):
    pipe = make_pipe(["a b", "c a"], encoding=encoding)
    words = ["a", "b", "c", "a", "b"]
    doc = pipe(make_doc(NLP, *words, sent_starts=[True, True, False, False, False]))
    assert (2, 4, "A") in triples(doc.ents)
    assert (0, 2, "A") not in triples(doc.ents)


def test_no_match_is_longer_than_the_longest_span():
    doc = make_pipe(["a b c", "b"], max_length=2)(make_doc(NLP, "a", "b", "c"))
    assert all(len(ent) <= 2 for ent in doc.ents)


def test_rules_win():
    pipe = make_pipe(["a b", "c", "."], label_rules=["A at most once"])
    doc = pipe(make_doc(NLP, "c", "a", "b", ".", "c"))
    assert [t for t in triples(doc.ents) if t[2] == "A"] == [(1, 3, "A")]


def test_only_exact_matches_are_entities():
    pipe = make_pipe(["a b c"], fuzzy={"threshold": 0.5})
    lists = pipe.weights.extractor.gazetteers
    doc = make_doc(NLP, "a", "b", ".")
    assert len(lists.similar([doc]).start)
    assert lists.entities(doc) == []


def test_training_goes_by_the_gold():
    pipe = make_pipe(["a"], label="B")  # the gold has [A a b]
    value, gradient = pipe.value_and_gradient(make_examples(NLP, MARKED))
    assert np.isfinite(value) and np.isfinite(gradient).all()


@pytest.mark.parametrize("setting", [("hard", None), ("hard", ""), ("feature", "A")])
def test_a_label_belongs_to_a_hard_list(setting):
    mode, label = setting
    with pytest.raises(ValueError, match=f"HS034.*label is {label!r}"):
        make_pipe(["a"], mode=mode, label=label)


def test_an_empty_list():
    for entries in ([], ["", " "]):
        with pytest.warns(UserWarning, match="HSW04.*'x' is empty.*'LOWER'"):
            pipe = make_pipe(entries)
        assert pipe.weights.extractor.gazetteers.entities(make_doc(NLP, "a")) == []


def test_unknown_label():
    with pytest.raises(ValueError, match=r"HS029.*gazetteers.x.label is 'C'.*'A', 'B'"):
        make_pipe(["a"], label="C")


@pytest.mark.parametrize(
    "fuzzy",
    [
        {"threshold": 0.3},
        {"threshold": 0.4, "units": "words"},
        {"similarity": "edit", "threshold": 0.75},
    ],
)
def test_gradient_of_similarities(fuzzy):
    """The role whole has real-valued features."""
    marked = ("in [A abcd efgh] c", "a [B abcd] to [A efgx] .", "[A xbcd efgh]")
    entries = ["abcd efgh", "abcd", "efgh x"]
    x = {"@misc": LIST, "fuzzy": fuzzy}
    features = {
        **{"@misc": "spacy_hosemi.features.v1", "preset": "none"},
        **{"inside": ["BIAS"], "whole": ["x:SIMILARITY", "x:FUZZY_MATCH"]},
        "min_count": 1,
    }
    model = {"gazetteers": {"x": x}, "features": features, "l2": 0.0}
    pipe, examples = (
        NLP.create_pipe("hosemi", config={"model": model}),
        make_examples(NLP, marked),
    )
    pipe.initialize(lambda: examples, nlp=NLP, gazetteers={"x": lambda: entries})
    randomize(pipe)
    gradient = assert_gradient(pipe, examples)
    rows = read_docs(pipe.weights, [examples[2].predicted]).segments
    assert ((rows.strength > 0) & (rows.strength < 1)).any()
    (row,) = [k for k, n in enumerate(pipe.weights.names) if "SIMILARITY" in n]
    assert pipe.weights.names[row] == "whole:x:SIMILARITY=1.0"
    assert np.abs(gradient[row]).max() > 1e-3
