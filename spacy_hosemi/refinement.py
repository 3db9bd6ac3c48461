"""The labels of a tree, as the component meets them: its top, and what is below."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Any

from spacy.tokens import Doc

from .candidates import Known, Place, top_candidates
from .core import PatternAutomaton, viterbi, viterbi_many
from .errors import Errors
from .hierarchy import FoundSpan, Hierarchy, Readings, descend, paths
from .labels import LabelInventory, Segment, Span
from .levels import LevelWeights, mine_levels, mine_nodes
from .model import Rows, Weights
from .problems import Preset, Problem
from .segmentation import Annotation, Gold
from .stagewise import fit_levels
from .thresholds import Thresholds, least_of
from .tree import LabelTree, split_labels


class Refinement:
    """Labels below those that the component itself segments with.

    settings (Hierarchy): Of the component.
    weights (LevelWeights): In its model.
    RAISES (ValueError): HS118 other settings.

    parents (Dict[str, str]): What stands above each name, for the labels there are.
    """

    def __init__(self, settings: Hierarchy, weights: LevelWeights) -> None:
        if not isinstance(settings, Hierarchy):
            expected, found = "spacy_hosemi.hierarchy.v1", f"it is {settings!r}"
            raise ValueError(Errors.HS118.format(expected=expected, found=found))
        self.settings = settings
        self.weights = weights
        self.parents: dict[str, str] = {}
        self.tree = LabelTree([], {})

    @property
    def is_needed(self) -> bool:
        """Whether anything is below the top."""
        return self.tree.n_levels > 1

    def set_labels(
        self, labels: Sequence[str], parents: Mapping[str, str]
    ) -> list[str]:
        """RETURNS (List[str]): The names at the top.

        labels (Sequence[str]): All leaves.
        parents (Mapping[str, str]): What is above them, if it is not in their names.
        RAISES (ValueError): HS040 a reserved name; HS115 cycle.
        """
        if self.settings.separator is not None:
            parents = split_labels(labels, self.settings.separator)
        self.tree = LabelTree(labels, parents)
        self.parents = self.tree.needed(parents)
        LabelInventory(self.tree.names)  # no name is a reserved one
        first = self.tree.at_level(1)
        self._top = {
            name: self.tree.names[first[v]]
            for v in self.tree.leaf.values()
            for name, _ in self.tree.path(v)
        }
        return self.tree.top

    @property
    def names(self) -> list[str]:
        """All labels, and what is above them."""
        return [*self._top]

    def parents_of(self, labels: Iterable[str]) -> dict[str, str]:
        """RETURNS (Dict[str, str]): What stands above each name, these labels too as
        far as their names say it."""
        separator = self.settings.separator
        more = {} if separator is None else split_labels(labels, separator)
        return more | self.parents

    def connect(self, automaton: PatternAutomaton) -> None:
        """What follows from the automaton of the top."""
        if self.is_needed:
            self.weights.connect(self.tree, automaton)

    # from labels to those of the top

    def at_top(self, spans: Iterable[Span]) -> list[Span]:
        """RETURNS (List[Tuple[int, int, str]]): With the names at the top."""
        return [(i, j, self._top[label]) for i, j, label in spans]

    def preset_at_top(self, preset: Preset | None) -> Preset | None:
        """RETURNS (Optional[Preset]): The same. Where a label is not in the tree, the
        tokens are taken, and that is all."""
        if preset is None:
            return None
        known = [span for span in preset.spans if span[2] in self._top]
        return replace(preset, spans=self.at_top(known))

    def annotation_at_top(self, annotation: Annotation) -> Annotation:
        """RETURNS (Annotation): The same; wrong are those no label of which is left."""
        wrong = [
            (i, j, self.tree.names[v])
            for i, j, v in self._wrong(annotation)
            if self.tree.level[v] == 1
        ]
        at_top = self.at_top(annotation.spans)
        return Annotation(at_top, annotation.is_missing, wrong)

    # training

    def allocate(
        self,
        top: Weights,
        docs: Sequence[Doc],
        annotations: Sequence[Annotation],
        golds: Sequence[Gold],
        outside: str,
        **settings: Any,
    ) -> None:
        """Zero weights for what is seen in training.

        top (Weights): The component's own.
        docs, annotations, golds (Sequence[Doc], Sequence[Annotation], Sequence[Gold]):
            What is segmented, the labels of the tree in it, those of its top.
        outside (str), **settings: See `mine_levels`.
        """
        places = self._places(annotations)
        rows = [top.rows(doc, is_train=True) for doc in docs]
        known = [
            (len(doc), spans)
            for doc, spans, gold in zip(docs, places, golds)
            if gold.segments is not None
        ]
        self.weights.allocate(
            mine_nodes(rows, places, self.tree, len(top.table)),
            mine_levels(self.tree, known, outside, **settings),
        )

    def fit(
        self,
        fit: Callable[[Any], None],
        top: Weights,
        automaton: PatternAutomaton,
        docs: Sequence[Doc],
        annotations: Sequence[Annotation],
        golds: Sequence[Gold],
    ) -> None:
        """Train all levels below the top, whose weights stay as they are."""
        given = [
            (doc, known, gold)
            for doc, known, gold in zip(docs, annotations, golds)
            if (gold.n_known or known.incorrect) and len(doc)
        ]
        rows = [top.rows(doc, is_train=True) for doc, _, _ in given]
        scored = [(of_doc, len(doc)) for of_doc, (doc, _, _) in zip(rows, given)]
        others = [
            _segments(automaton, top, *args, gold)
            for args, (_, _, gold) in zip(scored, given)
        ]
        known = Known(
            self._places([x for _, x, _ in given]),
            [x.is_missing for _, x, _ in given],
            [self._wrong(x) for _, x, _ in given],
        )
        candidates = top_candidates(
            automaton,
            (top.potentials(*args) for args in scored),
            repeat(None),
            others,
            self.settings.threshold,
        )
        args = candidates, top.pattern, Readings(rows), known, self.settings
        fit_levels(fit, self.weights, top, *args)

    def _places(self, annotations: Iterable[Annotation]) -> list[list[Place]]:
        leaf = self.tree.leaf
        return [[(i, j, leaf[y]) for i, j, y in x.spans] for x in annotations]

    def _wrong(self, annotation: Annotation) -> list[Place]:
        """Leaves, and nodes all of whose children are wrong."""
        found = {(i, j, self.tree.leaf[y]) for i, j, y in annotation.incorrect}
        waiting = [*found]
        for i, j, v in waiting:  # grows while it is read
            above = int(self.tree.parent[v])
            children = range(*self.tree.first_child[[above, above + 1]])
            if above >= 0 and all((i, j, child) in found for child in children):
                found.add((i, j, above))
                waiting.append((i, j, above))
        return sorted(found)

    # prediction

    def best(
        self,
        problems: Sequence[Problem],
        presets: Sequence[Preset | None],
        top: Weights,
        automaton: PatternAutomaton,
        temperature: float,
    ) -> list[list[FoundSpan]]:
        """The best spans of each unit, in tokens of the unit.

        problems (Sequence[Problem]): At the top.
        presets (Sequence[Optional[Preset]]): What is preset in each, with the labels of
            the tree.
        top (Weights), automaton (PatternAutomaton): The component's own.
        temperature (float): See `HighOrderSemiCRF`.
        """
        if not problems:
            return []
        potentials = [x.potentials for x in problems]
        limits = [x.constraints for x in problems]
        others = [path for path, _ in viterbi_many(automaton, potentials, limits)]
        args = automaton, potentials, limits, others, self.settings.threshold
        candidates = top_candidates(*args)
        readings = Readings([top.rows_together([x.unit.tokens for x in problems])])
        leaf = self.tree.leaf
        # Others make a segmentation impossible: see `make_problem`.
        spans = [
            [
                (i, j, leaf[y])
                for i, j, y in (preset.spans if preset else ())
                if y in leaf and (i, j, automaton.labels.index(self._top[y])) in kept
            ]
            for preset, kept in zip(presets, others)
        ]
        solved = descend(
            self.weights,
            candidates,
            top.pattern / temperature,
            readings,
            Known(spans, None, [[] for _ in problems]),
            self.settings.threshold,
            1.0 / temperature,
        )
        return paths(solved, self.weights)


def surest(span: FoundSpan, least: Thresholds) -> tuple[str, float] | None:
    """The deepest name of a span that is probable enough.

    span (FoundSpan): Of a tree.
    least (Union[float, Dict[str, float]]): See `min_confidence`.
    RETURNS (Optional[Tuple[str, float]]): And its probability; None: not even the top.
    """
    for name, probability in reversed(span.path):
        if probability >= least_of(least, name):
            return name, probability
    return None


def _segments(
    automaton: PatternAutomaton, top: Weights, rows: Rows, size: int, gold: Gold
) -> Sequence[Segment]:
    """The gold, or the best that agrees with what is known of it."""
    if gold.segments is not None:
        return [(i, j, y) for i, j, y in gold.segments]
    return viterbi(automaton, top.potentials(rows, size), gold.constraints)[0]


def check_settings(settings: Mapping[str, Any], gazetteers: Mapping[str, Any]) -> None:
    """RAISES (ValueError): HS118 settings of the component that have no meaning for
    labels in a tree."""
    expected = {
        "encoding": "segments",
        "decoding": "viterbi",
        "label_rules": [],
        "observed_order": 0,
        "observed_patterns": [],
        "spans_threshold": None,
        "pattern_selection": "count",
    }
    for name, value in expected.items():
        found = settings[name]
        if found != value and not (value == [] and not found):
            raise ValueError(
                Errors.HS118.format(
                    expected=f"{name} = {value!r}", found=f"it is {found!r}"
                )
            )
    hard = [name for name, x in gazetteers.items() if x.label is not None]
    if hard:
        raise ValueError(
            Errors.HS118.format(
                expected='gazetteers without mode = "hard"', found=f"{hard} have it"
            )
        )
