"""From words to running text: what a reader of characters has to find.

    python benchmarks/characters.py ../data/ud_chinese_gsd_pos zh
    python benchmarks/accuracy.py zh --config benchmarks/configs/chinese.cfg

Joins the tokens of each line of train, dev and test without spaces, and moves the spans
to offsets in characters: in a language that writes no spaces, a model then has to cut
the words, too. Lines of tokens are described in `README.md`, those of text in
`hosemi convert`.
"""

from __future__ import annotations

import argparse
import json
import sys
from itertools import accumulate
from pathlib import Path
from typing import Any


def as_text(record: dict[str, Any]) -> dict[str, Any]:
    """A line of tokens as one of text.

    record (Dict[str, Any]): "tokens" and "spans" in tokens; other keys are left out.
    RETURNS (Dict[str, Any]): "text" and "spans" in characters.
    """
    first = [0, *accumulate(map(len, record["tokens"]))]
    spans = [(first[start], first[end], label) for start, end, label in record["spans"]]
    return {"text": "".join(record["tokens"]), "spans": spans}


def convert_folder(source: Path, target: Path) -> int:
    """RETURNS (int): How many lines were written to the folder, over all its parts."""
    n_lines = 0
    for path in sorted(source.glob("*.jsonl")):
        target.mkdir(parents=True, exist_ok=True)
        with path.open(encoding="utf8") as lines:
            records = [as_text(json.loads(line)) for line in lines if line.strip()]
        with (target / path.name).open("w", encoding="utf8") as out:
            for record in records:
                print(json.dumps(record, ensure_ascii=False), file=out)
        n_lines += len(records)
    return n_lines


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Join the tokens of a data set without spaces.",
        epilog="Example: python benchmarks/characters.py ../data/ud_chinese_gsd_pos zh",
    )
    parser.add_argument("source", type=Path, help="folder with lines of tokens")
    parser.add_argument("target", type=Path, help="folder for lines of text")
    args = parser.parse_args()
    n_lines = convert_folder(args.source, args.target)
    if not n_lines:
        parser.error(f"{args.source}: no lines in train.jsonl, dev.jsonl or test.jsonl")
    print(f"{args.target}: {n_lines:,} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
