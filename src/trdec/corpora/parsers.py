"""Parsers that give trees to sentences: spaCy and stanza behind one interface."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from trdec.errors import AnnotationError, UsageError
from trdec.files import split_words
from trdec.systems import CONSTITUENCY, DEPENDENCY
from trdec.trees import brackets
from trdec.trees.conllu import WITHOUT_TREE
from trdec.trees.tree import ROOT, Nonterminal, Terminal, Tree
from trdec.trees.treebank import respell


@dataclass(frozen=True, slots=True)
class ParserChoice:
    """Which parser to load, and how it reads text."""

    package: str
    kind: str
    language: str = "en"
    model: str | None = None
    raw: bool = False  # whether the parser splits the words; if not, they are separated by whitespace


class Parser(Protocol):
    """Sentences in, entries of a treebank file out."""

    format_name: str  # of `treebank.read`
    without_tree: str  # the entry of a sentence that has none
    identity: str  # the package and the model with their versions: what the trees depend on

    def parse(self, sentences: Sequence[str]) -> list[str]:
        """The entry of each sentence, with all its line ends; no sentence is empty."""


def load_parser(choice: ParserChoice) -> Parser:
    """The parser, its model in memory; AnnotationError says how to install what is missing."""
    if (choice.package, choice.kind) not in _LOADERS:
        able = sorted(package for package, kind in _LOADERS if kind == choice.kind)
        raise UsageError(f"{choice.package} finds no {choice.kind} trees. As `package`, choose {' or '.join(able)}.")
    return _LOADERS[choice.package, choice.kind](choice)


def imported(package: str) -> ModuleType:
    """An optional package; AnnotationError says how to install it."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise AnnotationError(
            f"the package {package} is not installed. Install it with: pip install 'trdec[parse]' "
            f"(or only this one: pip install {package})"
        ) from error


@dataclass(frozen=True, slots=True)
class ParsedWord:
    """A word, its tags, the number of its head (from 1, 0 for a root) and its relation to it."""

    form: str
    upos: str
    xpos: str
    head: int
    relation: str
    spaced: bool = True  # whether a space follows, in raw text
    token: tuple[int, str] | None = None  # for the first of several words that the text writes as one: how many, and it


def write_dependencies(text: str, words: Sequence[ParsedWord]) -> str:
    """The sentence as CoNLL-U, with the empty line that ends it."""
    rows: list[tuple[str, ...]] = []
    for number, word in enumerate(words, start=1):
        if word.token is not None:
            size, form = word.token
            rows.append((f"{number}-{number + size - 1}", form, *"________"))
        misc = "_" if word.spaced else "SpaceAfter=No"
        rows.append((str(number), word.form, "_", word.upos, word.xpos, "_", str(word.head), word.relation, "_", misc))
    lines = ["\t".join(field or "_" for field in row) for row in rows]
    return "\n".join([f"# text = {text}", *lines, "", ""])


UNUSED = ("lemmatizer", "ner")
"""Components of a model that no tree depends on."""


_SPACY_CODES = "ca da de el en es fi fr hr it ja ko lt mk nb nl pl pt ro ru sl sv uk zh"
SPACY_LANGUAGES = tuple(_SPACY_CODES.split())
"""The languages that spaCy publishes models of."""


class SpacyParser:
    """A spaCy pipeline, and the way it gets the words of a sentence."""

    format_name = "conllu"
    without_tree = WITHOUT_TREE

    def __init__(self, pipeline: Any, document: Callable[[Any, str], Any]) -> None:
        self.identity = f"spacy {imported('spacy').__version__}, {_name(pipeline)} {pipeline.meta['version']}"
        self._pipeline = pipeline
        self._document = document

    def parse(self, sentences: Sequence[str]) -> list[str]:
        """The CoNLL-U entry of each sentence."""
        documents = [self._document(self._pipeline, sentence) for sentence in sentences]
        parsed = self._pipeline.pipe(documents, batch_size=len(documents))
        return [write_dependencies(document.text.strip(), _words(document)) for document in parsed]


def load_spacy(choice: ParserChoice) -> SpacyParser:
    """A parser with the model that was chosen, or spaCy's small one of the language."""
    spacy = imported("spacy")
    if choice.model is None and choice.language not in SPACY_LANGUAGES:
        raise AnnotationError(
            f"spaCy has no model of the language {choice.language!r}; it has models of {', '.join(SPACY_LANGUAGES)}. "
            "Choose another `package`, or name a `model` of your own."
        )
    model = choice.model or default_model(choice.language)
    is_folder = Path(model).is_dir()
    if not is_folder and not spacy.util.is_package(model):
        raise AnnotationError(
            f"spaCy has no model {model!r}, neither installed nor as a folder. "
            f"Install it with: python -m spacy download {model}"
        )
    try:
        pipeline = spacy.load(model, exclude=UNUSED)
    except (OSError, ValueError, ImportError) as error:
        raise AnnotationError(
            f"{model}: spaCy {spacy.__version__} cannot load this model: {error} "
            "As `model`, name the folder that holds its config.cfg, or another model."
        ) from error
    if not any("token.dep" in pipeline.get_pipe_meta(part).assigns for part in pipeline.pipe_names):
        parts = ", ".join(pipeline.pipe_names) or "none"
        raise AnnotationError(
            f"{model}: this spaCy model has no dependency parser (its parts: {parts}). Choose another `model`, "
            f"for example {default_model(choice.language)}."
        )
    return SpacyParser(pipeline, _spacy_own_words if choice.raw else _spacy_given_words)


def default_model(language: str) -> str:
    """The name of spaCy's small model of a language."""
    return f"{language}_core_web_sm" if language in ("en", "zh") else f"{language}_core_news_sm"


def _spacy_given_words(pipeline: Any, sentence: str) -> Any:
    """A document of the sentence's words, separated by whitespace."""
    words = split_words(sentence)
    # Sentence starts are set beforehand, and the parser keeps to them: one line is one sentence.
    starts = [True] + [False] * (len(words) - 1)
    return imported("spacy.tokens").Doc(pipeline.vocab, words=words, sent_starts=starts)


def _spacy_own_words(pipeline: Any, sentence: str) -> Any:
    """A document of the words that the model's tokeniser finds, as one sentence."""
    document = pipeline.make_doc(" ".join(sentence.split()))  # runs of spaces would become words
    for token in document:
        token.is_sent_start = token.i == 0
    return document


def _words(document: Any) -> list[ParsedWord]:
    return [
        ParsedWord(
            form=token.text,
            upos=token.pos_,
            xpos=token.tag_,
            head=0 if token.head.i == token.i else token.head.i + 1,
            relation="root" if token.head.i == token.i else token.dep_,
            spaced=bool(token.whitespace_) or token.i == len(document) - 1,
        )
        for token in document
    ]


def _name(pipeline: Any) -> str:
    return f"{pipeline.meta['lang']}_{pipeline.meta['name']}"


PROCESSORS = {
    DEPENDENCY: ("tokenize", "pos", "lemma", "depparse"),
    CONSTITUENCY: ("tokenize", "pos", "constituency"),
}

Sentences = Callable[[Any, Sequence[str]], list[list[Any]]]
"""From a pipeline and our sentences to stanza's sentences for each: several where it split one."""


class _StanzaParser:
    """A stanza pipeline, its name, and how it is given sentences."""

    def __init__(self, pipeline: Any, identity: str, sentences: Sentences) -> None:
        self.identity = identity
        self._pipeline = pipeline
        self._sentences = sentences


class StanzaDependencyParser(_StanzaParser):
    """A stanza pipeline that finds heads."""

    format_name = "conllu"
    without_tree = WITHOUT_TREE

    def parse(self, sentences: Sequence[str]) -> list[str]:
        """The CoNLL-U entry of each sentence."""
        parsed = self._sentences(self._pipeline, sentences)
        return [
            write_dependencies(" ".join(text.split()), joined_words(parts)) if parts else self.without_tree
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
    return StanzaDependencyParser(*_pipeline(choice), _stanza_own_words if choice.raw else _stanza_given_words)


def load_constituency(choice: ParserChoice) -> StanzaConstituencyParser:
    """A constituency parser with the model that was chosen, or stanza's default of the language."""
    return StanzaConstituencyParser(*_pipeline(choice), _stanza_own_words if choice.raw else _stanza_given_words)


def _pipeline(choice: ParserChoice) -> tuple[Any, str]:
    """The pipeline and its identity; `choice.model` is a folder of models, or one of stanza's packages."""
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
        # Nothing is downloaded without being asked for.
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


def _stanza_given_words(pipeline: Any, sentences: Sequence[str]) -> list[list[Any]]:
    """Stanza's one sentence for each of ours, over its words separated by whitespace."""
    document = pipeline([split_words(sentence) for sentence in sentences])
    return [[sentence] for sentence in document.sentences]


def _stanza_own_words(pipeline: Any, sentences: Sequence[str]) -> list[list[Any]]:
    """Stanza's sentences for each of ours, over the words that its tokeniser finds."""
    document = imported("stanza.models.common.doc").Document
    parsed = pipeline([document([], text=" ".join(sentence.split())) for sentence in sentences])
    return [found.sentences for found in parsed]


def joined_words(sentences: Sequence[Any]) -> list[ParsedWord]:
    """The words of the sentences as one sentence, each root still a root."""
    offsets = accumulate((len(sentence.words) for sentence in sentences), initial=0)
    found = [
        ParsedWord(word.text, word.upos, word.xpos, word.head + offset if word.head else 0, word.deprel, spaced, token)
        for sentence, offset in zip(sentences, offsets, strict=False)
        for each in sentence.tokens
        for word, spaced, token in _words_of_token(each)
    ]
    return [*found[:-1], *(replace(word, spaced=True) for word in found[-1:])]  # nothing follows the last


def _words_of_token(token: Any) -> Iterator[tuple[Any, bool, tuple[int, str] | None]]:
    """The words of stanza's token: whether a space follows each, and the token, if its words do not spell it."""
    is_spelt = "".join(word.text for word in token.words) == token.text
    for number, word in enumerate(token.words):
        is_last = number == len(token.words) - 1
        spaced = bool(token.spaces_after) if is_last else not is_spelt
        yield word, spaced, None if is_spelt or number else (len(token.words), token.text)


def joined_tree(sentences: Sequence[Any]) -> Nonterminal:
    """The trees of the sentences under one ROOT, with the sentences' spelling."""
    tops = [_tree(sentence.constituency) for sentence in sentences]
    children = [child for top in tops for child in (top.children if top.label == ROOT else (top,))]
    # In some languages a word may contain a space, which a bracketed word cannot.
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


_LOADERS: dict[tuple[str, str], Callable[[ParserChoice], Parser]] = {
    ("spacy", DEPENDENCY): load_spacy,
    ("stanza", DEPENDENCY): load_dependency,
    ("stanza", CONSTITUENCY): load_constituency,
}
