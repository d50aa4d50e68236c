"""An object of the other process. All operations on it are executed there.

It never equals data, so the code cannot pass the tests something that claims to equal everything. `objects.py`
transfers requests and replies.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from evalharness.runners.call_python import awaited
from evalharness.runners.foreign_errors import Foreign
from evalharness.runners.kept import IN_PLACE, Kept

Operations = Mapping[str, Callable[..., Any]]

ARITHMETIC = (
    "add",
    "sub",
    "mul",
    "matmul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "and_",
    "or_",
    "xor",
    "lshift",
    "rshift",
)
ORDER = ("lt", "le", "gt", "ge")
OF_ONE = ("neg", "pos", "invert", "abs", "int", "float", "complex", "round", "trunc", "floor", "ceil")
INSIDE = ("getitem", "setitem", "delitem")
CALL: Operations = {"call": lambda function, arguments, keywords: function(*arguments, **keywords)}
EVERYTHING: Operations = {
    **CALL,
    **{
        name: getattr(operator, name) for name in (*ARITHMETIC, *ORDER, *OF_ONE[:4], *INSIDE, "contains", "eq", "truth")
    },
    **{function.__name__: function for function in (int, float, complex, round, math.trunc, math.floor, math.ceil)},
    **{
        function.__name__: function
        for function in (
            getattr,
            setattr,
            delattr,
            isinstance,
            issubclass,
            len,
            iter,
            next,
            reversed,
            str,
            repr,
            format,
        )
    },
    **{name: getattr(operator, name) for name in IN_PLACE},
    "data": lambda value: value,
    "await": awaited,
    "enter": lambda manager: type(manager).__enter__(manager),
    "exit": lambda manager, *raised: bool(type(manager).__exit__(manager, *raised)),
}


NAMED = ("__name__", "__qualname__", "__wrapped__")
NO_BASE = (
    "a class of the tests cannot be derived from a class of the code, which is in another process (exceptions aside): "
    "let the tests use the code's own classes, or pass functions"
)
ITS_WORD = (
    "whether an object of the code contains data of the tests is decided by iterating over it, "
    "and it cannot be iterated"
)


class Remote:
    """An object of the other process."""

    def __init__(self, link: Any, number: int, kind: str) -> None:
        self.__dict__.update(_link=link, _number=number, _kind=kind)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self._link.ask("call", self, arguments, keywords)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and not (name in NAMED and self._link.may_look):
            raise AttributeError(name)
        return self._link.ask("getattr", self, name)

    def __delattr__(self, name: str) -> None:
        self._link.ask("delattr", self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._link.ask("setattr", self, name, value)

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, Remote | Kept) and bool(self._link.ask("isinstance", instance, self))

    def __subclasscheck__(self, kind: Any) -> bool:
        return isinstance(kind, Remote | Foreign) and bool(self._link.ask("issubclass", kind, self))

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        refused: tuple[Any, ...] = self._link.refuse(NO_BASE)
        return refused

    def __enter__(self) -> Any:
        return self._link.ask("enter", self)

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        """It may suppress what the tests raise, but neither a failed assertion nor what the code itself raised."""
        if error is not None and not isinstance(error, Exception):
            return False
        hidden = bool(self._link.ask("exit", self, kind, error, None))
        return hidden and not (isinstance(error, AssertionError) or self._link.has_raised(error))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Remote) and bool(self._link.ask("eq", self, other))

    def __contains__(self, member: Any) -> bool:
        return bool(self._link.ask("contains", self, member) if isinstance(member, Remote) else self._has(member))

    def _has(self, member: Any) -> bool:
        """Decide by iterating: if asked whether it contains data of the tests, the code could always say yes."""
        try:
            return any(item is member or item == member for item in self)
        except Exception as error:  # the code may raise anything: it cannot be iterated
            self._link.refuse(ITS_WORD, error)
            raise

    def __hash__(self) -> int:
        return hash(self._number)

    def __bool__(self) -> bool:
        return bool(self._link.compute("truth", self))

    def __len__(self) -> int:
        return int(self._link.ask("len", self))

    def __format__(self, specification: str) -> str:
        return str(self._link.ask("format", self, specification))

    def __reversed__(self) -> Any:
        return self._link.ask("reversed", self)

    def __iter__(self) -> Any:
        return self._link.ask("iter", self)

    def __next__(self) -> Any:
        return self._link.ask("next", self)

    def __str__(self) -> str:
        return str(self._link.ask("str", self))

    def __repr__(self) -> str:
        return str(self._link.ask("repr", self)) if self._link.may_look else f"<{self._kind} of the tests>"


def _forwarding(operation: str, ask: str = "ask") -> Callable[..., Any]:
    return lambda self, *values: getattr(self._link, ask)(operation, self, *values)


def _reflected(operation: str) -> Callable[..., Any]:
    return lambda self, other: self._link.compute(operation, other, self)


for _name in INSIDE:
    setattr(Remote, f"__{_name}__", _forwarding(_name))
for _name in (*ARITHMETIC, *ORDER, *OF_ONE):
    setattr(Remote, f"__{_name.strip('_')}__", _forwarding(_name, "compute"))
for _name in ARITHMETIC:
    setattr(Remote, f"__r{_name.strip('_')}__", _reflected(_name))
