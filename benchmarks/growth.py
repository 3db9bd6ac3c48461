"""How time and memory grow with the length of a document.

    python benchmarks/growth.py ../data/cora

Documents of 5,000, 10,000 and 20,000 tokens are made of the token sequences of
test.jsonl, one after the other, again from the first where they do not suffice. What is
measured, for one document of each size:

- Doc to ents: the component, from a fresh `Doc` to its `doc.ents`;
- potentials: the part of it that reads features and adds up weights;
- viterbi, log_partition, marginals, entropy, kbest (k = 200), mbr (the highest expected
  F1): the functions of `spacy_hosemi.core` on the potentials of that document;
- hosemi.marginals, hosemi.entropy, hosemi.kbest: these methods of the component, each
  from a fresh `Doc`;
- hosemi.explain: the same for the span in the middle of a predicted `Doc`, or for its
  first token where there is none.

CPU s is the best of ten passes after a first one, the sizes taking turns in one
process; "ratio" is the time compared with the size before (2.0 for twice the length is
linear). MB (10^6 bytes) is what a first pass, in a process of its own, adds to its
resident memory at the peak, the result included. All on one thread.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import harness
import spacy
from arguments import number, script
from processes import in_process, peak_mb, reset_peak
from spacy.language import Language
from spacy.tokens import Doc
from tqdm import tqdm
from training import entity_component, models_of

from spacy_hosemi import core

N_PASSES = 10
OPERATIONS = ("Doc to ents", "potentials", "viterbi", "log_partition", "marginals")
OPERATIONS += ("entropy", "kbest", "mbr")
OPERATIONS += ("hosemi.marginals", "hosemi.entropy", "hosemi.kbest", "hosemi.explain")
# What they are asked for beside the document or its potentials.
ASKED = {"kbest": (200,), "mbr": ("f1",)}


def prepare(nlp: Language, operation: str, words: list[str]) -> harness.Timed:
    """An operation on a document of these words."""
    component: Any = nlp.get_pipe(entity_component(nlp))
    if not hasattr(component, "automaton"):
        sys.exit(f"a pipeline with hosemi is needed, found {nlp.pipe_names}")

    def doc() -> Doc:
        return Doc(nlp.vocab, words=words)

    if operation == "Doc to ents":
        return harness.Timed(lambda fresh: component(fresh).ents, doc)
    if operation == "potentials":
        return harness.Timed(lambda fresh: component.model.predict([fresh]), doc)
    if operation == "hosemi.explain":

        def explain(predicted: Doc) -> Any:
            spans = predicted.ents or [(0, 1, component.labels[0])]
            return component.explain(predicted, spans[len(spans) // 2])

        return harness.Timed(explain, lambda: component(doc()))
    of_component, _, name = operation.rpartition(".")
    asked = ASKED.get(name, ())
    function = getattr(component if of_component else core, name)
    if of_component:
        return harness.Timed(lambda fresh: function(fresh, *asked), doc)
    (potentials,) = component.model.predict([doc()])
    return harness.Timed(lambda _: function(component.automaton, potentials, *asked))


def prepare_all(
    model: str, data: str, operation: str, sizes: Sequence[int]
) -> dict[int, harness.Timed]:
    """An operation at all sizes, on the words of a file, again from the first where
    they do not suffice."""
    nlp = spacy.load(model)
    docs = harness.read_docs(data, nlp)
    words = [t.text for doc in docs for t in doc if not t.is_space]
    if not words:
        raise ValueError(f"{data}: there is no word in this file")
    return {n: prepare(nlp, operation, list(islice(cycle(words), n))) for n in sizes}


def cpu_seconds(model: str, data: str, operation: str, sizes: list[int]) -> list[float]:
    """Time one operation at all sizes, on the words of a file (called in a process of
    its own). Returns the best pass of each size."""
    prepared = prepare_all(model, data, operation, sizes)
    return [min(x) for x in harness.take_turns(prepared, N_PASSES).values()]


def added_mb(model: str, data: str, operation: str, size: int) -> float:
    """What a first pass adds to the memory (called in a process of its own)."""
    (timed,) = prepare_all(model, data, operation, [size]).values()
    given = timed.inputs()
    reset_peak()
    before = peak_mb()
    result = timed.run(given)
    added = peak_mb() - before
    del result
    return added


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Measure each operation at each size and print the table."""
    model, data = models_of(args, folder)[0], args.data / "test.jsonl"
    rows = []
    for operation in tqdm(OPERATIONS, desc="operations"):
        asked = model, data, operation
        seconds, _ = in_process(cpu_seconds, *asked, args.sizes)
        for i, (n, s) in enumerate(zip(args.sizes, seconds)):
            mb, _ = in_process(added_mb, *asked, n)
            ratio = s / seconds[i - 1] if i else None
            rows.append(["" if i else operation, n, s, ratio, n / s, mb])
    columns = ["tokens|,d", "CPU s|.4f", "ratio|.2f", "tokens/s|,.0f", "MB|.1f"]
    harness.report(
        args,
        f"{args.data.resolve().name}, {model}: growth",
        harness.table(["", *columns], rows),
        found=rows,
    )


OPTIONS = {"--sizes": number([5_000, 10_000, 20_000], "tokens of the documents")}
SHARED = "data --config --overrides --models --runs --json"
main = script(__doc__, measure, SHARED, OPTIONS)

if __name__ == "__main__":
    main()
