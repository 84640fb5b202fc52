/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/*
 * The part of OpenCL's binary interface that the layer needs, declared by us: the order of the ICD dispatch table (149
 * functions, fixed since OpenCL 3.0 and only ever appended to), the signatures of those that we call or replace, and a
 * few constants. Handles are void *. So aiflame builds where there are no OpenCL headers; where there are, a test
 * compares every offset and value with them.
 *
 * X(name, result, arguments): used. U(name): only passed through.
 */

typedef void aif_cl_context_notify(const char *, const void *, size_t, void *);
typedef void aif_cl_program_notify(void *program, void *data);
typedef void aif_cl_memory_notify(void *mem, void *data);
typedef void aif_cl_event_notify(void *event, int32_t status, void *data);

/* clang-format off */
#define AIF_CL_FUNCTIONS(X, U) \
	U(clGetPlatformIDs) \
	X(clGetPlatformInfo, int32_t, (void *platform, uint32_t name, size_t size, void *value, \
	  size_t *ret_size)) \
	X(clGetDeviceIDs, int32_t, (void *platform, uint64_t type, uint32_t n, void \
	  **devices, uint32_t *ret_n)) \
	X(clGetDeviceInfo, int32_t, (void *device, uint32_t name, size_t size, void *value, \
	  size_t *ret_size)) \
	X(clCreateContext, void *, (const intptr_t *properties, uint32_t n, void *const \
	  *devices, aif_cl_context_notify *notify, void *data, int32_t *ret_error)) \
	X(clCreateContextFromType, void *, (const intptr_t *properties, uint64_t type, \
	  aif_cl_context_notify *notify, void *data, int32_t *ret_error)) \
	U(clRetainContext) \
	U(clReleaseContext) \
	X(clGetContextInfo, int32_t, (void *context, uint32_t name, size_t size, void *value, \
	  size_t *ret_size)) \
	X(clCreateCommandQueue, void *, (void *context, void *device, uint64_t properties, \
	  int32_t *ret_error)) \
	U(clRetainCommandQueue) \
	X(clReleaseCommandQueue, int32_t, (void *queue)) \
	X(clGetCommandQueueInfo, int32_t, (void *queue, uint32_t name, size_t size, void \
	  *value, size_t *ret_size)) \
	X(clSetCommandQueueProperty, int32_t, (void *queue, uint64_t properties, uint32_t \
	  enable, uint64_t *ret_old)) \
	X(clCreateBuffer, void *, (void *context, uint64_t flags, size_t size, void *at, int32_t *ret_error)) \
	X(clCreateImage2D, void *, (void *context, uint64_t flags, const void *format, size_t \
	  width, size_t height, size_t pitch, void *at, int32_t *ret_error)) \
	X(clCreateImage3D, void *, (void *context, uint64_t flags, const void *format, size_t \
	  width, size_t height, size_t depth, size_t row_pitch, size_t slice_pitch, void *at, \
	  int32_t *ret_error)) \
	U(clRetainMemObject) \
	X(clReleaseMemObject, int32_t, (void *mem)) \
	U(clGetSupportedImageFormats) \
	X(clGetMemObjectInfo, int32_t, (void *mem, uint32_t name, size_t size, void *value, \
	  size_t *ret_size)) \
	X(clGetImageInfo, int32_t, (void *image, uint32_t name, size_t size, void *value, \
	  size_t *ret_size)) \
	U(clCreateSampler) \
	U(clRetainSampler) \
	U(clReleaseSampler) \
	U(clGetSamplerInfo) \
	X(clCreateProgramWithSource, void *, (void *context, uint32_t n, const char \
	  **strings, const size_t *lengths, int32_t *ret_error)) \
	X(clCreateProgramWithBinary, void *, (void *context, uint32_t n, void *const \
	  *devices, const size_t *lengths, const uint8_t **binaries, int32_t *status, int32_t \
	  *ret_error)) \
	U(clRetainProgram) \
	U(clReleaseProgram) \
	X(clBuildProgram, int32_t, (void *program, uint32_t n, void *const *devices, const \
	  char *options, aif_cl_program_notify *notify, void *data)) \
	U(clUnloadCompiler) \
	X(clGetProgramInfo, int32_t, (void *program, uint32_t name, size_t size, void \
	  *value, size_t *ret_size)) \
	X(clGetProgramBuildInfo, int32_t, (void *program, void *device, uint32_t name, \
	  size_t size, void *value, size_t *ret_size)) \
	X(clCreateKernel, void *, (void *program, const char *name, int32_t *ret_error)) \
	X(clCreateKernelsInProgram, int32_t, (void *program, uint32_t n, void **kernels, \
	  uint32_t *ret_n)) \
	U(clRetainKernel) \
	U(clReleaseKernel) \
	U(clSetKernelArg) \
	X(clGetKernelInfo, int32_t, (void *kernel, uint32_t name, size_t size, void *value, \
	  size_t *ret_size)) \
	U(clGetKernelWorkGroupInfo) \
	X(clWaitForEvents, int32_t, (uint32_t n, void *const *events)) \
	X(clGetEventInfo, int32_t, (void *event, uint32_t name, size_t size, void *value, \
	  size_t *ret_size)) \
	X(clRetainEvent, int32_t, (void *event)) \
	X(clReleaseEvent, int32_t, (void *event)) \
	X(clGetEventProfilingInfo, int32_t, (void *event, uint32_t name, size_t size, void \
	  *value, size_t *ret_size)) \
	X(clFlush, int32_t, (void *queue)) \
	X(clFinish, int32_t, (void *queue)) \
	X(clEnqueueReadBuffer, int32_t, (void *queue, void *buffer, uint32_t blocking, \
	  size_t offset, size_t size, void *to, uint32_t nwait, const void *wait, void \
	  **event)) \
	X(clEnqueueWriteBuffer, int32_t, (void *queue, void *buffer, uint32_t blocking, \
	  size_t offset, size_t size, const void *from, uint32_t nwait, const void *wait, void \
	  **event)) \
	X(clEnqueueCopyBuffer, int32_t, (void *queue, void *from, void *to, size_t \
	  from_offset, size_t to_offset, size_t size, uint32_t nwait, const void *wait, void \
	  **event)) \
	X(clEnqueueReadImage, int32_t, (void *queue, void *image, uint32_t blocking, const \
	  size_t *origin, const size_t *region, size_t row, size_t slice, void *to, uint32_t \
	  nwait, const void *wait, void **event)) \
	X(clEnqueueWriteImage, int32_t, (void *queue, void *image, uint32_t blocking, const \
	  size_t *origin, const size_t *region, size_t row, size_t slice, const void *from, \
	  uint32_t nwait, const void *wait, void **event)) \
	X(clEnqueueCopyImage, int32_t, (void *queue, void *from, void *to, const size_t \
	  *from_origin, const size_t *to_origin, const size_t *region, uint32_t nwait, const \
	  void *wait, void **event)) \
	X(clEnqueueCopyImageToBuffer, int32_t, (void *queue, void *image, void *buffer, \
	  const size_t *origin, const size_t *region, size_t offset, uint32_t nwait, const \
	  void *wait, void **event)) \
	X(clEnqueueCopyBufferToImage, int32_t, (void *queue, void *buffer, void *image, \
	  size_t offset, const size_t *origin, const size_t *region, uint32_t nwait, const \
	  void *wait, void **event)) \
	X(clEnqueueMapBuffer, void *, (void *queue, void *buffer, uint32_t blocking, \
	  uint64_t flags, size_t offset, size_t size, uint32_t nwait, const void *wait, void \
	  **event, int32_t *ret_error)) \
	X(clEnqueueMapImage, void *, (void *queue, void *image, uint32_t blocking, uint64_t \
	  flags, const size_t *origin, const size_t *region, size_t *ret_row, size_t \
	  *ret_slice, uint32_t nwait, const void *wait, void **event, int32_t *ret_error)) \
	X(clEnqueueUnmapMemObject, int32_t, (void *queue, void *mem, void *mapped, uint32_t \
	  nwait, const void *wait, void **event)) \
	X(clEnqueueNDRangeKernel, int32_t, (void *queue, void *kernel, uint32_t dims, const \
	  size_t *offset, const size_t *global, const size_t *local, uint32_t nwait, const \
	  void *wait, void **event)) \
	X(clEnqueueTask, int32_t, (void *queue, void *kernel, uint32_t nwait, const void \
	  *wait, void **event)) \
	U(clEnqueueNativeKernel) \
	X(clEnqueueMarker, int32_t, (void *queue, void **event)) \
	U(clEnqueueWaitForEvents) \
	U(clEnqueueBarrier) \
	U(clGetExtensionFunctionAddress) \
	U(clCreateFromGLBuffer) \
	U(clCreateFromGLTexture2D) \
	U(clCreateFromGLTexture3D) \
	U(clCreateFromGLRenderbuffer) \
	U(clGetGLObjectInfo) \
	U(clGetGLTextureInfo) \
	U(clEnqueueAcquireGLObjects) \
	U(clEnqueueReleaseGLObjects) \
	U(clGetGLContextInfoKHR) \
	U(clGetDeviceIDsFromD3D10KHR) \
	U(clCreateFromD3D10BufferKHR) \
	U(clCreateFromD3D10Texture2DKHR) \
	U(clCreateFromD3D10Texture3DKHR) \
	U(clEnqueueAcquireD3D10ObjectsKHR) \
	U(clEnqueueReleaseD3D10ObjectsKHR) \
	X(clSetEventCallback, int32_t, (void *event, int32_t status, aif_cl_event_notify \
	  *notify, void *data)) \
	U(clCreateSubBuffer) \
	X(clSetMemObjectDestructorCallback, int32_t, (void *mem, aif_cl_memory_notify *notify, \
	  void *data)) \
	U(clCreateUserEvent) \
	U(clSetUserEventStatus) \
	X(clEnqueueReadBufferRect, int32_t, (void *queue, void *buffer, uint32_t blocking, \
	  const size_t *origin, const size_t *host_origin, const size_t *region, size_t row, \
	  size_t slice, size_t host_row, size_t host_slice, void *to, uint32_t nwait, const \
	  void *wait, void **event)) \
	X(clEnqueueWriteBufferRect, int32_t, (void *queue, void *buffer, uint32_t blocking, \
	  const size_t *origin, const size_t *host_origin, const size_t *region, size_t row, \
	  size_t slice, size_t host_row, size_t host_slice, const void *from, uint32_t nwait, \
	  const void *wait, void **event)) \
	X(clEnqueueCopyBufferRect, int32_t, (void *queue, void *from, void *to, const size_t \
	  *from_origin, const size_t *to_origin, const size_t *region, size_t from_row, size_t \
	  from_slice, size_t to_row, size_t to_slice, uint32_t nwait, const void *wait, void \
	  **event)) \
	U(clCreateSubDevicesEXT) \
	U(clRetainDeviceEXT) \
	U(clReleaseDeviceEXT) \
	U(clCreateEventFromGLsyncKHR) \
	U(clCreateSubDevices) \
	U(clRetainDevice) \
	U(clReleaseDevice) \
	X(clCreateImage, void *, (void *context, uint64_t flags, const void *format, const void *desc, void *at, int32_t *ret_error)) \
	X(clCreateProgramWithBuiltInKernels, void *, (void *context, uint32_t n, void *const \
	  *devices, const char *names, int32_t *ret_error)) \
	X(clCompileProgram, int32_t, (void *program, uint32_t n, void *const *devices, const \
	  char *options, uint32_t headers, void *const *header, const char **header_names, \
	  aif_cl_program_notify *notify, void *data)) \
	X(clLinkProgram, void *, (void *context, uint32_t n, void *const *devices, const \
	  char *options, uint32_t inputs, void *const *input, aif_cl_program_notify *notify, \
	  void *data, int32_t *ret_error)) \
	U(clUnloadPlatformCompiler) \
	U(clGetKernelArgInfo) \
	X(clEnqueueFillBuffer, int32_t, (void *queue, void *buffer, const void *pattern, \
	  size_t pattern_size, size_t offset, size_t size, uint32_t nwait, const void *wait, \
	  void **event)) \
	X(clEnqueueFillImage, int32_t, (void *queue, void *image, const void *color, const \
	  size_t *origin, const size_t *region, uint32_t nwait, const void *wait, void \
	  **event)) \
	X(clEnqueueMigrateMemObjects, int32_t, (void *queue, uint32_t n, void *const *mems, \
	  uint64_t flags, uint32_t nwait, const void *wait, void **event)) \
	U(clEnqueueMarkerWithWaitList) \
	U(clEnqueueBarrierWithWaitList) \
	U(clGetExtensionFunctionAddressForPlatform) \
	U(clCreateFromGLTexture) \
	U(clGetDeviceIDsFromD3D11KHR) \
	U(clCreateFromD3D11BufferKHR) \
	U(clCreateFromD3D11Texture2DKHR) \
	U(clCreateFromD3D11Texture3DKHR) \
	U(clCreateFromDX9MediaSurfaceKHR) \
	U(clEnqueueAcquireD3D11ObjectsKHR) \
	U(clEnqueueReleaseD3D11ObjectsKHR) \
	U(clGetDeviceIDsFromDX9MediaAdapterKHR) \
	U(clEnqueueAcquireDX9MediaSurfacesKHR) \
	U(clEnqueueReleaseDX9MediaSurfacesKHR) \
	U(clCreateFromEGLImageKHR) \
	U(clEnqueueAcquireEGLObjectsKHR) \
	U(clEnqueueReleaseEGLObjectsKHR) \
	U(clCreateEventFromEGLSyncKHR) \
	X(clCreateCommandQueueWithProperties, void *, (void *context, void *device, const \
	  uint64_t *properties, int32_t *ret_error)) \
	U(clCreatePipe) \
	U(clGetPipeInfo) \
	X(clSVMAlloc, void *, (void *context, uint64_t flags, size_t size, uint32_t alignment)) \
	X(clSVMFree, void, (void *context, void *at)) \
	U(clEnqueueSVMFree) \
	X(clEnqueueSVMMemcpy, int32_t, (void *queue, uint32_t blocking, void *to, const void \
	  *from, size_t size, uint32_t nwait, const void *wait, void **event)) \
	X(clEnqueueSVMMemFill, int32_t, (void *queue, void *to, const void *pattern, size_t \
	  pattern_size, size_t size, uint32_t nwait, const void *wait, void **event)) \
	X(clEnqueueSVMMap, int32_t, (void *queue, uint32_t blocking, uint64_t flags, void \
	  *at, size_t size, uint32_t nwait, const void *wait, void **event)) \
	X(clEnqueueSVMUnmap, int32_t, (void *queue, void *at, uint32_t nwait, const void \
	  *wait, void **event)) \
	U(clCreateSamplerWithProperties) \
	U(clSetKernelArgSVMPointer) \
	U(clSetKernelExecInfo) \
	U(clGetKernelSubGroupInfoKHR) \
	X(clCloneKernel, void *, (void *kernel, int32_t *ret_error)) \
	X(clCreateProgramWithIL, void *, (void *context, const void *il, size_t length, \
	  int32_t *ret_error)) \
	X(clEnqueueSVMMigrateMem, int32_t, (void *queue, uint32_t n, const void **at, const \
	  size_t *sizes, uint64_t flags, uint32_t nwait, const void *wait, void **event)) \
	X(clGetDeviceAndHostTimer, int32_t, (void *device, uint64_t *ret_device, uint64_t \
	  *ret_host)) \
	U(clGetHostTimer) \
	U(clGetKernelSubGroupInfo) \
	U(clSetDefaultDeviceCommandQueue) \
	U(clSetProgramReleaseCallback) \
	U(clSetProgramSpecializationConstant) \
	X(clCreateBufferWithProperties, void *, (void *context, const uint64_t *properties, uint64_t flags, size_t size, void *at, int32_t *ret_error)) \
	U(clCreateImageWithProperties) \
	U(clSetContextDestructorCallback)
/* clang-format on */

struct aif_cl_dispatch {
#define X(name, result, arguments) result(*name) arguments;
#define U(name)                    void (*name)(void);
	AIF_CL_FUNCTIONS(X, U)
#undef X
#undef U
};

#define AIF_CL_ENTRIES (sizeof(struct aif_cl_dispatch) / sizeof(void *))
static_assert(AIF_CL_ENTRIES == 149, "the dispatch table of OpenCL 3.0");

#define AIF_CL_CONSTANTS(X)                            \
	X(SUCCESS, 0)                                  \
	X(PROFILING_INFO_NOT_AVAILABLE, -7)            \
	X(INVALID_VALUE, -30)                          \
	X(COMPLETE, 0)                                 \
	X(RUNNING, 1)                                  \
	X(DEVICE_TYPE_CPU, 1 << 1)                     \
	X(DEVICE_TYPE_GPU, 1 << 2)                     \
	X(DEVICE_TYPE_ACCELERATOR, 1 << 3)             \
	X(PLATFORM_VERSION, 0x0901)                    \
	X(DEVICE_TYPE, 0x1000)                         \
	X(DEVICE_MAX_COMPUTE_UNITS, 0x1002)            \
	X(DEVICE_NAME, 0x102b)                         \
	X(DEVICE_VENDOR, 0x102c)                       \
	X(DRIVER_VERSION, 0x102d)                      \
	X(DEVICE_VERSION, 0x102f)                      \
	X(QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 1 << 0) \
	X(QUEUE_PROFILING_ENABLE, 1 << 1)              \
	X(QUEUE_ON_DEVICE, 1 << 2)                     \
	X(QUEUE_CONTEXT, 0x1090)                       \
	X(QUEUE_DEVICE, 0x1091)                        \
	X(QUEUE_PROPERTIES, 0x1093)                    \
	X(QUEUE_PROPERTIES_ARRAY, 0x1098)              \
	X(MEM_USE_HOST_PTR, 1 << 3)                    \
	X(MEM_SIZE, 0x1102)                            \
	X(MEM_ASSOCIATED_MEMOBJECT, 0x1107)            \
	X(CONTEXT_DEVICES, 0x1081)                     \
	X(IMAGE_ELEMENT_SIZE, 0x1111)                  \
	X(PROGRAM_NUM_DEVICES, 0x1162)                 \
	X(PROGRAM_DEVICES, 0x1163)                     \
	X(PROGRAM_SOURCE, 0x1164)                      \
	X(PROGRAM_IL, 0x1169)                          \
	X(PROGRAM_BUILD_OPTIONS, 0x1182)               \
	X(KERNEL_FUNCTION_NAME, 0x1190)                \
	X(KERNEL_PROGRAM, 0x1194)                      \
	X(EVENT_COMMAND_QUEUE, 0x11d0)                 \
	X(EVENT_COMMAND_EXECUTION_STATUS, 0x11d3)      \
	X(PROFILING_COMMAND_QUEUED, 0x1280)            \
	X(PROFILING_COMMAND_START, 0x1282)             \
	X(PROFILING_COMMAND_END, 0x1283)               \
	X(LAYER_API_VERSION, 0x4240)                   \
	X(LAYER_NAME, 0x4241)                          \
	X(LAYER_API_VERSION_100, 100)

enum aif_cl_constant {
#define X(name, value) AIF_CL_##name = value,
	AIF_CL_CONSTANTS(X)
#undef X
};
