"""Model directories that older versions of trdec wrote are read, and translate the same."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.model_directory import trained
from trdec.configuration import CONFIGURATION_FILE, load_configuration, load_saved_configuration
from trdec.data.manifest import MANIFEST
from trdec.errors import ConfigError, ModelError
from trdec.systems import SYSTEMS, System
from trdec.translation.translator import Translator


def _rewritten(path: Path, **changes: Any) -> dict[str, Any]:
    """The content of a configuration as it was written before a system had five keys."""
    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    content["data"] |= {"trees": [], "transforms": []} | changes
    content["model"] = {"decoder": "tree", **content["model"]}
    return content


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The directory of a trained model, its descriptions rewritten to the first version."""
    model = shutil.copytree(trained(), tmp_path / "model")
    path = model / CONFIGURATION_FILE
    path.write_text(yaml.safe_dump(_rewritten(path)), encoding="utf-8")
    codec = model / "codec" / "codec.json"
    description = json.loads(codec.read_text(encoding="utf-8"))
    codec.write_text(json.dumps(description | {"version": 1, "system": "trdec-con", "transforms": []}))
    (model / MANIFEST).unlink()
    return model


def test_an_old_model_translates_the_same(old: Path) -> None:
    lines = (trained().parent / "toy" / "train.vel").read_text(encoding="utf-8").splitlines()[:5]
    before, now = Translator.load(trained()), Translator.load(old)
    assert [found.text for found in now.translate(lines)] == [found.text for found in before.translate(lines)]


def test_its_configuration_is_converted_only_in_its_directory(old: Path) -> None:
    assert load_saved_configuration(old) == load_saved_configuration(trained())
    with pytest.raises(ConfigError) as raised:
        load_configuration(old / CONFIGURATION_FILE)
    for key in ("data.trees", "data.transforms", "model.decoder"):
        assert f"there is no key {key!r} any more" in str(raised.value)


@pytest.mark.parametrize(
    ("changes", "system"),
    [
        ({}, SYSTEMS["trdec-con"]),
        ({"transforms": ["binarise"]}, System(trees=("constituency",), transforms=("strip-tags", "binarise"))),
        ({"trees": ["constituency"]}, System(trees=("constituency",))),
        ({"trees": ["flat"], "transforms": ["wrap-words"]}, System(trees=("flat",), transforms=("wrap-words",))),
    ],
)
def test_other_trees_and_further_transforms_become_keys_of_the_system(
    changes: dict[str, Any], system: System, tmp_path: Path
) -> None:
    content = _rewritten(trained() / CONFIGURATION_FILE, **changes)
    (tmp_path / CONFIGURATION_FILE).write_text(yaml.safe_dump(content), encoding="utf-8")
    assert load_saved_configuration(tmp_path).system == system


@pytest.mark.parametrize("change", [{"system": "trdec-none"}, {"trees": ["flut"]}])
def test_an_old_model_with_an_unknown_system_is_refused(old: Path, change: dict[str, Any]) -> None:
    path = old / CONFIGURATION_FILE
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    content["system"] = change.get("system", "trdec-con")
    content["data"] |= {key: value for key, value in change.items() if key == "trees"}
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    with pytest.raises(ModelError, match=r"config.yaml: [\s\S]*found '(trdec-none|flut)'"):
        Translator.load(old)
