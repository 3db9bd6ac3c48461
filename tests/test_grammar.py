"""The lines of corpus/grammar.py: spans, seeds, splits, kinds, languages."""

import re
import sys
from pathlib import Path

import pytest

CORPUS = Path(__file__).parents[1] / "corpus"
sys.path.insert(0, str(CORPUS))

import grammar  # noqa: E402
import make  # noqa: E402

KINDS = sorted(set(grammar.RULES["kind"]))
CUES = re.compile(r"(?i)^(pp?\. ?\d|vol\. |in: )|\(?\beds?\.?\)?$|isbn|hrsg")


def test_lines_depend_on_seed_and_split_alone():
    lines = grammar.make_lines(600, 7)
    make.check_lines(lines, edges="")
    assert lines == grammar.make_lines(600, 7) != grammar.make_lines(600, 8)
    assert {y for line in lines for *_, y in line["spans"]} == set(make.LABELS)
    spans = [(line["text"], i, j) for line in lines for i, j, _ in line["spans"]]
    cut = [x[i:j] for x, i, j in spans if x[j : j + 1] == "."]  # the dot is outside
    assert not list(filter(make.ABBREVIATION.search, cut))
    dev = {line["publication"] for line in grammar.make_lines(200, 7, "dev")}
    assert dev & {line["publication"] for line in lines} == {"invented"}


@pytest.mark.parametrize("lang", sorted(set(grammar.RULES["language"])))
@pytest.mark.parametrize("kind", KINDS)
def test_cue_words_are_outside(kind, lang):
    d = grammar.Draw(f"{kind} {lang}")
    for _ in range(6):
        d.lang = lang
        pieces = grammar.random_style(d, grammar.invent(d, kind, []))
        assert any(label for _, label in pieces)
        fields = [(x, y) for x, y in pieces if y in ("pages", "editor", "booktitle")]
        assert not [x for x in fields if CUES.search(x[0])], pieces


@pytest.mark.parametrize("name", ["by_hand", "by_hand_dev"])
def test_lines_typed_by_hand_keep_the_rules_of_spans(name):
    make.check_lines(make.read(CORPUS / f"{name}.jsonl"), edges="")
