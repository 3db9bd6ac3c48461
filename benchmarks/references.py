"""References of styles that no training line has: Cora, AnyStyle, GROBID, LinkedBooks.

    python benchmarks/references.py ../data --models demo/model-last --test
    python benchmarks/references.py ../data --seeds 1 2 3 --test

DATA has the folders cora, anystyle, grobid_citation and linkedbooks, which nothing is
trained on. --models have the labels of corpus/README.md; without, one is trained for
each seed on lines of `corpus/grammar.py`, order 4 with Viterbi, and keeps --keep of its
weights. Without --test, 600 references of train are read, and none of LinkedBooks.

Ten core labels are compared, see `MAPS`. Spans are compared without separators and cue
words ("pp.", "(eds.)", "In:") at their ends, in gold as in what was found, since
guidelines differ on these; a volume and its number are one span. Tokens become text by
the rules of print (`detokenize`), the same for all models; brackets of treebanks
("-LRB-") are brackets. F1 is that of spans, records the share of references without an
error, in per cent.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean

import harness
import spacy
from arguments import number, script
from harness import Marked
from scores import Exactness, exactness
from spacy.language import Language

from spacy_hosemi import use_field_tokenizer
from spacy_hosemi.explain import find_threshold

Span = tuple[int, int, str]
SETS = dict.fromkeys(["cora", "anystyle", "grobid_citation", "linkedbooks"], ["test"])
SETS["grobid_citation"] = ["dev", "test"]
N_TRAIN, SHUT = 600, "linkedbooks"
CORE = "author title journal booktitle editor volume date pages publisher location"
SAME = {label: label for label in CORE.split()}
# The label of a set or of ours -> a core label; others are left out.
MAPS: dict[str, Mapping[str, str]] = {
    "cora": SAME,
    # The issuer of a report, and the university of a thesis, is a publisher there.
    "anystyle": SAME | {"container-title": "booktitle", "institution": "publisher"},
    # "title:m" is a book or the proceedings; without "title:a" it is the whole work.
    "grobid_citation": SAME
    | {"title:a": "title", "title:j": "journal", "title:m": "booktitle"}
    | dict.fromkeys(["biblScope:vol", "biblScope:volume", "biblScope:issue"], "volume")
    | dict.fromkeys(["biblScope:pp", "biblScope:page", "biblScope:pages"], "pages")
    | dict.fromkeys(["pubPlace", "pubplace"], "location"),
    # One label for all titles: of the work, of what holds it, of a journal.
    "linkedbooks": {x: x for x in ("author", "publisher", "volume", "date", "pages")}
    | dict.fromkeys(["title", "journal", "booktitle"], "title")
    | {"year": "date", "pagination": "pages"}
    | dict.fromkeys(["publicationplace", "location"], "location"),
}
BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "``": '"'}
EDS = "edited by|eds?|editors?|sous la dir|dir|hrsg|hg|a cura di|in"
VOLUME = "vol|vols?|volumes?|v|bd|band|tome?|nos?|nr|num|number|n|issue|h|heft"
BEFORE = {
    "editor": f"{EDS}|en|dans|de",
    **dict.fromkeys(["booktitle", "journal"], "in|en|dans"),
    "location": "and|und|et",
    "pages": "pp?|pages?|pgs?|s",
    "volume": f"{VOLUME}|제|권|第|卷",
}
AFTER = {"editor": f"{EDS}|and", "pages": "pp?|pages|ss?", "volume": "권|호|집|卷|期"}
CUE = {y: re.compile(rf"(?i:{x})(?![^\W\d_])") for y, x in BEFORE.items()}
CUE_AFTER = {y: re.compile(rf"(?<![^\W\d_])(?i:{x})$") for y, x in AFTER.items()}
SEPARATORS = re.compile(r"[\W_]*")
ADDRESS = re.compile(r"(?:https?:|www\.|10\.\d{4,}/)\S*$")
SIGNS = tuple("/.:-_?=&#~%")


def trim(text: str, span: Span) -> Span | None:
    """Leave separators and cue words out at both ends; None if nothing is left."""
    start, end, label = span
    last = None
    while last != (start, end):
        last = start, end
        start = SEPARATORS.match(text, start, end).end()  # type: ignore[union-attr]
        while end > start and not text[end - 1].isalnum():
            end -= 1
        if label in CUE and (cue := CUE[label].match(text, start, end)):
            start = cue.end() if cue.end() < end else start
        if label in CUE_AFTER and (cue := CUE_AFTER[label].search(text, start, end)):
            end = cue.start()
    return (start, end, label) if start < end else None


def core(text: str, spans: Iterable[Span], labels: Mapping[str, str]) -> set[Span]:
    """Map labels and trim spans; neighbours of one label with nothing but separators
    and cue words between them are one span."""
    joined: list[Span] = []
    for i, j, y in sorted((i, j, labels[y]) for i, j, y in spans if y in labels):
        if joined and joined[-1][2] == y:
            between = CUE.get(y, SEPARATORS).sub("", text[joined[-1][1] : i])
            if not re.search(r"[^\W_]", between):
                i = joined.pop()[0]
        joined.append((i, j, y))
    return {found for span in joined if (found := trim(text, span))}


def has_space(text: str, before: str, token: str, after: str) -> bool:
    """Guess by the rules of print whether there was a space before a token."""
    if token[0] in ",.;:)]}?!%»”’'-‐–—/" or before[-1] in "([{“‘«’-‐–—/":
        return False
    if ADDRESS.search(text) and (token[0] in SIGNS or before in SIGNS):
        return before == "." and token[0].isupper()
    if before == "'":
        is_part = token.isdigit() or token in ("s", "t", "re", "ll")
        return not is_part and len(text.split()[-1]) > 3 and text[-3:] != "ll'"
    if token == "(" and before[-1].isdigit():
        return not (after.isdigit() and len(after) < 4)
    if before in (".", ":") and token[0].isdigit():
        return not text[-2:-1].isdigit() and text[-2:-1] != ")" and text[-4:] != "Xiv:"
    return True


def detokenize(tokens: Sequence[str], spaced: bool) -> tuple[str, list[list[int]]]:
    """Write tokens as text, by spaces alone if they are spaced. Returns it, and where
    each token lies."""
    tokens = [BRACKETS.get(x, x).replace("\\/", "/").replace("''", '"') for x in tokens]
    text, places, n_quotes = "", [], 0
    for before, token, after in zip(["", *tokens], tokens, [*tokens[1:], ""]):
        n_quotes += token == '"'
        if spaced or not before:
            space = before != ""
        elif token == '"' or (before == '"' and token[0] not in ",.;:)?!"):
            space = n_quotes % 2 == (token == '"')
        else:
            space = has_space(text, before, token, after)
        text += " " * space + token
        places.append([len(text) - len(token), len(text)])
    return text, places


def read(path: Path, name: str) -> Iterator[Marked]:
    """Read references of a set as text, with core labels."""
    for record in map(json.loads, harness.read_lines(path)):
        text, places = detokenize(record["tokens"], name == "anystyle")
        spans = [(places[i][0], places[j - 1][1], y) for i, j, y in record["spans"]]
        is_whole = "title:a" not in {y for *_, y in spans}
        labels = {**MAPS[name], **({"title:m": "title"} if is_whole else {})}
        yield text, sorted(core(text, spans, labels))


def train(seed: int, args: argparse.Namespace) -> tuple[Language, float]:
    """Train on lines of the grammar and prune. Returns the pipeline and CPU seconds."""
    import grammar

    nlp = spacy.blank("xx")
    use_field_tokenizer(nlp)
    features = {"@misc": "spacy_hosemi.features.v1", "pieces": True, "one_dash": True}
    model = {"@architectures": "spacy_hosemi.SpanScorer.v1", "features": features}
    patterns = {"max_order": 4, "pattern_min_count": 8, "decoding": "viterbi"}
    pipe = nlp.add_pipe("hosemi", config={**patterns, "model": model})
    lines = grammar.make_lines(args.lines, seed)
    began = time.process_time()
    settings = {"progress": False, "l2": 0.1, "tolerance": 1e-3, "prune": 0.0}
    pipe.fit([(x["text"], x["spans"]) for x in lines], nlp=nlp, **settings)
    seconds = time.process_time() - began
    pipe.prune(find_threshold(pipe, args.keep))
    return nlp, seconds


def judge(nlp: Language, name: str, args: argparse.Namespace) -> Exactness:
    """Compare with a set."""
    parts = SETS[name] if args.test else ["train"]
    paths = [args.data / name / f"{part}.jsonl" for part in parts]
    docs = [doc for path in paths for doc in read(path, name)]
    docs = docs if args.test else harness.shuffled(docs)[:N_TRAIN]
    predicted = nlp.pipe(text for text, _ in docs)
    found = [core(x.text, harness.spans_of(x), MAPS[name]) for x in predicted]
    return exactness(found, (set(spans) for _, spans in docs))


def measure(args: argparse.Namespace, folder: Path) -> None:
    names = [x for x in SETS if args.test or x != SHUT]
    rows = []
    for model in args.models or args.seeds:
        nlp, seconds = (spacy.load(model), None) if args.models else train(model, args)
        nlp.to_disk(folder / "model")
        sizes = (x.stat().st_size for x in folder.rglob("*") if x.is_file())
        scores = [figure for name in names for figure in judge(nlp, name, args)]
        rows.append([str(model), *scores, seconds, sum(sizes) / harness.MB])
    if len(rows) > 1 and not args.models:
        rows.append(["mean", *map(mean, list(zip(*rows))[1:])])
    columns = [f"{x}|.1f" for name in names for x in (f"{name} F1", "records")]
    table = harness.table(["model", *columns, "CPU s|.0f", "MB|.2f"], rows)
    harness.report(args, "References of unseen styles", table, rows=rows)


OPTIONS = {
    "--seeds": number([1], "of the lines"),
    "--lines": number(4800, "lines to train on"),
    "--keep": number(0.028, "share of the weights to keep", 0.0),
}
main = script(__doc__, measure, "data --models --test --json", OPTIONS)

if __name__ == "__main__":
    main()
