/* SPDX-License-Identifier: Apache-2.0 */
#include "top/internal.h"

#include "profile/file.h"

#include <errno.h>
#include <string.h>

/* Rows are on their way from the device to here for so long: buffers of CUDA's records are flushed four times a second. */
#define LAG_NS (300 * 1000 * 1000)

const char *aif_top_view_name(enum aif_top_view v)
{
	static const char *const names[] = {"kernel", "stack", "process", "stall", "idle"};

	return names[v];
}

const char *aif_top_view_rows(enum aif_top_view v)
{
	static const char *const names[] = {"kernels", "stacks", "processes", "stalls", "idle"};

	return names[v];
}

const char *aif_top_sort_name(enum aif_top_sort s)
{
	static const char *const names[] = {"time", "launches", "average", "name"};

	return names[s];
}

int aif_top_new(struct aif_top **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static void clear_model(struct aif_top_model *m)
{
	for (size_t v = 0; v < AIF_TOP_VIEWS; v++) {
		m->rows[v].len = 0;
		m->rows[v].is_made = false;
	}
	m->devices_len = 0;
	aif_strset_finish(&m->strings);
	m->strings = (struct aif_strset){0};
}

static void forget_names(struct aif_top *t)
{
	aif_stack_names_free(t->stacks);
	t->stacks = NULL;
	aif_names_finish(&t->names);
	t->names = (struct aif_names){0};
}

void aif_top_free(struct aif_top *t)
{
	if (!t)
		return;
	clear_model(&t->m);
	for (size_t v = 0; v < AIF_TOP_VIEWS; v++)
		free(t->m.rows[v].at);
	free(t->m.devices);
	free(t->keep);
	aif_attribution_finish(&t->a);
	forget_names(t);
	free(t);
}

/* Names are made anew only when there is something new to name. */
static int make_names(struct aif_top *t, const struct aif_profile *p)
{
	size_t now[] = {p->strings.len, p->frames_len,  p->frame_names_len,
			p->stacks_len,  p->kernels_len, p->modules_len};
	int e;

	static_assert(sizeof(now) == sizeof(t->named), "all are compared");
	if (t->stacks && t->p == p && !memcmp(now, t->named, sizeof(now)))
		return 0;
	forget_names(t);
	t->p = p;
	memcpy(t->named, now, sizeof(now));
	e = aif_names_make(&t->names, p);
	return e ? e : aif_stack_names_new(&t->names, AIF_NAME_NORMAL, &t->stacks);
}

static int select_processes(struct aif_top *t, const uint32_t *pids)
{
	bool *keep;

	t->sel.processes = NULL;
	if (!pids || !*pids)
		return 0;
	keep = realloc(t->keep, t->p->processes_len + 1);
	if (!keep)
		return -ENOMEM;
	t->keep = keep;
	for (size_t i = 0; i < t->p->processes_len; i++) {
		keep[i] = false;
		for (const uint32_t *pid = pids; *pid && !keep[i]; pid++)
			keep[i] = t->p->processes[i].pid == *pid || t->p->processes[i].ppid == *pid;
	}
	t->sel.processes = keep;
	return 0;
}

static void select_time(struct aif_top *t, uint64_t window_ns)
{
	const struct aif_profile *p = t->p;
	uint64_t length = p->end_ns - p->start_ns,
		 kept = p->kept_ns > p->start_ns ? p->kept_ns - p->start_ns : 0,
		 to = length > 2 * (uint64_t)LAG_NS ? length - LAG_NS : length;

	t->m.to_ns = t->sel.to_ns = AIF_MAX(to, (uint64_t)1);
	t->m.from_ns = t->sel.from_ns =
		AIF_MIN(AIF_MAX(to > window_ns ? to - window_ns : 0, kept), to);
}

/* ---- devices --------------------------------------------------------------------------------- */

static struct aif_top_device *device_of(struct aif_top_model *m, uint32_t id)
{
	for (size_t i = 0; i < m->devices_len; i++)
		if (m->devices[i].device == id)
			return &m->devices[i];
	return NULL;
}

static int take_counter(void *arg, const struct aif_counter_row *rows, size_t n)
{
	struct aif_top *t = arg;

	for (size_t i = 0; i < n; i++) {
		struct aif_top_device *d = device_of(&t->m, rows[i].device);
		const char *name = aif_profile_str(t->p, rows[i].name);

		if (!d || rows[i].process != AIF_NONE)
			continue;
		if (!strcmp(name, "SM clock"))
			d->clock_mhz = rows[i].value;
		else if (!strcmp(name, "power"))
			d->power_w = rows[i].value;
		else if (!strcmp(name, "temperature"))
			d->temperature_c = rows[i].value;
		else if (!strcmp(name, "memory used"))
			d->memory_mib = rows[i].value;
	}
	return 0;
}

static int make_devices(struct aif_top *t)
{
	uint64_t window = t->m.to_ns - t->m.from_ns;

	if (aif_grow(&t->m.devices, &t->m.devices_cap, t->p->devices_len, sizeof(*t->m.devices)) <
	    0)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->p->devices_len; i++)
		t->m.devices[t->m.devices_len++] = (struct aif_top_device){.device = i,
									   .idle_ns = window,
									   .clock_mhz = -1,
									   .power_w = -1,
									   .temperature_c = -1,
									   .memory_mib = -1};
	for (size_t i = 0; i < t->a.devices_len; i++) {
		const struct aif_device_time *from = &t->a.devices[i];
		struct aif_top_device *d = device_of(&t->m, (uint32_t)from->device);
		uint64_t known = window > from->uncollected_ns ? window - from->uncollected_ns : 0;

		if (!d)
			continue;
		d->busy_ns = AIF_MIN(from->busy_ns, window);
		d->kernel_ns = from->kernel_ns;
		d->copy_ns = from->copy_ns;
		d->uncollected_ns = from->uncollected_ns;
		d->idle_ns = known > d->busy_ns ? known - d->busy_ns : 0;
		d->busy_ppm = known ? (uint64_t)((double)d->busy_ns / (double)known * 1e6) : 0;
		d->busy_ppm = AIF_MIN(d->busy_ppm, (uint64_t)1000000);
	}
	return aif_profile_counters(t->p, take_counter, t, NULL);
}

/* ---- the model ------------------------------------------------------------------------------- */

/* Records and samples that are missing, not bytes or processes. */
static bool is_loss(uint32_t reason)
{
	return reason == AIF_REASON_RING_FULL || reason == AIF_REASON_NO_SLOT ||
	       reason == AIF_REASON_RECORD_BAD || reason == AIF_REASON_NO_MEMORY ||
	       reason == AIF_REASON_WRITER_BEHIND || reason == AIF_REASON_SAMPLE_LOST ||
	       reason == AIF_REASON_CPU_LOST;
}

static void count_losses(struct aif_top *t)
{
	t->m.lost = 0;
	for (size_t i = 0; i < t->p->losses_len; i++)
		if (is_loss(t->p->losses[i].reason))
			t->m.lost += t->p->losses[i].count;
}

int aif_top_analyse(struct aif_top *t, const struct aif_profile *p, uint64_t window_ns,
		    enum aif_top_view view, const uint32_t *pids, const struct aif_top_model **ret,
		    struct aif_err *err)
{
	int e = make_names(t, p);

	clear_model(&t->m);
	aif_attribution_finish(&t->a);
	t->a = (struct aif_attribution){0};
	if (!e)
		e = select_processes(t, pids);
	if (e)
		return aif_err_set(err, e, "out of memory");
	select_time(t, window_ns);
	e = aif_attribution_compute(p, &t->sel, &t->a, err);
	if (e < 0)
		return e;
	t->m.conservation = t->a.conservation;
	t->m.captured = t->a.conservation.launches - t->a.conservation.uncaptured;
	t->m.left_out = t->a.conservation.uncaptured ? t->a.conservation.uncaptured
						     : t->a.conservation.left_out;
	count_losses(t);
	e = make_devices(t);
	for (unsigned v = 0; v < AIF_TOP_VIEWS && !e; v++)
		if (view == AIF_TOP_VIEWS || view == v)
			e = aif_top_make_rows(t, (enum aif_top_view)v, err);
	if (e && !err->code)
		aif_err_set(err, e, "out of memory");
	*ret = &t->m;
	return e;
}
