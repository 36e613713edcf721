"""The names that configurations know are those of the parts that exist."""

from __future__ import annotations

from trdec.model.translation_model import DECODERS, ENCODERS
from trdec.systems import DECODER_NAMES, ENCODER_NAMES


def test_every_named_part_exists() -> None:
    assert set(ENCODER_NAMES) == set(ENCODERS)
    assert set(DECODER_NAMES) == set(DECODERS)
