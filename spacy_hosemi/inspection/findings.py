"""What is said of a corpus: one sentence, how often, where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

# Examples of each finding that are kept.
MAX_EXAMPLES = 5


@dataclass(frozen=True)
class Finding:
    """One thing that a person should know before training."""

    name: str  # what it is about, for programs: "in-train-and-dev"
    is_fault: bool  # whether the data are wrong; otherwise it is a remark
    text: str  # what was found, with numbers, and what follows
    found: int
    total: int
    examples: list[str] = field(default_factory=list)  # each with its place


def fault(
    name: str, text: str, found: int, total: int, examples: Sequence[str] = ()
) -> Finding:
    """Makes a finding of something wrong, of the fields."""
    return Finding(name, True, text, found, total, [*examples[:MAX_EXAMPLES]])


def remark(
    name: str, text: str, found: int, total: int, examples: Sequence[str] = ()
) -> Finding:
    """Makes a finding of something to know, of the fields."""
    return Finding(name, False, text, found, total, [*examples[:MAX_EXAMPLES]])


def count(n: int, name: str, plural: str | None = None) -> str:
    """Returns a number with its noun: "1 span", "2,000 spans"."""
    return f"{n:,} {name if n == 1 else plural or name + 's'}"


def share(found: int, total: int) -> str:
    """Returns "3 of 200 (1.5 %)"."""
    percent = 100 * found / max(total, 1)
    return f"{found:,} of {total:,} ({percent:.{0 if percent >= 10 else 1}f} %)"


def listed(names: Sequence[str], most: int = 8) -> str:
    """Returns names in a row; of many the first ones."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
