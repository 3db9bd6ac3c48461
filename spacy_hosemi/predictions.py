"""From scored documents to what the component says of them, with labels or a tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, NamedTuple, Protocol

from spacy.tokens import Doc
from thinc.api import Model

from .answers import Distribution, OfSegments, spans_above
from .confidence import confidence_steps, span_probabilities
from .core import Marginals, PatternAutomaton
from .core.steps import Steps, finish
from .decoding import best_spans, impossible
from .hierarchy import Solved
from .labelling import Labelling
from .labels import LabelInventory, Span
from .leaves import Leaves, Path
from .model import weights_of
from .preset import read_preset
from .problems import NOTHING, Fixed, JointMarginals, Problem
from .refinement import Refinement, surest
from .thresholds import Thresholds, least_of
from .tree_answers import LeafMarginals, OfLeaves
from .weights import Weights


# Not frozen, as `Unit`.
@dataclass(slots=True)
class Prediction:
    """Spans of one document; probabilities where they were needed.

    listed (Optional[List[Tuple[Span, float]]]): What the span group has, if that is not
        the spans.
    paths (Optional[List[List[Tuple[str, Optional[float]]]]]): With labels in a tree, of
        each span the names from the top, and how probable each is, where that was
        needed.
    """

    spans: list[Span]
    scores: list[float] | None
    listed: list[tuple[Span, float]] | None = None
    paths: Sequence[Sequence[tuple[str, float | None]]] | None = None


class Wanted(NamedTuple):
    """What is asked for, see `HighOrderSemiCRF`.

    has_scores (bool): Whether probabilities of spans are, too.
    """

    decoding: str
    expected_f1: float | None
    spans_threshold: float | None
    min_confidence: Thresholds
    temperature: float
    has_scores: bool

    def needs_scores(self, fixed: Fixed) -> bool:
        """Whether probabilities of spans are computed at once: what is later would not
        know what is fixed."""
        return bool(fixed or self.has_scores or self.min_confidence)


class Predictor(Protocol):
    """What is said of documents, given the problems of each: its units with all scores,
    of the labels that it has or of the top of a tree."""

    def predictions(
        self, docs: Sequence[Doc], problems: Sequence[Sequence[Problem]], fixed: Fixed
    ) -> Steps[list[Prediction]]:
        """Spans of each document.

        fixed (Fixed): What a user has fixed, if it is one document.
        RAISES (ValueError): HS060 no segmentation is possible.
        """
        ...

    def distributions(
        self, doc: Doc, problems: Sequence[Problem]
    ) -> Sequence[Distribution]:
        """Of each unit of a document."""
        ...

    def marginals(
        self, doc: Doc, problems: Sequence[Problem]
    ) -> Marginals | JointMarginals | LeafMarginals:
        """Of a document."""
        ...

    def paths(
        self,
        doc: Doc,
        problems: Sequence[Problem],
        spans: Sequence[Sequence[Span]],
    ) -> list[list[Path]]:
        """How probable spans of each unit of a document are: the names from the top of
        the labels, and the probability of each."""
        ...


def make_predictor(
    wanted: Wanted,
    labelling: Labelling,
    leaves: Leaves | None,
    model: Model[list[Doc], Any],
    name: str,
) -> Predictor:
    """The one for these labels.

    wanted (Wanted), labelling (Labelling), leaves (Optional[Leaves]), model (Model),
        name (str): Of the component, as they are now.
    """
    tree, cfg = labelling.tree, labelling.cfg
    if leaves is not None:
        at_leaves = _OfLabels(wanted, leaves.automaton, leaves.inventory, cfg)
        return _OfLeaves(at_leaves, leaves)
    if isinstance(tree, Refinement) and tree.is_needed:
        return _OfTree(wanted, labelling, weights_of(model), tree, name)
    return _OfLabels(wanted, labelling.automaton, labelling.inventory, cfg)


# Tuples, since one is made for each call, and of all classes they are made fastest.


class _OfLabels(NamedTuple):
    """Without a tree: what is said is that of the problems themselves."""

    wanted: Wanted
    automaton: PatternAutomaton
    inventory: LabelInventory
    cfg: Mapping[str, Any]

    def predictions(
        self, docs: Sequence[Doc], problems: Sequence[Sequence[Problem]], fixed: Fixed
    ) -> Steps[list[Prediction]]:
        """See `Predictor`."""
        wanted, found = self.wanted, (yield from self.solve(problems))
        spans = [[span for of_unit in of_doc for span in of_unit] for of_doc in found]
        listed = [self.listed(of_doc) for of_doc in problems]
        if not wanted.needs_scores(fixed):
            return [Prediction(x, None, more) for x, more in zip(spans, listed)]
        flat = [*chain(*problems)], [*chain(*found)]
        args = self.automaton, self.inventory
        of_units = iter((yield from confidence_steps(*flat, *args)))
        scores = [[*chain(*islice(of_units, len(of_doc)))] for of_doc in problems]
        return [self._confident(*of_doc) for of_doc in zip(spans, scores, listed)]

    def distributions(self, doc: Doc, problems: Sequence[Problem]) -> list[OfSegments]:
        """See `Predictor`."""
        args = self.automaton, self.inventory
        return [OfSegments(problem, *args) for problem in problems]

    def marginals(
        self, doc: Doc, problems: Sequence[Problem]
    ) -> Marginals | JointMarginals:
        """See `Predictor`."""
        found = [problem.marginals(self.automaton) for problem in problems]
        return found[0] if self.cfg["scope"] == "doc" else JointMarginals(found)

    def paths(
        self, doc: Doc, problems: Sequence[Problem], spans: Sequence[Sequence[Span]]
    ) -> list[list[Path]]:
        """See `Predictor`."""
        args = self.automaton, self.inventory
        probs = span_probabilities(problems, spans, *args)
        return [
            [[(label, p)] for (*_, label), p in zip(*of_unit)]
            for of_unit in zip(spans, probs)
        ]

    def solve(
        self, problems: Sequence[Sequence[Problem]]
    ) -> Steps[list[list[list[Span]]]]:
        """RETURNS (List[List[List[Tuple[int, int, str]]]]): Of each unit of each
        document, in tokens of the document."""
        flat = [problem for of_doc in problems for problem in of_doc]
        inventory, wanted = self.inventory, self.wanted
        args = self.automaton, inventory, wanted.decoding, wanted.expected_f1
        solved = []
        for problem, spans in zip(flat, (yield from best_spans(flat, *args))):
            if spans is None:
                raise impossible(problem, inventory, self.cfg)
            solved.append(spans)
        of_units = iter(solved)
        return [list(islice(of_units, len(of_doc))) for of_doc in problems]

    def listed(self, problems: Sequence[Problem]) -> list[tuple[Span, float]] | None:
        """RETURNS (Optional[List[Tuple[Span, float]]]): See `Prediction`."""
        if self.wanted.spans_threshold is None:
            return None
        args = self.automaton, self.inventory
        some = [OfSegments(x, *args) for x in problems if len(x.unit.tokens)]
        return spans_above(some, self.wanted.spans_threshold)

    def _confident(
        self,
        spans: Sequence[Span],
        scores: Sequence[float],
        listed: list[tuple[Span, float]] | None,
    ) -> Prediction:
        least = (least_of(self.wanted.min_confidence, label) for *_, label in spans)
        kept = [i for i, pair in enumerate(zip(scores, least)) if pair[0] >= pair[1]]
        return Prediction([spans[i] for i in kept], [scores[i] for i in kept], listed)


class _OfLeaves(NamedTuple):
    """With few labels in a tree: all of them at once, and what is above them."""

    of_labels: _OfLabels
    leaves: Leaves

    def predictions(
        self, docs: Sequence[Doc], problems: Sequence[Sequence[Problem]], fixed: Fixed
    ) -> Steps[list[Prediction]]:
        """See `Predictor`."""
        found = yield from self.of_labels.solve(problems)
        listed = [self.of_labels.listed(of_doc) for of_doc in problems]
        if not self.of_labels.wanted.needs_scores(fixed):
            unknown = self.leaves.unknown
            spans = [
                [span for of_unit in of_doc for span in of_unit] for of_doc in found
            ]
            return [
                Prediction(x, None, more, [unknown[label] for *_, label in x])
                for x, more in zip(spans, listed)
            ]
        flat = [*chain(*problems)], [*chain(*found)]
        of_units = iter((yield from self._path_steps(*flat)))
        return [
            self._confident(
                [*chain(*spans)], [*chain(*islice(of_units, len(spans)))], more, fixed
            )
            for spans, more in zip(found, listed)
        ]

    def distributions(self, doc: Doc, problems: Sequence[Problem]) -> list[OfSegments]:
        """See `Predictor`."""
        return self.of_labels.distributions(doc, problems)

    def marginals(
        self, doc: Doc, problems: Sequence[Problem]
    ) -> Marginals | JointMarginals:
        """See `Predictor`."""
        return self.of_labels.marginals(doc, problems)

    def paths(
        self, doc: Doc, problems: Sequence[Problem], spans: Sequence[Sequence[Span]]
    ) -> list[list[Path]]:
        """See `Predictor`."""
        return finish(self._path_steps(problems, spans))

    def _path_steps(
        self, problems: Sequence[Problem], spans: Sequence[Sequence[Span]]
    ) -> Steps[list[list[Path]]]:
        """As `paths`; units may be of several documents. What is kept is sure as far
        down as its name says."""
        families = [[self.leaves.family(x) for x in of_unit] for of_unit in spans]
        asked = [[*chain(*of_unit)] for of_unit in families]
        args = self.of_labels.automaton, self.of_labels.inventory
        probs = iter(chain(*(yield from confidence_steps(problems, asked, *args))))
        found = []
        for problem, some, of_unit in zip(problems, spans, families):
            low = problem.unit.start
            kept = {(i + low, j + low): name for i, j, name in problem.fixed.keep}
            found.append(
                [
                    self.leaves.path(
                        label, [*islice(probs, len(family))], kept.get((start, end))
                    )
                    for (start, end, label), family in zip(some, of_unit)
                ]
            )
        return found

    def _confident(
        self,
        spans: Sequence[Span],
        paths: Sequence[Path],
        listed: list[tuple[Span, float]] | None,
        fixed: Fixed,
    ) -> Prediction:
        found, least = [], self.of_labels.wanted.min_confidence
        for (start, end, _), path in zip(spans, paths):
            if name := surest((start, end), path, least, fixed):
                found.append(((start, end, name[0]), name[1], path))
        return Prediction(
            [span for span, _, _ in found],
            [p for _, p, _ in found],
            listed,
            [path for _, _, path in found],
        )


class _OfTree(NamedTuple):
    """With labels in a tree: what is said is that of its last level."""

    wanted: Wanted
    labelling: Labelling
    weights: Weights
    tree: Refinement
    name: str

    def predictions(
        self, docs: Sequence[Doc], problems: Sequence[Sequence[Problem]], fixed: Fixed
    ) -> Steps[list[Prediction]]:
        """See `Predictor`."""
        yield from ()  # all of it needs the GIL now and then
        solved, known = self._solve(docs, problems, fixed)
        args = solved, known, self.wanted.decoding, self.wanted.expected_f1
        found = iter(self.tree.best(*args))
        units = iter(self._of_leaves(problems, solved))
        predictions, least = [], self.wanted.min_confidence
        for of_doc in problems:
            spans, scores, all_paths = [], [], []
            for problem in of_doc:
                preset, low = problem.preset, problem.unit.start
                for span in next(found):
                    if preset and not preset.is_free((span.start, span.end, "")):
                        continue
                    place = span.start + low, span.end + low
                    if name := surest(place, span.path, least, fixed):
                        spans.append((*place, name[0]))
                        scores.append(name[1])
                        all_paths.append(span.path)
            listed = None
            own = [*islice(units, len(of_doc))]
            if self.wanted.spans_threshold is not None:
                listed = spans_above(own, self.wanted.spans_threshold)
            predictions.append(Prediction(spans, scores, listed, all_paths))
        return predictions

    def distributions(self, doc: Doc, problems: Sequence[Problem]) -> list[OfLeaves]:
        """See `Predictor`."""
        solved, _ = self._solve([doc], [problems], NOTHING)
        return self._of_leaves([problems], solved)

    def marginals(self, doc: Doc, problems: Sequence[Problem]) -> LeafMarginals:
        """See `Predictor`."""
        of_units = self.distributions(doc, problems)
        return LeafMarginals(of_units, self.labelling.cfg["labels"], len(doc))

    def paths(
        self, doc: Doc, problems: Sequence[Problem], spans: Sequence[Sequence[Span]]
    ) -> list[list[Path]]:
        """See `Predictor`."""
        units = self.distributions(doc, problems)
        return [[unit.path(x) for x in some] for unit, some in zip(units, spans)]

    def _solve(
        self, docs: Sequence[Doc], problems: Sequence[Sequence[Problem]], fixed: Fixed
    ) -> tuple[Solved, list[Fixed]]:
        """The last level of the tree, and what is fixed in each unit."""
        flat, presets, known = [], [], []
        for doc, of_doc in zip(docs, problems):
            preset = read_preset(doc, self.name)
            for problem in of_doc:
                start, end = problem.unit.start, problem.unit.end
                flat.append(problem)
                known.append(fixed.part(start, end))
                part = preset and preset.part(start, end)
                presets.append(part and part.beside(known[-1]))
        cfg, automaton = self.labelling.cfg, self.labelling.automaton
        args = self.weights, automaton, self.wanted.temperature, cfg["outside"]
        return self.tree.solved(flat, presets, known, *args), known

    def _of_leaves(
        self, problems: Sequence[Sequence[Problem]], solved: Solved
    ) -> list[OfLeaves]:
        """The distribution of each unit."""
        flat = [problem.unit for of_doc in problems for problem in of_doc]
        tree = self.tree.tree
        return [OfLeaves(x, solved, d, tree) for d, x in enumerate(flat)]
