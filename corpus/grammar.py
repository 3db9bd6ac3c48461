"""Render references in styles drawn at random: `python corpus/grammar.py --lines 3000`.

Six lines of ten are a random style over an invented record, one is a random style over
a real publication, three are the styles of make.py over both. What a style draws stands
in styles.txt, from separators to the order of fields. A record is invented by drawing
its parts apart: the title of one publication, the names of others, and what facts.txt
has. 15 % of the lines get the dirt of lists in the wild. Labels are those of README.md.
The output depends on the facts, the scripts, the number of lines, the split and the
seed alone; the publications of a split are in no other one.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import make
from make import MONTHS, Piece, Pub

WAYS, DIRT = {"invented": 0.6, "real": 0.1, "styles": 0.3}, 0.15
# Fields that have another label than their name, or none.
LABELS = {
    **make.LABEL_OF,
    "collab": None,
    **dict.fromkeys("late day year".split(), "date"),
    **dict.fromkeys("tome issue".split(), "volume"),
    **dict.fromkeys("total page".split(), "pages"),
    **dict.fromkeys("reporter newspaper".split(), "journal"),
    **dict.fromkeys("encyclopedia presented".split(), "booktitle"),
    **{"arxiv": "note", "case": "title", "patent": "tech", "standard": "tech"},
}
N_AUTHORS, N_EDITORS = (1, 1, 1, 2, 2, 2, 3, 3, 4, 6), (1, 1, 2, 2, 3)
HAS_NUMBER = ("article", "untitled", "header", "newspaper", "legal")
ANGLES = str.maketrans("‹›", "<>")  # templates have these for groups
JOURNALS = {"untitled": "journal ph", "legal": "journal law"}
# What to look for, what to write instead, and how often: hyphens of line ends, lost
# spaces and marks, spaces too many, misread letters.
OCR = "rn=m m=rn l=1 fi=ﬁ fl=ﬂ ff=↵ o=0 é=e ü=u ö=o I=l e=c th=tb ll=11".split()
DIRTS: list[tuple[list[tuple[str, str]], int]] = [
    ([(r"(?<=[a-zäöüé]{3})(?=[a-zäöüé]{3})", x) for x in ("- ", "- ", "-")], 2),
    ([(r"(?<=[.,;:]) (?=\S)| (?=\()", ""), (r"(?<=\w) (?=\w)", "")], 3),
    ([(r"[.,;:](?= )", "")], 2),
    ([(r"(?<=\S) (?=\S)", "  ")], 3),
    ([(r"(?<=\w)(?=[,;:])", " ")], 9),
    ([(f"(?<=[a-z]){x}(?=[a-z])", y) for x, y in (z.split("=") for z in OCR)], 2),
]


def read_choices(path: Path) -> dict[str, list[str]]:
    """Read lines of "key: one~other"; "^3" makes a choice three times as likely."""
    choices = {}
    for line in re.findall("^[^#\n].*", path.read_text(encoding="utf-8"), re.MULTILINE):
        key, _, text = line.replace("_", " ").partition(": ")
        parts = re.findall(r"(?:^|~)([^~]*?)(?:\^(\d+))?(?=~|$)", text)
        choices[key] = [x for x, n in parts for _ in range(int(n or 1))]
    return choices


FACTS = read_choices(make.HERE / "facts.txt")
RULES = read_choices(make.HERE / "styles.txt")


class Draw(random.Random):
    """Draws all that is random in a line, in its language and form of names."""

    lang, form = "en", ""
    style: dict[str, Any]

    def p(self, share: float) -> bool:
        """Returns true with this probability."""
        return self.random() < share

    def rule(self, name: str) -> str:
        """Draw from a rule of styles.txt, and from those within it."""
        lang = self.lang if self.p(0.93) else "en"
        names = f"{name} {lang}", f"{name} {self.form}", name, f"{name} en"
        text = self.choice(next(RULES[x] for x in names if x in RULES))
        return re.sub(r"@([a-z][a-z0-9-]*)", lambda m: self.rule(m[1]), text)

    def facts(self, key: str) -> list[str]:
        """Find a list of facts.txt: in the language, without one, or in English."""
        names = f"{key} {self.lang}", key, f"{key} en"
        return next(FACTS[x] for x in names if x in FACTS)

    def fact(self, key: str) -> str:
        """Draw a fact, in full."""
        return self.both_names(key)[0]

    def both_names(self, key: str) -> tuple[str, str]:
        """Draw a fact in full and abbreviated; the slots of both are the same."""
        return self.fill(*self.choice(self.facts(key)).partition(" = ")[::2])

    def fill(self, full: str, short: str = "") -> tuple[str, str]:
        """Fill the slots of a text, and of its short form."""
        while slot := re.search(r"\{([a-z ]+)\}", full):
            long, brief = self.slot(slot[1])
            full = full.replace(slot[0], long, 1)
            short = short.replace(slot[0], brief or long, 1)
        return full, short or full

    def slot(self, name: str) -> tuple[str, str]:
        """Draw what fills a slot: a number, a word, a person, a day, or a fact."""
        made: dict[str, Callable[[], str]] = {
            "n": lambda: str(self.randint(1, self.choice([9, 99, 999, 2999]))),
            "long": lambda: str(self.randint(10**6, 3 * 10**7)),
            "y": lambda: str(self.randint(1500, 2020)),
            "word": lambda: self.invented_word().title(),
            "capitals": lambda: "".join(
                self.choices("ABCDEFGILMNPRST", k=self.randint(2, 5))
            ),
            "person": lambda: make.person(
                self.person(), self.rule("person-form").replace(" ", "_")
            ),
            "accessed": lambda: day_text(
                self, self.fact("month en"), self.fact("web year")
            ),
        }
        return (made[name](), "") if name in made else self.both_names(name)

    def invented_word(self) -> str:
        """Returns syllables that are no word."""
        parts = [
            self.fact("onset") + self.fact("vowel") for _ in range(self.randint(1, 3))
        ]
        return "".join(parts) + self.fact("coda")

    def person(self) -> dict[str, str]:
        """Invent a name."""
        own = self.lang if f"family {self.lang}" in FACTS else "en"
        if own in ("ko", "zh"):
            return {"literal": self.fact("family") + self.fact("given")}
        lang = (
            own if self.p(0.65) else self.choice("en en xx xx xx de fr it es".split())
        )
        family, given = (self.choice(FACTS[f"{x} {lang}"]) for x in ("family", "given"))
        if self.p(0.12):
            family = self.invented_word().title()
        elif self.p(0.04):
            family += "-" + self.choice(FACTS[f"family {lang}"])
        if self.p(0.35):
            second = self.choice(FACTS["given en"])
            given += " " + self.choice([second, second[0] + ".", second[0] + "."])
        suffix = {"suffix": self.rule("suffix")} if self.p(0.015) else {}
        return {"given": given, "family": family, **suffix}


def invent(d: Draw, kind: str, pubs: list[Pub]) -> Pub:
    """Invent a publication: its parts are drawn apart."""
    journal, abbreviated = d.both_names(JOURNALS.get(kind, "journal"))
    first = d.randint(1, d.choice([9, 30, 200, 500, 1500, 2100, 9000]))
    years = (1750, 1960) if d.p(0.03) else d.choice([(1960, 2023), (1975, 2005)])
    pub: Pub = {
        "id": "invented",
        "kind": kind,
        "lang": d.lang,
        "title": invent_title(d, pubs),
        "authors": [d.person() for _ in range(d.choice(N_AUTHORS))],
        "editors": [d.person() for _ in range(d.choice(N_EDITORS))],
        "year": str(d.randint(*years)),
        "journal": journal,
        "journal_abbrev": abbreviated,
        "volume": str(d.randint(1, d.choice([30, 60, 130, 400, 900]))),
        "pages": f"{first}" if d.p(0.1) else f"{first}-{first + d.randint(3, 40)}",
        "publisher": d.fact("publisher"),
        "location": d.fact("city"),
        "booktitle": invent_book(d, kind, pubs),
        "institution": d.fact(d.choice(["university", "institute"])),
        "tech": d.fact("thesis" if kind == "thesis" else "report"),
        "series": d.fact("series"),
        "url": d.fact("url").lower(),
    }
    for who in ("authors", "editors"):
        if d.p(0.3 if kind in ("web", "techreport") else 0.06):
            pub[who] = [{"literal": d.fact("body")}]
            pub |= {"issuer": "it"} if kind in ("book", "edited") and d.p(0.5) else {}
    if d.p(0.5):
        pub["month"] = d.choice(MONTHS)
    if d.p(0.1):
        pub["edition"] = d.choice(FACTS["ordinal"][1:6])
    if kind not in HAS_NUMBER:
        pub["volume"] = str(d.randint(1, d.choice([4, 20, 20, 2000])))
    elif d.p(0.55):
        number = d.randint(1, d.choice([4, 6, 12, 24, 400]))
        pub["number"] = f"{number}-{number + 1}" if d.p(0.06) else f"{number}"
    if kind == "thesis":
        pub["institution"] = d.fact("university")
    if d.p(0.3):
        parts = [d.fact("department"), pub["institution"]]
        pub["institution"] = ", ".join(parts[:: d.choice([1, 1, -1])])
    numbers = pub["year"], d.randint(1, 12), d.randint(1, 999)
    pub["doi"] = d.rule("doi").format(d.invented_word(), *numbers)
    if kind == "untitled" and d.p(0.8) or kind == "article" and d.p(0.06):
        first = d.randint(1500, 2200) if d.p(0.15) else first
        form, k = (
            d.rule("article-number") if d.p(0.5) else "{0}",
            d.randint(1000, 299999),
        )
        pub["pages"] = form.format(first % d.choice([20, 900, 9000, 9000]), k)
    return pub


def invent_title(d: Draw, pubs: list[Pub]) -> str:
    """Take the title of a real publication, or make one of words."""
    real = [x["title"] for x in pubs if x.get("lang", "en") == d.lang]
    if real and d.p(0.3):
        return d.choice(real)
    text = d.fact("title")
    if d.p(0.14):
        text = d.fact("head") + d.rule("colon") + text
    elif d.p(0.15 if d.lang == "en" else 0.22):
        text += d.rule("colon") + d.fact("title")
    if d.p(0.05):
        text += ", " + d.fact(d.choice("where city country span".split()))
    if d.p(0.06):
        text = re.sub(r"(?<= )\w{4,}", lambda m: d.invented_word(), text, count=1)
    return text[0].upper() + text[1:]


def invent_book(d: Draw, kind: str, pubs: list[Pub]) -> str:
    """Name proceedings, or the book of a chapter."""
    if kind not in ("inproceedings", "header"):
        real = [x["booktitle"] for x in pubs if x["kind"] == "chapter"]
        return d.choice(real) if real and d.p(0.1) else invent_title(d, pubs)
    proceedings, year = d.fact("proceedings").lstrip(), d.randint(70, 99)
    if proceedings.startswith("Advances"):
        return proceedings
    brief = d.rule("meeting-brief").format(d.fact("acronym"), year)
    if d.p(0.25):
        return (
            proceedings.removesuffix("the ").rstrip(", ")
            + " " * bool(proceedings)
            + brief
        )
    meeting = d.both_names("meeting")[d.p(0.3)]
    for long, short in (x.split("=") for x in FACTS["meeting word"]):
        meeting = meeting.replace(long, short) if d.p(0.1) else meeting
    ordinal = d.choice([d.fact("ordinal"), d.fact("ordinal word"), f"19{year}", ""])
    name = d.rule("meeting-name").format(m=meeting, b=brief, y=year)
    return proceedings + f"{ordinal} {name}".strip()


def draw_style(d: Draw, pub: Pub) -> dict[str, Any]:
    """Draw what is the same wherever it comes up in a line."""
    lang = d.lang
    if pub["kind"] == "untitled" and lang == "en":
        d.lang = d.choice("en en en fr fr de".split())
    comma = d.rule("comma")
    last = d.rule("and-semicolon" if comma == "; " else "and")
    pair = last if last.strip(" ,") in ("", ";") else " " + last.lstrip(" ,")
    d.lang = lang
    return {
        "joiner": (comma, last, d.choice([last, pair])),
        "most": d.choice([2, 3, 3, 6, 9, 9, 9, 12]),
        "keep": d.choice([1, 1, 1, 2, 3]),
        "et al": d.rule("et-al"),
        "month": d.p(0.3),
        "short pages": d.p(0.25),
        "dash": d.rule("dash"),
        "roman": d.p({"it": 0.3, "la": 0.3, "fr": 0.12}.get(d.lang, 0.03)),
        "volume": d.rule("volume"),
        "no": d.rule("no"),
    }


def people(d: Draw, who: list[dict[str, str]], form: str, caps: bool) -> str:
    """Write a list of names; the form may be "first/others"."""
    first, _, others = form.partition("/")
    forms = [first, *[others or first] * len(who)]
    names = [make.person(x, f, caps) for x, f in zip(who, forms)]
    if len(names) > d.style["most"]:
        shown = d.style["joiner"][0].join(names[: d.style["keep"]])
        return shown + d.style["et al"].format(z=names[-1])
    return make.join_names(names, d.style["joiner"])


def month_name(d: Draw, month: str) -> str:
    """Write a month in the language, in full or short."""
    name = d.facts("month")[MONTHS.index(month)]
    short = name if len(name) < 5 else name[: d.choice([3, 3, 3, 4])] + "."
    short = "Sept." if name == "September" and d.p(0.5) else short
    return d.choice([name, name, short, short, short.rstrip(".")])


def day_text(d: Draw, month: str, year: str, rule: str = "day-date") -> str:
    """Write a date with its month, and its day or another month."""
    day, k, name = d.randint(1, 28), MONTHS.index(month), month_name(d, month)
    other = d.rule("slash") + month_name(d, MONTHS[(k + 1) % 12])
    end = d.rule("hyphen") + str(min(day + d.randint(2, 4), 31))
    parts = {"y": year, "m": name, "d": day, "k": k + 1, "t": other, "e": end}
    return d.rule(rule).format(**parts, s=d.rule("season"))


def date(d: Draw, pub: Pub) -> str:
    """Write the year, with or without its month."""
    year, month = pub["year"], pub.get("month", "May")
    if pub["kind"] == "newspaper" or (pub["kind"] == "web" and d.p(0.4)):
        return day_text(d, month, year)
    if "month" in pub and d.style["month"]:
        return day_text(d, month, year, "day-date" if d.p(0.06) else "month-date")
    if d.p(0.025):
        old, new = int(year) - d.randint(3, 90), int(year) + 1
        return d.rule("odd-year").format(year, old, year[2:], new, d.randint(10, 99))
    return year + d.choice("aabcd") if d.p(0.05) else year


def pages(d: Draw, pub: Pub) -> str:
    """Write the pages."""
    first, _, last = pub["pages"].partition("-")
    if not last or d.p(0.03):
        return first + (d.rule("following") if d.p(0.08) else "")
    if d.style["short pages"]:
        last = make.shorten(first, last, 1)
    return first + d.style["dash"] + last


def journal(d: Draw, pub: Pub) -> dict[str, str]:
    """Write the journal, in full or short, and its volume."""
    name, kind = pub["journal"], pub["kind"]
    if kind == "untitled" or d.p(0.6 if kind == "header" else 0.45):
        name = pub.get("journal_abbrev", name)
        name = name.replace(".", "") if d.p(0.85 if d.form == "bare" else 0.2) else name
        if d.p(0.08):
            words = (d.invented_word()[:4].title() for _ in range(d.randint(2, 4)))
            name = ". ".join(words) + "."
        name = d.fill("{capitals}")[0] if d.p(0.04) else name
    if d.p(0.3 if kind == "header" else 0.015):
        name = name.upper()
    values = {"journal": name.lower() if kind == "header" and d.p(0.06) else name}
    if "volume" in pub:
        values["tome"] = number = pub["volume"]
        if d.style["roman"]:
            number = d.choice([str.upper, str.upper, str.lower])(d.fact("roman"))
        if "number" in pub:
            values["issue"] = pub["number"]
            number = d.style["volume"].format(
                v=number, n=pub["number"], c=d.style["no"]
            )
        values["volume"] = number
        series = re.fullmatch(r"(.*\w{2}\.?) ([A-HL])", name)
        if series and d.p(0.3):
            values |= {"journal": series[1], "volume": series[2] + number}
    return values


def values_of(d: Draw, pub: Pub) -> dict[str, str]:
    """Write all fields that a template may name."""
    kind, lower = pub["kind"], {k: v for k, v in pub.items() if isinstance(v, str)}
    is_physics = kind == "untitled" and d.p(0.5)
    rules = "physics-form" if is_physics else "form", "form"
    form, other = (d.rule(x).replace(" ", "_") for x in rules)
    d.form = form.rpartition("_")[2] if "nocomma" in form else re.split("[_/]", form)[0]
    caps = d.p(0.3) if kind == "untitled" else d.rule("caps") == "yes"
    month, k = pub.get("month", "May"), d.randint(1, 6)
    ordinals = FACTS["ordinal"][k], FACTS["ordinal word"][k]
    dates = d.randint(7, 23), d.randint(1, 12), d.randint(1, 9999), d.randint(92, 99)
    out = {
        **{x: d.fact(x) for x in ("collab", "reporter", "newspaper", "encyclopedia")},
        **{x: d.fact(x) for x in "presented note case page patent standard".split()},
        **{k: v for k, v in lower.items() if k not in ("lang", "number", "edition")},
        "date": date(d, pub),
        "day": day_text(d, month, "", "month-day"),
        "access": d.fill(d.rule("access"))[0],
        "arxiv": d.fact("arxiv").format(*dates),
        "total": str(d.randint(80, 900)),
        "edition": d.rule("edition-words").format(
            k + 1 + d.p(0.15) * d.randint(5, 60), *ordinals
        ),
    }
    if d.lang == "en" and d.p(0.5 if kind == "book" else 0.35):
        cased = {k: out[k] for k in ("title", "booktitle") if k in out}
        out |= {k: make.title_case(v) for k, v in cased.items()}
    out["title"] = out["title"].upper() if d.p(0.015) else out["title"]
    if pub.get("authors"):
        names = people(d, pub["authors"], form, caps)
        out["author"] = d.rule("no-author") if d.p(0.008) else names
    if pub.get("editors"):
        same = form if d.p(0.4) else other
        same = same if kind == "edited" else same.partition("/")[2] or same
        out["editor"] = people(d, pub["editors"], same, caps and d.p(0.5))
    if "journal" in pub:
        out |= journal(d, pub)
    if "pages" in pub:
        out["pages"] = pages(d, pub)
    if "doi" in pub:
        out["doi"] = d.rule("doi-form").format(pub["doi"])
    return out


def template(d: Draw, kind: str, values: dict[str, str]) -> str:
    """Draw a template whose fields outside of groups the record has."""
    text = ""
    for _ in range(40):
        text = d.rule(kind) + (d.rule("tail") if kind != "header" else "")
        if "author" not in values:
            text = text.replace("{author}", "{editor}" + d.rule("eds"), 1)
        text = re.sub(
            r"\{(n|word|long|court|database|person|accessed|university)\}",
            lambda m: d.slot(m[1])[0],
            text,
        )
        if "issuer" in values:
            text = text.replace("{publisher}", "{institution}")
        outside = re.findall(r"\{([\w ]+)\}", re.sub(r"<[^<>]*>", "", text))
        if set(outside) <= {*values, "late"}:
            break
    return text


def random_style(d: Draw, pub: Pub) -> list[Piece]:
    """Write a publication in a style of its own."""
    d.style = draw_style(d, pub)
    values = values_of(d, pub)
    text = template(d, pub["kind"], values)
    if "{date}" not in text and "{year}" not in text:
        values["late"] = values["date"]
    values["year"] = values["date"]
    filled = make.fill(make.parse(text), values, False) or []
    named = [(x.translate(ANGLES), LABELS.get(y, y)) for x, y in filled if x]
    pieces = make.tidy(make.split_doi(named))
    if not pieces[-1][1]:
        pieces[-1] = (pieces[-1][0].rstrip(" ,;:"), None)
    pieces = [x for x in pieces if x[0]]
    if d.p(0.8) and pieces[-1][0][-1] not in ".;":
        pieces.append((d.rule("end"), None))
    number = d.fill(d.rule("number"))[0]
    return [(number, None), *pieces] if number else pieces


def dirty(d: Draw, pieces: list[Piece]) -> list[Piece]:
    """Add dirt of one or two kinds; spans begin and end with what they did before."""
    pieces = list(pieces)
    for changes, most in d.choices(DIRTS, k=d.choice([1, 1, 2])):
        for _ in range(d.randint(1, most)):
            pattern, new = d.choice(changes)
            texts = enumerate(text for text, _ in pieces)
            places = [(i, x) for i, text in texts for x in re.finditer(pattern, text)]
            if places:
                i, place = d.choice(places)
                text, label = pieces[i]
                text = text[: place.start()] + new + text[place.end() :]
                if not label or text.strip() == text:
                    pieces[i] = (text, label)
    return [x for x in pieces if x[0]]


def line(d: Draw, pubs: list[Pub]) -> dict[str, Any]:
    """Write one line."""
    way = d.choices(list(WAYS), list(WAYS.values()))[0]
    pub, name = dict(d.choice(pubs)), "grammar"
    d.lang = pub.get("lang", "en")
    if way == "invented" or (way == "styles" and d.p(0.5)):
        d.lang = d.rule("language")
        kind = d.rule("kind") if way == "invented" else pub["kind"]
        pub = invent(d, kind, pubs)
        if kind == "book" and way == "styles" and d.p(0.3):
            del pub["authors"]
    if way == "styles":
        name = d.choice(list(make.STYLES))
        pieces = make.styled(pub, name, d)
    else:
        pieces = random_style(d, pub)
    if d.p(DIRT):
        pieces = dirty(d, pieces)
    return make.record(pieces, pub, name)


def make_lines(n_lines: int, seed: int, split: str = "train") -> list[dict[str, Any]]:
    """Write the lines of a split."""
    pubs = make.read(make.HERE / "publications.jsonl")
    pubs = make.divide(pubs, random.Random(make.SEED))[split]
    return [line(Draw(f"{split} {seed} {k}"), pubs) for k in range(n_lines)]


def main() -> int:
    """Write the lines to a file."""
    parser = argparse.ArgumentParser(
        description="Write references in random styles, with their fields.",
        epilog="Example: python corpus/grammar.py --lines 3000 --output train.jsonl",
    )
    parser.add_argument("--lines", type=make.positive, default=3000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, help="seed of all draws")
    parser.add_argument(
        "--split", choices=list(make.SHARES), default="train", help="whose publications"
    )
    parser.add_argument("--output", type=Path, required=True, metavar="FILE")
    args = parser.parse_args()
    lines = make_lines(args.lines, args.seed, args.split)
    make.check_lines(lines, edges="")
    args.output.write_text(make.serialise(lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
