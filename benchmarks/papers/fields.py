"""Table 4 of Nguyen et al. (2011): the fields of bibliographic references (Cora).

    python benchmarks/papers/fields.py --data DATA [--quick]

"Theirs" are the figures of the paper. Ours are measured on the same 300 and 200
references, first with the features that their code reads, then with those of this
package: `benchmarks/configs/references.cfg` without its lists of names.

- F1: micro-averaged, exact field and label, on test, in per cent.
- records: references all of whose fields are exact, with no other ones, in per cent.
- CPU s: of `nlp.initialize`, in which features are read, label patterns mined and
  weights fitted; one thread. Theirs are those of their code.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import fitting
from harness import table
from scores import exactness
from spacy import registry
from spacy.tokens import Doc

from spacy_hosemi.model.weights.storage import size_of

# The fit of the paper's own code: 100 iterations at most, sigma = 1; the tolerance is
# chosen on three folds of train.
PAPER_FIT = {"l2": 1.0, "max_iter": 100, "tolerance": 5e-4}
WINDOW = 4
SIZES = range(2, 7)

# F1 and CPU seconds.
THEIRS = {
    ("C", 1): ("85.60", ""),
    ("C", 2): ("85.47", ""),
    ("C", 3): ("84.67", ""),
    ("SC", 1): ("85.67", "41"),
    ("SC", 2): ("86.67", "193"),
    ("SC", 3): ("86.07", "405"),
}


def bags(doc: Doc) -> list[list[str]]:
    """What the paper counts over a segment: each word, its neighbours, the words around
    it without their places, and its letters. "" stands before and behind the text."""
    words = ["", *(token.text for token in doc), ""]
    return [
        [
            f"word={words[i]}",
            f"previous={words[i - 1]}",
            f"next={words[i + 1]}",
            *(f"before={word}" for word in words[max(0, i - WINDOW) : i]),
            *(f"behind={word}" for word in words[i + 1 : i + 1 + WINDOW]),
            *(f"letters={letters}" for letters in n_grams(f"<{words[i]}>")),
        ]
        for i in range(1, len(words) - 1)
    ]


def n_grams(word: str) -> Iterator[str]:
    """All sequences of letters of these sizes."""
    for size in SIZES:
        for i in range(len(word) - size + 1):
            yield word[i : i + size]


def edges(doc: Doc) -> list[list[str]]:
    """What the paper counts over the tokens of a segment but the first."""
    words = ["", *(token.text for token in doc)]
    return [
        ["edge", f"word={word}", f"previous={previous}"]
        for previous, word in zip(words, words[1:])
    ]


registry.misc("papers.field_bags.v1", func=lambda: bags)
registry.misc("papers.field_edges.v1", func=lambda: edges)


def their_features(on_tokens: bool) -> dict[str, Any]:
    """The features of the paper; what goes on within a segment is a transition between
    tags if labels are on tokens."""
    functions = {"bags": {"@misc": "papers.field_bags.v1"}}
    roles = {"bags": ["inside"]}
    if not on_tokens:
        functions["edges"] = {"@misc": "papers.field_edges.v1"}
        roles["edges"] = ["within"]
    return {
        "preset": "none",
        "transition": ["ORTH", "ORTH[-1]"],
        "min_count": 1,
        "all_labels": False,
        "functions": functions,
        "function_roles": roles,
    }


def measure(args: argparse.Namespace) -> list[str]:
    """Measure the table."""
    train, test = fitting.read_docs(args.data / "cora", args.quick)

    def row(name: str, theirs: tuple[str, str], *how: Any) -> list[Any]:
        model = fitting.by_lbfgs(train, *how, quick=args.quick)
        own = map(fitting.entities, map(model.nlp, fitting.fresh(test)))
        found = exactness(own, map(fitting.entities, test))
        n_weights = size_of(model.component.weights)["weights"]
        fitting.tell(f"fields {name}: F1 {found.f1:.2f}, {model.cpu_s:.1f} CPU s")
        figures = [found.f1, theirs[0], found.records, model.cpu_s, theirs[1]]
        return [name, *figures, n_weights]

    rows = []
    for (kind, order), theirs in THEIRS.items():
        settings = fitting.paper_settings(kind, order)
        features = their_features(kind == "C")
        rows.append(row(f"{kind}{order}", theirs, settings, features, PAPER_FIT))
    own = {"max_order": 3, "decoding": "mbr", "expected_f1": None}
    rows.append(row("ours", ("", ""), own, {}, {}))
    columns = ["model", "F1|.2f", "theirs", "records|.2f", "CPU s|.1f", "theirs"]
    title = "Nguyen et al. 2011, Table 4: fields of references"
    return [title, table([*columns, "weights|,d"], rows)]


main = fitting.script(__doc__, measure)

if __name__ == "__main__":
    main()
