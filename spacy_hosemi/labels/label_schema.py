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
from .projection import IdentityProjection, Projection

# Shared by all schemas, because a lock in the object could not be pickled: the first
# thread that needs the automaton of a schema compiles it, others wait.
_COMPILING = RLock()


@dataclass(frozen=True)
class LabelSchema:
    """Labels, their encoding, and the patterns and rules of segmentations.

    projection (Projection): From the labels of documents to those of segments.
    encoding (str), outside (str): See `LabelInventory`.
    patterns, observed (Tuple[Tuple[str, ...], ...]): See `PatternAutomaton`.
    rules (Tuple[str, ...]): Those in force, see `compile_grammar`.
    RAISES (ValueError): HS040 reserved name; HS042 encoding or outside.
    """

    projection: Projection = IdentityProjection(())
    encoding: str = "segments"
    outside: str = "run"
    patterns: tuple[Pattern, ...] = ()
    observed: tuple[Pattern, ...] = ()
    rules: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _ = self.inventory

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of spans in documents, without outside."""
        return self.projection.labels

    @cached_property
    def inventory(self) -> LabelInventory:
        """The labels of segments."""
        return LabelInventory(self.projection.top, self.encoding, self.outside)

    @cached_property
    def automaton(self) -> PatternAutomaton:
        """The automaton of labels, patterns and rules. It is compiled when first
        needed: labels may be added one by one before."""
        with _COMPILING:
            found: PatternAutomaton | None = self.__dict__.get("automaton")
            if found is None:
                names, rules = self.inventory.names, list(self.rules)
                found = PatternAutomaton(
                    names,
                    self.patterns,
                    observed=self.observed,
                    # Rules name labels that an untrained component does not have yet.
                    grammar=compile_grammar(names, rules)
                    if rules and self.labels
                    else None,
                )
                self.__dict__["automaton"] = found
            return found

    def with_patterns(
        self,
        patterns: Iterable[Sequence[str]],
        observed: Iterable[Sequence[str]],
        rules: Iterable[str],
    ) -> LabelSchema:
        """RETURNS (LabelSchema): The same labels with other patterns and rules."""
        return replace(
            self,
            patterns=tuple(map(tuple, patterns)),
            observed=tuple(map(tuple, observed)),
            rules=tuple(rules),
        )

    def to_cfg(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): All that is saved, for JSON, except for rules,
        which are a setting; "tree" only with a label tree."""
        found: dict[str, Any] = {
            "labels": list(self.labels),
            "patterns": [list(pattern) for pattern in self.patterns],
            "observed": [list(pattern) for pattern in self.observed],
        }
        parents = self.projection.parents
        return {**found, "tree": dict(parents)} if parents else found


def read_schema(cfg: Mapping[str, Any], projection: Projection) -> LabelSchema:
    """The schema of a saved component.

    cfg (Mapping[str, Any]): Its settings, and the keys of `to_cfg`. Models of version
        0.1 have neither rules nor observed patterns.
    projection (Projection): The projection of its labels.
    """
    schema = LabelSchema(projection, cfg["encoding"], cfg["outside"])
    rest = cfg.get("observed", []), cfg.get("label_rules", [])
    return schema.with_patterns(cfg["patterns"], *rest)
