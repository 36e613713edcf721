"""The page on Python is true: its examples run, and every name in its tables is there, defined where it says."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

from support.model_directory import trained

PAGE = Path(__file__).parent.parent.parent / "docs" / "python_api.md"
ROWS = re.findall(r"^\| `(trdec[\w.]*)` \| (.*) \|$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_the_examples_print_what_the_page_shows() -> None:
    examples = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL))
    found = doctest.DocTestParser().get_doctest(examples, {"MODEL": str(trained())}, PAGE.name, str(PAGE), 0)
    assert len(found.examples) > 40
    said: list[str] = []
    failures, _ = doctest.DocTestRunner(verbose=False).run(found, out=said.append)
    assert failures == 0, "".join(said)


@pytest.mark.parametrize(("module", "names"), ROWS, ids=[module for module, _ in ROWS])
def test_the_names_in_the_tables_are_there(module: str, names: str) -> None:
    loaded = importlib.import_module(module)
    named = re.findall(r"`(\w+)`", names)
    assert named
    for name in named:
        assert getattr(loaded, name).__doc__, f"{module}.{name} has no docstring"


def test_each_name_is_listed_once() -> None:
    named = [f"{module}.{name}" for module, names in ROWS for name in re.findall(r"`(\w+)`", names)]
    assert len(named) == len(set(named)) > 50
