from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evalharness.errors import UsageError
from evalharness.settings import Settings, find_project_folder, parse_assignments, timestamp


def test_dotenv_fills_in_what_is_not_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text('EH_NEW="from file"\nEH_SET=file\nEH_EMPTY=file\n# comment\n')
    monkeypatch.delenv("EH_NEW", raising=False)
    monkeypatch.setenv("EH_SET", "shell")
    monkeypatch.setenv("EH_EMPTY", "")
    found = Settings.read(tmp_path).environment
    assert (found["EH_NEW"], found["EH_SET"], found["EH_EMPTY"]) == ("from file", "shell", "")
    assert "EH_NEW" not in os.environ, "nothing is written back"


def test_dotenv_of_a_parent_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("EH_PARENT=1\n")
    (tmp_path / "child" / ".env").mkdir(parents=True)
    assert "EH_PARENT" not in Settings.read(tmp_path / "child").environment


def test_a_dotenv_that_is_not_text_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"EH_BINARY=\xff\xfe\n")
    with pytest.raises(UsageError, match=r"cannot read .*\.env: it is not UTF-8 text"):
        Settings.read(tmp_path)


def test_importing_settings_loads_neither_dotenv_nor_pydantic() -> None:
    program = "import sys, evalharness.settings; print([m for m in ('dotenv', 'pydantic') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_later_changes_of_the_environment_are_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EH_LATE", "before")
    settings = Settings.read()
    monkeypatch.setenv("EH_LATE", "after")
    assert settings.environment["EH_LATE"] == "before"


def test_variables_of_one_call_win_and_leave_no_trace() -> None:
    settings = Settings({"EH_OLD": "before"})
    changed = settings.with_environment({"EH_OLD": "after", "EH_FRESH": "x=y,z\n"})
    assert changed.environment == {"EH_OLD": "after", "EH_FRESH": "x=y,z\n"}
    assert settings.environment == {"EH_OLD": "before"}
    assert "EH_FRESH" not in os.environ


@pytest.mark.parametrize("values", [{"": "x"}, {"A=B": "x"}, {"EH_NUL": "hidden\0value"}])
def test_variables_that_cannot_be_set_are_a_usage_error_without_the_value(values: dict[str, str]) -> None:
    with pytest.raises(UsageError) as caught:
        Settings().with_environment({"EH_FIRST": "1", **values})
    assert "hidden" not in caught.value.message


def test_secrets_are_those_named_like_secrets_or_listed() -> None:
    settings = Settings({"EH_API_KEY": "key-value", "EH_DSN": "dsn-value", "EH_PLAIN": "plain-value"})
    found = settings.secrets(["eh_dsn", "Customer"], {"customer": "c-value", "my_token": "t-value", "city": "Berlin"})
    assert found == {"EH_API_KEY": "key-value", "EH_DSN": "dsn-value", "customer": "c-value", "my_token": "t-value"}


def test_a_secret_given_twice_keeps_both_values() -> None:
    settings = Settings({"EH_API_KEY": "of-the-shell", "EH_TOKEN": "same"})
    found = settings.secrets(extra={"EH_API_KEY": "of-the-flag", "EH_TOKEN": "same"})
    assert found == {"EH_API_KEY": "of-the-shell", "EH_API_KEY.given": "of-the-flag", "EH_TOKEN": "same"}


def test_assignments_keep_everything_after_the_first_equals_sign() -> None:
    items = ["A=1", "B=x=y,z", "C=two\nlines", "D=", "A=2", "E= padded "]
    expected = {"A": "2", "B": "x=y,z", "C": "two\nlines", "D": "", "E": " padded "}
    assert parse_assignments(items) == expected


def test_a_bare_key_has_the_value_that_is_known() -> None:
    assert parse_assignments(["EH_HERE", "EH_GONE"], {"EH_HERE": "value"}) == {"EH_HERE": "value"}


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("=hidden", "there is no key before the '='"),
        ("", "there is no key before the '='"),
        ("MY KEY=hidden", "the key 'MY KEY' contains spaces"),
        (" KEY=hidden", "the key ' KEY' contains spaces"),
        ("KEY", "'KEY' has no value"),
    ],
)
def test_a_broken_assignment_says_what_is_wrong_without_the_value(item: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_assignments([item])
    assert caught.value.message == message
    assert "=VALUE" in caught.value.plain_hint
    assert "hidden" not in caught.value.message + caught.value.plain_hint


@pytest.mark.parametrize(("written", "expected"), [(None, 30.0), ("", 30.0), ("0", 0.0), (" 2.5 ", 2.5)])
def test_the_store_timeout_is_read(written: str | None, expected: float) -> None:
    environment = {} if written is None else {"EVALHARNESS_STORE_TIMEOUT": written}
    assert Settings(environment).store_timeout_s == expected


@pytest.mark.parametrize("written", ["soon", "-1", "nan", "inf", "1e9"])
def test_a_nonsense_store_timeout_is_a_usage_error(written: str) -> None:
    with pytest.raises(UsageError, match=f"EVALHARNESS_STORE_TIMEOUT is '{written}'"):
        _ = Settings({"EVALHARNESS_STORE_TIMEOUT": written}).store_timeout_s


@pytest.mark.parametrize("marker", [".evalharness/", "pyproject.toml"])
def test_the_project_is_the_nearest_folder_with_a_marker(marker: str, tmp_path: Path) -> None:
    project = tmp_path / "outer" / "project"
    inside = project / "a" / "b"
    inside.mkdir(parents=True)
    (tmp_path / "outer" / "pyproject.toml").touch()
    if marker.endswith("/"):
        (project / marker).mkdir()
    else:
        (project / marker).touch()
    assert find_project_folder(inside) == project.resolve()
    assert find_project_folder(inside / ".." / "b") == project.resolve()


def test_a_relative_start_is_taken_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path / "sub")
    assert find_project_folder(Path()) == tmp_path.resolve()


def test_without_a_marker_the_project_is_the_start(tmp_path: Path) -> None:
    (tmp_path / ".evalharness").touch()
    (tmp_path / "pyproject.toml").mkdir()
    assert find_project_folder(tmp_path) == tmp_path.resolve()
    (tmp_path / "sub").mkdir()
    assert find_project_folder(tmp_path / "sub") == (tmp_path / "sub").resolve()


@pytest.mark.parametrize(
    ("written", "expected"), [("true", True), ("1", True), ("false", False), ("0", False), ("", False)]
)
def test_ci_is_recognised(written: str, expected: bool) -> None:
    assert Settings({"CI": written}).is_ci is expected


@pytest.mark.parametrize(("written", "expected"), [("1", True), ("0", True), ("", False)])
def test_no_color_counts_when_set_to_anything(written: str, expected: bool) -> None:
    assert Settings({"NO_COLOR": written}).no_color is expected


def test_times_are_written_in_utc_to_the_second() -> None:
    assert timestamp(datetime(2026, 11, 17, 4, 5, 6, tzinfo=UTC)) == "2026-11-17T04:05:06Z"
