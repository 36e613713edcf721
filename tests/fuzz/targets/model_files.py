"""What a model or a user gives as settings: YAML documents, overrides, codecs, manifests and subword models."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from random import Random

import torch
from safetensors.torch import save

from fuzz.harness import Target
from fuzz.inputs import toy_sentences
from trdec.configuration import Configuration, load_configuration
from trdec.configuration.document import Document, apply_overrides
from trdec.configuration.values import read_yaml, write_yaml
from trdec.data.codec import SOURCE_MODEL, Codec
from trdec.data.manifest import MANIFEST, check_manifest, write_manifest
from trdec.experiment.configuration import load_experiment
from trdec.model.weights import read_shapes, read_tensors
from trdec.systems import SYSTEMS
from trdec.text import Side, Subwords
from trdec.tokenisers import Tokeniser
from trdec.translation.model_directory import load_model

RECIPE = b"""\
system: trdec-con
output: model
folder: data
seed: 3
data:
  train: &corpus {source: train.vel, target: train.en, constituency: train.en.con}
  dev: *corpus
  source_subwords: {kind: bpe, size: 0x96}
  target_subwords: {size: 1_000, model: null}
batches: {batch_type: sentences, batch_size: 16}
model: {embedding_size: 8, hidden_size: 8, dropout: {embeddings: 0.2}}
training: {max_updates: 6, plot: false, schedule: {kind: cosine, minimum: 1e-5}}
"""

KEYS = b"""\
system: {trees: [binary-1, "my_module:trees"], transforms: wrap-words, target: lin, decoder: sequence}
output: "a \\u00e9 \\0"
data: {train: {source: a, target: b}, dev: {source: a, target: b}, source_language: de}
"""

EXPERIMENT = b"""\
title: Two systems
output: experiments/two
recipe: recipe.yaml
systems: [seq2seq, {name: wide, like: trdec-binary, changes: {model.hidden_size: 9}}]
seeds: [3, 5]
changes: {training.max_updates: 7, model: {hidden_size: 16}}
test: {source: a, target: b}
published: {seq2seq: 10.5}
scales:
  tiny: {seeds: [9], beam_size: 2, changes: {model.hidden_size: 4}}
"""

YAML_TOKENS = (
    *(
        b"&a ",
        b"*a",
        b"<<: ",
        b"<<: *corpus",
        b"!!int ",
        b"!!bool ",
        b"!!float ",
        b"!!timestamp ",
        b"!!binary ",
        b"!!set ",
    ),
    *(
        b"!!python/object/apply:os.system ",
        b"? ",
        b": ",
        b"- ",
        b"[",
        b"]",
        b"{",
        b"}",
        b"|\n",
        b">-\n",
        b"--- ",
        b"... ",
    ),
    *(
        b"%YAML 1.1\n",
        b"0x",
        b"1:30",
        b".inf",
        b".nan",
        b"2020-01-01",
        b"null",
        b"~",
        b"yes",
        b"\\x",
        b"\\ud800",
        b"# ",
    ),
)

OVERRIDES = (
    b"system=lin\nsystem.transforms=[binarise]\noutput=my #1",
    b"model.hidden_size=256\ndata.train={source: a, target: b}",
    b"training.schedule.kind=cosine\nseed=0x10\ndata.dev.supertags=null",
)


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="trdec-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _file(name: str, data: bytes) -> Path:
    path = _folder() / name
    path.write_bytes(data)
    return path


def run_recipe(data: bytes) -> None:
    """Read a configuration; what it holds is written and read back."""
    found = load_configuration(_file("recipe.yaml", data))
    found.save(_folder() / "again.yaml")
    assert load_configuration(_folder() / "again.yaml") == found


def run_experiment(data: bytes) -> None:
    """Read an experiment, as it is and at its first scale."""
    path = _file("experiment.yaml", data)
    found = load_experiment(path)
    for scale in list(found.scales)[:1]:
        load_experiment(path, scale=scale)


def run_overrides(data: bytes) -> None:
    """Change a configuration by one override per line."""
    overrides = data.decode("utf-8", "surrogateescape").split("\n")
    path = _file("changed.yaml", RECIPE)
    load_configuration(path, overrides)


def run_value(data: bytes) -> None:
    """Read one value, and write it again."""
    text = data.decode("utf-8", "surrogateescape")
    document = apply_overrides(Document("nothing", {}, {}), [f"seed={text}"], Configuration)
    value = document.content["seed"]
    assert repr(read_yaml(write_yaml(value))[1]) == repr(value)


@cache
def _codec() -> Path:
    folder = _folder() / "codec"
    side = Side(Subwords.train((sentence.target for sentence in toy_sentences(60)), "bpe", 120), Tokeniser())
    family = SYSTEMS["trdec-con"].target_class
    trees = [SYSTEMS["trdec-con"].transform(sentence.tree) for sentence in toy_sentences(60)]
    Codec(SYSTEMS["trdec-con"], side, side, family.from_trees(trees, side.subwords.pieces)).save(folder)
    return folder


def _codec_file(name: str, data: bytes) -> None:
    path = _codec() / name
    before = path.read_bytes()
    try:
        path.write_bytes(data)
        Codec.load(_codec())
    finally:
        path.write_bytes(before)


def run_codec(data: bytes) -> None:
    """Read a codec whose description is this."""
    _codec_file("codec.json", data)


def run_codec_grammar(data: bytes) -> None:
    """Read a codec whose grammar is this."""
    _codec_file("grammar.txt", data)


@cache
def _model() -> Path:
    folder = _folder() / "model"
    (folder / "codec").mkdir(parents=True)
    for name in ("config.yaml", "codec/codec.json", "model.safetensors"):
        (folder / name).write_text(name)
    write_manifest(folder)
    return folder


def run_manifest(data: bytes) -> None:
    """Compare a model with a manifest: only the one that was written agrees with it."""
    good = _manifests()[0]
    (_model() / MANIFEST).write_bytes(data)
    try:
        check_manifest(_model())
        assert data == good, "a changed manifest was taken"
    finally:
        (_model() / MANIFEST).write_bytes(good)


@cache
def _manifests() -> list[bytes]:
    return [(_model() / MANIFEST).read_bytes()]


@cache
def _network() -> dict[str, Path]:
    """Small models by the name of their encoder, without a manifest: what they say is taken as it is."""
    from support.model_directory import make_model

    found = {"lstm": make_model(_folder() / "network", "trdec-con")}
    (found["lstm"] / MANIFEST).unlink()
    return found


def run_settings(data: bytes) -> None:
    """Load a model with these settings; no memory may be asked for that its weights do not need."""
    directory = _network()["lstm"]
    path = directory / "config.yaml"
    before = _settings()[0]
    try:
        path.write_bytes(data)
        load_model(directory)
    finally:
        path.write_bytes(before)


@cache
def _settings() -> list[bytes]:
    return [(_network()["lstm"] / "config.yaml").read_bytes()]


def odd_settings(random: Random) -> bytes:
    """The settings of a model with other sizes and another network."""
    content = read_yaml(_settings()[0].decode())[1]
    odd = (0, -1, 1, 3, 7, 64, 1024, 65_536, 10**6, 10**12, 10**30, 0.5, float("inf"), "x", None, [], True)
    parts = [content["model"], content["model"]["transformer"], content["data"], content["training"]]
    for _ in range(random.randrange(1, 4)):
        part = random.choice(parts)
        part[random.choice(list(part))] = random.choice(odd)
    if random.random() < 0.5:
        decoder = random.choice(("tree", "sequence", "transformer", "tree-transformer"))
        encoder = random.choice(("lstm", "transformer"))
        content["system"] = {
            "trees": "constituency",
            "transforms": "strip-tags",
            "encoder": encoder,
            "decoder": decoder,
        }
    return write_yaml(content).encode()


def run_weights(data: bytes) -> None:
    """Read tensors; their shapes are those of the header."""
    path = _file("weights.safetensors", data)
    shapes = read_shapes(path)
    assert {name: tuple(tensor.shape) for name, tensor in read_tensors(path).items()} == shapes


def _weights() -> list[bytes]:
    tensors = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.zeros(0, 4), "c": torch.ones(3, dtype=torch.int64)}
    return [save(tensors, {"format": "pt"})]


_HEADER = (
    b'"dtype":"F64"',
    b'"BOOL"',
    b'"shape":[',
    b"[0,0]",
    b"18446744073709551615",
    b'"data_offsets":[0,',
    b"\xff\x7f",
)


def run_subwords(data: bytes) -> None:
    """Read a codec whose source pieces are these."""
    _codec_file(SOURCE_MODEL, data)


@cache
def _subword_models() -> list[bytes]:
    return [(_codec() / SOURCE_MODEL).read_bytes()]


def _recipes() -> list[bytes]:
    return [RECIPE, KEYS.replace(b" \\0", b"")]


def _experiments() -> list[bytes]:
    return [EXPERIMENT]


def _overrides() -> list[bytes]:
    return list(OVERRIDES)


def _values() -> list[bytes]:
    return [b"[1, two, 3.5, null, {a: b}]", b'"a \\u00e9 b"', b"{a: &a [x], b: *a}", b"0x10", b"1e3"]


def _descriptions() -> list[bytes]:
    return [(_codec() / "codec.json").read_bytes()]


def _grammars() -> list[bytes]:
    return [(_codec() / "grammar.txt").read_bytes()]


def nested(random: Random) -> bytes:
    """Lists and mappings within one another, with aliases of earlier ones."""
    names: list[str] = []

    def value(depth: int) -> str:
        kind = random.randrange(6)
        if kind == 0 and names:
            return f"*{random.choice(names)}"
        if kind < 3 or depth > 60:
            return random.choice(["x", "1", "null", ".inf", "'q'", "2020-01-01", "!!int ''"])
        inner = [value(depth + 1) for _ in range(random.randrange(1, 4))]
        text = f"[{', '.join(inner)}]" if kind < 5 else "{" + ", ".join(f"k{n}: {v}" for n, v in enumerate(inner)) + "}"
        if random.random() < 0.3:
            names.append(f"n{len(names)}")
            return f"&{names[-1]} {text}"
        return text

    return "\n".join(f"key{number}: {value(0)}" for number in range(random.randrange(1, 12))).encode()


TARGETS = [
    Target("yaml-recipe", run_recipe, _recipes, YAML_TOKENS, nested),
    Target("yaml-experiment", run_experiment, _experiments, YAML_TOKENS, nested),
    Target("overrides", run_overrides, _overrides, YAML_TOKENS),
    Target("yaml-value", run_value, _values, YAML_TOKENS, nested),
    Target("codec-description", run_codec, _descriptions),
    Target("codec-grammar", run_codec_grammar, _grammars),
    Target("codec-subwords", run_subwords, _subword_models, weight=0.5),
    Target("manifest", run_manifest, _manifests),
    Target("model-settings", run_settings, _settings, YAML_TOKENS, odd_settings),
    Target("model-weights", run_weights, _weights, _HEADER, weight=0.5),
]
