"""Every kind of reference vector is used by a test of this folder, and no test uses a missing kind."""

from __future__ import annotations

import ast
import json
from pathlib import Path

HERE = Path(__file__).parent
VECTORS = json.loads((HERE.parents[1] / "fixtures" / "statistics-vectors.json").read_text(encoding="utf-8"))


def used_in(path: Path) -> set[str]:
    """The kinds that a file takes out of `VECTORS`; a mention in a comment or a text does not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    taken = [
        node for node in ast.walk(tree) if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "VECTORS"
    ]
    return {str(node.slice.value) for node in taken if isinstance(node.slice, ast.Constant)}


def test_every_kind_of_vector_is_used_and_every_one_used_exists() -> None:
    used = set().union(*(used_in(path) for path in HERE.glob("test_*.py")))
    assert VECTORS
    assert set(VECTORS) == used


def test_no_kind_of_vector_is_empty() -> None:
    assert all(VECTORS.values())


OWN = {"published_runs": 12, "clustered_wilson_edge": 3}
"""The kinds with values of the product's own, and of how many vectors: all intervals over cases, and nothing else."""


def test_what_differs_from_the_reference_is_marked_and_the_value_of_the_reference_kept() -> None:
    marked = {kind: [vector for vector in vectors if "note" in vector] for kind, vectors in VECTORS.items()}
    assert {kind: len(vectors) for kind, vectors in marked.items() if vectors} == OWN
    assert all(vector["ci"] != vector["published_ci"] for vectors in marked.values() for vector in vectors)
