"""The probability of whole segmentations, against enumeration; where it is kept."""

import copy
import itertools
import math
import pickle

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, settings
from spacy.tokens import Doc, DocBin, Span

from spacy_hosemi.labels.whitespace import trim_whitespace
from spacy_hosemi.prediction import record_probability

from ..helpers import initialize, make_doc, make_nlp, make_trained, triples
from ..hierarchy.test_answers import is_below, listed, uncertain
from .test_answers import (
    CONFIGS,
    MARKED,
    NLP,
    UNITS,
    by_spans,
    doc_of,
    make_pipe,
    pipe_of,
)

TEXT = "Ada Lovelace wrote to Charles Babbage."
CHANGES = {
    "as it is": {},
    "less sure": {"temperature": 3.0},
    "some dropped": {"min_confidence": 0.4},
    "all dropped": {"min_confidence": 1.0},
    "saved": {"confidence": True},
    "saved, some dropped": {"confidence": True, "min_confidence": 0.4},
    "listed": {"spans_key": "x"},
    "by F1": {"decoding": "mbr"},
    "saved, by F1": {"confidence": True, "decoding": "mbr"},
    "saved, by a given F1": {"confidence": True, "decoding": "mbr", "expected_f1": 0.2},
}

WITH_SPACES, TREES = {}, {}


def changed(pipe, **config):
    other = copy.deepcopy(pipe)
    for name, value in config.items():
        setattr(other, name, value)
    return other


@pytest.mark.parametrize("name", CONFIGS)
@settings(max_examples=8)
@given(parts=UNITS, change=st.sampled_from([*CHANGES]))
def test_equals_enumeration(name, change, parts):
    has_tags = pipe_of(name).cfg["encoding"] != "segments"
    config = {} if has_tags and "F1" in change else CHANGES[change]
    pipe, doc = changed(pipe_of(name), **config), doc_of(name, parts)
    expected = by_spans(pipe, doc)
    doc = pipe(doc)
    for spans, p in expected.items():
        assert pipe.probability(doc, spans[::-1]) == pytest.approx(p, abs=1e-9)
    whole_text = [(0, len(doc), "A")]
    p = expected.get((*whole_text,), 0.0)
    assert pipe.probability(doc, whole_text) == pytest.approx(p, abs=1e-9)
    wanted = expected.get(tuple(triples(doc.ents)), 0.0)
    assert doc._.record_confidence == pytest.approx(wanted, abs=1e-9)
    answer = pipe.ranked(doc)[0]
    assert answer.spans == triples(doc.ents)
    assert answer.probability == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("config", [{}, {"encoding": "BIO"}, {"observed_order": 1}])
def test_log_z_is_computed_once(config, monkeypatch):
    """The bits are the same whatever is asked first; confidences leave log Z."""
    nlp = make_trained(**config)
    docs = [nlp(TEXT), nlp(TEXT)]
    assert docs[0].ents
    first = docs[0]._.record_confidence
    assert [ent._.confidence for ent in docs[1].ents]

    def fail(*args):
        raise AssertionError("computed twice")

    for name in ("log_partition", "log_partition_as_asked"):
        monkeypatch.setattr(record_probability, name, fail)
    assert docs[1]._.record_confidence == first
    nlp.get_pipe("hosemi").confidence = True
    assert nlp(TEXT)._.record_confidence == first


@pytest.mark.parametrize("encoding", ["IO", "BIO", "BILUO"])
@settings(max_examples=12)
@given(words=st.lists(st.sampled_from(["a", "b", "\n"]), min_size=1, max_size=5))
@example(words=["a", "\n", "a", "\n", "b"])
def test_tags_on_whitespace(encoding, words):
    """All sequences of tags that are read as the same spans count."""
    if encoding not in WITH_SPACES:
        marked = ["[A a b] a", "a [A a] b"]
        how = {"encoding": encoding, "clean_text": False, "size": 0.3}
        pipe = make_pipe(marked=marked, **how)
        WITH_SPACES[encoding] = pipe
    pipe, doc = WITH_SPACES[encoding], make_doc(NLP, *words)
    expected = {}
    for spans, p in by_spans(pipe, doc).items():
        cut = tuple(trim_whitespace(spans, [token.is_space for token in doc]))
        expected[cut] = expected.get(cut, 0.0) + p
    posterior = pipe.decoder.posterior(doc)
    for spans, p in expected.items():
        assert posterior.whole(spans) == pytest.approx(p, abs=1e-9)
    everything = [(i, j, "A") for i in range(len(doc)) for j in range(i, len(doc))]
    for i, j, y in everything:
        p = expected.get(((i, j + 1, y),), 0.0)
        assert pipe.probability(doc, [(i, j + 1, y)]) == pytest.approx(p, abs=1e-9)


@pytest.mark.parametrize("exact_up_to", [0, 100])
@pytest.mark.parametrize("least", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("is_saved", [False, True])
def test_labels_in_a_tree(exact_up_to, least, is_saved):
    """An upper name stands for all labels below."""
    if exact_up_to not in TREES:
        TREES[exact_up_to] = uncertain(exact_up_to)
    pipe = changed(TREES[exact_up_to].get_pipe("hosemi"), confidence=is_saved)
    for text in ("Ada met Babbage", "Mary", "", "in New York"):
        doc = make_doc(TREES[exact_up_to], *text.split())
        alternatives = listed(pipe, doc)
        pipe.min_confidence = least
        doc = pipe(doc)
        shown = triples(doc.ents)
        for spans, p in alternatives:
            assert pipe.probability(doc, spans) == pytest.approx(p, abs=1e-9)

        def is_shown(spans, shown=shown):
            places = {(i, j): name for i, j, name in shown}
            return {x[:2] for x in spans} == {*places} and all(
                is_below(y, places[i, j]) for i, j, y in spans
            )

        wanted = math.fsum(p for spans, p in alternatives if is_shown(spans))
        assert doc._.record_confidence == pytest.approx(wanted, abs=1e-9)
        (answer,) = pipe.ranked(doc)
        assert answer.spans == shown
        assert answer.probability == pytest.approx(wanted, abs=1e-9)
        assert pipe.probability(doc, shown) == pytest.approx(wanted, abs=1e-9)
        scores = [ent._.confidence for ent in doc.ents]
        assert answer.confidences == pytest.approx(scores)


@pytest.mark.parametrize("encoding", ["segments", "BIO"])
def test_corrections_are_given(encoding):
    pipe = make_pipe(encoding=encoding)
    doc = pipe(make_doc(NLP, "a", "b", "c"))
    keep = [(1, 2, "B")]
    everything = by_spans(pipe, doc)
    agreeing = {x: p for x, p in everything.items() if keep[0] in x}
    doc = pipe.redecode(doc, keep=keep)
    wanted = agreeing[tuple(triples(doc.ents))] / math.fsum(agreeing.values())
    assert doc._.record_confidence == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("label", ["A", "other"])
def test_existing_entities_are_given(label):
    pipe, doc = pipe_of("segments"), make_doc(NLP, "a", "b", "c", "a")
    doc.set_ents([Span(doc, 1, 2, label=label)], default="missing")
    alternatives = {tuple(x.spans): x.probability for x in pipe.kbest(doc, 10_000)}
    answers = pipe.ranked(doc, 4)
    for spans, p in alternatives.items():
        for beside in {spans, (*spans, (1, 2, label))}:
            assert pipe.probability(doc, beside) == pytest.approx(p, abs=1e-9)
    for span in ((0, 2, "A"), (1, 2, "B"), (1, 3, "B")):  # over the given one
        assert pipe.probability(doc, [span]) == 0.0
    doc = pipe(doc)
    assert (1, 2, label) in triples(doc.ents)
    own = tuple(x for x in triples(doc.ents) if label == "A" or x[2] != label)
    assert doc._.record_confidence == pytest.approx(alternatives[own])
    assert answers[0].spans == triples(doc.ents)
    for answer in answers:
        place = answer.spans.index((1, 2, label))
        assert answer.confidences[place] is None
    assert len({tuple(answer.spans) for answer in answers}) == 4


RULES = {
    "A at most once": lambda labels: labels.count("A") <= 1,
    "B never before A": lambda labels: "A" not in labels.partition("B")[2],
    "A at least once": lambda labels: "A" in labels,
}


@pytest.mark.filterwarnings("ignore:.*HSW05")
@pytest.mark.parametrize("rules", [[*RULES][:2], [*RULES][2:], [*RULES]])
@pytest.mark.parametrize("temperature", [1.0, 2.5])
@pytest.mark.parametrize("when", ["before", "after", "loaded"])
def test_rules(rules, temperature, when):
    """Against the segmentations that keep them; set before training or after."""
    first = rules if when == "before" else []
    pipe = make_pipe(label_rules=first, temperature=temperature)
    pipe.label_rules = rules
    if when == "loaded":
        other = make_pipe(label_rules=["B at least twice"])
        pipe = other.from_bytes(pipe.to_bytes())
    doc = make_doc(NLP, *"aabc")
    free = by_spans(pipe, doc)

    def keeps(spans):
        labels = "".join(y for *_, y in spans)
        return all(RULES[rule](labels) for rule in rules)

    z = math.fsum(p for spans, p in free.items() if keeps(spans))
    for spans, p in free.items():
        wanted = p / z if keeps(spans) else 0.0
        assert pipe.probability(doc, spans) == pytest.approx(wanted, abs=1e-9)
    best = max(filter(keeps, free), key=free.__getitem__)
    assert tuple(triples(pipe(doc).ents)) == best


def test_spans_that_words_do_not_have():
    """With clean text, "Lovel-\\nace" is one word and \\u200b none."""
    pipe = (nlp := make_trained()).get_pipe("hosemi")
    doc = make_doc(nlp, "Ada", "Lovel", "-", "\n", "ace", "\u200b", "wrote")
    spans = {x for answer in pipe.kbest(doc, 10_000) for x in answer.spans}
    for i, j in itertools.combinations(range(len(doc) + 1), 2):
        p = pipe.probability(doc, [(i, j, "PER")])
        assert (p > 0.0) == ((i, j, "PER") in spans)


@pytest.mark.parametrize(
    "spans, code",
    [
        ([(0, 2, "PER"), (1, 3, "PER")], "HS097.*spans has"),
        ([(0, 99, "PER")], "HS095.*spans has"),
        ([(0, 1, None)], "HS096"),
        (3, "HS043.*spans is 3"),
    ],
)
def test_what_is_no_segmentation(spans, code):
    nlp = make_trained()
    with pytest.raises((ValueError, TypeError), match=code):
        nlp.get_pipe("hosemi").probability(nlp(TEXT), spans)


@pytest.mark.parametrize("name", ["segments", "BIO"])
def test_very_improbable_records(name):
    pipe = make_pipe(size=1e-3, **CONFIGS[name])
    doc = pipe(make_doc(NLP, *"abc-" * 300))
    assert doc._.record_confidence == 0.0  # below the smallest positive float
    sure = make_pipe(size=200.0, **CONFIGS[name])
    assert 0.5 < sure(make_doc(NLP, *"abc-" * 30))._.record_confidence <= 1.0


def test_where_there_is_none():
    nlp = make_trained()
    assert nlp.make_doc(TEXT)._.record_confidence is None
    doc = nlp(TEXT)
    assert 0.0 < doc._.record_confidence < 1.0
    doc.ents = doc.ents[:1]  # no longer what was predicted
    assert doc._.record_confidence is None
    # Text that was added is about no prediction; whitespace is no text.
    joined = Doc.from_docs([nlp(TEXT), nlp.make_doc("She wrote to Paris.")])
    assert joined._.record_confidence is None


@pytest.mark.filterwarnings("ignore:.*HSW27")
def test_an_untrained_model():
    nlp = make_nlp()
    initialize(nlp, MARKED)
    doc, pipe = nlp("a b"), nlp.get_pipe("hosemi")
    assert doc._.record_confidence == pipe.probability(doc, []) == 1.0
    assert pipe.probability(doc, [(0, 1, "A")]) == 0.0


def test_of_several_components_the_product():
    nlp = make_trained(["[A a] b c", "b [A a]"])
    make_nlp(nlp=nlp, name="other")
    other = make_trained(["a [B b] c", "[B b] a"]).get_pipe("hosemi")
    nlp.get_pipe("other").from_bytes(other.to_bytes())
    doc = nlp("a b c")
    assert triples(doc.ents) == [(0, 1, "A"), (1, 2, "B")]
    first = nlp.get_pipe("hosemi").kbest(nlp.make_doc("a b c"), 1)[0].probability
    given = nlp.make_doc("a b c")
    given.set_ents([Span(given, 0, 1, label="A")], default="missing")
    second = nlp.get_pipe("other").kbest(given, 1)[0].probability
    assert doc._.record_confidence == pytest.approx(first * second)


@pytest.mark.parametrize("is_read", [False, True])
def test_saved_documents(is_read):
    nlp = make_trained()
    docs = [nlp(TEXT), nlp("She met Ada in Paris.")]
    expected = [nlp(doc.text)._.record_confidence for doc in docs]
    if is_read:
        assert [doc._.record_confidence for doc in docs] == expected
    joined = Doc.from_docs(docs)
    wanted = math.prod(expected) if is_read else None
    assert joined._.record_confidence == (wanted and pytest.approx(wanted))
    saved = DocBin(docs=docs, store_user_data=True).to_bytes()
    for copies in (
        [*DocBin().from_bytes(saved).get_docs(nlp.vocab)],
        pickle.loads(pickle.dumps(docs)),
        [doc.copy() for doc in docs],
    ):
        found = [doc._.record_confidence for doc in copies]
        assert found == pytest.approx(expected)  # the component still knows
    pipe = nlp.get_pipe("hosemi")
    pipe.temperature = 2.0
    assert [doc._.record_confidence for doc in docs] == pytest.approx(expected)
    later = [doc.copy()._.record_confidence for doc in docs]
    assert later == pytest.approx(expected)  # they were read before
