"""How long making a batch takes beside training on it: python benchmarks/batches.py [--size 800] [--hidden 512]"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import torch

from trdec.configuration.sections import (
    BatchConfiguration,
    CorpusConfiguration,
    DataConfiguration,
    ModelConfiguration,
    SubwordConfiguration,
    TrainingCorpusConfiguration,
)
from trdec.corpora.toy.generate import write_corpus
from trdec.data.batch import Batcher
from trdec.data.prepare import prepare
from trdec.data.subword_dropout import SubwordDropout
from trdec.model.translation_model import TranslationModel
from trdec.systems import SYSTEMS


def main() -> None:
    """Print processor seconds per batch as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=800)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--sentences", type=int, default=3000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_corpus(folder / "toy", options.sentences, 1)
        size = SubwordConfiguration(size=300)
        data = DataConfiguration(
            train=TrainingCorpusConfiguration(source=folder / "toy/train.vel", target=folder / "toy/train.en"),
            dev=CorpusConfiguration(source=folder / "toy/dev.vel", target=folder / "toy/dev.en"),
            source_subwords=size,
            target_subwords=size,
        )
        system = SYSTEMS["trdec-binary"]
        prepared = prepare(data, system, folder / "model")
        configuration = BatchConfiguration(batch_type="actions", batch_size=options.size)
        steps_of = prepared.codec.table.steps
        plain = Batcher(prepared.train, steps_of, configuration, 1)
        dropped = Batcher(prepared.train, steps_of, configuration, 1, SubwordDropout(prepared.codec, 0.1, 1))
        sizes = ModelConfiguration(embedding_size=options.hidden, hidden_size=options.hidden)
        model = TranslationModel(sizes, prepared.codec.inventory(), system.encoder, system.decoder)
        plan = plain.plan(0)[: options.batches]
        found = {"plan_of_an_epoch": 0.0, "batch": 0.0, "batch_with_subword_dropout": 0.0, "update": 0.0}
        began = time.process_time()
        plain.plan(1)
        found["plan_of_an_epoch"] = time.process_time() - began
        for numbers in plan:
            moments = [time.process_time()]
            batch = plain.batch(numbers, 0)
            moments.append(time.process_time())
            dropped.batch(numbers, 0)
            moments.append(time.process_time())
            model.loss(batch).total.backward()  # type: ignore[no-untyped-call]
            moments.append(time.process_time())
            for key, before, after in zip(list(found)[1:], moments, moments[1:], strict=False):
                found[key] += (after - before) / len(plan)
        sentences = sum(map(len, plan)) / len(plan)
        print(json.dumps({"sentences_per_batch": round(sentences, 1), **{k: round(v, 5) for k, v in found.items()}}))


if __name__ == "__main__":
    main()
