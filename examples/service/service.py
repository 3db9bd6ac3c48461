"""A web service around one pipeline.

    SERVICE_MODEL=path/to/model python service.py

`Settings` lists what can be set, each by an environment variable.
"""

import asyncio
import gc
import logging
import threading
import time
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import prometheus_client as prometheus
import uvicorn
from environment import read_environment
from fastapi import FastAPI, Header, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from guard import Guard, impatient, matches
from pipeline import Loaded, ServedPipeline, use_one_arena
from pydantic import BaseModel, Field, StringConstraints
from spacy.util import import_file

log = logging.getLogger("service")

# Texts that are predicted together; after each of them a late request can be given up.
BATCH = 32
# Records or fields by which drift is judged, at most.
LATELY = 2_000


@dataclass(frozen=True)
class Settings:
    """Each is an environment variable: SERVICE_MODEL, SERVICE_PORT and so on."""

    model: str = "model"  # folder of a saved pipeline
    code: str = ""  # file of Python that has functions or components of your own
    host: str = "127.0.0.1"
    port: int = 8000
    reload_token: str = ""  # empty: nobody may reload
    threads: int = 4
    max_bytes: int = 2_000_000  # of a body
    max_chars: int = 20_000  # of a text
    max_texts: int = 1_000  # of a batch
    max_seconds: float = 10.0  # of a request
    max_waiting: int = 64  # requests that wait for a thread
    max_new_strings: int = 100_000  # about 100 MB, see ServedPipeline.renew


settings = read_environment(Settings, "SERVICE")
prometheus.disable_created_metrics()  # a second series for each


# ---------------------------------------------------------------- questions and answers

Text = Annotated[str, StringConstraints(max_length=settings.max_chars)]


class One(BaseModel):
    text: Text


class Many(BaseModel):
    texts: Annotated[list[Text], Field(max_length=settings.max_texts)]


class Span(BaseModel):
    start: int  # in characters
    end: int
    label: str
    text: str
    confidence: float | None  # None: of another component, such as a ner


class Record(BaseModel):
    spans: list[Span]
    confidence: float | None  # of exactly these spans


class Records(BaseModel):
    records: list[Record]


class Health(BaseModel):
    ready: bool
    model: dict[str, str] | None
    error: str | None


# -------------------------------------------------------------------------- the service


class Service:
    """The pipeline, the threads that use it, and what is counted."""

    def __init__(self) -> None:
        if settings.code:
            import_file("service_code", Path(settings.code))
        self.pipeline = ServedPipeline(Path(settings.model))
        self.error: str | None = None  # of the last loading
        self.pool = ThreadPoolExecutor(settings.threads, "predict")
        self.places = threading.Semaphore(settings.threads + settings.max_waiting)
        self.registry = registry = prometheus.CollectorRegistry()
        prometheus.ProcessCollector(registry=registry)
        self.texts = prometheus.Counter("service_texts", "Texts", registry=registry)
        self.jobs = prometheus.Gauge(
            "service_jobs", "Requests that wait or are worked on", registry=registry
        )
        self.loads = prometheus.Counter(
            "service_loads", "Loaded models", ["why", "result"], registry=registry
        )
        # What a guarantee of the model judges: whether texts are unlike those before.
        self.judged = prometheus.Counter(
            "service_judged", "Records or fields with a verdict", registry=registry
        )
        self.improbable = prometheus.Counter(
            "service_improbable", "Those below the lower quartile", registry=registry
        )
        self.drift = prometheus.Gauge(
            "service_drift", "1: texts are unlike those before", registry=registry
        )
        self.lately = ("", 0.0, 0.0)  # digest of a model, judged, improbable
        prometheus.Gauge(
            "service_new_strings", "Strings that texts have left", registry=registry
        ).set_function(self.n_new_strings)

    def n_new_strings(self) -> int:
        current = self.pipeline.current
        return 0 if current is None else current.n_new_strings

    async def reload(self) -> Loaded:
        """Raises an exception if the model cannot be loaded; the one in use stays."""
        try:
            loaded = await asyncio.to_thread(self.pipeline.reload)
        except Exception as error:
            self.loads.labels("reload", "failed").inc()
            self.error = f"{type(error).__name__}: {error}"
            log.error("the model cannot be loaded: %s", self.error)
            raise
        self.loads.labels("reload", "done").inc()
        self.error = None
        log.info("loaded %s", loaded.describe())
        return loaded

    async def load_first(self) -> None:
        try:
            await self.reload()
        except Exception:
            pass  # /health says it, and /reload may mend it

    async def predict(self, texts: Sequence[str], deadline: float) -> list[Record]:
        """Predict in a thread of the pool.

        deadline (float): Of the request, as `time.monotonic` has it.
        RAISES (HTTPException): 503 no model, or too many wait; 504 out of time.
        """
        current = self.pipeline.current
        if current is None:
            raise HTTPException(503, "No model is loaded.", {"Retry-After": "5"})
        if not self.places.acquire(blocking=False):
            raise HTTPException(503, "Too many requests wait.", {"Retry-After": "1"})
        self.jobs.inc()
        job = self.pool.submit(read, current, texts, deadline)
        job.add_done_callback(self._done)
        try:
            left = deadline - time.monotonic()
            # A job that waits is cancelled then, one that runs ends at its deadline.
            records = await asyncio.wait_for(asyncio.wrap_future(job), left)
        except (asyncio.TimeoutError, TimeoutError):
            detail = f"Not done in {settings.max_seconds:g} seconds."
            raise HTTPException(504, detail) from None
        self.texts.inc(len(texts))
        self.watch(current, texts, records)
        return records

    def watch(
        self, loaded: Loaded, texts: Sequence[str], records: Sequence["Record"]
    ) -> None:
        """Counts what is improbable, and says whether it was too much lately."""
        guarantee = loaded.guarantee
        if guarantee is None or guarantee.usual is None:
            return
        probabilities: list[float | None] = []
        for text, record in zip(texts, records):
            if text.strip():
                spans = [(span.label, span.confidence) for span in record.spans]
                labels, facts = [label for label, _ in spans], loaded.facts
                is_unusual = facts is not None and facts.is_unusual(labels, text)
                scored = guarantee.judged(spans, record.confidence, is_unusual)
                probabilities += [p for _, p in scored]
        n, n_low = len(probabilities), sum(map(guarantee.usual.is_low, probabilities))
        self.judged.inc(n)
        self.improbable.inc(n_low)
        digest, total, low = self.lately
        before = (total, low) if digest == loaded.digest else (0.0, 0.0)
        total, low = before[0] + n, before[1] + n_low
        self.drift.set(guarantee.departs(round(total), round(low)))
        factor = 0.5 if total > LATELY else 1.0  # what is long ago counts less
        self.lately = loaded.digest, factor * total, factor * low

    def _done(self, job: "Future[list[Record]]") -> None:
        """Called once for each job, in any thread."""
        self.jobs.dec()
        self.places.release()

    async def renew_at_times(self) -> None:
        """Keep the memory of words bounded, for ever."""
        while True:
            await asyncio.sleep(1.0)
            if self.n_new_strings() > settings.max_new_strings:
                try:
                    await asyncio.to_thread(self.pipeline.renew)
                    self.loads.labels("renewal", "done").inc()
                except Exception as error:
                    self.loads.labels("renewal", "failed").inc()
                    log.error("no renewal: %s: %s", type(error).__name__, error)
                    await asyncio.sleep(60.0)


def read(loaded: Loaded, texts: Sequence[str], deadline: float) -> list[Record]:
    """Returns what the pipeline finds. Raises TimeoutError."""
    records = []
    if time.monotonic() > deadline:
        raise TimeoutError
    for doc in loaded.nlp.pipe(texts, batch_size=BATCH):
        if time.monotonic() > deadline:
            raise TimeoutError
        spans = [
            Span(
                start=ent.start_char,
                end=ent.end_char,
                label=ent.label_,
                text=ent.text,
                confidence=ent._.confidence,
            )
            for ent in doc.ents
        ]
        records.append(Record(spans=spans, confidence=doc._.record_confidence))
    return records


service = Service()


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    """Answer at once; the model comes when it is loaded."""
    tasks = [
        asyncio.create_task(work())
        for work in (service.load_first, service.renew_at_times)
    ]
    yield
    for task in tasks:
        task.cancel()
    service.pool.shutdown(cancel_futures=True)
    service.pipeline.close()


app = FastAPI(title="Spans of texts", lifespan=lifespan)
app.add_middleware(
    Guard,
    max_bytes=settings.max_bytes,
    max_seconds=settings.max_seconds,
    registry=service.registry,
)


# ---------------------------------------------------------------------------- endpoints


@app.post("/parse", response_model=Record)
async def parse(one: One, request: Request) -> Response:
    """The spans of a text."""
    (record,) = await service.predict([one.text], request.state.deadline)
    return json_of(record)


@app.post("/batch", response_model=Records)
async def batch(many: Many, request: Request) -> Response:
    """The spans of each text."""
    records = await service.predict(many.texts, request.state.deadline)
    return json_of(Records(records=records))


@app.get("/health", response_model=Health)
async def health() -> Response:
    """Whether it can answer (200, else 503), and which model does."""
    current = service.pipeline.current
    model = None if current is None else current.describe()
    found = Health(ready=current is not None, model=model, error=service.error)
    return json_of(found, 200 if found.ready else 503)


@app.get("/health/live")
async def live() -> dict[str, bool]:
    """Whether the process answers at all."""
    return {"live": True}


@app.get("/metrics")
async def metrics() -> Response:
    """For Prometheus."""
    text = prometheus.generate_latest(service.registry)
    return Response(text, media_type=prometheus.CONTENT_TYPE_LATEST)


@app.post("/reload", response_model=Health)
async def reload(authorization: Annotated[str, Header()] = "") -> Response:
    """Load the model anew from its folder. Requests that run end with the old one; if
    the new one cannot be loaded, the old one stays."""
    if not settings.reload_token:
        raise HTTPException(403, "Nobody may: SERVICE_RELOAD_TOKEN is not set.")
    if not matches(authorization, f"Bearer {settings.reload_token}"):
        raise HTTPException(403, "Not with this token.")
    try:
        loaded = await service.reload()
    except Exception:
        detail = f"The model in use stays. {service.error}"
        raise HTTPException(500, detail) from None
    return json_of(Health(ready=True, model=loaded.describe(), error=None))


def json_of(answer: BaseModel, status: int = 200) -> Response:
    return Response(answer.model_dump_json(), status, media_type="application/json")


@app.exception_handler(RequestValidationError)
async def refuse(_: Request, error: RequestValidationError) -> Response:
    """FastAPI's own answer repeats what was sent, which may be large."""
    faults = [
        {"loc": list(fault["loc"]), "msg": fault["msg"], "type": fault["type"]}
        for fault in error.errors()[:10]
    ]
    return JSONResponse({"detail": faults}, 422)


if __name__ == "__main__":
    use_one_arena()
    gc.freeze()  # collections need not look through all that was imported
    logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(message)s")
    uvicorn.run(
        app,
        host=settings.host,
        port=settings.port,
        http=impatient(settings.max_seconds),
        access_log=False,  # Guard writes one
        limit_concurrency=1_000,  # connections; further ones get 503
        timeout_graceful_shutdown=int(settings.max_seconds) + 1,
    )
