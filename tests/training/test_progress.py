"""Bars for what takes long: on a terminal only."""

import sys

from spacy_hosemi.training import progress


def test_nothing_is_shown_but_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.0)
    assert list(progress.watched("abc", "Reading")) == ["a", "b", "c"]
    assert capsys.readouterr().err == ""


def test_a_bar_says_what_is_done(capsys, monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert list(progress.watched("abc", "Reading")) == ["a", "b", "c"]
    assert "Reading" in capsys.readouterr().err


def test_what_takes_less_has_no_bar(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    list(progress.watched("abc", "Reading"))
    assert "Reading" not in capsys.readouterr().err


def test_a_fit_has_a_bar_on_a_terminal_only(capsys, monkeypatch):
    def steps(is_shown):
        with progress.bar_of(3, "Fit", "step", is_shown) as bar:
            for _ in range(3):
                bar.update()
        return capsys.readouterr().err

    assert steps(True) == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert "Fit: 100%" in steps(True)
    assert steps(False) == ""
