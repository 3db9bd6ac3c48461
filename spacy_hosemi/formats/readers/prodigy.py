"""Exports of Prodigy (`db-out`): tasks with `spans`. The accepted tasks are read.

Recipes such as `ner.teach` ask for one span at a time. If `settings.is_binary` is set,
tasks are read as such: an accepted one says that its spans are right, a rejected one
that its only span is wrong, and neither says anything of the rest of the text. A span
may have an answer of its own.

Spans count characters of the text that the tokens make, each with a space after it or
none. Where the tokens came from another program, that is not the text of the task: then
the tokens are looked for in the text, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from ..json_records import meta_of, spans_of, string_of
from ..sources import SourceText
from ..texts import AnnotatedText, Found, LabeledSpan, Skipped, shown
from .base import ReaderSettings, object_reader

ANSWERS = {"accept": "accepted", "reject": "rejected", "ignore": "ignored"}
MARKS = ("answer", "_task_hash", "_input_hash")


def is_task(record: dict[str, Any]) -> bool:
    """Returns whether an object has what only Prodigy writes."""
    tokens = record.get("tokens")
    has_objects = isinstance(tokens, list) and any(isinstance(x, dict) for x in tokens)
    is_shown = has_objects and isinstance(record.get("spans"), list)
    return "text" in record and (is_shown or any(x in record for x in MARKS))


def _read_task(
    line: int, record: dict[str, Any], path: str, settings: ReaderSettings
) -> Iterator[Found]:
    answer = _own_answer(record) or "accept"
    is_read = answer == "accept" or answer == "reject" and settings.is_binary
    if not is_read:
        yield Skipped(ANSWERS[answer])
        return
    key = settings.text_key or "text"
    text = string_of(record, key)
    spans, is_sure = _spans(record, text, line)
    meta = meta_of(record, key, "spans", "tokens")
    task = AnnotatedText(text, spans, path, line, has_offsets=not is_sure, meta=meta)
    answers = [_own_answer(x) for x in record.get("spans") or []]
    if settings.is_binary:
        yield _judged(task, answer, answers)
    elif any(x not in (None, answer) for x in answers):
        raise ValueError(
            "the task is accepted, and a span of it is not; give --binary if answers "
            "are for spans alone, or correct the task"
        )
    else:
        yield task


def _read(source: SourceText, settings: ReaderSettings) -> Iterator[Found]:
    items = TASKS.read(source, settings)
    return _joined(items) if settings.is_binary else items


def _own_answer(value: Any) -> str | None:
    """Returns the own answer of a task or span; raises ValueError for another word."""
    if not isinstance(value, dict) or "answer" not in value:
        return None
    answer = value["answer"]
    if not isinstance(answer, str) or answer not in ANSWERS:
        expected = "accept, reject or ignore"
        raise ValueError(f'"answer" is {shown(answer)}; expected {expected}')
    return answer


def _judged(text: AnnotatedText, answer: str, answers: list[str | None]) -> Found:
    """Returns what the answer to a task says of its spans."""
    if answer == "reject" and len(answers) > 1 and None in answers:
        return Skipped("rejected with several spans")
    pairs = [*zip(text.spans, (its or answer for its in answers))]
    right = tuple(span for span, its in pairs if its == "accept")
    wrong = tuple(span for span, its in pairs if its == "reject")
    if not right and not wrong:
        return Skipped("without an answer for a span")
    return replace(text, spans=right, wrong=wrong, is_partial=True)


def _joined(items: Iterable[Found]) -> Iterator[Found]:
    """Yields texts that are equal as one: each task answers for other spans of it."""
    texts: dict[tuple[str, bool], AnnotatedText] = {}
    for item in items:
        if isinstance(item, AnnotatedText):
            key = item.text, item.has_offsets
            if text := texts.get(key):
                right = {x[:3]: x for x in item.spans + text.spans}
                wrong = {x[:3]: x for x in item.wrong + text.wrong}
                spans = tuple(right.values())
                item = replace(text, spans=spans, wrong=tuple(wrong.values()))
            texts[key] = item
        else:
            yield item
    yield from texts.values()


def _spans(
    record: dict[str, Any], text: str, line: int
) -> tuple[tuple[LabeledSpan, ...], bool]:
    """Returns the spans of a task, and whether they are where their tokens are in the
    text, whatever offsets count."""
    # A task without spans was accepted with none in it.
    spans = spans_of(record.get("spans") or [], ("start", "end"), line)
    tokens = record.get("tokens")
    if not spans or not isinstance(tokens, list) or not all(map(_is_token, tokens)):
        return spans, False
    is_moved = any(text[x["start"] : x["end"]] != x["text"] for x in tokens)
    places = [(x["start"], x["end"]) for x in tokens]
    places = _places([x["text"] for x in tokens], text) if is_moved else places
    values = [x if isinstance(x, dict) else {} for x in record["spans"]]
    if is_moved:
        spans = tuple(_moved(*pair, places) for pair in zip(spans, values))
    is_sure = is_moved or all(_is_at_tokens(*x, places) for x in zip(spans, values))
    # The "text" of a span is not corrected by Prodigy when people correct the span.
    return tuple(span._replace(value=None) for span in spans), is_sure


def _is_token(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("text"), str)
        and type(value.get("start")) is type(value.get("end")) is int
    )


def _places(words: list[str], text: str) -> list[tuple[int, int]]:
    """Returns start and end of each word; only white space stands between them."""
    places, end = [], 0
    for word in words:
        start = text.find(word, end)
        if start < 0 or text[end:start].strip():
            raise ValueError(
                f"the token {shown(word)} is not where the text goes on, "
                f"{shown(text[end : end + 20])}; expected tokens of this text"
            )
        end = start + len(word)
        places.append((start, end))
    return places


def _is_at_tokens(
    span: LabeledSpan, value: dict[str, Any], places: list[tuple[int, int]]
) -> bool:
    try:
        return _moved(span, value, places) == span
    except ValueError:  # it does not name its tokens
        return False


def _moved(
    span: LabeledSpan, value: dict[str, Any], places: list[tuple[int, int]]
) -> LabeledSpan:
    """Returns a span where its tokens stand in the text."""
    first, last = value.get("token_start"), value.get("token_end")
    if type(first) is not int or type(last) is not int:
        raise ValueError(
            f"the tokens are not at their offsets in the text, and the span "
            f'{shown(value)} has no "token_start" and "token_end"; expected both'
        )
    if not 0 <= first <= last < len(places):
        message = f"the span {shown(value)} is not among the {len(places)} tokens"
        raise ValueError(message)
    return span._replace(start=places[first][0], end=places[last][1])


TASKS = object_reader("prodigy", is_task, _read_task)
READER = replace(TASKS, read=_read)
