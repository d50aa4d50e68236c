"""Digests make runs comparable: if one changes, users can no longer compare with their earlier runs."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import Any

import pytest
from playing import HERE, REWRITE, Scene, rows, show_difference, store_of
from scenes import FORMATS, OWN, SPECIFICATION

DIGESTS = HERE / "digests.json"
ORACLE = "--target oracle"
FORMAT_FILES = (
    "capability.yaml dataset.json eval-suite.yaml native.yaml regression.json rows.jsonl session.json task-suite.json"
)
SPECIFICATION_FILES = (
    "task-suite.json capability/string-processing.yaml capability/examples.yaml dataset.json sessions "
    "regression/users-endpoint.json regression/examples.yaml eval-suite.yaml"
)
SCENES = (
    Scene("quick-start", "examples/quick-start", f"run suite.yaml\nrun suite.yaml {ORACLE}"),
    Scene("failing", "examples/failing", f"run suite.yaml\nrun suite.yaml {ORACLE} --repeat 1"),
    Scene("changed", "examples/changed", "run suite.yaml --target agent.py:before --target agent.py:after --limit 4"),
    Scene("agent", "examples/agent", f"run suite.json --limit 1\nrun suite.json {ORACLE}"),
    Scene(
        "formats",
        FORMATS,
        f"""
        run {FORMAT_FILES} {ORACLE} --var knot=bowline --var tides_url=http://localhost
        run native.yaml {ORACLE} --var city=Paris --grader-type code
        run task-suite.yaml
        """,
    ),
    Scene(
        "specification",
        SPECIFICATION,
        f"""
        run {SPECIFICATION_FILES} --target null --judge-model none --var test_token=t --var api_base_url=http://localhost
        run sessions/count-files.json {ORACLE}
        """,
    ),
    Scene(
        "own",
        OWN,
        """
        run passing.yaml flaky.yaml gated.yaml priced.yaml matrix.yaml --baseline none --repeat 3
        run sequential.yaml broken.yaml crashing.yaml interrupted.yaml --repeat 1
        run judged.yaml due.yaml --judge-model scripted/judge.yaml
        regrade @1
        run bakery.json --target agent.py:workflow --scorer latency:max_ms=2000 --scorer scorers.py:short
        run sessions --target session_target.yaml
        """,
    ),
    Scene(
        "graders",
        "tests/goldens/projects/graders",
        "run suite.yaml\nrun suite.yaml --judge-model scripted/judge.yaml\nrun suite.yaml --judge-model none",
    ),
    Scene("targets", "tests/goldens/projects/targets", "run suite.yaml\nrun suite.yaml --var port=1"),
)
OF_THE_MACHINE = ("harness_version", "python_version", "platform")


def locks(folder: Path) -> list[dict[str, Any]]:
    """The digests of all runs in the folder's store, in their order."""
    found = []
    for suite_name, body in rows(store_of(folder), "SELECT suite_name, body FROM runs ORDER BY seq"):
        run = json.loads(zlib.decompress(body) if body[:1] == b"x" else body)
        lock = {key: value for key, value in run["lock"].items() if key not in OF_THE_MACHINE}
        found.append({"suite": suite_name, "variant": run.get("variant", ""), **lock})
    return found


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_no_digest_has_changed(scene: Scene, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    scene.set_up(folder)
    assert "\nexit code 2\n" not in scene.play(folder)
    now = locks(folder)
    goldens = json.loads(DIGESTS.read_text(encoding="utf-8")) if DIGESTS.exists() else {}
    if os.environ.get(REWRITE):
        goldens[scene.name] = now
        DIGESTS.write_text(json.dumps(dict(sorted(goldens.items())), indent=1) + "\n", encoding="utf-8")
    show_difference(scene.name, json.dumps(goldens.get(scene.name), indent=1), json.dumps(now, indent=1))


def test_every_digest_is_of_a_scene() -> None:
    assert set(json.loads(DIGESTS.read_text(encoding="utf-8"))) == {scene.name for scene in SCENES}
