# SPDX-License-Identifier: Apache-2.0
# The two commands of the README are `make demo` and `make test`. The building itself is Meson's.
BUILD ?= build
N ?= 512
REPETITIONS ?= 12
SECONDS ?= 60
WERROR ?= true

ARCHS = $(shell scripts/cross-arch)

.PHONY: all demo check test test-long port-test torture gpu-test bench fuzz bundle bundle-test install format clean deps

all: deps
	@scripts/configure $(BUILD) -Dwerror=$(WERROR)
	@ninja -C $(BUILD)

deps:
	@scripts/install-deps build

demo:
	@scripts/install-deps demo
	@scripts/configure $(BUILD) -Dtests=auto
	@ninja --quiet -C $(BUILD)
	$(BUILD)/src/aiflame record -o demo.data $(BUILD)/examples/matmul $(N) $(REPETITIONS)
	$(BUILD)/src/aiflame flame -i demo.data -o demo.svg --title "Three matrix products on PoCL"
	@echo "Open demo.svg in a browser: click a frame to zoom, / to search."

# T=PATTERN: every test, of all kinds, whose name matches.
check:
	@scripts/install-deps test
	@scripts/check $(if $(T),'$(T)')

test:
	@scripts/install-deps test
	@scripts/test-all

# What tests/long lists, which takes too long for `make test`. SLICE=K/N: the K-th of N shares; SLICE=turn: of seven, another every four hours.
SLICE ?= 1/1
test-long:
	@scripts/test-long $(SLICE)

# All unit tests and golden files on other machines, under qemu, which takes minutes for each. make test-long runs some.
port-test: all
	@scripts/install-deps test-long
	@for arch in $(ARCHS); do scripts/test-cross --all $$arch || exit; done

# Views and imports with each of their allocations and system calls failing, one after the other: half an hour.
torture: all
	@TORTURE_MOST=0 tests/e2e/torture.sh

# On a machine with an NVIDIA GPU and CUDA's compiler. What needs two GPUs says so where there is one.
gpu-test: all
	@tests/gpu/cuda.sh
	@tests/gpu/several.sh
	@tests/gpu/ranks.sh
	@tests/gpu/nvml.sh
	@tests/gpu/memory.sh
	@tests/gpu/shapes.sh
	@tests/gpu/driver_calls.sh
	@tests/gpu/why/run.sh

bench:
	@scripts/install-deps test
	@bench/run $(BUILD)

fuzz:
	@scripts/install-deps test
	@scripts/fuzz $(SECONDS)

bundle:
	@scripts/install-deps bundle
	@scripts/make-bundle build-bundle

# Root, and the package mirror: it runs the bundle in old systems.
bundle-test: bundle
	@scripts/install-deps bundle-test
	@TEST_TIMEOUT=1800 scripts/run-tests build-bundle/test-logs tests/bundle/bundle.sh

install: all
	meson install -C $(BUILD)

format:
	find src tests bench \( -name '*.[ch]' -o -name '*.cpp' \) -exec clang-format -i {} +

clean:
	rm -rf build build-asan build-fuzz build-tsan build-bundle $(ARCHS:%=build-%/tree) demo.data demo.data.old demo.svg
