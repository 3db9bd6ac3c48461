"""python -m spacy hosemi explain: why spans are predicted, or why they are not."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common import (
    AsJson,
    CodePath,
    Component,
    Encoding,
    Model,
    Overwrite,
    hosemi_cli,
    load_component,
    print_json,
    print_table,
)
from .streams import (
    check_different,
    check_file,
    clean,
    fail,
    open_input,
    open_output,
    say,
    say_written,
    with_progress,
)

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

    from ..component.pipe import HighOrderSemiCRF
    from ..explain import Contribution, Explanation
    from ..explain.retraining import Retrained
    from ..labels.inventory import Span

# The longest text and name that is shown, and the longest line of a file.
SHOWN, MAX_CHARS = 40, 1_000_000


@hosemi_cli.command("explain", no_args_is_help=True)
def explain_cli(
    model: Model,
    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT|FILE",
            help="A text; or a file with a text on each line, - for standard input.",
        ),
    ],
    span: Annotated[
        str | None,
        typer.Option(
            "--span",
            metavar="START:END:LABEL",
            help="Explain only this span, predicted or not: its characters, the end "
            "exclusive, and its label; or, with --label, its text, where that stands "
            "first.",
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
    texts = _texts(text, encoding)
    if html is not None:
        check_different({"FILE": text if _is_file(text) else None, "--html": html})
        others = {"--span": span, "--label": label, "--retrain": retrain}
        _check_page(html, overwrite, others, as_json)
    if retrain is not None and span is None:
        fail("--retrain is given, and no --span", "Expected one to explain.")
    nlp, pipe = load_component(model, component)
    if label is not None and label not in pipe.schema.projection.names():
        names = ", ".join(pipe.schema.projection.names())
        fail(f"There is no label {label!r} in {model!r}", f"Expected one of: {names}.")
    how: dict[str, Any] = {
        "changes": changes,
        "progress": partial(with_progress, unit=" spans"),
    }
    if html is not None:
        _write_page(html, overwrite, pipe, [nlp(x) for x in texts], how)
        return
    train = None if retrain is None else _training_docs(retrain, nlp, pipe)
    report: list[dict[str, Any]] = []
    for one in texts:
        doc = nlp(one)
        if span is not None:
            asked = _find_span(doc, span, label)
            found = [pipe.explain(doc, asked, **how)]
        else:
            explained = pipe.explain(doc, **how)
            found = [x for x in explained if label in (None, x.label)]
        report.append({"text": one, "explanations": found})
        if not as_json:
            _print(doc, found, top, changes)
        if train is not None:
            again = _retrained(nlp, pipe, train, doc, found[0])
            report[-1]["retrained"] = again
            if not as_json:
                _print_retrained(doc, again)
    if as_json:
        print_json({"model": model, "component": pipe.name, "documents": report})


def _check_page(
    html: str, overwrite: bool, others: dict[str, str | None], as_json: bool
) -> None:
    """Exit if a page cannot be written, or other options go with something else."""
    given = [name for name, value in others.items() if value is not None]
    given += ["--json"] if as_json else []
    if given:
        fail(f"--html and {given[0]} are given", "A page has all spans; leave one out.")
    if html != "-":
        check_file(html, overwrite)


def _write_page(
    path: str, overwrite: bool, pipe: Any, docs: Sequence[Doc], how: dict[str, Any]
) -> None:
    from ..explain.page import Page

    page = Page(pipe, docs, **how)
    with open_output(path, overwrite) as file:
        file.write(str(page))
    say_written(path)


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
    from ..explain.retraining import retrain

    n = len(train) + 1
    say(f"Training anew, on {n:,} documents")
    try:
        return retrain(nlp, pipe, train, doc, (one.start, one.end, one.label))
    except ValueError as e:
        fail("Cannot train again", str(e))


def _texts(text: str, encoding: str | None) -> list[str]:
    """RETURNS (List[str]): The text; or those of the lines of a file, without empty
    ones. Exit if there is no such file, or a line cannot be read."""
    from ..formats.lines import UTF8, read_lines
    from ..formats.sources import check_encoding
    from ..formats.texts import Fault

    check_encoding(encoding or UTF8)
    if text != "-" and not _is_file(text):
        if text and _is(Path.is_dir, text):
            fail(f"{text!r} is a folder", "Expected a text, or a file of lines.")
        if re.fullmatch(r"\S+\.txt", text):
            fail(f"There is no file {text!r}", "Expected a text, or a file of lines.")
        return [text]
    found = []
    with open_input(text) as file:
        for line in read_lines(file, text, MAX_CHARS, encoding=encoding or UTF8):
            if isinstance(line, Fault):
                fail(f"Cannot read {text!r}", str(line))
            if line.text.strip():
                found.append(line.text)
    return found


def _is_file(text: str) -> bool:
    return _is(Path.is_file, text)


def _is(kind: Callable[[Path], bool], text: str) -> bool:
    try:
        return kind(Path(text))
    except (OSError, ValueError):  # too long, or a character that no name has
        return False


def _find_span(doc: Doc, given: str, label: str | None) -> tuple[int, int, str]:
    """RETURNS (Tuple[int, int, str]): In tokens. Exit if there is no such span."""
    if label is None:
        match = re.fullmatch(r"(\d+):(\d+):(.+)", given)
        if match is None:
            fail(
                f"--span is {given!r}",
                "Expected START:END:LABEL, in characters; or a text, with --label.",
            )
        start, end, label = int(match[1]), int(match[2]), match[3]
    else:
        start = doc.text.find(given)
        if start < 0 or not given:
            fail(f"There is no {given!r} in the text", "Expected a part of it.")
        end = start + len(given)
    n = len(doc.text)
    if not start < end <= n:
        expected = f"characters, the end exclusive; the text has {n:,}"
        fail(f"--span is {given!r}", f"Expected START below END, in {expected}.")
    found = doc.char_span(start, end)
    if found is None:
        near = doc.char_span(start, end, alignment_mode="expand")
        hint = "" if near is None else f"; near is {near.start_char}:{near.end_char}"
        fail(
            f"The characters {start} to {end} are not whole tokens",
            f"Expected a span that begins and ends with tokens{hint}.",
        )
    return found.start, found.end, label


def _print(doc: Doc, found: Sequence[Explanation], top: int, has_changes: bool) -> None:
    print(f"\n{clean(doc.text)}")
    if not found:
        print("nothing to explain: no span was predicted")
    for one in found:
        answer = "predicted" if one.is_answer else "not predicted"
        title = f"{one.label}: {_short(one.text)}"
        rows = [_row(part, doc) for part in one.contributions[:top]]
        rest = one.contributions[top:]
        if rest:
            total = math.fsum(part.score for part in rest)
            rows.append((f"{total:+.3f}", f"{len(rest):,} more", "", "", "", ""))
        header = ("score", "of", "read", "text", "for", "against")
        print_table(title, header, rows, "rlllll")
        print(f"{answer}, P = {one.probability:.3f}")
        if one.difference is None:
            print(f"because of {clean('; or '.join(one.limits))}")
        else:
            _print_difference(doc, one)
        if has_changes:
            _print_changes(one, top)


def _print_difference(doc: Doc, one: Explanation) -> None:
    print(f"log P(best with it) / P(best without it) = {one.difference:+.3f}")
    print(f"only with it: {_listed(doc, one.spans)}")
    print(f"only without it: {_listed(doc, one.instead)}")


def _print_changes(one: Explanation, top: int) -> None:
    print("what would change that, the smallest change first:")
    for change in one.changes[:top]:
        entry = "" if change.entry is None else f" {_short(change.entry)!r} of"
        text = f"{change.kind}{entry} {change.name}"
        print(f"  {clean(text)}: P = {change.probability:.3f}")
    if not one.changes:
        print("  no single entry of a list, and no single rule")


def _print_retrained(doc: Doc, one: Retrained) -> None:
    answer = "predicted" if one.is_answer else "not predicted"
    print("trained on this text, too, with this gold:")
    print(f"  {_listed(doc, one.gold)}")
    print(f"then {answer}, P = {one.probability:.3f}")


def _listed(doc: Doc, spans: Sequence[Span]) -> str:
    shown = [f"{y}: {_short(doc[i:j].text)}" for i, j, y in spans]
    return clean(" | ".join(shown)) or "no span"


def _row(part: Contribution, doc: Doc) -> tuple[str, ...]:
    name = part.name if part.entry is None else f"{part.name} ({part.entry})"
    text = "" if part.start is None else doc[part.start : part.end].text
    columns = part.role or "", _short(text), part.label or "", part.other or ""
    return f"{part.score:+.3f}", f"{part.kind} {_short(name)}", *columns


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."
