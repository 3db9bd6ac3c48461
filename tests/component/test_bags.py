"""Templates that read a bag of words, such as LOWER{-30:30}."""

import numpy as np
import pytest
import spacy
from hypothesis import given
from thinc.api import Adam

from spacy_hosemi.features import Extractor, FeatureSet
from spacy_hosemi.features.naming import feature_names, token_features
from spacy_hosemi.features.templates import parse_templates

from ..features.test_features import NLP, docs_n
from ..helpers import (
    SMALL,
    assert_gradient,
    initialize,
    lbfgs,
    make_doc,
    make_examples,
    make_nlp,
    make_trained,
    randomize,
)
from .test_functions import assert_same_predictions, by_name

BAG = {**SMALL, "start": ["BIAS", "LOWER{-2:3}"], "within": ["LOWER{-1:1}"]}


def around(doc, first, last) -> list[list[str]]:
    """For each token the words at these offsets, without those beside the document."""
    words = [token.lower_ for token in doc]
    places = range(len(words))
    return [[words[k] for k in places if first <= k - i <= last] for i in places]


spacy.registry.misc("hosemi_tests_wide.v1", func=lambda: lambda doc: around(doc, -2, 3))
spacy.registry.misc("hosemi_tests_near.v1", func=lambda: lambda d: around(d, -1, 1))
FUNCTIONS = {
    **SMALL,
    "start": ["BIAS"],
    "functions": {
        "wide": {"@misc": "hosemi_tests_wide.v1"},
        "near": {"@misc": "hosemi_tests_near.v1"},
    },
    "function_roles": {"wide": ["start"], "near": ["within"]},
}
OF_FUNCTION = {"wide": "LOWER{-2:3}", "near": "LOWER{-1:1}"}


@pytest.mark.parametrize("text, n", [("LOWER{-2:3}", 6), ("x:IN{1:1}", 1)])
def test_one_template_for_each_offset(text, n):
    found = parse_templates([text])
    assert list(map(str, found)) == [text] * n
    assert len(set(found)) == n


@pytest.mark.parametrize(
    "text",
    [
        "LOWER{}",
        "LOWER{1}",
        "LOWER{1:}",
        "LOWER{1:0}",
        "LOWER{-1:1} & SHAPE",
        "LOWER{-1:1}*",
        "LOWER[1]{-1:1}",
    ],
)
def test_unreadable(text):
    with pytest.raises(ValueError, match="HS030.*LOWER{-30:30}"):
        parse_templates([text])


def test_not_of_whole_segments():
    with pytest.raises(ValueError, match="HS036.*'{-1:1}' reads tokens that are not"):
        FeatureSet(whole=["LOWER{-1:1}"])


@given(docs_n())
def test_what_it_reads(doc):
    bag, plain = (
        Extractor(FeatureSet(start=[text])) for text in ("LOWER{-2:3}", "LOWER")
    )
    names = [
        [name for name in of_token if name is not None]
        for of_token in feature_names(bag, doc, "start")
    ]
    (word,) = zip(*feature_names(plain, doc, "start")) if len(doc) else ((),)
    expected = [
        [word[k] for k in range(len(doc)) if -2 <= k - i <= 3] for i in range(len(doc))
    ]
    assert names == [
        [name.replace("LOWER", "LOWER{-2:3}", 1) for name in of_token]
        for of_token in expected
    ]
    counts = (bag.read([doc]).keys["start"] != 0).sum(axis=1)
    assert counts.tolist() == [len(of_token) for of_token in names]


def test_documents_do_not_see_each_other():
    extractor = Extractor(FeatureSet(start=["LOWER{-9:9}"]))
    docs = [make_doc(NLP, *words) for words in (["a", "b"], [], ["c"], ["d", "a"])]
    together = extractor.read(docs).keys["start"]
    alone = [extractor.read([doc]).keys["start"] for doc in docs]
    assert together.tolist() == np.concatenate(alone).tolist()


def test_a_token_tagger_reads_each_word_once():
    extractor = Extractor(FeatureSet(start=["LOWER{-9:9}"]))
    found = token_features(extractor, make_doc(NLP, "a", "b", "a"))
    assert found == [["LOWER{-9:9}=a", "LOWER{-9:9}=b"]] * 3


# --- as if a function listed these words ------------------------------------------


@pytest.mark.parametrize(
    "config, all_labels",
    [
        ({"scope": "sents"}, True),
        ({"encoding": "BIO"}, True),
        ({"max_order": 3}, False),
        ({"encoding": "BIO"}, False),
    ],
)
def test_as_a_function(config, all_labels):
    models = []
    for features in (BAG, FUNCTIONS):
        nlp = make_nlp(features={**features, "all_labels": all_labels}, **config)
        nlp.add_pipe("sentencizer", first=True)
        nlp.config["training"]["annotating_components"] = ["sentencizer"]
        initialize(nlp, fit=lbfgs(max_iter=25))
        optimizer = Adam(0.001)
        for eg in make_examples(nlp):
            nlp.update([eg], sgd=optimizer)
        models.append(nlp)
    found, expected = (by_name(nlp.get_pipe("hosemi")) for nlp in models)
    for name, template in OF_FUNCTION.items():
        expected = {
            key.replace(f":{name}=", f":{template}="): value
            for key, value in expected.items()
        }
    assert found.keys() == expected.keys()
    assert any("{" in name for name in found)
    for name, of_row in expected.items():
        assert found[name] == pytest.approx(of_row, abs=1e-8), name
    assert_same_predictions(*models)


def test_gradient_where_patterns_read_bags():
    features = {**SMALL, "transition": ["LOWER{-2:2}"], "start": ["LOWER{-1:9}"]}
    nlp = make_nlp(features=features, observed_order=1, max_order=2)
    initialize(nlp)
    pipe = nlp.get_pipe("hosemi")
    randomize(pipe)
    assert_gradient(pipe, make_examples(nlp)[:2])


# --- how often a word must occur --------------------------------------------------


def test_documents_are_counted():
    nlp = make_trained(
        ["[PER Ada] met [PER Ada] and wrote .", "[PER Mary] met nobody ."],
        features={**BAG, "min_count": 2, "within": []},
    )
    names = [x for x in nlp.get_pipe("hosemi").weights.names if "{" in x]
    assert sorted(names) == ["start:LOWER{-2:3}=.", "start:LOWER{-2:3}=met"]
