"""Prediction by a component: its decoder, streams of documents, what it writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from spacy.tokens import Doc

from ..core.parallel.coroutines import finish
from ..core.parallel.ordered import in_order
from ..features.instances import Instances, check_doc
from ..hierarchy.decoder import make_decoder
from ..prediction.decoder import Decoder, batches
from ..prediction.posterior import Posterior
from ..prediction.predictions import Prediction, Predictions
from .annotations import write
from .settings import DECIDING_PROBABILITIES, decoding_options

if TYPE_CHECKING:
    from .pipe import HighOrderSemiCRF


def present_decoder(pipe: HighOrderSemiCRF) -> Decoder:
    """The decoder of the labels, weights and settings as they are now."""
    published = pipe.published
    settings, name, decoder = published.made
    if (
        settings is pipe.settings
        and name == pipe.name
        # Read later than `made`: a change that goes on may have made that.
        and published.owner is None
        and pipe.trainer.is_current(decoder.state)
    ):
        present: Decoder = decoder
        return present
    return _make_decoder(pipe)


def _make_decoder(pipe: HighOrderSemiCRF) -> Decoder:
    """Returns the last decoder if it would be the same, else a new one."""
    published, state, settings = pipe.published, pipe.state, pipe.settings
    pipe.prediction_warnings.untrained(state.weights, pipe.name, pipe.facts)
    with published.making:  # one thread makes it, others wait
        decoder: Decoder | None
        settings_before, name_before, decoder = published.made
        args = settings, pipe.name, pipe.hierarchy
        options = decoding_options(*args, pipe.decoder_number)
        if decoder is None or (decoder.state, decoder.options) != (state, options):
            if decoder is not None and (
                decoder.state is not state
                or name_before != pipe.name
                or any(
                    getattr(settings_before, x) != getattr(settings, x)
                    for x in DECIDING_PROBABILITIES
                )
            ):
                pipe.decoder_number += 1
                options = options._replace(number=pipe.decoder_number)
            decoder = make_decoder(state, options, decoder)
        published.made = settings, pipe.name, decoder
    return decoder


def _decoder_with(pipe: HighOrderSemiCRF, confidence: bool | None) -> Decoder:
    """Returns the decoder for another setting `confidence`; None: as it is."""
    decoder, settings = present_decoder(pipe), pipe.settings
    if confidence is None or confidence == settings.confidence:
        return decoder
    settings = replace(settings, confidence=confidence)
    args = pipe.name, pipe.hierarchy, decoder.options.number
    return make_decoder(decoder.state, decoding_options(settings, *args), decoder)


def predictions(
    pipe: HighOrderSemiCRF,
    stream: Iterable[Instances],
    threads: int | None,
    confidence: bool | None,
) -> Iterator[tuple[Instances, Callable[[], Predictions]]]:
    """Yields batches in their order, each with a function that returns or raises what
    its prediction did; threads, confidence: instead of the settings of these names."""
    settings = pipe.settings
    if threads is not None:
        settings = replace(settings, threads=threads)
    if confidence is not None:
        replace(settings, confidence=confidence)  # checks it
    # Each batch is predicted with the weights present when the batch begins.
    yield from in_order(
        stream,
        lambda docs: _decoder_with(pipe, confidence).steps(docs),
        settings.threads,
    )


def annotate_stream(
    pipe: HighOrderSemiCRF,
    stream: Iterable[Doc],
    *,
    batch_size: int = 128,
    threads: int | None = None,
    confidence: bool | None = None,
) -> Iterator[Doc]:
    """Annotate a stream of documents.

    batch_size (int): Documents in a batch, at most; fewer if they are long, which
        saves memory and costs no time.
    threads (Optional[int]), confidence (Optional[bool]): Instead of the settings of
        these names, which stay as they are; None: as they are. `nlp.pipe` passes
        them on: `component_cfg={"hosemi": {"threads": 2}}`.
    YIELDS (Doc): In their order; documents that fail go to the error handler.
    RAISES (ValueError): HS043 threads, confidence.
    """
    error_handler = pipe.get_error_handler()
    read = map(Instances, batches(stream, batch_size))
    for docs, predict in predictions(pipe, read, threads, confidence):
        try:
            write(pipe, docs, predict())
        except Exception:
            for doc in docs:
                try:
                    set_annotations(pipe, [doc], pipe.predict([doc]))
                except Exception as e:
                    error_handler(pipe.name, pipe, [doc], e)
                else:
                    yield doc
        else:
            yield from docs


def annotate(pipe: HighOrderSemiCRF, doc: Doc) -> Doc | None:
    """Annotate a document.

    RETURNS (Optional[Doc]): The same; None if it fails and the error handler
        returns.
    """
    try:
        docs = Instances([doc])
        write(pipe, docs, finish(present_decoder(pipe).steps(docs)))
    except Exception as e:
        pipe.get_error_handler()(pipe.name, pipe, [doc], e)
        return None
    return doc


def predict(pipe: HighOrderSemiCRF, docs: Iterable[Doc]) -> list[Prediction]:
    """RETURNS (List[Prediction]): Spans of each document; none for an untrained
    model. RAISES (ValueError): HS060 if no segmentation is possible."""
    return present_decoder(pipe).predict(docs)


def set_annotations(
    pipe: HighOrderSemiCRF, docs: Iterable[Doc], scores: list[Prediction]
) -> None:
    """Write entities beside the preset ones, their probabilities, the span group;
    scores (List[Prediction]): what `predict` returned.
    RAISES (TypeError): HS230 one is no document."""

    def together(pair: tuple[Doc, Prediction]) -> tuple[int, int, bool]:
        doc, prediction = pair
        check_doc(doc)
        batch = None if prediction.posterior is None else prediction.posterior.batch
        return id(doc.vocab), id(batch), prediction.scores is None

    for _, pairs in groupby(zip(docs, scores), together):
        some, rows = zip(*pairs)
        write(pipe, Instances(some), Predictions.of(rows))


def posterior_of(
    pipe: HighOrderSemiCRF, doc: Doc, number: int | None
) -> Posterior | None:
    """Returns the distribution over segmentations of a document, as it was before
    it was predicted by the decoder of a number; None: there is another one now."""
    decoder = present_decoder(pipe)
    return decoder.posterior(doc) if decoder.options.number == number else None
