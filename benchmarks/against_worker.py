"""The process of one build that `against.py` compares: answers its requests."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import tracemalloc
import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from harness import read_docs, read_lines, timed  # before numpy: the number of threads
from random_models import random_automaton, random_potentials

# isort: split
import numpy as np
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

import spacy_hosemi
from spacy_hosemi import core

NAME = "hosemi"
K = 3
SHORT = 15  # tokens
Given = dict[str, Any]  # a document as JSON has it
Answer = tuple[Any, Any]  # what is said in words, and in numbers


# --------------------------------------------------------------------------------- data


def read_documents(path: Path, at_most: int) -> list[Given]:
    """Words and spans of documents."""
    docs = read_docs(path, spacy.blank("en"))[:at_most]
    return [{"words": [x.text for x in y], "spans": triples(y.ents)} for y in docs]


def triples(spans: Iterable[Span]) -> list[list[Any]]:
    """Start, end and label of spans, as JSON has them."""
    return [[x.start, x.end, x.label_] for x in spans]


def make_doc(nlp: Language, given: Given) -> Doc:
    """Make a document: "words"; where they are set, "sents", the tokens that begin
    sentences, "preset", entities, and "blocked", tokens of none."""
    words, starts = given["words"], given.get("sents")
    is_start = [i in starts for i in range(len(words))] if starts and words else None
    doc = Doc(nlp.vocab, words=words, sent_starts=is_start)
    ents = [Span(doc, *span) for span in given.get("preset", ())]
    blocked = [doc[i : i + 1] for i in given.get("blocked", ())]
    if ents or blocked:
        doc.set_ents(ents, blocked=blocked)
    return doc


def make_example(nlp: Language, given: Given) -> Example:
    """Make a document and its gold."""
    reference = make_doc(nlp, given)
    reference.set_ents([Span(reference, *span) for span in given["spans"]])
    return Example(make_doc(nlp, given), reference)


def numbers(values: Any) -> Any:
    """Make an array of them; None is NaN, and nothing else is."""
    return np.asarray(values, np.float64).ravel()


def digest(answer: Answer) -> str:
    """Hash the words, and the bits of the numbers, of an answer."""
    words, values = answer
    found = hashlib.sha256(json.dumps(words).encode())
    found.update(values.tobytes())
    return found.hexdigest()


# --------------------------------------------------------------------------------- bits


def answers(nlp: Any, docs: Sequence[Any]) -> Iterator[tuple[str, Answer]]:
    """What a model says of each document, by kind."""
    pipe = nlp.get_pipe(NAME)
    for doc in nlp.pipe(docs):
        spans = triples(doc.ents)
        yield "entities", (spans, numbers([]))
        yield "confidences", (spans, numbers([x._.confidence for x in doc.ents]))
        best = pipe.kbest(doc, K)
        found = [list(map(list, x.spans)) for x in best]
        yield "kbest", (found, numbers([x.log_probability for x in best]))
        yield "entropy", ([], numbers([pipe.entropy(doc)]))
        paths = [x._.label_path or [] for x in doc.ents]
        names = [[name for name, _ in path] for path in paths]
        yield "label paths", (names, numbers([p for path in paths for _, p in path]))
        for key, group in doc.spans.items():
            scores = numbers(group.attrs.get("scores", []))
            yield "span groups", ([key, triples(group)], scores)
        found = pipe.marginals(doc)
        shape = list(found.tokens.shape)
        yield "marginals", (shape, numbers([found.log_z, *found.tokens.ravel()]))


def gradients(nlp: Any, folder: Path) -> Iterator[tuple[str, Answer]]:
    """Loss and gradient of each example that a model comes with."""
    path = folder / "gradient.json"
    for given in (
        json.loads(path.read_text("utf-8"))["examples"] if path.exists() else ()
    ):
        args = [make_example(nlp, given)]
        loss, gradient = nlp.get_pipe(NAME).value_and_gradient(args)
        yield "gradients", ([len(gradient)], numbers([loss, *gradient]))


def load(folder: Path) -> Any:
    """Load a model that needs no tokenizer; and no vocab, if it has no vectors."""
    vocab = [] if (folder / "vocab").exists() else ["vocab"]
    return spacy.load(folder, exclude=["tokenizer", *vocab])


# -------------------------------------------------------------------------------- speed


class Tasks:
    """What is measured: each method returns seconds and an answer to compare; the
    folder is for the trained model."""

    def __init__(
        self, data: Path, folder: Path, n_train: int, n_docs: int, n_steps: int
    ) -> None:
        self.n_steps = n_steps
        self.train = read_documents(data / "train.jsonl", n_train)
        self.test = read_documents(data / "test.jsonl", n_docs)
        short = [x for x in self.test if len(x["words"]) <= SHORT]
        some = [{"words": x["words"][:SHORT]} for x in self.test]
        self.short = short if len(short) >= 50 else some
        self.automaton = random_automaton(14, 3, 200)
        self.potentials = [
            random_potentials(self.automaton, 40, 3, -0.5, seed) for seed in range(200)
        ]
        self.folder = folder / "model"
        nlp = self._train(max_iter=30)
        nlp.to_disk(self.folder, exclude=["tokenizer", "vocab"])
        self.nlp = load(self.folder)
        for _ in self.nlp.pipe(self._docs(self.nlp)):
            pass

    def _train(self, max_iter: int | None) -> Any:
        """A model of all defaults; without iterations it is ready for updates."""
        nlp = spacy.blank("en")
        nlp.add_pipe(NAME)
        if max_iter is not None:
            fit = {"@misc": "spacy_hosemi.lbfgs.v1", "max_iter": max_iter}
            settings = {"fit": {**fit, "progress": False}}
            nlp.config["initialize"]["components"][NAME] = settings
        examples = [make_example(nlp, given) for given in self.train]
        nlp.initialize(lambda: examples)
        return nlp

    def _docs(self, nlp: Any) -> list[Any]:
        return [make_doc(nlp, {"words": x["words"]}) for x in self.test]

    def _predict(self, nlp: Any) -> tuple[float, Answer]:
        docs = self._docs(nlp)
        seconds, found = timed(lambda _: [doc.ents for doc in nlp.pipe(docs)])
        return seconds, ([triples(ents) for ents in found], numbers([]))

    def best(self) -> tuple[float, Answer]:
        """Best segmentations."""
        seconds, found = timed(
            lambda _: [core.viterbi(self.automaton, x) for x in self.potentials]
        )
        segments = [[list(map(int, x)) for x in path] for path, _ in found]
        return seconds, (segments, numbers([score for _, score in found]))

    def gradient(self) -> tuple[float, Answer]:
        """Expected counts."""
        some = self.potentials[: len(self.potentials) // 4]
        seconds, found = timed(
            lambda _: [core.marginals(self.automaton, x).gradient for x in some]
        )
        names = "inside", "start", "end", "length", "tail", "pattern"
        arrays = [numbers(getattr(x, name)) for x in found for name in names]
        return seconds, ([], np.concatenate(arrays))

    def first_sight(self) -> tuple[float, Answer]:
        """Documents whose words are new to the model."""
        return self._predict(load(self.folder))

    def again(self) -> tuple[float, Answer]:
        """Documents whose words are known."""
        return self._predict(self.nlp)

    def one_by_one(self) -> tuple[float, Answer]:
        """Short documents."""
        docs = [make_doc(self.nlp, {"words": x["words"]}) for x in self.short]
        seconds, found = timed(lambda _: [self.nlp(doc).ents for doc in docs])
        return seconds, ([triples(ents) for ents in found], numbers([]))

    def confidences(self) -> tuple[float, Answer]:
        """Confidences of predicted entities."""
        docs = list(self.nlp.pipe(self._docs(self.nlp)))
        ents = [ent for doc in docs for ent in doc.ents]
        seconds, found = timed(lambda _: [ent._.confidence for ent in ents])
        return seconds, ([], numbers(found))

    def batch_training(self) -> tuple[float, Answer]:
        """L-BFGS, reading of features included."""
        seconds, nlp = timed(lambda _: self._train(max_iter=30))
        return seconds, ([], numbers(nlp.get_pipe(NAME).get_weights()))

    def online_training(self) -> tuple[float, Answer]:
        """Updates with four documents each."""
        nlp = self._train(max_iter=None)
        optimizer = nlp.create_optimizer()
        stream = cycle([make_example(nlp, given) for given in self.train])
        batches = [list(islice(stream, 4)) for _ in range(self.n_steps)]

        def update(_: Any) -> None:
            for batch in batches:
                nlp.update(batch, sgd=optimizer)

        seconds, _ = timed(update)
        return seconds, ([], numbers(nlp.get_pipe(NAME).get_weights()))


# ----------------------------------------------------------------------------- requests


class Worker:
    """Answers the requests of the main process; keeps what it may be asked for."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Answer]] = {}
        self.tasks: Tasks | None = None
        self.folder = tempfile.TemporaryDirectory()

    def hello(self) -> str:
        """Say where the package comes from."""
        return str(Path(spacy_hosemi.__file__).parent)

    def model(self, folder: str, data: str, n_docs: int) -> dict[str, list[str]]:
        """Load a saved model; hashes of all that it says, by kind."""
        self.answers = {}
        path = Path(folder)
        nlp = load(path / "model")
        given = list(map(json.loads, read_lines(path / "expected.jsonl")))
        more = [{"words": x["words"]} for x in read_documents(Path(data), n_docs)]
        if nlp.config["components"][NAME].get("scope") == "sents":
            more = [{**x, "sents": [0, len(x["words"]) // 2]} for x in more]
        docs = [make_doc(nlp, x) for x in (*given, *more)]
        for kind, answer in (*answers(nlp, docs), *gradients(nlp, path)):
            self.answers.setdefault(kind, []).append(answer)
        return {kind: [*map(digest, found)] for kind, found in self.answers.items()}

    def values(self, kind: str, at: list[int]) -> list[list[float]]:
        """Numbers of some answers of the last model."""
        return [self.answers[kind][i][1].tolist() for i in at]

    def prepare(self, data: str, n_train: int, n_docs: int, n_steps: int) -> None:
        """Read data and train what is measured."""
        path = Path(self.folder.name)
        self.tasks = Tasks(Path(data), path, n_train, n_docs, n_steps)

    def online_memory(self, reads: bool) -> dict[str, float]:
        """What a model takes, in MB as Python and NumPy report it, that is loaded,
        updated and, if it reads, asked for confidences after each update; and its
        weights alone."""
        tasks = self.tasks
        assert tasks is not None
        tracemalloc.start()
        nlp = load(tasks.folder)
        optimizer = nlp.resume_training()
        given, docs = cycle(tasks.train), cycle(tasks.test)
        for _ in range(tasks.n_steps):
            batch = [make_example(nlp, x) for x in islice(given, 4)]
            nlp.update(batch, sgd=optimizer)
            if reads:
                doc = nlp(make_doc(nlp, next(docs)))
                [ent._.confidence for ent in doc.ents]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        weights = nlp.get_pipe(NAME).get_weights()
        return {"weights": weights.nbytes / 1e6, "peak": peak / 1e6}

    def task(self, name: str) -> tuple[float, str]:
        """Measure one task; seconds and a hash of what came out."""
        seconds, answer = getattr(self.tasks, name)()
        return seconds, digest(answer)


def work() -> int:
    """Answer requests, a line of JSON each, until there are no more."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what others print must not be taken for a reply
    warnings.simplefilter("ignore")
    worker = Worker()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = {"found": getattr(worker, request["do"])(*request["args"])}
        except Exception as e:
            reply = {"error": f"{type(e).__name__}: {e}"}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()
    return 0


if __name__ == "__main__":
    sys.exit(work())
