"""Lists of names from packages: what is read, and what happens without a package."""

import importlib
import sys

import pytest

from spacy_hosemi.features.gazetteers import packages
from spacy_hosemi.features.gazetteers.packages import make_package_reader


@pytest.mark.parametrize(
    "name, some, least",
    [
        ("countries", {"France", "Tanzania", "Bolivia", "French Republic"}, 300),
        ("cities", {"London", "São Paulo", "Kyoto"}, 20_000),
        ("first_names", {"James", "Jürgen", "Françoise"}, 20_000),
        ("family_names", {"Smith", "Müller", "García"}, 20_000),
    ],
)
def test_entries(name, some, least):
    pytest.importorskip(packages.SOURCES[name][0])
    entries = [*make_package_reader(name)()]
    assert some <= {*entries} and len(entries) >= least
    assert all(isinstance(x, str) and x.strip() for x in entries)


def test_countries_in_another_language():
    pytest.importorskip("pycountry")
    entries = [*make_package_reader("countries", "de")()]
    assert {"Germany", "Deutschland", "Fiji", "Fidschi"} <= {*entries}
    assert "Deutschland" not in [*make_package_reader("countries", "qq")()]


def test_names_are_checked_at_once():
    with pytest.raises(ValueError, match="HS190.*'towns'.*one of"):
        make_package_reader("towns")


def test_a_package_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "pycountry", None)
    read = make_package_reader("countries")  # a model without it can be built
    with pytest.raises(ValueError, match=r"HS191.*pip install pycountry"):
        list(read())


def test_installed_lists(monkeypatch):
    there = {"pycountry": object()}
    monkeypatch.setattr(packages, "find_spec", there.get)
    assert packages.installed_lists() == ["countries"]
    assert set(packages.SOURCES) >= {"countries", "cities"}


def test_blank_entries_are_left_out(monkeypatch):
    source = "json", lambda *_: iter(["a", None, "", " ", "b"])
    monkeypatch.setitem(packages.SOURCES, "own", source)
    assert importlib.util.find_spec("json")
    assert [*make_package_reader("own")()] == ["a", "b"]
