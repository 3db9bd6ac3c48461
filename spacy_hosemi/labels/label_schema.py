"""The labels of a component and the patterns of them: given, or mined from gold.

What is saved of them stands in the settings of the component: "labels", "patterns",
"observed", and "tree", if there is one that the labels do not say themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import PatternAutomaton, compile_grammar
from ..errors import Errors
from ..hierarchy.tree import check_labels_in_tree
from .gold import Gold
from .inventory import LabelInventory, Pattern, possible_lengths
from .patterns import check_asked, mine_observed, mine_patterns
from .projection import Flat

Floats = NDArray[np.float64]


class Labelling:
    """Labels, patterns and rules, and what follows from them.

    cfg (Dict[str, Any]): Settings of the component, in which all is kept.
    tree (Flat): What is above and below the labels that segments have.

    inventory (LabelInventory): The names that segments have.
    """

    def __init__(self, cfg: dict[str, Any], tree: Flat) -> None:
        self.cfg = cfg
        self.tree = tree
        self.assign([], [])

    def assign(
        self,
        labels: Iterable[str],
        patterns: Iterable[Sequence[str]],
        rules: Sequence[str] = (),
        observed: Iterable[Sequence[str]] = (),
    ) -> None:
        """Replace all.

        labels (Iterable[str]): Of spans.
        patterns, observed (Iterable[Sequence[str]]): See `PatternAutomaton`.
        rules (Sequence[str]): See `compile_grammar`.
        RAISES (ValueError): HS040 reserved name; HS115 cycle.
        """
        labels = tuple(labels)
        names = self.tree.set_labels(labels, self.cfg.get("tree", {}))
        cfg = self.cfg
        self.inventory = LabelInventory(names, cfg["encoding"], cfg["outside"])
        cfg["labels"] = list(labels)
        cfg["patterns"] = [list(pattern) for pattern in patterns]
        cfg["observed"] = [list(pattern) for pattern in observed]
        self._rules = list(rules)
        self._automaton: PatternAutomaton | None = None

    def load(self) -> None:
        """Take what is in the settings."""
        cfg = self.cfg
        # Models of version 0.1 have no rules.
        rules = cfg.get("label_rules", []) if cfg["labels"] else []
        self.assign(cfg["labels"], cfg["patterns"], rules, cfg.get("observed", []))

    def set_patterns(
        self, patterns: Iterable[Sequence[str]], observed: Iterable[Sequence[str]]
    ) -> None:
        """Replace them; from now on the rules of the settings are in force."""
        cfg = self.cfg
        self.assign(cfg["labels"], patterns, cfg.get("label_rules", []), observed)

    @property
    def automaton(self) -> PatternAutomaton:
        """Of labels, patterns and rules; made when it is first asked for, since labels
        may be added one by one."""
        if self._automaton is None:
            names, rules = self.inventory.names, self._rules
            self._automaton = PatternAutomaton(
                names,
                self.cfg["patterns"],
                observed=self.cfg["observed"],
                grammar=compile_grammar(names, rules) if rules else None,
            )
        return self._automaton

    def begin(
        self, labels: Sequence[str], read_tree: Callable[[], dict[str, str]] | None
    ) -> None:
        """Take labels for training; there are no patterns yet.

        labels (Sequence[str]): All.
        read_tree (Optional[Callable]): Gives the parent of each name.
        RAISES (ValueError): HS117 a label that is not in the tree; HS118 a tree that
            nothing asks for, or none that is.
        """
        if self.tree.needs_parents != (read_tree is not None):
            raise ValueError(
                Errors.HS118.format(
                    expected="hierarchy.separator, or hierarchy in [initialize]",
                    found="there are both" if read_tree else "there is none of them",
                )
            )
        if read_tree is not None:
            self.cfg["tree"] = read_tree()
            check_labels_in_tree(labels, self.cfg["tree"])
        self.assign(labels, [])
        if self.tree.is_needed:
            self.cfg["tree"] = self.tree.parents

    def add(self, label: str) -> NDArray[np.bool_]:
        """Add a label to those of a trained model, with the patterns that it brings.

        RETURNS (bool [K]): Which of these patterns, which come last, are forbidden.
        RAISES (ValueError): HS040 reserved name; HS118 labels in a tree.
        """
        if not self.tree.takes_labels:
            expected = "all labels when it is initialized, where they may be listed"
            found = f"{label!r} is a new one"
            raise ValueError(Errors.HS118.format(expected=expected, found=found))
        n_names, cfg = len(self.inventory.names), self.cfg
        patterns, observed = cfg["patterns"], cfg.get("observed", [])
        self.assign([*cfg["labels"], label], ())  # what patterns are mined for
        new = set(self.inventory.names[n_names:])
        mined, forbidden = self.mine([], None)
        more = [p for p in (*forbidden, *mined) if new.intersection(p)]
        self.set_patterns([*patterns, *more], observed)
        excluded = set(forbidden)
        return np.array([pattern in excluded for pattern in more], bool)

    def find_patterns(self, golds: Sequence[Gold]) -> int:
        """Take those of a training corpus.

        RETURNS (int): How many of them, which come first, are forbidden.
        RAISES (ValueError): HS112 observed_patterns.
        """
        cfg = self.cfg
        by_gain = cfg["pattern_selection"] == "gain"
        patterns, forbidden = self.mine(golds, 0 if by_gain else cfg["pattern_max"])
        check_asked(cfg["observed_patterns"], self.inventory)
        observed = mine_observed(
            self.inventory,
            _sequences(golds),
            max_order=cfg["observed_order"],
            min_count=cfg["pattern_min_count"],
            asked=cfg["observed_patterns"],
        )
        self.set_patterns([*forbidden, *patterns], observed)
        return len(forbidden)

    def mine(
        self, golds: Sequence[Gold], max_patterns: int | None
    ) -> tuple[list[Pattern], list[Pattern]]:
        """See `mine_patterns`."""
        return mine_patterns(
            self.inventory,
            _sequences(golds),
            max_order=self.cfg["max_order"],
            min_count=self.cfg["pattern_min_count"],
            max_patterns=max_patterns,
        )

    def possible_lengths(self) -> tuple[Floats, Floats]:
        """See `labels.possible_lengths`."""
        explicit, limit = self.cfg["explicit_length"], self.cfg["max_length"]
        return possible_lengths(self.inventory, explicit, limit)


def _sequences(golds: Iterable[Gold]) -> list[list[int]]:
    """Labels of the segments of each document that is known as a whole."""
    return [[y for _, _, y in gold.segments] for gold in golds if gold.segments]
