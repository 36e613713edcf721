"""stanza as a parser: its own documents and trees, and its own pipeline over models that learnt nothing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from stanza.models.common.doc import Document
from stanza.models.constituency import tree_reader
from stanza.models.constituency.parse_tree import Tree as StanzaTree

from support import untrained_stanza
from support.strategies import trees
from trdec.corpora.parse import annotate
from trdec.corpora.parsers import (
    ParserChoice,
    StanzaConstituencyParser,
    StanzaDependencyParser,
    _stanza_given_words,
    _stanza_own_words,
    joined_tree,
    load_parser,
)
from trdec.corpora.toy.generate import sentences
from trdec.errors import AnnotationError, MisalignedTreeError
from trdec.files import split_words
from trdec.systems import CONSTITUENCY, DEPENDENCY
from trdec.trees import brackets, treebank
from trdec.trees.transforms import rooted
from trdec.trees.tree import Nonterminal, Terminal, Tree, words


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("models")
    untrained_stanza.make(folder)
    return str(folder)


def _word(number: int, text: str, head: int, relation: str) -> dict[str, Any]:
    return {"id": number, "text": text, "upos": "X", "head": head, "deprel": relation}


SLEPT = [_word(1, "It", 2, "nsubj"), _word(2, "slept", 0, "root"), _word(3, ".", 2, "punct")]
DONT = [
    {"id": (1, 2), "text": "Don't"},
    _word(1, "Do", 3, "aux"),
    _word(2, "n't", 3, "advmod"),
    _word(3, "go", 0, "root"),
]


class Canned:
    """In place of a pipeline: gives stanza's documents that were made beforehand."""

    def __init__(self, documents: Any) -> None:
        self.documents = documents
        self.inputs: list[Any] = []

    def __call__(self, inputs: Any) -> Any:
        self.inputs.append(inputs)
        return self.documents


def test_a_line_that_stanza_split_is_one_entry_with_all_its_roots() -> None:
    pipeline = Canned([Document([SLEPT, DONT]), Document([SLEPT])])
    both, one = StanzaDependencyParser(pipeline, "stanza", _stanza_own_words).parse(
        ["It slept.  Don't go", "It slept."]
    )
    assert [document.text for document in pipeline.inputs[0]] == ["It slept. Don't go", "It slept."]
    rows = [line.split("\t") for line in both.splitlines()[1:-1]]
    assert [(row[0], row[1], row[6], row[7]) for row in rows] == [
        ("1", "It", "2", "nsubj"),
        ("2", "slept", "0", "root"),
        ("3", ".", "2", "punct"),
        ("4", "Do", "6", "aux"),
        ("5", "n't", "6", "advmod"),
        ("6", "go", "0", "root"),
    ]
    assert one.count("\n") == 5


def test_phrases_of_a_split_line_stand_under_one_root() -> None:
    document = Document([SLEPT, SLEPT])
    first, second = tree_reader.read_trees("(ROOT (S (NP It) (VP slept) (. .))) (S (NP It) (VP slept) (. .))")
    document.sentences[0].constituency, document.sentences[1].constituency = first, second
    (entry,) = StanzaConstituencyParser(Canned([document]), "stanza", _stanza_own_words).parse(["It slept. It slept."])
    assert entry == "(ROOT (S (NP It) (VP slept) (. .)) (S (NP It) (VP slept) (. .)))\n"


def test_a_line_of_which_stanza_makes_nothing_has_no_tree() -> None:
    for kind in (StanzaDependencyParser, StanzaConstituencyParser):
        assert kind(Canned([Document([])]), "stanza", _stanza_own_words).parse(["\u200b"]) == [kind.without_tree]


class _Sentence:
    def __init__(self, texts: Sequence[str], constituency: StanzaTree) -> None:
        self.words = [type("Word", (), {"text": text}) for text in texts]
        self.constituency = constituency


def _as_stanza(tree: Tree) -> StanzaTree:
    if isinstance(tree, Terminal):
        return StanzaTree(tree.word)
    return StanzaTree(tree.label, [_as_stanza(child) for child in tree.children])


@given(tree=trees())
def test_a_tree_of_stanza_is_the_same_tree_here(tree: Nonterminal) -> None:
    tree = rooted(tree)
    assert joined_tree([_Sentence(words(tree), _as_stanza(tree))]) == tree


def test_words_are_spelt_as_the_sentence_has_them() -> None:
    tree = tree_reader.read_trees("(ROOT (NP (X -LRB-) (X UNK)))")[0]
    assert brackets.write(joined_tree([_Sentence(["(", "Hà Nội"], tree)])) == "(ROOT (NP (X -LRB-) (X Hà\u00a0Nội)))"
    with pytest.raises(MisalignedTreeError, match="the tree has 2 words, its sentence has 1"):
        joined_tree([_Sentence(["("], tree)])


def test_given_words_are_passed_on_as_they_are() -> None:
    pipeline = Canned(Document([SLEPT, SLEPT]))
    assert len(_stanza_given_words(pipeline, ["It\u00a0x  slept .", "a b c"])) == 2
    assert pipeline.inputs == [[["It\u00a0x", "slept", "."], ["a", "b", "c"]]]


@pytest.mark.parametrize("kind", [DEPENDENCY, CONSTITUENCY])
def test_the_real_pipeline_gives_every_line_a_tree_over_its_words(kind: str, models: str, tmp_path: Path) -> None:
    choice = ParserChoice("stanza", kind, model=models)
    parser = load_parser(choice)
    assert parser.identity.startswith("stanza 1.")
    assert "tokenize toy, pos toy" in parser.identity
    lines = [sentence.target for sentence in islice(sentences(2), 10)] + ["( \u00a0 x\u00a0y -LRB-", "", "one"]
    source, output = tmp_path / "source", tmp_path / "output"
    source.write_text("".join(f"{line}\n" for line in lines))
    annotate(parser, choice, source, output, None, 4, lambda *_: None)
    entries = list(treebank.read(parser.format_name, output, source))
    assert [entry.error for entry in entries] == [None] * 13
    assert [words(entry.tree) if entry.tree else [] for entry in entries] == [split_words(line) for line in lines]


def test_missing_models_are_said_with_the_command_that_gets_them(tmp_path: Path, models: str) -> None:
    with pytest.raises(AnnotationError) as raised:
        load_parser(ParserChoice("stanza", CONSTITUENCY, "de", str(tmp_path)))
    assert "stanza cannot load a constituency parser for the language 'de': Resources file not found" in str(
        raised.value
    )
    assert str(raised.value).endswith(
        'Download it with: python -c "import stanza; '
        f"stanza.download('de', processors='tokenize,pos,constituency', model_dir='{tmp_path}')\""
    )
    with pytest.raises(AnnotationError, match=r"dependency parser for the language 'xx': .*stanza.download\('xx'"):
        load_parser(ParserChoice("stanza", DEPENDENCY, "xx", models))
    with pytest.raises(AnnotationError, match=r"package='none-such'\)"):
        load_parser(ParserChoice("stanza", DEPENDENCY, "en", "none-such"))


def test_raw_text_keeps_its_spaces_and_the_spelling_of_multiword_tokens() -> None:
    sentence = [
        {"id": (1, 2), "text": "Zum"},
        _word(1, "Zu", 3, "case"),
        _word(2, "dem", 3, "det"),
        {**_word(3, "Haus", 0, "root"), "misc": "SpaceAfter=No"},
        _word(4, ".", 3, "punct"),
    ]
    parser = StanzaDependencyParser(Canned([Document([sentence])]), "stanza", _stanza_own_words)
    (entry,) = parser.parse(["Zum Haus."])
    rows = [line.split("\t") for line in entry.splitlines()[1:-1]]
    assert [(row[0], row[1], row[9]) for row in rows] == [
        ("1-2", "Zum", "_"),
        ("1", "Zu", "_"),
        ("2", "dem", "_"),
        ("3", "Haus", "SpaceAfter=No"),
        ("4", ".", "_"),
    ]
