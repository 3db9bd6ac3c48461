"""Checks of what is given from Python: wrong types are refused by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import signature
from typing import Any

from spacy.language import Language
from spacy.training import Example, validate_examples

from ..core.arguments import shown
from ..errors import Errors

_READERS = (
    "a block with a function for each {one}, such as spacy_hosemi.read_{one}.v1 makes"
)
_EXPECTED = {
    "labels": "a list of names",
    "gazetteers": _READERS.format(one="gazetteer")
    + ", or one function for all, such as spacy_hosemi.read_gazetteers.v1 makes",
    "tables": _READERS.format(one="table"),
    "fit": "a function of the training data, such as spacy_hosemi.lbfgs.v1 makes",
    "hierarchy": "a function without arguments that gives the parent of each label, "
    "such as spacy_hosemi.read_label_tree.v1 makes",
    "dev": "a function of the pipeline that gives examples, such as spacy.Corpus.v1 "
    "makes",
}


def check_examples(examples: Any, method: str) -> list[Example]:
    """RETURNS (List[Example]): All examples.

    method (str): Of the component, for the message of spaCy.
    RAISES (TypeError): HS231 they are no iterable; E978 one is no example.
    """
    expected = "a list of spaCy's examples, such as Example.from_dict makes"
    found: list[Example] = list_examples(examples, expected)
    validate_examples(found, f"HighOrderSemiCRF.{method}")
    return found


def list_examples(examples: Any, expected: str) -> list[Any]:
    """RETURNS (List[Any]): All examples. RAISES (TypeError): HS231 they are no
    iterable, or a single text."""
    if isinstance(examples, Iterable) and not isinstance(examples, (str, bytes)):
        return [*examples]
    raise TypeError(Errors.HS231.format(found=shown(examples), expected=expected))


def check_initialization(
    nlp: Any,
    labels: Any,
    gazetteers: Any,
    tables: Any,
    fit: Any,
    hierarchy: Any,
    dev: Any = None,
) -> tuple[Any, Any]:
    """Check the types of what `initialize` is given; None is nothing.

    RETURNS (Tuple[Union[Mapping[str, Callable], Callable], Mapping[str, Callable]]):
        The readers of lists and of tables.
    RAISES (TypeError): HS232 nlp; HS233 another argument.
    """
    if not (nlp is None or isinstance(nlp, Language)):
        raise TypeError(Errors.HS232.format(found=shown(nlp)))
    are_names = isinstance(labels, Iterable)
    if not (labels is None or are_names) or isinstance(labels, (str, bytes, Mapping)):
        raise _wrong("labels", labels)
    functions = ("fit", fit, 1), ("hierarchy", hierarchy, 0), ("dev", dev, 1)
    for name, function, n_arguments in functions:
        if not (function is None or _takes(function, n_arguments)):
            raise _wrong(name, function)
    readers = gazetteers or {}, tables or {}
    if not _takes(readers[0], 1):
        check_readers("gazetteers", readers[0])
    check_readers("tables", readers[1])
    return readers


def check_readers(name: str, readers: Any) -> None:
    """RAISES (TypeError): HS233 these are no functions by name.

    name (str): "gazetteers" or "tables".
    """
    if not isinstance(readers, Mapping):
        raise _wrong(name, readers)
    for key, value in readers.items():
        if not callable(value):
            raise _wrong(name, value, f".{key}")


def _wrong(name: str, found: Any, key: str = "") -> TypeError:
    """RETURNS (TypeError): HS233."""
    expected = _EXPECTED[name]
    args = {"name": name, "key": key, "found": shown(found), "expected": expected}
    return TypeError(Errors.HS233.format(**args))


def _takes(function: Any, n: int) -> bool:
    """Whether this is a function that can be called with n arguments."""
    if not callable(function):
        return False
    try:
        signature(function).bind(*range(n))
    except TypeError:
        return False
    except ValueError:  # of some builtin functions
        pass
    return True
