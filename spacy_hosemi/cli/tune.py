"""python -m spacy hosemi tune: settings chosen by cross-validation."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any

from wasabi import table

from ..configs import make_config
from ..model.tok2vec import keeping_vectors
from ..tuning.candidates import in_words
from ..tuning.search import Search
from ..tuning.tuned_config import write
from . import hosemi_cli
from . import options as shared
from .common import open_training
from .options import argument, option
from .streams import (
    STOPPED,
    check_outputs,
    clean,
    fail,
    open_output,
    say,
    with_progress,
)


def _refuse_resume(path: Path | None) -> None:
    if path is not None:
        title = "There is no --resume"
        fail(title, "A search is short now: give --minutes for all of it.")


@hosemi_cli.command("tune", no_args_is_help=True)
def tune_cli(
    train: shared.TrainingCorpus,
    output: str = argument(
        "OUT.cfg", 'The config; "-" writes to standard output.', "tuned.cfg"
    ),
    minutes: float = option(
        "--minutes N 0..", "No candidate is begun after this time.", 10.0
    ),
    config: shared.Config = None,
    seed: int = option("--seed N 0..4294967295", "Seed of the folds.", 0),
    encoding: shared.Encoding = None,
    resume: Path | None = option(
        "--resume", default=None, hidden=True, callback=_refuse_resume
    ),
    overwrite: shared.Overwrite = False,
    code_path: shared.CodePath = None,
) -> None:
    """
    Choose by cross-validation on the training documents what init cannot know: the
    order of label patterns, the features, and whether lists of names, or the vectors of
    the config, help; write a config with that. l2 and the decoding are left to training
    ("auto").

    At most twelve candidates are judged by the same folds, the config as it is first;
    the score is the mean of F1 and the share of exact records. The config stays as it
    is unless another one gains more than chance. Dev and test documents are for you to
    judge the result by: do not give them here. Ctrl-C, or the end of the time, writes
    the best config so far.

    \b
    Examples:
      python -m spacy hosemi tune train.spacy tuned.cfg --minutes 10
      python -m spacy hosemi tune export.jsonl tuned.cfg --config references.cfg
    """
    for inputs in ({"TRAIN": train}, {"--config": config}):
        check_outputs(inputs, {"OUT.cfg": output}, overwrite)
    if minutes <= 0:
        fail(f"--minutes is {minutes:g}", "Expected a number above 0.")
    with open_output(output, overwrite) as file:  # what fails, fails now
        part, nlp, pipe, kind = open_training(train, config, encoding)
        if kind:
            say(f"The config to begin with: hosemi init --for {kind}")
        name = "config.cfg" if output == "-" else Path(output).name
        text = config.read_text("utf8") if config else make_config(kind, name=name)
        auto = {f"initialize.components.{pipe.name}.fit.l2": "auto"}
        write(text, auto)  # what fails, fails now
        search = Search(nlp, pipe, part.docs, kind, seed)
        n = len(search.candidates)
        say(f"{n} candidates on {_documents(search)}")
        steps = with_progress(search.steps(60 * minutes), n, " candidates")
        with suppress(KeyboardInterrupt), keeping_vectors():
            deque(steps, maxlen=0)
        if not search.results:
            say("Stopped before anything was judged; nothing is written.")
            raise SystemExit(STOPPED)
        say(_table(search))
        note = _note(search)
        say(f"\n{note}")
        if search.best is not max(search.results, key=lambda x: x.score):
            say("What others have gained is within chance.")
        if (judged := len(search.results)) < n:
            say(f"Judged: {judged} of {n}. With more time another may win.")
        file.write(write(text, {**search.best.changes, **auto}, note))
    if output != "-":
        say(f"Wrote {output}")


def _documents(search: Search) -> str:
    n, n_all = len(search.docs), search.n_documents
    return f"{n:,} documents" if n == n_all else f"{n:,} of {n_all:,} documents"


def _table(search: Search) -> str:
    """Returns a row for each result in order; an asterisk marks what was chosen."""
    rows = []
    for result in search.results:
        mark, words = "*" if result is search.best else "", in_words(result.changes)
        if result.trial is None:
            words = f"{words}: {result.reason}"
            rows.append((mark, *"-----", f"{result.seconds:.1f}", clean(words)[:200]))
            continue
        gain = ""
        if result is not search.results[0]:
            gain = _signed(*result.gain(search.results[0]))
        scores = f"{100 * result.score:.2f}", gain, *result.shown, result.trial.in_words
        rows.append((mark, *scores, f"{result.seconds:.1f}", clean(words)))
    header = ("", "score", "difference", "F1", "records", "with", "s", "settings")
    aligns: Any = list("lrlrrlrl")
    return str(table(rows, header, divider=True, aligns=aligns, max_col=200))


def _signed(gain: float, error: float) -> str:
    return f"{100 * gain:+.2f} ± {100 * error:.2f}"


def _note(search: Search) -> str:
    """Returns the comment at the head of the config."""
    first, best = search.results[0], search.best
    f1, records = best.shown
    lines = [
        f"The best: {in_words(best.changes)}",
        f"Cross-validation on {_documents(search)}: F1 {f1}, exact records {records}.",
    ]
    if best is not first:
        f1, records = first.shown
        lines += [
            f"With the settings before: F1 {f1}, exact records {records};",
            f"the mean of both has gained {_signed(*best.gain(first))}.",
            "It is the best of several, so the true gain is smaller.",
        ]
    return "\n".join(lines)
