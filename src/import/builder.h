/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "profile/file.h"

/*
 * A profile in the making, of one thread and without limits of its own: each fact once, as the recorder's store has
 * it. Tables grow in .p; bulk rows are kept until the profile's beginning is known, which is when all files have
 * been read, and written by aif_builder_write().
 *
 * Ids are AIF_NONE when memory runs out; then .failed is set, which is checked at the end.
 */
struct aif_builder {
	struct aif_profile p;
	bool failed;
	AIF_TABLE(aif_launch_row, launches);
	AIF_TABLE(aif_exec_row, execs);
	AIF_TABLE(aif_cpu_row, waits);
	AIF_TABLE(aif_op_row, ops);
	AIF_TABLE(aif_sample_row, samples);
	AIF_TABLE(aif_window_row, windows);
	AIF_TABLE(aif_counter_row, counters);
	AIF_TABLE(aif_memory_row, memory);
	struct aif_scratch
		*scratch; /* for what aif_builder_write() writes until it is whole; NULL: none */
	/* inside */
	struct aif_map frame_ids, stack_ids, module_ids, kernel_ids, shape_ids, loss_ids,
		collective_ids;
};

void aif_builder_finish(struct aif_builder *b);

/* Zero bytes in it become U+FFFD. */
uint32_t aif_builder_str(struct aif_builder *b, const void *p, size_t n);
uint32_t aif_builder_puts(struct aif_builder *b, const char *str);
void aif_builder_meta(struct aif_builder *b, const char *key, const char *fmt, ...)
	AIF_PRINTF(3, 4); /* replaces */
uint32_t aif_builder_module(struct aif_builder *b, enum aif_module_kind kind, uint32_t path);
/* The same of a known build. */
uint32_t aif_builder_module_build(struct aif_builder *b, enum aif_module_kind kind, uint32_t path,
				  uint32_t build_id);
/* The code of one kernel. */
uint32_t aif_builder_device_module(struct aif_builder *b, uint32_t kernel);
uint32_t aif_builder_frame(struct aif_builder *b, const struct aif_frame *frame);
/* A frame with a name of its own, a new one each time. Strings, AIF_NONE where unknown. */
uint32_t aif_builder_named_frame(struct aif_builder *b, const struct aif_frame *frame,
				 uint32_t name, uint32_t file, uint32_t line);
/* Adds a name to the newest frame. */
void aif_builder_name(struct aif_builder *b, uint32_t frame, uint32_t name, uint32_t file,
		      uint32_t line);
uint32_t aif_builder_stack(struct aif_builder *b, uint32_t parent, uint32_t frame, uint32_t flags);
uint32_t aif_builder_kernel(struct aif_builder *b, uint32_t name);
uint32_t aif_builder_shape(struct aif_builder *b, const struct aif_shape *shape);
uint32_t aif_builder_process(struct aif_builder *b, const struct aif_process *process);
uint32_t aif_builder_thread(struct aif_builder *b, const struct aif_thread *thread);
uint32_t aif_builder_device(struct aif_builder *b, const struct aif_device *device);
uint32_t aif_builder_stream(struct aif_builder *b, const struct aif_stream *stream);
/* AIF_NONE when memory runs out, as ids. */
uint32_t aif_builder_collective(struct aif_builder *b, const struct aif_collective *collective);
void aif_builder_loss(struct aif_builder *b, enum aif_reason reason, uint32_t process,
		      uint32_t detail, uint64_t count);

/* Rows of their own that are filled in by the caller; NULL when memory runs out. */
struct aif_launch_row *aif_builder_launch(struct aif_builder *b);
struct aif_exec_row *aif_builder_exec(struct aif_builder *b);
/* Takes memory over, of that many rows, for the rows of executions, of which there are none yet: what is in it may be read until
 * its rows are asked for. False: there are some, and it stays the caller's. */
bool aif_builder_execs_in(struct aif_builder *b, void *memory, size_t rows);
struct aif_cpu_row *aif_builder_wait(struct aif_builder *b);
/* Makes room for so many launches and operators more. 0 or -ENOMEM. */
int aif_builder_reserve(struct aif_builder *b, size_t launches, size_t ops);
struct aif_op_row *aif_builder_op(struct aif_builder *b);
struct aif_sample_row *aif_builder_sample(struct aif_builder *b);
struct aif_window_row *aif_builder_window(struct aif_builder *b);
struct aif_counter_row *aif_builder_counter(struct aif_builder *b);
struct aif_memory_row *aif_builder_memory(struct aif_builder *b);

/* Sets the profile's beginning and end from its rows; call it when all are there. */
void aif_builder_bound(struct aif_builder *b);

/* Writes a profile that begins with the first time of any row and ends with the last, under another name until it is
 * whole: `path` is what it was or the whole profile, whatever happens. 0 or -errno with *err. */
int aif_builder_write(struct aif_builder *b, const char *path, struct aif_err *err);
