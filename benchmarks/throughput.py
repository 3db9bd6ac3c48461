"""How many tokens a second systems predict, at first sight and again, on one thread.

    python benchmarks/throughput.py ../data/anystyle --kind references

"First sight" is what a stranger gets: a pipeline that was just loaded, and has seen a
few documents of train only, meets each document once, with words as they come. "Again"
are the same documents directly after that. Ways:

- text-pipe: `nlp.pipe(texts)`, raw;     doc-pipe: from Docs, with tokens as trained;
- text-call: `nlp(text)`, one by one;     doc-call: `nlp(doc)`, with tokens as trained;
- text-extract: `spacy_hosemi.extract(nlp, texts)`, which always has confidences.

Systems:

- hosemi: what `hosemi init --for KIND` writes, or --config, trained on train, and the
  same with --lists; or the models given. "confidence" computes the probability of each
  span, too; "mbr" or "viterbi" has that `decoding`, the other than the model's own;
- crfsuite: a linear chain of python-crfsuite on features as one would write them by
  hand, plain Python lists of strings (`plain_features.py`), without lists of names,
  from words to spans of words, without a Doc; texts are cut by a regular expression.
  "confidence" asks for the marginal of every tag that it gives; "features ready" leaves
  out making features and CRFsuite's items;
- usaddress: `usaddress.parse(text)`, which has a model of its own;
- ner, spancat: what `spacy init config` writes for a CPU, trained a few steps only.

All run in this process and take turns, in an order that changes, a tenth of the
documents at a time: a processor that others use, too, may change its speed by half
within a second. Figures are medians of the passes after a first one, ratios those of
the medians. Tokens, for all systems, are those as trained, or those of raw text by the
first system: the title says how far they agree. No scores are printed: nothing is
learnt of test.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle, islice, pairwise, product
from pathlib import Path
from statistics import median
from typing import Any

import harness
import predictors
import spacy
import training
from arguments import number, script, some_of
from peers import fit_peer
from spacy.tokens import Doc, DocBin
from spacy.training import Corpus
from spacy.util import load_model
from tqdm import tqdm

SYSTEMS = ("hosemi", "crfsuite", "usaddress", "ner", "spancat")
FEW_STEPS = 20
DIGIT = re.compile(r"\d")
N_WARM = 20
N_PARTS = 10

Loaders = dict[str, Callable[[], predictors.Ready]]


def make_systems(
    args: argparse.Namespace, splits: training.Splits, folder: Path
) -> Loaders:
    """Train, or take the models, that are asked for."""
    found: Loaders = {}
    models = args.models or [*trained(args, splits, folder)]
    if "hosemi" in args.systems:
        for model in models:
            for name, settings in predictors.variants(model).items():
                load = partial(predictors.pipeline, model, **settings)
                found[f"hosemi {name}"] = load
    if "crfsuite" in args.systems:
        peer = fit_peer(models[0], splits, "crfsuite-plain", args.peer_settings)
        found["crfsuite"] = partial(predictors.chain, peer.path)
        found["crfsuite, confidence"] = partial(predictors.chain, peer.path, True)
        found["crfsuite, features ready"] = partial(predictors.ready_chain, peer.path)
    if "usaddress" in args.systems:
        found["usaddress"] = predictors.usaddress
    for name in {"ner", "spancat"}.intersection(args.systems):
        lang = training.config_lang(args.config)
        model = few_steps(name, splits, folder / name, lang)
        found[name] = partial(predictors.pipeline, model)
    return found


def trained(
    args: argparse.Namespace, splits: training.Splits, folder: Path
) -> list[Path]:
    """Returns the models of hosemi, without and with lists."""
    configs = {"hosemi": args.config}
    if args.kind:
        configs["hosemi"] = training.write_init(folder / "init.cfg", args.kind)
    if args.lists:
        kind, path = args.kind or "fields", folder / "lists.cfg"
        configs["lists"] = training.write_init(path, kind, args.lists)
    models = []
    for name, config in configs.items():
        model, _, _ = training.train(config, splits, args.overrides)
        models.append(model.rename(folder / name))
    return models


def few_steps(name: str, splits: training.Splits, folder: Path, lang: str) -> Path:
    """Train `ner` or `spancat` for its speed only. RETURNS (Path): The model."""
    folder.mkdir()
    config = folder / "config.cfg"
    training.write_spacy_config(config, lang, name)
    nlp = spacy.blank(lang)
    paths = {}
    for part in ("train", "dev"):
        docs = [x.reference for x in Corpus(getattr(splits, part))(nlp)]
        for doc in docs:
            doc.spans["sc"] = doc.ents
        paths[part] = folder / f"{part}.spacy"
        DocBin(docs=docs, store_user_data=True).to_disk(paths[part])
    keys = "max_steps", "eval_frequency"
    overrides = [f"training.{key}={FEW_STEPS}" for key in keys]
    own = replace(splits, folder=folder, **paths)
    return training.train(config, own, overrides)[0]


def timed(
    loaders: Loaders,
    ways: Sequence[str],
    warm: Sequence[predictors.Given],
    docs: Sequence[predictors.Given],
    n_passes: int,
) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """Time all systems in turns; each sees the warm documents before the clock starts.
    Returns CPU seconds at first sight, and again, of each pass by system and way."""
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    borders = [i * len(docs) // N_PARTS for i in range(N_PARTS + 1)]
    parts = [docs[i:j] for i, j in pairwise(borders) if i < j]
    for turn in tqdm(range(1 + n_passes), desc="passes", disable=None):
        for way in ways:
            all_systems = {name: load() for name, load in loaders.items()}
            systems = {x: y for x, y in all_systems.items() if way in y.runs}
            for system in systems.values():
                system.run(way, system.inputs(way, warm))
            seconds = {name: [0.0, 0.0] for name in systems}
            for k, part in product((0, 1), parts):
                for name in random.sample([*systems], len(systems)):
                    given = systems[name].inputs(way, part)
                    took, result = harness.timed(partial(systems[name].run, way), given)
                    assert len(result) == len(part)
                    seconds[name][k] += took
            for name, (first, again) in seconds.items() if turn else ():
                found.setdefault((name, way), []).append((first, again))
    return found


def with_other_digits(docs: list[predictors.Given], n: int) -> list[predictors.Given]:
    """Returns n documents: these, and again with other digits at random."""
    draw = random.Random(harness.SEED)
    other = partial(DIGIT.sub, lambda _: draw.choice("0123456789"))
    copies = (([*map(other, words)], spaces) for words, spaces in cycle(docs))
    return [*docs[:n], *islice(copies, max(0, n - len(docs)))]


def speed_table(
    seconds: dict[tuple[str, str], list[tuple[float, float]]],
    n_tokens: dict[str, int],
    n_docs: int,
) -> str:
    """The speeds, and how they compare with CRFsuite's in the same way."""
    rows = []
    for (name, way), found in seconds.items():
        cells: list[Any] = [name, way]
        peer = seconds.get(("crfsuite", way))
        for k in (0, 1):
            own = [pair[k] for pair in found]
            n = n_tokens[way.partition("-")[0]]
            slow, fast = n / max(own), n / min(own)
            cells += [n / median(own), f"{slow:,.0f} - {fast:,.0f}"]
            cells.append(peer and median(x[k] for x in peer) / median(own))
            cells.append(1e6 * median(own) / n_docs)
        rows.append(cells)
    columns = ["system", "way"]
    for when in ("first sight", "again"):
        columns += [f"{when}: tokens/s|,.0f", "range", "/ crfsuite|.2f", "us/doc|,.0f"]
    return harness.table(columns, rows)


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Train, measure, and print the table."""
    splits = training.read_splits(args, folder, args.config, has_dev=False)
    loaders = make_systems(args, splits, folder)
    nlp = load_model(next(iter(args.models), folder / "hosemi"))
    docs, warm = (
        [predictors.given(example.predicted) for example in Corpus(path)(nlp)]
        for path in (splits.test, splits.train)
    )
    if args.other_digits:
        docs = with_other_digits(docs, args.other_digits)
    seconds = timed(loaders, args.ways, warm[:N_WARM], docs, args.passes)
    raw = [nlp.make_doc(predictors.text_of(x)) for x in docs]
    pairs = [(Doc(nlp.vocab, *x), y) for x, y in zip(docs, raw)]
    places = [[{(t.idx, len(t)) for t in doc} for doc in pair] for pair in pairs]
    n_tokens = {"doc": sum(len(x) for x, _ in pairs), "text": sum(map(len, raw))}
    share = sum(len(x & y) for x, y in places) / n_tokens["doc"]
    harness.report(
        args,
        f"{args.data.resolve().name}: {len(docs)} docs, {n_tokens['doc']} tokens as "
        f"trained, {n_tokens['text']} of raw text, which has {share:.0%} of those; "
        f"{args.passes} passes; trained on {splits.n_docs['train']} docs",
        speed_table(seconds, n_tokens, len(docs)),
        n_tokens=n_tokens,
        seconds={" / ".join(key): value for key, value in seconds.items()},
    )


OPTIONS = {
    "--systems": some_of(SYSTEMS),
    "--ways": some_of(predictors.WAYS),
    "--other-digits": number(None, "predict N texts, again with other digits"),
}
SHARED = "data --config --overrides --models --kind --lists --passes --max-train"
DEFAULTS = {"kind": None, "passes": 5, "max_train": 1000, "peer_settings": (0.05, 0.1)}
SHARED += " --max-docs --peer-settings --runs --json"
main = script(__doc__, measure, SHARED, OPTIONS, **DEFAULTS)

if __name__ == "__main__":
    main()
