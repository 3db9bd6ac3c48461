"""Reads the features of documents: from a Doc to feature keys, by role."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc
from spacy.vocab import Vocab

from .attributes import (
    DOC_ATTRIBUTES,
    LEXEME_ATTRIBUTES,
    SPACE_AFTER,
    TOKEN_ATTRIBUTES,
    Extensions,
    is_extension,
)
from .feature_set import FeatureSet
from .functions import Listed
from .gazetteers.gazetteers import Gazetteers
from .gazetteers.matches import (
    FUZZY_ON_TOKEN,
    FuzzyMatches,
    Matches,
    names_of,
    size_name,
)
from .instances import Instances
from .kernels.key_table import template_keys
from .lexemes import LexemeReader
from .segment_attributes import SEGMENT_ATTRIBUTES
from .segment_features import NO_SEGMENTS, SegmentReader, Segments, segment_attribute
from .tables import Tables, reads_table
from .templates import Template
from .word_cache import WordCache

Keys = NDArray[np.uint64]
Ints = NDArray[np.int32]

# The seeds, first atoms, columns and offsets that `template_keys` takes.
Plan = tuple[Keys, Ints, Ints, Ints]

# Attributes that follow from the words of a document and the spaces after them.
_OF_TEXT = ("POSITION", "SPACY")

# The most bytes for cached attributes of words: those of about 150,000 words.
CACHE_BYTES = 32_000_000


# Columns of attributes of lexemes, int32 [K], whose values the caller writes, and some
# of `DOC_ATTRIBUTES`, in the columns after those.
Subset = tuple[Ints, list[str]]


class Reading:
    """Has what is read of instances, of n tokens together.

    instances (Instances): What was read.
    values (uint64 [n, A]): Attributes in the order of `Extractor.columns`, or only
        those of a subset.
    segments (Segments), listed (Tuple[Listed, ...]): Features of segments and of
        functions.
    on_lists (Optional[uint8 [n, 3 lists]]): If attributes of tokens that read lists are
        read, and one is not absent, those of `Matches.on_tokens`; behind them the same
        of similar segments, if a list has these.
    """

    def __init__(
        self,
        extractor: Extractor,
        instances: Instances,
        values: Keys,
        segments: Segments,
        listed: tuple[Listed, ...],
        on_lists: NDArray[np.uint8] | None,
    ) -> None:
        self.extractor, self.instances, self.values = extractor, instances, values
        self.segments, self.listed, self.on_lists = segments, listed, on_lists

    @cached_property
    def keys(self) -> dict[str, Keys]:
        """Returns the features of tokens by role, uint64 [n, T]; 0: the template is not
        active."""
        return {role: self.keys_of(role) for role in self.extractor.roles}

    def keys_of(self, role: str) -> Keys:
        """Returns the features of one role."""
        return self.extractor.keys(self.values, role, self.instances.first)


class Extractor:
    """Reads the features of a feature set from documents, in any number of threads.
    Raises HS031 if a template reads a list or table that does not exist, HS049 if it
    reads two lists.

    roles (Tuple[str, ...]): Those of tokens that have templates or functions, see
        `FeatureSet.token_roles`.
    columns (Dict[str, int]): The index of each attribute; those of lexemes come first.
    n_lexical (int): The number of attributes of lexemes.
    list_columns (Dict[str, int]): Of those that read lists, the column of
        `Reading.on_lists`.
    segments (SegmentReader): Reads the role "whole".
    bags (Dict[str, intp [B]]): By role, the templates that belong to bags.
    """

    def __init__(
        self,
        features: FeatureSet,
        gazetteers: Gazetteers | None = None,
        tables: Tables | None = None,
        extensions: Extensions | None = None,
    ) -> None:
        self.features = features
        self.gazetteers = gazetteers or Gazetteers()
        self.tables = tables or Tables()
        self.extensions = extensions or Extensions()
        lists = tuple(self.gazetteers.settings)
        fuzzy = tuple(self.gazetteers.fuzzy)
        features.check(lists, self.tables.settings, fuzzy=fuzzy)
        whole = features.roles["whole"]
        atoms = [atom for t in (*features.templates, *whole) for atom in t.atoms]
        functions = features.functions
        of_segments = functions.of_segments
        names = dict.fromkeys(
            a.attribute for a in atoms if not segment_attribute(a, of_segments)
        )
        lexical = [
            name
            for name in names
            if name in LEXEME_ATTRIBUTES or reads_table(name, self.tables.settings)
        ]
        self._lexemes = LexemeReader(lexical, self.tables, features.one_dash)
        self._of_token = [name for name in names if name in TOKEN_ATTRIBUTES]
        self._of_doc = [name for name in names if name in DOC_ATTRIBUTES]
        self._extended = [name for name in names if is_extension(name)]
        on_token = names_of(lists) + names_of(lists, FUZZY_ON_TOKEN)
        self._of_lists = [name for name in names if name in on_token]
        columns = [
            *self._lexemes.names,
            *self._of_token,
            *self._of_doc,
            *self._extended,
            *self._of_lists,
        ]
        self.columns = {name: a for a, name in enumerate(columns)}
        self.n_lexical = len(lexical)
        self._plans = {
            role: self.plan([(role, template) for template in features.roles[role]])
            for role in features.token_roles
        }
        self.bags = {
            role: np.flatnonzero([template.is_bag for template in features.roles[role]])
            for role in self._plans
        }
        # The keys that bags have before and after a document.
        token = np.zeros((1, len(columns)), np.uint64)
        self._edges = {
            role: template_keys(token, *plan)[0, self.bags[role]]
            for role, plan in self._plans.items()
        }
        self._list_columns = [on_token.index(name) for name in self._of_lists]
        self.list_columns = dict(zip(self._of_lists, self._list_columns))
        seeds = [_seed("whole", template) for template in whole]
        args = self.columns, lists, features.width, functions
        self.segments = SegmentReader(whole, seeds, *args)
        self.roles, self._has_segments = (*self._plans,), bool(self.segments)
        self.clear()

    def __reduce__(self) -> tuple[Any, ...]:
        args = self.features, self.gazetteers, self.tables, self.extensions
        return Extractor, args

    def reading(self, features: FeatureSet) -> Extractor:
        """Returns an extractor of other features, from the same lists and tables."""
        return Extractor(features, self.gazetteers, self.tables, self.extensions)

    def keys(self, values: Keys, role: str, first: Ints) -> Keys:
        """Returns the keys of the templates of a role, uint64 [n, T], from attributes
        [n, A] of documents that begin at the tokens `first`."""
        keys: Keys = template_keys(values, *self._plans[role], first)
        bags = self.bags[role]
        if len(bags):
            of_bags = keys[:, bags]
            keys[:, bags] = np.where(of_bags == self._edges[role], 0, of_bags)
        return keys

    def read(
        self, docs: Sequence[Doc], is_train: bool = False, subset: Subset | None = None
    ) -> Reading:
        """Returns what is read of instances of one vocabulary; tokens are numbered
        through all of them. is_train: read lists as in training, see
        `Gazetteers.matches`. subset: the only attributes to read; the columns of
        lexemes are left for the caller to write."""
        docs = docs if isinstance(docs, Instances) else Instances(docs)
        listed = self.listed(docs) if self.features.functions.functions else ()
        if subset is not None:
            lexical, of_doc = subset
            shape = len(docs.orths), len(lexical) + len(of_doc)
            values = np.empty(shape, np.uint64)
            self._read_docs(docs, of_doc, values[:, len(lexical) :])
        else:
            values = self._all_values(docs, is_train)
        segments, on_lists = self._read_lists(docs, values, is_train)
        return Reading(self, docs, values, segments, listed, on_lists)

    def _read_lists(
        self, docs: Instances, values: Keys, is_train: bool
    ) -> tuple[Segments, NDArray[np.uint8] | None]:
        """Writes the attributes that read lists, if `values` has all attributes;
        returns segments and `on_lists` of `Reading`."""
        if not (self._has_segments or self._of_lists):
            return NO_SEGMENTS, None
        lists = self.gazetteers
        matches = lists.matches(docs, is_train), lists.similar(docs, is_train)
        on_lists = None
        if self._of_lists and any(len(x.start) for x in matches):
            on_lists = self._on_lists(len(values), *matches)
        if self._of_lists and values.shape[1] == len(self.columns):
            of_lists = 0 if on_lists is None else on_lists[:, self._list_columns]
            values[:, -len(self._of_lists) :] = of_lists
        return self.segments.read(docs, docs.first, values, *matches), on_lists

    def subset(self, columns: Ints) -> Subset | None:
        """Returns some columns, ascending; None if they are not read faster alone, or
        the role "whole" reads others."""
        names = [*self.columns]
        of_doc = [names[a] for a in columns.tolist() if a >= self.n_lexical]
        lexical = columns[columns < self.n_lexical].astype(np.int32)
        is_fast = not {*of_doc}.difference(self._of_doc)
        return (lexical, of_doc) if is_fast and not self.segments.reads_tokens else None

    def read_of_docs(self) -> list[str]:
        """Returns what is read of documents beside the words of tokens and the spaces
        after them: names of attributes, "functions", "segment_functions"."""
        lists = self.gazetteers.settings.values()
        whole = [x.attribute for t in self.features.roles["whole"] for x in t.atoms]
        names = [
            *self._of_token,
            *(name for name in self._of_doc if name not in _OF_TEXT),
            *self._extended,
            *(x.attr for x in lists if x.attr not in ("ALNUM", "ORTH")),
            *(x for x, a in SEGMENT_ATTRIBUTES.items() if a.reads_docs and x in whole),
            *(["functions"] if self.features.functions.functions else []),
            *(["segment_functions"] if self.features.functions.of_segments else []),
        ]
        return [*dict.fromkeys(names)]

    def listed(self, docs: Sequence[Doc]) -> tuple[Listed, ...]:
        """Returns the features of functions, of concatenated documents."""
        return self.features.functions.read(docs, _seed)

    def plan(self, templates: Sequence[tuple[str, Template]]) -> Plan:
        """Returns arrays by which kernels read templates from attributes."""
        sizes = [len(template.atoms) for _, template in templates]
        atoms = [atom for _, template in templates for atom in template.atoms]
        return (
            np.array([_seed(role, t) for role, t in templates], np.uint64),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
            np.array([self.columns[atom.attribute] for atom in atoms], np.int32),
            np.array([atom.offset for atom in atoms], np.int32),
        )

    def clear(self) -> None:
        """Empties the cache of words: a table was replaced."""
        row = np.uint64, (self.n_lexical,)
        self._cache = WordCache(self._lexemes.values, row, CACHE_BYTES)

    def _all_values(self, docs: Instances, is_train: bool) -> Keys:
        """Returns all attributes [n, A]; those of lexemes come first, and those that
        read lists are not yet read."""
        lexical = self.lexical_values(docs[0].vocab, docs.orths)
        if self.n_lexical == len(self.columns):
            return lexical
        values = np.empty((len(lexical), len(self.columns)), np.uint64)
        values[:, : self.n_lexical] = lexical
        for name in self._of_token:
            column = np.concatenate([doc.to_array(name) for doc in docs])
            values[:, self.columns[name]] = column
        for name in self._extended:
            by_doc = [self.extensions.values(doc, name[2:], is_train) for doc in docs]
            values[:, self.columns[name]] = np.concatenate(by_doc)
        if self._of_doc:
            at = self.columns[self._of_doc[0]]
            self._read_docs(docs, self._of_doc, values[:, at : at + len(self._of_doc)])
        return values

    def _read_docs(self, docs: Instances, names: Sequence[str], values: Keys) -> None:
        """Writes attributes of documents, of n tokens, to values [n, names]."""
        for a, name in enumerate(names):
            if name == "SPACY":
                np.multiply(docs.spaces, SPACE_AFTER, out=values[:, a])
            else:
                of_docs = [DOC_ATTRIBUTES[name](doc) for doc in docs]
                values[:, a] = np.concatenate(of_docs)

    def _on_lists(
        self, n_tokens: int, matches: Matches, similar: FuzzyMatches
    ) -> NDArray[np.uint8]:
        """Returns `Reading.on_lists`."""
        columns = matches.on_tokens(n_tokens)
        if not self.gazetteers.fuzzy:
            return columns
        return np.concatenate([columns, similar.on_tokens(n_tokens)], axis=1)

    def lexical_values(self, vocab: Vocab, orths: Keys) -> Keys:
        """Returns attributes of K words, uint64 [K, n_lexical]; 0: absent."""
        numbers, table = self._cache.find(vocab, orths)
        values: Keys = np.take(table, numbers, axis=0)
        return values

    def word_values(self, vocab: Vocab, orths: Keys) -> Keys:
        """Returns `lexical_values` of K distinct words for another cache: they are not
        kept in the cache of all attributes."""
        return self._cache.rows(vocab, orths)

    def texts(self, doc: Doc, is_train: bool = False) -> dict[str, list[str | None]]:
        """Returns by attribute the values of all tokens as readable text."""
        texts = self._lexemes.texts(doc.vocab, Instances([doc]).orths)
        for name in self._of_token:
            values = doc.to_array(name).tolist()
            texts[name] = [doc.vocab.strings[v] if v else None for v in values]
        for name in self._of_doc:
            values = DOC_ATTRIBUTES[name](doc).tolist()  # from 10; texts are from 1
            texts[name] = [str(v - 9) if v else None for v in values]
        for name in self._extended:
            texts[name] = self.extensions.texts(doc, name[2:], is_train)
        if self._of_lists:
            lists = self.gazetteers
            matches = lists.matches([doc], is_train), lists.similar([doc], is_train)
            columns = self._on_lists(len(doc), *matches)[:, self._list_columns]
            for name, values in zip(self._of_lists, columns.T.tolist()):
                texts[name] = [size_name(v) if v else None for v in values]
        return texts


def _seed(role: str, template: Template | str) -> int:
    digest = blake2b(f"{role}:{template}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")
