#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds for s390x and runs that under qemu-user: scripts/test-cross has the tests.
exec "$(dirname "$0")/../../scripts/test-cross" s390x
