"""The names that configurations know are those of the parts that exist."""

from __future__ import annotations

from support.small_models import ROWS
from trdec.model.translation_model import DECODERS, ENCODERS
from trdec.systems import DECODER_NAMES, ENCODER_NAMES


def test_every_named_part_exists() -> None:
    assert set(ENCODER_NAMES) == set(ENCODERS)
    assert set(DECODER_NAMES) == set(DECODERS)


def test_every_part_obeys_the_laws() -> None:
    assert {row.encoder for row in ROWS.values()} == set(ENCODERS)
    assert {row.decoder for row in ROWS.values()} == set(DECODERS)
