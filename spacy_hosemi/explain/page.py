"""Pages of HTML that need no network and nothing beside them: texts with their spans,
what else was likely, and why; the mistakes of a pipeline.

Jinja escapes whatever a text, a label or a feature says.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from html import escape
from itertools import chain, pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any
from unicodedata import bidirectional

from jinja2 import Environment, PackageLoader
from spacy.tokens import Doc
from spacy.tokens import Span as DocSpan

from ..component.judging import DocumentResult
from ..component.pipe import HighOrderSemiCRF
from ..labels.inventory import Span
from ..prediction.answers import spans_above
from ..prediction.contributions import Contribution
from ..prediction.existing_entities import as_predicted
from ..prediction.explanation import Explanation, Progress, unseen
from .mistakes import KINDS, Mistake, Mistakes, most_frequent

# Contributions that are bars of their own; alternatives that are explained, for each
# takes milliseconds; lines below the text, where alternatives overlap.
N_BARS, N_EXPLAINED, N_LINES = 12, 20, 6
# The marks of a direction, by that of a letter: Latin, Hebrew, Arabic.
_MARKS = {"L": "\u200e", "R": "\u200f", "AL": "\u200f"}
# Colours of labels, see the style of the page; then they come again.
N_COLOURS = 15
# Characters that are shown before and behind a mistake.
CONTEXT = 60


@cache
def _templates() -> Environment:
    loader = PackageLoader(__package__ or "", ".")
    templates = Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    templates.filters["percent"] = percent
    return templates


def _rendered(template: str, **content: Any) -> str:
    return _templates().get_template(template).render(**content)


def percent(p: float | None) -> str:
    """Returns a probability; only 0 is "0 %", only 1 is "100 %"."""
    if p is None:
        return ""
    if 0.0 < p < 0.001:
        return "< 0.1 %"
    if 0.999 < p < 1.0:
        return "> 99.9 %"
    return f"{100 * p:.3g} %"


@dataclass(frozen=True)
class Card:
    """A span, and why it is an answer or not. The key tells it from all others of the
    page; the number is that among the alternatives, from 1, and 0 for an answer. An
    entity that was there before has no probability."""

    key: str
    number: int
    tokens: DocSpan
    label: str
    probability: float | None
    colour: int
    explanation: Explanation | None

    @property
    def place(self) -> tuple[int, int]:
        """Returns start and end in characters, the end exclusive."""
        return self.tokens.start_char, self.tokens.end_char

    @cached_property
    def bars(self) -> list[tuple[str, str, str, float, float]]:
        """Returns what contributes to the span, the largest first: in words, its name,
        the text that it is read of, what it adds, and its share of the largest one,
        from 0 to 1. What contributes at several tokens is added up."""
        doc, scores = self.tokens.doc, dict[tuple[str, str], float]()
        texts = dict[tuple[str, str], list[str]]()
        for part in self.explanation.contributions if self.explanation else ():
            name = _words(part), "" if part.words.endswith(part.name) else part.name
            scores[name] = scores.get(name, 0.0) + part.score
            text = [] if part.start is None else [doc[part.start : part.end].text]
            texts.setdefault(name, []).extend(text)
        most = max(map(abs, scores.values()), default=1.0) or 1.0
        bars = [(*x, " ".join(texts[x]), y, abs(y) / most) for x, y in scores.items()]
        return sorted(bars, key=lambda bar: -bar[-1])

    @property
    def instead(self) -> list[tuple[str, str]]:
        """Returns label and text of what only the best segmentation without it has."""
        spans = self.explanation.instead if self.explanation else ()
        return [(label, self.tokens.doc[i:j].text) for i, j, label in spans]


# A part of a text in which nothing begins or ends; the alternative in each line below
# it; those of these that begin here; and the mark before their numbers.
Piece = tuple[str, list[Card | None], list[Card], str]
# The text of a document: answers, and what is between them.
Parts = list[tuple[Card | None, list[Piece]]]


@dataclass(frozen=True)
class DocumentView:
    """A document on the page: its number, such as its line; the probability of exactly
    these spans; answers from left to right, others the most probable one first; and the
    most probable segmentations, each with its probability, and of each span label and
    text, and whether the first one has it, too."""

    number: int
    probability: float | None
    parts: Parts
    n_lines: int
    answers: list[Card]
    others: list[Card]
    ranked: list[tuple[float, list[tuple[str, str, bool]]]]


class Page:
    """What a component found in documents, what else was likely, and why: a page is its
    HTML as a string, and in a notebook it shows itself.

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
        self._title = title

    def __str__(self) -> str:
        content = {"docs": self._docs, "labels": self._colours.items()}
        return _rendered("spans.jinja", title=self._title, n_bars=N_BARS, **content)

    def _repr_html_(self) -> str:
        # Styles of the notebook and of the page must not meet.
        style = "width: 100%; height: 36rem; border: 0"
        return f'<iframe srcdoc="{escape(str(self))}" style="{style}"></iframe>'

    def to_disk(self, path: str | Path) -> None:
        """Write the page to a file, which is replaced."""
        Path(path).write_text(str(self), "utf8")

    def _view(self, doc: Doc, number: int, threshold: float, k: int) -> DocumentView:
        pipe = self._pipe
        ranked = pipe.ranked(doc, k)
        predicted = dict(zip(ranked[0].spans, ranked[0].confidences))
        likely: list[tuple[Span, float]] = []
        if not pipe.schema.inventory.on_tokens:  # with tags on tokens none are known
            before, _ = as_predicted(doc, pipe.name)
            if (posterior := pipe.decoder.posterior_if_trained(before)) is not None:
                spans_of_doc = spans_above(posterior, threshold, before)
                likely = [x for x in spans_of_doc if x[0] not in predicted]
        likely.sort(key=lambda x: (-x[1], x[0]))
        explain = partial(pipe.explain, doc, changes=self._changes)
        why = {(x.start, x.end, x.label): x for x in explain(progress=self._progress)}
        why |= {span: explain(span) for span, _ in likely[:N_EXPLAINED]}
        cards = []
        for n, (span, probability) in enumerate([*predicted.items(), *likely], 1):
            start, end, label = span
            key, among_others = f"d{number}s{n}", max(0, n - len(predicted))
            colour = self._colours.get(label, N_COLOURS - 1)
            args = label, probability, colour, why.get(span)
            cards.append(Card(key, among_others, doc[start:end], *args))
        answers, others = cards[: len(predicted)], cards[len(predicted) :]
        listed = []
        for x in ranked:
            spans = [(y, doc[i:j].text, (i, j, y) in predicted) for i, j, y in x.spans]
            listed.append((x.probability, spans))
        lines = in_lines(others)
        parts = parts_of(doc.text, answers, lines), len(lines), answers, others
        return DocumentView(number, ranked[0].probability, *parts, listed)


def _words(part: Contribution) -> str:
    """Returns what contributes in words, and to which labels."""
    entry = "" if part.entry is None else f" ({part.entry})"
    role = "" if part.role is None else f", {part.role}"
    sides = " against ".join(x for x in (part.label, part.other) if x and part.role)
    return f"{part.words}{entry}{role}{': ' if sides else ''}{sides}"


def in_lines(cards: Iterable[Card]) -> list[list[Card]]:
    """Returns lines below a text, from left to right; spans of one line do not overlap.
    The first cards come first, and some may find no place."""
    lines: list[list[Card]] = []
    for card in cards:
        for line in lines:
            (start, end), places = card.place, [x.place for x in line]
            if all(end <= i or j <= start for i, j in places):
                line.append(card)
                break
        else:
            if len(lines) < N_LINES:
                lines.append([card])
    return [sorted(line, key=attrgetter("place")) for line in lines]


def parts_of(
    text: str, answers: Sequence[Card], lines: Sequence[Sequence[Card]]
) -> Parts:
    """Cuts a text wherever an answer or a span of the lines begins or ends."""
    cards = [*answers, *chain(*lines)]
    places = {0, len(text), *chain(*(card.place for card in cards))}
    parts: Parts = []
    for start, end in pairwise(sorted(places)):
        below = [_at(start, line) for line in lines]
        begins = [card for card in below if card and card.place[0] == start]
        # Numbers have no direction of their own, and would go to the other end of a
        # piece whose direction is not that of the paragraph.
        mark = _MARKS.get(bidirectional(text[start:end][:1] or " "), "")
        piece = text[start:end], below, begins, mark
        answer = _at(start, answers)
        if parts and parts[-1][0] is answer:
            parts[-1][1].append(piece)
        else:
            parts.append((answer, [piece]))
    return parts


def _at(place: int, cards: Sequence[Card]) -> Card | None:
    """Returns the card in which a character is; cards are from left to right."""
    k = bisect_right(cards, place, key=lambda card: card.place[0]) - 1
    return cards[k] if k >= 0 and place < cards[k].place[1] else None


# Parts of a text, whether each is in a gold span, and in a predicted one; and whether
# there is more text before, and behind.
Excerpt = tuple[list[tuple[str, bool, bool]], tuple[bool, bool]]


def mistakes_page(
    mistakes: Mistakes,
    results: Sequence[DocumentResult],
    *,
    n_examples: int = 50,
    title: str = "Mistakes",
) -> str:
    """Returns a page of mistakes, with the most confident ones of each kind."""
    counts = mistakes.by_kind()
    kinds = []
    for kind in sorted(counts, key=lambda kind: -counts[kind].total()):
        examples = [x for x in mistakes.mistakes if x.kind == kind][:n_examples]
        places = [(x, results[x.document]) for x in examples]
        excerpts = [(x, result.number, *excerpt(x, result)) for x, result in places]
        kinds.append((kind, counts[kind], excerpts))
    content = {"kinds": kinds, "meanings": KINDS, "most_frequent": most_frequent}
    return _rendered("mistakes.jinja", title=title, mistakes=mistakes, **content)


def excerpt(mistake: Mistake, result: DocumentResult) -> Excerpt:
    """Returns the text around a mistake in its document."""
    text, sides = result.text, (mistake.gold, mistake.found)
    spans = [*mistake.gold, *mistake.found]
    low = max(min(start for start, _, _ in spans) - CONTEXT, 0)
    high = min(max(end for _, end, _ in spans) + CONTEXT, len(text))
    places = {low, high, *(place for span in spans for place in span[:2])}
    pieces = []
    for i, j in pairwise(sorted(places)):
        is_gold, is_predicted = (any(a <= i < b for a, b, _ in x) for x in sides)
        pieces.append((text[i:j], is_gold, is_predicted))
    return pieces, (low > 0, high < len(text))
