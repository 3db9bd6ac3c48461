"""What the benchmarks compute themselves; that they run is seen by running them."""

import random
import subprocess
import sys

import hypothesis.strategies as st
import pytest
import spacy
from hypothesis import given
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Corpus
from spacy.util import load_config, load_model_from_config
from spacy.vocab import Vocab

from spacy_hosemi.features import make_features

from .conftest import ROOT

SCRIPTS = (
    "ablation",
    "accuracy",
    "calibration",
    "characters",
    "gazetteers",
    "growth",
    "inference",
    "learning_curves",
    "neural",
    "partial_annotation",
    "spacy_tests",
    "throughput",
)


@pytest.fixture(scope="module", autouse=True)
def on_path():
    """Import the scripts as one that runs would."""
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            patch.setenv(variable, "1")  # a script that is imported changes them
        for folder in ("corpus", "benchmarks"):
            patch.syspath_prepend(str(ROOT / folder))
        yield


@pytest.mark.parametrize("script", SCRIPTS)
def test_help(script, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [script, "--help"])
    with pytest.raises(SystemExit) as done:
        __import__(script).main()
    assert done.value.code == 0
    assert "Example: python benchmarks/" in capsys.readouterr().out


# --- features as one would write them by hand -------------------------------------


@pytest.mark.parametrize(
    "word, expected",
    [("", ""), ("Ada", "Xxx"), ("1989", "dddd"), ("Nocedal's", "Xxxxx'x"), ("é", "é")],
)
def test_shape(word, expected):
    from plain_features import shape

    assert shape(word) == expected


def test_plain_features_of_two_words():
    from plain_features import plain_features

    first, second = plain_features(["Ada", "12"])
    assert {"w=ada", "w-1=^", "w+1=12", "w+2=$", "x=Xxx", "title"} <= set(first)
    assert {"p1=a", "p4=ada", "s2=da", "ww+1=ada 12", "w-1w=^ ada"} <= set(first)
    assert {"w=12", "w-1=ada", "w+1=$", "digits", "has digit", "x-1x=Xxx dd"} <= set(
        second
    )
    assert "title" not in second


@given(st.lists(st.text(min_size=1, max_size=5), max_size=5))
def test_plain_features_are_distinct(words):
    from plain_features import plain_features

    found = plain_features(words)
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
    from peers import is_of_list

    assert is_of_list(feature) is expected


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
    from ablation import FAMILIES, n_templates, without

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


# --- running text ------------------------------------------------------------------


@given(st.lists(st.text("ab 選", min_size=1, max_size=3), max_size=6), st.data())
def test_spans_of_running_text(tokens, data):
    """What a span reads is what its tokens read."""
    from characters import as_text

    cuts = data.draw(st.sets(st.integers(0, len(tokens))).map(sorted))
    spans = [[i, j, "A"] for i, j in zip(cuts, cuts[1:])]
    found = as_text({"tokens": tokens, "spans": spans, "intent": "x"})
    assert set(found) == {"text", "spans"}
    texts = [found["text"][i:j] for i, j, _ in found["spans"]]
    assert texts == ["".join(tokens[i:j]) for i, j, _ in spans]
    assert found["text"] == "".join(tokens)


def test_a_folder_becomes_text(tmp_path, monkeypatch, capsys):
    from characters import main

    folder = tmp_path / "words"
    folder.mkdir()
    line = '{"tokens": ["看似", "簡單"], "spans": [[1, 2, "ADJ"]]}\n'
    (folder / "train.jsonl").write_text(line + "\n", encoding="utf8")
    run = ["characters", str(folder), str(tmp_path / "text")]
    monkeypatch.setattr(sys, "argv", run)
    assert main() == 0
    found = (tmp_path / "text" / "train.jsonl").read_text(encoding="utf8")
    assert found == '{"text": "看似簡單", "spans": [[2, 4, "ADJ"]]}\n'
    monkeypatch.setattr(sys, "argv", ["characters", str(tmp_path / "none"), "out"])
    with pytest.raises(SystemExit):
        main()
    assert "no lines in train.jsonl" in capsys.readouterr().err


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
def test_spans_taken_away(read_as, iob, tmp_path):
    """What is written to a file, and read by `spacy train`, is what was asked for."""
    from partial_annotation import take_away

    doc = make_fields(3)
    take_away(doc, {0, 2}, read_as)
    DocBin(attrs=["ORTH", "ENT_IOB", "ENT_TYPE"], docs=[doc]).to_disk(
        tmp_path / "a.spacy"
    )
    (example,) = Corpus(tmp_path / "a.spacy")(spacy.blank("en"))
    found = [token.ent_iob_ for token in example.reference]
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
    args = [str(ROOT / "benchmarks" / "spacy_tests.py"), "--modules"]

    def run(module):
        command = [sys.executable, *args, module]
        return subprocess.run(command, capture_output=True, text=True)

    result = run("training.test_rehearse")
    assert result.returncode == 0, result.stdout
    assert "1 passed, 0 failed" in result.stdout
    result = run("training.test_none")
    assert result.returncode == 1
    assert "the tests did not run" in result.stderr


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
