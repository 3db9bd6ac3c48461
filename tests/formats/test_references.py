"""Names, dates, fields and kinds of references, as people write them."""

import json
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

from spacy_hosemi.formats.records import ExtractedField
from spacy_hosemi.formats.references.fields import (
    COMMON_LABELS,
    guess_kind,
    read_date,
    reference_of,
)
from spacy_hosemi.formats.references.names import read_names

from ..conftest import ROOT

FAMILIES = ("Marx", "O'Neill", "Müller-Lüdenscheidt", "Çelik", "Li", "de Groot")
GIVEN = ("K.", "J. P.", "H.-P.", "A.B.")
PEOPLE = st.lists(
    st.tuples(st.sampled_from(FAMILIES), st.sampled_from(GIVEN)), min_size=1, max_size=6
)
# How styles write one person and put several together.
ONE = {
    "family, given": lambda family, given: f"{family}, {given}",
    "given family": lambda family, given: f"{given} {family}",
    "Vancouver": lambda family, given: f"{family} " + given.translate(NO_DOTS),
}
NO_DOTS = str.maketrans("", "", ". ")
LAST = (", ", " and ", ", and ", " & ", ", & ", "; ")


@pytest.mark.parametrize("style", ONE)
@given(people=PEOPLE, last=st.sampled_from(LAST), more=st.sampled_from(["", " et al."]))
def test_names_with_initials(style, people, last, more):
    pytest.importorskip("bibtexparser")
    *first, end = [ONE[style](*person) for person in people]
    between = "; " if last == "; " else ", "
    text = last.join(filter(None, [between.join(first), end])) + more
    found, has_others = read_names(text)
    assert has_others == bool(more)
    assert [f"{x.particle} {x.family}".strip() for x in found] == [x for x, _ in people]
    letters = [x.given.translate(NO_DOTS) for x in found]
    assert letters == [given.translate(NO_DOTS) for _, given in people]


NUMBERS = ("33 ", "33. ", "[33] ", "(33)", "33) ", "33: ", "1.", "[Be99] ")
WITH_AND = (
    "the Victorian Equal Opportunity and Human Rights Commission",
    "the Labour & Health Office",
    "the Food and Drug Administration",
    "the Centers for Disease Control and Prevention",
)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", []),
        ("---", []),
        ("LI, Y., NG, A.", ["LI|Y.", "NG|A."]),
        ("Ivanov IV, Petrov PP", ["Ivanov|I. V.", "Petrov|P. P."]),
        ("Mihály Garcia - Marin, A - M Li", ["Garcia-Marin|Mihály", "Li|A.-M."]),
        ("Le Corbusier; von Goethe", ["Le Corbusier|", "Goethe|"]),
        ("(catalogo a cura di A. Vitolo)", ["Vitolo|A."]),
        ("Kefi (N.), In G, Ahn NG", ["Kefi|N.", "In|G.", "Ahn|N. G."]),
        ("[ CALDOGNO ],", ["CALDOGNO|"]),
        *((f"{n}Bergk, V., Li, W. E.", ["Bergk|V.", "Li|W. E."]) for n in NUMBERS),
        ("33 D. Knuth", ["Knuth|D."]),
        ("3M Company; 20th Century", ["3M Company|", "20th Century|"]),
        ("M. Mur- phy, Ben- David, S.", ["Murphy|M.", "Ben-David|S."]),
        ("DOE, René. LI, Ann. Noé, Al", ["DOE|René", "LI|Ann", "Noé|Al"]),
        *((f"Li, G. and {name}", ["Li|G.", f"{name}|"]) for name in WITH_AND),
    ],
)
def test_other_names(text, expected):
    pytest.importorskip("bibtexparser")
    found, _ = read_names(text)
    assert [f"{name.family}|{name.given}" for name in found] == expected


def test_names_of_300_lists():
    """A line has a list, and its people: "Family, Given, Suffix", or "{Organization}";
    "*" where others are left out."""
    pytest.importorskip("bibtexparser")
    lines = (Path(__file__).parent / "people.txt").read_text("utf8").splitlines()
    results = []
    for line in lines:
        text, people = line.split(" => ")
        names, has_others = read_names(text)
        columns = [(f"{x.particle} {x.family}", x.given, x.suffix) for x in names]
        found = [", ".join(filter(None, x)).strip() for x in columns]
        expected = people.replace("{", "").replace("}", "").split(" | ")
        results.append([*found, *["*"] * has_others] == expected)
    assert len(results) == 300
    assert sum(results) >= 0.98 * len(results)


@given(text=st.text(max_size=40))
def test_any_text_has_names_dates_and_fields(text):
    pytest.importorskip("bibtexparser")
    read_names(text)
    for parts in read_date(text):
        assert 1400 <= parts[0] <= 2099
    fields = [
        ExtractedField(0, len(text), label, text, None) for label in COMMON_LABELS
    ]
    assert all(value.strip() for value in reference_of(fields, COMMON_LABELS).values())


@pytest.mark.parametrize(
    "text, expected",
    [
        ("(1990a)", [[1990]]),
        ("May 2004", [[2004, 5]]),
        ("Sept. 3, 2001", [[2001, 9, 3]]),
        ("12th of March 1999", [[1999, 3, 12]]),
        ("2004-05-12", [[2004, 5, 12]]),
        ("2004-13-45", [[2004]]),
        ("1990–1995", [[1990], [1995]]),
        ("1990/91", [[1990]]),
        ("Mayor 1990", [[1990]]),
        ("15 novembre 1925", [[1925, 11, 15]]),
        ("3. März 1999", [[1999, 3, 3]]),
        ("set. 2001", [[2001, 9]]),
        ("17.03.2005", [[2005, 3, 17]]),
        ("2008年5月", [[2008, 5]]),
        ("2004/05/12", [[2004, 5, 12]]),
        ("1986, 20 June", [[1986, 6, 20]]),
        ("[1970] 1984", [[1984]]),
        ("[1993]", [[1993]]),
        ("(1923/1961)", [[1961]]),
        ("Originally published 1923; 1998", [[1998]]),
        ("1993, accessed 12 May 2015", [[1993]]),
        ("(accessed June 7, 2015)", []),
        ("in press", []),
    ],
)
def test_dates(text, expected):
    assert read_date(text) == expected


@pytest.mark.parametrize(
    "fields, expected",
    [
        ({"journal": "X"}, "article"),
        ({"booktitle": "Proc. of X"}, "inproceedings"),
        ({"booktitle": "A handbook", "publisher": "X"}, "incollection"),
        ({"type": "PhD thesis"}, "phdthesis"),
        ({"note": "Master's thesis"}, "mastersthesis"),
        ({"type": "Tesi di laurea"}, "mastersthesis"),
        ({"title": "Church's thesis", "publisher": "X"}, "book"),
        ({"institution": "X"}, "techreport"),
        ({"publisher": "X"}, "book"),
        ({"url": "X"}, "misc"),
        ({}, "misc"),
    ],
)
def test_kinds(fields, expected):
    assert guess_kind(fields)[0] == expected


VOLUMES = "2002;28(3)", "28, 3 (2002)", "28 (2002) 3", "28(3), 2002", "28(3)(2002)"
VOLUME = {"volume": "28", "number": "3", "date": "2002"}


@pytest.mark.parametrize(
    "label, value, expected",
    [
        ("title", "“A title.”", {"title": "A title"}),
        ("title", "A title,", {"title": "A title"}),
        ("journal", "J. Phys.", {"journal": "J. Phys."}),
        ("journal", "Nature.", {"journal": "Nature"}),
        ("author", "Marx, K.", {"author": "Marx, K."}),
        ("volume", "vol. 12, no. 3", {"volume": "12", "number": "3"}),
        ("volume", "41(6)", {"volume": "41", "number": "6"}),
        ("volume", "12", {"volume": "12"}),
        ("volume", "t. 2, n° 4", {"volume": "2", "number": "4"}),
        ("volume", "57(2003):", {"volume": "57", "date": "2003"}),
        *(("volume", volume, VOLUME) for volume in VOLUMES),
        ("volume", "2007, 41", {"volume": "41", "date": "2007"}),
        ("title", "Avoidance »", {"title": "Avoidance"}),
        ("title", "“On “X” and Y", {"title": "On “X” and Y"}),
        ("title", '"X" and "Y"', {"title": '"X" and "Y"'}),
        ("title", '3.5"', {"title": '3.5"'}),
        ("volume", "3 vols.", {"volume": "3 vols"}),
        ("pages", "pp. 3-5", {"pages": "3-5"}),
        ("pages", "12(3):4-6", {"volume": "12", "number": "3", "pages": "4-6"}),
        ("pages", "S12-S15", {"pages": "S12-S15"}),
        ("number", "Heft 2", {"number": "2"}),
        ("number", "Nature", {"number": "Nature"}),
        ("journal", "in Nature", {"journal": "Nature"}),
        ("journal", "In Vitro", {"journal": "In Vitro"}),
        ("container-title", "In the Proc. of X,", {"title": "Proc. of X"}),
        ("booktitle", "paper presented at the XY,", {"title": "XY"}),
        ("title", "On X. In:", {"title": "On X"}),
        ("title", "(Re)reading [sic]", {"title": "(Re)reading [sic]"}),
        ("edition", "(2nd ed.).", {"edition": "2nd"}),
        ("publisher", "(Wiley,", {"publisher": "Wiley"}),
        ("isbn", "ISBN 1-55738-811-3.", {"isbn": "1-55738-811-3"}),
        ("note", "(ISSN 0028-0836)", {"issn": "0028-0836"}),
        ("url", "<http://a.b/c>.", {"url": "http://a.b/c"}),
        ("genre", "PhD thesis, MIT", {"type": "PhD thesis", "school": "MIT"}),
        ("note", "Diss. Univ. Wien", {"type": "Diss", "school": "Univ. Wien"}),
        ("publisher", "Tesis, UBA", {"type": "Tesis", "school": "UBA"}),
        ("doi", "https://doi.org/10.1000/a.b(c).", {"doi": "10.1000/a.b(c)"}),
        ("doi", "http://example.org:80/422/", {"url": "http://example.org:80/422/"}),
        ("title:m", "The whole book", {"title": "The whole book"}),
        ("unknown", "x", {}),
        ("title", " .,", {}),
    ],
)
def test_fields(label, value, expected):
    field = ExtractedField(0, len(value), label, value, None)
    assert reference_of([field], COMMON_LABELS) == expected


def test_fields_with_the_same_key():
    values = [("author", "A. Lee"), ("author", "B. Li,"), ("note", "x"), ("note", "y")]
    fields = [ExtractedField(0, len(v), label, v, None) for label, v in values]
    found = reference_of(fields, COMMON_LABELS)
    assert found == {"author": "A. Lee; B. Li", "note": "x, y"}


def references():
    """The references of the corpus, each with the publication that it is of."""
    lines = (ROOT / "corpus" / "publications.jsonl").read_text("utf8").splitlines()
    known = {one["id"]: one for one in map(json.loads, lines)}
    for name in ("train", "dev", "test"):
        text = (ROOT / "corpus" / f"{name}.jsonl").read_text("utf8")
        for one in map(json.loads, text.splitlines()):
            spans = [(one["text"][i:j], label) for i, j, label in one["spans"]]
            yield known[one["publication"]], spans


def test_names_of_the_corpus():
    """In 19 styles; a family name without capitals or a comma before a given one can
    not be told from it."""
    pytest.importorskip("bibtexparser")
    results = []
    for publication, spans in references():
        lists = [text for text, label in spans if label == "author"]
        expected = [
            x.get("family", x.get("literal", "")).lower()
            for x in publication.get("authors", ())
        ]
        if len(lists) == 1:
            found, has_others = read_names(lists[0])
            families = [f"{x.particle} {x.family}".strip().lower() for x in found]
            wanted = expected[: len(families)] if has_others else expected
            results.append(families == wanted)
    assert len(results) > 600
    assert sum(results) / len(results) > 0.98


def test_dates_of_the_corpus():
    results = []
    for publication, spans in references():
        for text, label in spans:
            if label == "date" and publication["year"] in text:
                results.append(read_date(text)[0][0] == int(publication["year"]))
    assert len(results) > 600 and all(results)
