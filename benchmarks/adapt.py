"""What do some corrections bring to a trained model, and what does it keep?

    python benchmarks/adapt.py ../data --model demo/model-last --old corpus/test.jsonl

Corrections are drawn from train of each set of `references.py`: its gold in labels of
the model, without separators at the ends; where the gold has a label that the model
does not have, or one label for several of it, tokens are unknown. The ways:

- before: the model as it is;
- nothing: its config, trained on the corrections alone;
- update: `nlp.update`, three passes through the corrections in batches of 8;
- adapt, as is: `hosemi.adapt`, which chooses its strength;
- adapt: with trim, so that spans have the separators of the model at their ends;
- all: trained on --old-train and the corrections, separators as those of the model.

"new" is test of the set, compared as `references.py` does; "old" is --old, by its own
guidelines. Figures are means over draws; "±" is the standard deviation of one draw.
"""

from __future__ import annotations

import argparse
import json
import random
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean

import harness
import references
import spacy
from arguments import existing, number, script, some_of
from harness import Marked
from scores import Exactness, exactness
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_model_from_config, minibatch

SETS = ("cora", "linkedbooks")
WAYS = ("before", "nothing", "update", "adapt, as is", "adapt", "all")
PASSES = 3


def corrections(path: Path, name: str, nlp: Language) -> list[Doc]:
    """Returns documents with gold as a person would correct them."""
    known = {label: label for label in nlp.get_pipe("hosemi").labels}
    labels = {x: y for x, y in {**known, **references.MAPS[name]}.items() if y in known}
    docs = []
    for record in map(json.loads, harness.read_lines(path)):
        text, places = references.detokenize(record["tokens"], False)
        spans = [(places[i][0], places[j - 1][1], y) for i, j, y in record["spans"]]
        kept = sorted(references.core(text, spans, labels))
        unknown = [(i, j) for i, j, y in spans if y not in labels]
        if name == "linkedbooks":  # one label for titles, books and journals
            others = [span for span in kept if span[2] == "title"][1:]
            kept = [span for span in kept if span not in others]
            unknown += [(i, j) for i, j, _ in others]
        docs.append(annotated(nlp, text, kept, unknown))
    return docs


def annotated(
    nlp: Language,
    text: str,
    spans: list[tuple[int, int, str]],
    unknown: list[tuple[int, int]],
) -> Doc:
    """Returns a document with these entities, and tokens that nobody knows."""
    doc = nlp.make_doc(text)
    ents = [ent for span in spans if (ent := doc.char_span(*span))]
    inside = {token.i for ent in ents for token in ent}
    tokens = {
        token.i
        for place in unknown
        for token in doc.char_span(*place, alignment_mode="expand") or []
    }
    missing = [doc[i : i + 1] for i in sorted(tokens - inside)]
    doc.set_ents(ents, missing=missing, default="outside")
    return doc


def new_scores(nlp: Language, test: list[Marked], name: str) -> Exactness:
    """How exact a pipeline is on references of a set."""
    labels = references.MAPS[name]
    docs = nlp.pipe(text for text, _ in test)
    found = [references.core(x.text, harness.spans_of(x), labels) for x in docs]
    return exactness(found, [set(spans) for _, spans in test])


def old_scores(nlp: Language, test: list[Marked]) -> Exactness:
    """How exact a pipeline is on what it was made for."""
    found = [{*harness.spans_of(doc)} for doc in nlp.pipe(text for text, _ in test)]
    return exactness(found, [set(spans) for _, spans in test])


def by_ways(
    args: argparse.Namespace, load: Callable[[], Language], drawn: list[Doc]
) -> Iterator[tuple[str, Language, float, float | None]]:
    """Yields the name of a way, its pipeline, CPU seconds, and a strength."""
    for way in args.ways:
        nlp = load()
        pipe, strength = nlp.get_pipe("hosemi"), None
        began = time.process_time()
        if way in ("nothing", "all"):
            old = [] if way == "nothing" else harness.read_marked(args.old_train)
            nlp = load_model_from_config(nlp.config, auto_fill=True)
            fit = nlp.get_pipe("hosemi").fit
            fit([*old, *drawn], nlp=nlp, l2=0.1, progress=False)
        elif way == "update":
            optimizer, rng = nlp.resume_training(), random.Random(harness.SEED)
            for _ in range(PASSES):
                examples = [Example(nlp.make_doc(x.text), x) for x in drawn]
                rng.shuffle(examples)
                for some in minibatch(examples, 8):
                    nlp.update(some, sgd=optimizer)
        elif way != "before":
            result = pipe.adapt(drawn, args.strength, nlp=nlp, trim=way == "adapt")
            strength = result.strength
        yield way, nlp, time.process_time() - began, strength


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Draw corrections, learn them in each way, print everything."""
    warnings.simplefilter("ignore")
    if args.old_train is None:
        args.ways = [way for way in args.ways if way != "all"]
    old = harness.read_marked(args.old)[: args.max_docs]

    def load() -> Language:
        return spacy.load(args.model)

    found: dict[tuple[str, int, str], list[list[float]]] = {}
    for name in args.sets:
        pool = corrections(args.data / name / "train.jsonl", name, load())
        test = [*references.read(args.data / name / "test.jsonl", name)]
        test = test[: args.max_docs]
        for size in args.sizes:
            for draw in range(args.draws):
                drawn = harness.shuffled(pool, harness.SEED + draw)[:size]
                for way, nlp, seconds, strength in by_ways(args, load, drawn):
                    scores = *new_scores(nlp, test, name), *old_scores(nlp, old)
                    values = [*scores, seconds, strength or 0.0]
                    found.setdefault((name, size, way), []).append(values)
    rows = []
    for (name, size, way), values in found.items():
        columns = [*zip(*values)]
        spread = [harness.with_spread(column, ".1f") for column in columns[:4]]
        rows.append([name, size, way, *spread, *map(mean, columns[4:])])
    columns = ["set", "corrections|d", "way", "new F1", "new records", "old F1"]
    columns += ["old records", "CPU s|.1f", "strength|.3f"]
    title = f"{Path(args.model).parent.name or args.model}, {args.draws} draws"
    harness.report(args, title, harness.table(columns, rows), rows=rows)


OPTIONS = {
    "--model": dict(required=True, help="trained pipeline with the labels of corpus"),
    "--old": dict(type=existing, required=True, help="JSON lines, to test on"),
    "--old-train": dict(type=existing, help="JSON lines, for the way `all`"),
    "--sets": some_of(SETS),
    "--ways": some_of(WAYS),
    "--sizes": number([5, 10, 20, 50, 100], "corrections"),
    "--draws": number(5, "of each size"),
    "--strength": number(None, "instead of the chosen one", 0.0),
}
main = script(__doc__, measure, "data --max-docs --json", OPTIONS)

if __name__ == "__main__":
    main()
