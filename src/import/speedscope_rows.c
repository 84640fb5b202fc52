/* SPDX-License-Identifier: Apache-2.0 */
#include "import/speedscope.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static uint32_t kind_of(const struct aif_profile *p, const struct speedscope_frame *f)
{
	const char *name = aif_profile_str(p, f->name), *file = aif_profile_str(p, f->file);
	size_t len = strlen(name);

	if (!strcmp(file, "[device]"))
		return AIF_FRAME_DEVICE;
	if (!strcmp(file, "[OS kernel]"))
		return AIF_FRAME_OS;
	if (!strcmp(file, "[Python]"))
		return AIF_FRAME_PYTHON;
	if (len > 2 && name[0] == '[' && name[len - 1] == ']')
		return AIF_FRAME_MARK;
	return aif_host_kind(name, len, file, strlen(file));
}

static int weighted_stack_of(struct speedscope *x, struct aif_synthetic_timeline *l,
			     struct aif_host *h, uint32_t node, struct aif_weighted_stack *ret)
{
	bool is_time = x->profiles[0].weighs == SPEEDSCOPE_TIME;
	struct aif_weighted_frame frames[SPEEDSCOPE_DEPTH_MAX];
	const struct aif_profile *p = &x->b->p;
	size_t n = SPEEDSCOPE_DEPTH_MAX;

	for (; node != AIF_NONE && n; node = x->nodes[node].parent) {
		uint32_t number = x->nodes[node].frame;
		bool has_none = number == SPEEDSCOPE_NO_STACK;
		const struct speedscope_frame none = {.name = AIF_NONE, .file = AIF_NONE},
					      *f = number < x->frames_len ? &x->frames[number]
									  : &none;
		struct aif_weighted_frame *to = &frames[--n];
		bool has_file = f->file != AIF_NONE && *aif_profile_str(p, f->file) != '[' &&
				*aif_profile_str(p, f->file);

		if (number >= x->frames_len && !has_none)
			x->bad++;
		*to = (struct aif_weighted_frame){.name = aif_profile_str(p, f->name),
						  .kind = kind_of(p, f),
						  .module = AIF_NONE,
						  .file = has_file ? f->file : AIF_NONE,
						  .line = has_file ? f->line : 0};
		if (has_none)
			to->kind = AIF_FRAME_MARK;
		if (!*to->name)
			to->name = has_none ? "[no stack]" : "[unknown]";
		to->len = strlen(to->name);
	}
	/* Names are strings of the profile, which move when there are more. */
	for (size_t i = n; i < SPEEDSCOPE_DEPTH_MAX; i++) {
		frames[i].name = strndup(frames[i].name, frames[i].len);
		x->is_memory |= !frames[i].name;
	}
	if (!x->is_memory) {
		const struct aif_weighted_frame *leaf = &frames[SPEEDSCOPE_DEPTH_MAX - 1];
		bool is_wait = is_time && leaf->kind == AIF_FRAME_MARK &&
			       x->source->opts->folded != AIF_IMPORT_AS_DEVICE &&
			       aif_weighted_is_wait(leaf->name, leaf->len);

		if (aif_weighted_stack_split(l, h, frames + n, SPEEDSCOPE_DEPTH_MAX - n - is_wait,
					     x->source->opts->folded, ret) < 0)
			x->is_memory = true;
		ret->is_wait = is_wait && !ret->is_device;
	}
	for (size_t i = n; i < SPEEDSCOPE_DEPTH_MAX; i++)
		free((char *)(uintptr_t)frames[i].name);
	return x->is_memory ? -ENOMEM : 0;
}

/* A profile's name, of ours "DEVICE: PROCESS". */
static void device_make(struct speedscope *x, struct aif_synthetic_timeline *l, uint32_t profile)
{
	char name[256];
	char *colon;

	snprintf(name, sizeof(name), "%s", aif_profile_str(&x->b->p, x->profiles[profile].name));
	colon = strstr(name, ": ");
	if (colon)
		*colon = '\0';
	aif_synthetic_timeline_make_device(l, *name ? name : "device");
}

/* Returns what is taken off all times: nothing, but where they are those of a calendar, which count from 1970, the first. */
static uint64_t first_time(const struct speedscope *x)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < x->samples_len; i++)
		if (x->profiles[x->samples[i].profile].is_timed) {
			first = AIF_MIN(first, x->samples[i].at);
			last = AIF_MAX(last, x->samples[i].at);
		}
	return last > AIF_SYNTHETIC_TIMELINE_MAX ? first : 0;
}

int speedscope_rows(struct speedscope *x)
{
	struct aif_builder *b = x->b;
	struct aif_synthetic_timeline l = {.b = b};
	struct aif_host h = {.b = b};
	struct aif_weighted_stack *of = calloc(x->nodes_len + 1, sizeof(*of));
	bool *known = calloc(x->nodes_len + 1, sizeof(*known));
	uint64_t first = first_time(x);
	uint32_t profile = AIF_NONE;
	int r = of && known ? 0 : -ENOMEM;

	aif_synthetic_timeline_begin(&l, aif_input_name(x->source->input));
	for (size_t i = 0; !r && i < x->samples_len; i++) {
		const struct speedscope_sample *s = &x->samples[i];
		bool is_timed = x->profiles[s->profile].is_timed;
		uint64_t at = is_timed ? s->at - first : s->at;

		if (x->profiles[s->profile].weighs != x->profiles[0].weighs) {
			x->other_unit++;
			continue;
		}
		if (s->profile != profile) {
			struct aif_thread thread = {.process = l.process,
						    .tid = s->profile + 1,
						    .name = x->profiles[s->profile].name};

			profile = s->profile;
			if (!is_timed)
				l.at = 0;
			l.thread = aif_builder_thread(b, &thread);
			l.device = l.stream = AIF_NONE;
		}
		if (!known[s->node]) {
			r = weighted_stack_of(x, &l, &h, s->node, &of[s->node]);
			known[s->node] = true;
		}
		if (!r && of[s->node].is_device && l.device == AIF_NONE)
			device_make(x, &l, profile);
		if (is_timed)
			l.at = at;
		if (!r)
			r = at > AIF_SYNTHETIC_TIMELINE_MAX
				    ? -ERANGE
				    : aif_weighted_stack_put(&l, &of[s->node], s->ns);
		if (r == -ERANGE) {
			x->bad++;
			r = 0;
		}
		if (b->failed)
			r = -ENOMEM;
	}
	aif_synthetic_timeline_finish(&l);
	aif_host_finish(&h);
	free(of);
	free(known);
	return r;
}
