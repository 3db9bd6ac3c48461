"""Models saved by earlier versions load, and predict what they did.

They are in fixtures/saved, by version, with what they predicted when they were saved;
fixtures/make_saved.py made them. Only public names are used here, so that the test
stays as it is whatever becomes of the package.
"""

import json
from pathlib import Path

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example

SAVED = Path(__file__).parent / "fixtures" / "saved"
FOLDERS = sorted(path for path in SAVED.glob("*/*") if path.is_dir())
N_MODELS = {"0.2.0": 16, "0.3.0-format5": 18, "0.3.0": 18}
K = 3  # alternatives that were asked for

TOLERANCE = 1e-9
# Sums in single precision, in an order that depends on the processor, end elsewhere.
TOLERANCE_TOK2VEC = 1e-5
WITH_VECTORS = ("tok2vec", "vectors")
TOLERANCE_GROUP = 1e-7  # its scores are stored in single precision


@pytest.fixture(
    scope="module", params=FOLDERS, ids=lambda x: f"{x.parent.name}-{x.name}"
)
def folder(request):
    return request.param


@pytest.fixture(scope="module")
def nlp(folder):
    return load(folder)


def load(folder):
    model = folder / "model"
    return spacy.load(model, exclude=excluded((model / "vocab").exists()))


def excluded(has_vectors: bool) -> list[str]:
    """What is spaCy's, large, and of no matter to given words."""
    return ["tokenizer"] if has_vectors else ["tokenizer", "vocab"]


def make_doc(nlp, given) -> Doc:
    """A fresh document of some "words", with what is known of it: "sents", the tokens
    that begin sentences; "preset", entities; "blocked", tokens of none."""
    starts = given.get("sents")
    is_start = starts and [i in starts for i in range(len(given["words"]))]
    doc = Doc(nlp.vocab, words=given["words"], sent_starts=is_start or None)
    ents = [Span(doc, *span) for span in given.get("preset", ())]
    blocked = [doc[i : i + 1] for i in given.get("blocked", ())]
    if ents or blocked:
        doc.set_ents(ents, blocked=blocked)
    return doc


def make_example(nlp, given) -> Example:
    reference = make_doc(nlp, given)
    reference.set_ents([Span(reference, *span) for span in given["spans"]])
    return Example(make_doc(nlp, given), reference)


def triples(spans) -> list[list]:
    return [list(span) for span in spans]


def of_doc(spans) -> list[list]:
    return [[span.start, span.end, span.label_] for span in spans]


def assert_close(found, expected, tolerance):
    """Numbers and None, in lists of lists."""
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for pair in zip(found, expected):
            assert_close(*pair, tolerance)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, abs=tolerance, rel=0.0)
    else:
        assert found == expected


def directions(n_directions, size):
    """Vectors with numbers from -1 to 1, made of the bits of PCG64, which are the same
    in all versions of numpy."""
    for seed in range(n_directions):
        bits = np.random.PCG64(seed).random_raw(size)
        yield (bits >> np.uint64(11)) * 2.0**-52 - 1.0


def test_no_model_is_lost():
    found = [path.parent.name for path in FOLDERS]
    assert {version: found.count(version) for version in found} == N_MODELS


def test_predictions(folder, nlp):
    tolerance = TOLERANCE_TOK2VEC if folder.name in WITH_VECTORS else TOLERANCE
    lines = (folder / "expected.jsonl").read_text("utf8").splitlines()
    expected = [json.loads(line) for line in lines]
    pipe = nlp.get_pipe("hosemi")
    docs = nlp.pipe([make_doc(nlp, given) for given in expected])
    for doc, given in zip(docs, expected, strict=True):
        assert of_doc(doc.ents) == given["spans"]
        confidences = [ent._.confidence for ent in doc.ents]
        assert_close(confidences, given["confidences"], tolerance)
        best = pipe.kbest(doc, K)
        assert [triples(x.spans) for x in best] == [x for x, _ in given["kbest"]]
        log_probabilities = [x for _, x in given["kbest"]]
        assert_close([x.log_probability for x in best], log_probabilities, tolerance)
        assert_close(pipe.entropy(doc), given["entropy"], tolerance)
        if "paths" in given:
            assert_close([x._.label_path for x in doc.ents], given["paths"], tolerance)
        assert list(doc.spans) == ([given["group"]["key"]] if "group" in given else [])
        for group in doc.spans.values():
            assert of_doc(group) == given["group"]["spans"]
            scores = [float(score) for score in group.attrs["scores"]]
            assert_close(scores, given["group"]["scores"], TOLERANCE_GROUP)


def test_gradient(folder, nlp):
    path = folder / "gradient.json"
    if not path.exists():
        assert folder.name in WITH_VECTORS  # whose gradient is not one vector
        return
    expected = json.loads(path.read_text("utf8"))
    examples = [make_example(nlp, given) for given in expected["examples"]]
    loss, gradient = nlp.get_pipe("hosemi").value_and_gradient(examples)
    assert len(gradient) == expected["size"]
    norm = expected["norm"]
    assert loss == pytest.approx(expected["loss"], rel=1e-9)
    assert np.linalg.norm(gradient) == pytest.approx(norm, rel=1e-9)
    dots = [v @ gradient for v in directions(len(expected["dots"]), len(gradient))]
    # Relative to what is summed, which partly cancels.
    assert_close(dots, expected["dots"], 1e-9 * norm)
