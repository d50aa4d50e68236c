"""The only way to write: what is in the file afterwards, byte by byte, and that it can be read back."""

from __future__ import annotations

import json
import sqlite3
import zlib
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest

from evalharness.domain.case import Case
from evalharness.domain.finding import finding
from evalharness.domain.gate import Gate, Thresholds
from evalharness.domain.grade import Grade
from evalharness.domain.report import Failure, Group, Report, RunMetadata, RunSummary
from evalharness.domain.run import CaseLock, Run, RunLock, RunOptions
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.domain.suite import Suite
from evalharness.domain.transcript import ToolCall, Transcript, Usage
from evalharness.domain.trial import Attempt, Trial
from evalharness.errors import StoreError
from evalharness.redaction import Redactor
from evalharness.reports.words.say import say
from evalharness.stores.decoding import Decoder
from evalharness.stores.encoding import (
    KEPT_TEXT,
    report_body,
    run_body,
    trial_row,
    unpack,
)
from evalharness.stores.sql_store import SqlStore

DECODER = Decoder("store.db")
SECRETS = {
    "PLAIN_KEY": "hunter2-hunter2",
    "QUOTED_PASSWORD": 'it\'s "quoted" and \\slashed\\',
    "UNICODE_TOKEN": "пароль-密码-🔑-é",
    "LINES_SECRET": "first line\nsecond\tline",
    "JSON_CREDENTIALS": '{"user":"ada","pass":"lovelace"}',
    "NUMBER_KEY": "4815162342",
}


def forms(secret: str) -> Iterator[str]:
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield quote(secret, safe="")
    yield secret.encode().hex()
    yield b64encode(secret.encode()).decode().rstrip("=")


def gate_full_of(text: str) -> Gate:
    minimum = {"pass_rate": 0.5, "pass_at_1": 0.5}
    held = {"case": text, "reason": text, "owner": text, "expires": "2026-12-31"}
    return Gate.model_validate(
        {
            "preset": "production",
            "thresholds": {"default": minimum, "categories": {text: minimum}, "criticality": {"critical": minimum}},
            "required_cases": [text],
            "regression": {"baseline": text, "metrics": ["pass_rate"]},
            "quarantine": [held],
        }
    )


def run_full_of(text: str) -> Run:
    case = Case(
        id="a",
        name=text,
        description=text,
        input={"prompt": text, text: [text]},
        reference={"deep": [{"deeper": text}]},
        files={"notes.txt": {"text": text}},
        tags=(text,),
        category=text,
        metadata={text: text},
        graders=(GraderSpec(kind="contains", options=text, name=text),),
    )
    return Run(
        id="",
        name="",
        matrix_id="",
        variant=text,
        root=f"/work/{text}",
        created_at="2026-01-02T03:04:05Z",
        suite=Suite(name=text[:200], description=text, vars={"v": text}, gate=gate_full_of(text), cases=(case,)),
        target=TargetSpec(kind="command", options=["agent", text], name=text),
        lock=RunLock(
            harness_version="1",
            python_version="3",
            platform="any",
            target="t",
            seed=0,
            trials=1,
            cases={"a": CaseLock(case="c", graders="g")},
            variables={"v": text},
        ),
        options=RunOptions(env={"E": text}),
    )


def trial_full_of(text: str) -> Trial:
    transcript = Transcript(
        output=text,
        messages=({"role": "user", "content": text, text: 1},),
        tool_calls=(ToolCall(name=text, arguments={"a": text}, result=text, error=text),),
        files={text: text},
        events=({"e": text},),
        stdout=text,
        stderr=text,
    )
    as_data = transcript.model_copy(update={"output": {"list": [text, {text: text}]}})
    grade = Grade(state="fail", score=0.0, reason=text, evidence={"seen": [text]}, grader=text)
    return Trial(
        case_id="a",
        index=0,
        seed=1,
        attempts=(
            Attempt(state="error", reason=text, transcript=as_data),
            Attempt(state="failed", score=0.0, reason=text, duration_s=0.25, grades=(grade,), transcript=transcript),
        ),
    )


def report_full_of(run: Run, text: str) -> Report:
    return Report(
        metadata=RunMetadata(
            suite_name=text, run_id=run.id, run_name=run.name, timestamp=run.created_at, environment={"target": text}
        ),
        verdict="FAILED",
        exit_code=1,
        why=text,
        summary=RunSummary(total_evals=1, by_category={text: Group(total=1, passed=0, pass_rate=0.0)}),
        metrics={"score": 0.4815162342},
        failures=(Failure(eval_id="a", name=text, state="failed", reason=text, details={"d": text}),),
    )


def everything_in(folder: Path) -> bytes:
    """The bytes of all files of the store, and the contents of its compressed columns."""
    found = [path.read_bytes() for path in sorted(folder.iterdir())]
    assert any(path.name.endswith("-wal") for path in folder.iterdir())
    with closing(sqlite3.connect(folder / "store.db")) as connection:
        for sql in ("SELECT body FROM runs", "SELECT report FROM runs", "SELECT body FROM trials"):
            found += [unpack(blob) for (blob,) in connection.execute(sql)]
    return b"\n".join(found)


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("filling", ["", 3000 * " lorem ipsum"], ids=["small", "compressed"])
def test_no_form_of_a_secret_reaches_the_disk(tmp_path: Path, name: str, filling: str) -> None:
    secret = SECRETS[name]
    text = " | ".join(forms(secret)) + filling
    store = SqlStore(str(tmp_path / "store.db"), redactor=Redactor(SECRETS))
    [run] = store.add_runs([run_full_of(text)])
    store.put(run.id, trial_full_of(text))
    store.finish(run.id, report_full_of(run, text), stopped="", elapsed_s=1)
    stored = everything_in(tmp_path)
    assert f"[redacted:{name}]".encode() in stored
    left = [form for form in forms(secret) if form.encode() in stored.replace(b"0.4815162342", b"")]
    assert left == []
    [trial] = store.trials(run.id)
    assert [attempt.state for attempt in trial.attempts] == ["error", "failed"]
    read = store.find_run(run.id)
    assert read.report is not None
    assert read.report.metrics == {"score": 0.4815162342}
    store.close()


def test_a_secret_spread_over_a_json_value_is_found_too() -> None:
    redactor = Redactor(SECRETS)
    output = {"answer": {"user": "ada", "pass": "lovelace"}}
    transcript = Transcript(output=output, messages=({"user": "ada", "pass": "lovelace"},), stdout="kept")
    row = trial_row(
        1, Trial(case_id="a", index=0, seed=1, attempts=(Attempt(state="passed", transcript=transcript),)), redactor
    )
    assert b"lovelace" not in unpack(row[-1])
    [attempt] = DECODER.trial(("a", 0, 1, row[-1], ""), "brave-otter-042").attempts
    assert attempt.transcript is not None
    assert attempt.transcript.stdout == "kept"


def test_a_number_that_is_a_secret_is_taken_out_of_outputs_only() -> None:
    transcript = Transcript(output={"pin": 4815162342}, messages=({"pin": 4815162342},), cost_usd=0.4815162342)
    attempt = Attempt(state="passed", duration_s=0.4815162342, transcript=transcript)
    row = trial_row(1, Trial(case_id="a", index=0, seed=1, attempts=(attempt,)), Redactor(SECRETS))
    [kept] = DECODER.trial(("a", 0, 1, row[-1], ""), "brave-otter-042").attempts
    assert kept.duration_s == 0.4815162342
    assert kept.transcript is not None
    assert kept.transcript.output == {"pin": "[redacted:NUMBER_KEY]"}
    assert kept.transcript.messages == ({"pin": "[redacted:NUMBER_KEY]"},)


def words_of_the_harness() -> list[str]:
    records = (Run, RunLock, RunOptions, Suite, Case, GraderSpec, TargetSpec, Trial, Attempt, Grade, Transcript, Report)
    fields = {name for record in records for name in record.model_fields}
    of_gates = {*Gate.model_fields, *Thresholds.model_fields, "production", "critical", "pass_rate", "pass_at_1"}
    more = {"test_cases", "awaiting", "unscored", "contains"}
    return sorted(word for word in fields | of_gates | more if len(word) >= 8)


@pytest.mark.parametrize("word", words_of_the_harness())
def test_a_secret_that_is_a_word_of_the_harness_breaks_nothing(word: str) -> None:
    redactor = Redactor({"AUTH": word})
    run, trial = run_full_of(f"the {word} here"), trial_full_of(f"the {word} here")
    awaiting = Attempt(state="awaiting", grades=(Grade(state="unscored", required=False),))
    trial = trial.model_copy(update={"attempts": (*trial.attempts, awaiting)})
    columns = ("eval-1", "brave-otter-042", "eval-1", run.created_at, None, 1)
    read = DECODER.run((*columns, run_body(run, redactor)[1], report_body(report_full_of(run, word), redactor)))
    assert read.suite.name == "the [redacted:AUTH] here"
    assert [spec.kind for case in read.suite.cases for spec in case.graders or ()] == ["contains"]
    assert read.suite.gate is not None
    assert (read.suite.gate.preset, read.suite.gate.thresholds.default["pass_rate"]) == ("production", 0.5)
    assert read.suite.gate.required_cases == ("the [redacted:AUTH] here",)
    assert read.report is not None
    assert say(read.report.why) == "[redacted:AUTH]"
    row = trial_row(1, trial, redactor)
    again = DECODER.trial(("a", 0, 1, row[-1], ""), "brave-otter-042")
    assert [attempt.state for attempt in again.attempts] == ["error", "failed", "awaiting"]
    assert again.attempts[1].reason == "the [redacted:AUTH] here"
    assert json.loads(row[-2]) == [{"state": "unscored", "required": False}]


@pytest.mark.parametrize("word", ["gate.not_compared", "comparison.refused", "comparison", "message", "not_compared"])
def test_what_a_finding_is_made_of_stays_and_what_others_said_in_it_is_redacted(word: str) -> None:
    refused = finding("comparison.refused", message=f"no {word} there", hint=None)
    told = finding("gate.not_compared", "error", awaits=False, why=refused)
    report = report_full_of(run_full_of("x"), "y").model_copy(update={"notes": (told,)})
    [read] = DECODER.report(report_body(report, Redactor({"AUTH": word})), "brave-otter-042").notes
    assert (read.code, read.severity) == ("gate.not_compared", "error")
    expected = "not compared with a baseline: no [redacted:AUTH] there" if len(word) >= 8 else say(told)
    assert say(read) == expected


@pytest.mark.parametrize("shift", range(0, 16, 3))
def test_a_cut_through_a_secret_leaves_no_part_of_it(shift: int) -> None:
    secret = "Zq9-Xw8-Vb7-Nm6"
    half = KEPT_TEXT // 2
    before = (half - shift) * "."
    output = before + secret + 500_000 * "." + secret + (half - len(secret) + shift) * "."
    attempt = Attempt(state="passed", transcript=Transcript(output=output))
    row = trial_row(1, Trial(case_id="a", index=0, seed=1, attempts=(attempt,)), Redactor({"KEY": secret}))
    kept = str(DECODER.trial(("a", 0, 1, row[-1], ""), "brave-otter-042").output)
    assert "characters cut" in kept
    for part in (secret[:2], secret[-2:]):
        assert part not in kept


def test_huge_texts_anywhere_in_a_trial_are_cut() -> None:
    huge = (KEPT_TEXT + 500_000) * "y"
    trial = trial_full_of("small")
    grade = Grade(state="fail", reason=huge, evidence=[huge])
    transcript = Transcript(output=list(range(1_000_000)), files={"f": huge}, stdout=huge)
    attempt = Attempt(state="failed", reason=huge, grades=(grade,), transcript=transcript)
    row = trial_row(1, trial.model_copy(update={"attempts": (attempt,)}), Redactor.none())
    assert len(row[7]) < KEPT_TEXT + 100
    assert len(unpack(row[-1])) < 8 * KEPT_TEXT
    kept = DECODER.trial(("a", 0, 1, row[-1], ""), "brave-otter-042")
    assert str(kept.output).startswith("[0,1,2,")
    assert str(kept.output).endswith(",999998,999999]")
    assert kept.last.transcript is not None
    assert kept.last.transcript.truncated


def test_the_suite_of_a_run_is_never_cut() -> None:
    run = run_full_of("small")
    suite = run.suite.model_copy(update={"description": (KEPT_TEXT + 500_000) * "z"})
    run = run.model_copy(update={"suite": suite})
    read = DECODER.run(("i", "n", "m", "c", None, 1, run_body(run, Redactor.none())[1], None))
    assert read.suite == run.suite


def test_long_transcripts_are_compressed() -> None:
    row = trial_row(1, trial_full_of(1000 * "all work and no play "), Redactor.none())
    assert len(row[-1]) < len(unpack(row[-1])) / 20
    assert zlib.decompress(row[-1]) == unpack(row[-1])


def nested(levels: int) -> object:
    value: object = 1
    for level in range(levels):
        value = [value] if level % 2 else {"k": value}
    return value


@pytest.mark.parametrize(
    "value",
    [
        *map(nested, range(130, 260, 5)),
        nested(2000),
        *(10**digits for digits in (18, 19, 3000, 4290, 4299, 4300, 9000)),
    ],
    ids=lambda value: f"{type(value).__name__}",
)
def test_what_is_written_can_be_read_back(value: object) -> None:
    """JSON readers have limits: values beyond them are written so that the limits are met."""
    grade = Grade(state="pass", evidence={"found": value})
    for attempt in (
        Attempt(state="passed", grades=(grade,)),
        Attempt(state="passed", transcript=Transcript(output=value)),
    ):
        row = trial_row(1, Trial(case_id="c", index=0, seed=1, attempts=(attempt,)), Redactor.none())
        assert DECODER.trial(("c", 0, 1, row[-1], ""), "brave-otter-042").last.state == "passed"
        json.loads(row[-2])


class Silent:
    def __repr__(self) -> str:
        raise RuntimeError("not a word")


@pytest.mark.parametrize(
    ("spoilt", "told"),
    [
        ({"usage": Usage(input_tokens=10**5000)}, "is not JSON"),
        ({"files": {"n.txt": 3}}, 'files["n.txt"]: must be text, not 3'),
        ({"output": [Silent()]}, "not a word"),
    ],
    ids=["usage", "files", "output"],
)
def test_a_result_that_cannot_be_stored_ends_its_trial_in_error(spoilt: dict[str, object], told: str) -> None:
    """Its cost is still reported."""
    transcript = Transcript(output="x", cost_usd=0.5).model_copy(update=spoilt)
    attempt = Attempt(state="passed", transcript=transcript)
    row = trial_row(1, Trial(case_id="c", index=0, seed=1, attempts=(attempt,)), Redactor.none())
    kept = DECODER.trial(("c", 0, 1, row[-1], ""), "brave-otter-042")
    assert (row[4], kept.state, kept.cost_usd) == ("error", "error", 0.5)
    assert kept.reason.startswith("the result cannot be stored: ")
    assert told in kept.reason


@pytest.mark.parametrize("blob", [b"", b"x\x9cbroken", b'{"half":', b'[{"state":"unheard of"}]'])
def test_a_damaged_row_is_a_store_error(blob: bytes) -> None:
    with pytest.raises(StoreError, match="trial 3 of case a of run brave-otter-042 cannot be read"):
        DECODER.trial(("a", 3, 1, blob, ""), "brave-otter-042")
    with pytest.raises(StoreError, match="run brave-otter-042 cannot be read"):
        DECODER.run(("eval-1", "brave-otter-042", "eval-1", "", None, 1, blob, None))
