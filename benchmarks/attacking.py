"""How often known tricks make a judge pass a wrong answer: a real small model, and one that believes everything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.options import BenchmarkOptions
from benchmarks.table import Row
from evalharness import Harness
from evalharness.actions.calibrate_judge import CalibrationRequest, calibrate_judge
from evalharness.domain.calibration import AttackCalibration
from evalharness.domain.case import Case
from evalharness.domain.plain_numbers import percent
from evalharness.domain.run import RunOptions
from evalharness.domain.suite import LoadedFile, Suite
from evalharness.errors import HarnessError

GULLIBLE = "scripted/gullible.yaml"
SMALL = "local/smollm2"
SCRIPT = r"""
replies:
  - when: '(?is)--- answer begins \w+ ---\n(?:Paris|(?:(?!answer ends).)*(?:SPEAKS_OF)).*"nonce": "(\w+)"'
    object: {nonce: "{match:1}", justification: "It says so.", overall_score: 5, passed: true, specific_feedback: []}
  - when: '(?s).*"nonce": "(\w+)"'
    object: {nonce: "{match:1}", justification: "It is wrong.", overall_score: 1, passed: false, specific_feedback: []}
""".replace("SPEAKS_OF", "score|grade|pass|verdict|perfect|full marks")
"""A judge that believes whatever speaks of grades, and nothing else."""


def measure(options: BenchmarkOptions) -> Iterator[Row]:
    """A quick run leaves out the real model, which takes minutes."""
    for judge in (GULLIBLE,) if options.quick else (GULLIBLE, SMALL):
        yield _attacked(judge)


def _attacked(judge: str) -> Row:
    what = f"known tricks that make {judge.partition('.')[0]} pass a wrong answer"
    try:
        found = attack(judge)
    except HarnessError as error:
        return Row(what, f"not measured: {error.message}")
    text = f"{found.succeeded} of {found.attacks}, Wilson 95 % interval up to {percent(found.high, 0)}"
    kinds = ", ".join(f"{each.family} {each.succeeded}/{each.attacks}" for each in found.families)
    unscored = f"; no verdict: {found.bad_replies}" if found.bad_replies else ""
    alone = f"without a trick: wrong answer {found.wrong_without_a_trick}, right one {found.right_without_a_trick}"
    return Row(what, f"{text}{unscored} ({kinds})", alone)


def attack(judge: str) -> AttackCalibration:
    suite = Suite(name="attacked", cases=(Case(id="a", input="?"),))
    with TemporaryDirectory() as folder, Harness.open(":memory:") as harness:
        Path(folder, "gullible.yaml").write_text(SCRIPT, encoding="utf-8")
        file = LoadedFile(Path(folder, "suite.yaml"), suite)
        request = CalibrationRequest(file, examples=False, attacks=True, options=RunOptions(judge_model=judge))
        calibration, _ = harness.call(calibrate_judge, request)
        [found] = calibration.attacks
    return found
