"""Vectors of an ONNX encoder: what they are, that they stay so, and what is refused."""

import shutil
import sys
from contextlib import nullcontext
from operator import attrgetter

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc

from spacy_hosemi import extract
from spacy_hosemi.model.onnx_encoder import make_onnx_encoder

from ..component.test_serialize import THROUGH
from ..component.test_vectors import interrupted
from ..encoders import POSITIONS, WIDTH, of_pieces, onnx, write_encoder
from ..helpers import PAIRS, fit_pairs, hosemi, make_nlp

NLP = spacy.blank("en")
TEXTS = [text for text, _ in PAIRS] + ["", "a", "Nobody met Ada in Paris"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_encoder(tmp_path_factory.mktemp("encoder"))


def encoder(folder, **settings):
    model = make_onnx_encoder(str(folder), **{"window": POSITIONS, **settings})
    model.initialize()
    return model


def vectors(model, *texts):
    return model.predict([x if isinstance(x, Doc) else NLP(x) for x in texts])


# what they are


def test_means_of_pieces(folder):
    model = encoder(folder)
    assert model.get_dim("nO") == WIDTH and not model.param_names
    (found,), backprop = model.begin_update([NLP("Ab c, def")])
    assert backprop([found]) == []
    pieces = of_pieces(folder, "ab", "c", ",", "def")
    means = [pieces[:2].mean(axis=0), pieces[2], pieces[3], pieces[4:].mean(axis=0)]
    np.testing.assert_allclose(found, means, atol=1e-6)
    assert found.dtype == np.float32


@pytest.mark.parametrize("text", ["fine  day", "fine\n\n day\0", "\nfine \u200b day"])
def test_of_the_piece_before(folder, text):
    doc, (expected,) = NLP(text), vectors(encoder(folder), "fine day")
    (found,) = vectors(encoder(folder), doc)
    words = [i for i, token in enumerate(doc) if token.text[0].isalpha()]
    np.testing.assert_allclose(found[words], expected, atol=1e-5)
    pieces = of_pieces(folder, "fine", "day")
    for i in {*range(len(doc))} - {*words}:
        piece = 0 if i < words[0] else 3 if i < words[1] else -1
        np.testing.assert_allclose(found[i], pieces[piece], atol=1e-5)


ODD = "", " ", "\n\n\t", "\0", "\u200b \ufeff", "x" * 10_000, "a " * 20_000, "中文 é"


@pytest.mark.parametrize("text", ODD)
def test_every_token_has_a_vector(folder, text):
    doc = NLP(text)
    (found,) = vectors(encoder(folder), doc)
    assert found.shape == (len(doc), WIDTH) and np.isfinite(found).all()
    assert found.any() == bool(text.strip("\0\u200b \n\t\ufeff"))


@pytest.mark.parametrize("window, n", [(16, 57), (16, 14), (17, 40), (64, 300)])
def test_windows(folder, window, n):
    """Each window gives the pieces that are nearer to its middle than to others'."""
    letters = [chr(97 + i * i % 26) for i in range(n)]
    (found,) = vectors(encoder(folder, window=window), Doc(NLP.vocab, letters))
    size, shared = window - 2, window // 8 * 2
    starts = [0, *range(size - shared, n - shared, size - shared)]
    by_hand = {j: of_pieces(folder, *letters[j : j + size]) for j in starts}
    for i in range(n):
        around = [(j, min(j + size, n)) for j in starts if j <= i < j + size]
        inner = [min(i - j if j else n, k - 1 - i if k < n else n) for j, k in around]
        j, k = around[int(np.argmax(inner))]
        np.testing.assert_allclose(found[i], by_hand[j][i - j], atol=1e-5)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rounds", [False, True])
def test_other_documents_change_nothing(tmp_path, rounds, threads):
    folder = write_encoder(tmp_path, rounds=rounds)
    together = vectors(encoder(folder, threads=threads), *TEXTS, "a " * 300)
    model = encoder(folder)
    for text, found in zip([*TEXTS, "a " * 300], together):
        np.testing.assert_array_equal(found, vectors(model, text)[0])


def test_floats_of_16_bits(folder, tmp_path):
    half = write_encoder(tmp_path, to=onnx.TensorProto.FLOAT16, outputs=["hidden"])
    (found,), (expected,) = (vectors(encoder(x), "Ada") for x in (half, folder))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-2)


def test_the_last_hidden_state_of_several_outputs(folder, tmp_path):
    other = shutil.copytree(folder, tmp_path / "other") / "model.onnx"
    model, name = onnx.load(other), "last_hidden_state"
    model.graph.node.append(onnx.helper.make_node("Neg", ["hidden"], [name]))
    model.graph.output.add().CopyFrom(model.graph.output[-1])
    model.graph.output[-1].name = name
    onnx.save(model, other)
    (found,), (expected,) = (vectors(encoder(x), "Ada") for x in (other.parent, folder))
    np.testing.assert_array_equal(found, -expected)


# in a pipeline


def trained(folder, **more):
    tok2vec = {"@architectures": "spacy_hosemi.OnnxEncoder.v1", "folder": str(folder)}
    nlp = make_nlp(model={"tok2vec": {**tok2vec, **more}}, confidence=True)
    fit_pairs(nlp)
    return nlp


def spans_of(docs):
    keys = attrgetter("start_char", "end_char", "label_", "_.confidence")
    return [[*map(keys, doc.ents)] for doc in docs]


@pytest.mark.parametrize("through", THROUGH)
@pytest.mark.parametrize("store", [False, True])
def test_the_same_answers(folder, tmp_path, store, through):
    here = shutil.copytree(folder, tmp_path / "encoder")
    nlp = trained(here, store=store)
    expected = spans_of(map(nlp, TEXTS))
    assert sum(map(len, expected)) > 5
    dirty = [text.replace(" ", "\xa0").replace("L", "Ｌ") for text in TEXTS]
    assert spans_of(nlp.pipe(dirty)) == expected
    if store:
        shutil.rmtree(here)
    again = through(nlp, tmp_path / "model")
    assert spans_of(map(again, TEXTS)) == expected
    assert spans_of(again.pipe(TEXTS, batch_size=3)) == expected
    assert spans_of(again.pipe(TEXTS, n_process=2)) == expected
    rows = extract(again, TEXTS).column("spans").to_pylist()
    keys = "start_char", "end_char", "label", "confidence"
    assert [[tuple(map(x.get, keys)) for x in row] for row in rows] == expected
    assert len(nlp.to_bytes()) == len(again.to_bytes())


def test_saved_or_not(folder, tmp_path):
    """With the folder at another place, with other files, and without."""
    here = shutil.copytree(folder, tmp_path / "encoder")
    nlp = trained(here)
    nlp.to_disk(tmp_path / "model")
    key = "components.hosemi.model.tok2vec.folder"
    elsewhere = {key: str(here.rename(tmp_path / "elsewhere"))}
    again = spacy.load(tmp_path / "model", config=elsewhere)
    assert spans_of(map(again, TEXTS)) == spans_of(map(nlp, TEXTS))
    with pytest.raises(ValueError, match="HS379.*is no folder"):
        spacy.load(tmp_path / "model")
    write_encoder(here, seed=1)
    with pytest.raises(ValueError, match="HS381.*SHA-256 .*store = true"):
        spacy.load(tmp_path / "model")
    before = spans_of(map(nlp, TEXTS))
    model = nlp.get_pipe("hosemi").model.get_ref("tok2vec")
    expected = vectors(encoder(here), *TEXTS)
    assert spans_of(map(nlp, TEXTS)) == before
    from_within = interrupted(nlp, lambda: spans_of(map(nlp, TEXTS)))
    assert from_within == [before] == [spans_of(map(nlp, TEXTS))]
    model.initialize()  # to be trained anew
    np.testing.assert_array_equal(vectors(model, *TEXTS)[0], expected[0])
    model.attrs["files"].encoder().vectors = lambda docs: [np.full((5, 8), np.nan)]
    with pytest.raises(ValueError, match="HS389.*NaN.*Nobody met"):
        nlp(TEXTS[-1])


# what is refused


@pytest.mark.parametrize("name, value", [("window", 15), ("threads", 0), ("store", 1)])
def test_settings_out_of_range(name, value):
    with pytest.raises(ValueError, match=f"HS043.*model.tok2vec.{name}"):
        make_onnx_encoder("x", **{name: value})


def test_missing_and_damaged_files(folder, tmp_path):
    here, file = tmp_path / "a", tmp_path / "a/onnx/model.onnx"
    tokenizer = here / "tokenizer.json"
    for change, problem in [
        (here.mkdir, "HS379.*nothing"),
        (lambda: shutil.copytree(folder, here, dirs_exist_ok=True), ""),
        (lambda: shutil.copy(here / "model.onnx", here / "b.onnx"), ""),
        (lambda: (here / "model.onnx").rename(here / "a.onnx"), "HS379.*a.onnx, b.on"),
        (file.parent.mkdir, "HS379.*a.onnx, b.onnx, onnx"),
        (lambda: (here / "a.onnx").rename(file), ""),
        ((here / "b.onnx").unlink, ""),
        (lambda: tokenizer.write_text("{}"), "HS380.*missing"),
        (lambda: tokenizer.write_bytes(b"\xff"), "HS380.*decode"),
        (lambda: file.write_bytes(b"damaged"), "HS380.*ONNX"),
        (tokenizer.unlink, "HS379.*has onnx; expected .* tokenizer"),
    ]:
        change()
        with pytest.raises(ValueError, match=problem) if problem else nullcontext():
            encoder(here)


def test_no_such_encoder(folder, tmp_path):
    with pytest.raises(ValueError, match=r"HS380.*outputs are \['pooled'\]"):
        encoder(write_encoder(tmp_path / "a", outputs=["pooled"]))
    with pytest.raises(ValueError, match="HS380.*position_ids"):
        encoder(write_encoder(tmp_path / "b", more_inputs=["position_ids"]))
    apart = shutil.copytree(folder, tmp_path / "c")
    model, where = (
        onnx.load(apart / "model.onnx"),
        {"location": "x", "size_threshold": 0},
    )
    onnx.save(model, apart / "model.onnx", save_as_external_data=True, **where)
    with pytest.raises(ValueError, match="HS380.*hosemi onnx writes such"):
        encoder(apart)
    hosemi("onnx", apart, tmp_path / "d", "--layer", 2)
    assert encoder(tmp_path / "d").get_dim("nO") == WIDTH
    with pytest.raises(ValueError, match="HS380.*513.*window that it can read"):
        encoder(folder, window=POSITIONS + 1)


@pytest.mark.parametrize("library", ["onnxruntime", "tokenizers"])
def test_missing_library(folder, library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=r"HS378.*pip install .spacy_hosemi\[onnx\]"):
        encoder(folder)
