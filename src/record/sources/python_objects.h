/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"

/*
 * Objects of a CPython 3.11 to 3.14 program, read from another process while it runs: dictionaries, tuples, lists, texts and
 * small integers. Nothing is followed that does not carry its type's address, and everything is bounded; what another
 * thread changes meanwhile is either not found or, at worst, a text of its own that no longer holds.
 *
 * Layouts: Include/cpython/unicodeobject.h, Include/internal/pycore_dict.h, longintrepr.h, moduleobject.h and object.h of these
 * versions, in builds with the GIL. Every object begins with its reference count and its type, 8 bytes each.
 */
struct aif_python_objects {
	/* Copies n bytes at an address of the program. False: they cannot be read. */
	bool (*read)(void *arg, uint64_t at, void *to, size_t n);
	void *arg;
	unsigned minor; /* of version 3 */
	/* Addresses of PyDict_Type and so on. */
	uint64_t type_dict, type_list, type_long, type_module, type_text, type_tuple, type_type;
};

/* Limits: entries of a dictionary, items of a tuple or list, characters of a text. */
#define AIF_PYTHON_ENTRIES_MAX (UINT32_C(1) << 18)
#define AIF_PYTHON_ITEMS_MAX   (UINT32_C(1) << 16)
#define AIF_PYTHON_CHARS_MAX   (UINT32_C(1) << 16)

/* sys.modules, by the address of _PyRuntime. 0: not found; so too in a program without the GIL. */
uint64_t aif_python_modules(const struct aif_python_objects *o, uint64_t runtime);

/* Returns the value of a key that is a text of ASCII. 0: there is none. */
uint64_t aif_python_get(const struct aif_python_objects *o, uint64_t dict, const char *key);
/* Returns an attribute of a module or of a class that is not inherited. 0: there is none. */
uint64_t aif_python_attribute(const struct aif_python_objects *o, uint64_t at, const char *name);

/* Reads the addresses of a tuple's or list's items, for free(); *ret_len may be 0. False: it is neither, it is too long, or
 * there is no memory. */
bool aif_python_items(const struct aif_python_objects *o, uint64_t at, uint64_t **ret,
		      size_t *ret_len);
/* Reads an int from 0 to 2^30 - 1. */
bool aif_python_int(const struct aif_python_objects *o, uint64_t at, uint32_t *ret);
/* Appends a text as UTF-8. False: it is none, or too long. */
bool aif_python_text(const struct aif_python_objects *o, uint64_t at, struct aif_buf *ret);
