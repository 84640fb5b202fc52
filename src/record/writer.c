/* SPDX-License-Identifier: Apache-2.0 */
#include "record/writer.h"

#include "profile/file.h"
#include "record/reduce/reducer.h"
#include "record/thread_error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define POLL_NS (20 * 1000 * 1000)
/* Copying in one go: batches wait meanwhile. */
#define COPY_NS (50 * 1000 * 1000)

struct aif_writer_thread {
	struct aif_store *store;
	const struct aif_record_opts *opts;
	struct aif_writer *file;
	struct aif_watchers *watchers;
	struct aif_reducer *reducer; /* --reduce; NULL: none */
	struct aif_profile copy;     /* of the store's tables, as far as they are copied */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;
	int error;
	struct aif_err err;
	_Atomic uint64_t size;
	atomic_uint committed; /* flushes of the store's batches */
	/* A copy of the file, for `aiflame ctl snapshot`. */
	enum {
		SNAPSHOT_NONE,
		SNAPSHOT_WANTED,
		SNAPSHOT_MADE, /* snapshot_fd, or snapshot_error */
	} snapshot_is;
	struct aif_snapshot *snapshot;
	int snapshot_fd, snapshot_error;
	char path[4096];
	struct stat is; /* the file that was made under that path */
};

/* Appends what the store has beyond the copy. The tables only grow at their ends. */
static int copy_tail(void *to, size_t *to_len, size_t *to_cap, const void *from, size_t from_len,
		     size_t size)
{
	int r = aif_grow(to, to_cap, from_len, size);

	if (r < 0 || from_len <= *to_len)
		return r;
	memcpy(*(char **)to + *to_len * size, (const char *)from + *to_len * size,
	       (from_len - *to_len) * size);
	*to_len = from_len;
	return 0;
}

/* Tables whose rows change are copied from their start. */
#define COPY(table, from_start)                                                            \
	do {                                                                               \
		if (from_start)                                                            \
			to->table##_len = 0;                                               \
		r = copy_tail(&to->table, &to->table##_len, &to->table##_cap, from->table, \
			      from->table##_len, sizeof(*from->table));                    \
		if (r < 0)                                                                 \
			return r;                                                          \
	} while (0)

static int copy_tables(struct aif_profile *to, const struct aif_profile *from)
{
	int r;

	while (to->strings.len < from->strings.len) {
		size_t len;
		const char *str = aif_strset_get(&from->strings, (uint32_t)to->strings.len, &len);

		if (aif_strset_put(&to->strings, str, len) == AIF_STR_NONE)
			return -ENOMEM;
	}
	COPY(meta, true);
	COPY(processes, true);
	COPY(losses, true);
	COPY(modules, true);
	COPY(threads, false);
	COPY(devices, true);
	COPY(streams, false);
	COPY(frames, false);
	COPY(frame_names, false);
	COPY(stacks, false);
	COPY(programs, false);
	COPY(kernels, false);
	COPY(shapes, false);
	COPY(codes, false);
	COPY(clock_pairs, false);
	COPY(graph_nodes, false);
	COPY(collectives, false);
	return 0;
}

static int write_batch(struct aif_writer_thread *w, struct aif_batch *b, struct aif_err *err)
{
	switch (b->kind) {
	case AIF_BATCH_LAUNCH:
		return aif_writer_launches(w->file, b->launches, b->len, err);
	case AIF_BATCH_EXEC:
		if (w->reducer && aif_reducer_see_execs(w->reducer, b->execs, b->len) < 0)
			return aif_err_set(err, -ENOMEM, "reducing the profile: out of memory");
		return aif_writer_execs(w->file, b->execs, b->len, err);
	case AIF_BATCH_SAMPLE:
		return aif_writer_samples(w->file, b->samples, b->len, err);
	case AIF_BATCH_CPU:
		return aif_writer_cpu(w->file, b->cpu, b->len, err);
	case AIF_BATCH_OP:
		if (w->reducer && aif_reducer_see(w->reducer, b->ops, b->len) < 0)
			return aif_err_set(err, -ENOMEM, "reducing the profile: out of memory");
		return aif_writer_ops(w->file, b->ops, b->len, err);
	case AIF_BATCH_COUNTER:
		return aif_writer_counters(w->file, b->counters, b->len, err);
	case AIF_BATCH_MEMORY:
		return aif_writer_memory(w->file, b->memory, b->len, err);
	default:
		return aif_writer_windows(w->file, b->windows, b->len, err);
	}
}

/* After an error nothing more is written, but batches are still taken, so that the recording of the
 * target goes on unharmed until it is told. */
static int write_batches(struct aif_writer_thread *w, int error, struct aif_err *err)
{
	struct aif_batch *b;

	while ((b = aif_batches_take(&w->store->batches)) != NULL) {
		if (!error)
			error = write_batch(w, b, err);
		aif_batches_give(&w->store->batches, b);
	}
	return error;
}

static int note_loss(struct aif_profile *tables, enum aif_reason reason, uint64_t n)
{
	if (aif_grow(&tables->losses, &tables->losses_cap, tables->losses_len + 1,
		     sizeof(*tables->losses)) < 0)
		return -ENOMEM;
	tables->losses[tables->losses_len++] = (struct aif_loss){.reason = reason,
								 .process = AIF_NONE,
								 .thread = AIF_NONE,
								 .detail = AIF_NONE,
								 .count = n};
	return 0;
}

/* Notes what was left out, and gives its room back. */
static int end_reducing(struct aif_writer_thread *w, struct aif_err *err)
{
	const struct aif_reducer_sum *s = aif_reducer_sum(w->reducer);
	char text[160];
	int r;

	if (!s->left_out)
		return 0;
	snprintf(text, sizeof(text),
		 "1 step of %" PRIu32 ", the first and slow ones: %" PRIu64 ", %" PRIu64
		 " and %" PRIu64 " of %" PRIu64,
		 w->opts->reduce, s->by_lot, s->first, s->slow, s->steps);
	r = aif_reducer_durations(w->reducer, &w->copy);
	if (!r && s->lacks_step_sums)
		r = note_loss(&w->copy, AIF_REASON_NO_STEP_SUMS, 1);
	if (!r && s->missed && s->left_out)
		r = note_loss(&w->copy, AIF_REASON_STEP_SUMS_LATE, s->missed);
	r = r ? aif_err_set(err, r, "reducing the profile: out of memory")
	      : aif_writer_tables(w->file, &w->copy, err);
	if (!r)
		r = aif_writer_note(w->file, &w->copy, "reduced", text, err);
	return r ? r : aif_writer_compact(w->file, err);
}

static int write_tables(struct aif_writer_thread *w, bool is_last, struct aif_err *err)
{
	int r;

	pthread_mutex_lock(&w->store->lock);
	r = copy_tables(&w->copy, &w->store->p);
	pthread_mutex_unlock(&w->store->lock);
	if (r < 0)
		return aif_err_set(err, r, "writing the profile: %s", strerror(-r));
	r = aif_writer_tables(w->file, &w->copy, err);
	if (!r && (w->opts->max_size || w->opts->keep_ns))
		r = aif_writer_trim(w->file, w->opts->max_size, w->opts->keep_ns, aif_now_ns(),
				    err);
	if (!r && w->reducer)
		r = aif_reducer_round(w->reducer, w->file, &w->copy, aif_now_ns(), is_last, err);
	if (!r && w->reducer && is_last)
		r = end_reducing(w, err);
	if (!r)
		r = aif_writer_commit(w->file, err);
	w->size = aif_writer_size(w->file);
	if (!r)
		aif_watchers_commit(w->watchers, &w->copy, w->size);
	return r;
}

/* ---- a copy while recording goes on ---------------------------------------------------------- */

static bool wants_snapshot(struct aif_writer_thread *w)
{
	bool wanted;

	pthread_mutex_lock(&w->lock);
	wanted = w->snapshot_is == SNAPSHOT_WANTED;
	pthread_mutex_unlock(&w->lock);
	return wanted;
}

static void end_snapshot(struct aif_writer_thread *w, int error)
{
	int fd = -1;

	if (error)
		aif_snapshot_free(w->snapshot);
	else
		fd = aif_snapshot_finish(w->snapshot);
	w->snapshot = NULL;
	pthread_mutex_lock(&w->lock);
	w->snapshot_is = SNAPSHOT_MADE;
	w->snapshot_fd = fd;
	w->snapshot_error = error;
	pthread_mutex_unlock(&w->lock);
}

/* Copies a part, after a commit. */
static void copy_some(struct aif_writer_thread *w)
{
	int r = w->snapshot ? 0 : aif_writer_snapshot(w->file, &w->snapshot, NULL);

	if (!r)
		r = aif_snapshot_step(w->snapshot, COPY_NS, NULL);
	if (r)
		end_snapshot(w, AIF_MIN(r, 0));
}

int aif_writer_thread_snapshot(struct aif_writer_thread *w)
{
	int r = -EBUSY;

	pthread_mutex_lock(&w->lock);
	if (w->snapshot_is == SNAPSHOT_NONE) {
		w->snapshot_is = SNAPSHOT_WANTED;
		r = 0;
	}
	pthread_mutex_unlock(&w->lock);
	return r;
}

int aif_writer_thread_take_snapshot(struct aif_writer_thread *w, int *ret_fd)
{
	int r = -EAGAIN;

	pthread_mutex_lock(&w->lock);
	if (w->snapshot_is == SNAPSHOT_MADE) {
		r = w->snapshot_error;
		*ret_fd = w->snapshot_fd;
		w->snapshot_fd = -1;
		w->snapshot_is = SNAPSHOT_NONE;
	}
	pthread_mutex_unlock(&w->lock);
	return r;
}

static bool wait_or_stop(struct aif_writer_thread *w, uint64_t ns)
{
	uint64_t until = aif_now_ns() + ns;
	struct timespec t = {.tv_sec = (time_t)(until / AIF_NS_PER_S),
			     .tv_nsec = (long)(until % AIF_NS_PER_S)};
	bool stop;

	pthread_mutex_lock(&w->lock);
	if (!w->stop)
		pthread_cond_timedwait(&w->wake, &w->lock, &t);
	stop = w->stop;
	pthread_mutex_unlock(&w->lock);
	return stop;
}

static void *writer_main(void *arg)
{
	struct aif_writer_thread *w = arg;
	struct aif_err err = {0};
	/* Watchers that are there get rows from now on. */
	int r = write_tables(w, false, &err);

	for (bool stop = false; !stop;) {
		unsigned flushes;
		bool copies;

		stop = wait_or_stop(w, POLL_NS);
		/* Asked first: what was flushed until now is taken below. A commit at a time of its own
		 * would make rows wait for it after they waited for the flush: two seconds in all. */
		copies = wants_snapshot(w);
		flushes = aif_batches_flushes(&w->store->batches);
		r = write_batches(w, r, &err);
		aif_watchers_flush(w->watchers);
		if (!r && (stop || copies || flushes != w->committed)) {
			r = write_tables(w, stop, &err);
			if (!r)
				w->committed = flushes;
		}
		if (copies && !r)
			copy_some(w);
		else if (copies)
			end_snapshot(w, r);
		if (r < 0 && !w->error) {
			pthread_mutex_lock(&w->lock);
			w->error = r;
			w->err = err;
			pthread_mutex_unlock(&w->lock);
		}
	}
	return NULL;
}

int aif_writer_thread_new(struct aif_store *s, const struct aif_record_opts *opts, const char *path,
			  struct aif_watchers *watchers, struct aif_writer_thread **ret,
			  struct aif_err *err)
{
	struct aif_writer_thread *w = calloc(1, sizeof(*w));
	pthread_condattr_t monotonic;
	int r;

	if (!w)
		return aif_err_set(err, -ENOMEM, "out of memory");
	w->store = s;
	w->snapshot_fd = -1;
	w->opts = opts;
	w->watchers = watchers;
	pthread_mutex_init(&w->lock, NULL);
	/* A step of the wall clock must not make the writer sleep for as long. */
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&w->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	snprintf(w->path, sizeof(w->path), "%s", path);
	w->copy.start_ns = s->p.start_ns;
	r = *path ? aif_writer_new(path, s->p.start_ns, &w->file, err)
		  : aif_writer_new_without_file(s->p.start_ns, &w->file);
	if (r < 0) {
		if (!*path)
			aif_err_set(err, r, "out of memory");
		goto fail;
	}
	if (opts->reduce && *path) {
		w->reducer = aif_reducer_new(opts->reduce);
		if (!w->reducer) {
			r = aif_err_set(err, -ENOMEM, "out of memory");
			aif_writer_finish(w->file, s->p.start_ns, NULL);
			goto fail;
		}
	}
	aif_writer_observe(w->file, aif_watchers_chunk, watchers);
	if (!aif_writer_has_locks(w->file)) {
		pthread_mutex_lock(&s->lock);
		aif_store_loss(s, AIF_REASON_NO_LOCKS, AIF_NONE, AIF_NONE, 1);
		pthread_mutex_unlock(&s->lock);
	}
	if (!*path || stat(path, &w->is) < 0)
		w->is = (struct stat){0};
	r = -pthread_create(&w->thread, NULL, writer_main, w);
	if (r < 0) {
		aif_thread_error(err, r);
		aif_writer_finish(w->file, s->p.start_ns, NULL);
		goto fail;
	}
	*ret = w;
	return 0;
fail:
	aif_reducer_free(w->reducer);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	free(w);
	return r;
}

int aif_writer_thread_error(struct aif_writer_thread *w, struct aif_err *err)
{
	int r;

	pthread_mutex_lock(&w->lock);
	r = w->error;
	if (r < 0 && err)
		*err = w->err;
	pthread_mutex_unlock(&w->lock);
	return r;
}

uint64_t aif_writer_thread_size(struct aif_writer_thread *w)
{
	return w->size;
}

bool aif_writer_thread_has(struct aif_writer_thread *w, unsigned flushes)
{
	return (int)(w->committed - flushes) >= 0;
}

/* Fails if the file was removed or moved meanwhile: SQLite goes on writing to it without an
 * error. */
static int check_place(const struct aif_writer_thread *w, struct aif_err *err)
{
	struct stat st;

	if (!w->is.st_ino ||
	    (stat(w->path, &st) == 0 && st.st_ino == w->is.st_ino && st.st_dev == w->is.st_dev))
		return 0;
	return aif_err_set(err, -ENOENT,
			   "%s: was removed or moved during the recording; if it was moved, it is "
			   "complete, else record again",
			   w->path);
}

int aif_writer_thread_finish(struct aif_writer_thread *w, uint64_t end_ns, struct aif_err *err)
{
	struct aif_err finish_err = {0};
	int r, r2;

	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	aif_snapshot_free(w->snapshot);
	if (w->snapshot_fd >= 0)
		close(w->snapshot_fd);
	r = aif_writer_thread_error(w, err);
	r2 = aif_writer_finish(w->file, end_ns, &finish_err);
	if (!r && r2 < 0) {
		r = r2;
		if (err)
			*err = finish_err;
	}
	if (!r)
		r = check_place(w, err);
	/* Machine code is the store's; the copy only points to it. */
	for (size_t i = 0; i < w->copy.codes_len; i++)
		w->copy.codes[i].bytes = w->copy.codes[i].packed = NULL;
	aif_profile_finish(&w->copy);
	aif_reducer_free(w->reducer);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	free(w);
	return r;
}
