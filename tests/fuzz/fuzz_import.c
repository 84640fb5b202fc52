/* SPDX-License-Identifier: Apache-2.0 */
#include "import/import.h"
#include "analysis/attribution.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file of any of the formats, told by its content: it is refused, with words, or becomes a profile that can be opened
 * and adds up. One seed of each format is in found/; how stacks are read, and what the file is said to be, depend on the size. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct aif_import_opts none = {.limit = 8 << 20};
	struct aif_import_opts opts = {.limit = 8 << 20,
				       .folded = (enum aif_import_as)(size % 3),
				       .count_ns = size % 2 ? 1000 : 0};
	char path[64], output[64];
	const char *const files[] = {path};
	struct aif_profile p;
	struct aif_attribution a;
	struct aif_err err = {0};
	size_t formats = 0;
	int fd, r;

	/* A file with a name: SQLite opens no other. */
	snprintf(path, sizeof(path), "/dev/shm/fuzz_import.%d.in", (int)getpid());
	snprintf(output, sizeof(output), "/dev/shm/fuzz_import.%d", (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
	while (aif_importers[formats])
		formats++;
	if (size % 4 == 3)
		opts.from = aif_importers[size / 4 % formats];
	r = aif_import_files(files, 1, output, &opts, NULL, &err);
	if (r == -ENOTSUP) { /* options that mean nothing to its format */
		err = (struct aif_err){0};
		r = aif_import_files(files, 1, output, &none, NULL, &err);
	}
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
		aif_profile_finish(&p);
		unlink(output);
	}
	unlink(path);
	return 0;
}
