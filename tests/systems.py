"""Train each of the eight systems, Transformers and source trees on the toy language and see that they learn.

    make test-systems        [or: python tests/systems.py --jobs 1 seq2seq lin transformer/tree]

Each system is trained by configs/toy.yaml on one thread, translates the toy test set, and must reach 90 BLEU
after at most 5 minutes of training. Prints one line a system, with sacreBLEU's signature, and ends with 1
if any fell short. The times mean what they say only if as many cores are free as there are jobs.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from sacrebleu.metrics import BLEU

from trdec.systems import SYSTEMS

REPOSITORY = Path(__file__).parent.parent
FOLDER = REPOSITORY / "demo" / "systems"
SENTENCES = 10_000
ENOUGH = 90.0
SECONDS = 300.0

TRANSFORMER = (
    *("model.embedding_size=128", "model.transformer={layers: 2, heads: 4, feed_forward: 256}"),
    *("model.initialisation=xavier", "model.dropout={embeddings: 0.1, states: 0.1, readout: 0.1}"),
    *("training.optimiser.learning_rate=0.003", "training.schedule.warmup_updates=100"),
)

ROWS: dict[str, tuple[str, ...]] = {name: (f"system={name}",) for name in SYSTEMS} | {
    f"{encoder}/{decoder}": (f"system={name}", f"system.encoder={encoder}", f"system.decoder={decoder}", *TRANSFORMER)
    for name, encoder, decoder in (
        ("seq2seq", "transformer", "sequence"),
        ("seq2seq", "lstm", "transformer"),
        ("seq2seq", "transformer", "transformer"),
        ("trdec-con", "transformer", "tree"),
        ("trdec-con", "lstm", "tree-transformer"),
        ("trdec-con", "transformer", "tree-transformer"),
    )
}
"""What is changed in the toy recipe, by the name of a row."""

ROWS |= {
    f"source-{form}": ("system=trdec-con", "system.source_trees=binary-1", *keys)
    for form, keys in (("tree-lstm", ("system.encoder=tree-lstm",)), ("brackets", ()))
}

for _row in ("transformer/tree", "transformer/sequence"):
    ROWS[_row] += (
        *("model.initialisation=uniform", "model.initialisation_range=0.2"),
        "training.optimiser.learning_rate=0.006",  # RNNs learn slowly at a Transformer's rate
    )


@dataclass(frozen=True)
class Result:
    """How well a system did."""

    system: str
    bleu: float
    signature: str
    seconds: float

    @property
    def good(self) -> bool:
        """Whether it learnt enough, soon enough."""
        return self.bleu >= ENOUGH and self.seconds <= SECONDS


def trdec(*arguments: object) -> str:
    """What the command prints; an error if it fails."""
    command = [sys.executable, "-m", "trdec.cli.main", *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPOSITORY)
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{result.stderr}")
    return result.stdout


def learn(system: str) -> Result:
    """Train, translate the test set, score."""
    model = FOLDER / system.replace("/", "-")
    shutil.rmtree(model, ignore_errors=True)
    toy = FOLDER / "toy"
    begin = time.perf_counter()
    trdec("train", "configs/toy.yaml", *ROWS[system], f"folder={toy}", f"output={model}")
    seconds = time.perf_counter() - begin
    hypotheses = trdec("translate", model, "--input", toy / "test.vel").splitlines()
    references = (toy / "test.en").read_text(encoding="utf-8").splitlines()
    metric = BLEU(tokenize="none", force=True)  # the toy text is tokenised on purpose
    score = metric.corpus_score(hypotheses, [references]).score
    return Result(system, score, str(metric.get_signature()), seconds)


def main() -> None:
    """Train the systems asked for, all by default."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("systems", nargs="*", default=list(ROWS), help="which rows; all by default")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once, one thread each")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    arguments = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    trdec("toy", "--sentences", SENTENCES, "--seed", 1, "--output", FOLDER / "toy")
    with ThreadPoolExecutor(arguments.jobs) as pool:
        results = []
        for result in pool.map(learn, arguments.systems):
            results.append(result)
            verdict = "good" if result.good else "FELL SHORT"
            print(f"{result.system:30}{result.bleu:7.1f} BLEU {result.seconds:6.0f} s  {verdict}", flush=True)
    print(results[0].signature)
    if arguments.json:
        arguments.json.write_text(json.dumps([vars(result) for result in results], indent=2) + "\n")
    failed = sum(not result.good for result in results)
    print(f"{len(results) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
