"""What clients send to a server: bodies of requests, paragraphs, HTML."""

from __future__ import annotations

import contextlib
import html
import json
import re

from fuzz.harness import Target
from trdec.serve.requests import FORM_TYPE, JSON_TYPE, DetectRequest, LibreRequest, Refusal, TreeRequest, read_request
from trdec.serve.sentences import escape_text, split_html, split_text, text_nodes, whole_text
from trdec.serve.settings import ServerLimits
from trdec.serve.texts import tree_settings


def run_bodies(data: bytes) -> None:
    """Read a body as every kind of request; it is refused, or its settings are within the limits."""
    for kind in (LibreRequest, DetectRequest, TreeRequest):
        for content_type in (JSON_TYPE, FORM_TYPE):
            with contextlib.suppress(Refusal):
                found = read_request(kind, content_type, data)  # type: ignore[type-var]
                if isinstance(found, TreeRequest):
                    limits = ServerLimits()
                    settings = tree_settings(found, 5, limits)
                    assert 1 <= settings.n_best <= settings.beam_size <= limits.beam_size
                    assert settings.max_ratio <= limits.max_ratio


def _text(data: bytes) -> str:
    return data[:5_000].decode("utf-8", "replace")


def run_paragraphs(data: bytes) -> None:
    """Split a text into sentences; only spaces may differ when they are put back."""
    text = _text(data)
    split = split_text(text, "de", "en", 100)
    assert split.join(split.sentences).replace(" ", "") == text.replace(" ", "")
    assert all(0 < len(sentence) <= 100 for sentence in split.sentences)


def run_markup(data: bytes) -> None:
    """Split HTML into text nodes; what a reader sees stays, and a translation adds no bracket."""
    document = _text(data)
    assert "".join(piece for _, piece in text_nodes(document)) == document
    split = split_html(document, whole_text)
    same = split.join([escape_text(sentence) for sentence in split.sentences])
    assert _seen(same) == _seen(document)
    translated = split.join([escape_text("<script>")] * len(split.sentences))
    assert translated.count("<") == document.count("<")


def _seen(document: str) -> str:
    for _ in range(2):
        # Longer numbers are an error of Python's.
        document = html.unescape(re.sub(r"&#(?=[xX]?[0-9A-Fa-f]{9})", "", document))
    return document


def body_seeds() -> list[bytes]:
    """Requests of every kind."""
    libre = {"q": ["a", "b"], "source": "auto", "target": "en", "format": "html", "alternatives": 2, "api_key": None}
    tree = {"text": "a", "beam_size": 5, "n_best": 2, "words": 3, "length": {"power": 0.5, "unit": "words"}}
    demands = {"text": ["a"], "skeleton": "(ROOT (NP a))", "prefix": "a", "split": False, "model": "a-b"}
    form = b"q=a%20b&source=de&target=en&alternatives=1"
    return [*(json.dumps(each).encode() for each in (libre, tree, demands)), form]


def paragraph_seeds() -> list[bytes]:
    """Texts of several sentences."""
    texts = ("Am 3. Mai kam Dr. Ott. Gut?\r\n\n- Ja, „gut“.", "你好。世界！", "a" * 300 + ", b")
    return [text.encode() for text in texts]


def markup_seeds() -> list[bytes]:
    """HTML with everything that may stand in it."""
    return [
        b"<p class='a'>Hi &amp; <b>you</b><br/>!</p><!-- c --><script>a<b</script>",
        b"<!doctype html><title>a</title>",
    ]


_BODY_TOKENS = (b'"', b"\\ud800", b"1e999", b"NaN", b"[", b"%ff", b"null", b"{")
_SENTENCE_TOKENS = (b". ", b"\n", b"\xe3\x80\x82", b"\xe2\x80\xa8", b'"', b"z.B.")
_TAG_TOKENS = (b"<", b">", b"</", b"<!--", b"-->", b"&#60;", b"&lt", b"<script>", b"<![CDATA[", b"<?", b"='")

TARGETS = [
    Target("request bodies", run_bodies, body_seeds, _BODY_TOKENS, weight=0.5),
    Target("paragraphs", run_paragraphs, paragraph_seeds, _SENTENCE_TOKENS, weight=0.5),
    Target("HTML", run_markup, markup_seeds, _TAG_TOKENS, weight=0.5),
]
