"""How a tree is written as actions and read back, one class per family. Nothing here needs torch."""

from __future__ import annotations

from typing import Any

from trdec.targets.derivation import DerivationTarget
from trdec.targets.sequence import CcgTarget, LinTarget, Seq2SeqTarget
from trdec.targets.target import Target

TARGETS: dict[str, type[Target[Any]]] = {
    "derivation": DerivationTarget,
    "seq2seq": Seq2SeqTarget,
    "ccg": CcgTarget,
    "lin": LinTarget,
}
"""Targets by name."""
