"""The service of examples/service: what it answers, refuses, and survives."""

import json
import os
import re
import shutil
import socket
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import pytest
import spacy

import spacy_hosemi
from spacy_hosemi.component.fingerprint import fingerprint
from spacy_hosemi.prediction.guarantee import Guarantee, Usual

from .conftest import example_on_path, scripts_on_path
from .helpers import make_trained

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")
pytest.importorskip("uvicorn")
with pytest.MonkeyPatch.context() as patch:
    patch.setattr("warnings.warn", lambda *_, **__: None)  # which httpx there is
    from fastapi.testclient import TestClient

from prometheus_client.parser import text_string_to_metric_families  # noqa: E402

TEXTS = [
    "Ada Lovelace lived in Paris.",
    "",
    "Nobody was there.",
    "\U0001f600 Ada Byron",
]
TOKEN = {"Authorization": "Bearer secret"}
JSON = {"Content-Type": "application/json"}
WAIT_S = 240


@pytest.fixture(scope="module")
def nlp():
    return make_trained(confidence=True)


@pytest.fixture()
def folder(nlp, tmp_path, monkeypatch):
    """A saved pipeline; what the service copies lies beside."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    spacy_hosemi.save(nlp, tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture()
def make(folder, monkeypatch):
    """RETURNS (Callable): Imports the service anew, with settings."""

    def import_service(**settings):
        given = {"model": folder, "reload_token": "secret", **settings}
        for name, value in given.items():
            monkeypatch.setenv(f"SERVICE_{name.upper()}", str(value))
        return import_module("service")

    with example_on_path("service"):
        yield import_service


def wait_until(is_so):
    until = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.01)


def is_ready(client):
    return client.get("/health").status_code == 200


@contextmanager
def serving(module):
    """A client of a service, as soon as that is ready."""
    with TestClient(module.app) as client:
        wait_until(lambda: is_ready(client))
        yield client


@pytest.fixture()
def client(make):
    with serving(make()) as client:
        yield client


def records_of(nlp, texts):
    names = "start", "end", "label", "text", "confidence"
    return [
        {
            "spans": [
                dict(zip(names, (x.start_char, x.end_char, x.label_, x.text, y)))
                for x in doc.ents
                for y in (x._.confidence,)
            ],
            "confidence": doc._.record_confidence,
        }
        for doc in nlp.pipe(texts)
    ]


def test_code_of_the_user(make, tmp_path):
    code = "from spacy import registry\nregistry.misc('own.v1', func=lambda: str)\n"
    (tmp_path / "own.py").write_text(code)
    make(code=tmp_path / "own.py")
    assert "own.v1" in spacy.registry.misc


# ------------------------------------------------------------------------------ answers


def test_answers_are_those_of_the_pipeline(nlp, client):
    expected = records_of(nlp, TEXTS)
    assert any(record["spans"] for record in expected)
    answer = client.post("/batch", json={"texts": TEXTS})
    assert (answer.status_code, answer.json()) == (200, {"records": expected})
    for text, record in zip(TEXTS, expected):
        assert client.post("/parse", json={"text": text}).json() == record
    assert client.post("/batch", json={"texts": []}).json() == {"records": []}
    body = rb'{"text": "\ud83d\ude00 Ada Byron"}'  # a surrogate pair
    answer = client.post("/parse", content=body, headers=JSON)
    assert answer.json() == expected[3]


def test_answers_of_many_at_once(nlp, client):
    texts = [f"Ada Lovelace lived in Paris for {k} years." for k in range(60)]
    expected = records_of(nlp, texts)
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(
            lambda x: client.post("/parse", json={"text": x}).json(), texts
        )
        assert [*found] == expected


# ----------------------------------------------------------------------------- refusals


REFUSED = [
    ("/parse", b'{"text": "secret', 422, "json_invalid"),
    ("/parse", b"", 422, "missing"),
    ("/parse", b"[]", 422, "type"),
    ("/parse", b"{}", 422, "missing"),
    ("/parse", b'{"text": null}', 422, "string_type"),
    ("/parse", b'{"text": 3}', 422, "string_type"),
    ("/parse", b'{"text": ["secret"]}', 422, "string_type"),
    ("/parse", rb'{"text": "secret \ud800"}', 422, "string_unicode"),
    ("/parse", b'{"text": "\xff\xfe"}', 400, "parsing"),
    ("/parse", b"[" * 100_000, 400, "parsing"),
    ("/parse", b'{"text": ' + b"9" * 10_000 + b"}", 400, "parsing"),
    ("/parse", b'{"text": "' + b"secret " * 150_000 + b'"}', 422, "too_long"),
    ("/batch", b'{"texts": "secret"}', 422, "list_type"),
    ("/batch", b'{"texts": null}', 422, "list_type"),
    ("/batch", b'{"texts": ["secret", null, {}]}', 422, "string_type"),
    ("/batch", json.dumps({"texts": ["a"] * 1001}).encode(), 422, "too_long"),
    ("/batch", json.dumps({"texts": [1] * 1000}).encode(), 422, "string_type"),
]


def test_refused(client, caplog):
    for path, body, status, message in REFUSED:
        with caplog.at_level("INFO"):
            answer = client.post(path, content=body, headers=JSON)
        assert answer.status_code == status and message in answer.text, body[:50]
        assert "secret" not in answer.text + caplog.text
        assert len(answer.text) < 2_000
        assert client.post("/parse", json={"text": "Ada"}).status_code == 200


def in_parts(n_parts, read):
    for k in range(n_parts):
        read.append(k)
        yield b'{"text": "' if k == 0 else b"x" * 1000


@pytest.mark.parametrize("is_announced", [True, False])
def test_bodies_that_are_too_large(make, is_announced):
    with serving(make(max_bytes=10_000)) as client:
        read: list[int] = []
        body = b"x" * 11_000 if is_announced else in_parts(20, read)
        answer = client.post("/parse", content=body, headers=JSON)
        assert answer.status_code == 413 and "10000 bytes" in answer.text
        assert len(read) in (0, 20)
        assert answer.headers["connection"] == "close"
        answer = client.post("/parse", json={"text": "x" * 9_000})
        assert answer.status_code == 200


def test_other_paths_and_methods(client):
    assert client.get("/nothing").status_code == 404
    assert client.post("/nothing/ever", content=b"x").status_code == 404
    assert client.get("/parse").status_code == 405
    found = client.get("/metrics").text
    assert 'path="other",status="404"' in found and "nothing" not in found


def hold(module, monkeypatch):
    """RETURNS (Tuple): An event for which texts wait, and what each then lengthens."""
    go_on, tried, read = threading.Event(), [], module.read

    def slowly(*args):
        assert go_on.wait(WAIT_S)
        tried.append(1)
        return read(*args)

    monkeypatch.setattr(module, "read", slowly)
    return go_on, tried


def test_too_many_wait(make, monkeypatch):
    module = make(threads=1, max_waiting=1)
    go_on, _ = hold(module, monkeypatch)
    with serving(module) as client, ThreadPoolExecutor(2) as pool:
        ask = client.post
        two = [pool.submit(ask, "/parse", json={"text": "Ada"}) for _ in range(2)]
        wait_until(lambda: "service_jobs 2.0" in client.get("/metrics").text)
        answer = ask("/parse", json={"text": "Ada"})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        go_on.set()
        assert [one.result().status_code for one in two] == [200, 200]
        assert ask("/parse", json={"text": "Ada"}).status_code == 200
        assert "service_jobs 0.0" in client.get("/metrics").text


def test_late_requests_end(make, monkeypatch):
    module = make(threads=1, max_seconds=0.5)
    go_on, tried = hold(module, monkeypatch)
    with serving(module) as client, ThreadPoolExecutor(2) as pool:
        jobs = pool.map(lambda x: client.post("/parse", json={"text": x}), ["a", "b"])
        assert [job.status_code for job in jobs] == [504, 504]
        go_on.set()
        wait_until(lambda: "service_jobs 0.0" in client.get("/metrics").text)
        assert len(tried) == 1  # the one that waited never began
        assert client.post("/parse", json={"text": "Ada"}).status_code == 200


def test_a_batch_is_given_up_between_texts(make):
    module = make()
    service = module.service
    service.pipeline.reload()
    with pytest.raises(TimeoutError):
        module.read(service.pipeline.current, TEXTS, time.monotonic() - 1.0)
    read = []

    def texts():
        for text in TEXTS * 1000:
            read.append(text)
            yield text

    with pytest.raises(TimeoutError):
        module.read(service.pipeline.current, texts(), time.monotonic() + 0.02)
    assert len(read) < 4000


# ----------------------------------------------------------------------- health, reload


def test_health_before_the_model_is_loaded(make, monkeypatch):
    module = make()
    pipeline = import_module("pipeline")
    go_on, load = threading.Event(), pipeline.load
    monkeypatch.setattr(pipeline, "load", lambda x: go_on.wait(WAIT_S) and load(x))
    with TestClient(module.app) as client:
        assert client.get("/health/live").json() == {"live": True}
        answer = client.get("/health")
        nothing = {"ready": False, "model": None, "error": None}
        assert (answer.status_code, answer.json()) == (503, nothing)
        answer = client.post("/parse", json={"text": "Ada"})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        go_on.set()
        wait_until(lambda: is_ready(client))
        model = client.get("/health").json()["model"]
        assert model["name"] == "en_pipeline" and len(model["digest"]) == 64


def test_a_broken_model_at_first(make, nlp, folder):
    (folder / "hosemi" / "cfg").write_bytes(b"{}")
    with TestClient(make().app) as client:
        wait_until(lambda: client.get("/health").json()["error"])
        answer = client.get("/health")
        assert answer.status_code == 503 and "HS06" in answer.json()["error"]
        spacy_hosemi.save(nlp, folder)
        assert client.post("/reload", headers=TOKEN).status_code == 200
        assert is_ready(client) and client.get("/health").json()["error"] is None


@pytest.mark.parametrize("token", ["secret", "", "gehäuse", "日本"])
def test_no_reload_without_the_token(make, token):
    wrong = "wrong", "é", "geh?use", "??", "gehä"
    with TestClient(make(reload_token=token).app) as client:
        for given in ("", "Bearer", "secret", *(f"Bearer {x}" for x in ("", *wrong))):
            for encoding in ("utf8", "latin-1"):
                headers = {"Authorization": given.encode(encoding)}
                assert client.post("/reload", headers=headers).status_code == 403
        assert client.post("/reload").status_code == 403
        headers = {"Authorization": f"Bearer {token or 'secret'}".encode()}
        found = client.post("/reload", headers=headers).status_code
        assert found == (200 if token else 403)


def test_reload(client, nlp, folder):
    before = client.get("/health").json()["model"]
    old = client.post("/parse", json={"text": TEXTS[0]}).json()
    other = make_trained(["[LOC Ada] [PER wrote]."], confidence=True)
    spacy_hosemi.save(other, folder)
    assert client.get("/health").json()["model"] == before
    answer = client.post("/reload", headers=TOKEN)
    after = client.get("/health").json()["model"]
    assert answer.json()["model"] == after != before
    (expected,) = records_of(other, TEXTS[:1])
    assert client.post("/parse", json={"text": TEXTS[0]}).json() == expected != old
    wait_until(lambda: len(os.listdir(tempfile.gettempdir())) == 1)


@pytest.mark.parametrize("way", ["corrupted", "without", "removed"])
def test_reload_of_a_broken_model(client, nlp, folder, way):
    before = client.get("/health").json()
    if way == "corrupted":
        (weights,) = (folder / "hosemi").glob("weights-*.npy")
        weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    elif way == "without":
        spacy_hosemi.load(folder).to_disk(folder)
        nlp = spacy_hosemi.load(folder)
        nlp.remove_pipe("hosemi")
        spacy_hosemi.save(nlp, folder)
    else:
        shutil.rmtree(folder)
    answer = client.post("/reload", headers=TOKEN)
    assert answer.status_code == 500 and "in use stays" in answer.json()["detail"]
    found = client.get("/health")
    assert found.status_code == 200 and found.json()["error"]
    assert found.json()["model"] == before["model"]
    assert client.post("/parse", json={"text": "Ada"}).status_code == 200
    assert len(os.listdir(tempfile.gettempdir())) == 1


def test_a_vocabulary_that_grows_is_renewed(make, folder):
    module = make(max_new_strings=200)
    with serving(module) as client:
        before = client.get("/health").json()
        shutil.rmtree(folder)  # it is not read again
        (copy,) = Path(tempfile.gettempdir()).iterdir()
        texts = [f"Ada met word{k}x{k} in Paris." for k in range(300)]
        found = client.post("/batch", json={"texts": texts}).json()
        name = "service_loads_total"
        line = f'{name}{{result="done",why="renewal"}} 1.0'
        wait_until(lambda: line in client.get("/metrics").text)
        assert module.service.n_new_strings() < 200
        assert client.get("/health").json() == before
        assert client.post("/batch", json={"texts": texts}).json() == found
        wait_until(lambda: not copy.exists())


# --------------------------------------------------------------------- logs and metrics


def test_request_ids(client, caplog):
    with caplog.at_level("INFO"):
        answer = client.get("/health", headers={"X-Request-ID": "of-a-proxy.1"})
        assert answer.headers["x-request-id"] == "of-a-proxy.1"
        assert "of-a-proxy.1 GET /health 200" in caplog.text
        for odd in ("a b", "x" * 65, "a;b", ""):
            answer = client.get("/health", headers={"X-Request-ID": odd})
            assert re.fullmatch("[0-9a-f]{32}", answer.headers["x-request-id"])


def test_no_text_in_the_log_of_a_failure(client, make, monkeypatch, caplog):
    def fail(_, texts, *__):
        raise ValueError(f"I cannot read {texts}")

    monkeypatch.setattr(make(), "read", fail)
    with caplog.at_level("INFO"):
        answer = client.post("/parse", json={"text": "a private text"})
    assert answer.status_code == 500 and answer.headers["x-request-id"] in caplog.text
    assert "ValueError" in caplog.text and "in fail" in caplog.text
    assert "private" not in caplog.text + answer.text


def test_metrics(client):
    client.post("/batch", json={"texts": TEXTS})
    client.post("/parse", json={"text": 3})
    text = client.get("/metrics").text
    found = {
        (x.name, *sorted(x.labels.values())): x.value
        for family in text_string_to_metric_families(text)
        for x in family.samples
    }
    assert found["service_texts_total",] == len(TEXTS)
    assert found["service_requests_total", "/batch", "200", "POST"] == 1
    assert found["service_requests_total", "/parse", "422", "POST"] == 1
    assert found["service_loads_total", "done", "reload"] == 1
    assert found["service_request_seconds_count", "/batch"] == 1


def test_drift_is_a_metric(make, nlp, folder):
    """Until a thousand records are judged all count, then the older ones less."""
    changed = spacy.load(folder)
    pipe = changed.get_pipe("hosemi")
    usual = Usual(0.5, 25, 100)
    promise = Guarantee(0.1, 0.1, fingerprint(pipe), 100, 10, 0.9, usual=usual)
    pipe.guarantee = promise
    spacy_hosemi.save(changed, folder)
    strange = "Zürich met Ypsilanti of Xanadu."
    low = usual.is_low(nlp(strange)._.record_confidence)
    with serving(make()) as client:
        for n, has_drifted in ((2, 0), (60, 1)):
            client.post("/batch", json={"texts": [strange] * n + [""]})
            text = client.get("/metrics").text
            assert f"service_drift {has_drifted}.0" in text
        assert "service_judged_total 62.0" in text
        assert f"service_improbable_total {62.0 * low}" in text


def test_settings(make):
    module = make(port=1, max_seconds=0.5, host="0.0.0.0")
    found = module.settings
    assert (found.port, found.max_seconds, found.host) == (1, 0.5, "0.0.0.0")
    assert (found.reload_token, found.max_texts) == ("secret", 1000)
    with serving(module):  # and nothing is left of its copy
        assert len(os.listdir(tempfile.gettempdir())) == 1
    assert not os.listdir(tempfile.gettempdir())


# ----------------------------------------------------------------------- a real process


@pytest.fixture()
def server(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("SERVICE_MAX_SECONDS", "2")
    monkeypatch.setenv("SERVICE_MAX_BYTES", "100000")
    with scripts_on_path():
        monkeypatch.delitem(sys.modules, "service", raising=False)
        with import_module("service").Server(folder, tmp_path / "log") as server:
            yield server


def send(server, data):
    """RETURNS (bytes): All that comes until the connection is closed."""
    with socket.create_connection(("127.0.0.1", server.port), WAIT_S) as connection:
        connection.sendall(data)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
        return b"".join(parts)


def dripping(server, data):
    """RETURNS (bytes): All that comes to a client that then sends a byte at times."""
    address, parts = ("127.0.0.1", server.port), []
    with socket.create_connection(address, WAIT_S) as connection:
        connection.sendall(data)
        connection.settimeout(0.3)
        for _ in range(10 * WAIT_S):
            try:
                parts.append(connection.recv(65536))
                if not parts[-1]:
                    break
            except TimeoutError:
                if data:
                    connection.sendall(b"X")
            except ConnectionError:
                break
        else:
            raise AssertionError("it is still open")
        return b"".join(parts)


def test_a_server(server, nlp, folder):
    head = b"POST /parse HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    late = send(server, head + b'Content-Length: 100\r\n\r\n{"text"')
    assert late.startswith(b"HTTP/1.1 408 ")
    large = head + b"Content-Length: 300000\r\n\r\n" + b"x" * 300_000
    assert send(server, large).startswith(b"HTTP/1.1 413 ")
    parts = b"8000\r\n" + b"x" * 0x8000 + b"\r\n"
    large = head + b"Transfer-Encoding: chunked\r\n\r\n" + 5 * parts + b"0\r\n\r\n"
    assert send(server, large).startswith(b"HTTP/1.1 413 ")
    assert send(server, b"nonsense\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    whole = head + b"Content-Length: 12\r\n\r\n" + b'{"text": ""}'
    for begun in (b"", b"P", head, whole + b"GET /hea"):  # nobody holds a connection
        answer = dripping(server, begun)
        assert answer.startswith(b"HTTP/1.1 200 ") == (begun[:-8] == whole)

    (expected,) = records_of(nlp, TEXTS[:1])
    stop = threading.Event()

    def ask_on(_):
        connection, n_answers = server.connect(), 0
        while not stop.is_set():
            body = json.dumps({"text": TEXTS[0]})
            connection.request("POST", "/parse", body, JSON)
            answer = connection.getresponse()
            assert (json.loads(answer.read()), answer.status) == (expected, 200)
            n_answers += 1
        connection.close()
        return n_answers

    with ThreadPoolExecutor(8) as pool:
        clients = pool.map(ask_on, range(8))
        try:
            for k in range(4):
                if k == 2:
                    (folder / "hosemi" / "cfg").write_bytes(b"{}")
                token = {"Authorization": "Bearer of-the-benchmark"}
                status, _ = server.ask("POST", "/reload", **token)
                assert status == (200 if k < 2 else 500)
        finally:
            stop.set()
        assert all(n_answers > 0 for n_answers in clients)
