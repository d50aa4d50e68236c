# The two commands to know: `make demo` and `make test`. Each sets up what it needs in .venv.
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
TEST_PACKAGES := bubblewrap busybox-static catatonit chromium docker.io faketime fish jq nodejs podman runc uidmap zsh
INPUTS := pyproject.toml constraints.txt src/evalharness/version.py scripts/setup

.PHONY: demo test lint docs soak bench clean

demo: $(VENV)/.installed
	$(BIN)/eval-harness run examples/quick-start/suite.yaml

# Keep compiled files, whatever the caller's environment says: otherwise every worker compiles all tests each time.
test: export PYTHONDONTWRITEBYTECODE :=
test: lint
	scripts/debian-packages $(TEST_PACKAGES)
	$(BIN)/pytest -n 4 --dist worksteal -m "not soak"

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Rewrites the outputs of the README and the docs, and the pictures in docs/images, from real runs. Read `git diff` after it.
docs: $(VENV)/.installed-dev
	-REWRITE_CONSOLE_BLOCKS=1 $(BIN)/pytest tests/functional/test_console_blocks.py -n 2 -p no:randomly
	$(BIN)/python scripts/terminal_pictures.py
	$(BIN)/python scripts/page_pictures.py

soak: $(VENV)/.installed-dev
	$(BIN)/pytest -m soak -s -p no:randomly
	$(BIN)/pytest -m hypothesis --hypothesis-profile=soak -n 2

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks

$(VENV)/.installed: $(INPUTS)
	scripts/setup $(VENV)
	touch $@

$(VENV)/.installed-dev: $(INPUTS)
	scripts/setup $(VENV) dev
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
