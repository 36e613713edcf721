"""Every module here has a list `TARGETS`: a new target is a function and a row of that list."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from fuzz.harness import Target


def all_targets() -> dict[str, Target]:
    """The targets of every module by name."""
    found: dict[str, Target] = {}
    for module in iter_modules(__path__):
        for target in import_module(f"{__name__}.{module.name}").TARGETS:
            assert target.name not in found, f"two targets are called {target.name}"
            found[target.name] = target
    return found
