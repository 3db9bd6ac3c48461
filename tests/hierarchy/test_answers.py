"""More than the best answer, with labels in a tree: all of them agree with the list of
all segmentations, which itself is that of the lattice (tests/core/test_lattice.py)."""

import copy
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from spacy.tokens import Span

from ..helpers import lbfgs, make_doc, make_nlp, triples
from .test_component import (
    AT_ONCE,
    INNER_ALONE,
    LABELS,
    MARKED,
    TREE,
    fit_on,
    make_tree_nlp,
)

ALL = 100_000
TEXTS = ("Ada met Babbage", "Mary", "", "in New York")


def uncertain(exact_up_to, **config):
    """Few iterations, and nothing is pruned."""
    settings = {"fit": lbfgs(max_iter=4, l2=2.0)}
    tree = {"threshold": 0.0, "exact_up_to": exact_up_to}
    return make_tree_nlp(MARKED[:5], tree=tree, settings=settings, **config)


def in_sentences(nlp):
    """The same component, sentence by sentence."""
    pipe = copy.deepcopy(nlp.get_pipe("hosemi"))
    pipe.settings = replace(pipe.settings, scope="sents")
    return pipe


@pytest.fixture(scope="module", params=AT_ONCE)
def nlp(request):
    return uncertain(request.param)


@pytest.fixture(scope="module")
def pipe(nlp):
    return nlp.get_pipe("hosemi")


def listed(pipe, doc) -> list[tuple[set, float]]:
    return [({*x.spans}, x.probability) for x in pipe.kbest(doc, ALL)]


@pytest.fixture(scope="module")
def list_of(nlp, pipe):
    """All segmentations of a text."""
    return cache(lambda text: listed(pipe, make_doc(nlp, *text.split())))


def is_below(label, name) -> bool:
    return label == name or label.startswith(f"{name}/")


def total(alternatives, start, end, name) -> float:
    """Probability of a span with a label at or below a name."""
    return math.fsum(
        p
        for spans, p in alternatives
        if any(x[:2] == (start, end) and is_below(x[2], name) for x in spans)
    )


@pytest.mark.parametrize("text", TEXTS)
def test_all_alternatives(nlp, pipe, text):
    doc = make_doc(nlp, *text.split())
    found = pipe.kbest(doc, ALL)
    spans = [tuple(x.spans) for x in found]
    assert len({*spans}) == len(spans)
    assert math.fsum(x.probability for x in found) == pytest.approx(1.0)
    order = [x.log_probability for x in found]
    assert order == sorted(order, reverse=True)
    entropy = -math.fsum(x.probability * x.log_probability for x in found)
    assert pipe.entropy(doc) == pytest.approx(entropy, abs=1e-9)
    assert pipe.kbest(doc, 2) == found[:2]
    assert triples(pipe(doc).ents) == found[0].spans
    alternatives = listed(pipe, doc)
    for ent in doc.ents:
        for name, p in ent._.label_path:
            wanted = total(alternatives, ent.start, ent.end, name)
            assert p == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("text", TEXTS)
def test_marginals_and_spans_above(nlp, pipe, text):
    doc = make_doc(nlp, *text.split())
    alternatives, found = listed(pipe, doc), pipe.marginals(doc)
    n = len(doc)
    assert found.tokens.shape == (n, 1 + len(LABELS))
    np.testing.assert_allclose(found.tokens.sum(axis=1), 1.0)
    places = [(i, j) for j in range(1, n + 1) for i in range(j)]
    for y, label in enumerate(LABELS, start=1):
        for i, j in places:
            wanted = total(alternatives, i, j, label)
            assert found.segment(i, j, y) == pytest.approx(wanted, abs=1e-9)
    above = found.segments_above(0.1)
    assert above == sorted(above)
    assert {x[:3] for x in above if x[2]} == {
        (i, j, y)
        for y, label in enumerate(LABELS, start=1)
        for i, j in places
        if total(alternatives, i, j, label) >= 0.1
    }
    other = copy.deepcopy(pipe)
    other.spans_key, other.spans_threshold = "all", 0.1
    again = other(make_doc(nlp, *text.split()))
    group = again.spans["all"]
    assert triples(group) == [(i, j, LABELS[y - 1]) for i, j, y, _ in above if y]
    expected = [p for *_, y, p in above if y]
    np.testing.assert_allclose(group.attrs["scores"], expected, rtol=1e-6)
    for args in ((0, 0, 1), (0, n + 1, 1)):
        with pytest.raises(ValueError, match="HS024"):
            found.segment(*args)
    for p in (0.0, 1.1):
        with pytest.raises(ValueError, match="HS022"):
            found.segments_above(p)


@pytest.mark.parametrize("expected_f1", [None, 0.1, 0.4, 0.8])
@pytest.mark.parametrize("text", TEXTS)
def test_mbr_gains_most(nlp, pipe, list_of, text, expected_f1):
    """Of all segmentations; and so it does beside a span that is kept."""
    other = copy.deepcopy(pipe)
    other.decoding, other.expected_f1 = "mbr", expected_f1
    words = text.split()
    for keep in ([], [(0, 1, "PER/last")])[: 1 + bool(words)]:
        doc = make_doc(nlp, *words)
        left = [x for x in list_of(text) if x[0].issuperset(keep)]
        mass = math.fsum(p for _, p in left)
        prob: dict[tuple, float] = {}
        for spans, p in left:
            for span in spans:
                prob[span] = prob.get(span, 0.0) + p / mass

        def gain(spans, prob=prob):
            right = math.fsum(prob.get(span, 0.0) for span in spans)
            if expected_f1 is not None:
                return 2.0 * right - expected_f1 * len(spans)
            return 2.0 * right / ((len(spans) + math.fsum(prob.values())) or 1.0)

        doc = other.redecode(doc, keep=keep) if keep else other(doc)
        found = {*triples(doc.ents)}
        assert found in [spans for spans, _ in left]
        assert gain(found) == pytest.approx(max(gain(x) for x, _ in left), abs=1e-9)
        for ent in doc.ents:
            (*_, (name, p)) = ent._.label_path
            is_kept = triples([ent])[0] in keep
            assert name == ent.label_ and (
                is_kept or p == pytest.approx(prob[triples([ent])[0]])
            )


def test_mbr_takes_no_span_for_want_of_outside(nlp, pipe):
    """The threshold leaves it out where labels are probable together."""
    other = copy.deepcopy(pipe)
    other.decoding, other.expected_f1 = "mbr", 1.0
    other.hierarchy = replace(other.hierarchy, threshold=0.2, exact_up_to=0)
    for words in ("London .", "London met", "France Paris"):
        doc = make_doc(nlp, *words.split())
        labels = other.marginals(doc).tokens[0]
        assert labels[0] == 0.0 and labels.max() < 0.5
        assert other(doc).ents == ()


def test_rows(nlp, pipe):
    doc = make_doc(nlp, "Ada", "met", "Babbage")
    alternatives, rows = listed(pipe, doc), pipe.to_rows(doc, 3)
    assert {row["rank"] for row in rows} <= {1, 2, 3}
    for row in rows:
        wanted = total(alternatives, row["start"], row["end"], row["label"])
        assert row["confidence"] == pytest.approx(wanted, abs=1e-9)
        assert row["label"] in LABELS


def test_sentences(nlp):
    """They are independent: probabilities multiply, entropies add."""
    pipe = in_sentences(nlp)
    halves = ["Ada met".split(), "Mary .".split()]
    doc = make_doc(nlp, *halves[0], *halves[1], sent_starts=[True, False, True, False])
    parts = [make_doc(nlp, *half, sent_starts=[True, False]) for half in halves]
    assert pipe.entropy(doc) == pytest.approx(sum(map(pipe.entropy, parts)))
    left, right = (pipe.kbest(part, 1)[0] for part in parts)
    best = pipe.kbest(doc, 1)[0]
    assert best.probability == pytest.approx(left.probability * right.probability)
    moved = [(i + 2, j + 2, y) for i, j, y in right.spans]
    assert best.spans == [*left.spans, *moved]
    tokens = [pipe.marginals(part).tokens for part in parts]
    np.testing.assert_allclose(pipe.marginals(doc).tokens, np.concatenate(tokens))
    assert pipe.marginals(doc).segment(1, 3, 1) == 0.0


def test_of_an_untrained_model():
    nlp = make_nlp(hierarchy=TREE)
    pipe, doc = nlp.get_pipe("hosemi"), make_doc(nlp, "Ada")
    for label in (None, *LABELS):
        if label:
            pipe.add_label(label)
        assert pipe.entropy(doc) == 0.0 and pipe.kbest(doc, 2)[0].spans == []
    flat = fit_on(make_nlp(hierarchy=TREE), ["[PER Ada] wrote .", "[LOC Rome] ."])
    assert {y for x in flat.get_pipe("hosemi").kbest(doc, 9) for *_, y in x.spans}


# --- what a user fixes ------------------------------------------------------------

ALL_PEOPLE = [(0, 1, "PER/first"), (0, 1, "PER/last")]
FIXED = [
    {"keep": [(0, 1, "PER/last")]},
    {"keep": [(0, 1, "LOC")]},
    {"keep": [(0, 2, "LOC/city")]},
    {"keep": [(0, 1, "ORG"), (2, 3, "PER")]},
    {"forbid": [(0, 1, "PER/first")]},
    {"forbid": [(0, 1, "PER")]},
    {"forbid": [(0, 1, None), (2, 3, "LOC")]},
    {"forbid": [*ALL_PEOPLE, (0, 1, "LOC/land")]},
    {"forbid": [(0, 1, "ORG")], "keep": [(2, 3, "PER/first")]},
    {"forbid": [(0, 1, "PER/last")], "keep": [(0, 1, "PER")]},
]


@pytest.mark.parametrize("exact_up_to", AT_ONCE)
def test_a_forbidden_label_does_not_come_back_as_an_upper_name(exact_up_to):
    nlp = make_tree_nlp(INNER_ALONE, tree={"exact_up_to": exact_up_to})
    pipe = nlp.get_pipe("hosemi")
    doc, span = nlp("Mary left ."), (0, 1, "PER")
    pipe.redecode(doc, forbid=[span])
    ((label, sure), (_, p)) = [ent._.label_path for ent in doc.ents][0]
    assert triples(doc.ents) == [(0, 1, "PER/last")] and label == "PER"
    pipe.min_confidence = {"PER/last": 1.0, "PER": 0.0}
    assert p < 1.0 and not pipe.redecode(doc, forbid=[span]).ents
    assert triples(nlp("Mary left .").ents) == [span]


@pytest.mark.parametrize("fixed", FIXED)
def test_redecode_is_the_best_of_what_agrees(nlp, pipe, list_of, fixed):
    doc = make_doc(nlp, "Ada", "met", "Babbage")

    def agrees(spans):
        kept = all(
            any(x[:2] == (i, j) and is_below(x[2], y) for x in spans)
            for i, j, y in fixed.get("keep", ())
        )
        return kept and not any(
            x[:2] == (i, j) and (y is None or is_below(x[2], y))
            for i, j, y in fixed.get("forbid", ())
            for x in spans
        )

    left = [(spans, p) for spans, p in list_of(TEXTS[0]) if agrees(spans)]
    mass = math.fsum(p for _, p in left)
    pipe.redecode(doc, **fixed)
    assert {*triples(doc.ents)} == left[0][0]
    for ent in doc.ents:
        for name, p in ent._.label_path:
            wanted = total(left, ent.start, ent.end, name) / mass
            assert p == pytest.approx(wanted, abs=1e-9)


def test_what_is_kept_is_sure(nlp, pipe):
    """As far down as its name says; so it stays whatever min_confidence is."""
    other = copy.deepcopy(pipe)
    other.min_confidence = 1.0
    doc = make_doc(nlp, "Ada", "met", "Babbage")
    keep = [(0, 1, "PER"), (2, 3, "LOC/land")]
    other.redecode(doc, keep=keep)
    assert triples(doc.ents) == keep
    assert [p for _, p in doc.ents[1]._.label_path] == [1.0, 1.0]
    (top, p), (_, q) = doc.ents[0]._.label_path
    assert (top, p) == ("PER", 1.0) and q < 1.0
    # what is predicted with the name of an inner node can be kept as it is
    other.redecode(doc, keep=doc.ents)
    assert triples(doc.ents) == keep


def test_preset_entities_that_are_forbidden(nlp, pipe):
    def redecoded(label, **fixed):
        doc = make_doc(nlp, "Ada", "met", "Babbage")
        doc.set_ents([Span(doc, 0, 1, label=label)], default="missing")
        pipe.redecode(doc, **fixed)
        return triples(doc.ents)

    for forbidden in ("PER/first", "PER", None):
        spans = redecoded("PER/first", forbid=[(0, 1, forbidden)])
        assert (0, 1, "PER/first") not in spans
    # with the name of an inner node, no label of which is left
    for forbidden in ([(0, 1, "PER")], ALL_PEOPLE):
        assert (0, 1, "PER") not in redecoded("PER", forbid=forbidden)
    spans = redecoded("ORG", keep=[(2, 3, "LOC/city")])
    assert spans == [(0, 1, "ORG"), (2, 3, "LOC/city")]


@pytest.mark.parametrize(
    ("fixed", "code"),
    [
        ({"keep": [(0, 1, "PER/middle")]}, "HS096"),
        ({"keep": [(0, 1, "PER/last")], "forbid": [(0, 1, "PER/last")]}, "HS098"),
        ({"keep": [(0, 1, "PER/last")], "forbid": [(0, 1, "PER")]}, "HS098"),
        ({"keep": [(0, 1, "PER")], "forbid": ALL_PEOPLE}, "HS098"),
        ({"keep": [(0, 1, "PER/last"), (0, 2, "ORG")]}, "HS097"),
    ],
)
def test_what_cannot_be_fixed(nlp, pipe, fixed, code):
    doc = make_doc(nlp, "Ada", "met", "Babbage")
    with pytest.raises(ValueError, match=code):
        pipe.redecode(doc, **fixed)
