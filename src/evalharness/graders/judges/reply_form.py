"""The form of a judge's reply: which keys it has and what each may hold. Anything else is refused.

Nothing is converted or clamped: a judge that writes "4", true or 7 of 5 has not understood, and is asked again. It is
told what is wrong by kinds (`a text is no number`), never in words of its reply: they may be those of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

from evalharness.values.digest import digest
from evalharness.values.json_value import Json

NONCE = "nonce"
LONGEST_NUMBER = 12


class Slot(Protocol):
    """What may stand at one place of a reply."""

    def schema(self) -> dict[str, Json]:
        """For servers that hold replies to a JSON Schema; only words that most of them know."""
        ...

    def shown(self) -> str:
        """For the judge to read."""
        ...

    def read(self, value: Any) -> Json:
        """The value; raises ValueError, in words, for what must not stand there."""
        ...


@dataclass(frozen=True, slots=True)
class Words:
    about: str
    needed: bool = False

    def schema(self) -> dict[str, Json]:
        return {"type": "string"}

    def shown(self) -> str:
        return f'"<{self.about}>"'

    def read(self, value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError(f"{_kind_text(value)} is not a text")
        if self.needed and not value.strip():
            raise ValueError("the text is empty")
        return sound(value)


@dataclass(frozen=True, slots=True)
class Lines:
    about: str

    def schema(self) -> dict[str, Json]:
        return {"type": "array", "items": {"type": "string"}}

    def shown(self) -> str:
        return f'["<{self.about}>"]'

    def read(self, value: Any) -> list[str]:
        if not isinstance(value, list) or not all(isinstance(line, str) for line in value):
            raise ValueError(f"{_kind_text(value)} is not a list of texts")
        return [sound(line) for line in value]


@dataclass(frozen=True, slots=True)
class YesOrNo:
    def schema(self) -> dict[str, Json]:
        return {"type": "boolean"}

    def shown(self) -> str:
        return "true or false"

    def read(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError(f"{_kind_text(value)} is neither true nor false")
        return value


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of these words, in upper or lower case."""

    words: tuple[str, ...]

    def schema(self) -> dict[str, Json]:
        return {"type": "string", "enum": list(self.words)}

    def shown(self) -> str:
        return " or ".join(f'"{word}"' for word in self.words)

    def read(self, value: Any) -> str:
        if value in self.words:
            return str(value)
        meant = [word for word in self.words if isinstance(value, str) and word.casefold() == value.casefold()]
        if len(meant) != 1:
            raise ValueError(f"{_kind_text(value)} is none of {', '.join(self.words)}")
        return meant[0]


@dataclass(frozen=True, slots=True)
class NumberField:
    low: float
    high: float

    @property
    def _is_scale(self) -> bool:
        """From 1 to 5 whole numbers are asked for, though halves are taken; from 0 to 1 they would say too little."""
        return float(self.low).is_integer() and float(self.high).is_integer() and self.high - self.low > 1

    def schema(self) -> dict[str, Json]:
        low, high = (int(self.low), int(self.high)) if self._is_scale else (self.low, self.high)
        return {"type": "integer" if self._is_scale else "number", "minimum": low, "maximum": high}

    def shown(self) -> str:
        return f"<{self.low:g} to {self.high:g}>"

    def read(self, value: Any) -> float | int:
        if isinstance(value, bool) or not isinstance(value, int | float) or not self.low <= value <= self.high:
            raise ValueError(f"{_kind_text(value)} is not a number from {self.low:g} to {self.high:g}")
        return value


@dataclass(frozen=True)
class Form:
    """A mapping with exactly these keys; what decides nothing may be missing."""

    slots: Mapping[str, Slot]
    may_lack: frozenset[str] = frozenset()
    """Keys that a reply may leave out. They are asked for all the same."""
    key_of: Callable[[str], str] = str
    """The key that a name means, where people have their own spelling of it."""

    @cached_property
    def digest(self) -> str:
        return digest([self.schema(), self.shown()])

    def schema(self) -> dict[str, Json]:
        return {
            "type": "object",
            "properties": dict(self._schemas),
            "required": list(self.slots),
            "additionalProperties": False,
        }

    def shown(self) -> str:
        return f"{{{self._shown}}}"

    @cached_property
    def _schemas(self) -> dict[str, Json]:
        """Made once: one form serves all questions of a grader."""
        return {name: slot.schema() for name, slot in self.slots.items()}

    @cached_property
    def _shown(self) -> str:
        return ", ".join(f'"{name}": {slot.shown()}' for name, slot in self.slots.items())

    def read(self, value: Any) -> dict[str, Json]:
        if not isinstance(value, Mapping):
            raise ValueError(f"{_kind_text(value)} is not a mapping")
        keyed = {self.key_of(str(name)): each for name, each in value.items()}
        if len(keyed) < len(value):
            raise ValueError("a key appears twice, in two spellings")
        wrong = [f"'{name}' is missing" for name in self.slots if name not in keyed and name not in self.may_lack]
        if unknown := sum(name not in self.slots for name in keyed):
            wrong.append(f"{unknown} unknown key{'' if unknown == 1 else 's'}")
        if wrong:
            raise ValueError("; ".join(wrong[:5]))
        return {name: _read(name, slot, keyed[name]) for name, slot in self.slots.items() if name in keyed}


@dataclass(frozen=True, slots=True)
class Echo:
    """The random word of this one call: whoever wrote the text that is judged cannot know it."""

    word: str

    def schema(self) -> dict[str, Json]:
        return {"type": "string", "enum": [self.word]}

    def shown(self) -> str:
        return f'"{self.word}"'

    def read(self, value: Any) -> str:
        if value != self.word:
            raise ValueError(f"it must be {self.word}")
        return self.word


def with_echo(form: Form, nonce: str) -> Form:
    """The form of one call; what is known of the form without its random word need not be found out again."""
    echo = Echo(nonce)
    echoing = replace(form, slots={NONCE: echo, **form.slots})
    vars(echoing)["_schemas"] = {NONCE: echo.schema(), **form._schemas}
    vars(echoing)["_shown"] = f'"{NONCE}": {echo.shown()}, {form._shown}'
    return echoing


def _read(name: str, slot: Slot, value: Any) -> Json:
    try:
        return slot.read(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def sound(text: str) -> str:
    """What UTF-8 cannot say, half of a surrogate pair, is replaced: it could be neither stored nor sent."""
    return text.encode(errors="replace").decode()


def _kind_text(value: Any) -> str:
    """Its kind. Numbers and true are no sentences, so they are shown."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return written if len(written := f"{value!r}") <= LONGEST_NUMBER else "a number"
    if value in (True, False, None):
        return {True: "true", False: "false"}.get(value, "null")
    return "a text" if isinstance(value, str) else "a list" if isinstance(value, list) else "a mapping"
