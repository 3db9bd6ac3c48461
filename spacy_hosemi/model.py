"""Scores from features: the sparse linear model. The only file with weights.

    inside[i, y] = sum of weight[row, y] over the rows that token i reads as inside
    start, end   : likewise, in their roles

The weights live in a Thinc shim, since a Thinc parameter would be updated densely.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import srsly
from numpy.typing import NDArray
from spacy.tokens import Doc
from thinc.api import Model, Optimizer, Shim

from .core import CELLS, Potentials
from .core.rows import RowTable, gather, scatter
from .errors import Errors, Warnings
from .features import ROLES, Extractor, FeatureSet, make_features
from .optimizers import SparseAdagrad

FORMAT = 1

# Every feature has a weight for each label, while there are no more weights than this.
MAX_WEIGHTS = 5_000_000

# What a regularisation weight may be given for.
FAMILIES = (*ROLES, "pattern", "length")

Floats = NDArray[np.float64]
Rows = dict[str, tuple[NDArray[np.int32], NDArray[np.int32]]]
L2 = float | dict[str, float]


def build_span_scorer(
    tok2vec: Model | None = None,
    features: FeatureSet | None = None,
    l2: L2 = 0.1,
    learn_rate_scale: float = 100.0,
) -> Model[list[Doc], list[Potentials]]:
    """Registered as "spacy_hosemi.SpanScorer.v1" in `architectures`.

    tok2vec (Optional[Model]): Reserved; null in this version.
    features (Optional[FeatureSet]): What is read; by default the default preset.
    l2 (Union[float, Dict[str, float]]): Online training: weight of half the squared
        norm, for all or by family (inside, start, end, pattern, length).
    learn_rate_scale (float): Online training: the optimizer's learn rate is multiplied
        by this; the default makes spaCy's 0.001 a good rate.
    RETURNS (Model[List[Doc], List[Potentials]]): To be initialized by the component.
    RAISES (ValueError): HS053 tok2vec; HS054 unknown family.
    """
    if tok2vec is not None:
        raise ValueError(Errors.HS053.format(name="hosemi"))
    extractor = Extractor(features or make_features())
    weights = Weights(extractor, family_values("l2", l2), learn_rate_scale)
    return Model("span_scorer", forward, shims=[weights])


def forward(
    model: Model[list[Doc], list[Potentials]], docs: list[Doc], is_train: bool
) -> tuple[list[Potentials], Any]:
    """Potentials of each document; backprop takes gradients of the same shapes."""
    weights = weights_of(model)
    rows = [weights.rows(doc) for doc in docs]
    potentials = [weights.potentials(r, len(doc)) for r, doc in zip(rows, docs)]

    def backprop(gradients: Sequence[Potentials]) -> list[Doc]:
        for r, gradient in zip(rows, gradients):
            weights.accumulate(r, gradient)
        return docs

    return potentials, backprop


def weights_of(model: Model[Any, Any]) -> Weights:
    """The shim of a span scorer."""
    shim = model.shims[0]
    assert isinstance(shim, Weights)
    return shim


def family_values(name: str, value: float | Mapping[str, float]) -> dict[str, float]:
    """One value for each family.

    RAISES (ValueError): HS054 if a family is unknown.
    """
    if not isinstance(value, Mapping):
        return dict.fromkeys(FAMILIES, float(value))
    for family in value:
        if family not in FAMILIES:
            raise ValueError(
                Errors.HS054.format(name=name, found=family, expected=FAMILIES)
            )
    return {family: float(value.get(family, 0.0)) for family in FAMILIES}


class Weights(Shim):
    """Feature dictionary and weights, and their sparse updates.

    extractor (Extractor): What is read.
    l2 (Dict[str, float]): By family, for online training.
    learn_rate_scale (float): Multiplies the optimizer's learn rate.

    matrix (float64 [R, L]): Weights of features; rows of all roles.
    pattern (float64 [M]): Weights of label patterns; -inf: forbidden, never changed.
    length (float64 [L, D]): Weights of lengths up to D, if they are learnt.
    """

    def __init__(
        self, extractor: Extractor, l2: dict[str, float], learn_rate_scale: float
    ) -> None:
        super().__init__(None)
        self.extractor = extractor
        self.l2 = l2
        self.learn_rate_scale = learn_rate_scale
        self.names: list[str] = []
        self.allocate([], [], [], np.zeros(0), np.zeros((0, 1)), np.zeros(0))

    def allocate(
        self,
        keys: Sequence[int] | NDArray[np.uint64],
        names: Sequence[str],
        counts: Sequence[int] | NDArray[np.int64],
        pattern: Floats,
        length: Floats,
        tail: Floats,
        *,
        learn_length: bool = False,
        n_docs: int = 1,
    ) -> None:
        """Zero weights for these features, patterns and lengths.

        keys (uint64 [R]): Distinct feature keys.
        names (Sequence[str]): "role:TEMPLATE=value" of each row.
        counts (int [R]): Training documents in which each row fires.
        pattern (float64 [M]): 0, or -inf where forbidden.
        length (float64 [L, D]): Fixed part of the length potentials.
        tail (float64 [L]): Fixed.
        learn_length (bool): Whether lengths have weights too.
        n_docs (int): Training documents.
        """
        self._set_rows(keys, names)
        self.counts = np.asarray(counts, np.int64)
        self.n_docs = n_docs
        self.matrix = np.zeros((len(self.table), len(tail)))
        self.pattern = pattern
        self.length = np.array(length, np.float64)
        self.tail = tail
        self.learn_length = learn_length
        self.is_trained = False
        self._reset_optimizer()

    def put_features_on_tokens(self) -> None:
        """Read all features as inside ones: the segments are single tokens."""
        self.extractor = Extractor(self.extractor.features.on_tokens())

    def _set_rows(self, keys: Any, names: Sequence[str]) -> None:
        """The dictionary of features, and the family of each row."""
        self.table = RowTable(np.asarray(keys, np.uint64))
        self.names = list(names)
        index = {family: k for k, family in enumerate(FAMILIES)}
        families = [index[name.split(":", 1)[0]] for name in self.names]
        self._row_family = np.array(families, np.intp)

    def _reset_optimizer(self) -> None:
        """Forget the steps taken, after the weights were replaced."""
        self._matrix_step: SparseAdagrad | None = None
        self._dense_step: SparseAdagrad | None = None
        self._n_gradients = 0

    @property
    def is_learnt(self) -> NDArray[np.bool_]:
        """Which of pattern and length (in one vector) have weights to learn."""
        lengths = np.isfinite(self.length) & self.learn_length
        return np.concatenate([np.isfinite(self.pattern), lengths.ravel()])

    # scores

    def rows(self, doc: Doc) -> Rows:
        """RETURNS (Dict[str, (first [n + 1], rows [K])]): Known rows, by role."""
        keys = self.extractor.keys(doc)
        return {role: self.table.rows(keys[role]) for role in ROLES}

    def potentials(self, rows: Rows, n_tokens: int) -> Potentials:
        """RETURNS (Potentials): Scores of a document of n tokens."""
        scores = {role: np.zeros((n_tokens, len(self.tail))) for role in ROLES}
        for role in ROLES:
            gather(*rows[role], self.matrix, scores[role])
        return self.with_scores(**scores)

    def with_scores(self, inside: Floats, start: Floats, end: Floats) -> Potentials:
        """RETURNS (Potentials): These scores, with weights of patterns and length."""
        return Potentials(
            inside=inside,
            start=start,
            end=end,
            length=self.length,
            tail=self.tail,
            cells=np.zeros(0, CELLS),
            pattern=self.pattern,
        )

    # online training

    def accumulate(self, rows: Rows, gradient: Potentials) -> None:
        """Add the gradient of one document."""
        matrix, dense = self._steps()
        for role in ROLES:
            scatter(*rows[role], getattr(gradient, role), matrix.gradient)
            matrix.touched.append(rows[role][1])
        vector = np.concatenate([gradient.pattern, gradient.length.ravel()])
        dense.gradient[:, 0] += np.where(self.is_learnt, vector, 0.0)
        dense.touched.append(np.flatnonzero(self.is_learnt).astype(np.int32))
        self._n_gradients += 1

    def finish_update(self, optimizer: Optimizer) -> None:
        """Step on all rows that fired since the last call."""
        if self._matrix_step is None or not self._n_gradients:
            return
        matrix, dense = self._steps()
        rate = self.learn_rate_scale * float(optimizer.learn_rate)
        # In one pass over the data a row meets the objective's l2 once in all: shared
        # by the documents in which it fires.
        shares = np.minimum(self._n_gradients / np.maximum(self.counts, 1), 1.0)
        matrix.step(self.row_values(self.l2) * shares, rate)
        share = min(self._n_gradients / self.n_docs, 1.0)
        dense.step(self._dense_values(self.l2) * share, rate)
        self._write_dense(dense.weights[:, 0])
        self._n_gradients = 0
        self.is_trained = True
        if optimizer.averages is not None:
            # Thinc's averages are arrays by key; ours are brought up to date only when
            # they are used.
            averages: dict[Any, Any] = optimizer.averages
            averages[(self.id, "hosemi")] = np.zeros(0, "f")

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
            dense = np.concatenate([self.pattern, self.length.ravel()])
            self._matrix_step = SparseAdagrad(self.matrix)
            self._dense_step = SparseAdagrad(
                np.where(self.is_learnt, dense, 0.0)[:, None]
            )
        return self._matrix_step, self._dense_step

    def _write_dense(self, vector: Floats) -> None:
        learnt = self.is_learnt
        split = len(self.pattern)
        pattern = np.where(learnt[:split], vector[:split], self.pattern)
        length = np.where(learnt[split:], vector[split:], self.length.ravel())
        self.pattern, self.length = pattern, length.reshape(self.length.shape)

    # all weights as one vector

    def row_values(self, values: Mapping[str, float]) -> Floats:
        """RETURNS (float64 [R]): For each row the value of its family."""
        return np.array([values[family] for family in FAMILIES])[self._row_family]

    def _dense_values(self, values: Mapping[str, float]) -> Floats:
        return np.concatenate(
            [
                np.full(self.pattern.size, values["pattern"]),
                np.full(self.length.size, values["length"]),
            ]
        )

    def vector(self) -> Floats:
        """RETURNS (float64 [N]): matrix, then what is learnt of pattern and length."""
        dense = np.concatenate([self.pattern, self.length.ravel()])[self.is_learnt]
        return np.concatenate([self.matrix.ravel(), dense])

    def vector_values(self, values: Mapping[str, float]) -> Floats:
        """RETURNS (float64 [N]): For each weight the value of its family."""
        rows = np.repeat(self.row_values(values), self.matrix.shape[1])
        return np.concatenate([rows, self._dense_values(values)[self.is_learnt]])

    def set_vector(self, vector: Floats) -> None:
        """Inverse of `vector`.

        RAISES (ValueError): HS055 length.
        """
        learnt = self.is_learnt
        expected = self.matrix.size + int(learnt.sum())
        if vector.shape != (expected,):
            raise ValueError(Errors.HS055.format(found=vector.shape, expected=expected))
        self.matrix = vector[: self.matrix.size].reshape(self.matrix.shape).copy()
        dense = np.concatenate([self.pattern, self.length.ravel()])
        dense[learnt] = vector[self.matrix.size :]
        self._write_dense(dense)
        self.is_trained = True
        self._reset_optimizer()

    def gradient_vector(
        self, d_matrix: Floats, pattern: Floats, length: Floats
    ) -> Floats:
        """RETURNS (float64 [N]): These gradients in the order of `vector`."""
        dense = np.concatenate([pattern, length.ravel()])[self.is_learnt]
        return np.concatenate([d_matrix.ravel(), dense])

    # persistence

    def to_device(self, device_type: str, device_id: int) -> None:
        """Nothing to move: the weights stay in main memory."""

    def copy(self) -> Weights:
        other = Weights(self.extractor, self.l2, self.learn_rate_scale)
        return other.from_bytes(self.to_bytes())

    def to_bytes(self) -> bytes:
        """RETURNS (bytes): Features and weights; no optimizer state."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        return srsly.msgpack_dumps(
            {
                "format": FORMAT,
                "keys": self.table.keys,
                "names": "\n".join(self.names),
                "learn_length": self.learn_length,
                "is_trained": self.is_trained,
                "n_docs": self.n_docs,
                **arrays,
            }
        )

    def from_bytes(self, data: bytes) -> Weights:
        """RETURNS (Weights): Itself.

        RAISES (ValueError): HS062 truncated; HS063 saved by a newer version.
        """
        try:
            loaded = srsly.msgpack_loads(data)
            version = loaded["format"]
        except Exception as e:
            raise ValueError(Errors.HS062.format(found=repr(e)[:200])) from None
        if not isinstance(version, int):
            raise ValueError(Errors.HS062.format(found=f"format is {version!r}"))
        if version > FORMAT:
            raise ValueError(Errors.HS063.format(found=version, expected=FORMAT))
        try:
            names = loaded["names"].split("\n") if loaded["names"] else []
            self._set_rows(loaded["keys"], names)
            self.learn_length = loaded["learn_length"]
            self.is_trained = loaded["is_trained"]
            self.n_docs = loaded["n_docs"]
            for name in _ARRAYS:
                setattr(self, name, np.array(loaded[name]))
            self._check_shapes()
        except (KeyError, TypeError, ValueError) as e:
            raise ValueError(Errors.HS062.format(found=repr(e)[:200])) from None
        self._reset_optimizer()
        return self

    def _check_shapes(self) -> None:
        """Arrays that do not fit together would be read out of bounds."""
        n_rows, n_labels = len(self.table), len(self.tail)
        found = {
            "matrix": (self.matrix.shape, (n_rows, n_labels)),
            "names": (len(self.names), n_rows),
            "counts": (len(self.counts), n_rows),
            "length": (len(self.length), n_labels),
        }
        for name, (shape, expected) in found.items():
            if shape != expected:
                raise ValueError(f"{name} has shape {shape}, expected {expected}")

    def __reduce__(self) -> tuple[Any, ...]:
        args = self.extractor, self.l2, self.learn_rate_scale, self.to_bytes()
        return _unpickle, args


_ARRAYS = ("counts", "matrix", "pattern", "length", "tail")


def _unpickle(
    extractor: Extractor, l2: dict[str, float], scale: float, data: bytes
) -> Weights:
    return Weights(extractor, l2, scale).from_bytes(data)


def select_features(
    extractor: Extractor, docs: Sequence[Doc], n_labels: int
) -> dict[str, Any]:
    """The features of training documents that get weights.

    extractor (Extractor): What is read, and how often it must occur.
    docs (Sequence[Doc]): Training documents.
    n_labels (int): Weights of a feature. While rows times labels are more than
        MAX_WEIGHTS, the minimum count is raised.
    RETURNS (Dict[str, Any]): keys, names, counts and n_docs for `Weights.allocate`.
    """
    keys, in_tokens, in_docs, n_docs = count_features(extractor, docs)
    min_count = asked = extractor.features.min_count
    while (in_tokens >= min_count).sum() * n_labels > MAX_WEIGHTS:
        min_count += 1
    if min_count > asked:
        message = Warnings.HSW02.format(
            found=(in_tokens >= asked).sum(),
            columns=n_labels,
            limit=MAX_WEIGHTS,
            min_count=min_count,
        )
        warnings.warn(message, stacklevel=2)
    keep = in_tokens >= min_count
    return {
        "keys": keys[keep],
        "names": name_features(extractor, docs, keys[keep]),
        "counts": in_docs[keep],
        "n_docs": max(n_docs, 1),
    }


def count_features(
    extractor: Extractor, docs: Iterable[Doc]
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64], int]:
    """Which features occur in training documents.

    RETURNS: Keys [R], in how many tokens each fires, in how many documents, and the
        number of documents. Keys are sorted: the same documents give the same rows.
    """
    by_doc = []
    n_docs = 0
    for doc in docs:
        keys = np.concatenate([k.ravel() for k in extractor.keys(doc).values()])
        distinct, counts = np.unique(keys[keys != 0], return_counts=True)
        by_doc.append(np.stack([distinct, counts.astype(np.uint64)]))
        n_docs += 1
    if not by_doc:
        return np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0, np.int64), 0
    together = np.concatenate(by_doc, axis=1)
    keys, inverse, in_docs = np.unique(
        together[0], return_inverse=True, return_counts=True
    )
    in_tokens = np.zeros(len(keys), np.int64)
    np.add.at(in_tokens, inverse.reshape(-1), together[1].astype(np.int64))
    return keys, in_tokens, in_docs.astype(np.int64), n_docs


def name_features(
    extractor: Extractor, docs: Iterable[Doc], keys: NDArray[np.uint64]
) -> list[str]:
    """Readable names of rows.

    keys (uint64 [R]): Sorted; each occurs in the documents.
    RETURNS (List[str]): "role:TEMPLATE=value" of each.
    """
    names: list[str] = [""] * len(keys)
    is_named = np.zeros(len(keys), bool)
    for doc in docs:
        if is_named.all():
            break
        name = extractor.namer(doc)
        for role, found in extractor.keys(doc).items():
            rows = np.searchsorted(keys, found).clip(max=len(keys) - 1)
            for i, t in np.argwhere((keys[rows] == found) & ~is_named[rows]):
                names[rows[i, t]] = f"{role}:{name(role, i, t)}".replace("\n", "\\n")
            is_named[rows[keys[rows] == found]] = True
    return names
