"""The map of the paper is complete, and every file and symbol it names exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent.parent
MAP = REPOSITORY / "docs" / "paper_map.md"
PLANNED = "planned"

LABELS = (
    "sec:intro", "sec:generation", "sec:model", "sec:tree", "sec:exp", "sec:conclusion", "sec:appendix",
    "sec:make_tree_alg", "eqn:rule_rnn", "fig:gen_example", "fig:trees", "fig:dep_trees", "fig:gain_by_length",
    "fig:length_count", "tab:dataset", "tab:results",
)  # fmt: skip
"""Every label in the paper's source."""

PARTS = (
    "Introduction", "Generation Process", "Model", "Tree Structures", "Experiments", "Conclusion", "Acknowledgements",
    "Appendix A", "Appendix A.1, Algorithm",
    "Step 1", "Step 2", "Step 3", "Step 4a", "Step 4b", "Step 5",
    "Paragraph, Rule RNN", "Paragraph, Word RNN", "Paragraph, Softmax", "Paragraph, Datasets", "Paragraph, Baselines",
    "Paragraph, Results", "Paragraph, Length Analysis",
    "Equation of the rule RNN", "Equation of the word RNN", "Equation of the softmax",
    "Syntactic Trees", "Balanced Binary Trees, version 1", "Balanced Binary Trees, version 2",
    "Figure 1", "Figure 2", "Figure 3", "Figure 4", "Figure 5", "Table 1", "Table 2", "Algorithm 1", "Algorithm 2",
)  # fmt: skip
"""Every section, step, paragraph, equation, figure, table and algorithm of the paper."""


@dataclass(frozen=True)
class Row:
    """A row of the map."""

    line: int
    part: str
    label: str
    file: str
    symbols: tuple[str, ...]
    planned: bool


def _rows() -> Iterator[Row]:
    for number, line in enumerate(MAP.read_text(encoding="utf-8").split("\n"), start=1):
        if not line.startswith("|") or line.startswith(("| in the paper", "|---")):
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert len(cells) == 5, f"docs/paper_map.md, line {number}: expected 5 cells, found {len(cells)}"
        part, label, _, file, symbols = cells
        yield Row(
            number,
            part,
            label.strip("`"),
            file.strip("`"),
            tuple(re.findall(r"`([^`]+)`", symbols)),
            symbols == PLANNED,
        )


ROWS = list(_rows())


def _names(body: list[ast.stmt]) -> Iterator[tuple[str, ast.stmt]]:
    for statement in body:
        if isinstance(statement, ast.ClassDef | ast.FunctionDef):
            yield statement.name, statement
        elif isinstance(statement, ast.Assign):
            yield from ((target.id, statement) for target in statement.targets if isinstance(target, ast.Name))
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id, statement


@cache
def defined(path: Path) -> frozenset[str]:
    """The names a module defines, and those its classes define, as Class.name. Nothing is imported."""
    names: set[str] = set()
    for name, statement in _names(ast.parse(path.read_text(encoding="utf-8")).body):
        names.add(name)
        if isinstance(statement, ast.ClassDef):
            names.update(f"{name}.{member}" for member, _ in _names(statement.body))
    return frozenset(names)


def _mistake(row: Row) -> str | None:
    if row.planned or not row.file:
        return "a row without a file, or a planned one, names a file or symbols" if row.file or row.symbols else None
    path = REPOSITORY / row.file
    if not path.is_file():
        return f"{row.file} is missing"
    missing = sorted(set(row.symbols) - defined(path))
    if not row.symbols or missing:
        return f"{row.file} does not define {missing}" if missing else f"expected a symbol of {row.file}"
    return None


def test_the_file_and_the_symbols_of_each_row_exist() -> None:
    wrong = [f"docs/paper_map.md, line {row.line}: {what}" for row in ROWS if (what := _mistake(row))]
    assert wrong == []


def test_every_label_and_every_part_of_the_paper_has_a_row() -> None:
    assert sorted(set(LABELS) - {row.label for row in ROWS}) == []
    named = {part: re.compile(rf"(^|, ){re.escape(part)}($|,)") for part in PARTS}
    assert [part for part, name in named.items() if not any(name.search(row.part) for row in ROWS)] == []


def test_the_map_names_no_label_that_the_paper_does_not_have() -> None:
    assert {row.label for row in ROWS if row.label} == set(LABELS)


def test_names_are_found_without_importing() -> None:
    names = defined(REPOSITORY / "src" / "trdec" / "targets" / "derivation.py")
    assert {"DerivationTarget", "DerivationTarget.legal", "BEGUN"} <= names
    assert "DerivationTarget.nothing" not in names
