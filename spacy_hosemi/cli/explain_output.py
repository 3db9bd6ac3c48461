"""How `hosemi explain` shows explanations: tables and JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from .common import print_table
from .streams import clean

if TYPE_CHECKING:
    from spacy.tokens import Doc

    from ..explain import Contribution, Explanation
    from ..explain.retraining import Retrained
    from ..labels.inventory import Span

# The longest text and name that is shown.
SHOWN = 40


def to_json(doc: Doc, one: Explanation, has_changes: bool) -> dict[str, Any]:
    """RETURNS (Dict[str, Any]): An explanation, with its places in characters, too;
    has_changes: whether changes were looked for, else they are None."""
    found = _with_characters(doc, asdict(one))
    parts = found["contributions"]
    found["contributions"] = [_with_characters(doc, part) for part in parts]
    return found if has_changes else {**found, "changes": None}


def retrained_to_json(doc: Doc, one: Retrained) -> dict[str, Any]:
    """RETURNS (Dict[str, Any]): What a second training says, in the same way."""
    return _with_characters(doc, asdict(one))


def _with_characters(doc: Doc, given: dict[str, Any]) -> dict[str, Any]:
    """The same, with characters after each place that is in tokens."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        found[name] = value
        if name == "end":
            start, end = given["start"], given["end"]
            place = (None, None) if start is None else _characters(doc, start, end)
            found["start_char"], found["end_char"] = place
        elif name in ("spans", "instead", "gold"):
            spans = [[*_characters(doc, i, j), label] for i, j, label in value]
            found[f"{name}_char"] = spans
    return found


def _characters(doc: Doc, start: int, end: int) -> tuple[int, int]:
    span = doc[start:end]
    return span.start_char, span.end_char


def print_explanations(
    doc: Doc,
    found: Sequence[Explanation],
    label: str | None,
    top: int,
    has_changes: bool,
) -> None:
    """Print a table for each explanation, or why there is none.

    label (Optional[str]): What only was explained.
    top (int): Contributions to show of each.
    has_changes (bool): Whether changes were looked for.
    """
    print(f"\n{clean(doc.text)}")
    if not found:
        reason = "no span was predicted"
        if label is not None and doc.ents:
            reason = f"no predicted span has the label {label}"
        print(f"nothing to explain: {clean(reason)}")
    for one in found:
        answer = "predicted" if one.is_answer else "not predicted"
        title = f"{one.label}: {_short(one.text)}"
        rows = [_row(part, doc) for part in one.contributions[:top]]
        rest = one.contributions[top:]
        if rest:
            total = math.fsum(part.score for part in rest)
            rows.append((f"{total:+.3f}", f"{len(rest):,} more", "", "", "", ""))
        header = ("score", "of", "read", "text", "for", "against")
        print_table(title, header, rows, "rlllll")
        print(f"{answer}, P = {one.probability:.3f}")
        if one.difference is None:
            print(f"because of {clean('; or '.join(one.limits))}")
        else:
            _print_difference(doc, one)
        if has_changes:
            _print_changes(one, top)


def _print_difference(doc: Doc, one: Explanation) -> None:
    print(f"log P(best with it) / P(best without it) = {one.difference:+.3f}")
    print(f"only with it: {_listed(doc, one.spans)}")
    print(f"only without it: {_listed(doc, one.instead)}")


def _print_changes(one: Explanation, top: int) -> None:
    print("what would change that, the smallest change first:")
    for change in one.changes[:top]:
        entry = "" if change.entry is None else f" {_short(change.entry)!r} of"
        text = f"{change.kind}{entry} {change.name}"
        print(f"  {clean(text)}: P = {change.probability:.3f}")
    if not one.changes:
        print("  no single entry of a list, and no single rule")


def print_retrained(doc: Doc, one: Retrained) -> None:
    """Print what a second training says."""
    answer = "predicted" if one.is_answer else "not predicted"
    print("trained on this text, too, with this gold:")
    print(f"  {_listed(doc, one.gold)}")
    print(f"then {answer}, P = {one.probability:.3f}")


def _listed(doc: Doc, spans: Sequence[Span]) -> str:
    shown = [f"{y}: {_short(doc[i:j].text)}" for i, j, y in spans]
    return clean(" | ".join(shown)) or "no span"


def _row(part: Contribution, doc: Doc) -> tuple[str, ...]:
    name = part.name if part.entry is None else f"{part.name} ({part.entry})"
    text = "" if part.start is None else doc[part.start : part.end].text
    columns = part.role or "", _short(text), part.label or "", part.other or ""
    return f"{part.score:+.3f}", f"{part.kind} {_short(name)}", *columns


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."
