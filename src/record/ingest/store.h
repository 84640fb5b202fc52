/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/ingest/batch.h"
#include "record/ingest/homes.h"

/*
 * A target pays, from a quota, for the memory that its definitions take, the writer's copy included; what is known
 * already costs nothing. Beyond the quota what is new is refused and counted, and what is known is
 * still found: a hostile or broken target fills its quota, not the recorder's memory. Its definitions stay after its end.
 *
 * PyTorch that decodes and trains, with Python stacks, takes less than 2 MiB (133,547 launches, 6,114 stacks). One
 * process may take 100 times that, and all together what a machine with a device has to spare.
 */
#define AIF_QUOTA_MAX  (UINT64_C(256) << 20)
#define AIF_QUOTAS_MAX (UINT64_C(1) << 30)
struct aif_quota {
	uint64_t bytes;
	uint64_t own; /* part of `bytes`: in the payer's own tables, which go with it */
	uint32_t modules;
	uint64_t refused, told;
};
/* Modules of one payer, of 65,535 that frames can name; a large Python server has 10,000 source
 * files. */
#define AIF_QUOTA_MODULES 16384
/* An entry of a map takes 24 bytes, in slots of which 3/8 to 3/4 are used. */
#define AIF_QUOTA_ENTRY 48

/*
 * Facts that the recorder has learned so far: the model's tables, each fact once. The drain thread
 * adds, the naming thread adds names, the writer thread copies what is new: all under `lock`, which
 * is held for microseconds; rows travel in `batches`, outside of the lock.
 *
 * Functions below need the lock. They return AIF_NONE when memory runs out, which callers treat as
 * "unknown": a lost name, never a stop.
 */
struct aif_store {
	pthread_mutex_t lock;
	struct aif_profile p;
	struct aif_quota
		*payer; /* of what is added now; NULL: the recorder itself, without a limit */
	uint64_t paid;  /* by all payers */
	struct aif_map frame_ids, stack_ids, module_ids, kernel_ids, shape_ids, program_ids,
		device_ids, loss_ids;
	struct aif_batches batches;
	struct aif_homes homes;
};

/* Charges the payer for `bytes`. False: it cannot have so many more, which is counted. */
bool aif_store_charge(struct aif_store *s, uint64_t bytes);
/* The same for the payer's own tables, which are uncharged when they shrink. */
bool aif_store_charge_own(struct aif_store *s, uint64_t bytes);
void aif_store_uncharge(struct aif_store *s, struct aif_quota *a, uint64_t bytes);
/* Counts as lost what was refused since the last call. process: of the payer, or AIF_NONE. */
void aif_store_refused(struct aif_store *s, struct aif_quota *a, uint32_t process);
/* Take and release the lock, with a payer that is no single process; what it was refused is a loss of no process. */
void aif_store_lock_as(struct aif_store *s, struct aif_quota *payer);
void aif_store_unlock_as(struct aif_store *s);

int aif_store_init(struct aif_store *s, uint64_t start_ns);
void aif_store_finish(struct aif_store *s);

uint32_t aif_store_str(struct aif_store *s, const void *p, size_t n);
uint32_t aif_store_puts(struct aif_store *s, const char *str);
void aif_store_meta(struct aif_store *s, const char *key, const char *value); /* replaces */
uint32_t aif_store_module(struct aif_store *s, enum aif_module_kind kind, const char *path,
			  size_t path_len, const char *build_id, size_t build_id_len);
/* address < 2^48, module < 2^16 (else AIF_NONE) */
uint32_t aif_store_frame(struct aif_store *s, enum aif_frame_kind kind, uint32_t module,
			 uint64_t address);
/* A frame that is no code but a text: kind AIF_FRAME_MARK. */
uint32_t aif_store_mark(struct aif_store *s, const char *text);
uint32_t aif_store_stack(struct aif_store *s, uint32_t parent, uint32_t frame, uint32_t flags);
uint32_t aif_store_shape(struct aif_store *s, const struct aif_shape *shape);
uint32_t aif_store_device(struct aif_store *s, const struct aif_device *device);
/* Replaces a device's row by a fuller description. */
void aif_store_device_is(struct aif_store *s, uint32_t id, const struct aif_device *device);
/* True if the device was defined by that runtime: "cuda", "level zero". */
bool aif_store_device_runtime_is(const struct aif_store *s, uint32_t device, const char *runtime);
uint32_t aif_store_process(struct aif_store *s, const struct aif_process *process);
/* Returns the process of that number that has not ended, or AIF_NONE. */
uint32_t aif_store_process_alive(const struct aif_store *s, uint32_t pid);
uint32_t aif_store_thread(struct aif_store *s, const struct aif_thread *thread);
uint32_t aif_store_stream(struct aif_store *s, const struct aif_stream *stream);
uint32_t aif_store_program(struct aif_store *s, const struct aif_program *program);
uint32_t aif_store_kernel(struct aif_store *s, uint32_t name, uint32_t program);
uint32_t aif_store_code(struct aif_store *s, const struct aif_code *code); /* takes bytes, packed */
void aif_store_name(struct aif_store *s, const struct aif_frame_name *name);
void aif_store_graph_node(struct aif_store *s, const struct aif_graph_node *node);
void aif_store_clock(struct aif_store *s, const struct aif_clock_pair *pair);
/* Adds `count` to what is already known of this reason there. detail: string or AIF_NONE. */
void aif_store_loss(struct aif_store *s, enum aif_reason reason, uint32_t process, uint32_t detail,
		    uint64_t count);
