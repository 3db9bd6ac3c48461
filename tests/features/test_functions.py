"""What functions of the user's own list, and what is refused."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from spacy.tokens import Doc

from spacy_hosemi import from_word2features
from spacy_hosemi.features import (
    Extractor,
    FeatureSet,
    Functions,
    make_features,
    make_gazetteer,
    make_table,
)
from spacy_hosemi.features import functions as functions_module
from spacy_hosemi.features.instances import divide
from spacy_hosemi.features.naming import segment_namer, token_features
from spacy_hosemi.model.span_scorer import build_span_scorer

from ..helpers import make_doc

NLP = spacy.blank("en")

ONES = True, np.float32(1), np.int64(1)
features_of_token = st.lists(
    st.sampled_from(["a", "b", "", "ä=1"])
    | st.tuples(st.sampled_from(["a", "c"]), st.sampled_from([0, 1, -2, 0.5, *ONES])),
    max_size=3,
)


def orth(doc):
    return [[token.orth_] for token in doc]


def returns(found):
    return lambda doc: found


def make_extractor(functions, roles=None, **settings):
    return Extractor(FeatureSet(functions=Functions(functions, roles), **settings))


def fired(extractor, doc):
    """For each role and token the names and strengths of what fires."""
    found = {}
    for listed in extractor.read([doc]).listed:
        tokens = found.setdefault(listed.role, [[] for _ in doc])
        for k in np.flatnonzero(listed.keys).tolist():
            value = 1.0 if listed.strength is None else float(listed.strength[k])
            tokens[listed.token[k]].append((listed.name(k), value))
    return found


# --- what is read -----------------------------------------------------------------


@given(st.lists(features_of_token, max_size=4))
def test_lists_of_any_length(lists):
    doc = make_doc(NLP, *"abcd"[: len(lists)])
    expected = [
        [(f"f={text}", value) for text, value in pairs if text and value]
        for pairs in (
            [(x, 1) if isinstance(x, str) else x for x in of_token]
            for of_token in lists
        )
    ]
    extractor = make_extractor({"f": returns(lists)})
    assert fired(extractor, doc) == {"inside": expected}
    (listed,) = extractor.read([doc]).listed
    are_ones = all(value == 1 for pairs in expected for _, value in pairs)
    assert (listed.strength is None) == are_ones


def test_a_key_depends_on_role_function_and_text():
    roles = {"f": ["inside", "start"], "g": ["inside", "end", "within"]}
    extractor = make_extractor({"f": orth, "g": orth}, roles, inside=["ORTH"])
    reading = extractor.read([make_doc(NLP, "a", "b", "a")])
    places = [(x.role, x.function) for x in reading.listed]
    assert places == [(role, name) for name in roles for role in roles[name]]
    keys = np.array([x.keys for x in reading.listed])
    assert (keys[:, 0] == keys[:, 2]).all()
    distinct = np.concatenate([keys[:, :2].ravel(), reading.keys["inside"][:2, 0]])
    assert len(set(distinct.tolist())) == 2 * 5 + 2
    assert extractor.features.token_roles == ("inside", "start", "end", "within")


def counted(calls):
    return lambda doc: calls.append(doc) or orth(doc)


def test_a_function_is_called_once_for_all_its_roles():
    calls = []
    extractor = make_extractor({"f": counted(calls)}, {"f": ["start", "end"]})
    doc = make_doc(NLP, "a")
    extractor.read([doc])
    assert calls == [doc]


@pytest.mark.parametrize("most, n_again", [(1_000_000, 0), (2, 1), (0, 2)])
def test_documents_that_are_read_again(most, n_again, monkeypatch):
    """As long as not too much is listed, and never after the context."""
    monkeypatch.setattr(functions_module, "MOST_CACHED", most)
    calls = []

    def keys(doc):
        return extractor.listed([doc])[0].keys.tolist()

    extractor = make_extractor({"f": counted(calls)})
    docs = [make_doc(NLP, *words) for words in ("ab", "c")]
    expected = [keys(doc) for doc in docs]
    calls.clear()
    with extractor.features.functions.once():
        for _ in range(2):
            assert [keys(doc) for doc in docs] == expected
    assert calls == docs + docs[2 - n_again :]
    assert keys(docs[0]) == expected[0]
    assert calls[-1] is docs[0] and len(calls) == 3 + n_again


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_a_copy_reads_its_own_documents(copied):
    found = Functions({"f": orth})
    docs = [make_doc(NLP, word) for word in "ab"]
    with found.once():
        (of_first,) = found.read(docs[:1], lambda role, name: 7)
        other = copied(found)
        (again,) = found.read(docs[:1], lambda role, name: 7)
        assert again.first is of_first.first
    assert not other._caches
    (listed,) = other.read(docs[1:], lambda role, name: 7)
    assert listed.texts == ["b"]


def test_another_thread_reads_anew():
    """It may predict documents that change, while this one trains."""
    found, doc = Functions({"f": orth}), make_doc(NLP, "a")
    with found.once(), ThreadPoolExecutor(1) as pool:
        (first,) = found.read([doc], lambda role, name: 7)
        (other,) = pool.submit(found.read, [doc], lambda role, name: 7).result()
        assert other.texts == ["a"] and other.first is not first.first
        assert found.read([doc], lambda role, name: 7)[0].first is first.first


def test_documents_together():
    extractor = make_extractor({"f": lambda doc: [[str(len(doc))] for _ in doc]})
    docs = [make_doc(NLP, *words) for words in ("ab", "", "c", "")]
    (listed,) = extractor.read(docs).listed
    assert listed.token.tolist() == [0, 1, 2]
    assert listed.texts == ["2", "2", "1"]


def test_a_document_without_tokens_is_given_to_nobody():
    def fail(doc):
        raise AssertionError

    (listed,) = make_extractor({"f": fail}).read([make_doc(NLP)]).listed
    assert len(listed.token) == len(listed.keys) == len(listed.texts) == 0


def test_a_sentence_is_given_as_a_span():
    doc = make_doc(NLP, *"abc", sent_starts=[True, False, True])
    extractor = make_extractor({"f": lambda span: [[span.text, t.text] for t in span]})
    names = [
        [[name for name, _ in token] for token in fired(extractor, x.tokens)["inside"]]
        for x in divide(doc, "sents")
    ]
    assert names == [[["f=a b", "f=a"], ["f=a b", "f=b"]], [["f=c", "f=c"]]]


def test_token_features():
    lists = [["a", ("b", 2.0), ""], ["a"]]
    extractor = make_extractor(
        {"f": returns(lists)}, {"f": ["start", "end"]}, inside=["LOWER"]
    )
    assert token_features(extractor, make_doc(NLP, "x", "y")) == [
        ["LOWER=x", "f=a", "f=b"],
        ["LOWER=y", "f=a"],
    ]


def test_other_features_forget_no_function():
    """Tags on tokens read all as inside."""
    features = FeatureSet(functions=Functions({"f": orth}, {"f": ["start", "end"]}))
    assert features.on_tokens().functions.roles == {"f": ("inside",)}
    for other in (features, features.with_transitions(), features.with_lists(["x"])):
        assert other.functions.roles == {"f": ("start", "end")}


# --- what is refused --------------------------------------------------------------


@pytest.mark.parametrize("found", [None, "orth", {"@misc": "x"}, [orth]])
def test_not_a_function(found):
    with pytest.raises(TypeError, match=r"HS105.*features\.functions\.f is "):
        make_features(functions={"f": found})


@pytest.mark.parametrize("name", ["", "a b", "a.b", "f=", "LOWER", "_.topic", "x:IN"])
def test_names(name):
    with pytest.raises(ValueError, match="HS106"):
        make_features(functions={name: orth})


@pytest.mark.parametrize("kind", ["gazetteers", "tables"])
def test_the_name_of_a_list(kind):
    features = make_features(functions={"x": orth})
    made = make_gazetteer() if kind == "gazetteers" else make_table()
    with pytest.raises(ValueError, match="HS106.*'x'"):
        build_span_scorer(features=features, **{kind: {"x": made}})


@pytest.mark.parametrize(
    "roles, expected",
    [
        ({"g": ["inside"]}, r"HS383.* has 'g', and .*functions\] has .*\['f'\]"),
        ({"f": ["whole"]}, "HS042.*function_roles.f is 'whole'; expected one of"),
        ({"f": ["inside", "transition"]}, "HS042.*roles.f is 'transition'"),
        ({"f": []}, "HS042.*function_roles.f is ''"),
    ],
)
def test_roles(roles, expected):
    with pytest.raises(ValueError, match=expected):
        make_features(functions={"f": orth}, function_roles=roles)
    with pytest.raises(ValueError, match=r"HS383.*functions\] has none.*functions.F\]"):
        make_features(**F, function_roles={"F": ["inside"]})


@pytest.mark.parametrize(
    "found, shown",
    [
        ([["a"]], "1 lists"),
        ([["a"]] * 3, "3 lists"),
        (None, "None"),
        ({0: ["a"], 1: ["b"]}, "{0: "),
        ("ab", "'ab'"),
    ],
)
def test_another_number_of_tokens(found, shown):
    extractor = make_extractor({"f": returns(found)})
    match = f"HS107.*functions.f returned {shown}.* with 'x y'; expected a list of 2"
    with pytest.raises(ValueError, match=match):
        extractor.read([make_doc(NLP, "x", "y")])


class Broken(int):
    def __float__(self):
        raise KeyError(self)

    __str__ = __float__


Unlisted = type("Unlisted", (list,), {"__iter__": Broken.__float__})
# Either of two may be the first of a set.
order = dict.fromkeys(["__lt__", "__gt__"], lambda self, other: {}[other])
Unsorted = type("Unsorted", (str,), order)


def nested(times):
    items = {"a": "b"}
    for _ in range(times):
        items = {"a": items}
    return items


@pytest.mark.parametrize(
    "code, of_token",
    [
        *(("HS108", x) for x in ["a", None, 1, [1], [None], ["\ud800"], {1, "a"}]),
        *(("HS108", [x]) for x in [("a",), ("a", "b"), (1, "a"), ["a", None]]),
        *(("HS110", {"a": x}) for x in [None, [1], 1j, 10**400, b"\xff", nested(50)]),
        *(("HS110", x) for x in [{1: 2}, {"a": "b", "c": object()}, {"a": Broken()}]),
        *(
            ("HS108", x)
            for x in [[("a", Broken())], Unlisted("a"), {Unsorted("a"), ""}]
        ),
    ],
)
def test_no_feature(code, of_token):
    extractor = make_extractor({"f": returns([["a"], of_token])})
    where = ".*functions.f lists .* at token 1, 'y', of the doc.* begins with 'x y'"
    with pytest.raises(TypeError, match=code + where):
        extractor.read([make_doc(NLP, "v"), make_doc(NLP, "x", "y")][1:])


def fails_at(sent, i):
    return [sent[i][0], str(1 / (1 - i))]


@pytest.mark.parametrize(
    "function, where",
    [
        (lambda doc: doc.no_attribute, "AttributeError: .* for the doc"),
        (lambda doc: [x for x in doc[9:]][0], "IndexError: .* for the document"),
        (lambda doc: next(iter(())), "StopIteration: , for the document"),
        (from_word2features(fails_at), "ZeroDivision.*, at token 1, 'y', for the doc"),
        (
            from_word2features(fails_at, lambda doc: 1 // 0),
            "ZeroDivision.*, in its `sentence`, for the doc",
        ),
        *(
            (
                from_word2features(lambda s, i: ["x"], returns(items)),
                f"ValueError: {len(items)} items for 2 tokens, in its `sentence`, for",
            )
            for items in ([], ["x"], ["x"] * 3, "x y", np.zeros((3, 2)))
        ),
        (
            from_word2features(lambda s, i: 1 + "a"),
            "TypeError: .* at token 0, 'x', for",
        ),
    ],
)
def test_an_error_of_the_function_says_where(function, where):
    extractor = make_extractor({"f": function})
    match = f"HS387.*functions.f raised {where}.* begins with 'x y'"
    with pytest.raises(ValueError, match=match) as error:
        extractor.read([make_doc(NLP, "x", "y")])
    assert error.value.__cause__ is not None


def test_a_function_that_lists_others_when_it_is_called_again():
    words = ["a"]
    extractor = make_extractor({"f": lambda doc: [[*words]]})
    (listed,) = extractor.listed([make_doc(NLP, "x")])
    words.append("b")
    match = "HS388.*functions.f listed 1 features, and 2 when"
    with pytest.raises(ValueError, match=match):
        listed.name(0)


@pytest.mark.parametrize(
    "value", [float("nan"), np.float32("-inf"), -1e101, 10**400, Fraction(9**999)]
)
def test_a_value_that_is_too_large(value):
    extractor = make_extractor({"f": lambda doc: [[("a", value)]] * len(doc)})
    match = "HS109.*functions.f gives 'a' the value .*token 0, 'x', of"
    with pytest.raises(ValueError, match=match):
        extractor.read([make_doc(NLP, "x", "y")])


def says(table, calls):
    """A function of segments from their text to a value."""

    def function(doc, starts, ends):
        assert starts.dtype == ends.dtype == np.int32
        calls.append((doc.text, [*zip(starts.tolist(), ends.tolist())]))
        return [table.get(doc[i:j].text) for i, j in zip(starts, ends)]

    return function


NO_AND_YES = False, True, np.False_, np.True_


def segment_reader(function, *whole, **settings):
    functions = Functions({}, None, {"F": function})
    return Extractor(FeatureSet(whole=whole, functions=functions, **settings))


@settings(max_examples=60)
@given(
    docs=st.lists(st.lists(st.sampled_from("xyz"), max_size=5), min_size=1, max_size=3),
    table=st.dictionaries(
        st.lists(st.sampled_from("xyz"), min_size=1, max_size=3).map(" ".join),
        st.sampled_from([None, "", "a", "b & c", 0, 7, *NO_AND_YES]),
    ),
    width=st.integers(1, 4),
    beside=st.sampled_from(["ORTH[-1]", "ORTH*", "TOKENS", ""]),
)
def test_segment_functions_against_enumeration(docs, table, width, beside):
    """All segments of a document in one call; names, and keys that are one for each."""
    calls, docs = [], [make_doc(NLP, *words) for words in docs]
    template = f"F & {beside}" if beside else "F"
    extractor = segment_reader(says(table, calls), template, width=width)
    segments, n_calls, low, keys = extractor.read(docs).segments, len(calls), 0, {}
    assert n_calls == sum(len(doc) > 0 for doc in docs)
    expected, names = [], []
    for doc in docs:
        n = len(doc)
        windows = [(i, j) for i in range(n) for j in range(i + 1, n + 1)]
        windows = [(i, j) for i, j in windows if j - i <= width]
        assert n == 0 or (doc.text, windows) in calls[:n_calls]
        for i, j in windows:
            words = doc[i:j].text.split()
            more = {"ORTH[-1]": words[-1], "ORTH*": " ".join(words), "TOKENS": j - i}
            value = table.get(" ".join(words))
            if value is not None and str(value) not in ("", "False"):
                name = f"{template}={value}" + (f" & {more[beside]}" if beside else "")
                expected.append((low + i, low + j, name))
        name = segment_namer(extractor, doc)
        names += [name(k) for k in range(len(extractor.read([doc]).segments.keys))]
        low += n
    places = segments.start.tolist(), segments.end.tolist(), names
    assert [*zip(*places)] == expected
    for name, key in zip(names, segments.keys.tolist()):
        assert keys.setdefault(name, key) == key
    assert len({*keys.values()}) == len(keys)


def test_where_segment_functions_are_read():
    """By default alone; not with tags; in sentences that are spans."""
    calls, doc = [], Doc(NLP.vocab, words=[*"xyz"], sent_starts=[1, 0, 1])
    extractor = segment_reader(says({"z": 1, "x y": 2}, calls))
    assert [*map(str, extractor.features.roles["whole"])] == ["F"]
    assert extractor.read_of_docs() == ["segment_functions"]
    assert not extractor.features.on_tokens().functions
    parts = [instance.tokens for instance in divide(doc, "sents")]
    segments = extractor.read(parts).segments
    assert [text for text, _ in calls] == ["x y", "z"]
    assert [*zip(segments.start, segments.end)] == [(0, 2), (2, 3)]


F = {"segment_functions": {"F": len}}


@pytest.mark.parametrize(
    "settings, code",
    [
        *(
            ({"segment_functions": {name: len}}, "HS393.*capital")
            for name in ("f", "F-1", "TOKENS", "LOWER", "", "g:MATCH")
        ),
        ({"segment_functions": {"F": 3}}, "HS393.*'F': 3"),
        ({**F, "functions": {"F": orth}}, "HS393"),
        ({**F, "start": ["F"]}, "HS036.*whole segments only"),
        ({**F, "whole": ["F & g:MATCH"]}, "HS036.*up to the width"),
        ({**F, "whole": ["G"]}, "HS031"),
    ],
)
def test_names_and_roles_of_segment_functions(settings, code):
    with pytest.raises(ValueError, match=code):
        make_features(**settings)


@pytest.mark.parametrize(
    "function, code",
    [
        (lambda *_: 3, "HS394.*functions.F returned 3 .*here 3 values"),
        (lambda *_: [1], "HS394.*returned 1 values.*3 values"),
        (lambda *_: np.arange(4), "HS394.*returned 4 values.*3 values"),
        (lambda *_: "abc", "HS394"),
        (lambda *_: [1, 2.5, 3], "HS394.*2.5 .*one for 'x y'"),
        (lambda *_: [1, None, b"a"], "HS394.*one for 'y'"),
        (lambda *_: np.zeros((3, 2), int), "HS394"),
        (lambda *_: [1, "a", "\ud800"], "HS394.*one for 'y'"),
        (lambda *_: [1, 10**5000, "a"], "HS394.*of type int.*one for 'x y'"),
        (lambda *_: [*np.array([True, "a", Broken()], object)], "HS394.*one for 'y'"),
        (lambda *_: {}[1], "HS387.*segment_functions.F raised Key.*'x y'.*a value for"),
    ],
)
def test_what_segment_functions_may_return(function, code):
    with pytest.raises(ValueError, match=code):
        segment_reader(function).read([make_doc(NLP, "x", "y")])
