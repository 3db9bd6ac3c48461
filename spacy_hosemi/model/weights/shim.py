"""The sparse linear model: weights of features, patterns and lengths, and their scores.

    inside[i, y] = sum of weight[row, y] over the rows that token i reads as inside
    start, end   : likewise, in their roles
    entries      : weights of transitions, for the label patterns of `transitions`

What is read *within* a segment, at each token but the first, adds to inside and is
taken back at the start.

The weights live in a Thinc shim, since a Thinc parameter would be updated densely.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc
from thinc.api import Optimizer, Shim

from ...core import PatternAutomaton, Potentials
from ...core.parallel.coroutines import Steps
from ...errors import Errors
from ...features import Extensions, Extractor, FeatureSet, Gazetteers, Tables, Values
from ...features.kernels.key_table import RowTable
from ..active_features import (
    NOTHING,
    RoleRows,
    Rows,
    SegmentRows,
    in_documents,
    known_segments,
    no_rows,
    read_rows,
    split_records,
    with_listed,
)
from ..kernels.gather import (
    gather,
    gather_cells,
    gather_entries,
    gather_pairs,
    gather_strengths,
    scatter,
    scatter_cells,
    scatter_entries,
    scatter_pairs,
    scatter_strengths,
)
from ..observed_features import NO_PLACES, PlaceRows, place_rows
from .adagrad import SparseAdagrad
from .families import FAMILIES, TRANSITIONS, families_of
from .lengths import differences, gradient_of_sums, sums
from .packing import to_single
from .pairs import Counts, Pairs, Selection
from .potentials import _of_tokens, role_gradient
from .state import _NO_CELLS, _STORED, SPARSE, Floats, Ints, Keys
from .storage import FLOATS, PARTS, Stored, truncated
from .token_scores import TokenScores


class Weights(Shim):
    """Feature dictionary and weights, and their sparse updates.

    extractor (Extractor): What is read.
    l2 (Dict[str, float]): By family, for online training.
    learn_rate_scale (float): Multiplies the optimizer's learn rate.

    matrix (float64 [R, L]): Weights of features; rows of all roles. With `pairs`
        [N, 1]: of those pairs of a row and a column that have a weight.
    pairs (Optional[Pairs]): Which pairs; None: all.
    pattern (float64 [M]): Weights of label patterns; -inf: forbidden, never changed.
    length (float64 [L, D]): Weights of lengths up to D, if they are learnt.
    length_smoothing (int): In the vector of weights stand so many times their
        differences, see `lengths`.
    n_observed (int): Columns of `pairs` beyond L, which only transitions have.
    keep_scores (bool): Whether the scores of words are kept in prediction.
    grows (bool): Whether features that are met in training may be added.
    version (object): Another one whenever weights may have changed.
    """

    def __init__(
        self, extractor: Extractor, l2: dict[str, float], learn_rate_scale: float
    ) -> None:
        super().__init__(None)
        self.extractor = extractor
        self.l2 = l2
        self.learn_rate_scale = learn_rate_scale
        self.keep_scores = True
        nothing = Selection(np.zeros(0, np.uint64), [], np.zeros(0, np.int64), 1, None)
        self.allocate(nothing, np.zeros(0), np.zeros((0, 1)), np.zeros(0))

    def allocate(
        self,
        selection: Selection,
        pattern: Floats,
        length: Floats,
        tail: Floats,
        *,
        learn_length: bool = False,
        length_smoothing: int = 0,
        n_observed: int = 0,
    ) -> None:
        """Zero weights for these features, patterns and lengths.

        selection (Selection): Features, and in which columns they have weights.
        pattern (float64 [M]): 0, or -inf where forbidden.
        length (float64 [L, D]): Fixed part of the length potentials.
        tail (float64 [L]): Fixed.
        learn_length (bool): Whether lengths have weights too.
        length_smoothing (int): See `lengths`.
        n_observed (int): Label patterns for which transitions have weights.
        """
        self._set_rows(selection.keys, selection.names, selection.pairs)
        self.counts = selection.counts
        self.n_docs = selection.n_docs
        self.matrix = np.zeros(self._matrix_shape(len(tail)))
        self.pattern = pattern
        self.length = np.array(length, np.float64)
        self.tail = tail
        self.learn_length = learn_length
        self.length_smoothing = length_smoothing
        self.n_observed = n_observed
        self.is_trained = False
        self.grows = not selection.is_limited
        self._reset_optimizer()

    def _change(self) -> None:
        """Forget what follows from the weights."""
        self._scores: TokenScores | None = None
        self.version = object()

    def put_features_on_tokens(self) -> None:
        """Read all features as inside ones: the segments are single tokens."""
        self._set_features(self.extractor.features.on_tokens())

    def observe_patterns(self) -> None:
        """Read features of transitions, the usual ones if none are named."""
        self._set_features(self.extractor.features.with_transitions())

    def _set_features(self, features: FeatureSet) -> None:
        self.extractor = self.extractor.reading(features)
        self._change()

    def _set_rows(self, keys: Any, names: Sequence[str], pairs: Pairs | None) -> None:
        """The dictionary of features, and the family of each row."""
        self._change()
        self.table = RowTable(np.asarray(keys, np.uint64))
        self.names = list(names)
        self.pairs = pairs
        self._row_family = families_of(self.names)

    def _matrix_shape(self, n_labels: int) -> tuple[int, int]:
        if self.pairs is None:
            return len(self.table), n_labels
        return len(self.pairs.columns), 1

    def _reset_optimizer(self) -> None:
        """Forget the steps taken, after the weights were replaced."""
        self._matrix_step: SparseAdagrad | None = None
        self._dense_step: SparseAdagrad | None = None
        self._n_gradients = 0

    @property
    def pairs(self) -> Pairs | None:
        """See above."""
        return self._pairs

    @pairs.setter
    def pairs(self, pairs: Pairs | None) -> None:
        self._pairs = pairs
        self._n_whole: int | None = None

    @property
    def matrix(self) -> Floats:
        """Whoever asks for it may change it: kept scores are forgotten."""
        self._change()
        return self._matrix

    @matrix.setter
    def matrix(self, matrix: Floats) -> None:
        self._matrix = matrix
        self._change()

    @property
    def is_learnt(self) -> NDArray[np.bool_]:
        """Which of pattern and length (in one vector) have weights to learn."""
        lengths = np.isfinite(self.length) & self.learn_length
        return np.concatenate([np.isfinite(self.pattern), lengths.ravel()])

    # scores

    def rows(self, doc: Doc, is_train: bool = False) -> Rows:
        """RETURNS (Rows): Known features; in training as Gazetteers.matches says."""
        return self.rows_together([doc], is_train)

    def rows_together(self, docs: Sequence[Doc], is_train: bool = False) -> Rows:
        """RETURNS (Rows): As `rows`, of one or more documents one behind the other."""
        return read_rows(self.extractor, self.table, docs, is_train)

    def potentials_of(self, docs: Sequence[Doc]) -> Steps[list[Potentials]]:
        """As `potentials` of `rows` of each document, but for rounding to single
        precision; what a word brings is summed once, until the weights change, if
        `keep_scores`.

        docs (Sequence[Doc]): Of the same vocabulary.
        RETURNS (List[Potentials]): One for each.
        """
        if not self.keep_scores:
            return [self.potentials(self.rows(doc), len(doc)) for doc in docs]
        if not docs:
            return []
        kept = None
        # Once more, if the weights change while the task is done.
        while kept is None or kept is not self._scores:
            self._scores = kept = self._scores or self._token_scores()
            found = self.extractor.values_of(docs)
            scores = yield from kept.of_values(found)
        for listed in found.listed:
            rows = with_listed(no_rows(len(found.orths)), listed, self.table)
            self.add_scores(rows, scores[kept.roles.index(listed.role)])
        # What documents have in common is done once: most of them are short.
        dense = _of_tokens(**dict(zip(kept.roles, scores)))
        segments, of_doc = in_documents(
            known_segments(found.segments, self.table), found.first
        )
        cells = self._split(self._cells(segments), segments.row, of_doc, len(docs))
        entries: Sequence[NDArray[Any] | None] = [None] * len(docs)
        if self.n_observed:
            places, of_doc = in_documents(self._places(found), found.first)
            joined = self._entries(places)
            entries = self._split(joined, places.row, of_doc, len(docs))
        of_docs = zip(cells, entries)
        borders = found.first.tolist()
        return [
            self._beside([x[i:j] for x in dense], of_cells, of_entries)
            for i, j, (of_cells, of_entries) in zip(borders, borders[1:], of_docs)
        ]

    def _token_scores(self) -> TokenScores:
        """Of the weights as they are."""
        whole, pairs = self._of_labels(self._matrix), self.pairs
        matrix, pairs = (self._matrix, pairs) if whole is None else (whole, None)
        return TokenScores(self.extractor, self.table, matrix, pairs, len(self.tail))

    def _split(
        self, records: NDArray[Any], rows: Ints, doc: Ints, n_docs: int
    ) -> list[NDArray[Any]]:
        """Records of all weights of rows, by document; see `split_records`."""
        if not len(records):
            return [records] * n_docs
        if self.pairs is None:
            sizes = np.full_like(rows, self._matrix.shape[1])
        else:
            sizes = self.pairs.sizes_of(rows)
        return split_records(records, doc, sizes, n_docs)

    def _places(self, found: Values) -> PlaceRows:
        """Those of documents, in the tokens of all of them."""
        roles, keys = self.extractor.features.transition_roles, self.extractor.keys
        of_roles = {role: keys(found.values, role, found.first) for role in roles}
        return place_rows(
            {x: self.table.rows(of_role) for x, of_role in of_roles.items()}
        )

    def potentials(self, rows: Rows, n_tokens: int) -> Potentials:
        """RETURNS (Potentials): Scores of a document of n tokens."""
        scores = {role: np.zeros((n_tokens, len(self.tail))) for role in rows.tokens}
        for role, of_role in rows.tokens.items():
            self.add_scores(of_role, scores[role])
        return self.with_scores(scores, rows.segments, rows.places)

    def add_scores(self, rows: RoleRows, scores: Floats) -> None:
        """Add to scores [n, L] the weights of the rows of each token."""
        first, row, strength = rows
        matrix, pairs = self._matrix, self.pair_arrays()
        whole = self._of_labels(matrix)
        if strength is not None:
            gather_strengths(first, row, strength, *pairs, matrix.reshape(-1), scores)
        elif whole is not None:
            gather(first, row, whole, scores)
        else:
            gather_pairs(first, row, *pairs, matrix[:, 0], scores)

    def add_gradient(self, rows: RoleRows, d_scores: Floats, d_matrix: Floats) -> None:
        """Transpose of `add_scores`: add to d_matrix, which has the shape of matrix."""
        first, row, strength = rows
        pairs, d_weights = self.pair_arrays(), d_matrix.reshape(-1)
        whole = self._of_labels(d_matrix)
        if strength is not None:
            scatter_strengths(first, row, strength, *pairs, d_scores, d_weights)
        elif whole is not None:
            scatter(first, row, d_scores, whole)
        else:
            scatter_pairs(first, row, *pairs, d_scores, d_weights)

    def with_scores(
        self,
        scores: Mapping[str, Floats],
        segments: SegmentRows,
        places: PlaceRows = NO_PLACES,
    ) -> Potentials:
        """Potentials of a document.

        scores (Dict[str, float64 [n, L]]): Of its tokens, by role.
        segments (SegmentRows), places (PlaceRows): Of segments and transitions.
        RETURNS (Potentials): All of them, with the weights of patterns and length.
        """
        entries = self._entries(places) if self.n_observed else None
        return self._beside(_of_tokens(**scores), self._cells(segments), entries)

    def _beside(
        self,
        dense: Sequence[Floats],
        cells: NDArray[Any],
        entries: NDArray[Any] | None,
    ) -> Potentials:
        """With the weights of patterns and length; dense: see `_of_tokens`."""
        return Potentials(
            dense[0],
            dense[1],
            dense[2],
            self.length,
            self.tail,
            cells,
            self.pattern,
            entries,
        )

    def _entries(self, places: PlaceRows) -> NDArray[Any]:
        """One entry for each pattern for which a transition has a weight."""
        weights, pairs = self._matrix.reshape(-1), self.pair_arrays()
        return gather_entries(places.position, places.row, places.role, *pairs, weights)

    def add_entry_gradient(
        self, places: PlaceRows, d_entries: NDArray[Any] | None, d_matrix: Floats
    ) -> None:
        """Transpose of the entries that `with_scores` makes."""
        if d_entries is not None:
            first, _ = self.pair_arrays()
            scatter_entries(places.row, first, d_entries, d_matrix.reshape(-1))

    def _cells(self, segments: SegmentRows) -> NDArray[Any]:
        """One cell for each column in which a feature of a segment has a weight."""
        if not len(segments.row):
            return _NO_CELLS
        return gather_cells(
            segments.start,
            segments.end,
            segments.row,
            segments.strength,
            *self.pair_arrays(),
            self._matrix.reshape(-1),
            len(self.tail),
        )

    def add_cell_gradient(
        self, segments: SegmentRows, d_cells: NDArray[Any], d_matrix: Floats
    ) -> None:
        """Transpose of the cells that `with_scores` makes."""
        if len(segments.row):
            first, _ = self.pair_arrays()
            d_weights = d_matrix.reshape(-1)
            row, strength = segments.row, segments.strength
            scatter_cells(row, strength, first, d_cells, len(self.tail), d_weights)

    def add_document_gradient(
        self, rows: Rows, gradient: Potentials, d_matrix: Floats
    ) -> None:
        """Transpose of `potentials`, but for patterns and lengths."""
        for role, of_role in rows.tokens.items():
            self.add_gradient(of_role, role_gradient(gradient, role), d_matrix)
        self.add_cell_gradient(rows.segments, gradient.cells, d_matrix)
        self.add_entry_gradient(rows.places, gradient.entries, d_matrix)

    def _of_labels(self, matrix: Floats) -> Floats | None:
        """Weights of the features for labels as a matrix of their own, a view, if each
        of them has all and those of transitions follow.

        matrix (float64): In the shape of `matrix`.
        RETURNS (Optional[float64 [R', L]]): None: some have `pairs`.
        """
        if self.pairs is None:
            return matrix
        if self._n_whole is None:
            n = self.pairs.n_whole(len(self.tail))
            are_all = (self._row_family[n:] == TRANSITIONS).all()
            self._n_whole = n if are_all else 0
        n_whole, n_labels = self._n_whole, len(self.tail)
        if not n_whole:
            return None
        return matrix[: n_whole * n_labels].reshape(n_whole, n_labels)

    def pair_arrays(self) -> tuple[Ints, Ints]:
        """Those of `pairs`, empty where each row has all weights."""
        pairs = self.pairs
        return (NOTHING, NOTHING) if pairs is None else (pairs.first, pairs.columns)

    def _slots(self, rows: Ints) -> tuple[Ints, Ints, NDArray[np.int64]]:
        """For each weight of these rows: which of them, its column, its place."""
        if self.pairs is None:
            n_columns = self._matrix.shape[1]
            feature = np.repeat(np.arange(len(rows), dtype=np.int32), n_columns)
            column = np.tile(np.arange(n_columns, dtype=np.int32), len(rows))
            return feature, column, rows[feature].astype(np.int64) * n_columns + column
        slot = self.pairs.slots(rows).astype(np.int64)
        sizes = self.pairs.sizes[rows]
        feature = np.repeat(np.arange(len(rows), dtype=np.int32), sizes)
        return feature, self.pairs.columns[slot], slot

    # online training

    def accumulate(self, rows: Rows, gradient: Potentials) -> None:
        """Add the gradient of one document."""
        matrix, dense = self._steps()
        self.add_document_gradient(rows, gradient, matrix.gradient)
        for fired in rows.fired:
            matrix.touched.append(self.pairs.slots(fired) if self.pairs else fired)
        learnt = np.flatnonzero(self.is_learnt).astype(np.int32)
        d_dense = self._dense_gradient(gradient.pattern, gradient.length)
        dense.gradient[learnt, 0] += d_dense[learnt]
        dense.touched.append(learnt)
        self._n_gradients += 1

    def finish_update(self, optimizer: Optimizer) -> None:
        """Step on all rows that fired since the last call."""
        if self._matrix_step is None or not self._n_gradients:
            return
        matrix, dense = self._steps()
        rate = self.learn_rate_scale * float(optimizer.learn_rate)
        shares, share = self.step_shares(self._n_gradients)
        matrix.step(self._by_slot(self.row_values(self.l2) * shares), rate)
        dense.step(self._dense_values(self.l2) * share, rate)
        self._write_dense(dense.weights[:, 0])
        self._n_gradients = 0
        self._change()
        self.is_trained = True
        # What `nlp.rehearse` passes for an optimizer has a learn rate only. Averages
        # are arrays by key; ours are brought up to date only when they are used.
        averages: dict[Any, Any] | None = getattr(optimizer, "averages", None)
        if averages is not None:
            averages[(self.id, "hosemi")] = np.zeros(0, "f")

    def step_shares(self, n_docs: int) -> tuple[Floats, float]:
        """How much of l2 counts in a step on so many documents.

        In one pass over the data a row meets the objective's l2 once in all: shared by
        the documents in which it fires.

        RETURNS (Tuple[float64 [R], float]): For each row; for what all documents read.
        """
        return (
            np.minimum(n_docs / np.maximum(self.counts, 1), 1.0),
            min(n_docs / self.n_docs, 1.0),
        )

    @contextlib.contextmanager
    def use_params(self, params: Mapping[tuple[int, str], Any]) -> Iterator[None]:
        """With our key in `params`, the weights are their averages for a while."""
        if (self.id, "hosemi") not in params or self._matrix_step is None:
            yield
            return
        matrix, dense = self._steps()
        backup = self.matrix, self.pattern, self.length
        self.matrix = matrix.averages()
        self._write_dense(dense.averages()[:, 0])
        try:
            yield
        finally:
            self.matrix, self.pattern, self.length = backup

    def _steps(self) -> tuple[SparseAdagrad, SparseAdagrad]:
        if self._matrix_step is None or self._dense_step is None:
            self._matrix_step = SparseAdagrad(self.matrix)
            self._dense_step = SparseAdagrad(self._dense()[:, None])
        return self._matrix_step, self._dense_step

    # pattern and length as one vector, 0 where nothing is learnt

    def _dense(self) -> Floats:
        length = differences(self.length, self.length_smoothing)
        dense = np.concatenate([self.pattern, length.ravel()])
        return np.where(self.is_learnt, dense, 0.0)

    def _write_dense(self, vector: Floats) -> None:
        """Inverse of `_dense`."""
        self._change()
        split = len(self.pattern)
        pattern, length = vector[:split], vector[split:]
        self.pattern = np.where(np.isfinite(self.pattern), pattern, self.pattern)
        if self.learn_length:
            length = sums(length.reshape(self.length.shape), self.length_smoothing)
            self.length = np.where(np.isfinite(self.length), length, self.length)

    def _dense_gradient(self, pattern: Floats, length: Floats) -> Floats:
        """From derivatives by the weights to those by `_dense`; anything where nothing
        is learnt."""
        length = gradient_of_sums(length, self.length_smoothing)
        return np.concatenate([pattern, length.ravel()])

    # all weights as one vector

    def row_values(self, values: Mapping[str, float]) -> Floats:
        """RETURNS (float64 [R]): For each row the value of its family."""
        return np.array([values[family] for family in FAMILIES])[self._row_family]

    def _by_slot(self, of_row: NDArray[Any]) -> NDArray[Any]:
        """From one value for each feature to one for each row of `matrix`."""
        return of_row if self.pairs is None else of_row.repeat(self.pairs.sizes)

    def _dense_values(self, values: Mapping[str, float]) -> Floats:
        return np.concatenate(
            [
                np.full(self.pattern.size, values["pattern"]),
                np.full(self.length.size, values["length"]),
            ]
        )

    def vector(self) -> Floats:
        """RETURNS (float64 [N]): matrix, then what is learnt of pattern and length."""
        return np.concatenate([self.matrix.ravel(), self._dense()[self.is_learnt]])

    def by_weight(self, of_row: NDArray[Any]) -> NDArray[Any]:
        """From one value for each feature to one for each weight of `matrix`."""
        return self._by_slot(of_row).repeat(self._matrix.shape[1])

    def vector_values(self, values: Mapping[str, float]) -> Floats:
        """RETURNS (float64 [N]): For each weight the value of its family."""
        rows = self.by_weight(self.row_values(values))
        return np.concatenate([rows, self._dense_values(values)[self.is_learnt]])

    def of_long_patterns(self, automaton: PatternAutomaton) -> NDArray[np.bool_]:
        """Which weights are of label patterns of three or more names, those of their
        features included: `core.viterbi` is faster where none of them is below 0.

        automaton (PatternAutomaton): Of the component.
        RETURNS (bool [N]): In the order of `vector`.
        """
        is_long = np.zeros(self._matrix.size, bool)
        if self.pairs is not None:
            of_column = [False] * len(self.tail)
            of_column += [len(z) > 2 for z in automaton.observed]
            is_long = np.array(of_column, bool)[self.pairs.columns]
        of_length = np.zeros(self.length.size, bool)
        dense = np.concatenate([automaton.pattern_length > 2, of_length])
        return np.concatenate([is_long, dense[self.is_learnt]])

    def set_vector(self, vector: Floats, *, copy: bool = True) -> None:
        """Inverse of `vector`.

        vector (float64 [N]): New weights.
        copy (bool): False: `matrix` is a part of it, for as long as nobody changes it.
        RAISES (ValueError): HS055 length.
        """
        expected = self.matrix.size + int(self.is_learnt.sum())
        if vector.shape != (expected,):
            raise ValueError(Errors.HS055.format(found=vector.shape, expected=expected))
        matrix = vector[: self.matrix.size].reshape(self.matrix.shape)
        self.matrix = matrix.copy() if copy else matrix
        self.set_learnt(vector[self.matrix.size :])
        self.is_trained = True
        self._reset_optimizer()

    def set_learnt(self, values: Floats) -> None:
        """New weights of patterns and lengths: the end of what `vector` gives."""
        learnt = self.is_learnt
        dense = np.zeros(len(learnt))
        dense[learnt] = values
        self._write_dense(dense)

    def empty_gradient(self) -> tuple[Floats, Floats]:
        """RETURNS (Tuple[float64 [N], Floats]): Zeros in the order of `vector`, and the
        part of `matrix` in its shape: a view."""
        size = self._matrix.size
        vector = np.zeros(size + int(self.is_learnt.sum()))
        return vector, vector[:size].reshape(self._matrix.shape)

    def write_dense_gradient(
        self, vector: Floats, pattern: Floats, length: Floats
    ) -> None:
        """Fill in the rest of what `empty_gradient` gave."""
        dense = self._dense_gradient(pattern, length)
        vector[self._matrix.size :] = dense[self.is_learnt]

    def round(self) -> None:
        """Make all weights what they will be in a saved model."""
        for name in FLOATS:
            setattr(self, name, to_single(getattr(self, name)))

    # other labels

    def columns(self, columns: Ints) -> Floats:
        """RETURNS (float64 [R, K]): Weights of all features in some columns, each of
        which may be asked for several times; 0 where there is none. Row by row."""
        if self.pairs is None:
            return self._matrix.take(columns, axis=1)
        row, column, slot = self._slots(np.arange(len(self.table), dtype=np.int32))
        dense = np.zeros((len(self.table), len(self.tail) + self.n_observed))
        dense[row, column] = self._matrix[slot, 0]
        return dense.take(columns, axis=1)

    def with_labels(
        self, matrix: Floats, pattern: Floats, length: Floats, tail: Floats
    ) -> Weights:
        """The same features, with weights for other labels, for prediction.

        matrix (float64 [R, L]), pattern (float64 [M]), length (float64 [L, D]), tail
            (float64 [L]): As of any.
        RETURNS (Weights): It reads with the same extractor, and stays as it is when
            these get more features.
        """
        found = Weights(self.extractor, self.l2, self.learn_rate_scale)
        found.table, found.names = RowTable(self.table.keys), list(self.names)
        found._row_family, found.counts = self._row_family, self.counts
        found.keep_scores = self.keep_scores
        found.pattern, found.length, found.tail = pattern, length, tail
        found.matrix = matrix
        return found

    # how many weights

    def size(self) -> dict[str, float]:
        """RETURNS (Dict[str, float]): How many features, weights that are not 0 and
        label patterns there are, and MB (10^6 bytes) of all when saved."""
        return {
            "features": len(self.names),
            "weights": int(np.count_nonzero(self.vector())),
            "patterns": len(self.pattern),
            "mb": len(self.to_bytes()) / 1e6,
        }

    def pruned_size(self) -> dict[str, float]:
        """RETURNS (Dict[str, float]): `size`, without features that have no weight but
        0, as after L1: the component is going to prune them."""
        if self._matrix.all():
            return self.size()
        weights = self.copy()
        weights.keep(weights.matrix != 0.0)
        return weights.size()

    def keep(self, is_kept: NDArray[np.bool_]) -> None:
        """Forget the other weights of features, and features that have none left.

        The result has `pairs` where few are left; otherwise what is forgotten of
        features that have weights for all labels is 0. It does not grow again if
        features were forgotten.

        is_kept (bool): In the shape of `matrix`.
        """
        if is_kept.all():
            return
        row, column, slot = self._slots(np.arange(len(self.table), dtype=np.int32))
        kept = is_kept.ravel()[slot]
        sizes = np.bincount(row[kept], minlength=len(self.table))
        rows = np.flatnonzero(sizes)
        values = np.where(kept, self.matrix.ravel()[slot], 0.0)
        whole = self._of_labels(self._matrix)
        if whole is not None:
            is_whole = row < len(whole)
            n_whole = np.count_nonzero(sizes[: len(whole)]) * len(self.tail)
            if np.count_nonzero(kept & is_whole) >= SPARSE * n_whole:
                kept |= is_whole & (sizes[row] > 0)
        names = [self.names[r] for r in rows.tolist()]
        self.grows = self.grows and len(names) == len(self.names)
        sizes = np.bincount(row[kept], minlength=len(self.table))[rows]
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        pairs, matrix = Pairs(first, column[kept]), values[kept, None]
        is_dense = self.pairs is None and pairs.n_whole(len(self.tail)) == len(rows)
        if is_dense:
            matrix = matrix.reshape(len(rows), len(self.tail))
        self._set_rows(self.table.keys[rows], names, None if is_dense else pairs)
        self.counts, self.matrix = self.counts[rows], matrix
        self._reset_optimizer()

    def keep_observed(self) -> Ints:
        """Forget the columns of observed patterns for which no weight is left.

        RETURNS (int32): Which are kept, of 0 to n_observed - 1.
        """
        if not self.n_observed or self.pairs is None:
            return np.zeros(0, np.int32)
        columns, n_labels = self.pairs.columns, len(self.tail)
        left = np.unique(columns[columns >= n_labels])
        new = np.arange(n_labels + self.n_observed, dtype=np.int32)
        new[left] = n_labels + np.arange(len(left))
        self.pairs = Pairs(self.pairs.first, new[columns])
        self.n_observed = len(left)
        self._change()
        return (left - n_labels).astype(np.int32)

    def add_labels(
        self, is_forbidden: NDArray[np.bool_], length: Floats, tail: Floats
    ) -> None:
        """Weights for more labels, which come last: the least that any other has.

        is_forbidden (bool [K]): Of the patterns that are added.
        length (float64 [L, D]): Fixed part of the length potentials, of all labels.
        tail (float64 [L]): Fixed, of all labels.
        """
        n_old, n_new = len(self.tail), len(tail) - len(self.tail)
        if self.pairs is None:
            least = self._matrix.min(axis=1, keepdims=True, initial=0.0)
            self.matrix = np.hstack([self._matrix, least.repeat(n_new, axis=1)])
        else:
            self.pairs, weights = self.pairs.with_columns(
                self._matrix[:, 0], n_old, n_new, self._row_family != TRANSITIONS
            )
            self.matrix = weights[:, None]
        least = self.pattern.min(initial=0.0, where=np.isfinite(self.pattern))
        more = np.where(is_forbidden, -np.inf, least)
        self.pattern = np.concatenate([self.pattern, more])
        self.length = np.vstack([self.length, length[n_old:]])
        self.tail = tail
        self._reset_optimizer()

    def add_features(self, keys: Keys, names: list[str], counts: Counts) -> None:
        """Weights of 0 for more features, which come last; training goes on.

        keys (uint64 [K]): Not known yet; none is a transition.
        names (List[str]): "role:TEMPLATE=value" of each.
        counts (int64 [K]): Documents that were met in which each fires.
        """
        n_labels = len(self.tail)
        n_new = len(names)
        if self.pairs is not None:
            self.pairs = self.pairs.with_rows(n_new, n_labels)
            n_new *= n_labels
        self.matrix = self._steps()[0].grow(n_new)
        self.table.extend(keys)
        self.names += names
        self._row_family = np.concatenate([self._row_family, families_of(names)])
        self.counts = np.concatenate([self.counts, counts])

    def set_pattern(self, pattern: Floats) -> None:
        """Weights for other label patterns, those of the automaton from now on."""
        self.pattern = pattern
        self._change()
        self._reset_optimizer()

    # persistence

    def to_device(self, device_type: str, device_id: int) -> None:
        """Nothing to move: the weights stay in main memory."""

    def copy(self) -> Weights:
        # Lists of its own: the bytes bring their entries.
        old = self.extractor
        extractor = Extractor(
            old.features,
            Gazetteers(old.gazetteers.settings),
            Tables(old.tables.settings),
            Extensions(),
        )
        other = Weights(extractor, self.l2, self.learn_rate_scale)
        return other.from_bytes(self.to_bytes())

    def to_bytes(self) -> bytes:
        """RETURNS (bytes): Features and weights, those in single precision; no state
        of the optimizer."""
        parts = {x: getattr(self.extractor, x).to_dict() for x in PARTS}
        stored = Stored(
            keys=self.table.keys,
            parts={name: data for name, data in parts.items() if data},
            functions=self.extractor.features.functions.functions,
            **{name: getattr(self, name) for name in _STORED},
        )
        return stored.to_bytes()

    def from_bytes(self, data: bytes) -> Weights:
        """RETURNS (Weights): Itself.

        RAISES (ValueError): HS062 truncated; HS063 saved by a newer version; HS111
            features of functions that are not there.
        """
        stored = Stored.from_bytes(data, self.extractor.features.functions.functions)
        self._set_rows(stored.keys, stored.names, stored.pairs)
        try:
            for part in PARTS:
                getattr(self.extractor, part).load(stored.parts.get(part, {}))
        except (KeyError, TypeError, ValueError, zlib.error) as e:
            raise truncated(repr(e)) from None
        self.extractor.clear()
        for name in _STORED:
            setattr(self, name, getattr(stored, name))
        self._reset_optimizer()
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        args = self.extractor, self.l2, self.learn_rate_scale, self.to_bytes()
        return _unpickle, args


def _unpickle(
    extractor: Extractor, l2: dict[str, float], scale: float, data: bytes
) -> Weights:
    return Weights(extractor, l2, scale).from_bytes(data)
