"""Warnings at the first predictions: never trained, and entities in front."""

import copy
import pickle
import re
import warnings

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

from spacy_hosemi.component.prediction_warnings import FIRST, LAST

from ..helpers import (
    TRAIN,
    UNTRAINED,
    initialize,
    make_examples,
    make_nlp,
    make_trained,
    parse,
    randomize,
)

TEXTS = [parse(line)[0] for line in TRAIN] * 3
HSW27 = r"HSW27\] hosemi has never been trained.* 5 documents"


def warned(predict):
    """The codes of our warnings, in their order."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        predict()
    return re.findall(r"HSW\d\d", " ".join(str(one.message) for one in found))


ANSWERS = [
    lambda nlp: nlp(TEXTS[0]),
    lambda nlp: [*nlp.pipe(TEXTS)],
    lambda nlp: nlp.get_pipe("hosemi").predict([nlp.make_doc(TEXTS[0])]),
    lambda nlp: nlp.get_pipe("hosemi").kbest(nlp.make_doc(TEXTS[0]), 2),
    lambda nlp: nlp.get_pipe("hosemi").to_rows(nlp.make_doc(TEXTS[0])),
    lambda nlp: nlp.evaluate(make_examples(nlp)),
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_untrained_component_says_so_once(answer):
    nlp = make_nlp()
    initialize(nlp)
    with pytest.warns(UserWarning, match=HSW27):
        answer(nlp)
    for again in ANSWERS:
        again(nlp)


def test_looking_at_features_is_no_prediction():
    nlp = make_nlp()
    initialize(nlp)
    nlp.get_pipe("hosemi").token_features(nlp.make_doc("Ada"))
    with pytest.warns(UserWarning, match=HSW27):
        nlp("Ada")


def updated(nlp):
    nlp.update(make_examples(nlp), sgd=nlp.create_optimizer())


@pytest.mark.parametrize(
    "train",
    [
        updated,
        lambda nlp: randomize(nlp.get_pipe("hosemi")),
        lambda nlp: nlp.get_pipe("hosemi").fit(make_examples(nlp), progress=False),
        lambda nlp: nlp.get_pipe("hosemi").from_bytes(
            make_trained().get_pipe("hosemi").to_bytes()
        ),
    ],
)
def test_a_trained_component_says_nothing(train):
    nlp = make_nlp()
    initialize(nlp)
    train(nlp)
    nlp(TEXTS[0])


@UNTRAINED
def test_it_is_said_again_after_a_new_initialization():
    nlp = make_nlp()
    for _ in range(2):
        initialize(nlp)
        assert warned(lambda: nlp("Ada")) == ["HSW27"]


def test_there_was_nothing_to_learn():
    nlp = make_nlp()
    nlp("Ada")  # not initialized at all
    nlp.initialize()  # spaCy makes an example without entities
    nlp("Ada")
    nlp = make_nlp()
    nlp.get_pipe("hosemi").add_label("PER")
    nlp.initialize()
    nlp("Ada")
    initialize(nlp, ["Nobody wrote a letter."])
    nlp("Ada")


@pytest.mark.parametrize(
    "through",
    [
        lambda nlp: make_nlp().from_bytes(nlp.to_bytes()),
        lambda nlp: pickle.loads(pickle.dumps(nlp)),
        copy.deepcopy,
    ],
)
def test_copies_and_saved_components_know(through):
    nlp = make_nlp()
    initialize(nlp)
    other = through(nlp)
    assert other.get_pipe("hosemi").facts == nlp.get_pipe("hosemi").facts
    with pytest.warns(UserWarning, match=HSW27):
        other("Ada")
    trained = through(make_trained())
    trained("Ada")


def test_facts_of_the_training():
    facts = make_trained().get_pipe("hosemi").facts
    assert facts.n_spans == {"PER": 6, "LOC": 4}
    nlp = spacy.blank("en")
    docs = [nlp.make_doc(text) for text in TEXTS[:5]]
    assert (facts.n_documents, facts.n_tokens) == (5, sum(map(len, docs)))
    assert facts.preset_share == 0.0
    fresh = make_nlp().get_pipe("hosemi")
    assert fresh.facts is None and "trained_on" not in fresh.cfg


@Language.factory("advice_ents", assigns=["doc.ents"])
def make_ents(nlp, name):
    def set_first_two(doc):
        doc.set_ents([Span(doc, 0, 2, "STOCK")])
        return doc

    return set_first_two


def test_entities_in_front_are_counted():
    nlp = make_trained()
    nlp.add_pipe("advice_ents", before="hosemi")
    n_tokens = sum(len(nlp.make_doc(text)) for text in TEXTS[:FIRST])
    share = f"{2 * FIRST / n_tokens:.0%}"
    for text in TEXTS[: FIRST - 1]:
        nlp(text)
    with pytest.warns(UserWarning) as found:
        nlp(TEXTS[FIRST - 1])
    (message,) = [str(one.message) for one in found]
    assert f"{FIRST} entities (STOCK) were set before hosemi in {FIRST} doc" in message
    assert f"{2 * FIRST} of {n_tokens} tokens ({share}; in training 0%)" in message
    assert f"{FIRST} of them have labels" in message
    assert [*nlp.pipe(TEXTS * 10)]  # it is said once


@pytest.mark.filterwarnings("ignore:.HSW28")
def test_what_the_model_has_trained_with_is_no_surprise():
    nlp = make_nlp()
    nlp.add_pipe("advice_ents", before="hosemi")
    examples = make_examples(nlp)
    nlp.get_pipe("hosemi").fit(examples, progress=False)
    assert warned(lambda: [*nlp.pipe(TEXTS)]) == ["HSW28"]
    seen = [
        Example(nlp.get_pipe("advice_ents")(x.predicted), x.reference) for x in examples
    ]
    nlp.get_pipe("hosemi").fit(seen, progress=False)
    assert nlp.get_pipe("hosemi").facts.n_preset_tokens == 10
    assert warned(lambda: [*nlp.pipe(TEXTS)]) == []


def test_few_entities_and_own_ones_are_no_surprise():
    nlp = make_trained()
    docs = [*nlp.pipe(TEXTS)]
    [*nlp.pipe(docs)]  # their entities are its own
    long = "he was not there and wrote no letter to anybody " * 3
    ruler = nlp.add_pipe("entity_ruler", before="hosemi")
    ruler.add_patterns([{"label": "STOCK", "pattern": "Zoe"}])
    [*nlp.pipe([f"Zoe {long}"] * LAST)]


def test_only_the_first_documents_are_counted():
    nlp = make_trained()
    [*nlp.pipe(TEXTS[:1] * LAST)]
    nlp.add_pipe("advice_ents", before="hosemi")
    [*nlp.pipe(TEXTS[:1] * 3 * LAST)]


def with_labels(nlp, docs, change):
    """Examples with the same tokens and other labels."""
    examples = []
    for doc in docs:
        tokens = [x.text for x in doc], [bool(x.whitespace_) for x in doc]
        gold = Doc(nlp.vocab, *tokens)
        ents = [Span(gold, x.start, x.end, change(x.label_)) for x in doc.ents]
        gold.set_ents(ents)
        examples.append(Example(Doc(nlp.vocab, *tokens), gold))
    return examples


def test_a_stock_ner_in_front_costs_everything_and_behind_nothing(corpus):
    nlp = spacy.blank("en")
    docs = [*DocBin().from_disk(corpus / "train.spacy").get_docs(nlp.vocab)][:16]
    ner = nlp.add_pipe("ner")
    examples = with_labels(nlp, docs, str.upper)
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(25):
        nlp.update(examples, sgd=optimizer)
    before = ner.to_bytes(exclude=["vocab"])
    hosemi = nlp.add_pipe("hosemi")
    examples = with_labels(nlp, docs, str)
    hosemi.fit(examples, nlp=nlp, progress=False, max_iter=20)
    assert ner.to_bytes(exclude=["vocab"]) == before

    def f1():
        found = nlp.evaluate(with_labels(nlp, docs, str))["ents_per_type"]
        return np.mean([found[label]["f"] for label in ("author", "title", "date")])

    with nlp.select_pipes(disable=["ner"]):
        alone = f1()
    with pytest.warns(UserWarning, match=r"HSW28.* entities .*AUTHOR"):
        assert f1() < 0.3
    nlp.remove_pipe("hosemi")
    nlp.add_pipe("hosemi", before="ner").from_bytes(hosemi.to_bytes())
    assert alone > 0.9
    assert f1() == pytest.approx(alone)
