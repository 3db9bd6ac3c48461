"""Label trees: what is above what, and what a file may say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hosemi.hierarchy.tree import LabelTree, make_tree_reader, split_labels

from ..strategies import random_forest

PEOPLE = {"artist": "person", "author": "person", "poet": "author", "city": "place"}


def way_up(name, parents) -> list[str]:
    """From the top to a name."""
    found = [name]
    while found[-1] in parents:
        found.append(parents[found[-1]])
    return found[::-1]


def test_split_labels():
    found = split_labels(["a/b/c", "a/b", "d", "/e", "f//g"], "/")
    assert found["a/b/c"] == "a/b" and found["a/b"] == "a"
    assert "d" not in found and "/e" not in found
    assert way_up("f//g", found) == ["f", "f/", "f//g"]
    assert split_labels(["a -> b"], " -> ") == {"a -> b": "a"}


@given(st.integers(0, 2**32 - 1), st.integers(0, 14), st.integers(1, 5))
def test_any_tree(seed, size, deepest):
    labels, parents = random_forest(np.random.default_rng(seed), size, deepest)
    tree = LabelTree(labels, parents)
    nodes = range(len(tree.names))
    children = [[*range(*tree.first_child[v : v + 2])] for v in nodes]
    assert [*tree.leaf] == labels or {*tree.leaf} == {*labels}
    assert sorted(tree.leaf.values()) == [v for v, c in enumerate(children) if not c]
    for v, below in enumerate(children):
        assert below == np.flatnonzero(tree.parent == v).tolist()
        assert len(below) != 1
        above = tree.parent[v]
        assert tree.level[v] == (1 if above < 0 else tree.level[above] + 1)
    assert (np.diff(tree.level) >= 0).all()
    assert tree.top == [tree.names[v] for v in nodes if tree.parent[v] < 0]
    for label, v in tree.leaf.items():
        way = tree.ways(v)
        assert tree.names[v] == label
        is_own = len(way) > 1 and tree.names[way[-2]] == label
        expected = [*way_up(label, parents), *([label] if is_own else [])]
        assert [name for name, _ in tree.path(v)] == expected
        assert [*dict.fromkeys(u for _, u in tree.path(v))] == way
        assert way == [u for u in nodes if is_on_way(tree, u, v)]
        for level in range(1, tree.n_levels + 1):
            (at,) = {*tree.frontier(level)}.intersection(way)
            assert tree.at_level(level)[v] == at
    owned = [v for v in tree.leaf.values() if len(tree.ways(v)) > 1]
    inner = {label for label in labels if label in map(parents.get, on_ways(tree))}
    for v in owned:
        same = tree.names[tree.parent[v]] == tree.names[v]
        assert same == (tree.names[v] in inner)


def is_on_way(tree, node, leaf) -> bool:
    while leaf > node:
        leaf = tree.parent[leaf]
    return leaf == node


def on_ways(tree) -> set[str]:
    return {name for v in tree.leaf.values() for name, _ in tree.path(v)}


@given(seed=st.integers(0, 2**32 - 1))
def test_what_is_needed_makes_the_same_tree(seed):
    labels, parents = random_forest(np.random.default_rng(seed), 12, 4)
    labels = labels[: len(labels) // 2]
    tree = LabelTree(labels, parents)
    needed = tree.needed(parents)
    other = LabelTree(labels, needed)
    assert other.names == tree.names and other.leaf == tree.leaf
    assert other.first_child.tolist() == tree.first_child.tolist()
    assert {*needed} == {name for name in on_ways(tree) if name in parents}


def write(path, text):
    path.write_text(text, "utf8")
    return path


def test_a_file(tmp_path):
    path = write(tmp_path / "tree.tsv", 'größe\t"maß\n\nb\tc\r\nb\tc\n')
    assert make_tree_reader(path)() == {"größe": '"maß', "b": "c"}


@pytest.mark.parametrize("line", ["a", "a\tb\tc", "a\t", "\tb", "a b"])
def test_a_line_that_is_none(tmp_path, line):
    path = write(tmp_path / "tree.tsv", f"x\ty\n{line}\n")
    with pytest.raises(ValueError, match="HS119.*line 2"):
        make_tree_reader(path)()


def test_two_parents(tmp_path):
    path = write(tmp_path / "tree.tsv", "a\tb\na\tc\n")
    with pytest.raises(ValueError, match="HS116.*'a'.*'b'.*'c'"):
        make_tree_reader(path)()
    assert make_tree_reader(path, "ignore")() == {"a": "b"}


@pytest.mark.parametrize("text", ["a\tb\nb\ta\n", "a\ta\n", "a\tb\nb\tc\nc\ta\n"])
def test_a_cycle(tmp_path, text):
    path = write(tmp_path / "tree.tsv", text)
    with pytest.raises(ValueError, match="HS115.*a -> "):
        LabelTree(["a"], make_tree_reader(path)())
    # without the line that closes it
    assert LabelTree(["a"], make_tree_reader(path, "ignore")()).n_levels == 1


def test_a_cycle_above_no_label():
    assert LabelTree(["c"], {"a": "b", "b": "a"}).names == ["c"]


def test_settings_of_the_reader(tmp_path):
    with pytest.raises(ValueError, match="HS042.*second_parent.*'last'"):
        make_tree_reader(tmp_path, "last")
    with pytest.raises(FileNotFoundError):
        make_tree_reader(tmp_path / "none.tsv")()
