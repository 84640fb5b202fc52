/* SPDX-License-Identifier: Apache-2.0 */
#include "base/human.h"
#include "import/kineto.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A device's times may be a little off its host's; by more than this something else is wrong. */
#define LAG_MAX_NS INT64_C(1000000000)

/* ---- who has launched what ----------------------------------------------------------------------- */

static int chain(struct aif_map *m, uint64_t key, uint32_t exec, uint32_t *ret_next)
{
	uint64_t first;

	*ret_next = aif_map_get(m, key, &first) ? (uint32_t)first : AIF_NONE;
	return aif_map_put(m, key, exec);
}

int kineto_join(struct kineto *k)
{
	uint64_t first;
	int r = 0;

	/* From the last on: each chain begins with its first. */
	for (size_t i = k->execs_len; !r && i-- > 0;)
		if (k->execs[i].has_correlation)
			r = chain(&k->by_correlation, k->execs[i].correlation, (uint32_t)i,
				  &k->execs[i].next);
	for (size_t i = 0; !r && i < k->calls_len; i++)
		if (k->calls[i].has_correlation &&
		    aif_map_get(&k->by_correlation, k->calls[i].correlation, &first))
			k->execs[first].has_call = true;
	/* Those without a call, which is before the window, may still have their operator in it. */
	for (size_t i = k->execs_len; !r && i-- > 0;) {
		struct kineto_exec *x = &k->execs[i];

		if (x->has_external && x->external &&
		    !(x->has_correlation &&
		      aif_map_get(&k->by_correlation, x->correlation, &first) &&
		      k->execs[first].has_call))
			r = chain(&k->by_external, x->external, (uint32_t)i, &x->next_external);
	}
	return r;
}

/* ---- what there is of a machine ------------------------------------------------------------------- */

struct kineto_pid *kineto_pid_of(struct kineto *k, struct kineto_id pid)
{
	for (size_t i = 0; i < k->pids_len; i++)
		if (k->pids[i].pid.number == pid.number && k->pids[i].pid.is_name == pid.is_name)
			return &k->pids[i];
	if (aif_grow(&k->pids, &k->pids_cap, k->pids_len + 1, sizeof(*k->pids)) < 0) {
		k->is_failed = true;
		return NULL;
	}
	k->pids[k->pids_len] = (struct kineto_pid){.pid = pid,
						   .number = (uint32_t)pid.number,
						   .name = AIF_NONE,
						   .labels = AIF_NONE,
						   .process = AIF_NONE};
	return &k->pids[k->pids_len++];
}

uint32_t kineto_process(struct kineto *k, struct kineto_id pid)
{
	struct aif_process row = {.exe = AIF_NONE,
				  .cmdline = AIF_NONE,
				  .host = k->host,
				  .flags = AIF_PROCESS_RUNTIME,
				  .exit_status = -1};
	struct kineto_pid *p = kineto_pid_of(k, pid);

	if (!p)
		return AIF_NONE;
	if (p->process != AIF_NONE)
		return p->process;
	row.pid = p->number;
	row.exe = row.cmdline = p->name;
	if (k->has_rank) {
		char text[256];

		if (p->name == AIF_NONE)
			snprintf(text, sizeof(text), "rank %" PRId64, k->rank);
		else
			snprintf(text, sizeof(text), "%.200s (rank %" PRId64 ")",
				 aif_profile_str(&k->b->p, p->name), k->rank);
		row.cmdline = aif_builder_puts(k->b, text);
	}
	p->process = aif_builder_process(k->b, &row);
	return p->process;
}

static enum kineto_family family_of(const struct kineto *k, const char *device)
{
	if (k->family != KINETO_UNKNOWN)
		return k->family;
	return strstr(device, "NVIDIA") || strstr(device, "Tesla") ? KINETO_CUDA
	       : strstr(device, "AMD")                             ? KINETO_HIP
	       : strstr(device, "Intel")                           ? KINETO_XPU
	       : strstr(device, "AIU")                             ? KINETO_AIU
								   : KINETO_UNKNOWN;
}

static void device_name(const struct kineto *k, int64_t number, char *text, size_t size,
			uint32_t *ret_units)
{
	const struct kineto_property *known = NULL;
	const struct aif_profile *p = &k->b->p;
	bool alike = true;

	for (size_t i = 0; i < k->properties_len; i++) {
		if (k->properties[i].number == number)
			known = &k->properties[i];
		alike &= k->properties[i].name == k->properties[0].name;
	}
	if (!known && k->properties_len && alike) /* it is numbered otherwise: all are the same */
		known = &k->properties[0];
	*ret_units = known ? known->units : 0;
	if (known && known->name != AIF_NONE && *aif_profile_str(p, known->name)) {
		snprintf(text, size, "%s", aif_profile_str(p, known->name));
		return;
	}
	text[0] = '\0';
	for (size_t i = 0; i < k->pids_len; i++) {
		const struct kineto_pid *pid = &k->pids[i];

		if (pid->pid.number != number || pid->pid.is_name)
			continue;
		if (pid->labels != AIF_NONE)
			snprintf(text, size, "%s", aif_profile_str(p, pid->labels));
		else if (k->family == KINETO_ZE &&
			 pid->name != AIF_NONE) /* a device is a process */
			snprintf(text, size, "%s", aif_profile_str(p, pid->name));
	}
}

uint32_t kineto_device(struct kineto *k, int64_t number)
{
	static const struct {
		const char *runtime, *vendor;
		uint32_t kind;
	} families[] = {
		[KINETO_UNKNOWN] = {"kineto", "", AIF_DEVICE_OTHER},
		[KINETO_CUDA] = {"cuda", "NVIDIA", AIF_DEVICE_GPU},
		[KINETO_HIP] = {"hip", "AMD", AIF_DEVICE_GPU},
		[KINETO_XPU] = {"xpu", "Intel", AIF_DEVICE_GPU},
		[KINETO_MTIA] = {"mtia", "Meta", AIF_DEVICE_ACCELERATOR},
		[KINETO_HPU] = {"hpu", "Intel", AIF_DEVICE_ACCELERATOR},
		[KINETO_PRIVATE] = {"privateuse1", "", AIF_DEVICE_ACCELERATOR},
		[KINETO_AIU] = {"aiu", "IBM", AIF_DEVICE_ACCELERATOR},
		[KINETO_ZE] = {"level_zero", "Intel", AIF_DEVICE_GPU},
	};
	struct kineto_device d = {.number = number};
	struct aif_device row = {.clock = AIF_CLOCK_MONOTONIC};
	enum kineto_family family;
	char name[256], text[320];

	for (size_t i = 0; i < k->devices_len; i++)
		if (k->devices[i].number == number)
			return k->devices[i].device;
	device_name(k, number, name, sizeof(name), &row.units);
	family = family_of(k, name);
	if (!*name)
		snprintf(name, sizeof(name), "%s %" PRId64,
			 family == KINETO_AIU       ? "AIU"
			 : family == KINETO_UNKNOWN ? "device"
						    : families[family].runtime,
			 number);
	snprintf(text, sizeof(text), "%s", name);
	if (k->has_rank)
		snprintf(text, sizeof(text), "%s (rank %" PRId64 ")", name, k->rank);
	row.name = aif_builder_puts(k->b, text);
	row.vendor = aif_builder_puts(k->b, families[family].vendor);
	row.driver = aif_builder_puts(k->b, k->driver);
	row.runtime = aif_builder_puts(k->b, families[family].runtime);
	row.kind = families[family].kind;
	d.device = aif_builder_device(k->b, &row);
	/* More than any machine has: what is behind them is all one device. */
	if (k->devices_len >= 4096)
		return k->devices[0].device;
	if (aif_grow(&k->devices, &k->devices_cap, k->devices_len + 1, sizeof(d)) < 0)
		k->is_failed = true;
	else
		k->devices[k->devices_len++] = d;
	return d.device;
}

static struct kineto_stream *stream_of(struct kineto *k, int64_t device, int64_t number)
{
	uint64_t key = aif_mix64((uint64_t)device) + (uint64_t)number, i;
	struct kineto_stream s = {.device = device, .stream = number};
	struct aif_stream row = {.process = k->main_process,
				 .device = kineto_device(k, device),
				 .ordinal = (uint32_t)number};

	for (; aif_map_get(&k->stream_ids, key, &i); key++)
		if (k->streams[i].device == device && k->streams[i].stream == number)
			return &k->streams[i];
	s.id = aif_builder_stream(k->b, &row);
	if (aif_grow(&k->streams, &k->streams_cap, k->streams_len + 1, sizeof(s)) < 0 ||
	    aif_map_put(&k->stream_ids, key, k->streams_len) < 0) {
		k->is_failed = true;
		return NULL;
	}
	k->streams[k->streams_len] = s;
	return &k->streams[k->streams_len++];
}

uint32_t kineto_stream(struct kineto *k, int64_t device, int64_t number)
{
	struct kineto_stream *s = stream_of(k, device, number);

	return s ? s->id : AIF_NONE;
}

/* ---- rows of executions --------------------------------------------------------------------------- */

/* A device's clock that is behind its host's: AIU's are known to be. Moved by as much as it takes that nothing starts
 * before its launch call began. */
static int find_shifts(struct kineto *k)
{
	size_t d;

	for (size_t i = 0; i < k->execs_len; i++) {
		struct kineto_exec *x = &k->execs[i];
		int64_t lag;

		if (!x->launch)
			continue;
		lag = (int64_t)k->b->launches[x->launch - 1].time - x->start;
		if (lag <= 0)
			continue;
		if (lag > LAG_MAX_NS) {
			x->launch = 0;
			k->misjoined++;
			continue;
		}
		kineto_device(k, x->device); /* a launch may be of several */
		d = 0;
		while (d < k->devices_len && k->devices[d].number != x->device)
			d++;
		if (d == k->devices_len) { /* one too many */
			x->launch = 0;
			k->misjoined++;
			continue;
		}
		k->devices[d].early++;
		k->devices[d].shift = AIF_MAX(k->devices[d].shift, lag);
	}
	for (d = 0; d < k->devices_len; d++) {
		const struct kineto_device *dev = &k->devices[d];
		struct aif_buf text = {0};

		if (!dev->shift)
			continue;
		aif_buf_puts(&text, aif_profile_str(&k->b->p, k->b->p.devices[dev->device].name));
		aif_buf_puts(&text, ": moved by ");
		aif_human_ns(&text, (uint64_t)dev->shift);
		aif_buf_puts(&text, "; ");
		aif_human_counted(&text, dev->early, "execution");
		aif_buf_puts(&text, dev->early == 1 ? " began before its launch"
						    : " began before their launches");
		aif_builder_loss(k->b, AIF_REASON_IMPORT_CLOCK, AIF_NONE,
				 aif_builder_puts(k->b, aif_buf_str(&text)), 1);
		aif_buf_finish(&text);
	}
	return 0;
}

static int64_t shift_of(const struct kineto *k, int64_t device)
{
	for (size_t d = 0; d < k->devices_len; d++)
		if (k->devices[d].number == device)
			return k->devices[d].shift;
	return 0;
}

int kineto_execs(struct kineto *k)
{
	int r = find_shifts(k);

	for (size_t i = 0; !r && i < k->execs_len; i++) {
		const struct kineto_exec *x = &k->execs[i];
		struct kineto_stream *s = stream_of(k, x->device, x->stream);
		struct aif_exec_row *row = aif_builder_exec(k->b);
		int64_t shift = shift_of(k, x->device);

		if (!s || !row)
			return -ENOMEM;
		*row = (struct aif_exec_row){
			/* Without a launch: a number that none has. */
			.launch = x->launch ? x->launch : (UINT64_C(1) << 40) + k->b->execs_len,
			.start = (uint64_t)(x->start + shift),
			.end = (uint64_t)(x->end + shift),
			.clock = AIF_CLOCK_MONOTONIC,
			.process = k->main_process,
			.kind = x->kind,
			.kernel =
				x->kind == AIF_LAUNCH_KERNEL ? kineto_kernel(k, x->name) : AIF_NONE,
			.device = kineto_device(k, x->device),
			.stream = s->id,
			.bytes = x->bytes,
			.graph = x->graph,
			.node = x->node,
			.registers = x->registers,
			.shared_bytes = x->shared_bytes,
		};
		if (x->launch) {
			uint32_t thread = k->b->launches[x->launch - 1].thread;

			row->process = k->b->p.threads[thread].process;
		}
		/* Streams run in order; those that are seen not to do so, or are lanes of several, don't. */
		if (s->has_last && row->start < s->last_end)
			k->b->p.streams[s->id].out_of_order = 1;
		s->has_last = true;
		s->last_end = AIF_MAX(s->last_end, row->end);
	}
	return r;
}
