"""The component as spaCy sees it: what the contract of `TrainablePipe` asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Model

from ..core import Potentials
from ..errors import Errors
from ..features.instances import instances
from ..hierarchy.hierarchy import Hierarchy, check_hierarchy
from ..hierarchy.projection import scored_tree
from ..hierarchy.tree_trainer import make_trainer
from ..labels.alignment import labels_of
from ..labels.label_schema import LabelSchema
from ..model.state import Published
from ..model.tok2vec import set_output
from ..training.corpus import read_corpus
from ..training.objectives import Objective
from .advice import Advice
from .analysis import Analyzing
from .arguments import check_examples, check_initialization
from .confidence import register_extension
from .fitting import Fitting, fitted
from .scorer import score_entities
from .seen_texts import SeenTexts
from .serialization import Configs, has_config, load, save, unreadable
from .settings import Settings


class HighOrderSemiCRF(Fitting, Analyzing, TrainablePipe):
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
        if hierarchy is not None:
            check_hierarchy(hierarchy)
        self._trainer = make_trainer(model, LabelSchema(), hierarchy)
        self._published = Published(self._trainer)
        self.name = name
        self.scorer = scorer
        self.hierarchy = hierarchy
        self._objective = objective
        self._features = self._training.state.extractor.features
        self.settings = Settings(**settings)
        self._check(self.settings, objective)
        self._choose_features()
        self._configs, self.facts, self._advice = Configs(), None, Advice()
        self.seen_texts = SeenTexts()
        self.use_labels(())
        self._id = uuid4().hex
        self._number = 0  # of the last decoder; a copy goes on from it
        # A copy of the model that `nlp.resume_training` makes.
        self._named: set[str] = set()  # labels with spans out of reach
        self._rehearsal_model: Model[list[Doc], list[Potentials]] | None = None

    @property
    def label_data(self) -> list[str]:
        """What `spacy init labels` writes and initialize(labels=) reads."""
        return list(self.labels)

    def add_label(self, label: str) -> int:
        """Add a label: before initialization, or to a trained model.

        There it begins as unlikely as the least likely label, so that predictions stay
        as they are until it is trained; what the optimizer remembers is forgotten.

        label (str): Its name.
        RETURNS (int): 0 if it is present already, otherwise 1.
        RAISES (ValueError): HS040 reserved name.
        """
        with self._published.change():
            if label in self.labels:
                return 0
            if self._trainer.is_initialized:
                cfg = self.settings.cfg
                self._trainer.add_label(label, cfg, self._rehearsal_model)
            else:
                self.use_labels([*self.labels, label], self.schema.projection.parents)
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
        dev: Callable[..., Any] | None = None,
    ) -> None:
        """Collect labels, patterns and features; train, if a fit is given.

        get_examples (Callable[[], Iterable[Example]]): The training corpus.
        nlp (Optional[Language]): The pipeline.
        labels (Optional[List[str]]): All labels; by default those of the examples.
        gazetteers (Optional[Union[Dict[str, Callable], Callable]]): For each list of
            the model a function that gives its entries, such as read_gazetteer.v1; if
            it needs an argument, it gets the examples. Or one function for all lists.
        tables (Optional[Dict[str, Callable]]): Likewise, for the rows of each table.
        fit (Optional[Callable]): Batch training, such as spacy_hosemi.lbfgs.v1.
        hierarchy (Optional[Callable]): Gives the parent of each label, such as
            spacy_hosemi.read_label_tree.v1, if it is not in the names of the labels.
        dev (Optional[Callable]): Gives examples by which l2 = "auto" of fit chooses.
        RAISES (ValueError): HS029, HS035 gazetteers, tables; HS040, HS041 labels; HS079
            to HS112 settings; HS050 to HS053 no fit is possible; HS232, HS233 types.
            The component is as it was then, but for the parameters of a tok2vec.
        """
        validate_get_examples(get_examples, "HighOrderSemiCRF.initialize")
        given = labels, gazetteers, tables, fit, hierarchy, dev
        readers = check_initialization(nlp, *given)
        examples = list(get_examples())
        with self._as_a_whole():
            args = examples, nlp, labels, readers, fit, hierarchy, dev
            reports = self._initialize(*args)
            fitted.discard(self) if reports is None else fitted.add(self)

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Any = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """One online step; no step if a batch fit has just found the best weights.

        New labels and features of the examples are added: see `add_label`, `growth`.

        examples (Iterable[Example]): A batch.
        drop (float): Dropout in the tok2vec.
        sgd (Optional[Optimizer]): Gives learn rate and averages.
        losses (Optional[Dict[str, float]]): Added to under the component's name.
        RETURNS (Dict[str, float]): The losses.
        RAISES (ValueError): HS041 unknown label of an incorrect span; HS056 impossible
            gold; HS094 a span is both an entity and incorrect; HS102 not initialized;
            HS231 examples.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        if self in fitted:
            return losses
        examples = check_examples(examples, "update")
        trainer = self._trainer
        with self._published.change():
            if not trainer.is_initialized:
                raise ValueError(Errors.HS102.format(name=self.name))
            self.note_seen(examples)
            docs, known = self._read(examples, self._named)
            labels = trainer.schema.projection.labels
            for label in sorted(labels_of(known).difference(labels)):
                self.add_label(label)
            scope = self.settings.scope
            corpus = read_corpus(docs, known, trainer.schema, scope, self.name)
            if any(map(len, docs)):
                args = corpus, docs, self._objective, scope, drop
                losses[self.name] += trainer.update(*args)
                if sgd not in (None, False):
                    self.model.finish_update(sgd)
        return losses

    def finish_update(self, sgd: Any) -> None:
        """One step with the gradient of all updates since the last one.

        sgd (Optimizer): Gives learn rate and averages.
        """
        with self._published.change():
            super().finish_update(sgd)

    def use_params(self, params: dict[Any, Any]) -> Iterator[None]:
        """Predict with averaged weights for a while. As in `TrainablePipe`, it is a
        generator: `nlp.use_params` makes it a context manager.

        params (Dict[Tuple[int, str], Any]): The averages of an optimizer.
        """
        with ExitStack() as stack:
            with self._published.change():
                stack.enter_context(self.model.use_params(params))
            try:
                yield
            finally:
                with self._published.change():
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
        docs, _ = self._read(check_examples(examples, "rehearse"))
        parts = [u.tokens for doc in docs for u in instances(doc, scope)]
        with self._published.change():
            losses[self.name] += self._trainer.rehearse(parts, self._rehearsal_model)
            if sgd not in (None, False):
                self.finish_update(sgd)
        return losses

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """What the scorer says; it is given the tree of labels.

        examples (Iterable[Example]): Predicted and reference documents.
        RETURNS (Dict[str, Any]): See `score_entities`.
        """
        examples = check_examples(examples, "score")
        tree = scored_tree(self.hierarchy, self.schema.projection, examples)
        kwargs = {**({"tree": tree} if tree else {}), **kwargs}
        found: dict[str, Any] = super().score(examples, **kwargs)
        return found

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
        """Load what `to_bytes` gave, settings included. After an error the component is
        as it was, but for the parameters of a tok2vec.

        RAISES (ValueError): HS061 to HS064 it is none, or of a newer version; what
            `Settings` raises.
        """
        return self._load(bytes_data, exclude)

    def from_disk(
        self, path: str | Path, *, exclude: Sequence[str] = ()
    ) -> HighOrderSemiCRF:
        """Load what `to_disk` wrote, settings included; but settings that differ in the
        config of the pipeline, because they were changed there, are the config's.

        RAISES (ValueError): As `from_bytes`.
        """
        return self._load(Path(path), exclude)

    def _load(self, source: Path | bytes, exclude: Sequence[str]) -> HighOrderSemiCRF:
        with unreadable(), self._as_a_whole():
            if "model" not in exclude:  # the saved one may have other labels
                set_output(self.model, None)
            cfg = load(self, source, exclude) or self.cfg
            is_whole = isinstance(source, Path) and has_config(source)
            self._restore(cfg, self._configs.changed(cfg) if is_whole else {})
        fitted.discard(self)
        return self


register_extension()
