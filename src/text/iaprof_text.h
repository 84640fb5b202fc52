/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/map.h"

/*
 * The text that intel/iaprof writes (its src/profile.cpp), read and written. Lines of fields between tabs:
 *
 *     string    ID  TEXT                      before its first use; not escaped
 *     interval  N  SECONDS                    what follows, up to the next, is of the interval that ended then
 *     kernel    0xADDRESS  COMM  PID  STACK  FILE  SYMBOL
 *     eustall   0xOFFSET  INSTRUCTION  and ten counts, of the last kernel line
 *     metric    frequency-MHz|busy-percent  N
 *
 * Read, too, is what it wrote in 2025 (tag `tiber`, its src/printers/interval): what changes from one sample to the next
 * has a line of its own, and each reason a sample:
 *
 *     interval_start  N  SECONDS              up to interval_end, which has no fields
 *     proc_name ID, pid N, ustack ID, kstack ID, shader_type N, gpu_file ID, gpu_symbol ID, insn_text ID
 *     e         ID  REASON  OFFSET  COUNT     ID: all of it as a stack; REASON: an ID; OFFSET: hexadecimal, without 0x
 *
 * COMM, STACK, FILE, SYMBOL and INSTRUCTION are IDs of strings, from 1 on, or 0 for none; a stack has its root first, ';' between frames. Seconds
 * are CLOCK_MONOTONIC. Strings may come anywhere, also between a kernel and its eustall lines.
 */

enum { AIF_IAPROF_COUNTS = 10 };
/* In the order of its columns: "active", "control", ... as aiflame's reasons are called, too. */
const char *aif_iaprof_count_name(unsigned column);

/* An eustall line with all that came before it. Strings are valid until the next call; "" where
 * an ID was never told. */
struct aif_iaprof_sample {
	uint64_t interval, end_ns; /* of the interval; 0 before the first */
	const char *comm, *stack, *file, *symbol, *instruction;
	uint64_t address, offset, pid;
	bool is_nameless; /* one of its IDs, or of its kernel's, was not told before it */
	uint64_t counts[AIF_IAPROF_COUNTS];
};
struct aif_iaprof_metric {
	uint64_t interval, end_ns, value;
	const char *name;
};

/* ---- reading
 * ------------------------------------------------------------------------------------- */

struct aif_iaprof_sink { /* each returns 0, or a negative errno that ends the reading */
	int (*sample)(void *arg, const struct aif_iaprof_sample *s);
	int (*metric)(void *arg, const struct aif_iaprof_metric *m); /* NULL: not wanted */
	void *arg;
};
/* Zeroed but for the sink: ready to read. */
struct aif_iaprof_reader {
	struct aif_iaprof_sink sink;
	struct aif_buf line; /* begun, its rest is to come */
	bool skipping;       /* a line too long */
	struct aif_strset texts;
	struct aif_map ids; /* of the file -> of `texts` */
	struct aif_iaprof_sample at;
	uint64_t names
		[6]; /* IDs of comm, stack, file, symbol, instruction; of the OS kernel's part of the stack */
	struct aif_buf stack; /* of both parts */
	bool has_kernel;
	uint64_t lines, bad,
		good; /* bad: not understood, and left out; good: what is neither bad nor empty */
	uint64_t first_bad; /* its number, from 1 */
};
/* The next bytes, as many as there are. 0, -ENOMEM or what a sink returned. */
int aif_iaprof_read(struct aif_iaprof_reader *r, const void *bytes, size_t n);
/* The last line, if it has no end; then frees. */
int aif_iaprof_read_end(struct aif_iaprof_reader *r);

/* ---- writing
 * ------------------------------------------------------------------------------------- */

/* Zeroed: ready to write. `out` is the caller's to take and to clear, at any time. */
struct aif_iaprof_writer {
	struct aif_buf out;
	struct aif_strset texts;
	size_t written; /* texts that have their line */
	uint64_t names[4], address, pid;
	bool has_kernel;
};
void aif_iaprof_write_interval(struct aif_iaprof_writer *w, uint64_t interval, uint64_t end_ns);
/* s->interval and end_ns are not looked at. Tabs and line ends in strings become blanks. */
void aif_iaprof_write_sample(struct aif_iaprof_writer *w, const struct aif_iaprof_sample *s);
void aif_iaprof_write_metric(struct aif_iaprof_writer *w, const char *name, uint64_t value);
void aif_iaprof_writer_finish(struct aif_iaprof_writer *w);
