"""Options that several commands share. Every flag has an EVALHARNESS_… variable."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from evalharness.errors import UsageError
from evalharness.settings import Settings, parse_assignments

MOST_TRIALS = 1_000_000
LEAST_POINTS = 0.5


class NumberType(click.FloatRange):
    """A number with a least and a largest value: `nan` is none, though it is neither too small nor too large."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not a number between {self.min:g} and {self.max:g}.", param, ctx)
        return number


class Points(NumberType):
    """Percentage points: `5` and `5%` are the same."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(value.removesuffix("%").rstrip() if isinstance(value, str) else value, param, ctx)


class VisiblePoints(Points):
    """Not less than half a point: that is a share, as suite files write it, where points are asked for."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        points = super().convert(value, param, ctx)
        if points < LEAST_POINTS:
            text = f"{value} is less than half a point, which hardly any run can show"
            self.fail(f"{text}; 5 points are written 5, not 0.05.", param, ctx)
        return points


class _Line(click.types.StringParamType):
    """In a variable, the values of a flag that may be repeated stand on lines of their own: they may hold spaces."""

    envvar_list_splitter = "\n"


def option(*names: str, **settings: Any) -> Callable[[Any], Any]:
    """`click.option` with its variable: --max-concurrency is EVALHARNESS_MAX_CONCURRENCY; --no-… has none."""
    if settings.get("multiple"):
        settings.setdefault("type", _Line())
    flags = [name.removeprefix("--").partition("/")[0] for name in names if name.startswith("--")]
    variables = ["EVALHARNESS_" + flag.replace("-", "_").upper() for flag in flags]
    return click.option(*names, envvar=variables, show_envvar=False, **settings)


def refuse(name: str, why: str) -> None:
    """A flag that would change nothing; as a variable, it may be meant for other runs, so that is only told."""
    source = click.get_current_context().get_parameter_source(name)
    if source is ParameterSource.COMMANDLINE:
        raise click.UsageError(why)
    if source is ParameterSource.ENVIRONMENT:
        print(f"note: EVALHARNESS_{name.upper()} changes nothing here: {why}", file=sys.stderr)


def split_at_commas(values: tuple[str, ...]) -> tuple[str, ...]:
    """`--only a,b` is `--only a --only b`."""
    return tuple(part for value in values for part in value.split(",") if part)


def numbers(_context: click.Context, _option: click.Parameter, written: str | None) -> tuple[int, ...]:
    """`--k 1,3,5`: whole numbers from 1 on."""
    words = [] if written is None else [word.strip() for word in written.split(",")]
    if not all(word.isdecimal() and 1 <= int(word) <= MOST_TRIALS for word in words):
        raise click.BadParameter(
            f"'{written}' must be whole numbers from 1 to {MOST_TRIALS:,}, with commas between them: 1,3,5"
        )
    return tuple(map(int, words))


format_option = option(
    "--format",
    "format_name",
    metavar="NAME",
    help="Read files as native, eval-harness, task-suite, workflow-dataset or recorded-sessions.  "
    "[default: by their content]",
)
sandbox_option = option(
    "--sandbox",
    metavar="NAME",
    default="bubblewrap",
    show_default=True,
    help="Where untrusted code is run: bubblewrap, the name of a plug-in, or none: on this machine, unprotected.",
)
scorer_option = option(
    "--scorer",
    multiple=True,
    metavar="S",
    help="latency, cost, tokens or similarity with NAME:key=value,…, or file.py:attr; instead of the suite's scorers.",
)


def _report_files(_context: click.Context, _option: click.Parameter, paths: tuple[str, ...]) -> Any:
    if not paths:
        return ()
    from evalharness.reports.report_files import check_outputs  # slow to load: only for those who want a file

    return check_outputs(paths)


def _json_files(_context: click.Context, _option: click.Parameter, paths: tuple[str, ...]) -> Any:
    if not paths:
        return ()
    from evalharness.reports.report_files import check_documents  # the same

    return check_documents(paths)


output_option = option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="FILE",
    callback=_report_files,
    help="Write the report to FILE too: .json, .xml (JUnit) for CI, or an ending of a plug-in. May be repeated.",
)
# Variables of their own: with that of `run` these commands would write over its report.
gate_output_option = click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="FILE",
    callback=_report_files,
    envvar=["EVALHARNESS_GATE_OUTPUT"],
    help="Write the report with this verdict to FILE: .json, .xml (JUnit) for CI, or an ending of a plug-in. "
    "May be repeated.",
)
json_output_option = click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="FILE",
    callback=_json_files,
    envvar=["EVALHARNESS_COMPARISON_OUTPUT"],
    help="Write what --json prints to FILE (.json) too. May be repeated.",
)
save_sessions_option = option(
    "--save-sessions",
    metavar="DIR",
    help="Write each run's sessions and results into DIR: <run>.db, <run>.json, <run>-sessions.json, <run>.log.",
)
store_option = option("--store", metavar="FILE", help="The store; default: .evalharness/store.db of the project.")
json_option = option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout and nothing else.")
debug_option = option("--debug", is_flag=True, expose_value=False, help="Show stack traces.")


def _assignments(_context: click.Context, option: click.Parameter, items: tuple[str, ...]) -> dict[str, str]:
    """A bare KEY of --env stands for its value in the environment."""
    known = Settings.read().environment if option.name == "env" else None
    try:
        return parse_assignments(items, known)
    except UsageError as error:
        raise click.BadParameter(f"{error.message}; {error.plain_hint}") from None


var_option = option(
    "--var",
    "variables",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_assignments,
    help="A value for {{KEY}} in suite files.",
)
env_option = option(
    "-e",
    "--env",
    multiple=True,
    metavar="KEY[=VALUE]",
    callback=_assignments,
    help="An environment variable for every target.",
)
concurrency_option = option(
    "-j",
    "-c",
    "--max-concurrency",
    "--concurrency",
    "max_concurrency",
    type=click.IntRange(min=0),
    help="Trials at the same time; 0 = number of CPUs.  [default: 10]",
)
