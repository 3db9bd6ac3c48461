"""Decoders for labels in a tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from spacy.tokens import Doc
from thinc.api import Model

from ..core import Marginals
from ..core.parallel.coroutines import Steps, finish
from ..labels.inventory import Span
from ..labels.label_schema import LabelSchema
from ..labels.partial import NOTHING, Fixed
from ..labels.projection import Flat
from ..model.span_scorer import weights_of
from ..model.weights.shim import Weights
from ..prediction.answers import OfSegments, spans_above
from ..prediction.decoder import Prediction, Predictor, Wanted, _OfLabels
from ..prediction.existing_entities import read_preset
from ..prediction.posterior import confidence_steps
from ..prediction.problem import JointMarginals, Problem
from ..prediction.thresholds import Thresholds, least_of
from .answers import LeafMarginals, OfLeaves
from .coarse_to_fine import Solved
from .flatten import Leaves, Path
from .projection import Refinement


def make_predictor(
    wanted: Wanted,
    schema: LabelSchema,
    tree: Flat,
    cfg: Mapping[str, Any],
    leaves: Leaves | None,
    model: Model[list[Doc], Any],
    name: str,
) -> Predictor:
    """The one for these labels.

    wanted (Wanted), schema (LabelSchema), tree (Flat), cfg (Mapping), leaves
        (Optional[Leaves]), model (Model), name (str): Of the component as it is now.
    """
    if leaves is not None:
        at_leaves = _OfLabels(wanted, leaves.automaton, leaves.inventory, cfg)
        return _OfLeaves(at_leaves, leaves)
    if isinstance(tree, Refinement) and tree.is_needed:
        return _OfTree(wanted, schema, weights_of(model), tree, name)
    return _OfLabels(wanted, schema.automaton, schema.inventory, cfg)


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
                [span for of_instance in of_doc for span in of_instance]
                for of_doc in found
            ]
            return [
                Prediction(x, None, more, [unknown[label] for *_, label in x])
                for x, more in zip(spans, listed)
            ]
        flat = [*chain(*problems)], [*chain(*found)]
        of_instances = iter((yield from self._path_steps(*flat)))
        return [
            self._confident(
                [*chain(*spans)],
                [*chain(*islice(of_instances, len(spans)))],
                more,
                fixed,
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
        """As `paths`, for instances of one document or several. What is kept is sure
        as far down as its name says."""
        families = [
            [self.leaves.family(x) for x in of_instance] for of_instance in spans
        ]
        asked = [[*chain(*of_instance)] for of_instance in families]
        args = self.of_labels.automaton, self.of_labels.inventory
        probs = iter(chain(*(yield from confidence_steps(problems, asked, *args))))
        found = []
        for problem, some, of_instance in zip(problems, spans, families):
            low = problem.instance.start
            kept = {(i + low, j + low): name for i, j, name in problem.fixed.keep}
            found.append(
                [
                    self.leaves.path(
                        label, [*islice(probs, len(family))], kept.get((start, end))
                    )
                    for (start, end, label), family in zip(some, of_instance)
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
    schema: LabelSchema
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
        instances = iter(self._of_leaves(problems, solved))
        predictions, least = [], self.wanted.min_confidence
        for of_doc in problems:
            spans, scores, all_paths = [], [], []
            for problem in of_doc:
                preset, low = problem.preset, problem.instance.start
                for span in next(found):
                    if preset and not preset.is_free((span.start, span.end, "")):
                        continue
                    place = span.start + low, span.end + low
                    if name := surest(place, span.path, least, fixed):
                        spans.append((*place, name[0]))
                        scores.append(name[1])
                        all_paths.append(span.path)
            listed = None
            own = [*islice(instances, len(of_doc))]
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
        of_instances = self.distributions(doc, problems)
        return LeafMarginals(of_instances, list(self.schema.labels), len(doc))

    def paths(
        self, doc: Doc, problems: Sequence[Problem], spans: Sequence[Sequence[Span]]
    ) -> list[list[Path]]:
        """See `Predictor`."""
        instances = self.distributions(doc, problems)
        return [
            [instance.path(x) for x in some] for instance, some in zip(instances, spans)
        ]

    def _solve(
        self, docs: Sequence[Doc], problems: Sequence[Sequence[Problem]], fixed: Fixed
    ) -> tuple[Solved, list[Fixed]]:
        """The last level of the tree, and what is fixed in each instance."""
        flat, presets, known = [], [], []
        for doc, of_doc in zip(docs, problems):
            preset = read_preset(doc, self.name)
            for problem in of_doc:
                start, end = problem.instance.start, problem.instance.end
                flat.append(problem)
                known.append(fixed.part(start, end))
                part = preset and preset.part(start, end)
                presets.append(part and part.beside(known[-1]))
        schema, temperature = self.schema, self.wanted.temperature
        args = self.weights, schema.automaton, temperature, schema.outside
        return self.tree.solved(flat, presets, known, *args), known

    def _of_leaves(
        self, problems: Sequence[Sequence[Problem]], solved: Solved
    ) -> list[OfLeaves]:
        """The distribution of each instance."""
        flat = [problem.instance for of_doc in problems for problem in of_doc]
        tree = self.tree.tree
        return [OfLeaves(x, solved, d, tree) for d, x in enumerate(flat)]


def surest(
    place: tuple[int, int],
    path: Sequence[tuple[str, float]],
    least: Thresholds,
    fixed: Fixed = NOTHING,
) -> tuple[str, float] | None:
    """The deepest name of a span that is probable enough.

    place (Tuple[int, int]): Of the span, in tokens of the document.
    path (Sequence[Tuple[str, float]]): Names from the top.
    least (Union[float, Dict[str, float]]): See `min_confidence`.
    fixed (Fixed): A label that is forbidden there may be above another one, too.
    RETURNS (Optional[Tuple[str, float]]): And its probability; None: not even the top.
    """
    for name, probability in reversed(path):
        is_sure = probability >= least_of(least, name)
        if is_sure and not fixed.forbids((*place, name)):
            return name, probability
    return None
