# SPDX-License-Identifier: Apache-2.0
# Makefile: the commands. demo and test do all the set-up on a fresh Debian or Ubuntu machine.
#   make demo       set up, build, train the robot arm
#   make test       set up, build, every test that needs no GPU, lint, the editable install
#   make check      the quick part of it, under 3 minutes once built
#   make random     COUNT=10000 random kernels and programs, beyond the 300 of make test
#   make docs       build/site: the documentation as a site
#   make wheel      dist/*.whl, installed and tested in a clean environment
#   make torch-matrix  VERSIONS="2.9.1 2.15.0": built and tested against other PyTorch versions
#   make bench      the benchmarks; JSON into out/ ($OUT if set)
#   make bundle     bundle/: what a GPU machine without a network needs
#   make gpu-test   the CUDA tests and benchmarks (OFFLINE=1: from bundle/; SANITIZE=1: also under
#                   compute-sanitizer); JSON into out/ ($OUT if set)
# PYTHON names the Python to use as it is, in place of .venv.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build

BUILD ?= build
JOBS ?= $(shell nproc)
OUT ?= out
ifdef PYTHON
VENV_PYTHON := $(PYTHON)
SETUP := true
else
VENV_PYTHON := $(CURDIR)/.venv/bin/python
SETUP := scripts/setup.sh
endif
export PYTHONPATH := $(CURDIR)/python$(if $(PYTHONPATH),:$(PYTHONPATH))
export WT_BUILD_DIR := $(abspath $(BUILD))
CMAKE_FLAGS = -G Ninja -DCMAKE_BUILD_TYPE=Release -DPython_EXECUTABLE=$(VENV_PYTHON)
ARGS ?=

.PHONY: setup package build demo test check random lint docs wheel torch-matrix bench bundle gpu-test tidy format clean

setup:
	@$(SETUP)

# The libraries of the Python package alone: what the demo needs.
package: setup
	@scripts/configure.sh "$(BUILD)" $(CMAKE_FLAGS)
	@cmake --build "$(BUILD)" -j $(JOBS) --target python_package

build: setup
	@scripts/configure.sh "$(BUILD)" $(CMAKE_FLAGS)
	@cmake --build "$(BUILD)" -j $(JOBS)

demo: package
	@$(VENV_PYTHON) examples/robot_arm/train.py $(ARGS)

test: build
	@scripts/test.sh all "$(BUILD)" "$(VENV_PYTHON)" $(JOBS)

check: build
	@scripts/test.sh quick "$(BUILD)" "$(VENV_PYTHON)" $(JOBS)

COUNT ?= 10000
random: build
	@scripts/random_programs.sh "$(BUILD)" "$(COUNT)" "$(JOBS)"

lint: setup
	@$(VENV_PYTHON) -m pytest -q tests/lint

docs: package
	@$(VENV_PYTHON) -m pip install -q -c constraints.txt mkdocs-material
	@for page in error_page api_page; do $(VENV_PYTHON) scripts/$$page.py; done
	@$(VENV_PYTHON) -m mkdocs build -q

wheel: build
	@scripts/wheel.sh "$(BUILD)" "$(VENV_PYTHON)"

VERSIONS ?= 2.9.1 2.10.0 2.11.0 2.12.1 2.13.0 2.14.1 2.15.0
torch-matrix: build
	@scripts/torch_matrix.sh "$(BUILD)" "$(VENV_PYTHON)" $(VERSIONS)

bench: build
	@scripts/bench.sh "$(BUILD)/bin" "$(VENV_PYTHON)" "$(OUT)"

bundle: build
	@scripts/bundle.sh "$(BUILD)" "$(VENV_PYTHON)"

ifdef OFFLINE
gpu-test:
	@scripts/gpu_test.sh bundle "$(or $(PYTHON),python3)" "$(OUT)" $(if $(SANITIZE),sanitize)
else
gpu-test: build
	@scripts/gpu_test.sh "$(BUILD)" "$(VENV_PYTHON)" "$(OUT)" $(if $(SANITIZE),sanitize)
endif

format: setup
	@git ls-files '*.cpp' '*.h' | xargs $(dir $(VENV_PYTHON))clang-format -i
	@git ls-files '*.py' | xargs $(dir $(VENV_PYTHON))ruff check --quiet --fix || true
	@git ls-files '*.py' | xargs $(dir $(VENV_PYTHON))ruff format --quiet

tidy: build
	@git ls-files 'csrc/*.cpp' 'optim/*.cpp' | xargs -P $(JOBS) -n 1 clang-tidy -p "$(BUILD)" --quiet

clean:
	@rm -rf build build-* bundle out python/warp_torch/*.so
