"""Imports point one way: a layer knows only those before it, and the symbolic half does not know torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "trdec"

LAYERS = [
    ["errors", "freed_memory", "progress"],
    ["extensions", "cluster"],
    ["files"],
    ["archives"],
    ["tokenisers", "detection"],
    ["text"],
    ["trees"],
    ["targets"],
    ["systems"],
    ["configuration"],
    ["data"],
    ["model"],
    ["search"],
    ["translation"],
    ["evaluation"],
    ["training"],
    ["corpora"],
    ["experiment", "serve"],
    ["cli"],
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
WITHOUT_TORCH = (
    "errors",
    "freed_memory",
    "progress",
    "extensions",
    "cluster",
    "files",
    "archives",
    "tokenisers",
    "detection",
    "text",
    "trees",
    "targets",
    "systems",
    "configuration",
    "evaluation",
    "corpora",
)
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.name != "__init__.py" or path.parent != SOURCE)


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _layer(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def _wrong_imports(path: Path) -> Iterator[str]:
    layer = _layer(path)
    for name in _imports(path):
        package, _, rest = name.partition(".")
        other = rest.split(".")[0]
        if package == "trdec" and other in LEVEL and other != layer and LEVEL[other] > LEVEL[layer]:
            yield f"{path.relative_to(SOURCE)} imports {name}, which is above it"
        if package == "torch" and layer in WITHOUT_TORCH:
            yield f"{path.relative_to(SOURCE)} imports torch"


def test_imports_point_down() -> None:
    assert [wrong for path in MODULES for wrong in _wrong_imports(path)] == []


def test_every_module_has_a_layer() -> None:
    assert {_layer(path) for path in MODULES} <= set(LEVEL)
