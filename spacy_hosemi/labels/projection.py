"""Labels without a tree: the top of one that has nothing below.

The component asks the same of all labels; `refinement` answers where there is a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from spacy.tokens import Doc
from spacy.training import Example

from ..core import PatternAutomaton, Potentials
from ..hierarchy.flatten import Leaves
from ..hierarchy.weights import LevelWeights
from ..model.weights.shim import Weights
from .gold import Gold
from .inventory import check_names
from .partial import Annotation, Fixed, Preset


class Flat:
    """Labels each of which is its own top.

    takes_labels (bool): Whether a trained model may get more of them.
    needs_parents (bool): Whether somebody must say what is above them.
    weights (Optional[LevelWeights]): Of what is below the top.
    names (Sequence[str]): All labels, and what is above them.
    parents (Mapping[str, str]): What stands above each name.
    """

    takes_labels = True
    needs_parents = False
    weights: LevelWeights | None = None
    names: Sequence[str] = ()
    parents: Mapping[str, str] = MappingProxyType({})

    @property
    def is_needed(self) -> bool:
        """Whether anything is below the top."""
        return False

    def set_labels(
        self, labels: Sequence[str], parents: Mapping[str, str]
    ) -> Sequence[str]:
        """RETURNS (Sequence[str]): The names at the top.

        RAISES (ValueError): HS040 reserved name; the labels are as they were then.
        """
        check_names(labels)
        self.names = tuple(labels)
        return self.names

    # from labels to those of the top

    def check(self, annotation: Annotation, doc: Doc, name: str) -> None:
        """Whether it has known labels: `make_gold` sees to that at the top."""

    def annotation_at_top(self, annotation: Annotation) -> Annotation:
        """RETURNS (Annotation): With the names at the top."""
        return annotation

    def limits_at_top(
        self, presets: list[Preset | None], fixed: Fixed
    ) -> tuple[list[Preset | None], Fixed]:
        """RETURNS (Tuple[List[Optional[Preset]], Fixed]): What is preset beside what is
        fixed; of entities with an unknown label their tokens stay taken."""
        beside = [preset and preset.beside(fixed) for preset in presets]
        return [preset and preset.with_labels(self.names) for preset in beside], fixed

    def at_leaves(self, fixed: Fixed) -> Fixed:
        """RETURNS (Fixed): With labels, whatever the names that were given."""
        return fixed

    # training

    def clear(self) -> None:
        """Forget all weights below the top."""

    def connect(self, automaton: PatternAutomaton) -> None:
        """What follows from the automaton of the top."""

    def allocate(
        self,
        top: Weights,
        docs: Sequence[Doc],
        annotations: Sequence[Annotation],
        golds: Sequence[Gold],
        outside: str,
        **settings: Any,
    ) -> None:
        """Zero weights for what is seen in training."""

    def grow(
        self, top: Weights, docs: Sequence[Doc], annotations: Sequence[Annotation]
    ) -> None:
        """Weights of 0 for what documents of an update bring."""

    def fit(
        self,
        fit: Callable[[Any], None],
        top: Weights,
        automaton: PatternAutomaton,
        docs: Sequence[Doc],
        annotations: Sequence[Annotation],
        golds: Sequence[Gold],
    ) -> None:
        """Train all levels below the top."""

    def accumulate(
        self,
        top: Weights,
        automaton: PatternAutomaton,
        docs: Sequence[Doc],
        annotations: Sequence[Annotation],
        golds: Sequence[Gold],
        potentials: Sequence[Potentials],
    ) -> float:
        """RETURNS (float): The summed loss of all levels below the top."""
        return 0.0

    def check_prunable(self) -> None:
        """Whether features of the top may be forgotten."""

    # prediction

    def leaves(
        self, top: Weights, labels: Sequence[str], outside: str
    ) -> Leaves | None:
        """RETURNS (Optional[Leaves]): What takes the place of the labels of the top in
        prediction, if anything does."""
        return None

    # evaluation

    def of_scorer(self, examples: Iterable[Example]) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): What `score_entities` must know of the labels."""
        return {}
