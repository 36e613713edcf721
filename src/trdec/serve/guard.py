"""What surrounds every request: its number in the logs, limits on its body, headers, and what becomes of errors."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
import uuid
from collections.abc import Callable, Collection
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trdec.serve.observation import ServerMetrics
from trdec.serve.requests import Refusal
from trdec.serve.settings import ServerLimits

_log = logging.getLogger(__name__)

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")

API_POLICY = "default-src 'none'; frame-ancestors 'none'"
"""What a browser may do with answers that are no page: nothing."""

_REPLY = "trdec.reply"
"""Where a request's scope has what is sent back."""

HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
}


class Guard:
    """Reads bodies within limits, cancels what nobody waits for, logs and counts requests, and answers errors."""

    def __init__(
        self,
        app: ASGIApp,
        limits: ServerLimits,
        metrics: ServerMetrics,
        paths: Collection[str],
        around: Callable[[ASGIApp], ASGIApp] | None = None,
    ) -> None:
        """`around` adds to all answers, to errors too, what browsers are to know."""
        self._app = app
        self._answering = self._answer if around is None else around(self._answer)
        self._limits = limits
        self._metrics = metrics
        self._paths = frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.monotonic()
        given = dict(scope["headers"]).get(b"x-request-id", b"")
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex.encode()
        reply = _Reply(send, request_id)
        try:
            await self._answering({**scope, _REPLY: reply}, receive, reply.send)
        finally:
            seconds = time.monotonic() - began
            path = scope["path"] if scope["path"] in self._paths else "other"
            self._metrics.request(path, reply.status, seconds)
            fields = {
                "request": request_id.decode(),
                "method": scope["method"],
                "path": path,
                "status": reply.status,
                "seconds": round(seconds, 4),
            }
            _log.info("request", extra=fields)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        reply: _Reply = scope[_REPLY]
        try:
            body = await self._body(scope, receive)
        except Refusal as refusal:
            await refuse(send, refusal, close=True)
            return
        except _Gone:
            return
        answering = asyncio.ensure_future(self._app(scope, _replay(body), send))
        leaving = asyncio.create_task(_disconnected(receive))
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            unfinished = not answering.done()
            for task in (answering, leaving):
                task.cancel()
            await asyncio.gather(leaving, return_exceptions=True)
        try:
            await answering
        except asyncio.CancelledError:
            if not unfinished:
                raise
        except Exception:  # noqa: BLE001  (whatever it is, the client gets an answer and the log its place)
            _log.exception("internal error", extra={"request": reply.request_id.decode()})
            if not reply.status_sent:
                await refuse(send, Refusal(500, f"internal error, request {reply.request_id.decode()}."))

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        most = self._limits.body
        too_large = Refusal(413, f"expected a body of at most {most} bytes.")
        length = dict(scope["headers"]).get(b"content-length", b"")
        if length.isdigit() and int(length) > most:
            raise too_large
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _Gone
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > most:
                        raise too_large
                    if not message.get("more_body"):
                        return b"".join(parts)
        except TimeoutError:
            raise Refusal(408, f"the body did not arrive within {self._limits.body_seconds:g} s.") from None


class _Gone(Exception):
    """The client left before its request was complete."""


class _Reply:
    """What is sent back, with the headers that every answer has."""

    def __init__(self, send: Send, request_id: bytes) -> None:
        self._send = send
        self.request_id = request_id
        self.status = 499  # the client left before there was an answer
        self.status_sent = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.status_sent = True
            own = {**HEADERS, b"x-request-id": self.request_id}
            names = {name.lower() for name, _ in message["headers"]}
            if b"content-security-policy" not in names:
                own[b"content-security-policy"] = API_POLICY.encode()
            message["headers"] = [*message["headers"], *own.items()]
        await self._send(message)


def _replay(body: bytes) -> Receive:
    """The body once; then nothing, since the guard itself waits for the client to leave."""
    sent = False

    async def again() -> Message:
        nonlocal sent
        if sent:
            await asyncio.Event().wait()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def refuse(send: Send, refusal: Refusal, close: bool = False) -> None:
    """Answer with an error."""
    content: dict[str, Any] = {"error": str(refusal)}
    if refusal.field is not None:
        content["field"] = refusal.field
    body = json.dumps(content).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if refusal.retry_after is not None:
        headers.append((b"retry-after", str(refusal.retry_after).encode()))
    if close:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
