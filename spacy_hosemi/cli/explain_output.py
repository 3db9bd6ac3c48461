"""How `hosemi explain` shows explanations: tables and JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from .common import print_table
from .streams import clean, shortened

if TYPE_CHECKING:
    from spacy.tokens import Doc

    from ..explain import Contribution, Explanation
    from ..formats.lines import Line
    from ..labels.inventory import Span

# Texts and names as they are shown.
_short = partial(shortened, limit=40)


def to_json(
    doc: Doc, line: Line, explanations: Sequence[Explanation], has_changes: bool
) -> dict[str, Any]:
    """Returns a text and its explanations, with places in characters, too."""
    reports = []
    for explanation in explanations:
        report = _with_characters(doc, asdict(explanation))
        parts = report["contributions"]
        report["contributions"] = [_with_characters(doc, part) for part in parts]
        reports.append(report if has_changes else {**report, "changes": None})
    return {"text": line.text, "line": line.line or None, "explanations": reports}


def _with_characters(doc: Doc, report: dict[str, Any]) -> dict[str, Any]:
    """Returns the same, with characters after each place that is in tokens."""
    both: dict[str, Any] = {}
    for name, value in report.items():
        both[name] = value
        if name == "end":
            start, end = report["start"], report["end"]
            place = (None, None) if start is None else _characters(doc, start, end)
            both["start_char"], both["end_char"] = place
        elif name in ("spans", "instead"):
            spans = [[*_characters(doc, i, j), label] for i, j, label in value]
            both[f"{name}_char"] = spans
    return both


def _characters(doc: Doc, start: int, end: int) -> tuple[int, int]:
    span = doc[start:end]
    return span.start_char, span.end_char


def print_explanations(
    doc: Doc,
    explanations: Sequence[Explanation],
    label: str | None,
    top: int,
    has_changes: bool,
) -> None:
    """Prints the `top` contributions of explanations, or that there is no span."""
    print(f"\n{clean(doc.text)}")
    if not explanations:
        reason = "no span was predicted"
        if label is not None and doc.ents:
            reason = f"no predicted span has the label {label}"
        print(f"nothing to explain: {clean(reason)}")
    for why in explanations:
        answer = "predicted" if why.is_answer else "not predicted"
        rows = [_row(part, doc) for part in why.contributions[:top]]
        rest = why.contributions[top:]
        if rest:
            total = math.fsum(part.score for part in rest)
            rows.append((f"{total:+.3f}", f"{len(rest):,} more", "", "", "", "", ""))
        header = ("score", "why", "read", "text", "for", "against", "feature")
        print_table(f"{why.label}: {_short(why.text)}", header, rows, "rllllll")
        print(f"{answer}, P = {why.probability:.3f}")
        if why.difference is None:
            print(f"because of {clean('; or '.join(why.limits))}")
        else:
            print(f"log P(best with it) / P(best without it) = {why.difference:+.3f}")
            print(f"only with it: {_listed(doc, why.spans)}")
            print(f"only without it: {_listed(doc, why.instead)}")
        if has_changes:
            print("what would change that, the smallest change first:")
            for change in why.changes[:top]:
                entry = "" if change.entry is None else f" {_short(change.entry)!r} of"
                text = f"{change.kind}{entry} {change.name}"
                print(f"  {clean(text)}: P = {change.probability:.3f}")
            if not why.changes:
                print("  no single entry of a list, and no single rule")


def _listed(doc: Doc, spans: Sequence[Span]) -> str:
    shown = [f"{y}: {_short(doc[i:j].text)}" for i, j, y in spans]
    return clean(" | ".join(shown)) or "no span"


def _row(part: Contribution, doc: Doc) -> tuple[str, ...]:
    words = part.words if part.entry is None else f"{part.words} ({part.entry})"
    name = "" if part.words.endswith(part.name) else _short(part.name)
    text = "" if part.start is None else doc[part.start : part.end].text
    columns = part.role or "", _short(text), part.label or "", part.other or ""
    return f"{part.score:+.3f}", shortened(words, 60), *columns, name
