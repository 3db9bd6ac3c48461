"""What training on partial annotation gives: some spans were never looked at.

    python benchmarks/partial_annotation.py ../data/cora
    python benchmarks/partial_annotation.py ../data/cora --missing 0.5 --dev --repeats 3
    python benchmarks/partial_annotation.py ../data/anystyle --max-train 400

Of the annotated spans of the training documents a share is taken away, drawn by a fixed
seed; what a smaller share takes away a larger one does, too. All other tokens keep what
they have: spans those that stay, outside what is outside. The config is then trained
twice on the same spans:

- missing: the tokens of the spans taken away are missing (`ent_iob` 0). Training sums
  over all segmentations that agree with the rest;
- outside: these tokens are called outside, as in a file that has spans only.

The first row is full annotation. P, R and F1 are those of exact spans with exact
labels, all labels together, in per cent, on the full annotation of test.jsonl; with
--dev on dev.jsonl, or on a fifth of train where there is none. Records are documents
all of whose spans are exact, with no other ones, in per cent. CPU s is user and system
time of `spacy train`. Each repeat takes other spans away; then all figures are means,
and "±" is the standard deviation of one F1.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean

import harness
import spacy
from scores import exactness_of
from spacy.tokens import Doc, DocBin
from spacy.util import load_model
from tqdm import tqdm
from training import Splits, accuracy, config_lang, make_splits, train

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


def partial(
    splits: Splits, lang: str, share: float, read_as: str, repeat: int
) -> Splits:
    """Write the same splits with some spans of train taken away."""
    folder = splits.folder / f"{repeat}-{share:g}-{read_as}"
    folder.mkdir(exist_ok=True)
    docs = list(DocBin().from_disk(splits.train).get_docs(spacy.blank(lang).vocab))
    for doc, drawn in zip(docs, taken_away(docs, share, harness.SEED + repeat)):
        take_away(doc, drawn, read_as)
    path = folder / "train.spacy"
    DocBin(attrs=["ORTH", "ENT_IOB", "ENT_TYPE"], docs=docs).to_disk(path)
    return replace(splits, folder=folder, train=path)


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Train on full annotation, then on all parts of it, and print the table."""
    lines, test, tested_on = harness.train_and_test(args)
    drawn, lang = harness.draw(lines, args.max_train), config_lang(args.config)
    splits = make_splits(folder, lang, drawn, None, test)
    shares = sorted(set(args.missing))
    found: dict[tuple[float, str], list[dict[str, float]]] = {(0.0, "-"): []}
    found |= {(share, read_as): [] for share in shares for read_as in READ_AS}
    for (share, read_as), trained in tqdm(found.items(), disable=None):
        for repeat in range(args.repeats if share else 1):
            part = partial(splits, lang, share, read_as, repeat) if share else splits
            model, usage, _ = train(args.config, part, args.overrides)
            scores = accuracy(load_model(model), splits.test)
            figures = {key: 100 * scores["micro"][key] for key in "prf"}
            records = exactness_of(scores).records
            trained.append({**figures, "records": records, "cpu_s": usage.cpu_s})
    rows = []
    for (share, read_as), trained in found.items():
        p, r, f, *others = ([one[key] for one in trained] for key in trained[0])
        row = [mean(p), mean(r), harness.with_spread(f), *map(mean, others)]
        rows.append([f"{100 * share:g} %", read_as, *row])
    columns = ["taken away", "read as", "P|.2f", "R|.2f", "F1", "records|.2f"]
    harness.report(
        args,
        f"{args.data.resolve().name}: {len(drawn)} training documents, partial "
        f"annotation, tested on {tested_on} ({len(test)} documents)",
        harness.table([*columns, "CPU s|.1f"], rows),
        found={f"{share:g} {read_as}": x for (share, read_as), x in found.items()},
    )


def share(text: str) -> float:
    """A share of the command line."""
    if not 0 < (value := float(text)) < 1:
        raise argparse.ArgumentTypeError(f"above 0 and below 1 is needed, got {text}")
    return value


def main() -> int:
    """Measure as the command line says."""
    parser = harness.make_parser(
        __doc__,
        *("data", "--config", "--overrides", "--dev", "--repeats", "--max-train"),
        *("--runs", "--json"),
    )
    parser.add_argument(
        "--missing",
        nargs="+",
        type=share,
        default=[0.25, 0.5, 0.75],
        metavar="SHARE",
        help="shares of the spans to take away (default: %(default)s)",
    )
    return harness.run(parser.parse_args(), measure)


if __name__ == "__main__":
    sys.exit(main())
