"""Potentials for prediction, with the scores of each word computed once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ...arrays import Floats, Ints, Keys
from ...core import Potentials
from ...core.parallel.coroutines import Steps
from ...core.potentials import ManyPotentials
from ...features import Extractor, Reading, Template, WordCache
from ...features.kernels.key_table import RowTable
from ...features.kernels.word_index import take_columns
from .. import tok2vec
from ..active_features import (
    NO_SEGMENTS,
    Columns,
    PlaceRows,
    Rows,
    SegmentRows,
    by_document,
    known_places,
    known_segments,
    read_docs,
    with_listed,
)
from ..kernels.gather import gather_merged_cells
from ..kernels.token_scores import BlockScores, ListScores, TemplateScores, TokenScoring
from ..state import ModelState
from ..tok2vec import ROLES
from .packing import to_single
from .pairs import WeightPairs
from .potentials import add_scores, dense_rows, pair_arrays, score_rows, split, zeros
from .state import WeightState

# Whether predictions sum the weights of a word once; tests compare with and without.
CACHES_WORDS = True

# The most memory that the scores of words take.
CACHE_BYTES = 64_000_000

_NONE = np.zeros(0, np.int32)


class DocScorer:
    """Computes potentials for prediction: those of `score_rows`, but the scores of a
    word are summed only once, and weights are in single precision, as in a saved model.

    state (WeightState): The weights.
    is_single (bool): Whether a saved model has these weights. If they are sums of what
        it has, only those of tokens are in single precision.
    whole (Optional[ModelState]): What the weights are of. Its tok2vec, if it has one,
        adds its scores; one that knows a word's vector adds them to those of the word.
    rows (Optional[Iterable[Rows]]): The features of all documents to come, if they have
        been read.

    has_encoder (bool): Whether there is a tok2vec.
    reads_words (bool): Whether nothing but the words of a document is read, so that a
        document of clean words will do.
    """

    def __init__(
        self,
        state: WeightState,
        is_single: bool = True,
        whole: ModelState | None = None,
        rows: Iterable[Rows] | None = None,
    ) -> None:
        self._rows = None if rows is None else iter(rows)
        sums_words = state.is_trained and rows is None
        self._is_single = is_single
        self._whole = whole
        self._encoder = encoder = None if whole is None else whole.encoder
        self.has_encoder = encoder is not None
        self.reads_words = encoder is None or tok2vec.reads_words(encoder)
        self._of_tokens: TokenScores | None = None
        # Whether the scores of words have those of their vectors; not within a fit.
        is_made = sums_words and state.of_vectors is None
        self._has_vectors = bool(is_made and encoder and tok2vec.knows_words(encoder))
        if self._has_vectors and whole is not None:
            whole = whole if whole.weights is state else replace(whole, weights=state)
            self._of_tokens = whole.cached(_scores_with_vectors)
        elif sums_words:
            self._of_tokens = state.cached(_token_scores)
        if is_single:
            names = "pattern", "length", "tail"
            single: dict[str, Any] = {x: to_single(getattr(state, x)) for x in names}
            state = replace(state, **single)
        self.state = state

    def steps(self, docs: Sequence[Doc]) -> Steps[Sequence[Potentials]]:
        """Returns the potentials of documents of the same vocabulary."""
        state, of_tokens = self.state, self._of_tokens
        if of_tokens is None or not docs or not CACHES_WORDS:
            rows = self._rows or (read_docs(state, [doc]) for doc in docs)
            each = [score_rows(state, x)[0] for _, x in zip(docs, rows)]
            return self._add_neural(docs, each) if self.has_encoder else each
        extractor, table, roles = state.extractor, state.table, of_tokens.roles
        # Roles of transitions read all attributes.
        subset = None if state.n_observed else of_tokens.subset
        reading = extractor.read(docs, subset=subset)
        if of_tokens.has_templates:
            task, scores = of_tokens.task(reading, is_partial=subset is not None)
            yield task
        else:
            scores = np.zeros((len(roles), len(reading.values), len(state.tail)))
        by_role = dict(zip(roles, scores))
        for listed in reading.listed:
            rows_of_role = with_listed(None, listed, table)
            add_scores(state, {listed.role: rows_of_role}, by_role)
        segments = NO_SEGMENTS
        if len(reading.segments.keys):
            segments = known_segments(reading.segments, table)
        first = reading.instances.first
        if state.n_observed:
            rows_by_role = {
                role: table.rows(reading.keys_of(role))
                for role in extractor.features.transition_roles
            }
            of_segments = by_document(SegmentRows, segments, first)
            places = by_document(PlaceRows, known_places(rows_by_role), first)
            rows_of = Rows(first, {}, of_segments, places)
            potentials: Sequence[Potentials]
            potentials = split(state, by_role, rows_of, self._is_single)
        else:
            potentials = _together(state, by_role, segments, first, self._is_single)
        if self.has_encoder and not self._has_vectors:
            return self._add_neural(docs, potentials)
        return potentials

    def _add_neural(
        self, docs: Sequence[Doc], potentials: Sequence[Potentials]
    ) -> Sequence[Potentials]:
        """Adds the scores of the tok2vec; returns the potentials of each document."""
        assert self._encoder is not None
        each = [*potentials]
        if (of_vectors := self.state.of_vectors) is not None:  # a fit goes on
            rows = tok2vec.vectors_of(self._encoder, docs)
            borders = np.cumsum([len(doc) for doc in docs])
            for vectors, of_doc in zip(np.split(rows, borders), each):
                of_vectors.add_scores(vectors, {x: getattr(of_doc, x) for x in ROLES})
            return each
        with tok2vec.TURNS:
            tok2vec.add_scores(self._encoder, docs, each, is_train=False)
        return each

    def using(self, state: WeightState) -> DocScorer:
        """Returns a scorer of the same kind with other weights."""
        return DocScorer(state, self._is_single, self._whole)

    def of_encoder(self, docs: Sequence[Doc]) -> Sequence[Potentials] | None:
        """Returns the tok2vec's scores of documents, or of all their sentences; None
        without a tok2vec."""
        if not self.has_encoder:
            return None
        return self._add_neural(docs, [zeros(self.state, len(doc)) for doc in docs])


def _scores_with_vectors(whole: ModelState) -> TokenScores:
    assert whole.encoder is not None
    return _token_scores(whole.weights, tok2vec.scores_of_words(whole.encoder))


def _token_scores(
    state: WeightState, of_words: tok2vec.WordScores | None = None
) -> TokenScores:
    weights, pairs = state.of_features, state.pairs
    dense = dense_rows(state, weights)
    if dense is not None:
        weights, pairs = dense, None
    args = state.extractor, state.table, weights, pairs, len(state.tail)
    return TokenScores(*args, of_words=of_words)


def _together(
    state: WeightState,
    scores: Mapping[str, Floats],
    segments: Columns,
    first: Ints,
    is_single: bool,
) -> ManyPotentials:
    """Returns what `split` does, without observed patterns, and with one cell for all
    rows of a segment and label; segments are those of `known_segments`."""
    shared = state.length, state.tail, state.pattern, first.tolist()
    inside, start, end = scores["inside"], scores["start"], scores["end"]
    if (within := scores.get("within")) is not None:
        inside, start = inside + within, start - within
    if not len(segments[0]):
        return ManyPotentials(inside, start, end, *shared)
    cells, borders = gather_merged_cells(
        *segments,
        first,
        *pair_arrays(state),
        state.of_features.reshape(-1),
        len(state.tail),
        is_single,
    )
    return ManyPotentials(inside, start, end, *shared, cells, borders.tolist())


class TokenScores:
    """Sums weights as `score_rows` does, but those of each word once.

    Templates that read one attribute of a word form a block with the others of their
    role and offset, for instance LOWER[-1] and SHAPE[-1] of role "start". The scores
    of a block depend on the word alone, and are cached. A bag, such as
    LOWER{-9:9}, is one block, which is read at each of its offsets.

    matrix (float [R, L] or [N, 1]): Weights, with `pairs` of some columns; in single
        precision they are read as they lie, of others a copy is made.
    of_words (Optional[Callable]): (vocab, ORTH of K words) -> scores [K, 3 L] from the
        vectors of words, which the block of the word itself has, too.

    roles (Tuple[str, ...]): Roles that have templates or functions.
    has_templates (bool): Whether there is anything to sum.
    subset (Optional[Subset]): The attributes that `task` needs; None: all.
    """

    def __init__(
        self,
        extractor: Extractor,
        table: RowTable,
        matrix: NDArray[Any],
        pairs: WeightPairs | None,
        n_labels: int,
        n_bytes: int = CACHE_BYTES,  # of scores of words
        of_words: tok2vec.WordScores | None = None,
    ) -> None:
        self._n_labels = n_labels
        places = (_NONE, _NONE) if pairs is None else (pairs.first, pairs.columns)
        weights = (table, *places, np.asarray(matrix.reshape(-1), np.float32))
        features = extractor.features
        self.roles = features.scored_roles
        templates = [(r, t) for r in self.roles for t in features.roles[r]]
        self.has_templates = bool(templates or of_words)
        is_lexical = [
            len(template.atoms) == 1
            and extractor.columns[template.atoms[0].attribute] < extractor.n_lexical
            for _, template in templates
        ]
        lexical = [pair for pair, yes in zip(templates, is_lexical) if yes]
        rest = [pair for pair, yes in zip(templates, is_lexical) if not yes]
        # Few tokens are in matches: those that read lists alone are summed apart.
        columns_of = extractor.list_columns
        of_lists = [(r, t) for r, t in rest if _reads_list(t, columns_of)]
        rest = [(r, t) for r, t in rest if not _reads_list(t, columns_of)]
        self._lists = None
        if of_lists:
            seeds, _, _, offsets = extractor.plan(of_lists)
            names = [t.atoms[0].attribute for _, t in of_lists]
            list_columns = np.array([columns_of[name] for name in names], np.int32)
            args = list_columns, seeds, offsets, self._indices(of_lists), *weights
            self._lists = ListScores(*args, len(self.roles), n_labels)
        seeds, first_atom, columns, offsets = extractor.plan(rest)
        # Only the columns that these templates read.
        self._columns, of_atoms = np.unique(columns, return_inverse=True)
        self.subset = extractor.subset(self._columns)
        plan = seeds, first_atom, of_atoms.astype(np.int32), offsets
        of_roles = self._indices(rest), len(self.roles)
        self._templates = TemplateScores(*plan, *of_roles, *weights)
        # Where each is read, and whose scores are read there.
        reads = dict.fromkeys((r, t.atoms[0].offset, _block(t)) for r, t in lexical)
        if of_words is not None:
            reads |= dict.fromkeys((role, 0, 0) for role in ROLES)
        blocks = list(dict.fromkeys((role, block) for role, _, block in reads))
        in_block = {(r, str(t)): (r, t) for r, t in lexical}  # a bag once
        of_block = [blocks.index((r, _block(t))) for r, t in in_block.values()]
        plan = extractor.plan([*in_block.values()])
        plan[3][:] = 0  # of the word itself
        shape = len(blocks), n_labels
        of_roles = np.array(of_block, np.int32), len(blocks)
        in_blocks = TemplateScores(*plan, *of_roles, *weights)
        # Before and after the document all attributes have the values 1 and 2.
        borders = np.repeat([[1], [2]], extractor.n_lexical, axis=1).astype(np.uint64)
        of_borders = np.empty((2, *shape), np.float32)
        in_blocks.of_words(borders, of_borders)
        self._blocks = BlockScores(
            of_borders,
            self._indices((role, block) for role, _, block in reads),
            np.array([offset for _, offset, _ in reads], np.int32),
            np.array([blocks.index((r, b)) for r, _, b in reads], np.int32),
            len(self.roles),
        )
        columns = _NONE if self.subset is None else self.subset[0]
        fields = [("values", "u8", (len(columns),)), ("scores", "f4", shape)]
        row = np.dtype(fields, align=True)
        read = (
            extractor.lexical_values if self.subset is None else extractor.word_values
        )
        self._n_columns = len(columns)
        own = [blocks.index((role, 0)) for role in ROLES if (role, 0) in blocks]
        own_blocks = np.array(own, np.int32)

        # Without a reference to self: weights are to be freed at once after an update.
        def make(vocab: Vocab, orths: Keys, rows: NDArray[Any]) -> None:
            values = read(vocab, orths)
            rows["values"] = values.take(columns, axis=1)
            more: tuple[Any, ...] = ()
            if of_words is not None:
                of_roles = of_words(vocab, orths).reshape(-1, len(ROLES), n_labels)
                more = of_roles, own_blocks
            in_blocks.of_words(values, rows["scores"], *more)

        # The scores of blocks of each word, and the attributes of `subset`.
        self._words = WordCache(make, row, n_bytes)
        # The rows that were read last, and their fields.
        self._fields: tuple[Any, Any, Any] = None, None, None

    def task(self, reading: Reading, is_partial: bool) -> tuple[TokenScoring, Floats]:
        """Returns the task that sums the scores of what was read of n tokens, and the
        scores that it computes, by role [roles, n, L]. Whether the attributes are those
        of `subset`, which are completed here, or all."""
        docs, values = reading.instances, reading.values
        scores = np.empty((len(self.roles), len(docs.orths), self._n_labels))
        words, rows = self._words.find(docs[0].vocab, docs.orths)
        if (fields := self._fields)[0] is not rows:
            fields = self._fields = rows, rows["values"], rows["scores"]
        _, of_values, of_words = fields
        if not is_partial:
            values = np.ascontiguousarray(values[:, self._columns])
        elif self._n_columns:
            take_columns(of_values, words, values)
        on_lists = None if self._lists is None else reading.on_lists
        args = self._blocks, words, of_words, self._templates, values
        task = TokenScoring(docs.first, scores, *args, self._lists, on_lists)
        return task, scores

    def _indices(self, of_roles: Iterable[tuple[str, Any]]) -> NDArray[np.int32]:
        """Returns the index in `roles` of the role of each."""
        return np.array([self.roles.index(role) for role, _ in of_roles], np.int32)


def _reads_list(template: Template, columns: Mapping[str, int]) -> bool:
    """Whether the only atom of a template is one of these attributes."""
    return len(template.atoms) == 1 and template.atoms[0].attribute in columns


def _block(template: Template) -> str | int:
    """Returns the offset or the bag: templates with the same one read the same word."""
    (atom,) = template.atoms
    return atom.bag or atom.offset
