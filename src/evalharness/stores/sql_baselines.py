"""Baselines in SQL."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from sqlite3 import Connection

from evalharness.contracts.store import BaselineStore
from evalharness.domain.stored import Baseline, BaselineRun
from evalharness.errors import UnknownName
from evalharness.stores import statements
from evalharness.stores.sqlite import Database


class SqlBaselines(BaselineStore):
    """The part of a store that keeps baselines. It has no state of its own."""

    _database: Database

    @abstractmethod
    def _clean(self, text: str) -> str: ...

    @abstractmethod
    def _now(self) -> str: ...

    def set_baseline(self, run_id: str, name: str, added: Sequence[str] = ()) -> Baseline:
        wanted = self._clean(name)
        with self._database.transaction() as connection:
            connection.execute(statements.FREE_BASELINE, (wanted, run_id))
            if not connection.execute(statements.ADD_BASELINE, (wanted, self._now(), run_id)).rowcount:
                raise UnknownName("run", run_id, [])
            found = next(known for known in self.baselines() if (known.run_id, known.name) == (run_id, wanted))
            connection.execute(statements.REMOVE_ADDED_RUNS, (found.suite_name, wanted))
            for more in added:
                self._add_run(connection, found, more)
            return self._again(found)

    def add_to_baseline(self, suite_name: str, name: str, run_id: str) -> Baseline:
        with self._database.transaction() as connection:
            found = self.baseline(suite_name, name)
            if found is None:
                raise UnknownName("baseline", name, [known.name for known in self.baselines(suite_name)])
            self._add_run(connection, found, run_id)
            return self._again(found)

    def _add_run(self, connection: Connection, baseline: Baseline, run_id: str) -> None:
        if run_id in self._again(baseline).run_ids:
            return
        values = (baseline.name, run_id, baseline.suite_name)
        if not connection.execute(statements.ADD_BASELINE_RUN, values).rowcount:
            raise UnknownName(f"run of {baseline.suite_name}", run_id, [])

    def _again(self, baseline: Baseline) -> Baseline:
        """As it is now."""
        found = self.baseline(baseline.suite_name, baseline.name)
        assert found is not None, "asked for within the transaction that found it"
        return found

    def baselines(self, suite_name: str | None = None) -> list[Baseline]:
        wanted = None if suite_name is None else self._clean(suite_name)
        added: dict[tuple[str, str], list[BaselineRun]] = {}
        for suite, name, *run in self._database.read(statements.ADDED_RUNS):
            added.setdefault((suite, name), []).append(BaselineRun(*run))
        found = [Baseline(*row) for row in self._database.read(statements.BASELINES)]
        whole = [replace(each, added=tuple(added.get((each.suite_name, each.name), ()))) for each in found]
        return [baseline for baseline in whole if wanted in (None, baseline.suite_name)]

    def baseline(self, suite_name: str, name: str) -> Baseline | None:
        wanted = self._clean(name)
        return next((known for known in self.baselines(suite_name) if known.name == wanted), None)

    def baseline_of(self, run_id: str) -> Baseline | None:
        return next((known for known in self.baselines() if run_id in known.run_ids), None)

    def remove_baseline(self, suite_name: str, name: str) -> bool:
        with self._database.transaction() as connection:
            names = (self._clean(suite_name), self._clean(name))
            connection.execute(statements.REMOVE_ADDED_RUNS, names)
            return connection.execute(statements.REMOVE_BASELINE, names).rowcount == 1
