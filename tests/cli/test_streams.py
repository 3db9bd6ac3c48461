"""Where commands write, and how they end: as processes, and helper by helper."""

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import srsly
import typer
from spacy.cli._util import app
from spacy.tokens import DocBin
from typer.testing import CliRunner

from spacy_hosemi.cli import hosemi_cli, streams
from spacy_hosemi.cli.common import save_pipeline
from spacy_hosemi.formats import Fault

from ..helpers import hit_ctrl_c, make_nlp, make_trained, part_of, references

CORPUS = ["CORPUS.spacy"]
# Each command with what it needs beside MODEL.
ARGUMENTS = {
    ("weights",): [],
    ("calibrate",): CORPUS,
    ("compare",): ["second", *CORPUS],
    ("errors",): CORPUS,
    ("explain",): ["Ada wrote."],
    ("guarantee",): [*CORPUS, "--record-error", "0.05"],
    ("select",): CORPUS,
    ("prune",): [],
    ("parse",): ["lines.txt"],
    ("gazetteer", "info"): [],
    ("gazetteer", "find"): ["cities", "Rome"],
    ("gazetteer", "replace"): ["cities", "new.txt", "-o", "out"],
}
# What reads no model.
WITHOUT_MODEL = {
    ("check",),
    ("convert",),
    ("init",),
    ("suspicious",),
    ("tune",),
}


def commands() -> dict[tuple[str, ...], typer.core.TyperCommand]:
    found, waiting = {}, [((), typer.main.get_command(hosemi_cli))]
    while waiting:
        name, command = waiting.pop()
        inner = getattr(command, "commands", None)
        if inner is None:
            found[name] = command
        else:
            waiting += [((*name, key), value) for key, value in inner.items()]
    return found


def invoke(*args, **more):
    return CliRunner().invoke(app, ["hosemi", *map(str, args)], **more)


def process(*args, code=None, **more):
    """A command in its own process, without a terminal."""
    command = [sys.executable, "-m", "spacy", "hosemi", *map(str, args)]
    found = subprocess.run(command, capture_output=True, encoding="utf8", **more)
    assert code is None or found.returncode == code, found
    return found


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    make_trained().to_disk(folder)
    return folder


# --- all commands -----------------------------------------------------------------


def test_each_command_is_tried():
    assert {*ARGUMENTS} | WITHOUT_MODEL == {*commands()}


@pytest.mark.parametrize("name", ARGUMENTS, ids=" ".join)
@pytest.mark.parametrize("kind", ["nowhere", "empty", "untrained", "broken"])
def test_a_bad_model(name, kind, model, tmp_path, monkeypatch):
    """Nothing on standard output, one line on standard error, exit code 2."""
    monkeypatch.chdir(tmp_path)
    Path("CORPUS.spacy").write_bytes(b"")
    bad = tmp_path / "bad"
    if kind == "empty":
        bad.mkdir()
    elif kind == "untrained":
        make_nlp().to_disk(bad)
    elif kind == "broken":
        shutil.copytree(model, bad)
        part_of(bad / "hosemi", "model").write_bytes(b"\x93")
    as_json = ["--json"] if "as_json" in names_of(commands()[name]) else []
    result = invoke(*name, bad, *ARGUMENTS[name], *as_json)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: ") and "\x1b" not in result.stderr
    assert result.stderr.count("\n") == 1
    assert not Path("out").exists()


@pytest.mark.parametrize("command", ["errors", "compare"])
def test_models_that_are_not_trained(command, tmp_path):
    make_nlp().to_disk(tmp_path / "m")
    DocBin(docs=references()).to_disk(tmp_path / "x.spacy")
    models = [tmp_path / "m"] * (2 if command == "compare" else 1)
    result = invoke(command, *models, tmp_path / "x.spacy")
    assert result.exit_code == 2 and "is not trained" in result.stderr
    assert repr(str(tmp_path / "m")) in result.stderr


SAME = {
    "select MODEL x.spacy --out x.spacy": "CORPUS and --out",
    "suspicious x.spacy -o ./x.spacy": "TRAIN and --output",
    "convert x.spacy x.spacy": "IN and OUT.spacy",
    "parse MODEL y.txt x.txt -o x.txt": "FILE and --output",
    "parse MODEL x.txt --errors x.txt": "FILE and --errors",
    "errors MODEL x.spacy --html x.spacy": "GOLD and --html",
    "errors MODEL y.spacy --train x.spacy --html x.spacy": "--train and --html",
    "explain MODEL x.txt --html x.txt": "FILE and --html",
    "tune x.spacy x.spacy": "TRAIN and OUT.cfg",
    "tune x.spacy x.cfg --config x.cfg": "--config and OUT.cfg",
}


@pytest.mark.parametrize("command", SAME)
def test_what_is_read_is_not_overwritten(command, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("x.spacy", "y.spacy"):
        DocBin(docs=references()).to_disk(name)
    for name in ("x.txt", "y.txt", "x.cfg"):
        Path(name).write_text("Ada wrote.\n")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    args = command.replace("MODEL", str(model)).split()
    result = invoke(*args, "--overwrite")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{SAME[command]} are the same file" in result.stderr
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def names_of(command) -> set[str]:
    return {one.name for one in command.params}


def test_all_commands_but_those_with_formats_know_json():
    with_json = {name for name, one in commands().items() if "as_json" in names_of(one)}
    assert {*ARGUMENTS} - with_json == {("gazetteer", "replace"), ("parse",)}


def test_the_answer_alone_is_on_standard_output(model, tmp_path):
    result = invoke("prune", model, tmp_path / "out", "--keep", 0.5, "--json")
    assert result.exit_code == 0
    assert len(srsly.json_loads(result.stdout)["strengths"]) > 1
    assert result.stderr == f"Saved the pipeline to {tmp_path / 'out'}\n"


@pytest.fixture(scope="module")
def ended(model):
    """Exit code, standard output and standard error of commands that run side by
    side."""
    words = [sys.executable, "-m", "spacy", "hosemi"]
    weights, select = [*words, "weights", model], [*words, "select", model, "-"]
    reading, nobody = os.pipe()
    os.close(reading)
    full = os.open("/dev/full" if Path("/dev/full").exists() else os.devnull, 1)
    shell = ["bash", "-c"]
    running = {
        name: subprocess.Popen(
            command, stdout=stdout, stderr=subprocess.PIPE, encoding="utf8"
        )
        for name, command, stdout in (
            ("nobody reads", weights, nobody),
            ("full", weights, full),
            ("input", [*shell, '"$@" <&-', "bash", *select], subprocess.PIPE),
            ("output", [*shell, '"$@" >&-', "bash", *weights], subprocess.PIPE),
        )
    }
    found = {name: (*x.communicate(), x.returncode) for name, x in running.items()}
    os.close(nobody)
    os.close(full)
    return {name: (code, out, err) for name, (out, err, code) in found.items()}


@pytest.mark.skipif(os.name != "posix", reason="signals and file descriptors of POSIX")
class TestProcess:
    """What only a process shows."""

    def test_nobody_reads(self, ended):
        assert ended["nobody reads"] == (141, None, "")

    def test_no_space_is_left(self, ended):
        if not Path("/dev/full").exists():
            pytest.skip("no device that is always full")
        code, _, err = ended["full"]
        assert code == 2 and "No space left" in err
        assert "Exception ignored" not in err

    @pytest.mark.parametrize("stream", ["input", "output"])
    def test_closed_streams(self, ended, stream):
        code, out, err = ended[stream]
        assert (code, out) == (2, "")
        assert f"standard {stream}. It is closed" in err and err.count("\n") == 1


def test_usage(model):
    result = invoke("weights", model, "--nonsense")
    assert (result.exit_code, result.stdout) == (2, "")


def small_app(function) -> typer.Typer:
    """Commands of which one calls a function."""
    one = typer.Typer(cls=streams.CommandGroup)
    one.callback()(lambda: None)
    one.command("it")(lambda: function())
    return one


def crash():
    raise KeyError("lost")


def refuse():
    raise ValueError("[HS001] no such thing")


def find_a_broken_pipe():
    raise BrokenPipeError


@pytest.mark.parametrize(
    "function, code, expected",
    [
        (crash, 2, "KeyError: 'lost'"),
        (refuse, 2, "Error: [HS001] no such thing"),
        (hit_ctrl_c, 130, "Stopped."),
        (find_a_broken_pipe, 141, ""),
        (lambda: streams.fail("No."), 2, "Error: No."),
        (lambda: streams.fail("No x", "Expected y."), 2, "Error: No x. Expected y."),
        (lambda: Path("/nosuch/file").open(), 2, "No such file"),
        (lambda: None, 0, ""),
    ],
)
def test_ends(function, code, expected):
    result = CliRunner().invoke(small_app(function), ["it"])
    assert (result.exit_code, result.stdout) == (code, "")
    assert expected in result.stderr and bool(expected) == bool(result.stderr)


# --- files ------------------------------------------------------------------------


@pytest.mark.parametrize("binary", [False, True])
def test_output_is_written_whole_or_not_at_all(binary, tmp_path):
    path, content = tmp_path / "new" / "a.csv", "é\r\nb\n"
    with streams.open_output(path, binary=binary) as file:
        file.write(content.encode() if binary else content)
        assert not path.exists()
    assert path.read_bytes() == content.encode()
    with (
        pytest.raises(KeyError),
        streams.open_output(path, True, binary=binary) as file,
    ):
        file.write(b"half" if binary else "half")
        crash()
    assert path.read_bytes() == content.encode()
    assert os.listdir(path.parent) == ["a.csv"]


def test_existing_output(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("old")
    with pytest.raises(SystemExit, match="2"), streams.open_output(path):
        pass
    assert "exists already" in capsys.readouterr().err
    with streams.open_output(path, overwrite=True) as file:
        file.write("new")
    assert path.read_text() == "new"
    for bad in (tmp_path, path / "b"):
        with pytest.raises(SystemExit, match="2"), streams.open_output(bad):
            pass
    assert "is a folder" in (said := capsys.readouterr().err) and "Cannot write" in said


@pytest.mark.skipif(os.name != "posix", reason="devices and links of POSIX")
def test_devices_and_links_stay(tmp_path):
    with streams.open_output(os.devnull) as file:
        file.write("nothing")
    assert Path(os.devnull).is_char_device()
    link, path = tmp_path / "link", tmp_path / "path"
    path.write_text("old")
    link.symlink_to(path)
    with streams.open_output(link, overwrite=True) as file:
        file.write("new")
    assert link.is_symlink() and path.read_text() == "new"


def test_standard_output(capsys):
    with streams.open_output("-") as file:
        file.write("an answer\n")
    assert capsys.readouterr() == ("an answer\n", "")


def test_input(tmp_path, monkeypatch, capsys):
    path = tmp_path / "in.txt"
    path.write_bytes(b"\xefa")
    with streams.open_input(path) as file:
        assert file.read() == b"\xefa"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xefb")))
    with streams.open_input("-") as file:
        assert file.read() == b"\xefb"
    for stdin in (None, io.StringIO()):
        if stdin is not None:
            stdin.close()
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(SystemExit, match="2"), streams.open_input("-"):
            pass
    with pytest.raises(SystemExit, match="2"), streams.open_input(tmp_path / "no"):
        pass
    printed = capsys.readouterr()
    assert printed.out == "" and "standard input. It is closed" in printed.err
    assert "No such file" in printed.err


def test_standard_input_as_corpus(model):
    docs = DocBin(docs=references(["[PER Ada] wrote ."])).to_bytes()
    result = invoke("select", model, "-", "--json", input=docs)
    assert result.exit_code == 0, result.stderr
    (doc,) = srsly.json_loads(result.stdout)["docs"]
    assert doc["text"] == "Ada wrote ."
    result = invoke("select", model, "-", "--json", input=b"no corpus")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "standard-input.spacy" in result.stderr


def test_a_pipeline_is_saved_over_another_one(tmp_path):
    nlp = make_trained()
    nlp.to_disk(tmp_path / "old")
    (tmp_path / "old" / "notes.txt").write_text("mine")
    nlp.get_pipe("hosemi").cfg = {"min_confidence": 0.25}
    save_pipeline(nlp, tmp_path / "old")
    assert b"0.25" in (tmp_path / "old" / "hosemi" / "cfg").read_bytes()
    assert (tmp_path / "old" / "notes.txt").read_text() == "mine"
    assert os.listdir(tmp_path) == ["old"]


# --- faults -----------------------------------------------------------------------


def log(faults, path=None):
    with streams.log_faults(path) as found:
        for fault in faults:
            found.add(fault)
    return found.n


def test_faults(tmp_path, capsys):
    found = [Fault("a.jsonl", k, f"é\x1b {k}") for k in range(1, 25)]
    path = tmp_path / "faults.jsonl"
    assert log(found, path) == 24
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == "" and lines[0] == "a.jsonl:1: é\\x1b 1"
    assert lines[19:] == [
        "a.jsonl:20: é\\x1b 20",
        "... and 4 more",
        f"All 24 faults: {path}",
    ]
    assert [*srsly.read_jsonl(path)] == [vars(x) for x in found]
    assert log([Fault("b", None, "empty")]) == 1
    assert capsys.readouterr().err == "b: empty\n"
    assert log([]) == 0
    assert capsys.readouterr() == ("", "")


def test_warnings_are_for_people(model, tmp_path):
    """Without the line of the program that gives them."""
    nlp = make_trained()
    nlp.get_pipe("hosemi").guarantee = {
        "version": 1,
        "error": 0.1,
        "delta": 0.1,
        "digest": "another",
        "n_tested": 9,
        "n_accepted": 9,
        "record_threshold": 0.5,
        "span_limits": [],
    }
    nlp.to_disk(tmp_path / "m")
    lines = tmp_path / "lines.txt"
    lines.write_text("Ada wrote.\n")
    said = process("parse", tmp_path / "m", lines, code=0).stderr
    assert said.startswith("Warning: [HSW73] ") and said.count("\n") == 1
