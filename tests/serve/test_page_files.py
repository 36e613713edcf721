"""The page's files come with their types, and the page may do only what it needs."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.requests import Request

from trdec.serve.page_files import FOLDER, TYPES, PageFiles
from trdec.serve.requests import Refusal


@pytest.fixture
def files(tmp_path: Path) -> PageFiles:
    """A page of a few files."""
    (tmp_path / "parts").mkdir()
    for name in ("index.html", "style.css", "parts/tree.js", "notes.txt"):
        (tmp_path / name).write_text(name)
    return PageFiles(tmp_path)


def _request(**headers: str) -> Request:
    return Request({"type": "http", "headers": [(name.encode(), value.encode()) for name, value in headers.items()]})


def test_files_have_their_types_and_a_strict_policy(files: PageFiles) -> None:
    for name, kind in {"index.html": "text/html", "style.css": "text/css", "parts/tree.js": "text/javascript"}.items():
        answer = files.answer(name, _request())
        assert answer.body == name.encode()
        assert answer.headers["content-type"] == f"{kind}; charset=utf-8"
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'")
        assert "unsafe" not in policy


def test_an_unchanged_file_is_not_sent_again(files: PageFiles) -> None:
    tag = files.answer("index.html", _request()).headers["etag"]
    again = files.answer("index.html", _request(**{"if-none-match": tag}))
    assert (again.status_code, again.body) == (304, b"")


@pytest.mark.parametrize("name", ["", "notes.txt", "../a.py", "parts", "parts/../index.html", "/index.html", "a\0"])
def test_nothing_else_is_served(files: PageFiles, name: str) -> None:
    with pytest.raises(Refusal) as caught:
        files.answer(name, _request())
    assert caught.value.status == 404


def test_every_file_of_the_page_has_a_type() -> None:
    assert [path for path in FOLDER.rglob("*") if path.is_file() and path.suffix not in TYPES] == []
