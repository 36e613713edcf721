"""A web server on this machine that can also fail: it cuts connections, knows no ranges, or changes its files."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def answering(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server on this machine that answers so, until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class FileServer:
    """What the server holds and how it behaves; tests change both as they go."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.tags: dict[str, str] = {}  # entity tags by path; a file without one cannot be resumed
        self.knows_ranges = True
        self.cuts: list[int] = []  # after so many bytes the next connections are cut, one each
        self.length: str | None = None  # what the server says of a file's length, in place of the truth
        self.requests: list[tuple[str, str | None]] = []  # path and range, in order
        self.url = ""

    def add(self, path: str, content: bytes, tag: str | None = '"1"') -> str:
        """Serve a file; gives its address."""
        self.files[path] = content
        if tag is not None:
            self.tags[path] = tag
        return f"{self.url}{path}"


@contextmanager
def serving() -> Iterator[FileServer]:
    """A server that runs until the block ends."""
    held = FileServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.lstrip("/")
            wanted = self.headers.get("Range")
            held.requests.append((path, wanted))
            if path not in held.files:
                self.send_error(404)
                return
            content, tag, start = held.files[path], held.tags.get(path), 0
            if wanted is not None and held.knows_ranges and self.headers.get("If-Range") == tag:
                start = int(wanted.removeprefix("bytes=").removesuffix("-"))
                if start >= len(content):
                    self.send_error(416)
                    return
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            else:
                self.send_response(200)
            if tag is not None:
                self.send_header("ETag", tag)
            self.send_header("Content-Length", held.length or str(len(content) - start))
            self.end_headers()
            body = content[start:]
            self.wfile.write(body[: held.cuts.pop(0)] if held.cuts else body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with answering(Handler) as held.url:
        yield held
