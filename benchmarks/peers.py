"""Joey NMT's recurrent network and trdec's seq2seq beside each other, as one JSON object a line.

    pip install joeynmt==2.3.0
    python benchmarks/peers.py --data FOLDER

Both are a bidirectional LSTM, additive attention with input feeding, and an LSTM, of the same sizes, on one thread and
on the same sentences. They take turns, batch by batch, so that whatever else the machine does is shared; rates are
per second of processor time. Training is forward, backward, clipping and Adam. In translating, weights are random:
both write as many pieces as the reference has.
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from machine import matrix_product_rate
from training import Load, load, make_batch, pairs_from
from training import train as train_trdec
from trdec.configuration.sections import ModelConfiguration
from trdec.data.batch import Batch
from trdec.freed_memory import keep_freed_memory
from trdec.model.translation_model import TranslationModel

PAD, BOS, EOS = 1, 2, 3
"""Joey NMT's numbers; those of words come after them."""

SPECIALS = 4


def joey_model(hidden_size: int, source_size: int, target_size: int) -> Any:
    """Joey NMT's network of these sizes."""
    from joeynmt.model import build_model
    from joeynmt.vocabulary import Vocabulary

    names = {f"{name}_token": f"<{name}>" for name in ("unk", "pad", "bos", "eos")}
    numbers = {"unk_id": 0, "pad_id": PAD, "bos_id": BOS, "eos_id": EOS}
    special = SimpleNamespace(**names, **numbers, sep_token=None, sep_id=None, lang_tags=[])
    vocabularies = [Vocabulary([str(n) for n in range(size)], special) for size in (source_size, target_size)]
    part = {
        "type": "recurrent",
        "rnn_type": "lstm",
        "embeddings": {"embedding_dim": hidden_size},
        "hidden_size": hidden_size,
        "num_layers": 1,
        "dropout": 0.0,
    }
    decoder = {**part, "attention": "bahdanau", "input_feeding": True, "init_hidden": "bridge", "hidden_dropout": 0.0}
    sizes = {"encoder": {**part, "bidirectional": True}, "decoder": decoder}
    model = build_model(sizes, *vocabularies)
    model.loss_function = ("crossentropy", 0.0)
    return model


def joey_batch(batch: Batch, with_target: bool) -> Any:
    """The same sentences as Joey NMT takes them, longest source first."""
    from joeynmt.batch import Batch as JoeyBatch

    order = batch.source.lengths.argsort(descending=True)
    lengths, target_lengths = batch.source.lengths[order], (~batch.padding).sum(dim=1)[order]
    source, target = batch.source.pieces[order] + SPECIALS, batch.actions[order] + SPECIALS
    source[torch.arange(source.shape[1]) >= lengths.unsqueeze(1)] = PAD
    places = torch.arange(target.shape[1])
    target[places == target_lengths.unsqueeze(1) - 1] = EOS
    target[places >= target_lengths.unsqueeze(1)] = PAD
    framed = torch.cat([torch.full((len(target), 1), BOS), target], dim=1)
    given = framed if with_target else None
    return JoeyBatch(source, lengths, None, given, None, order, torch.device("cpu"), PAD, EOS, is_train=with_target)


def train_joey(model: Any, optimiser: torch.optim.Optimizer, batch: Any) -> None:
    """One update."""
    optimiser.zero_grad()
    loss: Tensor = model(return_type="loss", **vars(batch))[0]
    (loss / batch.nseqs).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimiser.step()


class Clock:
    """Processor time by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def __call__(self, name: str, run: Callable[[], object]) -> None:
        """Run it, and add what it took."""
        began = time.process_time()
        run()
        self.seconds[name] = self.seconds.get(name, 0.0) + time.process_time() - began


def training(work: Load, hidden_size: int, sentences: int, updates: int) -> dict[str, object]:
    """Updates of both, in turn."""
    sizes = ModelConfiguration(embedding_size=hidden_size, hidden_size=hidden_size)
    ours = TranslationModel(sizes, work.inventory, "lstm", "sequence")
    theirs = joey_model(hidden_size, work.inventory.source_size, work.inventory.num_actions)
    optimisers = [torch.optim.Adam(model.parameters(), lr=0.001, fused=True) for model in (ours, theirs)]
    by_length = sorted(range(len(work.steps)), key=lambda number: -len(work.steps[number]))
    begins = torch.linspace(0, len(by_length) - sentences, updates + 1).long().tolist()
    clock, words = Clock(), 0
    for place, begin in enumerate(begins):
        batch = make_batch(work, by_length[begin : begin + sentences])
        same = joey_batch(batch, with_target=True)
        turn = Clock() if place == 0 else clock  # the first update of each warms up
        turn("trdec", lambda b=batch: train_trdec(ours, optimisers[0], b))  # type: ignore[misc]
        turn("trdec, bfloat16", lambda b=batch: train_trdec(ours, optimisers[0], b, "bfloat16"))  # type: ignore[misc]
        turn("joeynmt", lambda b=same: train_joey(theirs, optimisers[1], b))  # type: ignore[misc]
        words += 0 if place == 0 else int(work.is_subword[batch.actions[~batch.padding]].sum())
    return _row("training", hidden_size, sentences, {name: words / took for name, took in clock.seconds.items()})


def translating(folder: Path, hidden_size: int, sentences: int, count: int, beam_size: int) -> dict[str, object]:
    """Beam searches of both, in turn."""
    from joeynmt.search import search

    import decoding
    from trdec.data.batch import SourceBatch
    from trdec.search.beam import BeamSettings, beam_search
    from trdec.search.limits import LengthLimits

    sizes = ModelConfiguration(embedding_size=hidden_size, hidden_size=hidden_size)
    work = decoding.load(folder, "seq2seq", decoding.Network("lstm", None, sizes))
    settings = BeamSettings(beam_size, limits=LengthLimits(max_ratio=0, max_extra=100_000))
    source_size = 1 + max(int(source.pieces.max()) for source in work.sources)
    theirs = joey_model(hidden_size, source_size, work.model.num_actions).eval()
    models = {"trdec": work.model.for_search("float32"), "trdec, int8": work.model.for_search("int8")}
    order = sorted(range(len(work.sources)), key=lambda number: -len(work.kinds[number]))
    begins = torch.linspace(0, len(order) - sentences, max(2, count // sentences + 1)).long().tolist()
    clock = Clock()
    for place, begin in enumerate(begins):
        numbers = order[begin : begin + sentences]
        source = SourceBatch.of([work.sources[number].pieces for number in numbers])
        kinds = [work.kinds[number] for number in numbers]
        empty = torch.zeros(len(numbers), 1, dtype=torch.long)
        same = joey_batch(Batch(source, empty, empty, empty, empty.bool()), with_target=False)
        turn = Clock() if place == 0 else clock
        for name, model in models.items():
            constraint = decoding.SameKinds(kinds, work.action_kinds)
            turn(name, lambda m=model, s=source, c=constraint: list(beam_search(m, work.effects, s, settings, [c])))  # type: ignore[misc]
        longest = max(map(len, kinds))
        turn("joeynmt", lambda b=same, most=longest: search(theirs, b, most, beam_size, 1.0))  # type: ignore[misc]
    translated = sentences * (len(begins) - 1)
    rates = {name: translated / took for name, took in clock.seconds.items()}
    return {**_row("translating", hidden_size, sentences, rates), "beam_size": beam_size}


def _row(what: str, hidden_size: int, sentences: int, rates: dict[str, float]) -> dict[str, object]:
    return {
        "what": what,
        "hidden_size": hidden_size,
        "sentences_per_batch": sentences,
        ("subwords" if what == "training" else "sentences") + "_per_second": {
            name: round(rate, 2) for name, rate in rates.items()
        },
        "times_joeynmt": {name: round(rate / rates["joeynmt"], 2) for name, rate in rates.items()},
        "matrix_product_gflops": round(matrix_product_rate(0.5), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="or-en: train, dev and two subword models")
    parser.add_argument("--hidden-size", type=int, default=512)
    parser.add_argument("--sentences", type=int, nargs="+", default=[16, 64], help="in a batch of training")
    parser.add_argument("--updates", type=int, default=8)
    parser.add_argument("--translate", type=int, default=64, help="how many sentences to translate")
    parser.add_argument("--beam-size", type=int, default=5)
    arguments = parser.parse_args()
    keep_freed_memory()
    torch.set_num_threads(1)
    logging.disable(logging.INFO)
    torch.manual_seed(1)
    work = load(pairs_from(arguments.data), "sequence")
    for sentences in arguments.sentences:
        print(json.dumps(training(work, arguments.hidden_size, sentences, arguments.updates)), flush=True)
    found = translating(arguments.data, arguments.hidden_size, 16, arguments.translate, arguments.beam_size)
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
