"""Text and trees become numbers and come back."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from support.toy_corpora import changed_system, configuration
from trdec.configuration.sections import CorpusConfiguration
from trdec.data.codec import Codec
from trdec.data.corpus import NO_FILTERS, Corpus, Reader
from trdec.data.prepare import Preparation, prepare
from trdec.data.report import LeftOut
from trdec.errors import StoredDataError, UnknownActionError
from trdec.systems import SYSTEMS
from trdec.text import Side, Subwords
from trdec.tokenisers import Tokeniser
from trdec.trees import preterminals
from trdec.trees.tree import Nonterminal, words

Prepare = Callable[..., Preparation]


def sentences(codec: Codec, files: CorpusConfiguration) -> Iterator[tuple[list[str], list[Nonterminal]]]:
    """The target words of each pair and their trees, as training has them."""
    corpus = Corpus("train", files, codec.system.trees)
    reader = Reader(corpus, codec.system, codec.source_side, codec.target_side, NO_FILTERS)
    for pair in corpus.pairs():
        found = reader.words(pair)
        assert not isinstance(found, LeftOut)
        entries = list(reader.trees(pair, found.target))
        yield found.target, [entry.tree for entry in entries if not isinstance(entry, LeftOut) and entry.tree]


@pytest.mark.parametrize(
    "system",
    [
        *((name,) for name in SYSTEMS),
        ("trdec-binary", "wrap-words"),
        ("trdec-dep", "bare-leaves"),
        ("trdec-con", "binarise"),
        ("lin", "null-labels"),
    ],
    ids="+".join,
)
def test_decoding_undoes_encoding(system: tuple[str, ...], toy: Path, toy_prepared: Prepare) -> None:
    codec = toy_prepared(*system).codec
    for number, (target, trees) in enumerate(sentences(codec, configuration(toy).train)):
        assert len(trees) == len(SYSTEMS[system[0]].trees)
        for tree in trees:
            decoded = codec.decode(codec.encode_target(tree))
            assert decoded.tree == preterminals.remove(tree)
            assert words(decoded.tree) == target
            assert decoded.text == " ".join(target)
            assert "".join(words(decoded.pieces)) == "".join(f"▁{word}" for word in target)
        if number == 200:
            break


@pytest.mark.corpus
@pytest.mark.parametrize("system", SYSTEMS)
def test_decoding_undoes_encoding_on_or_en(system: str, corpora: Path) -> None:
    folder = corpora / "or-en"
    dev = CorpusConfiguration(
        source=folder / "dev.orm",
        target=folder / "dev.eng",
        constituency=folder / "dev.eng.con",
        dependency=folder / "dev.eng.conllu",
        supertags=folder / "dev.eng.ccg",
    )
    source, target = (Side(Subwords.load(folder / f"{name}.spm.model"), Tokeniser()) for name in ("orm", "eng"))
    family = SYSTEMS[system].target_class
    codec = Codec(SYSTEMS[system], source, target, family.from_trees([], target.subwords.pieces))
    kept = [(sentence, tree) for sentence, trees in sentences(codec, dev) for tree in trees]
    codec = Codec(
        SYSTEMS[system], source, target, family.from_trees([tree for _, tree in kept], target.subwords.pieces)
    )
    unknown = 0
    for sentence, tree in kept:
        actions = codec.encode_target(tree)
        decoded = codec.decode(actions)
        if codec.unknown_action in actions:
            unknown += 1
            assert len(words(decoded.tree)) == len(sentence)
        else:
            assert decoded.tree == tree
            assert words(decoded.tree) == sentence
    assert unknown <= 6 * len(SYSTEMS[system].trees)


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_gold_action_is_legal_and_the_inventory_says_so(system: str, toy_prepared: Prepare) -> None:
    made = toy_prepared(system)
    inventory = made.codec.inventory()
    assert inventory.source_size == len(made.codec.source_side.subwords.pieces) + 1
    for number in range(len(made.train)):
        example = made.train[number]
        actions, symbols, parents = made.codec.table.steps(example.actions).T.copy()
        assert inventory.legal[symbols, actions].all()
        assert (parents <= np.arange(len(actions))).all()
        assert example.source.max() < inventory.source_size
        assert example.source[-1] == made.codec.source_end
    symbols_of_words = [
        symbol for symbol, is_word in zip(made.codec.table.symbols, inventory.word_symbols, strict=True) if is_word
    ]
    assert symbols_of_words == (["pre", "pre+"] if SYSTEMS[system].decoder == "tree" else [])
    assert int(inventory.word_actions.sum()) == len(made.codec.target_side.subwords.pieces) + (
        SYSTEMS[system].decoder == "tree"
    )


def test_a_source_piece_the_model_does_not_know_is_0(toy_prepared: Prepare) -> None:
    codec = toy_prepared("seq2seq").codec
    encoded = codec.encode_source("猫")
    assert 0 in encoded
    assert encoded[-1] == codec.source_end
    assert codec.encode_source("").tolist() == [codec.source_end]


def test_raw_text_is_tokenised_and_detokenised(toy: Path, tmp_path: Path) -> None:
    raw = configuration(toy, source_language="en", target_language="en")
    codec = prepare(raw, SYSTEMS["seq2seq"], tmp_path / "data").codec
    [(target, trees)] = [
        next(sentences(codec, configuration(toy, train=_one_line(tmp_path, "the dog sleeps, the dog sees.")).train))
    ]
    assert target == ["▁the", "▁dog", "▁sleeps", ",", "▁the", "▁dog", "▁sees", "."]
    decoded = codec.decode(codec.encode_target(trees[0]))
    assert decoded.text == "the dog sleeps, the dog sees."
    assert words(decoded.tree) == ["the", "dog", "sleeps", ",", "the", "dog", "sees", "."]
    saved = Codec.load(tmp_path / "data" / "codec").target_side.tokeniser
    assert (saved.name, saved.language) == ("unicode", "en")


@pytest.mark.parametrize(("language", "name"), [(None, "none"), ("en", "sacremoses")])
def test_a_codec_that_names_no_tokeniser_keeps_the_one_it_had(
    language: str | None, name: str, toy_prepared: Prepare, tmp_path: Path
) -> None:
    toy_prepared("seq2seq").codec.save(tmp_path)
    description = json.loads((tmp_path / "codec.json").read_text())
    for side in ("source", "target"):
        del description[f"{side}_tokeniser"]
        description[f"{side}_language"] = language
    (tmp_path / "codec.json").write_text(json.dumps(description))
    codec = Codec.load(tmp_path)
    assert [codec.source_side.tokeniser.name, codec.target_side.tokeniser.name] == [name, name]


def _one_line(folder: Path, text: str) -> CorpusConfiguration:
    path = folder / "one"
    path.write_text(text + "\n")
    return CorpusConfiguration(source=path, target=path)


def test_numbers_of_another_codec_are_refused(toy_prepared: Prepare) -> None:
    codec = toy_prepared("seq2seq").codec
    with pytest.raises(UnknownActionError, match=r"expected the number of an action, from 0 to \d+, found -1"):
        codec.decode([-1])
    with pytest.raises(UnknownActionError, match="Decode with the codec that the numbers were made with"):
        codec.decode([len(codec.table.actions)])


@pytest.mark.parametrize("system", ["trdec-con", "lin", "seq2seq"])
def test_a_codec_that_was_saved_or_pickled_encodes_the_same(
    system: str, toy: Path, toy_prepared: Prepare, tmp_path: Path
) -> None:
    codec = toy_prepared(system, "binarise").codec
    codec.save(tmp_path / "codec")
    for other in (Codec.load(tmp_path / "codec"), pickle.loads(pickle.dumps(codec))):
        assert other.table.actions == codec.table.actions
        assert other.system == codec.system
        for target, trees in list(sentences(codec, configuration(toy).dev))[:20]:
            assert (other.encode_source(" ".join(target)) == codec.encode_source(" ".join(target))).all()
            try:
                expected = codec.encode_target(trees[0])
            except Exception as error:  # noqa: BLE001  (an unseen rule must be unseen in both)
                with pytest.raises(type(error)):
                    other.encode_target(trees[0])
            else:
                assert (other.encode_target(trees[0]) == expected).all()


@pytest.mark.parametrize("name", ["source.spm.model", "target.spm.model", "grammar.txt", "codec.json"])
def test_an_incomplete_codec_is_refused_by_name(name: str, toy_prepared: Prepare, tmp_path: Path) -> None:
    toy_prepared("trdec-binary").codec.save(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(StoredDataError, match=rf"{name}: cannot be read.*Prepare the data again") as caught:
        Codec.load(tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_a_directory_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoredDataError, match=r"nowhere/codec.json: cannot be read: No such file"):
        Codec.load(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 99}, "expected version 1 or 2 or 3 of the trdec codec format, found version 99"),
        ({"format": "other"}, "expected the description of a trdec codec, found something else"),
        ({"system": {"trees": ["flut"]}}, r"expected a kind of tree, one of .* found 'flut'. Did you mean 'flat'\?"),
        ({"system": {"trees": ["flat"], "transforms": ["paint"]}}, "expected a transform, one of .* found 'paint'"),
        ({"system": {"trees": ["flat"], "target": "lon"}}, r"expected a target, .*found 'lon'. Did you mean 'lin'\?"),
        ({"system": {"trees": []}}, "missing or invalid"),
        ({"system": None}, "missing or invalid"),
        (
            {"version": 1, "system": "trdec-x", "transforms": []},
            "expected a system, one of seq2seq, .* found 'trdec-x'",
        ),
        ({"version": 1, "system": "lin", "transforms": ["paint"]}, "expected a transform, one of .* found 'paint'"),
        ({"version": 1, "system": "lin", "transforms": None}, "missing or invalid"),
    ],
)
def test_a_foreign_codec_is_refused(
    change: dict[str, object], message: str, toy_prepared: Prepare, tmp_path: Path
) -> None:
    toy_prepared("trdec-binary").codec.save(tmp_path)
    description = json.loads((tmp_path / "codec.json").read_text())
    (tmp_path / "codec.json").write_text(json.dumps({**description, **change}))
    with pytest.raises(StoredDataError, match=message):
        Codec.load(tmp_path)


@pytest.mark.parametrize(
    ("old", "keys"),
    [
        ({"system": "trdec-con", "transforms": []}, {}),
        ({"system": "trdec-con", "transforms": ["binarise"]}, {"transforms": ("strip-tags", "binarise")}),
        (
            {"system": "trdec-con", "transforms": ["binarise"], "trees": ["flat", "ternary"]},
            {"trees": ("flat", "ternary"), "transforms": ("binarise",)},
        ),
    ],
)
def test_a_codec_of_the_first_version_is_read(
    old: dict[str, object], keys: dict[str, object], toy_prepared: Prepare, tmp_path: Path
) -> None:
    codec = toy_prepared("trdec-con").codec
    codec.save(tmp_path)
    description = json.loads((tmp_path / "codec.json").read_text())
    (tmp_path / "codec.json").write_text(json.dumps({**description, "version": 1, **old}))
    read = Codec.load(tmp_path)
    assert read.system == changed_system("trdec-con", **keys)
    assert read.table.actions == codec.table.actions


def test_a_damaged_codec_is_refused(toy_prepared: Prepare, tmp_path: Path) -> None:
    codec = toy_prepared("trdec-binary").codec
    for name, content, message in (
        ("codec.json", "{", "codec.json: expected JSON, found something else"),
        ("grammar.txt", "no rule\n", "grammar.txt, line 1: expected a rule, a tab and its count"),
        ("target.spm.model", "text", "target.spm.model: not a sentencepiece model"),
    ):
        shutil.rmtree(tmp_path)
        codec.save(tmp_path)
        (tmp_path / name).write_text(content)
        with pytest.raises(StoredDataError, match=message):
            Codec.load(tmp_path)
