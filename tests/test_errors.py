"""Each message of the catalogue is used, seen by a test and can be formatted."""

import ast
import re
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from string import Formatter

from spacy_hosemi import errors

PACKAGE = Path(find_spec("spacy_hosemi").origin).parent
TESTS = Path(__file__).parent
CATALOGUES = {"Errors": r"HS\d{3}", "Warnings": r"HSW\d{2,3}"}


def catalogue():
    """(class, code, message) of every message, read from the source: there a code
    that is given twice can still be seen."""
    found = []
    for node in ast.parse(Path(errors.__file__).read_text("utf8")).body:
        if isinstance(node, ast.ClassDef) and node.name in CATALOGUES:
            for line in node.body:
                if isinstance(line, ast.Assign):
                    message = ast.literal_eval(line.value)
                    found += [(node.name, name.id, message) for name in line.targets]
    return found


def read(paths):
    return "\n".join(path.read_text("utf8") for path in paths)


def codes_without(text, form):
    """The codes whose names do not occur in the text, in this form."""
    names = {*re.findall(r"\bHSW?\d+\b", text), *re.findall(r"\w+\.HSW?\d+\b", text)}
    every = [
        (form.format(owner=owner, code=code), code) for owner, code, _ in catalogue()
    ]
    return [code for name, code in every if name not in names]


def is_formattable(message):
    """Whether all fields have names: `{found}`, neither `{}` nor `{0}`."""
    try:
        fields = [field for _, field, _, _ in Formatter().parse(message)]
    except ValueError:  # a single brace
        return False
    return all(field is None or re.match(r"[a-z_]", field) for field in fields)


def test_codes():
    codes = [code for _, code, _ in catalogue()]
    assert len(codes) > 20
    assert [code for code, count in Counter(codes).items() if count > 1] == []
    for owner, code, message in catalogue():
        assert re.fullmatch(CATALOGUES[owner], code), f"{owner}.{code}"
        one_line = " ".join(message.split())
        assert getattr(getattr(errors, owner), code) == f"[{code}] {one_line}"


def test_each_message_has_named_fields():
    assert [code for _, code, text in catalogue() if not is_formattable(text)] == []


def test_each_code_is_used():
    paths = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pyx")]
    text = read(path for path in paths if path != Path(errors.__file__))
    unused = codes_without(text, "{owner}.{code}")
    assert not unused, f"nothing in the package uses {unused}"


def test_each_code_is_seen_by_a_test():
    text = read(path for path in TESTS.rglob("*.py") if path != Path(__file__))
    unseen = codes_without(text, "{code}")
    assert not unseen, f"no test names {unseen}"


def test_these_tests_can_fail():
    codes = [code for _, code, _ in catalogue()]
    assert codes_without("", "{code}") == codes
    assert codes_without(f"Errors.{codes[0]}", "{owner}.{code}") == codes[1:]
    assert codes_without(f"{codes[0]}0 x{codes[1]}", "{code}") == codes
    assert is_formattable("{found!r} is {{not}} {expected}")
    assert not any(map(is_formattable, ["{}", "{0}", "{found", "} {found}"]))
