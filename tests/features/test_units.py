"""Templates that see a whole segment: against plain Python over all windows."""

from dataclasses import replace
from itertools import groupby

import hypothesis.strategies as st
import pytest
import spacy
from hypothesis import given

from spacy_hosemi.features import Extractor, FeatureSet, Gazetteers, make_gazetteer
from spacy_hosemi.features.naming import segment_namer
from spacy_hosemi.features.segment_attributes import SEGMENT_ATTRIBUTES

from ..helpers import make_doc
from .test_gazetteers import spans_of

NLP = spacy.blank("en")

# Lists of words in their own spelling; no entry has a wordless token.
ENTRIES = {"x": [("a",), ("a", "Bb"), ("Bb", "a", "Bb", "a", "a", "a")], "y": [("Bb",)]}


def make_extractor(*whole, entries=ENTRIES, **settings) -> Extractor:
    lists = Gazetteers({name: make_gazetteer("ORTH") for name in entries})
    for name, words in entries.items():
        lists.compile(name, map(" ".join, words), NLP)
    return Extractor(FeatureSet(whole=whole, **settings), lists)


def names_of(text, *words, **settings) -> dict[str, str]:
    """By the text of each segment, what a template reads of it."""
    doc = make_doc(NLP, *words)
    spans = spans_of(make_extractor(text, **settings), doc)
    return {doc[i:j].text: name.partition("=")[2] for i, j, name in spans}


@pytest.mark.parametrize("role", ["inside", "start", "end"])
@pytest.mark.parametrize(
    "text, reason",
    [
        ("TOKENS", "TOKENS is read of whole segments only"),
        ("LOWER & BALANCED", "BALANCED is read of whole segments only"),
        ("x:MATCH", "x:MATCH is read of whole segments only"),
        ("LOWER*", "'*' reads all tokens of whole segments only"),
        ("LOWER[-1] & SHAPE+", "'+' reads all tokens of whole segments only"),
    ],
)
def test_only_of_whole_segments(role, text, reason):
    with pytest.raises(ValueError) as error:
        FeatureSet(**{role: [text]})
    assert f"[HS036] feature template '{text}' stands in the role" in str(error.value)
    assert f"in the role {role}, but {reason};" in str(error.value)


@pytest.mark.parametrize(
    "text",
    ["TOKENS[1]", "BALANCED*", "LOWER & TOKENS[-1]"]
    + ["x:MATCH[1]", "x:MATCH[-1:1]", "x:MATCH*"],
)
def test_a_segment_has_no_neighbours(text):
    expected = "HS036.*in the role whole, but .* of the segment, not of one of its "
    with pytest.raises(ValueError, match=expected):
        FeatureSet(whole=[text])


@pytest.mark.parametrize("text", ["MATCH", "x:TOKENS", "x:BALANCED", "NOPE*"])
def test_unknown_attributes(text):
    with pytest.raises(ValueError, match="HS031.*'BALANCED'"):
        make_extractor(text)


def test_two_lists_in_a_template():
    with pytest.raises(ValueError, match="HS049.*'x:MATCH & y:MATCH'"):
        make_extractor("x:MATCH & y:MATCH")
    make_extractor("x:MATCH & y:IN", "x:MATCH & x:MATCH")


# --- what is read -----------------------------------------------------------------


@pytest.mark.parametrize(
    "text, expected",
    [
        ("LOWER", {"A": "a", "b": "b", "A b": "a"}),
        ("LOWER[-1]", {"A": "a", "b": "b", "A b": "b"}),
        ("LOWER[1]", {"A b": "b"}),
        ("LOWER[-2]", {"A b": "a"}),
        ("LOWER[0] & LOWER[-1]", {"A": "a & a", "b": "b & b", "A b": "a & b"}),
        ("LOWER*", {"A": "a", "b": "b", "A b": "a b"}),
        ("IS_TITLE*", {"A": "1", "A b": "1 _"}),
        ("BIAS+", {"A": "1", "b": "1", "A b": "1"}),
        ("TOKENS & BIAS*", {"A": "1 & 1", "b": "1 & 1", "A b": "2 & 1 1"}),
        ("NUMBER*", {"A": "initial", "A b": "initial _"}),
        ("SHORT_SHAPE+", {"A": "X", "b": "x", "A b": "X x"}),
        ("BALANCED", {}),
    ],
)
def test_names(text, expected):
    assert names_of(text, "A", "b") == expected


def test_lengths():
    found = names_of("TOKENS", *map(str, range(30)), width=30)
    by_length = {len(text.split()): name for text, name in found.items()}
    assert [by_length[k] for k in range(1, 7)] == [str(k) for k in range(1, 7)]
    assert [by_length[k] for k in (7, 8)] == ["7-8"] * 2 != [by_length[9]] * 2
    assert [by_length[k] for k in (9, 12, 13, 20)] == ["9-12"] * 2 + ["13-20"] * 2
    assert by_length[21] == by_length[30] == "21+"


@pytest.mark.parametrize("n", [0, 1, 5])
def test_any_width(n):
    spans = spans_of(make_extractor("TOKENS", width=10**9), make_doc(NLP, *"a" * n))
    expected = [(i, j) for i in range(n) for j in range(i + 1, n + 1)]
    assert [(i, j) for i, j, _ in spans] == expected


def test_values_that_look_like_others():
    """A value with spaces, or "_", or with a backslash is told from a sequence."""
    words = ["a b", "a", "b", "_", "\\_", "\\", "a\\", "b"]
    doc = make_doc(NLP, *words)
    extractor = make_extractor("LOWER*", "SUFFIX1*", "LOWER & LOWER[-1]", width=3)
    names = [name for *_, name in spans_of(extractor, doc)]
    keys = extractor.read([doc]).segments.keys.tolist()
    assert len(set(names)) == len(set(zip(names, keys))) == len(set(keys))
    assert "LOWER*=a\\ b a" in names


# --- brackets and quotation marks -------------------------------------------------


@pytest.mark.parametrize(
    "text, expected",
    [
        ("no marks", None),
        ("(a) [b] {c} <d>", "yes"),
        ("a)b(c", "brackets open"),
        ("ask 'why' now", "yes"),
        ('"a', "quotes open"),
        ('" a "', "yes"),
        ("“a b”", "yes"),
        ("„a b“", "yes"),
        ("”a b”", "yes"),
        ("«a» »b«", "yes"),
        ("‘a’", "yes"),
        ("‚a‘", "yes"),
        ("“a (b", "both open"),
        ("“a) b", "both open"),
        ("“a (b)", "quotes open"),
        ("don't ask O’Neil", None),
        ("John's book isn't his'n", None),
        ("the authors' book", "quotes open"),  # which cannot be known
        ("“it's John’s”", "yes"),
    ],
)
@pytest.mark.parametrize("divide", [NLP, str.split], ids=["spacy", "spaces"])
def test_balance(divide, text, expected):
    doc = NLP(text) if divide is NLP else make_doc(NLP, *divide(text))
    found = spans_of(make_extractor("BALANCED", width=20), doc)
    of_all = [name for i, j, name in found if (i, j) == (0, len(doc))]
    assert of_all == ([] if expected is None else [f"BALANCED={expected}"])


# Words and whether a space follows.
marked_n = st.lists(
    st.tuples(st.text("()'“”a", min_size=1, max_size=3), st.booleans()), max_size=6
)


def naive_balance(tokens) -> str | None:
    """A stack of brackets and a count of quotes, for tokens with what stands before."""
    stack, n_quotes, has_marks, is_broken = [], 0, False, False
    for before, word in tokens:
        for p, c in enumerate(word):
            last = word[p - 1] if p else before
            is_apostrophe = c == "'" and last.isalnum() and word[p + 1 :][:1].isalnum()
            if c == "a" or is_apostrophe:
                continue
            has_marks = True
            if c == "(":
                stack.append(c)
            elif c == ")":
                is_broken |= not stack
                stack = stack[:-1]
            else:
                n_quotes += 1
    if not has_marks:
        return None
    is_open, is_odd = is_broken or bool(stack), n_quotes % 2 == 1
    names = {(True, False): "brackets open", (False, True): "quotes open"}
    return names.get((is_open, is_odd), "both open" if is_open else "yes")


@given(marked_n)
def test_balance_against_a_stack(tokens):
    words, spaces = zip(*tokens) if tokens else ((), ())
    doc = make_doc(NLP, *words, spaces=list(spaces))
    before = ["", *("" if space else word[-1] for word, space in tokens)]
    pairs, expected = list(zip(before, words)), []
    for i in range(len(doc)):
        for j in range(i + 1, len(doc) + 1):
            # as the first one is read in the document, whatever the segment
            found = naive_balance(pairs[i:j])
            expected += [(i, j, f"BALANCED={found}")] if found else []
    assert spans_of(make_extractor("BALANCED", width=9), doc) == expected


# --- all kinds, all windows -------------------------------------------------------

WORDS = ["a", "A", "Bb", "Bb", "_", "-", "_x", "a b", "(", ")"]
LENGTHS = {7: "7-8", 8: "7-8"}


def sequence(read, is_run=False):
    def of_segment(words):
        values = [*map(read, words)]
        if is_run:
            values = [value for value, _ in groupby(values)]
        return tuple(values) if any(values) else None

    return of_segment


def suffix(word):
    return word[-1].lower() if len(word) > 1 else None


def is_title(word):
    return "1" if word.istitle() else None


def brackets(words):
    return naive_balance([("", word) for word in words if word in "()"])


# What each atom reads of the words of a segment.
ATOMS = {
    "LOWER": lambda words: words[0].lower(),
    "LOWER[-1]": lambda words: words[-1].lower(),
    "LOWER[1]": lambda words: words[1].lower() if len(words) > 1 else None,
    "LOWER[-3]": lambda words: words[-3].lower() if len(words) > 2 else None,
    "SUFFIX1": lambda words: suffix(words[0]),
    "IS_TITLE[-2]": lambda words: is_title(words[-2]) if len(words) > 1 else None,
    "LOWER*": sequence(str.lower),
    "SUFFIX1*": sequence(suffix),
    "IS_TITLE*": sequence(is_title),
    "IS_TITLE+": sequence(is_title, is_run=True),
    "LOWER+": sequence(str.lower, is_run=True),
    "TOKENS": lambda words: LENGTHS.get(len(words), len(words)),
    "BALANCED": brackets,
}


def has_word(token) -> bool:
    return any(c.isalnum() for c in token)


def matches_of(words, name) -> list[tuple[int, int, int]]:
    """(start, end, size): an entry, up to three wordless tokens on each side of it."""
    found = []
    n = len(words)
    for i in range(n):
        for j in range(i + 1, n + 1):
            if tuple(words[i:j]) not in ENTRIES[name]:
                continue
            for first in range(max(i - 3, 0), i + 1):
                for last in range(j, min(j + 3, n) + 1):
                    around = [*words[first:i], *words[j:last]]
                    if not any(map(has_word, around)):
                        found.append((first, last, min(j - i, 6)))
    return found


def expect(words, atoms, width) -> list[tuple[int, int, tuple]]:
    """(start, end, values) of one template."""
    lists = [atom.partition(":")[0] for atom in atoms if ":" in atom]
    if lists:
        segments = matches_of(words, lists[0])
    else:
        n = len(words)
        every = [(i, j, 0) for i in range(n) for j in range(i + 1, n + 1)]
        segments = [(i, j, 0) for i, j, _ in every if j - i <= width]
    found = []
    for i, j, size in segments:
        values = tuple(size if ":" in x else ATOMS[x](words[i:j]) for x in atoms)
        if None not in values:
            found.append((i, j, values))
    return found


templates_T = st.lists(
    st.tuples(
        st.lists(st.sampled_from(list(ATOMS)), min_size=1, max_size=3),
        st.sampled_from([[], [], ["x:MATCH"], ["y:MATCH"]]),
    ).map(lambda parts: tuple(parts[0] + parts[1])),
    min_size=1,
    max_size=5,
    unique=True,
)
docs_D = st.lists(st.lists(st.sampled_from(WORDS), max_size=8), max_size=3)


@given(docs_D, templates_T, st.integers(1, 4))
def test_every_window(docs, templates, width):
    """Presence, values, keys and names agree with plain loops."""
    texts = [" & ".join(atoms) for atoms in templates]
    extractor = make_extractor(*texts, width=width)
    assert list(map(str, extractor.features.roles["whole"])) == texts
    key_of, of_key, name_of = {}, {}, {}
    for words in docs:
        doc = make_doc(NLP, *words)
        found, name = extractor.read([doc]).segments, segment_namer(extractor, doc)
        triples = list(zip(found.start, found.end, found.template, strict=True))
        expected = {
            (i, j, t): values
            for t, atoms in enumerate(templates)
            for i, j, values in expect(words, atoms, width)
        }
        assert len(triples) == len(expected)
        assert set(triples) == set(expected)
        for k, (where, key) in enumerate(zip(triples, found.keys.tolist())):
            values = where[2], expected[where]
            assert key
            assert key_of.setdefault(values, key) == key
            assert of_key.setdefault(key, values) == values
            assert name_of.setdefault(key, name(k)) == name(k)
            assert name(k).startswith(f"{texts[where[2]]}=")
    assert len(set(name_of.values())) == len(name_of)


def test_names_read_all_tokens_once(monkeypatch):
    balanced, n_read = SEGMENT_ATTRIBUTES["BALANCED"], []

    def values(docs, start, end):
        n_read.append(len(start))
        return balanced.values(docs, start, end)

    counted = replace(balanced, values=values)
    monkeypatch.setitem(SEGMENT_ATTRIBUTES, "BALANCED", counted)
    name = segment_namer(make_extractor("BALANCED"), make_doc(NLP, "(", "a", ")"))
    n_before = len(n_read)
    assert [name(k) for k in range(5)].count("BALANCED=yes") == 1
    assert len(n_read) == n_before


def test_a_list_read_of_the_tokens_of_a_segment():
    # every window, not the entries of the list
    found = names_of("x:IN*", "c", "a", "Bb", width=3)
    assert found == {
        "c a Bb": "_ 2 2",
        "c a": "_ 2",
        "a Bb": "2 2",
        "a": "2",
        "Bb": "2",
    }
    assert names_of("x:BEGIN & x:END[-1]", "a", "Bb", "c") == {
        "a": "2 & 1",
        "a Bb": "2 & 2",
    }


def test_attributes_of_documents():
    doc = make_doc(NLP, "a", "b", "c", spaces=[False, True, True])
    extractor = make_extractor("SPACY*", "SENT_START*", "POSITION", width=2)
    names = {name for *_, name in spans_of(extractor, doc)}
    assert {"SPACY*=_ 1", "SPACY*=1 1", "SENT_START*=1 _", "POSITION=1"} <= names
    assert "SPACY*=_" not in names


def test_the_same_template_in_another_role():
    extractor = Extractor(FeatureSet(["LOWER"], ["LOWER"], ["LOWER"], ["LOWER"]))
    reading = extractor.read([make_doc(NLP, "a")])
    keys = [int(keys[0, 0]) for keys in reading.keys.values()]
    assert len({*keys, *reading.segments.keys.tolist()}) == 4


def test_keys_are_the_same_in_every_process():
    # saved models contain them
    found = make_extractor("LOWER*", "TOKENS").read([make_doc(NLP, "Ada")]).segments
    assert found.keys.tolist() == [3091036162701110472, 11516472665240424573]


def fuzzy_extractor():
    settings = {
        "x": make_gazetteer(fuzzy={"similarity": "edit", "threshold": 0.75}),
        "y": make_gazetteer("LOWER"),
    }
    lists = Gazetteers(settings)
    for name, entries in (("x", ["Bb abab", "Bb"]), ("y", ["a (", "bb a"])):
        lists.compile(name, entries, NLP)
    whole = "x:MATCH", "x:FUZZY_MATCH & BALANCED", "x:SIMILARITY", "y:MATCH", "LOWER*"
    tokens = ["x:FUZZY_IN", "x:BEGIN", "y:END", "SPACY", "POSITION", "LOWER[-1:2]"]
    return Extractor(FeatureSet(tokens, whole=whole, width=2), lists)


@pytest.mark.parametrize(
    "extractor",
    [
        make_extractor("LOWER*", "TOKENS & x:MATCH", inside=["LOWER[-1:2]"]),
        fuzzy_extractor(),
    ],
)
@given(
    documents=st.lists(
        st.lists(st.sampled_from(["a", "Bb", "abax", "(", "'"]), max_size=5), max_size=4
    )
)
def test_documents_that_are_read_together(extractor, documents):
    """As each alone, one behind the other."""
    docs = [make_doc(NLP, *words) for words in documents or [[]]]
    together, offset = extractor.read(docs), 0
    found = zip(together.segments.start.tolist(), together.segments.end.tolist())
    expected_spans, expected_keys, strengths, rows = [], [], [], []
    for doc in docs:
        reading = extractor.read([doc])
        segments = reading.segments
        spans = zip(segments.start.tolist(), segments.end.tolist(), strict=True)
        expected_spans += [(i + offset, j + offset) for i, j in spans]
        expected_keys += segments.keys.tolist()
        strengths += segments.strength.tolist()
        rows += reading.keys["inside"].tolist()
        offset += len(doc)
    assert [*found] == expected_spans
    assert together.segments.keys.tolist() == expected_keys
    assert together.segments.strength.tolist() == strengths
    assert together.keys["inside"].tolist() == rows
