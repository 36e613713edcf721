"""YAML that is damaged, or written to cost time and memory, is refused at once, with its file and line."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest

from trdec.configuration import load_configuration
from trdec.configuration.values import LONGEST_TEXT, MOST_NESTED, MOST_VALUES
from trdec.errors import ConfigError
from trdec.experiment.configuration import load_experiment

MINIMAL = """\
system: seq2seq
output: model
data:
  train: {source: a.src, target: a.trg}
  dev: {source: b.src, target: b.trg}
"""

LETTERS = "abcdefghij"


def _lists_of_aliases() -> str:
    lines = [f"a: &a [{', '.join('x' * 9)}]"]
    lines += [f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]" for before, name in itertools.pairwise(LETTERS)]
    return "\n".join(lines) + "\n"


def _mappings_of_aliases() -> str:
    lines = ["a: &a {k: v}"]
    for before, name in itertools.pairwise(LETTERS):
        lines.append(f"{name}: &{name} {{{', '.join(f'{key}: *{before}' for key in LETTERS)}}}")
    return "\n".join(lines) + "\n"


def _merged_aliases() -> str:
    lines = ["a: &a {k: v}"]
    lines += [
        f"{name}: &{name} {{<<: [{', '.join([f'*{before}'] * 9)}]}}" for before, name in itertools.pairwise(LETTERS)
    ]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("text", [_lists_of_aliases(), _mappings_of_aliases(), _merged_aliases()])
@pytest.mark.parametrize("load", [load_configuration, load_experiment])
def test_nested_aliases_cost_nothing(load: object, text: str, tmp_path: Path) -> None:
    assert len(text) < 1000
    path = tmp_path / "bomb.yaml"
    path.write_text(text)
    began = time.monotonic()
    with pytest.raises(ConfigError, match=rf"bomb.yaml, line \d+: .*{MOST_VALUES:,}"):
        load(path)  # type: ignore[operator]
    with pytest.raises(ConfigError, match=f"{MOST_VALUES:,}"):
        (tmp_path / "plain.yaml").write_text(MINIMAL)
        load_configuration(tmp_path / "plain.yaml", [f"model={{{text.strip().replace(chr(10), ', ')}}}"])
    assert time.monotonic() - began < 5


def test_a_few_aliases_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_text(MINIMAL.replace("train: {", "train: &same {").replace("{source: b.src, target: b.trg}", "*same"))
    data = load_configuration(path).data
    assert (data.train.source, data.train.target) == (data.dev.source, data.dev.target)


@pytest.mark.parametrize(
    ("value", "facts"),
    [
        ('!!int ""', "int, found ''"),
        ("!!bool x", "bool, found 'x'"),
        ("!!float x", "float, found 'x'"),
        ("!!timestamp x", "timestamp"),
        ("!!binary eA==", "binary"),
        ("!!python/object/apply:os.system [ls]", "os.system"),
        ("0x" + "f" * 5000, "int, found '0xfff"),
        ("9" * 5000, "int, found '999"),
        ("[" * 3000, f"more than {MOST_NESTED} deep"),
        ("[" * 60 + "]" * 60, f"more than {MOST_NESTED} deep"),
        ("- " * 3000, "."),
        ("2020-01-01", "expected an integer, found '2020-01-01'"),
        ("&a [*a]", "contains itself"),
        ("[" + "a," * 20_000 + "]", f"{MOST_VALUES:,}"),
    ],
)
def test_a_bad_value_is_a_message(value: str, facts: str, tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_text(f"{MINIMAL}seed: {value}\n")
    with pytest.raises(ConfigError) as raised:
        load_configuration(path)
    assert facts in str(raised.value)
    assert str(raised.value).startswith(f"{path}, line 6: ")
    assert len(str(raised.value)) < 1000
    path.write_text(MINIMAL)
    with pytest.raises(ConfigError) as raised:
        load_configuration(path, [f"seed={value}"])
    assert facts in str(raised.value)
    assert str(raised.value).startswith(("'seed=", '"seed=', "'seed="))
    assert len(str(raised.value)) < 1000


def test_blocks_nested_too_deep_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_text(MINIMAL + "seed:\n" + "\n".join(f"{' ' * depth}-" for depth in range(1, 400)))
    with pytest.raises(ConfigError, match=f"more than {MOST_NESTED} deep"):
        load_configuration(path)


def test_a_document_that_is_far_too_long_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "long.yaml"
    path.write_text("x: [" + "," * (10 * LONGEST_TEXT))
    with pytest.raises(ConfigError, match=rf"long.yaml: .*at most {LONGEST_TEXT:,} characters"):
        load_configuration(path)


def test_no_path_has_nul_in_it(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_text(MINIMAL.replace("output: model", 'output: "a\\0b"'))
    with pytest.raises(ConfigError, match=r"my.yaml, line 2: output: .*NUL"):
        load_configuration(path)
    path.write_text(MINIMAL)
    with pytest.raises(ConfigError, match=r"data.train.source: .*NUL"):
        load_configuration(path, ["data.train.source=a\0b"])


@pytest.mark.parametrize("name", ["my #1/exp", "2024", "true", "[exp]", "a: b", "2024-02-30", "{x}", "*y", "!z", " w "])
def test_a_path_on_the_command_line_is_taken_as_it_is(name: str, tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_text(MINIMAL)
    assert load_configuration(path, [f"output={name}"]).output == Path(name)
    quoted = name.replace("'", "''")
    assert load_configuration(path, [f"output='{quoted}'"]).output == Path(name)
