"""A machine learning backend for Label Studio: predicts, and learns from annotations.

    BACKEND_MODEL=path/to/model python backend.py

`Settings` lists what can be set, each by an environment variable.
"""

import asyncio
import logging
import os
import re
import sys
import time
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any
from xml.etree import ElementTree

import prometheus_client as prometheus
import uvicorn
from fastapi import FastAPI, Header, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from learning import Answers, Learner, Training
from pydantic import BaseModel, Field
from spacy.tokens import Doc

# What holds for any service around a pipeline is shared with examples/service.
sys.path.append(str(Path(__file__).resolve().parents[1] / "service"))
from environment import read_environment  # noqa: E402
from guard import Guard, impatient, matches  # noqa: E402
from pipeline import Loaded, ServedPipeline  # noqa: E402

log = logging.getLogger("label_studio")

# Characters of a labeling interface: while it is parsed nobody else is answered.
MOST_CONFIG = 1_000_000


@dataclass(frozen=True)
class Settings:
    """Each is an environment variable: BACKEND_MODEL, BACKEND_PORT etc."""

    model: str = "model"  # folder of a saved pipeline
    config: str = ""  # to train anew with; empty: `model` is adapted
    train: str = ""  # .spacy file to train on beside the annotations, with `config`
    dev: str = ""  # .spacy file to score on; empty: it predicts, and never learns
    most_lost: float = 0.01  # of F1 on `dev`, 0 to 1, that a new model may lose
    folder: str = "label-studio"  # where annotations and trained models are kept
    host: str = "127.0.0.1"
    port: int = 9090
    user: str = ""  # of basic authentication; empty: anybody who can reach the port
    password: str = ""  # goes with `user`: both are set, or neither
    wait_seconds: float = 5.0  # for further annotations before a training begins
    max_train_seconds: float = 3600.0
    max_bytes: int = 20_000_000  # of a body
    max_chars: int = 100_000  # of a text
    max_tasks: int = 1_000  # of a request, and of a batch of annotations
    max_seconds: float = 90.0  # of a request; Label Studio waits 100

    def faults(self) -> list[str]:
        """Returns why the backend must not start, a line each."""
        return _faults_of_user(self) + _faults_of_files(self)


def _faults_of_user(given: Settings) -> list[str]:
    """Half of the pair would let in anybody, or a user with an empty password."""
    if bool(given.user) == bool(given.password):
        return []
    names = ["BACKEND_USER", "BACKEND_PASSWORD"]
    there, missing = names if given.user else reversed(names)
    return [
        f"{there} is set, {missing} is empty or not set; expected both, or neither to "
        "let in anybody who reaches the port."
    ]


def _faults_of_files(given: Settings) -> list[str]:
    """Each needs those before it: a .spacy file to score on, a config, a file."""
    names = "BACKEND_DEV", "BACKEND_CONFIG", "BACKEND_TRAIN"
    files = dict(zip(names, (given.dev, given.config, given.train)))
    there = {name: path for name, path in files.items() if path}
    missing = [name for name in names[: len(there)] if name not in there]
    faults = []
    if missing:
        found = [f"{name} is {path!r}" for name, path in there.items()]
        found += [f"{name} is empty or not set" for name in missing]
        faults.append(
            f"{', '.join(found)}; expected {names[0]} to learn from annotations, with "
            f"it {names[1]} to train anew, with both {names[2]}; none to predict alone."
        )
    for name, path in there.items():
        if not Path(path).is_file():
            expected = "config of spaCy" if name == names[1] else ".spacy file"
            kind = "a folder" if Path(path).is_dir() else "no file"
            where = str(Path(path).absolute())
            faults.append(f"{name}: expected a {expected}, found {kind}: {where!r}.")
    return faults


settings = read_environment(Settings, "BACKEND")
if faults := settings.faults():
    raise SystemExit("\n".join(faults))  # before anything is written

Task = dict[str, Any]
# Half of a surrogate pair: JSON can have it, no text can.
HALF = re.compile("[\ud800-\udfff]")


class Predict(BaseModel):
    tasks: Annotated[list[Task], Field(max_length=settings.max_tasks)]
    label_config: str = ""


class Event(BaseModel):
    """What a webhook sends. Events of one annotation have objects, others lists."""

    action: str
    annotation: dict[str, Any] | list[dict[str, Any]] | None = None
    task: Task | list[Task] | None = None
    annotations: list[dict[str, Any]] = []  # deleted ones: their ids alone


# ------------------------------------------------------------------------- the backend


class Backend:
    """The pipeline in use, and what replaces it."""

    def __init__(self) -> None:
        self.pipeline = ServedPipeline(Path(settings.model))
        self.answers = Answers(Path(settings.folder) / "answers")
        folders = Path(settings.model), Path(settings.folder)
        config = Path(settings.config) if settings.config else None
        files = folders[0], config, settings.train, Path(settings.dev)
        limits = settings.max_train_seconds, settings.most_lost
        self.training = Training(*files, *limits)
        args = self.answers, self.training, *folders, settings.wait_seconds
        self.learner = Learner(*args, self.use)
        self.registry = prometheus.CollectorRegistry()

    def use(self, folder: Path) -> None:
        """Predict with the model in a folder. RAISES (Exception): It cannot be loaded;
        the one in use stays."""
        before, self.pipeline.source = self.pipeline.source, folder
        try:
            self.pipeline.reload()
        except BaseException:
            self.pipeline.source = before
            raise

    def current(self) -> Loaded:
        if self.pipeline.current is None:
            raise HTTPException(503, "No model is loaded.", {"Retry-After": "5"})
        return self.pipeline.current


def version_of(loaded: Loaded) -> str:
    """Returns a version that is another one for other weights: Label Studio asks for
    predictions again where it has none of this version."""
    described = loaded.describe()
    return f"{described['name']} {described['digest'][:12]}"


@dataclass(frozen=True)
class Interface:
    """How a labeling interface names its parts.

    control, text (str): The `name` of the `Labels` tag and of the `Text` tag.
    key (str): The key of a task's data that has the text.
    """

    control: str = "label"
    text: str = "text"
    key: str = "text"


def read_interface(label_config: str) -> Interface:
    """Returns the first Labels tag and its text. Raises HTTPException: 422 if there is
    none."""
    if not label_config:
        return Interface()
    if (n := len(label_config)) > MOST_CONFIG:
        detail = f"label_config has {n} characters; expected at most {MOST_CONFIG}."
        raise HTTPException(422, detail)
    try:
        root = ElementTree.fromstring(label_config)
    except ElementTree.ParseError:
        raise HTTPException(422, "label_config is no XML.") from None
    texts = {x.get("name"): x.get("value", "") for x in root.iter("Text")}
    for control in root.iter("Labels"):
        name = control.get("toName", "")
        if name in texts and texts[name].startswith("$"):
            return Interface(control.get("name", ""), name, texts[name][1:])
    raise HTTPException(422, "label_config has no Labels tag of a Text tag.")


def read_texts(tasks: list[Task], key: str) -> list[str | None]:
    """Returns the text of each task; None: it has none. Raises HTTPException: 422 if a
    text is too long."""
    found: list[str | None] = []
    without: list[str] = []
    for k, task in enumerate(tasks, start=1):
        number, data = task.get("id"), task.get("data")
        name = f"task {number}" if type(number) is int else f"number {k} of the tasks"
        text = data.get(key) if isinstance(data, dict) else None
        if not isinstance(text, str) or HALF.search(text):
            text = None
            without.append(name)
        elif len(text) > settings.max_chars:
            most = f"expected at most {settings.max_chars} (BACKEND_MAX_CHARS)"
            has = f"The text of {name} has {len(text)} characters"
            raise HTTPException(422, f"{has}; {most}.")
        found.append(text)
    if without:
        args = len(without), len(tasks), key, without[0]
        log.warning("%d of %d tasks without text under %r, the first: %s", *args)
    return found


def predict(
    loaded: Loaded, tasks: list[Task], interface: Interface, deadline: float
) -> list[dict[str, Any]]:
    """Returns a prediction for each task, with scores; an empty one where a task has no
    text: Label Studio goes by the places in the list. Raises HTTPException: 422 if a
    text is too long, 504 if it is out of time."""
    texts = read_texts(tasks, interface.key)
    version, found = version_of(loaded), []
    there = [text for text in texts if text is not None]
    docs = iter(loaded.nlp.pipe(there, batch_size=32))
    for text in texts:
        doc = None if text is None else next(docs)
        if time.monotonic() > deadline:
            raise HTTPException(504, "Out of time.")
        result = [] if doc is None else regions_of(doc, interface)
        # 0: nothing is known, and Label Studio can show the lowest scores first.
        score = 0.0 if doc is None else doc._.record_confidence
        found.append({"model_version": version, "score": score, "result": result})
    return found


def regions_of(doc: Doc, interface: Interface) -> list[dict[str, Any]]:
    """Returns the spans of a text, as Label Studio has them."""
    return [
        {
            "id": f"{ent.start_char}-{ent.end_char}",
            "from_name": interface.control,
            "to_name": interface.text,
            "type": "labels",
            "value": {
                "start": ent.start_char,
                "end": ent.end_char,
                "text": ent.text,
                "labels": [ent.label_],
            },
            "score": ent._.confidence,
        }
        for ent in doc.ents
    ]


backend = Backend()


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    """Load the model that was trained last, else the first one."""
    folder = backend.learner.newest() or Path(settings.model)
    await asyncio.to_thread(backend.use, folder)
    task = asyncio.create_task(backend.learner.learn_for_ever())
    yield
    task.cancel()
    await asyncio.wait([task])
    backend.pipeline.close()


app = FastAPI(title="Label Studio backend", lifespan=lifespan)
app.add_middleware(
    Guard,
    max_bytes=settings.max_bytes,
    max_seconds=settings.max_seconds,
    registry=backend.registry,
)


def check_user(authorization: str) -> None:
    """Raises HTTPException: 401 if user or password are wrong."""
    if settings.user:
        # Outside ASCII clients differ in the encoding.
        pair = f"{settings.user}:{settings.password}"
        pairs = os.fsencode(pair), pair.encode("latin-1", "backslashreplace")
        ways = [f"Basic {b64encode(x).decode()}" for x in pairs]
        if not any([matches(authorization, way) for way in ways]):
            raise HTTPException(401, "Not with this user and password.")


# ---------------------------------------------------------------------------- endpoints

Authorization = Annotated[str, Header()]


@app.get("/health")
async def health() -> dict[str, Any]:
    """Whether it answers, and how the last training went."""
    backend.current()
    return {"status": "UP", **backend.learner.status}


@app.post("/setup")
async def setup(authorization: Authorization = "") -> dict[str, str]:
    """Label Studio asks which model there is."""
    check_user(authorization)
    return {"model_version": version_of(backend.current())}


@app.post("/predict")
async def predict_tasks(
    given: Predict, request: Request, authorization: Authorization = ""
) -> dict[str, Any]:
    """A prediction for each task."""
    check_user(authorization)
    interface, loaded = read_interface(given.label_config), backend.current()
    args = loaded, given.tasks, interface, request.state.deadline
    results = await asyncio.to_thread(predict, *args)
    return {"results": results, "model_version": version_of(loaded)}


@app.post("/webhook", status_code=201)
async def webhook(event: Event, authorization: Authorization = "") -> dict[str, str]:
    """Keep annotations that were made, changed or deleted, and learn from them."""
    check_user(authorization)
    if not settings.dev:
        return {"status": "no BACKEND_DEV: nothing is learned"}
    if event.action in ("ANNOTATION_CREATED", "ANNOTATION_UPDATED"):
        pairs = [(event.annotation, event.task)]
    elif event.action == "ANNOTATIONS_CREATED":
        pairs = pairs_of(as_list(event.annotation), as_list(event.task))
    elif event.action == "ANNOTATIONS_DELETED":
        pairs = []
        backend.answers.remove([x.get("id") for x in event.annotations])
    elif event.action == "START_TRAINING":
        pairs = []
    else:
        return {"status": "ignored"}
    faults = []
    for annotation, task in pairs:
        try:
            if not (isinstance(annotation, dict) and isinstance(task, dict)):
                raise ValueError("Expected an annotation and its task.")
            backend.answers.keep(annotation, task)
        except ValueError as error:  # the others are kept
            faults.append(str(error))
    if len(faults) < len(pairs) or not pairs:
        backend.learner.ask()
    if faults:
        detail = f"{len(faults)} of {len(pairs)} annotations are left out: {faults[0]}"
        raise HTTPException(422, detail)
    return {"status": "learning"}


def pairs_of(annotations: list[Any], tasks: list[Any]) -> list[tuple[Any, Any]]:
    """Returns each annotation with its task: the one that it names, else the one in its
    place; None if there is none."""
    by_id = {task.get("id"): task for task in tasks if isinstance(task, dict)}
    names = [x.get("task") if isinstance(x, dict) else None for x in annotations]
    in_place = tasks if len(tasks) == len(annotations) else []
    return [
        (annotation, by_id.get(name) if name is not None else task)
        for annotation, name, task in zip_longest(annotations, names, in_place)
    ]


@app.exception_handler(RequestValidationError)
async def refuse(_: Request, error: RequestValidationError) -> JSONResponse:
    """FastAPI's own answer repeats what was sent, which may be large."""
    faults = [{"loc": list(x["loc"]), "msg": x["msg"]} for x in error.errors()[:10]]
    return JSONResponse({"detail": faults}, 422)


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


if __name__ == "__main__":
    logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(message)s")
    where = {"host": settings.host, "port": settings.port}
    uvicorn.run(app, **where, http=impatient(settings.max_seconds), access_log=False)
