/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/batch.h"

/*
 * Who makes us remember something pays for its memory, with what the writer's copy of it takes; what is known
 * already costs nothing. Beyond the limit whatever is new is refused and counted, and what is known is
 * still found: so a hostile or broken target fills its account, not our memory. What it has told stays.
 *
 * PyTorch that decodes and trains, with Python stacks, takes less than 2 MiB (133,547 launches, 6,114 stacks). One
 * process may take 100 times that, and all together what a machine with a device has to spare.
 */
#define AIF_ACCOUNT_MAX  (UINT64_C(256) << 20)
#define AIF_ACCOUNTS_MAX (UINT64_C(1) << 30)
struct aif_account {
	uint64_t bytes;
	uint64_t own; /* part of `bytes`: in the payer's own tables, which go with it */
	uint32_t modules;
	uint64_t refused, told;
};
/* Of the 65,535 that frames can name; a large Python server has 10,000 source files. */
#define AIF_ACCOUNT_MODULES 16384
/* An entry of a map takes 24 bytes, in slots of which 3/8 to 3/4 are used. */
#define AIF_ACCOUNT_ENTRY 48

/*
 * What the recorder has learned so far: the model's tables, each fact once. The drain thread adds,
 * the naming thread adds names, the writer thread copies what is new: all under `lock`, which is
 * held for microseconds; rows travel in `batches`, outside of the lock.
 *
 * Functions below need the lock. They return AIF_NONE when memory runs out, which callers treat as
 * "unknown": a lost name, never a stop.
 */
struct aif_store {
	pthread_mutex_t lock;
	struct aif_profile p;
	struct aif_account
		*payer; /* of what is added now; NULL: the recorder itself, without a limit */
	uint64_t paid;  /* by all payers */
	struct aif_map frame_ids, stack_ids, module_ids, kernel_ids, shape_ids, program_ids,
		device_ids, loss_ids;
	struct aif_batches batches;
};

/* False, and counted, if the payer cannot have `bytes` more. */
bool aif_store_pay(struct aif_store *s, uint64_t bytes);
/* For its own tables: given back when they shrink. */
bool aif_store_pay_own(struct aif_store *s, uint64_t bytes);
void aif_store_pay_back(struct aif_store *s, struct aif_account *a, uint64_t bytes);
/* Makes a loss of what was refused since the last time. process: of the payer, or AIF_NONE. */
void aif_store_refused(struct aif_store *s, struct aif_account *a, uint32_t process);
/* The lock, for what an account pays that is no single process's; what was refused becomes a loss of nobody's. */
void aif_store_lock_as(struct aif_store *s, struct aif_account *payer);
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
uint32_t aif_store_stack(struct aif_store *s, uint32_t parent, uint32_t frame, uint32_t flags);
uint32_t aif_store_shape(struct aif_store *s, const struct aif_shape *shape);
uint32_t aif_store_device(struct aif_store *s, const struct aif_device *device);
/* What the device was said to be was too little. */
void aif_store_device_is(struct aif_store *s, uint32_t id, const struct aif_device *device);
uint32_t aif_store_process(struct aif_store *s, const struct aif_process *process);
/* The process of that number that is known and has not ended, or AIF_NONE. */
uint32_t aif_store_process_alive(const struct aif_store *s, uint32_t pid);
uint32_t aif_store_thread(struct aif_store *s, const struct aif_thread *thread);
uint32_t aif_store_stream(struct aif_store *s, const struct aif_stream *stream);
uint32_t aif_store_program(struct aif_store *s, const struct aif_program *program);
uint32_t aif_store_kernel(struct aif_store *s, uint32_t name, uint32_t program);
uint32_t aif_store_code(struct aif_store *s, const struct aif_code *code); /* takes code->bytes */
void aif_store_name(struct aif_store *s, const struct aif_frame_name *name);
void aif_store_clock(struct aif_store *s, const struct aif_clock_pair *pair);
/* Adds `count` to what is already known of this reason there. detail: string or AIF_NONE. */
void aif_store_loss(struct aif_store *s, enum aif_reason reason, uint32_t process, uint32_t detail,
		    uint64_t count);
