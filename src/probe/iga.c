/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/iga.h"

#include "probe/tool.h"
#include "profile/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* IGA 1.1.0 takes 1 ms for 100 instructions; the largest kernels have some 10,000. */
#define CODE_MAX (UINT64_C(1) << 20)
/* Each instruction, of 8 bytes at least, is a line of at most this. */
#define LINE_MAX_BYTES      512
#define TEXT_MAX(code_size) ((code_size) / 8 * LINE_MAX_BYTES)
#define MEMORY_MAX          (UINT64_C(1) << 30)
#define SECONDS_MAX         10

/*
 * IGA's interface, from iga/kv.h and iga/iga.h of version 1.1.0, which C cannot include. A
 * platform is its major version << 24 and a number. `swsb` 0: as the platform has it.
 */
enum {
	XE_LP = 0x1000000,
	XE_HP,
	XE_HPG,
	XE_HPC = 0x1000004,
	XE2 = 0x2000000,
	XE3 = 0x3000000,
	OPTION_LDST =
		0x40, /* "load.ugm.d32.a64 (16|M0) r6:2 [r4:4]" instead of "send" with descriptors */
};

struct api {
	void *(*create)(int platform, const void *bytes, size_t n, int *ret_status, char *errors,
			size_t errors_max, int swsb);
	int32_t (*size)(const void *kv, int32_t pc); /* 0: there is none */
	size_t (*syntax)(const void *kv, int32_t pc, char *to, size_t max, uint32_t options,
			 const char *(*label)(int32_t pc, void *arg), void *arg);
};

static bool load(struct api *a)
{
	/* Only the first has been seen; the second is that of IGC 2. */
	static const char *const names[] = {"libiga64.so.1", "libiga64.so.2"};
	void *lib = NULL;

	for (size_t i = 0; i < AIF_ARRAY_LEN(names) && !lib; i++)
		lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return false;
	*(void **)&a->create = dlsym(lib, "kv_create");
	*(void **)&a->size = dlsym(lib, "kv_get_inst_size");
	*(void **)&a->syntax = dlsym(lib, "kv_get_inst_syntax");
	return a->create && a->size && a->syntax;
}

static int platform_of(const char *arch)
{
	static const struct {
		const char *arch;
		int platform;
	} known[] = {
		{"xe_lp", XE_LP},   {"xe_hp", XE_HP}, {"xe_hpg", XE_HPG}, {"xe_lpg", XE_HPG},
		{"xe_hpc", XE_HPC}, {"xe2", XE2},     {"xe3", XE3},
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(known); i++)
		if (strcmp(known[i].arch, arch) == 0)
			return known[i].platform;
	return -1;
}

/* ---- in the child
 * -------------------------------------------------------------------------------- */

enum { CHILD_WELL, CHILD_FAILED, CHILD_NO_LIBRARY };

static void limit(int what, rlim_t to)
{
	struct rlimit l = {to, to};

	setrlimit((__rlimit_resource_t)what, &l);
}

static void limit_all(void)
{
	limit(RLIMIT_CPU, SECONDS_MAX);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_FSIZE, 0);
	limit(RLIMIT_NOFILE, 0);
#ifndef __SANITIZE_ADDRESS__ /* whose shadow is larger */
	limit(RLIMIT_AS, MEMORY_MAX);
#endif
}

static const char *label(int32_t pc, void *arg)
{
	snprintf(arg, 16, "+0x%04x", (unsigned)pc);
	return arg;
}

/* Puts an instruction's text on one line: without comment and alignment, and without the mark
 * of a compacted one. */
static void tidy(char *text)
{
	static const char compacted[] = "Compacted";
	char *to = text, *at = strstr(text, "//");

	if (at)
		*at = '\0';
	at = strstr(text, compacted);
	if (at && at > text && at[-1] == '{' && at[strlen(compacted)] == '}')
		at[-1] = '\0';
	else if (at && at[strlen(compacted)] == ',')
		memset(at, ' ', strlen(compacted) + 1);
	for (const char *from = text; *from; from++) {
		bool is_space = *from == ' ' || *from == '\t' || *from == '\n';

		if (!is_space)
			*to++ = *from;
		else if (to > text && to[-1] != ' ')
			*to++ = ' ';
	}
	while (to > text && to[-1] == ' ')
		to--;
	*to = '\0';
}

static int disassemble(const struct aif_code *code, int platform, FILE *out)
{
	char text[LINE_MAX_BYTES - 32], errors[1024] = "", place[16];
	struct api a;
	int status = 0;
	int32_t size;
	void *kv;

	if (!load(&a))
		return CHILD_NO_LIBRARY;
	limit_all();
	kv = a.create(platform, code->bytes, code->size, &status, errors, sizeof(errors), 0);
	if (!kv)
		return CHILD_FAILED;
	for (int32_t pc = 0; (uint64_t)pc < code->size && (size = a.size(kv, pc)) > 0; pc += size) {
		text[0] = '\0';
		a.syntax(kv, pc, text, sizeof(text), OPTION_LDST, label, place);
		text[sizeof(text) - 1] = '\0';
		tidy(text);
		fprintf(out, "/*%04" PRIx32 "*/ %s ;\n", (uint32_t)pc, text);
	}
	return fflush(out) == 0 ? CHILD_WELL : CHILD_FAILED;
}

/* ---- outside of it
 * ------------------------------------------------------------------------------- */

static int ask(const struct aif_code *code, int platform, struct aif_buf *ret)
{
	pid_t pid;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -EIO;
	pid = fork(); /* a view has one thread beside one that allocates nothing (base/spill.h) */
	if (pid == 0) {
		FILE *out = fdopen(fds[1], "w");

		_exit(out ? disassemble(code, platform, out) : CHILD_FAILED);
	}
	close(fds[1]);
	return aif_tool_output(pid, fds[0], TEXT_MAX(code->size), ret);
}

void aif_iga_text(struct aif_iga *i, const struct aif_code *code, const char *arch,
		  struct aif_buf *ret)
{
	int platform = platform_of(arch);
	char name[80];

	if (!code->size || code->size > CODE_MAX || platform < 0)
		return;
	snprintf(name, sizeof(name), "iga.%s.%" PRIx64 ".%016" PRIx64, arch, code->size,
		 aif_hash_bytes(code->bytes, code->size));
	if (aif_profile_cache_get(i->p, name, ret) == 0)
		return;
	aif_buf_clear(ret);
	if (i->is_missed)
		return;
	if (ask(code, platform, ret) == 0)
		aif_profile_cache_put(i->p, name, ret->data, ret->len);
	else
		i->is_missed = true;
}
