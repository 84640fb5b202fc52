/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "record/record.h"

/* Rows that are kept: of a machine on which jobs come and go for days, those that came first; others are counted. */
#define AIF_JOINED_ROWS_MAX 4096

/* The processes that `record -a` has joined although nobody prepared them, and those that it has left alone. */
struct aif_joined_list {
	struct aif_joined *row;
	size_t len, cap;
	struct aif_map at;               /* pid -> row */
	uint64_t more_joined, more_left; /* that have no row */
};

/* Adds a process, or replaces what is known of its number. */
void aif_joined_list_add(struct aif_joined_list *l, const struct aif_record_joined *j);
/* Prints the list on standard error: counts, and a dozen lines unless `all`. Nothing if it is empty. */
void aif_joined_list_print(const struct aif_joined_list *l, bool all);
void aif_joined_list_finish(struct aif_joined_list *l);

/* Prints one of the texts below as a message. */
void aif_joined_say(void (*text)(struct aif_buf *, const struct aif_record_joined *),
		    const struct aif_record_joined *j);
/* Appends what it took to put the agent into a process. */
void aif_joined_times_text(struct aif_buf *out, const struct aif_inject_times *t);
/* Appends what the longest of the stops was for that it took to put the agent into a process. */
void aif_joined_stops_text(struct aif_buf *out, const struct aif_record_joined *j);
/* Appends what a named process has become. */
void aif_joined_became_text(struct aif_buf *out, const struct aif_record_joined *j);
/* Appends what is said of a process at once; without a zero byte or the end of a line. */
void aif_joined_text(struct aif_buf *out, const struct aif_record_joined *j);
