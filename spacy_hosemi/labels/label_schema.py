"""The labels of a component: names, encoding, label patterns, rules, label tree.

A `LabelSchema` is immutable: more labels or patterns make a new one. It is saved beside
the settings of the component, under the keys of `to_cfg`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from threading import RLock
from typing import Any

from ..core import PatternAutomaton, compile_grammar
from .inventory import LabelInventory, Pattern
from .projection import Projection

# Shared by all schemas, because a lock in the object could not be pickled: the first
# thread that needs the automaton of a schema compiles it, others wait.
_COMPILING = RLock()


@dataclass(frozen=True)
class LabelSchema:
    """Has labels, their encoding, and the patterns and rules of segmentations; see
    `LabelInventory`, `PatternAutomaton`, `compile_grammar`. Raises HS040 for a reserved
    name."""

    projection: Projection = Projection(())
    encoding: str = "segments"
    outside: str = "run"
    patterns: tuple[Pattern, ...] = ()
    observed: tuple[Pattern, ...] = ()
    rules: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _ = self.inventory

    @property
    def labels(self) -> tuple[str, ...]:
        """Returns the labels of spans in documents, without outside."""
        return self.projection.labels

    @cached_property
    def inventory(self) -> LabelInventory:
        """Returns the labels of segments: outside, and those of spans or their tags."""
        return LabelInventory(self.projection.top, self.encoding, self.outside)

    @cached_property
    def automaton(self) -> PatternAutomaton:
        """Returns the automaton of labels, patterns and rules. It is compiled when
        first needed: labels may be added one by one before."""
        with _COMPILING:
            automaton: PatternAutomaton | None = self.__dict__.get("automaton")
            if automaton is None:
                names = self.inventory.names
                # Rules name labels that an untrained component does not have yet.
                has_rules = self.rules and self.labels
                grammar = compile_grammar(names, [*self.rules]) if has_rules else None
                automaton = PatternAutomaton(
                    names, self.patterns, observed=self.observed, grammar=grammar
                )
                self.__dict__["automaton"] = automaton
            return automaton

    def with_patterns(
        self,
        patterns: Iterable[Sequence[str]],
        observed: Iterable[Sequence[str]],
        rules: Iterable[str],
    ) -> LabelSchema:
        """Returns the same labels with other patterns and rules."""
        return replace(
            self,
            patterns=tuple(map(tuple, patterns)),
            observed=tuple(map(tuple, observed)),
            rules=tuple(rules),
        )

    def to_cfg(self) -> dict[str, Any]:
        """Returns all that is saved, for JSON, except for rules, which are a setting;
        "tree" only with a label tree."""
        cfg: dict[str, Any] = {
            "labels": list(self.labels),
            "patterns": [list(pattern) for pattern in self.patterns],
            "observed": [list(pattern) for pattern in self.observed],
        }
        parents = self.projection.parents
        return {**cfg, "tree": dict(parents)} if parents else cfg


def read_schema(cfg: Mapping[str, Any], projection: Projection) -> LabelSchema:
    """Returns the schema of a saved component, by settings and the keys of `to_cfg`."""
    schema = LabelSchema(projection, cfg["encoding"], cfg["outside"])
    rest = cfg.get("observed", []), cfg.get("label_rules", [])
    return schema.with_patterns(cfg["patterns"], *rest)
