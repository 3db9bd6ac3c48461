"""The field tokenizer: nothing is lost, nothing that belongs together is cut."""

import pickle
import time

import hypothesis.strategies as st
import pytest
import regex
import spacy
from hypothesis import given
from spacy.matcher import PhraseMatcher
from spacy.tokens import DocBin
from spacy.training import Example
from spacy.vocab import Vocab

from spacy_hosemi import FieldTokenizer, use_field_tokenizer

VOCAB = spacy.blank("en").vocab
TOKENIZER = FieldTokenizer(VOCAB)
BLOCK = {"@tokenizers": "spacy_hosemi.FieldTokenizer.v1"}

# Characters that are likely to go wrong beside each other.
SIGNS = [
    *"aZ1(.- \t\n\r'é½²",
    *"\xa0\xad\u0301\u0903\u200b\u200c\u200d\u2028\ufeff\ufe0f\u20e3\u0600\u0d4e\x00\x1c",
    *"日テกำລັខ្ក्ᄀ힣🇩👩🏽",
    "fi",
    "ﬁ",
]
TEXTS = st.lists(st.sampled_from(SIGNS)).map("".join) | st.text(
    st.characters(exclude_categories=["Cs", "Cn", "Co"])
)


def words(text, **settings):
    return [token.text for token in FieldTokenizer(VOCAB, **settings)(text)]


@given(TEXTS)
def test_nothing_is_lost(text):
    for _ in range(2):  # the second time pieces are cached
        doc = TOKENIZER(text)
        assert doc.text == text
        assert all(map(len, doc))


@given(TEXTS)
def test_no_cluster_is_cut(text):
    """But where a space is the `whitespace_` of the token before it, a cluster of
    whitespace, such as CR LF, is one token."""
    borders = {token.idx for token in TOKENIZER(text)}
    assert borders <= {match.start() for match in regex.finditer(r"\X", text)}


@given(TEXTS, st.booleans())
def test_tokens_are_of_one_kind(text, split_digits):
    """Recomputed character by character."""
    for token in FieldTokenizer(VOCAB, split_digits=split_digits)(text):
        if token.is_space:
            continue
        kinds = {kind(c) for c in token.text} - {"extends"}
        if len(regex.findall(r"\X", token.text)) > 1:
            allowed = {"letter", "digit"} if not split_digits else kinds
            assert kinds <= {*allowed, "invisible"}
            assert len(kinds - {"invisible"}) <= (1 if split_digits else 2)
            assert "other" not in kinds


def kind(c):
    # Of what stands before or after it.
    if regex.match(r"[\p{M}\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]", c):
        return "extends"
    if regex.match(r"[\p{GCB=Prepend}&&\p{L}]", c, regex.V1):
        return "extends"
    if regex.match(r"\p{C}", c):
        return "invisible"
    return "letter" if c.isalpha() else "digit" if regex.match(r"\p{N}", c) else "other"


@given(TEXTS)
def test_whitespace(text):
    """One space is the `whitespace_` of a token; no two whitespace tokens are
    neighbours."""
    doc = TOKENIZER(text)
    for token in doc:
        if token.is_space:
            assert not token.whitespace_
            assert token.i == 0 or not doc[token.i - 1].is_space
        elif token.text[-1].isspace():
            assert regex.fullmatch(r"\p{GCB=Prepend}+\s", token.text)


@given(TEXTS, TEXTS)
def test_cached_pieces_are_as_others(one, other):
    """A text has the same tokens at first sight and between others."""
    fresh = [[t.text for t in FieldTokenizer(VOCAB)(text)] for text in (one, other)]
    assert [[t.text for t in TOKENIZER(text)] for text in (one, other)] == fresh
    doc = FieldTokenizer(VOCAB)(one)
    assert doc.to_array("SPACY").tolist() == TOKENIZER(one).to_array("SPACY").tolist()


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", []),
        ("1950;59(236):433-460", "1950 ; 59 ( 236 ) : 433 - 460".split()),
        ("Smith, J.R.", ["Smith", ",", "J", ".", "R", "."]),
        ("doi:10.1000/x_1", "doi : 10 . 1000 / x _ 1".split()),
        ("3rd 2½ x²", ["3", "rd", "2½", "x", "²"]),
        ("don't", ["don", "'", "t"]),
        ("\u0600\xa0a", ["\u0600\xa0", "a"]),
        ("\u0d4e\u3000\xa0", ["\u0d4e\u3000", "\xa0"]),
        ("\u0600\u0d4e\xa0 \xa0", ["\u0600\u0d4e\xa0", "\xa0"]),
        ("\u0600 a\u0600\n", ["\u0600", "a", "\u0600", "\n"]),
        ("a  b", ["a", " ", "b"]),
        (" a \n b ", [" ", "a", "\n ", "b"]),
        ("a\xa0b", ["a", "\xa0", "b"]),
        ("\ufeffso\xadft\u200b(a)", ["\ufeff", "so\xadft", "\u200b", "(", "a", ")"]),
        ("日本語 のテ", ["日", "本", "語", "の", "テ"]),
        ("กำลัง", ["กำ", "ลั", "ง"]),
        ("naïve nai\u0308ve", ["naïve", "nai\u0308ve"]),
        ("👩‍👩‍👧🇩🇪🇫🇷1️⃣👍🏽", ["👩‍👩‍👧", "🇩🇪", "🇫🇷", "1️⃣", "👍🏽"]),
    ],
)
def test_tokens(text, expected):
    assert words(text) == expected


def test_digits_can_stay_with_letters():
    whole = "s00211 3rd ( 2b )".split()
    assert words("s00211 3rd (2b)", split_digits=False) == whole
    with pytest.raises(ValueError, match="HS043.*tokenizer.split_digits"):
        FieldTokenizer(VOCAB, split_digits="yes")


@pytest.mark.parametrize("sign", ["a", "1", "(", " ", "\n", "\u200b", "日", "é", "🇩"])
@pytest.mark.parametrize("form", ["{}", "a{}b"])
def test_time_is_linear(sign, form):
    """Far below a second for 100,000 characters."""
    text = form.format(sign * 100_000)
    start = time.thread_time()
    doc = FieldTokenizer(Vocab())(text)
    assert time.thread_time() - start < 1.0
    assert doc.text == text


@given(TEXTS)
def test_explain(text):
    expected = [token.text for token in TOKENIZER(text) if not token.text.isspace()]
    assert [word for _, word in TOKENIZER.explain(text)] == expected


@given(st.text(st.characters(max_codepoint=127), max_size=12), st.booleans())
def test_ascii_is_as_other_text(text, split_digits):
    """Pieces of ASCII have a search of their own; `explain` has the other one."""
    tokenizer = FieldTokenizer(VOCAB, split_digits=split_digits)
    expected = [token.text for token in tokenizer(text) if not token.is_space]
    assert [word for _, word in tokenizer.explain(text)] == expected


def test_explain_names_kinds():
    assert TOKENIZER.explain("ab 12\u200b(") == [
        ("LETTERS", "ab"),
        ("DIGITS", "12"),
        ("INVISIBLE", "\u200b"),
        ("CHARACTER", "("),
    ]
    both = FieldTokenizer(VOCAB, split_digits=False)
    assert both.explain("a1") == [("LETTERS_AND_DIGITS", "a1")]


def test_only_texts():
    with pytest.raises(TypeError, match="HS154.*bytes"):
        TOKENIZER(b"abc")


# --- spaCy's contract ---------------------------------------------------------------


def make_nlp(**settings):
    return use_field_tokenizer(spacy.blank("en"), **settings)


def test_pipe():
    assert [len(doc) for doc in TOKENIZER.pipe(["a1", "", "b"])] == [2, 0, 1]


def test_config(tmp_path):
    """The pipeline loads again, with its settings, whatever way it goes."""
    nlp = make_nlp(split_digits=False)
    nlp.to_disk(tmp_path)
    saved = nlp.to_bytes()
    again = [
        spacy.load(tmp_path),
        pickle.loads(pickle.dumps(nlp)),
        spacy.blank("en", config={"nlp": {"tokenizer": BLOCK}}).from_bytes(saved),
        spacy.util.load_model_from_config(nlp.config),
    ]
    for one in again:
        assert isinstance(one.tokenizer, FieldTokenizer)
        assert [token.text for token in one.make_doc("a1-b")] == ["a1", "-", "b"]
        assert one.tokenizer.vocab is one.vocab
    assert [token.text for token in make_nlp().make_doc("a1")] == ["a", "1"]


def test_disk_and_bytes(tmp_path):
    one, other = FieldTokenizer(VOCAB, split_digits=False), FieldTokenizer(VOCAB)
    one.to_disk(tmp_path / "tokenizer", exclude=["vocab"])
    assert other.from_disk(tmp_path / "tokenizer", exclude=["vocab"]) is other
    assert other.settings == one.settings == {"split_digits": False}
    other.from_bytes(FieldTokenizer(VOCAB).to_bytes(exclude=["vocab"]))
    assert other.split_digits
    for wrong in (b"", b"\x80", spacy.blank("en").tokenizer.to_bytes()):
        with pytest.raises(ValueError, match="HS155"):
            other.from_bytes(wrong)
    nlp = make_nlp(split_digits=False)
    nlp.to_disk(tmp_path / "nlp", exclude=["tokenizer"])
    assert not spacy.load(
        tmp_path / "nlp", exclude=["tokenizer"]
    ).tokenizer.split_digits


def test_processes():
    docs = make_nlp().pipe(["a1 b", "c  d"] * 3, n_process=2)
    assert [len(doc) for doc in docs] == [3, 3] * 3


def test_rulers_and_matchers():
    nlp = make_nlp()
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "VOLUME", "pattern": "59(236)"}])
    doc = nlp("1950;59(236):433")
    assert [(ent.start_char, ent.text) for ent in doc.ents] == [(5, "59(236)")]
    matcher = PhraseMatcher(nlp.vocab)
    matcher.add("YEAR", [nlp.make_doc("1950")])
    assert [doc[i:j].text for _, i, j in matcher(doc)] == ["1950"]


def test_examples_and_docbins():
    nlp = make_nlp()
    text = "1950;59(236)"
    example = Example.from_dict(
        nlp.make_doc(text), {"entities": [(5, 7, "VOLUME"), (8, 11, "NUMBER")]}
    )
    assert [ent.text for ent in example.reference.ents] == ["59", "236"]
    (again,) = DocBin(docs=[example.reference]).get_docs(nlp.vocab)
    assert [token.text for token in again] == [t.text for t in nlp.make_doc(text)]


def test_memory_zones():
    """Words of a zone are not cached beyond it."""
    nlp = make_nlp()
    assert [token.text for token in nlp("qwertz")] == ["qwertz"]
    with nlp.memory_zone():
        assert [token.text for token in nlp("yxcvb1 qwertz")] == [
            "yxcvb",
            "1",
            "qwertz",
        ]
    assert [token.text for token in nlp("yxcvb1 qwertz")] == ["yxcvb", "1", "qwertz"]


def test_pieces_of_a_zone_are_cached_until_its_end():
    nlp = make_nlp()
    tokenizer = nlp.tokenizer
    tokenizer("äsdf")
    before = tokenizer.cache
    for _ in range(2):
        with nlp.memory_zone():
            doc = tokenizer("yxcvb1, äsdf")
            assert [token.text for token in doc] == ["yxcvb", "1", ",", "äsdf"]
            assert {*tokenizer.cache} == {"äsdf"}
        assert tokenizer.cache is before and {*before} == {"äsdf"}
        assert "yxcvb" not in nlp.vocab.strings
    # A zone that the tokenizer is not told of.
    with nlp.vocab.memory_zone():
        for text in ("yxcvb äsdf", "äsdf"):
            assert [token.text for token in nlp(text)] == text.split()
    assert tokenizer.cache is before and {*before} == {"äsdf"}
    with pytest.raises(RuntimeError), nlp.memory_zone():
        tokenizer("qwértz")
        raise RuntimeError
    assert tokenizer.cache is before and {*before} == {"äsdf"}


def test_the_cache_is_limited(monkeypatch):
    from spacy_hosemi.text import tokenizer as module

    monkeypatch.setattr(module, "_CACHE_SIZE", 3)
    tokenizer = FieldTokenizer(VOCAB)
    for k in range(10):
        tokenizer(f"wä{k} x{'ÿ' * 60}")
        assert 0 < len(tokenizer.cache) <= 3
