"""Draws the pictures of docs/model.md from real objects of spacy_hosemi.core.

    python docs/draw.py            # write docs/lattice.svg and docs/automaton.svg
    python docs/draw.py --check    # exit 1 if they are not as drawn

The pictures have a light background of their own, so that they can be read on light and
dark pages.
"""

from __future__ import annotations

import argparse
import sys
from html import escape
from pathlib import Path

from spacy_hosemi import core

HERE = Path(__file__).parent
LABELS = ["O", "author", "title", "date"]
COLOURS = ["#8a8a8a", "#0072b2", "#d55e00", "#009e73"]
PATTERNS = [("author", "date", "title"), ("author", "title", "date")]
HALO = 'font-size="11" paint-order="stroke" stroke="#fbfbf8" stroke-width="4"'
WORDS = ["Poe", ",", "The", "Raven", ",", "1845"]


def picture(width: int, height: int, title: str, parts: list[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="13">'
    )
    marker = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" '
        'markerHeight="9" markerUnits="userSpaceOnUse" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#444"/></marker>'
        "</defs>"
    )
    panel = f'<rect width="{width}" height="{height}" rx="8" fill="#fbfbf8"/>'
    return "\n".join([head, f"<title>{title}</title>", marker, panel, *parts, "</svg>"])


def text(x: float, y: float, words: str, more: str = "") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="middle" fill="#222" {more}>'
        f"{escape(words)}</text>"
    )


def example() -> tuple[core.PatternAutomaton, core.Potentials]:
    """Scores for WORDS as a trained model might give them."""
    automaton = core.PatternAutomaton(LABELS, [("O", "O"), *PATTERNS])
    potentials = core.Potentials.zeros(automaton, len(WORDS))
    potentials.tail[:] = 0.0
    potentials.pattern[:] = [-100.0, 0.5, 1.0]
    inside, start, end = potentials.inside, potentials.start, potentials.end
    inside[0, 1], inside[5, 3], inside[[1, 4], 0] = 3.0, 4.0, 2.0
    inside[[2, 3], 2], inside[[1, 4], 2] = 2.0, 0.6
    inside[2:4, 1] = 1.0
    start[2, 2], end[3, 2] = 1.5, 1.5
    start[:, 1], start[:, 2], start[:, 3] = -1.0, -1.5, -1.0
    return automaton, potentials


def lattice() -> str:
    """All segments of a text that are probable enough, and the best segmentation."""
    automaton, potentials = example()
    found = core.marginals(automaton, potentials)
    best = set(core.viterbi(automaton, potentials)[0])
    segments = sorted(found.segments_above(0.04), key=lambda s: (s[1] - s[0], s[:3]))
    step, left, lane = 110, 30, 26
    parts: list[str] = []
    taken: list[list[tuple[int, int]]] = []
    for i, j, y, probability in segments:
        row = next(
            (r for r, row in enumerate(taken) if all(j <= a or b <= i for a, b in row)),
            len(taken),
        )
        taken += [[]] * (row == len(taken))
        taken[row] = [*taken[row], (i, j)]
        x, top, width = left + i * step + 4, 46 + row * lane, (j - i) * step - 8
        is_best = (i, j, y) in best
        parts.append(
            f'<rect x="{x}" y="{top}" width="{width}" height="20" rx="9" '
            f'fill="{COLOURS[y]}" fill-opacity="{0.15 + 0.35 * probability:.2f}" '
            f'stroke="{COLOURS[y]}" stroke-width="{2.5 if is_best else 0.8}"/>'
        )
        parts.append(text(x + width / 2, top + 14, f"{LABELS[y]} {probability:.2f}"))
    height = 46 + lane * len(taken) + 12
    for k in range(len(WORDS) + 1):
        x = left + k * step
        line = f'<line x1="{x}" x2="{x}" y1="38" y2="{height - 8}" stroke="#bbb"/>'
        parts = [line, text(x, 34, str(k), 'font-size="10"'), *parts]
    for k, word in enumerate(WORDS):
        parts.append(text(left + (k + 0.5) * step, 24, word, 'font-weight="bold"'))
    width = 2 * left + len(WORDS) * step
    title = "Segments of a text with their probabilities"
    return picture(width, height, title, parts)


def states(automaton: core.PatternAutomaton) -> dict[int, tuple[str, ...]]:
    """The labels that each state remembers, by its key."""
    n_labels = len(automaton.labels)
    names = {k: (label,) for k, label in enumerate(automaton.labels)}
    names[n_labels] = ("^",)
    for key in range(n_labels + 1, automaton.n_states):
        for before in range(n_labels):
            for edge in owned(automaton, before):
                if automaton.edge_target[edge] == key:
                    label = automaton.labels[label_of(automaton, edge)]
                    names[key] = (*names[before], label)
    return names


def owned(automaton: core.PatternAutomaton, key: int) -> list[int]:
    first = automaton.first_owned
    return automaton.owned_edge[first[key] : first[key + 1]].tolist()


def label_of(automaton: core.PatternAutomaton, edge: int) -> int:
    at = automaton.owned_edge.tolist().index(edge)
    return int(automaton.owned_label[at])


def automaton_picture() -> str:
    """The states and edges of two label patterns over four labels."""
    automaton = core.PatternAutomaton(LABELS, PATTERNS)
    names = states(automaton)
    n_labels = len(LABELS)
    root = automaton.n_states
    # Each state stands in the row of its last label; the root is the empty history.
    rows = {label: 50 + 85 * row for row, label in enumerate(LABELS)}
    place = {root: (80, 180), n_labels: (80, 50)}
    for key, known in names.items():
        if known != ("^",):
            place[key] = (260 + 330 * (len(known) - 1), rows[known[-1]])
    parts: list[str] = []

    def arrow(a: int, b: int, style: str, words: str = "", at: float = 0.5) -> None:
        (x1, y1), (x2, y2) = place[a], place[b]
        way = 1 if x2 > x1 else -1
        x1, x2 = x1 + way * 48, x2 - way * 50
        line = f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" {style} '
        parts.append(f'{line} marker-end="url(#tip)"/>')
        x, y = x1 + at * (x2 - x1), y1 + at * (y2 - y1) - 6
        parts.append(text(x, y, words, HALO) if words else "")

    for key, known in names.items():
        if len(known) > 1:
            dashed = 'stroke="#888" stroke-dasharray="4 4"'
            arrow(key, int(automaton.suffix_key[key]), dashed, "anything else", 0.5)
    for key in (root, *names):
        for edge in owned(automaton, key):
            y = label_of(automaton, edge)
            pattern = int(automaton.edge_pattern[edge])
            style = f'stroke="{COLOURS[y]}" stroke-width="{1.4 if pattern < 0 else 3}"'
            words = LABELS[y] + (f" + w{pattern + 1}" if pattern >= 0 else "")
            words = "" if key == root else words
            arrow(key, int(automaton.edge_target[edge]), style, words, 0.28)
    for key, (x, y) in place.items():
        name = " ".join(names.get(key, ("any label",)))
        parts.append(
            f'<rect x="{x - 48}" y="{y - 15}" width="96" height="30" rx="15" '
            'fill="#fff" stroke="#444"/>'
        )
        parts.append(text(x, y + 5, name))
    title = "The automaton of the patterns author date title and author title date"
    return picture(670, 345, title, parts)


PICTURES = {"lattice.svg": lattice, "automaton.svg": automaton_picture}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    is_check = parser.parse_args().check
    code = 0
    for name, draw in PICTURES.items():
        path, drawn = HERE / name, draw() + "\n"
        if not is_check:
            path.write_text(drawn, "utf8")
        elif not path.exists() or path.read_text("utf8") != drawn:
            print(f"docs/{name} is not as drawn; repair it: python docs/draw.py")
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
