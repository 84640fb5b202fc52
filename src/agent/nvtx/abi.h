/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * The part of NVTX 3's binary interface that a tool needs, in our own words, so that aiflame builds without NVTX's
 * headers (those for tools do not compile in 3.2.0 and 3.2.1). Layouts and numbers are those of nvtx3/nvToolsExt.h,
 * nvToolsExtPayload.h, nvtxDetail/nvtxTypes.h and nvtxExtTypes.h of CUDA 13.0; test_nvtx_abi compares them where the
 * headers are installed.
 */

enum aif_nvtx_module { AIF_NVTX_MODULE_CORE = 1, AIF_NVTX_MODULE_CORE2 = 5 };

enum aif_nvtx_core {
	AIF_NVTX_CORE_MARK_EX = 1,
	AIF_NVTX_CORE_MARK_A = 2,
	AIF_NVTX_CORE_MARK_W = 3,
	AIF_NVTX_CORE_START_EX = 4,
	AIF_NVTX_CORE_START_A = 5,
	AIF_NVTX_CORE_START_W = 6,
	AIF_NVTX_CORE_END = 7,
	AIF_NVTX_CORE_PUSH_EX = 8,
	AIF_NVTX_CORE_PUSH_A = 9,
	AIF_NVTX_CORE_PUSH_W = 10,
	AIF_NVTX_CORE_POP = 11,
	AIF_NVTX_CORE_NAME_CATEGORY_A = 12,
	AIF_NVTX_CORE_NAME_CATEGORY_W = 13,
};

enum aif_nvtx_core2 {
	AIF_NVTX_CORE2_MARK_EX = 1,
	AIF_NVTX_CORE2_START_EX = 2,
	AIF_NVTX_CORE2_END = 3,
	AIF_NVTX_CORE2_PUSH_EX = 4,
	AIF_NVTX_CORE2_POP = 5,
	AIF_NVTX_CORE2_NAME_CATEGORY_A = 8,
	AIF_NVTX_CORE2_NAME_CATEGORY_W = 9,
	AIF_NVTX_CORE2_REGISTER_STRING_A = 10,
	AIF_NVTX_CORE2_REGISTER_STRING_W = 11,
	AIF_NVTX_CORE2_DOMAIN_CREATE_A = 12,
	AIF_NVTX_CORE2_DOMAIN_CREATE_W = 13,
};

/* Argument of InitializeInjectionNvtx2(), from the loader in each library. */
typedef const void *aif_nvtx_get_export_table(uint32_t id);
#define AIF_NVTX_EXPORT_CALLBACKS 1
struct aif_nvtx_callbacks {
	size_t size;
	/* *table[callback's number] = function; `n` entries, the first of which is not used. */
	int (*module_table)(uint32_t module, void ****ret_table, uint32_t *ret_n);
};

enum aif_nvtx_message {
	AIF_NVTX_MESSAGE_ASCII = 1,
	AIF_NVTX_MESSAGE_UNICODE = 2,
	AIF_NVTX_MESSAGE_REGISTERED = 3,
};

enum aif_nvtx_payload_type {
	AIF_NVTX_PAYLOAD_U64 = 1,
	AIF_NVTX_PAYLOAD_I64 = 2,
	AIF_NVTX_PAYLOAD_DOUBLE = 3,
	AIF_NVTX_PAYLOAD_U32 = 4,
	AIF_NVTX_PAYLOAD_I32 = 5,
	AIF_NVTX_PAYLOAD_FLOAT = 6,
};
#define AIF_NVTX_PAYLOAD_EXTENDED UINT32_C(0xDFBD0009)

/* nvtxEventAttributes_v2. A program's may be shorter or longer: `size` says. */
struct aif_nvtx_attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	uint32_t payload_type; /* enum aif_nvtx_payload_type, or EXTENDED */
	int32_t payloads;      /* of EXTENDED: number of struct aif_nvtx_data */
	union {
		uint64_t u64;
		int64_t i64;
		double f64;
		uint32_t u32;
		int32_t i32;
		float f32;
		const struct aif_nvtx_data *data;
	} payload;
	int32_t message_type; /* enum aif_nvtx_message */
	uint32_t padding;
	const void *message;
};
static_assert(sizeof(struct aif_nvtx_attributes) == 48, "nvtxEventAttributes_v2");

/* nvtxPayloadData_t */
struct aif_nvtx_data {
	uint64_t schema;
	uint64_t size; /* SIZE_MAX: as the schema has it */
	const void *data;
};

/* nvtxPayloadSchemaEntry_t */
struct aif_nvtx_schema_entry {
	uint64_t flags, type;
	const char *name, *description;
	uint64_t detail, offset;
	const void *semantics, *reserved;
};

/* nvtxPayloadSchemaAttr_t */
struct aif_nvtx_schema_attributes {
	uint64_t fields; /* mask of those that are valid */
	const char *name;
	uint64_t type, flags;
	const struct aif_nvtx_schema_entry *entries;
	uint64_t entries_len, size, pack, id;
	void *extension;
};
enum aif_nvtx_schema_field {
	AIF_NVTX_SCHEMA_TYPE = 1 << 2,
	AIF_NVTX_SCHEMA_ENTRIES = 1 << 4,
	AIF_NVTX_SCHEMA_ENTRIES_LEN = 1 << 5,
	AIF_NVTX_SCHEMA_SIZE = 1 << 6,
	AIF_NVTX_SCHEMA_PACK = 1 << 7,
	AIF_NVTX_SCHEMA_ID = 1 << 8,
};
#define AIF_NVTX_SCHEMA_STATIC 1 /* a schema's type: a structure of constant layout */
#define AIF_NVTX_FIRST_STATIC  (UINT64_C(1) << 24)
#define AIF_NVTX_FIRST_DYNAMIC (UINT64_C(1) << 32)

/* nvtxPayloadEnum_t, nvtxPayloadEnumAttr_t */
struct aif_nvtx_enum_entry {
	const char *name;
	uint64_t value;
	int8_t is_flag;
};
struct aif_nvtx_enum_attributes {
	uint64_t fields;
	const char *name;
	const struct aif_nvtx_enum_entry *entries;
	uint64_t entries_len, size, id;
	void *extension;
};
enum aif_nvtx_enum_field {
	AIF_NVTX_ENUM_ENTRIES = 1 << 2,
	AIF_NVTX_ENUM_ENTRIES_LEN = 1 << 3,
	AIF_NVTX_ENUM_SIZE = 1 << 4,
	AIF_NVTX_ENUM_ID = 1 << 5,
};

enum aif_nvtx_entry_flag {
	AIF_NVTX_ENTRY_POINTER = 1 << 1,
	AIF_NVTX_ENTRY_FROM_BASE = 1 << 2,
	AIF_NVTX_ENTRY_FROM_HERE = 1 << 3,
	AIF_NVTX_ENTRY_ARRAY = 7 << 4, /* of any kind */
	AIF_NVTX_ENTRY_ARRAY_FIXED = 1 << 4,
	AIF_NVTX_ENTRY_HIDE = 1 << 9,
};

/* nvtxExtModuleInfo_t, for InitializeInjectionNvtxExtension(): function_slots[number] = function. */
struct aif_nvtx_segment {
	uint64_t id, slots;
	intptr_t *function_slots;
};
struct aif_nvtx_extension {
	uint16_t nvtx_version, size, module, compat;
	uint64_t segments_len;
	struct aif_nvtx_segment *segments;
	void *get_export;
	const void *info;
};
static_assert(sizeof(struct aif_nvtx_extension) == 40, "nvtxExtModuleInfo_t");
#define AIF_NVTX_EXTENSION_PAYLOAD 2
enum aif_nvtx_payload_slot {
	AIF_NVTX_SLOT_SCHEMA_REGISTER = 0,
	AIF_NVTX_SLOT_ENUM_REGISTER = 1,
	AIF_NVTX_SLOT_MARK = 2,
	AIF_NVTX_SLOT_PUSH = 3,
	AIF_NVTX_SLOT_POP = 4,
	AIF_NVTX_SLOT_START = 5,
	AIF_NVTX_SLOT_END = 6,
	AIF_NVTX_SLOT_IS_ENABLED = 7,
};
