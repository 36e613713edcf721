"""The workers of a Dask cluster give the same bytes as this process alone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

from support.chain_parser import ChainParser
from support.toy_corpora import changed_system, configuration
from trdec.corpora import parsers
from trdec.corpora.parse import annotate
from trdec.corpora.parsers import ParserChoice
from trdec.data import workers
from trdec.data.prepare import prepare
from trdec.data.workers import ClusterWorkers
from trdec.errors import AnnotationError, TreeShapeError, UsageError, WorkerError
from trdec.systems import SYSTEMS

CHOICE = ParserChoice("chain", "dependency")


@contextlib.contextmanager
def cluster(**resources: float) -> Iterator[Any]:
    """A client of two workers with two threads each, all in this process."""
    options = {"n_workers": 2, "threads_per_worker": 2, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(**options, resources=resources) as local, Client(local, set_as_default=False) as client:
        yield client


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with cluster(threads=2, memory=4) as found:
        yield found


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "SHARD", 40)


def contents(directory: Path) -> dict[str, bytes]:
    found = (path for path in directory.rglob("*") if path.is_file() and not path.name.endswith(".lock"))
    return {str(path.relative_to(directory)): path.read_bytes() for path in found}


def test_a_cluster_prepares_the_same_bytes(client: Any, toy: Path, tmp_path: Path) -> None:
    prepare(configuration(toy), SYSTEMS["trdec-binary"], tmp_path / "here")
    prepare(configuration(toy), SYSTEMS["trdec-binary"], tmp_path / "there", ClusterWorkers(client))
    assert contents(tmp_path / "here") == contents(tmp_path / "there")


def test_results_come_in_the_order_of_the_shards(client: Any) -> None:
    assert list(ClusterWorkers(client).map(abs, range(-40, 0))) == list(range(40, 0, -1))


def test_an_error_in_a_shard_arrives_as_it_is(client: Any, toy: Path, tmp_path: Path) -> None:
    with pytest.raises(TreeShapeError, match=r"train.en.ccg, line 1: expected a flat tree of supertags"):
        prepare(configuration(toy), changed_system("ccg", transforms="wrap-words"), tmp_path, ClusterWorkers(client))


def test_workers_of_another_version_are_refused() -> None:
    with pytest.raises(WorkerError, match=r"0\.0\.1.*Install the same"):
        workers._load("0.0.1", [], b"")


def test_workers_that_offer_too_little_are_refused() -> None:
    with cluster(threads=2, memory=1) as client, pytest.raises(UsageError, match=r"threads=1 memory=2 .*scaling.md"):
        list(ClusterWorkers(client).map(abs, [1, 2, 3]))


def parse(folder: Path, name: str, **who: Any) -> bytes:
    source = folder / "text"
    source.write_text("".join(f"the line {number}\n\n" for number in range(30)))
    annotate(ChainParser(), CHOICE, source, folder / name, None, 4, lambda *_: None, **who)
    return (folder / name).read_bytes()


def test_a_cluster_parses_the_same_bytes(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = []
    monkeypatch.setitem(parsers._LOADERS, ("chain", "dependency"), lambda _: loaded.append(ChainParser()) or loaded[-1])
    assert parse(tmp_path, "there", workers=ClusterWorkers(client)) == parse(tmp_path, "here")
    assert sum(parser.parsed for parser in loaded) == 30


def test_workers_with_another_parser_are_refused(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = ChainParser()
    other.identity = "chains 2"
    monkeypatch.setitem(parsers._LOADERS, ("chain", "dependency"), lambda _: other)
    with pytest.raises(AnnotationError, match=r"chains 2.*chains 1"):
        parse(tmp_path, "there", workers=ClusterWorkers(client))
