"""The time of the field tokenizer beside spaCy's, on raw text.

    python benchmarks/tokenizing.py ../data/ingredients ../data/grobid_citation

Both tokenizers read the texts of train.jsonl, in turns, in one process: once with a
fresh vocabulary, so that all words are new, and once more the same texts. Where the
data have tokens, the text is the tokens with a space between them. Times are medians,
in CPU microseconds for each character. The second table has the longest of some texts
that are hard to cut: 100,000 times one character, alone or between two letters, in
milliseconds of one call with a fresh vocabulary.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import harness
import spacy
from arguments import script

from spacy_hosemi import FieldTokenizer, use_field_tokenizer

SIGNS = "a1( \n.-_@é½日ก🇩👩\u0301\u200b\u200d\xad\u0600"
N_TIMES = 100_000

MAKE: dict[str, Callable[[], Any]] = {
    "spaCy's": lambda: spacy.blank("en"),
    "field": lambda: use_field_tokenizer(spacy.blank("en")),
}


def read_all(nlp: Any, texts: list[str]) -> None:
    for text in texts:
        nlp.tokenizer(text)


def time_texts(texts: list[str], n_passes: int) -> dict[Any, list[float]]:
    """Returns CPU seconds by tokenizer and whether its words were met before."""

    def met(name: str) -> Any:
        nlp = MAKE[name]()
        read_all(nlp, texts)
        return nlp

    calls: dict[Any, harness.Timed] = {}
    for name, make in MAKE.items():
        run = lambda nlp: read_all(nlp, texts)  # noqa: E731
        calls[name, False] = harness.Timed(run, make)
        calls[name, True] = harness.Timed(run, lambda name=name: met(name))
    return harness.take_turns(calls, n_passes)


def slowest() -> list[list[Any]]:
    """Returns the slowest three texts, with milliseconds."""
    rows = []
    for sign in SIGNS:
        for form in ("{}", "a{}b"):
            tokenizer = FieldTokenizer(spacy.blank("en").vocab)
            began = time.process_time()
            tokenizer(form.format(sign * N_TIMES))
            seconds = time.process_time() - began
            rows.append([f"{ascii(form)} of {ascii(sign)}", 1e3 * seconds])
    return sorted(rows, key=lambda row: -row[1])[:3]


def measure(args: argparse.Namespace, folder: Path) -> None:
    rows = []
    for data in args.datasets:
        texts = [text for text, _ in harness.read_marked(data / "train.jsonl")]
        size = 1e6 / sum(map(len, texts))
        found = time_texts(texts, args.passes)
        for is_met in (False, True):
            one, other = (size * median(found[name, is_met]) for name in MAKE)
            words = "met before" if is_met else "new"
            rows.append([data.resolve().name, words, one, other, other / one])
    columns = ["data", "words", "spaCy's|.3f", "field|.3f", "field / spaCy's|.2f"]
    hard = harness.table(["text", "ms|.0f"], slowest())
    harness.report(args, "Tokenizers", harness.table(columns, rows), hard, rows=rows)


main = script(__doc__, measure, "datasets --passes --json", passes=5)

if __name__ == "__main__":
    main()
