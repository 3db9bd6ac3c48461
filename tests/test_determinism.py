"""The same data, settings and seed give the same bytes: in every process, whatever the
seed of Python's hashes, and for any number of threads, ours and those of BLAS."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

TRAIN = """
import json, sys
import spacy, spacy_hosemi


def train(out, threads, config, settings):
    spacy.util.fix_random_seed(0)
    nlp = spacy_hosemi.use_field_tokenizer(spacy.blank("en"))
    names = {"Nature", "Math. Program.", "Computer", "Science", "IEEE Trans. Comput."}
    lists = {"journals": lambda: names}
    of_list = {"@misc": "spacy_hosemi.gazetteer.v1"}
    model = {"@architectures": "spacy_hosemi.SpanScorer.v1"}
    model["gazetteers"] = {"journals": of_list}
    hosemi = nlp.add_pipe("hosemi", config={**config, "model": model})
    with open("corpus/train.jsonl", encoding="utf8") as lines:
        read = [json.loads(line) for line, _ in zip(lines, range(30))]
    prefix = "N/" if "hierarchy" in config else ""
    pairs = [(x["text"], [(i, j, prefix + y) for i, j, y in x["spans"]]) for x in read]
    dev = pairs[22:]
    if "fit" in settings:
        settings["fit"] = spacy.registry.resolve({"fit": settings["fit"]})["fit"]
    else:
        settings |= {"threads": threads, "progress": False}
    if settings.get("l2") == "auto":
        settings["dev"] = dev
    hosemi.fit(pairs[:22], nlp=nlp, gazetteers=lists, **settings)
    nlp.to_disk(out)
    hosemi.threads = threads
    with open(out + ".txt", "w", encoding="utf8") as file:
        for doc in nlp.pipe([text for text, _ in dev]):
            found = [(ent.text, ent.label_, ent._.confidence) for ent in doc.ents]
            print(found, file=file)


folder, threads, runs = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
for name, run in runs.items():
    train(f"{folder}-{name}", threads, *run)
"""

TREE = {"hierarchy": {"@misc": "spacy_hosemi.hierarchy.v1"}, "max_order": 1}


def contents(folder, name):
    files = sorted(x for x in (folder / name).rglob("*") if x.is_file())
    found = {str(x.relative_to(folder / name)): x.read_bytes() for x in files}
    return {**found, "predicted": (folder / f"{name}.txt").read_bytes()}


RUNS = {
    "lists": ({"decoding": "mbr"}, {"max_iter": 20}),
    "auto": ({"max_order": 2}, {"max_iter": 10, "l2": "auto"}),
    "tree": (TREE, {"max_iter": 10}),
    "averaged": ({}, {"fit": {"@misc": "spacy_hosemi.averaged.v1", "progress": False}}),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two processes train all of RUNS and predict."""
    folder, running = tmp_path_factory.mktemp("runs"), []
    for k, threads in enumerate((1, 2)):
        many = {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
        environment = {**os.environ, **many, "PYTHONHASHSEED": str(k)}
        command = [sys.executable, "-c", TRAIN, str(folder / str(k)), str(threads)]
        command.append(json.dumps(RUNS))
        running.append(subprocess.Popen(command, cwd=ROOT, env=environment))
    assert [process.wait() for process in running] == [0, 0]
    return folder


@pytest.mark.parametrize("name", RUNS)
def test_two_processes(folder, name):
    first, second = (contents(folder, f"{k}-{name}") for k in "01")
    assert first.keys() == second.keys() and len(first["predicted"]) > 500
    assert [name for name in first if first[name] != second[name]] == []
