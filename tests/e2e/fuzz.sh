#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every fuzz target with the same inputs each time; `make fuzz` looks for new ones.
exec "$(dirname "$0")/../../scripts/fuzz" "${FUZZ_SECONDS:-runs}"
