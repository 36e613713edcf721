"""How fast sentences are translated on one thread: beam search of random networks, as one JSON object a line.

    python benchmarks/decoding.py --data FOLDER

A random network does not know where to end, so its choices are steered: each sentence's dev translation says which
kind of action comes when, and the search runs as long as a trained network's would, over every word and rule.
TrDec writes the appendix's balanced binary trees, or those with every word in a node of its own.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from machine import matrix_product_rate, peak_memory
from trdec.configuration.sections import ModelConfiguration, TransformerConfiguration
from trdec.data.batch import Inventory, SourceBatch
from trdec.freed_memory import keep_freed_memory
from trdec.model.interfaces import SearchPrecision
from trdec.model.translation_model import DECODERS, ENCODERS, TranslationModel
from trdec.search.beam import BeamSettings, beam_search
from trdec.search.frontiers import MEASURES, STEPS, Effects
from trdec.search.limits import LengthLimits
from trdec.search.state import SearchState
from trdec.systems import TREE_ENCODER_NAMES
from trdec.targets.actions import ApplyRule
from trdec.targets.derivation import BEGUN, DerivationTarget
from trdec.targets.sequence import Seq2SeqTarget
from trdec.targets.target import ActionTable, Target
from trdec.text import UNKNOWN, Subwords
from trdec.tokenisers import WORD_START
from trdec.translation.source import Source, batches
from trdec.translation.translator import PLACES, ROWS
from trdec.trees.builders import version_1
from trdec.trees.transforms import rooted, segment, wrap_words
from trdec.trees.tree import PRE, Nonterminal

REFERENCE_RATE = 140.0
"""GFLOP/s at which the goals are set."""


@dataclass(frozen=True)
class Work:
    """Sentences to translate, a network, and the kind of each action of their translations."""

    sources: list[Source]
    kinds: list[list[int]]
    model: TranslationModel
    effects: Effects
    action_kinds: Tensor  # A


class SameKinds:
    """Each step's action must have the kind that it has in the reference."""

    def __init__(self, kinds: list[list[int]], action_kinds: Tensor) -> None:
        rows = [torch.tensor(row) for row in kinds]
        self._kinds = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)  # B T
        self._others = action_kinds != torch.arange(int(action_kinds.max()) + 1).unsqueeze(1)  # kinds A

    @property
    def amounts(self) -> Tensor:
        """B M: nothing, since the kinds say when a derivation ends."""
        return torch.zeros(len(self._kinds), MEASURES, dtype=torch.long)

    def to(self, device: torch.device) -> SameKinds:
        """Itself: this is measured on the processor alone."""
        assert device.type == "cpu"
        return self

    def forbidden(self, walk: SearchState) -> Tensor:
        """R A: the actions of another kind."""
        due = self._kinds[walk.row_sentences(), walk.used[:, STEPS]]  # R
        return self._others.index_select(0, due)  # R A

    def due(self, walk: SearchState) -> None:  # noqa: ARG002
        """Nothing more."""
        return


@dataclass(frozen=True)
class Network:
    """What translates: its encoder, its decoder unless it is the system's own, and their sizes."""

    encoder: str
    decoder: str | None
    configuration: ModelConfiguration


def load(folder: Path, name: str, network: Network, times: int = 1) -> Work:
    """or-en dev, each line so many times over, and a random network of the sizes that the paper used."""
    source, target_pieces = Subwords.load(folder / "orm.spm.model"), Subwords.load(folder / "eng.spm.model")
    numbers = {piece: number for number, piece in enumerate(source.pieces)}
    lines = _lines(folder / "dev.orm", times)
    end = len(source.pieces)
    pieces = [[*(numbers.get(piece, 0) for piece in source.split_text(line)), end] for line in lines]
    sources = [
        Source(np.array(row, dtype=np.int32), tuple(line.split()), ()) for row, line in zip(pieces, lines, strict=True)
    ]
    sentences = [line.split() for line in _lines(folder / "dev.eng", times)]
    trees: list[Nonterminal] = [segment(rooted(version_1(words)), target_pieces.split) for words in sentences]
    if name == "trdec-wrapped":
        trees = [segment(wrap_words(rooted(version_1(words))), target_pieces.split) for words in sentences]
    make: Any = Seq2SeqTarget if name == "seq2seq" else DerivationTarget
    target: Target[Any] = make.from_trees(trees, target_pieces.pieces)
    table = ActionTable(target)
    inventory = Inventory(
        end + 1,
        len(table.actions),
        len(table.symbols),
        torch.from_numpy(table.legal),
        torch.tensor([symbol in (PRE, BEGUN) for symbol in table.symbols]),
        torch.tensor([kind in ("word", "eop") for kind in table.kinds]),
        torch.tensor([kind == "word" for kind in table.kinds]),
    )
    torch.manual_seed(1)
    decoder = network.decoder or ("sequence" if name == "seq2seq" else "tree")
    model = TranslationModel(network.configuration, inventory, network.encoder, decoder).eval()
    # Each rule is a kind of its own, so that the shape of the tree is the reference's.
    names = [str(action) if isinstance(action, ApplyRule) else type(action).__name__ for action in table.actions]
    numbers_of_kinds = {name: number for number, name in enumerate(dict.fromkeys(names))}
    ids = [numbers_of_kinds[name] for name in names]
    kinds = [[ids[table.number(action)] for action in target.linearise(tree)] for tree in trees]
    # After the mark of a space alone, letters come, which the reference may not have in that place.
    banned = [number for number, action in enumerate(table.actions) if str(action) in (UNKNOWN, WORD_START)]
    return Work(sources, kinds, model, Effects.of(target, table, banned), torch.tensor(ids))


def _lines(path: Path, times: int) -> list[str]:
    return [" ".join([line] * times) for line in path.read_text(encoding="utf-8").splitlines()]


def measure(
    work: Work, name: str, beam_size: int, rows: int, most: int, precision: SearchPrecision = "float32"
) -> dict[str, object]:
    """Sentences a second."""
    settings = BeamSettings(beam_size, limits=LengthLimits(max_ratio=0, max_extra=100_000))
    count = min(most, len(work.sources))
    chosen = np.linspace(0, len(work.sources) - 1, count).astype(int).tolist()
    sources, kinds = [work.sources[n] for n in chosen], [work.kinds[n] for n in chosen]
    model = work.model.for_search(precision)
    rates = [matrix_product_rate(0.5)]
    begin, begin_cpu = time.perf_counter(), time.process_time()
    actions = 0
    latencies: list[float] = []
    for numbers in batches(sources, max(1, rows // beam_size), max(1, PLACES // beam_size)):
        constraint = SameKinds([kinds[n] for n in numbers], work.action_kinds)
        batch = SourceBatch.of([sources[n].pieces for n in numbers])
        began = time.perf_counter()
        for found in beam_search(model, work.effects, batch, settings, [constraint]):
            actions += len(found[0].actions)
        latencies.append(time.perf_counter() - began)
    elapsed, cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
    rates.append(matrix_product_rate(0.5))
    rate = sum(rates) / len(rates)
    return {
        "system": name,
        "encoder": type(work.model.encoder).__name__,
        "decoder": type(work.model.decoder).__name__,
        "beam_size": beam_size,
        "rows": rows,
        "precision": precision,
        "sentences": count,
        "actions_per_sentence": round(actions / count, 1),
        "sentences_per_second": round(count / elapsed, 2),
        "batches": len(latencies),
        "milliseconds_per_batch_median": round(float(np.median(latencies)) * 1000, 1),
        "milliseconds_per_batch_99th": round(float(np.percentile(latencies, 99)) * 1000, 1),
        "row_steps_per_second": round(actions * beam_size / elapsed),
        "matrix_product_gflops": round(rate, 1),
        "sentences_per_second_at_140_gflops": round(count / elapsed / rate * REFERENCE_RATE, 2),
        "sentences_per_cpu_second": round(count / cpu, 2),
        "microseconds_per_hypothesis_and_action_cpu": round(cpu / (actions * beam_size) * 1e6, 1),
        "peak_memory_gb": round(peak_memory(), 2),
    }


def growth(folder: Path, name: str, network: Network) -> None:
    """Print the cost of a hypothesis and action in longer sentences and in wider beams, for batches of equal size."""
    for times in (1, 2, 4, 8):
        work = load(folder, name, network, times)
        print(json.dumps({"length": f"{times} x dev", **measure(work, name, 5, 80, 16)}), flush=True)
    work = load(folder, name, network)
    for beam_size in (5, 15, 45):
        most = max(6, 90 // beam_size)
        print(json.dumps({"beam": beam_size, **measure(work, name, beam_size, 270, most)}), flush=True)


def main() -> None:
    encoders = [name for name in ENCODERS if name not in TREE_ENCODER_NAMES]  # the batches here have no source trees
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="or-en: dev.orm, dev.eng and two subword models")
    systems = ["trdec", "trdec-wrapped", "seq2seq"]
    parser.add_argument("--system", choices=systems, nargs="+", default=["trdec", "seq2seq"])
    parser.add_argument("--encoder", choices=encoders, default="lstm")
    parser.add_argument("--decoder", choices=list(DECODERS), help="by default tree, and sequence for seq2seq")
    parser.add_argument("--beam-size", type=int, nargs="+", default=[1, 5, 45])
    parser.add_argument("--rows", type=int, nargs="+", default=[ROWS], help="hypotheses in a batch; 1: one sentence")
    parser.add_argument("--sentences", type=int, default=358, help="at most; beam 45 takes a tenth of them")
    parser.add_argument("--hidden-size", type=int, default=512)
    parser.add_argument("--embedding-size", type=int, help="also the width of Transformers; by default the hidden size")
    parser.add_argument("--layers", type=int, default=4, help="layers of Transformers")
    parser.add_argument("--precision", choices=["float32", "int8"], nargs="+", default=["float32"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--growth", action="store_true", help="measure how cost grows with sentences and the beam")
    arguments = parser.parse_args()
    keep_freed_memory()
    torch.set_num_threads(arguments.threads)
    sizes = ModelConfiguration(
        embedding_size=arguments.embedding_size or arguments.hidden_size,
        hidden_size=arguments.hidden_size,
        transformer=TransformerConfiguration(layers=arguments.layers),
    )
    network = Network(arguments.encoder, arguments.decoder, sizes)
    if arguments.growth:
        for name in arguments.system:
            growth(arguments.data, name, network)
        return
    for name in arguments.system:
        work = load(arguments.data, name, network)
        for beam_size in arguments.beam_size:
            for rows in arguments.rows:
                most = arguments.sentences if beam_size < 20 else max(1, arguments.sentences // 10)
                for precision in arguments.precision:
                    print(json.dumps(measure(work, name, beam_size, rows, most, precision)), flush=True)


if __name__ == "__main__":
    main()
