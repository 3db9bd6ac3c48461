"""Gold from examples, gold as constraints, limits of documents."""

import math

import hypothesis.strategies as st
import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from spacy.tokens import Doc, Span
from spacy.training import Example, biluo_tags_to_spans

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


def read(example):
    """Spans, and the indices of missing tokens."""
    (annotation,) = read_annotations([example])
    return [*annotation.required], np.flatnonzero(annotation.unknown()).tolist()


# --- what is read -----------------------------------------------------------------


def test_complete_annotation():
    (example,) = make_examples(NLP, ["[PER Ada Lovelace] met [PER Mary]."])
    assert read(example) == ([(0, 2, "PER"), (3, 4, "PER")], [])


@pytest.mark.parametrize("default, missing", [("missing", [0, 2, 3]), ("outside", [])])
def test_tokens_that_were_not_set(default, missing):
    reference = make_doc(NLP, *"abcd")
    reference.set_ents([Span(reference, 1, 2, "A")], default=default)
    found = read(Example(make_doc(NLP, *"abcd"), reference))
    assert found == ([(1, 2, "A")], missing)
    bare = make_doc(NLP, *"abcd")
    assert read(Example(bare, bare.copy())) == ([], [0, 1, 2, 3])


@pytest.mark.parametrize(
    "words, tags, predicted, spans, missing",
    [
        ("a b", "O O", "a b", [], []),
        ("a b c d e f", "U-A - O B-B L-B -", "a b c d e f",
         [(0, 1, "A"), (3, 5, "B")], [1, 5]),
        # the tokens are cut differently, and yet the span is found
        ("a b", "B-A L-A", "ab", [(0, 1, "A")], []),
        ("ab c", "U-A O", "a b c", [(0, 2, "A")], []),
        # a span begins or ends within a token
        ("a b c", "O U-A O", "ab c", [], [0]),
        ("a b c", "O U-A O", "a bc", [], [1]),
        ("a b c", "B-A L-A O", "a bc", [], [0, 1]),
        ("a b c d", "O B-A L-A O", "a b cd", [], [1, 2]),
        ("a b c", "U-A U-B O", "ab c", [], [0]),
        # outside tokens stay outside, however they are cut
        ("a b c", "O O U-A", "ab c", [(1, 2, "A")], []),
        ("ab c", "O U-A", "a b c", [(2, 3, "A")], []),
        # whitespace within a misaligned span, and beside missing tokens
        ("a \n b c", "B-A I-A L-A O", "a \n bc", [], [0, 1, 2]),
        ("a b \n c", "O - - -", "a b \n c", [], [1, 2, 3]),
    ],
)  # fmt: skip
def test_tags_of_tokens(words, tags, predicted, spans, missing):
    words, predicted = words.split(" "), predicted.split(" ")
    doc = Doc(NLP.vocab, words=predicted, spaces=[False] * len(predicted))
    reference = Doc(NLP.vocab, words=words, spaces=[False] * len(words))
    tags = biluo_tags_to_spans(reference, tags.split()), tags.split()
    unset = [reference[i : i + 1] for i, tag in enumerate(tags[1]) if tag == "-"]
    reference.set_ents(tags[0], missing=unset)
    assert read(Example(doc, reference)) == (spans, missing)


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
