"""Annotations that come in, and the models that are trained on them."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

log = logging.getLogger("label_studio")

# What a command has said on each of its two streams, as far as it is kept.
MOST_SAID = 2_000  # characters
# How many annotations that are left out are said with the reason.
MOST_REASONS = 3
# What `hosemi convert` quotes of texts and labels in a message, from the first quote to
# the last: quotes may have others within, and a long list or object ends with dots.
QUOTED = re.compile(r"""["'{].*(["'}]|\.\.\.)""", re.DOTALL)
# How it ends of a span that is given twice. That annotation is not left out.
STILL_USED = "expected once, and read once"


class Answers:
    """The annotations of a project: a file for each task, as Label Studio exports it.

    folder (Path): Where they are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def keep(self, annotation: dict[str, Any], task: dict[str, Any]) -> None:
        """Keep an annotation, instead of an earlier one of its task. RAISES
        (ValueError): It is none of a task."""
        number, data = task.get("id"), task.get("data")
        if type(number) is not int or not isinstance(data, dict):
            raise ValueError("Expected a task with id and data.")
        if not isinstance(annotation.get("result"), list):
            raise ValueError("Expected an annotation with a result.")
        found = {"id": number, "data": data, "annotations": [annotation]}
        path = self.folder / f"{number}.json"
        before = path.with_suffix(".new")
        before.write_text(json.dumps([found]), "utf-8")
        os.replace(before, path)  # whole or not at all

    def remove(self, numbers: Sequence[Any]) -> None:
        """Remove annotations by their ids."""
        for path in self.folder.glob("*.json"):
            (task,) = json.loads(path.read_text("utf-8"))
            if task["annotations"][0].get("id") in numbers:
                path.unlink()

    def copy_to(self, folder: Path) -> int:
        """Returns how many there are. They may change while copies are read."""
        folder.mkdir()
        paths = [*self.folder.glob("*.json")]
        for path in paths:
            shutil.copy(path, folder)
        return len(paths)


@dataclass(frozen=True)
class Converted:
    """What became of annotations.

    n_used, n_left_out (int): How many can be used to train, and how many cannot.
    reasons (List[str]): Why the first of the latter cannot; these quote texts.
    labels (List[str]): Of the spans.
    """

    n_used: int
    n_left_out: int
    reasons: list[str]
    labels: list[str]

    def without_quotes(self) -> list[str]:
        """Returns the reasons, for anybody to read."""
        return [QUOTED.sub("…", reason) for reason in self.reasons]


def _reasons_of(faults: Iterable[dict[str, Any]]) -> list[str]:
    """The first fault of each task that is left out, with the number of the task."""
    found: dict[str, str] = {}
    for fault in faults:
        if not fault["message"].endswith(STILL_USED):
            message = fault["message"].removeprefix("object 1: ")
            found.setdefault(Path(fault["path"]).stem, message)
    return [f"task {number}: {message}" for number, message in found.items()]


@dataclass(frozen=True)
class Training:
    """How models are trained: by `hosemi adapt`, or where there is a config by `spacy
    train`, in a process of its own.

    first (Path): The model that is adapted.
    config (Optional[Path]): The config.
    train (str): A .spacy file to train on beside the annotations; empty: none.
    dev (Path): A .spacy file to choose settings by, and to score on.
    max_seconds (float): Of a training.
    most_lost (float): What F1 on `dev` may lose, 0 to 1.
    """

    first: Path
    config: Path | None
    train: str
    dev: Path
    max_seconds: float
    most_lost: float

    async def convert(self, answers: Path, folder: Path) -> Converted:
        """Make a corpus of the annotations that can be used, within a new folder.

        answers (Path): A folder with exports of Label Studio, each of one task.
        RAISES (RuntimeError): It has failed, or is late.
        """
        made, faults = folder / "train" / "answers.spacy", folder / "faults.jsonl"
        words = "hosemi", "convert", str(answers), str(made), "--faults", str(faults)
        options = ["--format", "label-studio", "--json"]
        options += ["--config", str(self.config)] if self.config else []
        # 1: some annotations have faults; the others are converted.
        summary = json.loads(await self._spacy(*words, *options, fine=(0, 1)))
        n_used = sum(file["texts"] for file in summary["files"])
        with faults.open(encoding="utf-8") as lines:
            reasons = _reasons_of(map(json.loads, lines))
        reasons += [f"{n} {reason}" for reason, n in summary["skipped"].items()]
        n_left_out = len([*answers.iterdir()]) - n_used
        labels = [*summary["labels"]]
        return Converted(n_used, n_left_out, reasons[:MOST_REASONS], labels)

    async def run(self, folder: Path, labels: Sequence[str]) -> Path:
        """Returns the trained model, within the folder given to `convert`, with these
        labels, too. Raises RuntimeError if it has failed, or is late."""
        corpus = folder / "train"
        if self.config is None:
            model = folder / "model-last"
            words = "hosemi", "adapt", str(self.first), str(corpus), "-o", str(model)
            options = [word for label in labels for word in ("--label", label)]
            await self._spacy(*words, *options)
            return model
        if self.train:
            shutil.copy(self.train, corpus / "given.spacy")
        paths = "--paths.train", str(corpus), "--paths.dev", str(self.dev)
        await self._spacy("train", str(self.config), "--output", str(folder), *paths)
        return folder / "model-last"

    async def score(self, model: Path, file: Path) -> float:
        """Returns the F1 of a model on `dev`, 0 to 1. Raises RuntimeError as `run`.
        file: What is written meanwhile."""
        await self._spacy("evaluate", str(model), str(self.dev), "--output", str(file))
        return float(json.loads(file.read_text("utf-8"))["ents_f"] or 0.0)

    async def _spacy(self, *words: str, fine: Sequence[int] = (0,)) -> bytes:
        """Returns what a command writes to standard output. `fine` has its exit codes
        that are no failure. Raises RuntimeError as `run`."""
        what = " ".join(words[:2])
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "spacy", *words),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            waiting = process.communicate()
            said, errors = await asyncio.wait_for(waiting, self.max_seconds)
        except asyncio.TimeoutError:
            late = f"{what} takes more than {self.max_seconds:g} seconds"
            raise RuntimeError(late) from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        # Python, too, exits with 1, where a command could not even begin.
        if process.returncode not in fine or (process.returncode and not said):
            last = [x.decode("utf-8", "replace")[-MOST_SAID:] for x in (said, errors)]
            raise RuntimeError("\n".join((f"{what} has failed", *last)))
        return said


class Learner:
    """Trains when it is asked to, one model at a time.

    answers (Answers), training (Training): On what, and how.
    first (Path): The model that is used until one was trained.
    folder (Path): The last model that was trained is kept in it.
    wait_seconds (float): From being asked until it begins; annotations that come until
        then are in, those that come later are in the next one.
    use (Callable): Called with the folder of a whole model, in a thread.

    status (Dict[str, Any]): How many models were trained, what went wrong last, how
        many annotations the last model was trained without, and why. Quotes no texts.
    """

    def __init__(
        self,
        answers: Answers,
        training: Training,
        first: Path,
        folder: Path,
        wait_seconds: float,
        use: Callable[[Path], None],
    ) -> None:
        self._answers, self._training, self._first = answers, training, first
        self._folder, self._wait_seconds, self._use = folder, wait_seconds, use
        self._is_asked = asyncio.Event()
        self.status: dict[str, Any] = {"n_trained": 0, "error": None}
        self.status |= {"n_left_out": 0, "left_out": []}

    def ask(self) -> None:
        """Train, as soon as the training that runs has ended."""
        self._is_asked.set()

    def newest(self) -> Path | None:
        """Returns the last model that was trained."""
        return max(self._folder.glob("model-*"), default=None)

    async def learn_for_ever(self) -> None:
        """Whatever fails, the model in use stays."""
        while True:
            await self._is_asked.wait()
            await asyncio.sleep(self._wait_seconds)
            self._is_asked.clear()
            try:
                made = await self._learn()
                self.status = {
                    "n_trained": self.status["n_trained"] + 1,
                    "error": None,
                    "n_left_out": made.n_left_out,
                    "left_out": made.without_quotes(),
                }
            except Exception as error:
                # What a command has said may quote texts: it is for the log alone.
                self.status["error"] = str(error).partition("\n")[0]
                log.error("no new model: %s: %s", type(error).__name__, error)

    async def _learn(self) -> Converted:
        """Train with the annotations that can be used, and use the model, unless the
        present one is better on held-out documents."""
        work = self._folder / "work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        n_answers = self._answers.copy_to(work / "answers")
        if not n_answers:
            raise RuntimeError("there are no annotations")
        made = await self._training.convert(work / "answers", work)
        if not made.n_used:
            what = f"0 of {n_answers} annotations can be used"
            first = f"{what}: {'; '.join(made.without_quotes())}"
            raise RuntimeError("\n".join((first, *made.reasons)))
        trained = await self._training.run(work, made.labels)
        before = self.newest()
        pair, file = (before or self._first, trained), work / "scores.json"
        old, new = [await self._training.score(model, file) for model in pair]
        if new < old - self._training.most_lost:
            raise RuntimeError(
                f"the model in use stays: F1 {100 * old:.1f} on {self._training.dev}; "
                f"trained with {made.n_used} annotations it was {100 * new:.1f}"
            )
        await asyncio.to_thread(self._use, trained)
        number = 1 if before is None else 1 + int(before.name.partition("-")[2])
        os.replace(trained, self._folder / f"model-{number:06}")
        for done in filter(None, (before, work)):
            shutil.rmtree(done, ignore_errors=True)
        what = "a model trained with %d of %d annotations is in use"
        log.info(what, made.n_used, n_answers)
        if made.n_left_out:
            reasons = "\n".join(made.reasons)
            log.warning("left out: %d annotations\n%s", made.n_left_out, reasons)
        return made
