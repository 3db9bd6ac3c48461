"""How far confidences can be trusted, before and after calibration.

    python benchmarks/calibration.py ../data/anystyle

A config is trained by `spacy train`, and all entities that it predicts are judged, as
by `spacy hosemi calibrate`. On dev, the settings for one half of the documents are
chosen on the other half, so that nothing is judged by what it was chosen on; with
--test, those for test are chosen on dev. test.jsonl is read only then.
What is printed, at temperature 1 ("before"), at the one chosen ("after") and, where
decoding = "mbr", with the expected_f1 chosen then, too:

- entities predicted, F1 and exact records: they change only where decoding = "mbr";
- error: the expected calibration error, in ten bins of equal width: the mean difference
  between the confidence of entities and the share of them that is right; a few hundred
  entities have .01 to .03 by chance;
- log loss: mean - log of the probability that was given to what is the case;
- what min_confidence = --at leaves: the share of the entities, and its precision.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from arguments import number, script
from harness import report, table
from scores import exactness_of, scores_of
from spacy.training import Example
from spacy.util import load_model
from tqdm import tqdm
from training import entity_component, read_splits, train

from spacy_hosemi.component.judging import JudgedSpans, judge_component, load_examples
from spacy_hosemi.component.pipe import HighOrderSemiCRF
from spacy_hosemi.explain import calibration, operating_points

Settings = dict[str, Any]  # of the component
COLUMNS = (
    *("part", "temperature", "expected_f1", "entities|,d", "F1|.2f", "records|.2f"),
    *("error|.4f", "log loss|.4f", "% left|.1f", "precision|.2f"),
)


def joined(parts: Sequence[JudgedSpans]) -> JudgedSpans:
    """Put what was judged in parts together."""
    return JudgedSpans(
        labels=np.concatenate([part.labels for part in parts]),
        confidence=np.concatenate([part.confidence for part in parts]),
        is_right=np.concatenate([part.is_right for part in parts]),
        n_gold=sum((part.n_gold for part in parts), Counter()),
    )


def exact_records(
    pipe: HighOrderSemiCRF, parts: Iterable[tuple[Sequence[Example], Settings]]
) -> float:
    """The share of documents all of whose entities are exact, with no other ones, in
    per cent, each part with its settings."""
    found = []
    own = pipe.temperature, pipe.expected_f1
    for examples, settings in parts:
        for name, value in settings.items():
            setattr(pipe, name, value)
        docs = pipe.pipe([example.predicted.copy() for example in examples])
        found += [Example(doc, x.reference) for doc, x in zip(docs, examples)]
    pipe.temperature, pipe.expected_f1 = own
    return exactness_of(scores_of(found)).records


def figures(
    part: str,
    judged: JudgedSpans,
    records: float,
    settings: Sequence[Settings],
    threshold: float,
) -> list[Any]:
    """A row of the table."""
    reliability = calibration.measure_reliability(judged, 1.0)
    left = operating_points.try_thresholds(judged, threshold)
    n = len(judged.labels)
    temperatures = ", ".join(f"{one['temperature']:g}" for one in settings)
    expected = ", ".join(str(one["expected_f1"]) for one in settings)
    row = [part, temperatures, expected, n]
    row += [100 * operating_points.try_thresholds(judged, 0.0).f1, records]
    row += [reliability.error, reliability.log_loss]
    return [*row, 100 * left.n / max(n, 1), 100 * left.precision]


def chosen(pipe: HighOrderSemiCRF, examples: Sequence[Example]) -> list[Settings]:
    """Before, with a temperature chosen on examples (1 where there is nothing to choose
    by), and with an expected_f1."""
    judge = partial(judge_component, pipe, examples)
    before: Settings = {"temperature": 1.0, "expected_f1": pipe.expected_f1}
    by_path = partial(judge, decoding="viterbi")
    found = calibration.choose_temperature(lambda t: by_path(temperature=t))
    after = before if found is None else {**before, "temperature": found}
    if pipe.decoding != "mbr":
        return [before, after]
    present, by_f1 = pipe.expected_f1, partial(judge, temperature=after["temperature"])
    numbers = sorted({*calibration.EXPECTED_F1, present} - {None})
    tried = {value: by_f1(expected_f1=value) for value in (None, *numbers)}
    merits = {value: operating_points.merit(x, 0.0) for value, x in tried.items()}
    expected = operating_points.choose_expected_f1(merits, present)
    return [before, after, {**after, "expected_f1": expected}]


def compare(
    pipe: HighOrderSemiCRF, parts: dict[str, list[Example]], threshold: float
) -> list[list[Any]]:
    """Rows of dev, each half with the settings of the other, and of test."""
    halves = parts["dev"][::2], parts["dev"][1::2]
    others = [chosen(pipe, half) for half in reversed(halves)]
    asked = {"dev": list(zip(halves, others))}
    if "test" in parts:
        asked["test"] = [(parts["test"], chosen(pipe, parts["dev"]))]
    found = []
    for part, of_part in tqdm(asked.items(), disable=None):
        stages = zip(*(settings for _, settings in of_part))
        for name, settings in zip(("before", "after", "expected F1"), stages):
            pairs = [(some, one) for (some, _), one in zip(of_part, settings)]
            judged = joined([judge_component(pipe, some, **one) for some, one in pairs])
            records = exact_records(pipe, pairs)
            title = f"{part}, {name}"
            found.append(figures(title, judged, records, settings, threshold))
    return found


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Train, measure, and print the table."""
    names = ("train", "dev", "test") if args.test else ("train", "dev")
    splits = read_splits(args, folder, args.config, test=names[-1])
    if splits.dev_is_train:
        raise ValueError(f"there is no dev.jsonl in {args.data}")
    model, usage, _ = train(args.config, splits, args.overrides)
    nlp = load_model(model)
    pipe: Any = nlp.get_pipe(entity_component(nlp))
    parts = {x: load_examples(nlp, pipe, getattr(splits, x)) for x in names[1:]}
    found = compare(pipe, parts, args.at)
    report(
        args,
        f"{args.data.resolve().name}, {splits.n_docs['train']:,} training documents, "
        f"trained in {usage.cpu_s:.0f} CPU s: confidences before and after calibration",
        table(COLUMNS, found),
        found=found,
    )


OPTIONS = {"--at": number(0.9, "min_confidence of the last two columns", 0.0)}
SHARED = "data --config --overrides --max-train --test --runs --json"
main = script(__doc__, measure, SHARED, OPTIONS)

if __name__ == "__main__":
    main()
