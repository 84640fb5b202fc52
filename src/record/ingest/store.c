/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ingest/store.h"

#include <string.h>

int aif_store_init(struct aif_store *s, uint64_t start_ns)
{
	int r;

	*s = (struct aif_store){.p.start_ns = start_ns};
	r = -pthread_mutex_init(&s->lock, NULL);
	return r < 0 ? r : aif_batches_init(&s->batches);
}

void aif_store_finish(struct aif_store *s)
{
	struct aif_map *maps[] = {&s->frame_ids, &s->stack_ids,   &s->module_ids, &s->kernel_ids,
				  &s->shape_ids, &s->program_ids, &s->device_ids, &s->loss_ids};

	for (size_t i = 0; i < AIF_ARRAY_LEN(maps); i++)
		aif_map_finish(maps[i]);
	aif_profile_finish(&s->p);
	aif_batches_finish(&s->batches);
	aif_homes_finish(&s->homes);
	pthread_mutex_destroy(&s->lock);
}

/* In an array, in its copy, and in the map that finds it. */
#define COST(size) (2 * (uint64_t)(size) + AIF_QUOTA_ENTRY)

bool aif_store_charge(struct aif_store *s, uint64_t bytes)
{
	struct aif_quota *a = s->payer;

	if (!a)
		return true;
	if (bytes > AIF_QUOTA_MAX - a->bytes || s->paid + bytes > AIF_QUOTAS_MAX) {
		a->refused++;
		return false;
	}
	a->bytes += bytes;
	s->paid += bytes;
	return true;
}

bool aif_store_charge_own(struct aif_store *s, uint64_t bytes)
{
	if (!aif_store_charge(s, bytes))
		return false;
	if (s->payer)
		s->payer->own += bytes;
	return true;
}

void aif_store_uncharge(struct aif_store *s, struct aif_quota *a, uint64_t bytes)
{
	bytes = AIF_MIN(bytes, a->own);
	a->own -= bytes;
	a->bytes -= bytes;
	s->paid -= bytes;
}

void aif_store_refused(struct aif_store *s, struct aif_quota *a, uint32_t process)
{
	uint64_t n = a->refused - a->told;

	a->told = a->refused;
	if (n)
		aif_store_loss(s, AIF_REASON_DEFINITIONS_FULL, process, AIF_NONE, n);
}

void aif_store_lock_as(struct aif_store *s, struct aif_quota *payer)
{
	pthread_mutex_lock(&s->lock);
	s->payer = payer;
}

void aif_store_unlock_as(struct aif_store *s)
{
	struct aif_quota *payer = s->payer;

	s->payer = NULL;
	aif_store_refused(s, payer, AIF_NONE);
	pthread_mutex_unlock(&s->lock);
}

uint32_t aif_store_str(struct aif_store *s, const void *p, size_t n)
{
	if (s->payer) {
		uint32_t id = aif_strset_find(&s->p.strings, p, n);

		if (id != AIF_STR_NONE || !aif_store_charge(s, COST(n + sizeof(struct aif_str_at))))
			return id;
	}
	return aif_strset_put(&s->p.strings, p, n);
}

uint32_t aif_store_puts(struct aif_store *s, const char *str)
{
	return aif_store_str(s, str, strlen(str));
}

/* Appends *row to a table of the model; its id, or AIF_NONE. */
#define PUSH(s, table, row)                                                                   \
	(!aif_store_charge(s, COST(sizeof(*(s)->p.table))) ||                                 \
			 aif_grow(&(s)->p.table, &(s)->p.table##_cap, (s)->p.table##_len + 1, \
				  sizeof(*(s)->p.table)) < 0                                  \
		 ? AIF_NONE                                                                   \
		 : ((s)->p.table[(s)->p.table##_len] = *(row), (uint32_t)(s)->p.table##_len++))

/* The id that `map` holds for a row equal to *row, found by `hash` and judged by the bytes: hashes
 * that clash are tried one after another. Fails over to a new row. */
#define INTERN(s, map, table, row)                                          \
	({                                                                  \
		uint64_t key_ = aif_hash_bytes((row), sizeof(*(row))), id_; \
		while (aif_map_get(&(s)->map, key_, &id_) &&                \
		       memcmp(&(s)->p.table[id_], (row), sizeof(*(row))))   \
			key_++;                                             \
		if (!aif_map_get(&(s)->map, key_, &id_)) {                  \
			id_ = PUSH(s, table, row);                          \
			if (id_ != AIF_NONE)                                \
				aif_map_put(&(s)->map, key_, id_);          \
		}                                                           \
		(uint32_t) id_;                                             \
	})

void aif_store_meta(struct aif_store *s, const char *key, const char *value)
{
	struct aif_meta m = {.key = aif_store_puts(s, key), .value = aif_store_puts(s, value)};

	for (size_t i = 0; i < s->p.meta_len; i++)
		if (s->p.meta[i].key == m.key) {
			s->p.meta[i].value = m.value;
			return;
		}
	PUSH(s, meta, &m);
}

uint32_t aif_store_module(struct aif_store *s, enum aif_module_kind kind, const char *path,
			  size_t path_len, const char *build_id, size_t build_id_len)
{
	struct aif_module m = {
		.kind = kind,
		.path = aif_store_str(s, path, path_len),
		.build_id = build_id_len ? aif_store_str(s, build_id, build_id_len) : AIF_NONE,
		.kernel = AIF_NONE,
		.program = AIF_NONE,
	};
	uint64_t key = aif_mix64((uint64_t)m.path << 32 | m.build_id) + kind, id;

	/* `kernel` and `program` are filled in later, so these rows are compared by hand. */
	for (; aif_map_get(&s->module_ids, key, &id); key++)
		if (s->p.modules[id].path == m.path && s->p.modules[id].build_id == m.build_id &&
		    s->p.modules[id].kind == kind)
			return (uint32_t)id;
	if (s->payer && s->payer->modules >= AIF_QUOTA_MODULES) {
		s->payer->refused++;
		return AIF_NONE;
	}
	id = PUSH(s, modules, &m);
	if (id == AIF_NONE)
		return AIF_NONE;
	aif_map_put(&s->module_ids, key, id);
	if (s->payer)
		s->payer->modules++;
	return (uint32_t)id;
}

uint32_t aif_store_frame(struct aif_store *s, enum aif_frame_kind kind, uint32_t module,
			 uint64_t address)
{
	struct aif_frame f = {.kind = kind, .module = module, .address = address};
	uint64_t key, id;

	if (address >> 48 || (module != AIF_NONE && module >= UINT16_MAX))
		return AIF_NONE;
	key = (uint64_t)(uint16_t)module << 48 | address; /* the kind follows from the module */
	if (aif_map_get(&s->frame_ids, key, &id))
		return (uint32_t)id;
	id = PUSH(s, frames, &f);
	if (id != AIF_NONE)
		aif_map_put(&s->frame_ids, key, id);
	return (uint32_t)id;
}

uint32_t aif_store_mark(struct aif_store *s, const char *text)
{
	uint32_t string = aif_store_puts(s, text),
		 module = aif_store_module(s, AIF_MODULE_ANON, "[mark]", strlen("[mark]"), NULL, 0);

	/* A module of their own, so that no address of code is taken for one. */
	return string == AIF_NONE || module == AIF_NONE
		       ? AIF_NONE
		       : aif_store_frame(s, AIF_FRAME_MARK, module, string);
}

uint32_t aif_store_stack(struct aif_store *s, uint32_t parent, uint32_t frame, uint32_t flags)
{
	/* Rows do not change once written: the same frames with other flags are another stack. */
	uint64_t key = aif_mix64((uint64_t)parent << 32 | frame) + flags, id;
	struct aif_stack k = {.parent = parent, .frame = frame, .depth = 1, .flags = flags};

	for (; aif_map_get(&s->stack_ids, key, &id); key++)
		if (s->p.stacks[id].parent == parent && s->p.stacks[id].frame == frame &&
		    s->p.stacks[id].flags == flags)
			return (uint32_t)id;
	if (parent != AIF_NONE)
		k.depth += s->p.stacks[parent].depth;
	id = PUSH(s, stacks, &k);
	if (id != AIF_NONE)
		aif_map_put(&s->stack_ids, key, id);
	return (uint32_t)id;
}

uint32_t aif_store_shape(struct aif_store *s, const struct aif_shape *shape)
{
	return INTERN(s, shape_ids, shapes, shape);
}

uint32_t aif_store_device(struct aif_store *s, const struct aif_device *device)
{
	return INTERN(s, device_ids, devices, device);
}

void aif_store_device_is(struct aif_store *s, uint32_t id, const struct aif_device *device)
{
	uint64_t key = aif_hash_bytes(device, sizeof(*device));

	s->p.devices[id] = *device;
	/* The next free key, as INTERN looks for it. */
	while (aif_map_get(&s->device_ids, key, NULL))
		key++;
	aif_map_put(&s->device_ids, key, id);
}

bool aif_store_device_runtime_is(const struct aif_store *s, uint32_t device, const char *runtime)
{
	uint32_t is = device == AIF_NONE ? AIF_NONE : s->p.devices[device].runtime;

	return is != AIF_NONE && !strcmp(aif_profile_str(&s->p, is), runtime);
}

uint32_t aif_store_program(struct aif_store *s, const struct aif_program *program)
{
	return INTERN(s, program_ids, programs, program);
}

uint32_t aif_store_process(struct aif_store *s, const struct aif_process *process)
{
	return PUSH(s, processes, process);
}

uint32_t aif_store_process_alive(const struct aif_store *s, uint32_t pid)
{
	for (size_t i = s->p.processes_len; i-- > 0;)
		if (s->p.processes[i].pid == pid)
			return s->p.processes[i].end_ns ? AIF_NONE : (uint32_t)i;
	return AIF_NONE;
}

uint32_t aif_store_thread(struct aif_store *s, const struct aif_thread *thread)
{
	return PUSH(s, threads, thread);
}

uint32_t aif_store_stream(struct aif_store *s, const struct aif_stream *stream)
{
	return PUSH(s, streams, stream);
}

uint32_t aif_store_kernel(struct aif_store *s, uint32_t name, uint32_t program)
{
	struct aif_kernel k = {.name = name, .short_name = AIF_NONE, .program = program};

	return INTERN(s, kernel_ids, kernels, &k);
}

uint32_t aif_store_code(struct aif_store *s, const struct aif_code *code)
{
	uint64_t kept = code->packed ? code->packed_size : code->bytes ? code->size : 0;
	uint32_t id = kept && !aif_store_charge(s, kept) ? AIF_NONE : PUSH(s, codes, code);

	if (id == AIF_NONE) {
		free((void *)(uintptr_t)code->bytes);
		free((void *)(uintptr_t)code->packed);
	}
	return id;
}

void aif_store_name(struct aif_store *s, const struct aif_frame_name *name)
{
	PUSH(s, frame_names, name);
}

void aif_store_graph_node(struct aif_store *s, const struct aif_graph_node *node)
{
	PUSH(s, graph_nodes, node);
}

void aif_store_clock(struct aif_store *s, const struct aif_clock_pair *pair)
{
	PUSH(s, clock_pairs, pair);
}

void aif_store_loss(struct aif_store *s, enum aif_reason reason, uint32_t process, uint32_t detail,
		    uint64_t count)
{
	struct aif_quota *payer = s->payer;
	struct aif_loss l = {.reason = reason,
			     .process = process,
			     .thread = AIF_NONE,
			     .detail = detail,
			     .count = count};
	uint64_t key = aif_mix64((uint64_t)process << 32 | detail) + reason, id;

	for (; aif_map_get(&s->loss_ids, key, &id); key++) {
		struct aif_loss *known = &s->p.losses[id];

		if (known->reason == (uint32_t)reason && known->process == process &&
		    known->detail == detail) {
			known->count += count;
			return;
		}
	}
	if (detail != AIF_NONE && !aif_store_charge(s, COST(sizeof(l)))) {
		aif_store_loss(s, reason, process, AIF_NONE, count);
		return;
	}
	/* Without a detail there is one for each reason: that is counted in any case. */
	s->payer = NULL;
	id = PUSH(s, losses, &l);
	if (id != AIF_NONE)
		aif_map_put(&s->loss_ids, key, id);
	s->payer = payer;
}
