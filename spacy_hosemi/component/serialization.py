"""Saves and loads a component."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import srsly
from numpy.typing import NDArray

from ..errors import Errors
from ..model.tok2vec import set_output
from ..model.weights.packing import truncated
from ..model.weights.storage import beside
from ..model.word_vectors import check_vectors
from ..msgpack import collecting, read_msgpack
from .configure import (
    as_a_whole,
    check_learnt,
    check_names,
    choose_features,
    learnt_features,
    make_schema,
    read_features,
)
from .initialize import fitted
from .prediction_warnings import PredictionWarnings
from .saved_files import (
    FORMAT,
    checked,
    digest_of,
    read_cfg,
    read_parts,
    read_unchanged,
    sealed,
    unsealed,
    write_parts,
)
from .settings import LEARNT, NAMES, Settings
from .training_summary import read_summary, read_texts

if TYPE_CHECKING:
    from .pipe import HighOrderSemiCRF


def make_cfg(pipe: HighOrderSemiCRF) -> dict[str, Any]:
    """Returns what is saved beside the model: the settings, labels and label patterns,
    and what is remembered of the training documents."""
    cfg = {"format": FORMAT, **pipe.settings.cfg, **pipe.schema.to_cfg()}
    if pipe.trainer.is_initialized:
        cfg["features"] = learnt_features(pipe)
    if pipe.facts:
        cfg["trained_on"] = asdict(pipe.facts)
    if pipe.training_texts is not None:
        cfg["seen_texts"] = pipe.training_texts.to_cfg()
    return cfg


def to_bytes(pipe: HighOrderSemiCRF, *, exclude: Sequence[str] = ()) -> bytes:
    """RETURNS (bytes): The settings, labels and weights, for `from_bytes`."""
    parts = {}
    if "vocab" not in exclude:
        parts["vocab"] = pipe.vocab.to_bytes(exclude=exclude)
    if "model" not in exclude:
        parts["model"] = pipe.model.to_bytes()
    digests = {name: {"sha256": digest_of(data)} for name, data in parts.items()}
    cfg = sealed(_cfg_without(pipe, exclude), digests)
    packed: bytes = srsly.msgpack_dumps({"cfg": cfg, **parts})
    return packed


def to_disk(
    pipe: HighOrderSemiCRF, path: str | Path, *, exclude: Sequence[str] = ()
) -> None:
    """Write settings, labels and weights to a folder, for `from_disk`."""
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    if "vocab" not in exclude:
        pipe.vocab.to_disk(folder / "vocab", exclude=exclude)
    data: bytes | None = None
    weights: list[NDArray[np.float32]] = []
    if "model" not in exclude:
        with beside(weights):
            data = pipe.model.to_bytes()
    write_parts(folder, _cfg_without(pipe, exclude), data, weights)


def _cfg_without(pipe: HighOrderSemiCRF, exclude: Sequence[str]) -> dict[str, Any]:
    """Returns what is saved as cfg. Raises HS390 for what could not be loaded."""
    if "model" not in exclude:
        check_vectors(pipe.model, pipe.vocab)
    return pipe.cfg if "cfg" not in exclude else {"format": FORMAT}


def from_bytes(
    pipe: HighOrderSemiCRF, bytes_data: bytes, *, exclude: Sequence[str] = ()
) -> HighOrderSemiCRF:
    """Load what `to_bytes` gave, settings included. After an error the component is
    as it was, but for the parameters of a tok2vec.

    RAISES (ValueError): HS061 to HS064 it is none, or of another version; what
        `Settings` raises.
    """
    with _loading(pipe, exclude):
        saved = read_msgpack(bytes_data)
        cfg, digests = unsealed(saved["cfg"])
        if "model" in saved and "model" not in exclude:
            pipe.model.from_bytes(checked(saved, digests, "model"))
        if "vocab" in saved and "vocab" not in exclude:
            data = checked(saved, digests, "vocab")
            pipe.vocab.from_bytes(data, exclude=exclude)
        _restore(pipe, cfg, exclude)
    return pipe


def from_disk(
    pipe: HighOrderSemiCRF, path: str | Path, *, exclude: Sequence[str] = ()
) -> HighOrderSemiCRF:
    """Load what `to_disk` wrote, settings included; but settings that differ in the
    config of the pipeline, because they were changed there, are the config's. If
    somebody saves meanwhile, all is read again.

    RAISES (ValueError): As `from_bytes`. (OSError): HS367 others save again and again.
    """
    folder = Path(path)
    in_pipeline = (folder.parent / "config.cfg").is_file()

    def read() -> HighOrderSemiCRF:
        with _loading(pipe, exclude):
            cfg, parts = read_cfg(folder)
            if "model" not in exclude:
                data, weights = read_parts(folder, parts)
                with beside(weights):
                    pipe.model.from_bytes(data)
            if "vocab" not in exclude:
                pipe.vocab.from_disk(folder / "vocab", exclude=exclude)
            _restore(pipe, cfg, exclude, in_pipeline)
        return pipe

    return read_unchanged(folder, read)


@contextmanager
def _loading(pipe: HighOrderSemiCRF, exclude: Sequence[str]) -> Iterator[None]:
    """Changes everything or nothing; raises HS062 for whatever goes wrong while a saved
    model is read, but for what has a code of ours."""
    try:
        with collecting(), as_a_whole(pipe):
            if "model" not in exclude:  # the saved one may have other labels
                set_output(pipe.model, None)
            yield
    except Exception as e:
        if str(e).startswith("[HS"):
            raise
        raise truncated(repr(e)) from e
    fitted.discard(pipe)


def _restore(
    pipe: HighOrderSemiCRF,
    cfg: dict[str, Any],
    exclude: Sequence[str],
    in_pipeline: bool = False,
) -> None:
    """Gives the component what was saved with its model, which is loaded; in_pipeline:
    settings that were changed in the config.cfg beside it go before the saved ones."""
    if "cfg" in exclude or cfg.keys() == {"format"}:
        cfg = pipe.cfg
    changes = pipe.config_blocks.changed(cfg) if in_pipeline else {}
    saved = {**pipe.settings.cfg, **{x: cfg[x] for x in NAMES if x in cfg}}
    free = {name: value for name, value in changes.items() if name not in LEARNT}
    pipe.settings = Settings(**{**saved, **free})
    pipe.facts = read_summary(cfg.get("trained_on"))
    pipe.prediction_warnings = PredictionWarnings()
    pipe.training_texts = read_texts(cfg.get("seen_texts"))
    pipe.config_blocks.show(pipe.settings.cfg)
    # Before initialization rules may name labels that there are not yet.
    rules = pipe.settings.cfg["label_rules"] if pipe.trainer.is_initialized else []
    pipe.schema = make_schema(pipe, {**saved, **cfg, "label_rules": rules})
    pipe.trainer.connect()
    choose_features(pipe)
    weights = pipe.trainer.weights
    if pipe.inventory.on_tokens:
        read_features(pipe, weights.state.extractor.features.on_tokens())
    if weights.state.is_trained:
        check_names(pipe)
        automaton, state = pipe.automaton, weights.state
        expected = len(automaton.patterns), automaton.n_labels, len(automaton.observed)
        shapes = len(state.pattern), len(state.tail), state.n_observed
        if shapes != expected:
            found = f"{shapes} patterns, labels and observed patterns of weights"
            raise ValueError(Errors.HS064.format(found=f"{found}, {expected} in cfg"))
    check_vectors(pipe.model, pipe.vocab)
    if pipe.trainer.is_initialized:
        settings = Settings(**{**saved, **changes})
        check_learnt(pipe, settings, cfg.get("features"))
