/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "inject/walk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * A process into which the agent is to be put, and whose headers, symbols, unwind tables and stack may be of any bytes: finding
 * a function, and whether one may be called now, comes to an end. The process is this one, and its module the input, again and
 * again.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE   UINT64_C(0x10000000)
#define LENGTH (UINT64_C(16) << 12)

static uint8_t *module_of(const uint8_t *data, size_t size)
{
	static uint8_t *at;

	if (!at) {
		at = mmap((void *)(uintptr_t)BASE, LENGTH, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (at != (void *)(uintptr_t)BASE)
			abort();
	}
	for (size_t i = 0; i < LENGTH; i += size)
		memcpy(at + i, data, AIF_MIN(size, LENGTH - i));
	return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct aif_image im = {.pid = getpid(), .pagemap = -1, .has_loader = true};
	struct aif_regs regs;

	if (!size)
		return 0;
	(void)module_of(data, size);
	/* On the heap, as aif_image_finish() frees it. */
	if (aif_grow(&im.module, &im.cap, 2, sizeof(*im.module)) < 0)
		return 0;
	im.modules = 2;
	im.module[0] = (struct aif_image_module){
		.lo = BASE, .hi = BASE + LENGTH / 2, .path = "/lib/libc.so.6"};
	im.module[1] = (struct aif_image_module){.lo = BASE + LENGTH / 2,
						 .hi = BASE + LENGTH,
						 .path = "/lib/ld-linux-x86-64.so.2",
						 .is_loader = size % 2};
	(void)aif_image_function(&im, "libc.so", "pthread_create");
	(void)aif_image_function(&im, "ld-linux", "_dl_open");
	for (uint64_t pc = BASE; pc < BASE + LENGTH; pc += 1021) {
		(void)aif_image_is_unsafe(&im, pc);
		(void)aif_image_row(&im, pc);
	}
	for (unsigned i = 0; i < 4; i++) {
		regs = (struct aif_regs){.pc = BASE + data[i % size] * 64u,
					 .sp = BASE + (data[(i + 1) % size] * 64u & ~7u),
					 .bp = BASE + (data[(i + 2) % size] * 64u & ~7u)};
		(void)aif_walk(&im, &regs, BASE + data[(i + 3) % size] * 64u, i % 2);
	}
	aif_image_finish(&im);
	return 0;
}
