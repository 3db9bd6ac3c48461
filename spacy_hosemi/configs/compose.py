"""Composes a config from the base, what differs for a kind of text, and lists."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Sequence
from os.path import commonprefix
from pathlib import Path
from typing import Any

from spacy.util import get_lang_class, get_model_meta, get_package_path, is_package

from ..errors import Errors
from ..model.onnx_encoder import make_onnx_encoder
from ..values import shown
from .lists import NO_FOLDER, TABLES, NamedList, unfit_for_config

FOLDER = Path(__file__).parent

# What configs are for. A kind has a file of its own if it differs from the base.
KINDS = {
    "fields": "Fields of short texts, one after the other",
    "references": "Bibliographic references",
    "affiliations": "Affiliations of authors",
    "addresses": "Postal addresses",
    "names": "Names in running text",
    "requests": "Short requests whose topic tells the labels apart",
    "characters": "Text whose tokens are characters, such as Chinese",
}
DEFAULT_LANGUAGES = {"characters": "zh"}
# The tokenizer of languages that have one for tokens of one character.
CHARACTER_TOKENIZERS = {
    "zh": '@tokenizers = "spacy.zh.ChineseTokenizer"\nsegmenter = "char"'
}

HEAD = """\
# {title}.
#
# Train:
#   python -m spacy train {name} -o model --paths.train a.spacy --paths.dev b.spacy
# Comments say what is worth a change. This writes the defaults of all other keys:
#   python -m spacy init fill-config {name} filled.cfg
"""
# Before keys and blocks that `spacy debug` does not find by itself.
DEFAULTS = "# spaCy's own defaults.\n"
NO_LISTS = """\
# There are no lists of names. `python -m spacy hosemi init` adds some: --lists DIR,
# --lists packages.
"""
LIST = '{{"@misc": "spacy_hosemi.gazetteer.v1", "attr": "{attr}"}}'
LISTS_HELP = {
    "components.hosemi.model.gazetteers": "# Lists of names. To leave one out, delete "
    "its line here and its line below [initialize].\n"
    '# attr: "ALNUM" compares letters and digits in lower case, "ORTH" words.',
    "initialize.components.hosemi.gazetteers": "# Read once, when training begins; "
    "the model keeps the entries.",
}
# The lines of each key, its comments before it; "" are comments before the section.
Section = dict[str, str]


def make_config(
    kind: str = "fields",
    *,
    lang: str | None = None,
    lists: Sequence[NamedList] = (),
    folder: str | Path | None = None,
    tables: Sequence[str] = (),
    vectors: str = "",
    name: str = "config.cfg",
) -> str:
    """Composes a config that trains as it is, with comments that say what to change and
    call it by a name, for one of KINDS of texts in a language, or else that of the
    kind; with lists of `find_lists` in a folder or of `package_lists`, tables of
    `package_tables`, and vectors as `find_vectors` has them."""
    lang = lang or DEFAULT_LANGUAGES.get(kind, "en")
    config = parse((FOLDER / "base.cfg").read_text("utf8"))
    path = FOLDER / f"{kind}.cfg"
    if path.exists():
        merge(config, parse(path.read_text("utf8")))
    merge(config, parse(f"[nlp]\nlang = {_value(lang)}"))
    if kind == "characters" and lang in CHARACTER_TOKENIZERS:
        config.pop("nlp.tokenizer")
        block = f"[nlp.tokenizer]\n{CHARACTER_TOKENIZERS[lang]}"
        merge(config, parse(f"# A token for each character.\n{block}"))
    if folder is not None and any(x.file for x in lists):
        value = _value(Path(folder).as_posix())
        merge(config, parse(f"[paths]\n# The folder of the lists.\nlists = {value}"))
    merge(config, parse("\n".join(_list_lines(lists))))
    merge(config, parse("\n".join(_table_lines(tables))))
    if not lists:
        config["components.hosemi.model"][""] += NO_LISTS
    merge(config, parse(vectors))
    _add_defaults(config, lang)
    head = HEAD.format(title=KINDS[kind], name=shlex.quote(name))
    return f"{head}\n{render(config)}"


def check_language(lang: Any) -> str:
    """Returns a language. Raises ValueError HS235 if spaCy has none of this code."""
    if isinstance(lang, str):
        try:
            get_lang_class(lang)
            return lang
        except ImportError as error:
            if "[E048]" not in str(error):  # what the language needs is not installed
                raise
    raise ValueError(Errors.HS235.format(found=shown(lang)))


def find_vectors(name: str, lang: str | None) -> tuple[str, str | None]:
    """Returns what a config has for the word vectors of a package or folder, or an
    encoder, and their language. Raises ValueError: HS396 it is neither, HS397 another
    language."""
    path, meta, problem = Path(name), None, "no package or folder"
    try:
        path = get_package_path(name) if is_package(name) else path
        problem = "it has neither" if path.exists() else problem
        meta = get_model_meta(path) if (path / "meta.json").exists() else None
    except Exception as error:  # of a package, or a damaged file
        problem = " ".join(str(error).split())[:200]
    if meta and not meta.get("vectors", {}).get("width"):
        meta, problem = None, "it has no vectors, as those in _md and _lg of spaCy"
    wrong = unfit_for_config(name, NO_FOLDER)
    names = "*.onnx", "onnx/*.onnx", "tokenizer.json"
    if wrong or not (meta or any(any(path.glob(x)) for x in names)):
        raise ValueError(Errors.HS396.format(found=name, problem=wrong or problem))
    if meta is None:
        make_onnx_encoder(name).initialize()  # what fails, fails now
    elif lang not in (None, meta["lang"]):
        args = {"found": meta["lang"], "expected": lang}
        raise ValueError(Errors.HS397.format(name=name, **args))
    text = (FOLDER / f"{'words' if meta else 'encoder'}.cfg").read_text("utf8")
    text = text.replace("null", _value(Path(name).as_posix()))
    return text, str(meta["lang"]) if meta else lang


def parse(text: str) -> dict[str, Section]:
    """Returns the sections of a config, in order."""
    sections: dict[str, Section] = {}
    section, waiting = "", ""
    for line in text.splitlines():
        if match := re.fullmatch(r"\[(.+)\]", line):
            section = match[1]
            sections[section], waiting = {"": waiting}, ""
        elif line.startswith("#"):
            waiting += line + "\n"
        elif line.strip():
            key = line.partition(" =")[0]
            sections[section][key], waiting = waiting + line + "\n", ""
    return sections


def merge(config: dict[str, Section], changes: dict[str, Section]) -> None:
    """Puts changes into a config: other values, other comments where there are some,
    and new sections beside their neighbours. A key without a value is removed."""
    for name, section in changes.items():
        if name not in config:
            _insert(config, name)
        for key, lines in section.items():
            if lines.endswith(" =\n"):
                del config[name][key]
            elif lines:
                old = config[name].get(key, "") if key and lines[0] != "#" else ""
                comments = [x for x in old.splitlines(True) if x.startswith("#")]
                config[name][key] = "".join(comments) + lines


def _add_defaults(config: dict[str, Section], lang: str) -> None:
    """Adds spaCy's own keys, which `spacy debug` does not fill in."""
    sections = parse(get_lang_class(lang).default_config.to_str(interpolate=False))
    config[next(name for name in sections if name not in config)] = {"": DEFAULTS}
    for name, section in sections.items():
        ours = config.setdefault(name, {"": ""})
        if not any(key.startswith("@") for key in ours):
            comment = DEFAULTS if len(ours) > 1 else ""
            for key in [x for x in section if x not in ours]:
                ours[key], comment = comment + section[key], ""


def _insert(config: dict[str, Section], name: str) -> None:
    """Inserts an empty section behind the last of those whose names are most alike."""
    items = list(config.items())
    names = [(name.split("."), other.split(".")) for other in config]
    n_shared = [len(commonprefix(pair)) for pair in names]
    after = max(range(len(items)), key=lambda k: (n_shared[k], k))
    items.insert(after + 1, (name, {"": ""}))
    config.clear()
    config.update(items)


def render(config: dict[str, Section]) -> str:
    """Returns the text of a config."""
    return "\n".join(
        section[""] + f"[{name}]\n" + "".join(x for key, x in section.items() if key)
        for name, section in config.items()
    )


def _list_lines(lists: Iterable[NamedList]) -> Iterable[str]:
    for section, comment in LISTS_HELP.items() if lists else ():
        yield f"{comment}\n[{section}]"
        for x in lists:
            is_model = section.startswith("components")
            value = LIST.format(attr=x.attr) if is_model else json.dumps(x.reader())
            yield f"{x.name} = {value}"


def _table_lines(tables: Iterable[str]) -> Iterable[str]:
    if tables:
        yield "# What spacy-lookups-data says of words."
        yield "[components.hosemi.model.tables]"
        yield from (f"{name} = {json.dumps(TABLES[name])}" for name in tables)
        yield "[initialize.components.hosemi.tables]"
    for name in tables:
        reader = {"@readers": "spacy_hosemi.read_lookups.v1", "name": name}
        yield f"{name} = {json.dumps({**reader, 'lang': '${nlp.lang}'})}"


def _value(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
