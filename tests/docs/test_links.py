"""Every link between the documents leads to a file and a heading that are there; links to elsewhere are well formed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from site_links import broken

REPOSITORY = Path(__file__).parent.parent.parent
DOCUMENTS = sorted([*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")])

_LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+(?:\([^()\s]*\))?)(?:\s+\"[^\"]*\")?\)")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")


def prose(text: str) -> Iterator[str]:
    """The lines outside fenced blocks, without what stands in backticks."""
    fence = ""
    for line in text.split("\n"):
        opening = re.match(r"^ {0,3}(`{3,}|~{3,})", line)
        if fence:
            fence = "" if opening and opening[1].startswith(fence) else fence
        elif opening:
            fence = opening[1]
        else:
            yield line


def links(text: str) -> list[str]:
    """Where the document's links lead, also those that a line break parts."""
    # What stands in backticks is no link, though it may be the text of one.
    return _LINK.findall(re.sub(r"(`+)(?:(?!\1).)+\1", "code", "\n".join(prose(text)), flags=re.DOTALL))


def anchors(text: str) -> set[str]:
    """The names that headings have for links, as GitHub makes them: lower case, no punctuation, hyphens for spaces."""
    found: dict[str, int] = {}
    for line in prose(text):
        if heading := _HEADING.match(line):
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1])
            name = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
            found[name] = found.get(name, -1) + 1
            if found[name]:
                found[f"{name}-{found[name]}"] = 0
    return set(found)


@cache
def anchors_of(path: Path) -> set[str]:
    return anchors(path.read_text(encoding="utf-8"))


def mistake(document: Path, link: str) -> str | None:
    """What is wrong with a link that stands in the document, if anything."""
    parts = urlsplit(link)
    if parts.scheme == "mailto":
        return None if re.fullmatch(r"[^@\s]+@[\w-]+(\.[\w-]+)+", parts.path) else "is no address"
    if parts.scheme or parts.netloc:
        good = parts.scheme in ("http", "https") and re.fullmatch(r"[\w-]+(\.[\w-]+)+(:\d+)?", parts.netloc)
        return None if good else "is no address of a page"
    if parts.path.startswith("/"):
        return "is an absolute path, which another checkout does not have"
    target = (document.parent / parts.path).resolve() if parts.path else document
    if not target.exists():
        return "leads to nothing"
    if not target.is_relative_to(REPOSITORY):
        return "leaves the project"
    if parts.fragment and (target.suffix != ".md" or parts.fragment not in anchors_of(target)):
        return f"leads to a heading that is not there; there are {sorted(anchors_of(target))}"
    return None


def test_every_link_leads_somewhere() -> None:
    wrong = [
        f"{document.relative_to(REPOSITORY)}: {link} {what}"
        for document in DOCUMENTS
        for link in links(document.read_text(encoding="utf-8"))
        if (what := mistake(document, link))
    ]
    assert wrong == []


def test_every_page_can_be_reached_from_the_index() -> None:
    reached = {REPOSITORY / "docs" / "index.md"}
    waiting = list(reached)
    while waiting:
        document = waiting.pop()
        for link in links(document.read_text(encoding="utf-8")):
            target = (document.parent / urlsplit(link).path).resolve()
            if not urlsplit(link).scheme and target.suffix == ".md" and target not in reached:
                reached.add(target)
                waiting.append(target)
    assert set(DOCUMENTS) - reached <= {REPOSITORY / "CHANGELOG.md"}


LINKS_AND_MISTAKES = {
    "trees.md": None,
    "trees.md#transforms": None,
    "#what-a-tree-costs": None,
    "../examples": None,
    "https://semver.org": None,
    "mailto:a@b.org": None,
    "trees.markdown": "leads to nothing",
    "trees.md#transform": "leads to a heading",
    "#what-it-costs": "leads to a heading",
    "../examples/demo.py#main": "leads to a heading",
    "../..": "leaves the project",
    "/docs/trees.md": "is an absolute path",
    "https:/semver.org": "is no address of a page",
    "htps://semver.org": "is no address of a page",
    "https://sem ver": "is no address of a page",
    "mailto:nobody": "is no address",
}


def test_wrong_links_are_noticed() -> None:
    document = REPOSITORY / "docs" / "choosing_trees.md"
    found = {link: mistake(document, link) for link in LINKS_AND_MISTAKES}
    unexpected = {
        link: what
        for link, what in found.items()
        if not (what or "").startswith(LINKS_AND_MISTAKES[link] or "")
        or (what is None) != (LINKS_AND_MISTAKES[link] is None)
    }
    assert unexpected == {}


def test_links_in_code_are_no_links() -> None:
    text = '[a](1) [`b`](2) `[c](3)` ![d](4)\n```\n[e](5)\n```\n[two\nlines](6) [f](7 "title")'
    assert links(text) == ["1", "2", "4", "6", "7"]


def test_headings_have_the_names_that_github_gives_them() -> None:
    text = "# A `b` c: d!\n## [x](y.md) z\n```\n# no\n```\n# Same\n# Same\n## data.train_now"
    assert anchors(text) == {"a-b-c-d", "x-z", "same", "same-1", "datatrain_now"}


def test_broken_links_of_a_site_are_found(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text('<a href="b.html#here">b</a> <a href="https://semver.org">c</a> <i id="top">')
    (tmp_path / "b.html").write_text(
        '<p id="here"><a href="index.html#top">a</a> <img src="a.png"> <a href="#gone">d</a>'
    )
    assert broken(tmp_path) == ["b.html: #gone", "b.html: a.png"]
    (tmp_path / "a.png").touch()
    (tmp_path / "b.html").write_text('<p id="there">')
    assert broken(tmp_path) == ["index.html: b.html#here"]
