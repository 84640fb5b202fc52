/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/image.h"

#include "base/buf.h"
#include "unwind/ehframe.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define MODULES_MAX 8192
#define PHDRS_MAX   64
#define NOTES_MAX   4096
/* Bounds for one module: the largest seen has 542 MB, 220,000 functions and 300,000 exported symbols. */
#define SPAN_MAX    (UINT64_C(8) << 30)
#define TABLE_MAX   (UINT64_C(64) << 20)
#define SYMBOLS_MAX UINT64_C(2000000)
#define ENTRY_MAX   (UINT64_C(64) << 10)
#define CIE_MAX     UINT64_C(512)
/* Bytes of a stack in which return addresses are looked for: few stacks are longer. */
#define STACK_BYTES UINT64_C(65536)

/* Exported functions inside which a thread may hold a lock that pthread_create(), dlopen() or the agent's start need, or is
 * leaving the process. */
static const char *const unsafe_names[] = {
	"malloc",
	"free",
	"cfree",
	"calloc",
	"realloc",
	"reallocarray",
	"memalign",
	"aligned_alloc",
	"posix_memalign",
	"valloc",
	"pvalloc",
	"malloc_trim",
	"malloc_info",
	"malloc_stats",
	"mallinfo",
	"mallinfo2",
	"mallopt",
	"malloc_usable_size",
	"mallocx",
	"rallocx",
	"xallocx",
	"dallocx",
	"sdallocx",
	"nallocx",
	"mallctl",
	"je_malloc",
	"je_free",
	"tc_malloc",
	"tc_free",
	"mi_malloc",
	"mi_free",
	"dlopen",
	"dlmopen",
	"dlclose",
	"dlsym",
	"dlvsym",
	"dladdr",
	"dladdr1",
	"dlinfo",
	"dlerror",
	"dl_iterate_phdr",
	"_dl_find_object",
	"fork",
	"_Fork",
	"vfork",
	"__libc_fork",
	"posix_spawn",
	"posix_spawnp",
	"pthread_create",
	"pthread_exit",
	"pthread_atfork",
	"__register_atfork",
	"exit",
	"_exit",
	"_Exit",
	"quick_exit",
	"abort",
	"__cxa_finalize",
	"__cxa_atexit",
	"atexit",
	"__cxa_thread_atexit_impl",
	"__tls_get_addr",
	"setuid",
	"setgid",
	"setreuid",
	"setregid",
	"setresuid",
	"setresgid",
	"setgroups",
};

bool aif_image_read(const struct aif_image *im, uint64_t at, void *to, size_t len)
{
	const struct iovec local = {to, len};
	const struct iovec remote = {(void *)(uintptr_t)at, len};

	return process_vm_readv(im->pid, &local, 1, &remote, 1, 0) == (ssize_t)len;
}

/* Bits of an entry of /proc/PID/pagemap: the page is in memory, or swapped out (Documentation/admin-guide/mm/pagemap.rst). */
#define PAGE_IS_THERE (UINT64_C(3) << 62)
#define PAGES_MAX     32

size_t aif_image_stack_there(const struct aif_image *im, uint64_t at, size_t len)
{
	uint64_t entry[PAGES_MAX];
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), first = at / page;
	size_t pages = AIF_MIN((at + len - 1) / page - first + 1, (uint64_t)PAGES_MAX), i = 0;

	if (im->pagemap < 0)
		return len;
	if (pread(im->pagemap, entry, pages * sizeof(*entry), (off_t)(first * sizeof(*entry))) !=
	    (ssize_t)(pages * sizeof(*entry)))
		return 0;
	while (i < pages && entry[i] & PAGE_IS_THERE)
		i++;
	return i ? AIF_MIN((first + i) * page - at, len) : 0;
}

size_t aif_image_read_stack(const struct aif_image *im, uint64_t at, void *to, size_t len)
{
	size_t most, n = 0;

	if (at >= im->stack.at && at - im->stack.at < im->stack.len) {
		n = AIF_MIN(len, im->stack.len - (at - im->stack.at));
		memcpy(to, im->stack.bytes + (at - im->stack.at), n);
		return n;
	}
	most = len ? aif_image_stack_there(im, at, len) : 0;

	if (most && aif_image_read(im, at, to, most))
		return most;
	while (n < most) {
		size_t step = AIF_MIN(4096 - ((at + n) & 4095), most - n);

		if (!aif_image_read(im, at + n, (uint8_t *)to + n, step))
			break;
		n += step;
	}
	return n;
}

bool aif_image_write(const struct aif_image *im, uint64_t at, const void *from, size_t len)
{
	const struct iovec local = {(void *)(uintptr_t)from, len};
	const struct iovec remote = {(void *)(uintptr_t)at, len};

	return process_vm_writev(im->pid, &local, 1, &remote, 1, 0) == (ssize_t)len;
}

static const char *file_of(const struct aif_image_module *m)
{
	const char *slash = strrchr(m->path, '/');

	return slash ? slash + 1 : m->path;
}

static bool begins_with(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static void note_code(struct aif_image_module *m, uint64_t lo, uint64_t hi, bool is_code)
{
	if (!is_code)
		return;
	if (!m->code_hi)
		m->code_lo = lo;
	m->code_hi = hi;
}

/* Adds a line of the map: mappings of one file that follow each other are a module. */
static int add_mapping(struct aif_image *im, uint64_t lo, uint64_t hi, uint64_t offset,
		       const char *path, bool is_code)
{
	struct aif_image_module *last = im->modules ? &im->module[im->modules - 1] : NULL;
	const char *file;

	if (last && !strcmp(last->path, path) && offset && hi - last->lo <= SPAN_MAX) {
		last->hi = hi;
		note_code(last, lo, hi, is_code);
		return 0;
	}
	if (im->modules >= MODULES_MAX)
		return 0;
	if (aif_grow(&im->module, &im->cap, im->modules + 1, sizeof(*im->module)) < 0)
		return -ENOMEM;
	last = &im->module[im->modules++];
	*last = (struct aif_image_module){.lo = lo, .hi = hi};
	note_code(last, lo, hi, is_code);
	snprintf(last->path, sizeof(last->path), "%s", path);
	file = file_of(last);
	last->is_loader = begins_with(file, "ld-linux") || begins_with(file, "ld-2.");
	im->has_loader |= last->is_loader;
	im->has_musl |= begins_with(file, "ld-musl");
	return 0;
}

int aif_image_init(struct aif_image *im, pid_t pid)
{
	char name[64], *line = NULL;
	size_t size = 0;
	int r = 0;
	FILE *f;

	*im = (struct aif_image){.pid = pid};
	snprintf(name, sizeof(name), "/proc/%d/pagemap", (int)pid);
	im->pagemap = open(name, O_RDONLY | O_CLOEXEC);
	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	f = fopen(name, "re");
	if (!f)
		return -errno;
	while (!r && getline(&line, &size, f) > 0) {
		unsigned long lo, hi, offset;
		char path[256] = "", rights[5];

		if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %255[^\n]", &lo, &hi, rights, &offset,
			   path) < 4)
			continue;
		if (!strcmp(path, "[stack]"))
			im->stack_hi = hi;
		if (*path != '/' && strcmp(path, "[vdso]") != 0)
			continue;
		r = add_mapping(im, lo, hi, offset, path, strchr(rights, 'x') != NULL);
	}
	free(line);
	fclose(f);
	return r;
}

void aif_image_finish(struct aif_image *im)
{
	for (size_t i = 0; i < im->modules; i++) {
		struct aif_image_module *m = &im->module[i];

		if (m->copy)
			munmap(m->copy, m->hi - m->lo);
		free(m->unsafe);
	}
	free(im->module);
	if (im->pagemap >= 0)
		close(im->pagemap);
	*im = (struct aif_image){.pagemap = -1};
}

struct aif_image_module *aif_image_find(struct aif_image *im, uint64_t at)
{
	size_t lo = AIF_BISECT(mid, 0, im->modules, im->module[mid].lo <= at);

	return lo && at < im->module[lo - 1].hi ? &im->module[lo - 1] : NULL;
}

/* ---- headers --------------------------------------------------------------------------------- */

static bool is_inside(const struct aif_image_module *m, uint64_t at, uint64_t len)
{
	return at >= m->lo && at < m->hi && len <= m->hi - at;
}

/* True if one of the notes there is of Go's linker. */
static bool has_go_note(const struct aif_image *im, uint64_t at, uint64_t len)
{
	static const char name[4] = "Go";
	uint8_t notes[NOTES_MAX];
	Elf64_Nhdr h;
	uint64_t i = 0;

	len = AIF_MIN(len, sizeof(notes));
	if (!aif_image_read(im, at, notes, len))
		return false;
	while (i + sizeof(h) + sizeof(name) <= len) {
		memcpy(&h, notes + i, sizeof(h));
		if (h.n_namesz == sizeof(name) &&
		    !memcmp(notes + i + sizeof(h), name, sizeof(name)))
			return true;
		i += sizeof(h) + (((uint64_t)h.n_namesz + 3) & ~UINT64_C(3)) +
		     (((uint64_t)h.n_descsz + 3) & ~UINT64_C(3));
	}
	return false;
}

static void read_headers(struct aif_image *im, struct aif_image_module *m)
{
	Elf64_Phdr ph[PHDRS_MAX];
	uint64_t lowest = UINT64_MAX;
	Elf64_Ehdr eh;

	m->headers = -1;
	if (!aif_image_read(im, m->lo, &eh, sizeof(eh)) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_phentsize != sizeof(*ph) ||
	    eh.e_phnum > PHDRS_MAX || eh.e_phoff > m->hi - m->lo ||
	    !aif_image_read(im, m->lo + eh.e_phoff, ph, eh.e_phnum * sizeof(*ph)))
		return;
	for (unsigned i = 0; i < eh.e_phnum; i++)
		if (ph[i].p_type == PT_LOAD)
			lowest = AIF_MIN(lowest, ph[i].p_vaddr & ~UINT64_C(4095));
	if (lowest == UINT64_MAX)
		return;
	m->bias = m->lo - lowest;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		if (ph[i].p_type == PT_GNU_EH_FRAME) {
			m->hdr = m->bias + ph[i].p_vaddr;
			m->hdr_len = ph[i].p_memsz;
		} else if (ph[i].p_type == PT_DYNAMIC) {
			m->dynamic = m->bias + ph[i].p_vaddr;
			m->dynamic_len = ph[i].p_memsz;
		} else if (ph[i].p_type == PT_NOTE) {
			m->is_go |= has_go_note(im, m->bias + ph[i].p_vaddr, ph[i].p_memsz);
		}
	}
	m->headers = 1;
}

static bool has_headers(struct aif_image *im, struct aif_image_module *m)
{
	if (!m->headers)
		read_headers(im, m);
	return m->headers > 0;
}

bool aif_image_is_go(struct aif_image *im, uint64_t pc)
{
	struct aif_image_module *m = aif_image_find(im, pc);

	return m && has_headers(im, m) && m->is_go;
}

/* ---- symbols --------------------------------------------------------------------------------- */

/* Counts the symbols by DT_GNU_HASH: the last one's chain ends the table. */
static uint64_t count_gnu(const struct aif_image *im, uint64_t hash)
{
	uint32_t head[4], last = 0, *bucket, word;
	uint64_t buckets, chains;

	if (!aif_image_read(im, hash, head, sizeof(head)) || head[0] > SYMBOLS_MAX ||
	    head[2] > SYMBOLS_MAX)
		return 0;
	buckets = hash + sizeof(head) + (uint64_t)head[2] * 8;
	chains = buckets + (uint64_t)head[0] * 4;
	bucket = malloc(((size_t)head[0] + 1) * sizeof(*bucket));
	if (bucket && aif_image_read(im, buckets, bucket, (size_t)head[0] * sizeof(*bucket)))
		for (uint32_t i = 0; i < head[0]; i++)
			last = AIF_MAX(last, bucket[i]);
	free(bucket);
	if (last < head[1])
		return head[1];
	for (; last < SYMBOLS_MAX; last++)
		if (!aif_image_read(im, chains + (uint64_t)(last - head[1]) * 4, &word, 4) ||
		    (word & 1))
			break;
	return last + 1;
}

static bool find_symbols(struct aif_image *im, struct aif_image_module *m)
{
	uint64_t gnu = 0, sysv = 0;
	uint32_t head[2];
	Elf64_Dyn d;

	if (m->symtab)
		return m->symbols > 0;
	if (!has_headers(im, m))
		return false;
	for (uint64_t at = 0; at + sizeof(d) <= AIF_MIN(m->dynamic_len, 65536); at += sizeof(d)) {
		uint64_t value;

		if (!aif_image_read(im, m->dynamic + at, &d, sizeof(d)) || d.d_tag == DT_NULL)
			break;
		/* The loader has made addresses of them, but in the vdso. */
		value = d.d_un.d_ptr < m->lo ? d.d_un.d_ptr + m->bias : d.d_un.d_ptr;
		if (d.d_tag == DT_SYMTAB)
			m->symtab = value;
		else if (d.d_tag == DT_STRTAB)
			m->strtab = value;
		else if (d.d_tag == DT_STRSZ)
			m->strsz = d.d_un.d_val;
		else if (d.d_tag == DT_GNU_HASH)
			gnu = value;
		else if (d.d_tag == DT_HASH)
			sysv = value;
	}
	if (sysv && aif_image_read(im, sysv, head, sizeof(head)))
		m->symbols = head[1];
	else if (gnu)
		m->symbols = count_gnu(im, gnu);
	if (!m->symtab || !m->strtab || m->symbols > SYMBOLS_MAX || m->strsz > TABLE_MAX)
		m->symbols = 0;
	return m->symbols > 0;
}

/* Reads a module's symbols and their names. Both are the caller's. */
static Elf64_Sym *read_symbols(struct aif_image *im, struct aif_image_module *m, char **ret_names)
{
	Elf64_Sym *sym;
	char *names;

	if (!find_symbols(im, m))
		return NULL;
	sym = malloc(m->symbols * sizeof(*sym));
	names = malloc(m->strsz + 1);
	if (sym && names && aif_image_read(im, m->symtab, sym, m->symbols * sizeof(*sym)) &&
	    aif_image_read(im, m->strtab, names, m->strsz)) {
		names[m->strsz] = '\0';
		*ret_names = names;
		return sym;
	}
	free(sym);
	free(names);
	return NULL;
}

static bool is_function(const struct aif_image_module *m, const Elf64_Sym *s)
{
	return s->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_value &&
	       s->st_name < m->strsz && m->bias + s->st_value >= m->code_lo &&
	       m->bias + s->st_value < m->code_hi;
}

uint64_t aif_image_function(struct aif_image *im, const char *file, const char *name)
{
	uint64_t found = 0;

	for (size_t i = 0; i < im->modules && !found; i++) {
		struct aif_image_module *m = &im->module[i];
		char *names = NULL;
		Elf64_Sym *sym = begins_with(file_of(m), file) ? read_symbols(im, m, &names) : NULL;

		for (uint64_t k = 0; sym && k < m->symbols && !found; k++)
			if (is_function(m, &sym[k]) && !strcmp(names + sym[k].st_name, name))
				found = m->bias + sym[k].st_value;
		free(sym);
		free(names);
	}
	return found;
}

static int order(const void *a, const void *b)
{
	const struct aif_image_range *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static bool is_unsafe_name(const char *name)
{
	/* C++'s operators new and delete. */
	if (begins_with(name, "_Znw") || begins_with(name, "_Zna") || begins_with(name, "_Zdl") ||
	    begins_with(name, "_Zda"))
		return true;
	for (size_t i = 0; i < AIF_ARRAY_LEN(unsafe_names); i++)
		if (!strcmp(name, unsafe_names[i]))
			return true;
	return false;
}

static void find_unsafe(struct aif_image *im, struct aif_image_module *m)
{
	char *names = NULL;
	Elf64_Sym *sym = read_symbols(im, m, &names);

	m->has_unsafe = true;
	for (uint64_t i = 0; sym && i < m->symbols; i++) {
		const uint64_t at = m->bias + sym[i].st_value;

		if (!is_function(m, &sym[i]) || !sym[i].st_size ||
		    !is_unsafe_name(names + sym[i].st_name) ||
		    aif_grow(&m->unsafe, &m->unsafe_cap, m->unsafe_len + 1, sizeof(*m->unsafe)) < 0)
			continue;
		m->unsafe[m->unsafe_len++] = (struct aif_image_range){at, at + sym[i].st_size};
		m->has_malloc |= !strcmp(names + sym[i].st_name, "malloc");
	}
	if (m->unsafe_len)
		qsort(m->unsafe, m->unsafe_len, sizeof(*m->unsafe), order);
	free(sym);
	free(names);
}

bool aif_image_is_unsafe(struct aif_image *im, uint64_t pc)
{
	struct aif_image_module *m = aif_image_find(im, pc);
	size_t lo;

	if (!m)
		return false;
	if (m->is_loader)
		return true;
	if (!m->has_unsafe)
		find_unsafe(im, m);
	lo = AIF_BISECT(mid, 0, m->unsafe_len, m->unsafe[mid].lo <= pc);
	return lo && pc < m->unsafe[lo - 1].hi;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Copies [at, at + len) to its place in the module's copy. */
static bool fill(struct aif_image *im, struct aif_image_module *m, uint64_t at, uint64_t len)
{
	if (!is_inside(m, at, 1))
		return false;
	return aif_image_read(im, at, m->copy + (at - m->lo), AIF_MIN(len, m->hi - at));
}

static bool has_table(struct aif_image *im, struct aif_image_module *m)
{
	void *copy;

	if (m->copy)
		return true;
	if (!has_headers(im, m) || !m->hdr || m->hdr_len > TABLE_MAX || m->hdr_len < 12 ||
	    !is_inside(m, m->hdr, m->hdr_len))
		return false;
	copy = mmap(NULL, m->hi - m->lo, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (copy == MAP_FAILED)
		return false;
	m->copy = copy;
	if (fill(im, m, m->hdr, m->hdr_len))
		return true;
	munmap(m->copy, m->hi - m->lo);
	m->copy = NULL;
	m->headers = -1;
	return false;
}

/* Copies the entry of .eh_frame at `at`, and the one that it refers to. */
static void fill_entry(struct aif_image *im, struct aif_image_module *m, uint64_t at)
{
	uint32_t head[2];

	if (!is_inside(m, at, sizeof(head)))
		return;
	/* Read before. */
	memcpy(head, m->copy + (at - m->lo), sizeof(head));
	if (head[0])
		return;
	if (!aif_image_read(im, at, head, sizeof(head)) || head[0] > ENTRY_MAX)
		return;
	fill(im, m, at, head[0] + 4);
	fill(im, m, at + 4 - head[1], CIE_MAX);
}

uint64_t aif_image_row(struct aif_image *im, uint64_t pc)
{
	const uint64_t none = aif_row_make(AIF_ROW_NONE, 0, 0, 0);
	struct aif_image_module *m = aif_image_find(im, pc);
	struct aif_ehframe e;
	struct aif_span all;
	size_t lo = 0, hi;
	int32_t pair[2];
	uint64_t here;

	if (!m || !has_table(im, m))
		return none;
	all = (struct aif_span){m->copy, m->copy + (m->hi - m->lo)};
	if (aif_ehframe_init(&e, m->copy + (m->hdr - m->lo), m->hdr_len, &all, 1) < 0 || !e.table)
		return none;
	/* The row is looked for in the copy, of which this entry is to be there. */
	hi = e.table_len;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		memcpy(pair, e.table + 8 * mid, sizeof(pair));
		if ((int64_t)pair[0] <= (int64_t)(pc - m->hdr))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return none;
	memcpy(pair, e.table + 8 * (lo - 1), sizeof(pair));
	fill_entry(im, m, m->hdr + (uint64_t)(int64_t)pair[1]);
	here = (uint64_t)(uintptr_t)m->copy + (pc - m->lo);
	return aif_ehframe_row(&e, here);
}

/* ---- before a thread is stopped -------------------------------------------------------------- */

bool aif_image_is_read(struct aif_image *im, uint64_t pc)
{
	const struct aif_image_module *m = aif_image_find(im, pc);

	return !m || m->is_read;
}

static unsigned read_module(struct aif_image *im, uint64_t at)
{
	struct aif_image_module *m = aif_image_find(im, at);

	if (!m || m->is_read)
		return 0;
	m->is_read = true;
	(void)has_table(im, m);
	if (!m->is_loader && !m->has_unsafe)
		find_unsafe(im, m);
	return 1;
}

unsigned aif_image_read_tables(struct aif_image *im, uint64_t pc, uint64_t sp)
{
	unsigned n = read_module(im, pc);
	uint64_t words[512];

	sp &= ~UINT64_C(7);
	/* Up to the end of a page at a time: the stack's end is not known. */
	for (uint64_t end = sp + STACK_BYTES; sp < end;) {
		const uint64_t len = AIF_MIN(sizeof(words) - (sp & (sizeof(words) - 1)), end - sp);

		if (aif_image_read_stack(im, sp, words, len) != len)
			break;
		for (uint64_t i = 0; i < len / 8; i++)
			n += read_module(im, words[i]);
		sp += len;
	}
	return n;
}
