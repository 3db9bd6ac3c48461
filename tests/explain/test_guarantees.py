"""Thresholds that keep a promise: the tests behind them, the command, and `parse`."""

import csv
import io
import re
import warnings
from dataclasses import asdict, replace

import numpy as np
import pytest
import spacy
import srsly
from scipy.stats import binom
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

from spacy_hosemi.component import training_summary
from spacy_hosemi.component.extraction import ReviewMarks
from spacy_hosemi.component.fingerprint import fingerprint, guarantee_in_force
from spacy_hosemi.component.judging import DocumentResult
from spacy_hosemi.component.training_summary import TrainingTexts, read_texts
from spacy_hosemi.explain.error_bounds import ErrorBound, check_results, guarantee_spans
from spacy_hosemi.explain.guarantees import (
    choose_for_records,
    choose_for_spans,
    least_sample,
)
from spacy_hosemi.formats.records import ExtractedField, ExtractedRecord, Segmentation
from spacy_hosemi.labels.alignment import read_annotations
from spacy_hosemi.prediction.guarantee import GUARANTEE, Guarantee, SpanLimit, Usual
from spacy_hosemi.values import Unfit

from ..helpers import as_json, hosemi, make_nlp, make_trained, references, said
from ..hierarchy.test_component import make_tree_nlp

# --- the tests behind them --------------------------------------------------------


@pytest.mark.parametrize(
    "error, delta, n", [(0.01, 0.05, 299), (0.05, 0.05, 59), (0.1, 0.1, 22)]
)
def test_least_sample(error, delta, n):
    assert least_sample(error, delta) == n
    assert (1 - error) ** n <= delta < (1 - error) ** (n - 1)
    ones, none = np.ones(n), np.zeros(n, bool)
    assert choose_for_records(ones, none, error, delta).n_accepted == n
    assert choose_for_records(ones[1:], none[1:], error, delta).threshold is None


def by_hand(confidence, is_wrong, error, delta):
    """The same, threshold by threshold."""
    n, least = len(confidence), None
    first = least_sample(error, delta)
    if delta >= binom.cdf(1, n // 5, error):
        first = next(k for k in range(n) if binom.cdf(1, k, error) <= delta)
    for threshold in sorted({*confidence}, reverse=True):
        accepted = confidence >= threshold
        k = accepted.sum()
        if k < max(first, n / 10):
            continue
        if binom.cdf(is_wrong[accepted].sum(), k, error) > delta:
            break
        least = threshold
    return least


@pytest.mark.parametrize("decimals", [1, 2, 10])
def test_records_by_hand(decimals):
    """Whatever the number of ties; the threshold lies between two probabilities."""
    rng = np.random.default_rng(0)
    for n in (60, 200, 500):
        for error in (0.05, 0.1, 0.3):
            p = np.round(rng.beta(3, 0.5, n), decimals)
            is_wrong = rng.random(n) > p
            found = choose_for_records(p, is_wrong, error, 0.1)
            expected = by_hand(p, is_wrong, error, 0.1)
            assert (found.threshold is None) == (expected is None)
            accepted = p >= (2.0 if expected is None else found.threshold)
            assert (accepted == (p >= (2.0 if expected is None else expected))).all()
            assert found.n_accepted == accepted.sum()
            assert found.n_wrong == is_wrong[accepted].sum()


def test_impossible_answers_are_not_accepted():
    """Where all may be wrong, those of probability 0 still need an eye."""
    p = np.append(np.linspace(0.9, 0.8, 100), np.zeros(100))
    found = choose_for_records(p, np.zeros(200, bool), 0.3, 0.1)
    assert found.n_accepted == 100 and found.threshold > 0
    found = choose_for_spans(np.arange(200), p, np.zeros(200, bool), 200, 0.3, 0.1)
    assert found.threshold > 0


def test_records_that_would_do():
    """More of the same pass; where all are wrong, none would."""
    p, is_wrong = np.linspace(1, 0.5, 200), np.arange(200) % 50 == 49
    found = choose_for_records(p, is_wrong, 0.03, 0.05)
    assert found.threshold is None and 200 < found.n_needed < 5000
    times = -(-3 * found.n_needed // 200)
    more = choose_for_records(np.tile(p, times), np.tile(is_wrong, times), 0.03, 0.05)
    assert more.threshold is not None
    none = choose_for_records(p, np.ones(200, bool), 0.03, 0.05)
    assert none.threshold is None and none.n_needed is None


def spans_of(rng, n, shares_fate, low=6.0):
    """Spans of n records with true probabilities, equal within a record or not."""
    record = np.repeat(np.arange(n), rng.integers(1, 6, n))
    size = n if shares_fate else len(record)
    p = rng.beta(low, 0.4, size)
    draw = rng.random(size)
    if shares_fate:
        p, draw = p[record], draw[record]
    return record, p, draw > p, n


@pytest.mark.parametrize("shares_fate", [True, False])
def test_spans_keep_their_promise(shares_fate):
    """Also where all spans of a record are wrong together."""
    rng = np.random.default_rng(1)
    _, p, is_wrong, _ = spans_of(rng, 50_000, shares_fate)
    risks, shares = [], []
    for k in range(200):
        found = choose_for_spans(*spans_of(rng, 600, shares_fate), 0.05, 0.1, seed=k)
        accepted = p >= (2.0 if found.threshold is None else found.threshold)
        risks.append(is_wrong[accepted].mean() if accepted.any() else 0.0)
        shares.append(accepted.mean())
    assert np.mean(np.array(risks) > 0.05) <= 0.1
    assert np.mean(shares) > 0.4 * (p > 0.85).mean()


@pytest.mark.parametrize("error", [0.2, 0.3])
def test_spans_far_below_the_promise(error):
    """Where hardly any span is wrong, the most probable one may be."""
    rng, n_spans = np.random.default_rng(3), 600
    record = np.arange(n_spans) // 3
    for k in range(50):
        p, is_wrong = rng.random(n_spans), rng.random(n_spans) < 0.02
        is_wrong[np.argmax(p)] = True
        args = record, p, is_wrong, n_spans // 3, error, 0.05
        found = choose_for_spans(*args, seed=k)
        assert found.n_accepted > 0.8 * found.n_tested


def test_spans_that_are_wrong():
    """No threshold, where the most probable ones are wrong, or where there are few."""
    rng = np.random.default_rng(2)
    record, p, is_wrong, n = spans_of(rng, 600, False)
    assert choose_for_spans(record, p, ~is_wrong, n, 0.05, 0.05).threshold is None
    few = [x[record < 20] for x in (record, p, is_wrong)]
    assert choose_for_spans(*few, 20, 0.05, 0.05).threshold is None
    empty = np.empty(0, int), np.empty(0), np.empty(0, bool)
    assert choose_for_spans(*empty, 600, 0.05, 0.05).n_needed is None
    right = choose_for_spans(record, p, np.zeros(len(p), bool), n, 0.05, 0.05)
    assert right.n_accepted > 0.9 * right.n_tested and right.n_wrong == 0


# --- the setting ------------------------------------------------------------------

USUAL = Usual(0.625, 100, 400)
OF_RECORDS = Guarantee(0.01, 0.05, "x", 400, 300, 0.9, usual=USUAL)
LIMITS = SpanLimit("PER", 0.8, 2), SpanLimit("a:b", 0.5, 1)
OF_SPANS = Guarantee(0.02, 0.05, "x", 400, 300, None, LIMITS)


def test_the_verdict_of_a_record_whose_fields_have_some():
    fields = [ExtractedField(k, k + 1, y, "x", 0.5) for k, y in enumerate("abca")]
    record = ExtractedRecord(1, "xxxx", Segmentation(fields, 0.5))
    assert record.advice is None
    assert replace(record, verdict="review").advice == "review"
    for verdicts, advice in [
        (["accept"] * 4, "accept"),
        (["review", "accept", "review", "review"], "review: a, c"),
    ]:
        assert replace(record, verdicts=verdicts).advice == advice


def test_verdicts():
    verdicts = [OF_RECORDS.of_record(p) for p in (0.95, 0.9, 0.8999, None)]
    assert verdicts == ["accept", "accept", "review", "review"]
    spans = [("PER", 0.9), ("PER", 0.85), ("PER", 0.95), ("a:b", 0.5), ("LOC", 1.0)]
    expected = ["accept", "review", "accept", "accept", "review"]
    assert OF_SPANS.of_spans(spans) == expected
    assert OF_SPANS.of_spans([("PER", None), ("PER", 0.79)]) == ["review", "review"]
    assert OF_SPANS.of_record(1.0) == "review"


@pytest.mark.parametrize("given", [OF_RECORDS, OF_SPANS])
def test_what_a_config_has(given):
    kind, cfg = GUARANTEE, given.to_cfg()
    assert kind.read(srsly.json_loads(srsly.json_dumps(cfg))) == given
    bad = [
        {},
        {"version": 2},
        {"error": 0.0},
        {"digest": ""},
        {"n_tested": -1},
        {"record_threshold": None, "span_limits": []},
        {"record_threshold": None, "span_limits": [["PER", 0.5]]},
        {"record_threshold": 0.5, "span_limits": [["PER", 0.5, 1]]},
        {"usual": 0.5},
        {"usual": [0.5, 3]},
        {"usual": [1.5, 1, 3]},
        {"usual": [0.5, 4, 3]},
    ]
    for change in bad:
        with pytest.raises(Unfit):
            kind.read({**cfg, **change} if change else {"version": 1})


def test_a_model_of_early_versions():
    """Without what is usual nothing is said to depart from it."""
    cfg = OF_RECORDS.to_cfg()
    del cfg["usual"]
    assert GUARANTEE.read(cfg) == replace(OF_RECORDS, usual=None)
    assert not replace(OF_RECORDS, usual=None).departs(100, 100)


def test_texts_that_depart():
    assert not OF_RECORDS.departs(100, 25) and not OF_RECORDS.departs(100, 30)
    assert OF_RECORDS.departs(100, 50) and OF_RECORDS.departs(1000, 10)
    assert not OF_RECORDS.departs(0, 0)
    record = ExtractedRecord(1, "x", Segmentation([], 0.3))
    marker = ReviewMarks(OF_RECORDS)
    assert {x.verdict for x in marker.mark([record] * 200)} == {"review"}
    assert "0 of 200 records need no eye" in marker.summary()
    said = "100.0 % of the records up to line 1 (100.0 % of all) are less probable"
    assert f"Warning: {said}" in marker.summary()
    assert ReviewMarks(None).summary() == ReviewMarks(OF_RECORDS).summary() == ""


def test_texts_that_depart_where_all_is_accepted():
    """A lax promise accepts everything; others are known by what is usual."""
    fields = [ExtractedField(0, 3, "PER", "Ada", 0.3)]
    record = ExtractedRecord(1, "Ada", Segmentation(fields, 0.2))
    lax = replace(OF_RECORDS, record_threshold=0.0, n_accepted=400)
    of_spans = replace(OF_SPANS, span_limits=(SpanLimit("", 0.0, 9),), usual=USUAL)
    for guarantee, what in ((lax, "records"), (of_spans, "fields")):
        marker = ReviewMarks(guarantee)
        assert {x.advice for x in marker.mark([record] * 50)} == {"drift"}
        assert f"0 of 50 {what} need no eye" in marker.summary()
        assert "Warning: 100.0 %" in marker.summary()


def test_drift_is_marked_from_where_it_is_seen():
    good = ExtractedRecord(0, "x", Segmentation([], 0.99))
    bad = ExtractedRecord(1, "x", Segmentation([], 0.3))
    marker = ReviewMarks(replace(OF_RECORDS, record_threshold=0.2))
    written: list[int] = []
    records = [good, good, good, bad] * 250 + [bad] * 1000 + [good]
    verdicts = [x.verdict for x in marker.mark(records, written.append)]
    assert verdicts == ["accept"] * 1000 + ["drift"] * 1001 and written == [1, 1, 0]
    report = marker.report()
    assert report["n_judged"] == 2001 and report["n_accepted"] == 1000
    assert report["drift"]["has_drifted"] and report["drift"]["usual_share"] == 0.25
    assert (report["drift"]["line"], report["drift"]["share_up_to_line"]) == (1, 0.625)
    assert "62.5 % of the records up to line 1 (" in marker.summary()
    assert "(less sure than usual)" in marker.summary()
    marker = ReviewMarks(OF_RECORDS)
    first = ExtractedRecord(7, "", Segmentation([], 1.0))
    assert next(marker.mark([first, *[good] * 999, bad])).verdict == "review"
    assert "Are they known lines?" in marker.summary() and marker.counts["blank"] == 1
    assert report["judged"] == "records" and report["without_fields"] == 2001


def test_what_is_no_single_record():
    """Two records in a line, and one of a hundred training documents: `parse` accepts
    neither, however sure it is."""
    docs = new_references(120)
    gold = read_annotations([Example(doc.copy(), doc) for doc in docs], None)
    facts = training_summary.summarize(docs, gold, "hosemi")
    shapes = [([x.label_ for x in doc.ents], doc.text) for doc in docs]
    assert sum(facts.is_unusual(*shape) for shape in shapes) <= 1
    labels, text = shapes[0]
    for odd in ((2 * labels, 2 * text), ([], text), (labels, text[:5]), (["PER"], "x")):
        assert facts.is_unusual(*odd)
    saved = srsly.json_loads(srsly.json_dumps(asdict(facts)))
    assert training_summary.read_summary(saved) == facts
    pipe = make_trained().get_pipe("hosemi")
    pipe.facts, pipe.guarantee = facts, replace(OF_RECORDS, record_threshold=0.1)
    for doc, expected in ((docs[0], ["review"]), (Doc(pipe.vocab), [])):
        assert pipe.verdicts(doc) == expected
    given = Doc(pipe.vocab, words=[31 * "x"])  # its text has a space at the end
    assert training_summary._shape([], given.text)[""] == 5
    few = training_summary.summarize(docs[:99], gold[:99], "hosemi")
    assert not few.shape and not few.is_unusual([], "")
    for threshold, limits in ((0.0, ()), (None, (SpanLimit("", 0, 9),))):
        lax = replace(OF_RECORDS, record_threshold=threshold, span_limits=limits)
        for is_odd, expected in ((False, {"accept"}), (True, {"review"})):
            scored = lax.judged([("PER", 0.9), ("LOC", 0.4)], 0.3, is_odd)
            given = (
                {lax.of_record(scored[0][1])}
                if lax.is_of_records
                else {*lax.of_spans(scored)}
            )
            assert given == expected
    marker = ReviewMarks(replace(OF_RECORDS, usual=None), facts=facts)
    fields = [ExtractedField(0, 1, y, "x", 0.99) for y in labels]
    once = ExtractedRecord(1, docs[0].text, Segmentation(fields, 0.99))
    twice = ExtractedRecord(1, 2 * docs[0].text, Segmentation(2 * fields, 0.99))
    records = [once, twice]
    assert [x.verdict for x in marker.mark(20 * records)] == 20 * ["accept", "review"]
    assert (
        "Warning: 20 of 40 lines are unlike a single record of the training (line "
        in marker.summary()
    )
    assert marker.report()["unusual"] == 20
    few = ReviewMarks(marker._guarantee, facts=facts)  # 3 % are as usual
    assert len([*few.mark(970 * [once] + 30 * [twice])]) == 1000
    assert few.report()["unusual"] == 30 and "Warning" not in few.summary()


def test_training_texts(monkeypatch):
    monkeypatch.setattr(training_summary, "MOST_SAVED", 50)
    few, many = TrainingTexts(), TrainingTexts()
    few.add(["In Paris .", "Łódź"])
    assert few.has("In  Paris.") and not few.has("in Paris.")
    assert read_texts(few.to_cfg()).has("Łódź")
    many.add(str(k) for k in range(1000))
    kept = read_texts(many.to_cfg())
    assert sum(kept.has(str(k)) for k in range(1000)) == 50
    assert not any(kept.has(f"x{k}") for k in range(1000))
    assert read_texts(None) is None


# --- pipelines --------------------------------------------------------------------


def new_references(n):
    """Other texts than those of the training."""
    marked = [
        f"[PER Ada Lovelace] wrote {k} letters to [PER Charles Babbage] in "
        + ("[LOC London]." if k % 3 else "[LOC Paris].")
        for k in range(n)
    ]
    return references(marked)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guarantee")
    make_trained(fit={"max_iter": 60}).to_disk(folder / "model")
    DocBin(docs=new_references(80)).to_disk(folder / "dev.spacy")
    DocBin(docs=references()).to_disk(folder / "train.spacy")
    docs = new_references(60)
    docs[0].set_ents([Span(docs[0], 0, 1, "NEW")])
    DocBin(docs=docs).to_disk(folder / "new.spacy")
    DocBin(docs=docs[:1]).to_disk(folder / "other.spacy")
    return folder


def run(*args, command="guarantee", **how):
    return hosemi(command, *args, **how)


def promise(folder, *args):
    """A model that promises something, and what was printed."""
    model = folder / "".join(args).strip("-").replace(".", "_")
    return model, run(folder / "model", folder / "dev.spacy", *args, "-o", model).stdout


@pytest.fixture(scope="module")
def of_records(folder):
    return promise(folder, "--record-error", "0.05")


@pytest.fixture(scope="module")
def of_spans(folder):
    return promise(folder, "--span-error", "0.2", "--delta", "0.2")


def parsed(model, path, *lines):
    """What `parse` says of lines, as objects, and beside them."""
    path.write_text("".join(f"{line}\n" for line in lines))
    result = run(model, path, "-F", "jsonl", command="parse")
    return [*map(srsly.json_loads, result.stdout.splitlines())], result.stderr


def last_column(model, path, *args):
    """The last column of a table of `parse`, its name first."""
    printed = run(model, path, *args, command="parse").stdout
    return [row[-1] for row in csv.reader(io.StringIO(printed))]


def test_records(folder, of_records):
    args = folder / "model", folder / "dev.spacy", "--record-error", "0.05"
    found = as_json("guarantee", *args)
    assert found["n_documents"] == found["guarantee"]["n_tested"] == 80
    assert found["found"][""]["n_wrong"] == 0
    model, printed = of_records
    assert "records that need no eye" in printed and "at most 5 %" in printed
    pipe = spacy.load(model).get_pipe("hosemi")
    saved, printed = pipe.guarantee.to_cfg(), found["guarantee"]
    # JSON is read with 15 digits.
    assert saved.pop("usual") == pytest.approx(printed.pop("usual"), rel=1e-14)
    assert saved == printed
    assert guarantee_in_force(pipe) is pipe.guarantee
    assert pipe.guarantee.n_accepted == 80


def test_copies_count_once(folder, tmp_path):
    """One text says as much as it says, however often it comes."""
    (one,) = new_references(1)
    docs = [*new_references(80), *[one] * 300]
    DocBin(docs=docs).to_disk(tmp_path / "copies.spacy")
    args = folder / "model", tmp_path / "copies.spacy", "--record-error", "0.05"
    result = run(*args, "--json")
    assert "Left out: 300 of 380 documents, copies of others" in result.stderr
    found = srsly.json_loads(result.stdout)
    assert found["n_documents"] == found["found"][""]["n_tested"] == 80
    DocBin(docs=docs[80:]).to_disk(tmp_path / "copies.spacy")
    assert "HS352" in run(*args, code=2).output


@pytest.mark.parametrize("kind", ["of_records", "of_spans"])
def test_lines_without_text_need_an_eye(kind, request, tmp_path):
    model, _ = request.getfixturevalue(kind)
    lines = "Ada Lovelace wrote 7 letters.", "", "  "
    found, said = parsed(model, tmp_path / "lines.txt", *lines)
    assert [x["text"].strip() for x in found] == [found[0]["text"], "", ""]
    verdict = "review" if kind == "of_records" else None
    assert all(x.get("verdict") == verdict and not x["spans"] for x in found[1:])
    assert "of 1 " in said
    assert last_column(model, tmp_path / "lines.txt", "-F", "table")[0] == "verdict"


@pytest.mark.parametrize("kind", ["of_records", "of_spans"])
def test_a_job_is_told_of_drift(kind, request, folder, tmp_path):
    """All is written, and the exit code and the report say what people read."""
    model, _ = request.getfixturevalue(kind)
    path, report, out = (tmp_path / x for x in ("lines.txt", "report", "out.jsonl"))
    path.write_text("Zürich met Ypsilanti of Xanadu 77.\n" * 200, "utf8")
    args = path, "-F", "jsonl", "-o", out, "--report", report
    told = run(model, *args, "--fail-on-drift", command="parse", code=1)
    assert "Warning: " in told.stderr and '"accept"' not in out.read_text("utf8")
    summary = srsly.read_json(report)
    assert summary["texts"] == 200 and summary["files"] == [str(path)]
    assert summary["drift"]["has_drifted"] and summary["n_accepted"] == 0
    run(model, *args, "--overwrite", command="parse")  # only where it is asked for
    known = folder / "known.txt"
    known.write_text("\n".join(doc.text for doc in new_references(80)), "utf8")
    args = known, "--report", "-", "-o", out, "-f"
    run(model, *args, "--fail-on-drift", command="parse")
    bare = run(folder / "model", path, "--fail-on-drift", command="parse", code=2)
    assert "has no guarantee" in bare.stderr and not bare.stdout


def test_parse_marks(of_records, folder, tmp_path):
    model, _ = of_records
    lines = [*(doc.text for doc in new_references(9)), "Nobody said so"]
    path = tmp_path / "lines.txt"
    found, said = parsed(folder / "model", path, *lines[:9])  # without a promise
    assert not any("verdict" in one for one in found) and said == ""
    found, said = parsed(model, path, *lines)
    least = spacy.load(model).get_pipe("hosemi").guarantee.record_threshold
    for one in found:
        verdict = "accept" if one["record_confidence"] >= least else "review"
        assert one["verdict"] == verdict
    n = sum(one["verdict"] == "accept" for one in found)
    assert f"{n} of 10 records need no eye" in said
    verdicts = [one["verdict"] for one in found]
    assert last_column(model, path, "-F", "table") == ["verdict", *verdicts]
    name, *verdicts = last_column(model, path)
    assert name == "verdict" and {*verdicts} <= {"accept", "review"}
    for form in ("label-studio", "prodigy", "doccano"):
        assert '"verdict": ' in run(model, path, "-F", form, command="parse").stdout


def test_parse_marks_spans(of_spans, tmp_path):
    model, _ = of_spans
    path = tmp_path / "lines.txt"
    (found,), _ = parsed(model, path, "Ada Lovelace wrote 7 letters in Paris.")
    assert "verdict" not in found and found["spans"]
    guarantee = spacy.load(model).get_pipe("hosemi").guarantee
    scored = [(x["label"], x["confidence"]) for x in found["spans"]]
    verdicts = [x["verdict"] for x in found["spans"]]
    assert verdicts == guarantee.of_spans(scored) == last_column(model, path)[1:]
    labels = [x["label"] for x in found["spans"] if x["verdict"] == "review"]
    advice = f"review: {', '.join(dict.fromkeys(labels))}" if labels else "accept"
    assert last_column(model, path, "-F", "table")[1] == advice
    for form in ("label-studio", "prodigy", "doccano"):
        tasks = run(model, path, "-F", form, command="parse").stdout
        assert f'"verdict": "{advice}"' in tasks


@pytest.mark.parametrize(
    "change",
    [
        lambda pipe: pipe.set_weights(2 * pipe.get_weights()),
        lambda pipe: setattr(pipe, "temperature", 1.1),
        lambda pipe: setattr(pipe, "decoding", "mbr"),
        lambda pipe: setattr(pipe, "min_confidence", 0.1),
        lambda pipe: pipe.add_label("NEW"),
    ],
)
def test_it_is_forgotten(change, of_records, tmp_path):
    nlp = spacy.load(of_records[0])
    pipe = nlp.get_pipe("hosemi")
    pipe.threads, pipe.confidence = 2, True
    assert guarantee_in_force(pipe) is not None
    change(pipe)
    with pytest.warns(UserWarning, match="HSW73"):
        assert guarantee_in_force(pipe) is None
    nlp.to_disk(tmp_path / "model")
    args = tmp_path / "model", tmp_path / "lines.txt", "Ada Lovelace wrote 7 letters."
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (found,), _ = parsed(*args)
    assert "verdict" not in found


def test_lists_change_the_fingerprint():
    nlp = make_nlp(model={"gazetteers": {"x": {"@misc": "spacy_hosemi.gazetteer.v1"}}})
    readers = [{"x": lambda: ["Rome"]}, {"x": lambda: ["Paris"]}]
    pipe, found = nlp.get_pipe("hosemi"), set()
    examples = [Example(x.copy(), x) for x in references()]
    for lists in readers:
        pipe.initialize(lambda: examples, nlp=nlp, gazetteers=lists)
        found.add(fingerprint(pipe))
    assert len(found) == 2


def test_weights_below_the_top_of_a_tree(tmp_path):
    nlp = make_tree_nlp(tree={"exact_up_to": 0})
    pipe = nlp.get_pipe("hosemi")
    assert pipe.level_weights is not None
    before = fingerprint(pipe)
    nlp.to_disk(tmp_path)
    assert fingerprint(spacy.load(tmp_path).get_pipe("hosemi")) == before
    doc = nlp.make_doc("Eve slept")
    doc.set_ents([Span(doc, 0, 1, pipe.labels[0])])
    nlp = spacy.load(tmp_path)
    example = Example(nlp.make_doc("Eve slept"), doc)
    nlp.update([example], sgd=nlp.resume_training())
    assert fingerprint(nlp.get_pipe("hosemi")) != before


@pytest.mark.parametrize(
    "args, message",
    [
        ("model dev.spacy", "Expected one of"),
        ("model dev.spacy --record-error .05 --span-error .1", "Expected one of"),
        ("model dev.spacy --record-error 0", "above 0 and below 1"),
        ("model dev.spacy --record-error .05 --delta 1", "above 0 and below 1"),
        ("model dev.spacy --record-error .05 --per-label", "record has no label"),
        ("model train.spacy --record-error .05", "HS353"),
        ("model dev.spacy --record-error .01", "HS352.* 299"),
        ("model other.spacy --record-error .05", "HS354.*NEW"),
        ("model new.spacy --record-error .05", "has no NEW: records with it are wro"),
        ("model new.spacy --span-error .05", "no NEW: spans in its place are wrong"),
        ("model dev.spacy --record-error .1 --group source", "HS357.*80 of 80"),
    ],
)
def test_what_is_refused(folder, args, message, monkeypatch):
    monkeypatch.chdir(folder)
    assert re.search(message, said("guarantee", *args.split(), code=2))


def test_groups(folder, tmp_path):
    """Documents of one source count as one."""
    docs = new_references(240)
    asked = "--record-error", "0.1", "--group", "source"
    enough, few = "records that need no eye", "HS352.*20 of 20 groups"
    for n_groups, code, message in ((120, 0, enough), (20, 2, few)):
        for k, doc in enumerate(docs):
            doc.user_data["source"] = k % n_groups
        path = tmp_path / f"{n_groups}.spacy"
        DocBin(docs=docs, store_user_data=True).to_disk(path)
        printed = run(folder / "model", path, *asked, code=code).output
        assert re.search(message, printed, re.S)


def test_groups_are_wrong_together():
    """A test that takes records of a group for independent would promise too much."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(50):
        group = np.repeat(np.arange(80), 5)
        wrong = np.repeat(rng.random(80) < 0.12, 5)
        p = np.repeat(rng.random(80), 5)
        one = choose_for_spans(group, p, wrong, 80, 0.1, 0.05)
        found.append((one, choose_for_records(p, wrong, 0.1, 0.05)))
    broken = [sum(x.threshold is not None for x in column) for column in zip(*found)]
    assert broken[0] <= 4 < 12 < broken[1]


def test_all_are_wrong(folder, tmp_path):
    """Nothing is written then."""
    docs = new_references(80)
    for doc in docs:
        doc.set_ents(doc.ents[:1])
    DocBin(docs=docs).to_disk(tmp_path / "wrong.spacy")
    args = folder / "model", tmp_path / "wrong.spacy", "-o", tmp_path / "m"
    found = run(*args, "--record-error", "0.05", code=2).output
    assert "HS356" in found and "would not help" in found
    # A span that is missed is no wrong one, but those that the gold lacks are.
    found = run(*args, "--span-error", "0.05", code=2).output
    assert "HS356" in found
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("command", ["calibrate", "prune"])
def test_what_commands_have_seen(command, folder, tmp_path):
    dev, out = folder / "dev.spacy", tmp_path / "m"
    args = {"calibrate": [dev, "-o"], "prune": ["--keep", "0.9", "--data", dev]}
    run(folder / "model", *args[command], out, command=command)
    assert "HS353" in run(out, dev, "--record-error", "0.05", code=2).output


def test_updates_have_seen(folder):
    nlp = spacy.load(folder / "model")
    pipe = nlp.get_pipe("hosemi")
    assert pipe.training_texts.has("Nobody wrote a letter.")
    assert not pipe.training_texts.has("Eve slept")
    example = references(["[PER Eve] slept"])[0]
    nlp.update([Example(nlp.make_doc(example.text), example)])
    assert pipe.training_texts.has("Eve slept")


def test_older_models_cannot_be_checked(folder, tmp_path):
    nlp = spacy.load(folder / "model")
    nlp.get_pipe("hosemi").training_texts = None
    nlp.to_disk(tmp_path / "old")
    args = tmp_path / "old", folder / "dev.spacy", "--record-error", "0.05"
    assert "does not know its training texts" in run(*args).stderr


def test_spans_by_label():
    """Delta is shared out; a label without a threshold is not accepted."""
    good, bad = (0, 3, "PER"), (4, 9, "LOC")
    sides = frozenset({good, bad}), frozenset({good})
    scores = {good: 0.99, bad: 0.98}
    answers = [DocumentResult(str(k), *sides, True, scores, 0.9) for k in range(200)]
    bound = ErrorBound(0.05, 0.1)
    assert check_results(answers, ["PER", "LOC"], None, bound) == answers
    guarantee, found = guarantee_spans(answers, bound, "x", ["LOC", "PER"])
    assert found["LOC"].threshold is None and found["PER"].threshold == 0.99
    assert guarantee.span_limits == (SpanLimit("PER", 0.99, 1),)
    alone, _ = guarantee_spans(answers, bound, "x", ["PER"])
    assert alone.span_limits == guarantee.span_limits
    with pytest.raises(ValueError, match="HS356.*for LOC"):
        guarantee_spans(answers, bound, "x", ["LOC"])
    assert guarantee.usual == Usual(0.98, 0, 400)
    together, _ = guarantee_spans(answers, bound, "x")
    assert together.span_limits[0].threshold == 0.99
    fields = [ExtractedField(0, 3, "PER", "Ada", 0.99)]
    records = [ExtractedRecord(1, "Ada", Segmentation(fields, 1))]
    (record,) = ReviewMarks(guarantee).mark(records)
    assert record.verdicts == ["accept"] and record.verdict is None
