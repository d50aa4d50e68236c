"""The images that a Dockerfile names: each is to be in the lock, by its digest or as one that has none."""

from __future__ import annotations

from evalharness.targets.dockerfile_images import images_of

DOCKERFILE = """
# FROM comment:1
ARG BASE=debian
from --platform=linux/amd64 golang:1.25 AS Built
RUN echo FROM nowhere:1
FROM scratch AS empty
FROM $BASE:12
FROM debian:12
COPY --from=built /agent /agent
COPY --chmod=755 --from=tools:2 \\
  /tool /tool
COPY --from=0 /other /other
COPY from /from
FROM built
"""


def test_images_and_not_stages() -> None:
    assert images_of(DOCKERFILE) == (("golang:1.25", "debian:12", "tools:2"), ("$BASE:12",))
