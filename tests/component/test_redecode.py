"""Decoding given what a user knows, against enumeration."""

import itertools
from types import SimpleNamespace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings
from spacy.tokens import Span

from spacy_hosemi.core import CELLS, Constraints, PatternAutomaton, Potentials
from spacy_hosemi.labels.inventory import LabelInventory
from spacy_hosemi.labels.partial import PartialLabels
from spacy_hosemi.labels.whitespace import trim_whitespace
from spacy_hosemi.prediction.batch import Batch
from spacy_hosemi.prediction.permitted_tags import best_permitted

from .. import oracles
from ..helpers import (
    UNTRAINED,
    as_problem,
    change_weights,
    initialize,
    make_doc,
    make_nlp,
    make_trained,
    triples,
)
from .test_answers import (
    CONFIGS,
    MARKED,
    NLP,
    PIPES,
    UNITS,
    by_spans,
    distributions,
    doc_of,
    joined,
    make_pipe,
    pipe_of,
)

KNOWN = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.integers(1, 3),
        st.sampled_from(["A", "B", None]),
        st.sampled_from(["keep", "forbid", "forbid"]),
    ),
    max_size=4,
)


def overlap(x, y) -> bool:
    return x[0] < y[1] and y[0] < x[1]


def split_known(known, doc) -> tuple[list, list]:
    """Spans that fit the document, each in one sentence; kept ones do not overlap."""
    keep, forbid = [], []
    for start, size, label, which in known:
        span = (start, start + size, label)
        if start + size > len(doc):
            continue
        if which == "forbid":
            forbid.append(span)
        elif label and not any(overlap(span, x) for x in keep):
            if not any(t.is_sent_start for t in doc[start + 1 : start + size]):
                keep.append(span)
    forbid = [x for x in forbid if not any(x[:2] == y[:2] for y in keep)]
    return keep, forbid


def is_known(spans, keep, forbid) -> bool:
    labelled = set(spans) | {(i, j, None) for i, j, _ in spans}
    return set(keep) <= set(spans) and not labelled & set(forbid)


@pytest.mark.parametrize("name", [x for x in CONFIGS if "hard" not in x])
@settings(max_examples=15)
@given(parts=UNITS, known=KNOWN)
def test_equals_enumeration(name, parts, known):
    if "collective" in CONFIGS[name]:
        parts = [list(dict.fromkeys(sum(parts, [])))]  # no second pass
    pipe, doc = pipe_of(name), doc_of(name, parts)
    keep, forbid = split_known(known, doc)
    everything = by_spans(pipe, doc)
    left = {s: p for s, p in everything.items() if is_known(s, keep, forbid)}
    if not any(left.values()):
        # Sentence starts do not hold for what is kept.
        assume(not any(t.is_sent_start for t in doc[1:]))
        with pytest.raises(ValueError, match="HS060.*keep = |HS060.*forbid = "):
            pipe.redecode(doc, keep, forbid)
        return
    assert pipe.redecode(doc, keep, forbid) is doc
    found = tuple(triples(doc.ents))
    if pipe.decoding == "viterbi":
        assert is_known(found, keep, forbid)
        assert left[found] == pytest.approx(max(left.values()))
    for ent in doc.ents:
        if pipe.inventory.on_tokens and forbid:
            left = {s: p for s, p in everything.items() if is_known(s, keep, [])}
        span = (ent.start, ent.end, ent.label_)
        p = sum(p for s, p in left.items() if span in s) / sum(left.values())
        assert ent._.confidence == pytest.approx(p, abs=1e-9)
    assert set(keep) <= set(found)


@pytest.mark.parametrize("encoding", ["segments", "IO", "BIO", "BILUO"])
def test_all_predictions_in_turn_are_those_of_kbest(encoding):
    """What is forbidden step by step: a different answer each time, never a better."""
    pipe = make_pipe(encoding=encoding, max_length=None)
    doc = make_doc(NLP, *"abc-abcaa")
    forbid, before = [], 0.0
    probs = {tuple(x.spans): x.log_probability for x in pipe.kbest(doc, 3000)}
    for _ in range(6):
        found = triples(pipe.redecode(doc, forbid=forbid).ents)
        left = [x for s, x in probs.items() if is_known(s, [], forbid)]
        assert probs[tuple(found)] == pytest.approx(max(left))
        assert probs[tuple(found)] <= before + 1e-9
        before = probs[tuple(found)]
        if not found:
            break
        forbid.append(found[-1])
    assert len(forbid) > 2


@pytest.mark.parametrize("encoding", ["IO", "BIO", "BILUO"])
def test_what_is_forbidden_beside_whitespace(encoding):
    """Tags may cover whitespace, which is cut off from the span."""
    pipe = make_pipe(encoding=encoding, clean_text=False)
    doc = make_doc(NLP, "a", "\n", "b")
    ((_, scores),) = distributions(pipe, doc)
    spans_of = {
        segments: [
            (i + (i == 1), j - (j == 2), y)
            for i, j, y in pipe.inventory.decode(segments)
            if (i, j) != (1, 2)
        ]
        for segments in oracles.possible(scores)
    }
    for n in (1, 2):
        known = itertools.product([(0, 1), (0, 3), (2, 3)], ["A", "B", None])
        for some in itertools.combinations(known, n):
            forbid = [(*span, y) for span, y in some]
            left = {s for s, spans in spans_of.items() if is_known(spans, [], forbid)}
            best = max(left, key=scores.get)
            assert triples(pipe.redecode(doc, forbid=forbid).ents) == spans_of[best]


@pytest.mark.parametrize("encoding", ["segments", "BIO", "BILUO"])
def test_what_is_kept_goes_before_sentence_starts(encoding):
    pipe = make_pipe(encoding=encoding)
    doc = joined([["a"], ["b", "c"], ["a"]])
    for span in [(0, 2, "A"), (0, 4, "B"), (1, 4, "A")]:
        pipe.redecode(doc, [span])
        assert span in triples(doc.ents)
        others = [x for x in triples(doc.ents) if x != span]
        assert not any(i < k < j for i, j, _ in others for k in (1, 3))


def free_of(name):
    """The same component, with the matches of the list as features alone."""
    if name + " free" not in PIPES:
        PIPES[name + " free"] = make_pipe(**CONFIGS[name], mode="feature")
    return PIPES[name + " free"]


@pytest.mark.parametrize("name", ["hard", "hard sents"])
@settings(max_examples=15)
@given(parts=UNITS, known=KNOWN)
def test_hard_lists(name, parts, known):
    """As without the list, where what it finds and may be an entity is kept too."""
    pipe, doc = pipe_of(name), doc_of(name, parts)
    free = free_of(name)
    keep, forbid = split_known(known, doc)
    hard = []
    for i, j in sorted(
        itertools.combinations(range(len(doc) + 1), 2), key=lambda s: (s[0] - s[1], s)
    ):
        crosses = any(t.is_sent_start for t in doc[i + 1 : j])
        if doc[i:j].text in ("a b", "c") and not crosses:
            span = (i, j, "A")
            is_free = not any(overlap(span, x) for x in [*keep, *hard])
            if is_free and not {span, (i, j, None)} & set(forbid):
                hard.append(span)
    try:
        expected = triples(free.redecode(doc.copy(), [*keep, *hard], forbid).ents)
    except ValueError:
        assume(False)
    assert triples(pipe.redecode(doc, keep, forbid).ents) == expected
    # Once more, with its own entities there: the same.
    assert triples(pipe.redecode(doc, keep, forbid).ents) == expected


def test_what_is_given():
    nlp = make_trained()
    pipe = nlp.get_pipe("hosemi")
    doc = nlp("Ada Lovelace wrote to Charles Babbage.")
    assert triples(doc.ents) == [(0, 2, "PER"), (4, 6, "PER")]
    ada, charles = doc.ents
    pipe.redecode(doc, keep=[Span(doc, 0, 1, "PER")], forbid=[charles, doc[1:2]])
    assert triples(doc.ents)[0] == (0, 1, "PER")
    assert (4, 6, "PER") not in triples(doc.ents)
    assert doc.ents[0]._.confidence == pytest.approx(1.0)
    pipe.redecode(doc, keep=[[0, 2, "LOC"]])
    assert triples(doc.ents) == [(0, 2, "LOC"), (4, 6, "PER")]
    pipe.redecode(doc)
    assert triples(doc.ents) == [(0, 2, "PER"), (4, 6, "PER")]
    pipe.redecode(doc, keep=[(0, 2, "PER"), ada])  # twice the same
    assert triples(doc.ents) == [(0, 2, "PER"), (4, 6, "PER")]


@pytest.mark.parametrize(
    "keep, forbid, message",
    [
        ([(0, 9, "A")], [], r"HS095.*keep has \(0, 9, 'A'\), which is out of range.*4"),
        ([], [(2, 2, "A")], "HS095.*forbid has.*which is out of range"),
        ([], [(-1, 2, None)], "HS095.*forbid has.*which is out of range"),
        ([(0.0, 2, "A")], [], "HS095.*no whole numbers"),
        ([], [(False, True, "A")], "HS095.*no whole numbers"),
        ([(0, 2)], [], "HS095.*which is no span"),
        ([3], [], "HS095.*which is no span"),
        ([(1, 3, "A")], [], "HS095.*begins or ends with whitespace"),
        ([(0, 1, "X")], [], r"HS096.*keep has \(0, 1, 'X'\).*'A', 'B'"),
        ([(0, 1, None)], [], "HS096.*keep has"),
        ([(0, 1, "O")], [], "HS096.*keep has"),
        ([], [(0, 1, "X")], "HS096.*forbid has.*in forbid None"),
        ([(1, 2, "A"), (0, 2, "B")], [], r"HS097.*\(0, 2, 'B'\) and \(1, 2, 'A'\)"),
        ([(0, 1, "A"), (0, 1, "B")], [], "HS097.*overlap"),
        ([(0, 1, "A")], [(0, 1, "A")], r"HS098.*keep has \(0, 1, 'A'\)"),
        ([(0, 1, "A")], [(0, 1, None)], "HS098"),
    ],
)
def test_refused(keep, forbid, message):
    pipe = pipe_of("segments")
    doc = pipe(make_doc(NLP, "a", "b", "\n", "c"))
    before = triples(doc.ents)
    with pytest.raises(ValueError, match=message):
        pipe.redecode(doc, keep, forbid)
    assert triples(doc.ents) == before


def test_spans_of_other_documents_or_over_sentences_are_refused():
    other, doc = make_doc(NLP, "a", "b"), joined([["a"], ["b"]])
    with pytest.raises(ValueError, match="HS095.*a span of another document"):
        pipe_of("segments").redecode(doc, [Span(other, 0, 1, "A")])
    with pytest.raises(ValueError, match="HS095.*crosses a sentence"):
        pipe_of("sents").redecode(doc, [(0, 2, "A")])
    pipe_of("sents").redecode(doc, forbid=[(0, 2, "A")])  # that is none anyway


@pytest.mark.parametrize(
    "config, message",
    [
        ({"max_length": 1}, r"HS060.*keep = \[\(0, 2, 'A'\)\] and max_length = 1"),
        ({"label_rules": ["A at most once"]}, "HS060.*keep = .*label_rules"),
    ],
)
def test_impossible(config, message):
    pipe = make_pipe(**config)
    doc = pipe(make_doc(NLP, *"abcb"))
    before = triples(doc.ents)
    rules = "label_rules" in config
    pipe.schema = pipe.schema.with_patterns([], [], config.get("label_rules", []))
    change_weights(pipe, pattern=pipe.weights.pattern[:0])
    keep = [(0, 2, "A"), (2, 4, "A")] if rules else [(0, 2, "A")]
    with pytest.raises(ValueError, match=message):
        pipe.redecode(doc, keep)
    assert triples(doc.ents) == before


def test_a_correction_speaks_for_equal_words():
    marked = ["Dr. [PER Zed] met Dr. [PER Ada].", "Dr. [PER Bo] left.", "He met Bo ."]
    features = {"preset": "none", "inside": ["BIAS"], "start": ["LOWER[-1]"]}
    nlp = make_trained(marked, features={**features, "min_count": 1}, collective=4.0)
    text = "He saw Kim , and then Kim left ."
    doc = nlp(text)
    assert triples(doc.ents) == []
    nlp.get_pipe("hosemi").redecode(doc, [(2, 3, "PER")])
    assert triples(doc.ents) == [(2, 3, "PER"), (6, 7, "PER")]


@pytest.mark.parametrize("name", CONFIGS)
def test_an_empty_doc(name):
    assert pipe_of(name).redecode(make_doc(NLP)).ents == ()
    with pytest.raises(ValueError, match="HS095"):
        pipe_of(name).redecode(make_doc(NLP), [(0, 1, "A")])


@UNTRAINED
def test_an_untrained_model():
    nlp = make_nlp()
    initialize(nlp, MARKED)
    pipe = nlp.get_pipe("hosemi")
    doc = pipe.redecode(make_doc(NLP, "a", "b"), [(1, 2, "B")], [(0, 1, None)])
    assert triples(doc.ents) == [(1, 2, "B")]
    assert doc.ents[0]._.confidence == 1.0
    with pytest.raises(ValueError, match="HS096.*expected one of \\(\\)"):
        make_nlp().get_pipe("hosemi").redecode(doc, [(0, 1, "B")])


def test_other_entities_stay_out_of_it():
    """Those of another component go before the matches of lists, as in prediction."""
    pipe = pipe_of("hard")
    doc = make_doc(NLP, "a", "b", "c")
    doc.set_ents([Span(doc, 1, 2, label="OTHER")])
    once = triples(pipe(doc.copy()).ents)
    assert triples(pipe.redecode(doc).ents) == once


def test_what_is_kept_is_never_dropped():
    for encoding in ("segments", "BIO"):
        pipe = make_pipe(min_confidence=1.0, encoding=encoding)
        for k in range(1, 9):
            doc = make_doc(NLP, *"abc-abcaa")
            keep = [(k - 1, k, "A"), (k, k + 1, "B")]
            assert triples(pipe.redecode(doc, keep).ents) == keep
            assert [ent._.confidence for ent in doc.ents] == [1.0, 1.0]


# --- tags on tokens, by the component's own code alone --------------------------------


def tag_batch(rng, encoding, n_tokens, *, n_labels=2, order=2, is_ended=True):
    """Tags with random scores, label patterns and whitespace; spans are excluded."""
    words = ["\n" if rng.random() < 0.25 else "x" for _ in range(n_tokens)]
    inventory = LabelInventory(["A", "B-2", "I"][:n_labels], encoding)
    forbidden = inventory.forbidden()
    names = ("^", *inventory.names)
    longer = {tuple(rng.choice(names[1:], size=order + 1)) for _ in range(order and 6)}
    longer |= {("^", *z[:order]) for z in [*longer][:2] if order}
    longer |= {(*z[1:], "$") for z in [*longer][:2] if is_ended and order}
    observed = [z for z in longer if z[-1] != "$"][:2]
    learnt = sorted(longer.difference(forbidden))
    patterns = [*forbidden, *learnt]
    automaton = PatternAutomaton(inventory.names, patterns, observed=observed)
    potentials = Potentials.zeros(automaton, n_tokens)
    for role in ("inside", "start", "end"):
        array = getattr(potentials, role)
        array[:] = rng.normal(size=array.shape)
    potentials.pattern[: len(forbidden)] = -np.inf
    potentials.pattern[len(forbidden) :] = rng.normal(size=len(learnt))
    potentials.length[:] = rng.normal(size=potentials.length.shape)
    cells = [(i, i + 1, int(rng.integers(automaton.n_columns)), 1.0) for i in (0, 0)]
    potentials.cells = np.array(cells[:n_tokens], CELLS)
    doc = make_doc(NLP, *words)
    forbid = []
    for _ in range(int(rng.integers(1, 6))):
        i, j = sorted(rng.choice(n_tokens + 1, size=2, replace=False).tolist())
        forbid.append((i, j, rng.choice([*inventory.labels, None])))
    allowed = rng.random((n_tokens, len(inventory.names))) < 0.9
    constraints = Constraints(allowed) if rng.random() < 0.5 else None
    fixed = PartialLabels((), tuple(forbid))
    return batch_of(doc, potentials, constraints, fixed, automaton, inventory)


def batch_of(doc, potentials, constraints, corrections, automaton, inventory):
    source = SimpleNamespace(automaton=automaton, inventory=inventory, tree=None)
    batch = Batch(source, [doc], [potentials], (0, 1))
    batch.constraints, batch.corrections = [constraints], [corrections]
    return batch


def spans_meant(tags, words):
    """The spans that tags mean, by the definition of BIO and of IO, without the
    whitespace at their ends."""
    found, last = set(), None
    for i, tag in enumerate([*tags, "O"]):
        is_same = tag[0] in "IL" and last is not None and tag[2:] == last[1]
        if last is not None and not is_same:
            inner = [k for k in range(last[0], i) if not words[k].isspace()]
            if inner:
                found.add((inner[0], inner[-1] + 1, last[1]))
            last = None
        if tag != "O" and last is None:
            last = (i, tag[2:])
    return found


@pytest.mark.parametrize("encoding", ["IO", "BIO", "BILUO"])
def test_the_best_tags_without_some_spans_equal_enumeration(encoding):
    n_excluded = n_empty = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n_tokens = int(rng.integers(1, 5 if encoding == "IO" else 4))
        order = int(rng.integers(3))
        batch = tag_batch(rng, encoding, n_tokens, order=order)
        inventory = batch.source.inventory
        words = [token.text for token in batch.docs[0]]
        args = batch.source.automaton, batch.potentials[0], batch.constraints[0]
        scores = oracles.scored(as_problem(*args))
        excluded = {*batch.corrections[0].excluded}
        left = {}
        for segments, score in scores.items():
            tags = [inventory.names[y] for _, _, y in segments]
            spans = spans_meant(tags, words) if len(tags) == n_tokens else set()
            if not excluded & {*spans, *((i, j, None) for i, j, _ in spans)}:
                left[segments] = score
            elif score == max(scores.values()):
                n_excluded += 1
        found = best_permitted(batch, 0)
        best = max(left.values(), default=-np.inf)
        if best == -np.inf:
            n_empty += 1
            assert found == []
        else:
            assert left[tuple(found)] == pytest.approx(best, abs=1e-9)
    assert n_excluded > 8 and n_empty < 12


@pytest.mark.parametrize("encoding", ["IO", "BIO", "BILUO"])
def test_equal_scores_without_some_spans_go_by_label(encoding):
    """The rule of `viterbi`: the first tag of the smallest index."""
    inventory = LabelInventory(["A", "B"], encoding)
    automaton = PatternAutomaton(inventory.names, inventory.forbidden())
    potentials = Potentials.zeros(automaton, 3)
    potentials.pattern[:] = -np.inf
    potentials.inside[:, 1:] = 1.0
    doc = make_doc(NLP, *"abc")
    fixed = PartialLabels((), ((0, 3, None), (0, 2, "A"), (0, 1, "A")))
    batch = batch_of(doc, potentials, None, fixed, automaton, inventory)
    found = inventory.decode(best_permitted(batch, 0))
    expected = {"IO": [(0, 1, "B"), (1, 3, "A")], "BIO": [(0, 1, "B"), (1, 2, "A")]}
    assert found[:2] == expected.get(encoding, [(0, 2, "B"), (2, 3, "A")])


@pytest.mark.parametrize("encoding", ["IO", "BIO", "BILUO"])
def test_thirty_spans_of_twenty_tokens(encoding):
    """Splitting what is left of all tags did not end for these in a minute."""
    rng = np.random.default_rng(0)
    batch = tag_batch(rng, encoding, 20, n_labels=3)
    batch.constraints = [None]
    forbid, found = [], [(0, 0, "")]
    while len(forbid) < 30 and found:
        batch.corrections = [PartialLabels((), tuple(forbid))]
        found = batch.source.inventory.decode(best_permitted(batch, 0))
        found = trim_whitespace(found, [token.is_space for token in batch.docs[0]])
        assert not {*found} & {*forbid}
        forbid += found[: 30 - len(forbid)]
    assert len(forbid) == 30
