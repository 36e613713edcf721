"""Dependency and constituency trees from stanza."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from trdec.annotation import dependencies
from trdec.annotation.dependencies import ParsedWord
from trdec.annotation.parser import CONSTITUENCY, DEPENDENCY, ParserChoice, imported
from trdec.errors import AnnotationError
from trdec.text.lines import split_words
from trdec.trees import brackets
from trdec.trees.tree import ROOT, Nonterminal, Terminal, Tree
from trdec.trees.treebank import respell

PROCESSORS = {
    DEPENDENCY: ("tokenize", "pos", "lemma", "depparse"),
    CONSTITUENCY: ("tokenize", "pos", "constituency"),
}

Sentences = Callable[[Any, Sequence[str]], list[list[Any]]]
"""From a pipeline and sentences of ours to stanza's sentences for each, which are several where it split one."""


class _StanzaParser:
    """A stanza pipeline, its name, and how it is given sentences."""

    def __init__(self, pipeline: Any, identity: str, sentences: Sentences) -> None:
        self.identity = identity
        self._pipeline = pipeline
        self._sentences = sentences


class StanzaDependencyParser(_StanzaParser):
    """A stanza pipeline that finds heads."""

    format_name = "conllu"
    without_tree = dependencies.WITHOUT_TREE

    def parse(self, sentences: Sequence[str]) -> list[str]:
        """The CoNLL-U entry of each sentence."""
        parsed = self._sentences(self._pipeline, sentences)
        return [
            dependencies.write(" ".join(text.split()), joined_words(parts)) if parts else self.without_tree
            for text, parts in zip(sentences, parsed, strict=True)
        ]


class StanzaConstituencyParser(_StanzaParser):
    """A stanza pipeline that finds phrases."""

    format_name = "brackets"
    without_tree = f"{brackets.NO_TREE}\n"

    def parse(self, sentences: Sequence[str]) -> list[str]:
        """The bracketed tree of each sentence."""
        parsed = self._sentences(self._pipeline, sentences)
        return [
            f"{brackets.write(joined_tree(parts))}\n" if parts else self.without_tree
            for _, parts in zip(sentences, parsed, strict=True)
        ]


def load_dependency(choice: ParserChoice) -> StanzaDependencyParser:
    """A dependency parser with the model that was chosen, or stanza's default of the language."""
    return StanzaDependencyParser(*_pipeline(choice), own_words if choice.raw else given_words)


def load_constituency(choice: ParserChoice) -> StanzaConstituencyParser:
    """A constituency parser with the model that was chosen, or stanza's default of the language."""
    return StanzaConstituencyParser(*_pipeline(choice), own_words if choice.raw else given_words)


def _pipeline(choice: ParserChoice) -> tuple[Any, str]:
    """The pipeline and its identity. `--model` is a folder of models, or the name of one of stanza's packages."""
    stanza = imported("stanza")
    core = imported("stanza.pipeline.core")
    processors = ",".join(PROCESSORS[choice.kind])
    where: dict[str, Any] = {}
    if choice.model is not None:
        where = {"dir" if Path(choice.model).is_dir() else "package": choice.model}
    how: dict[str, Any] = {"tokenize_no_ssplit": True} if choice.raw else {"tokenize_pretokenized": True}
    command = ", ".join(
        [repr(choice.language), f"processors={processors!r}"]
        + [f"{'model_dir' if name == 'dir' else name}={value!r}" for name, value in where.items()]
    )
    advice = f'Download it with: python -c "import stanza; stanza.download({command})"'
    try:
        # Nothing is downloaded unasked.
        pipeline = core.Pipeline(
            choice.language, processors=processors, download_method=None, verbose=False, **where, **how
        )
    except (OSError, ValueError, core.PipelineRequirementsException) as error:
        reason = " ".join(str(error).split())
        raise AnnotationError(
            f"stanza cannot load a {choice.kind} parser for the language {choice.language!r}: {reason} {advice}"
        ) from error
    if PROCESSORS[choice.kind][-1] not in pipeline.processors:
        raise AnnotationError(f"stanza has no {choice.kind} parser for the language {choice.language!r}. {advice}")
    packages = ", ".join(f"{name} {'+'.join(spec.package for spec in specs)}" for name, specs in pipeline.load_list)
    return pipeline, f"stanza {stanza.__version__}, {choice.language}: {packages}"


def given_words(pipeline: Any, sentences: Sequence[str]) -> list[list[Any]]:
    """Stanza's one sentence for each of ours, over the words that white space parts."""
    document = pipeline([split_words(sentence) for sentence in sentences])
    return [[sentence] for sentence in document.sentences]


def own_words(pipeline: Any, sentences: Sequence[str]) -> list[list[Any]]:
    """Stanza's sentences for each of ours, over the words that its tokeniser finds."""
    document = imported("stanza.models.common.doc").Document
    parsed = pipeline([document([], text=" ".join(sentence.split())) for sentence in sentences])
    return [found.sentences for found in parsed]


def joined_words(sentences: Sequence[Any]) -> list[ParsedWord]:
    """The words of the sentences as one sentence, each root still a root."""
    offsets = accumulate((len(sentence.words) for sentence in sentences), initial=0)
    return [
        ParsedWord(word.text, word.upos, word.xpos, word.head + offset if word.head else 0, word.deprel)
        for sentence, offset in zip(sentences, offsets, strict=False)
        for word in sentence.words
    ]


def joined_tree(sentences: Sequence[Any]) -> Nonterminal:
    """The trees of the sentences under one ROOT, spelt as the sentences are."""
    tops = [_tree(sentence.constituency) for sentence in sentences]
    children = [child for top in tops for child in (top.children if top.label == ROOT else (top,))]
    # A word of some languages holds a space, which a bracketed word cannot.
    words = [word.text.replace(" ", "\u00a0") for sentence in sentences for word in sentence.words]
    return respell(Nonterminal(ROOT, tuple(children)), words)


def _tree(top: Any) -> Nonterminal:
    """Stanza's tree as ours; it may be as deep as the sentence is long, so this does not recurse."""
    built: list[Tree] = []
    stack: list[tuple[Any, bool]] = [(top, False)]
    while stack:
        node, is_done = stack.pop()
        if not node.children:
            built.append(Terminal(node.label))
        elif is_done:
            children = tuple(built[-len(node.children) :])
            del built[-len(node.children) :]
            built.append(Nonterminal(node.label, children))
        else:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.children))
    (tree,) = built
    assert isinstance(tree, Nonterminal)
    return tree
