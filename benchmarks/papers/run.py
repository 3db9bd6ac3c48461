"""Measure all tables of the papers, which results.md has.

    python benchmarks/papers/run.py --data DATA [--quick]
    make papers DATA=DATA [QUICK=1]

Prints the tables; results.md is edited by hand. The pictures are written beside it, but
with --quick: a small part shows only that all runs.
"""

from __future__ import annotations

import argparse
import importlib
import sys

from fitting import run_script, tell

SCRIPTS = "fields punctuation letters chinese_pos running_time orders".split()


def measure(args: argparse.Namespace) -> list[str]:
    """Run all scripts, with the defaults of their own options."""
    found = []
    for name in SCRIPTS:
        tell(f"{name} ..")
        found += importlib.import_module(name).measure(args)
    return found


if __name__ == "__main__":
    sys.exit(run_script(measure, __doc__))
