/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sources/device_code.h"

#include "record/ingest/modfiles.h"
#include "record/sources/sources.h"

#include <inttypes.h>
#include <stdio.h>

struct target_state {
	struct aif_map ids;     /* agent's id -> index of `function` */
	struct aif_map reasons; /* agent's id -> string of the store */
	struct aif_device_function *function;
	size_t len, cap;
};

static struct target_state *code_of(const struct aif_target *t)
{
	return t->source_state[AIF_SOURCE_DEVICE_CODE];
}

struct aif_code_map *aif_device_code_map(const struct aif_drainer *d)
{
	return d->source_state[AIF_SOURCE_DEVICE_CODE];
}

const struct aif_device_function *aif_device_code_function(const struct aif_target *t, uint32_t id)
{
	uint32_t i = aif_ingest_get(&code_of(t)->ids, id);

	return i == AIF_NONE ? NULL : &code_of(t)->function[i];
}

uint32_t aif_device_code_reason(const struct aif_target *t, uint64_t id)
{
	return aif_ingest_get(&code_of(t)->reasons, id);
}

bool aif_device_code_place(const struct aif_ingest *in, const struct aif_wire_place *r,
			   struct aif_code_range *ret)
{
	const struct aif_target *t = in->target;
	const struct aif_device_function *function = aif_device_code_function(t, r->head.aux);
	uint32_t device = aif_ingest_get(&t->devices, r->device),
		 pci = aif_ingest_get(&t->device_pci, r->device);

	if (!function || device == AIF_NONE ||
	    in->drainer->store->p.devices[device].kind == AIF_DEVICE_CPU)
		return false;
	*ret = (struct aif_code_range){.address = r->address,
				       .size = r->size,
				       .from = r->time,
				       .process = t->process,
				       .device = device,
				       .module = function->module,
				       .name = function->name,
				       .code = r->head.aux,
				       .pci = pci == AIF_NONE ? 0 : pci};
	return true;
}

void aif_device_code_link(struct aif_drainer *d, const struct aif_target *t,
			  const struct aif_device_function *function)
{
	struct aif_module *m = &d->store->p.modules[function->module];

	if (m->kernel == AIF_NONE)
		m->kernel = aif_ingest_get(&t->kernel_named, function->name);
}

static void link_target(struct aif_drainer *d, const struct aif_target *t)
{
	for (size_t i = 0; i < code_of(t)->len; i++)
		aif_device_code_link(d, t, &code_of(t)->function[i]);
}

void aif_device_code_link_all(struct aif_drainer *d)
{
	for (const struct aif_target *t = d->targets; t; t = t->next)
		link_target(d, t);
}

/* ---- records ------------------------------------------------------------------------------------- */

static uint32_t module_of(struct aif_store *s, const struct aif_wire_code *r)
{
	bool by_name = r->symbol == AIF_WIRE_SYMBOL_BY_NAME;
	/* Only CUDA gives numbers. */
	const char *format = by_name ? "zebin" : "cubin";
	char path[32], id[64];
	uint64_t name = aif_hash_bytes(r + 1, r->name_len);
	int path_len, id_len;

	path_len = r->hash ? snprintf(path, sizeof(path), "%s %016" PRIx64, format, r->hash)
			   : snprintf(path, sizeof(path), "%s", format);
	/* Without an object its number says nothing: its name does. */
	if (by_name)
		id_len = snprintf(id, sizeof(id), "%016" PRIx64 ".%016" PRIx64, r->hash, name);
	else
		id_len = snprintf(id, sizeof(id), "%016" PRIx64 ".%" PRIu32,
				  r->hash ? r->hash : name, r->symbol);
	return aif_store_module(s, AIF_MODULE_DEVICE, path, (size_t)path_len, id, (size_t)id_len);
}

static void on_code(struct aif_ingest *in, const struct aif_wire_code *r)
{
	struct aif_drainer *d = in->drainer;
	struct target_state *c = code_of(in->target);
	const char *name = (const char *)(r + 1);
	size_t known = d->store->p.modules_len;
	struct aif_device_function f;

	if (aif_device_code_function(in->target, r->head.aux))
		return;
	f.name = aif_ingest_kernel_name(d->store, name, r->name_len);
	f.module = module_of(d->store, r);
	if (f.module == AIF_NONE || f.name == AIF_NONE ||
	    !aif_store_charge_own(d->store, 2 * sizeof(f)) ||
	    aif_grow(&c->function, &c->cap, c->len + 1, sizeof(f)) < 0)
		return;
	aif_ingest_put(d->store, &c->ids, r->head.aux, (uint32_t)c->len);
	c->function[c->len++] = f;
	aif_device_code_link(d, in->target, &f);
	if (d->store->p.modules_len > known && aif_store_charge(d->store, r->name_len))
		aif_modfiles_add_function(d->files, f.module, name, r->name_len, r->hash,
					  r->symbol);
}

static void on_reason(struct aif_ingest *in, const struct aif_wire_reason *r)
{
	struct aif_store *s = in->drainer->store;

	aif_ingest_put(s, &code_of(in->target)->reasons, r->head.aux,
		       aif_store_str(s, r + 1, r->name_len));
}

static void on_place(struct aif_ingest *in, const struct aif_wire_place *r)
{
	struct aif_drainer *d = in->drainer;
	struct aif_code_range place;

	if (aif_device_code_place(in, r, &place))
		aif_code_map_put(aif_device_code_map(d), d->store, &place);
	else
		in->slot->drain.bad++; /* the same thread defines both before */
}

static void on_record(struct aif_ingest *in, const void *record)
{
	const struct aif_wire_head *h = record;

	if (h->type == AIF_WIRE_CODE)
		on_code(in, record);
	else if (h->type == AIF_WIRE_REASON)
		on_reason(in, record);
	else
		on_place(in, record);
}

/* Notes executions: they decide whose samples are those of an address that several processes have
 * code at. */
static void on_exec(struct aif_drainer *d, struct aif_target *t, const struct aif_exec_row *row)
{
	if (row->kernel != AIF_NONE && row->end > row->start)
		aif_code_map_ran(aif_device_code_map(d), t->process,
				 d->store->p.kernels[row->kernel].name, row->end - row->start);
}

static void target_end(struct aif_drainer *d, struct aif_target *t, uint64_t now)
{
	link_target(d, t);
	aif_code_map_end(aif_device_code_map(d), t->process, t->ended_ns ? t->ended_ns : now);
}

static void target_free(struct aif_target *t)
{
	aif_map_finish(&code_of(t)->ids);
	aif_map_finish(&code_of(t)->reasons);
	free(code_of(t)->function);
}

static void finish(struct aif_drainer *d)
{
	aif_code_map_finish(aif_device_code_map(d));
}

const struct aif_source aif_source_device_code = {
	.name = "device code",
	.state_size = sizeof(struct aif_code_map),
	.target_state_size = sizeof(struct target_state),
	.records = AIF_SOURCE_RECORD(CODE) | AIF_SOURCE_RECORD(REASON) | AIF_SOURCE_RECORD(PLACE),
	.on_record = on_record,
	.on_exec = on_exec,
	.target_end = target_end,
	.target_free = target_free,
	.finish = finish,
};
