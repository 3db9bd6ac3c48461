"""The labels of a tree, as the component meets them: its top, and what is below."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example

from ..core import PatternAutomaton, Potentials, viterbi, viterbi_many
from ..errors import Errors
from ..labels.alignment import scored_entities
from ..labels.gold import Gold, check_known
from ..labels.inventory import LabelInventory, Span
from ..labels.partial import Annotation, AnySpan, Fixed, Preset
from ..labels.projection import Flat
from ..model.active_features import Rows
from ..model.weights.pairs import Pairs
from ..model.weights.shim import Weights
from ..prediction.problem import Problem
from ..training.progress import watched
from .candidates import Known, Place, top_candidates
from .coarse_to_fine import FoundSpan, Hierarchy, Readings, Solved, descend, paths
from .flatten import Leaves, can_be_flat, leaf_automaton, leaf_weights
from .mbr import mbr_spans
from .mining import mine_levels, mine_nodes
from .trainer import _NO_ROWS, LevelBatch, _given, _keys, train_levels
from .tree import LabelTree, split_labels
from .weights import LevelWeights


class Refinement(Flat):
    """Labels below those that the component itself segments with; where there are none,
    what `Flat` says.

    settings (Hierarchy): Of the component.
    weights (LevelWeights): In its model.
    RAISES (ValueError): HS118 other settings.
    """

    takes_labels = False
    weights: LevelWeights

    def __init__(self, settings: Hierarchy, weights: LevelWeights) -> None:
        if not isinstance(settings, Hierarchy):
            expected, found = "spacy_hosemi.hierarchy.v1", f"it is {settings!r}"
            raise ValueError(Errors.HS118.format(expected=expected, found=found))
        self.settings = settings
        self.needs_parents = settings.separator is None
        self.weights = weights
        self.tree = LabelTree([], {})
        # Of the weights of these versions.
        self._leaves: tuple[object, object, Leaves | None] = None, None, None

    def __getstate__(self) -> dict[str, Any]:
        """What is copied: what follows from the weights is made anew."""
        return {**self.__dict__, "_leaves": (None, None, None)}

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
        self.names = [*self._top]
        return self.tree.top

    # from labels to those of the top

    def at_top(self, spans: Iterable[Span]) -> list[Span]:
        """RETURNS (List[Tuple[int, int, str]]): With the names at the top."""
        return [(i, j, self._top[label]) for i, j, label in spans]

    def check(self, annotation: Annotation, doc: Doc, name: str) -> None:
        """RAISES (ValueError): HS041, HS094, with the labels of the tree."""
        check_known(annotation, self.tree.leaf, doc, name)

    def annotation_at_top(self, annotation: Annotation) -> Annotation:
        """RETURNS (Annotation): The same; wrong are those no label of which is left."""
        wrong = self._ruled_out_at_top(annotation.incorrect)
        at_top = self.at_top(annotation.spans)
        return Annotation(at_top, annotation.is_missing, wrong)

    def limits_at_top(
        self, presets: list[Preset | None], fixed: Fixed
    ) -> tuple[list[Preset | None], Fixed]:
        """RETURNS (Tuple[List[Optional[Preset]], Fixed]): What is preset beside what is
        fixed; forbidden are spans no label of which is left."""
        beside = (preset and preset.beside(fixed) for preset in presets)
        whole = [x for x in fixed.forbid if x[2] is None]
        wrong = self._ruled_out_at_top(_named(fixed.forbid))
        kept = tuple(self.at_top(fixed.keep))
        at_top = [preset and self._preset_at_top(preset) for preset in beside]
        return at_top, Fixed(kept, (*whole, *wrong))

    def _preset_at_top(self, preset: Preset) -> Preset:
        """Where a label is not in the tree, the tokens are taken, and that is all."""
        known = [span for span in preset.spans if span[2] in self._top]
        return replace(preset, spans=self.at_top(known))

    def at_leaves(self, fixed: Fixed) -> Fixed:
        """RETURNS (Fixed): The same; forbidden with a name are all labels below it, and
        with all labels below it a name is.

        RAISES (ValueError): HS098 a span is both kept and forbidden.
        """
        forbid: list[AnySpan] = []
        for i, j, name in fixed.forbid:
            node = None if name is None else self.tree.node_of(name)
            names = [name] if node is None else self.tree.leaves(node)
            forbid += [(i, j, label) for label in names]
        forbid += [
            (i, j, name)
            for i, j, v in self._ruled_out(_named(forbid))
            for name, u in self.tree.path(v)
            if u == v
        ]
        found = Fixed(fixed.keep, tuple(dict.fromkeys(forbid)))
        for span in filter(found.forbids, found.keep):
            raise ValueError(Errors.HS098.format(found=span))
        return found

    # training

    def clear(self) -> None:
        """Forget all weights below the top."""
        self.weights.allocate([], [])

    def connect(self, automaton: PatternAutomaton) -> None:
        """What follows from the automaton of the top."""
        if self.is_needed and self.weights.pairs:
            self.weights.connect(self.tree, automaton)

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
        if not self.is_needed:
            return
        known = [
            (len(doc), spans)
            for doc, spans, gold in zip(docs, self._places(annotations), golds)
            if gold.segments is not None
        ]
        self.weights.allocate(
            self._pairs(top, docs, annotations),
            mine_levels(self.tree, known, outside, **settings),
        )
        self.weights.mined.update(_keys(top, docs, annotations))

    def grow(
        self, top: Weights, docs: Sequence[Doc], annotations: Sequence[Annotation]
    ) -> None:
        """Weights of 0 for what documents of an update bring: those met first, or with
        other spans than before, or before some of their features had weights."""
        # known documents, too: their annotation may be new
        if not self.is_needed or not top.grows:
            return
        mined, keys = self.weights.mined, _keys(top, docs, annotations)
        new = [k for k, key in enumerate(keys) if key not in mined]
        if new:
            args = [docs[k] for k in new], [annotations[k] for k in new]
            self.weights.add_pairs(self._pairs(top, *args))
        mined.update(keys)

    def _pairs(
        self, top: Weights, docs: Sequence[Doc], annotations: Sequence[Annotation]
    ) -> list[Pairs]:
        shown = watched(docs, "Reading features")
        rows = [top.rows(doc, is_train=True) for doc in shown]
        n_known = sum(len(x.columns) for x in self.weights.pairs)
        args = self.tree, len(top.table), n_known
        return mine_nodes(rows, self._places(annotations), *args)

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
        if not self.is_needed:
            return
        given = _given(docs, annotations, golds)
        rows = [top.rows(docs[k], is_train=True) for k in given]

        def score(k: int) -> Potentials:
            return top.potentials(rows[k], len(docs[given[k]]))

        known = [(annotations[k], golds[k]) for k in given]
        self._train(fit, top, automaton, rows, known, score)

    def accumulate(
        self,
        top: Weights,
        automaton: PatternAutomaton,
        docs: Sequence[Doc],
        annotations: Sequence[Annotation],
        golds: Sequence[Gold],
        potentials: Sequence[Potentials],
    ) -> float:
        """Add the gradient of all levels below the top, for the next step.

        potentials (Sequence[Potentials]): Of the top, of each document.
        RETURNS (float): The summed loss of these levels, in nats.
        """
        if not self.is_needed:
            return 0.0
        given = _given(docs, annotations, golds)
        rows = [top.rows(docs[k], is_train=True) for k in given]
        fired = [_NO_ROWS, *(part for x in rows for part in x.fired)]
        touched = np.unique(np.concatenate(fired))
        loss = 0.0

        def visit(batch: LevelBatch) -> None:
            nonlocal loss
            loss += batch.accumulate(touched, len(given))

        known = [(annotations[k], golds[k]) for k in given]
        found = [potentials[k] for k in given]
        self._train(visit, top, automaton, rows, known, found.__getitem__)
        return loss

    def _train(
        self,
        visit: Callable[[Any], None],
        top: Weights,
        automaton: PatternAutomaton,
        rows: Sequence[Rows],
        known: Sequence[tuple[Annotation, Gold]],
        score: Callable[[int], Potentials],
    ) -> None:
        """Visit all levels below the top.

        rows, known (Sequence[Rows], Sequence[Tuple[Annotation, Gold]]): Of documents.
        score (Callable): Gives the potentials of the document of this index.
        """
        others = [
            # the gold, or the best that agrees with what is known of it
            [(i, j, y) for i, j, y in gold.segments]
            if gold.segments is not None
            else viterbi(automaton, score(k), gold.constraints)[0]
            for k, (_, gold) in enumerate(known)
        ]
        annotations = [annotation for annotation, _ in known]
        held = Known(
            self._places(annotations),
            [x.is_missing for x in annotations],
            [self._ruled_out(x.incorrect) for x in annotations],
        )
        candidates = top_candidates(
            automaton,
            (score(k) for k in range(len(rows))),
            repeat(None),
            others,
            self.settings.threshold,
        )
        args = candidates, top.pattern, Readings(rows), held, self.settings
        train_levels(visit, self.weights, top, *args)

    def check_prunable(self) -> None:
        """RAISES (ValueError): HS118 rows of the top are those of the levels."""
        if self.is_needed and self.weights.pairs:
            expected, found = "all features of the top", "this is prune"
            raise ValueError(Errors.HS118.format(expected=expected, found=found))

    def _places(self, annotations: Iterable[Annotation]) -> list[list[Place]]:
        leaf = self.tree.leaf
        return [[(i, j, leaf[y]) for i, j, y in x.spans] for x in annotations]

    def _ruled_out(self, spans: Iterable[Span]) -> list[Place]:
        """Leaves of spans that are none, and nodes all of whose children are such."""
        leaf = self.tree.leaf
        found = {(i, j, leaf[y]) for i, j, y in spans if y in leaf}
        waiting = [*found]
        for i, j, v in waiting:  # grows while it is read
            above = int(self.tree.parent[v])
            children = range(*self.tree.first_child[[above, above + 1]])
            if above >= 0 and all((i, j, child) in found for child in children):
                found.add((i, j, above))
                waiting.append((i, j, above))
        return sorted(found)

    def _ruled_out_at_top(self, spans: Iterable[Span]) -> list[Span]:
        """Those no label of which is left."""
        found, tree = self._ruled_out(spans), self.tree
        return [(i, j, tree.names[v]) for i, j, v in found if tree.level[v] == 1]

    # evaluation

    def of_scorer(self, examples: Iterable[Example]) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): The tree. Labels that training did not have stand
        below what their names say, too."""
        if not self.is_needed:
            return {}
        parents, separator = self.parents, self.settings.separator
        if separator is not None:
            labels = {y for eg in examples for *_, y in scored_entities(eg)[1]}
            parents = {**split_labels(labels, separator), **parents}
        return {"tree": parents}

    # prediction

    def leaves(
        self, top: Weights, labels: Sequence[str], outside: str
    ) -> Leaves | None:
        """The leaves as labels without a tree, where there are few of them; made when
        they are first asked for, and again when weights have changed.

        top (Weights): The component's own.
        labels (Sequence[str]), outside (str): See `LabelInventory`.
        RETURNS (Optional[Leaves]): None: prediction goes level by level.
        """
        if not self.is_needed or len(labels) > self.settings.exact_up_to:
            return None
        of_top, of_levels, found = self._leaves
        if of_top is not top.version or of_levels is not self.weights.version:
            known, found = found.automaton if found else None, None
            if can_be_flat(top, self.weights):
                args = self.tree, labels, outside
                automaton = leaf_automaton(self.weights, labels, known)
                weights = leaf_weights(top, self.weights, labels)
                found = Leaves(*args, automaton, weights)
            self._leaves = top.version, self.weights.version, found
        return found

    def solved(
        self,
        problems: Sequence[Problem],
        presets: Sequence[Preset | None],
        fixed: Sequence[Fixed],
        top: Weights,
        automaton: PatternAutomaton,
        temperature: float,
        outside: str,
    ) -> Solved:
        """The last level of instances.

        problems (Sequence[Problem]): At the top.
        presets (Sequence[Optional[Preset]]), fixed (Sequence[Fixed]): What is preset
            and what is fixed in each, with the labels of the tree.
        top (Weights), automaton (PatternAutomaton): The component's own.
        temperature (float), outside (str): See `HighOrderSemiCRF`.
        """
        potentials = [x.potentials for x in problems]
        limits = [x.constraints for x in problems]
        others = [path for path, _ in viterbi_many(automaton, potentials, limits)]
        args = automaton, potentials, limits, others, self.settings.threshold
        candidates = top_candidates(*args)
        docs = [x.instance.tokens for x in problems]
        readings = Readings([top.rows_together(docs)] if docs else [])
        index = {name: y for y, name in enumerate(automaton.labels)}
        # Others make a segmentation impossible: see `make_problem`.
        spans = [
            [
                (i, j, node)
                for i, j, y in (*(preset.spans if preset else ()), *known.keep)
                for node in [self.tree.node_of(y)]
                if node is not None and (i, j, index[self._top[y]]) in kept
            ]
            for preset, known, kept in zip(presets, fixed, others)
        ]
        wrong = [self._ruled_out(_named(known.forbid)) for known in fixed]
        solved = descend(
            self.weights,
            candidates,
            top.pattern / temperature,
            readings,
            Known(spans, None, wrong),
            self.settings.threshold,
            1.0 / temperature,
        )
        is_open = [np.ones(len(doc), bool) for doc in docs]
        for of_instance, kept in zip(is_open, spans):
            for i, j, _ in kept:
                of_instance[i:j] = False
        if outside == "none" or not docs:
            return solved
        return replace(solved, is_open=np.concatenate(is_open))

    def best(
        self,
        solved: Solved,
        fixed: Sequence[Fixed],
        decoding: str,
        expected_f1: float | None,
    ) -> list[list[FoundSpan]]:
        """The best spans of each instance, in tokens of the instance; of what is kept
        the names down to the one that it is kept with are sure.

        solved (Solved), fixed (Sequence[Fixed]): See `solved`.
        decoding (str), expected_f1 (Optional[float]): See `HighOrderSemiCRF`.
        """
        is_mbr = decoding == "mbr"
        spans = mbr_spans(solved, expected_f1) if is_mbr else solved.best_spans
        found = paths(solved, spans, self.tree)
        for of_instance, known in zip(found, fixed):
            kept = {(i, j): name for i, j, name in known.keep}
            for k, span in enumerate(of_instance):
                name = kept.get((span.start, span.end))
                if n_sure := self.tree.n_sure(span.label, name):
                    sure = [(name, 1.0) for name, _ in span.path[:n_sure]]
                    of_instance[k] = replace(span, path=sure + span.path[n_sure:])
        return found


def _named(forbid: Iterable[AnySpan]) -> list[Span]:
    return [(i, j, label) for i, j, label in forbid if label is not None]
