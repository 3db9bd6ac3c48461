"""Each finding: on a small corpus that has it, and on one that has not."""

from collections import Counter

import hypothesis.strategies as st
import pytest
import spacy
from hypothesis import given, settings
from spacy.tokens import Doc, Span

from spacy_hosemi.formats.texts import Fault
from spacy_hosemi.inspection.corpus import CorpusPart, squeezed
from spacy_hosemi.inspection.label_counts import count_labels
from spacy_hosemi.inspection.report import inspect

from ..helpers import TRAIN, references

NLP = spacy.blank("en")


def make_part(*marked, name="train") -> CorpusPart:
    docs = references(marked)
    return CorpusPart(name, docs, [f"{name}:{k}" for k in range(1, len(docs) + 1)])


def look(train, dev=None):
    return inspect(train, dev, NLP)


def found(train, dev=None) -> dict:
    report = look(train, dev)
    findings = report.train.findings + (report.dev.findings if dev else [])
    return {one.name: one for one in findings}


def only(name, train, dev=None):
    """The finding of a name, which the clean corpus has not."""
    assert name not in found(make_part(*TRAIN), make_part("[PER Ada] [LOC here]"))
    return found(train, dev)[name]


def test_clean_corpus():
    report = look(make_part(*TRAIN))
    assert not report.has_faults
    assert {x.name for x in report.train.findings} == {"few-documents", "rare-labels"}


MAY = ["[A May] 1", "[A may] 2", "[B May] 3", "[B May] 4", "[B MAY] 5"]
NEW_YORK = [*(f"[A New York] {k}" for k in (1, 2, 3)), "in New York 4"]
BRACKETS = [f"[A (x{k})] y" for k in range(39)]


@pytest.mark.parametrize(
    "name, marked, total, examples, good",
    [
        ("few-documents", ["[A x]"] * 99, None, [], ["[A x]"] * 100),
        ("no-outside", ["[A x] [B y]"], None, [], ["[A x] [B y]", "[A z] ."]),
        (
            "twice-in-train",
            ["[A x] y", "[A z]", "[A x] y", "[A x] y"],
            (2, 4),
            ['3 times: "x y" (train:1, train:3)'],
            ["[A x] y", "[A z]"],
        ),
        (
            "other-documents",
            ["[A x] y", "[B x] y", "x [B y]", "[A x] y"],
            (2, 4),
            [
                'train:1 and train:2: "x" is A in the first, B in the second',
                'train:1 and train:3: "x" is A in the first alone',
            ],
            ["[A x] y", "[A x] y"],
        ),
        ("other-labels", MAY, (2, 5), ['"May": B 3, A 2'], MAY[1:]),
        (
            "left-out",
            NEW_YORK,
            None,
            ['"New York": 3 times a span, 1 not, as in train:4'],
            [*NEW_YORK, "New York", "New York"],
        ),
        (
            "cut-brackets",
            [*BRACKETS, "([A z)] y", "[A (v] ) y"],
            None,
            ['train:40: A "z)"', 'train:41: A "(v"'],
            [*BRACKETS, "([A z]) y", "[A a) z] b", "[A (]z)"],
        ),
    ],
)
def test_what_is_found_in_train(name, marked, total, examples, good):
    one = found(make_part(*marked))[name]
    assert one.is_fault == (name == "other-documents")
    assert total in (None, (one.found, one.total))
    assert not examples or one.examples == examples
    assert name not in found(make_part(*good))


def test_no_spans():
    train = make_part("no one", "is here")
    assert only("no-spans", train).is_fault
    train.docs[0].spans["sc"] = [Span(train.docs[0], 0, 1, "X")]
    one = found(train)
    assert "doc.spans" in one["no-spans"].text and one["span-groups"].found == 1


def test_labels():
    one = only("one-label", make_part("[A x] y", "[A z]"))
    assert not one.is_fault
    both = make_part("[A x] y"), make_part("[B x] y")
    assert only("labels-of-dev-only", *both).is_fault
    assert "B (1)" in found(*both)["labels-of-dev-only"].text
    assert "A (1)" in found(*both)["labels-of-train-only"].text
    frequent = [f"[A x{k}]" for k in range(10)]
    assert "B (1)" in found(make_part(*frequent, "[B y]"))["rare-labels"].text
    assert "rare-labels" not in found(make_part(*frequent))
    alike = make_part("[Title x] [title y] [TI_TLE z]")
    assert '"TI_TLE" and "Title" and "title"' in only("labels-alike", alike).text


def test_in_train_and_dev():
    train = make_part("[A Ada] came .", "[A Bob] went")
    dev = make_part("[A ADA]  came", "[A Bob] went", "[A Eve]", name="dev")
    one = only("in-train-and-dev", train, dev)
    assert one.is_fault and (one.found, one.total) == (2, 3)
    assert "(1 exactly, 1 but for case and punctuation)" in one.text
    assert one.examples[0] == 'train:2 and dev:2: "Bob went"'


def test_documents_without_spans_may_be_there_twice():
    train = make_part("[A Ada] came", "RESULTS .", "RESULTS .")
    names = found(train, make_part("RESULTS .", "Results", "[A Bob] went", name="dev"))
    assert not {"twice-in-train", "in-train-and-dev"} & {*names}


def test_texts_without_letters_are_compared_as_they_are():
    assert "in-train-and-dev" not in found(make_part("[A 1] !"), make_part("[A ?]"))
    assert squeezed("?!") == "?!" and squeezed("A-\xadb, ﬁ") == "abfi"


def test_other_documents_that_are_not_annotated():
    part = make_part("[A x] y", "[A x] y")
    part.docs[1].set_ents([], default="missing")
    assert "other-documents" not in found(part)


def test_other_labels_of_numbers():
    for text in ("12", "XIV .", "IX", "p . 3", "12 , 13"):
        twice = [f"[A {text}] 1", f"[A {text}] 2", f"[B {text}] 1", f"[B {text}] 2"]
        assert "other-labels" not in found(make_part(*twice))
    twice = [f"[{y} 在] {k}" for y in "AB" for k in (1, 2)]
    assert only("other-labels", make_part(*twice)).found == 2


@pytest.mark.parametrize(
    "one, other, is_near",
    [
        ("vol", "volume", True),
        ("bibl_vol", "bibl_volume", True),
        ("author", "authors", True),
        ("vo", "volume", False),
        ("Drug", "DrugClass", False),
        ("title", "title_a", False),
        ("page", "volume", False),
    ],
)
def test_labels_near(one, other, is_near):
    marked = [f"[{y} 12] {k}" for y in (one, other) for k in (1, 2)]
    near = found(make_part(*marked)).get("labels-near")
    assert (near is not None) == is_near
    if near:
        assert near.examples == [f'"{one}" and "{other}": 1 text']
    assert "labels-near" not in found(make_part(*marked[:-1]))


def test_what_is_not_annotated_is_not_left_out():
    unknown = make_part(*NEW_YORK)
    unknown.docs[3].set_ents([], default="missing")
    assert "left-out" not in found(unknown)


def test_spaces_of_spans():
    part = make_part("[A x] y")
    doc = Doc(NLP.vocab, ["x", " ", "y"], ents=["B-A", "I-A", "O"])
    part.docs.append(doc)
    part.places.append("train:2")
    one = only("outer-spaces-of-spans", part)
    assert one.is_fault and one.found == 1 and one.examples[0].startswith("train:2: A")
    trimmed = make_part("[A x] y")
    trimmed.n_trimmed = 3
    assert not found(trimmed)["outer-spaces-of-spans"].is_fault


@pytest.mark.parametrize(
    "usual, odd, how",
    [
        ("[A x{}] ,", "[A y ,] z", "ends with ',', as 1 of 40 where one stands"),
        ("[A x{} ,]", "[A y] ; z", "ends without ';', as 1 of 40 where one stands"),
        (": [A x{}]", "[A , y] z", "begins with ',', as 1 of 40 where one stands"),
        ("[A , x{}]", ": [A y] z", "begins without ':', as 1 of 40 where one stands"),
    ],
)
def test_odd_separators(usual, odd, how):
    usual = [usual.format(k) for k in range(39)]
    one = only("odd-separators", make_part(*usual, odd))
    assert one.found == 1 and one.examples[0].endswith(how)
    assert "odd-separators" not in found(make_part(*usual))
    assert "odd-separators" not in found(make_part(*usual, *[odd] * 3))


def test_separators_that_no_other_span_could_leave_out():
    usual = [f"[A x{k}] y" for k in range(39)]
    assert "odd-separators" not in found(make_part(*usual, "[A y ,] z"))
    usual = [f"[A x{k} ,] y" for k in range(39)]
    assert "odd-separators" not in found(make_part(*usual, "[A y] z", "[A y :] z"))


def test_span_groups():
    part = make_part("[A x] y z")
    part.docs[0].spans["sc"] = [Span(part.docs[0], 0, 1, "A")]
    assert "span-groups" not in found(part)
    part.docs[0].spans["sc"] = [Span(part.docs[0], 0, k, "A") for k in (1, 2)]
    one = found(part)["span-groups"]
    assert (one.found, one.total) == (1, 2) and "sc (2)" in one.text


def test_incorrect_spans():
    part = make_part("[A x] y z")
    part.docs[0].spans["incorrect_spans"] = [Span(part.docs[0], 1, 2, "A")]
    one = only("incorrect-spans", part)
    assert one.found == 1 and 'incorrect_spans_key = "incorrect_spans"' in one.text


def test_unknown_tokens():
    part = make_part("[A x] y z")
    part.docs[0].set_ents([Span(part.docs[0], 0, 1, "A")], default="missing")
    one = only("unknown-tokens", part)
    assert (one.found, one.total) == (2, 3)
    assert one.examples == ["train:1: 2 of 3 tokens"]


def test_sentence_starts():
    part = make_part("[A x y] z", "[A x] y")
    for token in part.docs[1]:
        token.is_sent_start = True
    assert "sentence-starts" not in found(part)
    part.docs[0][1].is_sent_start = True
    assert only("sentence-starts", part).examples == ['train:1: A "x y"']


@pytest.mark.parametrize(
    "name, is_fault, text, good",
    [
        ("wrong-encoding", True, "MÃ¼ller", "Müller, Ã"),
        ("wrong-encoding", True, "FoltÃ ¡ , P", "MAÇÃ « IX » A Ã º"),
        ("wrong-encoding", True, "â€œQuotedâ€\x9d", "“Quoted”"),
        ("lost-characters", True, "M\ufffdller", "Müller"),
        ("html-entities", True, "R &amp; D", "R & D; AT&T"),
        ("html-entities", True, "&#228;", "&#"),
        ("control-characters", True, "a\x07b", "a b"),
        ("decomposed-letters", False, "Mu\u0308ller", "Müller"),
        ("invisible-characters", False, "com\xadmon", "common"),
        ("odd-spaces", False, "a  b", "a b"),
        ("odd-spaces", False, "a\xa0b", "a b"),
        ("line-breaks", False, "a\nb", "a b"),
        ("outer-spaces", False, " a", "a"),
        ("empty-documents", False, "", "a"),
        ("empty-documents", False, " ", "a"),
    ],
)
def test_texts(name, is_fault, text, good):
    one = only(name, make_part(text, "[A x] y"))
    assert one.is_fault == is_fault and one.found == 1
    assert "train:1" in one.examples[0]
    assert name not in found(make_part(good, "[A x] y"))


def test_spaces_between_given_tokens_are_not_judged():
    part = make_part("[A x] y")
    part.docs = [Doc(NLP.vocab, ["x", "y"])]
    assert part.docs[0].text.endswith(" ")
    assert "outer-spaces" not in found(part)


def test_given_tokens():
    part = make_part(*["[A x]"] * 60)
    words = ["(x", "1950;59"]
    part.docs = [Doc(NLP.vocab, words, ents=["B-A", "O"]) for _ in part.docs]
    one = only("given-tokens", part)
    assert (one.found, one.total) == (60, 120)
    assert one.examples == ["\"(x\" becomes ['(', 'x']"]
    part.docs = part.docs[:50]
    assert "given-tokens" not in found(part)


def test_inside_tokens():
    part = make_part("[A x] y")
    doc = Doc(NLP.vocab, ["1950;", "59"], spaces=[False, False], ents=["O", "B-A"])
    part.docs[0] = doc
    one = only("inside-tokens", part)
    assert one.is_fault and (one.found, one.total) == (1, 1)
    assert one.examples == ['train:1: A "59"']


def test_unreadable():
    part = make_part("[A x] y")
    part.faults = [Fault("a.jsonl", 3, "is odd")]
    one = only("unreadable", part)
    assert one.is_fault and one.examples == ["a.jsonl:3: is odd"]


def test_dev_repeats_no_remark():
    train, dev = make_part("[A x]  y"), make_part("[A z]  y", name="dev")
    assert [x.name for x in look(train, dev).dev.findings] == []
    dev = make_part("[A z] y\n", "[A u] &lt;", name="dev")
    report = look(train, dev).dev
    remarks = [x.name for x in report.findings if not x.is_fault]
    assert remarks == ["line-breaks", "outer-spaces"]
    assert [x.name for x in report.faults] == ["html-entities"]


LABELS = st.lists(st.sampled_from("ABC"), max_size=3)


@settings(max_examples=30, deadline=None)
@given(st.lists(LABELS, min_size=1, max_size=6), st.lists(LABELS, max_size=3))
def test_counts_are_those_of_plain_counting(of_train, of_dev):
    def marked(labels, k):
        spans = [f"[{y} x{k}{' y' * (i > 0)}]" for i, y in enumerate(labels)]
        return " , ".join(spans) or "-"

    train = make_part(*(marked(x, k) for k, x in enumerate(of_train)))
    dev = make_part(*(marked(x, 9 + k) for k, x in enumerate(of_dev)), name="dev")
    n = Counter(y for x in of_train for y in x)
    n_dev = Counter(y for x in of_dev for y in x)
    counts = {one.label: one for one in count_labels(train, dev)}
    assert set(counts) == {*n, *n_dev}
    for label, one in counts.items():
        sizes = sorted(
            1 + (i > 0) for x in of_train for i, y in enumerate(x) if y == label
        )
        assert one.n == n[label] and one.n_dev == n_dev[label]
        assert one.n_docs == sum(label in x for x in of_train)
        assert one.share == pytest.approx(n[label] / max(sum(n.values()), 1))
        assert one.most == max(sizes, default=0)
        assert one.median == (sizes[len(sizes) // 2] if sizes else 0)
