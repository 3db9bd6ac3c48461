"""Feature sets that come with the package, by role.

The default was chosen by cross-validation on the training part of reference data, the
others on the training and development parts of references, affiliations, names in text
and a treebank. Windows help at the borders of a segment (start, end); inside reads the
token alone. Where tokens are characters, LOWER* of a whole segment adds four points of
F1. A window shows the begin and end of a document up to three tokens away; POSITION did
not help in any role (2 x 3 folds on Cora: F1 -.2 in start and end, -.7 in inside;
standard error .3).
"""


def _templates(text: str) -> tuple[str, ...]:
    return tuple(template.strip() for template in text.split(","))


BORDER = _templates(
    """
    BIAS, LOWER[-3:3], CORE[-2:2], SHORT_SHAPE[-2:2], SHAPE[-1:1], NUMBER[-2:2],
    PUNCTUATION[-2:2], PREFIX2, PREFIX3[-1:1], PREFIX4, SUFFIX2, SUFFIX3[-1:1],
    SUFFIX4, IS_TITLE[-1:1], IS_UPPER[-1:1], IS_STOP[-1:1], LOWER[-1] & LOWER,
    LOWER & LOWER[1], SHORT_SHAPE[-1] & SHORT_SHAPE, SHORT_SHAPE & SHORT_SHAPE[1],
    SHORT_SHAPE[-1] & SHORT_SHAPE & SHORT_SHAPE[1],
    SHORT_SHAPE[-2] & SHORT_SHAPE[-1] & SHORT_SHAPE,
    SHORT_SHAPE & SHORT_SHAPE[1] & SHORT_SHAPE[2]
    """
)
INSIDE = _templates(
    """
    BIAS, LOWER, CORE, SHORT_SHAPE, SHAPE, NUMBER, PUNCTUATION, PREFIX1, PREFIX2,
    PREFIX3, PREFIX4, SUFFIX1, SUFFIX2, SUFFIX3, SUFFIX4, IS_TITLE, IS_UPPER, IS_STOP
    """
)

# For observed label patterns, unless the config has templates for them.
TRANSITION = ("LOWER", "LOWER[-1]", "SHORT_SHAPE", "PUNCTUATION[-1:0]")

# Fields of records, such as references: pairs of words within, and three words.
FIELD_BORDER = (
    *BORDER,
    "LOWER[-2] & LOWER[-1]",
    "LOWER[1] & LOWER[2]",
    "LOWER[-1] & LOWER & LOWER[1]",
)
FIELD_WITHIN = ("LOWER[-1] & LOWER", "SHORT_SHAPE[-1] & SHORT_SHAPE")

# Names in running text: fewer templates of punctuation and shapes, neighbours inside.
NAME_BORDER = _templates(
    """
    BIAS, LOWER[-2:2], SHORT_SHAPE[-1:1], SHAPE[-1:1], CASE[-1:1], PREFIX2, PREFIX3,
    PREFIX4, SUFFIX2, SUFFIX3[-1:1], SUFFIX4, IS_STOP[-1:1], LOWER[-1] & LOWER,
    LOWER & LOWER[1], SHORT_SHAPE[-1] & SHORT_SHAPE & SHORT_SHAPE[1]
    """
)
NAME_INSIDE = _templates(
    """
    BIAS, LOWER[-1:1], CORE, SHORT_SHAPE, SHAPE, CASE, PREFIX1, PREFIX2, PREFIX3,
    PREFIX4, SUFFIX1, SUFFIX2, SUFFIX3, SUFFIX4, SUFFIX3[-1], SUFFIX3[1], IS_STOP
    """
)

# Tokens are characters: pairs of them at the borders, and the whole segment.
CHARACTER_BORDER = _templates(
    """
    BIAS, LOWER[-2:2], LOWER[-1] & LOWER, LOWER & LOWER[1], LOWER[-2] & LOWER[-1],
    LOWER[1] & LOWER[2], LOWER[-1] & LOWER[1], SHORT_SHAPE[-1:1]
    """
)
CHARACTER_INSIDE = ("BIAS", "LOWER", "SHORT_SHAPE")
CHARACTER_WHOLE = ("LOWER*", "SHORT_SHAPE+", "TOKENS")

# Tokens are pieces of words, as FieldTokenizer makes them: whether there is a space
# around a token, and wider windows, since three tokens show less of the text.
PIECE_BORDER = _templates(
    """
    SPACY[-1:0], SPACY[-1] & LOWER, SPACY & LOWER, SPACY & SHORT_SHAPE[1],
    LOWER[-5:-4], LOWER[4:5], SHORT_SHAPE[-4:-3], SHORT_SHAPE[3:4]
    """
)
PIECES: dict[str, tuple[str, ...]] = {
    "inside": ("SPACY[-1:0]",),
    "start": PIECE_BORDER,
    "end": PIECE_BORDER,
}

PRESETS: dict[str, dict[str, tuple[str, ...]]] = {
    "default": {"inside": INSIDE, "start": BORDER, "end": BORDER},
    "fields": {
        "inside": INSIDE,
        "start": FIELD_BORDER,
        "end": FIELD_BORDER,
        "within": FIELD_WITHIN,
    },
    "names": {"inside": NAME_INSIDE, "start": NAME_BORDER, "end": NAME_BORDER},
    "chinese": {
        "inside": CHARACTER_INSIDE,
        "start": CHARACTER_BORDER,
        "end": CHARACTER_BORDER,
        "whole": CHARACTER_WHOLE,
    },
    "none": {},
}

# The default templates of a list of names; {} stands for its name.
LISTS: dict[str, tuple[str, ...]] = {
    "inside": ("{}:IN", "{}:BEGIN", "{}:END"),
    "start": ("{}:BEGIN[-1:1]", "{}:IN[-1:1]", "{}:END[-1]"),
    "end": ("{}:END[-1:1]", "{}:IN[-1:1]", "{}:BEGIN[1]"),
    "whole": ("{}:MATCH",),
}

# The default templates of a table; {} stands for an attribute: "clusters:VALUE".
TABLES: dict[str, tuple[str, ...]] = {
    "inside": ("{}",),
    "start": ("{}[-1:1]",),
    "end": ("{}[-1:1]",),
}

# More default templates of a list with fuzzy matches.
FUZZY_LISTS: dict[str, tuple[str, ...]] = {
    "inside": ("{}:FUZZY_IN",),
    "start": ("{}:FUZZY_BEGIN[-1:1]", "{}:FUZZY_END[-1]"),
    "end": ("{}:FUZZY_END[-1:1]", "{}:FUZZY_BEGIN[1]"),
    "whole": ("{}:FUZZY_MATCH", "{}:SIMILARITY"),
}
