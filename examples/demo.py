"""What `make demo` shows: the toy language, its trees, and a tree as the derivation that TrDec generates."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

from trdec.grammar.coverage import coverage
from trdec.systems import SYSTEMS, Treebank
from trdec.targets.derivation import DerivationTarget
from trdec.targets.target import replay
from trdec.text.lines import read_lines, split_words
from trdec.toy.generate import write_corpus
from trdec.trees import treebank
from trdec.trees.builders import BUILDERS
from trdec.trees.drawing import draw
from trdec.trees.tree import Nonterminal, words

FOLDER = Path("demo") / "toy"
ENDINGS = {"constituency": ("penn", "con"), "dependency": ("conllu", "conllu")}


def main() -> None:
    """Make the corpus and walk through it."""
    width = shutil.get_terminal_size((100, 24)).columns
    print("1. A toy corpus: an invented verb-final language, and English with trees\n")
    write_corpus(FOLDER, sentences=2000, seed=1)
    source = [line.text for line in read_lines(FOLDER / "train.vel")]
    target = [line.text for line in read_lines(FOLDER / "train.en")]
    shown = next(number for number, text in enumerate(target) if len(text.split()) == 7)
    print(f"   {source[shown]}\n   {target[shown]}\n")

    print("2. One sentence, three trees\n")
    for name in ("trdec-con", "trdec-dep", "trdec-binary"):
        tree = trees(SYSTEMS[name].treebanks[0], "train")[shown]
        print(f"   {name}:")
        print("".join(f"   {line}\n" for line in draw(tree, width - 3)))

    print("3. What each kind of tree costs, and whether training covers it\n")
    print(f"   {'system':16}{'rules':>8}{'actions a sentence':>20}{'dev trees with unseen rules':>30}")
    for name, system in SYSTEMS.items():
        if system.target is DerivationTarget:
            train = [tree for bank in system.treebanks for tree in trees(bank, "train")]
            grammar = DerivationTarget.from_trees(train, []).grammar
            actions = sum(len(DerivationTarget.linearise(tree)) for tree in train) / len(train)
            dev = [tree for bank in system.treebanks for tree in trees(bank, "dev")]
            unseen = coverage(grammar, dev)
            print(f"   {name:16}{len(grammar):8}{actions:20.1f}{f'{unseen.uncovered} of {unseen.trees}':>30}")

    print("\n4. The tree as TrDec generates it: step, open symbol, the step that opened it, action\n")
    tree = trees(SYSTEMS["trdec-con"].treebanks[0], "train")[shown]
    family = DerivationTarget.from_trees([tree], words(tree))
    for number, step in enumerate(replay(family, family.linearise(tree)), start=1):
        print(f"   {number:3} {step.symbol.removesuffix('+'):6} {step.parent:3}  {step.action}")
    print(f"\nThe corpus is in {FOLDER}. Try next:")
    print(f"   .venv/bin/trdec trees show {FOLDER}/train.en.con --first 1")
    print(f"   .venv/bin/trdec trees build random-binary {FOLDER}/train.en | .venv/bin/trdec trees stats")


def trees(bank: Treebank, split: str) -> list[Nonterminal]:
    """The trees of one split of the toy corpus, as a system takes them."""
    text = FOLDER / f"{split}.en"
    if bank.kind in ENDINGS:
        file_format, ending = ENDINGS[bank.kind]
        entries = treebank.read(file_format, text.with_name(f"{text.name}.{ending}"), text)
        return [bank.transform(tree) for tree in treebank.good_trees(entries)]
    return [BUILDERS[bank.kind](split_words(line.text), Random(1)) for line in read_lines(text)]


if __name__ == "__main__":
    main()
