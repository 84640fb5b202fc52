/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/opencl/opencl.h"
#include "unwind/module_function.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * A program that uses OpenCL already, and whose loader asks for no layer any more. Every object of OpenCL begins with the
 * address of its driver's dispatch table, through which the loader's functions go, whoever calls them and however the
 * program has found them. So the functions that a layer replaces are replaced in the drivers' tables; what was in them is
 * kept in aif_cl_late_drivers, and the layer's target are functions that go on to those of the driver that an object
 * belongs to (late_target.S).
 *
 * A table is changed one address at a time, while threads call through it: each finds the driver's function or ours, and
 * ours are ready before the first is put in. It is never changed back: an agent without a recorder is as cheap there as a
 * layer is. Only tables within a loaded library are changed, and of these only what the driver's version of OpenCL has: a
 * table of an older one ends earlier.
 *
 * Drivers that are loaded later are found by tick().
 */
#define DRIVERS 8

struct aif_cl_late_driver {
	struct aif_cl_dispatch *table; /* NULL: no more */
	struct aif_cl_dispatch was;
};
extern struct aif_cl_late_driver aif_cl_late_drivers[DRIVERS + 1];
struct aif_cl_late_driver aif_cl_late_drivers[DRIVERS + 1];

#if defined(__x86_64__)

#define TARGET_BYTES 16 /* of a function of aif_cl_late_targets */
extern const char aif_cl_late_targets[];

typedef int32_t get_platforms_fn(uint32_t n, void **platforms, uint32_t *ret_n);
typedef void *get_function_fn(const char *name);

/* Libraries that may be drivers, and where the loader is. */
struct libraries {
	unsigned long long adds; /* how many were ever loaded */
	char path[DRIVERS][4096];
	unsigned len;
	uint64_t loader; /* a place in its code; 0: it is not there */
};

static bool is_loader(const char *path)
{
	const char *file = strrchr(path, '/');

	/* Wheels of Python have "libOpenCL-1a2b3c4d.so.1". */
	return file && !strncmp(file, "/libOpenCL", 10) && (file[10] == '.' || file[10] == '-');
}

static int look_at(struct dl_phdr_info *module, size_t size, void *arg)
{
	struct libraries *l = arg;
	const char *path = module->dlpi_name;

	if (size >= offsetof(struct dl_phdr_info, dlpi_adds) + sizeof(module->dlpi_adds))
		l->adds = module->dlpi_adds;
	if (is_loader(path))
		l->loader = (uintptr_t)aif_module_function(module, "clGetPlatformIDs");
	else if (l->len < DRIVERS && strlen(path) < sizeof(l->path[0]) &&
		 aif_module_function(module, "clGetExtensionFunctionAddress"))
		strcpy(l->path[l->len++], path);
	return 0;
}

/* Functions of the table that a driver of this version has. 0: too old, or nobody knows. */
static unsigned entries_of(const char *version)
{
	static const struct {
		unsigned major, minor;
		size_t end;
	} of[] = {
		{3, 0, sizeof(struct aif_cl_dispatch)},
		{2, 2, offsetof(struct aif_cl_dispatch, clCreateBufferWithProperties)},
		{2, 1, offsetof(struct aif_cl_dispatch, clSetProgramReleaseCallback)},
		{2, 0, offsetof(struct aif_cl_dispatch, clGetKernelSubGroupInfoKHR)},
		{1, 2, offsetof(struct aif_cl_dispatch, clCreateFromEGLImageKHR)},
	};

	for (unsigned i = 0; i < AIF_ARRAY_LEN(of); i++)
		if (aif_cl_version_at_least(version, of[i].major, of[i].minor))
			return (unsigned)(of[i].end / sizeof(void *));
	return 0;
}

/* The memory of libraries that a table lies in. Of its pages those from `closed` to `closed_end` cannot be written. */
struct place {
	uintptr_t from, to, closed, closed_end;
	bool is_there;
	int flags; /* p_flags of the segment that the closed pages are in */
};

static uintptr_t page_of(uintptr_t at)
{
	return at & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
}

static int place_in(struct dl_phdr_info *module, size_t size, void *arg)
{
	struct place *p = arg;
	const uintptr_t end = page_of(p->to - 1) + (uintptr_t)sysconf(_SC_PAGESIZE);

	(void)size;
	for (unsigned i = 0; i < module->dlpi_phnum; i++) {
		const ElfW(Phdr) *s = &module->dlpi_phdr[i];
		uintptr_t from = module->dlpi_addr + s->p_vaddr, to = from + s->p_memsz;

		if (s->p_type == PT_LOAD && p->from >= from && p->to <= to) {
			p->is_there = true;
			if (!(s->p_flags & PF_W) && p->closed == p->closed_end) {
				p->flags = (int)s->p_flags;
				p->closed = page_of(p->from);
				p->closed_end = end;
			}
		} else if (s->p_type == PT_GNU_RELRO && p->from < page_of(to) &&
			   p->to > page_of(from)) {
			/* The loader closes whole pages only: what is behind the last of them stays open. */
			p->flags = PF_R;
			p->closed = AIF_MAX(page_of(p->from), page_of(from));
			p->closed_end = AIF_MIN(end, page_of(to));
		}
	}
	return p->is_there;
}

static int protect(const struct place *p, int prot)
{
	return mprotect((void *)p->closed, p->closed_end - p->closed, prot) ? -errno : 0;
}

static unsigned entries[DRIVERS]; /* length of each driver's dispatch table */

/* Keeps what is in a driver's table, of which `n` functions are there. */
static void driver_add(struct aif_cl_dispatch *table, unsigned n)
{
	struct aif_cl_late_driver *d = aif_cl_late_drivers;

	for (; d->table; d++)
		if (d->table == table)
			return;
	if (d == aif_cl_late_drivers + DRIVERS)
		return;
	memcpy(&d->was, table, n * sizeof(void *));
	entries[d - aif_cl_late_drivers] = n;
	atomic_store_explicit((_Atomic(void *) *)&d->table, table, memory_order_release);
}

/* Returns true if the table has what is called of it without another look. */
static bool is_whole(const struct aif_cl_dispatch *table, unsigned n)
{
	static const size_t needed[] = {
		offsetof(struct aif_cl_dispatch, clCreateCommandQueue),
		offsetof(struct aif_cl_dispatch, clGetEventInfo),
		offsetof(struct aif_cl_dispatch, clEnqueueMarker),
		offsetof(struct aif_cl_dispatch, clSetEventCallback),
		offsetof(struct aif_cl_dispatch, clSetMemObjectDestructorCallback),
		offsetof(struct aif_cl_dispatch, clGetDeviceAndHostTimer),
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(needed); i++)
		if (needed[i] / sizeof(void *) < n &&
		    !((void *const *)table)[needed[i] / sizeof(void *)])
			return false;
	return true;
}

static bool lies_in_library(const struct aif_cl_dispatch *table, unsigned n)
{
	struct place p = {.from = (uintptr_t)table, .to = (uintptr_t)((void *const *)table + n)};

	return dl_iterate_phdr(place_in, &p) != 0;
}

/* Asks the library for its platforms, as the loader has. Keeps it loaded if it has any. */
static void library_add(const char *path)
{
	void *lib = dlopen(path, RTLD_LAZY | RTLD_NOLOAD), *platforms[DRIVERS] = {NULL};
	get_function_fn *function;
	get_platforms_fn *get;
	uint32_t n = 0;
	bool keeps = false;

	if (!lib)
		return;
	get = (get_platforms_fn *)dlsym(lib, "clIcdGetPlatformIDsKHR");
	function = (get_function_fn *)dlsym(lib, "clGetExtensionFunctionAddress");
	if (!get && function)
		get = (get_platforms_fn *)function("clIcdGetPlatformIDsKHR");
	if (!get || get(DRIVERS, platforms, &n) < 0)
		n = 0;
	for (uint32_t i = 0; i < AIF_MIN(n, DRIVERS); i++) {
		struct aif_cl_dispatch *table = platforms[i] ? *(void **)platforms[i] : NULL;
		char version[256] = "";
		unsigned functions;

		/* The first two are in every table. */
		if (!table || (uintptr_t)table % sizeof(void *) || !lies_in_library(table, 2) ||
		    !table->clGetPlatformInfo ||
		    table->clGetPlatformInfo(platforms[i], AIF_CL_PLATFORM_VERSION,
					     sizeof(version) - 1, version, NULL) < 0)
			continue;
		functions = entries_of(version);
		if (!functions || !lies_in_library(table, functions) || !is_whole(table, functions))
			continue;
		driver_add(table, functions);
		keeps = true;
	}
	if (!keeps)
		dlclose(lib);
}

/* Puts the layer's functions into a driver's table of `n`, in place of those that it has. */
static void table_change(const struct aif_cl_late_driver *d, unsigned n, void *const *layer,
			 void *const *target)
{
	_Atomic(void *) *table = (_Atomic(void *) *)d->table;
	void *const *was = (void *const *)&d->was;
	struct place p = {.from = (uintptr_t)table, .to = (uintptr_t)(table + n)};
	bool is_closed;

	if (!dl_iterate_phdr(place_in, &p))
		return;
	is_closed = p.closed < p.closed_end;
	if (is_closed && protect(&p, PROT_READ | PROT_WRITE) < 0)
		return;
	for (unsigned i = 0; i < n; i++)
		if (was[i] && layer[i] != target[i])
			atomic_store_explicit(&table[i], layer[i], memory_order_release);
	if (is_closed)
		(void)protect(&p, PROT_READ | (p.flags & PF_X ? PROT_EXEC : 0));
}

/* Drivers' threads are known already, and who makes contexts has no object yet. */
static void leave_alone(struct aif_cl_dispatch *layer, const struct aif_cl_dispatch *target)
{
	layer->clGetDeviceIDs = target->clGetDeviceIDs;
	layer->clCreateContext = target->clCreateContext;
	layer->clCreateContextFromType = target->clCreateContextFromType;
}

/* Keeps the tables of drivers that were loaded since the last look. The loader is asked by nobody here: a program that has not
 * used it would get its drivers by that. Returns a place in the loader's code; 0: nothing was loaded, or no driver is there. */
static uint64_t drivers_find(void)
{
	static struct libraries libraries;
	unsigned long long seen = libraries.adds;

	libraries.len = 0;
	libraries.loader = 0;
	dl_iterate_phdr(look_at, &libraries);
	if ((libraries.adds && libraries.adds == seen) || !libraries.loader)
		return 0;
	for (unsigned i = 0; i < libraries.len; i++)
		library_add(libraries.path[i]);
	return aif_cl_late_drivers[0].table ? libraries.loader : 0;
}

static unsigned changed; /* so many drivers' tables have been; helper thread */

static void tables_change(void)
{
	for (; changed < DRIVERS && aif_cl_late_drivers[changed].table; changed++)
		table_change(&aif_cl_late_drivers[changed], entries[changed],
			     (void *const *)&CL->layer, (void *const *)&CL->target);
}

void aif_cl_start_late(void)
{
	struct aif_runtime_slot *slot = &aif_agent.runtime[AIF_RUNTIME_ID(opencl)];
	uint32_t session = aif_agent.session.generation + 1;
	struct aif_cl_dispatch target;
	static uint64_t loader;
	uint64_t found;

	if (slot->refused_late == session)
		return;
	found = drivers_find();
	loader = found ? found : loader;
	if (!loader)
		return;
	for (size_t i = 0; i < AIF_CL_ENTRIES; i++)
		((const void **)&target)[i] = aif_cl_late_targets + i * TARGET_BYTES;
	if (aif_cl_layer_init(AIF_CL_ENTRIES, &target, loader) < 0) {
		slot->refused_late = session;
		return;
	}
	leave_alone(&CL->layer, &CL->target);
	CL->is_late = true;
	tables_change();
}

void aif_cl_tick_late(void)
{
	if (changed && drivers_find())
		tables_change();
}

#else

void aif_cl_start_late(void)
{
}

void aif_cl_tick_late(void)
{
}

#endif
