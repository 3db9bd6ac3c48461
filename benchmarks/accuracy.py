"""How exact a config is on a data set, and what it costs.

    python benchmarks/accuracy.py ../data/cora
    python benchmarks/accuracy.py ../data/cora --peer crfsuite
    python benchmarks/accuracy.py ../data/cora --cv 3 --repeats 2 \\
        --overrides components.hosemi.max_order=3

The folder holds train.jsonl, test.jsonl and, where there is one, dev.jsonl, in a form
that `corpus/convert.py` reads. The config is trained by `spacy train` in a process of
its own, on one thread, and its model applied to test. What is printed:

- Precision, recall and F1 of entities, in per cent: a span counts where start, end and
  label are right. By the scorer of the config, as `spacy benchmark accuracy` does.
- Training, CPU s: user and system time of the whole process, imports and reading
  included; "of which fit" is what batch training says of itself.
- Peak memory: the largest resident size of that process. MB are 10^6 bytes everywhere.
- Tokens per CPU s: from a `Doc` to its `doc.ents`, one at a time, by the component
  alone, on fresh docs; the best of three passes after a warm-up.
- Model on disk: the saved pipeline.

`--peer crfsuite` does the same with a linear chain of python-crfsuite: BIO tags, the
same features of each token, the same scorer. Its c1 and c2 are those with the highest
micro-F1 on dev, or by 3-fold cross-validation on train where there is no dev; then it
is trained on all of train, as the config is. For the peer the features are made as
strings, by plain Python; "features ready" leaves out making them and CRFsuite's items.

`--cv K` never reads test: train is cut into K parts, each tested on once. It serves to
choose settings.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import itertools
import json
import os
import platform
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

# Read by the numerical libraries when they are imported, here and in what is run.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "corpus"))

import spacy
from convert import convert
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Corpus, Example
from thinc.api import Config
from tqdm import tqdm

ROOT = Path(os.path.relpath(Path(__file__).resolve().parents[1]))
SEED = 0
MB = 1e6
N_PASSES = 3
PEER_C1 = (0.0, 0.05, 0.2)
PEER_C2 = (0.03, 0.1, 0.3)
PEER_FOLDS = 3

Tags = list[str]
Spans = set[tuple[int, int, str]]


# --------------------------------------------------------------------- processes


@dataclass
class Usage:
    """What a process used, and what it printed."""

    cpu_s: float
    wall_s: float
    peak_mb: float
    output: str


# A process starts with the peak memory of the one that started it (Linux). So a small
# interpreter stands between this one, which is large, and what is measured.
LAUNCHER = """
import json, os, subprocess, sys, time
began = time.monotonic()
process = subprocess.Popen(sys.argv[2:])
_, status, usage = os.wait4(process.pid, 0)
with open(sys.argv[1], "w") as report:
    json.dump({
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "wall_s": time.monotonic() - began,
        "peak": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
    }, report)
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)
"""


def measured(command: Sequence[str], quiet: bool = False) -> Usage:
    """Run a command and measure it.

    command (Sequence[str]): The program and its arguments.
    quiet (bool): Show what it prints only if it fails; else as it comes, on stderr.
    RETURNS (Usage): Of the process and those it waited for.
    RAISES (SystemExit): The command failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "usage.json"
        launcher = [sys.executable, "-I", "-S", "-c", LAUNCHER, str(report)]
        process = subprocess.Popen(
            [*launcher, *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert process.stdout is not None
        chunks = []
        while chunk := os.read(process.stdout.fileno(), 1 << 16):
            chunks.append(chunk)
            if not quiet:
                sys.stderr.buffer.write(chunk)
                sys.stderr.buffer.flush()
        output = b"".join(chunks).decode(errors="replace")
        if process.wait():
            print(output if quiet else "", file=sys.stderr)
            sys.exit(f"exit code {process.returncode}: {shown_command(command)}")
        usage = json.loads(report.read_text())
    return Usage(usage["cpu_s"], usage["wall_s"], usage["peak"] / MB, output)


def call(function: Callable[..., Any], *args: str | Path) -> list[str]:
    """Write the command that calls a function of a benchmark script by itself."""
    module = Path(sys.modules[function.__module__].__file__ or "")
    code = (
        f"import sys; sys.path.insert(0, sys.argv[1]); import {module.stem}; "
        f"{module.stem}.{function.__name__}(*sys.argv[2:])"
    )
    return [sys.executable, "-c", code, str(module.parent), *map(str, args)]


def shown_command(command: Sequence[str]) -> str:
    """Write a command as one would type it."""
    return shlex.join(["python", *command[1:]])


# -------------------------------------------------------------------------- data


@dataclass
class Splits:
    """One data set in spaCy's format, in a folder.

    `dev_is_train`: there was no dev; what stands there is a tenth of train, so that
    `spacy train` has something to print.
    """

    folder: Path
    train: Path
    dev: Path
    test: Path
    dev_is_train: bool
    n_docs: dict[str, int]
    n_tokens: dict[str, int]


def read_lines(path: Path) -> list[bytes]:
    """Read the lines of a file that are not empty."""
    with open(path, "rb") as lines:
        return [line.rstrip(b"\n") for line in lines if line.strip()]


def shuffled(lines: Sequence[bytes], seed: int) -> list[bytes]:
    """Shuffle by a seed, in a copy."""
    lines = list(lines)
    random.Random(seed).shuffle(lines)
    return lines


def make_splits(
    folder: Path,
    lang: str,
    train: Sequence[bytes],
    dev: Sequence[bytes] | None,
    test: Sequence[bytes],
) -> Splits:
    """Write the lines and convert them.

    folder (Path): Is made.
    lang (str): Tokenizer for lines that hold texts.
    train, dev, test (Sequence[bytes]): JSON lines; dev may be None.
    RETURNS (Splits): The files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parts = {"train": train, "dev": dev, "test": test}
    if dev is None:
        parts["dev"] = shuffled(train, SEED)[: max(1, len(train) // 10)]
    n_docs, n_tokens = {}, {}
    for name, lines in parts.items():
        path = folder / f"{name}.jsonl"
        path.write_bytes(b"".join(line + b"\n" for line in lines or ()))
        docs = convert(path, folder / f"{name}.spacy", lang)
        n_docs[name], n_tokens[name] = len(docs), sum(map(len, docs))
    return Splits(
        folder,
        train=folder / "train.spacy",
        dev=folder / "dev.spacy",
        test=folder / "test.spacy",
        dev_is_train=dev is None,
        n_docs=n_docs,
        n_tokens=n_tokens,
    )


def folds(
    lines: Sequence[bytes], n_folds: int, seed: int
) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """Cut shuffled lines into parts.

    YIELDS (Tuple[List[bytes], List[bytes]]): For each part, the others and the part.
    """
    lines = shuffled(lines, seed)
    for fold in range(n_folds):
        rest = [line for i, line in enumerate(lines) if i % n_folds != fold]
        yield rest, lines[fold::n_folds]


# ------------------------------------------------------------------------- spaCy


def train(
    config: Path, splits: Splits, overrides: Sequence[str], quiet: bool = False
) -> tuple[Path, Usage, list[str]]:
    """Train a config by `spacy train` in a process of its own.

    overrides (Sequence[str]): Each "section.key=value".
    RETURNS (Tuple[Path, Usage, List[str]]): The model, its costs, the command.
    """
    command = [sys.executable, "-m", "spacy", "train", str(config)]
    command += ["--paths.train", str(splits.train), "--paths.dev", str(splits.dev)]
    command += ["--output", str(splits.folder)]
    if splits.dev_is_train and has_end(config):
        command.append("--training.patience=0")  # the scores on dev say nothing
    command += [f"--{override}" for override in overrides]
    usage = measured(command, quiet)
    (splits.folder / "train.log").write_text(usage.output, encoding="utf-8")
    return chosen_model(splits), usage, command


def has_end(config: Path) -> bool:
    """Whether training ends without a look at the scores on dev."""
    training = Config().from_disk(config, interpolate=False)["training"]
    return training["max_steps"] > 0 or training["max_epochs"] > 0


def chosen_model(splits: Splits) -> Path:
    """Choose among the two models that `spacy train` leaves.

    RETURNS (Path): The best on dev; the last after batch training, which has only one
        result, and where dev is a part of train and so no judge.
    """
    last = splits.folder / "model-last"
    config = Config().from_disk(last / "config.cfg", interpolate=False)
    blocks = config["initialize"].get("components", {}).values()
    is_batch = any(block.get("fit") for block in blocks if isinstance(block, dict))
    return last if is_batch or splits.dev_is_train else splits.folder / "model-best"


def fit_seconds(log: str) -> float | None:
    """Find the CPU seconds that batch training prints; None without batch training."""
    found = re.findall(r"([\d.]+) CPU s\b", log)
    return float(found[-1]) if found else None


def entity_component(nlp: Language) -> str:
    """Name the component that is measured: hosemi, or else the last that sets ents."""
    setters = [x for x in nlp.pipe_names if "doc.ents" in nlp.get_pipe_meta(x).assigns]
    hosemi = [x for x in nlp.pipe_names if nlp.get_pipe_meta(x).factory == "hosemi"]
    if not hosemi + setters:
        sys.exit(f"no component of this pipeline sets doc.ents: {nlp.pipe_names}")
    return (hosemi or setters)[-1]


def fresh_docs(nlp: Language, name: str, path: Path) -> tuple[list[Doc], list[Doc]]:
    """Read docs, and let the components before the one that is measured see them.

    nlp (Language): The pipeline.
    name (str): The component that is measured; neither it nor later ones are run.
    path (Path): A .spacy file.
    RETURNS (Tuple[List[Doc], List[Doc]]): Docs without entities, and those of the file.
    """
    examples = list(Corpus(path)(nlp))
    names = nlp.pipe_names
    with nlp.select_pipes(enable=names[: names.index(name)]):
        docs = list(nlp.pipe(example.predicted for example in examples))
    return docs, [example.reference for example in examples]


@dataclass
class Score:
    """Precision, recall and F1, 0 to 1."""

    p: float
    r: float
    f: float


Scores = dict[str, Score]  # by label; "micro" for all of them


def as_scores(found: dict[str, Any]) -> Scores:
    """Take the figures out of what a spaCy scorer returns."""
    by_label = found.get("ents_per_type") or {}
    scores = {label: Score(x["p"], x["r"], x["f"]) for label, x in by_label.items()}
    micro = (found.get(f"ents_{figure}") or 0.0 for figure in "prf")
    return {**scores, "micro": Score(*micro)}


def accuracy(nlp: Language, path: Path) -> Scores:
    """Score a pipeline on a .spacy file."""
    return as_scores(nlp.evaluate(list(Corpus(path)(nlp))))


def gold_counts(nlp: Language, path: Path) -> Counter[str]:
    """Count the entities of a .spacy file by label."""
    references = (example.reference for example in Corpus(path)(nlp))
    return Counter(ent.label_ for doc in references for ent in doc.ents)


def tokens_per_second(
    predict: Callable[[Any], Any], passes: Iterable[Sequence[Any]], n_tokens: int
) -> float:
    """Time a function that is called document by document.

    predict (Callable): Called with each input.
    passes (Iterable): The inputs of each pass, fresh; the first is a warm-up.
    n_tokens (int): In one pass.
    RETURNS (float): Tokens per CPU second of the best pass.
    """
    seconds = []
    for inputs in passes:
        began = time.process_time()
        for document in inputs:
            predict(document)
        seconds.append(time.process_time() - began)
    return n_tokens / min(seconds[1:])


def prediction_speed(nlp: Language, name: str, path: Path) -> float:
    """Tokens per CPU second of a component, from docs to their entities."""
    component = nlp.get_pipe(name)
    passes = (fresh_docs(nlp, name, path)[0] for _ in range(1 + N_PASSES))
    n_tokens = sum(map(len, fresh_docs(nlp, name, path)[0]))
    return tokens_per_second(lambda doc: component(doc).ents, passes, n_tokens)


def size_mb(path: Path) -> float:
    """Size of a file, or of all files in a folder."""
    files = [path] if path.is_file() else [x for x in path.rglob("*") if x.is_file()]
    return sum(file.stat().st_size for file in files) / MB


@dataclass
class Figures:
    """All that is measured of one system; None where it does not apply."""

    scores: Scores
    training_cpu_s: float
    features_cpu_s: float | None
    fit_cpu_s: float | None
    training_wall_s: float
    training_peak_mb: float
    tokens_per_cpu_s: float
    tokens_per_cpu_s_features_ready: float | None
    model_mb: float
    settings: str


def measure_config(
    config: Path, splits: Splits, overrides: Sequence[str], quiet: bool
) -> tuple[Figures, Path]:
    """Train a config, apply it to test and measure both.

    RETURNS (Tuple[Figures, Path]): What was measured, and the model.
    """
    model, usage, command = train(config, splits, overrides, quiet)
    nlp = spacy.load(model)
    name = entity_component(nlp)
    figures = Figures(
        scores=accuracy(nlp, splits.test),
        training_cpu_s=usage.cpu_s,
        features_cpu_s=None,
        fit_cpu_s=fit_seconds(usage.output),
        training_wall_s=usage.wall_s,
        training_peak_mb=usage.peak_mb,
        tokens_per_cpu_s=prediction_speed(nlp, name, splits.test),
        tokens_per_cpu_s_features_ready=None,
        model_mb=size_mb(model),
        settings=f"{name} in {model.name}; {shown_command(command)}",
    )
    return figures, model


# -------------------------------------------------------------------- python-crfsuite


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
    nlp = spacy.load(model)
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
    nlp = spacy.load(model)
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
    nlp = spacy.load(model)
    name = entity_component(nlp)
    if not hasattr(nlp.get_pipe(name), "token_features"):
        sys.exit(f"--peer reads the features of hosemi; {name} has none")
    path = splits.folder / "peer.crfsuite"
    report = splits.folder / "peer.json"
    dev = "" if splits.dev_is_train else splits.dev
    if given is None:
        measured(call(choose_peer, model, splits.train, dev, report), quiet)
        choice = json.loads(report.read_text())
    else:
        choice = {"c1": given[0], "c2": given[1], "f1s": {}}
    c1, c2 = choice["c1"], choice["c2"]
    chain = call(train_peer, model, splits.train, str(c1), str(c2), path, report)
    usage = measured(chain, quiet)
    seconds = json.loads(report.read_text())
    tagger = open_crfsuite(path)
    speed, speed_ready = peer_speed(nlp, name, tagger, splits.test)
    how = f"{PEER_FOLDS}-fold cross-validation on train" if not dev else "dev"
    tried = ", ".join(f"{key}: {100 * f1:.2f}" for key, f1 in choice["f1s"].items())
    chosen = f"chosen by F1 on {how} ({tried})" if given is None else "as given"
    settings = f"c1 {c1:g}, c2 {c2:g}, {chosen}"
    if seconds["n_left_out"]:
        settings += f"; {seconds['n_left_out']} docs with unknown tags left out"
    return Figures(
        scores=peer_scores(nlp, name, tagger, splits.test),
        training_cpu_s=usage.cpu_s,
        features_cpu_s=seconds["features_cpu_s"],
        fit_cpu_s=seconds["fit_cpu_s"],
        training_wall_s=usage.wall_s,
        training_peak_mb=usage.peak_mb,
        tokens_per_cpu_s=speed,
        tokens_per_cpu_s_features_ready=speed_ready,
        model_mb=size_mb(path),
        settings=settings,
    )


# ---------------------------------------------------------------------- what is printed


def score_table(systems: dict[str, Figures], gold: Counter[str]) -> str:
    """Write precision, recall and F1 by label, the systems side by side."""
    labels = sorted(
        {x for figures in systems.values() for x in figures.scores} - {"micro"},
        key=lambda label: (-gold[label], label),
    )
    width = max(map(len, [*labels, "micro"]))
    heads = "".join(f"   {name:^20}" for name in systems)
    lines = [f"{'':{width}}  {'':>6}{heads}".rstrip()]
    columns = "   " + "".join(f"{x:>7}" for x in ("P", "R", "F1")).removeprefix(" ")
    lines.append(f"{'':{width}}  {'gold':>6}{columns * len(systems)}")
    for label in [*labels, "micro"]:
        n_gold = gold.total() if label == "micro" else gold[label]
        line = f"{label:{width}}  {n_gold:6}"
        for figures in systems.values():
            score = figures.scores.get(label, Score(0.0, 0.0, 0.0))
            values = (100 * x for x in (score.p, score.r, score.f))
            line += "   " + "".join(f"{x:7.2f}" for x in values).removeprefix(" ")
        lines.append(line)
    return "\n".join(lines)


def cost_table(systems: dict[str, Figures]) -> str:
    """Write what training and prediction cost, the systems side by side."""
    rows: list[tuple[str, str, str]] = [
        ("training, CPU s", "training_cpu_s", ".1f"),
        ("  of which features", "features_cpu_s", ".1f"),
        ("  of which fit", "fit_cpu_s", ".1f"),
        ("training, peak memory, MB", "training_peak_mb", ",.0f"),
        ("tokens per CPU s, Doc to ents", "tokens_per_cpu_s", ",.0f"),
        ("  features ready", "tokens_per_cpu_s_features_ready", ",.0f"),
        ("model on disk, MB", "model_mb", ".2f"),
    ]
    lines = [f"{'':30}" + "".join(f"{name:>12}" for name in systems)]
    for title, key, form in rows:
        values = [getattr(figures, key) for figures in systems.values()]
        if any(value is not None for value in values):
            cells = ("-" if value is None else f"{value:{form}}" for value in values)
            lines.append(f"{title:30}" + "".join(f"{cell:>12}" for cell in cells))
    return "\n".join(lines)


def environment() -> dict[str, Any]:
    """Describe where and with what it was measured."""
    packages = "spacy_hosemi spacy thinc numpy scipy python-crfsuite".split()
    versions = {package: package_version(package) for package in packages}
    return {
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "cpu": cpu_model(),
        "versions": {"python": platform.python_version(), **versions},
        "commit": commit(),
        "command": shlex.join(["python", *sys.argv]),
    }


def package_version(package: str) -> str | None:
    """Version of an installed package, or None."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def cpu_model() -> str:
    """Name the processor."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [line.split(":")[1] for line in lines if line.startswith("model n")]
        return names[0].strip()
    except (OSError, IndexError):
        return platform.processor() or platform.machine()


def commit() -> str | None:
    """The commit that is checked out, "+" where files differ; None outside git."""
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        found = subprocess.run(git, capture_output=True, text=True)
    except OSError:
        return None
    return found.stdout.strip() or None


def head(data: Path, splits: Splits, args: argparse.Namespace) -> str:
    """Write what is measured and where."""
    where = environment()
    versions = ", ".join(f"{k} {v}" for k, v in where["versions"].items() if v)
    given = "train test" if splits.dev_is_train else "train dev test"
    sizes = (f"{splits.n_docs[x]} ({splits.n_tokens[x]}) {x}" for x in given.split())
    lines = [
        f"{data.resolve().name}: docs (tokens) {', '.join(sizes)}",
        f"{args.config} {' '.join(args.overrides)}".rstrip(),
        f"{where['date']}, {where['cpu']}, one thread, commit {where['commit']}",
        versions,
    ]
    if splits.dev_is_train:
        lines.append(
            "No dev.jsonl: all of train is trained on and the last model taken; what "
            "`spacy train`\nprints as scores is a tenth of train itself, and decides "
            "nothing."
        )
    return "\n".join(lines)


def append_json(path: Path | None, record: dict[str, Any]) -> None:
    """Append one line to a JSONL file, if one is given."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a", encoding="utf-8") as lines:
            lines.write(json.dumps({**environment(), **record}) + "\n")


# ------------------------------------------------------------------------ the two tasks


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Train on train, test on test, print everything."""
    lines = {x: read_lines(args.data / f"{x}.jsonl") for x in ("train", "test")}
    dev = args.data / "dev.jsonl"
    splits = make_splits(
        folder,
        config_lang(args.config),
        training_lines(lines["train"], args.max_train),
        read_lines(dev) if dev.exists() else None,
        lines["test"],
    )
    systems = {}
    own, model = measure_config(args.config, splits, args.overrides, args.quiet)
    nlp = spacy.load(model)
    systems[entity_component(nlp)] = own
    if args.peer:
        systems[args.peer] = measure_peer(model, splits, args.quiet, args.peer_settings)
    print(head(args.data, splits, args))
    for name, figures in systems.items():
        print(f"{name}: {figures.settings}")
    print("\n" + score_table(systems, gold_counts(nlp, splits.test)))
    print("\n" + cost_table(systems))
    if args.runs:
        print(f"\nkept: {model}")
    record = {
        "data": args.data.resolve().name,
        "config": str(args.config),
        "overrides": args.overrides,
        "n_docs": {**splits.n_docs, "dev_is_train": splits.dev_is_train},
        "systems": {name: asdict(figures) for name, figures in systems.items()},
    }
    append_json(args.json, record)


def cross_validate(args: argparse.Namespace, folder: Path) -> None:
    """Train and test on parts of train, print the F1 of each."""
    lines = training_lines(read_lines(args.data / "train.jsonl"), args.max_train)
    lang = config_lang(args.config)
    print(
        f"{args.data.resolve().name}, {len(lines)} docs of train, {args.cv} folds, "
        f"{args.repeats} time(s)\n{args.config} {' '.join(args.overrides)}".rstrip()
    )
    print("repeat  fold       P       R      F1   CPU s", flush=True)
    found: list[dict[str, float]] = []
    progress = tqdm(total=args.cv * args.repeats, desc="folds", disable=None)
    for repeat in range(args.repeats):
        parts = folds(lines, args.cv, SEED + repeat)
        for fold, (rest, held_out) in enumerate(parts):
            part = folder / f"{repeat}-{fold}"
            splits = make_splits(part, lang, rest, None, held_out)
            model, usage, _ = train(args.config, splits, args.overrides, quiet=True)
            score = accuracy(spacy.load(model), splits.test)["micro"]
            found.append({**asdict(score), "cpu_s": usage.cpu_s})
            if not args.runs:
                shutil.rmtree(part)
            figures = (f"{100 * x:8.2f}" for x in asdict(score).values())
            row = f"{repeat:6}{fold:6}{''.join(figures)}{usage.cpu_s:8.1f}"
            progress.write(row, file=sys.stdout)
            progress.update()
    progress.close()
    micro = [100 * figures["f"] for figures in found]
    mean = sum(micro) / len(micro)
    spread = sum((x - mean) ** 2 for x in micro) / max(1, len(micro) - 1)
    cpu = sum(figures["cpu_s"] for figures in found) / len(found)
    print(
        f"mean micro-F1 {mean:.2f} (standard deviation of a fold {spread**0.5:.2f}), "
        f"{cpu:.1f} CPU s a training"
    )
    record = {
        "data": args.data.resolve().name,
        "config": str(args.config),
        "overrides": args.overrides,
        "cv": args.cv,
        "repeats": args.repeats,
        "n_train": len(lines),
        "folds": found,
        "mean_f1": mean / 100,
    }
    append_json(args.json, record)


def training_lines(lines: list[bytes], at_most: int | None) -> list[bytes]:
    """Keep some lines of train, the same ones for the same number."""
    if at_most is None or at_most >= len(lines):
        return lines
    return shuffled(lines, SEED)[:at_most]


def config_lang(config: Path) -> str:
    """Language code of a config."""
    return Config().from_disk(config, interpolate=False)["nlp"]["lang"]


@contextmanager
def run_folder(args: argparse.Namespace) -> Iterator[Path]:
    """Give the folder of this run: one that is kept if --runs is given."""
    if args.runs is None:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)
    else:
        name = f"{args.data.resolve().name}-{args.config.stem}"
        yield args.runs / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"


def arguments() -> argparse.Namespace:
    """Read and check the command line."""
    parser = argparse.ArgumentParser(
        description="Train a config on a data set; print its accuracy and its costs.",
        epilog="Example: python benchmarks/accuracy.py ../data/cora --peer crfsuite",
    )
    add = parser.add_argument
    add("data", type=Path, metavar="DATA_DIR", help="has {train,dev,test}.jsonl")
    add(
        "--config",
        type=Path,
        default=ROOT / "configs" / "batch.cfg",
        help="config of `spacy train` (default: %(default)s)",
    )
    add(
        "--overrides",
        nargs="+",
        default=[],
        metavar="KEY=VALUE",
        help="settings other than the config's: components.hosemi.max_order=3",
    )
    add(
        "--peer",
        choices=["crfsuite"],
        help="measure python-crfsuite on the same features, too",
    )
    add(
        "--peer-settings",
        nargs=2,
        type=float,
        metavar=("C1", "C2"),
        help="regularisation of the peer (default: the best of nine on dev)",
    )
    add("--cv", type=int, metavar="K", help="cross-validation on train; test not read")
    add(
        "--repeats",
        type=int,
        default=1,
        metavar="R",
        help="repeat the cross-validation with other folds (default: %(default)s)",
    )
    add(
        "--max-train",
        type=int,
        metavar="N",
        help="train on N documents, drawn by a fixed seed",
    )
    add("--runs", type=Path, metavar="DIR", help="keep data, models and logs there")
    add("--json", type=Path, metavar="FILE", help="append all figures as a JSON line")
    add("--quiet", action="store_true", help="do not show what `spacy train` prints")
    args = parser.parse_args()
    if not hasattr(os, "wait4"):
        parser.error("this system does not tell what a process used (no os.wait4)")
    for name in ("train",) if args.cv else ("train", "test"):
        if not (args.data / f"{name}.jsonl").is_file():
            parser.error(f"there is no {args.data / name}.jsonl")
    if not args.config.is_file():
        parser.error(f"there is no config {args.config}")
    for override in args.overrides:
        if not re.fullmatch(r"\w+(\.[\w@*-]+)+=.*", override):
            parser.error(f"--overrides needs section.key=value, found {override!r}")
    if args.cv is not None and args.cv < 2:
        parser.error("--cv needs at least 2 folds")
    if args.repeats < 1 or (args.repeats > 1 and not args.cv):
        parser.error("--repeats is at least 1, and goes with --cv")
    if args.max_train is not None and args.max_train < 1:
        parser.error("--max-train is at least 1")
    if args.peer and args.cv:
        parser.error("--peer and --cv exclude each other")
    if args.peer and package_version("python-crfsuite") is None:
        parser.error("--peer needs python-crfsuite: pip install python-crfsuite")
    return args


def main() -> int:
    """Measure as the command line says."""
    args = arguments()
    try:
        with run_folder(args) as folder:
            (cross_validate if args.cv else measure)(args, folder)
    except ValueError as error:  # from reading the data
        sys.exit(f"{error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
