/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/symbolize.h"

#include "symbolize/pocl.h"
#include "symbolize/pocl_twin.h"
#include "symbolize/debugdata.h"
#include "symbolize/symbolizer.h"
#include "base/map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	MAX_CODE = 16 << 20,
	/* Bytes that libdw may keep in memory, over all modules (dwarf.c). Callers that ask for
	 * the addresses of one module after another need those of one. */
	MAX_DWARF_CACHED = 64 << 20,
	/* Files up to this size are read whole, so that their descriptors can be closed: PoCL
	 * makes one of 10 to 40 KiB for each kernel. So many bytes in all, then descriptors stay
	 * open. */
	KEEP_FILE = 256 << 10,
	KEEP_IN_ALL = 64 << 20,
};

/*
 * CPU time that one file may take. libLLVM with its debug information takes 1.5 s. Who has one file
 * that takes too long may have thousands: each such file halves what others may take.
 */
#define FILE_NS     (10 * AIF_NS_PER_S)
#define FILE_MIN_NS (AIF_NS_PER_S / 10)

struct aif_symbols {
	char *debug_dir;
	struct aif_map by_id;
	struct aif_symbols_module **modules;
	size_t modules_len, modules_cap;
	size_t kept;         /* bytes of files in memory */
	size_t dwarf_cached; /* bytes, of all modules */
	uint64_t uses, drops;
	unsigned slow_len; /* modules that took too long */
	const atomic_bool *cancel;
	struct aif_naming_result result;
	size_t levels_cap;
};

int aif_symbols_new(struct aif_symbols **ret)
{
	struct aif_symbols *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	r = aif_symbols_debug_dir(s, AIF_DEBUG_DIR);
	if (r < 0)
		free(s);
	else
		*ret = s;
	return r;
}

void aif_symbols_cancel_by(struct aif_symbols *s, const atomic_bool *cancel)
{
	s->cancel = cancel;
}

int aif_symbols_debug_dir(struct aif_symbols *s, const char *dir)
{
	char *own = strdup(dir);

	if (!own)
		return -ENOMEM;
	free(s->debug_dir);
	s->debug_dir = own;
	return 0;
}

static void module_free(struct aif_symbols_module *m)
{
	if (!m)
		return;
	aif_dwarf_free(m->dwarf);
	for (size_t i = 0; i < m->twins_len; i++)
		aif_pocl_twin_free(m->twins[i].twin);
	aif_elf_symbols_finish(&m->symbols);
	aif_fdes_finish(&m->fdes);
	aif_elf_finish(&m->debug);
	aif_elf_finish(&m->debugdata);
	aif_elf_finish(&m->elf);
	free(m->path);
	free(m);
}

void aif_symbols_free(struct aif_symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->modules_len; i++)
		module_free(s->modules[i]);
	free(s->modules);
	aif_map_finish(&s->by_id);
	aif_buf_finish(&s->result.text);
	aif_buf_finish(&s->result.scratch);
	free(s->result.levels);
	free(s->debug_dir);
	free(s);
}

static struct aif_symbols_module *module_new(struct aif_symbols *s, const char *path)
{
	struct aif_symbols_module *m = calloc(1, sizeof(*m));
	static const char deleted[] = " (deleted)";
	const char *slash;

	if (!m)
		return NULL;
	m->elf.fd = m->debug.fd = m->debugdata.fd = -1;
	m->debug_dir = &s->debug_dir;
	m->path = strdup(path ? path : "");
	if (!m->path) {
		free(m);
		return NULL;
	}
	m->is_kernel = aif_pocl_is_kernel_path(m->path);
	slash = strrchr(m->path, '/');
	m->label = slash ? slash + 1 : *m->path ? m->path : "unknown";
	m->label_len = strlen(m->label);
	if (m->label_len > strlen(deleted) &&
	    !strcmp(m->label + m->label_len - strlen(deleted), deleted))
		m->label_len -= strlen(deleted);
	/* "[vdso]" is written so by the kernel */
	if (m->label_len > 2 && m->label[0] == '[' && m->label[m->label_len - 1] == ']') {
		m->label++;
		m->label_len -= 2;
	}
	return m;
}

static int add_module(struct aif_symbols *s, uint32_t id, const char *path,
		      struct aif_symbols_module **ret)
{
	struct aif_symbols_module *m;
	uint64_t known;
	int r;

	if (aif_map_get(&s->by_id, id, &known))
		return -EEXIST;
	r = aif_grow(&s->modules, &s->modules_cap, s->modules_len + 1, sizeof(*s->modules));
	if (r < 0)
		return r;
	m = module_new(s, path);
	if (!m)
		return -ENOMEM;
	r = aif_map_put(&s->by_id, id, s->modules_len);
	if (r < 0) {
		module_free(m);
		return r;
	}
	s->modules[s->modules_len++] = m;
	*ret = m;
	return 0;
}

static bool build_id_differs(const struct aif_elf *elf, const char *build_id)
{
	char hex[2 * sizeof(elf->build_id) + 1] = "";

	for (size_t i = 0; i < elf->build_id_len; i++)
		snprintf(hex + 2 * i, 3, "%02x", elf->build_id[i]);
	return strcasecmp(hex, build_id) != 0;
}

int aif_symbols_module(struct aif_symbols *s, uint32_t module, int fd, const char *path,
		       const char *build_id)
{
	struct aif_symbols_module *m;
	int r = add_module(s, module, path, &m);

	if (r < 0 || fd < 0) {
		if (fd >= 0)
			close(fd);
		return r;
	}
	r = aif_elf_init(&m->elf, fd, s->kept < KEEP_IN_ALL ? KEEP_FILE : 0);
	if (r < 0)
		return r;
	if (build_id && *build_id && build_id_differs(&m->elf, build_id)) {
		aif_elf_finish(&m->elf);
		return -ESTALE;
	}
	if (m->elf.bytes)
		s->kept += m->elf.size;
	m->elf.effort = &m->effort;
	m->have_elf = true;
	return 0;
}

int aif_symbols_image(struct aif_symbols *s, uint32_t module, const void *bytes, size_t n,
		      const char *path)
{
	struct aif_symbols_module *m;
	int r = add_module(s, module, path, &m);

	if (r == 0)
		r = aif_elf_init_bytes(&m->elf, bytes, n);
	if (r == 0)
		m->have_elf = true;
	return r;
}

int aif_symbols_vdso(struct aif_symbols *s, uint32_t module, const char *build_id)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t lo, hi;
	char line[4200];
	int r = -ENOENT;

	while (maps && r == -ENOENT && fgets(line, sizeof(line), maps))
		if (strstr(line, "[vdso]") && sscanf(line, "%" SCNx64 "-%" SCNx64, &lo, &hi) == 2)
			r = aif_symbols_image(s, module, (const void *)(uintptr_t)lo, hi - lo,
					      "[vdso]");
	if (maps)
		fclose(maps);
	if (!r && build_id && build_id_differs(&s->modules[s->modules_len - 1]->elf, build_id)) {
		aif_elf_finish(&s->modules[s->modules_len - 1]->elf);
		s->modules[s->modules_len - 1]->have_elf = false;
		r = -ESTALE;
	}
	return r;
}

static struct aif_symbols_module *find_module(const struct aif_symbols *s, uint32_t module)
{
	uint64_t at;

	return aif_map_get(&s->by_id, module, &at) ? s->modules[at] : NULL;
}

static void find_debug_file(struct aif_symbols_module *m)
{
	if (m->tried_debug || !m->have_elf)
		return;
	m->tried_debug = true;
	aif_debugfile_find(&m->elf, m->path, *m->debug_dir, &m->debug);
}

static bool has_section(const struct aif_elf *e, const char *name)
{
	const struct aif_elf_section *s = aif_elf_section(e, name);

	return s && s->type != SHT_NOBITS && s->size;
}

int aif_module_symbols(struct aif_symbols_module *m, const struct aif_elf_symbols **ret)
{
	int r = 0;

	if (!m->have_symbols && m->have_elf) {
		const struct aif_elf *from = &m->elf, *more = NULL;

		if (!has_section(from, ".symtab")) {
			find_debug_file(m);
			if (has_section(&m->debug, ".symtab"))
				from = &m->debug;
			else if (aif_debugdata_open(&m->elf, &m->debugdata) == 0)
				more = &m->debugdata;
		}
		r = aif_elf_symbols_init(&m->symbols, from, more);
	}
	if (r < 0)
		return r;
	m->have_symbols = true;
	*ret = &m->symbols;
	return 0;
}

int aif_module_fdes(struct aif_symbols_module *m, const struct aif_fdes **ret)
{
	int r = 0;

	if (!m->have_fdes && m->have_elf)
		r = aif_fdes_init(&m->fdes, &m->elf);
	if (r < 0)
		return r;
	m->have_fdes = true;
	*ret = &m->fdes;
	return 0;
}

int aif_module_dwarf(struct aif_symbols_module *m, struct aif_dwarf **ret)
{
	int r = 0;

	if (!m->tried_dwarf && m->have_elf) {
		const struct aif_elf *from = &m->elf;

		if (!has_section(from, ".debug_info")) {
			find_debug_file(m);
			from = has_section(&m->debug, ".debug_info") ? &m->debug : NULL;
		}
		if (from)
			r = aif_dwarf_new(from, &m->dwarf);
	}
	if (r == -ENOMEM)
		return r;
	m->tried_dwarf = true;
	*ret = m->dwarf;
	return 0;
}

/* The module whose libdw was not used for the longest time, `but` excepted. NULL: no other has any. */
static struct aif_symbols_module *find_oldest(const struct aif_symbols *s,
					      const struct aif_symbols_module *but)
{
	struct aif_symbols_module *oldest = NULL;

	for (size_t i = 0; i < s->modules_len; i++) {
		struct aif_symbols_module *m = s->modules[i];

		if (m != but && m->dwarf && aif_dwarf_cached(m->dwarf) &&
		    (!oldest || m->used < oldest->used))
			oldest = m;
	}
	return oldest;
}

/* Libdw keeps what it has decoded: its handles are dropped, the one in use last, and that only
 * if it has decoded as much since it was opened. */
static void bound_memory(struct aif_symbols *s, struct aif_symbols_module *now)
{
	size_t own = aif_dwarf_cached(now->dwarf);
	struct aif_symbols_module *m;

	s->dwarf_cached += own;
	s->dwarf_cached -= now->dwarf_cached;
	now->dwarf_cached = own;
	now->used = ++s->uses;
	while (s->dwarf_cached > MAX_DWARF_CACHED && (m = find_oldest(s, now)) != NULL) {
		aif_dwarf_drop(m->dwarf);
		s->dwarf_cached -= m->dwarf_cached;
		m->dwarf_cached = 0;
		s->drops++;
	}
	if (own - AIF_MIN(own, aif_dwarf_opened(now->dwarf)) > MAX_DWARF_CACHED) {
		aif_dwarf_drop(now->dwarf);
		s->dwarf_cached -= own;
		now->dwarf_cached = 0;
	}
}

static void begin(const struct aif_symbols *s, struct aif_symbols_module *m)
{
	m->effort.cancel = s->cancel;
	m->effort.limit_ns = AIF_MAX(FILE_NS >> AIF_MIN(s->slow_len, 32u), FILE_MIN_NS);
	aif_effort_begin(&m->effort);
}

static void end(struct aif_symbols *s, struct aif_symbols_module *m)
{
	bool was_over = m->is_slow;

	aif_effort_end(&m->effort);
	m->is_slow = m->effort.is_over;
	s->slow_len += m->is_slow && !was_over;
}

uint64_t aif_symbols_drops(const struct aif_symbols *s)
{
	return s->drops;
}

bool aif_symbols_is_slow(const struct aif_symbols *s, uint32_t module)
{
	const struct aif_symbols_module *m = find_module(s, module);

	return m && m->is_slow;
}

/* Into s->result. */
static int resolve(struct aif_symbols *s, struct aif_symbols_module *m, uint64_t address,
		   unsigned max)
{
	struct aif_naming_result *res = &s->result;
	int r;

	r = aif_grow(&res->levels, &s->levels_cap, max, sizeof(*res->levels));
	if (r < 0)
		return r;
	aif_buf_clear(&res->text);
	res->n = 0;
	res->max = max;
	res->named = true;
	begin(s, m);
	for (size_t i = 0; r == 0 && aif_symbolizers[i]; i++) {
		/* The last one needs no file. */
		if (m->effort.is_over && aif_symbolizers[i + 1])
			continue;
		r = aif_symbolizers[i]->resolve(m, address, res);
	}
	end(s, m);
	if (m->dwarf)
		bound_memory(s, m);
	if (r < 0)
		return r;
	return res->text.failed ? -ENOMEM : 0;
}

int aif_symbols_resolve(struct aif_symbols *s, uint32_t module, uint64_t address,
			struct aif_symbol *ret, unsigned max)
{
	struct aif_symbols_module *m = find_module(s, module);
	const struct aif_naming_result *res = &s->result;
	int r;

	if (!m)
		return -ENOENT;
	if (!max)
		return -EINVAL;
	r = resolve(s, m, address, max);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < res->n; i++) {
		const struct aif_naming_level *l = &res->levels[i];
		const char *text = (const char *)res->text.data;

		ret[i] = (struct aif_symbol){
			.name = text + l->name,
			.file = l->file == SIZE_MAX ? NULL : text + l->file,
			.line = l->line,
			.named = res->named,
		};
	}
	return (int)res->n;
}

int aif_symbols_function(struct aif_symbols *s, uint32_t module, uint64_t address,
			 uint64_t *ret_start, uint64_t *ret_size, const char **ret_name)
{
	struct aif_symbols_module *m = find_module(s, module);
	struct aif_symbol symbols[2]; /* with one only, the innermost would be it */
	uint64_t start, stop;
	int r = 0;

	if (!m)
		return -ENOENT;
	begin(s, m);
	for (size_t i = 0; r == 0 && aif_symbolizers[i] && !m->effort.is_over; i++)
		r = aif_symbolizers[i]->extent(m, address, &start, &stop);
	end(s, m);
	if (r == 0)
		return -ENOENT;
	if (r > 0)
		r = aif_symbols_resolve(s, module, address, symbols, AIF_ARRAY_LEN(symbols));
	if (r < 0)
		return r;
	*ret_start = start;
	*ret_size = stop - start;
	*ret_name = symbols[0].name;
	return 0;
}

int aif_symbols_code(struct aif_symbols *s, uint32_t module, uint64_t start, uint64_t size,
		     struct aif_buf *ret)
{
	struct aif_symbols_module *m = find_module(s, module);
	void *to;
	int r;

	if (!m || !m->have_elf)
		return -ENOENT;
	if (size > MAX_CODE)
		return -E2BIG;
	to = aif_buf_reserve(ret, size);
	if (!to)
		return -ENOMEM;
	r = aif_elf_read_at(&m->elf, start, to, size);
	if (r == 0)
		ret->len += size;
	return r;
}

int aif_symbols_file(struct aif_symbols *s, uint32_t module, size_t max, struct aif_buf *ret,
		     uint64_t *ret_size)
{
	struct aif_symbols_module *m = find_module(s, module);
	size_t size;
	void *to;
	int r;

	if (!m || !m->have_elf)
		return -ENOENT;
	*ret_size = m->elf.size;
	if (m->elf.size > max)
		return 0;
	size = (size_t)m->elf.size;
	to = aif_buf_reserve(ret, size);
	r = to ? aif_elf_read(&m->elf, 0, to, size) : -ENOMEM;
	if (r == 0)
		ret->len += size;
	return r;
}

const char *aif_symbols_arch(const struct aif_symbols *s, uint32_t module)
{
	static const struct {
		uint16_t machine;
		const char *name;
	} names[] = {
		{EM_X86_64, "x86_64"}, {EM_AARCH64, "aarch64"}, {EM_RISCV, "riscv64"},
		{EM_PPC64, "ppc64"},   {EM_S390, "s390x"},
	};
	const struct aif_symbols_module *m = find_module(s, module);

	for (size_t i = 0; m && m->have_elf && i < AIF_ARRAY_LEN(names); i++)
		if (names[i].machine == m->elf.machine)
			return names[i].name;
	return "";
}
