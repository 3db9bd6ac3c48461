"""Scores from a tok2vec: a linear layer gives each token scores in three roles.

    inside[i, y], start[i, y], end[i, y] += W tok2vec[i] + b

They are added to those of the sparse features, and both are trained by the same
gradient. W and b begin with 0: without a step, nothing is changed. A fit reads the
vectors once and finds W and b with the other weights, see `VectorWeights`; the tok2vec
stays as it is.

Sparse weights are published as states that never change. The parameters of a tok2vec
are not: training online and prediction take turns, see `TURNS`. A fit makes a new
linear layer, so that the states before it keep theirs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import RLock
from time import process_time
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.util import logger, replace_model_node
from spacy.vocab import Vocab
from thinc.api import Linear, Model, zero_init

from ..arrays import Floats, Keys
from ..core.potentials import HIGHEST, Potentials
from ..errors import Errors, Warnings
from ..features.instances import documents
from .word_vectors import Vectors, check_once, known_vectors

ROLES = ("inside", "start", "end")

Tok2Vec = Model[list[Doc], list[Any]]

# (vocab, ORTH of K words) -> scores [K, 3 L].
WordScores = Callable[[Vocab, Keys], Floats]

# A tok2vec and the linear layer behind it.
Encoder = tuple[Tok2Vec, Any]

# A fit has a weight for a vector's number in this many standard deviations: it takes
# half the iterations, since then these weights curve its objective as others do. Their
# penalty is that of weights for single standard deviations.
UNIT = 30**0.5

# Documents that are encoded by one call; vectors that are in double precision at a
# time, so that they stay in the cache of the processor.
_N_TOGETHER, _N_ROWS = 256, 512

# The most multiplications in a product of vectors of new words: of more, BLAS makes
# several threads, which take ten times as long for so little.
_SIZE_OF_PRODUCT = 2**18

# Seconds from which on the time of an encoder is said.
_LONG = 1.0

# While a fit goes on: the vectors of documents that were encoded, by encoder and words.
_KEPT: ContextVar[dict[Any, Vectors] | None] = ContextVar("_KEPT", default=None)

# Under it training changes the parameters of a tok2vec, and prediction reads them. One
# for all models, because a lock in a model could not be copied.
TURNS = RLock()


def encoder_of(model: Model[Any, Any]) -> Encoder:
    """Returns the tok2vec of a span scorer that has one, and its present layer."""
    return model.get_ref("tok2vec"), model.get_ref("output")


def make_output(n_labels: int | None = None, width: int | None = None) -> Model:
    """Returns the linear layer, from vectors of a width to all scores."""
    n_scores = None if n_labels is None else len(ROLES) * n_labels
    return Linear(n_scores, width, init_W=zero_init)


def set_output(model: Model[Any, Any], n_labels: int | None) -> None:
    """Gives a span scorer with a tok2vec a new linear layer for L labels, outside
    included; None: not known yet. A tok2vec with a digest of its vectors is copied."""
    if model.layers:
        tok2vec = model.get_ref("tok2vec")
        if "digest" in tok2vec.attrs:
            tok2vec = tok2vec.copy()
            if n_labels is None:
                tok2vec.set_dim("nO", None, force=True)  # type: ignore[arg-type]
        output = make_output(n_labels, tok2vec.maybe_get_dim("nO"))
        use_encoder(model, (tok2vec, output))


def use_encoder(model: Model[Any, Any], encoder: Encoder) -> None:
    """Gives a span scorer another tok2vec and linear layer."""
    for old, new in zip(encoder_of(model), encoder):
        if old is not new:
            replace_model_node(model, old, new)


def add_labels(model: Model[Any, Any], n_labels: int) -> None:
    """Appends labels to the output layer of a span scorer with a tok2vec, so that it
    has `n_labels`; their scores are its least bias at first."""
    if not model.layers:
        return
    old = model.get_ref("output")
    ops: Any = old.ops
    n_roles = len(ROLES)
    # [3 L, width] as [3, L, width]: the labels of each role stand together
    weights = ops.to_numpy(old.get_param("W")).reshape(n_roles, -1, old.get_dim("nI"))
    bias = ops.to_numpy(old.get_param("b")).reshape(n_roles, -1)
    more = (0, 0), (0, n_labels - bias.shape[1])
    weights = np.pad(weights, (*more, (0, 0)))
    bias = np.pad(bias, more, constant_values=bias.min(initial=0.0))
    # A new layer: the optimizer has state in the shape of the old one.
    new = make_output(n_labels, old.get_dim("nI"))
    new.set_param("W", ops.asarray2f(weights.reshape(-1, old.get_dim("nI"))))
    new.set_param("b", ops.asarray1f(bias.ravel()))
    replace_model_node(model, old, new)


def add_scores(
    encoder: Encoder,
    parts: Sequence[Doc],
    potentials: Sequence[Potentials],
    is_train: bool,
) -> Callable[[Sequence[Potentials]], None]:
    """Adds the scores of a tok2vec to potentials of parts: documents, or all sentences
    of some. Returns what takes gradients in the shapes of the potentials."""
    docs, borders = documents(parts)
    tok2vec, output = encoder
    lengths = np.array([len(doc) for doc in docs], np.int32)
    vectors, backprop_vectors = tok2vec(docs, is_train)
    if not borders[-1]:
        return lambda gradients: None
    ops: Any = output.ops
    scores, backprop_scores = output(ops.flatten(vectors), is_train)
    if not np.isfinite(scores.sum()):
        for args in zip(vectors, docs):
            _checked(*args, output.get_dim("nI"), tok2vec)
    by_role = np.split(ops.to_numpy(scores), len(ROLES), axis=1)
    for i, j, part in zip(borders, borders[1:], potentials):
        for role, of_role in zip(ROLES, by_role):
            of_part = getattr(part, role)
            # The layer may have got more labels since the state was published.
            of_part += of_role[i:j, : of_part.shape[1]]

    def backprop(gradients: Sequence[Potentials]) -> None:
        rows = [np.hstack([getattr(g, role) for role in ROLES]) for g in gradients]
        d_vectors = backprop_scores(ops.asarray2f(np.concatenate(rows)))
        backprop_vectors(ops.unflatten(d_vectors, lengths))

    return backprop


def _slices(n: int, size: int) -> list[slice]:
    """Returns slices of a size that cover n items."""
    return [slice(i, min(i + size, n)) for i in range(0, n, size)]


@dataclass(frozen=True, eq=False)
class VectorWeights:
    """The weights of frozen vectors x [d] of tokens, for L labels, while a fit finds
    them.

        score[role, y] = sum over k of W[k, role, y] (x[k] - mean[k]) / scale[k]
    """

    matrix: Floats  # [d, 3 L]: W, of the roles inside, start and end
    mean: Floats  # [d], that of the vectors of all training tokens
    scale: Floats  # [d], UNIT times their standard deviations

    @property
    def layer(self) -> tuple[Floats, Floats]:
        """Weights of vectors as they are, [d, 3 L], and what is added, [3 L]."""
        weights = self.matrix / self.scale[:, None]
        return weights, -self.mean @ weights

    def add_scores(self, vectors: Vectors, scores: Mapping[str, Floats]) -> None:
        """Adds the scores of n vectors to scores by role, [n, L] of each."""
        weights, offset = self.layer
        n_labels = len(offset) // len(ROLES)
        for at in _slices(len(vectors), _N_ROWS):
            rows = vectors[at].astype(np.float64) @ weights + offset
            for k, role in enumerate(ROLES):
                scores[role][at] += rows[:, k * n_labels : (k + 1) * n_labels]

    def gradient(self, vectors: Vectors, d_scores: Mapping[str, Floats]) -> Floats:
        """Transposes `add_scores`: returns derivatives in the shape of the matrix."""
        d_matrix, total = np.zeros(self.matrix.shape), np.zeros(self.matrix.shape[1])
        for at in _slices(len(vectors), _N_ROWS):
            d_rows = np.concatenate([d_scores[role][at] for role in ROLES], axis=1)
            d_matrix += vectors[at].astype(np.float64).T @ d_rows
            total += d_rows.sum(axis=0)
        d_matrix -= np.outer(self.mean, total)
        d_matrix /= self.scale[:, None]
        return d_matrix


def no_weights(vectors: Vectors, n_labels: int) -> VectorWeights:
    """Returns weights of 0 for vectors [N, d] of training tokens. Warns by HSW99 if all
    are the same, as of words without one."""
    mean, scale = np.zeros((2, vectors.shape[1]))
    if len(vectors):
        mean = vectors.mean(axis=0, dtype=np.float64)
        scale = vectors.std(axis=0, dtype=np.float64)
    matrix = np.zeros((vectors.shape[1], len(ROLES) * n_labels))
    # In single precision, as an output layer is, numbers that hardly vary are constant.
    varies = scale > np.maximum(np.abs(mean) * 1e-5, np.finfo("f").tiny)
    if len(vectors) > 1 and not varies.any():
        warnings.warn(Warnings.HSW99.format(found=len(vectors)), stacklevel=3)
    return VectorWeights(matrix, mean, UNIT * np.where(varies, scale, np.inf))


def write_output(model: Model[Any, Any], weights: VectorWeights) -> None:
    """Gives a span scorer an output layer with the weights that a fit has found."""
    matrix, offset = weights.layer
    output: Any = model.get_ref("output")
    output.set_param("W", output.ops.asarray2f(matrix.T))
    output.set_param("b", output.ops.asarray1f(offset))


def knows_words(encoder: Encoder) -> bool:
    """Whether a tok2vec has one vector for each word."""
    return "knows_words" in encoder[0].attrs


def scores_of_words(encoder: Encoder) -> WordScores:
    """Returns what gives the scores of words, by a tok2vec that `knows_words`. It
    raises ValueError HS390 for a vocabulary with other vectors."""
    with TURNS:
        tok2vec, output = encoder
        matrix, offset = (output.get_param(x).astype(np.float64) for x in ("W", "b"))
    weights, digest = np.ascontiguousarray(matrix.T), tok2vec.attrs["digest"]
    most = max(_SIZE_OF_PRODUCT // max(weights.size, 1), 2)

    def scores_of(vocab: Vocab, orths: Keys) -> Floats:
        check_once(digest, vocab)
        scores: Floats = np.tile(offset, (len(orths), 1))
        with np.errstate(invalid="ignore"):
            for which, vectors in known_vectors(vocab, orths, most):
                scores[which] += vectors.astype(np.float64) @ weights
        is_bad = ~(np.abs(scores).max(axis=1) <= HIGHEST)  # or NaN
        if is_bad.any():
            bad = orths[is_bad].tolist()
            text = " ".join(vocab.strings[x] for x in bad)[:80]
            found = "NaN, infinity or too large numbers"
            args = {"found": found, "expected": (len(orths), len(weights))}
            raise ValueError(Errors.HS389.format(text=text, **args))
        return scores

    return scores_of


def reads_words(encoder: Encoder) -> bool:
    """Whether a tok2vec reads nothing but words, of any document."""
    return "reads_words" in encoder[0].attrs


def is_frozen(model: Model[Any, Any]) -> bool:
    """Whether the tok2vec of a span scorer has no parameters of its own."""
    return not any(node.param_names for node in model.get_ref("tok2vec").walk())


def check_frozen(
    model: Model[Any, Any], name: str, upstream: Mapping[str, Any], frozen: Any
) -> None:
    """Raises ValueError for a tok2vec that a fit would have to train: HS385 it has
    parameters of its own, HS386 it listens to none of the components `upstream`, to one
    that nobody has trained, or to one that is not `frozen`; None: all are."""
    for node in model.get_ref("tok2vec").walk():
        if node.param_names:
            raise ValueError(Errors.HS385.format(found=node.name, name=name))
        if (heard := getattr(node, "upstream_name", None)) is not None:
            # spaCy gives a listener the vectors of the last one that it may listen to.
            keys = [key for key in upstream if heard in (key, "*")]
            found = keys[-1] if keys else heard
            stays = frozen is None or found in frozen
            if reason := _why_not(upstream.get(found), stays):
                args = {"found": found, "reason": reason, "name": name}
                raise ValueError(Errors.HS386.format(**args))


def _why_not(component: Any, stays: bool) -> str:
    """Returns why a fit cannot take the vectors of a component; "": it can."""
    if component is None:
        return "is not in front of it"
    nodes = component.model.walk()
    if any(not node.has_param(x) for node in nodes for x in node.param_names):
        return "nobody has trained"
    return "" if stays else "is going to change"


@contextmanager
def keeping_vectors() -> Iterator[None]:
    """Keeps the vectors of documents that are encoded within, by their words."""
    token = _KEPT.set({} if (kept := _KEPT.get()) is None else kept)
    try:
        yield
    finally:
        _KEPT.reset(token)


def vectors_of(
    encoder: Encoder,
    parts: Sequence[Doc],
    progress: Callable[[list[slice]], Iterable[slice]] = iter,
) -> Vectors:
    """Returns the vectors of all tokens of parts, which are documents, or all sentences
    of documents. Raises ValueError HS389 if these are none, or of another width."""
    docs, _ = documents(parts)
    tok2vec, width = encoder[0], encoder[1].get_dim("nI")
    kept, digest = _KEPT.get(), tok2vec.attrs.get("digest")
    if kept is None or digest is None:
        kept = {}
    keys = [(digest, doc.text, doc.to_array("ORTH").tobytes()) for doc in docs]
    missing = [*{x: doc for x, doc in zip(keys, docs) if x not in kept}.items()]
    began, n = process_time(), sum(len(doc) for _, doc in missing)
    for at in progress(_slices(len(missing), _N_TOGETHER)):
        together = missing[at]
        vectors = tok2vec.predict([doc for _, doc in together])
        for (key, doc), of_doc in zip(together, vectors):
            kept[key] = _checked(tok2vec.ops.to_numpy(of_doc), doc, width, tok2vec)
    if n and (seconds := process_time() - began) > _LONG:
        logger.info("Encoded %s tokens in %.1f CPU s", f"{n:,}", seconds)
    return np.concatenate([np.zeros((0, width), np.float32), *(kept[x] for x in keys)])


def _checked(vectors: Any, doc: Doc, width: int, tok2vec: Tok2Vec) -> Vectors:
    """Returns the vectors of a document, or raises HS389."""
    listens = any(hasattr(node, "upstream_name") for node in tok2vec.walk())
    if (found := vectors.shape) == (len(doc), width):
        if not np.isfinite(vectors).all():
            found = "NaN or infinity"
        elif listens and len(doc) and not vectors.any():
            found = "nothing but 0, as before its component has annotated the document"
        else:
            return np.asarray(vectors, np.float32)
    args = {"text": doc.text[:80], "expected": (len(doc), width)}
    raise ValueError(Errors.HS389.format(found=found, **args))
