/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stand-in for NVTX 3's headers, which Debian does not package: the functions that tests call, under their own names, with
 * the same way to a tool. Each library or program that includes this has tables of its own; its first call loads the
 * library that NVTX_INJECTION64_PATH names, once, and whatever that leaves in the tables is called from then on. Tests
 * that are built with this are built with the real headers, too, where those are installed.
 */

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <wchar.h>

typedef struct nvtx_domain *nvtxDomainHandle_t;
typedef struct nvtx_string *nvtxStringHandle_t;
typedef uint64_t nvtxRangeId_t;

enum {
	NVTX_MESSAGE_TYPE_ASCII = 1,
	NVTX_MESSAGE_TYPE_UNICODE = 2,
	NVTX_MESSAGE_TYPE_REGISTERED = 3
};
enum { NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1, NVTX_PAYLOAD_TYPE_INT32 = 5 };

typedef union {
	const char *ascii;
	const wchar_t *unicode;
	nvtxStringHandle_t registered;
} nvtxMessageValue_t;

typedef struct {
	uint16_t version, size;
	uint32_t category;
	int32_t colorType;
	uint32_t color;
	int32_t payloadType, reserved0;
	union {
		uint64_t ullValue;
		int64_t llValue;
		double dValue;
		uint32_t uiValue;
		int32_t iValue;
		float fValue;
	} payload;
	int32_t messageType;
	nvtxMessageValue_t message;
} nvtxEventAttributes_t;
#define NVTX_VERSION                  3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))

typedef void (*nvtx_function)(void);
struct nvtx_callbacks {
	size_t size;
	int (*table)(uint32_t module, nvtx_function ***ret_table, unsigned *ret_n);
};
typedef const void *(*nvtx_get_export)(uint32_t id);

#define NVTX_TABLE 16
static struct {
	pthread_once_t once;
	nvtx_function core[NVTX_TABLE], core2[NVTX_TABLE];
	nvtx_function *core_at[NVTX_TABLE], *core2_at[NVTX_TABLE];
} nvtx_globals = {.once = PTHREAD_ONCE_INIT};

static int nvtx_module_table(uint32_t module, nvtx_function ***ret_table, unsigned *ret_n)
{
	if (module != 1 && module != 5)
		return 0;
	*ret_table = module == 1 ? nvtx_globals.core_at : nvtx_globals.core2_at;
	*ret_n = NVTX_TABLE;
	return 1;
}

static const void *nvtx_export(uint32_t id)
{
	static const struct nvtx_callbacks callbacks = {sizeof(callbacks), nvtx_module_table};

	return id == 1 ? &callbacks : NULL;
}

static void nvtx_load(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *tool = path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*begin)(nvtx_get_export) =
		tool ? (int (*)(nvtx_get_export))dlsym(tool, "InitializeInjectionNvtx2") : NULL;

	for (int i = 1; i < NVTX_TABLE; i++) {
		nvtx_globals.core_at[i] = &nvtx_globals.core[i];
		nvtx_globals.core2_at[i] = &nvtx_globals.core2[i];
	}
	if (begin)
		begin(nvtx_export);
}

#define NVTX_CALL(table, number, none, type, ...)                                   \
	do {                                                                        \
		nvtx_function f;                                                    \
		pthread_once(&nvtx_globals.once, nvtx_load);                        \
		f = __atomic_load_n(&nvtx_globals.table[number], __ATOMIC_ACQUIRE); \
		if (!f)                                                             \
			return none;                                                \
		return ((type)f)(__VA_ARGS__);                                      \
	} while (0)
#define NVTX_FUNCTION __attribute__((unused)) static inline
#define NVTX_NOTHING

NVTX_FUNCTION int nvtxRangePushA(const char *m)
{
	NVTX_CALL(core, 9, -2, int (*)(const char *), m);
}
NVTX_FUNCTION int nvtxRangePushW(const wchar_t *m)
{
	NVTX_CALL(core, 10, -2, int (*)(const wchar_t *), m);
}
NVTX_FUNCTION int nvtxRangePushEx(const nvtxEventAttributes_t *a)
{
	NVTX_CALL(core, 8, -2, int (*)(const nvtxEventAttributes_t *), a);
}
NVTX_FUNCTION int nvtxRangePop(void)
{
	nvtx_function f;

	pthread_once(&nvtx_globals.once, nvtx_load);
	f = nvtx_globals.core[11];
	return f ? ((int (*)(void))f)() : -2;
}
NVTX_FUNCTION void nvtxMarkA(const char *m)
{
	NVTX_CALL(core, 2, NVTX_NOTHING, void (*)(const char *), m);
}
NVTX_FUNCTION nvtxRangeId_t nvtxRangeStartA(const char *m)
{
	NVTX_CALL(core, 5, 0, nvtxRangeId_t(*)(const char *), m);
}
NVTX_FUNCTION void nvtxRangeEnd(nvtxRangeId_t id)
{
	NVTX_CALL(core, 7, NVTX_NOTHING, void (*)(nvtxRangeId_t), id);
}
NVTX_FUNCTION nvtxDomainHandle_t nvtxDomainCreateA(const char *m)
{
	NVTX_CALL(core2, 12, NULL, nvtxDomainHandle_t(*)(const char *), m);
}
NVTX_FUNCTION nvtxStringHandle_t nvtxDomainRegisterStringA(nvtxDomainHandle_t d, const char *m)
{
	NVTX_CALL(core2, 10, NULL, nvtxStringHandle_t(*)(nvtxDomainHandle_t, const char *), d, m);
}
NVTX_FUNCTION void nvtxDomainNameCategoryA(nvtxDomainHandle_t d, uint32_t id, const char *m)
{
	NVTX_CALL(core2, 8, NVTX_NOTHING, void (*)(nvtxDomainHandle_t, uint32_t, const char *), d,
		  id, m);
}
NVTX_FUNCTION int nvtxDomainRangePushEx(nvtxDomainHandle_t d, const nvtxEventAttributes_t *a)
{
	NVTX_CALL(core2, 4, -2, int (*)(nvtxDomainHandle_t, const nvtxEventAttributes_t *), d, a);
}
NVTX_FUNCTION int nvtxDomainRangePop(nvtxDomainHandle_t d)
{
	NVTX_CALL(core2, 5, -2, int (*)(nvtxDomainHandle_t), d);
}
NVTX_FUNCTION nvtxRangeId_t nvtxDomainRangeStartEx(nvtxDomainHandle_t d,
						   const nvtxEventAttributes_t *a)
{
	NVTX_CALL(core2, 2, 0, nvtxRangeId_t(*)(nvtxDomainHandle_t, const nvtxEventAttributes_t *),
		  d, a);
}
NVTX_FUNCTION void nvtxDomainRangeEnd(nvtxDomainHandle_t d, nvtxRangeId_t id)
{
	NVTX_CALL(core2, 3, NVTX_NOTHING, void (*)(nvtxDomainHandle_t, nvtxRangeId_t), d, id);
}
NVTX_FUNCTION void nvtxDomainMarkEx(nvtxDomainHandle_t d, const nvtxEventAttributes_t *a)
{
	NVTX_CALL(core2, 1, NVTX_NOTHING,
		  void (*)(nvtxDomainHandle_t, const nvtxEventAttributes_t *), d, a);
}
