"""Loading a model directory that `trdec train` wrote: its codec and its network.

A model is data. Its files must be those of its manifest, it may name no code that its user does not name too, and no
memory is allocated before the sizes in its configuration are found to be those of its weights.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

import torch

from trdec.archives import ARCHIVE_ENDINGS, is_archive_name, unpack
from trdec.configuration import CONFIGURATION_FILE, Configuration, load_saved_configuration
from trdec.data.batch import Inventory
from trdec.data.codec import Codec
from trdec.data.manifest import CODEC, WEIGHTS, check_kinds, check_manifest
from trdec.errors import (
    CheckpointError,
    ConfigError,
    DownloadError,
    FileError,
    ModelError,
    StoredDataError,
    UntrustedCodeError,
)
from trdec.files import write_errors
from trdec.model.readout import with_two_projections
from trdec.model.translation_model import DECODERS, ENCODERS, TranslationModel, weight_shapes
from trdec.model.weights import check_shapes, read_shapes, read_tensors, set_weights


class TrainedModel(NamedTuple):
    """What a model directory holds, checked."""

    codec: Codec
    network: TranslationModel
    configuration: Configuration

    @property
    def longest(self) -> int | None:
        """The longest source, in pieces, that training allowed."""
        return self.configuration.data.filters.max_source_length


def load_model(path: Path, device: str = "cpu", allow: Collection[str] = ()) -> TrainedModel:
    """The codec, the network and the configuration of a model directory.

    The directory may be in an archive, as `trdec export` writes it. A model that names code from outside trdec is
    refused unless `allow` has the same `module:attribute`.
    """
    if path.is_file() and is_archive_name(path):
        with unpacked_model(path) as directory:
            return load_model(directory, device, allow)
    if not path.is_dir():
        found = "a file" if path.exists() else "nothing"
        raise ModelError(
            f"{path}: expected a model directory, or an archive of one ({', '.join(ARCHIVE_ENDINGS)}), found {found}. "
            + _MAKE
        )
    for needed in (CONFIGURATION_FILE, CODEC, WEIGHTS):
        if not (path / needed).exists():
            raise ModelError(f"{path}: there is no {needed}, so this is not a trained model's directory. {_MAKE}")
    check_kinds(path)
    check_manifest(path)
    weights = path / WEIGHTS
    try:
        configuration = load_saved_configuration(path)
        system = configuration.system
        _check_code(configuration, path, allow)
        codec = Codec.load(path / CODEC, allow)
        inventory = codec.inventory()
        _check_sizes(configuration, inventory, weights)
        model = TranslationModel(configuration.model, inventory, system.encoder, system.decoder)
        set_weights(model, with_two_projections(read_tensors(weights)), weights)
    except (ConfigError, StoredDataError, CheckpointError, FileError) as error:
        raise ModelError(
            f"{path}: this model cannot be used: it is damaged, or from another version of trdec.\n  {error}"
        ) from error
    if not all(bool(weight.isfinite().all()) for weight in model.parameters()):
        raise ModelError(f"{weights}: some weights are not finite numbers: training failed. Train again.")
    return TrainedModel(codec, model.to(device).eval(), configuration)


@contextlib.contextmanager
def unpacked_model(archive: Path) -> Iterator[Path]:
    """The model directory in an archive, unpacked for as long as the block lasts; errors name the archive."""
    with tempfile.TemporaryDirectory(prefix="trdec-model-") as name:
        folder = Path(name)
        try:
            with write_errors(archive):
                unpack(archive, folder, MOST_PACKED_MODEL)
            inner = list(folder.iterdir())
            yield inner[0] if len(inner) == 1 and inner[0].is_dir() else folder
        except DownloadError as error:
            raise ModelError(f"{archive}: this model cannot be unpacked.\n  {error}") from error
        except ModelError as error:
            raise type(error)(str(error).replace(name, str(archive))) from error


MOST_PACKED_MODEL = 20
"""An archive may unpack to this many times its size: weights hardly get smaller by compression."""


def _check_code(configuration: Configuration, path: Path, allow: Collection[str]) -> None:
    """Refuse code that the user did not name, and to look for code in the model's own folder."""
    configuration.system.check_allowed(allow, path / CONFIGURATION_FILE)
    if configuration.system.foreign_code and Path.cwd().resolve().is_relative_to(path.resolve()):
        raise UntrustedCodeError(
            f"{path}: this model names {configuration.system.foreign_code[0]}, and modules are looked for in the "
            "current directory, which is the model's own. Code is never taken from a model's directory: change to "
            "the directory that your module is in."
        )


def _check_sizes(configuration: Configuration, inventory: Inventory, weights: Path) -> None:
    """Compare the sizes that the configuration and the codec ask for with those of the weights."""
    system, network = configuration.system, configuration.model
    if system.encoder not in ENCODERS or system.decoder not in DECODERS:
        return  # only its own code knows its sizes, and its user trusts that
    found = read_shapes(weights)
    layers = network.transformer.layers if "transformer" in f"{system.encoder} {system.decoder}" else 1
    if system.encoder == "lstm":
        layers = max(layers, network.encoder_layers)
    if layers > len(found):  # even describing so many takes seconds
        raise CheckpointError(f"{weights}: expected weights of {layers} layers, found {len(found)} tensors.")
    converted = with_two_projections({name: torch.empty(shape, device="meta") for name, shape in found.items()})
    check_shapes(
        weight_shapes(network, inventory, system.encoder, system.decoder),
        {name: tuple(tensor.shape) for name, tensor in converted.items()},
        weights,
    )


_MAKE = "Make one with: trdec train"
