"""What makes a linear chain better, or worse, than segments: one change at a time.

    python benchmarks/clauses.py DATA --cv 2 --l2 0.1 1
    python benchmarks/clauses.py DATA --dev --variants order encoding

The config is trained as it is, then with single changes: the encoding, the order of
label patterns, what each role reads, how text outside spans is cut. A chain of BIO tags
reads at each token what segments read at their borders alone, see `changes`. Each
training ends when it has converged, or after --max-iter iterations (then it says so).
test.jsonl is read with --test only.

- F1: micro-F1 of exact spans with exact labels, in per cent, over all documents that
  are tested on;
- difference: of F1 from the config as it is with the same l2, and its 95 % interval by
  a bootstrap of documents, both drawn together;
- borders: F1 if every label counts as right;
- labels: of the spans with right borders, those with the right label, in per cent;
- records: documents all of whose spans are exact, with no other ones, in per cent;
- iterations: of L-BFGS, the mean of trainings; CPU s likewise.

--counts keeps what was counted in a file of JSON lines, and reads it: what is there is
not trained again. It is for the same data, config, overrides and folds.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import harness
import numpy as np
from ablation import BASE, Variant, hosemi, make_pipeline
from numpy.typing import NDArray
from spacy.language import Language
from spacy.training import Corpus, Example
from tqdm import tqdm
from training import Splits, config_lang, make_splits

from spacy_hosemi.features.feature_set import FeatureSet
from spacy_hosemi.labels.alignment import scored_entities

N_DRAWS = 2000
PAIRS = ("LOWER[-1] & LOWER", "SHORT_SHAPE[-1] & SHORT_SHAPE")  # of the preset "fields"
BAG = "LOWER{-30:30}"
VITERBI = ("viterbi",)
DECODINGS = (*VITERBI, "mbr")

Counts = NDArray[np.int64]  # [documents, 4]: right, right borders, found, gold


@dataclass(frozen=True)
class Change:
    """The config with something changed.

    name (str): In the table.
    kind (str): On the command line.
    overrides (Tuple[str, ...]): Settings other than the config's.
    """

    name: str
    kind: str
    overrides: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trained:
    """A change after one training.

    name, l2, fold: What was trained, and which part was held out.
    counts (Dict[str, List[List[int]]]): By decoding, see `Counts`.
    """

    name: str
    l2: float
    fold: int
    counts: dict[str, list[list[int]]]
    n_iterations: int
    is_converged: bool
    cpu_s: float


# ---------------------------------------------------------------------- what is changed


def changes(component: Any) -> list[Change]:
    """All changes of a config with segments."""
    name, features = component.name, component.weights.extractor.features

    def setting(key: str, value: Any) -> str:
        return f"components.{name}.{key}={json.dumps(value)}"

    def reads(**roles: Sequence[str]) -> tuple[str, ...]:
        """Other templates in some roles; all must be listed, without presets."""
        own = {role: texts(features, role) for role in features.roles}
        given = {"preset": "none", "pieces": False, **own, **roles}
        return tuple(setting(f"model.features.{k}", v) for k, v in given.items())

    inside, within = texts(features, "inside"), texts(features, "within")
    borders = union(texts(features, "start"), texts(features, "end"))
    windows = [x for x in borders if x not in inside]
    all_ = union(borders, inside, within)
    plain = setting("encoding", "BIO"), setting("decoding", "viterbi")
    bio_1, bio_2 = ((*plain, setting("max_order", order)) for order in (1, 2))
    order_1, tokens = setting("max_order", 1), setting("outside", "token")
    windows_inside = reads(inside=[*inside, *windows])
    chain = reads(inside=[], end=[], start=all_, within=all_)
    return [
        Change(BASE, BASE),
        *(
            Change(f"order {k}", "order", (setting("max_order", k),))
            for k in (1, 2, 3)
            if k != component.cfg["max_order"]
        ),
        Change("BIO tags, order 1", "encoding", bio_1),
        Change("BIO tags, order 2", "encoding-2", bio_2),
        Change("windows inside", "windows", windows_inside),
        Change("windows inside, order 1", "windows-1", (*windows_inside, order_1)),
        Change("windows within", "within", reads(within=union(within, windows))),
        Change("outside token by token", "outside", (tokens,)),
        Change("the chain as segments", "chain", (*chain, order_1, tokens)),
        Change("nothing read at the end", "end", reads(end=[])),
        Change("lengths up to 40", "lengths", (setting("explicit_length", 40),)),
        Change("pairs of words within", "pairs", reads(within=union(within, PAIRS))),
        Change("a bag of words", "bag", reads(start=[*texts(features, "start"), BAG])),
        Change("no pieces", "pieces", (setting("model.features.pieces", False),)),
    ]


def texts(features: FeatureSet, role: str) -> list[str]:
    """The templates of a role."""
    return [str(template) for template in features.roles[role]]


def union(*lists: Sequence[str]) -> list[str]:
    """What is in any list, once."""
    return [*dict.fromkeys(x for one in lists for x in one)]


# ------------------------------------------------------------------------------ measure


def train(
    args: argparse.Namespace, change: Change, l2: float, fold: int, splits: Splits
) -> Trained:
    """Train a change, and count on what the splits call test."""
    nlp = pipeline_of(args, change)
    component = hosemi(nlp)
    settings = {"l2": l2, "max_iter": args.max_iter, "progress": False}
    began = time.process_time()
    result = component.fit([*Corpus(splits.train)(nlp)], nlp=nlp, **settings)
    cpu_s = time.process_time() - began
    counts = {}
    for decoding in DECODINGS if component.cfg["encoding"] == "segments" else VITERBI:
        component.decoding = decoding
        counts[decoding] = count(nlp, splits.test)
    how = result.n_iterations, result.is_converged
    return Trained(change.name, l2, fold, counts, *how, cpu_s)


def pipeline_of(args: argparse.Namespace, change: Change) -> Language:
    """The pipeline of a change, not trained."""
    return make_pipeline(args, Variant(change.name, BASE, change.overrides))


def count(nlp: Language, path: Path) -> list[list[int]]:
    """Count the spans of each document of a .spacy file, see `Counts`."""
    examples = list(Corpus(path)(nlp))
    docs = nlp.pipe(example.predicted for example in examples)
    return [
        count_spans(*map(set, scored_entities(Example(doc, x.reference))))
        for doc, x in zip(docs, examples)
    ]


def count_spans(found: set[Any], gold: set[Any]) -> list[int]:
    """Right spans, those with right borders, found ones, and those of the gold."""
    borders = {span[:2] for span in found} & {span[:2] for span in gold}
    return [len(found & gold), len(borders), len(found), len(gold)]


def parts(args: argparse.Namespace) -> Iterator[tuple[harness.Lines, harness.Lines]]:
    """What is trained on, and what is tested on, one after the other."""
    if args.cv and not args.test:
        lines = harness.read_lines(args.data / "train.jsonl")
        yield from harness.folds(harness.draw(lines, args.max_train), args.cv)
        return
    args.dev = not args.test
    lines, test, _ = harness.train_and_test(args)
    yield harness.draw(lines, args.max_train), test


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Train what is not known yet, and print the table."""
    all_ = changes(hosemi(pipeline_of(args, Change(BASE, BASE))))
    if unknown := {*args.variants} - {change.kind for change in all_}:
        sys.exit(f"--variants: there is no {', '.join(sorted(unknown))}")
    wanted = (BASE, *args.variants)
    chosen = [x for x in all_ if not args.variants or x.kind in wanted]
    known = read_counts(args.counts)
    found: list[Trained] = []
    lang, all_parts = config_lang(args.config), [*parts(args)]
    progress = tqdm(total=len(all_parts) * len(chosen) * len(args.l2), disable=None)
    for fold, (rest, test) in enumerate(all_parts):
        splits = make_splits(folder / str(fold), lang, rest, None, test)
        for change in chosen:
            for l2 in args.l2:
                one = known.get((change.name, l2, fold))
                if one is None:
                    one = train(args, change, l2, fold, splits)
                    keep(args.counts, one)
                found.append(one)
                progress.update()
    progress.close()
    for part in tables(chosen, args.l2, found):
        print(part, flush=True)


def read_counts(path: Path | None) -> dict[tuple[str, float, int], Trained]:
    """What was trained before, by name, l2 and fold."""
    if path is None or not path.exists():
        return {}
    all_ = [Trained(**json.loads(line)) for line in harness.read_lines(path)]
    return {(one.name, one.l2, one.fold): one for one in all_}


def keep(path: Path | None, one: Trained) -> None:
    """Append a training to a file, if there is one."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a", encoding="utf-8") as lines:
            lines.write(json.dumps(asdict(one)) + "\n")


# ----------------------------------------------------------------------------- figures


def f1_of(counts: Counts) -> Any:
    """F1 in per cent of [.., 4] sums of `Counts`."""
    right, _, found, gold = np.moveaxis(counts, -1, 0)
    return 200 * right / np.maximum(1, found + gold)


def interval(one: Counts, other: Counts, seed: int = harness.SEED) -> str:
    """The difference of F1 of one from the other, with its 95 % interval."""
    draws = np.random.default_rng(seed).multinomial(
        len(one), np.full(len(one), 1 / len(one)), size=N_DRAWS
    )
    apart = f1_of(draws @ one) - f1_of(draws @ other)
    low, high = np.percentile(apart, (2.5, 97.5))
    middle = f1_of(one.sum(axis=0)) - f1_of(other.sum(axis=0))
    return f"{middle:+.2f} ({low:+.2f} to {high:+.2f})"


def tables(
    chosen: Sequence[Change], l2s: Sequence[float], found: Sequence[Trained]
) -> Iterator[str]:
    """A table for each l2: all changes beside the config as it is."""
    for l2 in l2s:
        of_base, rows = None, []
        for change in chosen:
            trained = [x for x in found if (x.name, x.l2) == (change.name, l2)]
            for decoding in trained[0].counts:
                counts = np.concatenate([x.counts[decoding] for x in trained])
                if of_base is None:
                    of_base = counts
                rows.append(row_of(change.name, decoding, trained, counts, of_base))
        columns = ["", "decoding", "F1|.2f", "difference", "borders|.2f", "labels|.1f"]
        columns += ["records|.2f", "iterations|.0f", "CPU s|.0f"]
        yield f"## l2 = {l2:g}\n\n{harness.table(columns, rows)}\n"


def row_of(
    name: str, decoding: str, trained: Sequence[Trained], counts: Counts, base: Counts
) -> list[Any]:
    """A row of the table."""
    right, borders, n_found, n_gold = counts.sum(axis=0).tolist()
    records = 100 * (counts[:, [0, 0]] == counts[:, 2:]).all(axis=1).mean()
    apart = "" if counts is base else interval(counts, base)
    if not all(x.is_converged for x in trained):
        name += " (not converged)"
    costs = (
        mean(getattr(x, key) for x in trained) for key in ("n_iterations", "cpu_s")
    )
    borders_f1 = 200 * borders / max(1, n_found + n_gold)
    figures = borders_f1, 100 * right / max(1, borders), records
    return [name, decoding, f1_of(counts.sum(axis=0)), apart, *figures, *costs]


def main() -> int:
    """Measure as the command line says."""
    parser = harness.make_parser(
        __doc__,
        *("data", "--config", "--overrides", "--cv", "--dev", "--max-train", "--runs"),
    )
    parser.add_argument("--test", action="store_true", help="read test.jsonl, once")
    parser.add_argument("--l2", nargs="+", type=float, default=[0.1], metavar="X")
    parser.add_argument("--max-iter", type=harness.at_least(1), default=1000)
    parser.add_argument("--counts", type=Path, metavar="FILE", help="see above")
    parser.add_argument("--variants", nargs="+", default=[], metavar="KIND")
    return harness.run(parser.parse_args(), measure)


if __name__ == "__main__":
    sys.exit(main())
