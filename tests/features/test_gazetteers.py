"""Lists of names: where their entries occur, and what templates read of them."""

import pickle
import re

import hypothesis.strategies as st
import numpy as np
import pytest
import spacy
from hypothesis import given

from spacy_hosemi.features import (
    Extractor,
    FeatureSet,
    Gazetteer,
    Gazetteers,
    Tables,
    make_features,
    make_gazetteer,
    make_table,
)
from spacy_hosemi.features.gazetteers import gazetteers
from spacy_hosemi.features.gazetteers.matches import Matches, size_name
from spacy_hosemi.features.naming import (
    feature_names,
    namer,
    segment_namer,
    token_features,
)
from spacy_hosemi.features.presets import LISTS, TABLES
from spacy_hosemi.features.templates import parse_templates

from ..helpers import make_doc

NLP = spacy.blank("en")
JACS = "J. Am. Chem. Soc."


def make_lists(entries, nlp=NLP, **settings) -> Gazetteers:
    """The list "x"."""
    lists = Gazetteers({"x": make_gazetteer(**settings)})
    lists.compile("x", entries, nlp)
    return lists


def find(lists, doc, is_train=False) -> list[tuple[int, int, int]]:
    """(start, end, size) of each match in the list "x"."""
    found = lists.matches([doc], is_train)["x"]
    columns = (found.start, found.end, found.size)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def find_texts(lists, doc, is_train=False) -> list[str]:
    return [doc[i:j].text for i, j, _ in find(lists, doc, is_train)]


@pytest.mark.parametrize(
    "entries, words, expected",
    [
        # whatever the tokenizer made of the words
        ([JACS], ["J.", "Am.", "Chem.", "Soc.,"], [(0, 4, 4)]),
        (["J Am Chem Soc"], ["in", "J.", "AM.", "chem.", "Soc", "1"], [(1, 5, 4)]),
        # what stands between words
        (["New York"], ["New", ",", "York"], [(0, 3, 2)]),
        (["New York"], ["(", "New", "\n", "York", ")"], [(1, 4, 2)]),
        (["A 1"], ["A1"], []),  # one word
        # entries and tokens without words
        (["...", "", " ", "☃", "_"], ["...", "☃", "_", " ", "a"], []),
        # other alphabets
        (["ŁÓDŹ"], ["Łódź"], [(0, 1, 1)]),
        (["Malaga"], ["Málaga"], []),
        (["東京"], ["東京", "都"], [(0, 1, 2)]),
        # and one by one, where they are written without spaces
        (["東京"], ["東", "京", "都"], [(0, 2, 2)]),
        (["Straße 5"], ["STRAßE", "5"], [(0, 2, 2)]),
        (["ΑΣ.Β"], ["ΑΣ.Β"], [(0, 1, 2)]),  # a sigma is written otherwise at the end
        (["ΑΣ.Β"], ["ΑΣ", ".", "Β"], [(0, 3, 2)]),
        (["İzmir"], ["İzmir"], [(0, 1, 1)]),
    ],
)
def test_alnum(entries, words, expected):
    assert find(make_lists(entries), make_doc(NLP, *words)) == expected


@pytest.mark.parametrize("text", ["Don't Look Now", "It cannot be", "5km run"])
def test_alnum_where_the_tokenizer_divides_a_word(text):
    """ "Don't" is the tokens "Do", "n't", and the words "don", "t"."""
    assert find_texts(make_lists([text]), NLP(text)) == [text]


def words_of(text) -> list[str]:
    return re.findall("[a-z0-9]+", text.lower())


piece = st.text("aB1.-", min_size=1, max_size=3)
tokens_n = st.lists(st.tuples(piece, st.booleans()), max_size=8)


def is_inside_word(text, at) -> bool:
    return 0 < at < len(text) and text[at - 1 : at + 1].isalnum()


@given(st.lists(st.lists(piece, max_size=3).map(" ".join), max_size=5), tokens_n)
def test_alnum_by_comparing_every_span(entries, tokens):
    """A match has the words of an entry, and some of them in both outer tokens."""
    words, spaces = zip(*tokens) if tokens else ((), ())
    doc = make_doc(NLP, *words, spaces=list(spaces))
    known, expected = [words_of(entry) for entry in entries], []
    for i in range(len(doc)):
        for j in range(i + 1, len(doc) + 1):
            span, size = doc[i:j], len(words_of(doc[i:j].text))
            if (
                words_of(span.text) in known
                and words_of(words[i])
                and words_of(words[j - 1])
                and not is_inside_word(doc.text, span.start_char)
                and not is_inside_word(doc.text, span.end_char)
            ):
                expected.append((i, j, size))
    assert find(make_lists(entries), doc) == expected


# --- attributes of tokens ---------------------------------------------------------

NOT = "Will not New York wo n't New york, NEW YORK"


@pytest.mark.parametrize(
    "attr, expected",
    [
        ("ALNUM", ["Will not", "New York", "New york", "NEW YORK"]),
        ("ORTH", ["New York"]),
        ("LOWER", ["Will not", "New York", "New york", "NEW YORK"]),
        ("NORM", ["Will not", "New York", "wo n't", "New york", "NEW YORK"]),
        ("LEMMA", []),
    ],
)
def test_what_is_compared(attr, expected):
    doc = make_doc(NLP, *NOT.replace(",", " ,").split())
    for token, norm in ((doc[4], "will"), (doc[5], "not")):
        token.norm_ = norm
    lists = make_lists(["New York", "will not"], attr=attr)
    assert find_texts(lists, doc) == expected


def test_lemmas_are_compared_with_entries():
    lists = make_lists(["big city", "be"], attr="LEMMA")
    words, lemmas = ["bigger", "cities", "Are"], ["big", "city", "be"]
    assert find(lists, make_doc(NLP, *words, lemmas=lemmas)) == [(0, 2, 2), (2, 3, 1)]
    assert find(lists, make_doc(NLP, *words, lemmas=["", "", "be"])) == [(2, 3, 1)]
    # where nothing was lemmatized, nothing is found
    assert find(lists, make_doc(NLP, "big", "city", "be")) == []


@pytest.mark.parametrize("attr", ["ORTH", "LOWER", "NORM"])
def test_entries_are_tokenized_as_documents_are(attr):
    nlp = spacy.blank("en")
    nlp.tokenizer.add_special_case("Don't", [{"ORTH": "Do"}, {"ORTH": "n't"}])
    entries = ["Don't Look Now", " New \n York  ", "U.K. (est.)"]
    lists = make_lists(entries, nlp, attr=attr)
    doc = nlp("Don't Look Now, New York U.K. (est.)")
    found = find_texts(lists, doc)
    assert found == ["Don't Look Now", "New York", "U.K. (est.)"]
    assert [size for _, _, size in find(lists, doc)][:2] == [4, 2]
    assert find(lists, nlp("New, York")) == []
    # punctuation is a token
    assert find(make_lists(["...", ""], attr=attr), NLP("a ... b")) == [(1, 2, 1)]


def test_lists_with_different_attributes():
    lists = Gazetteers({"loose": make_gazetteer(), "exact": make_gazetteer("ORTH")})
    for name in ("loose", "exact"):
        lists.compile(name, ["New York"], NLP)
    found = lists.matches([NLP("new york New York")])
    assert found["loose"].start.tolist() == [0, 2]
    assert found["exact"].start.tolist() == [2]
    assert found.names == ("loose", "exact")
    assert found.lists.tolist() == [0, 0, 1]
    # and what tokens read of them
    sizes = [[12, 12, 12, 12], [0, 0, 12, 12]]
    assert found.on_tokens(4)[:, [1, 4]].T.tolist() == sizes


@pytest.mark.parametrize("attr", gazetteers.ATTRIBUTES)
def test_words_that_are_symbols_of_spacy(attr):
    """Their values in documents are not their hashes."""
    words = ["Mark", "mark", "NOUN", "det"]
    lists = make_lists(words, attr=attr)
    doc = make_doc(NLP, *words, lemmas=words)
    for is_train in (False, True):
        assert find(lists, doc, is_train) == [(i, i + 1, 1) for i in range(4)]
        assert find(lists, make_doc(NLP), is_train) == []


# --- the vocabulary ---------------------------------------------------------------


@pytest.mark.parametrize("attr", gazetteers.ATTRIBUTES)
def test_the_vocabulary_stays_as_it_is(attr):
    nlp = spacy.blank("en")
    nlp("Some words before")

    def read():
        return sorted(lexeme.orth for lexeme in nlp.vocab), list(nlp.vocab.strings)

    before = read()
    lists = make_lists(["Zyxomma petiolatum", "Don't Zyx"], nlp, attr=attr)
    assert read() == before
    doc = nlp("Zyxomma petiolatum")
    assert [token.lower_ for token in doc] == ["zyxomma", "petiolatum"]
    assert len(find(lists, doc)) == (attr != "LEMMA")


@pytest.mark.parametrize("attr", ["ALNUM", "LOWER"])
def test_entries_may_be_read_from_documents(attr):
    """What a reader puts into the vocabulary on the way remains there."""
    nlp = spacy.blank("en")
    docs = []

    def read():
        for text in ("Zork Mumble", "Quux"):
            docs.append(nlp(text))
            yield text, docs[-1]

    lists = make_lists(read(), nlp, attr=attr)
    assert [doc.text for doc in docs] == ["Zork Mumble", "Quux"]
    assert find_texts(lists, nlp("Quux Zork Mumble")) == ["Quux", "Zork Mumble"]


def test_a_reader_that_fails_may_be_repaired():
    lists = make_lists(["a"], attr="LOWER")

    def read():
        yield "b"
        raise OSError("no such file")

    with pytest.raises(OSError, match="no such file"):
        lists.compile("x", read(), NLP)
    assert find_texts(lists, NLP("a b")) == ["a"]
    lists.compile("x", ["b"], NLP)
    assert find_texts(lists, NLP("a b")) == ["b"]


# --- the view of training ---------------------------------------------------------


@pytest.mark.parametrize("attr", ["ALNUM", "LOWER"])
def test_entries_from_documents(attr):
    texts = ("Ada met Bob in Rome.", "Bob met Eve.", "Eve met Ada in Rome.")
    docs = [NLP(text) for text in texts]
    entries = [("Ada", docs[0]), ("Eve", docs[1]), ("Eve", docs[2]), ("Bob", docs[1])]
    lists = make_lists([*entries, ("Bob", docs[1]), "Rome"], attr=attr)
    in_training = [find_texts(lists, doc, is_train=True) for doc in docs]
    assert in_training == [["Bob", "Rome"], ["Eve"], ["Eve", "Ada", "Rome"]]
    predicted = [find_texts(lists, NLP(text)) for text in texts]
    assert predicted == [["Ada", "Bob", "Rome"], ["Bob", "Eve"], ["Eve", "Ada", "Rome"]]


def test_a_document_is_known_by_its_text():
    lists = make_lists([("Ada", NLP("Ada met Bob."))])
    assert find(lists, make_doc(NLP, "Ada", "met", "Bob."), is_train=True) != []
    assert find(lists, NLP("Ada met Bob."), is_train=True) == []
    assert find(lists, NLP("Ada met Eve."), is_train=True) == [(0, 1, 1)]


@pytest.mark.parametrize("order", [1, -1])
def test_an_entry_that_is_also_in_a_file(order):
    doc = NLP("Ada met Bob.")
    lists = make_lists([("Ada", doc), "ada"][::order])
    assert find(lists, doc, is_train=True) == [(0, 1, 1)]


def numbered(n_docs):
    return [make_doc(NLP, "Ada", str(k), "Ada", "Bob", "Ada") for k in range(n_docs)]


def test_dropout():
    docs = numbered(500)
    lists = make_lists(["Ada", "Bob"], dropout=0.3)
    fates = [find(lists, doc, is_train=True) for doc in docs]
    ada, bob = [(0, 1, 1), (2, 3, 1), (4, 5, 1)], [(3, 4, 1)]
    # an entry is overlooked in the whole document or not at all, alone
    outcomes = [[], bob, ada, sorted(ada + bob)]
    shares = [fates.count(outcome) / len(docs) for outcome in outcomes]
    assert sum(shares) == pytest.approx(1.0)
    assert min(shares) > 0.05
    for entry in (1, 2):
        assert shares[entry] + shares[3] == pytest.approx(0.7, abs=0.07)
    again = [find(lists, doc, is_train=True) for doc in docs]
    assert again == fates
    assert {len(find(lists, doc)) for doc in docs} == {4}  # not in prediction


def test_dropout_is_the_same_in_every_process():
    # Python's hashes of strings are not
    lists = make_lists(["Ada"], dropout=0.5)
    found = [bool(find(lists, doc, is_train=True)) for doc in numbered(16)]
    assert "".join(map(str, map(int, found))) == "1111111100011100"


def test_settings():
    assert make_gazetteer() == Gazetteer("ALNUM", "feature", 0.0)
    assert make_gazetteer("NORM", dropout=0.999) == Gazetteer("NORM", dropout=0.999)


@pytest.mark.parametrize(
    "name, values",
    [
        ("attr", ["lower", "SHAPE"]),
        ("mode", ["features"]),
        ("dropout", [-1e-9, 1.0, float("nan"), "0.1", None]),
    ],
)
def test_settings_out_of_range(name, values):
    for value in values:
        with pytest.raises(ValueError, match=f"HS034.*gazetteer.{name} is {value!r}"):
            make_gazetteer(**{name: value})


def test_without_lists():
    nothing = Gazetteers()
    assert not nothing
    assert not len(nothing.matches([NLP("Ada")], is_train=True).start)
    assert nothing.to_dict() == {}
    assert make_lists([])


def through_pickle(lists):
    return pickle.loads(pickle.dumps(lists))


def through_dict(lists):
    loaded = type(lists)(lists.settings)
    loaded.load(lists.to_dict())
    return loaded


THROUGH = [through_pickle, through_dict]


@pytest.mark.parametrize("through", THROUGH)
@pytest.mark.parametrize("is_compiled", [True, False])
def test_copies(through, is_compiled):
    doc = NLP("Ada met Bob in New York.")
    lists = make_lists([])
    if is_compiled:
        lists = make_lists(["New York", ("Ada", doc), "Bob"], dropout=0.5)
    copy = through(lists)
    assert copy.settings == lists.settings
    for is_train in (False, True):
        assert find(copy, doc, is_train) == find(lists, doc, is_train)
    assert bool(find(copy, doc)) == is_compiled
    copy.compile("x", ["met"], NLP)
    assert "met" not in find_texts(lists, doc)


def test_entries_of_another_list():
    with pytest.raises(KeyError):
        Gazetteers({"y": make_gazetteer()}).load(make_lists(["a"]).to_dict())


# --- what a list says of tokens ---------------------------------------------------


def as_matches(start, end, size) -> Matches:
    return Matches(("x",), np.zeros_like(start), start, end, size, start, end)


@st.composite
def matches_n(draw):
    n = draw(st.integers(0, 8))
    spans = [(i, j) for i in range(n) for j in range(i + 1, n + 1)]
    found = draw(st.lists(st.sampled_from(spans), unique=True)) if spans else []
    size = st.integers(1, 9)
    triples = sorted((i, j, draw(size)) for i, j in found)
    return as_matches(*np.array(triples, np.int32).reshape(-1, 3).T.copy()), n


@given(matches_n())
def test_on_tokens(problem):
    matches, n = problem
    triples = list(zip(matches.start, matches.end, matches.size, strict=True))
    columns = matches.on_tokens(n)
    assert columns.shape == (n, 3)
    found = dict(zip(["BEGIN", "IN", "END"], columns.T, strict=True))
    for t in range(n):
        expected = {
            "BEGIN": [size for i, _, size in triples if i == t],
            "IN": [size for i, j, size in triples if i <= t < j],
            "END": [size for _, j, size in triples if j == t + 1],
        }
        for kind, longest in expected.items():
            value = int(found[kind][t])
            assert (value == 0) == (not longest)
            if longest:
                size = max(longest)
                assert size_name(value) == (str(size) if size < 6 else "6+")


# --- templates that read lists ----------------------------------------------------


TABLES_TU = {"t": make_table(prefixes=[4]), "u": make_table()}


@pytest.mark.parametrize(
    "templates, found",
    [
        ({"inside": ["y:IN"]}, "y:IN"),
        ({"end": ["LOWER & y:END[1]"]}, "y:END"),
        ({"inside": ["x:INSIDE"]}, "x:INSIDE"),
        ({"whole": ["y:MATCH"]}, "y:MATCH"),
        ({"whole": ["y:IN & x:MATCH"]}, "y:IN"),
        *(
            ({role: [text]}, text)
            for role in ("inside", "whole")
            for text in ("y:VALUE", "t:VALUES", "t:IN", "x:VALUE")
            + ("t:PREFIX", "t:PREFIX0", "t:PREFIX04")
        ),
    ],
)
def test_unknown_list_or_table(templates, found):
    features = FeatureSet(**templates)  # which ones there are is not known yet
    known = "x:MATCH" if "whole" in templates else "x:BEGIN"
    expected = (
        f"HS031.*{found!r}; known are .*('t:VALUE'.*{known!r}|{known!r}.*'t:VALUE')"
    )
    with pytest.raises(ValueError, match=expected):
        Extractor(features, make_lists([]), Tables(TABLES_TU))
    with pytest.raises(ValueError, match="HS031"):
        features.with_lists(["x"], TABLES_TU)
    with pytest.raises(ValueError, match=f"HS031.*{found!r}"):
        Extractor(features)


def usual(role, lists, values) -> set[str]:
    """What is added for these lists, and for values of tables."""
    texts = [text.format(name) for name in lists for text in LISTS[role]]
    texts += [text.format(what) for what in values for text in TABLES.get(role, ())]
    return {*map(str, parse_templates(texts))}


def test_the_usual_features_are_added():
    features = make_features(inside=["POS"], min_count=3, width=2)
    more = features.with_lists(["x", "y"], TABLES_TU)
    for role in LISTS:
        added = usual(role, ["x", "y"], ["t:VALUE", "t:PREFIX4", "u:VALUE"])
        templates = features.roles[role]
        assert added and more.roles[role][: len(templates)] == templates
        assert {*map(str, more.roles[role][len(templates) :])} == added
    assert (more.min_count, more.width) == (3, 2)
    assert features.with_lists([]).roles == features.roles


@pytest.mark.parametrize("role", LISTS)
def test_what_is_read_already_is_left_alone(role):
    template = "x:MATCH" if role == "whole" else "LOWER & x:IN[1]"
    texts = [template, "LOWER & t:PREFIX3"]
    more = FeatureSet(**{role: texts}).with_lists(["x", "y"], TABLES_TU)
    for other in LISTS:
        expected = {*texts} if other == role else set()
        found = {*map(str, more.roles[other])}
        assert found == expected | usual(other, ["y"], ["u:VALUE"])


def test_on_tokens_leaves_out_features_of_segments():
    merged = FeatureSet(whole=["LOWER*", "TOKENS"]).with_lists(["x"]).on_tokens()
    assert merged.roles["whole"] == merged.roles["start"] == ()
    texts = set(map(str, merged.roles["inside"]))
    assert {"x:IN", "x:BEGIN", "x:BEGIN[-1]", "x:END[1]"} <= texts


def test_names():
    templates = ["x:IN", "x:BEGIN[1]", "x:END & LOWER", "x:IN[-1]"]
    lists = make_lists(["a b", "b", "a b c d e f g"])
    extractor = Extractor(FeatureSet(templates), lists)
    assert list(feature_names(extractor, make_doc(NLP, "A", "b", "."), "inside")) == [
        ["x:IN=2", "x:BEGIN[1]=1", None, "x:IN[-1]=^"],
        ["x:IN=2", None, "x:END & LOWER=2 & b", "x:IN[-1]=2"],
        [None, "x:BEGIN[1]=$", None, "x:IN[-1]=2"],
    ]
    names = list(feature_names(extractor, make_doc(NLP, *"abcdefg"), "inside"))
    assert [row[0] for row in names] == ["x:IN=6+"] * 7
    assert names[6][2] == "x:END & LOWER=6+ & g"


def spans_of(extractor, doc) -> list[tuple[int, int, str]]:
    """(start, end, name) of each feature of a segment."""
    found, name = extractor.read([doc]).segments, segment_namer(extractor, doc)
    names = map(name, range(len(found.keys)))
    return list(zip(found.start.tolist(), found.end.tolist(), names, strict=True))


def around(words, start, end) -> set[tuple[int, int]]:
    """Spans that have no letters and digits but those of this one."""
    n = len(words)
    left = {i for i in range(start + 1) if not words_of("".join(words[i:start]))}
    right = {j for j in range(end, n + 1) if not words_of("".join(words[end:j]))}
    return {(i, j) for i in left if i >= start - 3 for j in right if j <= end + 3}


@given(st.lists(st.sampled_from(["a", "b", "-", "..."]), max_size=9))
def test_what_has_no_words_may_belong_to_a_segment(words):
    entries, doc = ["a", "a b", "b a b"], make_doc(NLP, *words)
    extractor = Extractor(FeatureSet(whole=["x:MATCH"]), make_lists(entries))
    expected = []
    for start, end, size in find(make_lists(entries), doc):
        spans = around(words, start, end)
        expected += [(i, j, f"x:MATCH={size}") for i, j in spans]
    assert sorted(spans_of(extractor, doc)) == sorted(expected)


def test_reading_in_training():
    doc = NLP("Ada met Bob.")
    features = FeatureSet(["x:IN"], whole=["x:MATCH"])
    extractor = Extractor(features, make_lists([("Ada", doc), "Bob"]))
    for is_train, expected in ((False, [0, 2]), (True, [2])):
        reading = extractor.read([doc], is_train)
        assert np.flatnonzero(reading.keys["inside"][:, 0]).tolist() == expected
        assert sorted(set(reading.segments.start.tolist())) == expected
        name = namer(extractor, doc, is_train)
        assert [i for i in range(4) if name("inside", i, 0)] == expected


def test_lists_that_no_template_reads():
    extractor = Extractor(FeatureSet(["LOWER"]), make_lists(["Ada"]))
    reading = extractor.read([NLP("Ada met")])
    assert reading.keys["inside"].shape == (2, 1)
    assert len(reading.segments.keys) == len(reading.segments.start) == 0


def test_what_a_token_tagger_would_read():
    doc = make_doc(NLP, "Ada", "B")
    lists = make_lists(["Ada B", ("B", doc)])
    extractor = Extractor(FeatureSet().with_lists(["x"]), lists)
    first, second = token_features(extractor, doc)
    assert {"x:IN=2", "x:BEGIN=2", "x:BEGIN[-1]=^"} <= set(first)
    assert {"x:IN=2", "x:END=2", "x:IN[-1]=2", "x:BEGIN=1"} <= set(second)
    assert len(set(first)) == len(first)
    assert "x:BEGIN=1" not in token_features(extractor, doc, is_train=True)[1]
