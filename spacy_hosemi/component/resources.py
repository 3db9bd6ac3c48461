"""From files, or training examples, to the lists and tables that a model keeps."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from typing import Any

from spacy.language import Language
from spacy.training import Example

from ..errors import Errors, Warnings
from ..features import Extractor
from ..features.gazetteers.readers import no_entries
from .arguments import check_readers

Readers = Mapping[str, Callable[..., Iterable[Any]]]


def read_sources(
    extractor: Extractor,
    gazetteers: Readers | Callable[[Iterable[str]], Readers],
    tables: Readers,
    nlp: Language,
    examples: Sequence[Example],
    name: str,
    clean_text: bool,
) -> None:
    """Store the entries of all lists and the rows of all tables, and forget what was
    read before.

    extractor (Extractor): What keeps them.
    gazetteers, tables (Mapping[str, Callable]): Their readers; one that needs an
        argument is given the examples. Or a function that makes the readers of lists
        from their names, see `make_folder_reader`.
    nlp (Language): Its tokenizer reads entries.
    examples (Sequence[Example]): The training corpus.
    name (str): Of the component.
    clean_text (bool): Whether documents are read by their words in a clean form.
    RAISES (ValueError): HS035 another list or table is expected; and what readers
        raise.
    RAISES (TypeError): HS233 the function for all lists gives no functions.
    """
    lists = extractor.gazetteers
    if callable(gazetteers):
        gazetteers = gazetteers(lists.settings)
        check_readers("gazetteers", gazetteers)
    _check_names("gazetteers", gazetteers, lists.settings, name)
    _check_names("tables", tables, extractor.tables.settings, name)
    for key, read in gazetteers.items():
        lists.compile(key, _call(read, examples), nlp, clean_text)
        if not len(lists.tries[key]) and read is not no_entries:
            attr = lists.settings[key].attr
            warnings.warn(Warnings.HSW04.format(name=key, attr=attr), stacklevel=3)
    for key, read in tables.items():
        extractor.tables.compile(key, _call(read, examples), clean_text)
    extractor.extensions.load({})
    extractor.clear()


def _check_names(
    what: str, readers: Readers, settings: Mapping[str, Any], name: str
) -> None:
    if set(readers) != set(settings):
        raise ValueError(
            Errors.HS035.format(
                what=what, found=list(settings), given=list(readers), name=name
            )
        )


def _call(
    read: Callable[..., Iterable[Any]], examples: Sequence[Example]
) -> Iterable[Any]:
    """What comes from a file, or from the training examples, if it asks for them."""
    parameters = signature(read).parameters.values()
    wants_examples = any(p.default is p.empty for p in parameters)
    return read(examples) if wants_examples else read()
