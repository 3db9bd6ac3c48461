"""Fits with frozen vectors: exact, and the same wherever they are read."""

import pickle
import warnings
from dataclasses import replace
from threading import Thread

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import replace_model_node
from thinc.api import Model

import spacy_hosemi
from spacy_hosemi import use_field_tokenizer
from spacy_hosemi.component.text_decoder import obstacle
from spacy_hosemi.core.parallel.coroutines import finish
from spacy_hosemi.features.instances import Instances, divide
from spacy_hosemi.model import tok2vec
from spacy_hosemi.model.weights import doc_scorer
from spacy_hosemi.model.weights.potentials import score_rows
from spacy_hosemi.model.word_vectors import (
    digest_of_vectors,
    known_vectors,
    vectors_of_words,
)
from spacy_hosemi.training.lbfgs import make_lbfgs
from spacy_hosemi.training.trainer import N_SAMPLES

from ..helpers import (
    PAIRS,
    SMALL,
    TRAIN,
    TREE,
    WORDS,
    as_problem,
    averaged,
    fit_pairs,
    hide,
    in_a_tree,
    initialize,
    interrupt_at,
    make_batch,
    make_examples,
    make_nlp,
    numeric_gradient,
    random_vectors,
    read_log,
    triples,
)
from ..oracles import reference_log_z, score
from .test_neural import LISTENER, embedding

WORD_VECTORS = {"tok2vec": {"@architectures": "spacy_hosemi.WordVectors.v1"}}
TEXT = "Ada met Mary Somerville in Paris. Nobody wrote to Grace."
NOISE = np.linspace(-1e-3, 1e-3, len(WORDS))
KINDS = {
    "plain": {},
    "sentences": {"scope": "sents"},
    "order 3": {"max_order": 3, "pattern_min_count": 1},
    "lengths": {"explicit_length": 3, "outside": "token"},
    "tags": {"encoding": "BIO"},
    "observed": {"features": {**SMALL, "transition": ["LOWER"]}, "observed_order": 1},
    "within": {"features": {**SMALL, "within": ["LOWER"]}},
    "collective": {"collective": 1.0},
}
each_kind = pytest.mark.parametrize("kind", KINDS)


def with_vectors(nlp=None, vectors=None, **config):
    """A pipeline that reads the vectors of words beside features."""
    nlp = nlp or use_field_tokenizer(spacy.blank("en"))
    if config.get("scope") == "sents" and "sentencizer" not in nlp.pipe_names:
        nlp.add_pipe("sentencizer", first=True)
        nlp.config["training"]["annotating_components"] = ["sentencizer"]
    nlp.vocab.vectors = random_vectors() if vectors is None else vectors
    for word in WORDS:
        nlp.vocab.strings.add(word)
    return make_nlp(nlp=nlp, model=WORD_VECTORS, **config)


def fitted():
    nlp = with_vectors()
    fit_pairs(nlp)
    return nlp


def batch_of(kind, is_hidden=False):
    """A component with random weights in a fit, its instances and its batch."""
    nlp = with_vectors(**KINDS[kind])
    initialize(nlp)
    pipe, examples = nlp.get_pipe("hosemi"), make_examples(nlp)
    if is_hidden:
        examples = hide(examples)
    for eg in examples:
        for _, component in nlp.pipeline[:-1]:
            eg.predicted = component(eg.predicted)
    parts = [x.tokens for eg in examples for x in divide(eg.predicted, pipe.scope)]
    batch = make_batch(pipe, examples)
    rng = np.random.default_rng(1)
    batch.weights.set_vector(rng.normal(0.0, 0.5, batch.weights.vector().shape))
    return pipe, parts, batch


@each_kind
@pytest.mark.parametrize("is_hidden", [False, True])
def test_the_gradient(kind, is_hidden):
    _, _, batch = batch_of(kind, is_hidden)
    weights, (_, gradient) = batch.weights.vector(), batch.value_and_gradient()
    directions = np.random.default_rng(2).normal(size=(len(weights), 3))
    directions[: -batch.weights.state.of_vectors.matrix.size, 1] = 0.0

    def value_at(x):
        batch.weights.set_vector(weights + directions @ x)
        return batch.value_and_gradient()[0]

    slopes = numeric_gradient(value_at, np.zeros(3))
    np.testing.assert_allclose(gradient @ directions, slopes, rtol=1e-6, atol=1e-6)


@each_kind
def test_the_loss_is_that_of_enumeration(kind):
    pipe, parts, batch = batch_of(kind)
    state, total = batch.weights.state, 0.0
    weights, offset = state.of_vectors.layer
    for k, rows in enumerate(pipe.trainer.read(parts, is_train=True)):
        without = replace(state, of_vectors=None)
        (potentials,) = score_rows(without, rows)
        added = rows.vectors.astype(float) @ weights + offset
        for role, of_role in zip(tok2vec.ROLES, np.split(added, 3, axis=1)):
            getattr(potentials, role)[:] += of_role
        problem = as_problem(pipe.automaton, potentials)
        total += reference_log_z(problem) - score(problem, batch.golds[k].segments)
    assert batch.value_and_gradient()[0] == pytest.approx(total, rel=1e-9)


@each_kind
def test_predictions_have_the_weights_of_the_fit(kind, monkeypatch):
    """By words, and without a cache of words."""
    pipe, parts, batch = batch_of(kind)
    rows = pipe.trainer.read(parts)
    expected = score_rows(batch.weights.state, rows)
    pipe.trainer.finish_vectors()
    scorer = doc_scorer.DocScorer(pipe.state.weights, whole=pipe.state)
    for is_cached in (True, False):
        monkeypatch.setattr(doc_scorer, "CACHES_WORDS", is_cached)
        potentials = finish(scorer.steps(Instances(parts)))
        for x, y in zip(expected, potentials, strict=True):
            for role in tok2vec.ROLES:
                scores = getattr(x, role), getattr(y, role)
                np.testing.assert_allclose(*scores, rtol=1e-5, atol=1e-5)


def answers(nlp, texts):
    return [
        (triples(doc.ents), doc._.record_confidence, [x._.confidence for x in doc.ents])
        for doc in texts
    ]


@pytest.mark.parametrize("kind", [*KINDS, "tree"])
def test_the_same_wherever_it_is_read(kind, tmp_path):
    config = TREE if kind == "tree" else KINDS[kind]
    nlp = with_vectors(**config)
    fit_pairs(nlp, in_a_tree() if kind == "tree" else PAIRS, dev=None)
    texts = [TEXT, "", *(text for text, _ in PAIRS), "Ada"] * 3
    expected = answers(nlp, map(nlp, texts))
    assert any(spans for spans, *_ in expected)
    assert answers(nlp, nlp.pipe(texts, batch_size=5)) == expected
    nlp.to_disk(tmp_path)
    others = [spacy.load(tmp_path), pickle.loads(pickle.dumps(nlp))]
    for other in others:
        other.get_pipe("hosemi").threads = 2
        assert answers(other, other.pipe(texts)) == expected
    if kind in ("plain", "order 3"):
        pytest.importorskip("pyarrow")
        assert obstacle(nlp) is None
        rows = spacy_hosemi.extract(nlp, texts).to_pylist()
        confidences = [row["record_confidence"] for row in rows]
        assert confidences == [whole for _, whole, _ in expected]


def test_a_fit_at_its_end_and_any_number_of_threads():
    vectors = []
    for threads in (1, 2, 8):
        nlp = with_vectors()
        result = fit_pairs(nlp, tolerance=1e-12, threads=threads, encoder_factor=3.0)
        output = nlp.get_pipe("hosemi").model.get_ref("output")
        vectors.append((result.loss, output.get_param("W").tobytes()))
        assert output.get_param("W").any() and nlp.get_pipe("hosemi").state
    assert len({*vectors}) == 1


@pytest.mark.parametrize("config", [{}, TREE])
def test_scores_on_dev_end_a_fit(tmp_path, config):
    nlp, log = with_vectors(**config), tmp_path / "log.jsonl"
    pairs = in_a_tree() if config else PAIRS
    dev = [(text.replace("Ada", "Zoe"), spans) for text, spans in pairs]
    settings = {"l2": 30.0, "encoder_factor": 1e-3, "patience": 10, "tolerance": 0.0}
    result = fit_pairs(nlp, pairs, dev=dev, log=log, **settings)
    *_, last = (x["dev"]["ents_f"] for x in read_log(log) if "dev" in x)
    examples = [Example.from_dict(nlp.make_doc(x), {"entities": y}) for x, y in dev]
    scores = nlp.evaluate(examples)
    assert (result.reports[0].n_kept is None) == bool(config)
    assert scores["ents_f"] == last > 0.5


def test_explanations_add_up():
    nlp = fitted()
    pipe, doc = nlp.get_pipe("hosemi"), nlp(TEXT)
    families = set()
    for ent in doc.ents:
        explanation = pipe.explain(doc, (ent.start, ent.end, ent.label_))
        families |= {x.kind for x in explanation.contributions}
        total = sum(x.score for x in explanation.contributions)
        assert total == pytest.approx(explanation.difference, abs=1e-5)
    assert "encoder" in families
    assert any(x.words == "the vector of the token" for x in explanation.contributions)


def test_ligatures_and_spaces_are_read_clean():
    nlp = with_vectors(vectors=random_vectors([*WORDS, "office"]))
    fit_pairs(nlp)
    for clean, dirty in (
        ("office Ada", "o\ufb03ce Ada"),
        ("Ada  Paris", "Ada\xa0 Paris"),
    ):
        first, second = nlp(clean), nlp(dirty)
        assert first._.record_confidence == second._.record_confidence


CHANGES = [
    lambda vocab: setattr(vocab, "vectors", random_vectors(seed=1)),
    lambda vocab: setattr(vocab, "vectors", random_vectors(width=3)),
    lambda vocab: setattr(vocab, "vectors", random_vectors(WORDS[::-1])),
    lambda vocab: vocab.reset_vectors(),
    lambda vocab: vocab.prune_vectors(5),
    lambda vocab: vocab.vectors.resize((100, 5)),
    lambda vocab: vocab.set_vector("Zork", np.ones(5, "f")),
    lambda vocab: vocab.set_vector("Ada", np.ones(5, "f")),
]


@pytest.mark.parametrize("change", CHANGES)
def test_other_vectors_after_a_fit(change):
    """No word is read by them, and no model is saved that would not load."""
    nlp = fitted()
    expected = triples(nlp(TEXT).ents)
    change(nlp.vocab)
    assert triples(nlp(TEXT).ents) == expected
    calls = [nlp.to_bytes]
    if change is not CHANGES[-1]:  # in place
        calls += [lambda: nlp("Unread."), lambda: nlp.update(make_examples(nlp))]
    for call in calls:
        with pytest.raises(ValueError, match="HS390.*other word vectors"):
            call()
    sourced = spacy.blank("en")
    with pytest.warns(UserWarning, match="W113"):
        sourced.add_pipe("hosemi", source=nlp)
    with pytest.raises(ValueError, match="HS384.*no vectors"):
        sourced("Some more words.")


def interrupted(nlp, call):
    """Refits a component to other vectors; a thread calls, and the fit fails."""
    results = []

    def fit(batch):
        thread = Thread(target=lambda: results.append(call()), daemon=True)
        thread.start()
        thread.join(20)
        make_lbfgs(progress=False, l2=50.0)(batch)
        raise InterruptedError

    with pytest.raises(InterruptedError):
        nlp.get_pipe("hosemi").fit(PAIRS[:2], nlp=nlp, fit=fit)
    return results


@pytest.mark.parametrize("is_first", [True, False])
def test_within_a_fit_and_after_one_that_failed(is_first):
    """The model before it predicts, and has its vectors."""
    nlp = fitted()
    vectors, copy = nlp.vocab.vectors, pickle.loads(pickle.dumps(nlp))
    expected = answers(copy, [copy(TEXT)])
    if not is_first:
        nlp(TEXT)
    assert interrupted(nlp, lambda: answers(nlp, [nlp(TEXT)])) == [expected]
    nlp.vocab.vectors = random_vectors(width=3)
    interrupted(nlp, lambda: None)
    nlp.vocab.vectors = vectors
    again = spacy.blank("en").from_config(nlp.config).from_bytes(nlp.to_bytes())
    assert answers(again, [again(TEXT)]) == expected


def test_loading_over_other_vectors():
    nlp, plain = with_vectors(), make_nlp(nlp=use_field_tokenizer(spacy.blank("en")))
    fit_pairs(nlp)
    pipe, expected = nlp.get_pipe("hosemi"), answers(nlp, [nlp(TEXT)])
    tables = random_vectors(seed=1), random_vectors(WORDS[1:]), random_vectors(width=3)
    others = [with_vectors(vectors=table) for table in tables]
    for other in (plain, *others):
        fit_pairs(other)
        saved = other.get_pipe("hosemi").to_bytes()
        with pytest.raises(ValueError, match="HS062|HS390.*other word vectors"):
            pipe.from_bytes(saved, exclude=() if other is plain else ["vocab"])
        again = pickle.loads(pickle.dumps(nlp))
        assert answers(again, [again(TEXT)]) == expected
    pipe.from_bytes(saved)
    assert answers(nlp, [nlp(TEXT)]) == answers(other, [other(TEXT)])


@pytest.mark.parametrize("column", [0.0, 0.1, -1e30, 1e-39 * NOISE, 1e3 + NOISE])
def test_numbers_that_do_not_vary_get_no_weight(column):
    vectors, losses = random_vectors(), []
    for data in (vectors.data, np.insert(vectors.data, 2, column, axis=1)):
        nlp = with_vectors(vectors=type(vectors)(data=data, keys=[*vectors.keys()]))
        losses.append(fit_pairs(nlp).loss)
    output = nlp.get_pipe("hosemi").model.get_ref("output").get_param("W")
    assert losses[0] == pytest.approx(losses[1], rel=1e-6) and not output[:, 2].any()


def test_the_scores_of_a_word_are_computed_once(monkeypatch):
    nlp, words, products = (
        with_vectors(vectors=random_vectors(["ada", "Paris"])),
        [],
        [],
    )
    fit_pairs(nlp)

    def count(vocab, orths, most):
        words.extend(orths)
        for which, vectors in known_vectors(vocab, orths, most):
            products.append(len(vectors))
            yield which, vectors

    monkeypatch.setattr(tok2vec, "known_vectors", count)
    texts = [TEXT, "Ada ADA ada Paris paris was", TEXT]
    for confidence in (True, False, True):
        asked = {"hosemi": {"confidence": confidence}}
        [*nlp.pipe(texts * 3, batch_size=2, component_cfg=asked)]
    new = {token.text for text in texts for token in nlp(text)}
    assert len(words) == len(new)
    # Of words without a vector nothing is computed; of the others few at a time.
    assert sum(products) == sum(x.lower() == "ada" or x == "Paris" for x in new) < 5


def test_lower_case_and_unknown_words():
    nlp = with_vectors(vectors=random_vectors(["ada", "Paris", "a" * 10_000]))
    words = ["Ada", "ADA", "ada", "paris", "Paris", " ", "a" * 10_000, "A" * 10_000]
    vectors = vectors_of_words(nlp.vocab, Doc(nlp.vocab, words).to_array("ORTH"))
    known = np.abs(vectors).sum(axis=1) > 0
    assert known.tolist() == [True, True, True, False, True, False, True, True]
    assert (vectors[0] == vectors[2]).all() and (vectors[6] == vectors[7]).all()
    fit_pairs(nlp)
    assert nlp(" ").ents == nlp("").ents == ()


class Given:
    """A frozen tok2vec that gives what a test wants, and counts documents."""

    def __init__(self, make, **attrs):
        self.n_docs, self._make = 0, make
        self.model = Model("given", self.forward, dims={"nO": 3}, attrs=attrs)

    def forward(self, model, docs, is_train):
        self.n_docs += len(docs)
        return [self._make(doc) for doc in docs], lambda d_vectors: docs


def with_given(given, **config):
    nlp = spacy.blank("en")
    pipe = make_nlp(nlp=nlp, model=WORD_VECTORS, **config).get_pipe("hosemi")
    replace_model_node(pipe.model, pipe.model.get_ref("tok2vec"), given.model)
    return nlp


def numbers(doc):
    return np.array([[len(x), x.i, x.is_title] for x in doc], "f").reshape(-1, 3)


@pytest.mark.parametrize(
    "make, found",
    [
        (lambda doc: numbers(doc)[1:], r"\(8, 3\).*\(9, 3\)"),
        (lambda doc: numbers(doc)[:, :2], r"\(9, 2\).*\(9, 3\)"),
        (lambda doc: numbers(doc) * np.nan, "NaN"),
        (lambda doc: numbers(doc) / np.float32(0.0), "infinity"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_what_are_no_vectors(make, found):
    with pytest.raises(ValueError, match=f"HS389.*{found}"):
        fit_pairs(with_given(Given(make)))


def test_what_a_fit_takes():
    fit_pairs(with_given(Given(lambda doc: numbers(doc).astype(np.float16))))
    with pytest.raises(ValueError, match="HS384.*no vectors"):
        fit_pairs(make_nlp(nlp=spacy.blank("en"), model=WORD_VECTORS))
    with pytest.raises(ValueError, match="HS398.*averaged.*lbfgs"):
        initialize(with_vectors(), fit=averaged())
    with pytest.warns(UserWarning, match="HSW99.* 39 .*no word there has a vector"):
        fit_pairs(with_vectors(vectors=random_vectors(["Zork"])))


@pytest.mark.parametrize("number", [np.nan, np.inf, 1e30])
def test_no_numbers_for_a_word_that_training_has_not(number):
    vectors = random_vectors([*WORDS, "Zork"])
    vectors.data[-1] = number
    nlp = with_vectors(vectors=vectors)
    fit_pairs(nlp)
    with pytest.raises(ValueError, match="HS389.*NaN, infinity or too large.*'Zork'"):
        nlp("Ada met Zork.")


def test_each_number_of_a_large_table_counts():
    digests = set()
    for change in (0.0, 1e-3):
        vectors = random_vectors([*map(str, range(50_000))])
        vectors.data[12_346, 2] += change
        digests.add(digest_of_vectors(with_vectors(vectors=vectors).vocab))
    assert len(digests) == 2


@pytest.mark.parametrize("config", [{}, {"hierarchy": {}}])
@pytest.mark.parametrize("dev", [None, True])
def test_no_document_is_encoded_twice(config, dev, monkeypatch):
    """With a search, folds, a log of dev; documents of the same words once."""
    said = []
    monkeypatch.setattr(tok2vec, "_LONG", 0.0)
    monkeypatch.setattr(tok2vec.logger, "info", lambda *args: said.append(args[1]))
    if config:
        config = TREE
    given = Given(numbers, digest="x")
    pairs = in_a_tree(PAIRS * 3) if config else PAIRS * 3
    if dev:  # the same spans, and other words
        dev = [(text.replace("e", "i"), spans) for text, spans in pairs]
    fit_pairs(with_given(given, **config), pairs, l2="auto", dev=dev)
    assert said == ["39"] * (2 if dev else 1)
    assert given.n_docs <= N_SAMPLES + (2 if dev else 1) * len(PAIRS)


def test_interrupted_and_gone_on(tmp_path):
    path = tmp_path / "fit.npz"
    whole, part = with_vectors(), with_vectors()
    expected = fit_pairs(whole, tolerance=1e-10)
    interrupt_at(part.get_pipe("hosemi"), 30)
    settings = {"tolerance": 1e-10, "checkpoint": path}
    for _ in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = fit_pairs(part, **settings)
    assert result.loss == pytest.approx(expected.loss, rel=1e-6)
    with pytest.raises(ValueError, match="HS272.*vectors"):
        fit_pairs(with_vectors(vectors=random_vectors(seed=3)), **settings)


def test_a_listener():
    nlp = spacy.blank("en")
    upstream = nlp.add_pipe("tok2vec", config={"model": embedding()})
    make_nlp(nlp=nlp, model={"tok2vec": LISTENER})
    initialize(nlp)
    pipe, examples = nlp.get_pipe("hosemi"), make_examples(nlp)

    def fit():
        pipe.initialize(lambda: examples, nlp=nlp, fit=make_lbfgs(progress=False))

    with pytest.raises(ValueError, match="HS386.*'tok2vec', which is going to change"):
        fit()
    for name in ("frozen_components", "annotating_components"):
        nlp.config["training"][name] = ["tok2vec"]
    fit()
    assert pipe.model.get_ref("output").get_param("W").any()
    expected = [triples(eg.reference.ents) for eg in examples]
    assert [triples(nlp(eg.text).ents) for eg in examples] == expected
    nlp.remove_pipe("tok2vec")
    with pytest.raises(ValueError, match="HS386.*'\\*', which is not in front"):
        fit_pairs(nlp)
    new = nlp.add_pipe("tok2vec", config={"model": embedding()}, first=True)
    with pytest.raises(ValueError, match="HS386.*'tok2vec', which nobody has trained"):
        fit_pairs(nlp)
    new.model, new.set_annotations = upstream.model, lambda docs, vectors: None
    with pytest.raises(ValueError, match="HS389.*nothing but 0"):
        fit_pairs(nlp)


def test_training_goes_on_online():
    nlp = fitted()
    before = nlp.get_pipe("hosemi").model.get_ref("output").get_param("W").copy()
    table = nlp.vocab.vectors.data.copy()
    optimizer = nlp.resume_training()
    marked = ["She wrote to [NEW Acme].", *TRAIN]
    for _ in range(20):
        nlp.update(make_examples(nlp, marked), sgd=optimizer)
    after = nlp.get_pipe("hosemi").model.get_ref("output").get_param("W")
    assert before.shape != after.shape and (nlp.vocab.vectors.data == table).all()
    assert triples(nlp("She wrote to Acme.").ents) == [(3, 4, "NEW")]
