/* SPDX-License-Identifier: Apache-2.0 */
#include "remote/modules.h"

#include "base/buf.h"
#include "base/build_id.h"
#include "unwind/ehframe.h"
#include "unwind/ehread.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Bounds: programs with CUDA and PyTorch have 600 modules, 17 headers in one, FDEs of some hundred bytes. */
#define MODULES_MAX 16384
#define RANGES_MAX  65536
#define HEADERS_MAX 128
#define NOTES_MAX   4096
#define ENTRY_MAX   65536
#define TABLE_MAX   (UINT64_C(1) << 24)
#define ROWS_MAX    (UINT64_C(1) << 20)

#define NO_MODULE aif_row_make(AIF_ROW_NONE, 0, 1, 0)
#define NO_FDE    aif_row_make(AIF_ROW_NONE, 0, 0, 0)
#define BAD_TABLE aif_row_make(AIF_ROW_BAD, 0, AIF_ROW_BAD_TABLE, 0)

/* ---- maps ---- */

static uint32_t add_module(struct aif_remote_modules *m, const char *path, uint64_t header,
			   uint64_t lo, uint64_t hi)
{
	/* The last ones first: ranges of one file follow each other. */
	for (size_t i = m->len; i-- > 0 && m->len - i <= 4;)
		if (m->modules[i].header == header && !strcmp(m->modules[i].path, path))
			return (uint32_t)i;
	if (m->len >= MODULES_MAX ||
	    aif_grow(&m->modules, &m->cap, m->len + 1, sizeof(*m->modules)))
		return AIF_REMOTE_NO_MODULE;
	m->modules[m->len] = (struct aif_remote_module){
		.path = strdup(path), .header = header, .lo = lo, .hi = hi};
	if (!m->modules[m->len].path)
		return AIF_REMOTE_NO_MODULE;
	return (uint32_t)m->len++;
}

int aif_remote_modules_init(struct aif_remote_modules *m, struct aif_remote_memory *memory,
			    char *maps)
{
	const char *header_path = "";
	uint64_t header = 0;
	char *next;

	*m = (struct aif_remote_modules){.memory = memory};
	for (char *line = maps; *line; line = next) {
		size_t len = strcspn(line, "\n");
		struct aif_remote_range *range;
		uint64_t lo, hi, offset;
		char perms[8];
		int at = 0;

		next = line + len + (line[len] != '\0');
		line[len] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n", &lo, &hi,
			   perms, &offset, &at) != 4 ||
		    !at || lo >= hi)
			continue;
		if (offset == 0 && line[at] && perms[0] == 'r') {
			header_path = line + at;
			header = lo;
		}
		if (perms[2] != 'x' || m->ranges_len >= RANGES_MAX)
			continue;
		if (m->ranges_len && lo < m->ranges[m->ranges_len - 1].hi)
			continue; /* maps are in order: these are none */
		if (aif_grow(&m->ranges, &m->ranges_cap, m->ranges_len + 1, sizeof(*m->ranges)))
			return -ENOMEM;
		range = &m->ranges[m->ranges_len++];
		*range = (struct aif_remote_range){lo, hi, AIF_REMOTE_NO_MODULE};
		if (line[at] && header && !strcmp(header_path, line + at))
			range->module = add_module(m, line + at, header, lo, hi);
	}
	return 0;
}

void aif_remote_modules_finish(struct aif_remote_modules *m)
{
	for (size_t i = 0; i < m->len; i++)
		free(m->modules[i].path);
	free(m->modules);
	free(m->ranges);
	aif_map_finish(&m->rows);
}

static const struct aif_remote_range *range_at(const struct aif_remote_modules *m, uint64_t pc)
{
	size_t lo = AIF_BISECT(mid, 0, m->ranges_len, m->ranges[mid].lo <= pc);

	return lo && pc < m->ranges[lo - 1].hi ? &m->ranges[lo - 1] : NULL;
}

bool aif_remote_is_code(const struct aif_remote_modules *m, uint64_t pc)
{
	return range_at(m, pc) != NULL;
}

/* ---- headers ---- */

static void read_notes(struct aif_remote_modules *m, struct aif_remote_module *module,
		       const Elf64_Phdr *p)
{
	_Alignas(8) uint8_t notes[NOTES_MAX];

	if (!module->build_id[0] && p->p_memsz && p->p_memsz <= sizeof(notes) &&
	    aif_remote_read(m->memory, module->base + p->p_vaddr, notes, p->p_memsz))
		aif_build_id_text(notes, p->p_memsz, AIF_IS_BIG, module->build_id,
				  sizeof(module->build_id));
}

/* Finds the sorted table of .eh_frame_hdr, of the encodings that linkers write. */
static void read_table(struct aif_remote_modules *m, struct aif_remote_module *module, uint64_t hdr)
{
	uint8_t head[12];
	uint32_t count;

	if (!aif_remote_read(m->memory, hdr, head, sizeof(head)) || head[0] != 1 ||
	    head[1] != (AIF_PE_PCREL | AIF_PE_SDATA4) || head[2] != AIF_PE_UDATA4 ||
	    head[3] != (AIF_PE_DATAREL | AIF_PE_SDATA4))
		return;
	memcpy(&count, head + 8, sizeof(count));
	if (count > TABLE_MAX)
		return;
	module->hdr = hdr;
	module->table = hdr + sizeof(head);
	module->len = count;
}

void aif_remote_module_read(struct aif_remote_modules *m, struct aif_remote_module *module)
{
	Elf64_Phdr headers[HEADERS_MAX];
	Elf64_Ehdr elf;
	bool has_base = false;

	if (module->was_read)
		return;
	module->was_read = true;
	if (!aif_remote_read(m->memory, module->header, &elf, sizeof(elf)) ||
	    memcmp(elf.e_ident, ELFMAG, SELFMAG) || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
	    elf.e_phentsize != sizeof(headers[0]) || elf.e_phnum > HEADERS_MAX ||
	    elf.e_phoff > UINT32_MAX ||
	    !aif_remote_read(m->memory, module->header + elf.e_phoff, headers,
			     elf.e_phnum * sizeof(headers[0])))
		return;
	for (unsigned i = 0; i < elf.e_phnum && !has_base; i++) {
		const Elf64_Phdr *p = &headers[i];

		if (p->p_type != PT_LOAD || p->p_offset > p->p_vaddr)
			continue;
		has_base = true;
		module->base = module->header - (p->p_vaddr - p->p_offset);
	}
	if (!has_base)
		return;
	module->is_elf = true;
	for (unsigned i = 0; i < elf.e_phnum; i++) {
		const Elf64_Phdr *p = &headers[i];

		if (p->p_type == PT_GNU_EH_FRAME)
			read_table(m, module, module->base + p->p_vaddr);
		else if (p->p_type == PT_DYNAMIC)
			module->dynamic = module->base + p->p_vaddr;
		else if (p->p_type == PT_NOTE)
			read_notes(m, module, p);
	}
}

struct aif_remote_module *aif_remote_module_at(struct aif_remote_modules *m, uint64_t pc)
{
	const struct aif_remote_range *range = range_at(m, pc);
	struct aif_remote_module *module;

	if (!range || range->module == AIF_REMOTE_NO_MODULE)
		return NULL;
	module = &m->modules[range->module];
	aif_remote_module_read(m, module);
	return module;
}

/* ---- rows ---- */

/* Copies the entry at `at`: its length and what follows. False: malformed, or too long. */
static bool copy_entry(struct aif_remote_modules *m, uint64_t at, uint8_t **ret, size_t *ret_len)
{
	uint32_t len;
	uint8_t *bytes;

	if (!aif_remote_read(m->memory, at, &len, sizeof(len)) || !len || len > ENTRY_MAX)
		return false;
	bytes = malloc(sizeof(len) + len);
	if (!bytes || !aif_remote_read(m->memory, at, bytes, sizeof(len) + len)) {
		free(bytes);
		return false;
	}
	*ret = bytes;
	*ret_len = sizeof(len) + len;
	return true;
}

/* Runs the program of the FDE at `at` up to pc. */
static uint64_t row_of_fde(struct aif_remote_modules *m, uint64_t at, uint64_t pc)
{
	uint8_t *fde = NULL, *cie = NULL;
	size_t fde_len, cie_len;
	uint64_t row = BAD_TABLE;
	uint32_t back;

	if (!copy_entry(m, at, &fde, &fde_len))
		return row;
	if (fde_len >= 8) {
		memcpy(&back, fde + 4, sizeof(back));
		if (back && back <= at + 4 && copy_entry(m, at + 4 - back, &cie, &cie_len))
			row = aif_ehframe_row_of((struct aif_span){cie, cie + cie_len},
						 (struct aif_span){fde, fde + fde_len}, at, pc);
	}
	free(fde);
	free(cie);
	return row;
}

/* Finds the pair of the last function that begins at pc or before. 1; 0: there is none; -EINVAL. */
static int search(struct aif_remote_modules *m, const struct aif_remote_module *module, uint64_t pc,
		  int32_t ret[2])
{
	int64_t rel = (int64_t)(pc - module->hdr);
	uint64_t lo = 0, hi = module->len;
	int32_t pair[2];

	while (lo < hi) { /* the first that starts after pc */
		uint64_t mid = lo + (hi - lo) / 2;

		if (!aif_remote_read(m->memory, module->table + 8 * mid, pair, sizeof(pair)))
			return -EINVAL;
		if (pair[0] <= rel)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return 0;
	return aif_remote_read(m->memory, module->table + 8 * (lo - 1), ret, 2 * sizeof(*ret))
		       ? 1
		       : -EINVAL;
}

bool aif_remote_function(struct aif_remote_modules *m, uint64_t address, uint64_t *ret)
{
	const struct aif_remote_module *module = aif_remote_module_at(m, address);
	int32_t pair[2];

	if (!module || search(m, module, address, pair) != 1)
		return false;
	*ret = module->hdr + (uint64_t)(int64_t)pair[0];
	return true;
}

static uint64_t row_of_module(struct aif_remote_modules *m, const struct aif_remote_module *module,
			      uint64_t pc)
{
	int32_t pair[2];
	int r = search(m, module, pc, pair);

	if (r != 1)
		return r ? BAD_TABLE : NO_FDE;
	return row_of_fde(m, module->hdr + (uint64_t)(int64_t)pair[1], pc);
}

uint64_t aif_remote_row(struct aif_remote_modules *m, uint64_t address)
{
	const struct aif_remote_module *module;
	uint64_t row;

	if (aif_map_get(&m->rows, address, &row))
		return row;
	module = aif_remote_module_at(m, address);
	if (!module || !module->is_elf)
		return NO_MODULE;
	row = row_of_module(m, module, address);
	if (m->rows.len < ROWS_MAX)
		aif_map_put(&m->rows, address, row);
	return row;
}

/* ---- symbols ---- */

#define DYNAMIC_MAX 512
#define BUCKETS_MAX (UINT32_C(1) << 24)
#define CHAIN_MAX   4096
#define NAME_MAX_   64

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

struct dynamic {
	uint64_t hash, symbols, texts;
};

static bool read_dynamic(struct aif_remote_modules *m, const struct aif_remote_module *module,
			 struct dynamic *ret)
{
	Elf64_Dyn entry;

	*ret = (struct dynamic){0};
	for (unsigned i = 0; i < DYNAMIC_MAX; i++) {
		uint64_t at;

		if (!aif_remote_read(m->memory, module->dynamic + i * sizeof(entry), &entry,
				     sizeof(entry)) ||
		    entry.d_tag == DT_NULL)
			break;
		/* The loader has made addresses of them, but not everywhere: musl and the vdso keep the file's. */
		at = entry.d_un.d_ptr < module->base ? entry.d_un.d_ptr + module->base
						     : entry.d_un.d_ptr;
		if (entry.d_tag == DT_GNU_HASH)
			ret->hash = at;
		else if (entry.d_tag == DT_SYMTAB)
			ret->symbols = at;
		else if (entry.d_tag == DT_STRTAB)
			ret->texts = at;
	}
	return ret->hash && ret->symbols && ret->texts;
}

bool aif_remote_symbol(struct aif_remote_modules *m, struct aif_remote_module *module,
		       const char *name, uint64_t *ret_at, uint64_t *ret_size)
{
	uint32_t head[4], hash = gnu_hash(name), i, of;
	size_t len = strlen(name) + 1;
	uint64_t buckets, chains;
	struct dynamic d;

	aif_remote_module_read(m, module);
	if (!module->dynamic || len > NAME_MAX_ || !read_dynamic(m, module, &d) ||
	    !aif_remote_read(m->memory, d.hash, head, sizeof(head)) || !head[0] ||
	    head[0] > BUCKETS_MAX || head[2] > BUCKETS_MAX)
		return false;
	buckets = d.hash + sizeof(head) + 8 * (uint64_t)head[2];
	chains = buckets + 4 * (uint64_t)head[0];
	if (!aif_remote_read(m->memory, buckets + 4 * (uint64_t)(hash % head[0]), &i, sizeof(i)) ||
	    i < head[1])
		return false;
	for (unsigned n = 0; n < CHAIN_MAX; n++, i++) {
		char text[NAME_MAX_];
		Elf64_Sym symbol;

		if (!aif_remote_read(m->memory, chains + 4 * (uint64_t)(i - head[1]), &of,
				     sizeof(of)))
			return false;
		if ((of | 1) == (hash | 1) &&
		    aif_remote_read(m->memory, d.symbols + i * sizeof(symbol), &symbol,
				    sizeof(symbol)) &&
		    aif_remote_read(m->memory, d.texts + symbol.st_name, text, len) &&
		    !memcmp(text, name, len) && symbol.st_shndx) {
			*ret_at = module->base + symbol.st_value;
			*ret_size = symbol.st_size;
			return true;
		}
		if (of & 1)
			return false;
	}
	return false;
}
