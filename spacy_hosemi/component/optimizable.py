"""The weights of the component as one vector, for optimizers from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Model

from ..core import Potentials
from ..errors import Errors
from ..hierarchy.weights import LevelState
from ..labels.alignment import read_annotations, with_clean_words
from ..labels.partial import PartialLabels
from ..model.state import ModelState, Published
from ..model.weights.penalty_groups import by_penalty_group
from ..model.weights.state import Floats, WeightState
from ..model.weights.weights import Weights
from ..training.corpus import Corpus, read_corpus
from ..training.data_checks import check_reach
from ..values import ByName, Unfit, read
from .arguments import check_examples
from .configured import Configured


class _Vector:
    """Numbers."""

    expected = "an array of numbers, as get_weights gives it"

    def read(self, found: Any) -> Floats:
        try:
            return np.asarray(found, np.float64)
        except (TypeError, ValueError):
            raise Unfit from None


class _Least:
    """A number from 0 to infinity."""

    expected = "a number at least 0"

    def read(self, found: Any) -> float:
        is_number = isinstance(found, Real) and not isinstance(found, bool)
        if not is_number or not found >= 0.0:
            raise Unfit
        return float(found)


class Optimizable(Configured):
    """The part of the component that training from outside of spaCy uses."""

    model: Model[Any, Any]
    published: Published

    @property
    def state(self) -> ModelState:
        """What predictions read, another object whenever labels or weights have
        changed. Read it once for each prediction."""
        return self.published.read()

    @property
    def weights(self) -> WeightState:
        """The sparse weights, as predictions read them."""
        return self.state.weights

    @property
    def level_weights(self) -> LevelState | None:
        """Those below the top, where labels are in a tree of several levels."""
        levels: LevelState | None = self.state.levels
        return levels

    @property
    def _training(self) -> Weights:
        """The sparse weights, as training changes them."""
        return self.trainer.weights

    def get_loss(
        self, examples: Iterable[Example], scores: Sequence[Potentials]
    ) -> tuple[float, list[Potentials]]:
        """Loss of a batch and its gradient.

        examples (Iterable[Example]): A batch.
        scores (Sequence[Potentials]): Of each document; by sentence in that scope.
        RETURNS (Tuple[float, List[Potentials]]): The summed loss, the derivatives.
        """
        examples = check_examples(examples, "get_loss")
        golds = self._corpus(examples).golds
        return self.trainer.losses(golds, scores, self.objective)

    def value_and_gradient(self, examples: Iterable[Example]) -> tuple[float, Floats]:
        """Loss and gradient of a batch at the present weights, for other optimizers.

        examples (Iterable[Example]): Documents with gold.
        RETURNS (Tuple[float, float64 [N]]): Without regularisation; the gradient in
            the order of `get_weights`.
        RAISES (ValueError): HS053 the model has a tok2vec; HS056 impossible gold.
        """
        self._check_sparse("value_and_gradient")
        examples = check_examples(examples, "value_and_gradient")
        corpus = self._corpus(examples)
        return self.trainer.batch(corpus, self.objective).value_and_gradient()

    def get_weights(self) -> Floats:
        """RETURNS (float64 [N]): All weights of features, label patterns and lengths
        that are learnt, as one vector."""
        return self._training.vector()

    def set_weights(self, weights: Floats) -> None:
        """Replace all weights.

        weights (float64 [N]): In the order of `get_weights`.
        RAISES (ValueError): HS043 no numbers; HS055 wrong length.
        """
        with self.published.change():
            self._training.set_vector(read("weights", _Vector(), weights))

    def prune(self, below: float | Mapping[str, float] = 0.0) -> None:
        """Forget weights near 0, features and label patterns that have none left;
        nothing before initialization.

        What has weight 0 changes no prediction: a fit with l1 ends in this. Training
        can go on, with the weights that are left. Those of lengths all stay.

        below (Union[float, Dict[str, float]]): The largest absolute value of a weight
            that is forgotten; or by group (a role such as inside, or transition, or
            pattern), 0 for those that are not named.
        RAISES (ValueError): HS043 below 0; HS054 unknown group; HS118 labels in a
            tree.
        """
        values = by_penalty_group("below", read("below", ByName(_Least()), below))
        with self.published.change():
            if self.trainer.is_initialized:
                self.trainer.prune(values, self.settings.cfg)

    def _read(
        self, examples: Sequence[Example], named: set[str] | None = None
    ) -> tuple[list[Doc], list[PartialLabels]]:
        """Documents as features read them, and what is known of each; named: as for
        `check_reach`."""
        known = read_annotations(examples, self.settings.incorrect_spans_key)
        if named is not None:
            check_reach(examples, known, named)
        examples, known = self._clean(examples, known)
        return [eg.predicted for eg in examples], known

    def _clean(
        self, examples: Sequence[Example], known: list[PartialLabels]
    ) -> tuple[Sequence[Example], list[PartialLabels]]:
        """By clean words, if features read those."""
        if not self.reads_clean:
            return examples, known
        return with_clean_words(examples, known, self.settings.outside == "none")

    def _corpus(self, examples: Sequence[Example]) -> Corpus:
        """What is segmented, documents or sentences, and what is known of each."""
        docs, known = self._read(examples)
        return read_corpus(docs, known, self.schema, self.settings.scope, self.name)

    def note_seen(self, examples: Iterable[Example]) -> None:
        """Note texts that weights or settings are chosen by: on these `hosemi
        guarantee` promises nothing.

        examples (Iterable[Example]): Of these texts.
        """
        if self.seen_texts is not None:
            self.seen_texts.add(example.predicted.text for example in examples)

    def _check_sparse(self, what: str) -> None:
        """RAISES (ValueError): HS053 the model has more than weights of features."""
        if self.model.layers:
            raise ValueError(Errors.HS053.format(what=what, name=self.name))
