"""Documents that are there twice, in one part or in both."""

from __future__ import annotations

from collections import defaultdict

from .corpus import CorpusPart
from .findings import Finding, fault, quoted, remark, share


def judge_duplicates(train: CorpusPart, dev: CorpusPart | None) -> list[Finding]:
    """Returns documents that occur twice in train; those of dev that
    are in train, exactly or but for case, spaces and punctuation. Documents without
    letters and digits are compared as they are; those without a span, such as headings
    and page numbers, tell nothing that a model could remember."""
    return _twice(train) + ([] if dev is None else _in_both(train, dev))


def _twice(train: CorpusPart) -> list[Finding]:
    places: dict[str, list[str]] = defaultdict(list)
    for (place, doc), text in zip(train, train.texts):
        if doc.ents:
            places[text].append(place)
    twice = {text: where for text, where in places.items() if len(where) > 1}
    if not twice:
        return []
    n = sum(len(where) - 1 for where in twice.values())
    ranked = sorted(twice, key=lambda text: -len(twice[text]))
    examples = [
        f"{len(twice[text]):,} times: {quoted(text)} ({', '.join(twice[text][:2])})"
        for text in ranked
    ]
    text = (
        f"{share(n, len(train))} documents are in train already: they count more than "
        "others. Where a part of train is held out, keep equal ones together"
    )
    return [remark("twice-in-train", text, n, len(train), examples)]


def _in_both(train: CorpusPart, dev: CorpusPart) -> list[Finding]:
    exact: dict[str, str] = {}
    similar: dict[str, str] = {}
    for place, whole, key in zip(train.places, train.texts, train.keys):
        exact.setdefault(whole, place)
        similar.setdefault(key, place)
    same: list[str] = []
    alike: list[str] = []
    for (place, doc), whole, key in zip(dev, dev.texts, dev.keys):
        if not doc.ents:
            continue
        where = exact.get(whole) or similar.get(key)
        if where is not None:
            copies = same if whole in exact else alike
            copies.append(f"{where} and {place}: {quoted(whole)}")
    if not same and not alike:
        return []
    n = len(same) + len(alike)
    exactly = f"{len(same):,} exactly, {len(alike):,} but for case and punctuation"
    text = (
        f"{share(n, len(dev))} documents of dev are in train ({exactly}): the score "
        "says how well they are remembered. `convert --dev --group` keeps them apart"
    )
    return [fault("in-train-and-dev", text, n, len(dev), [*same, *alike])]
