"""What a list of names costs: time to build and to load, memory, matching.

    python benchmarks/gazetteers.py --lists ../data/gazetteers
    python benchmarks/gazetteers.py --lists ../data/gazetteers --sizes 1000000
    python benchmarks/gazetteers.py --attrs LOWER --peer-max 0

Entries are the distinct lines of all .txt files of a folder; without one, the spans of
corpus/train.jsonl. A size takes so many of them, drawn by a fixed seed, the smaller
within the larger. Where they do not suffice, all are taken, and the rest are pairs of
two, "entry A, entry B". Then entries are about twice as long, so that memory and time
of one are more than those of a real one; but they bring no new words, which matters to
what works word by word: the tokenizer (all attributes but ALNUM), spaCy's vocabulary.

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

MB are 10^6 bytes. `!` marks what misses the limits for up to a million entries: built
in 15 CPU s, loaded in 2. All on one thread.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import measuring
import spacy
from convert import docs_from_jsonl
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch
from tqdm import tqdm

SYSTEMS = ("hosemi", "entity_ruler")
ATTRS = ("ALNUM", "ORTH", "LOWER", "NORM")
SIZES = (10_000, 100_000, 1_000_000)
LIMITS = {"build_cpu_s": 15.0, "load_cpu_s": 2.0}  # up to so many entries:
LIMITED = 1_000_000
LIST, LABEL = "names", "NAME"


# ------------------------------------------------------------------------------ entries


def real_entries(lists: Path | None) -> list[str]:
    """Read the lines of all lists, or the spans of the corpus; each once."""
    if lists is None:
        docs = docs_from_jsonl(
            measuring.ROOT / "corpus" / "train.jsonl", spacy.blank("en")
        )
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
    """Draw entries by a fixed seed, and combine them where they do not suffice.

    entries (Sequence[str]): n distinct ones.
    size (int): At most n * n / 2: beyond, few pairs would be new.
    RETURNS (List[str]): So many distinct ones, the smaller lists within the larger.
    """
    rng = random.Random(measuring.SEED)
    drawn = dict.fromkeys(rng.sample(entries, len(entries)))
    combined = pairs(list(drawn), rng)
    while len(drawn) < size:
        drawn.setdefault(next(combined))
    return list(drawn)[:size]


# ------------------------------------------------------------ the two kinds of pipeline


def hosemi_pipeline(attr: str) -> Language:
    """Make a pipeline with an empty list, as if it had been trained."""
    nlp = spacy.blank("en")
    setting = {"@misc": "spacy_hosemi.gazetteer.v1", "attr": attr}
    nlp.add_pipe("hosemi", config={"model": {"gazetteers": {LIST: setting}}})
    return nlp


def ruler_pipeline(attr: str) -> Language:
    """Make a pipeline with an empty ruler."""
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler", config={"phrase_matcher_attr": attr})
    return nlp


def make_pipeline(system: str, attr: str) -> Language:
    """Make the pipeline of a system, without entries."""
    return {"hosemi": hosemi_pipeline, "entity_ruler": ruler_pipeline}[system](attr)


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
        return lambda docs: len(gazetteers.matches_together(docs).start)
    return lambda docs: sum(len(component.phrase_matcher(doc)) for doc in docs)


# ------------------------------------------------------------ in processes of their own


def build(
    system: str, attr: str, entries_path: str, saved: str, empty: str, report: str
) -> None:
    """Build and save a pipeline, and one with an empty list.

    entries_path (str): One entry a line.
    saved, empty (str): Where the pipelines go.
    report (str): JSON file to write.
    """
    entries = Path(entries_path).read_text(encoding="utf8").splitlines()
    make_pipeline(system, attr).to_disk(empty)
    nlp = make_pipeline(system, attr)
    gc.collect()
    measuring.reset_peak()
    before, began = measuring.peak_mb(), time.process_time()
    put_entries(nlp, system, entries)
    seconds = time.process_time() - began
    found = {"build_cpu_s": seconds, "build_mb": measuring.peak_mb() - before}
    nlp.to_disk(saved)
    Path(report).write_text(json.dumps(found))


def load(system: str, saved: str, empty: str, data: str, report: str) -> None:
    """Load a pipeline and find the matches in some documents.

    data (str): The file whose documents are read.
    """
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
    words = [[t.text for t in x] for x in docs_from_jsonl(data, spacy.blank("en"))]
    count = matcher(nlp, system)
    times = []
    for _ in range(1 + measuring.N_PASSES):
        docs = [Doc(nlp.vocab, words=x) for x in words]
        began = time.process_time()
        n_matches = sum(map(count, minibatch(docs, nlp.batch_size)))
        times.append(time.process_time() - began)
    thousands = sum(map(len, words)) / 1_000
    found["ms"] = 1_000 * median(times[1:]) / thousands
    found["matches"] = n_matches / thousands
    Path(report).write_text(json.dumps(found))


def resident_mb() -> float:
    """The resident size of this process, in MB."""
    import psutil

    return psutil.Process().memory_info().rss / measuring.MB


# ---------------------------------------------------------------------------- the table


def measure(
    system: str, attr: str, entries: Sequence[str], data: Path, folder: Path
) -> dict[str, Any]:
    """Measure one system with one list.

    data (Path): The file whose documents are matched.
    folder (Path): Where the processes may write.
    RETURNS (Dict[str, Any]): What `build` and `load` report, and sizes on disk.
    """
    path, report = folder / "entries.txt", folder / "report.json"
    saved, empty = folder / "saved", folder / "empty"
    path.write_text("".join(f"{entry}\n" for entry in entries), encoding="utf8")
    measuring.measured(
        measuring.call(build, system, attr, path, saved, empty, report), quiet=True
    )
    found = json.loads(report.read_text())
    measuring.measured(
        measuring.call(load, system, saved, empty, data, report), quiet=True
    )
    found |= json.loads(report.read_text())
    disk = measuring.size_mb(saved) - measuring.size_mb(empty)
    found |= {"system": system, "attr": attr, "entries": len(entries), "disk_mb": disk}
    return found


def row(found: dict[str, Any]) -> list[str]:
    """Write the figures of one list."""
    cells = {}
    for key in ("build_cpu_s", "load_cpu_s"):
        is_late = found["entries"] <= LIMITED and found[key] > LIMITS[key]
        misses = found["system"] == "hosemi" and is_late
        cells[key] = f"{found[key]:.2f}{'!' if misses else ''}"
    of_entry = measuring.MB / found["entries"]
    return [
        f"{found['entries']:,}",
        found["attr"],
        found["system"],
        cells["build_cpu_s"],
        f"{found['build_mb']:,.0f}",
        cells["load_cpu_s"],
        f"{found['resident_mb'] * of_entry:,.0f}",
        f"{found['disk_mb'] * of_entry:,.0f}",
        f"{found['new_strings']:,}",
        f"{found['ms']:.2f}",
        f"{found['matches']:,.0f}",
    ]


HEADER = (
    "entries",
    "attr",
    "system",
    "build, CPU s",
    "build, MB",
    "load, CPU s",
    "B an entry, resident",
    "B on disk",
    "new strings",
    "ms for 1,000 tokens",
    "matches",
)


def asked_for(args: argparse.Namespace) -> list[tuple[int, str, str]]:
    """RETURNS (list): Size, attribute and system of each row."""
    return [
        (size, attr, system)
        for size in args.sizes
        for attr in args.attrs
        for system in SYSTEMS
        if system == "hosemi" or (attr != "ALNUM" and size <= args.peer_max)
    ]


def arguments() -> argparse.Namespace:
    """Read and check the command line."""
    parser = argparse.ArgumentParser(
        description="Measure what lists of names cost: to build, load, hold and match; "
        "beside spaCy's entity_ruler.",
        epilog="Example: python benchmarks/gazetteers.py --lists ../data/gazetteers "
        "--attrs ALNUM LOWER",
    )
    add = parser.add_argument
    add(
        "--lists",
        type=Path,
        metavar="DIR",
        help="its .txt files have the entries, one a line (default: the spans of "
        "corpus/train.jsonl); larger sizes are made by combining two",
    )
    add(
        "--sizes",
        type=int,
        nargs="+",
        default=list(SIZES),
        metavar="N",
        help=f"entries (default: {' '.join(map(str, SIZES))})",
    )
    add(
        "--attrs",
        nargs="+",
        choices=ATTRS,
        default=list(ATTRS),
        metavar="ATTR",
        help=f"what is compared: some of {', '.join(ATTRS)} (default: all)",
    )
    add(
        "--peer-max",
        type=int,
        default=100_000,
        metavar="N",
        help="up to so many entries measure spaCy's entity_ruler, too, which takes its "
        "time; 0: not at all (default: %(default)s)",
    )
    add(
        "--data",
        type=Path,
        default=measuring.ROOT / "corpus",
        metavar="DATA_DIR",
        help="matches are found in its train.jsonl (default: %(default)s)",
    )
    add("--json", type=Path, metavar="FILE", help="append all figures as a JSON line")
    args = parser.parse_args()
    measuring.check_system(parser)
    if args.lists and not any(args.lists.glob("*.txt")):
        parser.error(f"--lists: there is no .txt file in {args.lists}")
    if not (args.data / "train.jsonl").is_file():
        parser.error(f"there is no {args.data / 'train.jsonl'}")
    if min(args.sizes) < 1:
        parser.error("--sizes are at least 1")
    if measuring.package_version("psutil") is None:
        parser.error("memory is read by psutil: pip install psutil")
    return args


def main() -> int:
    """Measure each size, attribute and system, and print the table."""
    args = arguments()
    entries = real_entries(args.lists)
    if max(args.sizes) > len(entries) ** 2 // 2:
        sys.exit(f"--sizes: {len(entries)} entries make fewer pairs than asked for")
    drawn = draw_entries(entries, max(args.sizes))
    found = []
    for size, attr, system in tqdm(asked_for(args), desc="lists"):
        with tempfile.TemporaryDirectory() as folder:
            data = args.data / "train.jsonl"
            found.append(measure(system, attr, drawn[:size], data, Path(folder)))
    where = measuring.environment()
    print(
        f"{len(entries):,} distinct entries of {args.lists or 'corpus/train.jsonl'}; "
        f"beyond, pairs of them. Documents: {args.data / 'train.jsonl'}.\n"
        f"{where['date']}, {where['cpu']}, one thread, commit {where['commit']}, "
        f"spaCy {where['versions']['spacy']}\n"
    )
    print(measuring.table(HEADER, map(row, found)))
    measuring.append_json(args.json, {"lists": str(args.lists), "found": found})
    return 0


if __name__ == "__main__":
    sys.exit(main())
