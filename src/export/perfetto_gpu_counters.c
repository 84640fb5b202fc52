/* SPDX-License-Identifier: Apache-2.0 */
#include "export/perfetto.h"

#include <string.h>

/*
 * Counters of devices as those of GPUs (protos/perfetto/trace/gpu/gpu_counter_event.proto), which Perfetto draws beside the render
 * stages of the GPU. A value there is that of the time before its event, where ours holds until the next: each event has the value
 * before, and one more ends the last.
 */

/* GpuCounterDescriptor.MeasureUnit of a unit's text; 0: it has none. */
static unsigned unit_of(const char *unit)
{
	static const struct {
		const char *text;
		unsigned unit;
	} units[] = {{"bytes", 7}, {"Hz", 13}, {"MHz", 15}, {"ns", 19},
		     {"W", 29},    {"J", 31},  {"C", 34},   {"%", 37}};

	for (size_t i = 0; i < AIF_ARRAY_LEN(units); i++)
		if (!strcmp(unit, units[i].text))
			return units[i].unit;
	return 0;
}

static void descriptor_put(struct perfetto *w, uint32_t counter)
{
	const struct aif_counter *of = &w->t.counters.at[counter];
	const char *unit = of->unit == AIF_NONE ? "" : aif_profile_str(w->t.p, of->unit);
	size_t at = aif_proto_begin(w->t.b, COUNTER_DESCRIPTOR), spec = aif_proto_begin(w->t.b, 1);
	struct aif_buf name = {0};

	aif_counter_name(w->t.p, of, &name);
	aif_proto_u64(w->t.b, SPEC_ID, (uint64_t)counter + 1);
	aif_proto_text(w->t.b, SPEC_NAME, aif_buf_str(&name));
	if (*unit)
		aif_proto_text(w->t.b, SPEC_DESCRIPTION, unit);
	if (unit_of(unit))
		aif_proto_u64(w->t.b, SPEC_NUMERATOR_UNITS, unit_of(unit));
	aif_proto_end(w->t.b, spec);
	aif_proto_end(w->t.b, at);
	w->t.b->failed |= aif_buf_failed(&name);
	aif_buf_finish(&name);
}

static void event_put(struct perfetto *w, uint32_t counter, int64_t at, double v, bool is_first)
{
	uint32_t device = w->t.counters.at[counter].device;
	size_t event, value;

	perfetto_packet_begin(w);
	aif_proto_u64(w->t.b, TIMESTAMP, perfetto_stamp(w, at));
	event = aif_proto_begin(w->t.b, GPU_COUNTER_EVENT);
	if (is_first)
		descriptor_put(w, counter);
	value = aif_proto_begin_small(w->t.b, COUNTERS);
	aif_proto_u64(w->t.b, 1, (uint64_t)counter + 1);
	aif_proto_double(w->t.b, 3, v);
	aif_proto_end_small(w->t.b, value);
	if (device != AIF_NONE)
		aif_proto_u64(w->t.b, COUNTER_GPU_ID, device);
	aif_proto_end(w->t.b, event);
	perfetto_packet_end(w);
}

void perfetto_gpu_counter_end(struct perfetto *w)
{
	struct perfetto_counter *c = &w->counter;

	if (c->is_open)
		event_put(w, c->counter, AIF_MAX(c->at + 1, w->t.events.end_ns), c->value, false);
	c->is_open = false;
}

void perfetto_gpu_counter_value(struct perfetto *w, uint32_t counter, int64_t at, double v)
{
	struct perfetto_counter *c = &w->counter;
	bool is_first = !c->is_open || c->counter != counter;
	uint32_t device = w->t.counters.at[counter].device;

	/* Counters of CPUs and sockets, as of perf stat, are tracks alone. */
	if (device != AIF_NONE && w->t.p->devices[device].kind == AIF_DEVICE_CPU)
		return;
	if (is_first)
		perfetto_gpu_counter_end(w);
	event_put(w, counter, at, is_first ? v : c->value, is_first);
	*c = (struct perfetto_counter){counter, true, at, v};
}
