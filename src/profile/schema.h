/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/model.h"

/*
 * The small facts' tables, once, for writer and reader: which struct's field is which column, and
 * which table an id points into. The SQL name of a row's id is always "id", dense from 0.
 */

#define AIF_FILE_APPLICATION_ID 0x41694631 /* "AiF1" */

/* The version that this aiflame writes, and the newest that it reads. 0 = the format may still
 * change without notice. */
#define AIF_FILE_VERSION 0

enum aif_schema_type {
	AIF_TYPE_U32,
	AIF_TYPE_I32,
	AIF_TYPE_U64, /* as the same 64 bits, signed, in SQL */
	AIF_TYPE_REF, /* an id of table `ref`; NULL in SQL is AIF_NONE */
	AIF_TYPE_BYTES,
	AIF_TYPE_PACKED, /* bytes, compressed; its field is followed by their number */
};

/* In the order in which a reader loads them: tables before those that point into them. */
enum aif_schema_id {
	AIF_TABLE_META,
	AIF_TABLE_PROCESS,
	AIF_TABLE_THREAD,
	AIF_TABLE_DEVICE,
	AIF_TABLE_STREAM,
	AIF_TABLE_PROGRAM,
	AIF_TABLE_KERNEL,
	AIF_TABLE_MODULE,
	AIF_TABLE_FRAME,
	AIF_TABLE_FRAME_NAME,
	AIF_TABLE_STACK,
	AIF_TABLE_SHAPE,
	AIF_TABLE_CODE,
	AIF_TABLE_CLOCK_PAIR,
	AIF_TABLE_GRAPH_NODE,
	AIF_TABLE_COLLECTIVE,
	AIF_TABLE_DURATION,
	AIF_TABLE_LOSS,
	AIF_TABLE_COUNT,
	AIF_TABLE_STRING = AIF_TABLE_COUNT, /* not in the list: strings are a set, not rows */
};

struct aif_schema_column {
	const char *name;
	uint16_t offset;
	uint8_t type; /* enum aif_schema_type */
	uint8_t ref;  /* enum aif_schema_id */
	bool must;    /* AIF_NONE is damage */
};

struct aif_schema_table {
	const char *name;
	uint16_t row_size;
	uint16_t rows_at, len_at, cap_at; /* in struct aif_profile */
	bool rewritten;                   /* rows may change after they were written */
	bool added; /* after the first files of this version: may be missing */
	uint8_t columns_len;
	const struct aif_schema_column *columns;
};

extern const struct aif_schema_table aif_schema_tables[AIF_TABLE_COUNT];

/* Checks that all ids of a table's rows are in range. Returns the name of a column with one that is not, or NULL. */
const char *aif_schema_bad_ref(const struct aif_profile *p, const struct aif_schema_table *t);
/* Sets the depths of stacks. False: one comes before its caller's, so that there may be cycles. */
bool aif_schema_check_stacks(struct aif_profile *p);

/* Appends the SQL that creates all tables in an empty file, several statements. */
void aif_schema_sql(struct aif_buf *ret);

static inline void *aif_schema_rows(const struct aif_profile *p, const struct aif_schema_table *t)
{
	return *(void **)((char *)(uintptr_t)p + t->rows_at);
}

static inline size_t *aif_schema_len(const struct aif_profile *p, const struct aif_schema_table *t)
{
	return (size_t *)((char *)(uintptr_t)p + t->len_at);
}
