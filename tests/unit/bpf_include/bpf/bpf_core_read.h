/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* All of it is in bpf_helpers.h. */
