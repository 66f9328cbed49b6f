# `make` explains itself; `make demo` and `make test` work from an empty clone.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
HOME_FOLDER ?= data
SHARED ?= ../shared
# A file stays on one worker, for the stores that its tests share; more workers than cores cost more than they gain.
WORKERS := -n logical --dist loadfile --no-loadscope-reorder
# Files with drills of which a short case stays on each push: crashes, crowds, erasures, breakers, bad input, access.
SHORT_DRILL := $(wildcard $(addprefix tests/test_,crash_*.py busy_*.py erasure*.py starving.py client_writing.py breakers.py \
	backup.py bad_input.py access.py isolation.py long_texts.py))
export MEMORY_PIPELINE_HOME := $(HOME_FOLDER)
# DuckDB's extensions come as wheels for one DuckDB, older than ours; the tests that need them run its Python.
DUCKDB := $(VENV)/duckdb
DUCKDB_STAMP := $(DUCKDB)/.extensions-1.5.5
export DUCKDB_PYTHON := $(abspath $(DUCKDB))/bin/python
# Where it is set, each process would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help check style types suite demo test quick drill drill-short duckdb integrations inspector ui docs site bench quality lock lint install dev clean

help: ## Say what each target does
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  make %-11s %s\n", $$1, $$2}'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "error: Python 3.11 or newer is needed, $(PYTHON) is $$($(PYTHON) -V 2>/dev/null || echo not there); name another: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "error: the virtual environment could not be created; install venv (Debian: apt-get install python3-venv)" >&2; exit 1; }

# Stamps of what is installed: the package with what it needs to run, and the tools of its developers on top.
$(VENV)/.package: pyproject.toml | $(BIN)/python
	@echo "Installing what the package needs into $(VENV): once, a minute or so ..."
	@.ci/uv $(VENV) pip install --quiet --editable .
	@touch $@

$(VENV)/.ui: pyproject.toml | $(BIN)/python
	@echo "Adding the command of the UI to $(VENV): once ..."
	@.ci/uv $(VENV) pip install --quiet --editable . --group ui
	@touch $@ $(VENV)/.package

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	@command -v g++ c++ clang++ >/dev/null || { echo "error: hnswlib is built from source and no C++ compiler was found; install one (Debian: apt-get install g++; macOS: xcode-select --install)" >&2; exit 1; }
	@$(PYTHON) -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' || { echo "error: hnswlib is built from source and $(PYTHON) has no headers; install them (Debian: apt-get install python3-dev)" >&2; exit 1; }
	.ci/uv $(VENV) pip install --quiet --editable . --group dev
	@touch $@ $(VENV)/.package

$(DUCKDB_STAMP): | $(BIN)/python
	$(PYTHON) -m venv $(DUCKDB)
	.ci/uv $(DUCKDB) pip install --quiet pytz duckdb{,-extensions,-extension-{ducklake,httpfs,sqlite-scanner,postgres-scanner}}==1.5.5
	@touch $@

duckdb: $(DUCKDB_STAMP)

install: $(VENV)/.package ## Make .venv and install the package into it

dev: $(VENV)/.dev ## Add what tests, checks and documentation need

demo: install ## One made-up person's four months, consolidated through Dagster: what came of it on one screen
	@$(BIN)/python examples/four_months/demo.py

test: style ## Everything CI runs: format, lint, types, tests
	@$(MAKE) --no-print-directory -j 2 types suite

quick: style ## The same in a minute: only the tests of the pure rooms, and one run through the pipeline
	@$(MAKE) --no-print-directory -j 2 types suite ONLY=--quick

suite: dev $(DUCKDB_STAMP)
	$(BIN)/pytest $(WORKERS) $(ONLY)

drill: dev $(DUCKDB_STAMP) ## What is too long for each push: crashes, crowds, long lives, many random examples; writes docs/reliability.md
	$(BIN)/pytest $(WORKERS) -m "drill or hypothesis" --hypothesis-profile=drill --reliability=docs/reliability.md

drill-short: dev ## The part of the drill that each push runs, in a minute: one case of each kind of loss
	$(BIN)/pytest $(WORKERS) $(SHORT_DRILL)

check: style types ## Format, lint, declared dependencies and types, without tests

style: dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/deptry memory_pipeline
	@for script in .ci/*; do case $$script in *.py|*__pycache__) ;; *) bash -n $$script || exit 1;; esac; done

# One process on one core, so tests run beside it.
types: dev
	$(BIN)/mypy
	$(BIN)/mypy tests/swapped_tables.py

lock: dev ## Write dev.lock, the versions of everything that is installed for developers
	@{ sed -n '/^#/p' dev.lock; .ci/uv $(VENV) pip freeze --exclude-editable; } >dev.lock.new && mv dev.lock.new dev.lock

lint: dev ## Format and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

integrations: ## Tests of docs/integrations.md with the real frameworks, in an environment of their own
	PYTHON=$(PYTHON) .ci/integrations

inspector: dev ## The MCP inspector's checks of the server over pipes and HTTP; needs npx
	.ci/inspector $(BIN)

ui: $(VENV)/.ui ## Dagster UI with daemon on http://localhost:3000
	$(BIN)/memory-pipeline init
	cd $(HOME_FOLDER) && MEMORY_PIPELINE_HOME=$(abspath $(HOME_FOLDER)) DAGSTER_HOME=$(abspath $(HOME_FOLDER))/dagster \
		$(abspath $(BIN))/dg dev -w $(CURDIR)/workspace.yaml

docs: dev ## Write the pages of docs/ that are made from the code
	$(BIN)/python .ci/reference_pages.py docs
	$(BIN)/typer memory_pipeline.service.commands utils docs --name memory-pipeline --title Commands --output docs/cli.md

site: ## Build the documentation as a static site into site/; a broken link fails
	PYTHON=$(PYTHON) .ci/site

bench: dev ## Benchmarks: ratios against a peer or a limit in the same run, and growth; writes docs/performance.md
	PYTHON=$(PYTHON) .ci/peers
	$(BIN)/python benchmarks/performance.py $(BENCH)

quality: dev ## Write docs/quality.md from the data in SHARED; PART="stores own" measures those sections alone
	POLARS_MAX_THREADS=1 $(BIN)/python research/quality.py $(SHARED) --out docs/quality.md $(if $(PART),--part $(PART))

clean: ## Remove the environment and what tools left; keeps data
	rm -rf $(VENV) .venv-site .venv-integrations .venv-peers site .pytest_cache .mypy_cache .ruff_cache .hypothesis dist
