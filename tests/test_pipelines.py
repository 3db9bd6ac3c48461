"""The scripts of pipelines/: values, data, and the card of a run."""

import importlib.util
import re
import shutil
import sys
from pathlib import Path

import pytest
import spacy
import srsly
from spacy.cli.package import package
from spacy.tokens import Doc, DocBin

import spacy_hosemi
from spacy_hosemi import use_field_tokenizer

from .helpers import TRAIN, make_examples, make_trained, parse

PIPELINES = Path(__file__).parents[1] / "pipelines"


def load(path: str):
    """Import a script as a module of its own name."""
    name = path.replace("/", "_").removesuffix(".py")
    spec = importlib.util.spec_from_file_location(name, PIPELINES / path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def marked(text: str) -> Doc:
    text, spans = parse(text)
    doc = use_field_tokenizer(spacy.blank("en")).make_doc(text)
    doc.ents = [doc.char_span(*span) for span in spans]
    return doc


ingredients = load("ingredients/values.py")

# What a text says: how many of, the least, the most. Some sites write 2½ as 21/2.
NUMBERS = """
2: - 2 2; ½: - .5 .5; 1 ½: - 1.5 1.5; 1½ to 2: - 1.5 2; 4-5: - 4 5; 3 or 4: - 3 4
1 1/2: - 1.5 1.5; 3⁄4: - .75 .75; 21/2: - 2.5 2.5; 10/2: - 5 5; 1/0: - - -
1,5: - 1.5 1.5; 1,000: - 1000 1000; Two: - 2 2; half a dozen: - 6 6; few: - - -; : - - -
15/16: - .9375 .9375; 1 11/16: - 1.6875 1.6875; 1 and 1/2: - 1.5 1.5; 3 to 2: - 2 3
one and a half: - 1.5 1.5; three-quarters: - .75 .75; one-half: - .5 .5; ⅒: - .1 .1
twenty-one: - 21 21; ten-twelve: - 10 12; 2 twelve: 2 12 12; often: - - -
1-2 dozen: - 12 24; one 9- to 10: 1 9 10; 2 x 400: 2 400 400; 2 x 12: 2 12 12
1 000: - 1000 1000; 2 400: 2 400 400; 12 000: - 12000 12000; 1,000.5: - 1000.5 1000.5
0,125: - .125 .125; 1 / 2: - .5 .5; 1+1/2: - 1.5 1.5; one and one-half: - 1.5 1.5
one hundred: - 100 100; a hundred and fifty: - 150 150; three eighths: - .375 .375
half a: - .5 .5; a dozen: - 12 12; one dozen to two dozen: - 12 24; 1½-2: - 1.5 2
between 2 and 3: - 2 3; 2-3: - 2 3; ¼-½: - .25 .5; 1,2,3: - - -; 1. 5: - - -
1 -½: - - -; 1-2-3: - - -; 4 or 5 350: - - -; 400/14: - - -; 1 11/2: - - -
2 and 3: - - -; two thousand five hundred: - - -; 10%: - - -; 1st: - - -; 1e3: - - -
"""


@pytest.mark.parametrize("line", re.split("; |\n", NUMBERS.strip()))
def test_numbers(line):
    text, *numbers = re.fullmatch(r"(.*): (\S+) (\S+) (\S+)", line).groups()
    expected = tuple(None if x == "-" else float(x) for x in numbers)
    assert ingredients.read_numbers(text) == expected
    assert ingredients.read_numbers("1" * 9000 + "/1") == (None, None, None)


def shown(x) -> str:
    number = "-" if x.low is None else f"{x.low:g}"
    return f"{number} {x.unit or '-'}" + (f" of {shown(x.each)}" if x.each else "")


AMOUNTS = """
[quantity 2] [unit heaped tbsp.] sugar: 2 tablespoon
[quantity 375][unit g]/[quantity 13][unit oz]: 375 gram, 13 ounce
[quantity 1][unit lb] [quantity 4][unit oz]: 1.25 pound
[quantity 1] [unit c] plus [quantity 2] [unit fl oz]: 1.25 cup
[quantity 1] ([quantity 14]-[unit ounce]) [unit can]: 1 can of 14 ounce
[quantity Two 15]-[unit ounce cans]: 2 cans of 15 ounce
[quantity 2 x 400][unit g] [unit tins]: 2 tins of 400 gram
[quantity 1] [unit inch piece]: 1 piece of 1 inch
[quantity 6] [unit large] garlic [unit cloves]: 6 large cloves
[quantity 1] onion (about [quantity ½] [unit cup]): 1 -, 0.5 cup
[quantity 1],[quantity 000] [unit ml] water: 1000 milliliter
[quantity half] a dozen eggs: 6 -
[quantity one] hundred and fifty [unit grams] of salt: 150 gram
between 2 and [quantity 3] [unit cups] flour: 2 cup
a [unit pinch] of salt: - pinch
salt:"""


@pytest.mark.parametrize("line", AMOUNTS.strip().split("\n"))
def test_amounts(line):
    text, _, amounts = line.partition(":")
    found = ingredients.read_amounts(marked(text))
    assert ", ".join(map(shown, found)) == amounts.strip()


def test_schemas():
    text = "[quantity 1] ([quantity 14]-[unit ounce]) [unit can] [name tomatoes], "
    found = marked(text + "[preparation peeled], [preparation diced]")._.ingredient
    (amount,) = found.amounts
    assert amount.to("g") == pytest.approx(396.9, abs=0.1)
    assert amount.to("ml") is None is amount.each.to("cup")
    supply = found.to_schema()
    assert supply["name"] == "tomatoes" and supply["description"] == "peeled, diced"
    assert supply["requiredQuantity"]["valueReference"]["unitCode"] == "ONZ"
    load("affiliations/values.py")
    text = (
        "[marker 1][department Physics], [institution Univ. of X], [city Y], [city Y]"
    )
    assert marked(text)._.affiliation.to_schema() == {
        "@type": "Organization",
        "name": "Univ. of X",
        "department": [{"@type": "Organization", "name": "Physics"}],
        "address": {"@type": "PostalAddress", "addressLocality": "Y"},
    }


def test_tokens_become_text():
    tokens = "1 Dept . of A , B ( P . R . C . ) , SI - 10 , Lyon".split()
    spans = [[1, 5, "x"], [8, 14, "y"], [16, 19, "z"]]
    record = load("data.py").join_tokens(tokens, spans)
    texts = [record["text"][i:j].replace(" ", "") for i, j, _ in record["spans"]]
    assert texts == ["Dept.ofA", "P.R.C.", "SI-10"]
    assert "Dept. of A, B (P." in record["text"] and record["text"].endswith(", Lyon")


@pytest.mark.parametrize("name", ["references", "ingredients", "affiliations"])
def test_projects(name):
    """Version, package and language agree in all that a project says."""
    package = srsly.read_yaml(PIPELINES / name / "about.yml")["package"]
    commands = srsly.read_yaml(PIPELINES / name / "project.yml")["commands"]
    steps = [x for step in commands for x in step["script"]]
    lang, _, rest = package.partition("_")
    assert f"--name {rest} --version {spacy_hosemi.__version__}" in steps[-1]
    assert (lang == "xx") == any("--lang xx" in x for x in steps)


ABOUT = """
{package: en_hosemi_tiny, description: Finds people., license: MIT, command: parse,
 requirements: [pint>=0.24], promise: record, value: ingredient, note: It is tiny.,
 sources: [{name: D, url: u, license: CC0, attribution: by us}], fails: Often.,
 labels: {PER: [who], LOC: [where]}, bad_input: {no person: It rains. / It | snows.}}
"""


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # of `spacy package` itself
def test_card(tmp_path, monkeypatch):
    """The card says what a tiny model finds; its package has values and licences."""
    card = load("card.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(card, "ERRORS", (0.5,))
    monkeypatch.setattr(sys, "argv", ["card.py", "model"])
    (nlp := make_trained()).to_disk("model")
    Path("corpus").mkdir()
    Path("build").mkdir()
    texts = {"train": TRAIN, "test": TRAIN[:3], "promise": ["[PER Eve] met [PER Ada]."]}
    for part, lines in texts.items():
        docs = [example.reference for example in make_examples(nlp, lines)]
        DocBin(docs=docs).to_disk(f"corpus/{part}.spacy")
    Path("corpus/licence-D.txt").write_text("As you like.")
    srsly.write_json("build/scores.json", nlp.evaluate(make_examples(nlp)))
    Path("about.yml").write_text(ABOUT)
    shutil.copy(PIPELINES / "ingredients" / "values.py", "values.py")
    card.main()
    text = Path("model/README.md").read_text("utf8")
    assert "| `PER` | who | `" in text and "F1 of exact spans **100.0**" in text
    assert "| 50 % | none | 0 | - | - |" in text and "| no person | 2 | " in text
    assert "Ada Lovelace wrote to Charles Babbage in London.\n  0.9" in text
    code = [Path("values.py")]
    package(
        Path("model"), tmp_path, None, code, "hosemi_tiny", "1.0", create_sdist=False
    )
    folder = tmp_path / "en_hosemi_tiny-1.0"
    assert "As you like." in (folder / "LICENSES_SOURCES").read_text("utf8")
    requirements = srsly.read_json(folder / "meta.json")["requirements"]
    assert {re.match(r"\w+", x)[0] for x in requirements} >= {"pint", "spacy_hosemi"}
    shutil.copy(folder / "meta.json", folder / "en_hosemi_tiny")  # as its setup.py does
    monkeypatch.syspath_prepend(folder)
    doc = importlib.import_module("en_hosemi_tiny").load()("Ada met Ada.")
    assert doc.ents and doc._.ingredient.name == ""
