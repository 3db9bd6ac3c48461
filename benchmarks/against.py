"""Two builds of the package, one after a change: same results, and how fast?

    python benchmarks/against.py --before ../before --after .
    python benchmarks/against.py --before ../before --after . --data ../data/anystyle \\
        --rounds 9
    python benchmarks/against.py --before ../before --after . --only bits

Both are source folders, compiled in place; the entry points come from what `egg_info`
writes there. The one before the change is a second work tree::

    git worktree add ../before COMMIT
    cd ../before && python setup.py egg_info build_ext --inplace

Each build has a process that takes the package from its folder and stays alive, so that
the two can take turns. What they share, such as spaCy, is that of this interpreter.

**Bits**: the models of tests/fixtures/saved are loaded by both, and predict the
documents they come with and some of DATA. Compared are hashes of what each says of a
document: entities, confidences, the three best segmentations, entropy, label paths, the
span group, marginals; and loss and gradient of the examples that the model comes with.
Two results are the same only if all bits of all numbers are. Where they are not, the
table says of how many documents, and how far apart numbers are that should be equal.

**Speed**: CPU seconds of a process. In each round both builds do a task several times,
in turns, each first as often as the other, and the fastest call counts: what else runs
on the machine only makes it slower. The table has the median of the rounds and the
ratio of these; beside it stand the least and the greatest ratio of single rounds: if 1
lies between them, there is nothing to see but noise. Where other processes take all
cores that is five in a hundred and more. "Bits" says of each task whether its results
are the same, as above; so weights that are trained are compared, too. What is measured:

- best, gradient: `viterbi` and `marginals(..).gradient` of spacy_hosemi.core, on random
  potentials: 14 labels, all pairs of them and 200 triples, 40 tokens;
- first sight: from given `Doc` objects to `doc.ents` by `nlp.pipe`, the model just
  loaded, so that it meets every word for the first time;
- again: the same documents, with the words known; one by one: short ones by `nlp(doc)`;
- confidences: `span._.confidence` of all entities, which predicting has not computed;
- batch training: `nlp.initialize` with spacy_hosemi.lbfgs.v1;
- online training: `nlp.update`, without initializing.

The exit code is 1 if any result differs or fails.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(os.path.relpath(Path(__file__).resolve().parents[1]))
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
NAME = "hosemi"
K = 3
SHORT = 15  # tokens
Given = dict[str, Any]  # a document as JSON has it
Answer = tuple[Any, Any]  # what is said in words, and in numbers


# ------------------------------------------------------- the process of one build: data


def read_json_lines(path: Path, at_most: int | None = None) -> list[Any]:
    """Read the lines of a file that are not empty."""
    with open(path, encoding="utf-8") as lines:
        found = (json.loads(line) for line in lines if line.strip())
        return list(islice(found, at_most))


def read_documents(path: Path, at_most: int) -> list[Given]:
    """Words and spans of documents; those of a text that fall on borders of tokens."""
    import spacy

    nlp, found = spacy.blank("en"), []
    for record in read_json_lines(path, at_most):
        if "tokens" in record:
            found.append({"words": record["tokens"], "spans": record["spans"]})
            continue
        doc = nlp.make_doc(record["text"])
        spans = [doc.char_span(i, j, label) for i, j, label in record["spans"]]
        found.append({"words": [x.text for x in doc], "spans": triples(spans)})
    return found


def triples(spans: Iterable[Any]) -> list[list[Any]]:
    """Start, end and label of spans, as JSON has them."""
    return [[x.start, x.end, x.label_] for x in spans if x is not None]


def make_doc(nlp: Any, given: Given) -> Any:
    """Make a document: "words"; where they are set, "sents", the tokens that begin
    sentences, "preset", entities, and "blocked", tokens of none."""
    from spacy.tokens import Doc, Span

    words, starts = given["words"], given.get("sents")
    is_start = [i in starts for i in range(len(words))] if starts and words else None
    doc = Doc(nlp.vocab, words=words, sent_starts=is_start)
    ents = [Span(doc, *span) for span in given.get("preset", ())]
    blocked = [doc[i : i + 1] for i in given.get("blocked", ())]
    if ents or blocked:
        doc.set_ents(ents, blocked=blocked)
    return doc


def make_example(nlp: Any, given: Given) -> Any:
    """Make a document and its gold."""
    from spacy.tokens import Span
    from spacy.training import Example

    reference = make_doc(nlp, given)
    reference.set_ents([Span(reference, *span) for span in given["spans"]])
    return Example(make_doc(nlp, given), reference)


def numbers(values: Any) -> Any:
    """Make an array of them; None is NaN, and nothing else is."""
    import numpy as np

    return np.asarray(values, np.float64).ravel()


def digest(answer: Answer) -> str:
    """Hash the words, and the bits of the numbers, of an answer."""
    words, values = answer
    found = hashlib.sha256(json.dumps(words).encode())
    found.update(values.tobytes())
    return found.hexdigest()


# ------------------------------------------------------- the process of one build: bits


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
    """Load a model that has no tokenizer, or needs none."""
    import spacy

    return spacy.load(folder, exclude=["tokenizer", "vocab"])


# ------------------------------------------------------ the process of one build: speed


def random_potentials(n_docs: int) -> tuple[Any, list[Any]]:
    """An automaton of pairs and some triples, and documents of 40 tokens."""
    import numpy as np

    from spacy_hosemi import core

    rng = np.random.default_rng(0)
    labels = ["O", *(f"l{i}" for i in range(1, 14))]
    patterns = dict.fromkeys((a, b) for a in labels for b in labels)
    some = rng.integers(len(labels), size=(200, 3))
    patterns |= dict.fromkeys(tuple(labels[y] for y in row) for row in some)
    automaton = core.PatternAutomaton(labels, list(patterns))
    found = []
    for _ in range(n_docs):
        potentials = core.Potentials.zeros(automaton, 40, 3)
        for name in ("inside", "start", "end", "length", "pattern"):
            array = getattr(potentials, name)
            array[...] = rng.normal(size=array.shape)
        potentials.tail[:] = -0.5
        found.append(potentials)
    return automaton, found


def dense(potentials: Any) -> Iterator[Any]:
    """All arrays of potentials that are not empty here."""
    for name in ("inside", "start", "end", "length", "tail", "pattern"):
        yield numbers(getattr(potentials, name))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of a call, and its result. No garbage is collected meanwhile."""
    gc.collect()
    gc.disable()
    began = time.process_time()
    found = work()
    seconds = time.process_time() - began
    gc.enable()
    return seconds, found


class Tasks:
    """What is measured: each method returns seconds and an answer to compare.

    data (Path): Has train.jsonl and test.jsonl.
    folder (Path): For the trained model.
    n_train, n_docs, n_steps (int): Sizes.
    """

    def __init__(
        self, data: Path, folder: Path, n_train: int, n_docs: int, n_steps: int
    ) -> None:
        self.n_steps = n_steps
        self.train = read_documents(data / "train.jsonl", n_train)
        self.test = read_documents(data / "test.jsonl", n_docs)
        short = [x for x in self.test if len(x["words"]) <= SHORT]
        some = [{"words": x["words"][:SHORT]} for x in self.test]
        self.short = short if len(short) >= 50 else some
        self.automaton, self.potentials = random_potentials(200)
        self.folder = folder / "model"
        nlp = self._train(max_iter=30)
        nlp.to_disk(self.folder, exclude=["tokenizer", "vocab"])
        self.nlp = load(self.folder)
        for _ in self.nlp.pipe(self._docs(self.nlp)):
            pass

    def _train(self, max_iter: int | None) -> Any:
        """A model of all defaults; without iterations it is ready for updates."""
        import spacy

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
        seconds, found = timed(lambda: [doc.ents for doc in nlp.pipe(docs)])
        return seconds, ([triples(ents) for ents in found], numbers([]))

    def best(self) -> tuple[float, Answer]:
        """Best segmentations."""
        from spacy_hosemi import core

        seconds, found = timed(
            lambda: [core.viterbi(self.automaton, x) for x in self.potentials]
        )
        segments = [[list(map(int, x)) for x in path] for path, _ in found]
        return seconds, (segments, numbers([score for _, score in found]))

    def gradient(self) -> tuple[float, Answer]:
        """Expected counts."""
        import numpy as np

        from spacy_hosemi import core

        some = self.potentials[: len(self.potentials) // 4]
        seconds, found = timed(
            lambda: [core.marginals(self.automaton, x).gradient for x in some]
        )
        return seconds, ([], np.concatenate([y for x in found for y in dense(x)]))

    def first_sight(self) -> tuple[float, Answer]:
        """Documents whose words are new to the model."""
        return self._predict(load(self.folder))

    def again(self) -> tuple[float, Answer]:
        """Documents whose words are known."""
        return self._predict(self.nlp)

    def one_by_one(self) -> tuple[float, Answer]:
        """Short documents."""
        docs = [make_doc(self.nlp, {"words": x["words"]}) for x in self.short]
        seconds, found = timed(lambda: [self.nlp(doc).ents for doc in docs])
        return seconds, ([triples(ents) for ents in found], numbers([]))

    def confidences(self) -> tuple[float, Answer]:
        """Confidences of predicted entities."""
        docs = list(self.nlp.pipe(self._docs(self.nlp)))
        ents = [ent for doc in docs for ent in doc.ents]
        seconds, found = timed(lambda: [ent._.confidence for ent in ents])
        return seconds, ([], numbers(found))

    def batch_training(self) -> tuple[float, Answer]:
        """L-BFGS, reading of features included."""
        seconds, nlp = timed(lambda: self._train(max_iter=30))
        return seconds, ([], numbers(nlp.get_pipe(NAME).get_weights()))

    def online_training(self) -> tuple[float, Answer]:
        """Updates with four documents each."""
        nlp = self._train(max_iter=None)
        optimizer = nlp.create_optimizer()
        stream = cycle([make_example(nlp, given) for given in self.train])
        batches = [list(islice(stream, 4)) for _ in range(self.n_steps)]

        def update() -> None:
            for batch in batches:
                nlp.update(batch, sgd=optimizer)

        seconds, _ = timed(update)
        return seconds, ([], numbers(nlp.get_pipe(NAME).get_weights()))


# How often each is done in a round, the two builds in turns: what is short, more often.
TASKS = {
    "best": 8,
    "gradient": 8,
    "first_sight": 5,
    "again": 20,
    "one_by_one": 8,
    "confidences": 5,
    "batch_training": 1,
    "online_training": 2,
}


# --------------------------------------------------- the process of one build: requests


class Worker:
    """Answers the requests of the main process; keeps what it may be asked for."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Answer]] = {}
        self.tasks: Tasks | None = None
        self.folder = tempfile.TemporaryDirectory()

    def hello(self) -> str:
        """Say where the package comes from."""
        import spacy_hosemi

        return str(Path(spacy_hosemi.__file__).parent)

    def model(self, folder: str, data: str, n_docs: int) -> dict[str, list[str]]:
        """Load a saved model; hashes of all that it says, by kind."""
        self.answers = {}
        path = Path(folder)
        nlp = load(path / "model")
        given = read_json_lines(path / "expected.jsonl")
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
            found = getattr(worker, request["do"])(*request["args"])
            reply = {"found": found}
        except Exception as e:
            reply = {"error": f"{type(e).__name__}: {e}"}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()
    return 0


# --------------------------------------------------------------------- the main process


class Failure(Exception):
    """What went wrong in the process of a build."""


class Build:
    """A build, and its process.

    folder (Path): Its source, compiled in place.
    """

    def __init__(self, folder: Path) -> None:
        env = {**os.environ, **dict.fromkeys(THREADS, "1")}
        env["PYTHONPATH"] = str(folder.resolve())
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=env,
            text=True,
            encoding="utf-8",
        )
        found = self.ask("hello")
        if not Path(found).samefile(folder / "spacy_hosemi"):
            sys.exit(f"the package is taken from {found}, and not from {folder}")

    def ask(self, do: str, *args: Any) -> Any:
        """Have something done. RAISES (Failure): It raised an exception."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps({"do": do, "args": args}) + "\n")
        self.process.stdin.flush()
        if not (line := self.process.stdout.readline()):
            raise Failure(f"its process ended, exit code {self.process.wait()}")
        reply = json.loads(line)
        if "error" in reply:
            raise Failure(reply["error"])
        return reply["found"]

    def end(self) -> None:
        """Let the process end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def ask_both(builds: Sequence[Build], do: str, *args: Any) -> list[Any]:
    """Ask both, one after the other; what fails is a Failure among the answers."""
    found: list[Any] = []
    for build in builds:
        try:
            found.append(build.ask(do, *args))
        except Failure as e:
            found.append(e)
    return found


def in_turn(builds: Sequence[Build], turn: int, do: str, *args: Any) -> list[Any]:
    """`ask_both`; in odd turns the second one is asked first."""
    if turn % 2 == 0:
        return ask_both(builds, do, *args)
    return ask_both(builds[::-1], do, *args)[::-1]


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table in Markdown, in columns that can be read as they are."""
    cells = [list(header), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*cells)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    lines = []
    for first, *others in (cells[0], rule, *cells[1:]):
        aligned = [x.rjust(width) for x, width in zip(others, widths[1:])]
        lines.append(f"| {' | '.join([first.ljust(widths[0]), *aligned])} |")
    return "\n".join(lines)


def is_failure(found: Sequence[Any]) -> str:
    """Which of the two failed, if one did."""
    failed = [x for x in zip(("before", "after"), found) if isinstance(x[1], Failure)]
    return "; ".join(f"{name} fails: {e}" for name, e in failed)


def distance(builds: Sequence[Build], kind: str, at: list[int]) -> str:
    """How far apart numbers are that should be equal, at most."""
    before, after = (build.ask("values", kind, at) for build in builds)
    pairs = [(x, y) for x, y in zip(before, after) if len(x) == len(y)]
    apart = [abs(p - q) for x, y in pairs for p, q in zip(x, y)]
    apart = [x for x in apart if x == x]  # NaN stands for no confidence
    largest = f"up to {max(apart):.1e}" if any(apart) else "not in numbers"
    return largest if len(pairs) == len(at) else f"{largest}, and others in number"


def compare_bits(builds: Sequence[Build], args: argparse.Namespace) -> bool:
    """Compare what saved models say. RETURNS (bool): Whether all of it is the same."""
    folders = sorted(x.parent for x in args.models.rglob("expected.jsonl"))
    if not folders:
        sys.exit(f"{args.models}: there is no saved model in this folder")
    rows, notes, is_same = [], [], True
    for folder in folders:
        path = args.data / "test.jsonl"
        found = ask_both(builds, "model", str(folder), str(path), args.docs)
        name = f"{folder.parent.name}/{folder.name}"
        if failure := is_failure(found):
            rows.append([name, "FAILS", "", ""])
            notes.append(f"{name}: {failure}")
            is_same = False
            continue
        before, after = found
        different = []
        for kind in sorted(before.keys() | after.keys()):
            left, right = before.get(kind, []), after.get(kind, [])
            at = [i for i, pair in enumerate(zip(left, right)) if pair[0] != pair[1]]
            if at or len(left) != len(right):
                different.append(kind)
                far = distance(builds, kind, at)
                notes.append(f"{name}: {kind} of {len(at)} of {len(left)}, {far}")
        is_same &= not different
        n_answers = sum(map(len, before.values()))
        said = "DIFFERENT" if different else "same"
        rows.append([name, said, str(n_answers), ", ".join(different)])
    print(table(("saved model", "bits", "answers", "different"), rows))
    print("".join(f"\n{note}" for note in notes))
    return is_same


def compare_speed(builds: Sequence[Build], args: argparse.Namespace) -> bool:
    """Take turns. RETURNS (bool): Whether all results are the same."""
    sizes = args.train, args.docs, args.steps
    if failure := is_failure(ask_both(builds, "prepare", str(args.data), *sizes)):
        print(f"no speed was measured: {failure}")
        return False
    seconds: dict[str, list[list[float]]] = {name: [[], []] for name in TASKS}
    digests: dict[str, set[str]] = {name: set() for name in TASKS}
    failures: dict[str, str] = {}
    for number in range(1, args.rounds + 1):
        for name, n_times in TASKS.items():
            of_round: list[list[float]] = [[], []]
            for turn in range(n_times):
                found = in_turn(builds, number + turn, "task", name)
                if failure := is_failure(found):
                    failures[name] = failure
                    break
                for i, (cpu_s, of_results) in enumerate(found):
                    of_round[i].append(cpu_s)
                    digests[name].add(of_results)
            if name not in failures:
                for i, cpu_s in enumerate(map(min, of_round)):
                    seconds[name][i].append(cpu_s)
        print(f"round {number} of {args.rounds}", file=sys.stderr, flush=True)
    rows = []
    for name, (before, after) in seconds.items():
        if name in failures:
            rows.append([name.replace("_", " "), *("FAILS",) * 6])
            continue
        ratios = [y / x for x, y in zip(before, after)]
        middle = median(after) / median(before)
        figures = f"{median(before):.4f}", f"{median(after):.4f}", f"{middle:.3f}"
        said = "same" if len(digests[name]) == 1 else "DIFFERENT"
        ends = f"{min(ratios):.3f}", f"{max(ratios):.3f}"
        rows.append([name.replace("_", " "), *figures, *ends, said])
    header = "task", "before, s", "after, s", "ratio", "least", "greatest", "bits"
    print(table(header, rows))
    for name, failure in failures.items():
        print(f"\n{name.replace('_', ' ')}: {failure}")
    return not failures and all(len(found) == 1 for found in digests.values())


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description="Compare two builds of the package: the bits of what they predict "
        "and train, and how fast they are.",
        epilog="Example: python benchmarks/against.py --before ../before --after .",
    )
    add = parser.add_argument
    for name in ("--before", "--after"):
        add(name, type=Path, required=True, metavar="DIR", help="source, built there")
    default = ROOT / "tests" / "fixtures" / "saved"
    add("--models", type=Path, metavar="FOLDER", default=default, help="saved ones")
    add("--data", type=Path, default=ROOT / "corpus", help="has {train,test}.jsonl")
    add("--rounds", type=int, default=5, help="turns (default: %(default)s)")
    add("--only", choices=("bits", "speed"), help="of the two parts")
    add("--train", type=int, default=300, help="documents (default: %(default)s)")
    add("--docs", type=int, default=300, help="documents (default: %(default)s)")
    add("--steps", type=int, default=200, help="updates (default: %(default)s)")
    args = parser.parse_args()
    for folder in (args.before, args.after):
        if not (folder / "spacy_hosemi.egg-info" / "entry_points.txt").is_file():
            parser.error(f"{folder} has no build in place; --help says how to make it")
    if args.rounds < 1:
        parser.error("--rounds must be 1 or more")
    return args


def main() -> int:
    """Compare two builds."""
    args = arguments()
    builds = [Build(args.before), Build(args.after)]
    parts = {"bits": compare_bits, "speed": compare_speed}
    wanted = [args.only] if args.only else list(parts)
    same = [parts[name](builds, args) for name in wanted]
    for build in builds:
        build.end()
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(work() if sys.argv[1:] == ["--worker"] else main())
