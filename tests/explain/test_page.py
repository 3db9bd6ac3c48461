"""Pages of HTML: whatever a text says, the page shows it as it is, and nothing runs."""

import json
import re
import shutil
import subprocess
from html import unescape
from html.parser import HTMLParser

import pytest
from spacy.tokens import Doc, Span

from spacy_hosemi.explain.page import (
    N_BARS,
    N_EXPLAINED,
    N_LINES,
    Page,
    in_lines,
    percent,
)

from ..helpers import make_trained, randomize

TEXTS = [
    "Ada Lovelace met Grace Hopper in New York",
    '<script>alert("x")</script> & <b>Ada</b> \'onmouseover=y',
    "\u05d9\u05d5\u05e1\u05e3 \u05db\u05d4\u05df, \u05d1\u05d9 1984",
    "\U0001f600 \U0001f468\u200d\U0001f469 in  two  spaces\n\nand lines",
    "x" * 2_000 + " Ada",
    "",
]
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def nlp():
    """Everything is uncertain, so that there are many other likely spans."""
    nlp = make_trained()
    randomize(nlp.get_pipe("hosemi"), size=0.4)
    return nlp


class Reader(HTMLParser):
    """The text of each document, all ids, all links, all elements."""

    def __init__(self, page):
        super().__init__()
        self.texts, self.ids, self.links, self.tags = [], [], [], []
        self.inside = 0
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append((tag, given))
        if given.get("class") == "text":
            self.texts.append("")
        self.inside = given.get("class") == "piece"
        self.ids += [given["id"]] if "id" in given else []
        if given.get("href"):
            self.links.append(given["href"])

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.texts[-1] += data


def page_of(nlp, texts, **settings):
    pipe = nlp.get_pipe("hosemi")
    return Page(pipe, [nlp(text) for text in texts], **settings)


def test_texts_stay_as_they_are(nlp):
    found = Reader(str(page_of(nlp, TEXTS, threshold=0.01)))
    assert found.texts == TEXTS
    assert [x for x, _ in found.tags].count("script") == 1
    assert not [name for _, given in found.tags for name in given if name[:2] == "on"]
    assert len({*found.ids}) == len(found.ids)
    assert {x[1:] for x in found.links} == {*found.ids}
    directions = [given.get("dir") for _, given in found.tags if "dir" in given]
    assert directions.count("auto") >= len(TEXTS)


def test_nothing_comes_from_elsewhere(nlp):
    page = str(page_of(nlp, TEXTS[:1]))
    assert not re.search(r"https?://|src=|@import|url\(", page)


def test_answers_and_others(nlp):
    doc = nlp(TEXTS[0])
    pipe = nlp.get_pipe("hosemi")
    page = Page(pipe, [doc], threshold=0.02, k=3)
    (shown,) = page._docs
    places = [(x.start_char, x.end_char, x.label_) for x in doc.ents]
    assert [(*x.place, x.label) for x in shown.answers] == places
    assert shown.probability == pytest.approx(doc._.record_confidence)
    found = [x.probability for x in shown.others]
    assert found == sorted(found, reverse=True)
    assert min(x.probability for x in shown.others) >= 0.02
    assert {(*x.place, x.label) for x in shown.others}.isdisjoint(
        (*x.place, x.label) for x in shown.answers
    )
    assert [x.number for x in shown.others] == [*range(1, len(shown.others) + 1)]
    assert len(shown.ranked) == 3 and shown.ranked[0][0] == shown.probability
    for card in (*shown.answers, *shown.others[:N_EXPLAINED]):
        why = card.explanation
        assert why.probability == pytest.approx(card.probability, abs=1e-9)
        if why.difference is not None:
            *_, scores, shares = zip(*card.bars)
            assert sum(scores) == pytest.approx(why.difference, abs=1e-9)
            assert all(0.0 <= share <= 1.0 for share in shares)
    assert all(x.explanation is None for x in shown.others[N_EXPLAINED:])
    n_bars = [len(x.bars) for x in (*shown.answers, *shown.others)]
    assert max(n_bars) > N_BARS and " more</td>" in str(page)
    rows = str(page).count('<td class="bar">')
    assert rows == sum(min(n, N_BARS) for n in n_bars)


def test_hundreds_of_others(nlp):
    text = " ".join(TEXTS[0] for _ in range(12))
    (shown,) = page_of(nlp, [text], threshold=1e-3)._docs
    assert len(shown.others) > 200
    assert sum(x.explanation is not None for x in shown.others) == N_EXPLAINED
    assert shown.n_lines == N_LINES
    for line in in_lines(shown.others):
        assert all(a.place[1] <= b.place[0] for a, b in zip(line, line[1:]))
    found = Reader(str(page_of(nlp, [text], threshold=1e-3)))
    assert found.texts == [text]


def test_entities_that_were_there(nlp):
    doc = nlp.make_doc(TEXTS[0])
    label = '<b onclick="x">'
    doc.ents = [Span(doc, 0, 2, label)]
    doc = nlp.get_pipe("hosemi")(doc)
    page = Page(nlp.get_pipe("hosemi"), [doc])
    first = page._docs[0].answers[0]
    assert (first.label, first.probability) == (label, None)
    assert "it was there before" in str(page)
    assert "<b onclick" not in str(page) and "&lt;b onclick=&#34;x" in str(page)


def test_tags_on_tokens():
    nlp = make_trained(encoding="BIO")
    (shown,) = page_of(nlp, [TEXTS[0]])._docs
    assert shown.others == [] and shown.ranked


def test_numbers(nlp):
    page = page_of(nlp, TEXTS[:2], numbers=[3, 7])
    assert re.findall(r"<h2>(\d+)", str(page)) == ["3", "7"]
    assert "d7s1" in Reader(str(page)).ids
    assert re.findall(r"<h2>(\d+)", str(page_of(nlp, TEXTS[:2]))) == ["1", "2"]
    for numbers in ([3], [3, 7, 9]):
        with pytest.raises(ValueError, match="argument 2 is"):
            page_of(nlp, TEXTS[:2], numbers=numbers)


def test_a_document_that_was_not_predicted(nlp):
    with pytest.raises(ValueError, match="HS318"):
        Page(nlp.get_pipe("hosemi"), [Doc(nlp.vocab, words=["a"])])


def test_in_a_notebook_and_on_disk(nlp, tmp_path):
    page = page_of(nlp, TEXTS[:1], title="A & B")
    found = page._repr_html_()
    assert found.startswith("<iframe srcdoc=")
    assert unescape(re.search('srcdoc="(.*?)"', found, re.S)[1]) == str(page)
    page.to_disk(tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text("utf8") == str(page)
    assert "<title>A &amp; B</title>" in str(page)


@pytest.mark.parametrize(
    "p, text",
    [
        (None, ""),
        (0.0, "0 %"),
        (1e-9, "< 0.1 %"),
        (0.123456, "12.3 %"),
        (0.99999, "> 99.9 %"),
        (1.0, "100 %"),
    ],
)
def test_percent(p, text):
    assert percent(p) == text


def in_browser(page, script, path, size="400,800"):
    """What a script finds in a page; it returns that."""
    found = f"""<script>
      const found = (() => {{ {script} }})();
      document.body.innerHTML = `<pre id="found">${{JSON.stringify(found)}}</pre>`;
    </script></body>"""
    path.write_text(page.replace("</body>", found), "utf8")
    given = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    done = subprocess.run(
        [CHROMIUM, *given, f"--window-size={size}", f"file://{path}"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    found = re.search('<pre id="found">(.*?)</pre>', done.stdout, re.S)[1]
    return json.loads(unescape(found))


# Links show their reasons when they get the focus, one at a time; Escape hides.
FOCUS = """
  const links = [...document.querySelectorAll("a[href]")], found = [];
  const seen = () => document.querySelectorAll(".why").length &&
    [...document.querySelectorAll(".why")].filter((x) => x.offsetHeight).length;
  const escape = () =>
    document.dispatchEvent(new KeyboardEvent("keydown", {key: "Escape"}));
  found.push(seen());
  for (const link of links.slice(0, 5)) {
    escape(); link.focus(); found.push(seen());
  }
  escape(); found.push(seen());
  found.push(document.documentElement.scrollWidth <= innerWidth);
  return found;
"""
# The box of a span is in one piece, its label is at its end, and a number is beside
# what it is of.
BOXES = """
  const box = (x) => x.getBoundingClientRect();
  const gap = (a, b) => Math.min(Math.abs(a.right - b.left),
                                 Math.abs(b.right - a.left));
  document.body.style.maxWidth = "none";
  return [...document.querySelectorAll(".text")].map((text) => {
    const far = [], links = [...text.querySelectorAll("a")];
    const is_rtl = getComputedStyle(text).direction === "rtl";
    for (const link of links) {
      const own = box(link), label = box(link.lastChild);
      if (link.getClientRects().length !== 1) far.push(["torn", link.textContent]);
      const space = is_rtl ? label.left - own.left : own.right - label.right;
      if (label.width < 5 || space < 0 || space > 5)
        far.push(["label", link.textContent, space]);
    }
    const numbers = [...text.querySelectorAll("sup")];
    for (const number of numbers) {
      const beside = [...number.nextSibling.getClientRects()];
      const spaces = beside.map((x) => gap(box(number), x));
      if (Math.min(...spaces) > 3) far.push(["number", number.dataset, spaces]);
    }
    return [is_rtl, links.length > 1, numbers.length > 3, far];
  });
"""
# Texts with words in the other direction, and with numbers.
JOSEPH = "\u05d9\u05d5\u05e1\u05e3 \u05db\u05d4\u05df"
HEBREW = f"{JOSEPH} , 1984 ( Ada Lovelace ) \u05d1\u05d9\u05ea ."
NAGIB = "\u0646\u062c\u064a\u0628 \u0645\u062d\u0641\u0648\u0638 \u060c"
ARABIC = f"{NAGIB} 1956 : Ada Lovelace . \u0645\u0635\u0631 12 - 34"
LATIN = f"Ada Lovelace , 1984 ( {JOSEPH} ) in New York ."


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_in_a_browser(nlp, tmp_path):
    page = str(page_of(nlp, TEXTS, threshold=0.01))
    found = in_browser(page, FOCUS, tmp_path / "page.html")
    assert found == [0, 1, 1, 1, 1, 1, 0, True]
    page = str(page_of(nlp, [HEBREW, ARABIC, LATIN], threshold=0.03))
    found = in_browser(page, BOXES, tmp_path / "page.html", "6000,800")
    expected = [[is_rtl, True, True, []] for is_rtl in (True, True, False)]
    assert found == expected


def test_no_text_and_no_span():
    nlp = make_trained()
    page = page_of(nlp, ["", "nothing here"])
    assert Reader(str(page)).texts == ["", "nothing here"]
