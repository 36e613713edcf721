"""What `make demo` shows: a toy language, tree decoders and a sequence decoder trained on it, and how they compare."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from trdec.corpora.toy.generate import write_corpus
from trdec.systems import SYSTEMS
from trdec.trees.builders import BUILDERS
from trdec.trees.drawing import draw
from trdec.trees.tree import Nonterminal
from trdec.trees.treebank import good_trees, read

REPOSITORY = Path(__file__).parent.parent
CONFIG = REPOSITORY / "configs" / "experiments" / "demo.yaml"
FOLDER = Path("demo") / "experiment"


def main() -> int:
    """Walk through all of it; 0 if everything worked."""
    print("1. A toy corpus: an invented verb-final language and English\n")
    if not (FOLDER / "toy").exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        write_corpus(FOLDER / "toy", sentences=4000, seed=1)
    source, target = ((FOLDER / "toy" / f"train.{end}").read_text().splitlines() for end in ("vel", "en"))
    shown = next(number for number, text in enumerate(target) if len(text.split()) == 7)
    print(f"   {source[shown]}\n   {target[shown]}\n")
    print(
        "   TrDec writes a translation as the leaves of a tree. trdec-con learns the tree of the language's grammar:\n"
    )
    trees = good_trees(read("penn", FOLDER / "toy" / "train.en.con"))
    show(SYSTEMS["trdec-con"].transform(next(islice(trees, shown, None))))
    print("   and trdec-binary a balanced tree, which needs no linguistics:\n")
    show(BUILDERS["binary-1"](target[shown].split(), Random(1)))

    print("2. Three systems, trained side by side and compared: seq2seq writes words, the others grow a tree")
    print("   (about three minutes on two cores; Ctrl-C stops it, `make demo` resumes it)\n", flush=True)
    if status := experiment():
        return status

    report = json.loads((FOLDER / "report.json").read_text())
    print("\n3. A sentence the model has never seen, translated together with its tree\n")
    translate_one()
    print("4. The scores, and whether the difference could be chance\n")
    show_scores(report)
    print(f"5. The whole report, with plots and trees: {FOLDER / 'report.html'}\n")
    print("Try next (after `source .venv/bin/activate`):")
    print(f"   trdec translate {FOLDER}/runs/trdec-con-1/model --input {FOLDER}/toy/test.vel --draw demo/drawings")
    print(f"   trdec trees show {FOLDER}/toy/train.en.con --first 1")
    print("   trdec experiment configs/experiments/toy.yaml     # all eight systems of the paper")
    print("   your own corpus: docs/tutorial.md")
    return 0


def experiment() -> int:
    """Train, translate and compare by the same command that anyone would use; its exit status."""
    command = [sys.executable, "-m", "trdec.cli.main", "experiment", str(CONFIG), "--jobs", "2"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:  # the experiment has it too: it says how to go on, once its checkpoints are written
            return process.wait()


def translate_one() -> None:
    """Translate one test sentence and draw the tree that was generated with it."""
    from trdec.translation.translator import Translator

    source, target = ((FOLDER / "toy" / f"test.{end}").read_text().splitlines() for end in ("vel", "en"))
    chosen = next(number for number, text in enumerate(target) if len(text.split()) == 8)
    (translation,) = Translator.load(FOLDER / "runs" / "trdec-con-1" / "model").translate([source[chosen]])
    print(f"   source       {source[chosen]}\n   translation  {translation.text}\n   reference    {target[chosen]}\n")
    if translation.tree is not None:
        show(translation.tree)


def show(tree: Nonterminal) -> None:
    """Draw a tree as wide as the terminal allows."""
    width = shutil.get_terminal_size((100, 24)).columns
    print("".join(f"   {line}\n" for line in draw(tree, width - 3)))


def show_scores(report: dict[str, Any]) -> None:
    """BLEU of each system, its difference from the first, and the two tests of it."""
    first, *others = report["comparison"]["systems"]
    print(f"   {first['name']:14}{first['bleu']['mean']:6.1f} BLEU")
    for row in others:
        paired = row["paired"]
        print(
            f"   {row['name']:14}{row['bleu']['mean']:6.1f} BLEU  {row['difference']:+5.1f}   "
            f"p = {paired['p_bootstrap']:.4f} (paired bootstrap), "
            f"p = {paired['p_randomisation']:.4f} (approximate randomisation)"
        )
    print(f"   {first['outputs'][0]['bleu']['signature']}\n")
    print("   The true trees say which phrases there are, and help. Balanced trees fix the number of words before")
    print("   the first word is chosen; where every word counts, as in this language, that costs more than it gives.\n")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
