"""Scorers of one's own."""


def has_ada(artifact):
    return float("Ada" in str(artifact.outputs["main"]["text"])) if "main" in artifact.outputs else 0.0


def has_eve(artifact):
    return 0.0
