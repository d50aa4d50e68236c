"""`-o FILE`: checked before anything is run, written completely or not at all, as many files as requested."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from reported import P, reported

from evalharness.domain.reported_run import Presentation, ReportedRun
from evalharness.domain.trial import Trial
from evalharness.errors import HarnessError, UsageError
from evalharness.reports.report_files import (
    check_baselines,
    check_documents,
    check_outputs,
    print_report,
    remove_earlier,
    write_reports,
)
from evalharness.testing.stored_records import make_trial

REPORT, _ = reported({"a": [P]})


def trials() -> list[Trial]:
    return [make_trial("a")]


@pytest.mark.parametrize("name", ["report", "report.txt", "report.docx", ".json", "xml"])
def test_an_ending_nobody_knows_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no report format has the ending") as caught:
        check_outputs([str(tmp_path / name)])
    assert str(caught.value.hint).startswith("known endings: .json, .xml, .html, ")


def test_a_folder_that_is_missing_is_made(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "too" / "report.json"
    assert check_outputs([str(path)]) == [path]
    assert list(tmp_path.iterdir()) == [], "not before there is something to write"
    write_reports([path], [ReportedRun(REPORT)], Presentation())
    assert path.is_file()


def test_what_cannot_be_a_folder_is_reported_before_anything_is_run(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="file is not a folder"):
        check_outputs([str(tmp_path / "file" / "missing" / "report.json")])
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(UsageError, match="is a folder"):
        check_outputs([str(tmp_path / "folder.json")])


def test_endings_count_in_any_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert check_outputs(["a.JSON", "b.xml"]) == [Path("a.JSON"), Path("b.xml")]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("package.json", '{"name": "mine"}'),
        ("notes.json", "[1, 2]"),
        ("notes.json", "not JSON at all"),
        ("pom.xml", '<?xml version="1.0"?><project/>'),
        ("raw.xml", "eval_report"),
    ],
)
def test_a_file_that_is_not_a_report_is_not_replaced(name: str, content: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(UsageError, match="exists and contains something else"):
        check_outputs([str(path)])
    assert path.read_text() == content


def test_reports_and_empty_files_are_replaced(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.json", "b.xml", "c.json", "d.json", "e.xml")]
    write_reports(paths[:2], [ReportedRun(REPORT, trials=trials)], Presentation())
    paths[2].write_text(json.dumps(json.loads(paths[0].read_text()), indent=4))
    for empty in paths[3:]:
        empty.touch()
    assert check_outputs(map(str, paths)) == paths


def test_several_files_are_written_each_in_its_form(tmp_path: Path) -> None:
    paths = [tmp_path / "a.json", tmp_path / "b.xml", tmp_path / "c.JSON"]
    write_reports(paths, [ReportedRun(REPORT, trials=trials)], Presentation())
    first, third = (json.loads(path.read_text()) for path in (paths[0], paths[2]))
    assert first == third
    assert [trial["case_id"] for trial in first["eval_report"]["trials"]] == ["a"]
    assert ElementTree.parse(paths[1]).getroot().tag == "testsuites"


def test_trials_may_be_left_out_and_several_runs_be_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_reports([path], [ReportedRun(REPORT), ReportedRun(REPORT, trials=trials)], Presentation())
    first, second = json.loads(path.read_text())["eval_reports"]
    assert "trials" not in first
    assert len(second["trials"]) == 1


def test_secrets_do_not_reach_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_reports(
        [path], [ReportedRun(REPORT)], Presentation(lambda text: text.replace("quiet-sparrow-023", "[redacted]"))
    )
    assert json.loads(path.read_text())["eval_report"]["metadata"]["run_name"] == "[redacted]"


def test_a_file_that_cannot_be_written_is_reported_by_its_own_name(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.mkdir()
    with pytest.raises(IsADirectoryError) as raised:
        write_reports([path], [ReportedRun(REPORT)], Presentation())
    assert raised.value.filename == str(path)


def test_a_file_is_replaced_whole_or_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("before")

    def broken() -> list[Trial]:
        raise RuntimeError("the store is gone")

    with pytest.raises(HarnessError, match="the reporter 'json' failed: RuntimeError: the store is gone"):
        write_reports([path], [ReportedRun(REPORT, trials=trials), ReportedRun(REPORT, trials=broken)], Presentation())
    assert path.read_text() == "before"
    write_reports([path], [ReportedRun(REPORT, trials=trials)], Presentation())
    assert json.loads(path.read_text())["eval_report"]["verdict"] == "PASSED"
    assert [each.name for each in tmp_path.iterdir()] == ["a.json"]


def test_a_report_of_an_earlier_run_is_removed_unless_it_is_a_baseline(tmp_path: Path) -> None:
    kept, old, never_there = (tmp_path / name for name in ("kept.json", "old.json", "never.json"))
    write_reports([kept, old], [ReportedRun(REPORT)], Presentation())
    remove_earlier([old, never_there])
    assert not old.exists()
    with pytest.raises(UsageError, match="would overwrite the baseline"):
        check_baselines([kept], [tmp_path / "." / "kept.json"])
    check_baselines([never_there], [never_there])


def test_a_document_about_reports_is_json_and_replaces_no_report(tmp_path: Path) -> None:
    report, comparison = tmp_path / "report.json", tmp_path / "comparison.json"
    write_reports([report], [ReportedRun(REPORT)], Presentation())
    comparison.write_text('{"comparison": {}}')
    assert check_documents([str(comparison)]) == [comparison]
    with pytest.raises(UsageError, match="exists and contains something else"):
        check_documents([str(report)])
    with pytest.raises(UsageError, match="no report format has the ending") as caught:
        check_documents([str(tmp_path / "comparison.xml")])
    assert caught.value.hint == "known endings: .json"


PLUG_IN = """
from evalharness.contracts.reporter import Reporter

class Words(Reporter):
    name = "words"
    endings = (".words",)
    can_stream = False

    def write(self, runs, stream, presentation):
        for each in runs:
            stream.write(presentation.redact(f"{each.report.metadata.run_name} {each.report.verdict}"))
"""


@pytest.fixture
def plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed distribution with an entry point, as pip creates it."""
    site = tmp_path / "site"
    information = site / "words-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: words\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[evalharness.reporters]\nwords = words_plug_in:Words\n")
    (site / "words_plug_in.py").write_text(PLUG_IN)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delitem(sys.modules, "words_plug_in", raising=False)


@pytest.mark.usefixtures("plug_in")
def test_a_plug_in_writes_files_with_its_own_ending(tmp_path: Path) -> None:
    [path] = check_outputs([str(tmp_path / "a.words")])
    write_reports([path], [ReportedRun(REPORT)], Presentation())
    assert path.read_text() == "quiet-sparrow-023 PASSED"
    with pytest.raises(UsageError) as caught:
        check_outputs([str(tmp_path / "a.docx")])
    assert str(caught.value.hint).endswith(", .words")


@pytest.mark.usefixtures("plug_in")
def test_what_is_only_for_files_is_not_printed() -> None:
    with pytest.raises(UsageError, match="cannot be printed") as caught:
        print_report("words", [ReportedRun(REPORT)], io.StringIO(), Presentation())
    assert caught.value.hint == "write it to a file: .words"
