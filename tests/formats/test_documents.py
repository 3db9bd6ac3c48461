"""Documents have every span, character by character, and their tokens stay."""

import json

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokenizer import Tokenizer
from spacy.tokens import DocBin
from spacy.training import Corpus

from spacy_hosemi.formats import (
    LabeledSpan,
    make_doc,
    read_annotations,
    read_docs,
    write_docs,
)
from spacy_hosemi.formats.texts import AnnotatedText, from_tokens
from spacy_hosemi.formats.tokenizers import blank_pipeline

from ..conftest import ROOT
from .test_readers import read

PIPELINES = {"field": blank_pipeline(), "spacy": spacy.blank("en")}


def annotated(text, spans):
    return AnnotatedText(text, tuple(LabeledSpan(*x) for x in spans), "file", 1)


def ents(doc):
    return [(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents]


@st.composite
def texts_with_spans(draw):
    """Any text, any borders where the span neither begins nor ends with whitespace."""
    text = draw(st.text("aB1;(é\u0301😀 \n\u00a0-漢", min_size=1, max_size=30))
    borders = sorted(draw(st.sets(st.integers(0, len(text)), max_size=8)))
    pairs = list(zip(borders[::2], borders[1::2]))
    good = [x for x in pairs if text[x[0] : x[1]].strip() == text[x[0] : x[1]]]
    return text, [(s, e, "ab"[i % 2]) for i, (s, e) in enumerate(good)]


@pytest.mark.parametrize("nlp", PIPELINES.values(), ids=PIPELINES)
@settings(deadline=None, max_examples=150)
@given(made=texts_with_spans())
def test_no_span_is_lost(nlp, made):
    text, spans = made
    doc = make_doc(annotated(text, spans), nlp)[0]
    assert doc.text == text and ents(doc) == spans
    assert all(token.ent_iob_ in "BIO" for token in doc)  # nothing is missing
    borders = {token.idx for token in doc} | {len(text)}
    whole = nlp.tokenizer(text)
    assert borders >= {token.idx for token in whole}
    (again,) = DocBin(docs=[doc]).get_docs(nlp.vocab)
    assert ents(again) == spans and again.text == text


def test_tokens_are_cut_only_at_borders():
    nlp = spacy.blank("en")
    text = "Nature 1950;59(236):433-460 ok"
    spans = [(7, 11, "date"), (12, 19, "volume"), (20, 27, "pages")]
    doc, n_cut = make_doc(annotated(text, spans), nlp)
    assert ents(doc) == spans and n_cut == 3
    words = [token.text for token in doc]
    assert words == ["Nature", "1950", ";", "59(236)", ":", "433", "-", "460", "ok"]
    assert make_doc(annotated(text, []), nlp)[1] == 0


def test_given_tokens_stay_as_they_are(tmp_path):
    """Unknown spaces: spaCy's Corpus takes the tokens, and tokenizes nothing anew."""
    text = from_tokens(("don't", "1950;59"), (LabeledSpan(6, 13, "x"),), "file", 1)
    doc = make_doc(text, PIPELINES["spacy"])[0]
    assert doc.has_unknown_spaces
    DocBin(docs=[doc]).to_disk(tmp_path / "x.spacy")
    (example,) = Corpus(tmp_path / "x.spacy")(spacy.blank("en"))
    assert example.reference.has_unknown_spaces
    assert [token.text for token in example.predicted] == ["don't", "1950;59"]
    assert ents(example.reference) == [(6, 13, "x")]


def test_documents_of_a_file(tmp_path):
    path = tmp_path / "x.jsonl"
    good = '{"text": "a b", "spans": [[2, 3, "x"]]}\n'
    path.write_text(good)
    (doc,) = read_docs(path, PIPELINES["field"])
    (again,) = DocBin().from_bytes(write_docs([doc])).get_docs(doc.vocab)
    assert ents(again) == ents(doc) == [(2, 3, "x")]
    path.write_text(good + "{\n" + good + "{\n")
    with pytest.raises(ValueError, match="HS163.*2 faults, the first is .*x.jsonl:2: "):
        read_docs(path, PIPELINES["field"])


def test_whitespace_at_ends_is_left_out(tmp_path):
    line = '{"text": " Frege\\u00a0 1879\\u200b", "spans": [[0, 8, "a"], [8, 13, "b"]]}'
    found = read(tmp_path, line, shift=0)
    (text,) = found.texts
    assert [s[:3] for s in text.spans] == [(1, 6, "a"), (8, 12, "b")]
    assert (found.n_trimmed, found.n_unseen) == (1, 1)


@pytest.mark.parametrize("ends", [("", "\ufeff"), ("\u200b", ""), ("\xa0", " ")])
def test_given_tokens_stay_whole(tmp_path, ends):
    word = "b".join(ends)
    line = {"tokens": ["a", word, "c"], "spans": [[1, 2, "x"]]}
    (text,) = read(tmp_path, json.dumps(line)).texts
    found = ents(make_doc(text, PIPELINES["field"])[0])
    assert found == [(2, 2 + len(word), "x")]


def test_labels_of_any_kind(tmp_path):
    for label in ("B-x", "a b", "título", "-", "I-", "作者", "x:y/z", "O"):
        line = {"text": "Frege 1879", "spans": [[0, 5, label]]}
        (text,) = read(tmp_path, json.dumps(line)).texts
        assert ents(make_doc(text, PIPELINES["field"])[0]) == [(0, 5, label)]


def test_spans_side_by_side_stay_two():
    spans = [(0, 1, "a"), (1, 2, "a"), (3, 4, "a")]
    assert ents(make_doc(annotated("xy z", spans), PIPELINES["field"])[0]) == spans


def test_the_tokenizer_of_a_config(tmp_path):
    path = tmp_path / "x.cfg"
    path.write_text(
        '[paths]\ntrain = null\n[nlp]\nlang = "de"\npipeline = ["ner"]\n'
        '[nlp.tokenizer]\n@tokenizers = "spacy_hosemi.FieldTokenizer.v1"\n'
        "split_digits = false\n[components]\n[components.ner]\n"
        "factory = ${paths.train}\n"
    )
    nlp = blank_pipeline(path)
    assert nlp.lang == "de" and nlp.pipe_names == []
    assert [token.text for token in nlp("a1,b")] == ["a1", ",", "b"]
    path.write_text('[nlp]\nlang = "en"\n')
    assert type(blank_pipeline(path).tokenizer) is Tokenizer  # that of spaCy
    assert [token.text for token in blank_pipeline()("a1")] == ["a", "1"]


@pytest.mark.parametrize(
    "text", ["", "[nlp]\nlang = null\n", "[nlp]\nlang = 'x'\n", "nothing",
             '[nlp]\nlang = "en"\n[nlp.tokenizer]\n@tokenizers = "nothing.v1"\n'],
)  # fmt: skip
def test_configs_without_a_tokenizer(tmp_path, text):
    path = tmp_path / "x.cfg"
    path.write_text(text)
    with pytest.raises(ValueError, match="HS169") as raised:
        blank_pipeline(path)
    assert len(str(raised.value)) < 500
    with pytest.raises(ValueError, match="HS169"):
        blank_pipeline(lang="zzz")


@pytest.mark.usefixtures("tokenizer_exceptions")
def test_the_corpus_has_all_its_spans():
    found = read_annotations(ROOT / "corpus" / "dev.jsonl")
    for nlp, n_cut in ((spacy.blank("en"), 5), (blank_pipeline(), 0)):
        docs, counts = zip(*(make_doc(text, nlp) for text in found.texts))
        assert sum(len(doc.ents) for doc in docs) == 629
        assert sum(counts) == n_cut
