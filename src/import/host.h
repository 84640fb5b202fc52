/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/builder.h"

/*
 * Frames and threads of a host, as other profilers have them: functions by their names, threads by their numbers. The
 * same name in the same module is one frame, wherever in the function a sample was, unless an address is known.
 */
struct aif_host {
	struct aif_builder *b;
	struct aif_map frames, processes, threads;
	/* inside */
	struct aif_host_frame {
		uint32_t kind, module, name, file, line, is_inlined;
		uint64_t address; /* 0: not known */
		uint32_t frame;
	} * known;
	size_t known_len, known_cap;
	struct aif_host_thread {
		uint64_t pid, tid;
		uint32_t thread;
	} * known_threads;
	size_t known_threads_len, known_threads_cap;
};
void aif_host_finish(struct aif_host *h); /* not the builder */

/* Strings of the profile; module: its path, file: of the source; AIF_NONE where not known. line 0 = not known. */
uint32_t aif_host_frame(struct aif_host *h, enum aif_frame_kind kind, uint32_t module,
			uint32_t name, uint32_t file, uint32_t line);
/* Returns that of native code at an address, which sets it apart from others of its name; 0: not known. */
uint32_t aif_host_native(struct aif_host *h, uint32_t module, uint32_t name, uint32_t file,
			 uint32_t line, uint64_t address);
/* Returns that of native code, or the OS kernel's, that the compiler put into its caller. */
uint32_t aif_host_inlined(struct aif_host *h, enum aif_frame_kind kind, uint32_t module,
			  uint32_t name, uint32_t file, uint32_t line);
/* Returns the module of code, AIF_NONE if path is; build_id: of its file, AIF_NONE if not known. */
uint32_t aif_host_module_of(struct aif_host *h, enum aif_frame_kind kind, uint32_t path,
			    uint32_t build_id);
/* Code whose name nobody knows: drawn as [module+0xADDRESS]. */
uint32_t aif_host_unnamed(struct aif_host *h, uint32_t module, uint64_t address);

/* Returns the kind of code of a name by the form that tools give it: Python ("f (a.py)",
 * "py::f:a.py"), or native. */
enum aif_frame_kind aif_host_kind(const char *name, size_t len, const char *file, size_t file_len);
/* Is this "module" the OS kernel, or one of its own? perf writes these in brackets, and JIT compilers theirs. `address`: of
 * the code in it; 0 where it is not known. */
bool aif_host_is_os(const char *module, size_t len, uint64_t address);

/* The usual time between two samples, of b->waits from `first` on, of the thread that has most of them: others sleep.
 * 0: there is none. */
uint64_t aif_host_usual_gap(struct aif_builder *b, size_t first);

/* A thread of the process that pid says (from UINT32_MAX on: it has none that is known); name, the process's: strings,
 * AIF_NONE if not known. AIF_NONE: out of memory. */
uint32_t aif_host_thread(struct aif_host *h, uint64_t pid, uint64_t tid, uint32_t process_name,
			 uint32_t thread_name);
