"""What a search has judged so far, in a file from which it goes on."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from spacy.attrs import ENT_IOB, SENT_START  # type: ignore[import-not-found]
from spacy.language import Language
from spacy.tokens import Doc

from .. import __version__
from ..component.penalty_search import PATH, Trial
from ..errors import Errors, Warnings
from .halving import Judgement
from .menu import Changes


class Journal:
    """Judgements by candidate and number of documents; with a file, as lines of JSON,
    the first of which says what they belong to.

    A line is written as soon as a candidate has been judged. Half a line, of a program
    that was killed, is cut off.
    """

    def __init__(self) -> None:
        self._path: Path | None = None
        self._known: dict[tuple[str, int], Judgement] = {}

    def open(self, path: Path, identity: str) -> None:
        """Read a file, and write to it from now on.

        path (Path): The file, which need not exist; its folder must.
        identity (str): Of the search, see `identity_of`.
        RAISES (ValueError): HS333 the file is of another search, or of none.
        RAISES (OSError): The file cannot be read or written.
        """
        content = path.read_bytes() if path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]
        head = {"tune": identity}
        try:
            first, *others = [json.loads(line) for line in whole.splitlines()] or [head]
            known = [_to_judgement(record) for record in others]
            is_own = first == head and _is_sound(known) and bool(whole or not content)
        except (ValueError, KeyError, TypeError):
            is_own = False
        if not is_own:
            raise ValueError(Errors.HS333.format(path=str(path)))
        self._path = path
        self._known = {(_key(x.changes), n): x for x, n in known}
        with path.open("r+b" if content else "wb") as file:
            file.truncate(len(whole))
        if not whole:
            self._append(path, head)

    def find(self, changes: Changes, n_documents: int) -> Judgement | None:
        """RETURNS (Optional[Judgement]): Of a candidate on the first documents."""
        return self._known.get((_key(changes), n_documents))

    def add(self, judgement: Judgement, n_documents: int) -> None:
        """Keep a judgement.

        WARNS (UserWarning): HSW72 the file cannot be written any more.
        """
        self._known[_key(judgement.changes), n_documents] = judgement
        if self._path is None:
            return
        try:
            self._append(self._path, _to_record(judgement, n_documents))
        except OSError as e:
            args = {"path": str(self._path), "reason": e.strerror or e}
            warnings.warn(Warnings.HSW72.format(**args), stacklevel=2)
            self._path = None

    def _append(self, path: Path, record: dict[str, Any]) -> None:
        with path.open("a", encoding="utf8") as file:
            file.write(json.dumps(record) + "\n")


def _to_record(judgement: Judgement, n_documents: int) -> dict[str, Any]:
    trial = judgement.trial
    return {
        "changes": dict(judgement.changes),
        "n_documents": n_documents,
        "seconds": round(judgement.seconds, 2),
        "reason": judgement.reason,
        "trial": trial and {**vars(trial), "counts": trial.counts.tolist()},
    }


def _to_judgement(record: dict[str, Any]) -> tuple[Judgement, int]:
    """RAISES (ValueError, KeyError, TypeError): It is none."""
    found = record["trial"]
    trial = None if found is None else Trial(**found)
    if trial is not None:
        if trial.l2 not in PATH or trial.decoding not in ("viterbi", "mbr"):
            raise ValueError(found)
        trial = replace(trial, counts=np.array(trial.counts, np.int64).reshape(-1, 4))
    args = record["changes"], trial, record["seconds"], record["reason"]
    return Judgement(*args), record["n_documents"]


def _is_sound(known: Sequence[tuple[Judgement, int]]) -> bool:
    """Whether trials on the same documents have counts of the same ones."""
    n_counts: dict[int, int] = {}
    return all(
        n_counts.setdefault(n, len(x.trial.counts)) == len(x.trial.counts)
        for x, n in known
        if x.trial is not None
    )


def _key(changes: Changes) -> str:
    return json.dumps(changes, sort_keys=True)


def identity_of(nlp: Language, docs: Sequence[Doc], seed: int) -> str:
    """RETURNS (str): Differs where a config, the files that its block [initialize]
    names, documents or seeds differ.

    nlp (Language): The pipeline of the config.
    docs (Sequence[Doc]): Annotated documents, in their order.
    """
    found = blake2b(__version__.encode(), digest_size=16)
    found.update(nlp.config.to_str(interpolate=False).encode())
    for path in _files(nlp.config.interpolate()["initialize"]):
        found.update(path.read_bytes())
    for doc in docs:
        found.update(doc.to_array([ENT_IOB, SENT_START]).tobytes())
        spans = [(x.start_char, x.end_char, x.label_) for x in doc.ents]
        words = [token.text for token in doc] if doc.has_unknown_spaces else []
        found.update(json.dumps([doc.text, words, spans]).encode())
    return f"{found.hexdigest()} seed {seed}"


def _files(block: Any) -> list[Path]:
    """The files that strings in a block name, and those in folders that they name."""
    if isinstance(block, Mapping):
        return [path for key in sorted(block) for path in _files(block[key])]
    if isinstance(block, (list, tuple)):
        return [path for one in block for path in _files(one)]
    if not isinstance(block, (str, Path)) or not str(block):
        return []
    try:
        found = sorted(Path(block).iterdir()) if Path(block).is_dir() else [Path(block)]
        return [path for path in found if path.is_file()]
    except (OSError, ValueError):  # no name of a file
        return []
