"""spacy_hosemi.extract: texts in, a table of Arrow out."""

import json
import sys
import tracemalloc
from itertools import count, islice

import numpy as np
import pytest
import spacy
from spacy.attrs import NORM
from spacy.language import Language
from spacy.tokens import Doc

import spacy_hosemi
from spacy_hosemi import use_field_tokenizer
from spacy_hosemi.component import chunks
from spacy_hosemi.component.extraction import ReviewMarks, extract_records
from spacy_hosemi.component.fingerprint import fingerprint
from spacy_hosemi.formats.lines import Line
from spacy_hosemi.prediction.guarantee import Guarantee, Usual
from spacy_hosemi.training import rows

from .cli.test_parse import fails_on_nobody
from .helpers import MANY_EXISTING, UNTRAINED, make_nlp, make_trained

pa = pytest.importorskip("pyarrow")
from spacy_hosemi import arrow, extract  # noqa: E402

TEXTS = (
    "Ada Lovelace wrote to Charles Babbage.",
    "",
    "Nobody was there.",
    "She met Łukasz in Paris 😀, and Ada.",
    " \n Ada\u00ad Love-\nlace  and e\u0301 🏴‍☠️ Mary\u200b Somerville\n",
)
SPAN = ("start_char", "end_char", "label", "text", "confidence")


@pytest.fixture(scope="module")
def nlp():
    return make_trained()


def expected(nlp, text):
    """A row as `nlp(text)` has it, but for its id."""
    doc = nlp(text)
    spans = [
        dict(zip(SPAN, (x.start_char, x.end_char, x.label_, x.text, x._.confidence)))
        for x in doc.ents
    ]
    return {"record_confidence": doc._.record_confidence, "spans": spans, "error": None}


def without_ids(table):
    assert table.column_names[0] == "doc_id"
    return table.drop_columns(["doc_id"]).to_pylist()


def test_schema(nlp):
    table = extract(nlp, TEXTS)
    span = {"start_char": pa.int32(), "end_char": pa.int32(), "label": pa.string()}
    span |= {"text": pa.string(), "confidence": pa.float64()}
    first = {"doc_id": pa.int64(), "record_confidence": pa.float64()}
    columns = {**first, "spans": pa.list_(pa.struct(span)), "error": pa.string()}
    assert table.schema.equals(pa.schema(columns))
    why = b"the tokenizer is not spacy_hosemi.FieldTokenizer.v1"
    assert table.schema.metadata == {arrow.WAY: b"pipeline", arrow.WHY: why}
    for some in ([], iter(()), [None]):
        assert extract(nlp, some).schema.equals(table.schema, check_metadata=True)
    exploded = pa.schema({**first, **span, "error": pa.string()})
    for some in ([], TEXTS, [None]):
        assert extract(nlp, some, explode=True).schema.equals(exploded)
    table.validate(full=True)


@pytest.mark.parametrize("clean_text", [True, False])
def test_rows_are_what_the_pipeline_says(clean_text):
    nlp = make_trained(clean_text=clean_text)
    table = extract(nlp, TEXTS)
    assert without_ids(table) == [expected(nlp, text) for text in TEXTS]
    assert table.column("doc_id").to_pylist() == [*range(len(TEXTS))]
    found = [row["spans"] for row in table.to_pylist()]
    assert sum(map(len, found)) > 4
    for text, spans in zip(TEXTS, found, strict=True):
        for span in spans:
            assert text[span["start_char"] : span["end_char"]] == span["text"]


def test_the_way_without_documents(monkeypatch):
    nlp = make_trained(nlp=use_field_tokenizer(spacy.blank("en")))
    rows = [expected(nlp, text) for text in TEXTS]
    table = extract(nlp, TEXTS)
    assert table.schema.metadata == {arrow.WAY: b"direct"}
    assert without_ids(table) == rows
    monkeypatch.setattr(chunks, "obstacle", lambda nlp: "a test")
    assert extract(nlp, TEXTS).equals(table)


@pytest.mark.parametrize("way", ["direct", "pipeline"])
def test_a_guarantee_reports_of_the_texts(way, monkeypatch):
    nlp = make_trained(nlp=use_field_tokenizer(spacy.blank("en")))
    if way == "pipeline":
        monkeypatch.setattr(chunks, "obstacle", lambda nlp: "a test")
    assert arrow.REPORT not in extract(nlp, TEXTS).schema.metadata
    pipe, texts = nlp.get_pipe("hosemi"), [*TEXTS, None] * 20
    digest = fingerprint(pipe)
    for limit, has_drifted in ((0.0, False), (1.0, True)):
        usual = Usual(limit, 25 - 25 * (limit == 0), 100)
        pipe.guarantee = Guarantee(0.1, 0.1, digest, 100, 50, 0.01, usual=usual)
        report = json.loads(
            extract(nlp, texts, explode=True).schema.metadata[b"spacy_hosemi.report"]
        )
        lines = (Line("", 0, x, k) for k, x in enumerate(texts) if x is not None)
        marks = ReviewMarks(pipe.guarantee, facts=pipe.facts)
        verdicts = [
            x.verdict
            for x in marks.mark(extract_records(nlp, pipe, lines, fails_on_nobody))
        ]
        assert report == marks.report() and report["texts"] == 100
        assert report["n_accepted"] == verdicts.count("accept")
        assert report["drift"]["has_drifted"] == has_drifted
    pipe.decoding = "mbr"
    with pytest.warns(UserWarning, match="HSW73"):
        assert arrow.REPORT not in extract(nlp, TEXTS).schema.metadata


@pytest.mark.parametrize("config", [{"decoding": "mbr"}, {"min_confidence": 0.9}])
def test_settings_hold(config):
    nlp = make_trained(**config)
    pipe = nlp.get_pipe("hosemi")
    before = pipe.settings
    for confidence in (True, False):
        pipe.confidence = confidence
        found = extract(nlp, TEXTS, threads=2)
        assert without_ids(found) == [expected(nlp, text) for text in TEXTS]
        assert (pipe.threads, pipe.confidence) == (1, confidence)
    assert pipe.settings == before


def test_trees(nlp):
    tree = {"@misc": "spacy_hosemi.hierarchy.v1", "separator": "_"}
    marked = ["[who_PER Ada] wrote.", "[who_ORG Acme] wrote.", "Nobody read."]
    for settings in ({}, {"exact_up_to": 0}):
        nlp = make_trained(marked, hierarchy={**tree, **settings}, min_confidence=0.75)
        table = extract(nlp, ["Mary wrote.", "Acme wrote."])
        rows = [expected(nlp, text) for text in ("Mary wrote.", "Acme wrote.")]
        assert without_ids(table) == rows
        assert table.column("spans")[0].as_py()[0]["label"] == "who"


def test_threads_and_chunks_change_nothing(nlp, monkeypatch):
    texts = [f"{text} {i}" for i, text in enumerate(TEXTS * 30)] + [None]
    table = extract(nlp, texts)
    for n_threads in (2, 3):
        assert extract(nlp, texts, threads=n_threads).equals(table)
    sizes = (
        (chunks, "CHUNK", 7),
        (chunks, "CHUNK_CHARS", 50),
        (chunks, "N_CHUNKS", 2),
        (arrow, "_ROWS", 3),
        (arrow, "_CHARS", 50),
        (arrow, "_SLICE", 2),
    )
    exploded = extract(nlp, texts, explode=True)
    for module, name, size in sizes:
        monkeypatch.setattr(module, name, size)
        assert extract(nlp, pa.array(texts)).equals(table)
        assert extract(nlp, texts, explode=True).equals(exploded)


@pytest.mark.parametrize(
    "ids, kind",
    [
        ([7, 7, -1, 2**40, 0], pa.int64()),
        (["a", "b", "a", None, "😀"], pa.string()),
        ((1.5, 2.0, 3.0, 4.0, 5.0), pa.float64()),
        (pa.array([1, 2, 3, 4, 5], pa.uint8()), pa.uint8()),
        (pa.chunked_array([["x"], ["y", "z", "x", "x"]]), pa.string()),
        (pa.array(["x", "y", "z", "x", "x"]).dictionary_encode(), None),
        (range(5), pa.int64()),
        # Arrow cannot take rows from these.
        (pa.array(["x", "y", None, "x", "x"], pa.string_view()), None),
        (pa.chunked_array([[b"x"], [b"y"] * 4], pa.binary_view()), None),
        (pa.array([["x"], [], ["y"], None, []], pa.list_(pa.string_view())), None),
        (
            pa.RunEndEncodedArray.from_arrays(pa.array([2, 5], "int16"), ["x", "y"]),
            None,
        ),
    ],
)
@pytest.mark.parametrize("is_stream", [False, True])
def test_ids(nlp, ids, kind, is_stream):
    values = ids.to_pylist() if hasattr(ids, "to_pylist") else [*ids]
    if is_stream and not hasattr(ids, "to_pylist"):
        ids = iter(ids)
    kind = kind or ids.type
    table = extract(nlp, iter(TEXTS) if is_stream else TEXTS, ids=ids)
    assert table.column("doc_id").type == kind
    assert table.column("doc_id").to_pylist() == values
    assert without_ids(table) == without_ids(extract(nlp, TEXTS))
    exploded = extract(nlp, TEXTS, ids=ids if not is_stream else values, explode=True)
    n_rows = [max(1, len(spans)) for spans in table.column("spans").to_pylist()]
    assert is_stream or exploded.column("doc_id").type == kind
    ids = [value for value, n in zip(values, n_rows, strict=True) for _ in range(n)]
    assert exploded.column("doc_id").to_pylist() == ids


def test_columns_of_pandas(nlp):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": TEXTS, "key": [*"abcde"]}, index=range(5, 10))
    table = extract(nlp, frame["text"], ids=frame["key"])
    assert table.column("doc_id").to_pylist() == [*"abcde"]
    assert without_ids(table) == without_ids(extract(nlp, TEXTS))
    frame.loc[6, "text"] = None
    errors = extract(nlp, frame["text"]).column("error").to_pylist()
    assert [x is not None for x in errors] == [False, True, False, False, False]


@pytest.mark.parametrize(
    "texts",
    [
        pa.array(TEXTS),
        pa.array(TEXTS, pa.large_string()),
        pa.array(TEXTS).dictionary_encode(),
        pa.chunked_array([TEXTS[:2], [], TEXTS[2:]]),
        iter(TEXTS),
        dict.fromkeys(TEXTS).keys(),
        np.array(TEXTS),
        np.array(TEXTS, object),
    ],
)
def test_texts_of_any_kind(nlp, texts):
    assert extract(nlp, texts).equals(extract(nlp, TEXTS))


def test_what_is_no_text_has_an_error(nlp):
    texts = [None, "Ada met Mary.", 3, b"Ada", None, "Ada", float("nan")]
    found = extract(nlp, texts, ids=range(1, 8)).to_pylist()
    assert [row["doc_id"] for row in found] == [*range(1, 8)]
    assert [row["error"] for row in found] == [
        None if isinstance(x, str) else f"The text is {name}; expected a string"
        for x, name in zip(texts, ["null", "", "int", "bytes", "null", "", "float"])
    ]
    for row, text in zip(found, texts, strict=True):
        if isinstance(text, str):
            assert row["record_confidence"] > 0
        else:
            assert row["spans"] == [] and row["record_confidence"] is None
    column = pa.array([None, "Ada", None])
    errors = extract(nlp, column).column("error").to_pylist()
    assert [x is None for x in errors] == [False, True, False]
    assert extract(nlp, pa.nulls(2)).column("error").null_count == 0


@pytest.mark.parametrize("is_encoded", [False, True])
@pytest.mark.parametrize("slice_", [1, 2, 1000])
def test_texts_that_are_not_utf8(nlp, is_encoded, slice_, monkeypatch):
    monkeypatch.setattr(arrow, "_SLICE", slice_)
    texts = pa.array([b"Ada met Mary.", b"\xff Ada", None, b"Ada", b"a\xc3"])
    texts = pa.StringArray.from_buffers(5, *texts.buffers()[1:], texts.buffers()[0])
    if is_encoded:
        texts = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, 4]), texts)
    table = extract(nlp, texts)
    no_text = [f"The text is {x}; expected a string" for x in ("not UTF-8", "null")]
    errors = [None, no_text[0], no_text[1], None, no_text[0]]
    assert table.column("error").to_pylist() == errors
    spans = extract(nlp, ["Ada met Mary.", "Ada"]).column("spans").to_pylist()
    assert table.take([0, 3]).column("spans").to_pylist() == spans


def test_explode(nlp):
    texts = ["She met Ada in Paris.", "Nobody was there.", None, "Ada Lovelace"]
    table = extract(nlp, texts, ids=[*"abcd"])
    exploded = extract(nlp, texts, ids=[*"abcd"], explode=True).to_pylist()
    rows = []
    for row in table.to_pylist():
        spans = row.pop("spans")
        rows += [{**row, **span} for span in spans or [dict.fromkeys(SPAN)]]
    assert exploded == rows
    assert [row["doc_id"] for row in rows] == [*"aabcd"]
    assert [row["label"] for row in rows] == ["PER", "LOC", None, None, "PER"]
    assert [row["error"] is None for row in rows] == [True, True, True, False, True]


class LosesNobody:
    """A stream that leaves out a document, and stops at another one."""

    def __call__(self, doc):
        return doc

    def pipe(self, stream, batch_size):
        for doc in stream:
            if "stop" in doc.text:
                raise RuntimeError("stopped")
            if "Nobody" not in doc.text:
                yield doc


@Language.component("copies")
def copies(doc):
    """Another document: spaCy forgets what it belongs to."""
    words, spaces = [x.text for x in doc], [bool(x.whitespace_) for x in doc]
    return Doc(doc.vocab, words=words, spaces=spaces)


class FailsForBatches:
    """As components of spaCy do, it reports a whole batch if one document fails."""

    def __init__(self):
        self.error_handler = None

    def set_error_handler(self, handler):
        self.error_handler = handler

    def get_error_handler(self):
        return self.error_handler

    def __call__(self, doc):
        return fails_on_nobody(doc)

    def pipe(self, stream, batch_size):
        docs = [*stream]
        try:
            yield from [self(doc) for doc in docs]
        except RuntimeError as e:
            self.error_handler("batches", self, docs, e)


Language.factory("loses_nobody", func=lambda nlp, name: LosesNobody())
Language.factory("fails_for_batches", func=lambda nlp, name: FailsForBatches())


NOT_BACK = "The pipeline failed"


@pytest.fixture
def own(nlp):
    """A pipeline that a test may change."""
    other = spacy.util.load_model_from_config(nlp.config)
    return other.from_bytes(nlp.to_bytes())


@pytest.mark.parametrize(
    "name, message",
    [
        ("fails_on_nobody", "fails_on_nobody failed: RuntimeError: nobody is here"),
        ("fails_for_batches", "batches failed: RuntimeError: nobody is here"),
        ("loses_nobody", f"{NOT_BACK}: no component has given the document back"),
        ("copies", None),  # it makes documents
    ],
)
@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_text_that_fails(nlp, own, name, message, n_threads):
    own.add_pipe(name, first=True)
    rows = [expected(nlp, text) for text in TEXTS]
    if message is not None:
        rows[2] = {"record_confidence": None, "spans": [], "error": message}
    assert without_ids(extract(own, TEXTS, threads=n_threads)) == rows


def test_a_stream_that_stops(nlp, own):
    own.add_pipe("loses_nobody", first=True)
    texts = [*TEXTS, "stop", *TEXTS]
    found = without_ids(extract(own, texts))
    assert found[5]["error"] == "The pipeline failed: RuntimeError: stopped"
    assert [row["error"] is None for row in found].count(True) == 8
    assert found[6] == found[0] == expected(nlp, TEXTS[0])


def test_a_tokenizer_that_fails(nlp, own):
    own.max_length = 20
    found = extract(own, ["Ada met Mary.", "Ada " * 10, "Ada\ud800", "Ada"])
    one, long, half, two = found.column("error").to_pylist()
    assert one is two is None
    assert long.startswith("The tokenizer failed: ValueError: [E088]")
    assert half.startswith("The tokenizer failed: UnicodeEncodeError: ")


def test_impossible_segmentations_are_errors():
    marked = ["[PER Ada] [LOC Paris]", "[PER Mary] [LOC London]"]
    rules = ["PER at most once", "LOC at most once"]
    nlp = make_trained(marked, outside="none", label_rules=rules, max_length=1)
    rows = extract(nlp, ["Ada", "Paris London Rome", "Mary"]).to_pylist()
    assert [row["error"] is None for row in rows] == [True, False, True]
    assert rows[1]["error"].startswith("hosemi failed: ValueError: [HS060]")


def test_error_handlers_stay(own):
    component = own.add_pipe("fails_for_batches", first=True)
    own.add_pipe("fails_on_nobody", last=True)

    def handler(name, component, docs, error):
        raise AssertionError

    own.set_error_handler(handler)
    handlers = [own.get_pipe("hosemi").get_error_handler(), component.error_handler]
    assert extract(own, TEXTS).column("error").null_count == len(TEXTS) - 1
    assert own.default_error_handler is handler
    pipe = own.get_pipe("hosemi")
    after = [pipe.get_error_handler(), component.error_handler]
    assert handlers == after == [handler, handler]


def test_ctrl_c_leaves_the_pipeline_as_it_was(own):
    def texts():
        yield from TEXTS
        raise KeyboardInterrupt

    handler = own.default_error_handler
    with pytest.raises(KeyboardInterrupt):
        extract(own, texts())
    assert own.default_error_handler is handler and not own.vocab.in_memory_zone
    assert [ent.text for ent in own("Ada Lovelace wrote.").ents] == ["Ada Lovelace"]


def test_words_are_forgotten_and_documents_stay(own, monkeypatch):
    monkeypatch.setattr(chunks, "N_CHUNKS", 1)
    doc = own("Ada met Grundlagen.")
    own.vocab["zweitens"].is_stop = True
    before = len(own.vocab.strings)
    texts = (f"Word{i} met Ada{i}." for i in range(3000))
    assert len(extract(own, texts)) == 3000
    assert len(own.vocab.strings) == before
    assert [x.text for x in doc][2] == "Grundlagen" and own.vocab["zweitens"].is_stop


@pytest.mark.parametrize("is_own", [True, False])
def test_forgotten_words_take_no_memory(is_own):
    """In spaCy's hash tables they keep their places, until these are made anew."""
    nlp = spacy.blank("en")
    norm, words = nlp.vocab.lex_attr_getters[NORM], map("w{}".format, count())

    def grown(is_renewed):
        """Bytes that 5,000 new words leave."""
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(5):
            with nlp.memory_zone():
                if is_own:
                    Doc(nlp.vocab, words=[*islice(words, 1000)])
                else:
                    [*map(nlp.vocab.strings.add, islice(words, 1000))]
            if is_renewed:
                chunks.renew(nlp.vocab, is_own)
        return tracemalloc.get_traced_memory()[0] - before

    tracemalloc.start()
    try:
        assert grown(False) + grown(False) > 100_000
        grown(True)
        assert grown(True) < 20_000
    finally:
        tracemalloc.stop()
    assert nlp.vocab.lex_attr_getters[NORM] is norm
    assert [token.norm_ for token in nlp("Ada met")] == ["ada", "met"]


@pytest.mark.parametrize("n_texts, n_calls, n_times", [(10, 20, 2), (250, 1, 2)])
def test_freed_memory_is_given_back(own, monkeypatch, n_texts, n_calls, n_times):
    monkeypatch.setattr(chunks, "CHUNK", 50)
    monkeypatch.setattr(chunks, "N_TRIMMED", 2)
    seen, give_back = [], chunks.give_back_memory
    monkeypatch.setattr(chunks, "give_back_memory", lambda: seen.append(give_back()))
    for _ in range(n_calls):
        extract(own, ["Ada met Babbage."] * n_texts)
    assert len(seen) == n_times


@pytest.mark.parametrize("platform", ["win32", "linux"])
def test_other_libraries_of_c_keep_memory(monkeypatch, platform):
    monkeypatch.setattr(rows.sys, "platform", platform)
    monkeypatch.setattr(rows.ctypes, "CDLL", lambda name: object())
    rows.give_back_memory()


@pytest.mark.parametrize("n_texts, n_calls", [(10, 20), (50, 8), (700, 6), (100, 3)])
def test_the_vocabulary_is_made_anew_in_many_calls(own, monkeypatch, n_texts, n_calls):
    monkeypatch.setattr(chunks, "CHUNK", 50)
    monkeypatch.setattr(chunks, "N_CHUNKS", 2)
    seen, renew = [], chunks.renew
    monkeypatch.setattr(chunks, "renew", lambda *x: seen.append(x) or renew(*x))
    for _ in range(n_calls):
        extract(own, ["Ada met Babbage."] * n_texts)
    assert len(seen) == (n_texts * n_calls - 1) // 100
    with own.memory_zone():  # as soon as it is possible
        extract(own, ["Ada"] * 200)
    n_before = len(seen)
    extract(own, ["Ada"])
    extract(own, ["Ada"])
    assert len(seen) == n_before + 1


def test_within_a_memory_zone(own, monkeypatch):
    monkeypatch.setattr(chunks, "N_CHUNKS", 1)
    monkeypatch.setattr(chunks, "CHUNK", 2)
    with own.memory_zone():
        found = extract(own, TEXTS)
        assert own.vocab.in_memory_zone
    assert found.equals(extract(own, TEXTS))
    asking = (own(text).text for text in TEXTS)  # these are read between two zones
    assert extract(own, asking).equals(found)


def test_two_threads_take_turns(own):
    from concurrent.futures import ThreadPoolExecutor

    texts = [f"{text} {i}" for i, text in enumerate(TEXTS * 100)]
    table = extract(own, texts)
    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(lambda _: extract(own, iter(texts)), range(4))]
    assert all(one.equals(table) for one in found)


@MANY_EXISTING
def test_several_components(nlp, own):
    other = make_trained(["[TOOL letter] and [TOOL pen]", "Nobody met Ada."])
    make_nlp(nlp=own, name="tools")
    own.get_pipe("tools").from_bytes(other.get_pipe("hosemi").to_bytes())
    ruler = own.add_pipe("entity_ruler", first=True)
    ruler.add_patterns([{"label": "WHO", "pattern": "Nobody"}])
    texts = ["Nobody: letter and pen", "Ada Lovelace wrote a letter."]
    rows = without_ids(extract(own, texts, threads=2))
    assert rows == [expected(own, text) for text in texts]
    spans = {x["label"]: x["confidence"] for row in rows for x in row["spans"]}
    assert spans["WHO"] is None and spans["PER"] > 0 and spans["TOOL"] > 0


def test_labels_of_any_letters():
    label = 'é" 😀\x00\n'
    nlp = make_nlp()
    pair = "Ada wrote.", [(0, 3, label)]
    nlp.get_pipe("hosemi").fit([pair], nlp=nlp, progress=False, max_iter=5)
    (row,) = extract(nlp, ["Ada wrote."]).to_pylist()
    assert [span["label"] for span in row["spans"]] == [label]


@UNTRAINED
def test_an_untrained_component():
    (row,) = extract(make_nlp(), ["Ada"]).to_pylist()
    assert row["spans"] == [] and row["error"] is None


def test_pipelines_without_a_component(own):
    own.add_pipe("sentencizer")
    with own.select_pipes(disable="hosemi"):
        with pytest.raises(ValueError, match=r"HS310.*\['sentencizer'\]"):
            extract(own, TEXTS)
    with pytest.raises(ValueError, match="HS310"):
        extract(spacy.blank("en"), [])
    with pytest.raises(TypeError, match="HS232"):
        extract("model", TEXTS)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"texts": "Ada"}, "HS183.* texts is str"),
        ({"texts": b"Ada"}, "HS183"),
        ({"texts": 3}, "HS183"),
        ({"texts": {"a": "Ada"}}, "HS183.* dict"),
        ({"texts": pa.array([1])}, "HS183.*a column of int64"),
        ({"texts": pa.table({"a": ["Ada"]})}, "HS183"),
        ({"ids": [1, 2]}, "HS312.*ids has 2 values and texts has 5"),
        ({"ids": range(6)}, "HS312.*ids has 6 values and texts has 5"),
        ({"texts": iter(TEXTS), "ids": range(4)}, "HS312.*4 values and texts has more"),
        ({"texts": iter(TEXTS), "ids": range(6)}, "HS312.*6 values and texts has 5"),
        # An endless stream ends with the error, not with the memory.
        ({"texts": map("Ada {}".format, count()), "ids": range(10)}, "HS312"),
        ({"ids": "abcde"}, "HS311"),
        ({"ids": 5}, "HS311"),
        ({"ids": [1, "a", 2, 3, 4]}, "HS311"),
        ({"ids": [object()] * 5}, "HS311"),
        ({"ids": np.zeros((5, 1))}, "it has 2 dimensions"),
        ({"ids": np.array(5)}, "it has 0 dimensions"),
        ({"threads": 0}, "HS026.* threads is 0"),
        ({"threads": 1.0}, "HS026"),
        ({"explode": 1}, "HS026.* explode is 1"),
    ],
)
def test_what_is_refused(nlp, arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        extract(nlp, **{"texts": TEXTS, **arguments})


def test_frames_are_refused(nlp):
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="HS183.*DataFrame"):
        extract(nlp, pandas.DataFrame({"a": TEXTS}))
    with pytest.raises(ValueError, match="it has 2 dimensions"):
        extract(nlp, TEXTS, ids=pandas.DataFrame({"a": TEXTS}))


def test_without_arrow(monkeypatch):
    monkeypatch.delitem(sys.modules, "spacy_hosemi.arrow")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="HS309.*pip install pyarrow"):
        spacy_hosemi.extract  # noqa: B018
