"""An estimator for scikit-learn: texts in, spans in characters out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import spacy
from numpy.typing import NDArray
from spacy.language import Language
from spacy.tokens import Doc

from .component.examples import Annotated, CharSpan, check_pair
from .component.fit import FitResult
from .component.scorer import score_spans
from .component.settings import list_settings
from .errors import Errors
from .features.feature_set import SETTINGS as FEATURES
from .formats.texts import has_half
from .text.tokenizer import use_field_tokenizer
from .values import map_values, read_all, shown

try:
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:
    raise ImportError(Errors.HS185) from error

# Parameters that are settings of the component, of its features, and of its fit.
_OF_COMPONENT = ("max_order", "decoding", "min_confidence", "threads")
_OF_FEATURES = ("preset",)
_OF_FIT = ("l2", "max_iter")


class SpanExtractor(BaseEstimator):
    """Extract labelled spans from texts, trained by one call of `fit`.

    Texts are a sequence of strings (a list, an array, a column of a data frame); spans
    are a list for each text of (start, end, label) in characters, end exclusive.

    l2 (Union[float, Dict[str, float]]): Weight of half the squared norm in training,
        for all weights or by penalty group.
    max_order (int): Order of the label patterns: the longest has max_order + 1 labels.
    decoding (str): "viterbi": the most probable segmentation; "mbr": the spans with the
        highest expected F1.
    min_confidence (Union[float, Dict[str, float]]): Drop spans that are less probable.
    preset (str): The set of features: "default", "fields", "names", "chinese".
    max_iter (int): Most iterations of training.
    threads (int): Threads of prediction.
    lang (str): The language of spaCy's blank pipeline, whose stop words features read.
    config (Optional[Dict[str, Any]]): Everything else, as [components.hosemi] of a
        config has it, such as {"max_length": 50, "model": {"features": {..}}}. The
        scope "sents" needs a component that sets sentences: use `hosemi.fit`.

    pipeline_ (Language): After `fit`: the trained pipeline, which can be saved.
    classes_ (str [L]): After `fit`: the labels.
    result_ (FitResult), n_iter_ (int): After `fit`: what the fit says of itself.
    """

    def __init__(
        self,
        l2: float | dict[str, float] = 0.1,
        max_order: int = 2,
        decoding: str = "viterbi",
        min_confidence: float | dict[str, float] = 0.0,
        preset: str = "default",
        max_iter: int = 1000,
        threads: int = 1,
        lang: str = "en",
        config: dict[str, Any] | None = None,
    ) -> None:
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
        self, texts: Iterable[str], spans: Iterable[Iterable[CharSpan]]
    ) -> SpanExtractor:
        """Train anew.

        texts (Iterable[str]): n texts.
        spans (Iterable[Iterable[Tuple[int, int, str]]]): Of each text, not overlapping.
        RETURNS (SpanExtractor): Itself.
        RAISES (ValueError): HS183 texts; HS184 another number of spans; HS182 spans
            that do not fit their text; HS042, HS043 a parameter; HS186, HS234 config;
            HS235 lang; HS051 there are no spans; what the component says of its
            settings.
        """
        pairs = _read_pairs(texts, spans)
        nlp = self._make_pipeline()
        settings = {name: _plain(getattr(self, name)) for name in _OF_FIT}
        hosemi: Any = nlp.get_pipe("hosemi")
        self.result_: FitResult = hosemi.fit(pairs, nlp=nlp, progress=False, **settings)
        self.pipeline_ = nlp
        self.classes_ = np.array(self.result_.labels)
        self.n_iter_ = self.result_.n_iterations
        return self

    def predict(self, texts: Iterable[str]) -> NDArray[np.object_]:
        """Find the spans of texts.

        texts (Iterable[str]): n texts.
        RETURNS (object [n]): For each text a list of (start, end, label).
        RAISES (ValueError): HS183 texts; NotFittedError before `fit`.
        """
        return _as_objects(
            [
                [(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents]
                for doc in self._annotate(texts)
            ]
        )

    def confidences(self, texts: Iterable[str]) -> NDArray[np.object_]:
        """How sure the spans of `predict` are.

        texts (Iterable[str]): n texts.
        RETURNS (object [n]): For each text a list with the probability of each of its
            spans, in the order of `predict`.
        RAISES (ValueError): As `predict`.
        """
        docs = self._annotate(texts)
        return _as_objects([[ent._.confidence for ent in doc.ents] for doc in docs])

    def score(self, texts: Iterable[str], spans: Iterable[Iterable[CharSpan]]) -> float:
        """Micro-averaged F1 of spans: right are those with the same start, end and
        label, in characters. A span that begins or ends within a token is missed.

        texts (Iterable[str]): n texts.
        spans (Iterable[Iterable[Tuple[int, int, str]]]): The right ones of each text.
        RETURNS (float): From 0 to 1; 1 if there is nothing to find and nothing found.
        RAISES (ValueError): As `fit` and `predict`.
        """
        pairs = _read_pairs(texts, spans)
        predictions = self.predict([text for text, _ in pairs])
        golds = [gold for _, gold in pairs]
        f1: float | None = score_spans([*zip(predictions, golds)])["ents_f"]
        return 1.0 if f1 is None else f1

    def _make_pipeline(self) -> Language:
        """Returns an untrained pipeline. Raises ValueError: HS186 if a setting is given
        twice."""
        config = _block("config", {} if self.config is None else self.config)
        model = _block("config['model']", config.pop("model", {}))
        features = _block("config['model']['features']", model.pop("features", {}))
        for block, settings, names in (
            (config, list_settings(), _OF_COMPONENT),
            (features, FEATURES, _OF_FEATURES),
        ):
            if double := [name for name in names if name in block]:
                raise ValueError(Errors.HS186.format(found=double))
            parameters = {name: _plain(getattr(self, name)) for name in names}
            read_all([x for x in settings if x.name in names], parameters)
            block.update(parameters)
        nlp = use_field_tokenizer(_blank(self.lang))
        config["model"] = {**model, "features": features}
        nlp.add_pipe("hosemi", config=config)
        return nlp

    def _annotate(self, texts: Iterable[str]) -> Iterator[Doc]:
        """Returns the texts as annotated documents, one at a time."""
        check_is_fitted(self, "pipeline_")
        return self.pipeline_.pipe(_read_texts(texts))

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


def _block(name: str, value: Any) -> dict[str, Any]:
    """Returns a copy of a block. Raises ValueError: HS234 if it is none."""
    is_block = isinstance(value, Mapping) and all(isinstance(x, str) for x in value)
    if not is_block:
        raise ValueError(Errors.HS234.format(name=name, found=shown(value)))
    return dict(_plain(value))


def _blank(lang: Any) -> Language:
    """Returns a blank pipeline. Raises ValueError: HS235 for an unknown language."""
    if isinstance(lang, str):
        try:
            return spacy.blank(lang)
        except ImportError as error:
            if "[E048]" not in str(error):  # what the language needs is not installed
                raise
    raise ValueError(Errors.HS235.format(found=shown(lang)))


def _plain(value: Any) -> Any:
    """Returns a setting as a config can have it, with Python's numbers: grids of
    parameters have numpy's."""
    return map_values(lambda x: x.item() if isinstance(x, np.generic) else x, value)


def _read_texts(texts: Any) -> list[str]:
    """Returns plain strings. Raises ValueError: HS183 if texts are none."""
    is_flat = getattr(texts, "ndim", 1) == 1
    if isinstance(texts, (str, bytes, Mapping)) or not is_flat:
        raise ValueError(Errors.HS183.format(found=type(texts).__name__))
    try:
        items = list(texts)
    except TypeError:
        raise ValueError(Errors.HS183.format(found=type(texts).__name__)) from None
    for k, item in enumerate(items):
        if not isinstance(item, str):
            found = f"a sequence with {item!r:.60} at {k}"
            raise ValueError(Errors.HS183.format(found=found))
        if has_half(item):
            found = f"a sequence with half a surrogate pair at {k}"
            raise ValueError(Errors.HS183.format(found=found))
    return [*map(str, items)]


def _read_pairs(texts: Any, spans: Any) -> list[Annotated]:
    """Returns checked texts with their spans. Raises ValueError: HS182 to HS184."""
    items = _read_texts(texts)
    try:
        golds: Sequence[Any] = [x if isinstance(x, str) else [*x] for x in spans]
    except TypeError:
        raise ValueError(
            Errors.HS184.format(found=repr(spans)[:60], expected=len(items))
        ) from None
    if len(golds) != len(items):
        raise ValueError(Errors.HS184.format(found=len(golds), expected=len(items)))
    pairs = enumerate(zip(items, golds))
    return [check_pair(pair, f"(texts[{k}], spans[{k}])") for k, pair in pairs]


def _as_objects(items: Sequence[Any]) -> NDArray[np.object_]:
    """Returns the lists themselves, which numpy would make a table of."""
    array = np.empty(len(items), object)
    for k, item in enumerate(items):
        array[k] = item
    return array
