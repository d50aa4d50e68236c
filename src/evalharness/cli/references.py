"""Words that name runs and suites, and how a shell completes them. What they refer to is found by actions."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

MOST_RUNS = 20


class RunReference(click.types.StringParamType):
    """A run: its id or name, latest, latest:SUITE, -1, -2, …, a baseline; where one is read, a report file too."""

    name = "run"

    def __init__(self, *, is_optional: bool = False) -> None:
        self.is_optional = is_optional
        """Whether an option may be given without it."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Newest first, then baselines; what is none of them may become the name of a report file."""
        del param
        from evalharness.actions.set_baseline import list_baselines  # here and below: `--help` need not pay for it
        from evalharness.errors import HarnessError
        from evalharness.harness import Harness

        known: list[tuple[str, str]] = []
        try:
            with Harness.open(ctx.params.get("store"), to_read=True) as harness:
                known += [(line.name, line.suite_name) for line in harness.runs(MOST_RUNS)]
                known += [(each.name, f"baseline of {each.suite_name}") for each in harness.call(list_baselines)]
        except HarnessError:  # a store that cannot be read has no runs
            known = []
        known = [("latest", "the newest run"), *known] if known else []
        found = [CompletionItem(name, help=about) for name, about in known if name.startswith(incomplete)]
        return found or file_names(incomplete)


class SuiteReference(click.types.StringParamType):
    """A suite: a file, a folder, or the name of a registered suite."""

    name = "suite"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        del param
        from evalharness.errors import HarnessError
        from evalharness.harness import Harness

        try:
            with Harness.open(ctx.params.get("store"), to_read=True) as harness:
                names = [line.name for line in harness.context.store.registered_suites()]
        except HarnessError:
            names = []
        if matching := [CompletionItem(name) for name in names if incomplete and name.startswith(incomplete)]:
            return matching
        return file_names(incomplete)


class FileName(click.types.StringParamType):
    """A file, or a folder: nothing is checked here."""

    name = "file"

    def __init__(self, kind: str = "file") -> None:
        self._kind = kind

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        del ctx, param
        return file_names(incomplete, self._kind)


def file_names(incomplete: str, kind: str = "file") -> list[CompletionItem]:
    """The shell completes these itself. It must be all that is offered: some shells offer nothing else then."""
    return [CompletionItem(incomplete, type=kind)]


RUN = RunReference()
SUITE = SuiteReference()
FILE = FileName()
FOLDER = FileName("dir")
