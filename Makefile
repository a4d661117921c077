# `make demo` and `make test` do everything on a machine that has Python 3.11 to 3.13 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test test-slow lint format bench clean

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v <= (3, 13) else f"gradc needs Python 3.11 to 3.13, found {v[0]}.{v[1]}: set PYTHON, for instance make PYTHON=python3.12 demo")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[test,examples]'
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/gradc demo --output demo_output

test: $(STAMP) lint
	$(BIN)/python -m pytest -n auto -m "not slow" -q

test-slow: $(STAMP)
	$(BIN)/python -m pytest -n auto -q

# mypy cannot follow the mapping of an editable install (ir/ is gradc.ir), so it checks a copy.
lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf $(VENV)/checked build
	$(BIN)/python -m pip install --quiet --no-deps --target $(VENV)/checked .
	rm -rf build
	cd $(VENV)/checked && ../bin/mypy --config-file ../../pyproject.toml -p gradc

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)
	$(BIN)/python -m pip install --quiet -e '.[bench]'
	$(BIN)/gradc bench

clean:
	rm -rf $(VENV) build dist *.egg-info demo_output
