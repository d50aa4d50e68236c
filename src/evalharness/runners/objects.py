"""Two processes that use each other's objects: the tests in one, the code under test in the other.

An object of the other process is a `Remote`. It equals no data at all, so code cannot hand the tests something that
claims to be equal to everything, nor change anything in the process that judges it.
"""

from __future__ import annotations

import builtins
import json
import operator
import os
from collections.abc import Callable, Mapping
from typing import IO, Any

from evalharness.runners.crossing import decode, encode

Operations = Mapping[str, Callable[..., Any]]

MOST_BYTES = 33_554_432
GONE = "the code ended its process"
TOO_LARGE = f"a result is larger than {MOST_BYTES // 2**20} MiB"
EXCEPTIONS: dict[str, type[Exception]] = {
    name: kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type)
    and issubclass(kind, Exception)
    and not issubclass(kind, UnicodeError | BaseExceptionGroup)
}
"""What can be raised again with nothing but a text."""
OPERATORS = (
    *("lt", "le", "gt", "ge", "add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor"),
    *("neg", "abs", "getitem", "setitem", "delitem", "contains"),
)
CALL: Operations = {"call": lambda function, arguments, keywords: function(*arguments, **keywords)}
EVERYTHING: Operations = {
    **CALL,
    **{name: getattr(operator, name) for name in (*OPERATORS, "eq", "truth")},
    **{function.__name__: function for function in (getattr, setattr, isinstance, len, iter, next, str)},
}


class OtherSideEnded(BaseException):
    """The other process is gone, or breaks the rules. No `except Exception` of a test may hide it."""


class Remote:
    """An object of the other process."""

    def __init__(self, link: Link, number: int, kind: str) -> None:
        self.__dict__.update(_link=link, _number=number, _kind=kind)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self._link.ask("call", self, arguments, keywords)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._link.ask("getattr", self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._link.ask("setattr", self, name, value)

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, Remote) and bool(self._link.ask("isinstance", instance, self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Remote) and bool(self._link.ask("eq", self, other))

    def __hash__(self) -> int:
        return hash(self._number)

    def __bool__(self) -> bool:
        return bool(self._link.ask("truth", self))

    def __len__(self) -> int:
        return int(self._link.ask("len", self))

    def __iter__(self) -> Any:
        return self._link.ask("iter", self)

    def __next__(self) -> Any:
        return self._link.ask("next", self)

    def __str__(self) -> str:
        return str(self._link.ask("str", self))

    def __repr__(self) -> str:
        return f"<{self._kind} of the code>"


def _forwarding(operation: str) -> Callable[..., Any]:
    return lambda self, *values: self._link.ask(operation, self, *values)


for _name in OPERATORS:
    setattr(Remote, f"__{_name.strip('_')}__", _forwarding(_name))


class Link:
    """One end of the connection. `serves` is what the other side may ask for."""

    def __init__(self, descriptor: int, serves: Operations) -> None:
        self._reader: IO[bytes] = os.fdopen(descriptor, "rb")
        self._writer: IO[bytes] = os.fdopen(os.dup(descriptor), "wb")
        self._serves = serves
        self._lent: list[Any] = []

    def ask(self, operation: str, *values: Any) -> Any:
        self.send({"ask": operation, "values": self._written(list(values))})
        while "ask" in (said := self.receive()):
            self._serve(said)
        if "ended" in said:
            raise OtherSideEnded(said["ended"])
        if "raised" in said:
            raise self._raised(operation, said)
        for place, written in said.get("changed", ()):
            _replace(values[1][place], self._read(written))
        return self._read(said["value"])

    def serve(self) -> None:
        """Answer until the other side hangs up."""
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
        said = json.loads(line)
        if not isinstance(said, dict) or not said.keys() & {"ask", "ended", "raised", "value"}:
            raise OtherSideEnded("the code spoke out of turn")
        return said

    def _raised(self, operation: str, said: dict[str, Any]) -> Exception:
        """As in a generator, only `next` may raise StopIteration: it would end `all(map(…))` of a test early."""
        kind = EXCEPTIONS.get(said["raised"], Exception)
        if issubclass(kind, StopIteration) and operation != "next":
            kind = RuntimeError
        return kind(said["text"])

    def _serve(self, said: dict[str, Any]) -> None:
        operation = self._serves.get(said["ask"])
        if operation is None:
            raise OtherSideEnded(f"the code wanted to {said['ask']} what belongs to the tests")
        values = self._read(said["values"])
        try:
            replied = {"value": self._written(operation(*values))}
            if operation is CALL["call"]:
                replied["changed"] = self._changed(said["values"][1]["tuple"], values[1])
        except Exception as error:  # noqa: BLE001 - it is the other side's to deal with
            kinds = [kind.__name__ for kind in type(error).__mro__ if EXCEPTIONS.get(kind.__name__) is kind]
            replied = {"raised": kinds[0], "text": str(error)}
        self.send(replied)

    def _changed(self, before: list[Any], arguments: tuple[Any, ...]) -> list[tuple[int, Any]]:
        """The arguments that a function changed in place, as it is expected of a sort."""
        mutable = [place for place, value in enumerate(arguments) if isinstance(value, list | dict | set)]
        after = [(place, self._written(arguments[place])) for place in mutable]
        return [(place, written) for place, written in after if written != before[place]]

    def _written(self, value: Any) -> Any:
        return encode(value, self._lend)

    def _read(self, written: Any) -> Any:
        return decode(written, self._find)

    def _lend(self, value: Any) -> list[Any]:
        if isinstance(value, Remote):
            return ["yours", value._number, ""]
        self._lent.append(value)
        return ["mine", len(self._lent) - 1, type(value).__name__]

    def _find(self, told: list[Any]) -> Any:
        whose, number, kind = told
        return self._lent[number] if whose == "yours" else Remote(self, number, kind)


def _replace(old: Any, new: Any) -> None:
    if isinstance(old, list) and isinstance(new, list):
        old[:] = new
    elif isinstance(old, dict | set) and isinstance(new, type(old)):
        old.clear()
        old.update(new)
