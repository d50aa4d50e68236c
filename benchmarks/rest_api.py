"""How fast the server answers about large stores, also to many readers while a run writes, and how its memory grows."""

from __future__ import annotations

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.options import BenchmarkOptions
from benchmarks.table import Row
from evalharness import Case, Harness, Suite

SHAPES = ((10_000, 10), (100_000, 1))
LISTED_RUNS, READERS, REQUESTS = 1_000, 64, 10_000
LONGEST_MS, MOST_GROWTH_MB = 200.0, 20.0
REPEATS = 15
ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)")


async def answer(question: str) -> str:
    return "wrong" if int(question) % 9 == 0 else "right"


def suite_of(cases: int, trials: int) -> Suite:
    made = (
        Case(id=f"case-{n:06d}", input=str(n), expected="right", category=f"kind {n % 12}", tags=(f"tag {n % 7}",))
        for n in range(cases)
    )
    return Suite(name=f"{cases} x {trials}", trials=trials, cases=tuple(made))


@dataclass(frozen=True)
class Asked:
    port: int
    token: str
    process: subprocess.Popen[str]

    def seconds(self, path: str) -> float:
        """Of one request, on a connection of its own."""
        began = time.perf_counter()
        self.body(path)
        return time.perf_counter() - began

    def row(self, what: str, path: str, repeats: int = REPEATS) -> Row:
        """Judged by what the server computes for an answer: waiting for a CPU that others use is not its fault."""
        before = self._cpu_s()
        taken = [self.seconds(path) for _ in range(repeats)]
        cpu_ms = 1000 * (self._cpu_s() - before) / repeats
        figure = f"{cpu_ms:.0f} ms CPU, {1000 * statistics.median(taken):.0f} ms wall"
        return Row(what, figure, budget=f"≤ {LONGEST_MS:g} ms", kept=cpu_ms <= LONGEST_MS)

    def _cpu_s(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def get(self, path: str) -> Any:
        return json.loads(self.body(path))

    def body(self, path: str) -> bytes:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", path, headers={"authorization": f"Bearer {self.token}"})
        response = connection.getresponse()
        body = response.read()
        connection.close()
        if response.status != 200:
            raise SystemExit(f"{path} is answered with {response.status}: {body[:300]!r}")
        return body

    def megabytes(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


@contextmanager
def served(folder: Path) -> Iterator[Asked]:
    words = [sys.executable, "-m", "evalharness", "serve", "--port", "0", "--store", str(folder / "store.db")]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None, "it was requested"
            found = ADDRESS.search(process.stdout.readline())
            assert found is not None, "the first line has the address"
            asked = Asked(int(found[1]), found[2], process)
            asked.get("/api/health")  # the address is printed before everything is loaded
            yield asked
        finally:
            process.send_signal(signal.SIGINT)


def measure(options: BenchmarkOptions) -> Iterator[Row]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        large = []
        with Harness.open(folder / "store.db") as harness:
            for cases, trials in SHAPES:
                run = harness.run(suite_of(options.scaled(cases), trials), answer, progress=False)
                large.append((f"run of {options.scaled(cases):,} cases × {trials}", run.id))
                del run
            for number in range(options.scaled(LISTED_RUNS)):
                small = suite_of(3, 1).model_copy(update={"name": f"small {number % 20}"})
                harness.run(small, answer, progress=False)
        for what, run_id in large:
            yield from _of_run(folder, what, run_id)
        yield from _of_list(folder, options)
        yield from _while_writing(folder, options)
        yield from _memory(folder, options, large[0][1])


def _of_run(folder: Path, what: str, run_id: str) -> Iterator[Row]:
    path = f"/api/eval/runs/{run_id}"
    with served(folder) as server:
        yield server.row(f"{what}, first answer after the start", path, repeats=1)
        for label, query in (
            ("run with its first results", path),
            ("failed cases by score", f"{path}/cases?state=failed&sort=score"),
            ("search", f"{path}/cases?q=777"),
            ("last page", f"{path}/cases?cursor=9900"),
            ("one case", f"{path}/case?case=case-000777"),
            ("a page of trials", f"{path}/trials"),
            ("one trial", f"{path}/trials/0?case=case-000777"),
            ("page of the run", f"/runs/{run_id}"),
            ("page of a case", f"/runs/{run_id}/cases/case-000777"),
        ):
            yield server.row(f"{what}, {label}", query)


def _of_list(folder: Path, options: BenchmarkOptions) -> Iterator[Row]:
    runs = options.scaled(LISTED_RUNS)
    with served(folder) as server:
        yield server.row(f"list of {runs:,} runs, a page of 100", "/api/eval/runs")
        yield server.row(f"list of {runs:,} runs, as a page", "/runs")
        yield server.row(f"home page with {runs:,} runs", "/")


def _while_writing(folder: Path, options: BenchmarkOptions) -> Iterator[Row]:
    """Readers of a finished large run and of the list, while another process writes a run as fast as it can."""
    program = (
        "import sys\nfrom benchmarks.rest_api import answer, suite_of\nfrom evalharness import Harness\n"
        "with Harness.open(sys.argv[1]) as harness:\n"
        "    harness.run(suite_of(int(sys.argv[2]), 1), answer, progress=False)\n"
    )
    cases = str(options.scaled(20_000))
    taken: list[float] = []
    with served(folder) as server:
        newest = server.get("/api/eval/runs?limit=1")[0]["id"]
        words = [sys.executable, "-c", program, str(folder / "store.db"), cases]
        with subprocess.Popen(words, cwd=Path(__file__).parents[1]) as writer:

            def read() -> None:
                while writer.poll() is None:
                    taken.append(server.seconds(f"/api/eval/runs/{newest}/cases"))

            threads = [threading.Thread(target=read) for _ in range(READERS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            failed = writer.wait() != 0
    figure = f"{len(taken):,} answers, median {1000 * statistics.median(taken):.0f} ms, slowest {max(taken):.2f} s"
    yield Row(f"{READERS} readers while a run writes, none refused", figure, budget="all answered", kept=not failed)


def _memory(folder: Path, options: BenchmarkOptions, run_id: str) -> Iterator[Row]:
    requests = options.scaled(REQUESTS)
    with served(folder) as server:
        paths = [f"/api/eval/runs/{run_id}", f"/api/eval/runs/{run_id}/trials", "/api/eval/runs?limit=20"]
        for number in range(300):  # what is loaded once
            server.get(paths[number % len(paths)])
        before = server.megabytes()
        for number in range(requests):
            server.get(paths[number % len(paths)])
        growth = server.megabytes() - before
    figure = f"{growth:+.1f} MB on {before:.0f} MB"
    yield Row(
        f"memory over {requests:,} requests", figure, budget=f"≤ {MOST_GROWTH_MB:g} MB", kept=growth <= MOST_GROWTH_MB
    )
