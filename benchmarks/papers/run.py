"""Measure all tables of the papers, which results.md has.

    python benchmarks/papers/run.py --data DATA [--quick]
    make papers DATA=DATA [QUICK=1]

results.md is edited by hand; pictures are written beside it, but with --quick.
"""

from __future__ import annotations

import argparse
import importlib

import punctuation
from fitting import script, tell

SCRIPTS = "fields punctuation letters chinese_pos running_time orders".split()


def measure(args: argparse.Namespace) -> list[str]:
    """Run all scripts."""
    found = []
    for name in SCRIPTS:
        tell(f"{name} ..")
        found += importlib.import_module(name).measure(args)
    return found


main = script(__doc__, measure, punctuation.OPTIONS)

if __name__ == "__main__":
    main()
