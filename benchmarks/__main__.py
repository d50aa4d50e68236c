"""`python -m benchmarks`: measure, print one Markdown table, keep the table of a whole run in `last.md`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import function_output, http_model, loading, overhead, peer_costs, startup
from benchmarks.options import BenchmarkOptions
from benchmarks.table import Row, as_markdown, machine

LAST = Path(__file__).with_name("last.md")
BENCHMARKS: dict[str, Callable[[BenchmarkOptions], Iterator[Row]]] = {
    "overhead": overhead.measure,
    "http": http_model.measure,
    "startup": startup.measure,
    "loading": loading.measure,
    "code": function_output.measure,
    "peers": peer_costs.measure,
}


def main() -> None:
    options = _options()
    rows: list[Row] = []
    for name in options.only or BENCHMARKS:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        rows += BENCHMARKS[name](options)
    table = as_markdown(rows)
    print(table)
    if options.is_whole:
        LAST.write_text(f"# Last measured\n\n{machine()}\n\n{table}", encoding="utf-8")


def _options() -> BenchmarkOptions:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the trials; last.md is left as it is")
    parser.add_argument("--only", action="append", choices=[*BENCHMARKS], help="one benchmark; may be repeated")
    parser.add_argument(
        "--peer-python", default=sys.executable, metavar="PATH", help="the Python that has the peers installed"
    )
    given = parser.parse_args()
    return BenchmarkOptions(quick=given.quick, only=tuple(given.only or ()), peer_python=given.peer_python)


if __name__ == "__main__":
    main()
