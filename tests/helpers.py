"""Small pipelines, documents and conversions that several tests share."""

import functools
import gc
import heapq
import itertools
import json
import pickle
import re
import signal
import time
import tracemalloc
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import spacy
import srsly
from click.testing import Result
from spacy.cli._util import app
from spacy.strings import get_string_id
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_language_data
from spacy.vectors import Vectors
from typer.testing import CliRunner

from spacy_hosemi.cli import hosemi_cli
from spacy_hosemi.configs import find_vectors, make_config
from spacy_hosemi.labels.alignment import read_annotations
from spacy_hosemi.model import word_vectors
from spacy_hosemi.model.span_scorer import weights_of
from spacy_hosemi.training.corpus import read_corpus
from spacy_hosemi.training.training_set import TrainingSet

from .oracles import Problem

# [LABEL words]: an entity
TRAIN = (
    "[PER Ada Lovelace] wrote to [PER Charles Babbage] in [LOC London].",
    "[PER Charles Babbage] lived in [LOC London].",
    "She met [PER Ada] in [LOC Paris] and wrote to [PER Mary Somerville].",
    "[PER Mary Somerville] was not in [LOC New York].",
    "Nobody wrote a letter.",
)
CHINESE = (
    "[LOC 北京]在[LOC 中國]的北邊。",
    "[PER 王小明]住在[LOC 上海]。",
    "他在[LOC 北京]見到[PER 李四]。",
    "[PER 李四]不住在[LOC 中國]。",
    "他們在一起。",
)
SMALL = {
    "preset": "none",
    "inside": ["BIAS", "LOWER"],
    "start": ["BIAS", "SHAPE[-1:1]"],
    "end": ["LOWER"],
    "min_count": 1,
}

# For tests that mean what these warnings are about: predictions of a component that was
# not trained, and entities before it in most documents.
UNTRAINED = pytest.mark.filterwarnings("ignore:.HSW27")
MANY_EXISTING = pytest.mark.filterwarnings("ignore:.HSW28")


def parse(marked: str) -> tuple[str, list[tuple[int, int, str]]]:
    """Text and entities (in characters) of a marked text."""
    text, entities = "", []
    for piece in re.split(r"(\[\w+ [^\]]*\])", marked):
        match = re.fullmatch(r"\[(\w+) ([^\]]*)\]", piece)
        if match:
            entities.append((len(text), len(text) + len(match[2]), match[1]))
        text += match[2] if match else piece
    return text, entities


# Texts and spans, for `fit` of a component.
PAIRS = [parse(line) for line in TRAIN]
TREE = {"hierarchy": {"@misc": "spacy_hosemi.hierarchy.v1"}, "max_order": 1}
WORDS = sorted({word for text, _ in PAIRS for word in text.replace(".", " .").split()})


def in_a_tree(pairs=PAIRS):
    return [(x, [(i, j, f"N/{y}") for i, j, y in spans]) for x, spans in pairs]


def make_examples(nlp, marked=TRAIN) -> list[Example]:
    texts = [parse(line) for line in marked]
    return [
        Example.from_dict(nlp.make_doc(text), {"entities": entities})
        for text, entities in texts
    ]


def references(marked=TRAIN, lang="en") -> list[Doc]:
    return [eg.reference for eg in make_examples(spacy.blank(lang), marked)]


def make_nlp(
    *, nlp=None, lang="en", name="hosemi", features=SMALL, model=None, **config
):
    """A blank pipeline with the component.

    nlp: A pipeline that gets the component as its last one, instead of a new one.
    """
    nlp = nlp or spacy.blank(lang)
    model = {"features": features, **(model or {})}
    nlp.add_pipe("hosemi", name=name, config={"model": model, **config})
    return nlp


def initialize(nlp, marked=TRAIN, **settings):
    """Initialize on marked texts, with settings for the component; its optimizer."""
    nlp.config["initialize"]["components"]["hosemi"] = settings
    examples = make_examples(nlp, marked)
    return nlp.initialize(lambda: examples)


def initialized(marked=TRAIN, **config):
    """A component that is initialized on marked texts, not trained, and these."""
    nlp = make_nlp(**config)
    initialize(nlp, marked)
    return nlp.get_pipe("hosemi"), make_examples(nlp, marked)


def fit_pairs(nlp, pairs=PAIRS, **settings):
    """The report of a fit on texts and spans."""
    return nlp.get_pipe("hosemi").fit(pairs, nlp=nlp, progress=False, **settings)


def lbfgs(**settings) -> dict:
    return {"@misc": "spacy_hosemi.lbfgs.v1", "progress": False, **settings}


def averaged(**settings) -> dict:
    return {"@misc": "spacy_hosemi.averaged.v1", "progress": False, **settings}


def read_log(path) -> list[dict]:
    """The events that a fit wrote to its log."""
    return [json.loads(line) for line in Path(path).read_text("utf8").splitlines()]


def fit_anew(marked=TRAIN, *, fit=None, **config):
    """A pipeline fitted on marked texts, for tests of the fit itself."""
    nlp = make_nlp(**config)
    initialize(nlp, marked, fit=lbfgs(**{"max_iter": 25, **(fit or {})}))
    return nlp


@functools.cache
def _fitted(pickled: bytes) -> bytes:
    marked, settings = pickle.loads(pickled)
    return pickle.dumps(fit_anew(marked, **settings))


def make_trained(marked=TRAIN, *, nlp=None, **settings):
    """A pipeline fitted on marked texts: once in a session, then copies from bytes."""
    if nlp is not None:
        return fit_anew(marked, nlp=nlp, **settings)
    return pickle.loads(_fitted(pickle.dumps((marked, settings))))


def randomize(pipe, seed=0, size=1.0):
    """Random weights for an initialized component: all predictions are uncertain.

    They have so few digits that sums of them are exact in single precision.
    """
    shape = pipe.get_weights().shape
    weights = np.random.default_rng(seed).normal(0.0, size, shape)
    pipe.set_weights(np.round(4096 * weights) / 4096)


class Killed(BaseException):
    """What no handler of errors takes."""


def is_killed_at(limit, calls, save):
    """Saves, and stops for good before step `limit` of some calls, each an owner and a
    name; says whether it did."""
    steps = itertools.count(1)

    def stopping(call):
        def stopped(*args, **kwargs):
            if next(steps) > limit:  # whatever is tried after it fails, too
                raise Killed
            return call(*args, **kwargs)

        return stopped

    with pytest.MonkeyPatch.context() as patch:
        for owner, name in calls:
            patch.setattr(owner, name, stopping(getattr(owner, name)))
        try:
            save()
        except Killed:
            return True
    return False


def random_pipe(nlp, marked, model, *, readers=None, seed=0, size=1.0, **config):
    """A component with random weights, and its examples.

    nlp: Where it is made, but not added. model: Its settings. readers: Of its lists.
    """
    pipe = nlp.create_pipe("hosemi", config={"model": model, **config})
    examples = make_examples(nlp, marked)
    if config.get("scope") == "sents":
        for eg in examples:
            eg.predicted[0].is_sent_start = True
            for token in eg.predicted[1:]:
                token.is_sent_start = False
    pipe.initialize(lambda: examples, nlp=nlp, gazetteers=readers)
    randomize(pipe, seed, size)
    return pipe, examples


def find(nlp, text) -> list[tuple[str, str]]:
    """Text and label of the entities of a text."""
    return [(ent.text, ent.label_) for ent in nlp(text).ents]


def instances_of(posterior) -> list[SimpleNamespace]:
    """Each instance with tokens, its scores and what limits it."""
    batch = posterior.batch
    return [
        SimpleNamespace(
            instance=batch.instance(k),
            potentials=batch.potentials[k],
            constraints=batch.constraints[k],
        )
        for k in posterior.not_empty
    ]


def remembered(cache, name, doc, limits=None):
    """The spans that a cache has of a document, and their paths."""
    if (cached := cache.read(name, doc, limits)) is not None:
        spans, posterior = cached
        return spans, posterior.paths(spans)


def make_doc(nlp, *words, **annotation) -> Doc:
    return Doc(nlp.vocab, words=list(words), **annotation)


def triples(spans) -> list[tuple[int, int, str]]:
    return [(span.start, span.end, span.label_) for span in spans]


def as_problem(automaton, potentials, constraints=None) -> Problem:
    """Arguments of the core as a problem of the oracle."""
    index = {name: y for y, name in enumerate(automaton.labels)}

    def indexed(patterns):
        return tuple(tuple(index.get(x, x) for x in z) for z in patterns)

    problem = Problem(
        indexed(automaton.patterns),
        potentials.inside,
        potentials.start,
        potentials.end,
        potentials.length,
        potentials.tail,
        [tuple(cell) for cell in potentials.cells.tolist()],
        potentials.pattern,
        observed=indexed(automaton.observed),
        entries=[] if potentials.entries is None else potentials.entries.tolist(),
    )
    if constraints is None:
        return problem
    return problem._replace(
        allowed=constraints.allowed,
        boundary=constraints.boundary,
        forbidden=tuple(constraints.forbidden),
    )


def numeric_gradient(function, x, step=1e-5) -> np.ndarray:
    """Central differences at each finite entry of x, 0 elsewhere."""
    gradient = np.zeros(x.shape)
    for where in np.ndindex(*x.shape):
        if not np.isfinite(x[where]):
            continue
        values = []
        for sign in (1, -1):
            moved = x.copy()
            moved[where] += sign * step
            values.append(function(moved))
        gradient[where] = (values[0] - values[1]) / (2 * step)
    return gradient


def assert_gradient(pipe, examples, atol=1e-6) -> np.ndarray:
    """The derivatives at the weights of a component equal central differences along
    random directions. Each direction moves all weights, and so shows each derivative
    that is wrong. RETURNS: The derivatives by the matrix."""
    weights = pipe.get_weights()
    value, gradient = pipe.value_and_gradient(examples)

    def value_at(x):
        pipe.set_weights(weights + x @ directions)
        return pipe.value_and_gradient(examples)[0]

    rng = np.random.default_rng(0)
    directions = rng.uniform(0.5, 1.5, (12, len(weights)))
    directions *= rng.choice([-1.0, 1.0], directions.shape)
    assert value_at(np.zeros(12)) == value > 0
    expected = numeric_gradient(value_at, np.zeros(12))
    np.testing.assert_allclose(directions @ gradient, expected, atol=atol)
    pipe.set_weights(weights)
    matrix = pipe.weights.matrix
    return gradient[: matrix.size].reshape(matrix.shape)


def peak_of(call):
    """RETURNS (int): The most memory that a call took, in bytes."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def assert_linear(function, few, many, times) -> None:
    """A function takes linear time, but for a factor of 6, which is for caches of the
    processor and noise.

    few, many: Arguments; the second one is `times` as large.
    """

    def seconds(argument):
        # Collections of garbage go through all that the process holds.
        gc.disable()
        before = time.thread_time()
        function(argument)
        after = time.thread_time()
        gc.enable()
        return max(after - before, 2e-5)

    limit = 6 * times * min(seconds(few) for _ in range(3))
    assert any(seconds(many) < limit for _ in range(3))


def hide(examples) -> list[Example]:
    """Leave the annotation of some tokens open."""
    doc = examples[0].reference
    doc.set_ents(doc.ents[:1], missing=[doc[2:]], default="outside")
    return examples


def make_batch(pipe, examples) -> TrainingSet:
    """What batch training minimizes on examples."""
    docs = [eg.predicted for eg in examples]
    known = read_annotations(examples)
    corpus = read_corpus(docs, known, pipe.schema, pipe.scope, pipe.name)
    return pipe.trainer.batch(corpus, pipe.objective)


def first_batch(**config) -> TrainingSet:
    """A batch of the marked texts, with all weights 0."""
    return make_batch(*initialized(**config))


def run_spacy(*args) -> str:
    """`python -m spacy ...` in this process: what it prints."""
    result = CliRunner().invoke(app, [*map(str, args)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def hosemi(*args, code=0, **more) -> Result:
    """`python -m spacy hosemi ...` in this process, which ends with this exit code."""
    result = CliRunner().invoke(hosemi_cli, [*map(str, args)], **more)
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def message_of(make_reader, path, **arguments) -> str:
    """The error of a reader, which comes when its lines are read."""
    with pytest.raises(ValueError) as info:
        list(make_reader(path, **arguments)())
    return str(info.value)


def random_vectors(words=WORDS, width=5, seed=0) -> Vectors:
    data = np.random.default_rng(seed).normal(1.0, 2.0, (len(words), width))
    return Vectors(data=data.astype("f"), keys=[*map(get_string_id, words)])


def save_vectors(path, lang="en", words="Ada was in Rome Paris 北 京 在") -> str:
    """A folder with word vectors, as `spacy init vectors` writes it."""
    nlp = spacy.blank(lang)
    nlp.vocab.vectors = random_vectors(words.split(), width=4)
    nlp.to_disk(path)
    return str(path)


def write_config(path, kind="names", **more) -> Path:
    """A config with word vectors, which are beside it."""
    vectors, _ = find_vectors(save_vectors(path.parent / "vectors", **more), None)
    path.write_text(make_config(kind, vectors=vectors), "utf8")
    return path


def count_encoded(monkeypatch) -> Counter:
    """How often WordVectors reads each document, from now on."""
    encoded, forward = Counter(), word_vectors.forward

    def counted(model, docs, is_train):
        encoded.update(doc.text for doc in docs)
        return forward(model, docs, is_train)

    monkeypatch.setattr(word_vectors, "forward", counted)
    return encoded


def said(*args, code=0) -> str:
    """All that a command of ours prints, with single spaces: messages are wrapped,
    tables aligned."""
    return " ".join(hosemi(*args, code=code).output.split())


def as_json(*args, **more):
    """What a command of ours answers with --json."""
    return srsly.json_loads(hosemi(*args, "--json", **more).stdout)


def part_of(folder, name) -> Path:
    """The file that a saved component has for cfg, model or weights."""
    (path,) = Path(folder).glob(f"{name}*")
    return path


def change_weights(pipe, **arrays):
    """Give a component other arrays of weights, such as pattern=.., or other fields."""
    weights = weights_of(pipe.model)
    if "matrix" in arrays:
        arrays["of_features"] = arrays.pop("matrix")
    weights.replace(replace(weights.state, **arrays))


@functools.cache
def frequent_words(path) -> dict:
    """A table of spacy-lookups-data: 200,000 clusters, or the 50,000 largest
    probabilities."""
    table = load_language_data(path)
    if min(table.values()) >= 0:  # no logarithms: clusters
        return dict(itertools.islice(table.items(), 200_000))
    largest = heapq.nlargest(50_000, table, key=table.__getitem__)
    return {word: table[word] for word in largest}


def few_words(path) -> dict:
    return dict(itertools.islice(frequent_words(path).items(), 2_000))


def hit_ctrl_c():
    # A shell starts processes in the background with this signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def interrupt_at(pipe, n):
    """Hit Ctrl-C at the n-th time that the loss of a document is asked for."""
    objective, n_calls = pipe.objective, 0

    def interrupted(*args):
        nonlocal n_calls
        n_calls += 1
        if n_calls == n:
            hit_ctrl_c()
        return objective(*args)

    pipe.objective = interrupted
