"""What the scripts here have in common: a section of results.md for each table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

# The other benchmarks are scripts, too, and no package.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from measuring import table  # noqa: E402


@dataclass(frozen=True)
class Section:
    """One table of a paper, and ours beside it.

    title (str): Which table of which paper.
    protocol (str): Data, split, settings, what is measured: a paragraph.
    header (Sequence[str]), rows (Sequence[Sequence[str]]): Of the table.
    notes (Sequence[str]): What is to be said of it, a paragraph each.
    pictures (Sequence[str]): Files beside results.md.
    """

    title: str
    protocol: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = field(default=())
    pictures: Sequence[str] = field(default=())

    def __str__(self) -> str:
        parts = [f"## {self.title}", self.protocol, table(self.header, self.rows)]
        shown = [f"![{Path(name).stem}]({name})" for name in self.pictures]
        return "\n\n".join([*parts, *self.notes, *shown])


@dataclass(frozen=True)
class Options:
    """How a script measures.

    data (Path): The folder with all data sets.
    quick (bool): A small part in a minute or so: shows that all runs, not how well.
    pictures (Path): Where pictures are written to.
    """

    data: Path
    quick: bool
    pictures: Path
