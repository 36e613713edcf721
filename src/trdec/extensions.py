"""Parts that are named rather than imported: by a row of a table, or from outside the package as `module:attribute`.

A module is looked for as Python does, and then in the current directory. Checking a name imports nothing, so a trained
model can be used where the function that built its trees is missing.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType

from trdec.errors import UsageError

_EXTENSION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


def is_extension(name: str) -> bool:
    """Whether the name has the form `module:attribute`."""
    return _EXTENSION.fullmatch(name) is not None


def load_extension(name: str) -> object:
    """What `module:attribute` names; UsageError says why it cannot be had."""
    module = _module(name)
    attribute = name.partition(":")[2]
    found: object = getattr(module, attribute, None)
    if found is None:
        raise UsageError(
            f"{name}: the module {module.__file__} has no {attribute!r}.{did_you_mean(attribute, vars(module))}"
        )
    return found


def extension_file(name: str) -> Path | None:
    """The file that an extension is written in, if it is in one."""
    file = _module(name).__file__
    return None if file is None else Path(file)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A sentence that suggests the closest of the names, with a space before it; nothing if none is close."""
    close = difflib.get_close_matches(name, list(names), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def unknown_name(name: str, names: Iterable[str], what: str, form: str) -> str | None:
    """What is wrong with a name that is neither among the names nor an extension; None if nothing is."""
    names = list(names)
    if name in names or is_extension(name):
        return None
    return (
        f"expected {what}, one of {', '.join(names)}, or your own as {form}; found {name!r}.{did_you_mean(name, names)}"
    )


def _module(name: str) -> ModuleType:
    # The console script does not look where it was called; last in the list, the directory hides nothing installed.
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        return import_module(name.partition(":")[0])
    except (ImportError, SyntaxError) as error:
        raise UsageError(
            f"{name}: the module cannot be imported: {error}. It is looked for among what is installed and in the "
            f"current directory, {here}."
        ) from error
