"""The installed peers with the same instant target and grader, compared with our cost for as many trials."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.instant import answer_async, run_persisted, suite_of
from benchmarks.options import BenchmarkOptions
from benchmarks.table import Row
from benchmarks.timing import Cost, cost_of, typical

ROOT = Path(__file__).resolve().parent.parent
LIMIT_S = 600
NO_TELEMETRY = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "DEEPEVAL_NO_INSPECT_PROMPT": "1",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}


@dataclass(frozen=True, slots=True)
class Peer:
    """The peer is measured only if `module` can be imported, or `command` is on the PATH."""

    name: str
    program: str
    install: str
    trials: int
    module: str = ""
    command: str = ""


PEERS = (
    Peer("pydantic-evals", "pydantic_evals_peer", "pip install pydantic-evals", 2_000, module="pydantic_evals"),
    Peer("Inspect", "inspect_peer", "pip install inspect-ai", 300, module="inspect_ai"),
    Peer("lm-eval", "lm_eval_peer", "pip install lm-eval", 1_000, module="lm_eval"),
    Peer("DeepEval", "deepeval_peer", "pip install deepeval", 500, module="deepeval"),
    Peer("promptfoo", "promptfoo_peer", "npm install -g promptfoo", 500, command="promptfoo"),
)


def measure(options: BenchmarkOptions) -> Iterator[Row]:
    for peer in PEERS:
        if not _is_installed(peer, options.peer_python):
            yield Row(peer.name, f"not installed: `{peer.install}`")
            continue
        found = _found(peer, options)
        if isinstance(found, str):
            yield Row(peer.name, f"could not be measured: {found}")
            continue
        trials = int(found["trials"])
        theirs = Cost(float(found["wall_s"]), float(found["cpu_s"]))
        suite = suite_of(answer_async, trials, 1)
        ours = typical(cost_of(lambda s=suite: run_persisted(s, 10)) for _ in range(options.rounds))  # type: ignore[misc]
        yield Row(
            f"{peer.name} {found['version']}, {trials:,} cases of one trial",
            theirs.per_trial(trials),
            f"{theirs.cpu_s / ours.cpu_s:.1f} × ours ({ours.cpu_s / trials * 1e6:.0f} µs)",
        )


def _is_installed(peer: Peer, python: str) -> bool:
    return shutil.which(peer.command) is not None if peer.command else is_installed(peer.module, python)


def is_installed(module: str, python: str) -> bool:
    looked = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", looked], check=False, capture_output=True).returncode == 0


def _found(peer: Peer, options: BenchmarkOptions) -> dict[str, str | float] | str:
    """What the peer's program measured, or why it could not: a changed peer must not stop the others."""
    command = [options.peer_python, "-m", f"benchmarks.peers.{peer.program}", str(options.scaled(peer.trials))]
    environment = {**os.environ, **NO_TELEMETRY, "PYTHONPATH": str(ROOT)}
    with TemporaryDirectory() as folder:
        try:
            ended = subprocess.run(
                command, cwd=folder, env=environment, check=False, capture_output=True, text=True, timeout=LIMIT_S
            )
        except subprocess.TimeoutExpired:
            return f"no end after {LIMIT_S} s"
    if ended.returncode != 0:
        return (ended.stderr.strip().splitlines() or [f"exit code {ended.returncode}"])[-1]
    return dict(json.loads(ended.stdout.strip().splitlines()[-1]))
