"""The command `eval-harness`: a table of commands, each imported when it is used, and the way out.

`--help` reads this table and imports no command. Every error ends here, as words and an exit code.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from evalharness.cli.process import (
    PROGRAM,
    close_stdout,
    collect_late,
    disarm_workflow_commands,
    end_output,
    export_dotenv,
    leave_garbage,
    let_readers_leave,
    open_missing_streams,
    speak_utf8,
)
from evalharness.errors import HarnessError, Hint, closest
from evalharness.reports.json_text import json_text
from evalharness.settings import Settings
from evalharness.version import VERSION


class LazyCommand(NamedTuple):
    module: str
    help: str
    only_prints: bool = False
    """A reader who stops early has seen enough, which is not so with a run or a gate: the verdict comes last."""
    keeps: bool = False
    """Whether what it has finished is in the store, if it cannot go on."""


COMMANDS = {
    "init": LazyCommand("init", "Create a small working project: a suite and a toy agent."),
    "validate": LazyCommand("validate", "Check suite and phase files and report every problem at once."),
    "selftest": LazyCommand("selftest", "Check a suite: right answers must pass, wrong ones must fail."),
    "advise": LazyCommand("advise", "Say which graders, metric and gate fit a suite.", only_prints=True),
    "run": LazyCommand("run", "Run suites and print a verdict with error bars.", keeps=True),
    "phase": LazyCommand("phase", "Run the evals of a phase file and write its completion report.", keeps=True),
    "docker-agent": LazyCommand(
        "docker_agent", "Ask recorded sessions again, of an agent of docker-agent in containers.", keeps=True
    ),
    "resume": LazyCommand("resume", "Continue an interrupted run, or repair one that had errors.", keeps=True),
    "regrade": LazyCommand("regrade", "Grade stored answers again, without running the target.", keeps=True),
    "grade": LazyCommand("grade", "Rate answers that wait for a person.", keeps=True),
    "reviewers": LazyCommand("reviewers", "Invite reviewers, see how far they are, export and import reviews."),
    "calibrate": LazyCommand(
        "calibrate", "Measure how far judges are from known scores, and what fools them.", keeps=True
    ),
    "gate": LazyCommand("gate", "Check a stored run against its gate, or against flags."),
    "plan": LazyCommand("plan", "Estimate how many cases and trials it takes to detect a drop.", only_prints=True),
    "runs": LazyCommand("runs", "List stored runs; `runs rm RUN` removes one.", only_prints=True),
    "show": LazyCommand("show", "Show a run, or everything about one of its cases.", only_prints=True),
    "report": LazyCommand("report", "Write a report of stored runs: HTML, Markdown, JSON, …", only_prints=True),
    "export": LazyCommand("export", "Write trials or grades as data: CSV, JSONL or JSON.", only_prints=True),
    "baseline": LazyCommand(
        "baseline", "Choose the run that later runs are compared with: set, add, list, rm.", only_prints=True
    ),
    "compare": LazyCommand("compare", "Compare runs, baselines or JSON reports, case by case.", only_prints=True),
    "regressions": LazyCommand(
        "regressions", "Check whether a suite got worse than its baseline (exit code 1).", only_prints=True
    ),
    "trend": LazyCommand("trend", "Show how the runs of a suite went over time.", only_prints=True),
    "verify": LazyCommand("verify", "Recalculate and check a report, or a table of pass^k.", only_prints=True),
    "list-suites": LazyCommand(
        "list_suites", "List suites: those in a folder, registered and ready-made ones.", only_prints=True
    ),
    "import": LazyCommand("import_file", "Turn a table or a suite of another format into a suite file."),
    "capture": LazyCommand("capture", "Turn a run's answers into regression evals."),
    "schema": LazyCommand("schema", "Print the JSON Schema of suite files or of reports.", only_prints=True),
    "cache": LazyCommand("cache", "Show how many judge verdicts are cached; `cache clear` removes them."),
    "store": LazyCommand("store", "Remove old runs: `store prune --older-than 30d`."),
    "serve": LazyCommand("serve", "Serve the REST API and the pages for a browser."),
    "completion": LazyCommand("completion", "Print a completion script for bash, zsh or fish.", only_prints=True),
}
ALIASES = {"create": "init", "view": "serve"}
MEANT_COMMANDS = {
    "eval": "run",
    "test": "run",
    "list": "runs",
    "ls": "runs",
    "log": "runs",
    "logs": "runs",
    "history": "trend",
    "diff": "compare",
    "score": "regrade",
    "help": "--help",
    "version": "--version",
}
MEANT_OPTIONS = {
    "-k": "--only",
    "--filter-pattern": "--only",
    "--sample-id": "--only",
    "--lf": "--failed",
    "--last-failed": "--failed",
    "--filter-failing": "--failed",
    "--exitfirst": "-x",
    "--maxfail": "--max-failures",
    "--samples": "--limit",
    "--filter-first-n": "--limit",
    "-n": "--max-concurrency",
    "--workers": "--max-concurrency",
    "--parallel": "--max-concurrency",
    "--max-samples": "--max-concurrency",
    "--max-connections": "--max-concurrency",
    "--model": "--target",
    "--provider": "--target",
    "--providers": "--target",
    "--log-dir": "--store",
    "--junitxml": "--output",
}
"""What people who come from other tools type, and what does it here: for suggestions only."""
EXTRA = "got unexpected extra "
"""How click begins to say that there are too many arguments."""
COMPLETION_VARIABLE = "_EVAL_HARNESS_COMPLETE"
"""The script of `completion` calls this program with it."""


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        name = ALIASES.get(cmd_name, cmd_name)
        if name not in COMMANDS:
            return None
        command = importlib.import_module(f"evalharness.cli.{COMMANDS[name].module}").command
        return command if isinstance(command, click.Command) else None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Commands with the words of `--help`; click would import all of them for that."""
        from click.shell_completion import CompletionItem  # here: only for a shell that completes

        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [CompletionItem(name, help=each.help) for name, each in COMMANDS.items() if name.startswith(incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help) for name, command in COMMANDS.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            close = MEANT_COMMANDS.get(args[0]) or closest(args[0], [*COMMANDS, *ALIASES])
            if Path(args[0]).is_file():
                close = f"run {args[0]}"
            guess = f". Did you mean '{close}'?" if close else ""
            raise click.UsageError(f"unknown command '{args[0]}'{guess}", ctx) from error


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Evaluate AI agents: do they work, how reliably, and did a change make them worse?",
    epilog="Start with: eval-harness init && eval-harness run suite.yaml",
)
@click.version_option(VERSION, "-V", "--version", prog_name=PROGRAM, message="%(prog)s %(version)s")
def cli() -> None:
    """The group itself does nothing."""


def main(arguments: Sequence[str] | None = None) -> None:
    collect_late()
    open_missing_streams()
    speak_utf8()
    words = list(sys.argv[1:] if arguments is None else arguments)
    if instruction := Settings.read().environment.get(COMPLETION_VARIABLE):
        from click.shell_completion import shell_complete  # here: only for a shell that completes

        sys.exit(shell_complete(cli, {}, PROGRAM, COMPLETION_VARIABLE, instruction))
    if words and words[0] in COMMANDS and COMMANDS[words[0]].only_prints:
        let_readers_leave()
    if Settings.read().is_github_actions:
        disarm_workflow_commands()
    code = run_command(words)
    try:
        sys.stdout.flush()
        end_output()
    except ValueError:  # a target closed Python's stdout, which is not its own; the report has a stream to itself
        close_stdout()
    except OSError as error:  # nobody reads any more, or the disk is full
        close_stdout()
        if code < 2 and not isinstance(error, BrokenPipeError):  # else there was a message before
            _tell(_unwritten(error), "", 3, [])
        code = code if code in (2, 130) else 3
    leave_garbage()
    sys.exit(code)


def run_command(words: list[str]) -> int:
    """Run one command line; returns its exit code. A crash can never be 0."""
    try:
        export_dotenv(Path.cwd())
        result = cli.main(args=words, prog_name=PROGRAM, standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        return 2
    except click.ClickException as error:
        return _usage(error, words)
    except (KeyboardInterrupt, click.Abort):
        hint = "finished trials are kept; continue the run with: eval-harness resume"
        return _tell("interrupted", hint, 130, words)
    except HarnessError as error:
        if _asked("debug", words):
            print_trace()
        return _tell(error.message, error.hint, error.exit_code, words, getattr(error, "problems", ()))
    except (BrokenPipeError, SystemExit):  # click and rich leave so when nobody reads what they print
        close_stdout()
        return 3
    except OSError as error:
        keeps = bool(words) and words[0] in COMMANDS and COMMANDS[words[0]].keeps
        hint = "finished trials are kept in the store" if keeps else ""
        return _tell(_unwritten(error), hint, 3, [])
    except BaseException as error:  # noqa: BLE001 - the way out: a bug ends in words and 3, never in 0 or 1
        if _asked("debug", words):
            print_trace()
        text = f"internal error: {type(error).__name__}: {_said(error)}"
        return _tell(text, "this is a bug in evalharness; --debug shows the stack trace", 3, words)


def _unwritten(error: OSError) -> str:
    return f"{error.filename or 'the output cannot be written'}: {error.strerror or error}"


def _said(error: BaseException) -> str:
    from pydantic import ValidationError  # slow to load: on the way out it does not matter

    from evalharness.domain.invalid_values import explain

    return explain(error) if isinstance(error, ValidationError) else str(error)


def _usage(error: click.ClickException, words: list[str]) -> int:
    context = error.ctx if isinstance(error, click.UsageError) else None
    hint = f"see: {context.command_path} {context.help_option_names[-1]}" if context else ""
    return _tell(_usage_words(error), hint, 2, words)


def _usage_words(error: click.ClickException) -> str:
    """click's own words begin like sentences and end with a full stop; ours do not."""
    if isinstance(error, click.NoSuchOption):
        guess = _meant_option(error)
        asked = f". Did you mean '{guess}'?" if guess else ""
        return f"unknown option '{error.option_name}'{asked}"
    if isinstance(error, click.MissingParameter) and error.param is not None:
        wanted = (
            "" if error.ctx is None or isinstance(error.param, click.Option) else f"; write: {_usage_line(error.ctx)}"
        )
        choices = f" ({listed})" if (listed := _choices(error.param)) else ""
        return f"{_name(error.param, error.ctx)} is missing{choices}{wanted}"
    if isinstance(error, click.BadOptionUsage) and error.ctx is not None:
        options = [each for each in error.ctx.command.params if isinstance(each, click.Option)]
        takes_none = any(each.is_flag and error.option_name in (*each.opts, *each.secondary_opts) for each in options)
        return f"{error.option_name} {'takes no value' if takes_none else 'needs a value'}"
    if isinstance(error, click.BadParameter) and error.param is not None:
        return f"{_name(error.param, error.ctx)}: {_unlike_a_sentence(error.message)}"
    words = _unlike_a_sentence(error.format_message())
    number, _, extra = words.removeprefix(EXTRA).partition(" (")
    return f"unexpected {number}: {extra.removesuffix(')')}" if words.startswith(EXTRA) else words


def _meant_option(error: click.NoSuchOption) -> str | None:
    """Compared without dashes: two of them make any two short names alike."""
    params = error.ctx.command.params if error.ctx else ()
    names = [
        name for param in params if isinstance(param, click.Option) for name in (*param.opts, *param.secondary_opts)
    ]
    if (meant := MEANT_OPTIONS.get(error.option_name)) in names:
        return meant
    by_word = {name.lstrip("-"): name for name in names if name.startswith("--")}
    guess = closest(error.option_name.lstrip("-"), by_word)
    return by_word[guess] if guess else None


def _name(param: click.Parameter, context: click.Context | None) -> str:
    """A flag by its first long spelling; an argument as the usage line writes it."""
    if isinstance(param, click.Option):
        return next((name for name in param.opts if name.startswith("--")), param.opts[0])
    return param.make_metavar(context or click.Context(cli)).removesuffix("...")


def _choices(param: click.Parameter) -> str:
    return ", ".join(map(str, param.type.choices)) if isinstance(param.type, click.Choice) else ""


def _usage_line(context: click.Context) -> str:
    """`eval-harness gate RUN`."""
    pieces = context.command.collect_usage_pieces(context)
    return " ".join([context.command_path, *(piece for piece in pieces if piece != "[OPTIONS]")])


def _unlike_a_sentence(text: str) -> str:
    return (text[:1].lower() + text[1:] if text[1:2].islower() else text).removesuffix(".")


def _tell(message: str, hint: str | Hint, code: int, words: list[str], problems: Sequence[Any] = ()) -> int:
    """Words for people on stderr; with --json, one document on stdout and nothing else there."""
    from evalharness.domain.problem import without_repeats
    from evalharness.reports.wording import harmless
    from evalharness.reports.words.say import problem_fields, say

    hint = say(hint)
    redact = Settings.read().redactor().redact
    if _asked("json", words):
        listed = [problem_fields(problem) for problem in problems]
        document = {"error": {"code": code, "message": message, "hint": hint, "problems": listed}}
        print(json_text(document, redact))
        return code
    listed_first = without_repeats(problems) if len(problems) > 1 else ()
    said = say(problems[0]) if len(problems) == 1 else message
    lines = [*map(say, listed_first), f"error: {said}", *([f"  {hint}"] if hint else [])]
    if sys.stderr.isatty():
        _wrap(lines, redact)
    else:
        for line in lines:
            print(harmless(redact(line)), file=sys.stderr)
    return code


def _wrap(lines: Sequence[str], redact: Callable[[str], str]) -> None:
    """By words, to the width of the terminal."""
    from evalharness.cli.stdout import screen_on  # slow to load: only for people who watch

    screen = screen_on(sys.stderr, redact)
    for line in lines:
        screen.entry(["  "] if line.startswith("  ") else [], line.strip())


def _asked(flag: str, words: list[str]) -> bool:
    """Whether a flag is given, also where the command line could not be read to its end."""
    variable = Settings.read().environment.get(f"EVALHARNESS_{flag.upper()}", "")
    return f"--{flag}" in words or variable.lower() in ("1", "true", "t", "yes", "y", "on")


def print_trace() -> None:
    """What broke may hold what a server said, and that the key it was sent."""
    import traceback

    from evalharness.reports.wording import harmless

    print(harmless(Settings.read().redactor().redact(traceback.format_exc())), end="", file=sys.stderr)
