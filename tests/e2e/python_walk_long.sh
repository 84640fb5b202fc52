#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# python_walk.sh, with so many captures at random that rare nests of situations come up, too.
CAPTURES=100000 exec "$(dirname "$0")/python_walk.sh"
