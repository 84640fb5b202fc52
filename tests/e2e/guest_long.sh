#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# guest.sh, each case twenty times in each way. SLICE=K/N: the N-th part of so many.
parts=${SLICE:-1/1}
HOW="cpu tick children" ROUNDS=$((20 / ${parts#*/})) exec "$(dirname "$0")/guest.sh"
