"""Gold from examples, gold as constraints, limits of documents."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_hosemi.core import PatternAutomaton, Potentials, log_partition
from spacy_hosemi.labels.alignment import out_of_reach, read_annotations
from spacy_hosemi.labels.constraints import borders_of, to_constraints
from spacy_hosemi.labels.gold import check_known, make_golds
from spacy_hosemi.labels.inventory import ENCODINGS, LabelInventory
from spacy_hosemi.labels.partial import PartialLabels
from spacy_hosemi.labels.whitespace import whitespace

from .. import oracles
from ..helpers import as_problem, make_doc, make_examples

NLP = spacy.blank("en")


def read(predicted, reference):
    """Spans, and the indices of missing tokens."""
    (annotation,) = read_annotations([Example(predicted, reference)])
    return [*annotation.required], np.flatnonzero(annotation.unknown()).tolist()


def read_biluo(words, tags, predicted=None):
    example = Example.from_dict(
        make_doc(NLP, *(predicted or words)), {"words": words, "entities": tags}
    )
    (annotation,) = read_annotations([example])
    return [*annotation.required], np.flatnonzero(annotation.unknown()).tolist()


# --- what is read -----------------------------------------------------------------


def test_complete_annotation():
    (example,) = make_examples(NLP, ["[PER Ada Lovelace] met [PER Mary]."])
    (annotation,) = read_annotations([example])
    assert annotation.required == ((0, 2, "PER"), (3, 4, "PER"))
    assert not annotation.unknown().any()


def test_no_annotation_is_all_missing():
    doc = make_doc(NLP, "Ada", "\n", "met")
    assert read(doc, doc.copy()) == ([], [0, 1, 2])


def test_no_entities_is_all_outside():
    assert read_biluo(["Ada", "met"], ["O", "O"]) == ([], [])


def test_missing_tokens():
    tags = ["U-PER", "-", "O", "B-LOC", "L-LOC", "-"]
    found = read_biluo(list("abcdef"), tags)
    assert found == ([(0, 1, "PER"), (3, 5, "LOC")], [1, 5])


def test_missing_tokens_of_set_ents():
    reference = make_doc(NLP, *"abcd")
    reference.set_ents([Span(reference, 1, 2, "A")], default="missing")
    assert read(make_doc(NLP, *"abcd"), reference) == ([(1, 2, "A")], [0, 2, 3])


@pytest.mark.parametrize(
    "words, tags, predicted, spans, missing",
    [
        # the tokens are cut differently, and yet the span is found
        ("a b", ["B-A", "I-A"], "ab", [(0, 1, "A")], []),
        ("ab c", ["B-A", "O"], "a b c", [(0, 2, "A")], []),
        # a span begins or ends within a token
        ("a b c", ["O", "B-A", "O"], "ab c", [], [0]),
        ("a b c", ["O", "B-A", "O"], "a bc", [], [1]),
        ("a b c", ["B-A", "I-A", "O"], "a bc", [], [0, 1]),
        ("a b c d", ["O", "B-A", "I-A", "O"], "a b cd", [], [1, 2]),
        ("a b c", ["B-A", "B-B", "O"], "ab c", [], [0]),
        # outside tokens stay outside, however they are cut
        ("a b c", ["O", "O", "B-A"], "ab c", [(1, 2, "A")], []),
        ("ab c", ["O", "B-A"], "a b c", [(2, 3, "A")], []),
    ],
)
def test_other_tokens(words, tags, predicted, spans, missing):
    words, predicted = words.split(), predicted.split()
    doc = Doc(NLP.vocab, words=predicted, spaces=[False] * len(predicted))
    reference = Doc(NLP.vocab, words=words, spaces=[False] * len(words), ents=tags)
    assert read(doc, reference) == (spans, missing)


def test_whitespace_in_a_misaligned_span_is_not_outside():
    words, predicted = ["a", "\n", "b", "c"], ["a", "\n", "bc"]
    reference = Doc(NLP.vocab, words=words, spaces=[False] * 4)
    reference.set_ents([Span(reference, 0, 3, "A")])
    doc = Doc(NLP.vocab, words=predicted, spaces=[False] * 3)
    assert read(doc, reference) == ([], [0, 1, 2])


def test_missing_whitespace_stays_missing():
    words = ["a", "b", "\n", "c"]
    assert read_biluo(words, ["O", "-", "-", "-"]) == ([], [1, 2, 3])


def test_out_of_reach():
    reference = Doc(NLP.vocab, words=list("abcd"), spaces=[False] * 4)
    reference.set_ents([Span(reference, 0, 1, "A"), Span(reference, 2, 3, "A")])
    doc = Doc(NLP.vocab, words=["a", "b", "cd"], spaces=[False] * 3)
    example = Example(doc, reference)
    (missed,) = out_of_reach(example, *read_annotations([example]))
    assert (missed.start, missed.text) == (2, "c")


# --- gold -------------------------------------------------------------------------


def make(spans, missing, encoding="segments", outside="run", words="abcd"):
    inventory = LabelInventory(["A", "B"], encoding, outside)
    covered = {i for start, end, _ in spans for i in range(start, end)}
    blocked = [i not in missing and i not in covered for i in range(len(words))]
    known = PartialLabels(tuple(spans), blocked=np.array(blocked, bool))
    (gold,) = make_golds([known], inventory, [make_doc(NLP, *words)])
    return gold


def test_known_gold_is_a_segmentation():
    gold = make([(1, 3, "B")], [])
    assert gold.segments == [(0, 1, 0), (1, 3, 2), (3, 4, 0)]
    assert (gold.constraints, gold.n_known) == (None, 4)


def test_gold_with_missing_tokens_is_a_constraint():
    gold = make([(1, 3, "B")], [3])
    assert gold.segments is None
    assert gold.n_known == 3


def test_unknown_label():
    with pytest.raises(ValueError, match="HS041.*'C'.*hosemi"):
        known, doc = PartialLabels(((0, 1, "C"),)), make_doc(NLP, "a")
        check_known([known], "AB", [doc], "hosemi")


def test_every_token_is_in_a_span():
    assert make([(0, 3, "A"), (3, 4, "B")], [], outside="none").n_known == 4
    assert make([(0, 3, "A")], [3], outside="none").n_known == 3
    with pytest.raises(ValueError, match="HS044.*token 3.*'d'"):
        make([(0, 3, "A")], [], outside="none")


def test_whitespace_between_spans_is_missing_if_nothing_is_outside():
    gold = make([(0, 2, "A"), (3, 4, "A")], [], outside="none", words="ab\nd")
    assert gold.n_known == 3


@st.composite
def partial_golds(draw):
    """n tokens in pieces: a span, known outside text or missing."""
    kinds = st.sampled_from(["A", "B", "O", "-"])
    pieces = draw(st.lists(st.tuples(st.integers(1, 2), kinds), min_size=1, max_size=3))
    spans, missing, at = [], [], 0
    for size, kind in pieces:
        if kind in "AB":
            spans.append((at, at + size, kind))
        if kind == "-":
            missing += range(at, at + size)
        at += size
    return spans, missing, at


def agrees(found, spans, missing):
    """Whether predicted spans are the gold ones where that is known."""
    if not set(spans) <= set(found):
        return False
    others = [span for span in found if span not in spans]
    return all(set(range(i, j)) <= set(missing) for i, j, _ in others)


@pytest.mark.parametrize("encoding", ENCODINGS)
@settings(max_examples=50)
@given(gold=partial_golds(), seed=st.integers(0, 100))
def test_gold_constraints_equal_enumeration(encoding, gold, seed):
    spans, missing, n_tokens = gold
    if n_tokens > (3 if encoding == "BILUO" else 4) or not missing:
        return
    if encoding == "IO" and any(
        left[1:] == (right[0], right[2])
        for left, right in zip(spans, spans[1:], strict=False)
    ):
        return  # neighbours of one label cannot be told apart in IO
    inventory = LabelInventory(["A", "B"], encoding)
    forbidden = inventory.forbidden()
    automaton = PatternAutomaton(inventory.names, forbidden)
    potentials = Potentials.zeros(automaton, n_tokens)
    rng = np.random.default_rng(seed)
    for name in ("inside", "start", "end"):
        array = getattr(potentials, name)
        array[:] = rng.normal(size=array.shape)
    if encoding == "segments":
        potentials.tail[:] = 0.0
    potentials.pattern[:] = -np.inf
    scores = oracles.scored(as_problem(automaton, potentials))
    agreeing = {
        segmentation: score
        for segmentation, score in scores.items()
        if score > -math.inf and agrees(inventory.decode(segmentation), spans, missing)
    }
    constraints = make(spans, missing, encoding, words="x" * n_tokens).constraints
    expected = pytest.approx(oracles.log_z(agreeing), abs=1e-9)
    assert log_partition(automaton, potentials, constraints) == expected


# --- limits -----------------------------------------------------------------------


def sentences(*starts, words="abcd"):
    return make_doc(NLP, *words, sent_starts=[i in starts for i in range(len(words))])


def test_no_limits():
    inventory = LabelInventory(["A"])
    assert borders_of(make_doc(NLP, *"abcd"), inventory) is None
    assert borders_of(sentences(0), inventory) is None
    assert borders_of(make_doc(NLP), inventory) is None
    assert to_constraints(PartialLabels(), inventory, 4) is None


def test_unset_sentence_starts_are_no_limits():
    doc = make_doc(NLP, *"abcd", sent_starts=[True, None, None, False])
    assert borders_of(doc, LabelInventory(["A"])) is None


def test_no_span_crosses_a_sentence_start():
    inventory = LabelInventory(["A"])
    borders = borders_of(sentences(0, 2), inventory)
    found = to_constraints(PartialLabels(borders=borders), inventory, 4)
    assert found.boundary.tolist() == [0, 0, 2, 0, 0]


@pytest.mark.parametrize("encoding", ["segments", "BIO", "BILUO"])
def test_limits_equal_enumeration(encoding):
    inventory = LabelInventory(["A"], encoding)
    automaton = PatternAutomaton(inventory.names, inventory.forbidden())
    potentials = Potentials.zeros(automaton, 4)
    potentials.inside[:] = np.random.default_rng(0).normal(size=potentials.inside.shape)
    potentials.tail[:] = 0.0 if encoding == "segments" else -np.inf
    potentials.pattern[:] = -np.inf
    scores = oracles.scored(as_problem(automaton, potentials))
    allowed = {
        segmentation: score
        for segmentation, score in scores.items()
        if score > -math.inf
        and not any(i < 2 < j for i, j, _ in inventory.decode(segmentation))
    }
    borders = borders_of(sentences(0, 2), inventory)
    constraints = to_constraints(PartialLabels(borders=borders), inventory, 4)
    found = log_partition(automaton, potentials, constraints)
    assert found == pytest.approx(oracles.log_z(allowed), abs=1e-9)


def test_whitespace():
    assert whitespace(make_doc(NLP, "a", "b")) is None
    assert whitespace(make_doc(NLP, "a", "\n", "b", "  ")).tolist() == [1, 3]
