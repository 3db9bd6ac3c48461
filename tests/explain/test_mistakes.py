"""Mistakes by kind: each wrong span is in one of them, whatever the spans."""

import random

import pytest
import spacy
from spacy.tokens import DocBin
from spacy.training import Example

from spacy_hosemi.component.judging import DocumentResult, judge_pipeline
from spacy_hosemi.explain.mistakes import (
    KINDS,
    Share,
    find_mistakes,
    mistakes_of,
    seen_in,
)
from spacy_hosemi.explain.page import excerpt, mistakes_page

from ..helpers import as_json, hosemi, make_trained, references

TEXT = "abcdefghij"


def answer(gold, found, confidence=None):
    return DocumentResult(
        TEXT, frozenset(found), frozenset(gold), True, confidence or {}
    )


@pytest.mark.parametrize(
    "kind, gold, found",
    [
        ("missed", [(1, 3, "A")], []),
        ("spurious", [], [(1, 3, "A")]),
        ("wrong label", [(1, 3, "A")], [(1, 3, "B")]),
        ("too long", [(1, 3, "A")], [(1, 4, "A")]),
        ("too long", [(1, 3, "A")], [(0, 4, "B")]),
        ("too short", [(1, 4, "A")], [(2, 4, "A")]),
        ("shifted", [(1, 4, "A")], [(2, 5, "A")]),
        ("split", [(1, 5, "A")], [(1, 3, "A"), (3, 6, "B")]),
        ("merged", [(1, 3, "A"), (3, 6, "B")], [(1, 6, "A")]),
        ("mixed", [(1, 4, "A"), (4, 7, "A")], [(0, 2, "A"), (3, 5, "A"), (6, 8, "A")]),
    ],
)
def test_kinds(kind, gold, found):
    around = [(8, 9, "C")]  # right, so no mistake
    (mistake,) = mistakes_of(answer([*gold, *around], [*found, *around]), 7)
    assert (mistake.kind, mistake.document) == (kind, 7)
    assert (sorted(mistake.gold), sorted(mistake.found)) == (gold, found)
    assert mistake.texts == [TEXT[i:j] for i, j, _ in (*gold, *found)]


def random_spans(draw):
    cuts = sorted(draw.sample(range(len(TEXT) + 1), draw.randint(2, 8)))
    pairs = [*zip(cuts, cuts[1:])]
    return [(i, j, draw.choice("AB")) for i, j in pairs if draw.random() < 0.7]


def test_each_wrong_span_is_in_one_mistake():
    draw, kinds = random.Random(0), set()
    for _ in range(3000):
        one = answer(random_spans(draw), random_spans(draw))
        found = [*mistakes_of(one)]
        gold, wrong = (
            [x for m in found for x in m.gold],
            [x for m in found for x in m.found],
        )
        assert sorted(gold) == sorted(one.gold - one.predicted)
        assert sorted(wrong) == sorted(one.predicted - one.gold)
        for mistake in found:
            kinds.add(mistake.kind)
            spans = [*mistake.gold, *mistake.found]
            # They touch each other, from the first to the last, and no other ones.
            covered = {k for i, j, _ in spans for k in range(i, j)}
            assert len(covered) == max(covered) - min(covered) + 1
            others = [*(set(gold) | set(wrong)) - set(spans)]
            assert not any(k in covered for i, j, _ in others for k in range(i, j))
    assert kinds == set(KINDS)


def test_counts_confusion_and_order():
    some = [
        answer([(0, 2, "A")], [(0, 2, "B")], {(0, 2, "B"): 0.4}),
        answer([(0, 2, "A")], [(0, 2, "B")], {(0, 2, "B"): 0.9}),
        answer([(0, 2, "A"), (4, 5, "B")], [(0, 2, "A"), (4, 6, "B")]),
        DocumentResult(TEXT, frozenset(), frozenset([(0, 2, "B")]), False),
    ]
    found = find_mistakes(some)
    assert (found.n_documents, found.n_exact) == (3, 0)
    assert (found.n_gold, found.n_found, found.n_right) == (5, 4, 1)
    assert found.confusion == {"A": {"B": 2}}
    assert found.by_kind() == {
        "missed": {"B": 1},
        "wrong label": {"A": 2},
        "too long": {"B": 1},
    }
    assert [x.document for x in found.mistakes] == [1, 0, 2, 3]
    assert [x.confidence for x in found.mistakes] == [0.9, 0.4, None, None]


def test_by_text():
    nlp = spacy.blank("en")
    reference = nlp("Jo met Al in Rome")
    reference.set_ents([reference.char_span(0, 2, "PER")])
    seen = seen_in([Example(nlp.make_doc(reference.text), reference)])
    assert seen == ({"jo", "met", "al", "in", "rome"}, {"PER": 1})
    text = "Jo Al met Eve"
    one = DocumentResult(
        text,
        frozenset([(0, 5, "PER")]),
        frozenset([(0, 5, "PER"), (10, 13, "PER")]),
        True,
    )
    shares = {x.name: (x.n, x.n_right) for x in find_mistakes([one], seen).shares}
    assert shares["all words in training"] == (1, 1)
    assert shares["a word that is not in training"] == (1, 0)
    assert shares["longer than any of its label in training"] == (1, 1)
    assert shares["spans of 1 word"] == (1, 0)
    assert shares["spans of 2 to 3 words"] == (1, 1)
    assert Share("documents of 4 to 4 words", 1, 0) in find_mistakes([one]).shares
    assert find_mistakes([]).shares[0] == Share("spans of 1 word", 0, 0)


def test_lengths_do_not_overlap():
    texts = [" ".join("a" * n) for n in (1, 1, 1, 1, 1, 2, 3, 3, 9)]
    nothing: frozenset = frozenset()
    found = find_mistakes(
        [DocumentResult(text, nothing, nothing, True) for text in texts]
    )
    parts = {x.name: x.n for x in found.shares if x.name.startswith("documents")}
    assert parts == {
        "documents of 1 to 1 words": 5,
        "documents of 2 to 3 words": 3,
        "documents of 9 to 9 words": 1,
    }


# --- the command ------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("errors")
    make_trained(confidence=True).to_disk(folder / "model")
    docs = references()
    DocBin(docs=docs).to_disk(folder / "train.spacy")
    wrong = docs[0]
    wrong.set_ents([spacy.tokens.Span(wrong, 0, 1, "LOC")])
    DocBin(docs=docs).to_disk(folder / "gold.spacy")
    spacy.blank("en").to_disk(folder / "blank")
    return folder


def run(*args, code=0):
    result = hosemi("errors", *args, code=code)
    return result.output if code else result.stdout


def test_command(folder):
    args = folder / "model", folder / "gold.spacy", "--train", folder / "train.spacy"
    found = as_json("errors", *args)
    counts = found["by_kind"]
    assert counts and set(counts) <= set(KINDS)
    n_mistakes = len(found["found"]["mistakes"])
    assert sum(sum(x.values()) for x in counts.values()) == n_mistakes
    assert found["found"]["mistakes"][0]["confidence"] > 0
    few = hosemi("errors", *args[:2]).stderr
    n = found["found"]["n_documents"]
    assert f"Note: {n} documents are few: of others like these " in few
    shown = run(*args, "--examples", "1")
    assert "a word that is not in training" not in shown  # there is none
    assert "all words in training" in shown and "by kind" in shown
    assert all(f"{kind}: " in shown for kind in counts)


def test_notes_on_gold(folder, tmp_path):
    """That the model has seen it, and that it has other labels."""
    args = "errors", folder / "model"
    said = hosemi(*args, folder / "gold.spacy").stderr
    n = len(references())
    assert f"has seen {n} of these {n} documents" in said
    assert "does not know" not in said
    doc = spacy.blank("en")("Nobody has seen this .")
    doc.ents = [spacy.tokens.Span(doc, 0, 1, "NEW")]
    DocBin(docs=[doc]).to_disk(tmp_path / "new.spacy")
    said = hosemi(*args, tmp_path / "new.spacy").stderr
    assert "does not know these labels of gold: NEW" in said
    assert "has seen" not in said
    said = hosemi("errors", folder / "blank", tmp_path / "new.spacy").stderr
    assert "labels of gold" not in said


def test_documents_have_their_number_in_the_file(folder, tmp_path):
    """From 1, those without annotation included."""
    docs = [spacy.blank("en")("no annotation"), *references()]
    wrong = docs[3]
    wrong.set_ents([spacy.tokens.Span(wrong, 0, 1, "ODD")])
    DocBin(docs=docs).to_disk(tmp_path / "gold.spacy")
    args = folder / "model", tmp_path / "gold.spacy"
    shown = [line.split() for line in run(*args).splitlines()]
    assert [x[0] for x in shown if "ODD:" in x] == ["4"]
    page = run(*args, "--html", "-")
    assert '<td class="number">4</td>' in page
    printed = hosemi("compare", args[0], folder / "blank", args[1]).stdout
    first = printed.split("became wrong")[1]
    numbers = {line.split()[0] for line in first.splitlines() if " PER " in line}
    assert numbers and "1" not in numbers


def test_page(folder, tmp_path):
    args = folder / "model", folder / "gold.spacy", "--html", tmp_path / "a.html"
    assert hosemi("errors", *args).stderr.endswith(f"Wrote {tmp_path / 'a.html'}\n")
    page = (tmp_path / "a.html").read_text("utf8")
    assert page.startswith("<!DOCTYPE html>") and "documents of " in page
    assert "<h2>too long" in page
    assert "exists" in run(*args, code=2)
    assert run(*args[:3], "-", "--examples", 0).startswith("<!DOCTYPE html>")
    assert "--html and --json are given" in run(*args[:3], "-", "--json", code=2)


def test_excerpts_are_the_text():
    text = "<b>" + "x" * 200 + "Ada wrote" + "y" * 200
    gold, found = (203, 206, "<PER>"), (203, 212, "LOC")
    one = DocumentResult(
        text, frozenset([found]), frozenset([gold]), True, {found: 0.25}
    )
    short = DocumentResult("Ada", frozenset(), frozenset([(0, 3, "<PER>")]), True)
    (mistake,) = mistakes_of(one, 3)
    pieces, is_cut = excerpt(mistake, one)
    assert "".join(piece for piece, _, _ in pieces) == text[143:272]
    assert {("Ada", True, True), (" wrote", False, True)} <= {*pieces}
    assert is_cut == (True, True)
    page = mistakes_page(find_mistakes([one, short]), [one, short], title="<i>")
    assert "<PER>" not in page and "&lt;PER&gt;" in page and "&lt;i&gt;" in page
    assert "25 %" in page and page.count('<td class="here"') == 2
    assert '<bdi>&lt;PER&gt;</bdi></td><td class="label"><bdi>LOC</bdi>' in page
    assert "<script" not in page and "http" not in page
    whole = excerpt(next(mistakes_of(short)), short)
    assert whole == ([("Ada", True, False)], (False, False))


def test_a_pipeline_without_confidences(folder):
    nlp = spacy.load(folder / "blank")
    some = [Example(nlp.make_doc(x.text), x) for x in references()]
    found = judge_pipeline(nlp, some, has_confidence=True)
    assert all(one.confidence == {} for one in found)
    assert {x.kind for x in find_mistakes(found).mistakes} == {"missed"}
