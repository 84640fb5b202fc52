/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/python.h"
#include "remote/walk.h"

#include <string.h>

/*
 * Another process's memory of any bytes: whatever its headers, tables and Python structures say, reading comes to an end and what
 * it says holds together. The memory is the input, again and again, with pointers into itself: each word whose top bits are zero
 * is an offset.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE   UINT64_C(0x400000)
#define LENGTH (UINT64_C(64) << 12)

struct input {
	const uint8_t *data;
	size_t size;
};

static size_t read_input(void *arg, uint64_t at, void *to, size_t n)
{
	const struct input *in = arg;

	if (at < BASE || at - BASE >= LENGTH || !in->size)
		return 0;
	for (size_t i = 0; i < n; i++)
		((uint8_t *)to)[i] = in->data[(at - BASE + i) % in->size];
	return n;
}

static void walk(struct aif_remote_modules *m, const struct input *in)
{
	uint64_t pcs[32], sps[32];
	uint8_t stack[1024];

	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = in->data[i % in->size];
	for (unsigned k = 0; k < 4; k++) {
		const struct aif_remote_regs regs = {
			.regs = {BASE + in->data[0] * 16u, BASE + 64, BASE + 128},
			.knows_more = k & 1};
		const struct aif_remote_stack s = {.at = BASE,
						   .len = sizeof(stack),
						   .bytes = stack,
						   .may_read = k & 2,
						   .may_search = k & 2};
		struct aif_remote_walk w = aif_remote_unwind(m, &regs, &s, pcs, sps, 32);

		if (w.depth < 1 || w.depth > 32)
			__builtin_trap();
	}
}

static void python(struct aif_remote_modules *m)
{
	const uint32_t tids[] = {1, 2, 3, 77};
	struct aif_remote_python py;

	if (aif_remote_python_find(&py, m, tids, AIF_ARRAY_LEN(tids)) == AIF_REMOTE_PYTHON_NONE) {
		/* The rest at least, of each version. */
		for (unsigned minor = 8; minor <= 12; minor++) {
			struct aif_python_frame frames[16];
			unsigned n;
			bool whole;

			aif_python_layout_known(minor, &py.layout);
			py.type_code = py.type_text = py.type_bytes = BASE;
			n = aif_remote_python_walk(&py, BASE + 8 * minor, BASE, frames, 16, &whole);
			if (n > 16)
				__builtin_trap();
			for (unsigned i = 0; i < n; i++)
				aif_remote_python_resolve(&py, frames[i].code);
			aif_remote_python_resolve(&py, BASE + 16);
		}
	}
	aif_remote_python_finish(&py);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct aif_remote_memory *memory;
	struct aif_remote_modules m;
	char maps[] = "400000-440000 r-xp 00000000 fe:01 7 /usr/bin/python3.11\n";
	uint64_t at, n;

	if (!size)
		return 0;
	memory = aif_remote_memory_new(0, 20000);
	if (!memory)
		return 0;
	memory->read = read_input;
	memory->arg = &in;
	if (aif_remote_modules_init(&m, memory, maps) == 0) {
		for (uint64_t pc = BASE; pc < BASE + 4096; pc += 97)
			aif_remote_row(&m, pc);
		if (m.len)
			aif_remote_symbol(&m, &m.modules[0], "_PyRuntime", &at, &n);
		walk(&m, &in);
		python(&m);
	}
	aif_remote_modules_finish(&m);
	free(memory);
	return 0;
}
