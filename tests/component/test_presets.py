"""Feature sets that come with the package."""

import pytest

from spacy_hosemi.features import make_features
from spacy_hosemi.features.presets import PRESETS

from ..helpers import CHINESE, initialize, lbfgs, make_examples, make_nlp, make_trained

NAMED = sorted(set(PRESETS) - {"none"})


def test_the_presets_are_there():
    assert set(PRESETS) == {"default", "fields", "names", "chinese", "none"}
    assert not any(make_features("none").roles.values())


@pytest.mark.parametrize("preset", NAMED)
def test_no_template_stands_twice(preset):
    for role, templates in make_features(preset).roles.items():
        assert len(set(templates)) == len(templates), role


@pytest.mark.parametrize("preset", NAMED)
def test_a_preset_learns(preset):
    nlp = make_trained(features={"preset": preset, "min_count": 1})
    assert nlp.evaluate(make_examples(nlp))["ents_f"] == 1.0


@pytest.mark.parametrize("preset", NAMED)
def test_templates_are_added_to_a_preset(preset):
    added = make_features(preset, within=["POSITION"], whole=["BALANCED"])
    for role, templates in make_features(preset).roles.items():
        more = {"within": ["POSITION"], "whole": ["BALANCED"]}.get(role, [])
        names = [*map(str, templates), *more]
        assert list(map(str, added.roles[role])) == names


def test_characters():
    """The whole text of a segment is a feature: a word, not its characters."""
    nlp = make_nlp(lang="zh", features={"preset": "chinese", "min_count": 1})
    hosemi = nlp.get_pipe("hosemi")
    initialize(nlp, CHINESE, fit=lbfgs(max_iter=25))
    assert nlp.evaluate(make_examples(nlp, CHINESE))["ents_f"] == 1.0
    assert "whole:LOWER*=北 京" in hosemi.weights.names
    assert {len(token) for token in nlp(CHINESE[0])} == {1}
