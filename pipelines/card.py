"""Makes the card of a pipeline: what it is made of, what it finds, where it fails.

    python ../card.py build/model          in the folder of the pipeline

Reads about.yml, the pipeline, build/scores.json of `spacy evaluate`, and corpus/; all
figures are of test. Writes README.md, licences and meta.json beside the weights.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

import spacy
import srsly
from spacy.language import Language
from spacy.tokens import Doc, DocBin

ROOT = Path(__file__).resolve().parents[1]
ERRORS = 0.01, 0.02, 0.05, 0.1  # what is promised at most
N_RECORDS = 20  # that are shown
CONFUSED = str.maketrans("l1O0emSaiu", "1l0Ocn5ojv")  # what OCR takes for what
Span = tuple[int, int, str]
About = dict[str, Any]


def hosemi_json(*args: object) -> Any:
    """Runs a command with --json. Returns what it prints, {} if it says it cannot."""
    command = [sys.executable, "-m", "spacy", "hosemi", *map(str, args), "--json"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE).stdout or "{}")


def spans_of(doc: Doc) -> list[Span]:
    return [(x.start_char, x.end_char, x.label_) for x in doc.ents]


def percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}" if whole else "-"


def table(head: str, rows: Iterable[Sequence[object]]) -> str:
    """Returns a table of Markdown; the titles stand between "|"."""
    titles = head.split("|")
    texts = [[str(x).replace("|", "\\|") for x in cells] for cells in rows]
    lines = [titles, ["---"] * len(titles), *texts]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def describe_labels(about: About, train: Iterable[Doc], scores: dict[str, Any]) -> str:
    texts: dict[str, Counter[str]] = {label: Counter() for label in about["labels"]}
    for ent in (ent for doc in train for ent in doc.ents):
        texts[ent.label_][" ".join(ent.text.split())] += 1
    rows = []
    for label, (meaning, *_) in about["labels"].items():
        examples = [f"`{x}`" for x, _ in texts[label].most_common(4) if len(x) < 60]
        f1 = scores["ents_per_type"].get(label, {"f": 0})["f"]
        numbers = f"{texts[label].total():,}", percent(f1, 1)
        rows.append((f"`{label}`", meaning, ", ".join(examples), *numbers))
    return table("label|meaning|most frequent|in training|test F1", rows)


def describe_accepted(
    pipe: Any, docs: Sequence[Doc], gold: Sequence[list[Span]], model: Path, kind: str
) -> str:
    """Returns the table of what needs no eye: chosen on promise, counted on test."""
    answers: list[tuple[float, bool]] = []  # probabilities, and whether they are right
    for doc, spans in zip(docs, gold):
        pairs = [(x._.confidence, y in spans) for x, y in zip(doc.ents, spans_of(doc))]
        if kind == "record":
            pairs = [(doc._.record_confidence, spans_of(doc) == spans)]
        is_odd = pipe.facts.is_unusual([x.label_ for x in doc.ents], doc.text)
        answers += [(0.0 if is_odd else p, right) for p, right in pairs]
    rows = []
    for error in ERRORS:
        command = "guarantee", model, "corpus/promise.spacy", f"--{kind}-error", error
        chosen = hosemi_json(*command).get("found", {"": {}})[""]
        cells = [f"{100 * error:g} %", "none", "0", "-", "-"]
        if (least := chosen.get("threshold")) is not None:
            share = percent(chosen["n_accepted"], chosen["n_tested"])
            taken = [right for p, right in answers if p >= least]
            wrong = percent(len(taken) - sum(taken), len(taken))
            cells[1:] = f"{least:.4f}", share, percent(len(taken), len(answers)), wrong
        rows.append(cells)
    head = f"wrong {kind}s, at most|threshold|accepted, %|accepted of test, %|wrong, %"
    return table(head, rows)


def describe_others(about: About) -> str:
    """Returns the table of benchmarks/references.py, if that has been run."""
    if not (path := Path("build/others.json")).exists():
        return ""
    figures = json.loads(path.read_text("utf8").splitlines()[-1])["rows"][0][1:]
    rows = zip(about["others"], *([f"{x:.1f}" for x in figures[k:8:2]] for k in (0, 1)))
    text = "Of sets of real references core labels are compared, without separators:"
    return f"{text}\n\n{table('set|F1|records without any error, %', rows)}"


def microseconds(model: Path, texts: Sequence[str]) -> float:
    """Returns the CPU time of a document with its confidences, at first sight."""
    nlp = spacy.load(model)
    began = time.process_time()
    for doc in nlp.pipe(texts):
        doc._.record_confidence, [x._.confidence for x in doc.ents]
    return 1e6 * (time.process_time() - began) / len(texts)


def show(doc: Doc, about: About, gold: list[Span]) -> str:
    """Returns a record as a user sees it, and below what is wrong."""
    lines = textwrap.wrap(doc.text, 88)
    width = max((len(x.label_) for x in doc.ents), default=0)
    for ent in doc.ents:
        lines.append(f"  {ent._.confidence:.2f} {ent.label_:{width}}  {ent.text}")
    lines.append(f"  record confidence {doc._.record_confidence:.2f}")
    if "value" in about:
        value = getattr(doc._, about["value"])
        values = asdict(value, dict_factory=lambda pairs: {k: x for k, x in pairs if x})
        lines += textwrap.wrap(json.dumps(values, ensure_ascii=False), 86)
    for i, j, label in sorted({*gold} - {*spans_of(doc)}):
        lines.append(f"  WRONG: {label} is {doc.text[i:j]!r}")
    return "\n".join(lines)


def describe_mistakes(model: Path) -> str:
    report = hosemi_json("errors", model, "corpus/test.spacy", "--examples", 0)
    rows = []
    for kind, labels in report["by_kind"].items():
        most = ", ".join(f"{x} {n}" for x, n in Counter(labels).most_common(4))
        rows.append((kind, sum(labels.values()), most))
    confused: Counter[str] = Counter()
    for gold, labels in report["found"]["confusion"].items():
        confused.update({f"{gold} taken for {x}": n for x, n in labels.items()})
    texts = ", ".join(f"{x} ({n})" for x, n in confused.most_common(6))
    return f"{table('mistake|n|labels', rows)}\n\nMost often: {texts}."


def bad_input(texts: Sequence[str], about: About) -> dict[str, list[str]]:
    """Returns lines that are no clean single record, by what is wrong with them."""
    draw = random.Random(0)
    letters = (((c, c.translate(CONFUSED)) for c in text) for text in texts)
    misread = ["".join(x[draw.random() < 0.1] for x in pairs) for pairs in letters]
    return {
        "test, as it is": [*texts],
        "two records in a line": [f"{x} {y}" for x, y in zip(texts[::2], texts[1::2])],
        "half a record": [x[: len(x) // 2] for x in texts],
        "misread letters, as by OCR": misread,
        **{kind: x.split(" / ") for kind, x in about["bad_input"].items()},
    }


def describe_bad_input(nlp: Language, pipe: Any, kinds: dict[str, list[str]]) -> str:
    rows = []
    for kind, texts in kinds.items():
        docs = [*nlp.pipe(texts)]
        shapes = [([x.label_ for x in doc.ents], doc.text) for doc in docs]
        n_odd = sum(pipe.facts.is_unusual(*shape) for shape in shapes)
        verdicts = [{*pipe.verdicts(doc)} for doc in docs]
        middle = f"{median(doc._.record_confidence for doc in docs):.2f}"
        n_taken = sum(x == {"accept"} for x in verdicts)
        shares = percent(n_odd, len(docs)), percent(n_taken, len(docs))
        rows.append((kind, len(docs), middle, *shares))
    head = "lines|n|median record confidence|no single record, %|needs no eye, %"
    return table(head, rows)


def describe_sources(about: About) -> str:
    line = "- [{name}]({url}), {license}: {attribution}"
    return "\n".join(line.format(**source) for source in about["sources"])


def make_card(model: Path, about: About) -> str:
    nlp = spacy.load(model)
    pipe: Any = nlp.get_pipe("hosemi")
    train, test = (
        [*DocBin().from_disk(f"corpus/{part}.spacy").get_docs(nlp.vocab)]
        for part in ("train", "test")
    )
    texts, gold = [doc.text for doc in test], [*map(spans_of, test)]
    docs = [*nlp.pipe(texts)]
    scores = srsly.read_json("build/scores.json")
    size = round(sum(map(len, texts)) / len(texts))
    drawn = sorted(random.Random(0).sample(range(len(docs)), min(N_RECORDS, len(docs))))
    records = "\n\n".join(show(docs[k], about, gold[k]) for k in drawn)
    parts = [
        f"# {(package := about['package'])}\n\n{about['description']}",
        f"```bash\npip install spacy_hosemi {package}\n{about['command']}\n```",
        f"## Labels\n\n{describe_labels(about, train, scores)}",
        f"## How good it is\n\nOn {len(docs):,} test records: F1 of exact spans "
        f"**{percent(scores['ents_f'], 1)}**, records without any error "
        f"**{percent(scores['ents_record_accuracy'], 1)} %**. A record of {size} "
        f"characters takes {microseconds(model, texts):.0f} CPU µs at first sight. It "
        f"was trained on {len(train):,} records. {about['note'].strip()}",
        describe_others(about),
        "A threshold of `hosemi guarantee`, chosen on other records, promises with "
        "probability .95 how many of those accepted are wrong at most:",
        describe_accepted(pipe, docs, gold, model, about["promise"]),
        f"## Test records\n\nDrawn at random. `WRONG` is what the gold has and the "
        f"pipeline has not.\n\n```text\n{records}\n```",
        f"## Where it fails\n\n{describe_mistakes(model)}\n\n{about['fails'].strip()}",
        "Lines that are no clean record, and what it says of them:",
        describe_bad_input(nlp, pipe, bad_input(texts[:400], about)),
        f"## Data and licence\n\nThe pipeline: {about['license']}. It is made of\n",
    ]
    return "\n\n".join(filter(None, parts)) + f"\n{describe_sources(about)}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", type=Path, help="folder of the trained pipeline")
    model = parser.parse_args().model
    about = srsly.read_yaml("about.yml")
    if Path("values.py").exists():
        spacy.util.import_file("values", Path("values.py"))
    (model / "README.md").write_text(make_card(model, about), encoding="utf8")
    licences = [x.read_text("utf8") for x in sorted(Path("corpus").glob("licence-*"))]
    text = "\n\n".join([describe_sources(about), *licences])
    (model / "LICENSES_SOURCES").write_text(f"{text}\n", encoding="utf8")
    shutil.copy(ROOT / "LICENSE", model / "LICENSE")
    meta = srsly.read_json(model / "meta.json")
    meta |= {key: about[key] for key in ("description", "license")}
    requirements = about.get("requirements", [])
    meta |= {"author": "The spacy_hosemi authors", "requirements": requirements}
    keys = "name", "url", "license"
    meta["sources"] = [{key: x[key] for key in keys} for x in about["sources"]]
    srsly.write_json(model / "meta.json", meta)


if __name__ == "__main__":
    main()
