"""Potentials from weights, gradients to weights, sparse updates, averages, bytes."""

import copy
import pickle
import zlib
from contextlib import suppress
from functools import cache

import numpy as np
import pytest
import spacy
import srsly
from spacy.training import Example
from thinc.api import Adam, Model

from spacy_hosemi.features import TOKEN_ROLES as ROLES
from spacy_hosemi.features.naming import feature_names
from spacy_hosemi.model.active_features import read_docs
from spacy_hosemi.model.span_scorer import build_span_scorer, weights_of
from spacy_hosemi.model.weights.packing import (
    pack_floats,
    pack_names,
    unpack_floats,
    unpack_names,
)
from spacy_hosemi.model.weights.penalty_groups import PENALTY_GROUPS, by_penalty_group
from spacy_hosemi.model.weights.storage import (
    FORMAT,
    OLDER_FORMAT,
    beside,
    to_bytes,
)
from spacy_hosemi.msgpack import read_msgpack, write_msgpack

from ..helpers import (
    TRAIN,
    assert_gradient,
    change_weights,
    fit_anew,
    initialize,
    make_doc,
    make_examples,
    make_nlp,
    make_trained,
    randomize,
    triples,
)

L2 = {"inside": 0.3, "start": 0.2, "pattern": 0.5, "length": 0.1}  # "end": 0
SELECTION = "spacy_hosemi.training.feature_selection"


def make_pipe(marked=TRAIN, **config):
    """A pipeline with random weights, its component, and examples."""
    nlp = make_nlp(**config)
    initialize(nlp, marked)
    randomize(nlp.get_pipe("hosemi"))
    return nlp, nlp.get_pipe("hosemi"), make_examples(nlp, marked)


def test_potentials_are_sums_of_rows():
    nlp, pipe, _ = make_pipe(explicit_length=2)
    weights = pipe.weights
    doc = nlp("Ada Lovelace wrote to nobody.")
    (potentials,) = pipe.model.predict([doc])
    row = {name: r for r, name in enumerate(weights.names)}
    for role in ROLES:
        expected = np.zeros((len(doc), 3))
        for i, names in enumerate(feature_names(weights.extractor, doc, role)):
            for name in names:
                if f"{role}:{name}" in row:
                    expected[i] += weights.matrix[row[f"{role}:{name}"]]
        np.testing.assert_allclose(getattr(potentials, role), expected, atol=1e-12)
    assert potentials.pattern.tolist() == weights.pattern.tolist()
    assert potentials.length.tolist() == weights.length.tolist()


def test_rows_are_the_features_of_the_training_data():
    features = {"preset": "none", "inside": ["LOWER"], "min_count": 2}
    weights = make_pipe(["[A a] b a", "a b c"], features=features)[1].weights
    in_docs = dict(zip(weights.names, weights.counts.tolist(), strict=True))
    assert in_docs == {"inside:LOWER=a": 2, "inside:LOWER=b": 2}


def test_line_breaks_in_names():
    features = {"preset": "none", "inside": ["ORTH"], "min_count": 1}
    _, pipe, _ = make_pipe(["[A a]\nb\r\nc"], features=features)
    copied = pickle.loads(pickle.dumps(pipe.weights))
    assert [*copied.names] == [*pipe.weights.names]
    assert len(copied.names) == len(pipe.weights.matrix)


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"explicit_length": 3, "outside": "token"},
        {"max_length": 2},
        {"encoding": "BIO"},
        {"encoding": "BILUO", "max_order": 1},
        {"encoding": "IO", "max_order": 3},
    ],
)
def test_gradient_of_all_weights(config):
    marked = ["[A a b] c [B d]", "a [A b] d"]
    features = {"preset": "none", "inside": ["LOWER"], "start": ["BIAS"]}
    nlp, pipe, examples = make_pipe(marked, features=features, **config)
    assert_gradient(pipe, examples)


def simulate(pipe, batches, rates, l2):
    """AdaGrad in plain numpy, with l2 shared by the documents in which a row fires."""
    weights = pipe.weights
    n_labels = weights.matrix.shape[1]
    row_l2 = np.array([l2.get(name.split(":")[0], 0.0) for name in weights.names])
    w = pipe.get_weights()
    n_dense = len(w) - weights.matrix.size
    # The weights were given, so that they have seen all documents.
    n_docs = [*np.repeat(weights.counts, n_labels), *[weights.n_docs] * n_dense]
    squares = np.array(n_docs) / 4
    learnt_patterns = int(np.isfinite(weights.pattern).sum())
    for batch, rate in zip(batches, rates, strict=True):
        pipe.set_weights(w)
        _, g = pipe.value_and_gradient(batch)
        fired = np.zeros(len(row_l2), bool)
        for eg in batch:
            for _, rows, _ in read_docs(weights, [eg.predicted]).tokens.values():
                fired[rows] = True
        share = np.minimum(len(batch) / weights.counts, 1.0)
        dense = [l2.get("pattern", 0.0)] * learnt_patterns
        dense += [l2.get("length", 0.0)] * (n_dense - learnt_patterns)
        decay = [
            np.repeat(row_l2 * share * fired, n_labels),
            np.array(dense) * min(len(batch) / weights.n_docs, 1.0),
        ]
        g = g + np.concatenate(decay) * w
        squares += g * g
        w = w - rate * g / (1e-8 + np.sqrt(squares))
    return w


@pytest.mark.parametrize(
    "config, l2",
    [
        ({}, 0.0),
        ({}, L2),
        ({"explicit_length": 2}, L2),
        ({"explicit_length": 3}, L2),
        ({"encoding": "BIO"}, L2),
    ],
)
def test_updates_equal_plain_adagrad(config, l2):
    model = {"l2": l2, "learn_rate_scale": 50.0}
    nlp, pipe, examples = make_pipe(model=model, **config)
    batches = [examples[:2], examples[2:3], examples[3:], examples[:2]]
    rates = [0.004, 0.002, 0.001, 0.0005]
    start = pipe.get_weights()
    expected = simulate(pipe, batches, [50.0 * rate for rate in rates], l2 or {})
    pipe.set_weights(start)
    optimizer = Adam(rates)  # a schedule
    for batch in batches:
        nlp.update(batch, sgd=optimizer)
        optimizer.step_schedules()
    np.testing.assert_allclose(pipe.get_weights(), expected, atol=1e-9)


def test_gradients_of_several_updates_are_one_step():
    nlp, pipe, examples = make_pipe()
    start, optimizer = pipe.get_weights(), Adam(0.001)
    nlp.update(examples, sgd=optimizer)
    together = pipe.get_weights()
    pipe.set_weights(start)
    for eg in examples:
        pipe.update([eg], sgd=None)
        np.testing.assert_array_equal(pipe.get_weights(), start)
    pipe.finish_update(Adam(0.001))
    np.testing.assert_allclose(pipe.get_weights(), together, atol=1e-12)


def test_forbidden_patterns_stay_forbidden():
    nlp, pipe, examples = make_pipe()
    nlp.update(examples, sgd=Adam(0.1))
    forbidden = np.flatnonzero(np.isneginf(pipe.weights.pattern))
    assert [pipe.automaton.patterns[m] for m in forbidden] == [("O", "O")]


def test_the_thinc_optimizers_l2_does_not_count():
    nlp, pipe, examples = make_pipe()
    start, found = pipe.get_weights(), []
    for l2 in (0.0, 10.0):
        pipe.set_weights(start)
        nlp.update(examples, sgd=Adam(0.001, L2=l2))
        found.append(pipe.get_weights())
    assert found[0].tolist() == found[1].tolist()


@pytest.mark.parametrize("explicit_length", [1, 3])
def test_unannotated_and_empty_docs_in_a_batch(explicit_length):
    nlp, pipe, examples = make_pipe(explicit_length=explicit_length)
    unknown, empty = nlp.make_doc("Who is Ada?"), make_doc(nlp)
    more = [Example(doc, doc.copy()) for doc in (unknown, empty)]
    losses = nlp.update([*examples, *more], sgd=Adam(0.001))
    assert losses["hosemi"] == pytest.approx(losses["hosemi"])
    value, _ = pipe.value_and_gradient([*examples, *more])
    assert value == pytest.approx(pipe.value_and_gradient(examples)[0])


def train_with_averages(nlp, pipe, examples, n_steps):
    """Steps, and the averages by Thinc's formula after each of them."""
    optimizer = Adam(0.002, use_averages=True)
    average = np.zeros_like(pipe.get_weights())
    for t in range(1, n_steps + 1):
        nlp.update([examples[t % len(examples)]], sgd=optimizer)
        decay = min((1.0 + t) / (10.0 + t), 0.9999)
        average -= (1.0 - decay) * (average - pipe.get_weights())
    return optimizer, average


def test_averages():
    nlp, pipe, examples = make_pipe(explicit_length=2)
    optimizer, average = train_with_averages(nlp, pipe, examples, 12)
    before = pipe.get_weights()
    assert np.abs(before - average).max() > 1e-3
    for _ in range(2):
        with suppress(KeyError), nlp.use_params(optimizer.averages):
            np.testing.assert_allclose(pipe.get_weights(), average, atol=1e-9)
            data = weights_of(pipe.model).to_bytes()
            raise KeyError  # the weights come back after an error, too
        assert pipe.get_weights().tolist() == before.tolist()
    weights_of(pipe.model).from_bytes(data)
    np.testing.assert_allclose(pipe.get_weights(), average, rtol=1e-7, atol=1e-9)


def test_averages_do_not_disturb_training():
    found = []
    for look in (False, True):
        nlp, pipe, examples = make_pipe()
        optimizer, _ = train_with_averages(nlp, pipe, examples, 4)
        if look:
            with nlp.use_params(optimizer.averages):
                nlp("Ada wrote.")
        for eg in examples:
            nlp.update([eg], sgd=optimizer)
        found.append(pipe.get_weights())
    assert found[0].tolist() == found[1].tolist()


def test_no_averages_without_use_averages():
    nlp, pipe, examples = make_pipe()
    optimizer = Adam(0.002, use_averages=False)
    nlp.update(examples, sgd=optimizer)
    before = pipe.get_weights()
    with nlp.use_params(optimizer.averages):
        assert pipe.get_weights().tolist() == before.tolist()


def test_values_by_penalty_group():
    every = dict.fromkeys(PENALTY_GROUPS, 0.5)
    assert by_penalty_group("l2", 0.5) == every
    expected = {**dict.fromkeys(every, 0.0), "end": 2.0}
    assert by_penalty_group("l2", {"end": 2}) == expected
    with pytest.raises(ValueError, match="HS054.*l2.*'begin'"):
        build_span_scorer(l2={"begin": 1.0})


def same_weights(left, right):
    left, right = (getattr(x, "state", x) for x in (left, right))
    assert [*left.names] == [*right.names]
    assert left.is_trained == right.is_trained
    for name in ("matrix", "pattern", "length", "tail"):
        expected = getattr(right, name).astype("f")
        assert getattr(left, name).astype("f").tolist() == expected.tolist()
    assert to_bytes(left) == to_bytes(right)


def fresh_weights(pipe):
    """Weights of a model that is not trained, with the features of a component."""
    return weights_of(build_span_scorer(features=pipe.weights.extractor.features))


def test_bytes():
    _, pipe, _ = make_pipe(explicit_length=2)
    fresh, other = fresh_weights(pipe), fresh_weights(pipe)
    same_weights(other.from_bytes(fresh.to_bytes()), fresh)
    assert not other.state.is_trained
    same_weights(fresh.from_bytes(weights_of(pipe.model).to_bytes()), pipe.weights)


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, Model.copy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_are_independent(copied):
    nlp, pipe, _ = make_pipe()
    other = copied(pipe.model)
    same_weights(weights_of(other), pipe.weights)
    before = pipe.get_weights()
    weights_of(other).set_vector(before + 1.0)
    assert pipe.get_weights().tolist() == before.tolist()
    doc = nlp.make_doc("Ada wrote.")
    (left,), (right,) = pipe.model.predict([doc]), other.predict([doc])
    assert not np.allclose(left.inside, right.inside)


@cache
def trained_bytes() -> bytes:
    return weights_of(make_trained().get_pipe("hosemi").model).to_bytes()


def saved(**changes) -> bytes:
    loaded = read_msgpack(trained_bytes())
    for key, change in changes.items():
        loaded[key] = change(loaded[key])
    return write_msgpack(loaded)


def cut_family(packed, byte=None):
    """A family less; or another one for all, which there is not."""
    data = zlib.decompress(packed)
    return zlib.compress(data[:-1] if byte is None else byte * len(data))


@pytest.mark.parametrize(
    "key, changes",
    [
        ("format", [lambda _: "one"]),
        # arrays that do not fit together would be read out of bounds
        (
            "matrix",
            [
                lambda m: pack_floats(unpack_floats(m)[:-1]),
                lambda m: pack_floats(unpack_floats(m)[:, :-1]),
                lambda m: {**m, "values": m["values"][1:]},
                lambda m: {**m, "values": np.append(m["values"], m["values"])},
                lambda m: {**m, "shape": [10**9, 10**9]},
                lambda m: {**m, "is_stored": b"no bits"},
                lambda m: m["values"],
            ],
        ),
        ("counts", [lambda c: c[:-1]]),
        ("tail", [lambda t: pack_floats(unpack_floats(t)[:-1])]),
        ("family", [lambda f: f[:-1], cut_family, lambda f: cut_family(f, b"\xff")]),
    ],
)
def test_parts_that_do_not_fit(key, changes):
    for change in changes:
        with pytest.raises(ValueError, match="HS062"):
            weights_of(build_span_scorer()).from_bytes(saved(**{key: change}))


def n_names() -> int:
    return len(read_msgpack(trained_bytes())["keys"])


def test_unreadable_bytes():
    objects = [1, 2], {}, {"format": FORMAT}
    for data in (
        *(b"", b"not a model", saved()[:-1], saved()[:100]),
        *map(srsly.msgpack_dumps, objects),
    ):
        with pytest.raises(ValueError, match="HS062"):
            weights_of(build_span_scorer()).from_bytes(data)


@pytest.mark.parametrize(
    "change",
    [
        lambda n: pack_names(unpack_names(n, n_names())[:-1]),
        lambda n: {**n, "value": n["value"][:-1]},
        lambda n: {**n, "template": write_msgpack(np.full(10**4, 255, np.uint8))},
        lambda n: {x: n[x] for x in ("templates", "template")},
        lambda n: zlib.compress("\n".join(unpack_names(n, n_names())).encode())[:-1],
        lambda n: {**n, "value": write_msgpack(np.full(n_names(), -1))},
    ],
)
def test_unreadable_names(change):
    weights = weights_of(build_span_scorer()).from_bytes(saved(names=change))
    with pytest.raises(ValueError, match="HS062"):
        weights.state.names[0]


def test_weights_that_lie_beside_the_bytes():
    _, pipe, _ = make_pipe()
    lying = []
    with beside(lying):
        data = weights_of(pipe.model).to_bytes()
    fresh = fresh_weights(pipe)
    with pytest.raises(ValueError, match="HS062.*a file of their own"):
        fresh.from_bytes(data)
    with beside(lying):
        same_weights(fresh.from_bytes(data), pipe.weights)


def test_single_precision_changes_no_prediction(tmp_path):
    nlp, pipe, _ = make_pipe(spans_key="spans")
    randomize(pipe, size=3.0)
    pipe.set_weights(1.1 * pipe.get_weights())
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert np.abs(loaded.get_pipe("hosemi").get_weights() - pipe.get_weights()).max()
    for eg in make_examples(nlp):
        left, right = nlp(eg.text), loaded(eg.text)
        assert triples(left.ents) == triples(right.ents)
        scores = (doc.spans["spans"].attrs["scores"] for doc in (left, right))
        np.testing.assert_allclose(*scores, atol=1e-5)


@pytest.mark.parametrize("version", [OLDER_FORMAT - 1, FORMAT + 1])
def test_another_format(version):
    data = saved(format=lambda _: version)
    with pytest.raises(ValueError, match=f"HS063.* {version}, .* {FORMAT}"):
        weights_of(build_span_scorer()).from_bytes(data)


# --- weights in some columns only -------------------------------------------------


@pytest.fixture
def twins(monkeypatch):
    """Two components, the second with weights only for pairs seen in the gold."""
    _, full, examples = make_pipe(explicit_length=2)
    monkeypatch.setattr(f"{SELECTION}.MAX_WEIGHTS", 5)
    with pytest.warns(UserWarning, match="HSW03.* 3 columns .* 5 weights"):
        nlp, pairs, _ = make_pipe(explicit_length=2)
    return full, pairs, examples


def as_slots(weights, names) -> np.ndarray:
    """Where the pairs are in a full matrix with rows of these names: a mask [R, L]."""
    is_pair = np.zeros((len(names), len(weights.tail)), bool)
    rows = np.array([names.index(name) for name in weights.names])
    is_pair[rows.repeat(weights.pairs.sizes), weights.pairs.columns] = True
    return is_pair


def give_weights_of_pairs(full, pairs):
    """The full component gets the weights of the other one, 0 elsewhere."""
    is_pair = as_slots(pairs.weights, full.weights.names)
    matrix = np.zeros(full.weights.matrix.shape)
    matrix[is_pair] = pairs.weights.matrix[:, 0]
    pattern, length = pairs.weights.pattern, pairs.weights.length
    change_weights(full, matrix=matrix, pattern=pattern, length=length)
    n_dense = len(full.get_weights()) - is_pair.size
    return np.concatenate([is_pair.ravel(), np.ones(n_dense, bool)])


def test_pairs_are_those_of_the_gold(twins):
    _, pipe, examples = twins
    seen = set()
    for eg in examples:
        extractor = pipe.weights.extractor
        names = {x: [*feature_names(extractor, eg.predicted, x)] for x in ROLES}
        ents = [token.ent_type_ or "O" for token in eg.reference]
        for i, label in enumerate(ents):  # no two spans are side by side
            is_first = i == 0 or ents[i - 1] != label
            is_last = i + 1 == len(ents) or ents[i + 1] != label
            reads = {"inside": True, "start": is_first, "end": is_last}
            y = pipe.inventory.names.index(label)
            for role in ROLES:
                seen |= {(f"{role}:{x}", y) for x in names[role][i] if reads[role]}
    assert all(name for name, _ in seen)
    found = np.argwhere(as_slots(pipe.weights, pipe.weights.names)).tolist()
    assert {(pipe.weights.names[r], y) for r, y in found} == seen
    assert len(found) == len(pipe.weights.matrix)


def test_pairs_score_like_a_matrix_with_zeros(twins):
    full, pairs, examples = twins
    learnt = give_weights_of_pairs(full, pairs)
    assert 0 < learnt.sum() < len(learnt)
    for eg in examples:
        (left,) = full.model.predict([eg.predicted])
        (right,) = pairs.model.predict([eg.predicted])
        for role in ROLES:
            found = getattr(right, role)
            np.testing.assert_allclose(found, getattr(left, role), atol=1e-12)
    value, gradient = full.value_and_gradient(examples)
    found_value, found_gradient = pairs.value_and_gradient(examples)
    assert found_value == pytest.approx(value)
    np.testing.assert_allclose(found_gradient, gradient[learnt], atol=1e-12)


def test_pairs_are_updated_and_averaged_like_a_matrix(twins):
    full, pairs, examples = twins
    learnt = give_weights_of_pairs(full, pairs)
    is_pair = as_slots(pairs.weights, full.weights.names)
    optimizers = [Adam(0.002, use_averages=True) for _ in range(2)]
    for pipe in (full, pairs):
        weights_of(pipe.model).l2 = by_penalty_group("l2", 0.3)
    for eg in examples:
        # what the pairs do not have must not be learnt by the other one either
        for pipe, optimizer in zip((full, pairs), optimizers, strict=True):
            pipe.update([eg], sgd=optimizer)
        weights_of(full.model).state.matrix[~is_pair] = 0.0
    np.testing.assert_allclose(
        pairs.get_weights(), full.get_weights()[learnt], atol=1e-12
    )
    with full.model.use_params(optimizers[0].averages):
        expected = full.get_weights()[learnt]
    with pairs.model.use_params(optimizers[1].averages):
        np.testing.assert_allclose(pairs.get_weights(), expected, atol=1e-12)


def test_pairs_are_saved(twins):
    _, pipe, _ = twins
    weights, fresh = weights_of(pipe.model), fresh_weights(pipe)
    same_weights(fresh.from_bytes(weights.to_bytes()), weights)
    same_weights(copy.deepcopy(weights), weights)
    loaded = read_msgpack(weights.to_bytes())
    breaks = {
        "columns": [lambda c: c[:-1], lambda c: c + np.int32(2), lambda c: c - 1],
        "first_pair": [lambda f: f[:-1], lambda f: f[::-1].copy(), lambda f: f + 1],
    }
    for key, changes in breaks.items():
        for change in changes:
            broken = srsly.msgpack_dumps({**loaded, key: change(loaded[key])})
            with pytest.raises(ValueError, match="HS062"):
                fresh.from_bytes(broken)


def test_batch_training_of_pairs(monkeypatch):
    monkeypatch.setattr(f"{SELECTION}.MAX_WEIGHTS", 5)
    with pytest.warns(UserWarning, match="HSW03"):
        nlp = fit_anew()
    expected = [triples(eg.reference.ents) for eg in make_examples(nlp)]
    assert [triples(nlp(eg.text).ents) for eg in make_examples(nlp)] == expected


def test_too_many_pairs_raise_the_minimum_count(monkeypatch):
    monkeypatch.setattr(f"{SELECTION}.MAX_WEIGHTS", 5)
    monkeypatch.setattr(f"{SELECTION}.MAX_PAIRS", 20)
    monkeypatch.setattr(f"{SELECTION}._BUFFER", 10)
    nlp = make_nlp()
    with pytest.warns(UserWarning, match="HSW03.* from a count of [4-9]"):
        initialize(nlp)
    weights = nlp.get_pipe("hosemi").weights
    assert 0 < len(weights.matrix) <= 20
    assert (weights.pairs.sizes > 0).all()


def test_pairs_of_partial_annotation(monkeypatch):
    monkeypatch.setattr(f"{SELECTION}.MAX_WEIGHTS", 1)
    features = {"inside": ["ORTH"], "start": ["ORTH"], "end": ["ORTH"]}
    nlp = make_nlp(features={"preset": "none", "min_count": 1, **features})
    doc = make_doc(nlp, "a", "b", "c", "d", "e")
    reference = make_doc(nlp, "a", "b", "c", "d", "e", ents=["B-X", "I-X", "O", "", ""])
    with pytest.warns(UserWarning, match="HSW03"):
        nlp.initialize(lambda: [Example(doc, reference)])
    weights = nlp.get_pipe("hosemi").weights
    found = np.argwhere(as_slots(weights, weights.names)).tolist()
    assert sorted((weights.names[r], y) for r, y in found) == [
        ("end:ORTH=b", 1),
        ("inside:ORTH=a", 1),
        ("inside:ORTH=b", 1),
        ("inside:ORTH=c", 0),
        ("start:ORTH=a", 1),
        ("start:ORTH=c", 0),
    ]
