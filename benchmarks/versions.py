"""How fast one checkout is beside another: the same benchmark run in both by turns, as one JSON object per figure.

    git worktree add ../before COMMIT
    python benchmarks/versions.py ../before . training.py --data FOLDER --hidden-size 256 --seconds 4
    python benchmarks/versions.py ../before . --after-takes "--precision int8" decoding.py --data FOLDER --beam-size 5

Each checkout runs its own benchmark script on its own code, in the environment of this interpreter. A ratio above 1
says that the second checkout is faster. A ratio is taken between neighbouring runs, so a machine that slows down for
a minute does not decide it; the median over the rounds is printed with the ratios it is of.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

SETTINGS = ("decoder", "system", "hidden_size", "steps_per_batch", "beam_size", "rows", "precision")
"""What tells the figures of one run apart."""

RATES = ("subwords_per_second_cpu", "sentences_per_cpu_second")
"""What is compared: the rate per second of processor time, by the name each benchmark gives it."""


def rates(checkout: Path, command: list[str]) -> dict[tuple[str, ...], float]:
    """The rate of each setting that the benchmark measures."""
    environment = {**os.environ, "PYTHONPATH": str(checkout.resolve() / "src"), "OMP_NUM_THREADS": "1"}
    script = str(checkout.resolve() / "benchmarks" / command[0])
    done = subprocess.run(
        [sys.executable, script, *command[1:]], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    found = {}
    for line in done.stdout.splitlines():
        row = json.loads(line)
        setting = tuple(f"{name} {row[name]}" for name in SETTINGS if name in row)
        found[setting] = next(float(row[name]) for name in RATES if name in row)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path, help="a checkout")
    parser.add_argument("after", type=Path, help="another")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--after-takes", default="", help="options for the second checkout only, as one string")
    arguments, command = parser.parse_known_args()
    ratios: dict[tuple[str, ...], list[float]] = {}
    for number in range(arguments.rounds):
        # Every other round begins with the other checkout: whoever runs first meets the warmer or colder machine.
        order = [arguments.before, arguments.after][:: 1 if number % 2 == 0 else -1]
        more = {arguments.before: [], arguments.after: shlex.split(arguments.after_takes)}
        measured = {checkout: rates(checkout, [*command, *more[checkout]]) for checkout in order}
        before, after = measured[arguments.before], measured[arguments.after]
        if len(before) != len(after):
            sys.exit(f"the two checkouts measure different things: {sorted(before.keys() ^ after.keys())}")
        # An older checkout may name fewer settings, but it measures in the same order.
        for (setting, rate), rate_before in zip(after.items(), before.values(), strict=True):
            ratios.setdefault(setting, []).append(rate / rate_before)
    for setting, found in ratios.items():
        row = {
            "setting": ", ".join(setting),
            "after_over_before": round(statistics.median(found), 3),
            "rounds": [round(ratio, 3) for ratio in found],
        }
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
