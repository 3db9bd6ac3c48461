"""A config that shows the settings of a component.

The settings are saved with the component. After loading they are in force, but for
those that somebody has changed in the config since: in its file, or by an argument of
spacy.load.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote
from weakref import ref

from spacy.language import Language
from spacy.pipeline import TrainablePipe

from ..values import map_values
from .settings import NAMES

_REFERENCE = re.compile(r"\$\{|__SECTION__")


class ConfigBlocks:
    """The blocks of pipelines' configs that show the settings of one component.

    A pipeline names itself when it makes or initializes the component. A copy, or what
    is read from a pickle, has the block of the copied pipeline.
    """

    def __init__(self, blocks: Sequence[dict[str, Any]] = ()) -> None:
        self._blocks = list(blocks)
        self._pipelines: list[tuple[ref[Any], ref[Language]]] = []

    def __reduce__(self) -> tuple[Any, ...]:
        return ConfigBlocks, (self._find(),)

    def add(self, pipe: TrainablePipe, nlp: Language) -> None:
        """Note a pipeline that has the component."""
        if all(pipeline() is not nlp for _, pipeline in self._pipelines):
            self._pipelines.append((ref(pipe), ref(nlp)))

    def show(self, settings: Mapping[str, Any]) -> None:
        """Write settings into the blocks; those that are the same stay as they are,
        since they may be variables such as ${vars.key}."""
        for block in self._find():
            for name, value in settings.items():
                if name in block:
                    block[name] = map_values(_writable, value)

    def changed(self, saved: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the settings in the config of a pipeline that is being loaded where
        they differ from what was saved."""
        changes = {}
        for component, nlp in self._present():
            config = getattr(nlp, "_config", {}).get("components", {})
            block = config.get(component, {})
            for name in NAMES:
                if name in saved and name in block:
                    written = map_values(_writable, saved[name])
                    forms = [written]
                    if isinstance(written, Mapping):  # or as pairs of key and value
                        forms.append([list(pair) for pair in written.items()])
                    if block[name] not in (*forms, *map_values(_doubled, forms)):
                        changes[name] = block[name]
        return changes

    def _present(self) -> Iterator[tuple[str, Language]]:
        """Yields the name of the component in each pipeline that has it still."""
        for pipe, pipeline in self._pipelines:
            nlp = pipeline()
            for name, proc in nlp.components if nlp is not None else ():
                if nlp is not None and proc is pipe():
                    yield name, nlp

    def _find(self) -> list[dict[str, Any]]:
        blocks = [nlp.get_pipe_config(name) for name, nlp in self._present()]
        return [*self._blocks, *blocks]


def _writable(value: Any) -> Any:
    """Returns a value as the config file can hold it: text that spaCy would take for a
    variable or for a reference to a section is percent-encoded."""
    is_reference = isinstance(value, str) and _REFERENCE.search(value)
    return quote(value, safe=" ") if is_reference else value


def _doubled(value: Any) -> Any:
    """Returns what a config file makes of a value: it writes $ as $$, and spaCy reads
    that without undoing it."""
    return re.sub(r"\$(?!\{)", "$$", value) if isinstance(value, str) else value
