"""The models of CRFsuite that examples/crfsuite reads, beside CRFsuite itself."""

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
        | {"near": {"before": words[i - 1], "is digit": words[i - 1].isdigit()}}
        for i, word in enumerate(words)
    ]


@pytest.fixture(scope="module", params=["BIO", "plain"])
def model(request, tmp_path_factory):
    """RETURNS: A chain of the demo corpus, as CRFsuite's tagger; the class that reads
    its file, and the file; words of other texts."""
    path = str(tmp_path_factory.mktemp("crfsuite") / request.param)
    nlp, docs = spacy.blank("en"), {}
    for name in ("train", "dev"):
        docs[name] = [*read_docs(ROOT / "corpus" / f"{name}.jsonl", nlp)][:60]
    trainer = crfsuite.Trainer(params={"max_iterations": 8}, verbose=False)
    for doc in docs["train"]:
        tags = [f"{t.ent_iob_}-{t.ent_type_}".rstrip("-") for t in doc]
        plain = [t.ent_type_ or "rest" for t in doc]
        trainer.append(
            features([t.text for t in doc]), tags if request.param == "BIO" else plain
        )
    trainer.train(path)
    tagger = crfsuite.Tagger()
    tagger.open(path)
    with example_on_path("crfsuite"):
        chain = import_module("chain").Chain
        yield tagger, chain, path, [[t.text for t in doc] for doc in docs["dev"]]


def test_tags_and_probabilities_are_those_of_crfsuite(model):
    tagger, make, path, texts = model
    chain, labels = make(path), tagger.labels()
    columns = [chain.tags.index(label) for label in labels]
    for words in texts:
        items = features(words)
        tags = tagger.tag(items)
        assert chain.tag(items) == tags
        expected = [[tagger.marginal(y, i) for y in labels] for i in range(len(words))]
        found = chain.marginals(items)[:, columns]
        np.testing.assert_allclose(found, expected, atol=1e-9)
        for k, (best, p) in enumerate(chain.kbest(items, 2)):
            assert p == pytest.approx(tagger.probability(best), abs=1e-9)
            assert (best == tags) == (k == 0)
        # spans of two tokens, by the probabilities of all their tags
        tagger.set(items[:2])
        pairs = {x: tagger.probability(x) for x in product(labels, repeat=2)}
        for start, end, label, p in chain.spans(items[:2]):
            own = chain.tag(items[:2])[start:end]
            alike = [x for x in pairs if [*x[start:end]] == own]
            if end == 1:
                alike = [x for x in alike if x[1] not in (label, f"I-{label}")]
            if start == 1 and own != [f"B-{label}"]:
                alike = [x for x in alike if x[0].replace("B-", "I-") != own[0]]
            assert p == pytest.approx(sum(pairs[x] for x in alike), abs=1e-9)


NO_ITEMS = [None, 3, ["a", None], {"a": None}, {"a": 10**400}, {None: 1}, ["\ud800"]]


def test_an_item_that_is_none_is_named(model):
    """python-crfsuite itself has a SystemError, or decodes later."""
    chain = model[1](model[2])
    assert chain.spans(iter([{"a": 1}])) == chain.spans([["a"]])
    for item in [*NO_ITEMS, {"a": {1: 2}}, {"a": b"\xff"}, [("a", 2.0)], iter("a")]:
        for method in (chain.tag, chain.spans, chain.marginals):
            with pytest.raises(
                TypeError, match=r"items\[1\] is .*; expected a list of"
            ):
                method([{"a": 1}, item, {"a": 1}])


def test_rules_and_known_tags(model):
    tagger, make, path, _ = model
    before = "B-" if "O" in tagger.labels() else ""
    tag, other = f"{before}date", f"{before}title"
    chain, ruled = make(path), make(path, [f"{tag} at most once"], only_valid=True)
    items = features(["Frege", "1879", ",", "p.", "1892", ",", "1903"])
    known = {1: tag, 2: other, 4: tag}
    assert [chain.tag(items, known)[i] for i in known] == [*known.values()]
    assert chain.tag([]) == []
    with pytest.raises(ValueError, match="no tags obey"):
        ruled.tag(items, known)
    for wrong, message in (({99: tag}, "token 99"), ({1: "B-xx"}, "'B-xx'; expected")):
        with pytest.raises(ValueError, match=f"known has {message}"):
            chain.spans(items, wrong)
    for tags, _ in ruled.kbest(items, 50, {4: tag}):
        assert tags[4] == tag
        assert sum(x == tag != y for x, y in zip(tags, ["", *tags])) == 1
        assert not any(x[:2] == "I-" and y == "O" for x, y in zip(tags, ["O", *tags]))
