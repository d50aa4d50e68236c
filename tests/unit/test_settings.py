from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from evalharness import settings
from evalharness.errors import UsageError


def test_dotenv_fills_in_what_is_not_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text('EH_NEW="from file"\nEH_SET=file\nEH_EMPTY=file\n# comment\n')
    # Set and deleted, so that what the file sets is taken back after the test.
    monkeypatch.setenv("EH_NEW", "")
    monkeypatch.delenv("EH_NEW")
    monkeypatch.setenv("EH_SET", "shell")
    monkeypatch.setenv("EH_EMPTY", "")
    settings.load_dotenv(tmp_path)
    found = settings.environment()
    assert (found["EH_NEW"], found["EH_SET"], found["EH_EMPTY"]) == ("from file", "shell", "")


def test_dotenv_of_a_parent_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("EH_PARENT=1\n")
    (tmp_path / "child" / ".env").mkdir(parents=True)
    settings.load_dotenv(tmp_path / "child")
    assert "EH_PARENT" not in settings.environment()


def test_a_dotenv_that_is_no_text_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"EH_BINARY=\xff\xfe\n")
    with pytest.raises(UsageError, match=r"cannot read .*\.env: it is not UTF-8 text"):
        settings.load_dotenv(tmp_path)


def test_importing_settings_loads_neither_dotenv_nor_pydantic() -> None:
    program = "import sys, evalharness.settings; print([m for m in ('dotenv', 'pydantic') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_environment_is_a_copy() -> None:
    settings.environment()["EH_COPY"] = "1"
    assert "EH_COPY" not in settings.environment()


def test_set_variables_can_be_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EH_OLD", "before")
    monkeypatch.delenv("EH_FRESH", raising=False)
    restore = settings.set_environment({"EH_OLD": "after", "EH_FRESH": "x=y,z\n"})
    changed = settings.environment()
    restore()
    restored = settings.environment()
    assert (changed["EH_OLD"], changed["EH_FRESH"]) == ("after", "x=y,z\n")
    assert restored["EH_OLD"] == "before"
    assert "EH_FRESH" not in restored


@pytest.mark.parametrize("values", [{"": "x"}, {"A=B": "x"}, {"EH_NUL": "hidden\0value"}])
def test_variables_that_cannot_be_set_are_a_usage_error_without_the_value(values: dict[str, str]) -> None:
    before = settings.environment()
    with pytest.raises(UsageError) as caught:
        settings.set_environment({"EH_FIRST": "1", **values})
    assert settings.environment() == before
    assert "hidden" not in caught.value.message


def test_secrets_are_those_named_like_secrets_or_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EH_API_KEY", "key-value")
    monkeypatch.setenv("EH_DSN", "dsn-value")
    monkeypatch.setenv("EH_PLAIN", "plain-value")
    found = settings.secrets(["eh_dsn", "Customer"], {"customer": "c-value", "my_token": "t-value", "city": "Berlin"})
    mine = {name: value for name, value in found.items() if name.startswith("EH_") or name.islower()}
    assert mine == {"EH_API_KEY": "key-value", "EH_DSN": "dsn-value", "customer": "c-value", "my_token": "t-value"}


def test_a_secret_given_twice_keeps_both_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EH_API_KEY", "of-the-shell")
    monkeypatch.setenv("EH_TOKEN", "same")
    found = settings.secrets(extra={"EH_API_KEY": "of-the-flag", "EH_TOKEN": "same"})
    mine = {name: value for name, value in found.items() if name.startswith("EH_")}
    assert mine == {"EH_API_KEY": "of-the-shell", "EH_API_KEY.given": "of-the-flag", "EH_TOKEN": "same"}


def test_assignments_keep_everything_after_the_first_equals_sign() -> None:
    items = ["A=1", "B=x=y,z", "C=two\nlines", "D=", "A=2", "E= padded "]
    expected = {"A": "2", "B": "x=y,z", "C": "two\nlines", "D": "", "E": " padded "}
    assert settings.parse_assignments(items, "--var") == expected


def test_a_bare_key_of_env_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EH_HERE", "value")
    monkeypatch.delenv("EH_GONE", raising=False)
    assert settings.parse_assignments(["EH_HERE", "EH_GONE"], "--env") == {"EH_HERE": "value"}


@pytest.mark.parametrize(
    ("item", "flag", "message"),
    [
        ("=hidden", "--env", "--env needs a key before the '='"),
        ("", "--env", "--env needs a key before the '='"),
        ("MY KEY=hidden", "--var", "--var has a key with spaces: 'MY KEY'"),
        (" KEY=hidden", "--env", "--env has a key with spaces: ' KEY'"),
        ("KEY", "--var", "--var 'KEY' has no value"),
    ],
)
def test_a_broken_assignment_says_what_is_wrong_without_the_value(item: str, flag: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        settings.parse_assignments([item], flag)
    assert caught.value.message == message
    assert flag in caught.value.hint
    assert "hidden" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize(("written", "expected"), [(None, 30.0), ("", 30.0), ("0", 0.0), (" 2.5 ", 2.5)])
def test_the_store_timeout_is_read(written: str | None, expected: float, monkeypatch: pytest.MonkeyPatch) -> None:
    if written is None:
        monkeypatch.delenv("EVALHARNESS_STORE_TIMEOUT", raising=False)
    else:
        monkeypatch.setenv("EVALHARNESS_STORE_TIMEOUT", written)
    assert settings.Settings.from_environment().store_timeout_s == expected


@pytest.mark.parametrize("written", ["soon", "-1", "nan", "inf", "1e9"])
def test_a_nonsense_store_timeout_is_a_usage_error(written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALHARNESS_STORE_TIMEOUT", written)
    with pytest.raises(UsageError, match=f"EVALHARNESS_STORE_TIMEOUT is '{written}'"):
        settings.Settings.from_environment()


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
    assert settings.find_project_folder(inside) == project.resolve()
    assert settings.find_project_folder(inside / ".." / "b") == project.resolve()


def test_a_relative_start_is_taken_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path / "sub")
    assert settings.find_project_folder(Path()) == tmp_path.resolve()


def test_without_a_marker_the_project_is_the_start(tmp_path: Path) -> None:
    (tmp_path / ".evalharness").touch()
    (tmp_path / "pyproject.toml").mkdir()
    assert settings.find_project_folder(tmp_path) == tmp_path.resolve()
    (tmp_path / "sub").mkdir()
    assert settings.find_project_folder(tmp_path / "sub") == (tmp_path / "sub").resolve()


@pytest.mark.parametrize(
    ("written", "expected"), [("true", True), ("1", True), ("false", False), ("0", False), ("", False)]
)
def test_ci_is_recognised(written: str, expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", written)
    assert settings.is_ci() is expected


@pytest.mark.parametrize(("written", "expected"), [("1", True), ("0", True), ("", False)])
def test_no_color_counts_when_set_to_anything(written: str, expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", written)
    assert settings.no_color() is expected
