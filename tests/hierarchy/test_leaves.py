"""Trees with few labels, which are decoded as labels without a tree: the distribution
is that which going level by level has with threshold 0, up to rounding to single
precision."""

import copy
import math
from dataclasses import replace

import numpy as np
import pytest
from spacy.tokens import Span
from thinc.api import Adam

from spacy_hosemi.core.parallel.coroutines import finish
from spacy_hosemi.hierarchy import flatten
from spacy_hosemi.hierarchy.level_weights import level_weights_of
from spacy_hosemi.prediction.flat_decoder import FlatDecoder
from spacy_hosemi.prediction.records import find_records

from ..component.test_bags import BAG
from ..component.test_functions import SIZES, WORDS
from ..helpers import MANY_EXISTING, lbfgs, make_doc, triples
from ..strategies import n_of
from .test_component import LABELS, MARKED, example, make_tree_nlp
from .test_online_tree import make_online, train

DEEP = (
    "[a/b/c Ada] wrote to [a/b/d Babbage] in [l/m London] .",
    "[a/b/d Babbage] lived in [l/m London] .",
    "She met [a/b/c Ada] in [l/n/o France] and wrote to [a/e Mary] .",
    "[a/e Mary] was not in [l/m New York] with [x Acme] .",
    "[x Acme] left [l/n/p New Zealand] to [a/b Somerville] .",
    "Nobody wrote a letter .",
)
TEXTS = ("Ada met Babbage in New York", "Mary", "", "London . Acme", "Ada _ Mary")
CONFIGS = [
    {},
    {"outside": "token", "max_length": 3},
    {"explicit_length": 4, "temperature": 2.0},
    {"max_order": 0},
    {"max_order": 2},
    {"collective": 0.5},
    {"features": WORDS},
    {"features": SIZES},
    {"features": BAG},
]


def levels(pipe):
    """The same component, which goes level by level, and leaves nothing out."""
    other = copy.deepcopy(pipe)
    other.hierarchy = replace(pipe.hierarchy, threshold=0.0, exact_up_to=0)
    return other


def is_flat(pipe) -> bool:
    return isinstance(pipe.decoder, FlatDecoder)


def random_pipe(seed, **config):
    rng = np.random.default_rng(seed)
    lines = DEEP if seed % 2 else MARKED[:5]
    nlp = make_tree_nlp(lines, settings={"fit": lbfgs(max_iter=2)}, **config)
    pipe = nlp.get_pipe("hosemi")
    # what comes of single precision is the same in both
    pipe.set_weights(rng.normal(scale=0.3, size=len(pipe.get_weights())))
    below = pipe.level_weights
    matrix = tuple(rng.normal(scale=0.3, size=len(x)) for x in below.matrix)
    pattern = tuple(
        np.where(np.isfinite(x), rng.normal(size=len(x)), x) for x in below.pattern
    )
    change_levels(pipe, replace(below, matrix=matrix, pattern=pattern))
    return nlp, pipe.from_bytes(pipe.to_bytes())


def change_levels(pipe, state):
    level_weights_of(pipe.model).replace(state)


def above(pipe, doc) -> dict[tuple, float]:
    return {x[:3]: x[3] for x in pipe.marginals(doc).segments_above(1e-9)}


def assert_near(found, expected):
    for key in {*found, *expected}:
        p = expected.get(key, 0.0)
        assert found.get(key, 0.0) == pytest.approx(p, abs=1e-5)


@pytest.mark.parametrize("number", range(n_of(5 * len(CONFIGS))))
def test_level_by_level_says_the_same(number):
    config = CONFIGS[number % len(CONFIGS)]
    nlp, pipe = random_pipe(number, **config)
    other = levels(pipe)
    assert is_flat(pipe) and not is_flat(other)
    # of words that occur twice the second pass has other scores at the leaves
    texts = TEXTS if "collective" not in config else TEXTS[1:3]
    for words in (text.replace("_", "\n").split(" ") for text in texts):
        words = words if words[0] else []
        doc, *docs = (make_doc(nlp, *words) for _ in range(3))
        assert_near(above(pipe, doc), above(other, doc))
        assert pipe.entropy(doc) == pytest.approx(other.entropy(doc), abs=1e-4)
        best, same = pipe.kbest(doc, 3), other.kbest(doc, 3)
        for x, y in zip(best, same, strict=True):
            assert x.probability == pytest.approx(y.probability, abs=1e-5)
        rows, wanted = pipe.to_rows(doc, 2), other.to_rows(doc, 2)
        assert [x["text"] for x in rows] == [x["text"] for x in wanted]
        left_doc, right_doc = pipe(docs[0]), other(docs[1])
        assert triples(left_doc.ents) == triples(right_doc.ents)
        for left, right in zip(left_doc.ents, right_doc.ents):
            names, probs = zip(*left._.label_path)
            other_names, other_probs = zip(*right._.label_path)
            assert names == other_names
            assert probs == pytest.approx(other_probs, abs=1e-5)


@MANY_EXISTING
@pytest.mark.parametrize("seed", range(n_of(10)))
def test_what_limits_it_says_the_same(seed):
    """Preset entities and what a user fixes, with names of all levels."""
    nlp, pipe = random_pipe(seed)
    other = levels(pipe)
    names = [*pipe.schema.projection.names(), "unknown"]
    rng = np.random.default_rng(seed)
    for name in names:
        start = int(rng.integers(0, 5))
        place = start, start + int(rng.integers(1, 3))
        at = (start + 3) % 6
        docs = [make_doc(nlp, *TEXTS[0].split()) for _ in range(2)]
        for doc in docs:
            doc.set_ents([Span(doc, *place, label=name)], default="missing")
        found = [component(doc) for component, doc in zip((pipe, other), docs)]
        assert triples(found[0].ents) == triples(found[1].ents)
        assert (*place, name) in triples(found[0].ents)
        if name == "unknown":
            continue
        keep, forbid = [(*place, name)], []
        if at not in range(*place):
            forbid = [(at, at + 1, name)]
        docs = [make_doc(nlp, *TEXTS[0].split()) for _ in range(2)]
        for component, doc in zip((pipe, other), docs):
            component.redecode(doc, keep=keep, forbid=forbid)
        assert triples(docs[0].ents) == triples(docs[1].ents)
        for left, right in zip(*(doc.ents for doc in docs), strict=True):
            probs = [p for _, p in left._.label_path]
            wanted = [p for _, p in right._.label_path]
            assert probs == pytest.approx(wanted, abs=1e-5)


# --- when the weights change ------------------------------------------------------


def probabilities(pipe, nlp):
    return above(pipe, make_doc(nlp, *TEXTS[0].split()))


def assert_new(pipe, nlp, before):
    """What is said is that of the weights as they are, and not as it was."""
    fresh = copy.deepcopy(pipe).from_bytes(pipe.to_bytes())
    found = probabilities(pipe, nlp)
    assert_near(found, probabilities(fresh, nlp))
    assert found != before
    return found


def test_what_training_changes_counts_at_once():
    nlp, optimizer = make_online()
    train(nlp, n_passes=1)
    pipe = nlp.get_pipe("hosemi")
    found = probabilities(pipe, nlp)
    automaton = pipe.decoder.automaton
    for line in ("[PER/first Grace] met [LOC/city Ada] .", *MARKED[:2]):
        nlp.update([example(nlp, line)], sgd=Adam(0.2))
        found = assert_new(pipe, nlp, found)
    pipe.set_weights(pipe.get_weights() / 2)
    found = assert_new(pipe, nlp, found)
    assert pipe.decoder.automaton is automaton  # it depends on no weight
    below = pipe.level_weights
    below = replace(below, matrix=tuple(map(np.zeros_like, below.matrix)))
    change_levels(pipe, below)
    assert_new(pipe, nlp, found)


def test_averages():
    nlp, _ = make_online()
    optimizer = Adam(0.2, use_averages=True)
    train(nlp, n_passes=2, sgd=optimizer)
    pipe = nlp.get_pipe("hosemi")
    now = probabilities(pipe, nlp)
    with pipe.model.use_params(optimizer.averages):
        within = assert_new(pipe, nlp, now)
    assert probabilities(pipe, nlp) == now != within


def test_features_that_are_added_while_a_job_is_done():
    """A prediction ends with the weights that it began with."""
    features = {"@misc": "spacy_hosemi.features.v1", "whole": ["LOWER", "SHAPE"]}
    nlp, _ = make_online(model={"features": features})
    train(nlp, n_passes=1)
    pipe = nlp.get_pipe("hosemi")
    doc = make_doc(nlp, "Zed", "met", "Zod")
    expected = pipe.predict([doc])[0].spans
    steps = pipe.decoder.steps([doc])
    task = next(steps)
    line = "[PER/first Zed] met [LOC/city Zod]"
    for _ in range(20):
        nlp.update([example(nlp, line)], sgd=Adam(0.5))
    task.do()
    (found,) = finish(steps)
    assert found.spans == expected
    assert pipe.predict([doc])[0].spans == [(0, 1, "PER/first"), (2, 3, "LOC/city")]


# --- where it does not go ---------------------------------------------------------


def test_more_labels_or_weights_go_level_by_level(monkeypatch):
    nlp = make_tree_nlp()
    pipe = nlp.get_pipe("hosemi")
    assert pipe.decoder is pipe.decoder  # made once
    for at_most, expected in ((len(LABELS), True), (len(LABELS) - 1, False)):
        other = make_tree_nlp(tree={"exact_up_to": at_most}).get_pipe("hosemi")
        assert is_flat(other) == expected
    monkeypatch.setattr(flatten, "MAX_PAIRS", 10)
    assert not is_flat(copy.deepcopy(pipe).from_bytes(pipe.to_bytes()))


@pytest.mark.parametrize("exact_up_to", [140, 0])
def test_documents_of_a_model_with_other_labels(exact_up_to):
    nlp = make_tree_nlp(tree={"exact_up_to": exact_up_to})
    pipe = nlp.get_pipe("hosemi")
    doc = pipe(make_doc(nlp, "Ada", "left"))
    before = [ent._.confidence for ent in pipe(make_doc(nlp, "Ada", "left")).ents]
    other = make_tree_nlp(DEEP, tree={"exact_up_to": exact_up_to})
    pipe.from_bytes(other.get_pipe("hosemi").to_bytes())
    found = [ent._.confidence for ent in doc.ents]
    # The document was predicted with the labels of then, and so is its confidence.
    assert found == before and len(before) == 1


def test_weights_for_some_labels_only():
    """Where features have weights for the labels that training has them with."""
    features = {"@misc": "spacy_hosemi.features.v1", "all_labels": False}
    nlp = make_tree_nlp(model={"features": features})
    pipe = nlp.get_pipe("hosemi")
    assert pipe.weights.pairs is not None
    assert_near(*(probabilities(x, nlp) for x in (pipe, levels(pipe))))


# --- what is computed when it is asked for ----------------------------------------


def record_of(doc):
    ((*_, by_name),) = find_records(doc)
    return by_name["hosemi"]


def test_probabilities_of_names_are_computed_when_they_are_read():
    nlp = make_tree_nlp()
    pipe = nlp.get_pipe("hosemi")
    doc = pipe(make_doc(nlp, *TEXTS[0].split()))
    record = record_of(doc)
    names = {key: [x for x, _ in path] for key, path in record["paths"].items()}
    assert all(p is None for path in record["paths"].values() for _, p in path)
    pipe.confidence = True
    at_once = pipe(make_doc(nlp, *TEXTS[0].split()))
    wanted = record_of(at_once)["paths"]
    assert names == {key: [x for x, _ in path] for key, path in wanted.items()}
    assert [ent._.label_path for ent in doc.ents] == [*wanted.values()]
    assert [ent._.confidence for ent in doc.ents] == [p[-1][1] for p in wanted.values()]
    assert math.fsum(p for path in wanted.values() for _, p in path) > 0.0
    # of a component that is not there the names alone
    pipe.confidence = False
    other = pipe(make_doc(nlp, *TEXTS[0].split()))
    other = other.copy()
    record_of(other)["component"] = "gone"
    for ent, path in zip(other.ents, names.values(), strict=True):
        assert ent._.label_path == [(name, None) for name in path]
        assert ent._.confidence is None


@pytest.mark.parametrize("exact_up_to, max_order", [(140, 1), (0, 1), (0, 2)])
def test_no_document_is_known_as_a_whole(exact_up_to, max_order):
    """Then no pair of leaves is seen: all have the weights of those above."""
    lines = [line.replace(" . ", " ").replace(" .", " [? .]") for line in MARKED]
    tree = {"exact_up_to": exact_up_to}
    nlp = make_tree_nlp(lines, tree=tree, max_order=max_order)
    pipe = nlp.get_pipe("hosemi")
    assert pipe.level_weights.patterns == ((),)
    found = nlp.pipe([make_doc(nlp, "Ada", "in", "London")])
    assert triples(next(found).ents) == [(0, 1, "PER/first"), (2, 3, "LOC/city")]
