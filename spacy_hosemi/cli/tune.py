"""python -m spacy hosemi tune: settings chosen by cross-validation."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .common import hosemi_cli, open_training
from .options import CodePath, Encoding, Overwrite
from .streams import STOPPED, check_different, clean, fail, open_output, say, try_output

if TYPE_CHECKING:
    from ..tuning.halving import Judgement, Round
    from ..tuning.search import Search


@hosemi_cli.command("tune", no_args_is_help=True)
def tune_cli(
    train: Annotated[
        str,
        typer.Argument(
            metavar="TRAIN",
            help="Documents to train on: a .spacy file, a folder of them, or what "
            "convert reads.",
        ),
    ],
    output: Annotated[
        str,
        typer.Argument(
            metavar="OUT.cfg", help='The config; "-" writes to standard output.'
        ),
    ] = "tuned.cfg",
    minutes: Annotated[
        float, typer.Option("--minutes", metavar="N", min=0, help="Time to take.")
    ] = 10.0,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help="Config to begin with, such as one of init with lists. Default: what "
            "init writes for such texts.",
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            "--seed", metavar="N", help="Of the order of documents and candidates."
        ),
    ] = 0,
    encoding: Encoding = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume",
            metavar="FILE",
            help="A file that keeps what was judged; with it, the same command goes on "
            "where it was stopped.",
        ),
    ] = None,
    overwrite: Overwrite = False,
    code_path: CodePath = None,
) -> None:
    """
    Choose settings by cross-validation on the training documents, and write a config
    with them: how spans are coded, the order of label patterns, the features, l2 and
    the decoding.

    Many candidates are judged on a few documents, the best third of them on three times
    as many, and so on (successive halving). Each is compared with the config as it is
    on the same documents; the score is the mean of F1 and the share of exact records.
    Dev and test documents are for you to judge the result by: do not give them here.

    Ctrl-C, or the end of the time, writes the best config so far; with --resume the
    same command goes on later.

    \b
    Examples:
      python -m spacy hosemi tune train.spacy tuned.cfg --minutes 10
      python -m spacy hosemi tune export.jsonl tuned.cfg --config references.cfg
    """
    from ..tuning.search import Search
    from ..tuning.written import write

    check_different({"TRAIN": train, "OUT.cfg": output, "--resume": resume})
    check_different({"--config": config, "OUT.cfg": output})
    if output != "-":
        overwrite = overwrite or (resume is not None and _is_ours(output))
        try_output(output, overwrite)
    if minutes <= 0:
        fail(f"--minutes is {minutes:g}", "Expected a number above 0.")
    part, pipelines, fit, nlp, pipe = open_training(train, config, encoding)
    if fit is not None:
        say(f"The config to begin with: hosemi init --for {fit.kind}")
    write(pipelines.text(fit), pipe.name, {}, "auto")  # what fails, fails now
    search = Search(nlp, pipe, part.docs, 60 * minutes, seed, resume)
    try:
        _follow(search)
    except KeyboardInterrupt:
        search.is_stopped = True
    if search.contest.best is None:
        if search.is_over:
            fail("No time to judge the config as it is", "Give more as --minutes.")
        say("Stopped before anything was judged; nothing is written.")
        raise SystemExit(STOPPED)
    name = "config.cfg" if output == "-" else Path(output).name
    with open_output(output, overwrite) as file:
        file.write(search.write(pipelines.text(fit, name)))
    _conclude(search, output)


def _is_ours(output: str) -> bool:
    """Whether a file is a config that tune has written, with which it goes on."""
    from ..tuning.written import NOTE

    with suppress(OSError), open(output, encoding="utf8", errors="replace") as file:
        return file.readline().strip() == f"# {NOTE}"
    return False


def _follow(search: Search) -> None:
    """Print each round as it goes."""
    from tqdm import tqdm

    bar = None
    for one in search.steps():
        if not one.judged:
            if bar is not None:
                bar.close()
            n, n_all = len(one.candidates), search.n_documents
            tqdm.write(
                f"\nRound {one.number}: {n} candidates on {one.n_documents:,} of "
                f"{n_all:,} documents\n{HEADER}",
                file=sys.stderr,
            )
            bar = tqdm(total=n, desc=f"Round {one.number}", leave=False, disable=None)
        else:
            tqdm.write(_row(one, one.judged[-1]), file=sys.stderr)
            assert bar is not None
            bar.update()
    if bar is not None:
        bar.close()


HEADER = "   score  difference         F1  records   l2  decoding      s  settings"


def _row(one: Round, judgement: Judgement) -> str:
    """A line of the table; an asterisk marks the best one so far."""
    from ..tuning.menu import in_words

    trial, words = judgement.trial, clean(in_words(judgement.changes))
    if trial is None:
        return f"       -  {words}: {clean(judgement.reason)[:200]}"
    mark = "*" if judgement is one.ranked[0] else " "
    gain = ""
    if judgement is not one.judged[0]:
        difference, error = (100 * x for x in judgement.gain(one.judged[0]))
        gain = f"{difference:+.2f} ± {error:.2f}"
    f1, records = judgement.shown
    return (
        f"{mark} {100 * judgement.score:6.2f}  {gain:14} {f1:>6}  {records:>6} "
        f"{trial.l2:5g}  {trial.how:8} {judgement.seconds:6.1f}  {words}"
    )


def _conclude(search: Search, output: str) -> None:
    """Say what was found, and how sure that is."""
    from ..tuning.menu import in_words

    contest, best = search.contest, search.contest.best
    one = contest.decisive
    assert best is not None and best.trial is not None and one is not None
    if search.is_stopped:
        why = "The time is up" if search.is_over else "Stopped"
        last = contest.current
        say(
            f"\n{why}: round {last.number} has {len(last.judged)} of "
            f"{len(last.candidates)} candidates. With more time another one may win."
        )
    gain, error = (100 * x for x in best.gain(one.judged[0]))
    say(f"\nThe best: {in_words(best.changes)}")
    if one.ranked[0] is not best:
        say("What others have gained is within chance.")
    if best.changes:
        say(f"Its score beside that of the config as it is: {gain:+.2f} ± {error:.2f}")
    if one.n_documents < search.n_documents:
        say(
            'The config has l2 = "auto": what is best on a part of the documents is '
            "too strong a penalty for all of them."
        )
    if output != "-":
        say(f"Wrote {output}")
