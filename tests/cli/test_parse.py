"""python -m spacy hosemi parse: lines in, records out, and what cannot be read."""

import csv
import io
import itertools
import json
import re
import shlex
import signal
import subprocess
import sys

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span

from spacy_hosemi.cli import common
from spacy_hosemi.component import chunks
from spacy_hosemi.component.extraction import ReviewMarks
from spacy_hosemi.formats import read_annotations
from spacy_hosemi.formats.writers import WRITERS
from spacy_hosemi.prediction.ranked import RankedSegmentation

from ..helpers import hit_ctrl_c, hosemi, make_trained, triples

TEXTS = (
    "Ada Lovelace wrote to Charles Babbage.",
    "",
    "Nobody was there.",
    "She met Łukasz in Paris 😀, and Ada.",
)


@pytest.fixture(scope="module")
def nlp(model):
    return spacy.load(model)


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(TEXTS), encoding="utf8")
    return str(path)


def run(*args, code=0, stdin=None):
    """What a command prints on standard output and on standard error."""
    result = hosemi("parse", *args, code=code, input=stdin)
    return result.stdout, result.stderr


def objects(*args, **kwargs):
    out, _ = run(*args, "--format", "jsonl", **kwargs)
    return [*map(json.loads, out.splitlines())]


def expected(nlp, text):
    """The fields of a text, as the pipeline has them."""
    doc = nlp(text)
    fields = [
        (ent.start_char, ent.end_char, ent.label_, ent.text, ent._.confidence)
        for ent in doc.ents
    ]
    return fields, doc._.record_confidence


def fields_of(found):
    return [(*map(x.get, ("start", "end", "label", "value")),) for x in found["spans"]]


def test_a_record_for_each_line(nlp, model, lines):
    found = objects(model, lines)
    assert [one["line"] for one in found] == [1, 2, 3, 4]
    for one, text in zip(found, TEXTS, strict=True):
        fields, whole = expected(nlp, text)
        assert one["text"] == text
        assert one["record_confidence"] == pytest.approx(whole, rel=1e-5)
        assert fields_of(one) == [field[:4] for field in fields]
        confidences = [x["confidence"] for x in one["spans"]]
        assert confidences == pytest.approx([x[4] for x in fields], rel=1e-5)
    rows = [*csv.DictReader(io.StringIO(run(model, lines)[0]))]
    header = "line,text,start,end,label,value,confidence,record_confidence".split(",")
    assert [*rows[0]] == header
    values = [(x, field) for x in found for field in fields_of(x) or [("",) * 4]]
    values = [(str(one["line"]), field[3]) for one, field in values]
    assert [(row["line"], row["value"]) for row in rows] == values


def test_a_table_has_a_row_for_each_record(nlp, model, tmp_path):
    path, errors = tmp_path / "some.txt", tmp_path / "errors.jsonl"
    texts = [*TEXTS, 'Ada, "Ada" | Ada.']
    path.write_bytes("\n".join([*texts[:2], "bad", *texts[2:]]).encode())
    path.write_bytes(path.read_bytes().replace(b"bad", b"\xff"))
    args = path, "-F", "table", "--errors", errors
    out, _ = run(model, *args, code=1)
    assert out.splitlines()[0] == "line,record_confidence,LOC,PER,text"
    rows = [*csv.DictReader(io.StringIO(out))]
    assert [row["line"] for row in rows] == ["1", "2", "4", "5", "6"]
    for row, text in zip(rows, texts, strict=True):
        fields, whole = expected(nlp, text)
        assert row["text"] == text
        assert float(row["record_confidence"]) == pytest.approx(whole, rel=1e-5)
        for label in ("LOC", "PER"):
            values = [field[3] for field in fields if field[2] == label]
            assert row[label] == " | ".join(values)
    assert rows[0]["PER"] == "Ada Lovelace | Charles Babbage"
    assert json.loads(errors.read_text())["line"] == 3
    _, said = run(model, *args, "-f", "-k", 2, code=2)
    assert "'table' has no place for alternatives" in said


def test_a_table_has_labels_of_other_components(model, tmp_path):
    other = spacy.load(model)
    ruler = other.add_pipe("entity_ruler", first=True)
    ruler.add_patterns([{"label": "WHO", "pattern": "Nobody"}])
    other.to_disk(tmp_path / "m")
    out, _ = run(tmp_path / "m", "-", "-F", "table", stdin="Nobody was there.\n")
    (row,) = csv.DictReader(io.StringIO(out))
    assert [*row] == ["line", "record_confidence", "LOC", "PER", "WHO", "text"]
    assert row["WHO"] == "Nobody"


def test_a_table_has_names_above_labels(tmp_path):
    tree = {"@misc": "spacy_hosemi.hierarchy.v1", "separator": "_"}
    marked = ["[who_PER Ada] wrote.", "[who_ORG Acme] wrote.", "Nobody read."]
    nlp = make_trained(marked, hierarchy=tree, min_confidence=0.75)
    nlp.to_disk(tmp_path / "m")
    text = "Mary wrote."
    assert [ent.label_ for ent in nlp(text).ents] == ["who"]
    out, _ = run(tmp_path / "m", "-", "-F", "table", stdin=text)
    (row,) = csv.DictReader(io.StringIO(out))
    assert row["who"] == "Mary" and row["who_PER"] == row["who_ORG"] == ""
    assert [*row][2:4] == ["who_ORG", "who_PER"]


def with_fields(model, folder, fields):
    """A folder with a pipeline whose labels are some fields of references."""
    pytest.importorskip("bibtexparser")
    nlp = spacy.load(model)
    nlp.get_pipe("hosemi").export_fields = fields
    nlp.to_disk(folder)
    return folder


@pytest.mark.parametrize("name", WRITERS)
def test_each_format_is_written_to_a_file(model, lines, tmp_path, name):
    folder = with_fields(model, tmp_path / "m", {"PER": "author"})
    file = tmp_path / "folder" / "out"
    rest = tmp_path / "rest.jsonl"
    out, err = run(folder, lines, "-F", name, "-o", file, "--rest", rest)
    what = "field of a reference, and no entry" if name in ("bib", "csl") else "field"
    n = 3 if WRITERS[name].is_for_tools else 4  # blank lines are no tasks
    assert out == "" and err == f"1 of {n} lines have no {what}: they are in {rest}\n"
    (record,) = map(json.loads, rest.read_text().splitlines())
    assert (record["line"], record["text"]) == (3, TEXTS[2])
    assert objects(model, rest)[0]["text"] == TEXTS[2]
    assert read_annotations(rest).texts[0].text == TEXTS[2]
    assert file.read_text(encoding="utf8") == run(folder, lines, "-F", name)[0]
    assert [path.name for path in file.parent.iterdir()] == ["out"]


def test_standard_input_and_several_files(model, lines):
    """A file may be given twice; standard input is read once."""
    text = "Ada met Mary.\r\n"
    found = objects(model, "-", lines, "-", lines, stdin=text)
    assert [one["line"] for one in found] == [*range(1, 10)]
    assert [one["text"] for one in found] == [text.strip(), *TEXTS, *TEXTS]


def test_devices_may_be_the_same(model, lines):
    run(model, lines, "--output", "/dev/null", "--errors", "/dev/null", "--overwrite")


WORDS = ["Ada", "Lovelace", "wrote", "to Charles", "Babbage."]


@pytest.mark.parametrize("options", [[], ["-k", 2], ["--text-key", "body"]])
def test_given_tokens_stay(nlp, model, tmp_path, options):
    """They come back from `convert`, which the spans count; texts may be among them."""
    rows = [{"tokens": WORDS}, {"text": TEXTS[3], "body": TEXTS[3]}, {"tokens": []}]
    bad = [{"tokens": ["a", " "]}, {"tokens": "Ada"}, {"tokens": [{"text": "Ada"}]}]
    path, out = tmp_path / "a.jsonl", tmp_path / "out.jsonl"
    path.write_text("\n".join(map(json.dumps, rows + bad)))
    _, said = run(model, path, "-F", "jsonl", "-o", out, *options, code=1)
    named = [f"{path}:{n}: expected" in said for n in (3, 4, 5, 6)]
    assert named == [False, True, True, True]
    first, second, _ = map(json.loads, out.read_text("utf8").splitlines())
    doc = nlp(Doc(nlp.vocab, words=WORDS))
    assert first["tokens"] == WORDS and "text" not in first
    spans = [(x["start"], x["end"], x["label"]) for x in first["spans"]]
    assert spans == triples(doc.ents) != []
    whole = pytest.approx(doc._.record_confidence, rel=1e-5)
    assert first["record_confidence"] == whole
    assert fields_of(second) == [x[:4] for x in expected(nlp, TEXTS[3])[0]]
    out.write_text(json.dumps(first))
    (back,) = read_annotations(out).texts
    assert back.tokens == tuple(WORDS)
    rows = csv.DictReader(io.StringIO(run(model, path, code=1)[0]))
    assert next(rows)["text"] == " ".join(WORDS)


def test_bad_lines_are_left_out_and_named(model, tmp_path):
    data = b"Ada met Mary.\nGr\xf6\xdfe\n" + b"x" * 200 + b"\nMary met Ada.\n"
    path = tmp_path / "some.txt"
    path.write_bytes(data)
    out, err = run(model, path, "-F", "jsonl", "--max-chars", 100, code=1)
    found = [*map(json.loads, out.splitlines())]
    assert [one["line"] for one in found] == [1, 4]
    assert f"{path}:2: byte 0xf6 at 2 is no UTF-8" in err
    assert f"{path}:3: more than 100 characters" in err
    errors, file = tmp_path / "errors.jsonl", tmp_path / "out"
    args = "--max-chars", 100, "--errors", errors, "-o", file
    run(model, path, *args, code=1)
    listed = [*map(json.loads, errors.read_text().splitlines())]
    assert [(x["path"], x["line"]) for x in listed] == [(str(path), 2), (str(path), 3)]
    assert len(file.read_text().splitlines()) > 2


def test_encodings(model, tmp_path):
    path, other = tmp_path / "some.txt", tmp_path / "other.txt"
    other.write_text("Ada met Mary.")
    path.write_bytes("a,b\nÖ,Ada\n".encode("utf-16"))
    for more in ([], ["--column", "b"]):
        out, err = run(model, path, "-F", "jsonl", *more, code=1)
        assert out == ""
        message = f"{path}: has the byte order mark of UTF-16; give --encoding utf-16"
        said = "No line could be read"
        assert err.splitlines() == [message, said]
    out, _ = run(model, path, other, "-F", "jsonl", code=1)
    assert json.loads(out)["text"] == "Ada met Mary."
    _, err = run(model, other, "--encoding", "base64", code=2)
    assert "[HS161] encoding is 'base64'" in err


@Language.component("fails_on_nobody")
def fails_on_nobody(doc):
    if "Nobody" in doc.text:
        raise RuntimeError("nobody\nis here")
    return doc


def test_a_component_that_fails(model, tmp_path, lines):
    other = spacy.load(model)
    other.add_pipe("fails_on_nobody", first=True)
    other.to_disk(tmp_path / "m")
    out, err = run(tmp_path / "m", lines, "-F", "jsonl", code=1)
    assert [json.loads(x)["line"] for x in out.splitlines()] == [1, 2, 4]
    message = "fails_on_nobody failed: RuntimeError: nobody is here"
    assert f"{lines}:3: {message}" in err
    (tmp_path / "few.txt").write_text("Nobody was there.\nIt is empty.")
    _, err = run(tmp_path / "m", tmp_path / "few.txt", code=1)
    assert "1 of 1 lines, beside 1 that failed, have no field: --rest" in err


def test_alternatives(nlp, model, lines):
    found = objects(model, lines, "-k", 3)
    pipe = nlp.get_pipe("hosemi")
    for one, text in zip(found, TEXTS, strict=True):
        doc = nlp(text)
        answers: list[RankedSegmentation] = pipe.ranked(doc, 3)
        ways = [one, *one.get("alternatives", ())]
        assert len(ways) == len(answers)
        for way, answer in zip(ways, answers, strict=True):
            spans = [doc[i:j] for i, j, _ in answer.spans]
            places = [(x["start"], x["end"]) for x in way["spans"]]
            assert places == [(x.start_char, x.end_char) for x in spans]
            whole = pytest.approx(answer.probability, rel=1e-5)
            assert way["record_confidence"] == whole
        assert triples(doc.ents) == answers[0].spans


def test_lines_without_a_field_of_a_reference(model, lines, tmp_path):
    """They have no entry, although they have fields, and are counted."""
    rest = tmp_path / "rest.jsonl"
    args = with_fields(model, tmp_path / "m", {"LOC": "address"}), lines, "-F"
    out, said = run(*args, "csl")
    assert [x["custom"]["line"] for x in json.loads(out)] == [4]
    left = "lines have no field of a reference, and no entry: --rest FILE writes them"
    assert said == f"2 of 4 {left}\n"
    for name, expected in (("bib", [1, 3]), ("table", [3])):
        run(*args, name, "--rest", rest, "-o", tmp_path / "out", "--overwrite")
        records = [*map(json.loads, rest.read_text().splitlines())]
        assert [x["line"] for x in records] == expected
    _, said = run(*args, "csv", "-o", rest, "--rest", rest, code=2)
    assert "--output and --rest are the same file" in said


def test_references_need_labels_and_libraries(model, lines, monkeypatch):
    pytest.importorskip("bibtexparser")
    _, err = run(model, lines, "-F", "bib", code=2)
    assert "No label of 'hosemi' is a field of references" in err
    assert "export_fields" in err
    monkeypatch.setitem(sys.modules, "bibtexparser", None)
    _, err = run(model, lines, "-F", "csl", code=2)
    (command,) = re.findall(r"\[HS170\].* (pip install .+);", err)
    command = [sys.executable, "-m", *shlex.split(command), "--no-index", "--quiet"]
    subprocess.run(command, check=True)  # they are installed: it is the right name


@pytest.mark.parametrize(
    "args, message",
    [
        (["-F", "tei"], "There is no format 'tei'. Expected one of: csv, table, jsonl"),
        (["-k", "2"], "'csv' has no place for alternatives"),
        (["--column", "a", "--text-key", "b"], "Expected at most one of them"),
        (["--column", "a"], "has no column 'a'; its columns are \"Ada Lovelace"),
        (["nothing.txt"], "There is no file 'nothing.txt'"),
        (["."], "'.' is a folder. Expected lines of text, or - for a pipe, after"),
        (["TABLE.csv"], "Say which column has the texts: --column NAME"),
        (["LIST.json"], "is no file of lines"),
        (["-o", "."], "is a folder"),
        (["--resume"], "--resume cannot go on with 'csv' in -"),
        (["--resume", "-o", "/dev/null"], "Expected --output FILE, and one of: csv"),
    ],
)
def test_what_cannot_run(model, lines, tmp_path, args, message):
    for name in ("TABLE.csv", "LIST.json"):
        (tmp_path / name).write_text("[]")
        args = [str(tmp_path / x) if x == name else x for x in args]
    out, err = run(model, lines, *args, code=2)
    assert out == "" and message in " ".join(err.split())


def test_how_long_it_takes_is_said_where_there_is_no_bar(model, lines, monkeypatch):
    monkeypatch.setattr(common, "PATIENCE", 0)
    assert "lines were read in 0 seconds; the rest takes about" in run(model, lines)[1]


def stop_after(monkeypatch, n, how):
    """Makes `parse` work on two texts at a time, and stops it at the n-th."""
    judge, calls = ReviewMarks._judged, itertools.count(1)

    def judge_or_stop(marks, record):
        if next(calls) == n:
            how()
        return judge(marks, record)

    monkeypatch.setattr(chunks, "CHUNK", 2)
    monkeypatch.setattr(ReviewMarks, "_judged", judge_or_stop)


STOPS = {130: hit_ctrl_c, 143: lambda: signal.raise_signal(signal.SIGTERM)}


@pytest.mark.parametrize(
    "form, code",
    [(name, 130) for name in WRITERS if name not in ("bib", "csl")] + [("csv", 143)],
)
def test_it_goes_on_after_an_interruption(
    model, lines, tmp_path, monkeypatch, form, code
):
    """With --resume the rest makes the file that there would be; else nothing stays."""
    bad = tmp_path / "bad.txt"
    bad.write_text("Paris.\n" + 60 * "x" + "\nAda wrote.\n" * 3)
    names = "whole", "out", "report", "faults", "rest"
    whole, out, report, faults, rest = (tmp_path / x for x in names)
    args = [model, lines, bad, lines, "-F", form, "--max-chars", 50, "-f"]
    args += ["--rest", tmp_path / "rest"]
    args += ["--report", report, "--errors", faults, "-o"]
    run(*args, whole, code=1)
    of_whole = json.loads(report.read_text()), faults.read_text(), rest.read_text()
    with monkeypatch.context() as patch:
        stop_after(patch, 7, STOPS[code])
        run(*args, out, code=code)
        left = {"lines.txt", "bad.txt", *names} - {"out"}
        assert {x.name for x in tmp_path.iterdir()} == left
        args += [out, "--resume"]
        if WRITERS[form].is_one_document:
            assert "--resume cannot go on" in run(*args, code=2)[1]
            return
        stop_after(patch, 7, STOPS[code])
        assert "lines are kept" in run(*args, code=code)[1]
    part = out.with_name("out.part")
    half = part.read_bytes()
    part.write_bytes(half[:5])  # a disk that has lost what was noted
    assert "out.part' was cut. Remove" in run(*args, code=2)[1]
    part.write_bytes(half + b"half a li")  # as after a kill
    for more, how in (
        ([lines], "of other files"),
        (["--column", "x"], "with another --column"),
    ):
        assert f"out.part' was begun {how}" in run(*args, *more, code=2)[1]
    text = bad.read_text()
    bad.write_text(text[::-1])  # as long as before
    assert "out.part' was begun of other files" in run(*args, code=2)[1]
    bad.write_text(text)
    said = run(*args, "--report", part, code=2)[1]
    assert "FILE.part and --report are the same file" in said
    assert "Going on after line " in run(*args, code=1)[1]
    assert out.read_bytes() == whole.read_bytes()
    seconds = {"seconds": 0}
    now = json.loads(report.read_text()), faults.read_text(), rest.read_text()
    assert now[0] | seconds == of_whole[0] | seconds and now[1:] == of_whole[1:]
    assert not [*tmp_path.glob("*part*")]


@pytest.mark.parametrize("form", [x for x in WRITERS if x not in ("bib", "csl")])
def test_where_nothing_can_be_read_the_outputs_are_of_this_night(model, tmp_path, form):
    """They are what a blank file makes, but for the faults."""
    lines, blank = tmp_path / "lines.jsonl", tmp_path / "blank.jsonl"
    lines.write_text('{"text": 3}\nno object\n')
    blank.touch()
    out, other, rest, report = (tmp_path / x for x in ("out", "other", "rest", "json"))
    args = ["-f", "-F", form, "--report", report, "--rest", rest, "-o", out]
    args += ["--resume"] * (not WRITERS[form].is_one_document)
    for path in (out, rest, report):
        path.write_text("of last night")
    printed, said = run(model, lines, "--errors", tmp_path / "bad", *args, code=1)
    assert "lines.jsonl:2:" in said and "No line could be read\n" in said
    run(model, blank, "-F", form, "-o", other)
    assert not printed and out.read_bytes() == other.read_bytes()
    assert not rest.read_text() and json.loads(report.read_text())["faults"] == 2


@Language.component("told_by_a_model")
def told_by_a_model(doc):
    """Sets entities as an LLM does: it says neither that, nor which labels."""
    doc.ents = [Span(doc, x.i, x.i + 1, "author") for x in doc if x.text == "Ada"]
    return doc


@pytest.fixture
def teacher(tmp_path):
    """Saves a pipeline without hosemi; returns the folder of one with a component."""

    def make(name):
        nlp = spacy.blank("en")
        name, _, setting = (name or "").partition(" ")
        config = {"annotate_ents": setting != "alone"} if name == "span_ruler" else {}
        pipe = nlp.add_pipe(name, config=config) if name else None
        if hasattr(pipe, "add_patterns"):
            pipe.add_patterns([{"label": "author", "pattern": "Ada"}])
        elif name in ("ner", "spancat", "spancat_singlelabel"):
            pipe.add_label("author")
            nlp.initialize()
        nlp.to_disk(tmp_path / "teacher")
        return str(tmp_path / "teacher")

    return make


@pytest.mark.parametrize("name", ["entity_ruler", "span_ruler", "told_by_a_model"])
@pytest.mark.parametrize("form", [x for x in WRITERS if x != "label-studio"])
def test_any_pipeline_annotates_what_convert_reads(teacher, lines, name, form):
    folder = teacher(name)
    if (form, name) == ("table", "told_by_a_model"):
        assert "which labels it has" in run(folder, lines, "-F", form, code=2)[1]
        return
    if form in ("bib", "csl"):
        pytest.importorskip("bibtexparser")
        assert "Ada" in run(folder, lines, "-F", form)[0]
        return
    file = f"{folder}.out"
    run(folder, lines, "-F", form, "-o", file)
    texts = {x.text: x for x in read_annotations(file).texts if x.text}
    assert [*texts] == [x for x in TEXTS if x]
    for doc in spacy.load(folder).pipe(texts):
        ents = [(x.start_char, x.end_char, x.label_) for x in doc.ents]
        assert [x[:3] for x in texts[doc.text].spans] == ents
    *_, last = objects(folder, lines)
    assert last["record_confidence"] is last["spans"][0]["confidence"] is None


# Spans in doc.spans are no fields.
NO_ENTITIES = "span_ruler alone", "spancat", "spancat_singlelabel", "tagger"


@pytest.mark.parametrize(
    "name, args, message",
    [
        ("ner", "-k 2 -F jsonl", "-k: no hosemi component in"),
        ("ner", "--threads 1 --component x", "--threads and --component: no hosemi"),
        ("ner", "--fail-on-drift", "Its components are: ner. Leave that out"),
        ("ner", "-F bib", ""),
        ("sentencizer", "", "sets doc.ents. Its components are: sentencizer."),
        (None, "-F csl", "sets doc.ents. Its components are: none."),
        *((x, "", "sets doc.ents.*annotate_ents") for x in NO_ENTITIES),
    ],
)
def test_what_needs_hosemi_is_refused(teacher, lines, name, args, message):
    code = 2 if message else 0
    said = run(teacher(name), lines, *args.split(), code=code)[1]
    assert re.search(message, " ".join(said.split()))


def test_another_teacher_does_not_go_on(teacher, lines, tmp_path, monkeypatch):
    args = [teacher("entity_ruler"), lines, "-o", tmp_path / "out.csv", "--resume"]
    with monkeypatch.context() as patch:
        stop_after(patch, 3, hit_ctrl_c)
        run(*args, code=130)
    teacher("span_ruler")
    assert "was begun by another model" in run(*args, code=2)[1]
    teacher("entity_ruler")
    assert "Going on after line 2" in run(*args)[1]
