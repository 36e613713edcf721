"""What is wrong with a configuration, in sentences."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from trdec.config.document import Document, Key, describe

_EXPECTED = {
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "string": "a string",
    "path": "a path",
    "tuple": "a list",
    "list": "a list",
    "model": "keys with values",
    "dict": "keys with values",
}


def explain(error: ValidationError, document: Document, root: type[BaseModel]) -> Iterator[str]:
    """A sentence for every mistake: where, what was expected, what was found."""
    for details in error.errors():
        key = tuple(str(part) for part in details["loc"] if not str(part).startswith("function-"))
        # Of a union only the first alternative is spoken of, and its name is no key.
        yield f"{document.place(key)}: {_mistake(details, key, root)}"


def _mistake(details: ErrorDetails, key: Key, root: type[BaseModel]) -> str:
    kind, found = details["type"], describe(details["input"])
    name = ".".join(key)
    if kind == "extra_forbidden":
        return _unknown_key(key, root)
    if kind == "missing":
        return f"the key {name!r} is missing. {_description(key, root)}".rstrip()
    if kind == "value_error":
        prefix = "" if str(details["ctx"]["error"]).startswith(name) or not key else f"{name}: "
        return f"{prefix}{details['ctx']['error']}"
    if kind == "literal_error":
        return f"{name}: expected one of {details['ctx']['expected']}, found {found}.{_close_choice(details)}"
    if "ctx" in details and kind.startswith(("greater_than", "less_than")):
        return f"{name}: {details['msg'].replace('Input should be', 'expected a number')}, found {found}."
    expected = _EXPECTED.get(kind.split("_")[0])
    return f"{name}: expected {expected}, found {found}." if expected else f"{name}: {details['msg']}, found {found}."


def _unknown_key(key: Key, root: type[BaseModel]) -> str:
    *outer, last = key
    owner = model_at(tuple(outer), root)
    names = list(owner.model_fields) if owner else []
    where = ".".join(outer) or "the configuration"
    if close := difflib.get_close_matches(last, names, n=1):
        return f"{where} has no key {last!r}. Did you mean {close[0]!r}?"
    everywhere = [name for name in dotted_names(root) if name.rpartition(".")[2] == last]
    if everywhere:
        return f"{where} has no key {last!r}. Did you mean {' or '.join(map(repr, everywhere))}?"
    return f"{where} has no key {last!r}. It has {', '.join(names)}."


def _description(key: Key, root: type[BaseModel]) -> str:
    owner = model_at(key[:-1], root)
    field = owner.model_fields.get(key[-1]) if owner else None
    return (field.description or "") if field else ""


def _close_choice(details: ErrorDetails) -> str:
    choices = [part.strip("'\" ") for part in details["ctx"]["expected"].replace(" or ", ", ").split(", ")]
    close = difflib.get_close_matches(str(details["input"]), choices, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def model_in(annotation: Any) -> type[BaseModel] | None:
    """The configuration class in an annotation, if there is one."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := model_in(part))), None)


def model_at(key: Key, root: type[BaseModel]) -> type[BaseModel] | None:
    """The configuration class that stands at a key."""
    owner: type[BaseModel] | None = root
    for part in key:
        field = owner.model_fields.get(part) if owner else None
        owner = model_in(field.annotation) if field else None
    return owner


def dotted_names(root: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Every key, dotted, those with keys of their own included."""
    for name, field in root.model_fields.items():
        yield f"{prefix}{name}"
        if inner := model_in(field.annotation):
            yield from dotted_names(inner, f"{prefix}{name}.")
