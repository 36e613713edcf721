"""`trdec evaluate` as a person runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.commands import run
from trdec.cli.evaluate import BleuTokeniser, evaluate_command
from trdec.evaluation.scores import TOKENISERS, score_texts

HYPOTHESES = ["the cat sat on the mat", "a dog", ""]
REFERENCES = ["the cat sat on a mat", "a dog barks", "a fish ."]
Write = Callable[[str, list[str]], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(name: str, lines: list[str]) -> Path:
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return tmp_path / name

    return written


@pytest.fixture
def files(write: Write) -> tuple[Path, str, Path]:
    return write("hyp", HYPOTHESES), "--reference", write("ref", REFERENCES)


def test_scores_stand_with_their_signatures(files: tuple[Path, str, Path]) -> None:
    result = run(evaluate_command, *files)
    expected = score_texts(HYPOTHESES, REFERENCES)
    bleu, chrf, ter, ratio, sentences = result.stdout.splitlines()
    assert bleu.split() == ["BLEU", f"{expected.bleu.score:.2f}", expected.bleu.signature]
    assert chrf.split() == ["chrF++", f"{expected.chrf.score:.2f}", expected.chrf.signature]
    assert expected.ter is not None
    assert ter.split() == ["TER", f"{expected.ter.score:.2f}", expected.ter.signature]
    assert ratio.split(maxsplit=3) == ["length", "ratio", "0.667", "8 words, 12 in the reference"]
    assert sentences.split() == ["sentences", "3"]
    assert (result.returncode, result.stderr) == (0, "")


def test_translations_are_read_from_standard_input_and_json_is_written(files: tuple[Path, str, Path]) -> None:
    result = run(evaluate_command, "-", *files[1:], "--json", stdin="".join(f"{line}\n" for line in HYPOTHESES))
    expected = score_texts(HYPOTHESES, REFERENCES).to_json()
    content = json.loads(result.stdout)
    assert content == {**expected, "source_words": None, "source_ratio": None, "trees": None, "worst": []}


def test_ter_can_be_left_out(files: tuple[Path, str, Path]) -> None:
    assert "TER" not in run(evaluate_command, *files, "--no-ter").stdout
    assert json.loads(run(evaluate_command, *files, "--no-ter", "--json").stdout)["ter"] is None


def test_the_tokeniser_is_sacrebleus(files: tuple[Path, str, Path]) -> None:
    assert "tok:char" in run(evaluate_command, *files, "--tokenise", "char").stdout
    assert tuple(tokeniser.value for tokeniser in BleuTokeniser) == ("auto", *TOKENISERS)


@pytest.mark.parametrize(
    ("reference", "tokeniser"),
    [
        ("The cat sleeps , it seems .\n", "none"),
        ("The cat sleeps, it seems.\n", "13a"),
        ("Ó lọ sí ọjà, ó sì padà.\n", "13a"),
        ("猫在睡觉，狗在跑步。\n", "zh"),
    ],
)
def test_the_tokeniser_follows_from_the_text_and_is_said(tmp_path: Path, reference: str, tokeniser: str) -> None:
    (tmp_path / "ref").write_text(reference * 3)
    found = run(evaluate_command, tmp_path / "ref", "--reference", tmp_path / "ref")
    assert f"tok:{tokeniser}" in found.stdout
    assert (tokeniser in found.stderr) == (tokeniser != "none")


def test_raw_text_is_not_scored_as_tokenised_without_a_warning(tmp_path: Path) -> None:
    (tmp_path / "ref").write_text("The cat sleeps, it seems.\n" * 3)
    found = run(evaluate_command, tmp_path / "ref", "--reference", tmp_path / "ref", "--tokenise", "none")
    assert "tok:none" in found.stdout
    assert "WARNING" in found.stderr
    assert "13a" in found.stderr


def test_the_source_gives_a_ratio_and_stands_with_examples(files: tuple[Path, str, Path], write: Write) -> None:
    source = write("src", ["die Katze sass auf der Matte", "ein Hund bellt", "ein Fisch ."])
    result = run(evaluate_command, *files, "--source", source, "--examples", 1)
    assert "ratio to the source          0.667  12 words in the source\n" in result.stdout
    assert result.stdout.endswith(
        "\nline 3, chrF++ 0.0\n  source      ein Fisch .\n  reference   a fish .\n  hypothesis\n"
    )


def test_trees_are_scored(files: tuple[Path, str, Path], write: Write) -> None:
    trees = write("trees", ["(ROOT (S (NP the cat) sat on the mat))", "(ROOT (NP a cat))", "(())"])
    alone = run(evaluate_command, *files, "--trees", trees).stdout
    assert "well-formed trees            66.7%  2 of 3 have the translation's words\n" in alone
    assert "depth                          2.5  mean over 2 trees\n" in alone
    assert "nodes                          2.5\n" in alone
    assert "comparable" not in alone
    assert "builder-shaped" not in alone
    chain = write("trees", ["(ROOT (X the (X cat (X sat (X on (X the mat))))))", "(ROOT (X a (X cat barks)))", ""])
    shaped = run(evaluate_command, *files, "--trees", chain).stdout
    expected = "builder-shaped trees        100.0%  2 of 2 trees with three or more words: right-branching 2\n"
    assert expected in shaped


def test_trees_are_compared_with_reference_trees_made_in_the_same_way(write: Write) -> None:
    reference = write("ref", ["a cat", "a dog"])
    trees = write("trees", ["(ROOT (NP a cat))", "(ROOT (NP a fish))"])
    penn = write("con", ["(ROOT (NP-SBJ (DT a) (NN cat)))", "(ROOT (NP (DT a) (NN dog)))"])
    options = ("--reference", reference, "--trees", trees, "--reference-trees", penn)
    tagged = run(evaluate_command, reference, *options).stdout
    assert "comparable trees                 1  of 2 have the reference tree's words" in tagged
    assert "labelled bracket F1           50.0  precision 100.0, recall 33.3\n" in tagged
    stripped = run(evaluate_command, reference, *options, "--transform", "strip-tags").stdout
    assert "\nlabelled bracket F1          100.0" in stripped
    null = run(evaluate_command, reference, *options, "--transform", "strip-tags", "--transform", "null-labels").stdout
    assert "\nlabelled bracket F1            0.0" in null
    assert "\nunlabelled bracket F1        100.0" in null


def test_files_that_do_not_fit_are_named(files: tuple[Path, str, Path], write: Write) -> None:
    short = write("short", ["a"])
    for arguments in ((short, *files[1:]), (*files, "--source", short), (*files, "--trees", short)):
        result = run(evaluate_command, *arguments)
        assert result.returncode == 1
        assert result.stdout == ""
        assert (
            f"TextFormatError: expected as many lines in both, found 1 in {short} and 3 in {files[2]}." in result.stderr
        )
    empty = write("empty", [])
    refused = run(evaluate_command, files[0], "--reference", empty)
    assert f"TextFormatError: {empty}: expected reference translations" in refused.stderr


def test_arguments_that_do_not_go_together_are_refused(files: tuple[Path, str, Path]) -> None:
    assert (
        "--reference-trees has nothing to be compared with"
        in run(evaluate_command, *files, "--reference-trees", "x").stderr
    )
    assert "the reference must be a file" in run(evaluate_command, files[0], "--reference", "-").stderr


def test_help_needs_no_scoring_library() -> None:
    code = (
        "import sys, trdec.cli.main; sys.exit(bool({'torch', 'sacrebleu', 'matplotlib', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_verb_is_there(
    files: tuple[Path, str, Path], trdec: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    result = trdec("evaluate", *files)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == run(evaluate_command, *files).stdout
