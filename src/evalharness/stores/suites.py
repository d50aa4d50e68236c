"""The table of registered suites: each whole, under its name, with its place. The last one of a name counts."""

from __future__ import annotations

from dataclasses import dataclass
from sqlite3 import Connection

from evalharness.domain.suite import Suite
from evalharness.redaction import Redactor
from evalharness.stores.encoding import suite_body, suite_from
from evalharness.stores.sqlite import Database

_REGISTER = (
    "INSERT INTO suites (name, body, path, root, format, registered_at, cases) VALUES (?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (name) DO UPDATE SET body = excluded.body, path = excluded.path, root = excluded.root, "
    "format = excluded.format, registered_at = excluded.registered_at, cases = excluded.cases"
)


@dataclass(frozen=True, slots=True)
class RegisteredSuite:
    """`path` is empty for a suite that was built in Python; `format` is the one its file was recognised as."""

    suite: Suite
    root: str
    path: str = ""
    format: str = ""
    registered_at: str = ""


@dataclass(frozen=True, slots=True)
class SuiteLine:
    """A registered suite in a list, without its cases."""

    name: str
    cases: int
    path: str
    format: str
    registered_at: str


def write_suite(connection: Connection, registered: RegisteredSuite, moment: str, redactor: Redactor) -> None:
    def clean(text: str) -> str:
        return redactor.redact(text.encode(errors="replace").decode())

    suite = registered.suite
    connection.execute(
        _REGISTER,
        (
            clean(suite.name),
            suite_body(suite, redactor),
            clean(registered.path),
            clean(registered.root),
            registered.format,
            moment,
            len(suite.cases),
        ),
    )


def read_suites(database: Database) -> list[SuiteLine]:
    """By name."""
    rows = database.read("SELECT name, cases, path, format, registered_at FROM suites ORDER BY name")
    return [SuiteLine(*row) for row in rows]


def read_suite(database: Database, name: str) -> RegisteredSuite | None:
    sql = "SELECT body, root, path, format, registered_at FROM suites WHERE name = ?"
    for body, *rest in database.read(sql, (name,)):
        return RegisteredSuite(suite_from(body, name), *rest)
    return None
