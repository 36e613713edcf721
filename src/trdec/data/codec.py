"""Everything that turns text and trees into numbers and back, kept in one directory."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from trdec.data.side_trees import source_tree
from trdec.data.source_form import SOURCE_END, SourceForm, source_form
from trdec.data.store import PREPARE_AGAIN, read_description, write_description
from trdec.errors import Place, StoredDataError, SubwordError, TrdecError, UnknownActionError, UsageError
from trdec.files import Line, checksum_of_text, read_lines, writing
from trdec.systems import System, system_of_version_1
from trdec.targets.actions import EOS, EmitMark, EmitWord
from trdec.targets.target import ActionTable, Target, replay
from trdec.text import UNKNOWN, Side, Subwords
from trdec.tokenisers import TOKENISER_CLASSES, Tokeniser, tokeniser_before
from trdec.trees.transforms import desegment, segment
from trdec.trees.tree import Entry, Nonterminal, words

if TYPE_CHECKING:
    from trdec.data.batch import Inventory

CODEC_FORMAT = "trdec codec"
CODEC_VERSION = 3

SOURCE_MODEL = "source.spm.model"
TARGET_MODEL = "target.spm.model"
SOURCE_MARKS = "source_marks.txt"
CODEC_DESCRIPTION = "codec.json"

_WORD_KINDS = ("word", "eop")


class Decoded(NamedTuple):
    """What a sequence of actions writes."""

    tree: Nonterminal
    """The tree over whole words."""
    pieces: Nonterminal
    """The same tree over pieces, as the actions write it."""
    text: str
    """The words as a line of text."""


class SourceNumbers:
    """Numbers what stands at the places of a source: its pieces, its end, and the marks that tell of its tree."""

    def __init__(self, side: Side, form: SourceForm | None) -> None:
        self._side, self._form = side, form
        pieces = side.subwords.pieces
        self._numbers = {piece: number for number, piece in enumerate(pieces)}
        self.end = len(pieces)

    def of(
        self, source_words: Sequence[str], tree: Nonterminal | None, number_of_mark: Callable[[str], int]
    ) -> NDArray[np.int32]:
        """The numbers of the words' pieces and of the end, S, where 0 stands for unknown pieces.

        If sources have trees, S 3: the number of each place, whether it is text (a piece or the end), and its parent.
        """
        number = self._numbers.get
        if self._form is None:
            pieces = self._side.pieces(source_words)
            return np.array([*(number(piece, 0) for piece in pieces), self.end], dtype=np.int32)  # S
        if tree is None:
            return np.array([(self.end, 1, 0)], dtype=np.int32)  # 1 3
        rows = []
        for action, parent in self._form.write(segment(tree, self._side.subwords.split)):
            if isinstance(action, EmitMark):
                rows.append((number_of_mark(action.mark), 0, parent))
            else:
                rows.append((number(action.word, 0) if isinstance(action, EmitWord) else self.end, 1, parent))
        return np.array(rows, dtype=np.int32)  # S 3


class Codec:
    """Turns source text into piece numbers, target trees into steps, and actions back into trees and text."""

    def __init__(
        self,
        system: System,
        source_side: Side,
        target_side: Side,
        target: Target[Any],
        source_marks: Sequence[str] = (),
    ) -> None:
        """A codec; `source_marks` are what tells of the source's trees: labels, or brackets."""
        self.system = system
        self.source_side = source_side
        self.target_side = target_side
        self.target = target
        self.source_marks = tuple(source_marks)
        self.source_form = None if system.source_trees is None else source_form(system.reads_trees)
        self.table = ActionTable(target)
        self._source = SourceNumbers(source_side, self.source_form)
        self.source_end = self._source.end
        self._mark_numbers = {mark: number for number, mark in enumerate(self.source_marks, self.source_end + 1)}
        self.source_size = self.source_end + 1 + len(self.source_marks)
        self.unknown_action = self.table.number(EmitWord(UNKNOWN))

    def encode_source(self, text: str) -> NDArray[np.int32]:
        """The text as an encoder reads it, with the tree that is built from its words if sources have trees."""
        source_words = self.source_side.split(text)
        return self.encode_source_words(source_words, self.built_tree(text, source_words))

    def built_tree(self, text: str, source_words: Sequence[str]) -> Nonterminal | None:
        """The tree that is built from the words of a source; None if sources have no trees, or there are no words."""
        if self.system.source_trees is None or not source_words:
            return None
        if self.system.source_annotation is not None:
            raise UsageError(
                f"this model reads {self.system.source_trees} trees of the source, which cannot be built from the "
                "words. Give their parses as `source_trees`."
            )
        line = Line(Place("the source", 1), text)
        found = source_tree(self.system, self.source_side, line, source_words, ())
        assert isinstance(found, Entry)  # what is built from words fits them
        return found.tree

    def encode_source_words(self, source_words: Sequence[str], tree: Nonterminal | None = None) -> NDArray[np.int32]:
        """The numbers of the words' pieces and of the end, S, where 0 stands for unknown pieces.

        With a tree over the words, S 3: the number of each place (0 also stands for unknown labels), whether it is text
        (a piece or the end), and its parent.
        """
        return self._source.of(source_words, tree, self.source_mark_number)

    def source_names(self, source_words: Sequence[str], tree: Nonterminal | None) -> list[str]:
        """What drawings call each place of a source."""
        if self.source_form is None or tree is None:
            return [*self.source_side.pieces(source_words), SOURCE_END]
        return self.source_form.names(segment(tree, self.source_side.subwords.split))

    def source_mark_number(self, mark: str) -> int:
        """The number of a mark of a source's tree; 0 for marks that training never saw."""
        return self._mark_numbers.get(mark, 0)

    @property
    def source_tokens(self) -> tuple[Hashable, ...]:
        """What each number of a source stands for."""
        return (*self.source_side.subwords.pieces, EOS, *map(EmitMark, self.source_marks))

    def encode_target(self, tree: Nonterminal) -> NDArray[np.int32]:
        """The actions that write the tree, after the system's transforms; UnknownRuleError if it needs another rule."""
        actions = self.target.linearise(segment(tree, self.target_side.subwords.split))
        replay(self.target, actions)  # refuses what is not legal, and says why
        return self.table.numbers(actions)  # T

    def decode(self, action_numbers: Iterable[int]) -> Decoded:
        """The tree and the text that the actions write."""
        numbers = [int(number) for number in action_numbers]
        for number in numbers:
            if not 0 <= number < len(self.table.actions):
                raise UnknownActionError(
                    f"expected the number of an action, from 0 to {len(self.table.actions) - 1}, found {number}. "
                    "Decode with the codec that the numbers were made with."
                )
        pieces = self.target.read([self.table.actions[number] for number in numbers])
        tokeniser = self.target_side.tokeniser
        tree = desegment(pieces, tokeniser.words_of)
        text = tokeniser.join(words(tree))
        return Decoded(self.plain(tree), pieces, text)

    def plain(self, tree: Nonterminal) -> Nonterminal:
        """The tree as people see it: its words without marks of spaces."""
        tokeniser = self.target_side.tokeniser
        return segment(tree, lambda word: (tokeniser.bare(word),)) if tokeniser.marks_spaces else tree

    def inventory(self) -> Inventory:
        """What a network needs to know about the source and the target."""
        import torch

        from trdec.data.batch import Inventory

        legal = self.table.legal  # Y A
        word_actions = np.array([kind in _WORD_KINDS for kind in self.table.kinds])  # A
        word_symbols = ~(legal & ~word_actions).any(axis=1)  # Y
        return Inventory(
            source_size=self.source_size,
            num_actions=len(self.table.actions),
            num_symbols=len(self.table.symbols),
            legal=torch.from_numpy(legal.copy()),
            word_symbols=torch.from_numpy(word_symbols),
            word_actions=torch.from_numpy(word_actions),
            pieces=torch.tensor([kind == "word" for kind in self.table.kinds]),
        )

    def save(self, directory: Path) -> None:
        """Write everything into a directory that `load` reads."""
        directory.mkdir(parents=True, exist_ok=True)
        self.source_side.subwords.save(directory / SOURCE_MODEL)
        self.target_side.subwords.save(directory / TARGET_MODEL)
        self.target.save(directory / self.target.file_name)
        if self.source_form is not None:
            with writing(directory / SOURCE_MARKS) as stream:
                stream.writelines(f"{mark}\n" for mark in self.source_marks)
        description: dict[str, Any] = {
            "system": self.system.model_dump(mode="json"),
            "source_language": self.source_side.tokeniser.language,
            "target_language": self.target_side.tokeniser.language,
            "source_tokeniser": self.source_side.tokeniser.name,
            "target_tokeniser": self.target_side.tokeniser.name,
            "numbers": self._numbers(),
        }
        # Last, so that a directory with a description is complete.
        write_description(directory / CODEC_DESCRIPTION, CODEC_FORMAT, CODEC_VERSION, description)

    def _numbers(self) -> dict[str, Any]:
        """How many numbers the codec gives out, and a checksum of what has which."""
        table, pieces = self.table, self.source_side.subwords.pieces
        actions = [*zip(table.kinds, map(str, table.actions), strict=True)]
        marks = [] if self.source_form is None else [self.source_marks]
        return {
            "source_pieces": len(pieces),
            **({} if self.source_form is None else {"source_marks": len(self.source_marks)}),
            "actions": len(actions),
            "symbols": len(table.symbols),
            "sha256": checksum_of_text(json.dumps([pieces, actions, table.symbols, *marks])),
        }

    @classmethod
    def load(cls, directory: Path | str, allow: Collection[str] = ()) -> Codec:
        """The codec that `save` wrote to a directory; code from outside trdec that it names must be in `allow`."""
        directory = Path(directory)
        path = directory / CODEC_DESCRIPTION
        found = read_description(path, CODEC_FORMAT, 1, 2, CODEC_VERSION)
        try:
            system = _system_of(found)
            tokenisers = [_tokeniser_of(found, side) for side in ("source", "target")]
            numbers = found["numbers"] if found["version"] >= 3 else None
        except (KeyError, TypeError, ValidationError) as error:
            raise StoredDataError(f"{path}: something is missing or invalid: {error}. {PREPARE_AGAIN}") from error
        except TrdecError as error:
            raise StoredDataError(f"{path}: {error} {PREPARE_AGAIN}") from error
        system.check_allowed(allow, path)
        try:
            family = system.target_class
            source = Side(Subwords.load(directory / SOURCE_MODEL), tokenisers[0])
            target_side = Side(Subwords.load(directory / TARGET_MODEL), tokenisers[1])
            target = family.load(directory / family.file_name, target_side.subwords.pieces)
            marks = [] if system.source_trees is None else [line.text for line in read_lines(directory / SOURCE_MARKS)]
            codec = cls(system, source, target_side, target, marks)
        except SubwordError as error:
            raise StoredDataError(f"{error} {PREPARE_AGAIN}") from error
        except TrdecError as error:
            raise StoredDataError(f"{directory}: {error} {PREPARE_AGAIN}") from error
        if numbers is not None and numbers != codec._numbers():
            raise StoredDataError(
                f"{path}: expected the subwords and the {family.file_name} that this codec was saved with, found "
                f"others: some numbers would mean something else. {PREPARE_AGAIN}"
            )
        return codec

    def __reduce__(self) -> tuple[Callable[..., Codec], tuple[Any, ...]]:
        return type(self), (self.system, self.source_side, self.target_side, self.target, self.source_marks)


def _tokeniser_of(description: dict[str, Any], side: str) -> Tokeniser:
    """The tokeniser of a side; a description without its name is older than the choice."""
    language = description[f"{side}_language"]
    if language is not None and not isinstance(language, str):
        raise TypeError(f"expected the code of a language or null, found {language!r}")
    return TOKENISER_CLASSES[description.get(f"{side}_tokeniser") or tokeniser_before(language)](language)


def _system_of(description: dict[str, Any]) -> System:
    """The system of a codec; version 1 held its name, further transforms and sometimes other trees."""
    if description["version"] == 1:
        return system_of_version_1(description["system"], description["transforms"], description.get("trees", ()))
    return System.model_validate(description["system"])
