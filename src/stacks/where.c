/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/ranks.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- the functions of libraries of collectives ---- */

/* Prefixes of such libraries' functions. */
static const char *const prefixes[] = {"PMPI_",  "MPI_",      "pnccl",    "nccl",
				       "gloo::", "c10d::all", "ompi_mpi_"};

/* Functions that wait for a device, by how they begin. */
static const char *const device_waits[] = {"cudaStreamSynchronize", "cudaDeviceSynchronize",
					   "cudaEventSynchronize",  "cuStreamSynchronize",
					   "cuCtxSynchronize",      "cuEventSynchronize",
					   "hipStreamSynchronize",  "hipDeviceSynchronize",
					   "hipEventSynchronize",   "clFinish",
					   "clWaitForEvents",       "zeCommandQueueSynchronize",
					   "zeFenceHostSynchronize"};

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static bool ends(const char *text, const char *with)
{
	size_t n = strlen(text), m = strlen(with);

	return n >= m && !strcmp(text + n - m, with);
}

/* Finds the row of a name without its library's prefix. */
static enum aif_stacks_place place_of(const char *name)
{
	static const struct {
		enum aif_stacks_place place;
		const char *name;
	} rows[] = {
#define AIF_OPERATION(place, name) {AIF_STACKS_##place, name},
#include "stacks/collectives.def"
#undef AIF_OPERATION
	};
	char plain[32];
	size_t len = 0;

	for (; *name && *name != '(' && *name != '<' && len < sizeof(plain) - 1; name++)
		if (*name != '_')
			plain[len++] = (char)tolower((unsigned char)*name);
	plain[len] = '\0';
	for (size_t i = 0; i < AIF_ARRAY_LEN(rows); i++)
		if (begins(plain, rows[i].name))
			return rows[i].place;
	return AIF_STACKS_ELSEWHERE;
}

static bool is_of_torch_distributed(const struct aif_stacks_frame *f)
{
	return f->is_python && f->file && ends(f->file, "torch/distributed/distributed_c10d.py");
}

static enum aif_stacks_place place_of_frame(const struct aif_stacks_frame *f)
{
	const char *name = f->function;

	if (is_of_torch_distributed(f))
		return place_of(name);
	if (f->is_python || f->is_interpreter)
		return AIF_STACKS_ELSEWHERE;
	/* Awaited by PyTorch's reducer at the end of backward(). */
	if (begins(name, "c10d::") && strstr(name, "ait("))
		return AIF_STACKS_COLLECTIVE;
	for (size_t i = 0; i < AIF_ARRAY_LEN(prefixes); i++)
		if (!strncasecmp(name, prefixes[i], strlen(prefixes[i])))
			return place_of(name + strlen(prefixes[i]));
	for (size_t i = 0; i < AIF_ARRAY_LEN(device_waits); i++)
		if (begins(name, device_waits[i]))
			return AIF_STACKS_DEVICE;
	return AIF_STACKS_ELSEWHERE;
}

/* ---- the program's own line ---- */

/* True for files of Python that are a library's. */
static bool is_library_file(const char *file)
{
	return strstr(file, "/site-packages/") || strstr(file, "/dist-packages/") ||
	       strstr(file, "/lib/python3") || begins(file, "<");
}

static bool is_library_module(const char *module)
{
	const char *slash = strrchr(module, '/'), *name = slash ? slash + 1 : module;

	return strstr(name, ".so") != NULL || *name == '[';
}

/* Finds the innermost frame from `from` outward that is the program's own; else the first one with a line; else `from`. */
static const struct aif_stacks_frame *own_frame(const struct aif_stacks_thread *t, size_t from)
{
	const struct aif_stacks_frame *with_line = NULL;

	for (size_t i = from; i < t->frames_len; i++) {
		const struct aif_stacks_frame *f = &t->frames[i];

		if (f->is_python ? f->file && !is_library_file(f->file)
				 : !f->is_interpreter && f->module && !is_library_module(f->module))
			return f;
		if (!with_line && f->line && f->file && !f->is_interpreter)
			with_line = f;
	}
	return with_line ? with_line : from < t->frames_len ? &t->frames[from] : NULL;
}

/* ---- a thread, a process ---- */

static void put_operation(const struct aif_stacks_frame *f, char *to, size_t size)
{
	const char *name = f->function;

	snprintf(to, size, "%.*s", (int)strcspn(name, "(<"),
		 begins(name, "PMPI_") || begins(name, "pnccl") ? name + 1 : name);
}

static struct aif_stacks_where where_of(const struct aif_stacks *s, size_t thread)
{
	const struct aif_stacks_thread *t = &s->threads[thread];
	struct aif_stacks_where w = {.thread = thread};

	/* Goes from outside in, to what the program has called, not what that is made of. A wait for the device within it is none of
	 * the program's. */
	for (size_t i = t->frames_len; i-- > 0;) {
		w.place = place_of_frame(&t->frames[i]);
		if (!w.place)
			continue;
		w.frame = i;
		put_operation(&t->frames[i], w.operation, sizeof(w.operation));
		w.caller = own_frame(t, i + 1);
		return w;
	}
	w.caller = own_frame(t, 0);
	return w;
}

void aif_stacks_where(const struct aif_stacks *s, struct aif_stacks_where *ret)
{
	static const unsigned order[] = {[AIF_STACKS_ELSEWHERE] = 3,
					 [AIF_STACKS_COLLECTIVE] = 0,
					 [AIF_STACKS_PEER] = 1,
					 [AIF_STACKS_DEVICE] = 2};

	*ret = (struct aif_stacks_where){0};
	/* Threads are in the order of their numbers, so that the main thread comes first but where these have turned over. */
	for (size_t i = 0; i < s->len; i++) {
		struct aif_stacks_where w = where_of(s, i);

		if (!i || order[w.place] < order[ret->place] ||
		    (s->threads[i].tid == s->pid && w.place == ret->place))
			*ret = w;
	}
}
