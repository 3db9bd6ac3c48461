"""How right the labels of a tree are that hierarchy.py has predicted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from statistics import mean

from scores import exactness, f1
from tree_data import EASY, Record, Spans

RARE = (50, 10)


def label_f1(
    predicted: Iterable[Spans], test: Iterable[Record], labels: set[str] | None = None
) -> float:
    """F1 of spans with some labels, as if there were no other; None: of all."""

    def some(spans: Spans) -> set[tuple[int, int, str]]:
        return {span for span in spans if labels is None or span[2] in labels}

    return f1(map(some, predicted), (some(record.spans) for record in test))


def exact_records(predicted: Iterable[Spans], test: Iterable[Record]) -> float:
    """Sentences all of whose spans are exact, with no other ones, in per cent."""
    return exactness(map(set, predicted), (set(x.spans) for x in test)).records


def on_tokens(spans: Spans) -> set[tuple[int, str]]:
    """Tokens with their labels."""
    return {(t, label) for start, end, label in spans for t in range(start, end)}


def rare_f1(
    predicted: Sequence[Spans],
    train: Sequence[Record],
    test: Sequence[Record],
    limit: int,
) -> tuple[float, int]:
    """F1 of labels with fewer spans in training, all together, and how many spans of
    the test have one: 0, and F1 says nothing."""
    counts = Counter(label for record in train for *_, label in record.spans)
    golds = [record.spans for record in test]
    found = {label for spans in (*predicted, *golds) for *_, label in spans}
    rare = {label for label in found if counts[label] < limit}
    n_spans = sum(label in rare for spans in golds for *_, label in spans)
    return label_f1(predicted, test, rare) if n_spans else 0.0, n_spans


def figures(
    predicted: Sequence[Spans], train: Sequence[Record], test: Sequence[Record]
) -> dict[str, str]:
    """How right a system is, as a row of the table."""
    labels = {label for record in test for *_, label in record.spans}
    by_label = [label_f1(predicted, test, {label}) for label in labels]
    row = {"F1": f"{label_f1(predicted, test):.2f}"}
    if EASY.isdisjoint(labels):
        row["records"] = f"{exact_records(predicted, test):.2f}"
    row["mean over labels"] = f"{mean(by_label or [0.0]):.2f}"
    for limit in RARE:
        score, n_spans = rare_f1(predicted, train, test, limit)
        row[f"< {limit}"] = f"{score:.2f} ({n_spans} spans)" if n_spans else "-"
    gold = (on_tokens(record.spans) for record in test)
    row["tokens"] = f"{f1(map(on_tokens, predicted), gold):.2f}"
    if not EASY.isdisjoint(labels):
        both = labels | {label for spans in predicted for *_, label in spans}
        row["but for NONE etc."] = f"{label_f1(predicted, test, both - EASY):.2f}"
    shares = given_the_span(predicted, train, test)
    row["label, given the span"] = "{:.1f} / {:.1f}".format(*shares)
    return row


def given_the_span(
    predicted: Sequence[Spans], train: Sequence[Record], test: Sequence[Record]
) -> tuple[float, float]:
    """Of spans that were found: right labels, and those of the most frequent one."""
    seen: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for record in train:
        for i, j, label in record.spans:
            seen[words(record, i, j)][label] += 1
    usual = {key: counts.most_common(1)[0][0] for key, counts in seen.items()}
    right = baseline = total = 0
    for spans, record in zip(predicted, test):
        labels = {(i, j): label for i, j, label in spans}
        for i, j, label in record.spans:
            if (i, j) in labels and label not in EASY:
                total += 1
                right += labels[i, j] == label
                baseline += usual.get(words(record, i, j)) == label
    return 100 * right / max(total, 1), 100 * baseline / max(total, 1)


def words(record: Record, start: int, end: int) -> tuple[str, ...]:
    return tuple(word.lower() for word in record.tokens[start:end])
