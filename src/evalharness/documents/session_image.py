"""The container image that a recorded session asks for. What else it says is in `session.py`, which is slow to load."""

from __future__ import annotations

from collections.abc import Mapping

from evalharness.values.json_value import Json


def image_named_by(metadata: Mapping[str, Json]) -> str:
    """The container image that the session of a case asks for; empty if it asks for none."""
    session = metadata.get("session")
    evals = session.get("evals") if isinstance(session, Mapping) else None
    image = evals.get("image") if isinstance(evals, Mapping) else None
    return image if isinstance(image, str) else ""
