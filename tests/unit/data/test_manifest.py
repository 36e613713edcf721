"""The manifest of a model directory agrees with its files at every moment."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from trdec import __version__
from trdec.data.manifest import MANIFEST, check_manifest, remove_manifest, replacing_model_file, write_manifest
from trdec.errors import ModelError
from trdec.files import checksum, checksum_of_text


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "codec").mkdir()
    for name in ("config.yaml", "codec/codec.json", "codec/grammar.txt", "model.safetensors"):
        (tmp_path / name).write_text(f"old {name}")
    write_manifest(tmp_path)
    return tmp_path


def replace(model: Path, name: str, text: str) -> None:
    with replacing_model_file(model, name) as temporary:
        temporary.write_text(text)


def test_it_says_what_wrote_it_and_what_the_files_are(model: Path) -> None:
    content = json.loads((model / MANIFEST).read_text())
    assert (content["format"], content["version"], content["trdec"]) == ("trdec model", 1, __version__)
    path = model / "codec" / "grammar.txt"
    assert content["files"]["codec/grammar.txt"] == [{"bytes": path.stat().st_size, "sha256": checksum(path)}]
    check_manifest(model)


def test_a_replaced_file_is_listed_alone(model: Path) -> None:
    for text in ("new", "newer"):
        replace(model, "model.safetensors", text)
        check_manifest(model)
    assert len(json.loads((model / MANIFEST).read_text())["files"]["model.safetensors"]) == 1
    (model / "model.safetensors").write_text("new")
    with pytest.raises(ModelError, match=r"model\.safetensors"):
        check_manifest(model)


def killed(action: Callable[[], None], moment: int, late: bool) -> bool:
    """Run the action in a process that is killed at its n-th rename, just before it or just after; whether it was."""
    child = os.fork()
    if not child:
        seen = 0
        rename = Path.replace

        def dying(self: Path, target: Path) -> Path:
            nonlocal seen
            seen += 1
            if seen == moment and not late:
                os._exit(9)
            moved = rename(self, target)
            if seen == moment:
                os._exit(9)
            return moved

        try:
            Path.replace = dying  # type: ignore[method-assign,assignment]
            action()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.mark.parametrize("name", ["config.yaml", "model.safetensors"])
@pytest.mark.parametrize("late", [False, True])
def test_a_kill_at_any_moment_leaves_a_readable_model(name: str, late: bool, model: Path) -> None:
    moments = 0
    while killed(partial(replace, model, name, f"new {moments}"), moments + 1, late):
        check_manifest(model)
        assert (model / name).read_text().split()[0] in ("old", "new")
        moments += 1
    assert moments == 3  # the manifest with both, the file, the manifest with one
    assert (model / name).read_text() == "new 3"
    check_manifest(model)
    replace(model, name, "last")
    check_manifest(model)
    assert len(json.loads((model / MANIFEST).read_text())["files"][name]) == 1


def test_a_reader_sees_a_file_that_is_replaced_while_it_reads(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The manifest is read, then the weights are replaced, then they are compared."""
    import trdec.data.manifest as module

    compare, replaced = module._compare, []

    def late(directory: Path, listed: dict[str, list[module.FileState]]) -> None:
        if not replaced:
            replaced.append(True)
            replace(model, "model.safetensors", "new weights")
        compare(directory, listed)

    monkeypatch.setattr(module, "_compare", late)
    check_manifest(model)
    assert replaced


def test_a_damaged_manifest_does_not_outlive_the_next_weights(model: Path) -> None:
    (model / MANIFEST).write_text("{")
    replace(model, "model.safetensors", "new")
    assert not (model / MANIFEST).exists()
    remove_manifest(model)


def sealed(**changes: object) -> str:
    content = {"format": "trdec model", "version": 1, "trdec": "1.0", "files": {}, **changes}
    seal = checksum_of_text(json.dumps(content, sort_keys=True))
    return json.dumps({**content, "checksum": seal}, indent=1) + "\n"


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (sealed(version=2), r"expected version 1 .*, found version 2.*1\.0"),
        (sealed(format="other"), "trdec model"),
        (sealed(files=[]), "damaged"),
        (sealed(files={"config.yaml": 3}), "damaged"),
        (sealed(files={"config.yaml": [{"bytes": "1", "sha256": ""}]}), "damaged"),
        (sealed(files={"../outside": [{"bytes": 1, "sha256": ""}]}), "outside"),
        (sealed(files={}), "config.yaml"),
        (sealed() + " ", "damaged"),
        (sealed(files={}).replace("\n", "\r\n", 1), "damaged"),
        (sealed().replace("1.0", "1.1"), "damaged"),
        ("\ud800", "manifest.json"),
        ("[" * 100_000, "JSON"),
        ("", "JSON"),
    ],
)
def test_a_manifest_that_is_none_is_refused(text: str, facts: str, model: Path) -> None:
    (model / MANIFEST).write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(ModelError, match=facts):
        check_manifest(model)
