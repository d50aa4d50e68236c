"""Redacting what is shown. By itself, so that a command that only reads need not load what runs need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from evalharness.errors import HarnessError
from evalharness.stores.sql_store import SqlStore


def redaction_of(store: SqlStore) -> Callable[[str], str]:
    """What is shown is redacted as what is stored is; `resume` learns the secrets only after opening the store."""

    def redact(text: str) -> str:
        return store.redactor.redact(text)

    return redact


@contextmanager
def errors_redacted(redact: Callable[[str], str]) -> Iterator[None]:
    try:
        yield
    except HarnessError as error:
        error.message, error.hint = redact(error.message), redact(error.hint)
        cause: BaseException | None = error
        while cause is not None:  # a stack trace shows them all
            cause.args = tuple(redact(each) if isinstance(each, str) else each for each in cause.args)
            cause = cause.__cause__ or cause.__context__
        raise
