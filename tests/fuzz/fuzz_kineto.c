/* SPDX-License-Identifier: Apache-2.0 */
#include "export/exporter.h"
#include "export/kernel_names.h"
#include "export/timed_report.h"
#include "import/import.h"
#include "profile/attribution.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A file from anywhere, packed or not: it is refused, with words, or becomes a profile that can be opened and adds up, of
 * which there are tables and a time line for other viewers. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void show(struct aif_profile *p)
{
	const struct aif_export x = {.profile = p, .detail = AIF_NAME_FULL};
	struct aif_err err = {0};

	for (int kind = AIF_REPORT_OPS; kind < AIF_REPORT_COUNT; kind++) {
		const struct aif_report_opts o = {.kind = (enum aif_report_kind)kind,
						  .format = AIF_TABLE_CSV,
						  .by = AIF_REPORT_BY_SHAPE};
		struct aif_buf out = {0};

		if (aif_timed_report_write(p, &o, &out, &err) < 0 && !*err.text)
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

static void tables(const struct aif_profile *p, const struct aif_attribution *a)
{
	for (int kind = AIF_REPORT_KERNELS; kind <= AIF_REPORT_LAUNCHES; kind++) {
		const struct aif_report_opts o = {.kind = (enum aif_report_kind)kind,
						  .detail = AIF_NAME_NORMAL};
		struct aif_err err = {0};
		struct aif_buf out = {0};

		if (aif_report_write(p, a, &o, &out, &err) < 0 && !*err.text)
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
	/* What is behind it is another rank's. */
	static const char next[] = "\0rank";
	const uint8_t *end = size ? memmem(data, size, next, sizeof(next)) : NULL;
	size_t first = end ? (size_t)(end - data) : size;
	const struct aif_import_opts opts = {.limit = 8 << 20};
	char path[64], other[64], output[64];
	const char *const files[] = {path, other};
	int fd = file_of(data, first, path),
	    other_fd = end ? file_of(end + sizeof(next), size - first - sizeof(next), other) : -1,
	    r;
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
		if (aif_kernel_names_make(&p) < 0)
			abort();
		tables(&p, &a);
		aif_attribution_finish(&a);
		show(&p);
		aif_profile_finish(&p);
		unlink(output);
	}
	close(fd);
	if (end)
		close(other_fd);
	return 0;
}
