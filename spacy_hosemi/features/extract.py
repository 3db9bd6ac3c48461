"""From a Doc to feature keys, by role."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import chain
from operator import methodcaller
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.lexeme import Lexeme
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..core.rows import template_keys
from ..errors import Errors
from .attributes import (
    DOC_ATTRIBUTES,
    KNOWN,
    LEXEME_ATTRIBUTES,
    TOKEN_ATTRIBUTES,
    Extensions,
    hash_or_0,
    is_extension,
)
from .functions import Functions, Listed
from .gazetteers import Gazetteers
from .kept import Kept, words_of
from .matches import (
    FUZZY_MATCH,
    FUZZY_ON_TOKEN,
    MATCH,
    SIMILARITY,
    FuzzyMatches,
    Matches,
    names_of,
    size_name,
)
from .presets import FUZZY_LISTS, LISTS, PRESETS, TABLES, TRANSITION
from .tables import PREFIX, VALUE, Table, Tables, reads_table
from .templates import Atom, Template, parse_templates
from .units import (
    NO_SEGMENTS,
    UNIT_ATTRIBUTES,
    Segments,
    UnitReader,
    kind_of_unit,
)

# Features of tokens in a segment, as the potentials have them.
TOKEN_ROLES = ("inside", "start", "end")
# With weights for label patterns: read at the first token, or at each of them.
TRANSITION_ROLES = ("transition", "transition_inside")
# Roles of tokens that are read only where there are templates; within is read at all
# tokens but the first.
MORE_ROLES = ("within", *TRANSITION_ROLES)
# And those of the segment as a unit.
ROLES = (*TOKEN_ROLES, *MORE_ROLES, "whole")
Keys = NDArray[np.uint64]
Ints = NDArray[np.int32]

# Seeds, first atom, columns and offsets: see `template_keys`.
Plan = tuple[Keys, Ints, Ints, Ints]

# Attributes of so many lexemes are kept.
CACHE_BYTES = 32_000_000


@dataclass(frozen=True)
class Reading:
    """The features of a document.

    keys (Dict[str, uint64 [n, T]]): By role of tokens; 0: a template does not fire.
    segments (Segments): Those of the role "whole".
    listed (Tuple[Listed, ...]): Those of functions.
    """

    keys: dict[str, Keys]
    segments: Segments
    listed: tuple[Listed, ...] = ()


@dataclass(frozen=True)
class Values:
    """What is read of documents of n tokens together, one behind the other.

    vocab (Vocab): Of all of them.
    orths (uint64 [n]): Their words.
    first (int32 [D + 1]): The first token of each document, and n.
    values (uint64 [n, A]): Attributes in the order of `Extractor.columns`.
    segments (Segments): Features of the role "whole", document by document.
    listed (Tuple[Listed, ...]): Features of functions, of all tokens.
    """

    vocab: Vocab
    orths: Keys
    first: Ints
    values: Keys
    segments: Segments
    listed: tuple[Listed, ...]


class FeatureSet:
    """What is read, and in which role.

    inside, start, end, whole, within (Iterable[str]): Templates read at each token of a
        segment, at its first token, at its last one, of the segment as a unit, and at
        each token but the first.
    transition, transition_inside (Iterable[str]): Templates read at the first token,
        and at each one, with weights for label patterns that the segment completes.
    min_count (int): How often a feature must occur in training to get weights.
    width (int): The longest segment, in tokens, that templates in the role whole see;
        those of lists see all.
    all_labels (bool): Whether a feature has a weight for every label, or only for those
        that `initialize` has it with; one that is met in a later update has all.
    functions (Optional[Functions]): List features of tokens beside the templates.
    RAISES (ValueError): HS030, HS031, HS036 templates; HS033 min_count, width.
    """

    def __init__(
        self,
        inside: Iterable[str] = (),
        start: Iterable[str] = (),
        end: Iterable[str] = (),
        whole: Iterable[str] = (),
        within: Iterable[str] = (),
        transition: Iterable[str] = (),
        transition_inside: Iterable[str] = (),
        *,
        min_count: int = 2,
        width: int = 6,
        all_labels: bool = True,
        functions: Functions | None = None,
    ) -> None:
        for name, value in (("min_count", min_count), ("width", width)):
            if value < 1:
                raise ValueError(Errors.HS033.format(name=name, found=value))
        texts = {"inside": inside, "start": start, "end": end, "whole": whole}
        texts |= {"within": within, "transition": transition}
        texts |= {"transition_inside": transition_inside}
        self.roles = {role: parse_templates(texts[role]) for role in ROLES}
        self.min_count = min_count
        self.width = width
        self.all_labels = all_labels
        self.functions = functions or Functions()
        self.check((), is_open=True)

    def check(
        self,
        lists: Sequence[str],
        tables: Iterable[str] = (),
        *,
        fuzzy: Sequence[str] = (),
        is_open: bool = False,
    ) -> None:
        """Whether all attributes exist, and have a meaning in their role.

        lists (Sequence[str]): Names of gazetteers.
        tables (Iterable[str]): Names of tables.
        fuzzy (Sequence[str]): The gazetteers with fuzzy matches.
        is_open (bool): Whether there may be others.
        RAISES (ValueError): HS031 unknown attribute; HS036 wrong role; HS106 a function
            has the name of a list or table.
        """
        self.functions.check_names((*lists, *tables))
        of_tables = (f"{name}:{VALUE}" for name in tables)
        on_token = (*KNOWN, *names_of(lists), *names_of(fuzzy, FUZZY_ON_TOKEN))
        on_token += (*of_tables,)
        of_unit = (*UNIT_ATTRIBUTES, *names_of(lists, [MATCH]))
        of_unit += names_of(fuzzy, [FUZZY_MATCH, SIMILARITY])
        for role, templates in self.roles.items():
            known = (*on_token, *of_unit) if role == "whole" else on_token
            for template in templates:
                for atom in template.atoms:
                    _check_role(role, template, atom)
                    name = atom.attribute
                    may_come = is_open and ":" in name
                    is_other = is_extension(name) or reads_table(name, tables)
                    if name not in known and not may_come and not is_other:
                        raise ValueError(
                            Errors.HS031.format(
                                template=str(template), found=name, expected=known
                            )
                        )

    @property
    def token_roles(self) -> tuple[str, ...]:
        """The roles of tokens: of MORE_ROLES those in which something is read."""
        listed = {*chain.from_iterable(self.functions.roles.values())}
        more = (role for role in MORE_ROLES if self.roles[role] or role in listed)
        return (*TOKEN_ROLES, *more)

    @property
    def templates(self) -> tuple[Template, ...]:
        """All templates that are read at tokens, each once."""
        return self._read_as(self.token_roles)

    @property
    def scored_roles(self) -> tuple[str, ...]:
        """Those of them with weights for labels."""
        return tuple(r for r in self.token_roles if r not in TRANSITION_ROLES)

    @property
    def transition_roles(self) -> tuple[str, ...]:
        """Those of them with weights for label patterns."""
        return tuple(role for role in TRANSITION_ROLES if self.roles[role])

    def _read_as(self, roles: Iterable[str]) -> tuple[Template, ...]:
        return tuple(dict.fromkeys(t for role in roles for t in self.roles[role]))

    def on_tokens(self) -> FeatureSet:
        """All templates in the role inside, as segments of one token have no borders;
        those of label patterns in the role transition."""
        roles: dict[str, tuple[Template, ...]] = dict.fromkeys(ROLES, ())
        roles["inside"] = self._read_as(self.scored_roles)
        roles["transition"] = self._read_as(self.transition_roles)
        merged = self._with_roles(roles)
        merged.functions = self.functions.on_tokens()
        return merged

    def with_transitions(self) -> FeatureSet:
        """With the usual features in the role transition, if there are none."""
        if self.transition_roles:
            return self
        return self._with_roles(
            {**self.roles, "transition": parse_templates(TRANSITION)}
        )

    def _with_roles(self, roles: dict[str, tuple[Template, ...]]) -> FeatureSet:
        merged = copy(self)
        merged.roles = roles
        return merged

    def with_lists(
        self,
        lists: Sequence[str],
        tables: Mapping[str, Table] | None = None,
        *,
        fuzzy: Sequence[str] = (),
    ) -> FeatureSet:
        """These features and the usual ones for lists of names and tables.

        lists (Sequence[str]): Names of gazetteers.
        tables (Optional[Mapping[str, Table]]): By name.
        fuzzy (Sequence[str]): The gazetteers with fuzzy matches.
        RETURNS (FeatureSet): Those that a template reads already are left alone.
        RAISES (ValueError): HS031, HS036 templates; HS106 names.
        """
        tables = tables or {}
        read = {
            atom.attribute.partition(":")[0]
            for templates in self.roles.values()
            for template in templates
            for atom in template.atoms
            if ":" in atom.attribute
        }
        roles = {}
        for role in ROLES:
            values = [
                f"{name}:{kind}"
                for name, table in tables.items()
                for kind in (VALUE, *(f"{PREFIX}{size}" for size in table.prefixes))
            ]
            texts = [
                text.format(of)
                for usual, sources in (
                    (LISTS, lists),
                    (FUZZY_LISTS, fuzzy),
                    (TABLES, values),
                )
                for of in sources
                for text in usual.get(role, ())
                if of.partition(":")[0] not in read
            ]
            roles[role] = (*self.roles[role], *parse_templates(texts))
        merged = self._with_roles(roles)
        merged.check(lists, tables, fuzzy=fuzzy)
        return merged


def _check_role(role: str, template: Template, atom: Atom) -> None:
    is_unit = bool(kind_of_unit(atom))
    reason = ""
    if role != "whole" and is_unit:
        reason = f"{atom.attribute} is read of whole segments only"
    elif role == "whole" and atom.bag:
        reason = f"'{atom.bag}' reads tokens that are not in the segment"
    elif role != "whole" and atom.reach:
        reason = f"'{atom.reach}' reads all tokens of whole segments only"
    elif is_unit and str(atom) != atom.attribute:
        reason = f"{atom.attribute} is read of the segment, not of one of its tokens"
    if reason:
        raise ValueError(
            Errors.HS036.format(found=str(template), role=role, reason=reason)
        )


def make_features(
    preset: str = "default",
    inside: list[str] = [],  # noqa: B006 - the registry shows it in filled configs
    start: list[str] = [],  # noqa: B006
    end: list[str] = [],  # noqa: B006
    whole: list[str] = [],  # noqa: B006
    within: list[str] = [],  # noqa: B006
    transition: list[str] = [],  # noqa: B006
    transition_inside: list[str] = [],  # noqa: B006
    min_count: int = 2,
    width: int = 6,
    all_labels: bool = True,
    functions: dict[str, Any] = {},  # noqa: B006
    function_roles: dict[str, list[str]] = {},  # noqa: B006
) -> FeatureSet:
    """Registered as "spacy_hosemi.features.v1" in `misc`.

    preset (str): "default"; "fields" of records; "names" in running text; "chinese",
        where tokens are characters; or "none" to begin with nothing.
    inside, start, end, whole, within, transition, transition_inside (List[str]):
        Templates to add to the preset.
    min_count (int): How often a feature must occur in training to get weights.
    width (int): The longest segment, in tokens, that templates in the role whole see.
    all_labels (bool): Whether a feature has a weight for every label; else for those
        that `initialize` has it with, as CRFsuite has it by default: not where updates
        bring other labels.
    functions (Dict[str, Callable]): Functions of your own that list features of tokens,
        by name, see `functions`.
    function_roles (Dict[str, List[str]]): In which roles they are read: of inside,
        start, end and within; by default inside.
    RETURNS (FeatureSet): The features.
    RAISES (ValueError): HS030 to HS033, HS036, HS042, HS106. (TypeError): HS105.
    """
    if preset not in PRESETS:
        raise ValueError(Errors.HS032.format(found=preset, expected=tuple(PRESETS)))
    given = {"inside": inside, "start": start, "end": end, "whole": whole}
    given |= {"within": within, "transition": transition}
    given |= {"transition_inside": transition_inside}
    texts = {role: [*PRESETS[preset].get(role, ()), *given[role]] for role in ROLES}
    return FeatureSet(
        **texts,
        min_count=min_count,
        width=width,
        all_labels=all_labels,
        functions=Functions(functions, function_roles),
    )


class Extractor:
    """Reads the features of a feature set from documents.

    features (FeatureSet): What to read.
    gazetteers (Optional[Gazetteers]): Lists of names that templates read.
    tables (Optional[Tables]): Tables of words that templates read.
    extensions (Optional[Extensions]): Known types of extension attributes.
    RAISES (ValueError): HS031 a template reads a list or table that is not there; HS049
        two lists at once.

    columns (Dict[str, int]): Attributes of tokens, those of lexemes first.
    n_lexical (int): How many are those of lexemes.
    bags (Dict[str, intp [B]]): By role which templates belong to bags.
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
        names = dict.fromkeys(a.attribute for a in atoms if not kind_of_unit(a))
        self._lexical = {
            name: self._lexeme_reader(name)
            for name in names
            if name in LEXEME_ATTRIBUTES or reads_table(name, self.tables.settings)
        }
        self._of_token = [name for name in names if name in TOKEN_ATTRIBUTES]
        self._of_doc = [name for name in names if name in DOC_ATTRIBUTES]
        self._extended = [name for name in names if is_extension(name)]
        on_token = names_of(lists) + names_of(lists, FUZZY_ON_TOKEN)
        self._of_lists = [name for name in names if name in on_token]
        columns = [
            *self._lexical,
            *self._of_token,
            *self._of_doc,
            *self._extended,
            *self._of_lists,
        ]
        self.columns = {name: a for a, name in enumerate(columns)}
        self.n_lexical = len(self._lexical)
        self._plans = {
            role: self.plan([(role, template) for template in features.roles[role]])
            for role in features.token_roles
        }
        self.bags = {
            role: np.flatnonzero([template.is_bag for template in features.roles[role]])
            for role in self._plans
        }
        # What they would read before and behind a document, as of any of one token.
        token = np.zeros((1, len(columns)), np.uint64)
        self._edges = {
            role: template_keys(token, *plan)[0, self.bags[role]]
            for role, plan in self._plans.items()
        }
        self._list_columns = [on_token.index(name) for name in self._of_lists]
        seeds = [_seed("whole", template) for template in whole]
        self._units = UnitReader(whole, seeds, self.columns, lists, features.width)
        self.clear()

    def __reduce__(self) -> tuple[Any, ...]:
        parts = self.features, self.gazetteers, self.tables, self.extensions
        return Extractor, parts

    def reading(self, features: FeatureSet) -> Extractor:
        """RETURNS (Extractor): One that reads other features, from the same lists."""
        return Extractor(features, self.gazetteers, self.tables, self.extensions)

    def _lexeme_reader(self, name: str) -> Callable[[Lexeme], str | None]:
        return LEXEME_ATTRIBUTES.get(name) or self.tables.reader(name)

    def read(self, doc: Doc, is_train: bool = False) -> Reading:
        """The features of a document.

        doc (Doc): n tokens.
        is_train (bool): Whether lists are read as in training, see Gazetteers.matches.
        RETURNS (Reading): Those of tokens by role, and those of segments.
        """
        return self.read_together([doc], is_train)

    def read_together(self, docs: Sequence[Doc], is_train: bool = False) -> Reading:
        """The features of documents, one behind the other.

        docs (Sequence[Doc]): One or more, of n tokens together.
        is_train (bool): As for `read`.
        RETURNS (Reading): Segments are in tokens of all of them.
        """
        found = self.values_of(docs, is_train)
        values, first = found.values, found.first
        keys = {role: self.keys(values, role, first) for role in self._plans}
        return Reading(keys, found.segments, found.listed)

    def keys(self, values: Keys, role: str, first: Ints | None = None) -> Keys:
        """RETURNS (uint64 [n, T]): What the templates of a role find in the values of
        a document, or of several that begin at these tokens (and end at n)."""
        found: Keys = template_keys(values, *self._plans[role], first)
        bags = self.bags[role]
        if len(bags):
            of_bags = found[:, bags]
            found[:, bags] = np.where(of_bags == self._edges[role], 0, of_bags)
        return found

    def values_of(self, docs: Sequence[Doc], is_train: bool = False) -> Values:
        """What templates of tokens read, and the features of segments and functions.

        docs (Sequence[Doc]): One or more, of the same vocabulary.
        is_train (bool): As for `read`.
        RETURNS (Values): Of all of them.
        """
        vocab, (orths, first) = docs[0].vocab, words_of(docs)
        numbers, table = self._kept.find(vocab, orths)
        values = np.take(table, numbers, axis=0)
        listed = self.listed(docs)
        if self.n_lexical == len(self.columns) and not self._units:
            return Values(vocab, orths, first, values, NO_SEGMENTS, listed)
        lists = self.gazetteers
        matches = lists.matches_together(docs, is_train)
        found = matches, lists.similar_together(docs, is_train)
        values = self._with_others(docs, values, found)
        segments = self._units.read(docs, first, values, *found)
        return Values(vocab, orths, first, values, segments, listed)

    def listed(self, docs: Sequence[Doc]) -> tuple[Listed, ...]:
        """RETURNS (Tuple[Listed, ...]): What functions list for documents together."""
        return self.features.functions.read(docs, _seed)

    def plan(
        self, templates: Sequence[tuple[str, Template]], *, at_offset: bool = True
    ) -> Plan:
        """How kernels read templates from attributes.

        templates (Sequence[Tuple[str, Template]]): Each with its role.
        at_offset (bool): False: read the token itself, though the keys are those of
            the template: what it finds there if a token is so far away.
        RETURNS (Plan): Of one or several roles.
        """
        sizes = [len(template.atoms) for _, template in templates]
        atoms = [atom for _, template in templates for atom in template.atoms]
        offsets = [atom.offset if at_offset else 0 for atom in atoms]
        return (
            np.array([_seed(role, t) for role, t in templates], np.uint64),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
            np.array([self.columns[atom.attribute] for atom in atoms], np.int32),
            np.array(offsets, np.int32),
        )

    def list_templates(self) -> set[str]:
        """RETURNS (Set[str]): "role:TEMPLATE" of those that read a list of names."""
        lists = self.gazetteers.settings
        return {
            f"{role}:{template}"
            for role, templates in self.features.roles.items()
            for template in templates
            if any(atom.attribute.partition(":")[0] in lists for atom in template.atoms)
        }

    def namer(
        self, doc: Doc, is_train: bool = False
    ) -> Callable[[str, int, int], str | None]:
        """Readable names of the features of one document, parallel to `Reading.keys`.

        doc (Doc): n tokens.
        is_train (bool): As for `read`.
        RETURNS (Callable): (role, token, template) -> a name such as "LOWER[-1]=the";
            None where the template does not fire.
        """
        texts = self._texts(doc, is_train)
        roles = self.features.roles
        return lambda role, i, t: _name(roles[role][t], texts, i)

    def segment_namer(self, doc: Doc, is_train: bool = False) -> Callable[[int], str]:
        """Readable names of the features of segments, parallel to `Reading.segments`.

        doc (Doc): n tokens.
        is_train (bool): As for `read`.
        RETURNS (Callable): Number of the feature -> a name such as "LOWER*=the end".
        """
        segments = self.values_of([doc], is_train).segments
        texts = self._texts(doc, is_train)
        return lambda k: self._units.name(doc, segments, k, texts)

    def names(
        self, doc: Doc, role: str, is_train: bool = False
    ) -> Iterator[list[str | None]]:
        """Readable features of one role, parallel to `Reading.keys`.

        doc (Doc): n tokens.
        role (str): One of `FeatureSet.token_roles`.
        is_train (bool): As for `read`.
        YIELDS (List[Optional[str]]): For each token T names.
        """
        name = self.namer(doc, is_train)
        for i in range(len(doc)):
            yield [name(role, i, t) for t in range(len(self.features.roles[role]))]

    def token_features(self, doc: Doc, is_train: bool = False) -> list[list[str]]:
        """What any role reads at each token, as a token tagger would take it.

        doc (Doc): n tokens.
        is_train (bool): As for `read`.
        RETURNS (List[List[str]]): n lists of names, without roles and repetitions, and
            without the values that functions give some.
        """
        by_role = [list(self.names(doc, role, is_train)) for role in self._plans]
        found = [[name for names in token for name in names] for token in zip(*by_role)]
        for listed in self.listed([doc]):
            for k in np.flatnonzero(listed.keys).tolist():
                found[listed.token[k]].append(listed.name(k))
        return [list(dict.fromkeys(filter(None, names))) for names in found]

    def clear(self) -> None:
        """Forget what is kept of words, after a table was replaced."""
        self._kept = Kept(self.lexical_values, CACHE_BYTES)

    def _with_others(
        self,
        docs: Sequence[Doc],
        lexical: Keys,
        found: tuple[Matches, FuzzyMatches],
    ) -> Keys:
        """RETURNS (uint64 [n, A]): Attributes of lexemes, and those that are not."""
        if self.n_lexical == len(self.columns):
            return lexical
        read: list[Callable[[Doc], Any]] = [
            *(methodcaller("to_array", name) for name in self._of_token),
            *(DOC_ATTRIBUTES[name] for name in self._of_doc),
            *(partial(self.extensions.values, name=n[2:]) for n in self._extended),
        ]
        values = np.empty((len(lexical), len(self.columns)), np.uint64)
        values[:, : self.n_lexical] = lexical
        for a, of_doc in enumerate(read, self.n_lexical):
            values[:, a] = np.concatenate([of_doc(doc) for doc in docs])
        if self._of_lists:
            values[:, -len(self._of_lists) :] = self._list_values(len(lexical), found)
        return values

    def _list_values(self, n_tokens: int, found: tuple[Matches, FuzzyMatches]) -> Keys:
        """RETURNS (uint64 [n, A]): Attributes that are read of lists."""
        columns = np.concatenate([of.on_tokens(n_tokens) for of in found], axis=1)
        return columns[:, self._list_columns]

    def lexical_values(self, vocab: Vocab, orths: Keys) -> Keys:
        """Attributes of lexemes.

        vocab (Vocab): It knows them.
        orths (uint64 [K]): Which lexemes.
        RETURNS (uint64 [K, n_lexical]): Hashes; 0 where there is nothing to read.
        """
        values = np.zeros((len(orths), self.n_lexical), np.uint64)
        for k, orth in enumerate(orths.tolist()):
            lexeme = vocab[orth]
            for a, read in enumerate(self._lexical.values()):
                values[k, a] = hash_or_0(read(lexeme))
        return values

    def _texts(self, doc: Doc, is_train: bool) -> dict[str, list[str | None]]:
        """For each attribute the values of all tokens, as text."""
        lexemes = [doc.vocab[orth] for orth in doc.to_array("ORTH").tolist()]
        texts = {
            name: [read(lexeme) for lexeme in lexemes]
            for name, read in self._lexical.items()
        }
        for name in self._of_token:
            values = doc.to_array(name).tolist()
            texts[name] = [doc.vocab.strings[v] if v else None for v in values]
        for name in self._of_doc:
            values = DOC_ATTRIBUTES[name](doc).tolist()  # from 10; names count from 1
            texts[name] = [str(v - 9) if v else None for v in values]
        for name in self._extended:
            texts[name] = self.extensions.texts(doc, name[2:])
        if self._of_lists:
            lists = self.gazetteers
            found = lists.matches(doc, is_train), lists.similar(doc, is_train)
            of_lists = self._list_values(len(doc), found).T.tolist()
            for name, values in zip(self._of_lists, of_lists):
                texts[name] = [size_name(v) if v else None for v in values]
        return texts


def _seed(role: str, template: Template | str) -> int:
    digest = blake2b(f"{role}:{template}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _name(
    template: Template, texts: Mapping[str, list[str | None]], i: int
) -> str | None:
    values = []
    for atom in template.atoms:
        column, at = texts[atom.attribute], i + atom.offset
        if not 0 <= at < len(column):
            if atom.bag:
                return None
            values.append("^" if at < 0 else "$")
            continue
        value = column[at]
        if not value:
            return None
        # "^" and "$" stand for the borders of the document: a word that is one of
        # them is written with a backslash.
        is_border = value in ("^", "$") or value.startswith("\\")
        values.append("\\" + value if is_border else value)
    return f"{template}={' & '.join(values)}"
