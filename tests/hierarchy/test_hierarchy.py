"""Coarse to fine: with threshold 0 it is the distribution over all segmentations with
leaves for labels, by enumeration."""

from dataclasses import replace
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest

from spacy_hosemi.core import PatternAutomaton, viterbi
from spacy_hosemi.hierarchy.candidates import Candidates, PartialNodes, top_candidates
from spacy_hosemi.hierarchy.coarse_to_fine import (
    children_of,
    descend,
    paths,
    score_level,
)
from spacy_hosemi.hierarchy.hierarchy import make_hierarchy
from spacy_hosemi.hierarchy.level_batch import LevelBatch, train_levels
from spacy_hosemi.hierarchy.level_decodings import mbr_spans
from spacy_hosemi.hierarchy.level_state import (
    LevelState,
    connect,
    empty_levels,
    level_names,
)
from spacy_hosemi.hierarchy.level_weights import LevelWeights
from spacy_hosemi.hierarchy.tree import LabelTree
from spacy_hosemi.model.active_features import (
    NO_PLACES,
    NO_SEGMENTS,
    PlaceRows,
    RoleRows,
    Rows,
    SegmentRows,
    by_document,
)
from spacy_hosemi.model.kernels.sparse_steps import Freedom
from spacy_hosemi.model.weights.pairs import WeightPairs
from spacy_hosemi.training.rows import join_rows

from .. import oracles
from ..core.problems import as_core
from ..helpers import numeric_gradient
from ..strategies import n_of, random_forest, random_patterns, random_problem

INF = float("inf")
ROLES = ("inside", "start", "end", "within")
FIELDS = ("inside", "start", "end", "length", "tail", "pattern")
N_ROWS = 4
SEEDS = range(n_of(200))
NOTHING_KNOWN = PartialNodes([[], []], None, [[], []])


class Case(NamedTuple):
    """Two documents, a tree and random weights; where they are for the oracle."""

    rng: np.random.Generator
    tree: LabelTree
    automaton: PatternAutomaton
    weights: LevelState
    problems: list[oracles.Problem]
    rows: list[Rows]

    @property
    def top(self) -> np.ndarray:
        return self.problems[0].pattern

    def candidates(self, threshold=0.0, scale=1.0, others=None) -> Candidates:
        potentials = [as_core(x)[1].times(scale) for x in self.problems]
        if others is None:
            others = [viterbi(self.automaton, x)[0] for x in potentials]
        limits = [None] * len(potentials)
        return top_candidates(self.automaton, potentials, limits, others, threshold)

    def descend(self, threshold=0.0, scale=1.0, known=None):
        return descend(
            self.weights,
            self.candidates(threshold, scale),
            self.top * scale,
            join_rows(self.rows),
            known or NOTHING_KNOWN,
            threshold,
            scale,
        )


def random_case(seed) -> Case:
    rng = np.random.default_rng(seed)
    while True:
        deepest = int(rng.integers(2, 5))
        tree = LabelTree(*random_forest(rng, int(rng.integers(4, 14)), deepest))
        if tree.n_levels == deepest and len(tree.leaf) <= 8 and len(tree.top) <= 3:
            break
    names = ["O", *tree.top]
    size = int(rng.integers(0, 6))
    patterns = random_patterns(rng, len(names), int(rng.integers(2, 4)), size)
    first, second = (
        random_problem(
            rng,
            kinds=("small", "ties"),
            n_tokens=int(rng.choice(5, p=[0.1, 0.2, 0.3, 0.38, 0.02])),
            n_labels=len(names),
            patterns=patterns,
            constrained=False,
            observed=(),
        )
        for _ in range(2)
    )
    problems = [first, second._replace(pattern=first.pattern)]
    automaton = PatternAutomaton(names, [named(z, names) for z in patterns])
    weights = random_weights(rng, tree, automaton)
    rows = [random_rows(rng, x.n_tokens) for x in problems]
    return Case(rng, tree, automaton, weights, problems, rows)


def named(pattern, names):
    return tuple(names[x] if isinstance(x, int) else x for x in pattern)


def random_weights(rng, tree, automaton) -> LevelState:
    has_weight = rng.random((N_ROWS, len(tree.names))) < 0.6
    pairs, patterns, above = [], [], automaton.patterns
    for level in range(2, tree.n_levels + 1):
        is_here = has_weight & (tree.level == level)
        first = np.concatenate([[0], np.cumsum(is_here.sum(axis=1))])
        columns = np.nonzero(is_here)[1].astype(np.int32)
        pairs.append(WeightPairs(first.astype(np.int32), columns))
        patterns.append([])
        if rng.random() < 0.7:
            names = level_names(tree, level)
            size = int(rng.integers(1, 9))
            some = random_patterns(rng, len(names), 3, size)
            # those that go on from patterns of the level above
            up = {y: tree.names[tree.at_level(level)[v]] for y, v in tree.leaf.items()}
            more = [tuple(up.get(x, x) for x in z) for z in above]
            known = {"^", "$", *names}
            more = [z for z in more if known.issuperset(z)]
            patterns[-1] = [*dict.fromkeys([*more, *(named(z, names) for z in some)])]
            above = patterns[-1]
    pattern = tuple(rng.normal(size=len(z)) for z in patterns)
    for of_level in pattern:
        of_level[rng.random(len(of_level)) < 0.1] = -INF
    matrix = tuple(rng.normal(size=len(x.columns)) for x in pairs)
    state = replace(empty_levels(pairs, patterns), matrix=matrix, pattern=pattern)
    return connect(state, tree, automaton)


def random_rows(rng, n_tokens) -> Rows:
    tokens = {}
    for role in ROLES:
        sizes = rng.integers(0, 3, n_tokens)
        row = rng.integers(0, N_ROWS, int(sizes.sum())).astype(np.int32)
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        strength = rng.normal(size=len(row)) if rng.random() < 0.3 else None
        tokens[role] = RoleRows(first, row, strength)
    units = NO_SEGMENTS
    if n_tokens:
        start = rng.integers(0, n_tokens, 4)
        end = rng.integers(start + 1, n_tokens + 1)
        row = rng.integers(0, N_ROWS, 4)
        units = *(x.astype("i4") for x in (start, end, row)), rng.normal(size=4)
    borders = np.array([0, n_tokens], "i4")
    columns = (SegmentRows, units), (PlaceRows, NO_PLACES)
    return Rows(borders, tokens, *(by_document(*x, borders) for x in columns))


# --- the definition ---------------------------------------------------------------


def ways(tree) -> list[list[int]]:
    """Of each label from 1 the nodes from the top; label 0 is outside."""
    found: list[list[int]] = [[]]
    for leaf in sorted(tree.leaf.values()):
        way = [leaf]
        while tree.parent[way[0]] >= 0:
            way.insert(0, int(tree.parent[way[0]]))
        found.append(way)
    return found


def read_rows(rows, start, end) -> list[tuple[int, float]]:
    """Features of a span, and how much they fire."""
    found = []
    for role, (first, row, strength) in rows.tokens.items():
        for i in range(len(first) - 1):
            holds = {
                "inside": start <= i < end,
                "start": i == start,
                "end": i == end - 1,
                "within": start < i < end,
            }[role]
            for k in range(first[i], first[i + 1]) if holds else ():
                found.append((int(row[k]), 1.0 if strength is None else strength[k]))
    units = rows.segments
    for i, j, row, much in zip(units.start, units.end, units.row, units.strength):
        if (i, j) == (start, end):
            found.append((int(row), much))
    return found


def all_patterns(case) -> tuple[dict[tuple, float], int]:
    """What counts at the leaves, over names of a level, and that level: its own
    patterns, and where a pair has no weight of its own that of the pair above."""
    tree, weights = case.tree, case.weights
    found = dict(zip(case.automaton.patterns, case.top))
    at = 1
    for level, patterns in enumerate(weights.patterns, start=2):
        if not patterns:
            continue
        up = {x: x for x in ("^", "$", "O")}
        for way in ways(tree)[1:]:
            up[tree.names[way[:level][-1]]] = tree.names[way[:at][-1]]
        own = dict(zip(patterns, weights.pattern[level - 2]))
        carried = {z: found.get(tuple(up[x] for x in z), 0.0) for z in own}
        names = level_names(tree, level)
        pairs = product(("^", *names), (*names, "$"))
        others = [z for z in pairs if z not in own and tuple(up[x] for x in z) in found]
        above = {z: found[tuple(up[x] for x in z)] for z in others}
        found = {z: w if w == -INF else w + carried[z] for z, w in own.items()}
        found |= above
        at = level
    return found, at


def scores_by_definition(case, d, scale=1.0) -> oracles.Scores:
    """Every segmentation of a document, over outside and all leaves."""
    tree, problem, rows = case.tree, case.problems[d], case.rows[d]
    way_of = ways(tree)
    at_top = oracles.scorer(problem._replace(patterns=(), pattern=np.zeros(0)))
    patterns, level = all_patterns(case)
    names = ["O", *(tree.names[way[:level][-1]] for way in way_of[1:])]
    weight = {}
    for pairs, matrix in zip(case.weights.pairs, case.weights.matrix):
        of_row = np.repeat(np.arange(N_ROWS), pairs.sizes).tolist()
        weight.update(zip(zip(of_row, pairs.columns.tolist()), matrix))

    @cache
    def below(i, j, y):
        return sum(
            much * weight.get((row, v), 0.0)
            for row, much in read_rows(rows, i, j)
            for v in way_of[y][1:]
        )

    @cache
    def of_patterns(labels):
        symbols = tuple(names[y] for y in labels)
        fired = ((oracles.n_fired(z, symbols), w) for z, w in patterns.items())
        return sum(times * w for times, w in fired if times)

    found = {}
    for s in oracles.segmentations(problem.n_tokens, len(way_of)):
        top = tuple((i, j, way_of[y][0] + 1 if y else 0) for i, j, y in s)
        total = at_top(top) + sum(below(*segment) for segment in s)
        found[s] = scale * (total + of_patterns(oracles.labels_of(s)))
    return found


def labels_of(tree) -> dict[int, int]:
    """The label of each leaf, as the oracle has it."""
    return {way[-1]: y for y, way in enumerate(ways(tree)) if y}


def scores_with(case, known, d) -> oracles.Scores:
    """Every segmentation of a document with all known spans."""
    label = labels_of(case.tree)
    spans = {(i, j, label[v]) for i, j, v in known.spans[d]}
    scores = scores_by_definition(case, d)
    return {s: x for s, x in scores.items() if spans.issubset(s)}


def totals(scores, key=lambda segment: [segment]) -> dict[tuple, float]:
    """The probability of each key of a segment."""
    found: dict[tuple, float] = {}
    for s, p in oracles.probabilities(scores).items():
        for segment in s:
            for x in key(segment):
                found[x] = found.get(x, 0.0) + p
    return found


def found_segments(case, solved, values) -> list[dict[tuple, float]]:
    """By document: start, end and label, as the oracle has them."""
    label = {-1: 0} | labels_of(case.tree)
    found: list[dict[tuple, float]] = [{} for _ in case.problems]
    some = solved.candidates
    for d, i, j, v, x in zip(some.doc, some.start, some.end, some.node, values):
        found[d][int(i), int(j), label[int(v)]] = x
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_with_threshold_0_it_is_exact(seed):
    case = random_case(seed)
    scale = float(case.rng.choice([1.0, 0.5]))
    solved = case.descend(scale=scale)
    log_z, prob, *_ = solved.lattice.sums(solved.candidates.score)
    best = set(solved.solution[1].tolist())
    is_best = [k in best for k in range(len(prob))]
    probs = found_segments(case, solved, prob)
    chosen = found_segments(case, solved, is_best)
    spans = paths(solved, solved.best_spans, case.tree)
    for d in range(len(case.problems)):
        scores = scores_by_definition(case, d, scale)
        expected = oracles.log_z(scores)
        assert log_z[d] == pytest.approx(expected, rel=1e-9, abs=1e-9)
        total = totals(scores)
        by_node = totals(scores, lambda x: [(*x[:2], v) for v in ways(case.tree)[x[2]]])
        for segment in {*total, *probs[d]}:
            p = probs[d].get(segment, 0.0)
            assert p == pytest.approx(total.get(segment, 0.0), abs=1e-9)
        path = tuple(segment for segment, x in chosen[d].items() if x)
        if oracles.possible(scores):
            assert scores[path] == pytest.approx(oracles.best(scores)[1], abs=1e-9)
        else:
            assert path == ()
        # the names on the way, each with the sum over the leaves below
        found = {span[:2]: (span[2], way) for span, way in spans[d]}
        assert [*found] == [segment[:2] for segment in path if segment[2]]
        for i, j, y in oracles.spans(path):
            leaf = ways(case.tree)[y][-1]
            label, way = found[i, j]
            assert label == case.tree.names[leaf]
            expected_path = case.tree.path(leaf)
            assert [x for x, _ in way] == [x for x, _ in expected_path]
            for (_, p), (_, v) in zip(way, expected_path):
                assert p == pytest.approx(by_node[i, j, v], abs=1e-9)


def levels_of(case, candidates, prune):
    """Level by level: what is solved, of the candidates that are left above it."""
    pattern, rows = case.top, join_rows(case.rows)
    for level in range(2, case.tree.n_levels + 1):
        refined = children_of(candidates, rows, case.weights, level)
        solved = score_level(case.weights, level, *refined, pattern)
        candidates, pattern = prune(solved), solved.pattern
        yield solved, candidates


@pytest.mark.parametrize("seed", SEEDS)
def test_the_best_and_the_probable_are_refined(seed):
    case = random_case(seed)
    threshold = float(case.rng.choice([0.01, 0.3, 1.0]))
    levels = levels_of(case, case.candidates(threshold), lambda x: x.pruned(threshold))
    for solved, candidates in levels:
        prob, path = solved.solution
        best = set(path.tolist())
        kept = [k for k in range(len(prob)) if k in best or prob[k] >= threshold]
        assert places(candidates) == [places(solved.candidates)[k] for k in kept]
        assert candidates.score.tolist() == solved.candidates.score[kept].tolist()
    last = case.descend(threshold)
    assert places(last.candidates) == places(solved.candidates)


def places(candidates):
    arrays = candidates.doc, candidates.start, candidates.end, candidates.node
    return list(zip(*(x.tolist() for x in arrays)))


# --- what is known ----------------------------------------------------------------


def random_known(case, is_partial, has_inner=False) -> PartialNodes:
    """Some segmentation of each document, of which some is known."""
    spans, is_open, wrong = [], [], []
    leaves = sorted(case.tree.leaf.values())
    leaves = [*range(len(case.tree.names))] if has_inner else leaves
    for problem in case.problems:
        n = problem.n_tokens
        borders = [0, *(i for i in range(1, n) if case.rng.random() < 0.6), n]
        pieces = [*zip(borders, borders[1:])] if n else []
        some = [(*x, leaves[case.rng.integers(len(leaves))]) for x in pieces]
        spans.append([x for x in some if case.rng.random() < 0.5])
        open_tokens = case.rng.random(n) < (0.5 if is_partial else 0.0)
        for i, j, _ in spans[-1]:
            open_tokens[i:j] = False
        is_open.append(open_tokens)
        nodes = range(len(case.tree.names))
        wrong.append([(*x, int(case.rng.choice(nodes))) for x in pieces[:1]])
    return PartialNodes(spans, is_open, wrong if is_partial else [[], []])


def agrees_by_definition(case, known, d, start, end, node) -> bool:
    if (start, end, node) in known.wrong[d]:
        return False
    for i, j, leaf in known.spans[d]:
        if (i, j) == (start, end) and node >= 0:
            return node in case.tree.ways(leaf) or leaf in case.tree.ways(node)
    tokens = range(start, end)
    if any(i <= t < j for t in tokens for i, j, _ in known.spans[d]):
        return False
    is_open = known.is_open is None or all(known.is_open[d][t] for t in tokens)
    return node < 0 or is_open


@pytest.mark.parametrize("seed", SEEDS)
def test_what_agrees_with_what_is_known(seed):
    case = random_case(seed)
    known = random_known(case, is_partial=True, has_inner=seed % 2 == 0)
    if seed % 3 == 0:
        known = PartialNodes(known.spans, None, known.wrong)
    for _, candidates in levels_of(case, case.candidates(), lambda x: x.candidates):
        expected = [agrees_by_definition(case, known, *x) for x in places(candidates)]
        assert known.agrees(candidates, case.tree).tolist() == expected


def test_nothing_to_predict():
    case = random_case(1)
    empty, nothing = case._replace(problems=[], rows=[]), PartialNodes([], None, [])
    solved = descend(
        case.weights, empty.candidates(), case.top, join_rows([]), nothing, 0.1
    )
    assert paths(solved, solved.best_spans, case.tree) == []
    for expected_f1 in (None, 0.5):
        assert mbr_spans(solved, expected_f1).tolist() == []


# --- the highest expected F1 ------------------------------------------------------


def without_forbidding(case) -> Case:
    """The same; where a score was -inf it is 0."""

    def finite(values):
        return np.where(np.isneginf(values), 0.0, values)

    problems = [
        x._replace(
            **{name: finite(getattr(x, name)) for name in FIELDS},
            cells=[(*s, float(finite(value))) for *s, value in x.cells],
        )
        for x in case.problems
    ]
    pattern = tuple(finite(x) for x in case.weights.pattern)
    weights = replace(case.weights, pattern=pattern)
    return case._replace(problems=problems, weights=weights)


@pytest.mark.parametrize("seed", SEEDS[:30])
def test_spans_with_the_highest_expected_f1(seed):
    case = without_forbidding(random_case(seed))
    known = NOTHING_KNOWN
    if seed % 2:
        known = PartialNodes(random_known(case, is_partial=False).spans, None, [[], []])
    expected_f1 = [None, 0.0, 0.3, 0.8, 1.0][seed % 5]
    solved = case.descend(known=known)
    is_chosen = np.zeros(len(solved.candidates.node), bool)
    is_chosen[mbr_spans(solved, expected_f1)] = True
    chosen = found_segments(case, solved, is_chosen)
    for d in range(2):
        scores = scores_with(case, known, d)
        probs = oracles.span_probabilities(scores)

        def gain(spans, probs=probs):
            if expected_f1 is None:
                return oracles.expected_f1(probs, spans)
            cost = expected_f1 * len(oracles.spans(spans))
            return 2.0 * oracles.expected_correct(probs, spans) - cost

        found = tuple(sorted(s for s, x in chosen[d].items() if x))
        assert found in {oracles.spans(s) for s in oracles.possible(scores)}
        best = max(map(gain, oracles.possible(scores)))
        assert gain(found) == pytest.approx(best, abs=1e-9)


def possible_case(seed, is_partial):
    """One whose gold is possible: no score is -inf."""
    case, finite = random_case(seed), []
    for problem in case.problems:
        fields = {name: getattr(problem, name) for name in FIELDS}
        fields = {x: np.nan_to_num(array, neginf=-0.5) for x, array in fields.items()}
        finite.append(problem._replace(**fields, cells=[]))
    for of_level in case.weights.pattern:
        of_level[np.isinf(of_level)] = 0.5
    known = random_known(case, is_partial)
    known = PartialNodes(known.spans, known.is_open, [[], []])
    return case._replace(problems=finite), known


def level_batches(case, known, threshold=0.0, l2_growth=1.0, weights=None):
    """Those of each level, which get random weights."""
    found, weights = [], weights or LevelWeights()
    weights.replace(case.weights)

    def fit(batch):
        found.append(batch)
        vector = batch.weights.vector()
        batch.weights.set_vector(case.rng.normal(size=len(vector)))

    never_pruned = [gold_at_top(case, d, spans) for d, spans in enumerate(known.spans)]
    candidates = case.candidates(threshold, others=never_pruned)
    settings = make_hierarchy("/", threshold, l2_growth)
    args = candidates, case.top, join_rows(case.rows), known, settings
    train_levels(fit, weights, None, *args)
    return found


def gold_at_top(case, d, spans):
    """A segmentation with these spans, outside where there is none."""
    at, found = 0, []
    for i, j, v in [*spans, (case.problems[d].n_tokens,) * 2 + (None,)]:
        if at < i:
            found.append((at, i, 0))
        if v is not None:
            found.append((i, j, case.tree.ways(v)[0] + 1))
        at = j
    return found


@pytest.mark.parametrize("is_partial", [False, True])
@pytest.mark.parametrize("seed", SEEDS[:6])
def test_gradients(seed, is_partial):
    case, known = possible_case(seed, is_partial)
    for batch in level_batches(case, known):
        x = case.rng.normal(size=len(batch.weights.vector()))

        def value(vector, batch=batch):
            batch.weights.set_vector(vector)
            return batch.value_and_gradient()[0]

        expected = numeric_gradient(value, x)
        batch.weights.set_vector(x)
        assert batch.weights.vector().tolist() == x.tolist()
        loss, gradient = batch.value_and_gradient()
        assert loss >= 0.0 and loss == value(x)
        np.testing.assert_allclose(gradient, expected, atol=1e-6)


@pytest.mark.parametrize("threshold", [0.05, 1.0])
@pytest.mark.parametrize("seed", SEEDS[:10])
def test_the_gold_is_never_pruned(seed, threshold):
    case, known = possible_case(seed, is_partial=seed % 2 == 1)
    batches = level_batches(case, known, threshold)
    assert len(batches) == case.tree.n_levels - 1
    for level, batch in enumerate(batches, start=2):
        found = set(places(batch._candidates))
        for d, spans in enumerate(known.spans):
            for i, j, v in spans:
                assert (d, i, j, int(case.tree.at_level(level)[v])) in found
        value, gradient = batch.value_and_gradient()
        assert 0.0 <= value < INF and np.isfinite(gradient).all()


def test_batches_leave_other_levels_alone():
    case, known = possible_case(3, is_partial=False)
    weights = LevelWeights()
    batch: LevelBatch = level_batches(case, known, weights=weights)[0]
    before = weights.state
    batch.weights.set_vector(np.zeros(len(batch.weights.vector())))
    assert before.matrix[0].any() and not weights.state.matrix[0].any()
    for old, new in zip(before.matrix[1:], weights.state.matrix[1:]):
        assert old is new
    is_free = batch.freedom(nonnegative=True) == Freedom.FREE
    assert is_free.tolist() == [True] * len(batch.weights.vector())
