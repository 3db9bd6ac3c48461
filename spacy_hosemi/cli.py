"""Commands: python -m spacy hosemi ...

spaCy imports this module before each of its own commands, so that only typer and
spacy.cli are imported here; all else is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from spacy.cli._util import app, import_code

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

    from .explain.calibration import Calibration
    from .explain.limits import Point
    from .features import Gazetteers
    from .pipe import HighOrderSemiCRF

HELP = (
    "Look into hosemi components, what they learnt, their lists; make them smaller; "
    "choose what to annotate next; say how far confidences can be trusted."
)
LISTS_HELP = "Look into the lists of names of a trained pipeline, and replace them."

# Smaller weights of a feature are left out of tables that show those of all labels.
LEAST = 0.01

hosemi_cli = typer.Typer(
    name="hosemi", help=HELP, no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(hosemi_cli)
gazetteer_cli = typer.Typer(
    name="gazetteer", help=LISTS_HELP, no_args_is_help=True, rich_markup_mode=None
)
hosemi_cli.add_typer(gazetteer_cli)

Model = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="Folder or package name of a trained pipeline."
    ),
]
Component = Annotated[
    str | None,
    typer.Option(
        "--component",
        metavar="NAME",
        help="Name in the pipeline, if it has several hosemi components.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
CodePath = Annotated[
    Path | None,
    typer.Option(
        "--code",
        "-c",
        metavar="FILE",
        help="Python file to import first: functions that the config names.",
        show_default=False,
    ),
]
ListName = Annotated[
    str, typer.Argument(metavar="NAME", help="The list, as the config names it.")
]


@hosemi_cli.command("weights", no_args_is_help=True)
def weights_cli(
    model: Model,
    top: Annotated[
        int,
        typer.Option(
            "--top",
            "-n",
            min=1,
            metavar="N",
            help="How many in each list; of families all.",
        ),
    ] = 10,
    label: Annotated[
        list[str] | None,
        typer.Option(
            "--label",
            "-l",
            metavar="LABEL",
            help='Only this label ("O": outside), or tag such as B-PER. Repeatable.',
            show_default="all",
        ),
    ] = None,
    role: Annotated[
        str | None,
        typer.Option(
            "--role",
            metavar="ROLE",
            help="Only features read in this role: inside, start, end, ...",
            show_default="all",
        ),
    ] = None,
    feature: Annotated[
        str,
        typer.Option(
            "--feature",
            "-f",
            metavar="TEXT",
            help="Only features with TEXT in their name, with the weights of all "
            "labels: LOWER=in, start:SHAPE, ...",
            show_default=False,
        ),
    ] = "",
    negative: Annotated[
        bool, typer.Option("--negative", help="Also what says most against a label.")
    ] = False,
    patterns: Annotated[
        bool,
        typer.Option(
            "--patterns/--no-patterns",
            help="List label patterns too, unless only some features are asked for.",
        ),
    ] = True,
    families: Annotated[
        bool,
        typer.Option(
            "--families",
            help="Instead of single features: how much each template weighs.",
        ),
    ] = False,
    component: Component = None,
    as_json: AsJson = False,
    code_path: CodePath = None,
) -> None:
    """
    List what each feature did: the strongest weights of every label.

    A feature is named role:TEMPLATE=value; "docs" is in how many training documents
    it occurred. What decides is by how much its weight for one label is larger than
    that for another.

    \b
    Examples:
      python -m spacy hosemi weights model/model-last --label date --negative
      python -m spacy hosemi weights model/model-last --feature "LOWER=in"
      python -m spacy hosemi weights model/model-last --families
    """
    import_code(code_path)
    _, pipe = _load_component(model, component)
    which: dict[str, Any] = {"labels": label or [], "role": role, "text": feature}
    try:
        if families:
            report = _report_families(pipe, **which)
        elif feature:
            report = _report_matching(pipe, top=top, **which)
        else:
            report = _report_strongest(pipe, top=top, negative=negative, **which)
            if patterns and role is None:
                report |= _report_patterns(pipe, label or [], top, negative)
            if pipe.automaton.observed and role in (None, "transition"):
                report |= _report_transitions(pipe, label or [], top, negative)
    except ValueError as e:
        _fail(str(e))
    if as_json:
        _print_json({"component": pipe.name, **report})
    else:
        _print_tables(pipe, report, feature)


@hosemi_cli.command("prune", no_args_is_help=True)
def prune_cli(
    model: Model,
    output: Annotated[
        Path | None,
        typer.Argument(
            metavar="[OUTPUT]",
            help="Where to save what is left; with --overwrite it may be MODEL.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            "-d",
            metavar="FILE",
            help=".spacy file on which F1 is measured.",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        float | None,
        typer.Option(
            "--keep", min=0, max=1, metavar="P", help="Keep this share of all weights."
        ),
    ] = None,
    below: Annotated[
        float | None,
        typer.Option(
            "--below", min=0, metavar="W", help="Drop weights from -W up to W."
        ),
    ] = None,
    max_loss: Annotated[
        float | None,
        typer.Option(
            "--max-loss",
            min=0,
            metavar="X",
            help="Choose the smallest that loses at most X points of F1 (0.1: from "
            "91.3 to 91.2) on --data.",
        ),
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", "-f", help="Write to OUTPUT even if it exists."),
    ] = False,
    component: Component = None,
    as_json: AsJson = False,
    code_path: CodePath = None,
) -> None:
    """
    Make a trained pipeline smaller: drop the weights that are nearest to 0.

    Features and label patterns without weights are dropped as well. The table shows
    what is left at several strengths; "MB" is the component on disk, F1 that on --data.
    Without --keep, --below or --max-loss nothing is saved. Choose on development data:
    F1 on data that the model was trained on says nothing.

    \b
    Examples:
      python -m spacy hosemi prune model/model-last --data dev.spacy
      python -m spacy hosemi prune model/model-last small -d dev.spacy --max-loss 0.1
      python -m spacy hosemi prune model/model-last small --keep 0.1
    """
    from dataclasses import asdict

    from .explain import SHARES, choose, find_threshold, try_pruning

    import_code(code_path)
    _check_strength(output, data, keep=keep, below=below, max_loss=max_loss)
    if output is not None:
        _check_output(output, overwrite)
    nlp, pipe = _load_component(model, component)
    asked = below if keep is None else find_threshold(pipe, keep)
    thresholds = {find_threshold(pipe, share) for share in SHARES}
    thresholds |= set() if asked is None else {asked}
    found = try_pruning(nlp, pipe, sorted(thresholds), data)
    chosen = next((x for x in found if x.below == asked), None)
    if max_loss is not None:
        chosen = choose(found, max_loss / 100)
    if output is not None and chosen is not None:
        pipe.prune(chosen.below)
        _save(nlp, output)
    if as_json:
        rows = [{**asdict(x), "chosen": x is chosen} for x in found]
        _print_json({"component": pipe.name, "strengths": rows})
    else:
        _print_pruned(
            pipe.name,
            [(asdict(x), x is chosen) for x in found],
            output if chosen else None,
        )


def _check_strength(
    output: Path | None, data: Path | None, **strengths: float | None
) -> None:
    given = [name for name, value in strengths.items() if value is not None]
    options = "--keep, --below and --max-loss"
    if len(given) > 1:
        _fail(f"{len(given)} of {options} are given", "Expected at most one of them.")
    if output is not None and not given:
        _fail("No strength is given", f"To save a pipeline, give one of {options}.")
    if "max_loss" in given and data is None:
        _fail("--max-loss needs --data", "Give a .spacy file on which F1 is measured.")
    if data is not None and not data.is_file():
        _fail(f"There is no file {str(data)!r}", "Expected a .spacy file as --data.")


@hosemi_cli.command("select", no_args_is_help=True)
def select_cli(
    model: Model,
    data: Annotated[
        Path,
        typer.Argument(metavar="CORPUS", help=".spacy file of documents."),
    ],
    n: Annotated[
        int, typer.Option("--n", "-n", min=1, metavar="N", help="How many to choose.")
    ] = 10,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="MEASURE",
            help="entropy: of the distribution over segmentations; least-confident: "
            "- log of the probability of the best one. Both in nats.",
        ),
    ] = "entropy",
    total: Annotated[
        bool,
        typer.Option(
            "--total",
            help="Compare whole documents, not the average of their tokens: where one "
            "costs as much to annotate as another, however long.",
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write the chosen documents to this .spacy file, the first one first.",
            show_default=False,
        ),
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", "-f", help="Write to FILE even if it exists."),
    ] = False,
    component: Component = None,
    as_json: AsJson = False,
    code_path: CodePath = None,
) -> None:
    """
    Choose the documents to annotate next: those of which a pipeline is least sure.

    By default that is measured per token, since long documents have more to be unsure
    of and cost more to annotate. The documents are written as they are in CORPUS, with
    the annotation that they have there; it is not read.

    \b
    Examples:
      python -m spacy hosemi select model/model-last pool.spacy --n 100 --out next.spacy
      python -m spacy hosemi select model/model-last pool.spacy --by least-confident
    """
    from .explain.uncertainty import MEASURES, choose, measure, read_docs

    import_code(code_path)
    if by not in MEASURES:
        _fail(f"No measure {by!r}", f"Expected as --by one of: {', '.join(MEASURES)}.")
    if not data.is_file():
        _fail(f"There is no file {str(data)!r}", "Expected a .spacy file as CORPUS.")
    if output is not None:
        _check_output_file(output, overwrite)
    nlp, pipe = _load_component(model, component)
    try:
        docs = read_docs(data, nlp)
    except Exception as e:  # whatever msgpack and zlib say of other files
        _fail(f"Cannot read {str(data)!r}", f"Expected a .spacy file; {e!r}"[:200])
    try:
        measured = _with_progress(measure(nlp, pipe, docs, by), len(docs))
        found = choose(measured, n, total)
    except ValueError as e:
        _fail("Cannot tell how sure the pipeline is", str(e))
    if output is not None:
        _save_docs([x.doc for x in found], output)
    rows = [
        {
            **{"rank": rank, "index": x.index, "nats": x.uncertainty},
            **{"per_token": x.per_token, "tokens": x.n_tokens, "text": x.doc.text},
        }
        for rank, x in enumerate(found, start=1)
    ]
    if as_json:
        _print_json({"component": pipe.name, "by": by, "total": total, "docs": rows})
    else:
        _print_selected(by, len(docs), rows, output)


def _check_output_file(path: Path, overwrite: bool) -> None:
    if path.is_dir():
        _fail(f"{str(path)!r} is a folder", "Expected a .spacy file as --out.")
    if path.exists() and not overwrite:
        _fail(
            f"{str(path)!r} exists already",
            "Choose another --out, or give --overwrite to write to it.",
        )


def _with_progress(stream: Iterable[Any], total: int) -> Iterable[Any]:
    from tqdm import tqdm

    # disable=None: shown on a terminal only.
    return tqdm(stream, total=total, unit=" docs", leave=False, disable=None)


def _save_docs(docs: Sequence[Doc], output: Path) -> None:
    from spacy.tokens import DocBin

    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        DocBin(docs=docs, store_user_data=True).to_disk(output)
    except OSError as e:
        _fail(f"Cannot write {str(output)!r}", str(e))


@hosemi_cli.command("calibrate", no_args_is_help=True)
def calibrate_cli(
    model: Model,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="CORPUS", help=".spacy file that the pipeline was not trained on."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Save the pipeline with what is chosen; with --overwrite DIR may be "
            "MODEL.",
            show_default=False,
        ),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(
            "--precision",
            min=0,
            max=1,
            metavar="P",
            help="As min_confidence the lowest that reaches this precision, instead of "
            "that with the highest F1.",
            show_default=False,
        ),
    ] = None,
    recall: Annotated[
        float | None,
        typer.Option(
            "--recall",
            min=0,
            max=1,
            metavar="R",
            help="As min_confidence the highest that leaves this recall.",
            show_default=False,
        ),
    ] = None,
    per_label: Annotated[
        bool,
        typer.Option("--per-label", help="Choose a min_confidence for each label."),
    ] = False,
    with_limit: Annotated[
        bool,
        typer.Option(
            "--min-confidence/--no-min-confidence",
            help="Choose min_confidence; else it stays as it is.",
        ),
    ] = True,
    with_temperature: Annotated[
        bool,
        typer.Option(
            "--temperature/--no-temperature",
            help="Choose temperature; else it stays as it is.",
        ),
    ] = True,
    n_bins: Annotated[
        int,
        typer.Option(
            "--bins", min=1, metavar="N", help="Rows of the table of reliability."
        ),
    ] = 10,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            help="Draw both tables to this .png, .svg or .pdf file.",
            show_default=False,
        ),
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", "-f", help="Write to DIR even if it exists."),
    ] = False,
    component: Component = None,
    as_json: AsJson = False,
    code_path: CodePath = None,
) -> None:
    """
    Say how far confidences can be trusted, and choose temperature and min_confidence.

    Of the entities with confidence .8 eight of ten should be right; the expected
    calibration error says how far that fails, on average. A temperature above 1 makes
    all of them less sure, one below 1 surer; chosen is the one that gives the highest
    probability to what is the case. Then precision, recall and F1 are shown for each
    min_confidence. All this is as good as CORPUS is large: differences of some
    hundredths on a hundred entities are chance.

    \b
    Examples:
      python -m spacy hosemi calibrate model/model-last dev.spacy --plot dev.png
      python -m spacy hosemi calibrate model/model-last dev.spacy --recall 0.9 -o all
      python -m spacy hosemi calibrate m dev.spacy --no-min-confidence -o m -f
    """
    from .explain.calibration import calibrate, set_options
    from .explain.judging import read_examples
    from .explain.pictures import ENDINGS, draw_calibration

    import_code(code_path)
    wanted = {"precision": precision, "recall": recall}
    _check_calibration(data, output, wanted, with_limit, with_temperature)
    if output is not None:
        _check_output(output, overwrite)
    if plot is not None and plot.suffix.lower() not in ENDINGS:
        _fail(f"Cannot draw {str(plot)!r}", f"Expected one of: {', '.join(ENDINGS)}.")
    nlp, pipe = _load_component(model, component)
    try:
        examples = read_examples(nlp, pipe, data)
    except Exception as e:  # whatever msgpack and zlib say of other files
        _fail(f"Cannot read {str(data)!r}", f"Expected a .spacy file; {e!r}"[:200])
    try:
        found = calibrate(
            pipe,
            examples,
            n_bins=n_bins,
            with_temperature=with_temperature,
            with_limit=with_limit,
            labels=pipe.labels if per_label else None,
            progress=lambda some: _with_progress(some, len(some)),
            **wanted,
        )
    except ValueError as e:
        _fail(f"Cannot calibrate on {str(data)!r}", str(e))
    if plot is not None:
        try:
            draw_calibration(plot, found)
        except (ImportError, OSError) as e:
            _fail(f"Cannot draw {str(plot)!r}", str(e))
    if output is not None:
        set_options(nlp, pipe, **found.chosen)
        _save(nlp, output)
    if as_json:
        _print_json({"component": pipe.name, **_report_calibration(found)})
    else:
        _print_calibrated(pipe.name, found, output)


def _check_calibration(
    data: Path,
    output: Path | None,
    wanted: dict[str, float | None],
    with_limit: bool,
    with_temperature: bool,
) -> None:
    if not data.is_file():
        _fail(f"There is no file {str(data)!r}", "Expected a .spacy file as CORPUS.")
    given = [f"--{name}" for name, value in wanted.items() if value is not None]
    if len(given) > 1:
        _fail("--precision and --recall are given", "Expected at most one of them.")
    if given and not with_limit:
        _fail(
            f"{given[0]} goes with a min_confidence", "Leave out --no-min-confidence."
        )
    if output is not None and not (with_limit or with_temperature):
        _fail(
            "Nothing is chosen that could be saved",
            "Leave out --no-min-confidence, --no-temperature, or --output.",
        )


@gazetteer_cli.command("info", no_args_is_help=True)
def gazetteer_info_cli(
    model: Model,
    component: Component = None,
    as_json: AsJson = False,
    code_path: CodePath = None,
) -> None:
    """
    Show the lists of names of a pipeline: how they are used, and how large they are.

    Equal entries are one entry. "nodes" are the distinct beginnings of entries, whole
    words; "features" are those that read the list, "weights" what they have for all
    labels. A list without features makes no difference.

    \b
    Examples:
      python -m spacy hosemi gazetteer info model/model-last
      python -m spacy hosemi gazetteer info model/model-last --json
    """
    from dataclasses import asdict

    from .explain.gazetteers import describe_lists

    import_code(code_path)
    _, pipe, _ = _load_lists(model, component)
    found = list(map(asdict, describe_lists(pipe)))
    if as_json:
        _print_json({"component": pipe.name, "gazetteers": found})
    else:
        _print_lists(pipe.name, found)


@gazetteer_cli.command("replace", no_args_is_help=True)
def gazetteer_replace_cli(
    model: Model,
    name: ListName,
    path: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="The new entries: .txt, .jsonl (patterns of the EntityRuler), .csv "
            "or .tsv; each also with .gz.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Where to save the pipeline; with --overwrite it may be MODEL.",
            show_default=False,
        ),
    ],
    column: Annotated[
        str | None,
        typer.Option(
            "--column",
            metavar="COLUMN",
            help="Of a table: the name of the column in the first row, or its index "
            "from 0 if there is no such row.",
            show_default="0",
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            "--label",
            "-l",
            metavar="LABEL",
            help="Of patterns: only those with this label.",
            show_default="all",
        ),
    ] = None,
    encoding: Annotated[
        str, typer.Option("--encoding", metavar="NAME", help="Of the file.")
    ] = "utf8",
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", "-f", help="Write to DIR even if it exists."),
    ] = False,
    component: Component = None,
    code_path: CodePath = None,
) -> None:
    """
    Give a trained pipeline a newer list, without training.

    The entries of FILE take the place of all entries of the list NAME. The weights stay
    as they are: they say what a match is worth, whatever the entries.

    \b
    Examples:
      python -m spacy hosemi gazetteer replace model/model-last cities new.txt -o newer
      python -m spacy hosemi gazetteer replace newer cities c.csv -o newer -f
    """
    from .explain.gazetteers import compare_entries
    from .features.entries import make_gazetteer_reader

    import_code(code_path)
    _check_output(output, overwrite)
    nlp, pipe, lists = _load_lists(model, component, name)
    where = int(column) if column and column.isdecimal() else column
    read = make_gazetteer_reader(path, where, label, encoding)
    try:
        entries = list(read())
    except (OSError, ValueError) as e:
        _fail(f"Cannot read the entries of {str(path)!r}", str(e))
    old = lists.tries[name]
    lists.compile(name, entries, nlp)
    _save(nlp, output)
    _print_replaced(name, output, **compare_entries(old, lists.tries[name]))


@gazetteer_cli.command("find", no_args_is_help=True)
def gazetteer_find_cli(
    model: Model,
    name: ListName,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Where to look.")],
    component: Component = None,
    as_json: AsJson = False,
    code_path: CodePath = None,
) -> None:
    """
    Show which entries of a list occur in a text, and as which words it is read.

    An entry is found where its words follow each other and begin and end together with
    tokens; "start" and "end" are tokens, the end is exclusive. Of a list with fuzzy
    matches also what resembles entries is shown, with the most similar entry of each.

    \b
    Examples:
      python -m spacy hosemi gazetteer find model/model-last cities "Born in New York."
    """
    from dataclasses import asdict

    from .explain.gazetteers import compared_words, find_entries, find_similar

    import_code(code_path)
    nlp, pipe, lists = _load_lists(model, component, name)
    doc = nlp.make_doc(text)
    for _, before in nlp.pipeline:
        if before is pipe:
            break
        doc = before(doc)  # lemmas, if the list compares them
    report: dict[str, Any] = {
        "tokens": [token.text for token in doc],
        "words": compared_words(doc, lists.settings[name].attr),
        "found": list(map(asdict, find_entries(pipe, name, doc))),
    }
    if name in lists.fuzzy:
        report["similar"] = list(map(asdict, find_similar(pipe, name, doc)))
    if as_json:
        _print_json({"component": pipe.name, "gazetteer": name, **report})
    else:
        _print_found(name, lists.settings[name].attr, **report)


def _load_lists(
    model: str, component: str | None, name: str | None = None
) -> tuple[Language, HighOrderSemiCRF, Gazetteers]:
    """A saved pipeline, its component and the lists of that, which have this name among
    them; otherwise exit with a message."""
    nlp, pipe = _load_component(model, component)
    lists = pipe.weights.extractor.gazetteers
    if not lists:
        _fail(
            f"The component {pipe.name!r} in {model!r} has no lists of names",
            "Expected a pipeline whose config has [components."
            f"{pipe.name}.model.gazetteers.NAME].",
        )
    if name is not None and name not in lists.settings:
        _fail(
            f"No list {name!r} in the component {pipe.name!r} of {model!r}",
            f"Its lists are: {', '.join(lists.settings)}.",
        )
    return nlp, pipe, lists


def _check_output(path: Path, overwrite: bool) -> None:
    if path.exists() and not path.is_dir():
        _fail(f"{str(path)!r} is a file", "Expected a folder as --output.")
    if path.exists() and not overwrite:
        _fail(
            f"{str(path)!r} exists already",
            "Choose another --output, or give --overwrite to write to it.",
        )


def _save(nlp: Language, output: Path) -> None:
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        nlp.to_disk(output)
    except OSError as e:
        _fail(f"Cannot save the pipeline to {str(output)!r}", str(e))


def _load_component(model: str, name: str | None) -> tuple[Language, HighOrderSemiCRF]:
    """A saved pipeline and its trained component; otherwise exit with a message."""
    from spacy.util import load_model

    from .pipe import HighOrderSemiCRF

    try:
        nlp = load_model(model)
    except (ImportError, OSError, ValueError) as e:
        reason = str(e).rstrip(". ")
        _fail(f"Cannot load the pipeline {model!r}", f"{reason}.{_nearby(model)}")
    found = {
        n: pipe for n, pipe in nlp.components if isinstance(pipe, HighOrderSemiCRF)
    }
    components = ", ".join(nlp.component_names) or "none"
    if not found:
        _fail(
            f"No hosemi component in {model!r}",
            f"Expected one; its components are: {components}.",
        )
    if name is not None and name not in found:
        _fail(
            f"No hosemi component {name!r} in {model!r}",
            f"Its hosemi components are: {', '.join(found)}; all: {components}.",
        )
    if name is None and len(found) > 1:
        _fail(
            f"{len(found)} hosemi components in {model!r}",
            f"Choose one by --component: {', '.join(found)}.",
        )
    pipe = found[name or next(iter(found))]
    if not pipe.weights.is_trained:
        _fail(
            f"The component {pipe.name!r} in {model!r} is not trained",
            "All its weights are 0. Expected a pipeline that `spacy train` wrote.",
        )
    return nlp, pipe


def _nearby(model: str) -> str:
    """A hint for those who name the folder around a pipeline."""
    found = [str(Path(model) / name) for name in ("model-best", "model-last")]
    found = [path for path in found if Path(path).is_dir()]
    return f" Did you mean {' or '.join(found)}?" if found else ""


def _report_strongest(pipe: HighOrderSemiCRF, **which: Any) -> dict[str, Any]:
    from dataclasses import asdict

    from .explain import strongest_features

    found = strongest_features(pipe, **which)
    return {"labels": {name: list(map(asdict, of)) for name, of in found.items()}}


def _report_patterns(
    pipe: HighOrderSemiCRF, labels: list[str], top: int, negative: bool
) -> dict[str, Any]:
    from dataclasses import asdict

    from .explain import count_forbidden, strongest_patterns

    found = strongest_patterns(pipe, labels=labels, top=top, negative=negative)
    return {
        "patterns": list(map(asdict, found)),
        "forbidden_patterns": count_forbidden(pipe),
    }


def _report_transitions(
    pipe: HighOrderSemiCRF, labels: list[str], top: int, negative: bool
) -> dict[str, Any]:
    from dataclasses import asdict

    from .explain import strongest_transitions

    found = strongest_transitions(pipe, labels=labels, top=top, negative=negative)
    return {"transitions": list(map(asdict, found))}


def _report_matching(pipe: HighOrderSemiCRF, **which: Any) -> dict[str, Any]:
    from dataclasses import asdict

    from .explain import count_features, find_features

    return {
        "matching": count_features(pipe, role=which["role"], text=which["text"]),
        "features": list(map(asdict, find_features(pipe, **which))),
    }


def _report_families(pipe: HighOrderSemiCRF, **which: Any) -> dict[str, Any]:
    from dataclasses import asdict

    from .explain import weight_families

    return {"families": list(map(asdict, weight_families(pipe, **which)))}


def _report_calibration(found: Calibration) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "entities": {
            "predicted": len(found.judged.labels),
            "expected": found.judged.n_gold.total(),
        },
        "reliability": list(map(asdict, found.reliability)),
        "limits": [
            {"min_confidence": limits, **asdict(point)}
            for limits, point in found.limits
        ],
        "labels": {
            label: {"min_confidence": limit, **asdict(point)}
            for label, (limit, point) in found.by_label.items()
        },
        "notes": found.notes,
        "chosen": found.chosen,
    }


def _print_json(report: dict[str, Any]) -> None:
    import srsly

    print(srsly.json_dumps(report, indent=2))


def _print_tables(pipe: HighOrderSemiCRF, report: dict[str, Any], text: str) -> None:
    from wasabi import msg

    size = pipe.weights.size()
    msg.info(
        f"{pipe.name}: {size['features']:,} features, {size['patterns']:,} label "
        f"patterns, {len(pipe.inventory.names):,} labels, {size['weights']:,} weights, "
        f"{size['mb']:.2f} MB"
    )
    for name, found in report.get("labels", {}).items():
        rows = [(_signed(x["weight"]), x["docs"], _clean(x["feature"])) for x in found]
        _print_table(name, ("weight", "docs", "feature"), rows, "rrl")
    if "patterns" in report:
        _print_patterns(report["patterns"], report["forbidden_patterns"])
    if "transitions" in report:
        _print_transitions(report["transitions"])
    if "features" in report:
        _print_features(report["features"], report["matching"], text)
    if "families" in report:
        _print_families(report["families"])


def _print_patterns(found: list[dict[str, Any]], forbidden: int) -> None:
    rows = [(_signed(x["weight"]), " ".join(x["pattern"])) for x in found]
    _print_table("label patterns", ("weight", "pattern"), rows, "rl")
    print(f"Forbidden label patterns: {forbidden:,}")


def _print_transitions(found: list[dict[str, Any]]) -> None:
    rows = [
        (_signed(x["weight"]), x["docs"], " ".join(x["pattern"]), _clean(x["feature"]))
        for x in found
    ]
    header = ("weight", "docs", "pattern", "feature")
    _print_table("features and label patterns", header, rows, "rrll")


def _print_features(found: list[dict[str, Any]], matching: int, text: str) -> None:
    rows = [
        (x["docs"], _clean(x["feature"]), _clean(_joined(x["weights"]))) for x in found
    ]
    title = f"{len(found):,} of {matching:,} features with {text!r} in their name"
    header = ("docs", "feature", f"weights by label, from {LEAST:.2f}")
    _print_table(title, header, rows, "rll")


def _print_families(found: list[dict[str, Any]]) -> None:
    rows = [
        (f"{x['share']:.1%}", f"{x['largest']:.2f}", f"{x['rows']:,}", x["name"])
        for x in found
    ]
    header = ("share", "largest", "rows", "family")
    _print_table("share of the squared weights", header, rows, "rrrl")


def _print_pruned(
    component: str, found: list[tuple[dict[str, Any], bool]], output: Path | None
) -> None:
    from wasabi import msg

    rows = [
        (
            *("*" if chosen else "", f"{x['share']:.1%}", f"{x['below']:.4f}"),
            *(f"{x[name]:,}" for name in ("features", "weights", "patterns", "states")),
            f"{x['mb']:.2f}",
            "-" if x["f1"] is None else f"{100 * x['f1']:.2f}",
        )
        for x, chosen in found
    ]
    header = (
        *("", "left", "below", "features", "weights", "patterns", "states"),
        *("MB", "F1"),
    )
    _print_table(f"{component}, smaller and smaller", header, rows, "lrrrrrrrr")
    if output is not None:
        msg.good(f"Saved the pipeline to {output}")


def _print_selected(
    by: str, n_docs: int, found: list[dict[str, Any]], output: Path | None
) -> None:
    from wasabi import msg

    rows = [
        (
            *(x["rank"], f"{x['nats']:.3f}", f"{x['per_token']:.4f}", x["tokens"]),
            _clean(x["text"][:50]),
        )
        for x in found
    ]
    header = ("rank", by, "per token", "tokens", "text")
    _print_table(f"{len(found):,} of {n_docs:,} documents", header, rows, "rrrrl")
    if output is not None:
        msg.good(f"Wrote {len(found):,} documents to {output}")


def _print_calibrated(component: str, found: Calibration, output: Path | None) -> None:
    import json

    from wasabi import msg

    from .thresholds import write_limits

    judged = found.judged
    msg.info(
        f"{component}: {len(judged.labels):,} entities predicted, "
        f"{judged.n_gold.total():,} in the corpus"
    )
    for one in found.reliability:
        rows = [
            (
                *(f"{b.low:.2f} to {b.high:.2f}", f"{b.n:,}"),
                *(f"{b.confidence:.3f}", f"{b.right:.3f}"),
            )
            for b in one.bins
        ]
        header = ("confidence", "entities", "mean", "right")
        _print_table(f"temperature = {one.temperature:g}", header, rows, "lrrr")
        print(
            f"Expected calibration error {one.error:.4f}, log loss {one.log_loss:.4f}"
        )
    figures = ("entities", "precision", "recall", "F1")
    best = found.chosen.get("min_confidence")
    tried = [
        ["*" if limits == best else "", _limits_name(limits), *_point_figures(point)]
        for limits, point in found.limits
    ]
    _print_table("what is left", ("", "min_confidence", *figures), tried, "llrrrr")
    if found.by_label:
        of_labels = [
            [label, f"{limit:g}", *_point_figures(point)]
            for label, (limit, point) in found.by_label.items()
        ]
        of_label = ("label", "min_confidence", *figures)
        _print_table("what is left of each label", of_label, of_labels, "llrrrr")
    for note in found.notes:
        msg.warn(note)
    for key, value in found.chosen.items():
        print(f"{key} = {json.dumps(write_limits(value))}")
    if output is not None:
        msg.good(f"Saved the pipeline with this to {output}")


def _limits_name(limits: float | dict[str, float]) -> str:
    return "by label" if isinstance(limits, dict) else f"{limits:g}"


def _point_figures(point: Point) -> list[str]:
    percent = [f"{100 * x:.2f}" for x in (point.precision, point.recall, point.f1)]
    return [f"{point.n:,}", *percent]


def _print_lists(component: str | None, found: list[dict[str, Any]]) -> None:
    rows = [
        (
            *(x["name"], x["attr"], x["mode"], f"{x['dropout']:g}"),
            *(_joined_values(x["fuzzy"]), x["label"] or ""),
            *(f"{x['entries']:,}", f"{x['nodes']:,}", f"{x['bytes'] / 1e6:.2f}"),
            *(f"{x['features']:,}", f"{x['weights']:,}"),
        )
        for x in found
    ]
    header = (
        *("list", "attr", "mode", "dropout", "fuzzy", "label", "entries", "nodes"),
        *("MB", "features", "weights"),
    )
    _print_table(f"lists of {component}", header, rows, "lllrllrrrrr")


def _print_replaced(
    name: str, output: Path, before: int, after: int, both: int
) -> None:
    from wasabi import msg

    rows = [
        ("before", f"{before:,}"),
        ("after", f"{after:,}"),
        ("in both", f"{both:,}"),
    ]
    _print_table(f"entries of {name}", ("", "entries"), rows, "lr")
    if not after:
        msg.warn("The list is empty now", "No entry of the file has a word.")
    msg.good(f"Saved the pipeline to {output}")


def _print_found(
    name: str,
    attr: str,
    tokens: list[str],
    words: list[str],
    found: list[dict[str, Any]],
    similar: list[dict[str, Any]] | None = None,
) -> None:
    rows = [
        (x["start"], x["end"], _clean(" ".join(x["words"])), _clean(x["text"]))
        for x in found
    ]
    header = ("start", "end", "words", "text")
    _print_table(f"entries of {name} in the text", header, rows, "rrll")
    if similar is not None:
        _print_similar(name, similar)
    print(f"Tokens: {_clean(' | '.join(tokens))}")
    print(f"Words by {attr}: {_clean(' | '.join(words))}")


def _print_similar(name: str, similar: list[dict[str, Any]]) -> None:
    rows = [
        (
            *(x["start"], x["end"], f"{x['similarity']:.2f}"),
            *(_clean(x["entry"]), _clean(x["text"])),
        )
        for x in similar
    ]
    header = ("start", "end", "similarity", "entry", "text")
    _print_table(f"what resembles entries of {name}", header, rows, "rrrll")


def _print_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[Any]], aligns: str
) -> None:
    """A table with a title; a line instead, where there is nothing to show."""
    from wasabi import msg

    msg.divider(title)
    if rows:
        msg.table(rows, header=header, divider=True, aligns=list(aligns), max_col=60)
    else:
        print("\nnothing")


def _signed(weight: float) -> str:
    return f"{weight:+.2f}"


def _joined_values(settings: dict[str, Any] | None) -> str:
    return " ".join(map(str, (settings or {}).values()))


def _joined(weights: dict[str, float]) -> str:
    shown = [(label, w) for label, w in weights.items() if abs(w) >= LEAST]
    return "  ".join(f"{label} {_signed(w)}" for label, w in shown)


def _clean(text: str) -> str:
    """Without control characters, which training texts may have."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _fail(title: str, text: str = "") -> NoReturn:
    from wasabi import msg

    msg.fail(title, text, exits=1)
    raise SystemExit(1)
