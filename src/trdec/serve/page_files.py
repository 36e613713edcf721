"""The files of the page that a browser opens at the server's address."""

from __future__ import annotations

import hashlib
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from trdec.serve.requests import Refusal

FOLDER = Path(__file__).parent / "page"

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}

PAGE_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
"""What the page may do: run its own files and call its own server. Pictures that it draws are data or blobs."""


class PageFiles:
    """Files that are held in memory, so that no path of a request ever reaches the disk."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._files = {
            path.relative_to(folder).as_posix(): (path.read_bytes(), TYPES[path.suffix])
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.suffix in TYPES
        }

    @property
    def names(self) -> list[str]:
        """The paths of all files."""
        return list(self._files)

    def answer(self, name: str, request: Request) -> Response:
        """The file of this name; Refusal if there is none."""
        if name not in self._files:
            raise Refusal(404, "there is nothing at this address.")
        content, kind = self._files[name]
        tag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
        headers = {"etag": tag, "cache-control": "no-cache", "content-security-policy": PAGE_POLICY}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=kind, headers=headers)
