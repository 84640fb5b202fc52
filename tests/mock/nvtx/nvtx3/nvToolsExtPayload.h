/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Stand-in for NVTX's extension for payloads: see nvToolsExt.h beside this. */

#include <nvtx3/nvToolsExt.h>

#define NVTX_PAYLOAD_TYPE_EXT                                 ((int32_t)0xDFBD0009)
#define NVTX_PAYLOAD_ENTRY_TYPE_INT                           5
#define NVTX_PAYLOAD_ENTRY_TYPE_UINT64                        18
#define NVTX_PAYLOAD_ENTRY_TYPE_SIZE                          22
#define NVTX_PAYLOAD_ENTRY_TYPE_CSTRING                       75
#define NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE 80
#define NVTX_PAYLOAD_SCHEMA_TYPE_STATIC                       1
#define NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE                   (1 << 2)
#define NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES                (1 << 4)
#define NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES            (1 << 5)
#define NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE            (1 << 6)
#define NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID              (1 << 8)
#define NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES                  (1 << 2)
#define NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES              (1 << 3)
#define NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE                     (1 << 4)
#define NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID                (1 << 5)

typedef struct {
	uint64_t schemaId;
	size_t size;
	const void *payload;
} nvtxPayloadData_t;

typedef struct {
	uint64_t flags, type;
	const char *name, *description;
	uint64_t arrayOrUnionDetail, offset;
	const void *semantics, *reserved;
} nvtxPayloadSchemaEntry_t;

typedef struct {
	uint64_t fieldMask;
	const char *name;
	uint64_t type, flags;
	const nvtxPayloadSchemaEntry_t *entries;
	size_t numEntries, payloadStaticSize, packAlign;
	uint64_t schemaId;
	void *extension;
} nvtxPayloadSchemaAttr_t;

typedef struct {
	const char *name;
	uint64_t value;
	int8_t isFlag;
} nvtxPayloadEnum_t;

typedef struct {
	uint64_t fieldMask;
	const char *name;
	const nvtxPayloadEnum_t *entries;
	size_t numEntries, sizeOfEnum;
	uint64_t schemaId;
	void *extension;
} nvtxPayloadEnumAttr_t;

struct nvtx_segment {
	size_t id, slots;
	intptr_t *functions;
};
struct nvtx_extension {
	uint16_t version, size, module, compat;
	size_t segments_len;
	struct nvtx_segment *segments;
	void *get_export;
	const void *info;
};

static pthread_once_t nvtx_payload_once = PTHREAD_ONCE_INIT;
static intptr_t nvtx_payload_functions[NVTX_TABLE + 2];

static void nvtx_payload_load(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *tool = path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*begin)(struct nvtx_extension *) =
		tool ? (int (*)(struct nvtx_extension *))dlsym(tool,
							       "InitializeInjectionNvtxExtension")
		     : NULL;
	struct nvtx_segment s = {0, NVTX_TABLE + 2, nvtx_payload_functions};
	struct nvtx_extension e = {3, sizeof(e), 2, 0x0104, 1, &s, NULL, NULL};

	if (begin)
		begin(&e);
}

#define NVTX_PAYLOAD_CALL(number, type, ...)                                \
	do {                                                                \
		pthread_once(&nvtx_payload_once, nvtx_payload_load);        \
		if (!nvtx_payload_functions[number])                        \
			return 0;                                           \
		return ((type)nvtx_payload_functions[number])(__VA_ARGS__); \
	} while (0)

NVTX_FUNCTION uint64_t nvtxPayloadSchemaRegister(nvtxDomainHandle_t d,
						 const nvtxPayloadSchemaAttr_t *a)
{
	NVTX_PAYLOAD_CALL(0, uint64_t(*)(nvtxDomainHandle_t, const nvtxPayloadSchemaAttr_t *), d,
			  a);
}
NVTX_FUNCTION uint64_t nvtxPayloadEnumRegister(nvtxDomainHandle_t d, const nvtxPayloadEnumAttr_t *a)
{
	NVTX_PAYLOAD_CALL(1, uint64_t(*)(nvtxDomainHandle_t, const nvtxPayloadEnumAttr_t *), d, a);
}
NVTX_FUNCTION int nvtxRangePopPayload(nvtxDomainHandle_t d, const nvtxPayloadData_t *p, size_t n)
{
	NVTX_PAYLOAD_CALL(4, int (*)(nvtxDomainHandle_t, const nvtxPayloadData_t *, size_t), d, p,
			  n);
}
