"""How much dirt in the text costs: what a PDF, a web page or a font leaves in it.

    python benchmarks/dirty_text.py corpus

A component with the default settings, with `pieces` and `one_dash` as in the config for
references, is trained on clean texts and then reads test.jsonl (with --dev, dev.jsonl)
as it is and with each kind of dirt. Given tokens have a space between them. F1 is that
of spans, records the share of documents in which all spans are right; both are compared
with the gold character by character, in per cent. "glued" are references as Vancouver
style has them, 1950;59(236):433-460, made of the corpus of this project: publications
that no training document has; "spaced" are the same before spaces were taken out. us is
the CPU time of a document with the tokenizer, words met before: the least of five
passes. --sizes: the share of unusual ones among other records, after training on N.

--raw: clean_text = false; --tokenizer spacy: with both and --no-pieces as in 0.1.0.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import harness
import numpy as np
import spacy
from arguments import flag, number, script
from scores import Exactness, exactness
from spacy.language import Language

from spacy_hosemi import use_field_tokenizer

# What stands before a character, the character itself, and what stands after it.
Piece = tuple[str, str, str]
# No records, of the margins of a list of references.
LINES = (
    "References/REFERENCES/5 Conclusion and Future Work/Acknowledgments/Bibliography/"
    "Appendix A. Proofs/Notes/3.2 Related work/Further reading/Literature cited/12/xiv/"
    "- 345 -/Page 3 of 20/© 2004 Elsevier/117/p. 9/Vol. 3, 2001/2/Volume 12 (2011) 345"
)
Dirt = Callable[[str, random.Random], list[Piece]]


def dirtied(marked: harness.Marked, dirt: Dirt) -> harness.Marked:
    """A text with dirt. Spans move with their first and last character; what the dirt
    puts before the first or after the last one is outside."""
    text, spans = marked
    pieces = dirt(text, random.Random(text))
    starts, ends, parts, size = [], [], [], 0
    for before, character, after in pieces:
        starts.append(size + len(before))
        ends.append(size + len(before) + len(character))
        size += len(before) + len(character) + len(after)
        parts.append(before + character + after)
    # Of a ligature the later characters are empty: it ends where it began.
    return "".join(parts), [(starts[i], ends[j - 1], y) for i, j, y in spans]


def each(change: Callable[[str], str]) -> Dirt:
    """Something else in the place of each character."""
    return lambda text, _: [("", change(c), "") for c in text]


def replacing(old: str, new: str) -> Dirt:
    """Another character in the place of one."""
    return each(lambda c: new if c == old else c)


def _new_lines(text: str, _: random.Random) -> list[Piece]:
    """Lines of at most 60 characters, where there are spaces."""
    found, size = [], 0
    for word in text.split(" "):
        if found:
            is_long = size + 1 + len(word) > 60
            found.append(("", "\n" if is_long else " ", ""))
            size = 0 if is_long else size + 1
        found += [("", c, "") for c in word]
        size += len(word)
    return found


def _hyphens(text: str, _: random.Random) -> list[Piece]:
    """A word divided after each 60 characters, the next one that has two lower-case
    letters on each side."""
    found, column = [], 0
    for k, c in enumerate(text):
        column += 1
        around = text[max(k - 1, 0) : k + 3]
        is_within = len(around) == 4 and around.isalpha() and around.islower()
        is_end = column >= 60 and is_within
        found.append(("", c, "-\n" if is_end else ""))
        column = 0 if is_end else column
    return found


def _within_words(sign: str) -> Dirt:
    """A character that is not seen between every tenth pair of letters or so."""

    def add(text: str, rng: random.Random) -> list[Piece]:
        pairs = [text[k : k + 2] for k in range(len(text))]
        are_within = (len(x) == 2 and x.isalpha() and rng.random() < 0.1 for x in pairs)
        return [("", c, is_within * sign) for c, is_within in zip(text, are_within)]

    return add


def _around_words(before: str, after: str) -> Dirt:
    """Characters that are not seen around every third word or so."""

    def add(text: str, rng: random.Random) -> list[Piece]:
        found, is_marked = [], False
        for k, c in enumerate(text):
            is_start = c != " " and (k == 0 or text[k - 1] == " ")
            is_end = c != " " and text[k + 1 : k + 2] in (" ", "")
            is_marked = rng.random() < 0.3 if is_start else is_marked
            signs = is_start * is_marked * before, is_end * is_marked * after
            found.append((signs[0], c, signs[1]))
        return found

    return add


def _ligatures(text: str, _: random.Random) -> list[Piece]:
    found = [("", c, "") for c in text]
    for letters, sign in (("ffi", "ﬃ"), ("ff", "ﬀ"), ("fi", "ﬁ"), ("fl", "ﬂ")):
        start = text.find(letters)
        while start >= 0:
            if all(found[start + k][1] == c for k, c in enumerate(letters)):
                found[start] = ("", sign, "")
                for k in range(1, len(letters)):
                    found[start + k] = ("", "", "")
            start = text.find(letters, start + 1)
    return found


DIRT: dict[str, Dirt] = {
    "no dirt": each(str),
    "double spaces": replacing(" ", "  "),
    "lines of 60 characters": _new_lines,
    "words divided at line ends": _hyphens,
    "no-break spaces": replacing(" ", "\xa0"),
    "tabs": replacing(" ", "\t"),
    "soft hyphens": _within_words("\xad"),
    "zero-width spaces": _within_words("\u200b"),
    "marks of direction": _around_words("\u200e", "\u200f"),
    "byte order mark": lambda text, _: [
        ("" if k else "\ufeff", c, "") for k, c in enumerate(text)
    ],
    "ligatures": _ligatures,
    "full width": each(lambda c: chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c),
    "decomposed accents": each(partial(unicodedata.normalize, "NFD")),
    **{f"{c!a} for dashes": each(partial(re.sub, "[-–—]", c)) for c in "‐‑−"},
    r"'\ufffd' for dashes between digits": lambda text, _: [
        ("", c, "") for c in re.sub(r"(?<=\d)( ?)[-–—](?= ?\d)", "\\1\ufffd", text)
    ],
}


def vancouver(n_most: int = 150) -> list[harness.Marked]:
    """References to articles in Vancouver style."""
    import make

    splits = make.divide(
        make.read(harness.ROOT / "corpus" / "publications.jsonl"), random.Random(1)
    )
    known = {
        json.loads(x)["publication"]
        for x in harness.read_lines(harness.ROOT / "corpus" / "train.jsonl")
    }
    pubs = [pub for pubs in splits.values() for pub in pubs]
    pubs = [pub for pub in pubs if pub["kind"] == "article" and pub["id"] not in known]
    found = []
    for pub in pubs[:n_most]:
        record = make.render(pub, "vancouver", random.Random(pub["id"]))
        found.append((record["text"], [(i, j, y) for i, j, y in record["spans"]]))
    return found


def glued(marked: harness.Marked) -> harness.Marked:
    """A reference without spaces after its date."""
    text, spans = marked
    first = min(i for i, _, label in spans if label == "date")
    pieces = [
        ("", "" if c == " " and k > first and text[k - 1] in ";:" else c, "")
        for k, c in enumerate(text)
    ]
    return dirtied(marked, lambda *_: pieces)


def no_records(path: Path) -> dict[str, list[str]]:
    """A hundred lines that are no single record; sentences if they are at hand."""
    texts, rng = harness.read_marked(path / "test.jsonl"), random.Random(0)
    found: dict[str, list[str]] = {"headings and lines of a page": LINES.split("/")}
    for n, marks in (2, [" ", "; ", "\n", ""]), (3, [" "]):
        pairs = [(mark, rng.sample(texts, n)) for mark in 10 * marks]
        found[f"{n} references"] = [mark.join(t for t, _ in x) for mark, x in pairs]
    others = (path.parent / x / "test.jsonl" for x in ("wnut17", "ncbi_disease"))
    for file in filter(Path.exists, others):
        sentences = [text for text, _ in harness.read_marked(file) if text[40:]]
        found[f"sentences of {file.parent.name}"] = rng.sample(sentences, 15)
    return found


def measure_records(nlp: Language, texts: Sequence[str]) -> list[float]:
    """Returns how many there are; % above .5, unusual, above .5 and not unusual."""
    facts, p, odd = nlp.get_pipe("hosemi").facts, [], []
    for doc in nlp.pipe(texts):
        p.append(doc._.record_confidence > 0.5)
        odd.append(facts.is_unusual([x.label_ for x in doc.ents], doc.text))
    sure, unusual = np.array(p), np.array(odd)
    return [len(p), *(100 * x.mean() for x in (sure, unusual, sure & ~unusual))]


def measure_size(args: argparse.Namespace, n: int) -> list[float]:
    """Returns % of other records called unusual: by gold, as read, as read rightly."""
    files, odd = sorted(args.data.glob("t*.jsonl")), []
    for seed in range(8):
        docs = harness.shuffled(sum(map(harness.read_marked, files), []), seed)
        nlp = train(args, docs[:n])
        is_unusual = nlp.get_pipe("hosemi").facts.is_unusual
        for text, gold in docs[n : n + 500]:
            read = harness.spans_of(nlp(text))
            ours, theirs = (is_unusual([y for *_, y in x], text) for x in (read, gold))
            odd.append([theirs, ours, ours and {*read} == {*gold}])
    return (100 * np.mean(odd, axis=0)).tolist()


def measure_texts(nlp: Language, docs: Sequence[harness.Marked]) -> Exactness:
    """How exact spans are, in characters."""
    found = map(harness.spans_of, nlp.pipe(text for text, _ in docs))
    return exactness(map(set, found), ({*spans} for _, spans in docs))


def measure_time(nlp: Language, docs: Sequence[harness.Marked]) -> float:
    """Returns CPU time of a document (us)."""
    texts = [text for text, _ in docs]
    call = harness.Timed(lambda _: [*nlp.pipe(texts)])
    return 1e6 * min(harness.take_turns({"": call}, n_passes=5)[""]) / len(texts)


def train(args: argparse.Namespace, docs: Sequence[harness.Marked]) -> Language:
    nlp = spacy.blank(args.lang)
    if args.tokenizer == "field":
        use_field_tokenizer(nlp)
    flags = dict.fromkeys(("pieces", "one_dash"), args.pieces)
    features = {"@misc": "spacy_hosemi.features.v1", **flags}
    model = {"@architectures": "spacy_hosemi.SpanScorer.v1", "features": features}
    config = {"clean_text": not args.raw, "model": model}
    pipe = nlp.add_pipe("hosemi", config=config)
    pipe.fit(docs, nlp=nlp, progress=False)
    return nlp


def measure(args: argparse.Namespace, folder: Path) -> None:
    nlp = train(args, harness.read_marked(args.data / "train.jsonl"))
    docs = harness.read_marked(args.data / ("dev.jsonl" if args.dev else "test.jsonl"))
    rows, clean = [], None
    for name in args.only or DIRT:
        dirty = [dirtied(doc, DIRT[name]) for doc in docs]
        found, us = measure_texts(nlp, dirty), measure_time(nlp, dirty)
        clean = clean or found
        rows.append([name, *found, found.f1 - clean.f1, us])
    if args.data.resolve() == (harness.ROOT / "corpus").resolve():
        others = vancouver()
        spaced = measure_texts(nlp, others)
        joined = measure_texts(nlp, [*map(glued, others)])
        rows.append([f"spaced ({len(others)} others)", *spaced, 0.0, None])
        rows.append(["glued", *joined, joined.f1 - spaced.f1, None])
    sets = {"test": [text for text, _ in docs], **no_records(args.data)}
    lines = [[name, *measure_records(nlp, texts)] for name, texts in sets.items()]
    names = "lines", "n", "> .5|.0f", "unusual|.0f", "> .5, not unusual|.0f"
    print(harness.table(names, lines))
    for n in args.sizes:
        print(n, "documents; % unusual by gold, read, rightly:", measure_size(args, n))
    columns = ["dirt", "F1|.2f", "records|.2f", "F1, difference|+.2f", "us|.0f"]
    about = f"Tokenizer: {args.tokenizer}; clean_text = {not args.raw}."
    table = harness.table(columns, rows)
    harness.report(args, "Dirt in texts", about, table, rows=rows)


OPTIONS = {
    "--lang": dict(default="en", help="of the pipeline"),
    "--tokenizer": dict(choices=("field", "spacy"), default="field"),
    "--no-pieces": dict(dest="pieces", action="store_false", help="nor one_dash"),
    "--sizes": number([], "of trainings", nargs="*"),
    "--raw": flag("clean_text = false"),
    "--only": dict(nargs="+", choices=DIRT, metavar="KIND"),
}
main = script(__doc__, measure, "data --dev --json", OPTIONS)

if __name__ == "__main__":
    main()
