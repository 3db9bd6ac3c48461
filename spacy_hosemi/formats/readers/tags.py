"""Tags of tokens to spans of tokens.

`read_scheme` is the one place that tells how the tags of a file are to be read. It
brings each tag to the usual form, `B-PER`, or `O` outside of spans; or it says that it
cannot tell.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ...errors import Errors
from ..texts import AnnotatedText, Fault, LabeledSpan, from_tokens, shown

OUTSIDE = "O"
# What else stands outside of spans in files that have no O.
OUTSIDES = frozenset(
    "o 0 _ - * other others out outside none nil null nan n/a <other>".split()
)
KINDS, LAST, UNIT = "[BILUESMW]", "LE", "USW"  # of BILUO, BIOES and BMEWO
PREFIX = re.compile(rf"(?P<kind>{KINDS})[-_](?P<label>.+)")
BRACKETS = re.compile(r"\*\)?|\(([^()*]+)(?:\*|\)|\*\))")
ANGLES = re.compile(r"(?P<begin>I-)?<(?P<label>[^<>]+)>")
# Tags of another level beside, numbers or values, no label; marks that no label has.
TAG = rf"(?:O|{KINDS}[-_].+)"
ODD = rf"{TAG}[|,;+/]{TAG}$|{KINDS}[-_]{{2}}|.*(?:\[\d+\]|=|-\*$|[,;'\"]$)"
NO_LABEL = rf"{ODD}|.*(?:\w[][|*()<>]|[][|*()<>]\w|\*)|\d+(?:[-_:].*)?$|[_o-]$"
# What plain labels do not all have: B–PER, BEGIN-PER, PER-B; nor two of one: B1, I1.
MARK = rf"(?<=^I-)(?:{KINDS}|BEGIN)(?=\W)|(?<=[-_:./]){KINDS}$"
# How tags may be written: the first scheme that nearly all tags of a file have.
SCHEMES = (
    ("brackets", BRACKETS),  # OntoNotes: (ORG* begins, *) ends, * is inside or outside
    ("angles", ANGLES),  # GROBID: I-<author> begins a span, <author> goes on
    ("prefix", PREFIX),
    ("variant", re.compile(rf"(?i:(?P<kind>{KINDS}))[-_:./](?P<label>.+)")),
    ("variant", re.compile(rf"(?P<label>.+)[-_:./](?P<kind>{KINDS})")),
    ("plain", re.compile(rf"(?!{NO_LABEL})(?P<label>.+)")),
)
# Keys of tags in the column MISC of CoNLL-U: NE=B-PER|SpaceAfter=No.
KEYS = frozenset("tag ne ner nertag entity name label iob bio".split())
# At most this share of the tags of a file, or one, may be of another scheme: a fault.
MOST_FAULTY = 0.05
# More labels than these, and than this share of the tokens, are no labels.
N_LABELS, LABELS_PER_TOKEN = 10, 0.3
# Names of the columns by which texts are told apart, of tokens, and of tags.
NUMBERS = ("sentence #", "sentence", "sentence_id", "sentence_idx", "sent_id", "doc_id")
HEADER = (
    ("word", "token", "words", "tokens"),
    ("tag", "ner", "ner_tag", "label", "labels", "tags"),
)

# How tags are read, and the usual form of each; "" has none.
Scheme = tuple[str, Mapping[str, str]]


class Row(NamedTuple):
    """One token of a text: its line in the file, its word, its tag."""

    line: int
    word: str
    tag: str


def read_scheme(tags: Sequence[str], path: str) -> Scheme:
    """Returns "biluo", "bio", "iob1" or "brackets", and the usual form of each tag;
    tags without one are faults. Raises ValueError HS372 if that is not clear."""
    values = _values(tags)
    counts = Counter(values[tag] for tag in tags)
    outside = [x for x, _ in counts.most_common() if x.casefold() in OUTSIDES]
    outside.sort(key=lambda tag: tag != OUTSIDE)  # one of them; others are no labels
    known = dict.fromkeys(outside, "") | dict.fromkeys(outside[:1], OUTSIDE)
    forms: dict[str, str] = {}
    for name, pattern in SCHEMES:
        forms = {tag: _form(name, pattern.fullmatch(tag)) for tag in counts}
        forms |= known if name != "brackets" else {}
        used = {*forms.values()} - {"", OUTSIDE}
        n_odd = sum(counts[tag] for tag in counts if not forms[tag])
        n_tagged = sum(counts[tag] for tag in counts if forms[tag] != OUTSIDE)
        is_faulty = n_odd > max(1, MOST_FAULTY * n_tagged)
        if not is_faulty and _is_told(name, used, counts.total()):
            forms = {tag: forms[value] for tag, value in values.items()}
            return name if name == "brackets" else _kind_of(tags, forms), forms
        if name == "prefix" and any(form[0] in "BI" for form in used):
            break  # tags with a prefix are no plain labels
    odd = Counter({tag: n for tag, n in counts.items() if not forms[tag]})
    found = " beside ".join(
        ", ".join(f"{shown(tag, 40)} ({n:,})" for tag, n in some.most_common(4))
        for some in filter(None, (odd, counts - odd))
    )
    raise ValueError(Errors.HS372.format(path=path, found=found))


def _form(name: str, match: re.Match[str] | None) -> str:
    """Returns the usual form of a tag that is written in some way; "" for no match."""
    if match is None or name in ("prefix", "variant") and re.match(ODD, match[0]):
        return ""
    if name == "brackets":
        return match[0]
    parts = match.groupdict()
    kind = parts.get("kind") or ("B" if parts.get("begin") else "I")
    label = parts["label"].removeprefix("<").rstrip(">")
    is_other = (name, label) == ("angles", "other")
    return OUTSIDE if is_other else f"{kind.upper()}-{label}"


def _is_told(name: str, used: set[str], n: int) -> bool:
    """Returns whether the forms of n tags, but O, show that they are of a scheme."""
    kinds = {form[0] for form in used}
    if name == "prefix":
        return bool(kinds & {*"BI" + UNIT})
    if name == "variant":
        return "B" in kinds and len(kinds) > 1
    if name == "plain":
        marks = [re.search(MARK, form) for form in used]
        is_bare = all(marks) and any(x and x[0][0] == "B" for x in marks) and n > 1
        begun = {x.replace("BEGIN", "INSIDE") for x in used if x[2:3] == "B"}
        is_bare |= bool(used & {re.sub("^I-B", "I-I", x) for x in begun})
        return not is_bare and len(used) <= max(N_LABELS, LABELS_PER_TOKEN * n)
    return bool(used)


def _values(tags: Sequence[str]) -> dict[str, str]:
    """Returns the tag in each cell of pairs, O without one; other cells as they are."""
    cells = {tag: dict(x.partition("=")[::2] for x in tag.split("|")) for tag in tags}
    keys = {key for pairs in cells.values() for key in pairs if key.casefold() in KEYS}
    is_misc = all(tag == "_" or re.match(r"\w[^|]*=", tag) for tag in cells)
    if not is_misc or len(keys) != 1:
        return {tag: tag for tag in cells}
    (key,) = keys
    return {tag: pairs.get(key) or OUTSIDE for tag, pairs in cells.items()}


def is_tag(cell: str) -> bool:
    """Returns whether a cell of a table has a tag that is no plain label, or O."""
    forms = (PREFIX, BRACKETS, ANGLES)
    return cell == OUTSIDE or any(form.fullmatch(cell) for form in forms)


def labels_of(cells: Sequence[str]) -> set[str] | None:
    """Returns the labels of a column of tags with prefixes, or all O; else None."""
    counts = Counter(cells)
    tags = {x for x in counts if x == OUTSIDE or PREFIX.match(x) or ANGLES.fullmatch(x)}
    if sum(counts[tag] for tag in tags) < (1 - MOST_FAULTY) * len(cells):
        return None
    return {re.sub(rf"^{KINDS}[-_]", "", x) for x in tags} - {OUTSIDE, "<other>"}


def are_tags(cells: Sequence[str], n_rows: int) -> bool:
    """Returns whether cells, one in each of most rows, look like tags: of any scheme,
    or plain labels with O among them."""
    if sum(map(is_tag, cells)) >= 0.5 * n_rows:
        return True
    try:
        _, forms = read_scheme(cells, "")
    except ValueError:
        return False
    is_plain = all(forms[tag] in ("", OUTSIDE, f"I-{tag}") for tag in forms)
    is_enough = not is_plain or cells.count(OUTSIDE) >= 0.1 * n_rows
    return is_enough and len(cells) >= 0.95 * n_rows


def named_columns(names: Sequence[str], wanted: Sequence[Sequence[str]]) -> list[int]:
    """Returns which columns have a name of each list; [] where a list has none."""
    folded = [name.strip().casefold() for name in names]
    places = [[folded.index(x) for x in group if x in folded] for group in wanted]
    return [group[0] for group in places] if all(places) else []


def _kind_of(tags: Sequence[str], forms: Mapping[str, str]) -> str:
    """Returns "biluo" if spans have ends of their own, "iob1" if B stands only between
    two spans of one label, else "bio"."""
    if any(form[:1] in {*"LUESMW"} for form in forms.values()):
        return "biluo"
    before = OUTSIDE
    for tag in tags:
        kind, label = _split(forms[tag])
        if kind == "B" and (before == OUTSIDE or _split(before)[1] != label):
            return "bio"
        before = forms[tag] or OUTSIDE
    return "iob1"


def _split(tag: str) -> tuple[str, str]:
    """Returns "B-author" -> ("B", "author")."""
    return tag[:1], tag[2:]


def spans_of(tags: Sequence[str], scheme: str) -> list[LabeledSpan]:
    """Returns spans in tokens, from left to right, of tags in the usual form. Raises a
    ValueError with the index of a tag that may not stand where it stands, and why."""
    if scheme == "brackets":
        return _closed(_of_brackets(tags))
    pairs = [_split(tag) for tag in tags]
    return _closed(pairs) if scheme == "biluo" else _runs(pairs, scheme == "bio")


def text_of_rows(
    rows: Sequence[Row], scheme: Scheme, path: str, meta: Mapping[str, Any]
) -> AnnotatedText | Fault:
    """Returns the text of some tokens."""
    name, forms = scheme
    tags = [forms[row.tag] for row in rows]
    if "" in tags:
        row = rows[tags.index("")]
        usual = next((x for x in forms if forms[x] not in ("", OUTSIDE)), OUTSIDE)
        message = f"has the tag {shown(row.tag)}; expected one such as {usual}, or O"
        return Fault(path, row.line, message)
    try:
        spans = spans_of(tags, name)
    except ValueError as e:
        index, message = e.args
        return Fault(path, rows[index].line, message)
    spans = [span._replace(line=rows[span.start].line) for span in spans]
    words = tuple(row.word for row in rows)
    text = from_tokens(words, tuple(spans), path, rows[0].line)
    return replace(text, has_offsets=False, meta=meta)


def _of_brackets(tags: Sequence[str]) -> list[tuple[str, str]]:
    """Returns tags of BILUO for those with brackets."""
    pairs: list[tuple[str, str]] = []
    label = ""
    for tag in tags:
        match = BRACKETS.fullmatch(tag)
        begins, ends = bool(match and match[1]), tag.endswith(")")
        label = match[1] if match and match[1] else label
        kind = ("U" if ends else "B") if begins else "L" if ends else "I"
        pairs.append((kind, label) if label or ends else (OUTSIDE, ""))
        label = "" if ends else label
    return pairs


def _runs(pairs: list[tuple[str, str]], needs_b: bool) -> list[LabeledSpan]:
    """Returns a span for equal labels one after the other, but where another begins;
    needs_b: whether each begins with B."""
    spans: list[LabeledSpan] = []
    before = ("", "")
    for i, (kind, label) in enumerate(pairs):
        if label and label == before[1] and kind == "I":
            spans[-1] = spans[-1]._replace(end=i + 1)
        elif label:
            if needs_b and kind == "I":
                last = "-".join(filter(None, before)) or "the begin"
                raise ValueError(i, f"has I-{label} after {last}; expected B-{label}")
            spans.append(LabeledSpan(i, i + 1, label))
        before = (kind, label)
    return spans


def _closed(pairs: list[tuple[str, str]]) -> list[LabeledSpan]:
    """Returns spans that have an end of their own."""
    spans: list[LabeledSpan] = []
    start, label = -1, ""
    for i, (kind, name) in enumerate(pairs):
        is_inside = kind in "IM" + LAST
        if start >= 0 and (not is_inside or name != label):
            tag = f"{kind}-{name}" if name else kind
            raise ValueError(i, f"has {tag}; expected I-{label} or the last of {label}")
        if start < 0 and is_inside:
            raise ValueError(i, f"has {kind}-{name}; expected B-{name} before it")
        start, label = (i, name) if kind == "B" else (start, label)
        if kind in LAST + UNIT:
            spans.append(LabeledSpan(i if kind in UNIT else start, i + 1, name))
            start = -1
    if start >= 0:
        message = f"ends within {shown(label)}; expected its last"
        raise ValueError(len(pairs) - 1, message)
    return spans
