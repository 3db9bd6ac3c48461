"""Draws the pictures of docs/model.md and CONTRIBUTING.md from the code.

    python docs/draw.py            # write docs/*.svg
    python docs/draw.py --check    # exit 1 if they are not as drawn

`lattice` and `automaton` show real objects of spacy_hosemi.core. `nouns` shows the way
of a document through the package: each box is a class, and each arrow a function whose
annotations say that it takes the one and returns or writes the other. Where the code no
longer says so, the script fails and names the arrow. `engine` shows the modules of
spacy_hosemi.core that sum and maximize: an arrow leads from a module to one that
imports it.

The pictures have a light background of their own, so that they can be read on light and
dark pages.
"""

from __future__ import annotations

import argparse
import re
import sys
from html import escape
from importlib import import_module
from inspect import isclass, signature
from pathlib import Path
from typing import Any

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


# The classes, each with the column and the row of its box.
BOXES = {
    "spacy.tokens.Doc": (0, 0),
    "spacy_hosemi.prediction.batch.Batch": (1, 0),
    "spacy_hosemi.prediction.predictions.Predictions": (2, 0),
    "spacy_hosemi.prediction.predictions.Prediction": (3, 0),
    "spacy_hosemi.features.instances.Instance": (0, 1),
    "spacy_hosemi.prediction.posterior.Posterior": (1, 1),
    "spacy_hosemi.prediction.decoder.Decoder": (2, 1),
    "spacy_hosemi.training.corpus.Corpus": (0, 2),
    "spacy_hosemi.training.trainer.Trainer": (1, 2),
    "spacy_hosemi.model.state.ModelState": (2, 2),
    "spacy_hosemi.labels.partial.PartialLabels": (0, 3),
    "spacy.training.Example": (1, 3),
}

# From which class to which, and the function that leads there.
ARROWS = [
    ("Doc", "Batch", "spacy_hosemi.prediction.flat_decoder.FlatDecoder.batch_steps"),
    ("Batch", "Predictions", "spacy_hosemi.prediction.predictions.Predictions"),
    (
        "Predictions",
        "Prediction",
        "spacy_hosemi.prediction.predictions.Predictions.__iter__",
    ),
    ("Predictions", "Doc", "spacy_hosemi.component.annotations.write_predictions"),
    ("Doc", "Instance", "spacy_hosemi.features.instances.divide"),
    ("Batch", "Instance", "spacy_hosemi.prediction.batch.Batch.instance"),
    ("Batch", "Posterior", "spacy_hosemi.prediction.posterior.Posterior"),
    ("Decoder", "Predictions", "spacy_hosemi.prediction.decoder.Decoder.steps"),
    ("ModelState", "Decoder", "spacy_hosemi.hierarchy.decoder.make_decoder"),
    ("Trainer", "ModelState", "spacy_hosemi.training.trainer.Trainer.publish"),
    ("Corpus", "Trainer", "spacy_hosemi.training.trainer.Trainer.initialize"),
    ("PartialLabels", "Corpus", "spacy_hosemi.training.corpus.read_corpus"),
    ("Example", "PartialLabels", "spacy_hosemi.labels.alignment.read_annotations"),
]


def find(path: str) -> Any:
    """RETURNS (Any): What a dotted path names: a class, a function or a method."""
    module, names = path, list[str]()
    while module:
        try:
            named: Any = import_module(module)
        except ModuleNotFoundError:
            module, _, name = module.rpartition(".")
            names.insert(0, name)
        else:
            for name in names:
                named = getattr(named, name)
            return named
    raise LookupError(path)


def check_arrow(start: str, end: str, path: str) -> None:
    """RAISES (LookupError): The annotations of a function do not say that it leads from
    one class to another. Methods take their class, and a class returns itself."""
    function, owner = find(path), find(path.rpartition(".")[0])
    if isclass(function):
        owner, function = function, function.__init__
    annotations = signature(function)
    words = [str(x.annotation) for x in annotations.parameters.values()]
    taken, returned = " ".join(words), str(annotations.return_annotation)
    if isclass(owner):
        taken += f" {owner.__name__}"
    if returned == "None":  # what it writes to is among the arguments
        returned = taken
    for name, found in ((start, taken), (end, returned)):
        names = "Doc|Instances" if name == "Doc" else name  # a list of these
        if not re.search(rf"\b({names})\b", found):
            raise LookupError(f"{path} has no {name} in {found!r}: mend docs/draw.py")


def nouns() -> str:
    """The way of a document through the package, and that of examples to weights."""
    place = {
        path.rpartition(".")[2]: (90 + 175 * column, 70 + 92 * row)
        for path, (column, row) in BOXES.items()
    }
    parts: list[str] = []
    style = 'stroke="#444" fill="none" marker-end="url(#tip)"'
    for start, end, path in ARROWS:
        check_arrow(start, end, path)
        (x1, y1), (x2, y2) = place[start], place[end]
        across, down = (x2 > x1) - (x2 < x1), (y2 > y1) - (y2 < y1)
        name = path.rpartition(".")[2].strip("_")
        at = (x1 + x2) / 2, (y1 + y2) / 2
        if abs(x2 - x1) > 200:  # above the boxes between them
            y = y1 - 20
            line = f"M{x1} {y}Q{at[0]} {y - 46} {x2} {y - 2}"
            at = at[0], y - 28
        elif down:
            line = f"M{x1} {y1 + 20 * down}L{x2 - 20 * across} {y2 - 22 * down}"
            at = at[0], at[1] + 4
        else:
            line = f"M{x1 + 60 * across} {y1}L{x2 - 62 * across} {y2}"
            at = at[0], y1 - 26
        parts += [f'<path d="{line}" {style}/>', text(*at, name, HALO)]
    for path in BOXES:
        named = find(path)
        x, y = place[path.rpartition(".")[2]]
        folders = [*named.__module__.split("."), ""]
        folder = folders[1] + "/" if folders[0] == core.__name__.split(".")[0] else ""
        parts += [
            f'<rect x="{x - 60}" y="{y - 20}" width="120" height="40" rx="6" '
            'fill="#fff" stroke="#444"/>',
            text(x, y - 1, named.__name__, 'font-weight="bold"'),
            text(x, y + 13, folder or "spaCy", 'font-size="10"'),
        ]
    right, bottom = map(max, zip(*place.values()))
    title = "From documents to predictions, and from examples to weights"
    return picture(right + 90, bottom + 40, title, parts)


# Modules of the engine, each with the column and the row of its box, and what it does.
MODULES = {
    "automaton": (0, 0, "label patterns as states"),
    "potentials": (1, 0, "scores, constraints"),
    "chart": (1, 1, "scores as sweeps read them"),
    "simd": (0, 1, "inner loops, in C"),
    "sweeps.lanes": (1, 2, "sums, both ways"),
    "sweeps.backward": (2, 2, "maxima"),
    "algorithms.marginals": (0, 3, "log Z, counts"),
    "algorithms.likelihoods": (0, 2, "loss of a corpus"),
    "algorithms.best_path": (2, 3, "Viterbi, k best"),
    "algorithms.segment_probabilities": (1, 3, "many documents at once"),
}
# From module to module; "through" leads over one that only these two share.
IMPORTS = [
    ("potentials", "chart", ""),
    ("automaton", "potentials", ""),
    ("simd", "sweeps.lanes", ""),
    ("chart", "sweeps.lanes", ""),
    ("chart", "sweeps.backward", ""),
    ("sweeps.lanes", "algorithms.marginals", "sweeps.forward_backward"),
    ("sweeps.lanes", "algorithms.likelihoods", ""),
    ("sweeps.backward", "algorithms.best_path", ""),
    ("sweeps.lanes", "algorithms.segment_probabilities", "algorithms.posteriors"),
    (
        "algorithms.best_path",
        "algorithms.segment_probabilities",
        "algorithms.posteriors",
    ),
]


def check_import(start: str, end: str) -> None:
    """RAISES (LookupError): No file of one module, or folder, imports the other."""
    path = Path(core.__file__).parent.joinpath(*end.split("."))
    files = path.glob("*.p*") if path.is_dir() else path.parent.glob(f"{path.name}.p*")
    name = start.rpartition(".")[2]
    line = re.compile(rf"^from (\S*\.{name}\b|\S* c?import (\w+, )*{name}\b)", re.M)
    if not any(line.search(file.read_text("utf8")) for file in files):
        raise LookupError(f"core.{end} does not import {start}: mend docs/draw.py")


def engine() -> str:
    """From scores to sums and maxima, and to what is asked of them."""
    parts: list[str] = []
    place = {
        name: (105 + 205 * column, 40 + 88 * row)
        for name, (column, row, _) in MODULES.items()
    }
    for start, end, through in IMPORTS:
        chain = [start, through, end] if through else [start, end]
        for pair in zip(chain, chain[1:]):
            check_import(*pair)
        (x1, y1), (x2, y2) = place[start], place[end]
        down = (y2 > y1) - (y2 < y1)
        across = (x2 > x1) - (x2 < x1)
        line = (
            f"M{x1 + 30 * across} {y1 + 22 * down}L{x2 - 34 * across} {y2 - 24 * down}"
        )
        if not down:
            line = f"M{x1 + 92 * across} {y1}L{x2 - 94 * across} {y2}"
        parts.append(
            f'<path d="{line}" stroke="#444" fill="none" marker-end="url(#tip)"/>'
        )
    for name, (x, y) in place.items():
        folder, _, module = name.rpartition(".")
        parts += [
            f'<rect x="{x - 90}" y="{y - 22}" width="180" height="44" rx="6" '
            'fill="#fff" stroke="#444"/>',
            text(x, y - 3, module, 'font-weight="bold"'),
            text(
                x, y + 13, f"{folder or 'core'}: {MODULES[name][2]}", 'font-size="10"'
            ),
        ]
    right, bottom = map(max, zip(*place.values()))
    return picture(right + 105, bottom + 40, "The engine, module by module", parts)


PICTURES = {
    "lattice.svg": lattice,
    "engine.svg": engine,
    "automaton.svg": automaton_picture,
    "nouns.svg": nouns,
}


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
