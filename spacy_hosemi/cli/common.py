"""What all commands share: the command line, loading, checks, printing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from spacy.cli._util import app

if TYPE_CHECKING:
    from spacy.language import Language

    from ..component.pipe import HighOrderSemiCRF

hosemi_cli = typer.Typer(
    name="hosemi",
    help="Look into hosemi components, what they learnt, their lists; make them "
    "smaller; choose what to annotate next; say how far confidences can be trusted.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(hosemi_cli)

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
    ),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", "-f", help="Write there even if it exists.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
CodePath = Annotated[
    Path | None,
    typer.Option(
        "--code",
        "-c",
        metavar="FILE",
        help="Python file to import first: functions that the config names.",
    ),
]


def with_progress(stream: Iterable[Any], total: int) -> Iterable[Any]:
    from tqdm import tqdm

    # disable=None: shown on a terminal only.
    return tqdm(stream, total=total, unit=" docs", leave=False, disable=None)


def check_corpus(path: Path, name: str) -> None:
    if not path.is_file():
        fail(f"There is no file {str(path)!r}", f"Expected a .spacy file as {name}.")
    if path.suffix != ".spacy":
        fail(
            f"{str(path)!r} is no .spacy file",
            f"Expected one as {name}; `spacy convert` and corpus/convert.py make them.",
        )


def check_output(path: Path, overwrite: bool, *, is_file: bool = False) -> None:
    """Exit with a message if nothing may be written to a folder, or a file."""
    if is_file and path.is_dir():
        fail(f"{str(path)!r} is a folder", "Expected a .spacy file as --out.")
    if not is_file and path.is_file():
        fail(f"{str(path)!r} is a file", "Expected a folder to write to.")
    if path.exists() and not overwrite:
        fail(
            f"{str(path)!r} exists already",
            "Choose another one, or give --overwrite to write to it.",
        )


def save_pipeline(nlp: Language, output: Path) -> None:
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        nlp.to_disk(output)
    except OSError as e:
        fail(f"Cannot save the pipeline to {str(output)!r}", str(e))


def load_component(model: str, name: str | None) -> tuple[Language, HighOrderSemiCRF]:
    """A saved pipeline and its trained component; exit with a message if there is
    none."""
    from spacy.util import load_model

    from ..component.pipe import HighOrderSemiCRF

    try:
        nlp = load_model(model)
    except (ImportError, OSError, ValueError) as e:
        # E893 of spaCy lists all registered functions: leave them out.
        reason, names, _ = str(e).partition("Available names:")
        hint = " Import the file that has it: --code FILE." if names else ""
        reason = reason.rstrip(". \n")
        fail(f"Cannot load the pipeline {model!r}", f"{reason}.{hint}{_nearby(model)}")
    found = {
        n: pipe for n, pipe in nlp.components if isinstance(pipe, HighOrderSemiCRF)
    }
    components = ", ".join(nlp.component_names) or "none"
    if not found:
        fail(
            f"No hosemi component in {model!r}",
            f"Expected one; its components are: {components}.",
        )
    if name is not None and name not in found:
        fail(
            f"No hosemi component {name!r} in {model!r}",
            f"Its hosemi components are: {', '.join(found)}; all: {components}.",
        )
    if name is None and len(found) > 1:
        fail(
            f"{len(found)} hosemi components in {model!r}",
            f"Choose one by --component: {', '.join(found)}.",
        )
    pipe = found[name or next(iter(found))]
    if not pipe.weights.is_trained:
        fail(
            f"The component {pipe.name!r} in {model!r} is not trained",
            "All its weights are 0. Expected a pipeline that `spacy train` wrote.",
        )
    return nlp, pipe


def _nearby(model: str) -> str:
    """A hint for those who name the folder around a pipeline."""
    paths = [Path(model) / name for name in ("model-best", "model-last")]
    found = " or ".join(str(path) for path in paths if path.is_dir())
    return f" Did you mean {found}?" if found else ""


def print_json(report: dict[str, Any]) -> None:
    """Print a report; dataclasses in it become objects."""
    import srsly

    print(srsly.json_dumps(_plain(report), indent=2))


def _plain(found: Any) -> Any:
    if is_dataclass(found) and not isinstance(found, type):
        return asdict(found)
    if isinstance(found, dict):
        return {key: _plain(value) for key, value in found.items()}
    return [*map(_plain, found)] if isinstance(found, list) else found


def print_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[Any]], aligns: str
) -> None:
    """A table with a title, or "nothing" if it has no rows."""
    from wasabi import msg

    msg.divider(title)
    if rows:
        msg.table(rows, header=header, divider=True, aligns=list(aligns), max_col=60)
    else:
        print("\nnothing")


def clean(text: str) -> str:
    """Escape control characters: training texts may have some."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def fail(title: str, text: str = "") -> NoReturn:
    from wasabi import msg

    msg.fail(title, text, exits=1)
    raise SystemExit(1)
