#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every fuzz target for a few seconds; `make fuzz` does it for longer.
exec "$(dirname "$0")/../../scripts/fuzz" build-fuzz "${FUZZ_SECONDS:-3}"
