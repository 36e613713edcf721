"""The readers of tree files: brackets, CoNLL-U, JSON, supertags and grammars."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import takewhile
from random import Random

from fuzz.harness import Target
from fuzz.inputs import lines_of, toy_sentences
from trdec.corpora.toy.generate import conllu
from trdec.trees import brackets, treebank
from trdec.trees.grammar import Grammar
from trdec.trees.supertags import read_supertags
from trdec.trees.tree import Entry

_WORDS = (
    "the",
    "cat",
    "-LRB-",
    "\\-LRB-",
    "a\\b",
    "\u3000",
    "1\u00a0000",
    "x\u2028y",
    "\x85",
    "\x1c",
    "猫",
    "#",
    "_",
    "0",
)
_LABELS = ("S", "NP", "NULL", "ROOT", "TOP", "pre", "-NONE-", "NP-SBJ-1", "\u00a0", "<end>", "")


def _read(entries: Iterable[Entry]) -> list[Entry]:
    """All entries, each looked at as a command does; the first error is raised at the end."""
    found = list(map(treebank.checked, entries))
    for entry in found:
        if entry.error is not None:
            str(entry.error)
        elif entry.tree is not None:
            assert brackets.parse(brackets.write(entry.tree)) == entry.tree
    errors = [entry.error for entry in found if entry.error is not None]
    assert all(len(str(error)) < 2000 for error in errors), "a message nobody can read"
    if errors:
        raise errors[0]
    return found


def read_as(format_name: str, data: bytes) -> list[Entry]:
    """The entries of a file in one of the formats."""
    return _read(treebank.FORMATS[format_name](lines_of(data)))


def run_brackets(data: bytes) -> None:
    """Read labels as they are."""
    for entry in read_as("brackets", data):
        if entry.tree is not None:
            assert [again.tree for again in read_as("brackets", brackets.write(entry.tree).encode())] == [entry.tree]


def run_penn(data: bytes) -> None:
    """Read and clean up."""
    read_as("penn", data)


def run_conllu(data: bytes) -> None:
    """Read dependencies."""
    for entry in read_as("conllu", data):
        if entry.tree is not None:
            written = treebank.WRITERS["conllu"].write(entry.tree)
            assert [again.tree for again in read_as("conllu", written.encode())] == [entry.tree]


def run_json(data: bytes) -> None:
    """Read JSON lines; what was read is written and read back as the same tree."""
    for entry in read_as("json", data):
        if entry.tree is not None:
            written = treebank.WRITERS["json"].write(entry.tree)
            assert [again.tree for again in read_as("json", written.encode())] == [entry.tree]


def run_supertags(data: bytes) -> None:
    """Read tags and words, which an empty line separates."""
    lines = lines_of(data)
    tags = list(takewhile(lambda line: line.text, lines))
    _read(read_supertags(tags, lines[len(tags) + 1 :]))


def run_grammar(data: bytes) -> None:
    """Read rules; what was read is written and read back as the same grammar."""
    grammar = Grammar.read(lines_of(data))
    assert Grammar.read(lines_of("\n".join(grammar.write()).encode())) == grammar


def generate_brackets(random: Random) -> bytes:
    """Brackets that are mostly balanced, over odd words and labels."""
    parts, depth = [], 0
    for _ in range(random.choice((3, 10, 40))):
        kind = random.random()
        if kind < 0.35 or depth == 0:
            parts.append(random.choice(("(", "( ", "\n (")) + random.choice(_LABELS))
            depth += 1
        elif kind < 0.6:
            parts.append(")")
            depth -= 1
        else:
            parts.append(random.choice((" ", "\t", "  ", "\n ")) + random.choice(_WORDS))
    return "".join([*parts, ")" * depth, random.choice(("", "\n", "\n\n", "\r\n"))]).encode()


def generate_conllu(random: Random) -> bytes:
    """A sentence whose heads may cross, form cycles or be missing; mostly they make a tree."""
    number = random.choice((1, 3, 8, 20, 60))
    order = list(range(1, number + 1))
    random.shuffle(order)
    heads = [0] * (number + 1)
    for position, word in enumerate(order):
        heads[word] = random.choice((0, *order[:position]))
    if random.random() < 0.1:
        heads[random.choice(order)] = random.choice((number, number + 1, 1))
    rows = []
    for word in range(1, number + 1):
        if random.random() < 0.05:
            rows.append(
                "\t".join([random.choice((f"{word}-{word + 1}", f"{word}.1", f"x-{word}", f"{word}."))] + ["_"] * 9)
            )
        rows.append("\t".join([str(word), random.choice(_WORDS), *"____", str(heads[word]), *"___"]))
    return ("\n".join(rows) + "\n\n").encode()


def generate_json(random: Random) -> bytes:
    """Nodes over a few words: mostly nested spans, sometimes any."""
    size = random.randrange(1, 7)
    nodes, inner = [], (0, size)
    for _ in range(random.randrange(1, 7)):
        nodes.append({"label": random.choice(_LABELS[:4]), "start": inner[0], "end": inner[1]})
        outer = inner if random.random() < 0.8 else (random.randrange(-1, size), random.randrange(size + 2))
        start = random.randint(min(outer), max(outer))
        inner = (start, random.randint(start, max(outer)))
    return json.dumps({"words": [random.choice(_WORDS) for _ in range(size)], "nodes": nodes}).encode()


def bracket_seeds() -> list[bytes]:
    """Trees on one line, over many lines, and missing."""
    trees = [brackets.write(sentence.tree) for sentence in toy_sentences()]
    pretty = "\n\n".join(tree.replace(" (", "\n  (") for tree in trees[:3])
    odd = "( (S (NP-SBJ-1 (-NONE- *)) (VP=2 \\* 1\\/2 -LSB- x -RSB-)))\n(())\nSENTENCE_SKIPPED\n(T (T the)seal)\n"
    return [tree.encode() for tree in (*trees, "\n".join(trees[:4]), pretty, odd)]


def conllu_seeds() -> list[bytes]:
    """Sentences, one or several in a file, with ranges, empty nodes and crossing arcs."""
    blocks = [conllu(sentence, str(number)) + "\n" for number, sentence in enumerate(toy_sentences())]
    odd = "1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n1\tdo\t_\t_\t_\t_\t3\t_\t_\t_\n2\tnot\t_\t_\t_\t_\t4\t_\t_\t_\n"
    odd += "2.1\t_\t_\t_\t_\t_\t_\t_\t_\t_\n3\t10 000\t_\t_\t_\t_\t0\t_\t_\t_\n4\tgo\t_\t_\t_\t_\t1\t_\t_\t_\n\n"
    return [block.encode() for block in (*blocks, "".join(blocks[:3]), odd)]


def json_seeds() -> list[bytes]:
    """A tree, two trees, and none."""
    lines = [treebank.WRITERS["json"].write(sentence.tree) for sentence in toy_sentences()[:10]]
    return [line.encode() for line in (*lines, lines[0] + lines[1], "null\n")]


def supertag_seeds() -> list[bytes]:
    """Lines of tags, an empty line, lines of words."""
    chosen = [toy_sentences()[start : start + 2] for start in range(0, 20, 2)]
    return [
        "\n".join([*(" ".join(s.supertags) for s in some), "", *(s.target for s in some)]).encode() for some in chosen
    ]


def grammar_seeds() -> list[bytes]:
    """Grammars of a few sentences."""
    trees = [sentence.tree for sentence in toy_sentences()]
    return ["\n".join(Grammar.from_trees(trees[start : start + 3]).write()).encode() for start in range(0, 27, 3)]


_BRACKETS = (b"(", b")", b" (", b") ", b"(())", b"( ", b"()", b"-LRB-", b"\\", b"-NONE-", b"(ROOT ", b"pre", b"\n(")
_CONLLU = (
    b"\t",
    b"\t_",
    b"\n\n",
    b"#",
    b"1-2",
    b"x-1",
    b"2.",
    b"2.1",
    b"_",
    b"\t0\t",
    b"1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n",
)
_JSON = (
    b"{",
    b"[",
    b"]",
    b"}",
    b'"words": ',
    b'"nodes": [',
    b'{"label": "S", "start": 0, "end": 1}',
    b"\\ud800",
    b":",
    b",",
)
_GRAMMAR = (b" -> ", b"->", b"\t1", b"\t", b"ROOT -> S\t1", b"pre", b"\n", b"ROOT", b"S -> S\t2\n")

TARGETS = [
    Target("brackets", run_brackets, bracket_seeds, _BRACKETS, generate_brackets),
    Target("penn", run_penn, bracket_seeds, _BRACKETS, generate_brackets),
    Target("conllu", run_conllu, conllu_seeds, _CONLLU, generate_conllu),
    Target("json", run_json, json_seeds, _JSON, generate_json),
    Target("supertags", run_supertags, supertag_seeds, (b"(S\\NP)/NP", b"\n\n", b" ")),
    Target("grammar", run_grammar, grammar_seeds, _GRAMMAR),
]
