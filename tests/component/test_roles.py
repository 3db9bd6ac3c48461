"""The component with features in further roles: scores, gradients, what they tell."""

from functools import cache
from itertools import chain
from math import inf

import numpy as np
import pytest
import spacy
import srsly
from thinc.api import Adam
from typer.testing import CliRunner

from spacy_hosemi.cli import hosemi_cli
from spacy_hosemi.component.saved_files import sealed, unsealed
from spacy_hosemi.core.parallel.coroutines import finish
from spacy_hosemi.explain import find_features, strongest_transitions, weight_families
from spacy_hosemi.model.active_features import read_docs
from spacy_hosemi.model.weights import doc_scorer
from spacy_hosemi.model.weights.doc_scorer import TokenScores
from spacy_hosemi.model.weights.storage import from_bytes, to_bytes
from spacy_hosemi.msgpack import read_msgpack, write_msgpack

from .. import oracles
from ..helpers import (
    as_problem,
    assert_gradient,
    averaged,
    find,
    hide,
    initialize,
    instances_of,
    make_doc,
    make_examples,
    make_nlp,
    make_trained,
    random_pipe,
    randomize,
    triples,
)

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
    return random_pipe(NLP, marked, model, seed=seed, **config)


def weight_of(pipe):
    """(feature, column) -> weight, 0 for those that have none; by their names."""
    columns = (*pipe.inventory.names, *map(" ".join, pipe.automaton.observed))
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
    pattern = [
        (tuple(z), w)
        for z, w in zip(pipe.cfg["patterns"], pipe.weights.pattern, strict=True)
    ]

    @cache
    def of_segment(start, end, y):
        is_short = pipe.cfg["outside"] == "token" and y == 0
        if end - start > 1 and (is_short or pipe.inventory.on_tokens):
            return -inf
        places = {
            "inside": range(start, end),
            "start": [start],
            "end": [end - 1],
            "within": range(start + 1, end),
        }
        return sum(weight(name, names[y]) for name in read_all(places))

    @cache
    def of_transitions(start, end, history):
        places = {"transition": [start], "transition_inside": range(start, end)}
        ends = [" ".join(history[k:]) for k in range(len(history) - 1)]
        return sum(weight(name, z) for name in read_all(places) for z in ends)

    def read_all(places):
        for role, tokens in places.items():
            for template in map(str, features.get(role, ())):
                yield from (f"{role}:{read(template, words, i)}" for i in tokens)

    @cache
    def of_patterns(history):
        """Of those that are complete with the last label."""
        return sum(w for z, w in pattern if history[-len(z) :] == z)

    def score(segmentation):
        total, history = of_patterns(("^",)), ("^",)
        for start, end, y in segmentation:
            history += (names[y],)
            total += of_segment(start, end, y) + of_patterns(history)
            total += of_transitions(start, end, history)
        return total + of_patterns((*history, "$"))

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
        assert triples(pipe(doc).ents) == pipe.inventory.decode(best)


def assert_kept_scores_agree(pipe, examples):
    """What prediction keeps of words, and what it sums anew."""
    for eg in examples:
        (kept,) = pipe.model.predict([eg.predicted])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(doc_scorer, "CACHES_WORDS", False)
            (fresh,) = pipe.model.predict([eg.predicted])
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
    pipe, examples = make_random(seed=seed, **config)
    assert_as_by_hand(pipe, WITHIN)
    assert_kept_scores_agree(pipe, examples)


@pytest.mark.parametrize("prepare", [list, hide])
@pytest.mark.parametrize("config", [{}, {"max_length": 3}, {"explicit_length": 2}])
def test_gradient_of_within(prepare, config):
    pipe, examples = make_random(**config)
    rows = assert_gradient(pipe, prepare(examples))
    within = [name.startswith("within:") for name in pipe.weights.names]
    assert np.abs(rows[within]).max() > 0.01


def test_weights_in_some_columns_only(monkeypatch):
    monkeypatch.setattr("spacy_hosemi.training.feature_selection.MAX_WEIGHTS", 5)
    for features, order in (TRANSITION, 2), (WITHIN, 0):
        with pytest.warns(UserWarning, match="HSW03"):
            pipe, examples = make_random(features=features, observed_order=order)
        assert_as_by_hand(pipe, features)
        assert_gradient(pipe, examples)
    assert pairs_of(pipe, role="within") == {
        ("within:BIAS=1", "A"),
        ("within:BIAS=1", "B"),
        ("within:LOWER[-1] & LOWER=a & b", "A"),
        ("within:LOWER[-1] & LOWER=b & a", "B"),
        ("within:LOWER[-1] & LOWER=a & a", "B"),
        # - is behind c, both outside
        ("within:BIAS=1", "O"),
        ("within:LOWER[-1] & LOWER=c & -", "O"),
    }


def pairs_of(pipe, **which):
    """Features with the columns in which they have weights, of some role or text."""
    found = find_features(pipe, **which, top=9999)
    return {(row.feature, column) for row in found for column in row.weights}


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


def test_tags_have_no_inside():
    pipe, examples = make_random(encoding="BIO")
    roles = {name.partition(":")[0] for name in pipe.weights.names}
    assert roles == {"inside"}
    assert "inside:LOWER[-1] & LOWER=a & b" in pipe.weights.names
    assert_gradient(pipe, examples)


def test_roles_without_templates_cost_nothing(monkeypatch):
    """No scores, in training and prediction."""
    plain = {**WITHIN, "within": []}
    pipe, examples = make_random(features=plain)
    doc = examples[0].predicted
    assert set(read_docs(pipe.weights, [doc]).tokens) == {"inside", "start", "end"}
    state, made = pipe.weights, []

    class Recorded(TokenScores):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            made.append(self)

    monkeypatch.setattr(doc_scorer, "TokenScores", Recorded)
    finish(doc_scorer.DocScorer(state).steps([doc]))
    assert [scores.roles for scores in made] == [("inside", "start", "end")]


def test_features_of_tokens_include_those_within():
    pipe, examples = make_random(features={"preset": "none", "within": ["LOWER[-1]"]})
    assert pipe.token_features(examples[2].predicted) == [
        ["LOWER[-1]=^"],
        ["LOWER[-1]=a"],
    ]


# --- transition: at the first token, with weights for label patterns --------------

TRANSITION = {
    "preset": "none",
    "inside": ["BIAS"],
    "start": ["LOWER"],
    "transition": ["BIAS", "LOWER", "LOWER[-1] & LOWER"],
    "min_count": 1,
}
ALONG = {
    **TRANSITION,
    "transition": ["LOWER"],
    "transition_inside": ["LOWER", "LOWER[-1] & LOWER"],
}


def make_observed(marked=SHORT, features=TRANSITION, **config):
    return make_random(marked, features, **{"observed_order": 1, **config})


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"observed_order": 2},
        {"observed_order": 3, "max_order": 0},
        {"max_order": 3},
        {"outside": "token", "observed_order": 2},
        {"encoding": "BIO", "observed_order": 2},
        {"features": ALONG},
        {"features": ALONG, "observed_order": 2, "outside": "token"},
        {"features": ALONG, "encoding": "BILUO"},
        {"observed_order": 0, "observed_patterns": [["*", "*", "*"]]},
        {"observed_patterns": [["A", "O", "*"], ["^", "*", "O", "*"]]},
    ],
)
def test_transitions_by_hand(config):
    pipe, examples = make_observed(**config)
    roles = {name.partition(":")[0] for name in pipe.weights.names}
    own = pipe.weights.extractor.features.transition_roles
    assert roles >= {*own} > set()
    for role in own:
        found = strongest_transitions(pipe, role=role, top=1000)
        assert {one.feature.partition(":")[0] for one in found} == {role}
    are_last = [name.startswith("transition") for name in pipe.weights.names]
    assert 0 < sum(are_last) < len(are_last) and are_last == sorted(are_last)
    is_pattern = pipe.weights.pairs.columns >= pipe.automaton.n_labels
    assert is_pattern.tolist() == sorted(is_pattern.tolist())
    assert_as_by_hand(pipe, pipe.weights.extractor.features.roles)
    assert_kept_scores_agree(pipe, examples)


@pytest.mark.filterwarnings("ignore:.*HSW05")
@pytest.mark.parametrize(
    "config, decoding",
    [
        ({"observed_order": 2}, None),
        ({"features": ALONG, "observed_order": 2}, None),
        ({"label_rules": ["A at most once"]}, "mbr"),
    ],
)
def test_inference_with_transitions(config, decoding):
    """All probabilities, with the constraints of the document."""
    pipe, _ = make_observed(**config)
    for text in TEXTS:
        words = text.split()
        starts = [i == 1 for i in range(len(words))]
        doc = make_doc(NLP, *words, sent_starts=starts)
        (problem,) = instances_of(pipe.decoder.posterior(doc))
        potentials, constraints = problem.potentials, problem.constraints
        assert len(potentials.entries) > 0
        problem = as_problem(pipe.automaton, potentials, constraints)
        scores = oracles.scored(problem)
        if "label_rules" in config:
            scores = {s: x for s, x in scores.items() if sum(y == 1 for *_, y in s) < 2}
        marginals = pipe.marginals(doc)
        assert marginals.log_z == pytest.approx(oracles.log_z(scores), abs=1e-9)
        expected = oracles.marginals(problem, scores)
        np.testing.assert_allclose(
            marginals.gradient.entries["score"], expected.entries, atol=1e-9
        )
        for i, j, y in [(0, 1, 0), (0, 1, 1), (0, len(doc), 2)]:
            found = marginals.segment(i, j, y)
            assert found == pytest.approx(expected.segments[i, j, y], abs=1e-9)
        best, _ = oracles.best(scores)
        spans = [(i, j, pipe.inventory.names[y]) for i, j, y in best if y]
        assert triples(pipe(doc).ents) == spans
        pipe.decoding = decoding or "viterbi"
        for ent in pipe(doc).ents:
            y = pipe.inventory.names.index(ent.label_)
            expected_one = expected.segments[ent.start, ent.end, y]
            assert ent._.confidence == pytest.approx(expected_one, abs=1e-9)
        pipe.decoding = "viterbi"


@pytest.mark.parametrize("prepare", [list, hide])
@pytest.mark.parametrize(
    "config",
    [
        {},
        {"observed_order": 2, "max_order": 1},
        {"encoding": "BILUO"},
        {"explicit_length": 2, "observed_order": 2},
        {"features": ALONG, "observed_order": 2},
    ],
)
def test_gradient_of_transitions(prepare, config):
    pipe, examples = make_observed(**config)
    rows = assert_gradient(pipe, prepare(examples))
    for role in pipe.weights.extractor.features.transition_roles:
        of_transitions = np.repeat(_rows(pipe, role), pipe.weights.pairs.sizes)
        assert np.abs(rows[of_transitions]).max() > 0.01


def test_gradient_where_nothing_is_known():
    pipe, examples = make_observed()
    doc = examples[0].reference
    doc.set_ents([], missing=[doc[:]])
    value, gradient = pipe.value_and_gradient(examples[:1])
    assert value == 0.0 and not gradient.any()


# Who comes first is told by a word between them, and only together with both labels.
ORDERS = tuple(
    f"[{left} {x}] {word} [{right} {y}] ."
    for x, y in ("ab", "cd", "ba", "dc")
    for left, right, word in (
        *(("A", "B", "then"), ("B", "A", "then")),
        *(("A", "A", "also"), ("B", "B", "also")),
    )
)


def tell_orders(nlp):
    """The second label where the first is given by its word."""
    return {
        (first, word): dict(find(nlp, f"{first} {word} x ."))["x"]
        for first in ("left", "right")
        for word in ("then", "also")
    }


@pytest.fixture(scope="module")
def ordered():
    return make_ordered(observed_order=2)


def make_ordered(transition=("LOWER[-1]",), **config):
    marked = [*ORDERS, *(f"[A left] {end}" for end in ". then also".split())]
    marked += [f"[B right] {end}" for end in ". then also".split()]
    words = {"preset": "none", "inside": ["BIAS", "LOWER"], "start": ["LOWER[-1]"]}
    features = {**words, "min_count": 1}
    if config:
        features["transition"] = list(transition)
    return make_trained(marked, features=features, fit={"l2": 0.01}, **config)


def test_what_only_transitions_can_tell(ordered):
    assert tell_orders(ordered) == {
        ("left", "then"): "B",
        ("left", "also"): "A",
        ("right", "then"): "A",
        ("right", "also"): "B",
    }
    told = tell_orders(make_ordered())
    assert len({told["left", "then"], told["left", "also"]}) == 1


def test_names_and_weights(ordered):
    pipe = ordered.get_pipe("hosemi")
    found = strongest_transitions(pipe, text="=then", top=2)
    patterns = {("A", "O", "B"), ("B", "O", "A")}
    assert {one.pattern for one in found} == patterns
    assert {one.feature for one in found} == {"transition:LOWER[-1]=then"}
    assert found[0].docs == 8 and found[0].weight > 0.5
    only_a = strongest_transitions(pipe, labels=["A"], top=1000, negative=True)
    assert only_a and all("A" in one.pattern for one in only_a)
    rows = find_features(pipe, role="transition", text="=then")
    assert rows[0].weights["A O B"] > 0.5
    families = {family.name: family for family in weight_families(pipe)}
    assert families["transition:LOWER[-1]"].share > 0.05
    assert sum(family.share for family in families.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("args", [[], ["--role", "transition"]])
def test_command(ordered, tmp_path, args):
    ordered.to_disk(tmp_path)
    result = CliRunner().invoke(hosemi_cli, ["weights", str(tmp_path), *args])
    assert result.exit_code == 0, result.output
    line = next(x for x in result.output.split("\n") if "A O B" in x and "=then" in x)
    assert "transition:LOWER[-1]=then" in line
    result = CliRunner().invoke(hosemi_cli, ["weights", str(tmp_path), "--json"])
    (first, *_) = srsly.json_loads(result.stdout)["transitions"]
    assert set(first) == {"feature", "pattern", "docs", "weight"}


def test_a_cfg_with_other_patterns(ordered, tmp_path):
    ordered.to_disk(tmp_path)
    path = tmp_path / "hosemi" / "cfg"
    cfg, parts = unsealed(path.read_bytes())
    path.write_bytes(sealed({**cfg, "observed": cfg["observed"][1:]}, parts))
    with pytest.raises(ValueError, match="HS064"):
        spacy.load(tmp_path)


@pytest.mark.parametrize("role", ["inside", "transition"])
def test_weights_in_columns_of_another_role(ordered, role):
    """They would be read out of bounds."""
    weights = ordered.get_pipe("hosemi").weights
    loaded = read_msgpack(to_bytes(weights))
    columns = np.array(loaded["columns"])
    is_theirs = np.repeat(_rows(ordered.get_pipe("hosemi"), role), weights.pairs.sizes)
    columns[is_theirs] = 5 if role == "inside" else 0
    loaded["columns"] = columns.astype(np.int32)
    with pytest.raises(ValueError, match="HS062"):
        from_bytes(write_msgpack(loaded), weights.extractor)


def test_pruning_drops_patterns_without_weights(ordered, tmp_path):
    ordered.to_disk(tmp_path)
    nlp = spacy.load(tmp_path)
    pipe = nlp.get_pipe("hosemi")
    before = pipe.automaton.observed
    largest = max(one.weight for one in strongest_transitions(pipe, top=1))
    pipe.prune(0.5 * largest)
    assert set(pipe.automaton.observed) < set(before)
    assert pipe.automaton.observed == tuple(map(tuple, pipe.cfg["observed"]))
    assert pipe.weights.n_observed == len(pipe.automaton.observed) > 0
    old = {
        (one.feature, one.pattern, one.weight)
        for one in strongest_transitions(ordered.get_pipe("hosemi"), top=10_000)
    }
    new = strongest_transitions(pipe, top=10_000)
    assert {(one.feature, one.pattern, one.weight) for one in new} < old
    copied = pipe.from_bytes(pipe.to_bytes())
    assert len(copied.automaton.observed) == copied.weights.n_observed
    pipe.prune(1e9)
    assert pipe.automaton.observed == ()
    assert len(pipe.predict([nlp.make_doc("a then b .")])) == 1


@pytest.mark.parametrize("config", [{}, {"encoding": "BIO", "observed_order": 2}])
def test_pruned_weights_of_labels_stay_a_matrix(config):
    """Those of features for labels, as in models without transitions; the others are
    gone one by one."""
    pipe, examples = make_observed(**config)
    weights, n_labels = pipe.weights, pipe.automaton.n_labels
    are_of_labels = weights.pairs.columns < n_labels
    size = np.abs(weights.matrix[:, 0])
    below = float(np.median(size[are_of_labels]))
    lost = set(np.flatnonzero((size <= below) & are_of_labels).tolist())
    n_left = int((size[~are_of_labels] > below).sum())
    rows = [
        range(i, j)
        for i, j in zip(weights.pairs.first, weights.pairs.first[1:])
        if are_of_labels[i] and not lost.issuperset(range(i, j))
    ]
    pipe.prune(below)
    n_whole = pipe.weights.pairs.n_whole(n_labels)
    assert n_whole == len(rows) > 3
    assert np.diff(pipe.weights.pairs.first)[n_whole:].sum() == n_left > 0
    assert (pipe.weights.matrix == 0.0).sum() == len(lost & {*chain(*rows)})
    assert_as_by_hand(pipe, pipe.weights.extractor.features.roles)
    assert_kept_scores_agree(pipe, examples)


@pytest.mark.parametrize(
    "features, config",
    [(WITHIN, {}), (TRANSITION, {"observed_order": 2})],
    ids=["within", "transition"],
)
def test_online_steps(features, config):
    nlp = make_nlp(features=features, **config)
    initialize(nlp, SHORT)
    pipe, examples = nlp.get_pipe("hosemi"), make_examples(nlp, SHORT)
    losses = [nlp.update(examples, sgd=Adam(0.01))["hosemi"] for _ in range(8)]
    assert losses[-1] < losses[0] / 2
    role = "transition" if config else "within"
    weights = pipe.weights
    n_each = len(weights.matrix) // len(weights.names)
    sizes = n_each if weights.pairs is None else weights.pairs.sizes
    of_role = weights.matrix[np.repeat(_rows(pipe, role), sizes)]
    # One feature is that of first tokens, which are never within a segment.
    assert (of_role == 0.0).any(axis=1).sum() == (0 if config else 1)


def test_pairs_of_transitions_are_those_of_the_gold():
    pipe, _ = make_observed(["[A a b] [B c]"], observed_order=2)
    assert pairs_of(pipe, role="transition") == {
        ("transition:BIAS=1", "^ A"),
        ("transition:LOWER=a", "^ A"),
        ("transition:LOWER[-1] & LOWER=^ & a", "^ A"),
        *(("transition:BIAS=1", p) for p in ("A B", "^ A B")),
        *(("transition:LOWER=c", p) for p in ("A B", "^ A B")),
        *(("transition:LOWER[-1] & LOWER=b & c", p) for p in ("A B", "^ A B")),
    }


def test_pairs_inside_are_those_of_the_gold():
    features = {"preset": "none", "transition_inside": ["LOWER"], "min_count": 1}
    pipe, _ = make_observed(["[A a b] [B c c]"], features)
    assert pairs_of(pipe, text="LOWER") == {
        ("transition_inside:LOWER=a", "^ A"),
        ("transition_inside:LOWER=b", "^ A"),
        ("transition_inside:LOWER=c", "A B"),
    }
    pipe, _ = make_observed(["[A a b] [B c c]"], {**features, "min_count": 2})
    assert pairs_of(pipe) == {("transition_inside:LOWER=c", "A B")}


def test_usual_transitions():
    pipe, _ = make_random(features={"preset": "none"}, observed_order=1)
    templates = pipe.weights.extractor.features.roles["transition"]
    assert "LOWER" in map(str, templates)
    assert make_random(features={"preset": "none"})[0].automaton.observed == ()


def test_nothing_is_observed():
    """No document is known as a whole."""
    pipe = NLP.create_pipe(
        "hosemi", config={"observed_order": 1, "model": {"features": TRANSITION}}
    )
    examples = make_examples(NLP, SHORT[:1])
    doc = examples[0].reference
    doc.set_ents(doc.ents[:1], missing=[doc[3:]], default="outside")
    pipe.initialize(lambda: examples, nlp=NLP)
    assert pipe.automaton.observed == ()
    assert not any(_rows(pipe, "transition"))
    randomize(pipe)
    assert_gradient(pipe, examples)


@pytest.mark.parametrize(
    "config, message",
    [
        ({"features": {"within": ["TOKENS"]}}, "HS036.*TOKENS"),
        ({"features": {"transition": ["LOWER", "SHAPE"]}}, "HS090.*LOWER, SHAPE"),
        (
            {"features": {"transition_inside": ["LOWER"]}},
            "features.transition_inside names LOW",
        ),
        (
            {"features": {"transition": ["SHAPE{-3:3}"]}},
            "names SHAPE{-3:3} and",
        ),  # once
        ({"observed_order": -1}, "HS043.*observed_order is -1"),
        ({"observed_min_count": 0}, "HS043.*observed_min_count"),
        ({"observed_max": 0}, "HS043.*observed_max is 0"),
    ],
)
def test_what_is_refused(config, message):
    with pytest.raises(ValueError, match=message):
        make_nlp(**config)


def test_patterns_with_wildcards_expand_to_what_is_seen():
    asked = [["A", "O", "*"], ["*1", "*1"]]
    pipe, _ = make_observed(observed_order=0, observed_patterns=asked)
    assert pipe.automaton.observed == (("A", "A"), ("A", "O", "B"))
    with pytest.raises(ValueError, match="HS112.*'C'"):
        make_observed(observed_patterns=[["A", "C"]])
    nlp = make_nlp(observed_patterns=[["A", "C"]])
    nlp.initialize()  # labels are still to come
    assert nlp.get_pipe("hosemi").automaton.observed == ()


def test_pairs_of_a_feature_and_a_pattern_that_are_rare_have_no_weight():
    def n_pairs(least):
        pipe, _ = make_observed(observed_order=2, observed_min_count=least)
        columns = pipe.weights.pairs.columns
        return int((columns >= pipe.automaton.n_labels).sum())

    assert n_pairs(1) > n_pairs(2) > n_pairs(100) == 0


@pytest.mark.parametrize("features", [TRANSITION, ALONG], ids=["first", "each"])
def test_a_feature_speaks_for_the_patterns_that_it_is_seen_with_most(features):
    def columns_with(**settings):
        pipe, _ = make_random(features=features, observed_order=2, **settings)
        columns, n_labels = pipe.weights.pairs.columns, pipe.automaton.n_labels
        rows = zip(pipe.weights.names, np.split(columns, pipe.weights.pairs.first[1:]))
        return {
            name: set(of_row.tolist())
            for name, of_row in rows
            if len(of_row) and of_row[-1] >= n_labels
        }

    by_count = [columns_with(observed_min_count=k) for k in range(1, 20)]

    def count(name, column):
        return sum(column in pairs.get(name, ()) for pairs in by_count)

    for most in (1, 2, 3):
        found = columns_with(observed_max=most)
        assert found.keys() == by_count[0].keys()
        for name, columns in by_count[0].items():
            ordered = sorted(columns, key=lambda c: (-count(name, c), c))
            assert found[name] == set(ordered[:most])
    assert any(len(columns) > 3 for columns in by_count[0].values())
    assert columns_with(observed_max=1000) == by_count[0]


@pytest.mark.parametrize("features", [TRANSITION, ALONG], ids=["first", "each"])
def test_pairs_are_those_of_each_document_alone(features):
    """However many there are, and of whatever vocabulary."""

    def pairs_from(examples):
        pipe = make_nlp(features=features, observed_order=2).get_pipe("hosemi")
        pipe.initialize(lambda: examples, nlp=NLP)
        randomize(pipe)
        return {x for x in pairs_of(pipe) if x[0].startswith("transition")}

    others = [make_examples(spacy.blank("en"), [x])[0] for x in SHORT[1:]]
    found = pairs_from([*make_examples(NLP, SHORT[:1]), *others])
    assert found == pairs_from(make_examples(NLP, SHORT)) and len(found) > 10
    assert found == pairs_from(make_examples(NLP, [*SHORT, *SHORT]))


@pytest.mark.parametrize("nonnegative", [False, True])
def test_the_perceptron_learns_patterns_with_wildcards(nonnegative):
    """The label of x is that of the word two tokens before, if that is named."""
    marked = [
        f"[{y} {first}] [{other} -] [{y} x]"
        for y, first in (("A", "a"), ("B", "b"))
        for other in "AB"
    ]
    nlp = make_nlp(
        features={**TRANSITION, "inside": ["LOWER"], "start": []},
        outside="none",
        max_length=1,
        max_order=1,
        observed_patterns=[["*1", "*", "*1"]],
        objective={"@misc": "spacy_hosemi.perceptron.v1"},
    )
    initialize(nlp, marked * 3, fit=averaged(nonnegative=nonnegative))
    for word, label in (("a", "A"), ("b", "B")):
        assert dict(find(nlp, f"{word} - x"))["x"] == label
