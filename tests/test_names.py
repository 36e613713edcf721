"""Names that a reader meets: unique in the package, and no flags below the command line."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from trdec.cli.options import FLAGS

SOURCE = Path(__file__).parent.parent / "src" / "trdec"

FLAG = re.compile(r"(?<![\w(-])--[a-z][a-z-]*(?![\w-]*:)")


def _public_names(module: ast.Module) -> Iterator[str]:
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found = [node.name]
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found = [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
        else:
            continue
        yield from (name for name in found if not name.startswith("_"))


def test_public_names_are_unique() -> None:
    modules = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        for name in _public_names(ast.parse(path.read_text(encoding="utf-8"))):
            modules[name].add(str(path.relative_to(SOURCE)))
    shared = {name: sorted(paths) for name, paths in modules.items() if len(paths) > 1}
    assert shared == {}


def _texts(module: ast.Module) -> Iterator[ast.Constant]:
    """Every string of a module but the page about `trdec experiment` that one of them writes."""
    for node in ast.iter_child_nodes(module):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_REFERENCE_HEAD":
            continue
        for part in ast.walk(node):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part


def test_only_the_command_line_knows_flags() -> None:
    found = [
        f"{path.relative_to(SOURCE)}, line {text.lineno}: {flag}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path.relative_to(SOURCE).parts[0] != "cli"
        for text in _texts(ast.parse(path.read_text(encoding="utf-8")))
        for flag in FLAG.findall(str(text.value))
    ]
    assert found == []


def test_messages_are_given_flags_that_there_are() -> None:
    written = "".join(
        path.read_text(encoding="utf-8") for path in (SOURCE / "cli").glob("*.py") if path.stem != "messages"
    )
    assert [flag for flag in FLAGS.values() if f'"{flag}"' not in written] == []


def test_flags_are_told_from_other_dashes() -> None:
    assert FLAG.findall("with --restart, or --max-depth 3: --output.") == ["--restart", "--max-depth", "--output"]
    assert FLAG.findall("--paper: #fff; var(--paper) a--b ----- --") == []
