"""How exact a config is on a data set, and what it costs.

    python benchmarks/accuracy.py ../data/cora

The config is trained by `spacy train` in a process of its own, on one thread, and its
model is applied to test. Printed are:

- precision, recall and F1 of entities, in per cent: a span counts where start, end and
  label are right, by the scorer of hosemi, as in `spacy benchmark accuracy`;
- records: the share of documents all of whose entities are exact, with no other ones;
- training, CPU s: user and system time of the whole process, imports and reading
  included; "fit" is the part that batch training reports;
- peak memory: the largest resident size of that process. MB are 10^6 bytes;
- tokens per CPU s: from a `Doc` to its `doc.ents`, one at a time, by the component
  alone, on fresh docs; the best of three passes after a warm-up;
- model on disk: the saved pipeline.

`--peer crfsuite` does the same with a linear chain of python-crfsuite: BIO tags, the
same features of each token, the same documents, the same scorer. `crfsuite-no-lists`
leaves out features of lists of names, `crfsuite-plain` reads what one would write by
hand. c1 and c2 are those with the highest micro-F1 on dev, or by 3-fold
cross-validation on train where there is no dev (on a part of train with --peer-sample).
The peer's features are strings, made in Python.

A gold span that begins or ends inside a token of the config's tokenizer is missed by
all systems; how many there are is said. All learn from the rest of such a document.

`--cv K` cuts train into K parts, each tested on once, and does not read test: for
choosing settings. The peer is trained and tested on the same folds; its c1 and c2,
unless given, are chosen within the training part of the first fold. "Difference" is the
config's F1 less the peer's; its standard error takes the folds for independent, and so
is a bit small. `--cv K --all` cuts train, dev and test together, for small data sets
whose published figures are means over folds. Fix all settings beforehand.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import harness
import training
from arguments import flag, script
from peers import PEERS, Peer, fit_peer
from processes import shown_command, size_mb
from scores import WHOLE, exactness_of
from spacy.language import Language
from spacy.training import Corpus
from spacy.util import load_model
from tqdm import tqdm


def train_systems(
    args: argparse.Namespace, splits: training.Splits, settings: dict[str, Any]
) -> tuple[Language, dict[str, dict[str, Any]]]:
    """Train the config and its peers, and test them. Of a peer `settings` has c1 and
    c2, or gets those that are chosen."""
    model, usage, command = training.train(args.config, splits, args.overrides)
    nlp = load_model(model)
    systems: dict[str, dict[str, Any]] = {
        training.entity_component(nlp): {
            "scores": training.accuracy(nlp, splits.test),
            "training, CPU s": usage.cpu_s,
            "fit, CPU s": training.fit_seconds(usage.output),
            "training, peak MB": usage.peak_mb,
            "tokens per CPU s": training.prediction_speed(nlp, splits.test),
            "model on disk, MB": size_mb(model),
            "settings": f"{model}; {shown_command(command)}",
        }
    }
    for peer in args.peer:
        given = settings.get(peer, args.peer_settings)
        chain = fit_peer(model, splits, peer, given, args.peer_sample)
        settings[peer] = chain.c1, chain.c2
        systems[peer] = peer_figures(chain, splits.test, splits.n_tokens["test"])
    return nlp, systems


def measure_once(args: argparse.Namespace, folder: Path) -> None:
    """Train on train, test on test, print everything."""
    splits = training.read_splits(args, folder, args.config)
    nlp, systems = train_systems(args, splits, {})
    references = (example.reference for example in Corpus(splits.test)(nlp))
    gold = Counter(ent.label_ for doc in references for ent in doc.ents)
    sizes = ", ".join(
        f"{n} ({splits.n_tokens[x]}) {x}" for x, n in splits.n_docs.items()
    )
    settings = [f"{name}: {figures['settings']}" for name, figures in systems.items()]
    settings += unreached(nlp, splits)
    harness.report(
        args,
        f"{args.data.resolve().name}: docs (tokens) {sizes}",
        "There is no dev.jsonl: dev is a tenth of train and decides nothing."
        if splits.dev_is_train
        else "",
        "\n".join(settings),
        score_table(systems, {**gold, "micro": gold.total()}),
        cost_table(systems),
        systems=systems,
    )


def unreached(nlp: Language, splits: training.Splits) -> list[str]:
    """Say how many gold spans no system can find; nothing, if there are none."""
    n = [training.n_out_of_reach(nlp, path) for path in (splits.train, splits.test)]
    said = "gold spans with a border inside a token, missed by all systems: "
    return [f"{said}{n[0]} of train, {n[1]} of test"] if any(n) else []


def peer_figures(chain: Peer, test: Path, n_tokens: int) -> dict[str, Any]:
    """The same figures of a peer."""
    settings = f"c1 {chain.c1:g}, c2 {chain.c2:g}, {chain.source}"
    n_docs, n_cut = (int(chain.cost[x]) for x in ("n_docs", "n_cut"))
    settings += f"; trained on {n_docs} docs"
    if n_cut:
        settings += f", {n_cut} of them in parts, before and behind unknown tags"
    return {
        "scores": chain.scores(test),
        "training, CPU s": chain.usage.cpu_s,
        "features, CPU s": chain.cost["features"],
        "fit, CPU s": chain.cost["fit"],
        "training, peak MB": chain.usage.peak_mb,
        "tokens per CPU s": chain.speed(test, n_tokens),
        "model on disk, MB": size_mb(chain.path),
        "settings": settings,
    }


def score_table(systems: dict[str, Any], gold: dict[str, int]) -> str:
    """Precision, recall and F1 by label, all labels last, the systems side by side."""
    found = {label for figures in systems.values() for label in figures["scores"]}
    labels = sorted(found - {"micro", WHOLE}, key=lambda x: (-gold.get(x, 0), x))
    nothing = dict.fromkeys("prf", 0.0)
    rows = []
    for label in [*labels, "micro"]:
        scores = (x["scores"].get(label, nothing) for x in systems.values())
        figures = [100 * score[x] for score in scores for x in "prf"]
        rows.append([label, gold.get(label, 0), *figures])
    records = (exactness_of(x["scores"]).records for x in systems.values())
    rows.append([WHOLE, None, *(y for x in records for y in (None, None, x))])
    columns = [f"{name} {x}|.2f" for name in systems for x in ("P", "R", "F1")]
    return harness.table(["label", "gold|d", *columns], rows)


def cost_table(systems: dict[str, Any]) -> str:
    """What training and prediction cost, a line for each system."""
    columns = {f"{x}, CPU s": ".1f" for x in ("training", "features", "fit")}
    columns |= {"training, peak MB": ",.0f", "tokens per CPU s": ",.0f"}
    columns |= {"model on disk, MB": ".2f"}
    rows = [[name, *map(x.get, columns)] for name, x in systems.items()]
    return harness.table(["system", *(f"{x}|{y}" for x, y in columns.items())], rows)


# --------------------------------------------------------------------- cross-validation


def cross_validate(args: argparse.Namespace, folder: Path) -> None:
    """Train and test on parts of train; print the figures of each, and their means."""
    names = ("train", "dev", "test") if args.all else ("train",)
    paths = [args.data / f"{name}.jsonl" for name in names]
    files = [path for path in paths if path.exists() or path.stem == "train"]
    lines = harness.draw(
        [line for x in files for line in harness.read_lines(x)], args.max_train
    )
    settings: dict[str, Any] = {}
    rows: list[list[Any]] = []
    lang, folds = training.config_lang(args.config), harness.repeated_folds(args, lines)
    for fold, rest, held_out in tqdm(folds, desc="folds", disable=None):
        splits = training.make_splits(folder / fold, lang, rest, None, held_out)
        _, systems = train_systems(args, splits, settings)
        rows += [[fold, *x] for x in fold_rows(systems)]
    columns = ["repeat-fold", "system", "P|.2f", "R|.2f", "F1|.2f", "records|.2f"]
    harness.report(
        args,
        f"{args.data.resolve().name}, {len(lines)} docs of "
        f"{' + '.join(path.stem for path in files)}, {args.cv} folds, {args.repeats} "
        "time(s)",
        harness.table([*columns, "CPU s|.1f", "difference|+.2f"], rows),
        "Means; ±: standard deviation of a fold, of differences the standard error:",
        mean_table(rows, settings),
        folds=rows,
    )


def fold_rows(systems: dict[str, Any]) -> Iterator[list[Any]]:
    """What the systems have found on a fold, and F1 of the first less theirs."""
    first: float | None = None
    for name, figures in systems.items():
        p, r, f = (100 * figures["scores"]["micro"][x] for x in "prf")
        records = exactness_of(figures["scores"]).records
        apart = None if first is None else first - f
        first = f if first is None else first
        yield [name, p, r, f, records, figures["training, CPU s"], apart]


def mean_table(rows: list[list[Any]], settings: dict[str, Any]) -> str:
    """What all folds say together, a row for each system."""
    table = []
    for name in dict.fromkeys(row[1] for row in rows):
        columns = zip(*(row[4:] for row in rows if row[1] == name))
        f1s, records, cpu_s, apart = map(list, columns)
        c1, c2 = settings.get(name, (None, None))
        means = harness.with_spread(f1s), harness.with_spread(records)
        less = harness.difference(apart) if name in settings else None
        table.append([name, *means, harness.with_spread(cpu_s, ".1f"), less, c1, c2])
    columns = ["system", "F1", "records", "CPU s", "difference", "c1|g", "c2|g"]
    return harness.table(columns, table)


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Measure on test, or on folds."""
    if not args.cv and (args.all or args.repeats > 1):
        sys.exit("--all and --repeats go with --cv")
    (cross_validate if args.cv else measure_once)(args, folder)


OPTIONS = {
    "--peer": dict(nargs="+", choices=PEERS, default=[], help="see above"),
    "--all": flag("with --cv: folds of train, dev and test"),
}
SHARED = "data --config --overrides --cv --repeats --max-train --runs --json"
main = script(__doc__, measure, f"{SHARED} --peer-settings --peer-sample", OPTIONS)

if __name__ == "__main__":
    main()
