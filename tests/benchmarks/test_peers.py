"""benchmarks/peers.py: what CRFsuite is trained on and scored by."""

import json

import hypothesis.strategies as st
import pytest
import spacy
from hypothesis import given
from spacy.tokens import Doc, Span
from spacy.training import Example

VOCAB = spacy.blank("en").vocab


pytestmark = pytest.mark.usefixtures("on_path")

# --- what a chain learns from -----------------------------------------------------


def read(words, spaces, reference):
    """The tags of tokens beside a reference of (words, BIO tags)."""
    from peers import read_tags

    gold = Doc(VOCAB, words=reference[0], spaces=reference[1], ents=reference[2])
    return read_tags(Example(Doc(VOCAB, words=words, spaces=spaces), gold))


def test_tags_of_touching_spans():
    tags = ["B-A", "I-A", "B-A", "O"]
    words = ["a", "b", "c", "d"]
    assert read(words, None, (words, None, tags)) == tags


def test_the_tag_of_a_token_with_a_border_inside_is_unknown():
    """A gold span begins within the second of three tokens."""
    gold = ["in", "19", "50", "Paris"], [True, False, True, False]
    tags = ["O", "O", "B-date", "B-place"]
    found = read(["in", "1950", "Paris"], [True, True, False], (*gold, tags))
    assert found == ["O", None, "B-place"]


def test_missing_annotation_is_unknown():
    words = ["a", "b", "c"]
    gold = Doc(VOCAB, words=words)
    gold.set_ents([Span(gold, 0, 1, "A")], missing=[Span(gold, 1, 3)])
    from peers import read_tags

    assert read_tags(Example(Doc(VOCAB, words=words), gold)) == ["B-A", None, None]


@given(st.lists(st.tuples(st.sampled_from(["a", " "]), st.sampled_from("OA?"))))
def test_parts_have_all_known_words(tokens):
    from peers import parts_of

    doc = Doc(VOCAB, words=[word for word, _ in tokens])
    tags = [None if tag == "?" else tag for _, tag in tokens]
    parts = parts_of(doc, tags)
    joined = [pair for part in parts for pair in zip(*part, strict=True)]
    known = [k for k, (word, tag) in enumerate(tokens) if word != " " and tag != "?"]
    assert joined == [(k, tags[k]) for k in known]
    assert all(tokens for tokens, _ in parts)
    unknown = {k for k, token in enumerate(tokens) if token == ("a", "?")}
    for (before, _), (behind, _) in zip(parts, parts[1:]):
        assert unknown & {*range(before[-1], behind[0])}
    for own, _ in parts:
        assert not unknown & {*range(own[0], own[-1])}


# --- a chain from texts to scores -------------------------------------------------

LINES = [
    {"text": "Poe  1845", "spans": [[0, 3, "author"], [5, 9, "date"]]},
    {"text": "Ada 1843x", "spans": [[0, 3, "author"], [4, 8, "date"]]},
    {"text": "Eve 1846", "spans": [[0, 3, "author"], [4, 8, "date"]]},
]


@pytest.fixture
def data(tmp_path):
    """RETURNS (Tuple[Language, Path]): A pipeline whose tokenizer keeps 1843x
    together, and the texts."""
    from harness import convert

    nlp = spacy.blank("en")
    nlp.tokenizer = spacy.tokenizer.Tokenizer(nlp.vocab)
    component = nlp.add_pipe("hosemi")
    path = tmp_path / "train.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in LINES), "utf8")
    convert(path, tmp_path / "train.spacy", "en")
    docs = [example.reference for example in read_file(nlp, tmp_path / "train.spacy")]
    component.initialize(lambda: [Example(nlp.make_doc(x.text), x) for x in docs])
    return nlp, tmp_path / "train.spacy"


def read_file(nlp, path):
    from training import fresh_examples

    return fresh_examples(nlp, "hosemi", path)


@pytest.mark.filterwarnings("ignore:.HSW01")
def test_all_documents_are_learnt_from(data):
    pytest.importorskip("pycrfsuite")
    from peers import peer_data

    nlp, path = data
    found = peer_data(nlp, "crfsuite", path, True)
    assert (found.n_docs, found.n_cut) == (3, 1)
    assert found.tags == [["B-author", "B-date"], ["B-author"], ["B-author", "B-date"]]
    assert list(map(len, found.items)) == [2, 1, 2]


@pytest.mark.filterwarnings("ignore:.HSW01")
def test_spans_out_of_reach_are_missed(data, tmp_path):
    """One of six, which no system finds; two of three documents can be exact."""
    pytest.importorskip("pycrfsuite")
    from peers import Peer, peer_data, train_crfsuite
    from processes import Usage
    from scores import exactness_of
    from training import n_out_of_reach

    nlp, path = data
    found = peer_data(nlp, "crfsuite", path, True)
    model = tmp_path / "model"
    train_crfsuite(found.items, found.tags, 0.0, 0.01, str(model))
    usage = Usage(0.0, 0.0, "")
    peer = Peer("crfsuite", nlp, model, usage, {}, 0.0, 0.01, "as given")
    assert n_out_of_reach(nlp, path) == 1
    scores = peer.scores(path)
    assert exactness_of(scores).records == pytest.approx(200 / 3)
    assert scores["author"]["f"] == 1
    assert scores["date"]["r"] == pytest.approx(2 / 3)
