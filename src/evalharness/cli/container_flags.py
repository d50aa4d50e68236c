"""Flags of the commands that may run containers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from evalharness.cli.command import EXECUTION
from evalharness.cli.flags import group, option

container_options: Callable[[Any], Any] = group(
    option(
        "--container-runtime",
        type=click.Choice(["docker", "podman"]),
        heading=EXECUTION,
        help="What runs containers.  [default: the first one that answers]",
    ),
    option("--keep-containers", is_flag=True, heading=EXECUTION, help="Do not remove containers that have ended."),
    option(
        "--pull",
        type=click.Choice(["missing", "always", "never"]),
        default="missing",
        show_default=True,
        heading=EXECUTION,
        help="When to fetch images.",
    ),
)


def container_wishes(flags: Mapping[str, Any]) -> Any:
    from evalharness.domain.run import ContainerOptions

    return ContainerOptions(runtime=flags["container_runtime"] or "", keep=flags["keep_containers"], pull=flags["pull"])
