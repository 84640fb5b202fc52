/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto/ranks.h"
#include "import/sqlite/tool_db.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The tools whose files are read, and reading one. */

/* Beginnings of names of tables without events: what others refer to, facts of the machine, the tool's own notes. */
static const char *const nsys_known[] = {
	"ENUM_",       "TARGET_INFO_",    "META_DATA_", "EXPORT_META_", "StringIds",
	"ThreadNames", "PROCESS",         "ANALYSIS_",  "DIAGNOSTIC_",  "PROFILER_OVERHEAD",
	"CUDA_CALLCH", "SAMPLING_CALLCH", NULL,
};
static const char *const rocpd_known[] = {
	"rocpd_metadata", "rocpd_info_", "rocpd_string", "rocpd_arg", NULL,
};

static const struct tool {
	const char *name, *table; /* begins with; that there is one says whose file it is */
	enum kineto_family family;
	const char *const *known;
	int (*read)(struct tool_db *t);
	int (*read_late)(struct tool_db *t);
} tools[] = {
	{"nsys", "CUPTI_ACTIVITY_KIND_", KINETO_CUDA, nsys_known, nsys_read, nsys_samples},
	{"nsys", "NVTX_EVENTS", KINETO_CUDA, nsys_known, nsys_read, nsys_samples},
	{"nsys", "COMPOSITE_EVENTS", KINETO_CUDA, nsys_known, nsys_read, nsys_samples},
	{"rocpd", "rocpd_kernel_dispatch", KINETO_HIP, rocpd_known, rocpd_read, NULL},
	{"rocpd", "rocpd_region", KINETO_HIP, rocpd_known, rocpd_read, NULL},
	{"rocpd of before ROCm 7", "rocpd_op", KINETO_HIP, rocpd_known, rpd_read, NULL},
};

static int any(void *arg, const char *table)
{
	(void)arg;
	(void)table;
	return -EEXIST;
}

static const struct tool *tool_of(struct aif_sqlite_in *in)
{
	for (size_t i = 0; i < AIF_ARRAY_LEN(tools); i++)
		if (aif_sqlite_in_tables(in, tools[i].table, any, NULL) == -EEXIST)
			return &tools[i];
	return NULL;
}

static int probe(const uint8_t *head, size_t len)
{
	return aif_sqlite_in_probe(head, len) ? 10 : 0;
}

/* Says which tables with rows were not read. 0 or -errno. */
static int report_unread(struct tool_db *t, const struct tool *tool)
{
	struct aif_builder *b = t->k.b;
	struct aif_buf text = {0};
	uint64_t n = 0;
	int r;

	aif_buf_printf(&text, "%s: ", t->k.file);
	r = aif_sqlite_in_unread(&t->in, tool->known, &text, &n);
	if (!r && n)
		aif_builder_loss(b, AIF_REASON_IMPORT_TABLES, AIF_NONE,
				 aif_builder_puts(b, aif_buf_str(&text)), n);
	b->failed |= aif_buf_failed(&text);
	aif_buf_finish(&text);
	return r;
}

static int read_all(struct tool_db *t, const struct tool *tool, void **state, struct aif_err *err)
{
	struct aif_builder *b = t->k.b;
	char text[512];
	size_t rows = b->waits_len;
	bool is_cpu_only = false; /* nothing of a GPU is in it */
	uint64_t said = 0;        /* bad rows that kineto_build() has reported */
	int r;

	t->k.machine.family = tool->family;
	t->k.names.demangles = true;
	t->k.is_known = true; /* what a table is of is known */
	r = tool->read(t);
	if (!r)
		r = kineto_collect_open(&t->k);
	if (!r && tool->read_late && !t->k.spans_len && !t->k.execs_len) {
		r = tool->read_late(t);
		is_cpu_only = b->waits_len > rows;
	}
	if (!r && !is_cpu_only) {
		uint64_t not_kept;

		r = kineto_build(&t->k, state, err);
		if (r < 0)
			return r;
		not_kept = t->k.counts.not_kept;
		said = t->k.counts.bad;
		if (tool->read_late)
			r = tool->read_late(t);
		kineto_ranks_add(*state, b, t->k.counts.not_kept - not_kept);
	}
	if (!r)
		r = report_unread(t, tool);
	if (!r && b->failed)
		r = -ENOMEM;
	if (!r)
		r = t->in.error;
	if (r == -EINTR)
		return aif_err_set(err, r, "%s: stopped", t->k.file);
	if (r < 0)
		return aif_err_set(err, r, "%s: %s", t->k.file, strerror(-r));
	if (is_cpu_only && t->k.counts.not_kept)
		aif_builder_loss(b, AIF_REASON_IMPORT_OTHER_KIND, AIF_NONE,
				 aif_builder_puts(b, t->k.file), t->k.counts.not_kept);
	aif_builder_loss(b, AIF_REASON_IMPORT_EVENT, AIF_NONE, aif_builder_puts(b, t->k.file),
			 t->k.counts.bad - said);
	aif_builder_loss(b, AIF_REASON_IMPORT_STACK_DEEP, AIF_NONE, aif_builder_puts(b, t->k.file),
			 t->too_deep);
	aif_builder_loss(b, AIF_REASON_IMPORT_NO_STACK, AIF_NONE, aif_builder_puts(b, t->k.file),
			 t->no_stack);
	snprintf(text, sizeof(text), "%s, first: %s", t->k.file, t->first_warning);
	aif_builder_loss(b, AIF_REASON_IMPORT_WARNED, AIF_NONE, aif_builder_puts(b, text),
			 t->warnings);
	if (t->in.damaged) {
		snprintf(text, sizeof(text), "%s: %s", t->k.file, t->in.damage);
		aif_builder_loss(b, AIF_REASON_IMPORT_TEXT, AIF_NONE, aif_builder_puts(b, text),
				 t->in.damaged);
	}
	aif_builder_meta(b, "imported.tool", "%s", tool->name);
	return 0;
}

static int read_file(struct aif_import_source *source, struct aif_builder *b, void **state,
		     struct aif_err *err)
{
	struct tool_db *t = calloc(1, sizeof(*t));
	const struct tool *tool;
	int r;

	if (!t)
		return aif_err_set(err, -ENOMEM, "out of memory");
	t->k.b = t->host.b = b;
	t->k.file = aif_input_name(source->input);
	t->k.machine.host = t->k.machine.main_process = AIF_NONE;
	r = aif_sqlite_in_open(&t->in, source, err);
	if (!r) {
		tool = tool_of(&t->in);
		r = tool ? read_all(t, tool, state, err)
			 : aif_err_set(err, -EBADMSG,
				       "%s: an SQLite file that is neither nsys's (nsys "
				       "export --type sqlite) nor rocprofv3's (rocpd); "
				       "aiflame's own profiles need no import",
				       t->k.file);
	}
	aif_sqlite_in_close(&t->in);
	kineto_free(&t->k);
	aif_host_finish(&t->host);
	aif_strset_finish(&t->texts);
	aif_map_finish(&t->text_ids);
	free(t);
	return r;
}

const struct aif_importer aif_importer_tool_db = {
	.name = "nsys or rocpd",
	.summary = "nsys's export to SQLite, rocprofv3's rocpd",
	.uses = AIF_IMPORT_USES_COUNT,
	.probe = probe,
	.read = read_file,
	.finish = kineto_ranks_finish,
};
