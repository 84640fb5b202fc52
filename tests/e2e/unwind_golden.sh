#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Golden rows of this machine's libraries.
root=$(cd "$(dirname "$0")/../.." && pwd)
exec "${BUILD_DIR:-$root/build}/tests/e2e/unwind_golden"
