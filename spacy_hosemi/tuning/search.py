"""The search for settings, from documents to a config."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc

from ..component.pipe import HighOrderSemiCRF
from ..errors import Errors
from ..inspection.corpus import as_examples, labels_in
from ..labels.alignment import labels_of
from ..training.data_checks import check_fit, check_reach
from .halving import Halving, Round, sizes
from .judging import Judging, Stopped
from .menu import Changes, broad, fine
from .written import chosen, note_of, write

# Of the first round: a candidate takes seconds there, and less tells nothing.
LEAST_TOKENS, LEAST_DOCUMENTS = 3_000, 60
# Each fold needs a document.
MIN_DOCUMENTS = 3


class Search:
    """A search for the best settings on a corpus.

    nlp (Language): The pipeline of the config to begin with.
    pipe (HighOrderSemiCRF): Its component that is tuned.
    docs (Sequence[Doc]): Annotated documents to train on.
    seconds (float): That it may take.
    seed (int): The same documents and the same seed have the same result, if the time
        suffices.
    path (Optional[Path]): A file that has what was judged, and from which a search goes
        on.
    RAISES (ValueError): HS050, HS051, HS156 nothing can be trained; HS254 the config
        has no fit by L-BFGS; HS331 too few documents; HS333 the file is of another
        search.

    contest (Halving): The candidates, and how they were judged.
    n_documents (int): That there are.
    is_stopped (bool): Whether the time or Ctrl-C ended it before all was judged.
    """

    def __init__(
        self,
        nlp: Language,
        pipe: HighOrderSemiCRF,
        docs: Sequence[Doc],
        seconds: float,
        seed: int = 0,
        path: Path | None = None,
    ) -> None:
        self._name, self._ends = pipe.name, time.monotonic() + seconds
        _check(docs, nlp)
        args = docs, seed, lambda: self.is_over, path
        self._judge = Judging(nlp, pipe.name, *args)
        docs = self._judge.docs
        self.n_documents = len(docs)
        self._block = nlp.config.interpolate()["components"][pipe.name]
        of_docs = [len(doc) for doc in docs], [len(doc.ents) for doc in docs]
        n_documents = sizes(*of_docs, LEAST_TOKENS, LEAST_DOCUMENTS)
        self.contest = Halving(broad(self._block), n_documents, self._variants, seed)
        self.is_stopped = False

    def steps(self) -> Iterator[Round]:
        """Judge candidates, to the end, the end of the time, or Ctrl-C.

        YIELDS (Round): When a round begins, and after each judgement.
        RAISES (ValueError): HS332 the config itself cannot be trained.
        """
        try:
            for one in self.contest.steps(self._judge):
                first = one.judged[0] if one.judged else None
                if first is not None and first.trial is None:
                    raise ValueError(Errors.HS332.format(reason=first.reason))
                yield one
        except (Stopped, KeyboardInterrupt):
            self.is_stopped = True

    def write(self, text: str) -> str:
        """Write the best config so far; there must be one.

        text (str): The config to begin with.
        RETURNS (str): The same with other settings, and a note.
        """
        one, best = self.contest.decisive, self.contest.best
        assert one is not None and best is not None and best.trial is not None
        has_all = one.n_documents == self.n_documents
        changes = {**best.changes, **chosen(best.trial)}
        # A penalty that is best on a part of the documents is too strong for all.
        l2 = best.trial.l2 if has_all else "auto"
        note = note_of(best, one.judged[0], one.n_documents, self.n_documents)
        return write(text, self._name, changes, l2, note)

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self._ends

    def _variants(self, changes: Changes) -> list[Changes]:
        return fine(self._block, changes)


def _check(docs: Sequence[Doc], nlp: Language) -> None:
    """Refuse at once what training would refuse."""
    examples = as_examples(docs, nlp)
    annotations = labels_in(examples)
    check_fit(examples, bool(labels_of(annotations)))
    check_reach(examples, annotations)
    n = len({doc.text for doc in docs if doc.ents})
    if n < MIN_DOCUMENTS:
        raise ValueError(Errors.HS331.format(found=n, expected=MIN_DOCUMENTS))
