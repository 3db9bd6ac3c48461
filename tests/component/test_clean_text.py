"""With clean_text predictions are those of the clean text, whatever the dirt."""

import copy
from functools import cache

import numpy as np
import pytest
import spacy
import srsly
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_hosemi import FieldTokenizer
from spacy_hosemi.explain.gazetteers import find_entries, find_similar
from spacy_hosemi.prediction.posterior_cache import CACHE
from spacy_hosemi.prediction.records import find_records
from spacy_hosemi.text.clean import clean_word

from ..conftest import scripts_on_path
from ..helpers import MANY_EXISTING, lbfgs, make_doc, make_nlp, triples

with scripts_on_path():
    from dirty_text import DIRT, dirtied

NLP = spacy.blank("en")
NLP.tokenizer = FieldTokenizer(NLP.vocab)
TEXTS = [
    "Ada Lovelace met Charles in official London 1843.",
    "In Paris, Mary Shelley and Percy offered fiddles.",
    "Charles (Ada 2) went to florid Paris and London.",
]
SPANS = [
    [(0, 12, "PER"), (17, 24, "PER"), (37, 43, "LOC")],
    [(3, 8, "LOC"), (10, 22, "PER"), (27, 32, "PER")],
    [(0, 7, "PER"), (9, 12, "PER"), (31, 36, "LOC"), (41, 47, "LOC")],
]
PAIRS = [*zip(TEXTS, SPANS)]
TREE = {"@misc": "spacy_hosemi.hierarchy.v1"}

CONFIGS = [
    {},
    {"decoding": "mbr"},
    {"encoding": "BIO"},
    {"encoding": "IO"},
    {"scope": "sents"},
    {"collective": 0.5, "confidence": True},
    {"hierarchy": TREE},
    {"hierarchy": {**TREE, "exact_up_to": 0}},
    {"spans_key": "all", "spans_threshold": 0.01},
]


def set_starts(doc):
    """A sentence ends after each comma."""
    for token in doc:
        before = [x.text for x in doc[: token.i] if clean_word(x.text)]
        token.is_sent_start = not before or before[-1] in ",，"
    return doc


def example(text, spans, scope="doc"):
    doc = NLP.make_doc(text)
    if scope == "sents":
        set_starts(doc)
    return Example.from_dict(doc, {"entities": spans})


def make_pipe(**config):
    nlp = make_nlp(max_order=1, **config)
    pipe = nlp.get_pipe("hosemi")
    scope = config.get("scope", "doc")
    examples = [example(*pair, scope) for pair in PAIRS]
    fit = spacy.registry.resolve({"fit": lbfgs(max_iter=15)})["fit"]
    pipe.initialize(lambda: examples, nlp=nlp, fit=fit)
    return pipe


PIPES = {}


@pytest.fixture(params=CONFIGS, ids=str)
def pipe(request):
    key = str(request.param)
    if key not in PIPES:
        PIPES[key] = make_pipe(**request.param)
    return PIPES[key]


def moved(pair, name):
    """The characters of dirty text that each character of the clean one became."""
    text, _ = pair
    places = [(i, i + 1, "") for i in range(len(text))]
    dirty, found = dirtied((text, places), DIRT[name])
    return dirty, found


def read(pipe, text):
    doc = NLP.make_doc(text)
    return set_starts(doc) if pipe.scope == "sents" else doc


def in_characters(doc, spans):
    return [(doc[i].idx, doc[j - 1].idx + len(doc[j - 1]), y) for i, j, y in spans]


def ents(doc):
    return [(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents]


@pytest.mark.parametrize("name", DIRT)
def test_predictions(pipe, name):
    for pair in PAIRS:
        dirty, places = moved(pair, name)
        clean_doc, doc = pipe(read(pipe, pair[0])), pipe(read(pipe, dirty))
        assert doc.text == dirty
        assert ents(doc) == [
            (places[i][0], places[j - 1][1], label) for i, j, label in ents(clean_doc)
        ]
        assert clean_doc.ents
        p, q = ([x._.confidence for x in d.ents] for d in (clean_doc, doc))
        assert q == pytest.approx(p, abs=1e-9)
        p, q = ([x._.label_path for x in d.ents] for d in (clean_doc, doc))
        paths = [[x for x, _ in path] for path in p]
        assert [[x for x, _ in path] for path in q] == paths
        p, q = (d._.record_confidence for d in (clean_doc, doc))
        assert q == pytest.approx(p, abs=1e-9)
        if pipe.spans_key:
            groups = [d.spans[pipe.spans_key] for d in (clean_doc, doc)]
            scores = [[*group.attrs["scores"]] for group in groups]
            assert scores[1] == pytest.approx(scores[0], abs=1e-6)
            assert len(groups[0]) > len(clean_doc.ents)


@pytest.mark.parametrize("name", ["double spaces", "words divided at line ends"])
def test_other_answers(pipe, name):
    for pair in PAIRS:
        dirty, places = moved(pair, name)
        clean_doc, doc = read(pipe, pair[0]), read(pipe, dirty)
        assert pipe.entropy(doc) == pytest.approx(pipe.entropy(clean_doc))
        for one, other in zip(pipe.kbest(clean_doc, 3), pipe.kbest(doc, 3)):
            assert other.log_probability == pytest.approx(one.log_probability)
            assert in_characters(doc, other.spans) == [
                (places[i][0], places[j - 1][1], y)
                for i, j, y in in_characters(clean_doc, one.spans)
            ]
        rows, other_rows = pipe.to_rows(clean_doc, 2), pipe.to_rows(doc, 2)
        for key in ("confidence", "probability"):
            expected = [row[key] for row in rows]
            assert [row[key] for row in other_rows] == pytest.approx(expected)


@pytest.mark.parametrize(
    "config",
    [{}, {"outside": "token"}, {"hierarchy": {**TREE, "exact_up_to": 0}}],
    ids=str,
)
def test_marginals(config):
    """As summed over all segmentations of the words; whitespace is covered by a segment
    around it."""
    pipe = make_pipe(**config)
    doc = NLP.make_doc("\nAda  met\nCharles\n")
    found = pipe.marginals(doc)
    expected = np.zeros((len(doc), 3))
    everything = pipe.kbest(doc, 1000)
    for one in everything:
        covered = np.zeros(len(doc), int)
        for start, end, label in one.spans:
            covered[start:end] = 1 + pipe.labels.index(label)
        expected[range(len(doc)), covered] += one.probability
    np.testing.assert_allclose(found.tokens, expected, atol=1e-7)
    assert found.log_z == pipe.marginals(NLP.make_doc("Ada met Charles")).log_z
    for i in range(len(doc)):
        for j in range(i + 1, len(doc) + 1):
            span = (i, j, pipe.labels[0])
            p = sum(one.probability for one in everything if span in one.spans)
            assert found.segment(i, j, 1) == pytest.approx(p, abs=1e-9)
    above = {(i, j, y): p for i, j, y, p in found.segments_above(0.05) if y}
    assert above and all(found.segment(*x) == pytest.approx(above[x]) for x in above)


def test_features(pipe):
    clean_doc, doc = read(pipe, "Ada met Charles."), read(pipe, "Ada \n  met\nCharles.")
    clean = iter(pipe.token_features(clean_doc))
    for token, names in zip(doc, pipe.token_features(doc)):
        assert names == ([] if token.is_space else next(clean))


def test_corrections(pipe):
    """Spans of a user hold in tokens, also within a divided word."""
    doc = read(pipe, "Ada  Love-\nlace met   Char-\nles.")
    keep = [(0, 4, pipe.labels[0])]
    assert doc[0:4].text == "Ada  Love-"
    forbid = [(8, 9, None)]
    pipe.redecode(doc, keep=keep, forbid=forbid)
    assert triples(doc.ents)[0] == keep[0]
    assert doc.ents[0]._.confidence == 1.0
    assert all(ent[:2] != (8, 9) for ent in triples(doc.ents))


def test_existing_entities(pipe):
    """They stay, and nothing covers them or what is blocked."""
    doc = read(pipe, "Ada  met\n Charles in  Paris.")
    place = next(token.i for token in doc if token.text == "Paris")
    doc.set_ents(
        [Span(doc, 0, 3, "OTHER")],
        blocked=[doc[place : place + 1]],
        default="unmodified",
    )
    pipe(doc)
    assert triples(doc.ents)[0] == (0, 3, "OTHER")
    assert all(ent.end <= place for ent in doc.ents)
    clean = read(pipe, "Ada met Charles in Paris.")
    clean.set_ents(
        [Span(clean, 0, 2, "OTHER")], blocked=[clean[4:5]], default="unmodified"
    )
    assert [ent.text for ent in pipe(clean).ents[1:]] == [x.text for x in doc.ents[1:]]


@pytest.mark.parametrize("dirt", ["\n", "\u200b", "\n \u2060\n"])
@pytest.mark.parametrize("kind", ["entity", "blocked"])
@MANY_EXISTING
def test_existing_between_words(pipe, dirt, kind):
    """No span covers an entity without words, or a line break that is blocked."""
    for text in (f"met Ada {dirt} Lovelace", f"Ada{dirt}", f"{dirt}Ada"):
        doc = read(pipe, text)
        i = next(token.i for token in doc if not clean_word(token.text))
        place, expected = doc[i : i + 1], []
        everything = [x for one in pipe.kbest(doc, 50) for x in one.spans]
        assert text[0] != "m" or any(x[0] < i < x[1] for x in everything)
        if kind == "entity":
            doc.set_ents([Span(doc, i, i + 1, "OTHER")], default="unmodified")
            expected = [(i, i + 1, "OTHER")]
        else:
            doc.set_ents([], blocked=[place], default="unmodified")
        everything = [x for one in pipe.kbest(doc, 50) for x in one.spans]
        assert [x for x in everything if x[0] <= i < x[1] and x not in expected] == []
        pipe(doc)
        assert [x for x in triples(doc.ents) if x[0] <= i < x[1]] == expected
        assert doc.text == text


@pytest.mark.parametrize("text", ["Ada\u2060", "\u2060Ada", "Ada \u200b\u200b"])
def test_invisible_ends_of_kept_spans(pipe, text):
    doc = NLP.make_doc(text)
    for token in doc:
        token.is_sent_start = token.i == 0
    with pytest.raises(ValueError, match="HS095.*what cannot be seen"):
        pipe.redecode(doc, keep=[(0, len(doc), pipe.labels[0])])


fitted_in = cache(lambda scope: make_pipe(scope=scope))


@pytest.mark.parametrize("name", DIRT)
@pytest.mark.parametrize("scope", ["doc", "sents"])
def test_training(name, scope):
    """The same weights, batch and online, as with clean texts."""
    fitted = fitted_in(scope)
    clean, other = copy.deepcopy(fitted), copy.deepcopy(fitted)
    dirty = [example(*dirtied(pair, DIRT[name]), scope) for pair in PAIRS]
    examples = [example(*pair, scope) for pair in PAIRS]
    value, gradient = clean.value_and_gradient(examples)
    found, of_dirty = other.value_and_gradient(dirty)
    assert found == pytest.approx(value)
    np.testing.assert_allclose(of_dirty, gradient, atol=1e-9)
    sgd = NLP.create_optimizer()
    assert other.update(dirty, sgd=sgd) == pytest.approx(
        clean.update(examples, sgd=NLP.create_optimizer())
    )
    np.testing.assert_allclose(other.get_weights(), clean.get_weights(), atol=1e-6)


def test_gold_within_a_divided_word():
    """Is reached: the word is not joined there."""
    pipe = make_pipe()
    text = "Ada Love-\nlace met Mary."
    examples = [example(text, [(0, 8, "PER")])]
    value, _ = pipe.value_and_gradient(examples)
    assert np.isfinite(value)
    (doc,) = [eg.reference for eg in examples]
    assert [ent.text for ent in doc.ents] == ["Ada Love"]


LIST = {"@misc": "spacy_hosemi.gazetteer.v1"}
ATTRS = ["ALNUM", "ORTH", "LOWER", "NORM"]
WORDS = "official", "Lovelace", "Café", "London", "1843", "a b"


@cache
def with_entries(entries, attr, **config):
    """Lists and a table with these entries; nothing else is read."""
    lists = {"x": {**LIST, "attr": attr}, "y": {**LIST, "attr": attr, "fuzzy": {}}}
    tables = {"z": {"@misc": "spacy_hosemi.table.v1", "attr": "ORTH"}}
    model = {"gazetteers": lists, "tables": tables}
    nlp = make_nlp(features={"preset": "none"}, model=model, **config)
    nlp.tokenizer = FieldTokenizer(nlp.vocab)
    pipe = nlp.get_pipe("hosemi")
    rows = [(word, f"is {k}") for k, word in enumerate(entries)]
    readers = {"gazetteers": dict.fromkeys("xy", lambda: entries)}
    readers["tables"] = {"z": lambda: rows}
    pipe.initialize(lambda: [example(*pair) for pair in PAIRS], nlp=nlp, **readers)
    return pipe


def kept(pipe):
    extractor = pipe.weights.extractor
    data = [extractor.gazetteers.to_dict(), extractor.tables.to_dict()]
    return srsly.msgpack_dumps(data)


@pytest.mark.parametrize("attr", ATTRS)
@pytest.mark.parametrize("name", DIRT)
def test_entries_are_read_as_texts_are(name, attr):
    """Lists and tables with dirt are those without."""
    dirty = tuple(moved((word, []), name)[0] for word in WORDS)
    assert kept(with_entries(dirty, attr)) == kept(with_entries(WORDS, attr))


@pytest.mark.parametrize("attr", ATTRS)
@pytest.mark.parametrize(
    "text", ["an official in London", "an o\u200bﬃcial in  Ｌondon"]
)
def test_dirty_entries_match(attr, text):
    pipe = with_entries(("Ｌｏｎｄｏｎ", "of\xadﬁcial", "New\xa0Lon-\ndon"), attr)
    doc = NLP.make_doc(text)
    for found in find_entries(pipe, "x", doc), find_similar(pipe, "y", doc):
        assert {"official", "London"} <= {clean_word(x.text) for x in found}
    names = {x for names in pipe.token_features(doc) for x in names}
    assert {f"z:VALUE=is {k}" for k in (0, 1)} <= names


def test_entries_as_they_are():
    """Without clean_text, as before."""
    dirty = with_entries(("ｌｏｎｄｏｎ",), "LOWER", clean_text=False)
    assert not find_entries(dirty, "x", NLP.make_doc("london"))
    assert find_entries(dirty, "x", NLP.make_doc("ｌｏｎｄｏｎ"))
    texts = dirty.weights.extractor.texts(make_doc(NLP, "ｌｏｎｄｏｎ", "london"))
    assert texts["z:VALUE"] == ["is 0", None]


def test_raw():
    """Without clean_text whitespace is a token like others."""
    pipe = make_pipe(clean_text=False)
    doc = NLP.make_doc("Ada  met")
    assert pipe.marginals(doc).tokens.shape == (3, 3)
    assert all(pipe.token_features(doc))
    with pytest.raises(ValueError, match="HS150.*clean_text"):
        pipe.clean_text = True


@pytest.mark.parametrize("is_dropped", [False, True])
@pytest.mark.parametrize("config", [{}, {"hierarchy": TREE}, {"encoding": "BIO"}])
def test_confidences_are_computed_when_they_are_read(config, is_dropped, monkeypatch):
    """Also of a document with dirt: from what the prediction left of its words, or
    anew, with the weights of then; the same bits as with the prediction."""
    pipe = make_pipe(**config)
    texts = [TEXTS[0].replace(" ", "\n "), TEXTS[1], TEXTS[2].replace(" ", "\xa0")]

    def answers(docs):
        paths = [[ent._.label_path for ent in doc.ents] for doc in docs]
        return paths, [doc._.record_confidence for doc in docs]

    pipe.confidence = True
    expected = answers([*pipe.pipe(map(NLP.make_doc, texts))])
    pipe.confidence = False
    if is_dropped:
        monkeypatch.setattr(CACHE, "max_bytes", 0)
    docs = [*pipe.pipe(map(NLP.make_doc, texts))]
    assert all(record["whole"] is None for record in map(record_of, docs))
    pipe.set_weights(pipe.get_weights() * 0.5)
    assert answers(docs) == expected
    assert all(expected[0])


def test_memory_of_clean_words_counts():
    pipe, n_bytes, docs = make_pipe(confidence=False), [], []
    for text in (TEXTS[0], "\u200b" + TEXTS[0]):
        before = CACHE.n_bytes
        docs.append(pipe(NLP.make_doc(text)))
        n_bytes.append(CACHE.n_bytes - before)
    # The first and the last token of each word: two numbers in two lists.
    assert n_bytes[1] == n_bytes[0] + len(docs[0]) * 2 * (8 + 28)


def record_of(doc):
    ((_, _, by_name),) = find_records(doc)
    return by_name["hosemi"]


def test_nothing_but_dirt(pipe):
    for text in ("", " ", "\n\u200b", "\ufeff"):
        doc = pipe(read(pipe, text))
        assert doc.text == text and not doc.ents
        assert pipe.kbest(doc, 2)[0].spans == []
        assert pipe.entropy(doc) == 0.0


def test_many_documents(pipe):
    """Clean and dirty ones in one batch, in order."""
    texts = [TEXTS[0], TEXTS[1].replace(" ", "  "), "", TEXTS[2], "\n"]
    alone = [pipe(read(pipe, text)) for text in texts]
    together = [*pipe.pipe(read(pipe, text) for text in texts)]
    assert [ents(doc) for doc in together] == [ents(doc) for doc in alone]
    assert isinstance(together[0], Doc)
