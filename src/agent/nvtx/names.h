/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/nvtx/payload.h"

#include <stdatomic.h>

/*
 * Tables of domains, names, categories and schemas, which a process tells NVTX of once. One table for all of its libraries, of
 * constant size, made when the first of them initialises; entries are added without a lock, never change and never go,
 * so that a handle outlives the library that asked for it. What has no room is called "[other names]", and counted by
 * whom it concerns.
 *
 * A name is a domain's text: "NCCL:ncclAllReduce", or the text alone in the default domain.
 */
#define AIF_NVTX_NAMES      65536 /* also the words of a thread's bitmap: ranges.h */
#define AIF_NVTX_NAME_MAX   1000  /* bytes; longer ones are cut */
#define AIF_NVTX_STRING_MAX 4000 /* the same of registered strings: XLA's have stacks of Python's */
#define AIF_NVTX_TEXTS      (UINT32_C(24) << 20)
#define AIF_NVTX_DOMAINS    256
#define AIF_NVTX_DOMAIN_MAX 64 /* bytes of a domain's name, terminated */
#define AIF_NVTX_CATEGORIES 256
#define AIF_NVTX_SCHEMAS    256

enum aif_nvtx_name_id {
	AIF_NVTX_NAME_OTHER = 0, /* there is no room for more */
	AIF_NVTX_NAME_NONE = 1,  /* the program gave none */
};

struct aif_nvtx_name {
	uint64_t hash;
	uint32_t text;                /* where it begins in texts, terminated */
	uint16_t domain, prefix, len; /* len: with the domain's prefix */
};

struct aif_nvtx_category {
	_Atomic uint32_t is_ready;
	uint32_t domain, id;
	char name[AIF_NVTX_FIELD_NAME];
};

struct aif_nvtx_tables {
	_Atomic uint32_t index[2 * AIF_NVTX_NAMES]; /* id + 1 of a name, by its hash; 0 = free */
	_Atomic uint32_t names_len, texts_len, domains_len, categories_len, schemas_len;
	_Atomic uint32_t next_schema; /* id of the next schema to which the program gave none */
	struct aif_nvtx_name names[AIF_NVTX_NAMES];
	_Atomic uint32_t domain_ready[AIF_NVTX_DOMAINS];
	char domains[AIF_NVTX_DOMAINS][AIF_NVTX_DOMAIN_MAX];
	struct aif_nvtx_category categories[AIF_NVTX_CATEGORIES];
	_Atomic uint32_t schema_ready[AIF_NVTX_SCHEMAS];
	struct aif_nvtx_schema schemas[AIF_NVTX_SCHEMAS];
	char texts[AIF_NVTX_TEXTS];
};

/* Fills in the entries that are always there. `t` is zeroed. */
void aif_nvtx_tables_init(struct aif_nvtx_tables *t);

/* The number of the domain of that name, made if it is new; the last one is what does not fit. */
uint32_t aif_nvtx_domain(struct aif_nvtx_tables *t, const char *name);
/* The number of a name: enum aif_nvtx_name_id, or made if it is new. `text` has `len` bytes. */
uint32_t aif_nvtx_name(struct aif_nvtx_tables *t, uint32_t domain, const char *text, size_t len);
/* The text of a name that exists; *ret_len at most AIF_NVTX_STRING_MAX, and a domain's prefix. */
const char *aif_nvtx_name_text(const struct aif_nvtx_tables *t, uint32_t name, size_t *ret_len);

void aif_nvtx_category_add(struct aif_nvtx_tables *t, uint32_t domain, uint32_t id,
			   const char *name);
/* NULL: it has no name. */
const char *aif_nvtx_category_name(const struct aif_nvtx_tables *t, uint32_t domain, uint32_t id);

/* Keeps a schema. Returns its id: its own, or a new one; 0: there is no room. */
uint64_t aif_nvtx_schema_add(struct aif_nvtx_tables *t, const struct aif_nvtx_schema *schema);
const struct aif_nvtx_schema *aif_nvtx_schema_find(const struct aif_nvtx_tables *t, uint32_t domain,
						   uint64_t id);

/*
 * Handles, as the program keeps them: numbers of entries, no pointers, so that whatever comes in is judged and never
 * followed. A handle of another tool's, or none, is the default domain, and a name that is not given.
 */
void *aif_nvtx_domain_handle(uint32_t domain);
uint32_t aif_nvtx_domain_of(const struct aif_nvtx_tables *t, const void *handle);
void *aif_nvtx_string_handle(uint32_t name);
uint32_t aif_nvtx_string_of(const struct aif_nvtx_tables *t, const void *handle);

/* Writes a wide text as UTF-8, at most `cap` bytes. Returns how many. */
size_t aif_nvtx_narrow(const void *wide, char *to, size_t cap);
/* The length of a text, at most `most`, 4 or more, or AIF_NVTX_NAME_MAX, cut between two characters. */
size_t aif_nvtx_length_within(const char *text, size_t most);
size_t aif_nvtx_length(const char *text);
