"""What batch training holds in memory, and that results do not depend on it."""

import errno
import gc
import tempfile
from functools import partial

import numpy as np
import pytest
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hosemi.model.active_features import (
    NO_PLACES,
    NO_SEGMENTS,
    PlaceRows,
    RoleRows,
    Rows,
    SegmentRows,
    by_document,
    cut_rows,
)
from spacy_hosemi.training import blocks, feature_selection, rows
from spacy_hosemi.training.feature_selection import sum_counts

from ..helpers import (
    initialize,
    initialized,
    lbfgs,
    make_batch,
    make_examples,
    make_nlp,
    peak_of,
    randomize,
)


def make_pair(n, **config):
    pipe, examples = initialized(**config)
    randomize(pipe)
    return make_batch(pipe, n * examples)


@pytest.mark.parametrize(
    "config", [{}, {"observed_order": 2, "features": {"transition": ["ORTH"]}}]
)
def test_documents_together_or_one_by_one(monkeypatch, config):
    value, gradient = make_pair(3, **config).value_and_gradient()
    for n_tokens in (1, 7, 20, 10**6):
        monkeypatch.setattr(blocks, "_CHUNK", n_tokens)
        other, found = make_pair(3, **config).value_and_gradient()
        assert other == value and found.tobytes() == gradient.tobytes()


def test_blocks_and_chunks():
    def cut(n_tokens, *of_docs, n_labels=1, docs=100, chunk=10**6):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(blocks, "_TOKENS", n_tokens)
            patch.setattr(blocks, "_DOCS", docs)
            patch.setattr(blocks, "_SCORES", 20)
            patch.setattr(blocks, "_CHUNK", chunk)
            return blocks.cut_blocks(of_docs, n_labels)

    assert cut(5, 3, 3, 2, 9, 1)[0] == [0, 1, 3, 4, 5]
    assert cut(5, 0, 0, 9)[0] == [0, 2, 3]
    assert cut(5)[0] == [0, 0]
    assert cut(5, 2, 2, 2, 2, n_labels=0)[0] == [0, 2, 4]
    assert cut(5, 2, 2, 2, 2, n_labels=5)[0] == [0, 2, 4]
    assert cut(5, 2, 2, 2, 2, n_labels=6)[0] == [0, 1, 2, 3, 4]
    assert cut(99, 1, 1, 1, 1, 1, docs=2)[0] == [0, 2, 4, 5]
    assert cut(5)[1] == []
    assert cut(5, 3, 3, 2, 9, 1)[1] == [(0, 4)]
    assert cut(5, 3, 3, 2, 9, 1, chunk=8)[1] == [(0, 2), (2, 3), (3, 4)]
    assert cut(5, 3, 3, 2, 9, 1, chunk=1)[1] == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert cut(5, 4, 4, 4, chunk=8)[1] == [(0, 2), (2, 3)]


def test_scores_of_few_documents_are_in_memory(monkeypatch):
    monkeypatch.setattr(blocks, "_CHUNK", 100)
    few, many = make_pair(20), make_pair(200)
    first, second = (peak_of(x.value_and_gradient) for x in (few, many))
    assert second < 1.2 * first + 100_000  # 200 bytes for each document
    monkeypatch.setattr(blocks, "_CHUNK", 10**6)  # the test would see it
    many = make_pair(200)
    assert peak_of(many.value_and_gradient) > 2 * first
    assert peak_of(many.value_and_gradient) < first  # which it has kept


@pytest.mark.parametrize("n_new", [0, 3, 50, 10**6])
def test_counts_are_summed_by_feature(monkeypatch, n_new):
    monkeypatch.setattr(feature_selection, "_N_NEW", n_new)
    rng = np.random.default_rng(0)
    by_doc, expected = [], {}
    for _ in range(40):
        keys = np.unique(rng.integers(1, 60, 12).astype(np.uint64))
        counts = rng.integers(1, 9, len(keys))
        by_doc.append((keys, counts))
        for key, count in zip(keys.tolist(), counts.tolist()):
            n_tokens, n_docs = expected.get(key, (0, 0))
            expected[key] = n_tokens + count, n_docs + 1
    found = [x.tolist() for x in sum_counts(by_doc)]
    assert found[0] == sorted(expected)
    assert [*zip(*found[1:])] == [expected[key] for key in found[0]]


def test_counts_of_no_document():
    assert [len(x) for x in sum_counts([])] == [0, 0, 0]


def test_counts_of_documents_that_repeat_take_no_more_memory(monkeypatch):
    # Large enough that what the interpreter itself allocates meanwhile is little.
    monkeypatch.setattr(feature_selection, "_N_NEW", 100_000)
    keys, counts = np.arange(1, 10_001, dtype=np.uint64), np.ones(10_000, np.int64)

    def count(n):
        in_docs = sum_counts((keys, counts) for _ in range(n))[2]
        assert in_docs.tolist() == [n] * 10_000

    assert peak_of(lambda: count(400)) < 1.2 * peak_of(lambda: count(20))


# --- features in a file -------------------------------------------------------------


def make_rows(n, has_strength):
    rng = np.random.default_rng(n)
    first = np.cumsum([0, *rng.integers(0, 4, n)]).astype(np.int32)
    row = rng.integers(0, 99, first[-1]).astype(np.int32)
    return RoleRows(first, row, rng.random(first[-1]) if has_strength else None)


def as_document(of_role):
    borders = np.array([0, len(of_role.first) - 1])
    columns = (SegmentRows, NO_SEGMENTS), (PlaceRows, NO_PLACES)
    others = (by_document(*x, borders) for x in columns)
    return Rows(borders, {"inside": of_role}, *others)


@pytest.mark.parametrize("most", [0, 50, 400, 10**9])
@pytest.mark.parametrize("has_strength", [(0, 0, 0, 0), (0, 0, 1, 0), (1, 1, 1, 1)])
def test_rows_of_documents_are_joined(monkeypatch, most, has_strength):
    monkeypatch.setattr(rows, "MOST_BYTES", most)
    parts = [make_rows(n, yes) for n, yes in zip((5, 0, 30, 7), has_strength)]
    joined = rows.join_rows(map(as_document, parts)).tokens["inside"]
    at = 0
    for part in parts:
        n = len(part.first) - 1
        found = cut_rows(joined, at, at + n)
        assert found.first.tolist() == part.first.tolist()
        assert found.row.tolist() == part.row.tolist()
        if any(has_strength):
            ones = np.ones(len(part.row))
            expected = ones if part.strength is None else part.strength
            assert found.strength.tolist() == expected.tolist()
        else:
            assert joined.strength is None
        at += n
    assert len(joined.first) == at + 1
    assert joined.row.dtype == joined.first.dtype == np.int32
    is_mapped = isinstance(joined.row.base, np.memmap)
    assert is_mapped == (joined.row.nbytes > most)


def fitted(**config):
    nlp = make_nlp(**config)
    initialize(nlp, fit=lbfgs())
    return nlp.get_pipe("hosemi").to_bytes(exclude=["vocab"])


@pytest.mark.parametrize("config", [{}, {"observed_order": 1}])
def test_a_fit_that_reads_a_file_is_the_same(monkeypatch, tmp_path, config):
    expected, seen = fitted(**config), []
    monkeypatch.setattr(rows, "MOST_BYTES", 100)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(
        rows, "TemporaryFile", lambda **x: seen.append(x) or temporary(**x)
    )
    assert fitted(**config) == expected
    assert len(seen) == 3  # one for each role
    assert not [*tmp_path.iterdir()]


temporary = rows.TemporaryFile


class FullDisk:
    """A file for which there is so much room."""

    def __init__(self, room, **settings):
        self._file, self._room = temporary(**settings), room

    def __getattr__(self, name):
        return getattr(self._file, name)

    def write(self, data):
        if not self._room:
            raise OSError(errno.ENOSPC, "No space left on device")
        n = self._file.write(data[: self._room])
        self._room -= n
        return n


@pytest.mark.parametrize("room", [0, 60, 500])
def test_a_full_disk_in_a_fit(monkeypatch, room):
    expected = fitted()
    monkeypatch.setattr(rows, "MOST_BYTES", 100)
    monkeypatch.setattr(rows, "TemporaryFile", partial(FullDisk, room))
    with pytest.warns(UserWarning, match="HSW71.*No space left.*TMPDIR"):
        assert fitted() == expected


def test_a_folder_that_is_not_there(monkeypatch, tmp_path):
    expected = fitted()
    monkeypatch.setattr(rows, "MOST_BYTES", 100)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.warns(UserWarning, match="HSW71.*No such file"):
        assert fitted() == expected


def test_parts_of_a_batch_that_reads_a_file(monkeypatch):
    chosen = [5, 0, 3]
    value, gradient = make_pair(3).part(chosen).value_and_gradient()
    monkeypatch.setattr(rows, "MOST_BYTES", 100)
    other, found = make_pair(3).part(chosen).value_and_gradient()
    assert other == value and found.tobytes() == gradient.tobytes()


def test_a_fit_from_a_config_holds_no_documents():
    def count(batch=None):
        gc.collect()
        n_found.append(sum(type(x) in (Doc, Example) for x in gc.get_objects()))

    n_found, nlp = [], make_nlp()
    count()
    pipe = nlp.get_pipe("hosemi")
    pipe.initialize(lambda: make_examples(nlp), nlp=nlp, fit=count)
    assert n_found[0] == n_found[1] and pipe.facts.n_documents > 0
    assert pipe.training_texts.has(make_examples(nlp)[0].predicted.text)
