"""Tables of words: their files, what is found in them, and what templates read."""

import hypothesis.strategies as st
import numpy as np
import pytest
import spacy
from confection import Config
from hypothesis import given
from spacy import registry

from spacy_hosemi.features import Extractor, FeatureSet, Table, Tables, make_table
from spacy_hosemi.features.gazetteers.readers import make_table_reader
from spacy_hosemi.features.lexemes import LexemeReader
from spacy_hosemi.features.naming import feature_names

from ..helpers import make_doc, message_of
from .test_gazetteers import THROUGH, spans_of

NLP = spacy.blank("en")
ROWS = [("ada", "0110"), ("met", "10"), ("bob", "0111"), ("ada", "11")]


def make_tables(rows=ROWS, **settings) -> Tables:
    """The table "x"."""
    tables = Tables({"x": make_table(**settings)})
    tables.compile("x", rows)
    return tables


def find(tables, *words, what="x:VALUE") -> list[str | None]:
    orths = np.array([NLP.vocab[word].orth for word in words], np.uint64)
    return LexemeReader([what], tables).texts(NLP.vocab, orths)[what]


@pytest.mark.parametrize(
    "attr, rows, expected",
    [
        ("ORTH", ["Ada", "BOB"], ["1", None, None]),
        ("LOWER", ["ada", "bob"], ["1", "1", "2"]),
        ("LOWER", ["ADA", "Ada", "BOB"], ["1", "1", "3"]),  # as they come
        ("NORM", ["ada", "bob"], ["1", "1", "2"]),
        ("SHAPE", ["Xxx", "xxx"], ["1", "2", "1"]),
        ("PREFIX", ["A", "B"], ["1", None, "2"]),
        ("SUFFIX", ["ada", "Ada"], ["2", "1", None]),
    ],
)
def test_what_is_looked_up(attr, rows, expected):
    rows = [(word, str(k)) for k, word in enumerate(rows, start=1)]
    assert find(make_tables(rows, attr=attr), "Ada", "ada", "Bob") == expected


@pytest.mark.parametrize(
    "size, expected", [(1, ["0", "1"]), (3, ["011", "10"]), (20, ["0110", "10"])]
)
def test_prefixes_of_values(size, expected):
    values = find(make_tables(), "ada", "met", "eve", what=f"x:PREFIX{size}")
    assert values == [*expected, None]


words_W = st.text("aAbß", min_size=1, max_size=3)


@given(st.lists(st.tuples(words_W, st.sampled_from("123"))), st.lists(words_W))
def test_a_table_is_a_dictionary(rows, words):
    expected = {}
    for word, value in rows:
        expected.setdefault(word, value)
    tables = make_tables(rows, attr="ORTH")
    assert tables.size("x") == len(expected)
    assert find(tables, *words) == [expected.get(word) for word in words]


def test_without_rows():
    assert find(make_tables([]), "ada") == [None]
    assert find(Tables({"x": make_table()}), "ada") == [None]
    assert make_tables([]).size("x") == len(Tables()) == 0


def test_settings():
    assert make_table() == Table("LOWER", ())
    assert make_table("ORTH", [4, 6]) == Table("ORTH", (4, 6))


LENGTHS = -1, "1", 2.0, True, 1001, 10**9


@pytest.mark.parametrize(
    "name, values",
    [("attr", ["lower", "LEMMA"]), ("prefixes", [[4, 0], *([x] for x in LENGTHS)])],
)
def test_settings_out_of_range(name, values):
    for value in values:
        with pytest.raises(ValueError) as error:
            make_table(**{name: value})
        message = f"[HS077] table.{name} is {value!r}; expected "
        assert str(error.value).startswith(message)


@pytest.mark.parametrize("rows", [ROWS, []])
@pytest.mark.parametrize("through", THROUGH)
def test_copies(through, rows):
    tables = make_tables(rows, attr="ORTH", prefixes=[2])
    copy = through(tables)
    assert copy.settings == tables.settings
    assert find(copy, "ada", "bob", "eve") == find(tables, "ada", "bob", "eve")
    copy.compile("x", [("eve", "1")])
    assert find(tables, "eve") == [None]


def test_rows_of_another_table():
    with pytest.raises(KeyError):
        Tables({"y": make_table()}).load(make_tables().to_dict())


WORDS = [[0, 1, 2, 3], [3, 2, 1], [1, 1, 2]]
NO_TABLE = {
    "words": [*(np.array(x, np.uint64) for x in WORDS), np.arange(3), "abc"],
    "value": [*(np.array([0, 1, x], np.int32) for x in (4, -1)), np.arange(3)],
    "values": [[1, 2, 3], ["1"]],
}


@pytest.mark.parametrize("name", NO_TABLE)
def test_what_is_no_table(name):
    rows = make_tables().to_dict()["x"]
    for change in NO_TABLE[name]:
        with pytest.raises((ValueError, AttributeError)):
            Tables({"x": make_table()}).load({"x": {**rows, name: change}})


def test_names():
    features = FeatureSet(["x:VALUE", "x:VALUE[1]", "x:PREFIX2 & LOWER[-1]"])
    extractor = Extractor(features, tables=make_tables())
    doc = make_doc(NLP, "Ada", "who", "met")
    assert list(feature_names(extractor, doc, "inside")) == [
        ["x:VALUE=0110", None, "x:PREFIX2 & LOWER[-1]=01 & ^"],
        [None, "x:VALUE[1]=10", None],
        ["x:VALUE=10", "x:VALUE[1]=$", "x:PREFIX2 & LOWER[-1]=10 & who"],
    ]


def test_of_whole_segments():
    features = FeatureSet(whole=["x:PREFIX1+", "x:VALUE & x:VALUE[-1]"])
    extractor = Extractor(features, tables=make_tables())
    doc = make_doc(NLP, "Ada", "Bob", "who")
    assert {*spans_of(extractor, doc)} == {
        *((i, j, "x:PREFIX1+=0") for i, j in ((0, 1), (0, 2), (1, 2))),
        *((i, 3, "x:PREFIX1+=0 _") for i in (0, 1)),
        (0, 1, "x:VALUE & x:VALUE[-1]=0110 & 0110"),
        (0, 2, "x:VALUE & x:VALUE[-1]=0110 & 0111"),
        (1, 2, "x:VALUE & x:VALUE[-1]=0111 & 0111"),
    }


def test_replaced_rows_are_read_after_clear():
    tables = make_tables()
    extractor = Extractor(FeatureSet(["x:VALUE"]), tables=tables)
    doc = make_doc(NLP, "Ada", "Eve")
    before = extractor.read([doc]).keys["inside"][:, 0].tolist()
    tables.compile("x", [("eve", "0110")])
    extractor.clear()
    assert extractor.read([doc]).keys["inside"][:, 0].tolist() == before[::-1]


def test_the_vocabulary_stays_as_it_is():
    nlp = spacy.blank("en")
    before = list(nlp.vocab.strings)
    make_tables([("zyxomma", "1")])
    assert list(nlp.vocab.strings) == before


TABLE = 'word,cluster\nAda, 01 \n"New  York","1, 0"\n,11\nBob,\nAda,00\n'
COLUMNS = {"word": "w", "value": "c"}
TABLE_ROWS = [("Ada", "01"), ("New York", "1, 0"), ("Ada", "00")]


def message(path, **arguments):
    return message_of(make_table_reader, path, **arguments)


@pytest.mark.parametrize(
    "name, content, arguments, expected",
    [
        ("a.csv", "Ada,01\nBob,1\n", {}, [("Ada", "01"), ("Bob", "1")]),
        ("a.tsv", "Ada\t0 1\nBob\t1\r\n", {}, [("Ada", "0 1"), ("Bob", "1")]),
        ("a.TSV", "01\tAda\t7\n", {"word": 1, "value": 0}, [("Ada", "01")]),
        ("a.csv", "\ufeffAda,1\n\n , \n", {}, [("Ada", "1")]),
        ("a.csv", TABLE, {"word": "word", "value": "cluster"}, TABLE_ROWS),
        ("a.csv", "c,w\n1,Ada\n", {"word": "w", "value": 0}, [("Ada", "1")]),
        ("a.csv", b"M\xe1,1", {"encoding": "cp1252"}, [("Má", "1")]),
    ],
)
def test_files(write, name, content, arguments, expected):
    assert list(make_table_reader(write(name, content), **arguments)()) == expected


def test_the_file_is_opened_when_rows_are_asked_for(tmp_path):
    read = make_table_reader(tmp_path / "a.csv")
    with pytest.raises(ValueError, match="HS080.*a.csv"):
        next(read())
    (tmp_path / "a.csv").write_text("Ada,1")
    assert list(read()) == list(read()) == [("Ada", "1")]


@pytest.mark.parametrize(
    "content, arguments, parts",
    [
        ("", {}, ["[HS082]", "no entry for word 0 and value 1;"]),
        ("a,\n,b\n", {}, ["[HS082]", "no entry for word 0 and value 1;"]),
        ("w,c\n", COLUMNS, ["[HS082]", "no entry for word 'w' and value 'c';"]),
        ("Ada,1\nBob\n", {}, ["line 2 has no column 1;", "a row of length 1"]),
        ("Ada\t1\n", {}, ["line 1 has no column 1;", "a row of length 1"]),
        ("Ada,1\n", {"word": 2}, ["line 1 has no column 2;", "a row of length 2"]),
        ("Ada,1\n", {"value": -1}, ["line 1 has no column -1;", "of length 2"]),
        ("\nw,c\nAda,1\n", {"word": "W"}, ["line 2 has no column 'W';", "['w', 'c']"]),
        ("w,c\nAda,1\n", {"value": "d"}, ["line 1 has no column 'd';", "['w', 'c']"]),
        ('w,c\n"A\nb",1\nAda\n', {"value": "c"}, ["line 4 has no column 'c';"]),
    ],
)
def test_what_cannot_be_read(write, content, arguments, parts):
    path = write("a.csv", content)
    text = message(path, **arguments)
    assert text.startswith((f"[HS084] {path}, ", "[HS082]"))
    assert all(part in text for part in parts)
    for name in ("a.txt", "a.jsonl", "a"):
        text = message(write(name, content), **arguments)
        assert text.startswith("[HS081]") and "one of .csv, .tsv, or" in text


@pytest.mark.parametrize("word, value", [("0", "1"), ('"w"', '"c"'), ('"w"', "1")])
def test_in_a_config(tmp_path, word, value):
    (tmp_path / "a.csv").write_text("w,c\nAda,1\n")
    text = f'path = "{tmp_path / "a.csv"}"\nword = {word}\nvalue = {value}\n'
    config = f'[x]\n@readers = "spacy_hosemi.read_table.v1"\n{text}'
    read = registry.resolve(Config().from_str(config))["x"]
    assert list(read())[-1] == ("Ada", "1")
