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
	if ((ret->e.kind != AIF_EBPF_SAMPLE && ret->e.kind != AIF_EBPF_LAUNCH) ||
	    ret->e.user_len > AIF_EBPF_FRAMES || ret->e.kernel_len > AIF_EBPF_FRAMES ||
	    len < sizeof(ret->e) + ((size_t)ret->e.user_len + ret->e.kernel_len) * sizeof(*frames))
		return false;
	ret->user = frames;
	ret->kernel = frames + ret->e.user_len;
	return true;
}
