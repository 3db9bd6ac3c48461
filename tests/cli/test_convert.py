"""python -m spacy hosemi convert: what it writes, says and refuses."""

import json

import pytest
import spacy
from spacy.tokens import DocBin

from ..formats.exports import (
    REFERENCES,
    WRITERS,
    json_lines,
    jsonl,
    jsonl_of_tokens,
    spans_of,
    text_of,
)
from ..formats.test_readers import write_brat
from ..helpers import hosemi


def convert(tmp_path, text, *args, code=0, name="in.jsonl"):
    """The answer, what is said beside it, and the documents that were written."""
    (tmp_path / name).write_text(text, "utf-8", newline="")
    out = tmp_path / "out.spacy"
    result = hosemi("convert", tmp_path / name, out, *args, code=code)
    return result.stdout, result.stderr, read_docs(out) if out.exists() else None


def read_docs(path):
    return list(DocBin().from_disk(path).get_docs(spacy.blank("en").vocab))


def ents(doc):
    return [(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents]


@pytest.mark.parametrize("name", ["jsonl", "csv", "columns, BIO"])
def test_spans_in_are_spans_out(tmp_path, name):
    """No span is lost, no character moved; each format is read in test_readers.py."""
    printed, said, docs = convert(tmp_path, WRITERS[name][1](REFERENCES), "--json")
    report = json.loads(printed)
    assert report["formats"] == {WRITERS[name][0]: 1}
    assert report["spans_read"] == report["files"][0]["spans"] == 9
    assert [ents(doc) for doc in docs] == [spans_of(x) for x in REFERENCES]
    texts = [doc.text.removesuffix(" ") for doc in docs]
    assert texts == [text_of(x) for x in REFERENCES]
    assert report["labels"] == {"author": 3, "date": 3, "pages": 1, "title": 2}
    assert "fault" not in said


def test_one_line_is_the_answer(tmp_path):
    printed, said, docs = convert(tmp_path, jsonl(REFERENCES))
    counts = f"3 texts, {sum(map(len, docs))} tokens, 9 spans"
    read = "(of 3 texts, 9 spans; no faults); author 3, date 3, title 2, pages 1"
    assert printed == f"{tmp_path / 'out.spacy'}: {counts} {read}\n" and said == ""


def test_spaces_are_no_tokens(tmp_path):
    """As `check` counts them."""
    text = json_lines([{"text": "Ada  met\n\nMary", "spans": [[0, 3, "a"]]}])
    assert "1 text, 3 tokens" in convert(tmp_path, text)[0]
    checked = hosemi("check", tmp_path / "out.spacy", "--quick").stdout
    assert "1 document, 3 tokens" in checked


def test_faults_are_listed_and_the_rest_is_written(tmp_path):
    bad = '{"text": "a", "spans": [[0, 9, "x\\u001b"]]}\n'
    faults = tmp_path / "faults.jsonl"
    given = jsonl(REFERENCES) + bad * 25
    printed, said, docs = convert(tmp_path, given, "--faults", faults, code=1)
    assert len(docs) == 3 and "25 faults" in printed and "\x1b" not in said + printed
    first = r'in.jsonl:4: a span has the label "x\x1b"; expected printable'
    assert first in said.splitlines()[0] and said.count("has the label") == 20
    assert said.endswith(f"\n... and 5 more\nAll 25 faults: {faults}\n")
    written = [json.loads(line) for line in faults.read_text("utf-8").splitlines()]
    assert [x["line"] for x in written] == list(range(4, 29))
    assert written[0].keys() == {"path", "line", "message"}


def test_nothing_good_writes_nothing(tmp_path):
    args = "--format", "jsonl"
    printed, said, docs = convert(tmp_path, '{"text": "a"}', *args, code=1)
    assert docs is None and printed.startswith("nothing written (of 0 texts")
    assert "nothing was written" in said
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_only_rejected_texts(tmp_path):
    line = '{"text": "a", "spans": [], "answer": "reject"}\n'
    printed, said, docs = convert(tmp_path, line * 2, code=1)
    assert docs is None and "no faults" in printed
    assert said == "left out: 2 rejected\nNo text is left: nothing was written\n"


def test_parts_without_a_leak(tmp_path):
    records = [{"text": f"t{i}", "spans": [], "doc_id": i // 3} for i in range(60)]
    text = "".join(json.dumps(x) + "\n" for x in records)
    args = "--dev", "0.1", "--group", "doc_id", "--json"
    printed, _, train = convert(tmp_path, text, *args)
    dev = read_docs(tmp_path / "out-dev.spacy")
    assert (len(train), len(dev)) == (54, 6)
    groups = [{int(doc.text[1:]) // 3 for doc in part} for part in (train, dev)]
    assert not groups[0] & groups[1]
    for doc in (*train, *dev):
        assert doc.user_data == {"doc_id": str(int(doc.text[1:]) // 3)}
    assert [x["texts"] for x in json.loads(printed)["files"]] == [54, 6]
    other = tmp_path / "d" / "x.spacy"
    convert(tmp_path, text, *args, "-f", "--seed", "1", "--dev-out", other)
    assert {doc.text for doc in read_docs(other)} != {doc.text for doc in dev}


def test_the_group_is_kept_without_another_file(tmp_path):
    text = '{"text": "a", "spans": [], "source": "x"}\n{"text": "b", "spans": []}\n'
    _, said, docs = convert(tmp_path, text, "--group", "source")
    assert [doc.user_data for doc in docs] == [{"source": "x"}, {}]
    assert "1 text without the key of --group" in said
    assert "HS167" in convert(tmp_path, text, "--group", "no", "-f", code=2)[1]


def test_tokens_stay(tmp_path):
    config = tmp_path / "x.cfg"
    config.write_text('[nlp]\nlang = "en"\n')
    *_, docs = convert(tmp_path, jsonl_of_tokens(REFERENCES), "--config", config)
    assert all(doc.has_unknown_spaces for doc in docs)
    assert [token.text for token in docs[0]] == text_of(REFERENCES[0]).split(" ")


def test_overlaps(tmp_path):
    spans = [[0, 10, "a"], [0, 5, "b"], [6, 10, "c"], [11, 16, "d"], [12, 14, "e"]]
    text = json.dumps({"text": "Frege 1879 Ada Lovelace", "label": spans})
    _, said, docs = convert(tmp_path, text, code=1)
    assert docs is None and said.count("overlap; expected one of them") == 3
    args = "--overlaps", "longest", "--json", "--shift", "0"
    printed, said, docs = convert(tmp_path, text, *args)
    assert ents(docs[0]) == [(0, 10, "a"), (11, 16, "d")]
    assert "left out: 3 spans that overlapped a longer one\n" in said
    assert json.loads(printed)["spans_overlapping"] == 3
    said = convert(tmp_path, text, "--overlaps", "some", "-f", code=2)[1]
    assert "HS164" in said and "fault, longest" in said


def test_texts_of_several_annotators(tmp_path):
    task = {"text": "Ada met Mary", "_task_hash": 1, "spans": []}
    other = {**task, "spans": [{"start": 0, "end": 3, "label": "a"}]}
    text = json_lines([task, other, other, {**task, "text": "b"}])
    said = convert(tmp_path, text)[1]
    assert said.startswith("1 text given more than once, with other spans: by several")
    assert "more than once" not in convert(tmp_path, json.dumps(task), "-f")[1]


def test_columns(tmp_path):
    text = "1 Ada B-PER O\n2 met O O\n"
    docs = convert(tmp_path, text, "--columns", "token=2,tag=3", name="in.txt")[2]
    assert docs[0].text == "Ada met " and ents(docs[0]) == [(0, 3, "PER")]
    assert "HS210" in convert(tmp_path, text, "--columns", "1", "-f", code=2)[1]


def test_notes(tmp_path):
    text = '{"text": "Frege 1879a", "spans": [[0, 6, "a"], [6, 10, "b"]]}\n'
    text += '{"text": "x", "spans": [], "answer": "reject"}\n'
    config = tmp_path / "x.cfg"
    config.write_text('[nlp]\nlang = "en"\n')
    args = "--format", "jsonl", "--config", config, "--shift", "0"
    _, said, docs = convert(tmp_path, text, *args)
    assert ents(docs[0]) == [(0, 5, "a"), (6, 10, "b")]
    assert "white space at the ends of 1 span was left out" in said
    assert "invisible" not in said
    assert "tokens were cut at the borders of 1 span" in said


@pytest.mark.parametrize(
    "args, said",
    [
        (["--format", "word"], "HS164"),
        (["--encoding", "utf-9"], "HS161"),
        (["--dev", "1"], "HS166"),
        (["--dev-out", "x.spacy"], "--dev-out needs --dev"),
        (["--dev", "0.1", "--dev-out", "x.txt"], "is no .spacy file"),
        (["--dev", "0.3", "--group", "x"], "HS167"),
        (["--config", "nothing.cfg"], "HS169"),
        (["--lang", "zzz"], "HS169"),
        (["--code", "nothing.py"], "There is no file"),
    ],
)
def test_refuses(tmp_path, args, said):
    printed, errors, docs = convert(tmp_path, jsonl(REFERENCES), *args, code=2)
    assert printed == "" and said in errors and docs is None
    assert errors.count("\n") == 1


def test_an_existing_file_stays_where_nothing_can_be_read(tmp_path):
    out = tmp_path / "out.spacy"
    out.write_bytes(b"mine")
    hosemi("convert", tmp_path / "none", out, "-f", code=2)
    assert out.read_bytes() == b"mine"
    assert len(convert(tmp_path, jsonl(REFERENCES), "-f")[2]) == 3


@pytest.mark.parametrize("args", [[], ["--json"]])
def test_names_of_files_that_are_no_utf8(tmp_path, args):
    name, faults = "\udcff.jsonl", tmp_path / "\udcfe.jsonl"
    out = tmp_path / "\udcfd.spacy"
    try:
        (tmp_path / name).write_text(jsonl(REFERENCES) + "{\n", "utf-8")
    except OSError:
        pytest.skip("No such name on this system")
    args = "convert", tmp_path / name, out, "--faults", faults, *args
    result = hosemi(*args, code=1)
    assert len(read_docs(out)) == 3
    assert r"\udcfd.spacy" in result.stdout
    assert json.loads(faults.read_text("utf-8"))["path"] == str(tmp_path / name)
    config = tmp_path / "\udcff.cfg"
    hosemi("init", config)
    assert r"\udcff.cfg" in config.read_text("utf-8")


def test_both_files_or_none(tmp_path):
    (tmp_path / "file").write_text("mine")
    args = "--dev", 0.5, "--dev-out", tmp_path / "file" / "dev.spacy"
    _, said, docs = convert(tmp_path, jsonl(REFERENCES), *args, code=2)
    assert "Cannot write" in said and docs is None
    assert {x.name for x in tmp_path.iterdir()} == {"file", "in.jsonl"}


def test_standard_input(tmp_path):
    out, lines = tmp_path / "out.spacy", jsonl(REFERENCES) + "{\n"
    result = hosemi("convert", "-", out, code=1, input=lines)
    assert len(read_docs(out)) == 3 and result.stdout.count("\n") == 1
    assert result.stderr.startswith("<stdin>:4: is not JSON")


def test_brat_folders(tmp_path):
    for i, x in enumerate(REFERENCES):
        write_brat(tmp_path, x, f"{i}")
    hosemi("convert", tmp_path, tmp_path / "out.spacy")
    docs = read_docs(tmp_path / "out.spacy")
    assert [ents(doc) for doc in docs] == [spans_of(x) for x in REFERENCES]
