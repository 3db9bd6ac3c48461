"""hosemi onnx: an encoder without its upper layers."""

import sys

import numpy as np
import pytest
import spacy

from spacy_hosemi.model.onnx_encoder import make_onnx_encoder

from ..encoders import onnx, write_encoder
from ..helpers import hosemi, said

DOCS = [spacy.blank("en")(text) for text in ("Ada met Bo.", "in Paris")]


def vectors(folder):
    model = make_onnx_encoder(str(folder))
    model.initialize()
    return np.concatenate(model.predict(DOCS))


@pytest.mark.parametrize("named", ["nodes", "weights"])
@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_cut(tmp_path, named, norm, n):
    settings = {"named": named, "norm": norm, "rounds": n == 2}
    write_encoder(tmp_path / "all", layers=3, **settings)
    (tmp_path / "all/LICENSE.txt").write_text("free")
    (tmp_path / "all/config.json").write_text("{}")
    output = tmp_path / "new/cut"
    result = hosemi("onnx", tmp_path / "all", output, "--layer", n)
    assert f"Wrote {n} of 3 layers to {output}" in result.stderr and not result.stdout
    names = {path.name for path in output.iterdir()}
    assert names == {"model.onnx", "tokenizer.json", "LICENSE.txt"}
    expected = vectors(write_encoder(tmp_path / "few", layers=n, **settings))
    np.testing.assert_allclose(vectors(output), expected, atol=1e-5)
    sizes = [(x / "model.onnx").stat().st_size for x in (output, tmp_path / "all")]
    assert (
        sizes[0] < sizes[1] and len(onnx.load(output / "model.onnx").graph.output) == 1
    )


def test_what_is_refused(tmp_path, monkeypatch):
    folder, output = write_encoder(tmp_path / "all"), tmp_path / "cut"
    nameless = write_encoder(tmp_path / "nameless", named="nothing")

    def refused(folder, output=output, n=1, *args):
        return said("onnx", folder, output, "--layer", n, *args, code=2)

    assert "has 2 layers. --layer 3" in refused(folder, n=3)
    assert "no layers that have names" in refused(nameless)
    skipping = write_encoder(tmp_path / "skipping", skips=True)
    assert "no hidden state after layer 1" in refused(skipping)
    assert "--layer" in refused(folder, n=0)
    nested = write_encoder(tmp_path / "nested") / "onnx"
    nested.mkdir()
    (nested.parent / "model.onnx").rename(nested / "model.onnx")
    for here, there in ((folder, folder), (nested.parent, nested)):
        assert "are the same file" in refused(here, there, 1, "--overwrite")
    assert "HS379" in refused(tmp_path)
    assert not output.exists()
    output.mkdir()
    assert "exists already" in refused(folder)
    assert "Wrote 1 of 2" in said("onnx", folder, output, "--layer", 1, "--overwrite")
    (folder / "model.onnx").write_bytes(b"damaged")
    assert "Expected an ONNX file" in refused(folder, tmp_path / "x")
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert "pip install onnx" in refused(folder, tmp_path / "x")
