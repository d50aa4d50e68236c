"""Every command in the README and the docs works as printed, and prints what they show (see `console_pages.py`).

`make docs` takes over what is printed now; read `git diff` before you commit it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from console_pages import NO_RUN, PAGES, REWRITE, Page, matches


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_shows_what_its_commands_print(path: Path, tmp_path: Path) -> None:
    page = Page.read(path)
    current = page.play(tmp_path)
    if os.environ.get(REWRITE):
        path.write_text(current, encoding="utf-8")
    assert not page.wrong, "\n\n".join([f"{path.name}: `make docs` rewrites it", *page.wrong])


def test_few_blocks_are_not_run_and_each_says_why() -> None:
    reasons = {path.name: Page.read(path).not_run() for path in PAGES}
    assert sum(len(found) for found in reasons.values()) <= 14, reasons
    assert all(reason for found in reasons.values() for reason in found), reasons
    assert not [path.name for path in PAGES if f"```console {NO_RUN}\n" in path.read_text(encoding="utf-8")]


PRINTED = ("capitals  3 cases", "", "✗ peru   2/4   contains", "FAILED   2 failed   16 ms   bright-maple-008")


@pytest.mark.parametrize(
    "shown",
    [
        PRINTED,
        (*PRINTED[:3], "FAILED   2 failed   1.2 s   bright-maple-008"),
        ("…", PRINTED[3]),
        ("capitals  3 cases", "…"),
        ("…", "✗ peru   2/4   contains", "…"),
    ],
)
def test_what_is_shown_may_differ_in_durations_and_leave_lines_out(shown: tuple[str, ...]) -> None:
    assert matches(shown, PRINTED)


@pytest.mark.parametrize(
    "shown",
    [
        PRINTED[:3],
        (*PRINTED, "more"),
        ("capitals  4 cases", *PRINTED[1:]),
        (*PRINTED[:3], "FAILED   2 failed   16 ms   quiet-sparrow-023"),
        ("…", "✗ chile", "…"),
    ],
)
def test_what_is_shown_is_stale(shown: tuple[str, ...]) -> None:
    assert not matches(shown, PRINTED)


PAGE = """\
```yaml
# suite.yaml
name: greeting
test_cases: [{id: hello, input: Hello, expected: Hello}]
```

```console
$ eval-harness run suite.yaml --target echo -q
PASSED   2 passed   1.0 ms   mellow-beacon-265
$ eval-harness run suite.yaml --target null -q
…
$ echo $?
1
```
"""


def test_what_is_stale_is_rewritten_and_the_rest_stays(tmp_path: Path) -> None:
    page = Page(tmp_path / "page.md", PAGE, [])
    current = page.play(tmp_path)
    assert len(page.wrong) == 1 and "+PASSED   1 passed" in page.wrong[0]
    shown = [line for line in current.splitlines() if line.startswith("PASSED")]
    assert [line.split()[:3] for line in shown] == [["PASSED", "1", "passed"]]
    assert current.replace(shown[0], "PASSED   2 passed   1.0 ms   mellow-beacon-265") == PAGE


@pytest.mark.parametrize(("more", "wrong"), [("", 1), ("\n…", 1), ("\n…\n$ echo $?\n2", 0)])
def test_a_command_must_work_unless_the_page_says_otherwise(more: str, wrong: int, tmp_path: Path) -> None:
    page = Page(tmp_path / "page.md", f"```console\n$ eval-harness show mellow-beacon-265{more}\n```\n", [])
    page.play(tmp_path)
    assert len(page.wrong) == wrong, page.wrong
    assert not wrong or "exit code 2" in page.wrong[0]
