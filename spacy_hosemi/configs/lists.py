"""Finds the lists of names and the tables that a new config can name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from spacy.util import registry

from ..features.gazetteers.packages import SOURCES, installed_lists
from ..features.gazetteers.readers import SUFFIXES, make_gazetteer_reader

# What is read of tables of spacy-lookups-data, of clusters by size.
_TABLE = {"@misc": "spacy_hosemi.table.v1"}
TABLES: dict[str, dict[str, Any]] = {
    "cluster": {**_TABLE, "attr": "ORTH", "prefixes": [4, 6, 10]},
    "frequency": {**_TABLE, "attr": "ORTH"},
    "case": {**_TABLE, "attr": "LOWER"},
}
# Lists of packages that helped (docs/dictionaries.md); for other kinds all are tried.
USEFUL: dict[str, tuple[str, ...]] = {
    "references": ("first_names", "family_names"),
    "affiliations": ("countries", "cities"),
    "addresses": (),
    "characters": (),
}
# The lookups that a table needs; all others are of "lexeme_prob".
_LOOKUPS = {"cluster": "lexeme_cluster"}

# Files that stand beside lists and are none.
_ABOUT = re.compile(r"licen[cs]e|read.?me|copying|notice|authors|sources", re.I)
# From the first entries one sees whether a list has codes, such as CA, or words.
_N_READ = 1_000
_MAX_CODE = 4
# In a config $ begins a reference. The folder of the lists is referred to, which what a
# string escapes does not survive.
_NO_FILE = re.compile(r"\$")
NO_FOLDER = re.compile(r'[$"\\\x00-\x1f\ud800-\udfff]')


@dataclass(frozen=True)
class NamedList:
    """A list of names: what is compared, see `Gazetteer`; its file in the folder, or
    else the language of the list of a package."""

    name: str
    attr: str = "ALNUM"
    file: str | None = None
    lang: str = "en"

    def reader(self) -> dict[str, str]:
        """Returns the reader, as a config has it."""
        if self.file is not None:
            path = f"${{paths.lists}}/{self.file}"
            return {"@readers": "spacy_hosemi.read_gazetteer.v1", "path": path}
        reader = "spacy_hosemi.read_package_list.v1"
        return {"@readers": reader, "name": self.name, "lang": self.lang}


def find_lists(folder: str | Path) -> tuple[list[NamedList], dict[str, str]]:
    """Returns the lists of a folder by name, of files that `make_gazetteer_reader` can
    read; and what is wrong with other files that have the right suffix."""
    lists: dict[str, NamedList] = {}
    unread = {}
    for path in sorted(Path(folder).iterdir()):
        file = path.name.removesuffix(".gz")
        stem = file.rpartition(".")[0]
        is_list = path.is_file() and file.lower().endswith(SUFFIXES)
        if not (is_list and stem) or _ABOUT.search(stem):
            continue
        if wrong := unfit_for_config(path.name, _NO_FILE):
            unread[path.name] = wrong
            continue
        try:
            entries = [*islice(make_gazetteer_reader(path)(), _N_READ)]
        except (OSError, ValueError) as error:
            unread[path.name] = str(error)
            continue
        # A name that a config and templates can have, and no other list has.
        name = re.sub(r"\W+", "_", stem).strip("_") or "list"
        name = f"list_{name}" if name[0].isdecimal() else name
        names = [name, *(f"{name}_{k}" for k in range(2, len(lists) + 3))]
        name = next(x for x in names if x not in lists)
        # Codes such as IN and OR would be words in lower case.
        n_codes = sum(x.isupper() and len(x) <= _MAX_CODE for x in entries)
        attr = "ORTH" if 10 * n_codes >= 9 * max(len(entries), 1) else "ALNUM"
        lists[name] = NamedList(name, attr, path.name)
    return list(lists.values()), unread


def unfit_for_config(path: str, wrong: re.Pattern[str]) -> str:
    """Returns why a config cannot name a path; "" if it can."""
    match = wrong.search(path)
    what = f"a path in a config must not have the character {match and match[0]!a}"
    return f"{what}; rename it" if match else ""


def package_lists(kind: str, lang: str, taken: Iterable[str] = ()) -> list[NamedList]:
    """Returns lists of installed packages that may help; no names that are taken."""
    useful = USEFUL.get(kind, tuple(SOURCES))
    names = [x for x in installed_lists() if x in useful and x not in taken]
    return [NamedList(name, lang=lang) for name in names]


def package_tables(lang: str) -> list[str]:
    """Returns the tables that installed packages have for a language."""
    lookups = registry.lookups.get_all().get(lang, {})
    return [x for x in TABLES if _LOOKUPS.get(x, "lexeme_prob") in lookups]
