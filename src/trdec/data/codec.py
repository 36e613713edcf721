"""Everything that turns text and trees into numbers and back, kept in one directory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trdec.configuration.sections import check_kind
from trdec.data.store import AGAIN, read_description, write_description
from trdec.errors import StoredDataError, SubwordError, TrdecError, UnknownActionError, UsageError
from trdec.systems import SYSTEMS, System, Treebank
from trdec.targets.actions import EmitWord
from trdec.targets.target import ActionTable, Target, replay
from trdec.text import UNKNOWN, Side, Subwords
from trdec.trees.transforms import TRANSFORMS, desegment, segment
from trdec.trees.tree import Nonterminal, words

if TYPE_CHECKING:
    from trdec.data.batch import Inventory

CODEC_FORMAT = "trdec codec"
CODEC_VERSION = 1

SOURCE_MODEL = "source.spm.model"
TARGET_MODEL = "target.spm.model"
CODEC_DESCRIPTION = "codec.json"

_WORD_KINDS = ("word", "eop")


class Decoded(NamedTuple):
    """What a row of actions writes."""

    tree: Nonterminal
    """The tree over whole words."""
    pieces: Nonterminal
    """The same tree over pieces, as the actions wrote it."""
    text: str
    """The words as a line of text."""


class Codec:
    """Source text as piece numbers, target trees as steps, actions as trees and text again."""

    def __init__(
        self,
        system_name: str,
        transforms: Sequence[str],
        source_side: Side,
        target_side: Side,
        target: Target[Any],
        trees: Sequence[str] = (),
    ) -> None:
        self.system_name = system_name
        self.system = system_called(system_name)
        self.transforms = tuple(transforms)
        self.trees = tuple(trees)
        self.source_side = source_side
        self.target_side = target_side
        self.target = target
        self.table = ActionTable(target)
        pieces = source_side.subwords.pieces
        self._source_numbers = {piece: number for number, piece in enumerate(pieces)}
        self.source_end = len(pieces)
        self.source_size = len(pieces) + 1
        self.unknown_action = self.table.number(EmitWord(UNKNOWN))

    @property
    def treebanks(self) -> tuple[Treebank, ...]:
        """The system's treebanks or those in their place, with the further transforms asked for."""
        return treebanks_of(self.system, self.transforms, self.trees)

    def encode_source(self, text: str) -> NDArray[np.int32]:
        """The numbers of the text's pieces and of the end; 0 is a piece the model does not know."""
        return self.encode_source_words(self.source_side.split(text))

    def encode_source_words(self, source_words: Sequence[str]) -> NDArray[np.int32]:
        """The numbers of the words' pieces and of the end."""
        number = self._source_numbers.get
        pieces = self.source_side.pieces(source_words)
        return np.array([*(number(piece, 0) for piece in pieces), self.source_end], dtype=np.int32)  # S

    def encode_target(self, tree: Nonterminal) -> NDArray[np.int32]:
        """The steps that write the tree (as a treebank's transforms left it): action, symbol and parent a row."""
        pieces = segment(tree, self.target_side.subwords.split)
        steps = replay(self.target, self.target.linearise(pieces))
        return self.table.numbers(steps)  # T 3

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
        tree = desegment(pieces)
        return Decoded(tree, pieces, self.target_side.join(words(tree)))

    def inventory(self) -> Inventory:
        """What a network needs to know of the target."""
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
        )

    def save(self, directory: Path) -> None:
        """Write everything into a directory that `load` reads."""
        directory.mkdir(parents=True, exist_ok=True)
        self.source_side.subwords.save(directory / SOURCE_MODEL)
        self.target_side.subwords.save(directory / TARGET_MODEL)
        self.target.save(directory / self.target.file_name)
        description: dict[str, Any] = {
            "system": self.system_name,
            "transforms": self.transforms,
            "source_language": self.source_side.language,
            "target_language": self.target_side.language,
        }
        if self.trees:
            description["trees"] = self.trees
        # Last, so that a directory with a description is whole.
        write_description(directory / CODEC_DESCRIPTION, CODEC_FORMAT, CODEC_VERSION, description)

    @classmethod
    def load(cls, directory: Path | str) -> Codec:
        """The codec in a directory."""
        directory = Path(directory)
        found = read_description(directory / CODEC_DESCRIPTION, CODEC_FORMAT, CODEC_VERSION)
        try:
            system_name, transforms = str(found["system"]), [str(name) for name in found["transforms"]]
            languages = found["source_language"], found["target_language"]
            target_class = system_called(system_name).target
            trees = [str(name) for name in found.get("trees", ())]
            treebanks_of(system_called(system_name), transforms, trees)
            source = Side(Subwords.load(directory / SOURCE_MODEL), languages[0])
            target_side = Side(Subwords.load(directory / TARGET_MODEL), languages[1])
            target = target_class.load(directory / target_class.file_name, target_side.subwords.pieces)
        except (KeyError, TypeError) as error:
            raise StoredDataError(f"{directory / CODEC_DESCRIPTION}: lacks or mistakes {error}. {AGAIN}") from error
        except SubwordError as error:
            raise StoredDataError(f"{error} {AGAIN}") from error
        except TrdecError as error:
            raise StoredDataError(f"{directory}: {error} {AGAIN}") from error
        return cls(system_name, transforms, source, target_side, target, trees)

    def __reduce__(self) -> tuple[Callable[..., Codec], tuple[Any, ...]]:
        content = (self.system_name, self.transforms, self.source_side, self.target_side, self.target, self.trees)
        return type(self), content


def system_called(name: str) -> System:
    """The system of this name."""
    if name not in SYSTEMS:
        raise UsageError(f"expected a system, one of {', '.join(SYSTEMS)}; found {name!r}.")
    return SYSTEMS[name]


def treebanks_of(system: System, transforms: Sequence[str], trees: Sequence[str] = ()) -> tuple[Treebank, ...]:
    """The system's treebanks, or those of the given kinds in their place, with further transforms after their own."""
    unknown = [name for name in transforms if name not in TRANSFORMS]
    if unknown:
        raise UsageError(f"expected transforms, any of {', '.join(TRANSFORMS)}; found {unknown[0]!r}.")
    try:
        for kind in trees:
            check_kind(kind)
    except ValueError as error:
        raise UsageError(str(error)) from error
    further = tuple(TRANSFORMS[name] for name in transforms)
    treebanks = tuple(Treebank(kind) for kind in trees) or system.treebanks
    return tuple(Treebank(treebank.kind, treebank.transforms + further) for treebank in treebanks)
