"""`fit` trains a component in one call, beside others, as `nlp.initialize` would."""

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_hosemi.component.examples import check_pair, make_example, read_examples
from spacy_hosemi.formats.texts import LabeledSpan
from spacy_hosemi.text.tokenizer import FieldTokenizer
from spacy_hosemi.training.averaged import make_averaged

from ..helpers import (
    SMALL,
    TRAIN,
    averaged,
    find,
    initialize,
    lbfgs,
    make_examples,
    make_nlp,
    make_trained,
    parse,
)

PAIRS = [parse(line) for line in TRAIN]
QUIET = {"progress": False, "max_iter": 25}
PERCEPTRON = {"objective": {"@misc": "spacy_hosemi.perceptron.v1"}}
NEW = "Ada Lovelace lived in Paris."


def fit(nlp, examples=PAIRS, **settings):
    return nlp.get_pipe("hosemi").fit(examples, nlp=nlp, **{**QUIET, **settings})


def weights(nlp):
    return nlp.get_pipe("hosemi").get_weights().tolist()


def test_the_same_weights_as_by_initialize():
    for settings in ({}, {"l2": {"pattern": 0.3}, "l1": 0.01}):
        expected, nlp, other = make_nlp(), make_nlp(), make_nlp()
        initialize(expected, fit=lbfgs(max_iter=25, **settings))
        fit(nlp, make_examples(nlp), **settings)
        fit(other, **settings)
        assert weights(nlp) == weights(other) == weights(expected)
        assert find(nlp, NEW) == find(expected, NEW) != []


def test_another_fit_function():
    expected, nlp = make_nlp(), make_nlp()
    initialize(expected, fit=averaged(n_passes=3))
    hosemi = nlp.get_pipe("hosemi")
    result = hosemi.fit(PAIRS, nlp=nlp, fit=make_averaged(3, progress=False))
    assert weights(nlp) == weights(expected)
    assert result.reports == () and result.n_spans == 10


def test_the_result_says_how_the_fit_went():
    nlp = make_nlp()
    result = fit(nlp, max_iter=2)
    assert (result.n_documents, result.n_spans) == (5, 10)
    assert result.labels == ("LOC", "PER") == nlp.get_pipe("hosemi").labels
    assert result.n_iterations == 2 and not result.is_converged
    assert "ITERATIONS" in result.reason
    longer = fit(nlp, max_iter=200, tolerance=1e-9, prune=0.0)
    assert longer.is_converged and 2 < longer.n_iterations < 200
    assert 0.0 < longer.loss < result.loss
    # the loss that it says is the loss at its weights
    hosemi = nlp.get_pipe("hosemi")
    value, _ = hosemi.value_and_gradient(make_examples(nlp))
    penalty = 0.05 * (hosemi.get_weights() ** 2).sum()
    assert longer.loss == pytest.approx(value + penalty, rel=1e-4)


def test_labels_in_a_tree_report_each_level():
    nlp = make_nlp(hierarchy={"@misc": "spacy_hosemi.hierarchy.v1"}, max_order=1)
    marked = [
        line.replace("[PER", "[N/PER").replace("[LOC", "[N/LOC") for line in TRAIN
    ]
    pairs = [parse(line.replace("/", "_")) for line in marked]
    pairs = [(x, [(i, j, y.replace("_", "/")) for i, j, y in s]) for x, s in pairs]
    result = fit(nlp, pairs)
    assert result.labels == ("N/LOC", "N/PER") and len(result.reports) == 2
    assert find(nlp, NEW) == [("Ada Lovelace", "N/PER"), ("Paris", "N/LOC")]


def test_twice_is_anew():
    once, twice = make_nlp(), make_nlp()
    fit(once, PAIRS[:2])
    fit(twice, [("Kilo 7", [(5, 6, "NUMBER")])])
    assert twice.get_pipe("hosemi").labels == ("NUMBER",)
    fit(twice, PAIRS[:2])
    assert twice.get_pipe("hosemi").labels == once.get_pipe("hosemi").labels
    assert weights(twice) == weights(once)


def test_updates_train_on():
    nlp = make_nlp()
    initialize(nlp, fit=lbfgs(max_iter=1))  # after this one updates do nothing
    fit(nlp, max_iter=1)
    before = weights(nlp)
    losses = nlp.update(make_examples(nlp), sgd=nlp.create_optimizer())
    assert losses["hosemi"] > 0.0 and weights(nlp) != before


def test_other_components_stay_as_they_are():
    nlp = spacy.blank("en")
    tagger, ner = nlp.add_pipe("tagger"), nlp.add_pipe("ner")
    make_nlp(nlp=nlp)
    tags = [
        Example.from_dict(nlp.make_doc("Ada met Bob"), {"tags": ["N", "V", "N"]}),
        Example.from_dict(nlp.make_doc("Ada met Bob"), {"entities": [(0, 3, "X")]}),
    ]
    for name, eg in zip(("tagger", "ner"), tags):
        nlp.get_pipe(name).initialize(lambda eg=eg: [eg], nlp=nlp)
    before = tagger.to_bytes(exclude=["vocab"]), ner.to_bytes(exclude=["vocab"])
    pipeline = nlp.pipe_names
    fit(nlp)
    assert (
        tagger.to_bytes(exclude=["vocab"]),
        ner.to_bytes(exclude=["vocab"]),
    ) == before
    assert nlp.pipe_names == pipeline
    with nlp.select_pipes(enable=["hosemi"]):
        assert find(nlp, NEW) == [("Ada Lovelace", "PER"), ("Paris", "LOC")]


@Language.component("fit_call_tags")
def fit_call_tags(doc):
    for token in doc:
        token.tag_ = "N" if token.is_title else "X"
    return doc


@Language.component("fit_call_ents", assigns=["doc.ents"])
def fit_call_ents(doc):
    raise AssertionError("sets entities, which training does not read")


def test_pairs_are_annotated_by_what_stands_before():
    nlp = spacy.blank("en")
    nlp.add_pipe("fit_call_tags")
    nlp.add_pipe("fit_call_ents")
    make_nlp(nlp=nlp, features={**SMALL, "inside": ["TAG"]})
    fit(nlp)
    assert "inside:TAG=N" in nlp.get_pipe("hosemi").weights.names


def with_dicts():
    keys = "start", "end", "label"
    return [(text, [dict(zip(keys, x)) for x in spans]) for text, spans in PAIRS]


def with_labeled_spans():
    return [(text, [LabeledSpan(*x) for x in spans]) for text, spans in PAIRS]


def as_docs():
    return [eg.reference for eg in make_examples(spacy.blank("en"))]


def as_tokens():
    return [Doc(x.vocab, words=[t.text for t in x], ents=tags(x)) for x in as_docs()]


def tags(doc):
    return [f"{t.ent_iob_}-{t.ent_type_}" if t.ent_type_ else "O" for t in doc]


@pytest.mark.parametrize("make", [with_dicts, with_labeled_spans, as_docs, as_tokens])
def test_what_readers_of_files_give(make):
    expected, nlp = make_nlp(), make_nlp()
    fit(expected)
    assert fit(nlp, make()).n_spans == 10
    assert weights(nlp) == weights(expected)


def test_given_tokens_stay():
    doc = Doc(Vocab(), words=["Ada-Eve", "left"], ents=["B-PER", "O"])
    nlp = make_nlp()
    (eg,) = read_examples([doc], nlp, nlp.get_pipe("hosemi"))
    assert [t.text for t in eg.predicted] == ["Ada-Eve", "left"]
    assert not eg.predicted.ents
    assert [t.text for t in nlp.make_doc("Ada-Eve left")] != ["Ada-Eve", "left"]


def test_pairs_of_sentences():
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    make_nlp(nlp=nlp, scope="sents")
    text = "".join(f"{text} " for text, _ in PAIRS)
    starts = [text.index(part) for part, _ in PAIRS]
    whole = [(k + i, k + j, y) for k, (_, s) in zip(starts, PAIRS) for i, j, y in s]
    assert fit(nlp, [(text, whole)]).n_spans == 10
    assert [(x.start_char, x.end_char, x.label_) for x in nlp(text).ents] == whole
    alone = make_nlp(scope="sents")
    with pytest.raises(ValueError, match="HS067"):
        fit(alone)


@pytest.mark.parametrize("is_first", [True, False])
def test_sentence_starts_that_spans_cross(is_first):
    nlp = make_nlp()
    nlp.add_pipe("sentencizer", **({"last": True} if is_first else {"first": True}))
    pairs = [*PAIRS, ("Ada. Lovelace left.", [(0, 13, "PER")])]
    if is_first:
        assert fit(nlp, pairs).n_spans == 11
    else:
        with pytest.warns(UserWarning, match=r"HSW95\] 1 gold spans of 11 .*'Ada. L"):
            fit(nlp, pairs)
    found = [ent.text for ent in nlp(pairs[-1][0]).ents]
    assert ("Ada. Lovelace" in found) == is_first


def test_spans_with_invisible_ends():
    nlp = make_nlp()
    nlp.tokenizer = FieldTokenizer(nlp.vocab)
    examples = []
    for text, spans in [*PAIRS, ("Eva\u200b, left.", [(0, 4, "PER")])]:
        reference = nlp.make_doc(text)
        reference.ents = [reference.char_span(*span) for span in spans]
        examples.append(Example(nlp.make_doc(text), reference))
    said = r"HSW40\] 1 gold spans of 11 .* such as 'Eva\\u200b'. hosemi learns"
    with pytest.warns(UserWarning, match=said):
        fit(nlp, examples)
    assert [x.text for x in nlp("Eva\u200b, left.").ents] == ["Eva"]
    assert nlp.evaluate(examples)["ents_r"] == 10 / 11


def test_spans_within_tokens_are_unknown():
    nlp = make_nlp()
    pairs = [*PAIRS, ("Bob-Ada left.", [(0, 5, "PER")])]
    with pytest.warns(UserWarning, match=r"HSW01\] 1 gold spans of 11 "):
        assert fit(nlp, pairs).n_spans == 10


def test_an_endless_corpus_of_the_config_does_not_matter():
    nlp = make_nlp()
    nlp.config["training"]["max_epochs"] = -1
    assert fit(nlp).n_documents == 5


@pytest.mark.parametrize(
    "examples, settings, code",
    [
        (PAIRS, {"nlp": None}, r"HS180\] examples.0. is .*argument nlp"),
        (PAIRS, {"max_order": 3}, "HS181.*max_order"),
        (PAIRS, {"c2": 0.1}, "HS181.*'c2'.*c2 is half of l2"),
        (PAIRS, {"fit": print, "l2": 1.0}, "HS181.*'l2'"),
        (PAIRS, {"l2": -1.0}, "HS043.*l2"),
        ([], {}, "HS050"),
        ([("Nobody.", [])], {}, "HS051"),
        ([*PAIRS, "Ada"], {}, r"HS182\] examples.5. has 'Ada'"),
        ([*PAIRS, ("Ada", [(0, 4, "PER")])], {}, r"HS182.*\(0, 4, 'PER'\)"),
        ([("Ada", [(2, 2, "PER")])], {}, "HS182"),
        ([("Ada", [(0.0, 2, "PER")])], {}, "HS182"),
        ([("Ada", [(0, 2, "")])], {}, "HS182"),
        ([("Ada", [(0, 2, "\udcff")])], {}, "HS182"),
        ([("Ada \udcff", [(0, 2, "A")])], {}, "HS182.*half a surrogate pair"),
        ([("Ada", [(0, 2)])], {}, "HS182"),
        ([("Ada", 3)], {}, "HS182"),
        ([("Ada", [{"start": 0, "label": "A"}])], {}, "HS182.*read_annotations"),
        (as_docs(), {"nlp": None}, "HS180"),
        (PAIRS, {"dev": [*PAIRS, ("Ada", 3)]}, r"HS182\] dev.5. has"),
        ([("Ada", [(0, 2, "A"), (1, 3, "B")])], {}, "HS182.*overlap"),
    ],
)
def test_refusals_leave_the_component_as_it_was(examples, settings, code):
    nlp = make_trained()
    before = nlp.get_pipe("hosemi").to_bytes()
    with pytest.raises(ValueError, match=code):
        settings = {"progress": False, "nlp": nlp, **settings}
        nlp.get_pipe("hosemi").fit(examples, **settings)
    assert nlp.get_pipe("hosemi").to_bytes() == before


@pytest.mark.parametrize("config, code", [(PERCEPTRON, "HS121"), ({}, "HS271")])
def test_a_fit_that_cannot_begin_leaves_the_component_as_it_was(tmp_path, config, code):
    nlp, path = make_nlp(**config), tmp_path / "fit.npz"
    hosemi = nlp.get_pipe("hosemi")
    hosemi.fit(PAIRS, nlp=nlp, fit=make_averaged(3, progress=False))
    path.write_text("no file of a fit")
    before, found = hosemi.to_bytes(exclude=["vocab"]), find(nlp, NEW)
    with pytest.raises(ValueError, match=code):
        fit(nlp, [*PAIRS, ("In Rome.", [(3, 7, "LOC")])], checkpoint=path)
    with pytest.raises(ValueError, match=code):
        initialize(nlp, fit=lbfgs(checkpoint=str(path)))
    assert hosemi.to_bytes(exclude=["vocab"]) == before
    assert find(nlp, NEW) == found != []


@given(st.text(alphabet="aB 1-.\n", max_size=12), st.data())
def test_references_have_exactly_the_spans(text, data):
    borders = data.draw(st.sets(st.integers(0, len(text)), max_size=6).map(sorted))
    spans = [(i, j, "X") for i, j in zip(borders[::2], borders[1::2])]
    _, spans = check_pair((text, spans), "examples[0]")
    nlp = spacy.blank("en")
    doc = make_example(nlp.make_doc(text), spans, nlp).reference
    assert doc.text == text
    assert [(x.start_char, x.end_char, x.label_) for x in doc.ents] == spans
    for start, end, _ in spans:
        assert text[start:end].strip() == text[start:end] != ""
