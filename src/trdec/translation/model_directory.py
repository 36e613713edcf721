"""Loading a model directory that `trdec train` wrote: its codec and its network."""

from __future__ import annotations

from pathlib import Path

from trdec.configuration import CONFIGURATION_FILE, load_saved_configuration
from trdec.data.codec import Codec
from trdec.errors import CheckpointError, ConfigError, FileError, ModelError, StoredDataError
from trdec.model.readout import with_two_projections
from trdec.model.translation_model import TranslationModel
from trdec.model.weights import read_tensors, set_weights


def load_model(path: Path, device: str = "cpu") -> tuple[Codec, TranslationModel, int | None]:
    """The codec and the network of a model directory, and the longest source, in pieces, that training allowed."""
    if not path.is_dir():
        raise ModelError(
            f"{path}: expected a model directory, found {'a file' if path.exists() else 'nothing'}. {_MAKE}"
        )
    weights = path / "model.safetensors"
    for needed in (path / CONFIGURATION_FILE, path / "codec", weights):
        if not needed.exists():
            raise ModelError(f"{path}: there is no {needed.name}, so this is not a trained model's directory. {_MAKE}")
    try:
        configuration = load_saved_configuration(path)
        system = configuration.system
        codec = Codec.load(path / "codec")
        model = TranslationModel(configuration.model, codec.inventory(), system.encoder, system.decoder)
        set_weights(model, with_two_projections(read_tensors(weights)), weights)
    except (ConfigError, StoredDataError, CheckpointError, FileError) as error:
        raise ModelError(
            f"{path}: this model cannot be used: it is damaged, or from another version of trdec.\n  {error}"
        ) from error
    if not all(bool(weight.isfinite().all()) for weight in model.parameters()):
        raise ModelError(f"{weights}: some weights are not finite numbers: training failed. Train again.")
    return codec, model.to(device).eval(), configuration.data.filters.max_source_length


_MAKE = "Make one with: trdec train"
