"""The table of baselines: the runs that later runs of a suite are compared with, each under a name."""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote
from sqlite3 import Connection

from evalharness.stores.sqlite import Database

_BASELINES = (
    "SELECT baselines.suite_name, baselines.name, run_id, runs.name, set_at "
    "FROM baselines JOIN runs ON runs.id = run_id ORDER BY baselines.seq DESC"
)


@dataclass(frozen=True, slots=True)
class Baseline:
    suite_name: str
    name: str
    run_id: str
    run_name: str
    set_at: str

    @property
    def told(self) -> str:
        return f"{self.run_name} is the baseline '{self.name}' of {self.suite_name}"

    @property
    def removal(self) -> str:
        """The command that gives it up."""
        return f"eval-harness baseline rm {quote(self.name)} --suite {quote(self.suite_name)}"


def write_baseline(connection: Connection, run_id: str, name: str, moment: str) -> bool:
    """In place of the one that had this name in this suite; False where there is no such run."""
    removed = "DELETE FROM baselines WHERE name = ? AND suite_name = (SELECT suite_name FROM runs WHERE id = ?)"
    connection.execute(removed, (name, run_id))
    added = connection.execute(
        "INSERT INTO baselines (suite_name, name, run_id, set_at) SELECT suite_name, ?, id, ? FROM runs WHERE id = ?",
        (name, moment, run_id),
    )
    return added.rowcount == 1


def read_baselines(database: Database) -> list[Baseline]:
    """Of every suite; the last one set comes first."""
    return [Baseline(*row) for row in database.read(_BASELINES)]


def delete_baseline(connection: Connection, suite_name: str, name: str) -> bool:
    """Whether there was one."""
    sql = "DELETE FROM baselines WHERE suite_name = ? AND name = ?"
    return connection.execute(sql, (suite_name, name)).rowcount == 1
