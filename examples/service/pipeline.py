"""The pipeline that is served: it is loaded beside the one in use, and replaces it."""

from __future__ import annotations

import ctypes
import gc
import logging
import shutil
import tempfile
import threading
import time
import weakref
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from spacy.language import Language

import spacy_hosemi
from spacy_hosemi.component.fingerprint import guarantee_in_force
from spacy_hosemi.component.training_summary import TrainingSummary
from spacy_hosemi.prediction.guarantee import Guarantee
from spacy_hosemi.saving import digest_of

log = logging.getLogger("service")

_M_ARENA_MAX = -8  # see mallopt(3)
# Seconds to wait for requests that use a pipeline that was replaced.
PATIENCE = 10.0


@dataclass(frozen=True)
class Loaded:
    """A pipeline in memory.

    folder (Path): A copy of our own, so that what happens to the original does not
        matter until somebody asks for a reload.
    n_strings (int): Strings that its vocabulary had when it was loaded.
    guarantee (Optional[Guarantee]): What `hosemi guarantee` has promised of it.
    facts (Optional[TrainingSummary]): By which texts are known that are no records.
    """

    nlp: Language
    folder: Path
    digest: str
    n_strings: int
    guarantee: Guarantee | None = None
    facts: TrainingSummary | None = None

    @property
    def n_new_strings(self) -> int:
        """What texts have left in the vocabulary: about 1 KB each."""
        return len(self.nlp.vocab.strings) - self.n_strings

    def describe(self) -> dict[str, str]:
        """Returns which model it is."""
        meta = self.nlp.meta
        name = f"{meta['lang']}_{meta['name']}"
        return {"name": name, "version": meta["version"], "digest": self.digest}


def load(source: Path) -> Loaded:
    """Copy a saved pipeline, load the copy, and use it once. Raises an exception if it
    cannot be loaded, or has no component of spacy_hosemi."""
    folder = Path(tempfile.mkdtemp(prefix="service-"))
    try:
        shutil.copytree(source, folder, dirs_exist_ok=True)
        nlp = spacy_hosemi.load(folder)
        own = [
            pipe
            for _, pipe in nlp.pipeline
            if isinstance(pipe, spacy_hosemi.HighOrderSemiCRF)
        ]
        if not own:
            raise ValueError(f"no component of spacy_hosemi in {nlp.pipe_names}")
        for pipe in own:
            pipe.confidence = True  # computed with the prediction
        nlp("The first text costs more than others.")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(nlp, shutil.rmtree, folder, ignore_errors=True)
    promises = [
        (guarantee_in_force(x), x.facts) for x in own if x.guarantee is not None
    ]
    promise = next((pair for pair in promises if pair[0] is not None), (None, None))
    return Loaded(nlp, folder, digest_of(folder), len(nlp.vocab.strings), *promise)


class ServedPipeline:
    """Has the pipeline in use. Its methods may be called by any thread.

    source (Path): The folder of a saved pipeline.

    current (Optional[Loaded]): In use; None before the first one is loaded. Who works
        with it keeps it until the work is done.
    """

    def __init__(self, source: Path) -> None:
        self.source = source
        self.current: Loaded | None = None
        self._one_at_a_time = threading.Lock()

    def reload(self) -> Loaded:
        """Use what is in the folder now. RAISES (Exception): As `load`; the pipeline in
        use stays."""
        with self._one_at_a_time:
            return self._use(self.source)

    def renew(self) -> None:
        """Use the same pipeline, without the words that its vocabulary has met. spaCy
        keeps each word of each text, and a `memory_zone` is not for threads."""
        if not self._one_at_a_time.acquire(blocking=False):
            return  # another one is coming anyway
        try:
            if self.current is not None:
                n_strings = self.current.n_new_strings
                self._use(self.current.folder)
                log.info("renewed the vocabulary after %d strings", n_strings)
        finally:
            self._one_at_a_time.release()

    def close(self) -> None:
        """Remove the copy: a signal may end the process without any tidying up."""
        if self.current is not None:
            shutil.rmtree(self.current.folder, ignore_errors=True)

    def _use(self, source: Path) -> Loaded:
        old = (lambda: None) if self.current is None else weakref.ref(self.current)
        self.current = found = load(source)
        until = time.monotonic() + PATIENCE
        while old() is not None and time.monotonic() < until:
            time.sleep(0.01)  # requests that run still use it
        give_back_memory()
        return found


def use_one_arena() -> None:
    """With glibc each thread takes memory from an arena of its own, and does not get
    what lies free in another one: threads that take turns would add that up. To be
    called before there are threads."""
    with suppress(OSError, AttributeError, TypeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def give_back_memory() -> None:
    """Give what a replaced pipeline had to the system. It refers to itself, so that
    nothing but a collection frees it."""
    gc.collect()
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
