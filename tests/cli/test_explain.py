"""hosemi explain: which texts and spans, tables and JSON."""

import math
import re

import pytest
import srsly

from spacy_hosemi.cli import explain

from ..component.test_gazetteers import train_cities
from ..helpers import make_nlp, make_trained
from .test_streams import invoke

TEXT = "Ada Lovelace wrote to Mary in Paris."


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    make_trained().to_disk(folder)
    return folder


def explained(*args, **more):
    result = invoke("explain", *args, "--json", **more)
    assert result.exit_code == 0, result.output
    return srsly.json_loads(result.stdout)["documents"]


def test_all_spans(model):
    (doc,) = explained(model, TEXT)
    assert doc["text"] == TEXT
    found = [(x["label"], x["text"]) for x in doc["explanations"]]
    assert found[0] == ("PER", "Ada Lovelace") and len(found) > 1
    for one in doc["explanations"]:
        total = math.fsum(x["score"] for x in one["contributions"])
        assert total == pytest.approx(one["difference"], abs=1e-6)
        assert one["is_answer"]


def test_tables(model):
    result = invoke("explain", model, TEXT, "--top", 3)
    assert result.exit_code == 0 and result.stderr == ""
    assert " PER: Ada Lovelace " in result.stdout
    assert "predicted, P = 0.9" in result.stdout
    assert "log P(best with it) / P(best without it) = +" in result.stdout
    assert "only with it: PER: Ada Lovelace" in result.stdout
    tables = result.stdout.split(" PER: Ada Lovelace ")[1].split("predicted")[0]
    rows = [x for x in tables.splitlines() if re.match(r"[+-]\d", x)]
    assert len(rows) == 4 and re.search(r"\d+ more", rows[3])


def test_one_span_of_characters_or_of_text(model):
    (doc,) = explained(model, TEXT, "--span", "22:26:LOC")
    (one,) = doc["explanations"]
    assert (one["text"], one["label"], one["is_answer"]) == ("Mary", "LOC", False)
    assert one["difference"] < 0
    assert explained(model, TEXT, "--span", "Mary", "--label", "LOC") == [doc]
    (some,) = explained(model, TEXT, "--label", "LOC")
    assert {x["label"] for x in some["explanations"]} == {"LOC"}


def test_only_spans_of_the_label_are_explained(model, monkeypatch):
    seen = []

    def progress(found, total):
        seen.append(total)
        return found

    monkeypatch.setattr(explain, "_progress", progress)
    everything = explained(model, TEXT)[0]["explanations"]
    n = sum(x["label"] == "LOC" for x in everything)
    assert seen == [len(everything)] and 0 < n < len(everything)
    explained(model, TEXT, "--label", "LOC")
    assert seen == [len(everything), n]


def test_no_span_of_the_label(model):
    result = invoke("explain", model, "Ada Lovelace wrote.", "--label", "LOC")
    assert result.exit_code == 0
    message = "nothing to explain: no predicted span has the label LOC\n"
    assert result.stdout.endswith(message)
    result = invoke("explain", model, "Nobody wrote.", "--label", "LOC")
    assert "nothing to explain: no span was predicted" in result.stdout


def test_places_in_characters(model):
    """Beside those in tokens, wherever these are."""
    (doc,) = explained(model, TEXT, "--span", "Mary", "--label", "LOC")
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
    nlp = train_cities(tmp_path)
    nlp.to_disk(tmp_path / "model")
    args = tmp_path / "model", "they saw Ceb Dor again .", "--changes", "--span"
    result = invoke("explain", *args, "9:16:CITY")
    assert result.exit_code == 0, result.output
    assert "not predicted, P = 0.0" in result.stdout
    assert "  add an entry 'ceb dor' of cities: P = 0.9" in result.stdout
    (doc,) = explained(*args, "9:16:CITY")
    assert doc["explanations"][0]["changes"][0]["kind"] == "add an entry"
    (doc,) = explained(*args, "0:4:CITY")
    assert doc["explanations"][0]["changes"] == []
    (doc,) = explained(*args[:2], "--span", "9:16:CITY")
    assert doc["explanations"][0]["changes"] is None
    result = invoke("explain", *args, "0:4:CITY")
    assert "  no single entry of a list, and no single rule" in result.stdout


def test_a_page(model, tmp_path):
    path = tmp_path / "why.html"
    result = invoke("explain", model, TEXT, "--html", path, "--changes")
    assert result.exit_code == 0 and result.stdout == ""
    page = path.read_text("utf8")
    assert page.startswith("<!DOCTYPE html>") and "PER: Ada Lovelace" in page
    result = invoke("explain", model, TEXT, "--html", "-")
    assert result.stdout.startswith("<!DOCTYPE html>")
    result = invoke("explain", model, "", "--html", path)
    assert result.exit_code == 2 and path.read_text("utf8") == page
    result = invoke("explain", model, "", "--html", path, "--overwrite")
    assert result.exit_code == 0 and path.read_text("utf8") != page


ALL = "A page has all spans: --html goes without --span, --label."


@pytest.mark.parametrize(
    "other, message",
    [
        (["--json"], "--html and --json are given. Expected at most one of them."),
        (["--span", "0:1:PER"], f"--html and --span are given. {ALL}"),
        (["-l", "PER"], f"--html and --label are given. {ALL}"),
        (
            ["--span", "Ada", "-l", "PER"],
            f"--html and --span and --label are given. {ALL}",
        ),
    ],
)
def test_a_page_has_all_spans(model, tmp_path, other, message):
    path = tmp_path / "why.html"
    result = invoke("explain", model, TEXT, "--html", path, *other)
    assert result.exit_code == 2 and not path.exists()
    assert message in result.stderr


def test_a_page_numbers_lines(model, tmp_path):
    """Those of the file, as `parse` does; its folder is made, as by other commands."""
    path, page = tmp_path / "lines.txt", tmp_path / "new" / "why.html"
    path.write_text(f"{TEXT}\n\n\nMary wrote.\n", "utf8")
    result = invoke("explain", model, path, "--html", page)
    assert result.exit_code == 0
    assert re.findall(r"<h2>(\d+)", page.read_text("utf8")) == ["1", "4"]
    assert [x["line"] for x in explained(model, path)] == [1, 4]
    assert explained(model, TEXT)[0]["line"] is None


def test_lines_of_a_file(model, tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text(f"{TEXT}\n\nNobody wrote.\n", "utf8")
    found = explained(model, path)
    assert [doc["text"] for doc in found] == [TEXT, "Nobody wrote."]
    assert found[1]["explanations"] == []
    assert found == explained(model, "-", input=path.read_bytes())
    result = invoke("explain", model, path)
    assert "nothing to explain: no span was predicted" in result.stdout
    result = invoke("explain", model, tmp_path / "other.txt")
    assert result.exit_code == 2 and "There is no file" in result.stderr
    path.write_bytes(b"\xff\xfe\xff")
    result = invoke("explain", model, path)
    assert result.exit_code == 1 and str(path) in result.stderr


@pytest.mark.parametrize("output", [["--json"], ["--html", "-"], []])
def test_lines_that_cannot_be_read(model, tmp_path, output):
    """They are left out and named, as by `parse`; without others nothing is written."""
    path = tmp_path / "lines.txt"
    path.write_bytes(f"{TEXT}\nRen\xe9e\nMary wrote.\n".encode("latin-1"))
    result = invoke("explain", model, path, *output)
    assert result.exit_code == 1 and "Mary wrote" in result.stdout
    assert result.stderr.startswith(f"{path}:2: byte 0xe9")
    path.write_bytes(b"Ren\xe9e\n")
    result = invoke("explain", model, path, *output)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "No line could be explained: nothing is written" in result.stderr


def test_lines_that_cannot_have_the_span(model, tmp_path):
    path = tmp_path / "lines.txt"
    lines = [TEXT, "Ada", "", "Mary wrote to Ada.", "a\u00a0 b"]
    path.write_text("\n".join(lines), "utf8")
    args = path, "--span", "5:10:PER"
    result = invoke("explain", model, *args)
    assert result.exit_code == 1
    assert result.stdout.count("predicted, P = ") == 1
    assert result.stderr.splitlines() == [
        f"{path}:1: The characters 5 to 10 are not whole tokens. Expected a span that "
        "begins and ends with tokens; near is 4:12.",
        f"{path}:2: There is no character 10; the text has 3.",
        f"{path}:5: There is no character 10; the text has 4.",
    ]
    result = invoke("explain", model, *args, "--json")
    (doc,) = srsly.json_loads(result.stdout)["documents"]
    assert result.exit_code == 1 and (doc["text"], doc["line"]) == (lines[3], 4)
    result = invoke("explain", model, path, "--span", "  ", "--label", "PER")
    assert (result.exit_code, result.stdout) == (1, "")
    result = invoke("explain", model, path, "--span", "5:10:CITY")
    assert result.exit_code == 2 and "There is no label 'CITY'" in result.stderr


def test_the_first_occurrence_in_whole_tokens(model):
    text = "LovelaceAda, Ada wrote; Ada met Mary."
    (doc,) = explained(model, text, "--span", "Ada", "--label", "PER")
    assert doc["explanations"][0]["start_char"] == 13
    args = model, "LovelaceAda wrote.", "--span", "Ada", "--label", "PER"
    result = invoke("explain", *args)
    assert result.exit_code == 2
    assert "8 to 11 are not whole tokens" in result.stderr
    assert "near is 0:11" in result.stderr


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
    result = invoke("explain", model, TEXT, *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert re.search(message, result.stderr)


def test_a_folder_is_no_text(model, tmp_path):
    result = invoke("explain", model, tmp_path)
    assert result.exit_code == 2 and "is a folder" in result.stderr


def test_a_file_in_another_encoding(model, tmp_path):
    file = tmp_path / "lines.txt"
    file.write_bytes("Ada Lovelace wrote to Renée.\n".encode("latin-1"))
    result = invoke("explain", model, file)
    assert result.exit_code == 1 and "--encoding" in result.stderr
    (doc,) = explained(model, file, "--encoding", "latin-1")
    assert doc["text"].endswith("Renée.")
    result = invoke("explain", model, file, "--encoding", "base64")
    assert result.exit_code == 2 and "HS161" in result.stderr


def test_a_page_says_where_it_is(model, tmp_path):
    result = invoke("explain", model, TEXT, "--html", tmp_path / "page.html")
    assert f"Wrote {tmp_path / 'page.html'}" in result.stderr
    result = invoke("explain", model, TEXT, "--html", "-")
    assert "Wrote" not in result.stderr and "<html" in result.stdout
