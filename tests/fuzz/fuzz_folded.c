/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/flame.h"
#include "flame/folded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Folded text from anywhere. What can be read must sum to what it says, be the same when written and
 * read again, and give a picture. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int memory_file(const void *data, size_t size)
{
	int fd = memfd_create("folded", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) != 0)
		abort();
	return fd;
}

static bool tree_read(int fd, struct aif_tree *t, struct aif_folded_stats *stats)
{
	struct aif_err err = {0};
	int r;

	if (aif_tree_init(t, false) < 0)
		abort();
	r = aif_folded_read(fd, "x", t, stats, &err);
	if ((r < 0) != (err.code < 0) || (r == 0 && aif_tree_seal(t) < 0))
		abort();
	if (stats->bad + stats->stacks > stats->lines || (r == 0 && !stats->stacks))
		abort();
	return r == 0;
}

static int written(const struct aif_tree *t, enum aif_flame_format format)
{
	static const struct aif_svg_opts opts = {.title = "t", .subtitle = "s", .unit = "u"};
	int fd = memfd_create("out", MFD_CLOEXEC);
	char path[32];
	struct aif_out out;
	struct aif_err err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	out = (struct aif_out){.fd = dup(fd), .path = strdup(path)};
	if (format == AIF_FLAME_FOLDED)
		aif_folded_write(t, &out);
	else if (aif_svg_write(t, &opts, &out) < 0)
		abort();
	if (aif_out_commit(&out, &err) < 0 || lseek(fd, 0, SEEK_SET) != 0)
		abort();
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct aif_tree t, again;
	struct aif_folded_stats stats, stats_again;
	int fd = memory_file(data, size);

	if (tree_read(fd, &t, &stats)) {
		int text = written(&t, AIF_FLAME_FOLDED);

		if (t.nodes[0].total && !tree_read(text, &again, &stats_again))
			abort();
		if (t.nodes[0].total) {
			/* The scale may be finer than the counts that are left need. */
			if (stats_again.bad || again.scale > t.scale ||
			    again.nodes[0].total * (t.scale / again.scale) != t.nodes[0].total)
				abort();
			aif_tree_finish(&again);
		}
		close(text);
		close(written(&t, AIF_FLAME_SVG));
	}
	close(fd);
	aif_tree_finish(&t);
	return 0;
}
