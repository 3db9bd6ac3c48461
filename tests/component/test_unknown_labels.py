"""Entities that another component has set, with labels that the model does not have:
they stay, no span crosses them, and the labels of the model stay as they are."""

import json
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example

from .. import oracles
from ..helpers import (
    MANY_EXISTING,
    as_problem,
    instances_of,
    make_doc,
    make_nlp,
    make_trained,
    triples,
)
from ..hierarchy.test_component import make_tree_nlp
from ..hierarchy.test_leaves import levels
from .test_answers import CONFIGS, NLP, make_pipe
from .test_redecode import overlap

FIXTURES = Path(__file__).parent.parent / "fixtures"
EXPECTED = FIXTURES / "unknown_labels.jsonl"
NEW = "NEW"
NAMES = [x for x in CONFIGS if "collective" not in x and x != "both"]
RULES = {"rules": {"label_rules": ["A at most once", "B at least once"]}}


def draw_doc(rng, name, n_tokens):
    """A document, in two sentences or one, with its walls and an entity perhaps."""
    words = rng.choice(list("abc-"), n_tokens).tolist()
    starts = [i == 0 or (i == 2 and n_tokens > 3) for i in range(n_tokens)]
    doc = Doc(NLP.vocab, words=words, sent_starts=starts if "sents" in name else None)
    walls, at = [], int(rng.integers(2))
    while at < n_tokens:
        size = int(rng.integers(1, 3))
        if rng.random() < 0.7 and at + size <= n_tokens:
            walls.append((at, at + size, f"{NEW}{at}"))
        at += size
    doc.set_ents([Span(doc, *span) for span in walls], default="missing")
    return doc, walls


def runs(is_taken) -> set[tuple[int, int]]:
    """Start and end of each run of taken tokens."""
    found, at = set(), 0
    for taken, group in groupby(is_taken):
        size = len([*group])
        if taken:
            found.add((at, at + size))
        at += size
    return found


def distribution(pipe, doc, walls, potentials) -> list[tuple[int, oracles.Scores]]:
    """By instance, all segmentations with the walls outside: in a model that has no
    outside each is one outside segment that scores as little as its weights say."""
    found, cfg = [], pipe.cfg
    for instance, given in potentials:
        is_taken = np.zeros(len(doc), bool)
        for i, j, _ in walls:
            is_taken[i:j] = True
        is_taken = is_taken[instance.start : instance.end]
        problem = as_problem(pipe.automaton, given)
        is_none = pipe.inventory.outside == "none"
        if is_none:
            length, tail = problem.length.copy(), problem.tail.copy()
            length[0] = 0.0
            if not pipe.inventory.on_tokens:
                tail[0] = 0.0
            problem = problem._replace(length=length, tail=tail)
        starts = [] if cfg["scope"] == "sents" else sentence_starts(doc)

        def permits(segmentation):
            outside = [(i, j) for i, j, y in segmentation if not y]
            covered = pipe.inventory.decode(segmentation)
            is_free = not any(is_taken[i:j].any() for i, j, _ in covered)  # noqa: B023
            is_in = not any(i < k < j for i, j, _ in covered for k in starts)  # noqa: B023
            labels = [y for _, _, y in covered]
            is_in &= not cfg["label_rules"] or (
                labels.count("A") <= 1 and "B" in labels
            )
            is_wall = not is_none or set(outside) == runs(is_taken)  # noqa: B023
            return is_free and is_in and is_wall

        scores = oracles.scored(problem)
        left = {x: score for x, score in scores.items() if permits(x)}
        found.append((instance.start, left))
    return found


def sentence_starts(doc):
    return [token.i for token in doc[1:] if token.is_sent_start]


@MANY_EXISTING
@pytest.mark.parametrize("name", [*(x for x in NAMES if "hard" not in x), *RULES])
def test_equals_enumeration(name):
    pipe = make_pipe(**{**CONFIGS, **RULES}[name])
    pipe.min_confidence, pipe.confidence = 0.0, True
    rng = np.random.default_rng(len(name))
    n_walls = n_found = 0
    for n_tokens in (1, 2, 4, 4, 4) if pipe.inventory.on_tokens else (1, 3, 4, 5, 5):
        doc, walls = draw_doc(rng, name, n_tokens)
        bare = doc.copy()
        bare.set_ents([], default="missing")
        problems = instances_of(pipe.decoder.posterior(bare))
        given = [(x.instance, x.potentials) for x in problems]
        expected = distribution(pipe, doc, walls, given)
        if not all(any(np.isfinite([*x.values()])) for _, x in expected):
            continue  # the rules leave nothing
        best, probs, log_z = [], {}, 0.0
        for low, scores in expected:
            decoded = pipe.inventory.decode(oracles.best(scores)[0])
            best += [(i + low, j + low, y) for i, j, y in decoded]
            log_z += oracles.log_z(scores)
            for segments, p in oracles.probabilities(scores).items():
                for i, j, y in pipe.inventory.decode(segments):
                    key = i + low, j + low, y
                    probs[key] = probs.get(key, 0.0) + p
        assert pipe.marginals(doc).log_z == pytest.approx(log_z, abs=1e-9)
        alternatives = pipe.kbest(doc, 2)
        assert not any(
            overlap(x, y) for z in alternatives for x in z.spans for y in walls
        )
        pipe(doc)
        found = [x for x in triples(doc.ents) if x not in walls]
        if pipe.decoding == "viterbi":
            assert found == best
            assert alternatives[0].spans == best
        for ent in doc.ents:
            span = (ent.start, ent.end, ent.label_)
            if span in walls:
                assert ent._.confidence is None
            else:
                assert ent._.confidence == pytest.approx(probs[span], abs=1e-6)
        assert set(walls) <= set(triples(doc.ents))
        again = doc.to_bytes()
        assert pipe(doc).to_bytes() == again
        n_walls, n_found = n_walls + len(walls), n_found + len(found)
    assert n_walls > 2 and n_found
    assert pipe.labels == ("A", "B")


def test_labels_come_from_training_alone():
    """However many threads, and whatever is asked of the documents."""
    for threads in (1, 4):
        nlp = make_trained()
        pipe = nlp.get_pipe("hosemi")
        pipe.threads = threads
        before, automaton = pipe.to_bytes(exclude=["vocab"]), pipe.automaton
        ruler = nlp.add_pipe("entity_ruler", first=True)
        labels = ["^", *(f"N{i}" for i in range(1, 20))]
        pairs = enumerate(labels)
        ruler.add_patterns([{"label": y, "pattern": f"w{i}"} for i, y in pairs])
        docs = [*nlp.pipe([f"Ada met w{i} and Mary Somerville." for i in range(20)])]
        for i, doc in enumerate(docs):
            assert (2, 3, labels[i]) in triples(doc.ents) and len(doc.ents) > 1
        pipe.kbest(docs[0], 2)
        pipe.marginals(docs[0])
        assert (
            pipe.to_bytes(exclude=["vocab"]) == before and pipe.automaton is automaton
        )


def test_an_untrained_model_gets_no_labels():
    nlp = spacy.blank("en")
    pipe = nlp.add_pipe("hosemi")
    doc = make_doc(nlp, "a", "b")
    doc.set_ents([Span(doc, 0, 1, NEW)])
    assert triples(pipe(doc).ents) == [(0, 1, NEW)] and pipe.labels == ()


@pytest.mark.parametrize("encoding", ["segments", "IO", "BIO", "BILUO"])
@pytest.mark.parametrize("outside", ["run", "none"])
def test_corrections_come_before_walls(encoding, outside):
    pipe = make_pipe(outside=outside, encoding=encoding)
    doc = make_doc(NLP, *"abca")
    doc.set_ents([Span(doc, 1, 3, NEW)], default="missing")
    with pytest.raises(ValueError, match=r"HS096.*keep has \(1, 3, 'NEW'\)"):
        pipe.redecode(doc, keep=[(1, 3, NEW)])
    with pytest.raises(ValueError, match=r"HS096.*forbid has \(1, 3, 'NEW'\)"):
        pipe.redecode(doc, forbid=[(1, 3, NEW)])
    pipe.redecode(doc, keep=[(0, 1, "A")])
    assert {(0, 1, "A"), (1, 3, NEW)} <= {*triples(doc.ents)}
    other = pipe.redecode(doc.copy(), keep=[(2, 4, "B")])  # on a token of the wall
    assert (2, 4, "B") in triples(other.ents)
    assert (1, 3, NEW) not in triples(other.ents)
    other = pipe.redecode(doc.copy(), forbid=[(1, 3, None)])
    free = pipe.redecode(make_doc(NLP, *"abca"), forbid=[(1, 3, None)])
    assert triples(other.ents) == triples(free.ents)


def test_rules_that_leave_nothing_do_not_fail():
    """All tokens are a wall, and yet the rules want an entity: none is written."""
    pipe = make_pipe(label_rules=["A at least once"])
    doc = make_doc(NLP, "a", "b")
    doc.set_ents([Span(doc, 0, 2, NEW)], default="missing")
    assert triples(pipe(doc).ents) == [(0, 2, NEW)]


@pytest.mark.parametrize("outside", ["run", "none"])
def test_a_tree(outside):
    """Level by level, with nothing left out, as with all leaves at once."""
    lines = ("[PER/first Ada] [LOC/city London]", "[LOC/land France] [PER/last Ada]")
    config = {} if outside == "run" else {"lines": lines}
    nlp = make_tree_nlp(**config, outside=outside)
    pipe = nlp.get_pipe("hosemi")
    labels = pipe.labels
    pipe.confidence = True
    doc = make_doc(nlp, *"Ada London France Ada".split())
    doc.set_ents([Span(doc, 1, 3, "LOC/moon")], default="missing")
    found = [triples(one(doc.copy()).ents) for one in (pipe, levels(pipe))]
    assert (1, 3, "LOC/moon") in found[0] and found[0] == found[1]
    assert pipe.labels == labels and (outside == "run" or len(found[0]) == 3)
    docs = [one(doc.copy()) for one in (pipe, levels(pipe))]
    probs = [[ent._.confidence for ent in one.ents] for one in docs]
    for p, other in zip(*probs):
        assert (p is None) == (other is None)
        assert p is None or p == pytest.approx(other, abs=1e-6)


def test_a_second_pass_and_a_list_of_all_spans():
    pipe = make_pipe(collective=1.0, spans_key="all")
    pipe.spans_threshold = 0.01
    doc = make_doc(NLP, *"abcab")
    doc.set_ents([Span(doc, 1, 3, NEW)], default="missing")
    pipe(doc)
    assert len(doc.spans["all"]) > 3
    assert not any(overlap((x.start, x.end), (1, 3)) for x in doc.spans["all"])


@pytest.mark.parametrize("line", EXPECTED.read_text("utf8").splitlines())
def test_saved_models(line):
    """Saved models, on documents with entities that they do not know."""
    given = json.loads(line)
    folder = FIXTURES / "saved" / given["model"]
    nlp = spacy.load(folder / "model", exclude=["tokenizer", "vocab"])
    doc = Doc(nlp.vocab, given["words"], sent_starts=given["sents"])
    doc.set_ents([Span(doc, *span) for span in given["walls"]])
    doc = nlp(doc)
    assert [[*x] for x in triples(doc.ents)] == given["spans"]
    for ent, p in zip(doc.ents, given["confidences"], strict=True):
        expected = None if p is None else pytest.approx(p, abs=1e-9)
        assert ent._.confidence == expected


@pytest.mark.parametrize("scope", ["doc", "sents"])
@pytest.mark.parametrize("outside", ["run", "token"])
@pytest.mark.parametrize("encoding", ["segments", "IO", "BIO", "BILUO"])
def test_a_model_without_labels(encoding, outside, scope):
    """Trained on documents without entities, it answers whatever it is asked."""
    nlp = make_nlp(encoding=encoding, outside=outside, scope=scope)
    pipe = nlp.get_pipe("hosemi")
    pipe.confidence = True
    doc = make_doc(nlp, *"abc\nd", sent_starts=[True, False, True, False, False])
    eg = Example(doc.copy(), doc.copy())
    eg.reference.set_ents([], default="outside")
    nlp.initialize(lambda: [eg])
    nlp.update([eg], sgd=nlp.create_optimizer())
    pipe.set_weights(pipe.get_weights() + 0.5)
    assert pipe.weights.is_trained and pipe.labels == ()
    assert triples(pipe(doc.copy()).ents) == []
    doc.set_ents([Span(doc, 1, 2, NEW)], blocked=[doc[4:5]], default="missing")
    assert triples(pipe(doc.copy()).ents) == [(1, 2, NEW)]
    assert [one.spans for one in pipe.kbest(doc, 3)] == [[]] * len(pipe.kbest(doc, 3))
    assert pipe.entropy(doc) >= 0.0 and pipe.marginals(doc).tokens.shape == (5, 1)
    assert triples(pipe.redecode(doc, forbid=[(1, 2, None)]).ents) == []
