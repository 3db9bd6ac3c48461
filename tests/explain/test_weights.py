"""Lists of weights, compared with all of them written out as one matrix."""

import numpy as np
import pytest

from spacy_hosemi.explain import (
    count_features,
    count_forbidden,
    find_features,
    strongest_features,
    strongest_patterns,
    strongest_transitions,
    weight_families,
)
from spacy_hosemi.model.active_features import RoleRows
from spacy_hosemi.model.weights.potentials import add_scores

from ..helpers import SMALL, initialize, make_nlp, randomize

# What is stored differs: all columns, some columns, tags, lengths.
KINDS = {
    "dense": {},
    "pairs": {},
    "lengths": {"explicit_length": 3},
    "IO": {"encoding": "IO"},
    "BILUO": {"encoding": "BILUO"},
}


@pytest.fixture(scope="module", params=KINDS)
def pipe(request):
    """A component with random weights, which tests leave as it is."""
    nlp = make_nlp(**KINDS[request.param])
    if request.param == "pairs":
        limit = "spacy_hosemi.training.feature_selection.MAX_WEIGHTS"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(limit, 5)
            with pytest.warns(UserWarning, match="HSW03"):
                initialize(nlp)
    else:
        initialize(nlp)
    found = nlp.get_pipe("hosemi")
    assert (found.weights.pairs is not None) == (request.param == "pairs")
    randomize(found)
    return found


def all_weights(pipe):
    """Weight by name of feature and of column, as the model adds them to scores."""
    names, columns = pipe.weights.names, pipe.inventory.names
    scores = np.zeros((len(names), len(columns)))
    rows = np.arange(len(names) + 1, dtype=np.int32)
    of_role = {"inside": RoleRows(rows, rows[:-1])}
    add_scores(pipe.weights, of_role, {"inside": scores})
    return {
        name: dict(zip(columns, of_row))
        for name, of_row in zip(names, scores.tolist(), strict=True)
    }


def outer(values, top, negative=False):
    """The highest `top` above 0, and the lowest below 0, in descending order."""
    values = sorted(values, reverse=True)
    lowest = [v for v in values[-top:] if v < 0] if negative else []
    return [v for v in values[:top] if v > 0] + lowest


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("top", [1, 4, 1000])
def test_strongest_features(pipe, top, negative):
    found = strongest_features(pipe, top=top, negative=negative)
    weights, docs = (
        all_weights(pipe),
        dict(zip(pipe.weights.names, pipe.weights.counts)),
    )
    assert list(found) == list(pipe.inventory.names)
    for column, features in found.items():
        expected = outer([w[column] for w in weights.values()], top, negative)
        assert [one.weight for one in features] == expected
        for one in features:
            assert weights[one.feature][column] == one.weight
            assert one.docs == docs[one.feature] >= 1


def test_features_of_a_role_with_a_text(pipe):
    def is_asked(name):
        return name.startswith("inside:") and "LOWER=" in name

    weights = all_weights(pipe)
    which = {"role": "inside", "text": "LOWER="}
    found = strongest_features(pipe, top=1000, negative=True, **which)
    for column, features in found.items():
        expected = {n for n, w in weights.items() if is_asked(n) and w[column]}
        assert {one.feature for one in features} == expected
    assert count_features(pipe, **which) == sum(map(is_asked, weights)) > 3
    assert count_features(pipe) == len(weights)


@pytest.mark.parametrize("text", ["", "LOWER=l", "SHAPE"])
@pytest.mark.parametrize("top", [2, 1000])
def test_find_features(pipe, top, text):
    weights = {n: w for n, w in all_weights(pipe).items() if text in n}
    found = find_features(pipe, top=top, text=text)
    largest = {n: max(map(abs, w.values())) for n, w in weights.items()}
    falling = sorted(largest.values(), reverse=True)[:top]
    assert [largest[one.feature] for one in found] == falling
    for one in found:
        assert one.weights == {y: w for y, w in weights[one.feature].items() if w}
        assert list(one.weights.values()) == sorted(one.weights.values(), reverse=True)


def test_find_features_in_some_columns(pipe):
    names = pipe.inventory.names[1:]
    weights = all_weights(pipe)
    (found,) = find_features(pipe, labels=names, top=1)
    assert set(found.weights) <= set(names)
    values = [abs(of_row[name]) for of_row in weights.values() for name in names]
    assert max(map(abs, found.weights.values())) == max(values)


@pytest.mark.parametrize("labels", [(), ("O",), ("PER", "O")])
def test_families(pipe, labels):
    columns = list(strongest_features(pipe, labels=labels))
    by_family = {}
    for name, of_row in all_weights(pipe).items():
        family = name.split("=")[0]
        by_family.setdefault(family, []).append([of_row[y] for y in columns])
    for one in strongest_patterns(pipe, labels=labels, top=1000, negative=True):
        by_family.setdefault(f"pattern:{len(one.pattern)}", []).append([one.weight])
    if pipe.weights.learn_length:
        of_labels = [pipe.inventory.names.index(y) for y in columns]
        values = pipe.weights.length[of_labels].ravel()
        by_family["length"] = [[value] for value in values]
    squares = {name: np.square(rows).sum() for name, rows in by_family.items()}
    found = weight_families(pipe, labels=labels)
    assert {one.name for one in found} == set(by_family)
    for one in found:
        rows = by_family[one.name]
        assert one.rows == len(rows)
        assert one.largest == np.abs(rows).max()
        assert one.share == pytest.approx(squares[one.name] / sum(squares.values()))
    shares = [one.share for one in found]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1.0)


def test_some_families(pipe):
    found = {one.name: one for one in weight_families(pipe)}
    some = weight_families(pipe, role="inside", text="LOWER=")
    assert some == [found["inside:LOWER"]]
    few = weight_families(pipe, text="LOWER=london")
    assert {one.rows for one in few} == {1}
    assert 0 < sum(one.share for one in few) < 1


@pytest.mark.parametrize("negative", [False, True])
def test_strongest_patterns(pipe, negative):
    weights = pipe.weights.pattern
    allowed = weights[np.isfinite(weights)].tolist()
    for top in (3, len(allowed) - 1, len(allowed) + 2, 1000):
        found = strongest_patterns(pipe, top=top, negative=negative)
        assert [one.weight for one in found] == outer(allowed, top, negative)
        for one in found:
            place = pipe.cfg["patterns"].index(list(one.pattern))
            assert weights[place] == one.weight
    n_forbidden = {"segments": 1, "IO": 0}.get(pipe.cfg["encoding"])
    if n_forbidden is not None:
        assert count_forbidden(pipe) == n_forbidden
    assert count_forbidden(pipe) == len(weights) - len(allowed)


def test_patterns_with_a_label(pipe):
    every = strongest_patterns(pipe, top=1000, negative=True)
    some = strongest_patterns(pipe, labels=["LOC"], top=1000, negative=True)
    tags = {name for name in pipe.inventory.names if name.endswith("LOC")}
    assert some == [one for one in every if tags & set(one.pattern)]
    assert 0 < len(some) < len(every)


def test_a_label_stands_for_its_tags():
    nlp = make_nlp(encoding="BIO")
    initialize(nlp)
    pipe = nlp.get_pipe("hosemi")
    assert list(strongest_features(pipe, labels=["PER", "O"])) == [
        "O",
        "B-PER",
        "I-PER",
    ]
    assert list(strongest_features(pipe, labels=["I-LOC"])) == ["I-LOC"]


def test_values_with_signs_of_names():
    """Values may have "=", " & " and ":"; they do not belong to the family."""
    features = {**SMALL, "inside": ["LOWER[-1] & LOWER"], "start": [], "end": []}
    nlp = make_nlp(features=features)
    initialize(nlp, ("[PER A] = b & c : d", "= & : = [LOC B]"))
    pipe = nlp.get_pipe("hosemi")
    randomize(pipe)
    assert "inside:LOWER[-1] & LOWER=a & =" in pipe.weights.names
    names = {one.name for one in weight_families(pipe, role="inside")}
    assert names == {"inside:LOWER[-1] & LOWER"}


@pytest.mark.parametrize("config", [{}, {"max_order": 0}])
def test_nothing_learnt(config):
    nlp = make_nlp(features={**SMALL, "inside": [], "start": [], "end": []}, **config)
    initialize(nlp)
    pipe = nlp.get_pipe("hosemi")
    assert strongest_features(pipe) == {"O": [], "LOC": [], "PER": []}
    assert find_features(pipe) == strongest_patterns(pipe, negative=True) == []
    assert {one.share for one in weight_families(pipe)} <= {0.0}
    assert count_features(pipe) == 0


def test_errors(pipe):
    for function in (strongest_features, find_features, weight_families):
        with pytest.raises(ValueError, match="HS042.*'NOBODY'.*'LOC'"):
            function(pipe, labels=["O", "NOBODY"])
        with pytest.raises(ValueError, match="HS042.*'LOWER'.*'inside'"):
            function(pipe, role="LOWER")
    functions = strongest_features, strongest_patterns, strongest_transitions
    for function in (*functions, find_features, weight_families):
        for labels in (["loc"], "PER", None, [3]):  # a text is no list of letters
            with pytest.raises(ValueError, match="HS042.*'loc'|HS043.*labels.*list"):
                function(pipe, labels=labels)
    with pytest.raises(ValueError, match="HS042"):
        count_features(pipe, role="")
