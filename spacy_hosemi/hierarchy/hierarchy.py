"""The settings of a label tree."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import Errors
from ..values import TEXT, Setting, integer, number, or_null, read_all


@dataclass(frozen=True)
class Hierarchy:
    """Holds the settings of a label tree; SETTINGS says what each means."""

    separator: str | None
    threshold: float
    l2_growth: float
    exact_up_to: int


# The block [components.hosemi.hierarchy].
SETTINGS = (
    Setting(
        "separator",
        or_null(TEXT),
        "/",
        "What separates the names of a label that is a path from the top, such as "
        '"Person/Artist"; null: [initialize.components.hosemi.hierarchy] reads the '
        "parents of labels, for example by spacy_hosemi.read_label_tree.v1.",
    ),
    Setting(
        "threshold",
        number(0.0, 1.0),
        0.001,
        "Segments less probable than this are not refined, except those of the best "
        "segmentation. 0: all are refined, which is exact and slow; 1: only those.",
    ),
    Setting(
        "l2_growth",
        number(least=0.0),
        1.0,
        "The l2 of the fit is multiplied by this on each level below the top.",
    ),
    Setting(
        "exact_up_to",
        integer(0),
        140,
        "Trees of at most this many labels are decoded over all labels at once: "
        "exactly, whatever the threshold, as fast as labels without a tree. Larger "
        "trees, and those with a tok2vec or with too many features, are decoded level "
        "by level.",
    ),
)


def make_hierarchy(
    separator: str | None = "/",
    threshold: float = 0.001,
    l2_growth: float = 1.0,
    exact_up_to: int = 140,
) -> Hierarchy:
    """Registered as "spacy_hosemi.hierarchy.v1" in `misc`: returns the settings of a
    label tree, see SETTINGS, for the key "hierarchy" of the component. Raises
    ValueError: HS043 a number is out of range; HS118 the separator is empty."""
    if separator == "":
        text = Errors.HS118.format(expected="a separator or null", found="it is empty")
        raise ValueError(text)
    return Hierarchy(**read_all(SETTINGS, locals(), prefix="hierarchy."))


def check_hierarchy(settings: object) -> None:
    """Raises ValueError HS118 if the settings are not those of `make_hierarchy`."""
    if not isinstance(settings, Hierarchy):
        expected, found = "spacy_hosemi.hierarchy.v1", f"it is {settings!r}"
        raise ValueError(Errors.HS118.format(expected=expected, found=found))
