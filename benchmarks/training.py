"""How fast the network trains on one thread: forward, backward, clipping and Adam, as one JSON object a line.

    python benchmarks/training.py --data FOLDER
    python benchmarks/training.py --growth
    python benchmarks/training.py --encoder transformer --decoder tree-transformer transformer --embedding-size 256

TrDec writes balanced binary trees with every word in a node of its own; seq2seq writes the same words. Without
--data, sentences of or-en's shape are drawn at random. Rates are given by the clock (`wall`) and by the processor time
that was used (`cpu`), on one thread the time that a machine with nothing else to do would take; ratios and scaled
figures are of the latter. --growth measures the cost of an action in sentences of 1, 2, 4 and 8 times the length, and
in a corpus of 10 times the size: each should stay nearly what it is, but for the share of attention, which compares
an action with the whole source.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from machine import matrix_product_rate, peak_memory, read_rate
from trdec.configuration.sections import ModelConfiguration, TransformerConfiguration
from trdec.data.batch import Batch, Inventory, SourceBatch
from trdec.freed_memory import keep_freed_memory
from trdec.model.translation_model import DECODERS, ENCODERS, TranslationModel
from trdec.systems import TREE_ENCODER_NAMES
from trdec.targets.derivation import BEGUN, DerivationTarget
from trdec.targets.sequence import Seq2SeqTarget
from trdec.targets.target import ActionTable, Target
from trdec.text import Subwords
from trdec.tokenisers import WORD_START
from trdec.trees.builders import version_1
from trdec.trees.transforms import rooted, segment, wrap_words
from trdec.trees.tree import PRE, Nonterminal

REFERENCE_RATE = 140.0
"""GFLOP/s at which the goals are set."""

GOALS: dict[tuple[str, bool], float] = {("tree", True): 270.0, ("tree", False): 480.0, ("sequence", False): 1500.0}
"""Subwords a second at that rate, by decoder and whether batches are of about 800 steps; for others the best counts."""

DEFAULT_SIZES = {DerivationTarget: [800, 3200, 6400, 12800], Seq2SeqTarget: [800, 6400, 12800]}
"""Source and target steps in a batch."""


@dataclass(frozen=True)
class Pairs:
    """Source piece ids, target words, and how a word is cut into pieces."""

    sources: list[list[int]]
    targets: list[list[str]]
    source_size: int
    vocabulary: tuple[str, ...]
    cuts: dict[str, tuple[str, ...]]


def pairs_from(folder: Path) -> Pairs:
    """The training sentences of or-en."""
    source, target = Subwords.load(folder / "orm.spm.model"), Subwords.load(folder / "eng.spm.model")
    numbers = {piece: number for number, piece in enumerate(source.pieces)}
    sources = [
        [numbers.get(piece, 0) for piece in source.split_text(line)]
        for line in (folder / "train.orm").read_text(encoding="utf-8").splitlines()
    ]
    targets = [line.split() for line in (folder / "train.eng").read_text(encoding="utf-8").splitlines()]
    cuts = {word: tuple(target.split(word)) for words in targets for word in words}
    return Pairs(sources, targets, len(source.pieces), tuple(target.pieces), cuts)


def random_pairs(count: int = 2000, length: int | None = None) -> Pairs:
    """Sentences of or-en's lengths, or all of this many words; one word in three has two pieces."""
    draw = random.Random(1)
    vocabulary = tuple(f"{WORD_START}{number}" for number in range(3000)) + tuple(map(str, range(1000)))
    cuts = {str(n): (vocabulary[n], vocabulary[3000 + n % 1000])[: 1 + (n % 3 == 0)] for n in range(3000)}
    lengths = [length or max(1, min(80, round(draw.lognormvariate(3.1, 0.5)))) for _ in range(count)]
    targets = [[str(draw.randrange(3000)) for _ in range(length)] for length in lengths]
    sources = [[draw.randrange(3000) for _ in range(max(1, round(1.35 * length)))] for length in lengths]
    return Pairs(sources, targets, 3000, vocabulary, cuts)


@dataclass(frozen=True)
class Load:
    """Everything a system trains on."""

    decoder: str
    inventory: Inventory
    sources: list[list[int]]
    steps: list[NDArray[np.int32]]  # T 3 each: action, symbol, parent
    is_subword: torch.Tensor  # A bool


def target_of(decoder: str) -> type[Target[Any]]:
    """What the decoder is made to write."""
    return DerivationTarget if "tree" in decoder else Seq2SeqTarget


def load(pairs: Pairs, decoder: str) -> Load:
    """The steps that the decoder's target takes for the sentences."""
    trees: list[Nonterminal] = [
        segment(wrap_words(rooted(version_1(words))), lambda word: pairs.cuts[word]) for words in pairs.targets
    ]
    make: Any = target_of(decoder)
    target: Target[Any] = make.from_trees(trees, pairs.vocabulary)
    table = ActionTable(target)
    words = torch.tensor([symbol in (PRE, BEGUN) for symbol in table.symbols])
    inventory = Inventory(
        pairs.source_size,
        len(table.actions),
        len(table.symbols),
        torch.from_numpy(table.legal),
        words,
        torch.tensor([kind in ("word", "eop") for kind in table.kinds]),
        torch.tensor([kind == "word" for kind in table.kinds]),
    )
    steps = [table.steps(table.numbers(target.linearise(tree))) for tree in trees]
    return Load(decoder, inventory, pairs.sources, steps, torch.tensor([kind == "word" for kind in table.kinds]))


def batches(work: Load, budget: int, seed: int) -> Iterator[Batch]:
    """Shuffled batches of about `budget` source and target steps, of sentences of like length."""
    by_length = sorted(range(len(work.steps)), key=lambda n: (len(work.steps[n]), len(work.sources[n])))
    groups: list[list[int]] = [[]]
    filled = 0
    for number in by_length:
        cost = len(work.steps[number]) + len(work.sources[number])
        if groups[-1] and filled + cost > budget:
            groups.append([])
            filled = 0
        groups[-1].append(number)
        filled += cost
    draw = random.Random(seed)
    while True:
        draw.shuffle(groups)
        for group in groups:
            yield make_batch(work, group[::-1])


def make_batch(work: Load, numbers: list[int]) -> Batch:
    """These sentences, padded."""
    count = len(numbers)
    source = torch.zeros(count, max(len(work.sources[n]) for n in numbers), dtype=torch.long)
    steps = torch.zeros(count, max(len(work.steps[n]) for n in numbers), 3, dtype=torch.long)
    padding = torch.ones(steps.shape[:2], dtype=torch.bool)
    for row, number in enumerate(numbers):
        source[row, : len(work.sources[number])] = torch.tensor(work.sources[number])
        steps[row, : len(work.steps[number])] = torch.from_numpy(work.steps[number])
        padding[row, : len(work.steps[number])] = False
    lengths = torch.tensor([len(work.sources[n]) for n in numbers])
    actions, symbols, parents = steps.unbind(-1)
    return Batch(SourceBatch(source, lengths), actions, symbols, parents, padding)


def train(model: TranslationModel, optimiser: torch.optim.Optimizer, batch: Batch, precision: str = "float32") -> None:
    """One update."""
    optimiser.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bfloat16"):
        loss = model.loss(batch)
    (loss.total / batch.num_sentences).backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimiser.step()


def measure(
    work: Load,
    configuration: ModelConfiguration,
    encoder: str,
    decoder: str,
    budget: int,
    seconds: float,
    precision: str = "float32",
) -> dict[str, object]:
    """The speed of updates on batches of this size."""
    torch.manual_seed(1)
    model = TranslationModel(configuration, work.inventory, encoder, decoder)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.001, fused=True)
    stream = batches(work, budget, seed=3)
    train(model, optimiser, next(stream), precision)
    rates = [matrix_product_rate(0.5)]
    subwords = actions = sentences = updates = 0
    begin, processor_begin = time.perf_counter(), time.process_time()
    while time.perf_counter() - begin < seconds or updates < 2:
        batch = next(stream)
        train(model, optimiser, batch, precision)
        subwords += int(work.is_subword[batch.actions[~batch.padding]].sum())
        actions += batch.num_actions
        sentences += batch.num_sentences
        updates += 1
    elapsed, processor = time.perf_counter() - begin, time.process_time() - processor_begin
    rates.append(matrix_product_rate(0.5))
    rate = sum(rates) / len(rates)
    scaled = subwords / processor / rate * REFERENCE_RATE
    goal = GOALS.get((decoder, budget <= 800)) if encoder == "lstm" and configuration.hidden_size == 512 else None
    return {
        "encoder": encoder,
        "decoder": decoder,
        "weights": sum(weight.numel() for weight in model.parameters()),
        "embedding_size": configuration.embedding_size,
        "hidden_size": configuration.hidden_size,
        "readout": configuration.readout,
        "precision": precision,
        "steps_per_batch": budget,
        "sentences_per_batch": round(sentences / updates, 1),
        "updates": updates,
        "wall_seconds": round(elapsed, 2),
        "cpu_seconds": round(processor, 2),
        "subwords_per_second_wall": round(subwords / elapsed, 1),
        "subwords_per_second_cpu": round(subwords / processor, 1),
        "actions_per_second_wall": round(actions / elapsed, 1),
        "actions_per_second_cpu": round(actions / processor, 1),
        "matrix_product_gflops": round(rate, 1),
        "read_gb_per_second": round(read_rate(), 1),
        "subwords_per_gflop": round(subwords / processor / rate, 3),
        "subwords_per_second_at_140_gflops": round(scaled, 1),
        "goal_at_140_gflops": goal,
        "microseconds_per_action_cpu": round(processor / actions * 1e6, 1),
        "peak_memory_gb": round(peak_memory(), 2),
    }


def growth(
    configuration: ModelConfiguration, encoder: str, decoder: str, seconds: float
) -> Iterator[dict[str, object]]:
    """The cost of an action in longer sentences, 16 in a batch, and in a larger corpus."""
    shortest = 8
    for times in (1, 2, 4, 8):
        work = load(random_pairs(64, shortest * times), decoder)
        budget = 16 * max(len(steps) + len(source) for steps, source in zip(work.steps, work.sources, strict=True))
        yield {
            "sentence_length": f"{times} x {shortest} words",
            **measure(work, configuration, encoder, decoder, budget, seconds),
        }
    for count in (500, 5000):
        work = load(random_pairs(count), decoder)
        yield {"corpus": f"{count} sentences", **measure(work, configuration, encoder, decoder, 3200, seconds)}


def main() -> None:
    encoders = [name for name in ENCODERS if name not in TREE_ENCODER_NAMES]  # the batches here have no source trees
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="a folder with train.orm, train.eng and two subword models")
    parser.add_argument("--encoder", choices=encoders, nargs="+", default=["lstm"])
    parser.add_argument("--decoder", choices=list(DECODERS), nargs="+", default=["tree", "sequence"])
    parser.add_argument("--steps-per-batch", type=int, nargs="+", help="sizes of batches to measure")
    parser.add_argument("--readout", choices=["paper", "released"], default="released")
    parser.add_argument("--attention", choices=["additive", "dot"], default="additive")
    parser.add_argument("--hidden-size", type=int, default=512)
    parser.add_argument("--embedding-size", type=int, help="also the width of Transformers; by default the hidden size")
    parser.add_argument("--layers", type=int, default=4, help="layers of Transformers")
    parser.add_argument("--growth", action="store_true", help="measure how cost grows with sentences and corpus")
    parser.add_argument("--precision", choices=["float32", "bfloat16"], nargs="+", default=["float32"])
    parser.add_argument("--seconds", type=float, default=15.0, help="how long to measure each batch size")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    keep_freed_memory()
    torch.set_num_threads(arguments.threads)
    configuration = ModelConfiguration(
        embedding_size=arguments.embedding_size or arguments.hidden_size,
        hidden_size=arguments.hidden_size,
        readout=arguments.readout,
        attention=arguments.attention,
        transformer=TransformerConfiguration(layers=arguments.layers),
    )
    pairs = random_pairs() if arguments.data is None else pairs_from(arguments.data)
    for encoder, decoder in product(arguments.encoder, arguments.decoder):
        if arguments.growth:
            for result in growth(configuration, encoder, decoder, arguments.seconds):
                print(json.dumps(result), flush=True)
            continue
        work = load(pairs, decoder)
        sizes = arguments.steps_per_batch or DEFAULT_SIZES[target_of(decoder)]
        for budget, precision in product(sizes, arguments.precision):
            found = measure(work, configuration, encoder, decoder, budget, arguments.seconds, precision)
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
