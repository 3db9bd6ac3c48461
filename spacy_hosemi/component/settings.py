"""The settings of the component: one immutable object, checked whenever it is made.

Config, `add_pipe`, an attribute set on the component, a saved model: each ends in a new
`Settings`. A value that is refused leaves the old object, and so the old values, in
force.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from ..core.arguments import MOST_THREADS
from ..core.automaton.grammar import check_forms
from ..errors import Errors
from ..features.instances import SCOPES
from ..formats.references.fields import KEYS
from ..hierarchy.hierarchy import Hierarchy
from ..hierarchy.level_decodings import LEVEL_DECODINGS
from ..labels.inventory import ENCODINGS, OUTSIDES
from ..prediction.decoder import DecodingOptions
from ..prediction.decodings import DECODINGS
from ..prediction.guarantee import GUARANTEE, Guarantee
from ..prediction.thresholds import THRESHOLDS, Thresholds, write_thresholds
from ..values import (
    FLAG,
    TEXT,
    Kind,
    Setting,
    Unfit,
    as_lists,
    choice,
    integer,
    list_of,
    number,
    or_null,
    read,
)

# Label patterns of more labels than this are in no document, but would be looked for.
MAX_ORDER = 100

# Each label has a weight, and each chart a column, for every length up to this one.
MAX_LENGTH = 10_000


def _read_export_fields(value: Any) -> tuple[tuple[str, str], ...]:
    """Returns pairs, since labels may be no keys of a config."""
    pairs = [*value.items()] if isinstance(value, Mapping) else value
    pairs = list_of(list_of(TEXT)).read(pairs)
    if not all(len(pair) == 2 and pair[1] in KEYS for pair in pairs):
        raise Unfit
    return pairs


EXPORT_FIELDS = Kind(
    "[label, field] for some labels, with field one of " + ", ".join(KEYS),
    _read_export_fields,
)

# What a setting decides, and with it all that follows here. The weights, unless its row
# says otherwise: then it cannot change after initialization.
WEIGHTS, PROBABILITIES, SPANS, NO_PREDICTION = range(4)


def _key(
    kind: Kind,
    default: Any,
    meaning: str,
    decides: int = WEIGHTS,
    message: str | None = None,
) -> Any:
    """Returns a row of the table of settings; message: see `values.read`."""
    metadata = {"kind": kind, "meaning": meaning, "decides": decides}
    metadata["message"] = message
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Settings:
    """All settings of a component that are plain values.

    RAISES (ValueError): HS042, HS043, HS342 a value is not of its kind; HS101
        min_confidence; HS046, HS070 label_rules, HS047 decoding, HS093
        incorrect_spans_key, HS099 spans_threshold do not go with the encoding or
        another setting.
    """

    scope: str = _key(
        choice(SCOPES),
        "doc",
        "What one segmentation covers: the whole document, or one sentence.",
    )
    clean_text: bool = _key(
        FLAG,
        True,
        "Whether features read the clean form of each word (NFKC, without invisible "
        "characters and hyphens at line ends) and step over whitespace. Not with a "
        "tok2vec but frozen vectors of words: others read all tokens as they are.",
    )
    encoding: str = _key(
        choice(ENCODINGS),
        "segments",
        "How spans are coded: as labelled segments (semi-Markov), or as tags of single "
        "tokens (linear chain).",
    )
    outside: str = _key(
        choice(OUTSIDES),
        "run",
        "How text outside all spans is segmented: in maximal runs, token by token, or "
        "not at all, because every token is in a span.",
    )
    max_order: int = _key(
        integer(0, MAX_ORDER),
        2,
        "Order of the label patterns: the longest has max_order + 1 labels.",
    )
    pattern_min_count: int = _key(
        integer(1),
        1,
        "How often a pattern of three or more labels must occur in training to have a "
        "weight.",
    )
    pattern_max: int | None = _key(
        or_null(integer(0)),
        None,
        "At most this many patterns of three or more labels; null: no limit.",
    )
    pattern_selection: str = _key(
        choice(("count",)),
        "count",
        "Which patterns those are: the most frequent ones; there is no other choice.",
        message=Errors.HS342,
    )
    observed_order: int = _key(
        integer(0, MAX_ORDER),
        0,
        "Above 0: features in the roles transition and transition_inside have weights "
        "for the label patterns up to this order that occur in training.",
    )
    observed_patterns: tuple[tuple[str, ...], ...] = _key(
        list_of(list_of(TEXT)),
        (),
        'Longer label patterns with such weights. "*" matches any label; "*1", "*2", '
        "... any label too, but the same one wherever the number occurs.",
    )
    observed_min_count: int = _key(
        integer(1),
        1,
        "How often a feature must occur with a label pattern for such a weight.",
    )
    observed_max: int | None = _key(
        or_null(integer(1)),
        None,
        "Each feature has such weights for at most this many label patterns, those it "
        "occurs with most; null: no limit.",
    )
    label_rules: tuple[str, ...] = _key(
        list_of(TEXT),
        (),
        'What the labels of a document must satisfy, such as "author at most once"; '
        "may change after training, too.",
        PROBABILITIES,
    )
    explicit_length: int = _key(
        integer(1, MAX_LENGTH),
        1,
        "Above 1: each length of a segment up to this one has a weight for each label.",
    )
    length_smoothing: int = _key(
        choice((0,)),
        0,
        "Weights of lengths are not smoothed; there is no other choice.",
        message=Errors.HS342,
    )
    max_length: int | None = _key(
        or_null(integer(1, MAX_LENGTH)), None, "Longest span in tokens; null: no limit."
    )
    decoding: str = _key(
        choice(tuple(DECODINGS)),
        "viterbi",
        "; ".join(f'"{x.name}": {x.meaning}' for x in DECODINGS.values()) + ".",
        SPANS,
    )
    expected_f1: float | None = _key(
        or_null(number(0.0, 1.0)),
        0.8,
        'For decoding = "mbr": the F1 that you expect over all documents; spans that '
        "are more probable than half of it are chosen. null: each document has an "
        "expected F1 of its own.",
        SPANS,
    )
    collective: float = _key(
        number(least=0.0),
        0.0,
        "Above 0: a second pass, in which a word counts with this weight for the same "
        "word elsewhere in the document.",
        PROBABILITIES,
    )
    spans_key: str | None = _key(
        or_null(TEXT),
        None,
        "Also write the spans to doc.spans[spans_key], with their probabilities in "
        'attrs["scores"].',
        NO_PREDICTION,
    )
    incorrect_spans_key: str | None = _key(
        or_null(TEXT),
        None,
        "A group of doc.spans in training documents: its spans are known not to be "
        "entities with their label.",
        NO_PREDICTION,
    )
    spans_threshold: float | None = _key(
        or_null(number(above=0.0, most=1.0)),
        None,
        "Write all spans with at least this probability to doc.spans[spans_key], not "
        "the entities; they may overlap.",
        NO_PREDICTION,
    )
    confidence: bool = _key(
        FLAG,
        False,
        "Compute the probability of each entity with the prediction; otherwise it is "
        "computed when span._.confidence is read.",
        NO_PREDICTION,
    )
    min_confidence: Thresholds = _key(
        THRESHOLDS,
        0.0,
        "Drop entities that are less probable: one number, or numbers by label, as "
        "keys or in pairs; labels that are not named keep all entities.",
        SPANS,
    )
    temperature: float = _key(
        number(above=0.0),
        1.0,
        "Divides all scores before probabilities are computed: values above 1 make the "
        "model less sure. Viterbi finds the same segmentation.",
        PROBABILITIES,
    )
    threads: int = _key(
        integer(1, MOST_THREADS),
        1,
        "Threads of nlp.pipe: one does what needs Python's lock, the others compute "
        "scores, best segmentations and probabilities.",
        NO_PREDICTION,
    )

    guarantee: Guarantee | None = _key(
        or_null(GUARANTEE),
        None,
        "The threshold above which records or spans need no eye, and what is promised "
        "of them; null: none was chosen.",
        NO_PREDICTION,
    )
    export_fields: tuple[tuple[str, str], ...] | None = _key(
        or_null(EXPORT_FIELDS),
        None,
        "For each label the field of BibTeX that it is, for `hosemi parse` with the "
        "formats bib and csl; null: those of common labels, such as author and title.",
        NO_PREDICTION,
    )

    def __post_init__(self) -> None:
        for row in fields(self):
            kind, message = row.metadata["kind"], row.metadata["message"]
            value = read(row.name, kind, getattr(self, row.name), message)
            object.__setattr__(self, row.name, value)
        _check_encoding(self)

    @property
    def has_observed(self) -> bool:
        """Whether any label pattern may have weights for features."""
        return bool(self.observed_order or self.observed_patterns)

    @cached_property
    def cfg(self) -> dict[str, Any]:
        """Returns all settings by name, as JSON and a config can have them; nobody may
        change them."""
        values = {name: getattr(self, name) for name in NAMES}
        values["min_confidence"] = write_thresholds(self.min_confidence)
        if self.guarantee is not None:
            values["guarantee"] = self.guarantee.to_cfg()
        for name in ("label_rules", "observed_patterns", "export_fields"):
            values[name] = as_lists(values[name])
        return values


def _deciding(most: int) -> tuple[str, ...]:
    """Returns the names of settings that decide this, or what precedes it."""
    return tuple(x.name for x in fields(Settings) if x.metadata["decides"] <= most)


LEARNT, DECIDING_PROBABILITIES = _deciding(WEIGHTS), _deciding(PROBABILITIES)
DECIDING_SPANS, NAMES = _deciding(SPANS), _deciding(NO_PREDICTION)


def list_settings() -> list[Setting]:
    """Returns all settings, for the factory and the reference of the config."""
    return [
        Setting(x.name, x.metadata["kind"], x.default, x.metadata["meaning"])
        for x in fields(Settings)
    ]


def decoding_options(
    settings: Settings, name: str, hierarchy: Hierarchy | None, number: int = 0
) -> DecodingOptions:
    """Returns what the decoder of a component of this name reads of its settings."""
    lists_ents = settings.spans_key is not None and settings.spans_threshold is None
    return DecodingOptions(
        name=name,
        hierarchy=hierarchy,
        number=number,
        has_scores=settings.confidence or lists_ents,
        has_whole=settings.confidence,
        **{x: getattr(settings, x) for x in NAMES if x in DecodingOptions._fields},
    )


def _check_encoding(settings: Settings) -> None:
    """Raises HS046, HS047, HS093, HS099 for settings that need spans to be segments;
    HS070 for label_rules."""
    encoding = settings.encoding
    is_tags, key = encoding != "segments", settings.incorrect_spans_key
    if settings.label_rules and is_tags:
        raise ValueError(Errors.HS046.format(found=encoding))
    check_forms("label_rules", settings.label_rules)
    decoding = DECODINGS[settings.decoding]
    if is_tags and not decoding.decodes_tags:
        raise ValueError(Errors.HS047.format(decoding=decoding.name, found=encoding))
    if key is not None and is_tags:
        raise ValueError(Errors.HS093.format(key=key, found=encoding))
    if settings.spans_threshold is not None:
        spans_key = settings.spans_key
        if spans_key is None or is_tags:
            raise ValueError(Errors.HS099.format(key=spans_key, encoding=encoding))


def check_tree(
    settings: Settings, is_smooth: bool, gazetteers: Mapping[str, Any]
) -> None:
    """Raises ValueError HS118 if settings, the objective (is it smooth?) or a list has
    no meaning for labels in a tree."""
    expected = {
        "encoding": "segments",
        "label_rules": [],
        "observed_order": 0,
        "observed_patterns": [],
    }
    needs = [
        (f"{name} = {value!r}", f"it is {settings.cfg[name]!r}")
        for name, value in expected.items()
        if settings.cfg[name] != value
    ]
    if not is_smooth:
        objective = 'the objective "spacy_hosemi.log_likelihood.v1"'
        needs.append((objective, "it is that of the perceptron"))
    if settings.decoding not in LEVEL_DECODINGS:
        rules = ", ".join(LEVEL_DECODINGS)
        needs.append((f"decoding one of {rules}", f"it is {settings.decoding!r}"))
    if hard := [name for name, x in gazetteers.items() if x.label is not None]:
        needs.append(('gazetteers without mode = "hard"', f"{hard} have it"))
    for need, found in needs:
        raise ValueError(Errors.HS118.format(expected=need, found=found))
