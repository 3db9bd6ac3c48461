"""The estimator for scikit-learn, by its own checks and by what it promises."""

import importlib
import json
import pickle
import sys

import numpy as np
import pytest
import spacy
from catalogue import REGISTRY, RegistryError
from spacy.tokens import Doc
from spacy.util import load_config_from_str, load_model_from_config

from .helpers import TRAIN, parse, save_vectors

pytest.importorskip("sklearn")
from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score  # noqa: E402
from sklearn.utils import estimator_checks  # noqa: E402
from sklearn.utils.validation import validate_data  # noqa: E402

from spacy_hosemi import SpanExtractor  # noqa: E402
from spacy_hosemi.component.examples import check_pair, make_example  # noqa: E402
from spacy_hosemi.configs import KINDS, make_config  # noqa: E402
from spacy_hosemi.features import make_features  # noqa: E402

PAIRS = [parse(line) for line in TRAIN] * 2
TEXTS = [text for text, _ in PAIRS]
SPANS = [spans for _, spans in PAIRS]
# Ten documents are too few for the default minimum count of features.
SMALL = {"model": {"features": {"min_count": 1}}}


def make(**settings):
    return SpanExtractor(**{"l2": 0.1, "max_iter": 20, "config": SMALL, **settings})


class OnNumbers(SpanExtractor):
    """The estimator on tables of numbers, which the checks of scikit-learn generate:
    a row is a text with a word for each number, and the target is a label of it.

    The answers are numbers again, since checks compare them as numbers.
    """

    def fit(self, X, y):
        X, y = validate_data(self, X, y, y_numeric=False)
        texts = self.texts(X)
        _, codes = np.unique(y, return_inverse=True)
        labels = [f"L{code % 3}" for code in codes]
        return super().fit(texts, [[(0, len(t), x)] for t, x in zip(texts, labels)])

    def predict(self, X):
        found = super().predict(self.of_new(X))
        return np.array([len(spans) + 10 * len(str(spans)) for spans in found])

    def score(self, X, y):
        validate_data(self, X, y, reset=False)
        return float(np.mean(self.predict(X)))

    def of_new(self, X):
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("call fit")
        return self.texts(validate_data(self, X, reset=False))

    @staticmethod
    def texts(X):
        return [" ".join(f"{'n' if x < 0 else 'p'}{abs(int(x))}" for x in r) for r in X]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.no_validation = True, False
        return tags


@pytest.mark.filterwarnings("ignore")
def test_checks_of_scikit_learn_on_tables():
    """All of its checks, on the estimator behind a reader of tables."""
    checks = estimator_checks.check_estimator(
        OnNumbers(l2=0.1, max_iter=3), on_fail=None
    )
    failed = [one for one in checks if one["status"] == "failed"]
    assert failed == []
    assert sum(one["status"] == "passed" for one in checks) > 30


@pytest.mark.filterwarnings("ignore:Can't test estimator")
def test_checks_of_scikit_learn_on_the_estimator_itself():
    """Those that fit nothing: others are skipped where the input is no table."""
    checks = estimator_checks.check_estimator(SpanExtractor())
    assert {one["status"] for one in checks} == {"passed"}
    for name in (
        "get_params_invariance",
        "set_params",
        "valid_tag_types",
        "no_attributes_set_in_init",
        "parameters_default_constructible",
    ):
        check = getattr(estimator_checks, f"check_{name}")
        check("SpanExtractor", SpanExtractor())


@pytest.fixture(scope="module")
def trained():
    return make().fit(TEXTS, SPANS)


def test_it_finds_what_the_component_finds(trained):
    found = trained.predict(TEXTS)
    assert found.shape == (10,) and found.tolist() == SPANS
    assert trained.classes_.tolist() == ["LOC", "PER"]
    assert trained.n_iter_ == trained.result_.n_iterations > 0
    docs = [*trained.pipeline_.pipe(["Ada Lovelace lived in Paris."])]
    expected = [(x.start_char, x.end_char, x.label_) for x in docs[0].ents]
    assert trained.predict([docs[0].text])[0] == expected != []
    probabilities = [x._.confidence for x in docs[0].ents]
    assert trained.confidences([docs[0].text])[0] == probabilities
    assert trained.predict([]).shape == trained.confidences([]).shape == (0,)
    assert [*map(len, trained.predict(["", " "]))] == [0, 0]
    texts = np.array(TEXTS, object)  # answers are plain values
    answers = trained.predict(texts).tolist(), trained.confidences(texts).tolist()
    assert json.loads(json.dumps(answers))[0][0][0] == [0, 12, "PER"]


@pytest.mark.parametrize(
    "spans, expected",
    [
        ([(0, 12, "PER"), (22, 37, "PER"), (41, 47, "LOC")], 1.0),
        ([(0, 12, "PER"), (22, 37, "LOC"), (41, 47, "LOC")], 2 / 3),
        ([(0, 12, "PER")], 2 / 4),
        ([(0, 12, "PER"), (22, 37, "PER"), (41, 45, "LOC")], 2 / 3),  # in a token
        ([], 0.0),
    ],
)
def test_the_score_is_exact_in_characters(trained, spans, expected):
    assert trained.score(TEXTS[:1], [spans]) == pytest.approx(expected)


def test_the_score_is_that_of_the_pipeline_over_all_documents(trained):
    gold = [[(0, 1, "PER")], *SPANS[1:3], [(0, 5, "LOC")]]
    pairs, nlp = [check_pair(x, "x") for x in zip(TEXTS[:4], gold)], trained.pipeline_
    examples = [make_example(nlp.make_doc(text), spans, nlp) for text, spans in pairs]
    expected = nlp.evaluate(examples)["ents_f"]
    assert trained.score(*zip(*pairs)) == expected
    assert 0.0 < expected < 1.0
    assert trained.score([TEXTS[4], TEXTS[1]], gold[:2]) == pytest.approx(2 * 2 / 5)
    assert trained.score(TEXTS[4:5], [[]]) == 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_what_init_writes(kind):
    nlp, settings = SpanExtractor(kind=kind)._make_pipeline()
    config = load_config_from_str(make_config(kind))
    written = load_model_from_config(config, auto_fill=True).config
    assert nlp.config["components"] == written["components"]
    assert nlp.config["nlp"]["tokenizer"] == written["nlp"]["tokenizer"]
    fit = config["initialize"]["components"]["hosemi"]["fit"]
    assert {"@misc": fit["@misc"], **settings} == {**fit, "progress": False}
    for pieces in ({}, {"pieces": True}):  # without a preset as if there were no kind
        features = {"start": ["LOWER"], **pieces}
        args = {"preset": "none", "config": {"model": {"features": features}}}
        found = SpanExtractor(kind=kind, **args)._make_pipeline()[0].get_pipe("hosemi")
        features = make_features(preset="none", **features)
        assert found.weights.extractor.features.learnt() == features.learnt()


TOKENS = [[token.text for token in spacy.blank("en")(text)] for text in TEXTS]
TOKEN_SPANS = [
    [(x.start, x.end, x.label_) for x in map(lambda s: doc.char_span(*s), spans)]
    for doc, spans in zip(spacy.blank("en").pipe(TEXTS), SPANS)
]


@pytest.mark.parametrize("read", [tuple, np.array, list])
def test_tokens_and_spans_of_tokens(read):
    texts = [read(tokens) for tokens in TOKENS]
    estimator = make().fit(texts, TOKEN_SPANS)
    assert estimator.predict(texts).tolist() == TOKEN_SPANS
    assert estimator.score(texts, TOKEN_SPANS) == 1.0
    doc = Doc(spacy.blank("en").vocab, words=TOKENS[0])
    given, tokens = estimator.predict([doc, TOKENS[0]])
    texts = [doc[start:end].text for start, end, _ in tokens]
    assert [doc.char_span(*span).text for span in given] == texts
    first, second = estimator.confidences([doc, TOKENS[0]])
    assert first == second and len(first) == len(given) > 0


def test_documents_are_read_as_their_texts(trained):
    docs = [*spacy.blank("en").pipe(TEXTS)]
    docs[0].ents = [docs[0].char_span(0, 3, "ORG")]
    assert trained.predict(docs).tolist() == trained.predict(TEXTS).tolist() == SPANS
    assert make().fit(docs, SPANS).score(docs, SPANS) == 1.0
    assert [ent.label_ for ent in docs[0].ents] == ["ORG"]


def make_shapes():
    return lambda doc: [[token.shape_] for token in doc]


def test_registered_functions_go_to_other_processes():
    """joblib's processes do not import this module."""
    name = "spacy_hosemi_tests.shapes"
    spacy.registry.misc.register(name, func=make_shapes)
    functions = {"f": {"@misc": name}}
    config = {"model": {"features": {"min_count": 1, "functions": functions}}}
    estimator = make(config=config)
    assert cross_val_score(estimator, TEXTS, SPANS, cv=2, n_jobs=2).tolist() == [1, 1]
    stored = pickle.dumps(estimator)
    del REGISTRY[(*spacy.registry.misc.namespace, name)]
    assert pickle.loads(stored).fit(TEXTS, SPANS).predict(TEXTS).tolist() == SPANS
    del REGISTRY[(*spacy.registry.misc.namespace, name)]
    with pytest.raises(RegistryError, match=name):
        pickle.loads(pickle.dumps(estimator)).fit(TEXTS, SPANS)


def test_parameters_reach_the_component():
    settings = {"l2": 10.0, "max_order": 1, "decoding": "mbr", "preset": "fields"}
    estimator = make(min_confidence={"PER": 0.4}, threads=2, **settings)
    estimator.fit(TEXTS, SPANS)
    hosemi = estimator.pipeline_.get_pipe("hosemi")
    assert (hosemi.max_order, hosemi.decoding, hosemi.threads) == (1, "mbr", 2)
    assert hosemi.min_confidence == {"PER": 0.4}
    features = hosemi.weights.extractor.features
    assert features.roles["within"] and features.min_count == 1
    assert abs(hosemi.get_weights()).max() < 1.0


def test_parameters_are_kept_copied_and_pickled(trained):
    params = {"l2": {"pattern": 1.0}, "config": {"scope": "doc"}, "lang": "de"}
    estimator = SpanExtractor().set_params(**params)
    assert {k: estimator.get_params()[k] for k in params} == params
    copy = clone(trained)
    assert copy.get_params() == trained.get_params()
    for answer in (copy.predict, copy.confidences):
        with pytest.raises(NotFittedError):
            answer(TEXTS)
    before = json.dumps(trained.get_params())
    again = copy.fit(TEXTS, SPANS)
    weights = trained.pipeline_.get_pipe("hosemi").get_weights().tolist()
    assert again.pipeline_.get_pipe("hosemi").get_weights().tolist() == weights
    assert json.dumps(trained.get_params()) == before
    other = pickle.loads(pickle.dumps(trained))
    assert other.predict(TEXTS).tolist() == trained.predict(TEXTS).tolist()
    assert other.confidences(TEXTS).tolist() == trained.confidences(TEXTS).tolist()
    assert other.get_params() == trained.get_params()


def test_vectors(tmp_path):
    """Those of `init`; a pickle needs no folder."""
    estimator = make(vectors=tmp_path / "vectors")
    save_vectors(estimator.vectors, "fr")
    assert clone(estimator).fit(TEXTS, SPANS).pipeline_.lang == "fr"
    pickled = pickle.dumps(estimator.fit(TEXTS, SPANS))
    estimator.vectors.rename(tmp_path / "gone")
    expected = estimator.confidences(TEXTS).tolist()
    assert pickle.loads(pickled).confidences(TEXTS).tolist() == expected
    with pytest.raises(ValueError, match="HS396.*vectors"):
        estimator.fit(TEXTS, SPANS)


def test_selection_of_models():
    scores = cross_val_score(make(), TEXTS, SPANS, cv=2)
    assert scores.tolist() == [1.0, 1.0]  # each half has all documents
    found = cross_val_predict(make(), TEXTS, SPANS, cv=2)
    assert found.tolist() == SPANS
    search = GridSearchCV(make(), {"l2": [0.1, 1e9]}, cv=2).fit(TEXTS, SPANS)
    assert search.best_params_ == {"l2": 0.1}
    assert search.predict(TEXTS[:1])[0] == SPANS[0]


def test_numbers_of_numpy():
    """As a grid of parameters has them."""
    grid = {"max_order": np.arange(2), "min_confidence": np.float32([0.5])}
    search = GridSearchCV(make(), grid, cv=2, error_score="raise")
    search.fit(TEXTS, SPANS)
    assert search.best_estimator_.predict(TEXTS[:1]).tolist() == [SPANS[0]]
    settings = {"threads": np.int64(2), "l2": {"inside": np.float32(0.5)}}
    other = SpanExtractor(config={"max_length": np.int32(9)}, **settings)
    assert other.fit(TEXTS, SPANS).pipeline_.get_pipe("hosemi").threads == 2


TOK2VEC = {"model": {"tok2vec": {}}}
PRESET = {"model": {"features": {"preset": "none"}}}
PARAMETERS = "kind vectors l2 max_order decoding min_confidence preset max_iter threads"


@pytest.mark.parametrize(
    "texts, spans, settings, code",
    [
        ("Ada", [[]], {}, "HS183.*str"),
        (np.zeros((2, 2)), [[], []], {}, "HS183.*ndarray"),
        ({"text": "Ada"}, [[]], {}, "HS183.*dict"),
        (3, [[]], {}, "HS183.*int"),
        (["Ada", None], [[], []], {}, "HS183.*None at 1"),
        (["Ada", "\ud83d"], [[], []], {}, "HS183.*half a surrogate pair at 1"),
        (["Ada"], [[], []], {}, "HS184.*for 2 texts, and there are 1 texts"),
        (["Ada", "b"], [[], 3], {}, "HS184.*3 at 1"),
        (["Ada", "b"], [[], None], {}, "HS184.*None at 1"),
        (["Ada"], ["PER"], {}, "HS184.*'PER' at 0"),
        ([["Ada"], ["Ada", 3]], [[], []], {}, r"HS183.*\['Ada', 3\] at 1"),
        *(
            ([["Ada", "Byron"]], [[span]], {}, r"HS391.*spans\[0\].*tokens")
            for span in ((0, 3, "PER"), (1, 1, "PER"), (0, 1), ("0", 1, "PER"), 3)
        ),
        (["Ada"], 3, {}, "HS184"),
        (["Ada"], [[(0, 4, "PER")]], {}, r"HS182\] \(texts\[0\], spans\[0\]\)"),
        (["Ada"], [[]], {}, "HS051"),
        (TEXTS, SPANS, {"config": {"max_order": 3}}, "HS186.*max_order"),
        (TEXTS, SPANS, {"config": PRESET}, "HS186.*preset"),
        (TEXTS, SPANS, {"vectors": "x", "config": TOK2VEC}, "HS186.*vectors"),
        (TEXTS, SPANS, {"decoding": "best"}, "HS042.*decoding"),
        (TEXTS, SPANS, {"l2": -1.0}, "HS043.*l2"),
        *(
            (TEXTS, SPANS, {"config": x}, "HS234.*config.* is .*expected a block")
            for x in (5, "x", [1], {1: 2}, {"model": 5})
        ),
        *(
            (TEXTS, SPANS, {"lang": x}, r"HS235.*lang is .*expected the code")
            for x in (5, "english", ["en"])
        ),
        *(
            (TEXTS, SPANS, {name: x}, f"HS(04[23]|396).*{name} .*xpected")
            for name in PARAMETERS.split()
            for x in ([1], "x", {1: 2})
        ),
    ],
)
def test_refusals(texts, spans, settings, code):
    with pytest.raises(ValueError, match=code):
        SpanExtractor(**settings).fit(texts, spans)


def test_without_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    monkeypatch.delitem(sys.modules, "spacy_hosemi.estimator")
    with pytest.raises(ImportError, match="HS185.*pip install"):
        importlib.import_module("spacy_hosemi.estimator")
