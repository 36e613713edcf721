"""Raw text is prepared and comes back, whatever the trees over it come from."""

from __future__ import annotations

import gzip
import logging
import lzma
from pathlib import Path
from random import Random

import pytest

from support.raw_lines import RAW_LINES
from support.toy_corpora import configuration, files
from trdec.configuration.sections import CorpusConfiguration, DataConfiguration, SubwordConfiguration
from trdec.data.corpus import NO_FILTERS, Corpus, Reader
from trdec.data.inspection import Inspection, check_is_text
from trdec.data.prepare import Preparation, prepare
from trdec.data.report import LeftOut, Reason
from trdec.data.subword_dropout import SubwordDropout
from trdec.errors import EncodingError, FileError, TextFormatError
from trdec.files import read_lines
from trdec.systems import SYSTEMS
from trdec.text import Subwords
from trdec.trees.by_name import builder_called
from trdec.trees.tree import words


@pytest.fixture(scope="module")
def raw(toy: Path, tmp_path_factory: pytest.TempPathFactory) -> CorpusConfiguration:
    """The toy corpus with raw text, and the trees over its tokens."""
    folder = tmp_path_factory.mktemp("raw")
    for name in ("dev.vel", "dev.en"):
        text = (toy / name).read_text(encoding="utf-8")
        (folder / name).write_text(text.replace(" .", ".").replace(" ,", ",").replace(" ?", "?"), encoding="utf-8")
    for name in ("dev.en.con", "dev.en.conllu"):
        (folder / name).write_bytes((toy / name).read_bytes())
    return files(folder, "dev").model_copy(update={"supertags": None})


def raw_configuration(raw: CorpusConfiguration, **changes: object) -> DataConfiguration:
    small = SubwordConfiguration(size=90)
    plain = {"train": raw, "dev": raw, "tokeniser": "unicode", "source_subwords": small, "target_subwords": small}
    return DataConfiguration(**{**plain, **changes})


@pytest.mark.parametrize("system", ["seq2seq", "trdec-binary", "trdec-con", "trdec-dep", "lin"])
def test_raw_text_comes_back_from_every_kind_of_tree(
    system: str, raw: CorpusConfiguration, toy: Path, tmp_path: Path
) -> None:
    made = prepare(raw_configuration(raw), SYSTEMS[system], tmp_path)
    assert made.report.train.examples == made.report.train.pairs * len(SYSTEMS[system].trees)
    lines = [line.text for line in read_lines(raw.target)]
    tokens = [line.text.split() for line in read_lines(toy / "dev.en")]
    for number in range(len(made.train)):
        example = made.train[number]
        decoded = made.codec.decode(example.actions)
        assert decoded.text == lines[example.sentence]
        assert words(decoded.tree) == tokens[example.sentence]


def test_a_tree_of_other_words_is_left_out_with_its_place(raw: CorpusConfiguration, tmp_path: Path) -> None:
    lines = raw.target.read_text(encoding="utf-8").splitlines()
    lines[2] = f"Well, {lines[2]}"
    (tmp_path / "other.en").write_text("\n".join(lines) + "\n", encoding="utf-8")
    corpus = raw.model_copy(update={"target": tmp_path / "other.en"})
    made = prepare(raw_configuration(corpus), SYSTEMS["trdec-con"], tmp_path / "model")
    assert made.report.train.trees_left_out == {Reason.MISALIGNED.value: 1}
    [message] = made.report.train.first[Reason.MISALIGNED.value]
    assert "dev.en.con, line 3" in message
    assert "'Well" in message


def test_syntactic_words_of_one_token_keep_the_raw_text(tmp_path: Path) -> None:
    rows = [("1-2", "Zum", "_"), ("1", "Zu", "3"), ("2", "dem", "3"), ("3", "Haus", "0"), ("4", ".", "3")]
    sentence = "\n".join("\t".join([number, form, *"____", head, *"___"]) for number, form, head in rows)
    target = written(tmp_path, "de", ["Zum Haus."] * 30)
    corpus = CorpusConfiguration(
        source=target, target=target, dependency=written(tmp_path, "conllu", [f"{sentence}\n"] * 30)
    )
    tiny = SubwordConfiguration(size=15)
    changes = {"source_subwords": tiny, "target_subwords": tiny}
    made = prepare(raw_configuration(corpus, **changes), SYSTEMS["trdec-dep"], tmp_path / "model")
    decoded = made.codec.decode(made.train[0].actions)
    assert decoded.text == "Zum Haus."
    assert words(decoded.tree) == ["Zu", "m", "Haus", "."]


def test_builders_see_words_without_marks(raw: CorpusConfiguration, tmp_path: Path) -> None:
    system = SYSTEMS["seq2seq"].model_copy(update={"trees": ("phrase",)})
    codec = prepare(raw_configuration(raw), SYSTEMS["seq2seq"], tmp_path).codec
    corpus = Corpus("train", raw, system.trees)
    reader = Reader(corpus, system, codec.source_side, codec.target_side, NO_FILTERS)
    pair = next(corpus.pairs())
    found = reader.words(pair)
    assert not isinstance(found, LeftOut)
    [entry] = reader.trees(pair, found.target)
    assert not isinstance(entry, LeftOut)
    assert entry.tree is not None
    assert words(entry.tree) == found.target
    assert found.target[0].startswith("▁")
    bare = [word.removeprefix("▁") for word in found.target]
    assert codec.plain(entry.tree) == builder_called("phrase")(bare, Random(0))


def test_a_given_model_is_used_for_words_that_carry_their_spaces(raw: CorpusConfiguration, tmp_path: Path) -> None:
    lines = [line.text for line in read_lines(raw.target)]
    Subwords.train(lines, "bpe", 90).save(tmp_path / "given.model")
    given = SubwordConfiguration(model=tmp_path / "given.model")
    made = prepare(raw_configuration(raw, target_subwords=given), SYSTEMS["seq2seq"], tmp_path / "model")
    side = made.codec.target_side
    assert all(side.text_of(side.pieces(side.split(line))) == line for line in lines)
    assert made.report.inspection is not None
    assert made.report.inspection.target.changed == 0


def test_characters_that_a_given_model_lacks_count_as_lost(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    Subwords.train(ENGLISH, "bpe", 45).save(tmp_path / "given.model")
    given = SubwordConfiguration(model=tmp_path / "given.model")
    lines = [f"{line} 猫" if number % 3 == 0 else line for number, line in enumerate(ENGLISH)]
    found, _ = inspected(tmp_path, ENGLISH, lines, caplog, source_subwords=SMALL, target_subwords=given)
    assert (found.source.changed, found.target.changed) == (0, 12)


def test_words_without_a_space_between_them_are_resplit_one_by_one(raw: CorpusConfiguration, tmp_path: Path) -> None:
    codec = prepare(raw_configuration(raw), SYSTEMS["trdec-binary"], tmp_path).codec
    example = Preparation.open(tmp_path).train[0]
    same = SubwordDropout(codec, 0.0, seed=1)(example, 0, 0)
    assert same.source.tolist() == example.source.tolist()
    assert same.actions.tolist() == example.actions.tolist()
    other = SubwordDropout(codec, 0.5, seed=1)(example, 0, 0)
    assert other.actions.tolist() != example.actions.tolist()
    assert codec.decode(other.actions) == codec.decode(example.actions)._replace(
        pieces=codec.decode(other.actions).pieces
    )


def written(folder: Path, name: str, lines: list[str]) -> Path:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def inspected(
    tmp_path: Path, sources: list[str], targets: list[str], caplog: pytest.LogCaptureFixture, **changes: object
) -> tuple[Inspection, str]:
    corpus = CorpusConfiguration(source=written(tmp_path, "a", sources), target=written(tmp_path, "b", targets))
    with caplog.at_level(logging.WARNING):
        made: Preparation = prepare(raw_configuration(corpus, **changes), SYSTEMS["seq2seq"], tmp_path / "model")
    assert made.report.inspection is not None
    assert all(f"WARNING: {warning}" in caplog.text for warning in made.report.inspection.warnings)
    return made.report.inspection, "\n".join(made.report.lines())


GERMAN = [
    f"Der Hund und die Katze {verb} nicht mit dem Ball." for verb in ("spielen", "laufen", "rennen", "springen")
] * 9
ENGLISH = [f"The dog and the cat {verb} with the ball." for verb in ("play", "walk", "run", "jump")] * 9
SMALL = SubwordConfiguration(size=45)


def test_the_report_shows_examples_scripts_lengths_and_the_round_trip(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    found, text = inspected(
        tmp_path,
        GERMAN,
        ENGLISH,
        caplog,
        source_language="de",
        target_language="en",
        target_subwords=SMALL,
        source_subwords=SMALL,
    )
    assert found.warnings == []
    assert (found.source.scripts, found.source.changed) == ({"Latin": 1.0}, 0)
    assert len(found.examples) == 2
    assert "round trip: 0 of 36 lines" in text
    assert found.examples[0].target in text
    assert "".join(found.examples[0].source_pieces.split()).replace("▁", " ").strip() == found.examples[0].source
    assert found.examples[0].trees[0].startswith("(ROOT ▁")


@pytest.mark.parametrize("tokeniser", ["unicode", "sacremoses", "none"])
def test_lines_that_do_not_come_back_are_counted(
    tokeniser: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = [f"{number} km pẹ̀lú at 3:30 and/or “{letter}’s”." for number, letter in enumerate("abcdefghij" * 3)]
    found, text = inspected(
        tmp_path,
        lines,
        ENGLISH[:30],
        caplog,
        tokeniser=tokeniser,
        source_language="en",
        target_language="en",
        source_subwords=SMALL,
        target_subwords=SMALL,
    )
    assert found.source.changed == (30 if tokeniser == "sacremoses" else 0)
    if tokeniser == "sacremoses":
        assert f"    {lines[0]}\n    -> " in text


def test_swapped_sides_are_noticed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    languages = {"source_language": "en", "target_language": "de", "source_subwords": SMALL, "target_subwords": SMALL}
    found, _ = inspected(tmp_path, GERMAN, ENGLISH, caplog, **languages)
    [warning] = found.warnings
    assert "swapped" in warning
    assert "data.train.source looks like de" in warning


def test_sides_in_swapped_or_other_scripts_are_noticed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    russian = ["Мы идём домой.", "Она читает книгу."] * 18
    plain = {"source_subwords": SMALL, "target_subwords": SMALL}
    found, _ = inspected(tmp_path, ENGLISH, russian, caplog, source_language="ru", target_language="en", **plain)
    assert ["swapped" in warning for warning in found.warnings] == [True]
    found, _ = inspected(tmp_path, ENGLISH, russian, caplog, source_language="ru", target_language="ru", **plain)
    [warning] = found.warnings
    assert "data.train.source is mostly in Latin" in warning
    assert "ru" in warning


def test_equal_sides_raw_text_and_much_left_out_are_noticed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lines = [*ENGLISH, *[""] * 4]
    found, _ = inspected(tmp_path, lines, lines, caplog, tokeniser="none", source_subwords=SMALL, target_subwords=SMALL)
    source, target, equal, left_out = found.warnings
    assert "data.train.source looks like raw text" in source
    assert "data.train.target looks like raw text" in target
    assert "equal in 40 of 40 pairs" in equal
    assert "4 of 40 training examples (10%)" in left_out


@pytest.mark.parametrize(
    ("content", "error", "what"),
    [
        (lzma.compress(b"a cat\n"), EncodingError, "xz"),
        (b'{"de": "eine Katze", "en": "a cat"}\n', TextFormatError, "fields .de, en"),
        ("a cat\n".encode("utf-16"), EncodingError, "UTF-16"),
        ("a cat sleeps here\n".encode("utf-16-le"), EncodingError, "UTF-16"),
        (b"eine Katze\ta cat\nein Hund\ta dog\n", TextFormatError, "2 columns separated by tabs"),
    ],
)
def test_what_is_no_text_is_named(content: bytes, error: type[Exception], what: str, tmp_path: Path) -> None:
    (tmp_path / "train").write_bytes(content)
    with pytest.raises(error, match=f"train: expected .*{what}"):
        check_is_text(tmp_path / "train")


def test_text_in_every_script_is_text(tmp_path: Path) -> None:
    check_is_text(written(tmp_path, "train", list(RAW_LINES.values())))
    check_is_text(written(tmp_path, "train", ["one\ttab", "no tab"]))
    check_is_text(written(tmp_path, "train", ["a " * 50_000, "b"]))  # no line ends in what is looked at
    check_is_text(written(tmp_path, "train", []))


def test_data_prepared_before_there_was_a_choice_are_used_again(toy: Path, tmp_path: Path) -> None:
    small = {"train": files(toy, "dev")}
    for changes in ({}, {"tokeniser": "sacremoses", "source_language": "en", "target_language": "en"}):
        directory = tmp_path / str(len(changes))
        prepare(configuration(toy, **small, **changes), SYSTEMS["seq2seq"], directory)
        assert "tokeniser" not in (directory / "data" / "preparation.json").read_text()


def test_a_table_gives_what_two_files_give(raw: CorpusConfiguration, tmp_path: Path) -> None:
    pairs = zip(read_lines(raw.source), read_lines(raw.target), strict=True)
    table = tmp_path / "pairs.tsv.gz"
    table.write_bytes(gzip.compress("".join(f"{a.text}\t{b.text}\n" for a, b in pairs).encode()))
    columns = CorpusConfiguration(source=Path(f"{table}:1"), target=Path(f"{table}:2"))
    made = [
        prepare(raw_configuration(files), SYSTEMS["seq2seq"], tmp_path / name)
        for name, files in (("files", raw), ("table", columns))
    ]
    assert made[0].report == made[1].report
    assert made[0].fingerprint != made[1].fingerprint
    swapped = CorpusConfiguration(source=columns.target, target=columns.source)
    assert prepare(raw_configuration(swapped), SYSTEMS["seq2seq"], tmp_path / "table").report != made[1].report


def test_a_file_that_is_missing_or_no_text_is_named_with_its_key(raw: CorpusConfiguration, tmp_path: Path) -> None:
    missing = raw.model_copy(update={"target": raw.target.with_name("dve.en")})
    with pytest.raises(FileError, match=r"data\.dev\.target: .*/dve\.en: .*Did you mean '.*/dev\.en'"):
        prepare(raw_configuration(raw, dev=missing), SYSTEMS["seq2seq"], tmp_path / "a")
    (tmp_path / "utf16").write_bytes("a cat\n".encode("utf-16"))
    wrong = raw.model_copy(update={"source": tmp_path / "utf16"})
    with pytest.raises(EncodingError, match=r"data\.train\.source: .*utf16: .*UTF-16"):
        prepare(raw_configuration(wrong), SYSTEMS["seq2seq"], tmp_path / "a")
