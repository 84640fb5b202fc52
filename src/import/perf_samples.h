/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/import.h"
#include "import/perf_events.h"

/*
 * The samples of a perf recording, from its own file or from what `perf script` prints of it, until they are rows. The
 * event that counts, and a program's name after its exec, are known when all were read: until then samples are numbers
 * of threads, events and nodes (stacks), each of which is kept once.
 */
#define AIF_PERF_DEPTH_MAX \
	4096 /* perf's own limit is 127, or what kernel.perf_event_max_stack says */

struct aif_perf_samples {
	struct aif_builder *b;
	struct aif_import_source *source;
	struct aif_perf_events events;
	uint64_t records,
		lost; /* that are no samples; events that perf says that it lost: the caller's */
	/* The sample at hand. */
	struct aif_perf_header at;
	uint32_t event, thread;
	bool is_in, has_node; /* has_node: its stack is known */
	uint32_t node;
	/* inside */
	struct aif_strset strings;
	struct aif_map frame_ids, node_ids, thread_ids, process_ids;
	AIF_TABLE(perf_frame, frames);
	AIF_TABLE(perf_level, levels);
	AIF_TABLE(perf_node, nodes);
	AIF_TABLE(perf_thread, threads);
	AIF_TABLE(perf_process, processes);
	AIF_TABLE(perf_sample, samples);
	bool is_idle, is_interrupt, is_cut, is_memory;
	bool is_untimed; /* samples do not say when they were taken */
	uint32_t stack[AIF_PERF_DEPTH_MAX];
	size_t stack_len;
	uint64_t idle, cut; /* samples: of idle CPUs; with more frames than are kept */
};
void aif_perf_samples_finish(struct aif_perf_samples *x); /* not the builder */

/* Begins a sample, after the end of the one before it; frames follow, the innermost first. The texts of *h are needed until
 * its end. event: see aif_perf_event(). */
void aif_perf_samples_begin(struct aif_perf_samples *x, const struct aif_perf_header *h,
			    uint32_t event);
/* Adds a frame that perf has named, or one of those below. */
void aif_perf_samples_frame(struct aif_perf_samples *x, const struct aif_perf_frame *f);
void aif_perf_samples_push(struct aif_perf_samples *x, uint32_t frame);
/* Returns the stack of the frames so far, which another sample may have again instead of frames. */
uint32_t aif_perf_samples_stack(struct aif_perf_samples *x);
void aif_perf_samples_again(struct aif_perf_samples *x, uint32_t stack);
/* Ends the sample, if one was begun. 0 or -ENOMEM. */
int aif_perf_samples_end(struct aif_perf_samples *x);

/* Code at an address of its module's file, or elsewhere; NULL where not known. */
struct aif_perf_code {
	enum aif_frame_kind kind;
	const char *module, *build_id;
	uint64_t address;
	uint32_t pid; /* of code in no file, which each process names for itself; else 0 */
};
struct aif_perf_level {
	const char *name, *file; /* file NULL, line 0: not known */
	uint32_t line;
};
/* Makes a frame of code with its function and those inlined there, inwards; n 0: without a name. AIF_NONE: out of memory. */
uint32_t aif_perf_samples_code(struct aif_perf_samples *x, const struct aif_perf_code *c,
			       const struct aif_perf_level *levels, size_t n);
/* Names a frame of code without a name later, before there are rows. */
void aif_perf_samples_name(struct aif_perf_samples *x, uint32_t frame, const char *name,
			   size_t len);

/* Makes the samples of the event that *opts names, or of the best one, rows of the profile; counts those of others. 0 or
 * -errno with *err. */
int aif_perf_samples_rows(struct aif_perf_samples *x, const struct aif_import_opts *opts,
			  struct aif_err *err);
