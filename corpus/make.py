"""Render publication facts as labelled bibliographic references.

The script reads ``publications.jsonl`` (facts only: names, titles, numbers) and writes
``train.jsonl``, ``dev.jsonl`` and ``test.jsonl`` beside it. Every output line is one
reference in one citation style, with the character offsets of its fields::

    {"text": "...", "spans": [[start, end, label], ...],
     "publication": id, "style": name}

The three files share no publication. Dev and test each have styles that are not in
train. The output depends only on the facts, this file and the seed. Only the standard
library is used. ``python corpus/make.py --check`` makes everything again in memory and
compares it with the files on disk.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SEED = 20240131
Pub = dict[str, Any]
Piece = tuple[str, str | None]

LABELS = (
    "author title journal booktitle editor volume date pages publisher location "
    "institution tech note doi url"
).split()
SMALL_WORDS = set(
    "a an and as at but by can for from in into is it of on or nor the to with via "
    "than under not be".split()
) - {"can", "is", "it", "be", "not", "than"}
MONTHS = (
    "January February March April May June July August September October November "
    "December"
).split()
MONTHS_FR = (
    "janvier février mars avril mai juin juillet août septembre octobre novembre "
    "décembre"
).split()
ROLE = {
    "article": "article",
    "book": "book",
    "chapter": "part",
    "inproceedings": "part",
    "techreport": "report",
    "thesis": "report",
    "preprint": "online",
    "web": "online",
}
# Family and given names; initials with spaces, tight, and without dots.
FORMS = {
    "bare": "{0} {4}",
    "family_bare_comma": "{0}, {4}",
    "last_init": "{0}, {2}",
    "last_init_tight": "{0}, {3}",
    "last_init_nocomma": "{0} {3}",
    "last_init_spaced": "{0} {2}",
    "last_init_brackets": "{0} ({2})",
    "last_full_brackets": "{0} ({1})",
    "last_full": "{0}, {1}",
    "last_full_nocomma": "{0} {1}",
    "init_last": "{2} {0}",
    "init_last_tight": "{3} {0}",
    "full": "{1} {0}",
}
LABEL_OF = {"edition": "note", "access": "note", "series": None, "eds": None}
# Where a span ends with one of these, its dot is its own.
ABBREVIATION = re.compile(r"(\bet al|\b[eé]d|\bedn|\bAufl|\bInc|\bLtd|\bCo| u\. ?a)$")
SHARES = {"train": 0.49, "dev": 0.21, "test": 0.3}


@dataclass(frozen=True)
class Style:
    """One citation style: templates and how its fields are written.

    A template names fields in braces; a group in angle brackets is left out when a
    field in it is missing; variants are separated by a tilde between spaces.
    """

    split: str
    templates: dict[str, str]
    names: str = "last_init"
    joiner: tuple[str, str, str] = (", ", ", and ", " and ")  # comma, last, of two
    et_al: tuple[int, int, str] = (7, 1, " et al.")  # above this many, show so many
    editor_names: str = "init_last"
    title_case: float = 0.0
    abbreviate: float = 0.0
    volume: str = "{v}({n})"
    dash: str = "–"
    short_pages: float = 0.0
    month: str = ""
    straight_quotes: float = 0.3
    doi: float = 0.3
    doi_form: tuple[str, ...] = ("https://doi.org/{}", "doi: {}")
    number: str = ""
    eds: tuple[str, str] = (" (Ed.)", " (Eds.)")
    edition: str = "{} ed."
    access: str = "accessed {d} {m} {y}"
    caps: float = 0.0


def initials(given: str, dot: str = ".", space: str = " ") -> str:
    """Shorten given names: "Jean-Pierre A." becomes "J.-P. A."."""
    words = []
    for word in given.replace(".", ". ").split():
        parts = [part for part in word.strip(".").split("-") if part]
        hyphen = "-" if dot else ""
        words.append(hyphen.join(part[0].upper() + dot for part in parts))
    return space.join(words)


def person(who: dict[str, str], form: str, caps: bool = False) -> str:
    """Write one name in one of the forms."""
    if "literal" in who:
        return who["literal"]
    family, given, suffix = who["family"], who["given"], who.get("suffix", "")
    tail = f", {suffix}" if suffix else ""
    if form == "bare" and suffix:
        tail = " " + suffix.rstrip(".")
    short = initials(given), initials(given, ".", ""), initials(given, "", "")
    family = family.upper() if caps else family
    return FORMS[form].format(family, given, *short) + tail


def name_list(people: list[dict[str, str]], style: Style, form: str, caps: bool) -> str:
    """Write a list of names; ``form`` may be "first/others"."""
    first, _, others = form.partition("/")
    forms = [first] + [others or first] * (len(people) - 1)
    names = [person(who, f, caps) for who, f in zip(people, forms, strict=True)]
    comma, last, pair = style.joiner
    if form != style.names and pair.strip(" ,"):
        pair = pair.lstrip(",")
    return join_names(names, (comma, last, pair))


def join_names(names: list[str], joiner: tuple[str, str, str]) -> str:
    """Join names: what stands between them, before the last, between two."""
    comma, last, pair = joiner
    if len(names) < 3:
        return pair.join(names)
    return comma.join(names[:-1]) + last + names[-1]


def authors(pub: Pub, style: Style, caps: bool) -> str:
    """Write the author list, shortened with "et al." where the style does so."""
    people = pub["authors"]
    most, keep, et_al = style.et_al
    if pub.get("more_authors") or len(people) > most:
        keep = min(keep, len(people))
        shown = [person(p, style.names.partition("/")[0], caps) for p in people[:keep]]
        return style.joiner[0].join(shown) + et_al
    return name_list(people, style, style.names, caps)


def capitalise(word: str) -> str:
    """Make the first letter of a word (or of each hyphenated part) a capital."""
    parts = word.split("-")
    done = []
    for i, part in enumerate(parts):
        small = i > 0 and part.lower() in SMALL_WORDS
        fixed = len(part) == 1 and len(parts) > 1
        if small or fixed or part[:1].isupper() or part[:1].isdigit():
            done.append(part)
            continue
        match = re.search(r"[^\W\d_]", part)
        at = match.start() if match else 0
        done.append(part[:at] + part[at : at + 1].upper() + part[at + 1 :])
    return "-".join(done)


def title_case(text: str) -> str:
    """Write an English title with capitals on all words but the small ones."""
    words = text.split(" ")
    done = []
    for i, word in enumerate(words):
        edge = i == 0 or i == len(words) - 1 or words[i - 1][-1:] in ":.?"
        keep = word.lower() in SMALL_WORDS and not edge
        done.append(word if keep else capitalise(word))
    return " ".join(done)


def shorten(first: str, last: str, least: int) -> str:
    """Leave out the digits that the last page shares with the first, but the least."""
    same = 0
    while len(first) == len(last) > same + least and first[same] == last[same]:
        same += 1
    return last[same:]


def page_range(pub: Pub, style: Style, rng: random.Random) -> str:
    """Write the pages with the dash of the style, at times shortened."""
    first, _, last = pub["pages"].partition("-")
    if not last:
        return first
    if rng.random() < 0.02:
        return first + rng.choice(["ff", "ff."])
    if rng.random() < style.short_pages:
        last = shorten(first, last, 2)
    dash = rng.choice([style.dash] * 4 + ["-", "–"])
    return first + dash + last


def volume(pub: Pub, style: Style, rng: random.Random) -> str:
    """Write the volume and, mostly, its number."""
    if "number" not in pub or rng.random() < 0.15 or "{n}" not in style.volume:
        return pub["volume"]
    number = pub["number"]
    if style.dash == "–" and rng.random() < 0.5:
        number = number.replace("-", "–")
    return style.volume.format(v=pub["volume"], n=number)


def date(pub: Pub, style: Style, rng: random.Random) -> str:
    """Write the year, with the month where the style wants one and it is known."""
    month, year = pub.get("month"), pub["year"]
    if not month or not style.month or rng.random() < 0.35:
        return year
    short = month if len(month) < 5 else month[:3]
    dotted = short if short == month else short + "."
    french = MONTHS_FR[MONTHS.index(month)]
    return style.month.format(m=month, s=short, d=dotted, y=year, f=french)


def cased(pub: Pub, style: Style, rng: random.Random) -> Pub:
    """Put title and book title into title case where the style has it."""
    if pub.get("lang", "en") != "en" or rng.random() >= style.title_case:
        return pub
    both = {k: title_case(pub[k]) for k in ("title", "booktitle") if k in pub}
    return pub | both


def title(pub: Pub, quoted: bool) -> str:
    """Write the title; quotes within quotes are single."""
    return re.sub(r'"([^"]*)"', r"'\1'" if quoted else r'"\1"', pub["title"])


def journal(pub: Pub, style: Style, rng: random.Random) -> str:
    """Write the journal in full or abbreviated."""
    name = pub["journal"]
    if rng.random() < style.abbreviate:
        name = pub.get("journal_abbrev", name)
        if rng.random() < 0.08:
            name = name.replace(".", "")
    return name.removeprefix("The ") if rng.random() < 0.5 else name


def access_note(style: Style, rng: random.Random) -> str:
    """Write a day of access; it is drawn, not a fact about the publication."""
    day, month, year = rng.randint(1, 28), rng.choice(MONTHS), rng.randint(2015, 2024)
    french = MONTHS_FR[MONTHS.index(month)]
    return style.access.format(d=day, m=month, y=year, f=french)


def doi_text(pub: Pub, style: Style, rng: random.Random) -> str:
    """Write the DOI with its prefix or resolver address."""
    if rng.random() < 0.03:
        return "doi:" + pub["doi"]
    return rng.choice(style.doi_form).format(pub["doi"])


def drop_fields(pub: Pub, rng: random.Random) -> Pub:
    """Leave out fields now and then, as lists in the wild do."""
    chance = {"pages": 0.05, "volume": 0.02, "publisher": 0.1, "location": 0.15}
    if pub["kind"] == "inproceedings":
        chance |= {"publisher": 0.4, "location": 0.35, "editors": 0.5}
    if pub["kind"] == "techreport":
        chance |= {"location": 0.3}
    kept = {k: v for k, v in pub.items() if rng.random() >= chance.get(k, 0.0)}
    if pub["kind"] == "book" and "authors" not in pub:
        kept["editors"] = pub["editors"]
    return kept


def fields(pub: Pub, style: Style, template: str, rng: random.Random) -> dict[str, str]:
    """Write every field the publication has, in the manner of the style."""
    pub = cased(drop_fields(pub, rng), style, rng)
    caps = rng.random() < style.caps
    out = {"date": date(pub, style, rng)}
    out["title"] = title(pub, "“{title}" in template)
    for key in ("booktitle", "publisher", "location", "institution", "tech", "note"):
        if key in pub:
            out[key] = pub[key]
    for key in ("series", "url"):
        if key in pub:
            out[key] = pub[key]
    if "authors" in pub:
        out["author"] = authors(pub, style, caps)
    if "editors" in pub:
        form = style.editor_names if "authors" in pub else style.names
        out["editor"] = name_list(pub["editors"], style, form, False)
        out["eds"] = style.eds[len(pub["editors"]) > 1]
    if "journal" in pub:
        out["journal"] = journal(pub, style, rng)
    if "volume" in pub:
        out["volume"] = volume(pub, style, rng)
    if "pages" in pub:
        out["pages"] = page_range(pub, style, rng)
    if "edition" in pub:
        out["edition"] = style.edition.format(pub["edition"], n=pub["edition"][:-2])
    if "doi" in pub and rng.random() < style.doi:
        out["doi"] = doi_text(pub, style, rng)
    if "url" in pub and (pub["kind"] == "web" or rng.random() < 0.4):
        out["access"] = access_note(style, rng)
    return out


def parse(template: str) -> list[Any]:
    """Parse a template into literals, field names (tuples) and groups (lists)."""
    stack: list[list[Any]] = [[]]
    for token in re.findall(r"[<>]|\{\w+\}|[^<>{}]+", template):
        if token == "<":
            stack.append([])
        elif token == ">":
            group = stack.pop()
            stack[-1].append(group)
        elif token.startswith("{"):
            stack[-1].append((token[1:-1],))
        else:
            stack[-1].append(token)
    return stack[0]


def fill(nodes: list[Any], values: dict[str, str], group: bool) -> list[Piece] | None:
    """Fill a parsed template; a group with a missing field gives None."""
    pieces: list[Piece] = []
    for node in nodes:
        if isinstance(node, str):
            pieces.append((node, None))
        elif isinstance(node, list):
            pieces.extend(fill(node, values, True) or [])
        elif node[0] in values:
            name = node[0]
            pieces.append((values[name], LABEL_OF.get(name, name)))
        elif group:
            return None
    return pieces


def who_first(pieces: list[Piece], values: dict[str, str]) -> list[Piece]:
    """Put the editors first where a publication has no author."""
    if "author" in values or "editor" not in values:
        return pieces
    return [(values["editor"], "editor"), (values["eds"], None), *pieces]


def split_doi(pieces: list[Piece]) -> list[Piece]:
    """Move the cue of a DOI ("doi: ", "DOI ") out of its piece."""
    out: list[Piece] = []
    for text, label in pieces:
        match = re.match(r"(?i)doi:?\s*", text) if label == "doi" else None
        if match:
            out.append((match.group(), None))
            text = text[match.end() :]
        out.append((text, label))
    return out


def merge(pieces: list[Piece]) -> list[Piece]:
    """Join neighbouring literals."""
    out: list[Piece] = []
    for text, label in pieces:
        if label is None and out and out[-1][1] is None:
            out[-1] = (out[-1][0] + text, None)
        elif text:
            out.append((text, label))
    return out


def clean_literal(text: str, before: str) -> str:
    """Remove the doubled punctuation that missing fields leave in a literal."""
    text = re.sub(r" +", " ", text)
    text = re.sub(r"\( ", "(", text)
    text = re.sub(r":([.,;)])", r"\1", text)
    text = re.sub(r"([.,;]”?)[.,;]+", r"\1", text)
    text = text.replace(", (", " (").replace(",)", ")")
    if before in {".", "?", "!"} and text[:1] == ".":
        text = text[1:]
    if before in {"?", "!"} and text[:1] == ",":
        text = text[1:]
    return text


def tidy(pieces: list[Piece]) -> list[Piece]:
    """Merge literals and clean them."""
    out: list[Piece] = []
    for text, label in merge(pieces):
        if label is None:
            if out and text[0] == "." and ABBREVIATION.search(out[-1][0]):
                out[-1] = (out[-1][0] + ".", out[-1][1])
            text = clean_literal(text, out[-1][0][-1] if out else "")
            text = text if out else text.lstrip(" ,.;:")
        if text:
            out.append((text, label))
    return out


def blemish(pieces: list[Piece], rng: random.Random) -> list[Piece]:
    """Add the small faults of lists in the wild, each of them seldom."""
    pieces = list(pieces)
    text, label = pieces[-1]
    draw = rng.random()
    if label is None and draw < 0.12:
        pieces[-1] = (text.rstrip("."), None)
    elif label is None and draw > 0.97:
        pieces[-1] = (text.rstrip(".") + rng.choice([" .", ";", ","]), None)
    if rng.random() < 0.04:
        commas = [i for i, (t, lab) in enumerate(pieces) if lab is None and t == ", "]
        if commas:
            pieces[rng.choice(commas)] = (rng.choice([" , ", ",  ", "; "]), None)
    if rng.random() < 0.04:
        for i, (t, lab) in enumerate(pieces):
            if lab in {"author", "editor"} and ", " in t:
                pieces[i] = (t.replace(", ", ",", 1), lab)
                break
    return [piece for piece in pieces if piece[0]]


def straighten(pieces: list[Piece], style: Style, rng: random.Random) -> list[Piece]:
    """Write straight quotes for curly ones in part of the references."""
    if rng.random() >= style.straight_quotes:
        return [
            (t.replace("'", "’") if lab == "title" else t, lab) for t, lab in pieces
        ]
    table = str.maketrans("“”‘’", "\"\"''")
    return [(t if lab else t.translate(table), lab) for t, lab in pieces]


def number_piece(style: Style, rng: random.Random) -> list[Piece]:
    """Number the reference where the style numbers its list."""
    if not style.number or rng.random() < 0.4:
        return []
    return [(style.number.format(rng.randint(1, 120)), None)]


def assemble(pieces: list[Piece]) -> tuple[str, list[list[Any]]]:
    """Join the pieces and note where the labelled ones lie."""
    text, spans = "", []
    for piece, label in pieces:
        if label:
            spans.append([len(text), len(text) + len(piece), label])
        text += piece
    return text, spans


def styled(pub: Pub, name: str, rng: random.Random) -> list[Piece]:
    """Write one publication in one style, as pieces."""
    style = STYLES[name]
    template = rng.choice(style.templates[ROLE[pub["kind"]]].split(" ~ "))
    values = fields(pub, style, template, rng)
    pieces = fill(parse(template), values, False) or []
    pieces = tidy(split_doi(who_first(pieces, values)))
    pieces = straighten(pieces, style, rng)
    return number_piece(style, rng) + blemish(pieces, rng)


def record(pieces: list[Piece], pub: Pub, name: str) -> dict[str, Any]:
    """Make a line of its pieces."""
    text, spans = assemble(pieces)
    own = {"publication": pub["id"], "style": name}
    return {"text": text.rstrip(), "spans": spans, **own}


def render(pub: Pub, name: str, rng: random.Random) -> dict[str, Any]:
    """Write one publication in one style."""
    return record(styled(pub, name, rng), pub, name)


STYLES: dict[str, Style] = {
    "apa": Style(
        split="train",
        templates={
            "article": "{author} ({date}). {title}. {journal}<, {volume}><, {pages}>."
            "< {doi}>",
            "book": "{author} ({date}). {title}< ({edition})>.< {location}:>"
            "< {publisher}>.",
            "part": "{author} ({date}). {title}. In< {editor}{eds},> {booktitle}"
            "< (Vol. {volume}, pp. {pages})>.< {location}:>< {publisher}>.< {doi}> ~ "
            "{author} ({date}). {title}. In< {editor}{eds},> {booktitle}"
            "< (pp. {pages})>.< {location}:>< {publisher}>.< {doi}>",
            "report": "{author} ({date}). {title}< ({tech})>.< {location}:>"
            "< {institution}>. ~ {author} ({date}). {title}< ({tech})>. {institution}"
            "<, {location}>.",
            "online": "{author} ({date}). {title}.< {institution}>.< {note}>."
            "< Retrieved from {url}> ~ {author} ({date}). {title}.< {note}>."
            "< Available at: {url}>< ({access})>",
        },
        joiner=(", ", ", & ", ", & "),
        et_al=(7, 6, ", et al."),
        month="{y}, {m}",
        doi=0.5,
        doi_form=("https://doi.org/{}", "https://doi.org/{}", "doi: {}"),
    ),
    "mla": Style(
        split="train",
        templates={
            "article": "{author}. “{title}.” {journal}<, vol. {volume}>, {date}"
            "<, pp. {pages}>.",
            "book": "{author}. {title}.< {edition}>,< {publisher}>, {date}. ~ "
            "{author}. {title}.< {location}:>< {publisher},> {date}.",
            "part": "{author}. “{title}.” {booktitle}<, edited by {editor}>"
            "<, vol. {volume}><, {publisher}>, {date}<, pp. {pages}>.",
            "report": "{author}. {title}. {date}.< {institution}>,< {tech}>.",
            "online": "{author}. “{title}.”< {institution}>,< {note}>, {date}<, {url}>."
            "< {access}>.",
        },
        names="last_full/full",
        joiner=(", ", ", and ", ", and "),
        et_al=(2, 1, ", et al."),
        editor_names="full",
        title_case=0.9,
        volume="{v}, no. {n}",
        short_pages=0.6,
        month="{d} {y}",
        eds=(", editor", ", editors"),
        access="Accessed {d} {m} {y}",
        doi=0.0,
    ),
    "chicago_author_date": Style(
        split="train",
        templates={
            "article": "{author}. {date}. “{title}.” {journal}< {volume}><: {pages}>."
            "< {doi}>. ~ {author}. {date}. “{title}.” {journal}< {volume}><, {pages}>."
            "< {doi}>.",
            "book": "{author}. {date}. {title}.< {edition}>.< {location}:>"
            "< {publisher}>.",
            "part": "{author}. {date}. “{title}.” In {booktitle}<, edited by {editor}>"
            "<, {pages}>.< {location}:>< {publisher}>.",
            "report": "{author}. {date}. “{title}.”< {tech},> {institution}"
            "<, {location}>.",
            "online": "{author}. {date}. “{title}.”< {institution}>.< {note}>."
            "< {url}>.",
        },
        names="last_full/full",
        joiner=(", ", ", and ", ", and "),
        et_al=(10, 7, ", et al."),
        editor_names="full",
        title_case=0.8,
        volume="{v} ({n})",
        short_pages=0.4,
        eds=(", ed", ", eds"),
        doi=0.25,
    ),
    "vancouver": Style(
        split="train",
        templates={
            "article": "{author}. {title}. {journal}. {date}<; {volume}><: {pages}>."
            "< {doi}.> ~ {author}. {title}. {journal} {date}<; {volume}><: {pages}>.",
            "book": "{author}. {title}.< {edition}>.< {location}:>< {publisher}>;"
            " {date}.",
            "part": "{author}. {title}. In:< {editor}{eds}.> {booktitle}."
            "< {location}:>< {publisher}>; {date}<. p. {pages}>.",
            "report": "{author}. {title}< [{tech}]>.< {location}:>< {institution}>;"
            " {date}.",
            "online": "{author}. {title}.< {institution}>;< {note}>. {date}"
            "<. Available from: {url}>< [{access}]>",
        },
        names="bare",
        joiner=(", ", ", ", ", "),
        et_al=(6, 6, ", et al."),
        editor_names="bare",
        abbreviate=0.85,
        short_pages=0.8,
        dash="-",
        month="{y} {s}",
        number="{}. ",
        eds=(", editor", ", editors"),
        access="cited {y} {m} {d}",
        doi_form=("doi: {}", "doi: {}", "DOI: {}"),
    ),
    "ieee": Style(
        split="train",
        templates={
            "article": "{author}, “{title},” {journal}<, vol. {volume}><, pp. {pages}>,"
            " {date}<, {doi}>.",
            "book": "{author}, {title}<, {edition}>.< {location}:>< {publisher}>,"
            " {date}.",
            "part": "{author}, “{title},” in {booktitle}<, {editor}{eds}><, {location}>"
            "<, {publisher}>, {date}<, pp. {pages}>.",
            "report": "{author}, “{title},” {institution}<, {location}><, {tech}>,"
            " {date}.",
            "online": "{author}, “{title},”< {institution}>,< {note},> {date}."
            "< Available: {url}>",
        },
        names="init_last",
        et_al=(6, 1, " et al."),
        title_case=0.25,
        abbreviate=0.75,
        volume="{v}, no. {n}",
        month="{d} {y}",
        number="[{}] ",
        eds=(", Ed.", ", Eds."),
        doi=0.2,
        doi_form=("doi: {}",),
    ),
    "acm": Style(
        split="train",
        templates={
            "article": "{author}. {date}. {title}. {journal}< {volume}><, {pages}>."
            "< {doi}>",
            "book": "{author}. {date}. {title}< ({edition})>.< {publisher}>"
            "<, {location}>.",
            "part": "{author}. {date}. {title}. In {booktitle}<, {editor}{eds}>."
            "< {publisher}>,< {location}><, {pages}>.< {doi}> ~ "
            "{author}. {date}. {title}. In {booktitle}.< {publisher}><, {pages}>.",
            "report": "{author}. {date}. {title}.< {tech}>. {institution}<,"
            " {location}>.",
            "online": "{author}. {date}. {title}.< {institution}>.< {note}>.< {url}>",
        },
        names="full",
        et_al=(9, 1, " et al."),
        editor_names="full",
        title_case=0.3,
        abbreviate=0.3,
        volume="{v}, {n}",
        number="[{}] ",
        doi=0.5,
    ),
    "plain": Style(
        split="train",
        templates={
            "article": "{author}. {title}. {journal}<, {volume}><, pages {pages}>,"
            " {date}. ~ {author}. {title}. {journal}<, {volume}><: {pages}>, {date}.",
            "book": "{author}. {title}.< Volume {volume} of {series}.>< {publisher}>"
            "<, {location}><, {edition}>, {date}.",
            "part": "{author}. {title}. In< {editor}{eds},> {booktitle}"
            "<, pages {pages}><, {location}>, {date}.< {publisher}>. ~ {author}."
            " {title}. In {booktitle}<, volume {volume}><, pages {pages}>."
            "< {publisher}>, {date}.",
            "report": "{author}. {title}.< {tech},> {institution}<,"
            " {location}>, {date}.",
            "online": "{author}. {title}.< {institution},>< {note},> {date}."
            "< URL {url}>.",
        },
        names="full",
        et_al=(12, 3, ", et al."),
        editor_names="full",
        abbreviate=0.15,
        dash="-",
        month="{m} {y}",
        number="[{}] ",
        eds=(", editor", ", editors"),
        edition="{} edition",
        doi=0.0,
    ),
    "harvard": Style(
        split="train",
        templates={
            "article": "{author}, {date}. {title}. {journal}<, {volume}>"
            "<, pp. {pages}>."
            " ~ {author} ({date}) ‘{title}’, {journal}<, {volume}><, pp. {pages}>."
            "< {doi}>.",
            "book": "{author} ({date}) {title}.< {edition}>.< {location}:>"
            "< {publisher}>. ~ {author}, {date}. {title}.< {publisher}>"
            "<, {location}>.",
            "part": "{author} ({date}) ‘{title}’, in< {editor}{eds}> {booktitle}."
            "< {location}:>< {publisher}><, pp. {pages}>.",
            "report": "{author} ({date}) {title}.< {tech}>. {institution}<,"
            " {location}>.",
            "online": "{author} ({date}) {title}.< {institution}>.< {note}>."
            "< Available at: {url}>< ({access})>.",
        },
        names="last_init_tight",
        joiner=(", ", " and ", " and "),
        et_al=(4, 1, " et al."),
        editor_names="last_init_tight",
        title_case=0.2,
        access="Accessed: {d} {m} {y}",
        eds=(" (ed.)", " (eds)"),
    ),
    "lncs": Style(
        split="train",
        templates={
            "article": "{author}: {title}. {journal}< {volume}><, {pages}> ({date})."
            "< {doi}>",
            "book": "{author}: {title}<. {series}, vol. {volume}><, {edition}>."
            "< {publisher},>< {location}> ({date}).",
            "part": "{author}: {title}. In:< {editor}{eds}> {booktitle}."
            "< {series}, vol. {volume},>< pp. {pages}>.< {publisher}><, {location}>"
            " ({date}).< {doi}>",
            "report": "{author}: {title}.< {tech}>, {institution}<,"
            " {location}> ({date}).",
            "online": "{author}: {title}.< {institution}>.< {note}> ({date})<. {url}>"
            "<, {access}>",
        },
        names="last_init_tight",
        joiner=(", ", ", ", ", "),
        et_al=(5, 1, ", et al."),
        editor_names="last_init_tight",
        abbreviate=0.5,
        number="{}. ",
        eds=(" (ed.)", " (eds.)"),
        edition="{} edn.",
        access="last accessed {y}/{d}",
    ),
    "nature": Style(
        split="train",
        templates={
            "article": "{author} {title}. {journal}< {volume}><, {pages}> ({date}).",
            "book": "{author} {title} (< {publisher},>< {location},> {date}).",
            "part": "{author} {title}. In {booktitle}< ({editor}{eds})>< {pages}>"
            " (< {publisher},> {date}).",
            "report": "{author} {title}.< {tech}>, {institution} ({date}).",
            "online": "{author} {title}.< {institution}>.< {note}> ({date}).<"
            " Preprint at {url}>.",
        },
        names="last_init",
        joiner=(", ", " & ", " & "),
        et_al=(5, 1, " et al."),
        editor_names="last_init",
        abbreviate=0.8,
        volume="{v}",
        number="{}. ",
        eds=(", ed.", ", eds"),
    ),
    "turabian": Style(
        split="train",
        templates={
            "article": "{author}. “{title}.” {journal}< {volume}> ({date})<: {pages}>.",
            "book": "{author}. {title}.< {edition}>.< {location}:>< {publisher}>,"
            " {date}.",
            "part": "{author}. “{title}.” In {booktitle}<, ed. {editor}><, {pages}>."
            "< {location}:>< {publisher}>, {date}.",
            "report": "{author}. “{title}.”< {tech}>, {institution}, {date}.",
            "online": "{author}. “{title}.”< {institution}>.< {note}>, {date}.< {url}>"
            "< ({access})>.",
        },
        names="last_full/full",
        joiner=(", ", ", and ", ", and "),
        et_al=(3, 1, ", et al."),
        editor_names="full",
        title_case=0.9,
        volume="{v}, no. {n}",
        month="{m} {y}",
        eds=(", ed", ", eds"),
        short_pages=0.4,
        doi=0.0,
        caps=0.1,
    ),
    "elsevier": Style(
        split="train",
        templates={
            "article": "{author}, {title}, {journal}< {volume}> ({date})< {pages}>."
            "< {doi}>. ~ {author}, {date}. {title}. {journal}< {volume}><, {pages}>."
            "< {doi}>.",
            "book": "{author}, {title}<, {edition}><, {publisher}><, {location}>,"
            " {date}.",
            "part": "{author}, {title}, in:< {editor}{eds},> {booktitle}<, {publisher}>"
            "<, {location}>, {date}<, pp. {pages}>.",
            "report": "{author}, {title}<, {tech}>, {institution}, {date}.",
            "online": "{author}, {title}<, {institution}><, {note}>, {date}<, {url}>"
            "< ({access})>.",
        },
        names="init_last_tight",
        joiner=(", ", ", ", ", "),
        et_al=(8, 3, ", et al."),
        editor_names="init_last_tight",
        abbreviate=0.9,
        volume="{v} ({n})",
        number="[{}] ",
        doi=0.3,
    ),
    "handbook": Style(
        split="train",
        templates={
            "article": "{author}: {title}; {journal}<, vol. {volume}>< ({date})>"
            "<, p. {pages}>. ~ {author}, “{title}”, {journal}< {volume}>, {date}"
            "<, p. {pages}>.",
            "book": "{author}: {title}<, {edition}>.< {location},>< {publisher},>"
            " {date}. ~ {author}, {title} (< {location},>< {publisher},> {date}).",
            "part": "{author}: {title}; in {booktitle}<, edited by {editor}>"
            "<, p. {pages}>.< {location},>< {publisher},> {date}.",
            "report": "{author}: {title}<; {tech}>, {institution}<,"
            " {location}>, {date}.",
            "online": "{author}: {title}<; {institution}><; {note}>, {date}<; {url}>.",
        },
        names="init_last",
        joiner=(", ", " and ", " and "),
        et_al=(5, 2, " and others"),
        abbreviate=0.4,
        volume="{v}, No. {n}",
        month="{d}, {y}",
        caps=0.6,
        eds=(" (ed.)", " (eds.)"),
        doi=0.0,
    ),
    "chicago_notes": Style(
        split="dev",
        templates={
            "article": "{author}, “{title},” {journal}< {volume}> ({date})<: {pages}>."
            "< {doi}>.",
            "book": "{author}, {title}<, {edition}> (< {location}:><"
            " {publisher},> {date})."
            " ~ {author}, {title} (< {location},> {date}).",
            "part": "{author}, “{title},” in {booktitle}<, ed. {editor}>"
            " (< {location}:>< {publisher},> {date})<, {pages}>.",
            "report": "{author}, “{title}” (< {tech},> {institution}, {date}).",
            "online": "{author}, “{title},”< {institution},>< {note},> {date}"
            "<, {access}><, {url}>.",
        },
        names="full",
        joiner=(", ", ", and ", " and "),
        et_al=(3, 1, " et al."),
        editor_names="full",
        title_case=0.9,
        volume="{v}, no. {n}",
        month="{m} {y}",
        number="{}. ",
        eds=(", ed.", ", eds."),
        doi=0.2,
    ),
    "ams": Style(
        split="dev",
        templates={
            "article": "{author}, {title}, {journal}< {volume}> ({date})<, {pages}>.",
            "book": "{author}, {title}<, {edition}><, {publisher}><, {location}>,"
            " {date}.",
            "part": "{author}, {title}, {booktitle}< ({editor}{eds})><, {publisher}>"
            "<, {location}>, {date}<, pp. {pages}>.",
            "report": "{author}, {title}<, {tech}>, {institution}, {date}.",
            "online": "{author}, {title}<, {institution}><, {note}>, {date}<,"
            " available at {url}>.",
        },
        names="init_last",
        joiner=(", ", ", and ", " and "),
        et_al=(6, 1, " et al."),
        abbreviate=0.9,
        volume="{v}, no. {n}",
        number="[{}] ",
        eds=(", ed.", ", eds."),
        doi=0.0,
    ),
    "din1505": Style(
        split="test",
        templates={
            "article": "{author}: {title}. In: {journal}< {volume}> ({date})"
            "<, S. {pages}> ~ {author}: {title}. In: {journal} Bd.< {volume}>, {date}"
            "<, S. {pages}>.",
            "book": "{author}: {title}.< {edition}>.< {location} :>< {publisher},>"
            " {date}",
            "part": "{author}: {title}. In:< {editor}{eds}:> {booktitle}.<"
            " {location} :>"
            "< {publisher},> {date}<, S. {pages}>",
            "report": "{author}: {title}.< {location},> {institution}<,"
            " {tech}>, {date}",
            "online": "{author}: {title}.< {institution}>.< {note}>. {date}<."
            " URL {url}>< – {access}>",
        },
        names="last_full",
        joiner=(" ; ", " ; ", " ; "),
        et_al=(3, 1, " u. a."),
        editor_names="last_full",
        volume="{v}, Nr. {n}",
        dash="–",
        caps=0.5,
        eds=(" (Hrsg.)", " (Hrsg.)"),
        edition="{n}. Aufl",
        access="Zugriff am {d}.5.{y}",
        doi_form=("DOI {}",),
    ),
    "aps": Style(
        split="test",
        templates={
            "article": "{author}, {journal}< {volume}><, {pages}> ({date}). ~ {author},"
            " {title}, {journal}< {volume}><, {pages}> ({date}).",
            "book": "{author}, {title} (< {publisher},>< {location},> {date})"
            "<, {edition}>.",
            "part": "{author}, in {booktitle}<, edited by {editor}>"
            " (< {publisher},>< {location},> {date})<, p. {pages}>. ~"
            " {author}, {title},"
            " in {booktitle} (< {publisher},> {date})<, pp. {pages}>.",
            "report": "{author}, {title}<, {tech}>, {institution}, {date}.",
            "online": "{author}, {title}<, {institution}><, {note}> ({date}).",
        },
        names="init_last",
        joiner=(", ", ", and ", " and "),
        et_al=(10, 1, " et al."),
        abbreviate=1.0,
        volume="{v}",
        number="[{}] ",
        doi=0.0,
    ),
    "legal": Style(
        split="test",
        templates={
            "article": "{author}, {title},< {volume}> {journal}< {pages}> ({date}).",
            "book": "{author}, {title} (< {edition}>< {publisher}> {date}).",
            "part": "{author}, {title}, in< {volume}> {booktitle}< {pages}>"
            " (< {editor}{eds},> {date}).",
            "report": "{author}, {title} (< {tech},> {institution}, {date}).",
            "online": "{author}, {title} (< {institution},>< {note},>"
            " {date})<, {url}>.",
        },
        names="full",
        joiner=(", ", " & ", " & "),
        et_al=(3, 1, " et al."),
        editor_names="full",
        title_case=1.0,
        abbreviate=0.7,
        volume="{v}",
        eds=(" ed.", " eds."),
        edition="{} ed.",
        doi=0.0,
    ),
    "french": Style(
        split="test",
        templates={
            "article": "{author}, « {title} », {journal}<, vol. {volume}>, {date}"
            "<, p. {pages}>.",
            "book": "{author}, {title}<, {edition}><, {location}><, {publisher}>,"
            " {date}.",
            "part": "{author}, « {title} », dans< {editor}{eds},> {booktitle}"
            "<, {location}><, {publisher}>, {date}<, p. {pages}>.",
            "report": "{author}, {title}<, {tech}>, {institution}<,"
            " {location}>, {date}.",
            "online": "{author}, « {title} »<, {institution}><, {note}>, {date}"
            "<, en ligne : {url}>< ({access})>.",
        },
        names="last_full_nocomma",
        joiner=(", ", " et ", " et "),
        et_al=(3, 1, " et al."),
        editor_names="full",
        volume="{v}, n° {n}",
        dash="-",
        month="{f} {y}",
        caps=0.7,
        eds=(" (dir.)", " (dir.)"),
        edition="{n}e éd.",
        access="consulté le {d} {f} {y}",
        doi=0.0,
    ),
}


def read(path: Path) -> list[Pub]:
    """Read one JSON object a line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def groups(pubs: list[Pub]) -> list[list[Pub]]:
    """Put works together that share a title, or a book and its chapters."""
    by_title: dict[str, list[Pub]] = {}
    titles = {pub["title"].lower() for pub in pubs}
    for pub in sorted(pubs, key=lambda p: p["id"]):
        book = pub.get("booktitle", "").lower()
        key = book if book in titles else pub["title"].lower()
        by_title.setdefault(key, []).append(pub)
    return list(by_title.values())


def divide(pubs: list[Pub], rng: random.Random) -> dict[str, list[Pub]]:
    """Divide the publications among the splits, kind by kind."""
    by_role: dict[str, list[list[Pub]]] = {}
    for group in groups(pubs):
        by_role.setdefault(ROLE[group[0]["kind"]], []).append(group)
    out: dict[str, list[Pub]] = {split: [] for split in SHARES}
    for role in sorted(by_role):
        members = by_role[role]
        rng.shuffle(members)
        first = round(len(members) * SHARES["train"])
        second = first + round(len(members) * SHARES["dev"])
        cut = {"train": members[:first], "dev": members[first:second]}
        cut["test"] = members[second:]
        for split, part in cut.items():
            out[split] += [pub for group in part for pub in group]
    return out


def pick_styles(split: str, pub: Pub, rng: random.Random) -> list[str]:
    """Draw the styles one publication is written in."""
    own = [name for name, style in STYLES.items() if style.split == split]
    seen = [name for name, style in STYLES.items() if style.split == "train"]
    if split == "train":
        article = ROLE[pub["kind"]] == "article"
        return rng.sample(own, rng.choice([1, 1, 2] if article else [1, 1, 2, 2, 3]))
    share = 0.35 if split == "dev" else 0.45
    return [rng.choice(own if rng.random() < share else seen)]


def make(pubs: list[Pub], seed: int) -> dict[str, list[dict[str, Any]]]:
    """Make all three splits."""
    rng = random.Random(seed)
    out: dict[str, list[dict[str, Any]]] = {}
    for split, members in divide(pubs, rng).items():
        lines = []
        for pub in members:
            for name in pick_styles(split, pub, rng):
                lines.append(render(pub, name, rng))
        rng.shuffle(lines)
        out[split] = lines
    return out


def check_lines(lines: list[dict[str, Any]], edges: str = ",;:«»") -> None:
    """Assert that spans lie in their text, are trimmed, sorted and do not overlap."""
    for line in lines:
        text, last = line["text"], 0
        assert line["spans"], line
        for start, end, label in line["spans"]:
            assert label in LABELS, line
            assert last <= start < end <= len(text), line
            assert text[start:end] == text[start:end].strip(" " + edges), line
            last = end


def check_splits(splits: dict[str, list[dict[str, Any]]]) -> None:
    """Assert that splits share no publication and that some styles are unseen."""
    pubs = {s: {line["publication"] for line in lines} for s, lines in splits.items()}
    styles = {s: {line["style"] for line in lines} for s, lines in splits.items()}
    assert not pubs["train"] & pubs["dev"]
    assert not pubs["train"] & pubs["test"]
    assert not pubs["dev"] & pubs["test"]
    assert all(STYLES[name].split == "train" for name in styles["train"])
    assert styles["dev"] - styles["train"]
    assert styles["test"] - styles["train"] - styles["dev"]


def serialise(lines: list[dict[str, Any]]) -> str:
    """Write lines as JSONL."""
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def report(splits: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Describe the splits: sizes, styles, labels."""
    for split, lines in splits.items():
        pubs = len({line["publication"] for line in lines})
        labels = Counter(span[2] for line in lines for span in line["spans"])
        styles = Counter(line["style"] for line in lines)
        yield f"{split}: {len(lines)} lines, {pubs} publications"
        yield "  labels: " + ", ".join(f"{k} {labels[k]}" for k in LABELS)
        yield "  styles: " + ", ".join(f"{k} {v}" for k, v in sorted(styles.items()))


def positive(text: str) -> int:
    """Read a whole number of the command line that is at least 1."""
    if (value := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"at least 1 is needed, got {text}")
    return value


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description="Render publications.jsonl as labelled references "
        "(train.jsonl, dev.jsonl, test.jsonl).",
        epilog="The output depends only on the facts, this script and the seed.",
    )
    add = parser.add_argument
    add("--dir", type=Path, default=HERE, metavar="FOLDER", help="where all files are")
    add("--seed", type=int, default=SEED, help="of the draws (default: %(default)s)")
    meaning = "write nothing; exit with 1 where the files differ from what is made now"
    add("--check", action="store_true", help=meaning)
    args = parser.parse_args()
    if not (args.dir / "publications.jsonl").is_file():
        parser.error(f"argument --dir: no publications.jsonl in {args.dir}")
    return args


def main() -> int:
    """Make or check the three files."""
    args = arguments()
    splits = make(read(args.dir / "publications.jsonl"), args.seed)
    for lines in splits.values():
        check_lines(lines)
    check_splits(splits)
    different = []
    for split, lines in splits.items():
        path = args.dir / f"{split}.jsonl"
        if not args.check:
            path.write_text(serialise(lines), encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != serialise(lines):
            different.append(path.name)
    print("\n".join(report(splits)))
    if different:
        print("differ from what is made now: " + ", ".join(different), file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
