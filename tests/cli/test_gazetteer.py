"""hosemi gazetteer: the lists of a trained pipeline, replaced and looked into."""

import shutil
from functools import partial
from pathlib import Path

import pytest
import spacy

from ..helpers import as_json, hosemi, initialize, lbfgs, make_nlp, said

# Each name occurs once: only the list tells cities and people apart.
CITIES = ("Arvo", "Bel Mar", "Cudo", "Dun Ost Kaa", "Elva", "Foro Nim", "Gan", "Hex Ui")
PEOPLE = ("Iso", "Jon Kel", "Lua", "Mor Nus Opp", "Pia", "Que Rus", "Sol", "Tam Ulf")
NEWER = ("Zan Wim", "Xor", "Arvo")
LIST = {"@misc": "spacy_hosemi.gazetteer.v1"}


@spacy.registry.readers("tests.entries.v1")
def make_entries(entries: list[str]):
    return lambda: entries


def reader(*entries):
    return {"@readers": "tests.entries.v1", "entries": [*entries]}


def train_lists():
    """A pipeline with the lists "cities", which it reads, and "idle", with nothing."""
    marked = [f"they saw [CITY {name}] again ." for name in CITIES]
    marked += [f"they saw {name} again ." for name in PEOPLE]
    features = {"preset": "none", "inside": ["BIAS"], "start": ["LOWER[-1]"]}
    features["whole"] = ["idle:MATCH"]
    lists = {"cities": LIST, "idle": {**LIST, "attr": "LOWER", "dropout": 0.25}}
    nlp = make_nlp(features=features, model={"gazetteers": lists})
    readers = {"cities": reader(*CITIES), "idle": reader("A b", "a B", "a")}
    initialize(nlp, marked, gazetteers=readers, fit=lbfgs(max_iter=12))
    return nlp


def train_list(settings, entries, folder, *, before=()):
    """A folder with a pipeline that has the list "x", and components before."""
    nlp = make_nlp(model={"gazetteers": {"x": {**LIST, **settings}}})
    for name in before:
        nlp.add_pipe(name, before="hosemi")
    initialize(nlp, gazetteers={"x": reader(*entries)}, fit=lbfgs(max_iter=2))
    nlp.to_disk(folder)
    return nlp


@pytest.fixture(scope="module")
def listed(tmp_path_factory) -> Path:
    """A folder with a trained pipeline that has lists; tests leave it as it is."""
    folder = tmp_path_factory.mktemp("listed")
    train_lists().to_disk(folder)
    return folder


@pytest.fixture
def newer(tmp_path) -> Path:
    """A file with other entries, one of them twice."""
    path = tmp_path / "newer.txt"
    path.write_text("\n".join([*NEWER, "zan-wim", "..."]), "utf8")
    return path


def cities_of(model) -> list[str]:
    """The names that a pipeline takes for cities."""
    nlp = spacy.load(model)
    docs = {name: nlp(f"they saw {name} again .") for name in (*CITIES, *NEWER)}
    return [
        name
        for name, doc in docs.items()
        if [(ent.text, ent.label_) for ent in doc.ents] == [(name, "CITY")]
    ]


def contents(folder) -> dict[str, bytes]:
    paths = [path for path in Path(folder).rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def replace(model, file, output, *args, code=0) -> str:
    files = "cities", file, "-o", output
    return said("gazetteer", "replace", model, *files, *args, code=code)


find = partial(as_json, "gazetteer", "find")


def test_info(listed):
    pipe = spacy.load(listed).get_pipe("hosemi")
    names = [x for x in pipe.weights.names if "cities:" in x]
    assert 0 < len(names) < len(pipe.weights.names)
    n_inner = sum(len(name.split()) - 1 for name in CITIES)  # no two begin alike
    answer = as_json("gazetteer", "info", listed)
    assert answer["component"] == "hosemi"
    assert answer["gazetteers"] == [
        {
            **{"name": "cities", "attr": "ALNUM", "mode": "feature", "dropout": 0.0},
            **{"entries": len(CITIES), "fuzzy": None, "label": None},
            **{"bytes": (8 + 1) * len(CITIES) + 4 * n_inner + 16 * 16},
            **{"features": len(names), "weights": 2 * len(names)},
        },
        {
            **{"name": "idle", "attr": "LOWER", "mode": "feature", "dropout": 0.25},
            **{"entries": 2, "bytes": (8 + 1) * 2 + 4 + 16 * 16},  # one begins longer
            **{"features": 0, "weights": 0, "fuzzy": None, "label": None},
        },
    ]
    row = f"cities ALNUM feature 0 {len(CITIES)} 0.00 {len(names)}"
    printed = said("gazetteer", "info", listed)
    assert f"{row} {2 * len(names)} idle LOWER feature 0.25 2 0.00" in printed


def test_replace(listed, newer, tmp_path):
    before, output = contents(listed), tmp_path / "deep" / "output"
    assert cities_of(listed) == [*CITIES]
    printed = replace(listed, newer, output)
    assert "before 8 after 3 in both 1" in printed
    assert "Saved the pipeline to" in printed and "empty" not in printed
    newer.unlink()
    assert cities_of(output) == ["Arvo", "Zan Wim", "Xor"]
    assert contents(listed) == before
    after = contents(output)
    differ = {name for name, data in after.items() if before.get(name) != data}
    # The weights are the same file.
    assert {Path(name).name.partition("-")[0] for name in differ} == {"cfg", "model"}
    left, right = (spacy.load(x).get_pipe("hosemi") for x in (listed, output))
    assert left.get_weights().tolist() == right.get_weights().tolist()
    (old, new) = (pipe.weights.extractor.gazetteers.tries for pipe in (left, right))
    assert new["idle"].keys.tolist() == old["idle"].keys.tolist()


def test_replace_in_place(listed, newer, tmp_path):
    model = shutil.copytree(listed, tmp_path / "model")
    replace(model, newer, model, "--overwrite")
    assert cities_of(model) == ["Arvo", "Zan Wim", "Xor"]
    newer.write_text("\n".join(CITIES), "utf8")
    assert "before 3 after 8 in both 1" in replace(model, newer, model, "-f")
    assert contents(model) == contents(listed)


PATTERNS = '{"label": "X", "pattern": "Xor"}\n{"label": "Y", "pattern": "Gan"}'


@pytest.mark.parametrize(
    "name, text, args, n_entries",
    [
        ("a.csv", "id,name\n1,Xor\n1,Zan Wim\n", ["--column", "name"], 2),
        ("a.csv", "id,name\n1,Xor\n1,Zan Wim\n", ["--column", "1"], 3),
        ("a.tsv", "Xor\t1\nXor\t2\n", [], 1),
        ("a.txt", "Ar\u00e9s\nArvo", ["--encoding", "latin1"], 2),
        ("a.jsonl", PATTERNS, ["--label", "Y"], 1),
        ("a.txt", "...\n", [], 0),
    ],
)
def test_files_of_entries(listed, tmp_path, name, text, args, n_entries):
    file, output = tmp_path / name, tmp_path / "output"
    file.write_bytes(text.encode("latin1"))
    printed = replace(listed, file, output, *args)
    assert f"before 8 after {n_entries} in both" in printed
    assert ("The list is empty now" in printed) == (n_entries == 0)
    lists = spacy.load(output).get_pipe("hosemi").weights.extractor.gazetteers
    assert len(lists.tries["cities"]) == n_entries


def test_find(listed):
    text = "In BEL-MAR, Dun Ost and Gan; BelMar."
    answer = find(listed, "cities", text)
    tokens, found = answer["tokens"], answer["found"]
    assert answer == {
        **{"component": "hosemi", "gazetteer": "cities"},
        "tokens": [token.text for token in spacy.blank("en")(text)],
        "words": "in bel mar dun ost and gan belmar".split(),
        "found": found,
    }
    places = [(x["words"], x["text"]) for x in found]
    assert places == [(["bel", "mar"], "BEL-MAR"), (["gan"], "Gan")]
    for one in found:
        assert "".join(tokens[one["start"] : one["end"]]) == one["text"]
    (one,) = find(listed, "cities", "In  ＢＥＬ-ＭＡＲ")["found"]
    assert (one["words"], one["text"]) == (["bel", "mar"], "ＢＥＬ-ＭＡＲ")
    printed = said("gazetteer", "find", listed, "cities", text)
    last = tokens.index("Gan")
    assert f"{last} {last + 1} gan Gan" in printed
    assert "Words by ALNUM: in | bel | mar | dun | ost" in printed
    assert "Tokens: In | BEL" in printed
    printed = hosemi("gazetteer", "find", listed, "idle", "B").output
    assert "nothing" in printed and "Words by LOWER: b\n" in printed


@pytest.mark.filterwarnings("ignore:.*HSW09")
def test_components_before_are_run(tmp_path):
    """A list that compares lemmas needs them, from the pipeline."""
    before = ["attribute_ruler"]
    nlp = train_list({"attr": "LEMMA"}, ["letter"], tmp_path, before=before)
    ruler = nlp.get_pipe("attribute_ruler")
    ruler.add([[{"LOWER": "letters"}]], {"LEMMA": "letter"})
    nlp.to_disk(tmp_path)
    (one,) = find(tmp_path, "x", "Two letters")["found"]
    assert one == {"start": 1, "end": 2, "words": ["letter"], "text": "letters"}


def test_a_fuzzy_list(tmp_path):
    fuzzy = {"similarity": "jaccard", "threshold": 0.5}
    settings = {"mode": "hard", "label": "PER", "fuzzy": fuzzy}
    train_list(settings, ["Ada Byron"], tmp_path)
    (info,) = as_json("gazetteer", "info", tmp_path)["gazetteers"]
    assert info["fuzzy"] == {**fuzzy, "units": "chars"} and info["label"] == "PER"
    assert info["bytes"] > 100
    printed = said("gazetteer", "info", tmp_path)
    assert "x ALNUM hard 0 jaccard 0.5 chars PER 1 0.00" in printed
    answer = find(tmp_path, "x", "by Ada Byrn")
    assert answer["found"] == []
    assert {"start": 1, "end": 3, "similarity": 0.55} in [
        {key: round(x[key], 2) for key in ("start", "end", "similarity")}
        for x in answer["similar"]
    ]
    assert {x["entry"] for x in answer["similar"]} == {"ada byron"}
    printed = said("gazetteer", "find", tmp_path, "x", "by Ada Byrn")
    assert "1 3 0.55 ada byron Ada Byrn" in printed
    (tmp_path / "new.txt").write_text("Ａda\xa0By\xadrn", "utf8")
    args = "x", tmp_path / "new.txt", "--output", tmp_path.with_name("newer")
    hosemi("gazetteer", "replace", tmp_path, *args)
    answer = find(tmp_path.with_name("newer"), "x", "by Ada Byrn")
    assert {x["entry"] for x in answer["similar"]} == {"ada byrn"}


# --- what it refuses --------------------------------------------------------------


@pytest.mark.parametrize("command", ["info", "replace", "find"])
def test_no_such_list(model, listed, newer, tmp_path, command):
    output = tmp_path / "output"
    args = {"info": [], "replace": ["towns", newer, "-o", output]}
    args = args.get(command, ["towns", "Xor"])
    printed = said("gazetteer", command, model, *args, code=2)
    assert "The component 'hosemi' in" in printed and "has no lists of" in printed
    if args:
        printed = said("gazetteer", command, listed, *args, code=2)
        assert "No list 'towns'" in printed and "lists are: cities, idle." in printed
    assert not output.exists()


@pytest.mark.parametrize(
    "name, args, message",
    [
        ("nowhere.txt", "", "which does not exist"),
        ("newer.txt", "--column 1", "column is 1 for"),
        ("newer.txt", "--label X", "label is 'X' for"),
        ("newer.txt", "--encoding utf9", "encoding is 'utf9' for"),
        ("empty.txt", "", "has no entry"),
        ("model.spacy", "", "expected a file that ends in one of"),
    ],
)
def test_wrong_files(listed, newer, tmp_path, name, args, message):
    for empty in ("empty.txt", "model.spacy"):
        (tmp_path / empty).touch()
    args = tmp_path / name, tmp_path / "output", *args.split()
    printed = replace(listed, *args, code=2)
    assert "Cannot read the entries of" in printed and message in printed
    assert not (tmp_path / "output").exists()


def test_outputs_that_are_refused(listed, newer, tmp_path):
    before = contents(listed)
    assert "is a file" in replace(listed, newer, newer, "--overwrite", code=2)
    inside = newer / "output"
    assert "Cannot save the pipeline" in replace(listed, newer, inside, code=2)
    assert contents(tmp_path).keys() == {"newer.txt"} and contents(listed) == before


def test_weights_of_pairs_only(tmp_path, monkeypatch):
    monkeypatch.setattr("spacy_hosemi.training.feature_selection.MAX_WEIGHTS", 5)
    with pytest.warns(UserWarning, match="HSW03"):
        train_lists().to_disk(tmp_path)
    weights = spacy.load(tmp_path).get_pipe("hosemi").weights
    rows = [k for k, name in enumerate(weights.names) if "cities:" in name]
    n_weights = sum(weights.pairs.sizes[rows].tolist())
    assert 0 < n_weights < 2 * len(rows)
    lists = as_json("gazetteer", "info", tmp_path)["gazetteers"]
    sizes = [(x["features"], x["weights"]) for x in lists]
    assert sizes == [(len(rows), n_weights), (0, 0)]
