/* SPDX-License-Identifier: Apache-2.0 */
#include "export/exporter.h"
#include "flame/flame.h"
#include "page/page.h"
#include "profile/file.h"
#include "query/print.h"
#include "report/info.h"
#include "report/report.h"
#include "report/summary/summary.h"
#include "report/why/why.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "changed_profile.h"

/*
 * A profile as hostile input of the views: it is refused with words, or each view of it comes to an end. The first byte says
 * what the rest changes: rows, of which any may say anything (changed_profile.h); or the bytes of a good file, six bytes a
 * change, where it is and what is there then.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { AT = 3, BYTES = 3, PATCH = AT + BYTES, PATCHES_MAX = 64 };

static struct aif_buf good;

static void read_good(const char *path)
{
	struct stat st;
	int fd;

	changed_profile_write(path, 1, NULL, 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !aif_buf_reserve(&good, (size_t)st.st_size) ||
	    read(fd, good.data, (size_t)st.st_size) != (ssize_t)st.st_size)
		abort();
	good.len = (size_t)st.st_size;
	close(fd);
	unlink(path);
}

/* Writes the good file, changed, and ended early where its first change is beyond its end. */
static void write_bytes(const char *path, const uint8_t *data, size_t size)
{
	size_t len = good.len;
	uint8_t *copy = malloc(len);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (!copy || fd < 0)
		abort();
	memcpy(copy, good.data, len);
	for (size_t i = 0; i + PATCH <= size && i < (size_t)PATCHES_MAX * PATCH; i += PATCH) {
		size_t at = data[i] | (size_t)data[i + 1] << 8 | (size_t)data[i + 2] << 16;

		if (!i && at >= good.len)
			len = at % good.len;
		for (size_t k = 0; k < BYTES; k++)
			if (at + k < len)
				copy[at + k] = data[i + AT + k];
	}
	if (write(fd, copy, len) != (ssize_t)len)
		abort();
	close(fd);
	free(copy);
}

static void tables(const struct aif_names *names, const struct aif_attribution *a)
{
	for (size_t i = 0; aif_report_tables[i]; i++) {
		const struct aif_report_opts o = {.table = aif_report_tables[i],
						  .detail = AIF_NAME_NORMAL,
						  .kernel = "kernel_0",
						  .columns = 100};
		struct aif_err err = {0};
		struct aif_buf out = {0};

		if (aif_report_write(names, aif_report_needs_attribution(o.table) ? a : NULL, &o,
				     &out, &err) < 0 &&
		    !*err.text)
			abort();
		aif_buf_finish(&out);
	}
}

static void exports(const struct aif_names *names)
{
	const struct aif_export x = {.profile = names->p, .names = names, .detail = AIF_NAME_FULL};

	for (size_t i = 0; aif_exporters[i]; i++) {
		struct aif_err err = {0};

		if (aif_exporters[i]->write &&
		    aif_export_write(aif_exporters[i], &x, "/dev/null", &err) < 0 && !*err.text)
			abort();
	}
}

static void page(const struct aif_names *names)
{
	const struct aif_page_opts o = {.path = "x", .first = "overview"};
	struct aif_err err = {0};
	struct aif_out out;

	if (aif_out_open(&out, "/dev/null", &err) < 0)
		abort();
	if (aif_page_write(names, &o, &out, &err) < 0)
		aif_out_abort(&out);
	else if (aif_out_commit(&out, &err) < 0)
		abort();
}

static void picture(const struct aif_names *names, const struct aif_attribution *a)
{
	const struct aif_flame_opts o = {.lines = true};
	const struct aif_svg_opts svg = {.title = "", .subtitle = ""};
	struct aif_err err = {0};
	struct aif_tree tree;

	if (aif_flame_build(names, a, &o, &tree, &err) < 0) {
		if (!*err.text)
			abort();
		return;
	}
	if (aif_flame_write(&tree, AIF_FLAME_SVG, &svg, "/dev/null", &err) < 0)
		abort();
	aif_tree_finish(&tree);
}

/* Reads each table of `aiflame query`. */
static void query(const struct aif_names *names)
{
	const struct aif_query_limits limits = {0};
	struct aif_err err = {0};
	struct aif_query *q;
	struct aif_out out;

	if (aif_query_new(names, &q, &err) < 0)
		abort();
	for (size_t i = 0; aif_query_table(i); i++) {
		struct aif_buf sql = {0};

		aif_buf_printf(&sql, "SELECT * FROM %s", aif_query_table(i));
		if (aif_out_open(&out, "/dev/null", &err) < 0)
			abort();
		if (aif_query_print(q, aif_buf_str(&sql), AIF_TABLE_JSON, 0, &limits, &out, &err) <
			    0 &&
		    !*err.text)
			abort();
		aif_out_abort(&out);
		aif_buf_finish(&sql);
	}
	aif_query_free(q);
}

static void texts(const struct aif_names *names, const struct aif_attribution *a)
{
	struct aif_buf out = {0};
	struct aif_err err = {0};
	struct aif_why w;

	aif_summary_write(names, a, "x", &out);
	aif_info_write(names->p, a, "x", &out);
	aif_info_json(names->p, a, "x", &out);
	if (aif_why_measure(names, NULL, &w, &err) == 0) {
		aif_why_say(names, &w, "", 80, &out);
		aif_why_json(names, &w, "x", &out);
	} else if (!*err.text) {
		abort();
	}
	aif_why_finish(&w);
	aif_buf_finish(&out);
}

static void view(const char *path)
{
	struct aif_attribution a;
	struct aif_profile p;
	struct aif_names names;
	struct aif_err err = {0};

	if (aif_profile_open(path, &p, &err) < 0) {
		if (!*err.text)
			abort();
		return;
	}
	if (aif_attribution_compute(&p, NULL, &a, &err) < 0) {
		if (!*err.text)
			abort();
		aif_profile_finish(&p);
		return;
	}
	if (aif_names_make(&names, &p) < 0)
		abort();
	(void)aif_conservation_check(&a.conservation, NULL);
	tables(&names, &a);
	texts(&names, &a);
	picture(&names, &a);
	query(&names);
	exports(&names);
	page(&names);
	aif_names_finish(&names);
	aif_attribution_finish(&a);
	aif_profile_finish(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];

	if (!size)
		return 0;
	snprintf(path, sizeof(path), "/dev/shm/fuzz_profile.%d", (int)getpid());
	if (!good.len)
		read_good(path);
	if (data[0] % 2)
		write_bytes(path, data + 1, size - 1);
	else
		changed_profile_write(path, 2, data + 1, size - 1);
	view(path);
	unlink(path);
	return 0;
}
