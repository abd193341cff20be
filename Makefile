# The targets a newcomer needs; `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help catalog live test unit lint format lock recording bench clean

help: ## list the targets
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | awk -F'\t' '{printf "  make %-10s %s\n", $$1, $$2}'

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	UV_COMPILE_BYTECODE=1 VIRTUAL_ENV=$(VENV) $(BIN)/uv pip sync --quiet --require-hashes requirements.lock
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --no-deps --editable .
	@touch $(STAMP)

catalog: $(STAMP) ## publish a catalog of the bundled recording into ./catalog
	@$(BIN)/price-catalog refresh --source recorded

live: $(STAMP) ## fetch tonight's prices from AWS, Azure and the ECB, and publish them into ./catalog
	@$(BIN)/price-catalog refresh --source live

test: $(STAMP) ## run every test
	$(BIN)/python -m pytest -n auto --dist loadfile

unit: $(STAMP) ## run the quick tests only
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not slow and not e2e and not prefect"

lint: $(STAMP) ## check style, types and who imports whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP) ## rewrite the code in the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: $(STAMP) ## renew requirements.lock from pyproject.toml
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate --upgrade --group dev pyproject.toml --output-file requirements.lock

recording: $(STAMP) ## make the bundled recording again from collected prices in FACTS=...
	PYTHONPATH=.:tests $(BIN)/python -m recording.build $(FACTS)

bench: $(STAMP) ## measure the readers against bare polars
	$(BIN)/python benchmarks/aws_offer_file.py
	$(BIN)/python benchmarks/azure_retail_items.py
	$(BIN)/python benchmarks/regions_memory.py

clean: ## remove the environment and what runs left behind; releases in ./catalog stay
	rm -rf $(VENV) landing .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
