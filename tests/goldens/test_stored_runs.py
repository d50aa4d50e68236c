"""A store and reports that an earlier version wrote are still read, shown, compared, resumed, graded and verified."""

from __future__ import annotations

from pathlib import Path

import pytest
from playing import HERE, Scene, compare, rows
from scenes import OWN
from stored import STORED, bring

EXPECTED = HERE / "expected-stored"
PRICES = {"EVALHARNESS_PRICES": "prices.json"}
NUMBERS = {
    "passing": 1,
    "flaky": 2,
    "flaky-again": 3,
    "baseline": 4,
    "gated": 5,
    "gate-failed": 6,
    "sequential": 7,
    "errors": 8,
    "crashed": 9,
    "awaiting": 10,
    "judged": 11,
    "workflow": 12,
    "sessions": 13,
    "variant": 14,
    "other-variant": 15,
    "spend-cap": 16,
    "regraded": 17,
    "interrupted": 18,
}
"""What each of the stored runs is, by its place in the store."""
SCENES = (
    Scene(
        "lists", OWN, "runs --limit 50\nruns --json --limit 50\nbaseline list\nbaseline list --json\nlist-suites --json"
    ),
    Scene("shown", OWN, "\n".join(f"show @{number}" for number in NUMBERS.values())),
    Scene("shown-as-json", OWN, "\n".join(f"show @{number} --json" for number in (3, 6, 7, 8, 10, 11, 12, 16, 18))),
    Scene(
        "cases",
        OWN,
        """
        show @2 peru
        show @8 japan --json
        show @9 japan
        show @11 said
        show @11 warm --json
        show @12 loaf
        show @13 files
        show @18 chile
        """,
    ),
    Scene("verified", OWN, "\n".join(f"verify @{number}" for number in NUMBERS.values())),
    Scene(
        "compared",
        OWN,
        """
        compare @4 @6
        compare @2 @3 --json
        compare @14 @15 --metric latency
        compare @14 @15 --metric cost
        compare default @5
        compare flaky-report.json @2
        compare baseline.json gated-report.json
        regressions gated
        regressions gated --run @6 --json
        regressions matrix --baseline-variant careful
        plan flaky
        """,
    ),
    Scene(
        "gates",
        OWN,
        """
        gate @5
        gate @6 --json
        gate @6 --regression-tolerance 50 --inconclusive fail
        gate @2 --fail-under 0.6
        gate @7
        gate @17
        gate gated-report.json --fail-under 0.5
        gate gated-report.json --baseline baseline.json --strict-flips
        gate flaky-report.json --gate production -o junit.xml
        > junit.xml
        """,
    ),
    Scene(
        "reports",
        OWN,
        """
        verify flaky-report.json
        verify gated-report.json
        verify gated-report.json --json
        verify baseline.json
        compare flaky-report.json gated-report.json
        """,
    ),
    Scene(
        "formats",
        OWN,
        """
        report @6
        report @6 --no-details
        report @6 --format json
        report @6 --format junit
        report @6 --format csv
        report @6 --format jsonl
        report @6 --format terminal
        report @10 @8
        report @14 @15
        report @14 @15 --format junit
        report gated-report.json
        report default --no-details --format json
        export @11 --what grades
        export @12 --format json --no-details
        compare @4 @6 -q -o difference.md -o difference.json
        > difference.md
        > difference.json
        """,
    ),
    Scene(
        "resumed",
        OWN,
        """
        resume
        show @18
        resume @18 --json -o junit.xml
        > junit.xml
        resume @16 -j 1 --max-cost 1
        resume @8
        resume @1
        resume @7 -j 1
        verify @18
        runs --limit 50
        """,
        env=PRICES,
    ),
    Scene(
        "regraded",
        OWN,
        """
        regrade @2
        regrade @3 --json --only peru
        regrade @6
        regrade @9
        regrade @10 -j 1 --judge-model scripted/judge.yaml
        regrade @11 -j 1 --judge-model scripted/judge.yaml
        regrade @11 -j 1 --judge-model scripted/harsh.yaml --json
        regrade @12
        regrade @12 --scorer scorers.py:short
        regrade @13
        regrade @14 --matrix
        regrade @17
        cache
        """,
        env=PRICES,
    ),
    Scene(
        "run-again",
        OWN,
        """
        run gated.yaml
        run flaky.yaml --failed
        run sequential.yaml --sequential --fail-under 0.9
        baseline @1
        capture @1 france -o regression.yaml
        > regression.yaml
        runs rm @2
        baseline rm default --suite gated
        runs --limit 50
        """,
    ),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "project"


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_a_stored_scene_is_as_it_was(scene: Scene, folder: Path) -> None:
    scene.set_up(folder)
    bring(folder)
    compare(EXPECTED / f"{scene.name}.txt", scene.play(folder))


def test_every_golden_is_of_a_scene() -> None:
    assert {path.stem for path in EXPECTED.iterdir()} == {scene.name for scene in SCENES}


def test_the_stored_runs_are_what_they_are_called() -> None:
    """And the file is as old as its folder says."""
    found = rows(STORED / "store.db", "SELECT suite_name FROM runs ORDER BY seq")
    assert len(found) == len(NUMBERS)
    assert found[NUMBERS["interrupted"] - 1] == ("interrupted",)
    assert rows(STORED / "store.db", "SELECT MAX(version) FROM schema_version") == [(6,)]
    unfinished = "SELECT suite_name FROM runs WHERE finished_at IS NULL ORDER BY seq"
    assert rows(STORED / "store.db", unfinished) == [("priced",), ("interrupted",)]
