"""Requests that are not what they should be, over real connections."""

from __future__ import annotations

import json
import re
import socket
import time

import pytest

from support.serving import Served
from trdec.serve.requests import JSON_TYPE, LibreRequest, Refusal, read_request

TRANSLATE = {"q": "a", "source": "vel", "target": "en", "api_key": "secret"}


def _raw(served: Served, request: bytes, *later: bytes) -> bytes:
    """What the server answers to these bytes until it closes the connection."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as connection:
        connection.sendall(request)
        for part in later:
            time.sleep(0.2)
            connection.sendall(part)
        answer = b""
        while part := connection.recv(65536):
            answer += part
        return answer


def test_before_models_are_loaded_everybody_is_told(empty: Served) -> None:
    for answer in (
        empty.client.get("/health"),
        empty.client.get("/languages"),
        empty.client.get("/v1/models"),
        empty.client.post("/translate", json=TRANSLATE),
    ):
        assert answer.status_code == 503
        assert re.search("load", answer.json()["error"])
        assert int(answer.headers["retry-after"]) >= 1


@pytest.mark.parametrize("key", [None, "", "wrong", "secre", "secret ", "sécret"])
def test_a_wrong_key_is_refused(empty: Served, key: str | None) -> None:
    answer = empty.client.post("/translate", json={**TRANSLATE, "api_key": key})
    assert answer.status_code == 403
    assert answer.json()["field"] == "api_key"


def test_a_key_may_stand_in_body_or_header(empty: Served) -> None:
    header = {"Authorization": "Bearer secret"}
    assert empty.client.post("/translate", data=TRANSLATE).status_code == 503
    assert empty.client.post("/v1/translate", json={"text": "a"}, headers=header).status_code == 503
    assert empty.client.post("/detect", json={"q": "a"}).status_code == 403


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "application/json"),
        (b"[]", "application/json"),
        (b'"q"', "application/json"),
        (b"{", "application/json"),
        (b'{"q": "\xff\xfe"}', "application/json"),
        (b"[" * 900, "application/json"),
        (b'{"q":' * 190, "application/json"),
        (b"q=%ff%fe&source=vel", "application/x-www-form-urlencoded"),
        (b"\xff", "application/x-www-form-urlencoded"),
        (b"&".join([b"a=1"] * 60), "application/x-www-form-urlencoded"),
        (b"q=a", "multipart/form-data; boundary=x"),
    ],
)
def test_a_body_that_cannot_be_read_is_refused(empty: Served, body: bytes, kind: str) -> None:
    for path in ("/translate", "/v1/translate", "/detect"):
        answer = empty.client.post(path, content=body, headers={"content-type": kind})
        assert answer.status_code == 400
        assert isinstance(answer.json()["error"], str)


def test_a_multipart_form_is_told_what_is_read(empty: Served) -> None:
    answer = empty.client.post("/translate", files={"q": (None, "a"), "source": (None, "vel")})
    assert answer.status_code == 400
    facts = "application/json.*application/x-www-form-urlencoded.*multipart/form-data"
    assert re.search(facts, answer.json()["error"])


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b'{"q":' * 100_000, b'{"q":' + b"[" * 100_000 + b"]" * 100_000 + b"}"]
)
def test_json_may_be_deeper_than_any_stack(body: bytes) -> None:
    with pytest.raises(Refusal, match="expected a JSON object"):
        read_request(LibreRequest, JSON_TYPE, body)


def test_a_body_that_is_too_large_is_refused_before_it_is_read(empty: Served) -> None:
    assert b" 413 " in _raw(empty, b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n")
    chunk = b"3e8\r\n" + b"a" * 1000 + b"\r\n"
    chunked = b"POST /translate HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk
    answer = _raw(empty, chunked, b"1\r\na\r\n")
    assert b" 413 " in answer
    assert json.loads(answer.split(b"\r\n\r\n")[1])["error"]


def test_a_slow_body_is_not_waited_for(empty: Served) -> None:
    head = b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{"
    began = time.monotonic()
    assert b" 408 " in _raw(empty, head, b'"', b"q")
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    "path",
    [
        "/../pyproject.toml",
        "/..%2f..%2fapp.py",
        "/%2e%2e/app.py",
        "/app.py",
        "//etc/passwd",
        "/index.html%00",
        "/v1/models/x",
    ],
)
def test_no_path_leads_out_of_the_page(empty: Served, path: str) -> None:
    answer = _raw(empty, f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
    assert b" 404 " in answer.split(b"\r\n")[0]


def test_errors_of_the_protocol_are_json_too(empty: Served) -> None:
    for answer, status in ((empty.client.get("/translate"), 404), (empty.client.put("/health"), 405)):
        assert answer.status_code == status
        assert answer.json()["error"]


def test_every_answer_has_safe_headers_and_a_number(empty: Served) -> None:
    for path in ("/health", "/nowhere", "/docs", "/spec"):
        answer = empty.client.get(path, headers={"X-Request-ID": "mine-1"})
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-request-id"] == "mine-1"
    odd = empty.client.get("/health", headers={"X-Request-ID": "a b<script>"}).headers["x-request-id"]
    assert re.fullmatch("[0-9a-f]{32}", odd)


def test_only_named_sites_may_call(empty: Served) -> None:
    for origin, allowed in (("https://one.example", "https://one.example"), ("https://two.example", None)):
        answer = empty.client.post("/translate", json=TRANSLATE, headers={"Origin": origin})
        assert answer.headers.get("access-control-allow-origin") == allowed
    asked = {"Origin": "https://one.example", "Access-Control-Request-Method": "POST"}
    preflight = empty.client.options("/translate", headers=asked)
    assert preflight.status_code == 200
    assert preflight.headers["x-request-id"]


def test_named_sites_may_read_every_refusal(empty: Served) -> None:
    origin = {"Origin": "https://one.example"}
    large = empty.client.post("/translate", content=b"a" * 1001, headers=origin)
    keyless = empty.client.post("/translate", json={**TRANSLATE, "api_key": "wrong"}, headers=origin)
    assert [large.status_code, keyless.status_code] == [413, 403]
    for answer in (large, keyless):
        assert answer.headers["access-control-allow-origin"] == "https://one.example"
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_description_lists_every_address(empty: Served) -> None:
    found = empty.client.get("/spec").json()
    assert {"/translate", "/detect", "/languages", "/health", "/frontend/settings", "/spec", "/metrics"} < set(
        found["paths"]
    )
    assert {"/v1/translate", "/v1/models"} < set(found["paths"])
    assert not any("422" in method["responses"] for path in found["paths"].values() for method in path.values())
    page = empty.client.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert all(path in page.text for path in found["paths"])
    assert "<script" not in page.text
