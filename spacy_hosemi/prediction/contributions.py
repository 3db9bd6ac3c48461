"""What the difference of the scores of two segmentations is the sum of.

Scores of segments that both have cancel out, so only tokens where they differ are read.
All contributions are those of the scores that decide: divided by the temperature.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays import Floats, Ints
from ..core import Potentials
from ..core.potentials import ROLES
from ..features.gazetteers.matches import SIMILARITY, FuzzyMatches
from ..features.instances import Instance
from ..features.naming import in_words
from ..features.templates import Atom, parse_templates
from ..labels.inventory import Segment
from ..model.active_features import ADDS_TO, EACH, FIRST, RoleRows, cut_rows
from ..model.weights.state import WeightState
from .score_difference import ScoreDifference, Scoring, places

_Place = dict[str, Any]  # the role, tokens and labels of a `Contribution`


@dataclass(frozen=True)
class Contribution:
    """A part of the difference of two scores.

    kind (str): "feature" of a token or segment; "list": a feature that reads a list of
        names; label "pattern"; "length" of a segment; "encoder": what the tok2vec adds;
        "collective": what equal words elsewhere add; "rounding": what it changes that
        scores of words are kept in single precision.
    name (str): Such as "LOWER[-1]=the"; of a pattern its labels, of a length the number
        of tokens, of "collective" the word.
    score (float): What it adds to the difference: value * weight / temperature.
    value (float): How often, or how much, it counts.
    weight (float): That in the column that the first segmentation reads minus that in
        the column that the second one reads.
    role (Optional[str]): Where it is read, such as "start".
    start, end (Optional[int]): The tokens that it is read of, half-open.
    label, other (Optional[str]): The columns that the first and the second segmentation
        read: a label, a tag, or of a transition a label pattern; None: none.
    source, entry (Optional[str]): The list, and its entry that matches.
    """

    kind: str
    name: str
    score: float
    value: float
    weight: float
    role: str | None = None
    start: int | None = None
    end: int | None = None
    label: str | None = None
    other: str | None = None
    source: str | None = None
    entry: str | None = None

    @property
    def words(self) -> str:
        """Says it in words: "the word is a single digit" for NUMBER=1."""
        is_feature = self.kind in ("feature", "list")
        words = in_words(self.name, self.role == "whole") if is_feature else ""
        of_vectors = "the vector of the token" if self.kind == "encoder" else ""
        return words or of_vectors or f"{self.kind} {self.name}"

    def moved(self, instance: Instance) -> Contribution:
        """Returns the same in tokens of the document of an instance."""
        if self.start is None or self.end is None:
            return self
        ((start, end, _),) = instance.to_document([(self.start, self.end, "")])
        return replace(self, start=start, end=end)


# Feature, role, start, end and column of a weight that one of the two segmentations
# reads, and its sign, 1.0 for the first one, else -1.0; the value, and the weight.
_Read = tuple[tuple[int, str, int, int, int, float], float, float]


def contributions(
    scoring: Scoring,
    first: Sequence[Segment],
    second: Sequence[Segment],
    difference: float,
) -> list[Contribution]:
    """Returns what score(first) - score(second) is the sum of: those parts that are not
    0, the largest ones first. Both segmentations of the instance are possible;
    `difference` is that of their scores."""
    between = ScoreDifference(scoring, first, second)
    sources = _of_features, _of_encoder, _of_equal_words, _of_patterns, _of_lengths
    parts = [part for source in sources for part in source(between) if part.score]
    rest = difference - math.fsum(part.score for part in parts)
    if rest:
        parts.append(Contribution("rounding", "single precision", rest, 1.0, rest))
    return sorted(parts, key=lambda x: (-abs(x.score), x.name, x.start or 0))


def _of_features(between: ScoreDifference) -> Iterator[Contribution]:
    scoring, automaton = between.scoring, between.scoring.automaton
    names, features = scoring.state.names, scoring.state.extractor.features
    columns = [*automaton.labels, *(" ".join(z) for z in automaton.observed)]
    # A feature that is active several times, as of a bag, has the sum of its values.
    values, weights = defaultdict[Any, float](float), {}
    for read, value, weight in _reads(between):
        values[read] += value
        weights[read] = weight
    pairs: dict[Any, list[Any]] = {}  # what both read of a feature at a place
    for read in values:
        apart = read[4:] if read[1] in (FIRST, EACH) else None
        pairs.setdefault((*read[:4], apart), []).append(read)
    for (row, _, start, end, _), reads in pairs.items():
        role, _, name = names[row].partition(":")
        value, weight = values[reads[0]], math.fsum(x[5] * weights[x] for x in reads)
        score = value * weight / scoring.temperature
        by_sign = {x[5]: columns[x[4]] for x in reads}
        labels = by_sign.get(1.0), by_sign.get(-1.0)
        template, place = name.partition("=")[0], (role, start, end)
        is_function = template in features.functions.functions
        entry = () if is_function else _list_entry(scoring, template, *place)
        kind = "list" if entry else "feature"
        part = kind, name, score, value, weight, *place, *labels
        yield Contribution(*part, *entry)


@lru_cache(2**12)
def _atoms(template: str) -> Sequence[Atom]:
    """Returns what a template reads; of a bag its first template."""
    return parse_templates([template])[0].atoms


def _list_entry(
    scoring: Scoring, template: str, role: str, start: int, end: int
) -> tuple[str, str] | tuple[()]:
    """Returns the list that a template has read at these tokens, and the best entry
    that matches, of an exact match as the document has it; () if it reads no list, or
    none matches, as before and after the document, where features are read, too."""
    lists = scoring.state.extractor.gazetteers
    for atom in _atoms(template) if lists.settings else ():
        name, _, kind = atom.attribute.partition(":")
        if name not in lists.settings:
            continue
        is_fuzzy = kind == SIMILARITY or kind.startswith("FUZZY")
        matches = (scoring.similar if is_fuzzy else scoring.exact)[name]
        token = start + atom.offset
        if role == "whole":
            is_there = (matches.first <= start) & (start <= matches.start)
            is_there &= (matches.end <= end) & (end <= matches.last)
        elif kind.endswith("BEGIN"):
            is_there = matches.start == token
        elif kind.endswith("END"):
            is_there = matches.end == token + 1
        else:
            is_there = (matches.start <= token) & (token < matches.end)
        matches = matches.where(is_there)
        if not len(matches.start):
            return ()
        best = int(np.lexsort((matches.size, matches.strength))[-1])
        if isinstance(matches, FuzzyMatches):
            return name, lists.fuzzy[name].texts[int(matches.entry[best])]
        place = slice(int(matches.start[best]), int(matches.end[best]))
        return name, scoring.tokens[place].text
    return ()


def _reads(between: ScoreDifference) -> Iterator[_Read]:
    """Yields all weights of features that are read where two segmentations differ."""
    state, rows = between.scoring.state, between.scoring.rows
    for role, of_role in rows.tokens.items():
        of_part = cut_rows(of_role, between.start, between.end)
        yield from _of_tokens(between, role, of_part)
    segments, listed = rows.segments, rows.places
    for sign, only, completed in between.sides:
        for i, j, y in only:
            at = np.flatnonzero((segments.start == i) & (segments.end == j))
            read = segments.row[at], segments.strength[at], i, j, y
            yield from _weights(state, "whole", sign, *read)
        for (i, j, _), column in completed:
            for role in (FIRST, EACH):
                here = places(role, i, j, 0)
                is_read = listed.role == ADDS_TO[role]
                is_read &= here.start <= listed.position
                at = np.flatnonzero(is_read & (listed.position < here.stop))
                token = listed.position[at]
                of_place = listed.row[at], np.ones(len(at)), token, token + 1, column
                yield from _weights(state, role, sign, *of_place)


def _of_tokens(between: ScoreDifference, role: str, rows: RoleRows) -> Iterator[_Read]:
    """Yields the features of one role of tokens, where the columns differ."""
    token = np.repeat(np.arange(between.end - between.start), np.diff(rows.first))
    strength = np.ones(len(token)) if rows.strength is None else rows.strength
    first, second = between.columns(role)
    for sign, columns in ((1.0, first), (-1.0, second)):
        at = np.flatnonzero(((first != second) & (columns >= 0))[token])
        start = between.start + token[at]
        read = rows.row[at], strength[at], start, start + 1, columns[token[at]]
        yield from _weights(between.scoring.state, role, sign, *read)


def _weights(
    state: WeightState, role: str, sign: float, rows: Ints, values: Floats, *place: Any
) -> Iterator[_Read]:
    """Yields the weights of features; `place` are start, end and column of each, or of
    all."""
    start, end, column = (np.broadcast_to(np.int32(x), rows.shape) for x in place)
    read = rows, start, end, column, values, state.weights_at(rows, column)
    for row, i, j, y, value, weight in zip(*(array.tolist() for array in read)):
        yield (row, role, i, j, y, sign), value, weight


def _of_encoder(between: ScoreDifference) -> Iterator[Contribution]:
    scoring = between.scoring
    for weight, place in _dense(between, scoring.encoder):
        score = weight / scoring.temperature
        yield Contribution("encoder", "tok2vec", score, 1.0, weight, **place)


def _of_equal_words(between: ScoreDifference) -> Iterator[Contribution]:
    scoring = between.scoring
    sums, parts = _dense(between, scoring.potentials), _dense(between, scoring.alone)
    for (part, place), (whole, _) in zip(parts, sums):
        score, name = whole - part, scoring.tokens[place["start"]].text
        weight = score * scoring.temperature
        yield Contribution("collective", name, score, 1.0, weight, **place)


def _dense(
    between: ScoreDifference, scores: Potentials | None
) -> Iterator[tuple[float, _Place]]:
    """Yields what the scores of each token in each role, if there are any, add to the
    difference, and where."""
    names = between.scoring.automaton.labels
    for role in () if scores is None else ROLES:
        of_role, (first, second) = getattr(scores, role), between.columns(role)
        for k in np.flatnonzero(first != second).tolist():
            i, columns = between.start + k, (first[k], second[k])
            left, right = (of_role[i, c] if c >= 0 else 0.0 for c in columns)
            label, other = (names[c] if c >= 0 else None for c in columns)
            place = {"role": role, "start": i, "end": i + 1}
            yield float(left - right), {**place, "label": label, "other": other}


def _of_patterns(between: ScoreDifference) -> Iterator[Contribution]:
    scoring, automaton = between.scoring, between.scoring.automaton
    counts: Counter[int] = Counter()
    for sign, labels in zip((1, -1), between.labels()):
        for m in automaton.completed(labels):
            counts[m] += sign
    for m, n in counts.items():
        if n:
            added = float(n * scoring.potentials.pattern[m])
            weight = added / n * scoring.temperature
            name = " ".join(automaton.patterns[m])
            yield Contribution("pattern", name, added, float(n), weight)


def _of_lengths(between: ScoreDifference) -> Iterator[Contribution]:
    scoring, potentials = between.scoring, between.scoring.potentials
    n_explicit = potentials.length.shape[1]
    for sign, segments, _ in between.sides:
        for i, j, y in segments:
            n, name = j - i, scoring.automaton.labels[y]
            added = float(potentials.length[y, min(n, n_explicit) - 1])
            if n > n_explicit:
                added += (n - n_explicit) * float(potentials.tail[y])
            place: _Place = {"label" if sign > 0 else "other": name}
            place |= {"start": i, "end": j}
            shown = f"{n} tokens" if n > 1 else "1 token"
            weight = sign * added * scoring.temperature
            yield Contribution("length", shown, sign * added, 1.0, weight, **place)
