"""Flags that several commands share. Every flag has an EVALHARNESS_… variable.

Single flags come first. Groups of flags (selection, the gate, judges, spending) are one decorator each, with a function
that turns them into the fields of a request.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import click
from click.core import ParameterSource

from evalharness.cli.command import EXECUTION, GATE, GRADING, OUTPUT, SELECTION, Option
from evalharness.cli.numbers import Integer, Number, PassRate, Points
from evalharness.cli.references import RUN
from evalharness.domain.bounds import LEAST_ALPHA
from evalharness.errors import UsageError
from evalharness.settings import Settings, parse_assignments


class _Line(click.types.StringParamType):
    """In a variable, the values of a flag that may be repeated are on lines of their own: they may contain spaces."""

    envvar_list_splitter = "\n"


def option(*names: str, **settings: Any) -> Callable[[Any], Any]:
    """`click.option` with its variable: --max-concurrency is EVALHARNESS_MAX_CONCURRENCY; --no-… has none.

    `heading` is where `--help` lists it. `envvar` is for a flag that means something else in another command.
    """
    if settings.get("multiple"):
        settings.setdefault("type", _Line())
    flags = [name.removeprefix("--").partition("/")[0] for name in names if name.startswith("--")]
    settings.setdefault("envvar", ["EVALHARNESS_" + flag.replace("-", "_").upper() for flag in flags])
    return click.option(*names, cls=Option, show_envvar=False, **settings)


def group(*flags: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several flags as one decorator, in the order in which `--help` lists them."""

    def with_flags(command: Any) -> Any:
        for flag in reversed(flags):
            command = flag(command)
        return command

    return with_flags


def refuse(name: str, why: str) -> None:
    """A flag that would change nothing; as a variable, it may be meant for other runs, so it is only a warning."""
    source = click.get_current_context().get_parameter_source(name)
    if source is ParameterSource.COMMANDLINE:
        raise click.UsageError(why)
    if source is ParameterSource.ENVIRONMENT:
        print(f"note: EVALHARNESS_{name.upper()} has no effect here: {why}", file=sys.stderr)


def split_at_commas(values: tuple[str, ...]) -> tuple[str, ...]:
    """`--only a,b` is `--only a --only b`."""
    return tuple(part for value in values for part in value.split(",") if part)


format_option = option(
    "--format",
    "format_name",
    metavar="NAME",
    heading=SELECTION,
    help="File format: native, eval-harness, task-suite, workflow-dataset or recorded-sessions.  "
    "[default: detected from the content]",
)
sandbox_option = option(
    "--sandbox",
    metavar="NAME",
    default="bubblewrap",
    show_default=True,
    heading=EXECUTION,
    help="Where to run untrusted code: bubblewrap, container, none (on this machine, unprotected) or the name of a "
    "plug-in.",
)
scorer_option = option(
    "--scorer",
    multiple=True,
    metavar="S",
    heading=GRADING,
    help="Score with latency, cost, tokens or similarity (NAME:key=value,…) or file.py:attr, instead of the suite's "
    "scorers. Repeatable.",
)


def _report_files(_context: click.Context, _option: click.Parameter, paths: tuple[str, ...]) -> Any:
    if not paths:
        return ()
    from evalharness.reports.report_files import check_outputs  # slow to load: only for those who want a file

    return check_outputs(paths)


def _comparison_files(_context: click.Context, _option: click.Parameter, paths: tuple[str, ...]) -> Any:
    if not paths:
        return ()
    from evalharness.reports.report_files import check_comparison_outputs  # the same

    return check_comparison_outputs(paths)


def _json_files(_context: click.Context, _option: click.Parameter, paths: tuple[str, ...]) -> Any:
    if not paths:
        return ()
    from evalharness.reports.report_files import check_documents  # the same

    return check_documents(paths)


def as_written(_context: click.Context, _option: click.Parameter, paths: tuple[str, ...]) -> tuple[str, ...]:
    """For a command that checks its files itself, once it knows their format."""
    return paths


def output_to(variable: str, callback: Any, help_text: str) -> Callable[[Any], Any]:
    return click.option(
        "-o",
        "--output",
        "outputs",
        cls=Option,
        multiple=True,
        type=_Line(),
        metavar="FILE",
        callback=callback,
        envvar=[variable],
        heading=OUTPUT,
        help=f"{help_text} Repeatable.",
    )


_ENDINGS = ".html, .md, .json, .xml (JUnit), .csv, .jsonl or an extension that a plug-in adds."
_COMPARISON_ENDINGS = ".html, .md, .json or an extension that a plug-in adds."
output_option = output_to("EVALHARNESS_OUTPUT", _report_files, f"Also write the report to FILE: {_ENDINGS}")
# Variables of their own: with that of `run` these commands would write over its report.
gate_output_option = output_to(
    "EVALHARNESS_GATE_OUTPUT", _report_files, f"Write the report with this verdict to FILE: {_ENDINGS}"
)
json_output_option = output_to(
    "EVALHARNESS_COMPARISON_OUTPUT", _json_files, "Also write what --json prints to FILE (.json)."
)
comparison_output_option = output_to(
    "EVALHARNESS_COMPARISON_OUTPUT", _comparison_files, f"Also write the comparison to FILE: {_COMPARISON_ENDINGS}"
)
save_sessions_option = option(
    "--save-sessions",
    metavar="DIR",
    heading=OUTPUT,
    help="Write the sessions and results of each run to DIR: <run>.db, <run>.json, <run>-sessions.json, <run>.log.",
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
        heading=OUTPUT,
        help="Also show methods, details and every trial that did not pass; -vv: every trial.",
    )
    less = option("-q", "--quiet", is_flag=True, heading=OUTPUT, help="Print only the verdict.")
    wrapped: Callable[..., Any] = more(less(with_verbosity))
    return wrapped


def _verbosity(verbose: int, *, quiet: bool) -> int:
    """A flag of the command line wins over a variable."""
    source = click.get_current_context().get_parameter_source
    if quiet and verbose and source("quiet") is source("verbose"):
        raise click.UsageError("-q and -v cannot be used together; choose one")
    is_quiet = quiet and not (verbose and source("verbose") is ParameterSource.COMMANDLINE)
    return -1 if is_quiet else min(verbose, 2)


store_option = option(
    "--store", metavar="FILE", help="Where runs are stored.  [default: .evalharness/store.db in the project]"
)
json_option = option(
    "--json", "as_json", is_flag=True, heading=OUTPUT, help="Print one JSON document and nothing else."
)
details_option = option(
    "--no-details", is_flag=True, heading=OUTPUT, help="Leave out outputs, transcripts, evidence and reasons."
)


def format_choice(variable: str, help_text: str, **settings: Any) -> Callable[[Any], Any]:
    """The format of what is written. It has a variable of its own: other commands have a --format for suite files."""
    return click.option(
        "--format", "format_name", cls=Option, envvar=[variable], heading=OUTPUT, help=help_text, **settings
    )


debug_option = option("--debug", is_flag=True, expose_value=False, help="Show stack traces.")
force_option = option("--force", is_flag=True, heading=OUTPUT, help="Replace the output file if it exists.")


def assignments(_context: click.Context, option: click.Parameter, items: tuple[str, ...]) -> dict[str, str]:
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
    callback=assignments,
    heading=EXECUTION,
    help="Set {{KEY}} in suite files. Repeatable.",
)


def env_for(readers: str) -> Callable[[Any], Any]:
    return option(
        "-e",
        "--env",
        multiple=True,
        metavar="KEY[=VALUE]",
        callback=assignments,
        heading=EXECUTION,
        help=f"Set an environment variable for {readers}. Repeatable.",
    )


def concurrency_of(what: str = "Run up to N trials", default: int = 10) -> Callable[[Any], Any]:
    """`default` changes only the help text; the command applies it."""
    return option(
        "-j",
        "-c",
        "--max-concurrency",
        "--concurrency",
        "max_concurrency",
        type=Integer(0),
        metavar="N",
        heading=EXECUTION,
        help=f"{what} at the same time; 0 means one per CPU.  [default: {default}]",
    )


env_option = env_for("every target")
concurrency_option = concurrency_of()

selection_options = group(
    option(
        "--only",
        multiple=True,
        metavar="P",
        heading=SELECTION,
        help="Only cases whose id, name or file matches this glob or contains this text. Repeatable.",
    ),
    option(
        "--tag", "tags", multiple=True, metavar="T", heading=SELECTION, help="Only cases with this tag. Repeatable."
    ),
    option(
        "--category",
        "categories",
        multiple=True,
        metavar="C",
        heading=SELECTION,
        help="Only cases of this eval_type or category. Repeatable.",
    ),
    option(
        "--difficulty",
        "difficulties",
        multiple=True,
        metavar="D",
        heading=SELECTION,
        help="Only cases of this difficulty: easy, medium or hard. Repeatable.",
    ),
    option("--limit", type=Integer(1), metavar="N", heading=SELECTION, help="Use at most N cases of each suite."),
)


def selection_of(flags: Mapping[str, Any]) -> Any:
    from evalharness.domain.suite import Selection

    return Selection(
        only=split_at_commas(flags["only"]),
        tags=flags["tags"],
        categories=flags["categories"],
        difficulties=flags["difficulties"],
        limit=flags["limit"],
    )


grader_type_option = option(
    "--grader-type",
    type=click.Choice(["code", "model", "human"]),
    heading=GRADING,
    help="Use only graders of this type.",
)

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
    type=Points(may_be_zero=True),
    metavar="POINTS",
    heading=GATE,
    help="Accept a loss of up to this many points, even if it is significant: 2, 2% or 0.02.",
)
rule_options = group(
    option(
        "--metric",
        "metrics",
        multiple=True,
        type=click.Choice(["pass_rate", "score", "latency", "cost"]),
        heading=GATE,
        help="What must not get worse. Repeatable.  [default: from the gate, else pass_rate and score]",
    ),
    option(
        "--alpha",
        type=Number(LEAST_ALPHA, 0.5, most_open=True),
        metavar="P",
        heading=GATE,
        help="Accepted false-alarm rate.  [default: from the gate, else 0.05]",
    ),
    option(
        "--margin",
        type=Points(),
        metavar="POINTS",
        heading=GATE,
        help="Smallest loss that matters: 5, 5% or 0.05.  [default: from the gate, else 5]",
    ),
    option(
        "--power",
        type=Number(0.5, 1, least_open=True, most_open=True),
        metavar="P",
        heading=GATE,
        help="Statistical power behind the smallest detectable loss.  [default: from the gate, else 0.8]",
    ),
    tolerance_option,
)


def rule_overrides(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Only what was given, as the fields of a `RegressionRule`; the rest is as the gate of the new run says."""
    return {field: flags[flag] for flag, field in _FIELDS.items() if flags[flag] not in (None, ())}


inconclusive_option = option(
    "--inconclusive",
    type=click.Choice(["pass", "fail"]),
    heading=GATE,
    help="Exit code if the result is inconclusive: 0 (pass) or 4 (fail).  [default: from the gate, else pass]",
)
gate_options = group(
    option(
        "--gate",
        "gate_preset",
        type=click.Choice(["development", "staging", "production", "critical"]),
        heading=GATE,
        help="Require the pass@1, pass@3 and pass^3 of this preset; needs --repeat 3.",
    ),
    option(
        "--fail-under",
        type=PassRate(),
        metavar="X",
        heading=GATE,
        help="Fail if the pass rate is lower: 0.9, 90 or 90%.",
    ),
    option(
        "--baseline",
        metavar="B",
        type=RUN,
        heading=GATE,
        help="Fail if the run is worse than this baseline, run or JSON report; none: do not compare.",
    ),
    tolerance_option,
    option(
        "--strict-flips/--no-strict-flips",
        default=None,
        heading=GATE,
        help="Fail if a case that passed every trial of the baseline fails once; --no-…: never fail because of a "
        "single case.  [default: fail if such a case now fails every trial, given 1 trial or at least 5]",
    ),
    inconclusive_option,
)


def gate_overrides(flags: Mapping[str, Any]) -> Any:
    from evalharness.domain.gate import NO_BASELINE, GateOverrides

    strict_flips = flags["strict_flips"]
    if flags["baseline"] == NO_BASELINE and strict_flips:
        refuse("strict_flips", "--strict-flips needs a baseline to compare with, and --baseline none leaves none")
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
    """A variable of a CI that is not set would otherwise make other judges grade than was meant."""
    if written is not None and not written.strip():
        raise click.BadParameter("is empty; write provider/model, or none to leave grades pending")
    return written or ""


judge_model_option = option(
    "--judge-model",
    callback=_named,
    metavar="M",
    heading=GRADING,
    help="Use provider/model as the judge, whatever the graders name; none: leave their grades pending.",
)
no_cache_option = option("--no-cache", is_flag=True, heading=GRADING, help="Ask judges again; do not use the cache.")


def _spending_of(spenders: str) -> Callable[[Any], Any]:
    cost = option(
        "--max-cost",
        type=Number(0, MOST_USD, least_open=True),
        metavar="USD",
        heading=EXECUTION,
        help=f"Stop when {spenders} have cost this much; finished trials are kept.",
    )
    tokens = option(
        "--max-tokens",
        type=Integer(1),
        metavar="N",
        heading=EXECUTION,
        help=f"Stop when {spenders} have used this many tokens.",
    )
    return group(cost, tokens)


spending_options = _spending_of("the target and the judges")
model_options = group(judge_model_option, no_cache_option, spending_options)
judge_options = group(judge_model_option, no_cache_option, _spending_of("the judges"))
"""The same for a command that runs no target."""


def spending_wishes(flags: dict[str, Any]) -> dict[str, Any]:
    return {"max_cost_usd": flags["max_cost"], "max_tokens": flags["max_tokens"]}


def model_wishes(flags: dict[str, Any]) -> dict[str, Any]:
    """As a run's options name them."""
    return {"judge_model": flags["judge_model"], "use_cache": not flags["no_cache"], **spending_wishes(flags)}
