"""Images of docker-agent: made once for each base and working directory, and found again by their content."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from container_runtimes import TestRuntime, busybox_archive
from driving import Outcome, drive
from test_docker_agent_target import AGENT_IMAGE, ask, make_project, session

BASE = "evalharness-test:base"
USER_BASE = "evalharness-test:user-base"
VOLUME_BASE = "evalharness-test:volume-base"
ALONE = {"image": BASE, "assertions": [{"type": "contains", "value": "configured"}]}
LARGE = b"\0" * 2_000_000


def prepare(runtime: TestRuntime, folder: Path, sessions: dict[str, dict[str, Any]]) -> None:
    """`two` has a file, a script below a folder, and a large file; the base has a file of its own there."""
    runtime.image(BASE, {"working_dir/own.txt": "of the base"})
    make_project(runtime, folder, sessions)
    two = folder / "evals/working_dirs/two"
    (two / "sub").mkdir()
    (two / "sub/run.sh").write_text("#!/bin/sh\necho ran\n")
    (two / "sub/run.sh").chmod(0o755)
    (two / "large").write_bytes(LARGE)
    if earlier := made_images(runtime):
        runtime.call("rmi", "--force", *earlier)


def made_images(runtime: TestRuntime) -> set[str]:
    listed = runtime.call("images", "--format", "{{.Repository}}:{{.Tag}}").split()
    return {name for name in listed if "evalharness-docker-agent:" in name}


def kept_files(folder: Path, done: Outcome, case: str) -> dict[str, str]:
    shown = drive(folder, "show", done.run_name, case, "--json").json["trials"][0]["trial"]["attempts"][-1]
    files: dict[str, str] = shown["transcript"]["files"]
    return files


def test_an_image_for_each_base_and_working_directory(container_runtime: TestRuntime, tmp_path: Path) -> None:
    setup = "sub/run.sh >ran.txt; echo other >a.txt; rm own.txt"
    sessions = {
        "first": session("How many?", working_dir="two", setup=setup, **ALONE),
        "second": session("How many?", working_dir="two", **ALONE),
        "other": session("How many?", **ALONE),
        "gone": session("How many?", working_dir="two", setup="rm -r /working_dir", **ALONE),
        "empty": session("How many?", working_dir="two", setup="cd /; rm -r working_dir; mkdir working_dir", **ALONE),
    }
    prepare(container_runtime, tmp_path, sessions)
    done = ask(tmp_path, container_runtime)
    assert done.code == 0, done.both
    answers = {
        trial["case_id"]: trial["output"].partition("files ")[2].split(";")[0] for trial in done.report["trials"]
    }
    assert answers == {
        "first": "a.txt large ran.txt sub ",
        "second": "a.txt large own.txt sub ",
        "other": "own.txt ",
        "gone": "",
        "empty": "",
    }
    assert kept_files(tmp_path, done, "first") == {"a.txt": "other\n", "made.txt": "made\n", "ran.txt": "ran\n"}
    assert kept_files(tmp_path, done, "second") == {"made.txt": "made\n"}, "neither the large file nor that of the base"
    assert kept_files(tmp_path, done, "other") == {"made.txt": "made\n"}
    made = made_images(container_runtime)
    assert len(made) == 2, "one with the working directory, and one without"
    images = container_runtime.images()
    assert ask(tmp_path, container_runtime).code == 0
    assert container_runtime.images() == images, "found again by another run"
    (tmp_path / "evals/working_dirs/two/a.txt").write_text("changed")
    assert ask(tmp_path, container_runtime, "--only", "second").code == 0
    assert len(made_images(container_runtime) - made) == 1
    assert (container_runtime.containers(), container_runtime.volumes()) == ([], [])


def test_files_in_a_volume_that_the_base_declares_are_copied_back(
    container_runtime: TestRuntime, tmp_path: Path
) -> None:
    """No runtime says which files of a volume were changed."""
    alone = {**ALONE, "image": VOLUME_BASE}
    prepare(container_runtime, tmp_path, {"count": session("How many?", working_dir="two", **alone)})
    change = ("--change", "VOLUME /working_dir")
    if not container_runtime.call("images", "--quiet", VOLUME_BASE).strip():
        container_runtime.call("import", *change, "-", VOLUME_BASE, stdin=busybox_archive())
    done = ask(tmp_path, container_runtime)
    assert done.code == 0, done.both
    kept = kept_files(tmp_path, done, "count")
    assert kept["made.txt"] == "made\n"
    assert (container_runtime.containers(), container_runtime.volumes()) == ([], [])


def test_the_user_of_the_base_may_write_where_the_agent_works(container_runtime: TestRuntime, tmp_path: Path) -> None:
    setup = "test $(id -u) = 1000 && echo more >>a.txt && echo made >setup.txt"
    sessions = {
        name: session("How many?", setup=setup, **{**ALONE, "image": USER_BASE}, **folder)
        for name, folder in (("with", {"working_dir": "two"}), ("without", {}))
    }
    prepare(container_runtime, tmp_path, sessions)
    tmp_path.chmod(0o755)  # the agent's folder is mounted, and others must be able to read it
    if not container_runtime.call("images", "--quiet", USER_BASE).strip():
        change = ("--change", "USER 1000:1000")
        container_runtime.call("import", *change, "-", USER_BASE, stdin=busybox_archive())
    done = ask(tmp_path, container_runtime)
    assert done.code == 0, done.both


def test_an_image_without_the_agent_is_named(container_runtime: TestRuntime, tmp_path: Path) -> None:
    prepare(container_runtime, tmp_path, {"count": session("How many?", **ALONE)})
    done = ask(tmp_path, container_runtime, "--agent-image", BASE)
    assert (done.code, f"the image {BASE} has no /docker-agent" in done.both) == (3, True), done.both
    assert container_runtime.containers() == []


def test_what_a_kept_container_has(use_runtime: Callable[[str], TestRuntime], tmp_path: Path) -> None:
    runtime = use_runtime("docker")
    prepare(runtime, tmp_path, {"count": session("How many?", working_dir="two", **ALONE)})
    flags = ("--container-runtime", "docker", "--agent-image", AGENT_IMAGE, "--keep-containers")
    done = drive(tmp_path, "docker-agent", "agent.yaml", *flags, env=dict(runtime.environment))
    assert done.code == 0, done.both
    [kept] = runtime.containers()
    runtime.call("export", "--output", str(tmp_path / "files.tar"), kept)
    with tarfile.open(tmp_path / "files.tar") as files:
        inside = {name for name in files.getnames() if name.startswith("working_dir/")}
    assert inside == {f"working_dir/{name}" for name in ("a.txt", "large", "made.txt", "own.txt", "sub", "sub/run.sh")}
    runtime.call("rm", "--volumes", kept)
