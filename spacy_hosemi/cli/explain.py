"""python -m spacy hosemi explain: why spans are predicted, or why they are not."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from .common import hosemi_cli, load_component, print_json
from .explain_input import (
    Asked,
    NoSpan,
    find_span,
    is_of_text,
    leaving_out,
    read_asked,
    read_texts,
)
from .explain_output import (
    print_explanations,
    print_retrained,
    retrained_to_json,
    to_json,
)
from .options import AsJson, CodePath, Component, Encoding, Model, Overwrite
from .streams import (
    FAULTY,
    FaultLog,
    check_different,
    check_file,
    fail,
    is_file,
    log_faults,
    open_output,
    say,
    say_written,
    with_progress,
)

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

    from ..component.pipe import HighOrderSemiCRF
    from ..explain import Explanation
    from ..explain.retraining import Retrained
    from ..formats.lines import Line

# Shows how far the spans of a text are explained.
_progress = partial(with_progress, unit=" spans")


@hosemi_cli.command("explain", no_args_is_help=True)
def explain_cli(
    model: Model,
    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT|FILE",
            help="A text; or a file or named pipe with a text on each line, - for "
            "standard input.",
        ),
    ],
    span: Annotated[
        str | None,
        typer.Option(
            "--span",
            metavar="START:END:LABEL",
            help="Explain only this span, predicted or not: its characters, the end "
            "exclusive, and its label; or, with --label, its text, where that first "
            "stands in whole tokens.",
            show_default="all spans that are predicted",
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            "--label",
            "-l",
            metavar="LABEL",
            help="Of --span; without that, explain predicted spans of this label.",
        ),
    ] = None,
    top: Annotated[
        int,
        typer.Option(
            "--top", min=1, metavar="N", help="Contributions to show of each."
        ),
    ] = 10,
    changes: Annotated[
        bool,
        typer.Option(
            "--changes",
            help="Look for what would change the answer: an entry more or less of a "
            "list, a rule more or less. Each is tried by a prediction.",
        ),
    ] = False,
    retrain: Annotated[
        str | None,
        typer.Option(
            "--retrain",
            metavar="TRAIN",
            help="With --span: train anew on the training documents of the model, "
            "which are these, and on the text with the contrary as its gold, and say "
            "whether that changes the answer.",
        ),
    ] = None,
    html: Annotated[
        str | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="Write a page to look at instead: texts with their spans, what else "
            "was likely, and why; - for standard output.",
        ),
    ] = None,
    overwrite: Overwrite = False,
    component: Component = None,
    encoding: Encoding = None,
    as_json: AsJson = False,
    code_path: CodePath = None,
) -> None:
    """
    Say why spans are predicted, or why one is not.

    The most probable segmentation that has the span is compared with the most probable
    one that does not have it. The log of the ratio of their probabilities is a sum of
    contributions, the largest ones first: features and lists with the tokens they are
    read of, label patterns, lengths, scores of a tok2vec. What is above 0 speaks for
    the span. "for" is what the token is labelled in the segmentation with the span,
    "against" what it is in the other one.

    Lines of a file that cannot be read, or cannot have the span, are left out and
    named, and the rest goes on. JSON has places in tokens (start, end, spans, instead)
    and in characters (start_char, end_char, spans_char, instead_char), and null as
    changes without --changes.

    Exit code: 0 all texts were explained, 1 some lines were left out, 2 nothing could
    be done.

    \b
    Examples:
      python -m spacy hosemi explain model/model-last "Frege, G. (1892). Sinn."
      python -m spacy hosemi explain m references.txt --label title --top 5
      python -m spacy hosemi explain m "Frege, G. Sinn." --span 10:14:title
      python -m spacy hosemi explain m "Frege, G. Sinn." --span Sinn --label journal
      python -m spacy hosemi explain m "Frege, G. Sinn." --changes
      python -m spacy hosemi explain m "Frege, G. Sinn." --span Sinn --label journal \\
        --retrain train.spacy
      python -m spacy hosemi explain m references.txt --json > why.json
      python -m spacy hosemi explain m references.txt --html why.html
    """
    asked = read_asked(span, label)
    if html is not None:
        check_different({"FILE": text if is_file(text) else None, "--html": html})
        others = {"--span": span, "--label": label, "--retrain": retrain}
        _check_page(html, overwrite, others, as_json)
    if retrain is not None and asked is None:
        fail("--retrain is given, and no --span", "Expected one to explain.")
    with log_faults(None) as log:
        lines = read_texts(text, encoding, log)
        nlp, pipe = load_component(model, component)
        _check_label(model, pipe, label if asked is None else asked.label)
        if html is not None:
            docs = _write_page(html, overwrite, nlp, pipe, lines, log, changes)
            n_done = len(docs)
        else:
            train = None if retrain is None else _training_docs(retrain, nlp, pipe)
            given = _Given(asked, label, top, changes, train, as_json)
            report = _explain(nlp, pipe, lines, log, given)
            n_done = len(report)
            if as_json and (report or not log.n):
                named = {"model": model, "component": pipe.name}
                print_json({**named, "documents": report})
        if log.n and not n_done:
            say("No line could be explained: nothing is written")
    if log.n:
        raise SystemExit(FAULTY)


class _Given(NamedTuple):
    """What to explain of each text, and how.

    asked (Optional[Asked]), label (Optional[str]): A span, or predicted ones with a
        label.
    top (int), changes (bool), as_json (bool): As of the command.
    train (Optional[List[Doc]]): What the model was trained on, to train again.
    """

    asked: Asked | None
    label: str | None
    top: int
    changes: bool
    train: list[Doc] | None
    as_json: bool


def _explain(
    nlp: Language,
    pipe: HighOrderSemiCRF,
    lines: Sequence[Line],
    log: FaultLog,
    given: _Given,
) -> list[dict[str, Any]]:
    """Explain the lines that can be, and print tables if JSON is not asked for.
    RETURNS (List[Dict[str, Any]]): The report."""
    report = []
    for line in lines:
        with leaving_out(line, log):
            doc = nlp(line.text)
            found = _explained(pipe, doc, given)
            again = None
            if given.train is not None:
                again = _retrained(nlp, pipe, given.train, doc, found[0])
            report.append(_reported(doc, line, found, again, given.changes))
            if not given.as_json:
                args = doc, found, given.label, given.top, given.changes
                print_explanations(*args)
            if again is not None and not given.as_json:
                print_retrained(doc, again)
    return report


def _explained(
    pipe: HighOrderSemiCRF, doc: Doc, given: _Given
) -> Sequence[Explanation]:
    how: dict[str, Any] = {"changes": given.changes, "progress": _progress}
    if given.asked is None:
        return pipe.explain(doc, label=given.label, **how)
    return [pipe.explain(doc, find_span(doc, given.asked), **how)]


def _reported(
    doc: Doc,
    line: Line,
    found: Sequence[Explanation],
    again: Retrained | None,
    has_changes: bool,
) -> dict[str, Any]:
    """What JSON says of a text."""
    explained = [to_json(doc, one, has_changes) for one in found]
    report: dict[str, Any] = {
        "text": line.text,
        "line": line.line or None,
        "explanations": explained,
    }
    if again is not None:
        report["retrained"] = retrained_to_json(doc, again)
    return report


def _check_label(model: str, pipe: HighOrderSemiCRF, label: str | None) -> None:
    """Exit if a model does not have a label."""
    names = pipe.schema.projection.names()
    if label is not None and label not in names:
        expected = f"Expected one of: {', '.join(names)}."
        fail(f"There is no label {label!r} in {model!r}", expected)


def _check_page(
    html: str, overwrite: bool, others: dict[str, str | None], as_json: bool
) -> None:
    """Exit if a page cannot be written, or other options go with something else."""
    if as_json:
        fail("--html and --json are given", "Expected at most one of them.")
    given = [name for name, value in others.items() if value is not None]
    if given:
        fail(
            f"--html and {' and '.join(given)} are given",
            f"A page has all spans: --html goes without {', '.join(others)}.",
        )
    if html != "-":
        check_file(html, overwrite)


def _write_page(
    path: str,
    overwrite: bool,
    nlp: Language,
    pipe: HighOrderSemiCRF,
    lines: Sequence[Line],
    log: FaultLog,
    changes: bool,
) -> Sequence[Doc]:
    """RETURNS (Sequence[Doc]): What is on the page; it is not written if there are only
    lines that are left out."""
    from ..explain.page import Page

    docs, numbers = [], []
    for line in lines:
        with leaving_out(line, log):
            docs.append(nlp(line.text))
            numbers.append(line.line or 1)
    if docs or not log.n:
        how: Any = {"changes": changes, "progress": _progress}
        page = Page(pipe, docs, numbers=numbers, **how)
        with open_output(path, overwrite) as file:
            file.write(str(page))
        say_written(path)
    return docs


def _training_docs(path: str, nlp: Language, pipe: HighOrderSemiCRF) -> list[Doc]:
    """What the model was trained on; exit if these are others, or cannot be read."""
    from ..explain.retraining import check_trained_on
    from ..inspection.corpus import read_part

    try:
        part = read_part(path, nlp)
    except ValueError as e:
        fail(f"Cannot read {path!r}", str(e))
    for fault in part.faults:
        say(str(fault))
    try:
        is_known = check_trained_on(pipe, part.docs)
    except ValueError as e:
        fail("Cannot train again", str(e))
    if not is_known:
        say("Note: this model does not know its training texts; these may be others.")
    return part.docs


def _retrained(
    nlp: Language,
    pipe: HighOrderSemiCRF,
    train: Sequence[Doc],
    doc: Doc,
    one: Explanation,
) -> Retrained:
    """What a second training says; exit if that is not possible for any text."""
    from ..explain.retraining import retrain

    n = len(train) + 1
    say(f"Training anew, on {n:,} documents")
    try:
        return retrain(nlp, pipe, train, doc, (one.start, one.end, one.label))
    except ValueError as e:
        if is_of_text(e):
            raise NoSpan(f"Cannot train again. {e}") from e
        fail("Cannot train again", str(e))
