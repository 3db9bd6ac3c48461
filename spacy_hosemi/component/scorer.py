"""Precision, recall and F1 of entities: as `ner` has them, and by level of a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from spacy.scorer import PRFScore, get_ner_prf
from spacy.training import Example

from ..hierarchy.tree import way_up
from ..labels.alignment import scored_entities


def make_hosemi_scorer() -> Callable[..., dict[str, Any]]:
    """Registered as "spacy_hosemi.scorer.v1" in `scorers`: see `score_entities`."""
    return score_entities


def score_entities(
    examples: Iterable[Example], tree: Mapping[str, str] | None = None, **kwargs: Any
) -> dict[str, Any]:
    """Precision, recall and F1 of entities, exact span and label.

    examples (Iterable[Example]): Predicted and reference documents.
    tree (Optional[Mapping[str, str]]): The parent of each label that has one.
    RETURNS (Dict[str, Any]): As the scorer of `ner`; of labels in a tree also:
        ents_by_level: for "1", the top, and each level below p, r and f of spans whose
        labels are the same down to there;
        ents_hierarchical_p, _r, _f: of pairs of a span and a name on the way to its
        label, so that a label that is nearly right counts for a part (Kiritchenko et
        al. 2006).
    """
    examples = list(examples)
    scores: dict[str, Any] = get_ner_prf(examples, **kwargs)
    return {**scores, **_score_levels(examples, tree)} if tree else scores


def _score_levels(
    examples: Iterable[Example], tree: Mapping[str, str]
) -> dict[str, Any]:
    pairs = [scored_entities(example) for example in examples]
    sides = [
        [(k, i, j, way_up(y, tree)[::-1]) for k, of_doc in side for i, j, y in of_doc]
        for side in (enumerate(of_docs) for of_docs in zip(*pairs))
    ]
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
    """RETURNS (Dict[str, float]): p, r and f of what is predicted and what is right."""
    score = PRFScore()
    score.score_set(*sides)
    return {"p": score.precision, "r": score.recall, "f": score.fscore}
