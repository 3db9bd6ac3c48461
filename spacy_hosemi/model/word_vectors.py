"""A tok2vec of word vectors, as the vocabulary has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import repeat
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import LOWER, ORTH  # type: ignore[import-not-found]
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Model

from ..arrays import Keys
from ..errors import Errors

Vectors = NDArray[np.float32]

# Numbers of tables that have a digest, with that many keys.
_KNOWN: dict[tuple[str, int, int], ref[Any]] = {}


def build_word_vectors() -> Model[list[Doc], list[Any]]:
    """Registered as "spacy_hosemi.WordVectors.v1" in `architectures`: the vector of
    each word in `nlp.vocab.vectors`, by ORTH, else by LOWER, else 0; of a floret table
    its own. They are never trained. A model loads with the same vectors only; its
    `initialize` raises ValueError HS384 where the vocabulary has none."""
    attrs = {"reads_words": True, "knows_words": True, "digest": ""}
    return Model("word_vectors", forward, init=init, dims={"nO": None}, attrs=attrs)


def init(
    model: Model[list[Doc], list[Any]], X: list[Doc] | None = None, Y: Any = None
) -> None:
    """Takes the width of the vocabulary of the documents, and notes its vectors."""
    if X:
        model.attrs["digest"] = digest_of_vectors(X[0].vocab)
        model.set_dim("nO", X[0].vocab.vectors.shape[1], force=True)


def forward(
    model: Model[list[Doc], list[Any]], docs: Sequence[Doc], is_train: bool
) -> tuple[list[Any], Callable[[Any], Sequence[Doc]]]:
    """Returns the vectors of each document [n, d]; nothing is trained."""
    ops: Any = model.ops
    vectors = []
    for doc in docs:
        check_once(model.attrs["digest"], doc.vocab)
        orths: Any = doc.to_array(ORTH)
        vectors.append(ops.asarray2f(vectors_of_words(doc.vocab, orths)))
    return vectors, lambda d_vectors: docs


def vectors_of_words(vocab: Vocab, orths: Keys) -> Vectors:
    """Returns the vectors of words, float32 [K, d]."""
    vectors = np.zeros((len(orths), vocab.vectors.shape[1]), np.float32)
    for which, known in known_vectors(vocab, orths, len(orths)):
        vectors[which] = known
    return vectors


def known_vectors(
    vocab: Vocab, orths: Keys, most: int
) -> Iterator[tuple[NDArray[np.intp], Vectors]]:
    """Yields the places of words that have a vector, int [M], M at most `most`, and
    their vectors, float32 [M, d]."""
    table: Any = vocab.vectors
    if str(table.mode) == "floret":
        rows, data = np.arange(len(orths)), table.get_batch(orths.tolist())
    else:
        rows, data = _rows_of(table, orths), table.data
        if len(unknown := np.flatnonzero(rows < 0)):
            words: Any = orths[unknown].tolist()
            # A lexeme for each of them would take twice as long.
            lower: Any = Doc(vocab, words=words).to_array(LOWER)
            rows[unknown] = _rows_of(table, lower)
    which = np.flatnonzero(rows >= 0)
    for i in range(0, len(which), max(most, 1)):
        at = which[i : i + most]
        yield at, np.asarray(data[rows[at]], np.float32)


def _rows_of(table: Any, keys: Keys) -> NDArray[np.intp]:
    """Returns the rows of keys, or -1, in a third of the time of `Vectors.find`."""
    rows = map(table.key2row.get, keys.tolist(), repeat(-1))
    return np.fromiter(rows, np.intp, len(keys))


def digest_of_vectors(vocab: Vocab) -> str:
    """Returns what tells vectors apart. Raises ValueError HS384 if there are none."""
    table = vocab.vectors
    if not (table.shape[0] and table.shape[1]):
        raise ValueError(Errors.HS384)
    known = f"{table.mode} {table.shape} {len(table)} {table.n_keys}"
    digest = sha256(known.encode("utf8"))
    digest.update(np.ascontiguousarray(table.data).data)
    # Which word has which row; a saved table may have its words in another order.
    words = np.fromiter(table.key2row.keys(), np.uint64)
    order, rows = np.argsort(words), np.fromiter(table.key2row.values(), np.int64)
    digest.update(words[order].tobytes() + rows[order].tobytes())
    return digest.hexdigest()


def check_vectors(model: Model[Any, Any], vocab: Vocab) -> None:
    """Raises ValueError HS390 if a model was trained with other word vectors."""
    for node in model.walk():
        if digest := "knows_words" in node.attrs and node.attrs["digest"]:
            _check(digest, vocab)


def check_once(digest: str, vocab: Vocab) -> None:
    """Does so by the digest, for tables that it does not know."""
    table = vocab.vectors
    key = digest, id(table.data), table.n_keys
    if (known := _KNOWN.get(key)) is None or known() is not table.data:
        _check(digest, vocab)
        _KNOWN[key] = ref(table.data)


def _check(digest: str, vocab: Vocab) -> None:
    if digest != digest_of_vectors(vocab):
        raise ValueError(Errors.HS390.format(found=vocab.vectors.shape))
