/* SPDX-License-Identifier: Apache-2.0 */
#include "base/auxv.h"

#include "base/base.h"

#include <stdatomic.h>
#include <sys/auxv.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

static const unsigned long types[] = {AT_PHDR,   AT_PHNUM,  AT_PAGESZ,       AT_SECURE,
				      AT_RANDOM, AT_HWCAP2, AT_SYSINFO_EHDR, AT_MINSIGSTKSZ};

unsigned long aif_auxv(unsigned long type)
{
	static _Atomic unsigned long kept[AIF_ARRAY_LEN(types)];
	static atomic_bool are_kept;
	unsigned long value = 0;

	if (!atomic_load_explicit(&are_kept, memory_order_acquire)) {
		for (unsigned i = 0; i < AIF_ARRAY_LEN(types); i++)
			atomic_store_explicit(&kept[i], getauxval(types[i]), memory_order_relaxed);
		atomic_store_explicit(&are_kept, true, memory_order_release);
	}
	for (unsigned i = 0; i < AIF_ARRAY_LEN(types); i++)
		if (types[i] == type)
			value = atomic_load_explicit(&kept[i], memory_order_relaxed);
	return value;
}
