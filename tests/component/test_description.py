"""What a component shows of itself, in a line and in a notebook."""

import re
from html.parser import HTMLParser

import pytest

from spacy_hosemi.component.description import MOST_LABELS

from ..helpers import initialize, make_nlp, make_trained, parse


class Reader(HTMLParser):
    """The text of a piece of HTML, whose tags must be closed in their order."""

    def __init__(self, html):
        super().__init__()
        self.texts, self.open = [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag in {"div", "b", "span", "code", "table", "tbody", "tr", "td"}
        assert {name for name, _ in attrs} <= {"style", "colspan"}
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def shown(nlp):
    return Reader(nlp.get_pipe("hosemi")._repr_html_()).texts


def luminance(colour):
    """Relative luminance of Web Content Accessibility Guidelines 2.1; r, g, b."""
    parts = [x / 12.92 if x <= 0.04 else ((x + 0.055) / 1.055) ** 2.4 for x in colour]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


@pytest.mark.parametrize("page", [0x00, 0x11, 0x1F, 0xFF])
def test_bars_are_seen(page):
    """Contrast of at least 3, as for what is no text, on dark and on light pages."""
    html = make_trained().get_pipe("hosemi")._repr_html_()
    (bar,) = {*re.findall(r"background:rgb\((\d+),(\d+),(\d+)\)", html)}
    low, high = sorted(
        [luminance([int(x) / 255 for x in bar]), luminance([page / 255] * 3)]
    )
    assert (high + 0.05) / (low + 0.05) >= 3.0


def test_a_component_that_knows_nothing():
    nlp = make_nlp()
    expected = "<HighOrderSemiCRF 'hosemi': not initialized, no labels>"
    assert repr(nlp.get_pipe("hosemi")) == expected
    texts = shown(nlp)
    assert texts[0] == "hosemi" and "no labels" in texts
    assert "all settings have their defaults" in texts


def test_a_trained_component():
    nlp = make_trained(max_order=1, decoding="mbr", min_confidence={"PER": 0.5})
    hosemi = nlp.get_pipe("hosemi")
    expected = "<HighOrderSemiCRF 'hosemi': trained, 5 documents, 2 labels (LOC, PER)>"
    assert repr(hosemi) == expected
    texts = shown(nlp)
    assert ": trained, 5 documents" in texts
    at = texts.index("PER")
    assert texts[at : at + 4] == ["PER", "6", "LOC", "4"]  # most spans first
    names = {"max_order = 1", "decoding = 'mbr'", "min_confidence = {'PER': 0.5}"}
    assert names <= set(texts)
    (size,) = [text for text in texts if "features" in text]
    n_patterns = len(hosemi.schema.patterns)
    assert size.startswith(f"{len(hosemi.weights.names):,} features, ")
    assert f" {n_patterns:,} label patterns, " in size and size.endswith(" MB")


def test_a_component_without_training():
    nlp = make_nlp()
    initialize(nlp)
    assert "initialized, never trained, 5 documents" in repr(nlp.get_pipe("hosemi"))
    assert ": initialized, never trained, 5 documents" in shown(nlp)


def test_a_saved_component_shows_the_same():
    nlp = make_trained()
    other = make_nlp().from_bytes(nlp.to_bytes())
    assert shown(other) == shown(nlp)
    hosemi = other.get_pipe("hosemi")
    hosemi.facts = None  # saved by an earlier version
    assert ": trained" in shown(other) and "6" not in shown(other)


@pytest.mark.parametrize("label", ["<script>x</script>", "\"&quot;'", "<td>", "a&b"])
def test_names_are_escaped(label):
    features = {"preset": "none", "inside": ["LOWER"], "min_count": 1}
    nlp = make_nlp(name=label, features=features)
    hosemi = nlp.get_pipe(label)
    hosemi.fit([("Ada", [(0, 3, label)])], nlp=nlp, progress=False)
    hosemi.min_confidence = {label: 0.5}
    hosemi.spans_key = "<i>"
    texts = Reader(hosemi._repr_html_()).texts
    assert texts[0] == label and label in texts[1:] and "spans_key = '<i>'" in texts
    text = f"<HighOrderSemiCRF {label!r}: trained, 1 document, 1 labels ({label})>"
    assert repr(hosemi) == text


def test_many_labels_are_cut_short():
    nlp = make_nlp(max_order=1)
    spans = [(2 * k, 2 * k + 1, f"L{k}") for k in range(MOST_LABELS + 5)]
    hosemi = nlp.get_pipe("hosemi")
    hosemi.fit([("a " * len(spans), spans)], nlp=nlp, progress=False, max_iter=1)
    texts = shown(nlp)
    assert "and 5 more" in texts and len(hosemi._repr_html_()) < 20_000
    assert sum(text.startswith("L") for text in texts) == MOST_LABELS


def test_what_is_read_is_listed():
    gazetteer = {"@misc": "spacy_hosemi.gazetteer.v1"}
    nlp = make_nlp(model={"gazetteers": {"cities": gazetteer}})
    hosemi = nlp.get_pipe("hosemi")
    text, spans = parse("[LOC Paris]")
    readers = {"cities": lambda: ["Paris"]}
    hosemi.fit([(text, spans)], nlp=nlp, gazetteers=readers, progress=False)
    assert "reads list cities" in shown(nlp)
