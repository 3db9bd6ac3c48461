"""hosemi adapt: corrections in, a pipeline out."""

import re
from pathlib import Path

import pytest
import spacy
import srsly
from spacy.tokens import DocBin

from spacy_hosemi.prediction.guarantee import Guarantee
from spacy_hosemi.training.lbfgs import Lbfgs

from ..component.test_adapt import NEW, TRAIN, UNSEEN, WANTED
from ..helpers import as_json, find, hit_ctrl_c, hosemi, make_trained, parse, said
from .test_gazetteer import contents


@pytest.fixture()
def corrections(tmp_path):
    """A file of JSON lines."""
    return write(tmp_path / "corrected.jsonl", NEW)


def write(path, marked):
    pairs = [*map(parse, marked)]
    srsly.write_jsonl(path, [{"text": x, "spans": spans} for x, spans in pairs])
    return path


def test_what_it_learns_and_what_it_keeps(model, dev, corrections, tmp_path):
    before, out = contents(model), tmp_path / "out"
    result = hosemi("adapt", model, corrections, "-o", out, "--old", dev, "--json")
    assert result.stderr == f"Saved the pipeline to {out}\n"
    report = srsly.json_loads(result.stdout)
    first, *rows = report["rows"]
    (chosen,) = (x for x in rows if x["strength"] == report["strength"])
    assert first["strength"] is None and chosen["ents_f"] >= first["ents_f"]
    assert first["old_ents_f"] == 1.0 > first["ents_f"]
    assert all(0.0 <= x["old_ents_f"] <= 1.0 for x in rows)
    nlp = spacy.load(out)
    assert find(nlp, UNSEEN) == WANTED and contents(model) == before
    # the same weights as without the table of old documents
    printed = said("adapt", model, corrections, "-o", tmp_path / "other")
    assert "4 corrections, 8 spans" in printed and "before" in printed
    assert all(0 <= x["learnt"] <= 1 for x in rows) and chosen["learnt"] == 1.0
    assert "performance" not in spacy.load(out).meta
    pipes = [spacy.load(tmp_path / x).get_pipe("hosemi") for x in ("out", "other")]
    assert (pipes[0].get_weights() == pipes[1].get_weights()).all()


APART = """adapt m {new} -o; calibrate m {dev} -o; guarantee m {dev} --span-error .5 -o;
prune m --keep .5; gazetteer replace m loc {new} -o"""


@pytest.mark.parametrize("out", ["m/new", "m/hosemi", "link/a/b", ".", "new/../m/x"])
@pytest.mark.parametrize("line", APART.split(";"))
def test_one_folder_in_the_other(line, out, dev, corrections, tmp_path, monkeypatch):
    """Parts of the one would overwrite those of the other."""
    monkeypatch.chdir(tmp_path)
    make_trained().to_disk("m")
    Path("link").symlink_to("m")
    before, args = contents(tmp_path), line.format(dev=dev, new=corrections).split()
    assert "is in the other" in said(*args, out, "-f", code=2)
    assert contents(tmp_path) == before


WITHOUT_GOLD = """
adapt {} {corrections} -o x --old: None of the 5 .* has a gold span: a gold span
errors {}: nothing to look at: Note: the 5 documents have no gold
compare {} {}: HS350: Note: the 5 documents have no gold
calibrate {}: HS320: HS320
guarantee {} --record-error .5: HS355: HS355
prune {} --data: HS120: HS120
tune: HS331: HS331
"""


@pytest.mark.parametrize("is_annotated", [False, True])
@pytest.mark.parametrize("line", WITHOUT_GOLD.strip().split("\n"))
def test_files_without_gold(line, is_annotated, model, corrections, tmp_path):
    """Nothing can be measured, be the annotation missing or there are no spans."""
    docs = [make_trained().make_doc(parse(x)[0]) for x in TRAIN[:5]]
    for doc in docs if is_annotated else ():
        doc.set_ents([])
    DocBin(docs=docs).to_disk(gold := tmp_path / "gold.spacy")
    command, *texts = line.split(": ")
    args = command.format(*[model] * 2, corrections=corrections).split()
    code = 0 if texts[is_annotated].startswith("Note") else 2
    assert re.search(texts[is_annotated], said(*args, gold, code=code))


def test_in_place_with_a_strength(corrections, dev, tmp_path):
    nlp, folder = make_trained(), tmp_path / "model"
    nlp.get_pipe("hosemi").guarantee = Guarantee(0.01, 0.05, "x", 400, 300, 0.9)
    nlp.to_disk(folder)
    args = "adapt", folder, corrections, "-o", folder
    assert "exists" in said(*args, code=2)
    printed = said(*args, "-f", "--strength", "0.05", "--old", dev)
    assert "before - - - 100.0 100.0 * 0.05 100.0 - - 100.0 100.0" in printed
    assert "calibrate and guarantee anew" in printed
    assert find(spacy.load(folder), UNSEEN) == WANTED


@pytest.mark.parametrize(
    "line, options, text",
    [
        (None, [], "nowhere"),
        ("", [], "HS251"),
        ('{"text": "by Ada", "spans": [[0, 99, "PER"]]}', [], "HS251"),
        ('{"text": "by Ada", "spans": [[3, 6, "Per"]]}', [], "HS370.*'PER'"),
        ("", ["--strength", "-1"], "strength"),
        ("", ["--component", "x"], "No hosemi component 'x'"),
    ],
)
def test_nothing_is_written_where_it_cannot(model, line, options, text, tmp_path):
    path, out = tmp_path / "nowhere.jsonl", tmp_path / "out"
    if line is not None:
        path.write_text(line, "utf8")
    result = hosemi("adapt", model, path, "-o", out, *options, "--json", code=2)
    assert result.stdout == "" and not out.exists()
    assert re.search(text, " ".join(result.stderr.split()))


def test_new_labels_separators_and_ctrl_c(model, tmp_path, monkeypatch):
    path = write(tmp_path / "new.jsonl", [x.replace("PER", "NAME") for x in NEW])
    args = "adapt", model, path, "-o", tmp_path / "out", "--label", "NAME", "--trim"
    as_json(*args)
    assert find(spacy.load(tmp_path / "out"), UNSEEN)[0] == ("Hopper", "NAME")
    monkeypatch.setattr(Lbfgs, "__call__", lambda *_: hit_ctrl_c())
    before = contents(tmp_path)
    hosemi(*args, "-f", code=130)
    assert contents(tmp_path) == before
