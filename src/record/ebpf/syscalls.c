/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ebpf/syscalls.h"

#include <string.h>

/* The compiler may have put one into another, or cut it ("el0_svc_common.constprop.0"). */
static bool is_dispatcher(const char *name)
{
	static const char *const names[] = {"do_syscall_64", "do_el0_svc", "el0_svc_common",
					    "el0_svc"};
	size_t len = strcspn(name, ".");

	for (size_t i = 0; i < AIF_ARRAY_LEN(names); i++)
		if (strlen(names[i]) == len && !strncmp(names[i], name, len))
			return true;
	return false;
}

void aif_ebpf_syscalls_find(const struct aif_kallsyms *k, struct aif_ebpf_syscalls *ret)
{
	*ret = (struct aif_ebpf_syscalls){0};
	for (size_t i = 0; i + 1 < k->len; i++) {
		const char *name = aif_strset_get(&k->strings, k->at[i].name, NULL);

		if (!strcmp(name, "__x64_sys_ioctl") || !strcmp(name, "__arm64_sys_ioctl"))
			ret->ioctl = k->at[i].address;
		if (ret->len == AIF_EBPF_DISPATCHERS || !is_dispatcher(name))
			continue;
		ret->dispatcher[ret->len].lo = k->at[i].address;
		ret->dispatcher[ret->len++].hi = k->at[i + 1].address;
	}
}

bool aif_ebpf_syscalls_read(struct aif_ebpf_syscalls *ret)
{
	struct aif_kallsyms k = {0};

	*ret = (struct aif_ebpf_syscalls){0};
	if (aif_kallsyms_read(&k, "/proc/kallsyms") == 0)
		aif_ebpf_syscalls_find(&k, ret);
	aif_kallsyms_finish(&k);
	return ret->len && ret->ioctl;
}

uint32_t aif_ebpf_syscalls_above(const struct aif_ebpf_syscalls *s, const uint64_t *frames,
				 uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		for (unsigned d = 0; d < s->len; d++)
			if (AIF_KALLSYMS_ADDRESS(frames[i]) >= s->dispatcher[d].lo &&
			    AIF_KALLSYMS_ADDRESS(frames[i]) < s->dispatcher[d].hi)
				return i;
	return UINT32_MAX;
}
