/* SPDX-License-Identifier: Apache-2.0 */
#include "import/kineto/classify.h"

#include "base/glob.h"
#include "import/kineto/aiu.h"

#include <string.h>

static bool has(const char *name, size_t len, const char *word)
{
	return memmem(name, len, word, strlen(word)) != NULL;
}

/* Classifies events by their names. */
static enum aif_launch_kind copy_kind(const char *name, size_t len)
{
	static const char *const writes[] = {"HtoD", "HostToDevice", "HOST_TO_DEVICE",
					     "H2D",  "M2D",          "HtoA"},
				 *const reads[] = {"DtoH", "DeviceToHost", "DEVICE_TO_HOST",
						   "D2H",  "D2M",          "AtoH"};

	for (size_t i = 0; i < AIF_ARRAY_LEN(writes); i++)
		if (has(name, len, writes[i]))
			return AIF_LAUNCH_WRITE;
	for (size_t i = 0; i < AIF_ARRAY_LEN(reads); i++)
		if (has(name, len, reads[i]))
			return AIF_LAUNCH_READ;
	if (has(name, len, "PtoP") || has(name, len, "PeerToPeer"))
		return AIF_LAUNCH_PEER;
	return AIF_LAUNCH_COPY;
}

bool kineto_is_wait(const char *name, size_t len)
{
	static const char *const waits[] = {"event_wait",     "event_wait *", "wait_event*",
					    "event wait*",    "stream_wait*", "stream wait *",
					    "wait for event*"};

	return aif_glob_any(waits, AIF_ARRAY_LEN(waits), name, len);
}

bool kineto_waits(const char *name, size_t len)
{
	enum aif_aiu_group group = aif_aiu_group_of(name, len);

	return group == AIF_AIU_WAIT || group == AIF_AIU_RDMA_WAIT ||
	       (len == 8 && !memcmp(name, "clFinish", 8)) ||
	       (len == 15 && !memcmp(name, "clWaitForEvents", 15)) ||
	       (len > 11 && !memcmp(name + len - 11, "Synchronize", 11));
}

static bool begins(const char *name, size_t len, const char *with)
{
	size_t n = strlen(with);

	return len > n && !memcmp(name, with, n) && name[n] >= 'A' && name[n] <= 'Z';
}

/* Is the category longer than this, and begins with it? */
static bool is_of(const struct aif_buf *cat, const char *with)
{
	size_t n = strlen(with);

	return cat->len > n && !memcmp(cat->data, with, n);
}

enum kineto_family kineto_family_of(enum kineto_family known, const struct kineto_event *e,
				    const char *name, size_t len)
{
	if (known == KINETO_AIU || aif_aiu_group_of(name, len) != AIF_AIU_NONE)
		return KINETO_AIU;
	if (known != KINETO_UNKNOWN)
		return known;
	if (e->cat.len == 6 && !memcmp(e->cat.data, "gpu_op", 6))
		return KINETO_ZE;
	if (begins(name, len, "hip"))
		return KINETO_HIP;
	if (begins(name, len, "cuda") || begins(name, len, "cu"))
		return KINETO_CUDA;
	return is_of(&e->cat, "xpu_")          ? KINETO_XPU
	       : is_of(&e->cat, "mtia_")       ? KINETO_MTIA
	       : is_of(&e->cat, "hpu_")        ? KINETO_HPU
	       : is_of(&e->cat, "privateuse1") ? KINETO_PRIVATE
					       : KINETO_UNKNOWN;
}

/*
 * unitrace has one category for all of the host and one for all of a device: the rest is in names, "zeCommandListAppend
 * MemoryCopy(D2M)[400 bytes]", "clEnqueueReadBuffer". A kernel that runs on a part of a device is "Tile #1: NAME".
 */
size_t kineto_unitrace_classify(struct kineto_event *e, const char **name, size_t len)
{
	static const char *const calls[] = {"ze", "zes", "zet", "cl", "ur"};
	const char *at = *name, *bytes;
	uint64_t n = 0;

	for (size_t i = 0; e->class == KINETO_OP && i < AIF_ARRAY_LEN(calls); i++)
		if (begins(at, len, calls[i]))
			e->class = KINETO_CALL;
	if (e->class != KINETO_KERNEL || e->cat.len != 6 || memcmp(e->cat.data, "gpu_op", 6))
		return len;
	if (len > 8 && !memcmp(at, "Tile #", 6)) {
		const char *colon = memmem(at, len, ": ", 2);

		if (colon && (size_t)(colon + 2 - at) < len) {
			len -= (size_t)(colon + 2 - at);
			*name = at = colon + 2;
		}
	}
	if (e->has_id) {
		e->has_correlation = true;
		e->correlation = e->id;
	}
	if (!begins(at, len, "zeCommandList") && !begins(at, len, "clEnqueue"))
		return len;
	if (has(at, len, "Fill"))
		e->class = KINETO_FILL;
	else if (has(at, len, "Copy") || has(at, len, "ReadBuffer") ||
		 has(at, len, "WriteBuffer") || has(at, len, "ReadImage") ||
		 has(at, len, "WriteImage"))
		e->class = KINETO_COPY;
	bytes = memmem(at, len, "[", 1);
	if (bytes && has(bytes, (size_t)(at + len - bytes), " bytes]")) {
		for (const char *p = bytes + 1; *p >= '0' && *p <= '9' && n < UINT64_MAX / 16; p++)
			n = n * 10 + (uint64_t)(*p - '0');
		e->bytes = n;
	}
	return len;
}

enum aif_launch_kind kineto_exec_kind(const struct kineto_event *e, const char *name, size_t len)
{
	if (e->class == KINETO_KERNEL)
		return AIF_LAUNCH_KERNEL;
	if (has(name, len, "Allocation"))
		return AIF_LAUNCH_ALLOCATE;
	if (has(name, len, "Release"))
		return AIF_LAUNCH_RELEASE;
	/* Exports have an AIU's fill, which allocates, among its copies. */
	if (e->class == KINETO_FILL || begins(name, len, "Memset ("))
		return AIF_LAUNCH_FILL;
	if (len > 5 && !memcmp(name + len - 5, " DmaI", 5))
		return AIF_LAUNCH_WRITE;
	if (len > 5 && !memcmp(name + len - 5, " DmaO", 5))
		return AIF_LAUNCH_READ;
	if (begins(name, len, "clEnqueueRead"))
		return AIF_LAUNCH_READ;
	if (begins(name, len, "clEnqueueWrite"))
		return AIF_LAUNCH_WRITE;
	return copy_kind(name, len);
}
