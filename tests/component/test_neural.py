"""Scores from a tok2vec, its own or shared, beside those of features."""

import pickle

import numpy as np
import pytest
import spacy
from spacy.ml import FeatureExtractor
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_model_from_config, replace_model_node
from thinc.api import (
    HashEmbed,
    chain,
    list2ragged,
    normal_init,
    ragged2list,
    with_array,
)

from spacy_hosemi.features.instances import divide, documents
from spacy_hosemi.labels.inventory import ENCODINGS

from ..helpers import (
    SMALL,
    TRAIN,
    initialize,
    lbfgs,
    make_examples,
    make_nlp,
    randomize,
    triples,
)

WIDTH = 12
LISTENER = {
    "@architectures": "spacy.Tok2VecListener.v1",
    "width": WIDTH,
    "upstream": "*",
}
NOTHING = {"preset": "none", "inside": [], "start": [], "end": []}
TEXT = "Ada met Mary Somerville in Paris. She lived in New York. Nobody wrote."


def embedding(**more):
    return {
        "@architectures": "spacy.HashEmbedCNN.v2",
        "pretrained_vectors": None,
        "width": WIDTH,
        "depth": 1,
        "embed_size": 50,
        "window_size": 1,
        "maxout_pieces": 2,
        "subword_features": True,
        **more,
    }


def make_neural(is_shared=False, features=SMALL, **config):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.config["training"]["annotating_components"] = ["sentencizer"]
    if is_shared:
        nlp.add_pipe("tok2vec", config={"model": embedding()})
    model = {"tok2vec": LISTENER if is_shared else embedding()}
    return make_nlp(nlp=nlp, features=features, model=model, **config)


def train(nlp, steps=1, marked=TRAIN, **settings):
    optimizer = initialize(nlp, marked, **settings)
    examples = make_examples(nlp, marked)
    losses = []
    for _ in range(steps):
        found = nlp.update(examples, sgd=optimizer, annotates=["sentencizer"])
        losses.append(found["hosemi"])
    return losses


def randomize_neural(pipe, seed=0, size=1.0):
    """Other weights of the linear layer, which begin with 0."""
    output = pipe.model.get_ref("output")
    rng = np.random.default_rng(seed)
    for name in ("W", "b"):
        shape = output.get_param(name).shape
        output.set_param(name, rng.normal(0.0, size, shape).astype("f"))


def predict(nlp, texts=(TEXT,)):
    return [triples(doc.ents) for doc in nlp.pipe(texts)]


both = pytest.mark.parametrize("is_shared", [False, True], ids=["own", "shared"])
scopes = pytest.mark.parametrize("scope", ["doc", "sents"])


# --- what is computed -------------------------------------------------------------


@both
@scopes
@pytest.mark.parametrize("is_train", [False, True])
def test_scores_are_added(is_shared, scope, is_train):
    nlp = make_neural(is_shared, scope=scope)
    train(nlp)
    pipe = nlp.get_pipe("hosemi")
    randomize(pipe)
    randomize_neural(pipe)
    with nlp.select_pipes(disable="hosemi"):
        docs = list(nlp.pipe([TEXT, "", "She met Ada. Nobody wrote."]))
    parts = [instance.tokens for doc in docs for instance in divide(doc, scope)]
    if is_shared and is_train:
        tok2vec = nlp.get_pipe("tok2vec")
        tok2vec.update([Example(doc, doc) for doc in docs])
    output, tok2vec = (pipe.model.get_ref(x) for x in ("output", "tok2vec"))
    if is_shared and not is_train:
        vectors = [doc.tensor.reshape(-1, WIDTH) for doc in docs]
    else:
        vectors = tok2vec(docs, is_train)[0]
    weights, bias = output.get_param("W"), output.get_param("b")
    expected = np.concatenate(vectors) @ weights.T + bias  # inside, start, end

    found = pipe.model(parts, is_train)[0]
    layers, pipe.model.layers[:] = list(pipe.model.layers), []
    sparse = pipe.model(parts, is_train)[0]
    pipe.model.layers[:] = layers
    at, n_labels = 0, len(pipe.inventory.names)
    assert len(found) == len(sparse) == len(parts)
    for part, with_neural, without in zip(parts, found, sparse):
        rows = expected[at : at + len(part)]
        for k, role in enumerate(("inside", "start", "end")):
            more = rows[:, k * n_labels : (k + 1) * n_labels]
            total = getattr(without, role) + more
            np.testing.assert_allclose(getattr(with_neural, role), total, atol=1e-4)
        at += len(part)
    assert at == len(expected)


def smooth_tok2vec():
    """A row of a table for each word: linear, so that finite differences are exact."""
    columns = FeatureExtractor(["LOWER"])
    rows = with_array(HashEmbed(WIDTH, 40, column=0, initializer=normal_init))
    return chain(columns, list2ragged(), rows, ragged2list())


@scopes
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_gradient_by_finite_differences(scope, encoding):
    nlp = make_neural(scope=scope, encoding=encoding)
    pipe = nlp.get_pipe("hosemi")
    replace_model_node(pipe.model, pipe.model.layers[0], smooth_tok2vec())
    train(nlp)
    randomize(pipe, size=0.3)
    randomize_neural(pipe, size=0.3)
    examples = make_examples(nlp, [*TRAIN[:2], "[PER Ada] met her. She lived."])
    for eg in examples:
        nlp.get_pipe("sentencizer")(eg.predicted)
    parts = [u.tokens for eg in examples for u in divide(eg.predicted, scope)]

    def loss():
        return pipe.get_loss(examples, pipe.model.begin_update(parts)[0])[0]

    scores, backprop = pipe.model.begin_update(parts)
    for node in pipe.model.walk():
        for name in node.param_names:
            node.set_grad(name, np.zeros_like(node.get_param(name)))
    backprop(pipe.get_loss(examples, scores)[1])
    step, rng, n_checked = 2e-3, np.random.default_rng(1), 0
    for node in (*pipe.model.layers[1:], *pipe.model.layers[0].walk()):
        for name in node.param_names:
            param, gradient = node.get_param(name), node.get_grad(name)
            # The steepest entries: others drown in the rounding of single precision.
            steepest = np.argsort(-np.abs(gradient).ravel())[:2]
            for k in (*steepest, rng.integers(param.size)):
                place = np.unravel_index(k, param.shape)
                before = param[place]
                values = []
                for by in (step, -step):
                    param[place] = before + by
                    values.append(loss())
                param[place] = before
                slope = (values[0] - values[1]) / (2 * step)
                assert gradient[place] == pytest.approx(slope, rel=0.01, abs=0.02)
                n_checked += 1
    assert n_checked == 9


def test_nothing_is_changed_before_the_first_step():
    nlp, other = make_neural(), make_nlp()
    other.add_pipe("sentencizer", first=True)
    train(nlp, 0)
    initialize(other)
    for one in (nlp, other):
        randomize(one.get_pipe("hosemi"))
    assert predict(nlp) == predict(other)


@pytest.mark.parametrize("n_same", [1, 2])
def test_documents_of_parts(n_same):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    doc, empty = nlp(TEXT), Doc(nlp.vocab)
    given = [empty, *[doc] * n_same, empty]
    parts = [instance.tokens for one in given for instance in divide(one, "sents")]
    docs, borders = documents(parts)
    assert [id(x) for x in docs] == [id(x) for x in given]
    sizes = [len(sentence) for sentence in doc.sents]
    assert np.diff(borders).tolist() == [0, *sizes * n_same, 0]
    assert documents([doc, doc])[0] == [doc, doc]
    assert documents([]) == ([], [0])


# --- training ---------------------------------------------------------------------


@both
@scopes
def test_learns_without_features(is_shared, scope):
    nlp = make_neural(is_shared, NOTHING, scope=scope)
    losses = train(nlp, 50)
    assert losses[-1] < 0.2 * losses[0]
    gold = [triples(eg.reference.ents) for eg in make_examples(nlp)]
    texts = [eg.reference.text for eg in make_examples(nlp)]
    assert predict(nlp, texts) == gold


def test_shared_with_another_component():
    nlp = make_neural(is_shared=True)
    model = {
        "@architectures": "spacy.TransitionBasedParser.v2",
        "state_type": "ner",
        "extra_state_tokens": False,
        "hidden_width": 8,
        "maxout_pieces": 1,
        "use_upper": False,
        "nO": None,
        "tok2vec": LISTENER,
    }
    nlp.add_pipe("ner", config={"model": model})
    losses = train(nlp, 15)
    assert losses[-1] < 0.3 * losses[0]
    hosemi = nlp.get_pipe("hosemi")
    assert np.abs(hosemi.model.get_ref("output").get_param("W")).max() > 0.0
    assert np.abs(hosemi.get_weights()).max() > 0.0
    listeners = nlp.get_pipe("tok2vec").listener_map
    assert sorted(listeners) == ["hosemi", "ner"]


def test_frozen_tok2vec():
    nlp = make_neural(is_shared=True)
    optimizer = initialize(nlp)
    tok2vec, pipe = nlp.get_pipe("tok2vec"), nlp.get_pipe("hosemi")
    before = tok2vec.to_bytes()
    for _ in range(3):
        nlp.update(
            make_examples(nlp),
            sgd=optimizer,
            exclude=["tok2vec"],
            annotates=["sentencizer", "tok2vec"],
        )
    assert tok2vec.to_bytes() == before
    assert np.abs(pipe.model.get_ref("output").get_param("W")).max() > 0.0


def test_dropout_reaches_the_tok2vec():
    nlp = make_neural()
    optimizer = initialize(nlp)
    pipe = nlp.get_pipe("hosemi")
    nlp.update(make_examples(nlp), sgd=optimizer, drop=0.3)
    rates = {
        node.attrs["dropout_rate"]
        for node in pipe.model.walk()
        if "dropout_rate" in node.attrs
    }
    assert rates == {0.3}


@both
def test_empty_documents_in_a_batch(is_shared):
    nlp = make_neural(is_shared)
    optimizer = initialize(nlp)
    empty = Example(Doc(nlp.vocab), Doc(nlp.vocab))
    examples = [empty, *make_examples(nlp), empty]
    assert nlp.update(examples, sgd=optimizer)["hosemi"] > 0.0
    assert nlp.update([empty], sgd=optimizer)["hosemi"] == 0.0
    assert predict(nlp, [""]) == [[]]


def test_rehearse():
    nlp = make_neural()
    train(nlp, 3)
    optimizer = nlp.resume_training()
    randomize_neural(nlp.get_pipe("hosemi"))
    first, *_, last = (
        nlp.rehearse(make_examples(nlp), sgd=optimizer)["hosemi"] for _ in range(10)
    )
    assert 0.0 < last < first


@pytest.mark.parametrize("what", ["fit", "value_and_gradient"])
def test_batch_training_is_refused(what):
    nlp = make_neural()
    reason = "HS385.*hashembed" if what == "fit" else f"HS053.*{what}.*tok2vec"
    with pytest.raises(ValueError, match=reason):
        if what == "fit":
            initialize(nlp, fit=lbfgs())
        initialize(nlp)
        nlp.get_pipe("hosemi").value_and_gradient(make_examples(nlp))


# --- labels, persistence ----------------------------------------------------------


@both
def test_a_label_added_late(is_shared):
    nlp = make_neural(is_shared)
    train(nlp, 12)
    before = predict(nlp)
    nlp.get_pipe("hosemi").add_label("NEW")
    assert predict(nlp) == before
    optimizer = nlp.resume_training()
    marked = ["She wrote to [NEW Acme].", *TRAIN]
    for _ in range(30):
        nlp.update(make_examples(nlp, marked), sgd=optimizer, annotates=["sentencizer"])
    assert triples(nlp("She wrote to Acme.").ents) == [(3, 4, "NEW")]


def test_other_labels_at_initialize():
    nlp = make_neural()
    train(nlp, 2)
    train(nlp, 2, marked=["[ORG Acme] wrote to [PER Ada] in [LOC Paris]."])
    pipe = nlp.get_pipe("hosemi")
    assert pipe.labels == ("LOC", "PER", "ORG")
    assert pipe.model.get_ref("output").get_dim("nO") == 3 * len(pipe.inventory.names)


@both
def test_persistence(is_shared, tmp_path):
    nlp = make_neural(is_shared)
    train(nlp, 12)
    expected = predict(nlp)
    assert expected != [[]]
    nlp.to_disk(tmp_path)
    others = [spacy.load(tmp_path), load_model_from_config(nlp.config)]
    others[1].from_bytes(nlp.to_bytes())
    # Into one that was initialized with other labels, too.
    others.append(make_neural(is_shared))
    train(others[2], 1, marked=["[ORG Acme] wrote."])
    others[2].from_bytes(nlp.to_bytes())
    if not is_shared:  # a listener that has been trained cannot be pickled
        others.append(pickle.loads(pickle.dumps(nlp)))
    for other in others:
        assert predict(other) == expected


def test_replace_listeners(tmp_path):
    nlp = make_neural(is_shared=True)
    train(nlp, 12)
    expected = predict(nlp)
    nlp.replace_listeners("tok2vec", "hosemi", ["model.tok2vec"])
    nlp.remove_pipe("tok2vec")
    nlp.to_disk(tmp_path)
    sourced = spacy.blank("en")
    sourced.add_pipe("sentencizer")
    sourced.add_pipe("hosemi", source=nlp)
    for other in (nlp, spacy.load(tmp_path), sourced):
        assert predict(other) == expected


@both
def test_streams_like_single_documents(is_shared):
    nlp = make_neural(is_shared)
    train(nlp, 12)
    texts = [
        TEXT,
        "",
        "She met Ada.",
        *[eg.reference.text for eg in make_examples(nlp)],
    ]
    assert predict(nlp, texts) == [triples(nlp(text).ents) for text in texts]


def test_on_a_gpu():
    pytest.importorskip("cupy")
    if not spacy.prefer_gpu():
        pytest.skip("there is no GPU")
    try:
        nlp = make_neural(is_shared=True)
        losses = train(nlp, 12)
        assert losses[-1] < 0.2 * losses[0]
        assert predict(nlp) != [[]]
    finally:
        spacy.require_cpu()


# --- several threads ----------------------------------------------------------------


@both
@scopes
def test_threads_predict_the_same(is_shared, scope):
    """Of two components, both with jobs for threads of their own."""
    nlp = make_neural(is_shared, scope=scope)
    train(nlp)
    randomize(nlp.get_pipe("hosemi"))
    randomize_neural(nlp.get_pipe("hosemi"))
    other = make_neural(is_shared, scope=scope)
    train(other)
    randomize(other.get_pipe("hosemi"), seed=1)
    texts = [TEXT, "", "She met Ada. Nobody wrote."] * 20
    found = []
    for threads in (1, 3):
        for pipeline in (nlp, other):
            pipeline.get_pipe("hosemi").threads = threads
        pairs = zip(nlp.pipe(texts, batch_size=4), other.pipe(texts, batch_size=8))
        found.append([(triples(a.ents), triples(b.ents)) for a, b in pairs])
    assert found[0] == found[1]
    assert any(a != b for a, b in found[0])
