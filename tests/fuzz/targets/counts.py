"""Counts of experiments, as another machine or a stranger may send them."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from fuzz.harness import Target
from trdec.evaluation.counts import count_sentences
from trdec.evaluation.report import length_contents
from trdec.experiment.counts import CountedRun, CountedText, CountsFile, read_counts, write_counts
from trdec.experiment.counts_table import counts_by_length, counts_tables, join_counts

_REFERENCES = ["a cat eats fish .", "a dog sleeps ."]


def run_counts(data: bytes) -> None:
    """Read counts and make tables of them."""
    with TemporaryDirectory(prefix="trdec-fuzz-") as name:
        path = Path(name, "counts.json")
        path.write_bytes(data)
        content = join_counts([(path, read_counts(path))])
        tables = [table for _, table in counts_tables(content, "dev")]
        tables += [found.table for found in length_contents(counts_by_length(content, "dev"))]
        for table in tables:
            assert all(len(row) == len(table.header) for row in table.rows)


def counts_seeds() -> list[bytes]:
    """Counts of one run, and of two systems with an ensemble."""
    text = CountedText(name="dev.en", checksum="0", sentences=len(_REFERENCES))
    counts = {"dev": count_sentences(["a cat eats", "sleeps"], _REFERENCES)}
    runs = [
        CountedRun(system="seq2seq", seeds=(1,), recipe="r", counts=counts, beam_size=5, seconds=3.5, parameters=9),
        CountedRun(system="lin", seeds=(1,), recipe="r", counts=counts),
        CountedRun(system="lin", seeds=(1, 2), recipe="r", counts=counts),
    ]
    found = []
    with TemporaryDirectory(prefix="trdec-fuzz-") as name:
        for number in (1, 3):
            path = Path(name, "counts.json")
            write_counts(path, CountsFile(title="One", tokenise="none", texts={"dev": text}, runs=tuple(runs[:number])))
            found.append(path.read_bytes())
    return found


_TOKENS = (b'"seeds": [', b'"counts": {', b'"dev"', b'"test"', b"999999999", b"-1", b"1e400", b"null", b"[]", b'"0 0')
TARGETS = [Target("counts", run_counts, counts_seeds, _TOKENS, weight=0.5)]
