"""Convert labelled lines (JSONL) to spaCy's binary format.

    python corpus/convert.py corpus/train.jsonl train.spacy
    python corpus/convert.py other.jsonl other.spacy --lang de

A line of the input is one of the two::

    {"text": "...", "spans": [[start, end, label], ...]}        characters
    {"tokens": ["...", ...], "spans": [[start, end, label], ...]}   tokens

``end`` is exclusive; spans do not overlap; other keys are ignored. A text is tokenized
by ``spacy.blank(lang)``. Given tokens are kept as they are, by `spacy train` and
`spacy evaluate` too: their spaces count as unknown, and the text is the tokens joined
by single spaces.

Tokens outside the spans are outside entities. Where a span does not meet the borders of
the tokens, the tokens it touches become *missing*: unknown, not outside. The number of
such spans is printed at the end.
"""

from __future__ import annotations

import argparse
import json
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span


def docs_from_jsonl(path: str | Path, nlp: Language) -> Iterator[Doc]:
    """Read labelled lines.

    path (str | Path): A JSONL file.
    nlp (Language): Its tokenizer cuts the texts; its vocab holds the strings.
    YIELDS (Doc): One for each line that is not empty, with `doc.ents` set.
    RAISES (ValueError): A line that is not as it should be; names file and line.
    """
    n_spans = n_misaligned = 0
    with open(path, "rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                doc, n_missed = doc_from_record(json.loads(line.strip()), nlp)
            except json.JSONDecodeError as error:
                place = f"{error.msg} at character {error.pos}"
                raise ValueError(f"{path}:{number}: not JSON: {place}") from None
            except UnicodeDecodeError as error:
                raise ValueError(f"{path}:{number}: not UTF-8: {error}") from None
            except ValueError as error:
                raise ValueError(f"{path}:{number}: {error}") from None
            n_spans += len(doc.ents) + n_missed
            n_misaligned += n_missed
            yield doc
    if n_misaligned:
        print(
            f"{path}: {n_misaligned} of {n_spans} spans do not meet the borders of the "
            "tokens; the tokens they touch are left missing",
            file=sys.stderr,
        )


def doc_from_record(record: Any, nlp: Language) -> tuple[Doc, int]:
    """Make one `Doc`.

    record (Any): What one line holds.
    nlp (Language): As in `docs_from_jsonl`.
    RETURNS (Tuple[Doc, int]): The `Doc`, and how many spans did not meet its tokens.
    RAISES (ValueError): Says what is wrong with the record.
    """
    if not isinstance(record, dict):
        raise ValueError(f"an object is needed, found {shown(record)}")
    if "spans" not in record:
        raise ValueError('the key "spans" is missing')
    if "tokens" in record:
        words = record["tokens"]
        if not isinstance(words, list) or not all(
            isinstance(word, str) and word for word in words
        ):
            raise ValueError('"tokens" must be a list of strings that are not empty')
        spans = checked_spans(record["spans"], len(words), "tokens")
        # Unknown spaces (none given) keep spaCy's Corpus from tokenizing the text anew.
        doc = Doc(nlp.vocab, words=words)
        doc.set_ents([Span(doc, start, end, label) for start, end, label in spans])
        return doc, 0
    if "text" not in record:
        raise ValueError('neither the key "text" nor the key "tokens" is there')
    text = record["text"]
    if not isinstance(text, str):
        raise ValueError(f'"text" must be a string, found {shown(text)}')
    spans = checked_spans(record["spans"], len(text), "characters")
    return doc_from_text(text, spans, nlp)


def doc_from_text(
    text: str, spans: list[tuple[int, int, str]], nlp: Language
) -> tuple[Doc, int]:
    """Tokenize a text and label its tokens by checked character offsets.

    RETURNS (Tuple[Doc, int]): As `doc_from_record`.
    """
    doc = nlp.make_doc(text)
    starts = [token.idx for token in doc]
    ends = [token.idx + len(token) for token in doc]
    entities: list[Span] = []
    missing: set[int] = set()  # two misaligned spans may touch one token
    for start, end, label in spans:
        first, after = bisect_right(ends, start), bisect_left(starts, end)
        if first < after and starts[first] == start and ends[after - 1] == end:
            entities.append(Span(doc, first, after, label))
        else:
            missing.update(range(first, after))
    doc.set_ents(entities, missing=[doc[i : i + 1] for i in sorted(missing)])
    return doc, len(spans) - len(entities)


def checked_spans(spans: Any, length: int, unit: str) -> list[tuple[int, int, str]]:
    """Check spans and sort them.

    spans (Any): What stands under "spans".
    length (int): How many tokens or characters there are.
    unit (str): What is counted, for messages.
    RETURNS (List[Tuple[int, int, str]]): Start, end (exclusive) and label.
    """
    if not isinstance(spans, list):
        raise ValueError(f'"spans" must be a list, found {shown(spans)}')
    checked: list[tuple[int, int, str]] = []
    for span in spans:
        if not isinstance(span, list) or [type(x) for x in span] != [int, int, str]:
            raise ValueError(f"a span must be [start, end, label], found {shown(span)}")
        start, end, label = span
        if not 0 <= start < end <= length:
            raise ValueError(f"span {shown(span)} is not inside the {length} {unit}")
        if not label:
            raise ValueError(f"span {shown(span)} has an empty label")
        checked.append((start, end, label))
    checked.sort()
    for before, after in zip(checked, checked[1:], strict=False):
        if after[0] < before[1]:
            raise ValueError(f"spans {list(before)} and {list(after)} overlap")
    return checked


def shown(value: Any) -> str:
    """Write a value as JSON, cut to what fits into a message."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def convert(source: str | Path, target: str | Path, lang: str = "en") -> list[Doc]:
    """Convert a file.

    source (str | Path): The JSONL file.
    target (str | Path): The .spacy file to write; missing folders are made.
    lang (str): Language code of the tokenizer.
    RETURNS (List[Doc]): What was written.
    RAISES (ValueError): As `docs_from_jsonl`, or the file has no line.
    """
    docs = list(docs_from_jsonl(source, spacy.blank(lang)))
    if not docs:
        raise ValueError(f"{source}: there is no line in this file")
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    DocBin(attrs=["ORTH", "ENT_IOB", "ENT_TYPE"], docs=docs).to_disk(target)
    return docs


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description="Convert labelled lines (JSONL) to spaCy's binary format.",
        epilog='A line: {"text": "...", "spans": [[start, end, label], ...]} in '
        'characters, or with "tokens": ["...", ...] in tokens; end is exclusive. '
        "Example: python corpus/convert.py corpus/train.jsonl train.spacy",
    )
    parser.add_argument("source", metavar="IN.jsonl", help="the file to read")
    parser.add_argument("target", metavar="OUT.spacy", help="the file to write")
    parser.add_argument(
        "--lang",
        default="en",
        help="language code of the tokenizer for texts (default: %(default)s)",
    )
    return parser.parse_args()


def main() -> int:
    """Convert one file and say what was written."""
    args = arguments()
    try:
        docs = convert(args.source, args.target, args.lang)
    except (OSError, ValueError) as error:
        sys.exit(f"{error}")
    except ImportError as error:  # no such language
        sys.exit(f"--lang {args.lang}: {error}")
    n_tokens = sum(map(len, docs))
    n_spans = sum(len(doc.ents) for doc in docs)
    print(f"{args.target}: {len(docs)} docs, {n_tokens} tokens, {n_spans} spans")
    return 0


if __name__ == "__main__":
    sys.exit(main())
