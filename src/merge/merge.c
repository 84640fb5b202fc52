/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/merge.h"

#include "merge/input.h"
#include "merge/meta.h"
#include "merge/tables.h"
#include "profile/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct merging {
	struct aif_merge_input *in;
	size_t n, reference;
	const struct aif_merge_opts *opts;
	struct aif_merge_tables tables;
	struct aif_merge_sum *sum;
};

void aif_merge_sum_finish(struct aif_merge_sum *s)
{
	aif_buf_finish(&s->notes);
}

static int go_on(const struct merging *m, size_t i, size_t done, struct aif_err *err)
{
	return m->opts->progress && m->opts->progress(m->opts->arg, m->in[i].path, done, 2 * m->n)
		       ? aif_err_set(err, -EINTR, "merge: stopped")
		       : 0;
}

/* ---- the files -------------------------------------------------------------------------------------- */

/* Refuses the k-th recording of a file, which another file has, too. */
static int refuse_twice(const struct merging *m, size_t i, size_t k, size_t other,
			struct aif_err *err)
{
	const struct aif_merge_input *x = &m->in[i], *y = &m->in[other];
	/* A file's own hash is its first. */
	bool is_own = k == 0, is_others_own = y->recordings[0] == x->recordings[k];

	if (is_own && is_others_own)
		return aif_err_set(err, -EINVAL, "%s: is the same recording as %s; name each once",
				   x->path, y->path);
	if (is_own || is_others_own)
		return aif_err_set(
			err, -EINVAL,
			"%s: is one of those that %s was merged from, and would count twice; leave it out",
			is_own ? x->path : y->path, is_own ? y->path : x->path);
	return aif_err_set(
		err, -EINVAL,
		"%s: was merged from a recording that %s was merged from, too, which would "
		"count twice; merge the recordings themselves",
		x->path, y->path);
}

/* Refuses a recording that is given twice, also as a copy of its file or in a merged one: all in it would count twice. */
static int check_twice(const struct merging *m, struct aif_err *err)
{
	struct aif_map seen = {0};
	uint64_t other;
	int r = 0;

	for (size_t i = 0; i < m->n; i++)
		for (size_t k = 0; k < m->in[i].recordings_len && !r; k++) {
			uint64_t hash = m->in[i].recordings[k];

			if (aif_map_get(&seen, hash, &other) && other != i)
				r = refuse_twice(m, i, k, (size_t)other, err);
			else if (aif_map_put(&seen, hash, i) < 0)
				r = aif_err_set(err, -ENOMEM, "merge: out of memory");
		}
	aif_map_finish(&seen);
	return r;
}

static int read_all(struct merging *m, struct aif_err *err)
{
	int r = 0;

	for (size_t i = 0; i < m->n && !r; i++) {
		r = go_on(m, i, i, err);
		if (!r)
			r = aif_merge_input_read(&m->in[i], err);
	}
	if (!r)
		r = check_twice(m, err);
	if (r)
		return r;
	r = aif_merge_align(m->in, m->n, &m->reference);
	return r ? aif_err_set(err, r, "merge: out of memory") : 0;
}

/* ---- the merged profile ----------------------------------------------------------------------------- */

/* Sets where the merged profile begins and ends. A file that begins before the reference's clock did moves all of them. */
static void bound(struct merging *m)
{
	const struct aif_merge_input *reference = &m->in[m->reference];
	struct aif_profile *p = &m->tables.p;
	uint64_t base = reference->start_ns & INT64_MAX;

	for (size_t i = 0; i < m->n; i++) {
		/* From a time that all are behind, as times before 0 would be lost. */
		uint64_t far = UINT64_C(1) << 62,
			 at = aif_merge_time(&m->in[i], far, m->in[i].start_ns);

		if (at < far && far - at > base)
			base = far - at;
	}
	m->tables.base_ns = base;
	p->start_ns = UINT64_MAX;
	for (size_t i = 0; i < m->n; i++) {
		p->start_ns =
			AIF_MIN(p->start_ns, aif_merge_time(&m->in[i], base, m->in[i].start_ns));
		p->end_ns = AIF_MAX(p->end_ns, aif_merge_time(&m->in[i], base, m->in[i].end_ns));
	}
	p->kept_ns = p->start_ns;
}

static int set_date(struct merging *m)
{
	const struct aif_merge_input *reference = &m->in[m->reference];
	char text[24];

	if (!reference->date_ns)
		return 0;
	snprintf(text, sizeof(text), "%" PRIu64,
		 reference->date_ns - (m->tables.base_ns - m->tables.p.start_ns));
	return aif_merge_meta_set(&m->tables.p, "start_realtime_ns", text);
}

static int add_file(struct merging *m, size_t i, struct aif_writer *w, struct aif_err *err)
{
	const struct aif_merge_input *in = &m->in[i];
	struct aif_merge_ids ids = {0};
	struct aif_profile p;
	uint64_t bad = 0;
	int r = aif_profile_open(in->path, &p, err);

	if (r < 0)
		return r;
	if (p.start_ns != in->start_ns)
		r = aif_err_set(err, -EAGAIN, "%s: was replaced meanwhile; try again", in->path);
	if (!r)
		r = aif_merge_meta_add(&m->tables.p, &p, in->path, err);
	if (!r && aif_merge_tables_add(&m->tables, in, &p, &ids) < 0)
		r = aif_err_set(err, -ENOMEM, "%s: out of memory", in->path);
	if (!r)
		r = aif_merge_rows_add(&m->tables, in, &p, &ids, w, &bad, err);
	if (!r)
		r = aif_profile_check(&p, in->path, err);
	if (!r && bad)
		aif_buf_printf(&m->sum->notes,
			       "Warning: %s is damaged: what %" PRIu64
			       " of its chunks had is missing\n",
			       in->path, bad);
	m->sum->damaged += bad;
	aif_merge_ids_finish(&ids);
	aif_profile_finish(&p);
	return r;
}

static int note_damage(struct merging *m)
{
	struct aif_profile *p = &m->tables.p;
	struct aif_loss l = {.reason = AIF_REASON_MERGE_DAMAGED,
			     .process = AIF_NONE,
			     .thread = AIF_NONE,
			     .detail = AIF_NONE,
			     .count = m->sum->damaged};

	if (!l.count)
		return 0;
	if (aif_grow(&p->losses, &p->losses_cap, p->losses_len + 1, sizeof(l)) < 0)
		return -ENOMEM;
	p->losses[p->losses_len++] = l;
	return 0;
}

static int write_all(void *arg, struct aif_writer *w, struct aif_err *err)
{
	struct merging *m = arg;
	int r = 0;

	for (size_t i = 0; i < m->n && !r; i++) {
		r = go_on(m, i, m->n + i, err);
		if (!r)
			r = add_file(m, i, w, err);
	}
	if (r)
		return r;
	r = aif_merge_tables_name(&m->tables);
	if (!r)
		r = set_date(m);
	if (!r)
		r = note_damage(m);
	if (!r)
		r = aif_merge_input_note(&m->tables.p, m->in, m->n);
	if (!r)
		r = aif_merge_note(&m->tables.p, m->in, m->n, m->sum);
	if (r)
		return aif_err_set(err, r, "merge: out of memory");
	return aif_writer_tables(w, &m->tables.p, err);
}

/* ---- the file --------------------------------------------------------------------------------------- */

int aif_merge_files(const char *const *files, size_t n, const char *output,
		    const struct aif_merge_opts *opts, struct aif_merge_sum *ret,
		    struct aif_err *err)
{
	struct merging m = {.n = n, .opts = opts, .sum = ret, .in = calloc(n, sizeof(*m.in))};
	int r = m.in ? 0 : aif_err_set(err, -ENOMEM, "merge: out of memory");

	*ret = (struct aif_merge_sum){0};
	for (size_t i = 0; i < n && !r; i++)
		m.in[i].path = files[i];
	if (!r)
		r = read_all(&m, err);
	if (!r) {
		bound(&m);
		r = aif_profile_output(output, &m.tables.p, opts->scratch, write_all, &m, err);
	}
	for (size_t i = 0; i < n && m.in; i++)
		aif_merge_input_finish(&m.in[i]);
	free(m.in);
	aif_merge_tables_finish(&m.tables);
	return r;
}
