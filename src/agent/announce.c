/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/announce.h"

#include "agent/emit.h"
#include "agent/sandbox.h"
#include "base/build_id.h"
#include "unwind/jit_elf.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The build id in hexadecimal, from the module's notes in memory; "" if it has none. */
static void build_id_of(const struct aif_unwind_module *m, char *text, size_t size)
{
	const ElfW(Phdr) *ph = m->phdrs;

	*text = '\0';
	for (unsigned i = 0; ph && i < m->phnum && !*text; i++) {
		const void *notes = ph[i].p_type == PT_NOTE
					    ? aif_segment_in_memory(&ph[i], m->base, ph, m->phnum)
					    : NULL;

		if (notes)
			aif_build_id_text(notes, ph[i].p_filesz, AIF_IS_BIG, text, size);
	}
}

/* A library that was loaded by a relative path, as seen from here and now: the recorder is elsewhere. If the
 * program has changed its directory since, no such file is found, or one with another build id. */
static const char *absolute(const char *path, char *to, size_t size)
{
	long n = syscall(SYS_getcwd, to, size);
	size_t len = strlen(path);

	/* n is with its terminator, whose place the slash takes. */
	if (n <= 0 || to[0] != '/' || (size_t)n + len + 1 > size)
		return path;
	to[n - 1] = '/';
	memcpy(to + n, path, len + 1);
	return to;
}

static bool announce(struct aif_thread *t, const struct aif_unwind_module *m)
{
	char build_id[129], exe[4096];
	const char *path = m->path;
	bool is_vdso = !strncmp(path, "linux-vdso", 10) || !strncmp(path, "linux-gate", 10),
	     may_call = !aif_sandbox_may_be_on();

	if (!may_call) {
		; /* as it is, though that may be less than its path */
	} else if (!*path) {
		/* The link of this thread is read: a main thread that has ended has none any
		 * more. */
		ssize_t n = readlink("/proc/thread-self/exe", exe, sizeof(exe) - 1);

		exe[n < 0 ? 0 : n] = '\0';
		path = exe;
	} else if (*path != '/' && !is_vdso) {
		path = absolute(path, exe, sizeof(exe));
	}
	build_id_of(m, build_id, sizeof(build_id));
	return aif_emit_module(t, m, path, is_vdso, build_id);
}

static bool is_announced(const struct aif_announced *a, const struct aif_unwind_module *m)
{
	for (uint32_t i = 0; i < a->len; i++)
		if (a->module[i].lo == m->lo && a->module[i].hi == m->hi)
			return true;
	return false;
}

/* A JIT compiler's function, if it tells debuggers of it. Again with each new stack: meanwhile another may have
 * lain at its place. */
static void announce_jit(struct aif_thread *t, uint64_t pc)
{
	struct aif_jit_symbol f;

	if (aif_unwinder_jit_symbol(aif_agent.session.unwinder, pc, &f))
		aif_emit_jit(t, f.lo, f.hi, f.name);
}

void aif_announce_modules(struct aif_thread *t, const uint64_t *pcs, unsigned depth)
{
	struct aif_announced *a = &t->announced;
	struct aif_unwinder *u = aif_agent.session.unwinder;
	struct aif_unwind_module m = {0};
	uint32_t unwind_generation = aif_unwinder_generation(u);

	/* Another module may lie where one was: tell them all again. */
	if (a->unwind_generation != unwind_generation) {
		a->unwind_generation = unwind_generation;
		a->len = 0;
	}
	for (unsigned i = 0; i < depth; i++) {
		uint64_t pc = pcs[i] - 1;

		if (pc >= m.lo && pc < m.hi)
			continue;
		if (!aif_unwinder_module(u, pc, &m)) {
			m = (struct aif_unwind_module){0};
			announce_jit(t, pc);
			continue;
		}
		if (!is_announced(a, &m) && announce(t, &m) && a->len < AIF_ARRAY_LEN(a->module))
			a->module[a->len++] = (struct aif_announced_module){.lo = m.lo, .hi = m.hi};
	}
}
