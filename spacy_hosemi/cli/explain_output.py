"""How `hosemi explain` shows explanations: tables and JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from spacy.tokens import Doc

from ..explain import Contribution, Explanation
from ..formats.lines import Line
from ..labels.inventory import Span
from .common import print_table
from .streams import clean, shortened

# Texts and names as they are shown.
_short = partial(shortened, limit=40)


def to_json(
    doc: Doc, line: Line, explanations: Sequence[Explanation], has_changes: bool
) -> dict[str, Any]:
    """Returns a text and its explanations, with places in characters, too."""

    def characters(start: int | None, end: int | None) -> tuple[int | None, int | None]:
        span = doc[start:end]
        return (None, None) if start is None else (span.start_char, span.end_char)

    reports = [asdict(x) for x in explanations]
    for report in reports:
        for x in (report, *report["contributions"]):
            x["start_char"], x["end_char"] = characters(x["start"], x["end"])
        for name in ("spans", "instead"):
            spans = [[*characters(i, j), label] for i, j, label in report[name]]
            report[f"{name}_char"] = spans
        report["changes"] = report["changes"] if has_changes else None
    return {"text": line.text, "line": line.line or None, "explanations": reports}


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
