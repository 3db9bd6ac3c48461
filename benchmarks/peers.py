"""The peers of hosemi: linear chains of python-crfsuite, by what they read.

crfsuite            the token features of a trained hosemi, those of lists included
crfsuite-no-lists   the same without those of lists
crfsuite-plain      what one would write by hand, see `plain_features.py`
"""

from __future__ import annotations

import itertools
import json
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measuring import (
    N_PASSES,
    SEED,
    Figures,
    Scores,
    Splits,
    Usage,
    call,
    measured,
    size_mb,
    tokens_per_second,
)
from plain_features import plain_features
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import load_model
from tqdm import tqdm
from training import as_scores, entity_component, fresh_docs

PEERS = ("crfsuite", "crfsuite-no-lists", "crfsuite-plain")
PEER_C1 = (0.0, 0.05, 0.2)
PEER_C2 = (0.03, 0.1, 0.3)
PEER_FOLDS = 3

Tags = list[str]
Spans = set[tuple[int, int, str]]
Features = list[list[str]]


@dataclass(frozen=True)
class PeerOptions:
    """Which peer, and where its c1 and c2 come from.

    name (str): One of `PEERS`.
    given (Optional[Sequence[float]]): c1 and c2; by default they are chosen.
    sample (Optional[int]): Choose them on so many documents of train.
    """

    name: str = "crfsuite"
    given: Sequence[float] | None = None
    sample: int | None = None


def feature_reader(nlp: Language, peer: str) -> Callable[[Doc, bool], Features]:
    """What a peer reads of a doc.

    nlp (Language): The pipeline with the trained hosemi.
    peer (str): One of `PEERS`.
    RETURNS (Callable): (doc, whether it is of train) -> features of each token.
    """
    if peer == "crfsuite-plain":
        return lambda doc, is_train: plain_features([token.text for token in doc])
    name = entity_component(nlp)
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


def bio_tags(doc: Doc) -> Tags | None:
    """Write the entities of a doc as BIO tags; None where some token's is not known."""
    if any(token.ent_iob == 0 for token in doc):
        return None
    return [f"{t.ent_iob_}-{t.ent_type_}" if t.ent_type else "O" for t in doc]


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
    """Documents as CRFsuite reads them; those with unknown tags are left out."""

    items: list[Any]  # one pycrfsuite.ItemSequence a document
    tags: list[Tags]
    n_left_out: int


def peer_data(
    nlp: Language, peer: str, path: Path, is_train: bool, sample: int | None = None
) -> PeerData:
    """Read features, and the gold as BIO tags.

    is_train (bool): Whether path holds what hosemi was trained on. Then lists are read
        as in training, where a document is held out from it, too: it has made entries.
    sample (Optional[int]): Read so many documents only, drawn by a fixed seed.
    """
    import pycrfsuite

    read = feature_reader(nlp, peer)
    docs, references = fresh_docs(nlp, entity_component(nlp), path)
    pairs = list(zip(docs, references, strict=True))
    if sample is not None and sample < len(pairs):
        pairs = random.Random(SEED).sample(pairs, sample)
    data = PeerData([], [], 0)
    for doc, reference in pairs:
        if [t.text for t in doc] != [t.text for t in reference]:
            sys.exit("the peer needs the tokens of the data; this config has others")
        tags = bio_tags(reference)
        if tags is None:
            data.n_left_out += 1
            continue
        data.items.append(pycrfsuite.ItemSequence(read(doc, is_train)))
        data.tags.append(tags)
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


def span_counts(tagger: Any, items: Sequence[Any], tags: Sequence[Tags]) -> Counter:
    """Count right, predicted and gold spans."""
    counts: Counter[str] = Counter()
    for sequence, gold_tags in zip(items, tags, strict=True):
        gold, found = spans_of_tags(gold_tags), spans_of_tags(tagger.tag(sequence))
        counts.update(right=len(gold & found), found=len(found), gold=len(gold))
    return counts


def choose_peer(
    model: str, peer: str, train_path: str, dev_path: str, sample: str, report: str
) -> None:
    """Choose c1 and c2 (called in a process of its own).

    model (str): A pipeline with the component whose features are read.
    peer (str): One of `PEERS`.
    train_path (str): .spacy file.
    dev_path (str): .spacy file; "" for cross-validation on train.
    sample (str): How many documents of train to read; "" for all.
    report (str): JSON file to write: the F1 of each pair, and the best pair.
    """
    nlp = load_model(model)
    n_docs = int(sample) if sample else None
    data = peer_data(nlp, peer, Path(train_path), True, n_docs)
    everything = range(len(data.tags))
    if dev_path:
        dev = peer_data(nlp, peer, Path(dev_path), False)
        rounds = [(data.items, data.tags, dev.items, dev.tags)]
    else:
        order = random.Random(SEED).sample(everything, len(everything))
        rounds = []
        for fold in range(PEER_FOLDS):
            held_out = set(order[fold::PEER_FOLDS])
            rest = [i for i in everything if i not in held_out]
            rounds.append(
                (
                    [data.items[i] for i in rest],
                    [data.tags[i] for i in rest],
                    [data.items[i] for i in sorted(held_out)],
                    [data.tags[i] for i in sorted(held_out)],
                )
            )
    f1s: dict[tuple[float, float], float] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/chosen.crfsuite"
        for c1, c2 in tqdm(list(itertools.product(PEER_C1, PEER_C2)), desc="c1, c2"):
            counts: Counter[str] = Counter()
            for items, tags, test_items, test_tags in rounds:
                train_crfsuite(items, tags, c1, c2, path)
                counts += span_counts(open_crfsuite(path), test_items, test_tags)
            sizes = counts["found"] + counts["gold"]
            f1s[c1, c2] = 2 * counts["right"] / sizes if sizes else 0.0
    c1, c2 = max(f1s, key=lambda pair: f1s[pair])
    table = {f"c1 {c1:g} c2 {c2:g}": f1 for (c1, c2), f1 in f1s.items()}
    Path(report).write_text(json.dumps({"c1": c1, "c2": c2, "f1s": table}))


def train_peer(
    model: str, peer: str, train_path: str, c1: str, c2: str, path: str, report: str
) -> None:
    """Read features and train the chain on all of train (in a process of its own).

    peer (str): One of `PEERS`.
    path (str): Where CRFsuite writes its model.
    report (str): JSON file to write: CPU seconds, and documents left out.
    """
    nlp = load_model(model)
    began = time.process_time()
    data = peer_data(nlp, peer, Path(train_path), True)
    read = time.process_time()
    train_crfsuite(data.items, data.tags, float(c1), float(c2), path)
    fitted = time.process_time()
    seconds = {"features_cpu_s": read - began, "fit_cpu_s": fitted - read}
    Path(report).write_text(json.dumps({**seconds, "n_left_out": data.n_left_out}))


def set_entities(doc: Doc, spans: Iterable[tuple[int, int, str]]) -> Sequence[Span]:
    """Write spans as the entities of a doc."""
    doc.set_ents([Span(doc, start, end, label) for start, end, label in spans])
    return doc.ents


def peer_scores(nlp: Language, peer: str, tagger: Any, path: Path) -> Scores:
    """Score the chain by the scorer of the component it is compared with."""
    name = entity_component(nlp)
    component: Any = nlp.get_pipe(name)
    read = feature_reader(nlp, peer)
    examples = []
    for doc, reference in zip(*fresh_docs(nlp, name, path), strict=True):
        set_entities(doc, spans_of_tags(tagger.tag(read(doc, False))))
        examples.append(Example(doc, reference))
    return as_scores(component.score(examples))


def peer_speed(nlp: Language, peer: str, tagger: Any, path: Path) -> list[float]:
    """Tokens per CPU second, reading features included, and with features ready."""
    import pycrfsuite

    name = entity_component(nlp)
    read = feature_reader(nlp, peer)

    def from_doc(doc: Doc) -> None:
        set_entities(doc, spans_of_tags(tagger.tag(read(doc, False))))

    def from_items(pair: tuple[Doc, Any]) -> None:
        set_entities(pair[0], spans_of_tags(tagger.tag(pair[1])))

    def ready() -> list[tuple[Doc, Any]]:
        docs = fresh_docs(nlp, name, path)[0]
        features = (read(doc, False) for doc in docs)
        return list(zip(docs, map(pycrfsuite.ItemSequence, features), strict=True))

    def fresh() -> list[Doc]:
        return fresh_docs(nlp, name, path)[0]

    n_tokens = sum(map(len, fresh()))
    return [
        tokens_per_second(predict, (inputs() for _ in range(1 + N_PASSES)), n_tokens)
        for predict, inputs in ((from_doc, fresh), (from_items, ready))
    ]


@dataclass
class PeerSettings:
    """What CRFsuite is trained with, and where that comes from."""

    c1: float
    c2: float
    source: str

    def __str__(self) -> str:
        return f"c1 {self.c1:g}, c2 {self.c2:g}, {self.source}"


def peer_settings(
    model: Path,
    splits: Splits,
    quiet: bool,
    options: PeerOptions,
    use_dev: bool = True,
) -> PeerSettings:
    """Choose c1 and c2, unless they are given.

    model (Path): The pipeline whose component's features are read.
    splits (Splits): The data it was trained on; dev decides if it is not of train.
    quiet (bool): Do not show what the process prints.
    options (PeerOptions): The peer, and c1 and c2 if they are given.
    use_dev (bool): False: dev does not decide in any case.
    RETURNS (PeerSettings): The best on dev, or by cross-validation on train.
    """
    if options.given is not None:
        return PeerSettings(*options.given, "as given")
    report = splits.folder / f"{options.name}.json"
    dev = splits.dev if use_dev and not splits.dev_is_train else ""
    asked = options.name, splits.train, dev, str(options.sample or ""), report
    measured(call(choose_peer, model, *asked), quiet)
    choice = json.loads(report.read_text())
    how = f"{PEER_FOLDS}-fold cross-validation on train" if not dev else "dev"
    if options.sample:
        how += f", with at most {options.sample} documents of train"
    tried = ", ".join(f"{key}: {100 * f1:.2f}" for key, f1 in choice["f1s"].items())
    source = f"chosen by F1 on {how} ({tried})"
    return PeerSettings(choice["c1"], choice["c2"], source)


@dataclass
class Peer:
    """A trained chain, and what training it took."""

    name: str
    path: Path
    usage: Usage
    seconds: dict[str, float]  # what `train_peer` reports

    def scores(self, nlp: Language, test: Path) -> Scores:
        """Its scores on a .spacy file; nlp gives the features."""
        return peer_scores(nlp, self.name, open_crfsuite(self.path), test)


def fit_peer(
    model: Path, name: str, splits: Splits, settings: PeerSettings, quiet: bool
) -> Peer:
    """Train CRFsuite on train, in a process of its own.

    model (Path): The pipeline whose component's features are read.
    name (str): One of `PEERS`.
    RETURNS (Peer): The chain, in the folder of the splits.
    """
    path = splits.folder / f"{name}.model"
    report = splits.folder / f"{name}.json"
    asked = str(settings.c1), str(settings.c2), path, report
    usage = measured(call(train_peer, model, name, splits.train, *asked), quiet)
    return Peer(name, path, usage, json.loads(report.read_text()))


def measure_peer(
    model: Path, splits: Splits, quiet: bool, options: PeerOptions
) -> Figures:
    """Choose, train and measure a peer of a trained hosemi.

    model (Path): The pipeline whose component's features are read.
    splits (Splits): The data it was trained on.
    quiet (bool): Do not show what the processes print.
    options (PeerOptions): The peer, and c1 and c2 if they are given.
    RETURNS (Figures): What was measured.
    """
    nlp = load_model(model)
    feature_reader(nlp, options.name)  # exits, if there is nothing to read
    chosen = peer_settings(model, splits, quiet, options)
    peer = fit_peer(model, options.name, splits, chosen, quiet)
    tagger = open_crfsuite(peer.path)
    speed, speed_ready = peer_speed(nlp, peer.name, tagger, splits.test)
    settings = str(chosen)
    if peer.seconds["n_left_out"]:
        settings += f"; {peer.seconds['n_left_out']} docs with unknown tags left out"
    return Figures(
        scores=peer.scores(nlp, splits.test),
        training_cpu_s=peer.usage.cpu_s,
        features_cpu_s=peer.seconds["features_cpu_s"],
        fit_cpu_s=peer.seconds["fit_cpu_s"],
        training_wall_s=peer.usage.wall_s,
        training_peak_mb=peer.usage.peak_mb,
        tokens_per_cpu_s=speed,
        tokens_per_cpu_s_features_ready=speed_ready,
        model_mb=size_mb(peer.path),
        settings=settings,
    )
