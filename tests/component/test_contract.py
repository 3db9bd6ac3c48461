"""What whoever replaces `ner` relies on, where no other test says it: spaCy's commands
without `--code`, the pipeline around the component, and what is refused.

Further parts of the contract: test_pipe, test_preset, test_serialize, test_configs and
test_growth; updates and averages in test_model.
"""

import subprocess
import sys

import pytest
import spacy
import srsly
from confection import ConfigValidationError
from spacy.cli._util import app
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.util import load_config
from thinc.api import Adam
from typer.testing import CliRunner

from ..helpers import (
    TRAIN,
    initialize,
    lbfgs,
    make_examples,
    make_nlp,
    make_trained,
    parse,
    references,
    run_spacy,
    triples,
)

TEXTS = [parse(line)[0] for line in TRAIN]
GOLD = [triples(doc.ents) for doc in references()]


@pytest.fixture(scope="module")
def trained():
    return make_trained()


@pytest.fixture(scope="module")
def model(trained, tmp_path_factory):
    """The folder of a saved pipeline."""
    folder = tmp_path_factory.mktemp("model")
    trained.to_disk(folder)
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "train.spacy"
    DocBin(docs=references()).to_disk(path)
    return path


# --- spaCy's commands -------------------------------------------------------------


def test_init_config_and_train(data, tmp_path):
    config = tmp_path / "config.cfg"
    run_spacy("init", "config", config, "--pipeline", "hosemi", "--lang", "en")
    component = load_config(config)["components"]["hosemi"]
    assert component["factory"] == "hosemi"
    assert component["model"]["@architectures"] == "spacy_hosemi.SpanScorer.v1"
    args = ["--paths.train", data, "--paths.dev", data]
    steps = ["--training.max_steps", 60, "--training.eval_frequency", 30]
    min_count = ["--components.hosemi.model.features.min_count", 1]
    run_spacy("train", config, "--output", tmp_path, *args, *steps, *min_count)
    nlp = spacy.load(tmp_path / "model-last")
    assert [triples(doc.ents) for doc in nlp.pipe(TEXTS)] == GOLD


@pytest.fixture
def sourced(model, tmp_path):
    """A config whose component comes from the saved pipeline."""
    nlp = spacy.blank("en")
    config = nlp.config.copy()
    config["nlp"]["pipeline"] = ["hosemi"]
    config["components"] = {"hosemi": {"source": str(model)}}
    config.to_disk(tmp_path / "sourced.cfg")
    return tmp_path / "sourced.cfg"


def test_assemble(sourced, tmp_path):
    run_spacy("assemble", sourced, tmp_path / "assembled")
    nlp = spacy.load(tmp_path / "assembled")
    assert [triples(doc.ents) for doc in nlp.pipe(TEXTS)] == GOLD


@pytest.mark.parametrize("is_frozen", [False, True])
def test_train_goes_on_with_a_source(sourced, model, data, is_frozen, tmp_path):
    args = ["--paths.train", data, "--paths.dev", data, "--training.max_steps", 4]
    frozen = ["--training.frozen_components", '["hosemi"]'] if is_frozen else []
    run_spacy("train", sourced, "--output", tmp_path, *args, *frozen)
    before = spacy.load(model).get_pipe("hosemi").get_weights()
    after = spacy.load(tmp_path / "model-last").get_pipe("hosemi").get_weights()
    assert after.shape == before.shape  # features and labels are those of the source
    assert (after == before).all() == is_frozen


# spaCy leaves a file open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_package(model, tmp_path):
    run_spacy("package", model, tmp_path, "--build", "none", "--name", "fields")
    (meta,) = tmp_path.glob("en_fields-*/meta.json")
    requirements = srsly.read_json(meta)["requirements"]
    assert [x for x in requirements if x.startswith("spacy_hosemi")]


@pytest.mark.parametrize("command", [["evaluate"], ["benchmark", "accuracy"]])
def test_evaluate(model, data, command, tmp_path):
    run_spacy(*command, model, data, "--output", tmp_path / "scores.json")
    scores = srsly.read_json(tmp_path / "scores.json")
    assert scores["ents_f"] == 1.0
    assert set(scores["ents_per_type"]) == {"LOC", "PER"}


def test_debug_data(data, sourced):
    args = ["--paths.train", data, "--paths.dev", data]
    result = CliRunner().invoke(app, list(map(str, ["debug", "data", sourced, *args])))
    assert "5 training docs" in result.output


# --- registration -----------------------------------------------------------------


def test_meta_is_that_of_ner():
    nlp = spacy.blank("en")
    for factory in ("ner", "hosemi"):
        nlp.add_pipe(factory)
    ours, theirs = nlp.get_pipe_meta("hosemi"), nlp.get_pipe_meta("ner")
    for name in ("assigns", "requires", "retokenizes"):
        assert getattr(ours, name) == getattr(theirs, name)
    more = "ents_record_accuracy"
    assert [name for name in ours.scores if name != more] == theirs.scores
    assert ours.default_score_weights == {**theirs.default_score_weights, more: 0.0}


def test_a_fresh_process(model, trained):
    """All is found by its entry points, and nothing heavy is imported."""
    code = f"""
import sys, spacy
from spacy import registry
assert "spacy_hosemi" not in sys.modules
nlp = spacy.blank("en")
nlp.add_pipe("hosemi")
assert nlp("Ada wrote.")[0:1]._.confidence is None
for name in ("features", "log_likelihood", "lbfgs"):
    registry.misc.get(f"spacy_hosemi.{{name}}.v1")
registry.scorers.get("spacy_hosemi.scorer.v1")
before = {{name for name in sys.modules if not name.startswith("spacy_hosemi")}}
heavy = {{"scipy", "matplotlib", "rapidfuzz"}}
def imported():
    return heavy & {{name.split(".")[0] for name in set(sys.modules) - before}}
assert not imported(), imported()
assert not any(name.startswith("spacy_hosemi.explain") for name in sys.modules)
nlp = spacy.load({str(model)!r})
print([ent._.confidence for ent in nlp({TEXTS[0]!r}).ents])
assert not imported(), imported()
"""
    command = [sys.executable, "-W", "error", "-c", code]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    expected = [ent._.confidence for ent in trained(TEXTS[0]).ents]
    assert result.stdout.strip() == str(expected)


# --- the pipeline around it -------------------------------------------------------


def test_as_tuples(trained):
    pairs = [(text, i) for i, text in enumerate(TEXTS)]
    found = [(triples(doc.ents), i) for doc, i in trained.pipe(pairs, as_tuples=True)]
    assert found == [(ents, i) for i, ents in enumerate(GOLD)]


def test_a_generator_is_read_as_needed(trained):
    n_read = 0

    def endless():
        nonlocal n_read
        while True:
            n_read += 1
            yield TEXTS[n_read % len(TEXTS)]

    stream = trained.pipe(endless(), batch_size=4)
    for _ in range(5):
        next(stream)
    assert n_read <= 12


def test_select_pipes(trained):
    with trained.select_pipes(disable=["hosemi"]):
        assert trained(TEXTS[0]).ents == ()
    assert triples(trained(TEXTS[0]).ents) == GOLD[0]


def test_load_without_it(model):
    assert spacy.load(model, exclude=["hosemi"]).pipe_names == []
    nlp = spacy.load(model, disable=["hosemi"])
    assert nlp(TEXTS[0]).ents == ()
    nlp.enable_pipe("hosemi")
    assert triples(nlp(TEXTS[0]).ents) == GOLD[0]


def test_tokens_stay(trained):
    doc = trained.make_doc("Ada  Lovelace wrote to\nCharles Babbage.")
    words = [(token.text, token.whitespace_) for token in doc]
    assert [(token.text, token.whitespace_) for token in trained(doc)] == words
    assert {(token.ent_iob_, token.ent_type_) for token in doc} >= {("O", "")}
    assert all(token.ent_iob for token in doc)


def test_it_may_have_another_name(tmp_path):
    nlp = make_nlp(name="fields")
    optimizer = nlp.initialize(lambda: make_examples(nlp))
    for _ in range(20):
        losses = nlp.update(make_examples(nlp), sgd=optimizer)
    assert set(losses) == {"fields"}
    nlp.rename_pipe("fields", "entities")
    nlp.to_disk(tmp_path)
    assert [triples(doc.ents) for doc in spacy.load(tmp_path).pipe(TEXTS)] == GOLD


# --- training ---------------------------------------------------------------------


def test_gradients_are_accumulated_as_spacy_does_it():
    found = []
    for batches in ([TRAIN], [TRAIN[:2], TRAIN[2:3], TRAIN[3:]]):
        nlp = make_nlp()
        initialize(nlp)
        pipe, optimizer = nlp.get_pipe("hosemi"), Adam(0.001)
        for batch in batches:
            before = pipe.get_weights()
            nlp.update(make_examples(nlp, batch), sgd=False)
            assert (pipe.get_weights() == before).all()
        pipe.finish_update(optimizer)
        found.append(pipe.get_weights())
    assert found[0] == pytest.approx(found[1], abs=1e-12)


# --- bad input --------------------------------------------------------------------


def on_whitespace(nlp, start, end):
    doc = Doc(nlp.vocab, words=["\n", "Ada", "\n", "wrote"])
    reference = doc.copy()
    reference.ents = [Span(reference, start, end, "PER")]
    return [Example(doc, reference)]


@pytest.mark.parametrize("encoding", ["segments", "BIO"])
@pytest.mark.parametrize("start, end", [(0, 2), (1, 3), (2, 3)])
def test_gold_spans_on_whitespace(start, end, encoding):
    nlp = make_nlp(encoding=encoding)
    examples = on_whitespace(nlp, start, end)
    with pytest.raises(ValueError, match="HS103.*'PER'.*Trim"):
        nlp.initialize(lambda: examples)
    optimizer = initialize(nlp)
    with pytest.raises(ValueError, match="HS103.*'PER'.*Trim"):
        nlp.update(examples, sgd=optimizer)


def test_whitespace_within_a_gold_span():
    nlp = make_nlp()
    nlp.initialize(lambda: on_whitespace(nlp, 1, 4))
    nlp = make_nlp(outside="none")  # there whitespace is in some span
    nlp.initialize(lambda: on_whitespace(nlp, 0, 4))


@pytest.mark.parametrize(
    "key, config",
    [
        ("min_count", {"model": {"features": {"min_count": "many"}}}),
        ("inside", {"model": {"features": {"inside": 1}}}),
        ("l2", {"model": {"l2": "large"}}),
        ("max_ordre", {"max_ordre": 1}),  # no such key
    ],
)
def test_a_config_that_spacy_refuses(key, config):
    with pytest.raises(ConfigValidationError, match=rf"{key}\b"):
        spacy.blank("en").add_pipe("hosemi", config=config)


def test_a_fit_key_of_a_wrong_type():
    with pytest.raises(ConfigValidationError, match="max_iter"):
        initialize(make_nlp(), fit=lbfgs(max_iter="all"))
