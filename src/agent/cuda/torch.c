/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/calls/allocation.h"
#include "agent/cuda/cuda.h"
#include "agent/next_function.h"

/*
 * PyTorch's caching allocators. Each block that they hand out or take back they report to c10::reportMemoryUsageToProfiler()
 * of libc10.so: that of CUDA always, that of the host while torch.profiler records memory. Where the agent is preloaded,
 * which it is but for processes that were attached to, this is that function; it writes a MEMORY record and calls
 * PyTorch's own. The sums are the allocator's: exact also where it was made before anybody recorded.
 *
 * Its two names are those of all versions since 1.10: the sums were signed up to 1.13.
 */

/* c10::Device */
struct torch_device {
	int8_t type, index; /* enum torch_type; -1: the current one */
};
enum torch_type { TORCH_CPU = 0, TORCH_CUDA = 1 };

typedef void report(void *at, int64_t bytes, uint64_t allocated, uint64_t reserved,
		    struct torch_device device);

#define SIGNED   "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE"
#define UNSIGNED "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
AIF_PUBLIC report aif_torch_report_signed __asm__(SIGNED);
AIF_PUBLIC report aif_torch_report_unsigned __asm__(UNSIGNED);

static AIF_NOINLINE void tell(void *at, int64_t bytes, uint64_t allocated, uint64_t reserved,
			      struct torch_device device, const struct aif_regs *regs)
{
	static const struct aif_emit_api none;
	struct aif_emit_memory m = {.block = (uintptr_t)at,
				    .bytes = bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes,
				    .allocated = allocated,
				    .reserved = reserved,
				    .device = AIF_WIRE_NONE,
				    .is_release = bytes < 0};
	struct aif_cuda *cuda = CUDA;
	struct aif_allocation a;

	if (!bytes ||
	    (device.type != TORCH_CPU && (device.type != TORCH_CUDA || device.index < 0 || !cuda)))
		return;
	if (!aif_allocation_begin(&a))
		return;
	if (device.type == TORCH_CUDA) {
		m.device = (uint32_t)device.index;
		(void)aif_cuda_device_define(a.thread, cuda, m.device);
	}
	aif_allocation_end(&a, &m, regs, &none);
}

/* PyTorch's own function; NULL: it cannot be found, so that its profiler misses the event. */
static report *next(_Atomic(void *) *known, const char *name)
{
	static char nothing;
	void *found = atomic_load_explicit(known, memory_order_acquire);

	if (!found) {
		found = aif_next_function(name);
		atomic_store_explicit(known, found ? found : &nothing, memory_order_release);
	}
	return found == &nothing ? NULL : (report *)found;
}

#define REPORT(function, name)                                                                \
	void function(void *at, int64_t bytes, uint64_t allocated, uint64_t reserved,         \
		      struct torch_device device)                                             \
	{                                                                                     \
		static _Atomic(void *) known;                                                 \
		report *real = next(&known, name);                                            \
		struct aif_regs regs;                                                         \
                                                                                              \
		AIF_REGS_HERE(&regs);                                                         \
		if (!aif_thread_asleep())                                                     \
			tell(at, bytes, allocated, reserved, device, &regs);                  \
		if (real)                                                                     \
			real(at, bytes, allocated, reserved, device);                         \
		__asm__ volatile("" ::: "memory"); /* no tail call: its frame is the first */ \
	}
REPORT(aif_torch_report_signed, SIGNED)
REPORT(aif_torch_report_unsigned, UNSIGNED)
