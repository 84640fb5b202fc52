# SPDX-License-Identifier: Apache-2.0
# The two commands of the README are `make demo` and `make test`. The building itself is Meson's.
BUILD ?= build
N ?= 512
REPETITIONS ?= 12
SECONDS ?= 60
WERROR ?= true

.PHONY: all demo test bench fuzz install format clean deps

all: deps $(BUILD)/build.ninja
	@ninja -C $(BUILD)

deps:
	@scripts/install-deps build

$(BUILD)/build.ninja:
	meson setup $(BUILD) -Dwerror=$(WERROR)

demo:
	@scripts/install-deps demo
	@test -e $(BUILD)/build.ninja || meson setup $(BUILD) -Dtests=auto
	@ninja --quiet -C $(BUILD)
	$(BUILD)/src/aiflame record -o demo.data $(BUILD)/examples/matmul $(N) $(REPETITIONS)
	$(BUILD)/src/aiflame flame -i demo.data -o demo.svg --title "Three matrix products on PoCL"
	@echo "Open demo.svg in a browser: click a frame to zoom, / to search."

test:
	@scripts/install-deps test
	@scripts/test-all

bench:
	@scripts/install-deps test
	@bench/run $(BUILD)

fuzz:
	@scripts/install-deps test
	@scripts/fuzz build-fuzz $(SECONDS)

install: all
	meson install -C $(BUILD)

format:
	find src tests bench \( -name '*.[ch]' -o -name '*.cpp' \) -exec clang-format -i {} +

clean:
	rm -rf build build-asan build-fuzz demo.data demo.data.old demo.svg
