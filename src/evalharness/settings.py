"""Settings: a copy of the environment, the `.env` file, the default clock, and other settings.

Only this module reads the environment. It changes nothing in it; `redaction.py` removes secrets from texts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from evalharness.errors import UsageError
from evalharness.redaction import Redactor, is_secret_name

_STORE_TIMEOUT = "EVALHARNESS_STORE_TIMEOUT"
NOBODY = "none"
"""In place of somebody to notify: switch all notifications off."""
_NOTIFY = "EVALHARNESS_NOTIFY"
_NOTIFY_ON = "EVALHARNESS_NOTIFY_ON"
_LONGEST_STORE_TIMEOUT_S = 86_400.0
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Settings:
    """A copy of the environment; later changes of `os.environ` have no effect."""

    environment: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path | None = None) -> Settings:
        """The environment plus variables of `folder/.env` that are not set yet."""
        return cls({**(read_dotenv(folder) if folder else {}), **os.environ})

    @classmethod
    def here(cls) -> Settings:
        """The environment and the `.env` file of the current folder, as whoever passes no settings gets them."""
        return cls.read(Path.cwd())

    def with_environment(self, values: Mapping[str, str]) -> Settings:
        """These win. Raises UsageError for what cannot be an environment variable."""
        for name, value in values.items():
            if not isinstance(name, str) or not isinstance(value, str):
                kinds = f"{type(name).__name__} = {type(value).__name__}"
                raise UsageError(
                    f"cannot set the environment variable {name!r}: its name and its value must be text, not {kinds}",
                    hint=f'write "{name}": "…"',
                )
            if not name or "=" in name or "\0" in name + value:
                raise UsageError(
                    f"cannot set the environment variable {name!r}",
                    hint="a name cannot contain '=', and neither names nor values can contain NUL",
                )
        return replace(self, environment={**self.environment, **values}) if values else self

    @property
    def store_timeout_s(self) -> float:
        """How long to wait for a locked store."""
        written = self.environment.get(_STORE_TIMEOUT, "").strip()
        return _seconds(written) if written else 30.0

    @property
    def notify(self) -> str:
        """Who is notified of verdicts where the suite does not say it, as in `notify:`; `none`: nobody ever."""
        return self.environment.get(_NOTIFY, "").strip()

    @property
    def notifies(self) -> bool:
        """Whether they name somebody."""
        return self.notify not in ("", NOBODY)

    @property
    def notify_on(self) -> str:
        """When: failure, success or always; empty leaves it at the default."""
        return self.environment.get(_NOTIFY_ON, "").strip()

    @property
    def is_ci(self) -> bool:
        """Whether a CI service runs this process; all the common ones set `CI`."""
        return self.environment.get("CI", "").strip().lower() not in {"", "0", "false", "no"}

    @property
    def is_github_actions(self) -> bool:
        """Whether a step of a GitHub workflow runs this process."""
        return self.environment.get("GITHUB_ACTIONS", "").strip().lower() == "true"

    @property
    def github_step_summary(self) -> Path | None:
        """The file whose Markdown GitHub shows on the page of the step."""
        return self._path("GITHUB_STEP_SUMMARY")

    @property
    def github_workspace(self) -> Path | None:
        """The folder of the checked-out repository."""
        return self._path("GITHUB_WORKSPACE")

    def _path(self, name: str) -> Path | None:
        written = self.environment.get(name, "")
        return Path(written) if written else None

    @property
    def no_color(self) -> bool:
        """Whether the user wants plain output, as defined by no-color.org: set and not empty."""
        return self.environment.get("NO_COLOR", "") != ""

    def secrets(self, extra_names: Iterable[str] = (), extra: Mapping[str, str] = _NOTHING) -> dict[str, str]:
        """Name → value of every secret variable of the environment and of `extra`, which was given for one call.

        A name is secret if `is_secret_name` recognises it or it is in `extra_names`, in any case. If both have
        different values for a name, both are kept, the one of `extra` as `NAME.given`.
        """
        listed = {name.casefold() for name in extra_names}

        def is_secret(name: str) -> bool:
            return is_secret_name(name) or name.casefold() in listed

        found = {name: value for name, value in self.environment.items() if is_secret(name)}
        for name, value in extra.items():
            if is_secret(name):
                found[name if found.get(name, value) == value else f"{name}.given"] = value
        return found

    def redactor(self, extra_names: Iterable[str] = (), extra: Mapping[str, str] = _NOTHING) -> Redactor:
        """A redactor for all of `secrets`."""
        return Redactor(self.secrets(extra_names, extra))


def now() -> datetime:
    return datetime.now(UTC)


class BootTime(NamedTuple):
    """A moment by a clock that nobody sets: which start of the computer, and the seconds since then."""

    boot: str
    seconds: float


def boot_time() -> BootTime:
    """It goes on while the computer sleeps. Where the system does not name its starts, a clock that went back does."""
    with suppress(OSError):
        return BootTime(_BOOT_ID.read_text(encoding="ascii").strip(), time.clock_gettime(time.CLOCK_BOOTTIME))
    return BootTime("", time.monotonic())


def timestamp(moment: datetime) -> str:
    """The time in the format of reports and stores."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def read_dotenv(folder: Path) -> dict[str, str]:
    """The variables of `folder/.env`; empty if there is no such file."""
    path = folder / ".env"
    if not path.exists() or path.is_dir():
        return {}
    # Lazy: most projects have no .env, and every command starts here.
    from dotenv.main import DotEnv

    try:
        found = DotEnv(path, encoding="utf-8", override=False).dict()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"cannot read {path}: {reason}", hint="fix, move or delete the file") from error
    return {name: value for name, value in found.items() if value is not None}


def parse_assignments(items: Iterable[str], known: Mapping[str, str] | None = None) -> dict[str, str]:
    """`KEY=VALUE` texts; the last of equal keys wins.

    With `known`, a bare `KEY` stands for its value there, and is left out when it has none.
    """
    assignments: dict[str, str] = {}
    for item in items:
        # Messages name the key alone: the value may be a secret.
        name, equals, value = item.partition("=")
        if not name:
            raise UsageError("there is no key before the '='", hint="write KEY=VALUE")
        if any(character.isspace() for character in name):
            raise UsageError(f"the key '{name}' contains spaces", hint="write KEY=VALUE")
        if equals:
            assignments[name] = value
        elif known is None:
            raise UsageError(f"'{name}' has no value", hint=f"write {name}=VALUE")
        elif name in known:
            assignments[name] = known[name]
    return assignments


def find_project_folder(start: Path) -> Path:
    """The nearest folder from `start` upwards that has `.evalharness/` or a `pyproject.toml`; else `start`."""
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / ".evalharness").is_dir() or (folder / "pyproject.toml").is_file():
            return folder
    return start


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
