"""Configs that `python -m spacy hosemi init` writes: a base, what differs, lists."""

from .compose import KINDS, find_vectors, make_config
from .lists import NamedList, find_lists, package_lists, package_tables

__all__ = [
    "KINDS",
    "NamedList",
    "find_lists",
    "find_vectors",
    "make_config",
    "package_lists",
    "package_tables",
]
