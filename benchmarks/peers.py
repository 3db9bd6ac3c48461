"""The peers of hosemi: linear chains of python-crfsuite, by what they read.

crfsuite            the token features of a trained hosemi, those of lists included
crfsuite-no-lists   the same without those of lists
crfsuite-plain      what one would write by hand, see `plain_features.py`

They learn from the documents that hosemi learns from, all of them, on the same tokens
but for whitespace. CRFsuite must know the tag of each token: where one is not known, be
it that annotation is missing or that a gold span begins or ends inside the token, a
document is learnt from in parts, before and behind such tokens. The features of a part
are those of the whole document.
"""

from __future__ import annotations

import importlib.util
import itertools
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import training
from harness import SEED, Timed, folds, take_turns
from plain_features import plain_features
from processes import Usage, in_process
from scores import f1, scores_of
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import load_model

from spacy_hosemi.labels.alignment import read_annotations

PEERS = ("crfsuite", "crfsuite-no-lists", "crfsuite-plain")
# Penalties that are tried: each c1, and twice the highest while that is best, with a c2
# of .03, and with lower and higher half powers of ten as long as F1 rises. So no best
# one is at an edge. Trials have a wider tolerance than the last fit, as ours have.
C1 = [0.0, 0.05, 0.1]
MIDDLE = -3  # of the half powers: .03
DELTA = 1e-3
N_FOLDS = 3

Tags = list[str]
Spans = set[tuple[int, int, str]]
Features = list[list[str]]


def feature_reader(nlp: Language, peer: str) -> Callable[[Doc, bool], Features]:
    """Returns what a peer reads of a doc, by the pipeline with the trained hosemi:
    (doc, whether it is of train) -> features of each token."""
    if importlib.util.find_spec("pycrfsuite") is None:
        sys.exit("CRFsuite is not installed: pip install python-crfsuite")
    if peer == "crfsuite-plain":
        return lambda doc, is_train: plain_features([token.text for token in doc])
    name = training.entity_component(nlp)
    component: Any = nlp.get_pipe(name)
    if not hasattr(component, "token_features"):
        sys.exit(f"{peer} reads the features of hosemi; {name} has none")
    if peer == "crfsuite":
        return component.token_features
    return lambda doc, is_train: [
        [feature for feature in token if not is_of_list(feature)]
        for token in component.token_features(doc, is_train)
    ]


def is_of_list(feature: str) -> bool:
    """Whether a feature such as "cities:IN[-1]=2" reads a list of names; what reads a
    table of words, such as "clusters:PREFIX4=0110", does not."""
    return re.search(":(?!VALUE|PREFIX)", feature.partition("=")[0]) is not None


def read_tags(example: Example) -> list[str | None]:
    """Read the gold of all tokens as BIO tags. A tag is None where it is not known:
    annotation is missing, or a gold span begins or ends inside a token."""
    n_tokens = len(example.predicted)
    (known,) = read_annotations([example])
    unknown = known.unknown(n_tokens).tolist()
    tags: list[str | None] = [None if x else "O" for x in unknown]
    for start, end, label in known.required:
        tags[start:end] = [f"B-{label}", *[f"I-{label}"] * (end - start - 1)]
    return tags


def words_of(doc: Doc) -> list[int]:
    """The tokens that a chain reads: all but whitespace, over which hosemi steps."""
    return [token.i for token in doc if not token.is_space]


def parts_of(doc: Doc, tags: Sequence[str | None]) -> list[tuple[list[int], Tags]]:
    """Cut a document at words of unknown tags. Returns tokens and tags of each part;
    none is empty."""
    runs = itertools.groupby(words_of(doc), lambda i: tags[i] is not None)
    known = [[*tokens] for is_known, tokens in runs if is_known]
    return [(tokens, [tags[i] or "" for i in tokens]) for tokens in known]


def spans_of_tags(tags: Sequence[str]) -> Spans:
    """Read spans from BIO tags; an I that does not continue a span begins one."""
    spans: Spans = set()
    start, label = 0, ""
    for i, tag in enumerate([*tags, "O"]):
        kind, _, name = tag.partition("-")
        if kind == "I" and name == label:
            continue
        if label:
            spans.add((start, i, label))
        start, label = i, name
    return spans


@dataclass
class PeerData:
    """Documents as CRFsuite reads them, see `parts_of`."""

    items: list[Any]  # one pycrfsuite.ItemSequence a part
    tags: list[Tags]
    n_docs: int  # all documents that were read
    n_cut: int  # those with words of unknown tags


def peer_data(
    nlp: Language, peer: str, path: Path, is_train: bool, sample: int | None = None
) -> PeerData:
    """Read features, and the gold as BIO tags; of `sample` documents, drawn by a fixed
    seed. Of documents that hosemi was trained on lists are read as in training, where a
    document is held out from it, too."""
    import pycrfsuite

    read = feature_reader(nlp, peer)
    examples = training.fresh_examples(nlp, training.entity_component(nlp), path)
    if sample is not None and sample < len(examples):
        examples = random.Random(SEED).sample(examples, sample)
    data = PeerData([], [], len(examples), 0)
    for example in examples:
        doc, tags = example.predicted, read_tags(example)
        features = read(doc, is_train)
        for tokens, of_part in parts_of(doc, tags):
            data.items.append(pycrfsuite.ItemSequence([features[i] for i in tokens]))
            data.tags.append(of_part)
        data.n_cut += any(tags[i] is None for i in words_of(doc))
    return data


def train_crfsuite(
    items: Sequence[Any],
    tags: Sequence[Tags],
    c1: float,
    c2: float,
    path: str,
    **others: float,
) -> None:
    """Train a linear chain by L-BFGS, with its defaults but all tag transitions, and
    what `others` say."""
    import pycrfsuite

    params = {"c1": c1, "c2": c2, "feature.possible_transitions": True, **others}
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", params=params, verbose=False)
    for sequence, gold in zip(items, tags, strict=True):
        trainer.append(sequence, gold)
    trainer.train(path)


def open_crfsuite(path: str | Path) -> Any:
    """Open a trained chain."""
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger


def choose(
    model: str,
    peer: str,
    train: str,
    dev: str | None,
    sample: int | None,
    c1s: list[float],
) -> tuple[float, float, dict[str, float]]:
    """Choose c1 and c2 by F1 on the .spacy file dev, or by cross-validation on a sample
    of train (called in a process of its own). Returns the best, and F1 of all."""
    nlp = load_model(model)
    data = peer_data(nlp, peer, Path(train), True, sample)
    pairs = list(zip(data.items, data.tags))
    rounds = list(folds(pairs, N_FOLDS))
    if dev:
        held_out = peer_data(nlp, peer, Path(dev), False)
        rounds = [(pairs, list(zip(held_out.items, held_out.tags)))]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/chosen.crfsuite"

        def score(c1: float, k: int) -> float:
            c2 = float(f"{(1, 3)[k % 2]}e{k // 2}")  # of -3, -2, -1: .03, .1, .3
            tagged, gold = [], []
            for rest, part in rounds:
                items, tags = zip(*rest)
                train_crfsuite(items, tags, c1, c2, path, delta=DELTA)
                tagger = open_crfsuite(path)
                tagged += [spans_of_tags(tagger.tag(x)) for x, _ in part]
                gold += [spans_of_tags(y) for _, y in part]
            found[c1, c2] = f1(tagged, gold)
            return found[c1, c2]

        for c1 in c1s:  # which grows
            f1s = {MIDDLE: score(c1, MIDDLE)}
            for step in (1, -1):
                k = MIDDLE
                while k == MIDDLE or f1s[k] > f1s[k - step]:
                    k += step
                    f1s[k] = score(c1, k)
            if c1 == max(c1s) and max(found, key=lambda x: found[x])[0] == c1 > 0:
                c1s.append(2 * c1)
    c1, c2 = max(found, key=lambda pair: found[pair])
    return c1, c2, {f"c1 {x:g} c2 {y:g}": f for (x, y), f in found.items()}


def fit(
    model: str, peer: str, train: str, c1: float, c2: float, path: str
) -> dict[str, float]:
    """Read features and train the chain on all of train (in a process of its own).
    Returns CPU seconds, and numbers of documents as in `PeerData`."""
    nlp = load_model(model)
    began = time.process_time()
    data = peer_data(nlp, peer, Path(train), True)
    read = time.process_time()
    train_crfsuite(data.items, data.tags, c1, c2, path)
    seconds = {"features": read - began, "fit": time.process_time() - read}
    return {**seconds, "n_docs": data.n_docs, "n_cut": data.n_cut}


@dataclass
class Peer:
    """A trained chain of `PEERS` in CRFsuite's file, with the pipeline whose
    component's features it reads, what training cost (as `fit` returns it), where c1
    and c2 come from, and the CPU seconds that choosing them took."""

    name: str
    nlp: Language
    path: Path
    usage: Usage
    cost: dict[str, float]
    c1: float
    c2: float
    source: str
    choosing: float = 0.0

    def annotate(self, doc: Doc) -> Sequence[Span]:
        """Set the entities of a doc."""
        words, features = words_of(doc), self.read(doc, False)
        tags = self.tagger.tag([features[i] for i in words])
        spans = [
            Span(doc, words[start], words[end - 1] + 1, label)
            for start, end, label in spans_of_tags(tags)
        ]
        doc.set_ents(spans)
        return doc.ents

    def __post_init__(self) -> None:
        self.tagger = open_crfsuite(self.path)
        self.read = feature_reader(self.nlp, self.name)

    def scores(self, test: Path) -> dict[str, dict[str, float]]:
        """Scores on a .spacy file, see `scores_of`."""
        return scores_of(self.predicted(test))

    def predicted(self, test: Path) -> list[Example]:
        """The documents of a .spacy file, with predicted entities."""
        name = training.entity_component(self.nlp)
        examples = training.fresh_examples(self.nlp, name, test)
        for example in examples:
            self.annotate(example.predicted)
        return examples

    def speed(self, test: Path, n_tokens: int) -> float:
        """Tokens per CPU second, the best of three passes."""
        name = training.entity_component(self.nlp)
        timed = Timed(
            lambda docs: [self.annotate(doc) for doc in docs],
            lambda: training.fresh_docs(self.nlp, name, test),
        )
        return n_tokens / min(take_turns({"": timed})[""])


def fit_peer(
    model: Path,
    splits: training.Splits,
    name: str = "crfsuite",
    given: Iterable[float] | None = None,
    sample: int | None = None,
    use_dev: bool = True,
) -> Peer:
    """Choose c1 and c2 unless they are given, on dev or on at most `sample` documents
    of train, and train CRFsuite on train."""
    nlp = load_model(model)
    feature_reader(nlp, name)  # exits, if there is nothing to read
    source, seconds = "as given", 0.0
    if given is None:
        dev = splits.dev if use_dev and not splits.dev_is_train else None
        args = model, name, splits.train, dev, sample, C1
        (*given, f1s), chosen = in_process(choose, *args)
        seconds = chosen.cpu_s
        how = "dev" if dev else f"{N_FOLDS}-fold cross-validation on train"
        how += f", with at most {sample} documents of train" if sample else ""
        tried = ", ".join(f"{key}: {value:.2f}" for key, value in f1s.items())
        source = f"chosen by F1 on {how} ({tried})"
    c1, c2 = given
    path = splits.folder / f"{name}.model"
    cost, usage = in_process(fit, model, name, splits.train, c1, c2, path)
    return Peer(name, nlp, path, usage, cost, c1, c2, source, seconds)
