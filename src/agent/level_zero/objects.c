/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/level_zero.h"

#include <stdio.h>
#include <string.h>

/*
 * Devices, contexts, streams; their clocks. A device's clock counts ticks, of which it gives some bits only
 * (aif_ze_extend): they are extended with what the clock showed last, at most a second ago. All that is written is in ns.
 */

#define DEVICES_MAX 64

/* Returns the PCI address as AIF_WIRE_DEVICE has it. A part of a device has that of the whole. */
static uint32_t pci_of(struct aif_level_zero *l0, void *device)
{
	struct aif_ze_pci_properties p = {.stype = AIF_ZE_PCI_PROPS};

	if (!l0->api.zeDevicePciGetPropertiesExt ||
	    l0->api.zeDevicePciGetPropertiesExt(device, &p) != AIF_ZE_SUCCESS)
		return 0;
	return aif_ze_pci(&p);
}

static struct aif_ze_device *device_make(struct aif_level_zero *l0, void *driver, void *root,
					 void *handle)
{
	struct aif_ze_device_properties p = {.stype = AIF_ZE_DEVICE_PROPS};
	struct aif_ze_driver_properties dp = {.stype = AIF_ZE_DRIVER_PROPS};
	struct aif_ze_device *d = aif_arena_alloc(&l0->arena, sizeof(*d));
	char name[300], version[32] = "";

	if (!d || l0->api.zeDeviceGetProperties(handle, &p) != AIF_ZE_SUCCESS)
		return NULL;
	p.name[sizeof(p.name) - 1] = '\0';
	if (p.flags & AIF_ZE_SUBDEVICE)
		snprintf(name, sizeof(name), "%s, tile %u", p.name, p.subdevice);
	else
		snprintf(name, sizeof(name), "%s", p.name);
	if (driver && l0->api.zeDriverGetProperties(driver, &dp) == AIF_ZE_SUCCESS)
		snprintf(version, sizeof(version), "%u.%u.%u", dp.version >> 24,
			 dp.version >> 16 & 0xff, dp.version & 0xffff);
	d->handle = handle;
	d->driver = driver;
	d->root = root;
	d->kernel_bits = p.kernel_timestamp_bits;
	d->bits = p.timestamp_bits;
	d->hertz = aif_ze_hertz(p.timer_resolution);
	d->desc = (struct aif_emit_device){
		.id = l0->devices_len,
		.kind = aif_ze_device_kind(p.type),
		.units = aif_ze_device_units(&p),
		.clock = AIF_CLOCK_DEVICE + l0->devices_len,
		.name = aif_arena_strdup(&l0->arena, name),
		.vendor = p.vendor == 0x8086 ? "Intel" : "",
		.driver = aif_arena_strdup(&l0->arena, version),
		.runtime = "level zero",
		.pci = pci_of(l0, root),
	};
	if (!d->desc.name || !d->desc.driver)
		return NULL;
	l0->devices_len++;
	d->next = l0->devices;
	l0->devices = d;
	return d;
}

static struct aif_ze_device *device_known(struct aif_level_zero *l0, void *handle)
{
	struct aif_ze_device *d = l0->devices;

	while (d && d->handle != handle)
		d = d->next;
	return d;
}

typedef uint32_t list_function(void *of, uint32_t *n, void **ret);

/* Lists handles. Their number is asked for first: with several drivers, one that has none writes past the array. */
static uint32_t list(list_function *get, void *of, void *ret[DEVICES_MAX])
{
	uint32_t n = 0;

	if (get(of, &n, NULL) != AIF_ZE_SUCCESS || !n)
		return 0;
	n = AIF_MIN(n, (uint32_t)DEVICES_MAX);
	return get(of, &n, ret) == AIF_ZE_SUCCESS ? AIF_MIN(n, (uint32_t)DEVICES_MAX) : 0;
}

/* The driver of a device, which cannot be asked for it; and the whole that it is a part of, or itself. */
static void *driver_of(struct aif_level_zero *l0, void *device, void **ret_root)
{
	void *devices[DEVICES_MAX], *subs[DEVICES_MAX];

	*ret_root = device;
	for (uint32_t i = 0; i < l0->drivers_len; i++) {
		uint32_t n = list(l0->api.zeDeviceGet, l0->drivers[i].driver, devices);

		for (uint32_t k = 0; k < n; k++) {
			uint32_t m = devices[k] == device ? 0
							  : list(l0->api.zeDeviceGetSubDevices,
								 devices[k], subs);

			if (devices[k] == device)
				return l0->drivers[i].driver;
			for (uint32_t j = 0; j < m; j++)
				if (subs[j] == device) {
					*ret_root = devices[k];
					return l0->drivers[i].driver;
				}
		}
	}
	return NULL;
}

void aif_ze_devices_find(struct aif_level_zero *l0)
{
	void *drivers[AIF_ZE_DRIVERS];
	uint32_t n = 0;

	if (l0->api.zeDriverGet(&n, NULL) != AIF_ZE_SUCCESS || !n)
		return;
	n = AIF_MIN(n, (uint32_t)AIF_ZE_DRIVERS);
	if (l0->api.zeDriverGet(&n, drivers) != AIF_ZE_SUCCESS)
		return;
	for (uint32_t i = 0; i < AIF_MIN(n, (uint32_t)AIF_ZE_DRIVERS); i++) {
		void *f = NULL;

		l0->drivers[i].driver = drivers[i];
		if (l0->api.zeDriverGetExtensionFunctionAddress &&
		    l0->api.zeDriverGetExtensionFunctionAddress(
			    drivers[i], "zexKernelGetBaseAddress", &f) == AIF_ZE_SUCCESS)
			l0->drivers[i].base_address = (uint32_t(*)(void *, uint64_t *))f;
		l0->drivers_len = i + 1;
	}
}

struct aif_ze_device *aif_ze_device_get(struct aif_level_zero *l0, void *device)
{
	struct aif_ze_device *d = device_known(l0, device);
	void *driver, *root;

	if (d || !device || l0->devices_len >= DEVICES_MAX)
		return d;
	if (!l0->drivers_len)
		aif_ze_devices_find(l0);
	driver = driver_of(l0, device, &root);
	return device_make(l0, driver, root, device);
}

struct aif_ze_context *aif_ze_context_get(struct aif_level_zero *l0, void *context)
{
	struct aif_ze_context *c = aif_handles_get(&l0->contexts, context);

	if (c || !context)
		return c;
	c = aif_arena_alloc(&l0->arena, sizeof(*c));
	if (!c)
		return NULL;
	c->handle = context;
	return aif_handles_put(&l0->contexts, context, c) < 0 ? NULL : c;
}

struct aif_ze_stream *aif_ze_stream_new(struct aif_level_zero *l0, struct aif_ze_device *d,
					bool out_of_order)
{
	struct aif_ze_stream *s = d ? aif_arena_alloc(&l0->arena, sizeof(*s)) : NULL;

	if (!s)
		return NULL;
	s->id = l0->streams_len++;
	s->ordinal = d->streams++;
	s->device = d;
	s->out_of_order = out_of_order;
	return s;
}

/* ---- clocks ---------------------------------------------------------------------------------- */

bool aif_ze_device_clock(struct aif_level_zero *l0, struct aif_ze_device *d, uint64_t *ret)
{
	uint64_t host, ticks;

	if (l0->api.zeDeviceGetGlobalTimestamps(d->handle, &host, &ticks) != AIF_ZE_SUCCESS)
		return false;
	*ret = aif_ze_extend(aif_ze_device_now(d), ticks, d->bits);
	return true;
}

struct asked {
	struct aif_level_zero *l0;
	struct aif_ze_device *device;
};

static bool read_clock(void *arg, uint64_t *ret_value)
{
	const struct asked *a = arg;

	return aif_ze_device_clock(a->l0, a->device, ret_value);
}

static void pair(struct aif_level_zero *l0, struct aif_thread *t, struct aif_ze_device *d)
{
	struct asked asked = {.l0 = l0, .device = d};
	struct aif_clock_reading r;

	if (!aif_clock_read(read_clock, &asked, &r))
		return;
	atomic_store_explicit(&d->last, r.value, memory_order_relaxed);
	atomic_store_explicit(&d->last_ns, r.after, memory_order_relaxed);
	aif_emit_clock(t, d->desc.clock, r.before, r.after, aif_ze_ns(r.value, d->hertz));
}

uint64_t aif_ze_device_now(struct aif_ze_device *d)
{
	uint64_t last = atomic_load_explicit(&d->last, memory_order_relaxed),
		 since = atomic_load_explicit(&d->last_ns, memory_order_relaxed),
		 passed = since ? aif_now_ns() - since : 0;

	return last + (uint64_t)((double)passed * (double)d->hertz / (double)AIF_NS_PER_S);
}

/* The first ones are for programs that are over in a moment. */
#define PAIR_EARLY    10
#define PAIR_EARLY_NS (AIF_NS_PER_S / 10)

void aif_ze_clock_tick(struct aif_level_zero *l0, struct aif_thread *t, uint64_t now, bool due)
{
	if (!due && now - l0->pair_ns < (l0->pairs < PAIR_EARLY ? PAIR_EARLY_NS : AIF_NS_PER_S))
		return;
	l0->pair_ns = now;
	l0->pairs++;
	for (struct aif_ze_device *d = l0->devices; d; d = d->next)
		if (atomic_load_explicit(&d->defined_gen, memory_order_relaxed) == t->generation)
			pair(l0, t, d);
}

/* ---- definitions --------------------------------------------------------------------------------- */

void aif_ze_device_define_locked(struct aif_level_zero *l0, struct aif_thread *t,
				 struct aif_ze_device *d)
{
	if (atomic_load_explicit(&d->defined_gen, memory_order_relaxed) == t->generation ||
	    !aif_emit_device(t, &d->desc))
		return;
	atomic_store_explicit(&d->defined_gen, t->generation, memory_order_relaxed);
	/* Without a pair its first times could not be mapped. */
	pair(l0, t, d);
	if (!atomic_load_explicit(&d->last_ns, memory_order_relaxed))
		aif_emit_note(t, AIF_REASON_CLOCK_UNKNOWN, 1, "zeDeviceGetGlobalTimestamps");
}

/* Under `lock`. */
static void stream_define(struct aif_level_zero *l0, struct aif_thread *t, struct aif_ze_stream *s)
{
	aif_ze_device_define_locked(l0, t, s->device);
	if (atomic_load_explicit(&s->defined_gen, memory_order_relaxed) != t->generation &&
	    aif_emit_stream(t, s->id, s->device->desc.id, s->ordinal, s->out_of_order))
		atomic_store_explicit(&s->defined_gen, t->generation, memory_order_relaxed);
}

void aif_ze_stream_define(struct aif_level_zero *l0, struct aif_thread *t, struct aif_ze_stream *s)
{
	if (aif_likely(atomic_load_explicit(&s->defined_gen, memory_order_relaxed) ==
		       t->generation))
		return;
	pthread_mutex_lock(&l0->lock);
	stream_define(l0, t, s);
	pthread_mutex_unlock(&l0->lock);
}

struct aif_ze_list *aif_ze_list_get(struct aif_level_zero *l0, void *list)
{
	return aif_handles_get(&l0->lists, list);
}

struct aif_ze_app_event *aif_ze_app_event_get(struct aif_level_zero *l0, void *event)
{
	return aif_handles_get(&l0->app_events, event);
}
