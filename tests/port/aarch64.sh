#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds for aarch64 and runs that under qemu-user: scripts/test-cross has the tests.
exec "$(dirname "$0")/../../scripts/test-cross" aarch64
