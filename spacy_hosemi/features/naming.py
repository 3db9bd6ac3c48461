"""Readable names of features, such as "LOWER[-1]=the" and "LOWER*=the end"."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from spacy.tokens import Doc

from .extractor import Extractor
from .gazetteers.matches import FUZZY_MATCH, MATCH, SIMILARITY, size_name
from .segment_attributes import SEGMENT_ATTRIBUTES
from .segment_features import Segments, segment_attribute
from .templates import ATOM, Atom, Template

# What is said of a word, or of a span, that has a value of an attribute.
_WORDS = {
    "ORTH": 'is written "{}"',
    "LOWER": 'is "{}"',
    "CORE": 'is "{}" but for punctuation',
    "SHAPE": "has the shape {}",
    "SHORT_SHAPE": "looks like {}",
    "PREFIX": 'begins with "{}"',
    "SUFFIX": 'ends with "{}"',
    "PUNCTUATION": "has the punctuation {} around it",
    "NUMBER": "is a number of {} digits",
    "NUMBER=1": "is a single digit",
    "NUMBER=year": "is a year",
    "NUMBER=range": "is a range of numbers",
    "NUMBER=ordinal": "is an ordinal number",
    "NUMBER=initial": "is an initial",
    "NUMBER=roman": "is a Roman numeral",
    "CASE": "is in {} case",
    "IS_TITLE": "begins with a capital",
    "IS_UPPER": "is in capitals",
    "IS_STOP": "is a stop word",
    "SPACY": "has a space behind it",
    "SENT_START": "begins a sentence",
    "TOKENS": "has {} tokens",
    "BALANCED": "closes what it opens: {}",
    ":IN": "is in an entry of {list}",
    ":BEGIN": "begins an entry of {list}",
    ":END": "ends an entry of {list}",
    ":MATCH": "is an entry of {list}",
    ":FUZZY_IN": "is in what resembles an entry of {list} by {}",
    ":FUZZY_BEGIN": "begins what resembles an entry of {list} by {}",
    ":FUZZY_END": "ends what resembles an entry of {list} by {}",
    ":FUZZY_MATCH": "resembles an entry of {list} by {}",
    ":SIMILARITY": "resembles an entry of {list}",
    ":VALUE": "has {} in {list}",
    ":PREFIX": "has what begins with {} in {list}",
}
_OF_SPANS = ("TOKENS", "BALANCED", ":MATCH", ":FUZZY_MATCH", ":SIMILARITY")

# By attribute, the values of all tokens of a document.
Texts = Mapping[str, Sequence[str | None]]


def namer(
    extractor: Extractor, doc: Doc, is_train: bool = False
) -> Callable[[str, int, int], str | None]:
    """Returns a function that names the features of the tokens of a document.

    It takes a role of templates, a token and the number of a template of this role, and
    returns a name such as "LOWER[-1]=paris"; None if the token does not have the
    feature.
    """
    texts = extractor.texts(doc, is_train)
    roles = extractor.features.roles
    return lambda role, i, t: _token_name(roles[role][t], texts, i)


def segment_namer(
    extractor: Extractor, doc: Doc, is_train: bool = False
) -> Callable[[int], str]:
    """Returns a function from the number of a feature in `Reading.segments` of the
    document to its name."""
    segments = extractor.read([doc], is_train).segments
    texts = extractor.texts(doc, is_train)
    templates = extractor.features.roles["whole"]
    kinds = {segment_attribute(atom) for x in templates for atom in x.atoms}
    values: dict[str, Any] = {
        kind: SEGMENT_ATTRIBUTES[kind].values([doc], segments.start, segments.end)
        for kind in kinds & SEGMENT_ATTRIBUTES.keys()
    }
    for name in extractor.features.functions.of_segments:
        values[name] = extractor.segments.texts(name, doc)
    return lambda k: _segment_name(
        templates[segments.template[k]], segments, k, texts, values
    )


def in_words(name: str, is_whole: bool = False) -> str:
    """Returns what the name of a feature says, such as "the word before is a single
    digit"; "" if it has an attribute without words. is_whole: of a segment."""
    template, _, rest = name.partition("=")
    if template == "BIAS":
        return "whatever the word is"
    atoms = [ATOM.fullmatch(atom) for atom in template.split(" & ")]
    values = rest.split(" & ") if len(atoms) > 1 else [rest]
    said = []
    for atom, value in zip(atoms, values):
        attribute, at = (atom["name"], int(atom["first"] or 0)) if atom else ("", 0)
        source, colon, kind = attribute.rpartition(":")
        kind = colon + kind.rstrip("0123456789")
        words = _WORDS.get(f"{kind}={value}", _WORDS.get(kind))
        if atom is None or words is None:
            return ""
        what = f"word {abs(at)} {'before' if at < 0 else 'after'}".replace(" 1 ", " ")
        what = what if at else "word"
        if atom["reach"] or kind in _OF_SPANS:
            what = "span"
        elif is_whole and at in (0, -1):
            what = "last word" if at else "first word"
        is_there = value not in ("^", "$") or not at
        words = words.format(value, list=source)
        said.append(f"the {what} {words}" if is_there else f"there is no {what}")
    return " and ".join(said) if len(values) == len(atoms) else ""


def feature_names(
    extractor: Extractor, doc: Doc, role: str, is_train: bool = False
) -> Iterator[list[str | None]]:
    """Yields for each token the names of the features of one role, in the order of
    `Reading.keys`."""
    name = namer(extractor, doc, is_train)
    n_templates = len(extractor.features.roles[role])
    for i in range(len(doc)):
        yield [name(role, i, t) for t in range(n_templates)]


def token_features(
    extractor: Extractor, doc: Doc, is_train: bool = False
) -> list[list[str]]:
    """Returns for each token the features in any role, for a token tagger: names
    without roles, duplicates and the numbers that functions give some features."""
    roles = extractor.features.token_roles
    by_role = [list(feature_names(extractor, doc, role, is_train)) for role in roles]
    names = [[name for of_role in token for name in of_role] for token in zip(*by_role)]
    for listed in extractor.listed([doc]):
        for k in np.flatnonzero(listed.keys).tolist():
            names[listed.token[k]].append(listed.name(k))
    return [list(dict.fromkeys(filter(None, of_token))) for of_token in names]


def _token_name(template: Template, texts: Texts, i: int) -> str | None:
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
        # "^" and "$" are the begin and end of the document: words like these get a
        # backslash.
        is_border = value in ("^", "$") or value.startswith("\\")
        values.append("\\" + value if is_border else value)
    return f"{template}={' & '.join(values)}"


def _segment_name(
    template: Template,
    segments: Segments,
    k: int,
    texts: Texts,
    of_segments: Mapping[str, Any],
) -> str:
    """Returns the name of the k-th feature of segments, whose own attributes are given
    by kind, and what functions say of segments by name, start and end."""
    start, end = int(segments.start[k]), int(segments.end[k])
    values = []
    for atom in template.atoms:
        kind = segment_attribute(atom, of_segments)
        if kind == SIMILARITY:
            values.append("1.0")
        elif kind in (MATCH, FUZZY_MATCH):
            values.append(size_name(int(segments.value[k])))
        elif kind in SEGMENT_ATTRIBUTES:
            values.append(SEGMENT_ATTRIBUTES[kind].name(int(of_segments[kind][k])))
        elif kind:
            values.append(of_segments[kind][start, end])
        else:
            values.append(_sequence_name(atom, texts[atom.attribute][start:end]))
    return f"{template}={' & '.join(values)}"


def _sequence_name(atom: Atom, values: Sequence[str | None]) -> str:
    if not atom.reach:
        return _escape(values[atom.offset])
    shown = [
        _escape(value)
        for i, value in enumerate(values)
        if atom.reach == "*" or i == 0 or value != values[i - 1]
    ]
    return " ".join(shown)


def _escape(value: str | None) -> str:
    """Returns a value with spaces and "_" escaped; "_" stands for an absent value."""
    if not value:
        return "_"
    value = value.replace("\\", "\\\\").replace(" ", "\\ ")
    return "\\_" if value == "_" else value
