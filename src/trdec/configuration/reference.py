"""`docs/configuration.md`, written from the configuration classes: `python -m trdec.configuration.reference > FILE`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from trdec.configuration import FREE_KEYS, Configuration
from trdec.configuration.document import model_in
from trdec.configuration.recipe import ENOUGH_PAIRS, FEW_PAIRS, recipe_for

_SIZES = (5_000, 20_000, 100_000, 1_000_000)
_SIZED = frozenset(setting.key for setting in recipe_for(_SIZES[0]))

_HEAD = """\
# Configuration

`trdec train FILE.yaml [key=value ...]` trains what a YAML file describes. A file holds what differs from the defaults
below, and needs only `system`, `output` and `data`; the recipes in `configs/` are examples. Any key can be
overridden after it: `system=trdec-dep model.hidden_size=256 training.schedule.kind=cosine`.

* `system` is a name (`system: trdec-binary`) or the keys of a system (`system: {trees: right-branching}`). One name
  for `trees` or `transforms` is a list of one. A dotted key changes a named system:
  `system=trdec-binary system.transforms=wrap-words`.
* A value is YAML. A path after the file is taken as it is written: `output=my #1` needs no quotes but the shell's.
* Paths in `data` are relative to `folder`; `folder` and `output` are relative to the current directory.
* A default "by size" depends on the number of sentence pairs in the training corpus: see [below](#defaults-by-size).
  The settings of the released script behind the paper's or-en results are in `configs/paper/or-en.yaml`.
* The configuration with every key is written to `config.yaml` in the model directory. Running the same command again
  resumes that training. Paths and keys marked ↻ may be changed then (data are identified by their content). Any other
  change is refused, because it would be another experiment. (With `training.schedule.kind: cosine`, so is a change of
  `training.max_updates`, unless `training.schedule.decay_updates` is set. `training.start_from` cannot be added or
  removed.)

This page is generated: `python -m trdec.configuration.reference > docs/configuration.md`.
"""


def configuration_reference() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *section(Configuration, "", "The configuration"), *_by_size()])


def _by_size() -> Iterator[str]:
    """The lines of a table of the defaults that depend on the size of the corpus."""
    recipes = [recipe_for(pairs) for pairs in _SIZES]
    yield "## Defaults by size\n"
    yield "`trdec init` writes these down for your corpus, with a reason for each.\n"
    yield (
        f"Values change at 5,000, {FEW_PAIRS:,}, 200,000 and 500,000 pairs. A corpus is seen until {ENOUGH_PAIRS:,} "
        "pairs were trained on, but at least ten times and at most forty; five times from 200,000 pairs on. With an "
        "encoder or a decoder of your own, `tie_embeddings` and `lexical` are false, with `readout: paper` "
        "`tie_embeddings` is. A Transformer has half the learning rate after twice the warm-up, and neither `lexical` "
        "nor `guidance`.\n"
    )
    yield f"| key | {' | '.join(f'{pairs:,} pairs' for pairs in _SIZES)} |"
    yield "|---" * (len(_SIZES) + 1) + "|"
    for settings in zip(*recipes, strict=True):
        yield f"| `{settings[0].key}` | {' | '.join(_value(setting.value) for setting in settings)} |"
    yield ""


def section(model: type[BaseModel], prefix: str, title: str) -> Iterator[str]:
    """The lines of a table of all keys of a class, and of the classes inside it."""
    yield f"## {title}\n"
    yield f"{(model.__doc__ or '').strip()}\n"
    yield "| key | type | default | meaning |"
    yield "|---|---|---|---|"
    inner: list[tuple[str, type[BaseModel]]] = []
    for name, field in model.model_fields.items():
        key = f"{prefix}{name}"
        nested = model_in(field.annotation)
        if nested:  # of a mapping, any name stands before the keys
            inner.append((f"{key}.NAME" if get_origin(field.annotation) is dict else key, nested))
        kind = f"[keys](#{inner[-1][0].replace('.', '').lower()})" if nested else _limited(field)
        default = "see there" if nested and not field.is_required() else _default(field)
        if key in _SIZED:
            default = "[by size](#defaults-by-size)"
        mark = " ↻" if key in FREE_KEYS else ""
        yield f"| `{key}`{mark} | {kind} | {default} | {(field.description or '').replace('|', chr(92) + '|')} |"
    yield ""
    for key, nested in inner:
        yield from section(nested, f"{key}.", key)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default()
    if value is None or value is PydanticUndefined:
        return "`null`"
    return f"`[{', '.join(map(str, value))}]`" if isinstance(value, tuple) else _value(value)


def _value(value: object) -> str:
    """A value as YAML writes it."""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _limited(field: FieldInfo) -> str:
    bounds = [*_bounds(field.metadata)]
    return ", ".join([_kind(field.annotation), *bounds])


def _bounds(metadata: list[Any]) -> Iterator[str]:
    for limit in metadata:
        for name, sign in (("gt", ">"), ("ge", "≥"), ("lt", "<"), ("le", "≤")):
            if (value := getattr(limit, name, None)) is not None:
                yield f"{sign} {value}"


def _kind(annotation: Any) -> str:
    names = {int: "integer", float: "number", str: "string", bool: "true, false", Path: "path", NoneType: "null"}
    origin = get_origin(annotation)
    if origin is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(annotation))
    if origin is Annotated:
        inner, *metadata = get_args(annotation)
        bounds = [limit for part in metadata for limit in _bounds(getattr(part, "metadata", [part]))]
        return ", ".join([_kind(inner), *bounds])
    if origin in (Union, UnionType):
        return " or ".join(_kind(part) for part in get_args(annotation))
    if origin is dict:
        return "keys with values"
    if origin is tuple:
        return f"list of {_kind(get_args(annotation)[0])}"
    if hasattr(annotation, "__value__"):
        return _kind(annotation.__value__)
    return names.get(annotation, getattr(annotation, "__name__", str(annotation)))


if __name__ == "__main__":
    sys.stdout.write(configuration_reference())
