"""What is made readable for a program: the installation of an interpreter, and never somebody's home."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalharness.sandboxes.bubblewrap_command import folders_for


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def found(name: str | Path, *path: Path) -> set[str]:
    return set(folders_for(str(name), {"PATH": ":".join(map(str, path))}))


def test_what_the_system_has_needs_nothing() -> None:
    assert found("sh", Path("/usr/bin"), Path("/bin")) == set()
    assert found("no-such-program", Path("/usr/bin")) == set()


def test_a_virtual_environment_and_the_interpreter_behind_it(tmp_path: Path) -> None:
    python = program(tmp_path / "home/versions/3/bin/python3")
    (tmp_path / "home/versions/3/lib/python3.11").mkdir(parents=True)
    venv = tmp_path / "project/.venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin/python").symlink_to(python)
    (venv / "pyvenv.cfg").write_text(f"home = {python.parent}\nversion = 3.11\n")
    expected = {str(venv), str(python.parent), str(tmp_path / "home/versions/3/lib")}
    assert found(venv / "bin/python") == expected
    assert found("sh", Path("/usr/bin"), venv / "bin") == expected, "also if it is found only through the PATH"


def test_an_environment_of_the_systems_own_interpreter(tmp_path: Path) -> None:
    (tmp_path / "venv/bin").mkdir(parents=True)
    (tmp_path / "venv/bin/python").symlink_to("/usr/bin/python3")
    (tmp_path / "venv/pyvenv.cfg").write_text("home = /usr/bin\n")
    assert found(tmp_path / "venv/bin/python") == {str(tmp_path / "venv")}


def test_shims(tmp_path: Path) -> None:
    program(tmp_path / ".pyenv/shims/python")
    (tmp_path / ".pyenv/versions").mkdir()
    assert found("python", tmp_path / ".pyenv/shims") == {str(tmp_path / ".pyenv")}


@pytest.mark.parametrize("lib", ["lib/python3.12", "lib/node_modules"])
def test_of_an_installation_only_programs_and_libraries(lib: str, tmp_path: Path) -> None:
    program(tmp_path / ".local/bin/node")
    (tmp_path / ".local" / lib).mkdir(parents=True)
    (tmp_path / ".local/share/keyrings").mkdir(parents=True)
    assert found("node", tmp_path / ".local/bin") == {str(tmp_path / ".local/bin"), str(tmp_path / ".local/lib")}


def test_a_program_in_somebodys_home_is_shown_alone(tmp_path: Path) -> None:
    tool = program(tmp_path / "home/tools/agent")
    (tmp_path / "home/bin").mkdir()
    (tmp_path / "home/bin/agent").symlink_to("../tools/agent")
    assert found("agent", tmp_path / "home/bin") == {str(tmp_path / "home/bin/agent"), str(tool)}
    assert found("sh", Path("/usr/bin"), tmp_path / "home/bin") == set()


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert found(tmp_path / "a") == set()
