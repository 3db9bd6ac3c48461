"""Annotations that come in, and the models that are trained on them."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

log = logging.getLogger("label_studio")

# What a command has said, as far as it is kept.
MOST_SAID = 2_000  # characters


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
        """RETURNS (int): How many there are. They may change while copies are read."""
        folder.mkdir()
        paths = [*self.folder.glob("*.json")]
        for path in paths:
            shutil.copy(path, folder)
        return len(paths)


@dataclass(frozen=True)
class Training:
    """How models are trained: by `spacy train`, in a process of its own.

    config (Path): The config.
    train (str): A .spacy file to train on beside the annotations; empty: none.
    dev (Path): A .spacy file to choose settings by, and to score on.
    max_seconds (float): Of a training.
    """

    config: Path
    train: str
    dev: Path
    max_seconds: float

    async def run(self, answers: Path, folder: Path) -> Path:
        """RETURNS (Path): The trained model, within a new folder.

        answers (Path): A folder with exports of Label Studio.
        RAISES (RuntimeError): It has failed, or is late.
        """
        corpus = folder / "train"
        corpus.mkdir()
        if self.train:
            shutil.copy(self.train, corpus / "given.spacy")
        made = corpus / "answers.spacy"
        words = "hosemi", "convert", str(answers), str(made), "--config"
        options = str(self.config), "--format", "label-studio"
        # 1: some annotations have faults; the others are converted.
        await self._spacy(*words, *options, fine=(0, 1))
        if not made.exists():
            raise RuntimeError("no annotation can be used")
        paths = "--paths.train", str(corpus), "--paths.dev", str(self.dev)
        await self._spacy("train", str(self.config), "--output", str(folder), *paths)
        return folder / "model-last"

    async def _spacy(self, *words: str, fine: Sequence[int] = (0,)) -> None:
        what = " ".join(words[:2])
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "spacy", *words),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            waiting = process.communicate()
            said, _ = await asyncio.wait_for(waiting, self.max_seconds)
        except asyncio.TimeoutError:
            late = f"{what} takes more than {self.max_seconds:g} seconds"
            raise RuntimeError(late) from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode not in fine:
            last = said.decode("utf-8", "replace")[-MOST_SAID:]
            raise RuntimeError(f"{what} has failed\n{last}")


class Learner:
    """Trains when it is asked to, one model at a time.

    answers (Answers), training (Training): On what, and how.
    folder (Path): The last model that was trained is kept in it.
    wait_seconds (float): From being asked until it begins; annotations that come until
        then are in, those that come later are in the next one.
    use (Callable): Called with the folder of a whole model, in a thread.

    status (Dict[str, Any]): How many models were trained, and what went wrong last.
    """

    def __init__(
        self,
        answers: Answers,
        training: Training,
        folder: Path,
        wait_seconds: float,
        use: Callable[[Path], None],
    ) -> None:
        self._answers, self._training = answers, training
        self._folder, self._wait_seconds, self._use = folder, wait_seconds, use
        self._is_asked = asyncio.Event()
        self.status: dict[str, Any] = {"n_trained": 0, "error": None}

    def ask(self) -> None:
        """Train, as soon as the training that runs has ended."""
        self._is_asked.set()

    def newest(self) -> Path | None:
        """RETURNS (Optional[Path]): The last model that was trained."""
        return max(self._folder.glob("model-*"), default=None)

    async def learn_for_ever(self) -> None:
        """Whatever fails, the model in use stays."""
        while True:
            await self._is_asked.wait()
            await asyncio.sleep(self._wait_seconds)
            self._is_asked.clear()
            try:
                await self._learn()
                self.status = {"n_trained": self.status["n_trained"] + 1, "error": None}
            except Exception as error:
                # What a command has said may quote texts: it is for the log alone.
                self.status["error"] = str(error).partition("\n")[0]
                log.error("no new model: %s: %s", type(error).__name__, error)

    async def _learn(self) -> None:
        work = self._folder / "work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        n_answers = self._answers.copy_to(work / "answers")
        if not n_answers:
            raise RuntimeError("there are no annotations")
        trained = await self._training.run(work / "answers", work)
        await asyncio.to_thread(self._use, trained)
        before = self.newest()
        number = 1 if before is None else 1 + int(before.name.partition("-")[2])
        os.replace(trained, self._folder / f"model-{number:06}")
        for done in filter(None, (before, work)):
            shutil.rmtree(done, ignore_errors=True)
        log.info("a model trained with %d annotations is in use", n_answers)
