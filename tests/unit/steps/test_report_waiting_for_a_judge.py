"""While a calibration waits, it reports for which judge."""

from __future__ import annotations

from pathlib import Path

from evalharness.contracts.services import Services
from evalharness.domain.grade import Judging
from evalharness.engine.running.budget import RunBudget
from evalharness.engine.running.worker_threads import Offloader
from evalharness.graders.judges.calibration import Candidate
from evalharness.reports.words.say import say
from evalharness.sandboxes.none import NoSandbox
from evalharness.steps.report_waiting import waits_for


def test_only_the_judge_that_is_being_asked_is_named() -> None:
    services = Services(Path.cwd(), NoSandbox(), Offloader(1), {})
    first, second = Candidate("scripted/one.yaml"), Candidate("scripted/two.yaml")
    judges, asked, spending = [first, second], [], RunBudget()

    def told() -> str:
        return say(waits_for(judges, asked, spending, services))

    assert told() == "waiting for scripted/one.yaml: 0 questions answered"
    spending.checks.append(Judging(model=first.name, calls=1))
    assert told() == "waiting for scripted/two.yaml: 0 questions answered"
    spending.checks.append(Judging(model=second.name, calls=1))
    asked.append(first)
    assert told() == "waiting for scripted/one.yaml: 0 questions answered"
    first.judgings.append(Judging(model=first.name, calls=1))
    asked.append(second)
    assert told() == "waiting for scripted/two.yaml: 0 questions answered"
