"""The component with features in further roles: scores, gradients, what they tell."""

from math import inf

import numpy as np
import pytest
import spacy
from thinc.api import Adam

from spacy_hosemi.explain import find_features

from .. import oracles
from ..helpers import (
    initialize,
    lbfgs,
    make_doc,
    make_examples,
    make_nlp,
    make_trained,
    randomize,
    triples,
)
from .test_gazetteers import assert_gradient, hide
from .test_serialize import THROUGH

NLP = spacy.blank("en")

WITHIN = {
    "preset": "none",
    "inside": ["BIAS", "LOWER"],
    "start": ["BIAS"],
    "end": ["LOWER"],
    "within": ["BIAS", "LOWER[-1] & LOWER"],
    "min_count": 1,
}
SHORT = ("[A a b] c [B b] .", "a [B b a a] c - [A c]", "[A a] [A b]")
TEXTS = ("a b c", "b a . c", "- b a a", "a")


def make_random(marked=SHORT, features=WITHIN, seed=0, **config):
    """The component with random weights, and examples."""
    model = {"features": features, "l2": 0.0}
    pipe = NLP.create_pipe("hosemi", config={"model": model, **config})
    examples = make_examples(NLP, marked)
    pipe.initialize(lambda: examples, nlp=NLP)
    randomize(pipe, seed)
    return pipe, examples


def find(nlp, text):
    return [(ent.text, ent.label_) for ent in nlp(text).ents]


def weight_of(pipe):
    """(feature, column) -> weight, 0 for those that have none; by their names."""
    columns = pipe.inventory.names
    found = {
        row.feature: row.weights
        for row in find_features(pipe, top=len(pipe.weights.names))
    }
    assert len(found) == len(pipe.weights.names)
    assert {name for row in found.values() for name in row} <= set(columns)
    return lambda feature, column: found.get(feature, {}).get(column, 0.0)


def read(template, words, i):
    """The name of a feature at token i."""
    if template == "BIAS":
        return "BIAS=1"
    atoms = template.split(" & ")
    places = [i + int(a[6:-1]) if "[" in a else i for a in atoms]
    values = ["^" if k < 0 else "$" if k >= len(words) else words[k] for k in places]
    return f"{template}={' & '.join(values)}"


def score_by_hand(pipe, features, words):
    """What the documentation says, segment by segment: (segmentation) -> score."""
    weight, names = weight_of(pipe), pipe.inventory.names
    pattern = list(zip(pipe.cfg["patterns"], pipe.weights.pattern, strict=True))

    def score(segmentation):
        total = 0.0
        history = ["^"]
        for start, end, y in segmentation:
            history.append(names[y])
            if y == 0 and end - start > 1 and pipe.cfg["outside"] == "token":
                return -inf
            places = {
                "inside": range(start, end),
                "start": [start],
                "end": [end - 1],
                "within": range(start + 1, end),
            }
            for role, tokens in places.items():
                for template in features.get(role, ()):
                    for i in tokens:
                        name = f"{role}:{read(template, words, i)}"
                        total += weight(name, names[y])
        history.append("$")
        for k in range(1, len(history) + 1):
            for z, w in pattern:
                total += w if history[:k][-len(z) :] == list(z) else 0.0
        return total

    return score


def assert_as_by_hand(pipe, features):
    """log Z and the best segmentation of the whole pipeline."""
    for text in TEXTS:
        words = text.split()
        score = score_by_hand(pipe, features, words)
        n_labels = len(pipe.inventory.names)
        scores = {s: score(s) for s in oracles.segmentations(len(words), n_labels)}
        doc = make_doc(NLP, *words)
        log_z = np.logaddexp.reduce([x for x in scores.values() if x > -inf])
        assert pipe.marginals(doc).log_z == pytest.approx(log_z, abs=1e-9)
        best = max(scores, key=scores.get)
        spans = [(i, j, pipe.inventory.names[y]) for i, j, y in best if y]
        assert triples(pipe(doc).ents) == spans


def assert_kept_scores_agree(pipe, examples):
    """What prediction keeps of words, and what it sums anew."""
    for eg in examples:
        (kept,) = pipe.model.predict([eg.predicted])
        pipe.weights.keep_scores = False
        (fresh,) = pipe.model.predict([eg.predicted])
        pipe.weights.keep_scores = True
        for role in ("inside", "start", "end"):
            found, expected = getattr(kept, role), getattr(fresh, role)
            np.testing.assert_allclose(found, expected, atol=1e-12)
        assert (kept.entries is None) == (fresh.entries is None)
        if kept.entries is not None:
            assert kept.entries.tolist() == fresh.entries.tolist()


# --- within: at each token but the first ------------------------------------------


@pytest.mark.parametrize(
    "config", [{}, {"outside": "token"}, {"max_order": 0}, {"max_order": 3}]
)
@pytest.mark.parametrize("seed", [0, 1])
def test_within_by_hand(config, seed):
    pipe, _ = make_random(seed=seed, **config)
    assert_as_by_hand(pipe, WITHIN)


@pytest.mark.parametrize("prepare", [list, hide])
@pytest.mark.parametrize("config", [{}, {"max_length": 3}, {"explicit_length": 2}])
def test_gradient_of_within(prepare, config):
    pipe, examples = make_random(**config)
    rows = assert_gradient(pipe, prepare(examples))
    within = [name.startswith("within:") for name in pipe.weights.names]
    assert np.abs(rows[within]).max() > 0.01


def test_within_in_some_columns_only(monkeypatch):
    monkeypatch.setattr("spacy_hosemi.selection.MAX_WEIGHTS", 5)
    with pytest.warns(UserWarning, match="HSW03"):
        pipe, examples = make_random()
    assert_as_by_hand(pipe, WITHIN)
    assert_gradient(pipe, examples)
    found = {
        (row.feature, name)
        for row in find_features(pipe, role="within", top=99)
        for name in row.weights
    }
    assert found == {
        ("within:BIAS=1", "A"),
        ("within:BIAS=1", "B"),
        ("within:LOWER[-1] & LOWER=a & b", "A"),
        ("within:LOWER[-1] & LOWER=b & a", "B"),
        ("within:LOWER[-1] & LOWER=a & a", "B"),
        # - is behind c, both outside
        ("within:BIAS=1", "O"),
        ("within:LOWER[-1] & LOWER=c & -", "O"),
    }


def test_kept_scores_of_within():
    assert_kept_scores_agree(*make_random())


def test_an_online_step_on_within():
    nlp = make_nlp(features=WITHIN)
    initialize(nlp, SHORT)
    pipe, examples = nlp.get_pipe("hosemi"), make_examples(nlp, SHORT)
    losses = [nlp.update(examples, sgd=Adam(0.01))["hosemi"] for _ in range(8)]
    assert losses[-1] < losses[0] / 2
    assert np.abs(pipe.weights.matrix[_rows(pipe, "within")]).min() > 0.0


def _rows(pipe, role):
    return [name.startswith(f"{role}:") for name in pipe.weights.names]


def test_pairs_of_words_wholly_inside():
    """Whether two words are one name: only the pair can tell, and nothing around it."""
    marked = [
        f"so [A {left} {right}]" if left == right else f"so [A {left}] [A {right}]"
        for left in "abcd"
        for right in "abcd"
    ]
    words = {"preset": "none", "inside": ["BIAS"], "min_count": 1}
    pairs = {**words, "within": ["LOWER[-1] & LOWER"]}
    for features, knows in ((words, False), (pairs, True)):
        nlp = make_trained(marked, features=features, fit={"l2": 0.01})
        together = [("b b", "A")], [("b", "A"), ("c", "A")]
        found = find(nlp, "so b b"), find(nlp, "so b c")
        assert (found == together) == knows


@pytest.mark.parametrize("through", THROUGH)
def test_saved_models_with_within(through, tmp_path):
    nlp = make_trained(SHORT, features=WITHIN)
    other = through(nlp, tmp_path)
    for text in TEXTS:
        assert find(other, text) == find(nlp, text)
    left, right = nlp.get_pipe("hosemi"), other.get_pipe("hosemi")
    assert any(_rows(right, "within"))
    assert right.model.to_bytes() == left.model.to_bytes()


def test_tags_have_no_inside():
    pipe, examples = make_random(encoding="BIO")
    roles = {name.partition(":")[0] for name in pipe.weights.names}
    assert roles == {"inside"}
    assert "inside:LOWER[-1] & LOWER=a & b" in pipe.weights.names
    assert_gradient(pipe, examples)


def test_roles_without_templates_cost_nothing():
    """No scores, in training and prediction."""
    plain = {**WITHIN, "within": []}
    pipe, examples = make_random(features=plain)
    doc = examples[0].predicted
    assert set(pipe.weights.rows(doc).tokens) == {"inside", "start", "end"}
    pipe.model.predict([doc])
    assert pipe.weights._scores.roles == ("inside", "start", "end")


def test_features_of_tokens_include_those_within():
    pipe, examples = make_random(features={"preset": "none", "within": ["LOWER[-1]"]})
    assert pipe.token_features(examples[2].predicted) == [
        ["LOWER[-1]=^"],
        ["LOWER[-1]=a"],
    ]


def test_no_whole_segments_within():
    with pytest.raises(ValueError, match="HS036.*TOKENS"):
        make_nlp(features={"within": ["TOKENS"]})


def test_l2_of_within():
    fit = lbfgs(l2={"within": 1000.0, "inside": 0.1}, max_iter=10)
    nlp = make_nlp(features=WITHIN)
    initialize(nlp, SHORT, fit=fit)
    pipe = nlp.get_pipe("hosemi")
    sizes = np.abs(pipe.weights.matrix)
    assert 0.0 < sizes[_rows(pipe, "within")].max() < 0.01
    assert sizes[_rows(pipe, "inside")].max() > 0.1
