/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dl_iterate_phdr */
#endif
#include "unwind/jit.h"

#include "unwind/guess.h"
#include "unwind/peek.h"
#include "unwind/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * Code that a JIT compiler made
 * =============================
 *
 * It is in no module. What there is of it comes by GDB's protocol, which LLVM, Numba, Julia, PostgreSQL,
 * LuaJIT and others speak: a variable __jit_debug_descriptor begins a list of ELF objects in memory, with
 * symbols, and where the compiler made them, unwind tables:
 *
 *     __jit_debug_descriptor            entry                    ELF object, perhaps a copy of the
 *     | version, action   |      +--->  | next, prev     |      | one that was loaded; its sections'
 *     | relevant entry    |      |      | object, size --+----> | addresses say where that lies
 *     | first entry ------+------+
 *
 * (Code whose tables a compiler gave to libgcc only, by __register_frame, cannot be found: libgcc's list
 * is its own.)
 *
 * The compiler changes all this in its own threads, under its own lock, whenever it likes; nobody tells us
 * but a debugger's breakpoint. So what may go at any moment is read by process_vm_readv() only, which answers
 * EFAULT where a load would kill; or, where a filter of system calls might kill for that (systemd's ~@debug), from
 * /proc/thread-self/mem. And what was read is only a hint, where the two entries of a function's
 * unwind table lie. A row comes from the entries' bytes as they are at that moment, and only if they cover
 * the address and the descriptor still says what it said when the list was read: each registration and each
 * removal writes to it. Else the row is not known until the next look. (What is left: between two looks, a
 * removal and a registration that leave the three words as they were, with the old tables' memory
 * untouched.)
 *
 * Rows of such code are not kept, and no stack with it is remembered: a compiler that makes functions all the
 * time must not make the others' rows and memos worthless. What that costs: process_vm_readv() takes 2 to
 * 3 us. Code in which this thread stands for certain cannot go, nor can its tables; there the pages are
 * probed and then read, in 0.15 us each. After a guess nothing is certain any more; but then the stack is
 * marked, and what guesses find out about an address may be used again until the helper's next tick. In all
 * 0.7 to 1.2 us for a short stack.
 *
 * Looking. A stack that meets unknown code leaves a wish. The launch that did grants it if the list is short,
 * at most ten times a second; the helper thread does so in any case, and reads which mappings are
 * executable, so that a return address into them can be told from a number (unwind.c).
 */

/* A launch looks at so many objects, 10 us each, or leaves all to the helper. */
#define FEW 32
/* LLVM registers one object per module of its input, LuaJIT one per trace. */
#define ALL 4096
/* After so many objects the helper rests for a tick, so that it takes 0.3 % of a processor at most. */
#define EACH_TICK 64

/* Limit of a CIE or an FDE: compilers' have 20 to 150 bytes. */
#define ENTRY_BYTES 384

#define DESCRIPTOR "__jit_debug_descriptor"

/* First and last address of a user. */
#define LO UINT64_C(4096)
#define HI (UINT64_C(1) << AIF_ARCH_ADDRESS_BITS)

/* GDB's struct jit_code_entry. */
struct entry {
	uint64_t next, prev, object, size;
};

/* May a filter of system calls kill who asks for one that it does not expect? Asked each time,
 * 0.1 us: a program may set it up when it has started. */
static bool is_filtered(void)
{
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) > 0;
}

/* Reads pieces of memory through a file, with calls that every program makes. */
static bool read_by_file(const struct iovec *to, const struct iovec *from, unsigned n)
{
	/* Opens this thread's memory: a main thread that has ended has none any more. */
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/mem", O_RDONLY | O_CLOEXEC);
	bool ok = fd >= 0;

	for (unsigned i = 0; i < n && ok; i++)
		ok = syscall(SYS_pread64, fd, to[i].iov_base, to[i].iov_len,
			     (uint64_t)(uintptr_t)from[i].iov_base) == (long)to[i].iov_len;
	if (fd >= 0)
		syscall(SYS_close, fd);
	return ok;
}

/* All of the n pieces? In a signal handler, too. */
static bool read_pieces(const struct iovec *to, const struct iovec *from, unsigned n)
{
	int saved = errno;
	ssize_t r = -1;
	size_t len = 0;
	bool ok;

	for (unsigned i = 0; i < n; i++)
		len += to[i].iov_len;
	errno = EPERM;
	if (!is_filtered())
		r = syscall(SYS_process_vm_readv, syscall(SYS_getpid), to, (unsigned long)n, from,
			    (unsigned long)n, 0UL);
	ok = r >= 0 ? (size_t)r == len : errno != EFAULT && read_by_file(to, from, n);
	errno = saved;
	return ok;
}

bool aif_jit_read(uint64_t at, void *to, size_t len)
{
	struct iovec local = {to, len}, remote = {(void *)(uintptr_t)at, len};

	return at >= LO && at < HI && len <= HI - at && read_pieces(&local, &remote, 1);
}

AIF_READS_FRAMES static void copy(uint8_t *to, uint64_t at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		to[i] = ((const volatile uint8_t *)(uintptr_t)at)[i];
}

/* Copies memory that nobody unmaps now, once its pages were found readable. */
static bool read_live(uint64_t at, void *to, size_t len)
{
	if (at < LO || at >= HI || len > HI - at)
		return false;
	for (uint64_t page = at / AIF_PROBE_PAGE; page * AIF_PROBE_PAGE < at + len; page++)
		if (!aif_probe(page))
			return false;
	copy(to, at, len);
	return true;
}

static bool read_here(void *arg, uint64_t at, void *to, size_t len)
{
	(void)arg;
	return aif_jit_read(at, to, len);
}

static const struct aif_jit_memory here = {.read = read_here};

void aif_jit_after_fork(struct aif_jit *j)
{
	atomic_store(&j->busy, false);
}

/* ---- answers ---- */

#define GET(field)    atomic_load_explicit(&(field), memory_order_relaxed)
#define SET(field, v) atomic_store_explicit(&(field), (v), memory_order_relaxed)

/* The hint for an address; its order is that of the descriptor. */
static bool find_hint(const struct aif_jit *j, uint64_t address, struct aif_jit_hint *ret)
{
	uint32_t len = AIF_MIN(atomic_load_explicit(&j->hints_len, memory_order_acquire),
			       AIF_JIT_HINTS),
		 lo;
	uint64_t lens;

	lo = AIF_BISECT(mid, 0, len, GET(j->hints[mid].lo) <= address);
	if (lo == 0 || address >= GET(j->hints[lo - 1].hi))
		return false;
	lens = GET(j->hints[lo - 1].lens);
	*ret = (struct aif_jit_hint){
		.cie = GET(j->hints[lo - 1].cie),
		.fde = GET(j->hints[lo - 1].fde),
		.object = GET(j->hints[lo - 1].object),
		.object_size = GET(j->hints[lo - 1].object_size),
		.cie_len = (uint16_t)lens,
		.fde_len = (uint16_t)(lens >> 16),
		.order = (uint32_t)(lens >> 32),
	};
	return true;
}

static bool is_unchanged(const struct aif_jit *j, unsigned i, const struct aif_jit_words *now)
{
	return now->flags == GET(j->descriptors[i].flags) &&
	       now->relevant == GET(j->descriptors[i].relevant) &&
	       now->first == GET(j->descriptors[i].first);
}

static bool all_unchanged(const struct aif_jit *j)
{
	uint32_t len = AIF_MIN(atomic_load_explicit(&j->descriptors_len, memory_order_acquire),
			       AIF_JIT_DESCRIPTORS);
	struct aif_jit_words now;

	for (uint32_t i = 0; i < len; i++)
		if (!read_live(GET(j->descriptors[i].at), &now, sizeof(now)) ||
		    !is_unchanged(j, i, &now))
			return false;
	return true;
}

bool aif_jit_is_code(const struct aif_jit *j, uint64_t address)
{
	uint32_t len = AIF_MIN(atomic_load_explicit(&j->regions_len, memory_order_acquire),
			       AIF_JIT_REGIONS);
	struct aif_jit_hint unused;

	for (uint32_t i = 0; i < len; i++)
		if (address >= GET(j->regions[i].lo) && address < GET(j->regions[i].hi))
			return true;
	return find_hint(j, address, &unused);
}

/* The words of the descriptor, and the two entries of the table. */
static bool read_entries(const struct aif_jit *j, const struct aif_jit_hint *h, bool lives,
			 struct aif_jit_words *now, uint8_t *cie, uint8_t *fde)
{
	uint64_t at = GET(j->descriptors[h->order].at);
	const struct iovec to[] = {{now, sizeof(*now)}, {cie, h->cie_len}, {fde, h->fde_len}};
	const struct iovec from[] = {{(void *)(uintptr_t)at, sizeof(*now)},
				     {(void *)(uintptr_t)h->cie, h->cie_len},
				     {(void *)(uintptr_t)h->fde, h->fde_len}};

	if (lives)
		return read_live(at, now, sizeof(*now)) && read_live(h->cie, cie, h->cie_len) &&
		       read_live(h->fde, fde, h->fde_len);
	return read_pieces(to, from, AIF_ARRAY_LEN(to));
}

uint64_t aif_jit_row(struct aif_jit *j, uint64_t address, bool lives)
{
	const uint64_t none = aif_row_make(AIF_ROW_NONE, 0, 0, 0);
	uint8_t cie[ENTRY_BYTES], fde[ENTRY_BYTES];
	struct aif_jit_words now;
	struct aif_jit_hint h;

	if (!find_hint(j, address, &h)) {
		if (!GET(j->wanted) &&
		    (!aif_jit_is_code(j, address) || (lives && !all_unchanged(j))))
			atomic_store(&j->wanted, 1);
		return none;
	}
	if (!h.fde || h.cie_len > sizeof(cie) || h.fde_len > sizeof(fde) ||
	    h.order >= AIF_JIT_DESCRIPTORS)
		return none;
	if (!read_entries(j, &h, lives, &now, cie, fde) || !is_unchanged(j, h.order, &now)) {
		atomic_store(&j->wanted, 1);
		return none;
	}
	return aif_ehframe_row_of((struct aif_span){cie, cie + h.cie_len},
				  (struct aif_span){fde, fde + h.fde_len}, h.fde, address);
}

/* ---- what instructions tell ---- */

#define VERDICT_AFTER_CALL (UINT64_C(1) << 48)
#define VERDICT_NO_END     (UINT64_C(1) << 49)
#define VERDICT_TICK(tick) ((uint64_t)(tick) << 50)

static _Atomic uint64_t *verdict_at(struct aif_jit *j, uint64_t pc)
{
	return &j->verdicts[pc * UINT64_C(0x9E3779B97F4A7C15) >> 54];
}

static_assert(AIF_JIT_VERDICTS == 1 << (64 - 54), "verdict_at()");

static uint64_t verdict(uint64_t pc, uint64_t what, uint32_t tick)
{
	return pc | what | VERDICT_TICK(tick);
}

uint64_t aif_jit_row_of_end(struct aif_jit *j, uint64_t pc, bool lives)
{
	const uint64_t none = aif_row_make(AIF_ROW_NONE, 0, 0, 0),
		       known = verdict(pc, VERDICT_NO_END, GET(j->tick));
	uint64_t old = GET(*verdict_at(j, pc)), row;
	uint8_t bytes[AIF_GUESS_AFTER];

	if (!lives && (old & ~VERDICT_AFTER_CALL) == known)
		return none;
	if (!(lives ? read_live : aif_jit_read)(pc, bytes, sizeof(bytes)))
		return none;
	row = aif_guess_row_of_end(bytes);
	if (!lives && aif_row_kind(row) == AIF_ROW_NONE) {
		bool same = (old & ~VERDICT_AFTER_CALL) == verdict(pc, 0, GET(j->tick));

		SET(*verdict_at(j, pc), known | (same ? old & VERDICT_AFTER_CALL : 0));
	}
	return row;
}

bool aif_jit_is_after_call(struct aif_jit *j, uint64_t pc)
{
	const uint64_t known = verdict(pc, VERDICT_AFTER_CALL, GET(j->tick));
	uint8_t bytes[AIF_GUESS_BEFORE];
	uint64_t old = GET(*verdict_at(j, pc));

	if ((old & ~VERDICT_NO_END) == known)
		return true;
	if (!aif_jit_is_code(j, pc - 1) ||
	    !aif_jit_read(pc - sizeof(bytes), bytes, sizeof(bytes)) ||
	    !aif_guess_is_after_call(bytes))
		return false;
	SET(*verdict_at(j, pc), known);
	return true;
}

bool aif_jit_symbol(struct aif_jit *j, uint64_t address, struct aif_jit_symbol *ret)
{
	struct aif_jit_hint h;
	struct aif_jit_elf e;

	return find_hint(j, address, &h) &&
	       aif_jit_elf_open(&e, here, h.object, h.object_size) == 0 &&
	       aif_jit_elf_symbol(&e, address, ret);
}

/* ---- where the descriptors are ---- */

/* The tables of a module's dynamic symbols. */
struct dynamic {
	uint64_t hash, symbols, strings;
};

static bool read_dynamic(const struct dl_phdr_info *info, struct dynamic *ret)
{
	ElfW(Dyn) dyn[64];

	*ret = (struct dynamic){0};
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		size_t n = AIF_MIN(p->p_memsz / sizeof(dyn[0]), AIF_ARRAY_LEN(dyn));

		if (p->p_type != PT_DYNAMIC || !n ||
		    !aif_jit_read(info->dlpi_addr + p->p_vaddr, dyn, n * sizeof(dyn[0])))
			continue;
		for (size_t k = 0; k < n && dyn[k].d_tag != DT_NULL; k++) {
			uint64_t at = dyn[k].d_un.d_ptr;

			/* The loader has made them addresses, but for those of what it may not
			 * write. */
			if (at < info->dlpi_addr)
				at += info->dlpi_addr;
			if (dyn[k].d_tag == DT_GNU_HASH)
				ret->hash = at;
			else if (dyn[k].d_tag == DT_SYMTAB)
				ret->symbols = at;
			else if (dyn[k].d_tag == DT_STRTAB)
				ret->strings = at;
		}
	}
	return ret->hash && ret->symbols && ret->strings;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

/* The address of the module's own __jit_debug_descriptor, 0: it has none. */
static uint64_t descriptor_of(const struct dl_phdr_info *info)
{
	const uint32_t hash = gnu_hash(DESCRIPTOR);
	uint32_t head[4], i, in_chain; /* buckets, first symbol, words of the filter, its shift */
	uint64_t word, buckets;
	struct dynamic d;

	if (!read_dynamic(info, &d) || !aif_jit_read(d.hash, head, sizeof(head)) || !head[0] ||
	    !head[2] || head[3] > 31 ||
	    !aif_jit_read(d.hash + 16 + 8 * (uint64_t)(hash / 64 & (head[2] - 1)), &word, 8) ||
	    !(word >> hash % 64 & word >> (hash >> head[3]) % 64 & 1))
		return 0;
	buckets = d.hash + 16 + 8 * (uint64_t)head[2];
	if (!aif_jit_read(buckets + 4 * (uint64_t)(hash % head[0]), &i, 4) || i < head[1])
		return 0;
	for (unsigned n = 0; n < 64; n++, i++) { /* symbols of one bucket */
		char name[sizeof(DESCRIPTOR)];
		ElfW(Sym) sym;

		if (!aif_jit_read(buckets + 4 * ((uint64_t)head[0] + i - head[1]), &in_chain, 4))
			return 0;
		if ((in_chain | 1) == (hash | 1) &&
		    aif_jit_read(d.symbols + i * sizeof(sym), &sym, sizeof(sym)) &&
		    sym.st_shndx != SHN_UNDEF &&
		    aif_jit_read(d.strings + sym.st_name, name, sizeof(name)) &&
		    !memcmp(name, DESCRIPTOR, sizeof(name)))
			return info->dlpi_addr + sym.st_value;
		if (in_chain & 1)
			break;
	}
	return 0;
}

static int find_descriptor(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct aif_jit *j = arg;
	uint32_t len = GET(j->descriptors_len);
	uint64_t at = descriptor_of(info);

	(void)size;
	if (!at)
		return 0;
	SET(j->descriptors[len].at, at);
	SET(j->descriptors[len].flags, UINT64_MAX); /* not looked at yet */
	atomic_store_explicit(&j->descriptors_len, ++len, memory_order_release);
	return len == AIF_JIT_DESCRIPTORS;
}

static void find_descriptors(struct aif_jit *j, const struct aif_modules *m, bool thorough)
{
	uint64_t adds = atomic_load(&m->adds), subs = atomic_load(&m->subs);

	if (aif_modules_closed(m) ||
	    (j->found_descriptors && (!thorough || (j->adds == adds && j->subs == subs))))
		return;
	j->found_descriptors = true;
	j->adds = adds;
	j->subs = subs;
	atomic_store_explicit(&j->descriptors_len, 0, memory_order_release);
	dl_iterate_phdr(find_descriptor, j);
}

/* ---- what is registered ---- */

static void make_hint(struct aif_jit *j, const struct aif_jit_hint *h)
{
	if (j->made_len < AIF_JIT_HINTS && h->lo >= LO && h->lo < h->hi && h->hi <= HI)
		j->made[j->made_len++] = *h;
}

static void take_tables(struct aif_jit *j, const struct aif_jit_elf *e, struct aif_jit_hint h)
{
	struct aif_ehframe_function f;
	uint64_t at, len, moved;
	struct aif_span copy;
	uint32_t next = 0;

	if (!aif_jit_elf_tables(e, &at, &len))
		return;
	len = AIF_MIN(len, sizeof(j->bytes));
	if (!aif_jit_read(at, j->bytes, len))
		return;
	copy = (struct aif_span){j->bytes, j->bytes + len};
	moved = at - (uint64_t)(uintptr_t)j->bytes;
	while (aif_ehframe_next(copy, moved, &next, &f)) {
		if (f.cie_len > ENTRY_BYTES || f.fde_len > ENTRY_BYTES)
			continue;
		h.lo = f.start;
		h.hi = f.end;
		h.cie = at + f.cie;
		h.fde = at + f.fde;
		h.cie_len = (uint16_t)f.cie_len;
		h.fde_len = (uint16_t)f.fde_len;
		make_hint(j, &h);
	}
}

static void take_object(struct aif_jit *j, struct aif_jit_hint h)
{
	uint32_t first = j->made_len;
	struct aif_jit_elf e;
	uint64_t lo, hi;

	if (aif_jit_elf_open(&e, here, h.object, h.object_size) < 0)
		return;
	take_tables(j, &e, h);
	/* Without tables its code has names, at least. */
	for (unsigned i = 0; i < e.sections_len && j->made_len == first; i++) {
		if (!aif_jit_elf_code(&e, i, &lo, &hi))
			continue;
		h.lo = lo;
		h.hi = hi;
		make_hint(j, &h);
		first = j->made_len;
	}
}

/* The newest entry is the first: all compilers put it there. False: it is too long for now. */
static bool take_list(struct aif_jit *j, unsigned descriptor, bool thorough, uint32_t *order)
{
	uint64_t at = GET(j->descriptors[descriptor].at), next;
	unsigned left = thorough ? ALL : FEW;
	struct aif_jit_words words, after;
	struct entry e;

	if (!aif_jit_read(at, &words, sizeof(words)) || (uint32_t)words.flags != 1)
		return true;
	for (next = words.first; next && left && aif_jit_read(next, &e, sizeof(e)); left--) {
		take_object(j, (struct aif_jit_hint){.object = e.object,
						     .object_size = e.size,
						     .order = (*order)++ * AIF_JIT_DESCRIPTORS +
							      descriptor});
		next = e.next;
	}
	if (next && !left && !thorough)
		return false;
	/* Changed meanwhile: what was taken is not believed, and there is another look. */
	if (!aif_jit_read(at, &after, sizeof(after)) || memcmp(&words, &after, sizeof(words)))
		words.flags = UINT64_MAX;
	if (!is_unchanged(j, descriptor, &words))
		atomic_fetch_add(&j->epoch, 1);
	SET(j->descriptors[descriptor].flags, words.flags);
	SET(j->descriptors[descriptor].relevant, words.relevant);
	SET(j->descriptors[descriptor].first, words.first);
	return true;
}

static bool is_before(const struct aif_jit_hint *a, const struct aif_jit_hint *b)
{
	return a->lo != b->lo ? a->lo < b->lo : a->order < b->order;
}

/* Shell's: a launch path must not meet qsort()'s malloc. */
static void sort(struct aif_jit_hint *h, uint32_t n)
{
	static const uint32_t gaps[] = {7983, 3548, 1577, 701, 301, 132, 57, 23, 10, 4, 1};

	for (unsigned g = 0; g < AIF_ARRAY_LEN(gaps); g++) {
		for (uint32_t i = gaps[g]; i < n; i++) {
			struct aif_jit_hint x = h[i];
			uint32_t k = i;

			for (; k >= gaps[g] && is_before(&x, &h[k - gaps[g]]); k -= gaps[g])
				h[k] = h[k - gaps[g]];
			h[k] = x;
		}
	}
}

/* Drops hints that a newer one overlaps: their code is gone. */
static void drop_overlapped(struct aif_jit *j)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < j->made_len; i++) {
		const struct aif_jit_hint h = j->made[i];

		while (n && j->made[n - 1].hi > h.lo && h.order < j->made[n - 1].order)
			n--;
		if (!n || j->made[n - 1].hi <= h.lo)
			j->made[n++] = h;
	}
	j->made_len = n;
}

static bool take_lists(struct aif_jit *j, bool thorough)
{
	uint32_t order = 0;

	j->made_len = 0;
	for (uint32_t i = 0; i < GET(j->descriptors_len); i++)
		if (!take_list(j, i, thorough, &order))
			return false;
	if (thorough)
		j->rest = order / EACH_TICK;
	sort(j->made, j->made_len);
	drop_overlapped(j);
	return true;
}

static void publish(struct aif_jit *j)
{
	atomic_store_explicit(&j->hints_len, 0, memory_order_release);
	for (uint32_t i = 0; i < j->made_len; i++) {
		const struct aif_jit_hint *h = &j->made[i];

		SET(j->hints[i].lo, h->lo);
		SET(j->hints[i].hi, h->hi);
		SET(j->hints[i].cie, h->cie);
		SET(j->hints[i].fde, h->fde);
		SET(j->hints[i].object, h->object);
		SET(j->hints[i].object_size, h->object_size);
		SET(j->hints[i].lens, (uint64_t)h->cie_len | (uint64_t)h->fde_len << 16 |
					      (uint64_t)(h->order % AIF_JIT_DESCRIPTORS) << 32);
	}
	atomic_store_explicit(&j->hints_len, j->made_len, memory_order_release);
}

/* ---- what is executable ---- */

/* One line of /proc/self/maps. */
static void take_region(struct aif_jit *j, const struct aif_modules *m, const char *line)
{
	uint64_t at[2] = {0};
	uint32_t len = GET(j->regions_len);

	for (unsigned i = 0; i < 2; i++, line++)
		for (;; line++) {
			unsigned digit = *line >= '0' && *line <= '9' ? (unsigned)(*line - '0')
					 : *line >= 'a' && *line <= 'f'
						 ? (unsigned)(*line - 'a' + 10)
						 : 16;

			if (digit == 16)
				break;
			at[i] = at[i] << 4 | digit;
		}
	if (line[0] == '\0' || line[1] == '\0' || line[2] != 'x' || at[0] < LO || at[1] > HI ||
	    len == AIF_JIT_REGIONS || aif_modules_has(m, at[0])) /* it may go at any moment */
		return;
	SET(j->regions[len].lo, at[0]);
	SET(j->regions[len].hi, at[1]);
	atomic_store_explicit(&j->regions_len, len + 1, memory_order_release);
}

static void find_regions(struct aif_jit *j, const struct aif_modules *m)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char line[64];
	size_t n = 0;
	ssize_t r;

	if (fd < 0)
		return;
	atomic_store_explicit(&j->regions_len, 0, memory_order_release);
	while ((r = read(fd, j->bytes, sizeof(j->bytes))) > 0) {
		for (ssize_t i = 0; i < r; i++) {
			if (j->bytes[i] != '\n') {
				if (n < sizeof(line) - 1)
					line[n++] = (char)j->bytes[i];
				continue;
			}
			line[n] = '\0';
			take_region(j, m, line);
			n = 0;
		}
	}
	close(fd);
}

void aif_jit_look(struct aif_jit *j, const struct aif_modules *m, bool thorough)
{
	if (thorough) {
		atomic_fetch_add(&j->tick, 1);
		if (j->rest && j->rest--)
			return;
	}
	if (!atomic_load(&j->wanted) || atomic_exchange(&j->busy, true))
		return;
	/* The helper does what is left to do. Who misses something from here on wants it again. */
	if (thorough)
		atomic_store(&j->wanted, 0);
	find_descriptors(j, m, thorough);
	if (take_lists(j, thorough))
		publish(j);
	if (thorough)
		find_regions(j, m);
	atomic_store(&j->busy, false);
}
