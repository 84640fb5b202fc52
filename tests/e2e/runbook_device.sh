#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# aiflame runbook of a program with prefill and decode on a device: what tests/gpu/runbook.sh asks of a GPU, of PoCL.
build=${BUILD_DIR:-$(dirname "$0")/../../build}
program=$(realpath "$build/tests/e2e/runbook_cl") || { echo "1..0 # SKIP built without OpenCL"; exit 0; }
PROGRAM=$program PROMPTS=10 TOKENS=150 COPIES=8 exec "$(dirname "$0")/../gpu/runbook.sh"
