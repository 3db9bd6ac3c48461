"""The part of the component that finds spans."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from spacy.tokens import Doc

from ..core.parallel.coroutines import finish
from ..core.parallel.ordered import in_order
from ..features.doc_batch import DocBatch, as_batch
from ..features.instances import check_doc
from ..hierarchy.decoder import make_decoder
from ..model.state import ModelState, Published
from ..prediction.decoder import Decoder, Prediction, batches
from ..prediction.posterior import Posterior
from ..prediction.records import components
from ..prediction.span_table import SpanTable, prediction_steps
from .annotations import write_predictions, write_table
from .configured import Configured, make_options


class Predicting(Configured):
    """The part of the component that finds spans, alone or in a stream."""

    get_error_handler: Callable[[], Any]  # of TrainablePipe
    _published: Published
    _id: str
    _number: int

    if TYPE_CHECKING:

        @property
        def state(self) -> ModelState: ...

    def pipe(
        self,
        stream: Iterable[Doc],
        *,
        batch_size: int = 128,
        threads: int | None = None,
        confidence: bool | None = None,
    ) -> Iterator[Doc]:
        """Apply the component to a stream.

        stream (Iterable[Doc]): Documents.
        batch_size (int): Documents in a batch, at most; fewer if they are long, which
            saves memory and costs no time.
        threads (Optional[int]), confidence (Optional[bool]): Instead of the settings of
            these names, which stay as they are; None: as they are. `nlp.pipe` passes
            them on: `component_cfg={"hosemi": {"threads": 2}}`.
        YIELDS (Doc): In their order; documents that fail go to the error handler.
        RAISES (ValueError): HS043 threads, confidence.
        """
        error_handler = self.get_error_handler()
        how: Any = {"threads": threads, "confidence": confidence}
        read = map(as_batch, batches(stream, batch_size))
        for docs, found in self.predictions(read, **how):
            try:
                self._write(docs, found())
            except Exception:
                yield from self._one_by_one(docs, error_handler)
            else:
                yield from docs

    def __call__(self, doc: Doc) -> Doc | None:
        """Apply the component to a document.

        doc (Doc): A document.
        RETURNS (Optional[Doc]): The same; None if it fails and the error handler
            returns.
        """
        check_doc(doc)
        try:
            docs = as_batch([doc])
            self._write(docs, finish(prediction_steps(self.decoder, docs)))
        except Exception as e:
            self.get_error_handler()(self.name, self, [doc], e)
            return None
        return doc

    def predictions(
        self,
        stream: Iterable[DocBatch],
        *,
        threads: int | None,
        confidence: bool | None,
    ) -> Iterator[tuple[DocBatch, Callable[[], SpanTable | list[Prediction]]]]:
        """Batches of documents, and how to get what is predicted in each; see `pipe`.

        stream (Iterable[DocBatch]): Documents.
        threads (Optional[int]), confidence (Optional[bool]): As for `pipe`.
        YIELDS (Tuple[DocBatch, Callable]): The function raises what was raised by the
            prediction.
        RAISES (ValueError): HS043 threads, confidence.
        """
        settings = self.settings
        if threads is not None:
            settings = settings.changed("threads", threads)
        if confidence is not None:
            settings.changed("confidence", confidence)  # checks it
        # Each batch is predicted with the weights present when the batch begins.
        yield from in_order(
            stream,
            lambda docs: prediction_steps(self.decoder_with(confidence), docs),
            settings.threads,
        )

    def _one_by_one(self, docs: list[Doc], error_handler: Any) -> Iterator[Doc]:
        """Predict each document of a batch that failed."""
        for doc in docs:
            try:
                self.set_annotations([doc], self.predict([doc]))
            except Exception as e:
                error_handler(self.name, self, [doc], e)
            else:
                yield doc

    def predict(self, docs: Iterable[Doc]) -> list[Prediction]:
        """Spans of each document.

        docs (Iterable[Doc]): Documents.
        RETURNS (List[Prediction]): Nothing for an untrained model.
        RAISES (ValueError): HS060 if no segmentation is possible.
        """
        return self.decoder.predict(docs)

    @property
    def decoder(self) -> Decoder:
        """Of the state and the settings as they are now."""
        published = self._published
        settings, name, decoder = published.made
        if (
            settings is self.settings
            and name == self.name
            # Read later than `made`: a change that goes on may have made that.
            and published.owner is None
            and self._trainer.is_current(decoder.state)
        ):
            found: Decoder = decoder
            return found
        return self._make_decoder()

    def decoder_with(self, confidence: bool | None) -> Decoder:
        """RETURNS (Decoder): `decoder`, but with another setting `confidence`; None:
        with the one it has."""
        decoder, settings = self.decoder, self.settings
        if confidence is None or confidence == settings.confidence:
            return decoder
        settings = settings.changed("confidence", confidence)
        args = self.name, self.hierarchy, decoder.options.number
        options = make_options(settings, *args)
        return make_decoder(decoder.state, options, self.model, decoder)

    def _make_decoder(self) -> Decoder:
        """RETURNS (Decoder): The last one, if it would be the same."""
        published, state, settings = self._published, self.state, self.settings
        self._advice.untrained(state.weights, self.name, self.facts)
        with published.making:  # one thread makes it, others wait
            decoder: Decoder | None = published.made[2]
            args = settings, self.name, self.hierarchy, self._number
            options = make_options(*args)
            if decoder is None or (decoder.state, decoder.options) != (state, options):
                if decoder is not None and (
                    decoder.state is not state
                    or decoder.options.deciding() != options.deciding()
                ):
                    self._number += 1
                    options = options._replace(number=self._number)
                decoder = make_decoder(state, options, self.model, decoder)
            published.made = settings, self.name, decoder
        return decoder

    def posterior_of(self, doc: Doc, number: int | None) -> Posterior | None:
        """The distribution over segmentations of a document that was predicted before.

        doc (Doc): As it was before prediction.
        number (Optional[int]): Of the labels and weights it was predicted with.
        RETURNS (Optional[Posterior]): None if there are others now.
        """
        decoder = self.decoder
        is_same = decoder.options.number == number
        return decoder.posterior(doc) if is_same else None

    def set_annotations(self, docs: Iterable[Doc], scores: list[Prediction]) -> None:
        """Write entities beside the preset ones, their probabilities, the span group.

        docs (Iterable[Doc]): Documents.
        scores (List[Prediction]): From `predict`.
        """
        left = [x.posterior.decoder for x in scores if x.posterior is not None]
        docs, key = [*docs], self.settings.spans_key
        record = self._record(left[0] if left else self.decoder, docs)
        write_predictions(docs, scores, self.name, key, record)

    def _write(self, docs: DocBatch, found: SpanTable | list[Prediction]) -> None:
        """`set_annotations` of what `predictions` yields."""
        if not isinstance(found, SpanTable):
            self.set_annotations(docs, found)
        elif self.settings.spans_key is not None:
            self.set_annotations(docs, found.predictions())
        else:
            record = self._record(found.posteriors.decoder, docs)
            write_table(docs, found, self.name, record)

    def _record(self, decoder: Decoder, docs: Sequence[Doc]) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): What the records of documents have."""
        if components.setdefault(self._id, self) is not self:  # a copy
            self._id = uuid4().hex
            components[self._id] = self
        if not self._advice.is_over:
            self._advice.existing_entities(docs, self.name, self.schema, self.facts)
        return {"component": self._id, "state": decoder.options.number}
