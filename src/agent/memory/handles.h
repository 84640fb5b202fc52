/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <stdatomic.h>

/*
 * A vendor's handles (pointers) -> what we know about them. Looked up without a lock on launch paths;
 * changed under the adapter's lock. Nothing is ever removed: vendors reuse addresses, and a handle
 * that is created again replaces what its address meant before, so the map holds no more than the
 * addresses that were ever used. A table that fills is copied into one twice as large; readers may
 * still be in the old one, which therefore stays.
 */
struct aif_handle_slot {
	_Atomic uint64_t key; /* 0 = free */
	_Atomic(void *) value;
};
struct aif_handle_table {
	size_t cap, len; /* cap is a power of two */
	struct aif_handle_slot slots[];
};
struct aif_handles {
	_Atomic(struct aif_handle_table *) table; /* NULL = empty */
};

/* NULL = unknown. */
void *aif_handles_get(const struct aif_handles *h, const void *handle);

/* Under the adapter's lock. 0 or -ENOMEM. */
int aif_handles_put(struct aif_handles *h, const void *handle, void *value);
