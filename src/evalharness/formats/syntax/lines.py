"""Line numbers beside plain data: a tree of the same shape, holding the line of each key and element.

A scalar's place is its line alone; a container's place is its line and the places of what it holds.
"""

from __future__ import annotations

from typing import TypeAlias

from evalharness.domain.problem import FieldPath

Lines: TypeAlias = "int | tuple[int, dict[str, Lines] | list[Lines]]"


def line_at(lines: Lines, path: FieldPath) -> int:
    """The line of what `path` names, or of its nearest ancestor that exists."""
    for step in path:
        if isinstance(lines, int):
            break
        children = lines[1]
        if isinstance(children, dict):
            found = children.get(step) if isinstance(step, str) else None
        else:
            found = children[step] if isinstance(step, int) and 0 <= step < len(children) else None
        if found is None:
            break
        lines = found
    return lines if isinstance(lines, int) else lines[0]
