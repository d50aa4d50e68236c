"""The process environment: its only reader and writer, the `.env` file, the date, and the knobs that are not flags.

It knows names and texts, no files of the harness beyond where a project begins; taking secrets out of texts is
`redaction.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from types import MappingProxyType

from evalharness.errors import UsageError
from evalharness.redaction import is_secret_name

_STORE_TIMEOUT = "EVALHARNESS_STORE_TIMEOUT"
_LONGEST_STORE_TIMEOUT_S = 86_400.0
_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Settings:
    """Harness-wide knobs, read from `EVALHARNESS_*` variables."""

    store_timeout_s: float = 30.0
    """How long to wait for a locked store."""

    @classmethod
    def from_environment(cls) -> Settings:
        written = os.environ.get(_STORE_TIMEOUT, "").strip()
        return cls(store_timeout_s=_seconds(written)) if written else cls()


def today() -> date:
    return datetime.now(UTC).date()


def load_dotenv(folder: Path) -> None:
    """Set what `folder/.env` says, if there is one; variables that are already set keep their values."""
    path = folder / ".env"
    if not path.exists() or path.is_dir():
        return
    # Lazy: most projects have no .env, and every command starts here.
    import dotenv

    try:
        dotenv.load_dotenv(path, override=False)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"cannot read {path}: {reason}", hint="mend, move or delete the file") from error


def environment() -> dict[str, str]:
    """A copy of the environment as it is now."""
    return dict(os.environ)


def set_environment(values: Mapping[str, str]) -> Callable[[], None]:
    """Set variables (`--env KEY=VALUE`) at once; the returned function puts the former values back."""
    for name, value in values.items():
        if not name or "=" in name or "\0" in name + value:
            raise UsageError(
                f"cannot set the environment variable {name!r}", hint="names hold no '=', nothing holds NUL"
            )
    former = {name: os.environ.get(name) for name in values}
    os.environ.update(values)

    def restore() -> None:
        for name, value in former.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    return restore


def secrets(extra_names: Iterable[str] = (), extra: Mapping[str, str] = _NOTHING) -> dict[str, str]:
    """Name → value of every secret variable of the environment and of `extra` (values given by `--env` or `--var`).

    Secret are the names that `is_secret_name` knows and those in `extra_names`, in any case. Where both hold another
    value under one name, both are kept, the one of `extra` as `NAME.given`.
    """
    listed = {name.casefold() for name in extra_names}

    def is_secret(name: str) -> bool:
        return is_secret_name(name) or name.casefold() in listed

    found = {name: value for name, value in os.environ.items() if is_secret(name)}
    for name, value in extra.items():
        if is_secret(name):
            found[name if found.get(name, value) == value else f"{name}.given"] = value
    return found


def parse_assignments(items: Iterable[str], flag: str) -> dict[str, str]:
    """`KEY=VALUE` texts of a repeated flag; the last of equal keys wins.

    For `--env` a bare `KEY` stands for its value in the environment, and is left out when there is none.
    """
    assignments: dict[str, str] = {}
    for item in items:
        # Messages name the key alone: the value may be a secret.
        name, equals, value = item.partition("=")
        if not name:
            raise UsageError(f"{flag} needs a key before the '='", hint=f"write {flag} KEY=VALUE")
        if any(character.isspace() for character in name):
            raise UsageError(f"{flag} has a key with spaces: '{name}'", hint=f'write {flag} "KEY=a value"')
        if equals:
            assignments[name] = value
        elif flag != "--env":
            raise UsageError(f"{flag} '{name}' has no value", hint=f"write {flag} {name}=VALUE")
        elif name in os.environ:
            assignments[name] = os.environ[name]
    return assignments


def find_project_folder(start: Path) -> Path:
    """The nearest folder from `start` upwards that has `.evalharness/` or a `pyproject.toml`; else `start`."""
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / ".evalharness").is_dir() or (folder / "pyproject.toml").is_file():
            return folder
    return start


def is_ci() -> bool:
    """Whether a CI service runs this process; all the common ones set `CI`."""
    return os.environ.get("CI", "").strip().lower() not in {"", "0", "false", "no"}


def no_color() -> bool:
    """Whether the user asked for plain output, in the way no-color.org describes: set and not empty."""
    return os.environ.get("NO_COLOR", "") != ""


def _seconds(written: str) -> float:
    try:
        seconds = float(written)
    except ValueError:
        seconds = -1.0
    if not 0.0 <= seconds <= _LONGEST_STORE_TIMEOUT_S:
        raise UsageError(
            f"{_STORE_TIMEOUT} is '{written}', not a number of seconds from 0 to {_LONGEST_STORE_TIMEOUT_S:.0f}",
            hint=f"set {_STORE_TIMEOUT}=30 or unset it",
        )
    return seconds
