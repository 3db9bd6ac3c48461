"""All commands: what they import, where they write, and how they end."""

import functools
import inspect
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
import srsly
import typer
from spacy.tokens import DocBin
from typer.testing import CliRunner

from spacy_hosemi.cli import hosemi_cli, streams

from ..helpers import hit_ctrl_c, hosemi, make_trained, part_of, references, said

CORPUS = ["CORPUS.spacy"]
# Each command with what it needs beside MODEL.
ARGUMENTS = {
    ("adapt",): ["lines.txt", "-o", "out"],
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
WITHOUT_MODEL = {(name,) for name in "check convert init onnx suspicious tune".split()}


@functools.cache
def commands() -> dict[tuple[str, ...], typer.core.TyperCommand]:
    found, waiting = {}, [((), typer.main.get_command(hosemi_cli))]
    while waiting:
        name, command = waiting.pop()
        if hasattr(command, "commands"):
            keys = command.list_commands(None)
            waiting += [((*name, x), command.get_command(None, x)) for x in keys]
        else:
            found[name] = command
    return found


# --- all commands -----------------------------------------------------------------


def test_commands_are_imported_when_they_are_asked_for():
    code = "import sys; from spacy_hosemi.cli.streams import COMMANDS as names; "
    code += "assert not {f'spacy_hosemi.cli.{x}' for x in names} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_each_command_is_tried():
    assert {*ARGUMENTS} | WITHOUT_MODEL == {*commands()}


@pytest.mark.parametrize("name", commands(), ids=" ".join)
def test_help(name):
    printed = said(*name, "--help")
    assert f"python -m spacy hosemi {' '.join(name)} " in printed
    options = [x for x in commands()[name].params if x.param_type_name == "option"]
    assert all(x.opts[0] in printed for x in options if not x.hidden)
    assert name[0] in said("--help") and name[-1] in said(*name[:-1], "--help")


def numbers() -> Iterator[tuple[str, ...]]:
    """The options of all commands that are numbers."""
    for name, command in commands().items():
        kinds = get_type_hints(inspect.unwrap(command.callback))
        for option in command.params:
            if {*(get_args(kinds[option.name]) or [kinds[option.name]])} & {int, float}:
                yield *name, option.opts[0]


@pytest.mark.parametrize("name", [*numbers()], ids=" ".join)
def test_a_number_has_limits(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    *command, option = name
    for value in "nan", "inf", "-inf", 10**30, -(10**30), "9e99", "many", "":
        with pytest.raises(SystemExit, match="2"):
            commands()[tuple(command)].main([option, str(value)])
        out, err = capsys.readouterr()
        assert "Error: Invalid value" in err and option in err
        assert out == "" and not [*tmp_path.iterdir()]


@pytest.fixture(scope="module")
def bad_models(model, untrained, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    shutil.copytree(model, folder / "broken")
    part_of(folder / "broken" / "hosemi", "model").write_bytes(b"\x93")
    names = "nowhere", "broken"
    return {"untrained": untrained, **{name: folder / name for name in names}}


@pytest.mark.parametrize("name", ARGUMENTS, ids=" ".join)
@pytest.mark.parametrize(
    "kind, message",
    [
        ("nowhere", "Cannot load the pipeline"),
        ("untrained", "is not trained"),
        ("broken", "HS062"),
    ],
)
def test_a_bad_model(name, kind, message, bad_models, tmp_path, monkeypatch):
    """Nothing on standard output, one line on standard error, exit code 2."""
    monkeypatch.chdir(tmp_path)
    for path in ("CORPUS.spacy", "lines.txt"):
        Path(path).touch()
    options = ["--json"] if "as_json" in names_of(commands()[name]) else []
    args = *name, bad_models[kind], *ARGUMENTS[name], *options
    result = hosemi(*args, code=2)
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ") and "\x1b" not in result.stderr
    assert result.stderr.count("\n") == 1 and message in result.stderr
    assert repr(str(bad_models[kind])) in result.stderr
    assert not Path("out").exists()


SAME = {
    "select MODEL x.spacy --out x.spacy": "POOL and --out",
    "parse MODEL x.txt --rest x.txt": "FILE and --rest",
    "suspicious x.spacy -o ./x.spacy": "TRAIN and --output",
    "convert x.spacy x.spacy": "IN and OUT.spacy",
    "convert x.txt o.spacy --faults ./o.spacy": "OUT.spacy and --faults",
    "convert x.txt o.spacy --dev .5 --dev-out o.spacy": "OUT.spacy and --dev-out",
    "parse MODEL y.txt x.txt -o x.txt": "FILE and --output",
    "parse MODEL x.txt --errors x.txt": "FILE and --errors",
    "parse MODEL x.txt -o o.csv --errors ./o.csv": "--output and --errors",
    "errors MODEL x.spacy --html x.spacy": "GOLD and --html",
    "errors MODEL y.spacy --train x.spacy --html x.spacy": "--train and --html",
    "explain MODEL x.txt --html x.txt": "FILE and --html",
    "tune x.spacy x.spacy": "TRAIN and OUT.cfg",
    "tune x.spacy x.cfg --config x.cfg": "--config and OUT.cfg",
}


# Commands whose output exists.
EXISTING = (
    "init y.txt",
    "tune x.spacy y.txt",
    "parse MODEL x.txt -o y.txt",
    "parse MODEL x.txt --rest y.txt",
    "parse MODEL x.txt --report y.txt",
    "parse MODEL x.txt --errors y.txt",
    "select MODEL x.spacy --out y.txt",
    "suspicious x.spacy -o y.txt",
    "convert x.txt y.spacy",
    "convert x.txt o.spacy --faults y.txt",
    "convert x.txt o.spacy --dev .5 --dev-out y.spacy",
    "errors MODEL x.spacy --html y.txt",
    "explain MODEL Ada --html y.txt",
    "calibrate MODEL x.spacy -o .",
    "guarantee MODEL x.spacy --record-error .1 -o .",
    "adapt MODEL x.spacy -o .",
    "prune MODEL . --keep .1",
    "gazetteer replace MODEL cities x.txt -o .",
)
STAYS = [(f"{command} -f", f"{names} are the same") for command, names in SAME.items()]
STAYS += [(command, "exists already. Choose another one") for command in EXISTING]


@pytest.mark.parametrize("command, message", STAYS)
def test_what_is_there_is_not_overwritten(
    command, message, model, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for name in ("x.spacy", "y.spacy"):
        DocBin(docs=references()).to_disk(name)
    for name in ("x.txt", "y.txt", "x.cfg"):
        Path(name).write_text("Ada wrote.\n")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    args = command.replace("MODEL", str(model)).split()
    result = hosemi(*args, code=2)
    assert message in result.stderr and result.stdout == ""
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def names_of(command) -> set[str]:
    return {one.name for one in command.params}


def test_all_commands_but_those_with_formats_know_json():
    with_json = {name for name, one in commands().items() if "as_json" in names_of(one)}
    assert {*ARGUMENTS} - with_json == {("gazetteer", "replace"), ("parse",)}


# What only a process shows: the exit code, and what standard error says.
ENDS = {
    "init - | true": (141, ""),  # nobody reads
    "init - >/dev/full": (2, "No space left on device: 'standard output'"),
    "weights MODEL >&-": (2, "standard output. It is closed"),
    "parse MODEL - <&-": (2, "standard input. It is closed"),
}


@pytest.mark.skipif(os.name != "posix", reason="signals and file descriptors of POSIX")
def test_standard_streams_of_a_process(model):
    running = {}
    for command in ENDS:
        if "/dev/full" in command and not Path("/dev/full").exists():
            continue
        line = f"{sys.executable} -m spacy hosemi {command}; exit ${{PIPESTATUS[0]}}"
        args = "bash", "-c", line.replace("MODEL", str(model))
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        running[command] = subprocess.Popen(args, encoding="utf8", **pipes)
    for command, process in running.items():
        out, err = process.communicate()
        code, message = ENDS[command]
        assert (process.returncode, out) == (code, "") and message in err
        assert err.count("\n") == bool(message)


@pytest.mark.parametrize(
    "args", ["prune M --data", "calibrate M", "compare M M", "errors M CORPUS --train"]
)
@pytest.mark.parametrize(
    "name, content, message",
    [
        ("dev.jsonl", b"{}", "is no .spacy file"),
        ("dev.jsonl", b"{}", "`python -m spacy hosemi convert` makes them"),
        ("dev.spacy", b"text", "It doesn't look like the data is in DocBin (.spacy)"),
        ("dev.spacy", None, "There is no file"),
    ],
)
def test_a_corpus_is_a_spacy_file(model, dev, args, name, content, message, tmp_path):
    path, paths = tmp_path / name, {"M": model, "CORPUS": dev}
    if content is not None:
        path.write_bytes(content)
    args = [paths.get(x, x) for x in args.split()]
    assert message in said(*args, path, code=2)


def small_app(function) -> typer.Typer:
    """Commands of which one calls a function."""
    one = typer.Typer(cls=streams.CommandGroup)
    one.callback()(lambda: None)
    one.command("it")(lambda: function())
    return one


def crash(error=KeyError, message="lost"):
    raise error(message)


@pytest.mark.parametrize(
    "function, code, expected",
    [
        (crash, 2, "KeyError: 'lost'"),
        (lambda: crash(ValueError, "[HS001] no such"), 2, "Error: [HS001] no such"),
        (hit_ctrl_c, 130, "Stopped."),
        (functools.partial(signal.raise_signal, signal.SIGTERM), 143, ""),
        (lambda: crash(BrokenPipeError), 141, ""),
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


def test_a_signal_leaves_nothing_half(tmp_path):
    def write():
        with streams.open_output(tmp_path / "a.csv") as file:
            file.write("half")
            signal.raise_signal(signal.SIGTERM)

    assert CliRunner().invoke(small_app(write), ["it"]).exit_code == 143
    assert os.listdir(tmp_path) == []
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


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


ADA = "Ada Lovelace wrote to Mary in Paris."
BODY = "--text-key", "body"
READ_TEXTS = {"parse": ["-F", "jsonl"], "explain": ["--json"], "select": ["--json"]}


@pytest.mark.parametrize("command", READ_TEXTS)
@pytest.mark.parametrize(
    "name, content, options",
    [
        ("a.jsonl", '{{"text": "{}", "body": "no"}}', ()),
        ("a.jsonl", '{{"text": "no", "body": "{}"}}', BODY),
        ("a.ndjson", '{{"tokens": ["{}"]}}', ()),
        ("a.txt", '{{"body": "{}"}}', BODY),
        ("a.csv", 'id;body\n7;"{}"', ("--column", "body")),
        ("a.csv", "id,body\n7,{}", ("--column", "body")),
        ("a.tsv", "id\tbody\n7\t{}", ("--column", "body")),
        ("a.txt", "{}é", ("--encoding", "latin-1")),
        ("a.csv", "id,body\n7,{}", ("--column", "body", "--encoding", "utf-16")),
        ("pipe", "{}", ()),
    ],
)
def test_files_of_texts(model, tmp_path, command, name, content, options):
    text = ADA.replace(" ", '", "') if "tokens" in content else ADA
    encoding = options[-1] if "--encoding" in options else "utf8"
    args = tmp_path / name, content.format(text), encoding
    writer = threading.Thread(target=Path.write_text, args=args, daemon=True)
    if name == "pipe":  # such as a shell makes of <(command): it is read once
        getattr(os, "mkfifo", lambda _: pytest.skip("named pipes of POSIX"))(args[0])
    writer.start()
    if name != "pipe":
        writer.join()
    args = command, model, tmp_path / name, *options, *READ_TEXTS[command]
    found = srsly.json_loads(hosemi(*args).stdout)
    (one,) = found.get("documents") or found.get("docs") or [found]
    words = one["tokens"] if "tokens" in found else one["text"].split()
    line = one["line"] if "line" in one else one["index"] + 1
    assert " ".join(words) == ADA + "é" * ("é" in content)
    assert line == len(content.splitlines())


def test_a_process(model, tmp_path):
    """spaCy finds the commands; warnings are for people, without the line of the
    program that gives them."""
    cfg = {"version": 1, "error": 0.1, "delta": 0.1, "digest": "another"}
    cfg |= {"n_tested": 9, "n_accepted": 9, "record_threshold": 0.5, "span_limits": []}
    nlp = make_trained()
    nlp.get_pipe("hosemi").guarantee = cfg
    nlp.to_disk(tmp_path / "m")
    command = [sys.executable, "-m", "spacy", "hosemi", "parse", tmp_path / "m", "-"]
    done = subprocess.run(command, capture_output=True, input=b"Ada Lovelace met.\n")
    assert done.returncode == 0 and b"\n1,Ada Lovelace met.," in done.stdout
    assert (
        done.stderr.startswith(b"Warning: [HSW73] ") and done.stderr.count(b"\n") == 1
    )
