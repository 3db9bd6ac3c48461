"""What holds for every request: an id, limits while it is read, a line in the log; and
for connections, which nobody can hold without a request."""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import re
import time
import traceback
from typing import Any
from uuid import uuid4

from fastapi import HTTPException
from fastapi.responses import JSONResponse
from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol

log = logging.getLogger("service")

GIVEN_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)
# A client that is still sending does not see an answer. So a body that is too large is
# read on and thrown away, up to this many times the limit.
MOST_THROWN_AWAY = 8
CLOSE = {"Connection": "close"}


class Guard:
    """ASGI middleware.

    app (ASGIApp): What it guards. It finds `request_id` and `deadline` (as
        `time.monotonic` has it) in the state of a request.
    max_bytes (int): Of a body, whether its length is announced or not.
    max_seconds (float): From the first byte to the answer.
    registry (CollectorRegistry): Gets the metrics of requests.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        max_bytes: int,
        max_seconds: float,
        registry: CollectorRegistry,
    ) -> None:
        self.app, self.max_bytes, self.max_seconds = app, max_bytes, max_seconds
        names = ["method", "path", "status"]
        self.requests = Counter(
            "service_requests", "Requests", names, registry=registry
        )
        self.seconds = Histogram(
            "service_request_seconds",
            "Seconds from the first byte to the answer",
            ["path"],
            registry=registry,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.monotonic()
        request_id = id_of(scope)
        deadline = began + self.max_seconds
        state = scope.setdefault("state", {})
        state.update(request_id=request_id, deadline=deadline)
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                header = (b"x-request-id", request_id.encode())
                message["headers"] = [*message.get("headers", ()), header]
            await send(message)

        body = Body(receive, self.max_bytes, deadline)
        try:
            await self.app(scope, body.receive, answer)
        except Exception as error:
            # Where it happened, not what it says: messages may quote texts of users.
            frames = "".join(traceback.format_tb(error.__traceback__))
            log.error("%s %s\n%s", request_id, type(error).__name__, frames)
            if not status:
                refusal = JSONResponse({"detail": "This should not happen."}, 500)
                await refusal(scope, receive, answer)
        finally:
            seconds = time.monotonic() - began
            # Of paths that nobody has defined there is no end.
            path = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if path != "other" else "other"
            self.requests.labels(method, path, status).inc()
            self.seconds.labels(path).observe(seconds)
            args = request_id, method, path, status, 1e3 * seconds, body.n_bytes
            log.info("%s %s %s %d %.1f ms %d bytes", *args)


class Body:
    """The body of a request, while it is read.

    receive (Receive): Gives its parts.
    max_bytes (int), deadline (float): See `Guard`.
    """

    def __init__(self, receive: Receive, max_bytes: int, deadline: float) -> None:
        self._receive, self._max_bytes, self._deadline = receive, max_bytes, deadline
        self._is_whole = False
        self.n_bytes = 0

    async def receive(self) -> Message:
        """Returns the next part. Raises HTTPException: 408 if it is late, 413 if the
        body is too large."""
        if self._is_whole:
            return await self._receive()
        message = await self._next()
        if self.n_bytes > self._max_bytes:
            while self.n_bytes <= MOST_THROWN_AWAY * self._max_bytes:
                if self._is_whole:
                    break
                await self._next()
            detail = f"The body has more than {self._max_bytes} bytes."
            raise HTTPException(413, detail, CLOSE)
        return message

    async def _next(self) -> Message:
        left = self._deadline - time.monotonic()
        try:
            message = await asyncio.wait_for(self._receive(), left)
        except asyncio.TimeoutError:
            raise HTTPException(408, "The body is late.", CLOSE) from None
        self.n_bytes += len(message.get("body", b""))
        self._is_whole = not message.get("more_body", False)
        return message


def impatient(max_seconds: float) -> type:
    """Returns the protocol for `uvicorn.run(http=...)`: a connection ends if the head
    of a request is not there in time, be it that nothing comes, or an answer is not
    read after twice that time. `Guard` sees requests whose head is whole."""

    class Impatient(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
        is_reading = True  # the head of a request

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.timer = self.loop.call_later(max_seconds, self.give_up)

        def data_received(self, data: bytes) -> None:
            before = self.cycle
            super().data_received(data)
            has_head = self.cycle is not before
            if has_head or (not self.is_reading and not self.is_busy()):
                self.is_reading = not has_head
                self.timer.cancel()
                seconds = 2 * max_seconds if has_head else max_seconds
                self.timer = self.loop.call_later(seconds, self.give_up)

        def connection_lost(self, error: Exception | None) -> None:
            self.timer.cancel()
            super().connection_lost(error)

        def is_busy(self) -> bool:
            return self.cycle is not None and not self.cycle.response_complete

        def give_up(self) -> None:
            is_unread = self.transport.get_write_buffer_size() > 0
            if self.is_reading or self.is_busy() or is_unread:
                self.transport.abort()

    return Impatient


def matches(given: str, expected: str) -> bool:
    """Returns whether a header is what is expected, outside ASCII as UTF-8 or Latin-1,
    in a time that does not tell how much of it is right."""
    found = given.encode("latin-1", "backslashreplace")  # the bytes that came
    ways = [os.fsencode(expected), expected.encode("latin-1", "backslashreplace")]
    return any([hmac.compare_digest(found, way) for way in ways])


def id_of(scope: Scope) -> str:
    """Returns what the client or a proxy calls the request, or a new id."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and GIVEN_ID.fullmatch(
            found := value.decode("latin-1")
        ):
            return str(found)
    return uuid4().hex
