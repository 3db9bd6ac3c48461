"""What fuzzing has found, one by one: a refusal with a code, never another error."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest

from spacy_hosemi.core import PatternAutomaton
from spacy_hosemi.features.gazetteers.readers import make_gazetteer_reader
from spacy_hosemi.formats import inputs
from spacy_hosemi.formats.lines import read_lines
from spacy_hosemi.hierarchy.level_state import LevelState
from spacy_hosemi.hierarchy.tree import make_tree_reader
from spacy_hosemi.training.checkpoint import Checkpoint

from ..helpers import make_trained
from ..hierarchy.test_component import make_tree_nlp
from .test_sizes import changed, load, packed_model


def test_a_list_without_the_byte_order_mark_of_its_encoding(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"AAAAAAAAAA\x00d\x00S\x00")
    with pytest.raises(ValueError, match="HS083.*line 1.*BOM"):
        [*make_gazetteer_reader(path, encoding="utf16")()]


@pytest.mark.parametrize("data", [b"A/x\tA\nB/x\xa4B\n", b"A\t" + b"b" * 200_000])
def test_a_label_tree_that_is_no_text(tmp_path, data):
    path = tmp_path / "tree.tsv"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"HS119.*tree\.tsv, line 1"):
        make_tree_reader(path)()


def test_a_table_with_line_ends_of_old_macs():
    lines = read_lines(io.BytesIO(b"a\r1U"), "x", 40)
    with pytest.raises(ValueError, match="HS162"):
        [*inputs.read_column(lines, "b")]


@pytest.mark.parametrize("name", ["patterns", "observed", "tied", "rules"])
def test_an_automaton_of_numbers(name):
    parts = {"labels": ["O", "A"], "patterns": [["O", "A"]], name: [0, 0]}
    with pytest.raises(ValueError, match=r"^.HS"):
        PatternAutomaton.from_bytes(json.dumps(parts).encode())


def test_columns_of_weights_that_do_not_ascend():
    nlp = make_trained(observed_order=1)
    columns = np.array(packed_model(nlp)[-1]["columns"])
    columns[:2] = columns[1::-1]
    with pytest.raises(ValueError, match="HS062.*pairs"):
        load(changed(nlp, columns=columns))


def test_a_checkpoint_of_no_characters(tmp_path):
    """NumPy reads any number as a character."""
    path = tmp_path / "fit.npz"
    about = np.frombuffer(np.array([0x22, 0x110000, 0x22], "<u4"), "<U3").reshape(())
    np.savez(path, about=about)
    with pytest.raises(ValueError, match="HS271"):
        Checkpoint(path).read()


@pytest.mark.parametrize("change", ["none", "backwards"])
def test_levels_of_a_tree_that_is_said_not_to_be_trained(change):
    """What the levels read was compared with the tree only where the top is trained."""
    pipe = make_tree_nlp().get_pipe("hosemi")
    weights = pipe.trainer.weights
    weights.replace(replace(weights.state, is_trained=False))
    levels = pipe.trainer._levels
    state = levels.state
    if change == "none":
        state = LevelState(tree=state.tree, top=state.top)
    else:
        (pairs,) = state.pairs
        first = pairs.first.copy()
        first[1:-1] = first[-1]
        first[2] = 0
        state = replace(state, pairs=(replace(pairs, first=first),))
    levels.replace(state)
    with pytest.raises(ValueError, match="HS064"):
        pipe.from_bytes(pipe.to_bytes())
