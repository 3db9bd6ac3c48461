"""The mistakes of a pipeline by kind, by label, and by what a text is like."""

from __future__ import annotations

import re
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
    """Gold and predicted spans that overlap each other, none of them right.

    kind (str): One of KINDS.
    document (int): Its number among the answers.
    gold, found (List[Tuple[int, int, str]]): In characters. Where borders and label are
        wrong, `kind` says what is wrong with the borders.
    texts (List[str]): Of the gold spans, then of the predicted ones.
    confidence (Optional[float]): The largest one of the predicted spans.
    """

    kind: str
    document: int
    gold: list[Characters]
    found: list[Characters]
    texts: list[str]
    confidence: float | None

    @property
    def label(self) -> str:
        """RETURNS (str): Of the first gold span, or else of the predicted one."""
        return (self.gold or self.found)[0][2]


@dataclass(frozen=True)
class Share:
    """How much is right of some spans or documents.

    name (str): What they have in common.
    n, n_right (int): How many there are, how many are right.
    """

    name: str
    n: int
    n_right: int


@dataclass(frozen=True)
class Mistakes:
    """All mistakes in some documents.

    n_documents, n_exact (int): Documents without missing annotation, and those of them
        without a mistake.
    n_gold, n_found, n_right (int): Spans.
    mistakes (List[Mistake]): The most confident ones first.
    confusion (Dict[str, Dict[str, int]]): By the label of gold spans, the labels of the
        predicted spans that overlap them with another label.
    shares (List[Share]): Gold spans by their words, gold spans by their length, and
        documents by their length.
    """

    n_documents: int
    n_exact: int
    n_gold: int
    n_found: int
    n_right: int
    mistakes: list[Mistake]
    confusion: dict[str, dict[str, int]]
    shares: list[Share]

    def by_kind(self) -> dict[str, Counter[str]]:
        """RETURNS (Dict[str, Counter[str]]): By kind, the mistakes of each label."""
        found: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
        for one in self.mistakes:
            found[one.kind][one.label] += 1
        return {kind: counts for kind, counts in found.items() if counts}


@dataclass(frozen=True)
class Seen:
    """What training has shown.

    words (FrozenSet[str]): Of all texts, in lower case.
    longest (Dict[str, int]): By label, the words of its longest span.
    """

    words: frozenset[str]
    longest: dict[str, int]


def seen_in(examples: Iterable[Example]) -> Seen:
    """RETURNS (Seen): In training documents."""
    words: set[str] = set()
    longest: dict[str, int] = {}
    for example in examples:
        text = example.text
        words.update(words_of(text))
        for start, end, label in scored_entities(example)[1]:
            n = len(words_of(text[start:end]))
            longest[label] = max(longest.get(label, 0), n)
    return Seen(frozenset(words), longest)


def words_of(text: str) -> list[str]:
    """RETURNS (List[str]): Runs of letters, digits and underscores, in lower case."""
    return WORD.findall(text.lower())


def find_mistakes(
    answers: Sequence[DocumentResult], seen: Seen | None = None
) -> Mistakes:
    """The mistakes of a pipeline.

    answers (Sequence[DocumentResult]): Of one or more documents.
    seen (Optional[Seen]): In training; without it nothing is said of new words and of
        spans longer than any there.
    """
    found = [x for k, one in enumerate(answers) for x in mistakes_of(one, k)]
    found.sort(key=lambda x: (-(x.confidence or 0.0), x.document))
    confusion: dict[str, Counter[str]] = {}
    for mistake in found:
        for gold in mistake.gold:
            others = (x[2] for x in mistake.found if _overlap(gold, x))
            confusion.setdefault(gold[2], Counter()).update(
                label for label in others if label != gold[2]
            )
    whole = [one for one in answers if one.is_complete]
    return Mistakes(
        len(whole),
        sum(one.predicted == one.gold for one in whole),
        sum(len(one.gold) for one in answers),
        sum(len(one.predicted) for one in answers),
        sum(len(one.gold & one.predicted) for one in answers),
        found,
        {y: dict(counts.most_common()) for y, counts in confusion.items() if counts},
        [*_shares_of_spans(answers, seen), *_shares_of_documents(whole)],
    )


def most_frequent(counts: Mapping[str, int], most: int = 4) -> str:
    """Returns the most frequent labels, and how often each is there."""
    shown = [f"{label} {n:,}" for label, n in Counter(counts).most_common(most)]
    return ", ".join(shown) + (", ..." if len(counts) > most else "")


def mistakes_of(answer: DocumentResult, document: int = 0) -> Iterator[Mistake]:
    """YIELDS (Mistake): Of one document, from left to right.

    answer (DocumentResult), document (int): The document and its number.
    """
    sides = [
        (start, end, label, is_gold)
        for is_gold, spans in ((True, answer.gold), (False, answer.predicted))
        for start, end, label in spans - (answer.gold & answer.predicted)
    ]
    group: list[tuple[int, int, str, bool]] = []
    reach = -1
    for span in sorted(sides):
        if group and span[0] >= reach:
            yield _mistake(group, answer, document)
            group = []
        reach = span[1] if not group else max(reach, span[1])
        group.append(span)
    if group:
        yield _mistake(group, answer, document)


def _mistake(
    group: Sequence[tuple[int, int, str, bool]], answer: DocumentResult, document: int
) -> Mistake:
    """RETURNS (Mistake): Of spans that overlap each other."""
    gold = [(i, j, y) for i, j, y, is_gold in group if is_gold]
    found = [(i, j, y) for i, j, y, is_gold in group if not is_gold]
    known = [p for x in found if (p := answer.confidence.get(x)) is not None]
    texts = [answer.text[i:j] for i, j, _ in (*gold, *found)]
    kind = _kind(gold, found)
    return Mistake(kind, document, gold, found, texts, max(known, default=None))


def _kind(gold: Sequence[Characters], found: Sequence[Characters]) -> str:
    if not found:
        return "missed"
    if not gold:
        return "spurious"
    if len(gold) > 1 or len(found) > 1:
        if len(gold) > 1 and len(found) > 1:
            return "mixed"
        return "split" if len(gold) == 1 else "merged"
    (i, j, _), (a, b, _) = gold[0], found[0]
    if (i, j) == (a, b):
        return "wrong label"
    if a <= i and j <= b:
        return "too long"
    return "too short" if i <= a and b <= j else "shifted"


def _overlap(one: Characters, other: Characters) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _shares_of_spans(
    answers: Sequence[DocumentResult], seen: Seen | None
) -> Iterator[Share]:
    """Gold spans by what training has shown, and by the number of their words."""
    spans = [
        (words_of(one.text[i:j]), y, (i, j, y) in one.predicted)
        for one in answers
        for i, j, y in one.gold
    ]
    if seen is not None:
        is_new = [not seen.words.issuperset(words) for words, _, _ in spans]
        names = "all words in training", "a word that is not in training"
        for k, name in enumerate(names):
            yield _share(name, [x[2] for x, new in zip(spans, is_new) if new == k])
        longer = [x[2] for x in spans if len(x[0]) > seen.longest.get(x[1], 0)]
        yield _share("longer than any of its label in training", longer)
    for low, high in ((1, 1), (2, 3), (4, 9), (10, None)):
        name = f"{low} or more words" if high is None else f"{low} to {high} words"
        name = "1 word" if high == 1 else name
        some = [right for words, _, right in spans if _within(len(words), low, high)]
        yield _share(f"spans of {name}", some)


def _within(n: int, low: int, high: int | None) -> bool:
    return low <= max(n, 1) and (high is None or n <= high)


def _shares_of_documents(answers: Sequence[DocumentResult]) -> Iterator[Share]:
    """Documents in at most four parts of about the same size, by the number of their
    words; those of the same number are in one part."""
    sizes = np.array([len(words_of(one.text)) for one in answers])
    if not len(sizes):
        return
    borders = np.unique(np.quantile(sizes, (0.25, 0.5, 0.75, 1.0), method="lower"))
    parts = np.searchsorted(borders, sizes)
    for k, high in enumerate(borders.tolist()):
        part = np.flatnonzero(parts == k)
        low = int(sizes[part].min())
        exact = [answers[d].predicted == answers[d].gold for d in part.tolist()]
        yield _share(f"documents of {low} to {high} words", exact)


def _share(name: str, is_right: Sequence[bool]) -> Share:
    return Share(name, len(is_right), sum(is_right))
