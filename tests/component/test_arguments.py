"""Arguments of wrong types: each is refused by name, with what was expected."""

from pathlib import Path

import pytest
import spacy
from spacy.training import Example

from spacy_hosemi import use_field_tokenizer
from spacy_hosemi.component.initialize import check_initialization
from spacy_hosemi.prediction.predictions import Prediction

from ..helpers import make_nlp, make_trained

PAIRS = [("Ada met Bob.", [(0, 3, "PER"), (8, 11, "PER")])]
NO_DOCS = (None, 5, "Ada met Bob.", ["Ada"], {"a": 1}, lambda: 0)
NO_LISTS = (None, 5, 1.5, True, "Ada met Bob.", b"x", lambda: 0)
NO_READERS = (5, 1.5, True, "x", [1], lambda: 0, {"x": 5}, {"x": "names.txt"})
NO_FUNCTIONS = (5, "x", [], {}, lambda a, b: 0)


def names(values):
    return {"ids": [f"{type(x).__name__} {x!r:.20}" for x in values]}


@pytest.fixture(scope="module")
def trained():
    pipe = make_trained().get_pipe("hosemi")
    return pipe.from_bytes(pipe.to_bytes())  # so that update reads its examples


@pytest.fixture
def pipe():
    return make_nlp().get_pipe("hosemi")


@pytest.mark.parametrize("found", NO_DOCS, **names(NO_DOCS))
@pytest.mark.parametrize(
    "method",
    "entropy marginals token_features redecode ranked to_rows kbest predict".split(),
)
def test_error_no_document(trained, method, found):
    more = {"kbest": (2,)}.get(method, ())
    given = [found] if method == "predict" else found
    with pytest.raises(TypeError, match="HS230.*expected a spaCy Doc.*nlp.make_doc"):
        getattr(trained, method)(given, *more)


@pytest.mark.parametrize("found", NO_DOCS, **names(NO_DOCS))
def test_error_nothing_to_annotate(trained, found):
    with pytest.raises(TypeError, match="HS230"):
        trained.set_annotations([found], [Prediction([], [])])


@pytest.mark.parametrize("found", NO_LISTS, **names(NO_LISTS))
@pytest.mark.parametrize("method", "fit update score value_and_gradient".split())
def test_error_no_examples(trained, method, found):
    with pytest.raises(TypeError, match="HS231.*examples is .*expected a list of spaC"):
        getattr(trained, method)(found)


def test_examples_are_examples(trained):
    for method in (trained.update, trained.score, trained.value_and_gradient):
        with pytest.raises(TypeError, match="E978"):
            method([5])


@pytest.mark.parametrize("found", [5, "en", {}], ids=str)
def test_error_no_pipeline(pipe, found):
    for call in (
        lambda: pipe.fit(PAIRS, nlp=found),
        lambda: pipe.initialize(lambda: [make_example(pipe)], nlp=found),
        lambda: use_field_tokenizer(found),
    ):
        with pytest.raises(TypeError, match="HS232.*nlp is .*expected a pipeline"):
            call()


def make_example(pipe):
    doc = spacy.blank("en", vocab=pipe.vocab).make_doc(PAIRS[0][0])
    return Example.from_dict(doc, {"entities": PAIRS[0][1]})


WRONG = [
    *(("gazetteers", x) for x in NO_READERS),
    *(("tables", x) for x in (*NO_READERS, lambda names: {})),
    *(("fit", x) for x in (*NO_FUNCTIONS, lambda: 0)),
    *(("hierarchy", x) for x in (*NO_FUNCTIONS, lambda batch: {})),
    *(("labels", x) for x in (5, True, "PER", {"PER": 1}, lambda: 0)),
]


@pytest.mark.parametrize("name, found", WRONG, **names(WRONG))
def test_error_of_initialize(pipe, name, found):
    key = r"\.x" if isinstance(found, dict) and "x" in found else ""
    match = f"HS233.*{name}{key} is .*expected a .*In a config"
    example = make_example(pipe)
    with pytest.raises(TypeError, match=match):
        pipe.initialize(lambda: [example], **{name: found})
    assert not pipe.weights.is_trained
    with pytest.raises(TypeError, match=match):
        pipe.fit([example], **{name: found})


@pytest.mark.parametrize("found", NO_FUNCTIONS, **names(NO_FUNCTIONS))
def test_error_of_dev(pipe, found):
    with pytest.raises(TypeError, match="HS233.*dev is .*expected a "):
        pipe.initialize(lambda: [make_example(pipe)], dev=found)


def test_functions_without_a_signature():
    """Of builtin ones nobody can say how many arguments they take."""
    assert check_initialization(None, None, dict, None, fit=max) == (dict, {})


def test_error_of_the_function_for_all_lists():
    config = {"gazetteers": {"x": {"@misc": "spacy_hosemi.gazetteer.v1"}}}
    pipe = make_nlp(model=config).get_pipe("hosemi")
    for found in (lambda names: 5, lambda names: {"x": Path("x")}):
        with pytest.raises(TypeError, match=r"HS233.*gazetteers(\.x)? is "):
            pipe.initialize(lambda: [make_example(pipe)], gazetteers=found)


@pytest.mark.parametrize("name", ["keep", "forbid"])
def test_error_no_corrections(trained, name):
    doc = spacy.blank("en", vocab=trained.vocab).make_doc("Ada")
    for found in (None, 5):
        with pytest.raises(TypeError, match=f"HS043.*{name} is {found}; expected a li"):
            trained.redecode(doc, **{name: found})


def test_error_of_other_arguments(trained):
    with pytest.raises(ValueError, match="HS043.*weights is 'x'; expected an array"):
        trained.set_weights("x")
    for found in (None, "x", [1], -0.5):
        with pytest.raises(ValueError, match="HS043.*below is .*expected a number"):
            trained.prune(found)
    for found in (5, "orde", ["x"]):
        with pytest.raises(ValueError, match="HS042.*name of a setting.*max_order"):
            trained.change_setting(found, 1)
