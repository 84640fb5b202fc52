/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/host.h"
#include "import/kineto/kineto.h"
#include "import/sqlite/sqlite_in.h"

/*
 * GPU tools' SQLite files: nsys's export, rocprofv3's rocpd, and rocpd of before. Their rows are events as those of a trace
 * (kineto.h), which joins calls with what they launched, and makes stacks of ranges and calls. Tables refer to each other by
 * numbers, which are looked up here: SQL joins nothing.
 */
struct tool_db {
	struct aif_sqlite_in in;
	struct kineto k;
	struct aif_host host;
	struct aif_strset texts;
	struct aif_map text_ids;     /* a string's number in the file -> in .texts */
	uint64_t too_deep, no_stack; /* stacks of calls and samples; samples */
	uint64_t warnings;           /* that the tool has put into the file */
	char first_warning[160];
	int64_t shift; /* added to numbers of pids and devices: of the part of the file that is read */
};

/* The strings of a table, "id,value" or as it calls them. 0 or -errno. */
int tool_db_strings(struct tool_db *t, const char *table, const char *columns);
/* Returns the string with a number; "" if there is none. Valid until the next row of strings. */
const char *tool_db_string(const struct tool_db *t, int64_t number, size_t *ret_len);

/* The event at hand, nothing known of it; then its fields; then tool_db_put(), times in ns. 0 or -ENOMEM. */
struct kineto_event *tool_db_event(struct tool_db *t, int64_t pid, int64_t tid);
int tool_db_put(struct tool_db *t, const char *category, const char *name, size_t len,
		int64_t start, int64_t end);
/* Puts one that has no end. */
int tool_db_begin(struct tool_db *t, const char *category, const char *name, size_t len,
		  int64_t start);
/* The name of a process, or of a thread. */
int tool_db_name(struct tool_db *t, int64_t pid, const int64_t *tid, const char *name, size_t len);
/* Adds what is known of a device. */
int tool_db_device(struct tool_db *t, int64_t number, const char *name, size_t len, uint32_t units);

/* Readers: 0 or -errno; *err is set by who calls them. The first reads what has to be there before events are built,
 * the second, which may be missing, what has to wait until then. */
int nsys_read(struct tool_db *t);
int nsys_samples(struct tool_db *t);
int rocpd_read(struct tool_db *t);
int rpd_read(struct tool_db *t);
