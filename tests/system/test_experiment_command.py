"""`trdec experiment` as a person runs it: from nothing to a report, again, killed, interrupted, with a failure."""

from __future__ import annotations

import json
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.running import Run
from support.small_experiment import results_of, write_experiment
from trdec.configuration import load_saved_configuration
from trdec.experiment.counts import read_counts


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a finished experiment; its file stands beside it."""
    folder = tmp_path_factory.mktemp("experiment")
    out = folder / "my #1: [out] of 'two'"  # a name that neither YAML nor a shell may take apart
    file = write_experiment(folder, out)
    command = [sys.executable, "-m", "trdec.cli.main", "experiment", str(file), "--jobs", "2"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"{out / 'report.html'}\n"
    assert "trdec-binary, seed 1: trained in" in result.stderr
    assert result.stderr.count("trdec-binary, seed 1: translated 50 lines") == 2  # dev and test
    first_test = result.stderr.index(": translating\n")
    assert all(
        f"{system}, seed 1: translating dev" in result.stderr[:first_test] for system in ("seq2seq", "trdec-binary")
    )
    return out


def test_the_report_has_a_row_for_each_system(finished: Path) -> None:
    markdown = (finished / "report.md").read_text()
    assert "# A \\*small\\* experiment" in markdown
    for system in ("seq2seq", "trdec-binary"):
        assert re.search(rf"^\| {system} +\|", markdown, re.MULTILINE)
    assert "10.90" in markdown  # the published score
    assert "BLEU: nrefs:1|case:mixed|eff:no|tok:none" in markdown


def test_the_scores_are_those_of_evaluating_the_translations(finished: Path, trdec: Run) -> None:
    report = json.loads((finished / "report.json").read_text())
    for row, run in zip(report["comparison"]["systems"], report["runs"], strict=True):
        translations = finished / "runs" / f"{run['system']}-1" / "translations.txt"
        found = trdec("evaluate", translations, "--reference", finished / "toy" / "test.en", "--json")
        assert json.loads(found.stdout)["bleu"]["score"] == pytest.approx(row["bleu"]["mean"])


def test_the_counts_give_the_scores_of_the_report_without_the_text(finished: Path, trdec: Run) -> None:
    report = json.loads((finished / "report.json").read_text())
    counts = (finished / "counts.json").read_text()
    texts = [finished / "toy" / "test.en", *finished.glob("runs/*/translations.txt"), *finished.glob("runs/*/dev.txt")]
    lines = {line for path in texts for line in path.read_text().splitlines() if " " in line}
    assert len(texts) == 5
    assert not any(line in counts for line in lines)
    found = trdec("table", finished / "counts.json")
    assert found.returncode == 0, found.stderr
    for row in report["comparison"]["systems"]:
        assert re.search(rf"^\| {row['name']} +\| +1 \| +(\*\*)?{row['bleu']['mean']:.2f}", found.stdout, re.MULTILINE)
    assert report["comparison"]["systems"][0]["outputs"][0]["bleu"]["signature"] in found.stdout
    assert "dev BLEU" in trdec("table", finished / "counts.json", "--text", "dev").stdout
    joined = finished / "joined.json"
    assert trdec("table", finished / "counts.json", "--join", joined).stdout == found.stdout
    assert read_counts(joined) == read_counts(finished / "counts.json")
    joined.unlink()
    missing = trdec("table", finished / "no.json")
    assert missing.returncode == 1
    assert "no.json: cannot be read" in missing.stderr


def test_each_run_searches_as_was_best_on_its_dev(finished: Path, trdec: Run) -> None:
    for system in ("seq2seq", "trdec-binary"):
        folder = finished / "runs" / f"{system}-1"
        tuned = json.loads((folder / "tune.json").read_text())
        assert [trial["length_power"] for trial in tuned["trials"]] == [0.5, 1.0]
        chosen = tuned["chosen"]
        own = load_saved_configuration(folder / "model").search
        assert (own.beam_size, own.length_power) == (2, chosen["length_power"])
        found = trdec("evaluate", folder / "dev.txt", "--reference", finished / "toy" / "dev.en", "--json")
        assert json.loads(found.stdout)["bleu"] == chosen["bleu"]
        row = rf"\| {system} +\| +1 \| +2 \| +{chosen['length_power']:g} \| +{chosen['bleu']['score']:.2f} \|"
        assert re.search(row, (finished / "report.md").read_text())


def test_the_report_can_be_written_again_on_what_is_finished(finished: Path, trdec: Run) -> None:
    markdown = (finished / "report.md").read_text()
    assert "dev BLEU" in markdown
    (finished / "report.md").unlink()
    records = [finished / "runs" / f"{system}-1" / "translate.json" for system in ("seq2seq", "trdec-binary")]
    kept = [record.read_bytes() for record in records]
    for record in records:
        record.unlink()
    trdec("experiment", finished.parent / "experiment.yaml", "--report")
    assert "scored on dev.en" in (finished / "report.md").read_text()
    assert "flatters them" in (finished / "report.md").read_text()  # the search was chosen on the same text
    assert "10.90" not in (finished / "report.md").read_text()  # published scores are on another text
    for record, content in zip(records, kept, strict=True):
        record.write_bytes(content)
    trdec("experiment", finished.parent / "experiment.yaml", "--report")
    assert "scored on test.en" in (finished / "report.md").read_text()
    assert "flatters them" not in (finished / "report.md").read_text()


def test_the_report_says_what_each_system_was_given(finished: Path) -> None:
    runs = {run["system"]: run["training"] for run in json.loads((finished / "report.json").read_text())["runs"]}
    assert runs["seq2seq"]["updates"] == runs["trdec-binary"]["updates"] == 6
    # 100 pairs make batches of 16 five at a time and one of 4; with two trees each, 200 examples leave one of 8.
    assert runs["seq2seq"]["sentences"] <= 6 * 16
    assert runs["trdec-binary"]["sentences"] <= 6 * 16
    assert runs["seq2seq"]["parameters"] < runs["trdec-binary"]["parameters"]
    markdown = (finished / "report.md").read_text()
    assert "it does not see more pairs than the others: it sees each tree half as often" in markdown


def test_the_report_divides_the_loss_into_tree_and_words(finished: Path) -> None:
    runs = {run["system"]: run["loss"] for run in json.loads((finished / "report.json").read_text())["runs"]}
    for loss in runs.values():
        assert loss["sentences"] + loss["left_out"] == 50
        assert loss["tree"]["share"] + loss["words"]["share"] == pytest.approx(1)
    assert list(runs["seq2seq"]["kinds"]) == ["word", "eos"]
    assert list(runs["trdec-binary"]["kinds"]) == ["rule", "word", "eop", "eos"]
    markdown = (finished / "report.md").read_text()
    total = runs["trdec-binary"]["total"]["nats_per_sentence"]
    row = markdown.split("## Tree and words in the loss")[1].split("| trdec-binary")[1].split("\n")[0]
    assert f" {total:.2f} |" in row


def test_every_picture_and_sample_is_there(finished: Path) -> None:
    markdown, html = (finished / "report.md").read_text(), (finished / "report.html").read_text()
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", markdown)
    assert len(pictures) == 5
    for picture in pictures:
        assert "<svg" in (finished / picture).read_text()
    assert markdown.count("### Line ") == html.count("<h3>Line ") >= 2
    assert html.count("<svg") >= 3
    assert not re.search(r'(src|href)="(https?:)?//', html)  # nothing is loaded from elsewhere


@pytest.mark.slow
def test_every_command_of_the_report_can_be_run_again(finished: Path, trdec: Run) -> None:
    report = json.loads((finished / "report.json").read_text())
    before = (finished / "runs" / "seq2seq-1" / "translations.txt").read_bytes()
    for command in report["runs"][0]["commands"].values():
        result = trdec(*shlex.split(command)[1:])
        assert result.returncode == 0, result.stderr
    assert (finished / "runs" / "seq2seq-1" / "translations.txt").read_bytes() == before


def test_run_again_nothing_is_done_twice(finished: Path, trdec: Run) -> None:
    before = results_of(finished)
    result = trdec("experiment", finished.parent / "experiment.yaml")
    assert result.returncode == 0
    assert "trdec-binary, seed 1: training was finished before" in result.stderr
    assert "trdec-binary, seed 1: translating was finished before" in result.stderr
    assert results_of(finished) == before


def test_a_run_that_fails_does_not_stop_the_others_and_is_listed(finished: Path, trdec: Run) -> None:
    (finished / "toy" / "train.en.con").write_text("(ROOT\n" * 100)
    result = trdec("experiment", finished.parent / "experiment.yaml", "systems=[seq2seq, lin, trdec-binary]")
    assert result.returncode == 1
    assert "lin, seed 1: training failed" in result.stderr
    assert f"lin, seed 1: failed to train; see {finished / 'runs' / 'lin-1' / 'train.log'}" in result.stderr
    assert "Runs that failed" in (finished / "report.md").read_text()
    assert [run["system"] for run in json.loads((finished / "report.json").read_text())["runs"]] == [
        "seq2seq",
        "trdec-binary",
    ]


def test_all_seeds_of_a_system_translate_together(tmp_path: Path, trdec: Run) -> None:
    file = write_experiment(tmp_path, tmp_path / "out")
    result = trdec("experiment", file, "systems=[seq2seq]", "seeds=[1, 2]", "ensembles=true")
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("seq2seq, seeds 1, 2 together: translated 50 lines") == 2  # dev and test
    models = [tmp_path / "out" / "runs" / f"seq2seq-{seed}" / "model" for seed in (1, 2)]
    by_hand = tmp_path / "by-hand.txt"
    test = tmp_path / "out" / "toy" / "test.vel"
    trdec("translate", models[0], "--with", models[1], "--input", test, "--output", by_hand)
    written = tmp_path / "out" / "ensembles" / "seq2seq" / "translations.txt"
    assert written.read_text() == by_hand.read_text()
    assert written.read_text() != (tmp_path / "out" / "runs" / "seq2seq-1" / "translations.txt").read_text()
    found = trdec("evaluate", written, "--reference", test.with_suffix(".en"), "--json")
    (row,) = json.loads((tmp_path / "out" / "report.json").read_text())["ensembles"]["systems"]
    assert row["bleu"]["mean"] == pytest.approx(json.loads(found.stdout)["bleu"]["score"])
    assert "## Ensembles" in (tmp_path / "out" / "report.md").read_text()


def test_a_dry_run_shows_commands_and_a_time_and_writes_nothing(tmp_path: Path, trdec: Run) -> None:
    file = write_experiment(tmp_path, tmp_path / "out")
    result = trdec("experiment", file, "systems=[seq2seq]", "--dry-run")
    assert result.returncode == 0, result.stderr
    (command,) = [line.split() for line in result.stdout.splitlines() if line.startswith("trdec train")]
    assert {str(tmp_path / "recipe.yaml"), "system=seq2seq", f"folder={tmp_path / 'out' / 'toy'}"} <= set(command)
    assert re.search(r"# seq2seq: about \d:\d\d:\d\d to train, \d:\d\d:\d\d to translate", result.stdout)
    assert re.search(r"# all 1 runs, \d at a time: about \d:\d\d:\d\d", result.stdout)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_dry_run_bears_files_anywhere_and_one_subword_model_for_both_sides(
    finished: Path, tmp_path: Path, trdec: Run
) -> None:
    file = write_experiment(tmp_path, tmp_path / "out")
    toy, model = finished / "toy", finished / "runs" / "seq2seq-1" / "model" / "codec" / "target.spm.model"
    keys = {
        f"data.train.{side}": str(toy / f"train.{ending}") for side, ending in (("source", "vel"), ("target", "en"))
    }
    keys |= {f"data.{side}_subwords.model": str(model) for side in ("source", "target")}
    changes = f"changes={json.dumps(keys)}"
    result = trdec("experiment", file, "toy=null", f"folder={toy}", "systems=[seq2seq]", changes, "--dry-run")
    assert result.returncode == 0, result.stderr
    assert "# all 1 runs" in result.stdout


@pytest.mark.slow
def test_another_toy_corpus_is_made_where_another_is_asked_for_and_old_runs_are_refused(
    tmp_path: Path, trdec: Run
) -> None:
    file = write_experiment(tmp_path, tmp_path / "out")
    # What the recipe would make of the corpus's size is given, so that only the data differ.
    given = "changes={training.max_updates: 1, training.validate_every: 1, training.schedule.warmup_updates: 0}"
    few = ("systems=[seq2seq]", given, "decoding.beam_size=1", "samples=0")
    result = trdec("experiment", file, "toy.sentences=60", *few)
    assert result.returncode == 0, result.stderr
    result = trdec("experiment", file, "toy.sentences=70", *few)
    assert len((tmp_path / "out" / "toy" / "train.en").read_text().splitlines()) == 70
    assert result.returncode == 1
    assert " other data: " in result.stderr


def test_an_output_that_cannot_be_made_is_named(tmp_path: Path, trdec: Run) -> None:
    file = write_experiment(tmp_path, tmp_path / "a-file" / "out")
    (tmp_path / "a-file").write_text("in the way\n")
    result = trdec("experiment", file)
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert "a-file" in result.stderr


def _start(file: Path, output: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "trdec.cli.main", "experiment", str(file), f"output={output}", "--jobs", "2"]
    return subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background ignore it
    )


def test_interrupted_it_says_how_to_resume(tmp_path: Path) -> None:
    file = write_experiment(tmp_path, tmp_path / "out")
    process = _start(file, tmp_path / "out")
    assert process.stderr is not None
    for line in process.stderr:
        if "training" in line:
            break
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Run the same command again" in error
    assert "Traceback" not in error


@pytest.mark.slow
def test_killed_again_and_again_it_ends_with_the_same_report(tmp_path: Path) -> None:
    file = write_experiment(tmp_path, tmp_path / "out")
    quiet = _start(file, tmp_path / "quiet")
    quiet.communicate(timeout=300)
    moments = random.Random(1)
    for _ in range(5):
        process = _start(file, tmp_path / "out")
        time.sleep(moments.uniform(1, 12))
        process.kill()
        process.communicate()
    last = _start(file, tmp_path / "out")
    _, error = last.communicate(timeout=300)
    assert last.returncode == 0, error
    assert results_of(tmp_path / "out") == results_of(tmp_path / "quiet")
