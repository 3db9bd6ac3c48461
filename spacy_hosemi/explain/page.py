"""A page of HTML: texts with their spans, what else was likely, and why."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any
from unicodedata import bidirectional

from spacy.tokens import Doc

from ..component.annotations import as_predicted
from ..component.pipe import HighOrderSemiCRF
from ..labels.inventory import Span
from ..prediction.answers import posteriors, spans_above
from ..prediction.contributions import Contribution
from ..prediction.explanation import Explanation, Progress, unseen
from ..prediction.ranked import Answer
from .html_page import HtmlPage, template

# Contributions that are bars of their own; alternatives that are explained, for each
# takes milliseconds; lines below the text, where alternatives overlap.
N_BARS, N_EXPLAINED, N_LINES = 12, 20, 6
# The marks of a direction, by that of a letter: Latin, Hebrew, Arabic.
_MARKS = {"L": "\u200e", "R": "\u200f", "AL": "\u200f"}
# Colours of labels, see the style of the page; then they come again.
N_COLOURS = 7


@dataclass(frozen=True)
class Bar:
    """A contribution.

    name (str): What contributes.
    text (str): The tokens that it is read of.
    score (float): What it adds.
    share (float): Of the largest one of its span, in [0, 1].
    """

    name: str
    text: str
    score: float
    share: float


@dataclass(frozen=True)
class Card:
    """A span, and why it is an answer or not.

    key (str): Tells it from all others of the page.
    number (int): Among the alternatives, from 1; 0: an answer.
    start, end (int): In characters.
    label (str), text (str)
    probability (Optional[float]): None: of an entity that was there before.
    colour (int): Of the label.
    bars (List[Bar]), rest (Tuple[int, float]): The largest contributions; how many more
        there are, and their sum.
    explanation (Optional[Explanation]): Where these are from.
    instead (List[Tuple[str, str]]): Label and text of the spans of the best
        segmentation without this one that are not in the best one with it.
    """

    key: str
    number: int
    start: int
    end: int
    label: str
    text: str
    probability: float | None
    colour: int
    bars: list[Bar]
    rest: tuple[int, float]
    explanation: Explanation | None
    instead: list[tuple[str, str]]


@dataclass(frozen=True)
class Piece:
    """A part of a text in which nothing begins or ends.

    text (str)
    lines (List[Optional[Card]]): The alternatives that it is a part of, each in its
        line below the text.
    begins (List[Card]): Those of them that begin here.
    """

    text: str
    lines: list[Card | None]
    begins: list[Card]

    @property
    def mark(self) -> str:
        """RETURNS (str): An invisible character before the numbers of what begins here.
        Numbers have no direction of their own, and would go to the other end of a
        piece whose direction is not that of the paragraph. "": the first character has
        none, either."""
        return _MARKS.get(bidirectional(self.text[:1] or " "), "")


@dataclass(frozen=True)
class Shown:
    """A document.

    number (int): Of the document, such as its line; all differ.
    probability (Optional[float]): Of exactly these spans.
    parts (List[Tuple[Optional[Card], List[Piece]]]): The text: answers, and what is
        between them.
    n_lines (int): Below the text.
    answers, others (List[Card]): From left to right; the most probable one first.
    ranked (List[Tuple[float, List[Tuple[str, str, bool]]]]): The most probable
        segmentations: their probability; label and text of each span, and whether the
        first one has it, too.
    """

    number: int
    probability: float | None
    parts: list[tuple[Card | None, list[Piece]]]
    n_lines: int
    answers: list[Card]
    others: list[Card]
    ranked: list[tuple[float, list[tuple[str, str, bool]]]]


class Page(HtmlPage):
    """What a component found in documents, what else was likely, and why.

    pipe (HighOrderSemiCRF): The component.
    docs (Iterable[Doc]): As it has predicted them.
    threshold (float): Other spans are shown that have at least this probability.
    k (int): How many of the most probable segmentations are listed.
    changes (bool): Whether to look for what would change each answer.
    progress (Callable): Shows how far the answers of a document are explained, see
        `HighOrderSemiCRF.explain`.
    numbers (Optional[Iterable[int]]): Of the documents, such as their lines in a file,
        one for each; None: 1, 2, 3.
    title (str): Of the page.
    RAISES (ValueError): As `HighOrderSemiCRF.explain`; there are more or fewer numbers
        than documents.
    """

    def __init__(
        self,
        pipe: HighOrderSemiCRF,
        docs: Iterable[Doc],
        *,
        threshold: float = 0.05,
        k: int = 5,
        changes: bool = False,
        progress: Progress = unseen,
        numbers: Iterable[int] | None = None,
        title: str = "Spans, and why",
    ) -> None:
        self._title, self._changes, self._progress = title, changes, progress
        self._colours = {y: n % N_COLOURS for n, y in enumerate(pipe.labels)}
        numbered = (
            enumerate(docs, 1) if numbers is None else zip(numbers, docs, strict=True)
        )
        self._docs = [
            self._shown(pipe, doc, number, threshold, k) for number, doc in numbered
        ]

    def __str__(self) -> str:
        labels = self._colours.items()
        return template("page.jinja").render(
            title=self._title, docs=self._docs, labels=labels
        )

    def _shown(
        self, pipe: HighOrderSemiCRF, doc: Doc, number: int, threshold: float, k: int
    ) -> Shown:
        ranked = pipe.ranked(doc, k)
        given = dict(zip(ranked[0].spans, ranked[0].confidences))
        likely = [x for x in _likely(pipe, doc, threshold) if x[0] not in given]
        likely.sort(key=lambda x: (-x[1], x[0]))
        how: Any = {"changes": self._changes}
        found = pipe.explain(doc, progress=self._progress, **how)
        why = {(x.start, x.end, x.label): x for x in found}
        for span, _ in likely[:N_EXPLAINED]:
            why[span] = pipe.explain(doc, span, **how)
        spans = [*given.items(), *likely]
        cards = [
            self._card(doc, x, p, why.get(x), f"d{number}s{n}", max(0, n - len(given)))
            for n, (x, p) in enumerate(spans, 1)
        ]
        answers, others = cards[: len(given)], cards[len(given) :]
        lines = in_lines(others)
        return Shown(
            number,
            ranked[0].probability,
            parts_of(doc.text, answers, lines),
            len(lines),
            answers,
            others,
            [_listed(doc, one, given.keys()) for one in ranked],
        )

    def _card(
        self,
        doc: Doc,
        span: Span,
        probability: float | None,
        why: Explanation | None,
        key: str,
        number: int,
    ) -> Card:
        start, end, label = span
        own = doc[start:end]
        bars = _bars(doc, why.contributions) if why else []
        rest = bars[N_BARS:]
        return Card(
            key,
            number,
            own.start_char,
            own.end_char,
            label,
            own.text,
            probability,
            self._colours.get(label, N_COLOURS - 1),
            bars[:N_BARS],
            (len(rest), math.fsum(x.score for x in rest)),
            why,
            [(y, doc[i:j].text) for i, j, y in why.instead] if why else [],
        )


def _likely(
    pipe: HighOrderSemiCRF, doc: Doc, threshold: float
) -> list[tuple[Span, float]]:
    """RETURNS (List[Tuple[Tuple[int, int, str], float]]): Spans with their
    probabilities; with tags on tokens none are known."""
    if pipe.schema.inventory.on_tokens:
        return []
    before, _ = as_predicted(doc, pipe.name)
    return spans_above(posteriors(pipe.decoder, before), threshold)


def _bars(doc: Doc, parts: Iterable[Contribution]) -> list[Bar]:
    """RETURNS (List[Bar]): The largest one first; what contributes at several tokens is
    added up."""
    scores: dict[str, float] = {}
    texts: dict[str, list[str]] = {}
    for part in parts:
        name = _name(part)
        scores[name] = scores.get(name, 0.0) + part.score
        read = [] if part.start is None else [doc[part.start : part.end].text]
        texts.setdefault(name, []).extend(read)
    most = max(map(abs, scores.values()), default=1.0) or 1.0
    bars = [
        Bar(name, " ".join(texts[name]), score, abs(score) / most)
        for name, score in scores.items()
    ]
    return sorted(bars, key=lambda bar: -bar.share)


def _name(part: Contribution) -> str:
    """RETURNS (str): What contributes, and to which labels."""
    entry = "" if part.entry is None else f" ({part.entry})"
    role = "" if part.role is None else f", {part.role}"
    sides = " against ".join(x for x in (part.label, part.other) if x and part.role)
    return f"{part.kind} {part.name}{entry}{role}{': ' if sides else ''}{sides}"


def _listed(
    doc: Doc, answer: Answer, given: Iterable[Span]
) -> tuple[float, list[tuple[str, str, bool]]]:
    known = {*given}
    spans = [(y, doc[i:j].text, (i, j, y) in known) for i, j, y in answer.spans]
    return answer.probability, spans


def in_lines(cards: Iterable[Card]) -> list[list[Card]]:
    """RETURNS (List[List[Card]]): Lines below a text, from left to right; spans of one
    line do not overlap. The first cards come first, and some may find no place."""
    lines: list[list[Card]] = []
    for card in cards:
        for line in lines:
            if all(card.end <= x.start or x.end <= card.start for x in line):
                line.append(card)
                break
        else:
            if len(lines) < N_LINES:
                lines.append([card])
    return [sorted(line, key=_start) for line in lines]


def parts_of(
    text: str, answers: Sequence[Card], lines: Sequence[Sequence[Card]]
) -> list[tuple[Card | None, list[Piece]]]:
    """RETURNS (List[Tuple[Optional[Card], List[Piece]]]): See `Shown`."""
    cards = [*answers, *chain(*lines)]
    places = {0, len(text), *(x.start for x in cards), *(x.end for x in cards)}
    found: list[tuple[Card | None, list[Piece]]] = []
    for start, end in pairwise(sorted(places)):
        below = [_at(start, line) for line in lines]
        begins = [card for card in below if card and card.start == start]
        piece = Piece(text[start:end], below, begins)
        answer = _at(start, answers)
        if found and found[-1][0] is answer:
            found[-1][1].append(piece)
        else:
            found.append((answer, [piece]))
    return found


def _at(place: int, cards: Sequence[Card]) -> Card | None:
    """RETURNS (Optional[Card]): Of some from left to right, the one with a
    character."""
    k = bisect_right(cards, place, key=_start) - 1
    return cards[k] if k >= 0 and place < cards[k].end else None


def _start(card: Card) -> int:
    return card.start
