"""Counts stand for the text: the same scores, the same tests, and one table of several experiments."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trdec.cli.table import ScoredText, table_command
from trdec.configuration import load_configuration
from trdec.errors import FileError, UsageError
from trdec.evaluation.comparison import ComparisonOptions, compare
from trdec.evaluation.counts import CountedBLEU, count_sentences
from trdec.evaluation.figures import gain_by_length
from trdec.evaluation.report import length_contents
from trdec.evaluation.scores import Output, bleu_metric
from trdec.evaluation.significance import PairedTests
from trdec.experiment.counts import (
    CountedRun,
    CountedText,
    CountsFile,
    read_counts,
    recipe_checksum,
    replace_counts,
    write_counts,
)
from trdec.experiment.counts_table import counts_by_length, counts_tables, join_counts, signature

REFERENCES = ["the cat eats fish .", "a dog sleeps in the house .", "the cat sleeps .", "fish swim in the sea ."] * 5
GOOD = [line.replace("fish", "fishes") for line in REFERENCES]
POOR = [line.replace("the", "a").replace("sleeps", "eats") for line in REFERENCES]

RESULTS = Path(__file__).parents[3] / "docs" / "results"
OR_EN = Path(__file__).parents[3] / "configs" / "or-en.yaml"
OR_EN_FILES = (  # of the corpus and its subword models, which are not public
    "d1fc271f0057f9bdae8948e763ad857672851cddb4bdfc37134b07c99a6a0751",
    "828d36c9a37a670b282eb498a1654639ff72be03ff1c99aaceea533daa81609a",
    "593494c579d5e5d7b57b17b4c58371ac95f1b5cba04357685799b89dce68604d",
    "c127b58721f9513e1f46048c609a1ba08258a3725ad8a7ffc5aa7d8c27851f3a",
    "a16448e7530b4e63510abbc6c77862f0a229cd666bc9ff9d4a4bd47b24fd5aeb",
    "3123241df2511c695217b807f1b4ea1dfd7adfa1e04044bf9f597a88cd8e16f5",
)

lines = st.lists(st.lists(st.sampled_from(["a", "b", "c", "."]), max_size=9).map(" ".join), min_size=1, max_size=8)


@given(lines, st.randoms(use_true_random=False))
def test_the_score_of_the_counts_is_that_of_the_text(references: list[str], random) -> None:  # type: ignore[no-untyped-def]
    references = [line or "a" for line in references]
    hypotheses = [" ".join(random.sample(line.split(), len(line.split()))) for line in references]
    found = CountedBLEU().of(count_sentences(hypotheses, references))
    assert found == pytest.approx(bleu_metric("none").corpus_score(hypotheses, [references]).score)


def test_a_tokeniser_counts_too() -> None:
    counts = count_sentences(["Fish, cats."], ["Fish, dogs."], "13a")
    assert counts == ("4 4 3 1 0 0 4 3 2 1",)  # words; matching n-grams; n-grams
    assert CountedBLEU("13a").of(counts) == pytest.approx(
        bleu_metric("13a").corpus_score(["Fish, cats."], [["Fish, dogs."]]).score
    )


def test_counts_need_no_tokeniser() -> None:
    found = CountedBLEU("flores200")  # which would fetch a model
    assert found.of(count_sentences(POOR, REFERENCES)) == CountedBLEU().of(count_sentences(POOR, REFERENCES))
    assert "tok:flores200" in str(found.get_signature())


def test_tests_of_the_counts_are_those_of_the_text() -> None:
    by_text = PairedTests(bleu_metric("none", REFERENCES), 200, 200).test(
        Output("a", "a", GOOD), Output("b", "b", POOR)
    )
    good, poor = (Output(name, name, count_sentences(text, REFERENCES)) for name, text in (("a", GOOD), ("b", POOR)))
    by_counts = PairedTests(CountedBLEU(), 200, 200).test(good, poor)
    assert (by_counts.p_bootstrap, by_counts.p_randomisation) == (by_text.p_bootstrap, by_text.p_randomisation)
    assert by_counts.difference == pytest.approx(by_text.difference)


def _run(system: str, seeds: tuple[int, ...], text: list[str], **given: Any) -> CountedRun:
    counts = count_sentences(text, REFERENCES)
    found = {"dev": counts, "test": counts}
    values = {"system": system, "seeds": seeds, "recipe": "r", "counts": found, "seconds": 60 * seeds[0]}
    return CountedRun(**values | given)


def _file(*runs: CountedRun, checksum: str = "c", tokenise: str = "none") -> CountsFile:
    text = CountedText(name="test.en", checksum=checksum, sentences=len(REFERENCES))
    return CountsFile(
        title="One", tokenise=tokenise, texts={"dev": text, "test": text}, published={"seq2seq": 10.9}, runs=runs
    )


def test_seeds_of_several_files_are_one_row(tmp_path: Path) -> None:
    one = (tmp_path / "one", _file(_run("seq2seq", (1,), POOR), _run("seq2seq", (1, 2), GOOD)))
    two = (tmp_path / "two", _file(_run("trdec-binary", (1,), GOOD), _run("seq2seq", (2,), GOOD)))
    (_, runs), (title, ensembles) = counts_tables(join_counts([one, two]), "test")
    cells = [dict(zip(runs.header, row, strict=True)) for row in runs.rows]
    assert [(row["system"], row["seeds"]) for row in cells] == [("seq2seq", "1, 2"), ("trdec-binary", "1")]
    poor, good = (bleu_metric("none").corpus_score(text, [REFERENCES]).score for text in (POOR, GOOD))
    assert cells[0]["test BLEU"].startswith(f"{(poor + good) / 2:.2f} ± ")
    assert cells[0]["minutes to train"] == "2"  # the mean of 1 and 2, rounded to the even number
    assert cells[0]["published"] == "10.90"
    assert cells[1]["gain"] == f"{good - poor:+.2f}"  # over the seed that both have
    assert cells[1]["test BLEU"] == f"{good:.2f}"  # no mark: its seed 2 is missing
    assert any(
        re.search(r"^trdec-binary has no mark.* equal seeds only.* seq2seq, seed 2\.", note) for note in runs.notes
    )
    assert title == "Ensembles"
    assert [row[:2] for row in ensembles.rows] == [("seq2seq", "1+2")]
    assert signature(one[1]) == str(bleu_metric("none", REFERENCES).get_signature())


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    one = (tmp_path / "one", _file(_run("seq2seq", (1,), POOR)))
    with pytest.raises(UsageError, match=r"seq2seq, seed 1 is both in .*one and in .*two"):
        list(counts_tables(join_counts([one, (tmp_path / "two", one[1])]), "test"))
    other = (tmp_path / "two", _file(_run("seq2seq", (2,), POOR), checksum="d"))
    with pytest.raises(UsageError, match=r"one and .*two were scored on different texts"):
        list(counts_tables(join_counts([one, other]), "test"))
    dev = other[1].texts | {"test": one[1].texts["test"]}
    with pytest.raises(UsageError, match=r"one and .*two were scored on different texts: each has its own dev"):
        list(counts_tables(join_counts([one, (tmp_path / "two", other[1].model_copy(update={"texts": dev}))]), "test"))
    raw = (tmp_path / "two", _file(_run("seq2seq", (2,), POOR), tokenise="13a"))
    with pytest.raises(UsageError, match=r"tokeniser none, .*two with 13a"):
        list(counts_tables(join_counts([one, raw]), "test"))
    empty = (tmp_path / "two", _file())
    with pytest.raises(UsageError, match=r"scored on test, found none\. Choose the other `text`"):
        list(counts_tables(join_counts([empty]), "test"))
    longer = _run("seq2seq", (2,), POOR).model_copy(update={"recipe": "longer"})
    with pytest.raises(UsageError, match=r"seq2seq was trained with one configuration in .*one and with another in"):
        list(counts_tables(join_counts([one, (tmp_path / "two", _file(longer))]), "test"))


def test_a_recipe_is_what_is_learnt_from_what(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("system: seq2seq\noutput: a\ndata: {train: {source: a, target: b}, dev: {source: c, target: d}}\n")

    def recipe(*overrides: str, files: tuple[str, ...] = ("1", "2")) -> str:
        return recipe_checksum(load_configuration(path, overrides), files)

    same = ["seed=2", "output=b", "folder=x", "data.train.source=e", "training.threads=2", "search.beam_size=20"]
    assert recipe() == recipe(*same, files=("2", "1"))
    for other in ("model.hidden_size=9", "training.max_updates=9", "system=ccg", "data.min_rule_count=3"):
        assert recipe() != recipe(other)
    assert recipe() != recipe(files=("1", "3"))


@pytest.mark.parametrize("system", ["seq2seq", "trdec-binary"])
@pytest.mark.parametrize(
    ("folder", "overrides"),
    [
        # As the pages of results say of each; the two keys that are switched off are younger than the counts.
        ("or-en-ten-passes", ["training.precision=bfloat16", "training.guidance=0", "model.lexical=false"]),
        ("transformers", ["training.precision=bfloat16", "training.guidance=0", "model.lexical=false"]),
        ("or-en-guided", ["model.lexical=false"]),
        ("or-en", []),
    ],
)
def test_counts_that_are_kept_stand_for_the_same_trainings_today(
    folder: str, overrides: list[str], system: str
) -> None:
    today = recipe_checksum(load_configuration(OR_EN, [f"system={system}", *overrides], pairs=6450), OR_EN_FILES)
    kept = {run.recipe for run in read_counts(RESULTS / folder / "counts.json").runs if run.system == system}
    assert kept == {today}


@pytest.mark.parametrize("key", ["model.lexical=true", "training.guidance=0.5"])
def test_what_is_switched_on_is_another_recipe(key: str) -> None:
    without = ["training.guidance=0", "model.lexical=false"]
    plain, other = (load_configuration(OR_EN, keys, pairs=6450) for keys in (without, [*without, key]))
    assert recipe_checksum(plain, ()) != recipe_checksum(other, ())


def test_a_table_says_how_runs_were_searched(tmp_path: Path) -> None:
    mixed = [_run("seq2seq", (seed,), POOR, beam_size=beam, length_power=1) for seed, beam in ((1, 5), (2, 20))]
    alike = [_run("lin", (seed,), GOOD, beam_size=20, length_power=1.5) for seed in (1, 2)]
    unknown = [_run("ccg", (1,), POOR), _run("ccg", (2,), POOR, length_power=0.5)]
    together = _run("lin", (1, 2), GOOD)
    (_, runs), (_, ensembles) = counts_tables(
        join_counts([(tmp_path, _file(*mixed, *alike, *unknown, together))]), "test"
    )
    cells = [dict(zip(runs.header, row, strict=True)) for row in runs.rows]
    assert [(row["beam"], row["length power"]) for row in cells] == [("5, 20", "1"), ("20", "1.5"), ("-", "-, 0.5")]
    (note,) = [note for note in runs.notes if "searched" in note]
    assert note.startswith("Runs of seq2seq, ccg were searched in different ways")
    assert "beam" not in ensembles.header  # of these it is not known
    ((_, one),) = counts_tables(join_counts([(tmp_path, _file(*alike))]), "test")
    assert not any("searched" in note for note in one.notes)


def test_counts_that_would_be_lost_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "counts.json"
    one, two, both = (_run("seq2seq", seeds, POOR) for seeds in ((1,), (2,), (1, 2)))
    assert replace_counts(path, _file(one, both)) is None
    assert replace_counts(path, _file(one, two, both)) is None  # more of them: nothing is lost
    dev_alone = one.model_copy(update={"counts": {"dev": one.counts["dev"]}})
    kept = replace_counts(path, _file(dev_alone, both))
    assert kept is not None
    assert kept.path == tmp_path / "counts-1.json"
    assert kept.runs == ("seq2seq, seed 1 (test)", "seq2seq, seed 2 (dev)", "seq2seq, seed 2 (test)")
    test_alone = one.model_copy(update={"counts": {"test": one.counts["test"]}})
    assert read_counts(kept.path) == _file(test_alone, two)
    assert read_counts(path) == _file(dev_alone, both)
    # Both files together are what was there before.
    files = [(name, read_counts(name)) for name in (path, kept.path)]
    (_, found), (_, before) = (
        next(counts_tables(join_counts(each), "test")) for each in (files, [(path, _file(one, two, both))])
    )
    assert [row[:3] for row in found.rows] == [row[:3] for row in before.rows]
    path.write_text("something else")
    unread = replace_counts(path, _file(one))
    assert unread is not None
    assert unread.path.name == "counts-2.json"
    assert unread.path.read_text() == "something else"
    assert unread.runs == ()
    assert "could not be read" in unread.warning(path)
    assert str(unread.path) in unread.warning(path)


@pytest.mark.parametrize(
    "now",
    [
        _file(_run("seq2seq", (1,), POOR), checksum="d"),
        _file(_run("seq2seq", (1,), POOR), tokenise="13a"),
        _file(_run("seq2seq", (1,), POOR, recipe="another")),
        _file(_run("seq2seq", (1,), GOOD, beam_size=20)),
    ],
    ids=["text", "tokeniser", "recipe", "search"],
)
def test_counts_of_another_text_training_or_search_are_kept(now: CountsFile, tmp_path: Path) -> None:
    before = _file(_run("seq2seq", (1,), POOR))
    write_counts(tmp_path / "counts.json", before)
    kept = replace_counts(tmp_path / "counts.json", now)
    assert kept is not None
    assert kept.runs == ("seq2seq, seed 1 (dev)", "seq2seq, seed 1 (test)")
    assert read_counts(kept.path) == before
    assert read_counts(tmp_path / "counts.json") == now


def _on(text: str, run: CountedRun) -> CountedRun:
    return run.model_copy(update={"counts": {text: run.counts[text]}})  # type: ignore[index]


def test_dev_and_test_of_a_run_may_stand_in_two_files(tmp_path: Path) -> None:
    run = _run("seq2seq", (1,), POOR)
    files = [(tmp_path / "one", _file(_on("test", run))), (tmp_path / "two", _file(_on("dev", run)))]
    ((_, apart),) = counts_tables(join_counts(files), "test")
    ((_, together),) = counts_tables(join_counts([(tmp_path / "one", _file(run))]), "test")
    assert apart == together
    assert dict(zip(apart.header, apart.rows[0], strict=True))["dev BLEU"] != "-"


def test_joined_files_say_what_they_say_apart(tmp_path: Path) -> None:
    run = _run("trdec-binary", (1,), GOOD, beam_size=20)
    one = _file(_on("test", run), _run("seq2seq", (2,), POOR), _run("seq2seq", (1, 2), GOOD))
    two = _file(_run("seq2seq", (1,), GOOD), _on("dev", run), _run("trdec-binary", (3,), POOR))
    files = [(tmp_path / "one", one), (tmp_path / "two", two)]
    joined = join_counts(files)
    expected = (run, two.runs[2], two.runs[0], *one.runs[1:])
    assert joined.runs == expected
    assert joined.published == one.published
    write_counts(tmp_path / "joined.json", joined)
    for text in ("dev", "test"):
        apart = list(counts_tables(join_counts(files), text))  # type: ignore[arg-type]
        again = list(
            counts_tables(join_counts([(tmp_path / "joined.json", read_counts(tmp_path / "joined.json"))]), text)
        )  # type: ignore[arg-type]
        assert apart == again
    assert apart[0][1].rows[0][0] == "trdec-binary"  # the first of the first file, with which the others are compared


def test_a_run_is_counted_once_on_each_text_and_searched_in_one_way(tmp_path: Path) -> None:
    run = _run("trdec-binary", (1,), GOOD, beam_size=20, length_power=1)

    def tables(one: CountedRun, two: CountedRun) -> None:
        list(counts_tables(join_counts([(tmp_path / "one", _file(one)), (tmp_path / "two", _file(two))]), "test"))

    for shared, other in (("dev", "test"), ("test", "dev")):
        for pair in ((_on(shared, run), _on(shared, run)), (run, _on(shared, run)), (_on(shared, run), run)):
            with pytest.raises(UsageError, match=r"trdec-binary, seed 1 is both in .*one and in .*two"):
                tables(*pair)
        for key, found, expected in (
            ("beam_size", 5, "beam size 20 in .*one and with 5 in"),
            ("length_power", 0.5, "power 1 in"),
        ):
            changed = _on(other, run).model_copy(update={key: found})
            with pytest.raises(UsageError, match=expected):
                tables(_on(shared, run), changed)
        unknown = _on(other, run).model_copy(update={"beam_size": None})
        assert join_counts([(tmp_path, _file(_on(shared, run))), (tmp_path, _file(unknown))]).runs == (run,)


def test_joining_keeps_what_another_file_would_lose(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    write_counts(one, _file(_run("seq2seq", (1,), POOR)))
    write_counts(two, _file(_run("trdec-binary", (1,), GOOD)))
    table_command([one, two], joined=one)
    assert "WARNING" not in capsys.readouterr().err
    table_command([one], figures=tmp_path / "drawn")
    assert "gain-by-length.svg: drawn" in capsys.readouterr().err
    names = ["gain-by-length.svg", "length-differences.svg", "output-lengths.svg"]
    assert sorted(path.name for path in (tmp_path / "drawn").iterdir()) == names
    both = read_counts(one)
    assert [run.system for run in both.runs] == ["seq2seq", "trdec-binary"]
    table_command([two], joined=one)  # as if `--join one two` joined the two
    said = capsys.readouterr().err
    assert "lacks: seq2seq, seed 1 (dev), seq2seq, seed 1 (test). They are kept as" in said
    assert str(tmp_path / "one-1.json") in said
    assert [run.system for run in read_counts(tmp_path / "one-1.json").runs] == ["seq2seq"]


def test_lengths_and_gains_of_the_counts_are_those_of_the_text(tmp_path: Path) -> None:
    texts = {"seq2seq": (POOR, GOOD), "trdec-binary": (REFERENCES, [f"{line} a a" for line in GOOD[:9]] + POOR[9:])}
    outputs = [
        Output(system, f"{system}-{seed}", lines, str(seed))
        for system, seeds in texts.items()
        for seed, lines in enumerate(seeds)
    ]
    outputs.append(Output("lin", "lin-1", POOR[:5] + REFERENCES[5:], "1"))  # its gain is over one of the seeds
    by_text = compare(REFERENCES, outputs, ComparisonOptions(significance=False, ter=False))
    runs = [_run(output.system, (int(output.seed or 0),), output.lines) for output in outputs]
    files = [(tmp_path / "one", _file(*runs[:3])), (tmp_path / "two", _file(*runs[3:], _run("seq2seq", (0, 1), POOR)))]
    for text in ("dev", "test"):
        by_counts = counts_by_length(join_counts(files), text)  # type: ignore[arg-type]
        assert by_counts.buckets == by_text.buckets
        assert list(length_contents(by_counts)) == list(length_contents(by_text))
        assert gain_by_length(by_counts) == gain_by_length(by_text)


def test_lengths_of_the_counts_are_in_the_tokens_of_bleu(tmp_path: Path) -> None:
    references, texts = ["Fish, cats.", "Dogs."], {"a": ["Fish, dogs.", "Dogs!"], "b": ["Fish", "Cats, dogs."]}
    outputs = [Output(system, system, lines, "1") for system, lines in texts.items()]
    report = compare(references, outputs, ComparisonOptions(significance=False, ter=False, tokenise="13a"))
    runs = tuple(
        CountedRun(
            system=output.system,
            seeds=(1,),
            recipe="r",
            counts={"dev": count_sentences(output.lines, references, "13a")},
        )
        for output in outputs
    )
    dev = CountedText(name="dev.en", checksum="c", sentences=2)
    counts = CountsFile(title="One", tokenise="13a", texts={"dev": dev}, runs=runs)
    found = counts_by_length(join_counts([(tmp_path, counts)]), "dev").systems
    assert [row.histogram.counts for row in report.systems] == [{0: 2}, {-1: 1, 1: 1}]
    assert [row.histogram.counts for row in found] == [{0: 2}, {-3: 1, 2: 1}]


def test_systems_are_chosen_in_their_order() -> None:
    content = _file(
        _run("seq2seq", (1,), POOR), _run("ccg", (1,), GOOD), _run("lin", (1,), GOOD), _run("lin", (1, 2), GOOD)
    )
    assert [run.name for run in join_counts([(Path("one"), content)], ["lin", "seq2seq", "lin"]).runs] == [
        *("lin, seed 1", "seq2seq, seed 1"),
        "lin, seeds 1, 2",
    ]
    with pytest.raises(UsageError, match=r"one of seq2seq, ccg, lin; found 'trdec-con'"):
        join_counts([(Path("one"), content)], ["seq2seq", "trdec-con"])


def test_only_what_is_chosen_must_fit_together() -> None:
    one = (Path("one"), _file(_run("seq2seq", (1,), POOR), _run("ccg", (1,), GOOD)))
    two = (Path("two"), _file(_run("lin", (1,), GOOD), _run("ccg", (2,), GOOD, recipe="another")))
    with pytest.raises(UsageError, match="ccg was trained"):
        join_counts([one, two])
    assert [run.name for run in join_counts([one, two], ["lin", "seq2seq"]).runs] == [
        *("lin, seed 1", "seq2seq, seed 1")
    ]
    other_test = CountedText(name="test.en", checksum="d", sentences=len(REFERENCES))
    three = (Path("three"), two[1].model_copy(update={"texts": two[1].texts | {"test": other_test}}))
    with pytest.raises(UsageError, match="each has its own test"):
        join_counts([one, three], ["seq2seq", "lin"])
    dev = join_counts([one, three], ["seq2seq", "lin"], ("dev",))
    assert dev.texts.keys() == {"dev"}
    assert dev.runs == (_on("dev", one[1].runs[0]), _on("dev", three[1].runs[0]))


def test_tables_of_dev_need_no_common_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    write_counts(one, _file(_run("seq2seq", (1,), POOR)))
    other = _file(_run("lin", (1,), GOOD))
    other_test = CountedText(name="test.en", checksum="d", sentences=len(REFERENCES))
    write_counts(two, other.model_copy(update={"texts": other.texts | {"test": other_test}}))
    table_command([one, two], text=ScoredText.dev)
    assert "| lin " in capsys.readouterr().out
    for options in ({"text": ScoredText.test}, {"text": ScoredText.dev, "joined": tmp_path / "joined.json"}):
        with pytest.raises(UsageError, match="each has its own test"):
            table_command([one, two], **options)  # type: ignore[arg-type]
    assert not (tmp_path / "joined.json").exists()


def test_published_scores_stand_only_beside_those_on_test(tmp_path: Path) -> None:
    one = (tmp_path / "one", _file(_run("seq2seq", (1,), POOR)))
    for text, shown in (("test", True), ("dev", False)):
        ((_, table),) = counts_tables(join_counts([one]), text)  # type: ignore[arg-type]
        assert ("published" in table.header) == shown


def test_writing_and_reading_are_inverses(tmp_path: Path) -> None:
    content = _file(_run("seq2seq", (1,), POOR), _run("seq2seq", (1, 2), GOOD))
    write_counts(tmp_path / "counts.json", content)
    assert read_counts(tmp_path / "counts.json") == content


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ('"tokenise"', '"tokenize"', r"tokenise: Field required"),
        ('"5 5', '"5 five', r"runs\.0\.counts.*: String should match"),
        ('"sentences": 20', '"sentences": 21', r"counts of 21 sentences of dev for seq2seq, seed 1, found 20"),
        ("{", "", r"Invalid JSON"),
    ],
)
def test_a_damaged_file_is_named(right: str, wrong: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "counts.json"
    write_counts(path, _file(_run("seq2seq", (1,), POOR)))
    text = path.read_text()
    assert right in text
    path.write_text(text.replace(right, wrong, 1))
    with pytest.raises(FileError, match=rf"counts\.json: expected.*{message}.*"):
        read_counts(path)


def test_runs_with_other_references_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "counts.json"
    one, other = _run("seq2seq", (1,), POOR), _run("lin", (1,), POOR)
    longer = tuple(line.replace(" 5 ", " 6 ", 1) for line in other.counts["dev"])
    without = tuple(" ".join(["5", "0", *["0"] * 8]) for _ in REFERENCES)
    for found, name in (((one, _counted(other, longer)), "lin"), ((_counted(one, without),), "seq2seq")):
        write_counts(path, _file(*found))
        with pytest.raises(FileError, match=rf"the same reference of dev for all runs, .* another for {name}, seed 1"):
            read_counts(path)


def _counted(run: CountedRun, counts: tuple[str, ...]) -> CountedRun:
    return run.model_copy(update={"counts": {"dev": counts}})


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"counts\.json: cannot be read"):
        read_counts(tmp_path / "counts.json")
