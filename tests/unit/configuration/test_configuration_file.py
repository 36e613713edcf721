"""Configuration files: what is read, what is refused, and in which words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from trdec.configuration import Configuration, check_unchanged, load_configuration, load_saved_configuration
from trdec.configuration.configuration import flatten
from trdec.configuration.recipe import recipe_for, search_for, with_recipe
from trdec.configuration.reference import configuration_reference
from trdec.configuration.sections import BatchConfiguration, ModelConfiguration
from trdec.errors import ConfigError, FileError
from trdec.systems import SYSTEMS, System, system_name

REPOSITORY = Path(__file__).parents[3]

MINIMAL = """\
system: trdec-con
output: models/x
data:
  train: {source: a.src, target: a.trg}
  dev: {source: b.src, target: b.trg}
"""


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write(text: str) -> Path:
        path = tmp_path / "my.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_what_writes_trees_has_a_wider_beam_and_parsers_trees_are_ranked_more_by_their_length() -> None:
    found = {name: search_for(system) for name, system in SYSTEMS.items()}
    assert {name: search.beam_size for name, search in found.items()} == {
        name: 5 if name == "seq2seq" else 10 for name in SYSTEMS
    }
    assert {name: search.length_power for name, search in found.items()} == {
        name: 1.5 if name in ("trdec-con", "trdec-con-null", "trdec-dep") else 1.0 for name in SYSTEMS
    }
    chains = System(trees=("right-branching",), target="derivation", decoder="tree")
    assert search_for(chains) == search_for(SYSTEMS["trdec-binary"])


def test_what_a_file_leaves_out_is_the_recipe_for_the_size_of_its_corpus(write: Any, tmp_path: Path) -> None:
    for pairs in (30, 60_000):
        (tmp_path / "a.src").write_text("a line\n" * pairs)
        found = dict(flatten(load_configuration(write(MINIMAL), [f"folder={tmp_path}"])))
        assert {setting.key: found[setting.key] for setting in recipe_for(pairs)} == {
            setting.key: setting.value for setting in recipe_for(pairs)
        }


def test_up_to_fifty_thousand_pairs_are_few() -> None:
    few, more = ({setting.key: setting.value for setting in recipe_for(pairs)} for pairs in (50_000, 50_001))
    keys = (
        "model.hidden_size",
        "batches.batch_size",
        "training.guidance",
        "model.lexical",
        "data.target_subwords.size",
    )
    assert [few[key] for key in keys] == [256, 16, 0.5, True, 4000]
    assert [more[key] for key in keys] == [512, 32, 0.0, False, 8000]


@pytest.mark.parametrize(
    ("part", "name"), [("encoder", "transformer"), ("decoder", "transformer"), ("decoder", "tree-transformer")]
)
def test_a_transformer_has_the_rates_that_were_measured_with_one(part: str, name: str) -> None:
    lstm, transformer = (with_recipe({"system": {part: name}}, 6450) for name in ("lstm", name))
    rates = [
        (found["training"]["optimiser"]["learning_rate"], found["training"]["schedule"]["warmup_updates"])
        for found in (lstm, transformer)
    ]
    assert rates == [(0.004, 200), (0.002, 400)]
    assert (transformer["model"]["lexical"], transformer["training"]["guidance"]) == (False, 0)
    own = {"guidance": 0.3, "optimiser": {"learning_rate": 0.001}, "schedule": {"warmup_updates": 50}}
    given = with_recipe({"system": {part: name}, "training": own, "model": {"lexical": True}}, 6450)
    assert given["training"]["guidance"] == 0.3
    assert given["training"]["optimiser"]["learning_rate"] == 0.001
    assert given["training"]["schedule"]["warmup_updates"] == 50
    assert given["model"]["lexical"] is True


@pytest.mark.parametrize("part", ["encoder", "decoder"])
def test_a_module_may_be_called_after_a_transformer(part: str) -> None:
    found = with_recipe({"system": {part: "my_transformer_ideas:Network"}}, 6450)
    assert found["training"]["optimiser"]["learning_rate"] == 0.004


@pytest.mark.parametrize("part", ["encoder", "decoder"])
def test_a_network_of_ones_own_is_given_nothing_that_it_may_lack(part: str) -> None:
    ours, own = (with_recipe({"system": {part: name}}, 3000)["model"] for name in ("lstm", "mine:Network"))
    assert {"lexical", "tie_embeddings"} == ours.keys() - own.keys()


def test_a_batch_of_few_actions_is_a_pair() -> None:
    found = with_recipe({"batches": {"batch_type": "actions", "batch_size": 8}}, 50)
    assert found["batches"] == {"batch_type": "actions", "batch_size": 8}
    assert found["training"]["validate_every"] == 50


def test_a_corpus_at_home_is_counted(write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a.src").write_text("a line\n" * 640)
    found = load_configuration(write(MINIMAL.replace("source: a.src", "source: ~/a.src", 1)))
    assert found.training.validate_every == 640 / 16


def test_several_corpora_count_as_often_as_they_are_seen(write: Any, tmp_path: Path) -> None:
    (tmp_path / "a.src").write_text("a line\n" * 30_000)
    (tmp_path / "b.src").write_text("a line\n" * 100)
    corpora = "[{source: a.src, target: a.trg, weight: 0.5}, {source: b.src, target: b.trg}]"
    found = load_configuration(
        write(MINIMAL.replace("{source: a.src, target: a.trg}", corpora)), [f"folder={tmp_path}"]
    )
    assert found.training == load_configuration(write(MINIMAL), pairs=15_100).training


def test_what_a_file_says_stands_beside_the_recipe(write: Any, tmp_path: Path) -> None:
    (tmp_path / "a.src").write_text("a line\n" * 3000)
    lines = "batches: {batch_size: 30}\nmodel: {dropout: {states: 0.7}}\n"
    found = load_configuration(write(MINIMAL + lines), [f"folder={tmp_path}"])
    assert (found.batches.batch_size, found.model.dropout.states, found.model.dropout.readout) == (30, 0.7, 0.2)
    assert found.training.max_updates == 22 * 3000 / 30  # as many passes over the pairs as with other batches
    with pytest.raises(ConfigError, match="batch_type: actions needs a batch_size"):
        load_configuration(write(MINIMAL), [f"folder={tmp_path}", "batches.batch_type=actions"])
    several = load_configuration(write(MINIMAL + lines), [f"folder={tmp_path}", "training.accumulate=4"])
    assert several.training.max_updates == 22 * 3000 / (4 * 30)
    with_readout = load_configuration(write(MINIMAL), [f"folder={tmp_path}", "model.readout=paper"])
    assert (with_readout.model.tie_embeddings, with_readout.model.lexical) == (False, True)
    steps = load_configuration(
        write(MINIMAL), [f"folder={tmp_path}", *["batches.batch_type=actions", "batches.batch_size=800"]]
    )
    assert steps.training.max_updates == 22 * 3000 / 8  # a pair is taken for a hundred actions


def test_without_its_corpus_a_file_is_still_read(write: Any) -> None:
    assert load_configuration(write(MINIMAL)).model == ModelConfiguration()


def test_the_papers_settings_are_a_recipe() -> None:
    configuration = load_configuration(REPOSITORY / "configs" / "paper" / "or-en.yaml")
    model, training = configuration.model, configuration.training
    assert (model.embedding_size, model.hidden_size, model.encoder_layers) == (512, 512, 1)
    assert (model.initialisation, model.initialisation_range) == ("uniform", 0.1)
    assert (training.optimiser.learning_rate, training.optimiser.clip) == (0.001, 5.0)
    assert (training.validate_every, training.max_updates, training.label_smoothing) == (200, 5000, 0.0)
    assert (training.schedule.kind, training.schedule.factor, training.schedule.patience) == ("plateau", 0.5, 0)
    assert (training.schedule.warmup_updates, training.metric, training.final_weights) == (0, "loss", "best")
    assert configuration.batches == BatchConfiguration(batch_type="actions", batch_size=800, subword_dropout=0)
    assert set(model.dropout.model_dump().values()) == {0.0}


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_system_has_a_name(write: Any, system: str) -> None:
    assert load_configuration(write(MINIMAL), [f"system={system}"]).system == SYSTEMS[system]


def test_a_system_is_said_in_five_keys(write: Any, tmp_path: Path) -> None:
    text = MINIMAL.replace("trdec-con", "{trees: [my_trees:pairs, flat], transforms: my_trees:mirror, decoder: tree}")
    configuration = load_configuration(write(text))
    keys = {"trees": ("my_trees:pairs", "flat"), "transforms": ("my_trees:mirror",), "target": "derivation"}
    assert configuration.system == System(**keys, encoder="lstm", decoder="tree")
    configuration.save(tmp_path / "saved.yaml")
    saved = yaml.safe_load((tmp_path / "saved.yaml").read_text(encoding="utf-8"))["system"]
    used = {key: value for key, value in configuration.system if not key.startswith("source_")}
    assert saved == {key: list(value) if isinstance(value, tuple) else value for key, value in used.items()}
    assert load_configuration(tmp_path / "saved.yaml") == configuration


def test_a_system_that_equals_a_row_is_saved_by_its_name(write: Any, tmp_path: Path) -> None:
    text = MINIMAL.replace("trdec-con", "{trees: constituency, transforms: strip-tags}")
    load_configuration(write(text)).save(tmp_path / "saved.yaml")
    assert "system: trdec-con\n" in (tmp_path / "saved.yaml").read_text(encoding="utf-8")


def test_a_key_of_a_named_system_can_be_changed(write: Any) -> None:
    changed = load_configuration(write(MINIMAL), ["system=trdec-binary", "system.transforms=wrap-words"]).system
    assert changed == System(trees=("binary-1", "binary-2"), transforms=("wrap-words",))
    assert system_name(changed) == "binary-1+binary-2/wrap-words/derivation/tree"
    again = load_configuration(write(MINIMAL), ["system.trees=right-branching", "system.transforms=[]"]).system
    assert system_name(again) == "right-branching/derivation/tree"
    assert system_name(load_configuration(write(MINIMAL), ["system=lin", "system.target=lin"]).system) == "lin"


def test_overrides_change_keys_at_any_depth(write: Any) -> None:
    overrides = [
        "system=lin",
        "training.schedule.kind=cosine",
        "training.optimiser.learning_rate=1e-2",
        "training.early_stopping=null",
        "data.train.source=other.src",
        "model.dropout={embeddings: 0.5}",
        "model.dropout.readout=0.25",
        "system.transforms=[wrap-words, binarise]",
    ]
    configuration = load_configuration(write(MINIMAL), overrides)
    assert configuration.system.target == "lin"
    assert configuration.training.schedule.kind == "cosine"
    assert configuration.training.optimiser.learning_rate == 0.01
    assert configuration.training.early_stopping is None
    assert configuration.data.train.source == Path("other.src")
    assert (configuration.model.dropout.embeddings, configuration.model.dropout.readout) == (0.5, 0.25)
    assert configuration.system.transforms == ("wrap-words", "binarise")


def test_paths_of_data_are_below_the_folder(write: Any) -> None:
    overrides = ["folder=../corpora/x", "data.dev.target=/absolute/b.trg", "data.source_subwords.model=s.model"]
    data = load_configuration(write(MINIMAL), overrides).located_data
    assert data.train.source == Path("../corpora/x/a.src")
    assert data.dev.target == Path("/absolute/b.trg")
    assert data.source_subwords.model == Path("../corpora/x/s.model")
    assert data.train.constituency is None


@pytest.mark.parametrize(
    ("lines", "overrides", "message"),
    [
        ("", ["model.initialisation_range=.inf"], "model.initialisation_range: expected a finite number, found inf"),
        ("", ["model.hidden_size=1" + "0" * 30], "model.hidden_size: expected a number less than or equal to 65536"),
        ("", ["data.source_subwords.size=1" + "0" * 23], "data.source_subwords.size: expected a number less than or"),
        ("", ["training.threads=1000"], "training.threads: expected a number less than or equal to 256, found 1000"),
        ("", ['data.source_language=["en"]'], "data.source_language: expected a string, found ['en'] (a list)"),
        ("", ['folder="\\ud800"'], "folder: expected a path, found '\\ud800'"),
        ("model: {hiden_size: 3}", [], "my.yaml, line 6: model has no key 'hiden_size'. Did you mean 'hidden_size'?"),
        (
            "training:\n  schedule:\n    kid: cosine",
            [],
            "my.yaml, line 8: training.schedule has no key 'kid'. Did you mean 'kind'?",
        ),
        (
            "hidden_size: 3",
            [],
            "my.yaml, line 6: the configuration has no key 'hidden_size'. Did you mean 'model.hidden_size'?",
        ),
        (
            "batches: {xyz: 3}",
            [],
            "my.yaml, line 6: batches has no key 'xyz'. It has batch_type, batch_size, trees, subword_dropout.",
        ),
        (
            "",
            ["training.max_update=3"],
            "'training.max_update=3': training has no key 'max_update'. Did you mean 'max_updates'?",
        ),
        ("", ["model.hidden_size=big"], "model.hidden_size: expected an integer, found 'big' (a string)."),
        (
            "\nmodel:\n  hidden_size: big",
            [],
            "my.yaml, line 8: model.hidden_size: expected an integer, found 'big' (a string).",
        ),
        ("", ["model.hidden_size=2.5"], "model.hidden_size: expected an integer, found 2.5 (a number)."),
        (
            "",
            ["training.optimiser.learning_rate=fast"],
            "training.optimiser.learning_rate: expected a number, found 'fast' (a string).",
        ),
        ("", ["training.plot=perhaps"], "training.plot: expected true or false, found 'perhaps' (a string)."),
        ("", ["model=3"], "'model=3': model: expected keys with values, found 3 (an integer)."),
        ("", ["data.train={source: [1]}"], "data.train.source: expected a path, found [1] (a list)."),
        (
            "",
            ["training.max_updates=0"],
            "training.max_updates: expected a number greater than 0, found 0 (an integer).",
        ),
        (
            "",
            ["training.schedule.kind=cosin"],
            "training.schedule.kind: expected one of 'plateau', 'constant', 'inverse_square_root' or 'cosine', "
            "found 'cosin' (a string). Did you mean 'cosine'?",
        ),
        ("", ["system=trdec-bin"], "found 'trdec-bin'. Did you mean 'trdec-binary'?"),
        ("", ["system=zzz"], "system: expected a system, one of seq2seq, ccg,"),
        ("", ["system.trees=binary-3"], "system.trees: expected a kind of tree, one of constituency, "),
        ("", ["system.trees=binary-3"], "or your own as module:function; found 'binary-3'. Did you mean 'binary-2'?"),
        ("", ["system.trees=own.py"], "or your own as module:function; found 'own.py'."),
        ("", ["system.trees=[]"], "system.trees: "),
        ("", ["system.transforms=wrapwords"], "found 'wrapwords'. Did you mean 'wrap-words'?"),
        (
            "",
            ["system.target=derivations"],
            "or your own as module:Class; found 'derivations'. Did you mean 'derivation'?",
        ),
        (
            "",
            ["system.encoder=lsm"],
            "system.encoder: expected an encoder, one of lstm, transformer, tree-lstm, or your own as module:Class",
        ),
        ("", ["system.decoder=three"], "found 'three'. Did you mean 'tree'?"),
        ("", ["system={target: lin}"], "the key 'system.trees' is missing. The kinds of tree that are learnt"),
        ("", ["system=trdec-bin", "system.target=lin"], "found 'trdec-bin'. Did you mean 'trdec-binary'?"),
        (
            "",
            ["data.trees=flat"],
            "'data.trees=flat': there is no key 'data.trees' any more. Say which trees with the ",
        ),
        (
            "model: {decoder: sequence}",
            [],
            "my.yaml, line 6: there is no key 'model.decoder' any more. Say which decoder",
        ),
        ("", ["data.transforms=[binarise]"], "system: {trees: constituency, transforms: [strip-tags, binarise]}"),
        ("", ["batch_size=32"], "no key 'batch_size'. Did you mean 'batches.batch_size'?"),
        ("", ["learning_rat=1"], "no key 'learning_rat'. Did you mean 'training.optimiser.learning_rate'?"),
        ("", ["nonsense"], "'nonsense': expected key=value with a dotted key, such as model.hidden_size=256."),
        ("", ["model..x=3"], "'model..x=3': expected key=value with a dotted key"),
        ("", ["model.hidden_size=[3"], "'model.hidden_size=[3': expected a YAML value, found '[3': "),
        ("seed: 1", ["seed.name=3"], "'seed.name=3': seed is 1 (an integer) and has no keys"),
        ("seed: 1\nseed: 2", [], "my.yaml, line 7: the key 'seed' was already given at "),
        ("model: [", [], "my.yaml, line 6: not valid YAML: expected the node content"),
        ("", ["system=[seq2seq, lin]"], "system: expected keys with values, found ['seq2seq', 'lin'] (a list)."),
        ("model: &m {dropout: *m}", [], "my.yaml, line 6: not valid YAML: a value contains itself."),
        (
            "",
            ["batches.batch_type=actions"],
            "batch_type: actions needs a batch_size, such as 800",
        ),
        (
            "",
            ["training.final_weights=average"],
            "final_weights: average needs at least two weights to average, but keep_best is 1. Set keep_best",
        ),
        (
            "",
            ["model.tie_embeddings=true", "model.readout=paper"],
            "model.tie_embeddings needs features of the embeddings' size, 256, but this decoder's readout gives 512.",
        ),
        (
            "",
            ["output=~nobody-has-this-name/x"],
            "output: expected a path, found '~nobody-has-this-name/x': there is no such user.",
        ),
    ],
)
def test_mistakes_are_named_with_their_place(write: Any, lines: str, overrides: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        load_configuration(write(MINIMAL + lines), overrides)


def test_a_tilde_is_ones_own_folder(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/of/mine")
    found = load_configuration(
        write(MINIMAL), ["output=~/m", "folder=~/corpora", "data.source_subwords.model=~/s.model"]
    )
    assert found.output == Path("/home/of/mine/m")
    assert found.located_data.train.source == Path("/home/of/mine/corpora/a.src")
    assert found.located_data.source_subwords.model == Path("/home/of/mine/s.model")


def test_all_mistakes_are_told_at_once(write: Any) -> None:
    with pytest.raises(ConfigError) as raised:
        load_configuration(write(MINIMAL), ["model.hiden_size=3", "training.treads=2"])
    assert len(str(raised.value).splitlines()) == 2


def test_missing_keys_are_explained(write: Any) -> None:
    with pytest.raises(ConfigError) as raised:
        load_configuration(write("system: lin\ndata:\n  train: {source: x}\n"))
    lines = str(raised.value).splitlines()
    assert any("the key 'output' is missing. The model directory" in line for line in lines)
    assert any(
        line.endswith("the key 'data.train.target' is missing. Their translations, one per line.") for line in lines
    )
    assert any("my.yaml, line 3: the key 'data.train.target'" in line for line in lines)


def test_files_that_are_no_configuration_are_refused(write: Any, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"gone.yaml: cannot be read: No such file"):
        load_configuration(tmp_path / "gone.yaml")
    with pytest.raises(ConfigError, match="expected keys with values, such as 'system: seq2seq', found 'hello'"):
        load_configuration(write("hello"))
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"system: \xe4")
    with pytest.raises(ConfigError, match=r"latin.yaml: expected UTF-8, found the byte 0xe4"):
        load_configuration(latin)
    with pytest.raises(ConfigError, match="the key 'system' is missing"):
        load_configuration(write(""))


def test_a_character_that_yaml_forbids_is_said(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("system: seq2seq\x07\n")
    with pytest.raises(ConfigError, match=r"bad\.yaml: not valid YAML: unacceptable character #x0007"):
        load_configuration(tmp_path / "bad.yaml")


def test_a_saved_configuration_is_the_same_when_read(write: Any, tmp_path: Path) -> None:
    overrides = ["model.dropout.states=0.1", "output=größe/ö", "system.transforms=[binarise]", "training.clip=1"]
    configuration = load_configuration(write(MINIMAL), overrides[:-1])
    configuration.save(tmp_path / "saved.yaml")
    assert load_configuration(tmp_path / "saved.yaml") == configuration


def _changed(write: Any, *overrides: str, base: tuple[str, ...] = ()) -> None:
    path = write(MINIMAL)
    before, now = load_configuration(path, base), load_configuration(path, [*base, *overrides])
    check_unchanged(before, now, Path("models/x/config.yaml"))


@pytest.mark.parametrize(
    "override",
    ["training.max_updates=9", "training.threads=2", "output=elsewhere", "folder=elsewhere", "data.train.source=x"],
)
def test_some_keys_may_change_when_training_goes_on(write: Any, override: str) -> None:
    _changed(write, override, base=("training.schedule.kind=plateau",))


def test_other_keys_may_not(write: Any) -> None:
    with pytest.raises(ConfigError) as raised:
        _changed(write, "model.hidden_size=9", "training.optimiser.clip=null", "training.threads=2")
    first, *keys, last = str(raised.value).splitlines()
    assert first.startswith("models/x/config.yaml: ")
    assert keys == ["  model.hidden_size: 256 there, 9 now", "  training.optimiser.clip: 5.0 there, None now"]
    assert "another output" in last


def test_the_end_of_a_cosine_may_not_move(write: Any) -> None:
    with pytest.raises(ConfigError, match=r"training.max_updates: 8000 there, 9 now"):
        _changed(write, "training.max_updates=9")
    base = ("training.schedule.decay_updates=7", "training.schedule.warmup_updates=2")
    _changed(write, "training.max_updates=9", base=base)


def test_a_parent_may_move_but_not_come_or_go(write: Any) -> None:
    parent = "training.start_from=parent"
    _changed(write, "training.start_from=moved", base=(parent,))
    with pytest.raises(ConfigError, match=r"training\.start_from: None there, .*parent.* now"):
        _changed(write, parent)
    with pytest.raises(ConfigError, match=r"training\.start_from: .*parent.* there, None now"):
        _changed(write, "training.start_from=null", base=(parent,))


@pytest.mark.parametrize(
    ("schedule", "facts"),
    [
        (
            {"kind": "cosine", "warmup_updates": 50, "decay_updates": 50},
            r"decay_updates: .*warmup_updates, 50,.*found 50",
        ),
        ({"kind": "cosine", "minimum": 0.1}, r"schedule\.minimum: .*learning_rate, 0\.003.*found 0\.1"),
        ({"kind": "plateau", "minimum": 0.1}, r"schedule\.minimum: .*learning_rate, 0\.003.*found 0\.1"),
    ],
)
def test_a_rate_that_cannot_fall_is_refused_but_a_model_trained_with_it_is_read(
    write: Any, tmp_path: Path, schedule: dict[str, Any], facts: str
) -> None:
    path = write(MINIMAL + yaml.safe_dump({"training": {"schedule": schedule}}))
    with pytest.raises(ConfigError, match=facts):
        load_configuration(path)
    path.rename(tmp_path / "config.yaml")
    assert load_saved_configuration(tmp_path).training.schedule.kind == schedule["kind"]


@pytest.mark.parametrize(
    "schedule",
    [
        {"kind": "cosine", "warmup_updates": 50, "decay_updates": 51, "minimum": 0.003},
        {"kind": "constant", "warmup_updates": 50, "decay_updates": 9, "minimum": 0.1},
    ],
)
def test_a_rate_that_falls_or_need_not_is_taken(write: Any, schedule: dict[str, Any]) -> None:
    found = load_configuration(write(MINIMAL + yaml.safe_dump({"training": {"schedule": schedule}})))
    assert found.training.schedule.decay_updates == schedule["decay_updates"]


@pytest.mark.parametrize(
    "path",
    [*sorted((REPOSITORY / "configs").glob("*.yaml")), *(REPOSITORY / "configs" / "paper").glob("*.yaml")],
    ids=lambda path: path.name,
)
@pytest.mark.parametrize("system", SYSTEMS)
def test_every_recipe_takes_every_system(path: Path, system: str) -> None:
    configuration = load_configuration(path, [f"system={system}"])
    assert configuration.system == SYSTEMS[system]
    assert yaml.safe_load(path.read_text(encoding="utf-8"))["folder"] == str(configuration.folder)


def test_the_reference_is_up_to_date() -> None:
    written = (REPOSITORY / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert written == configuration_reference(), "run: python -m trdec.configuration.reference > docs/configuration.md"


def test_every_key_is_described() -> None:
    def check(model: Any, prefix: str) -> None:
        for name, field in model.model_fields.items():
            assert field.description, f"{prefix}{name}"
            assert field.description.rstrip().endswith("."), f"{prefix}{name}: {field.description}"
            if hasattr(field.annotation, "model_fields"):
                check(field.annotation, f"{prefix}{name}.")

    check(Configuration, "")


@pytest.mark.parametrize(
    ("keys", "tokenisers"),
    [
        ("", ("none", "none")),
        ("source_language: yo", ("unicode", "none")),
        ("source_language: de, target_language: en", ("unicode", "unicode")),
        ("source_language: de, target_language: en, tokeniser: sacremoses", ("sacremoses", "sacremoses")),
        ("tokeniser: unicode", ("unicode", "unicode")),
        ("tokeniser: none, target_language: zh", ("none", "none")),
    ],
)
def test_a_language_says_that_text_is_raw_and_the_tokeniser_how_it_is_read(
    write: Any, keys: str, tokenisers: tuple[str, str]
) -> None:
    extra = "".join(f"  {key}\n" for key in keys.split(", ") if key)
    data = load_configuration(write(MINIMAL + extra)).data
    assert (data.source_tokeniser, data.target_tokeniser) == tokenisers


@pytest.mark.parametrize(
    ("keys", "facts"),
    [
        (["data.source_language=german"], ("source_language", "'german'", "'de'")),
        (["data.target_language=xx-nonsense"], ("target_language", "'xx-nonsense'", "ISO 639")),
        (["data.tokeniser=sacremoses", "data.source_language=en"], ("target_language", "cs, de, el, en")),
        (["data.tokeniser=moses"], ("data.tokeniser", "'unicode'", "'sacremoses'")),
    ],
)
def test_a_language_that_the_tokeniser_does_not_know_is_refused(
    write: Any, keys: list[str], facts: tuple[str, ...]
) -> None:
    with pytest.raises(ConfigError) as error:
        load_configuration(write(MINIMAL), keys)
    for fact in facts:
        assert fact in str(error.value)


def test_an_experiment_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("title: Mine\nrecipe: toy.yaml\nsystems: [seq2seq]\n")
    with pytest.raises(ConfigError, match=r"mine.yaml: .*an experiment .*title, recipe, systems.*trdec experiment "):
        load_configuration(path)
