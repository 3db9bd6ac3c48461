"""What one more training document would change: the model is trained again with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

from ..component.penalty_search import DEFAULT
from ..component.pipe import HighOrderSemiCRF
from ..errors import Errors
from ..inspection.corpus import as_examples
from ..inspection.rehearsal import settings_of
from ..labels.inventory import Span
from .cross_fit import train


@dataclass(frozen=True)
class Retrained:
    """What a model says of a span after it was trained on the document of the span,
    too, with gold that says the contrary of what it had predicted.

    gold (List[Tuple[int, int, str]]): The spans that the document had in training.
    is_answer (bool): Whether the span is predicted then.
    probability (float): That of the span then.
    """

    gold: list[Span]
    is_answer: bool
    probability: float


def retrain(
    nlp: Language, pipe: HighOrderSemiCRF, docs: Sequence[Doc], doc: Doc, span: Span
) -> Retrained:
    """Train anew on the documents of a model and one more: would it have changed the
    answer? Its gold is what the model answers with the span, if the span was not
    predicted, else what it answers without it.

    All else is as in the training of the model, as its config says; where that says
    l2 = "auto", the penalty that was chosen then is taken. The model stays as it is.

    nlp (Language), pipe (HighOrderSemiCRF): The model.
    docs (Sequence[Doc]): What it was trained on, with gold.
    doc (Doc): n tokens, as the model predicts them.
    span (Tuple[int, int, str]): In tokens.
    RETURNS (Retrained)
    RAISES (ValueError): HS254 the config does not fit by L-BFGS; HS319 the model was
        trained on other documents; HS060 no segmentation has the span, or all have it.
    """
    check_trained_on(pipe, docs)
    more = doc.copy()
    is_there = span in _spans(doc)
    pipe.redecode(more, **{"forbid" if is_there else "keep": [span]})
    block = settings_of(nlp, pipe.name)
    block.pop("dev", None)
    block["labels"] = list(pipe.labels)
    if block["fit"].get("l2") == "auto":
        block["fit"] = {**block["fit"], "l2": _chosen_l2(pipe)}
    other = train(nlp.config.interpolate(), pipe.name, block, [*docs, more])
    (example,) = as_examples([more], other)
    trained: Any = other.get_pipe(pipe.name)
    found = trained.explain(other(example.predicted), span)
    return Retrained(_spans(more), found.is_answer, found.probability)


def check_trained_on(pipe: HighOrderSemiCRF, docs: Sequence[Doc]) -> bool:
    """Whether a model was trained on some documents. Of dev, too, it has seen the
    texts: so the number must be right as well.

    pipe (HighOrderSemiCRF): The model.
    docs (Sequence[Doc]): The documents.
    RETURNS (bool): False if the model does not know that.
    RAISES (ValueError): HS319 it knows others.
    """
    if pipe.seen_texts is None or pipe.facts is None:
        return False
    texts = [doc.text for doc in docs if len(doc)]
    n_seen, expected = sum(map(pipe.seen_texts.has, texts)), pipe.facts.n_documents
    if not n_seen == len(texts) == expected:
        numbers = {"found": n_seen, "total": len(texts), "expected": expected}
        raise ValueError(Errors.HS319.format(name=pipe.name, **numbers))
    return True


def _chosen_l2(pipe: HighOrderSemiCRF) -> float:
    """RETURNS (float): What l2 = "auto" has chosen for a component."""
    trials = pipe.facts.trials if pipe.facts else ()
    return next((x["l2"] for x in trials if x["is_chosen"]), DEFAULT)


def _spans(doc: Doc) -> list[Span]:
    return [(ent.start, ent.end, ent.label_) for ent in doc.ents]
