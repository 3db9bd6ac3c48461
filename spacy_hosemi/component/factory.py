"""The factory "hosemi": each config key and its default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Config, Model

from ..core import Potentials
from ..prediction.thresholds import ThresholdsConfig
from .pipe import HighOrderSemiCRF

DEFAULT_CONFIG = """
[hosemi]
scope = "doc"
encoding = "segments"
outside = "run"
max_order = 2
pattern_min_count = 1
pattern_max = null
pattern_selection = "count"
observed_order = 0
observed_patterns = []
observed_min_count = 1
observed_max = null
label_rules = []
explicit_length = 1
length_smoothing = 0
max_length = null
decoding = "viterbi"
expected_f1 = 0.8
collective = 0.0
spans_key = null
incorrect_spans_key = null
spans_threshold = null
confidence = false
min_confidence = 0.0
temperature = 1.0
threads = 1
hierarchy = null
scorer = {"@scorers": "spacy_hosemi.scorer.v1"}

[hosemi.model]
@architectures = "spacy_hosemi.SpanScorer.v1"
tok2vec = null
gazetteers = {}
tables = {}
l2 = 0.1
learn_rate_scale = 100.0

[hosemi.model.features]
@misc = "spacy_hosemi.features.v1"
preset = "default"
inside = []
start = []
end = []
whole = []
within = []
transition = []
transition_inside = []
min_count = 2
width = 6
all_labels = true

[hosemi.objective]
@misc = "spacy_hosemi.log_likelihood.v1"
"""


@Language.factory(
    "hosemi",
    assigns=["doc.ents", "token.ent_iob", "token.ent_type"],
    default_config=Config().from_str(DEFAULT_CONFIG)["hosemi"],
    default_score_weights={
        "ents_f": 1.0,
        "ents_p": 0.0,
        "ents_r": 0.0,
        "ents_per_type": None,
    },
)
def make_hosemi(
    nlp: Language,
    name: str,
    model: Model[list[Doc], list[Potentials]],
    objective: Callable[..., Any],
    scope: str,
    encoding: str,
    outside: str,
    max_order: int,
    pattern_min_count: int,
    pattern_max: int | None,
    pattern_selection: str,
    observed_order: int,
    observed_patterns: list[list[str]],
    observed_min_count: int,
    observed_max: int | None,
    label_rules: list[str],
    explicit_length: int,
    length_smoothing: int,
    max_length: int | None,
    decoding: str,
    expected_f1: float | None,
    collective: float,
    spans_key: str | None,
    incorrect_spans_key: str | None,
    spans_threshold: float | None,
    confidence: bool,
    min_confidence: ThresholdsConfig,
    temperature: float,
    threads: int,
    hierarchy: Any,
    scorer: Callable[..., Any] | None,
) -> HighOrderSemiCRF:
    """Make the component "hosemi"; the arguments are those of HighOrderSemiCRF."""
    return HighOrderSemiCRF(
        nlp.vocab,
        model,
        name,
        objective=objective,
        scope=scope,
        encoding=encoding,
        outside=outside,
        max_order=max_order,
        pattern_min_count=pattern_min_count,
        pattern_max=pattern_max,
        pattern_selection=pattern_selection,
        observed_order=observed_order,
        observed_patterns=observed_patterns,
        observed_min_count=observed_min_count,
        observed_max=observed_max,
        label_rules=label_rules,
        explicit_length=explicit_length,
        length_smoothing=length_smoothing,
        max_length=max_length,
        decoding=decoding,
        expected_f1=expected_f1,
        collective=collective,
        spans_key=spans_key,
        incorrect_spans_key=incorrect_spans_key,
        spans_threshold=spans_threshold,
        confidence=confidence,
        min_confidence=min_confidence,
        temperature=temperature,
        threads=threads,
        hierarchy=hierarchy,
        scorer=scorer,
    )
