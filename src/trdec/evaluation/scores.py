"""Outputs read from files, and their scores with sacreBLEU signatures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from trdec.detection import UNSPACED, looks_raw, main_script
from trdec.errors import TextFormatError, UsageError
from trdec.evaluation.ter import RememberingTER
from trdec.evaluation.trees import TreeScores
from trdec.files import STANDARD, Line, read_lines, split_words
from trdec.trees import brackets, treebank
from trdec.trees.transforms import rooted
from trdec.trees.tree import Nonterminal

TOKENISERS = ("none", "13a", "intl", "zh", "char", "ja-mecab", "ko-mecab", "flores200")
"""sacreBLEU's tokenisers; the last three need another package or a download."""

SPACED = ("none", "13a", "intl")
"""Those that split a text only at spaces and punctuation."""

WITHOUT_SPACES = ("Han", "Hiragana", *UNSPACED)
"""Scripts in which no space parts words; Japanese counts as Hiragana."""

SplitWords = Callable[[str], Sequence[str]]
"""How a line is split into words."""

NO_TER = (
    "TER is left out: sacreBLEU's TER does not find the words of this script. "
    "To have it, split all texts into words and score them with the tokeniser none."
)
"""What to say where TER was asked for and cannot be computed."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A score and the signature that says how it was computed."""

    name: str
    score: float
    signature: str

    def to_json(self) -> dict[str, Any]:
        """The score as JSON has it."""
        return {"name": self.name, "score": self.score, "signature": self.signature}


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of a text against its references; words are counted as BLEU's tokeniser splits them."""

    bleu: Metric
    chrf: Metric
    ter: Metric | None
    """None if it was not asked for, or if sacreBLEU's does not find the words of the script."""
    length_ratio: float
    sentences: int
    hypothesis_words: int
    reference_words: int

    def to_json(self) -> dict[str, Any]:
        """The scores as JSON has them."""
        return {
            "bleu": self.bleu.to_json(),
            "chrf": self.chrf.to_json(),
            "ter": self.ter.to_json() if self.ter else None,
            "length_ratio": self.length_ratio,
            "sentences": self.sentences,
            "hypothesis_words": self.hypothesis_words,
            "reference_words": self.reference_words,
        }


def score_texts(
    hypotheses: Sequence[str], references: Sequence[str], tokenise: str = "none", with_ter: bool = True
) -> Scores:
    """Corpus BLEU, chrF++, TER and the length ratio; a hypothesis may be empty."""
    if len(hypotheses) != len(references):
        raise TextFormatError(
            f"expected a hypothesis for each reference, found {len(hypotheses)} hypotheses and "
            f"{len(references)} references. Both must hold the same sentences in the same order."
        )
    if not any(reference.split() for reference in references):
        raise TextFormatError(
            f"expected references with words in them, found {len(references)} without. "
            "Nothing can be scored against them: check which text was given as the reference."
        )
    bleu, chrf = bleu_metric(tokenise), chrf_metric()
    bleu_score = bleu.corpus_score(list(hypotheses), [list(references)])
    chrf_score = chrf.corpus_score(list(hypotheses), [list(references)])
    return Scores(
        bleu=Metric("BLEU", bleu_score.score, str(bleu.get_signature())),
        chrf=Metric("chrF++", chrf_score.score, str(chrf.get_signature())),
        ter=_ter(hypotheses, references, tokenise) if with_ter else None,
        length_ratio=bleu_score.sys_len / bleu_score.ref_len,
        sentences=len(references),
        hypothesis_words=bleu_score.sys_len,
        reference_words=bleu_score.ref_len,
    )


def _ter(hypotheses: Sequence[str], references: Sequence[str], tokenise: str) -> Metric | None:
    ter = ter_metric(references, tokenise)
    if ter is None:
        return None
    score = ter.corpus_score(list(hypotheses), None).score
    return Metric("TER", score, str(ter.get_signature()))


def bleu_metric(tokenise: str, references: Sequence[str] | None = None) -> BLEU:
    """sacreBLEU's BLEU, without its warning about tokenised text, which is what trdec writes."""
    if tokenise not in TOKENISERS:
        raise UsageError(f"expected a tokeniser ({', '.join(TOKENISERS)}), found {tokenise!r}.")
    try:
        return BLEU(tokenize=tokenise, force=True, references=None if references is None else [list(references)])
    except (ImportError, RuntimeError, OSError) as error:
        reason = " ".join(str(error).split())
        raise UsageError(f"sacreBLEU's tokeniser {tokenise!r} cannot be used here: {reason}") from error


def bleu_tokeniser(references: Sequence[str], is_raw: bool | None = None) -> str:
    """sacreBLEU's tokeniser for these references: none if they are tokenised, otherwise the one for their script.

    Whether they are raw is seen from the text, if it is not known.
    """
    if not (looks_raw(references) if is_raw is None else is_raw):
        return "none"
    script = main_script(references)
    if script == "Han":
        return "zh"
    if script == "Hiragana":
        return "ja-mecab" if find_spec("MeCab") and find_spec("ipadic") else "char"
    if script == "Hangul" and find_spec("mecab_ko"):
        return "ko-mecab"
    if script in UNSPACED:
        return "flores200" if _is_downloaded("flores200") else "char"
    return "13a"


def _is_downloaded(name: str) -> bool:
    from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS
    from sacrebleu.utils import SACREBLEU_DIR

    return (Path(SACREBLEU_DIR) / "models" / Path(SPM_MODELS[name]["url"]).name).exists()


def tokenisation_warning(references: Sequence[str], tokenise: str) -> str | None:
    """What to say if raw text is scored as if it were tokenised."""
    if tokenise != "none" or not looks_raw(references):
        return None
    better = bleu_tokeniser(references)
    return (
        "the reference looks like raw text, but BLEU takes whitespace as the only border of words (none). "
        f"The score cannot be compared with others; {better} is usual for such text."
    )


def word_tokeniser(references: Sequence[str], tokenise: str) -> str:
    """The tokeniser that finds the words of a text wherever words are counted: none stands for white space.

    It is BLEU's in raw text of a script without spaces, and none in every other: there white space gives the words.
    """
    if tokenise in SPACED or main_script(references) not in WITHOUT_SPACES:
        return "none"
    is_split = any(len(split_words(line)) > 1 for line in references) and not looks_raw(references)
    return "none" if is_split else tokenise


def word_splitter(tokenise: str) -> SplitWords:
    """Splits a line into the words that this tokeniser finds: with none, at ASCII white space."""
    if tokenise == "none":
        return split_words
    tokeniser = bleu_metric(tokenise).tokenizer
    return lambda line: tokeniser(line).split()  # as BLEU does: an ideographic space is no word


def chrf_metric() -> CHRF:
    """sacreBLEU's chrF++: chrF with words and pairs of words besides characters."""
    return CHRF(word_order=2)


def ter_metric(references: Sequence[str], tokenise: str = "none") -> TER | None:
    """sacreBLEU's TER against these references, each Chinese character a word; None if it does not find the words."""
    documents = [list(references)]
    if word_tokeniser(references, tokenise) == "none":
        return RememberingTER(references=documents)
    if main_script(references) == "Han":
        return RememberingTER(normalized=True, asian_support=True, references=documents)
    return None  # sacreBLEU would leave whole runs of kana, and whole lines of Thai, in one piece


def sentence_scores(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """chrF++ of each sentence: BLEU says little about a single sentence."""
    chrf = chrf_metric()
    return [
        chrf.sentence_score(hypothesis, [reference]).score
        for hypothesis, reference in zip(hypotheses, references, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Output:
    """A translation of the whole test set by one trained system: several seeds are several outputs."""

    system: str
    name: str
    """The output as messages name it: its file."""
    lines: Sequence[str]
    seed: str | None = None
    trees: Sequence[Nonterminal | None] | None = None


def read_texts(path: Path | str) -> list[str]:
    """The lines of a file; a line may be empty."""
    return [line.text for line in read_lines(path)]


def read_references(path: Path | str) -> list[str]:
    """The lines of a file of references, which must have words."""
    lines = read_texts(path)
    if not any(line.split() for line in lines):
        what = f"{len(lines)} lines without words" if lines else "an empty file"
        raise TextFormatError(
            f"{file_name(path)}: expected reference translations, one per line, found {what}. Check the file name."
        )
    return lines


def read_output(system: str, path: Path | str, references: Sequence[str], reference_name: str) -> Output:
    """A system's output; TextFormatError unless it has a line for each reference."""
    lines = read_texts(path)
    check_aligned(file_name(path), len(lines), reference_name, len(references))
    return Output(system, file_name(path), lines)


def read_trees(path: Path | str) -> list[Nonterminal | None]:
    """One bracketed tree per line; None where a line cannot be read as a tree."""
    return [_tree(line) for line in read_lines(path)]


def _tree(line: Line) -> Nonterminal | None:
    trees = (entry.tree for entry in brackets.read_brackets([line]))  # an empty line has no entry
    tree = next(trees, None)
    return None if tree is None else rooted(tree)


def read_reference_trees(path: Path | str, format_name: str, references: Path | str) -> list[Nonterminal | None]:
    """The trees of the references, with their spelling; None where the parser found no tree."""
    trees: list[Nonterminal | None] = []
    for entry in treebank.read(format_name, path, references):
        if entry.error is not None:
            raise entry.error
        trees.append(entry.tree)
    return trees


def check_aligned(name: str, count: int, reference_name: str, reference_count: int) -> None:
    """TextFormatError unless the two have equally many lines."""
    if count != reference_count:
        raise TextFormatError(
            f"expected as many lines in both, found {count} in {name} and {reference_count} in {reference_name}. "
            "The two must hold the same sentences in the same order; an empty translation is an empty line."
        )


def file_name(path: Path | str) -> str:
    """The file as messages name it."""
    return "<standard input>" if str(path) == STANDARD else str(path)


@dataclass(frozen=True, slots=True)
class ScoredExample:
    """A translation beside its reference, and its source where that is given."""

    index: int
    """The number of its line, from 1."""
    score: float
    """Sentence chrF++."""
    hypothesis: str
    reference: str
    source: str | None

    def to_json(self) -> dict[str, Any]:
        """The example as JSON has it."""
        source = {} if self.source is None else {"source": self.source}
        texts = {**source, "reference": self.reference, "hypothesis": self.hypothesis}
        return {"line": self.index, "chrf": self.score, **texts}


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All figures of one output."""

    scores: Scores
    source_words: int | None
    """Words in the source, if it was given, as its own script has them."""
    source_ratio: float | None
    """Words of the translation for each word of the source."""
    trees: TreeScores | None
    worst: tuple[ScoredExample, ...]

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON has it."""
        return {
            **self.scores.to_json(),
            "source_words": self.source_words,
            "source_ratio": self.source_ratio,
            "trees": self.trees.to_json() if self.trees else None,
            "worst": [example.to_json() for example in self.worst],
        }


def evaluate_texts(
    hypotheses: Sequence[str],
    references: Sequence[str],
    sources: Sequence[str] | None = None,
    trees: TreeScores | None = None,
    tokenise: str = "none",
    examples: int = 0,
    with_ter: bool = True,
) -> Evaluation:
    """Scores of the hypotheses, and the worst translations, as many as `examples`."""
    words = ratio = None
    if sources is not None:
        words = _count(sources, word_tokeniser(sources, bleu_tokeniser(sources)))
        ratio = _count(hypotheses, word_tokeniser(references, tokenise)) / words if words else None
    return Evaluation(
        scores=score_texts(hypotheses, references, tokenise, with_ter),
        source_words=words,
        source_ratio=ratio,
        trees=trees,
        worst=_worst(hypotheses, references, sources, examples),
    )


def _count(lines: Sequence[str], tokenise: str) -> int:
    split = word_splitter(tokenise)
    return sum(len(split(line)) for line in lines)


def _worst(
    hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str] | None, number: int
) -> tuple[ScoredExample, ...]:
    if not number:
        return ()
    scores = sentence_scores(hypotheses, references)
    return tuple(
        ScoredExample(
            index + 1, scores[index], hypotheses[index], references[index], sources[index] if sources else None
        )
        for index in sorted(range(len(scores)), key=scores.__getitem__)[:number]
    )
