/* SPDX-License-Identifier: Apache-2.0 */
#include <level_zero/layers/zel_tracing_api.h>
#include <level_zero/layers/zel_tracing_register_cb.h>
#include <level_zero/loader/ze_loader.h>
#include <level_zero/ze_api.h>
#include <level_zero/zet_api.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "agent/level_zero/ze_abi.h"

/* Our own declarations of Level Zero against its headers. */

static void structs_are_the_same(void **state)
{
	(void)state;
#define SIZE(ours, theirs)     assert_int_equal(sizeof(struct ours), sizeof(theirs))
#define AT(ours, a, theirs, b) assert_int_equal(offsetof(struct ours, a), offsetof(theirs, b))
	SIZE(aif_ze_tracer_desc, zel_tracer_desc_t);
	AT(aif_ze_tracer_desc, user, zel_tracer_desc_t, pUserData);
	SIZE(aif_ze_driver_properties, ze_driver_properties_t);
	AT(aif_ze_driver_properties, version, ze_driver_properties_t, driverVersion);
	SIZE(aif_ze_device_properties, ze_device_properties_t);
	AT(aif_ze_device_properties, type, ze_device_properties_t, type);
	AT(aif_ze_device_properties, vendor, ze_device_properties_t, vendorId);
	AT(aif_ze_device_properties, flags, ze_device_properties_t, flags);
	AT(aif_ze_device_properties, subdevice, ze_device_properties_t, subdeviceId);
	AT(aif_ze_device_properties, eus_per_subslice, ze_device_properties_t, numEUsPerSubslice);
	AT(aif_ze_device_properties, subslices_per_slice, ze_device_properties_t,
	   numSubslicesPerSlice);
	AT(aif_ze_device_properties, slices, ze_device_properties_t, numSlices);
	AT(aif_ze_device_properties, timer_resolution, ze_device_properties_t, timerResolution);
	AT(aif_ze_device_properties, timestamp_bits, ze_device_properties_t, timestampValidBits);
	AT(aif_ze_device_properties, kernel_timestamp_bits, ze_device_properties_t,
	   kernelTimestampValidBits);
	AT(aif_ze_device_properties, name, ze_device_properties_t, name);
	SIZE(aif_ze_group_count, ze_group_count_t);
	AT(aif_ze_group_count, z, ze_group_count_t, groupCountZ);
	SIZE(aif_ze_copy_region, ze_copy_region_t);
	AT(aif_ze_copy_region, width, ze_copy_region_t, width);
	AT(aif_ze_copy_region, depth, ze_copy_region_t, depth);
	SIZE(aif_ze_pool_desc, ze_event_pool_desc_t);
	AT(aif_ze_pool_desc, flags, ze_event_pool_desc_t, flags);
	AT(aif_ze_pool_desc, count, ze_event_pool_desc_t, count);
	SIZE(aif_ze_event_desc, ze_event_desc_t);
	AT(aif_ze_event_desc, index, ze_event_desc_t, index);
	AT(aif_ze_event_desc, signal, ze_event_desc_t, signal);
	SIZE(aif_ze_kernel_times, ze_kernel_timestamp_result_t);
	AT(aif_ze_kernel_times, start, ze_kernel_timestamp_result_t, global.kernelStart);
	AT(aif_ze_kernel_times, end, ze_kernel_timestamp_result_t, global.kernelEnd);
	AT(aif_ze_kernel_times, context_start, ze_kernel_timestamp_result_t, context.kernelStart);
	SIZE(aif_ze_memory_properties, ze_memory_allocation_properties_t);
	AT(aif_ze_memory_properties, type, ze_memory_allocation_properties_t, type);
	SIZE(aif_ze_module_desc, ze_module_desc_t);
	AT(aif_ze_module_desc, format, ze_module_desc_t, format);
	AT(aif_ze_module_desc, flags, ze_module_desc_t, pBuildFlags);
	SIZE(aif_ze_kernel_desc, ze_kernel_desc_t);
	AT(aif_ze_kernel_desc, name, ze_kernel_desc_t, pKernelName);
	SIZE(aif_ze_context_desc, ze_context_desc_t);
	SIZE(aif_ze_pci_properties, ze_pci_ext_properties_t);
	AT(aif_ze_pci_properties, domain, ze_pci_ext_properties_t, address.domain);
	AT(aif_ze_pci_properties, bus, ze_pci_ext_properties_t, address.bus);
	AT(aif_ze_pci_properties, device, ze_pci_ext_properties_t, address.device);
	AT(aif_ze_pci_properties, function, ze_pci_ext_properties_t, address.function);
	SIZE(aif_ze_group_properties, zet_metric_group_properties_t);
	AT(aif_ze_group_properties, sampling, zet_metric_group_properties_t, samplingType);
	AT(aif_ze_group_properties, metrics, zet_metric_group_properties_t, metricCount);
	SIZE(aif_ze_metric_properties, zet_metric_properties_t);
	AT(aif_ze_metric_properties, name, zet_metric_properties_t, name);
	AT(aif_ze_metric_properties, type, zet_metric_properties_t, metricType);
	AT(aif_ze_metric_properties, units, zet_metric_properties_t, resultUnits);
	SIZE(aif_ze_query_pool_desc, zet_metric_query_pool_desc_t);
	AT(aif_ze_query_pool_desc, type, zet_metric_query_pool_desc_t, type);
	AT(aif_ze_query_pool_desc, count, zet_metric_query_pool_desc_t, count);
	SIZE(aif_ze_streamer_desc, zet_metric_streamer_desc_t);
	AT(aif_ze_streamer_desc, notify, zet_metric_streamer_desc_t, notifyEveryNReports);
	AT(aif_ze_streamer_desc, period_ns, zet_metric_streamer_desc_t, samplingPeriod);
	SIZE(aif_ze_value, zet_typed_value_t);
	AT(aif_ze_value, u64, zet_typed_value_t, value);
	SIZE(aif_ze_queue_desc, ze_command_queue_desc_t);
	AT(aif_ze_queue_desc, flags, ze_command_queue_desc_t, flags);
	assert_int_equal(sizeof(ze_result_t), sizeof(uint32_t));
	assert_int_equal(sizeof(ze_bool_t), sizeof(uint8_t));
}

static void values_are_the_same(void **state)
{
	(void)state;
	assert_int_equal(AIF_ZE_NOT_READY, ZE_RESULT_NOT_READY);
	assert_int_equal(AIF_ZE_UNINITIALIZED, ZE_RESULT_ERROR_UNINITIALIZED);
	assert_int_equal(AIF_ZE_HANDLE_KERNEL, ZEL_HANDLE_KERNEL);
	assert_int_equal(AIF_ZE_TRACER_DESC, ZEL_STRUCTURE_TYPE_TRACER_DESC);
	assert_int_equal(AIF_ZE_DRIVER_PROPS, ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES);
	assert_int_equal(AIF_ZE_DEVICE_PROPS, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2);
	assert_int_equal(AIF_ZE_POOL_DESC, ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
	assert_int_equal(AIF_ZE_EVENT_DESC, ZE_STRUCTURE_TYPE_EVENT_DESC);
	assert_int_equal(AIF_ZE_MEMORY_PROPS, ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES);
	assert_int_equal(AIF_ZE_EVENTS_HOST, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
	assert_int_equal(AIF_ZE_EVENTS_IPC, ZE_EVENT_POOL_FLAG_IPC);
	assert_int_equal(AIF_ZE_EVENTS_TIMED, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
	assert_int_equal(AIF_ZE_EVENT_TO_HOST, ZE_EVENT_SCOPE_FLAG_HOST);
	assert_int_equal(AIF_ZE_DEVICE_GPU, ZE_DEVICE_TYPE_GPU);
	assert_int_equal(AIF_ZE_DEVICE_CPU, ZE_DEVICE_TYPE_CPU);
	assert_int_equal(AIF_ZE_DEVICE_FPGA, ZE_DEVICE_TYPE_FPGA);
	assert_int_equal(AIF_ZE_DEVICE_MCA, ZE_DEVICE_TYPE_MCA);
	assert_int_equal(AIF_ZE_DEVICE_VPU, ZE_DEVICE_TYPE_VPU);
	assert_int_equal(AIF_ZE_SUBDEVICE, ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE);
	assert_int_equal(AIF_ZE_MEMORY_HOST, ZE_MEMORY_TYPE_HOST);
	assert_int_equal(AIF_ZE_MEMORY_DEVICE, ZE_MEMORY_TYPE_DEVICE);
	assert_int_equal(AIF_ZE_MEMORY_SHARED, ZE_MEMORY_TYPE_SHARED);
	assert_int_equal(AIF_ZE_UNSUPPORTED, ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
	assert_int_equal(AIF_ZE_DENIED, ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS);
	assert_int_equal(AIF_ZE_UNAVAILABLE, ZE_RESULT_ERROR_NOT_AVAILABLE);
	assert_int_equal(AIF_ZE_OBJECT_IN_USE, ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
	assert_int_equal(AIF_ZE_DROPPED_DATA, ZE_RESULT_WARNING_DROPPED_DATA);
	assert_int_equal(AIF_ZE_CONTEXT_DESC, ZE_STRUCTURE_TYPE_CONTEXT_DESC);
	assert_int_equal(AIF_ZE_PCI_PROPS, ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES);
	assert_int_equal(AIF_ZE_FORMAT_SPIRV, ZE_MODULE_FORMAT_IL_SPIRV);
	assert_int_equal(AIF_ZE_GROUP_PROPS, ZET_STRUCTURE_TYPE_METRIC_GROUP_PROPERTIES);
	assert_int_equal(AIF_ZE_METRIC_PROPS, ZET_STRUCTURE_TYPE_METRIC_PROPERTIES);
	assert_int_equal(AIF_ZE_QUERY_POOL_DESC, ZET_STRUCTURE_TYPE_METRIC_QUERY_POOL_DESC);
	assert_int_equal(AIF_ZE_STREAMER_DESC, ZET_STRUCTURE_TYPE_METRIC_STREAMER_DESC);
	assert_int_equal(AIF_ZE_TIME_BASED, ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_TIME_BASED);
	assert_int_equal(AIF_ZE_EVENT_BASED, ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_EVENT_BASED);
	/* The names of `record --counters help`. */
	assert_int_equal(0, ZET_METRIC_TYPE_DURATION);
	assert_int_equal(3, ZET_METRIC_TYPE_THROUGHPUT);
	assert_int_equal(5, ZET_METRIC_TYPE_FLAG);
	assert_int_equal(6, ZET_METRIC_TYPE_RATIO);
	assert_int_equal(AIF_ZE_METRIC_EVENT, ZET_METRIC_TYPE_EVENT);
	assert_int_equal(AIF_ZE_METRIC_RANGE, ZET_METRIC_TYPE_EVENT_WITH_RANGE);
	assert_int_equal(AIF_ZE_METRIC_TIME, ZET_METRIC_TYPE_TIMESTAMP);
	assert_int_equal(AIF_ZE_METRIC_RAW, ZET_METRIC_TYPE_RAW);
	assert_int_equal(AIF_ZE_METRIC_IP, ZET_METRIC_TYPE_IP_EXP);
	assert_int_equal(AIF_ZE_VALUE_32, ZET_VALUE_TYPE_UINT32);
	assert_int_equal(AIF_ZE_VALUE_64, ZET_VALUE_TYPE_UINT64);
	assert_int_equal(AIF_ZE_VALUE_FLOAT, ZET_VALUE_TYPE_FLOAT32);
	assert_int_equal(AIF_ZE_VALUE_DOUBLE, ZET_VALUE_TYPE_FLOAT64);
	assert_int_equal(AIF_ZE_VALUE_BOOL, ZET_VALUE_TYPE_BOOL8);
	assert_int_equal(0, ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES);
	assert_int_equal(0, ZEL_REGISTER_PROLOGUE);
	assert_int_equal(1, ZEL_REGISTER_EPILOGUE);
}

/* For loaders without a function for each call. */
static void the_table_has_the_same_order(void **state)
{
	(void)state;
	assert_int_equal(AIF_ZE_CALLBACKS * sizeof(void *), sizeof(zel_core_callbacks_t));
#define X(class, call, slot, prologue, epilogue)  \
	assert_int_equal((slot) * sizeof(void *), \
			 offsetof(zel_core_callbacks_t, class.pfn##call##Cb));
#define N(class, call, prologue, epilogue)
#include "agent/level_zero/ze_calls.def"
#undef X
#undef N
}

/* The index of each argument must be the one that agent/level_zero/calls.c and its like use. */
static void arguments_have_the_same_order(void **state)
{
	(void)state;
#define ARGUMENT(call, name, index) \
	assert_int_equal((index) * sizeof(void *), offsetof(ze_##call##_params_t, name))
	ARGUMENT(command_list_append_launch_kernel, phKernel, 1);
	ARGUMENT(command_list_append_launch_kernel, ppLaunchFuncArgs, 2);
	ARGUMENT(command_list_append_launch_kernel, phSignalEvent, 3);
	ARGUMENT(command_list_append_launch_cooperative_kernel, phSignalEvent, 3);
	ARGUMENT(command_list_append_launch_kernel_indirect, phSignalEvent, 3);
	ARGUMENT(command_list_append_launch_multiple_kernels_indirect, pnumKernels, 1);
	ARGUMENT(command_list_append_launch_multiple_kernels_indirect, pphKernels, 2);
	ARGUMENT(command_list_append_launch_multiple_kernels_indirect, phSignalEvent, 5);
	ARGUMENT(command_list_append_memory_copy, pdstptr, 1);
	ARGUMENT(command_list_append_memory_copy, psrcptr, 2);
	ARGUMENT(command_list_append_memory_copy, psize, 3);
	ARGUMENT(command_list_append_memory_copy, phSignalEvent, 4);
	ARGUMENT(command_list_append_memory_copy_region, pdstRegion, 2);
	ARGUMENT(command_list_append_memory_copy_region, psrcptr, 5);
	ARGUMENT(command_list_append_memory_copy_region, phSignalEvent, 9);
	ARGUMENT(command_list_append_memory_copy_from_context, psize, 4);
	ARGUMENT(command_list_append_memory_copy_from_context, phSignalEvent, 5);
	ARGUMENT(command_list_append_memory_fill, psize, 4);
	ARGUMENT(command_list_append_memory_fill, phSignalEvent, 5);
	ARGUMENT(command_list_append_image_copy, phSignalEvent, 3);
	ARGUMENT(command_list_append_image_copy_region, phSignalEvent, 5);
	ARGUMENT(command_list_append_image_copy_to_memory, phSignalEvent, 4);
	ARGUMENT(command_list_append_image_copy_from_memory, phSignalEvent, 4);
	ARGUMENT(command_list_append_barrier, phSignalEvent, 1);
	ARGUMENT(command_list_append_memory_ranges_barrier, phSignalEvent, 4);
	ARGUMENT(command_list_append_signal_event, phEvent, 1);
	ARGUMENT(command_list_create, phDevice, 1);
	ARGUMENT(command_list_create, pphCommandList, 3);
	ARGUMENT(command_list_create_immediate, paltdesc, 2);
	ARGUMENT(command_list_create_immediate, pphCommandList, 3);
	ARGUMENT(command_queue_create, phDevice, 1);
	ARGUMENT(command_queue_create, pphCommandQueue, 3);
	ARGUMENT(command_queue_execute_command_lists, pnumCommandLists, 1);
	ARGUMENT(command_queue_execute_command_lists, pphCommandLists, 2);
	ARGUMENT(event_pool_create, pdesc, 1);
	ARGUMENT(event_pool_create, pphEventPool, 4);
	ARGUMENT(event_create, phEventPool, 0);
	ARGUMENT(event_create, pphEvent, 2);
	ARGUMENT(module_create, phDevice, 1);
	ARGUMENT(module_create, pdesc, 2);
	ARGUMENT(module_create, pphModule, 3);
	ARGUMENT(kernel_create, pdesc, 1);
	ARGUMENT(kernel_create, pphKernel, 2);
	ARGUMENT(kernel_set_group_size, pgroupSizeX, 1);
	ARGUMENT(kernel_set_group_size, pgroupSizeZ, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(structs_are_the_same),
		cmocka_unit_test(values_are_the_same),
		cmocka_unit_test(the_table_has_the_same_order),
		cmocka_unit_test(arguments_have_the_same_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
