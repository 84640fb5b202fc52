/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/gpus.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct aif_gpu *find(struct aif_drainer *d, uint32_t pci)
{
	for (unsigned i = 0; i < d->gpus_len; i++)
		if (d->gpus[i].pci == pci)
			return &d->gpus[i];
	return NULL;
}

static void add(struct aif_drainer *d, uint32_t pci, uint32_t device, bool is_named)
{
	if (d->gpus_len < AIF_GPUS && device != AIF_NONE)
		d->gpus[d->gpus_len++] =
			(struct aif_gpu){.pci = pci, .device = device, .is_named = is_named};
}

uint32_t aif_gpu_find(const struct aif_drainer *d, uint32_t pci)
{
	for (unsigned i = 0; pci && i < d->gpus_len; i++)
		if (d->gpus[i].pci == pci)
			return d->gpus[i].device;
	return AIF_NONE;
}

uint32_t aif_gpu_device(struct aif_drainer *d, uint32_t pci)
{
	struct aif_store *s = d->store;
	struct aif_device device = {.kind = AIF_DEVICE_GPU, .clock = AIF_CLOCK_MONOTONIC};
	const struct aif_gpu *known = find(d, pci);
	char name[48];
	uint32_t id;

	if (known)
		return known->device;
	if (d->gpus_len == AIF_GPUS)
		return AIF_NONE;
	if (pci)
		snprintf(name, sizeof(name), "Intel GPU at %04" PRIx32 ":%02x:%02x.%x", pci >> 16,
			 (unsigned)(pci >> 8 & 0xff), (unsigned)(pci >> 3 & 0x1f),
			 (unsigned)(pci & 7));
	else
		snprintf(name, sizeof(name), "Intel GPU");
	device.name = aif_store_puts(s, name);
	device.vendor = aif_store_puts(s, "Intel");
	device.driver = device.runtime = aif_store_puts(s, "xe");
	id = aif_store_device(s, &device);
	add(d, pci, id, false);
	return id;
}

/* Finds the card without a name that an agent's definition may be of. */
static struct aif_gpu *nameless(struct aif_drainer *d, uint32_t pci,
				const struct aif_device *device)
{
	struct aif_gpu *c = find(d, pci);

	/* With one card only, a missing address is no difference. */
	if (!c && d->gpus_len == 1 && (!pci || !d->gpus[0].pci) &&
	    !strncmp(aif_profile_str(&d->store->p, device->vendor), "Intel", 5))
		c = d->gpus;
	return c && !c->is_named ? c : NULL;
}

uint32_t aif_gpu_define(struct aif_drainer *d, uint32_t pci, const struct aif_device *device)
{
	struct aif_gpu *c = nameless(d, pci, device);
	uint32_t id;

	if (c) {
		c->is_named = true;
		c->pci = pci ? pci : c->pci;
		aif_store_device_is(d->store, c->device, device);
		return c->device;
	}
	id = aif_store_device(d->store, device);
	/* Agents define a card before its parts, which have the same address. */
	if (pci && !find(d, pci))
		add(d, pci, id, true);
	return id;
}
