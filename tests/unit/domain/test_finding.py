"""A finding is the same when created, stored, or read from a document; sentences of older versions are read, too."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from evalharness.domain.finding import Finding, MaybeFinding, as_finding, finding, joined
from evalharness.domain.record import Record
from evalharness.domain.report import Recommendation, Report
from evalharness.errors import Hint
from evalharness.reports.words.say import say, with_texts


class Told(Record):
    why: MaybeFinding = None
    notes: tuple[Finding, ...] = ()


INNER = finding("run.unfinished", "error", pending=1, planned=3)
TOLD = Told(
    why=joined([INNER, finding("run.all_skipped")]), notes=(finding("gate.not_compared", awaits=True, why=INNER),)
)


def test_what_is_written_contains_the_text_and_is_read_back_as_it_was() -> None:
    written = with_texts(TOLD)
    assert written["why"]["text"] == "1 of 3 trials not run yet; every case was skipped"
    assert set(written["why"]) == {"code", "params", "severity", "text"}
    assert written["notes"][0]["params"]["why"]["text"] == "1 of 3 trials not run yet", "quoted text has one, too"
    assert Told.model_validate(written) == TOLD


def test_a_store_keeps_no_text_and_reads_the_same() -> None:
    adapter = TypeAdapter(Told)
    stored = adapter.dump_json(TOLD, exclude_defaults=True)
    assert b'"text"' not in stored
    assert adapter.validate_json(stored) == TOLD


def test_sentences_of_an_older_version_are_findings_too() -> None:
    told = Told.model_validate({"why": "no network", "notes": ["spent $1 of $2"]})
    assert told.why == finding("text", text="no network")
    assert [say(note) for note in told.notes] == ["spent $1 of $2"]
    assert Told.model_validate({"why": ""}).why is None, "nothing was reported"


def test_what_only_a_newer_version_knows_is_read_as_its_text() -> None:
    newer = {"code": "run.from_the_future", "params": {"n": 1}, "severity": "warning", "text": "it will rain"}
    assert Told.model_validate({"why": newer}).why == finding("text", "warning", text="it will rain")
    with pytest.raises(ValidationError):
        Told.model_validate({"why": {key: value for key, value in newer.items() if key != "text"}})


def test_equal_findings_are_one() -> None:
    assert list(dict.fromkeys([INNER, finding("run.all_skipped"), INNER])) == [INNER, finding("run.all_skipped")]


def test_a_hint_that_is_quoted_is_a_finding() -> None:
    assert say(as_finding("do this")) == "do this"
    assert say(as_finding(Hint("hint.other_baseline", run="brave-otter-042"))).endswith(
        "gate brave-otter-042 --baseline B"
    )


BARE: dict[str, Any] = {
    "metadata": {"suite_name": "s", "run_id": "", "run_name": "r", "timestamp": ""},
    "verdict": "FAILED",
    "exit_code": 1,
    "summary": {},
}
ADVICE = finding("advice.alike", "warning", number=2, reason="no")


def test_advice_is_read_from_the_findings_beside_its_words() -> None:
    found = with_texts(ADVICE) | {"kind": "alike", "cases": ["a", "b"]}
    document = {**BARE, "recommendations": [found["text"]], "findings": [found]}
    [advice] = Report.model_validate(document).recommendations
    assert advice == Recommendation(kind="alike", finding=ADVICE, cases=("a", "b"))
    [edited] = Report.model_validate({**document, "recommendations": ["look at them"]}).recommendations
    assert edited == Recommendation(finding=finding("text", text="look at them"))


def test_older_advice_is_read_from_its_texts_or_from_the_findings_beside_them() -> None:
    texts = [{"kind": "alike", "text": "2 cases fail alike", "cases": ["a", "b"]}]
    [old] = Report.model_validate({**BARE, "recommendations": texts}).recommendations
    assert old == Recommendation(kind="alike", finding=finding("text", text="2 cases fail alike"), cases=("a", "b"))
    beside = {**BARE, "recommendations": texts, "findings": [with_texts(ADVICE)]}
    [new] = Report.model_validate(beside).recommendations
    assert (new.finding, new.cases) == (ADVICE, ("a", "b"))
    [kept] = Report.model_validate({**beside, "findings": []}).recommendations
    assert kept == old, "if they do not fit, people read the texts"
