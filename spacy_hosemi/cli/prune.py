"""python -m spacy hosemi prune: a smaller pipeline."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from spacy.training import Corpus

from ..explain import SHARES, choose, find_threshold, try_pruning
from . import hosemi_cli
from . import options as shared
from .common import load_component, print_json, print_table, save_pipeline
from .options import argument, check_output_folder, corpus_option, option
from .streams import fail, failing


@hosemi_cli.command("prune", no_args_is_help=True)
def prune_cli(
    model: shared.Model,
    output: Path | None = argument(
        "[OUTPUT]",
        "Where to save what is left; with --overwrite it may be MODEL.",
        None,
        callback=check_output_folder,
    ),
    data: Path | None = corpus_option(
        "--data -d FILE", ".spacy file on which F1 is measured; - is standard input."
    ),
    keep: float | None = option("--keep P 0..1", "Keep this share of those not 0."),
    below: float | None = option("--below W 0..", "Drop weights from -W up to W."),
    max_loss: float | None = option(
        "--max-loss X 0..100",
        "Choose the smallest that loses at most X points of F1 (0.1: from 91.3 to "
        "91.2) on --data.",
    ),
    overwrite: shared.Overwrite = False,
    component: shared.Component = None,
    as_json: shared.AsJson = False,
    code_path: shared.CodePath = None,
) -> None:
    """
    Make a trained pipeline smaller: drop the weights that are nearest to 0.

    Features and label patterns without weights are dropped, too. The table shows what
    is left at several strengths; "MB" is the size of the component's folder, "F1" is
    measured on --data. Without --keep, --below or --max-loss nothing is saved. Give
    development data: F1 on data that the model was trained on says nothing.

    \b
    Examples:
      python -m spacy hosemi prune model/model-last --data dev.spacy
      python -m spacy hosemi prune model/model-last small -d dev.spacy --max-loss 0.1
      python -m spacy hosemi prune model/model-last small --keep 0.1
    """
    options = "--keep, --below and --max-loss"
    n_given = sum(x is not None for x in (keep, below, max_loss))
    if n_given > 1:
        fail(f"{n_given} of {options} are given", "Expected at most one of them.")
    if output is not None and not n_given:
        fail("No strength is given", f"To save a pipeline, give one of {options}.")
    if max_loss is not None and data is None:
        fail("--max-loss needs --data", "Give a .spacy file on which F1 is measured.")
    nlp, pipe = load_component(model, component, output)
    threshold = below if keep is None else find_threshold(pipe, keep)
    thresholds = {threshold or 0.0, *(find_threshold(pipe, x) for x in SHARES)}
    with failing(f"Cannot prune {str(model)!r}"):
        strengths = try_pruning(nlp, pipe, sorted(thresholds), data)
    chosen = next((x for x in strengths if x.below == threshold), None)
    if max_loss is not None:
        chosen = choose(strengths, max_loss / 100)
    if output is not None and chosen is not None:
        pipe.prune(chosen.below)
        if data is not None:
            pipe.note_seen(Corpus(data)(nlp))
        save_pipeline(nlp, output)
    if as_json:
        rows = [{**asdict(x), "chosen": x is chosen} for x in strengths]
        print_json({"component": pipe.name, "strengths": rows})
        return
    cells = [
        ("*" if x is chosen else "", f"{x.share:.1%}", f"{x.below:.4f}")
        + (x.features, x.weights, x.patterns, x.states, f"{x.mb:.2f}")
        + ("-" if x.f1 is None else f"{100 * x.f1:.2f}",)
        for x in strengths
    ]
    header = "left below features weights patterns states MB F1".split()
    print_table(f"{pipe.name}, smaller and smaller", ["", *header], cells, "lrrrrrrrr")
