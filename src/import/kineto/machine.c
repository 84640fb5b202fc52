/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto/kineto.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than any machine has: what is behind them is all one device. */
#define DEVICES_MAX 4096

/* Keys of devices of ranks: far from any number that a device has. */
#define RANKED (INT64_C(1) << 62)

uint32_t kineto_rank_of(struct kineto *k)
{
	struct kineto_event *e = &k->event;
	struct kineto_rank_name r = {.group = e->pid.group};

	if (!e->pid.group)
		return 0;
	for (size_t i = 0; i < k->machine.ranks_len; i++)
		if (k->machine.ranks[i].group == e->pid.group)
			return (uint32_t)i + 1;
	if (k->machine.ranks_len >= DEVICES_MAX)
		return 0;
	r.name = aif_builder_str(k->b, e->rank.data, e->rank.len);
	return r.name == AIF_NONE || KINETO_ADD(&k->machine, ranks, r) < 0
		       ? AIF_NONE
		       : (uint32_t)k->machine.ranks_len;
}

static const char *rank_name(const struct kineto *k, uint32_t group)
{
	for (size_t i = 0; group && i < k->machine.ranks_len; i++)
		if (k->machine.ranks[i].group == group)
			return aif_profile_str(&k->b->p, k->machine.ranks[i].name);
	return "";
}

int64_t kineto_device_key(struct kineto *k, int64_t number)
{
	uint32_t rank = kineto_rank_of(k);

	k->is_failed |= rank == AIF_NONE;
	return rank && rank != AIF_NONE && number >= 0 && number < UINT32_MAX
		       ? RANKED + ((int64_t)rank << 32) + number
		       : number;
}

static struct kineto_pid *find_pid(struct kineto_machine *m, struct kineto_id pid, uint64_t key)
{
	uint64_t at;

	if (!aif_map_get(&m->by_pid, key, &at))
		return NULL;
	if (kineto_id_is(m->pids[at].pid, pid))
		return &m->pids[at];
	/* Two with one key. */
	for (size_t i = 0; i < m->pids_len; i++)
		if (kineto_id_is(m->pids[i].pid, pid))
			return &m->pids[i];
	return NULL;
}

struct kineto_pid *kineto_pid_of(struct kineto *k, struct kineto_id pid)
{
	uint64_t key =
		aif_mix64((uint64_t)pid.number) ^ aif_mix64((uint64_t)pid.group << 1 | pid.is_name);
	struct kineto_pid *found = find_pid(&k->machine, pid, key);

	if (found)
		return found;
	if (aif_grow(&k->machine.pids, &k->machine.pids_cap, k->machine.pids_len + 1,
		     sizeof(*k->machine.pids)) < 0 ||
	    aif_map_put(&k->machine.by_pid, key, k->machine.pids_len) < 0) {
		k->is_failed = true;
		return NULL;
	}
	k->machine.pids[k->machine.pids_len] = (struct kineto_pid){.pid = pid,
								   .number = (uint32_t)pid.number,
								   .name = AIF_NONE,
								   .labels = AIF_NONE,
								   .process = AIF_NONE};
	return &k->machine.pids[k->machine.pids_len++];
}

/* Returns a number that a file gives, plus `plus`; 0 where it gives none, or none that can be. */
static uint32_t kineto_rank_number(bool has, int64_t number, uint32_t plus)
{
	return has && number >= 0 && number < INT32_MAX ? (uint32_t)number + plus : 0;
}

/* Returns 1 + the number at the end of a name, "rank 3" or "3"; 0: there is none. */
static uint32_t number_in(const char *name)
{
	size_t len = strlen(name), at = len;

	while (at && name[at - 1] >= '0' && name[at - 1] <= '9')
		at--;
	return at == len || len - at > 6 ? 0 : (uint32_t)strtoul(name + at, NULL, 10) + 1;
}

uint32_t kineto_process(struct kineto *k, struct kineto_id pid)
{
	struct aif_process row = {
		.exe = AIF_NONE,
		.cmdline = AIF_NONE,
		.host = k->machine.host,
		.flags = AIF_PROCESS_RUNTIME,
		.exit_status = -1,
		.rank = kineto_rank_number(k->machine.has_rank, k->machine.rank, 1),
		.world = kineto_rank_number(k->machine.has_world, k->machine.world, 0)};
	struct kineto_pid *p = kineto_pid_of(k, pid);

	if (!p)
		return AIF_NONE;
	if (p->process != AIF_NONE)
		return p->process;
	row.pid = p->number;
	row.exe = row.cmdline = p->name;
	if (k->machine.has_rank) {
		char text[256];

		if (p->name == AIF_NONE)
			snprintf(text, sizeof(text), "rank %" PRId64, k->machine.rank);
		else
			snprintf(text, sizeof(text), "%.200s (rank %" PRId64 ")",
				 aif_profile_str(&k->b->p, p->name), k->machine.rank);
		row.cmdline = aif_builder_puts(k->b, text);
	} else if (*rank_name(k, pid.group)) {
		char text[256], name[128];

		snprintf(name, sizeof(name), "%s", rank_name(k, pid.group));
		snprintf(text, sizeof(text), p->name == AIF_NONE ? "%s%s" : "%.120s (%s)",
			 p->name == AIF_NONE ? "" : aif_profile_str(&k->b->p, p->name), name);
		row.cmdline = aif_builder_puts(k->b, text);
		row.rank = number_in(name);
	}
	p->process = aif_builder_process(k->b, &row);
	return p->process;
}

static enum kineto_family device_family(const struct kineto *k, const char *device)
{
	if (k->machine.family != KINETO_UNKNOWN)
		return k->machine.family;
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

	for (size_t i = 0; i < k->machine.properties_len; i++) {
		if (k->machine.properties[i].number == number)
			known = &k->machine.properties[i];
		alike &= k->machine.properties[i].name == k->machine.properties[0].name;
	}
	if (!known && k->machine.properties_len &&
	    alike) /* it is numbered otherwise: all are the same */
		known = &k->machine.properties[0];
	*ret_units = known ? known->units : 0;
	if (known && known->name != AIF_NONE && *aif_profile_str(p, known->name)) {
		snprintf(text, size, "%s", aif_profile_str(p, known->name));
		return;
	}
	text[0] = '\0';
	for (size_t i = 0; i < k->machine.pids_len; i++) {
		const struct kineto_pid *pid = &k->machine.pids[i];

		if (pid->pid.number != number || pid->pid.is_name)
			continue;
		if (pid->labels != AIF_NONE)
			snprintf(text, size, "%s", aif_profile_str(p, pid->labels));
		else if (k->machine.family == KINETO_ZE &&
			 pid->name != AIF_NONE) /* a device is a process */
			snprintf(text, size, "%s", aif_profile_str(p, pid->name));
	}
}

uint32_t kineto_device(struct kineto *k, int64_t key)
{
	bool is_ranked = key >= RANKED && key < RANKED + ((int64_t)(DEVICES_MAX + 1) << 32);
	int64_t number = is_ranked ? key & UINT32_MAX : key;
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
		[KINETO_NPU] = {"npu", "Huawei", AIF_DEVICE_ACCELERATOR},
		[KINETO_ZE] = {"level_zero", "Intel", AIF_DEVICE_GPU},
	};
	struct kineto_device d = {.number = key};
	struct aif_device row = {.clock = AIF_CLOCK_MONOTONIC};
	enum kineto_family family;
	char name[256], text[320];

	for (size_t i = 0; i < k->machine.devices_len; i++)
		if (k->machine.devices[i].number == key)
			return k->machine.devices[i].device;
	device_name(k, number, name, sizeof(name), &row.units);
	family = device_family(k, name);
	if (!*name)
		snprintf(name, sizeof(name), "%s %" PRId64,
			 family == KINETO_AIU       ? "AIU"
			 : family == KINETO_UNKNOWN ? "device"
						    : families[family].runtime,
			 number);
	snprintf(text, sizeof(text), "%s", name);
	if (k->machine.has_rank)
		snprintf(text, sizeof(text), "%s (rank %" PRId64 ")", name, k->machine.rank);
	else if (is_ranked)
		snprintf(text, sizeof(text), "%s (%.60s)", name,
			 aif_profile_str(&k->b->p,
					 k->machine.ranks[((key - RANKED) >> 32) - 1].name));
	row.name = aif_builder_puts(k->b, text);
	row.vendor = aif_builder_puts(k->b, families[family].vendor);
	row.driver = aif_builder_puts(k->b, k->machine.driver);
	row.runtime = aif_builder_puts(k->b, families[family].runtime);
	row.kind = families[family].kind;
	d.device = aif_builder_device(k->b, &row);
	if (k->machine.devices_len >= DEVICES_MAX)
		return k->machine.devices[0].device;
	if (aif_grow(&k->machine.devices, &k->machine.devices_cap, k->machine.devices_len + 1,
		     sizeof(d)) < 0)
		k->is_failed = true;
	else
		k->machine.devices[k->machine.devices_len++] = d;
	return d.device;
}

uint64_t kineto_stream_ordinal(const struct kineto *k, int64_t number)
{
	return k->machine.has_stream_places ? (uint64_t)number & 0xffffffff : (uint64_t)number;
}

uint64_t kineto_stream_key(int64_t device, int64_t number, uint32_t group)
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);

	return aif_mix64(aif_mix64((uint64_t)device) ^ aif_mix64((uint64_t)number + odd) ^ group);
}

static struct kineto_stream *stream_of(struct kineto *k, int64_t device, int64_t number)
{
	uint64_t key = kineto_stream_key(device, number, 0), i;
	struct kineto_stream s = {.device = device, .stream = number};
	struct aif_stream row = {.process = k->machine.main_process,
				 .device = kineto_device(k, device),
				 .ordinal = kineto_stream_ordinal(k, number)};

	for (; aif_map_get(&k->machine.stream_ids, key, &i); key = aif_mix64(key))
		if (k->machine.streams[i].device == device &&
		    k->machine.streams[i].stream == number)
			return &k->machine.streams[i];
	s.id = aif_builder_stream(k->b, &row);
	s.of_device = row.device;
	if (aif_grow(&k->machine.streams, &k->machine.streams_cap, k->machine.streams_len + 1,
		     sizeof(s)) < 0 ||
	    aif_map_put(&k->machine.stream_ids, key, k->machine.streams_len) < 0) {
		k->is_failed = true;
		return NULL;
	}
	k->machine.streams[k->machine.streams_len] = s;
	return &k->machine.streams[k->machine.streams_len++];
}

uint32_t kineto_stream(struct kineto *k, int64_t device, int64_t number)
{
	struct kineto_stream *s = stream_of(k, device, number);

	return s ? s->id : AIF_NONE;
}

struct kineto_stream *kineto_stream_of(struct kineto *k, uint32_t queue)
{
	struct kineto_queue *q = &k->machine.queues[queue];
	struct kineto_stream *s;

	if (aif_likely(q->at))
		return &k->machine.streams[q->at - 1];
	s = stream_of(k, q->device, q->stream);
	if (s)
		q->at = (uint32_t)(s - k->machine.streams) + 1;
	return s;
}

static bool is_queue(const struct kineto_queue *q, int64_t device, int64_t stream, uint32_t group)
{
	return q->device == device && q->stream == stream && q->group == group;
}

uint32_t kineto_queue(struct kineto *k, int64_t device, int64_t stream, uint32_t group)
{
	struct kineto_machine *m = &k->machine;
	uint64_t key = kineto_stream_key(device, stream, group), i;
	struct kineto_queue q = {.device = device, .stream = stream, .group = group};

	for (; aif_map_get(&m->queue_ids, key, &i); key = aif_mix64(key))
		if (is_queue(&m->queues[i], device, stream, group))
			return (uint32_t)i;
	if (m->queues_len >= AIF_NONE || KINETO_ADD(m, queues, q) < 0 ||
	    aif_map_put(&m->queue_ids, key, m->queues_len - 1) < 0) {
		k->is_failed = true;
		return AIF_NONE;
	}
	return (uint32_t)m->queues_len - 1;
}

void kineto_main_process_find(struct kineto *k)
{
	struct kineto_id pid = {0};
	uint64_t *spans = calloc(k->threads.rows_len + 1, sizeof(*spans)), most = 0;

	if (!spans) {
		k->b->failed = true;
		return;
	}
	for (size_t i = 0; i < k->spans_len; i++)
		spans[k->spans[i].thread]++;
	for (size_t t = 0; t < k->threads.rows_len; t++)
		if (spans[t] > most) {
			most = spans[t];
			pid = k->threads.rows[t].pid;
		}
	free(spans);
	k->machine.main_process = kineto_process(k, pid);
}

int kineto_property_add(struct kineto_machine *m, const struct kineto_property *p)
{
	return m->properties_len < DEVICES_MAX ? KINETO_ADD(m, properties, *p) : 0;
}

void kineto_machine_finish(struct kineto_machine *m)
{
	free(m->pids);
	aif_map_finish(&m->by_pid);
	free(m->ranks);
	free(m->devices);
	free(m->streams);
	free(m->queues);
	aif_map_finish(&m->queue_ids);
	free(m->properties);
	aif_map_finish(&m->stream_ids);
}
