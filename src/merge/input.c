/* SPDX-License-Identifier: Apache-2.0 */
#include "merge/input.h"

#include "analysis/utilization.h"
#include "merge/meta.h"
#include "merge/stamps.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* ---- ends of operations ------------------------------------------------------------------------- */

struct reading {
	const struct aif_profile *p;
	struct aif_merge_stamps stamps;
	struct aif_merge_ends *ends;
	uint8_t *class_of; /* 1 + enum aif_work_class, by kernel; 0: not looked at */
};

static uint64_t group_of(const struct aif_profile *p, const struct aif_exec_row *x,
			 bool *ret_has_communicator)
{
	uint32_t communicator =
		x->collective ? p->collectives[x->collective - 1].communicator : AIF_NONE;
	const char *text;
	size_t len;

	*ret_has_communicator = communicator != AIF_NONE;
	text = aif_strset_get(&p->strings,
			      communicator != AIF_NONE ? communicator : p->kernels[x->kernel].name,
			      &len);
	return aif_mix64(aif_hash_bytes(text, len) + *ret_has_communicator);
}

static bool is_communication(const struct reading *r, uint32_t kernel)
{
	uint32_t name = kernel == AIF_NONE ? AIF_NONE : r->p->kernels[kernel].name;

	if (name == AIF_NONE)
		return false;
	if (!r->class_of[kernel])
		r->class_of[kernel] = (uint8_t)(1 + aif_work_class_of(aif_profile_str(r->p, name)));
	return r->class_of[kernel] == 1 + AIF_WORK_COMMUNICATION;
}

static int take_launches(void *arg, const struct aif_launch_row *rows, size_t n)
{
	struct reading *r = arg;

	return aif_merge_stamps_launches(&r->stamps, rows, n);
}

static int take_ends(void *arg, const struct aif_exec_row *rows, size_t n)
{
	struct reading *r = arg;
	struct aif_merge_ends *e = r->ends;

	for (size_t i = 0; i < n; i++) {
		const struct aif_exec_row *x = &rows[i];
		bool has_communicator;
		int64_t start, end;

		if (!is_communication(r, x->kernel))
			continue;
		if (aif_grow(&e->at, &e->cap, e->len + 1, sizeof(*e->at)) < 0)
			return -ENOMEM;
		aif_merge_stamps_exec(&r->stamps, x, &start, &end);
		e->at[e->len] = (struct aif_merge_end){
			.group = group_of(r->p, x, &has_communicator), .at = end};
		e->at[e->len++].sequence = has_communicator ? x->sequence : 0;
	}
	return 0;
}

static int read_ends(const struct aif_profile *p, struct aif_merge_ends *ends)
{
	struct reading r = {.p = p, .ends = ends, .class_of = calloc(p->kernels_len + 1, 1)};
	int e = r.class_of ? aif_merge_stamps_init(&r.stamps, p) : -ENOMEM;

	if (!e && r.stamps.wants_launches)
		e = aif_profile_launches(p, take_launches, &r, NULL);
	if (!e)
		e = aif_profile_execs(p, take_ends, &r, NULL);
	aif_merge_stamps_finish(&r.stamps);
	free(r.class_of);
	aif_merge_ends_sort(ends);
	return e;
}

/* ---- a file ------------------------------------------------------------------------------------- */

static uint64_t number(const char *text)
{
	return *text >= '0' && *text <= '9' ? strtoull(text, NULL, 10) : 0;
}

/* The member of merged profiles' meta: hashes of recordings, in hexadecimal. */
#define RECORDINGS "merged.recordings"
#define HASH_LEN   16
/* More are not looked at: a file may say anything. */
#define RECORDINGS_MAX 16384

static int add_recording(struct aif_merge_input *in, uint64_t hash)
{
	if (aif_grow(&in->recordings, &in->recordings_cap, in->recordings_len + 1, sizeof(hash)) <
	    0)
		return -ENOMEM;
	in->recordings[in->recordings_len++] = hash;
	return 0;
}

static int find_recordings(struct aif_merge_input *in, const struct aif_profile *p)
{
	const char *at = aif_profile_meta(p, RECORDINGS);
	size_t len = AIF_MIN(strspn(at, "0123456789abcdef") / HASH_LEN, (size_t)RECORDINGS_MAX);
	/* A snapshot of a recording has its first process, and maybe not its last. */
	uint64_t pid = p->processes_len ? p->processes[0].pid : 0;
	int r;

	/* A merged profile begins with the first of its recordings, and is none. */
	r = add_recording(in, aif_mix64(aif_mix64(aif_mix64(in->start_ns) + in->date_ns) + pid) ^
				      aif_hash_bytes(in->host, strlen(in->host)) ^
				      (len ? aif_hash_bytes(at, len * HASH_LEN) : 0));
	for (size_t i = 0; i < len && !r; i++) {
		char text[HASH_LEN + 1] = {0};

		memcpy(text, at, HASH_LEN);
		r = add_recording(in, strtoull(text, NULL, 16));
		at += HASH_LEN;
	}
	return r;
}

int aif_merge_input_note(struct aif_profile *p, const struct aif_merge_input *in, size_t n)
{
	struct aif_buf list = {0};
	int r;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < in[i].recordings_len; k++)
			aif_buf_printf(&list, "%0*" PRIx64, HASH_LEN, in[i].recordings[k]);
	r = aif_merge_meta_set(p, RECORDINGS, aif_buf_str(&list));
	if (aif_buf_failed(&list))
		r = -ENOMEM;
	aif_buf_finish(&list);
	return r;
}

static int describe(struct aif_merge_input *in, const struct aif_profile *p)
{
	const char *host = aif_profile_meta(p, "host");

	for (size_t i = 0; i < p->processes_len; i++) {
		in->ranks += p->processes[i].rank != 0;
		if (!*host && p->processes[i].host != AIF_NONE)
			host = aif_profile_str(p, p->processes[i].host);
	}
	in->host = strdup(host);
	in->start_ns = p->start_ns;
	in->end_ns = p->end_ns;
	in->date_ns = number(aif_profile_meta(p, "start_realtime_ns"));
	in->notes = p->notes;
	return in->host ? find_recordings(in, p) : -ENOMEM;
}

int aif_merge_input_read(struct aif_merge_input *in, struct aif_err *err)
{
	struct aif_profile p;
	int r = aif_profile_open(in->path, &p, err);

	if (r < 0)
		return r;
	if (p.traits.is_lengths) {
		r = aif_err_set(err, -EINVAL,
				"%s: has stacks with counts and no times, and is no part of a job; "
				"leave it out",
				in->path);
	} else {
		r = describe(in, &p);
		if (!r)
			r = read_ends(&p, &in->ends);
		if (r)
			aif_err_set(err, r, "%s: %s", in->path, strerror(-r));
		else
			r = aif_profile_check(&p, in->path, err);
	}
	aif_profile_finish(&p);
	return r;
}

void aif_merge_input_finish(struct aif_merge_input *in)
{
	free(in->host);
	free(in->recordings);
	free(in->ends.at);
}
