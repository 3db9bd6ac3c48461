"""An estimator for scikit-learn: texts in, spans in characters out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import spacy
from catalogue import RegistryError  # type: ignore[import-untyped]
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training.initialize import load_vectors_into_model
from spacy.util import registry
from thinc.api import Config

from .component.examples import CharSpan, check_pair, make_example, without_annotation
from .component.fit import FitResult
from .component.scorer import score_spans
from .component.settings import list_settings
from .configs import KINDS, find_vectors, make_config
from .configs.compose import check_language
from .errors import Errors
from .features.feature_set import SETTINGS as FEATURES
from .formats.texts import has_half
from .training.lbfgs import SETTINGS as FIT
from .values import FILE_PATH, choice, map_values, read, read_all, shown

try:
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:
    raise ImportError(Errors.HS185) from error

Text = str | Doc | Sequence[str]

# Parameters that are settings of the component, of its features, and of its fit.
_OF_COMPONENT = ("max_order", "decoding", "min_confidence", "threads")
_OF_FEATURES = ("preset",)
_OF_FIT = ("l2", "max_iter")


class SpanExtractor(BaseEstimator):
    """Extract labelled spans from texts, trained by one call of `fit`.

    Texts are a sequence (a list, an array, a column of a data frame) of strings, of
    spaCy's documents, whose annotation is not read, or of lists of tokens; spans are a
    list for each text of (start, end, label), end exclusive: in characters, or in
    tokens for a list of tokens.

    kind (str): What the texts are, as `hosemi init --for` has it: "fields" or another.
        What is None below, and all that is not named, is as in the config that `init`
        writes for it.
    l2 (Union[float, str, Dict[str, float], None]): Weight of half the squared norm in
        training, for all weights or by penalty group; "auto" chooses it, and the
        decoding, by folds of the training texts, in two to three times the time.
    max_order (int): Order of the label patterns: the longest has max_order + 1 labels.
    decoding (str): "viterbi": the most probable segmentation; "mbr": the spans with the
        highest expected F1.
    min_confidence (Union[float, Dict[str, float]]): Drop spans that are less probable.
    preset (str): The set of features: "default", "fields", "names", "chinese"; with
        "none" only features that config lists are read, and no pieces.
    max_iter (int): Most iterations of training.
    threads (int): Threads of prediction.
    lang (str): The language of spaCy's blank pipeline, whose stop words features read;
        by default that of the vectors.
    vectors (Union[str, Path, None]): Frozen vectors beside features, as `hosemi init
        --vectors` has them: a package or folder of spaCy with word vectors, or a folder
        with an encoder in ONNX. They are in the pickle, too.
    config (Optional[Dict[str, Any]]): Everything else, as [components.hosemi] of a
        config has it, such as {"max_length": 50, "model": {"features": {..}}}. The
        scope "sents" needs a component that sets sentences: use `hosemi.fit`.
        Registered functions that it names go into pickles, and to other processes.

    pipeline_ (Language): After `fit`: the trained pipeline, which can be saved.
    classes_ (str [L]): After `fit`: the labels.
    result_ (FitResult), n_iter_ (int): After `fit`: what the fit says of itself.
    """

    def __init__(
        self,
        l2: float | str | dict[str, float] | None = None,
        max_order: int | None = None,
        decoding: str | None = None,
        min_confidence: float | dict[str, float] | None = None,
        preset: str | None = None,
        max_iter: int | None = None,
        threads: int | None = None,
        lang: str | None = None,
        config: dict[str, Any] | None = None,
        *,
        kind: str = "fields",
        vectors: str | Path | None = None,
    ) -> None:
        self.kind = kind
        self.vectors = vectors
        self.l2 = l2
        self.max_order = max_order
        self.decoding = decoding
        self.min_confidence = min_confidence
        self.preset = preset
        self.max_iter = max_iter
        self.threads = threads
        self.lang = lang
        self.config = config

    def fit(
        self, texts: Iterable[Text], spans: Iterable[Iterable[CharSpan]]
    ) -> SpanExtractor:
        """Train anew.

        texts (Iterable[Union[str, Doc, Sequence[str]]]): n texts.
        spans (Iterable[Iterable[Tuple[int, int, str]]]): Of each text, not overlapping.
        RETURNS (SpanExtractor): Itself.
        RAISES (ValueError): HS183 texts; HS184 another number of spans; HS182 spans
            that do not fit their text; HS042, HS043 a parameter; HS186, HS234 config;
            HS235 lang; HS379, HS380, HS396, HS397 vectors; HS051 there are no spans;
            what the component says of its settings.
        """
        nlp, settings = self._make_pipeline()
        pairs = _read_pairs(texts, spans, nlp)
        examples = [make_example(doc, gold, nlp) for doc, gold in pairs]
        hosemi: Any = nlp.get_pipe("hosemi")
        self.result_: FitResult = hosemi.fit(examples, **settings)
        self.pipeline_ = nlp
        self.classes_ = np.array(self.result_.labels)
        self.n_iter_ = self.result_.n_iterations
        return self

    def predict(self, texts: Iterable[Text]) -> NDArray[np.object_]:
        """Find the spans of texts.

        texts (Iterable[Union[str, Doc, Sequence[str]]]): n texts.
        RETURNS (object [n]): For each text a list of (start, end, label).
        RAISES (ValueError): HS183 texts; NotFittedError before `fit`.
        """
        items = _read_texts(texts)
        pairs = zip(self._annotate(items), items)
        return _as_objects([_spans(doc, isinstance(x, list)) for doc, x in pairs])

    def confidences(self, texts: Iterable[Text]) -> NDArray[np.object_]:
        """How sure the spans of `predict` are.

        texts (Iterable[Union[str, Doc, Sequence[str]]]): n texts.
        RETURNS (object [n]): For each text a list with the probability of each of its
            spans, in the order of `predict`.
        RAISES (ValueError): As `predict`.
        """
        docs = self._annotate(_read_texts(texts))
        return _as_objects([[ent._.confidence for ent in doc.ents] for doc in docs])

    def score(
        self, texts: Iterable[Text], spans: Iterable[Iterable[CharSpan]]
    ) -> float:
        """Micro-averaged F1 of spans: right are those with the same start, end and
        label. A span that begins or ends within a token is missed.

        texts (Iterable[Union[str, Doc, Sequence[str]]]): n texts.
        spans (Iterable[Iterable[Tuple[int, int, str]]]): The right ones of each text.
        RETURNS (float): From 0 to 1; 1 if there is nothing to find and nothing found.
        RAISES (ValueError): As `fit` and `predict`.
        """
        check_is_fitted(self, "pipeline_")
        pairs = _read_pairs(texts, spans, self.pipeline_)
        docs = self._annotate([doc for doc, _ in pairs])
        golds = [gold for _, gold in pairs]
        f1: float | None = score_spans([*zip(map(_spans, docs), golds)])["ents_f"]
        return 1.0 if f1 is None else f1

    def _make_pipeline(self) -> tuple[Language, dict[str, Any]]:
        """Returns an untrained pipeline and the settings of its fit: parameters, else
        what `init` writes. Raises ValueError: HS186 if a setting is given twice."""
        ours = _block("config", {} if self.config is None else self.config)
        model = _block("config['model']", ours.get("model", {}))
        features = _block("config['model']['features']", model.get("features", {}))
        kind = read("kind", choice((*KINDS,)), _plain(self.kind))
        lang = None if self.lang is None else check_language(self.lang)
        vectors = ""
        if self.vectors is not None:
            if "tok2vec" in model:
                raise ValueError(Errors.HS186.format(found=["vectors"]))
            name = read("vectors", FILE_PATH, self.vectors)
            vectors, lang = find_vectors(name, lang)
        config = Config().from_str(make_config(kind, lang=lang, vectors=vectors))
        if isinstance(self.preset, str) and self.preset == "none":
            of_kind = config["components"]["hosemi"]["model"]
            of_kind["features"] = {"@misc": of_kind["features"]["@misc"]}
        ours["model"] = {**model, "features": features}
        component = Config(config["components"]["hosemi"]).merge(Config(ours))
        fit = config["initialize"]["components"]["hosemi"]["fit"]
        for block, asked, settings, names in (
            (component, ours, list_settings(), _OF_COMPONENT),
            (component["model"]["features"], features, FEATURES, _OF_FEATURES),
            (fit, {}, FIT, _OF_FIT),
        ):
            if double := [name for name in names if name in asked]:
                raise ValueError(Errors.HS186.format(found=double))
            given = [name for name in names if getattr(self, name) is not None]
            parameters = {name: _plain(getattr(self, name)) for name in given}
            read_all([x for x in settings if x.name in parameters], parameters)
            block.update(parameters)
        tokenizer = {"nlp": {"tokenizer": config["nlp"]["tokenizer"]}}
        nlp = spacy.blank(config["nlp"]["lang"], config=tokenizer)
        if isinstance(name := config["initialize"]["vectors"], str):
            load_vectors_into_model(nlp, name)
        nlp.add_pipe(component.pop("factory"), config=component)
        fit.pop("@misc")
        return nlp, {**fit, "progress": False}

    def _annotate(self, items: Iterable[Text]) -> Iterator[Doc]:
        """Returns the texts as annotated documents, one at a time."""
        check_is_fitted(self, "pipeline_")
        return self.pipeline_.pipe(_make_doc(item, self.pipeline_) for item in items)

    def __getstate__(self) -> Any:
        """Adds the registered functions that config names, for other processes."""
        return {"_functions": [*_registered(self.config)], **super().__getstate__()}

    def __setstate__(self, state: Any) -> None:
        for place, name, function in state.pop("_functions", ()):
            if name not in (functions := getattr(registry, place)):
                functions.register(name, func=function)
        super().__setstate__(state)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "pipeline_")

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect: texts in, and lists of spans to learn from."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.target_tags.required = True
        tags.no_validation = True
        return tags


def _registered(config: Any) -> Iterator[tuple[str, str, Any]]:
    """Returns registry, name and function of each "@registry" in a config."""
    for key, value in config.items() if isinstance(config, Mapping) else ():
        if isinstance(key, str) and key.startswith("@") and isinstance(value, str):
            with suppress(RegistryError, AttributeError):  # `fit` says what is wrong
                yield key[1:], value, getattr(registry, key[1:]).get(value)
        yield from _registered(value)


def _block(name: str, value: Any) -> dict[str, Any]:
    """Returns a copy of a block. Raises ValueError: HS234 if it is none."""
    if not isinstance(value, Mapping) or not all(isinstance(x, str) for x in value):
        raise ValueError(Errors.HS234.format(name=name, found=shown(value)))
    return dict(_plain(value))


def _plain(value: Any) -> Any:
    """Returns a setting with Python's numbers; grids of parameters have numpy's."""
    return map_values(lambda x: x.item() if isinstance(x, np.generic) else x, value)


def _read_texts(texts: Any) -> list[Text]:
    """Returns strings, documents and lists of strings. Raises ValueError HS183."""
    is_flat = getattr(texts, "ndim", 1) == 1
    is_text = isinstance(texts, (str, bytes, Mapping, Doc))
    if is_text or not is_flat or not isinstance(texts, Iterable):
        raise ValueError(Errors.HS183.format(found=type(texts).__name__))
    items: list[Any] = [*texts]
    for k, item in enumerate(items):
        if isinstance(item, Doc):
            continue
        is_list = isinstance(item, (list, tuple, np.ndarray))
        parts = [*item] if is_list else [item]
        are_texts = all(isinstance(part, str) for part in parts)
        if not are_texts or any(map(has_half, parts)):
            what = "half a surrogate pair" if are_texts else f"{item!r:.60}"
            found = f"a sequence with {what} at {k}"
            raise ValueError(Errors.HS183.format(found=found))
        items[k] = [*map(str, parts)] if is_list else str(item)
    return items


def _read_pairs(
    texts: Any, spans: Any, nlp: Language
) -> list[tuple[Doc, Sequence[CharSpan]]]:
    """Returns documents with spans in characters. Raises ValueError HS182 to HS184."""
    items = _read_texts(texts)
    expected = f"{len(items)} texts"

    def read_list(value: Any, found: str) -> list[Any]:
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise ValueError(Errors.HS184.format(found=found, expected=expected))
        return [*value]

    golds = read_list(spans, shown(spans))
    if len(golds) != len(items):
        found = f"for {len(golds)} texts"
        raise ValueError(Errors.HS184.format(found=found, expected=expected))
    pairs = []
    for k, (item, gold) in enumerate(zip(items, golds)):
        gold = read_list(gold, f"{shown(gold)} at {k}")
        name = f"(texts[{k}], spans[{k}])"
        doc = _make_doc(item, nlp)
        if isinstance(item, list):
            gold = [_in_characters(doc, span, name) for span in gold]
        pairs.append((doc, check_pair((doc.text, gold), name)[1]))
    return pairs


def _make_doc(item: Text, nlp: Language) -> Doc:
    """Returns a document that no component has seen yet."""
    if isinstance(item, Doc):
        return without_annotation(item, nlp)
    if isinstance(item, str):
        return nlp.make_doc(item)
    return Doc(nlp.vocab, words=[*item])


def _in_characters(doc: Doc, span: Any, name: str) -> Any:
    """Returns a span in tokens by its characters. Raises ValueError: HS391."""
    with suppress(TypeError, ValueError):
        start, end, label = span
        if 0 <= start < end <= len(doc):
            return doc[start:end].start_char, doc[start:end].end_char, label
    args = {"name": name, "found": shown(span), "expected": len(doc)}
    raise ValueError(Errors.HS391.format(**args))


def _spans(doc: Doc, in_tokens: bool = False) -> list[CharSpan]:
    """Returns the entities of a document by characters, or by tokens."""
    if in_tokens:
        return [(ent.start, ent.end, ent.label_) for ent in doc.ents]
    return [(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents]


def _as_objects(items: Sequence[Any]) -> NDArray[np.object_]:
    """Returns an array whose elements are lists; np.array would make a table."""
    array = np.empty(len(items), object)
    for k, item in enumerate(items):
        array[k] = item
    return array
