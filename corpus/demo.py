"""Train on the small corpus and show what comes out: `make demo`.

    python corpus/demo.py
    python corpus/demo.py --output model    # keep the model, in model/model-last

Every step is a command that works on data of your own too:

1. `python -m spacy hosemi convert` turns train, dev and test into spaCy's format;
2. `python -m spacy hosemi init` writes a config, and `python -m spacy train` trains;
3. `python -m spacy benchmark accuracy` prints the scores on test, whose publications
   are not in train (nor are four of its citation styles);
4. references to other publications, typed below, are cut into fields, each with the
   probability that exactly this span has this label.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import spacy
from spacy.tokens import Doc

from spacy_hosemi.formats import read_docs, write_docs
from spacy_hosemi.formats.tokenizers import blank_pipeline

HERE = Path(os.path.relpath(Path(__file__).resolve().parent))
WIDTH = 88

# None of these publications is in the corpus.
REFERENCES = (
    "Aho AV, Corasick MJ. Efficient string matching: an aid to bibliographic search. "
    "Commun ACM. 1975;18(6):333-40.",
    "Sarawagi, S., & Cohen, W. W. (2004). Semi-Markov conditional random fields for "
    "information extraction. In Advances in Neural Information Processing Systems 17 "
    "(pp. 1185–1192). Cambridge, MA: MIT Press.",
    "[7] D. C. Liu and J. Nocedal, “On the limited memory BFGS method for large scale "
    "optimization,” Math. Program., vol. 45, no. 1-3, pp. 503–528, 1989, "
    "doi: 10.1007/BF01589116.",
    "Jaspers, Karl: Allgemeine Psychopathologie. Ein Leitfaden für Studierende, Ärzte "
    "und Psychologen. Berlin: Springer, 1913.",
    "WEIL Simone, L'Enracinement : prélude à une déclaration des devoirs envers l'être "
    "humain, Paris, Gallimard, 1949.",
    "T. Berners-Lee, R. Fielding, and L. Masinter. Uniform resource identifier (URI): "
    "Generic syntax. RFC 3986, Internet Engineering Task Force, January 2005.",
)


def run(*args: str | Path) -> None:
    """Run a spaCy command, its output shown; on failure, exit with its exit code."""
    command = [sys.executable, "-m", "spacy", *map(str, args)]
    print("\n$ " + " ".join(["python", *map(str, command[1:])]), flush=True)
    code = subprocess.run(command).returncode
    if code:
        sys.exit(code)


def train(folder: Path) -> Path:
    """Convert the corpus, train and evaluate.

    folder (Path): Where the converted corpus and the model are written.
    RETURNS (Path): The model.
    """
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "fields.cfg"
    run("hosemi", "init", config, "--overwrite")
    nlp, paths = blank_pipeline(config), {}
    for split in ("train", "dev", "test"):
        paths[split] = folder / f"{split}.spacy"
        docs = read_docs(HERE / f"{split}.jsonl", nlp)
        paths[split].write_bytes(write_docs(docs))
        print(f"{split}: {len(docs)} references")
    # Batch training ends where it ends: there is no better step to go back to.
    model = folder / "model-last"
    data = ("--paths.train", paths["train"], "--paths.dev", paths["dev"])
    run("train", config, *data, "--output", folder)
    run("benchmark", "accuracy", model, paths["test"])
    return model


def table(doc: Doc) -> str:
    """Write a reference and its fields, with their probabilities, as a small table."""
    lines = textwrap.wrap(doc.text, WIDTH)
    label_width = max((len(ent.label_) for ent in doc.ents), default=0)
    for ent in doc.ents:
        head = f"  {ent.label_:{label_width}}  {ent._.confidence:.3f}  "
        rest = " " * len(head)
        lines += textwrap.wrap(
            ent.text, WIDTH, initial_indent=head, subsequent_indent=rest
        )
    return "\n".join(lines)


def cpu_seconds() -> float:
    """User and system time of this process and of those it ran."""
    return sum(os.times()[:4])


def main() -> int:
    """Train, evaluate, show."""
    parser = argparse.ArgumentParser(
        description="Train on the small corpus, print the scores on its test part, "
        "and label references that are in no part of it.",
        epilog="Example: python corpus/demo.py --output model",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="keep the converted corpus and the model there (default: keep nothing)",
    )
    args = parser.parse_args()
    if args.output and args.output.exists() and not args.output.is_dir():
        parser.error(f"argument --output: {args.output} is no folder")
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.output or Path(temporary)
        model = train(folder)
        print("References typed in this script, with the probability of each field:\n")
        nlp = spacy.load(model)
        for doc in nlp.pipe(REFERENCES):
            print(table(doc) + "\n")
    if args.output:
        print(f'Keep going: nlp = spacy.load("{model}")')
    print(f"{cpu_seconds():.0f} s of CPU in all.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
