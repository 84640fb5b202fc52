/* SPDX-License-Identifier: Apache-2.0 */
#include "export/exporter.h"
#include "report/report.h"
#include "report/why/why.h"
#include "import/import.h"
#include "analysis/attribution.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A file from anywhere, packed or not: it is refused, with words, or becomes a profile that can be opened and adds up, of
 * which there are tables and a time line for other viewers. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The parts sum to the whole whatever the rows say. */
static void bounds(const struct aif_names *names)
{
	struct aif_buf text = {0}, json = {0};
	struct aif_err err = {0};
	struct aif_why w;
	uint64_t sum = 0, idle = 0;

	if (aif_why_measure(names, NULL, &w, &err) < 0) {
		if (!*err.text)
			abort();
	} else {
		for (size_t i = 0; i < AIF_WHY_GROUPS; i++)
			sum += w.of_group[i];
		for (size_t i = 0; i < w.owners_len; i++)
			idle += w.owners[i].ns;
		if (sum != w.time_ns || idle != w.idle_ns)
			abort();
		aif_why_say(names, &w, "", 80, &text);
		aif_why_json(names, &w, "a.data", &json);
	}
	aif_buf_finish(&text);
	aif_buf_finish(&json);
	aif_why_finish(&w);
}

static void show(const struct aif_names *names)
{
	const struct aif_export x = {.profile = names->p, .names = names, .detail = AIF_NAME_FULL};
	struct aif_err err = {0};

	for (size_t i = 0; aif_report_tables[i]; i++) {
		const struct aif_report_opts o = {.table = aif_report_tables[i],
						  .format = AIF_TABLE_CSV,
						  .by = AIF_REPORT_BY_SHAPE};
		struct aif_buf out = {0};

		if (!aif_report_needs_attribution(o.table) &&
		    aif_report_write(names, NULL, &o, &out, &err) < 0 && !*err.text)
			abort();
		aif_buf_finish(&out);
	}
	for (size_t i = 0; aif_exporters[i]; i++)
		if (!strcmp(aif_exporters[i]->name, "chrome") ||
		    !strcmp(aif_exporters[i]->name, "perfetto")) {
			int r = aif_export_write(aif_exporters[i], &x, "/dev/null", &err);

			/* Only Python's functions, or what is of no time. */
			if (r >= 0 || r == -ENODATA)
				continue;
			fprintf(stderr, "%s\n", err.text);
			abort();
		}
}

static void tables(const struct aif_names *names, const struct aif_attribution *a)
{
	for (size_t i = 0; aif_report_tables[i]; i++) {
		const struct aif_report_opts o = {.table = aif_report_tables[i],
						  .detail = AIF_NAME_NORMAL};
		struct aif_err err = {0};
		struct aif_buf out = {0};

		if (aif_report_needs_attribution(o.table) &&
		    aif_report_write(names, a, &o, &out, &err) < 0 && !*err.text)
			abort();
		aif_buf_finish(&out);
	}
}

static int file_of(const uint8_t *data, size_t size, char path[64])
{
	int fd = memfd_create("trace", MFD_CLOEXEC);

	snprintf(path, 64, "/proc/self/fd/%d", fd);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Separates the input of this rank from another rank's. */
	static const char next[] = "\0rank";
	const uint8_t *end = size ? memmem(data, size, next, sizeof(next)) : NULL;
	size_t first = end ? (size_t)(end - data) : size;
	const struct aif_import_opts opts = {.limit = 8 << 20};
	char path[64], other[64], output[64];
	const char *const files[] = {path, other};
	int fd = file_of(data, first, path),
	    other_fd = end ? file_of(end + sizeof(next), size - first - sizeof(next), other) : -1,
	    r;
	struct aif_names names;
	struct aif_profile p;
	struct aif_attribution a;
	struct aif_err err = {0};

	snprintf(output, sizeof(output), "/dev/shm/fuzz_kineto.%d", (int)getpid());
	r = aif_import_files(files, end ? 2 : 1, output, &opts, NULL, &err);
	if ((r < 0) != (err.code < 0))
		abort();
	if (!r) {
		if (aif_profile_open(output, &p, &err) < 0 ||
		    aif_attribution_compute(&p, NULL, &a, &err) < 0 ||
		    !aif_conservation_check(&a.conservation, NULL)) {
			fprintf(stderr, "%s\n", err.text);
			abort();
		}
		if (aif_names_make(&names, &p) < 0)
			abort();
		tables(&names, &a);
		aif_attribution_finish(&a);
		bounds(&names);
		show(&names);
		aif_names_finish(&names);
		aif_profile_finish(&p);
		unlink(output);
	}
	close(fd);
	if (end)
		close(other_fd);
	return 0;
}
