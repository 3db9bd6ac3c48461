"""Prints docstrings of the package that are drawn at random, to be read by somebody who
has not written them: which of them need their author?

    python docs/sample_docstrings.py                  # 25 of them, with seed 7
    python docs/sample_docstrings.py --number 10 --seed 8

Drawn are modules, classes, functions and methods of the Python files, all alike.
"""

from __future__ import annotations

import argparse
import ast
import random
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "spacy_hosemi"


def docstrings() -> Iterator[tuple[str, str]]:
    """YIELDS (Tuple[str, str]): Where a docstring stands, and the docstring."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf8"))):
            if isinstance(
                node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
            ) and (text := ast.get_docstring(node)):
                line, name = getattr(node, "lineno", 1), getattr(node, "name", "module")
                yield f"{path.relative_to(PACKAGE)}:{line} {name}", text


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--number", type=int, default=25, help="how many")
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    drawn = random.Random(args.seed).sample(sorted(docstrings()), args.number)
    for place, text in drawn:
        print(f"{place}\n    " + text.replace("\n", "\n    ") + "\n")


if __name__ == "__main__":
    main()
