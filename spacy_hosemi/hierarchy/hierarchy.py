"""The settings of a label tree."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import Errors
from ..values import Number, OrNull, Setting, Text, Whole, read_all


@dataclass(frozen=True)
class Hierarchy:
    """Settings, see `make_hierarchy`."""

    separator: str | None
    threshold: float
    l2_growth: float
    exact_up_to: int


# The block [components.hosemi.hierarchy].
SETTINGS = (
    Setting(
        "separator",
        OrNull(Text()),
        "/",
        "What separates the names of a label that is a path from the top; null: "
        "[initialize.components.hosemi.hierarchy] has the parents of labels.",
    ),
    Setting(
        "threshold",
        Number(0.0, 1.0),
        0.001,
        "Segments less probable than this are not refined, but for those of the best "
        "segmentation. 0: all are, which is exact and slow.",
    ),
    Setting(
        "l2_growth",
        Number(least=0.0),
        1.0,
        "The l2 of the fit is multiplied by this on each level below the top.",
    ),
    Setting(
        "exact_up_to",
        Whole(0),
        140,
        "Trees of at most this many labels are decoded over all labels at once, which "
        "is exact; others level by level.",
    ),
)


def make_hierarchy(
    separator: str | None = "/",
    threshold: float = 0.001,
    l2_growth: float = 1.0,
    exact_up_to: int = 140,
) -> Hierarchy:
    """Registered as "spacy_hosemi.hierarchy.v1" in `misc`.

    separator (Optional[str]): What parts the names of a label that is a path from the
        top, such as "Person/Artist"; None: [initialize.components] has a hierarchy,
        such as spacy_hosemi.read_label_tree.v1.
    threshold (float): Segments less probable than this are not refined; those of the
        best segmentation always are. 0: all are, which is exact and slow; 1: only
        those.
    l2_growth (float): The l2 of the fit is multiplied by this on each level below the
        top.
    exact_up_to (int): Trees of up to so many labels are decoded over all of them at
        once: exactly, whatever the threshold, in the time and memory that labels
        without a tree take, or less. Level by level go others, and those with more
        than 140 labels, with a tok2vec, or with too many features.
    RETURNS (Hierarchy): For the key "hierarchy" of the component.
    RAISES (ValueError): HS043 a number out of range; HS118 separator.
    """
    if separator == "":
        raise ValueError(
            Errors.HS118.format(expected="a separator or null", found="it is empty")
        )
    return Hierarchy(**read_all(SETTINGS, locals(), prefix="hierarchy."))


def check_hierarchy(settings: object) -> None:
    """RAISES (ValueError): HS118 if they are not those of `make_hierarchy`."""
    if not isinstance(settings, Hierarchy):
        expected, found = "spacy_hosemi.hierarchy.v1", f"it is {settings!r}"
        raise ValueError(Errors.HS118.format(expected=expected, found=found))
