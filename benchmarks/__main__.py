"""`python -m benchmarks`: measures, prints Markdown tables, and keeps the tables of a whole group in `last.md`."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from benchmarks import (
    attacking,
    between_runs,
    clustered_coverage,
    comparing,
    containers,
    coverage,
    detectable_drops,
    difference_coverage,
    early_stopping,
    false_alarms,
    findings,
    flip_alarms,
    flip_rule,
    function_output,
    html_report,
    http_model,
    judging,
    loading,
    noise_in_history,
    overhead,
    peer_costs,
    plugin_bias,
    recording,
    rest_api,
    sections,
    shape,
    startup,
    table,
)
from benchmarks.options import BenchmarkOptions

Found = TypeVar("Found")
LAST = Path(__file__).with_name("last.md")
COSTS: dict[str, Callable[[BenchmarkOptions], Iterator[table.Row]]] = {
    "overhead": overhead.measure,
    "http": http_model.measure,
    "startup": startup.measure,
    "loading": loading.measure,
    "code": function_output.measure,
    "containers": containers.measure,
    "peers": peer_costs.measure,
}
SHAPE = {"shape": shape.measure, "chat-calls": shape.measure_calls, "cached-regrade": shape.measure_regrade}
RECORDING = {"recording": recording.measure}
COMPARING = {"comparing": comparing.measure}
REPORTS = {"html-report": html_report.measure}
SERVING = {"rest-api": rest_api.measure}
JUDGING = {"judging": judging.measure, "attacks": attacking.measure}
STATISTICS: dict[str, Callable[[BenchmarkOptions], Iterator[findings.Finding]]] = {
    "coverage": coverage.measure,
    "clustered-coverage": clustered_coverage.measure,
    "difference-coverage": difference_coverage.measure,
    "false-alarms": false_alarms.measure,
    "detectable-drops": detectable_drops.measure,
    "flip-rule": flip_rule.measure,
    "flip-alarms": flip_alarms.measure,
    "between-runs": between_runs.measure,
    "noise-in-history": noise_in_history.measure,
    "early-stopping": early_stopping.measure,
    "plugin-bias": plugin_bias.measure,
}


def main() -> None:
    options = _options()
    chosen = options.only or (*COSTS, *SHAPE, *RECORDING, *COMPARING, *REPORTS, *SERVING, *JUDGING, *STATISTICS)
    for section, group in (
        ("Costs", COSTS),
        ("Shape", SHAPE),
        ("Recording", RECORDING),
        ("Comparing", COMPARING),
        ("Reports", REPORTS),
        ("Serving", SERVING),
        ("Judging", JUDGING),
    ):
        names = [name for name in chosen if name in group]
        if names:
            _show(section, "\n".join(_tables(group, names, options)), options.is_whole(group))
    tables = [
        f"### {name}\n\n{findings.as_markdown(_measured(STATISTICS[name], name, options))}"
        for name in chosen
        if name in STATISTICS
    ]
    if tables:
        _show("Statistics", "\n".join(tables), options.is_whole(STATISTICS))


def _tables(
    group: Mapping[str, Callable[[BenchmarkOptions], Iterator[table.Row]]], names: list[str], options: BenchmarkOptions
) -> Iterator[str]:
    """One for each repetition."""
    for number in range(1, options.repetitions + 1):
        rows = [row for name in names for row in _measured(group[name], name, options)]
        title = f"### {number} of {options.repetitions}\n\n" if options.repetitions > 1 else ""
        yield f"{title}{table.as_markdown(rows)}"


def _measured(
    measure: Callable[[BenchmarkOptions], Iterator[Found]], name: str, options: BenchmarkOptions
) -> list[Found]:
    print(f"measuring {name} …", file=sys.stderr, flush=True)
    return list(measure(options))


def _show(section: str, body: str, is_whole: bool) -> None:
    print(body)
    if is_whole:
        sections.keep(LAST, section, body)


def _options() -> BenchmarkOptions:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the trials; last.md is left as it is")
    parser.add_argument(
        "--only",
        action="append",
        choices=[*COSTS, *SHAPE, *RECORDING, *COMPARING, *REPORTS, *SERVING, *JUDGING, *STATISTICS],
        help="one benchmark; may be repeated",
    )
    parser.add_argument(
        "--peer-python", default=sys.executable, metavar="PATH", help="the Python that has the peers installed"
    )
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="measure N times, with a table for each; not the statistics"
    )
    given = parser.parse_args()
    if given.repeat < 1:
        parser.error("--repeat must be at least 1")
    python = Path(shutil.which(given.peer_python) or given.peer_python).absolute()  # peers run in folders of their own
    return BenchmarkOptions(
        quick=given.quick, only=tuple(given.only or ()), peer_python=str(python), repetitions=given.repeat
    )


if __name__ == "__main__":
    main()
