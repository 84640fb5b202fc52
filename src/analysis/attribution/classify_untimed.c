/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/attribution/classify_untimed.h"

/* Kernels by process, device and name that have samples or times, and processes without times. */
struct untimed {
	const struct aif_scope *s;
	struct aif_groups *groups;
	struct aif_map processes; /* whose driver gave no times for some launches */
	struct aif_map sampled, timed;
};

static uint64_t family_key(uint32_t process, uint32_t device, uint32_t name)
{
	uint32_t words[3] = {process, device, name};

	return aif_hash_bytes(words, sizeof(words));
}

/* Adds a launch whose times nobody knows to the group that it has on that device. */
static int add_launch(struct untimed *u, const struct aif_loaded_launch *x, uint32_t device)
{
	const struct aif_scope *s = u->s;
	const struct aif_loaded_call *call = &x->call;
	struct aif_group g = {.process = s->p->threads[call->thread].process,
			      .device = device,
			      .kind = call->kind,
			      .kernel = call->kernel,
			      .kernel_name = s->p->kernels[call->kernel].name,
			      .stack = call->stack,
			      .capture = AIF_NONE,
			      .stream = call->stream};
	int64_t at = (int64_t)aif_scope_since_start(s, x->time);
	uint64_t key = family_key(g.process, device, g.kernel_name);
	uint32_t id;
	int r;

	if (!aif_map_get(&u->processes, g.process, NULL) || !aif_map_get(&u->sampled, key, NULL) ||
	    aif_map_get(&u->timed, key, NULL) ||
	    !aif_selection_keeps(s->sel->processes, g.process) ||
	    !aif_selection_keeps(s->sel->devices, device) ||
	    !aif_selection_keeps_work(s->sel, call->thread, at))
		return 0;
	g.range = aif_selection_work_range(s->sel, call->thread, at);
	r = aif_groups_find_or_add(u->groups, &g, &id);
	if (r < 0)
		return r;
	u->groups->at[id].untimed++;
	u->groups->at[id].sampled = true;
	return 0;
}

static int add_launches(struct untimed *u, const struct aif_loaded *l, const bool *executed)
{
	const struct aif_scope *s = u->s;
	int r = 0;

	for (size_t i = 0; i < l->launches_len && !r; i++) {
		const struct aif_loaded_launch x = aif_loaded_launch(l, i);
		uint64_t at = aif_scope_since_start(s, x.time);

		if (executed[i] || x.call.kind != AIF_LAUNCH_KERNEL || x.call.kernel == AIF_NONE ||
		    x.call.thread == AIF_NONE || at < s->from || at > s->to)
			continue;
		if (x.call.stream != AIF_NONE)
			r = add_launch(u, &x, s->p->streams[x.call.stream].device);
		/* A command list's launch has no stream, and what executed it is not known:
		 * adds it on each device where the kernel was sampled. */
		for (uint32_t k = 0; x.call.stream == AIF_NONE && k < s->p->devices_len && !r; k++)
			r = add_launch(u, &x, k);
	}
	return r;
}

int aif_classify_untimed(const struct aif_scope *s, const struct aif_loaded *l,
			 const bool *executed, struct aif_groups *groups)
{
	const struct aif_profile *p = s->p;
	const struct aif_counted *c = &l->counted;
	struct untimed u = {.s = s, .groups = groups};
	int r = 0;

	for (size_t i = 0; i < p->losses_len && !r; i++)
		if (p->losses[i].reason == AIF_REASON_NO_TIMES && p->losses[i].process != AIF_NONE)
			r = aif_map_put(&u.processes, p->losses[i].process, 1);
	for (size_t i = 0; i < c->samples_len && !r && u.processes.len; i++)
		r = aif_map_put(&u.sampled,
				family_key(c->samples[i].process, c->samples[i].device,
					   aif_scope_kernel_name_at(s, c->samples[i].frame)),
				1);
	for (size_t i = 0; i < groups->len && !r && u.sampled.len; i++) {
		const struct aif_group *g = &groups->at[i];

		r = aif_map_put(&u.timed, family_key(g->process, g->device, g->kernel_name), 1);
	}
	if (!r && u.sampled.len)
		r = add_launches(&u, l, executed);
	aif_map_finish(&u.processes);
	aif_map_finish(&u.timed);
	aif_map_finish(&u.sampled);
	return r;
}
