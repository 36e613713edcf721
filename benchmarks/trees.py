"""Speed and memory of the symbolic half, on one core, as JSON.

    python benchmarks/trees.py [--sentences N] [--stream N]

Speed: building, linearising and replaying the derivations of 17-word sentences, sentences a second for each
kind of tree. Memory: how much the resident memory of `trdec trees build` grows from 10,000 streamed
sentences to 400,000.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from random import Random

from trdec.targets.derivation import DerivationTarget
from trdec.targets.target import replay
from trdec.trees.builders import BUILDERS

WORDS = 17


def sentences(number: int) -> Iterator[list[str]]:
    """Sentences of 17 words drawn from 5,000, some of them punctuation."""
    generator = Random(1)
    vocabulary = [f"word{index}" if index % 12 else "," for index in range(5000)]
    for _ in range(number):
        yield generator.choices(vocabulary, k=WORDS)


def speed(kind: str, number: int) -> dict[str, float]:
    """Sentences a second of each part and of all of it."""
    corpus = list(sentences(number))
    builder, generator = BUILDERS[kind], Random(1)
    begin = time.perf_counter()
    trees = [builder(words, generator) for words in corpus]
    built = time.perf_counter()
    actions = [DerivationTarget.linearise(tree) for tree in trees]
    linearised = time.perf_counter()
    target = DerivationTarget.from_trees(trees, sorted({word for words in corpus for word in words}))
    extracted = time.perf_counter()
    steps = sum(len(replay(target, row)) for row in actions)
    replayed = time.perf_counter()
    parts = {"build": built - begin, "linearise": linearised - built, "replay": replayed - extracted}
    return {
        **{f"{part}_per_second": round(number / seconds) for part, seconds in parts.items()},
        "extract_per_second": round(number / (extracted - linearised)),
        "build_linearise_replay_per_second": round(number / sum(parts.values())),
        "actions_per_sentence": round(steps / number, 1),
    }


def streamed_megabytes(number: int) -> float:
    """The peak resident memory of `trdec trees build binary-1` over so many sentences."""
    text = (" ".join(words) + "\n" for words in sentences(number))
    process = subprocess.Popen(
        [sys.executable, "-c", _PEAK], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stdin is not None and process.stderr is not None
    for line in text:
        process.stdin.write(line.encode())
    process.stdin.close()
    report = process.stderr.read().decode()
    if process.wait() != 0:
        raise RuntimeError(report)
    return int(report) / 1024


_PEAK = """
import resource, sys
from trdec.cli.main import app
sys.argv = ["trdec", "trees", "build", "binary-1"]
app(standalone_mode=False)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=10_000, help="how many for each speed")
    parser.add_argument("--stream", type=int, default=400_000, help="how many for the memory of the long stream")
    arguments = parser.parse_args()
    small, large = streamed_megabytes(10_000), streamed_megabytes(arguments.stream)
    report = {
        "words_per_sentence": WORDS,
        "python": platform.python_version(),
        "speed": {kind: speed(kind, arguments.sentences) for kind in BUILDERS},
        "stream": {
            "sentences": arguments.stream,
            "peak_megabytes_at_10000": round(small, 1),
            "peak_megabytes": round(large, 1),
            "growth_megabytes": round(large - small, 1),
        },
        "peak_megabytes_of_this_process": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
