"""Data for `spacy train`, training by it, and what a trained pipeline gives."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import Lines, Timed, convert, draw, read_lines, shuffled, take_turns
from processes import Usage, measured
from scores import Exactness, exactness_of, scores_of
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Corpus, Example
from thinc.api import Config

from spacy_hosemi.configs import find_lists, make_config
from spacy_hosemi.labels.alignment import out_of_reach, read_annotations


@dataclass
class Splits:
    """One data set in spaCy's format, in a folder; if dev_is_train, dev is a tenth of
    train, so that `spacy train` has something to print."""

    folder: Path
    dev_is_train: bool
    n_docs: dict[str, int]
    n_tokens: dict[str, int]
    train: Path
    dev: Path
    test: Path


def make_splits(
    folder: Path, lang: str, train: Lines, dev: Lines | None, test: Lines
) -> Splits:
    """Write lines to a folder, and convert them; lang has the tokenizer for texts."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = {"train": train, "dev": dev, "test": test}
    if dev is None:
        parts["dev"] = shuffled(train)[: max(1, len(train) // 10)]
    docs, paths = {}, {name: folder / f"{name}.spacy" for name in parts}
    for name, lines in parts.items():
        path = folder / f"{name}.jsonl"
        path.write_bytes(b"".join(line + b"\n" for line in lines or ()))
        docs[name] = convert(path, paths[name], lang)
    n_docs = {name: len(found) for name, found in docs.items()}
    n_tokens = {name: sum(map(len, found)) for name, found in docs.items()}
    return Splits(folder, dev is None, n_docs, n_tokens, **paths)


def read_splits(
    args: Any, folder: Path, config: Path, *, has_dev: bool = True, test: str = "test"
) -> Splits:
    """The data set of the command line: train, of which --max-train draws some; dev, if
    it is there and wanted; the first --max-docs of what is tested on."""

    def lines(name: str) -> Lines:
        return read_lines(args.data / f"{name}.jsonl")

    drawn = draw(lines("train"), getattr(args, "max_train", None))
    dev = lines("dev") if has_dev and (args.data / "dev.jsonl").exists() else None
    tested = lines(test)[: getattr(args, "max_docs", None)]
    return make_splits(folder, config_lang(config), drawn, dev, tested)


def models_of(args: Any, folder: Path) -> list[Path]:
    """The trained models of the command line, or one that --config makes."""
    if args.models:
        return args.models
    splits = read_splits(args, folder, args.config, has_dev=False)
    return [train(args.config, splits, args.overrides)[0]]


def write_init(path: Path, kind: str, lists: Path | None = None, **others: Any) -> Path:
    """Write what `hosemi init` writes for a kind of data, with the first n_lists lists
    of a folder, or all. Returns its path."""
    n_lists = others.pop("n_lists", None)
    chosen = find_lists(lists)[0][:n_lists] if lists else []
    text = make_config(kind, lists=chosen, folder=lists, **others)
    path.write_text(text, encoding="utf-8")
    return path


def config_lang(config: Path) -> str:
    """Language code of a config."""
    return Config().from_disk(config, interpolate=False)["nlp"]["lang"]


def train(
    config: Path, splits: Splits, overrides: Sequence[str]
) -> tuple[Path, Usage, list[str]]:
    """Train a config by `spacy train` in a process of its own, with overrides
    "section.key=value"; the log is train.log. Returns the model, its costs, the
    command."""
    command = [sys.executable, "-m", "spacy", "train", str(config)]
    command += ["--paths.train", str(splits.train), "--paths.dev", str(splits.dev)]
    command += ["--output", str(splits.folder)]
    settings = Config().from_disk(config, interpolate=False)["training"]
    has_end = settings["max_steps"] > 0 or settings["max_epochs"] > 0
    if splits.dev_is_train and has_end:  # then the scores on dev say nothing
        command.append("--training.patience=0")
    command += [f"--{override}" for override in overrides]
    usage = measured(command, splits.folder / "train.log")
    return chosen_model(splits), usage, command


def chosen_model(splits: Splits) -> Path:
    """Choose among the two models that `spacy train` leaves. Returns the best on dev;
    the last after batch training, which has only one result, and where dev is a part of
    train and so no judge."""
    last = splits.folder / "model-last"
    config = Config().from_disk(last / "config.cfg", interpolate=False)
    blocks = config["initialize"].get("components", {}).values()
    is_batch = any(block.get("fit") for block in blocks if isinstance(block, dict))
    return last if is_batch or splits.dev_is_train else splits.folder / "model-best"


def fit_seconds(log: str) -> float | None:
    """Find the CPU seconds that batch training prints; None without batch training."""
    found = re.findall(r"([\d.]+) CPU s\b", log)
    return float(found[-1]) if found else None


def last_step(log: str) -> int:
    """Find the last step in the table that `spacy train` prints; 0 if there is none."""
    found = re.findall(r"^ *\d+ +(\d+) +[\d.]+ .*[\d.]+ *$", log, re.MULTILINE)
    return int(found[-1]) if found else 0


def entity_component(nlp: Language) -> str:
    """Name the component that is measured: hosemi, or else the last that sets ents."""
    setters = [x for x in nlp.pipe_names if "doc.ents" in nlp.get_pipe_meta(x).assigns]
    hosemi = [x for x in nlp.pipe_names if nlp.get_pipe_meta(x).factory == "hosemi"]
    if not hosemi + setters:
        sys.exit(f"no component of this pipeline sets doc.ents: {nlp.pipe_names}")
    return (hosemi or setters)[-1]


def fresh_docs(nlp: Language, name: str, path: Path) -> list[Doc]:
    """Read the docs of a .spacy file without entities, and let the components before
    the named one, which is measured, see them."""
    return [example.predicted for example in fresh_examples(nlp, name, path)]


def fresh_examples(nlp: Language, name: str, path: Path) -> list[Example]:
    """The same as examples. The tokens of both documents differ where a gold span
    begins or ends inside a token that the pipeline makes."""
    examples = list(Corpus(path)(nlp))
    names = nlp.pipe_names
    with nlp.select_pipes(enable=names[: names.index(name)]):
        docs = list(nlp.pipe(example.predicted for example in examples))
    return [Example(doc, x.reference) for doc, x in zip(docs, examples)]


def n_out_of_reach(nlp: Language, path: Path) -> int:
    """Count the entities of a .spacy file that begin or end inside a token of the
    pipeline: they count as missed, whatever the system."""
    examples = list(Corpus(path)(nlp))
    pairs = zip(examples, read_annotations(examples))
    return sum(len(out_of_reach(*pair)) for pair in pairs)


def prediction_speed(nlp: Language, path: Path) -> float:
    """Tokens per CPU second of the component, from a `Doc` to `doc.ents`, one at a
    time: the best of three passes."""
    timed = timed_component(nlp, path, one_by_one=True)
    n_tokens = sum(map(len, timed.inputs()))
    return n_tokens / min(take_turns({"": timed})[""])


def timed_component(nlp: Language, path: Path, *, one_by_one: bool = False) -> Timed:
    """The component that is measured, from docs that all before it have seen to their
    entities, in spaCy's batches unless they are given one by one."""
    name, size = entity_component(nlp), nlp.batch_size
    component: Any = nlp.get_pipe(name)

    def run(docs: list[Doc]) -> list[Any]:
        found = (
            map(component, docs)
            if one_by_one
            else component.pipe(docs, batch_size=size)
        )
        return [doc.ents for doc in found]

    return Timed(run, lambda: fresh_docs(nlp, name, path))


def timed_pipeline(nlp: Language, path: Path) -> Timed:
    """The same of a pipeline, from fresh docs."""
    return Timed(
        lambda docs: [doc.ents for doc in nlp.pipe(docs)],
        lambda: fresh_docs(nlp, nlp.pipe_names[0], path),
    )


def accuracy(nlp: Language, path: Path) -> dict[str, dict[str, float]]:
    """Score a pipeline on a .spacy file; `scores_of` says how."""
    return scores_of(predicted(nlp, path))


def predicted(nlp: Language, path: Path) -> list[Example]:
    """Returns the documents of a .spacy file as a pipeline predicts them, beside the
    references."""
    examples = list(Corpus(path)(nlp))
    docs = nlp.pipe(example.predicted for example in examples)
    return [Example(doc, x.reference) for doc, x in zip(docs, examples)]


def tested(nlp: Language, path: Path) -> Exactness:
    """F1 of all entities of a .spacy file, and exact records."""
    return exactness_of(accuracy(nlp, path))


def write_spacy_config(path: Path, lang: str, component: str = "ner") -> None:
    """Write the config that spaCy proposes for a component on a CPU."""
    command = [sys.executable, "-m", "spacy", "init", "config", str(path)]
    measured([*command, "--lang", lang, "--pipeline", component, "--force"])
