"""A command as click knows it, with flags under headings, `--no-color`, and `-1`, `-2`, … as runs.

What flags there are is in `flags.py` and in the commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import click
from click.shell_completion import CompletionItem

from evalharness.cli.references import RunReference, file_names

SELECTION, EXECUTION, GRADING, GATE, OUTPUT, GENERAL = "Selection", "Execution", "Grading", "Gate", "Output", "General"
HEADINGS = (SELECTION, EXECUTION, GRADING, GATE, OUTPUT, GENERAL)
MOST_WITHOUT_HEADINGS = 8
NO_COLOR = "evalharness.no_color"
_BACK = re.compile(r"-\d+")
_UNBREAKABLE = "\u2011"
"""A hyphen that no line ends with."""
_SHIELD = "\0"
"""No word of a command line can contain it."""


class HelpFormatter(click.HelpFormatter):
    """Breaks no line inside a word, so that a flag can be read and copied."""

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", _UNBREAKABLE))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        kept = [(first, second.replace("-", _UNBREAKABLE)) for first, second in rows]
        super().write_dl(kept, col_max, col_spacing)

    def getvalue(self) -> str:
        return super().getvalue().replace(_UNBREAKABLE, "-")


class Context(click.Context):
    formatter_class = HelpFormatter


class Option(click.Option):
    def __init__(self, *names: Any, heading: str = GENERAL, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.heading = heading

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Files and folders, where the help says FILE or DIR."""
        kind = {"FILE": "file", "DIR": "dir"}.get(self.metavar or "")
        return super().shell_complete(ctx, incomplete) or (file_names(incomplete, kind) if kind else [])


class Command(click.Command):
    context_class = Context

    def __init__(self, *names: Any, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.params.append(_no_color())

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        by_heading: dict[str, list[tuple[str, str]]] = {heading: [] for heading in HEADINGS}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                by_heading[param.heading if isinstance(param, Option) else GENERAL].append(record)
        rows = [row for heading in HEADINGS for row in by_heading[heading]]
        if len(rows) <= MOST_WITHOUT_HEADINGS:
            by_heading = {"Options": rows}
        for heading, listed in by_heading.items():
            if listed:
                with formatter.section(heading):
                    formatter.write_dl(listed)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return self._parsed(ctx, args)
        except click.BadOptionUsage as error:
            error.ctx = error.ctx or ctx  # click does not say whose option it was
            raise

    def _parsed(self, ctx: click.Context, args: list[str]) -> list[str]:
        """click takes `-1` for a flag unless an option that needs a value comes before it."""
        if not any(isinstance(param.type, RunReference) for param in self.params):
            return super().parse_args(ctx, args)
        try:
            rest = super().parse_args(ctx, self._shielded(args))
        except click.UsageError as error:
            if _SHIELD in error.message:
                raise click.UsageError(error.message.replace(_SHIELD, ""), ctx) from None
            raise
        ctx.params = {name: _bare(value) for name, value in ctx.params.items()}
        return rest

    def _shielded(self, args: list[str]) -> list[str]:
        options = {name: param for param in self.params if isinstance(param, Option) for name in param.opts}
        shielded: list[str] = []
        for before, word in zip(["", *args], args, strict=False):
            option = options.get(before)
            takes_value = option is not None and not option.is_flag and not _may_stand_alone(option)
            is_run = _BACK.fullmatch(word) is not None and not takes_value
            shielded.append(_SHIELD + word if is_run else word)
        return shielded


def _may_stand_alone(option: click.Option) -> bool:
    """Whether its value may be left out: `--failed`, `--failed RUN`."""
    return isinstance(option.type, RunReference) and option.type.is_optional


def _bare(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_bare, value))
    return value.removeprefix(_SHIELD) if isinstance(value, str) else value


class Group(Command, click.Group):
    """A command with commands of its own."""

    command_class = Command

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


def _no_color() -> click.Option:
    def remember(ctx: click.Context, _option: click.Parameter, is_asked: bool) -> None:
        if is_asked:
            ctx.meta[NO_COLOR] = True

    return Option(
        ["--no-color"],
        is_flag=True,
        envvar="EVALHARNESS_NO_COLOR",
        expose_value=False,
        is_eager=True,
        callback=remember,
        heading=OUTPUT,
        help="No colours and no progress bar; the same as NO_COLOR=1.",
    )


def is_plain() -> bool:
    """Whether `--no-color` was given."""
    context = click.get_current_context(silent=True)
    return context is not None and NO_COLOR in context.meta
