"""A comparison as Markdown, as pictures and as a page."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.degraded import degraded, invented
from trdec.evaluation import figures
from trdec.evaluation.comparison import Comparison, ComparisonOptions, compare
from trdec.evaluation.report import (
    Section,
    comparison_markdown,
    comparison_sections,
    escaped,
    page,
    table_html,
    table_markdown,
)
from trdec.evaluation.scores import Output
from trdec.evaluation.tables import Table
from trdec.trees.brackets import parse

AWKWARD = "<b>|_x_ & $y$"
REFERENCES = invented(30, longest=25)
COUNTS = {"the": 1200, "cat": 12, "sees": 3}
FAST = ComparisonOptions(samples=200, trials=200, examples=2)


def compared(second: str = "better", options: ComparisonOptions = FAST) -> Comparison:
    outputs = [
        Output("base", "base.1", degraded(REFERENCES, 0.5, 1)),
        Output("base", "base.2", degraded(REFERENCES, 0.5, 2)),
        Output(second, "second.1", degraded(REFERENCES, 0.1, 3)),
        Output(second, "second.2", ["<script>alert(1)</script>", *degraded(REFERENCES, 0.1, 4)[1:]]),
    ]
    return compare(REFERENCES, outputs, options, training_counts=COUNTS)


def tables(markdown: str) -> list[list[list[str]]]:
    """The cells of every table: a bar that a backslash escapes parts no cells."""
    found: list[list[list[str]]] = [[]]
    for line in markdown.splitlines():
        if line.startswith("|"):
            found[-1].append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        elif found[-1]:
            found.append([])
    return [table for table in found if table]


def test_markdown_has_the_figures_of_the_comparison() -> None:
    comparison = compared()
    base, better = comparison.systems
    text = comparison_markdown(comparison)
    scores, ter, buckets, lengths, agreement, _, pairs = tables(text)
    assert better.std is not None
    assert better.paired is not None
    assert scores[3][:3] == ["better", "2", f"**{better.mean:.2f} ± {better.std:.2f}†**"]
    assert scores[3][6:8] == [f"{better.difference:+.2f}", f"{better.paired.p_bootstrap:.4f}"]
    assert scores[2][0] == "base"
    assert scores[2][6:] == ["-", "-", "-"]
    assert better.paired_ter is not None
    assert better.ter_mean is not None
    assert base.ter_mean is not None
    assert scores[3][4] == f"{better.ter_mean:.2f} ± {better.ter_std:.2f}{better.paired_ter.mark}"
    assert ter[2][2:] == [
        f"{better.ter_mean - base.ter_mean:+.2f}",
        f"{better.paired_ter.p_bootstrap:.4f}",
        f"{better.paired_ter.p_randomisation:.4f}",
    ]
    assert len(ter) == 3  # the first system is compared with nothing
    assert agreement[3][1:4] == [
        f"{100 * better.histogram.exact / 60:.1f}%",
        f"{better.histogram.mean_absolute:.2f}",
        f"{better.lengths.ratio:.3f}",
    ]
    overused = better.lengths.overused
    assert overused is not None
    assert agreement[3][4:] == [
        f"{overused.length} words",
        f"{overused.outputs} of 60",
        f"{overused.references} of 60",
    ]
    assert buckets[0] == ["system", "1-10 words", "11-20 words", "21-30 words"]  # no reference is longer
    assert buckets[2] == ["sentences", *(str(len(bucket.sentences)) for bucket in comparison.buckets[:3])]
    assert buckets[4][1] == f"{better.buckets[0]:.2f} ({better.gains[0]:+.2f})"
    assert buckets[3][1] == f"{base.buckets[0]:.2f}"
    assert lengths[3][1] == f"{better.histogram.mean:+.2f}"
    assert lengths[3][6] == f"{100 * better.histogram.share(-1, 1):.1f}%"
    assert [row[1:3] for row in pairs[2:]] == [["second.1", "base.1"], ["second.2", "base.2"]]
    assert "† p < 0.05, ‡ p < 0.001: the difference from base by paired bootstrap (200 samples)" in text
    assert f"- BLEU: `{better.scores[0].bleu.signature}`" in text
    assert f"- chrF++: `{better.scores[0].chrf.signature}`" in text
    assert "- TER: `nrefs:1|case:lc|tok:tercom|" in text
    assert "- paired bootstrap of TER: `nrefs:1|bs:200|seed:12345|case:lc|tok:tercom|" in text
    assert "- approximate randomisation: `nrefs:1|ar:200|seed:12345|" in text


def test_markdown_tables_are_aligned_and_keep_their_columns_whatever_a_name_is() -> None:
    for table in tables(comparison_markdown(compared(AWKWARD))):
        assert len({len(row) for row in table}) == 1
    lines = list(table_markdown(Table(("a", "b"), (("猫", "1"), ("x|y", "22")), best=frozenset({(1, 1)}))))
    assert lines == ["| a    |      b |", "| ---- | -----: |", "| 猫   |      1 |", r"| x\|y | **22** |"]


@settings(max_examples=40)
@given(st.text(max_size=20))
def test_escaping_takes_nothing_away(text: str) -> None:
    shown = escaped(text)
    assert re.sub(r"\\([\\`*_\[\]|~<&])", r"\1", shown) == text
    assert not re.search(r"(?<!\\)(\\\\)*[|`*]", shown)


def test_markdown_without_tests_says_so() -> None:
    text = comparison_markdown(compared(options=ComparisonOptions(significance=False, examples=0)))
    assert "significance was not tested" in text
    assert "p bootstrap" not in text
    assert "differ most" not in text


def test_ter_can_be_left_out() -> None:
    comparison = compared(options=ComparisonOptions(samples=2, trials=2, examples=0, ter=False))
    text = comparison_markdown(comparison)
    assert "TER" not in text
    assert tables(text)[0][0][3:6] == ["chrF++", "length ratio", "gain"]
    assert comparison.to_json()["systems"][1]["ter"] is comparison.to_json()["systems"][1]["paired_ter"] is None


def test_words_have_a_table_where_the_training_text_is_known() -> None:
    outputs = [Output("x", "x", ["a cat sees"]), Output("y", "y", ["a dog"])]
    comparison = compare(["a cat sings"], outputs, FAST, training_counts={"a": 7, "cat": 1, "dog": 1})
    words = tables(comparison_markdown(comparison))[5]
    assert words[0] == ["system", "0", "1", "5-9", "all words"]
    assert words[2] == ["words in the reference", "1", "1", "1", "3"]
    assert words[3] == ["x", "0.0 (0.0, 0.0)", *["100.0 (100.0, 100.0)"] * 2, "66.7 (66.7, 66.7)"]
    assert words[4] == ["y", "0.0 (-, 0.0)", "0.0 (0.0, 0.0)", "100.0 (100.0, 100.0)", "40.0 (50.0, 33.3)"]
    assert comparison.to_json()["frequencies"][3] == {"fewest": 3, "most": 4}
    assert "training text" not in comparison_markdown(compare(["a cat sings"], outputs, FAST))


def test_trees_have_a_table() -> None:
    tree = parse("(ROOT (NP a cat))")
    outputs = [Output("x", "x", ["a cat"], trees=[tree]), Output("y", "y", [""], trees=[None])]
    text = comparison_markdown(compare(["a cat"], outputs, FAST, [tree]))
    trees = tables(text)[-1]
    assert trees[2] == ["x", "100.0%", "2.0", "2.0", "1 of 1", "100.0", "100.0"]
    assert trees[3] == ["y", "100.0%", "-", "-", "0 of 1", "-", "-"]
    assert "- y (0.0): (nothing)" in text


def test_shapes_have_a_table_where_a_system_writes_trees_like_a_builders() -> None:
    built, own = parse("(ROOT (X (X a b) (X c d)))"), parse("(ROOT (X a (X b c) d))")
    texts = ["a b c d", "a b c d"]
    outputs = [Output("x", "x", texts, trees=[built, own]), Output("y", "y", texts, trees=[own, None])]
    text = comparison_markdown(compare(texts, outputs, FAST))
    shapes = tables(text)[-1]
    assert shapes[0] == ["system", "any builder", "binary-1", "binary-2", "phrase"]
    assert shapes[2:] == [["x", *["50.0%"] * 4], ["y", *["0.0%"] * 4]]
    assert "the plan was kept" in text
    chain = [Output(name, name, texts, trees=[parse("(ROOT (X a (X b (X c d))))")] * 2) for name in ("x", "y")]
    text = comparison_markdown(compare(texts, chain, FAST))
    assert tables(text)[-1][0] == ["system", "any builder", "right-branching"]
    assert "the plan was kept" not in text
    without = [Output("x", "x", texts, trees=[own, own]), Output("y", "y", texts)]
    assert "Shapes" not in comparison_markdown(compare(texts, without, FAST))


@pytest.mark.parametrize("draw", list(figures.FIGURES.values()), ids=list(figures.FIGURES))
def test_a_picture_is_the_same_each_time_and_names_its_systems(draw: object) -> None:
    assert callable(draw)
    comparison = compared(AWKWARD)
    svg = draw(comparison)
    assert svg == draw(compared(AWKWARD))
    root = ElementTree.fromstring(svg)
    texts = ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert AWKWARD in texts
    assert "width" not in root.attrib
    assert root.attrib["viewBox"]
    assert "currentColor" in svg
    assert "#010203" not in svg
    assert not re.search(r"20\d\d-\d\d-\d\d", svg)


def test_the_gain_is_shown_with_the_number_of_sentences_of_each_point() -> None:
    comparison = compared()
    root = ElementTree.fromstring(figures.gain_by_length(comparison))
    texts = ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]
    shown = [bucket for bucket in comparison.buckets if bucket.sentences]
    assert [text for text in texts if text.startswith("n = ")] == [f"n = {len(bucket.sentences)}" for bucket in shown]
    assert [text for text in texts if text in [bucket.label for bucket in shown]] == [bucket.label for bucket in shown]


def test_the_users_own_settings_do_not_change_a_picture() -> None:
    import matplotlib

    comparison = compared()
    expected = figures.gain_by_length(comparison)
    with matplotlib.rc_context({"xtick.labelsize": 30.0}):
        assert figures.gain_by_length(comparison) == expected
        assert matplotlib.rcParams["xtick.labelsize"] == 30.0


def test_pictures_on_one_page_share_no_id() -> None:
    comparison = compared()
    pictures = [draw(comparison) for draw in figures.FIGURES.values()]
    ids = [found for svg in pictures for found in set(re.findall(r'\bid="([^"]*)"', svg))]
    assert len(ids) == len(set(ids)) > 0
    for svg in pictures:
        used = set(re.findall(r'(?:url\(#|href="#)([^")]*)', svg))
        assert used <= set(re.findall(r'\bid="([^"]*)"', svg))
        assert used


class _Tags(HTMLParser):
    """Checks that every element is closed, and keeps what the tests ask for."""

    VOID = ("meta", "br", "link", "img", "path", "use")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        found = dict(attrs)
        self.ids += [found["id"]] if found.get("id") else []
        self.links += [value for name, value in attrs if value and name in ("href", "src") and tag != "use"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_page_is_one_file_whose_links_stay_inside_and_whose_text_is_escaped() -> None:
    html = page("Systems <1>", comparison_sections(compared(AWKWARD)))
    tags = _Tags()
    tags.feed(html)
    assert tags.open == []
    assert html.startswith("<!DOCTYPE html>")
    assert [link.removeprefix("#") for link in tags.links] == [
        "scores",
        "ter",
        "gain",
        "lengths",
        "length-agreement",
        "words",
        "pairs",
        "differences",
        "signatures",
    ]
    assert {link.removeprefix("#") for link in tags.links} <= set(tags.ids)
    assert len(tags.ids) == len(set(tags.ids))
    assert not {"script", "link", "img", "b"} & set(tags.seen)
    assert re.findall(r'(?:src|@import|href)\s*=?\s*"?https?:', html) == []
    assert "Systems <1>" in tags.text
    assert AWKWARD in tags.text
    assert tags.seen.count("svg") == 4
    assert "prefers-color-scheme: dark" in html


def test_words_that_the_reference_does_not_have_are_marked() -> None:
    outputs = [Output("a", "a", ["the old cat sings <3"]), Output("b", "b", [""])]
    html = page("x", comparison_sections(compare(["the cat sings"], outputs, FAST)))
    assert "<dd>the <mark>old</mark> cat sings <mark>&lt;3</mark></dd>" in html
    assert "<dd><em>nothing</em></dd>" in html


def test_one_system_has_no_gains_to_draw() -> None:
    comparison = compare(["a cat"], [Output("alone", "x", ["a dog"])], FAST)
    html = page("x", comparison_sections(comparison))
    assert html.count("<svg") == 2
    assert [row[0] for row in tables(comparison_markdown(comparison))[0][2:]] == ["alone"]


def test_sections_and_tables_are_escaped() -> None:
    html = page("t", [Section("A & B", "<p>raw</p>", "a")])
    assert '<section id="a">\n<h2>A &amp; B</h2>\n<p>raw</p>' in html
    assert "<td>&lt;x&gt;</td>" in table_html(["h"], [["<x>"]])
    assert "<td><strong>1</strong></td>" in table_html(["h"], [["1"]], frozenset({(0, 0)}))
    assert '<th scope="col">a&lt;</th>' in table_html(["a<"], [])
