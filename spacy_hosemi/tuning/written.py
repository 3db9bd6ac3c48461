"""The config with what was chosen."""

from __future__ import annotations

import json
import re
from typing import Any

from spacy.util import load_config_from_str
from thinc.api import Config

from ..component.penalty_search import Trial
from ..configs.compose import merge, parse, render
from .halving import Judgement
from .menu import Changes

# The first line of the comments at the head of a config.
NOTE = "Settings chosen by `python -m spacy hosemi tune`."


def changed(config: Config, name: str, changes: Changes) -> Config:
    """RETURNS (Config): A copy with other settings of a component.

    config (Config): Whose blocks have all keys that are changed, or take new ones.
    name (str): The component.
    changes (Changes): By dotted key below the component.
    """
    found = config.copy()
    for key, value in changes.items():
        *path, last = ["components", name, *key.split(".")]
        block: Any = found
        for part in path:
            block = block.setdefault(part, {})
        block[last] = value
    return found


def chosen(trial: Trial) -> Changes:
    """RETURNS (Changes): The decoding that was best."""
    found: dict[str, Any] = {"decoding": trial.decoding}
    if trial.decoding == "mbr":
        found["expected_f1"] = trial.expected_f1
    return found


def write(
    text: str, name: str, changes: Changes, l2: float | str, note: str = ""
) -> str:
    """Write a config anew.

    text (str): The config.
    name (str): The component.
    changes (Changes): Its settings, by dotted key.
    l2 (Union[float, str]): Of its fit by L-BFGS.
    note (str): What comments at its head say.
    RETURNS (str): The config with these settings. Its comments stay, unless values go
        over several lines.
    """
    wanted = _changed(load_config_from_str(text, interpolate=False), name, changes, l2)
    head = "".join(f"# {line}".rstrip() + "\n" for line in note.splitlines())
    try:
        written = _with_comments(_without_note(text), name, changes, l2)
        if load_config_from_str(written, interpolate=False) == wanted:
            return head + written
    except Exception:  # of a text that cannot be changed line by line
        pass
    return head + wanted.to_str(interpolate=False)


def _changed(config: Config, name: str, changes: Changes, l2: float | str) -> Config:
    """The config with other values; references to whole blocks are resolved."""
    try:
        found = changed(config, name, changes)
        found["initialize"]["components"][name]["fit"]["l2"] = l2
    except (TypeError, AttributeError):  # a block is ${...}
        return _changed(config.interpolate(), name, changes, l2)
    return found


def _with_comments(text: str, name: str, changes: Changes, l2: float | str) -> str:
    """The text with other values, line by line."""
    sections = parse(text)
    fit = f"initialize.components.{name}.fit"
    sections.pop(f"{fit}.l2", None)
    values = {f"components.{name}.{key}": value for key, value in changes.items()}
    for path, value in {**values, f"{fit}.l2": l2}.items():
        section, _, key = path.rpartition(".")
        merge(sections, parse(f"[{section}]\n{key} = {json.dumps(value)}"))
    return render(sections)


def note_of(best: Judgement, first: Judgement, n_documents: int, n_in_all: int) -> str:
    """RETURNS (str): What the config says of itself.

    best (Judgement): What was chosen.
    first (Judgement): The config as it was, on the same documents.
    n_documents, n_in_all (int): Documents that both were judged on, and those that
        there are.
    """
    which = f"{n_documents:,} documents"
    if n_documents < n_in_all:
        which = f"{n_documents:,} of {n_in_all:,} documents"
    f1, records = best.shown
    note = [NOTE, f"Cross-validation on {which}: F1 {f1}, exact records {records}."]
    if best is not first:
        gain, error = (100 * x for x in best.gain(first))
        f1, records = first.shown
        note += [
            f"With the settings before: F1 {f1}, exact records {records};",
            f"the mean of both has gained {gain:.2f} ± {error:.2f}.",
            "It is the best of several, so the true gain is smaller.",
        ]
    return "\n".join([*note, "\n"])


def _without_note(text: str) -> str:
    """A config without the note of an earlier search."""
    if not text.startswith(f"# {NOTE}\n"):
        return text
    return re.split(r"\n# ?\n", text, maxsplit=1)[-1]
