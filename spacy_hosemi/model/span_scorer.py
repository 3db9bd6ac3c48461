"""The span scorer: a Thinc model of sparse weights, and of a tok2vec beside them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby, islice
from operator import attrgetter
from typing import Any

from spacy.tokens import Doc
from thinc.api import Model

from ..core import Potentials
from ..core.parallel.coroutines import finish
from ..errors import Errors
from ..features import (
    Extractor,
    FeatureSet,
    Gazetteer,
    Gazetteers,
    Table,
    Tables,
    make_features,
)
from ..values import Setting, by_name, number, read_all
from .active_features import Rows, read_docs
from .tok2vec import add_scores, encoder_of, make_output
from .weights.doc_scorer import DocScorer
from .weights.penalty_groups import by_penalty_group
from .weights.potentials import score_rows
from .weights.weights import Weights

L2 = float | dict[str, float]

# Numbers of the block [components.hosemi.model].
SETTINGS = (
    Setting(
        "l2",
        by_name(number(least=0.0)),
        0.1,
        "Online training: weight of half the squared norm, for all weights or by "
        "group: a role such as inside, or transition, pattern, length.",
    ),
    Setting(
        "learn_rate_scale",
        number(least=0.0),
        100.0,
        "Online training: the learn rate of the optimizer is multiplied by this.",
    ),
)


def build_span_scorer(
    tok2vec: Model | None = None,
    features: FeatureSet | None = None,
    gazetteers: dict[str, Any] = {},  # noqa: B006 - the registry shows it in configs
    tables: dict[str, Any] = {},  # noqa: B006
    l2: L2 = 0.1,
    learn_rate_scale: float = 100.0,
) -> Model[list[Doc], list[Potentials]]:
    """Registered as "spacy_hosemi.SpanScorer.v1" in `architectures`.

    tok2vec (Optional[Model]): Vectors of tokens, or a listener to those of another
        component: scores from them are added, see the module `tok2vec`. A fit takes
        frozen vectors; others are trained online.
    features (Optional[FeatureSet]): What is read; by default the default preset.
    gazetteers (Dict[str, Gazetteer]): Lists of names, and how they are used.
    tables (Dict[str, Table]): Tables of words, and how they are used.
    l2, learn_rate_scale: See SETTINGS; the default makes spaCy's 0.001 a good rate.
    RAISES (ValueError): HS037 a gazetteer or table is something else; HS038 its name is
        not permitted; HS043 a number is out of range; HS054 a penalty group is unknown.
    """
    numbers = read_all(SETTINGS, locals(), prefix="model.")
    _check_named("gazetteer", gazetteers, Gazetteer, taken=tables)
    _check_named("table", tables, Table, taken=gazetteers)
    lists = Gazetteers(gazetteers)
    features = features or make_features()
    fuzzy = tuple(lists.fuzzy)
    features = features.with_lists(tuple(gazetteers), tables, fuzzy=fuzzy)
    extractor = Extractor(features, lists, Tables(tables))
    penalty = by_penalty_group("l2", numbers["l2"])
    weights = Weights(extractor, penalty, numbers["learn_rate_scale"])
    if tok2vec is None:
        return Model("span_scorer", forward, shims=[weights])
    output = make_output(width=tok2vec.maybe_get_dim("nO"))
    return Model(
        "span_scorer",
        forward,
        init=init_layers,
        shims=[weights],
        layers=[tok2vec, output],
        refs={"tok2vec": tok2vec, "output": output},
    )


def init_layers(
    model: Model[list[Doc], list[Potentials]], X: list[Doc] | None = None, Y: Any = None
) -> None:
    """Initializes the tok2vec, and the layer that makes scores of its vectors."""
    tok2vec, output = model.layers
    tok2vec.initialize(X=X or None)
    if tok2vec.has_dim("nO"):
        output.set_dim("nI", tok2vec.get_dim("nO"), force=True)
        output.initialize()
    else:
        output.initialize(X=output.ops.flatten(tok2vec.predict(X)) if X else None)


def _check_named(
    what: str, settings: Mapping[str, Any], expected: type, taken: Mapping[str, Any]
) -> None:
    for name, value in settings.items():
        if not re.fullmatch(r"[\w-]+", name) or name in taken:
            raise ValueError(Errors.HS038.format(what=what, found=name))
        if not isinstance(value, expected):
            found = type(value).__name__
            raise ValueError(Errors.HS037.format(what=what, name=name, found=found))


def forward(
    model: Model[list[Doc], list[Potentials]], docs: list[Doc], is_train: bool
) -> tuple[list[Potentials], Any]:
    """Returns the potentials of documents, and what takes gradients of these shapes."""
    weights = weights_of(model)
    potentials, backprop = _sparse(weights, docs, is_train)
    if not model.layers:
        return potentials, backprop
    backprop_neural = add_scores(encoder_of(model), docs, potentials, is_train)

    def backprop_both(gradients: Sequence[Potentials]) -> list[Doc]:
        backprop_neural(gradients)
        return backprop(gradients)

    return potentials, backprop_both


def _sparse(
    weights: Weights, docs: list[Doc], is_train: bool
) -> tuple[list[Potentials], Callable[[Sequence[Potentials]], list[Doc]]]:
    """Returns what `forward` does, of the weights of features alone."""
    if not is_train:
        steps = DocScorer(weights.publish()).steps(docs)
        return [*finish(steps)], lambda gradients: docs
    state, potentials = weights.state, []
    batches: list[tuple[Rows, int]] = []
    for _, of_vocab in groupby(docs, attrgetter("vocab")):
        rows = read_docs(state, [*of_vocab], is_train=True)
        of_docs = score_rows(state, rows)
        potentials += of_docs
        batches.append((rows, len(of_docs)))

    def backprop(gradients: Sequence[Potentials]) -> list[Doc]:
        waiting = iter(gradients)
        for rows, n_docs in batches:
            weights.accumulate(rows, [*islice(waiting, n_docs)])
        return docs

    return potentials, backprop


def weights_of(model: Model[Any, Any]) -> Weights:
    """Returns the shim of a span scorer."""
    shim = model.shims[0]
    assert isinstance(shim, Weights)
    return shim
