"""What the command says and writes is what it said and wrote when the goldens were made."""

from __future__ import annotations

from pathlib import Path

import pytest
from playing import EXPECTED, Scene, compare
from scenes import SCENES


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_a_scene_is_as_it_was(scene: Scene, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    scene.set_up(folder)
    compare(EXPECTED / f"{scene.name}.txt", scene.play(folder))


def test_every_golden_is_of_a_scene() -> None:
    assert {path.stem for path in EXPECTED.iterdir()} == {scene.name for scene in SCENES}
