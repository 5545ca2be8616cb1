# Two commands do everything from a bare checkout with git, make and Python (3.11 or newer, with pip):
#   make demo    the main job on the shipped data
#   make test    the quick test suite, in minutes
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
PROCESSES ?= 2
comma := ,
space := $() $()
# What Python compiles is kept, wherever the environment says otherwise: pytest rewrites 670 modules, and tests start commands.
export PYTHONDONTWRITEBYTECODE :=
# What make demo installs: all extras but Spark, which is as large as the rest together; make test has it too.
EXTRAS := duckdb evaluate excel mcp oidc pandas polars postgresql regress report service signing

# A venv per checkout. A lock file names everything, so nothing is resolved: old versions of pip look past the pin of a
# package that another asks for with an extra. uv installs the same pins faster where it is present.
define install
	@test -x $(BIN)/python || (echo "1 of 3: an environment for Python in .venv"; $(PYTHON) -m venv .venv)
	@echo "2 of 3: $$(grep -c '==' $(1)) pinned packages, checked by their hashes, from the package index (a minute or so)"
	@if command -v uv >/dev/null 2>&1; then \
	    uv pip install --quiet --python $(BIN)/python --require-hashes --no-deps -r $(1) && \
	    echo "3 of 3: hedgerow itself; its first run compiles kernels, which takes some seconds" && \
	    uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .; \
	else \
	    $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r $(1) && \
	    echo "3 of 3: hedgerow itself; its first run compiles kernels, which takes some seconds" && \
	    $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .; \
	fi
	@touch $@
endef

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

.venv/.runtime: requirements.lock pyproject.toml
	$(call install,requirements.lock)

.venv/.tools: requirements-dev.lock pyproject.toml
	$(call install,requirements-dev.lock)
	@touch .venv/.runtime

demo: .venv/.runtime  ## Synthetic records of the shipped Adult census data, or of DATA=FILE, into demo-output/
	@$(BIN)/python examples/demo.py --data "$(DATA)"

warm: .venv/.runtime  ## Compile ahead what a first run would wait for
	@$(BIN)/hedgerow warm

# One core for each process: libraries of linear algebra would start a thread for every core in each, and wait for them.
test test-newest test-rest audit mutants: export OMP_NUM_THREADS := 1

# Kernels are compiled once, into the cache of this checkout, before the processes start that share it.
test: .venv/.tools  ## The quick test suite, in minutes
	@$(BIN)/hedgerow warm
	$(BIN)/python -m pytest -q -n $(PROCESSES) --hypothesis-profile quick -m "not slow and not audit"

test-rest: .venv/.tools  ## What make test leaves out: slow tests, and many more random examples
	$(BIN)/python -m pytest -q -n $(PROCESSES) -m "(slow or hypothesis) and not audit"

# Parts of it: -m browser, -m spark or -m postgresql.
test-all: test test-rest  ## All tests but the audits

# Nothing is locked here: what a reader's pip installs today. Groups need pip 25.1, so it is renewed first.
test-newest:  ## The quick test suite with the newest versions of the dependencies, in .venv-newest
	$(PYTHON) -m venv --clear .venv-newest
	.venv-newest/bin/python -m pip install --quiet --upgrade pip
	.venv-newest/bin/python -m pip install --quiet --upgrade --group build --group test -e '.[$(subst $(space),$(comma),$(EXTRAS))]'
	.venv-newest/bin/hedgerow warm
	.venv-newest/bin/python -m pytest -q -n $(PROCESSES) --hypothesis-profile quick -m "not slow and not audit"

# Random runs go on for HEDGEROW_AUDIT_MINUTES; what one found is seen again with the HEDGEROW_AUDIT_SEED that it prints.
audit: .venv/.tools  ## Long statistical and privacy audits
	$(BIN)/python -m pytest -n $(PROCESSES) -m audit

mutants: .venv/.tools  ## Plant every known bug, and write which test notices it into docs/mutants.md
	$(BIN)/python -m tests.mutation_score

lint: .venv/.tools  ## Format, lint, types, import rules, lock files
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	@! grep -nE 'https?://|index-url|find-links' requirements.lock requirements-dev.lock || \
	    (echo "a lock file holds an address"; exit 1)

format: .venv/.tools  ## Format the code
	$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .

bench: .venv/.tools  ## Benchmarks, as ratios in one run
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks performance --again

bench-numbers: .venv/.tools  ## How often intervals hold, into docs/trust.md (hours; continues where it stopped)
	$(BIN)/python -m benchmarks numbers

bench-numbers-quick: .venv/.tools  ## Four releases of each table, in minutes
	$(BIN)/python -m benchmarks numbers --quick

bench-peers: .venv/.tools  ## Other software beside ours, by hedgerow evaluate; into benchmarks/peers/.venv
	$(BIN)/python -m benchmarks.peers.setup
	$(BIN)/python -m benchmarks peers_judged

docs: .venv/.tools  ## The documentation as a site, into site/; fails on a broken link or an undocumented name
	$(BIN)/mkdocs build --strict --quiet

experiments: .venv/.tools  ## The papers' experiments, into experiments-output/ (about an hour; continues where it stopped)
	$(BIN)/python -m experiments all

experiments-quick: .venv/.tools  ## Small grids of them, in minutes
	$(BIN)/python -m experiments all --quick

lock:  ## Renew the lock files (needs uv)
	uv pip compile pyproject.toml --all-extras --group build --group test --group lint --group docs \
	    --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet --upgrade -o requirements-dev.lock
	uv pip compile pyproject.toml $(EXTRAS:%=--extra %) --group build -c requirements-dev.lock \
	    --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet -o requirements.lock

clean:  ## Remove what make made
	rm -rf .venv .venv-newest benchmarks/peers/.venv demo-output experiments-output site .pytest_cache .mypy_cache .ruff_cache .hypothesis

.PHONY: help demo warm test test-newest test-rest test-all audit mutants lint format docs bench bench-numbers bench-numbers-quick bench-peers experiments experiments-quick lock clean
