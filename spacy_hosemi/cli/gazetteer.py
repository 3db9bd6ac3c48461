"""python -m spacy hosemi gazetteer ...: the lists of a trained pipeline."""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from spacy.language import Language

from ..component.judging import annotate_before
from ..component.pipe import HighOrderSemiCRF
from ..explain.gazetteers import (
    compared_words,
    describe_lists,
    find_entries,
    find_similar,
)
from ..features import Gazetteers
from ..features.gazetteers.readers import make_gazetteer_reader
from . import hosemi_cli
from . import options as shared
from .common import load_component, print_json, print_table, save_pipeline
from .options import argument, folder_option, option
from .streams import as_file, clean, fail, say

gazetteer_cli = typer.Typer(
    name="gazetteer",
    help="Look into the lists of names of a trained pipeline, and replace them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
hosemi_cli.add_typer(gazetteer_cli)

ListName = Annotated[str, argument("NAME", "The list, as the config names it.")]


@gazetteer_cli.command("info", no_args_is_help=True)
def gazetteer_info_cli(
    model: shared.Model,
    component: shared.Component = None,
    as_json: shared.AsJson = False,
    code_path: shared.CodePath = None,
) -> None:
    """
    Show the lists of names of a pipeline: how they are used, and how large they are.

    Equal entries count once; "features" is how many features read the list, "weights"
    how many weights they have for all labels. A list without features makes no
    difference.

    \b
    Examples:
      python -m spacy hosemi gazetteer info model/model-last
      python -m spacy hosemi gazetteer info model/model-last --json
    """
    _, pipe, _ = _load_lists(model, component)
    lists = describe_lists(pipe)
    if as_json:
        print_json({"component": pipe.name, "gazetteers": lists})
        return
    rows = [
        (
            *(x.name, x.attr, x.mode, f"{x.dropout:g}"),
            " ".join(map(str, astuple(x.fuzzy))) if x.fuzzy else "",
            x.label or "",
            *(x.entries, f"{x.bytes / 1e6:.2f}", x.features, x.weights),
        )
        for x in lists
    ]
    header = "list attr mode dropout fuzzy label entries MB features weights"
    print_table(f"lists of {pipe.name}", header.split(), rows, "lllrllrrrr")


@gazetteer_cli.command("replace", no_args_is_help=True)
def gazetteer_replace_cli(
    model: shared.Model,
    name: ListName,
    path: Path = argument(
        "FILE",
        "The new entries: .txt, .jsonl (patterns of the EntityRuler), .csv or .tsv; "
        "each also with .gz; - reads lines from standard input.",
    ),
    output: Path = folder_option(
        "Where to save the pipeline; with --overwrite it may be MODEL.", ...
    ),
    column: str | None = option(
        "--column COLUMN",
        "Column of a table: its name in the first row, or its index from 0 if there "
        "is no such row.",
        show_default="0",
    ),
    label: str | None = option(
        "--label -l LABEL", "Read only patterns with this label.", show_default="all"
    ),
    encoding: str = option("--encoding NAME", "Encoding of the file.", "utf8"),
    overwrite: shared.Overwrite = False,
    component: shared.Component = None,
    code_path: shared.CodePath = None,
) -> None:
    """
    Give a trained pipeline a newer list, without training.

    The entries of FILE replace all entries of the list NAME. The weights stay as they
    are: they belong to matches with the list, not to single entries.

    \b
    Examples:
      python -m spacy hosemi gazetteer replace model/model-last cities new.txt -o newer
      python -m spacy hosemi gazetteer replace newer cities c.csv -o newer -f
    """
    nlp, pipe, lists = _load_lists(model, component, name, output)
    path = as_file(path, ".txt")
    place = int(column) if column and column.isdecimal() else column
    read = make_gazetteer_reader(path, place, label, encoding)
    try:
        entries = list(read())
    except (OSError, ValueError) as e:
        fail(f"Cannot read the entries of {str(path)!r}", str(e))
    old = lists.tries[name]
    lists.compile(name, entries, nlp, pipe.reads_clean)
    save_pipeline(nlp, output)
    new = lists.tries[name]
    n_both = len(np.intersect1d(old.keys, new.keys))
    rows = [("before", len(old)), ("after", len(new)), ("in both", n_both)]
    print_table(f"entries of {name}", ("", "entries"), rows, "lr")
    if not len(new):
        say("The list is empty now: no entry of the file has a word.")


@gazetteer_cli.command("find", no_args_is_help=True)
def gazetteer_find_cli(
    model: shared.Model,
    name: ListName,
    text: str = argument("TEXT", "Where to look."),
    component: shared.Component = None,
    as_json: shared.AsJson = False,
    code_path: shared.CodePath = None,
) -> None:
    """
    Show which entries of a list occur in a text, and the words that are compared.

    An entry occurs where its words follow each other, the first begins a token and the
    last ends one; "start" and "end" are tokens, the end is exclusive. For a list with
    fuzzy matches, segments that resemble an entry are shown with the most similar one.

    \b
    Examples:
      python -m spacy hosemi gazetteer find model/model-last cities "Born in New York."
    """
    nlp, pipe, lists = _load_lists(model, component, name)
    # A list may compare lemmas.
    doc = annotate_before(nlp, pipe, nlp.make_doc(text))
    tokens, words = [token.text for token in doc], compared_words(pipe, name, doc)
    found = find_entries(pipe, name, doc)
    similar = find_similar(pipe, name, doc) if name in lists.fuzzy else None
    if as_json:
        report: dict[str, Any] = {"tokens": tokens, "words": words, "found": found}
        report |= {} if similar is None else {"similar": similar}
        print_json({"component": pipe.name, "gazetteer": name, **report})
        return
    rows: list[tuple[Any, ...]]
    rows = [(x.start, x.end, " ".join(x.words), x.text) for x in found]
    header = ["start", "end", "words", "text"]
    print_table(f"entries of {name} in the text", header, rows, "rrll")
    if similar is not None:
        rows = [
            (x.start, x.end, f"{x.similarity:.2f}", x.entry, x.text) for x in similar
        ]
        header = ["start", "end", "similarity", "entry", "text"]
        print_table(f"what resembles entries of {name}", header, rows, "rrrll")
    print(f"Tokens: {clean(' | '.join(tokens))}")
    print(f"Words by {lists.settings[name].attr}: {clean(' | '.join(words))}")


def _load_lists(
    model: str, component: str | None, name: str = "", output: Path | None = None
) -> tuple[Language, HighOrderSemiCRF, Gazetteers]:
    """Returns a pipeline, its component and its lists; exits if one is not there."""
    nlp, pipe = load_component(model, component, output)
    lists = pipe.weights.extractor.gazetteers
    if not lists:
        title = f"The component {pipe.name!r} in {model!r} has no lists of names"
        block = f"[components.{pipe.name}.model.gazetteers.NAME]"
        fail(title, f"Expected a pipeline whose config has {block}.")
    if name and name not in lists.settings:
        title = f"No list {name!r} in the component {pipe.name!r} of {model!r}"
        fail(title, f"Its lists are: {', '.join(lists.settings)}.")
    return nlp, pipe, lists
