"""python -m spacy hosemi calibrate: how far confidences can be trusted."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from ..component.judging import load_examples
from ..explain.calibration import ENDINGS, Calibration, calibrate, draw_calibration
from ..explain.operating_points import Point
from ..prediction.decodings import DECODINGS
from ..prediction.thresholds import write_thresholds
from . import hosemi_cli
from . import options as shared
from .common import (
    load_component,
    print_json,
    print_table,
    reading,
    save_pipeline,
)
from .options import corpus_argument, folder_option, option
from .streams import clean, fail, failing, say, with_progress


@hosemi_cli.command("calibrate", no_args_is_help=True)
def calibrate_cli(
    model: shared.Model,
    data: Path = corpus_argument(
        "CORPUS",
        ".spacy file that the pipeline was not trained on; - reads one from standard "
        "input.",
    ),
    output: Path | None = folder_option(
        "Save the pipeline with the chosen settings; with --overwrite DIR may be MODEL."
    ),
    precision: float | None = option(
        "--precision P 0..1",
        "Choose the min_confidence and expected_f1 with the highest recall that reach "
        "this precision, instead of those with the highest F1.",
    ),
    recall: float | None = option(
        "--recall R 0..1",
        "Choose those with the highest precision that reach this recall.",
    ),
    per_label: bool = option(
        "--per-label", "Choose a min_confidence for each label.", False
    ),
    with_threshold: bool = option(
        "--min-confidence/--no-min-confidence",
        "Choose min_confidence; else it stays as it is.",
        True,
    ),
    with_temperature: bool = option(
        "--temperature/--no-temperature",
        "Choose temperature; else it stays as it is.",
        True,
    ),
    with_expected_f1: bool | None = option(
        "--expected-f1/--no-expected-f1",
        'Choose expected_f1, which a pipeline with decoding = "mbr" reads; else it '
        "stays as it is.",
        show_default='with "mbr"',
    ),
    n_bins: int = option("--bins N 1..1000", "Rows of the table of reliability.", 10),
    plot: Path | None = option(
        "--plot FILE",
        "Draw confidences, and what each min_confidence leaves, to this .png, .svg or "
        ".pdf file.",
    ),
    overwrite: shared.Overwrite = False,
    component: shared.Component = None,
    as_json: shared.AsJson = False,
    code_path: shared.CodePath = None,
) -> None:
    """
    Say how far confidences can be trusted; choose temperature, expected_f1 and
    min_confidence.

    Eight of ten entities with confidence .8 should be right; the expected calibration
    error is the mean distance from that. A temperature above 1 lowers confidences, one
    below 1 raises them; the one with the highest likelihood on CORPUS is chosen. Then
    precision, recall and F1 are shown for each expected_f1, if decoding = "mbr", and
    for each min_confidence; those with the highest F1 are chosen, unless --precision or
    --recall is given. On a hundred entities differences of some hundredths are chance.

    \b
    Examples:
      python -m spacy hosemi calibrate model/model-last dev.spacy --plot dev.png
      python -m spacy hosemi calibrate model/model-last dev.spacy --recall 0.9 -o all
      python -m spacy hosemi calibrate m dev.spacy --no-min-confidence -o m -f
    """
    limits = {"precision": precision, "recall": recall}
    options = [f"--{name}" for name, value in limits.items() if value is not None]
    if len(options) > 1:
        fail("--precision and --recall are given", "Expected at most one of them.")
    if options and not with_threshold:
        text = "Leave out --no-min-confidence."
        fail(f"{options[0]} goes with a min_confidence", text)
    if plot is not None and plot.suffix.lower() not in ENDINGS:
        fail(f"Cannot draw {str(plot)!r}", f"Expected one of: {', '.join(ENDINGS)}.")
    nlp, pipe = load_component(model, component, output)
    is_read = DECODINGS[pipe.decoding].reads_expected_f1
    if with_expected_f1 and not is_read:
        title = f"There is no expected_f1 to choose with decoding = {pipe.decoding!r}"
        fail(title, 'Leave out --expected-f1, or set decoding = "mbr" in the config.')
    with_expected_f1 = is_read if with_expected_f1 is None else with_expected_f1
    chooses = with_threshold or with_temperature or with_expected_f1
    if output is not None and not chooses:
        title = "Nothing is chosen that could be saved"
        fail(title, "Leave out one of the options that begin with --no, or --output.")
    with reading(data):
        examples = load_examples(nlp, pipe, data)
    with failing(f"Cannot calibrate on {str(data)!r}"):
        calibration = calibrate(
            pipe,
            examples,
            n_bins=n_bins,
            with_temperature=with_temperature,
            with_expected_f1=with_expected_f1,
            with_threshold=with_threshold,
            labels=pipe.labels if per_label else None,
            progress=partial(with_progress, total=len(examples)),
            **limits,
        )
    if plot is not None:
        try:
            draw_calibration(plot, calibration)
        except (ImportError, OSError) as e:
            fail(f"Cannot draw {str(plot)!r}", str(e))
    if output is not None:
        pipe.cfg = calibration.chosen
        pipe.note_seen(examples)
        save_pipeline(nlp, output)
    if as_json:
        print_json({"component": pipe.name, **_report(calibration)})
    else:
        _print_calibrated(pipe.name, calibration)


def _report(calibration: Calibration) -> dict[str, Any]:
    judged = calibration.judged
    n_predicted, n_expected = len(judged.labels), judged.n_gold.total()
    return {
        "entities": {"predicted": n_predicted, "expected": n_expected},
        "reliability": calibration.reliability,
        "expected": [
            {"expected_f1": value, **asdict(point)}
            for value, point in calibration.expected.items()
        ],
        "thresholds": [
            {"min_confidence": thresholds, **asdict(point)}
            for thresholds, point in calibration.thresholds
        ],
        "labels": {
            label: {"min_confidence": threshold, **asdict(point)}
            for label, (threshold, point) in calibration.by_label.items()
        },
        "notes": calibration.notes,
        "chosen": calibration.chosen,
    }


def _print_calibrated(component: str, calibration: Calibration) -> None:
    judged, chosen = calibration.judged, calibration.chosen
    print(
        f"{clean(component)}: {len(judged.labels):,} entities predicted, "
        f"{judged.n_gold.total():,} in the corpus"
    )
    for reliability in calibration.reliability:
        bins = [
            (f"{b.low:.2f} to {b.high:.2f}", b.n)
            + (f"{b.confidence:.3f}", f"{b.right:.3f}")
            for b in reliability.bins
        ]
        of_bins = ("confidence", "entities", "mean", "right")
        print_table(f"temperature = {reliability.temperature:g}", of_bins, bins, "lrrr")
        print(
            f"Expected calibration error {reliability.error:.4f}, "
            f"log loss {reliability.log_loss:.4f}"
        )
    if calibration.expected:
        best, expected = chosen["expected_f1"], calibration.expected.items()
        rows = [("*" * (x == best), json.dumps(x), point) for x, point in expected]
        _print_points("by expected_f1", ("", "expected_f1"), rows)
    best, thresholds = chosen.get("min_confidence"), calibration.thresholds
    rows = [("*" * (x == best), _name(x), point) for x, point in thresholds]
    _print_points("what is left", ("", "min_confidence"), rows)
    if calibration.by_label:
        of_labels = calibration.by_label.items()
        rows = [(label, _name(least), point) for label, (least, point) in of_labels]
        header = ("label", "min_confidence")
        _print_points("what is left of each label", header, rows)
    for note in calibration.notes:
        say(f"Note: {note}")
    for key, value in chosen.items():
        print(f"{key} = {json.dumps(write_thresholds(value))}")


def _print_points(
    title: str, header: tuple[str, str], points: list[tuple[str, str, Point]]
) -> None:
    """Prints how many entities are left, and their scores in per cent."""
    rows = [
        (*names, x.n, *(f"{100 * y:.2f}" for y in (x.precision, x.recall, x.f1)))
        for *names, x in points
    ]
    header_of_all = (*header, "entities", "precision", "recall", "F1")
    print_table(title, header_of_all, rows, "llrrrr")


def _name(thresholds: float | dict[str, float]) -> str:
    return "by label" if isinstance(thresholds, dict) else f"{thresholds:g}"
