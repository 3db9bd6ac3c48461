"""Random sequences of calls of one pipeline, or of two in turns that may share their
vocabulary: no internal error, and the same answers after every round trip.

A sequence is a seed. HOSEMI_SEQUENCES=2000 runs that many instead of a few.
"""

import copy
import os
import pickle
import random

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hosemi import HighOrderSemiCRF

from ..helpers import SMALL, lbfgs

N_SEQUENCES = int(os.environ.get("HOSEMI_SEQUENCES", "24"))
N_CALLS = 9

WORDS = [
    "Ada",
    "London",
    "wrote",
    "to",
    "a",
    ".",
    "\n",
    "ada",
    "北京",
    "x1",
    "New",
    "-",
]
LABELS = ["PER", "LOC", "$", "a b", "O", "", "PER/x", "é"]

# What is an error of whoever calls: with a code of ours or of spaCy.
CODES = ("[HS", "[E")


class Sequence:
    """A pipeline and the calls that are made of it.

    rng (Random): Shared by the pipelines of a sequence, as `calls`.
    vocab (Optional[Vocab]): Of another pipeline.
    """

    def __init__(self, rng, vocab=None):
        self.random = rng
        self.calls = []
        choose = self.random.choice
        config = {
            "encoding": choose(["segments", "segments", "IO", "BIO", "BILUO"]),
            "outside": choose(["run", "run", "token", "none"]),
            "max_order": choose([0, 1, 2, 3]),
            "max_length": choose([None, None, 1, 3]),
            "explicit_length": choose([1, 1, 3]),
            "observed_order": choose([0, 0, 0, 1]),
            "decoding": choose(["viterbi", "viterbi", "mbr"]),
        }
        if config["encoding"] != "segments":
            config["decoding"] = "viterbi"
        if choose([0, 0, 0, 1]) and config["encoding"] == "segments":
            config["hierarchy"] = {"@misc": "spacy_hosemi.hierarchy.v1"}
            config["observed_order"] = 0
        self.nlp = spacy.blank("en", vocab=vocab or True)
        if choose([False, False, True]):
            config["scope"] = "sents"
            self.nlp.add_pipe("sentencizer")
            self.nlp.config["training"]["annotating_components"] = ["sentencizer"]
        self.has_ruler = choose([False, True])
        if self.has_ruler:
            ruler = self.nlp.add_pipe("entity_ruler")
            labels = ["PER", "NEW", "OTHER"]
            patterns = [{"label": choose(labels), "pattern": w} for w in WORDS[:4]]
            ruler.add_patterns(patterns)
        self.config = {"model": {"features": SMALL}, **config}
        self.nlp.add_pipe("hosemi", config=self.config)
        self.sgd = None

    @property
    def pipe(self):
        return self.nlp.get_pipe("hosemi")

    def doc(self):
        n = self.random.choice([0, 1, 2, 4, 7])
        words = [self.random.choice(WORDS) for _ in range(n)]
        return Doc(self.nlp.vocab, words=words)

    def examples(self):
        found = []
        for _ in range(self.random.choice([1, 1, 3])):
            doc = self.doc()
            reference, at, ents = doc.copy(), 0, []
            while at < len(doc):
                end = min(at + self.random.choice([1, 1, 2]), len(doc))
                label = self.random.choice(LABELS)
                if self.random.random() < 0.5 and label:
                    ents.append(spacy.tokens.Span(reference, at, end, label))
                at = end
            missing = self.random.choice(["outside", "outside", "missing"])
            reference.set_ents(ents, default=missing)
            found.append(Example(doc, reference))
        return found

    # calls

    def initialize(self):
        examples = self.examples()
        fit = self.random.choice([None, lbfgs(max_iter=3)])
        settings = {} if fit is None else {"fit": fit}
        self.nlp.config["initialize"]["components"]["hosemi"] = settings
        self.sgd = self.nlp.initialize(lambda: examples)

    def update(self):
        self.sgd = self.sgd or self.nlp.create_optimizer()
        self.nlp.update(self.examples(), sgd=self.sgd)

    def add_label(self):
        self.pipe.add_label(self.random.choice([*LABELS, "NEW"]))

    def predict(self):
        docs = [self.doc() for _ in range(3)]
        for doc in self.nlp.pipe(docs):
            [ent._.confidence for ent in doc.ents]
            assert self.pipe.labels == self.pipe.labels

    def answers(self):
        doc = self.nlp(self.doc())
        self.pipe.kbest(doc, self.random.choice([0, 1, 3]))
        self.pipe.entropy(doc)
        self.pipe.to_rows(doc, 2)

    def redecode(self):
        doc = self.nlp(self.doc())
        start = self.random.choice([0, 1, 2])
        span = start, start + 1, self.random.choice(LABELS)
        if self.random.choice([True, False]):
            self.pipe.redecode(doc, keep=[span])
        else:
            self.pipe.redecode(doc, forbid=[span])

    def set(self):
        name, values = self.random.choice(
            [
                ("min_confidence", [0.0, 0.3, {"PER": 0.5}, 2]),
                ("decoding", ["mbr", "viterbi", "best"]),
                ("spans_key", ["s", None, "${x}", 3]),
                ("spans_threshold", [None, 0.2, 0.0]),
                ("temperature", [1.0, 3.0, -1]),
                ("collective", [0.0, 0.5]),
                ("threads", [1, 2, 0]),
                ("confidence", [True, False, "False"]),
                ("expected_f1", [None, 0.5]),
                ("max_order", [1, 2]),
                ("encoding", ["BIO", "segments"]),
                ("label_rules", [[], ["PER at most once"], ["PER at most"]]),
            ]
        )
        setattr(self.pipe, name, self.random.choice(values))

    def prune(self):
        self.pipe.prune(self.random.choice([0.0, 0.1]))

    # round trips

    def says(self, nlp, texts):
        """The answers of a pipeline, or the code of what it refuses."""
        found = []
        for words in texts:
            doc = Doc(nlp.vocab, words=words)
            try:
                for name, proc in nlp.pipeline:
                    if name == "entity_ruler" and not self.has_ruler:
                        continue
                    doc = proc(doc)
                ents = [(e.start, e.end, e.label_, e._.confidence) for e in doc.ents]
                groups = {
                    key: [(s.start, s.end, s.label_) for s in group]
                    for key, group in doc.spans.items()
                }
                found.append((ents, groups))
            except ValueError as e:
                assert str(e).startswith(CODES), e
                found.append(str(e)[:8])
        return found

    def round_trip(self, folder):
        texts = [[self.random.choice(WORDS) for _ in range(k)] for k in (1, 3, 6)]
        before = self.says(self.nlp, texts)
        kind = self.random.choice(["bytes", "disk", "pickle", "deepcopy", "pipe"])
        self.calls[-1] += f" ({kind})"
        if kind == "bytes":
            other = spacy.util.load_model_from_config(self.nlp.config)
            # An entity ruler loses patterns of phrases in its bytes.
            without = ["entity_ruler"]
            other.from_bytes(self.nlp.to_bytes(exclude=without), exclude=without)
            if self.has_ruler:
                patterns = self.nlp.get_pipe("entity_ruler").patterns
                other.get_pipe("entity_ruler").add_patterns(patterns)
        elif kind == "disk":
            self.nlp.to_disk(folder)
            other = spacy.load(folder)
        elif kind == "pickle":
            other = pickle.loads(pickle.dumps(self.nlp))
        elif kind == "deepcopy":
            other = copy.deepcopy(self.nlp)
        else:
            other = self.nlp
            data = self.pipe.to_bytes()
            self.pipe.from_bytes(data)
        assert isinstance(other.get_pipe("hosemi"), HighOrderSemiCRF)
        assert other.get_pipe("hosemi").settings == self.pipe.settings
        assert other.get_pipe("hosemi").labels == self.pipe.labels
        assert self.says(other, texts) == before
        assert self.says(self.nlp, texts) == before
        self.nlp = other

    def take(self, other):
        """Load what another pipeline would save."""
        self.pipe.from_bytes(other.pipe.to_bytes())

    def step(self, folder, others):
        """Make one call."""
        calls = [self.initialize] * 2 + [self.predict] * 3 + [self.update] * 3
        calls += [self.add_label, self.answers, self.redecode, self.prune]
        calls += [self.set] * 4 + [self.round_trip] * 4 + [self.take] * len(others)
        call = self.random.choice(calls)
        self.calls.append(call.__name__)
        args = {self.round_trip: [folder], self.take: others[:1]}.get(call, [])
        try:
            call(*args)
        except ValueError as e:
            assert str(e).startswith(CODES), f"{self.calls}: {e!r}"
            self.calls[-1] += f" ({str(e)[1:6]})"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(N_SEQUENCES))
def test_a_sequence_of_calls(seed, tmp_path):
    rng = random.Random(seed)
    sequences = [Sequence(rng)]
    if seed % 3 == 2:
        vocab = sequences[0].nlp.vocab if rng.choice([True, False]) else None
        sequences.append(Sequence(rng, vocab))
    try:
        for i in range(N_CALLS * len(sequences)):
            sequence = rng.choice(sequences)
            others = [x for x in sequences if x is not sequence]
            sequence.step(tmp_path / str(i), others)
    except BaseException as e:
        said = [f"{x.config}, calls: {x.calls}" for x in sequences]
        e.add_note(f"seed {seed}: {said}")
        raise
