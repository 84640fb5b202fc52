/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/device_code.h"
#include "record/sources/sources.h"
#include "record/sources/xe_join.h"

#include <string.h>

/*
 * Feeds a card's stream, and what processes say of their code's places, in any order: records decode, are summed up and
 * joined. Samples are neither lost nor made.
 *
 * The input: a byte of options, then places (24 bytes each), then records.
 */
struct input {
	const uint8_t *at;
	size_t left;
};

static uint64_t take(struct input *in, size_t n)
{
	uint64_t v = 0;

	n = AIF_MIN(n, in->left);
	memcpy(&v, in->at, n);
	in->at += n;
	in->left -= n;
	return v;
}

static void put_places(struct input *in, struct aif_drainer *d, unsigned n, uint32_t device)
{
	struct aif_code_map *map = aif_device_code_map(d);

	for (unsigned i = 0; i < n; i++) {
		struct aif_code_range p = {.address = take(in, 8),
					   .size = take(in, 4),
					   .from = take(in, 2),
					   .process = (uint32_t)take(in, 1) % 8,
					   .code = (uint32_t)take(in, 1) % 16,
					   .device = device,
					   .pci = (uint32_t)take(in, 1) % 3};
		uint8_t verb = (uint8_t)take(in, 1);

		p.name = p.module = p.code;
		aif_code_map_put(map, d->store, &p);
		aif_code_map_ran(map, p.process, p.name, take(in, 6));
		if (verb == 1)
			aif_code_map_end(map, p.process, p.from);
		else if (verb == 2)
			aif_code_map_forget(map, d->store, p.from);
		else if (verb == 3)
			aif_code_map_turn(map, p.from);
	}
}

static uint64_t rows_of(struct aif_store *s)
{
	const struct aif_batch *b = s->batches.open[AIF_BATCH_SAMPLE];
	uint64_t sum = 0;

	for (size_t i = 0; b && i < b->len; i++)
		sum += b->samples[i].count;
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input in = {data, len};
	struct aif_store store;
	struct aif_quota account = {0};
	struct aif_record_opts opts = {0};
	struct aif_drainer d = {.store = &store, .opts = &opts};
	struct aif_device device = {.kind = AIF_DEVICE_GPU};
	struct aif_xe_batch *b = calloc(1, sizeof(*b) + sizeof(b->windows[0]));
	struct aif_xe_counts *c = &b->windows[0].counts;
	struct aif_xe_record records[64];
	unsigned options = (unsigned)take(&in, 1);
	struct aif_xe_client client;
	char text[512] = "";
	enum aif_xe_layout layout = options % 4;
	uint64_t told = 0;
	size_t n;

	/* Also as what the kernel says of an open file. */
	if (in.left)
		memcpy(text, in.at, AIF_MIN(in.left, sizeof(text) - 1));
	aif_xe_client_parse(text, &client);
	if (aif_store_init(&store, 0) < 0 ||
	    aif_sources_init(&d, aif_sources, AIF_SOURCE_COUNT, NULL) < 0)
		abort();
	for (unsigned i = 0; i < 16; i++) {
		char name[] = {(char)('a' + i), '\0'};

		aif_store_module(&store, AIF_MODULE_DEVICE, name, 1, name, 1);
		aif_store_puts(&store, name);
	}
	store.payer = &account;
	put_places(&in, &d, options >> 3, aif_store_device(&store, &device));
	b->start = take(&in, 2);
	b->end = b->start + take(&in, 1);
	b->windows_len = 1;
	b->windows[0].wide = layout == AIF_XE_LAYOUT_XE3P;
	b->windows[0].pci = (uint32_t)take(&in, 1) % 3;
	while ((n = AIF_MIN(in.left / AIF_XE_RECORD, AIF_ARRAY_LEN(records))) != 0) {
		aif_xe_decode(layout, in.at, n, records);
		if (aif_xe_counts_add(c, records, n) != n)
			abort();
		for (size_t i = 0; i < n; i++)
			for (unsigned k = 0; k < AIF_XE_REASONS; k++)
				told += aif_xe_count(&records[i], k);
		in.at += n * AIF_XE_RECORD;
		in.left -= n * AIF_XE_RECORD;
	}
	if (aif_xe_counts_samples(c) != told)
		abort();
	aif_xe_join(&d, b);
	if (rows_of(&store) != told)
		abort();
	aif_xe_batch_free(b);
	aif_sources_finish(&d);
	aif_store_finish(&store);
	return 0;
}
