"""The component as spaCy sees it: what the contract of `TrainablePipe` asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc, Span
from spacy.training import Example, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Model

from ..core import Marginals, Potentials
from ..errors import Errors
from ..features.instances import check_doc, instances
from ..hierarchy.answers import LeafMarginals
from ..hierarchy.hierarchy import Hierarchy, check_hierarchy
from ..hierarchy.projection import scored_tree
from ..hierarchy.tree_trainer import make_trainer
from ..labels.alignment import labels_of
from ..labels.inventory import Span as SpanTriple
from ..labels.label_schema import LabelSchema
from ..labels.partial import AnySpan
from ..model.state import Published
from ..model.tok2vec import set_output
from ..prediction.answers import (
    Alternative,
    most_probable,
    posteriors,
    total_entropy,
)
from ..prediction.clean_decoder import CleanMarginals
from ..prediction.decoder import Decoder, Prediction
from ..prediction.explanation import Progress, unseen
from ..prediction.posterior import Posterior
from ..prediction.problem import JointMarginals
from ..prediction.ranked import Answer, make_rows, ranked
from ..training.corpus import read_corpus
from ..training.objectives import Objective
from . import answers, predict
from .advice import Advice
from .annotations import as_predicted
from .arguments import check_examples, check_initialization
from .confidence import register_extension
from .fitting import Fitting, fitted
from .scorer import score_entities
from .seen_texts import SeenTexts
from .serialization import Configs, has_config, load, save, unreadable
from .settings import Settings


class HighOrderSemiCRF(Fitting, TrainablePipe):
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
        self.trainer = make_trainer(model, LabelSchema(), hierarchy)
        self.published = Published(self.trainer)
        self.name = name
        self.scorer = scorer
        self.hierarchy = hierarchy
        self._objective = objective
        self._features = self._training.state.extractor.features
        self.settings = Settings(**settings)
        self._check(self.settings, objective)
        self._choose_features()
        self._configs, self.facts = Configs(), None
        self.prediction_warnings = Advice()
        self.seen_texts = SeenTexts()
        self.use_labels(())
        self.record_id = uuid4().hex
        self.decoder_number = 0  # of the last decoder; a copy goes on from it
        self._named: set[str] = set()  # labels with spans out of reach
        # A copy of the model that `nlp.resume_training` makes.
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
        with self.published.change():
            if label in self.labels:
                return 0
            if self.trainer.is_initialized:
                cfg = self.settings.cfg
                self.trainer.add_label(label, cfg, self._rehearsal_model)
            else:
                self.use_labels([*self.labels, label], self.schema.projection.parents)
            return 1

    # prediction

    @property
    def decoder(self) -> Decoder:
        """The decoder of the present labels, weights and settings."""
        return predict.decoder_of(self)

    def __call__(self, doc: Doc) -> Doc | None:
        """Annotate a document.

        RETURNS (Optional[Doc]): The same; None if it fails and the error handler
            returns.
        """
        return predict.annotate(self, doc)

    def pipe(
        self,
        stream: Iterable[Doc],
        *,
        batch_size: int = 128,
        threads: int | None = None,
        confidence: bool | None = None,
    ) -> Iterator[Doc]:
        """Annotate a stream of documents.

        batch_size (int): Documents in a batch, at most; fewer if they are long, which
            saves memory and costs no time.
        threads (Optional[int]), confidence (Optional[bool]): Instead of the settings of
            these names, which stay as they are; None: as they are. `nlp.pipe` passes
            them on: `component_cfg={"hosemi": {"threads": 2}}`.
        YIELDS (Doc): In their order; documents that fail go to the error handler.
        RAISES (ValueError): HS043 threads, confidence.
        """
        args = stream, batch_size, threads, confidence
        return predict.annotate_stream(self, *args)

    def predict(self, docs: Iterable[Doc]) -> list[Prediction]:
        """RETURNS (List[Prediction]): Spans of each document; none for an untrained
        model. RAISES (ValueError): HS060 if no segmentation is possible."""
        return self.decoder.predict(docs)

    def set_annotations(self, docs: Iterable[Doc], scores: list[Prediction]) -> None:
        """Write entities beside the preset ones, their probabilities, the span group;
        scores (List[Prediction]): what `predict` returned."""
        predict.set_annotations(self, docs, scores)

    def posterior_of(self, doc: Doc, number: int | None) -> Posterior | None:
        """Returns the distribution over segmentations of a document, as it was before
        it was predicted by the decoder of a number; None: there is another one now."""
        decoder = self.decoder
        return decoder.posterior(doc) if decoder.options.number == number else None

    # questions about a document; HS230 says that it is none

    def token_features(self, doc: Doc, is_train: bool = False) -> list[list[str]]:
        """List what the model reads at each token, in any role, without minimum count.

        is_train (bool): Whether lists of names are read as in training: without the
            entries that come from this document alone, and with dropout.
        RETURNS (List[List[str]]): Names such as "LOWER[-1]=the" for each token; none
            for whitespace, if clean_text is set.
        """
        return answers.token_features(self, doc, is_train)

    def marginals(
        self, doc: Doc
    ) -> Marginals | JointMarginals | LeafMarginals | CleanMarginals:
        """Compute the distribution over segmentations of a document.

        RETURNS (Marginals): Label index 0 is outside, then as in `labels`. In the scope
            "sents" with the same attributes, but for all sentences together. With
            labels in a tree that of the leaves, level by level without a gradient, else
            with one that for label patterns of the same weight is right in sum.
        """
        check_doc(doc)
        return self.decoder.posterior(doc).marginals()

    def kbest(self, doc: Doc, k: int) -> list[Alternative]:
        """Find the k most probable segmentations of a document.

        The most probable one is not what decoding = "mbr" predicts, and min_confidence
        drops nothing. In the scope "sents" they are the best combinations of those of
        the sentences. With tags on tokens, where whitespace at the ends of spans is cut
        off, several of the k best may mean the same spans; they are one alternative
        then, with the sum of their probabilities.

        RETURNS (List[Alternative]): Spans in tokens, probability; best first, fewer
            than k if no more are possible. Of an untrained model no spans, with
            probability 1.
        RAISES (ValueError): HS043 k; HS060 if no segmentation is possible.
        """
        check_doc(doc)
        return most_probable(posteriors(self.decoder, doc), k)

    def entropy(self, doc: Doc) -> float:
        """Compute how uncertain the segmentation of a document is.

        RETURNS (float): Entropy of the distribution over segmentations (with tags on
            tokens: over tag sequences) in nats, at least 0; in the scope "sents" the
            sum over the sentences; 0 for an untrained model.
        RAISES (ValueError): HS060 if no segmentation is possible.
        """
        check_doc(doc)
        return total_entropy(posteriors(self.decoder, doc))

    def redecode(
        self,
        doc: Doc,
        keep: Iterable[Span | SpanTriple] = (),
        forbid: Iterable[Span | AnySpan] = (),
    ) -> Doc:
        """Predict again under a user's corrections.

        The best segmentation with all spans of `keep` and none of `forbid`; confidences
        are conditional on the corrections (with tags on tokens on `keep` alone).
        Corrections override hard lists; `keep` overrides sentence starts in the scope
        "doc"; with `collective` a kept span also counts for its words elsewhere. A call
        does not remember earlier ones: pass all corrections each time. In a label tree
        the name of an inner node stands for all labels below it.

        keep (Iterable[Union[Span, Tuple[int, int, str]]]): Spans that are entities.
        forbid (Iterable[Union[Span, Tuple[int, int, Optional[str]]]]): Spans that are
            no entities; label None: whatever their label.
        RETURNS (Doc): The same document, with entities as the component writes them.
        RAISES (ValueError): HS095 to HS098 keep or forbid; HS060 if no segmentation is
            possible; the document is as it was then.
        """
        return answers.redecode(self, doc, keep, forbid)

    def explain(
        self,
        doc: Doc,
        span: Span | SpanTriple | None = None,
        *,
        label: str | None = None,
        changes: bool = False,
        progress: Progress = unseen,
    ) -> Any:
        """Explain why a span was predicted, or why it was not: compare the most
        probable segmentation with the span and the most probable one without it.

        log P(best with the span) / P(best without it) is a sum: of features, with their
        values and weights, entries of lists, label patterns, lengths and scores of a
        tok2vec. Other spans are free in both, whatever `decoding` is. Weights and
        settings are those of now; corrections of `redecode` are not remembered.

        doc (Doc): As predicted by the component.
        span (Optional[Union[Span, Tuple[int, int, str]]]): Any, predicted or not; None:
            each entity that the component found. In a label tree the name of an inner
            node stands for all labels below it.
        label (Optional[str]): Without a span: explain only entities with this label, or
            in a label tree with one below this name.
        changes (bool): Whether to look for what would change the answer: an entry more
            or less of a list, a rule more or less. Each is tried by a prediction.
        progress (Callable): Shows how far it is, such as `tqdm.tqdm`: called with the
            explanations as they are made, and `total`, their number; yields the same.
        RETURNS (Union[Explanation, List[Explanation]]): Of the span; of each entity.
        RAISES (ValueError): HS060 no segmentation is possible; HS095 no span of the
            document; HS096 unknown label; HS317 labels in a tree have a tok2vec or
            too many weights; HS318 the component has not predicted the document.
        """
        return answers.explain(self, doc, span, label, changes, progress)

    def ranked(self, doc: Doc, k: int = 1) -> list[Answer]:
        """List the segmentation that `doc.ents` gets, then the most probable others.

        The first one is as `decoding` and `min_confidence` say, and need not be the
        most probable one. Corrections of `redecode` are not remembered. Sentence starts
        and entities that came after the prediction have no influence on it, unless they
        have replaced one of its entities: then all that is in the document counts as
        given. An entity that was removed is predicted again.

        k (int): How many, with the first one; fewer if no more are possible.
        RETURNS (List[Answer]): With `spans` in tokens, existing entities included, the
            `confidences` of these spans (None: an existing one), and the `probability`
            of the whole.
        RAISES (ValueError): As `kbest`.
        """
        check_doc(doc)
        return ranked(self.decoder, *as_predicted(doc, self.name), k)

    def to_rows(self, doc: Doc, k: int = 1) -> list[dict[str, Any]]:
        """List the spans of what `ranked` returns as rows of a table.

        RETURNS (List[Dict[str, Any]]): Plain values by column: "rank" of the
            segmentation from 1, which `doc.ents` has, and its "probability"; of the
            span "start" and "end" in tokens, "start_char" and "end_char", "label",
            "text", and as "confidence" the probability of the span itself, in whatever
            segmentation; None for an entity of another component or a person. A
            segmentation without spans has no row.
        RAISES (ValueError): As `kbest`.
        """
        return make_rows(doc, self.ranked(doc, k))

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
        trainer = self.trainer
        with self.published.change():
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
        with self.published.change():
            super().finish_update(sgd)

    def use_params(self, params: dict[Any, Any]) -> Iterator[None]:
        """Predict with averaged weights for a while. As in `TrainablePipe`, it is a
        generator: `nlp.use_params` makes it a context manager.

        params (Dict[Tuple[int, str], Any]): The averages of an optimizer.
        """
        with ExitStack() as stack:
            with self.published.change():
                stack.enter_context(self.model.use_params(params))
            try:
                yield
            finally:
                with self.published.change():
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
        with self.published.change():
            losses[self.name] += self.trainer.rehearse(parts, self._rehearsal_model)
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
