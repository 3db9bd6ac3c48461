"""What was annotated is counted, whatever the tokenizer does."""

import hypothesis.strategies as st
import pytest
import spacy
from hypothesis import given
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_hosemi import use_field_tokenizer
from spacy_hosemi.component.scorer import score_entities
from spacy_hosemi.labels.alignment import judge

from ..helpers import lbfgs, make_nlp

NLP = spacy.blank("en")
TEXT = "1950;59(236):433"
REFERENCE = ["1950", ";", "59", "(", "236", "):", "433"]


def make(words, ents=(), spaces=None):
    doc = Doc(NLP.vocab, words, spaces or [False] * len(words))
    doc.set_ents([Span(doc, *ent) for ent in ents])
    return doc


def score(predicted, reference):
    return score_entities([Example(predicted, reference)])


GOLD = [(0, 1, "date"), (2, 3, "volume"), (6, 7, "pages")]


@pytest.mark.parametrize(
    "words, ents, right",
    [
        (REFERENCE, GOLD, 3),
        ([*TEXT], [(0, 4, "date"), (5, 7, "volume"), (13, 16, "pages")], 3),
        # Within and across tokens of the reference: spaCy's scorer calls these right.
        ([*TEXT], [(0, 3, "date"), (5, 6, "volume"), (14, 16, "pages")], 0),
        (["1950;59(236):433"], [(0, 1, "date")], 0),
        (["1950;", "59", "(236):", "433"], [(0, 1, "date"), (1, 2, "volume")], 1),
        (REFERENCE, [(0, 1, "volume"), (2, 3, "date")], 0),
        (REFERENCE, [], 0),
    ],
)
def test_scores_are_exact(words, ents, right):
    found = score(make(words, ents), make(REFERENCE, GOLD))
    assert found["ents_r"] == right / 3
    assert found["ents_p"] == (right / len(ents) if ents else 0.0)


@given(st.data())
def test_scores_are_those_of_sets_of_characters(data):
    """On random tokens and spans of one text."""
    docs, sets = [], []
    for _ in range(2):
        borders = sorted({0, 16, *data.draw(st.lists(st.integers(1, 15)))})
        words = [TEXT[i:j] for i, j in zip(borders, borders[1:])]
        cuts = sorted(data.draw(st.sets(st.integers(0, len(words)))))
        labels = st.sampled_from(["A", "B", None])
        spans = [(i, j, data.draw(labels)) for i, j in zip(cuts, cuts[1:])]
        spans = [span for span in spans if span[2]]
        docs.append(make(words, spans))
        sets.append({(borders[i], borders[j], y) for i, j, y in spans})
    found, gold = sets
    scores = score(*docs)
    if found or gold:
        n_right = len(found & gold)
        assert scores["ents_p"] == (n_right / len(found) if found else 0.0)
        assert scores["ents_r"] == (n_right / len(gold) if gold else 0.0)
        assert {*scores["ents_per_type"]} == {y for *_, y in found | gold}
        for label, one in scores["ents_per_type"].items():
            own = {x for x in gold if x[2] == label}
            assert one["r"] == (len(own & found) / len(own) if own else 0.0)
    else:
        assert scores["ents_f"] is None
    spans = [(ent.start, ent.end, ent.label_) for ent in docs[0].ents]
    assert judge(Example(*docs), spans) == (
        [x in gold for x in sorted(found)],
        [label for *_, label in sorted(gold)],
    )


def test_texts_that_differ_in_whitespace():
    """As those of given tokens do."""
    predicted = make(["ab", " ", "c", "d"], [(0, 3, "A")], [True, False, True, False])
    reference = make(["a", "b", "cd"], [(0, 2, "A")], [False, True, False])
    assert score(predicted, reference)["ents_f"] == 0.0
    predicted = make(["ab", " ", "c", "d"], [(0, 1, "A")], [True, False, True, False])
    assert score(predicted, reference)["ents_f"] == 1.0


def test_missing_annotation_is_ignored():
    """A prediction is neither right nor wrong if one of its characters has none."""
    reference = make(REFERENCE)
    reference.set_ents(
        [Span(reference, 0, 1, "A")], missing=[reference[2:3]], default="outside"
    )
    # Up to, over and after the two missing characters, which begin at 5.
    for start, end, precision in [(4, 6, 1.0), (5, 7, 1.0), (6, 8, 1.0), (7, 9, 0.5)]:
        ents = [(0, 4, "A"), (start, end, "A")]
        assert score(make([*TEXT], ents), reference)["ents_p"] == precision
    unannotated = Doc(NLP.vocab, REFERENCE)
    assert score(make([*TEXT], [(0, 4, "A")]), unannotated)["ents_f"] is None


def test_nothing_to_score():
    assert score_entities([])["ents_per_type"] is None
    assert score(make(["a"]), make(["a"]))["ents_f"] is None


# --- training -----------------------------------------------------------------------


def examples(nlp, pairs):
    """References whose tokens are characters, so that they have every span."""
    found = []
    for text, spans in pairs:
        reference = Doc(nlp.vocab, [*text], [False] * len(text))
        reference.ents = [Span(reference, *span) for span in spans]
        found.append(Example(nlp.make_doc(text), reference))
    return found


PAIRS = [
    ("Ada 1950;59 x", [(0, 3, "name"), (4, 8, "date"), (9, 11, "volume")]),
    ("Bob 1951 ; 60 y", [(0, 3, "name"), (4, 8, "date"), (11, 13, "volume")]),
    ("Cy 1952;61 z", [(0, 2, "name"), (3, 7, "date"), (8, 10, "volume")]),
]


def test_what_is_out_of_reach_is_named():
    nlp = make_nlp()
    with pytest.warns(UserWarning) as caught:
        nlp.initialize(lambda: examples(nlp, PAIRS))
    (warning,) = caught
    text = str(warning.message)
    assert "[HSW01] 4 gold spans of 9 " in text
    assert "date: 2 of 3, such as '1950', '1952'" in text
    assert "volume: 2 of 3, such as '59', '61'" in text
    assert "FieldTokenizer" in text and "name" not in text
    assert nlp.get_pipe("hosemi").labels == ("date", "name", "volume")


def test_a_label_that_is_never_reached():
    nlp = make_nlp()
    with pytest.raises(
        ValueError, match=r"HS156.*'date'.*'1950'.*\['date', 'volume'\]"
    ):
        nlp.initialize(lambda: examples(nlp, PAIRS[::2]))


def test_the_field_tokenizer_reaches_them():
    nlp = use_field_tokenizer(make_nlp())
    pipe = nlp.get_pipe("hosemi")
    fit = spacy.registry.resolve({"fit": lbfgs(max_iter=30)})["fit"]
    pipe.initialize(lambda: examples(nlp, PAIRS), nlp=nlp, fit=fit)
    assert nlp.evaluate(examples(nlp, PAIRS))["ents_f"] == 1.0


def test_updates_name_each_label_once():
    nlp = make_nlp()
    nlp.initialize(lambda: examples(nlp, PAIRS[1:2]))
    with pytest.warns(UserWarning, match="HSW01.*4 gold spans of 9") as caught:
        for _ in range(3):
            nlp.update(examples(nlp, PAIRS), sgd=nlp.create_optimizer())
    assert len(caught) == 1


def of_given_tokens(nlp, words, n):
    doc = Doc(nlp.vocab, words * n)
    reference = doc.copy()
    reference.ents = [Span(reference, 0, 1, "A")]
    return [Example(doc, reference)]


def test_given_tokens_that_raw_text_does_not_have():
    nlp = make_nlp()
    with pytest.warns(UserWarning, match=r"HSW12.*50% .*'b,' becomes \['b', ','\]"):
        nlp.initialize(lambda: of_given_tokens(nlp, ["a", "b,"], 60))


@pytest.mark.parametrize("words, n", [(["a", "b"], 60), (["a", "b,"], 20)])
def test_given_tokens_that_are_much_the_same(words, n):
    nlp = make_nlp()
    nlp.initialize(lambda: of_given_tokens(nlp, words, n))
