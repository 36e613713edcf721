"""How many modules of trdec run code when one sentence pair is trained on, and when one line is translated.

    python benchmarks/walk.py

The first figure is of the pair itself, from the YAML file to the loss: reading the configuration, reading, encoding and
storing the pair, making a batch of it, and the network. The second is of a training on prepared data, with its
checkpoints, logs and validation; the third of a translation. A module counts if any of its functions was called.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import trdec

FOLDER = str(Path(trdec.__file__).parent) + "/"

YAML = """
system: trdec-binary
output: {folder}/model
folder: {folder}
data:
  train: {{source: pair.src, target: pair.trg}}
  dev: {{source: pair.src, target: pair.trg}}
  source_subwords: {{size: 20}}
  target_subwords: {{size: 25}}
training: {{max_updates: 1, plot: false}}
"""


@contextmanager
def noting(modules: set[str]) -> Iterator[None]:
    """Adds the modules whose functions are called in the block."""

    def note(frame: FrameType, event: str, _argument: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(FOLDER) and frame.f_code.co_name != "<module>":
            modules.add(name.removeprefix(FOLDER).removesuffix(".py"))

    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


def one_pair(path: Path) -> set[str]:
    """The modules that take one pair from YAML to its loss."""
    from trdec.configuration import load_configuration
    from trdec.data.batch import Batcher
    from trdec.data.corpus import Corpus, Reader
    from trdec.data.parts import EncodeShard, Part
    from trdec.data.prepare import prepare
    from trdec.data.store import Prepared, PreparedWriter
    from trdec.model.translation_model import TranslationModel

    modules: set[str] = set()
    with noting(modules):
        configuration = load_configuration(path, [])
    system, data = configuration.system, configuration.located_data
    codec = prepare(data, system, configuration.output).codec  # what a corpus needs, and a pair does not
    with noting(modules):
        corpus = Corpus("train", data.train, system.trees, system.source_trees)
        reader = Reader(corpus, system, codec.source_side, codec.target_side, data.filters)
        Part.write(path.parent / "part", [EncodeShard(reader)(list(corpus.pairs()))], reader)
        with PreparedWriter(path.parent / "prepared") as writer:
            for examples, _ in Part(path.parent / "part", reader).numbered(codec):
                writer.append(examples)
        examples_on_disk = Prepared.open(path.parent / "prepared")
        batcher = Batcher(examples_on_disk, codec.table.steps, configuration.batches, 1)
        model = TranslationModel(configuration.model, codec.inventory(), system.encoder, system.decoder)
        model.loss(batcher.batch(batcher.plan(0)[0], 0)).total.backward()  # type: ignore[no-untyped-call]
    return modules


def during(run: Callable[[], object]) -> set[str]:
    """The modules that run when this is called."""
    modules: set[str] = set()
    with noting(modules):
        run()
    return modules


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pair.src").write_text("ein haus steht da\n")
        (folder / "pair.trg").write_text("a house stands there\n")
        path = folder / "pair.yaml"
        path.write_text(YAML.format(folder=folder))
        pair = one_pair(path)
        training = during(lambda: trdec.train(trdec.load_configuration(path)))
        translator = trdec.Translator.load(folder / "model")
        translating = during(lambda: translator.translate(["ein haus steht da"]))
    for what, modules in (("one pair", pair), ("a training", training), ("a translation", translating)):
        print(json.dumps({"what": what, "modules": len(modules), "names": sorted(modules)}))


if __name__ == "__main__":
    main()
