"""Whether `hosemi guarantee` keeps its promises, and how much it accepts.

    python benchmarks/guarantee.py --known
    python benchmarks/guarantee.py ../data/anystyle ../data/usaddress --max-train 400

--known: documents are drawn from a model whose probabilities are known, and so is the
true share of wrong records above any threshold. In each of --draws draws of --records
records a threshold is chosen; "exceeded" is the share of draws in which the true share
is above the promise, which must be about delta at most: of 1,000 draws at delta = .05,
6.6 % or more come by chance once in a hundred times. "doubled" applies the same
thresholds to probabilities of the model with doubled weights: as the promise was not
made for those, they are to fail.

DATA: one model is fitted on train, and dev and test are divided at random --splits
times: one half chooses the threshold, the other is judged. "risk" is the mean share of
wrong records (or spans) among the accepted ones; "exceeded" the share of splits where
that is above the promise, "surely" where it is above by more than the chance of the
judged half explains (binomial test at .05; records only). "chain" is a linear chain
with the same features (tags, pairs of labels), and its probability of the whole tag
sequence. "ours / chain" compares the accepted shares.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from arguments import flag, number, path_to, script
from harness import SEED, draw, read_lines, report, shuffled, table
from numpy.typing import NDArray
from scipy.stats import binom
from spacy.training import Corpus
from spacy.util import load_model_from_config
from thinc.api import Config
from training import make_splits, write_init

from spacy_hosemi import core
from spacy_hosemi.component.judging import DocumentResult, judge_pipeline
from spacy_hosemi.explain import guarantees

ERRORS = 0.01, 0.02, 0.05, 0.1
Floats = NDArray[np.float64]

# ------------------------------------------------------------------------ a known model


@dataclass(frozen=True)
class Known:
    """Documents of a model that is known: probability of the best segmentation, the
    same with doubled weights (both [D]), and whether each of S segmentations that are
    drawn is another one ([D, S])."""

    confidence: Floats
    doubled: Floats
    drawn: NDArray[np.bool_]

    def risk(self, is_accepted: NDArray[np.bool_]) -> float:
        """Returns the true share of wrong ones among some documents, 0 of none."""
        if not is_accepted.any():
            return 0.0
        return float((1 - self.confidence[is_accepted]).mean())


def known_model(n_docs: int, n_samples: int, seed: int = SEED) -> Known:
    """Draw documents of 3 to 8 tokens with random scores, and their segmentations."""
    rng = np.random.default_rng(seed)
    labels = "O", "A", "B"
    pairs = [(x, y) for x in labels for y in labels]
    automaton = core.PatternAutomaton(labels, pairs)
    confidence, doubled, drawn = [], [], []
    for k in range(n_docs):
        n = int(rng.integers(3, 9))
        size = np.exp(rng.normal(2.0, 0.7))  # some documents are clear, some are not
        scores = core.Potentials.zeros(automaton, n)
        scores.inside[:] = size * rng.normal(0, 1, scores.inside.shape)
        scores.start[:] = size * rng.normal(0, 1, scores.start.shape)
        scores.tail[:] = 0.0
        scores.pattern[:] = rng.normal(0, 1, scores.pattern.shape)
        best, score = core.viterbi(automaton, scores)
        confidence.append(np.exp(score - core.log_partition(automaton, scores)))
        samples = core.sample(automaton, scores, n_samples, seed=k)
        drawn.append([[*one] != [*best] for one in samples])
        for name in ("inside", "start", "pattern"):
            getattr(scores, name)[:] *= 2
        doubled.append(np.exp(2 * score - core.log_partition(automaton, scores)))
    return Known(*map(np.array, (confidence, doubled, drawn)))


def exceeded(
    known: Known, n_draws: int, n_records: int, error: float, delta: float
) -> tuple[float, float, float]:
    """Returns the share of draws in which the true share of wrong ones is above the
    promise; the same with doubled weights; the mean share of accepted records."""
    rng = np.random.default_rng(SEED)
    shares = []
    for _ in range(n_draws):
        some = rng.integers(0, len(known.confidence), n_records)
        is_wrong = known.drawn[some, rng.integers(0, known.drawn.shape[1], n_records)]
        found = guarantees.choose_for_records(
            known.confidence[some], is_wrong, error, delta
        )
        accepted = known.confidence >= _least(found)
        doubled = known.risk(known.doubled >= _least(found))
        shares.append((known.risk(accepted) > error, doubled > error, accepted.mean()))
    above, above_doubled, share = np.mean(shares, axis=0).tolist()
    return above, above_doubled, share


def measure_known(args: argparse.Namespace) -> None:
    """Print the table of --known."""
    known = known_model(args.pool, 50)
    rows = []
    for error in args.errors:
        shares = exceeded(known, args.draws, args.records, error, args.delta)
        rows.append([f"{error:g}", *(100 * share for share in shares)])
    columns = ("error", "% exceeded|.1f", "% exceeded, doubled|.1f", "% accepted|.1f")
    note = f"{args.draws} draws of {args.records} records, delta {args.delta:g}"
    title = "Promises where the truth is known"
    report(args, title, note, table(columns, rows), rows=rows)


# ---------------------------------------------------------------------------- real data

CHAIN = {"encoding": "BIO", "max_order": 1, "decoding": "viterbi"}


def fitted_answers(
    config: Path, train: Path, judged: Path, changes: dict[str, Any], max_iter: int
) -> list[DocumentResult]:
    """Fit a config with other settings, and predict."""
    settings = Config().from_disk(config, interpolate=False)
    settings["components"]["hosemi"].update(changes)
    nlp = load_model_from_config(settings, auto_fill=True)
    component: Any = nlp.get_pipe("hosemi")
    how: Any = {"l2": 0.1, "progress": False, "max_iter": max_iter}
    component.fit(Corpus(train)(nlp), nlp=nlp, **how)
    found = judge_pipeline(nlp, Corpus(judged)(nlp), has_confidence=True)
    return [one for one in found if one.is_complete]


@dataclass(frozen=True)
class Found:
    """Confidence of each record and whether it is wrong, [D], and the same of its
    spans."""

    confidence: Floats
    is_wrong: NDArray[np.bool_]
    spans: list[tuple[Floats, NDArray[np.bool_]]]


def as_arrays(found: Sequence[DocumentResult]) -> Found:
    """What the tests read of answers."""
    spans = []
    for one in found:
        is_wrong = np.array([span not in one.gold for span in one.confidence], bool)
        spans.append((np.array([*one.confidence.values()]), is_wrong))
    confidence = np.array([one.record_confidence or 0.0 for one in found])
    return Found(confidence, np.array([x.predicted != x.gold for x in found]), spans)


def halves(n: int, n_splits: int) -> Iterator[NDArray[np.bool_]]:
    """Yields which half chooses."""
    rng = np.random.default_rng(SEED)
    for _ in range(n_splits):
        is_first = np.zeros(n, bool)
        is_first[rng.permutation(n)[: n // 2]] = True
        yield is_first


def judge_records(
    found: Found, is_first: NDArray[np.bool_], error: float, delta: float
) -> tuple[int, int, int]:
    """Returns how many there are in the other half: all, accepted, wrong ones."""
    args = found.confidence[is_first], found.is_wrong[is_first]
    least = _least(guarantees.choose_for_records(*args, error, delta))
    accepted = (found.confidence >= least) & ~is_first
    n_wrong = int((found.is_wrong & accepted).sum())
    return int((~is_first).sum()), int(accepted.sum()), n_wrong


def judge_spans(
    found: Found, is_first: NDArray[np.bool_], error: float, delta: float
) -> tuple[int, int, int]:
    """The same for spans."""
    some = [x for x, chooses in zip(found.spans, is_first) if chooses]
    record = np.repeat(np.arange(len(some)), [len(p) for p, _ in some])
    confidence, is_wrong = (np.concatenate(x) for x in zip(*some))
    args = record, confidence, is_wrong, len(some)
    chosen = guarantees.choose_for_spans(*args, error, delta)
    least, n, n_accepted, n_wrong = _least(chosen), 0, 0, 0
    for (p, wrong), chooses in zip(found.spans, is_first):
        if not chooses:
            first = np.argsort(-p, kind="stable")[: chosen.most]
            own = first[p[first] >= least]
            n, n_accepted = n + len(p), n_accepted + len(own)
            n_wrong += int(wrong[own].sum())
    return n, n_accepted, n_wrong


def _least(chosen: guarantees.Chosen) -> float:
    return 2.0 if chosen.threshold is None else chosen.threshold


WAYS = {"records": judge_records, "spans": judge_spans}


def rows_of(
    name: str, systems: dict[str, Found], args: argparse.Namespace
) -> list[list[Any]]:
    """The rows of one data set."""
    rows = []
    n = len(systems["hosemi"].confidence)
    splits = [*halves(n, args.splits)]
    for what, judge in WAYS.items():
        for error in args.errors:
            shares = {}
            row: list[Any] = [name, what, f"{error:g}"]
            for system, found in systems.items():
                counts = [judge(found, x, error, args.delta) for x in splits]
                total, accepted, wrong = np.array(counts).T
                risk = wrong / np.maximum(accepted, 1)
                surely = binom.sf(wrong - 1, np.maximum(accepted, 1), error) < 0.05
                surely &= wrong > 0
                shares[system] = float((accepted / total).mean())
                row += [100 * shares[system], 100 * float(risk.mean())]
                row += [100 * float((risk > error).mean())]
                row += [100 * float(surely.mean()) if what == "records" else None]
            ours, chain = shares["hosemi"], shares["chain"]
            row.append(ours / chain if chain else None)
            rows.append(row)
    return rows


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Measure what was asked for."""
    if args.known:
        measure_known(args)
        return
    if not args.datasets:
        sys.exit("expected DATA or --known")
    rows = []
    for data in args.datasets:
        lines = {x: read_lines(data / f"{x}.jsonl") for x in ("train", "test")}
        dev = read_lines(data / "dev.jsonl") if (data / "dev.jsonl").exists() else []
        if args.held_out:
            taken = args.max_train or len(lines["train"]) // 2
            mixed = shuffled(lines["train"])
            lines, dev = {"train": mixed[:taken], "test": mixed[taken:]}, []
        path = folder / f"{data.name}.cfg"
        config = write_init(path, args.kind, lang=args.lang)
        rest = draw([*dev, *lines["test"]], args.max_docs)
        train = draw(lines["train"], args.max_train)
        parts = make_splits(folder / data.name, args.lang, train, None, rest)
        systems = {}
        for name, changes in (("hosemi", {"decoding": "viterbi"}), ("chain", CHAIN)):
            given = config, parts.train, parts.test, changes, args.max_iter
            systems[name] = as_arrays(fitted_answers(*given))
            right = 1 - systems[name].is_wrong.mean()
            print(f"{data.name}, {name}: {len(rest)}, {100 * right:.1f} % exact")
        rows += rows_of(data.name, systems, args)
        print(table(COLUMNS, rows[-len(args.errors) * len(WAYS) :]), flush=True)
    report(args, "Promises on real data", table(COLUMNS, rows), rows=rows)


COLUMNS = (
    *("data", "what", "error"),
    *("% accepted|.1f", "% risk|.2f", "% exceeded|.1f", "% surely|.1f"),
    *("chain: % accepted|.1f", "% risk|.2f", "% exceeded|.1f", "% surely|.1f"),
    "ours / chain|.2f",
)


OPTIONS = {
    "datasets": path_to("data sets", nargs="*"),
    "--known": flag("draw from a known model"),
    "--draws": number(1000),
    "--records": number(1000),
    "--pool": number(20_000),
    "--splits": number(200),
    "--errors": number(ERRORS, "promises", 0.0),
    "--delta": number(0.05, "how often a promise may be broken", 0.0),
    "--held-out": flag("judge documents of train that --max-train leaves"),
    "--lang": dict(default="en"),
}
DEFAULTS = {"kind": "references", "max_iter": 300}
SHARED = "--max-train --max-docs --max-iter --kind --json"
main = script(__doc__, measure, SHARED, OPTIONS, **DEFAULTS)

if __name__ == "__main__":
    main()
