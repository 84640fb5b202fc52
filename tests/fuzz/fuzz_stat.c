/* SPDX-License-Identifier: Apache-2.0 */
#include "stat/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Reads any bytes as `aiflame stat --from` reads what perf stat or aiflame stat wrote: they are refused with words, or shown in
 * each form. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void show(const struct aif_stat_file *f)
{
	char *argv[] = {(char *)(uintptr_t) "a", NULL};
	struct aif_stat_run run = f->run;
	struct aif_stat_result r = {
		.argv = argv, .events = f->events, .runs = &run, .len = 1, .is_foreign = true};
	struct aif_buf out = {0};

	if (aif_stat_result_make(&r) == 0) {
		aif_stat_text(&r, &out);
		aif_stat_csv(&r, ",", &out);
		aif_stat_json(&r, "x", &out);
	}
	aif_buf_finish(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct aif_stat_file f = {0};
	struct aif_err err = {0};
	char path[64];
	int fd = memfd_create("stat", MFD_CLOEXEC), r;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	r = aif_stat_file_read(&f, path, &err);
	if ((r < 0) != (err.code < 0))
		abort();
	if (!r)
		show(&f);
	aif_stat_file_finish(&f);
	close(fd);
	return 0;
}
