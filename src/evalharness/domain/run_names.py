"""Names people can say (`brave-otter-042`) and ids that sort by time (`eval-20261115-194512-a3f9`)."""

from __future__ import annotations

from datetime import datetime
from random import Random

ADJECTIVES = (
    "amber", "bold", "brave", "bright", "calm", "clever", "crisp", "eager", "fair", "gentle",
    "jolly", "keen", "lively", "mellow", "noble", "quick", "quiet", "steady", "sunny", "witty",
)  # fmt: skip
NOUNS = (
    "badger", "beacon", "cedar", "comet", "falcon", "fjord", "harbor", "heron", "lantern", "maple",
    "meadow", "otter", "panda", "pebble", "raven", "river", "sparrow", "summit", "tiger", "willow",
)  # fmt: skip


def generate_run_name(rng: Random) -> str:
    return f"{rng.choice(ADJECTIVES)}-{rng.choice(NOUNS)}-{rng.randrange(1000):03d}"


def generate_run_id(now: datetime, rng: Random) -> str:
    return f"eval-{now:%Y%m%d-%H%M%S}-{rng.randrange(16**4):04x}"
