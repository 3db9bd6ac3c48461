"""The models of CRFsuite that examples/crfsuite reads, beside CRFsuite itself."""

import re
from importlib import import_module
from itertools import product

import numpy as np
import pytest
import spacy

from spacy_hosemi.formats import read_docs

from .conftest import ROOT, example_on_path

crfsuite = pytest.importorskip("pycrfsuite")


def features(words):
    """Names with numbers, line breaks and arrows, and what training has not seen."""
    return [
        {"word": word, "size": len(word) / 9, "end": f" --> {word[-1]}\n", "at": i / 20}
        | ({"near": {"before": words[i - 1], "is digit": words[i - 1].isdigit()}})
        for i, word in enumerate(words)
    ]


@pytest.fixture(scope="module", params=["BIO", "plain"])
def model(request, tmp_path_factory):
    """A chain of the demo corpus: RETURNS its file, and words of other texts."""
    path = str(tmp_path_factory.mktemp("crfsuite") / f"{request.param}.crfsuite")
    docs, held_out = (
        [*read_docs(ROOT / "corpus" / f"{name}.jsonl", spacy.blank("en"))][:60]
        for name in ("train", "dev")
    )
    trainer = crfsuite.Trainer(params={"max_iterations": 8}, verbose=False)
    for doc in docs:
        tags = [f"{t.ent_iob_}-{t.ent_type_}".rstrip("-") for t in doc]
        if request.param == "plain":
            tags = [t.ent_type_ or "rest" for t in doc]
        trainer.append(features([t.text for t in doc]), tags)
    trainer.train(path)
    return path, [[t.text for t in doc] for doc in held_out]


@pytest.fixture(scope="module")
def make():
    with example_on_path("crfsuite"):
        yield import_module("chain").Chain


def opened(path):
    tagger = crfsuite.Tagger()
    tagger.open(path)
    return tagger


def test_tags_and_marginals_are_those_of_crfsuite(model, make):
    chain, tagger = make(model[0]), opened(model[0])
    for words in model[1]:
        items = features(words)
        tags = tagger.tag(items)
        assert chain.tag(items) == tags
        expected = [
            [tagger.marginal(y, i) if y in tagger.labels() else 0 for y in chain.tags]
            for i in range(len(words))
        ]
        np.testing.assert_allclose(chain.marginals(items), expected, atol=1e-9)
        (best, p), second = chain.kbest(items, 2)
        assert best == tags and p == pytest.approx(tagger.probability(tags), abs=1e-9)
        assert second[1] == pytest.approx(tagger.probability(second[0]), abs=1e-9)


def test_spans_against_all_tags_of_two_tokens(model, make):
    chain, tagger = make(model[0]), opened(model[0])
    for words in model[1][:5]:
        items = features(words[:2])
        tagger.set(items)
        pairs = {x: tagger.probability(x) for x in product(tagger.labels(), repeat=2)}
        for start, end, label, p in chain.spans(items):
            tags = chain.tag(items)[start:end]
            alike = {x: q for x, q in pairs.items() if [*x[start:end]] == tags}
            more = {x for x in alike if end == 1 and x[1] in (label, f"I-{label}")}
            more |= {x for x in alike if start == 1 and joins(*x)}
            assert p == pytest.approx(sum(alike[x] for x in {*alike} - more), abs=1e-9)


def joins(before, tag):
    return tag[:2] != "B-" and re.sub("^B-", "I-", before) == tag


def test_rules_and_known_tags(model, make):
    before = "B-" if "O" in opened(model[0]).labels() else ""
    tag, other = f"{before}date", f"{before}title"
    chain, ruled = make(model[0]), make(model[0], [f"{tag} at most once"], True)
    items = features(["Frege", "1879", ",", "p.", "1892", ",", "1903"])
    known = {1: tag, 2: other, 4: tag}
    assert [chain.tag(items, known)[i] for i in known] == [*known.values()]
    assert chain.tag([]) == []
    with pytest.raises(ValueError, match="no tags obey"):
        ruled.tag(items, known)
    for tags, _ in ruled.kbest(items, 50, {4: tag}):
        assert tags[4] == tag
        assert sum(x == tag != y for x, y in zip(tags, ["", *tags])) == 1
        assert not any(x[:2] == "I-" and y == "O" for x, y in zip(tags, ["O", *tags]))
