"""The config with what was chosen."""

import pytest
from spacy.util import load_config_from_str

from spacy_hosemi.configs import make_config
from spacy_hosemi.tuning.written import note_of, write

from .test_halving import judgement

CHANGES = {"max_order": 1, "encoding": "BIO", "model.features.preset": "names"}


@pytest.mark.parametrize("kind", ["references", "fields"])
@pytest.mark.parametrize("l2", [0.3, "auto"])
def test_the_config_has_the_settings_and_keeps_its_comments(kind, l2):
    text = make_config(kind)
    written = write(text, "hosemi", CHANGES, l2, "One.\nTwo.")
    assert written.startswith("# One.\n# Two.\n# ")
    comments = [line for line in text.splitlines() if line.startswith("# Label")]
    assert comments and all(line in written for line in comments)
    config = load_config_from_str(written)
    block = config["components"]["hosemi"]
    assert (block["max_order"], block["encoding"]) == (1, "BIO")
    assert block["model"]["features"]["preset"] == "names"
    fit = config["initialize"]["components"]["hosemi"]["fit"]
    assert fit["l2"] == l2
    before = load_config_from_str(text)
    for name in ("nlp", "training", "paths", "corpora"):
        assert config.get(name) == before.get(name)


def test_a_config_that_cannot_be_changed_line_by_line():
    """Values over several lines: the comments go, the settings are right."""
    text = make_config("fields").replace(
        "start = []", 'start = [\n    "LOWER{-30:30}",\n    "ORTH[-1:1]"\n  ]'
    )
    written = write(text, "hosemi", {"model.features.start": ["SHAPE"]}, 1.0)
    config = load_config_from_str(written)
    assert config["components"]["hosemi"]["model"]["features"]["start"] == ["SHAPE"]
    assert config["initialize"]["components"]["hosemi"]["fit"]["l2"] == 1.0
    assert config["paths"] == {"train": None, "dev": None}


def test_references_to_other_values_stay():
    text = make_config("fields").replace("max_order = 2", "max_order = ${system.seed}")
    written = write(text, "hosemi", {"decoding": "mbr"}, 0.1)
    assert "max_order = ${system.seed}" in written


def test_the_note():
    first, best = judgement({}, 0.5), judgement({"max_order": 1}, 0.7)
    note = note_of(best, first, 88, 1401)
    assert "88 of 1,401 documents: F1 70.00, exact records -." in note
    assert "With the settings before: F1 50.00, exact records -;" in note
    assert "gained 20.00 ± 0.00" in note
    assert "before" not in note_of(first, first, 88, 88)


def test_a_second_note_replaces_the_first_one():
    one = judgement({}, 0.5)
    text = make_config("fields")
    written = write(text, "hosemi", {}, 0.1, note_of(one, one, 88, 88))
    again = write(written, "hosemi", {}, 0.1, note_of(one, one, 99, 99))
    assert again == written.replace("88 documents", "99 documents")
