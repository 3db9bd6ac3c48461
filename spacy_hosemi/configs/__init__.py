"""Configs that `python -m spacy hosemi init` writes: a base, what differs, lists."""

from .compose import KINDS, make_config
from .lists import NamedList, find_lists, package_lists, package_tables

__all__ = [
    "KINDS",
    "NamedList",
    "find_lists",
    "make_config",
    "package_lists",
    "package_tables",
]
