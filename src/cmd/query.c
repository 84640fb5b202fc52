/* SPDX-License-Identifier: Apache-2.0 */
#include "query/print.h"

#include "cmd/command.h"
#include "cmd/profile_arg.h"
#include "cmd/message.h"
#include "cmd/stop.h"
#include "base/buf.h"
#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct values {
	const char *input, *output;
	int format;
	uint64_t cpu_ns, temp_bytes;
};
static const struct aif_opt opts[] = {
	{'i', "input", "FILE", AIF_OPT_STRING, offsetof(struct values, input), 0,
	 "the profile (aiflame.data)"},
	{'o', "output", "FILE", AIF_OPT_STRING, offsetof(struct values, output), 0,
	 "the file to write, - is standard output (-)"},
	{0, "format", "table|csv|json", AIF_OPT_CHOICE, offsetof(struct values, format), 0,
	 "text for people, CSV and JSON for programs"},
	{0, "timeout", "TIME", AIF_OPT_TIME, offsetof(struct values, cpu_ns), 0,
	 "stop after this CPU time, 0 = never (10m)"},
	{0, "max-temp", "BYTES", AIF_OPT_BYTES, offsetof(struct values, temp_bytes), 0,
	 "stop when temporary files become larger, 0 = never (1G, or 64 times the profile if that is "
	 "more)"},
	{0},
};
/* A recursion without an end writes temporary rows until the disk is full, at 10 to 30 MB/s. */
#define CPU_NS (600 * AIF_NS_PER_S)
/* Sorting all columns of 200,000 operators took 4 to 8 times the size of their profile. */
#define TEMP_BYTES (UINT64_C(1) << 30)
#define TEMP_TIMES 64
static const struct values defaults = {.output = "-", .cpu_ns = CPU_NS, .temp_bytes = UINT64_MAX};

/* Returns the bound on temporary files of a statement over the profile; 0 = none. */
static uint64_t temp_bytes(const struct values *v, const char *path)
{
	struct stat st;

	if (v->temp_bytes != UINT64_MAX)
		return v->temp_bytes;
	return stat(path, &st) == 0 ? AIF_MAX((uint64_t)st.st_size * TEMP_TIMES, TEMP_BYTES)
				    : TEMP_BYTES;
}

/* Returns the SQL of a word of the sqlite3 shell that lists tables or columns (.schema launches: of one table), made in *made, else
 * the text itself. */
static const char *sql_of(const char *text, struct aif_buf *made)
{
	static const char schema[] = ".schema";

	if (!strcmp(text, ".tables"))
		return "SELECT name FROM (SELECT name FROM sqlite_master UNION "
		       "SELECT name FROM sqlite_temp_master) ORDER BY name";
	if (strncmp(text, schema, strlen(schema)) != 0)
		return text;
	text += strlen(schema);
	if (*text && *text != ' ')
		return text - strlen(schema);
	text += strspn(text, " ");
	aif_buf_puts(made, "SELECT t.name AS \"table\", c.name AS column FROM (SELECT name FROM "
			   "sqlite_master UNION SELECT name FROM sqlite_temp_master) t, "
			   "pragma_table_info(t.name) c ");
	if (*text) {
		aif_buf_puts(made, "WHERE t.name = '");
		for (; *text; text++) {
			if (*text == '\'')
				aif_buf_putc(made, '\'');
			aif_buf_putc(made, *text);
		}
		aif_buf_puts(made, "' COLLATE NOCASE ");
	}
	aif_buf_puts(made, "ORDER BY t.name, c.cid");
	return aif_buf_str(made);
}

static int query(const struct values *v, char **words, int words_len, struct aif_buf *made,
		 struct aif_err *err)
{
	struct aif_query *q = NULL;
	struct aif_profile p = {0};
	struct aif_names names = {0};
	const char *path, *sql;
	struct aif_query_limits limits;
	struct aif_out out;
	int status = AIF_EXIT_FAILURE;

	if (words_len == 2)
		aif_view_put_in_order(&words[0], &words[1]);
	path = aif_view_path(v->input, words, words_len - 1, err);
	sql = sql_of(words[words_len - 1], made);
	if (!path)
		return AIF_EXIT_USAGE;
	if (aif_buf_failed(made)) {
		aif_err_set(err, -ENOMEM, "query: %s", strerror(ENOMEM));
		return AIF_EXIT_FAILURE;
	}
	if (aif_view_is_same_file(path, v->output)) {
		aif_err_set(err, -EINVAL, "query: %s is the profile itself; choose another -o",
			    v->output);
		return AIF_EXIT_USAGE;
	}
	/* The shortest statement has a space or a bracket. */
	if (words_len == 1 && (!strpbrk(sql, " \t\n(") || access(sql, F_OK) == 0)) {
		aif_err_set(err, -EINVAL,
			    "query: '%s' is not SQL; try aiflame query %s 'SELECT * FROM "
			    "kernel_times'",
			    sql, sql);
		return AIF_EXIT_USAGE;
	}
	limits = (struct aif_query_limits){v->cpu_ns, temp_bytes(v, path)};
	aif_stop_begin_at_once();
	if (aif_view_profile(path, &p, &names, err) == 0 && aif_query_new(&names, &q, err) == 0 &&
	    aif_out_open_stoppable(&out, v->output, NULL, aif_stop_scratch(), err) == 0) {
		if (aif_query_print(q, sql, (enum aif_table_format)v->format,
				    strcmp(v->output, "-") ? 0 : aif_view_columns(), &limits, &out,
				    err) < 0)
			aif_out_abort(&out);
		else if (aif_out_commit(&out, err) == 0)
			status = AIF_EXIT_OK;
	}
	aif_stop_end();
	if (q && aif_query_damaged(q))
		aif_message("%s: %" PRIu64 " %s missing above", path, aif_query_damaged(q),
			    aif_query_damaged(q) == 1 ? "part of it is damaged: its rows are"
						      : "parts of it are damaged: their rows are");
	aif_query_free(q);
	aif_names_finish(&names);
	aif_profile_finish(&p);
	return status;
}

static int run(const void *values, char **words, int words_len, struct aif_err *err)
{
	struct aif_buf made = {0};
	int status = query(values, words, words_len, &made, err);

	aif_buf_finish(&made);
	return status;
}

const struct aif_command aif_command_query = {
	.name = "query",
	.words = "[FILE] SQL",
	.summary = "SQL over a profile",
	.description =
		"Runs one SELECT over the profile's tables: launches, executions, copies, ops, calls,\n"
		"samples, cpu_samples, windows, attributed, device_times, counters, queue, memory,\n"
		"kernels, stacks, frames, frame_names, modules, processes, threads, devices, clocks,\n"
		"losses, meta, strings, programs, codes, graph_nodes, collectives, durations, step_sums,\n"
		"and the view kernel_times. Times are ns since the recording began. docs/FORMAT.md lists\n"
		"the columns; .tables lists the tables, .schema their columns, as sqlite_master does;\n"
		"'.schema launches' those of one.",
	.examples =
		"aiflame query 'SELECT * FROM kernel_times'\ttime by kernel\n"
		"aiflame query .schema\ttables and their columns\n"
		"aiflame query 'SELECT kind, sum(bytes) FROM copies GROUP BY kind'\tbytes copied\n",
	.opts = opts,
	.defaults = &defaults,
	.values_size = sizeof(struct values),
	.min_words = 1,
	.max_words = 2,
	.run = run,
};
