"""python -m spacy hosemi explain: why spans are predicted, or why they are not."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from spacy.tokens import Doc

from ..component.chunks import doc_of
from ..explain.page import Page
from ..formats.lines import Line
from ..formats.texts import Fault
from ..labels.inventory import Span
from . import hosemi_cli
from . import options as shared
from .common import load_component, print_json, read_texts, readers_of
from .explain_output import print_explanations, to_json
from .options import argument, option
from .streams import (
    FAULTY,
    MAX_CHARS,
    FaultLog,
    check_outputs,
    fail,
    is_file,
    log_faults,
    say,
    with_progress,
    write_text,
)

# Errors of one text: no segmentation is possible, or nothing may be a span there.
_OF_TEXT = "[HS060]", "[HS095]"
# Shows how far the spans of a text are explained.
_progress = partial(with_progress, unit=" spans")

# The label of the span to explain, and its characters, or else its text.
Query = tuple[str, tuple[int, int] | str]


class _NoSpan(ValueError):
    """A text does not have the span to explain."""


@hosemi_cli.command("explain", no_args_is_help=True)
def explain_cli(
    model: shared.Model,
    text: str = argument(
        "TEXT|FILE",
        "A text; or a file or named pipe of texts, as `parse` reads them, - for "
        "standard input.",
    ),
    span: str | None = option(
        "--span START:END:LABEL",
        "Explain only this span, predicted or not: its characters, the end exclusive, "
        "and its label; or, with --label, its text, where that first stands in whole "
        "tokens.",
        show_default="all spans that are predicted",
    ),
    label: str | None = option(
        "--label -l LABEL",
        "Label of --span; alone: explain the predicted spans with it.",
    ),
    top: int = option("--top N 1..", "Contributions to show of each.", 10),
    changes: bool = option(
        "--changes",
        "Look for what would change the answer: an entry more or less of a list, a "
        "rule more or less. Each is tried by a prediction.",
        False,
    ),
    html: str | None = option(
        "--html FILE",
        "Write a page to look at instead: texts with their spans, what else was "
        "likely, and why; - for standard output.",
    ),
    overwrite: shared.Overwrite = False,
    component: shared.Component = None,
    column: shared.Column = None,
    text_key: shared.TextKey = None,
    encoding: shared.Encoding = None,
    as_json: shared.AsJson = False,
    code_path: shared.CodePath = None,
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
    query = _read_query(span, label)
    if html is not None:
        file = text if is_file(text) else None
        check_outputs({"FILE": file}, {"--html": html}, overwrite)
        if as_json:
            fail("--html and --json are given", "Expected at most one of them.")
        options = {"--span": span, "--label": label}
        if names := [name for name, value in options.items() if value is not None]:
            text = f"A page has all spans: --html goes without {', '.join(options)}."
            fail(f"--html and {' and '.join(names)} are given", text)
    docs, numbers, report, n_explained = [], [], [], 0
    with log_faults(None) as log:
        lines = _read_texts(text, column, text_key, encoding, log)
        nlp, pipe = load_component(model, component)
        labels, wanted = pipe.schema.projection.names(), query[0] if query else label
        if wanted is not None and wanted not in labels:
            expected = f"Expected one of: {', '.join(labels)}."
            fail(f"There is no label {wanted!r} in {model!r}", expected)
        how: dict[str, Any] = {"changes": changes, "progress": _progress}
        for line in lines:
            try:
                doc = nlp(doc_of(nlp, line))
                explanations = []
                if html is not None:  # the page explains all spans
                    docs.append(doc)
                    numbers.append(line.line or 1)
                elif query is None:
                    explanations = pipe.explain(doc, label=label, **how)
                else:
                    explanations = [pipe.explain(doc, _find_span(doc, query), **how)]
                if as_json:
                    report.append(to_json(doc, line, explanations, changes))
                elif html is None:
                    print_explanations(doc, explanations, label, top, changes)
                n_explained += 1
            except ValueError as e:
                if not isinstance(e, _NoSpan) and not str(e).startswith(_OF_TEXT):
                    raise
                if not line.line:  # there is only a text
                    fail(str(e))
                log.add(Fault(line.path, line.line, str(e)))
        if log.n and not n_explained:
            say("No line could be explained: nothing is written")
        elif html is not None:
            page = Page(pipe, docs, numbers=numbers, **how)
            write_text(str(page), html, overwrite)
        elif as_json:
            named = {"model": model, "component": pipe.name}
            print_json({**named, "documents": report})
    if log.n:
        raise SystemExit(FAULTY)


def _read_query(span: str | None, label: str | None) -> Query | None:
    """Returns what --span and --label say, if --span is given; exits if it is wrong."""
    if span is None:
        return None
    if not span:
        fail("--span is ''", "Expected a part of the text.")
    if label is not None:
        return label, span
    match = re.fullmatch(r"(\d+):(\d+):(.+)", span)
    if match is None:
        expected = "Expected START:END:LABEL, in characters; or a text, with --label."
        fail(f"--span is {span!r}", expected)
    start, end = int(match[1]), int(match[2])
    if start >= end:
        expected = "Expected START below END, in characters, the end exclusive."
        fail(f"--span is {span!r}", expected)
    return match[3], (start, end)


def _read_texts(
    source: str,
    column: str | None,
    text_key: str | None,
    encoding: str | None,
    log: FaultLog,
) -> list[Line]:
    """Returns a text, as line 0; or the texts of a file or "-", without empty ones.
    Those that cannot be read go to the log. Exits if there is no such file."""
    if source == "-" or is_file(source):
        readers = readers_of([source], column, text_key, encoding, MAX_CHARS)
        lines = read_texts(readers, MAX_CHARS, encoding, log)
        return [line for line in lines if line.text.strip()]
    expected = "Expected a text, or a file of texts."
    with suppress(OSError, ValueError):  # no name of a file
        if source and Path(source).is_dir():
            fail(f"{source!r} is a folder", expected)
    is_named = column is not None or text_key is not None
    if is_named or re.fullmatch(r"\S+\.(txt|jsonl|ndjson|csv|tsv)", source):
        fail(f"There is no file {source!r}", expected)
    return [Line("", 0, source)]


def _find_span(doc: Doc, query: Query) -> Span:
    """Returns a span in tokens, the first one with its text. Raises _NoSpan."""
    (label, wanted), n = query, len(doc.text)
    if isinstance(wanted, str):  # occurrences may overlap
        found = re.finditer(f"(?={re.escape(wanted)})", doc.text)
        places = [(x.start(), x.start() + len(wanted)) for x in found]
        if not places:
            raise _NoSpan(f"There is no {wanted!r} in the text. Expected a part of it.")
    elif wanted[1] > n:
        raise _NoSpan(f"There is no character {wanted[1]:,}; the text has {n:,}.")
    else:
        places = [wanted]
    begins = {token.idx: token.i for token in doc}
    ends = {token.idx + len(token): token.i + 1 for token in doc}
    for start, end in places:
        if start in begins and end in ends:
            return begins[start], ends[end], label
    start, end = places[0]
    near = doc.char_span(start, end, alignment_mode="expand")
    hint = f"; near is {near.start_char}:{near.end_char}" if near else ""
    raise _NoSpan(
        f"The characters {start} to {end} are not whole tokens. Expected a span that "
        f"begins and ends with tokens{hint}."
    )
