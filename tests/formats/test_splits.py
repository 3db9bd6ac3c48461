"""No group is in both parts, equal texts are one group, a seed gives one division."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hosemi.formats import AnnotatedText, split


def texts(pairs):
    return [
        AnnotatedText(text, (), "file", i, meta={} if group is None else {"g": group})
        for i, (text, group) in enumerate(pairs)
    ]


pairs = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.none() | st.integers(0, 5)),
    min_size=2,
    max_size=20,
)


@given(pairs, st.floats(0.05, 0.95), st.integers(0, 3))
def test_nothing_leaks(pairs, dev, seed):
    made = texts([*pairs, ("x", 90), ("y", 91)])
    train, other = split(made, dev, "g", seed)
    assert train and other
    assert sorted(x.line for x in train + other) == list(range(len(made)))
    assert [x.line for x in other] == sorted(x.line for x in other)
    assert not {x.text for x in train} & {x.text for x in other}
    groups = [{x.meta["g"] for x in part if "g" in x.meta} for part in (train, other)]
    assert not groups[0] & groups[1]
    assert split(made, dev, "g", seed) == (train, other)
    if len(other) > 1:  # a group that is smaller than all others may be too large
        assert (
            len(other) <= max(dev * len(made), 1) or len({x.text for x in other}) == 1
        )


def test_the_share_is_met_where_groups_are_small():
    made = texts([(str(i), None) for i in range(200)])
    train, dev = split(made, 0.1, None, 0)
    assert (len(train), len(dev)) == (180, 20)
    assert split(made, 0.1, None, 1)[1] != dev


def test_equal_texts_but_for_white_space():
    with pytest.raises(ValueError, match="HS168.*1 groups"):
        split(texts([("a b", None), ("a  b", None)]), 0.5, None, 0)


@pytest.mark.parametrize("dev", [0.0, 1.0, -1, 2, float("nan")])
def test_a_share(dev):
    with pytest.raises(ValueError, match="HS166"):
        split(texts([("a", 1), ("b", 2)]), dev, None, 0)


def test_the_key_of_the_groups():
    with pytest.raises(ValueError, match="HS167.*'doc'.*\"g\""):
        split(texts([("a", 1), ("b", 2)]), 0.5, "doc", 0)
