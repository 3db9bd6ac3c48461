"""Saving and loading a component, and a config that shows its settings.

The settings are saved with the component. After loading they are in force, but for
those that somebody has changed in the config since: in its file, or by an argument of
spacy.load.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote
from weakref import ref

import numpy as np
import srsly
from numpy.typing import NDArray
from spacy.language import Language
from spacy.pipeline import TrainablePipe

from ..core import PatternAutomaton
from ..errors import Errors
from ..model.weights.packing import truncated
from ..model.weights.state import WeightState
from ..model.weights.storage import beside
from ..msgpack import collecting, read_msgpack
from .saved_files import (
    FORMAT,
    checked,
    digest_of,
    read_file,
    read_parts,
    sealed,
    unsealed,
    write_parts,
)
from .settings import NAMES

_REFERENCE = re.compile(r"\$\{|__SECTION__")


@contextmanager
def unreadable() -> Iterator[None]:
    """Whatever goes wrong while a saved model is read gets one message."""
    try:
        with collecting():
            yield
    except Exception as e:
        if str(e).startswith("[HS"):
            raise
        raise truncated(repr(e)) from e


def save(pipe: TrainablePipe, path: Path | None, exclude: Sequence[str]) -> bytes:
    """Write a component to a folder, or if there is none give it as bytes."""
    cfg = {**pipe.cfg} if "cfg" not in exclude else {}
    cfg["format"] = FORMAT
    if path is None:
        parts = {}
        if "vocab" not in exclude:
            parts["vocab"] = pipe.vocab.to_bytes(exclude=exclude)
        if "model" not in exclude:
            parts["model"] = pipe.model.to_bytes()
        known = {name: {"sha256": digest_of(data)} for name, data in parts.items()}
        found: bytes = srsly.msgpack_dumps({"cfg": sealed(cfg, known), **parts})
        return found
    path.mkdir(parents=True, exist_ok=True)
    if "vocab" not in exclude:
        pipe.vocab.to_disk(path / "vocab", exclude=exclude)
    data: bytes | None = None
    weights: list[NDArray[np.float32]] = []
    if "model" not in exclude:
        with beside(weights):
            data = pipe.model.to_bytes()
    write_parts(path, cfg, data, weights)
    return b""


def load(
    pipe: TrainablePipe, source: Path | bytes, exclude: Sequence[str]
) -> dict[str, Any] | None:
    """Read vocab and model of a saved component.

    RETURNS (Optional[Dict[str, Any]]): Its cfg, if that is not excluded.
    RAISES (ValueError): HS061 a file is not there; HS062 it is not what was saved;
        HS063 another version saved it.
    """
    if isinstance(source, Path):
        cfg = _from_folder(pipe, source, exclude)
    else:
        cfg = _from_bytes(pipe, source, exclude)
    return cfg if "cfg" not in exclude and cfg.keys() != {"format"} else None


def _from_folder(
    pipe: TrainablePipe, folder: Path, exclude: Sequence[str]
) -> dict[str, Any]:
    cfg, parts = unsealed(read_file(folder, "cfg"))
    if "vocab" not in exclude:
        pipe.vocab.from_disk(folder / "vocab", exclude=exclude)
    if "model" not in exclude:
        data, weights = read_parts(folder, parts)
        with beside(weights):
            pipe.model.from_bytes(data)
    return cfg


def _from_bytes(
    pipe: TrainablePipe, data: bytes, exclude: Sequence[str]
) -> dict[str, Any]:
    given = read_msgpack(data)
    cfg, parts = unsealed(given["cfg"])
    readers = {
        "vocab": lambda x: pipe.vocab.from_bytes(x, exclude=exclude),
        "model": pipe.model.from_bytes,
    }
    for name, read in readers.items():
        if name in given and name not in exclude:
            read(checked(given, parts, name))
    return cfg


def has_config(path: Path) -> bool:
    """RETURNS (bool): Whether a component was saved as a part of a pipeline."""
    return (path.parent / "config.cfg").is_file()


class Configs:
    """The blocks of pipelines' configs that show the settings of one component.

    A pipeline names itself when it makes or initializes the component. A copy, or what
    is read from a pickle, has the block of the copied pipeline.
    """

    def __init__(self, blocks: Sequence[dict[str, Any]] = ()) -> None:
        self._blocks = list(blocks)
        self._owners: list[tuple[ref[Any], ref[Language]]] = []

    def __reduce__(self) -> tuple[Any, ...]:
        return Configs, (self._find(),)

    def add(self, pipe: TrainablePipe, nlp: Language) -> None:
        """Note a pipeline that has the component."""
        if all(known() is not nlp for _, known in self._owners):
            self._owners.append((ref(pipe), ref(nlp)))

    def show(self, settings: Mapping[str, Any]) -> None:
        """Write settings into the blocks; those that are the same are left as they are,
        since they may be variables such as ${vars.key}."""
        for block in self._find():
            for name, value in settings.items():
                if name in block:
                    block[name] = writable(value)

    def changed(self, saved: Mapping[str, Any]) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): Settings in the config of a pipeline that is being
        loaded, where they differ from what was saved."""
        found = {}
        for owner, nlp in self._loading():
            config = getattr(nlp, "_config", {}).get("components", {})
            block = config.get(owner, {})
            for name in NAMES:
                if name in saved and name in block:
                    written = writable(saved[name])
                    if block[name] not in (written, _doubled(written)):
                        found[name] = block[name]
        return found

    def _loading(self) -> Iterator[tuple[str, Language]]:
        for pipe, known in self._owners:
            nlp = known()
            for name, proc in nlp.components if nlp is not None else ():
                if nlp is not None and proc is pipe():
                    yield name, nlp

    def _find(self) -> list[dict[str, Any]]:
        blocks = [nlp.get_pipe_config(name) for name, nlp in self._loading()]
        return [*self._blocks, *blocks]


def writable(value: Any) -> Any:
    """A value as the config file can hold it: text that spaCy would take for a variable
    or for a reference to a section is percent-encoded."""
    if isinstance(value, str):
        return quote(value, safe=" ") if _REFERENCE.search(value) else value
    if isinstance(value, dict):
        return {key: writable(one) for key, one in value.items()}
    return [*map(writable, value)] if isinstance(value, list) else value


def _doubled(value: Any) -> Any:
    """What a config file makes of a value: it writes $ as $$, and spaCy reads that
    without undoing it."""
    if isinstance(value, str):
        return re.sub(r"\$(?!\{)", "$$", value)
    return [*map(_doubled, value)] if isinstance(value, list) else value


def check_shapes(weights: WeightState, automaton: PatternAutomaton) -> None:
    """RAISES (ValueError): HS064 weights and settings are not of the same model."""
    expected = len(automaton.patterns), automaton.n_labels, len(automaton.observed)
    found = len(weights.pattern), len(weights.tail), weights.n_observed
    if found != expected:
        raise ValueError(
            Errors.HS064.format(
                found=f"{found} patterns, labels and observed patterns of weights, "
                f"{expected} in cfg"
            )
        )
