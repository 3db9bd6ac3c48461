"""Pages of HTML that need no network and nothing beside them: texts with their spans,
what else was likely, and why; the mistakes of a pipeline.

Jinja escapes whatever a text, a label or a feature says.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import chain, pairwise
from pathlib import Path
from typing import Any
from unicodedata import bidirectional

from jinja2 import Environment, PackageLoader
from spacy.tokens import Doc

from ..component.annotations import as_predicted
from ..component.judging import DocumentResult
from ..component.pipe import HighOrderSemiCRF
from ..labels.inventory import Span
from ..prediction.answers import spans_above
from ..prediction.contributions import Contribution
from ..prediction.explanation import Explanation, Progress, unseen
from .mistakes import KINDS, Mistake, Mistakes, most_frequent

# Contributions that are bars of their own; alternatives that are explained, for each
# takes milliseconds; lines below the text, where alternatives overlap.
N_BARS, N_EXPLAINED, N_LINES = 12, 20, 6
# The marks of a direction, by that of a letter: Latin, Hebrew, Arabic.
_MARKS = {"L": "\u200e", "R": "\u200f", "AL": "\u200f"}
# Colours of labels, see the style of the page; then they come again.
N_COLOURS = 7
# Characters that are shown before and behind a mistake.
CONTEXT = 60


class HtmlPage:
    """A page is its HTML as a string, and in a notebook it shows itself."""

    def __init__(self, template: str, **content: Any) -> None:
        self._template, self._content = template, content

    def __str__(self) -> str:
        return _templates().get_template(self._template).render(**self._content)

    def _repr_html_(self) -> str:
        # Styles of the notebook and of the page must not meet.
        style = "width: 100%; height: 36rem; border: 0"
        return f'<iframe srcdoc="{escape(str(self))}" style="{style}"></iframe>'

    def to_disk(self, path: str | Path) -> None:
        """Write the page to a file, which is replaced."""
        Path(path).write_text(str(self), "utf8")


@cache
def _templates() -> Environment:
    loader = PackageLoader(__package__ or "", ".")
    templates = Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    templates.filters["percent"] = percent
    return templates


def percent(p: float | None) -> str:
    """Returns a probability; only 0 is "0 %", only 1 is "100 %"."""
    if p is None:
        return ""
    if 0.0 < p < 0.001:
        return "< 0.1 %"
    if 0.999 < p < 1.0:
        return "> 99.9 %"
    return f"{100 * p:.3g} %"


# spans, and why


@dataclass(frozen=True)
class Bar:
    """A contribution to a span: what it is, the tokens that it is read of, what it
    adds, and its share of the largest one of the span, in [0, 1]."""

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
    """A part of a text in which nothing begins or ends; in each line below the text the
    alternative that it is a part of, and those of them that begin here."""

    text: str
    lines: list[Card | None]
    begins: list[Card]

    @property
    def mark(self) -> str:
        """An invisible character before the numbers of what begins here. Numbers have
        no direction of their own, and would go to the other end of a piece whose
        direction is not that of the paragraph. "": the first character has none."""
        return _MARKS.get(bidirectional(self.text[:1] or " "), "")


# The text of a document: answers, and what is between them.
Parts = list[tuple[Card | None, list[Piece]]]


@dataclass(frozen=True)
class DocumentView:
    """A document on the page.

    number (int): Of the document, such as its line; all differ.
    probability (Optional[float]): Of exactly these spans.
    n_lines (int): Below the text.
    answers, others (List[Card]): From left to right; the most probable one first.
    ranked (List[Tuple[float, List[Tuple[str, str, bool]]]]): The most probable
        segmentations: their probability; label and text of each span, and whether the
        first one has it, too.
    """

    number: int
    probability: float | None
    parts: Parts
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
        self._pipe, self._changes, self._progress = pipe, changes, progress
        self._colours = {y: n % N_COLOURS for n, y in enumerate(pipe.labels)}
        numbered = (
            enumerate(docs, 1) if numbers is None else zip(numbers, docs, strict=True)
        )
        self._docs = [self._view(doc, n, threshold, k) for n, doc in numbered]
        labels = self._colours.items()
        super().__init__("spans.jinja", title=title, docs=self._docs, labels=labels)

    def _view(self, doc: Doc, number: int, threshold: float, k: int) -> DocumentView:
        pipe = self._pipe
        ranked = pipe.ranked(doc, k)
        predicted = dict(zip(ranked[0].spans, ranked[0].confidences))
        likely = [x for x in _likely(pipe, doc, threshold) if x[0] not in predicted]
        likely.sort(key=lambda x: (-x[1], x[0]))
        how: Any = {"changes": self._changes}
        explanations = pipe.explain(doc, progress=self._progress, **how)
        why = {(x.start, x.end, x.label): x for x in explanations}
        for span, _ in likely[:N_EXPLAINED]:
            why[span] = pipe.explain(doc, span, **how)
        n_answers = len(predicted)
        cards = [
            self._card(doc, x, p, why.get(x), f"d{number}s{n}", max(0, n - n_answers))
            for n, (x, p) in enumerate([*predicted.items(), *likely], 1)
        ]
        answers, others = cards[:n_answers], cards[n_answers:]
        lines = in_lines(others)
        listed = []
        for record in ranked:
            keys = [(y, doc[i:j].text, (i, j, y)) for i, j, y in record.spans]
            spans = [(label, text, key in predicted) for label, text, key in keys]
            listed.append((record.probability, spans))
        parts = parts_of(doc.text, answers, lines)
        args = parts, len(lines), answers, others, listed
        return DocumentView(number, ranked[0].probability, *args)

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
        tokens = doc[start:end]
        bars = _bars(doc, why.contributions) if why else []
        rest = bars[N_BARS:]
        return Card(
            key,
            number,
            tokens.start_char,
            tokens.end_char,
            label,
            tokens.text,
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
    """Returns spans with their probabilities; with tags on tokens none are known."""
    if pipe.schema.inventory.on_tokens:
        return []
    before, _ = as_predicted(doc, pipe.name)
    posterior = pipe.decoder.posterior_if_trained(before)
    return spans_above(posterior, threshold, before[:8].text)


def _bars(doc: Doc, contributions: Iterable[Contribution]) -> list[Bar]:
    """Returns the largest one first; what contributes at several tokens is added up."""
    scores: dict[str, float] = {}
    texts: dict[str, list[str]] = {}
    for part in contributions:
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
    """Returns what contributes, and to which labels."""
    entry = "" if part.entry is None else f" ({part.entry})"
    role = "" if part.role is None else f", {part.role}"
    sides = " against ".join(x for x in (part.label, part.other) if x and part.role)
    return f"{part.kind} {part.name}{entry}{role}{': ' if sides else ''}{sides}"


def in_lines(cards: Iterable[Card]) -> list[list[Card]]:
    """Returns lines below a text, from left to right; spans of one line do not overlap.
    The first cards come first, and some may find no place."""
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
) -> Parts:
    """Cuts a text wherever an answer or a span of the lines begins or ends."""
    cards = [*answers, *chain(*lines)]
    places = {0, len(text), *(x.start for x in cards), *(x.end for x in cards)}
    parts: Parts = []
    for start, end in pairwise(sorted(places)):
        below = [_at(start, line) for line in lines]
        begins = [card for card in below if card and card.start == start]
        piece = Piece(text[start:end], below, begins)
        answer = _at(start, answers)
        if parts and parts[-1][0] is answer:
            parts[-1][1].append(piece)
        else:
            parts.append((answer, [piece]))
    return parts


def _at(place: int, cards: Sequence[Card]) -> Card | None:
    """Returns the card with a character, of those from left to right."""
    k = bisect_right(cards, place, key=_start) - 1
    return cards[k] if k >= 0 and place < cards[k].end else None


def _start(card: Card) -> int:
    return card.start


# mistakes


@dataclass(frozen=True)
class Excerpt:
    """A mistake, and the text around it.

    document (int): The number of the document.
    confidence (Optional[float]): See `Mistake`.
    pieces (List[Tuple[str, bool, bool]]): Parts of the text: whether each is in a gold
        span, and in a predicted one.
    is_cut (Tuple[bool, bool]): Whether there is more text before, and behind.
    gold, predicted (str): The labels.
    """

    document: int
    confidence: float | None
    pieces: list[tuple[str, bool, bool]]
    is_cut: tuple[bool, bool]
    gold: str
    predicted: str


def mistakes_page(
    mistakes: Mistakes,
    results: Sequence[DocumentResult],
    *,
    n_examples: int = 50,
    title: str = "Mistakes",
) -> HtmlPage:
    """Returns a page of the mistakes in documents, with the most confident ones of each
    kind as examples."""
    counts = mistakes.by_kind()
    kinds = []
    for kind in sorted(counts, key=lambda kind: -counts[kind].total()):
        examples = [x for x in mistakes.mistakes if x.kind == kind][:n_examples]
        excerpts = [excerpt(x, results[x.document]) for x in examples]
        kinds.append((kind, counts[kind], excerpts))
    content = {"kinds": kinds, "meanings": KINDS, "most_frequent": most_frequent}
    return HtmlPage("mistakes.jinja", title=title, mistakes=mistakes, **content)


def excerpt(mistake: Mistake, result: DocumentResult) -> Excerpt:
    """Returns a mistake in the text of its document."""
    text, sides = result.text, (mistake.gold, mistake.found)
    spans = [*mistake.gold, *mistake.found]
    low = max(min(start for start, _, _ in spans) - CONTEXT, 0)
    high = min(max(end for _, end, _ in spans) + CONTEXT, len(text))
    places = {low, high, *(place for span in spans for place in span[:2])}
    pieces = []
    for i, j in pairwise(sorted(places)):
        is_gold, is_predicted = (any(a <= i < b for a, b, _ in x) for x in sides)
        pieces.append((text[i:j], is_gold, is_predicted))
    labels = (", ".join(label for *_, label in x) for x in sides)
    is_cut = low > 0, high < len(text)
    return Excerpt(result.number, mistake.confidence, pieces, is_cut, *labels)
