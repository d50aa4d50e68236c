"""Count changes: how many files and lines of a project differ from a revision, as git counts them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from evalharness import registry
from evalharness.contracts.sandbox import ProcessRequest, SandboxSession
from evalharness.domain.phase_result import Changes
from evalharness.errors import TargetUnavailable, UsageError

UNCOMMITTED = "HEAD"
LIMIT_S = 60.0
KEPT_BYTES = 16_000_000
_SAFELY = ("-c", "core.fsmonitor=false", "-c", "core.quotePath=true")
"""Nothing that a project's configuration names is started."""


async def count_changes(since: str, folder: Path, environment: Mapping[str, str]) -> Changes | None:
    """Since a revision; without one, what is not committed, if anything. None where git does not know the folder.

    Files that git does not track are not counted. Raises UsageError for a revision that does not exist.
    """
    sandbox = registry.build_sandbox("none")
    try:
        async with sandbox.session(str(folder)) as session:
            git = _Git(session, folder, environment)
            if await git.ask("rev-parse", "--is-inside-work-tree") != "true":
                return None
            commit = await git.ask(
                "rev-parse", "--verify", "--quiet", "--end-of-options", f"{since or UNCOMMITTED}^{{commit}}"
            )
            if not commit and since:
                raise UsageError(f"git does not know the revision '{since}'", hint="name a commit, a branch or a tag")
            if not commit:
                return None
            counted = await git.ask("diff", "--numstat", "--no-ext-diff", "--no-textconv", commit, "--")
    except TargetUnavailable:  # there is no git
        return None
    finally:
        await sandbox.close()
    found = _counted(since or UNCOMMITTED, counted)
    return found if found.files or since else None


class _Git:
    def __init__(self, session: SandboxSession, folder: Path, environment: Mapping[str, str]) -> None:
        self._session, self._folder = session, folder
        self._environment = {**environment, "GIT_OPTIONAL_LOCKS": "0", "GIT_PAGER": "cat", "LC_ALL": "C"}

    async def ask(self, *words: str) -> str:
        """What git prints; nothing where it refuses."""
        request = ProcessRequest(
            argv=("git", *_SAFELY, *words),
            cwd=str(self._folder),
            env=self._environment,
            timeout_s=LIMIT_S,
            keep_bytes=KEPT_BYTES,
        )
        result = await self._session.run(request)
        return result.stdout.decode(errors="replace").strip() if result.exit_code == 0 else ""


def _counted(since: str, numstat: str) -> Changes:
    """Of a binary file, git counts no lines."""
    rows = [line.split("\t")[:2] for line in numstat.splitlines() if line.count("\t") >= 2]
    added, removed = (sum(int(row[side]) for row in rows if row[side].isdecimal()) for side in (0, 1))
    return Changes(since=since, files=len(rows), added=added, removed=removed)
