"""All training documents at once: their summed loss, its gradient, all weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..core import PatternAutomaton, Potentials
from ..core.parallel.team import ALONE
from ..errors import Errors
from ..labels.gold import Gold
from ..model.active_features import (
    RoleRows,
    Rows,
    SegmentRows,
    cut_rows,
    read_docs,
)
from ..model.kernels.sparse_steps import Freedom
from ..model.observed_features import PlaceRows
from ..model.weights.potentials import (
    add_cell_gradient,
    add_entry_gradient,
    cells_of,
    join_scores,
    role_gradient,
    score_rows,
)
from ..model.weights.shim import Weights
from ..model.weights.vector import (
    empty_gradient,
    of_long_patterns,
    write_dense_gradient,
)
from .checkpoint import digest, of_documents
from .objectives import Objective
from .progress import watched
from .row_store import RowStore, join_rows
from .segment_store import SegmentStore
from .shared_sums import SharedSums
from .side_by_side import SideBySide

Floats = NDArray[np.float64]

# At most this many tokens have their scores in memory at the same time, in all roles,
# if a block of documents has not more; with these, the cost of a call does not count.
_CHUNK = 20_000

# At most this many documents and tokens are in a block, so that threads have many; and
# at most this many scores in a role, 16 MB: new memory takes longer, by 10 % of an
# evaluation with 3,000 labels. Sums are formed by block: other numbers, other bits.
_DOCS, _TOKENS, _SCORES = 64, 4_000, 2_000_000


class Trained(Protocol):
    """Weights as one vector."""

    def vector(self) -> Floats: ...

    def set_vector(self, vector: Floats, *, copy: bool = True) -> None: ...

    def vector_values(self, values: Mapping[str, float]) -> Floats: ...

    def round(self) -> None: ...

    def pruned_size(self) -> dict[str, float]: ...


class Trainable(Protocol):
    """What can be minimised: a `Batch`, or one level of a label tree."""

    @property
    def weights(self) -> Trained: ...

    def freedom(self, nonnegative: bool) -> NDArray[np.uint8]: ...

    def value_and_gradient(self) -> tuple[float, Floats]: ...

    def identity(self) -> dict[str, str]: ...


# A fit, and the documents to use.
Levels = Callable[[Callable[[Any], Any], Sequence[int]], AbstractContextManager[None]]

# Of weights that are being trained: names and numbers for the log of a fit.
Watch = Callable[[Any], dict[str, Any]]


class Batch:
    """A corpus with its features read: value and gradient for any weights.

    weights (Weights): Where the vector of weights is written to.
    automaton (PatternAutomaton): Of the component.
    objective (Callable): Loss of one document.
    docs (Sequence[Doc]): Documents.
    golds (Sequence[Gold]): What is known of each.
    levels (Optional[Levels]): What fits the levels of a tree below, if there are some.

    watch (Optional[Callable]): Called with the weights every few iterations of a fit
        that writes a log, such as for scores on other documents.
    team (Team): Threads that share the work; the same bits for any number.
    """

    def __init__(
        self,
        weights: Weights,
        automaton: PatternAutomaton,
        objective: Objective,
        docs: Sequence[Doc],
        golds: Sequence[Gold],
        levels: Levels | None = None,
    ) -> None:
        self.weights = weights
        self.watch: Watch | None = None
        self.team = ALONE
        self._levels = levels
        self._chosen: Sequence[int] = range(len(docs))
        self._automaton = automaton
        self.objective = objective
        self._golds = golds
        self._sizes = [len(doc) for doc in docs]
        self._borders = [0, *np.cumsum(self._sizes).tolist()]
        self._n_labels = len(weights.state.tail)
        self._blocks = blocks_of(self._sizes, self._n_labels)
        shown = watched(docs, "Reading features")
        state = weights.state
        roles = state.extractor.features.scored_roles
        stores = {role: RowStore() for role in roles}
        segments: list[SegmentRows] = []
        self._places: list[PlaceRows] = []
        for doc in shown:
            found = read_docs(state, [doc], is_train=True)
            for role, store in stores.items():
                store.append(found.tokens[role])
            segments.append(found.segments)
            self._places.append(found.places)
        self._rows = {role: store.joined() for role, store in stores.items()}
        self._segments = SegmentStore(segments)
        self._side_by_side: SideBySide | None = None
        self._sums = SharedSums()

    def __len__(self) -> int:
        """How many documents there are."""
        return len(self._sizes)

    @property
    def has_levels(self) -> bool:
        """Whether the same fit trains levels of a tree below, after it."""
        return self._levels is not None

    def with_levels(self, fit: Callable[[Any], Any]) -> AbstractContextManager[None]:
        """RETURNS (ContextManager): While it lasts, the levels below, if there are any,
        have weights that are fitted to the same documents; else they have none."""
        if self._levels is None:
            return nullcontext()
        return self._levels(fit, self._chosen)

    def rows(self, k: int) -> Rows:
        """RETURNS (Rows): The known features of one document: views."""
        at = slice(self._borders[k], self._borders[k + 1] + 1)
        tokens = {
            role: part._replace(first=part.first[at])
            for role, part in self._rows.items()
        }
        return Rows(tokens, self._segments.of(k, k + 1), self._places[k])

    def part(self, chosen: Sequence[int]) -> Batch:
        """RETURNS (Batch): Some of the documents, and the same weights."""
        found = copy(self)
        found._chosen = [self._chosen[k] for k in chosen]
        found._golds = [self._golds[k] for k in chosen]
        found._sizes = [self._sizes[k] for k in chosen]
        found._borders = [0, *np.cumsum(found._sizes).tolist()]
        found._blocks = blocks_of(found._sizes, self._n_labels)
        found._side_by_side = None
        found._segments = self._segments.part(chosen)
        found._places = [self._places[k] for k in chosen]
        spans = [(self._borders[k], self._borders[k + 1]) for k in chosen]
        found._rows = {
            role: join_rows(cut_rows(rows, i, j) for i, j in spans)
            for role, rows in self._rows.items()
        }
        return found

    def loss(self, k: int, rows: Rows) -> tuple[float, Potentials]:
        """RETURNS (Tuple[float, Potentials]): Loss of one document, with these rows, at
        the present weights; its derivatives by the potentials."""
        potentials = score_rows(self.weights.state, rows, self._sizes[k])
        return self.objective(self._automaton, potentials, self._golds[k])

    def freedom(self, nonnegative: bool) -> NDArray[np.uint8]:
        """How each weight may change.

        nonnegative (bool): Those of label patterns of three or more names must be 0 or
            more, see `of_long_patterns`.
        RETURNS (uint8 [N]): FREE or NONNEGATIVE; in the order of Weights.vector().
        """
        is_long = of_long_patterns(self.weights.state, self._automaton)
        return np.where(
            is_long & nonnegative, Freedom.NONNEGATIVE, Freedom.FREE
        ).astype(np.uint8)

    def identity(self) -> dict[str, str]:
        """RETURNS (Dict[str, str]): What tells whether weights mean the same, and were
        fitted to the same: labels, features, label patterns and annotation."""
        state, automaton = self.weights.state, self._automaton
        keys = [state.table.keys]
        if state.pairs is not None:
            keys += [state.pairs.first, state.pairs.columns]
        patterns = [*automaton.patterns, *automaton.observed]
        of_patterns = digest(repr(patterns), repr(state.length.shape))
        return {
            "labels": ", ".join(automaton.labels),
            "features": f"{len(state.names)} ({digest(*keys)})",
            "label patterns": f"{len(patterns)} ({of_patterns})",
            "annotation": of_documents(gold.content() for gold in self._golds),
            "weights": f"{len(self.weights.vector())}",
        }

    def extreme(self) -> str:
        """RETURNS (str): The feature with the largest value in a document, as part of a
        message; if all values are 1, that with the largest weight; or nothing."""
        found = 1.0, ""
        names, matrix = self.weights.state.names, self.weights.state.matrix
        all_rows: Iterable[RoleRows | SegmentRows]
        all_rows = chain(self._rows.values(), [self._segments.rows])
        for rows in all_rows:
            if rows.strength is not None and len(rows.strength):
                values = np.nan_to_num(np.abs(rows.strength), nan=np.inf, posinf=np.inf)
                k = int(values.argmax())
                if values[k] > found[0]:
                    text = f"the value {rows.strength[k]:g} in a document"
                    found = values[k], f"{names[rows.row[k]]!r} has {text}"
        if not found[1] and matrix.size:
            k = int(np.nan_to_num(np.abs(matrix.ravel()), nan=np.inf).argmax())
            pairs, row = self.weights.state.pairs, k // matrix.shape[1]
            if pairs is not None:
                row = int(np.searchsorted(pairs.first, row, side="right")) - 1
            found = 1.0, f"{names[row]!r} has the weight {matrix.ravel()[k]:g}"
        return f" The feature {found[1]}, the largest of all." if found[1] else ""

    def value_and_gradient(self) -> tuple[float, Floats]:
        """Summed loss at the present weights.

        RETURNS (Tuple[float, float64 [N]]): In nats; in the order of Weights.vector().
            Documents are summed in their order, so the result is always the same.
        """
        state = self.weights.state
        pattern = np.zeros(len(state.pattern))
        length = np.zeros(state.length.shape)
        total = 0.0
        vector, d_matrix = empty_gradient(state)
        if self._side_by_side is None:
            args = self._golds, self._segments, self._blocks.borders
            self._side_by_side = SideBySide(
                state, self._automaton, self.objective, self._sizes, *args
            )
        self._side_by_side.set_weights(state)
        losses = np.zeros(len(self))
        for begin, end in self._blocks.chunks:
            self._add_gradient(begin, end, losses, d_matrix, pattern, length)
        if len(losses):
            total = float(np.cumsum(losses)[-1])  # rounded at each document
        write_dense_gradient(state, vector, pattern, length)
        return total, vector

    def _add_gradient(
        self,
        begin: int,
        end: int,
        losses: Floats,
        d_matrix: Floats,
        pattern: Floats,
        length: Floats,
    ) -> None:
        """Add the gradients of blocks `begin` to `end` - 1, and set their losses."""
        state, borders = self.weights.state, self._blocks.borders
        docs = range(borders[begin], borders[end])
        at = self._borders[docs.start]
        tokens = slice(at, self._borders[docs.stop] + 1)
        rows_of = {
            role: rows._replace(first=rows.first[tokens])
            for role, rows in self._rows.items()
        }
        shape = self._borders[docs.stop] - at, len(state.tail)
        scores = {role: np.zeros(shape) for role in rows_of}
        self._sums.add_scores(state, rows_of, scores, self.team)
        segments = self._segments.of(docs.start, docs.stop)
        cells = cells_of(state, segments)
        side_by_side = self._side_by_side
        assert side_by_side is not None
        of_all = losses, pattern, length, self.team
        is_done = side_by_side.solve(begin, end, at, scores, cells, *of_all)
        is_done[: docs.start] = is_done[docs.stop :] = True
        first_cell = side_by_side.first_cell
        cell_at = first_cell[docs.start]
        for k in np.flatnonzero(~is_done).tolist():
            here = slice(self._borders[k] - at, self._borders[k + 1] - at)
            piece = {role: s[here] for role, s in scores.items()}
            own = cells[first_cell[k] - cell_at : first_cell[k + 1] - cell_at]
            places = self._places[k]
            if side_by_side.is_chosen[k]:  # it was tried: its scores are not there
                potentials = score_rows(state, self.rows(k), self._sizes[k])
            else:
                potentials = join_scores(state, piece, own, places)
            loss, gradient = self.objective(self._automaton, potentials, self._golds[k])
            losses[k] = loss
            for role in piece:  # the scores have been read: their place is free
                piece[role][:] = role_gradient(gradient, role)
            own["score"] = gradient.cells["score"]
            pattern += gradient.pattern
            length += gradient.length
            add_entry_gradient(state, places, gradient.entries, d_matrix)
        add_cell_gradient(state, segments, cells, d_matrix)
        self._sums.add_gradient(state, rows_of, scores, d_matrix, self.team)


class Blocks(NamedTuple):
    """Documents in fixed blocks by position: sums are formed block by block.

    borders (List[int]): Block b has the documents borders[b] to borders[b + 1] - 1.
    chunks (List[Tuple[int, int]]): Blocks begin to end - 1 that have their scores in
        memory at the same time.
    """

    borders: list[int]
    chunks: list[tuple[int, int]]


def blocks_of(sizes: Sequence[int], n_labels: int) -> Blocks:
    """RETURNS (Blocks): Of documents with these numbers of tokens."""
    most = min(_TOKENS, _SCORES // max(n_labels, 1))
    borders, of_block = [0], [0]
    for k, size in enumerate(sizes):
        n_docs = k - borders[-1]
        if n_docs and (n_docs == _DOCS or of_block[-1] + size > most):
            borders.append(k)
            of_block.append(0)
        of_block[-1] += size
    chunks, begin, n_tokens = [], 0, 0
    most = min(_CHUNK, _SCORES // max(n_labels, 1))
    for b, size in enumerate(of_block):
        if n_tokens + size > most and b > begin:
            chunks.append((begin, b))
            begin, n_tokens = b, 0
        n_tokens += size
    return Blocks([*borders, len(sizes)], [*chunks, (begin, len(of_block))])


def check_finite(batch: Trainable, value: float, steps: int) -> None:
    """RAISES (ValueError): HS057 the loss is not a number.

    steps (int): That were taken before."""
    if not np.isfinite(value):
        raise ValueError(_not_a_number(batch, value, steps))


@contextmanager
def naming_features(batch: Trainable, steps: int) -> Iterator[None]:
    """Where losses are computed: scores that inference refuses are an error that names
    a feature.

    RAISES (ValueError): HS057 scores are too large, or not a number.
    """
    try:
        yield
    except ValueError as e:
        if not str(e).startswith(("[HS011]", "[HS124]")):
            raise
        raise ValueError(_not_a_number(batch, np.nan, steps)) from e


def _not_a_number(batch: Trainable, value: float, steps: int) -> str:
    extreme = batch.extreme() if isinstance(batch, Batch) else ""
    return Errors.HS057.format(found=value, steps=steps, extreme=extreme)


def check_batch(batch: Batch, name: str) -> None:
    """RAISES (ValueError): HS118 a fit that cannot train the levels of a tree."""
    if batch.has_levels:
        raise ValueError(
            Errors.HS118.format(
                expected="the fit spacy_hosemi.lbfgs.v1", found=f"it is {name}"
            )
        )
