"""What kill -9 while saving, and corrupted files, leave of a saved pipeline.

    python benchmarks/faults.py corpus

Two small models are trained on train; the labels of the second one have another name.

- **Kills**: a process saves one over the other, again and again, and is killed by
  SIGKILL at a random moment. Then the folder must load, and answer all texts as one of
  both models does. "save" is `spacy_hosemi.save`; "component" is `to_disk` of the
  component alone; "nlp.to_disk" is spaCy's own, which writes file by file: it is shown
  for comparison, and only its component must be one of both.
- **Corruptions**: of a component's folder, and of its bytes, a copy is changed at a
  random place: a bit, a byte, zeros, a cut, bytes twice, bytes appended, two parts
  exchanged, a file removed. Loading it must raise an error of ours. "Silent" are those
  that load; "otherwise" those of them that answer otherwise.

The last line counts what must not be: killed saves that do not load, or answer as
neither, and silent corruptions.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import harness
import spacy
from arguments import number, script
from processes import in_process
from spacy.language import Language
from spacy.tokens import DocBin
from tqdm import tqdm
from training import make_splits

import spacy_hosemi

N_TEXTS = 40
WAYS: dict[str, Callable[[Language, Path], None]] = {
    "save": spacy_hosemi.save,
    "component": lambda nlp, path: nlp.get_pipe("hosemi").to_disk(path / "hosemi"),  # type: ignore[attr-defined]
    "nlp.to_disk": lambda nlp, path: nlp.to_disk(path),
}


def train(path: Path, n_docs: int, ending: str, target: Path) -> None:
    """Train a small model, and save it (in a process of its own)."""
    nlp = spacy.blank("en")
    hosemi: Any = nlp.add_pipe("hosemi", config={"threads": 1})
    pairs = [
        (doc.text, [(x.start_char, x.end_char, x.label_ + ending) for x in doc.ents])
        for doc in [*DocBin().from_disk(path).get_docs(nlp.vocab)][:n_docs]
    ]
    hosemi.fit(pairs, nlp=nlp, progress=False, max_iter=30)
    nlp.to_disk(target)


def answers(nlp: Language, texts: Sequence[str]) -> list[Any]:
    """Returns all spans of all texts."""
    return [*map(harness.spans_of, nlp.pipe(texts))]


def killed(
    save: Callable[[Language, Path], None],
    pipelines: Sequence[Language],
    path: Path,
    wait: float,
) -> None:
    """Save over what is there, again and again, until it is killed."""
    child = os.fork()
    if not child:  # pragma: no cover
        try:
            for k in range(10_000):
                save(pipelines[k % 2], path)
        finally:
            os._exit(1)
    time.sleep(wait)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def kill_all(
    args: argparse.Namespace, models: Sequence[Path], texts: Sequence[str], folder: Path
) -> list[list[Any]]:
    """Returns rows: way, kills, then how many answered as the first, as the second, as
    neither, and did not load."""
    pipelines = [spacy.load(path) for path in models]
    expected = [answers(nlp, texts) for nlp in pipelines]
    rng, rows = random.Random(harness.SEED), []
    for way, save in WAYS.items():
        path, found = folder / "killed", Counter[str]()
        shutil.copytree(models[0], path)
        start = time.perf_counter()
        for nlp in pipelines:
            save(nlp, path)
        seconds = time.perf_counter() - start
        for _ in tqdm(range(args.kills), desc=way):
            killed(save, pipelines, path, rng.uniform(0.0, 3.0 * seconds))
            found[state_of(way, path, models[0], texts, expected)] += 1
        shutil.rmtree(path)
        names = "first", "second", "neither", "no load"
        rows.append([way, args.kills, *(found[x] for x in names)])
    return rows


def state_of(
    way: str, path: Path, model: Path, texts: Sequence[str], expected: list[Any]
) -> str:
    """How a folder answers: as which model."""
    try:
        if way == "save":
            nlp = spacy.load(path)
        else:  # only the component is promised
            nlp = spacy.load(model)
            nlp.get_pipe("hosemi").from_disk(path / "hosemi", exclude=["vocab"])  # type: ignore[attr-defined]
        found = answers(nlp, texts)
    except Exception as error:
        tqdm.write(f"{way}: {error}")
        return "no load"
    names = ("first", "second")
    return next((x for x, y in zip(names, expected) if y == found), "neither")


def corrupted(data: bytes, other: bytes, rng: random.Random) -> tuple[str, bytes]:
    """Returns what was done to bytes, and the result."""
    k, n = rng.randrange(len(data)), len(data)
    m = min(n, k + rng.randint(1, 512))
    changes = {
        "a bit": data[:k] + bytes([data[k] ^ 1 << rng.randrange(8)]) + data[k + 1 :],
        "a byte": data[:k] + bytes([rng.randrange(256)]) + data[k + 1 :],
        "zeros": data[:k] + bytes(m - k) + data[m:],
        "a cut": data[:k],
        "twice": data[:m] + data[k:],
        "appended": data + rng.randbytes(m - k),
        "exchanged": other,
    }
    return rng.choice([(x, y) for x, y in changes.items() if y != data])


def corrupt_all(
    args: argparse.Namespace, models: Sequence[Path], texts: Sequence[str], folder: Path
) -> list[list[Any]]:
    """Returns rows: where, change, how often, silent, otherwise."""
    nlp = spacy.load(models[0])
    hosemi: Any = nlp.get_pipe("hosemi")
    expected, rng = answers(nlp, texts), random.Random(harness.SEED)
    whole, path = hosemi.to_bytes(), folder / "corrupted"
    others = [x.read_bytes() for x in parts_of(models[1] / "hosemi")]
    counts: dict[tuple[str, str], Counter[str]] = {}
    for _ in tqdm(range(args.corruptions), desc="corruptions"):
        if rng.random() < 0.25:
            where = "bytes"
            change, given = corrupted(whole, rng.choice(others), rng)
        else:
            where, given = "folder", path
            shutil.rmtree(path, ignore_errors=True)
            shutil.copytree(models[0] / "hosemi", path)
            part = rng.choice(parts_of(path))
            change, data = corrupted(part.read_bytes(), rng.choice(others), rng)
            part.write_bytes(data)
            if rng.random() < 0.1:
                change = "removed"
                part.unlink()
        found = counts.setdefault((where, change), Counter())
        found["n"] += 1
        try:
            if where == "bytes":
                hosemi.from_bytes(given)
            else:
                hosemi.from_disk(given, exclude=["vocab"])
        except ValueError as error:
            if not str(error).startswith("[HS"):
                raise
            continue
        found["silent"] += 1
        found["otherwise"] += answers(nlp, texts) != expected
    names = "n", "silent", "otherwise"
    return [[*key, *(x[name] for name in names)] for key, x in sorted(counts.items())]


def parts_of(component: Path) -> list[Path]:
    """Returns the files of a component but its vocabulary."""
    return sorted(path for path in component.iterdir() if path.is_file())


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Train both models, break them, print everything."""
    train_lines = harness.draw(harness.read_lines(args.data / "train.jsonl"), 60)
    test = harness.read_lines(args.data / "test.jsonl")[:N_TEXTS]
    splits = make_splits(folder, "en", train_lines, None, test)
    models = [folder / "first", folder / "second"]
    for path, n_docs, ending in zip(models, (20, 60), ("", "-2")):
        in_process(train, splits.train, n_docs, ending, path)
    nlp = spacy.blank("en")
    texts = [x.text for x in DocBin().from_disk(splits.test).get_docs(nlp.vocab)]
    found = [answers(spacy.load(path), texts) for path in models]
    if found[0] == found[1]:
        raise ValueError("no model finds anything in test; give other documents")
    kills = kill_all(args, models, texts, folder)
    corruptions = corrupt_all(args, models, texts, folder)
    columns = ["way", "kills|d", "as the first|d", "as the second|d", "as neither|d"]
    of_kills = harness.table([*columns, "no load|d"], kills)
    columns = ["of", "change", "corruptions|d", "silent|d", "otherwise|d"]
    of_files = harness.table(columns, corruptions)
    broken = sum(row[4] + row[5] for row in kills if row[0] != "nlp.to_disk")
    last = f"broken by kills: {broken}; silent: {sum(row[3] for row in corruptions)}"
    title = f"{args.data.resolve().name}: kill -9 and corruptions"
    harness.report(args, title, of_kills, of_files, last, rows=[kills, corruptions])


OPTIONS = {"--kills": number(200, "by way"), "--corruptions": number(2000)}
main = script(__doc__, measure, "data --json", OPTIONS)

if __name__ == "__main__":
    main()
