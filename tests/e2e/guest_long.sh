#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# guest.sh, each case twenty times in each way.
ROUNDS=20 exec "$(dirname "$0")/guest.sh"
