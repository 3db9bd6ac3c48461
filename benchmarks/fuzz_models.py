"""Tiny saved components, what is changed in them, and what is asked of what loads: for
`fuzz.py`.

A component is changed as a stranger would who knows the format: a value somewhere in
its settings or weights, with digests that fit again. It must be refused with a code, or
answer; a process that dies is the worst find.
"""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import spacy
import srsly
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hosemi.component import saved_files
from spacy_hosemi.msgpack import read_msgpack, write_msgpack

_FEATURES = {
    "preset": "none",
    "inside": ["BIAS", "LOWER"],
    "start": ["SHAPE[-1:1]"],
    "end": ["LOWER"],
    "min_count": 1,
}
_LIST = {"@misc": "spacy_hosemi.gazetteer.v1"}
_ENTRIES = "Ada", "Bob in Ely", "Bob"
_ROWS = ("Ada", "name"), ("Ely", "place")
_KINDS: dict[str, dict[str, Any]] = {
    "plain": {"max_order": 2},
    "tags": {"encoding": "BILUO"},
    "rules": {"label_rules": ["A at most twice"], "max_length": 3, "decoding": "mbr"},
    "observed": {"observed_order": 1, "explicit_length": 2},
    "levels": {
        "hierarchy": {
            "@misc": "spacy_hosemi.hierarchy.v1",
            "separator": "/",
            "threshold": 0.1,
        }
    },
    "lists": {
        "gazetteers": {
            "exact": _LIST,
            "lower": {**_LIST, "attr": "LOWER", "dropout": 0.1},
            "fuzzy": {**_LIST, "fuzzy": {"threshold": 0.6}},
        },
        "tables": {"table": {"@misc": "spacy_hosemi.table.v1", "prefixes": [1]}},
    },
}
_TEXTS = (
    ("Ada", "wrote", "to", "Bob", "in", "Ely"),
    ("Bob", "in", "Ely", "\n", "wrote"),
    ("nobody",),
)
_GOLD = ([(0, 1, "A"), (3, 4, "A"), (5, 6, "B/x")], [(0, 1, "A"), (2, 3, "B/y")], [])


@dataclass(frozen=True)
class Model:
    """A saved component: settings, model of Thinc and weights of its shims, and a
    pipeline that loads it and what becomes of it."""

    nlp: Language
    cfg: dict[str, Any]
    model: dict[str, Any]
    weights: list[Any]

    def packed(self, cfg: Any, weights: list[Any]) -> bytes:
        """Returns a component with these parts, and digests that fit."""
        shims = [x if isinstance(x, bytes) else write_msgpack(x) for x in weights]
        data = srsly.msgpack_dumps({**self.model, "shims": [shims]})
        parts = {"model": {"sha256": saved_files.digest_of(data)}}
        sealed = saved_files.sealed(cfg, parts)
        return bytes(srsly.msgpack_dumps({"cfg": sealed, "model": data}))


def make_models() -> dict[str, Model]:
    """Returns one of each kind."""
    return {name: _make(config) for name, config in _KINDS.items()}


def _make(config: dict[str, Any]) -> Model:
    config = dict(config)
    model: dict[str, Any] = {"features": _FEATURES}
    model |= {x: config.pop(x) for x in ("gazetteers", "tables") if x in config}
    nlp = spacy.blank("en")
    config = {"model": model, "threads": 1, **config}
    pipe: Any = nlp.add_pipe("hosemi", config=config)
    examples = []
    for words, spans in zip(_TEXTS, _GOLD):
        reference = Doc(nlp.vocab, words=[*words])
        reference.ents = [spacy.tokens.Span(reference, i, j, x) for i, j, x in spans]
        examples.append(Example(Doc(nlp.vocab, words=[*words]), reference))
    fit = {"@misc": "spacy_hosemi.lbfgs.v1", "max_iter": 3, "progress": False}
    readers = {
        name: dict.fromkeys(model.get(name, {}), lambda rows=rows: iter(rows))
        for name, rows in (("gazetteers", _ENTRIES), ("tables", _ROWS))
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipe.initialize(
            lambda: examples,
            nlp=nlp,
            fit=spacy.registry.resolve({"f": fit})["f"],
            **{name: found for name, found in readers.items() if found},
        )
    whole = srsly.msgpack_loads(pipe.to_bytes(exclude=["vocab"]))
    cfg, _ = saved_files.unsealed(whole["cfg"])
    inner = srsly.msgpack_loads(whole["model"])
    weights = [read_msgpack(x) for x in inner["shims"][0]]
    return Model(nlp, cfg, inner, weights)


def changed(model: Model, rng: random.Random) -> bytes:
    """Returns the component with something changed."""
    kind = rng.randrange(10)
    weights = [*model.weights]
    if kind < 2:
        which, whole = rng.randrange(len(weights)), model.packed(model.cfg, weights)
        data = bytearray(write_msgpack(weights[which]) if kind else whole)
        for _ in range(rng.choice((1, 1, 2, 9))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        weights[which] = bytes(data)
        if kind == 0:  # which digests find
            return bytes(data)
        return model.packed(model.cfg, weights)
    cfg = model.cfg
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if kind < 4:
            found = _changed(cfg, rng)
            cfg = found if isinstance(found, dict) else cfg
        else:
            which = rng.randrange(len(weights))
            if kind < 9:
                weights[which] = _changed(weights[which], rng)
            else:  # columns as they are stored
                stored = srsly.msgpack_loads(write_msgpack(model.weights[which]))
                weights[which] = bytes(srsly.msgpack_dumps(_changed(stored, rng)))
    return model.packed(json.loads(json.dumps(cfg, default=str)), weights)


_ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 7, 255, 2**31 - 1, 2**31, -(2**31)),
    *(2**63 - 1, 10**12, 0.5, -1e308, float("inf"), float("nan")),
    *("", "A", "O", "^", "$", "B/x", "a" * 300, b"", b"\0\1"),
    *([], [[]], {}, [0], ["A"], ["A", "O", "A"], {"A": 1}),
)
_DTYPES = "u1 i1 u4 i4 u8 i8 f4 f8 S3 U2 ?".split()


def _changed(value: Any, rng: random.Random) -> Any:
    """A copy in which one part is another."""
    if isinstance(value, (dict, list, tuple)) and value and rng.random() < 0.93:
        pairs = [*value.items()] if isinstance(value, dict) else [*enumerate(value)]
        at, (key, one) = rng.randrange(len(pairs)), rng.choice(pairs)
        way = rng.randrange(12)
        if way == 0:  # something is missing
            pairs = [x for x in pairs if x[0] != key]
        elif way == 1:  # something is twice, or in another place
            pairs.insert(at, (key if isinstance(value, list) else f"{key} ", one))
        elif way == 2:
            other = pairs[at]
            pairs = [(k, {key: other[1], other[0]: one}.get(k, v)) for k, v in pairs]
        else:
            new = _changed(one, rng)
            pairs = [(k, new if k == key else v) for k, v in pairs]
        return dict(pairs) if isinstance(value, dict) else [x for _, x in pairs]
    if isinstance(value, np.ndarray) and rng.random() < 0.9:
        return _array(value, rng)
    if isinstance(value, bool) or value is None:
        return rng.choice(_ODD)
    if isinstance(value, (int, float)) and rng.random() < 0.6:
        return value + rng.choice((-1, 1, 2, 0.5, 1000, 10**9))
    if isinstance(value, str) and rng.random() < 0.6:
        at = rng.randrange(len(value) + 1)
        return value[:at] + rng.choice(("", "A", "/", "\0", "é")) + value[at + 1 :]
    if isinstance(value, bytes) and value and rng.random() < 0.6:
        data = bytearray(value)
        data[rng.randrange(len(data))] = rng.randrange(256)
        return bytes(data[: rng.choice((len(data), len(data), len(data) // 2))])
    return rng.choice(_ODD)


def _array(value: Any, rng: random.Random) -> Any:
    way = rng.randrange(8)
    if way == 0:
        return value.astype(rng.choice(_DTYPES), casting="unsafe")
    if way == 1:
        return value[: rng.randrange(len(value) + 1)]
    if way == 2:
        return np.concatenate([value, value[: rng.choice((1, 1, 9, len(value)))]])
    if way == 3:
        return value.reshape(rng.choice([(-1, 1), (1, -1), (1, 1, -1)]))
    if way == 4:
        return value[::-1].copy()
    found = value.copy()
    if found.size:
        at = rng.randrange(found.size)
        with np.errstate(all="ignore"):
            new: Any = rng.choice(
                (0, 1, -1, 2, 127, 255, 2**31 - 1, 2**63, 1e30, np.nan)
            )
            bits = np.frombuffer(rng.randbytes(found.itemsize), found.dtype)
            try:
                found.ravel()[at] = bits[0] if way == 5 else new
            except (OverflowError, ValueError):
                found.ravel()[at] = bits[0]
    return found


def ask(nlp: Language, rng: random.Random) -> None:
    """Ask what users ask of a component."""
    pipe: Any = nlp.get_pipe("hosemi")
    docs = [Doc(nlp.vocab, words=[*words]) for words in (*_TEXTS, ())]
    for doc in pipe.pipe(docs, confidence=rng.choice((True, False))):
        [ent._.confidence for ent in doc.ents]
    doc = pipe(Doc(nlp.vocab, words=[*_TEXTS[0]]))
    questions: list[Callable[[], object]] = [
        lambda: pipe.kbest(doc, 3),
        lambda: pipe.redecode(doc, keep=[(0, 1, "A")]),
        lambda: pipe.entropy(doc),
        lambda: pipe.to_bytes(exclude=["vocab"]),
        lambda: pipe.get_weights(),
    ]
    rng.choice(questions)()


class _Once:
    """srsly looks for plugins of MessagePack each time, which takes most of a load."""

    def __init__(self, registry: Any) -> None:
        self._found = registry.get_all()

    def get_all(self) -> dict[str, Any]:
        """Returns what was there at first."""
        return dict(self._found)


def look_once() -> None:
    """Make loads cheap: see `_Once`."""
    module = srsly.msgpack
    for name in ("msgpack_encoders", "msgpack_decoders"):
        setattr(module, name, _Once(getattr(module, name)))
