"""The peer of hosemi in `accuracy.py`: a linear chain of python-crfsuite."""

from __future__ import annotations

import itertools
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
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
    as_scores,
    call,
    entity_component,
    fresh_docs,
    measured,
    size_mb,
    tokens_per_second,
)
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import load_model
from tqdm import tqdm

PEER_C1 = (0.0, 0.05, 0.2)
PEER_C2 = (0.03, 0.1, 0.3)
PEER_FOLDS = 3

Tags = list[str]
Spans = set[tuple[int, int, str]]


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


def peer_data(nlp: Language, path: Path) -> PeerData:
    """Read the features that hosemi reads, and the gold as BIO tags."""
    import pycrfsuite

    name = entity_component(nlp)
    component: Any = nlp.get_pipe(name)
    docs, references = fresh_docs(nlp, name, path)
    data = PeerData([], [], 0)
    for doc, reference in zip(docs, references, strict=True):
        if [t.text for t in doc] != [t.text for t in reference]:
            sys.exit("the peer needs the tokens of the data; this config has others")
        tags = bio_tags(reference)
        if tags is None:
            data.n_left_out += 1
            continue
        data.items.append(pycrfsuite.ItemSequence(component.token_features(doc)))
        data.tags.append(tags)
    return data


def train_crfsuite(
    items: Sequence[Any], tags: Sequence[Tags], c1: float, c2: float, path: str
) -> None:
    """Train a linear chain by L-BFGS, with its defaults but all tag transitions."""
    import pycrfsuite

    params = {"c1": c1, "c2": c2, "feature.possible_transitions": True}
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


def choose_peer(model: str, train_path: str, dev_path: str, report: str) -> None:
    """Choose c1 and c2 (called in a process of its own).

    model (str): A pipeline with the component whose features are read.
    train_path (str): .spacy file.
    dev_path (str): .spacy file; "" for cross-validation on train.
    report (str): JSON file to write: the F1 of each pair, and the best pair.
    """
    nlp = load_model(model)
    data = peer_data(nlp, Path(train_path))
    everything = range(len(data.tags))
    if dev_path:
        dev = peer_data(nlp, Path(dev_path))
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
    model: str, train_path: str, c1: str, c2: str, path: str, report: str
) -> None:
    """Read features and train the chain on all of train (in a process of its own).

    path (str): Where CRFsuite writes its model.
    report (str): JSON file to write: CPU seconds, and documents left out.
    """
    nlp = load_model(model)
    began = time.process_time()
    data = peer_data(nlp, Path(train_path))
    read = time.process_time()
    train_crfsuite(data.items, data.tags, float(c1), float(c2), path)
    fitted = time.process_time()
    seconds = {"features_cpu_s": read - began, "fit_cpu_s": fitted - read}
    Path(report).write_text(json.dumps({**seconds, "n_left_out": data.n_left_out}))


def set_entities(doc: Doc, spans: Iterable[tuple[int, int, str]]) -> Sequence[Span]:
    """Write spans as the entities of a doc."""
    doc.set_ents([Span(doc, start, end, label) for start, end, label in spans])
    return doc.ents


def peer_scores(nlp: Language, name: str, tagger: Any, path: Path) -> Scores:
    """Score the chain by the scorer of the component it is compared with."""
    component: Any = nlp.get_pipe(name)
    examples = []
    for doc, reference in zip(*fresh_docs(nlp, name, path), strict=True):
        set_entities(doc, spans_of_tags(tagger.tag(component.token_features(doc))))
        examples.append(Example(doc, reference))
    return as_scores(component.score(examples))


def peer_speed(nlp: Language, name: str, tagger: Any, path: Path) -> list[float]:
    """Tokens per CPU second, reading features included, and with features ready."""
    import pycrfsuite

    component: Any = nlp.get_pipe(name)

    def from_doc(doc: Doc) -> None:
        set_entities(doc, spans_of_tags(tagger.tag(component.token_features(doc))))

    def from_items(pair: tuple[Doc, Any]) -> None:
        set_entities(pair[0], spans_of_tags(tagger.tag(pair[1])))

    def ready() -> list[tuple[Doc, Any]]:
        docs = fresh_docs(nlp, name, path)[0]
        features = map(component.token_features, docs)
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
    given: Sequence[float] | None,
    use_dev: bool = True,
) -> PeerSettings:
    """Choose c1 and c2, unless they are given.

    model (Path): The pipeline whose component's features are read.
    splits (Splits): The data it was trained on; dev decides if it is not of train.
    quiet (bool): Do not show what the process prints.
    given (Optional[Sequence[float]]): c1 and c2; by default they are chosen.
    use_dev (bool): False: dev does not decide in any case.
    RETURNS (PeerSettings): The best on dev, or by cross-validation on train.
    """
    if given is not None:
        return PeerSettings(given[0], given[1], "as given")
    report = splits.folder / "peer.json"
    dev = splits.dev if use_dev and not splits.dev_is_train else ""
    measured(call(choose_peer, model, splits.train, dev, report), quiet)
    choice = json.loads(report.read_text())
    how = f"{PEER_FOLDS}-fold cross-validation on train" if not dev else "dev"
    tried = ", ".join(f"{key}: {100 * f1:.2f}" for key, f1 in choice["f1s"].items())
    source = f"chosen by F1 on {how} ({tried})"
    return PeerSettings(choice["c1"], choice["c2"], source)


@dataclass
class Peer:
    """A trained chain, and what training it took."""

    path: Path
    usage: Usage
    seconds: dict[str, float]  # what `train_peer` reports

    def scores(self, nlp: Language, test: Path) -> Scores:
        """Its scores on a .spacy file; nlp gives the features."""
        return peer_scores(nlp, entity_component(nlp), open_crfsuite(self.path), test)


def fit_peer(model: Path, splits: Splits, settings: PeerSettings, quiet: bool) -> Peer:
    """Train CRFsuite on train, in a process of its own.

    model (Path): The pipeline whose component's features are read.
    RETURNS (Peer): The chain, in the folder of the splits.
    """
    path = splits.folder / "peer.crfsuite"
    report = splits.folder / "peer.json"
    c1, c2 = str(settings.c1), str(settings.c2)
    usage = measured(call(train_peer, model, splits.train, c1, c2, path, report), quiet)
    return Peer(path, usage, json.loads(report.read_text()))


def check_features(nlp: Language) -> None:
    """Make sure that there are features which CRFsuite can read."""
    name = entity_component(nlp)
    if not hasattr(nlp.get_pipe(name), "token_features"):
        sys.exit(f"the peer reads the features of hosemi; {name} has none")


def measure_peer(
    model: Path, splits: Splits, quiet: bool, given: Sequence[float] | None
) -> Figures:
    """Choose, train and measure CRFsuite on the features of a trained hosemi.

    model (Path): The pipeline whose component's features are read.
    splits (Splits): The data it was trained on.
    quiet (bool): Do not show what the processes print.
    given (Optional[Sequence[float]]): c1 and c2; by default they are chosen.
    RETURNS (Figures): What was measured.
    """
    nlp = load_model(model)
    check_features(nlp)
    name = entity_component(nlp)
    chosen = peer_settings(model, splits, quiet, given)
    peer = fit_peer(model, splits, chosen, quiet)
    tagger = open_crfsuite(peer.path)
    speed, speed_ready = peer_speed(nlp, name, tagger, splits.test)
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
