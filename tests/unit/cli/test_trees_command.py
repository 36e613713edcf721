"""`trdec trees` and `trdec grammar` as a person runs them, with good input and bad."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.commands import run
from support.running import Run
from trdec.cli.trees import convert_command, show_command

TREE = "(ROOT (S (NP (DT The) (NN cat)) (VP (VBZ eats) (NP (NN fish))) (. .)))"


def _fails(result: subprocess.CompletedProcess[str], *parts: str, code: int = 1) -> None:
    """The command ended with the code, said these things on standard error, and showed no traceback."""
    assert result.returncode == code, result.stderr
    for part in parts:
        assert part in result.stderr
    assert "Traceback" not in result.stderr


def test_a_tree_is_built_over_each_line(trdec: Run) -> None:
    result = trdec("trees", "build", "binary-1", stdin="The cat eats fish .\nIt sleeps .\n")
    assert result.stdout == "(ROOT (NULL (NULL (NULL The cat) eats) (NULL fish .)))\n(ROOT (NULL (NULL It sleeps) .))\n"
    assert result.returncode == 0


def test_words_can_be_wrapped(trdec: Run) -> None:
    result = trdec("trees", "build", "binary-1", "--transform", "wrap-words", stdin="a b\n")
    assert result.stdout == "(ROOT (NULL (NULL a) (NULL b)))\n"


def test_random_trees_follow_their_seed(trdec: Run) -> None:
    text = "a b c d e f g h i j k l\n"
    once, again, other = (
        trdec("trees", "build", "random-binary", "--seed", seed, stdin=text).stdout for seed in (1, 1, 2)
    )
    assert once == again != other


def test_files_are_read_and_written_by_name(trdec: Run, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a b\n")
    assert trdec("trees", "build", "flat", "-i", tmp_path / "text", "-o", tmp_path / "trees").returncode == 0
    assert (tmp_path / "trees").read_text() == "(ROOT a b)\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text", "trees"]


def test_conversions_can_be_piped_into_pictures(trdec: Run, tmp_path: Path) -> None:
    heads = "1\tThe\t_\t_\t_\t_\t2\t_\t_\t_\n2\tcat\t_\t_\t_\t_\t0\t_\t_\t_\n\n"
    converted = trdec("trees", "convert", "--from", "conllu", stdin=heads)
    assert converted.stdout == "(ROOT (NULL (NULL The) cat))\n"
    assert trdec("trees", "show", "--first", 1, stdin=converted.stdout).stdout.split() == [
        "ROOT", "│", "NULL", "┌──┴──┐", "NULL", "cat", "│", "The",
    ]  # fmt: skip
    trdec("trees", "show", "--svg", tmp_path / "tree.svg", stdin=converted.stdout)
    picture = (tmp_path / "tree.svg").read_text()
    assert picture.startswith("<svg ")
    assert picture.count("<text ") == 5
    assert picture.count("<path ") == 4


def test_transforms_are_options(trdec: Run) -> None:
    def convert(*options: object) -> str:
        return trdec("trees", "convert", *options, stdin=TREE).stdout.strip()

    assert convert("--transform", "strip-tags") == "(ROOT (S (NP The cat) (VP eats (NP fish)) .))"
    assert (
        convert("--transform", "strip-tags", "--transform", "null-labels")
        == "(ROOT (NULL (NULL The cat) (NULL eats (NULL fish)) .))"
    )
    assert (
        convert("--transform", "strip-tags", "--transform", "binarise")
        == "(ROOT (S (NP The cat) (S| (VP eats (NP fish)) .)))"
    )
    assert convert("--transform", "strip-tags", "--max-depth", 2) == "(ROOT (S The cat eats fish .))"


def test_transforms_apply_in_the_order_given(trdec: Run) -> None:
    one = trdec("trees", "build", "flat", "--transform", "wrap-words", "--transform", "strip-tags", stdin="a b\n")
    other = trdec("trees", "build", "flat", "--transform", "strip-tags", "--transform", "wrap-words", stdin="a b\n")
    assert (one.stdout, other.stdout) == ("(ROOT a b)\n", "(ROOT (NULL a) (NULL b))\n")


def test_a_wrong_transform_is_named_with_the_nearest(trdec: Run) -> None:
    wrong = trdec("trees", "convert", "--transform", "strip-tag", stdin=TREE)
    _fails(wrong, "'strip-tag'", "'strip-tags'", "null-labels", code=2)


def test_sentences_without_a_tree_keep_their_line(trdec: Run) -> None:
    result = trdec("trees", "convert", stdin="(S a)\nSENTENCE_SKIPPED_OR_UNPARSABLE\n(S b)\n")
    assert result.stdout == "(ROOT (S a))\n(())\n(ROOT (S b))\n"


@pytest.mark.parametrize(("policy", "lines"), [("skip", ["(ROOT (S a))"]), ("mark", ["(ROOT (S a))", "(())"])])
def test_bad_trees_can_be_skipped_or_marked(trdec: Run, policy: str, lines: list[str]) -> None:
    result = trdec("trees", "convert", "--on-error", policy, stdin="(S a)\n(S b))\n")
    assert result.stdout.splitlines() == lines
    assert "<standard input>, line 2: ')' at token 5 follows the end of the tree." in result.stderr
    assert "1 sentence that could not be read was" in result.stderr
    assert result.returncode == 0


def test_crossing_arcs_are_counted(trdec: Run) -> None:
    heads = "".join(f"{word}\tw\t_\t_\t_\t_\t{head}\t_\t_\t_\n" for word, head in ((1, 3), (2, 0), (3, 2)))
    assert (
        "1 tree had crossing arcs, which were lifted."
        in trdec("trees", "convert", "--from", "conllu", stdin=heads).stderr
    )
    assert "1 tree has crossing arcs" in trdec("trees", "check", "--from", "conllu", stdin=heads).stdout


def test_check_says_what_is_good_and_ends_with_1_if_anything_is_bad(trdec: Run, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a\nb\nc d\n")
    good = trdec("trees", "check", "--text", tmp_path / "text", stdin="(S a)\n(())\n(S c d)\n")
    assert good.returncode == 0
    assert good.stdout.startswith("2 trees are good.\nEach has as many words as its line of")
    assert "1 sentence has no tree: the parser found none." in good.stdout
    bad = trdec("trees", "check", "--text", tmp_path / "text", stdin="(S a)\n(S b b)\n(S c d)\n")
    assert "1 sentence cannot be read." in bad.stdout
    _fails(bad, "line 2: the tree has 2 words, its sentence has 1")


def test_statistics_are_a_table_or_json(trdec: Run) -> None:
    plain = trdec("trees", "stats", "--transform", "strip-tags", stdin=TREE)
    assert plain.stdout.splitlines()[0].split() == ["trees", "1"]
    figures = json.loads(trdec("trees", "stats", "--transform", "strip-tags", "--json", stdin=TREE).stdout)
    assert figures["trees"] == 1
    assert figures["words"] == 5
    assert figures["depth"] == {"mean": 4.0, "max": 4}
    assert figures["rules"] == 4  # ROOT -> S; S -> NP VP pre; NP -> pre; VP -> pre NP
    assert figures["actions_per_sentence"] == {"derivation": 15.0, "lin": 16.0, "ccg": 11.0, "seq2seq": 6.0}


def test_grammars_are_extracted_and_cover(trdec: Run, tmp_path: Path) -> None:
    extracted = trdec("grammar", "extract", "--transform", "strip-tags", stdin=TREE + "\n" + TREE)
    assert extracted.stdout.splitlines()[0] == "NP -> pre\t4"
    (tmp_path / "grammar").write_text(extracted.stdout)
    covered = trdec(
        "grammar", "coverage", tmp_path / "grammar", "--transform", "strip-tags", stdin="(ROOT (S (NP (DT A)) (X b c)))"
    )
    assert covered.stdout.startswith("1 of 1 tree need a rule that is not among the grammar's 4.\n2 rules are unseen")
    report = json.loads(trdec("grammar", "coverage", tmp_path / "grammar", "--json", stdin=TREE).stdout)
    assert report["uncovered"] == 1
    assert "NP -> DT NN" in report["unseen_rules"]


def test_rare_rules_are_left_out_with_what_they_would_strand(trdec: Run) -> None:
    trees = "(ROOT (S a))\n(ROOT (S a))\n(ROOT (X (Y a)))\n(ROOT (X (Z a)))\n"
    rules = trdec("grammar", "extract", "--min-count", 2, stdin=trees).stdout.splitlines()
    # ROOT -> X is seen twice, but neither X -> Y nor X -> Z is.
    assert rules == ["ROOT -> S\t2", "S -> pre\t2"]


# What goes wrong, and what is said of it.


def test_unbalanced_brackets(trdec: Run) -> None:
    _fails(
        trdec("trees", "convert", stdin="(S (NP a)\n(S b)\n"),
        "TreeFormatError: <standard input>, line 1: ",
        "missing 1 ')' before the tree that starts on line 2",
        "--on-error skip",
    )


def test_a_tree_with_no_words(trdec: Run) -> None:
    _fails(
        trdec("trees", "stats", stdin="(S (NP (DT)) (VP))\n"),
        "line 1: the node 'DT' that ends at token 7 holds no words.",
    )


def test_invalid_utf8(trdec: Run) -> None:
    result = trdec("trees", "build", "binary-1", stdin=b"a b\nna\xefve\n")
    _fails(result, "EncodingError: <standard input>, line 2: expected UTF-8, found the byte 0xef at column 3.", "iconv")
    assert result.stdout == "(ROOT (NULL a b))\n", "what was built before stays written"


def test_an_empty_line(trdec: Run) -> None:
    _fails(
        trdec("trees", "build", "binary-1", stdin="a\n\nb\n"),
        "TextFormatError: <standard input>, line 2: expected a sentence, found an empty line.",
        "--on-error skip",
    )
    marked = trdec("trees", "build", "flat", "--on-error", "mark", stdin="a\n\nb\n")
    assert marked.stdout == "(ROOT a)\n(())\n(ROOT b)\n"


def test_a_head_out_of_range_and_a_cycle(trdec: Run) -> None:
    def heads(*numbers: int) -> str:
        return "".join(f"{word}\tw\t_\t_\t_\t_\t{head}\t_\t_\t_\n" for word, head in enumerate(numbers, 1)) + "\n"

    _fails(trdec("trees", "convert", "--from", "conllu", stdin=heads(0, 9)), "HeadsError", "word 2 ('w') has head 9")
    _fails(trdec("trees", "convert", "--from", "conllu", stdin=heads(2, 1)), "HeadsError", "its heads form a cycle")


def test_a_missing_file_and_a_folder(trdec: Run, tmp_path: Path) -> None:
    _fails(trdec("trees", "stats", tmp_path / "none.con"), "none.con: cannot be read: No such file or directory.")
    _fails(trdec("trees", "stats", tmp_path), "cannot be read: Is a directory.")
    _fails(
        trdec("trees", "build", "flat", "-o", tmp_path / "none" / "x", stdin="a\n"),
        "cannot be written: No such file or directory.",
    )


def test_a_full_disk(trdec: Run) -> None:
    _fails(
        trdec("trees", "build", "flat", "-o", "/dev/full", stdin="a\n"),
        "FileError: /dev/full: cannot be written: No space left on device.",
    )
    with Path("/dev/full").open("wb") as full:
        process = subprocess.run(
            [sys.executable, "-m", "trdec.cli.main", "trees", "build", "flat"],
            input=b"a b\n" * 10_000,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert process.returncode == 1
    assert process.stderr.decode() == "FileError: standard output: cannot be written: No space left on device.\n"


def test_a_closed_pipe_ends_quietly() -> None:
    command = f"yes 'a b c' | {sys.executable} -m trdec.cli.main trees build binary-1 | head -1"
    result = subprocess.run(command, shell=True, capture_output=True, check=False, timeout=60)
    assert result.stdout == b"(ROOT (NULL (NULL a b) c))\n"
    assert result.stderr == b""


def test_a_failed_command_leaves_the_file_that_was_there(trdec: Run, tmp_path: Path) -> None:
    kept = tmp_path / "trees"
    kept.write_text("precious\n")
    _fails(trdec("trees", "build", "flat", "-o", kept, stdin="a\n\n"), "found an empty line")
    assert kept.read_text() == "precious\n"
    assert list(tmp_path.iterdir()) == [kept]


def test_a_broken_grammar_file(trdec: Run, tmp_path: Path) -> None:
    (tmp_path / "grammar").write_text("NP -> pre\t3\nNP pre\n")
    _fails(
        trdec("grammar", "coverage", tmp_path / "grammar", stdin=TREE),
        "grammar, line 2: expected a rule, a tab and its count, such as 'NP -> pre PP<tab>12', found 'NP pre'.",
    )
    (tmp_path / "grammar").write_text("NP -> pre\t3\nNP -> pre\t1\n")
    _fails(
        trdec("grammar", "coverage", tmp_path / "grammar", stdin=TREE),
        "line 2: the rule 'NP -> pre' is in the grammar twice.",
    )


def test_supertags_without_their_text(trdec: Run) -> None:
    _fails(trdec("trees", "stats", "--from", "ccg", stdin="N\n"), "UsageError: ", "--text")


def test_a_wrong_kind_option_or_verb(trdec: Run) -> None:
    _fails(trdec("trees", "build", "binary-3", stdin=""), "expected one of binary-1, binary-2", code=2)
    _fails(trdec("trees", "build", "flat", "--sede", "1", stdin=""), "--sede", code=2)
    _fails(trdec("tress"), "tress", code=2)
    _fails(trdec("trees", "stats", "a", "-i", "b"), "the input is named twice: a and --input b", code=2)


def test_nothing_to_show(trdec: Run) -> None:
    _fails(trdec("trees", "show", stdin=""), "expected a tree to show, found none in the input.")
    _fails(trdec("trees", "show", "--number", 3, stdin="(S a)\n"), "expected a tree to show, found no sentence 3.")
    assert "the parser found no tree." in trdec("trees", "show", stdin="(())\n").stdout


def test_a_picture_of_no_tree_is_an_error(trdec: Run, tmp_path: Path) -> None:
    result = trdec("trees", "show", "--svg", tmp_path / "tree.svg", stdin="(())\n")
    assert result.returncode == 1
    assert "tree.svg: expected a tree to draw, found only sentences without one" in result.stderr
    assert not (tmp_path / "tree.svg").exists()


def test_help_is_shown_without_importing_torch(trdec: Run) -> None:
    result = trdec("--help")
    assert "trees" in result.stdout
    probe = "import sys, trdec.cli.main; sys.exit('torch' in sys.modules or 'matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0


def test_the_version_is_said(trdec: Run) -> None:
    assert trdec("--version").stdout.startswith("trdec 0.")


def test_a_label_that_means_something_else_in_a_derivation(trdec: Run) -> None:
    for tree in ("(S (pre a (X b)) c)", "(S (pre+ a) (X b))", "(S (<end> a) b)"):
        _fails(trdec("trees", "stats", "--from", "brackets", stdin=tree), "line 1: the label", "Rename the label.")
    assert trdec("trees", "stats", stdin="(S (pre a) (pre b))").returncode == 0


CONLLU = "".join(
    f"{number}\t{word}\t_\t_\t_\t_\t{head}\t{relation}\t_\t_\n"
    for number, word, head, relation in [(1, "The", 2, "dep"), (2, "cat", 3, "dep"), (3, "sleeps", 0, "root")]
)


def test_trees_are_converted_between_all_formats() -> None:
    tree = "(ROOT (NULL (NULL (NULL The) cat) sleeps))\n"
    nodes = [("ROOT", 0, 3), ("NULL", 0, 3), ("NULL", 0, 2), ("NULL", 0, 1)]
    as_json = json.dumps(
        {
            "words": ["The", "cat", "sleeps"],
            "nodes": [dict(zip(("label", "start", "end"), node, strict=True)) for node in nodes],
        }
    )
    texts = {"brackets": tree, "conllu": f"{CONLLU}\n", "json": f"{as_json}\n"}
    for source, text in texts.items():
        for target, expected in texts.items():
            result = run(convert_command, "--from", source, "--to", target, stdin=text)
            assert (result.stdout, result.stderr) == (expected, "")


def test_sentences_without_a_tree_are_kept_in_every_format() -> None:
    for target in ("brackets", "conllu", "json"):
        written = run(convert_command, "--from", "brackets", "--to", target, stdin="(())\n(ROOT (NULL a))\n").stdout
        back = run(convert_command, "--from", target, stdin=written)
        assert back.stdout == "(())\n(ROOT (NULL a))\n", target


def test_a_tree_without_heads_is_no_conllu_and_that_is_said() -> None:
    text = "(ROOT (NULL a))\n(ROOT (S (NP it) (VP sleeps)))\n"
    result = run(convert_command, "--from", "brackets", "--to", "conllu", stdin=text)
    assert result.returncode == 1
    for fact in ("<standard input>, line 2", "dependency tree", "CoNLL-U", "(S (NP it) (VP sleeps))", "--on-error"):
        assert fact in result.stderr
    marked = run(convert_command, "--from", "brackets", "--to", "conllu", "--on-error", "mark", stdin=text)
    assert marked.stdout == "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n" + "1" + "\t_" * 9 + "\n\n"
    skipped = run(convert_command, "--from", "brackets", "--to", "conllu", "--on-error", "skip", stdin=text)
    assert skipped.stdout == "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n"


def test_the_mark_that_begins_a_word_is_dim_only_where_colour_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b" not in run(show_command, stdin="(S ▁a)\n").stdout
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[2m▁\x1b[22ma" in run(show_command, stdin="(S ▁a)\n").stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run(show_command, stdin="(S ▁a)\n").stdout
