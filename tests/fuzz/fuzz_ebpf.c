/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ebpf/event_read.h"
#include "record/ebpf/processes.h"
#include "symbolize/kallsyms.h"

#include <stdlib.h>
#include <string.h>

/* Feeds the input of record --ebpf: records of the side-band and the processes that they make, events of the BPF
 * programs, lines of /proc/kallsyms. The first byte says which; what was read lies within what was given. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void sideband(struct aif_drainer *d, struct aif_ebpf_processes *ps, const uint8_t *data,
		     size_t size)
{
	while (size > 2) {
		size_t len = AIF_MIN((size_t)data[0] | (size_t)(data[1] & 3) << 8, size - 2);
		uint8_t *record = malloc(len + !len);
		struct aif_sideband s;

		memcpy(record, data + 2, len);
		aif_sideband_read(record, len, &s);
		if (s.kind == AIF_SIDEBAND_MAP) {
			const uint8_t *path = (const uint8_t *)s.path;

			if (path < record || path + strlen(s.path) >= record + len || s.lo >= s.hi)
				abort();
		}
		aif_ebpf_processes_report(d, ps, &s);
		free(record);
		data += 2 + len;
		size -= 2 + len;
	}
	if (ps->len - ps->free_len > AIF_EBPF_PROCESSES)
		abort();
}

static void event(const uint8_t *data, size_t size)
{
	uint64_t *copy = malloc(size + !size);
	struct aif_ebpf_read r;
	volatile uint64_t sum = 0; /* what is read, is read */

	memcpy(copy, data, size);
	if (aif_ebpf_event_read(copy, size, &r)) {
		for (uint32_t i = 0; i < r.e.user_len; i++)
			sum += r.user[i];
		for (uint32_t i = 0; i < r.e.kernel_len; i++)
			sum += r.kernel[i];
		if (strlen(r.e.comm) >= AIF_EBPF_COMM)
			abort();
	}
	free(copy);
}

static void kallsyms(const uint8_t *data, size_t size)
{
	struct aif_kallsyms k = {0};
	char *text = malloc(size + 1), *line;

	memcpy(text, data, size);
	text[size] = '\0';
	for (char *at = text; (line = strsep(&at, "\n")) != NULL;)
		aif_kallsyms_line(&k, line);
	aif_kallsyms_seal(&k);
	for (size_t i = 0; i < k.len; i++) {
		const struct aif_kallsym *found = aif_kallsyms_find(&k, k.at[i].address);

		if (found && found->address != k.at[i].address)
			abort();
	}
	aif_kallsyms_find(&k, 0);
	aif_kallsyms_finish(&k);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct aif_ebpf_processes ps = {.own_pid = 1, .host = ""};
	struct aif_store store;
	struct aif_drainer d = {.store = &store};

	if (!size)
		return 0;
	if (data[0] % 4 == 2) {
		event(data + 1, size - 1);
	} else if (data[0] % 4 == 3) {
		kallsyms(data + 1, size - 1);
	} else {
		if (aif_store_init(&store, 0) < 0)
			return 0;
		ps.all = data[0] % 4;
		sideband(&d, &ps, data + 1, size - 1);
		aif_ebpf_processes_finish(&d, &ps);
		aif_store_finish(&store);
	}
	return 0;
}
