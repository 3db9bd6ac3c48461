"""What a list of names costs: time to build and to load, memory, matching.

    python benchmarks/gazetteers.py --lists ../data/gazetteers

Entries are the distinct lines of all .txt files of a folder; without one, the spans of
corpus/train.jsonl. A list of N entries is drawn by a fixed seed, and contains the
smaller lists. Where there are fewer than N, the rest are pairs, "entry A, entry B".
Pairs are about twice as long, so that memory and time of one are more than those of a
real entry; but they bring no new words, which the tokenizer (all attributes but ALNUM)
and spaCy's vocabulary work on.

A list is the only one of a component "hosemi". Its peer is spaCy's `entity_ruler` with
the same entries as patterns and `phrase_matcher_attr` for the attribute, which matches
them as rules; ALNUM has no counterpart there. What is measured, each row in two
processes of its own, one that builds and saves and one that loads and matches:

- build, CPU s: from the entries as strings to the compiled list;
- build, MB: the largest resident size while doing so, less what it was before;
- load, CPU s: `spacy.load` of the saved pipeline, which is blank but for the list;
- B an entry, resident: what loading adds to the resident size of a process that has
  loaded the same pipeline with an empty list before; B on disk: what saving adds;
- new strings: in the vocabulary that is loaded, beside that of the empty list;
- ms for 1,000 tokens, CPU: to find all matches in the documents of DATA_DIR's
  train.jsonl, batch by batch as in prediction, the median of passes after a warm-up;
  matches: in 1,000 tokens.

MB are 10^6 bytes. All on one thread.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import harness
import spacy
from arguments import number, path_to, script, some_of
from processes import in_process, peak_mb, reset_peak, resident_mb, size_mb
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch
from tqdm import tqdm

LIST, LABEL = "names", "NAME"


# ------------------------------------------------------------------------------ entries


def real_entries(lists: Path | None) -> list[str]:
    """Read the lines of all lists, or the spans of the corpus; each once."""
    if lists is None:
        path = harness.ROOT / "corpus" / "train.jsonl"
        docs = harness.read_docs(path, spacy.blank("en"))
        texts = [ent.text for doc in docs for ent in doc.ents]
    else:
        files = sorted(lists.glob("*.txt"))
        texts = [line for path in files for line in path.open(encoding="utf8")]
    return list(dict.fromkeys(filter(None, (" ".join(x.split()) for x in texts))))


def pairs(entries: Sequence[str], rng: random.Random) -> Iterator[str]:
    """Combine two entries; some come out twice."""
    while True:
        yield f"{rng.choice(entries)}, {rng.choice(entries)}"


def draw_entries(entries: Sequence[str], size: int) -> list[str]:
    """Draw distinct entries by a fixed seed, and combine those that are there where
    they do not suffice; the smaller lists are within the larger."""
    rng = random.Random(harness.SEED)
    drawn = dict.fromkeys(rng.sample(entries, len(entries)))
    combined = pairs(list(drawn), rng)
    while len(drawn) < size:
        drawn.setdefault(next(combined))
    return list(drawn)[:size]


# ------------------------------------------------------------ the two kinds of pipeline


def make_pipeline(system: str, attr: str) -> Language:
    """Make the pipeline of a system with an empty list."""
    nlp = spacy.blank("en")
    if system == "entity_ruler":
        nlp.add_pipe(system, config={"phrase_matcher_attr": attr})
    else:
        setting = {"@misc": "spacy_hosemi.gazetteer.v1", "attr": attr}
        nlp.add_pipe(system, config={"model": {"gazetteers": {LIST: setting}}})
    return nlp


def put_entries(nlp: Language, system: str, entries: Sequence[str]) -> None:
    """Give a pipeline its entries."""
    component: Any = nlp.get_pipe(system)
    if system == "hosemi":
        component.weights.extractor.gazetteers.compile(LIST, entries, nlp)
    else:
        component.add_patterns([{"label": LABEL, "pattern": x} for x in entries])


def matcher(nlp: Language, system: str) -> Callable[[list[Doc]], int]:
    """Give what counts the matches of a batch, those within others included."""
    component: Any = nlp.get_pipe(system)
    if system == "hosemi":
        gazetteers = component.weights.extractor.gazetteers
        return lambda docs: len(gazetteers.matches(docs).start)
    return lambda docs: sum(len(component.phrase_matcher(doc)) for doc in docs)


# ------------------------------------------------------------ in processes of their own


def build(
    system: str, attr: str, entries_path: str, saved: str, empty: str
) -> dict[str, float]:
    """Build and save a pipeline, and one with an empty list."""
    entries = Path(entries_path).read_text(encoding="utf8").splitlines()
    make_pipeline(system, attr).to_disk(empty)
    nlp = make_pipeline(system, attr)
    gc.collect()
    reset_peak()
    before, began = peak_mb(), time.process_time()
    put_entries(nlp, system, entries)
    seconds = time.process_time() - began
    found = {"build_cpu_s": seconds, "build_mb": peak_mb() - before}
    nlp.to_disk(saved)
    return found


def load(system: str, saved: str, empty: str, data: str) -> dict[str, float]:
    """Load a pipeline and find the matches in the documents of a file."""
    n_strings = len(spacy.load(empty).vocab.strings)
    gc.collect()
    before, began = resident_mb(), time.process_time()
    nlp = spacy.load(saved)
    seconds = time.process_time() - began
    gc.collect()
    found = {
        "load_cpu_s": seconds,
        "resident_mb": resident_mb() - before,
        "new_strings": len(nlp.vocab.strings) - n_strings,
    }
    words = [[t.text for t in x] for x in harness.read_docs(data, spacy.blank("en"))]
    count, n_matches = matcher(nlp, system), []
    timed = harness.Timed(
        lambda docs: sum(map(count, minibatch(docs, nlp.batch_size))),
        lambda: [Doc(nlp.vocab, words=x) for x in words],
        n_matches.append,
    )
    thousands = sum(map(len, words)) / 1_000
    seconds = median(harness.take_turns({system: timed})[system])
    found["ms"] = 1_000 * seconds / thousands
    found["matches"] = n_matches[-1] / thousands
    return found


# ---------------------------------------------------------------------------- the table


def measure_one(
    system: str, attr: str, entries: Sequence[str], data: Path, folder: Path
) -> dict[str, Any]:
    """What `build` and `load` report of one system with one list, and size on disk."""
    path, saved, empty = (folder / x for x in ("entries.txt", "saved", "empty"))
    path.write_text("".join(f"{entry}\n" for entry in entries), encoding="utf8")
    built, _ = in_process(build, system, attr, path, saved, empty)
    loaded, _ = in_process(load, system, saved, empty, data)
    found = {"entries": len(entries), "attr": attr, "system": system, **built, **loaded}
    found["resident_b"] = harness.MB * found.pop("resident_mb") / len(entries)
    disk_mb = size_mb(saved) - size_mb(empty)
    return {**found, "disk_b": harness.MB * disk_mb / len(entries)}


COLUMNS = {"entries|,d": "entries", "attr": "attr", "system": "system"}
COLUMNS |= {"build, CPU s|.2f": "build_cpu_s", "build, MB|,.0f": "build_mb"}
COLUMNS |= {"load, CPU s|.2f": "load_cpu_s", "B an entry, resident|,.0f": "resident_b"}
COLUMNS |= {"B on disk|,.0f": "disk_b", "new strings|,d": "new_strings"}
COLUMNS |= {"ms for 1,000 tokens|.2f": "ms", "matches|,.0f": "matches"}


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Measure each size, attribute and system, and print the table."""
    entries, data = real_entries(args.lists), args.data / "train.jsonl"
    if max(args.sizes) > len(entries) ** 2 // 2:
        sys.exit(f"--sizes: {len(entries)} entries make fewer pairs than asked for")
    drawn = draw_entries(entries, max(args.sizes))
    rows = [
        (system, attr, drawn[:size])
        for size in args.sizes
        for attr in args.attrs
        for system in ("hosemi", "entity_ruler")
        if system == "hosemi" or (attr != "ALNUM" and size <= args.peer_max)
    ]
    found = []
    for asked in tqdm(rows, desc="lists"):
        with tempfile.TemporaryDirectory(dir=folder) as own:
            found.append(measure_one(*asked, data, Path(own)))
    harness.report(
        args,
        f"{len(entries):,} distinct entries of {args.lists or 'corpus/train.jsonl'}; "
        f"beyond, pairs of them; matched in {data}",
        harness.table([*COLUMNS], ([x[y] for y in COLUMNS.values()] for x in found)),
        found=found,
    )


ATTRS, CORPUS = ("ALNUM", "ORTH", "LOWER", "NORM"), harness.ROOT / "corpus"
OPTIONS = {
    "--lists": path_to("with entries as lines of .txt files, not the spans of CORPUS"),
    "--sizes": number([10_000, 100_000, 1_000_000], "entries"),
    "--attrs": some_of(ATTRS),
    "--peer-max": number(100_000, "measure the slow entity_ruler up to N entries", 0),
    "--data": path_to("matches are found in its train.jsonl", default=CORPUS),
}
main = script(__doc__, measure, "--json", OPTIONS)

if __name__ == "__main__":
    main()
