#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# exits.sh, with a thousand targets for each way to end.
TARGETS=1000 exec "$(dirname "$0")/exits.sh"
