"""Gazetteer files: what each form gives, and what each broken file says."""

import csv
import gzip
import json
from itertools import islice

import pytest
from catalogue import REGISTRY
from confection import Config
from spacy import registry

from spacy_hosemi.features.gazetteers.readers import (
    make_folder_reader,
    make_gazetteer_reader,
)

from ..helpers import message_of

APPLE = {"label": "ORG", "pattern": "Apple"}
SF = {"label": "GPE", "pattern": [{"LOWER": "san"}, {"LOWER": "francisco"}]}
REGEX = {"label": "ORG", "pattern": [{"LOWER": {"REGEX": "app.*"}}]}
TABLE = 'name,city\n"Ada, Ltd.",Bath\n"Say ""A""",  New   York \n"Two\nlines",Ely\n'


def entries(path, **arguments):
    return list(make_gazetteer_reader(path, **arguments)())


def as_jsonl(*patterns):
    return "".join(json.dumps(pattern) + "\n" for pattern in patterns)


def message(path, **arguments):
    return message_of(make_gazetteer_reader, path, **arguments)


# --- each form --------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, content, arguments, expected",
    [
        ("a.txt", "Ada\nBath\n", {}, ["Ada", "Bath"]),
        ("a.txt", "no end of line", {}, ["no end of line"]),
        ("a.txt", "\n  New \t York\u00a0City \n \n\n", {}, ["New York City"]),
        ("a.txt", "a\r\nb\rc\n", {}, ["a", "b", "c"]),
        ("a.txt", "b\na\nb\n", {}, ["b", "a", "b"]),
        ("a.txt", "\ufeffAda\nBath", {}, ["Ada", "Bath"]),
        ("a.txt", "\ufeffAda", {"encoding": "UTF-8"}, ["Ada"]),
        ("a.txt", "Łódź".encode("utf-16"), {"encoding": "utf-16"}, ["Łódź"]),
        ("a.txt", "Málaga".encode("latin1"), {"encoding": "latin1"}, ["Málaga"]),
        ("A.v1.TXT", '"Ada", {x}', {}, ['"Ada", {x}']),
        ("a.jsonl", as_jsonl(APPLE, SF), {}, ["Apple", "san francisco"]),
        ("a.jsonl", "\ufeff \n" + as_jsonl(SF, APPLE), {"label": "ORG"}, ["Apple"]),
        ("a.jsonl", as_jsonl(REGEX, SF), {"label": "GPE"}, ["san francisco"]),
        ("a.jsonl", as_jsonl({**APPLE, "id": "apple"}), {}, ["Apple"]),
        ("a.csv", "Ada,1\n\n , \nBath,2\n", {}, ["Ada", "Bath"]),
        ("a.csv", TABLE, {"column": "name"}, ["Ada, Ltd.", 'Say "A"', "Two lines"]),
        ("a.csv", TABLE, {"column": "city"}, ["Bath", "New York", "Ely"]),
        ("a.csv", TABLE, {"column": 1}, ["city", "Bath", "New York", "Ely"]),
        ("a.csv", "\ufeffname\nAda\n", {"column": "name"}, ["Ada"]),
        ("a.csv", '\n id, "the name"\n1,Ada', {"column": "id"}, ["1"]),
        ("a.csv", "1,Ada\n2,\n3, \n", {"column": 1}, ["Ada"]),
        ("a.tsv", "id\tname\r\n1\tAda, Ltd.\r\n", {"column": "name"}, ["Ada, Ltd."]),
        ("a.tsv", 'Ada, Ltd.\t1\n"a\tb"\t2\n', {"column": 0}, ["Ada, Ltd.", "a b"]),
    ],
)
def test_entries(write, name, content, arguments, expected):
    assert entries(write(name, content), **arguments) == expected


@pytest.mark.parametrize("key", ["TEXT", "ORTH", "LOWER", "NORM", "LEMMA", "lower"])
def test_token_patterns(write, key):
    pattern = {"label": "X", "pattern": [{key: "New"}, {"TEXT": "York"}]}
    assert entries(write("a.jsonl", as_jsonl(pattern))) == ["New York"]


def test_path_as_text(write):
    assert entries(str(write("a.txt", "Ada"))) == ["Ada"]


# --- when it is read --------------------------------------------------------------


def test_the_file_is_opened_when_entries_are_asked_for(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("Ada")
    read = make_gazetteer_reader(path)
    texts = read()
    path.unlink()
    with pytest.raises(ValueError, match="HS080.*a.txt"):
        next(texts)
    path.write_text("Bath")
    assert list(read()) == ["Bath"]
    assert list(read()) == ["Bath"]


def test_entries_come_one_by_one(write):
    # the third line has no column 1, but nobody asks for it
    texts = make_gazetteer_reader(write("a.csv", "1,a\n2,b\n3\n"), column=1)()
    assert list(islice(texts, 2)) == ["a", "b"]


@pytest.mark.parametrize("name", ["a.txt", "a.csv"])
def test_long_entries(write, name):
    limit = csv.field_size_limit()
    long = "x" * (limit + 1)
    assert entries(write(name, f"a\n{long}\nb\n")) == ["a", long, "b"]
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize(
    "column, first",
    [("null", "name"), ("0", "name"), ("1", "city"), ('"city"', "Bath")],
)
def test_in_a_config(write, monkeypatch, column, first):
    # as spaCy resolves [initialize]: arguments are checked against the type hints
    name = "test_entries.read_gazetteer"
    monkeypatch.setitem(REGISTRY, ("spacy", "readers", name), make_gazetteer_reader)
    path = write("a.csv", TABLE)
    text = f"path = {json.dumps(str(path))}\ncolumn = {column}\n"
    config = Config().from_str(f'[x]\n@readers = "{name}"\n{text}')
    read = registry.resolve(config)["x"]
    assert next(read()) == first


# --- what is wrong ----------------------------------------------------------------


def test_missing_file(tmp_path):
    assert "HS080" in message(tmp_path / "a.txt")
    assert "HS080" in message(tmp_path / "no" / "a.json")


def test_folder(tmp_path):
    (tmp_path / "a.txt").mkdir()
    assert "a folder" in message(tmp_path)
    assert "HS081" in message(tmp_path / "a.txt")


OTHER_SUFFIXES = "a.json", "a", "a.txt.zip", ".txt", "txt"
NO_ENTRY = [
    ("a.txt", "", {}),
    ("a.txt", "\ufeff\n \n", {}),
    ("a.jsonl", "\n", {}),
    ("a.jsonl", as_jsonl({**APPLE, "pattern": " "}), {}),
    ("a.jsonl", as_jsonl(APPLE), {"label": "GPE"}),
    ("a.csv", "", {}),
    ("a.csv", "", {"column": "name"}),
    ("a.csv", "name,city\n", {"column": "name"}),
    ("a.csv", "1,\n2, \n", {"column": 1}),
]
OTHER_ENCODING = [
    ("a.txt", b"\xff", "utf8", 1),
    ("a.txt", b"Ada\n\xc3", "utf8", 2),
    ("a.txt", b"Ada\nM\xe1laga\nBath\n", "utf8", 2),
    ("a.txt", b"\xef\xbb\xbfAda\nBath\n\xff\n", "utf8", 3),
    ("a.txt", b"Ada\r\nBath\rEly\n\xff", "utf8", 4),
    ("a.txt", b"Ada\n" * 5000 + b"M\xe1laga\n" + b"Ada\n" * 5000, "utf8", 5001),
    ("a.txt", b"Ada\n" * 5000 + b"x" * 20_000 + b"\xff\n", "utf8", 5001),
    ("a.txt", b"Ada\n\xc3\xa4\n", "ascii", 2),
    ("a.txt", b"Ada\nBath\n\x81", "cp1252", 3),
    ("a.txt", "Ada\nBath\n".encode("utf-16") + b"\x00\xdcxx", "utf-16", 3),
    ("a.txt", "ä\n".encode("utf-16-le") * 9000 + b"\x00\xdcxx", "utf-16-le", 9001),
    ("a.txt", gzip.compress(b"Ada"), "utf8", 1),
    ("a.jsonl", as_jsonl(APPLE, APPLE).encode() + b"\xe1", "utf8", 3),
    ("a.csv", b"a\nb\n\xe1", "utf8", 3),
]
NO_COLUMN = [
    ("name,city\nAda,Bath\n", "names", 1, "['name', 'city']"),
    ("\n\nname,city\n", "Name", 3, "['name', 'city']"),
    ("name;city\nAda;Bath\n", "name", 1, "['name;city']"),
    ("name,city\nAda,Bath\nBob\n", "city", 3, "a row of length 1"),
    ('id,"a\nb",name\n1,"c\nd",Ada\n"2\n3",x\n', "name", 5, "a row of length 2"),
    ("a,b\n", 2, 1, "a row of length 2"),
    ("a,b\n", -1, 1, "a row of length 2"),
]
NO_ARGUMENT = [
    ("a.txt", {"column": "name"}),
    ("a.txt", {"column": 0}),
    ("a.txt", {"label": "ORG"}),
    ("a.csv", {"label": "ORG"}),
    ("a.jsonl", {"column": 0}),
    ("a.txt", {"encoding": "utf9"}),
    ("a.txt", {"encoding": "hex"}),
]
# Without an error the second one would swallow the rest of the file.
NO_PAIR = '"Weird Al" Yankovic,1', '"never closed,1\nAda,2\nBath,3'


@pytest.mark.parametrize(
    "name, content, arguments, parts",
    [
        *((name, "Ada", {}, ["HS081"]) for name in OTHER_SUFFIXES),
        *((*case, ["HS082"]) for case in NO_ENTRY),
        *(
            (name, data, {"encoding": encoding}, ["HS083", f"line {line} has"])
            for name, data, encoding, line in OTHER_ENCODING
        ),
        *(
            ("a.csv", data, {"column": x}, ["HS084", f"{n} has no column {x!r};", y])
            for data, x, n, y in NO_COLUMN
        ),
        *((x, "Ada", y, [f"[HS086] {next(iter(y))} is "]) for x, y in NO_ARGUMENT),
        *(
            ("a.csv", f'Ada,1\n"two\nlines",2\n{row}\n', {}, ["HS088", "in line 4 "])
            for row in NO_PAIR
        ),
    ],
)
def test_what_cannot_be_read(write, name, content, arguments, parts):
    text = message(write(name, content), **arguments)
    assert all(part in text for part in parts)


TOKENS = (
    *("{}", '"Apple"', '{"SHAPE": "Xxxx"}', '{"IS_TITLE": true}', '{"LOWER": 1}'),
    *('{"LOWER": {"IN": ["a", "b"]}}', '{"LOWER": "a", "OP": "?"}'),
    '{"LOWER": "a", "LEMMA": "a"}',
)


@pytest.mark.parametrize(
    "line, found",
    [
        ("Apple", "'Apple' is not JSON"),
        ('{"label": "ORG"', "is not JSON"),
        ("[" * 100_000, "[[... is not JSON"),
        ("[]", "[] is not an object"),
        ('{"pattern": "Apple"}', "has no 'label'"),
        ('{"label": "ORG"}', "has no 'pattern'"),
        ('{"label": 1, "pattern": "Apple"}', "the label 1"),
        ('{"label": "ORG", "pattern": null}', "the pattern None"),
        ('{"label": "ORG", "pattern": "\\ud83d"}', "surrogates not allowed"),
        ('{"label": "ORG", "pattern": []}', "the pattern []"),
        ('{"label": "ORG", "pattern": {"LOWER": "a"}}', "the pattern {'LOWER'"),
        *(
            (f'{{"label": "ORG", "pattern": [{{"LOWER": "a"}}, {x}]}}', "supported")
            for x in TOKENS
        ),
    ],
)
def test_patterns_that_cannot_be_read(write, line, found):
    path = write("a.jsonl", as_jsonl(APPLE) + "\n" + line + "\n")
    texts = make_gazetteer_reader(path)()
    assert next(texts) == "Apple"
    with pytest.raises(ValueError) as info:
        next(texts)
    assert str(info.value).startswith(f"[HS085] {path}, line 3: ")
    assert found in str(info.value)
    assert "'LEMMA'" in str(info.value)


PACKED = gzip.compress(b"Ada\nBath\n")


@pytest.mark.parametrize(
    "content",
    [b"Ada\nBath\n", PACKED[:-9], PACKED[:-8] + bytes(8), PACKED[:10] + b"\xff" * 20],
    ids=["plain", "truncated", "checksum", "damaged"],
)
@pytest.mark.parametrize("name", ["a.txt.gz", "a.csv.gz"])
def test_damaged_gzip(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    assert "HS087" in message(path)


def test_a_folder_has_a_file_for_each_list(tmp_path):
    (tmp_path / "cities.txt").write_text("Rome\n")
    with gzip.open(tmp_path / "rivers.csv.gz", "wt") as f:
        f.write("Tiber\n")
    read = make_folder_reader(tmp_path)(["cities", "rivers"])
    found = {name: [*entries()] for name, entries in read.items()}
    assert found == {"cities": ["Rome"], "rivers": ["Tiber"]}


def test_lists_without_a_file_are_empty(tmp_path):
    (tmp_path / "cities.txt").write_text("Rome\n")
    with pytest.warns(UserWarning, match=r"HSW31.*lists rivers, lakes"):
        read = make_folder_reader(tmp_path)(["rivers", "cities", "lakes"])
    found = {name: [*entries()] for name, entries in read.items()}
    assert found == {"rivers": [], "cities": ["Rome"], "lakes": []}
    # So are all without a folder; but a folder with no file at all is a wrong one.
    assert [*make_folder_reader(None)(["cities"])["cities"]()] == []
    read = make_folder_reader(tmp_path)(["lakes"])
    with pytest.raises(ValueError, match=r"HS080.*lakes\.txt"):
        [*read["lakes"]()]
