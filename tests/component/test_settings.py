"""Settings: what is refused, wherever it comes from; where they are seen, and saved."""

import copy
import math
import os
import pickle

import numpy as np
import pytest
import spacy
from spacy.training import Example
from thinc.api import Config

from spacy_hosemi.component import saved_files
from spacy_hosemi.component.factory import BLOCKS, DEFAULT_CONFIG
from spacy_hosemi.component.settings import NAMES

from ..helpers import (
    SMALL,
    averaged,
    find,
    initialize,
    lbfgs,
    make_doc,
    make_nlp,
    make_trained,
    triples,
)
from .test_serialize import THROUGH, through_disk

# All combinations, instead of a part of those that go through a config.
IS_LONG = os.environ.get("HOSEMI_TEST_LONG") == "1"

OBJECT = object()
VALUES = {
    "nan": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
    "-1": -1,
    "-0.5": -0.5,
    "2**31": 2**31,
    "2**63": 2**63,
    "10**400": 10**400,
    "1e308": 1e308,
    "'1'": "1",
    "'x'": "x",
    "''": "",
    "'False'": "False",
    "null": None,
    "true": True,
    "1.0": 1.0,
    "1.5": 1.5,
    "[]": [],
    "{}": {},
    "[1]": [1],
    "[['A', 2]]": [["A", 2]],
    "['', 'A']": ["", "A"],
    "{'A': true}": {"A": True},
    "surrogate": "\ud800",
    "bytes": b"1",
    "object": OBJECT,
}

# What a setting takes of these, by hand: an answer that does not come from its kind.
TAKEN = {
    **dict.fromkeys(("pattern_max", "observed_max", "max_length"), ["null"]),
    **dict.fromkeys(("observed_patterns", "label_rules"), ["[]"]),
    "expected_f1": ["null", "1.0"],
    "export_fields": ["null", "[]", "{}"],
    "collective": [*("2**31", "2**63", "1e308", "1.0", "1.5")],
    "spans_key": ["'1'", "'x'", "'False'", "null"],
    "incorrect_spans_key": ["'1'", "'x'", "'False'", "null"],
    "spans_threshold": ["null"],  # 1.0 needs a spans_key, too
    "clean_text": ["true"],
    "guarantee": ["null"],
    "confidence": ["true"],
    "min_confidence": ["1.0", "[]", "{}"],
    "temperature": ["2**31", "2**63", "1e308", "1.0", "1.5"],
}
NO_CONFIG = ("10**400", "surrogate", "bytes", "object")  # JSON has no such thing


def senseless(name):
    return {x: v for x, v in VALUES.items() if x not in TAKEN.get(name, ())}


@pytest.fixture(scope="module")
def nlp():
    return make_nlp()


def same(left, right):
    return left == right and type(left) is type(right)


@pytest.mark.parametrize("name", NAMES)
def test_senseless_values_set_on_the_component(nlp, name):
    pipe = nlp.get_pipe("hosemi")
    for shown, value in senseless(name).items():
        settings, config = pipe.settings, copy.deepcopy(nlp.config)
        with pytest.raises(ValueError, match=rf"\[HS\d+\].*{name}") as raised:
            setattr(pipe, name, value)
        assert "expected" in str(raised.value), shown
        assert pipe.settings is settings
        assert nlp.config == config


@pytest.mark.parametrize(
    "name, values, code, expected",
    [
        ("scope", ["sentence"], "HS042", "sents"),
        ("encoding", ["BIOES"], "HS042", "BILUO"),
        ("outside", ["all"], "HS042", "token"),
        ("pattern_selection", ["gain"], "HS342", "count.*train anew"),
        ("length_smoothing", [1], "HS342", "0.*train anew"),
        ("max_order", [-1, 10**6], "HS043", "from 0 to 1"),
        ("pattern_min_count", [0], "HS043", "from 1"),
        ("pattern_max", [-1], "HS043", "from 0"),
        ("explicit_length", [0, 10**6], "HS043", "from 1 to 1"),
        ("observed_order", [10**6], "HS043", "from 0 to 1"),
        ("max_length", [0], "HS043", "from 1"),
        ("collective", [-1.0], "HS043", "at least 0"),
        ("temperature", [0.0, -1.0], "HS043", "a number above 0"),
        ("threads", [0, -1], "HS043", "from 1"),
        ("min_confidence", [-0.1, 1.1], "HS043", "from 0 to 1"),
        ("spans_threshold", [0.0, -0.1, 1.1], "HS043", "above 0"),
    ],
)
def test_values_just_out_of_range(name, values, code, expected):
    for value in values:
        message = rf"{code}.*{name} is {value!r}.*expected.*{expected}"
        with pytest.raises(ValueError, match=message):
            make_nlp(**{name: value})


def refused_by_config(config, message):
    with pytest.raises(ValueError, match=message):
        spacy.blank("en").add_pipe("hosemi", config=config)


def refused_by_file(config, message):
    whole = {
        "nlp": {"lang": "en", "pipeline": ["hosemi"]},
        "components": {"hosemi": {"factory": "hosemi", **config}},
    }
    with pytest.raises(ValueError, match=message):
        spacy.util.load_model_from_config(whole, auto_fill=True)


def some(names, *of):
    """All of these names of values, or every eleventh."""
    return names if IS_LONG else names[sum(map(ord, "".join(of))) % 11 :: 11]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("refused", [refused_by_config, refused_by_file])
def test_senseless_values_in_a_config(refused, name):
    shown = some([x for x in senseless(name) if x not in NO_CONFIG], name)
    assert shown
    for x in shown:
        # NaN and infinity are refused by spaCy, which writes configs as JSON.
        message = rf"^\[(HS\d+\].*{name}.*expected|E961\][\s\S]*{name})"
        refused({name: VALUES[x]}, message)


@pytest.mark.parametrize("name, shown", [(x, s) for x, y in TAKEN.items() for s in y])
def test_what_is_taken(nlp, name, shown):
    pipe = nlp.get_pipe("hosemi")
    old = getattr(pipe, name)
    setattr(pipe, name, VALUES[shown])
    setattr(pipe, name, old)
    assert same(getattr(pipe, name), old)


# What settings of nested blocks take.
NUMBERS = ["1.0", "1.5", "2**31", "2**63", "1e308"]
TEXTS = ["'1'", "'x'", "'False'", "null"]
NESTED_TAKEN = {
    **dict.fromkeys(("l1", "tolerance", "l2_growth", "margin"), NUMBERS),
    **dict.fromkeys(("learn_rate_scale", "checkpoint_every"), NUMBERS),
    **dict.fromkeys(("l2", "rate"), [*NUMBERS, "{}"]),
    "border_factor": NUMBERS,
    "encoder_factor": NUMBERS,
    "threshold": ["1.0"],
    **dict.fromkeys(("label", "patience"), ["null"]),
    **dict.fromkeys(("separator", "log", "checkpoint"), TEXTS),
    **dict.fromkeys(("all_labels", "progress", "nonnegative"), ["true"]),
    **dict.fromkeys(("pieces", "choose_decoding"), ["true"]),
    **dict.fromkeys(("inside", "start", "end", "whole", "within"), ["[]"]),
    **dict.fromkeys(("transition", "transition_inside"), ["[]"]),
    "prefixes": ["[]", "[1]"],
}


def nested(block, name, value):
    """A config with one value in a block, or the settings of a fit."""
    one = {name: value}
    if block.endswith(".hierarchy"):
        return {"hierarchy": {"@misc": "spacy_hosemi.hierarchy.v1", **one}}
    if "perceptron" in block:
        return {"objective": {"@misc": "spacy_hosemi.perceptron.v1", **one}}
    for what in ("gazetteer", "table"):
        if f"{what}s." in block:
            made = {"@misc": f"spacy_hosemi.{what}.v1", **one}
            return {"model": {f"{what}s": {"a": made}}}
    if block.endswith(".features"):
        return {"model": {"features": one}}
    return {"model": one}


@pytest.mark.parametrize(
    "block, name",
    [(b, x.name) for b, block in BLOCKS.items() for x in block][len(NAMES) :],
)
def test_senseless_values_in_nested_blocks(block, name):
    shown = [x for x in VALUES if x not in (*NESTED_TAKEN.get(name, ()), *NO_CONFIG)]
    assert some(shown, block, name)
    for x in some(shown, block, name):
        if "fit" in block:
            made = lbfgs if "lbfgs" in block else averaged
            with pytest.raises(ValueError, match=rf"\b{name}\b"):
                initialize(make_nlp(), fit=made(**{name: VALUES[x]}))
        else:
            refused_by_config(nested(block, name, VALUES[x]), rf"\b{name}\b")


def test_values_of_numpy_become_plain_ones():
    """Else a saved or copied component would need its classes."""
    pipe = make_nlp().get_pipe("hosemi")
    pipe.threads, pipe.temperature = np.int32(3), np.float32(0.5)
    pipe.min_confidence = {"A": np.float64(0.25)}
    assert same(pipe.threads, 3)
    assert same(pipe.temperature, 0.5)
    assert type(pipe.min_confidence["A"]) is float
    pipe.spans_key = np.str_("$key")
    assert same(pipe.spans_key, "$key")


# --- together ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "code, config, name, value",
    [
        ("HS047", {"encoding": "BIO"}, "decoding", "mbr"),
        ("HS047", {"decoding": "mbr"}, "encoding", "BIO"),
        ("HS046", {"encoding": "IO"}, "label_rules", ["PER at most once"]),
        ("HS046", {"label_rules": ["PER at most once"]}, "encoding", "BILUO"),
        ("HS070", {}, "label_rules", ["PER at most once", "PER at most"]),
        ("HS093", {"encoding": "BIO"}, "incorrect_spans_key", "wrong"),
        ("HS093", {"incorrect_spans_key": "wrong"}, "encoding", "BIO"),
        ("HS099", {}, "spans_threshold", 0.5),
        ("HS099", {"encoding": "BIO", "spans_key": "s"}, "spans_threshold", 0.5),
        ("HS099", {"spans_key": "s", "spans_threshold": 0.5}, "spans_key", None),
        ("HS099", {"spans_key": "s", "spans_threshold": 0.5}, "encoding", "BIO"),
        ("HS118", {"hierarchy": {}}, "encoding", "BIO"),
        ("HS118", {"hierarchy": {}}, "label_rules", ["PER at most once"]),
        ("HS118", {"hierarchy": {}}, "observed_order", 1),
        ("HS118", {"hierarchy": {}}, "observed_patterns", [["*", "PER"]]),
    ],
)
def test_settings_that_do_not_go_together(code, config, name, value):
    if "hierarchy" in config:
        config = {"hierarchy": {"@misc": "spacy_hosemi.hierarchy.v1"}}
    with pytest.raises(ValueError, match=code):
        make_nlp(**{**config, name: value})
    pipe = make_nlp(**config).get_pipe("hosemi")
    settings = pipe.settings
    with pytest.raises(ValueError, match=code):
        setattr(pipe, name, value)
    assert pipe.settings is settings


def test_objective():
    pipe = make_nlp(hierarchy={"@misc": "spacy_hosemi.hierarchy.v1"}).get_pipe("hosemi")
    perceptron = make_nlp(objective={"@misc": "spacy_hosemi.perceptron.v1"})
    perceptron = perceptron.get_pipe("hosemi").objective
    old = pipe.objective
    for code, objective in (("HS043", None), ("HS043", "x"), ("HS118", perceptron)):
        with pytest.raises(ValueError, match=f"{code}.*objective"):
            pipe.objective = objective
        assert pipe.objective is old
    other = make_nlp().get_pipe("hosemi")
    other.objective = perceptron
    assert other.objective is perceptron


def test_features_of_label_patterns_and_their_settings():
    features = {**SMALL, "transition": ["LOWER"]}
    pipe = make_nlp(features=features, observed_order=1).get_pipe("hosemi")
    with pytest.raises(ValueError, match="HS090.*observed_order"):
        pipe.observed_order = 0
    assert pipe.observed_order == 1
    pipe.observed_patterns = [["*", "PER", "*"]]
    pipe.observed_order = 0
    pipe = make_nlp().get_pipe("hosemi")
    pipe.observed_order = 1
    assert pipe.weights.extractor.features.transition_roles
    pipe.observed_order = 0
    assert not pipe.weights.extractor.features.transition_roles


def test_what_the_weights_depend_on_is_set_before_initialization():
    nlp = make_nlp()
    pipe = nlp.get_pipe("hosemi")
    pipe.encoding, pipe.max_order, pipe.label_rules = "BIO", 1, []
    initialize(nlp, fit=lbfgs(max_iter=5))
    expected = make_trained(encoding="BIO", max_order=1, fit={"max_iter": 5})
    expected = expected.get_pipe("hosemi")
    assert pipe.automaton.patterns == expected.automaton.patterns
    assert (pipe.get_weights() == expected.get_weights()).all()
    with pytest.raises(ValueError, match="HS150.*encoding.*'BIO'.*'segments'"):
        pipe.encoding = "segments"
    pipe.encoding = "BIO"
    assert pipe.cfg["encoding"] == "BIO"


def test_thresholds_of_labels():
    nlp = make_trained()
    pipe = nlp.get_pipe("hosemi")
    with pytest.raises(ValueError, match="HS091.*'ORG'"):
        pipe.min_confidence = {"ORG": 0.5}
    pipe.min_confidence = [["PER", 0.5]]
    for change in ("clear", "popitem"):
        with pytest.raises(ValueError, match="HS151"):
            getattr(pipe.min_confidence, change)()
    with pytest.raises(ValueError, match="HS151.*'PER'"):
        pipe.min_confidence["PER"] = math.nan
    assert pipe.min_confidence == {"PER": 0.5}
    copies = (copy.deepcopy(pipe), pickle.loads(pickle.dumps(pipe)))
    assert [x.min_confidence for x in copies] == [{"PER": 0.5}] * 2


def test_export_fields(nlp, tmp_path):
    pipe = nlp.get_pipe("hosemi")
    for wrong in ({"PER": "nothing"}, [["PER"]], [["PER", "author", "title"]], "PER"):
        with pytest.raises(ValueError, match="HS043.*export_fields.*author, title"):
            pipe.export_fields = wrong
    pipe.export_fields = {"a:b": "author", "PER": "title"}
    assert pipe.export_fields == (("a:b", "author"), ("PER", "title"))
    nlp.to_disk(tmp_path)
    other = spacy.load(tmp_path).get_pipe("hosemi")
    assert other.export_fields == pipe.export_fields
    pipe.export_fields = None


# --- where they are seen ----------------------------------------------------------

OTHER = {
    "decoding": "mbr",
    "expected_f1": None,
    "collective": 0.5,
    "spans_key": "some",
    "incorrect_spans_key": "wrong",
    "confidence": True,
    "min_confidence": {"PER": 0.7},
    "temperature": 2.0,
    "threads": 2,
    "spans_threshold": 0.5,
}


def make_another(nlp):
    """Components of these names, with other settings."""
    other = spacy.blank("en")
    for name in nlp.pipe_names:
        make_nlp(nlp=other, name=name)
    return other


def into_another(nlp, folder):
    return make_another(nlp).from_bytes(nlp.to_bytes())


def into_another_from_disk(nlp, folder):
    nlp.to_disk(folder)
    return make_another(nlp).from_disk(folder)


EACH_WAY = [*THROUGH, into_another, into_another_from_disk]


def shown(nlp):
    config = nlp.config["components"]["hosemi"]
    return {name: config[name] for name in OTHER}


@pytest.mark.parametrize("through", EACH_WAY)
def test_what_is_set_is_saved_and_shown(through, tmp_path):
    nlp = make_trained()
    for name, value in OTHER.items():
        setattr(nlp.get_pipe("hosemi"), name, value)
    assert shown(nlp) == OTHER
    other = through(nlp, tmp_path)
    assert {x: getattr(other.get_pipe("hosemi"), x) for x in OTHER} == OTHER
    assert shown(other) == OTHER
    text = "Ada met Charles Babbage in Paris."
    assert triples(other(text).ents) == triples(nlp(text).ents)
    other.get_pipe("hosemi").temperature = 3.0  # of the copy alone
    assert shown(other)["temperature"] == 3.0
    assert shown(nlp) == OTHER


def test_the_config_of_a_saved_model_can_be_changed(tmp_path):
    nlp = make_trained()
    nlp.get_pipe("hosemi").min_confidence = 0.7
    nlp.to_disk(tmp_path)
    for value in (0.0, 0.25):  # the first one is the default
        config = {"components": {"hosemi": {"min_confidence": value}}}
        other = spacy.load(tmp_path, config=config)
        assert other.get_pipe("hosemi").min_confidence == value
    path = tmp_path / "config.cfg"
    text = path.read_text("utf8").replace("threads = 1", "threads = 3")
    path.write_text(text, "utf8")
    pipe = spacy.load(tmp_path).get_pipe("hosemi")
    assert (pipe.threads, pipe.min_confidence) == (3, 0.7)


LEARNT = {
    "max_order": 3,
    "max_length": 2,
    "encoding": "BIO",
    "outside": "token",
    "scope": "sents",
}


FEATURES = [
    {"one_dash": True},
    {"preset": "fields"},
    {"pieces": True},
    {"inside": ["LOWER", "LOWER"]},
    {"width": 3},
    {"functions": {"f": {"@misc": "hosemi_tests_len.v1"}}},
    {"segment_functions": {"F": {"@misc": "hosemi_tests_len.v1"}}},
]


@pytest.mark.parametrize("change", FEATURES)
def test_the_config_cannot_change_learnt_features(change, tmp_path):
    spacy.registry.misc("hosemi_tests_len.v1", func=lambda: len)
    nlp = make_trained()
    nlp.to_disk(tmp_path)
    model = {"features": change}
    config = {"components": {"hosemi": {"model": model}}}
    with pytest.raises(ValueError, match=r"HS150\] features\."):
        spacy.load(tmp_path, config=config)
    model["features"] = {"min_count": 5, "all_labels": False}
    spacy.load(tmp_path, config=config)
    path = tmp_path / "hosemi"
    cfg, parts = saved_files.read_cfg(path)
    del cfg["features"]  # as models of 0.2.0
    (path / "cfg").write_bytes(saved_files.sealed(cfg, parts))
    model["features"] = {"one_dash": True}
    spacy.load(tmp_path, config=config)


@pytest.mark.parametrize("name", LEARNT)
@pytest.mark.parametrize("where", ["call", "file"])
def test_the_config_cannot_change_what_the_weights_were_made_for(name, where, tmp_path):
    """Before, such a change was dropped without a word."""
    make_trained().to_disk(tmp_path)
    config = {"components": {"hosemi": {name: LEARNT[name]}}}
    if where == "file":
        path = tmp_path / "config.cfg"
        Config().from_disk(path, interpolate=False).merge(config).to_disk(path)
        config = {}
    with pytest.raises(ValueError, match=f"HS150.*{name}"):
        spacy.load(tmp_path, config=config)
    changed = {"components": {"hosemi": {"threads": 2}}}
    if where == "call":
        assert spacy.load(tmp_path, config=changed).get_pipe("hosemi").threads == 2


@pytest.mark.parametrize(
    "code, rules",
    [
        (None, ["PER at most once"]),
        ("HS070.*at most", ["PER at most"]),
        ("HS071.*'Per'.*LOC.*PER", ["Per at most once"]),
        ("HS073.*contradict", ["PER at most once", "PER at least twice"]),
        ("HS074.*PER at most 20000", ["PER at most 20000"]),
        ("HS076", [f"{y} at most {n}" for y, n in (("PER", 90), ("LOC", 100))]),
    ],
)
def test_rules_of_a_trained_component(code, rules, tmp_path, monkeypatch):
    monkeypatch.setattr("spacy_hosemi.core.automaton.compile.MAX_STATES", 5_000)
    nlp, text = make_trained(), "Ada met Mary Somerville in Paris and Charles Babbage."
    pipe, found = nlp.get_pipe("hosemi"), find(nlp, text)
    assert [y for _, y in found].count("PER") == 2
    nlp.to_disk(tmp_path)
    config = {"components": {"hosemi": {"label_rules": rules}}}
    if code is not None:
        with pytest.raises(ValueError, match=code):
            pipe.label_rules = rules
        with pytest.raises(ValueError, match=code):
            spacy.load(tmp_path, config=config)
        assert pipe.label_rules == pipe.schema.rules == ()
        assert find(nlp, text) == found
        return
    pipe.label_rules = rules
    for ruled in (nlp, spacy.load(tmp_path, config=config)):
        assert [y for _, y in find(ruled, text)].count("PER") == 1
        ruled.to_disk(tmp_path)
        again = spacy.load(tmp_path)
        assert find(again, text) == find(ruled, text)
        again.get_pipe("hosemi").label_rules = []
        assert find(again, text) == found
        doc = ruled.make_doc(text)  # rules are for what others have not set
        doc.set_ents([doc.char_span(0, 3, "PER"), doc.char_span(8, 23, "PER")])
        assert [x.text for x in ruled(doc).ents][:2] == ["Ada", "Mary Somerville"]
        keep, doc = [(0, 1, "PER"), (2, 4, "PER")], ruled.make_doc(text)
        with pytest.raises(ValueError, match="HS060.*PER at most once"):
            ruled.get_pipe("hosemi").redecode(doc, keep=keep)


@pytest.mark.parametrize("value", [[["US$", 0.5]], {"US$": 0.5}, [["PER", 0.5]], 0.5])
@pytest.mark.parametrize("is_in_config", [False, True])
def test_thresholds_of_any_form_are_loaded_again(value, is_in_config, tmp_path):
    nlp = spacy.blank("en")
    pipe = nlp.add_pipe(
        "hosemi", config={"min_confidence": value} if is_in_config else {}
    )
    for label in ("PER", "US$"):
        pipe.add_label(label)
    nlp.initialize()
    if not is_in_config:
        pipe.min_confidence = value
    for _ in range(2):
        nlp.to_disk(tmp_path)
        nlp = spacy.load(tmp_path)
        assert nlp.get_pipe("hosemi").min_confidence == pipe.min_confidence
    again = spacy.load(tmp_path, config={"components": {"hosemi": {"threads": 2}}})
    assert again.get_pipe("hosemi").min_confidence == pipe.min_confidence


def test_a_variable_in_a_config_stays():
    config = {
        "nlp": {"lang": "en", "pipeline": ["hosemi"]},
        "vars": {"key": "some"},
        "components": {"hosemi": {"factory": "hosemi", "spans_key": "${vars.key}"}},
    }
    nlp = spacy.util.load_model_from_config(config, auto_fill=True)
    pipe = nlp.get_pipe("hosemi")
    pipe.threads = 2
    assert pipe.spans_key == "some"
    block = nlp.config["components"]["hosemi"]
    assert (block["spans_key"], block["threads"]) == ("${vars.key}", 2)


def test_a_component_under_another_name():
    nlp = spacy.blank("en")
    pipe = nlp.add_pipe("hosemi", name="fields")
    nlp.rename_pipe("fields", "entities")
    pipe.threads = 2
    assert nlp.config["components"]["entities"]["threads"] == 2


# --- odd strings ------------------------------------------------------------------

ODD = [
    *("$", "$$", "$$$", "a $b", "$1", "${a.b}", "${a:b}", "${", "$}", "${paths.train}"),
    *("#", "a # b", "; c", "'q'", "'", '"', '"x"', "\\", "\\n", "a\nb", "\n", "\t"),
    *("a\r\nb", "\U0001f600", "[x]", "[x", '{"a": 1}', "null", "true", "1", " a", "a "),
    *("=", "a: b", "%(x)s", "@x", "*", "a.b", "__SECTION__:x", "\x00", "\u2028", "é"),
    *("日本", "None", "https://x.org/?a=b&c=$d", "-"),
]


def odd_pipeline():
    """Some odd strings for each component, each of them in all settings that take
    several strings; in the others, too, if HOSEMI_TEST_LONG=1."""
    nlp = spacy.blank("en")
    size = 1 if IS_LONG else 5
    for i in range(0, len(ODD), size):
        pipe = nlp.add_pipe("hosemi", name=f"p{i}")
        texts = ODD[i : i + size]
        pipe.spans_key, pipe.incorrect_spans_key = texts[0], texts[-1]
        pipe.observed_patterns = [["*", text, "*"] for text in texts]
        for label in (*texts, "B"):
            if label != "$":  # that is the end in label patterns
                pipe.add_label(label)
        named = [text for text in texts if text.strip()]  # a rule has words
        rules = [f"B never before {text}" for text in named]
        pipe.label_rules = [f"{x} at most twice" for x in named[:1]] + rules
        pipe.min_confidence = [*([text, 0.5] for text in texts), ["B", 0.25]]
    return nlp


@pytest.mark.parametrize("through", EACH_WAY)
def test_odd_strings_are_saved_and_loaded(through, tmp_path):
    nlp = odd_pipeline()
    other = through(nlp, tmp_path)
    for name, pipe in nlp.pipeline:
        found = other.get_pipe(name)
        assert found.settings == pipe.settings
        assert found.labels == pipe.labels


def test_odd_labels_predict_the_same(tmp_path):
    labels = [text for text in ODD if text != "$"]
    nlp = make_nlp(features=SMALL)
    examples = []
    for i, label in enumerate(labels):
        doc = make_doc(nlp, f"w{i}", "x", "y")
        reference = doc.copy()
        reference.ents = [spacy.tokens.Span(reference, 0, 1, label)]
        examples.append(Example(doc, reference))
    settings = {"fit": lbfgs(max_iter=15)}
    nlp.config["initialize"]["components"]["hosemi"] = settings
    nlp.initialize(lambda: examples)
    nlp.get_pipe("hosemi").spans_key = "${x"
    texts = [eg.reference.text for eg in examples]
    expected = [triples(doc.ents) for doc in nlp.pipe(texts)]
    assert sum(map(len, expected)) == len(labels)
    for through in (through_disk, into_another):
        docs = [*through(nlp, tmp_path).pipe(texts)]
        assert [triples(doc.ents) for doc in docs] == expected
        assert [triples(doc.spans["${x"]) for doc in docs] == expected


# --- the reference ----------------------------------------------------------------


def test_defaults_and_meanings():
    for block in BLOCKS.values():
        for one in block:
            found = one.kind.read(one.default)
            assert found == one.default
            assert one.meaning.endswith(".")
            assert one.kind.expected
    assert {x for x in DEFAULT_CONFIG if x in NAMES} == set(NAMES)
