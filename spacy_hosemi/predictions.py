"""From scored documents to what the component says of them, with labels or a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, NamedTuple, Protocol

from spacy.tokens import Doc
from thinc.api import Model

from .answers import Distribution, OfSegments, spans_above
from .confidence import confidence_steps
from .core import Marginals
from .core.steps import Steps
from .decoding import best_spans, impossible
from .hierarchy import Solved
from .labelling import Labelling
from .labels import Span
from .model import weights_of
from .preset import read_preset
from .problems import NOTHING, Fixed, JointMarginals, Problem
from .refinement import Refinement, surest
from .thresholds import Thresholds, least_of
from .tree_answers import LeafMarginals, OfLeaves
from .units import shift
from .weights import Weights


# Not frozen, as `Unit`.
@dataclass(slots=True)
class Prediction:
    """Spans of one document; probabilities where they were needed.

    listed (Optional[List[Tuple[Span, float]]]): What the span group has, if that is not
        the spans.
    paths (Optional[List[List[Tuple[str, float]]]]): With labels in a tree, of each span
        the names from the top, and how probable each is.
    """

    spans: list[Span]
    scores: list[float] | None
    listed: list[tuple[Span, float]] | None = None
    paths: list[list[tuple[str, float]]] | None = None


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


class Predictor(Protocol):
    """What is said of documents, given the problems of each: its units with all scores
    at the top of the labels."""

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


def make_predictor(
    wanted: Wanted, labelling: Labelling, model: Model[list[Doc], Any], name: str
) -> Predictor:
    """The one for these labels.

    wanted (Wanted), labelling (Labelling), model (Model), name (str): Of the component,
        as they are now.
    """
    tree = labelling.tree
    if isinstance(tree, Refinement) and tree.is_needed:
        return _OfTree(wanted, labelling, weights_of(model), tree, name)
    return _OfLabels(wanted, labelling)


# Tuples, since one is made for each call, and of all classes they are made fastest.


class _OfLabels(NamedTuple):
    """Without a tree: what is said is that of the problems themselves."""

    wanted: Wanted
    labelling: Labelling

    def predictions(
        self, docs: Sequence[Doc], problems: Sequence[Sequence[Problem]], fixed: Fixed
    ) -> Steps[list[Prediction]]:
        """See `Predictor`."""
        wanted, found = self.wanted, (yield from self._solve(problems))
        spans = [[span for of_unit in of_doc for span in of_unit] for of_doc in found]
        listed = [self._listed(of_doc) for of_doc in problems]
        # What is computed later would not know what is fixed.
        if not (fixed or wanted.has_scores or wanted.min_confidence):
            return [Prediction(x, None, more) for x, more in zip(spans, listed)]
        args = self.labelling.automaton, self.labelling.inventory
        flat = [*chain(*problems)], [*chain(*found)]
        of_units = iter((yield from confidence_steps(*flat, *args)))
        scores = [[*chain(*islice(of_units, len(of_doc)))] for of_doc in problems]
        return [self._confident(*of_doc) for of_doc in zip(spans, scores, listed)]

    def distributions(self, doc: Doc, problems: Sequence[Problem]) -> list[OfSegments]:
        """See `Predictor`."""
        args = self.labelling.automaton, self.labelling.inventory
        return [OfSegments(problem, *args) for problem in problems]

    def marginals(
        self, doc: Doc, problems: Sequence[Problem]
    ) -> Marginals | JointMarginals:
        """See `Predictor`."""
        found = [problem.marginals(self.labelling.automaton) for problem in problems]
        is_whole = self.labelling.cfg["scope"] == "doc"
        return found[0] if is_whole else JointMarginals(found)

    def _solve(
        self, problems: Sequence[Sequence[Problem]]
    ) -> Steps[list[list[list[Span]]]]:
        """RETURNS (List[List[List[Tuple[int, int, str]]]]): Of each unit of each
        document, in tokens of the document."""
        flat = [problem for of_doc in problems for problem in of_doc]
        inventory, wanted = self.labelling.inventory, self.wanted
        args = self.labelling.automaton, inventory, wanted.decoding, wanted.expected_f1
        solved = []
        for problem, spans in zip(flat, (yield from best_spans(flat, *args))):
            if spans is None:
                raise impossible(problem, inventory, self.labelling.cfg)
            solved.append(spans)
        of_units = iter(solved)
        return [list(islice(of_units, len(of_doc))) for of_doc in problems]

    def _listed(self, problems: Sequence[Problem]) -> list[tuple[Span, float]] | None:
        if self.wanted.spans_threshold is None:
            return None
        args = self.labelling.automaton, self.labelling.inventory
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
        predictions = []
        for of_doc in problems:
            spans, scores, all_paths = [], [], []
            for problem in of_doc:
                for span in next(found):
                    name = surest(span, self.wanted.min_confidence)
                    place = span.start, span.end
                    preset = problem.preset
                    if name and not (preset and not preset.is_free((*place, ""))):
                        spans += shift([(*place, name[0])], problem.unit.start)
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
