/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/merge.h"

#include "analysis/attribution.h"
#include "profile/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "changed_profile.h"

/*
 * A good profile and one of which the input changes rows, merged in either order: the merge fails with words and leaves no
 * file, or its file opens and, if the changed one does, adds up.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Opens a profile. False: it cannot be opened, or does not add up. */
static bool adds_up(const char *path, struct aif_buf *why)
{
	struct aif_attribution at;
	struct aif_profile p;
	struct aif_err err = {0};
	bool does;

	if (aif_profile_open(path, &p, &err) < 0) {
		aif_buf_puts(why, err.text);
		return false;
	}
	if (aif_attribution_compute(&p, NULL, &at, &err) < 0) {
		aif_profile_finish(&p);
		aif_buf_puts(why, err.text);
		return false;
	}
	does = aif_conservation_check(&at.conservation, why);
	aif_attribution_finish(&at);
	aif_profile_finish(&p);
	return does;
}

static void merge(const char *a, const char *b, const char *output, bool wants_sums)
{
	const char *const files[] = {a, b};
	const struct aif_merge_opts o = {0};
	struct aif_merge_sum sum;
	struct aif_profile p;
	struct aif_buf why = {0};
	struct aif_err err = {0};
	int r = aif_merge_files(files, 2, output, &o, &sum, &err);

	aif_merge_sum_finish(&sum);
	if ((r < 0) != (err.code < 0) || (r < 0) != (access(output, F_OK) < 0))
		abort();
	if (r)
		return;
	if (wants_sums ? !adds_up(output, &why) : aif_profile_open(output, &p, &err) < 0) {
		fprintf(stderr, "merged: %s %s\n", aif_buf_str(&why), err.text);
		abort();
	}
	if (!wants_sums)
		aif_profile_finish(&p);
	unlink(output);
}

static char good[64];

static void remove_good(void)
{
	unlink(good);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char changed[64], output[64];
	struct aif_buf why = {0};
	bool does;

	if (!*good) {
		snprintf(good, sizeof(good), "/dev/shm/fuzz_merge.%d.good", (int)getpid());
		changed_profile_write(good, 1, NULL, 0);
		atexit(remove_good);
	}
	snprintf(changed, sizeof(changed), "/dev/shm/fuzz_merge.%d.in", (int)getpid());
	snprintf(output, sizeof(output), "/dev/shm/fuzz_merge.%d", (int)getpid());
	unlink(output);
	changed_profile_write(changed, 2, data, size);
	does = adds_up(changed, &why);
	if (size % 2)
		merge(changed, good, output, does);
	else
		merge(good, changed, output, does);
	aif_buf_finish(&why);
	unlink(changed);
	return 0;
}
