/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/nvtx/abi.h"

/*
 * Payloads of ranges as text: "Message size [bytes]=4096, Reduction operation=Sum". A schema is copied when the program
 * registers it; a payload is read by the copy, no byte beyond its own size. Both are the program's and may be anything: what
 * they say of memory is asked for before it is read.
 * Pure: no memory but the caller's.
 */

/* Fields of a schema that are kept, and entries of an enumeration. */
#define AIF_NVTX_FIELDS 32
/* Bytes of a field's name, terminated. */
#define AIF_NVTX_FIELD_NAME 48
/* Schemas within schemas. */
#define AIF_NVTX_NESTING 3
/* Bytes of a payload's text, terminated. */
#define AIF_NVTX_TEXT 512

struct aif_nvtx_field {
	uint64_t type;   /* NVTX's number, or the id of a schema */
	uint64_t offset; /* of an enumeration: the value */
	uint32_t length; /* of a string within the payload; 0: a single value */
	bool is_hidden;  /* not shown, or of a kind that is not read */
	char name[AIF_NVTX_FIELD_NAME];
};

struct aif_nvtx_schema {
	uint64_t id, size; /* size: bytes; 0 = not known */
	uint32_t domain;
	bool is_enum;
	/* Fields say all of it, no memory elsewhere does, and one is a registered string. */
	bool is_repeated;
	uint32_t len;
	struct aif_nvtx_field fields[AIF_NVTX_FIELDS];
};

/* Finds what payloads refer to. */
struct aif_nvtx_world {
	void *arg;
	/* The schema of that id in the domain, or NULL. */
	const struct aif_nvtx_schema *(*schema)(void *arg, uint32_t domain, uint64_t id);
	/* The text of a registered string, terminated, or NULL. */
	const char *(*registered)(void *arg, uint64_t handle);
	/* Reads at most `len` bytes at an address that may not be readable, no more than a string there. Returns how many. */
	size_t (*read)(void *arg, uint64_t address, void *to, size_t len);
	/* True if `len` bytes there can be read. */
	bool (*is_readable)(void *arg, uint64_t address, size_t len);
};

static inline bool aif_nvtx_is_readable(const struct aif_nvtx_world *w, const void *at, size_t len)
{
	return w->is_readable(w->arg, (uint64_t)(uintptr_t)at, len);
}

/* Copies a schema, with the offsets that its fields' natural alignment gives where it has none. `w` finds the size of
 * those within. False: nothing of it can be used. */
bool aif_nvtx_schema_copy(const struct aif_nvtx_schema_attributes *a, uint32_t domain,
			  const struct aif_nvtx_world *w, struct aif_nvtx_schema *ret);
bool aif_nvtx_enum_copy(const struct aif_nvtx_enum_attributes *a, uint32_t domain,
			const struct aif_nvtx_world *w, struct aif_nvtx_schema *ret);

/* True if a payload of that schema (NULL: none) is the same text as one of the same bytes, and a long one. */
static inline bool aif_nvtx_is_repeated(const struct aif_nvtx_schema *s)
{
	return s && s->is_repeated;
}

/* Appends the payload's text at text[len], where `cap` bytes are the buffer's. Returns the new length; the text is
 * terminated. A payload that is too short for a field is read without it. */
size_t aif_nvtx_payload_text(const struct aif_nvtx_world *w, uint32_t domain,
			     const struct aif_nvtx_data *d, char *text, size_t len, size_t cap);
/* Reads the whole number of the first field whose name holds `part`. False: the payload, of that schema, has none. */
bool aif_nvtx_payload_number(const struct aif_nvtx_world *w, const struct aif_nvtx_schema *s,
			     const struct aif_nvtx_data *d, const char *part, uint64_t *ret);
/* The same of a plain number in the attributes of an event. */
size_t aif_nvtx_number_text(const struct aif_nvtx_attributes *a, char *text, size_t len,
			    size_t cap);
