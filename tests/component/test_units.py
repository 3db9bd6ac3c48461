"""The component with features of whole segments: what they tell, scores, gradients."""

import numpy as np
import pytest
import spacy

from spacy_hosemi.features.naming import segment_namer

from .. import oracles
from ..helpers import (
    as_problem,
    assert_gradient,
    find,
    initialize,
    lbfgs,
    make_doc,
    make_nlp,
    make_trained,
    random_pipe,
    triples,
)
from .test_gazetteers import ENTRIES, is_whole, readers_of, use_lists

NLP = spacy.blank("en")

# The label says whether first and last word are the same: no sum of a feature of the
# first word and one of the last can tell.
MIDDLE = ("k", "l m", "m", "l")
EQUAL = tuple(
    f"go [{'SAME' if left == right else 'OTHER'} {left} {middle} {right}] now"
    for middle in MIDDLE
    for left in "ab"
    for right in "ab"
)
TOKENS_ONLY = {
    "preset": "none",
    "inside": ["BIAS"],
    "start": ["LOWER", "LOWER[-1]"],
    "end": ["LOWER", "LOWER[1]"],
}
PAIR = {"whole": ["LOWER & LOWER[-1]"]}

# Each kind of template, for random weights.
KINDS = {
    "preset": "none",
    "inside": ["BIAS"],
    "whole": [
        *("LOWER & LOWER[-1]", "LOWER*", "IS_ALPHA+", "TOKENS", "BALANCED & LOWER"),
        *("x:MATCH & TOKENS", "x:IN*"),
    ],
    "min_count": 1,
    "width": 3,
}
SHORT = ("[A a b] c [B b] .", "( [B b a] c ) [A c]")


def make_random(marked=SHORT, features=KINDS, **config):
    """The component with the list "x", random weights, and examples."""
    model = {"gazetteers": use_lists(x={}), "features": features, "l2": 0.0}
    readers = readers_of({"x": ENTRIES["x"]})
    return random_pipe(NLP, marked, model, readers=readers, **config)


# --- what is learnt ---------------------------------------------------------------


def make_equal(**features):
    return make_trained(
        EQUAL, features={**TOKENS_ONLY, **features}, fit={"l2": 0.01, "max_iter": 60}
    )


@pytest.fixture(scope="module")
def trained():
    return make_equal(**PAIR)


def is_right(nlp) -> list[bool]:
    """For all pairs of words around one that was not in training."""
    return [
        find(nlp, f"go {x} new {y} now")
        == [(f"{x} new {y}", "SAME" if x == y else "OTHER")]
        for x in "ab"
        for y in "ab"
    ]


def test_what_only_a_segment_can_tell(trained):
    assert is_right(trained) == [True] * 4
    names = trained.get_pipe("hosemi").weights.names
    assert {f"whole:LOWER & LOWER[-1]={x} & {y}" for x in "ab" for y in "ab"} < {*names}


def test_without_it_nobody_could_know():
    assert not all(is_right(make_equal()))


def test_width_is_how_far_it_sees(trained):
    near = make_equal(**PAIR, width=2)
    assert not all(is_right(near))
    # and nothing is known of segments that are longer than all in training
    text = "go a new new new new new a now"
    assert find(trained, text)[0][0] == "a new new new new new a"


def test_brackets_that_close():
    """An entity ends with the bracket that belongs to its first one."""
    marked = [
        "[E ( a )] ) )",
        "[E ( ( b ) )] )",
        "[E ( a ( b ) )] ) )",
        "[E ( a ( b ) a ( c ) )] )",
        "[E ( a )] b )",
    ]
    features = {"preset": "none", "inside": ["BIAS"], "start": ["LOWER[-1]"]}
    features |= {"end": ["LOWER"], "min_count": 1}
    text = "( new ( new ) new ( ( new ) ) ) ) )"
    expected = "( new ( new ) new ( ( new ) ) )"
    for whole in (["BALANCED"], []):
        settings = {**features, "whole": whole, "width": 20}
        nlp = make_trained(marked, features=settings, fit={"l2": 0.01, "max_iter": 80})
        nlp.tokenizer = lambda text, nlp=nlp: make_doc(nlp, *text.split())
        assert (find(nlp, text) == [(expected, "E")]) == bool(whole)


def test_tags_on_tokens_have_no_segments():
    pipe, _ = make_random(encoding="BIO")
    assert not is_whole(pipe.weights).any()


def test_a_document_without_segments(trained):
    assert find(trained, "") == []
    assert trained(make_doc(trained)).ents == ()
    assert trained.get_pipe("hosemi").marginals(make_doc(trained)).log_z == 0.0


# --- scores and gradients ---------------------------------------------------------


def test_cells_are_sums_of_the_features_of_segments():
    pipe, examples = make_random()
    weights = pipe.weights
    kinds = {name.partition("=")[0] for name in weights.names}
    assert {f"whole:{text}" for text in KINDS["whole"]} < kinds
    for eg in examples:
        doc = eg.predicted
        (potentials,) = pipe.model.predict([doc])
        segments = weights.extractor.read([doc]).segments
        name = segment_namer(weights.extractor, doc)
        expected = np.zeros((len(doc) + 1, len(doc) + 1, 3))
        for k, (i, j) in enumerate(zip(segments.start, segments.end, strict=True)):
            row = weights.names.index(f"whole:{name(k)}")
            expected[i, j] += weights.matrix[row]
        found = np.zeros_like(expected)
        for i, j, y, score in potentials.cells.tolist():
            found[i, j, y] += score
        np.testing.assert_allclose(found, expected, atol=1e-12)
        n = len(doc)
        assert np.count_nonzero(found) == 3 * (3 * n - 3)  # all windows, all labels


@pytest.mark.parametrize("config", [{}, {"explicit_length": 2}, {"outside": "token"}])
def test_inference(config):
    """Of the whole pipeline: log Z, the best segmentation and all probabilities."""
    pipe, _ = make_random(**config)
    for words in ("a b c", "b ( a ) c", "- b -"):
        doc = make_doc(NLP, *words.split())
        (potentials,) = pipe.model.predict([doc])
        problem = as_problem(pipe.automaton, potentials)
        scores = oracles.scored(problem)
        marginals = pipe.marginals(doc)
        assert marginals.log_z == pytest.approx(oracles.log_z(scores), abs=1e-9)
        best, _ = oracles.best(scores)
        spans = [(i, j, pipe.inventory.names[y]) for i, j, y in best if y]
        assert triples(pipe(doc).ents) == spans
        expected = oracles.marginals(problem, scores)
        cells = marginals.gradient.cells["score"]
        np.testing.assert_allclose(cells, expected.cells, atol=1e-9)


def test_gradient_of_pairs(monkeypatch):
    monkeypatch.setattr("spacy_hosemi.training.feature_selection.MAX_WEIGHTS", 5)
    with pytest.warns(UserWarning, match="HSW03"):
        pipe, examples = make_random()
    pairs = pipe.weights.pairs
    rows = assert_gradient(pipe, examples)[:, 0]
    whole = is_whole(pipe.weights).repeat(pairs.sizes)
    assert np.abs(rows[whole]).max() > 0.01
    # those of the gold: "a b" and "b a" are segments, "b c" and "c [" are not
    names = {name for name in pipe.weights.names if "LOWER*" in name}
    assert {"whole:LOWER*=a b", "whole:LOWER*=b a", "whole:LOWER*=c"} <= names
    assert "whole:LOWER*=b c" not in names


def test_width_in_the_config():
    nlp = make_nlp(features={"whole": ["TOKENS"], "width": 2, "min_count": 1})
    initialize(nlp, fit=lbfgs(max_iter=2))
    names = nlp.get_pipe("hosemi").weights.names
    assert {name for name in names if "TOKENS" in name} == {
        "whole:TOKENS=1",
        "whole:TOKENS=2",
    }
    with pytest.raises(ValueError, match="HS033.*features.width is 0;"):
        make_nlp(features={"width": 0})
