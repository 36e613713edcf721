"""HTML keeps its markup, and translations cannot add to it."""

from __future__ import annotations

import html
import time
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trdec.serve.sentences import SplitText, escape_text, split_html, split_text, text_nodes, whole_text

PIECES = st.sampled_from(
    [
        "<p>", "</p>", "<b class='a'>", '<a href="?x=1&amp;y=<">', "</a>", "<br/>", "<script>", "</script>", "<style>",
        "</style>", "<!--", "-->", "<!doctype html>", "<?pi ", "<![CDATA[", "]]>", "&amp;", "&lt;", "&#60;", "&#x3c;",
        "&nbsp;", "&", "<", ">", "</", "/>", "text", " ", "\n", "ä", '"', "'", "=", "<textarea>", "<svg><title>",
    ]
)  # fmt: skip
DOCUMENTS = st.lists(PIECES, max_size=12).map("".join)


class _Seen(HTMLParser):
    """The tags of a document, and its text."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags: list[object] = []
        self.text = ""
        self.feed(document)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))

    def handle_endtag(self, tag: str) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def _replaced(document: str, translation: str) -> str:
    split = split_html(document, whole_text)
    return split.join([escape_text(translation)] * len(split.sentences))


@given(DOCUMENTS)
def test_pieces_are_the_document(document: str) -> None:
    assert "".join(piece for _, piece in text_nodes(document)) == document


@given(DOCUMENTS)
def test_translating_nothing_changes_nothing_a_reader_sees(document: str) -> None:
    split = split_html(document, whole_text)
    same = split.join([escape_text(sentence) for sentence in split.sentences])
    assert html.unescape(same) == html.unescape(document)
    assert _Seen(same).tags == _Seen(document).tags


@given(DOCUMENTS, st.sampled_from(["<script>x</script>", "</p>", "<!--", "&lt;b&gt;", "a < b > c", "]]>"]))
def test_a_translation_adds_no_tag(document: str, translation: str) -> None:
    assert _Seen(_replaced(document, translation)).tags == _Seen(document).tags


def test_what_stands_between_sentences_stays_text_too() -> None:
    split = split_html("<b>&lt;&amp;! Hello. &lt;</b>", lambda text: split_text(text, "de", "en", 1_000))
    assert split.join(["Hallo."]) == "<b>&lt;&amp;! Hallo. &lt;</b>"


@pytest.mark.parametrize(
    ("document", "texts"),
    [
        ("<p>Hello <b>big</b> world</p>", ["Hello", "big", "world"]),
        ("a &amp; b&#33;", ["a & b!"]),
        ("<script>var a = 'text';</script>text", ["text"]),
        ("<style>p { color: red }</style><!-- note --><p title='no'>yes</p>", ["yes"]),
        ("&nbsp;<br>&mdash;", []),
        ("plain", ["plain"]),
        ("a&#" + "9" * 5000 + ";", []),
        ("a <![if b <i>c</i>", ["a", "c"]),
        ("", []),
    ],
)
def test_text_nodes_are_found(document: str, texts: list[str]) -> None:
    found: list[str] = []

    def split(text: str) -> SplitText:
        found.extend(whole_text(text).sentences)
        return whole_text(text)

    split_html(document, split)
    assert found == texts


@pytest.mark.parametrize(
    "unit", ["<", "<a", "<!--", "<a b='", "&", "&#", "<!", "<?", "</", "<script>", "<a b=c ", "<![CDATA["]
)
def test_no_document_takes_long(unit: str) -> None:
    document = unit * (10_000 // len(unit))
    began = time.process_time()
    split_html(document, whole_text)
    assert time.process_time() - began < 2
