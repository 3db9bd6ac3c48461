"""The second pass, against enumeration and plain loops."""

import hypothesis.strategies as st
import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from spacy.tokens import Doc

from spacy_hosemi.prediction.collective import equal_words, mean_of_others

from .. import oracles
from ..helpers import (
    as_problem,
    initialize,
    make_doc,
    make_nlp,
    make_trained,
    randomize,
    triples,
)

NLP = spacy.blank("en")
MARKED = ["[A ada bo] cy", "[B bo] cy ada", "ada [B cy]"]
WEIGHT = 1.5
PIPES = {}


def make_pipe(seed=0, **config):
    nlp = make_nlp(**{"collective": WEIGHT, **config})
    nlp.add_pipe("sentencizer", first=True)
    nlp.config["training"]["annotating_components"] = ["sentencizer"]
    initialize(nlp, MARKED)
    pipe = nlp.get_pipe("hosemi")
    randomize(pipe, seed, 0.7)
    return pipe


def expected_counts(problem, scores):
    """By role [n][L]: how often tokens are covered, begin and end a segment."""
    log_z = oracles.log_z(scores)
    n, n_labels = problem.inside.shape
    counts = {role: np.zeros((n, n_labels)) for role in ("inside", "start", "end")}
    for segments, score in scores.items():
        p = np.exp(score - log_z)
        for i, j, y in segments:
            counts["start"][i, y] += p
            counts["end"][j - 1, y] += p
            for k in range(i, j):
                counts["inside"][k, y] += p
    return counts


def with_others(words, counts, weight):
    """What each token gets from the same word elsewhere, one token at a time."""
    more = {role: np.zeros_like(count) for role, count in counts.items()}
    for i, word in enumerate(words):
        others = [k for k, x in enumerate(words) if x == word and k != i]
        if others and word != "," and word != "the":
            for role, count in counts.items():
                more[role][i] = weight * sum(count[k] for k in others) / len(others)
    return more


def second_pass(pipe, docs):
    """The second pass, enumerated: scores of segmentations, by instance."""
    problems, counts = [], []
    for doc in docs:
        (potentials,) = pipe.model.predict([doc])
        problems.append(as_problem(pipe.automaton, potentials))
        counts.append(expected_counts(problems[-1], oracles.scored(problems[-1])))
    words = [t.lower_ for doc in docs for t in doc]
    roles = ("inside", "start", "end")
    together = {role: np.concatenate([c[role] for c in counts]) for role in roles}
    more = with_others(words, together, pipe.collective)
    found, at = [], 0
    for problem, doc in zip(problems, docs):
        added = {
            role: getattr(problem, role) + more[role][at : at + len(doc)]
            for role in roles
        }
        found.append(oracles.scored(problem._replace(**added)))
        at += len(doc)
    return found


UNITS = st.lists(
    st.lists(st.sampled_from(["Ada", "ada", "bo", "the", ","]), min_size=1, max_size=4),
    min_size=1,
    max_size=3,
)


@settings(max_examples=40)
@given(parts=UNITS, seed=st.integers(0, 3), scope=st.sampled_from(["doc", "sents"]))
def test_equals_enumeration(parts, seed, scope):
    parts = [sum(parts, [])[:5]] if scope == "doc" else parts
    if (seed, scope) not in PIPES:
        PIPES[seed, scope] = make_pipe(seed, scope=scope)
    pipe = PIPES[seed, scope]
    words = sum(parts, [])
    starts = [i == 0 for part in parts for i in range(len(part))]
    doc = Doc(NLP.vocab, words=words, sent_starts=starts)
    expected = second_pass(pipe, [Doc(NLP.vocab, words=part) for part in parts])
    log_z = sum(map(oracles.log_z, expected))
    assert pipe.marginals(doc).log_z == pytest.approx(log_z, abs=1e-9)
    doc, at = pipe(doc), 0
    for part, scores in zip(parts, expected):
        ents = [e for e in doc.ents if at <= e.start < at + len(part)]
        chosen = [(e.start - at, e.end - at, e.label_) for e in ents]
        best = max(scores, key=scores.get)
        assert chosen == pipe.inventory.decode(best)
        for ent, span in zip(ents, chosen):
            agreeing = {
                s: score
                for s, score in scores.items()
                if span in pipe.inventory.decode(s)
            }
            p = np.exp(oracles.log_z(agreeing) - oracles.log_z(scores))
            assert ent._.confidence == pytest.approx(p, abs=1e-9)
        at += len(part)


@settings(max_examples=30)
@given(
    values=st.lists(st.floats(0, 1), min_size=6, max_size=6),
    group_of=st.lists(st.integers(0, 2), min_size=6, max_size=6),
)
def test_mean_of_others(values, group_of):
    members = [[i for i in range(6) if group_of[i] == g] for g in range(3)]
    groups = [np.array(m) for m in members if len(m) > 1]
    found = mean_of_others(np.array(values)[:, None], groups)[:, 0]
    for i in range(6):
        others = [values[k] for k in range(6) if group_of[k] == group_of[i] and k != i]
        expected = sum(others) / len(others) if others else 0.0
        assert found[i] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "words, groups",
    [
        ([], []),
        (["Ada"], []),
        (["Ada", "bo", "ADA", "Bo", "ada"], [[0, 2, 4], [1, 3]]),
        (["the", "The", ",", ",", "1", "1"], []),
        (["Łódź", "łódź", "x1", "X1"], [[0, 1], [2, 3]]),
    ],
)
def test_equal_words(words, groups):
    found = equal_words(make_doc(NLP, *words))
    assert sorted(group.tolist() for group in found) == groups


def test_a_clear_place_decides_an_unclear_one():
    marked = ["Sir [PER Zed] met Sir [PER Ada].", "Sir [PER Bo] left.", "He met Bo ."]
    features = {"preset": "none", "inside": ["BIAS"], "start": ["LOWER[-1]"]}
    texts = {}
    for weight in (0.0, 4.0):
        features["min_count"] = 1
        nlp = make_trained(marked, features=features, collective=weight)
        texts[weight] = [e.text for e in nlp("Sir Kim met Sir Ada. Kim left.").ents]
    assert texts == {0.0: ["Kim", "Ada"], 4.0: ["Kim", "Ada", "Kim"]}


@pytest.mark.parametrize(
    "config", [{}, {"decoding": "mbr"}, {"encoding": "BIO"}], ids=str
)
def test_where_no_word_occurs_twice_nothing_changes(config):
    pair = [make_trained(collective=weight, **config) for weight in (0.0, 2.0)]
    for text in ("Ada Lovelace wrote to Mary, Jim, and the end.", "", "Ada"):
        one, two = (nlp(text) for nlp in pair)
        assert triples(one.ents) == triples(two.ents)
        scores = [[e._.confidence for e in doc.ents] for doc in (one, two)]
        assert scores[0] == pytest.approx(scores[1])


@pytest.mark.parametrize("encoding", ["segments", "IO", "BILUO"])
def test_stored_and_computed_probabilities_are_those_of_the_second_pass(encoding):
    words = "ada bo cy bo ada cy cy ada".split()
    values = []
    for config in ({}, {"confidence": True}, {"spans_key": "x"}):
        pipe = make_pipe(encoding=encoding, **config)
        doc = pipe(make_doc(NLP, *words))
        values.append([ent._.confidence for ent in doc.ents])
        if "spans_key" in config:
            assert doc.spans["x"].attrs["scores"] == pytest.approx(values[0])
    assert len(values[0]) > 0
    assert values == [pytest.approx(values[0])] * 3
    pipe.collective = 0.0
    doc = pipe(make_doc(NLP, *words))
    assert [ent._.confidence for ent in doc.ents] != pytest.approx(values[0])


def test_what_is_forbidden_stays_so():
    pipe = make_pipe(max_length=1, collective=50.0)
    doc = pipe(make_doc(NLP, *["ada"] * 9))
    assert all(len(ent) == 1 for ent in doc.ents)


def test_the_config_decides_after_loading(tmp_path):
    nlp = make_trained(collective=2.0)
    nlp.to_disk(tmp_path)
    assert spacy.load(tmp_path).get_pipe("hosemi").collective == 2.0
    override = {"components": {"hosemi": {"collective": 0.0}}}
    assert spacy.load(tmp_path, config=override).get_pipe("hosemi").collective == 0.0
