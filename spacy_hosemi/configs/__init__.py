"""Configs that `python -m spacy hosemi init` writes: a base, what differs, lists."""

from .compose import KINDS, choose_language, make_config
from .lists import NamedList, find_lists, package_lists, package_tables

__all__ = [
    "KINDS",
    "NamedList",
    "choose_language",
    "find_lists",
    "make_config",
    "package_lists",
    "package_tables",
]
