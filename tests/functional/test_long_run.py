"""Ten thousand trials in one run: neither memory nor open files grow with their number."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from driving import COMMAND

AGENT = """
import os

calls = 0

def measure():
    global calls
    calls += 1
    if calls % 250 == 0:
        status = open("/proc/self/status").read()
        rss_kb = int(status.split("VmRSS:")[1].split()[0])
        with open(os.environ["MEASURES"], "a") as file:
            file.write(f"{calls} {rss_kb} {len(os.listdir('/proc/self/fd'))}\\n")

async def answer_async(text):
    measure()
    return text

def answer_sync(text):
    measure()
    return text
"""
MEASURING_COMMAND = """
round={index}
if [ $((round % 5)) = 0 ] && [ {case_id} = case-0 ]; then
    echo $((round * 100)) $(grep VmRSS /proc/$PPID/status | tr -dc 0-9) $(ls /proc/$PPID/fd | wc -l) >> $MEASURES
fi
echo well?
"""


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.usefixtures("proc")
@pytest.mark.parametrize(
    "target",
    ["agent.py:answer_async", "agent.py:answer_sync", {"command": MEASURING_COMMAND}],
    ids=["async", "sync", "command"],
)
def test_10_000_trials_need_no_more_memory_or_descriptors_than_1_000(tmp_path: Path, target: Any) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    cases = [{"id": f"case-{number}", "input": "well?", "expected": "well?"} for number in range(100)]
    suite = {"name": "long", "target": target, "trials": 100, "test_cases": cases}
    (tmp_path / "suite.json").write_text(json.dumps(suite))
    env = {**os.environ, "MEASURES": str(tmp_path / "measures")}
    width = "4" if isinstance(target, str) else "1"
    command = [*COMMAND, "run", "suite.json", "-j", width, "--store", "store.db", "--json"]
    with (tmp_path / "out").open("wb") as out:
        assert subprocess.run(command, cwd=tmp_path, env=env, stdout=out, check=False).returncode == 0
    counts = json.loads((tmp_path / "out").read_text())["eval_report"]["summary"]["trials"]
    assert counts["planned"] == counts["passed"] == 10_000

    measured = [tuple(map(int, line.split())) for line in (tmp_path / "measures").read_text().splitlines()]
    after_1000 = [(rss_kb, descriptors) for trials, rss_kb, descriptors in measured if trials >= 1000]
    rss_kb, descriptors = zip(*after_1000, strict=True)
    print(f"{len(measured)} measures; RSS {rss_kb[0]} -> {max(rss_kb)} kB, descriptors {descriptors}")
    assert len(after_1000) >= 10
    assert max(rss_kb) - rss_kb[0] < 20 * 1024
    # One command at a time, so the number is stable: only its stdin pipe may or may not be closed yet.
    assert max(descriptors[-5:]) <= max(descriptors[:5]) + (0 if isinstance(target, str) else 1)
