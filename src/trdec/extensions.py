"""Parts that are named rather than imported: by a row of a table, or from outside the package as `module:attribute`.

A module is looked for as Python does, and then in the current directory. Checking a name imports nothing, so a trained
model can be used where the function that built its trees is missing.
"""

from __future__ import annotations

import difflib
import importlib
import re
import sys
import traceback
from collections.abc import Iterable
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
            f"{name}: the module {_file(module) or module.__name__} has no {attribute!r}."
            f"{did_you_mean(attribute, vars(module))}"
        )
    return found


def extension_file(name: str) -> Path | None:
    """The file that an extension is written in, if it is in one."""
    file = _file(_module(name))
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
        return importlib.import_module(name.partition(":")[0])
    except (Exception, SystemExit) as error:  # a module can do anything when it is imported
        kind = "" if isinstance(error, ImportError | SyntaxError) else f"{type(error).__name__}: "
        raise UsageError(f"{name}: the module cannot be imported: {kind}{error}{_place(error, here)}") from error


def _place(error: BaseException, here: str) -> str:
    """The line of the module at which its import ended; where it was looked for, if it did not begin."""
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename not in (__file__, importlib.__file__) and not frame.filename.startswith("<frozen ")
    ]
    if not own:
        return f". It is looked for among what is installed and in the current directory, {here}."
    return f"\n  {own[-1].filename}, line {own[-1].lineno}, in {own[-1].name}: {own[-1].line}"


def _file(module: ModuleType) -> str | None:
    return getattr(module, "__file__", None)  # modules that are built in have none
