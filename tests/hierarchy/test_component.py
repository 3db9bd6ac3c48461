"""Labels in a tree, as users of spaCy meet them."""

import copy
import pickle
import re
from functools import partial

import pytest
import spacy
from spacy.tokens import DocBin, Span
from spacy.training import Example

from spacy_hosemi.hierarchy.hierarchy import make_hierarchy
from spacy_hosemi.hierarchy.tree import make_tree_reader

from ..component.test_gazetteers import use_lists, write
from ..component.test_serialize import THROUGH
from ..helpers import (
    MANY_EXISTING,
    SMALL,
    UNTRAINED,
    averaged,
    initialize,
    lbfgs,
    make_doc,
    make_nlp,
    make_trained,
    triples,
)

MARKED = (
    "[PER/first Ada] wrote to [PER/last Babbage] in [LOC/city London] .",
    "[PER/last Babbage] lived in [LOC/city London] .",
    "She met [PER/first Ada] in [LOC/land France] and wrote to [PER/first Mary] .",
    "[PER/first Mary] was not in [LOC/city New York] with [ORG Acme] .",
    "[ORG Acme] left [LOC/land New Zealand] to [PER/last Somerville] .",
    "Nobody wrote a letter .",
)
TREE = {"@misc": "spacy_hosemi.hierarchy.v1"}
LABELS = ["LOC/city", "LOC/land", "ORG", "PER/first", "PER/last"]


def example(nlp, line) -> Example:
    """Of words with [label words] among them; label "?": not annotated."""
    words, tags = [], []
    for label, marked, plain in re.findall(r"\[(\S+) ([^\]]*)\]|(\S+)", line):
        some = (marked or plain).split()
        words += some
        of_first = {"": "O", "?": ""}.get(label, f"B-{label}")
        tags += [of_first] + [of_first.replace("B-", "I-")] * (len(some) - 1)
    return Example(make_doc(nlp, *words), make_doc(nlp, *words, ents=tags))


def examples_of(nlp, lines=MARKED) -> list[Example]:
    return [example(nlp, line) for line in lines]


def fit_on(nlp, lines=MARKED, examples=None, **settings):
    """Initialized, with a batch fit, on marked lines or on other examples."""
    settings = {"fit": lbfgs(max_iter=25), **settings}
    nlp.config["initialize"]["components"]["hosemi"] = settings
    nlp.initialize(lambda: examples or examples_of(nlp, lines))
    return nlp


def make_tree_nlp(lines=MARKED, *, tree=None, settings=None, **config):
    hierarchy = {**TREE, **(tree or {})}
    nlp = make_nlp(hierarchy=hierarchy, **{"max_order": 1, **config})
    return fit_on(nlp, lines, **(settings or {}))


AT_ONCE = [140, 0]  # up to so many labels: decoded as leaves, or level by level


@pytest.fixture(scope="module", params=AT_ONCE)
def trained(request):
    return make_tree_nlp(tree={"exact_up_to": request.param})


def predicted(nlp, lines=MARKED):
    """Spans and paths of documents that have no entities yet."""
    pipe = nlp.get_pipe("hosemi")
    docs = pipe.pipe([eg.predicted for eg in examples_of(nlp, lines)])
    return [paths_of(doc) for doc in docs]


def paths_of(doc):
    return [(x, ent._.label_path) for x, ent in zip(triples(doc.ents), doc.ents)]


def gold(nlp, lines=MARKED):
    return [triples(eg.reference.ents) for eg in examples_of(nlp, lines)]


def assert_learnt(nlp, lines=MARKED):
    spans = [[span for span, _ in of_doc] for of_doc in predicted(nlp, lines)]
    assert spans == gold(nlp, lines)


def test_a_fit_prunes_no_weights_of_a_tree(trained):
    nlp = make_tree_nlp(settings={"fit": lbfgs(max_iter=25, prune=0.5)})
    pipes = [x.get_pipe("hosemi") for x in (nlp, trained)]
    assert pipes[0].get_weights().tolist() == pipes[1].get_weights().tolist()


PARTIAL = (
    *MARKED,
    "[? Ada met] [PER/last Babbage] [? in London .]",
    "[? Ada met Babbage in London .]",
    "Nobody [? met] Ada [? in] [LOC/city London] .",
)
INNER = (*MARKED, "[PER Ada Babbage] wrote .", "[PER Mary Somerville] left .")
COVERED = (
    "[A/a Ada Mary] [B London] [A/b wrote]",
    "[A/a Mary] [A/b lived] [B New York]",
)
INNER_ALONE = (
    "[PER Ada] met [PER/last Mary] .",
    "[PER Mary] left .",
    "She met [PER Ada] .",
)
ROLES = {**SMALL, "within": ["SHAPE"], "whole": ["LENGTH"]}


@pytest.mark.parametrize(
    "lines, tested, config",
    [
        *((MARKED, MARKED, {"tree": {"threshold": x}}) for x in (0.0, 0.001, 1.0)),
        (PARTIAL, MARKED, {}),
        (INNER, INNER, {}),
        (MARKED, MARKED, {"outside": "run", "max_length": 4}),
        (MARKED, MARKED, {"outside": "token", "max_length": 4}),
        (COVERED, COVERED, {"outside": "none", "max_length": 4}),
        (MARKED, MARKED, {"features": ROLES, "explicit_length": 3}),
    ],
)
def test_the_training_documents(lines, tested, config):
    nlp = make_tree_nlp(lines, **config)
    assert {*LABELS} <= {*nlp.get_pipe("hosemi").labels} or lines is COVERED
    assert_learnt(nlp, tested)


def test_paths(trained):
    doc = trained("Ada met Babbage in New York with Acme .")
    labels = [ent.label_ for ent in doc.ents]
    assert labels == ["PER/first", "PER/last", "LOC/city", "ORG"]
    for ent in doc.ents:
        path = ent._.label_path
        names, probabilities = zip(*path)
        parts = ent.label_.split("/")
        assert list(names) == ["/".join(parts[: k + 1]) for k in range(len(parts))]
        assert list(probabilities) == sorted(probabilities, reverse=True)
        assert path[-1] == (ent.label_, ent._.confidence)
        assert 0.0 < probabilities[-1] <= 1.0
    assert Span(doc, 0, 2, "PER/first")._.label_path is None
    (copied,) = DocBin(store_user_data=True, docs=[doc]).get_docs(trained.vocab)
    for ent, other in zip(doc.ents, copied.ents):
        assert other._.label_path == ent._.label_path
        assert other._.confidence == ent._.confidence


def test_of_labels_without_a_tree_the_label_alone():
    nlp = make_trained()
    ents = nlp("Ada Lovelace wrote to Charles Babbage.").ents
    assert len(ents)
    for ent in ents:
        assert ent._.label_path == [(ent.label_, ent._.confidence)]


def test_back_to_the_inner_label(trained):
    nlp = copy.deepcopy(trained)
    pipe, text = nlp.get_pipe("hosemi"), "Ada Babbage wrote ."
    leaf = nlp(text).ents[0]
    (top, p_top), (name, p) = leaf._.label_path
    assert p < p_top
    for least in ((p + p_top) / 2, {name: 1.0}, {name: (p + p_top) / 2, top: p_top}):
        pipe.min_confidence = least
        (ent,) = nlp(text).ents[:1]
        assert (ent.start, ent.end, ent.label_) == (leaf.start, leaf.end, top)
        assert ent._.confidence == p_top
        assert ent._.label_path == leaf._.label_path
    pipe.min_confidence = {name: 1.0, top: 1.0}
    assert not any(ent.start == leaf.start for ent in nlp(text).ents)


def test_thresholds_by_inner_label(tmp_path):
    nlp = make_tree_nlp(min_confidence={"PER": 0.1, "PER/first": 0.2})
    nlp.to_disk(tmp_path)
    assert predicted(spacy.load(tmp_path)) == predicted(nlp)
    with pytest.raises(ValueError, match="HS091"):
        make_tree_nlp(min_confidence={"PERSON": 0.1})


@pytest.mark.parametrize("through", THROUGH)
def test_a_saved_model_predicts_the_same(trained, through, tmp_path):
    other = through(trained, tmp_path)
    assert predicted(other) == predicted(trained)


def test_a_copy_of_a_copy_and_of_its_model(trained):
    expected = predicted(trained)
    other = pickle.loads(pickle.dumps(copy.deepcopy(trained)))
    assert predicted(other) == expected
    other.resume_training()  # copies the model
    pipe = other.get_pipe("hosemi")
    pipe.model = pipe.model.copy()
    assert pipe.model.to_bytes() == trained.get_pipe("hosemi").model.to_bytes()


def test_threads_and_batches_predict_the_same(trained):
    words = [[t.text for t in eg.reference] for eg in examples_of(trained)] * 3
    pipe = copy.deepcopy(trained).get_pipe("hosemi")
    alone = [pipe.predict([make_doc(trained, *x)])[0].spans for x in words]
    pipe.threads = 2
    docs = pipe.pipe((make_doc(trained, *x) for x in words), batch_size=4)
    assert [triples(doc.ents) for doc in docs] == alone


@pytest.mark.parametrize("words", [[], ["Ada"], ["nothing"], [" "], [" ", "Ada", "\n"]])
def test_small_documents(trained, words):
    doc = trained.get_pipe("hosemi")(make_doc(trained, *words))
    assert [ent.text for ent in doc.ents] == (["Ada"] if "Ada" in words else [])
    assert trained.get_pipe("hosemi").predict([]) == []


def test_temperature_and_collective_and_spans(trained):
    nlp = copy.deepcopy(trained)
    pipe = nlp.get_pipe("hosemi")
    before = nlp("Ada met Babbage in New York .")
    confidences = [ent._.confidence for ent in before.ents]
    pipe.temperature, pipe.spans_key = 2.0, "found"
    after = nlp("Ada met Babbage in New York .")
    assert triples(after.ents) == triples(before.ents) == triples(after.spans["found"])
    for p, other in zip(confidences, after.ents):
        assert other._.confidence < p
    pipe.collective = 0.5
    nlp("Ada met Babbage in New York .")


# --- preset entities --------------------------------------------------------------


def predict_around(nlp, text, *place, label):
    """A document that has an entity already."""
    doc = make_doc(nlp, *text.split())
    doc.set_ents([Span(doc, *place, label=label)], default="missing")
    return nlp.get_pipe("hosemi")(doc)


@MANY_EXISTING
@pytest.mark.parametrize("label", [*LABELS, "PER", "LOC", "unknown"])
@pytest.mark.parametrize("place", [(1, 2), (0, 1), (3, 6)])
def test_preset_entities_are_kept(trained, label, place):
    text = "Ada met Babbage in New York ."
    doc = predict_around(trained, text, *place, label=label)
    assert (*place, label) in triples(doc.ents)
    assert len(doc.ents) >= 2
    assert trained.get_pipe("hosemi").labels == tuple(LABELS)


def test_a_preset_entity_speaks_for_what_stands_beside_it(trained):
    """Only segmentations with it count, and it is not written again."""
    doc = predict_around(trained, "Ada met Ada .", 0, 1, label="LOC/land")
    assert triples(doc.ents)[0] == (0, 1, "LOC/land")
    assert doc.ents[0]._.confidence is None
    assert doc.ents[1]._.confidence is not None


def test_a_preset_entity_that_cannot_be():
    """Longer than any may be: it stays, and all else is found as ever."""
    text = "a letter to the Mary from Ada in London ."
    doc = predict_around(make_tree_nlp(max_length=2), text, 0, 4, label="PER/last")
    found = triples(doc.ents)
    assert (0, 4, "PER/last") in found and (8, 9, "LOC/city") in found


def test_blocked_tokens(trained):
    doc = make_doc(trained, *"Ada met Babbage .".split())
    doc.set_ents([], blocked=[doc[0:1]], default="missing")
    found = triples(trained.get_pipe("hosemi")(doc).ents)
    assert found == [(2, 3, "PER/last")]


def test_sentences():
    lines = [f"{left} {right}" for left, right in zip(MARKED, MARKED[1:])]

    nlp = make_nlp(hierarchy=TREE, scope="sents")
    examples = examples_of(nlp, lines)
    for eg in examples:
        for doc in (eg.predicted, eg.reference):
            for token in doc:
                token.is_sent_start = token.i == 0 or doc[token.i - 1].text == "."
    pipe = fit_on(nlp, examples=examples).get_pipe("hosemi")
    for eg in examples:
        assert triples(pipe(eg.predicted).ents) == triples(eg.reference.ents)
        assert all(ent._.label_path for ent in eg.predicted.ents)


def with_wrong(eg, labels):
    """The first token has none of these labels."""
    eg.reference.spans["wrong"] = [Span(eg.reference, 0, 1, label=y) for y in labels]
    return eg


@pytest.mark.parametrize("threshold", [0.0, 1.0])
def test_spans_that_are_wrong(threshold):
    """A leaf, all leaves below a name, and a leaf at the top."""
    tree = {**TREE, "threshold": threshold}
    nlp = make_nlp(hierarchy=tree, incorrect_spans_key="wrong")
    examples = examples_of(nlp)
    for labels in (["PER/last"], ["PER/first", "PER/last"], ["ORG"], LABELS):
        for line in ("[? Zed wrote .]", "[? Zed] wrote ."):
            examples.append(with_wrong(example(nlp, line), labels))
    assert_learnt(fit_on(nlp, examples=examples))
    assert not nlp("Zed wrote .").ents


@pytest.mark.parametrize(
    "label, code", [("PER/first", "HS094"), ("PER", "HS041"), ("unknown", "HS041")]
)
def test_wrong_spans_that_cannot_be(label, code):
    nlp = make_nlp(hierarchy=TREE, incorrect_spans_key="wrong")
    first, *others = examples_of(nlp)
    with pytest.raises(ValueError, match=code):
        fit_on(nlp, examples=[with_wrong(first, [label]), *others])


@pytest.mark.parametrize("found", ["PER/last", "PER"])
def test_labels_of_examples_that_are_not_asked_for(found):
    labels = [label for label in LABELS if label != found]
    with pytest.raises(ValueError, match=f"HS041.*{found}"):
        make_tree_nlp([*MARKED, f"[{found} Ada] wrote ."], settings={"labels": labels})


@pytest.mark.parametrize("never", ["PER/middle", "ART/book", "LOC/city/old", "X/y/z"])
def test_a_label_that_is_never_seen(never, tmp_path):
    nlp = make_tree_nlp(settings={"labels": [*LABELS, never]})
    assert never in nlp.get_pipe("hosemi").labels
    assert_learnt(nlp)
    nlp.to_disk(tmp_path)
    assert predicted(spacy.load(tmp_path)) == predicted(nlp)


def test_a_label_that_is_never_seen_can_be_predicted():
    """Where its only sibling is known to be wrong, through what stands above both."""
    nlp = make_tree_nlp(settings={"labels": ["PER/middle", *LABELS]})
    doc = predict_around(nlp, "Ada wrote .", 0, 1, label="PER/middle")
    assert triples(doc.ents) == [(0, 1, "PER/middle")]
    pipe = nlp.get_pipe("hosemi")
    assert pipe.predict([make_doc(nlp, "Ada", "wrote", ".")])[0].paths


def test_back_to_an_inner_name_that_is_a_label():
    """What is surely some PER stays, though PER itself is not sure."""
    nlp = make_tree_nlp(INNER_ALONE)
    (ent,) = nlp("Mary left .").ents
    (inner, p_inner), (own, p_own) = ent._.label_path
    assert inner == own == ent.label_ == "PER"
    assert p_own == ent._.confidence < p_inner
    nlp.get_pipe("hosemi").min_confidence = (p_own + p_inner) / 2
    (ent,) = nlp("Mary left .").ents
    assert (ent.label_, ent._.confidence) == ("PER", p_inner)


def test_without_a_tree_it_is_the_flat_model():
    lines = [line.replace("/", "-") for line in MARKED]
    flat = fit_on(make_nlp(), lines)
    other = fit_on(make_nlp(hierarchy=TREE), lines)
    assert predicted(other, lines) == predicted(flat, lines)
    # updates are those of the flat model, too; not so new labels
    weights = other.get_pipe("hosemi").get_weights()
    assert weights.tolist() == flat.get_pipe("hosemi").get_weights().tolist()
    with pytest.raises(ValueError, match="HS118.*new one"):
        other.get_pipe("hosemi").add_label("PER/x")


def test_a_tree_of_a_file(tmp_path):
    path = tmp_path / "tree.tsv"
    lines = [re.sub(r"\w+/(\w+)", r"\1", line) for line in MARKED]
    path.write_text(
        "first\tPER\nlast\tPER\ncity\tLOC\nland\tLOC\nPER\tTHING\nLOC\tTHING\nORG\tROOT\n"
        # of labels that there are not
        "middle\tPER\nbook\tART\ncompany\tORG\nstreet\tcity\n"
    )
    reader = {"@readers": "spacy_hosemi.read_label_tree.v1", "path": str(path)}
    settings = {"hierarchy": reader}
    nlp = make_tree_nlp(lines, tree={"separator": None}, settings=settings)
    assert_learnt(nlp, lines)
    path.unlink()
    assert "ROOT" in nlp.get_pipe("hosemi").cfg["tree"].values()
    nlp.to_disk(tmp_path / "model")
    other = spacy.load(tmp_path / "model")
    assert predicted(other, lines) == predicted(nlp, lines)
    ent = other("Ada wrote .").ents[0]
    assert [name for name, _ in ent._.label_path] == ["THING", "PER", "first"]


# --- what cannot be ---------------------------------------------------------------


def initialize_with(tree, read, **settings):
    nlp = make_nlp(hierarchy=None if tree is None else {**TREE, **tree})
    nlp.get_pipe("hosemi").initialize(
        lambda: examples_of(nlp), nlp=nlp, hierarchy=read, **settings
    )


def test_trees_that_are_refused(tmp_path):
    flat = {label: "TOP" for label in LABELS}
    none = {"separator": None}
    for tree, parents, code in (
        (none, None, "HS118.*separator"),
        ({}, flat, "HS118.*separator"),
        (None, flat, "HS118.*separator"),
        (none, {"PER/first": "PER"}, "HS117.*ORG"),
        (none, {}, "HS117"),
        (none, {**flat, "TOP": "ORG"}, "HS115"),
        (none, {**flat, "ORG": "O", "PER/first": "O"}, "HS040"),
        (none, {**flat, "O": "TOP"}, "HS040"),
    ):
        labels = [*LABELS, "O"] if parents and "O" in parents else None
        read = None if parents is None else lambda parents=parents: parents
        with pytest.raises(ValueError, match=code):
            initialize_with(tree, read, labels=labels)
    with pytest.raises(FileNotFoundError):
        initialize_with(none, make_tree_reader(tmp_path / "none.tsv"))
    with pytest.raises(ValueError, match="HS118.*hierarchy.v1.*'/'"):
        make_nlp(hierarchy="/")
    for out_of_range in (
        {"threshold": -0.1},
        {"threshold": 1.1},
        {"l2_growth": -1.0},
        {"exact_up_to": -1},
    ):
        with pytest.raises(ValueError, match="HS043"):
            make_nlp(hierarchy={**TREE, **out_of_range})
    with pytest.raises(ValueError, match="HS043"):
        make_hierarchy(threshold=float("nan"))


HARD = {"@misc": "spacy_hosemi.gazetteer.v1", "mode": "hard", "label": "PER/first"}


@pytest.mark.parametrize(
    "config",
    [
        {"encoding": "BIO"},
        {"label_rules": ["ORG at most once"]},
        {"observed_order": 1},
        {"observed_patterns": [["*", "*"]]},
        {"model": {"gazetteers": {"names": HARD}}},
        {"objective": {"@misc": "spacy_hosemi.perceptron.v1"}},
        {"hierarchy": {**TREE, "separator": ""}},
    ],
)
def test_settings_that_a_tree_does_not_go_with(config):
    with pytest.raises(ValueError, match="HS118"):
        make_nlp(**{"hierarchy": TREE, **config})


def test_what_a_trained_tree_does_not_do(trained):
    nlp = copy.deepcopy(trained)
    pipe = nlp.get_pipe("hosemi")
    assert pipe.add_label("ORG") == 0
    pipe = pickle.loads(pickle.dumps(nlp)).get_pipe("hosemi")  # knows of no fit
    for refused in (partial(pipe.add_label, "ORG/company"), pipe.prune):
        with pytest.raises(ValueError, match="HS118"):
            refused()


def test_it_can_be_initialized_again():
    nlp = make_tree_nlp()
    expected = predicted(nlp)
    assert predicted(fit_on(nlp)) == expected


def test_a_fit_that_trains_no_tree(tmp_path):
    nlp = make_nlp(hierarchy=TREE, model={"gazetteers": use_lists(names={})})
    readers = {"names": write(tmp_path / "names.txt", ["Ada", "Mary"])}
    with pytest.raises(ValueError, match="HS118"):
        fit_on(nlp, fit=averaged(), gazetteers=readers)
    assert not nlp.get_pipe("hosemi").get_weights().any()  # before any work


@UNTRAINED
def test_without_a_fit_nothing_is_predicted():
    nlp = make_nlp(hierarchy=TREE)
    initialize(nlp)
    pipe = nlp.get_pipe("hosemi")
    assert pipe(make_doc(nlp, "Ada")).ents == ()


@pytest.mark.parametrize("clean_text", [False, True])
def test_whitespace_where_nothing_is_outside(clean_text):
    """It counts as missing there, and is part of some span if features read it."""
    nlp = make_nlp(hierarchy=TREE, outside="none", clean_text=clean_text)
    words = ["Ada", "\n", "Mary", "Acme"]
    tags = ["B-PER/first", "O", "B-PER/last", "B-ORG"]
    doc, reference = make_doc(nlp, *words), make_doc(nlp, *words, ents=tags)
    pipe = fit_on(nlp, examples=[Example(doc, reference)]).get_pipe("hosemi")
    found = pipe(make_doc(nlp, *words)).ents
    assert [ent.label_ for ent in found if not ent[0].is_space][-1] == "ORG"
    assert sum(map(len, found)) == len(words) - clean_text


def test_run_twice(trained):
    """What the component has written itself is not preset."""
    nlp = copy.deepcopy(trained)
    pipe = nlp.get_pipe("hosemi")
    for least in (0.0, 0.9):
        pipe.min_confidence = least
        doc = nlp("Ada Babbage met Mary in New York .")
        before = paths_of(doc)
        assert paths_of(pipe(doc)) == before != []


def test_scores_of_labels_that_training_did_not_have(trained):
    """They are wrong at their own level only."""
    marked = "[PER/nick Ada] wrote to [PER/last Babbage] in [LOC/city London] ."
    scores = trained.evaluate([example(trained, marked)])
    assert scores["ents_by_level"]["1"] == {"p": 1.0, "r": 1.0, "f": 1.0}
    assert scores["ents_by_level"]["2"]["r"] == pytest.approx(2 / 3)
    assert scores["ents_hierarchical_r"] == pytest.approx(5 / 6)
