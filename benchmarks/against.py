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
  potentials: 14 labels, all pairs of them and random triples, 200 states, 40 tokens;
- first sight: from given `Doc` objects to `doc.ents` by `nlp.pipe`, the model just
  loaded, so that it meets every word for the first time;
- again: the same documents, with the words known; one by one: short ones by `nlp(doc)`;
- confidences: `span._.confidence` of all entities, which predicting has not computed;
- batch training: `nlp.initialize` with spacy_hosemi.lbfgs.v1;
- online training: `nlp.update`, without initializing.

**Memory**: the peak of what is allocated to load a model and train it online, in MB:
updates alone, and with a prediction after each. Beside the weights there are gradients,
squares and averages of them; a prediction needs a copy that updates do not change. The
last column has the difference in multiples of the memory of the weights.

The exit code is 1 if any result differs or fails.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from arguments import number, path_to, script, some_of
from harness import ROOT, table

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


class Failure(Exception):
    """What went wrong in the process of a build."""


class Build:
    """A build, by its source folder that is compiled in place, and its process."""

    def __init__(self, folder: Path) -> None:
        worker = str(Path(__file__).with_name("against_worker.py"))
        env = {**os.environ, "PYTHONPATH": str(folder.resolve())}
        self.process = subprocess.Popen(
            [sys.executable, worker],
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


def in_turn(builds: Sequence[Build], turn: int, do: str, *args: Any) -> list[Any]:
    """Ask both, in odd turns the second one first. RAISES (Failure): One of them."""
    found = [build.ask(do, *args) for build in (builds[::-1] if turn % 2 else builds)]
    return found[::-1] if turn % 2 else found


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
    rows, notes, data = [], [], str(args.data / "test.jsonl")
    for folder in folders:
        name = f"{folder.parent.name}/{folder.name}"
        try:
            found = in_turn(builds, 0, "model", str(folder), data, args.docs)
        except Failure as failure:
            rows.append([name, "FAILS", 0, ""])
            notes.append(f"{name}: {failure}")
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
        said = "DIFFERENT" if different else "same"
        n_answers = sum(map(len, before.values()))
        rows.append([name, said, n_answers, ", ".join(different)])
    print(table(("saved model", "bits", "answers|,d", "different"), rows))
    print("".join(f"\n{note}" for note in notes))
    return all(row[1] == "same" for row in rows)


def compare_speed(builds: Sequence[Build], args: argparse.Namespace) -> bool:
    """Take turns. RETURNS (bool): Whether all results are the same."""
    in_turn(builds, 0, "prepare", str(args.data), args.train, args.docs, args.steps)
    seconds: dict[str, list[list[float]]] = {name: [] for name in TASKS}
    digests: dict[str, set[str]] = {name: set() for name in TASKS}
    failures: dict[str, str] = {}
    for turn in range(1, args.rounds + 1):
        for name, n_times in TASKS.items():
            try:
                turns = [
                    in_turn(builds, turn + k, "task", name) for k in range(n_times)
                ]
            except Failure as failure:
                failures[name] = str(failure)
                continue
            digests[name].update(found for turn in turns for _, found in turn)
            both = zip(*([cpu_s for cpu_s, _ in turn] for turn in turns))
            seconds[name].append([min(some) for some in both])
        print(f"round {turn} of {args.rounds}", file=sys.stderr, flush=True)
    rows = []
    for name, of_rounds in seconds.items():
        if name in failures:
            rows.append(
                [name.replace("_", " "), *[None] * 5, f"FAILS: {failures[name]}"]
            )
            continue
        before, after = map(median, zip(*of_rounds))
        ratios = [y / x for x, y in of_rounds]
        said = "same" if len(digests[name]) == 1 else "DIFFERENT"
        ends = min(ratios), max(ratios)
        rows.append(
            [name.replace("_", " "), before, after, after / before, *ends, said]
        )
    columns = ["task", "before, s|.4f", "after, s|.4f", "ratio|.3f", "least|.3f"]
    print(table([*columns, "greatest|.3f", "bits"], rows))
    return all(row[-1] == "same" for row in rows)


def compare_memory(builds: Sequence[Build], args: argparse.Namespace) -> bool:
    """Train online. RETURNS (bool): True; nothing is expected to be the same."""
    in_turn(builds, 0, "prepare", str(args.data), args.train, args.docs, args.steps)
    rows = []
    for name, reads in (("updates", False), ("updates and predictions", True)):
        before, after = in_turn(builds, 0, "online_memory", reads)
        weights, more = after["weights"], after["peak"] - before["peak"]
        peaks = before["peak"], after["peak"]
        rows.append([name, weights, *peaks, more / weights])
    columns = ["online training", "weights, MB|.1f", "before, MB|.1f", "after, MB|.1f"]
    print(table([*columns, "difference, weights|.2f"], rows))
    return True


def measure(args: argparse.Namespace, folder: Path) -> int:
    """Compare two builds. Returns 1 if they differ."""
    for source in (args.before, args.after):
        if not (source / "spacy_hosemi.egg-info" / "entry_points.txt").is_file():
            sys.exit(f"{source} has no build in place; see above how to make it")
    builds = [Build(args.before), Build(args.after)]
    try:
        same = [PARTS[name](builds, args) for name in args.only]
    except Failure as failure:
        sys.exit(f"{failure}")
    for build in builds:
        build.end()
    return 0 if all(same) else 1


PARTS = {"bits": compare_bits, "speed": compare_speed, "memory": compare_memory}
OPTIONS = {
    "--before": path_to("source with a build", required=True),
    "--after": path_to("source with a build", required=True),
    "--models": path_to("saved ones", default=ROOT / "tests" / "fixtures" / "saved"),
    "--data": path_to("has {train,test}.jsonl", default=ROOT / "corpus"),
    "--only": some_of(PARTS),
    "--rounds": number(5, "turns"),
    "--train": number(300, "documents of train"),
    "--docs": number(300, "documents of test"),
    "--steps": number(200, "updates"),
}
main = script(__doc__, measure, options=OPTIONS)

if __name__ == "__main__":
    main()
