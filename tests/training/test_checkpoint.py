"""The file `fit.checkpoint`: weights of another training, and files that do not fit."""

import errno
import io
import json
import os

import numpy as np
import pytest
import spacy

from spacy_hosemi.training.checkpoint import Checkpoint
from spacy_hosemi.training.lbfgs import make_lbfgs

from ..helpers import PAIRS, TREE, first_batch, in_a_tree, make_nlp
from ..helpers import fit_pairs as fit

SHORTER = [PAIRS[3][1][0], (31, 35, "LOC")]  # York, where New York was


@pytest.fixture(scope="module")
def batch():
    return first_batch()


def assert_refused(batch, path, reason):
    """The file does not fit, and stays as it is."""
    before = path.read_bytes()
    with pytest.raises(ValueError, match=rf"HS271.*fit\.npz.*{reason}"):
        make_lbfgs(checkpoint=path, progress=False)(batch)
    assert path.read_bytes() == before


@pytest.fixture(scope="module")
def loss():
    """Of a fit without a file."""
    return fit(make_nlp()).loss


# --- another training ----------------------------------------------------------------


@pytest.mark.parametrize(
    "config, pairs, what",
    [
        ({}, [(x, [(i, j, "X") for i, j, _ in s]) for x, s in PAIRS], "labels"),
        ({}, PAIRS[:-1], "features"),
        ({}, [*PAIRS[:3], (PAIRS[3][0], SHORTER), PAIRS[4]], r"else\. annotation"),
        ({"max_order": 2}, PAIRS, "label patterns"),
    ],
)
def test_weights_of_another_model(tmp_path, config, pairs, what):
    path = str(tmp_path / "fit.npz")
    fit(make_nlp(max_order=1), checkpoint=path, max_iter=5)
    with pytest.raises(ValueError, match=rf"HS272.*{what}: .* in the file, .* now"):
        fit(make_nlp(**{"max_order": 1, **config}), pairs, checkpoint=path)


def annotate(pairs, unknown=()):
    """Documents; of those whose index is in `unknown`, the last token is unknown."""
    tokenizer, docs = spacy.blank("en").tokenizer, []
    for k, (text, spans) in enumerate(pairs):
        doc = tokenizer(text)
        found = [doc.char_span(i, j, label=y) for i, j, y in spans]
        if k in unknown:
            doc.set_ents(found, missing=[doc[-1:]], default="outside")
        else:
            doc.set_ents(found)
        docs.append(doc)
    return docs


def test_a_token_that_is_no_longer_annotated(tmp_path):
    path = str(tmp_path / "fit.npz")
    fit(make_nlp(), annotate(PAIRS), checkpoint=path, max_iter=5)
    with pytest.raises(ValueError, match="HS272.*annotation: 5 documents .*in the"):
        fit(make_nlp(), annotate(PAIRS, {0}), checkpoint=path)


def test_other_annotation_of_a_level_of_a_tree(tmp_path):
    path, pairs = str(tmp_path / "fit.npz"), in_a_tree()
    first = fit(make_nlp(**TREE), pairs, checkpoint=path)
    text, (one, *more) = pairs[0]
    assert one[2] == "N/PER"
    other = [(text, [(*one[:2], "N/LOC"), *more]), *pairs[1:]]
    with pytest.raises(ValueError, match="HS272.* annotation: "):
        fit(make_nlp(**TREE), other, checkpoint=path)
    assert fit(make_nlp(**TREE), pairs, checkpoint=path).loss == first.loss


def test_the_order_of_documents_may_be_another(tmp_path):
    path = str(tmp_path / "fit.npz")
    fit(make_nlp(), checkpoint=path, max_iter=5)
    assert fit(make_nlp(), PAIRS[::-1], checkpoint=path).is_converged


# --- files that no fit wrote, and disks ----------------------------------------------


def about(**values):
    return as_json({"format": 3, "parts": [], **values})


def as_json(value):
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def one_part(weights=(0.0, 0.0), **values):
    """The arrays of a file with one part, of which something is wrong."""
    said = {"n_iterations": 1, "converged_with": None, "identity": {"weights": "2"}}
    return {"about": about(parts=[{**said, **values}]), "weights_0": np.array(weights)}


# The reason where what is said of the weights is something else.
SAYS_NOTHING = "does not say what its weights are"


@pytest.mark.parametrize(
    "arrays, reason",
    [
        ({"a": np.zeros(3)}, SAYS_NOTHING),
        ({"about": np.zeros(3)}, SAYS_NOTHING),
        ({"about": np.frombuffer(b"[" * 100_000, np.uint8)}, SAYS_NOTHING),
        ({"about": as_json([])}, SAYS_NOTHING),
        ({"about": as_json({})}, "format is None, expected 3"),
        ({"about": about(format=2)}, "format is 2, expected 3"),
        ({"about": about(parts=None)}, SAYS_NOTHING),
        ({"about": about(parts=[{}])}, SAYS_NOTHING),
        ({"about": about(parts=[3])}, SAYS_NOTHING),
        ({"about": np.array([{}], object)}, "archive cannot be read"),
        (one_part(more=1), SAYS_NOTHING),
        (one_part(n_iterations="3"), SAYS_NOTHING),
        (one_part(n_iterations=-1), SAYS_NOTHING),
        (one_part(converged_with=1), SAYS_NOTHING),
        (one_part(identity=[]), SAYS_NOTHING),
        (one_part(identity={"weights": 2}), SAYS_NOTHING),
        (one_part([0.0]), SAYS_NOTHING),
        (one_part([[0.0, 0.0]]), SAYS_NOTHING),
        (one_part([0.0, 1j]), SAYS_NOTHING),
        (one_part(["a", "b"]), SAYS_NOTHING),
        (one_part([0.0, np.nan]), SAYS_NOTHING),
    ],
)
def test_an_archive_of_something_else(tmp_path, batch, arrays, reason):
    path = tmp_path / "fit.npz"
    with path.open("wb") as file:
        np.savez(file, **arrays)
    assert_refused(batch, path, reason)


@pytest.mark.parametrize("content", [b"", b"no weights", npy(np.zeros(3))])
def test_another_file(tmp_path, batch, content):
    path = tmp_path / "fit.npz"
    path.write_bytes(content)
    assert_refused(batch, path, "no archive of numpy")


def test_half_a_file(tmp_path):
    path = tmp_path / "fit.npz"
    fit(make_nlp(), checkpoint=str(path), max_iter=5)
    path.write_bytes(path.read_bytes()[:-100])
    assert_refused(first_batch(), path, "")


@pytest.mark.parametrize("name", ["log", "checkpoint"])
@pytest.mark.parametrize(
    "path, reason",
    [
        ("none/file", "none' is no folder"),
        ("", "it is a folder itself"),
        ("x" * 300, "it cannot be reached .File name too long"),
    ],
)
def test_no_such_folder(tmp_path, name, path, reason):
    with pytest.raises(ValueError, match=rf"HS270.*fit\.{name} is .*: .*{reason}"):
        make_lbfgs(**{name: tmp_path / path})


@pytest.mark.parametrize("name, code", [("checkpoint", "HSW62"), ("log", "HSW63")])
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full disk here")
# Old versions of NumPy leave the archive open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_full_disk(tmp_path, monkeypatch, loss, name, code):
    path = tmp_path / "file"
    if name == "log":
        path.symlink_to("/dev/full")
    else:
        beside = tmp_path / f".file.{os.getpid()}"
        beside.symlink_to("/dev/full")
    with pytest.warns(UserWarning, match=rf"{code}.*No space left"):
        result = fit(make_nlp(), **{name: str(path)})
    assert result.loss == loss


def test_an_earlier_file_stays_on_a_full_disk(tmp_path):
    path = tmp_path / "fit.npz"
    fit(make_nlp(), checkpoint=str(path), max_iter=5)
    before = path.read_bytes()
    checkpoint = Checkpoint(path)
    checkpoint.read()
    identity = json.loads(np.load(path)["about"].tobytes())["parts"][0]["identity"]
    part = checkpoint.begin(0, identity)
    os.symlink(tmp_path / "none" / "x", tmp_path / f".fit.npz.{os.getpid()}")
    with pytest.warns(UserWarning, match="HSW62"):
        checkpoint.write(0, part)
    assert path.read_bytes() == before


def test_a_disk_that_becomes_read_only(tmp_path, monkeypatch, loss):
    path = tmp_path / "fit.npz"

    def refuse(path, *args, **kwargs):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    for name in ("open", "unlink"):
        monkeypatch.setattr("pathlib.Path." + name, refuse)
    with pytest.warns(UserWarning, match="HSW62.*Read-only file system"):
        result = fit(make_nlp(), checkpoint=path)
    assert result.loss == loss and not path.exists()
