"""Writes a config with the settings that were chosen."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

from spacy.util import load_config_from_str
from thinc.api import Config

from ..configs.compose import merge, parse, render
from .candidates import Changes

# The first line of the comments at the head of a config.
NOTE = "Settings chosen by `python -m spacy hosemi tune`."


def changed(config: Config, changes: Changes) -> Config:
    """Returns a copy of a config with other values, resolved if they are in ${..}."""
    copy = config.copy()
    try:
        for key, value in changes.items():
            *path, last = key.split(".")
            block: Any = copy
            for part in path:
                block = block.setdefault(part, {})
            block[last] = value
    except (TypeError, AttributeError):  # a block is ${...}
        return changed(config.interpolate(), changes)
    return copy


def write(text: str, changes: Changes, note: str = "") -> str:
    """Returns the text of a config with other values and a note at its head. Its other
    comments stay, unless values go over several lines."""
    wanted = changed(load_config_from_str(text, interpolate=False), changes)
    lines = [NOTE, *note.splitlines(), ""] if note else []
    head = "".join(f"# {line}".rstrip() + "\n" for line in lines)
    if text.startswith(f"# {NOTE}\n"):  # of an earlier search
        text = re.split(r"\n#\n", text, maxsplit=1)[-1]
    with suppress(Exception):  # of a text that cannot be changed line by line
        sections = parse(text)
        for path, value in changes.items():
            for name in [x for x in sections if f"{x}.".startswith(f"{path}.")]:
                sections.pop(name)
            section, _, key = path.rpartition(".")
            merge(sections, parse(f"[{section}]\n{key} = {json.dumps(value)}"))
        tuned = render(sections)
        if load_config_from_str(tuned, interpolate=False) == wanted:
            return head + tuned
    return head + wanted.to_str(interpolate=False)
