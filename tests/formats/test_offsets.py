"""Other ways of counting are seen, named, and mended where that is asked for."""

import re
from dataclasses import replace
from itertools import product
from unicodedata import normalize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_hosemi.formats import LabeledSpan, Offsets, read_annotations
from spacy_hosemi.formats.offsets import diagnose
from spacy_hosemi.formats.texts import AnnotatedText

from ..conftest import ROOT
from .exports import REFERENCES, json_lines, spans_of, text_of
from .test_readers import messages, read

EMOJI = [("😀", None), *REFERENCES[0]]
ENCODINGS = {"characters": "utf-32-le", "utf-16": "utf-16-le", "utf-8": "utf-8"}
WIDTHS = {"characters": 4, "utf-16": 2, "utf-8": 1}
WAYS = [
    Offsets(*x)
    for x in product(("exclusive", "inclusive"), ENCODINGS, (0, 1, -1))
]  # fmt: skip


def counted(segments, way):
    """The spans of a text as a file has them that counts so: by the codec."""
    text = text_of(segments)

    def at(i):
        return len(text[:i].encode(ENCODINGS[way.unit])) // WIDTHS[way.unit]

    last = way.ends == "inclusive"
    return [
        (at(s) - way.shift, at(e) - last - way.shift, label)
        for s, e, label in spans_of(segments)
    ]


def text_with(segments, way, with_values=False):
    text = text_of(segments)
    values = [text[s:e] if with_values else None for s, e, _ in spans_of(segments)]
    spans = zip(counted(segments, way), values)
    made = tuple(LabeledSpan(*span, value) for span, value in spans)
    return AnnotatedText(text, made, "file", 1)


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("with_values", [True, False])
def test_the_way_of_counting_is_seen(way, with_values):
    texts = [text_with(x, way, with_values) for x in [EMOJI, *REFERENCES] * 3]
    found = diagnose(texts, Offsets())
    if way == Offsets():
        assert found is None
    else:
        offsets, fault = found
        assert offsets == way and f", 0 would with {way.options()};" in fault.message
        assert ("another text than the file" in fault.message) == with_values
    assert diagnose(texts, way) is None


PARTS = st.tuples(st.text("aé漢😀,", min_size=1, max_size=4), st.sampled_from("ab"))
TEXTS = st.lists(st.lists(PARTS, min_size=1), min_size=1, max_size=4)


@settings(deadline=None)
@given(texts=TEXTS, way=st.sampled_from(WAYS))
def test_offsets_are_mended_as_the_codec_counts(texts, way):
    for segments in texts:
        text = text_with(segments, way)
        mended = [way.mend(text, span)[:3] for span in text.spans]
        if way.ends == "inclusive" and way.unit != "characters":
            mended = [x for x in mended if -1 not in x]  # the last unit of a character
            assert set(mended) <= set(spans_of(segments))
        else:
            assert mended == spans_of(segments)


def lines_counted(way, texts=REFERENCES):
    return json_lines({"text": text_of(x), "spans": counted(x, way)} for x in texts)


@pytest.mark.parametrize("ends", ["exclusive", "inclusive"])
@pytest.mark.parametrize(
    "unit, shift", [("utf-16", 0), ("characters", -1), ("characters", 1)]
)
def test_the_option_is_named_and_mends(tmp_path, ends, unit, shift):
    more = {"ends": ends, "unit": unit, "shift": shift}
    way = Offsets(**more)
    option = way.options()
    texts = [EMOJI] * 2 if way.unit != "characters" else REFERENCES
    found = read(tmp_path, lines_counted(way, texts), "x.jsonl")
    (message,) = messages(found)
    assert "x.jsonl:1: " in message and f"with {option}; give that" in message
    assert not found.texts  # nothing is mended in silence, nor written wrong
    mended = read(tmp_path, lines_counted(way, texts), "x.jsonl", **more)
    assert not mended.faults
    expected = [spans_of(x) for x in texts]
    assert [[s[:3] for s in text.spans] for text in mended.texts] == expected
    as_it_is = read(tmp_path, lines_counted(way, texts), "x.jsonl", shift=0)
    assert not any("give that" in message for message in messages(as_it_is))


def words_of(text, count=len):
    """The spans of the words, by how many units are before a place."""
    places = (match.span() for match in re.finditer(r"\w[\w\u0301]*", text))
    return [(count(text[:s]), count(text[:e]), "word") for s, e in places]


def lines_of(*pairs):
    return json_lines({"text": text, "spans": spans} for text, spans in pairs)


GOOD = [(text := f"Ada Lovelace, Berlin 18{i}", words_of(text)) for i in range(10, 27)]


@pytest.mark.parametrize(
    "unit, text, count",
    [
        ("crlf", "Ada,\r\nBerlin,\r\nÉire", lambda x: len(x.replace("\r\n", "\n"))),
        ("graphemes", "Ade\u0301 Lovelace, Éire", lambda x: len(normalize("NFC", x))),
        ("utf-16", "😀 Ada, Berlin", lambda x: len(x.encode("utf-16-le")) // 2),
        ("utf-8", "Éire, Ada, Berlin", lambda x: len(x.encode())),
    ],
)
@pytest.mark.parametrize("n_good, n_spans", [(17, 3), (17, 1), (0, 1)])
def test_few_spans_count_otherwise(tmp_path, unit, text, count, n_good, n_spans):
    """Three texts of twenty, a single span of one, or of the only text."""
    few = [(text, words_of(text, count)[-1:])] * n_spans
    found = read(tmp_path, lines_of(*GOOD[:n_good], *few), "x.jsonl")
    (message,) = messages(found)
    assert f"0 would with --offsets {unit};" in message and len(found.texts) == n_good
    mended = read(tmp_path, lines_of(*few), "x.jsonl", unit=unit).texts[0]
    assert [span[:3] for span in mended.spans] == words_of(text)[-1:]


def test_few_slips_hide_no_unit(tmp_path):
    text = "😀 Ada Byron, Éire, Rome"
    (start, end, label), *spans = words_of(
        text, lambda x: len(x.encode("utf-16-le")) // 2
    )
    found = read(
        tmp_path, lines_of((text, [(start, end - 1, label), *spans])), "x.jsonl"
    )
    assert "1 would with --offsets utf-16;" in messages(found)[0] and not found.texts


@pytest.mark.parametrize(
    "text, places, n",
    [
        # Another count, after a while; words that are glued together.
        ("Ada Lovelace, Berlin", [(4, 12), (15, 21)], 0),
        ("Ada (1815)", [(6, 10)], 0),
        ("АДА Лавлейс", [(3, 7)], 0),
        ("AdaLovelace 12a", [(3, 11), (12, 14)], 1),
        ("見出し漢字", [(0, 3)], 1),
        ("서울에서 แมวดำ", [(0, 2), (5, 8)], 1),
    ],
)
def test_spans_that_cut_words_where_others_do_not(tmp_path, text, places, n):
    spans = [(s, min(e, len(text)), "word") for s, e in places]
    found = read(tmp_path, lines_of(*GOOD, (text, spans)), "x.jsonl")
    assert len(found.texts) == len(GOOD) + n and len(found.faults) == 1 - n
    said = "cuts a word; expected whole words, as in 17 of 18 "
    assert all(said in message for message in messages(found))
    assert len(read(tmp_path, lines_of(*GOOD, (text, spans)), shift=0).texts) == 18
    often = lines_of(*GOOD[:3], *[(text, spans)] * 3)
    assert len(read(tmp_path, often, "x.jsonl").texts) == 6


def test_tokens_with_inclusive_ends(tmp_path):
    lines = '{"tokens": ["Frege", "G", "1879"], "spans": [[0, 1, "a"], [2, 2, "b"]]}\n'
    found = read(tmp_path, lines * 3)
    assert "with --ends inclusive" in messages(found)[0]
    (text, *_) = read(tmp_path, lines * 3, ends="inclusive").texts
    assert [s[:3] for s in text.spans] == [(0, 7, "a"), (8, 12, "b")]


@pytest.mark.parametrize(
    "text, spans",
    [
        ("見出し漢字仮名", [(0, 3, "a"), (3, 5, "b"), (5, 7, "c")]),
        ("1950a 1951 1952 1953", [(0, 4, "a"), (6, 10, "a"), (11, 15, "a")]),
        ("xFregex xZadehx xGodelx", [(1, 6, "a"), (9, 14, "a"), (17, 22, "a")]),
    ],
)
def test_words_that_are_cut_on_purpose(text, spans):
    """Fields may end within what looks like a word."""
    made = AnnotatedText(text, tuple(LabeledSpan(*x) for x in spans), "file", 1)
    assert diagnose([made] * 5, Offsets()) is None


def test_single_faults_are_no_pattern(tmp_path):
    good = [text_with(x, Offsets(), True) for x in REFERENCES * 10]
    wrong = replace(good[0], spans=(good[0].spans[0]._replace(end=8),))
    assert diagnose([*good, wrong], Offsets()) is None


def test_the_corpus_counts_characters():
    found = read_annotations(ROOT / "corpus" / "train.jsonl")
    assert not found.faults and len(found.texts) == 401 and found.n_spans == 2289
