"""`trdec compare` as a person runs it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support.commands import run
from support.degraded import degraded, invented
from trdec.cli.compare import compare_command
from trdec.evaluation.comparison import ComparisonOptions
from trdec.evaluation.comparison import compare as compare_outputs
from trdec.evaluation.report import comparison_markdown
from trdec.evaluation.scores import Output

REFERENCES = invented(25, longest=30)
QUICK = ("--samples", 20, "--trials", 30, "--seed", 3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    texts = {
        "ref": REFERENCES,
        "a.1": degraded(REFERENCES, 0.3, 1),
        "a.2": degraded(REFERENCES, 0.3, 2),
        "b.1": degraded(REFERENCES, 0.1, 3),
        "b.2": degraded(REFERENCES, 0.1, 4),
        "short": ["x"],
        "odd=name": REFERENCES,
    }
    for name, lines in texts.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    return tmp_path


def test_the_same_name_is_several_seeds_and_options_reach_the_comparison(folder: Path) -> None:
    systems = [f"A={folder}/a.1", f"A={folder}/a.2", f"B={folder}/b.1", f"B={folder}/b.2"]
    options = ("--buckets", "5,15", "--examples", 2, "--tokenise", "13a")
    result = run(compare_command, folder / "ref", *systems, *QUICK, *options)
    outputs = [Output(system[0], system[2:], Path(system[2:]).read_text().splitlines()) for system in systems]
    expected = compare_outputs(REFERENCES, outputs, ComparisonOptions("13a", True, 20, 30, 3, (5, 15), 2))
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == comparison_markdown(expected)
    content = json.loads(run(compare_command, folder / "ref", *systems, *QUICK, *options, "--json").stdout)
    assert content == json.loads(json.dumps(expected.to_json()))


def test_the_training_text_gives_the_accuracy_of_rare_and_frequent_words(folder: Path) -> None:
    (folder / "train").write_text("The cat, the cat.\n" * 5)
    systems = (folder / "ref", f"A={folder}/a.1", f"B={folder}/ref", "--no-significance", "--no-ter")
    content = json.loads(run(compare_command, *systems, "--json", "--training-text", folder / "train").stdout)
    assert content["systems"][1]["words"]["total"]["f1"] == 1
    written = [word for line in REFERENCES for word in line.split()]
    found = {
        (group["fewest"], group["most"]): words["expected"]
        for group, words in zip(content["frequencies"], content["systems"][1]["words"]["groups"], strict=True)
    }
    assert found[5, 9] == written.count("the")  # `cat,` and `cat.` are other words
    # The tokeniser splits the training text too.
    split = json.loads(
        run(compare_command, *systems, "--json", "--training-text", folder / "train", "--tokenise", "13a").stdout
    )
    assert split["systems"][1]["words"]["groups"][5]["expected"] == written.count("cat")
    refused = run(compare_command, *systems, "--training-text", folder / "none")
    assert f"FileError: {folder}/none: cannot be read" in refused.stderr


def test_a_file_without_a_name_is_named_by_itself(folder: Path) -> None:
    files = (folder / "a.1", folder / "odd=name")
    result = run(compare_command, folder / "ref", *files, "--no-significance", "--json")
    content = json.loads(result.stdout)
    assert [system["name"] for system in content["systems"]] == list(map(str, files))
    assert content["systems"][1]["bleu"]["mean"] == pytest.approx(100)
    assert content["tests"] is None


def test_a_page_is_written_beside_the_markdown(folder: Path) -> None:
    systems = (folder / "ref", f"A={folder}/a.1", f"B={folder}/b.1", *QUICK)
    result = run(compare_command, *systems, "--html", folder / "page.html")
    assert result.stderr == f"Wrote {folder}/page.html\n"
    assert result.stdout == run(compare_command, *systems).stdout
    html = (folder / "page.html").read_text(encoding="utf-8")
    assert "<h1>2 systems on 25 sentences</h1>" in html
    assert html.count("<svg") == 3
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".")) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["A={}/a.1"], "UsageError: expected at least two systems to compare, found 1: A."),
        (["A={}/a.1", "A={}/a.2"], "To score one system by itself use: trdec evaluate"),
        (["A={}/a.1", "B={}/short"], "TextFormatError: expected as many lines in both, found 1 in {}/short and 25 in"),
        (["A={}/a.1", "B={}/none"], "FileError: {}/none: cannot be read"),
        (["A={}/a.1", "={}/b.1"], "UsageError: expected FILE or NAME=FILE for a system, found '={}/b.1'"),
        (["A={}/a.1", "B="], "UsageError: expected FILE or NAME=FILE for a system, found 'B='"),
        (
            ["A={}/a.1", "B={}/b.1", "--buckets", "a"],
            "lengths separated by commas for --buckets (such as 10,20,30), found 'a'",
        ),
        (["A={}/a.1", "B={}/b.1", "--buckets", "9,3"], "ascending and at least 1 (such as 10,20,30,40), found 9,3"),
        (["A={}/a.1", "B={}/b.1", "--html", "-"], "UsageError: --html needs a file"),
        (["A={}/a.1", "B={}/b.1", *QUICK, "--html", "{}/no/page"], "FileError: {}/no/page: cannot be written"),
    ],
)
def test_what_cannot_be_compared_is_said(folder: Path, arguments: list[object], message: str) -> None:
    result = run(compare_command, folder / "ref", *(str(argument).replace("{}", str(folder)) for argument in arguments))
    assert (result.returncode, result.stdout) == (1, "")
    assert message.replace("{}", str(folder)) in result.stderr


def test_the_verb_is_there(folder: Path, trdec: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    systems = ("ref", "A=a.1", "B=b.1", *QUICK)
    result = trdec("compare", *systems, cwd=folder)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == trdec("compare", *systems, cwd=folder).stdout
    assert result.stdout.startswith("# 2 systems on 25 sentences\n")
