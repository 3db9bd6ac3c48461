"""What explanations say: which entries, which limits, of which documents."""

from dataclasses import asdict, replace

import pytest
import spacy
import srsly
from spacy.tokens import Span

from ..helpers import UNTRAINED, initialize, make_doc, make_nlp, make_trained, triples
from ..hierarchy.test_component import TREE, make_tree_nlp
from .test_answers import NLP, joined, make_pipe, pipe_of
from .test_explain import made
from .test_neural import make_neural, train


def test_all_entities_and_one():
    nlp = make_trained()
    pipe, doc = nlp.get_pipe("hosemi"), nlp("Ada Lovelace wrote to Mary in Paris.")
    found = pipe.explain(doc)
    assert [(x.start, x.end, x.label) for x in found] == triples(doc.ents)
    assert found == [pipe.explain(doc, ent) for ent in doc.ents]
    for one, ent in zip(found, doc.ents):
        assert one.is_answer and one.text == ent.text and one.difference > 0
        assert one.probability == pytest.approx(ent._.confidence)
        sizes = [abs(x.score) for x in one.contributions]
        assert sizes == sorted(sizes, reverse=True)
    plain = srsly.json_loads(srsly.json_dumps([asdict(x) for x in found]))
    assert plain[0]["contributions"][0]["name"] == found[0].contributions[0].name
    assert pipe.explain(nlp("")) == []
    other = pipe.explain(doc, (2, 3, "LOC"))
    assert not other.is_answer and other.difference < 0
    assert (2, 3, "LOC") in other.spans and other.instead


def test_entities_of_one_label_and_progress():
    """Only these are explained; in a tree also by a name above their labels."""
    nlp = make_trained()
    pipe, doc = nlp.get_pipe("hosemi"), nlp("Ada Lovelace wrote to Mary in Paris.")
    seen = []

    def progress(found, total):
        for one in found:
            seen.append((total, one[1].label))
            yield one

    found = pipe.explain(doc)
    places = [x for x in found if x.label == "LOC"]
    assert 0 < len(places) < len(found)
    for changes, label in ((False, None), (True, None), (False, "LOC")):
        how = {"changes": changes, "label": label}
        expected = places if label else pipe.explain(doc, **how)
        assert pipe.explain(doc, **how, progress=progress) == expected
        assert seen == [(len(expected), x.label) for x in expected]
        seen.clear()
    assert pipe.explain(nlp("Ada wrote."), label="LOC") == []
    with pytest.raises(ValueError, match="HS096.*label = 'CITY'.*'LOC', 'PER'"):
        pipe.explain(doc, label="CITY")
    nlp = make_tree_nlp(tree={"exact_up_to": 0, "threshold": 0.0})
    pipe, doc = nlp.get_pipe("hosemi"), nlp("Ada met Babbage .")
    found = pipe.explain(doc)
    assert found and pipe.explain(doc, label="PER") == found
    assert found[0].label != "PER"


def test_which_entry_of_which_list():
    pipe = made("all roles", "plain")
    doc = pipe(make_doc(NLP, *"- a b - aa bbb -".split()))
    asked = (1, 3, "A"), (4, 6, "B")
    parts = [x for span in asked for x in pipe.explain(doc, span).contributions]
    found = [x for x in parts if x.kind == "list"]
    named = {(x.name.partition("=")[0], x.source, x.entry) for x in found}
    assert ("x:MATCH", "x", "a b") in named
    assert ("y:SIMILARITY", "y", "aa bb") in named
    assert all(x.name.startswith(f"{x.source}:") for x in found)
    (similarity,) = [x for x in found if x.name.startswith("y:SIMILARITY")]
    assert 0.5 <= similarity.value < 1.0
    assert similarity.score == pytest.approx(similarity.value * similarity.weight)


def test_words_in_a_clean_form():
    """Spans and contributions are in the tokens of the document."""
    nlp = make_trained(clean_text=True)
    pipe = nlp.get_pipe("hosemi")
    plain = nlp("Ada Lovelace wrote to Mary in New York.")
    doc = nlp("\n Ada  Love-\nlace wrote\n\nto Mary in New York.")
    one, other = pipe.explain(plain)[0], pipe.explain(doc)[0]
    assert (one.text, other.text) == ("Ada Lovelace", "Ada  Love-\nlace")
    assert other.difference == pytest.approx(one.difference, abs=1e-9)
    assert [x.name for x in other.contributions] == [x.name for x in one.contributions]
    places = {
        doc[x.start : x.end].text
        for x in other.contributions
        if x.name == "LOWER=lovelace"
    }
    assert places == {"Love-\nlace"}
    start = next(token.i for token in doc if token.text.startswith("Love"))
    with pytest.raises(ValueError, match="HS095.*within a word"):
        pipe.explain(doc, (start, start + 1, "PER"))
    with pytest.raises(ValueError, match="HS095.*whitespace"):
        pipe.explain(doc, (0, 2, "PER"))


def test_entities_of_others_and_what_came_later():
    nlp = make_trained()
    pipe = nlp.get_pipe("hosemi")
    doc = nlp.make_doc("Ada Lovelace wrote to Mary in Paris.")
    doc.set_ents([Span(doc, 4, 5, "LOC")])
    doc = pipe(doc)
    before = pipe.explain(doc)
    assert (4, 5) not in [(x.start, x.end) for x in before]
    found = pipe.explain(doc, (4, 5, "PER"))
    assert (found.difference, found.probability) == (None, 0.0)
    assert found.limits == ["entities or blocked tokens that were there before"]
    doc.set_ents([Span(doc, 2, 3, "VERB")], default="unmodified")
    assert pipe.explain(doc) == before


def limits(pipe, words, span):
    found = pipe.explain(pipe(make_doc(NLP, *words)), span)
    assert (found.difference, found.contributions, found.spans) == (None, [], [])
    return found.limits


def test_limits():
    rules = made("small", "rules")
    assert limits(rules, "abc", (0, 3, "A")) == ["label_rules: B at least once"]
    assert limits(rules, "a", (0, 1, "B")) == ["label_rules: B at least once"]
    assert limits(pipe_of("token"), "abc", (0, 3, "A")) == ["max_length = 2"]
    hard, expected = pipe_of("hard"), ["a list of A in mode hard"]
    assert limits(hard, "-ab-", (1, 3, "A")) == expected  # nothing without it
    assert limits(hard, "-ab-", (1, 2, "B")) == expected
    for pipe in map(pipe_of, ("sents", "segments")):
        found = pipe.explain(pipe(joined([["a", "b"], ["c"]])), (1, 3, "A"))
        assert found.limits == ["a sentence begins within it"]
        assert (found.probability, found.difference) == (0.0, None)


def test_several_limits():
    rules = ["A at most once", "A or B at most once"]
    pipe = make_pipe(label_rules=rules[:1])
    doc = make_doc(NLP, *"aba")
    doc.set_ents([Span(doc, 2, 3, "A")])
    found = pipe.explain(pipe(doc), (0, 1, "A"))
    assert found.limits == [
        "entities or blocked tokens that were there before",
        "label_rules: A at most once",
    ]


def test_limits_that_do_nothing_alone():
    pipe = pipe_of("segments")
    rules = pipe.schema.rules
    try:
        more = "B at least once", "B at least twice"
        pipe.schema = replace(pipe.schema, rules=more)
        doc = pipe(make_doc(NLP, *"abab"))
        found = pipe.explain(doc, (0, 4, "A"))
        assert found.limits == [f"label_rules: {'; '.join(more)}"]
        doc = make_doc(NLP, *"abab")
        doc.set_ents([Span(doc, 0, 1, "A")])
        found = pipe.explain(pipe(doc), (0, 4, "A"))
        assert found.limits == ["several limits together"]
    finally:
        pipe.schema = replace(pipe.schema, rules=rules)


@pytest.mark.parametrize(
    "span, message",
    [
        ((0, 99, "PER"), "HS095.*span has .*out of range"),
        ((3, 3, "PER"), "HS095"),
        ((0, 1), "HS095.*no span"),
        (7, "HS095.*no span"),
        ((0, 1.5, "PER"), "HS095.*no whole numbers"),
        ((0, 1, "CITY"), "HS096.*span has .*unknown.*PER"),
        ((0, 1, None), r"HS096.*expected one of ..*'PER'.\. Correct"),
    ],
)
def test_a_bad_span(span, message):
    nlp = make_trained()
    doc = nlp("Ada Lovelace wrote.")
    with pytest.raises(ValueError, match=message):
        nlp.get_pipe("hosemi").explain(doc, span)


@UNTRAINED
def test_labels_that_are_no_more():
    nlp = make_trained()
    doc, pipe = nlp("Ada Lovelace wrote."), nlp.get_pipe("hosemi")
    assert doc.ents
    pipe.fit([("In Rome", [(3, 7, "CITY")]), ("Rome", [(0, 4, "CITY")])], nlp=nlp)
    for span in (None, doc.ents[0]):
        with pytest.raises(ValueError, match="HS096.*'PER'"):
            pipe.explain(doc, span)


@UNTRAINED
def test_other_documents_than_those_that_were_predicted():
    nlp = make_trained()
    pipe, other = nlp.get_pipe("hosemi"), make_nlp(name="other")
    with pytest.raises(ValueError, match="HS318.*'Ada wrote.*'hosemi'.*nlp"):
        pipe.explain(nlp.make_doc("Ada wrote."))
    with pytest.raises(ValueError, match="HS318"):
        pipe.explain(other("Ada wrote."), (0, 1, "PER"))
    doc = nlp("Ada Lovelace wrote.")
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[0:2])
    with pytest.raises(ValueError, match="HS318"):
        pipe.explain(doc)
    doc = nlp("Ada Lovelace wrote.")
    foreign = spacy.blank("en")(doc.text)
    with pytest.raises(ValueError, match="HS095.*another document"):
        pipe.explain(doc, Span(foreign, 0, 2, "PER"))
    with pytest.raises(TypeError, match="HS230"):
        pipe.explain("Ada wrote.")


@UNTRAINED
def test_an_untrained_model():
    nlp = make_nlp()
    initialize(nlp)
    pipe, doc = nlp.get_pipe("hosemi"), nlp("Ada wrote.")
    assert pipe.explain(doc) == []
    found = pipe.explain(doc, (0, 1, "PER"))
    assert (found.difference, found.contributions) == (0.0, [])


def test_levels_of_a_tree():
    """What is decoded level by level is explained by all labels at once."""
    text = "Ada met Babbage ."
    found = []
    for n in (140, 0):
        nlp = make_tree_nlp(tree={"exact_up_to": n, "threshold": 0.0})
        doc = nlp(text)
        pipe = nlp.get_pipe("hosemi")
        more = [pipe.explain(doc, (1, 2, name)) for name in pipe.labels]
        found.append([*pipe.explain(doc), *more])
    assert found[0] == found[1] and found[0][0].difference > 0


def test_a_tree_with_a_tok2vec():
    nlp = make_neural(hierarchy={**TREE, "separator": "_"})
    train(nlp, marked=("[PER_first Ada] met [PER_last Babbage].",))
    doc = nlp("Ada met Babbage.")
    with pytest.raises(ValueError, match="HS317.*'hosemi'.*Train without tok2vec"):
        nlp.get_pipe("hosemi").explain(doc)
