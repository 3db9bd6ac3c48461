"""Training by `spacy train`, and what a trained pipeline gives."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measuring import (
    N_PASSES,
    Score,
    Scores,
    Splits,
    Usage,
    measured,
    tokens_per_second,
)
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Corpus
from thinc.api import Config


def config_lang(config: Path) -> str:
    """Language code of a config."""
    return Config().from_disk(config, interpolate=False)["nlp"]["lang"]


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


def gold_counts(nlp: Language, path: Path) -> Counter[str]:
    """Count the entities of a .spacy file by label."""
    references = (example.reference for example in Corpus(path)(nlp))
    return Counter(ent.label_ for doc in references for ent in doc.ents)


def prediction_speed(nlp: Language, name: str, path: Path) -> float:
    """Tokens per CPU second of a component, from docs to their entities."""
    component = nlp.get_pipe(name)
    passes = (fresh_docs(nlp, name, path)[0] for _ in range(1 + N_PASSES))
    n_tokens = sum(map(len, fresh_docs(nlp, name, path)[0]))
    return tokens_per_second(lambda doc: component(doc).ents, passes, n_tokens)


def as_scores(found: dict[str, Any]) -> Scores:
    """Take the figures out of what a spaCy scorer returns."""
    by_label = found.get("ents_per_type") or {}
    scores = {label: Score(x["p"], x["r"], x["f"]) for label, x in by_label.items()}
    micro = (found.get(f"ents_{figure}") or 0.0 for figure in "prf")
    return {**scores, "micro": Score(*micro)}


def accuracy(nlp: Language, path: Path) -> Scores:
    """Score a pipeline on a .spacy file."""
    return as_scores(nlp.evaluate(list(Corpus(path)(nlp))))


def write_ner_config(path: Path, lang: str) -> None:
    """Write the config that spaCy proposes for `ner` on a CPU."""
    command = [sys.executable, "-m", "spacy", "init", "config", str(path)]
    measured([*command, "--lang", lang, "--pipeline", "ner", "--force"], quiet=True)
