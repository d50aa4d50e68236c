"""The message for an unknown name, and what a call was waiting for."""

from __future__ import annotations

import re

from evalharness import errors
from evalharness.errors import HarnessError, ModelUnavailable, UnknownName, waited_for


def test_every_class_has_the_exit_code_that_the_tree_says() -> None:
    drawn = dict(re.findall(r"(\w+) +(\d+)  ", errors.__doc__ or ""))
    classes = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, HarnessError)]
    assert {kind.__name__: str(kind.exit_code) for kind in classes} == drawn


def test_a_few_choices_are_all_listed_in_the_order_given() -> None:
    error = UnknownName("colour", "rde", ["red", "green", "blue", "red"])
    assert str(error) == "unknown colour 'rde'. Did you mean 'red'?"
    assert error.hint == "known: red, green, blue"
    assert UnknownName("colour", "x", ["light blue", "red"]).hint == "known: 'light blue', red"
    assert UnknownName("colour", "x", []).hint == ""


def test_of_many_choices_the_first_five_are_listed() -> None:
    error = UnknownName("run", "brave-oter-007", [f"brave-otter-{number:03}" for number in range(50)])
    assert error.message == "unknown run 'brave-oter-007'. Did you mean 'brave-otter-007'?"
    assert error.hint == "known: " + ", ".join(f"brave-otter-{number:03}" for number in range(5)) + " and 45 more"
    assert len(error.choices) == 50


def test_what_a_call_was_waiting_for_is_found_behind_its_time_limit() -> None:
    busy, cancelled, ended = ModelUnavailable("429"), RuntimeError("cancelled"), TimeoutError()
    cancelled.__cause__, ended.__cause__ = busy, cancelled
    assert waited_for(ended) is busy
    assert waited_for(TimeoutError()) is None
