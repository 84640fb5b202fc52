/* SPDX-License-Identifier: Apache-2.0 */
#include "record/cards.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct aif_card *find(struct aif_drainer *d, uint32_t pci)
{
	for (unsigned i = 0; i < d->cards_len; i++)
		if (d->cards[i].pci == pci)
			return &d->cards[i];
	return NULL;
}

static void add(struct aif_drainer *d, uint32_t pci, uint32_t device, bool is_named)
{
	if (d->cards_len < AIF_CARDS && device != AIF_NONE)
		d->cards[d->cards_len++] =
			(struct aif_card){.pci = pci, .device = device, .is_named = is_named};
}

uint32_t aif_card_known(const struct aif_drainer *d, uint32_t pci)
{
	for (unsigned i = 0; pci && i < d->cards_len; i++)
		if (d->cards[i].pci == pci)
			return d->cards[i].device;
	return AIF_NONE;
}

uint32_t aif_card_device(struct aif_drainer *d, uint32_t pci)
{
	struct aif_store *s = d->store;
	struct aif_device device = {.kind = AIF_DEVICE_GPU, .clock = AIF_CLOCK_MONOTONIC};
	const struct aif_card *known = find(d, pci);
	char name[48];
	uint32_t id;

	if (known)
		return known->device;
	if (d->cards_len == AIF_CARDS)
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

/* The one without a name that it can be. */
static struct aif_card *nameless(struct aif_drainer *d, uint32_t pci,
				 const struct aif_device *device)
{
	struct aif_card *c = find(d, pci);

	/* Where one of both does not say where, and there is one card only. */
	if (!c && d->cards_len == 1 && (!pci || !d->cards[0].pci) &&
	    !strncmp(aif_profile_str(&d->store->p, device->vendor), "Intel", 5))
		c = d->cards;
	return c && !c->is_named ? c : NULL;
}

uint32_t aif_card_told(struct aif_drainer *d, uint32_t pci, const struct aif_device *device)
{
	struct aif_card *c = nameless(d, pci, device);
	uint32_t id;

	if (c) {
		c->is_named = true;
		c->pci = pci ? pci : c->pci;
		aif_store_device_is(d->store, c->device, device);
		return c->device;
	}
	id = aif_store_device(d->store, device);
	/* Its parts are told after it. */
	if (pci && !find(d, pci))
		add(d, pci, id, true);
	return id;
}
