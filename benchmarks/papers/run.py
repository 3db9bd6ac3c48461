"""Measure all tables of the papers, and write results.md beside this file.

    python benchmarks/papers/run.py --data DATA [--quick]
    make papers DATA=DATA [QUICK=1]

With --quick it is printed and not written: a small part shows only that all runs.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from pathlib import Path

from fitting import add_arguments, tell
from measuring import environment
from sections import Options, Section

FOLDER = Path(__file__).resolve().parent
SCRIPTS = (
    "fields",
    "punctuation",
    "letters",
    "chinese_pos",
    "running_time",
    "orders",
)


def sections(options: Options) -> list[Section]:
    """Run the scripts that are there."""
    found = []
    for name in SCRIPTS:
        if importlib.util.find_spec(name) is None:
            tell(f"{name}.py is not there")
            continue
        tell(f"{name} ..")
        found += importlib.import_module(name).sections(options)
    return found


def report(found: list[Section]) -> str:
    """RETURNS (str): All sections in Markdown, and where they were measured."""
    where = environment()
    versions = ", ".join(f"{name} {x}" for name, x in where["versions"].items() if x)
    head = (
        "# The tables of the papers, and ours\n\n"
        f"Measured on {where['date']}, {where['cpu']}, one thread, {versions}, commit "
        f"{where['commit']}. Written by `make papers DATA=..`."
    )
    return "\n\n".join([head, *map(str, found)]) + "\n"


def main() -> int:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description="Measure the tables of the papers.")
    add_arguments(parser)
    args = parser.parse_args()
    text = report(sections(Options(args.data, args.quick, FOLDER)))
    if args.quick:
        print(text, end="")
    else:
        (FOLDER / "results.md").write_text(text, encoding="utf-8")
        tell(f"wrote {FOLDER / 'results.md'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
