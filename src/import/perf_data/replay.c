/* SPDX-License-Identifier: Apache-2.0 */
#include "import/perf_data/objects.h"
#include "import/perf_data/spaces.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A step may copy 2 MB of mappings: this many take a second. */
#define STEPS_BETWEEN 1024

/* A record in the order of time. */
struct step {
	uint64_t time;
	uint32_t index;
	bool is_sample;
};

struct replay {
	struct aif_perf_data *x;
	struct aif_perf_samples *to;
	struct aif_perf_objects objects;
	struct aif_perf_spaces spaces;
	struct aif_map names; /* pid << 32 | tid -> its name, a string */
	struct aif_map known; /* place and space -> the sample's node */
};

/* Orders records by time; changes stand before samples of the same time, others as in the file. */
static int by_time(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return AIF_ORDER(x->time, y->time) ?: AIF_ORDER(x->is_sample, y->is_sample)
	       ?: AIF_ORDER(x->index, y->index);
}

static uint64_t thread_key(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}

static void change(struct replay *w, const struct aif_perf_change *c)
{
	struct aif_perf_range range = {.start = c->start, .offset = c->offset};
	uint64_t name;
	int r = 0;

	switch (c->type) {
	case AIF_PERF_COMM:
		if (c->is_exec)
			aif_perf_spaces_exec(&w->spaces, c->pid);
		r = aif_map_put(&w->names, thread_key(c->pid, c->tid), c->name);
		break;
	case AIF_PERF_FORK:
		aif_perf_spaces_fork(&w->spaces, c->pid, c->from);
		if (aif_map_get(&w->names, thread_key(c->from, c->from_tid), &name))
			r = aif_map_put(&w->names, thread_key(c->pid, c->tid), name);
		break;
	default:
		if (c->pid == UINT32_MAX || c->start + c->len < c->start)
			break;
		range.end = c->start + c->len;
		range.object = aif_perf_object(&w->objects, c->name, c->build_id);
		aif_perf_spaces_map(&w->spaces, c->pid, &range);
	}
	w->x->is_memory |= r < 0;
}

static uint32_t frame_of(struct replay *w, uint32_t pid, const struct aif_perf_place *place)
{
	const struct aif_perf_range *range;

	if (place->is_os)
		return aif_perf_os_frame(&w->objects, place->address);
	range = aif_perf_spaces_find(&w->spaces, pid, place->address);
	if (!range)
		return aif_perf_lost_frame(&w->objects, place->address);
	return aif_perf_object_frame(&w->objects, range->object, pid,
				     place->address - range->start + range->offset, place->address);
}

static struct aif_perf_text text_of(const struct replay *w, uint32_t string)
{
	struct aif_perf_text t = {0};

	if (string != AIF_STR_NONE)
		t.p = aif_strset_get(&w->x->strings, string, &t.len);
	return t;
}

static int sample(struct replay *w, const struct aif_perf_raw *raw)
{
	struct aif_perf_header h = {.pid = raw->pid,
				    .tid = raw->tid,
				    .time = raw->time,
				    .period = raw->period,
				    .has_pid = true,
				    .has_time = true,
				    .has_period = raw->has_period};
	/* There are fewer epochs than changes, which are numbered in 32 bits: no two keys are equal. */
	uint64_t key = aif_perf_spaces_epoch(&w->spaces, raw->pid) << 32 | raw->place,
		 name = AIF_STR_NONE, node;
	char number[32];

	aif_map_get(&w->names, thread_key(raw->pid, raw->tid), &name);
	h.comm = text_of(w, (uint32_t)name);
	if (!h.comm.len) {
		snprintf(number, sizeof(number), ":%u", raw->tid);
		h.comm = raw->tid ? (struct aif_perf_text){number, strlen(number)}
				  : (struct aif_perf_text){"swapper", 7};
	}
	aif_perf_samples_begin(w->to, &h, w->x->attrs[raw->attr].event);
	/* The first thread's are few, and may be idle ones: that is seen by their frames. */
	if (raw->tid && aif_map_get(&w->known, key, &node)) {
		aif_perf_samples_again(w->to, (uint32_t)node);
		return aif_perf_samples_end(w->to);
	}
	for (uint32_t at = raw->place; at != AIF_NONE; at = w->x->places[at].parent)
		aif_perf_samples_push(w->to, frame_of(w, raw->pid, &w->x->places[at]));
	if (w->objects.is_memory || w->spaces.is_memory)
		return -ENOMEM;
	if (raw->tid && aif_map_put(&w->known, key, aif_perf_samples_stack(w->to)) < 0)
		return -ENOMEM;
	return aif_perf_samples_end(w->to);
}

static struct step *steps_of(const struct aif_perf_data *x, size_t *ret_n)
{
	size_t n = x->changes_len + x->raws_len;
	struct step *steps = n < UINT32_MAX ? calloc(n + 1, sizeof(*steps)) : NULL;

	if (!steps)
		return NULL;
	for (size_t i = 0; i < x->changes_len; i++)
		steps[i] = (struct step){.time = x->changes[i].time, .index = (uint32_t)i};
	for (size_t i = 0; i < x->raws_len; i++)
		steps[x->changes_len + i] = (struct step){
			.time = x->raws[i].time, .index = (uint32_t)i, .is_sample = true};
	qsort(steps, n, sizeof(*steps), by_time);
	*ret_n = n;
	return steps;
}

/* Tells what was not found, so that nobody takes it for what the program did. */
static void losses_report(struct replay *w)
{
	struct aif_builder *b = w->to->b;
	const struct aif_perf_data *x = w->x;
	const char *file = aif_input_name(x->source->input);
	struct aif_perf_text changed = text_of(w, w->objects.first_changed);
	char text[600];

	snprintf(text, sizeof(text), "%s, first: %.*s", file, (int)AIF_MIN(changed.len, 255),
		 changed.p ? changed.p : "");
	aif_builder_loss(b, AIF_REASON_IMPORT_FILES, AIF_NONE, aif_builder_puts(b, text),
			 w->objects.changed);
	if (w->objects.os_unnamed)
		aif_builder_loss(b, AIF_REASON_IMPORT_KERNEL, AIF_NONE, aif_builder_puts(b, file),
				 1);
	aif_builder_loss(b, AIF_REASON_IMPORT_EVENT, AIF_NONE, aif_builder_puts(b, file),
			 w->spaces.left_out);
}

/* Takes the next step. 0 or -errno with *err. */
static int take(struct replay *w, const struct step *s, struct aif_err *err)
{
	struct aif_perf_data *x = w->x;
	int r = 0;

	if (s->is_sample)
		r = sample(w, &x->raws[s->index]);
	else
		change(w, &x->changes[s->index]);
	if (r < 0 || x->is_memory || w->spaces.is_memory)
		return aif_err_set(err, -ENOMEM, "out of memory");
	return 0;
}

int aif_perf_replay(struct aif_perf_data *x, struct aif_perf_samples *to, struct aif_err *err)
{
	struct replay *w = calloc(1, sizeof(*w));
	size_t n = 0;
	struct step *steps = w ? steps_of(x, &n) : NULL;
	int r = steps ? 0 : -ENOMEM;

	if (!r) {
		w->x = x;
		w->to = to;
		r = aif_perf_objects_init(&w->objects, x, to);
	}
	if (r < 0)
		aif_err_set(err, r, "out of memory");
	for (size_t i = 0; !r && i < n; i++) {
		if (i % STEPS_BETWEEN == 0)
			r = aif_import_go_on(x->source, err);
		if (!r)
			r = take(w, &steps[i], err);
	}
	if (!r) {
		aif_perf_jits_name(to, w->objects.jits, w->objects.jits_len);
		losses_report(w);
	}
	if (w) {
		aif_perf_objects_finish(&w->objects);
		aif_perf_spaces_finish(&w->spaces);
		aif_map_finish(&w->names);
		aif_map_finish(&w->known);
	}
	free(steps);
	free(w);
	return r;
}
