"""The component as spaCy and users see it: its data, and the functions that are its
methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from uuid import uuid4

from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Model

from ..core import PatternAutomaton, Potentials
from ..hierarchy.hierarchy import Hierarchy, check_hierarchy
from ..hierarchy.level_state import LevelState
from ..hierarchy.projection import scored_tree
from ..hierarchy.tree_trainer import make_trainer
from ..labels.inventory import LabelInventory
from ..labels.label_schema import LabelSchema
from ..model.state import ModelState, Published
from ..model.tok2vec import encoder_of, reads_words
from ..model.weights.state import WeightState
from ..prediction.posterior_cache import register_extensions
from ..training.objectives import Objective
from . import answers, configure, description, parameters, serialization
from . import fit as training
from . import initialize as initialization
from . import predict as prediction
from .config_blocks import ConfigBlocks
from .examples import check_examples
from .prediction_warnings import PredictionWarnings
from .scorer import score_entities
from .settings import Settings
from .training_summary import TrainingSummary, TrainingTexts


class HighOrderSemiCRF(TrainablePipe):
    """Extract spans with a high-order semi-Markov CRF.

    vocab (Vocab): The shared vocabulary.
    model (Model[List[Doc], List[Potentials]]): A span scorer.
    name (str): The name in the pipeline.
    objective (Callable): (automaton, potentials, gold) -> (loss, gradient).
    hierarchy (Optional[Hierarchy]): Labels are leaves of a tree, and are found coarse
        to fine; see `make_hierarchy`.
    scorer (Optional[Callable]): For evaluation.
    settings (Any): All others, see `Settings`. Each is an attribute of the component,
        too; those that the weights depend on can be set before initialization only.
    RAISES (ValueError): As `Settings`; HS090 observed_order; HS118 hierarchy.
    """

    def __init__(
        self,
        vocab: Vocab,
        model: Model[list[Doc], list[Potentials]],
        name: str = "hosemi",
        *,
        objective: Objective,
        hierarchy: Hierarchy | None = None,
        scorer: Callable[..., Any] | None = score_entities,
        **settings: Any,
    ) -> None:
        self.vocab, self.model, self.name, self.scorer = vocab, model, name, scorer
        if hierarchy is not None:
            check_hierarchy(hierarchy)
        self.hierarchy = hierarchy
        self.trainer = make_trainer(model, LabelSchema(), hierarchy)
        self.published = Published(self.trainer)
        # Without those of label patterns, which are read only if there are such.
        self.configured_features = self.trainer.weights.state.extractor.features
        self.settings = Settings(**settings)
        configure.check(self, self.settings, objective)
        self._objective = objective
        self.config_blocks = ConfigBlocks()
        # Of the training documents; texts: None: they were not noted.
        self.facts: TrainingSummary | None = None
        self.training_texts: TrainingTexts | None = TrainingTexts()
        self.prediction_warnings = PredictionWarnings()
        self.warned_labels: set[str] = set()  # with spans that no tokens can form
        self.record_id = uuid4().hex
        self.decoder_number = 0  # of the last decoder; a copy goes on from it
        # A copy of the model that `nlp.resume_training` makes.
        self._rehearsal_model: Model[list[Doc], list[Potentials]] | None = None
        configure.choose_features(self)
        configure.use_labels(self, ())

    change_setting = configure.change_setting
    cfg = property(serialization.make_cfg, configure.change_settings)

    @property
    def objective(self) -> Objective:
        """(automaton, potentials, gold) -> (loss, gradient)."""
        return self._objective

    @objective.setter
    def objective(self, objective: Objective) -> None:
        configure.check(self, self.settings, objective)
        self._objective = objective

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of spans, without outside."""
        return self.schema.labels

    @property
    def label_data(self) -> list[str]:
        """What `spacy init labels` writes and initialize(labels=) reads."""
        return list(self.labels)

    @property
    def schema(self) -> LabelSchema:
        """Labels, label patterns and rules, as training changes them."""
        return self.trainer.schema

    @schema.setter
    def schema(self, schema: LabelSchema) -> None:
        self.trainer.schema = schema

    @property
    def inventory(self) -> LabelInventory:
        """The names that segments have."""
        return self.schema.inventory

    @property
    def automaton(self) -> PatternAutomaton:
        """The automaton of labels, patterns and rules."""
        return self.schema.automaton

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
    def reads_clean(self) -> bool:
        """Whether features read documents of clean words; most tok2vecs read tokens."""
        is_sparse = not self.model.layers
        is_clean = is_sparse or reads_words(encoder_of(self.model))
        return self.settings.clean_text and is_clean

    __repr__ = description.to_line
    _repr_html_ = description.to_html

    decoder = property(prediction.present_decoder)
    __call__ = prediction.annotate
    pipe = prediction.annotate_stream
    predict = prediction.predict
    set_annotations = prediction.set_annotations
    posterior_of = prediction.posterior_of

    token_features = answers.token_features
    marginals = answers.marginals
    kbest = answers.kbest
    probability = answers.probability
    entropy = answers.entropy
    redecode = answers.redecode
    explain = answers.explain
    ranked = answers.ranked
    verdicts = answers.verdicts
    to_rows = answers.to_rows

    add_label = training.add_label
    initialize = initialization.initialize
    fit = training.fit
    adapt = training.adapt
    update = training.update
    rehearse = training.rehearse
    use_params = training.use_params
    note_seen = training.note_seen

    def finish_update(self, sgd: Any) -> None:
        """Make one step with the gradient of all updates since the last one."""
        with self.published.change():
            super().finish_update(sgd)

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Score predictions; the scorer, see `score_entities`, gets the label tree."""
        examples = check_examples(examples, "score")
        tree = scored_tree(self.hierarchy, self.schema.projection, examples)
        scores: dict[str, Any] = super().score(
            examples, **{**({"tree": tree} if tree else {}), **kwargs}
        )
        return scores

    get_loss = parameters.get_loss
    value_and_gradient = parameters.value_and_gradient
    get_weights = parameters.get_weights
    set_weights = parameters.set_weights
    prune = parameters.prune

    to_bytes = serialization.to_bytes
    to_disk = serialization.to_disk
    from_bytes = serialization.from_bytes
    from_disk = serialization.from_disk


configure.add_attributes(HighOrderSemiCRF)
register_extensions()
