"""What the service of examples/service does under load, and what it refuses.

    python benchmarks/service.py MODEL DATA --seconds 120

The real server runs in a process of its own. Clients, each with one connection that it
keeps, send the next request when they have the answer of the last one: 90 of 100 have
one text of test, 8 have 20 texts, one is broken JSON, and one has a text of 1 MB. In
the middle the model is reloaded. Printed are requests a second, and latencies in ms as
a client sees them (percentiles). An error is any answer but the right one: another
status than 200, or than 422 for what must be refused; spans of a text other than those
that the model gives in this process; a broken connection.

Clients and server share the processor. --new-words adds words to each text that nobody
has met: what spaCy keeps of them makes the server renew its pipeline at times. Memory
is the server's resident size, CPU its CPU time, as its /metrics say.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import socket
import string
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import harness
import numpy as np
import spacy
from arguments import number, path_to, script
from spacy.util import load_model

from spacy_hosemi.formats import read_docs

SERVICE = harness.ROOT / "examples" / "service"
TOKEN = "of-the-benchmark"
N_TEXTS, BATCH = 400, 20
START_SECONDS = 60
JSON = {"Content-Type": "application/json"}
KINDS = ("one text", f"{BATCH} texts", "broken JSON", "1 MB")
WEIGHTS = (90, 8, 1, 1)
PERCENTILES = (50, 90, 99, 100)


class Server:
    """The service of a saved pipeline in a process of its own, whose log gets what it
    prints."""

    def __init__(self, model: Path, log: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        path = [str(harness.ROOT.resolve()), os.environ.get("PYTHONPATH", "")]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}
        env |= {"SERVICE_MODEL": str(model.resolve()), "SERVICE_PORT": str(self.port)}
        env["SERVICE_RELOAD_TOKEN"] = TOKEN
        self._log = log
        with log.open("wb") as file:
            command = [sys.executable, "service.py"]
            both: Any = {"stdout": file, "stderr": subprocess.STDOUT}
            self._process = subprocess.Popen(command, cwd=SERVICE, env=env, **both)

    def connect(self) -> http.client.HTTPConnection:
        """Returns a new connection."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, method: str, path: str, **headers: str) -> tuple[int, str]:
        """Returns status and body of an answer."""
        with closing(self.connect()) as connection:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def __enter__(self) -> Server:
        """Wait until the model is loaded; exits if it does not come."""
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self._process.poll() is None:
            try:
                if self.ask("GET", "/health")[0] == 200:
                    return self
            except OSError:
                pass
            time.sleep(0.1)
        self.__exit__()
        sys.exit(f"the service does not start: {self._log.read_text('utf-8')}")

    def metric(self, name: str) -> float:
        """Returns a number of /metrics."""
        metrics = self.ask("GET", "/metrics")[1]
        found = re.search(rf"^{re.escape(name)} (\S+)$", metrics, re.M)
        return float(found[1]) if found else 0.0

    def mb(self) -> float:
        """Returns its resident memory."""
        return self.metric("process_resident_memory_bytes") / harness.MB

    def __exit__(self, *_: object) -> None:
        """Ask it to end, as an operator would."""
        self._process.terminate()
        self._process.wait(30)


@dataclass
class Client:
    """One of the clients, in a thread: texts and their spans, which are not compared
    where n_new words are added; and what it has seen."""

    server: Server
    texts: Sequence[str]
    answers: Sequence[Any]
    n_new: int
    rng: random.Random
    until: float
    ms: dict[str, list[float]] = field(default_factory=lambda: {x: [] for x in KINDS})
    errors: Counter[str] = field(default_factory=Counter)

    def run(self) -> None:
        """Send requests until it is time."""
        connection = self.server.connect()
        while time.monotonic() < self.until:
            (kind,) = self.rng.choices(KINDS, WEIGHTS)
            chosen = self.rng.choices(range(len(self.texts)), k=BATCH)
            path, body = self.request(kind, chosen)
            began = time.perf_counter()
            try:
                connection.request("POST", path, body, JSON)
                answer = connection.getresponse()
                data = answer.read()
            except (OSError, http.client.HTTPException) as error:
                self.errors[f"{kind}: {type(error).__name__}"] += 1
                connection.close()
                continue
            self.ms[kind].append(1e3 * (time.perf_counter() - began))
            if fault := self.fault(kind, chosen, answer.status, data):
                self.errors[f"{kind}: {fault}"] += 1
        connection.close()

    def request(self, kind: str, chosen: Sequence[int]) -> tuple[str, bytes]:
        """Returns path and body."""
        texts = [self.texts[k] + self.new_words() for k in chosen]
        path, body = "/parse", json.dumps({"text": texts[0]})
        if kind == KINDS[1]:
            path, body = "/batch", json.dumps({"texts": texts})
        elif kind == KINDS[2]:
            body = body[: len(body) // 2]
        elif kind == KINDS[3]:
            body = json.dumps({"text": (texts[0] + " ") * (10**6 // len(texts[0]))})
        return path, body.encode()

    def new_words(self) -> str:
        """Returns words that no other text has."""
        letters = string.ascii_lowercase
        return "".join(
            " " + "".join(self.rng.choices(letters, k=9)) for _ in range(self.n_new)
        )

    def fault(self, kind: str, chosen: Sequence[int], status: int, data: bytes) -> str:
        """Returns what is wrong with an answer; empty: nothing."""
        expected = 200 if kind in KINDS[:2] else 422
        if status != expected:
            return f"status {status}"
        if status != 200 or self.n_new:
            return ""
        found = json.loads(data)
        records = found["records"] if kind == KINDS[1] else [found]
        spans = [
            [[x["start"], x["end"], x["label"]] for x in y["spans"]] for y in records
        ]
        right = [self.answers[k] for k in chosen[: len(records)]]
        return "" if spans == right else "other spans"


def load(
    server: Server,
    args: argparse.Namespace,
    texts: Sequence[str],
    answers: Sequence[Any],
) -> tuple[list[Client], str]:
    """Run all clients, and reload in the middle. Returns what they saw, and what the
    reload was."""
    until = time.monotonic() + args.seconds
    clients = [
        Client(server, texts, answers, args.new_words, random.Random(k), until)
        for k in range(args.clients)
    ]
    threads = [threading.Thread(target=client.run) for client in clients]
    for thread in threads:
        thread.start()
    time.sleep(args.seconds / 2)
    began = time.perf_counter()
    status, _ = server.ask("POST", "/reload", Authorization=f"Bearer {TOKEN}")
    seconds = time.perf_counter() - began
    for thread in threads:
        thread.join()
    if status != 200:
        clients[0].errors[f"reload: status {status}"] += 1
    return clients, f"reload in {seconds:.2f} s"


def read_texts(path: Path, lang: str) -> list[str]:
    """Returns different texts, at most `N_TEXTS`."""
    docs = read_docs(path, spacy.blank(lang), "jsonl")
    texts = [*dict.fromkeys(doc.text for doc in docs)][:N_TEXTS]
    if not texts:
        raise ValueError(f"there are no texts in {path}")
    return texts


def measure(args: argparse.Namespace, folder: Path) -> None:
    """Start the server, load it, print everything."""
    nlp = load_model(args.model)
    texts = read_texts(args.data / "test.jsonl", nlp.lang)
    answers = [[*map(list, harness.spans_of(doc))] for doc in nlp.pipe(texts)]
    with Server(args.model, folder / "service.log") as server:
        before = server.mb(), server.metric("process_cpu_seconds_total")
        seen, reload = load(server, args, texts, answers)
        after = server.mb(), server.metric("process_cpu_seconds_total")
        renewals = server.metric('service_loads_total{result="done",why="renewal"}')
    rows: list[list[Any]] = []
    for kind in KINDS:
        ms = np.array([x for one in seen for x in one.ms[kind]])
        found = np.percentile(ms, PERCENTILES).tolist() if len(ms) else [None] * 4
        rows.append([kind, len(ms), len(ms) / args.seconds, *found])
    errors = sum((one.errors for one in seen), Counter[str]())
    n_requests = sum(row[1] for row in rows)
    per_s, cpu_ms = n_requests / args.seconds, 1e3 * (after[1] - before[1])
    n_errors = sum(errors.values())
    line = (
        f"{n_requests} requests of {args.clients} clients in {args.seconds:g} s, "
        f"{per_s:.0f} a second; {n_errors} errors; {reload}; "
        f"{renewals:.0f} renewals. Server: {before[0]:.0f} MB before, "
        f"{after[0]:.0f} MB after; {cpu_ms / max(n_requests, 1):.2f} CPU ms a request."
    )
    columns = ["request", "n|d", "a second|.1f", "p50|.1f", "p90|.1f", "p99|.1f"]
    faults = "\n".join(f"- {n} x {fault}" for fault, n in errors.most_common())
    title = f"{args.data.resolve().name}: a service under load"
    figures = {"rows": rows, "errors": errors, "mb": [before[0], after[0]]}
    harness.report(
        args, title, harness.table([*columns, "max|.1f"], rows), line, faults, **figures
    )


OPTIONS = {
    "model": path_to("that spacy.load reads"),
    "data": path_to("has test.jsonl"),
    "--clients": number(32),
    "--seconds": number(120.0, "", 0.1),
    "--new-words": number(0, "a text", 0),
}
main = script(__doc__, measure, "--json", OPTIONS)

if __name__ == "__main__":
    main()
