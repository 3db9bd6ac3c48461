"""The backend of examples/label_studio, by the payloads that Label Studio sends."""

import asyncio
import os
import re
import tempfile
from base64 import b64encode
from copy import deepcopy
from importlib import import_module
from json import dumps, loads

import pytest
from spacy.cli._util import app
from spacy.tokens import DocBin
from thinc.api import Config
from typer.testing import CliRunner

import spacy_hosemi

from .conftest import BASE_CONFIG, example_on_path
from .helpers import make_trained, parse, references
from .test_service import JSON, TestClient, wait_until

INTERFACE = (
    '<View><Labels name="ner" toName="doc"><Label value="PER"/></Labels>'
    '<Text name="doc" value="$body"/></View>'
)
TEXT = "Ada Lovelace wrote to Charles Babbage."
LONG = {"data": {"text": "secret" * 50}}
MACHINES = (
    "[PER Ada] bought the [MACHINE Z3] .",
    "She bought the [MACHINE Z4] in [LOC London].",
    "Nobody bought the [MACHINE Mark1].",
    "[PER Charles Babbage] bought the [MACHINE Z3] in [LOC Paris].",
)
# Annotations that cannot be used, and what /health says of them.
FAULTY = {
    "overlapping": "the spans [0, 3, … overlap; expected one of them",
    "outside": "the span [0, 300, …] is not inside the 19 characters of the text",
    "long": "a region has no label: …",
    "cancelled": "1 cancelled",
}


@pytest.fixture(scope="module")
def nlp():
    return make_trained(confidence=True)


@pytest.fixture()
def make(nlp, tmp_path, monkeypatch):
    """RETURNS (Callable): Imports the backend anew, with settings."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    spacy_hosemi.save(nlp, tmp_path / "first")

    def import_backend(**settings):
        given = {"model": tmp_path / "first", "folder": tmp_path / "kept", **settings}
        for name, value in given.items():
            monkeypatch.setenv(f"BACKEND_{name.upper()}", str(value))
        return import_module("backend")

    with example_on_path("service"), example_on_path("label_studio"):
        yield import_backend


@pytest.fixture()
def training(tmp_path):
    """Settings of a backend that learns: small data, and a fit of a few iterations."""
    config = Config().from_disk(BASE_CONFIG, interpolate=False)
    of_component = config["initialize"]["components"]["hosemi"]
    del of_component["dev"]
    of_component["fit"] |= {"l2": 0.1, "max_iter": 20, "progress": False}
    del config["nlp"]["tokenizer"]
    config.to_disk(tmp_path / "config.cfg")
    DocBin(docs=references()).to_disk(tmp_path / "train.spacy")
    names = {"train": "train.spacy", "dev": "train.spacy", "config": "config.cfg"}
    return {"wait_seconds": 0, **{key: tmp_path / x for key, x in names.items()}}


@pytest.fixture()
def in_process(make, monkeypatch):
    """Commands of a training run in this process, which takes less time."""

    async def run(self, *words, fine=(0,)):
        result = await asyncio.to_thread(CliRunner().invoke, app, words)
        if result.exit_code not in fine:
            raise RuntimeError(f"{' '.join(words[:2])} has failed\n{result.output}")
        return result.stdout_bytes

    monkeypatch.setattr(import_module("learning").Training, "_spacy", run)


@pytest.fixture()
def client(make):
    with TestClient(make().app) as client:
        yield client


def task_of(marked, number):
    """A task and its annotation, as webhooks send them."""
    text, spans = parse(marked)
    values = [
        {"start": i, "end": j, "text": text[i:j], "labels": [y]} for i, j, y in spans
    ]
    names = {"from_name": "ner", "to_name": "doc", "type": "labels"}
    result = [{**names, "value": value} for value in values]
    annotation = {"id": 100 + number, "task": number, "result": result}
    return annotation, {"id": number, "data": {"body": text}}


def faulty(kind, number):
    """An annotation that cannot be used, and its task."""
    annotation, task = task_of(MACHINES[0], number)
    regions = annotation["result"]
    if kind == "overlapping":
        regions.append(deepcopy(regions[0]))
        regions[-1]["value"] |= {"end": 10, "text": "Ada bought"}
    elif kind == "outside":
        regions[0]["value"] |= {"end": 300}
    elif kind == "long":
        regions[0]["value"] |= {"text": "Ada " * 50, "labels": []}
    else:
        annotation["was_cancelled"] = True
    return annotation, task


def predict(client, *texts):
    tasks = [{"id": k, "data": {"body": text}} for k, text in enumerate(texts)]
    given = {"tasks": tasks, "project": "1.2", "label_config": INTERFACE, "params": {}}
    answer = client.post("/predict", json=given)
    assert answer.status_code == 200, answer.text
    return answer.json()


def event(kind, annotation, task):
    """What a webhook sends of one annotation and its task, or of lists of them."""
    return {"action": f"ANNOTATION_{kind}", "annotation": annotation, "task": task}


def send(client, *pairs):
    """Send annotations and their tasks, as one event."""
    given = event("CREATED", *map(list, zip(*pairs)))
    answer = client.post("/webhook", json={**given, "action": "ANNOTATIONS_CREATED"})
    assert (answer.status_code, answer.json()) == (201, {"status": "learning"})


def labels_of(prediction):
    return [x["value"]["labels"][0] for x in prediction["result"]]


def test_predictions_have_scores(nlp, client):
    found = predict(client, TEXT, "Nobody.")
    doc = nlp(TEXT)
    first, second = found["results"]
    assert first["score"] == doc._.record_confidence and second["result"] == []
    for x, ent in zip(first["result"], doc.ents, strict=True):
        place = {"start": ent.start_char, "end": ent.end_char, "text": ent.text}
        assert x["value"] == {**place, "labels": [ent.label_]}
        assert x["score"] == ent._.confidence
        assert (x["from_name"], x["to_name"], x["type"]) == ("ner", "doc", "labels")
    project = {"project": "1.2", "schema": INTERFACE, "hostname": "http://localhost"}
    version = client.post("/setup", json=project).json()["model_version"]
    assert version == found["model_version"] == first["model_version"]
    expected = {"status": "UP", "n_trained": 0, "error": None}
    expected |= {"n_left_out": 0, "left_out": []}
    assert client.get("/health").json() == expected


def test_tasks_without_text_get_empty_predictions(client, caplog):
    whole = predict(client, TEXT)
    none = [{"id": 7, "data": {"text": "secret"}}, {"id": 8, "data": {"body": None}}]
    none += [{"id": 9, "data": {"body": "half \ud83d"}}, {"data": None}, {}]
    tasks = [*none, {"id": 1, "data": {"body": TEXT}}, *none]
    given = {"tasks": tasks, "label_config": INTERFACE}
    answer = client.post("/predict", content=dumps(given), headers=JSON)
    assert answer.status_code == 200, answer.text
    *before, found = answer.json()["results"][: len(none) + 1]
    assert [found] == whole["results"] and found["result"]
    assert before == answer.json()["results"][len(none) + 1 :]
    expected = {"model_version": whole["model_version"], "score": 0, "result": []}
    assert before == [expected] * len(none)
    said = "10 of 11 tasks without text under 'body', the first: task 7"
    assert said in caplog.text and "secret" not in caplog.text
    answer = client.post(
        "/predict", content=dumps({"tasks": none}), headers=JSON
    )  # none at all
    assert answer.json()["results"][1:] == [expected] * 4


@pytest.mark.parametrize(
    "given, said",
    [
        ({}, "Field required"),
        ({"tasks": [LONG | {"id": 7}]}, "The text of task 7 has 300 characters"),
        ({"tasks": [{"id": 7}, LONG]}, "The text of number 2 of the tasks has 300"),
        ({"tasks": [LONG]}, "expected at most 99 (BACKEND_MAX_CHARS)"),
        ({"tasks": [], "label_config": "<"}, "is no XML"),
        ({"tasks": [], "label_config": 10**6 * " " + "<"}, "expected at most 1000000"),
        ({"tasks": [], "label_config": "<View/>"}, "has no Labels tag"),
        ({"tasks": [{}] * 1001}, "at most 1000 items"),
    ],
)
def test_refused(make, given, said):
    with TestClient(make(max_chars=99).app) as client:
        answer = client.post("/predict", json=given)
        assert answer.status_code == 422 and said in answer.text
        assert "secret" not in answer.text


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_authentication_outside_ascii(make, encoding):
    with TestClient(make(user="jörg", password="schlüssel").app) as client:
        for password, code in (("schlüssel", 200), ("schl?ssel", 401)):
            pair = b64encode(f"jörg:{password}".encode(encoding)).decode()
            headers = {"Authorization": f"Basic {pair}"}
            assert client.post("/setup", json={}, headers=headers).status_code == code


def test_annotations_without_a_task_lose_no_others(make, training, tmp_path):
    pairs = [task_of(MACHINES[k], k) for k in range(4)]
    annotations, tasks = map(list, zip(*pairs))
    given = {"action": "ANNOTATIONS_CREATED", "annotation": annotations}
    with TestClient(make(**training | {"wait_seconds": 100}).app) as client:
        answer = client.post("/webhook", json={**given, "task": tasks[:0:-1]})
        assert answer.status_code == 422 and "1 of 4 annotations" in answer.text
        kept = sorted((tmp_path / "kept" / "answers").glob("*.json"))
        assert [x.stem for x in kept] == ["1", "2", "3"]
        (task,) = loads(kept[2].read_text())
        assert task["data"] == tasks[3]["data"] and task["annotations"] == [pairs[3][0]]
        unnamed = [{"id": 7, "result": []}, {"id": 8, "result": []}]
        given |= {"annotation": unnamed, "task": tasks[:1]}
        assert "2 of 2 annotations" in client.post("/webhook", json=given).text


def test_basic_authentication(make):
    with TestClient(make(user="ada", password="secret").app) as client:
        for path, given in (("setup", {}), ("predict", {"tasks": []})):
            assert client.post(f"/{path}", json=given).status_code == 401
            wrong = client.post(f"/{path}", json=given, auth=("ada", "x"))
            assert wrong.status_code == 401
            right = client.post(f"/{path}", json=given, auth=("ada", "secret"))
            assert right.status_code == 200
        given = {"action": "ANNOTATION_CREATED"}
        assert client.post("/webhook", json=given).status_code == 401


@pytest.mark.parametrize("given", [("ada", None), (None, "secret"), ("", "secret")])
def test_a_user_needs_a_password(make, given, tmp_path):
    given = {key: x for key, x in zip(("user", "password"), given) if x is not None}
    with pytest.raises(SystemExit) as refused:
        make(**given)
    message = str(refused.value)
    assert "BACKEND_USER" in message and "BACKEND_PASSWORD" in message
    assert "secret" not in message and not (tmp_path / "kept").exists()
    with TestClient(make(user="", password="").app) as client:
        assert client.post("/predict", json={"tasks": []}).status_code == 200


def test_it_learns_only_where_it_can(client, make, tmp_path):
    given = event("CREATED", *task_of(MACHINES[0], 1))
    answer = client.post("/webhook", json=given)
    assert answer.status_code == 201 and "nothing is learned" in answer.text
    assert not os.listdir(tmp_path / "kept" / "answers")


@pytest.mark.parametrize(
    "changed, said",
    [
        ({"dev": None}, ", BACKEND_DEV is empty or not set; expected BACKEND_DEV"),
        ({"dev": ""}, ", BACKEND_DEV is empty or not set; expected BACKEND_DEV"),
        ({"config": None}, ", BACKEND_CONFIG is empty or not set; expected"),
        ({"config": None, "dev": None}, ", BACKEND_DEV is empty or not set; expected"),
        ({"dev": "no.spacy"}, "BACKEND_DEV: expected a .spacy file, found no file: "),
        ({"train": "no.spacy"}, "BACKEND_TRAIN: expected a .spacy file, found no file"),
        ({"config": "."}, "BACKEND_CONFIG: expected a config of spaCy, found a folder"),
    ],
)
def test_what_a_training_needs_is_checked_first(make, training, changed, said):
    given = {key: x for key, x in {**training, **changed}.items() if x is not None}
    with pytest.raises(SystemExit) as refused:
        make(**given)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_each_fault_of_settings_has_a_line(make, tmp_path):
    with pytest.raises(SystemExit) as refused:
        make(config=tmp_path / "no.cfg", user="ada")
    names = [line.split()[0] for line in str(refused.value).splitlines()]
    assert names == ["BACKEND_USER", "BACKEND_CONFIG", "BACKEND_CONFIG:"]
    assert repr(str(tmp_path / "no.cfg")) in str(refused.value)


@pytest.mark.parametrize("is_adapted", [False, True])
def test_annotations_are_learned(make, training, tmp_path, is_adapted):
    training["wait_seconds"] = 0.5  # for all of them: one training
    if is_adapted:
        training |= {"config": "", "train": "", "most_lost": 0.5}
    text = "Mary Somerville bought the Z3 ."
    with TestClient(make(**training).app) as client:
        before = predict(client, text)
        assert "MACHINE" not in labels_of(before["results"][0])
        pairs = [task_of(x, k) for k, x in enumerate(MACHINES)]
        for pair in pairs[:2]:
            answer = client.post("/webhook", json=event("CREATED", *pair))
            assert answer.json() == {"status": "learning"}
        send(client, *pairs[2:])

        def has_learned():
            # Meanwhile the old model answers, whole.
            now = predict(client, text)
            assert now == before or now["model_version"] != before["model_version"]
            assert client.get("/health").json()["error"] is None
            return "MACHINE" in labels_of(now["results"][0])

        wait_until(has_learned)
        wait_until(lambda: client.get("/health").json()["n_trained"])
    with TestClient(make(**training).app) as client:  # it remembers
        assert has_learned()
        deleted = [{"id": annotation["id"]} for annotation, _ in pairs[:3]]
        given = {"action": "ANNOTATIONS_DELETED", "annotations": deleted}
        client.post("/webhook", json=given)
        assert os.listdir(tmp_path / "kept" / "answers") == ["3.json"]


def test_annotations_that_are_left_out_are_counted(make, training, caplog, in_process):
    caplog.set_level("INFO")
    twice, task = task_of(MACHINES[1], 1)
    twice["result"] *= 2  # a fault, but the annotation is used
    kinds = "overlapping", "outside", "cancelled"
    pairs = [faulty(kind, k) for k, kind in enumerate(kinds, start=2)]
    with TestClient(make(**training).app) as client:
        send(client, (twice, task), *pairs)
        wait_until(lambda: client.get("/health").json()["n_trained"])
        found = client.get("/health").json()
        assert found["error"] is None and found["n_left_out"] == 3
        assert found["left_out"] == [
            f"task 2: {FAULTY['overlapping']}",
            f"task 3: {FAULTY['outside']}",
            FAULTY["cancelled"],
        ]
        assert "trained with 1 of 4 annotations" in caplog.text
        assert "left out: 3 annotations\n" in caplog.text
        assert 'task 2: the spans [0, 3, "PER"] "Ada" and' in caplog.text
        # Reasons are of the last training alone.
        gone = [{"id": annotation["id"]} for annotation, _ in pairs]
        given = {"action": "ANNOTATIONS_DELETED", "annotations": gone}
        client.post("/webhook", json=given)
        wait_until(lambda: client.get("/health").json()["n_trained"] == 2)
        found = client.get("/health").json()
        assert found["n_left_out"] == 0 and found["left_out"] == []


@pytest.mark.parametrize("kind", ["long", "cancelled"])
def test_no_annotation_can_be_used(make, training, kind, in_process):
    with TestClient(make(**training).app) as client:
        send(client, faulty(kind, 7))
        wait_until(lambda: client.get("/health").json()["error"])
        found = client.get("/health").json()
        reason = FAULTY[kind] if kind == "cancelled" else f"task 7: {FAULTY[kind]}"
        assert found["error"] == f"0 of 1 annotations can be used: {reason}"
        assert not found["n_trained"] and "Ada" not in str(found)


def test_a_worse_model_replaces_nothing(make, training, in_process):
    """One annotation alone, against a model of all texts."""
    del training["train"]
    with TestClient(make(**training).app) as client:
        before = predict(client, TEXT)
        send(client, task_of("Nobody saw the [MACHINE Z3] .", 1))
        wait_until(lambda: client.get("/health").json()["error"])
        found = client.get("/health").json()
        expected = r"the model in use stays: F1 100.0 on .*; trained with 1 .* was 0.0"
        assert re.fullmatch(expected, found["error"]) and not found["n_trained"]
        assert predict(client, TEXT) == before


def test_a_training_that_cannot_begin(make, training, tmp_path, monkeypatch):
    # Python ends with 1, as `hosemi convert` does where annotations have faults.
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "spacy.py").write_text("raise ImportError('secret')")
    with TestClient(make(**training).app) as client:
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "broken"))
        send(client, task_of(MACHINES[0], 1))
        wait_until(lambda: client.get("/health").json()["error"])
        assert client.get("/health").json()["error"] == "hosemi convert has failed"


def test_a_training_that_fails(make, training, in_process):
    training["config"].write_text("[nlp]\nlang = 'secret'\n")
    with TestClient(make(**training).app) as client:
        before = predict(client, TEXT)
        given = event("UPDATED", *task_of(MACHINES[0], 1))
        assert client.post("/webhook", json=given).status_code == 201
        wait_until(lambda: client.get("/health").json()["error"])
        assert "convert has failed" in client.get("/health").text
        assert "secret" not in client.get("/health").text
        assert predict(client, TEXT) == before
        bad = {**given, "annotation": {}}
        assert "with a result" in client.post("/webhook", json=bad).text
        bad = {**given, "task": {"id": "../1", "data": {}}}
        assert client.post("/webhook", json=bad).status_code == 422
        given = {"action": "PROJECT_UPDATED", "project": {"id": 1}}
        assert client.post("/webhook", json=given).json() == {"status": "ignored"}


def test_a_training_that_is_late(make, training):
    with TestClient(make(**training, max_train_seconds=0.01).app) as client:
        send(client, task_of(MACHINES[0], 1))
        wait_until(lambda: client.get("/health").json()["error"])
        assert "takes more than 0.01 seconds" in client.get("/health").text
