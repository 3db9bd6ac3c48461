"""Lines, texts of JSON and tables: what can be read, and how the rest is named."""

import codecs
import csv
import io
import json

import hypothesis.strategies as st
import pytest
from hypothesis import given

from spacy_hosemi.formats.inputs import read_column, read_json_lines
from spacy_hosemi.formats.lines import Line, read_lines
from spacy_hosemi.formats.texts import Fault

CHARACTER = st.characters(exclude_characters="\n\r", exclude_categories=["Cs"])
TEXT = st.text(CHARACTER, max_size=100)


def lines_of(data: bytes, max_chars=1000):
    return [*read_lines(io.BytesIO(data), "x", max_chars)]


def texts(found):
    return [one.text if isinstance(one, Line) else None for one in found]


@given(size=st.integers(0, 30), letter=st.sampled_from("a\u00e4\u6f22\U0001f600"))
def test_a_line_that_is_too_long(size, letter):
    data = f"before\n{letter * size}\nafter".encode()
    n_read = []
    found = [*read_lines(io.BytesIO(data), "x", 10, n_read.append)]
    assert texts(found) == ["before", letter * size if size <= 10 else None, "after"]
    assert [one.line for one in found] == [1, 2, 3]
    assert sum(n_read) == len(data)
    said = "more than 10 characters; expected at most --max-chars"
    assert size <= 10 or found[1].message == said


def test_a_long_line_is_not_in_memory():
    class Endless(io.RawIOBase):
        n_most = n_left = 0

        def readline(self, size=-1):
            self.n_most = max(self.n_most, size)
            self.n_left -= 1
            return b"x" * size if self.n_left else b"x\n"

    file = Endless()
    file.n_left = 100
    found = next(read_lines(file, "x", 10))
    assert isinstance(found, Fault) and file.n_left == 0
    assert file.n_most <= 2**16


def test_other_encodings_are_named():
    good, bad = lines_of("Größe\n".encode() + "Größe\n".encode("latin1"))
    assert good.text == "Größe"
    assert bad.message == "byte 0xf6 at 2 is no UTF-8; give --encoding, such as cp1252"
    (marked,) = lines_of(codecs.BOM_UTF8 + b"a")
    assert marked.text == "a"
    for name in ("utf-16", "utf-32", "utf-16-le", "utf-16-be"):
        (fault,) = lines_of("Ada\nBo\n".encode(name))
        assert fault.line is None and f"give --encoding {name}" in fault.message
    for data in (b"%PDF-1.4\n\xe2\xe3", b"PK\3\4\x14\0\n"):
        (fault,) = lines_of(data)
        assert "is a binary file, such as a PDF" in fault.message
    (line,) = lines_of(b"A\0d\0 a\0")
    assert line.text == "A\0d\0 a\0"


WIDE = "utf-16", "utf-16-le", "utf-32-be", "utf-8-sig", "utf-8", "gb18030", "utf-7"


@given(texts_=st.lists(TEXT, max_size=5), end=st.sampled_from(["\n", "\r\n"]))
@pytest.mark.parametrize("encoding", WIDE)
def test_encodings(texts_, end, encoding):
    texts_ = [text.replace("\ufeff", "") for text in texts_]
    data = "".join(text + end for text in [*texts_, "x" * 200])
    data = f"{data}no end".encode(encoding)
    n_read = []
    source = io.BytesIO(data)
    found = [*read_lines(source, "x", 100, n_read.append, encoding)]
    assert texts(found) == [*texts_, None, "no end"]
    assert [one.line for one in found] == [*range(1, len(texts_) + 3)]
    assert found[-2].message == "more than 100 characters; expected at most --max-chars"
    assert not source.closed


def test_lines_of_one_size_too_many():
    for encoding in ("utf-16-le", "utf-8"):
        data = "".join(f"{'x' * n}{end}" for n in (3, 4, 9) for end in ("\n", "\r\n"))
        data = ("\ufeff" + data).encode(encoding)
        found = texts(read_lines(io.BytesIO(data), "x", 3, encoding=encoding))
        assert found == ["xxx", "xxx", None, None, None, None]


def test_bytes_that_are_not_of_an_encoding():
    data = "".join(f"Ada {i}\n" for i in range(10_000)).encode("utf-16")
    *lines, fault = read_lines(io.BytesIO(data + b"a"), "x", 100, encoding="utf-16")
    assert texts(lines) == [f"Ada {i}" for i in range(len(lines))] and len(lines) > 5000
    message = f"is not utf-16 after line {len(lines):,}: truncated data"
    assert fault.line is None and message in fault.message
    args = io.BytesIO(b"a\x81\nb\n"), "x", 100
    fault, line = read_lines(*args, encoding="cp1252")
    assert fault.message == "byte 0x81 at 1 is no CP1252; see --encoding"
    assert (fault.line, line.text) == (1, "b")
    (fault,) = read_lines(io.BytesIO(b"xn--a"), "x", 100, encoding="idna")
    assert fault.message.startswith("is not idna: ")
    (fault,) = read_lines(io.BytesIO(b"+2AE-"), "x", 100, encoding="utf-7")
    assert fault.message.startswith("has half a surrogate pair")


@pytest.mark.parametrize(
    "line, message",
    [
        ("{", "is not JSON: Expecting property name"),
        ("[" * 100_000, "is not JSON"),
        ("[1]", "expected an object, found [1]"),
        ('{"a": 1}', 'the key "text" is missing; keys are "a"; give --text-key'),
        ("{}", 'the key "text" is missing; keys are none'),
        ('{"text": null}', 'expected a string as "text", found None'),
        ('{"text": "\\ud800"}', '"text" has half a surrogate pair'),
    ],
)
def test_bad_json(line, message):
    source = lines_of(f'{{"text": "a"}}\n\n{line}\n{{"text": "b"}}'.encode(), 10**6)
    first, bad, last = read_json_lines(source, "text")
    assert (first.text, last.text, last.line) == ("a", "b", 4)
    assert isinstance(bad, Fault) and (bad.path, bad.line) == ("x", 3)
    assert bad.message.startswith(message)


CELL = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=6)
MORE = st.sampled_from(["", "\n", '"', ",", "a\nb"])
ROWS = st.lists(st.tuples(CELL, st.builds(str.__add__, CELL, MORE)), max_size=5)


@given(rows=ROWS, delimiter=st.sampled_from(",;\t"))
def test_a_column(rows, delimiter):
    file = io.StringIO()
    table = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    table.writerows([("key", "what it says"), *rows])
    source = lines_of(file.getvalue().encode())
    found = [*read_column(source, "what it says")]
    assert texts(found) == [text for _, text in rows]
    begins = [1]
    for row in [("key", "what it says"), *rows]:
        n_lines = len(json.dumps("".join(row)).split("\\n"))
        begins.append(begins[-1] + n_lines)
    assert [one.line for one in found] == begins[1:-1]


def test_bad_rows():
    data = b'a,b\n1,2\n\n3\n"4",5"\n"6"7,8\n9,10\n'
    found = [*read_column(lines_of(data), "b")]
    assert texts(found) == ["2", None, '5"', None, "10"]
    assert [one.line for one in found] == [2, 4, 5, 6, 7]
    assert found[1].message == "1 values; expected 2, with 'b'"
    assert found[3].message.startswith("no row of a table")
    for empty in (b"", b"a,c\n1,2\n"):
        with pytest.raises(ValueError, match="HS162"):
            [*read_column(lines_of(empty), "b")]
    long = [*read_column(lines_of(b"a,b\n1," + b"x" * 50 + b"\n3,4\n", 20), "b")]
    assert texts(long) == [None, "4"]
