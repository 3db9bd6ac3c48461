"""The component: spaCy's side of the model. The only writer of doc.ents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4
from weakref import WeakSet

import numpy as np
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc, Span
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Model

from ..core import Marginals, PatternAutomaton, Potentials
from ..core.parallel.coroutines import finish
from ..core.parallel.ordered import in_order
from ..errors import Errors
from ..features import FeatureSet, naming
from ..features.instances import batches, instances
from ..hierarchy.answers import LeafMarginals
from ..hierarchy.decoder import make_decoder
from ..hierarchy.hierarchy import Hierarchy, check_hierarchy
from ..hierarchy.projection import (
    make_projection,
    read_parents,
    scored_tree,
)
from ..hierarchy.tree_trainer import make_trainer
from ..hierarchy.weights import LevelState
from ..labels.alignment import labels_of, read_annotation
from ..labels.inventory import LabelInventory
from ..labels.inventory import Span as SpanTriple
from ..labels.label_schema import LabelSchema, read_schema
from ..labels.partial import AnySpan, PartialLabels
from ..model.state import ModelState, Published
from ..model.tok2vec import set_output, taking_turns
from ..model.weights.families import family_values
from ..model.weights.shim import Weights
from ..model.weights.state import Floats, WeightState
from ..model.weights.storage import unread
from ..prediction.answers import (
    Alternative,
    make_rows,
    most_probable,
    posteriors,
    total_entropy,
)
from ..prediction.corrections import read_corrections
from ..prediction.decoder import Decoder, DecodingOptions, Prediction
from ..prediction.posterior import Posterior
from ..prediction.problem import JointMarginals
from ..prediction.records import Numbers, register_component
from ..prediction.thresholds import check_labels
from ..training.corpus import Corpus, annotate, read_corpus
from ..training.data_checks import (
    check_fit,
    is_init_labels,
    warn_crossing,
    warn_misaligned,
    warn_unset,
)
from ..training.objectives import Objective, is_smooth
from ..values import read
from .annotations import remove_excluded, write_predictions
from .confidence import register_extension
from .resources import read_sources
from .scorer import score_entities
from .serialization import (
    FORMAT,
    Configs,
    check_shapes,
    load,
    save,
    unreadable,
)
from .settings import (
    LEARNT,
    NAMES,
    FunctionKind,
    HasSettings,
    Settings,
    check_trainable,
    check_tree,
    warn_untrainable,
)

# Components that a batch fit has just given the best weights: online steps would only
# lead away from them. Copies and saved models are not in it, so they train on.
fitted: WeakSet[HighOrderSemiCRF] = WeakSet()


class HighOrderSemiCRF(HasSettings, TrainablePipe):
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
        self.vocab = vocab
        self.model = model
        self._published = Published()
        if hierarchy is not None:
            check_hierarchy(hierarchy)
        self._trainer = make_trainer(model, LabelSchema(), hierarchy)
        self.name = name
        self.scorer = scorer
        self.hierarchy = hierarchy
        self._objective = objective
        self._features = self._training.state.extractor.features
        self.settings = Settings(**settings)
        self._check(self.settings, objective)
        self._choose_features()
        self._configs = Configs()
        self._use_labels(())
        self._id = uuid4().hex
        self._numbers = Numbers()
        # A copy of the model that `nlp.resume_training` makes.
        self._rehearsal_model: Model[list[Doc], list[Potentials]] | None = None

    def show_in(self, nlp: Language) -> None:
        """Show settings, when they change, in the config of a pipeline that has the
        component."""
        self._configs.add(self, nlp)

    @property
    def cfg(self) -> dict[str, Any]:
        """What is saved beside the model: the settings, labels and label patterns."""
        return {"format": FORMAT, **self.settings.cfg, **self.schema.to_cfg()}

    @cfg.setter
    def cfg(self, cfg: Mapping[str, Any]) -> None:
        """Change settings: `spacy find-threshold` assigns the whole."""
        for name in NAMES:
            if name in cfg and cfg[name] != self.settings.cfg[name]:
                self.change_setting(name, cfg[name])

    @property
    def state(self) -> ModelState:
        """What predictions read, another object whenever labels or weights have
        changed. Read it once for each prediction."""
        return self._published.read(self._trainer)

    @property
    def schema(self) -> LabelSchema:
        """Labels, label patterns and rules, as training changes them."""
        return self._trainer.schema

    @schema.setter
    def schema(self, schema: LabelSchema) -> None:
        self._trainer.schema = schema

    @contextmanager
    def _change(self, *, is_long: bool = False) -> Iterator[None]:
        """What is done within changes the state as a whole; see `Published`."""
        change = self._published.change(self._trainer, is_long=is_long)
        with change, taking_turns(self.model):
            yield

    @property
    def objective(self) -> Objective:
        """(automaton, potentials, gold) -> (loss, gradient)."""
        return self._objective

    @objective.setter
    def objective(self, objective: Objective) -> None:
        self._check(self.settings, objective)
        self._objective = objective

    def change_setting(self, name: str, value: Any) -> None:
        """Change one setting; setting the attribute does the same.

        name (str): Of the setting.
        value (Any): As the config has it.
        RAISES (ValueError): As `Settings`; HS090, HS091, HS118 the features, labels or
            label tree do not allow it; HS150 the weights depend on it. The component is
            as it was then.
        """
        settings, old = self.settings.changed(name, value), getattr(self, name)
        self._check(settings, self._objective)
        new = getattr(settings, name)
        if self._trainer.is_initialized and name in LEARNT and new != old:
            args = {"name": name, "component": self.name, "found": old}
            raise ValueError(Errors.HS150.format(expected=new, **args))
        if self._trainer.is_initialized and name == "min_confidence":
            names = self.schema.projection.names()
            check_labels(settings.min_confidence, names, self.name)
        self.settings = settings
        self._configs.show({name: settings.cfg[name]})
        if name in LEARNT and new != old:
            self._choose_features()
            self._use_labels(self.labels, self.schema.projection.parents)

    def _check(self, settings: Settings, objective: Objective) -> None:
        """RAISES (ValueError): HS043 objective; HS090, HS118 settings."""
        read("objective", FunctionKind(), objective)
        if self.hierarchy is not None:
            lists = self._training.state.extractor.gazetteers.settings
            check_tree(settings, is_smooth(objective), lists)
        if self._features.transition_roles and not settings.has_observed:
            role = self._features.transition_roles[0]
            names = ", ".join(dict.fromkeys(map(str, self._features.roles[role])))
            raise ValueError(Errors.HS090.format(role=role, found=names))

    def _choose_features(self) -> None:
        """Read features of label patterns, if there are such patterns."""
        features = self._features
        if self.settings.has_observed:
            features = features.with_transitions()
        self._read_features(features)

    def _read_features(self, features: FeatureSet) -> None:
        state = self._training.state
        if features is not state.extractor.features:
            self._training.read_with(state.extractor.reading(features))

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of spans, without outside."""
        return self.schema.labels

    def _use_labels(
        self, labels: Iterable[str], parents: Mapping[str, str] | None = None
    ) -> None:
        """Labels without patterns. RAISES (ValueError): HS040, HS115; the schema is as
        it was then."""
        without: dict[str, Any] = {"patterns": [], "observed": [], "label_rules": []}
        given = {"labels": list(labels), "tree": parents or {}}
        self.schema = self._read_schema({**self.settings.cfg, **without, **given})

    def _read_schema(self, cfg: Mapping[str, Any]) -> LabelSchema:
        parents = cfg.get("tree", {})
        return read_schema(cfg, make_projection(self.hierarchy, cfg["labels"], parents))

    @property
    def inventory(self) -> LabelInventory:
        """The names that segments have."""
        return self.schema.inventory

    @property
    def label_data(self) -> list[str]:
        """What `spacy init labels` writes and initialize(labels=) reads."""
        return list(self.labels)

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
        return self._trainer.weights

    @property
    def automaton(self) -> PatternAutomaton:
        """Of labels, patterns and rules."""
        return self.schema.automaton

    def add_label(self, label: str) -> int:
        """Add a label: before initialization, or to a trained model.

        There it begins as unlikely as the least likely label, so that predictions stay
        as they are until it is trained; what the optimizer remembers is forgotten.

        label (str): Its name.
        RETURNS (int): 0 if it is present already, otherwise 1.
        RAISES (ValueError): HS040 reserved name.
        """
        with self._change():
            if label in self.labels:
                return 0
            if self._trainer.is_initialized:
                cfg = self.settings.cfg
                self._trainer.add_label(label, cfg, self._rehearsal_model)
            else:
                self._use_labels([*self.labels, label], self.schema.projection.parents)
            return 1

    # training

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: list[str] | None = None,
        gazetteers: dict[str, Any] | Callable[..., Any] | None = None,
        tables: dict[str, Any] | None = None,
        fit: Callable[..., Any] | None = None,
        hierarchy: Callable[[], dict[str, str]] | None = None,
    ) -> None:
        """Collect labels, patterns and features; train, if a fit is given.

        get_examples (Callable[[], Iterable[Example]]): The training corpus.
        nlp (Optional[Language]): The pipeline.
        labels (Optional[List[str]]): All labels; by default those of the examples.
        gazetteers (Optional[Union[Dict[str, Callable], Callable]]): For each list of
            the model a function that gives its entries, such as
            spacy_hosemi.read_gazetteer.v1; if it needs an argument, it is given the
            examples. Or one for all lists, such as spacy_hosemi.read_gazetteers.v1.
        tables (Optional[Dict[str, Callable]]): For each table of the model a function
            that gives its rows, such as spacy_hosemi.read_table.v1; likewise.
        fit (Optional[Callable]): Batch training, such as spacy_hosemi.lbfgs.v1.
        hierarchy (Optional[Callable]): Gives the parent of each label, such as
            spacy_hosemi.read_label_tree.v1, if it is not in the names of the labels.
        RAISES (ValueError): HS029, HS035 gazetteers, tables; HS040, HS041 labels; HS079
            pattern_selection; HS091 min_confidence; HS112 observed_patterns; HS050 to
            HS053 nothing to fit, or no fit is possible.
        """
        validate_get_examples(get_examples, "HighOrderSemiCRF.initialize")
        examples = list(get_examples())
        readers = gazetteers or {}, tables or {}
        with self._change(is_long=True):
            self._initialize(examples, nlp, labels, readers, fit, hierarchy)

    def _initialize(
        self,
        examples: list[Example],
        nlp: Language | None,
        labels: list[str] | None,
        readers: tuple[Any, Any],
        fit: Callable[..., Any] | None,
        hierarchy: Callable[[], dict[str, str]] | None,
    ) -> None:
        if nlp is not None:
            self.show_in(nlp)
        annotations = self._annotations(examples)
        found = labels_of(annotations)
        known = list(labels) if labels is not None else list(self.labels)
        if labels is None:
            known += sorted(found.difference(known))
        if is_init_labels():
            fit = None
        else:
            check_trainable(self.settings, self.name)
        if fit is not None:
            self._check_sparse("a fit")
            check_fit(examples, bool(found), nlp, self.name)
            warn_misaligned(examples, annotations)
        annotate(nlp, examples)
        docs = [eg.predicted for eg in examples]
        extractor = unread(self._training.state.extractor)
        warn_unset(extractor, docs)
        self._use_labels(known, read_parents(self.hierarchy, known, hierarchy))
        self._check_hard_lists()
        check_labels(self.min_confidence, self.schema.projection.names(), self.name)
        nlp = nlp or Language(self.vocab)
        read_sources(extractor, *readers, nlp, examples, self.name)
        self._training.read_with(extractor)
        corpus = self._corpus(examples, annotations)
        warn_crossing(examples, annotations, self.settings.scope)
        fitted.discard(self)
        args = self.settings.cfg, self.objective, fit
        self._trainer.initialize(corpus, docs, *args)
        if fit is not None:
            fitted.add(self)

    def _check_hard_lists(self) -> None:
        """RAISES (ValueError): HS029 a list has a label that is none of ours."""
        lists = self._training.state.extractor.gazetteers.settings
        for name, gazetteer in lists.items():
            if gazetteer.label is not None and gazetteer.label not in self.labels:
                raise ValueError(
                    Errors.HS029.format(
                        name=name, found=gazetteer.label, expected=self.labels
                    )
                )

    def _check_sparse(self, what: str) -> None:
        """RAISES (ValueError): HS053 the model has more than weights of features."""
        if self.model.layers:
            raise ValueError(Errors.HS053.format(what=what, name=self.name))

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Any = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """One online step; nothing, if a batch fit has just found the best weights.

        What is met first is added: labels, see `add_label`; features, see `growth`.

        examples (Iterable[Example]): A batch.
        drop (float): Dropout in the tok2vec.
        sgd (Optional[Optimizer]): Gives learn rate and averages.
        losses (Optional[Dict[str, float]]): Added to under the component's name.
        RETURNS (Dict[str, float]): The losses.
        RAISES (ValueError): HS041 unknown label of an incorrect span; HS056 impossible
            gold; HS094 a span is both an entity and incorrect; HS102 not initialized.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        if self in fitted:
            return losses
        if not self._trainer.is_initialized:
            raise ValueError(Errors.HS102.format(name=self.name))
        examples = list(examples)
        validate_examples(examples, "HighOrderSemiCRF.update")
        annotations = self._annotations(examples)
        with self._change():
            for label in sorted(labels_of(annotations).difference(self.labels)):
                self.add_label(label)
            corpus = self._corpus(examples, annotations)
            if any(map(len, corpus.docs)):
                docs = [eg.predicted for eg in examples]
                args = self.objective, self.settings.scope, drop
                losses[self.name] += self._trainer.update(corpus, docs, *args)
                if sgd not in (None, False):
                    self.finish_update(sgd)
        return losses

    def finish_update(self, sgd: Any) -> None:
        """One step with the gradient of all updates since the last one.

        sgd (Optimizer): Gives learn rate and averages.
        """
        with self._change():
            super().finish_update(sgd)

    def use_params(self, params: dict[Any, Any]) -> Iterator[None]:
        """Predict with averaged weights for a while. As in `TrainablePipe`, it is a
        generator: `nlp.use_params` makes it a context manager.

        params (Dict[Tuple[int, str], Any]): The averages of an optimizer.
        """
        with ExitStack() as stack:
            with self._change():
                stack.enter_context(self.model.use_params(params))
            try:
                yield
            finally:
                with self._change():
                    stack.close()

    def rehearse(
        self,
        examples: Iterable[Example],
        *,
        sgd: Any = None,
        losses: dict[str, float] | None = None,
        **config: Any,
    ) -> dict[str, float]:
        """A step back to what was predicted when training was resumed, so that it is
        not forgotten: see `objectives.divergence`.

        examples (Iterable[Example]): A batch; only the predicted documents are read.
        sgd (Optional[Optimizer]): Gives learn rate and averages.
        losses (Optional[Dict[str, float]]): Added to under the component's name.
        RETURNS (Dict[str, float]): The losses; as they were before
            `nlp.resume_training`.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        if self._rehearsal_model is None:
            return losses
        scope = self.settings.scope
        docs = [u.tokens for eg in examples for u in instances(eg.predicted, scope)]
        with self._change():
            losses[self.name] += self._trainer.rehearse(docs, self._rehearsal_model)
            if sgd not in (None, False):
                self.finish_update(sgd)
        return losses

    def get_loss(
        self, examples: Iterable[Example], scores: Sequence[Potentials]
    ) -> tuple[float, list[Potentials]]:
        """Loss of a batch and its gradient.

        examples (Iterable[Example]): A batch.
        scores (Sequence[Potentials]): Of each document; by sentence in that scope.
        RETURNS (Tuple[float, List[Potentials]]): The summed loss, the derivatives.
        """
        examples = list(examples)
        validate_examples(examples, "HighOrderSemiCRF.get_loss")
        golds = self._corpus(examples).golds
        return self._trainer.losses(golds, scores, self.objective)

    def value_and_gradient(self, examples: Iterable[Example]) -> tuple[float, Floats]:
        """Loss and gradient of a batch at the present weights, for other optimizers.

        examples (Iterable[Example]): Documents with gold.
        RETURNS (Tuple[float, float64 [N]]): Without regularisation; the gradient in
            the order of `get_weights`.
        RAISES (ValueError): HS053 the model has a tok2vec; HS056 impossible gold.
        """
        self._check_sparse("value_and_gradient")
        corpus = self._corpus(list(examples))
        return self._trainer.batch(corpus, self.objective).value_and_gradient()

    def get_weights(self) -> Floats:
        """RETURNS (float64 [N]): All weights of features, label patterns and lengths
        that are learnt, as one vector."""
        return self._training.vector()

    def set_weights(self, weights: Floats) -> None:
        """Replace all weights.

        weights (float64 [N]): In the order of `get_weights`.
        RAISES (ValueError): HS055 wrong length.
        """
        with self._change():
            self._training.set_vector(np.asarray(weights, np.float64))

    def prune(self, below: float | Mapping[str, float] = 0.0) -> None:
        """Forget weights near 0, features and label patterns that have none left.

        What has weight 0 changes no prediction: a fit with l1 ends in this. Training
        can go on, with the weights that are left. Those of lengths all stay.

        below (Union[float, Dict[str, float]]): The largest absolute value of a weight
            that is forgotten; or by family (a role such as inside, or transition, or
            pattern), 0 for those that are not named.
        RAISES (ValueError): HS043 below 0; HS054 unknown family; HS118 labels in a
            tree.
        """
        values = family_values("below", below)
        if not all(value >= 0.0 for value in values.values()):
            raise ValueError(
                Errors.HS043.format(name="below", found=below, expected=">= 0")
            )
        with self._change():
            self._trainer.prune(values, self.settings.cfg)

    def _corpus(
        self,
        examples: Sequence[Example],
        annotations: Iterable[PartialLabels] | None = None,
    ) -> Corpus:
        """What is segmented, documents or sentences, and what is known of each."""
        known = annotations or self._annotations(examples)
        projection = self.schema.projection
        args = self.inventory, projection, self.settings.scope, self.name
        return read_corpus(examples, known, *args)

    def _annotations(self, examples: Iterable[Example]) -> list[PartialLabels]:
        return [read_annotation(eg, self.incorrect_spans_key) for eg in examples]

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """What the scorer says; it is given the tree of labels.

        examples (Iterable[Example]): Predicted and reference documents.
        RETURNS (Dict[str, Any]): See `score_entities`.
        """
        examples = list(examples)
        tree = scored_tree(self.hierarchy, self.schema.projection, examples)
        kwargs = {**({"tree": tree} if tree else {}), **kwargs}
        found: dict[str, Any] = super().score(examples, **kwargs)
        return found

    # prediction

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Apply the component to a stream.

        stream (Iterable[Doc]): Documents.
        batch_size (int): At most so many are worked on at a time; fewer where they are
            long, for more would only take memory.
        YIELDS (Doc): In their order; those that fail go to the error handler.
        """
        error_handler = self.get_error_handler()
        # The decoder is that of the moment when a batch is begun.
        args = lambda docs: self.decoder.steps(docs), self.threads
        for docs, found in in_order(batches(stream, batch_size), *args):
            try:
                self.set_annotations(docs, found())
            except Exception:
                yield from self._one_by_one(docs, error_handler)
            else:
                yield from docs

    def _one_by_one(self, docs: list[Doc], error_handler: Any) -> Iterator[Doc]:
        """Documents some of which fail."""
        for doc in docs:
            try:
                self.set_annotations([doc], self.predict([doc]))
            except Exception as e:
                error_handler(self.name, self, [doc], e)
            else:
                yield doc

    def predict(self, docs: Iterable[Doc]) -> list[Prediction]:
        """Spans of each document.

        docs (Iterable[Doc]): Documents.
        RETURNS (List[Prediction]): Nothing for an untrained model.
        RAISES (ValueError): HS060 if no segmentation is possible.
        """
        return self.decoder.predict(docs)

    @property
    def decoder(self) -> Decoder:
        """Of the state and the settings as they are now."""
        state, options = self.state, self._decoding_options
        decoder: Decoder | None = self._published.decoder
        if decoder and decoder.state is state and decoder.options == options:
            return decoder
        with self._published.making:  # one thread makes it, others wait
            decoder = self._published.decoder
            if not (decoder and decoder.state is state and decoder.options == options):
                decoder = make_decoder(state, options, self.model, decoder)
                self._published.decoder = decoder
        return decoder

    @property
    def _decoding_options(self) -> DecodingOptions:
        lists_ents = bool(self.spans_key) and self.spans_threshold is None
        return DecodingOptions(
            self.name,
            self.settings.scope,
            self.settings.max_length,
            self.decoding,
            self.expected_f1,
            self.collective,
            self.spans_threshold,
            self.min_confidence,
            self.temperature,
            self.confidence or lists_ents,
            self.hierarchy,
        )

    def set_annotations(self, docs: Iterable[Doc], scores: list[Prediction]) -> None:
        """Write entities beside the preset ones, their probabilities, the span group.

        docs (Iterable[Doc]): Documents.
        scores (List[Prediction]): From `predict`.
        """
        self._id = register_component(self, self._id, uuid4().hex)
        left = [x.posterior.decoder for x in scores if x.posterior is not None]
        number = self._numbers.of(left[0]) if left else None
        record = {"component": self._id, "state": number}
        write_predictions([*docs], scores, self.name, self.spans_key, record)

    def posterior_of(self, doc: Doc, number: int | None) -> Posterior | None:
        """The distribution over segmentations of a document that was predicted before.

        doc (Doc): As it was before prediction.
        number (Optional[int]): Of the labels and weights it was predicted with.
        RETURNS (Optional[Posterior]): None if there are others now.
        """
        decoder = self.decoder
        is_same = self._numbers.of(decoder) == number
        return decoder.posterior(doc) if is_same else None

    def token_features(self, doc: Doc, is_train: bool = False) -> list[list[str]]:
        """What the model reads at each token, in any role, without minimum count.

        doc (Doc): n tokens.
        is_train (bool): Whether lists of names are read as in training: without the
            entries that come from this document alone, and with dropout.
        RETURNS (List[List[str]]): n lists of names such as "LOWER[-1]=the".
        """
        read, extractor = naming.token_features, self.weights.extractor
        return [
            names
            for instance in instances(doc, self.settings.scope)
            for names in read(extractor, instance.tokens, is_train)
        ]

    def marginals(self, doc: Doc) -> Marginals | JointMarginals | LeafMarginals:
        """The distribution over segmentations of a document.

        doc (Doc): n tokens.
        RETURNS (Marginals): Label index 0 is outside, then as in `labels`. In the scope
            "sents" with the same attributes, but for all sentences together. With
            labels in a tree that of the leaves, level by level without a gradient, else
            with one that for label patterns of the same weight is right in sum.
        """
        return self.decoder.posterior(doc).marginals()

    def kbest(self, doc: Doc, k: int) -> list[Alternative]:
        """The k most probable segmentations of a document.

        What is most probable is not what decoding = "mbr" predicts, and min_confidence
        drops nothing. In the scope "sents" they are the best combinations of those of
        the sentences. With tags on tokens, where whitespace at the ends of spans is cut
        off, several of the k best may mean the same spans; they are one alternative
        then, with the sum of their probabilities.

        doc (Doc): n tokens.
        k (int): How many; fewer if no more are possible.
        RETURNS (List[Alternative]): Spans in tokens of the document, probability; best
            first. Of an untrained model no spans, with probability 1.
        RAISES (ValueError): HS043 k; HS060 if no segmentation is possible.
        """
        return most_probable(posteriors(self.decoder, doc), k)

    def entropy(self, doc: Doc) -> float:
        """How uncertain the segmentation of a document is.

        doc (Doc): n tokens.
        RETURNS (float): Entropy of the distribution over segmentations in nats, from 0;
            in the scope "sents" the sum over the sentences. With tags on tokens that
            over sequences of tags. Of an untrained model 0.
        RAISES (ValueError): HS060 if no segmentation is possible.
        """
        return total_entropy(posteriors(self.decoder, doc))

    def redecode(
        self,
        doc: Doc,
        keep: Iterable[Span | SpanTriple] = (),
        forbid: Iterable[Span | AnySpan] = (),
    ) -> Doc:
        """Predict once more, given what a user has corrected.

        All other spans are decoded anew, exactly, and their confidence is that given
        what is fixed; but with tags on tokens what is forbidden does not count there.
        What is fixed goes before hard lists, and what is kept before sentence starts in
        the scope "doc"; with `collective` it speaks for the same words elsewhere. Each
        call is for itself: give what was fixed before again. With labels in a tree
        their upper names stand for all that is below them.

        doc (Doc): n tokens.
        keep (Iterable[Union[Span, Tuple[int, int, str]]]): Spans that are entities.
        forbid (Iterable[Union[Span, Tuple[int, int, Optional[str]]]]): Spans that are
            no entities; label None: whatever their label.
        RETURNS (Doc): The same document, with entities as the component writes them.
        RAISES (ValueError): HS095 to HS098 keep or forbid; HS060 if no segmentation is
            possible; the document is as it was then.
        """
        decoder = self.decoder
        schema = decoder.state.schema
        projection = schema.projection
        args = schema.inventory, self.settings.scope, projection.names()
        corrections = projection.lift(read_corrections(doc, keep, forbid, *args))
        (prediction,) = finish(decoder.steps([doc], corrections or None))
        remove_excluded(doc, corrections)
        self.set_annotations([doc], [prediction])
        return doc

    def to_rows(self, doc: Doc, k: int = 1) -> list[dict[str, Any]]:
        """The spans of the k most probable segmentations, as rows of a table.

        doc (Doc): n tokens.
        k (int): How many segmentations, as for `kbest`.
        RETURNS (List[Dict[str, Any]]): Plain values by column: "rank" of the
            segmentation from 1 and its "probability"; of the span "start" and "end" in
            tokens, "start_char" and "end_char", "label", "text", and as "confidence"
            the probability of the span itself, in whatever segmentation. A segmentation
            without spans has no row.
        RAISES (ValueError): As `kbest`.
        """
        return make_rows(doc, posteriors(self.decoder, doc), k)

    # state

    def to_bytes(self, *, exclude: Sequence[str] = ()) -> bytes:
        """The settings, labels and weights, for `from_bytes`."""
        return save(self, None, exclude)

    def to_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> None:
        """Write settings, labels and weights to a folder, for `from_disk`."""
        save(self, Path(path), exclude)

    def from_bytes(
        self, bytes_data: bytes, *, exclude: Sequence[str] = ()
    ) -> HighOrderSemiCRF:
        """Load what `to_bytes` gave, settings included.

        RAISES (ValueError): HS061 to HS064 it is none, or of a newer version; what
            `Settings` raises.
        """
        with unreadable(), self._change(is_long=True):
            self._forget_labels(exclude)
            cfg = load(self, bytes_data, exclude)
            return self._loaded(cfg or self.cfg, {})

    def from_disk(
        self, path: str | Path, *, exclude: Sequence[str] = ()
    ) -> HighOrderSemiCRF:
        """Load what `to_disk` wrote, settings included; but settings that differ in the
        config of the pipeline, because they were changed there, are the config's.

        RAISES (ValueError): As `from_bytes`.
        """
        with unreadable(), self._change(is_long=True):
            self._forget_labels(exclude)
            cfg = load(self, Path(path), exclude) or self.cfg
            is_whole = (Path(path).parent / "config.cfg").is_file()
            return self._loaded(cfg, self._configs.changed(cfg) if is_whole else {})

    def _forget_labels(self, exclude: Sequence[str]) -> None:
        """The model that is going to be loaded may have others."""
        if "model" not in exclude:
            set_output(self.model, None)

    def _loaded(
        self, cfg: Mapping[str, Any], changed: Mapping[str, Any]
    ) -> HighOrderSemiCRF:
        before = self.settings.cfg
        given = {**before, **{name: cfg[name] for name in NAMES if name in cfg}}
        free = {k: value for k, value in changed.items() if k not in LEARNT}
        self.settings = Settings(**{**given, **free})
        self._configs.show(self.settings.cfg)
        warn_untrainable(self.settings, self.name)
        # Before initialization rules may name labels that there are not yet.
        rules = given["label_rules"] if self._trainer.is_initialized else []
        self.schema = self._read_schema({**given, **cfg, "label_rules": rules})
        self._trainer.connect()
        self._choose_features()
        if self.inventory.on_tokens:
            features = self._training.state.extractor.features
            self._read_features(features.on_tokens())
        if self._training.state.is_trained:
            self._check_hard_lists()
            check_labels(self.min_confidence, self.schema.projection.names(), self.name)
            check_shapes(self._training.state, self.automaton)
        fitted.discard(self)
        return self


register_extension()
