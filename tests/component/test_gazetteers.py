"""The component with lists of names: learnt, saved, and features of whole segments."""

import copy
import pickle
import re

import numpy as np
import pytest
import spacy
from spacy.training import Example
from thinc.api import Adam

from spacy_hosemi.features.presets import LISTS
from spacy_hosemi.labels.alignment import make_training_spans
from spacy_hosemi.model.active_features import read_docs
from spacy_hosemi.model.span_scorer import build_span_scorer, weights_of
from spacy_hosemi.model.weights.penalty_groups import by_penalty_group
from spacy_hosemi.model.weights.vector import vector_values
from spacy_hosemi.msgpack import read_msgpack, write_msgpack
from spacy_hosemi.training.lbfgs import make_lbfgs

from ..helpers import (
    SMALL,
    assert_gradient,
    change_weights,
    find,
    hide,
    initialize,
    lbfgs,
    make_doc,
    make_examples,
    make_nlp,
    make_trained,
    randomize,
)
from .test_serialize import THROUGH

LIST = {"@misc": "spacy_hosemi.gazetteer.v1"}

NLP = spacy.blank("en")

# Each name occurs once, and all in the same places: only the list tells them apart.
CITIES = ("Arvo", "Bel Mar", "Cudo", "Dun Ost Kaa", "Elva", "Foro Nim", "Gan", "Hex Ui")
PEOPLE = ("Iso", "Jon Kel", "Lua", "Mor Nus Opp", "Pia", "Que Rus", "Sol", "Tam Ulf")
NEW = ("Vex Wim", "Xor", "Yll Zan Aba")
MARKED = (
    *(f"they saw [CITY {name}] again ." for name in CITIES),
    *(f"they saw {name} again ." for name in PEOPLE),
)
PLAIN = {"preset": "none", "inside": ["BIAS", "LOWER"], "start": ["LOWER[-1]"]}

# For random weights: one list inside the other, and words that are in neither.
SHORT = ("[A a b] c [B b] .", "a [B b a] c - [A c]")
ENTRIES = {"x": ["a", "a b", "b", "b a", "c"], "y": ["b a", "a b c", "c"]}

# All of the role whole, and little else.
WHOLE = {
    "preset": "none",
    "inside": ["BIAS"],
    "whole": ["x:MATCH", "y:MATCH"],
    "min_count": 1,
}
# The usual features of lists, and words.
USUAL = {"preset": "none", "inside": ["LOWER"], "min_count": 1}


def use_lists(**lists):
    """For `make_nlp`: lists with entries that `initialize` takes."""
    return {name: {**LIST, **settings} for name, settings in lists.items()}


def write(path, entries):
    path.write_text("\n".join(entries))
    return {"@readers": "spacy_hosemi.read_gazetteer.v1", "path": str(path)}


def train_cities(folder, *, attr="ALNUM", **config):
    """A fitted pipeline with the list "cities"; its file is gone."""
    nlp = make_nlp(
        features=PLAIN, model={"gazetteers": use_lists(cities={"attr": attr})}, **config
    )
    path = folder / "cities.txt"
    readers = {"cities": write(path, [*CITIES, *NEW])}
    initialize(nlp, MARKED, gazetteers=readers, fit=lbfgs(max_iter=12))
    path.unlink()
    return nlp


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return train_cities(tmp_path_factory.mktemp("lists"))


def find_new(nlp) -> list[bool]:
    """Whether names that were not in training are found: three cities, a person."""
    names = (*NEW, "Ceb Dor")
    return [find(nlp, f"they saw {x} again .") == [(x, "CITY")] for x in names]


def make_pipe(lists, features=WHOLE, l2=0.0, **config):
    """The component alone, with these lists."""
    lists = use_lists(**dict.fromkeys(lists, {}))
    model = {"gazetteers": lists, "features": features, "l2": l2}
    return NLP.create_pipe("hosemi", config={"model": model, **config})


def readers_of(entries):
    return {name: (lambda texts=texts: texts) for name, texts in entries.items()}


def make_random(marked=SHORT, entries=ENTRIES, **settings):
    """The component with random weights, and examples."""
    pipe, examples = make_pipe(entries, **settings), make_examples(NLP, marked)
    pipe.initialize(lambda: examples, nlp=NLP, gazetteers=readers_of(entries))
    randomize(pipe)
    return pipe, examples


def is_whole(weights) -> np.ndarray:
    return np.array([name.startswith("whole:") for name in weights.names])


# --- what is learnt ---------------------------------------------------------------


def test_a_name_that_only_the_list_knows(trained):
    for name in (*CITIES, *NEW):
        assert find(trained, f"they saw {name} again .") == [(name, "CITY")]
    for name in (*PEOPLE, "Ceb Dor", "Eef"):
        assert find(trained, f"they saw {name} again .") == []
    assert find(trained, "they saw VEX-WIM again.") == [("VEX-WIM", "CITY")]
    assert find(trained, "they saw VexWim again .") == []  # one word
    text = "they saw Xor , Ceb , Vex Wim and Gan ."
    assert find(trained, text) == [(x, "CITY") for x in ("Xor", "Vex Wim", "Gan")]


def test_without_the_list_nobody_could_know():
    known, _, _, unknown = find_new(make_trained(MARKED, features=PLAIN))
    assert known == unknown  # both have two words, which is all there is to see


def test_names_of_features(trained):
    weights = trained.get_pipe("hosemi").weights
    expected = {
        "inside:cities:IN=3",
        "inside:cities:BEGIN=1",
        "start:cities:BEGIN=1",
        "start:cities:BEGIN[1]=2",
        "end:cities:END=2",
        "end:cities:IN[1]=2",
        "whole:cities:MATCH=1",
        "whole:cities:MATCH=2",
    }
    assert expected <= set(weights.names)
    assert "whole:cities:MATCH=3" not in weights.names  # it occurs once
    assert "inside:LOWER=arvo" not in weights.names
    city = trained.get_pipe("hosemi").inventory.names.index("CITY")
    for name in ("start:cities:BEGIN=1", "whole:cities:MATCH=2"):
        row = weights.matrix[weights.names.index(name)]
        assert row[city] > 0.1
        assert row.argmax() == city


def test_counts():
    pipe, _ = make_random(["[A a b] c a b", "a . a c", "a b", "d"], features=USUAL)
    weights = pipe.weights
    in_docs = dict(zip(weights.names, weights.counts.tolist(), strict=True))
    assert in_docs["whole:x:MATCH=1"] == 3
    assert in_docs["whole:x:MATCH=2"] == 2
    assert in_docs["whole:y:MATCH=3"] == 1
    assert in_docs["inside:x:IN=2"] == 2
    assert "whole:y:MATCH=2" not in in_docs


def test_the_features_may_be_chosen():
    features = {"preset": "none", "inside": ["x:IN & LOWER"], "whole": ["y:MATCH"]}
    pipe, _ = make_random(features={**features, "min_count": 1})
    prefixes = {name.partition("=")[0] for name in pipe.weights.names}
    assert prefixes == {"inside:x:IN & LOWER", "whole:y:MATCH"}


def test_another_attribute(tmp_path):
    nlp = train_cities(tmp_path, attr="ORTH")
    assert find_new(nlp) == [True, True, True, False]
    assert find(nlp, "they saw vex wim again .") == []


@pytest.mark.parametrize("encoding", ["BIO", "BILUO"])
def test_tags_on_tokens(encoding, tmp_path):
    nlp = train_cities(tmp_path, encoding=encoding)
    assert find_new(nlp) == [True, True, True, False]
    names = nlp.get_pipe("hosemi").weights.names
    assert {name.split(":")[0] for name in names} == {"inside"}
    assert {"inside:cities:IN=2", "inside:cities:BEGIN[1]=2"} <= set(names)
    assert not [name for name in names if "MATCH" in name]
    nlp.to_disk(tmp_path)
    assert find_new(spacy.load(tmp_path)) == [True, True, True, False]


def test_entries_from_training_documents():
    """An entry is evidence only where it does not come from the document itself."""
    pipe, examples = make_pipe(["x"], features=USUAL), make_examples(NLP, MARKED)
    found = [(ent.text, eg.predicted) for eg in examples for ent in eg.reference.ents]
    pipe.initialize(lambda: examples, nlp=NLP, gazetteers={"x": lambda: found})
    read = {name for name in pipe.weights.names if ":x:" in name}
    # windows over the borders of documents, and nothing else
    assert not [name for name in read if not name.endswith(("=^", "=$"))]
    marked = ["[CITY Arvo] and [CITY Bel]", "[CITY Bel]"]
    examples = make_examples(NLP, marked)
    entries = [("Arvo", examples[0].predicted), "Bel"]
    pipe.initialize(lambda: examples, nlp=NLP, gazetteers={"x": lambda: entries})
    assert [n for n in pipe.weights.names if "whole" in n] == ["whole:x:MATCH=1"]
    randomize(pipe)
    (predicted,) = pipe.model.predict([examples[0].predicted])
    (in_training,), _ = pipe.model.begin_update([examples[0].predicted])
    starts = [[0, 0, 2, 2], [2, 2]]
    for potentials, expected in zip((predicted, in_training), starts):
        assert potentials.cells["start"].tolist() == expected
    loss, _ = pipe.value_and_gradient(examples[:1])
    assert loss == pytest.approx(pipe.get_loss(examples[:1], [in_training])[0])
    assert loss != pytest.approx(pipe.get_loss(examples[:1], [predicted])[0])


@pytest.mark.parametrize("dropout, least, most", [(0.0, 7, 7), (0.5, 1, 6)])
def test_dropout(dropout, least, most):
    lists = use_lists(x={"dropout": dropout})
    model = {"gazetteers": lists, "features": WHOLE | {"whole": ["x:MATCH"]}}
    pipe = NLP.create_pipe("hosemi", config={"model": model})
    # no size that occurs once: with its only entry overlooked it has no weight
    cities = [name for name in CITIES if name != "Dun Ost Kaa"]
    examples = make_examples(NLP, [f"[CITY {name}] again ." for name in CITIES])
    pipe.initialize(lambda: examples, nlp=NLP, gazetteers={"x": lambda: cities})
    docs = [eg.predicted for eg in examples]
    assert pipe.inventory.names == ("O", "CITY")  # a cell for each
    in_training = sum(len(p.cells) // 2 for p in pipe.model.begin_update(docs)[0])
    assert least <= in_training <= most
    assert sum(len(p.cells) // 2 for p in pipe.model.predict(docs)) == 7


# --- saved models -----------------------------------------------------------------


def test_an_untrained_model_is_saved(tmp_path):
    nlp = make_nlp(model={"gazetteers": use_lists(cities={})})
    pipe = THROUGH[0](nlp, tmp_path).get_pipe("hosemi")
    readers = {"cities": lambda: ["London"]}
    pipe.initialize(lambda: make_examples(NLP), gazetteers=readers)
    assert "whole:cities:MATCH=1" in pipe.weights.names


def test_a_model_without_the_lists_of_the_config(trained):
    plain = make_trained(MARKED, features=PLAIN).get_pipe("hosemi")
    fresh = copy.deepcopy(trained.get_pipe("hosemi"))
    with pytest.raises(ValueError, match="HS062.*cities"):
        fresh.from_bytes(plain.to_bytes())


# --- what is refused --------------------------------------------------------------


READ = {
    "gazetteers": ("spacy_hosemi.gazetteer.v1", "IN", lambda: CITIES),
    "tables": ("spacy_hosemi.table.v1", "VALUE", lambda: [("ada", "1")]),
}
lists_and_tables = pytest.mark.parametrize("kind", READ)


def make_reader_of(kind, names, features=PLAIN, **settings):
    """A component whose model reads lists or tables of these names."""
    block = {"@misc": READ[kind][0], **settings}
    model = {kind: dict.fromkeys(names, block), "features": features}
    return NLP.create_pipe("hosemi", config={"model": model})


@lists_and_tables
@pytest.mark.parametrize(
    "names, given",
    [
        (["x"], None),
        (["x"], []),
        ([], ["x"]),
        (["x"], ["y"]),
        (["x", "y"], ["y"]),
        (["x"], ["x", "y"]),
    ],
)
def test_names_that_do_not_agree(kind, names, given):
    pipe = make_reader_of(kind, names)
    readers = None if given is None else dict.fromkeys(given, READ[kind][2])
    with pytest.raises(ValueError) as error:
        pipe.initialize(lambda: make_examples(NLP), nlp=NLP, **{kind: readers})
    text = str(error.value)
    assert text.startswith(f"[HS035] {kind} in the model are {names}, ")
    assert f"[initialize.components.hosemi.{kind}]" in text
    assert f" are {given or []};" in text


@lists_and_tables
@pytest.mark.parametrize("found", ["cities.txt", {"attr": "LOWER"}, None])
def test_no_list_and_no_table(kind, found):
    function = re.escape(READ[kind][0].partition(".")[2])
    with pytest.raises(ValueError, match=f"HS037.*model.{kind}.x is .*{function}"):
        build_span_scorer(**{kind: {"x": found}})
    if found is not None:
        with pytest.raises(ValueError, match=f"HS037.*{type(found).__name__}"):
            make_nlp(model={kind: {"x": found}})


@lists_and_tables
@pytest.mark.parametrize("name", ["my list", "a:b", "a&b", "a.b", ""])
def test_names_that_no_template_can_read(kind, name):
    with pytest.raises(ValueError, match=f"HS038.*'{name}'"):
        make_reader_of(kind, [name])


@lists_and_tables
def test_settings_and_templates_that_are_refused(kind):
    with pytest.raises(ValueError, match="HS0(34|77).*attr is 'lower'"):
        make_reader_of(kind, ["x"], attr="lower")
    template = f"y:{READ[kind][1]}"
    for names in ([], ["x"]):
        with pytest.raises(ValueError, match=f"HS031.*'{template}'"):
            make_reader_of(kind, names, features={"inside": [template]})


@lists_and_tables
def test_a_missing_file(kind, tmp_path):
    nlp = make_nlp(model={kind: {"x": {"@misc": READ[kind][0]}}})
    reader = {"@readers": f"spacy_hosemi.read_{kind[:-1]}.v1"}
    reader["path"] = str(tmp_path / "cities.csv")
    with pytest.raises(ValueError, match="HS080.*cities.csv"):
        initialize(nlp, MARKED, **{kind: {"x": reader}})


@pytest.fixture(scope="module")
def reading():
    """Weights of a component with a list and a table of the name of its kind."""
    model = {kind: {kind: {"@misc": READ[kind][0]}} for kind in READ}
    pipe = NLP.create_pipe("hosemi", config={"model": {**model, "features": PLAIN}})
    readers = {kind: {kind: READ[kind][2]} for kind in READ}
    pipe.initialize(lambda: make_examples(NLP, MARKED), nlp=NLP, **readers)
    return pipe.model


@pytest.mark.parametrize(
    "kind, change",
    [
        *((kind, None) for kind in READ),
        *((kind, {}) for kind in READ),
        *((kind, {"other": {}}) for kind in READ),
        ("gazetteers", {"source": None}),
        ("gazetteers", {"source": np.ones(1)}),
        ("gazetteers", {"source": "none"}),
        ("gazetteers", {"keys": np.ones((2, 2))}),
        ("tables", {"value": None}),
        ("tables", {"value": np.ones(1)}),
        ("tables", {"values": []}),
        ("tables", {"words": "none"}),
    ],
)
def test_what_cannot_be_read(kind, change, reading):
    weights = copy.deepcopy(weights_of(reading))
    loaded = read_msgpack(weights.to_bytes())
    if not change or "other" in change:
        loaded[kind] = change and {"other": loaded[kind][kind]}
    else:
        parts = {**loaded[kind][kind], **change}
        present = {k: x for k, x in parts.items() if x is not None}
        loaded[kind] = {kind: present}
    with pytest.raises(ValueError, match="HS062"):
        weights.from_bytes(write_msgpack(loaded))


@pytest.mark.parametrize(
    "copied",
    [
        lambda model: model.copy(),
        copy.deepcopy,
        lambda model: pickle.loads(pickle.dumps(model)),
    ],
)
def test_copies_have_lists_and_tables_of_their_own(copied, reading):
    other = weights_of(copied(reading)).state
    doc = make_doc(NLP, "Ada", "Xor")

    def read(weights):
        weights.extractor.clear()
        keys = weights.extractor.read([doc]).keys["inside"]
        return read_docs(weights, [doc]).segments.start.tolist(), (keys != 0).tolist()

    state = weights_of(reading).state
    before = read(state)
    assert read(other) == before
    other.extractor.gazetteers.compile("gazetteers", ["Xor"], NLP)
    other.extractor.tables.compile("tables", [("xor", "1")])
    changed = read(other)
    assert changed[0] == [1] != before[0] and changed[1] != before[1]
    assert read(state) == before


def test_the_order_of_names_does_not_matter():
    pipe, examples = make_random()
    readers = readers_of({name: ENTRIES[name] for name in ("y", "x")})
    before = pipe.weights.names
    pipe.initialize(lambda: examples, nlp=NLP, gazetteers=readers)
    assert pipe.weights.names == before


def test_initialize_without_nlp():
    model = {"gazetteers": use_lists(cities={"attr": "LOWER"})}
    pipe = NLP.create_pipe("hosemi", config={"model": model})
    readers = {"cities": lambda: ["London", "a letter", "in New York"]}
    pipe.initialize(lambda: make_examples(NLP), gazetteers=readers)
    assert "whole:cities:MATCH=1" in pipe.weights.names


def test_initialize_again_with_other_entries(tmp_path):
    nlp = train_cities(tmp_path)
    reader = write(tmp_path / "people.txt", [*PEOPLE, "Ceb Dor"])
    marked = [f"they saw [PERSON {name}] again ." for name in PEOPLE]
    marked += [f"they saw {name} again ." for name in CITIES]
    initialize(nlp, marked, gazetteers={"cities": reader}, fit=lbfgs(max_iter=12))
    assert find(nlp, "they saw Xor again .") == []
    assert find(nlp, "they saw Ceb Dor again .") == [("Ceb Dor", "PERSON")]


# --- scores and gradients ---------------------------------------------------------


@pytest.mark.parametrize(
    "prepare, config",
    [
        (list, {}),
        (list, {"explicit_length": 3}),
        (list, {"outside": "token", "explicit_length": 2}),
        (list, {"max_length": 2, "max_order": 0}),
        (list, {"encoding": "BIO"}),
        (hide, {"outside": "token"}),
    ],
)
def test_gradient_of_all_weights(prepare, config):
    pipe, examples = make_random(**config)
    rows = assert_gradient(pipe, prepare(examples))
    whole = is_whole(pipe.weights)
    if config.get("encoding") == "BIO":
        assert not whole.any()
    else:
        assert sorted(np.array(pipe.weights.names)[whole]) == [
            *("whole:x:MATCH=1", "whole:x:MATCH=2"),
            *("whole:y:MATCH=1", "whole:y:MATCH=2", "whole:y:MATCH=3"),
        ]
        assert np.abs(rows[whole]).max() > 0.01


def test_gradient_of_the_usual_features():
    features = {"preset": "none", "min_count": 1}
    entries = {"x": ["a b", "b", "c"]}
    pipe, examples = make_random(entries=entries, features=features)
    families = {name.partition("=")[0] for name in pipe.weights.names}
    for role, templates in LISTS.items():
        for template in templates:
            prefix = f"{role}:{template.format('x').partition('[')[0]}"
            assert [family for family in families if family.startswith(prefix)]
    assert_gradient(pipe, examples)


def test_stationary_point():
    """With a penalty of its own for each role."""
    l2 = {"inside": 0.4, "start": 0.2, "end": 0.1, "pattern": 0.3, "whole": 0.05}
    l2["within"] = 0.6
    features = {**WHOLE, "start": ["LOWER"], "within": ["LOWER"], "end": ["LOWER"]}
    pipe, examples = make_random([*SHORT, "[A a] b c"], features=features)
    readers = readers_of(ENTRIES)
    fit = make_lbfgs(l2=l2, tolerance=0.0, max_iter=300, progress=False, prune=0.0)
    pipe.initialize(lambda: examples, nlp=NLP, gazetteers=readers, fit=fit)
    w = pipe.get_weights()
    families = [name.split(":")[0] for name in pipe.weights.names]
    penalty = np.repeat([l2[f] for f in families], len(pipe.inventory.names))
    penalty = np.append(penalty, [l2["pattern"]] * (len(w) - len(penalty)))
    _, gradient = pipe.value_and_gradient(examples)
    assert np.abs(gradient + penalty * w).max() < 1e-3
    assert np.abs(pipe.weights.matrix[is_whole(pipe.weights)]).max() > 0.1


# --- weights in some columns only -------------------------------------------------


@pytest.fixture
def twins(monkeypatch):
    """Two components, the second with weights only for pairs seen in the gold."""
    full, examples = make_random()
    monkeypatch.setattr("spacy_hosemi.training.feature_selection.MAX_WEIGHTS", 5)
    with pytest.warns(UserWarning, match="HSW03"):
        pairs, _ = make_random()
    return full, pairs, examples


def pairs_of(weights) -> set[tuple[str, int]]:
    rows = np.repeat(np.arange(len(weights.names)), weights.pairs.sizes)
    columns = weights.pairs.columns.tolist()
    return {(weights.names[r], y) for r, y in zip(rows.tolist(), columns)}


def test_pairs_are_those_of_the_gold(monkeypatch):
    monkeypatch.setattr("spacy_hosemi.training.feature_selection.MAX_WEIGHTS", 5)
    marked = ["[A a b] c [B b] .", "a [B b a] c c c [A c]"]
    with pytest.warns(UserWarning, match="HSW03"):
        pipe, _ = make_random(marked)
    found = {pair for pair in pairs_of(pipe.weights) if pair[0].startswith("whole:")}
    outside, a, b = range(3)
    assert pipe.inventory.names == ("O", "A", "B")
    assert found == {
        ("whole:x:MATCH=2", a),  # a b
        ("whole:x:MATCH=1", outside),  # c
        ("whole:y:MATCH=1", outside),
        ("whole:x:MATCH=1", b),  # b
        ("whole:x:MATCH=2", b),  # b a
        ("whole:y:MATCH=2", b),
        ("whole:x:MATCH=1", a),  # c at the end
        ("whole:y:MATCH=1", a),
    }


def give_weights_of_pairs(full, pairs) -> np.ndarray:
    """The full component gets the weights of the other one, 0 elsewhere."""
    names = full.weights.names
    is_pair = np.zeros(full.weights.matrix.shape, bool)
    rows = np.array([names.index(name) for name in pairs.weights.names])
    rows = rows.repeat(pairs.weights.pairs.sizes)
    is_pair[rows, pairs.weights.pairs.columns] = True
    matrix = np.zeros(full.weights.matrix.shape)
    matrix[rows, pairs.weights.pairs.columns] = pairs.weights.matrix[:, 0]
    change_weights(full, matrix=matrix, pattern=pairs.weights.pattern)
    return is_pair


def as_learnt(full, is_pair) -> np.ndarray:
    n_dense = len(full.get_weights()) - is_pair.size
    return np.concatenate([is_pair.ravel(), np.ones(n_dense, bool)])


def test_gradient_of_pairs(twins):
    _, pairs, examples = twins
    assert is_whole(pairs.weights).any()
    rows = assert_gradient(pairs, examples)[:, 0]
    whole = is_whole(pairs.weights).repeat(pairs.weights.pairs.sizes)
    assert np.abs(rows[whole]).max() > 0.01
    assert_gradient(pairs, hide(examples))


def test_pairs_score_like_a_matrix_with_zeros(twins):
    full, pairs, examples = twins
    is_pair = give_weights_of_pairs(full, pairs)
    learnt = as_learnt(full, is_pair)
    for eg in examples:
        found = []
        for pipe in (full, pairs):
            (potentials,) = pipe.model.predict([eg.predicted])
            dense = np.zeros((9, 9, 3))
            for i, j, y, score in potentials.cells.tolist():
                dense[i, j, y] += score
            found.append(dense)
        np.testing.assert_allclose(found[1], found[0], atol=1e-12)
    value, gradient = full.value_and_gradient(examples)
    found_value, found_gradient = pairs.value_and_gradient(examples)
    assert found_value == pytest.approx(value)
    np.testing.assert_allclose(found_gradient, gradient[learnt], atol=1e-12)


def test_pairs_are_updated_like_a_matrix(twins):
    full, pairs, examples = twins
    is_pair = give_weights_of_pairs(full, pairs)
    learnt = as_learnt(full, is_pair)
    optimizers = [Adam(0.002, use_averages=True) for _ in range(2)]
    for pipe in (full, pairs):
        weights_of(pipe.model).l2 = by_penalty_group("l2", 0.3)
    for eg in [*examples, *examples]:
        for pipe, optimizer in zip((full, pairs), optimizers, strict=True):
            pipe.update([eg], sgd=optimizer)
        weights_of(full.model).state.matrix[~is_pair] = 0.0
    found, expected = pairs.get_weights(), full.get_weights()[learnt]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    with full.model.use_params(optimizers[0].averages):
        expected = full.get_weights()[learnt]
    with pairs.model.use_params(optimizers[1].averages):
        np.testing.assert_allclose(pairs.get_weights(), expected, atol=1e-12)


# --- online training --------------------------------------------------------------


def test_training_online():
    nlp = make_nlp(features=PLAIN, model={"gazetteers": use_lists(cities={})})
    pipe, examples = nlp.get_pipe("hosemi"), make_examples(nlp, MARKED)
    readers = {"cities": lambda: [*CITIES, *NEW]}
    pipe.initialize(lambda: examples, nlp=nlp, gazetteers=readers)
    optimizer = nlp.create_optimizer()
    losses = [nlp.update(examples, sgd=optimizer)["hosemi"] for _ in range(20)]
    assert losses[-1] < 0.2 * losses[0]
    assert np.abs(pipe.weights.matrix[is_whole(pipe.weights)]).max() > 0.01
    assert find_new(nlp) == [True, True, True, False]
    with nlp.use_params(optimizer.averages or {}):
        assert find_new(nlp) == [True, True, True, False]


def fired_rows(weights, examples) -> np.ndarray:
    fired = np.zeros(len(weights.names), bool)
    for eg in examples:
        rows = read_docs(weights, [eg.predicted], is_train=True)
        for _, of_role, _ in rows.tokens.values():
            fired[of_role] = True
        fired[rows.segments.row] = True
    return fired


def test_only_rows_that_fired_change():
    pipe, examples = make_random(["[A a b] c", "c [B b] c"], l2=5.0, features=USUAL)
    fired = fired_rows(pipe.weights, examples[1:])
    whole = is_whole(pipe.weights)
    assert 0 < fired[whole].sum() < whole.sum()
    before = pipe.weights.matrix.copy()
    pipe.update(examples[1:], sgd=Adam(0.001))
    changed = (pipe.weights.matrix != before).any(axis=1)
    assert changed.tolist() == fired.tolist()


@pytest.mark.parametrize("l2", [0.0, 0.7, {"whole": 0.5}])
def test_one_update_is_a_step_of_adagrad(l2):
    pipe, examples = make_random([*SHORT, "a b c"], l2=l2, features=USUAL)
    weights, w = pipe.weights, pipe.get_weights()
    _, gradient = pipe.value_and_gradient(examples[:2])
    penalty = vector_values(weights, by_penalty_group("l2", l2))
    share = np.ones(len(w))  # of what a weight pays in one pass over the data
    fired = fired_rows(weights, examples[:2])
    of_row = np.where(fired, np.minimum(2 / weights.counts, 1.0), 0.0)
    share[: weights.matrix.size] = of_row.repeat(3)
    share[weights.matrix.size :] = 2 / 3
    gradient += penalty * share * w
    pipe.update(examples[:2], sgd=Adam(0.001))
    squares = np.concatenate([weights.counts.repeat(3), np.full(len(w), 3)])[: len(w)]
    expected = w - 0.1 * gradient / (1e-8 + np.sqrt(squares / 4 + gradient**2))
    np.testing.assert_allclose(pipe.get_weights(), expected, atol=1e-6)


def test_docs_without_matches_in_a_batch():
    pipe, examples = make_random()
    more = [NLP.make_doc("nothing to find"), make_doc(NLP)]
    more = [Example(doc, doc.copy()) for doc in more]
    value, _ = pipe.value_and_gradient([*more, *examples, *more])
    assert value == pytest.approx(pipe.value_and_gradient(examples)[0])
    losses = pipe.update([*more, *examples], sgd=Adam(0.001))
    assert losses["hosemi"] == pytest.approx(value)


# --- lists of training spans --------------------------------------------------------


def test_a_list_of_training_spans():
    """In training a span is not found in the only document that it comes from."""
    marked = ["they saw [CITY Oslo] .", "in [CITY Oslo] now .", "to [CITY Rome] ."]
    marked += ["by [PER Ada] ."]
    pipe, examples = make_pipe(["x"], SMALL), make_examples(NLP, marked)
    readers = {"x": make_training_spans(["CITY"])}
    pipe.initialize(lambda: examples, nlp=NLP, gazetteers=readers)
    lists = pipe.weights.extractor.gazetteers
    docs = [eg.predicted for eg in examples]
    in_training = [len(lists.matches([doc], is_train=True).start) for doc in docs]
    assert in_training == [1, 1, 0, 0]
    assert [len(lists.matches([doc]).start) for doc in docs] == [1, 1, 1, 0]
    everything = list(make_training_spans()(examples))
    assert [text for text, _ in everything] == ["Oslo", "Oslo", "Rome", "Ada"]
    assert [doc for _, doc in everything] == docs
