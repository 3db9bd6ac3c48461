"""Precision, recall and F1 of entities, in all, by label, and by level of a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from spacy.scorer import PRFScore
from spacy.training import Example

from ..hierarchy.tree import way_up
from ..labels.alignment import Characters, is_annotated, is_complete, scored_entities


def make_hosemi_scorer() -> Callable[..., dict[str, Any]]:
    """Registered as "spacy_hosemi.scorer.v1" in `scorers`: see `score_entities`."""
    return score_entities


def score_entities(
    examples: Iterable[Example], tree: Mapping[str, str] | None = None, **kwargs: Any
) -> dict[str, Any]:
    """Computes precision, recall and F1 of entities, exact start, end and label.

    Spans are compared by characters, whatever the tokens of both documents are. An
    entity of the reference that no tokens of the prediction can form counts as missed;
    the scorer of `ner` widens predictions to tokens of the reference. Predictions where
    annotation is missing are neither right nor wrong.

    examples (Iterable[Example]): Predicted and reference documents.
    tree (Optional[Mapping[str, str]]): The parent of each label that has one.
    RETURNS (Dict[str, Any]): As the scorer of `ner`: ents_p, ents_r, ents_f,
        ents_per_type, None if there is nothing to score, and
        ents_record_accuracy: the share of documents all of whose entities are exact,
        with no other ones, among those without missing annotation; None if all have
        some; of labels in a tree also:
        ents_by_level: for "1", the top, and each level below p, r and f of spans whose
        labels are the same down to there;
        ents_hierarchical_p, _r, _f: of pairs of a span and a name on the way to its
        label, so that a label that is nearly right counts for a part (Kiritchenko et
        al. 2006).
    """
    annotated = [example for example in examples if is_annotated(example)]
    pairs = [*map(scored_entities, annotated)]
    complete = [pair for pair, x in zip(pairs, annotated) if is_complete(x)]
    n_exact = sum({*predicted} == {*gold} for predicted, gold in complete)
    scores = score_spans(pairs)
    scores["ents_record_accuracy"] = n_exact / len(complete) if complete else None
    return {**scores, **_score_levels(_sides(pairs), tree)} if tree else scores


# The spans of each document that are predicted, and those that are right.
_Pairs = Iterable[tuple[Iterable[Characters], Iterable[Characters]]]


def score_spans(pairs: _Pairs) -> dict[str, Any]:
    """Returns ents_p, ents_r, ents_f and ents_per_type of predicted and right spans in
    characters, by document; None each if there are no spans at all."""
    predicted, gold = _sides(pairs)
    if not predicted and not gold:
        return dict.fromkeys(("ents_p", "ents_r", "ents_f", "ents_per_type"))
    sides: dict[str, tuple[set[Any], set[Any]]] = {}
    for k, side in enumerate((predicted, gold)):
        for entity in side:
            sides.setdefault(entity[-1], (set(), set()))[k].add(entity)
    in_all = _prf((predicted, gold)).items()
    scores: dict[str, Any] = {f"ents_{k}": value for k, value in in_all}
    per_type = {label: _prf(sides[label]) for label in sorted(sides)}
    return {**scores, "ents_per_type": per_type}


def _sides(pairs: _Pairs) -> tuple[set[Any], set[Any]]:
    """Returns predicted and right spans of all documents, each with the number of its
    document."""
    predicted, gold = (
        {(k, *span) for k, of_doc in enumerate(of_docs) for span in of_doc}
        for of_docs in (tuple(zip(*pairs)) or ((), ()))
    )
    return predicted, gold


def _score_levels(
    entities: Iterable[set[Any]], tree: Mapping[str, str]
) -> dict[str, Any]:
    """Returns ents_by_level and ents_hierarchical_p, _r, _f, see `score_entities`."""
    sides = [[(*at, way_up(y, tree)[::-1]) for *at, y in side] for side in entities]
    n_levels = max((len(x) for side in sides for *_, x in side), default=0)
    levels = {
        str(level): _prf({(*at, x[:level][-1]) for *at, x in side} for side in sides)
        for level in range(1, n_levels + 1)
    }
    together = _prf({(*at, name) for *at, x in side for name in x} for side in sides)
    return {
        "ents_by_level": levels,
        **{f"ents_hierarchical_{k}": value for k, value in together.items()},
    }


def _prf(sides: Iterable[set[Any]]) -> dict[str, float]:
    """Returns p, r and f of what is predicted and what is right."""
    score = PRFScore()
    score.score_set(*sides)
    return {"p": score.precision, "r": score.recall, "f": score.fscore}
