"""Sorts the mistakes of a pipeline by kind, by label, and by kind of text."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from spacy.training import Example

from ..component.judging import DocumentResult
from ..labels.alignment import Characters, scored_entities

# In the order in which they are shown.
KINDS = {
    "missed": "no predicted span overlaps the gold one",
    "spurious": "the predicted span overlaps no gold one",
    "wrong label": "the borders are right",
    "too long": "the predicted span contains the gold one",
    "too short": "the gold span contains the predicted one",
    "shifted": "each has a part that the other has not",
    "split": "several predicted spans for one gold span",
    "merged": "one predicted span for several gold spans",
    "mixed": "several predicted spans overlap several gold spans",
}
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Mistake:
    """Gold and predicted spans that overlap each other, none of them right. Where
    borders and label are wrong, the kind says what is wrong with the borders."""

    kind: str  # one of KINDS
    document: int  # its number among the answers
    gold: list[Characters]
    found: list[Characters]
    texts: list[str]  # of the gold spans, then of the predicted ones
    confidence: float | None  # the largest one of the predicted spans

    @property
    def label(self) -> str:
        """Returns the label of the first gold span, or else of the predicted one."""
        return (self.gold or self.found)[0][2]


@dataclass(frozen=True)
class Share:
    """How many spans or documents have something in common, and how many are right."""

    name: str
    n: int
    n_right: int


@dataclass(frozen=True)
class Mistakes:
    """All mistakes in some documents, and counts of their spans."""

    n_documents: int  # without missing annotation
    n_exact: int  # those of them without a mistake
    n_gold: int
    n_found: int
    n_right: int
    mistakes: list[Mistake]  # the most confident ones first
    # By label of gold spans, the other labels of predicted spans that overlap them.
    confusion: dict[str, dict[str, int]]
    # Gold spans by their words and by their length, and documents by their length.
    shares: list[Share]

    def by_kind(self) -> dict[str, Counter[str]]:
        """Returns the mistakes of each label by kind."""
        counts: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
        for mistake in self.mistakes:
            counts[mistake.kind][mistake.label] += 1
        return {kind: labels for kind, labels in counts.items() if labels}


# What training has shown: the words of all texts, in lower case, and by label the
# number of words of its longest span.
Seen = tuple[set[str], dict[str, int]]


def seen_in(examples: Iterable[Example]) -> Seen:
    """Reads what training documents show."""
    words: set[str] = set()
    longest: dict[str, int] = {}
    for example in examples:
        text = example.text
        words.update(words_of(text))
        for start, end, label in scored_entities(example)[1]:
            longest[label] = max(longest.get(label, 0), len(words_of(text[start:end])))
    return words, longest


def words_of(text: str) -> list[str]:
    """Returns runs of letters, digits and underscores, in lower case."""
    return WORD.findall(text.lower())


def find_mistakes(
    results: Sequence[DocumentResult], seen: Seen | None = None
) -> Mistakes:
    """Finds the mistakes of a pipeline; without what training has shown, nothing is
    said of new words and of spans longer than any there."""
    mistakes = [x for k, result in enumerate(results) for x in mistakes_of(result, k)]
    mistakes.sort(key=lambda x: (-(x.confidence or 0.0), x.document))
    confusion: dict[str, Counter[str]] = {}
    for mistake in mistakes:
        for gold in mistake.gold:
            start, end, label = gold
            others = (y for i, j, y in mistake.found if start < j and i < end)
            counts = confusion.setdefault(label, Counter())
            counts.update(y for y in others if y != label)
    complete = [x for x in results if x.is_complete]
    return Mistakes(
        len(complete),
        sum(x.predicted == x.gold for x in complete),
        sum(len(x.gold) for x in results),
        sum(len(x.predicted) for x in results),
        sum(len(x.gold & x.predicted) for x in results),
        mistakes,
        {y: dict(counts.most_common()) for y, counts in confusion.items() if counts},
        [*_shares_of_spans(results, seen), *_shares_of_documents(complete)],
    )


def most_frequent(counts: Mapping[str, int]) -> str:
    """Returns the four most frequent labels, and how often each is there."""
    shown = [f"{label} {n:,}" for label, n in Counter(counts).most_common(4)]
    return ", ".join(shown) + (", ..." if len(counts) > 4 else "")


def mistakes_of(result: DocumentResult, document: int = 0) -> Iterator[Mistake]:
    """Yields the mistakes in one document with its number, from left to right."""
    right = result.gold & result.predicted
    sides = [
        (start, end, label, is_gold)
        for is_gold, spans in ((True, result.gold), (False, result.predicted))
        for start, end, label in spans - right
    ]
    group: list[tuple[int, int, str, bool]] = []
    reach = -1
    for span in sorted(sides):
        if group and span[0] >= reach:
            yield _mistake(group, result, document)
            group = []
        reach = max(reach, span[1])
        group.append(span)
    if group:
        yield _mistake(group, result, document)


def _mistake(
    group: Sequence[tuple[int, int, str, bool]], result: DocumentResult, document: int
) -> Mistake:
    """Returns the mistake of spans that overlap each other."""
    gold = [(i, j, y) for i, j, y, is_gold in group if is_gold]
    predicted = [(i, j, y) for i, j, y, is_gold in group if not is_gold]
    confidences = [result.confidence[x] for x in predicted if x in result.confidence]
    texts = [result.text[i:j] for i, j, _ in (*gold, *predicted)]
    most = max(confidences, default=None)
    return Mistake(_kind(gold, predicted), document, gold, predicted, texts, most)


def _kind(gold: Sequence[Characters], predicted: Sequence[Characters]) -> str:
    if not predicted:
        return "missed"
    if not gold:
        return "spurious"
    if len(gold) > 1:
        return "mixed" if len(predicted) > 1 else "merged"
    if len(predicted) > 1:
        return "split"
    (i, j, _), (a, b, _) = gold[0], predicted[0]
    if (i, j) == (a, b):
        return "wrong label"
    if a <= i and j <= b:
        return "too long"
    return "too short" if i <= a and b <= j else "shifted"


def _shares_of_spans(
    results: Sequence[DocumentResult], seen: Seen | None
) -> Iterator[Share]:
    """Yields gold spans by what training has shown, and by their number of words."""
    spans = [
        (words_of(result.text[i:j]), y, (i, j, y) in result.predicted)
        for result in results
        for i, j, y in result.gold
    ]
    if seen is not None:
        vocabulary, longest = seen
        is_new = [not vocabulary.issuperset(words) for words, _, _ in spans]
        names = "all words in training", "a word that is not in training"
        for k, name in enumerate(names):
            yield _share(name, [x[2] for x, new in zip(spans, is_new) if new == k])
        longer = [x[2] for x in spans if len(x[0]) > longest.get(x[1], 0)]
        yield _share("longer than any of its label in training", longer)
    ranges = {"1 word": (0, 1), "2 to 3 words": (2, 3), "4 to 9 words": (4, 9)}
    ranges["10 or more words"] = 10, sys.maxsize
    for name, (low, high) in ranges.items():
        within = [x[2] for x in spans if low <= len(x[0]) <= high]
        yield _share(f"spans of {name}", within)


def _shares_of_documents(results: Sequence[DocumentResult]) -> Iterator[Share]:
    """Yields documents in at most four groups of about the same size, by the number of
    their words; those of the same number are in one group."""
    sizes = np.array([len(words_of(x.text)) for x in results])
    if not len(sizes):
        return
    borders = np.unique(np.quantile(sizes, (0.25, 0.5, 0.75, 1.0), method="lower"))
    groups = np.searchsorted(borders, sizes)
    for k, high in enumerate(borders.tolist()):
        places = np.flatnonzero(groups == k)
        low = int(sizes[places].min())
        exact = [results[d].predicted == results[d].gold for d in places.tolist()]
        yield _share(f"documents of {low} to {high} words", exact)


def _share(name: str, is_right: Sequence[bool]) -> Share:
    return Share(name, len(is_right), sum(is_right))
