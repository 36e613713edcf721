"""Pictures of translations: tree and attention together, whatever the words are."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import strategies
from trdec.translation.attention import AttentionRow, TranslationAttention
from trdec.translation.pictures import FAINTEST, HEAD, TAIL, heatmap, picture
from trdec.translation.translation import Translation
from trdec.trees.brackets import parse
from trdec.trees.builders import right_branching
from trdec.trees.drawing import lay_out, text_width, tree_svg
from trdec.trees.transforms import rooted
from trdec.trees.tree import Nonterminal, words

SVG = "{http://www.w3.org/2000/svg}"


def _translation(tree: Nonterminal, source: list[str], pieces: dict[int, list[str]] | None = None) -> Translation:
    """A translation of this tree; word n looks at source piece n, and a little at the next."""
    rows, numbers = [], []
    for place, word in enumerate(words(tree)):
        spelling = (pieces or {}).get(place, [word])
        numbers.append(tuple(range(len(rows), len(rows) + len(spelling))))
        weights = [0.0] * len(source)
        weights[place % len(source)] += 0.75
        weights[(place + 1) % len(source)] += 0.25
        rows += [
            AttentionRow(len(rows) + n, text, "word", "sequence", tuple(weights)) for n, text in enumerate(spelling)
        ]
    return Translation(
        " ".join(words(tree)), tree, attention=TranslationAttention(tuple(source), tuple(rows), tuple(numbers))
    )


def _texts(svg: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    return [element for element in svg.iter(f"{SVG}text") if element.attrib["class"] == kind]


def _spelt(element: ElementTree.Element) -> str:
    """The text of an element, the light marks in it too."""
    return "".join(element.itertext())


def _cells(svg: ElementTree.Element) -> list[ElementTree.Element]:
    return [element for element in svg.iter(f"{SVG}rect") if "fill-opacity" in element.attrib]


def test_the_attention_of_a_word_stands_below_it_beside_the_source() -> None:
    tree = parse("(ROOT (S (NP The cat) (VP eats (NP fish)) .))")
    svg = ElementTree.fromstring(picture(_translation(tree, ["▁a", "▁b", "▁c", "▁d", "▁e"], {2: ["▁eat", "s"]})))
    pieces = _texts(svg, "piece")
    assert [_spelt(piece) for piece in pieces] == ["▁eat", "s"]
    columns = {_spelt(text): float(text.attrib["x"]) for text in [*_texts(svg, "word"), *pieces]}
    rows = {_spelt(text): float(text.attrib["y"]) for text in _texts(svg, "source")}
    assert list(rows) == ["▁a", "▁b", "▁c", "▁d", "▁e"]
    seen = set()
    for cell in _cells(svg):
        left, width = float(cell.attrib["x"]), float(cell.attrib["width"])
        top, height = float(cell.attrib["y"]), float(cell.attrib["height"])
        (title,) = (element.text for element in cell)
        word = [name for name, x in columns.items() if left < x < left + width and f"{name} - " in str(title)]
        piece = [name for name, y in rows.items() if top < y < top + height]
        seen.add((*word, *piece, cell.attrib["fill-opacity"]))
    assert seen == {
        *(("The", "▁a", "0.75"), ("The", "▁b", "0.25"), ("cat", "▁b", "0.75"), ("cat", "▁c", "0.25")),
        *(("▁eat", "▁c", "0.75"), ("▁eat", "▁d", "0.25"), ("s", "▁c", "0.75"), ("s", "▁d", "0.25")),
        *(("fish", "▁d", "0.75"), ("fish", "▁e", "0.25"), (".", "▁e", "0.75"), (".", "▁a", "0.25")),
    }


def test_the_columns_of_a_word_s_pieces_share_its_width() -> None:
    tree = parse("(ROOT internationalisation)")
    svg = ElementTree.fromstring(picture(_translation(tree, ["▁a"], {0: ["▁international", "isation"]})))
    first, second = ((float(cell.attrib["x"]), float(cell.attrib["width"])) for cell in _cells(svg))
    (word,) = _texts(svg, "word")
    middle, half = float(word.attrib["x"]), text_width("internationalisation") / 2
    assert first[0] - 1 == pytest.approx(middle - half, abs=0.2)
    assert first[0] + first[1] + 1 == pytest.approx(second[0] - 1, abs=0.2)
    assert second[0] + second[1] + 1 == pytest.approx(middle + half, abs=0.2)


@given(strategies.trees(), st.lists(strategies.words, min_size=1, max_size=6))
def test_any_translation_gives_a_picture_that_holds_all_it_shows(tree: Nonterminal, source: list[str]) -> None:
    svg = ElementTree.fromstring(picture(_translation(tree, source)))
    assert [_spelt(text) for text in _texts(svg, "word")] == words(tree)
    assert [_spelt(text) for text in _texts(svg, "source")] == source
    wide, high = float(svg.attrib["width"]), float(svg.attrib["height"])
    for kind in ("word", "label"):
        for text in _texts(svg, kind):
            half = text_width(_spelt(text)) / 2
            assert half <= float(text.attrib["x"]) <= wide - half
            assert 0 < float(text.attrib["y"]) < high
    for cell in _cells(svg):
        assert 0 < float(cell.attrib["x"]) < float(cell.attrib["x"]) + float(cell.attrib["width"]) < wide
        assert 0 < float(cell.attrib["y"]) < float(cell.attrib["y"]) + float(cell.attrib["height"]) < high


@given(strategies.trees())
def test_names_of_a_level_do_not_touch(tree: Nonterminal) -> None:
    levels: dict[float, list[tuple[float, float]]] = {}
    layout = lay_out(tree)
    for node in layout.nodes:
        half = text_width(node.name) / 2
        levels.setdefault(round(node.y, 3), []).append((node.x - half, node.x + half))
        if node.parent is not None:
            assert node.y >= node.parent[1] + layout.row - 1e-6
    assert len({node.y for node in layout.words}) == 1
    for level in levels.values():
        assert all(left[1] < right[0] for left, right in pairwise(sorted(level)))


def test_wide_characters_have_twice_the_room() -> None:
    assert text_width("猫魚") == text_width("fish") == 2 * text_width("fi")


def test_long_and_deep_translations_give_sane_pictures() -> None:
    long = _translation(rooted(right_branching([f"word{n}" for n in range(150)])), [f"▁piece{n}" for n in range(120)])
    svg = ElementTree.fromstring(picture(long))
    assert float(svg.attrib["height"]) < 6000
    assert float(svg.attrib["width"]) < 15000
    assert len(_cells(svg)) == 300  # two for each word: what is not looked at is not drawn
    deep = tree_svg(rooted(right_branching([str(n) for n in range(3000)])))
    assert len(_texts(ElementTree.fromstring(deep), "word")) == 3000


def test_faint_weights_leave_no_trace() -> None:
    row = AttentionRow(0, "▁a", "word", "sequence", (1 - FAINTEST / 2, FAINTEST / 2))
    translation = Translation("a", parse("(ROOT a)"), attention=TranslationAttention(("▁x", "<eos>"), (row,), ((0,),)))
    (cell,) = _cells(ElementTree.fromstring(picture(translation)))
    assert cell.attrib["fill-opacity"] == "1.00"


def test_a_decoder_without_attention_has_its_tree_drawn() -> None:
    tree = parse("(ROOT (S (NP The cat) sleeps))")
    attention = TranslationAttention(("▁a", "<eos>"), (), ((1,), (2,), (4,)))
    assert attention.of_words() == [[], [], []]
    assert picture(Translation("The cat sleeps", tree, attention=attention)) == tree_svg(tree)


def test_without_attention_the_picture_is_the_tree_and_without_a_tree_it_is_empty() -> None:
    tree = parse("(ROOT (S Go))")
    assert picture(Translation("Go", tree)) == tree_svg(tree)
    assert not list(ElementTree.fromstring(picture(Translation(""))).iter(f"{SVG}text"))


def test_characters_that_xml_cannot_have_are_replaced() -> None:
    svg = ElementTree.fromstring(
        tree_svg(Nonterminal("ROOT", (*parse("(ROOT <&)").children, *parse("(ROOT \uffff)").children)))
    )
    assert [text.text for text in _texts(svg, "word")] == ["<&", "\ufffd"]


@given(strategies.trees(), st.lists(strategies.words, min_size=1, max_size=6))
def test_a_heatmap_has_a_row_an_action_and_a_column_a_piece(tree: Nonterminal, source: list[str]) -> None:
    translation = _translation(tree, source)
    page = ElementTree.fromstring(f"<body>{heatmap(7, translation)}</body>")
    assert "".join(page[0].itertext()) == f"7 {translation.text}"
    header, *rows = page[1]
    assert [_spelt(cell) for cell in header[1:]] == source
    assert [_spelt(row[0]) for row in rows] == [row.text for row in translation.attention.rows]  # type: ignore[union-attr]
    assert {len(row) for row in rows} == {len(source) + 1}


def test_two_rnns_stand_side_by_side_and_where_one_stood_still_is_blank() -> None:
    rows = (
        AttentionRow(0, "ROOT -> pre", "rule", "rule", (0.6, 0.4)),
        AttentionRow(1, "▁a", "word", "rule", (0.2, 0.8)),
        AttentionRow(1, "▁a", "word", "word", (0.999, 0.001)),
    )
    translation = Translation("a", parse("(ROOT a)"), attention=TranslationAttention(("▁x", "<eos>"), rows, ((1,),)))
    page = ElementTree.fromstring(f"<body>{heatmap(1, translation)}</body>")
    captions, _, *actions = page[1]
    assert [cell.text for cell in captions if cell.attrib.get("class") == "rnn"] == ["rule RNN", "word RNN"]
    assert [[cell.attrib.get("title") for cell in action] for action in actions] == [
        [None, "0.60", "0.40", None, None, None],
        [None, "0.20", "0.80", None, "1.00", None],
    ]


def test_an_empty_line_has_a_heading_and_no_table() -> None:
    page = ElementTree.fromstring(f"<body>{heatmap(3, Translation(''))}</body>")
    assert [element.tag for element in page] == ["h2"]
    assert HEAD.startswith("<!DOCTYPE html>")
    assert "http" not in HEAD + TAIL
