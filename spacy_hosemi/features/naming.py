"""Readable names of features, such as "LOWER[-1]=the" and "LOWER*=the end"."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from spacy.tokens import Doc

from .extractor import Extractor
from .gazetteers.matches import FUZZY_MATCH, MATCH, SIMILARITY, size_name
from .segment_attributes import SEGMENT_ATTRIBUTES, Keys
from .segment_features import Segments, segment_attribute
from .templates import Atom, Template

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
    values = {
        kind: SEGMENT_ATTRIBUTES[kind].values([doc], segments.start, segments.end)
        for kind in kinds & SEGMENT_ATTRIBUTES.keys()
    }
    return lambda k: _segment_name(
        templates[segments.template[k]], segments, k, texts, values
    )


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
    of_segments: Mapping[str, Keys],
) -> str:
    """Returns the name of the k-th feature of segments, whose own attributes are given
    by kind."""
    start, end = int(segments.start[k]), int(segments.end[k])
    values = []
    for atom in template.atoms:
        kind = segment_attribute(atom)
        if kind == SIMILARITY:
            values.append("1.0")
        elif kind in (MATCH, FUZZY_MATCH):
            values.append(size_name(int(segments.value[k])))
        elif kind:
            values.append(SEGMENT_ATTRIBUTES[kind].name(int(of_segments[kind][k])))
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
