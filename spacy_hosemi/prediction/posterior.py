"""Posteriors: the distribution over segmentations that decoding a document leaves."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from spacy.tokens import Doc

from ..core import Marginals, PatternAutomaton, entropy, kbest, log_partition
from ..core.algorithms.marginals import marginal_steps
from ..core.algorithms.segment_probabilities import probability_steps
from ..core.parallel.coroutines import Steps, finish
from ..features.instances import Instance, shift
from ..labels.constraints import names_of
from ..labels.inventory import LabelInventory, Span
from ..labels.whitespace import before_trimming, read_segments
from .problem import JointMarginals, LazyProblem, LazyProblems, Problem
from .whole import log_probability

if TYPE_CHECKING:
    from .decoder import FlatDecoder

# Of all spans of a document at most this many are listed for each token, and in all.
LISTED_PER_TOKEN, LISTED = 20, 1000

Option = tuple[float, Any]  # log probability, and what has it

# The names from the top of a label tree to a label, with the posterior of each; without
# a tree the label alone.
Path = Sequence[tuple[str, float | None]]


def max_listed(n_tokens: int) -> int:
    """RETURNS (int): How many spans of a document of n tokens are listed at most. With
    p >= 1 / LISTED_PER_TOKEN there are never more: the probabilities of all spans that
    begin at one token sum up to 1 at most."""
    return max(LISTED, LISTED_PER_TOKEN * n_tokens)


class Part(Protocol):
    """What is known of one instance."""

    @property
    def instance(self) -> Instance: ...


class InstancePosterior(Part, Protocol):
    """Over the segmentations of one instance; spans are in tokens of its document."""

    def most_probable(self, k: int) -> list[Option]:
        """RETURNS (List[Tuple[float, Tuple[Span, ...]]]): Log probability and spans of
        the k most probable segmentations, best first; no two have the same spans.

        RAISES (ValueError): HS060 no segmentation is possible.
        """
        ...

    def entropy(self) -> float:
        """RETURNS (float): In nats. RAISES (ValueError): As `most_probable`."""
        ...

    def spans_above(self, p: float) -> list[tuple[Span, float]]:
        """RETURNS (List[Tuple[Span, float]]): Spans with at least this probability,
        above 0, in any order: all, or more than `max_listed` with the most probable."""
        ...

    def confidences(self, spans: Sequence[Span]) -> list[float]:
        """RETURNS (List[float]): The probability of each span, in [0, 1]."""
        ...


class Posterior(Protocol):
    """Over the segmentations of one document."""

    def instances(self) -> Sequence[InstancePosterior]:
        """RETURNS (Sequence[InstancePosterior]): From left to right, no empty ones."""
        ...

    def paths(self, spans: Sequence[Span]) -> list[Path | None]:
        """RETURNS (List[Optional[Path]]): For each span the names from the top to its
        label; None if no instance has all its tokens, or its label is unknown."""
        ...

    def whole(self, spans: Sequence[Span]) -> float:
        """RETURNS (float): The probability of the segmentations with exactly these
        spans, sorted, beside existing entities, which are given; 0 if an instance does
        not have all tokens of a span."""
        ...

    def marginals(self) -> Any:
        """RETURNS (Any): See `HighOrderSemiCRF.marginals`."""
        ...


class StoredPosterior(Posterior, Protocol):
    """What a prediction leaves, so that probabilities can be computed later."""

    @property
    def decoder(self) -> FlatDecoder:
        """What decoded the document."""
        ...

    @property
    def problems(self) -> Sequence[Problem]:
        """The instances of the document."""
        ...

    @property
    def n_bytes(self) -> int:
        """RETURNS (int): The memory that it takes beside its problems."""
        ...

    def recompute(self) -> Callable[[Doc], StoredPosterior]:
        """RETURNS (Callable): From the document, as it was before its prediction, to
        what this is; it holds no arrays."""
        ...


# Not frozen: one is made for each document.
@dataclass(slots=True)
class FlatPosterior:
    """See `StoredPosterior`; of labels that segments have themselves.

    decoder (FlatDecoder): What decoded the document.
    problems (Sequence[Problem]): Its instances.
    """

    decoder: FlatDecoder
    problems: Sequence[Problem]

    @property
    def n_bytes(self) -> int:
        """See `StoredPosterior`."""
        return 0

    def recompute(self) -> Callable[[Doc], FlatPosterior]:
        """See `StoredPosterior`."""
        if type(self) is FlatPosterior:
            return self.decoder.posterior
        bare = replace(self, problems=())

        def make(doc: Doc) -> FlatPosterior:
            return replace(bare, problems=bare.decoder.posterior(doc).problems)

        return make

    def instances(self) -> list[SegmentPosterior]:
        """See `Posterior`."""
        problems = [x for x in self.problems if len(x.instance.tokens)]
        return [SegmentPosterior(self.decoder, problem) for problem in problems]

    def check(self) -> None:
        """RAISES (ValueError): HS060 no segmentation is possible."""
        for problem in self.problems:
            args = self.decoder.automaton, problem.potentials, problem.constraints
            if len(problem.instance.tokens) and log_partition(*args) == -np.inf:
                raise self.decoder.impossible(problem)

    def paths(self, spans: Sequence[Span]) -> list[Path | None]:
        """See `Posterior`."""
        automaton, inventory = self.decoder.automaton, self.decoder.inventory

        def of_instances(some: Sequence[Sequence[Span]]) -> list[list[Path]]:
            steps = confidence_steps(self.problems, some, automaton, inventory)
            pairs = zip(some, finish(steps))
            return [[[(x[2], p)] for x, p in zip(*pair)] for pair in pairs]

        return by_instance(spans, self.problems, inventory.labels, of_instances)

    def whole(self, spans: Sequence[Span]) -> float:
        """See `Posterior`."""
        some = [x for x in self.problems if len(x.instance.tokens)]
        of_instances = split(spans, some)
        if sum(map(len, of_instances)) < len(spans):
            return 0.0
        args = self.decoder.automaton, self.decoder.inventory
        pairs = zip(some, of_instances)
        return math.exp(math.fsum(log_probability(*pair, *args) for pair in pairs))

    def marginals(self) -> Marginals | JointMarginals:
        """See `Posterior`."""
        found = [problem.marginals(self.decoder.automaton) for problem in self.problems]
        is_whole = self.decoder.options.scope == "doc"
        return found[0] if is_whole else JointMarginals(found)


class BatchPosteriors(Sequence[FlatPosterior]):
    """Those of documents that were predicted together, made when they are asked for.

    decoder (FlatDecoder): What decoded the documents.
    problems (LazyProblems): Of the documents.
    """

    def __init__(self, decoder: FlatDecoder, problems: LazyProblems) -> None:
        self.decoder, self.problems = decoder, problems

    def __len__(self) -> int:
        return len(self.problems)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [self[d] for d in range(*k.indices(len(self)))]
        return FlatPosterior(self.decoder, LazyProblem(self.problems, k))

    def recompute(self) -> list[Callable[[Doc], StoredPosterior]]:
        """RETURNS (List[Callable]): `StoredPosterior.recompute` of each."""
        return [self.decoder.posterior] * len(self)

    def detach(self) -> int:
        """Let go of the documents. RETURNS (int): The memory of all scores."""
        self.problems.detach()
        return self.problems.n_bytes


@dataclass(slots=True)
class SegmentPosterior:
    """See `InstancePosterior`; by sweeps over the scores of one instance.

    decoder (FlatDecoder): What decoded the document.
    problem (Problem): The instance.
    """

    decoder: FlatDecoder
    problem: Problem

    @property
    def instance(self) -> Instance:
        """See `InstancePosterior`."""
        return self.problem.instance

    def most_probable(self, k: int) -> list[Option]:
        """See `InstancePosterior`; tags that mean the same spans are added up."""
        problem, inventory = self.problem, self.decoder.inventory
        args = self.decoder.automaton, problem.potentials
        log_z = log_partition(*args, problem.constraints)
        if log_z == -math.inf:
            raise self.decoder.impossible(problem)
        merged: dict[tuple[Span, ...], float] = {}
        for segments, score in kbest(*args, k, problem.constraints):
            found = read_segments(segments, inventory, problem.instance.tokens)
            spans = tuple(shift(found, problem.instance.start))
            before = merged.get(spans, -math.inf)
            merged[spans] = float(np.logaddexp(before, score - log_z))
        pairs = ((log_prob, spans) for spans, log_prob in merged.items())
        return sorted(pairs, key=lambda pair: -pair[0])

    def entropy(self) -> float:
        """See `InstancePosterior`; with tags on tokens that over sequences of tags."""
        problem = self.problem
        args = self.decoder.automaton, problem.potentials, problem.constraints
        found = entropy(*args)
        if found == -math.inf:
            raise self.decoder.impossible(problem)
        return found

    def spans_above(self, p: float) -> list[tuple[Span, float]]:
        """See `InstancePosterior`; not with tags on tokens."""
        low, names = self.instance.start, self.decoder.inventory.names
        marginals = self.problem.marginals(self.decoder.automaton)
        found, _ = marginals.best_above(p, max_listed(len(self.instance.tokens)) + 1)
        return [((i + low, j + low, names[y]), min(q, 1.0)) for i, j, y, q in found]

    def confidences(self, spans: Sequence[Span]) -> list[float]:
        """See `InstancePosterior`."""
        args = self.decoder.automaton, self.decoder.inventory
        return finish(confidence_steps([self.problem], [spans], *args))[0]


def by_instance(
    spans: Sequence[Span],
    parts: Sequence[Part],
    labels: Container[str],
    paths: Callable[[Sequence[Sequence[Span]]], Sequence[Sequence[Path]]],
) -> list[Path | None]:
    """Paths of spans of a document.

    spans (Sequence[Tuple[int, int, str]]): Any.
    parts (Sequence[Part]): What is known of each instance of the document.
    labels (Container[str]): Those that have paths.
    paths (Callable): Gives the paths of some spans of each instance.
    RETURNS (List[Optional[Path]]): See `Posterior.paths`.
    """
    asked = split([span for span in spans if span[2] in labels], parts)
    pairs = zip(asked, paths(asked))
    found = {x: path for some, of_some in pairs for x, path in zip(some, of_some)}
    return [found.get(span) for span in spans]


def split(spans: Iterable[Span], parts: Sequence[Part]) -> list[list[Span]]:
    """RETURNS (List[List[Tuple[int, int, str]]]): The spans within each instance of a
    document, without those that are in none."""
    instances = [part.instance for part in parts]
    starts = [instance.start for instance in instances]
    ends = [instance.start + len(instance.tokens) for instance in instances]
    found: list[list[Span]] = [[] for _ in parts]
    for span in spans:
        d = bisect_right(starts, span[0]) - 1
        if d >= 0 and span[1] <= ends[d]:
            found[d].append(span)
    return found


def confidence_steps(
    problems: Sequence[Problem],
    spans: Sequence[Sequence[Span]],
    automaton: PatternAutomaton,
    inventory: LabelInventory,
) -> Steps[list[list[float]]]:
    """Posterior probabilities of spans of instances.

    problems (Sequence[Problem]): Instances, of one document or several.
    spans (Sequence[Sequence[Tuple[int, int, str]]]): Any of each instance, in tokens of
        its document.
    automaton (PatternAutomaton), inventory (LabelInventory): Of the problems.
    RETURNS (List[List[float]]): In [0, 1].
    """
    moved = [
        shift(some, -x.instance.start) if x.instance.start else some
        for x, some in zip(problems, spans)
    ]
    given = [x.potentials for x in problems], [x.constraints for x in problems]
    if inventory.on_tokens:
        found: list[list[float]] = [[] for _ in problems]
        asked = [k for k, some in enumerate(moved) if some]

        def answer(k: int, posterior: Marginals) -> list[float]:
            doc, problems[k].log_z = problems[k].instance.tokens, posterior.log_z
            return [_of_tags(posterior, span, inventory, doc) for span in moved[k]]

        first_end = {k: min(end for _, end, _ in moved[k]) for k in asked}
        steps = marginal_steps(automaton, *given, asked, answer, first_end=first_end)
        answers = yield from steps
        for k, probs in zip(asked, answers):
            found[k] = probs
    else:
        index = inventory.index
        segments = [[(i, j, index[label]) for i, j, label in some] for some in moved]
        args = automaton, given[0], segments, given[1]
        found, log_z = yield from probability_steps(*args)
        for problem, one in zip(problems, log_z):
            problem.log_z = problem.log_z if one is None else one
    for problem, some, probs in zip(problems, moved, found):
        # Kept spans have 1 up to rounding, which min_confidence = 1 would notice.
        if kept := {*problem.corrections.required}:
            probs[:] = [1.0 if x in kept else p for x, p in zip(some, probs)]
    return [[min(p, 1.0) for p in probs] for probs in found]


def _of_tags(
    posterior: Marginals, span: Span, inventory: LabelInventory, doc: Doc
) -> float:
    """P(tag sequences with a span), summed over all spans that `trim_whitespace` makes
    it of."""
    total = 0.0
    for start, end, label in before_trimming(span, doc):
        # With the tokens beside it, whose tags may not extend it.
        low, high = max(start - 1, 0), min(end + 1, len(doc))
        allowed = names_of([(start - low, end - low, label)], inventory, high - low)
        some = np.flatnonzero(~allowed.all(axis=1))
        first, last = int(some[0]), int(some[-1])
        total += posterior.labels_among(low + first, allowed[first : last + 1])
    return total
