"""Whatever is left out is counted under its reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.toy_corpora import configuration
from trdec.configuration.sections import (
    CorpusConfiguration,
    DataConfiguration,
    FilterConfiguration,
    SubwordConfiguration,
)
from trdec.data.prepare import Preparation, prepare
from trdec.data.report import Reason, Report
from trdec.errors import NoExamplesError
from trdec.systems import SYSTEMS

SUBWORDS = SubwordConfiguration(size=12)
SOURCE = ["a b c d", "b a d c", "c d a b"]
TARGET = ["e f g h", "f e h g", "g h e f"]
TREES = ["(S (NP (D e) (N f)) (VP (V g) (N h)))"] * 3


def prepared(write, tmp_path: Path, system: str, source: list[str], target: list[str], **changes) -> Preparation:
    """A preparation of good sentences followed by these, with trees if the system needs some."""
    kind = SYSTEMS[system].trees[0]
    good = {"constituency": TREES, "supertags": ["X Y X Y"] * 3}
    annotation = {kind: write("trees", [*good[kind], *changes.pop("trees")])} if kind in good else {}
    files = CorpusConfiguration(
        source=write("source", SOURCE + source), target=write("target", TARGET + target), **annotation
    )
    data = DataConfiguration(
        **{"train": files, "dev": files, "source_subwords": SUBWORDS, "target_subwords": SUBWORDS, **changes}
    )
    made = prepare(data, SYSTEMS[system], tmp_path / "data")
    for split in (made.report.train, made.report.dev):
        kept = split.pairs - split.pairs_left_out.total()
        assert kept * len(SYSTEMS[system].trees) == split.examples + split.trees_left_out.total()
    assert len(made.train) == made.report.train.examples
    assert made.report.train.steps == made.train.step_lengths.sum()
    once = dict(zip(made.train.sentences.tolist(), made.train.source_lengths.tolist(), strict=True))
    assert made.report.train.source_pieces == sum(once.values())
    return made


def test_empty_pairs_are_counted(write, tmp_path: Path) -> None:
    made = prepared(write, tmp_path, "trdec-binary", ["", "a", " \t"], ["e", " ", ""])
    assert made.report.train.pairs_left_out == {Reason.EMPTY: 3}
    assert made.report.dev.pairs_left_out == {Reason.EMPTY: 3}
    assert made.report.train.first[Reason.EMPTY][:2] == [
        f"{tmp_path}/source, line 4: the line has no words.",
        f"{tmp_path}/target, line 5: the line has no words.",
    ]
    assert made.train.sentences.tolist() == [0, 0, 1, 1, 2, 2]
    assert made.train.treebanks.tolist() == [0, 1, 0, 1, 0, 1]


def test_filters_are_counted_and_spare_dev(write, tmp_path: Path) -> None:
    filters = FilterConfiguration(max_source_length=12, max_target_length=10, max_ratio=3)
    long = " ".join("abcd" * 5)
    made = prepared(
        write,
        tmp_path,
        "seq2seq",
        [long, "a b c d", "a b c d", "a b c d"],
        ["e f g h", " ".join("efgh" * 4), "e", "e f g h"],
        filters=filters,
    )
    assert made.report.train.pairs_left_out == {Reason.SOURCE_LENGTH: 1, Reason.TARGET_LENGTH: 1, Reason.RATIO: 1}
    assert "source, line 4: " in made.report.train.first[Reason.SOURCE_LENGTH][0]
    assert "max_source_length is 12" in made.report.train.first[Reason.SOURCE_LENGTH][0]
    assert "max_target_length is 10" in made.report.train.first[Reason.TARGET_LENGTH][0]
    assert "target, line 6: " in made.report.train.first[Reason.RATIO][0]
    assert "max_ratio is 3" in made.report.train.first[Reason.RATIO][0]
    assert made.report.dev.examples == 7


@pytest.mark.parametrize(("remove", "examples"), [(True, 4), (False, 6)])
def test_duplicates_are_counted_whether_kept_or_not(remove: bool, examples: int, write, tmp_path: Path) -> None:
    filters = FilterConfiguration(remove_duplicates=remove)
    made = prepared(
        write, tmp_path, "seq2seq", [SOURCE[0], SOURCE[0], "a"], [TARGET[0], TARGET[0], "e"], filters=filters
    )
    assert made.report.train.duplicates == 2
    assert made.report.train.examples == examples
    assert made.report.train.pairs_left_out[Reason.DUPLICATE] == (2 if remove else 0)
    shown = "\n".join(made.report.train.lines())
    assert ("2 pairs left out: repeats an earlier pair" in shown) == remove
    assert ("2 pairs repeat earlier ones and are kept" in shown) != remove
    assert (made.report.dev.duplicates, made.report.dev.examples) == (2, 6)  # dev loses nothing


def test_trees_that_are_missing_unreadable_or_misaligned_are_counted(write, tmp_path: Path) -> None:
    trees = ["SENTENCE_SKIPPED_OR_UNPARSABLE", "(S (NP e", "(S e f g)", "", "(S -LRB-)"]
    made = prepared(write, tmp_path, "trdec-con", ["a"] * 5, ["e"] * 4 + ["("], trees=trees)
    assert made.report.train.trees_left_out == {Reason.NO_TREE: 1, Reason.UNREADABLE: 2, Reason.MISALIGNED: 1}
    first = made.report.train.first
    assert first[Reason.NO_TREE] == [f"{tmp_path}/trees, line 4: the parser found no tree."]
    assert "trees, line 5: the tree that starts here" in first[Reason.UNREADABLE][0]
    assert "trees, line 7: expected a tree, found an empty line" in first[Reason.UNREADABLE][1]
    assert "trees, line 6: the tree has 3 words, its sentence has 1" in first[Reason.MISALIGNED][0]


def test_supertags_that_do_not_fit_are_counted(write, tmp_path: Path) -> None:
    made = prepared(write, tmp_path, "ccg", ["a"], ["e"], trees=["X Y"])
    assert made.report.train.trees_left_out == {Reason.UNREADABLE: 1}
    assert "expected a tag for each of 1 words, found 2 tags" in made.report.train.first[Reason.UNREADABLE][0]


def test_rare_rules_leave_out_the_trees_that_need_them(write, tmp_path: Path) -> None:
    made = prepared(write, tmp_path, "trdec-con", ["a"], ["e"], trees=["(X (Y e))"], min_rule_count=2)
    assert made.report.train.trees_left_out == {Reason.UNSEEN: 1}
    assert "line 4: ROOT -> X is not in the grammar (4 rules)" in made.report.train.first[Reason.UNSEEN][0]


def test_rare_marks_leave_out_the_sentences_that_need_them(write, tmp_path: Path) -> None:
    made = prepared(write, tmp_path, "ccg", ["a"], ["e"], trees=["Z"], min_rule_count=2)
    assert made.report.train.trees_left_out == {Reason.UNSEEN: 1}
    assert "line 4: the action Z is not among" in made.report.train.first[Reason.UNSEEN][0]


def test_unknown_pieces_are_counted(toy: Path, tmp_path: Path) -> None:
    for name, text in (("source", "猫"), ("target", "猫 犬")):
        (tmp_path / name).write_text(f"{text}\n")
    dev = CorpusConfiguration(source=tmp_path / "source", target=tmp_path / "target")
    report = prepare(configuration(toy, dev=dev), SYSTEMS["trdec-binary"], tmp_path / "data").report
    assert report.dev.unknown_source_pieces == 1
    assert report.dev.unknown_target_pieces == 2
    assert report.train.unknown_target_pieces == 0


def test_crossing_arcs_are_counted(write, tmp_path: Path) -> None:
    rows = [(1, "e", 3), (2, "f", 4), (3, "g", 0), (4, "h", 3)]
    trees = write("trees", [f"{n}\t{w}\t_\t_\t_\t_\t{h}\t_\t_\t_" for n, w, h in rows])
    files = CorpusConfiguration(source=write("s", ["a b c d"]), target=write("t", ["e f g h"]), dependency=trees)
    data = DataConfiguration(train=files, dev=files, source_subwords=SUBWORDS, target_subwords=SUBWORDS)
    assert prepare(data, SYSTEMS["trdec-dep"], tmp_path / "data").report.train.crossing_arcs == 1


def test_a_report_is_stored_as_json_and_read_back(write, tmp_path: Path) -> None:
    made = prepared(write, tmp_path, "trdec-con", ["a", ""], ["e", "e"], trees=["None", "None"])
    stored = json.loads((tmp_path / "data" / "data" / "report.json").read_text())
    assert stored["train"]["trees_left_out"] == {"parser found no tree": 1}
    assert stored["train"]["pairs_left_out"] == {"source or target is empty": 1}
    assert Report.from_json(json.loads(json.dumps(made.report.to_json()))) == made.report
    assert "train: 5 sentence pairs, 3 examples" in next(made.report.lines())


def test_a_corpus_of_which_nothing_is_left_is_an_error(toy: Path, write, tmp_path: Path) -> None:
    empty = CorpusConfiguration(source=write("s", [""]), target=write("t", [""]))
    with pytest.raises(NoExamplesError, match=r"expected dev examples, found none: 1 .* source or target is empty"):
        prepare(configuration(toy, dev=empty), SYSTEMS["seq2seq"], tmp_path / "data")
    strict = FilterConfiguration(max_source_length=1)
    with pytest.raises(NoExamplesError, match=r"expected training examples, found none: .* source is too long"):
        prepare(configuration(toy, filters=strict), SYSTEMS["seq2seq"], tmp_path / "data")
    assert {path.name for path in (tmp_path / "data").iterdir()} == {".data.lock", ".lock"}


@pytest.mark.corpus
def test_known_answers_on_or_en(corpora: Path, tmp_path: Path) -> None:
    folder = corpora / "or-en"
    train, dev = (
        CorpusConfiguration(
            source=folder / f"{split}.orm",
            target=folder / f"{split}.eng",
            constituency=folder / f"{split}.eng.con",
            supertags=folder / f"{split}.eng.ccg",
        )
        for split in ("train", "dev")
    )
    data = DataConfiguration(
        train=train,
        dev=dev,
        source_subwords=SubwordConfiguration(model=folder / "orm.spm.model"),
        target_subwords=SubwordConfiguration(model=folder / "eng.spm.model"),
    )
    report = prepare(data, SYSTEMS["trdec-con"], tmp_path / "con").report
    assert report.actions["rule"] == 2723
    assert report.train.examples == 6450
    assert report.dev.trees_left_out == {Reason.UNSEEN: 87}
    report = prepare(data, SYSTEMS["ccg"], tmp_path / "ccg").report
    assert report.train.trees_left_out == {Reason.UNREADABLE: 3}
    assert report.train.examples == 6447
