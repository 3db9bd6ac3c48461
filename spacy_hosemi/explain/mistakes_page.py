"""A page of HTML: the mistakes of a pipeline, with the text around each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..component.judging import DocumentResult
from ..labels.alignment import Characters
from .html_page import HtmlPage, template
from .mistakes import KINDS, Mistake, Mistakes, most_frequent

# Characters that are shown before and behind a mistake.
CONTEXT = 60


@dataclass(frozen=True)
class Excerpt:
    """A mistake, and the text around it.

    document (int): The number of the document.
    confidence (Optional[float]): See `Mistake`.
    pieces (List[Tuple[str, bool, bool]]): Parts of the text: whether each is in a gold
        span, and in a predicted one.
    is_cut (Tuple[bool, bool]): Whether there is more text before, and behind.
    gold, found (str): The labels.
    """

    document: int
    confidence: float | None
    pieces: list[tuple[str, bool, bool]]
    is_cut: tuple[bool, bool]
    gold: str
    found: str


@dataclass(frozen=True)
class Kind:
    """The mistakes of a kind.

    key (str), name (str), meaning (str)
    n (int): How many there are.
    labels (str): The most frequent ones.
    mistakes (List[Excerpt]): Those that are shown.
    """

    key: str
    name: str
    meaning: str
    n: int
    labels: str
    mistakes: list[Excerpt]


class MistakesPage(HtmlPage):
    """The mistakes of a pipeline.

    found (Mistakes): All of them.
    answers (Sequence[DocumentResult]): Of the documents that they are in.
    n_examples (int): Of each kind so many are shown, the most confident ones.
    title (str): Of the page.
    """

    def __init__(
        self,
        found: Mistakes,
        answers: Sequence[DocumentResult],
        *,
        n_examples: int = 50,
        title: str = "Mistakes",
    ) -> None:
        self._found, self._title = found, title
        counts = found.by_kind()
        names = sorted(counts, key=lambda name: -counts[name].total())
        self._kinds = []
        for name in names:
            own = [x for x in found.mistakes if x.kind == name][:n_examples]
            shown = [excerpt(x, answers[x.document]) for x in own]
            n, key = counts[name].total(), name.replace(" ", "-")
            args = key, name, KINDS[name], n, most_frequent(counts[name])
            self._kinds.append(Kind(*args, shown))

    def __str__(self) -> str:
        confusion = [
            (label, most_frequent(Counter(others)))
            for label, others in self._found.confusion.items()
        ]
        given = {"found": self._found, "kinds": self._kinds, "confusion": confusion}
        return template("mistakes.jinja").render(title=self._title, **given)


def excerpt(mistake: Mistake, answer: DocumentResult) -> Excerpt:
    """RETURNS (Excerpt): A mistake in the text of its document."""
    text = answer.text
    both = [*mistake.gold, *mistake.found]
    low = max(min(x[0] for x in both) - CONTEXT, 0)
    high = min(max(x[1] for x in both) + CONTEXT, len(text))
    places = {low, high, *(place for x in both for place in x[:2])}
    pieces = [
        (text[i:j], _has(mistake.gold, i), _has(mistake.found, i))
        for i, j in pairwise(sorted(places))
    ]
    names = (", ".join(x[2] for x in spans) for spans in (mistake.gold, mistake.found))
    is_cut = low > 0, high < len(text)
    return Excerpt(answer.number, mistake.confidence, pieces, is_cut, *names)


def _has(spans: Iterable[Characters], place: int) -> bool:
    return any(start <= place < end for start, end, _ in spans)
