"""Two processes that use each other's objects: the tests in one, the code under test in the other.

An object of the other process is a `Remote`. It never equals data, so the code cannot pass the tests something that
claims to equal everything, nor change anything in the process that judges it.
"""

from __future__ import annotations

import json
import os
from typing import IO, Any, NoReturn

from evalharness.runners.crossing import decode, encode
from evalharness.runners.foreign_errors import STAND_INS, Foreign, ForeignError, home_number, remade
from evalharness.runners.kept import Kept, made, number_of, own_ways, renewed
from evalharness.runners.remotes import CALL, OF_ONE, ORDER, Operations, Remote

MOST_BYTES = 33_554_432
LONGEST_COMPLAINT = 200
GONE = "the code ended its process"
OUT_OF_TURN = "the code sent an unexpected message"
TOO_LARGE = f"a result is larger than {MOST_BYTES // 2**20} MiB"
DATA_CAME = (
    "an operator on an object of the code and data of the tests returned data, so the code could return "
    "whatever the tests expect; it must return an object"
)


DIFFERENCES = ("sub", "xor", "and_")
"""Operators that tests use to compare: `len(found ^ {1, 2}) == 0`. The others create new objects (`vector * 2`)."""
MEASURES = ("len", "iter", "format")
"""Operations that show whether a difference is empty. Formatting without a specification returns a text."""


class OtherSideEnded(BaseException):
    """The other process has ended, or breaks the rules. `except Exception` in a test must not hide it."""


class Link:
    """One end of the connection. `serves` are the operations that the other side may request."""

    def __init__(self, descriptor: int, serves: Operations) -> None:
        self._reader: IO[bytes] = os.fdopen(descriptor, "rb")
        self._writer: IO[bytes] = os.fdopen(os.dup(descriptor), "wb")
        self._serves = serves
        self._lent: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._borrowed: dict[tuple[str, int], Any] = {}
        """By kind and number, so that the other side cannot turn an object into another kind."""
        self._raised: list[Exception] = []
        self._told: set[int] = set()
        """The objects that may know data of the tests."""
        self._compared: set[int] = set()
        """Those of them that are the result of a comparison with it."""
        self.ended: OtherSideEnded | None = None
        self.turns = 0
        """The number of requests that may have changed data of the other side."""

    @property
    def may_look(self) -> bool:
        """Whether this is the side of the tests; the code may only call what the tests lend it."""
        return self._serves is CALL

    def ask(self, operation: str, *values: Any) -> Any:
        """Execute an operation on the other side. After an end, all further ones fail, so that no reply is mixed up."""
        try:
            if self.ended is not None:
                raise self.ended
            if operation in MEASURES and self._is_compared(values[0]) and values[1:] != ("",):
                raise OtherSideEnded(DATA_CAME)
            return self._asked(operation, *values)
        except OtherSideEnded as error:
            self.ended = error
            raise

    def _asked(self, operation: str, *values: Any) -> Any:
        self.turns += operation != "data"
        self.send({"ask": operation, "values": self._written(list(values))})
        while "ask" in (said := self.receive()):
            self._serve(said)
        if "ended" in said:
            raise OtherSideEnded(said["ended"] if isinstance(said["ended"], str) else OUT_OF_TURN)
        if "raised" in said:
            raise self._as_raised(operation, self._read(said["raised"]))
        if operation == "call":
            self._change(values[1], said.get("changed", []))
        return self._read(said.get("value"))

    def compute(self, operation: str, *values: Any) -> Any:
        """Execute an operator. A result that knows data of the tests stays an object, so it cannot pass for a number.

        Otherwise `abs(candidate(1) - 3) < 0.1` would ask the code whether it is right.
        """
        is_told = operation not in (*OF_ONE, "truth") and any(not isinstance(value, Remote | Kept) for value in values)
        knows = any(isinstance(value, Remote) and value._number in self._told for value in values)
        result = self.ask(operation, *values)
        if not (is_told or (knows and operation not in ORDER)):
            return result
        if operation in ORDER or not isinstance(result, Remote):
            self.refuse(DATA_CAME)
        self._told.add(result._number)
        if operation in DIFFERENCES:
            self._compared.add(result._number)
        return result

    def _is_compared(self, value: Any) -> bool:
        return isinstance(value, Remote) and value._number in self._compared

    def refuse(self, why: str, error: Exception | None = None) -> NoReturn:
        """Stop the tests, because the operation would let the code judge itself."""
        self.ended = OtherSideEnded(why)
        raise self.ended from error

    def serve(self) -> None:
        """Answer until the other side closes the connection."""
        while True:
            self._serve(self.receive())

    def send(self, said: dict[str, Any]) -> None:
        try:
            self._writer.write(json.dumps(said).encode() + b"\n")
            self._writer.flush()
        except OSError:
            raise OtherSideEnded(GONE) from None

    def receive(self) -> dict[str, Any]:
        try:
            line = self._reader.readline(MOST_BYTES)
        except OSError:
            raise OtherSideEnded(GONE) from None
        if not line.endswith(b"\n"):
            raise OtherSideEnded(TOO_LARGE if len(line) == MOST_BYTES else GONE)
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            raise OtherSideEnded(OUT_OF_TURN) from None
        if not isinstance(said, dict) or not said.keys() & {"ask", "ended", "raised", "value"}:
            raise OtherSideEnded(OUT_OF_TURN)
        return said

    def has_raised(self, error: BaseException | None) -> bool:
        return any(error is raised for raised in self._raised)

    def _as_raised(self, operation: str, error: Any) -> Exception:
        """The exception to raise. As in a generator, only `next` may raise StopIteration.

        Any other StopIteration would end `all(map(…))` of a test early.
        """
        if not isinstance(error, Exception):
            raise OtherSideEnded(OUT_OF_TURN)
        is_stop = isinstance(error, StopIteration | StopAsyncIteration) and operation != "next"
        raised = RuntimeError(f"{type(error).__name__}: {error}") if is_stop else error
        self._raised.append(raised)
        return raised

    def _serve(self, said: dict[str, Any]) -> None:
        asked, written = said["ask"], said.get("values")
        if not isinstance(asked, str) or not isinstance(written, list):
            raise OtherSideEnded(OUT_OF_TURN)
        operation = self._serves.get(asked)
        if operation is None or (self.may_look and not _is_given(written)):
            raise OtherSideEnded(f"the code tried to {asked} an object of the tests"[:LONGEST_COMPLAINT])
        values = self._read(written)
        try:
            replied = {"value": self._written(operation(*values))}
            if operation is CALL["call"]:
                replied["changed"] = self._changed(written[1]["tuple"], values[1])
        except Exception as error:  # noqa: BLE001 - the other side handles it
            replied = {"raised": self._written(error.with_traceback(None))}
        self.send(replied)

    def _changed(self, before: list[Any], arguments: tuple[Any, ...]) -> list[tuple[int, Any]]:
        """The arguments that a function changed in place, as a sort does."""
        mutable = [place for place, value in enumerate(arguments) if isinstance(value, list | dict | set)]
        after = [(place, self._written(arguments[place])) for place in mutable]
        return [(place, written) for place, written in after if written != before[place]]

    def _written(self, value: Any) -> Any:
        return encode(value, self._lend, self._keep)

    def _read(self, written: Any) -> Any:
        try:
            return decode(written, self._find)
        except Exception as error:  # the other side may send anything; this is not an exception that it raised
            raise OtherSideEnded(OUT_OF_TURN) from error

    def _change(self, arguments: tuple[Any, ...], changed: Any) -> None:
        try:
            parts = [(arguments[place], self._read(written)) for place, written in changed]
        except (LookupError, TypeError, ValueError):
            raise OtherSideEnded(OUT_OF_TURN) from None
        for old, new in parts:
            _replace(old, new)

    def _keep(self, value: Any, kind: str, data: Any) -> list[Any] | None:
        """How data of a derived class is encoded; for the code, data of the tests is plain data."""
        if (at_home := number_of(value)) is not None:
            vars(value)["_kept_is_touched"] = True
            return ["yours", at_home]
        return None if self.may_look else ["kept", self._number(value), kind, own_ways(value, kind), data]

    def _number(self, value: Any) -> int:
        number = self._numbers.setdefault(id(value), len(self._lent))
        if number == len(self._lent):
            self._lent.append(value)
        return number

    def _lend(self, value: Any) -> list[Any]:
        at_home = value._number if isinstance(value, Remote) else home_number(value)
        if at_home is not None:
            return ["yours", at_home]
        number = self._number(value)
        if isinstance(value, type) and issubclass(value, Exception):
            bases = [base for base in value.__bases__ if issubclass(base, Exception)]
            return ["class", number, value.__name__, self._written(bases)]
        if isinstance(value, Exception):
            parts = [type(value), value.args, vars(value), value.__cause__]
            return ["error", number, str(value), *map(self._written, parts)]
        return ["mine", number, type(value).__name__]

    def _find(self, reported: Any) -> Any:
        """The object for a reference. The same object is always the same one here, so `is`, `except` and keys work."""
        if isinstance(reported, type):
            return STAND_INS.get(reported, reported) if self.may_look else reported
        what, number, *more = reported
        if what not in ("yours", "mine", "kept", "class", "error") or type(number) is not int or number < 0:
            raise OtherSideEnded(OUT_OF_TURN)
        if what == "yours":
            return self._lent[number]
        if what == "error":
            text, *parts = more
            kind, arguments, attributes, cause = map(self._read, parts)
            former = self._borrowed.get((what, number))
            if not (isinstance(kind, type) and issubclass(kind, Exception)) or type(former) not in (type(None), kind):
                raise OtherSideEnded(OUT_OF_TURN)
            error = remade(kind, arguments, attributes, cause, former)
            if isinstance(error, ForeignError):
                vars(error).update(_home=number, _text=text)
            return self._borrowed.setdefault((what, number), error)
        if (what, number) not in self._borrowed:
            self._borrowed[what, number] = self._borrow(what, number, more)
        elif what == "kept":
            return renewed(self._borrowed[what, number], self._read(more[-1]))
        return self._borrowed[what, number]

    def _borrow(self, what: str, number: int, more: list[Any]) -> Any:
        if what == "class":
            name, bases = more
            found = self._read(bases)
            if not all(isinstance(base, type) and issubclass(base, Exception) for base in found):
                raise OtherSideEnded(OUT_OF_TURN)
            return Foreign.of(self, number, str(name), found)
        if what == "kept":
            kind, own, data = more
            return made(self, number, kind, own, self._read(data))
        remote = Remote(self, number, *more)
        return _awaiting(remote) if more == ["coroutine"] and self.may_look else remote


async def _awaiting(coroutine: Remote) -> Any:
    """A coroutine that runs to its end in its own process when it is awaited."""
    return coroutine._link.ask("await", coroutine)


def _is_given(written: list[Any]) -> bool:
    """Whether the first value is an object that was lent: the code may not call what it only names, such as `type`."""
    held = written[0].get("object") if written and isinstance(written[0], dict) else None
    return isinstance(held, list) and held[:1] == ["yours"]


def _replace(old: Any, new: Any) -> None:
    if isinstance(old, Kept):  # already updated when it was read
        return
    if isinstance(old, list) and isinstance(new, list):
        old[:] = new
    elif isinstance(old, dict | set) and isinstance(new, type(old)):
        old.clear()
        old.update(new)
