"""The description of the interface as a page without scripts."""

from __future__ import annotations

import html
from typing import Any


def documentation_page(description: dict[str, Any]) -> str:
    """A page that lists each address with its fields and answers."""
    schemas = description["components"]["schemas"]
    sections = [
        _operation(path, method, operation, schemas)
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    ]
    title = f"{_text(description['info']['title'])} {_text(description['info']['version'])}: interface"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width"></head>'
        f'<body><h1>{title}</h1><p>The same in OpenAPI: <a href="/spec">/spec</a></p>{"".join(sections)}</body></html>'
    )


def _operation(path: str, method: str, operation: dict[str, Any], schemas: dict[str, Any]) -> str:
    parts = [f"<h2><code>{method.upper()} {_text(path)}</code></h2>", f"<p>{_text(operation.get('summary', ''))}</p>"]
    if body := operation.get("requestBody"):
        kinds = " or ".join(f"<code>{_text(kind)}</code>" for kind in body["content"])
        reference = next(iter(body["content"].values()))["schema"]["$ref"]
        parts.append(f"<p>Takes {kinds}:</p>{_fields(schemas[reference.rsplit('/', 1)[-1]])}")
    answers = "".join(
        f"<tr><td>{_text(status)}</td><td>{_text(answer['description'])}</td></tr>"
        for status, answer in operation["responses"].items()
    )
    parts.append(f"<table><tr><th>status</th><th>when</th></tr>{answers}</table>")
    return "".join(parts)


def _fields(schema: dict[str, Any]) -> str:
    needed = schema.get("required", [])
    rows = "".join(
        f"<tr><td><code>{_text(name)}</code>{' (required)' if name in needed else ''}</td>"
        f"<td>{_text(field.get('description', ''))}</td></tr>"
        for name, field in schema["properties"].items()
    )
    return f"<table><tr><th>field</th><th>what it is</th></tr>{rows}</table>"


def _text(value: object) -> str:
    return html.escape(str(value))
