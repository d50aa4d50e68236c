"""Data whose class the other process derived from one of Python's types: a stack that is a list, a named tuple.

The data itself is here. It is compared, ordered, iterated and computed with by Python's own type, regardless of how its
class defines `==`. Methods that the class adds, and changes, are executed in the other process; afterwards the data is
fetched again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FIXED = (int, float, str, bytes, tuple, frozenset)
CHANGEABLE = (list, dict, set)
KINDS = {kind.__name__: kind for kind in (*FIXED, *CHANGEABLE)}
OF_CLASS = ("getitem", "len", "iter", "reversed", "str", "repr", "format", "neg", "abs", "invert")
"""What a class may redefine, because no data of the tests is passed to it except a key."""
AMONG_ITS_LIKE = ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor")
FIELDS = ("count", "index")
"""Methods of a tuple that are field names in some named tuples."""
IN_PLACE = ("iadd", "imul", "ior", "iand", "isub", "ixor")
CHANGES = (
    *("add", "append", "clear", "copy", "discard", "extend", "get", "insert", "pop", "popitem", "remove", "reverse"),
    *("setdefault", "sort", "update", "difference_update", "intersection_update", "symmetric_difference_update"),
)
"""Methods that are executed in the other process: `get` because a cache may count calls, `copy` to keep the class."""
READS = ("eq", "ne", "lt", "le", "gt", "ge", "contains", "len", "iter", "reversed", "repr", "getitem")


def derived_from(value: Any) -> str:
    """The name of the built-in type that its class is derived from; empty if it is that type itself, or an array."""
    if type(value) in KINDS.values() or isinstance(value, bool) or hasattr(type(value), "tolist"):
        return ""
    return next((name for name, kind in KINDS.items() if isinstance(value, kind)), "")


def own_ways(value: Any, kind: str) -> list[str]:
    """The operations that its class defines differently from the type it is derived from."""
    names = {f"__{name}__": name for name in (*OF_CLASS, *AMONG_ITS_LIKE)} | {name: name for name in FIELDS}
    found = type(value)
    own = [name for full, name in names.items() if getattr(found, full, None) is not getattr(KINDS[kind], full, None)]
    return [*own, "getitem"] if hasattr(found, "__missing__") else own


class Kept:
    """Data of the other process, with its number there."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name.startswith("_kept"):
            raise AttributeError(name)
        return asked(self, "getattr", name)

    def __setattr__(self, name: str, value: Any) -> None:
        asked(self, "setattr", name, value)

    def __delattr__(self, name: str) -> None:
        asked(self, "delattr", name)

    def __copy__(self) -> Any:
        return vars(self)["_kept_kind"](self)

    def __deepcopy__(self, memo: Any) -> Any:
        import copy  # lazy: rarely needed

        return copy.deepcopy(self.__copy__(), memo)


def asked(kept: Any, operation: str, *values: Any) -> Any:
    """Execute an operation in the other process. From the first one on, the data may change with every other."""
    state = vars(kept)
    state["_kept_is_touched"] = True
    return state["_kept_link"].ask(operation, kept, *values)


def number_of(value: Any) -> int | None:
    return vars(value)["_kept_number"] if isinstance(value, Kept) else None


def made(link: Any, number: int, kind: str, own: list[str], data: Any) -> Any:
    """The data with this number; raises KeyError, TypeError or ValueError if it is not of that kind."""
    of: Any = KINDS[kind]
    if type(data) is not of:
        raise TypeError(kind)
    kept: Any = CLASSES[of].__new__(CLASSES[of], *([data] if of in FIXED else []))
    vars(kept).update(_kept_link=link, _kept_number=number, _kept_kind=of, _kept_own=frozenset(own))
    vars(kept).update(_kept_is_touched=False, _kept_turn=link.turns)
    return renewed(kept, data)


def renewed(kept: Any, data: Any) -> Any:
    of: Any = vars(kept)["_kept_kind"]
    if type(data) is not of:
        raise TypeError(of.__name__)
    if of is list:
        list.__setitem__(kept, slice(None), data)
    elif of in (dict, set):
        of.clear(kept)
        of.update(kept, data)
    vars(kept)["_kept_turn"] = vars(kept)["_kept_link"].turns
    return kept


def _refresh(kept: Any) -> None:
    state = vars(kept)
    if (
        state["_kept_kind"] in CHANGEABLE
        and state["_kept_is_touched"]
        and state["_kept_turn"] != state["_kept_link"].turns
    ):
        state["_kept_link"].ask("data", kept)
        state["_kept_turn"] = state["_kept_link"].turns


def _reading(of: type, name: str) -> Callable[..., Any]:
    local = getattr(of, name)

    def read(self: Any, *values: Any, **keywords: Any) -> Any:
        for value in (self, *values):
            if isinstance(value, Kept):
                _refresh(value)
        return local(self, *values, **keywords)

    return read


def _own_way(of: type, name: str, here: Callable[..., Any] | None) -> Callable[..., Any]:
    def act(self: Any, *values: Any) -> Any:
        if name in vars(self)["_kept_own"]:
            return asked(self, name, *values)
        if here is None:
            raise TypeError(f"this {of.__name__} has no __{name}__")
        return here(self, *values)

    return act


def _among_its_like(name: str, here: Callable[..., Any] | None) -> Callable[..., Any]:
    """With data of the tests, compute by the built-in type; otherwise the code could make any difference empty."""

    def act(self: Any, other: Any, *more: Any) -> Any:
        if isinstance(other, Kept) and name in vars(self)["_kept_own"]:
            return asked(self, f"{name}_" if name in ("and", "or") else name, other)
        return here(self, other, *more) if here else NotImplemented

    return act


def _changing(operation: str) -> Callable[..., Any]:
    def act(self: Any, *values: Any) -> Any:
        asked(self, operation, *values)
        return self if operation in IN_PLACE else None

    return act


def _elsewhere(name: str) -> property:
    return property(lambda self: asked(self, "getattr", name))


def _field(of: type, name: str) -> property:
    return property(
        lambda self: (
            asked(self, "getattr", name) if name in vars(self)["_kept_own"] else getattr(of, name).__get__(self)
        )
    )


def _class_for(of: type) -> type:
    body: dict[str, Any] = {"__hash__": of.__hash__}
    if of in CHANGEABLE:
        public = [name for name in dir(of) if not name.startswith("_")]
        body |= {name: _elsewhere(name) if name in CHANGES else _reading(of, name) for name in public}
        body |= {f"__{name}__": _reading(of, f"__{name}__") for name in READS if hasattr(of, f"__{name}__")}
        changing = (*IN_PLACE, "setitem", "delitem")
        body |= {f"__{name}__": _changing(name) for name in changing if hasattr(of, f"__{name}__")}
    if of is tuple:
        body |= {name: _field(of, name) for name in FIELDS}
    for name in OF_CLASS:
        full = f"__{name}__"
        if hasattr(of, full) or name in ("neg", "abs", "invert"):
            body[full] = _own_way(of, name, body.get(full) or getattr(of, full, None))
    for name in AMONG_ITS_LIKE:
        full = f"__{name}__"
        body[full] = _among_its_like(name, _reading(of, full) if hasattr(of, full) else None)
    return type(of.__name__, (Kept, of), body)


CLASSES = {of: _class_for(of) for of in KINDS.values()}
