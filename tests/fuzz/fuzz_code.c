/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/filter_check.h"
#include "record/ingest/elf_peek.h"
#include "symbolize/spirv.h"
#include "unwind/go_stack.h"

#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Code and files of a program that are looked at while it runs: seccomp filters before they are installed, the facts of an ELF
 * file that the recorder wants at once, SPIR-V modules, Go's calls of C. The first byte says which.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILTER, ELF, SPIRV, GO, KINDS };

static void filter(const uint8_t *data, size_t size)
{
	unsigned len = (unsigned)AIF_MIN(size / sizeof(struct sock_filter), (size_t)4096);
	struct sock_filter *f = malloc(len * sizeof(*f) + 1);
	uint64_t answer;

	memcpy(f, data, len * sizeof(*f));
	for (int nr = 0; nr < 16; nr++) {
		const struct aif_filter_call call = {
			.nr = nr * 30, .known = (uint32_t)nr * 4, .args = {1, 2, 3, 4, 5, 6}};

		answer = aif_filter_run(f, len, &call);
		if (answer != AIF_FILTER_UNKNOWN && answer > UINT32_MAX)
			abort();
	}
	if (aif_filter_check(f, len) > AIF_FILTER_ALLOWS_ALL)
		abort();
	free(f);
}

static void elf(const uint8_t *data, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	struct aif_elf_peek e;
	uint64_t bias;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (aif_elf_peek(fd, &e) == 0) {
		if (strnlen(e.interp, sizeof(e.interp)) == sizeof(e.interp) ||
		    strnlen(e.build_id, sizeof(e.build_id)) == sizeof(e.build_id) ||
		    e.loads_len > AIF_ARRAY_LEN(e.loads))
			abort();
		(void)aif_elf_needs(fd, &e, "libOpenCL");
		(void)aif_elf_bias(&e, 0x7f0000001000, 0x1000, &bias);
	}
	close(fd);
}

static void spirv(const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size + !size);

	memcpy(bytes, data, size);
	(void)aif_spirv_is(bytes, size);
	(void)aif_spirv_has_lines(bytes, size);
	free(bytes);
}

static void go(const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size + !size);
	const struct aif_span code = {bytes, bytes + size};
	struct aif_go_switch s;

	memcpy(bytes, data, size);
	(void)aif_go_switch(code, &s);
	for (size_t i = 0; i <= AIF_MIN(size, (size_t)8); i++)
		(void)aif_go_is_first(code, (uint64_t)(uintptr_t)(bytes + i));
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	switch (data[0] % KINDS) {
	case FILTER:
		filter(data + 1, size - 1);
		break;
	case ELF:
		elf(data + 1, size - 1);
		break;
	case SPIRV:
		spirv(data + 1, size - 1);
		break;
	default:
		go(data + 1, size - 1);
		break;
	}
	return 0;
}
