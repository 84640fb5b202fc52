/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a small profile as the recorder does: writer FILE. Tables are in the store, rows in batches, the writer's thread
 * takes both to the file. Of the shim's failures (shim.c) there are those from the thread's start to its end.
 */
#include "../unit/fixture_profile.h"

#include "record/writer.h"

#include <dlfcn.h>

enum { ROWS = 3000 };

/* Rows of three kinds, a batch each. */
static void put_rows(struct aif_batches *b, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++) {
		*(struct aif_launch_row *)aif_batches_row(b, AIF_BATCH_LAUNCH) = fixture_launch(i);
		*(struct aif_exec_row *)aif_batches_row(b, AIF_BATCH_EXEC) = fixture_exec(i);
		*(struct aif_sample_row *)aif_batches_row(b, AIF_BATCH_SAMPLE) = fixture_sample(i);
	}
	aif_batches_flush(b);
}

int main(int argc, char **argv)
{
	void (*begin)(void) = (void (*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "torture_begin");
	struct aif_record_opts opts = {0};
	struct aif_watchers *watchers = NULL;
	struct aif_writer_thread *w;
	struct aif_err err = {0};
	struct aif_store s;
	int r;

	if (argc != 2 || aif_store_init(&s, FIXTURE_START) < 0)
		return 2;
	aif_profile_finish(&s.p);
	fixture_profile(&s.p);
	put_rows(&s.batches, 0, ROWS);
	if (begin)
		begin();
	r = aif_watchers_new(&watchers);
	if (!r)
		r = aif_writer_thread_new(&s, &opts, argv[1], watchers, &w, &err);
	else
		aif_err_set(&err, r, "out of memory");
	if (!r)
		r = aif_writer_thread_finish(w, s.p.end_ns, &err);
	aif_watchers_free(watchers);
	aif_store_finish(&s);
	if (r < 0)
		fprintf(stderr, "%s\n", err.text);
	return r < 0;
}
