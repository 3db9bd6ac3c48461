"""The config with what was chosen."""

import pytest
from spacy.util import load_config_from_str

from spacy_hosemi.configs import find_lists, make_config
from spacy_hosemi.tuning.tuned_config import NOTE, write

L2 = "initialize.components.hosemi.fit.l2"
FEATURES = "components.hosemi.model.features"


@pytest.mark.parametrize("kind", ["references", "fields"])
@pytest.mark.parametrize("l2", [0.3, "auto"])
def test_the_config_has_the_settings_and_keeps_its_comments(kind, l2):
    text = make_config(kind)
    changes = {"components.hosemi.max_order": 1, f"{FEATURES}.preset": "names", L2: l2}
    tuned = write(text, changes, "One.\nTwo.")
    assert tuned.startswith(f"# {NOTE}\n# One.\n# Two.\n#\n# ")
    comments = [line for line in text.splitlines() if line.startswith("# Label")]
    assert comments and all(line in tuned for line in comments)
    config, before = load_config_from_str(tuned), load_config_from_str(text)
    block = config["components"]["hosemi"]
    assert block["max_order"] == 1 and block["model"]["features"]["preset"] == "names"
    assert config["initialize"]["components"]["hosemi"]["fit"]["l2"] == l2
    for name in ("nlp", "training", "paths", "corpora"):
        assert config.get(name) == before.get(name)


def resolved(text):
    """A config whose fit is named elsewhere."""
    config = load_config_from_str(text, interpolate=False)
    block = config["initialize"]["components"]["hosemi"]
    config["vars"] = {"fit": block["fit"]}
    block["fit"] = "${vars.fit}"
    return config.to_str(interpolate=False)


LINES = 'start = [\n    "LOWER{-30:30}",\n    "ORTH[-1:1]"\n  ]'


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace("start = []", LINES),
        lambda text: text.replace("max_order = 2", "max_order=3"),
        lambda text: "; a comment\n" + text,
        resolved,
    ],
)
def test_a_config_that_cannot_be_changed_line_by_line(edit):
    """Its comments may go, the settings are right."""
    changes = {f"{FEATURES}.start": ["SHAPE"], "components.hosemi.max_order": 1}
    tuned = write(edit(make_config("fields")), {**changes, L2: 1.0})
    config = load_config_from_str(tuned)
    component = config["components"]["hosemi"]
    assert component["model"]["features"]["start"] == ["SHAPE"]
    assert component["max_order"] == 1
    assert config["initialize"]["components"]["hosemi"]["fit"]["l2"] == 1.0
    assert config["paths"]["train"] is None


def test_whole_blocks_are_replaced(tmp_path):
    """The lists of a config go, its other comments stay."""
    (tmp_path / "names.txt").write_text("Ada")
    lists, _ = find_lists(tmp_path)
    text = make_config("fields", lists=lists, folder=tmp_path)
    keys = (
        "components.hosemi.model.gazetteers",
        "initialize.components.hosemi.gazetteers",
    )
    tuned = write(text, {key: {} for key in keys})
    config = load_config_from_str(tuned)
    assert config["components"]["hosemi"]["model"]["gazetteers"] == {}
    assert config["initialize"]["components"]["hosemi"]["gazetteers"] == {}
    assert "# Label patterns have" in tuned and "names.txt" not in tuned


def test_references_to_other_values_stay():
    text = make_config("fields").replace("max_order = 2", "max_order = ${system.seed}")
    tuned = write(text, {"components.hosemi.decoding": "mbr"})
    assert "max_order = ${system.seed}" in tuned


def test_a_second_note_replaces_the_first_one():
    tuned = write(make_config("fields"), {L2: 0.1}, "88 documents.")
    again = write(tuned, {L2: 0.1}, "99 documents.")
    assert again == tuned.replace("88 documents", "99 documents")
