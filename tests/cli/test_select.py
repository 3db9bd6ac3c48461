"""hosemi select: what to annotate next."""

import json
from pathlib import Path

import numpy as np
import pytest
import spacy
import srsly
from spacy.tokens import DocBin, Span

from spacy_hosemi.formats import read_annotations

from ..helpers import as_json, hosemi, initialize, lbfgs, make_nlp, references, said

POOL = (
    "Nobody wrote a letter.",
    "Somerville met Zoë in Rome and Paris, and Babbage.",
    "",
    "London Paris",
    "Ada Lovelace wrote to Charles Babbage in London.",
    "Quux!",
    "\x1b[1m Mary",
)


@pytest.fixture(scope="module")
def pool(tmp_path_factory) -> Path:
    """A .spacy file, where one document has annotation."""
    path = tmp_path_factory.mktemp("pool") / "pool.spacy"
    nlp = spacy.blank("en")
    docs = [nlp(text) for text in POOL]
    docs[3].set_ents([Span(docs[3], 0, 2, label="LOC")])
    DocBin(docs=docs).to_disk(path)
    return path


def select(*args, **more) -> list:
    return as_json("select", *args, **more)["docs"]


@pytest.mark.parametrize("by", ["entropy", "least-confident"])
@pytest.mark.parametrize("total", [True, False])
def test_the_most_uncertain(model, pool, by, total):
    nlp = spacy.load(model)
    pipe, expected = nlp.get_pipe("hosemi"), []
    for index, text in enumerate(POOL):
        doc = nlp.make_doc(text)
        value = pipe.entropy(doc)
        if by == "least-confident":
            value = -np.log(pipe.kbest(doc, 1)[0].probability)
        if text:
            expected.append((value if total else value / len(doc), index))
    expected.sort(reverse=True)
    args = [model, pool, "--n", 4, "--by", by, "--no-diverse"]
    docs = select(*args, *["--total"] * total)
    assert [one["index"] for one in docs] == [index for _, index in expected[:4]]
    assert [one["rank"] for one in docs] == [1, 2, 3, 4]
    values = [one["nats" if total else "per_token"] for one in docs]
    assert values == pytest.approx([value for value, _ in expected[:4]], abs=1e-9)


def test_documents_are_written_as_they_were(model, pool, tmp_path):
    output = tmp_path / "new" / "next.spacy"
    printed = said("select", model, pool, "-n", 99, "--out", output)
    assert "6 of 7 documents" in printed and "Wrote 6 documents to" in printed
    assert "rank entropy per token tokens text" in printed
    docs = list(DocBin().from_disk(output).get_docs(spacy.blank("en").vocab))
    selected = select(model, pool, "-n", 99)
    assert [doc.text for doc in docs] == [one["text"] for one in selected]
    ents = {doc.text: [ent.text for ent in doc.ents] for doc in docs}
    assert ents == {text: [text] * (text == POOL[3]) for text in POOL if text}
    hosemi("select", model, pool, "-n", 1, "--out", output, "--overwrite")
    assert len(DocBin().from_disk(output)) == 1


def test_documents_as_tasks(model, pool, tmp_path):
    """Each with what the pipeline finds, and what else was likely."""
    selected = select(model, pool, "-n", 4)
    nlp = spacy.load(model)
    for form in ("label-studio", "prodigy", "doccano"):
        output = tmp_path / f"{form}.json"
        args = "-n", 4, "-F", form, "-k", 2, "-o", output
        assert "Wrote the tasks to" in said("select", model, pool, *args)
        content = output.read_text("utf8")
        if form != "label-studio":
            tasks = [*map(srsly.json_loads, content.splitlines())]
            assert [x["text"] for x in tasks] == [x["text"] for x in selected]
            continue
        tasks = srsly.json_loads(content)
        lines = [x["data"]["line"] for x in tasks]
        assert lines == [x["index"] + 1 for x in selected]
        for task in tasks:
            first, _ = task["predictions"]
            ents = nlp(task["data"]["text"]).ents
            values = [x["value"] for x in first["result"]]
            places = [(x["start"], x["end"], x["labels"]) for x in values]
            assert places == [(x.start_char, x.end_char, [x.label_]) for x in ents]


@pytest.mark.parametrize(
    "name, line, options",
    [
        ("pool.txt", "{}", ()),
        ("pool.jsonl", '{{"text": "{}"}}', ()),
        ("pool.csv", '1,"{}"', ("--column", "x")),
        ("pool.jsonl", '{{"tokens": ["{}"]}}', ()),
    ],
)
def test_texts_become_tagged_lines(model, tmp_path, name, line, options):
    """They are chosen as documents are, and written with what the pipeline finds."""
    texts, head = [x for x in POOL if x.isprintable()], "id,x\n" * ("csv" in name)
    lines = [line.format(x) if x else "" for x in texts]
    path, out = tmp_path / name, tmp_path / "next.xml"
    path.write_bytes((head + "\n".join(lines)).encode() + b"\n\xff")
    args = model, path, "-n", 99, *options
    docs = json.loads(hosemi("select", *args, "--json", code=1).stdout)["docs"]
    docs = [(x["index"], x["text"].rstrip()) for x in docs]
    if "tokens" not in line:
        raw, nlp = tmp_path / "raw.spacy", spacy.load(model)
        DocBin(docs=[nlp.make_doc(x) for x in texts]).to_disk(raw)
        expected = select(model, raw, "-n", 99)
        assert docs == [(x["index"] + bool(head), x["text"]) for x in expected]
    printed = said("select", *args, "-o", out, "-k", 2, code=1)
    last = len(texts) + bool(head) + 1
    assert "Wrote the tasks to" in printed and f"{path}:{last}: " in printed
    found = read_annotations(out).texts
    assert [(int(x.meta["line"]) - 1, x.text) for x in found] == docs
    assert any(x.spans for x in found) or "tokens" in line
    assert "runner-up 1: 0." in out.read_text()


def test_components_before_run_first(tmp_path, pool):
    nlp = make_nlp(scope="sents")
    nlp.add_pipe("sentencizer", first=True)
    nlp.config["training"]["annotating_components"] = ["sentencizer"]
    initialize(nlp, fit=lbfgs(max_iter=5))
    nlp.to_disk(tmp_path / "model")
    assert len(select(tmp_path / "model", pool)) == 6
    nlp.remove_pipe("sentencizer")
    nlp.to_disk(tmp_path / "without")
    printed = said("select", tmp_path / "without", pool, code=2)
    assert "Cannot tell how sure the pipeline is" in printed and "HS067" in printed


def test_standard_input(model, tmp_path):
    corpus = DocBin(docs=references(["[PER Ada] wrote ."])).to_bytes()
    (doc,) = select(model, "-", input=corpus)
    assert doc["text"] == "Ada wrote ."
    (doc,) = select(model, "-", input="\nAda wrote.\n")
    assert (doc["text"], doc["index"]) == ("Ada wrote.", 1)
    result = hosemi("select", model, "-", "--json", input=b"x\x9cno corpus", code=2)
    assert result.stdout == "" and "standard-input.spacy" in result.stderr
    assert "nothing" in hosemi("select", model, "-", input=DocBin().to_bytes()).stdout
    args = "select", model, "-", "--text-key", "x", "-o", tmp_path / "out"
    assert "No line could be read" in hosemi(*args, input="{}", code=1).stderr
    assert (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "args, message",
    [
        ("MODEL no.spacy", "There is no file 'no.spacy'. Expected lines of text"),
        ("MODEL TEXT.spacy", "Cannot read 'TEXT.spacy'. Expected a .spacy file"),
        ("MODEL POOL --by x", "No measure 'x'. Expected as --by one of: entropy, lea"),
        ("BLANK POOL", "No hosemi component in"),
        ("MODEL POOL -F prodigy", "--out"),
        ("MODEL POOL -F csv", "no format 'csv'"),
        ("MODEL POOL -k 2", "Expected it with --format"),
        ("MODEL POOL --out .", "is a folder"),
    ],
)
def test_what_is_refused(model, pool, tmp_path, monkeypatch, args, message):
    monkeypatch.chdir(tmp_path)
    spacy.blank("en").to_disk("BLANK")
    Path("TEXT.spacy").write_text("text")
    paths = {"MODEL": model, "POOL": pool}
    args = [paths.get(x, x) for x in args.split()]
    assert message in said("select", *args, code=2)
