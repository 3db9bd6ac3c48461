"""Nothing in a model folder is run, and no text becomes markup."""

import ast
import math
import pickle
import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import spacy
import srsly

from spacy_hosemi.component import saved_files

from ..helpers import make_trained
from .test_sizes import change_mapped, load, packed_model, with_weights

PACKAGE = Path(find_spec("spacy_hosemi").origin).parent

# What runs code that it is given, or reads what does. Modules of packages are imported
# by names that stand in the source.
FORBIDDEN = {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "code"}
CALLS = {"eval", "exec", "compile", "__import__", "pickle_loads", "read_pickle"}
IMPORTERS = {"__init__.py", "cli/streams.py", "formats/__init__.py"}
IMPORTERS |= {"features/gazetteers/packages.py", "inspection/costs.py"}


def nodes():
    for path in PACKAGE.rglob("*.py*"):
        if path.suffix == ".py":
            name = path.relative_to(PACKAGE).as_posix()
            for node in ast.walk(ast.parse(path.read_text("utf8"))):
                yield name, node


def test_the_package_runs_no_code_that_it_is_given():
    for name, node in nodes():
        if isinstance(node, ast.Import):
            assert not {x.name.partition(".")[0] for x in node.names} & FORBIDDEN, name
        elif isinstance(node, ast.ImportFrom) and not node.level:
            assert (node.module or "").partition(".")[0] not in FORBIDDEN, name
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in CALLS, name
            if node.func.id == "import_module":
                assert name in IMPORTERS
        elif isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            assert isinstance(node.value, ast.Constant) and not node.value.value, name


class Trap:
    """Makes a file when it is read from a pickle."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.fixture()
def folder(tmp_path):
    nlp = make_trained()
    nlp.to_disk(tmp_path / "model")
    return tmp_path / "model"  # as a stranger may send it


@pytest.fixture()
def trap(tmp_path):
    """A path that must not be made, and a pickle and a module that would make it."""
    path = tmp_path / "was-run"
    yield path, pickle.dumps(Trap(path)), f"open({str(path)!r}, 'w')\n"
    assert not path.exists()


def test_other_files_in_a_folder_are_not_run(folder, trap):
    _, data, source = trap
    for place in (folder, folder / "hosemi"):
        for name in ("__init__.py", "hosemi.py", "setup.py", "conftest.py"):
            (place / name).write_text(source)
        for name in ("model.pkl", "model.pickle", "data.bin"):
            (place / name).write_bytes(data)
    assert spacy.load(folder)("Ada Lovelace").ents


def test_a_pickle_in_the_place_of_a_model(folder, trap):
    cfg, parts = saved_files.unsealed((folder / "hosemi" / "cfg").read_bytes())
    (folder / "hosemi" / parts["model"]["file"]).write_bytes(trap[1])
    parts["model"]["sha256"] = saved_files.digest_of(trap[1])
    (folder / "hosemi" / "cfg").write_bytes(saved_files.sealed(cfg, parts))
    with pytest.raises(ValueError, match="HS062"):
        spacy.load(folder)


def test_a_pickle_in_the_place_of_weights(folder, trap):
    trapped = np.array([[Trap(trap[0])]], object)
    change_mapped(folder / "hosemi", lambda _: trapped)
    with pytest.raises(ValueError, match="HS062"):
        spacy.load(folder)


def test_a_pickle_in_the_place_of_vectors(folder, trap):
    with open(folder / "vocab" / "vectors", "wb") as file:
        np.save(file, np.array([[Trap(trap[0])]], object))
    with pytest.raises(ValueError):  # spaCy's, or numpy's
        spacy.load(folder)


def test_a_function_that_is_not_registered(folder, trap):
    path = folder / "config.cfg"
    config = path.read_text().replace("spacy_hosemi.SpanScorer.v1", "os.system.v1")
    path.write_text(config)
    with pytest.raises(Exception, match="os.system.v1"):
        spacy.load(folder)


# --- markup ---------------------------------------------------------------------------


@pytest.mark.parametrize("n", ["<b>", -1, 1.5, None, True])
def test_numbers_of_a_model_that_are_none(n):
    nlp = make_trained()
    whole, model, weights = packed_model(nlp)
    cfg, _ = saved_files.unsealed(whole["cfg"])
    shares = [True, None, "x", math.nan, math.inf, -math.inf]
    shapes = [{"PER": x} for x in ([n], n, {"1": 2}, "1")]
    for change in (
        {"n_spans": {"PER": n}},
        {"n_tokens": n},
        *({"shape": shape} for shape in shapes),
        *({"least_log_share": x} for x in shares),
    ):
        facts = {**cfg["trained_on"], **change}
        data = saved_files.sealed({**cfg, "trained_on": facts}, {})
        with pytest.raises(ValueError, match="HS062"):
            load(with_weights({"cfg": data}, model, weights))


def test_only_one_writer_makes_html():
    """Another one needs tests like these."""
    pattern = re.compile(r"<(div|td|span|p|b|code|html|table|mark)\b[^>]*>")
    writers = {name for name, node in nodes() if is_html(node, pattern)}
    assert writers <= {"component/description.py"}, writers


def is_html(node, pattern):
    """Whether a string is markup; docstrings of readers have some, too."""
    is_text = isinstance(node, ast.JoinedStr)
    return is_text and bool(pattern.search(ast.unparse(node)))


def test_settings_of_the_tokenizer_are_plain():
    from spacy_hosemi import FieldTokenizer

    tokenizer = FieldTokenizer(spacy.blank("en").vocab)
    for data in (pickle.dumps({"split_digits": True}), srsly.msgpack_dumps([1])):
        with pytest.raises(ValueError, match="HS155"):
            tokenizer.from_bytes(data)
