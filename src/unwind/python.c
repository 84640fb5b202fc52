/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_DEFAULT */
#endif
#include "unwind/python_internal.h"

#include "unwind/module_function.h"
#include "unwind/oldglibc.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <string.h>

/*
 * Whether Python frames can be had, and how: finds the interpreter, its version and layout. Before any of it is
 * believed, python_walk.c checks it.
 *
 *	ABSENT --detect--> CHECKING --first stack--> ON --stop--> STOPPED --detect--> CHECKING
 *	                      \__________\___ reason __> OFF
 */

/* User addresses; the zero page is nobody's. (More bits than these are given out on request only.) */
#define MEMORY_LO UINT64_C(4096)
#define MEMORY_HI (UINT64_C(1) << AIF_ARCH_ADDRESS_BITS)

static int is_libpython(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *base = strrchr(info->dlpi_name, '/');
	char *path = arg;

	(void)size;
	if (!base || strncmp(base, "/libpython3.", 12) != 0 || base[12] == 's' ||
	    strlen(info->dlpi_name) >= PATH_MAX)
		return 0;
	strcpy(path, info->dlpi_name);
	return 1;
}

/* Finds where the interpreter's symbols are: in the program or a library that all see, or in a
 * library that was loaded for one user only (an embedder's plug-in). Such a library's handle is
 * kept, so that it is not unloaded while we hold its addresses. */
static bool find_library(void **ret)
{
	char path[PATH_MAX];

	*ret = RTLD_DEFAULT;
	if (aif_is_function_anywhere("PyGILState_GetThisThreadState") &&
	    dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState"))
		return true;
	if (!dl_iterate_phdr(is_libpython, path))
		return false;
	*ret = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	return *ret != NULL;
}

/* 3.N, from "3.N.M (...) [...]". */
static bool parse_version(const char *text, unsigned *ret_minor)
{
	unsigned minor = 0;

	if (strncmp(text, "3.", 2) != 0 || text[2] < '0' || text[2] > '9')
		return false;
	for (const char *p = text + 2; *p >= '0' && *p <= '9' && minor < 1000; p++)
		minor = minor * 10 + (unsigned)(*p - '0');
	*ret_minor = minor;
	return true;
}

static uint64_t symbol_size(void *address)
{
	/* glibc's; a C library without it must still load what this is part of. */
	int (*find)(const void *, Dl_info *, void **, int) =
		(int (*)(const void *, Dl_info *, void **, int))dlsym(RTLD_DEFAULT, "dladdr1");
	const ElfW(Sym) *sym = NULL;
	Dl_info info;

	if (!find || !find(address, &info, (void **)&sym, RTLD_DL_SYMENT) || !sym)
		return 0;
	return sym->st_size;
}

static enum aif_reason find_layout(void *library, const char *version,
				   struct aif_python_layout *ret)
{
	unsigned minor;
	void *runtime;
	int rc;

	/* "3.13.0 experimental free-threading build (...", later without "experimental" */
	if (strstr(version, "free-threading"))
		return AIF_REASON_PYTHON_FREE_THREADED;
	if (!parse_version(version, &minor))
		return AIF_REASON_PYTHON_VERSION;
	if (aif_python_layout_known(minor, ret))
		return 0;
	/* Asks for no symbol that is not there: dlsym() allocates a message. */
	if (minor < 7)
		return AIF_REASON_PYTHON_VERSION;
	runtime = dlsym(library, "_PyRuntime");
	if (!runtime)
		return AIF_REASON_PYTHON_VERSION;
	rc = aif_python_layout_described(minor, runtime, symbol_size(runtime), ret);
	return rc == 0          ? 0
	       : rc == -ENOTSUP ? AIF_REASON_PYTHON_FREE_THREADED
	       : rc == -ENOSYS  ? AIF_REASON_PYTHON_VERSION
				: AIF_REASON_PYTHON_LAYOUT;
}

/* 0, or why not. */
static enum aif_reason find_interpreter(struct aif_python *py, void *library)
{
	const char *(*version)(void) = dlsym(library, "Py_GetVersion");
	void *eval = dlsym(library, "_PyEval_EvalFrameDefault");
	enum aif_reason reason;

	if (!version)
		return AIF_REASON_PYTHON_VERSION;
	reason = find_layout(library, version(), &py->layout);
	if (reason)
		return reason;
	py->thread_state = dlsym(library, "PyGILState_GetThisThreadState");
	py->finalizing =
		dlsym(library, aif_is_function_anywhere("Py_IsFinalizing") ? "Py_IsFinalizing"
									   : "_Py_IsFinalizing");
	if (!py->finalizing) /* that was another module's */
		py->finalizing = dlsym(library, "_Py_IsFinalizing");
	py->interpreter_main = dlsym(library, "PyInterpreterState_Main");
	py->interpreter_head = dlsym(library, "PyInterpreterState_Head");
	py->type_code = (uint64_t)(uintptr_t)dlsym(library, "PyCode_Type");
	py->type_str = (uint64_t)(uintptr_t)dlsym(library, "PyUnicode_Type");
	py->type_bytes = (uint64_t)(uintptr_t)dlsym(library, "PyBytes_Type");
	if (!py->thread_state || !py->finalizing || !py->interpreter_main ||
	    !py->interpreter_head || !py->type_code || !py->type_str || !py->type_bytes)
		return AIF_REASON_PYTHON_LAYOUT;
	if (eval) {
		py->eval_lo = (uint64_t)(uintptr_t)eval;
		py->eval_hi = py->eval_lo + symbol_size(eval);
	}
	py->memory_lo = MEMORY_LO;
	py->memory_hi = MEMORY_HI;
	return 0;
}

void aif_python_detect(struct aif_python *py)
{
	enum aif_python_state state = aif_python_state(py);
	enum aif_reason reason;
	void *library;

	if (state == AIF_PYTHON_ABSENT) {
		if (!find_library(&library)) {
			dlerror(); /* of ours the program shall not hear */
			return;
		}
		reason = find_interpreter(py, library);
		dlerror();
		if (reason) {
			aif_python_turn_off(py, AIF_PYTHON_ABSENT, reason);
			return;
		}
	} else if (state != AIF_PYTHON_STOPPED) {
		return;
	}
	if (aif_python_death_start(py))
		aif_python_turn_off(py, state, AIF_REASON_PYTHON_LAYOUT);
	else
		atomic_store_explicit(&py->state, AIF_PYTHON_CHECKING, memory_order_release);
}

void aif_python_stop(struct aif_python *py)
{
	enum aif_python_state state = aif_python_state(py);

	if (state != AIF_PYTHON_CHECKING && state != AIF_PYTHON_ON)
		return;
	atomic_store(&py->state, AIF_PYTHON_STOPPED);
	aif_python_death_stop(py);
}
