"""What to do next where a command or a flag says it: the hints of exceptions, in words."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from evalharness.errors import one_word
from evalharness.reports.wording import Words, first_names, removal_command


def _give_variables(names: Sequence[str]) -> str:
    flags = " ".join(f"--var {name}=…" for name in names)
    return f"give {flags}, set the environment variable, or write \\{{{{ for literal braces"


def _give_case_variables(names: Sequence[str]) -> str:
    flags = " ".join(f"--var {name}=…" for name in names)
    return f"add {', '.join(names)} to the case's `vars`, give {flags}, or write \\{{{{ for literal braces"


def _give_variables_in_python(names: Sequence[str]) -> str:
    given = ", ".join(f"'{name}': '…'" for name in names)
    return f"give variables={{{given}}} to the marker or to evals.run, or set the environment variable"


def _import_table(file: str) -> str:
    words = f"eval-harness import {shlex.quote(file)} --map input=COLUMN --map expected=COLUMN -o suite.yaml"
    return f"make it a suite with: {words}"


def _or(first: str, then: str) -> str:
    return f"{first}, or {then}" if first else then


def _about_run(template: str) -> Words:
    def words(run: str) -> str:
        return template.format(run=shlex.quote(run))

    return words


WORDS: Mapping[str, Words] = MappingProxyType(
    {
        "hint.give_variables": _give_variables,
        "hint.give_case_variables": _give_case_variables,
        "hint.give_variables_in_python": _give_variables_in_python,
        "hint.add_notify": "add one, or set EVALHARNESS_NOTIFY",
        "hint.run_phase": lambda file: f"run it with: eval-harness phase {shlex.quote(file)}",
        "hint.stack_trace": "run with --debug for the stack trace",
        "hint.prune_store": "remove old runs: eval-harness store prune",
        "hint.ended_by_target": (
            "finished trials are kept; fix the target and run the suite again (a run cannot be resumed with a changed "
            "target), then remove this run: eval-harness runs rm {run}"
        ),
        "hint.invite_again": lambda name: f"invite them again: eval-harness reviewers invite {shlex.quote(name)}",
        "hint.remove_baseline": lambda name, suite: f"remove the baseline first: {removal_command(name, suite)}",
        "hint.other_store": lambda first: _or(first, "name another store with --store"),
        "hint.other_evals_store": lambda first: _or(first, "name another store with --evals-store"),
        "hint.unprotected": (
            "bubblewrap 0.8 or newer and user namespaces are needed; or run without isolation: --sandbox none"
        ),
        "hint.install_sandbox": (
            "install the package: apt-get install {package}; or run without isolation: --sandbox none"
        ),
        "hint.install_containers": (
            "install docker or podman, start its daemon, and let this user use it; choose one with --container-runtime"
        ),
        "hint.pull_image": "check its name, fetch it with `{runtime} pull {image}`, or run again with --pull missing",
        "hint.base_image": (
            "name one with --base-image (`base_image` in a target file), or give each session an `image`"
        ),
        "hint.agent_image": (
            "name docker-agent's image or version with --agent-image (`agent_image` in a target file), or write `none` "
            "if the base image has the agent"
        ),
        "hint.no_image": (
            "check its name and whether its registry can be reached, or build it: `{runtime} build -t {image} FOLDER`"
        ),
        "hint.finish_first": _about_run("finish it first: eval-harness resume {run}"),
        "hint.repair_first": _about_run("repair it first: eval-harness resume {run}"),
        "hint.own_artifact": (
            "move it into that folder, or name it yourself: write `artifact: {file}` in your own target file and give "
            "--target FILE.yaml"
        ),
        "hint.other_value": "if it contains a {{{{variable}}}}, give that another value with --var",
        "hint.other_judge": lambda first: _or(
            first, "choose another judge with --judge-model, or leave model grades pending with --judge-model none"
        ),
        "hint.other_judge_in_python": lambda first: _or(
            first, "choose another judge with judge_model='provider/model', or leave model grades pending with 'none'"
        ),
        "hint.leave_metric_out": (
            "leave {metric} out of the compared metrics (compare, regressions: --metric), or let the target report it"
        ),
        "hint.more_trials": "give --repeat {trials}, or set trials: {trials} in the suite",
        "hint.more_repeats": "set trials: {trials} in the suite, or give repeat={trials} to the marker or to evals.run",
        "hint.compare_stored": "compare stored runs, or reports written with --json or `report RUN -o FILE.json`",
        "hint.new_baseline": _about_run(
            "set a new baseline from a run of the current suite: eval-harness baseline set {run} "
            "(if there is none, run it with --baseline none first)"
        ),
        "hint.judge_the_rest": "fix the errors and `resume` the run, or grade what is pending",
        "hint.write_again": "write it with this version: eval-harness run … --json, or -o report.json",
        "hint.larger_effect": "ask for a larger --effect",
        "hint.one_report": "write a report of one run: eval-harness show RUN --json",
        "hint.results_beside": (
            "use the results next to it (RUN.json), or a report: eval-harness report RUN -o FILE.json"
        ),
        "hint.write_report": "write one: eval-harness report RUN -o FILE.json",
        "hint.session_results": (
            "give results of these sessions: RUN-sessions.json (see --save-sessions), or RUN.json of docker-agent"
        ),
        "hint.verifiable": (
            "a report must be JSON, a table JSON or CSV; write a report: eval-harness report RUN -o FILE.json"
        ),
        "hint.import_table": _import_table,
        "hint.python_target": lambda target: f"to test it: eval-harness run SUITE --target {shlex.quote(target)}",
        "hint.map_input": "add --map input=COLUMN",
        "hint.map_expected": "add --map expected=COLUMN",
        "hint.map_json": "to compare it, use --map expected.json_equals=…",
        "hint.number_rows": "without --map id, rows are numbered",
        "hint.use_preset": "use --preset {preset}",
        "hint.name_judge": "name one: --judge-model provider/model",
        "hint.write_examples": ("add `examples: [{{output: …, score: …}}]` to one, or measure known tricks: --attacks"),
        "hint.capture_over": "choose another name, or --force to replace it",
        "hint.compare_exact": "--compare exact",
        "hint.capture_another": lambda trial: (
            f"capture it from a run in which it passed{f', or name a trial: --trial {trial}' if trial else ''}"
        ),
        "hint.capture_as": lambda names: f"capture it {' or '.join(f'--as {name}' for name in names)}",
        "hint.capture_input": "say it with --input TEXT",
        "hint.capture_no_input": "leave --input out",
        "hint.capture_one_input": "--input is for a transcript of one",
        "hint.capture_names": "leave --any-arguments out",
        "hint.price_file": "name a price file in EVALHARNESS_PRICES (docs/models.md), or cap tokens: --max-tokens N",
        "hint.set_baseline": (
            "set one: eval-harness baseline set RUN; or compare the variants of one run: --baseline-variant V"
        ),
        "hint.several_targets": "run several: --target A --target B",
        "hint.later_run": "name a later run with --run",
        "hint.which_run": lambda suite: (
            f"run it, or name a run: eval-harness regressions {shlex.quote(suite)} --run RUN"
        ),
        "hint.resume": _about_run("eval-harness resume {run}"),
        "hint.sequential_floor": "with --sequential, --fail-under must be below 100 and above --sequential-effect",
        "hint.sequential_gate": "run without --sequential, or use a gate with only pass_rate and regression",
        "hint.sequential_question": (
            "give --fail-under 90 (a pass rate to reach) or --baseline B (a run to compare with)"
        ),
        "hint.sequential_tolerance": "run without --sequential, or give --regression-tolerance 0",
        "hint.sequential_weights": "run without --sequential, or give every case the same weight",
        "hint.sequential_clusters": "run without --sequential, so that a cluster counts as one observation",
        "hint.sequential_pairs": (
            "choose a baseline with more unchanged cases or more trials, or run without --sequential"
        ),
        "hint.name_target": "add `target:` to the suite or give --target file.py:attr, cmd:COMMAND, a URL or oracle",
        "hint.key_as_variable": "--target 'https://…?key={{{{api_key}}}}' --var api_key=…",
        "hint.name_target_in_suite": "add `target:` to the suite, or give target=… to the marker or to evals.run",
        "hint.choose_target": lambda targets, number: (
            f"choose one of its `targets:` with --target NAME: {first_names([*map(one_word, targets)], number)}"
        ),
        "hint.choose_target_in_python": lambda targets, number: (
            f"choose one of its `targets:` with target='NAME': {first_names([*map(one_word, targets)], number)}"
        ),
        "hint.finished_run": "name a finished run, or repair this one: eval-harness resume RUN",
        "hint.first_baseline": "run it once with --baseline none, then: eval-harness baseline set RUN",
        "hint.which_suite": (
            "name its run instead (eval-harness baseline list); compare and baseline rm also take --suite"
        ),
        "hint.case_of_artifacts": "give --case ID, or add its caseId to each artifact",
        "hint.which_case": lambda cases: f"give --case, one of: {', '.join(map(one_word, cases))}",
        "hint.fewer_cases": "import fewer cases with --limit, or map fewer columns",
        "hint.replace_file": "choose another name, or replace it with --force",
        "hint.columns": lambda columns: (
            f"columns: {', '.join(map(one_word, columns)) or 'none'}; try --map input=COLUMN"
        ),
        "hint.ask_for_gate": (
            "give --gate production, --fail-under 90, --baseline B or --strict-flips, or add a `gate:` to the suite"
        ),
        "hint.verify_file": lambda path: (
            f"it was changed after it was written; check it: eval-harness verify {shlex.quote(path)}"
        ),
        "hint.regrade_again": _about_run(
            "start it again with the same options: eval-harness regrade {run}; verdicts are cached"
        ),
        "hint.regrade_changed": _about_run("grade its answers again: eval-harness regrade {run}; or undo the change"),
        "hint.run_changed": lambda suite: (
            "run the cases that did not pass again: "
            f"eval-harness run {shlex.quote(suite) if suite else 'SUITE'} --failed; or undo the change"
        ),
        "hint.judge_as_before": lambda judge: (
            f"name one: --judge-model {shlex.quote(judge or 'provider/model')}, or --judge-model none"
        ),
        "hint.start_run": "start one: eval-harness run SUITE",
        "hint.resume_then_regrade": _about_run("resume {run} if it is unfinished, then: eval-harness regrade {run}"),
        "hint.export_recorded": "see which were: eval-harness runs; or record one: eval-harness run … --mode record",
        "hint.record_first": "record it: eval-harness run … --mode record; or name a recording: --recordings R",
        "hint.run_once": "run it once without --failed",
        "hint.run_all": "run without --failed to run them all",
        "hint.other_baseline": _about_run("check it against another baseline: eval-harness gate {run} --baseline B"),
    }
)
