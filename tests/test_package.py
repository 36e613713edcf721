"""What `import trdec` gives, and what it does not yet load."""

from __future__ import annotations

import subprocess
import sys

import pytest

import trdec


def test_every_public_name_is_the_thing_it_names() -> None:
    from trdec.translation.translator import Translator
    from trdec.trees import brackets

    assert trdec.Translator is Translator
    assert trdec.parse_tree is brackets.parse
    assert set(trdec._HOMES) == set(trdec.__all__) <= set(dir(trdec))
    assert all(getattr(trdec, name) is not None for name in trdec.__all__)
    with pytest.raises(AttributeError, match="'trdec' has no attribute 'transalte'"):
        trdec.transalte  # noqa: B018


def test_importing_and_using_trees_loads_no_torch() -> None:
    script = (
        "import sys, trdec; trdec.parse_tree('(ROOT a)'); trdec.SYSTEMS; trdec.load_configuration; trdec.compare; "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
