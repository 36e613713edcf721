"""What damaged and hostile models do: trdec's model directory beside a pickled PyTorch checkpoint, as JSON.

    python benchmarks/damaged_models.py [--places 200]

The checkpoint is one as Joey NMT and many others write it: `torch.save` of a dictionary with the weights and the state
of the optimiser, beside a vocabulary of one piece per line. It is loaded as they load it: the network has the size of
the vocabulary, `torch.load` reads the weights, and `load_state_dict` sets them; with `weights_only`, nothing but
tensors and plain values is unpickled. Both hold the same small network, and both are damaged in the same ways. Damage
is noticed if loading raises an error of any kind, harmless if every weight and every piece is the same afterwards, and
silent otherwise.

Where Joey NMT can be imported (`pip install --no-deps joeynmt subword-nmt`), its own network is damaged too: made by
its `build_model` with the same pieces, saved with the keys of its `_save_checkpoint`, loaded by its `build_vocab` and
`load_checkpoint`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import torch

from trdec.configuration import Configuration
from trdec.configuration.sections import (
    CorpusConfiguration,
    DataConfiguration,
    ModelConfiguration,
    TrainingConfiguration,
)
from trdec.corpora.toy.generate import write_corpus
from trdec.data.manifest import check_manifest, write_manifest
from trdec.model.translation_model import TranslationModel
from trdec.systems import SYSTEMS
from trdec.training.trainer import train
from trdec.translation.model_directory import load_model

Loaded = tuple[dict[str, torch.Tensor], tuple[str, ...]]
"""Every weight by name, and the pieces in the order of their numbers."""


def made_model(folder: Path) -> Path:
    """The directory of a small network, hardly trained."""
    write_corpus(folder / "toy", 200, 1)
    files = {"constituency": Path("train.en.con"), "source": Path("train.vel"), "target": Path("train.en")}
    corpus = CorpusConfiguration.model_validate(files)
    subwords = {"source_subwords": {"size": 150}, "target_subwords": {"size": 150}}
    training = {"max_updates": 2, "validate_every": 2, "log_every": 2, "plot": False}
    train(
        Configuration(
            system=SYSTEMS["trdec-con"],
            output=folder / "model",
            folder=folder / "toy",
            data=DataConfiguration.model_validate({"train": corpus, "dev": corpus, **subwords}),
            model=ModelConfiguration(embedding_size=32, hidden_size=32),
            training=TrainingConfiguration.model_validate(training),
        )
    )
    return folder / "model"


def load_directory(model: Path) -> Loaded:
    """The model directory as `trdec translate` loads it."""
    codec, network, _ = load_model(model)
    return dict(network.state_dict()), tuple(map(str, codec.table.actions))


class Peer:
    """A checkpoint and a vocabulary in a folder, loaded as toolkits with pickled checkpoints do."""

    def __init__(self, folder: Path, network: TranslationModel, pieces: tuple[str, ...]) -> None:
        self.network = network
        folder.mkdir()
        optimiser = torch.optim.Adam(network.parameters())
        checkpoint = {"steps": 2, "model_state": network.state_dict(), "optimizer_state": optimiser.state_dict()}
        torch.save(checkpoint, folder / "best.ckpt")
        (folder / "trg_vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")

    def load(self, folder: Path, weights_only: bool = False) -> Loaded:
        """The weights in the network, and the vocabulary."""
        found = torch.load(folder / "best.ckpt", map_location="cpu", weights_only=weights_only)
        self.network.load_state_dict(found["model_state"])
        _ = found["optimizer_state"], found["steps"]
        lines = list(dict.fromkeys((folder / "trg_vocab.txt").read_text(encoding="utf-8").split("\n")[:-1]))
        if len(lines) != self.network.num_actions:
            raise ValueError("size mismatch")
        return {name: tensor.clone() for name, tensor in self.network.state_dict().items()}, tuple(lines)


class JoeyPeer:
    """A model directory of Joey NMT, written and loaded by its own functions."""

    SYMBOLS: ClassVar[dict[str, Any]] = {
        **{"unk_token": "<unk>", "pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "sep_token": None},
        **{"unk_id": 0, "pad_id": 1, "bos_id": 2, "eos_id": 3, "sep_id": None, "lang_tags": []},
    }

    def __init__(self, folder: Path, pieces: tuple[str, ...]) -> None:
        from joeynmt.vocabulary import Vocabulary

        folder.mkdir()
        vocabulary = Vocabulary([piece.replace("\n", " ") for piece in pieces], SimpleNamespace(**self.SYMBOLS))
        for name in ("src_vocab.txt", "trg_vocab.txt"):
            vocabulary.to_file(folder / name)
        self.network = self._network(vocabulary, vocabulary)
        optimiser = torch.optim.Adam(self.network.parameters())
        state = {"model_state": self.network.state_dict(), "optimizer_state": optimiser.state_dict()}
        others = ("scaler_state", "scheduler_state", "train_iter_state", "stats_state")
        torch.save({**state, **dict.fromkeys(others)}, folder / "best.ckpt")

    @staticmethod
    def _network(source: Any, target: Any) -> Any:
        from joeynmt.model import build_model

        side = {"type": "recurrent", "rnn_type": "lstm", "embeddings": {"embedding_dim": 32}, "hidden_size": 32}
        decoder = {**side, "attention": "bahdanau", "init_hidden": "bridge"}
        return build_model({"encoder": {**side, "bidirectional": True}, "decoder": decoder}, source, target)

    def load(self, folder: Path) -> Loaded:
        """The weights in a new network, and the target's vocabulary."""
        from joeynmt.helpers import load_checkpoint
        from joeynmt.vocabulary import build_vocab

        side = {"level": "bpe", "min_freq": 1, "max_size": None}
        symbols = SimpleNamespace(**self.SYMBOLS)
        _, target = build_vocab({"src": {**side}, "trg": {**side}, "special_symbols": symbols}, None, model_dir=folder)
        if len(target) != self.network.trg_embed.vocab_size:  # a network of the vocabulary's size would not fit
            raise ValueError("size mismatch")
        self.network.load_state_dict(load_checkpoint(folder / "best.ckpt", map_location="cpu")["model_state"])
        weights = {name: tensor.clone() for name, tensor in self.network.state_dict().items()}
        return weights, tuple(target._itos)


def flipped(content: bytes, generator: random.Random, places: int) -> Iterator[bytes]:
    """The content with one bit changed."""
    for _ in range(places):
        changed = bytearray(content)
        changed[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
        yield bytes(changed)


def cut(content: bytes, generator: random.Random, places: int) -> Iterator[bytes]:
    """The content without its end."""
    for _ in range(places):
        yield content[: generator.randrange(len(content))]


def swapped_lines(content: bytes, generator: random.Random, places: int) -> Iterator[bytes]:
    """The content with two lines exchanged."""
    lines = content.splitlines(keepends=True)
    for _ in range(places):
        one, other = generator.sample(range(len(lines)), 2)
        changed = [*lines]
        changed[one], changed[other] = lines[other], lines[one]
        yield b"".join(changed)


def outcomes(load: Callable[[Path], Loaded], folder: Path, path: Path, contents: Iterator[bytes]) -> dict[str, int]:
    """How often damage to a file was noticed, harmless or silent."""
    content, good = path.read_bytes(), load(folder)
    found: Counter[str] = Counter()
    for changed in contents:
        if changed == content:
            continue
        path.write_bytes(changed)
        try:
            weights, pieces = load(folder)
        except Exception:  # noqa: BLE001  # a traceback is noticed too
            found["noticed"] += 1
            continue
        same = pieces == good[1] and all(torch.equal(weights[name], good[0][name]) for name in good[0])
        found["harmless" if same else "silent"] += 1
    path.write_bytes(content)
    return {name: found[name] for name in ("noticed", "harmless", "silent")}


class Touch:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def runs_code(load: Callable[[Path], Loaded], folder: Path, mark: Path) -> bool:
    """Whether loading a model whose author wants to run code does run it."""
    with contextlib.suppress(Exception):  # refusing is what is asked for
        load(folder)
    return mark.exists()


def hostile_directory(model: Path, folder: Path, mark: Path) -> Path:
    """A copy of the model that names a module which lies beside it and in it."""
    hostile = shutil.copytree(model, folder / "model", ignore=shutil.ignore_patterns("data"))
    path = hostile / "config.yaml"
    lines = path.read_text(encoding="utf-8").replace(
        "system: trdec-con\n", "system: {trees: flat, target: 'mark:Mark'}\n"
    )
    path.write_text(lines, encoding="utf-8")
    for place in (hostile, folder):
        (place / "mark.py").write_text(f"open({str(mark)!r}, 'w')\nMark = None\n")
    sys.path.insert(0, str(folder))
    write_manifest(hostile)
    return hostile


def hostile_checkpoint(peer: Path, folder: Path, mark: Path) -> Path:
    """A copy of the checkpoint with an object that runs code when it is unpickled."""
    hostile = shutil.copytree(peer, folder / "peer")
    found = torch.load(hostile / "best.ckpt", weights_only=False)
    torch.save({**found, "note": Touch(mark)}, hostile / "best.ckpt")
    return hostile


def checking_seconds(folder: Path, megabytes: int) -> float:
    """The least of five times to compare a model of this size with its manifest."""
    (folder / "codec").mkdir(parents=True)
    for name in ("config.yaml", "codec/codec.json"):
        (folder / name).write_text(name)
    generator = torch.Generator().manual_seed(1)
    numbers = torch.randint(256, (megabytes * 10**6,), dtype=torch.uint8, generator=generator)
    (folder / "model.safetensors").write_bytes(numbers.numpy().tobytes())
    write_manifest(folder)
    times = []
    for _ in range(5):
        began = time.perf_counter()
        check_manifest(folder)
        times.append(time.perf_counter() - began)
    return min(times)


def main() -> None:
    """Damage both and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--places", type=int, default=200, help="places at which each file is damaged")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = made_model(folder)
        codec, network, _ = load_model(model)
        peer = Peer(folder / "peer", network, tuple(map(str, codec.table.actions)))
        files = {
            "weights": ("model.safetensors", "best.ckpt"),
            "vocabulary": ("codec/grammar.txt", "trg_vocab.txt"),
        }
        loads: dict[str, Callable[[Path], Loaded]] = {
            "trdec": load_directory,
            "pickled": peer.load,
            "pickled, weights_only": partial(peer.load, weights_only=True),
        }
        folders = {"trdec": model, "pickled": folder / "peer", "pickled, weights_only": folder / "peer"}
        if find_spec("joeynmt") is not None:
            folders["Joey NMT"] = folder / "joey"
            loads["Joey NMT"] = JoeyPeer(folder / "joey", tuple(map(str, codec.table.actions))).load
        for what, damage in (
            ("weights", flipped),
            ("weights", cut),
            ("vocabulary", flipped),
            ("vocabulary", cut),
            ("vocabulary", swapped_lines),
        ):
            row: dict[str, Any] = {"file": what, "damage": damage.__name__}
            for system, load in loads.items():
                owner = folders[system]
                path = owner / files[what][system != "trdec"]
                contents = damage(path.read_bytes(), random.Random(1), options.places)
                row[system] = outcomes(load, owner, path, contents)
            print(json.dumps(row), flush=True)
        row = {"file": "all", "damage": "code that runs when it is loaded"}
        for number, (system, load) in enumerate(loads.items()):
            mark = folder / f"ran-{number}"
            hostile = hostile_directory if system == "trdec" else hostile_checkpoint
            made = hostile(folders[system], folder / f"hostile-{number}", mark)
            row[system] = "runs" if runs_code(load, made, mark) else "refused"
        print(json.dumps(row), flush=True)
        print(json.dumps({"checking_60_MB_seconds": round(checking_seconds(folder / "large", 60), 3)}))


if __name__ == "__main__":
    main()
