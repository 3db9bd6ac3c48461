"""The entities that a component predicts in a corpus, their confidences, and which of
them are right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import compress, takewhile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Corpus, Example

from ..component.pipe import HighOrderSemiCRF
from ..labels.alignment import judge
from ..prediction.existing_entities import preset_entities

Progress = Callable[[Sequence[Example]], Iterable[Example]]


@dataclass(frozen=True)
class Judged:
    """The entities that a component predicts in a corpus, whatever their confidence.

    labels (str [K]), confidence (float64 [K]), is_right (bool [K]): Of each entity.
    n_gold (Counter[str]): By label, the number of entities in the gold.
    """

    labels: NDArray[np.str_]
    confidence: NDArray[np.float64]
    is_right: NDArray[np.bool_]
    n_gold: Counter[str]

    def of_label(self, label: str) -> Judged:
        """RETURNS (Judged): The entities with one label."""
        own = self.labels == label
        n_gold = Counter({label: self.n_gold[label]})
        return Judged(
            self.labels[own], self.confidence[own], self.is_right[own], n_gold
        )


def components_before(
    nlp: Language, pipe: HighOrderSemiCRF
) -> list[Callable[[Doc], Doc]]:
    """RETURNS (List[Callable]): The components of a pipeline that run before one."""
    components = (component for _, component in nlp.pipeline)
    return [*takewhile(lambda component: component is not pipe, components)]


def read_examples(
    nlp: Language, pipe: HighOrderSemiCRF, path: str | Path
) -> list[Example]:
    """The documents of a .spacy file as a component sees them, and their gold.

    nlp (Language): The pipeline.
    pipe (HighOrderSemiCRF): Its component; the components before it are run.
    path (Path): The file.
    """
    examples = list(Corpus(path)(nlp))
    for component in components_before(nlp, pipe):
        for example in examples:
            example.predicted = component(example.predicted)
    return examples


def judge_all(
    pipe: HighOrderSemiCRF,
    examples: Sequence[Example],
    progress: Progress = iter,
    **options: Any,
) -> Judged:
    """What a component predicts without min_confidence. Its settings are restored.

    As in spaCy's scorer, entities where annotation is missing are left out.

    pipe (HighOrderSemiCRF): A trained component.
    examples (Sequence[Example]): From `read_examples`; they are not changed.
    progress (Callable): Called with the examples, yields them.
    options (Any): Other settings for this prediction, such as temperature.
    RETURNS (Judged): Without the entities that components before it have set.
    """
    with _with_options(pipe, min_confidence=0.0, confidence=True, **options):
        found = pipe.predict(example.predicted for example in progress(examples))
    labels, confidence, is_right = [], [], []
    n_gold: Counter[str] = Counter()
    for example, prediction in zip(examples, found):
        preset = preset_entities(example.predicted, pipe.name)
        known = [(ent.start, ent.end, ent.label_) for ent in preset]
        spans = prediction.spans
        verdicts, gold = judge(example, spans)
        of_known, _ = judge(example, known)
        n_gold.update(gold)
        n_gold.subtract(label for *_, label in compress(known, of_known))
        for (*_, label), p, verdict in zip(spans, prediction.scores or (), verdicts):
            if verdict is not None:
                labels.append(label)
                confidence.append(p)
                is_right.append(verdict)
    return Judged(
        np.array(labels, str), np.array(confidence), np.array(is_right, bool), n_gold
    )


@contextmanager
def _with_options(pipe: HighOrderSemiCRF, **options: Any) -> Iterator[None]:
    before = {name: getattr(pipe, name) for name in options}
    try:
        for name, value in options.items():
            setattr(pipe, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(pipe, name, value)
