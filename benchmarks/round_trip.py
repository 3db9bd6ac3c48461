"""Does what `parse` writes come back, corrected in a spreadsheet and a text editor?

python benchmarks/round_trip.py ../data/anystyle --kind references --max-train 200
"""

import csv

import harness
from arguments import script
from dirty_text import measure_texts
from typer.testing import CliRunner

from spacy_hosemi.cli import hosemi_cli
from spacy_hosemi.formats import read_docs
from spacy_hosemi.inspection.pipelines import pipeline_of_kind


def correct_table(path, gold):
    rows = [*csv.reader(path.read_text("utf8").split("\n")[:-1])]
    for k, (text, spans) in gold.items():
        for at, label in enumerate(rows[0][2:-1], start=2):
            rows[k + 1][at] = " | ".join(text[i:j] for i, j, y in spans if y == label)
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file, delimiter=";").writerows(rows)  # as Excel saves them


def correct_lines(path, gold):
    lines = path.read_text("utf8").split("\n")
    for k, (text, spans) in gold.items():
        for i, j, y in reversed(spans):
            text = f"{text[:i]}\0{y}\1{text[i:j]}\0/{y}\1{text[j:]}"
        text = text.translate({0: "<", 1: ">", ord("&"): "&amp;", ord("<"): "&lt;"})
        lines[k + 2] = f"{lines[k + 2].split('>')[0]}>{text}</sequence>"
    path.write_text("\n".join(lines), "utf8")


def measure(args, folder):
    paths = args.data / "train.jsonl", args.data / "test.jsonl"
    known, test = map(harness.shuffled, map(harness.read_marked, paths))
    known, pool, rows, new = known[: args.max_train or -200], known[-200:], [], []

    def trained(marked):
        nlp = pipeline_of_kind(args.kind)
        nlp.get_pipe("hosemi").fit(marked, nlp=nlp, progress=False)
        rows.append([f"{len(marked)} trained", *measure_texts(nlp, test), *[None] * 4])
        return nlp

    nlp = trained(known)
    nlp.to_disk(folder / "m")
    (folder / "in").write_text("\n".join(text for text, _ in pool), "utf8")
    docs = [*nlp.pipe(text for text, _ in pool)]
    least = sorted(range(len(pool)), key=lambda k: docs[k]._.record_confidence)
    for form, correct in ("table", correct_table), ("xml", correct_lines):
        gold, least, out = {k: pool[k] for k in least[:30]}, least[30:], folder / form
        CliRunner().invoke(
            hosemi_cli, f"parse {folder}/m {folder}/in -F {form} -o {out}"
        )
        correct(out, gold)
        found = {x.text: harness.spans_of(x) for x in read_docs(out, nlp)}
        wanted = {x.text: harness.spans_of(x) for x in docs} | dict(gold.values())
        n_back = sum(len({*found.get(x, ())} & {*y}) for x, y in wanted.items())
        counts = len(wanted), len(found), sum(map(len, wanted.values())), n_back
        rows.append([form, None, None, *counts])
        new += [(text, found.get(text, ())) for text, _ in gold.values()]
    trained([*known, *new])
    columns = ["", "F1|.1f", "records|.1f", "lines|d", "back|d", "spans|d", "back|d"]
    harness.report(args, "Round trip", harness.table(columns, rows), rows=rows)


main = script(__doc__, measure, "data --kind --max-train --json")

if __name__ == "__main__":
    main()
