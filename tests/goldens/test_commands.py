"""The command prints and writes what it did when the goldens were made."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from driving import drive, drive_fresh
from playing import EXPECTED, HERE, Scene, compare, steady_command
from scenes import SCENES


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_a_scene_is_as_it_was(scene: Scene, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    scene.set_up(folder)
    compare(EXPECTED / f"{scene.name}.txt", scene.play(folder))


def test_every_golden_is_of_a_scene() -> None:
    assert {path.stem for path in EXPECTED.iterdir()} == {scene.name for scene in SCENES}


def test_plug_ins_that_are_installed_change_no_golden(tmp_path: Path) -> None:
    information = tmp_path / "site" / "loud-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: loud\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[evalharness.graders]\nlouder = evalharness.graders.text:Exact\n")
    site = str(tmp_path / "site")
    plain, steady = (
        drive_fresh(tmp_path, "schema", env={"PYTHONPATH": os.pathsep.join(path)})
        for path in ([site], [str(HERE / "steady"), site])
    )
    assert ("louder" in plain.out, "louder" in steady.out) == (True, False)
    assert json.loads(steady.out) != {}


@pytest.mark.parametrize(
    ("words", "golden"),
    [
        (("schema",), "schema.txt"),
        (("schema", "--report"), "report-schema.txt"),
        (("schema", "--comparison"), "comparison-schema.txt"),
    ],
)
def test_a_schema_is_as_it_was(words: tuple[str, ...], golden: str, tmp_path: Path) -> None:
    """A line for each definition: long, but a diff names what changed."""
    done = drive(tmp_path, *words, command=steady_command())
    code, out, err = done.code, done.out, done.err
    assert (code, err) == (0, "")
    schema = json.loads(out)
    definitions = schema.pop("$defs")
    lines = [json.dumps(schema), *(f"{name}: {json.dumps(definitions[name])}" for name in sorted(definitions))]
    compare(HERE / golden, "\n".join(lines) + "\n")
