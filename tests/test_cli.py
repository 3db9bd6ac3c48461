"""python -m spacy hosemi: what it prints, what it refuses, how spaCy finds it."""

import ast
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest
import spacy
import srsly
from spacy.cli._util import app
from spacy.tokens import DocBin, Span
from spacy.training import Corpus, Example
from typer.testing import CliRunner

from spacy_hosemi import cli
from spacy_hosemi.cli.streams import clean
from spacy_hosemi.explain import strongest_features, strongest_patterns
from spacy_hosemi.model.weights.storage import size_of

from .helpers import (
    initialize,
    lbfgs,
    make_nlp,
    make_trained,
    part_of,
    randomize,
    references,
)
from .hierarchy.test_component import LABELS as LEAVES
from .hierarchy.test_component import examples_of, make_tree_nlp


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    """A folder with a trained pipeline."""
    folder = tmp_path_factory.mktemp("model")
    make_trained().to_disk(folder)
    return str(folder)


def run(*args, code=0) -> str:
    """What a command prints."""
    result = CliRunner().invoke(app, ["hosemi", *args])
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.output


# Each name occurs once: only the list tells cities and people apart.
CITIES = ("Arvo", "Bel Mar", "Cudo", "Dun Ost Kaa", "Elva", "Foro Nim", "Gan", "Hex Ui")
PEOPLE = ("Iso", "Jon Kel", "Lua", "Mor Nus Opp", "Pia", "Que Rus", "Sol", "Tam Ulf")
NEWER = ("Zan Wim", "Xor", "Arvo")


def train_lists():
    """A pipeline with the lists "cities", which it reads, and "idle", with nothing."""
    marked = [f"they saw [CITY {name}] again ." for name in CITIES]
    marked += [f"they saw {name} again ." for name in PEOPLE]
    features = {"preset": "none", "inside": ["BIAS"], "start": ["LOWER[-1]"]}
    features["whole"] = ["idle:MATCH"]
    lists = dict.fromkeys(("cities", "idle"), {"@misc": "spacy_hosemi.gazetteer.v1"})
    lists["idle"] = {**lists["idle"], "attr": "LOWER", "dropout": 0.25}
    nlp = make_nlp(features=features, model={"gazetteers": lists})
    readers = {
        "cities": {"@readers": "tests.entries.v1", "entries": list(CITIES)},
        "idle": {"@readers": "tests.entries.v1", "entries": ["A b", "a B", "a"]},
    }
    initialize(nlp, marked, gazetteers=readers, fit=lbfgs(max_iter=12))
    return nlp


@spacy.registry.readers("tests.entries.v1")
def make_entries(entries: list[str]):
    return lambda: entries


@pytest.fixture(scope="module")
def listed(tmp_path_factory) -> str:
    """A folder with a trained pipeline that has lists; tests leave it as it is."""
    folder = tmp_path_factory.mktemp("listed")
    train_lists().to_disk(folder)
    return str(folder)


def is_city(model) -> dict[str, bool]:
    nlp = spacy.load(model)
    found = {}
    for name in dict.fromkeys((*CITIES, *NEWER)):
        doc = nlp(f"they saw {name} again .")
        found[name] = [(ent.text, ent.label_) for ent in doc.ents] == [(name, "CITY")]
    return found


def contents(folder) -> dict[str, bytes]:
    paths = [path for path in Path(folder).rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def replace(model, file, output, *args, code=0) -> str:
    files = "cities", str(file), "-o", str(output)
    return words(run("gazetteer", "replace", model, *files, *args, code=code))


@pytest.fixture
def newer(tmp_path) -> Path:
    """A file with other entries, one of them twice."""
    path = tmp_path / "newer.txt"
    path.write_text("\n".join([*NEWER, "zan-wim", "..."]), "utf8")
    return path


def run_json(*args):
    return srsly.json_loads(run("weights", *args, "--json"))


def words(text) -> str:
    """With single spaces: messages are wrapped, tables aligned."""
    return " ".join(text.split())


# --- how spaCy finds it -----------------------------------------------------------


def test_only_typer_and_spacy_are_imported_at_the_top():
    paths = sorted(Path(cli.__file__).parent.glob("*.py"))
    assert len(paths) > 5
    nodes = [node for path in paths for node in ast.parse(path.read_text("utf8")).body]
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.level < 2
            names |= {node.module} if node.level == 0 else set()
    others = {
        name for name in names if name.split(".")[0] not in sys.stdlib_module_names
    }
    assert others == {"typer", "typer.core", "spacy.cli._util"}


def test_spacy_runs_it(model):
    args = ["hosemi", "weights", model, "--label", "LOC", "--no-patterns"]
    if not [e for e in entry_points(group="spacy_cli") if e.name == "hosemi"]:
        printed = run(*args[1:])  # installed before there was this command
    else:
        command = [sys.executable, "-m", "spacy", *args]
        found = subprocess.run(command, capture_output=True, encoding="utf8")
        assert found.returncode == 0, found.stderr
        printed = found.stdout
    assert "inside:LOWER=london" in printed


def test_help():
    assert "weights" in run("--help")
    printed = words(run("weights", "--help"))
    assert "python -m spacy hosemi weights model/model-last" in printed
    for option in ("--top", "--label", "--role", "--feature", "--negative", "--json"):
        assert option in printed
    assert "--no-patterns" in printed and "--families" in printed
    assert "--component" in printed and "--code" in printed


# --- what it prints ---------------------------------------------------------------


def test_tables(model):
    printed = words(run("weights", model))
    pipe = spacy.load(model).get_pipe("hosemi")
    assert f"{len(pipe.weights.names)} features" in printed
    for label, features in strongest_features(pipe).items():
        assert f"= {label} =" in printed
        assert len(features) == 10
        for one in features:
            assert f"{one.weight:+.2f} {one.docs} {one.feature}" in printed
    for one in strongest_patterns(pipe):
        assert f"{one.weight:+.2f} {' '.join(one.pattern)}" in printed
    assert "Forbidden label patterns: 1" in printed


def test_fewer_and_more(model):
    assert "label patterns =" not in run("weights", model, "--no-patterns")
    assert "label patterns =" not in run("weights", model, "--role", "start")
    found = run_json(model, "--top", "2", "--label", "PER", "--label", "O")
    assert {label: len(of) for label, of in found["labels"].items()} == {
        "O": 2,
        "PER": 2,
    }
    found = run_json(model, "--label", "PER", "--role", "end", "--negative")
    weights = [one["weight"] for one in found["labels"]["PER"]]
    assert weights == sorted(weights, reverse=True) and weights[0] > 0 > weights[-1]
    assert {one["feature"][:4] for one in found["labels"]["PER"]} == {"end:"}
    assert "patterns" not in found


def test_json(model):
    found = run_json(model, "--top", "3")
    assert list(found) == ["component", "labels", "patterns", "forbidden_patterns"]
    assert found["component"] == "hosemi" and found["forbidden_patterns"] == 1
    assert list(found["labels"]) == ["O", "LOC", "PER"]
    assert set(found["labels"]["LOC"][0]) == {"feature", "docs", "weight"}
    assert len(found["patterns"]) == 3
    assert set(found["patterns"][0]) == {"pattern", "weight"}


def test_one_feature(model):
    found = run_json(model, "--feature", "LOWER=london")
    assert found["matching"] == len(found["features"]) == 2
    assert {one["feature"] for one in found["features"]} == {
        "inside:LOWER=london",
        "end:LOWER=london",
    }
    assert set(found["features"][0]["weights"]) == {"O", "LOC", "PER"}
    printed = run("weights", model, "--feature", "LOWER=london", "--top", "1")
    assert "1 of 2 features with 'LOWER=london' in their name" in printed
    assert "LOC +" in printed and "O -" in printed
    assert "nothing" in run("weights", model, "--feature", "LOWER=rome")


def test_families(model):
    found = run_json(model, "--families")["families"]
    assert sum(one["share"] for one in found) == pytest.approx(1.0)
    assert {"inside:LOWER", "start:SHAPE[-1]", "pattern:3"} <= {
        x["name"] for x in found
    }
    printed = words(run("weights", model, "--families"))
    for one in found:
        assert (
            f"{one['share']:.1%} {one['largest']:.2f} {one['rows']} {one['name']}"
            in (printed)
        )
    assert run_json(model, "--families", "--role", "end")["families"] == (
        [one for one in found if one["name"].startswith("end:")]
    )


def test_control_characters_are_shown_as_escapes():
    assert clean("LOWER=\x1b[1m\u2028é“=") == "LOWER=\\x1b[1m\\u2028é“="


DIRTY = "\x1b[31mA\nB"


@pytest.fixture(scope="module")
def dirty(tmp_path_factory):
    """A pipeline whose labels have control characters, and its documents."""
    folder = tmp_path_factory.mktemp("dirty")
    docs = references()
    for doc in docs:
        ents = [Span(doc, e.start, e.end, f"{DIRTY}{e.label_}") for e in doc.ents]
        doc.ents = ents
    nlp = make_nlp()
    nlp.config["initialize"]["components"]["hosemi"] = {"fit": lbfgs(max_iter=25)}
    nlp.initialize(lambda: [Example(doc.copy(), doc) for doc in docs])
    nlp.to_disk(folder / "model")
    DocBin(docs=docs).to_disk(folder / "docs.spacy")
    return str(folder / "model"), str(folder / "docs.spacy")


@pytest.mark.parametrize(
    "args",
    [
        "weights MODEL",
        "weights MODEL --feature LOWER",
        "calibrate MODEL DOCS --per-label",
        "compare MODEL MODEL DOCS --draws 100",
        "errors BLANK DOCS",
        "check DOCS --quick",
        "check DOCS --dev OTHER --quick",
    ],
)
def test_labels_with_control_characters(dirty, tmp_path, args):
    """Labels are never written to a terminal as they are."""
    DocBin(docs=references(("[X Ada] was",))).to_disk(tmp_path / "other.spacy")
    model, docs = dirty
    paths = {"MODEL": model, "DOCS": docs, "OTHER": str(tmp_path / "other.spacy")}
    paths["BLANK"] = str(tmp_path / "blank")
    spacy.blank("en").to_disk(paths["BLANK"])
    command = ["hosemi", *(paths.get(x, x) for x in args.split())]
    printed = CliRunner().invoke(app, command, color=True)
    assert "\\x1b[31mA\\nB" in printed.output.replace("\n", "")
    assert "\x1b[31mA" not in printed.output


def test_messages_with_control_characters(dirty, model):
    printed = run("weights", dirty[0], "--label", "x", code=2)
    assert "x1b[31mA" in printed and "\x1b" not in printed
    assert "\x1b" not in run("weights", model, "--component", DIRTY, code=2)


# --- what it refuses --------------------------------------------------------------


@pytest.mark.parametrize(
    "args, expected",
    [
        (["--label", "loc"], "label is 'loc'; expected one of ('O', 'LOC', 'PER')"),
        (["--role", "START"], "role is 'START'; expected one of"),
        (["--component", "ner"], "No hosemi component 'ner'"),
        (["--component", "ner"], "components are: hosemi"),
    ],
)
def test_wrong_options(model, args, expected):
    assert expected in words(run("weights", model, *args, code=2))


def test_top_is_at_least_1(model):
    run("weights", model, "--top", "1")
    run("weights", model, "--top", "0", code=2)


def test_no_such_folder(tmp_path):
    printed = run("weights", str(tmp_path / "nowhere"), code=2)
    assert "Cannot load the pipeline" in printed and "nowhere" in printed


@pytest.mark.parametrize("name", ["vectors", "key2row", "lookups.bin", "strings.json"])
@pytest.mark.parametrize("content", [b"", bytes(40)])
def test_a_damaged_vocabulary(model, tmp_path, name, content):
    """spaCy's own files raise EOFError, AttributeError and others."""
    shutil.copytree(model, tmp_path / "model")
    (tmp_path / "model" / "vocab" / name).write_bytes(content)
    command = ["hosemi", "weights", str(tmp_path / "model")]
    result = CliRunner().invoke(app, command)
    assert result.exit_code in (0, 2)  # some are not looked at
    assert ("Cannot load the pipeline" in result.output) == (result.exit_code == 2)


def test_a_function_that_is_not_imported(tmp_path):
    make_nlp().to_disk(tmp_path)
    config = tmp_path / "config.cfg"
    text = config.read_text("utf8")
    config.write_text(text.replace("spacy_hosemi.features.v1", "mine.v1"), "utf8")
    printed = words(run("weights", str(tmp_path), code=2))
    assert "'mine.v1'" in printed and "--code FILE" in printed
    assert "spacy_hosemi.lbfgs.v1" not in printed


def test_the_folder_around_a_pipeline(tmp_path):
    make_nlp().to_disk(tmp_path / "model-last")
    printed = run("weights", str(tmp_path), code=2)
    assert "Did you mean" in printed and "model-last?" in printed


def test_a_damaged_model(tmp_path):
    make_trained().to_disk(tmp_path)
    part_of(tmp_path / "hosemi", "model").write_bytes(b"")
    assert "HS062" in run("weights", str(tmp_path), code=2)


def test_no_component(tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(tmp_path)
    printed = words(run("weights", str(tmp_path), code=2))
    assert "No hosemi component in" in printed
    assert "components are: sentencizer" in printed


@pytest.mark.parametrize("is_initialized", [False, True])
def test_untrained(tmp_path, is_initialized):
    nlp = make_nlp()
    if is_initialized:
        initialize(nlp)
    nlp.to_disk(tmp_path)
    assert "is not trained" in words(run("weights", str(tmp_path), code=2))


def test_several_components(tmp_path):
    nlp = make_trained()
    nlp.add_pipe("hosemi", "second", source=make_trained(encoding="BIO"))
    nlp.to_disk(tmp_path)
    printed = words(run("weights", str(tmp_path), code=2))
    assert "2 hosemi components" in printed and "--component: hosemi, second" in printed
    found = run_json(str(tmp_path), "--component", "second", "-n", "1")
    assert found["component"] == "second"
    assert list(found["labels"]) == ["O", "B-LOC", "I-LOC", "B-PER", "I-PER"]


# --- lists of names ---------------------------------------------------------------


def test_help_of_lists():
    assert "gazetteer" in run("--help")
    printed = run("gazetteer", "--help")
    for command in ("info", "replace", "find"):
        assert command in printed
        one = words(run("gazetteer", command, "--help"))
        assert f"python -m spacy hosemi gazetteer {command} model/model-last" in one
        assert "--component" in one and "--code" in one
    printed = run("gazetteer", "replace", "--help")
    for option in ("--output", "--column", "--label", "--encoding", "--overwrite"):
        assert option in printed


def test_info(listed):
    pipe = spacy.load(listed).get_pipe("hosemi")
    names = [x for x in pipe.weights.names if "cities:" in x]
    assert 0 < len(names) < len(pipe.weights.names)
    n_nodes = sum(len(name.split()) for name in CITIES)  # no two begin alike
    found = srsly.json_loads(run("gazetteer", "info", listed, "--json"))
    assert found["component"] == "hosemi"
    assert found["gazetteers"] == [
        {
            **{"name": "cities", "attr": "ALNUM", "mode": "feature", "dropout": 0.0},
            **{"entries": len(CITIES), "nodes": n_nodes},
            **{"bytes": (8 + 1) * n_nodes + 4 * 32, "fuzzy": None, "label": None},
            **{"features": len(names), "weights": 2 * len(names)},
        },
        {
            **{"name": "idle", "attr": "LOWER", "mode": "feature", "dropout": 0.25},
            **{"entries": 2, "nodes": 2, "bytes": (8 + 1) * 2 + 4 * 16},
            **{"features": 0, "weights": 0, "fuzzy": None, "label": None},
        },
    ]
    printed = words(run("gazetteer", "info", listed))
    expected = f"cities ALNUM feature 0 {len(CITIES)} {n_nodes} 0.00 {len(names)}"
    assert f"{expected} {2 * len(names)} idle LOWER feature 0.25 2 2" in printed


def test_replace(listed, newer, tmp_path):
    before, output = contents(listed), tmp_path / "deep" / "output"
    assert [x for x, found in is_city(listed).items() if found] == [*CITIES]
    printed = replace(listed, newer, output)
    assert "before 8 after 3 in both 1" in printed
    assert "Saved the pipeline to" in printed and "empty" not in printed
    newer.unlink()
    assert [x for x, found in is_city(output).items() if found] == [
        *("Arvo", "Zan Wim", "Xor")
    ]
    assert contents(listed) == before
    after = contents(output)
    differ = {name for name, data in after.items() if before.get(name) != data}
    # The weights are the same file.
    assert {Path(name).name.partition("-")[0] for name in differ} == {"cfg", "model"}
    left, right = (spacy.load(x).get_pipe("hosemi") for x in (listed, output))
    assert left.get_weights().tolist() == right.get_weights().tolist()
    (old, new) = (pipe.weights.extractor.gazetteers.tries for pipe in (left, right))
    assert new["idle"].keys.tolist() == old["idle"].keys.tolist()


def test_replace_in_place(listed, newer, tmp_path):
    model = tmp_path / "model"
    shutil.copytree(listed, model)
    assert "exists already" in replace(str(model), newer, model, code=2)
    assert contents(model) == contents(listed)
    replace(str(model), newer, model, "--overwrite")
    assert [x for x, found in is_city(model).items() if found] == [
        *("Arvo", "Zan Wim", "Xor")
    ]
    newer.write_text("\n".join(CITIES), "utf8")
    assert "before 3 after 8 in both 1" in replace(str(model), newer, model, "-f")
    assert contents(model) == contents(listed)


@pytest.mark.parametrize(
    "name, text, args, n_entries",
    [
        ("a.csv", "id,name\n1,Xor\n1,Zan Wim\n", ["--column", "name"], 2),
        ("a.csv", "id,name\n1,Xor\n1,Zan Wim\n", ["--column", "1"], 3),
        ("a.tsv", "Xor\t1\nXor\t2\n", [], 1),
        ("a.txt", "Ar\u00e9s\nArvo", ["--encoding", "latin1"], 2),
        (
            "a.jsonl",
            '{"label": "X", "pattern": "Xor"}\n{"label": "Y", "pattern": "Gan"}',
            ["--label", "Y"],
            1,
        ),
    ],
)
def test_files_of_entries(listed, tmp_path, name, text, args, n_entries):
    file, output = tmp_path / name, tmp_path / "output"
    file.write_bytes(text.encode("latin1"))
    assert f"before 8 after {n_entries} in both" in replace(listed, file, output, *args)
    lists = spacy.load(output).get_pipe("hosemi").weights.extractor.gazetteers
    assert len(lists.tries["cities"]) == n_entries


def test_a_list_without_words(listed, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("...\n", "utf8")
    printed = replace(listed, file, tmp_path / "output")
    assert "after 0 in both 0" in printed and "The list is empty now" in printed


def test_find(listed):
    text = "In BEL-MAR, Dun Ost and Gan; BelMar."
    found = srsly.json_loads(run("gazetteer", "find", listed, "cities", text, "--json"))
    assert found == {
        **{"component": "hosemi", "gazetteer": "cities"},
        "tokens": [token.text for token in spacy.blank("en")(text)],
        "words": "in bel mar dun ost and gan belmar".split(),
        "found": found["found"],
    }
    tokens = found["tokens"]
    assert [(x["words"], x["text"]) for x in found["found"]] == [
        (["bel", "mar"], "BEL-MAR"),
        (["gan"], "Gan"),
    ]
    for one in found["found"]:
        assert "".join(tokens[one["start"] : one["end"]]) == one["text"]
    dirty = "In  ＢＥＬ-ＭＡＲ"
    args = "gazetteer", "find", listed, "cities", dirty, "--json"
    (one,) = srsly.json_loads(run(*args))["found"]
    assert (one["words"], one["text"]) == (["bel", "mar"], "ＢＥＬ-ＭＡＲ")
    printed = words(run("gazetteer", "find", listed, "cities", text))
    last = tokens.index("Gan")
    assert f"{last} {last + 1} gan Gan" in printed
    assert "Words by ALNUM: in | bel | mar | dun | ost" in printed
    assert "Tokens: In | BEL" in printed
    printed = run("gazetteer", "find", listed, "idle", "B")
    assert "nothing" in printed and "Words by LOWER: b\n" in printed


@pytest.mark.filterwarnings("ignore:.*HSW09")
def test_components_before_are_run(tmp_path):
    """A list that compares lemmas needs them, from the pipeline."""
    lists = {"x": {"@misc": "spacy_hosemi.gazetteer.v1", "attr": "LEMMA"}}
    nlp = make_nlp(model={"gazetteers": lists})
    ruler = nlp.add_pipe("attribute_ruler", before="hosemi")
    entries = {"@readers": "tests.entries.v1", "entries": ["letter"]}
    initialize(nlp, gazetteers={"x": entries}, fit=lbfgs(max_iter=2))
    ruler.add([[{"LOWER": "letters"}]], {"LEMMA": "letter"})
    nlp.to_disk(tmp_path)
    args = "gazetteer", "find", str(tmp_path), "x", "Two letters", "--json"
    (found,) = srsly.json_loads(run(*args))["found"]
    assert found == {"start": 1, "end": 2, "words": ["letter"], "text": "letters"}


def test_a_fuzzy_list(tmp_path):
    fuzzy = {"similarity": "jaccard", "threshold": 0.5}
    setting = {"mode": "hard", "label": "PER", "fuzzy": fuzzy}
    lists = {"x": {"@misc": "spacy_hosemi.gazetteer.v1", **setting}}
    nlp = make_nlp(model={"gazetteers": lists})
    entries = {"@readers": "tests.entries.v1", "entries": ["Ada Byron"]}
    initialize(nlp, gazetteers={"x": entries}, fit=lbfgs(max_iter=2))
    nlp.to_disk(tmp_path)
    (info,) = srsly.json_loads(run("gazetteer", "info", str(tmp_path), "--json"))[
        "gazetteers"
    ]
    assert info["fuzzy"] == {**fuzzy, "units": "chars"} and info["label"] == "PER"
    assert info["bytes"] > 100
    printed = words(run("gazetteer", "info", str(tmp_path)))
    assert "x ALNUM hard 0 jaccard 0.5 chars PER 1 2" in printed
    args = "gazetteer", "find", str(tmp_path), "x", "by Ada Byrn"
    report = srsly.json_loads(run(*args, "--json"))
    assert report["found"] == []
    assert {"start": 1, "end": 3, "similarity": 0.55} in [
        {key: round(x[key], 2) for key in ("start", "end", "similarity")}
        for x in report["similar"]
    ]
    assert {x["entry"] for x in report["similar"]} == {"ada byron"}
    assert "1 3 0.55 ada byron Ada Byrn" in words(run(*args))
    (tmp_path / "new.txt").write_text("Ａda\xa0By\xadrn", "utf8")
    new = str(tmp_path / "new")
    run("gazetteer", "replace", str(tmp_path), "x", f"{new}.txt", "--output", new)
    report = srsly.json_loads(run(*args[:2], new, *args[3:], "--json"))
    assert {x["entry"] for x in report["similar"]} == {"ada byrn"}


@pytest.mark.parametrize("command", ["info", "replace", "find"])
def test_a_pipeline_without_lists(model, newer, tmp_path, command):
    args = {
        "info": [],
        "replace": ["cities", str(newer), "--output", str(tmp_path / "output")],
        "find": ["cities", "Xor"],
    }
    printed = words(run("gazetteer", command, model, *args[command], code=2))
    assert "The component 'hosemi' in" in printed and "has no lists of" in printed
    assert not (tmp_path / "output").exists()


def test_an_unknown_list(listed, newer, tmp_path):
    printed = words(run("gazetteer", "find", listed, "towns", "Xor", code=2))
    assert "No list 'towns'" in printed and "lists are: cities, idle." in printed
    args = listed, "towns", str(newer), "--output", str(tmp_path / "output")
    assert "No list 'towns'" in words(run("gazetteer", "replace", *args, code=2))
    assert not (tmp_path / "output").exists()


@pytest.mark.parametrize(
    "name, args, expected",
    [
        ("nowhere.txt", [], "which does not exist"),
        ("newer.txt", ["--column", "1"], "column is 1 for"),
        ("newer.txt", ["--label", "X"], "label is 'X' for"),
        ("newer.txt", ["--encoding", "utf9"], "encoding is 'utf9' for"),
        ("empty.txt", [], "has no entry"),
        ("model.spacy", [], "expected a file that ends in one of"),
    ],
)
def test_wrong_files(listed, newer, tmp_path, name, args, expected):
    for empty in ("empty.txt", "model.spacy"):
        (tmp_path / empty).touch()
    printed = replace(listed, tmp_path / name, tmp_path / "output", *args, code=2)
    assert "Cannot read the entries of" in printed and expected in printed
    assert not (tmp_path / "output").exists()


def test_outputs_that_are_refused(listed, newer, tmp_path):
    before = contents(listed)
    assert "exists already" in replace(listed, newer, tmp_path, code=2)
    assert "is a file" in replace(listed, newer, newer, "--overwrite", code=2)
    inside = newer / "output"
    assert "Cannot save the pipeline" in replace(listed, newer, inside, code=2)
    assert contents(tmp_path).keys() == {"newer.txt"} and contents(listed) == before


def test_weights_of_pairs_only(tmp_path, monkeypatch):
    monkeypatch.setattr("spacy_hosemi.training.feature_selection.MAX_WEIGHTS", 5)
    with pytest.warns(UserWarning, match="HSW03"):
        train_lists().to_disk(tmp_path)
    weights = spacy.load(tmp_path).get_pipe("hosemi").weights
    rows = [k for k, name in enumerate(weights.names) if "cities:" in name]
    expected = sum(weights.pairs.sizes[rows].tolist())
    assert 0 < expected < 2 * len(rows)
    found = srsly.json_loads(run("gazetteer", "info", str(tmp_path), "--json"))
    assert [(x["features"], x["weights"]) for x in found["gazetteers"]] == [
        (len(rows), expected),
        (0, 0),
    ]


# --- smaller pipelines ------------------------------------------------------------


@pytest.fixture
def dev(tmp_path) -> str:
    DocBin(docs=references()).to_disk(tmp_path / "dev.spacy")
    return str(tmp_path / "dev.spacy")


def strengths(model, *args):
    return srsly.json_loads(run("prune", model, *args, "--json"))["strengths"]


def test_prune_shows_what_is_left(model, dev):
    before = contents(model)
    pipe = spacy.load(model).get_pipe("hosemi")
    n_weights = len(pipe.get_weights())
    found = strengths(model, "--data", dev)
    assert [x["weights"] for x in found] == sorted(
        (x["weights"] for x in found), reverse=True
    )
    assert found[0]["weights"] == n_weights and found[0]["f1"] == 1.0
    assert found[-1]["weights"] == round(0.01 * n_weights)
    assert found[-1]["mb"] < found[0]["mb"] and found[-1]["f1"] < 1.0
    assert not any(x["chosen"] for x in found)
    assert contents(model) == before
    printed = words(run("prune", model))
    assert f"100.0% 0.0000 {len(pipe.weights.names)} {n_weights} " in printed
    assert "Saved" not in printed


@pytest.mark.parametrize("strength", [("--keep", "0.4"), ("--below", "0.05")])
def test_prune_by_a_strength(model, strength, tmp_path):
    (chosen,) = (x for x in strengths(model, *strength) if x["chosen"])
    printed = run("prune", model, str(tmp_path / "small"), *strength)
    assert "Saved the pipeline" in printed
    pipe = spacy.load(tmp_path / "small").get_pipe("hosemi")
    assert size_of(pipe.weights)["weights"] == chosen["weights"]
    whole = spacy.load(model).get_pipe("hosemi")
    if strength[0] == "--keep":
        asked = round(0.4 * len(whole.get_weights()))  # equal ones go together
        assert asked - 2 <= chosen["weights"] <= asked
    else:
        assert chosen["weights"] == (np.abs(whole.get_weights()) > 0.05).sum()


@pytest.mark.parametrize("loss", [0.0, 30.0])
def test_prune_by_a_loss(model, dev, loss, tmp_path):
    args = "--data", dev, "--max-loss", str(loss)
    found = strengths(model, *args)
    (chosen,) = (x for x in found if x["chosen"])
    good = [x for x in found if x["f1"] >= 1.0 - loss / 100]
    assert chosen["mb"] == min(x["mb"] for x in good)
    run("prune", model, str(tmp_path / "small"), *args)
    nlp = spacy.load(tmp_path / "small")
    scores = nlp.evaluate(list(Corpus(dev)(nlp)))
    assert scores["ents_f"] == pytest.approx(chosen["f1"])


@pytest.mark.parametrize(
    "args, said",
    [
        (["--keep", "0.1", "--below", "0.1"], "at most one"),
        (["small"], "No strength is given"),
        (["--max-loss", "0.1"], "--max-loss needs --data"),
        (["--data", "nowhere.spacy"], "There is no file 'nowhere.spacy'"),
        ([".", "--keep", "0.1"], "'.' exists already"),
    ],
)
def test_prune_refuses(model, args, said):
    assert said in words(run("prune", model, *args, code=2))


def test_prune_needs_something_to_lose(model, tmp_path):
    path = tmp_path / "dev.spacy"
    DocBin(docs=[spacy.blank("en")("Ada wrote.")]).to_disk(path)
    args = "--data", str(path), "--max-loss", "0.1"
    printed = words(run("prune", model, str(tmp_path / "small"), *args, code=2))
    assert "HS120" in printed
    assert not (tmp_path / "small").exists()


@pytest.mark.parametrize(
    "args", [("prune", "--data"), ("calibrate",), ("select", "--n", "1")]
)
def test_a_corpus_is_a_spacy_file(model, args, tmp_path):
    path = tmp_path / "dev.jsonl"
    path.write_text("{}")
    printed = words(run(args[0], model, *args[1:], str(path), code=2))
    assert "is no .spacy file" in printed and "spacy hosemi convert" in printed


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> str:
    """A folder with a pipeline whose labels are in a tree."""
    nlp = make_tree_nlp()
    folder = tmp_path_factory.mktemp("tree")
    nlp.to_disk(folder)
    corpus = DocBin(docs=[eg.reference for eg in examples_of(nlp)])
    corpus.to_disk(folder / "dev.spacy")
    return str(folder)


def test_weights_of_a_tree(tree, monkeypatch):
    """Each node has what it adds; the score of a leaf is the sum on its way."""
    found = run_json(tree, "--top", "100", "--negative")
    pipe = spacy.load(tree).get_pipe("hosemi")
    below = [label for label in LEAVES if "/" in label]
    assert list(found["labels"]) == ["O", "LOC", "ORG", "PER", *below]
    (row,) = run_json(tree, "--feature", "end:LOWER=london")["features"]
    for name, weight in row["weights"].items():
        (same,) = (
            x
            for x in run_json(tree, "--label", name, "--negative", "--top", "100")[
                "labels"
            ][name]
            if x["feature"] == "end:LOWER=london"
        )
        assert same["weight"] == weight
    assert {"LOC", "LOC/city", "LOC/land"} <= row["weights"].keys()
    levels = pipe.level_weights
    n_weights = sum(map(np.count_nonzero, levels.matrix))
    of_levels = [levels.column(v)[1] for v in np.flatnonzero(levels.tree.level > 1)]
    assert sum(map(np.count_nonzero, of_levels)) == n_weights > 0
    patterns = {tuple(x["pattern"]) for x in found["patterns"]}
    assert ("PER", "O") in patterns and ("PER/first", "O") in patterns
    shown = words(run("weights", tree))
    assert "below the top of the label tree: 5 labels" in shown
    assert "--label shows it" not in shown
    monkeypatch.setattr("spacy_hosemi.explain.weights.MAX_NODES", 3)
    assert list(run_json(tree)["labels"]) == ["O", "LOC", "ORG", "PER"]
    assert list(run_json(tree, "--label", "LOC/city")["labels"]) == ["LOC/city"]
    assert "--label shows it" in words(run("weights", tree))
    assert "HS042" in run("weights", tree, "--label", "LOC/x", code=2)


def test_a_label_that_has_others_below_it(tmp_path):
    nlp = make_tree_nlp(["[PER Ada] met [PER/last Mary] .", "[PER Mary] left ."])
    nlp.to_disk(tmp_path)
    found = run_json(str(tmp_path))["labels"]
    assert list(found) == ["O", "PER", "PER itself", "PER/last"]


def test_prune_refuses_labels_in_a_tree(tree):
    assert "HS118" in run("prune", tree, code=2)


def test_calibrate_says_what_a_tree_does_not_drop(tree):
    dev = str(Path(tree) / "dev.spacy")
    assert "Labels are in a tree" in str(calibrate(tree, dev)["notes"])
    found = calibrate(tree, dev, "--no-min-confidence")
    assert "Labels are in a tree" not in str(found["notes"])


# --- what to annotate next --------------------------------------------------------

POOL = (
    "Nobody wrote a letter.",
    "Somerville met Zoë in Rome and Paris, and Babbage.",
    "",
    "London Paris",
    "Ada Lovelace wrote to Charles Babbage in London.",
    "Quux!",
    "\x1b[1m Mary",
)


@pytest.fixture
def pool(tmp_path) -> str:
    """A .spacy file, where one document has annotation."""
    nlp = spacy.blank("en")
    docs = [nlp(text) for text in POOL]
    docs[3].set_ents([Span(docs[3], 0, 2, label="LOC")])
    DocBin(docs=docs).to_disk(tmp_path / "pool.spacy")
    return str(tmp_path / "pool.spacy")


def select(*args) -> list:
    return srsly.json_loads(run("select", *args, "--json"))["docs"]


@pytest.mark.parametrize("by", ["entropy", "least-confident"])
@pytest.mark.parametrize("total", [True, False])
def test_select(model, pool, by, total):
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
    args = [model, pool, "--n", "4", "--by", by, "--no-diverse"]
    found = select(*args, *["--total"] * total)
    assert [one["index"] for one in found] == [index for _, index in expected[:4]]
    assert [one["rank"] for one in found] == [1, 2, 3, 4]
    values = [one["nats" if total else "per_token"] for one in found]
    assert values == pytest.approx([value for value, _ in expected[:4]], abs=1e-9)
    assert len(select(model, pool, "--n", "100")) == len(POOL) - 1


def test_select_what_is_not_like_the_rest(model, tmp_path):
    texts = [POOL[4], POOL[5], POOL[4], POOL[0], POOL[4]]
    nlp = spacy.blank("en")
    DocBin(docs=[nlp(text) for text in texts]).to_disk(tmp_path / "pool.spacy")
    found = select(model, str(tmp_path / "pool.spacy"))
    assert sorted(one["index"] for one in found[:3]) == [0, 1, 3]
    assert [one["index"] for one in found[3:]] == [2, 4]
    found = select(model, str(tmp_path / "pool.spacy"), "--no-diverse")
    places = [one["rank"] for one in found if one["text"] == POOL[4]]
    assert places == [*range(places[0], places[0] + 3)]


def test_selected_documents_are_written_as_they_were(model, pool, tmp_path):
    output = tmp_path / "new" / "next.spacy"
    printed = words(run("select", model, pool, "-n", "99", "--out", str(output)))
    assert "6 of 7 documents" in printed and "Wrote 6 documents to" in printed
    assert "rank entropy per token tokens text" in printed
    docs = list(DocBin().from_disk(output).get_docs(spacy.blank("en").vocab))
    found = select(model, pool, "-n", "99")
    assert [doc.text for doc in docs] == [one["text"] for one in found]
    ents = {doc.text: [ent.text for ent in doc.ents] for doc in docs}
    assert ents == {text: [text] * (text == POOL[3]) for text in POOL if text}
    printed = run("select", model, pool, "--out", str(output), code=2)
    assert "exists already" in printed and "--overwrite" in words(printed)
    run("select", model, pool, "-n", "1", "--out", str(output), "--overwrite")
    assert len(DocBin().from_disk(output)) == 1
    printed = run("select", model, pool, "--out", str(tmp_path), code=2)
    assert "is a folder" in words(printed)
    below = str(tmp_path / "pool.spacy" / "next.spacy")
    assert "Cannot write" in run("select", model, pool, "--out", below, code=2)


def test_selected_documents_as_tasks(model, pool, tmp_path):
    """Each with what the pipeline finds, and what else was likely."""
    found = select(model, pool, "-n", "4")
    nlp = spacy.load(model)
    for form in ("label-studio", "prodigy", "doccano"):
        output = tmp_path / f"{form}.json"
        args = "-n", "4", "-F", form, "-k", "2", "-o", str(output)
        assert "Wrote the tasks to" in words(run("select", model, pool, *args))
        content = output.read_text("utf8")
        if form != "label-studio":
            tasks = [*map(srsly.json_loads, content.splitlines())]
            assert [x["text"] for x in tasks] == [x["text"] for x in found]
        else:
            tasks = srsly.json_loads(content)
            assert [x["data"]["line"] for x in tasks] == [x["index"] + 1 for x in found]
            for task in tasks:
                first, *others = task["predictions"]
                ents = nlp(task["data"]["text"]).ents
                values = [x["value"] for x in first["result"]]
                places = [(x["start"], x["end"], x["labels"]) for x in values]
                assert places == [(x.start_char, x.end_char, [x.label_]) for x in ents]
                assert len(others) == 1


def test_tasks_need_a_file_and_alternatives_need_tasks(model, pool):
    run_args = ("select", model, pool)
    assert "--out" in words(run(*run_args, "-F", "prodigy", code=2))
    assert "no format 'csv'" in words(run(*run_args, "-F", "csv", code=2))
    assert "Expected it with --format" in words(run(*run_args, "-k", "2", code=2))


def test_components_before_run_first(tmp_path, pool):
    nlp = make_nlp(scope="sents")
    nlp.add_pipe("sentencizer", first=True)
    nlp.config["training"]["annotating_components"] = ["sentencizer"]
    initialize(nlp, fit=lbfgs(max_iter=5))
    nlp.to_disk(tmp_path / "model")
    assert len(select(str(tmp_path / "model"), pool)) == 6
    nlp.remove_pipe("sentencizer")
    nlp.to_disk(tmp_path / "without")
    printed = words(run("select", str(tmp_path / "without"), pool, code=2))
    assert "Cannot tell how sure the pipeline is" in printed and "HS067" in printed


def test_select_refuses(model, pool, tmp_path):
    printed = words(run("select", model, str(tmp_path / "no.spacy"), code=2))
    assert "There is no file" in printed and "as CORPUS" in printed
    (tmp_path / "text.spacy").write_text("text")
    printed = words(run("select", model, str(tmp_path / "text.spacy"), code=2))
    assert "Cannot read" in printed and "Expected a .spacy file" in printed
    run("select", model, pool, "--n", "0", code=2)
    printed = words(run("select", model, pool, "--by", "x", code=2))
    assert "No measure 'x'" in printed and "entropy, least-confident" in printed
    make_nlp().to_disk(tmp_path / "untrained")
    printed = words(run("select", str(tmp_path / "untrained"), pool, code=2))
    assert "is not trained" in printed
    nlp = spacy.blank("en")
    nlp.to_disk(tmp_path / "blank")
    printed = words(run("select", str(tmp_path / "blank"), pool, code=2))
    assert "No hosemi component in" in printed


def test_help_of_select():
    printed = words(run("select", "--help"))
    for option in ("--n", "--by", "--total", "--diverse", "--out", "--json"):
        assert option in printed
    assert "python -m spacy hosemi select model/model-last pool.spacy" in printed


def test_an_empty_pool(model, tmp_path):
    DocBin().to_disk(tmp_path / "pool.spacy")
    assert "nothing" in run("select", model, str(tmp_path / "pool.spacy"))


# --- how far confidences can be trusted -------------------------------------------


@pytest.fixture(scope="module")
def unsure(tmp_path_factory) -> str:
    """A folder with a pipeline that makes mistakes."""
    folder = tmp_path_factory.mktemp("unsure")
    nlp = make_nlp()
    initialize(nlp)
    randomize(nlp.get_pipe("hosemi"), seed=3)
    nlp.to_disk(folder)
    return str(folder)


def calibrate(*args) -> dict:
    return srsly.json_loads(run("calibrate", *args, "--json"))


def ents_score(model, dev, figure) -> float:
    nlp = spacy.load(model)
    return nlp.evaluate(list(Corpus(dev)(nlp)))[f"ents_{figure}"]


def test_calibrate_shows_and_saves(unsure, dev, tmp_path):
    before = contents(unsure)
    found = calibrate(unsure, dev)
    assert found["reliability"][0]["temperature"] == 1.0
    n = sum(b["n"] for b in found["reliability"][0]["bins"])
    assert n == found["entities"]["predicted"] == found["thresholds"][0]["n"]
    printed = words(run("calibrate", unsure, dev))
    assert "Expected calibration error" in printed and "Saved" not in printed
    limit = found["chosen"]["min_confidence"]
    assert f"min_confidence = {limit:.15g}" in printed
    assert f"temperature = {found['chosen']['temperature']}" in printed
    best = max(x["f1"] for x in found["thresholds"])
    output = str(tmp_path / "new" / "sure")
    assert "Saved the pipeline" in run("calibrate", unsure, dev, "-o", output)
    assert contents(unsure) == before
    assert ents_score(output, dev, "f") == pytest.approx(best)
    pipe = spacy.load(output).get_pipe("hosemi")
    chosen = {"min_confidence": pipe.min_confidence, "temperature": pipe.temperature}
    assert found["chosen"] == pytest.approx(chosen, abs=1e-9)
    printed = words(run("calibrate", unsure, dev, "-o", output, code=2))
    assert "exists already" in printed


def test_calibrate_in_place(unsure, dev, tmp_path):
    model = str(shutil.copytree(unsure, tmp_path / "model"))
    args = model, dev, "--no-temperature", "--precision", "0.5"
    assert calibrate(*args)["chosen"].keys() == {"min_confidence"}
    run("calibrate", *args, "-o", model, "--overwrite")
    assert ents_score(model, dev, "p") >= 0.5 > ents_score(unsure, dev, "p")
    limit = spacy.load(model).get_pipe("hosemi").min_confidence
    run("calibrate", model, dev, "--no-min-confidence", "-o", model, "-f")
    pipe = spacy.load(model).get_pipe("hosemi")
    assert pipe.min_confidence == limit > 0.0 and pipe.temperature != 1.0
    assert (
        calibrate(model, dev, "--no-temperature", "--no-min-confidence")["notes"] == []
    )


def test_calibrate_chooses_an_expected_f1(unsure, dev, tmp_path):
    model = str(shutil.copytree(unsure, tmp_path / "model"))
    path = tmp_path / "model" / "config.cfg"
    config = path.read_text("utf8")
    path.write_text(config.replace('decoding = "viterbi"', 'decoding = "mbr"'))
    args = model, dev, "--no-temperature", "--no-min-confidence"
    found = calibrate(*args)
    value = found["chosen"]["expected_f1"]
    printed = words(run("calibrate", *args, "-o", model, "-f"))
    assert f"expected_f1 = {srsly.json_dumps(value)}" in printed
    assert "by expected_f1" in printed
    best = max(x["f1"] for x in found["expected"])
    assert ents_score(model, dev, "f") == pytest.approx(best)
    assert spacy.load(model).get_pipe("hosemi").expected_f1 == value
    kept = calibrate(*args[:3], "--no-expected-f1")
    assert kept["expected"] == [] and "expected_f1" not in kept["chosen"]


def test_calibrate_by_label(unsure, dev, tmp_path):
    args = unsure, dev, "--per-label", "--precision", "1.0", "--bins", "3"
    found = calibrate(*args)
    assert found["labels"].keys() == {"LOC", "PER"}
    assert (
        found["thresholds"][-1]["min_confidence"] == found["chosen"]["min_confidence"]
    )
    assert len(found["reliability"][0]["bins"]) <= 3
    output = str(tmp_path / "sure")
    printed = words(run("calibrate", *args, "-o", output))
    assert "by label" in printed and "what is left of each label" in printed
    for note in found["notes"]:
        assert note in printed
    nlp = spacy.load(output)
    limits = nlp.get_pipe("hosemi").min_confidence
    assert limits == pytest.approx(found["chosen"]["min_confidence"], abs=1e-9)
    scores = nlp.evaluate(list(Corpus(dev)(nlp)))["ents_per_type"]
    for label, point in found["labels"].items():
        assert point["f1"] == pytest.approx(scores.get(label, {"f": 0.0})["f"])


def test_calibrate_draws(unsure, dev, tmp_path, monkeypatch):
    path = tmp_path / "dev.svg"
    args = "calibrate", unsure, dev, "--plot", str(path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "spacy_hosemi[plot]" in words(run(*args, code=2))
    monkeypatch.undo()
    pytest.importorskip("matplotlib")
    run(*args)
    assert path.read_text("utf8").startswith("<?xml")
    elsewhere = str(tmp_path / "none" / "dev.png")
    assert "Cannot draw" in run("calibrate", unsure, dev, "--plot", elsewhere, code=2)


@pytest.mark.parametrize(
    "args, said",
    [
        (["--precision", "0.9", "--recall", "0.9"], "at most one of them"),
        (["--recall", "0.9", "--no-min-confidence"], "Leave out --no-min-confidence"),
        (["--no-temperature", "--no-min-confidence", "-o", "x"], "Nothing is chosen"),
        (["--expected-f1"], "no expected_f1 to choose with decoding = 'viterbi'"),
        (["--plot", "x.bmp"], "Expected one of: .png, .svg, .pdf"),
        (["--component", "x"], "No hosemi component 'x'"),
    ],
)
def test_calibrate_refuses(unsure, dev, args, said):
    assert said in words(run("calibrate", unsure, dev, *args, code=2))


def test_calibrate_needs_a_corpus(unsure, tmp_path):
    path = tmp_path / "dev.spacy"
    assert "There is no file" in run("calibrate", unsure, str(path), code=2)
    path.write_text("text")
    printed = words(run("calibrate", unsure, str(path), code=2))
    assert "Cannot read" in printed and "Expected a .spacy file" in printed
    DocBin(docs=[]).to_disk(path)
    assert "HS092" in run("calibrate", unsure, str(path), code=2)


def test_help_of_calibrate():
    printed = words(run("calibrate", "--help"))
    for option in ("--precision", "--recall", "--per-label", "--bins", "--plot"):
        assert option in printed
    for option in ("--output", "--no-temperature", "--no-min-confidence", "--json"):
        assert option in printed
    assert "--no-expected-f1" in printed
    assert "python -m spacy hosemi calibrate model/model-last dev.spacy" in printed
