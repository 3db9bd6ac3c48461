"""python -m spacy hosemi adapt: a pipeline that has learnt corrections."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from spacy.training import Corpus

from ..inspection.corpus import read_part
from ..labels.alignment import scored_entities
from . import hosemi_cli
from . import options as shared
from .common import load_component, print_json, print_table, save_pipeline
from .options import argument, corpus_option, folder_option, option
from .streams import fail, failing, say

SCORES = "ents_f", "ents_record_accuracy"


@hosemi_cli.command("adapt", no_args_is_help=True)
def adapt_cli(
    model: shared.Model,
    corrections: str = argument(
        "CORRECTIONS",
        "Documents with gold, some twenty: a .spacy file, or what convert reads.",
    ),
    output: Path = folder_option(
        "Where to save the pipeline; with --overwrite DIR may be MODEL.", ...
    ),
    old: Path | None = corpus_option(
        "--old FILE", ".spacy file as in training: shows what is kept."
    ),
    strength: float | None = option(
        "--strength K 0..",
        "How firmly old weights are held: 0.3 firmly, 0 hardly.",
        show_default="chosen by predicting each correction from the others",
    ),
    labels: list[str] = option("--label NAME", "A label that is new. Repeatable.", []),
    trim: bool = option(
        "--trim", "Give spans the separators at their ends that MODEL's have.", False
    ),
    overwrite: shared.Overwrite = False,
    encoding: shared.Encoding = None,
    component: shared.Component = None,
    as_json: shared.AsJson = False,
    code_path: shared.CodePath = None,
) -> None:
    """
    Learn corrections in seconds, without the data that MODEL was trained on.

    What many old documents have taught is held firmly, what is new is free. The table
    says how well the corrections are predicted from each other, "learnt": how many are
    then read as corrected, and with --old what is left of the old. Of the strengths not
    worse than the best but for chance, the largest is taken; up to 20 corrections the
    largest that learns all.

    \b
    Examples:
      python -m spacy hosemi adapt model/model-last corrected.jsonl -o adapted
      python -m spacy hosemi adapt model/model-last corrected.spacy -o adapted --trim
      python -m spacy hosemi adapt m corrected.spacy -o m -f --old test.spacy
    """
    nlp, pipe = load_component(model, component, output)
    with failing(f"Cannot read {corrections!r}"):
        part = read_part(corrections, nlp, encoding=encoding)
    for fault in part.faults:
        say(str(fault))
    settings: Any = {"nlp": nlp, "labels": labels, "trim": trim}
    examples = [] if old is None else [*Corpus(old)(nlp)]
    if old is not None and not any(scored_entities(x)[1] for x in examples):
        title = (
            f"None of the {len(examples):,} documents of {str(old)!r} has a gold span"
        )
        fail(title, "Expected documents as in training, or no --old.")
    kept: dict[float, Any] = {math.inf: nlp.evaluate(examples)} if examples else {}
    whole = pipe.to_bytes()
    with failing(f"Cannot adapt {model!r}"):
        result = pipe.adapt(part.docs, strength, **settings)
    chosen, trials = result.strength or 0.0, {x["strength"]: x for x in result.trials}
    learnt, adapted = {chosen: result.learnt}, pipe.to_bytes()
    for value in [chosen, *sorted({*trials} - {math.inf, chosen})]:
        if value != chosen:
            pipe.from_bytes(whole)
            learnt[value] = pipe.adapt(part.docs, value, **settings).learnt
        kept |= {value: nlp.evaluate(examples)} if examples else {}
    pipe.from_bytes(adapted)
    nlp.meta.pop("performance", None)  # of other weights
    best = max(learnt, key=lambda x: (learnt[x] or 0.0, x))
    shares = [f"{100 * (learnt[x] or 0.0):.0f} %" for x in (chosen, best)]
    if learnt[best] != learnt[chosen]:
        say(f"Note: {shares[0]} are learnt; with --strength {best:g} {shares[1]} are")
    if pipe.guarantee is not None or pipe.temperature != 1.0:
        say("Note: run calibrate and guarantee anew: they were for other weights")
    save_pipeline(nlp, output)
    rows = [
        [x, learnt.get(x)]
        + [y.get(x, {}).get(name) for y in (trials, kept) for name in SCORES]
        for x in sorted({*trials, *kept, chosen}, reverse=True)
    ]
    if as_json:
        names = "strength", "learnt", *SCORES, *(f"old_{name}" for name in SCORES)
        report = {"component": pipe.name, "strength": chosen}
        print_json({**report, "rows": [dict(zip(names, row)) for row in rows]})
        return
    cells = [
        ["*" if x == chosen else "", "before" if x == math.inf else f"{x:g}"]
        + ["-" if y is None else f"{100 * y:.1f}" for y in scores]
        for x, *scores in rows
    ]
    header = ["", "strength", "learnt", "F1", "records", "old F1", "old records"]
    n = 7 if kept else 5
    title = f"{result.n_documents:,} corrections, {result.n_spans:,} spans"
    print_table(title, header[:n], [row[:n] for row in cells], "lrrrrrr"[:n])
