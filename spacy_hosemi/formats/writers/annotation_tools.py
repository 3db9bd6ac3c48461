"""Records for annotation tools, as suggestions to correct, and for text editors."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import IO, Any
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from ..records import ExtractedRecord, Segmentation
from .base import RecordFormat, WriterOptions
from .json_records import in_lines, in_list, rounded

# What the labeling interface of Label Studio calls the labels and the text:
# <Labels name="label" toName="text"/> <Text name="text" value="$text"/>.
_FROM, _TO, _DATA = "label", "text", "text"


def _label_studio(record: ExtractedRecord, options: WriterOptions) -> dict[str, Any]:
    """Returns a task with predictions, the best one first."""
    predictions = [_prediction(record.best, options.model)]
    for rank, other in enumerate(record.alternatives, start=2):
        name = options.alternative or f"{options.model} ({rank})"
        predictions.append(_prediction(other, name))
    data = {_DATA: record.text, **_notes(record)}
    return {"data": data, "predictions": predictions}


def _notes(record: ExtractedRecord) -> dict[str, Any]:
    """Returns what these tools can sort and filter by."""
    notes: dict[str, Any] = {"line": record.line} if record.line else {}
    if record.advice is not None:
        notes["verdict"] = record.advice
    return {**notes, **record.notes}


def _meta(record: ExtractedRecord, options: WriterOptions) -> dict[str, Any]:
    """Returns what a tool shows beside a text that has a place for one segmentation
    alone: the probability of the record, and the others in words."""
    score = rounded(record.best.confidence)
    return {**_notes(record), "score": score, **_others(record, options)}


def _others(record: ExtractedRecord, options: WriterOptions) -> dict[str, str]:
    """Returns the other segmentations in words, by name."""
    return {
        options.alternative or f"runner-up {rank}": _in_words(record.best, other)
        for rank, other in enumerate(record.alternatives, start=1)
    }


def _in_words(best: Segmentation, other: Segmentation) -> str:
    """Returns how a segmentation differs from the best one, after its probability."""
    of_best = {x[:3] for x in best.fields}
    of_other = {x[:3] for x in other.fields}
    lost = [x for x in best.fields if x[:3] not in of_other]
    said = [f"not {x.label} {x.value!r}" for x in lost]
    new = [x for x in other.fields if x[:3] not in of_best]
    said += [f"but {x.label} {x.value!r}" for x in new]
    score = rounded(other.confidence)
    return ("" if score is None else f"{score:.3g}: ") + "; ".join(said)


def _prediction(segmentation: Segmentation, name: str) -> dict[str, Any]:
    kind = {"from_name": _FROM, "to_name": _TO, "type": "labels"}
    result = []
    for start, end, label, text, confidence in segmentation.fields:
        value = {"start": start, "end": end, "text": text, "labels": [label]}
        region = {"id": f"{start}-{end}", **kind, "value": value}
        result.append({**region, "score": rounded(confidence)})
    score = rounded(segmentation.confidence)
    return {"model_version": name, "score": score, "result": result}


def _prodigy(record: ExtractedRecord, options: WriterOptions) -> dict[str, Any]:
    """Returns a task with tokens: spans must fit them, and Prodigy's own may differ."""
    tokens, first, last = [], {}, {}
    for i, (start, end, has_space) in enumerate(record.tokens):
        token = {"text": record.text[start:end], "start": start, "end": end}
        tokens.append({**token, "id": i, "ws": has_space})
        first[start] = last[end] = i
    spans = []
    for start, end, label, _, confidence in record.best.fields:
        # Both inclusive, as Prodigy has them.
        ends = {"token_start": first[start], "token_end": last[end]}
        span = {"start": start, "end": end, "label": label, **ends}
        spans.append({**span, "score": rounded(confidence)})
    meta = _meta(record, options)
    return {"text": record.text, "tokens": tokens, "spans": spans, "meta": meta}


def _doccano(record: ExtractedRecord, options: WriterOptions) -> dict[str, Any]:
    """Returns an object for a project of sequence labeling. Its labels have no place
    for scores: those stand beside them, in their order."""
    labels = [[x.start, x.end, x.label] for x in record.best.fields]
    scores = [rounded(x.confidence) for x in record.best.fields]
    task = {"text": record.text, "label": labels, "span_scores": scores}
    return {**task, **_meta(record, options)}


# Characters that XML does not have, not even as a reference.
_NO_XML = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_BREAKS = {"\n": "&#10;", "\r": "&#13;"}
# The name of an element, and what kind of it, as in title:j.
_NAME = re.compile(r"([^\W\d][\w.-]*)(?::(.+))?")


def write_xml(
    records: Iterable[ExtractedRecord], file: IO[Any], options: WriterOptions
) -> None:
    """Writes a text on each line with tags around its fields, and other ways to read it
    in a comment behind it; see `readers.inline`, which returns each character."""
    if not options.continues:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n<dataset>\n')
    for record in records:
        pieces, at = [], 0
        for field in record.best.fields:
            name, more = _element(field.label)
            before = _content(record.text[at : field.start])
            within = _content(field.value)
            pieces.append(f"{before}<{name}{more}>{within}</{name}>")
            at = field.end
        notes = {**_notes(record), "record_confidence": rounded(record.best.confidence)}
        head = "".join(f" {k}={_quoted(v)}" for k, v in notes.items() if v is not None)
        text = "".join(pieces) + _content(record.text[at:])
        tail = ""
        for pair in _others(record, options).items():
            # A comment has no two hyphens.
            said = re.sub("-(?=-)", "- ", _NO_XML.sub("\ufffd", ": ".join(pair)))
            tail += f" <!-- {said} -->"
        head = f'<sequence{head} xml:space="preserve">'
        file.write(f"{head}{text}</sequence>{tail}\n")
    file.write("</dataset>\n")


@cache
def _element(label: str) -> tuple[str, str]:
    """Returns the name of the element of a label, and its attribute."""
    match = _NAME.fullmatch(label)
    try:
        if match and match[1] != "sequence":
            expat.ParserCreate().Parse(f"<{match[1]}/>", True)
            return match[1], f" type={_quoted(match[2])}" if match[2] else ""
    except expat.ExpatError:  # letters that names do not have
        pass
    return "span", f" label={_quoted(label)}"


def _content(text: str) -> str:
    """Returns a text for an element, on one line."""
    text = escape(text, _BREAKS)
    return _NO_XML.sub(lambda match: f"<?char {ord(match[0]):x}?>", text)


def _quoted(value: Any) -> str:
    return quoteattr(_NO_XML.sub("\ufffd", str(value)))


_OF_TOOLS: dict[str, Any] = {"has_alternatives": True, "is_for_tools": True}
FORMATS = (
    RecordFormat(
        "label-studio", in_list(_label_studio), **_OF_TOOLS, is_one_document=True
    ),
    RecordFormat("prodigy", in_lines(_prodigy), **_OF_TOOLS, has_tokens=True),
    RecordFormat("doccano", in_lines(_doccano), **_OF_TOOLS),
    RecordFormat("xml", write_xml, "tagged lines for a text editor", **_OF_TOOLS),
)
