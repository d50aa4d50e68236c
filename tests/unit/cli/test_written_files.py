"""What becomes of the exit code where a file cannot be written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from evalharness.cli.written_files import write_all
from evalharness.errors import HarnessError, UsageError

FULL = OSError(28, "No space left on device", "x.json")


def failing(error: Exception) -> Iterator[Path]:
    """After one of its files was written."""
    yield Path("a.json")
    raise error


@pytest.mark.parametrize(("code", "after"), [(0, 3), (4, 3), (1, 1), (2, 2), (3, 3), (130, 130)])
def test_only_0_and_4_become_3(code: int, after: int, capsys: pytest.CaptureFixture[str]) -> None:
    writes: list[Callable[[], Iterable[Path]]] = [
        lambda: failing(FULL),
        lambda: [Path("y.md")],
        lambda: failing(HarnessError("\x1b[31mno")),
    ]
    files = [Path("a.json"), Path("y.md"), Path("a.json")]
    assert write_all(code, writes) == (after, files), "the others are written all the same"
    assert capsys.readouterr().err == "error: x.json: No space left on device\nerror: no\n"
    assert write_all(code, []) == (code, [])


def test_wrong_usage_stays_wrong_usage() -> None:
    with pytest.raises(UsageError):
        write_all(0, [lambda: failing(UsageError("no such format"))])
