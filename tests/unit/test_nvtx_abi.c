/* SPDX-License-Identifier: Apache-2.0 */
/* Compares what nvtx/abi.h declares with NVTX's own headers. */
#include "agent/nvtx/abi.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define SAME(ours, our_field, theirs, their_field)                                         \
	static_assert(offsetof(struct ours, our_field) == offsetof(theirs, their_field) && \
			      sizeof(((struct ours *)0)->our_field) ==                     \
				      sizeof(((theirs *)0)->their_field),                  \
		      #theirs "." #their_field)
#define NUMBER(ours, theirs) static_assert((uint64_t)(ours) == (uint64_t)(theirs), #theirs)

SAME(aif_nvtx_attributes, size, nvtxEventAttributes_t, size);
SAME(aif_nvtx_attributes, category, nvtxEventAttributes_t, category);
SAME(aif_nvtx_attributes, payload_type, nvtxEventAttributes_t, payloadType);
SAME(aif_nvtx_attributes, payloads, nvtxEventAttributes_t, reserved0);
SAME(aif_nvtx_attributes, payload, nvtxEventAttributes_t, payload);
SAME(aif_nvtx_attributes, message_type, nvtxEventAttributes_t, messageType);
SAME(aif_nvtx_attributes, message, nvtxEventAttributes_t, message);
static_assert(sizeof(struct aif_nvtx_attributes) == sizeof(nvtxEventAttributes_t), "size");

SAME(aif_nvtx_data, schema, nvtxPayloadData_t, schemaId);
SAME(aif_nvtx_data, size, nvtxPayloadData_t, size);
SAME(aif_nvtx_data, data, nvtxPayloadData_t, payload);
static_assert(sizeof(struct aif_nvtx_data) == sizeof(nvtxPayloadData_t), "size");

SAME(aif_nvtx_schema_entry, flags, nvtxPayloadSchemaEntry_t, flags);
SAME(aif_nvtx_schema_entry, type, nvtxPayloadSchemaEntry_t, type);
SAME(aif_nvtx_schema_entry, name, nvtxPayloadSchemaEntry_t, name);
SAME(aif_nvtx_schema_entry, detail, nvtxPayloadSchemaEntry_t, arrayOrUnionDetail);
SAME(aif_nvtx_schema_entry, offset, nvtxPayloadSchemaEntry_t, offset);
static_assert(sizeof(struct aif_nvtx_schema_entry) == sizeof(nvtxPayloadSchemaEntry_t), "size");

SAME(aif_nvtx_schema_attributes, fields, nvtxPayloadSchemaAttr_t, fieldMask);
SAME(aif_nvtx_schema_attributes, type, nvtxPayloadSchemaAttr_t, type);
SAME(aif_nvtx_schema_attributes, entries, nvtxPayloadSchemaAttr_t, entries);
SAME(aif_nvtx_schema_attributes, entries_len, nvtxPayloadSchemaAttr_t, numEntries);
SAME(aif_nvtx_schema_attributes, size, nvtxPayloadSchemaAttr_t, payloadStaticSize);
SAME(aif_nvtx_schema_attributes, pack, nvtxPayloadSchemaAttr_t, packAlign);
SAME(aif_nvtx_schema_attributes, id, nvtxPayloadSchemaAttr_t, schemaId);
NUMBER(AIF_NVTX_SCHEMA_TYPE, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE);
NUMBER(AIF_NVTX_SCHEMA_ENTRIES, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES);
NUMBER(AIF_NVTX_SCHEMA_ENTRIES_LEN, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES);
NUMBER(AIF_NVTX_SCHEMA_SIZE, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE);
NUMBER(AIF_NVTX_SCHEMA_PACK, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT);
NUMBER(AIF_NVTX_SCHEMA_ID, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID);
NUMBER(AIF_NVTX_SCHEMA_STATIC, NVTX_PAYLOAD_SCHEMA_TYPE_STATIC);
NUMBER(AIF_NVTX_FIRST_STATIC, NVTX_PAYLOAD_SCHEMA_ID_STATIC_START);
NUMBER(AIF_NVTX_FIRST_DYNAMIC, NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START);

SAME(aif_nvtx_enum_entry, name, nvtxPayloadEnum_t, name);
SAME(aif_nvtx_enum_entry, value, nvtxPayloadEnum_t, value);
static_assert(sizeof(struct aif_nvtx_enum_entry) == sizeof(nvtxPayloadEnum_t), "size");
SAME(aif_nvtx_enum_attributes, fields, nvtxPayloadEnumAttr_t, fieldMask);
SAME(aif_nvtx_enum_attributes, entries, nvtxPayloadEnumAttr_t, entries);
SAME(aif_nvtx_enum_attributes, entries_len, nvtxPayloadEnumAttr_t, numEntries);
SAME(aif_nvtx_enum_attributes, size, nvtxPayloadEnumAttr_t, sizeOfEnum);
SAME(aif_nvtx_enum_attributes, id, nvtxPayloadEnumAttr_t, schemaId);
NUMBER(AIF_NVTX_ENUM_ENTRIES, NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES);
NUMBER(AIF_NVTX_ENUM_ENTRIES_LEN, NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES);
NUMBER(AIF_NVTX_ENUM_SIZE, NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE);
NUMBER(AIF_NVTX_ENUM_ID, NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID);

SAME(aif_nvtx_segment, slots, nvtxExtModuleSegment_t, slotCount);
SAME(aif_nvtx_segment, function_slots, nvtxExtModuleSegment_t, functionSlots);
SAME(aif_nvtx_extension, size, nvtxExtModuleInfo_t, structSize);
SAME(aif_nvtx_extension, module, nvtxExtModuleInfo_t, moduleId);
SAME(aif_nvtx_extension, segments_len, nvtxExtModuleInfo_t, segmentsCount);
SAME(aif_nvtx_extension, segments, nvtxExtModuleInfo_t, segments);
static_assert(sizeof(struct aif_nvtx_extension) == sizeof(nvtxExtModuleInfo_t), "size");
SAME(aif_nvtx_callbacks, module_table, NvtxExportTableCallbacks, GetModuleFunctionTable);

NUMBER(AIF_NVTX_ENTRY_POINTER, NVTX_PAYLOAD_ENTRY_FLAG_POINTER);
NUMBER(AIF_NVTX_ENTRY_FROM_BASE, NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE);
NUMBER(AIF_NVTX_ENTRY_FROM_HERE, NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE);
NUMBER(AIF_NVTX_ENTRY_ARRAY_FIXED, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE);
NUMBER(AIF_NVTX_ENTRY_HIDE, NVTX_PAYLOAD_ENTRY_FLAG_HIDE);
NUMBER(AIF_NVTX_MESSAGE_ASCII, NVTX_MESSAGE_TYPE_ASCII);
NUMBER(AIF_NVTX_MESSAGE_UNICODE, NVTX_MESSAGE_TYPE_UNICODE);
NUMBER(AIF_NVTX_MESSAGE_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
NUMBER(AIF_NVTX_PAYLOAD_U64, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
NUMBER(AIF_NVTX_PAYLOAD_I64, NVTX_PAYLOAD_TYPE_INT64);
NUMBER(AIF_NVTX_PAYLOAD_DOUBLE, NVTX_PAYLOAD_TYPE_DOUBLE);
NUMBER(AIF_NVTX_PAYLOAD_U32, NVTX_PAYLOAD_TYPE_UNSIGNED_INT32);
NUMBER(AIF_NVTX_PAYLOAD_I32, NVTX_PAYLOAD_TYPE_INT32);
NUMBER(AIF_NVTX_PAYLOAD_FLOAT, NVTX_PAYLOAD_TYPE_FLOAT);
NUMBER(AIF_NVTX_PAYLOAD_EXTENDED, (uint32_t)NVTX_PAYLOAD_TYPE_EXT);
NUMBER(AIF_NVTX_EXTENSION_PAYLOAD, NVTX_EXT_PAYLOAD_MODULEID);
NUMBER(AIF_NVTX_SLOT_SCHEMA_REGISTER, NVTX3EXT_CBID_nvtxPayloadSchemaRegister);
NUMBER(AIF_NVTX_SLOT_ENUM_REGISTER, NVTX3EXT_CBID_nvtxPayloadEnumRegister);
NUMBER(AIF_NVTX_SLOT_MARK, NVTX3EXT_CBID_nvtxMarkPayload);
NUMBER(AIF_NVTX_SLOT_PUSH, NVTX3EXT_CBID_nvtxRangePushPayload);
NUMBER(AIF_NVTX_SLOT_POP, NVTX3EXT_CBID_nvtxRangePopPayload);
NUMBER(AIF_NVTX_SLOT_START, NVTX3EXT_CBID_nvtxRangeStartPayload);
NUMBER(AIF_NVTX_SLOT_END, NVTX3EXT_CBID_nvtxRangeEndPayload);
NUMBER(AIF_NVTX_SLOT_IS_ENABLED, NVTX3EXT_CBID_nvtxDomainIsEnabled);

NUMBER(AIF_NVTX_MODULE_CORE, NVTX_CB_MODULE_CORE);
NUMBER(AIF_NVTX_MODULE_CORE2, NVTX_CB_MODULE_CORE2);
NUMBER(AIF_NVTX_EXPORT_CALLBACKS, NVTX_ETID_CALLBACKS);
NUMBER(AIF_NVTX_CORE_MARK_EX, NVTX_CBID_CORE_MarkEx);
NUMBER(AIF_NVTX_CORE_MARK_A, NVTX_CBID_CORE_MarkA);
NUMBER(AIF_NVTX_CORE_MARK_W, NVTX_CBID_CORE_MarkW);
NUMBER(AIF_NVTX_CORE_START_EX, NVTX_CBID_CORE_RangeStartEx);
NUMBER(AIF_NVTX_CORE_START_A, NVTX_CBID_CORE_RangeStartA);
NUMBER(AIF_NVTX_CORE_START_W, NVTX_CBID_CORE_RangeStartW);
NUMBER(AIF_NVTX_CORE_END, NVTX_CBID_CORE_RangeEnd);
NUMBER(AIF_NVTX_CORE_PUSH_EX, NVTX_CBID_CORE_RangePushEx);
NUMBER(AIF_NVTX_CORE_PUSH_A, NVTX_CBID_CORE_RangePushA);
NUMBER(AIF_NVTX_CORE_PUSH_W, NVTX_CBID_CORE_RangePushW);
NUMBER(AIF_NVTX_CORE_POP, NVTX_CBID_CORE_RangePop);
NUMBER(AIF_NVTX_CORE_NAME_CATEGORY_A, NVTX_CBID_CORE_NameCategoryA);
NUMBER(AIF_NVTX_CORE_NAME_CATEGORY_W, NVTX_CBID_CORE_NameCategoryW);
NUMBER(AIF_NVTX_CORE2_MARK_EX, NVTX_CBID_CORE2_DomainMarkEx);
NUMBER(AIF_NVTX_CORE2_START_EX, NVTX_CBID_CORE2_DomainRangeStartEx);
NUMBER(AIF_NVTX_CORE2_END, NVTX_CBID_CORE2_DomainRangeEnd);
NUMBER(AIF_NVTX_CORE2_PUSH_EX, NVTX_CBID_CORE2_DomainRangePushEx);
NUMBER(AIF_NVTX_CORE2_POP, NVTX_CBID_CORE2_DomainRangePop);
NUMBER(AIF_NVTX_CORE2_NAME_CATEGORY_A, NVTX_CBID_CORE2_DomainNameCategoryA);
NUMBER(AIF_NVTX_CORE2_NAME_CATEGORY_W, NVTX_CBID_CORE2_DomainNameCategoryW);
NUMBER(AIF_NVTX_CORE2_REGISTER_STRING_A, NVTX_CBID_CORE2_DomainRegisterStringA);
NUMBER(AIF_NVTX_CORE2_REGISTER_STRING_W, NVTX_CBID_CORE2_DomainRegisterStringW);
NUMBER(AIF_NVTX_CORE2_DOMAIN_CREATE_A, NVTX_CBID_CORE2_DomainCreateA);
NUMBER(AIF_NVTX_CORE2_DOMAIN_CREATE_W, NVTX_CBID_CORE2_DomainCreateW);

static void the_interface_is_as_declared(void **state)
{
	(void)state; /* compiling it is the test */
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(the_interface_is_as_declared)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
