"""How large the program is, and how far one document wanders through it.

`python tests/test_house.py` prints the table, `-v` with what each figure is made of.
"""

import io
import re
import sys
import tokenize
import warnings
from collections import Counter, defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import spacy
from spacy.tokens import DocBin
from spacy.training import Example
from spacy.training.initialize import init_nlp

import spacy_hosemi
from spacy_hosemi.configs import make_config
from spacy_hosemi.formats import read_docs

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "spacy_hosemi"
INSTALLED = Path(spacy_hosemi.__file__).parent

# What was measured last. These only fall: whoever deletes lowers them. Calls are those
# of Python functions, changes those from one module to another.
CEILINGS = {
    "package: lines": 57_180,
    "package: lines of code": 41_670,
    "package: files": 380,
    "package: classes": 286,
    "package: names of two classes": 0,
    "package: classes that must go": 1,
    "package: longest Python file": 400,
    "package: longest other file": 600,
    "tests: lines": 51_450,
    "benchmarks: lines": 11_810,
    "predict: modules": 12,
    "predict: changes": 18,
    "predict: calls": 32,
    "confidence: modules": 6,
    "confidence: changes": 8,
    "confidence: calls": 39,
    "update: modules": 27,
    "update: changes": 53,
    "update: calls": 110,
}

MAY_BE_LONG = {"errors.py", "simd.h"}

# Instance, Batch, Posterior and Prediction do what these did; mixins become modules of
# functions; the others get a name that says what they are.
MUST_GO = set(
    """
    CleanDecoder CleanPosterior StoredCleanPosterior CleanBatchPosteriors CleanInstance
    CleanMarginals CleanDoc TokenizedText TextBatch _Tokenized DocBatch Problem
    LazyProblem LazyProblems Problems ManyPotentials FlattenedDecoder FlattenedPosterior
    LeafPosterior InstancePosterior StoredPosterior FlatPosterior BatchPosteriors
    SegmentPosterior SpanTable TableSpans _Attribute Predicting Analyzing Fitting
    Initializable Optimizable Configured DirectReader TrainingFacts Findings Advice Memo
    PathPair Ladder Lease Promise Marker BatchOfFour PathBatch
    """.split()
)

# A reference to a publication that is not in the corpus.
TEXT = (
    "[7] A. B. Ler and C. Eng, “On the limited memory method for large scale "
    "problems,” Math. Program., vol. 45, no. 1-3, pp. 503–528, 1989."
)


def n_code_lines(path, text):
    """Lines that are neither blank nor of comments and docstrings only."""
    if path.suffix in (".py", ".pyi"):
        return n_python_lines(text)
    if path.suffix in (".pyx", ".pxd", ".pxi"):
        text = re.sub(r'^[ \t]*r?"""[\s\S]*?"""', "", text, flags=re.M)
    text = re.sub(
        r"/\*[\s\S]*?\*/|^ *//.*|^ *#(?!include|if|endif).*", "", text, flags=re.M
    )
    return sum(1 for line in text.splitlines() if line.strip())


def n_python_lines(text):
    numbers, is_begin = set(), True
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    for token, following in zip(tokens, tokens[1:]):
        if token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            is_begin = True
        elif token.type not in (tokenize.COMMENT, tokenize.NL):
            is_string = token.type == tokenize.STRING
            if not (is_begin and is_string and following.type == tokenize.NEWLINE):
                numbers.update(range(token.start[0], token.end[0] + 1))
            is_begin = False
    return len(numbers)


def read_files(folder, *suffixes):
    paths = (path for path in folder.rglob("*") if path.suffix in suffixes)
    return {path.relative_to(ROOT): path.read_text("utf8") for path in sorted(paths)}


def measure_files():
    """RETURNS (Dict[str, Counter]): By the name of a figure, what it is made of."""
    package = read_files(PACKAGE, ".py", ".pyx", ".pxd", ".pxi", ".pyi", ".h", ".jinja")
    figures = defaultdict(Counter)
    classes = {}
    for path, text in package.items():
        n_lines = text.count("\n")
        folder = "/".join(path.parts[:-1][:2])
        figures["package: lines"][folder] += n_lines
        figures["package: lines of code"][folder] += n_code_lines(path, text)
        figures["package: files"][folder] += 1
        if path.name not in MAY_BE_LONG:
            kind = "Python" if path.suffix == ".py" else "other"
            figures[f"package: longest {kind} file"][str(path)] = n_lines
        if path.suffix in (".py", ".pyx"):
            for name in re.findall(r"^(?:cdef )?class (\w+)", text, re.M):
                classes.setdefault(name, []).append(str(path))
    for name, places in classes.items():
        place = f"{name} ({', '.join(places)})"
        figures["package: classes"][Path(places[0]).parts[1]] += 1
        if len(places) > 1:
            figures["package: names of two classes"][place] = 1
        if name in MUST_GO:
            figures["package: classes that must go"][place] = 1
    for folder in ("tests", "benchmarks"):
        for path, text in read_files(ROOT / folder, ".py", ".pyx").items():
            place = "/".join(path.parts[:-1][:2])
            figures[f"{folder}: lines"][place] += text.count("\n")
    return figures


def total(name, parts):
    return max(parts.values()) if "longest" in name else sum(parts.values())


class Calls:
    """Counts the calls of our Python functions, by module, and changes of module."""

    def __init__(self, function):
        self.calls, self.n_changes, self.last = Counter(), 0, None
        sys.setprofile(self.count)
        try:
            function()
        finally:
            sys.setprofile(None)

    def count(self, frame, event, arg):
        path = Path(frame.f_code.co_filename)
        # Python 3.12 makes no frames for comprehensions.
        is_function = frame.f_code.co_name not in ("<listcomp>", "<dictcomp>")
        if event == "call" and is_function and path.is_relative_to(INSTALLED):
            module = str(path.relative_to(INSTALLED))
            self.n_changes += self.last not in (None, module)
            self.calls[module] += 1
            self.last = module


def trace_calls(corpus, folder):
    """Trace a component on one document, the confidence of its entities, one update.

    corpus: Folder of train.spacy and dev.spacy. folder: Where the model is written.
    RETURNS (Dict[str, Counter]): By the name of a figure, what it is made of.
    """
    config = spacy.util.load_config_from_str(make_config("references"))
    config["paths"] |= {name: f"{corpus / name}.spacy" for name in ("train", "dev")}
    config["initialize"]["components"]["hosemi"]["fit"] |= {
        "max_iter": 10,
        "progress": False,
    }
    init_nlp(config).to_disk(folder / "model")
    nlp = spacy.load(folder / "model")  # which can be updated: it was not fitted
    nlp(TEXT)
    doc = nlp.make_doc(TEXT)
    pipe = nlp.get_pipe("hosemi")
    traces = {"predict": Calls(lambda: pipe(doc))}
    assert doc.ents
    traces["confidence"] = Calls(lambda: [ent._.confidence for ent in doc.ents])
    docs = DocBin().from_disk(corpus / "train.spacy").get_docs(nlp.vocab)
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in docs]
    optimizer = nlp.resume_training()
    pipe.update(examples[:2], sgd=optimizer)
    traces["update"] = Calls(lambda: pipe.update(examples[:2], sgd=optimizer))
    figures = {}
    for name, trace in traces.items():
        figures[f"{name}: modules"] = Counter(dict.fromkeys(trace.calls, 1))
        figures[f"{name}: changes"] = Counter({"all": trace.n_changes})
        figures[f"{name}: calls"] = trace.calls
    return figures


def check(figures):
    grown = [
        f"{name} is {total(name, parts):,}, at most {CEILINGS[name]:,} is allowed: "
        + ", ".join(f"{place} {n:,}" for place, n in parts.most_common())
        for name, parts in figures.items()
        if total(name, parts) > CEILINGS[name]
    ]
    assert not grown, "\n".join(["", *grown])


@pytest.mark.skipif(
    not (PACKAGE.is_dir() and PACKAGE.samefile(INSTALLED)),
    reason="the tests run without the source",
)
def test_size():
    check(measure_files())


def test_calls(corpus, tmp_path):
    check(trace_calls(corpus, tmp_path))


def print_table():
    warnings.simplefilter("ignore")
    with TemporaryDirectory() as folder:
        docs = read_docs(ROOT / "corpus" / "train.jsonl", spacy.blank("en"))[:40]
        for split in ("train", "dev"):
            DocBin(docs=docs).to_disk(Path(folder) / f"{split}.spacy")
        figures = measure_files() | trace_calls(Path(folder), Path(folder))
    for name, parts in figures.items():
        print(f"{name:40}{total(name, parts):>8,} of {CEILINGS[name]:,}")
        if "-v" in sys.argv:
            print(*(f"    {place} {n:,}" for place, n in parts.most_common()), sep="\n")


if __name__ == "__main__":
    print_table()
