"""Readers of bytes and lines, and what each of them may be given: for `fuzz.py`.

A target takes bytes, as a stranger's file has them. It may raise a ValueError that has
a code of ours (HS..) or, where that is documented, another one; everything else is a
find. Seeds are tiny: so a hundred thousand inputs a minute are tried.
"""

from __future__ import annotations

import gzip
import io
import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import spacy
from fuzz_seeds import CONLL, JSON, RULES, TABS, XML_WORDS, of_formats, packed_pipeline

from spacy_hosemi.component import saved_files
from spacy_hosemi.core import PatternAutomaton, compile_grammar
from spacy_hosemi.features.gazetteers import readers
from spacy_hosemi.features.templates import parse_templates
from spacy_hosemi.formats import inputs, read_annotations
from spacy_hosemi.formats.lines import read_lines
from spacy_hosemi.formats.readers import READERS, ReaderSettings, columns
from spacy_hosemi.formats.records import ExtractedField
from spacy_hosemi.formats.references import fields
from spacy_hosemi.formats.references.fields import guess_kind, read_date
from spacy_hosemi.formats.references.names import read_names
from spacy_hosemi.hierarchy import tree
from spacy_hosemi.text.clean import clean_joined
from spacy_hosemi.text.tokenizer import FieldTokenizer
from spacy_hosemi.training import checkpoint
from spacy_hosemi.values import Unfit

# In memory, where the system has files there.
_FOLDER = Path("/dev/shm" if os.path.isdir("/dev/shm") else tempfile.gettempdir())


@dataclass(frozen=True)
class Target:
    """What reads mutated bytes, what it can read, what its format is made of, and its
    share of the inputs: less where one takes long."""

    run: Callable[[bytes], object]
    seeds: Sequence[bytes]
    words: Sequence[bytes] = ()
    share: float = 1.0


def is_refusal(error: BaseException) -> bool:
    """Returns whether an error is one that a reader may raise."""
    return isinstance(error, ValueError) and str(error).startswith("[HS")


def place_of(error: BaseException) -> tuple[str, ...]:
    """Returns where an error was raised: finds of one place are one."""
    frames = [*traceback.walk_tb(error.__traceback__)][-3:]
    names = [(os.path.basename(x.f_code.co_filename), line) for x, line in frames]
    return type(error).__name__, *(f"{name}:{line}" for name, line in names)


def _asked(run: Callable[..., object]) -> Callable[..., Callable[[bytes], object]]:
    """Returns what takes all arguments but the data, which come last."""
    return partial(partial, run)


def _file(suffix: str, data: bytes) -> Path:
    path = _FOLDER / f"hosemi-fuzz-{os.getpid()}{suffix}"
    path.write_bytes(data)
    return path


class _InMemory(type(Path())):  # type: ignore[misc]
    """A file that is nowhere: ten times as many can be read."""

    data = b""

    def exists(self) -> bool:
        return True

    def is_dir(self) -> bool:
        return False

    def open(self, mode: str = "r", encoding: Any = None, newline: Any = None) -> Any:
        file = io.BytesIO(self.data)
        return file if "b" in mode else io.TextIOWrapper(file, encoding, None, newline)


def _in_memory(suffix: str, data: bytes) -> Any:
    path = _InMemory(f"fuzz{suffix}")
    path.data = data
    return path


def forget() -> None:
    """Remove the files of this process."""
    for path in _FOLDER.glob(f"hosemi-fuzz-{os.getpid()}*"):
        path.unlink()


# --- lists, tables, trees -------------------------------------------------------------


@_asked
def _list(
    suffix: str, data: bytes, column: Any = None, label: Any = None, encoding="utf8"
) -> object:
    place = _file if suffix.endswith(".gz") else _in_memory
    return [*readers._read_entries(place(suffix, data), column, label, encoding)]


def _table(data: bytes) -> object:
    path = _in_memory(".csv", data)
    return [*readers._read_table(path, ("word", "value"), "utf8")]


@_asked
def _tree(second: str, data: bytes) -> object:
    parents = tree.make_tree_reader(_file(".tree", data), second)()
    return tree.LabelTree(sorted({*parents, *parents.values()})[:50], parents)


# --- annotated texts ------------------------------------------------------------------


@_asked
def _annotations(format: str, data: bytes, **more: Any) -> object:
    given: Any = SimpleNamespace(buffer=io.BytesIO(data), closed=False)
    stdin, sys.stdin = sys.stdin, given
    try:
        return read_annotations("-", format, ReaderSettings(**more))
    finally:
        sys.stdin = stdin


@_asked
def _lines(data: bytes, encoding: str = "utf-8", column: str = "") -> object:
    found = read_lines(io.BytesIO(data), "x", 40, encoding=encoding)
    if not column:
        return [*inputs.read_json_lines(found, "text")]
    return [*inputs.read_column(found, column)]


# --- settings, labels, rules ----------------------------------------------------------


def _texts(data: bytes) -> list[str]:
    return data.decode("utf8", "surrogateescape").split("\n")


def _rules(data: bytes) -> object:
    labels, *rules = _texts(data)
    grammar = compile_grammar(labels.split("|")[:12], rules[:6])
    return grammar.permits([0])


# --- texts ----------------------------------------------------------------------------


_tokenizers: list[FieldTokenizer] = []


def _tokenize(data: bytes) -> object:
    text = data.decode("utf8", "replace")
    # A vocabulary keeps all words that it has met.
    if not _tokenizers or len(_tokenizers[0].vocab.strings) > 200_000:
        vocab = spacy.blank("en").vocab
        _tokenizers[:] = [FieldTokenizer(vocab, split_digits=x) for x in (True, False)]
    for tokenizer in _tokenizers:
        assert tokenizer(text).text == text
        tokenizer.explain(text)
    return clean_joined(text)


_FIELDS = ("author", "date", "pages", "volume", "title", "editor", "doi", "journal")


def _reference(data: bytes) -> object:
    """What a field may say, is the text of a stranger's document."""
    values = zip(_FIELDS, map(str.strip, _texts(data)))
    given = [ExtractedField(0, 1, name, value, None) for name, value in values]
    found = fields.reference_of(given, {name: name for name in _FIELDS})
    people = [read_names(found.get(name, "")) for name in ("author", "editor")]
    return people, read_date(found.get("date", "")), guess_kind(found)


# --- files of ours --------------------------------------------------------------------


def _cfg(data: bytes) -> object:
    try:
        return saved_files.unsealed(data)
    except (ValueError, AttributeError, TypeError, KeyError, RecursionError):
        return None  # `serialization.unreadable` makes one error of all


def _checkpoint(data: bytes) -> object:
    try:
        return checkpoint._read_parts(_in_memory(".npz", data))
    except Unfit:  # a fit begins anew, and says so
        return None


def _archive(suffix: str) -> Callable[[bytes], object]:
    from spacy_hosemi import workers

    def run(data: bytes) -> object:
        with tempfile.TemporaryDirectory(dir=_FOLDER) as folder:
            return workers._unpack(_file(suffix, data), Path(folder))

    return run


def targets() -> dict[str, Target]:
    """Returns all targets, by name."""
    json_, by_format = [*JSON, *TABS], of_formats()
    pattern = b'{"label": "A", "pattern": [{"LOWER": "a b"}]}\n'
    assert by_format.keys() == READERS.keys(), by_format.keys() ^ READERS.keys()
    formats = {
        f"format: {name}": Target(_annotations(name), *given)
        for name, given in by_format.items()
    }
    seeds = [one for given, _ in by_format.values() for one in given]
    plain, packed = b"Ada Lovelace\nBath\r\n", gzip.compress(b"Ada\nBath\n")
    return {
        "list: txt": Target(_list(".txt"), [plain], TABS),
        "list: txt, latin1": Target(_list(".txt", encoding="latin1"), [plain], TABS),
        "list: txt, utf16": Target(
            _list(".txt", encoding="utf16"), ["Ada\nB".encode("utf-16")], TABS
        ),
        "list: jsonl": Target(_list(".jsonl"), [pattern], json_),
        "list: jsonl, label": Target(_list(".jsonl", label="A"), [pattern], json_),
        "list: csv": Target(_list(".csv"), [b'a,b\n"Ada, B",2\n'], TABS),
        "list: tsv, column": Target(
            _list(".tsv", column="name"), [b"id\tname\n1\tAda\n"], [*TABS, b"name"]
        ),
        "list: txt.gz": Target(_list(".txt.gz"), [packed, packed + packed], share=0.3),
        "table: csv": Target(_table, [b"word,value\nAda,1\n"], [*TABS, b"value"]),
        "tree": Target(_tree("error"), [b"A/x\tA\nB/x\tB\n"], TABS),
        "tree, second parents": Target(_tree("ignore"), [b"A\tB\nB\tC\nA\tC\n"], TABS),
        **formats,
        "format: auto": Target(_annotations("auto"), seeds, [*json_, *XML_WORDS]),
        "format: columns, asked": Target(
            _annotations("auto", columns=(2, -1)), [b"1 Ada B-P\n2 in O\n"], CONLL
        ),
        "format: csv, fields": Target(
            _annotations("csv", text_key="t", fields=("a",), group="g"),
            [b"t,a,g\nAda in,Ada,1\n"],
            TABS,
        ),
        "lines: json": Target(_lines(), [b'{"text": "Ada"}\n'], json_),
        "lines: utf16": Target(
            _lines(encoding="utf-16"), ['{"text": "A"}\n'.encode("utf-16")], json_
        ),
        "lines: column": Target(_lines(column="b"), [b"a,b\n1,Ada\n"], TABS),
        "label rules": Target(
            _rules, [b"O|A|B\nA at most once\nA or B never before B\n"], RULES
        ),
        "automaton": Target(
            PatternAutomaton.from_bytes,
            [
                b'{"labels": ["O", "A"], "patterns": [["O", "A"], ["^", "A"]], '
                b'"observed": [["A", "O"]], "rules": ["A at most once"], '
                b'"tied": [0, 0]}'
            ],
            [*JSON, b'"^"', b'"$"', b'"O"', b'"A"'],
        ),
        "templates": Target(
            lambda data: parse_templates(_texts(data)[:20]),
            [
                b"LOWER[-2:2]\nSHAPE & LOWER[1]\nLOWER{-3:3}\n"
                b"list:MATCH\n_.topic\nLOWER*"
            ],
            [b"[", b"]", b"{", b"}", b":", b"&", b"-", b"9999", b"MATCH", b"*", b"+"],
        ),
        "columns": Target(
            lambda data: columns.read_columns(_texts(data)[0]),
            [b"token=1,tag=-1"],
            [b"token=", b",tag=", b"-"],
        ),
        "tokenizer": Target(
            _tokenize,
            ["Ada-1975;18(6) \u0301\u200d\U0001f468 北京 \xad\r\n\u2028".encode()],
            [
                x.encode()
                for x in "- ( \u0301 \u200d \U0001f1e9 \u0600 \xad 1 a".split()
            ],
            0.1,
        ),
        "tokenizer: settings": Target(
            FieldTokenizer(spacy.blank("en").vocab).from_bytes,
            [b"\x81\xacsplit_digits\xc3"],
            [b"\xc2", b"\xdd"],
        ),
        "reference": Target(
            _reference,
            [
                b"Marx, K. and Engels F, et al.\n12 May 1975\npp. 3-4\n"
                b"18 (6): 333\nT\n(Ed)"
            ],
            [b" and ", b"Jr.", b"van ", b"(eds.)", b"10.1000/x", b", ", b". ", b"-"],
            0.1,
        ),
        "cfg": Target(_cfg, [saved_files.sealed({"a": 1}, {}), b'{"a": 1}'], JSON),
        "checkpoint": Target(_checkpoint, [_checkpoint_bytes()]),
        "archive: zip": Target(_archive(".zip"), [packed_pipeline("zip")], share=0.05),
        "archive: tar": Target(
            _archive(".tar"), [packed_pipeline("w")[:1536]], share=0.05
        ),
        "archive: tar.gz": Target(
            _archive(".tar.gz"), [packed_pipeline("w:gz")], share=0.05
        ),
    }


def _checkpoint_bytes() -> bytes:
    """Returns the checkpoint of a fit of two weights."""
    found = io.BytesIO()
    part = checkpoint.SavedFit(np.zeros(2), {"weights": "2"}, 1, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checkpoint.write_parts(found, [part])
    return found.getvalue()
