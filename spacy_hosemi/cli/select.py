"""python -m spacy hosemi select: what to annotate next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from .common import (
    hosemi_cli,
    load_component,
    print_json,
    print_table,
    reading,
    version_of,
    write_chosen,
)
from .options import (
    MANY,
    SPACY,
    AsJson,
    CodePath,
    Component,
    Model,
    Overwrite,
    TaskFormat,
    check_task_format,
    corpus_argument,
    option,
)
from .streams import check_outputs, fail, failing, with_progress

if TYPE_CHECKING:
    from spacy.language import Language

    from ..component.pipe import HighOrderSemiCRF
    from ..explain.uncertainty import Uncertain
    from ..formats.records import ExtractedRecord


@hosemi_cli.command("select", no_args_is_help=True)
def select_cli(
    model: Model,
    data: Annotated[
        Path,
        corpus_argument(
            "CORPUS", ".spacy file of documents; - reads one from standard input."
        ),
    ],
    n: Annotated[int, option("--n -n N", "How many to choose.", min=1, max=MANY)] = 10,
    by: Annotated[
        str,
        option(
            "--by MEASURE",
            "entropy: of the distribution over segmentations; least-confident: "
            "minus the log probability of the best one. Both in nats.",
        ),
    ] = "entropy",
    total: Annotated[
        bool,
        option(
            "--total/--per-token",
            "Compare the sums of documents, not the means per token: if a long "
            "document costs no more to annotate than a short one.",
        ),
    ] = False,
    diverse: Annotated[
        bool,
        option(
            "--diverse/--no-diverse",
            "Multiply uncertainty by how much the words of a document differ from "
            "those of the most similar one chosen so far.",
        ),
    ] = True,
    output: Annotated[
        Path | None,
        option(
            "--out -o FILE",
            "Write the chosen documents to this file, the first one first.",
        ),
    ] = None,
    form: TaskFormat = SPACY,
    k: Annotated[
        int,
        option(
            "-k N",
            "Segmentations in each task, with the predicted one: N most probable.",
            min=1,
            max=1000,
        ),
    ] = 1,
    overwrite: Overwrite = False,
    component: Component = None,
    as_json: AsJson = False,
    code_path: CodePath = None,
) -> None:
    """
    Choose the documents to annotate next: those that a pipeline is least sure of, and
    that are not like each other.

    Documents are chosen one after the other. A .spacy file has them as they are in
    CORPUS, with the annotation that they have there. Tasks for a tool are filled in
    with what the pipeline finds: the annotation is not read.

    \b
    Examples:
      python -m spacy hosemi select model/model-last pool.spacy --n 100 --out next.spacy
      python -m spacy hosemi select model/model-last pool.spacy --by least-confident
      python -m spacy hosemi select m pool.spacy -F label-studio -k 3 -o tasks.json
    """
    from spacy.tokens import DocBin

    from ..explain.uncertainty import MEASURES, choose, measure
    from ..formats.writers import WriterOptions

    if by not in MEASURES:
        fail(f"No measure {by!r}", f"Expected as --by one of: {', '.join(MEASURES)}.")
    check_task_format(form, output, "--out")
    if k > 1 and form == SPACY:
        fail(f"-k is {k}", "Expected it with --format, for tasks.")
    check_outputs({"CORPUS": data}, {"--out": output}, overwrite)
    nlp, pipe = load_component(model, component)
    with reading(data):
        docs = [*DocBin().from_disk(data).get_docs(nlp.vocab)]
    with failing("Cannot tell how sure the pipeline is"):
        measured = with_progress(measure(nlp, pipe, docs, by), len(docs))
        chosen = choose(measured, n, total, diverse)
    if output is not None:
        docs_and_records = [x.doc for x in chosen], _tasks(nlp, pipe, chosen, k)
        options = WriterOptions(version_of(nlp))
        write_chosen(*docs_and_records, form, output, overwrite, options)
    if as_json:
        rows = [
            {"rank": rank, "index": x.index, "nats": x.uncertainty}
            | {"per_token": x.per_token, "tokens": x.n_tokens, "text": x.doc.text}
            for rank, x in enumerate(chosen, start=1)
        ]
        how = {"by": by, "total": total, "diverse": diverse}
        print_json({"component": pipe.name, **how, "docs": rows})
    else:
        _print_selected(by, len(docs), chosen)


def _tasks(
    nlp: Language, pipe: HighOrderSemiCRF, chosen: Sequence[Uncertain], k: int
) -> Iterator[ExtractedRecord]:
    """Yields the k best segmentations of each document, without its annotation."""
    from ..component.examples import without_annotation
    from ..component.extraction import record_of

    for x in chosen:
        doc = nlp(without_annotation(x.doc, nlp))
        yield record_of(doc, x.index + 1, pipe, k, True)


def _print_selected(by: str, n_docs: int, chosen: Sequence[Uncertain]) -> None:
    rows = [
        (
            *(rank, f"{x.uncertainty:.3f}", f"{x.per_token:.4f}"),
            *(x.n_tokens, x.doc.text[:50]),
        )
        for rank, x in enumerate(chosen, start=1)
    ]
    header = ("rank", by, "per token", "tokens", "text")
    print_table(f"{len(chosen):,} of {n_docs:,} documents", header, rows, "rrrrl")
