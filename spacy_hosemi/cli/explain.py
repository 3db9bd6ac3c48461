"""python -m spacy hosemi explain: why spans are predicted, or why they are not."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common import hosemi_cli, load_component, print_json
from .explain_input import SpanQuery, find_span, leaving_out, read_query, read_texts
from .explain_output import print_explanations, to_json
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
      python -m spacy hosemi explain m references.txt --json > why.json
      python -m spacy hosemi explain m references.txt --html why.html
    """
    query = read_query(span, label)
    if html is not None:
        check_different({"FILE": text if is_file(text) else None, "--html": html})
        _check_page(html, overwrite, {"--span": span, "--label": label}, as_json)
    with log_faults(None) as log:
        lines = read_texts(text, encoding, log)
        nlp, pipe = load_component(model, component)
        _check_label(model, pipe, label if query is None else query.label)
        if html is not None:
            docs = _write_page(html, overwrite, nlp, pipe, lines, log, changes)
            n_explained = len(docs)
        else:
            report = []
            for line in lines:
                with leaving_out(line, log):
                    doc = nlp(line.text)
                    explanations = _explain(pipe, doc, query, label, changes)
                    report.append(_reported(doc, line, explanations, changes))
                    if not as_json:
                        print_explanations(doc, explanations, label, top, changes)
            n_explained = len(report)
            if as_json and (report or not log.n):
                named = {"model": model, "component": pipe.name}
                print_json({**named, "documents": report})
        if log.n and not n_explained:
            say("No line could be explained: nothing is written")
    if log.n:
        raise SystemExit(FAULTY)


def _explain(
    pipe: HighOrderSemiCRF,
    doc: Doc,
    query: SpanQuery | None,
    label: str | None,
    changes: bool,
) -> Sequence[Explanation]:
    """Explains a span, or the predicted spans with a label."""
    how: dict[str, Any] = {"changes": changes, "progress": _progress}
    if query is None:
        return pipe.explain(doc, label=label, **how)
    return [pipe.explain(doc, find_span(doc, query), **how)]


def _reported(
    doc: Doc, line: Line, explanations: Sequence[Explanation], has_changes: bool
) -> dict[str, Any]:
    """Returns what JSON says of a text."""
    explained = [to_json(doc, x, has_changes) for x in explanations]
    return {"text": line.text, "line": line.line or None, "explanations": explained}


def _check_label(model: str, pipe: HighOrderSemiCRF, label: str | None) -> None:
    """Exits if a model does not have a label."""
    names = pipe.schema.projection.names()
    if label is not None and label not in names:
        expected = f"Expected one of: {', '.join(names)}."
        fail(f"There is no label {label!r} in {model!r}", expected)


def _check_page(
    html: str, overwrite: bool, options: dict[str, str | None], as_json: bool
) -> None:
    """Exits if a page cannot be written, or options are given that a page has not."""
    if as_json:
        fail("--html and --json are given", "Expected at most one of them.")
    names = [name for name, value in options.items() if value is not None]
    if names:
        fail(
            f"--html and {' and '.join(names)} are given",
            f"A page has all spans: --html goes without {', '.join(options)}.",
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
    """Writes a page, unless all lines are left out. Returns the documents on it."""
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
