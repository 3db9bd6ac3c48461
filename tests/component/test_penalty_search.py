"""l2 = "auto" chooses by documents that the weights do not know."""

import json
import warnings
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, DocBin
from spacy.tokens import Span as DocSpan
from spacy.training import Example
from thinc.api import Config

from spacy_hosemi import use_field_tokenizer
from spacy_hosemi.component import penalty_search
from spacy_hosemi.component.folds import folds_of, words_of
from spacy_hosemi.component.judging import error_of_scores, f1_of
from spacy_hosemi.component.penalty_search import (
    DEFAULT,
    LEAST_DEV,
    PATH,
    SURE,
    PenaltySearch,
    Trial,
    decodings_of,
)
from spacy_hosemi.configs.compose import make_config
from spacy_hosemi.hierarchy.hierarchy import make_hierarchy
from spacy_hosemi.hierarchy.level_decodings import LEVEL_DECODINGS
from spacy_hosemi.prediction.decodings import DECODINGS, Decoding
from spacy_hosemi.prediction.flat_decoder import FlatDecoder
from spacy_hosemi.training.lbfgs import FitReport, make_lbfgs

from ..helpers import TRAIN as TRAIN_LINES
from ..helpers import (
    interrupt_at,
    make_batch,
    make_examples,
    make_nlp,
    make_trained,
    parse,
    run_spacy,
)

LINES = Path(__file__).parents[2].joinpath("corpus", "train.jsonl").read_text("utf8")
RECORDS = [json.loads(line) for line in LINES.splitlines()]
PAIRS = [(x["text"], [(*span,) for span in x["spans"]]) for x in RECORDS]
TRAIN, DEV = PAIRS[:20], PAIRS[40:70]


def blank(**config):
    nlp = use_field_tokenizer(spacy.blank("en"))
    nlp.add_pipe("hosemi", config=config)
    return nlp


def fit(nlp, pairs=TRAIN, **settings):
    settings = {"progress": False, "l2": "auto", **settings}
    return nlp.get_pipe("hosemi").fit(pairs, nlp=nlp, **settings)


def scores_of(nlp, pairs=DEV):
    """By hand: F1 and the share of exact documents."""
    right = found = gold = exact = 0
    for text, spans in pairs:
        own = {(x.start_char, x.end_char, x.label_) for x in nlp(text).ents}
        right += len(own & {*spans})
        found, gold = found + len(own), gold + len(spans)
        exact += own == {*spans}
    return 2 * right / (found + gold), exact / len(pairs)


@pytest.fixture(scope="module")
def chosen():
    """A fit that chose by dev, and how often it asked for a loss."""
    nlp = blank()
    n_calls = count_calls(nlp.get_pipe("hosemi"))
    return nlp, fit(nlp, dev=DEV), n_calls()


@pytest.fixture(scope="module")
def by_folds():
    nlp = blank()
    n_calls = count_calls(nlp.get_pipe("hosemi"))
    return nlp, fit(nlp), n_calls()


def count_calls(pipe):
    objective, n = pipe.objective, 0

    def counting(*args):
        nonlocal n
        n += 1
        return objective(*args)

    pipe.objective = counting
    return lambda: n


@pytest.fixture
def short_path(monkeypatch):
    """Two values of l2, where the choice between them is not what is tested."""
    init = PenaltySearch.__init__
    monkeypatch.setattr(init, "__defaults__", ((0.3, 0.1), *init.__defaults__[1:]))


def test_the_scores_are_those_of_the_model(chosen):
    nlp, result, _ = chosen
    best = next(x for x in result.trials if x["is_chosen"])
    # The last fit goes on from the chosen trial, and is pruned: two documents differ.
    expected = pytest.approx(scores_of(nlp), abs=2.1 / len(DEV))
    assert (best["ents_f"], best["ents_record_accuracy"]) == expected
    assert nlp.get_pipe("hosemi").decoding == best["decoding"]


def test_the_nearest_value_within_chance_is_chosen(chosen):
    trials = chosen[1].trials
    assert [x["l2"] for x in trials] == [*PATH[: len(trials)]]
    assert sum(x["is_chosen"] for x in trials) == 1


@pytest.mark.parametrize(
    "rights, tried, expected",
    [
        # By chance: 10 of 100 documents more or fewer.
        ([60, 60, 60, 60, 60, 60], 6, 0.1),
        ([60, 62, 60, 61, 60, 62], 6, 0.1),
        ([30, 40, 50, 60, 70, 80], 6, 0.03),
        ([80, 79, 60, 90, 90, 90], 3, 3.0),
        ([60, 80, 80, 79, 60, 90], 5, 0.3),
        ([10, 20, 80, 60, 90, 90], 4, 1.0),
    ],
)
def test_choice(monkeypatch, rights, tried, expected):
    nlp = blank()
    scores, said = dict(zip(PATH, rights)), list[str]()

    def made(search, l2, folds, bar):
        right = np.random.default_rng(0).permutation(100) < scores[l2]
        right = np.roll(right, PATH.index(l2))
        counts = np.stack([right, 0 * right + 1, 0 * right + 1, 0 * right + 1], 1)
        trial = Trial(l2, "viterbi", None, counts)
        return trial, FitReport(1, 0.0, 1, True, "", 0.0)

    monkeypatch.setattr(PenaltySearch, "_try", made)
    monkeypatch.setattr(PenaltySearch, "_say", lambda search, text: said.append(text))
    trials = fit(nlp, max_iter=1, dev=DEV).trials
    assert len(trials) == tried
    assert next(x["l2"] for x in trials if x["is_chosen"]) == expected
    best, own = max(rights[:tried]), scores[expected]
    top = PATH[rights.index(best)]
    why = f"{own:.2f}, is within chance of {best:.2f} of l2 {top:g},"
    assert "of dev, trials at 10 times the tolerance: l2" in said[-1]
    assert said[-1].endswith("; the best") if own == best else why in said[-1]


def test_the_path_ends_where_one_l2_alone_does(chosen):
    """Warm starts change the way, not the end: the objective is convex."""
    best = next(x for x in chosen[1].trials if x["is_chosen"])
    alone = fit(blank(), l2=best["l2"], tolerance=1e-7)
    assert chosen[1].loss == pytest.approx(alone.loss, rel=0.01)


@pytest.mark.parametrize(
    "config, settings, expected",
    [
        # What is not to be chosen stays; tags have no mbr.
        (
            {"decoding": "mbr", "expected_f1": 0.7},
            {"choose_decoding": False},
            {("mbr", 0.7)},
        ),
        ({"encoding": "BIO"}, {"dev": DEV}, {("viterbi", None)}),
    ],
)
def test_decodings_that_are_not_chosen(short_path, config, settings, expected):
    trials = fit(blank(**config), **settings).trials
    assert {(x["decoding"], x["expected_f1"]) for x in trials} == expected


def test_a_rule_of_decoding_needs_one_entry(monkeypatch):
    """It is tried, and predicts; labels in a tree need one of their own."""
    rule = Decoding("other", "", False, False, DECODINGS["viterbi"].steps)
    monkeypatch.setitem(DECODINGS, "other", rule)
    monkeypatch.delitem(LEVEL_DECODINGS, "mbr")
    nlp = make_trained()
    decoder, doc = (
        nlp.get_pipe("hosemi").decoder,
        nlp.make_doc(parse(TRAIN_LINES[0])[0]),
    )
    options = decoder.options._replace(decoding="other")
    other = FlatDecoder(decoder.state, options, decoder.scorer)
    assert other.predict([doc])[0].spans == decoder.predict([doc])[0].spans != []
    tree = options._replace(hierarchy=make_hierarchy())
    rest = [x for x in DECODINGS if x != "other"]
    of_tags = [x for x in rest if DECODINGS[x].decodes_tags]
    of_trees = [x for x in rest if x in LEVEL_DECODINGS]
    for expected, args in (
        (["other", *rest], (options, "segments", True)),
        (["other"], (options, "segments", False)),
        (["other", *of_tags], (options, "BIO", True)),
        (["other", *of_trees], (tree, "segments", True)),
    ):
        assert [*dict.fromkeys(x for x, _ in decodings_of(*args))] == expected
    with pytest.raises(ValueError, match="HS118.*decoding one of viterbi.*'mbr'"):
        blank(hierarchy={"@misc": "spacy_hosemi.hierarchy.v1"}, decoding="mbr")


@pytest.mark.filterwarnings("ignore")
def test_sentences_are_judged_by_document(short_path):
    nlp = blank(scope="sents")
    nlp.add_pipe("sentencizer", before="hosemi")
    trials = fit(nlp).trials
    assert len(trials) == 2 and all(0 < x["ents_f"] <= 1 for x in trials)


def test_what_was_tried_is_saved(chosen, tmp_path):
    nlp, result, _ = chosen
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path).get_pipe("hosemi")
    assert [*map(dict, loaded.facts.trials)] == [*map(dict, result.trials)]
    assert loaded.facts.judged_by == "30 documents of dev"
    assert loaded.decoding == nlp.get_pipe("hosemi").decoding


def test_by_config(tmp_path):
    for name, pairs in (("train", TRAIN), ("dev", DEV)):
        nlp = use_field_tokenizer(spacy.blank("en"))
        docs = []
        for text, spans in pairs:
            doc = nlp(text)
            doc.ents = [doc.char_span(*x) for x in spans if doc.char_span(*x)]
            docs.append(doc)
        DocBin(docs=docs).to_disk(tmp_path / f"{name}.spacy")
    (tmp_path / "a.cfg").write_text(make_config())
    run_spacy(
        *("train", str(tmp_path / "a.cfg"), "--output", str(tmp_path / "model")),
        *("--paths.train", str(tmp_path / "train.spacy")),
        *("--paths.dev", str(tmp_path / "dev.spacy")),
    )
    nlp = spacy.load(tmp_path / "model" / "model-last")
    assert nlp.get_pipe("hosemi").facts.judged_by == "30 documents of dev"


@pytest.mark.filterwarnings("ignore")
def test_a_config_without_dev_chooses_by_folds(short_path):
    config = Config().from_str(make_config())
    nlp = spacy.util.load_model_from_config(config, auto_fill=True)
    nlp.initialize(lambda: [example_of(nlp, *x) for x in TRAIN])
    facts = nlp.get_pipe("hosemi").facts
    assert facts.judged_by == "folds" and len(facts.trials) == 2


def test_a_dev_of_training_documents_does_not_count(by_folds):
    """And without dev the choice is the same each time."""
    nlp = blank()
    with pytest.warns(UserWarning, match="HSW76.* 6 of 11 "):
        result = fit(nlp, dev=[*TRAIN[:6], *DEV[:5]])
    assert nlp.get_pipe("hosemi").facts.judged_by == "folds"
    assert result.trials == by_folds[1].trials and len(result.trials) > 1


def test_few_documents_that_come_again_count(short_path):
    """As they will in use."""
    nlp = blank()
    fit(nlp, dev=[*TRAIN[:5], *DEV[:5]])
    assert nlp.get_pipe("hosemi").facts.judged_by == "10 documents of dev"


@pytest.mark.parametrize("spans", [[], [(0, 2, "other")]])
def test_a_dev_without_labels_of_train(short_path, spans):
    nlp = blank()
    with pytest.warns(UserWarning, match="HSW78.*1 documents of dev"):
        result = fit(nlp, dev=[("No field.", spans)])
    assert nlp.get_pipe("hosemi").facts.judged_by == "folds" and result.trials


def test_the_decoding_of_the_config_is_what_others_must_beat():
    """With few iterations the differences are within chance."""
    settings = {"decoding": "mbr", "expected_f1": 0.6}
    found = fit(blank(**settings), dev=DEV[:3], max_iter=2).trials
    assert {x["decoding"] for x in found[:1]} == {"mbr"}
    assert found[0]["expected_f1"] == 0.6


def trials_only(path, **settings):
    """A search that leaves no weights."""
    fit = make_lbfgs("auto", progress=False, choose_decoding=False)
    return PenaltySearch(fit, path, n_folds=2, has_last_fit=False, **settings)


def test_trials_only():
    """The counts of each training document, by weights that do not know it."""
    only = trials_only([1.0, 0.5])
    blank_nlp = blank()
    blank_nlp.get_pipe("hosemi").fit(TRAIN, nlp=blank_nlp, fit=only)
    assert [x.value for x in only.trials] == [1.0, 0.5]
    for trial in only.trials:
        assert trial.counts[:, 2].tolist() == [len(spans) for _, spans in TRAIN]
    other = trials_only([1.0], seed=7)
    blank_nlp.get_pipe("hosemi").fit(TRAIN, nlp=blank_nlp, fit=other)
    assert (other.trials[0].counts != only.trials[0].counts).any()


def in_tree(pairs):
    """Labels of two levels."""
    above = {"author": "who", "editor": "who", "date": "when"}
    return [
        (text, [(i, j, f"{above.get(y, 'what')}/{y}") for i, j, y in spans])
        for text, spans in pairs
    ]


@pytest.mark.parametrize("exact_up_to", [140, 0])
def test_labels_in_a_tree_are_judged_at_the_leaves(short_path, exact_up_to):
    hierarchy = {"@misc": "spacy_hosemi.hierarchy.v1", "exact_up_to": exact_up_to}
    nlp, other = (blank(hierarchy=hierarchy, max_order=1) for _ in range(2))
    train, dev = in_tree(TRAIN), in_tree(DEV)
    result = fit(nlp, train, dev=dev, choose_decoding=False)
    assert len(result.reports) == 2 and len(result.trials) == 2
    best = next(x for x in result.trials if x["is_chosen"])
    # The last fit goes on from the chosen trial, to a smaller tolerance.
    assert best["ents_f"] == pytest.approx(scores_of(nlp, dev)[0], abs=0.03)
    alone = fit(other, train, l2=best["l2"])
    assert result.loss == pytest.approx(alone.loss, rel=0.01)


def test_folds_of_labels_in_a_tree():
    hierarchy = {"@misc": "spacy_hosemi.hierarchy.v1"}
    nlp = blank(hierarchy=hierarchy, max_order=1)
    only = trials_only([1.0, 0.3])
    nlp.get_pipe("hosemi").fit(in_tree(TRAIN), nlp=nlp, fit=only)
    for trial in only.trials:
        assert trial.counts[:, 2].tolist() == [len(spans) for _, spans in TRAIN]
        assert 0.3 < trial.f1 < 1.0


def test_outside_of_the_component():
    nlp = make_nlp()
    with pytest.raises(ValueError, match="HS290"):
        make_lbfgs("auto")(make_batch(fitted_pipe(nlp), make_examples(nlp)))


def fitted_pipe(nlp):
    nlp.initialize(lambda: make_examples(nlp))
    return nlp.get_pipe("hosemi")


def test_nothing_to_judge_by():
    nlp = blank()
    with pytest.warns(UserWarning, match=f"HSW70.*l2 is {DEFAULT}"):
        result = fit(nlp, TRAIN[:1])
    alone = fit(blank(), TRAIN[:1], l2=DEFAULT)
    assert result.loss == alone.loss and result.trials == ()


def test_a_small_dev_is_no_judge(by_folds):
    result = fit(blank(), dev=DEV[: LEAST_DEV - 1])
    assert result.trials == by_folds[1].trials


def test_a_dev_of_one_document_is_never_sure(monkeypatch):
    """The value nearest to the default, with the decoding of the component."""
    monkeypatch.setattr(penalty_search, "LEAST_DEV", 1)
    result = fit(blank(), dev=DEV[:1])
    chosen = next(x for x in result.trials if x["is_chosen"])
    assert (chosen["l2"], chosen["decoding"]) == (DEFAULT, "viterbi")


def test_one_document_that_differs_is_chance():
    """Whatever the others are."""
    counts = np.full((50, 4), 3)
    counts[:, 3] = 1
    other = counts.copy()
    other[7, 0] -= 1
    one, two = (Trial(1.0, "viterbi", None, x) for x in (counts, other))
    gain = one.score - two.score
    assert 0 < gain <= SURE * error_of_scores(counts, other)


@pytest.mark.parametrize("dev, shares", [(None, [0.3]), (DEV, [0.3, 0.61, 0.7])])
def test_ctrl_c_on_the_path(chosen, by_folds, dev, shares):
    """The search ends at once with the best so far; nothing is judged by half a fit."""
    _, result, n_calls = chosen if dev else by_folds
    expected = [x["ents_f"] for x in result.trials]
    for share in shares:
        nlp = blank()
        interrupt_at(nlp.get_pipe("hosemi"), int(share * n_calls))
        with pytest.warns(UserWarning, match="HSW77|HSW60"):  # HSW60: the last fit
            result = fit(nlp, dev=dev)
        assert result.reason == "interrupted" and not result.is_converged
        found = [x["ents_f"] for x in result.trials]
        assert found == expected[: len(found)]
        assert len(found) < len(expected) and scores_of(nlp)[0] > 0.3


def test_ctrl_c_at_the_first_step_of_the_last_fit():
    """There is no iteration yet, but there are the weights of the best trial."""
    nlp = blank()
    hosemi, n_calls = nlp.get_pipe("hosemi"), count_calls(nlp.get_pipe("hosemi"))
    fit(nlp, dev=DEV, max_iter=1)
    # Each minimization evaluates the start and one step.
    assert n_calls() % (2 * len(TRAIN)) == 0
    other = blank()
    interrupt_at(other.get_pipe("hosemi"), n_calls() - 2 * len(TRAIN) + 5)
    result = fit(other, dev=DEV, max_iter=1)
    assert result.reason == "interrupted" and len(result.trials) > 1
    assert scores_of(other)[0] > 0.1 and hosemi.facts.judged_by


def test_trials_do_not_warn_of_the_limit():
    """The last fit does."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(blank(), dev=DEV, max_iter=2)
    assert [str(x.message)[:7] for x in caught] == ["[HSW61]"]


def test_border_factor_is_two_families():
    ratio = {"start": 0.6, "end": 0.6}
    families = dict.fromkeys(make_lbfgs(0.2).l2, 0.2)
    ratio["encoder"] = 0.2 * 30.0  # encoder_factor
    assert make_lbfgs(0.2, border_factor=3.0).l2 == pytest.approx({**families, **ratio})
    auto = make_lbfgs("auto", border_factor=3.0)
    for is_final in (False, True):
        at = auto.at(0.2, is_final=is_final)
        assert at.l2 == pytest.approx({**families, **ratio})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tokenize", [use_field_tokenizer, lambda nlp: nlp])
def test_scores_are_those_of_evaluate(short_path, tokenize, monkeypatch):
    """With gold that no tokens reach, and with entities that were there before."""
    nlp = tokenize(spacy.blank("en"))
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "date", "pattern": [{"TEXT": {"REGEX": "^19"}}]}])
    hosemi = nlp.add_pipe("hosemi")
    train, dev = (glued(nlp, x, is_ruled=True) for x in (TRAIN, DEV))
    # The last fit keeps the weights of the chosen trial.
    monkeypatch.setattr(PenaltySearch, "_fit_last", keep_weights)
    result = hosemi.fit(train, dev=dev, nlp=nlp, l2="auto", progress=False)
    scores = nlp.evaluate(glued(nlp, DEV, is_ruled=False))
    best = next(x for x in result.trials if x["is_chosen"])
    assert best["ents_f"] == pytest.approx(scores["ents_f"])
    records = pytest.approx(scores["ents_record_accuracy"])
    assert best["ents_record_accuracy"] == records


def keep_weights(search, batch):
    batch.weights.round()
    return search._first_report


def glued(nlp, pairs, *, is_ruled):
    start = "see 1950;59(236):433-460 in "
    examples = []
    for text, spans in pairs:
        moved = [(i + len(start), j + len(start), y) for i, j, y in spans]
        reference = nlp.make_doc(start + text)
        characters = Doc(nlp.vocab, [*reference.text], [False] * len(reference.text))
        ents = [(4, 8, "date"), *moved]
        characters.ents = [DocSpan(characters, *span) for span in ents]
        predicted = nlp.make_doc(start + text)
        if is_ruled:
            predicted = nlp.get_pipe("entity_ruler")(predicted)
        examples.append(Example(predicted, characters))
    return examples


def test_a_failing_dev_leaves_the_component_as_it_was(chosen):
    nlp = deepcopy(chosen[0])
    hosemi = nlp.get_pipe("hosemi")
    before = [ent.text for ent in nlp(DEV[0][0]).ents]
    examples = [example_of(nlp, *x) for x in DEV]
    settings = {"nlp": nlp, "fit": make_lbfgs("auto", progress=False)}
    for dev in (lambda _: None, lambda _: DEV):
        with pytest.raises(TypeError, match="HS231|E978"):
            hosemi.initialize(lambda: examples, dev=dev, **settings)
        assert [ent.text for ent in nlp(DEV[0][0]).ents] == before != []


# --- parts --------------------------------------------------------------------------


def test_parts_of_a_batch_add_up():
    nlp = blank()
    fit(nlp, l2=1.0)
    pipe = nlp.get_pipe("hosemi")
    batch = make_batch(pipe, [example_of(nlp, *x) for x in TRAIN])
    value, gradient = batch.value_and_gradient()
    some, others = [*range(0, 20, 3)], [k for k in range(20) if k % 3]
    parts = [batch.part(x).value_and_gradient() for x in (some, others)]
    assert sum(x for x, _ in parts) == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(sum(x for _, x in parts), gradient, atol=1e-9)
    alone = make_batch(pipe, [example_of(nlp, *TRAIN[k]) for k in some])
    np.testing.assert_allclose(parts[0][1], alone.value_and_gradient()[1], atol=1e-9)


def example_of(nlp, text, spans):
    return Example.from_dict(nlp.make_doc(text), {"entities": spans})


def test_documents_with_the_same_words_share_a_fold():
    nlp = spacy.blank("en")
    docs = [*nlp.pipe(f"word {k % 10}" for k in range(30))]
    words = [words_of(doc) for doc in docs]
    numbers = folds_of(words, 3, 0)
    assert {*numbers} == {0, 1, 2}
    assert numbers == folds_of(words, 3, 0) != folds_of(words, 3, 1)
    assert all(numbers[k] == numbers[k % 10] for k in range(30))
    sizes = np.bincount(numbers[:10])
    assert sizes.max() - sizes.min() <= 1


def test_error_of_a_difference_is_that_of_a_bootstrap():
    rng = np.random.default_rng(0)
    gold = rng.integers(1, 8, 300)
    one, other = (
        np.stack([right, rng.binomial(gold - right, 0.5) + right, gold, gold], 1)
        for right in (rng.binomial(gold, 0.8), rng.binomial(gold, 0.7))
    )
    draws = rng.integers(0, 300, (4000, 300))
    differences = [f1_of(one[x]) - f1_of(other[x]) for x in draws]
    expected = pytest.approx(np.std(differences), rel=0.1)
    incomplete = [np.where([1, 1, 1, 0], x, 0) for x in (one, other)]  # F1 alone
    assert error_of_scores(*incomplete) == expected
    assert error_of_scores(incomplete[0], incomplete[0]) == 0.0
    scores = [Trial(1.0, "viterbi", None, x) for x in (one, other)]
    differences = [score_of(one[x]) - score_of(other[x]) for x in draws]
    assert error_of_scores(one, other) == pytest.approx(np.std(differences), rel=0.1)
    difference = score_of(one) - score_of(other)
    assert scores[0].score - scores[1].score == pytest.approx(difference)


def score_of(counts):
    exact = (counts[:, 0] == counts[:, 1]) & (counts[:, 0] == counts[:, 2])
    return (f1_of(counts) + exact.mean()) / 2
