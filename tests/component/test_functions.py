"""The component with feature functions: as if templates had read the same."""

from random import random

import numpy as np
import pytest
import spacy
from catalogue import RegistryError
from spacy.training import Example
from thinc.api import Adam

from spacy_hosemi import extract, from_word2features, use_field_tokenizer
from spacy_hosemi.explain import find_features, strongest_features
from spacy_hosemi.explain.gazetteers import describe_lists
from spacy_hosemi.features.crfsuite import words_and_tags
from spacy_hosemi.model.active_features import read_docs
from spacy_hosemi.model.weights import doc_scorer
from spacy_hosemi.training import feature_selection as selection

from ..helpers import (
    SMALL,
    TRAIN,
    assert_gradient,
    find,
    initialize,
    lbfgs,
    make_doc,
    make_examples,
    make_nlp,
    make_trained,
    parse,
    randomize,
    triples,
)

TEXT = "Ada Lovelace wrote to Mary Somerville in Paris."


def list_words(doc):
    """As the template LOWER."""
    return [[token.lower_] for token in doc]


def list_sizes(doc):
    """Strings, values, the same twice, nothing: lists of 0 to 4."""
    sizes = [[("size", len(token) / 4), ("size", -0.25)] for token in doc]
    return [[*t.text[:2].lower(), *x][: len(t) % 5] for t, x in zip(doc, sizes)]


def word2features(sent, i):
    word, _ = sent[i]
    before = {"-1:word": sent[i - 1][0]} if i else {"BOS": True}
    return {"word": word, "title": word.istitle(), "size": len(word) / 10, **before}


def shift(doc):
    return [("x", "")] * 9 if len(doc) == 3 else words_and_tags(doc)


def register(name, function):
    spacy.registry.misc(f"hosemi_tests_{name}.v1", func=lambda: function)


register("words", list_words)
register("sizes", list_sizes)
register("no_values", lambda doc, starts, ends: [None] * len(starts))
register("word2features", from_word2features(word2features))
register("shifted", from_word2features(word2features, shift))


def reads(roles=None, **names):
    """Features that name functions."""
    functions = {k: {"@misc": f"hosemi_tests_{v}.v1"} for k, v in names.items()}
    return {**SMALL, "functions": functions, "function_roles": roles or {}}


WORDS = reads({"f": ["inside", "end"]}, f="words") | {"inside": ["BIAS"], "end": []}
SIZES = reads({"f": ["inside", "start", "within"]}, f="sizes")
# The same templates in both; only one has LOWER.
TEMPLATES = {**SMALL, "inside": ["BIAS", "LOWER"], "end": ["LOWER"]}


def by_name(pipe):
    """All weights of each feature, those that are not there as 0."""
    columns = [*pipe.inventory.names, *map(" ".join, pipe.automaton.observed)]
    return {
        row.feature: np.array([row.weights.get(column, 0.0) for column in columns])
        for row in find_features(pipe, top=len(pipe.weights.names))
    }


def assert_same_model(left, right):
    left, right = left.get_pipe("hosemi"), right.get_pipe("hosemi")
    expected = by_name(right)
    found = {name.replace(":f=", ":LOWER="): w for name, w in by_name(left).items()}
    assert found.keys() == expected.keys() != set()
    for name, of_row in expected.items():
        assert found[name] == pytest.approx(of_row, abs=1e-9), name
    assert left.weights.pattern == pytest.approx(right.weights.pattern, abs=1e-9)


def assert_same_predictions(left, right):
    for line in (*TRAIN, "", "Ada"):
        text = parse(line)[0]
        found, expected = left(text), right(text)
        assert triples(found.ents) == triples(expected.ents)
        for ent, other in zip(found.ents, expected.ents):
            assert ent._.confidence == pytest.approx(other._.confidence, abs=1e-6)


# --- a function that lists what a template reads ----------------------------------


@pytest.mark.parametrize(
    "fit, config",
    [
        ({}, {}),
        ({"l1": 0.1}, {}),
        ({}, {"encoding": "BIO"}),
        ({}, {"observed_order": 1}),
        ({}, {"scope": "sents"}),
    ],
)
def test_batch_training(fit, config):
    def train(nlp):
        nlp.add_pipe("sentencizer", first=True)
        nlp.config["training"]["annotating_components"] = ["sentencizer"]
        initialize(nlp, fit=lbfgs(max_iter=25, **fit))

    assert_same_if(train, **config)


def assert_same_if(train, min_count=1, **config):
    """The function and the templates make the same model, trained like this."""
    models = [
        make_nlp(features={**features, "min_count": min_count}, **config)
        for features in (WORDS, TEMPLATES)
    ]
    for nlp in models:
        train(nlp)
    assert_same_model(*models)
    assert_same_predictions(*models)


@pytest.mark.parametrize("min_count", [1, 2])
def test_online_training(min_count):
    def train(nlp):
        initialize(nlp)
        optimizer = Adam(0.001)
        for _ in range(5):
            nlp.update(make_examples(nlp), sgd=optimizer)

    assert_same_if(train, min_count)


@pytest.mark.parametrize("min_count", [1, 2])
def test_features_that_are_met_first_in_training(min_count):
    def train(nlp):
        for label in ("LOC", "PER"):
            nlp.get_pipe("hosemi").add_label(label)
        nlp.initialize()
        optimizer = Adam(0.001)
        for eg in 5 * make_examples(nlp):
            nlp.update([eg], sgd=optimizer)

    assert_same_if(train, min_count)


def test_weights_for_some_columns(monkeypatch):
    def train(nlp):
        with pytest.warns(UserWarning, match="HSW03"):
            initialize(nlp, fit=lbfgs(max_iter=25))
        assert nlp.get_pipe("hosemi").weights.pairs is not None

    monkeypatch.setattr(selection, "MAX_WEIGHTS", 10)
    assert_same_if(train)


def test_prune():
    def train(nlp):
        initialize(nlp, fit=lbfgs(max_iter=25))
        nlp.get_pipe("hosemi").prune(0.05)

    assert_same_if(train)


# --- values -----------------------------------------------------------------------


def expected_scores(pipe, doc):
    """Scores by role, from the names of features and what the function returns."""
    weights = by_name(pipe)
    scores = {}
    for role in ("inside", "start", "within"):
        scores[role] = np.zeros((len(doc), len(pipe.inventory.names)))
        for i, of_token in enumerate(list_sizes(doc)):
            for feature in of_token:
                text, value = (feature, 1) if isinstance(feature, str) else feature
                scores[role][i] += value * weights.get(f"{role}:f={text}", 0.0)
    return scores


@pytest.mark.parametrize("keep_scores", [True, False])
@pytest.mark.parametrize("only_pairs", [True, False])
def test_a_value_multiplies_the_weight(keep_scores, only_pairs, monkeypatch):
    nlp = make_nlp(features={**SIZES, "inside": [], "start": [], "end": []})
    if only_pairs:
        monkeypatch.setattr(selection, "MAX_WEIGHTS", 10)
        with pytest.warns(UserWarning, match="HSW03"):
            initialize(nlp)
    else:
        initialize(nlp)
    pipe = nlp.get_pipe("hosemi")
    randomize(pipe)
    docs = [*map(nlp.make_doc, (TEXT, "", "Ada", "a b"))]
    monkeypatch.setattr(doc_scorer, "CACHES_WORDS", keep_scores)
    for doc, found in zip(docs, pipe.model.predict(docs), strict=True):
        expected = expected_scores(pipe, doc)
        inside = expected["inside"] + expected["within"]
        start = expected["start"] - expected["within"]
        np.testing.assert_allclose(found.inside, inside, atol=1e-9)
        np.testing.assert_allclose(found.start, start, atol=1e-9)
        assert not found.end.any()


@pytest.mark.parametrize("encoding", ["segments", "BILUO"])
@pytest.mark.parametrize("only_pairs", [True, False])
def test_gradient_by_finite_differences(encoding, only_pairs, monkeypatch):
    nlp = make_nlp(features={**SIZES, "start": [], "end": []}, encoding=encoding)
    marked = ["[A Ada b] c", "c [B bbb]", "a"]
    if only_pairs:
        monkeypatch.setattr(selection, "MAX_WEIGHTS", 10)
        with pytest.warns(UserWarning, match="HSW03"):
            initialize(nlp, marked)
    else:
        initialize(nlp, marked)
    pipe, examples = nlp.get_pipe("hosemi"), make_examples(nlp, marked)
    randomize(pipe, size=0.3)
    gradient = assert_gradient(pipe, examples)
    size = [k for k, name in enumerate(pipe.weights.names) if name.endswith(":f=size")]
    rows = read_docs(pipe.weights, [examples[0].predicted]).tokens["inside"]
    assert rows.strength is not None
    assert size and np.abs(gradient).max() > 0.01


def test_the_online_step_is_along_the_gradient():
    nlp = make_nlp(features=SIZES, model={"l2": 0.0})
    initialize(nlp)
    pipe, examples = nlp.get_pipe("hosemi"), make_examples(nlp)
    randomize(pipe)
    before = pipe.get_weights()
    _, gradient = pipe.value_and_gradient(examples)
    nlp.update(examples, sgd=Adam(0.001))
    # AdaGrad: the first step goes by the sign alone
    step = before - pipe.get_weights()
    is_clear = np.abs(gradient) > 1e-3
    assert is_clear.sum() > 50
    np.testing.assert_array_equal(np.sign(step)[is_clear], np.sign(gradient)[is_clear])


# --- weights and their names ------------------------------------------------------


def test_names():
    nlp = make_trained(features=reads(f="sizes", g="words"))
    pipe = nlp.get_pipe("hosemi")
    names = pipe.weights.names
    assert {"inside:f=size", "inside:f=a", "inside:g=ada"} <= {*names}
    (row,) = find_features(pipe, text="inside:g=london")
    assert max(row.weights, key=row.weights.get) == "LOC"
    found = strongest_features(pipe, labels=["LOC"], text=":g=")["LOC"]
    assert "inside:g=london" in [one.feature for one in found]
    assert row.docs == 2
    (read,) = pipe.token_features(make_doc(nlp, "Ada"))
    assert read[-4:] == ["f=a", "f=d", "f=size", "g=ada"]


def test_only_functions():
    features = {"preset": "none", "min_count": 1, **only(reads(f="words"))}
    nlp = make_trained(features=features)
    assert {name[:9] for name in nlp.get_pipe("hosemi").weights.names} == {"inside:f="}
    assert find(nlp, "Ada in Paris") == [("Ada", "PER"), ("Paris", "LOC")]
    assert find(nlp, "") == []


@pytest.mark.parametrize("of_token", [lambda: {}, lambda: [], lambda: [str(random())]])
def test_a_fit_without_a_feature_of_the_function(of_token):
    """One warning a fit, however often that reads them, and beside other features."""
    register("nothing", lambda doc: [of_token() for _ in doc])
    segments = {"F": {"@misc": "hosemi_tests_no_values.v1"}}
    beside = {**reads(g="nothing", h="words"), "segment_functions": segments}
    alone = {"preset": "none", **only(reads(g="nothing"))}
    for features, names in ((beside, "'F', 'g'"), (alone, "'g'")):
        for least in (1, 2):
            nlp = make_nlp(features={**features, "min_count": least})
            with pytest.warns(UserWarning) as caught:
                initialize(nlp, fit=lbfgs(max_iter=25, l2="auto"))
            found = [str(x.message) for x in caught if "HSW98" in str(x.message)]
            assert len(found) == 1 and f"the functions [{names}]: in" in found[0]


def only(features):
    return {key: features[key] for key in ("functions", "function_roles")}


def test_word2features():
    nlp = make_trained(features=reads(f="word2features"), encoding="BIO")
    names = nlp.get_pipe("hosemi").weights.names
    assert {"inside:f=word:Ada", "inside:f=title", "inside:f=size"} <= set(names)
    assert "inside:f=-1:word:Ada" in names
    assert find(nlp, TEXT) == [
        ("Ada Lovelace", "PER"),
        ("Mary Somerville", "PER"),
        ("Paris", "LOC"),
    ]


# --- saving and loading -----------------------------------------------------------


@pytest.mark.parametrize("given", [{}, reads(g="sizes")])
def test_a_model_without_its_function(given):
    saved = make_trained(features=SIZES).get_pipe("hosemi").to_bytes()
    other = make_nlp(features={**SMALL, **given}).get_pipe("hosemi")
    match = r"HS111.*functions \['f'\] list.* config have "
    with pytest.raises(ValueError, match=match):
        other.from_bytes(saved)


def test_a_config_whose_function_is_not_registered(tmp_path):
    nlp = make_trained(features=SIZES)
    nlp.to_disk(tmp_path)
    path = tmp_path / "config.cfg"
    text = path.read_text("utf8").replace("tests_sizes", "tests_sizen")
    path.write_text(text, "utf8")
    with pytest.raises(RegistryError, match="E893.*hosemi_tests_sizen.v1"):
        spacy.load(tmp_path)


def test_another_function_of_the_same_name_is_read():
    """The code may be mended: names and strings are what the weights belong to."""
    saved = make_trained(features=WORDS).get_pipe("hosemi").to_bytes()
    other = make_nlp(features=WORDS | only(reads(WORDS["function_roles"], f="sizes")))
    other.get_pipe("hosemi").from_bytes(saved)
    assert len(other("Ada met Mary").ents) < 3


# --- what is refused --------------------------------------------------------------


def test_more_items_than_tokens_are_refused_by_each_way():
    """Features would be those of other tokens."""
    nlp = make_trained(features=reads(f="shifted"))
    text, match = "Ada in Paris", "HS387.*functions.f raised ValueError: 9 items for 3 "
    hosemi = nlp.get_pipe("hosemi")
    for way in (
        lambda: nlp(text),
        lambda: [*nlp.pipe(["Ada", text])],
        lambda: hosemi.fit([(text, [(0, 3, "PER")])], nlp=nlp, progress=False),
        lambda: hosemi.marginals(nlp.make_doc(text)),
        lambda: nlp.update([Example.from_dict(nlp.make_doc(text), {})], sgd=Adam()),
    ):
        with pytest.raises(ValueError, match=match):
            way()
    assert "9 items for 3" in extract(nlp, ["Ada", text])["error"][1].as_py()


def test_errors_reach_the_user():
    register("short", lambda doc: [["a"]])
    with pytest.raises(ValueError, match="HS107.*functions.f returned 1 lists"):
        initialize(make_nlp(features=reads(f="short")))
    with pytest.raises(ValueError, match=r"HS395.*\['TITLES'\].* is 'BIO'"):
        make_nlp(features=TITLES, encoding="BIO")


def test_lists_beside_functions_are_described():
    lists = {"x": {"@misc": "spacy_hosemi.gazetteer.v1"}}
    nlp = make_nlp(features=WORDS, model={"gazetteers": lists})
    pipe, examples = nlp.get_pipe("hosemi"), make_examples(nlp)
    pipe.initialize(lambda: examples, nlp=nlp, gazetteers={"x": lambda: ["Ada"]})
    (found,) = describe_lists(pipe)
    of_list = [name for name in pipe.weights.names if ":x:" in name]
    assert found.entries == 1 and found.features == len(of_list) > 0


def say_titles(doc, starts, ends):
    """How many words of a segment have a capital, as far as documents are clean."""
    SEEN.append([doc[i:j].text for i, j in zip(starts, ends)])
    n = np.cumsum([0, *(token.is_title for token in doc)])
    return (n[ends] - n[starts]).tolist()


SEEN = []
register("titles", say_titles)
TITLES = {
    **SMALL,
    "whole": ["TITLES", "TITLES & LOWER[-1]"],
    "segment_functions": {"TITLES": {"@misc": "hosemi_tests_titles.v1"}},
}


def test_a_model_with_a_segment_function(tmp_path):
    nlp = make_trained(features=TITLES, nlp=use_field_tokenizer(spacy.blank("en")))
    pipe, doc = nlp.get_pipe("hosemi"), nlp(TEXT)
    SEEN.clear()
    assert triples(nlp(TEXT).ents) == triples(doc.ents) != []
    assert len(SEEN) == 1 and SEEN[0][1] == "Ada Lovelace"
    names = {row.feature for row in find_features(pipe, text="TITLES", top=1000)}
    assert {"whole:TITLES=2", "whole:TITLES & LOWER[-1]=2 & lovelace"} <= names
    parts = pipe.explain(doc, doc.ents[0]).contributions
    assert any((x.name, x.role) == ("TITLES=2", "whole") for x in parts)
    nlp.to_disk(tmp_path)
    assert triples(spacy.load(tmp_path)(TEXT).ents) == triples(doc.ents)
    other = make_nlp(features=SMALL).get_pipe("hosemi")
    with pytest.raises(ValueError, match=r"HS111.*functions \['TITLES'\]"):
        other.from_bytes(pipe.to_bytes())
    table = extract(nlp, [TEXT])
    why = "features read segment_functions"
    assert table.schema.metadata[b"spacy_hosemi.why"].decode() == why
    found = [span["text"] for span in table["spans"][0].as_py()]
    assert found == [ent.text for ent in doc.ents]


@pytest.mark.parametrize("clean_text", [True, False])
def test_offsets_are_those_of_the_document_that_is_read(clean_text):
    nlp = make_trained(features=TITLES, clean_text=clean_text)
    SEEN.clear()
    nlp.get_pipe("hosemi")(make_doc(nlp, "Ada", "\n", "Lovelace", "\u200b", "wrote"))
    assert ("Ada Lovelace wrote" in SEEN[0]) == clean_text
    assert len(SEEN[0]) == (6 if clean_text else 15)
