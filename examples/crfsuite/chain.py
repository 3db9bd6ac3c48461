"""A model of CRFsuite that predicts by the engine of spacy_hosemi, without training."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pycrfsuite

from spacy_hosemi import core

# A weight in a .crfsuite file: of an attribute (kind 0) or of a label before (kind 1),
# by number, for a label. CRFsuite prints six decimals of it only.
WEIGHT = [("kind", "<i4"), ("source", "<i4"), ("label", "<i4"), ("value", "<f8")]


def read_model(path: str | Path) -> tuple[list[str], list[str], np.ndarray]:
    """Reads the names of labels and attributes, in the order of their numbers, from
    what CRFsuite prints of a model (`Tagger.info` fails where a name has a line break),
    and the weights from the model itself."""
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    with TemporaryDirectory() as folder:
        file = Path(folder, "dump")
        tagger.dump(str(file))
        text = file.read_bytes().decode("utf8").replace(os.linesep, "\n")

    def names(part: str) -> list[str]:
        begin = text.index(f"\n{part} = {{\n")
        lines = text[begin : text.index("\n}\n", begin) + 3]
        line = r"^ *\d+: (.*?)(?=\n *\d+: |\n\}$)"
        return re.findall(line, lines, re.DOTALL | re.MULTILINE)

    data = Path(path).read_bytes()
    begin = int(re.findall("off_features: (0x[0-9A-F]+)", text)[0], 16)
    count = int.from_bytes(data[begin + 8 : begin + 12], "little")
    weights = np.frombuffer(data, WEIGHT, count, begin + 12)
    return names("LABELS"), names("ATTRIBUTES"), weights


def read_items(items: Any) -> list[dict[str, float]]:
    """Returns the features of each token with their numbers; items: what
    `pycrfsuite.Tagger.tag` takes. Raises TypeError with the number of an item that is
    none: python-crfsuite loses that error, and then is a SystemError."""
    if isinstance(items, pycrfsuite.ItemSequence):
        return items.items()
    by_token = []
    for i, item in enumerate(items):
        try:
            by_token += pycrfsuite.ItemSequence([item]).items()
        except (SystemError, UnicodeError) as error:
            found = f"items[{i}] is {item!r:.60} ({error.__cause__ or error})"
            expected = "a list of strings, or a dict of them, of numbers and booleans"
            raise TypeError(f"{found}; expected {expected}") from error
    return by_token


def goes_on(before: str, tag: str) -> bool:
    """Returns whether a token continues the span of the token before, by their tags:
    B-X and I-X, or the names of labels alone."""
    names = [x[2:] if x[:2] in ("B-", "I-") else x for x in (before, tag)]
    return names[0] == names[1] and tag[:2] != "B-" and tag != "O"


class Chain:
    """A linear chain with the weights of a .crfsuite file.

    The segments of the engine are runs of one tag, but each B- tag is a segment of its
    own. So rules count spans: `ZipCode at most once`, with BIO `B-date at most once`.

    path (Union[str, Path]): The model.
    rules (Sequence[str]): Label rules on its tags.
    only_valid (bool): Whether I-X follows only B-X and I-X.

    tags (List[str]): L tags. "O" is the first, whether the model has it or not.
    """

    def __init__(
        self, path: str | Path, rules: Sequence[str] = (), only_valid: bool = False
    ) -> None:
        labels, attributes, weights = read_model(path)
        self.tags = ["O", *(label for label in labels if label != "O")]
        self.has_outside = "O" in labels
        self.rows = {name: row for row, name in enumerate(attributes)}
        self.weights = np.zeros((len(attributes), len(self.tags)))
        scores = dict.fromkeys(product(self.tags, repeat=2), 0.0)
        for kind, source, label, value in weights.tolist():
            if kind == 0:
                self.weights[source, self.tags.index(labels[label])] = value
            else:
                scores[labels[source], labels[label]] = value
        # Within a run a transition is the score of one token more.
        is_begin = np.array([tag[:2] == "B-" for tag in self.tags])
        self.tail = np.array([scores[tag, tag] for tag in self.tags])
        self.tail[is_begin] = -np.inf
        scores |= {(tag, tag): -np.inf for tag in self.tags if tag[:2] != "B-"}
        for before, tag in [*scores, *(("^", tag) for tag in self.tags)]:
            if only_valid and tag[:2] == "I-" and not goes_on(before, tag):
                scores[before, tag] = -np.inf
        scores = {pair: x for pair, x in scores.items() if x != 0.0}
        grammar = core.compile_grammar(self.tags, rules) if rules else None
        self.automaton = core.PatternAutomaton(self.tags, [*scores], grammar=grammar)
        self.pattern = np.array([*scores.values()])

    def potentials(self, items: Any) -> core.Potentials:
        """Returns the scores of n tokens; items: what `pycrfsuite.Tagger.tag` takes."""
        by_token = read_items(items)
        potentials = core.Potentials.zeros(self.automaton, len(by_token))
        potentials.tail[:], potentials.pattern[:] = self.tail, self.pattern
        for i, item in enumerate(by_token):
            for name, value in item.items():
                if name in self.rows:
                    potentials.inside[i] += value * self.weights[self.rows[name]]
        if not self.has_outside:
            potentials.inside[:, 0] = -np.inf
        return potentials

    def limits(self, n: int, known: Mapping[int, str] | None) -> core.Constraints:
        """Returns what holds of n tokens where the tags of some are known."""
        allowed = np.ones((n, len(self.tags)), bool)
        for i, tag in (known or {}).items():
            if not 0 <= i < n:
                raise ValueError(f"known has token {i}; expected 0 to {n - 1}")
            if tag not in self.tags:
                raise ValueError(f"known has {tag!r}; expected one of {self.tags}")
            allowed[i] = np.array(self.tags) == tag
        return core.Constraints(allowed)

    def tag(self, items: Any, known: Mapping[int, str] | None = None) -> list[str]:
        """Returns the best tags, as `pycrfsuite.Tagger.tag` does; known: the tags of
        some tokens, by their numbers from 0."""
        potentials = self.potentials(items)
        limits = self.limits(len(potentials.inside), known)
        segments, score = core.viterbi(self.automaton, potentials, limits)
        if score == -np.inf:
            raise ValueError(f"no tags obey the rules and what is known: {known}")
        return self.to_tags(segments)

    def to_tags(self, segments: Sequence[tuple[int, int, int]]) -> list[str]:
        """Returns the tag of each token."""
        return [self.tags[y] for start, end, y in segments for _ in range(start, end)]

    def kbest(
        self, items: Any, k: int, known: Mapping[int, str] | None = None
    ) -> list[tuple[list[str], float]]:
        """Returns the k best sequences of tags with their probabilities, best first."""
        potentials = self.potentials(items)
        args = self.automaton, potentials, self.limits(len(potentials.inside), known)
        log_z = core.log_partition(*args)
        best = core.kbest(*args[:2], k, args[2])
        return [(self.to_tags(x), float(np.exp(score - log_z))) for x, score in best]

    def marginals(self, items: Any) -> np.ndarray:
        """Returns the probability of each tag at each token, float64 [n, L]."""
        return core.marginals(self.automaton, self.potentials(items)).tokens

    def spans(
        self, items: Any, known: Mapping[int, str] | None = None
    ) -> list[tuple[int, int, str, float]]:
        """Returns the spans of the best tags: start and end in tokens, label, and the
        probability of exactly these tokens with these tags."""
        items = read_items(items)  # an iterator is read once
        tags, potentials = self.tag(items, known), self.potentials(items)
        pairs = enumerate(pairwise(["O", *tags]))
        starts = [i for i, pair in pairs if not goes_on(*pair)]
        spans = []
        for start, end in pairwise([*starts, len(tags)]):
            if tags[start] == "O":
                continue
            limits = self.limits(len(tags), known)
            log_z = core.log_partition(self.automaton, potentials, limits)
            exactly = self.limits(
                len(tags), {**(known or {}), **dict(enumerate(tags[start:end], start))}
            )
            for y, tag in enumerate(self.tags):
                if start and goes_on(tag, tags[start]):
                    exactly.allowed[start - 1, y] = False
                if end < len(tags) and goes_on(tags[end - 1], tag):
                    exactly.allowed[end, y] = False
            log_p = core.log_partition(self.automaton, potentials, exactly) - log_z
            label = re.sub("^[BI]-", "", tags[start])
            spans.append((start, end, label, float(np.exp(log_p))))
        return spans
