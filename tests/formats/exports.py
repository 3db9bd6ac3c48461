"""Writes texts and spans as annotation tools export them: what readers must read."""

import csv
import io
import json
import re
from functools import partial
from xml.sax.saxutils import escape

# A text is a list of (words, label or None): joined by blanks it is the text.


def text_of(segments):
    return " ".join(words for words, _ in segments)


def spans_of(segments):
    """Character offsets by hand: the oracle."""
    found, at = [], 0
    for words, label in segments:
        if label:
            found.append((at, at + len(words), label))
        at += len(words) + 1
    return found


def json_lines(records):
    return "".join(json.dumps(x, ensure_ascii=False) + "\n" for x in records)


def jsonl(texts):
    return json_lines({"text": text_of(x), "spans": spans_of(x)} for x in texts)


def jsonl_of_tokens(texts):
    return json_lines(
        {
            "tokens": text_of(x).split(" "),
            "spans": [
                (text_of(x)[:s].count(" "), text_of(x)[:e].count(" ") + 1, label)
                for s, e, label in spans_of(x)
            ],
        }
        for x in texts
    )


def doccano(texts, key="label"):
    return json_lines(
        {"id": i, "text": text_of(x), key: spans_of(x), "Comments": []}
        for i, x in enumerate(texts)
    )


def doccano_relations(texts):
    return json_lines(
        {
            "id": i,
            "text": text_of(x),
            "relations": [{"id": 3, "from_id": 1, "to_id": 2, "type": "of"}],
            "entities": [
                {"id": 7, "label": label, "start_offset": s, "end_offset": e}
                for s, e, label in spans_of(x)
            ],
        }
        for i, x in enumerate(texts)
    )


def prodigy(texts):
    return json_lines(
        {
            "text": text_of(x),
            "_input_hash": -17,
            "_task_hash": i,
            "tokens": [
                {"text": m[0], "start": m.start(), "end": m.end(), "id": k, "ws": True}
                for k, m in enumerate(re.finditer(r"\S+", text_of(x)))
            ],
            "spans": [
                {"start": s, "end": e, "token_start": 0, "token_end": 0, "label": label}
                for s, e, label in spans_of(x)
            ],
            "answer": "accept",
            "_timestamp": 1600000000,
        }
        for i, x in enumerate(texts)
    )


def regions(segments):
    text = text_of(segments)
    return [
        {"start": s, "end": e, "text": text[s:e], "labels": [label]}
        for s, e, label in spans_of(segments)
    ]


def label_studio(texts):
    names = {"from_name": "label", "to_name": "text", "type": "labels"}
    results = [
        [{"value": value, "id": "gew3t9fgkg", **names} for value in regions(x)]
        for x in texts
    ]
    beside = {"completed_by": 1, "was_cancelled": False, "ground_truth": False}
    tasks = [
        {
            "id": i,
            "annotations": [{"id": 9, "result": result, **beside}],
            "predictions": [],
            "data": {"text": text_of(x)},
        }
        for i, (x, result) in enumerate(zip(texts, results))
    ]
    return json.dumps(tasks, ensure_ascii=False)


def label_studio_min(texts):
    beside = {"annotator": 1, "created_at": "2023-01-01T00:00:00Z", "lead_time": 2.1}
    tasks = [
        {"text": text_of(x), "id": i, "label": regions(x), "annotation_id": i, **beside}
        for i, x in enumerate(texts)
    ]
    return json.dumps(tasks, indent=2)


def spacy_pairs(texts):
    return json.dumps([[text_of(x), {"entities": spans_of(x)}] for x in texts])


def spacy_annotator(texts):
    pairs = [[text_of(x), {"entities": spans_of(x)}] for x in texts]
    return json.dumps({"classes": ["AUTHOR"], "annotations": [*pairs, None]})


def spacy_documents(texts):
    return json_lines(
        {
            "text": text_of(x),
            "ents": [{"start": s, "end": e, "label": n} for s, e, n in spans_of(x)],
            "tokens": [{"id": 0, "start": 0, "end": 1}],
            "spans": {},
        }
        for x in texts
    )


def tagged(segments, scheme):
    rows, before = [], None
    for words, label in segments:
        parts = words.split(" ")
        for i, word in enumerate(parts):
            tag = "O" if not label else f"{letter(i, parts, scheme, before == label)}-"
            rows.append((word, tag + label if label else "O"))
        before = label
    return rows


def onto_notes(texts):
    """As `columns=(4, 11)` reads them."""
    blocks = []
    for x in texts:
        rows = [
            f"doc 0 {i} {word} NN (TOP* - - - - {bracket(tag)} (ARG0*) -\n"
            for i, (word, tag) in enumerate(tagged(x, "BILUO"))
        ]
        blocks.append("".join(rows))
    body = "\n".join(blocks)
    return f"#begin document (doc); part 000\n{body}\n#end document\n"


def bracket(tag):
    kind, _, label = tag.partition("-")
    begin = f"({label}*" if kind in "BU" else "*"
    return begin + ")" if kind in "LU" else begin


def letter(i, parts, scheme, is_after_same):
    first, last = i == 0, i == len(parts) - 1
    if scheme in ("BILUO", "BIOES"):
        unit, end = ("U", "L") if scheme == "BILUO" else ("S", "E")
        return unit if first and last else "B" if first else end if last else "I"
    if scheme == "IOB1":
        return "B" if first and is_after_same else "I"
    return "B" if first else "I"


def columns(texts, scheme="BIO", separator="\t", middle=()):
    blocks = [
        "".join(
            separator.join([word, *middle, tag]) + "\n"
            for word, tag in tagged(x, scheme)
        )
        for x in texts
    ]
    return "\n".join(blocks)


spaced = partial(columns, separator=" ")


def conll_2003(texts):
    return "-DOCSTART- -X- -X- O\n\n" + spaced(texts, middle=("NNP", "B-NP"))


def table(texts, separator=","):
    names = sorted({label for x in texts for _, _, label in spans_of(x)} | {"zzz"})
    file = io.StringIO()
    writer = csv.writer(file, delimiter=separator)
    writer.writerow(["id", "text", *names])
    for i, x in enumerate(texts):
        values = {label: text_of(x)[s:e] for s, e, label in spans_of(x)}
        writer.writerow([f"r{i}", text_of(x), *(values.get(n, "") for n in names)])
    return file.getvalue()


def anystyle(texts):
    sequences = "".join(
        "  <sequence>\n"
        + "".join(f"    <{n}>{escape(words)}</{n}>\n" for words, n in x)
        + "  </sequence>\n"
        for x in texts
    )
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return f"{head}<dataset>\n{sequences}</dataset>\n"


def grobid(texts):
    bibls = "".join(
        "<bibl>"
        + " ".join(
            f"<{n}>{escape(words)}</{n}>"
            if n
            else escape(words).replace(" ", "<lb/>\n")
            for words, n in x
        )
        + "</bibl>\n"
        for x in texts
    )
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return (
        f'{head}<tei xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><title>t</title>'
        f"</teiHeader><text><back><listBibl>{bibls}</listBibl></back></text></tei>"
    )


def span_rows(texts):
    """As `hosemi parse` writes tables."""
    file = io.StringIO()
    writer = csv.writer(file)
    header = "line,text,start,end,label,value,confidence,record_confidence"
    writer.writerow(header.split(","))
    for i, x in enumerate(texts):
        text = text_of(x)
        for s, e, label in spans_of(x):
            writer.writerow([i, text, s, e, label, text[s:e], 0.9, 0.8])
        if not spans_of(x):
            writer.writerow([i, text, *[""] * 5, 0.8])
    return file.getvalue()


def token_rows(texts):
    """The number of a text stands in its first row alone."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["Sentence #", "Word", "POS", "Tag"])
    for i, x in enumerate(texts, start=1):
        for k, (word, tag) in enumerate(tagged(x, "BIO")):
            writer.writerow(["" if k else f"Sentence: {i}", word, "NN", tag])
    return file.getvalue()


# By name: the reader, and what writes.
WRITERS = {
    "jsonl": ("jsonl", jsonl),
    "jsonl of tokens": ("jsonl", jsonl_of_tokens),
    "doccano": ("doccano", doccano),
    "doccano, labels": ("doccano", partial(doccano, key="labels")),
    "doccano, relations": ("doccano", doccano_relations),
    "prodigy": ("prodigy", prodigy),
    "label-studio": ("label-studio", label_studio),
    "label-studio, JSON-MIN": ("label-studio", label_studio_min),
    "spacy, pairs": ("spacy", spacy_pairs),
    "spacy, annotator": ("spacy", spacy_annotator),
    "spacy, documents": ("spacy", spacy_documents),
    "columns, BIO": ("columns", columns),
    "columns, BILUO": ("columns", partial(spaced, scheme="BILUO")),
    "columns, BIOES": ("columns", partial(columns, scheme="BIOES")),
    "columns, IOB1": ("columns", partial(spaced, scheme="IOB1", middle=("NN", "_"))),
    "columns, CoNLL-2003": ("columns", conll_2003),
    "csv": ("csv", table),
    "csv, tabs": ("csv", partial(table, separator="\t")),
    "csv, row for each span": ("csv", span_rows),
    "csv, row for each token": ("csv", token_rows),
    "xml, AnyStyle": ("xml", anystyle),
    "xml, GROBID": ("xml", grobid),
}
OF_TOKENS = {
    "jsonl of tokens",
    "csv, row for each token",
    *(name for name in WRITERS if "columns" in name),
}

REFERENCES = [
    [("Frege, G.", "author"), ("Begriffsschrift", "title"), ("1879", "date")],
    [("Zadeh, L.", "author"), ("Fuzzy sets", "title"), ("1965", "date")],
    [("Gödel, K.", "author"), ("1931", "date"), ("173-198", "pages")],
]
