"""promptfoo: its `echo` provider and a `contains` assertion, with its command.

The command is a process, so its start is subtracted: the cost of many trials minus the cost of two.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.question import QUESTION, WANTED

QUIET = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1"}


def _cost(trials: int) -> tuple[float, float]:
    config = {
        "prompts": ["{{question}}"],
        "providers": ["echo"],
        "tests": [
            {"vars": {"question": f"{QUESTION} ({number})"}, "assert": [{"type": "contains", "value": WANTED}]}
            for number in range(trials)
        ],
    }
    with TemporaryDirectory() as folder:
        Path(folder, "promptfooconfig.json").write_text(json.dumps(config), encoding="utf-8")
        command = ["promptfoo", "eval", "-c", "promptfooconfig.json", "-j", "10"]
        command += ["--no-progress-bar", "--no-table", "--no-cache"]
        before, began = _children_cpu_s(), time.perf_counter()
        environment = {**os.environ, **QUIET, "PROMPTFOO_CONFIG_DIR": folder}
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
        return _children_cpu_s() - before, time.perf_counter() - began


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    trials = int(sys.argv[1])
    small_cpu_s, small_wall_s = _cost(2)
    cpu_s, wall_s = _cost(trials + 2)
    version = subprocess.run(["promptfoo", "--version"], check=True, capture_output=True, text=True).stdout.strip()
    found = {"version": version, "trials": trials, "cpu_s": cpu_s - small_cpu_s, "wall_s": wall_s - small_wall_s}
    print(json.dumps(found))
