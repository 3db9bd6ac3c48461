"""What the benchmarks compute themselves, and that each of them runs."""

import json
import random
import re
import shlex
import string
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import hypothesis.strategies as st
import numpy as np
import pytest
import spacy
from hypothesis import given
from spacy.cli._util import app
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import load_config, load_model_from_config
from spacy.vectors import Vectors
from spacy.vocab import Vocab

import spacy_hosemi
from spacy_hosemi import cli  # noqa: F401 - the commands are there
from spacy_hosemi.features import make_features

from ..conftest import ROOT, scripts_on_path
from ..helpers import make_trained

TRIALS = "--overrides initialize.components.hosemi.fit.max_iter=1"
FIT = f"{TRIALS} initialize.components.hosemi.fit.l2=0.1"
RUNS = [
    f"accuracy DATA --peer crfsuite --peer-settings .05 .1 {FIT}",
    f"accuracy DATA --cv 2 --all --max-train 12 {FIT}",
    f"ablation DATA --dev --variants affixes {FIT}",
    "annotator DATA --seeds 2 --first 4 --least 6 --max-train 12 --max-docs 5",
    "clauses DATA --cv 2 --max-iter 1 --variants chain encoding",
    f"calibration DATA --test {FIT} components.hosemi.decoding=mbr",
    "gazetteers --sizes 50 --attrs LOWER --data DATA",
    "guarantee --known --pool 40 --draws 3 --records 90 --errors .1",
    "guarantee DATA --splits 2 --errors .3 --max-train 6 --max-iter 2",
    f"growth DATA --sizes 20 {FIT}",
    f"prediction_growth DATA --max-train 6 --passes 1 --max-docs 5 --more DATA {FIT}",
    "hierarchy TREE --max-train 9 --max-test 5 --max-iter 1 --threshold .1 1",
    "hierarchy TREE --max-train 9 --held-out 5 --max-iter 1 --draws 2",
    "hierarchy TREE --systems tree --max-train 9 --epochs 1 --growth 2 --picture OUT/g",
    "inference DATA --output OUT",
    f"learning_curves DATA --sizes 20 --systems hosemi --output OUT {FIT}",
    "vectors DATA --sizes 6 9 --systems features shuffled clusters ner --vectors WORDS "
    f"--folds --max-steps 2 --output OUT {FIT}",
    "neural DATA --steps 5 --passes 1 --systems hosemi",
    f"parallel DATA --documents 4 --passes 1 --threads-only {FIT}",
    f"partial_annotation DATA --missing .5 --repeats 1 {FIT}",
    f"patterns DATA --order 1 --sizes 2 --l1 {FIT}",
    f"settings DATA --kind names --max-train 6 --tune .02 {TRIALS}",
    "dirty_text DATA --only ligatures",
    "tokenizing DATA --passes 1",
    "adapt SETS --model MODEL --old DATA/test.jsonl --sizes 2 --draws 1 --max-docs 5 "
    "--ways before update adapt",
    "references SETS --lines 12 --seeds 1 2 --test",
    "estimates DATA",
    "faults DATA --kills 2 --corruptions 20",
    "soak DATA --documents 60 --threads 1 --max-iter 1 --long-every 0 --output OUT",
    "spark DATA --rows 20 --jobs 1 --rounds 1 --ways processes --max-iter 1 "
    "--output OUT",
    "fuzz --runs 0 --loads 12",
    "service MODEL DATA --clients 4 --seconds 2",
    f"updates DATA --new DATA --sizes 2 --passes 1 --max-train 9 {FIT}",
    "round_trip DATA --kind references --max-train 9",
    "stopping DATA --kind names --max-train 9 --max-iter 3",
    "suspicious DATA --folds 2 --share .3 --max-docs 20",
    "estimates DATA --documents 12 --labels 3 --max-iter 1",
    "throughput DATA --systems hosemi crfsuite --ways doc-pipe text-extract --passes 1 "
    f"--other-digits 25 {FIT}",
    "fields --data PAPERS --quick",
    "punctuation --data PAPERS --quick",
    "letters --data PAPERS --quick",
    "chinese_pos --data PAPERS --quick",
    "running_time --data PAPERS --quick",
    "orders --data PAPERS --quick",
]
# Tasks of orders, of the same kind as others.
LEFT_OUT = "snips_original", "grobid_affiliation", "ud_chinese_gsd_pos"
# Collections of garbage before each timing would go through all that was imported.
NO_GC = SimpleNamespace(
    **dict.fromkeys(("collect", "disable", "enable", "freeze", "unfreeze"), int)
)
SIZES = 1, 0.0, (9, 18), (2, 4), (2, 4), (100, 150), (1, 2), 2, 20
SMALL = [
    ("inference", "Sizes", lambda: import_module("inference_growth").Sizes(*SIZES)),
    ("letters", "N_TRAIN", 20),
    ("fitting", "QUICK_ITERATIONS", 1),
    ("scores", "N_DRAWS", 5),
    ("peers", "C1", [0.0]),
    ("fields", "THEIRS", {("C", 1): ("", "")}),
    ("punctuation", "THEIRS", {("SC", 2): ("", "")}),
    ("running_time", "SIZES", {"cora": (5,)}),
    ("parallel", "N_STEPS", 100),
    ("growth", "N_PASSES", 1),
    ("growth", "OPERATIONS", ("hosemi.explain",)),
    ("harness", "N_PASSES", 1),
    ("harness", "gc", NO_GC),
    ("gazetteers", "gc", NO_GC),
    ("prediction_growth", "N_LABELS", (5,)),
    ("harness", "spacy", SimpleNamespace(blank=cache(spacy.blank))),
    ("neural", "EVERY", 5),
    ("vectors", "N_CLUSTERS", (2, 3)),
    ("tokenizing", "N_TIMES", 100),
]


@pytest.fixture(scope="module", autouse=True)
def on_path():
    with scripts_on_path():
        yield


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """RETURNS (dict): Folders with small data sets, by the names in RUNS."""
    folder = tmp_path_factory.mktemp("data")
    nlp = spacy.blank("en")
    lines = (ROOT / "corpus" / "train.jsonl").read_text("utf8").splitlines()[:40]
    records = []
    for record in map(json.loads, lines):
        doc = nlp.make_doc(record["text"])
        spans = [doc.char_span(i, j, label) for i, j, label in record["spans"]]
        triples = [[x.start, x.end, x.label_] for x in spans if x is not None]
        records.append({"tokens": [t.text for t in doc], "spans": triples})

    def write(name, records):
        parts = {"train": records[:20], "dev": records[20:30], "test": records[30:]}
        for part, some in parts.items():
            path = folder / name / f"{part}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            text = "".join(f"{json.dumps(record)}\n" for record in some)
            path.write_text(text, "utf8")
        return folder / name

    def tagged(label):
        return [
            {"tokens": x, "spans": [[i, i + 1, label(y)] for i, y in enumerate(x)]}
            for x in (record["tokens"][:9] for record in records)
        ]

    def labelled(label):
        return [
            {**x, "spans": [[i, j, label(y)] for i, j, y in x["spans"]]}
            for x in records
        ]

    tags = tagged(lambda word: ("PUNCT", "CONJ", "ADP", "VERB")[len(word) % 4])
    for name in (*LEFT_OUT, "cora", "anystyle", "usaddress"):
        write(f"papers/{name}", tags)
    for name in ("cora", "anystyle", "grobid_citation", "linkedbooks"):
        write(f"sets/{name}", records)
    marks = {",": "COMMA", ".": "PERIOD"}
    punct = [[marks.get(word, "O") for word in x["tokens"]] for x in records]
    write("papers/punctuation", [{**x, "punct": y} for x, y in zip(records, punct)])
    spacy_hosemi.save(make_trained(), folder / "model")
    keys = map(nlp.vocab.strings.add, "1,.a")
    nlp.vocab.vectors = Vectors(data=np.eye(4, 3, dtype="f"), keys=keys)
    nlp.to_disk(folder / "words")
    letters = [
        {**x, "tokens": [f"{ord(word[0]):032x}" for word in x["tokens"]]}
        for x in tagged(lambda word: string.ascii_letters[len(word) % 4])
    ]
    write("papers/ocr_letters", letters)
    return {
        "DATA": write("plain", records),
        "TREE": write("tree", labelled(lambda y: f"{y[0]}/{y}")),
        "PAPERS": folder / "papers",
        "SETS": folder / "sets",
        "OUT": folder / "out",
        "MODEL": folder / "model",
        "WORDS": folder / "words",
    }


@pytest.fixture
def in_this_process(monkeypatch):
    """What the scripts run in other processes runs here: that saves the imports."""

    def run(command, stdout, **_):
        report, command = command[5], command[6:]
        log, code = open(stdout.name, "w", encoding="utf8"), 0
        with log, redirect_stdout(log), redirect_stderr(log):
            if command[1] == "-m":
                try:
                    app(command[3:], standalone_mode=False)
                except SystemExit as done:  # of our own commands
                    code = done.code or 0
            else:
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(sys, "argv", command[2:])
                    exec(command[2], {})
        Path(report).write_text(json.dumps({"cpu_s": 1.0, "peak_mb": 1.0}), "utf8")
        return SimpleNamespace(returncode=code)

    fake = SimpleNamespace(run=run, STDOUT=subprocess.STDOUT)
    monkeypatch.setattr(import_module("processes"), "subprocess", fake)


# Scripts that print how exact spans of documents are.
EXACT = {"accuracy", "ablation", "calibration", "hierarchy", "learning_curves"}
EXACT |= {"neural", "partial_annotation", "patterns", "dirty_text", "settings"}
EXACT |= {"clauses", "fields", "running_time", "orders", "guarantee", "updates"}
EXACT |= {"round_trip", "references", "adapt", "vectors"}

# What the extra "bench" has and "dev" has not, by a word of the lines that need it.
NEEDED = {
    "clusters": "sklearn",
    "crfsuite": "pycrfsuite",
    "settings": "pycrfsuite",
    "PAPERS": "pycrfsuite",
    "service": "prometheus_client",
    "spark": "psutil",
    "suspicious": "cleanlab",
}


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("line", RUNS, ids=lambda line: line.split()[0])
def test_script_runs(line, folders, in_this_process, monkeypatch, capsys):
    for word, module in NEEDED.items():
        if word in line and not find_spec(module):
            pytest.skip(f"needs {module}")
    script, *argv = line.split()
    for name, folder in folders.items():
        argv = [text.replace(name, str(folder)) for text in argv]
    monkeypatch.setattr(sys, "argv", [script, *argv])
    module = import_module(script)
    for other, name, small in SMALL:
        monkeypatch.setattr(import_module(other), name, small)
    if "PAPERS" in line:
        for name in LEFT_OUT:
            monkeypatch.delitem(import_module("orders").TASKS, name)
    assert module.main() == 0
    said = capsys.readouterr().out
    assert " | " in said
    assert ("records" in said) == (script in EXACT and "--growth" not in line)


def quoted_commands():
    """Yields the commands of scripts that pages and the scripts themselves quote."""
    folder = ROOT / "benchmarks"
    pages = [folder / "README.md", *folder.glob("*/*.md"), *ROOT.glob("docs/*.md")]
    texts = [page.read_text("utf8") for page in (ROOT / "README.md", *pages)]
    docs = [re.match(r'"""(.*?)"""', x.read_text("utf8"), re.S) for x in SCRIPTS]
    texts += [found[1].replace("\\\\", "\\") for found in docs if found]
    for text in texts:
        text = text.replace("\\\n", " ")
        yield from re.findall(r"^ {4}python (benchmarks/[^#\n]*)", text, re.M)
        yield from re.findall(r"`python\s(benchmarks/[^`]*)`", text)


SCRIPTS = [*(ROOT / "benchmarks").glob("**/*.py")]
STAND_FOR = {"KIND": "fields", "N": "9", "...": "", "..": "", "pool": ""}  # it has gone
OF_OTHERS = "fuzz_reader", "spark_worker"  # which have no options


@pytest.mark.parametrize(
    "line",
    """
    grammar --lines -5, grammar --lines 0, make --dir no/folder, demo --output Makefile,
    adapt . --strength nan, adapt . --strength -1, annotator . --share inf, annotator .
    --seeds 0, fuzz --runs -1, settings . --peer-settings nan 1
    """.split(","),
)
def test_numbers_and_paths_that_make_no_sense(line, monkeypatch, capsys):
    script, *argv = line.split()
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", [script, *argv])
    pytest.raises(SystemExit, import_module(script).main).match("^2$")
    *_, option = (word for word in argv if word.startswith("--"))
    assert f"argument {option}: " in capsys.readouterr().err


def test_quoted_commands_can_be_read(monkeypatch):
    arguments, read = import_module("arguments"), []
    monkeypatch.setattr(arguments, "run", lambda args, _: read.append(args) or 0)
    monkeypatch.setattr(Path, "exists", lambda path: True)
    commands = [*quoted_commands()]
    for command in commands:
        words = shlex.split(re.sub(r"[\[\]]", "", command).replace("$F", "a.b"))
        script, *argv = (STAND_FOR.get(word, word) for word in words)
        assert ROOT / script in SCRIPTS, command
        if Path(script).stem not in OF_OTHERS:
            monkeypatch.setattr(sys, "argv", [script, *filter(None, argv)])
            try:
                assert import_module(Path(script).stem).main() == 0, command
            except ModuleNotFoundError as error:
                assert error.name in NEEDED.values(), command
    assert len(read) > 100


PAPERS = ("chinese_pos", "fields", "letters", "orders", "punctuation", "running_time")


# Each with what the process had at first, but for libraries.
START = """
import runpy, sys
at_first = [*sys.path]
folder, *names = sys.argv[1:]
for name in names:
    sys.path[:] = [folder, *at_first[1:]]
    sys.argv = [f"{folder}/{name}.py", "--help"]
    for key, module in [*sys.modules.items()]:
        if str(getattr(module, "__file__", "")).startswith(folder.rpartition("/")[0]):
            del sys.modules[key]
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        assert end.code == 0, name
"""


def test_scripts_of_papers_start_alone():
    """They find the modules of the folder above."""
    folder = ROOT / "benchmarks" / "papers"
    command = [sys.executable, "-c", START, str(folder), *PAPERS]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("--data DIR") >= len(PAPERS)


def test_a_build_is_the_same_as_itself(folders, monkeypatch, capsys, tmp_path):
    against, worker = import_module("against"), import_module("against_worker")

    here = worker.Worker()

    class Build:
        def __init__(self, folder):
            self.folder = folder

        def ask(self, do, *args):
            return json.loads(json.dumps(getattr(here, do)(*args)))

        def end(self):
            here.folder.cleanup()

    (tmp_path / "spacy_hosemi.egg-info").mkdir()
    (tmp_path / "spacy_hosemi.egg-info" / "entry_points.txt").touch()
    saved = ROOT / "tests" / "fixtures" / "saved" / "0.2.0" / "flat"
    argv = f"against --before {tmp_path} --after {tmp_path} --data {folders['DATA']} "
    argv += f"--models {saved} --rounds 1 --train 5 --docs 3 --steps 2"
    monkeypatch.setattr(sys, "argv", argv.split())
    monkeypatch.setattr(against, "Build", Build)
    automaton = import_module("random_models").random_automaton(3, 3, 12)
    monkeypatch.setattr(worker, "random_automaton", lambda *_: automaton)
    monkeypatch.setattr(against, "TASKS", {"best": 2, "first_sight": 1})
    assert against.main() == 0
    found = capsys.readouterr().out
    assert found.count("same") == 1 + len(against.TASKS)


def test_instructions_are_those_of_the_functions_themselves(monkeypatch, tmp_path):
    scripts = import_module("instructions")
    monkeypatch.setattr(scripts, "in_process", lambda *_, under: None)
    text = "ob=(1) /x/libpython3.so.1\n1 100\ncob=(2) /lanes.cp.so\ncalls=3 2\n1 5000\n"
    (tmp_path / "callgrind").write_text(f"{text}ob=(2)\n+3 40\nob=(3)\n1 7\n", "utf8")
    assert scripts.count(tmp_path) == {"libpython3": 100, "lanes": 40, "others": 7}


# --- features as one would write them by hand -------------------------------------


@pytest.mark.parametrize(
    "word, expected",
    [("", ""), ("Ada", "Xxx"), ("1989", "dddd"), ("Nocedal's", "Xxxxx'x"), ("é", "é")],
)
def test_shape(word, expected):
    assert import_module("plain_features").shape(word) == expected


def test_plain_features_of_two_words():
    first, second = import_module("plain_features").plain_features(["Ada", "12"])
    assert {"w=ada", "w-1=^", "w+1=12", "w+2=$", "x=Xxx", "title"} <= set(first)
    assert {"p1=a", "p4=ada", "s2=da", "ww+1=ada 12", "w-1w=^ ada"} <= set(first)
    expected = {"w=12", "w-1=ada", "w+1=$", "digits", "has digit", "x-1x=Xxx dd"}
    assert expected <= set(second)
    assert "title" not in second


@given(st.lists(st.text(min_size=1, max_size=5), max_size=5))
def test_plain_features_are_distinct(words):
    found = import_module("plain_features").plain_features(words)
    assert len(found) == len(words)
    assert all(len(set(token)) == len(token) for token in found)


@pytest.mark.parametrize(
    "feature, expected",
    [
        ("cities:IN=2", True),
        ("LOWER & cities:IN[-1]=a & 2", True),
        ("clusters:PREFIX4[1]=0110", False),
        ("LOWER & clusters:VALUE & cities:IN[-1]=a & 01 & 2", True),
        ("LOWER==:", False),
        ("LOWER=cities:IN=2", False),
        ("BIAS", False),
    ],
)
def test_which_features_read_lists(feature, expected):
    assert import_module("peers").is_of_list(feature) is expected


# --- lists of names ---------------------------------------------------------------


@given(st.sets(st.sampled_from("abcdef"), min_size=2), st.data())
def test_drawn_entries(names, data):
    from gazetteers import draw_entries

    entries = sorted(names)
    size = data.draw(st.integers(1, len(entries) ** 2 // 2))
    drawn = draw_entries(entries, size)
    assert len(set(drawn)) == len(drawn) == size
    assert set(drawn[: len(entries)]) <= names
    assert {part for entry in drawn for part in entry.split(", ")} <= names
    smaller = draw_entries(entries, random.Random(size).randint(1, size))
    assert drawn[: len(smaller)] == smaller


# --- families of features ---------------------------------------------------------

INSIDE = ["BIAS", "LOWER", "SUFFIX2", "SHORT_SHAPE", "c:PREFIX4", "c:VALUE"]


@pytest.mark.parametrize(
    "family, removed",
    [
        ("words", {"inside": ["LOWER"], "end": ["LOWER[-1] & LOWER"], "whole": []}),
        ("affixes", {"inside": ["SUFFIX2"]}),
        ("shapes", {"inside": ["SHORT_SHAPE"]}),
        ("numbers-punctuation", {"end": ["NUMBER[1]"]}),
        ("flags", {"start": ["IS_TITLE"]}),
        ("windows", {"start": ["x:IN[-1]"], "end": ["NUMBER[1]", "LOWER[-1] & LOWER"]}),
        ("bags", {"start": ["LENGTH{1:1}"]}),
        ("tables", {"inside": ["c:PREFIX4", "c:VALUE"]}),
        ("conjunctions", {"end": ["LOWER[-1] & LOWER"]}),
        ("inside", {"inside": INSIDE}),
        ("start", {"start": ["x:IN[-1]", "IS_TITLE", "LENGTH{1:1}"]}),
        ("end", {"end": ["NUMBER[1]", "LOWER[-1] & LOWER"]}),
        ("lists", {"start": ["x:IN[-1]"], "whole": ["x:MATCH"]}),
        ("lists-tokens", {"start": ["x:IN[-1]"]}),
        ("lists-segments", {"whole": ["x:MATCH"]}),
    ],
)
def test_families(family, removed):
    from ablation import FAMILIES, without
    from comparison import n_templates

    given = {
        "inside": INSIDE,
        "start": ["x:IN[-1]", "IS_TITLE", "LENGTH{1:1}"],
        "end": ["NUMBER[1]", "LOWER[-1] & LOWER"],
        "whole": ["x:MATCH"],
    }
    features = make_features("none", **given, min_count=3, all_labels=False)
    kept = without(features, FAMILIES[family])
    assert kept.min_count == 3 and not kept.all_labels
    for role, templates in given.items():
        expected = [x for x in templates if x not in removed.get(role, [])]
        assert list(map(str, kept.roles[role])) == expected
    n_removed = sum(map(len, removed.values()))
    assert n_templates(features) - n_templates(kept) == n_removed


def test_all_families_are_tested():
    from ablation import FAMILIES

    (rows,) = (mark.args[1] for mark in test_families.pytestmark)
    assert {family for family, _ in rows} == set(FAMILIES)


# --- partial annotation ------------------------------------------------------------


@given(st.lists(st.integers(0, 4), max_size=5), st.floats(0, 1), st.floats(0, 1))
def test_larger_shares_take_more_away(n_ents, a, b):
    from partial_annotation import taken_away

    docs = [make_fields(n) for n in n_ents]
    less, more = (taken_away(docs, share, seed=1) for share in sorted((a, b)))
    assert sum(map(len, more)) == round(max(a, b) * sum(n_ents))
    assert all(x <= y <= set(range(n)) for x, y, n in zip(less, more, n_ents))


def make_fields(n):
    """Touching fields of two tokens, and one token outside."""
    doc = Doc(Vocab(), words=["x"] * (2 * n + 1))
    doc.set_ents([Span(doc, 2 * i, 2 * i + 2, "A") for i in range(n)])
    return doc


@pytest.mark.parametrize("read_as, iob", [("missing", ""), ("outside", "O")])
def test_spans_taken_away(read_as, iob):
    from partial_annotation import take_away

    doc = make_fields(3)
    take_away(doc, {0, 2}, read_as)
    found = [token.ent_iob_ for token in doc]
    assert found == [iob, iob, "B", "I", iob, iob, "O"]


# --- neural scores beside ner -------------------------------------------------------


def test_ner_in_the_place_of_hosemi(tmp_path):
    from neural import with_ner

    with_ner(ROOT / "configs" / "neural.cfg", tmp_path / "ner.cfg")
    ours, theirs = (
        load_config(path, interpolate=True)
        for path in (ROOT / "configs" / "neural.cfg", tmp_path / "ner.cfg")
    )
    nlp = load_model_from_config(theirs, auto_fill=True)
    assert nlp.pipe_names == ["tok2vec", "ner"]
    assert nlp.get_pipe("tok2vec").listening_components == ["ner"]
    assert theirs["training"] == ours["training"]
    assert theirs["components"]["tok2vec"] == ours["components"]["tok2vec"]


# --- spaCy's own tests ------------------------------------------------------------


def test_spacys_tests_run_on_hosemi():
    script = str(ROOT / "benchmarks" / "spacy_tests.py")
    command = [sys.executable, script, "--modules", "training.test_rehearse"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
    assert "1 passed, 0 failed" in result.stdout


def test_spacys_tests_that_are_not_there(capfd):
    create = Language.create_pipe
    with pytest.raises(SystemExit, match="the tests did not run"):
        import_module("spacy_tests").run(["training.test_none"], verbose=False)
    assert Language.create_pipe is create
    assert "module or package not found" in capfd.readouterr().err


@pytest.mark.parametrize(
    "passed, failed, is_foreseen, said",
    [
        (["test_a"], {}, True, "1 passed, 0 failed"),
        (["test_a"], {"test_issue2179": "no"}, True, "test_issue2179: resizes"),
        ([], {"test_issue1967[x-y]": "no"}, True, "test_issue1967[x-y]: looks at"),
        ([], {"test_a": "no"}, False, "test_a: NOT FORESEEN: no"),
        (["test_issue2179"], {}, False, "test_issue2179: PASSES"),
    ],
)
def test_reasons(passed, failed, is_foreseen, said, capsys):
    spacy_tests = __import__("spacy_tests")
    plugin = spacy_tests.HosemiForNer()
    plugin.passed, plugin.failed = passed, failed
    assert spacy_tests.explain(plugin) is is_foreseen
    assert said in capsys.readouterr().out
