"""`hosemi check`: what it reads, prints and refuses."""

import json
import re
import shutil

import pytest
import spacy
from spacy.tokens import Doc, DocBin

from spacy_hosemi.cli.check import _megabytes, _seconds
from spacy_hosemi.configs import make_config
from spacy_hosemi.inspection import costs

from ..conftest import ROOT
from ..helpers import CHINESE, TRAIN, count_encoded, hosemi, write_config
from .conftest import save


def check(*args, quick=True, **more):
    return hosemi("check", *args, *["--quick"] * quick, **more)


def as_json(*args, **more) -> dict:
    return json.loads(check(*args, "--json", **more).stdout)


DEV = ("[PER Ada] was in [LOC Rome].",)


def test_tables(train, tmp_path):
    result = check(train, "--dev", save(tmp_path / "dev.spacy", DEV))
    out = result.stdout
    assert "train.spacy: 5 documents, 39 tokens, 10 spans" in out
    assert "dev.spacy: 1 document, 5 tokens, 2 spans" in out
    assert re.search(r"^PER +6 +1 +60\.0 ", out, re.M)
    assert "remark: 5 documents to train on" in out and "fault" not in out
    assert "The config that fits: hosemi init --for names" in out
    assert "\x1b" not in out


def test_json(train):
    found = as_json(train)
    assert found["train"]["n_spans"] == 10 and found["dev"] is None
    assert [x["label"] for x in found["labels"]] == ["PER", "LOC"]
    assert found["labels"][0]["n_dev"] is None
    assert found["config"]["kind"] == "names" and found["config"]["max_order"] == 1
    assert {x["is_fault"] for x in found["train"]["findings"]} == {False}


def test_faults(train):
    out = check(train, "--dev", train, code=1).stdout
    assert "fault: 4 of 5 (80 %) documents of dev are in train" in out
    assert as_json(train, "--dev", train, code=1)["order"] is None


def test_folder_of_binary_files(train, tmp_path):
    (tmp_path / "sub").mkdir()
    save(tmp_path / "sub" / "more.spacy", DEV)
    assert as_json(tmp_path)["train"]["n_documents"] == 6


def test_texts(tmp_path):
    path = tmp_path / "raw.jsonl"
    path.write_text(
        '{"text": "Frege 1879", "spans": [[0, 5, "author"], [3, 10, "date"]]}\n'
        '{"text": "Gödel 1931", "spans": [[0, 5, "author"], [6, 10, "date"]]}\n',
        "utf8",
    )
    found = as_json(path, code=1)
    assert found["train"]["n_documents"] == 1
    (fault,) = (x for x in found["train"]["findings"] if x["is_fault"])
    assert fault["name"] == "unreadable" and "raw.jsonl:1" in fault["examples"][0]
    assert as_json(tmp_path, code=1)["train"]["n_documents"] == 1


def test_encoding(tmp_path):
    path = tmp_path / "raw.jsonl"
    text = '{"text": "Gödel 1931", "spans": [[0, 5, "author"]]}\n'
    path.write_text(text, "latin-1")
    assert "give --encoding latin-1" in check(path, code=2).stderr
    assert as_json(path, "--encoding", "latin-1")["train"]["n_spans"] == 1
    given = as_json("-", "--encoding", "latin-1", input=text.encode("latin-1"))
    assert given["labels"][0]["examples"] == ["Gödel"]
    assert "HS161" in check(path, "--encoding", "none", code=2).stderr


@pytest.mark.parametrize("is_binary", [True, False])
def test_standard_input(train, is_binary):
    text = b'{"text": "Ada", "spans": [[0, 3, "PER"]]}\n'
    found = as_json("-", input=train.read_bytes() if is_binary else text)
    assert found["train"]["path"] == "-"
    assert found["train"]["n_documents"] == (5 if is_binary else 1)
    assert found["dev"] is None


def test_standard_input_is_named(train):
    text = 2 * b'{"text": "Ada", "spans": [[0, 3, "PER"]]}\n' + b"{}\n"
    findings = as_json("-", input=text, code=1)["train"]["findings"]
    examples = {x["name"]: x["examples"] for x in findings}
    assert examples["unreadable"][0].startswith("-:3: ")
    assert examples["twice-in-train"] == ['2 times: "Ada" (-:1, -:2)']
    found = as_json("-", "--dev", train, input=train.read_bytes(), code=1)
    (fault,) = (x for x in found["train"]["findings"] if x["is_fault"])
    assert fault["examples"][0].startswith("-#1 and train.spacy#1: ")


def test_config(train, tmp_path):
    config = tmp_path / "my.cfg"
    # The tokenizer of the language does not cut "1950;59".
    config.write_text(make_config().replace("spacy_hosemi.Field", "spacy."), "utf8")
    doc = Doc(spacy.blank("en").vocab, ["in", "1950", ";59"], [True, False, False])
    doc.set_ents([doc.char_span(3, 7, "date")])
    DocBin(docs=[doc]).to_disk(tmp_path / "years.spacy")
    found = as_json(tmp_path / "years.spacy", "--config", config, code=1)
    assert "inside-tokens" in {x["name"] for x in found["train"]["findings"]}
    found = as_json(tmp_path / "years.spacy")
    assert not any(x["is_fault"] for x in found["train"]["findings"])


def test_characters_and_one_document(tmp_path):
    found = as_json(save(tmp_path / "zh.spacy", CHINESE, "zh"))
    assert found["config"]["kind"] == "characters"
    found = as_json(save(tmp_path / "one.spacy", TRAIN[:1]))
    assert found["order"] is None and found["train"]["n_documents"] == 1


def test_demo_corpus_has_no_faults():
    args = ROOT / "corpus" / "train.jsonl", "--dev", ROOT / "corpus" / "dev.jsonl"
    config = as_json(*args)["config"]
    assert config["kind"] == "references" and config["max_order"] == 2


def test_cost(train):
    found = as_json(train, quick=False)["cost"]
    assert found["n_weights"] > 500 and found["n_sampled"] == 39
    seconds = found["seconds"]
    assert 0 < seconds["low"] < seconds["about"] < seconds["high"] < 1000
    out = check(train, quick=False).stdout
    time = r"\d+ \w+ \(\d+ \w+ to \d+ \w+\)"
    assert re.search(rf"with that config takes about\n +{time} of ", out)
    size = r"[\d,]+ MB"  # of this process, which may have more than 999
    assert re.search(rf"^ +{size} \({size} to {size}\) of memory$", out, re.M)
    assert as_json(train)["cost"] is None and "takes about" not in check(train).stdout


def test_vectors(train, tmp_path):
    """By ORTH, else by LOWER; whether few words have one."""
    of_all = " ".join(re.sub(r"\[[A-Z]+ |[].]", "", line) for line in TRAIN)
    for words, said in (
        ("Ada Mary london", r"6 of 34 \(18 %\).*, 2 in lower case; are the vectors of"),
        (of_all, r"34 of 34 \(100 %\) words have a vector, 0 in lower case \["),
    ):
        config = write_config(tmp_path / "my.cfg", words=words)
        out = check(train, "--config", config, quick=False).stdout
        assert re.search(f"remark: {said}", out) and "0 MB for vectors" in out
        assert f"Training with {config} takes about" in out


def test_a_slow_encoder(monkeypatch, tmp_path):
    """Few documents are encoded, and each of them once."""
    encoded, demo = count_encoded(monkeypatch), ROOT / "corpus" / "dev.jsonl"
    for name, value in (("ENCODING", 0.0), ("FIRST", 100), ("TRACED", (100, 200))):
        monkeypatch.setattr(costs, name, value)
    config = write_config(tmp_path / "my.cfg")
    cost = as_json(demo, "--config", config, quick=False)["cost"]
    assert cost["vector_megabytes"] == pytest.approx(3838 * 4 * 4e-6)
    assert len(encoded) <= 34 and {*encoded.values()} == {1}


def test_no_cost(train, tmp_path):
    config = tmp_path / "online.cfg"
    shutil.copy(ROOT / "configs" / "online.cfg", config)
    out = check(train, "--config", config, quick=False).stdout
    assert "What training takes cannot be told: [HS254]" in out
    empty = save(tmp_path / "empty.spacy", ["no one"])
    out = check(empty, quick=False, code=1).stdout
    assert "cannot be told: there is nothing to train on" in out


def test_shown():
    shown = [_seconds(x) for x in (0.4, 119, 121, 7100, 9000)]
    assert shown == ["0 s", "119 s", "2 min", "118 min", "2.5 h"]
    shown = [_megabytes(x) for x in (400, 9999, 12_345)]
    assert shown == ["400 MB", "9,999 MB", "12 GB"]


@pytest.fixture
def odd_files(train, tmp_path, monkeypatch):
    """Files with which nothing can be done, in the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "none").mkdir()
    DocBin().to_disk("none/none.spacy")
    files = {"no.spacy": b"no", "cut.spacy": train.read_bytes()[:-20]}
    files |= {"a.txt": b"no annotation", "bad.cfg": b"[nlp]\n"}
    files["x.cfg"] = b'[nlp]\nlang = "en"\npipeline = ["x"]\n'
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    spacy.blank("en").config.to_disk("blank.cfg")


@pytest.mark.parametrize(
    "args, message",
    [
        ("nowhere.spacy", "[HS160]"),
        ("empty", "[HS160]"),
        ("none", "[HS251]"),
        ("train.spacy --dev none/none.spacy", "[HS251]"),
        ("no.spacy", "[HS250]"),
        ("cut.spacy", "[HS250]"),
        ("a.txt", "[HS165]"),
        ("- --dev -", "standard input"),
        ("-", "[HS251] - has no document that can be read: -: is empty"),
        ("train.spacy --config bad.cfg", "[HS169]"),
        ("train.spacy --config x.cfg", "[HS252]"),
        ("train.spacy --config blank.cfg", "[HS253]"),
    ],
)
def test_what_is_refused(odd_files, args, message):
    result = check(*args.split(), code=2, input=b"")
    assert result.stdout == "" and message in result.stderr
    assert result.stderr.count("\n") == 1
