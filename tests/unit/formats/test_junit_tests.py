"""JUnit's XML as different tools write it, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalharness.domain.phase_result import JunitResults
from evalharness.errors import UsageError
from evalharness.formats.results.junit_tests import read_junit


def read(folder: Path, text: str | bytes) -> JunitResults:
    path = folder / "junit.xml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_junit(path)


def counts(results: JunitResults) -> list[tuple[str, int, int, int]]:
    return [(suite.name, suite.passed, suite.failed, suite.skipped) for suite in results.suites]


DIALECTS = {
    "pytest": (
        '<testsuites name="pytest tests"><testsuite name="pytest" errors="1" failures="1" skipped="1" tests="4">'
        '<testcase classname="t" name="a"/><testcase classname="t" name="b"><failure message="x">y</failure></testcase>'
        '<testcase classname="t" name="c"><error/></testcase><testcase classname="t" name="d"><skipped/></testcase>'
        "</testsuite></testsuites>",
        [("pytest", 1, 2, 1)],
    ),
    "one suite (Maven), with reruns that count for nothing": (
        '<testsuite name="org.Tests" tests="2" errors="0" failures="0" skipped="0"><properties><property/></properties>'
        '<testcase name="a"><flakyFailure/><system-out>failure</system-out></testcase>'
        '<testcase name="b"><rerunFailure/></testcase></testsuite>',
        [("org.Tests", 2, 0, 0)],
    ),
    "suites in suites, whose sums are repeated": (
        '<testsuites><testsuite name="outer" tests="3" failures="1"><testsuite name="x" tests="2" failures="1">'
        '<testcase name="a"/><testcase name="b"><failure/></testcase></testsuite><testsuite name="y" tests="1">'
        '<testcase name="c"/></testsuite></testsuite></testsuites>',
        [("x", 1, 1, 0), ("y", 1, 0, 0)],
    ),
    "only sums, no tests": (
        '<testsuite name="sums" tests="5" failures="1" errors="1" skipped="1"/>',
        [("sums", 2, 2, 1)],
    ),
    "without sums": ('<testsuite name="bare"><testcase name="a"/></testsuite>', [("bare", 1, 0, 0)]),
    "more failures than tests are listed": (
        '<testsuite name="crashed" tests="1" errors="1"><testcase name="a"/></testsuite>',
        [("crashed", 0, 1, 0)],
    ),
    "numbers that are none": (
        '<testsuite name="odd" tests="many"><testcase name="a"/></testsuite>',
        [("odd", 1, 0, 0)],
    ),
    "no name, a namespace": ('<j:testsuite xmlns:j="urn:j"><j:testcase/></j:testsuite>', [("suite 1", 1, 0, 0)]),
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_dialects(tmp_path: Path, dialect: str) -> None:
    text, expected = DIALECTS[dialect]
    assert counts(read(tmp_path, text)) == expected


def test_other_encodings_are_read(tmp_path: Path) -> None:
    text = '<?xml version="1.0" encoding="ISO-8859-1"?><testsuite name="Prüfung"><testcase/></testsuite>'
    assert counts(read(tmp_path, text.encode("latin-1"))) == [("Prüfung", 1, 0, 0)]


def test_failing_tests_are_named_the_first_of_them(tmp_path: Path) -> None:
    tests = "".join(f'<testcase classname="t" name="n{number}"><failure/></testcase>' for number in range(12))
    [suite] = read(tmp_path, f'<testsuite name="s">{tests}</testsuite>').suites
    assert suite.failed == 12
    assert suite.failing == tuple(f"t::n{number}" for number in range(10))


def test_no_test_is_not_green(tmp_path: Path) -> None:
    assert not read(tmp_path, "<testsuites/>").is_green


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no element found"),
        ("Tests run: 5", "syntax error"),
        ("<testsuite>", "no element found"),
        ("<assemblies/>", "it begins with <assemblies>"),
        ("<testsuites><testcase/></testsuites>", "a <testcase> is in no <testsuite>"),
        ('<?xml version="1.0" encoding="nonsense"?><testsuite/>', "unknown encoding"),
        ("<testsuite>" * 200, "nested more than 100 levels deep"),
    ],
)
def test_what_is_no_junit_file_is_refused(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(UsageError, match="is not a JUnit file") as refused:
        read(tmp_path, text)
    assert why in refused.value.message


def test_entities_are_neither_expanded_nor_fetched(tmp_path: Path) -> None:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    bomb = f'<!DOCTYPE t [<!ENTITY l0 "ha">{laughs}]><testsuite name="&l9;"/>'
    secret = tmp_path / "secret"
    secret.write_text("secret")
    fetched = (
        f'<!DOCTYPE t [<!ENTITY x SYSTEM "file://{secret}">]><testsuite name="s"><testcase name="&x;"/></testsuite>'
    )
    for text in (bomb, fetched, '<!DOCTYPE t SYSTEM "http://127.0.0.1:9/t.dtd"><testsuite/>'):
        with pytest.raises(UsageError, match="a document type is not allowed"):
            read(tmp_path, text)


def test_a_folder_or_a_missing_file_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a regular file"):
        read_junit(tmp_path)
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_junit(tmp_path / "missing.xml")
