"""The text of an HTML page, and where in it the offsets of Label Studio point."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from html.parser import HTMLParser

_IS_PAGE = re.compile(r"\s*<(?:!doctype|html|head|body|div|p|table|span)\b", re.I)
_BREAK = "br"
# Nobody sees their text, but its characters count.
_HIDDEN = frozenset("head title style script template".split())
_MOST_UNCLOSED = 100
# Elements that begin and end lines.
_BLOCKS = frozenset(
    "address article aside blockquote dd div dl dt figcaption figure footer form h1 h2 "
    "h3 h4 h5 h6 header hr li main nav ol p pre section table td th tr ul".split()
)


def is_page(text: str) -> bool:
    """RETURNS (bool): Whether a text begins as HTML does."""
    return bool(_IS_PAGE.match(text))


class PageText(HTMLParser):
    """What a reader of a page sees. It takes time in proportion to the page: of tags
    that are never closed a hundred are looked at as far as the page goes.

    page (str): HTML.
    text (str): Its text; blocks are on lines of their own.
    """

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self._pieces: list[str] = []
        self._hidden: list[str] = []
        self._n, self._is_new_line = 0, False
        self._n_unclosed = 0
        # For each unit of UTF-16 that a browser counts, its place in the text.
        self._places: list[int] = []
        # After its last ">" a page has no tag, and Python would look for its end from
        # each "<" again.
        n_closed = page.rfind(">") + 1
        self.feed(page[:n_closed])
        self.close()
        self.handle_data(unescape(page[n_closed:]))
        self.text = "".join(self._pieces)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """RETURNS (Tuple[int, int]): Characters of the text.

        start, end (int): "globalOffsets" of Label Studio.
        RAISES (ValueError): They are not within the page.
        """
        if not 0 <= start < end <= len(self._places):
            n = len(self._places)
            raise ValueError(
                f"the region [{start}, {end}] is not inside the {n} "
                "characters of the page"
            )
        return self._places[start], self._places[end - 1] + 1

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in _HIDDEN:
            if tag not in self._hidden:
                self._hidden.append(tag)
        elif tag == _BREAK:
            self.handle_data("\n")
        else:
            self._begin_line(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            del self._hidden[self._hidden.index(tag) :]
        else:
            self._begin_line(tag)

    def handle_data(self, data: str) -> None:
        if self._hidden:
            n_seen = 0
        else:
            if self._is_new_line and data:
                self._pieces.append("\n")
                self._n += 1
            n_seen, self._is_new_line = 1, False
            self._pieces.append(data)
        for character in data:
            self._places += [self._n] * (1 + (character > "\uffff"))
            self._n += n_seen

    # Each returns where a tag, a comment or a declaration ends; -1: nowhere.

    def parse_starttag(self, i: int) -> int:
        return self._end_of(super().parse_starttag, i)

    def parse_endtag(self, i: int) -> int:
        return self._end_of(super().parse_endtag, i)

    def parse_pi(self, i: int) -> int:
        return self._end_of(super().parse_pi, i)

    def parse_html_declaration(self, i: int) -> int:
        return self._end_of(super().parse_html_declaration, i)

    def _end_of(self, parse: Callable[[int], int], i: int) -> int:
        if self._n_unclosed >= _MOST_UNCLOSED:
            return -1
        end = parse(i)
        self._n_unclosed += end < 0
        return end

    def _begin_line(self, tag: str) -> None:
        """Break the line before the next characters; the break does not count."""
        text = self._pieces[-1] if self._pieces else ""
        self._is_new_line |= tag in _BLOCKS and not text[-1:].isspace() and bool(text)
