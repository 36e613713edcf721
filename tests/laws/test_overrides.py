"""What is written as an override is read back as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trdec.configuration import Configuration
from trdec.configuration.document import Document, apply_overrides, override_of

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


def read(override: str) -> Document:
    return apply_overrides(Document("nothing", {}, {}), [override], Configuration)


@given(VALUES)
def test_a_value_survives(value: Any) -> None:
    override = override_of("seed", value)
    assert read(override).content == {"seed": value}
    assert "\n" not in override


@given(st.text(st.characters(exclude_characters="\0"), min_size=1))
def test_a_path_survives(name: str) -> None:
    path = Path(name)
    assert Path(read(override_of("output", path)).content["output"]) == path
