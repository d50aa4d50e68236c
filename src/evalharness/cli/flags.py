"""Flags that several commands share. Every flag has an EVALHARNESS_… variable.

Single flags come first. Groups of flags (the gate, judges, spending) are one decorator each, with a function that turns
them into the fields of a request.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import click
from click.core import ParameterSource

from evalharness.domain.bounds import LEAST_ALPHA
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
    """A flag that would change nothing; as a variable, it may be meant for other runs, so it is only a warning."""
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
    help="Where to run untrusted code: bubblewrap, the name of a plug-in, or none: on this machine, unprotected.",
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


class _Times(click.types.IntParamType):
    """How often a flag is given; as a variable, a number or yes or no."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        is_number = isinstance(value, int) or str(value).isdecimal()
        return int(value) if is_number else int(click.BOOL.convert(value, param, ctx))


def verbosity_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """-v, -vv and -q, given to the command as one number, `verbosity`."""

    @wraps(command)
    def with_verbosity(*words: Any, verbose: int, quiet: bool, **flags: Any) -> Any:
        return command(*words, verbosity=_verbosity(verbose, quiet=quiet), **flags)

    more = option(
        "-v",
        "--verbose",
        count=True,
        type=_Times(),
        help="Also methods, details and every trial that did not pass; -vv: every trial.",
    )
    less = option("-q", "--quiet", is_flag=True, help="Print the verdict alone.")
    wrapped: Callable[..., Any] = more(less(with_verbosity))
    return wrapped


def _verbosity(verbose: int, *, quiet: bool) -> int:
    """A flag of the command line wins over a variable."""
    source = click.get_current_context().get_parameter_source
    if quiet and verbose and source("quiet") is source("verbose"):
        raise click.UsageError("-q and -v cannot be used together; choose one")
    is_quiet = quiet and not (verbose and source("verbose") is ParameterSource.COMMANDLINE)
    return -1 if is_quiet else min(verbose, 2)


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


def env_for(readers: str) -> Callable[[Any], Any]:
    return option(
        "-e",
        "--env",
        multiple=True,
        metavar="KEY[=VALUE]",
        callback=_assignments,
        help=f"An environment variable for {readers}.",
    )


def concurrency_of(what: str) -> Callable[[Any], Any]:
    return option(
        "-j",
        "-c",
        "--max-concurrency",
        "--concurrency",
        "max_concurrency",
        type=click.IntRange(min=0),
        help=f"{what} at the same time; 0 = number of CPUs.  [default: 10]",
    )


env_option = env_for("every target")
concurrency_option = concurrency_of("Trials")


MOST_USD = 1_000_000
_FIELDS = {
    "metrics": "metrics",
    "alpha": "alpha",
    "power": "power",
    "margin": "margin",
    "regression_tolerance": "tolerance",
}
tolerance_option = option(
    "--regression-tolerance",
    type=NumberType(0, 1),
    metavar="SHARE",
    help="A loss up to this share (0.02 is 2 points) is accepted even where it is certain.",
)
_RULE = (
    option(
        "--metric",
        "metrics",
        multiple=True,
        type=click.Choice(["pass_rate", "score", "latency", "cost"]),
        help="What may not get worse. May be repeated.  [default: as the gate says, else pass_rate and score]",
    ),
    option(
        "--alpha",
        type=NumberType(LEAST_ALPHA, 0.5, max_open=True),
        metavar="P",
        help="How often an unchanged agent may be called worse.  [default: as the gate says, else 0.05]",
    ),
    option(
        "--margin",
        type=VisiblePoints(0, 100, min_open=True),
        metavar="POINTS",
        help="A loss of fewer points than this (5: from 90 % to 85 %) does not matter.  "
        "[default: as the gate says, else 5]",
    ),
    option(
        "--power",
        type=NumberType(0.5, 1, min_open=True, max_open=True),
        metavar="P",
        help="How likely a loss of the smallest detectable size is found.  [default: as the gate says, else 0.8]",
    ),
    tolerance_option,
)


def rule_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for flag in reversed(_RULE):
        command = flag(command)
    return command


def rule_overrides(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Only what was given, as the fields of a `RegressionRule`; the rest is as the gate of the new run says."""
    given = {field: flags[flag] for flag, field in _FIELDS.items() if flags[flag] not in (None, ())}
    return {field: value / 100 if field == "margin" else value for field, value in given.items()}


def _pass_rate(_context: click.Context, _option: click.Parameter, written: str | None) -> float | None:
    """0.9, 90 and 90% are the same."""
    if written is None:
        return None
    text = written.strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = -1.0
    share = number / 100 if text.endswith("%") or number > 1 else number
    if not 0 <= share <= 1:
        raise click.BadParameter(f"'{written}' is no pass rate; write 0.9, 90 or 90%")
    return share


_GATE = (
    option(
        "--gate",
        "gate_preset",
        type=click.Choice(["development", "staging", "production", "critical"]),
        help="What pass@1, pass@3 and pass^3 must reach; needs --repeat 3.",
    ),
    option("--fail-under", callback=_pass_rate, metavar="X", help="The least pass rate: 0.9, 90 or 90%."),
    option(
        "--baseline",
        metavar="B",
        help="Must not be worse than this baseline, run or JSON report; none: no such check.",
    ),
    tolerance_option,
    option(
        "--strict-flips/--no-strict-flips",
        default=None,
        help="Fail if a case that always passed in the baseline fails once; or never because of a single case.  "
        "[default: fail if a case that always passed does not pass now, in 1 trial or in 5]",
    ),
    option(
        "--inconclusive",
        type=click.Choice(["pass", "fail"]),
        help="What a gate counts as that the data do not decide: exit code 0 or 4.  [default: pass]",
    ),
)


def gate_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for add in reversed(_GATE):
        command = add(command)
    return command


def gate_overrides(flags: Mapping[str, Any]) -> Any:
    from evalharness.domain.gate import NO_BASELINE, GateOverrides

    strict_flips = flags["strict_flips"]
    if flags["baseline"] == NO_BASELINE and strict_flips:
        refuse("strict_flips", "--baseline none leaves --strict-flips nothing to compare with")
        strict_flips = None
    return GateOverrides(
        preset=flags["gate_preset"],
        fail_under=flags["fail_under"],
        baseline=flags["baseline"],
        tolerance=flags["regression_tolerance"],
        strict_flips=strict_flips,
        inconclusive=flags["inconclusive"],
    )


def _named(_context: click.Context, _option: click.Parameter, written: str | None) -> str:
    """A variable of a CI that is not set would otherwise let others judge than was meant."""
    if written is not None and not written.strip():
        raise click.BadParameter("it is empty: name provider/model, or none to leave grades pending")
    return written or ""


judge_model_option = option(
    "--judge-model",
    callback=_named,
    metavar="M",
    help="provider/model that judges, whatever the graders name; none: leave their grades pending.",
)
no_cache_option = option("--no-cache", is_flag=True, help="Ask judges again, also where their verdict is known.")


def _spending_of(spenders: str) -> Callable[[Any], Any]:
    cost = option(
        "--max-cost",
        type=NumberType(min=0, max=MOST_USD, min_open=True),
        metavar="USD",
        help=f"Stop once {spenders} have cost this much; what is finished is kept.",
    )
    tokens = option(
        "--max-tokens",
        type=click.IntRange(min=1),
        metavar="N",
        help=f"Stop once {spenders} have used this many tokens.",
    )
    return lambda command: cost(tokens(command))


spending_options = _spending_of("target and judges")


def model_options(command: Any) -> Any:
    return judge_model_option(no_cache_option(spending_options(command)))


def judge_options(command: Any) -> Any:
    """The same for a command that runs no target."""
    return judge_model_option(no_cache_option(_spending_of("judges")(command)))


def spending_wishes(flags: dict[str, Any]) -> dict[str, Any]:
    return {"max_cost_usd": flags["max_cost"], "max_tokens": flags["max_tokens"]}


def model_wishes(flags: dict[str, Any]) -> dict[str, Any]:
    """As a run's options name them."""
    return {"judge_model": flags["judge_model"], "use_cache": not flags["no_cache"], **spending_wishes(flags)}
