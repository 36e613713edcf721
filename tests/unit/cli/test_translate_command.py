"""`trdec translate` as a person runs it, with good input and bad."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from support.commands import run
from support.model_directory import trained
from trdec.cli.translate import translate_command


@pytest.fixture(scope="module")
def model() -> Path:
    return trained()


@pytest.fixture(scope="module")
def lines(model: Path) -> list[str]:
    return (model.parent / "toy" / "train.vel").read_text(encoding="utf-8").splitlines()[:3]


def test_each_line_gives_a_line(model: Path, lines: list[str], tmp_path: Path) -> None:
    result = run(translate_command, model, "--trees", tmp_path / "trees", stdin=f"{lines[1]}\n\n{lines[0]}\n")
    assert result.returncode == 0, result.stderr
    assert result.stdout == "The fish is not small .\n\nThe white woman that loves Nina was happy .\n"
    assert result.stderr == ""
    trees = (tmp_path / "trees").read_text().splitlines()
    assert trees[0] == "(ROOT (S (NP The fish) (VP is not (ADJP small)) .))"
    assert trees[1] == "(())"


def test_json_has_trees_scores_and_alternatives(model: Path, lines: list[str]) -> None:
    result = run(translate_command, model, "--format", "json", "--n-best", 2, "--beam-size", 3, stdin=f"{lines[1]}\n\n")
    first, empty = (json.loads(line) for line in result.stdout.splitlines())
    assert first["text"] == "The fish is not small ."
    assert first["tree"].startswith("(ROOT ")
    assert len(first["alternatives"]) == 1
    assert first["log_prob"] == pytest.approx(sum(action["log_prob"] for action in first["actions"]))
    assert {action["kind"] for action in first["actions"]} == {"rule", "word", "eop", "eos"}
    assert empty["text"] == ""


def test_json_has_attention_that_adds_up_unless_it_is_left_out(model: Path, lines: list[str]) -> None:
    result = run(translate_command, model, "--format", "json", "--n-best", 2, stdin=f"{lines[1]}\n\n")
    first, empty = (json.loads(line) for line in result.stdout.splitlines())
    for one in (first, *first["alternatives"]):
        looked = one["attention"]
        assert looked["source"][-1] == "<eos>"
        assert "".join(looked["source"][:-1]).replace("▁", " ").strip() == lines[1]
        assert {row["rnn"] for row in looked["rows"]} == {"rule", "word"}
        for row in looked["rows"]:
            assert len(row["weights"]) == len(looked["source"])
            assert round(sum(row["weights"]), 9) == 1
            assert (row["text"], row["kind"]) == tuple(one["actions"][row["action"]][key] for key in ("text", "kind"))
        spelt = ["".join(one["actions"][number]["text"] for number in word) for word in looked["words"]]
        assert [word.removeprefix("▁") for word in spelt] == one["text"].split()
    assert "attention" not in empty
    without = run(
        translate_command, model, "--format", "json", "--n-best", 2, "--no-attention", stdin=f"{lines[1]}\n\n"
    )
    for one in (first, *first["alternatives"]):
        del one["attention"]
    assert [json.loads(line) for line in without.stdout.splitlines()] == [first, empty]


def test_pictures_and_heatmaps_are_written_beside_the_translations(
    model: Path, lines: list[str], tmp_path: Path
) -> None:
    folder, page, table = tmp_path / "new" / "pictures", tmp_path / "page.html", tmp_path / "table.jsonl"
    text = f"{lines[1]}\n\n{lines[0]}\n"
    folder.mkdir(parents=True)
    (folder / "0001.svg").write_text("an earlier picture")
    (folder / "notes.txt").write_text("not ours")
    drawn = run(translate_command, model, "--draw", folder, "--attention", page, stdin=text)
    assert drawn.stdout == run(translate_command, model, "--attention", table, stdin=text).stdout
    assert sorted(path.name for path in folder.iterdir()) == ["0001.svg", "0002.svg", "0003.svg", "notes.txt"]
    assert (folder / "notes.txt").read_text() == "not ours"
    pictures = [ElementTree.parse(folder / f"000{number}.svg").getroot() for number in (1, 2, 3)]
    words = [[t.text for t in p.iter() if t.attrib.get("class") == "word"] for p in pictures]
    assert [" ".join(names) for names in words] == drawn.stdout.splitlines()
    assert [p.find("{*}title") is None for p in pictures] == [False, True, False]
    assert page.read_text().count("<table>") == 2
    assert page.read_text().endswith("</html>\n")
    rows = [json.loads(line) for line in table.read_text().splitlines()]
    assert [row["text"] for row in rows] == drawn.stdout.splitlines()
    assert rows[1] == {"text": "", "source": [], "words": [], "rows": []}
    assert rows[0]["rows"][0]["text"] == "ROOT -> S"


def test_a_page_of_heatmaps_is_whole_even_if_a_line_is_bad(model: Path, lines: list[str], tmp_path: Path) -> None:
    result = run(
        translate_command, model, "--attention", tmp_path / "a.html", stdin=f"{lines[1]}\n".encode() + b"caf\xe9\n"
    )
    assert "EncodingError" in result.stderr
    page = (tmp_path / "a.html").read_text()
    assert page.count("<table>") == 1
    assert page.endswith("</html>\n")


def test_where_pictures_and_attention_cannot_go_is_said_at_once(model: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    result = run(translate_command, model, "--draw", tmp_path / "file")
    assert (
        result.stderr
        == f"FileError: {tmp_path / 'file'}: expected a directory for pictures, found a file. Name another.\n"
    )
    result = run(translate_command, model, "--draw", tmp_path / "file" / "below")
    assert result.stderr == f"FileError: {tmp_path / 'file' / 'below'}: cannot be created: Not a directory.\n"
    assert (tmp_path / "file").read_text() == "precious"
    for name, found in (("a.png", "'.png'"), ("attention", "no ending")):
        result = run(translate_command, "no model is looked for", "--attention", name)
        assert result.stderr == (
            f"UsageError: {name}: expected a name that ends in .html, for a page of heatmaps, or in .jsonl, for JSON "
            f"lines; found {found}.\n"
        )
    result = run(translate_command, model, "--attention", tmp_path / "none" / "a.html")
    assert (
        result.stderr == f"FileError: {tmp_path / 'none' / 'a.html'}: cannot be written: No such file or directory.\n"
    )
    for option in ("--draw", "--attention"):
        result = run(translate_command, model, "--no-attention", option, tmp_path / "a.html")
        assert result.stderr == "UsageError: --no-attention leaves out what --attention and --draw show. Choose one.\n"


def test_several_translations_need_json(model: Path) -> None:
    result = run(translate_command, model, "--n-best", 2)
    assert result.returncode == 1
    assert result.stderr == (
        "UsageError: several translations of a line do not fit on one line of text. Add --format json.\n"
    )


def test_a_bad_line_leaves_what_was_translated_before_it(model: Path, lines: list[str], tmp_path: Path) -> None:
    text = f"{lines[1]}\n{lines[0]}\n".encode() + b"caf\xe9\n" + f"{lines[1]}\n".encode()
    result = run(translate_command, model, "-o", tmp_path / "out", stdin=text)
    assert result.returncode == 1
    assert "EncodingError: <standard input>, line 3: expected UTF-8" in result.stderr
    assert (tmp_path / "out").read_text().splitlines() == [
        "The fish is not small .",
        "The white woman that loves Nina was happy .",
    ]


def test_remarkable_lines_are_counted_at_the_end(model: Path, lines: list[str]) -> None:
    result = run(translate_command, model, stdin=f"{lines[0]}\x07\n猫\n{' '.join(lines * 30)}\n")
    assert len(result.stdout.split("\n")) == 4
    said = result.stderr
    assert "1 line held control characters or lone surrogates, which were read as spaces.\n" in said
    assert "1 line held characters or words that the model does not know.\n" in said
    assert "1 line held more pieces than any sentence the model was trained on.\n" in said


def test_a_missing_model_or_input_is_one_line_of_error(model: Path, tmp_path: Path) -> None:
    result = run(translate_command, tmp_path / "none")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith(f"ModelError: {tmp_path / 'none'}: expected a model directory, or an archive")
    result = run(translate_command, model, tmp_path / "no-input")
    assert result.returncode == 1
    assert "no-input: cannot be read" in result.stderr
    result = run(translate_command, model, "-o", tmp_path)
    assert "cannot be written: Is a directory" in result.stderr
    assert "Traceback" not in result.stderr


def test_what_is_demanded_of_translations_holds(model: Path, lines: list[str], tmp_path: Path) -> None:
    (tmp_path / "prefix").write_text("A man\n\n")
    result = run(translate_command, model, "--prefix", tmp_path / "prefix", stdin=f"{lines[0]}\n{lines[1]}\n")
    first, second = result.stdout.splitlines()
    assert first.split()[:2] == ["A", "man"]
    assert second == "The fish is not small ."
    (tmp_path / "skeleton").write_text("(ROOT (S (NP x) (VP x)))\n(())\n")
    trees = tmp_path / "trees"
    run(
        translate_command,
        model,
        "--skeleton",
        tmp_path / "skeleton",
        "--trees",
        trees,
        stdin=f"{lines[0]}\n{lines[1]}\n",
    )
    shaped, free = trees.read_text().splitlines()
    assert re.fullmatch(r"\(ROOT \(S \(NP [^()]+\) \(VP [^()]+\)\)\)", shaped)
    assert free == "(ROOT (S (NP The fish) (VP is not (ADJP small)) .))"
    result = run(translate_command, model, "--words", 3, stdin=f"{lines[0]}\n")
    assert len(result.stdout.split()) == 3
    result = run(translate_command, model, "--word-ratio", 2, stdin=f"{lines[1]}\n")
    assert len(result.stdout.split()) == 8
    result = run(translate_command, model, "--prefix", tmp_path / "prefix", stdin=f"{lines[0]}\n" * 3)
    assert "there are only 2 prefixes for at least 3 lines" in result.stderr
    result = run(translate_command, model, "--prefix", tmp_path / "prefix", stdin=f"{lines[0]}\n")
    assert result.returncode == 1
    assert "as many prefixes as lines to translate (1), found 2" in result.stderr
    result = run(translate_command, model, "--prefix", "-", stdin=f"{lines[0]}\n")
    assert "standard input (-) is named for two inputs" in result.stderr


def test_what_would_lose_a_file_or_mean_nothing_is_refused(model: Path, tmp_path: Path) -> None:
    text, kept = tmp_path / "text", tmp_path / "kept"
    text.write_text("Keride yesitir .\n")
    kept.write_text("before\n")
    for options in (("-o", text), ("--trees", text), ("-o", kept, "--trees", kept)):
        result = run(translate_command, model, "--input", text, *options)
        assert (result.returncode, "is named twice" in result.stderr) == (1, True)
    result = run(translate_command, model, "--input", tmp_path / "nowhere", "-o", kept)
    assert "nowhere: cannot be read" in result.stderr
    assert (text.read_text(), kept.read_text()) == ("Keride yesitir .\n", "before\n")
    result = run(translate_command, model, "--top-k", 3, stdin="x\n")
    assert "--temperature, --top-k, --top-p and --seed say how to sample. Add --sample." in result.stderr
    for option in ("--max-ratio", "--min-ratio"):
        assert (
            "expected length limits from 0 to 100" in run(translate_command, model, option, "inf", stdin="x\n").stderr
        )
    assert (
        "expected a --length-power from 0 to 10"
        in run(translate_command, model, "--length-power", "inf", stdin="x\n").stderr
    )
    assert "or a ratio above 0" in run(translate_command, model, "--word-ratio", "inf", stdin="x\n").stderr
    kept.write_text("(())\n")
    result = run(translate_command, model, "--skeleton", kept, "--words", 3, stdin="x\n")
    assert "a tree without words and a number of words cannot be demanded together. Choose one." in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--length-power", "1000"), "expected a --length-power from 0 to 10, found 1000.0"),
        (("--max-ratio", "1e18"), "from 0 to 100 actions per source piece"),
        (("--max-extra", 10**18), "and to 100,000 more"),
        (("--beam-size", 10**18), "expected a --beam-size from 1 to 10,000"),
        (("--words", 10**30), "expected a number of words from 1 to 100,000"),
        (("--words", 99_999), "no translation meets the demands"),
        (("--word-ratio", "1e308"), "a ratio above 0 and up to 100"),
        (("--sample", "--n-best", 10**12, "--format", "json"), "expected from 1 to 10,000 samples (--n-best)"),
        (("--sample", "--temperature", "1e-320"), "a --temperature from 1e-06 to 1e+06"),
        (("--sample", "--beam-size", 3), "--sample does not search"),
        (("--seed", 5), "and --seed say how to sample. Add --sample"),
        (("--beam-size", 2, "--n-best", 6, "--format", "json"), "found --n-best 6 and --beam-size 2"),
    ],
)
def test_numbers_beyond_all_use_or_without_one_are_refused(
    model: Path, options: tuple[object, ...], message: str
) -> None:
    result = run(translate_command, model, *options, stdin="Keride yesitir .\n")
    assert (result.returncode, message in result.stderr) == (1, True), result.stderr


@pytest.mark.parametrize(
    ("prefix", "message"),
    [("The 你", "the prefix 'The 你': expected text that the model can write, found '你'"), ("The fish is", "found 3")],
)
def test_a_prefix_that_cannot_be_written_is_named(model: Path, tmp_path: Path, prefix: str, message: str) -> None:
    (tmp_path / "prefix").write_text(f"{prefix}\n", encoding="utf-8")
    result = run(translate_command, model, "--prefix", tmp_path / "prefix", "--words", 2, stdin="Keride yesitir .\n")
    assert (result.returncode, message in result.stderr) == (1, True), result.stderr


@pytest.mark.parametrize("options", [("--batch", 10**30), ("--sample", "--top-k", 10**30), ("--threads", 1024)])
def test_numbers_that_mean_no_limit_do(model: Path, options: tuple[object, ...], lines: list[str]) -> None:
    result = run(translate_command, model, *options, stdin=f"{lines[1]}\n")
    assert (result.returncode, result.stdout != "") == (0, True), result.stderr


def test_samples_and_ensembles(model: Path, lines: list[str]) -> None:
    options = ("--sample", "--n-best", 3, "--format", "json", "--temperature", 3)
    once, again = (run(translate_command, model, *options, stdin=lines[0]).stdout for _ in range(2))
    assert once == again
    assert len(json.loads(once)["alternatives"]) == 2
    other = run(translate_command, model, *options, "--seed", 2, stdin=lines[0]).stdout
    assert other != once
    together = run(translate_command, model, "--with", model, stdin=f"{lines[1]}\n")
    assert together.stdout == "The fish is not small .\n"
