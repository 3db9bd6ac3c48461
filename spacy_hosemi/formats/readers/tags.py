"""Tags of tokens to spans of tokens.

`read_scheme` is the one place that tells how the tags of a file are to be read. It
brings each tag to the usual form: `B-PER`, or `PER` where tags are plain labels, and
`O` outside of spans; or it says that this cannot be told.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ...errors import Errors
from ..texts import AnnotatedText, Fault, LabeledSpan, from_tokens, shown

OUTSIDE = "O"
# What else stands outside of spans in files that have no O.
OUTSIDES = frozenset("o 0 _ - * other others out outside none nil null <other>".split())
# As in OntoNotes: (ORG* begins a span, *) ends it, * is inside or outside.
BRACKETS = re.compile(r"\*\)?|\(([^()*]+)(?:\*|\)|\*\))")
# As in the training data of GROBID: I-<author> begins a span, <author> goes on.
ANGLES = re.compile(r"(I-)?<([^<>]+)>")
# As in WebAnno: PER[1] is all that belongs to span 1; [0]: a span of one token.
NUMBERED = re.compile(r"((?:\\.|[^][|\\])*)\[(\d+)\]")
# As in the column MISC of CoNLL-U: NE=B-PER|SpaceAfter=No.
PAIRS = re.compile(r"\w[^=|]*=[^|]*(?:\|\w[^=|]*(?:=[^|]*)?)*")
KEYS = frozenset("tag ne ner nertag entity name label iob bio".split())
KINDS = "[BILUESMW]"
# A prefix and a label; and other ways to write both, which are read where tags begin
# spans and go on.
PREFIX = re.compile(rf"(?P<kind>{KINDS})[-_](?P<label>.+)")
VARIANTS = (
    re.compile(r"(?P<kind>[BILUESMWbiluesmw])[-_:./](?P<label>.+)"),
    re.compile(rf"(?P<label>.+)[-_:./](?P<kind>{KINDS})"),
)
LAST, UNIT = "LE", "USW"  # BILUO, BIOES and BMEWO have other names for each
# At most this share of the tags of a file, or one, may be of another scheme: a fault.
MOST_FAULTY = 0.05
# More labels than these, and than this share of the tokens, are no labels.
N_LABELS, LABELS_PER_TOKEN = 10, 0.3
# Names of the columns by which texts are told apart, of tokens, and of tags.
NUMBERS = ("sentence #", "sentence", "sentence_id", "sentence_idx", "sent_id", "doc_id")
WORDS = ("word", "token", "words", "tokens")
TAGS = ("tag", "ner", "ner_tag", "label", "labels", "tags")

# How tags are read, and the usual form of each; "" has none.
Scheme = tuple[str, Mapping[str, str]]


class Row(NamedTuple):
    """One token: its line, its word, its tag."""

    line: int
    word: str
    tag: str


class TagError(ValueError):
    """A tag that may not stand where it stands.

    index (int): Which one.
    """

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message)
        self.index = index


def read_scheme(tags: Iterable[str], path: str) -> Scheme:
    """Returns "plain", "biluo", "bio", "iob1", "brackets" or "numbered", how the tags
    of a file are to be read, and the usual form of each tag; those without one are
    faults. Raises ValueError: HS372 some tags have a prefix and others have none, HS373
    the tags are of no scheme."""
    tags = list(tags)
    counts = Counter(tags)
    is_pairs = any("=" in x for x in counts)
    if is_pairs and all(x == "_" or PAIRS.fullmatch(x) for x in counts):
        values = _values(counts, path)
        name, forms = read_scheme([values[tag] for tag in tags], path)
        return name, {tag: forms[value] for tag, value in values.items()}
    if all(map(ANGLES.fullmatch, counts)):
        name = "bio" if any(x.startswith("I-") for x in counts) else "iob1"
        return name, {tag: _of_angles(tag) for tag in counts}
    if tags and all(map(BRACKETS.fullmatch, counts)):
        return "brackets", dict(zip(counts, counts))
    if any(map(NUMBERED.fullmatch, counts)):
        forms = {tag: tag if NUMBERED.fullmatch(tag) else "" for tag in counts}
        forms = forms | dict.fromkeys({*counts} & {"_", OUTSIDE}, OUTSIDE)
        return "numbered", _checked(counts, forms, path)
    for pattern in (PREFIX, *VARIANTS):
        forms = _prefixed(counts, pattern)
        kinds = {form[0] for form in forms.values() if form not in ("", OUTSIDE)}
        n_plain = sum(counts[tag] for tag, form in forms.items() if not form)
        n_tagged = sum(n for tag, n in counts.items() if forms[tag] != OUTSIDE)
        begins = kinds & set("BIUSW")
        is_told = begins if pattern is PREFIX else "B" in kinds and len(kinds) > 1
        if is_told and n_plain <= _most_faulty(n_tagged):
            name = "biluo" if kinds & set("LUESMW") else _bio([forms[t] for t in tags])
            return name, forms
        if pattern is PREFIX and kinds & set("BI"):
            _refuse_mixed(counts, forms, path)
    return "plain", _plain(counts, path)


def is_tag(cell: str) -> bool:
    """Returns whether a cell of a table has a tag that is no plain label, or O."""
    forms = (PREFIX, BRACKETS, ANGLES)
    return cell == OUTSIDE or any(form.fullmatch(cell) for form in forms)


def labels_of(cells: Sequence[str]) -> set[str] | None:
    """Returns the labels of a column of tags with a prefix, or all O; None of another
    column."""
    tags = [x for x in cells if x == OUTSIDE or PREFIX.match(x) or ANGLES.fullmatch(x)]
    if len(tags) < (1 - MOST_FAULTY) * len(cells):
        return None
    return {re.sub(r"^[BILUESMW][-_]", "", x) for x in tags} - {OUTSIDE, "<other>"}


def are_tags(cells: Sequence[str], n_rows: int) -> bool:
    """Returns whether the last cells of rows look like tags of any kind: most are tags,
    or they are plain labels with O among them."""
    marked = [x for x in cells if _may_be_tag(x)]
    is_marked = any(x.casefold() not in OUTSIDES for x in marked)
    if len(marked) >= 0.8 * n_rows and is_marked:
        return True
    labels = [x for x in cells if re.fullmatch(r"[^\W\d][\w .:/&+'-]*", x)]
    is_many = len({*labels}) > max(3, LABELS_PER_TOKEN * len(labels))
    has_outside = cells.count(OUTSIDE) >= 0.1 * n_rows > 0
    return has_outside and len(labels) >= 0.95 * n_rows and not is_many


def _may_be_tag(cell: str) -> bool:
    if is_tag(cell) or cell.casefold() in OUTSIDES or NUMBERED.fullmatch(cell):
        return True
    is_pair = any(x.partition("=")[0].casefold() in KEYS for x in cell.split("|"))
    return is_pair or any(variant.fullmatch(cell) for variant in VARIANTS)


def has_header(names: Sequence[str]) -> bool:
    """Returns whether a row names columns of tokens and of tags."""
    return bool(named_columns(names, (WORDS, TAGS)))


def named_columns(names: Sequence[str], wanted: Sequence[Sequence[str]]) -> list[int]:
    """Returns which columns have one of the names in each list; [] where one of them is
    missing."""
    folded = [name.strip().casefold() for name in names]
    places = [[folded.index(x) for x in some if x in folded] for some in wanted]
    return [some[0] for some in places] if all(places) else []


def _values(counts: Mapping[str, int], path: str) -> dict[str, str]:
    """Returns the tag in each cell with pairs of keys and values; O if it has none."""
    cells = {
        tag: dict(pair.partition("=")[::2] for pair in tag.split("|")) for tag in counts
    }
    keys = {key for pairs in cells.values() for key in pairs if key.casefold() in KEYS}
    if len(keys) != 1:
        _refuse(counts, path)
    (key,) = keys
    return {tag: pairs.get(key) or OUTSIDE for tag, pairs in cells.items()}


def _of_angles(tag: str) -> str:
    match = ANGLES.fullmatch(tag)
    begins, label = match.groups() if match else (None, "")
    return OUTSIDE if label == "other" else f"{'B' if begins else 'I'}-{label}"


def _prefixed(counts: Counter[str], pattern: re.Pattern[str]) -> dict[str, str]:
    """Returns the usual form of tags with a prefix, and of what is outside."""
    matches = {tag: pattern.fullmatch(tag) for tag in counts}
    forms = {tag: "" for tag in counts} | {
        tag: f"{match['kind'].upper()}-{match['label'].removeprefix('<').rstrip('>')}"
        for tag, match in matches.items()
        if match and not _is_odd(tag)
    }
    rest = Counter({tag: n for tag, n in counts.items() if not matches[tag]})
    return forms | dict.fromkeys(_outside(rest), OUTSIDE)


def _outside(counts: Counter[str]) -> list[str]:
    """Returns the tag that stands outside of spans: O, or the most frequent one of
    those that may; none if there is none."""
    if OUTSIDE in counts:
        return [OUTSIDE]
    return [x for x, _ in counts.most_common() if x.casefold() in OUTSIDES][:1]


def _is_odd(tag: str) -> bool:
    """Returns whether a tag has more than a prefix and a label, such as another tag."""
    levels = rf"(?:O|{KINDS}[-_].+)[|,;+/](?:O|{KINDS}[-_].+)$"
    return bool(re.match(levels, tag) or re.search(r"\[\d+\]|=", tag))


def _plain(counts: Counter[str], path: str) -> Mapping[str, str]:
    forms = {tag: "" if _is_no_label(tag) else tag for tag in counts}
    forms |= dict.fromkeys(_outside(counts), OUTSIDE)
    labels = {*forms.values()} - {"", OUTSIDE}
    has_kinds = all(re.fullmatch(rf"(?:.*[-_:./])?{KINDS}", x) for x in labels)
    is_bare = has_kinds and any(x[-1] == "B" for x in labels) and len(counts) > 1
    if is_bare or len(labels) > max(N_LABELS, LABELS_PER_TOKEN * counts.total()):
        _refuse(counts, path)
    return _checked(counts, forms, path)


def _is_no_label(tag: str) -> bool:
    has_marks = re.search(r"\w[][|*()<>=]|[][|*()<>=]\w|\*", tag)
    return bool(has_marks) or tag.isdigit() or tag in {"_", "-", "o"} or _is_odd(tag)


def _checked(
    counts: Counter[str], forms: Mapping[str, str], path: str
) -> Mapping[str, str]:
    """Returns forms of tags, of which a few may be faults."""
    n_odd = sum(counts[tag] for tag, form in forms.items() if not form)
    n_tagged = sum(counts[tag] for tag, form in forms.items() if form != OUTSIDE)
    if n_odd > _most_faulty(n_tagged):
        _refuse({tag: counts[tag] for tag, form in forms.items() if not form}, path)
    return forms


def _most_faulty(n: int) -> float:
    return max(1, MOST_FAULTY * n)


def _refuse(tags: Iterable[str], path: str) -> None:
    raise ValueError(Errors.HS373.format(path=path, found=_some(tags)))


def _refuse_mixed(counts: Counter[str], forms: Mapping[str, str], path: str) -> None:
    odd = [tag for tag in counts if not forms[tag]]
    if all(map(_is_odd, odd)):
        _refuse(odd, path)
    tagged = _some(tag for tag, form in forms.items() if form not in ("", OUTSIDE))
    n = sum(counts[tag] for tag in odd)
    args = {"path": path, "tagged": tagged, "plain": _some(odd), "found": n}
    raise ValueError(Errors.HS372.format(**args, total=counts.total()))


def _some(tags: Iterable[str]) -> str:
    return ", ".join(shown(tag, 40) for tag in [*tags][:4])


def _bio(tags: Sequence[str]) -> str:
    """Returns "iob1" where B stands only between two spans of one label, else
    "bio"."""
    before = OUTSIDE
    for tag in tags:
        kind, label = _split(tag)
        if kind == "B" and (before == OUTSIDE or _split(before)[1] != label):
            return "bio"
        before = tag or OUTSIDE
    return "iob1"


def _split(tag: str) -> tuple[str, str]:
    """Returns "B-author" -> ("B", "author")."""
    return tag[:1], tag[2:]


def spans_of(tags: Sequence[str], scheme: str) -> list[LabeledSpan]:
    """Returns spans in tokens, from left to right, of tags in the usual form. Raises
    TagError if a tag may not stand where it stands."""
    if scheme == "plain":
        return _runs([tag if tag != OUTSIDE else "" for tag in tags], set())
    if scheme == "brackets":
        return _closed(_of_brackets(tags))
    if scheme == "numbered":
        return _of_numbers(tags)
    pairs = [_split(tag) for tag in tags]
    if scheme == "biluo":
        return _closed(pairs)
    begins = {i for i, (kind, _) in enumerate(pairs) if kind == "B"}
    if scheme == "bio":
        _check_begins(pairs)
    return _runs([label for _, label in pairs], begins)


def text_of_rows(
    rows: Sequence[Row], scheme: Scheme, path: str, meta: Mapping[str, Any]
) -> AnnotatedText | Fault:
    """Returns the text of some tokens."""
    name, forms = scheme
    tags = [forms[row.tag] for row in rows]
    if "" in tags:
        row = rows[tags.index("")]
        usual = next((x for x in forms.values() if x not in ("", OUTSIDE)), OUTSIDE)
        expected = f"one such as {usual}, as nearly all tags are, or {OUTSIDE}"
        message = f"has the tag {shown(row.tag)}; expected {expected}"
        return Fault(path, row.line, message)
    try:
        spans = spans_of(tags, name)
    except TagError as e:
        return Fault(path, rows[e.index].line, str(e))
    spans = [span._replace(line=rows[span.start].line) for span in spans]
    words = tuple(row.word for row in rows)
    text = from_tokens(words, tuple(spans), path, rows[0].line)
    return replace(text, has_offsets=False, meta=meta)


def _of_numbers(tags: Sequence[str]) -> list[LabeledSpan]:
    begins = {i for i, tag in enumerate(tags) if tag.endswith("[0]")}
    spans = _runs([tag if tag != OUTSIDE else "" for tag in tags], begins)
    for i, span in enumerate(spans):
        label = re.sub(r"\\(.)", r"\1", span.label.rpartition("[")[0])
        if label == "*":
            raise TagError(span.start, "has a span without a label; expected one")
        spans[i] = span._replace(label=label)
    return spans


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


def _runs(labels: list[str], begins: set[int]) -> list[LabeledSpan]:
    """Returns a span for equal labels side by side, but where another begins."""
    spans: list[LabeledSpan] = []
    for i, label in enumerate(labels):
        before = labels[i - 1] if i else ""
        if not label:
            continue
        if label == before and i not in begins:
            spans[-1] = spans[-1]._replace(end=i + 1)
        else:
            spans.append(LabeledSpan(i, i + 1, label))
    return spans


def _check_begins(pairs: list[tuple[str, str]]) -> None:
    before = ("", "")
    for i, (kind, label) in enumerate(pairs):
        if kind == "I" and before[1] != label:
            last = "-".join(filter(None, before)) or "the begin"
            raise TagError(i, f"has I-{label} after {last}; expected B-{label}")
        before = (kind, label)


def _closed(pairs: list[tuple[str, str]]) -> list[LabeledSpan]:
    """Returns spans that have an end of their own."""
    spans: list[LabeledSpan] = []
    start, label = -1, ""
    for i, (kind, name) in enumerate(pairs):
        is_inside = kind in "IM" + LAST
        if start >= 0 and (not is_inside or name != label):
            tag = f"{kind}-{name}" if name else kind
            raise TagError(i, f"has {tag}; expected I-{label} or the last of {label}")
        if start < 0 and is_inside:
            raise TagError(i, f"has {kind}-{name}; expected B-{name} before it")
        start, label = (i, name) if kind == "B" else (start, label)
        if kind in LAST + UNIT:
            spans.append(LabeledSpan(i if kind in UNIT else start, i + 1, name))
            start = -1
    if start >= 0:
        raise TagError(len(pairs) - 1, f"ends within {shown(label)}; expected its last")
    return spans
