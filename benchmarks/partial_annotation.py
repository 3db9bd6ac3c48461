"""What training on partial annotation gives: some spans were never looked at.

    python benchmarks/partial_annotation.py ../data/cora

Of the annotated spans of the training documents a share is taken away, drawn by a fixed
seed; what a smaller share takes away a larger one does, too. All other tokens keep what
they have: spans those that stay, outside what is outside. The config is then trained
twice on the same spans:

- missing: the tokens of the spans taken away are missing (`ent_iob` 0). Training sums
  over all segmentations that agree with the rest;
- outside: these tokens are called outside, as in a file that has spans only.

The first row is full annotation, and so is test.jsonl, or what --dev names. Each repeat
takes other spans away.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from functools import partial

from arguments import number
from comparison import Variant, script
from harness import SEED
from spacy.language import Language
from spacy.tokens import Doc

READ_AS = ("missing", "outside")


def taken_away(docs: Sequence[Doc], share: float, seed: int) -> list[set[int]]:
    """Draw spans; for the same seed, a smaller share is within a larger one. Returns
    positions in doc.ents, for each doc."""
    places = [(i, j) for i, doc in enumerate(docs) for j in range(len(doc.ents))]
    random.Random(seed).shuffle(places)
    drawn: list[set[int]] = [set() for _ in docs]
    for i, j in places[: round(share * len(places))]:
        drawn[i].add(j)
    return drawn


def take_away(doc: Doc, drawn: set[int], read_as: str) -> None:
    """Take entities away, and leave their tokens missing, or outside."""
    rest = [ent for j, ent in enumerate(doc.ents) if j not in drawn]
    others = [doc.ents[j] for j in sorted(drawn)]
    doc.set_ents(rest, **{read_as: others}, default="unmodified")


def read_partly(docs: Sequence[Doc], part: int, share: float, read_as: str) -> None:
    """Take a share of the entities of all documents away."""
    for doc, drawn in zip(docs, taken_away(docs, share, SEED + part)):
        take_away(doc, drawn, read_as)


def variants(args: argparse.Namespace, nlp: Language) -> Iterator[Variant]:
    """Full annotation with each share taken away, read in both ways."""
    for share in sorted(set(args.missing)):
        for read_as in READ_AS:
            gold = partial(read_partly, share=share, read_as=read_as)
            yield Variant(f"{100 * share:g} % {read_as}", read_as, gold=gold)


MISSING = number([0.25, 0.5, 0.75], "shares of the spans to take away", 0.0)
main = script(__doc__, variants, options={"--missing": MISSING}, test=True)

if __name__ == "__main__":
    main()
