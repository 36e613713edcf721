"""Stanza models that learnt next to nothing, made here in seconds: real files for the real pipeline to load."""

from __future__ import annotations

import json
import logging
from itertools import islice
from pathlib import Path

from trdec.corpora import parsers
from trdec.corpora.parsers import ParsedWord
from trdec.corpora.toy.generate import ToySentence, sentences
from trdec.trees import brackets
from trdec.trees.transforms import rooted

LANGUAGE = "en"
SENTENCES = 12


def make(folder: Path) -> None:
    """Write a tagger, a dependency parser and a constituency parser as stanza lays out its folder of models."""
    from stanza.models import constituency_parser, parser, tagger
    from stanza.models.common.foundation_cache import FoundationCache
    from stanza.models.common.pretrain import Pretrain
    from stanza.models.constituency import parser_training, tree_reader

    logging.getLogger("stanza").setLevel(logging.ERROR)
    logging.getLogger("stanza.constituency.trainer").setLevel(logging.ERROR)
    toy = list(islice(sentences(1), SENTENCES))
    heads, phrases, vectors = folder / "toy.conllu", folder / "toy.con", folder / "vectors.txt"
    heads.write_text("".join(map(_conllu, toy)), encoding="utf-8")
    phrases.write_text("".join(f"{brackets.write(rooted(sentence.tree))}\n" for sentence in toy), encoding="utf-8")
    words = sorted({word for sentence in toy for word in sentence.target.split()})
    vectors.write_text(f"{len(words)} 2\n" + "".join(f"{word} {len(word)} 1\n" for word in words), encoding="utf-8")
    for part in ("pretrain", "pos", "depparse", "constituency"):
        (folder / LANGUAGE / part).mkdir(parents=True)
    pretrain = str(folder / LANGUAGE / "pretrain" / "toy.pt")
    Pretrain(pretrain, str(vectors)).load()

    common = ["--wordvec_pretrain_file", pretrain, "--shorthand", "en_toy", "--lang", LANGUAGE, "--cpu"]
    small = "--hidden_dim 4 --char_hidden_dim 4 --char_emb_dim 4 --transformed_dim 4 --tag_emb_dim 4 "
    small += "--deep_biaff_hidden_dim 4 --augment_nopunct 0.0 --max_steps 1 --eval_interval 1 --save_name toy.pt"
    files = ["--train_file", str(heads), "--eval_file", str(heads)]
    tagger.main([*common, *files, *small.split(), "--save_dir", str(folder / LANGUAGE / "pos")])
    parser.main([*common, *files, *small.split(), "--save_dir", str(folder / LANGUAGE / "depparse")])
    small = "--hidden_size 4 --transition_embedding_dim 4 --transition_hidden_size 4 --tag_embedding_dim 4 "
    small += "--delta_embedding_dim 4 --pattn_num_layers 0 --lattn_d_proj 0 --no_retag"
    arguments = constituency_parser.parse_args([*common, *small.split()])
    trees = tree_reader.read_treebank(str(phrases))
    trainer, *_ = parser_training.build_trainer(arguments, trees, trees, [], FoundationCache(), None)
    trainer.save(str(folder / LANGUAGE / "constituency" / "toy.pt"), save_optimizer=False)

    needs = {"toy": {"dependencies": [{"model": "pretrain", "package": "toy"}]}}
    packages = {"tokenize": "toy", "pos": "toy", "lemma": "identity", "depparse": "toy", "constituency": "toy"}
    known = {"packages": {"default": packages}, "tokenize": {"toy": {}}}
    resources = {LANGUAGE: {**known, **dict.fromkeys(("pos", "depparse", "constituency"), needs)}}
    (folder / "resources.json").write_text(json.dumps(resources), encoding="utf-8")


def _conllu(sentence: ToySentence) -> str:
    columns = (sentence.target.split(), sentence.upos, sentence.xpos, sentence.heads, sentence.relations)
    return parsers.write_dependencies(sentence.target, [ParsedWord(*word) for word in zip(*columns, strict=True)])
