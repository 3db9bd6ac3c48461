"""Says what was found in a corpus: in a sentence, how often, where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

# Examples of each finding that are kept, and names that are listed.
MAX_EXAMPLES, MAX_NAMES = 5, 8


@dataclass(frozen=True)
class Finding:
    """One thing that a person should know before training."""

    name: str  # what it is about, for programs: "in-train-and-dev"
    is_fault: bool  # whether the data are wrong; otherwise it is a remark
    text: str  # what was found, with numbers, and what follows
    found: int
    total: int
    examples: list[str] = field(default_factory=list)  # each with its place


def remark(
    name: str,
    text: str,
    total: int,
    examples: Sequence[str] = (),
    found: int | None = None,
    is_fault: bool = False,
) -> Iterator[Finding]:
    """Yields a finding, or none where nothing was found: `found` is the number of
    examples, unless it is given. The text has {share} for "3 of 200 (1.5 %)"."""
    n = len(examples) if found is None else found
    if n:
        text = text.replace("{share}", share(n, total), 1)
        yield Finding(name, is_fault, text, n, total, [*examples[:MAX_EXAMPLES]])


# Yields a finding of something wrong.
fault = partial(remark, is_fault=True)


def count(n: int, name: str) -> str:
    """Returns a number with its noun: "1 span", "2,000 spans"."""
    return f"{n:,} {name}{'' if n == 1 else 's'}"


def share(found: int, total: int) -> str:
    """Returns "3 of 200 (1.5 %)"."""
    percent = 100 * found / max(total, 1)
    return f"{found:,} of {total:,} ({percent:.{0 if percent >= 10 else 1}f} %)"


def listed(names: Sequence[str]) -> str:
    """Returns names with commas; of many the first ones, and how many more."""
    more = f" and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more
