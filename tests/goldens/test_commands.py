"""What the command says and writes is what it said and wrote when the goldens were made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from driving import drive
from playing import EXPECTED, HERE, Scene, compare, steady_command
from scenes import SCENES


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_a_scene_is_as_it_was(scene: Scene, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    scene.set_up(folder)
    compare(EXPECTED / f"{scene.name}.txt", scene.play(folder))


def test_every_golden_is_of_a_scene() -> None:
    assert {path.stem for path in EXPECTED.iterdir()} == {scene.name for scene in SCENES}


def test_the_schema_of_suite_files_is_as_it_was(tmp_path: Path) -> None:
    """A line for each definition: long, but a diff names what changed."""
    done = drive(tmp_path, "schema", command=steady_command())
    code, out, err = done.code, done.out, done.err
    assert (code, err) == (0, "")
    schema = json.loads(out)
    definitions = schema.pop("$defs")
    lines = [json.dumps(schema), *(f"{name}: {json.dumps(definitions[name])}" for name in sorted(definitions))]
    compare(HERE / "schema.txt", "\n".join(lines) + "\n")
