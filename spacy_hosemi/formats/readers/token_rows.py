"""Tables with a row for each token: columns `Sentence #`, `Word` and `Tag`.

The number of a text stands in each of its rows, or in the first one alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..texts import Fault, Found
from .tags import Row, find_scheme, text_of_rows

# Names that columns may have; what texts are told apart by, tokens, and tags.
NAMES = (
    ("sentence #", "sentence", "sentence_id", "sentence_idx", "sent_id", "doc_id"),
    ("word", "token", "words", "tokens"),
    ("tag", "ner", "ner_tag", "label", "labels", "tags"),
)


def token_columns(names: Sequence[str]) -> list[int]:
    """RETURNS (List[int]): The columns of texts, tokens and tags; [] where one of them
    is missing."""
    folded = [name.casefold() for name in names]
    found = [[folded.index(x) for x in some if x in folded] for some in NAMES]
    return [places[0] for places in found] if all(found) else []


def texts_of_tokens(
    columns: Sequence[int], rows: Sequence[tuple[int, list[str]]], path: str
) -> Iterator[Found]:
    """YIELDS (Found): The texts of a table, and its faults.

    columns (Sequence[int]): See `token_columns`.
    rows (Sequence[Tuple[int, List[str]]]): Rows with their lines.
    path (str): The file.
    """
    texts: list[list[Row]] = []
    before = None
    for line, row in rows:
        number, word, tag = (row[i].strip() for i in columns)
        if not word or not tag:
            yield Fault(path, line, "expected a token and a tag, found an empty cell")
        if not texts or number not in ("", before):
            texts.append([])
        before = number or before
        texts[-1].append(Row(line, word, tag))
    scheme = find_scheme([row.tag for some in texts for row in some if row.tag])
    for some in texts:
        if all(row.word and row.tag for row in some):
            yield text_of_rows(some, scheme, path, {})
