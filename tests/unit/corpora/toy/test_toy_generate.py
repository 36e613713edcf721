"""The stream of sentences and the files of a corpus."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

import pytest

from trdec.corpora.toy.generate import (
    ENDINGS,
    LONGEST_SENTENCE,
    PATIENCE,
    SHORTEST_SENTENCE,
    ToySentence,
    conllu,
    distinct,
    draws,
    held_out,
    sentences,
    write_corpus,
    write_splits,
)
from trdec.errors import FileError, UsageError
from trdec.trees import brackets

SPLITS = ("train", "dev", "test")


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def lines(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    return text[:-1].split("\n")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("toy") / "new" / "corpus"
    write_corpus(directory, 800, seed=1)
    return directory


def test_a_seed_gives_one_stream() -> None:
    first, second = (list(islice(sentences(3), 300)) for _ in range(2))
    assert first == second
    assert first != list(islice(sentences(4), 300))


def test_the_stream_does_not_depend_on_the_order_of_sets() -> None:
    script = (
        "from itertools import islice; from trdec.corpora.toy.generate import sentences;"
        "print([(s.source, s.target, s.heads) for s in islice(sentences(3), 50)])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_no_sentence_comes_twice() -> None:
    sample = list(islice(sentences(2), 5000))
    assert len({sentence.source for sentence in sample}) == 5000
    assert len({sentence.target for sentence in sample}) == 5000


def test_the_language_is_far_larger_than_any_corpus() -> None:
    sample = list(islice(draws(8), 10_000))
    long = [sentence.target for sentence in sample if len(sentence.heads) > 8]
    assert len(long) > 5000
    # n draws from N equally likely sentences repeat about n * n / 2N times: N is beyond 10 ** 7.
    assert len(long) - len(set(long)) <= 1


def test_sentences_have_all_lengths_and_about_nine_words_on_average() -> None:
    lengths = Counter(len(sentence.heads) for sentence in islice(draws(9), 5000))
    assert set(lengths) == set(range(SHORTEST_SENTENCE, LONGEST_SENTENCE + 1))
    assert 8.5 <= sum(length * times for length, times in lengths.items()) / 5000 <= 10


def test_a_stream_that_brings_nothing_new_ends() -> None:
    few = list(islice(sentences(1), 7))
    endless = cycle(few)
    assert list(distinct(endless)) == few
    assert PATIENCE < 10**6


def test_a_corpus_too_large_for_its_language_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    few = list(islice(sentences(1), 120))
    with pytest.raises(UsageError, match="train needs 400 different sentences, but the grammar gave only 20"):
        write_splits(tmp_path, 400, distinct(cycle(few)))
    assert not contents(tmp_path)


def test_a_corpus_without_sentences_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="at least 1 sentence"):
        write_corpus(tmp_path, 0, seed=1)


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match=r"file: cannot write the corpus"):
        write_corpus(tmp_path / "file", 10, seed=1)


def test_a_failed_corpus_keeps_the_old_one(tmp_path: Path) -> None:
    write_corpus(tmp_path, 20, seed=1)
    before = contents(tmp_path)

    def failing() -> Iterator[ToySentence]:
        yield from islice(sentences(2), 110)
        raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError, match="interrupted"):
        write_splits(tmp_path, 20, failing())
    assert contents(tmp_path) == before


def test_the_files_of_a_corpus(corpus: Path) -> None:
    assert set(contents(corpus)) == {split + ending for split in SPLITS for ending in ENDINGS}


def test_the_same_seed_writes_the_same_bytes(corpus: Path, tmp_path: Path) -> None:
    write_corpus(tmp_path / "same", 800, seed=1)
    assert contents(tmp_path / "same") == contents(corpus)
    write_corpus(tmp_path / "other", 800, seed=2)
    other = contents(tmp_path / "other")
    assert all(other[name] != text for name, text in contents(corpus).items())


def test_dev_and_test_are_a_tenth_within_bounds(corpus: Path) -> None:
    assert [len(lines(corpus / f"{split}.en")) for split in SPLITS] == [800, 80, 80]
    assert [held_out(asked) for asked in (1, 509, 510, 9999, 10_500)] == [50, 50, 51, 999, 1000]


@pytest.mark.parametrize("ending", [".vel", ".en"])
def test_the_splits_share_no_sentence(corpus: Path, ending: str) -> None:
    together = [line for split in SPLITS for line in lines(corpus / f"{split}{ending}")]
    assert len(set(together)) == len(together) == 960


@pytest.mark.parametrize("split", SPLITS)
def test_the_files_of_a_split_are_aligned(corpus: Path, split: str) -> None:
    source, target, trees, tags = (
        lines(corpus / f"{split}{ending}") for ending in (".vel", ".en", ".en.con", ".en.ccg")
    )
    blocks = (corpus / f"{split}.en.conllu").read_text(encoding="utf-8")
    assert blocks.endswith("\n\n")
    sentence_blocks = blocks[:-2].split("\n\n")
    assert len(source) == len(target) == len(trees) == len(tags) == len(sentence_blocks)
    known = {sentence.target: sentence for sentence in islice(sentences(1), 960)}
    for row in zip(source, target, trees, tags, sentence_blocks, strict=True):
        sentence = known[row[1]]
        assert row[0] == sentence.source
        assert brackets.parse(row[2]) == sentence.tree
        assert row[3].split(" ") == list(sentence.supertags)
        assert columns_of(row[4]) == expected_columns(sentence)


def columns_of(block: str) -> list[list[str]]:
    return [line.split("\t") for line in block.split("\n") if not line.startswith("#")]


def expected_columns(sentence: ToySentence) -> list[list[str]]:
    return [
        [str(i), word, "_", upos, xpos, "_", str(head), relation, "_", "_"]
        for i, word, upos, xpos, head, relation in zip(
            range(1, LONGEST_SENTENCE + 1),
            sentence.target.split(),
            sentence.upos,
            sentence.xpos,
            sentence.heads,
            sentence.relations,
            strict=False,
        )
    ]


def test_conllu_names_the_sentence_and_ends_in_an_empty_line() -> None:
    sentence = next(sentences(1))
    first, second, *_ = text = conllu(sentence, "dev-1").split("\n")
    assert first == "# sent_id = dev-1"
    assert second == f"# text = {sentence.target}"
    assert text[-1] == ""
