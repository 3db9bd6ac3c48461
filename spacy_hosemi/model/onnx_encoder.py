"""Vectors of tokens by a pretrained encoder that nobody trains, run by onnxruntime:
means of those of the pieces into which a tokenizer divides a text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import numpy as np
import srsly
from numpy.typing import NDArray
from spacy.tokens import Doc
from spacy.util import minibatch
from spacy.vocab import Vocab
from thinc.api import Model
from thinc.model import deserialize_attr, serialize_attr

from ..errors import Errors
from ..values import FILE_PATH, FLAG, integer, read

# Pieces that are read at once: more take memory and no less time.
_PIECES = 512
# Pieces by which a window is tried before training.
_MOST_TRIED = 1024
# Operators that round numbers by the largest one of all that is read at once.
_ROUNDS = b"DynamicQuantize"
_INPUTS = "input_ids", "attention_mask", "token_type_ids"


def make_onnx_encoder(
    folder: str, store: bool = False, window: int = 512, threads: int = 1
) -> Model[list[Doc], list[Any]]:
    """Registered as "spacy_hosemi.OnnxEncoder.v1" in `architectures`: a token has the
    mean vector of the pieces that have some of its characters. Without any, as
    whitespace, it has that of the piece before it, or else of the first one; without
    pieces in the document 0. No vector depends on other documents.

    folder (str): Has a tokenizer.json and, itself or in its folder onnx, an ONNX file;
        of several that with the name model.onnx. It may be quantized. Of its outputs
        last_hidden_state is read, or else the first one that has floats for pieces.
    store (bool): Whether the files are saved with the model, which then needs no folder
        any more; if not, the folder must have the same files when it is loaded.
    window (int): The most pieces that are read at once. Longer documents are read in
        windows that share a quarter: half of that is taken from each.
    threads (int): Of the encoder; they change no vector.
    RAISES (ValueError): HS043 a setting is out of range; when files are read: HS378 to
        HS381 a library is missing, or a file, or it is not what was expected.
    """
    files = EncoderFiles(
        read("model.tok2vec.folder", FILE_PATH, folder),
        read("model.tok2vec.store", FLAG, store),
        read("model.tok2vec.window", integer(16), window),
        read("model.tok2vec.threads", integer(1, 1024), threads),
    )
    attrs = {"files": files, "reads_words": True, "digest": ""}
    dims = dict.fromkeys(["nO"])
    return Model("onnx_encoder", _forward, init=_init, dims=dims, attrs=attrs)


def _init(model: Model[Any, Any], X: Any = None, Y: Any = None) -> None:
    files = model.attrs["files"]
    if files.saved is None:  # the folder may have others now
        files = model.attrs["files"] = EncoderFiles(*files.settings)
    encoder = files.encoder()
    # A window that it cannot read is refused now, not at the first long document.
    encoder.vectors([Doc(Vocab(), ["a"] * min(files.settings[2], _MOST_TRIED))])
    model.set_dim("nO", encoder.width, force=True)
    model.attrs["digest"] = f"{files.digest}, {files.settings[2]} pieces"


def _forward(
    model: Model[Any, Any], docs: Sequence[Doc], is_train: bool
) -> tuple[list[Any], Callable[[Any], list[Any]]]:
    vectors = model.attrs["files"].encoder().vectors(docs)
    return [*map(model.ops.asarray2f, vectors)], lambda gradients: []


def find_files(folder: str | Path) -> tuple[Path, Path]:
    """Returns the ONNX file and the tokenizer.json of a folder. Raises ValueError HS379
    if one is missing, or it is not clear which ONNX file to read."""
    root, tokenizer = Path(folder), Path(folder, "tokenizer.json")
    found = [*root.glob("*.onnx"), *root.glob("onnx/*.onnx")]
    chosen = [x for x in found if len(found) == 1 or x.name == "model.onnx"]
    if len(chosen) == 1 and tokenizer.is_file():
        return chosen[0], tokenizer
    names = ", ".join(sorted(x.name for x in root.glob("*"))) or "nothing"
    known = f"has {names[:100]}" if root.is_dir() else "is no folder"
    raise ValueError(Errors.HS379.format(path=str(root.resolve()), found=known))


class EncoderFiles:
    """The files of an encoder, which are read when they are needed first; the settings
    are the arguments of `make_onnx_encoder`."""

    def __init__(self, *settings: Any, digest: Any = None, saved: Any = None) -> None:
        # Digest: SHA-256 of the files that are expected; None: of any. Saved: their
        # bytes; None: the folder has them.
        self.settings, self.digest, self.saved = settings, digest, saved
        self._encoders: dict[int, Encoder] = {}  # by process: threads are not forked

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_encoders": {}}

    def encoder(self) -> Encoder:
        """Returns the encoder, with the errors of `make_onnx_encoder`."""
        if os.getpid() not in self._encoders:
            folder, store, *others = self.settings
            files = self.saved or [x.read_bytes() for x in find_files(folder)]
            digest = sha256(b"".join(sha256(x).digest() for x in files)).hexdigest()
            if self.digest not in (None, digest):
                digests = {"found": digest[:12], "expected": self.digest[:12]}
                raise ValueError(Errors.HS381.format(path=folder, **digests))
            self._encoders[os.getpid()] = Encoder(files, folder, *others)
            self.digest, self.saved = digest, files if store else self.saved
        return self._encoders[os.getpid()]


@serialize_attr.register(EncoderFiles)
def _to_bytes(_: Any, files: EncoderFiles, name: str, model: Any) -> Any:
    return srsly.msgpack_dumps([files.digest, files.saved])


@deserialize_attr.register(EncoderFiles)
def _from_bytes(files: Any, data: bytes, name: str, model: Any) -> EncoderFiles:
    digest, saved = srsly.msgpack_loads(data)
    if digest not in (None, files.digest):
        files = EncoderFiles(*files.settings, digest=digest, saved=saved)
        _libraries()  # none, and other files, are refused now
        if saved is None:
            files.encoder()
    return files


def _libraries() -> tuple[Any, Any, Any]:
    """Returns what opens encoders. Raises ImportError HS378 if it is not installed."""
    try:
        from onnxruntime import InferenceSession, SessionOptions
        from tokenizers import Tokenizer
    except ImportError as error:
        raise ImportError(Errors.HS378) from error
    return InferenceSession, SessionOptions, Tokenizer


class Encoder:
    """An encoder that is open; `width` is the length of its vectors."""

    def __init__(
        self, files: Sequence[bytes], folder: str, window: int, threads: int
    ) -> None:
        InferenceSession, SessionOptions, Tokenizer = _libraries()
        options = SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = threads, 4
        # Threads without work would keep their processors busy.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._folder, self._half = folder, window // 8  # of what two windows share
        self._at_once = 1 if _ROUNDS in files[0] else _PIECES
        with _naming(folder):
            cpu = ["CPUExecutionProvider"]
            self._session = InferenceSession(files[0], options, providers=cpu)
            self._inputs = self._session.get_inputs()
            self._tokenizer = Tokenizer.from_str(files[1].decode("utf8"))
            self._tokenizer.no_padding()
            self._tokenizer.enable_truncation(window, stride=2 * self._half)
            trial = [self._tokenizer.encode("a trial")] * 2
            names = [x.name for x in self._session.get_outputs()]
            widths = {
                name: x.shape[-1]
                for name, x in zip(names, self._run(trial))
                if x.dtype.kind == "f" and x.shape[:-1] == (2, len(trial[0]))
            }
            if not widths:
                raise ValueError(f"its outputs are {names}")
        self._output = min(widths, key=lambda name: name != "last_hidden_state")
        self.width = widths[self._output]

    def _run(self, windows: Sequence[Any], *outputs: str) -> Any:
        """Returns some outputs, or all, for windows of equal length."""
        ids = np.array([x.ids for x in windows])
        values = dict(zip(_INPUTS, (ids, np.ones_like(ids), np.zeros_like(ids))))
        inputs = [x for x in self._inputs if x.name in values]
        # A type is named as "tensor(int64)".
        feeds = {x.name: values[x.name].astype(x.type[7:-1]) for x in inputs}
        return self._session.run(outputs or None, feeds)

    def vectors(self, docs: Sequence[Doc]) -> list[NDArray[np.float32]]:
        """Returns the vectors of the tokens of each document, [n, width]."""
        windows = []
        rows: dict[int, Any] = {}  # by window
        for doc in docs:
            first = self._tokenizer.encode(doc.text)
            of_doc = first, *first.overflowing
            windows.append([x for x in of_doc if not all(x.special_tokens_mask)])
        with _naming(self._folder):
            for n, of_length in groupby(sorted(chain(*windows), key=len), len):
                for some in minibatch(of_length, max(1, self._at_once // n)):
                    rows.update(zip(map(id, some), self._run(some, self._output)[0]))
        of_docs = [[(x, rows[id(x)]) for x in of_doc] for of_doc in windows]
        return [*map(self._means, docs, of_docs)]

    def _means(
        self, doc: Doc, windows: Sequence[tuple[Any, NDArray[Any]]]
    ) -> NDArray[np.float32]:
        """Returns the vectors of tokens by those of the pieces in all windows."""
        if not windows:
            return np.zeros((len(doc), self.width), np.float32)
        offsets, rows = [], []
        for k, (window, of_window) in enumerate(windows):
            pieces = np.flatnonzero(np.equal(window.special_tokens_mask, 0))
            end = -self._half if k + 1 < len(windows) else None
            pieces = pieces[self._half if k else 0 : end]
            offsets.append(np.array(window.offsets)[pieces])
            rows.append(of_window[pieces].astype(np.float32))
        rows.append(np.zeros_like(rows[0][:1]))  # each stop, too, is a row
        begins, ends = np.concatenate(offsets).T
        places = np.asarray(doc.to_array(["IDX", "LENGTH"]), np.int64)
        first = np.searchsorted(ends, places[:, 0], side="right")
        stop = np.searchsorted(begins, places.sum(axis=1), side="left")
        first = np.where(first < stop, first, np.maximum(stop - 1, 0))
        stop = np.maximum(stop, first + 1)
        runs = np.stack([first, stop], axis=1).ravel()
        sums: NDArray[np.float32] = np.add.reduceat(np.concatenate(rows), runs)[::2]
        return sums / (stop - first).astype(np.float32)[:, None]


@contextmanager
def _naming(folder: str) -> Iterator[None]:
    """Raises HS380 for what libraries raise, each of its own."""
    try:
        yield
    except Exception as error:
        problem = " ".join(str(error).split())[-200:]  # where libraries say it
        raise ValueError(Errors.HS380.format(path=folder, problem=problem)) from error
