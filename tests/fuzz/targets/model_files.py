"""What a model or a user gives as settings: YAML documents, overrides, codecs, manifests and subword models."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from random import Random

from fuzz.harness import Target
from fuzz.inputs import toy_sentences
from trdec.configuration import Configuration, load_configuration
from trdec.configuration.document import Document, apply_overrides
from trdec.configuration.values import read_yaml, write_yaml
from trdec.data.codec import Codec
from trdec.data.manifest import MANIFEST, check_manifest, write_manifest
from trdec.experiment.configuration import load_experiment
from trdec.systems import SYSTEMS
from trdec.text import Side, Subwords
from trdec.tokenisers import Tokeniser

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
    Target("manifest", run_manifest, _manifests),
]
