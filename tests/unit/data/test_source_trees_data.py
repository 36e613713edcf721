"""Trees of the source, from files or from builders, become examples, or are counted as left out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from trdec.configuration.sections import (
    CorpusConfiguration,
    DataConfiguration,
    FilterConfiguration,
    ModelConfiguration,
    SubwordConfiguration,
)
from trdec.corpora.toy.generate import write_corpus
from trdec.data.codec import Codec
from trdec.data.prepare import Preparation, prepare
from trdec.data.source_form import BracketedSource, SourcePlace, TreeSource
from trdec.data.store import ARRAYS, Example, Examples, Prepared, PreparedWriter, with_source_trees
from trdec.errors import StoredDataError, UntrustedCodeError, UsageError
from trdec.model.translation_model import TranslationModel
from trdec.systems import SYSTEMS, System, system_name
from trdec.targets.actions import EmitWord
from trdec.training.metrics import dev_bleu
from trdec.trees.tree import Nonterminal, words

SMALL = SubwordConfiguration(size=90)


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toy")
    write_corpus(folder, 60, seed=1)
    return folder


def from_english(folder: Path, **changes: Path) -> DataConfiguration:
    """The toy language in the other direction, so that the source is what has parses."""

    def files(split: str) -> CorpusConfiguration:
        parses = {
            "source_constituency": folder / f"{split}.en.con",
            "source_dependency": folder / f"{split}.en.conllu",
            "source_supertags": folder / f"{split}.en.ccg",
        }
        given = {"source": folder / f"{split}.en", "target": folder / f"{split}.vel", **parses}
        return CorpusConfiguration.model_validate(given | (changes if split == "train" else {}))

    return DataConfiguration(train=files("train"), dev=files("dev"), source_subwords=SMALL, target_subwords=SMALL)


def system(**keys: object) -> System:
    return System.model_validate({"trees": ("binary-1",), "encoder": "tree-lstm"} | keys)


def source_tree(codec: Codec, source: np.ndarray) -> Nonterminal:
    """The tree over pieces that a source's numbers stand for."""
    tokens = [EmitWord(token) if isinstance(token, str) else token for token in codec.source_tokens]
    form = TreeSource() if codec.system.reads_trees else BracketedSource()
    return form.read([SourcePlace(tokens[number], parent) for number, _, parent in source.tolist()])


def texts(preparation: Preparation) -> list[str]:
    codec = preparation.codec
    sources = [preparation.train[number].source for number in range(len(preparation.train))]
    return [codec.source_side.text_of(words(source_tree(codec, source))) for source in sources]


@pytest.mark.parametrize("encoder", ["tree-lstm", "lstm"])
@pytest.mark.parametrize(
    ("kind", "transforms", "shape"),
    [
        ("constituency", ("strip-tags",), "(ROOT (S (NP "),
        ("dependency", (), "(ROOT (NULL "),
        ("supertags", (), "(ROOT ("),
        ("right-branching", (), "(ROOT (NULL "),
    ],
)
def test_every_kind_of_tree_is_read(
    toy: Path, tmp_path: Path, kind: str, transforms: tuple[str, ...], shape: str, encoder: str
) -> None:
    chosen = system(source_trees=kind, source_transforms=transforms, encoder=encoder)
    made = prepare(from_english(toy), chosen, tmp_path / "model")
    assert texts(made) == [line for line in (toy / "train.en").read_text().splitlines() if line]
    trees = [repr(source_tree(made.codec, made.train[number].source)) for number in range(len(made.train))]
    assert any(tree.startswith(shape) for tree in trees)
    again = Preparation.open(tmp_path / "model")
    assert again.codec.source_tokens == made.codec.source_tokens
    assert again.codec.source_size == len(made.codec.source_tokens)


def test_a_missing_file_of_source_trees_is_named(toy: Path, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError,
        match=r"reads constituency trees of the source, but data.train names no file.*"
        r"data.train.source_constituency",
    ):
        prepare(from_english(toy, source_constituency=None), system(source_trees="constituency"), tmp_path)


def test_dev_is_translated_with_parses_over_several_lines(toy: Path, tmp_path: Path) -> None:
    parses = tmp_path / "dev.con"
    parses.write_text((toy / "dev.en.con").read_text().replace(" (VP", "\n  (VP"))
    data = from_english(toy)
    data = data.model_copy(update={"dev": data.dev.model_copy(update={"source_constituency": parses})})
    made = prepare(data, system(source_trees="constituency"), tmp_path / "model")
    sizes = ModelConfiguration(embedding_size=4, hidden_size=4)
    network = TranslationModel(sizes, made.codec.inventory(), "tree-lstm", "tree").eval()
    translated: list[int] = []
    dev_bleu(network, made.codec, data, lambda _task, done, _total: translated.append(done))
    assert translated[-1] == len((toy / "dev.en").read_text().splitlines())


def test_sources_without_a_good_tree_are_left_out_and_counted(toy: Path, tmp_path: Path) -> None:
    lines = (toy / "train.en.con").read_text().splitlines()
    lines[3:6] = ["(())", "(ROOT (S", "(ROOT (S something else))"]
    parses = tmp_path / "parses"
    parses.write_text("".join(f"{line}\n" for line in lines))
    made = prepare(
        from_english(toy, source_constituency=parses), system(source_trees="constituency"), tmp_path / "model"
    )
    assert made.report.train.pairs_left_out == {
        "parser found no tree": 1,
        "tree cannot be read": 1,
        "tree and sentence have different words": 1,
    }
    assert made.report.train.examples == made.report.train.pairs - 3
    assert sorted({3, 4, 5} & set(made.train.sentences.tolist())) == []
    assert f"{parses}, line 4" in " ".join(made.report.train.first["parser found no tree"])


def test_rules_are_not_counted_where_the_source_is_left_out(toy: Path, tmp_path: Path) -> None:
    """Of a sentence of twenty words, whose rule no other has."""
    for name, place, changed in (("train.vel", 3, "u " * 20), ("train.en.con", 3, "(())")):
        lines = (toy / name).read_text(encoding="utf-8").splitlines()
        lines[place] = changed
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    chosen = system(trees=("flat",), transforms=("wrap-words",), source_trees="constituency")
    parses = tmp_path / "train.en.con"
    for given, expected in (({"source_constituency": parses}, False), ({}, True)):
        data = from_english(toy, target=tmp_path / "train.vel", **given)
        made = prepare(data, chosen, tmp_path / f"model-{expected}")
        assert any(str(action).count("NULL") == 20 for action in made.codec.table.actions) == expected


def test_a_sentence_has_the_same_tree_whenever_it_is_built(toy: Path, tmp_path: Path) -> None:
    made = prepare(from_english(toy), system(source_trees="random-binary"), tmp_path)
    lines = (toy / "train.en").read_text(encoding="utf-8").splitlines()
    for number in range(20):
        example = made.train[number]
        assert np.array_equal(example.source, made.codec.encode_source(lines[example.sentence]))


def test_a_label_that_training_never_saw_is_unknown_but_its_source_is_kept(toy: Path, tmp_path: Path) -> None:
    data = from_english(toy)
    lines = [line.replace("(NP ", "(QQ ") for line in (toy / "dev.en.con").read_text().splitlines()]
    parses = tmp_path / "parses"
    parses.write_text("".join(f"{line}\n" for line in lines))
    dev = data.dev.model_copy(update={"source_constituency": parses})
    made = prepare(data.model_copy(update={"dev": dev}), system(source_trees="constituency"), tmp_path / "model")
    assert len(made.dev) == len(lines)
    for number, line in enumerate(lines):
        is_unknown = (made.dev[number].source[:, :2] == 0).all(axis=1)
        assert is_unknown.sum() >= line.count("(QQ ")
    assert "(QQ " in "".join(lines)
    sources = np.concatenate([made.dev[number].source for number in range(len(lines))])
    assert made.report.dev.unknown_source_pieces == ((sources[:, 0] == 0) & (sources[:, 1] == 1)).sum()


def test_the_words_of_a_parse_are_found_in_raw_text(tmp_path: Path) -> None:
    content = {
        "source": ["He (really) slept.", "She can't sleep."] * 3,
        "target": ["Er schlief wirklich.", "Sie kann nicht schlafen."] * 3,
        "source_constituency": ["(S (NP He) (VP -LRB- really -RRB- slept) .)", "(S (NP She) (VP ca n't sleep) .)"] * 3,
    }
    for name, lines in content.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    files = CorpusConfiguration.model_validate({name: tmp_path / name for name in content})
    data = DataConfiguration(
        train=files,
        dev=files,
        source_language="en",
        target_language="de",
        tokeniser="unicode",
        source_subwords=SubwordConfiguration(size=40),
        target_subwords=SubwordConfiguration(size=40),
        filters=FilterConfiguration(remove_duplicates=False),
    )
    made = prepare(data, system(source_trees="constituency"), tmp_path / "model")
    assert texts(made) == content["source"]


def test_an_encoder_of_trees_needs_trees() -> None:
    with pytest.raises(ValidationError, match="the encoder tree-lstm reads trees, but the source has none"):
        System(trees=("flat",), encoder="tree-lstm")
    with pytest.raises(ValidationError, match="source_transforms is strip-tags, but the source has no trees"):
        System(trees=("flat",), source_transforms=("strip-tags",))
    with pytest.raises(ValidationError, match=r"expected a kind of tree, .*Did you mean 'binary-1'"):
        System(trees=("flat",), source_trees="binary1")


def test_systems_without_source_trees_are_written_as_they_were() -> None:
    assert set(SYSTEMS["trdec-con"].model_dump()) == {"trees", "transforms", "target", "encoder", "decoder"}
    chosen = system(source_trees="constituency", source_transforms=("strip-tags",))
    assert System.model_validate(chosen.model_dump(mode="json")) == chosen
    assert system_name(chosen) == "source-constituency+strip-tags/binary-1/derivation/tree-lstm/tree"
    files = CorpusConfiguration(source=Path("a"), target=Path("b"))
    assert set(files.model_dump()) == {"source", "target", "constituency", "dependency", "supertags"}


def test_own_code_for_source_trees_must_be_allowed() -> None:
    chosen = system(source_trees="mine:pairs", source_transforms=("mine:turned",))
    assert chosen.extensions == ("mine:pairs", "mine:turned")
    with pytest.raises(UntrustedCodeError, match="mine:pairs, mine:turned"):
        chosen.check_allowed((), Path("model"))


def test_a_codec_with_other_marks_than_it_was_saved_with_is_refused(toy: Path, tmp_path: Path) -> None:
    prepare(from_english(toy), system(source_trees="constituency"), tmp_path / "model")
    marks = tmp_path / "model" / "codec" / "source_marks.txt"
    marks.write_text(marks.read_text().replace("NP\n", "NQ\n"))
    with pytest.raises(StoredDataError, match="some numbers would mean something else"):
        Codec.load(tmp_path / "model" / "codec")
    marks.unlink()
    with pytest.raises(StoredDataError, match=r"source_marks\.txt"):
        Codec.load(tmp_path / "model" / "codec")


GOOD = [[4, 1, 4], [5, 1, 4], [8, 1, 0], [9, 0, 5], [10, 0, 0]]


@pytest.mark.parametrize(
    ("place", "column", "value"),
    [(0, 0, 11), (0, 2, 6), (0, 2, -1), (3, 2, 4), (3, 2, 2), (0, 2, 2), (1, 1, 2), (None, 1, 0)],
)
def test_damaged_places_are_noticed(tmp_path: Path, place: int | None, column: int, value: int) -> None:
    def check(name: str, source: np.ndarray) -> None:
        actions = np.zeros(2, dtype=np.int32)
        good = np.array(GOOD, dtype=np.int32)
        with PreparedWriter(tmp_path / name, with_source_trees(ARRAYS)) as writer:
            writer.append(Examples.of([Example(each, actions, n, 0) for n, each in enumerate((good, source, good))]))
        prepared = Prepared.open(tmp_path / name)
        assert np.array_equal(prepared[1].source, source)
        prepared.check_numbers(tmp_path / name, 11, 50)

    wrong = np.array(GOOD, dtype=np.int32)
    check("good", wrong)
    assert json.loads((tmp_path / "good" / "prepared.json").read_text())["version"] == 5
    wrong[slice(None) if place is None else place, column] = value
    with pytest.raises(StoredDataError, match=r"source.npy: a (piece is out of range|place is not one of a tree)"):
        check("wrong", wrong)
