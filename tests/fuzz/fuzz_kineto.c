/* SPDX-License-Identifier: Apache-2.0 */
#include "export/exporter.h"
#include "export/kernel_names.h"
#include "export/timed_report.h"
#include "import/import.h"
#include "profile/attribution.h"

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
		if ((!strcmp(aif_exporters[i]->name, "chrome") ||
		     !strcmp(aif_exporters[i]->name, "perfetto")) &&
		    aif_export_write(aif_exporters[i], &x, "/dev/null", &err) < 0) {
			fprintf(stderr, "%s\n", err.text);
			abort();
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("trace", MFD_CLOEXEC), r;
	const struct aif_import_opts opts = {.limit = 8 << 20};
	char path[64], output[64];
	const char *const files[] = {path};
	struct aif_profile p;
	struct aif_attribution a;
	struct aif_err err = {0};

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	snprintf(output, sizeof(output), "/dev/shm/fuzz_kineto.%d", (int)getpid());
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	r = aif_import_files(files, 1, output, &opts, NULL, &err);
	if ((r < 0) != (err.code < 0))
		abort();
	if (!r) {
		if (aif_profile_open(output, &p, &err) < 0 ||
		    aif_attribution_compute(&p, NULL, &a, &err) < 0 ||
		    !aif_conservation_check(&a.conservation, NULL)) {
			fprintf(stderr, "%s\n", err.text);
			abort();
		}
		aif_attribution_finish(&a);
		if (aif_kernel_names_make(&p) < 0)
			abort();
		show(&p);
		aif_profile_finish(&p);
		unlink(output);
	}
	close(fd);
	return 0;
}
