"""Runs the code blocks of a Markdown page as one program and compares what they print.

A fenced block is `python`, `bash`, `ini`, `text` or `json`. A `text` block is what the
block before it prints; a line `# ...` below a `print` is what that line prints. `...`
stands for any text, alone in a line for any lines; white space does not count; decimal
numbers may differ by one in the last digit shown. A comment before a block changes how
it is treated:

    <!-- file: NAME -->       it is written to a file of this name instead
    <!-- base: CONFIG -->     an ini block is merged into this config, not base.cfg
    <!-- not run: REASON -->  it is not run
    <!-- needs: PACKAGE -->   it is not run where this package is not installed
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
from collections.abc import Callable
from configparser import ConfigParser
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import spacy
from spacy.schemas import ConfigSchemaInit
from spacy.tokens import DocBin
from spacy.util import load_config, load_model_from_config
from spacy.vocab import Vocab
from thinc.api import Config

from spacy_hosemi.inspection import costs

from .conftest import BASE_CONFIG, ROOT
from .helpers import run_spacy

# Folders that a page finds as in a checkout.
BESIDE = ("configs", "corpus", "examples")
KINDS = {"python", "bash", "ini", "text", "json"}
BLOCK = re.compile(
    r"(?:^<!-- (?P<key>file|base|not run|needs): (?P<value>.*?) -->\n+)?"
    r"^(?P<indent> *)```(?P<kind>\w*)\n(?P<text>.*?)^ *```$",
    re.M | re.S,
)
NUMBER = re.compile(r"\d+\.\d+(?:e[-+]?\d+)?")
COLOUR = re.compile(r"\x1b\[[\d;]*m")
DEMO = "train fields.cfg --paths.train train.spacy --paths.dev dev.spacy"


@dataclass(frozen=True)
class Block:
    """One fenced block; `key` and `value` are those of the comment before it."""

    kind: str
    text: str
    line: int
    key: str | None = None
    value: str = ""


def read_blocks(page: str) -> list[Block]:
    blocks = []
    for match in BLOCK.finditer(page):
        line = page.count("\n", 0, match.start("kind")) + 1
        assert match["kind"] in KINDS, f"line {line}: {match['kind']!r}"
        value = match["value"] or ""
        blocks.append(Block(match["kind"], match["text"], line, match["key"], value))
    return blocks


def expected_lines(block: Block, after: Block | None) -> list[str]:
    """What a block should print: the text block after it, or its comments."""
    if after is not None and after.kind == "text":
        return clean(after.text)
    return clean("\n".join(commented(block.text))) if block.kind == "python" else []


def commented(code: str) -> list[str]:
    """Comments that follow a line with print, or another such comment."""
    found, is_output = [], False
    for line in code.splitlines():
        is_comment = line.lstrip().startswith("#")
        if is_comment and is_output:
            found.append(line.lstrip()[1:])
        else:
            is_output = "print(" in line
            if is_output and re.search(r"\)\s+# ", line):
                found.append(line.rpartition("# ")[2])
    return found


def clean(text: str) -> list[str]:
    """Lines without colours, white space that does not count, and rules of tables."""
    lines = (" ".join(line.split()) for line in COLOUR.sub("", text).splitlines())
    return [line for line in lines if line.strip("-= ")]


def agrees(found: str, expected: str) -> bool:
    """Whether two lines are the same but for `...` and the last digit of decimals."""
    pieces = [re.escape(piece) for piece in NUMBER.split(expected)]
    numbers = NUMBER.findall(expected)
    pattern = pieces[0]
    for piece in pieces[1:]:
        pattern += f"({NUMBER.pattern})" + piece
    match = re.fullmatch(pattern.replace(re.escape("..."), ".*?"), found)
    return match is not None and all(
        is_near(left, right) for left, right in zip(match.groups(), numbers)
    )


def is_near(found: str, expected: str) -> bool:
    digits, _, power = expected.partition("e")
    last = 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
    return abs(float(found) - float(expected)) < 1.5 * last


def compare(found: list[str], expected: list[str], where: str) -> None:
    at = 0
    for k, line in enumerate(expected):
        if line == "...":
            after = expected[k + 1] if k + 1 < len(expected) else None
            while at < len(found) and not (after and agrees(found[at], after)):
                at += 1
            continue
        assert at < len(found), f"{where}: {line!r} is missing in {found}"
        assert agrees(found[at], line), f"{where}: {found[at]!r} is not {line!r}"
        at += 1
    assert at == len(found), f"{where}: {found[at:]} is printed, too"


def is_run(block: Block) -> bool:
    """Whether a block is to be run here."""
    if block.key == "needs":
        return find_spec(block.value) is not None
    return block.key != "not run"


class Page:
    """A page, its blocks, and the folder that they run in.

    path (Path): The Markdown file.
    demo (Path): The folder that `make demo` leaves, trained once.
    """

    def __init__(self, path: Path, demo: Path) -> None:
        self.path, self.demo = path, demo
        self.namespace = {"__name__": "__main__"}
        self.runners: dict[str, Callable[[Block], str]] = {
            "python": self.run_python,
            "bash": self.run_bash,
            "ini": self.run_ini,
        }

    def run(self) -> None:
        """Run all blocks in the working directory, as if it were a checkout."""
        for name in BESIDE:
            os.symlink(ROOT / name, name)
        blocks = read_blocks(self.path.read_text("utf8"))
        for block, after in zip(blocks, [*blocks[1:], None]):
            where = f"{self.path.name}:{block.line}"
            if block.key == "file":
                Path(block.value).write_text(block.text, "utf8")
            elif is_run(block) and block.kind in self.runners:
                try:
                    printed = self.runners[block.kind](block)
                except Exception as error:
                    raise AssertionError(f"{where}: {error!r}") from error
                is_file = after is not None and after.key == "file"
                expected = expected_lines(block, None if is_file else after)
                if expected or block.kind == "python":
                    compare(clean(printed), expected, where)

    def run_python(self, block: Block) -> str:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            # As a program of its own: the imports from __future__ here are not its.
            code = compile(block.text, str(self.path), "exec", dont_inherit=True)
            exec(code, self.namespace)
        return printed.getvalue()

    def run_ini(self, block: Block) -> str:
        """Put it into a filled config, build the pipeline, resolve [initialize]."""
        for line in block.text.splitlines():
            assert not re.search(r"=.*\s#", line), f"a comment within {line!r}"
        path = ROOT / block.value if block.key == "base" else BASE_CONFIG
        texts = path.read_text("utf8"), block.text
        names = {name for text in texts for name in sections(text).sections()}
        missing = {name.rpartition(".")[0] for name in names} - {*names, ""}
        assert not missing, f"a config that is not filled lacks the parents {missing}"
        config = Config().from_str(with_sections(filled(path), block.text))
        load_model_from_config(config, auto_fill=True)
        spacy.registry.resolve(config["initialize"], schema=ConfigSchemaInit)
        return ""

    def run_bash(self, block: Block) -> str:
        return "".join(map(self.command, block.text.replace("\\\n", " ").splitlines()))

    def command(self, line: str) -> str:
        """Run one command in this process; what others install is only looked up."""
        words = shlex.split(line, comments=True)
        match words:
            case []:
                return ""
            case ["make", "demo"]:
                shutil.copytree(self.demo, "demo")
            case ["make", target] | ["make", target, _]:
                assert f"\n{target}" in (ROOT / "Makefile").read_text("utf8"), target
            case [".", ".venv/bin/activate"]:
                pass
            case ["cp", source, target]:
                shutil.copy(source, target)
            case ["pip", "install", package]:
                check_package(package)
            case [*_, "hosemi", "convert", source, target] if "corpus/" in source:
                shutil.copy(self.demo / target, target)
            case ["python", "-m", "spacy", *args]:
                return self.spacy(args)
            case _:
                raise AssertionError(f"{line!r} is no command that these tests know")
        return ""

    def spacy(self, args: list[str]) -> str:
        """Trainings take few steps and documents, but for that of the demo, which is
        done already; so do those that judge a corpus, and say what training costs."""
        if args[0] == "hosemi" and args[1] in ("check", "suspicious"):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(costs, "SECONDS", 0.0)
                patch.setattr(costs, "TRACED", (200, 400))
                patch.setattr(costs, "TIMED", 1_000)
                is_judged = args[1] == "suspicious"
                return run_spacy(*(shortened(x) if is_judged else x for x in args))
        if args[0] == "train":
            if " ".join(args[:-2]) == DEMO:
                shutil.copytree(self.demo / "model-last", f"{args[-1]}/model-last")
                return ""
            initialize = load_config(args[1])["initialize"]["components"]
            is_batch = "fit" in initialize.get("hosemi", {})
            args = [*map(shortened, args)]
            args += BATCH_LIMITS if is_batch else ONLINE_LIMITS
        return run_spacy(*args)


N_TRAIN = 25
BATCH_LIMITS = ("--initialize.components.hosemi.fit.max_iter", "6")
ONLINE_LIMITS = ("--training.max_steps", "20", "--training.eval_frequency", "10")


@cache
def filled(config: Path) -> str:
    """What `init fill-config` makes of a config."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "filled.cfg")
        run_spacy("init", "fill-config", config, path)
        return path.read_text("utf8")


def with_sections(config: str, text: str) -> str:
    """Put sections into a config, as a reader would: an existing section gets the new
    values, or is replaced if another function is named in it."""
    result, added = (sections(text) for text in (config, text))
    for name in added.sections():
        if not result.has_section(name):
            result.add_section(name)
        if any(key.startswith("@") for key in added[name]):
            result[name].clear()
        result[name].update(added[name])
    printed = io.StringIO()
    result.write(printed)
    return printed.getvalue()


def sections(text: str) -> ConfigParser:
    parser = ConfigParser(interpolation=None, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(text)
    return parser


def shortened(path: str) -> str:
    """Returns another file with the first documents of a .spacy file; else the path."""
    if not path.endswith(".spacy"):
        return path
    docs = islice(DocBin().from_disk(path).get_docs(Vocab()), N_TRAIN)
    short = path.replace(Path(path).name, f"short-{Path(path).name}")
    DocBin(docs=docs).to_disk(short)
    return short


def check_package(package: str) -> None:
    """Whether what a page installs is this package, with an extra that there is."""
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg", "utf8")
    match = re.fullmatch(r"(?:\.|spacy_hosemi)(?:\[(\w+)\])?", package)
    assert match, package
    assert match[1] is None or match[1] in setup["options.extras_require"], package
