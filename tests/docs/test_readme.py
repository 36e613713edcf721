"""The commands of the README: each is run on a small corpus, or, where it takes minutes, as far as its plan."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from trdec.corpora.toy.generate import write_corpus
from trdec.experiment.configuration import load_experiment
from trdec.experiment.plan import make_plan

REPOSITORY = Path(__file__).parents[2]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
PLAIN = [body for language, body in BLOCKS if not language]
COMMANDS = [line for body in PLAIN for line in body.splitlines() if line.startswith(("trdec ", "make "))]

# Seconds instead of hours; the README's own keys stand before these.
SMALL = """
  source_subwords: {size: 150}
  target_subwords: {size: 150}
model: {embedding_size: 8, hidden_size: 8}
training: {max_updates: 2, validate_every: 2, log_every: 1}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus under the names that the README gives, and its configuration."""
    folder = tmp_path_factory.mktemp("readme")
    write_corpus(folder / "toy", 100, 1)
    for split in ("train", "dev", "test"):
        for language, ending in (("vel", "src"), ("en", "trg")):
            (folder / f"{split}.{ending}").write_bytes((folder / "toy" / f"{split}.{language}").read_bytes())
    (configuration,) = (body for language, body in BLOCKS if language == "yaml")
    (folder / "mine.yaml").write_text(configuration.rstrip("\n") + SMALL)
    return folder


def test_the_corpus_commands_work_one_after_another(folder: Path) -> None:
    mine = [command for command in COMMANDS if "mine" in command or "test.out" in command]
    assert [command.split()[1] for command in mine] == ["train", "tune", "translate", "evaluate", "export"]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for command in mine:
        result = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stderr
    assert len((folder / "test.out").read_text().splitlines()) == len((folder / "test.src").read_text().splitlines())
    assert len((folder / "trees.txt").read_text().splitlines()) == len((folder / "test.src").read_text().splitlines())


def test_every_experiment_has_a_plan() -> None:
    files = [command.split()[2] for command in COMMANDS if command.startswith("trdec experiment")]
    assert files
    for file in files:
        plan = make_plan(load_experiment(REPOSITORY / file))
        assert len(plan.runs) == 16  # eight systems, two seeds, as the README says


def test_every_target_of_make_is_there() -> None:
    targets = [command.split()[1] for command in COMMANDS if command.startswith("make ")]
    assert {"demo", "test"} <= set(targets)
    for target in targets:
        result = subprocess.run(["make", "-n", target], cwd=REPOSITORY, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr


def test_no_command_is_left_out() -> None:
    for command in COMMANDS:
        is_checked = re.match(
            r"make \w+|trdec experiment|trdec (train mine|(tune|translate|export) models/mine|evaluate test)",
            command,
        )
        assert is_checked, command
