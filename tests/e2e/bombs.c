/* SPDX-License-Identifier: Apache-2.0 */
/* bombs KIND FILE: small profiles of which a careless view makes gigabytes. Each is one that the reader accepts. */
#include "profile/file.h"

#include "profile/chunk.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#define START UINT64_C(5000000000)

static struct aif_profile p;
static struct aif_writer *w;
static struct aif_err err;

static void must(int r)
{
	if (r < 0) {
		fprintf(stderr, "bombs: %d %s\n", r, err.text);
		exit(1);
	}
}

#define ADD(table, ...)                                                                        \
	do {                                                                                   \
		must(aif_grow(&p.table, &p.table##_cap, p.table##_len + 1, sizeof(*p.table))); \
		p.table[p.table##_len++] = (__typeof__(*p.table)){__VA_ARGS__};                \
	} while (0)

static uint32_t str(const char *s)
{
	return aif_strset_puts(&p.strings, s);
}

/* Begins a profile of one process, device, queue and kernel; frame 0 is a function, `device_frames` more are places in
 * the kernel. */
static void begin(uint32_t device_frames)
{
	p.start_ns = START;
	p.end_ns = START + 100 * AIF_NS_PER_S;
	ADD(processes, .pid = 100, .ppid = 1, .exe = str("app"), .cmdline = str("app"),
	    .host = AIF_NONE, .start_ns = START, .flags = AIF_PROCESS_AGENT | AIF_PROCESS_RUNTIME);
	ADD(threads, .process = 0, .tid = 100, .name = AIF_NONE);
	ADD(devices, .name = str("device"), .vendor = AIF_NONE, .driver = AIF_NONE,
	    .runtime = str("fake"), .kind = AIF_DEVICE_GPU, .clock = AIF_CLOCK_MONOTONIC);
	ADD(streams, .process = 0, .device = 0);
	ADD(modules, .kind = AIF_MODULE_ELF, .path = str("/bin/app"), .build_id = AIF_NONE,
	    .kernel = AIF_NONE, .program = AIF_NONE);
	ADD(modules, .kind = AIF_MODULE_DEVICE, .path = str("k"), .build_id = AIF_NONE, .kernel = 0,
	    .program = AIF_NONE);
	ADD(kernels, .name = str("k"), .short_name = AIF_NONE, .program = AIF_NONE);
	ADD(frames, .kind = AIF_FRAME_NATIVE, .module = 0, .address = 0x1000);
	for (uint32_t i = 0; i < device_frames; i++)
		ADD(frames, .kind = AIF_FRAME_DEVICE, .module = 1, .address = 16 * i);
}

static void add_stacks(uint32_t n, bool is_chain)
{
	for (uint32_t i = 0; i < n; i++)
		ADD(stacks, .parent = is_chain && i ? i - 1 : AIF_NONE, .frame = 0,
		    .depth = is_chain ? i + 1 : 1);
}

static void add_names(uint32_t n)
{
	char name[32];

	for (uint32_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "inlined_function_%u", i);
		ADD(frame_names, .frame = 0, .inline_depth = i, .name = str(name), .file = AIF_NONE,
		    .line = i);
	}
}

static void open_file(const char *path)
{
	must(aif_writer_new(path, p.start_ns, &w, &err));
	must(aif_writer_tables(w, &p, &err));
}

/* n of each, a launch each `step` ns, which runs for half of that; stacks in turn, or none. */
static void write_launches(uint32_t n, uint64_t step, uint32_t stacks)
{
	struct aif_launch_row *l = calloc(AIF_CHUNK_MAX_ROWS, sizeof(*l));
	struct aif_exec_row *x = calloc(AIF_CHUNK_MAX_ROWS, sizeof(*x));

	if (!l || !x)
		must(-1);
	for (uint32_t from = 0; from < n; from += AIF_CHUNK_MAX_ROWS) {
		size_t len = AIF_MIN(n - from, (uint32_t)AIF_CHUNK_MAX_ROWS);

		for (uint32_t i = 0; i < len; i++) {
			uint64_t at = START + (from + i) * step;

			l[i] = (struct aif_launch_row){.launch = from + i,
						       .time = at,
						       .stack = stacks ? (from + i) % stacks
								       : AIF_NONE,
						       .shape = AIF_NONE};
			x[i] = (struct aif_exec_row){.launch = from + i,
						     .start = at,
						     .end = at + step / 2,
						     .clock = AIF_CLOCK_MONOTONIC};
		}
		must(aif_writer_launches(w, l, len, &err));
		must(aif_writer_execs(w, x, len, &err));
	}
	free(l);
	free(x);
}

static void write_samples(uint32_t frames)
{
	struct aif_window_row window = {
		.start = START, .end = p.end_ns, .held = 1, .period_ns = 1000, .thread = AIF_NONE};
	struct aif_sample_row *s = calloc(frames, sizeof(*s));

	if (!s)
		must(-1);
	for (uint32_t i = 0; i < frames; i++)
		s[i] = (struct aif_sample_row){.time = START,
					       .count = 1000,
					       .thread = AIF_NONE,
					       .frame = 1 + i,
					       .reason = AIF_NONE};
	must(aif_writer_windows(w, &window, 1, &err));
	must(aif_writer_samples(w, s, frames, &err));
	free(s);
}

/* Bytes of a result that is kept beside the data, and which zeroes are cheap to send. */
static void pad(const char *path, int bytes)
{
	char sql[100];
	sqlite3 *db;

	snprintf(sql, sizeof(sql), "INSERT INTO cache VALUES('pad', zeroblob(%d))", bytes);
	must(sqlite3_open(path, &db) == SQLITE_OK &&
			     sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK
		     ? 0
		     : -1);
	sqlite3_close(db);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "", *path = argc > 2 ? argv[2] : "";
	int padding = 0;

	if (!strcmp(kind, "rows")) { /* the same step again and again is next to nothing */
		begin(0);
		open_file(path);
		write_launches(40 << 20, 1000, 0);
		padding = 1 << 20;
	} else if (!strcmp(kind, "inlined")) { /* one function, and all that is inlined there */
		begin(0);
		add_stacks(4000, true);
		add_names(60000);
		open_file(path);
		write_launches(4000, 1000000, 4000);
	} else if (!strcmp(kind, "deep")) { /* each stack is longer than all before it */
		begin(0);
		add_stacks(30000, true);
		add_names(1);
		open_file(path);
		write_launches(30000, 1000000, 30000);
	} else if (!strcmp(kind, "long")) { /* one name, in every line again */
		char *name = malloc((1 << 20) + 1);

		if (!name)
			must(-1);
		memset(name, 'x', 1 << 20);
		name[1 << 20] = '\0';
		begin(0);
		add_stacks(2000, true);
		ADD(frame_names, .frame = 0, .name = str(name), .file = AIF_NONE);
		free(name);
		open_file(path);
		write_launches(2000, 1000000, 2000);
	} else if (!strcmp(kind,
			   "product")) { /* every stack is given a share of every instruction */
		begin(10000);
		add_stacks(10000, true);
		add_names(1);
		open_file(path);
		write_launches(10000, 1000000, 10000);
		write_samples(10000);
	} else {
		fputs("usage: bombs rows|inlined|deep|long|product FILE\n", stderr);
		return 2;
	}
	must(aif_writer_finish(w, p.end_ns, &err));
	if (padding)
		pad(path, padding);
	aif_profile_finish(&p);
	return 0;
}
