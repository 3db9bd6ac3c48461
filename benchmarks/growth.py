"""How time and memory grow with the length of a document.

    python benchmarks/growth.py ../data/cora
    python benchmarks/growth.py ../data/cora --model runs/model-last

Documents of 5,000, 10,000 and 20,000 tokens are made of the token sequences of
test.jsonl, one after the other, again from the first where they do not suffice. What is
measured, for one document of each size:

- Doc to ents: the component, from a fresh `Doc` to its `doc.ents`;
- potentials: the part of it that reads features and adds up weights;
- viterbi, log_partition, marginals: the functions of `spacy_hosemi.core` on the
  potentials of that document.

CPU s is the best of ten passes after a first one, the sizes taking turns in one
process; "ratio" is the time compared with the size before (2.0 for twice the length is
linear). MB (10^6 bytes) is what a first pass, in a process of its own, adds to its
resident memory at the peak, the result included. All on one thread.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import measuring
import spacy
import training
from convert import docs_from_jsonl
from spacy.language import Language
from spacy.tokens import Doc
from tqdm import tqdm

N_PASSES = 10
OPERATIONS = ("Doc to ents", "potentials", "viterbi", "log_partition", "marginals")


def loaded_component(nlp: Language) -> Any:
    """The hosemi of a pipeline."""
    component: Any = nlp.get_pipe(training.entity_component(nlp))
    if not hasattr(component, "automaton"):
        sys.exit(f"a pipeline with hosemi is needed, found {nlp.pipe_names}")
    return component


def repeated_words(path: Path, nlp: Language, n_tokens: int) -> list[str]:
    """Read as many words as asked for, again from the first where they do not suffice.

    path (Path): A file that `corpus/convert.py` reads.
    nlp (Language): Tokenizes lines that hold texts.
    n_tokens (int): How many words.
    RETURNS (List[str]): The words.
    """
    docs = docs_from_jsonl(path, nlp)
    words = [t.text for doc in docs for t in doc if not t.is_space]
    if not words:
        raise ValueError(f"{path}: there is no word in this file")
    return list(itertools.islice(itertools.cycle(words), n_tokens))


def prepare(
    nlp: Language, operation: str, words: list[str]
) -> tuple[Callable[[Any], Any], Callable[[], Any]]:
    """Give an operation and what makes its input, which is not measured.

    RETURNS (Tuple[Callable, Callable]): The operation on an input; a fresh input.
    """
    from spacy_hosemi import core

    component = loaded_component(nlp)

    def doc() -> Doc:
        return Doc(nlp.vocab, words=words)

    if operation == "Doc to ents":
        return lambda fresh: component(fresh).ents, doc
    if operation == "potentials":
        return lambda fresh: component.model.predict([fresh]), doc
    function = getattr(core, operation)
    (potentials,) = component.model.predict([doc()])
    return lambda ready: function(component.automaton, ready), lambda: potentials


def measure_time(
    model: str, data: str, operation: str, report: str, *sizes: str
) -> None:
    """Time one operation at all sizes (called in a process of its own).

    model (str): A trained pipeline with hosemi.
    data (str): The file whose words are read.
    report (str): JSON file to write: CPU seconds of each size.
    """
    nlp = spacy.load(model)
    prepared = [
        prepare(nlp, operation, repeated_words(Path(data), nlp, int(size)))
        for size in sizes
    ]
    seconds: list[list[float]] = [[] for _ in sizes]
    for _ in range(1 + N_PASSES):  # taking turns: the machine may be busy for a while
        for (run, make_input), found in zip(prepared, seconds, strict=True):
            given = make_input()
            began = time.process_time()
            run(given)
            found.append(time.process_time() - began)
    Path(report).write_text(json.dumps([min(found[1:]) for found in seconds]))


def measure_memory(
    model: str, data: str, operation: str, report: str, size: str
) -> None:
    """Measure what a first pass adds to the memory (called in a process of its own).

    model, data, operation, report (str): As `measure_time`; the report is in MB.
    """
    nlp = spacy.load(model)
    words = repeated_words(Path(data), nlp, int(size))
    run, make_input = prepare(nlp, operation, words)
    given = make_input()
    measuring.reset_peak()
    before = measuring.peak_mb()
    result = run(given)
    added = measuring.peak_mb() - before
    del result
    Path(report).write_text(json.dumps(added))


def trained_model(args: argparse.Namespace, folder: Path) -> Path:
    """Train a model on the data, unless one is given."""
    if args.model:
        return args.model
    lines = {
        x: measuring.read_lines(args.data / f"{x}.jsonl") for x in ("train", "test")
    }
    lang = training.config_lang(args.config)
    splits = measuring.make_splits(folder, lang, lines["train"], None, lines["test"])
    return training.train(args.config, splits, [])[0]


@dataclass
class Growth:
    """What one operation costs, by size."""

    cpu_s: list[float]
    added_mb: list[float]


def measure(
    operation: str, model: Path, data: Path, sizes: list[int], report: Path
) -> Growth:
    """Measure an operation at all sizes, in processes of their own.

    report (Path): Where they may write.
    """

    def ask(function: Callable[..., None], *asked: str) -> Any:
        command = measuring.call(function, model, data, operation, report, *asked)
        measuring.measured(command, quiet=True)
        return json.loads(report.read_text())

    seconds = ask(measure_time, *map(str, sizes))
    return Growth(seconds, [ask(measure_memory, str(size)) for size in sizes])


def table(found: dict[str, Growth], sizes: list[int]) -> str:
    """Write what was found, a line for each operation and size."""
    lines = [f"{'':14}{'tokens':>8}{'CPU s':>9}{'ratio':>7}{'tokens/s':>11}{'MB':>7}"]
    for operation, growth in found.items():
        for i, size in enumerate(sizes):
            seconds = growth.cpu_s[i]
            ratio = f"{seconds / growth.cpu_s[i - 1]:.2f}" if i else ""
            lines.append(
                f"{'' if i else operation:14}{size:8,}{seconds:9.4f}{ratio:>7}"
                f"{size / seconds:11,.0f}{growth.added_mb[i]:7.1f}"
            )
    return "\n".join(lines)


def arguments() -> argparse.Namespace:
    """Read and check the command line."""
    parser = argparse.ArgumentParser(
        description="Measure how time and memory grow with the length of a document.",
        epilog="Example: python benchmarks/growth.py ../data/cora",
    )
    add = parser.add_argument
    add("data", type=Path, metavar="DATA_DIR", help="has test.jsonl (and train.jsonl)")
    add("--model", type=Path, help="a trained pipeline (default: train one first)")
    add(
        "--config",
        type=Path,
        default=measuring.ROOT / "configs" / "batch.cfg",
        help="what to train, if no model is given (default: %(default)s)",
    )
    add(
        "--sizes",
        type=int,
        nargs="+",
        default=[5_000, 10_000, 20_000],
        metavar="N",
        help="tokens of the documents (default: 5000 10000 20000)",
    )
    args = parser.parse_args()
    for name in ("test",) if args.model else ("train", "test"):
        if not (args.data / f"{name}.jsonl").is_file():
            parser.error(f"there is no {args.data / name}.jsonl")
    if args.model and not args.model.is_dir():
        parser.error(f"there is no model {args.model}")
    if min(args.sizes) < 1:
        parser.error("--sizes are at least 1")
    return args


def main() -> int:
    """Measure each operation at each size and print the table."""
    args = arguments()
    with tempfile.TemporaryDirectory() as temporary:
        model = trained_model(args, Path(temporary))
        report = Path(temporary) / "report.json"
        automaton = loaded_component(spacy.load(model)).automaton
        found = {
            name: measure(name, model, args.data / "test.jsonl", args.sizes, report)
            for name in tqdm(OPERATIONS, desc="operations")
        }
    where = measuring.environment()
    print(
        f"{args.data.resolve().name}, {args.model or args.config}: "
        f"{len(automaton.labels)} labels, {len(automaton.patterns)} patterns, "
        f"{automaton.n_states} states\n"
        f"{where['date']}, {where['cpu']}, one thread, commit {where['commit']}\n"
    )
    print(table(found, args.sizes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
