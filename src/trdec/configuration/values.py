"""YAML text as plain values and back: what reading costs is bounded, and every mistake has its line.

Only strings, numbers, true and false, null, lists and mappings exist. A date is a string.
"""

from __future__ import annotations

from typing import Any

import yaml

LONGEST_TEXT = 100_000
"""The most characters of a document: many times the longest configuration, and read in seconds."""

MOST_VALUES = 10_000
"""The most values that a document stands for once every alias is replaced by what it names."""

MOST_NESTED = 50
"""How many lists and mappings may be nested."""

MOST_BITS = 4096
"""The most bits of an integer; Python refuses to write those of many more."""

LONGEST_SHOWN = 200
"""The most characters of a value that a message shows."""

PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float", "str", "seq", "map"))


_TOO_DEEP = f"lists and mappings are nested more than {MOST_NESTED} deep"
_TOO_MANY = f"it stands for more than {MOST_VALUES:,} values, with its aliases replaced"


class YamlMistake(Exception):
    """What is wrong with a YAML text, and the line it is in, if known."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem)
        self.line = line


class _PlainLoader(yaml.SafeLoader):
    """PyYAML's safe loader, for the plain values alone; a value that its tag does not fit is an error with a line."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._values = 0

    def fetch_flow_collection_start(self, token_class: type[yaml.Token]) -> None:
        if self.flow_level >= MOST_NESTED:  # PyYAML's time grows with the square of it
            raise yaml.scanner.ScannerError(None, None, _TOO_DEEP, self.get_mark())
        super().fetch_flow_collection_start(token_class)

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self._values += 1
        if self._values > MOST_VALUES:
            raise yaml.composer.ComposerError(None, None, _TOO_MANY, self.peek_event().start_mark)  # type: ignore[no-untyped-call]
        return super().compose_node(parent, index)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep)
            if isinstance(value, int) and value.bit_length() > MOST_BITS:
                raise ValueError(node.value)
            return value
        except (yaml.YAMLError, RecursionError):
            raise
        except Exception as error:  # PyYAML's constructors raise whatever int(), float() or a look-up raises
            kind = node.tag.rpartition(":")[2]
            raise yaml.constructor.ConstructorError(
                None, None, f"expected a value of type {kind}, found {shortened(str(node.value))!r}", node.start_mark
            ) from error


_PlainLoader.yaml_constructors = {
    tag: construct for tag, construct in yaml.SafeLoader.yaml_constructors.items() if tag is None or tag in PLAIN_TAGS
}
_PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml(text: str) -> tuple[yaml.Node | None, Any]:
    """The node and the value of a YAML text; YamlMistake if it is not valid, or would cost too much."""
    if len(text) > LONGEST_TEXT:
        raise YamlMistake(f"expected at most {LONGEST_TEXT:,} characters, found {len(text):,}")
    try:
        loader = _PlainLoader(text)
    except yaml.YAMLError as error:  # a character that YAML does not allow
        raise YamlMistake(str(error)) from error
    try:
        node = loader.get_single_node()
        if node is None:
            return None, None
        _Size().of(node, 0)
        return node, loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise YamlMistake(str(error.problem), line) from error
    except yaml.YAMLError as error:
        raise YamlMistake(str(error)) from error
    except RecursionError as error:
        raise YamlMistake(_TOO_DEEP) from error
    finally:
        loader.dispose()


class _Size:
    """Counts the values that a node stands for, each alias as often as it is used, without replacing any."""

    def __init__(self) -> None:
        self._sizes: dict[int, int | None] = {}  # by the identity of a node; None while it is being counted

    def of(self, node: yaml.Node, depth: int) -> int:
        """How many values the node stands for; YamlMistake if too many, nested too deep, or within itself."""
        line = node.start_mark.line + 1
        if depth > MOST_NESTED:
            raise YamlMistake(_TOO_DEEP, line)
        if not isinstance(node, yaml.CollectionNode):
            return 1
        if id(node) in self._sizes:
            if (known := self._sizes[id(node)]) is None:
                raise YamlMistake("a value contains itself", line)
            return known
        self._sizes[id(node)] = None
        pairs = node.value if isinstance(node, yaml.MappingNode) else [(value,) for value in node.value]
        size = 1 + sum(self.of(part, depth + 1) for pair in pairs for part in pair)
        if size > MOST_VALUES:
            raise YamlMistake(_TOO_MANY, line)
        self._sizes[id(node)] = size
        return size


class _LineDumper(yaml.SafeDumper):
    """PyYAML's safe dumper, with the ends of lines in a string escaped."""


def _string(dumper: _LineDumper, text: str) -> yaml.ScalarNode:
    style = '"' if len(text.splitlines()) > 1 or text[-1:].isspace() else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_LineDumper.add_representer(str, _string)


def write_yaml(value: object) -> str:
    """The value on one line of YAML; `read_yaml` undoes it."""
    written: str = yaml.dump(
        value, Dumper=_LineDumper, default_flow_style=True, allow_unicode=True, width=2**31, sort_keys=False
    )
    return written.removesuffix("\n").removesuffix("\n...")


def shortened(text: str) -> str:
    """The text, or as much of its beginning as a message should show."""
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."
