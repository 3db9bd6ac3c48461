"""The record in a document, and the memory of its last prediction: what spaCy does with
documents, how much is held, and for how long."""

import gc
import pickle
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

from spacy_hosemi.core import Potentials
from spacy_hosemi.labels.inventory import LabelInventory
from spacy_hosemi.prediction.batch import Batch
from spacy_hosemi.prediction.posterior import Posterior
from spacy_hosemi.prediction.posterior_cache import CACHE, PosteriorCache
from spacy_hosemi.prediction.predictions import Prediction, Predictions

from ..helpers import initialize, make_nlp, make_trained, randomize, remembered

TEXT = "Ada Lovelace wrote to Charles Babbage."
OTHER = "She met Ada in Paris."


@pytest.fixture(scope="module")
def nlp():
    return make_trained()


def read(doc):
    return [ent._.confidence for ent in doc.ents]


def posteriors(nlp, text):
    """What the component computes with each prediction, without any memory of it."""
    pipe = nlp.get_pipe("hosemi")
    pipe.confidence = True
    try:
        return read(nlp(text))
    finally:
        pipe.confidence = False


@pytest.mark.parametrize("is_read", [False, True])
def test_from_docs(nlp, is_read):
    docs = [nlp(TEXT), nlp.make_doc("Nobody."), nlp(OTHER)]
    expected = [p for text in (TEXT, OTHER) for p in posteriors(nlp, text)]
    if is_read:
        for doc in docs:
            read(doc)
    joined = Doc.from_docs(docs)
    assert read(joined) == (expected if is_read else [None] * len(expected))
    # Predicted again, it has one record: that of the whole.
    assert None not in read(nlp.get_pipe("hosemi")(joined))


@pytest.mark.parametrize("is_read", [False, True])
def test_as_doc(nlp, is_read):
    doc = nlp(TEXT)
    expected = posteriors(nlp, TEXT)
    if is_read:
        read(doc)
    part = doc[3:].as_doc(copy_user_data=True)
    assert [ent.text for ent in part.ents] == ["Charles Babbage"]
    assert read(part) == (expected[1:] if is_read else [None])
    whole = doc[:].as_doc(copy_user_data=True)
    assert read(whole) == expected  # the same text: the component can say it


CUTS = {
    "reversed": lambda a, b: Doc.from_docs([b, a]),
    "no space between": lambda a, b: Doc.from_docs([a, b], ensure_whitespace=False),
    "twice": lambda a, b: Doc.from_docs([Doc.from_docs([a, a]), b]),
    "few attributes": lambda a, b: Doc.from_docs([a, b], attrs=["ENT_IOB", "ENT_TYPE"]),
    "no user data": lambda a, b: Doc.from_docs([a, b], exclude=["user_data"]),
    "within a span": lambda a, b: a[1:].as_doc(copy_user_data=True),
    "of both": lambda a, b: Doc.from_docs([a, b])[2:-1].as_doc(copy_user_data=True),
    "an empty one": lambda a, b: Doc.from_docs([a[:0].as_doc(), a, b]),
}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("is_read", [False, True])
def test_parts_and_joins_are_never_wrong(nlp, cut, is_read):
    """The right value, or None; of text that was read before, the right one."""
    texts = TEXT, OTHER
    docs, right = [*map(nlp, texts)], [p for x in texts for p in posteriors(nlp, x)]
    right = dict(zip([ent.text for doc in docs for ent in doc.ents], right))
    if is_read:
        [*map(read, docs)]
    doc = CUTS[cut](*docs)
    for ent, p in zip(doc.ents, read(doc), strict=True):
        assert p in (right.get(ent.text), None)
        assert p is not None or not is_read or cut == "no user data"


@pytest.mark.parametrize("is_read", [False, True])
@pytest.mark.parametrize("vocab", ["same", "other"])
def test_doc_bin(nlp, is_read, vocab):
    doc = nlp(TEXT)
    expected = posteriors(nlp, TEXT)
    if is_read:
        read(doc)
    data = DocBin(docs=[doc, nlp(OTHER)], store_user_data=True).to_bytes()
    vocab = nlp.vocab if vocab == "same" else Vocab()
    copy, _ = DocBin(store_user_data=True).from_bytes(data).get_docs(vocab)
    assert read(copy) == pytest.approx(expected)


def test_copies(nlp):
    doc = nlp(TEXT)
    expected = posteriors(nlp, TEXT)
    copies = [
        Doc(nlp.vocab).from_bytes(doc.to_bytes()),
        pickle.loads(pickle.dumps(doc)),
        doc.copy(),
    ]
    assert [read(copy) for copy in copies] == [expected] * 3
    read(doc)
    assert read(doc.copy()) == expected
    assert [ent["label"] for ent in doc.to_json()["ents"]] == ["PER", "PER"]
    assert read(Doc(nlp.vocab).from_json(doc.to_json())) == [None, None]


@pytest.mark.parametrize("encoding", ["segments", "BIO"])
@pytest.mark.parametrize("is_read", [False, True])
def test_retokenized(encoding, is_read):
    nlp = make_trained(encoding=encoding)
    doc, expected = nlp(TEXT), posteriors(nlp, TEXT)
    if is_read:
        read(doc)
    with doc.retokenize() as retokenizer:
        for ent in doc.ents:
            retokenizer.merge(ent)
    assert read(doc) == expected
    doc = nlp(TEXT)
    with doc.retokenize() as retokenizer:
        retokenizer.split(doc[2], ["wr", "ote"], heads=[doc[1], doc[1]])
    assert read(doc) == expected


def test_without_a_warning(nlp):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        docs = [nlp(TEXT), nlp(OTHER)]
        joined = Doc.from_docs(docs)
        joined[1:].as_doc(copy_user_data=True).to_json()
        DocBin(docs=[joined], store_user_data=True).to_bytes()


def test_the_record_is_small():
    nlp = make_trained()
    words = "Ada Lovelace wrote to Charles Babbage in London .".split() * 3
    doc = Doc(nlp.vocab, words=words[:25])
    for i, token in enumerate(doc):
        token.is_sent_start = i % 9 == 0
    pipe = nlp.get_pipe("hosemi")
    doc = pipe(doc)
    assert len(doc.ents) == 8
    without = doc.copy()
    without.user_data = {}
    bare = len(without.to_bytes())
    assert len(doc.to_bytes()) - bare < 1024
    read(doc)
    assert len(doc.to_bytes()) - bare < 1024


def test_of_a_loaded_pipeline_that_is_gone(nlp, tmp_path):
    nlp.to_disk(tmp_path)
    gc.collect()
    assert spacy.load(tmp_path)(TEXT).ents[0]._.confidence > 0.5
    doc = spacy.load(tmp_path)(TEXT)
    gc.collect()
    assert read(doc) == posteriors(nlp, TEXT)
    saved = spacy.load(tmp_path)(TEXT).to_bytes()
    gc.collect()
    assert read(Doc(Vocab()).from_bytes(saved)) == [None, None]


# --- with which weights -----------------------------------------------------------


@pytest.mark.parametrize("is_dropped", [False, True])
@pytest.mark.parametrize("sents", [False, True])
def test_a_later_state_has_no_say(is_dropped, sents, monkeypatch):
    nlp = make_nlp(scope="sents" if sents else "doc")
    if sents:
        nlp.add_pipe("sentencizer", before="hosemi")
        nlp.config["training"]["annotating_components"] = ["sentencizer"]
    initialize(nlp)
    pipe = nlp.get_pipe("hosemi")
    randomize(pipe, seed=3)
    expected = posteriors(nlp, TEXT)
    assert expected
    if is_dropped:
        monkeypatch.setattr(CACHE, "max_bytes", 0)
    doc, other = nlp(TEXT), nlp(TEXT)
    copy = other.copy()
    randomize(pipe, seed=4)
    assert read(doc) == pytest.approx(expected, abs=1e-12)
    pipe.temperature = 3.0
    pipe.add_label("NEW")
    assert read(other) == pytest.approx(expected, abs=1e-12)
    assert read(copy) == [None] * len(expected)


# --- memory -----------------------------------------------------------------------


class Decoder:
    """Makes batches of arrays, whose size stands for probabilities."""

    tree = automaton = None

    def __init__(self, *sizes):
        self.inventory, self.sizes, self.n_times = LabelInventory(["A"]), sizes, 0

    def batch(self, docs):
        none = np.zeros((0, 0))
        scores = [
            Potentials(*[none] * 5, np.zeros(size, "u1"), none) for size in self.sizes
        ]
        return Batch(self, docs, scores, range(len(docs) + 1))

    def posterior(self, doc):
        self.n_times += 1
        return Posterior(self.batch([doc]), 0)


@pytest.fixture(autouse=True)
def sizes_for_paths(request, monkeypatch):
    """Posteriors of a `Decoder` say the size of arrays instead of a probability."""
    paths = Posterior.paths

    def sizes(self, spans):
        if not isinstance(self.batch.source, Decoder):
            return paths(self, spans)
        (k,) = self.rows
        n_bytes = self.batch.potentials[k].cells.nbytes
        return [[(span[2], n_bytes)] for span in spans]

    monkeypatch.setattr(Posterior, "paths", sizes)


SPANS, OTHER_TOKENS = [(0, 1, "A")], {"tokens": -1}


def store(cache, docs, *sizes, name="x"):
    decoder = Decoder(*sizes)
    batch = decoder.batch(docs)
    rows = [
        Prediction(SPANS, None, posterior=Posterior(batch, d)) for d in range(len(docs))
    ]
    cache.store(name, docs, Predictions.of(rows))
    return decoder


def test_the_oldest_go_first():
    cache = PosteriorCache(max_bytes=100)
    docs = [Doc(Vocab(), words=["a"]) for _ in range(4)]
    decoders = [store(cache, [doc], 40) for doc in docs]
    assert (cache.n_bytes, len(cache)) == (80, 4)
    for doc in docs:
        assert remembered(cache, "x", doc) == (SPANS, [[("A", 40)]])
    assert [decoder.n_times for decoder in decoders] == [1, 1, 0, 0]
    assert remembered(cache, "x", docs[0], OTHER_TOKENS) is None
    assert remembered(cache, "y", docs[0]) is None
    store(cache, docs[:1], 10)
    assert cache.n_bytes == 90
    cache.drop("x", docs[:1])
    cache.drop("x", docs[:1])
    assert cache.n_bytes == 80


def test_documents_that_were_predicted_together():
    cache = PosteriorCache(max_bytes=100)
    docs = [Doc(Vocab(), words=["a"]) for _ in range(3)]
    store(cache, docs, 10, 20, 30)
    assert (cache.n_bytes, len(cache)) == (60, 3)
    del docs[1:]
    assert (cache.n_bytes, len(cache)) == (60, 1)  # they share arrays
    assert remembered(cache, "x", docs[0], OTHER_TOKENS) == (SPANS, [[("A", 10)]])
    del docs
    assert (cache.n_bytes, len(cache)) == (0, 0)


def test_one_that_is_too_large_is_computed_again():
    cache = PosteriorCache(max_bytes=100)
    doc = Doc(Vocab(), words=["a"])
    store(cache, [doc], 101)
    assert cache.n_bytes == 0
    assert remembered(cache, "x", doc) == (SPANS, [[("A", 101)]])


def test_documents_are_not_kept_and_what_was_read_is_dropped(nlp):
    gc.collect()
    n, n_bytes = len(CACHE), CACHE.n_bytes
    docs = [nlp(TEXT) for _ in range(10)]
    assert (len(CACHE), CACHE.n_bytes > n_bytes) == (n + 10, True)
    weak = [weakref.ref(doc) for doc in docs]
    del docs
    assert [x() for x in weak] == [None] * 10  # by reference counts alone
    assert (len(CACHE), CACHE.n_bytes) == (n, n_bytes)
    doc = nlp(TEXT)
    assert CACHE.n_bytes > n_bytes
    expected, whole = read(doc), doc._.record_confidence
    assert CACHE.n_bytes == n_bytes
    assert (read(doc), doc._.record_confidence) == (expected, whole)


def test_threads():
    cache, vocab = PosteriorCache(max_bytes=2000), Vocab()

    def work(seed):
        docs = []
        for i in range(300):
            doc = Doc(vocab, words=["a"])
            store(cache, [doc], seed + 1, name=f"x{i % 2}")
            docs = [*docs[-20:], doc]
            for one in docs[::5]:
                for name in ("x0", "x1"):
                    found = remembered(cache, name, one)
                    assert found in (None, (SPANS, [[("A", seed + 1)]]))
            if i % 7 == 0:
                cache.drop("x0", docs[:1])

    with ThreadPoolExecutor(8) as threads:
        [*threads.map(work, range(8))]
    gc.collect()
    assert (len(cache), cache.n_bytes) == (0, 0)


def test_reading_while_others_predict_and_train():
    nlp = make_trained()
    pipe = nlp.get_pipe("hosemi")
    expected = {text: posteriors(nlp, text) for text in (TEXT, OTHER)}
    docs = [nlp(text) for text in (TEXT, OTHER) * 50]

    def reader(some):
        for doc in some:
            assert read(doc) == pytest.approx(expected[doc.text], abs=1e-12)

    def writer():
        for i in range(20):
            pipe.set_weights((1 - i / 40) * pipe.get_weights())
            nlp(TEXT)

    with ThreadPoolExecutor(5) as threads:
        readers = threads.map(reader, [docs[i::4] for i in range(4)])
        threads.submit(writer).result()
        assert len([*readers]) == 4


def test_a_preset_entity_of_another_component(nlp):
    doc = nlp.make_doc(TEXT)
    doc.ents = [Span(doc, 2, 3, "VERB")]
    assert [p is None for p in read(nlp(doc))] == [False, True, False]
