"""What a word is where no space parts words, and that nothing changes where spaces do."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.ter import TER

from support.commands import run
from support.degraded import degraded, invented
from support.raw_lines import RAW_LINES
from trdec.cli.evaluate import evaluate_command
from trdec.evaluation.comparison import Comparison, ComparisonOptions, compare
from trdec.evaluation.lengths import count_lengths, length_buckets, length_differences
from trdec.evaluation.report import comparison_markdown, comparison_sections, page
from trdec.evaluation.scores import (
    NO_TER,
    TOKENISERS,
    Output,
    bleu_tokeniser,
    evaluate_texts,
    score_texts,
    ter_metric,
    word_splitter,
    word_tokeniser,
)
from trdec.evaluation.tables import buckets_table, length_agreement_table, lengths_table, scores_table
from trdec.evaluation.word_accuracy import bleu_splitter, count_words
from trdec.experiment.results import samples
from trdec.files import split_words
from unit.evaluation.test_evaluation_scores import sacrebleu, write

CHINESE = "猫在花园里的老树下面睡觉而狗在河边跑步。"
THAI, JAPANESE = "แมวกำลังนอนหลับอยู่ใต้ต้นไม้", "猫は庭の木の下で寝ています。"
INSTALLED = ("none", "13a", "intl", "zh", "char")
UNSPACED_LANGUAGES = ("zh", "ja", "th", "lo", "km", "my")
FAST = ComparisonOptions("zh", samples=20, trials=20, examples=1)

characters = st.sampled_from("猫狗花园河边跑步睡觉")
chinese = st.text(st.sampled_from("猫狗花园河边跑步，。（）“” \u3000ab12.,-"), max_size=20)


def compared(*outputs: list[str], options: ComparisonOptions = FAST, reference: str = CHINESE) -> Comparison:
    named = [Output(str(number), str(number), lines) for number, lines in enumerate(outputs)]
    return compare([reference] * len(outputs[0]), named, options)


@pytest.mark.parametrize("tokenise", TOKENISERS)
@pytest.mark.parametrize("language", sorted(RAW_LINES.keys() - set(UNSPACED_LANGUAGES)))
def test_spaces_part_words_wherever_a_script_has_them(language: str, tokenise: str) -> None:
    assert word_tokeniser([RAW_LINES[language]], tokenise) == "none"


@pytest.mark.parametrize("tokenise", TOKENISERS)
def test_spaces_part_words_in_text_that_was_split_into_words_before(tokenise: str) -> None:
    split = [" ".join(CHINESE[start : start + 2] for start in range(0, len(CHINESE), 2))[:-1] + " 。"]
    assert word_tokeniser(split, tokenise) == "none"
    assert word_tokeniser([CHINESE], "zh") == "zh"


@pytest.mark.parametrize("language", UNSPACED_LANGUAGES)
def test_the_tokeniser_finds_the_words_of_a_script_without_spaces(language: str) -> None:
    lines = [RAW_LINES[language]]
    chosen = bleu_tokeniser(lines, is_raw=True)
    assert word_tokeniser(lines, chosen) == chosen
    # Tokenised text has spaces, and so has what is read as if it were.
    assert {word_tokeniser(lines, tokenise) for tokenise in ("none", "13a", "intl")} == {"none"}


@settings(max_examples=50)
@given(st.lists(st.tuples(chinese, chinese), min_size=1, max_size=5), st.sampled_from(["zh", "char"]))
def test_lengths_are_counted_in_bleus_words(found: list[tuple[str, str]], tokenise: str) -> None:
    hypotheses, references = map(list, zip((CHINESE, CHINESE), *found, strict=True))
    chosen = word_tokeniser(references, tokenise)
    assert chosen == tokenise
    split = word_splitter(chosen)
    scores = score_texts(hypotheses, references, tokenise, with_ter=False)
    lengths = count_lengths([[len(split(line)) for line in hypotheses]], [len(split(line)) for line in references])
    assert lengths.ratio == scores.length_ratio
    assert sum(length * count for length, count in lengths.outputs.items()) == scores.hypothesis_words
    assert count_words(hypotheses, bleu_splitter(tokenise)).total() == scores.hypothesis_words


@settings(max_examples=30)
@given(st.text(characters, min_size=1, max_size=30), st.data())
def test_a_wrong_chinese_character_is_one_edit(line: str, data: Any) -> None:
    place = data.draw(st.integers(0, len(line) - 1))
    scores = score_texts([f"{line[:place]}错{line[place + 1 :]}"], [line], "zh")
    assert scores.ter is not None
    assert scores.ter.score == pytest.approx(100 / len(line))


def test_ter_of_chinese_is_that_of_sacrebleus_command_line(tmp_path: Path) -> None:
    references = [CHINESE, "2024年他用3.5元买了《Python》，对吗？", "我们走吧！"]
    hypotheses = ["狗在花园里的老树下面睡觉而猫跑步。", "2024年他用3,5元买“Python”，对吗？", ""]
    files = write(tmp_path / "ref", references), "-i", write(tmp_path / "hyp", hypotheses)
    expected = sacrebleu(*files, "-m", "ter", "--ter-normalized", "--ter-asian-support")
    ter = score_texts(hypotheses, references, "zh").ter
    assert ter is not None
    assert ter.score == pytest.approx(expected["score"], abs=1e-9)
    assert ter.signature == expected["signature"]
    assert "norm:yes|punct:yes|asian:yes" in ter.signature
    # BLEU over characters or pieces does not change which words TER can find.
    assert score_texts(hypotheses, references, "char").ter == ter


@pytest.mark.parametrize("tokenise", INSTALLED)
def test_text_with_spaces_has_the_figures_that_it_has_without_a_tokeniser(tokenise: str) -> None:
    references = [f"{line}, (and 10\u00a0000 so-on)." for line in invented(20, longest=30)]
    outputs = [Output(str(seed), str(seed), degraded(references, 0.2, seed)) for seed in (1, 2)]
    options = ComparisonOptions(tokenise, samples=5, trials=5, examples=2)
    found, plain = (
        compare(references, outputs, each) for each in (options, ComparisonOptions("none", samples=5, trials=5))
    )
    expected_lengths = [len(split_words(line)) for line in references]
    assert found.buckets == plain.buckets == length_buckets(expected_lengths)
    for row, expected in zip(found.systems, plain.systems, strict=True):
        assert (row.histogram, row.lengths, row.paired_ter) == (
            expected.histogram,
            expected.lengths,
            expected.paired_ter,
        )
        assert [scores.ter for scores in row.scores] == [scores.ter for scores in expected.scores]
    lines = outputs[0].lines
    assert found.systems[0].ter_mean == TER().corpus_score(list(lines), [references]).score
    written = [len(split_words(line)) for line in lines]
    assert found.systems[0].lengths == count_lengths([written], expected_lengths)
    assert found.systems[0].histogram == length_differences([written], expected_lengths)
    evaluated = evaluate_texts(lines, references, references, tokenise=tokenise, with_ter=False)
    assert evaluated.source_words == sum(len(split_words(line)) for line in references)
    assert evaluated.source_ratio == sum(len(split_words(line)) for line in lines) / evaluated.source_words
    for table in (scores_table(found), buckets_table(found), lengths_table(found), length_agreement_table(found)):
        assert not any("tokeniser" in note or "Chinese" in note for note in table.notes)


def test_an_output_of_a_tenth_of_the_length_is_seen() -> None:
    assert len(CHINESE) == 20
    found = compared([CHINESE[:2]], [CHINESE])
    short, whole = found.systems
    assert (short.lengths.ratio, whole.lengths.ratio) == (0.1, 1)
    assert (short.histogram.exact, short.histogram.mean, short.histogram.mean_absolute) == (0, -18, 18)
    assert (short.lengths.outputs, short.lengths.references) == ({2: 1}, {20: 1})
    assert (whole.histogram.exact, whole.histogram.mean_absolute) == (1, 0)
    assert [bucket.label for bucket in found.buckets if bucket.sentences] == ["11-20"]
    assert (short.ter_mean, whole.ter_mean) == (pytest.approx(90), 0)
    assert found.to_json()["word_tokeniser"] == "zh"


def test_the_tables_say_what_a_word_is() -> None:
    found = compared([CHINESE[:2]], [CHINESE])
    for table in (buckets_table(found), lengths_table(found), length_agreement_table(found)):
        assert "Words are those that sacreBLEU's tokeniser zh finds." in table.notes
    assert "In TER every Chinese character is a word." in scores_table(found).notes


@pytest.mark.parametrize("line", [THAI, JAPANESE])
def test_ter_is_left_out_with_a_note_where_sacrebleu_finds_no_words(line: str) -> None:
    assert ter_metric([line], "char") is None
    found = compared([line[:-1]], [line], options=ComparisonOptions("char", samples=20, trials=20), reference=line)
    shown = comparison_markdown(found)
    assert found.systems[1].ter_mean is found.systems[1].paired_ter is found.to_json()["systems"][1]["ter"] is None
    assert "TER" not in scores_table(found).header
    assert shown.count("TER") == NO_TER.count("TER")
    assert NO_TER in shown
    # Whoever does not ask for it is told nothing.
    options = ComparisonOptions("char", samples=20, trials=20, ter=False)
    assert "TER" not in comparison_markdown(compared([line[:-1]], [line], options=options, reference=line))


def test_the_command_says_that_ter_is_left_out(tmp_path: Path) -> None:
    files = write(tmp_path / "hyp", [THAI]), "--reference", write(tmp_path / "ref", [THAI]), "--tokenise", "char"
    result = run(evaluate_command, *files, "--json")
    assert json.loads(result.stdout)["ter"] is None
    assert result.stderr == f"{NO_TER}\n"
    assert run(evaluate_command, *files, "--no-ter").stderr == ""


def test_the_ratio_to_the_source_counts_each_side_in_its_own_words() -> None:
    english = ["The cat sleeps, it seems."]
    to_chinese = evaluate_texts(["猫在睡觉。"], [CHINESE], english, tokenise="zh")
    assert (to_chinese.source_words, to_chinese.source_ratio) == (5, 1)
    to_english = evaluate_texts(english, english, [CHINESE], tokenise="13a")
    assert (to_english.source_words, to_english.source_ratio) == (20, 5 / 20)


def test_marks_stand_at_single_characters() -> None:
    html = page("x", comparison_sections(compared([CHINESE.replace("老", "<大>")], [CHINESE])))
    assert "猫在花园里的<mark>&lt;大&gt;</mark>树下面" in html
    assert "Characters that the reference does not have" in html
    # A vowel sign is not parted from its letter.
    options = ComparisonOptions("char", samples=20, trials=20, examples=1)
    html = page("x", comparison_sections(compared(["กินก้"], ["กินกี่"], options=options, reference="กินกี่")))
    assert "<dd>กิน<mark>ก้</mark></dd>" in html


def test_samples_are_chosen_by_their_words(tmp_path: Path) -> None:
    references = ["短。", "猫在花园里睡觉。", CHINESE]
    result = SimpleNamespace(output=Output("a", "a", references, trees=[None] * 3))
    results = SimpleNamespace(
        plan=SimpleNamespace(
            text=lambda _: (write(tmp_path / "src", ["1", "2", "3"]), write(tmp_path / "trg", references)),
            experiment=SimpleNamespace(samples=3),
        ),
        stage="translate",
        comparison=compare(references, [result.output], FAST),
        systems=lambda: ["a"],
        of=lambda _: [result],
    )
    assert [(sample.line, sample.reference) for sample in samples(cast(Any, results))] == [(2, references[1])]
