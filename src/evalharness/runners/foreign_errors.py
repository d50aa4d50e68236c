"""Exceptions of the other process, as classes for `except` and objects for `raise`.

Each exception class that the other side defines has one class here, with the same name and bases. Its behaviour stays
on the other side; only names and data are transferred. Python's own classes represent themselves and are not handled
here.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any


class AnswersException(Exception):
    """Represents the code's `Exception` and `BaseException` in the tests, so that `except` catches no failed test."""

    _stands_for: type = Exception


class AnswersAssertionError(AnswersException, AssertionError):
    """The same for `AssertionError`."""

    _stands_for = AssertionError


for _class in (AnswersException, AnswersAssertionError):
    _class.__name__ = _class.__qualname__ = _class._stands_for.__name__
STAND_INS: dict[type, type] = {
    BaseException: AnswersException,
    Exception: AnswersException,
    AssertionError: AnswersAssertionError,
}
OURS = ("__", "_link", "_home", "_text")
"""Prefixes of attributes that are not copied from an exception."""


class Foreign(type):
    """The type of an exception class of the other process."""

    _home: int
    _link: Any

    @classmethod
    def of(mcs, link: Any, number: int, name: str, bases: list[type[Exception]]) -> Foreign:
        """Create the class; `number` identifies it on the other side."""
        is_mixed_in = any(issubclass(base, ForeignError) for base in bases)
        mixed: tuple[type, ...] = tuple(bases) if is_mixed_in else (ForeignError, *bases)
        return mcs(name, mixed, {"_home": number, "_link": link, "__module__": "answer"})

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        if "_home" in vars(cls):
            return cls._link.ask("call", cls, arguments, keywords)
        return super().__call__(*arguments, **keywords)  # a class defined here and derived from one of the other side

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") or not cls._link.may_look:
            raise AttributeError(name)
        return cls._link.ask("getattr", cls, name)


class ForeignError:
    """An exception of the other process. Its data is here; everything else is requested from there, if allowed."""

    _link: Any

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not self._may_ask():
            raise AttributeError(name)
        return self._link.ask("getattr", self, name)

    def __str__(self) -> str:
        return str(vars(self)["_text"]) if "_text" in vars(self) else super().__str__()

    def __repr__(self) -> str:
        return str(self._link.ask("repr", self)) if self._may_ask() else super().__repr__()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, ForeignError) and self._may_ask() and bool(self._link.ask("eq", self, other))

    __hash__ = object.__hash__

    def _may_ask(self) -> bool:
        return bool(home_number(self) is not None and self._link.may_look)


def home_number(value: Any) -> int | None:
    """The number that identifies a class or an exception on the other side; None for other values."""
    if isinstance(value, Foreign | ForeignError):
        found: int | None = vars(value).get("_home")
        return found
    return None


def remade(
    kind: type[Exception], arguments: tuple[Any, ...], attributes: dict[str, Any], cause: Any, former: Any
) -> Exception:
    """An exception with this data; `former` is the earlier copy of the same one. No code of its class is run."""
    error: Exception = kind.__new__(kind, *arguments) if former is None else former
    own = next(found for found in kind.__mro__ if found.__module__ == "builtins")
    with suppress(TypeError, ValueError):  # some, such as UnicodeDecodeError, accept only certain arguments
        own.__init__(error, *arguments)  # type: ignore[misc]
    error.args = arguments
    vars(error).update({name: held for name, held in attributes.items() if not name.startswith(OURS)})
    error.__cause__ = cause if isinstance(cause, Exception) else None
    return error
