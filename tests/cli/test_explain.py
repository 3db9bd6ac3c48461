"""hosemi explain: which texts and spans, tables and JSON."""

import math
import re

import pytest

from spacy_hosemi.cli import explain

from ..component.test_gazetteers import train_cities
from ..helpers import as_json, hosemi, make_nlp

TEXT = "Ada Lovelace wrote to Mary in Paris."
MARY = "--span", "Mary", "--label", "LOC"


def explained(*args, **more):
    return as_json("explain", *args, **more)["documents"]


def run(*args, code=0, **more):
    """What the command prints, and what it says beside that."""
    result = hosemi("explain", *args, code=code, **more)
    return result.stdout, result.stderr


def test_all_spans(model):
    (doc,) = explained(model, TEXT)
    assert doc["text"] == TEXT and doc["line"] is None
    found = [(x["label"], x["text"]) for x in doc["explanations"]]
    assert found[0] == ("PER", "Ada Lovelace") and len(found) > 1
    for one in doc["explanations"]:
        total = math.fsum(x["score"] for x in one["contributions"])
        assert total == pytest.approx(one["difference"], abs=1e-6)
        assert one["is_answer"]


def test_tables(model):
    printed, said = run(model, TEXT, "--top", 3)
    assert " PER: Ada Lovelace " in printed and said == ""
    assert "predicted, P = 0.9" in printed
    assert "log P(best with it) / P(best without it) = +" in printed
    assert "only with it: PER: Ada Lovelace" in printed
    tables = printed.split(" PER: Ada Lovelace ")[1].split("predicted")[0]
    rows = [x for x in tables.splitlines() if re.match(r"[+-]\d", x)]
    assert len(rows) == 4 and re.search(r"\d+ more", rows[3])


def test_one_span_of_characters_or_of_text(model):
    (doc,) = explained(model, TEXT, "--span", "22:26:LOC")
    (one,) = doc["explanations"]
    assert (one["text"], one["label"], one["is_answer"]) == ("Mary", "LOC", False)
    assert one["difference"] < 0
    assert explained(model, TEXT, *MARY) == [doc]


def test_only_spans_of_the_label_are_explained(model, monkeypatch):
    totals = []

    def progress(spans, total):
        totals.append(total)
        return spans

    monkeypatch.setattr(explain, "_progress", progress)
    everything = explained(model, TEXT)[0]["explanations"]
    of_label = [x for x in everything if x["label"] == "LOC"]
    assert explained(model, TEXT, "--label", "LOC")[0]["explanations"] == of_label
    assert totals == [len(everything), len(of_label)]
    assert 0 < len(of_label) < len(everything)


def test_no_span_of_the_label(model):
    printed, _ = run(model, "Ada Lovelace wrote.", "--label", "LOC")
    assert printed.endswith("to explain: no predicted span has the label LOC\n")


def test_places_in_characters(model):
    """Beside those in tokens, wherever these are."""
    (doc,) = explained(model, TEXT, *MARY)
    (one,) = doc["explanations"]
    assert (one["start"], one["end"]) == (4, 5)
    assert (one["start_char"], one["end_char"]) == (22, 26)
    tokens = make_nlp()(TEXT)
    for name in ("spans", "instead"):
        assert len(one[name]) == len(one[f"{name}_char"]) > 0
        for (i, j, label), other in zip(one[name], one[f"{name}_char"]):
            span = tokens[i:j]
            assert other == [span.start_char, span.end_char, label]
    read = [x for x in one["contributions"] if x["start"] is not None]
    for part in read:
        span = tokens[part["start"] : part["end"]]
        place = part["start_char"], part["end_char"]
        assert place == (span.start_char, span.end_char)
    others = [x for x in one["contributions"] if x["start"] is None]
    assert read and all(x["start_char"] is x["end_char"] is None for x in others)


def test_changes(tmp_path):
    train_cities(tmp_path).to_disk(tmp_path / "model")
    args = tmp_path / "model", "they saw Ceb Dor again ."

    def changes(*more):
        return explained(*args, *more)[0]["explanations"][0]["changes"]

    printed, _ = run(*args, "--changes", "--span", "9:16:CITY")
    assert "not predicted, P = 0.0" in printed
    assert "  add an entry 'ceb dor' of cities: P = 0.9" in printed
    assert changes("--changes", "--span", "9:16:CITY")[0]["kind"] == "add an entry"
    assert changes("--changes", "--span", "0:4:CITY") == []
    assert changes("--span", "9:16:CITY") is None
    printed, _ = run(*args, "--changes", "--span", "0:4:CITY")
    assert "  no single entry of a list, and no single rule" in printed


# --- pages ------------------------------------------------------------------------


def test_a_page(model, tmp_path):
    path = tmp_path / "why.html"
    assert run(model, TEXT, "--html", path, "--changes") == ("", f"Wrote {path}\n")
    page = path.read_text("utf8")
    assert page.startswith("<!DOCTYPE html>") and "PER: Ada Lovelace" in page
    printed, said = run(model, TEXT, "--html", "-")
    assert printed.startswith("<!DOCTYPE html>") and "Wrote" not in said
    run(model, "", "--html", path, "--overwrite")
    assert path.read_text("utf8") != page


ALL = "A page has all spans: --html goes without --span, --label."


@pytest.mark.parametrize(
    "args, message",
    [
        ("--json", "--html and --json are given. Expected at most one of them."),
        ("--span 0:1:PER", f"--html and --span are given. {ALL}"),
        ("-l PER", f"--html and --label are given. {ALL}"),
        ("--span Ada -l PER", f"--html and --span and --label are given. {ALL}"),
    ],
)
def test_a_page_has_all_spans(model, tmp_path, args, message):
    path = tmp_path / "why.html"
    _, said = run(model, TEXT, "--html", path, *args.split(), code=2)
    assert message in said and not path.exists()


def test_a_page_numbers_lines(model, tmp_path):
    """Those of the file, as `parse` does; its folder is made, as by other commands."""
    path, page = tmp_path / "lines.txt", tmp_path / "new" / "why.html"
    path.write_text(f"{TEXT}\n\n\nMary wrote.\n", "utf8")
    run(model, path, "--html", page)
    assert re.findall(r"<h2>(\d+)", page.read_text("utf8")) == ["1", "4"]
    assert [x["line"] for x in explained(model, path)] == [1, 4]


# --- files ------------------------------------------------------------------------


def test_lines_of_a_file(model, tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text(f"{TEXT}\n\nNobody wrote.\n", "utf8")
    docs = explained(model, path)
    assert [doc["text"] for doc in docs] == [TEXT, "Nobody wrote."]
    assert docs[1]["explanations"] == []
    assert docs == explained(model, "-", input=path.read_bytes())
    assert "nothing to explain: no span was predicted" in run(model, path)[0]
    assert "There is no file" in run(model, tmp_path / "other.txt", code=2)[1]
    assert "is a folder" in run(model, tmp_path, code=2)[1]


@pytest.mark.parametrize("output", [["--json"], ["--html", "-"], []])
def test_lines_that_cannot_be_read(model, tmp_path, output):
    """They are left out and named, as by `parse`; without others nothing is written."""
    path = tmp_path / "lines.txt"
    path.write_bytes(f"{TEXT}\nRen\xe9e\nMary wrote.\n".encode("latin-1"))
    printed, said = run(model, path, *output, code=1)
    assert "Mary wrote" in printed and said.startswith(f"{path}:2: byte 0xe9")
    assert "--encoding" in said
    path.write_bytes(b"Ren\xe9e\n")
    printed, said = run(model, path, *output, code=1)
    assert printed == ""
    assert "No line could be explained: nothing is written" in said


def test_lines_that_cannot_have_the_span(model, tmp_path):
    path = tmp_path / "lines.txt"
    lines = [TEXT, "Ada", "", "Mary wrote to Ada.", "a\u00a0 b"]
    path.write_text("\n".join(lines), "utf8")
    args = model, path, "--span", "5:10:PER"
    printed, said = run(*args, code=1)
    assert printed.count("predicted, P = ") == 1
    assert said.splitlines() == [
        f"{path}:1: The characters 5 to 10 are not whole tokens. Expected a span that "
        "begins and ends with tokens; near is 4:12.",
        f"{path}:2: There is no character 10; the text has 3.",
        f"{path}:5: There is no character 10; the text has 4.",
    ]
    (doc,) = explained(*args, code=1)
    assert (doc["text"], doc["line"]) == (lines[3], 4)
    printed, _ = run(model, path, "--span", "  ", "--label", "PER", code=1)
    assert printed == ""
    _, said = run(model, path, "--span", "5:10:CITY", code=2)
    assert "There is no label 'CITY'" in said


def test_the_first_occurrence_in_whole_tokens(model):
    args = "--span", "Ada", "--label", "PER"
    (doc,) = explained(model, "LovelaceAda, Ada wrote; Ada met Mary.", *args)
    assert doc["explanations"][0]["start_char"] == 13
    _, said = run(model, "LovelaceAda wrote.", *args, code=2)
    assert "8 to 11 are not whole tokens" in said and "near is 0:11" in said


@pytest.mark.parametrize(
    "args, message",
    [
        (["--span", "Mary"], "Expected START:END:LABEL"),
        (["--span", "Bob", "--label", "PER"], "There is no 'Bob' in the text"),
        (["--span", "", "--label", "PER"], "--span is ''"),
        (["--span", " ", "--label", "PER"], r"3 to 4 are not whole .* with tokens\.$"),
        (["--span", "0:2:PER"], "not whole tokens.*near is 0:3"),
        (["--span", "90:99:PER"], "There is no character 99; the text has 36"),
        (["--span", "22:99:PER"], "There is no character 99; the text has 36"),
        (["--span", "12:4:PER"], "Expected START below END"),
        (["--span", "4:4:PER"], "Expected START below END"),
        (["--span", "0:3:CITY"], "There is no label 'CITY'.*LOC, PER"),
        (["--label", "CITY"], "There is no label 'CITY'.*LOC, PER"),
    ],
)
def test_bad_spans(model, args, message):
    printed, said = run(model, TEXT, *args, code=2)
    assert printed == "" and re.search(message, said)
