"""A web server with the page's files, whose answers tests choose."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from support.file_server import answering
from trdec.serve.page_files import FOLDER, PAGE_POLICY, TYPES

Answer = tuple[int, dict[str, Any], dict[str, str]]
"""A status, what is sent as JSON, and headers."""


class PageServer:
    """What the server answers; tests change it as they go."""

    def __init__(self) -> None:
        self.models: dict[str, Any] = {"models": []}
        self.translate: Callable[[dict[str, Any]], Answer] = lambda _: (500, {"error": "no answer yet"}, {})
        self.loading = 0
        """How often it still says that its models are being loaded."""
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""


@contextmanager
def serving_page() -> Iterator[PageServer]:
    """A server that runs until the block ends."""
    held = PageServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.lstrip("/") or "index.html"
            if name == "v1/models" and held.loading:
                held.loading -= 1
                content = json.dumps({"error": "the models are being loaded."}).encode()
                self._send(503, content, "application/json", {"Retry-After": "1"})
            elif name == "v1/models":
                self._send(200, json.dumps(held.models).encode(), "application/json", {})
            elif name in {path.name for path in FOLDER.iterdir()}:
                self._send(
                    200, (FOLDER / name).read_bytes(), TYPES[Path(name).suffix], {"Cache-Control": "max-age=600"}
                )
            else:
                self._send(404, b"{}", "application/json", {})

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            held.requests.append(request)
            held.headers.append(dict(self.headers))
            status, content, headers = held.translate(request)
            self._send(status, json.dumps(content).encode(), "application/json", headers)

        def _send(self, status: int, content: bytes, kind: str, headers: dict[str, str]) -> None:
            self.send_response(status)
            policy = {"Content-Security-Policy": PAGE_POLICY, "Content-Type": kind}
            for name, value in {**policy, "Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with answering(Handler) as held.url:
        yield held
