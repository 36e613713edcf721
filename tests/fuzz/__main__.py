"""Fuzz the readers of trdec: `make test-fuzz`, for as long as FUZZ_SECONDS says.

One JSON object per target on standard output; inputs that broke a promise are written to build/fuzz. Ends with status 1
if there were any. To see one of them again: `PYTHONPATH=tests python -m fuzz --target NAME --input build/fuzz/FILE`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from fuzz.harness import Cases, fuzz, problem
from fuzz.targets import all_targets

FOLDER = Path("build/fuzz")


def main() -> int:
    """Run the targets one after the other; the number says whether any failed."""
    targets = all_targets()
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=150, help="the time for all targets together")
    parser.add_argument("--cases", type=int, help="at most this many cases of each target")
    parser.add_argument("--seed", type=int, default=1, help="other seeds give other cases")
    parser.add_argument("--target", action="append", choices=sorted(targets), help="only this one; may be repeated")
    parser.add_argument("--case", type=int, help="run only this case, in this process, and show its input")
    parser.add_argument("--input", type=Path, help="run only what this file holds, in this process")
    parser.add_argument("--coverage", action="store_true", help="let atheris choose the cases by what code they reach")
    options = parser.parse_args()
    chosen = [targets[name] for name in options.target or targets]
    if options.case is not None or options.input is not None:
        for target in chosen:
            data = options.input.read_bytes() if options.input else Cases(target, options.seed)[options.case]
            print(repr(data), problem(target, data)[0] or "nothing is wrong", sep="\n")
        return 0
    if options.coverage:
        if find_spec("atheris") is None:
            parser.error("--coverage needs atheris: pip install atheris")
        from fuzz.coverage import fuzz_by_coverage as run
    else:
        run = fuzz
    whole = sum(target.weight for target in chosen)
    total, failed, begin = 0, 0, time.monotonic()
    for target in chosen:
        outcome = run(target, options.seed, options.seconds * target.weight / whole, options.cases)
        total, failed = total + outcome.cases, failed + len(outcome.failures)
        print(json.dumps(outcome.to_json(), ensure_ascii=False), flush=True)
        for failure in outcome.failures:
            FOLDER.mkdir(parents=True, exist_ok=True)
            (FOLDER / f"{target.name}-{failure.case}").write_bytes(failure.data)
            print(f"{target.name}, case {failure.case}: {failure.reason}", file=sys.stderr)
    summary = {"targets": len(chosen), "cases": total, "failures": failed}
    print(json.dumps({**summary, "seconds": round(time.monotonic() - begin, 1), "seed": options.seed}))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
