"""Vectors of tokens by a pretrained encoder that nobody trains, run by onnxruntime:
means of those of the pieces into which a tokenizer divides a text."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import numpy as np
import srsly
from numpy.typing import NDArray
from spacy.tokens import Doc
from spacy.util import minibatch
from thinc.api import Model
from thinc.model import deserialize_attr, serialize_attr

from ..errors import Errors
from ..text.clean import clean_word
from ..values import FILE_PATH, FLAG, integer, read

# Documents, and their pieces, that are read at once: more take memory and no less time.
_DOCUMENTS, _PIECES = 256, 512
# Operators that round numbers by the largest one of all that is read at once.
_ROUNDS = b"DynamicQuantize"
_INPUTS = "input_ids", "attention_mask", "token_type_ids"
_TYPES = {"tensor(int64)": "i8", "tensor(int32)": "i4", "tensor(float)": "f4"}


def make_onnx_encoder(
    folder: str, store: bool = False, window: int = 512, threads: int = 1
) -> Model[list[Doc], list[Any]]:
    """Registered as "spacy_hosemi.OnnxEncoder.v1" in `architectures`.

    The vector of a token is the mean of the pieces that have some of its characters,
    in its clean form, see `clean_text`. Without such pieces, as for whitespace, it is
    that of the piece before it, or else of the first one; 0 if a document has none. A
    document has the same vectors whatever it is read together with.

    folder (str): Has a tokenizer.json and, itself or in its folder onnx, an ONNX file;
        of several that with the name model.onnx. It may be quantized.
    store (bool): Whether the files are saved with the model, which then needs no folder
        any more; if not, the folder must have the same files when it is loaded.
    window (int): The most pieces that are read at once. Longer documents are read in
        windows that share a quarter, half of which is taken from each.
    threads (int): Of the encoder; they change no vector.
    RETURNS (Model[List[Doc], List[Floats2d]]): Without parameters; nO is known when it
        is initialized, which reads the files.
    RAISES (ValueError): HS043 a setting is out of range; when files are read, HS379
        they are missing, HS380 they cannot be used, HS381 they are others than in
        training. (ImportError): HS378.
    """
    settings = (
        read("model.tok2vec.folder", FILE_PATH, folder),
        read("model.tok2vec.store", FLAG, store),
        read("model.tok2vec.window", integer(16), window),
        read("model.tok2vec.threads", integer(1, 1024), threads),
    )
    # Clean words will do, and vectors with the same digest are the same.
    attrs = {"files": EncoderFiles(settings), "reads_words": True, "digest": ""}
    dims: dict[str, int | None] = {"nO": None}
    return Model("onnx_encoder", _forward, init=_init, dims=dims, attrs=attrs)


def _init(model: Model[Any, Any], X: Any = None, Y: Any = None) -> None:
    files = model.attrs["files"]
    if files.saved is None:  # the folder may have others now
        files = model.attrs["files"] = EncoderFiles(files.settings)
    model.set_dim("nO", files.encoder().width, force=True)
    model.attrs["digest"] = f"{files.digest} {files.settings[2]}"


def _forward(
    model: Model[Any, Any], docs: Sequence[Doc], is_train: bool
) -> tuple[list[Any], Callable[[Any], list[Any]]]:
    vectors_of = model.attrs["files"].encoder().vectors
    vectors = chain.from_iterable(map(vectors_of, minibatch(docs, _DOCUMENTS)))
    return [*map(model.ops.asarray2f, vectors)], lambda gradients: []


def find_files(folder: str | Path) -> tuple[Path, Path]:
    """Returns the ONNX file and the tokenizer.json of a folder. Raises ValueError HS379
    if one is missing, or it is not clear which ONNX file to read."""
    root = Path(folder)
    found = sorted([*root.glob("*.onnx"), *root.glob("onnx/*.onnx")])
    chosen = [x for x in found if len(found) == 1 or x.name == "model.onnx"]
    tokenizer = root / "tokenizer.json"
    if len(chosen) == 1 and tokenizer.is_file():
        return chosen[0], tokenizer
    names = ", ".join(sorted(x.name for x in root.glob("*"))) or "nothing"
    raise ValueError(Errors.HS379.format(path=str(folder), found=names[:100]))


class EncoderFiles:
    """The files of an encoder, which are read when they are needed first, and do not
    change then: a copy is the same object.

    settings (Tuple): The arguments of `make_onnx_encoder`.
    digest (Optional[str]): SHA-256 of the files that are expected; None: of any.
    saved (Optional[Tuple[bytes, bytes]]): What is saved; None: the folder has them.
    """

    def __init__(self, settings: Any, digest: Any = None, saved: Any = None) -> None:
        self.settings, self.digest, self.saved = settings, digest, saved
        self._encoders: dict[int, Encoder] = {}  # by process: threads are not forked

    def __deepcopy__(self, memo: Any) -> EncoderFiles:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return EncoderFiles, (self.settings, self.digest, self.saved)

    def encoder(self) -> Encoder:
        """Returns the encoder, with the errors of `make_onnx_encoder`."""
        if os.getpid() not in self._encoders:
            folder, store, *others = self.settings
            files = self.saved or self._read(folder)
            self._encoders[os.getpid()] = Encoder(files, folder, *others)
            self.saved = files if store else self.saved
        return self._encoders[os.getpid()]

    def _read(self, folder: str) -> list[bytes]:
        files = [path.read_bytes() for path in find_files(folder)]
        sha256 = hashlib.sha256(files[0])
        sha256.update(files[1])
        digest = sha256.hexdigest()
        if self.digest not in (None, digest):
            digests = {"found": digest[:12], "expected": self.digest[:12]}
            raise ValueError(Errors.HS381.format(path=folder, **digests))
        self.digest = digest
        return files


@serialize_attr.register(EncoderFiles)
def _to_bytes(_: Any, files: EncoderFiles, name: str, model: Any) -> Any:
    return srsly.msgpack_dumps([files.digest, files.saved])


@deserialize_attr.register(EncoderFiles)
def _from_bytes(files: Any, data: bytes, name: str, model: Any) -> EncoderFiles:
    digest, saved = srsly.msgpack_loads(data)
    if digest not in (None, files.digest):
        files = EncoderFiles(files.settings, digest, saved)
        if saved is None:
            files.encoder()  # others are refused now
    return files


class Encoder:
    """An encoder that is open; `width` is the length of its vectors."""

    def __init__(
        self, files: Sequence[bytes], folder: str, window: int, threads: int
    ) -> None:
        try:
            from onnxruntime import InferenceSession, SessionOptions
            from tokenizers import Tokenizer
        except ImportError as error:
            raise ImportError(Errors.HS378) from error
        options = SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = threads, 3
        # Threads without work would keep their processors busy.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._folder, self._half = folder, window // 8  # of what two windows share
        self._at_once = 1 if _ROUNDS in files[0] else _PIECES
        with _naming(folder):
            cpu = ["CPUExecutionProvider"]
            self._session = InferenceSession(files[0], options, providers=cpu)
            self._tokenizer = Tokenizer.from_str(files[1].decode("utf8"))
            self._tokenizer.no_padding()
            self._tokenizer.enable_truncation(window, stride=2 * self._half)
            self._output, self.width = self._find_output()

    def _find_output(self) -> tuple[str, int]:
        """Returns the output with a vector for each piece, and their length."""
        trial = [self._tokenizer.encode("a trial")] * 2
        names = [x.name for x in self._session.get_outputs()]
        for name, rows in zip(names, self._run(trial)):
            if rows.dtype.kind == "f" and rows.shape[:-1] == (2, len(trial[0])):
                return name, rows.shape[-1]
        raise ValueError(f"its outputs are {names}")

    def _run(self, windows: Sequence[Any], output: str | None = None) -> list[Any]:
        """Returns an output, or all, for windows of equal length."""
        ids = np.array([x.ids for x in windows])
        values = dict(zip(_INPUTS, (ids, np.ones_like(ids), np.zeros_like(ids))))
        inputs = [x for x in self._session.get_inputs() if x.name in values]
        feeds = {x.name: values[x.name].astype(_TYPES[x.type]) for x in inputs}
        outputs: list[Any] = self._session.run(output and [output], feeds)
        return outputs

    def vectors(self, docs: Sequence[Doc]) -> list[NDArray[np.float32]]:
        """Returns the vectors of the tokens of each document, [n, width]."""
        windows, places = [], []
        rows: dict[int, Any] = {}  # by window
        for text, of_doc in map(_text_of, docs):
            first = self._tokenizer.encode(text)
            of_text = first, *first.overflowing
            windows.append([x for x in of_text if not all(x.special_tokens_mask)])
            places.append(of_doc)
        with _naming(self._folder):
            for n, of_length in groupby(sorted(chain(*windows), key=len), len):
                for some in minibatch(of_length, max(1, self._at_once // n)):
                    rows.update(zip(map(id, some), self._run(some, self._output)[0]))
        of_docs = [[(x, rows[id(x)]) for x in of_doc] for of_doc in windows]
        return [*map(self._means, places, of_docs)]

    def _means(
        self, places: NDArray[np.int64], windows: Sequence[tuple[Any, NDArray[Any]]]
    ) -> NDArray[np.float32]:
        """Returns the vectors of tokens by those of the pieces in all windows."""
        if not windows:
            return np.zeros((len(places), self.width), np.float32)
        offsets, rows = [], []
        for k, (window, of_window) in enumerate(windows):
            pieces = np.flatnonzero(np.equal(window.special_tokens_mask, 0))
            end = -self._half if k + 1 < len(windows) else None
            pieces = pieces[self._half if k else 0 : end]
            offsets.append(np.array(window.offsets)[pieces])
            rows.append(of_window[pieces].astype(np.float32))
        begins, ends = np.concatenate(offsets).T
        first = np.searchsorted(ends, places[:, 0], side="right")
        stop = np.searchsorted(begins, places[:, 1], side="left")
        first = np.where(first < stop, first, np.maximum(stop - 1, 0))
        stop = np.maximum(stop, first + 1)
        rows.append(np.zeros_like(rows[0][:1]))  # each stop, too, is a row
        runs = np.stack([first, stop], axis=1).ravel()
        sums: NDArray[np.float32] = np.add.reduceat(np.concatenate(rows), runs)[::2]
        return sums / (stop - first).astype(np.float32)[:, None]


def _text_of(doc: Doc) -> tuple[str, NDArray[np.int64]]:
    """Returns the clean words of a document as a text, with one space for whitespace,
    and where each token begins and ends in it, [n, 2]."""
    text, places = "", []
    for token in doc:
        word = clean_word(token.text)
        places.append((len(text), len(text) + len(word)))
        text += word
        if (token.whitespace_ or token.is_space) and text[-1:] not in ("", " "):
            text += " "
    return text, np.array(places, np.int64).reshape(-1, 2)


@contextmanager
def _naming(folder: str) -> Iterator[None]:
    """Raises HS380 for what libraries raise."""
    try:
        yield
    except Exception as error:  # each has its own
        problem = " ".join(str(error).split())[:200]
        raise ValueError(Errors.HS380.format(path=folder, problem=problem)) from error
