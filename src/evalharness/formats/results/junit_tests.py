"""Results of tests in JUnit's XML, as pytest, Maven, Gradle, Jest, Go and others write it: counts, and what failed.

Read as a stream, without entities: a document type is refused, so that nothing in the file can grow or be fetched.
Where a suite says that more tests failed than it lists, it is believed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from evalharness.domain.phase_result import JunitResults, JunitSuite
from evalharness.errors import UsageError

LARGEST_BYTES = 100_000_000
DEEPEST = 100
MOST_NAMED = 10
_CHUNK_BYTES = 1 << 16
_ROOTS = ("testsuites", "testsuite")
_FAILED = ("failure", "error")


def read_junit(path: Path) -> JunitResults:
    """Raises UsageError for what is no such file."""
    reader = _Reader()
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"{path} is not a regular file")
        with path.open("rb") as stream:
            read = 0
            while chunk := stream.read(_CHUNK_BYTES):
                read += len(chunk)
                if read > LARGEST_BYTES:
                    raise UsageError(f"{path} is larger than {LARGEST_BYTES // 1_000_000} MB")
                reader.feed(chunk)
            reader.close()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise UsageError(f"{path} is not a JUnit file: {error}") from None
    return reader.results()


@dataclass(slots=True)
class _Suite:
    name: str
    said_failed: int
    said_tests: int
    said_skipped: int
    tests: int = 0
    failed: int = 0
    skipped: int = 0
    failing: list[str] = field(default_factory=list)
    has_inner: bool = False

    def result(self) -> JunitSuite | None:
        """None for one that only contains others, whose sums it repeats."""
        if self.has_inner and not self.tests:
            return None
        failed = max(self.failed, 0 if self.has_inner else self.said_failed)
        skipped = self.skipped if self.tests else self.said_skipped
        total = self.tests if self.has_inner else max(self.tests, self.said_tests)
        total = max(total, failed + skipped)
        return JunitSuite(name=self.name, total=total, failed=failed, skipped=skipped, failing=tuple(self.failing))


class _Reader:
    def __init__(self) -> None:
        self._parser = expat.ParserCreate()
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._open: list[str] = []
        self._suites: list[_Suite] = []
        self._found: list[JunitSuite] = []
        self._test = ""
        self._state = ""

    def feed(self, chunk: bytes) -> None:
        self._parser.Parse(chunk, False)

    def close(self) -> None:
        self._parser.Parse(b"", True)

    def results(self) -> JunitResults:
        return JunitResults(suites=tuple(self._found))

    def _refuse(self, *_: object) -> None:
        raise ValueError("a document type is not allowed in it")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if not self._open and name not in _ROOTS:
            raise ValueError(f"it begins with <{name}>, not with <testsuites> or <testsuite>")
        if len(self._open) >= DEEPEST:
            raise ValueError(f"it is nested more than {DEEPEST} levels deep")
        inside = self._open[-1] if self._open else ""
        self._open.append(name)
        if name == "testsuite":
            self._start_suite(attributes)
        elif name == "testcase":
            self._test, self._state = _named(attributes), ""
        elif inside == "testcase" and name in _FAILED:
            self._state = "failed"
        elif inside == "testcase" and name == "skipped" and not self._state:
            self._state = "skipped"

    def _start_suite(self, attributes: dict[str, str]) -> None:
        if self._suites:
            self._suites[-1].has_inner = True
        failed = _count(attributes, "failures") + _count(attributes, "errors")
        skipped = _count(attributes, "skipped") + _count(attributes, "disabled")
        name = attributes.get("name") or f"suite {len(self._found) + 1}"
        self._suites.append(_Suite(name, failed, _count(attributes, "tests"), skipped))

    def _end(self, tag: str) -> None:
        self._open.pop()
        name = tag.rpartition(":")[2]
        if name == "testcase":
            self._end_test()
        elif name == "testsuite" and (found := self._suites.pop().result()) is not None:
            self._found.append(found)

    def _end_test(self) -> None:
        if not self._suites:
            raise ValueError("a <testcase> is in no <testsuite>")
        suite = self._suites[-1]
        suite.tests += 1
        suite.skipped += self._state == "skipped"
        if self._state == "failed":
            suite.failed += 1
            if len(suite.failing) < MOST_NAMED:
                suite.failing.append(self._test)


def _named(attributes: dict[str, str]) -> str:
    return "::".join(filter(None, (attributes.get("classname"), attributes.get("name")))) or "a test without a name"


def _count(attributes: dict[str, str], name: str) -> int:
    """What is no number counts nothing: the tests themselves are counted, too."""
    text = attributes.get(name, "").strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
