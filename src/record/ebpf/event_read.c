/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ebpf/event_read.h"

#include <string.h>

bool aif_ebpf_event_read(const void *bytes, size_t len, struct aif_ebpf_read *ret)
{
	const uint64_t *frames = (const uint64_t *)((const char *)bytes + sizeof(ret->e));

	if (len < sizeof(ret->e))
		return false;
	memcpy(&ret->e, bytes, sizeof(ret->e));
	ret->e.comm[sizeof(ret->e.comm) - 1] = '\0';
	if (ret->e.kind < AIF_EBPF_SAMPLE || ret->e.kind > AIF_EBPF_DRIVER_SYSCALL ||
	    ret->e.user_len > AIF_EBPF_FRAMES || ret->e.kernel_len > AIF_EBPF_FRAMES ||
	    len < sizeof(ret->e) + ((size_t)ret->e.user_len + ret->e.kernel_len) * sizeof(*frames))
		return false;
	ret->user = frames;
	ret->kernel = frames + ret->e.user_len;
	return true;
}

uint64_t aif_ebpf_least_wait(uint64_t least, uint64_t waits, uint64_t ns)
{
	uint64_t most = AIF_EBPF_WAITS * AIF_MAX(ns, 1u) / AIF_NS_PER_S;

	if (waits > most)
		return AIF_MIN(2 * least, AIF_NS_PER_S);
	return waits < most / 4 ? AIF_MAX(least / 2, (uint64_t)AIF_EBPF_LEAST_WAIT) : least;
}
