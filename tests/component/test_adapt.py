"""`adapt` learns corrections without the documents of the training."""

import re
from functools import partial

import numpy as np
import pytest
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_hosemi.component import fit, penalty_search
from spacy_hosemi.component.penalty_search import STRENGTHS
from spacy_hosemi.training import lbfgs

from ..helpers import (
    SMALL,
    TRAIN,
    find,
    fit_pairs,
    hide,
    in_a_tree,
    interrupt_at,
    make_examples,
    make_nlp,
    make_trained,
    parse,
)
from .test_neural import embedding

# Another style: "by" and "at" are in no old document.
NEW = (
    "by [PER Lovelace] at [LOC London]",
    "by [PER Babbage] at [LOC Paris]",
    "by [PER Somerville] at [LOC Rome]",
    "by [PER Ada] at [LOC New York]",
)
UNSEEN = "by Hopper at Berlin"
WANTED = [("Hopper", "PER"), ("Berlin", "LOC")]
L2 = 0.1
TRANSITIONS = {**SMALL, "transition": ["LOWER", "SHAPE"]}
CONFIGS = {
    "small": {},
    "chain": {"encoding": "BILUO"},
    "lengths": {"explicit_length": 3},
    "observed": {"observed_order": 1, "features": TRANSITIONS},
    "rules": {"label_rules": ["LOC at most once"]},
    "tokens": {"outside": "token", "max_order": 1},
}
QUIET = pytest.mark.filterwarnings("ignore:.HSW05", "ignore:.HSW96")


def adapt(nlp, marked=NEW, strength=None, **settings):
    pairs = [parse(line) for line in marked]
    return nlp.get_pipe("hosemi").adapt(pairs, strength, nlp=nlp, **settings)


def named(pipe):
    """Weights and counts by the name of a feature and label, or a pattern or length."""
    state, names = pipe.weights, pipe.automaton.labels
    columns = [*names, *(" ".join(z) for z in pipe.automaton.observed)]
    row, column, _ = state.slots(np.arange(len(state.names), dtype=np.int32))
    keys = [(state.names[r], columns[c]) for r, c in zip(row, column)]
    is_learnt = np.isfinite(state.pattern)
    keys += [z for z, x in zip(pipe.automaton.patterns, is_learnt) if x]
    if state.learn_length:
        keys += [(names[y], d) for y, d in np.argwhere(np.isfinite(state.length))]
    weights, counts = pipe.get_weights().tolist(), state.counts[row].tolist()
    counts += [state.n_docs] * (len(keys) - len(counts))
    return dict(zip(keys, zip(weights, counts, strict=True), strict=True))


@QUIET
@pytest.mark.parametrize("strength", [0.0, 0.02, 0.3])
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("below", [None, 0.1])
def test_the_penalty_is_centred_on_the_old_weights(name, strength, below, monkeypatch):
    """At the optimum the gradient of the loss is that of the penalty, by plain loops;
    no document reads what has no gradient, and that stays."""
    nlp = make_trained(**CONFIGS[name])
    exact = partial(lbfgs.make_lbfgs, tolerance=0.0, max_iter=1000)
    monkeypatch.setattr(lbfgs, "make_lbfgs", exact)
    pipe = nlp.get_pipe("hosemi")
    if below is not None:
        pipe.prune(below)
    before, n_docs = named(pipe), pipe.weights.n_docs
    adapt(nlp, strength=strength)
    _, gradient = pipe.value_and_gradient(make_examples(nlp, NEW))
    after = named(pipe)
    assert {*before} <= {*after} and len(after) > len(before)
    assert pipe.weights.n_docs == n_docs + len(NEW)
    # What a known feature, or all, have no weight for was known to be near 0.
    n_of_feature = {key[0]: n for key, (_, n) in before.items() if ":" in key[0]}
    for (key, (weight, count)), derivative in zip(after.items(), gradient):
        known = n_of_feature.get(key[0], 0 if ":" in key[0] else n_docs)
        old, _ = before.get(key, (0.0, 0))
        penalty = (L2 + strength * known) * (weight - old)
        assert derivative + penalty == pytest.approx(0.0, abs=2e-3), key
        assert count >= known


@QUIET
def test_strong_and_weak():
    nlp = make_trained()
    before = named(nlp.get_pipe("hosemi"))
    adapt(nlp, strength=1e9)
    moved = named(nlp.get_pipe("hosemi"))
    for key, (weight, _) in before.items():
        assert moved[key][0] == pytest.approx(weight, abs=1e-4)
    # Old weights of 0 are no knowledge: the same as from nothing.
    config = {"max_order": 1}
    nlp, anew = make_trained(**config), make_nlp(**config)
    pipe = nlp.get_pipe("hosemi")
    pipe.set_weights(0.0 * pipe.get_weights())
    adapt(nlp, strength=0.0)
    settings = {"progress": False, "prune": 0.0}
    anew.get_pipe("hosemi").fit([*map(parse, NEW)], nlp=anew, **settings)
    adapted, expected = named(pipe), named(anew.get_pipe("hosemi"))
    for key, (weight, _) in expected.items():
        assert adapted[key][0] == pytest.approx(weight, abs=0.02)
    assert find(nlp, UNSEEN) == find(anew, UNSEEN) == WANTED


def test_corrections_are_learnt_and_the_rest_is_kept():
    nlp = make_trained()
    pipe = nlp.get_pipe("hosemi")
    assert find(nlp, UNSEEN) != WANTED
    result = adapt(nlp)
    assert find(nlp, UNSEEN) == WANTED
    for text, spans in map(parse, TRAIN):
        assert find(nlp, text) == [(text[i:j], y) for i, j, y in spans]
    assert (result.n_documents, result.n_spans) == (4, 8) and result.is_converged
    strengths = [x["strength"] for x in result.trials]
    assert strengths == [np.inf, *STRENGTHS][: len(strengths)]
    assert result.strength in STRENGTHS and result.labels == pipe.labels
    assert pipe.training_texts.has(parse(NEW[0])[0])
    loaded = make_nlp().from_bytes(nlp.to_bytes())
    assert find(loaded, UNSEEN) == WANTED
    assert adapt(make_trained(), NEW[:1]).trials == ()  # predicted from no other
    # The next one knows the documents of the last one.
    counts = pipe.weights.counts.sum()
    adapt(nlp, TRAIN[:2], strength=0.1)
    assert pipe.weights.counts.sum() > counts


UNLIKE = (
    "[LOC Ada] wrote to [PER London]",
    "by [LOC Bob] in [PER Paris]",
    "[PER Rome] is [LOC Eve]",
    "the [PER end]",
)


@pytest.mark.parametrize(
    "marked, tried, most, strength",
    [
        (["[LOC Ada Lovelace] wrote."], 5, 20, 0.003),  # predicted from no other
        (UNLIKE, 5, 4, 0.01),
        (UNLIKE, 5, 3, 0.3),
        (UNLIKE, 2, 20, 0.3),  # none learns all
        (NEW, 5, 20, 0.3),
    ],
)
def test_which_strength_is_taken(marked, tried, most, strength, monkeypatch):
    """Where old documents are many, all strengths are within chance."""
    monkeypatch.setattr(fit, "MOST_LEARNT", most)
    monkeypatch.setattr(penalty_search, "STRENGTHS", STRENGTHS[:tried])
    result = adapt(make_trained(TRAIN * 40), marked)
    learns_all = tried == 5 and len(marked) <= most
    assert (result.strength, result.learnt == 1.0) == (strength, learns_all)


def test_partial_annotation_and_documents():
    nlp = make_trained()
    examples = [hide([eg])[0] for eg in make_examples(nlp, NEW)]
    pipe = nlp.get_pipe("hosemi")
    result = pipe.adapt([eg.reference for eg in examples], nlp=nlp)
    assert result.n_spans == len(NEW) and ("Hopper", "PER") in find(nlp, UNSEEN)
    with pytest.raises(ValueError, match="HS180.*Pass nlp=nlp"):
        pipe.adapt([examples[0].reference])
    pipe.adapt(examples, 0.1)


def test_new_labels():
    cities = "London", "Paris", "Rome", "New York"
    marked = [f"no. [NUMBER {k}] at [LOC {city}]" for k, city in enumerate(cities)]
    nlp = make_trained()
    with pytest.raises(ValueError, match=r"HS370.*hosemi.*\['NUMBER'\].*labels="):
        adapt(nlp, marked)
    adapt(nlp, marked, labels=["NUMBER"])
    assert find(nlp, "no. 7 at Berlin") == [("7", "NUMBER"), ("Berlin", "LOC")]
    assert find(nlp, parse(TRAIN[1])[0])[0] == ("Charles Babbage", "PER")


COMMAS = [x.replace("] at", "], at") for x in NEW]
WIDE = [x.replace("] at", ",] at") for x in NEW]


@pytest.mark.parametrize(
    "old, new, text, wanted",
    [
        (COMMAS, WIDE, "PER ends with ,: 4", "Hopper"),
        (WIDE, COMMAS, "PER ends without ,: 4", "Hopper,"),
    ],
)
def test_separators_at_borders(old, new, text, wanted):
    """Corrections by other guidelines are seen; with trim they follow the old ones."""
    nlp = make_trained((*TRAIN, *old))
    unseen = UNSEEN.replace(" at", ", at")
    assert find(nlp, unseen) == [(wanted, "PER"), ("Berlin", "LOC")]
    with pytest.warns(UserWarning, match=f"HSW96] 4 of 4.*{text}.*trim=True"):
        adapt(nlp, new, strength=0.0)
    assert find(nlp, unseen)[0] != (wanted, "PER")
    nlp = make_trained((*TRAIN, *old))
    before = named(nlp.get_pipe("hosemi"))
    adapt(nlp, new, strength=0.1, trim=True)
    assert find(nlp, unseen) == [(wanted, "PER"), ("Berlin", "LOC")]
    after = named(nlp.get_pipe("hosemi"))
    assert max(abs(after[key][0] - before[key][0]) for key in before) < 0.5


def test_equal_texts():
    once, twice = make_trained(), make_trained()
    adapt(once, NEW, 0.1)
    adapt(twice, [*NEW[:2], *NEW], 0.1)
    weights = [x.get_pipe("hosemi").get_weights() for x in (once, twice)]
    assert np.allclose(*weights, atol=1e-3)
    other, wrong = make_trained(), "[LOC by] Lovelace at London"
    with pytest.warns(UserWarning, match="HSW97] 1 of 5"):
        adapt(other, [wrong, *NEW], 0.1)
    assert np.allclose(weights[0], other.get_pipe("hosemi").get_weights(), atol=1e-3)
    other.get_pipe("hosemi").label_rules = ["PER never before LOC"]
    with pytest.warns(UserWarning, match="HSW05"):
        adapt(other, NEW, 0.1)


def tree():
    fit_pairs(nlp := make_nlp(hierarchy=TREE, max_order=1), in_a_tree())
    return nlp


TREE = {"@misc": "spacy_hosemi.hierarchy.v1"}
PERCEPTRON = {"@misc": "spacy_hosemi.perceptron.v1"}
NO_VALUES = {"labels": ("ab", None, 3, [3], [""], {"PER"}, b"PER")}
NO_VALUES["strength"] = "auto", float("nan"), float("inf"), 10**10, -1


@pytest.mark.parametrize(
    "code, make, given",
    [
        *(
            (f"HS043.*{key} is {re.escape(repr(x))};", make_trained, {key: x})
            for key, values in NO_VALUES.items()
            for x in values
        ),
        (r"HS042.*labels.1. is 'X'.*'PER'", make_trained, {"labels": ["PER", "X"]}),
        ("HS368.*0 documents", make_trained, {"examples": []}),
        ("HS368.*1 documents", make_trained, {"examples": [Doc(Vocab(), ["a"])]}),
        ("HS370.*'Per'.*one of .'PER'", make_trained, {"label": "Per"}),
        ("HS370.*'LOK'.*one of .'LOC'", make_trained, {"label": "LOK"}),
        ("HS182.*0, 9", make_trained, {"examples": [("Ada", [(0, 9, "PER")])]}),
        ("HS231.*3", make_trained, {"examples": 3}),
        ("HS232.*'en'", make_trained, {"nlp": "en"}),
        ("HS369.*hosemi.*not trained", make_nlp, {}),
        ("HS369.*tree", tree, {}),
        ("HS053.*adapt", partial(make_nlp, model={"tok2vec": embedding()}), {}),
        ("HS121", partial(make_nlp, objective=PERCEPTRON), {}),
        ("HS040.*'O'", make_trained, {"label": "O", "labels": ["O"]}),
    ],
)
def test_what_cannot_be_adapted(code, make, given):
    nlp, given = make(), {**given}
    before = nlp.to_bytes(exclude=["vocab"])
    label = given.pop("label", "PER")
    examples = given.pop("examples", [("Ada met Bob", [(0, 3, label)])])
    with pytest.raises((ValueError, TypeError), match=code):
        nlp.get_pipe("hosemi").adapt(examples, **({"nlp": nlp} | given))
    assert nlp.to_bytes(exclude=["vocab"]) == before


@pytest.mark.parametrize("n", [1, 30, 200, -1])
def test_ctrl_c_leaves_all_as_it_was(n):
    nlp, n_calls = make_trained(), []
    before, pipe = nlp.to_bytes(exclude=["vocab"]), nlp.get_pipe("hosemi")
    if n < 0:  # in the last fit
        objective = pipe.objective
        pipe.objective = lambda *args: n_calls.append(0) or objective(*args)
        adapt(nlp)
        n, nlp = len(n_calls) - 3, make_trained()
    interrupt_at(nlp.get_pipe("hosemi"), n)
    with pytest.raises(KeyboardInterrupt):
        adapt(nlp)
    assert nlp.to_bytes(exclude=["vocab"]) == before
