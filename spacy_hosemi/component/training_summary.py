"""What is kept of the training documents, and saved beside the weights."""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from spacy.tokens import Doc

from ..labels.partial import PartialLabels
from ..prediction.existing_entities import preset_entities

# At most this many digests of texts are saved, 8 bytes each: the smallest ones, a
# random sample of the texts. Some of any large file that was seen will be among them.
MOST_SAVED = 100_000

# Fewer documents do not say what is usual.
FEWEST = 100


@dataclass(frozen=True)
class TrainingSummary:
    """Counts what the documents have that a component was initialized with."""

    n_documents: int
    n_tokens: int
    n_preset_tokens: int  # that entities of other components, or of people, took before
    n_spans: Mapping[str, int]  # the annotated spans of each label
    # What l2 = "auto" has tried, see `Trial`, and what the scores of that are of.
    trials: Sequence[Mapping[str, Any]] = field(default_factory=list)
    judged_by: str = ""
    # How many documents have 0, 1, ... spans of a label; and under "" characters, as a
    # power of two. Empty: nobody knows.
    shape: Mapping[str, Sequence[int]] = field(default_factory=dict)
    least_log_share: float = 0.0  # what is less than this is unusual

    def is_unusual(self, labels: Iterable[str], text: str) -> bool:
        """Returns whether a text with spans of these labels is no single record as
        those of the training: two in a line, a heading, the number of a page. The
        shares of training documents that have as many spans of each label, and as long
        a text, are multiplied; this is unusual if it is less than that of 99 of 100
        training documents: 1 to 3 % of new ones, the more the fewer were trained on."""
        return self._log_share(_shape(labels, text)) < self.least_log_share

    def _log_share(self, numbers: Counter[str]) -> float:
        pairs = ((sum(n[numbers[y] :][:1]), sum(n)) for y, n in self.shape.items())
        return sum(math.log((n_equal + 1) / (n + 1)) for n_equal, n in pairs)

    @property
    def preset_share(self) -> float:
        """Returns the share of tokens that entities took before the component."""
        return self.n_preset_tokens / max(1, self.n_tokens)


def summarize(
    docs: Sequence[Doc], annotations: Sequence[PartialLabels], name: str
) -> TrainingSummary | None:
    """Returns the numbers of documents as they are before a component of this name;
    None if there are no documents."""
    if not docs:
        return None
    n_spans = Counter(label for x in annotations for *_, label in x.required)
    n_preset = sum(map(len, (x for doc in docs for x in preset_entities(doc, name))))
    args = len(docs), sum(map(len, docs)), n_preset, dict(n_spans)
    summary, shapes = TrainingSummary(*args), []
    for doc, x in zip(docs, annotations):
        if not x.unknown(len(doc)).any():
            shapes.append(_shape([y for *_, y in x.required], doc.text))
    if len(shapes) < FEWEST:
        return summary
    n_docs: dict[str, list[int]] = {}
    for name in sorted({name for shape in shapes for name in shape}):
        counts = Counter(shape[name] for shape in shapes)
        n_docs[name] = [counts[n] for n in range(max(counts) + 1)]
    summary = replace(summary, shape=n_docs)
    log_shares = sorted(summary._log_share(shape) for shape in shapes)
    return replace(summary, least_log_share=log_shares[len(shapes) // 100])


def _shape(labels: Iterable[str], text: str) -> Counter[str]:
    """Returns how many spans there are of each label, and under "" the length of the
    text as a power of two; given tokens have a space at the end."""
    return Counter(labels) + Counter({"": len(text.strip()).bit_length()})


def read_summary(cfg: Any) -> TrainingSummary | None:
    """Returns the summary that was saved as a block, None if there was none; raises
    ValueError or TypeError if it is something else."""
    if not isinstance(cfg, Mapping):
        return None
    summary = TrainingSummary(**cfg)
    n_spans = summary.n_spans
    numbers = summary.n_documents, summary.n_tokens, summary.n_preset_tokens
    if not (
        isinstance(n_spans, dict)
        and all(isinstance(label, str) for label in n_spans)
        and all(type(n) is int and n >= 0 for n in (*numbers, *n_spans.values()))
        and isinstance(summary.judged_by, str)
        and all(isinstance(trial, Mapping) for trial in summary.trials)
    ):
        raise ValueError("trained_on has no numbers of documents")
    if not (
        isinstance(summary.shape, Mapping)
        and all(isinstance(label, str) for label in summary.shape)
        and all(isinstance(x, (list, tuple)) for x in summary.shape.values())
        and all(type(n) is int and n >= 0 for x in summary.shape.values() for n in x)
        and type(summary.least_log_share) in (int, float)
        and math.isfinite(summary.least_log_share)
    ):
        raise ValueError("trained_on has no shape of documents")
    return summary


class TrainingTexts:
    """Digests of the texts that training or calibration has seen: a component must not
    be judged by these."""

    def __init__(self, digests: Iterable[int] = ()) -> None:
        self._digests = {*digests}

    def add(self, texts: Iterable[str]) -> None:
        """Notes texts."""
        for text in texts:
            self._digests.add(_digest(text))
            if len(self._digests) > 2 * MOST_SAVED:
                self._digests = {*self._saved()}

    def has(self, text: str) -> bool:
        """Returns whether a text was noted, whatever whitespace it had; of more than
        `MOST_SAVED` texts only some are remembered."""
        return _digest(text) in self._digests

    def to_cfg(self) -> str:
        """Returns a text for JSON, see `read_texts`."""
        return b64encode(np.array(self._saved(), "<u8").tobytes()).decode("ascii")

    def _saved(self) -> list[int]:
        return sorted(self._digests)[:MOST_SAVED]


def _digest(text: str) -> int:
    """Returns the digest of a text without whitespace: tokens that came without a text
    have other spaces between them."""
    words = "".join(text.split()).encode("utf8", "surrogatepass")
    return int.from_bytes(blake2b(words, digest_size=8).digest(), "little")


def read_texts(cfg: Any) -> TrainingTexts | None:
    """Returns what `to_cfg` gave, None if a model was saved without it; raises
    ValueError if it is something else."""
    if not isinstance(cfg, str):
        return None
    data = b64decode(cfg, validate=True)
    return TrainingTexts(np.frombuffer(data, "<u8").tolist())
