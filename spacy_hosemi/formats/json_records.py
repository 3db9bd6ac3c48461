"""Reads JSON objects: one a line, or in a list."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from json import JSONDecodeError
from typing import Any

from .sources import SourceText
from .texts import Fault, LabeledSpan, shown

SPACE = re.compile(r"[ \t\r\n]*")
N_SAMPLED = 50  # objects that a reader may look at before it says whether it knows them

Record = tuple[int, dict[str, Any]]


def records(source: SourceText) -> Iterator[Record | Fault]:
    """Yields line and object, or what is wrong."""
    for line, value in values(source):
        try:
            yield value if isinstance(value, Fault) else (line, object_of(value))
        except ValueError as e:
            yield Fault(source.path, line, str(e))


def values(source: SourceText) -> Iterator[tuple[int, Any]]:
    """Yields line and value, or a fault; see `records`."""
    is_list = source.text.lstrip(" \t\r\n").startswith("[")
    return _in_list(source) if is_list else _in_lines(source)


def sample(source: SourceText) -> list[dict[str, Any]]:
    """Returns the first objects, to recognize a format by."""
    if SPACE.sub("", source.text[:200], count=1)[:1] not in ("[", "{"):
        return []
    first = islice(records(source), N_SAMPLED)
    return [record[1] for record in first if not isinstance(record, Fault)]


def spans_of(values: Any, names: tuple[str, str], line: int) -> tuple[LabeledSpan, ...]:
    """Reads the spans of a record on a line: a list of `[start, end, label]`, or of
    objects; `names` are the keys of start and end. Else raises ValueError."""
    if not isinstance(values, list):
        raise ValueError(f"expected a list of spans, found {shown(values)}")
    has_objects = any(isinstance(value, dict) for value in values)
    spans = []
    for value in values:
        text = None
        if has_objects:
            if not isinstance(value, dict):
                raise ValueError(f"expected a span as an object, found {shown(value)}")
            missing = [name for name in (*names, "label") if name not in value]
            if missing:
                raise ValueError(f'a span has no "{missing[0]}": {shown(value)}')
            text = value.get("text", value.get("value"))
            value = [value[name] for name in (*names, "label")]
        elif not isinstance(value, list) or len(value) != 3:
            raise ValueError(f"expected [start, end, label], found {shown(value)}")
        start, end, label = value
        text = text if isinstance(text, str) else None
        spans.append(make_span(start, end, label, text, line))
    return tuple(spans)


def make_span(
    start: Any, end: Any, label: Any, value: str | None, line: int
) -> LabeledSpan:
    """Returns a span of values of a file. Raises ValueError if an offset is no whole
    number, or the label no string."""
    if type(start) is not int or type(end) is not int:
        offsets = f"{shown(start)} and {shown(end)}"
        raise ValueError(f"expected whole numbers as start and end, found {offsets}")
    if not isinstance(label, str):
        raise ValueError(f"expected a string as label, found {shown(label)}")
    return LabeledSpan(start, end, label, value, line)


def object_of(value: Any) -> dict[str, Any]:
    """Returns the object that a value is. Raises ValueError if it is none."""
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, found {shown(value)}")
    return value


def string_of(record: dict[str, Any], key: str) -> str:
    """Returns the string under a key. Raises ValueError if there is none."""
    if key not in record:
        keys = ", ".join(f'"{k}"' for k in list(record)[:8]) or "none"
        keys = keys if len(keys) <= 100 else keys[:97] + "..."
        message = f'the key "{key}" is missing; keys are {keys}; give --text-key'
        raise ValueError(message)
    text = record[key]
    if not isinstance(text, str):
        raise ValueError(f'expected a string as "{key}", found {shown(text)}')
    return text


def has_tokens(record: dict[str, Any], key: str) -> bool:
    """Returns whether an object has tokens, and not the text under a key."""
    return key not in record and "tokens" in record


def tokens_of(record: dict[str, Any]) -> tuple[str, ...]:
    """Returns the tokens of an object; raises ValueError for no list of strings."""
    tokens = record["tokens"]
    if not isinstance(tokens, list):
        raise ValueError(f'expected a list as "tokens", found {shown(tokens)}')
    for token in tokens:
        if not isinstance(token, str) or not token.strip():
            raise ValueError(f"expected tokens with a letter, found {shown(token)}")
    return tuple(tokens)


def meta_of(record: dict[str, Any], *used: str) -> dict[str, Any]:
    """Returns what an object has under other keys, and under those of its "meta"."""
    within = record.get("meta")
    meta = within if isinstance(within, dict) else {}
    return {**meta, **{k: v for k, v in record.items() if k not in used}}


def _in_lines(source: SourceText) -> Iterator[tuple[int, Any]]:
    first = source.text.strip().partition("\n")[0]
    if isinstance(parse_json(first, "", 0), Fault):  # one object over several lines
        whole = parse_json(source.text, "", 0)
        if not isinstance(whole, Fault):
            yield 1, whole
            return
    for number, line in enumerate(source.text.split("\n"), start=1):
        if line.strip():
            yield number, parse_json(line, source.path, number)


def parse_json(text: str, path: str, line: int) -> Any:
    """Returns what a text says in JSON; a Fault if it is none, or has a key twice."""
    try:
        return _STRICT.decode(text)
    except KeyError as e:
        return Fault(path, line, str(e.args[0]))
    except JSONDecodeError as e:
        return Fault(path, line, _not_json(e, e.colno))
    except (RecursionError, ValueError) as e:  # nested too deep, too many digits
        return Fault(path, line, f"is not JSON that can be read: {e}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Raises KeyError if a key is there twice: which value counts is not said."""
    value = dict(pairs)
    if len(value) < len(pairs):
        key = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise KeyError(f"has the key {shown(key)} twice; expected each once")
    return value


_STRICT = json.JSONDecoder(object_pairs_hook=_object)


def _not_json(error: JSONDecodeError, column: int) -> str:
    end = error.pos >= len(error.doc.rstrip())
    hint = "; is the file cut off?" if end or "Unterminated" in error.msg else ""
    return f"is not JSON: {error.msg} at character {column}{hint}"


def _in_list(source: SourceText) -> Iterator[tuple[int, Any]]:
    """Yields the values of a list one by one, also those before a fault."""
    text, n_lines, counted = source.text, 1, 0
    at = text.index("[") + 1
    while True:
        at = SPACE.match(text, at).end()  # type: ignore[union-attr]
        n_lines, counted = n_lines + text.count("\n", counted, at), at
        if text.startswith("]", at):
            if rest := text[at + 1 :].strip():
                message = f"expected the end after the list, found {shown(rest)}"
                yield n_lines, Fault(source.path, n_lines, message)
            return
        try:
            value, after = _STRICT.raw_decode(text, at)
        except KeyError as e:
            value = Fault(source.path, n_lines, str(e.args[0]))
            after = json.JSONDecoder().raw_decode(text, at)[1]
        except JSONDecodeError as e:
            yield e.lineno, Fault(source.path, e.lineno, _not_json(e, e.colno))
            return
        except (RecursionError, ValueError) as e:
            yield n_lines, Fault(source.path, n_lines, f"is not JSON: {e}")
            return
        yield n_lines, value
        at = SPACE.match(text, after).end()  # type: ignore[union-attr]
        at += text.startswith(",", at)
