"""One segmentation for each sentence: all is as if each were a document of its own."""

import hypothesis.strategies as st
import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_hosemi.features.instances import divide
from spacy_hosemi.labels.inventory import ENCODINGS
from spacy_hosemi.labels.partial import PartialLabels
from spacy_hosemi.prediction.predictions import Prediction

from ..helpers import SMALL, initialize, lbfgs, make_doc, make_nlp, randomize, triples

NLP = spacy.blank("en")
FEATURES = {
    **SMALL,
    "start": ["BIAS", "LOWER[-2:2]", "POSITION"],
    "end": ["LOWER[1]", "POSITION"],
}
WORDS = ["a", "b", "c", "\n", "d."]


def make_pair(**config):
    """The same component in the scopes "sents" and "doc"."""
    return [make_nlp(features=FEATURES, scope=scope, **config) for scope in SCOPES]


SCOPES = ("sents", "doc")

LABELLED = st.tuples(st.sampled_from(WORDS), st.sampled_from(["", "", "A", "B", "-"]))

# Sentences, each of words and the labels that they have ("" for outside).
SENTENCES = st.lists(
    st.lists(
        LABELLED.filter(lambda pair: pair not in (("\n", "A"), ("\n", "B"))),
        min_size=1,
        max_size=5,
    ),
    min_size=1,
    max_size=4,
)


def joined(sentences, vocab) -> Example:
    """A document with sentence starts, and its gold."""
    words = [word for sentence in sentences for word, _ in sentence]
    starts = [i == 0 for sentence in sentences for i in range(len(sentence))]
    tags = [{"": "O", "-": ""}.get(y, f"B-{y}") for s in sentences for _, y in s]
    doc = Doc(vocab, words=words, sent_starts=starts)
    return Example(doc, Doc(vocab, words=words, ents=tags))


def apart(sentences, vocab) -> list[Example]:
    """Each sentence as a document."""
    examples = [joined([sentence], vocab) for sentence in sentences]
    return [
        Example(Doc(vocab, words=[t.text for t in eg.predicted]), eg.reference)
        for eg in examples
    ]


CORPUS = [
    [[("a", "A"), ("b", ""), ("c", "B")], [("c", "B"), ("d.", "")], [("b", "A")]],
    [[("c", ""), ("a", "A"), ("a", "B")], [("a", "B"), ("\n", ""), ("b", "A")]],
]


def initialized(**config):
    """Both components, initialized on the same sentences, with the same weights."""
    pair = make_pair(**config)
    for nlp, make in zip(pair, (lambda s, v: [joined(s, v)], apart)):
        examples = [eg for sentences in CORPUS for eg in make(sentences, nlp.vocab)]
        nlp.initialize(lambda examples=examples: examples)
    pipes = [nlp.get_pipe("hosemi") for nlp in pair]
    for pipe in pipes:
        randomize(pipe)
    assert pipes[0].cfg["patterns"] == pipes[1].cfg["patterns"]
    assert pipes[0].weights.names == pipes[1].weights.names
    assert pipes[0].weights.n_docs == pipes[1].weights.n_docs == 5
    return pipes


def starts_of(sentences):
    return np.cumsum([0, *map(len, sentences)]).tolist()


CONFIGS = [
    *({"encoding": encoding} for encoding in ENCODINGS),
    {"decoding": "mbr", "explicit_length": 3, "max_length": 3},
    {"label_rules": ["A at most twice"], "outside": "token"},
    {"min_confidence": 0.4, "max_order": 3},
]
PAIRS = {str(config): None for config in CONFIGS}


@pytest.mark.parametrize("config", CONFIGS, ids=str)
@settings(max_examples=15)
@given(sentences=SENTENCES)
def test_predictions_and_confidences_are_those_of_the_sentences(config, sentences):
    key = str(config)
    PAIRS[key] = PAIRS[key] or initialized(**config)
    whole, alone = PAIRS[key]
    doc = whole(joined(sentences, whole.vocab).predicted)
    expected, scores = [], []
    examples = apart(sentences, alone.vocab)
    for start, eg in zip(starts_of(sentences), examples):
        found = alone(eg.predicted).ents
        expected += [(e.start + start, e.end + start, e.label_) for e in found]
        scores += [ent._.confidence for ent in found]
    assert triples(doc.ents) == expected
    assert [ent._.confidence for ent in doc.ents] == pytest.approx(scores, abs=1e-12)
    features = [
        names for eg in examples for names in alone.token_features(eg.predicted)
    ]
    assert whole.token_features(doc) == features


@pytest.mark.parametrize("config", CONFIGS[:-1], ids=str)
@settings(max_examples=10)
@given(sentences=SENTENCES)
def test_losses_and_gradients_are_those_of_the_sentences(config, sentences):
    key = str(config)
    PAIRS[key] = PAIRS[key] or initialized(**config)
    whole, alone = PAIRS[key]
    if "label_rules" in config:
        sentences = [sentence[:2] for sentence in sentences]
    # Whitespace beside a token without annotation has none, over a border too.
    if any(word == "\n" for sentence in sentences for word, _ in sentence):
        sentences = [[(x, y.strip("-")) for x, y in s] for s in sentences]
    value, gradient = whole.value_and_gradient([joined(sentences, whole.vocab)])
    examples = apart(sentences, alone.vocab)
    expected, expected_gradient = alone.value_and_gradient(examples)
    assert value == pytest.approx(expected, abs=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, atol=1e-12)


def test_online_steps_are_those_of_the_sentences():
    whole, alone = initialized(clean_text=False)
    together = [joined(sentences, whole.vocab) for sentences in CORPUS]
    parts = [eg for sentences in CORPUS for eg in apart(sentences, alone.vocab)]
    for _ in range(3):
        losses = [
            pipe.update(examples, sgd=NLP.create_optimizer())
            for pipe, examples in ((whole, together), (alone, parts))
        ]
        assert losses[0] == pytest.approx(losses[1])
    np.testing.assert_allclose(whole.get_weights(), alone.get_weights(), atol=1e-12)
    scores = whole.model.predict(
        [u.tokens for eg in together for u in divide(eg.predicted, "sents")]
    )
    loss, gradients = whole.get_loss(together, scores)
    assert len(gradients) == 5
    assert loss == pytest.approx(whole.value_and_gradient(together)[0])


def test_marginals_are_those_of_the_sentences_together():
    whole, alone = initialized(explicit_length=2, clean_text=False)
    for sentences in (*CORPUS, [[("a", "")]], [[("b", ""), ("c", "")], [("a", "")]]):
        doc = joined(sentences, whole.vocab).predicted
        found = whole.marginals(doc)
        docs = [eg.predicted for eg in apart(sentences, alone.vocab)]
        parts = [alone.marginals(d) for d in docs]
        assert found.log_z == pytest.approx(sum(part.log_z for part in parts))
        gradient = found.gradient
        np.testing.assert_allclose(gradient.inside, found.tokens)
        np.testing.assert_allclose(
            gradient.pattern, sum(part.gradient.pattern for part in parts), atol=1e-12
        )
        borders = starts_of(sentences)
        for i in range(len(doc)):
            for j in range(i + 1, len(doc) + 1):
                expected = [
                    part.segment(i - a, j - a, 1)
                    for a, b, part in zip(borders, borders[1:], parts)
                    if a <= i and j <= b
                ]
                assert found.segment(i, j, 1) == pytest.approx(sum(expected))
        above = found.segments_above(0.2)
        assert len(above) == sum(len(part.segments_above(0.2)) for part in parts)
        for i, j, y, p in above:
            assert found.segment(i, j, y) == pytest.approx(p)
        with pytest.raises(ValueError, match="HS024"):
            found.segment(0, len(doc) + 1, 1)
        with pytest.raises(ValueError, match="HS024"):
            found.segment(len(doc), len(doc) + 1, 1)


def test_gazetteer_matches_never_cross_a_sentence():
    lists = {"cities": {"@misc": "spacy_hosemi.gazetteer.v1"}}
    nlp = make_nlp(scope="sents", model={"gazetteers": lists})
    pipe = nlp.get_pipe("hosemi")
    pipe.initialize(
        lambda: [joined(CORPUS[0], nlp.vocab)],
        gazetteers={"cities": lambda: ["New York", "York"]},
    )
    words = ["New", "York", "New", "York"]
    doc = make_doc(nlp, *words, sent_starts=[True, False, False, True])
    found = [
        (instance.start + i, instance.start + j)
        for instance in divide(doc, "sents")
        for m in [pipe.weights.extractor.gazetteers.matches([instance.tokens])]
        for i, j in zip(m.start.tolist(), m.end.tolist())
    ]
    assert sorted(found) == [(0, 2), (1, 2), (3, 4)]


def test_an_entry_does_not_vote_for_its_document_in_another_sentence():
    lists = {"names": {"@misc": "spacy_hosemi.gazetteer.v1"}}
    nlp = make_nlp(scope="sents", model={"gazetteers": lists})
    nlp.add_pipe("sentencizer", first=True)
    example = Example.from_dict(
        nlp.make_doc("Ada wrote. Ada left."), {"entities": [(0, 3, "PER")]}
    )
    nlp.config["training"]["annotating_components"] = ["sentencizer"]
    reader = {"@readers": "spacy_hosemi.training_spans.v1"}
    nlp.config["initialize"]["components"]["hosemi"] = {"gazetteers": {"names": reader}}
    nlp.initialize(lambda: [example])
    matches = nlp.get_pipe("hosemi").weights.extractor.gazetteers.matches
    for instance in divide(example.predicted, "sents"):
        assert len(matches([instance.tokens]).start) == 1
        assert len(matches([instance.tokens], is_train=True).start) == 0


def test_sentence_starts_must_be_set():
    nlp = make_nlp(scope="sents")
    with pytest.raises(ValueError, match="HS067.*sentencizer.*annotating_components"):
        initialize(nlp, fit=lbfgs())
    pipe = initialized()[0]
    with pytest.raises(ValueError, match="HS067.*'a b'"):
        pipe(make_doc(NLP, "a", "b"))


def test_one_token_and_no_token_are_a_sentence():
    pipe = initialized()[0]
    assert len(pipe(make_doc(NLP)).ents) == 0
    assert len(pipe.marginals(make_doc(NLP)).tokens) == 0
    assert pipe.marginals(make_doc(NLP, "a")).tokens.shape == (1, 3)
    assert pipe.value_and_gradient([joined([], NLP.vocab)])[0] == 0.0
    assert pipe.update([joined([], NLP.vocab)]) == {"hosemi": 0.0}


def test_sentences_of_a_component_before(tmp_path):
    nlp = make_nlp(scope="sents", confidence=True, spans_key="x")
    nlp.add_pipe("sentencizer", first=True)
    nlp.config["training"]["annotating_components"] = ["sentencizer"]
    text = [
        "[PER Ada] wrote. [PER Ada] met [PER Mary].",
        "Nobody left. [PER Mary] did.",
    ]
    initialize(nlp, text, fit=lbfgs(max_iter=20))
    nlp.to_disk(tmp_path)
    for one in (nlp, spacy.load(tmp_path)):
        assert one.get_pipe("hosemi").cfg["scope"] == "sents"
        doc = one("Ada wrote. Mary met Ada.")
        assert [ent.text for ent in doc.ents] == ["Ada", "Mary", "Ada"]
        scores = doc.spans["x"].attrs["scores"]
        assert scores == pytest.approx([ent._.confidence for ent in doc.ents])


def test_confidence_of_a_span_that_a_new_sentence_start_divides():
    pipe, _ = initialized()
    sentences = [[("a", ""), ("c", "")], [("c", ""), ("b", "")]]
    docs = [joined(sentences, pipe.vocab).predicted for _ in range(2)]
    predictions = [Prediction([(0, 2, "A"), (2, 3, "B")], None)] * 2
    pipe.set_annotations(docs, predictions)
    docs[1][1].is_sent_start = True
    expected, found = ([ent._.confidence for ent in doc.ents] for doc in docs)
    assert found == pytest.approx(expected)
    assert 0.0 < expected[0] < 1.0


def crossing_example(nlp):
    doc = make_doc(nlp, *"abcd", sent_starts=[True, False, True, False])
    reference = make_doc(nlp, *"abcd")
    reference.set_ents([Span(reference, 1, 3, "A"), Span(reference, 3, 4, "A")])
    return Example(doc, reference)


def test_gold_spans_that_cross_a_sentence_start_are_missing():
    nlp = make_nlp(scope="sents")
    with pytest.warns(UserWarning, match="HSW07.* 1 gold spans of 2 cross"):
        nlp.initialize(lambda: [crossing_example(nlp)])
    pipe = nlp.get_pipe("hosemi")
    randomize(pipe)
    value, _ = pipe.value_and_gradient([crossing_example(nlp)])
    known = [[("a", ""), ("b", "-")], [("c", "-"), ("d", "A")]]
    expected, _ = pipe.value_and_gradient([joined(known, nlp.vocab)])
    assert value == pytest.approx(expected)


@pytest.mark.parametrize(
    "start, end, spans, missing",
    [
        (0, 6, [(1, 3, "A"), (4, 6, "B")], [3]),
        (1, 3, [(0, 2, "A")], []),
        (2, 5, [], [0, 1, 2]),
        (3, 3, [], []),
        (3, 4, [], [0]),
        (4, 6, [(0, 2, "B")], []),
    ],
)
def test_part_of_an_annotation(start, end, spans, missing):
    blocked = np.arange(6) == 0
    known = PartialLabels(((1, 3, "A"), (4, 6, "B")), blocked=blocked)
    part = known.part(start, end)
    assert part.required == tuple(spans)
    assert np.flatnonzero(part.unknown(end - start)).tolist() == missing
    assert blocked.sum() == 1


def test_a_sentence_is_read_like_a_doc():
    doc = make_doc(
        NLP,
        *"abcde",
        lemmas=list("vwxyz"),
        sent_starts=[True, False, True, False, False],
    )
    first, second = divide(doc, "sents")
    assert (first.start, first.end, second.start, second.end) == (0, 2, 2, 5)
    copy, tokens = doc[2:5].as_doc(), second.tokens
    assert [t.text for t in tokens] == [t.text for t in copy]
    assert tokens.text == copy.text.rstrip(" ") and tokens.vocab is copy.vocab
    assert (
        tokens[0].text == "c" and tokens[-1].text == "e" and tokens[:9].text == "c d e"
    )
    for name in ("ORTH", "LEMMA", "NORM", "SPACY"):
        assert tokens.to_array(name).tolist() == copy.to_array(name).tolist()
    assert divide(doc, "doc")[0].tokens is doc
    with pytest.raises(IndexError):
        tokens[3]
