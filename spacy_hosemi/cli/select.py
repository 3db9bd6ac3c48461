"""python -m spacy hosemi select: what to annotate next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc, DocBin

from ..component.chunks import doc_of
from ..component.examples import without_annotation
from ..component.extraction import record_of
from ..component.pipe import HighOrderSemiCRF
from ..explain.uncertainty import MEASURES, choose, measure
from ..formats.records import ExtractedRecord
from ..formats.writers import WriterOptions
from . import hosemi_cli
from . import options as shared
from .common import (
    load_component,
    print_json,
    print_table,
    read_texts,
    readers_of,
    reading,
    version_of,
    write_chosen,
)
from .options import SPACY, argument, check_task_format, option
from .streams import (
    FAULTY,
    MAX_CHARS,
    as_file,
    check_outputs,
    fail,
    failing,
    log_faults,
    say,
    with_progress,
)


@hosemi_cli.command("select", no_args_is_help=True)
def select_cli(
    model: shared.Model,
    data: str = argument(
        "POOL",
        "A .spacy file of documents, or texts, as `parse` reads them; - for either "
        "from standard input.",
    ),
    n: int = option("--n -n N 1..", "How many to choose.", 10),
    by: str = option(
        "--by MEASURE",
        "entropy: of the distribution over segmentations; least-confident: minus the "
        "log probability of the best one. Both in nats.",
        "entropy",
    ),
    total: bool = option(
        "--total/--per-token",
        "Compare the sums of documents, not the means per token: if a long document "
        "costs no more to annotate than a short one.",
        False,
    ),
    diverse: bool = option(
        "--diverse/--no-diverse",
        "Multiply uncertainty by how much the words of a document differ from those "
        "of the most similar one chosen so far.",
        True,
    ),
    output: Path | None = option(
        "--out -o FILE", "Write the chosen documents to this file, the first one first."
    ),
    form: shared.TaskFormat = "",
    k: int = option(
        "-k N 1..1000",
        "Segmentations in each task, with the predicted one: N most probable.",
        1,
    ),
    column: shared.Column = None,
    text_key: shared.TextKey = None,
    encoding: shared.Encoding = None,
    overwrite: shared.Overwrite = False,
    component: shared.Component = None,
    as_json: shared.AsJson = False,
    code_path: shared.CodePath = None,
) -> None:
    """
    Choose the documents to annotate next: those that a pipeline is least sure of, and
    that are not like each other.

    Documents are chosen one after the other. Those of a .spacy file are written to
    another one as they are, with the annotation that they have there; texts as tagged
    lines, unless --format says otherwise. These, and tasks for a tool, are filled in
    with what the pipeline finds: the annotation is not read.

    Exit code: 0 all was read, 1 some texts could not be read, 2 nothing could be done.

    \b
    Examples:
      python -m spacy hosemi select model/model-last pool.spacy --n 100 --out next.spacy
      python -m spacy hosemi select model/model-last pool.spacy --by least-confident
      python -m spacy hosemi select m references.txt --n 50 --out next.xml
      python -m spacy hosemi select m texts.jsonl -F label-studio -k 3 -o tasks.json
    """
    if by not in MEASURES:
        fail(f"No measure {by!r}", f"Expected as --by one of: {', '.join(MEASURES)}.")
    if form:
        check_task_format(form, output, "--out")
    check_outputs({"POOL": data}, {"--out": output}, overwrite)
    path = as_file(Path(data), ".spacy")
    is_corpus = path.suffix == ".spacy" and path.is_file()
    if data == "-":  # no text begins with these bytes
        is_corpus = path.read_bytes()[:2] == b"x\x9c"
    form = form or (SPACY if is_corpus else "xml")
    if k > 1 and form == SPACY:
        fail(f"-k is {k}", "Expected it with --format, for tasks.")
    readers = []
    if not is_corpus:
        readers = readers_of([str(path)], column, text_key, encoding, MAX_CHARS)
    nlp, pipe = load_component(model, component)
    with log_faults(None) as log:
        if is_corpus:
            with reading(path):
                docs = [*DocBin().from_disk(path).get_docs(nlp.vocab)]
            numbers = [*range(1, len(docs) + 1)]
        else:
            texts = read_texts(readers, MAX_CHARS, encoding, log)
            lines = [line for line in texts if line.text.strip()]
            docs = [doc_of(nlp, line) for line in lines]
            numbers = [line.number for line in lines]
            if log.n and not docs:
                say("No line could be read")
    with failing("Cannot tell how sure the pipeline is"):
        measured = with_progress(measure(nlp, pipe, docs, by), len(docs))
        chosen = choose(measured, n, total, diverse)
    if output is not None:
        tasks = _tasks(nlp, pipe, [(numbers[x.index], x.doc) for x in chosen], k)
        options = WriterOptions(version_of(nlp))
        write_chosen([x.doc for x in chosen], tasks, form, output, overwrite, options)
    if as_json:
        rows = [
            {"rank": rank, "index": numbers[x.index] - 1, "nats": x.uncertainty}
            | {"per_token": x.per_token, "tokens": x.n_tokens, "text": x.doc.text}
            for rank, x in enumerate(chosen, start=1)
        ]
        how = {"by": by, "total": total, "diverse": diverse}
        print_json({"component": pipe.name, **how, "docs": rows})
    else:
        cells = [
            (rank, f"{x.uncertainty:.3f}", f"{x.per_token:.4f}")
            + (x.n_tokens, x.doc.text[:50])
            for rank, x in enumerate(chosen, start=1)
        ]
        header = ("rank", by, "per token", "tokens", "text")
        print_table(
            f"{len(chosen):,} of {len(docs):,} documents", header, cells, "rrrrl"
        )
    if log.n:
        raise SystemExit(FAULTY)


def _tasks(
    nlp: Language, pipe: HighOrderSemiCRF, chosen: Sequence[tuple[int, Doc]], k: int
) -> Iterator[ExtractedRecord]:
    """Yields the k best segmentations of numbered documents, whatever their gold."""
    for number, doc in chosen:
        yield record_of(nlp(without_annotation(doc, nlp)), number, pipe, k, True)
