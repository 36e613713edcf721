"""Sentences in both languages with their annotation, and corpora of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from trdec.corpora.toy import english, velu
from trdec.corpora.toy.english import HEAD_CHILD, Phrase, Word
from trdec.corpora.toy.grammar import meanings
from trdec.corpora.toy.meaning import Meaning
from trdec.errors import FileError, UsageError
from trdec.files import checksum_of_text
from trdec.trees import brackets
from trdec.trees.tree import Nonterminal, Terminal

SHORTEST_SENTENCE, LONGEST_SENTENCE = 3, 16
"""The fewest and the most words of an English sentence, including the full stop."""

PATIENCE = 10_000
"""The stream ends after this many draws in a row that bring nothing new."""

ENDINGS = (".vel", ".en", ".en.con", ".en.conllu", ".en.ccg")


@dataclass(frozen=True, slots=True)
class ToySentence:
    """A sentence of Velu, its English translation and the annotation of the English."""

    source: str
    target: str
    tree: Nonterminal
    heads: tuple[int, ...]
    relations: tuple[str, ...]
    upos: tuple[str, ...]
    xpos: tuple[str, ...]
    supertags: tuple[str, ...]


def sentences(seed: int) -> Iterator[ToySentence]:
    """Sentences, no two with the same source or target; a seed gives the same ones everywhere."""
    return distinct(draws(seed))


def draws(seed: int) -> Iterator[ToySentence]:
    """Sentences as the grammar draws them, short ones more than once."""
    for meaning in meanings(seed):
        sentence = realise(meaning)
        if SHORTEST_SENTENCE <= len(sentence.heads) <= LONGEST_SENTENCE:
            yield sentence


def realise(meaning: Meaning) -> ToySentence:
    """The meaning in both languages, with its annotation."""
    phrase = english.write_english(meaning)
    words = words_of(phrase)
    found = dependencies(phrase)
    return ToySentence(
        source=" ".join(velu.write_velu(meaning)),
        target=" ".join(word.form for word in words),
        tree=constituency(phrase),
        heads=found.heads,
        relations=found.relations,
        upos=tuple(word.upos for word in words),
        xpos=tuple(word.xpos for word in words),
        supertags=tuple(word.supertag for word in words),
    )


def distinct(stream: Iterable[ToySentence]) -> Iterator[ToySentence]:
    """The stream without repetitions; it ends after PATIENCE repetitions in a row."""
    sources: set[int] = set()
    targets: set[int] = set()
    repetitions = 0
    for sentence in stream:
        source, target = _digest(sentence.source), _digest(sentence.target)
        if source in sources or target in targets:
            repetitions += 1
            if repetitions == PATIENCE:
                return
            continue
        repetitions = 0
        sources.add(source)
        targets.add(target)
        yield sentence


def _digest(text: str) -> int:
    return int(checksum_of_text(text)[:16], 16)


def write_corpus(directory: Path, sentences: int, seed: int) -> None:
    """Write train, dev and test, which share no sentence, each as five files."""
    write_splits(directory, sentences, distinct(draws(seed)))


def held_out(sentences: int) -> int:
    """The size of dev and of test for this many training sentences: a tenth, from 50 to 1,000."""
    return min(max(sentences // 10, 50), 1000)


def write_splits(directory: Path, sentences: int, stream: Iterator[ToySentence]) -> None:
    """Write `sentences` of the stream as train, and others as dev and test."""
    if sentences < 1:
        raise UsageError(f"expected at least 1 sentence to train on, found {sentences}.")
    splits = (("dev", held_out(sentences)), ("test", held_out(sentences)), ("train", sentences))
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".unfinished-", dir=directory) as unfinished:
            for split, size in splits:
                _write_split(Path(unfinished), split, size, stream)
            for split, _ in splits:
                for ending in ENDINGS:
                    (Path(unfinished) / f"{split}{ending}").replace(directory / f"{split}{ending}")
    except OSError as error:
        raise FileError(f"{directory}: cannot write the corpus: {error}.") from error


def _write_split(directory: Path, split: str, size: int, stream: Iterator[ToySentence]) -> None:
    written = 0
    with ExitStack() as stack:
        files = [
            stack.enter_context((directory / f"{split}{ending}").open("w", encoding="utf-8", newline="\n"))
            for ending in ENDINGS
        ]
        for sentence in islice(stream, size):
            written += 1
            for file, line in zip(files, _lines(sentence, f"{split}-{written}"), strict=True):
                file.write(line + "\n")
    if written < size:
        raise UsageError(
            f"{split} needs {size} different sentences, but the grammar gave only {written} more. "
            "Ask for a smaller corpus."
        )


def _lines(sentence: ToySentence, name: str) -> tuple[str, ...]:
    """The sentence's line in each file, in the order of ENDINGS."""
    return (
        sentence.source,
        sentence.target,
        brackets.write(sentence.tree),
        conllu(sentence, name),
        " ".join(sentence.supertags),
    )


def conllu(sentence: ToySentence, name: str) -> str:
    """The sentence in CoNLL-U: two comments, ten columns per word, an empty line."""
    rows = [f"# sent_id = {name}", f"# text = {sentence.target}"]
    columns = zip(
        sentence.target.split(),
        sentence.upos,
        sentence.xpos,
        sentence.heads,
        sentence.relations,
        strict=True,
    )
    for position, (word, upos, xpos, head, relation) in enumerate(columns, start=1):
        rows.append(f"{position}\t{word}\t_\t{upos}\t{xpos}\t_\t{head}\t{relation}\t_\t_")
    return "\n".join(rows) + "\n"


@dataclass(frozen=True, slots=True)
class Dependencies:
    """For each word the position of its head (from 1, 0 for the root) and its relation to it."""

    heads: tuple[int, ...]
    relations: tuple[str, ...]


def words_of(phrase: Phrase) -> list[Word]:
    """The words of the phrase, left to right."""
    found: list[Word] = []
    stack: list[Phrase | Word] = [phrase]
    while stack:
        part = stack.pop()
        if isinstance(part, Word):
            found.append(part)
        else:
            stack.extend(child for _, child in reversed(part.children))
    return found


def constituency(phrase: Phrase) -> Nonterminal:
    """The Penn Treebank tree, with a part-of-speech tag over each word."""
    return Nonterminal(
        phrase.label,
        tuple(
            Nonterminal(child.xpos, (Terminal(child.form),)) if isinstance(child, Word) else constituency(child)
            for _, child in phrase.children
        ),
    )


def dependencies(phrase: Phrase) -> Dependencies:
    """The dependency tree: the head of a phrase governs the heads of its other children."""
    heads: list[int] = []
    relations: list[str] = []

    def visit(part: Phrase | Word) -> int:
        """Add the words of a part; return the position of its head, whose own head is still to come."""
        if isinstance(part, Word):
            heads.append(0)
            relations.append("root")
            return len(heads)
        positions = [(relation, visit(child)) for relation, child in part.children]
        top = next(position for relation, position in positions if relation == HEAD_CHILD)
        governor = top
        # From the right, because `and` and the comma before it hang on the conjunct after them.
        for relation, position in reversed(positions):
            if relation == HEAD_CHILD:
                governor = top
            else:
                heads[position - 1] = top if relation == "conj" else governor
                relations[position - 1] = relation
                governor = position if relation == "conj" else governor
        return top

    visit(phrase)
    return Dependencies(tuple(heads), tuple(relations))
