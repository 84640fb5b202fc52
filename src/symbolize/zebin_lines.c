/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/zebin_lines.h"

#include "symbolize/line_cursor.h"
#include "base/map.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

/*
 * A zebin is not linked: each kernel's section is at address 0, and what its debug data say of
 * addresses waits for relocations. elfutils does not know this machine's, so they are applied here,
 * to a copy: each section of code gets a range of addresses of its own, and what comes out is a
 * file that libdw reads as it reads every other.
 *
 * Two kinds of relocations are there, a 64-bit and a 32-bit number. Those that concern code are
 * against symbols that are called like a section of code; IGC (1.0.12504) gives them the number of
 * another section, so the name counts. All others are offsets within other debug sections, whose
 * symbols are at 0 and may have any name; they are left alone but for their addend.
 */

enum {
	TYPE_ADDRESS_64 = 1,
	TYPE_ADDRESS_32 = 2,
	/* The first section of code; 0 would mean "thrown away" (dwarf.c). */
	FIRST_ADDRESS = 1 << 20,
	ALIGNMENT = 1 << 12,
	MAX_CACHED = 64 << 20, /* what libdw may keep of one file */
	MAX_RELOCATED = 64,    /* debug sections; DWARF 5 has 12 */
	NOT_ASKED = 0,
	NO_CODE = 1, /* less than any address */
};

struct aif_zebin_lines {
	const struct aif_zebin *zebin;
	uint64_t *bases; /* by section: where it begins */
	struct aif_elf elf;
	struct aif_dwarf *dwarf;
};

struct linker {
	const struct aif_zebin *z;
	const uint64_t *bases;
	const uint8_t *from;
	uint8_t *copy;
	size_t left; /* relocations that may still come: more than fit into the file are the same ones again */
	struct aif_map by_name; /* hash of the name of a section of code -> its number */
	uint64_t *addresses;    /* by symbol: what it stands for, NOT_ASKED, NO_CODE */
};

static bool is_code(const struct aif_device_section *s)
{
	return s->size && strncmp(s->name, AIF_DEVICE_TEXT, strlen(AIF_DEVICE_TEXT)) == 0;
}

static uint64_t hash_name(const char *name)
{
	return aif_hash_bytes(name, strlen(name));
}

static int place_sections(struct linker *l, uint64_t *bases)
{
	uint64_t next = FIRST_ADDRESS;
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->z->elf.sections_len; i++) {
		const struct aif_device_section *s = &l->z->elf.sections[i];

		if (!is_code(s))
			continue;
		bases[i] = next;
		next += (s->size + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
		r = aif_map_put(&l->by_name, hash_name(s->name), i);
	}
	return r;
}

static uint64_t find_address(const struct linker *l, uint32_t symbol)
{
	const char *name = aif_device_elf_symbol_name(&l->z->elf, symbol);
	const struct aif_device_section *sections = l->z->elf.sections;
	uint64_t section, value;
	uint32_t in;

	if (aif_map_get(&l->by_name, hash_name(name), &section) &&
	    strcmp(sections[section].name, name) == 0)
		return l->bases[section];
	if (aif_device_elf_symbol(&l->z->elf, symbol, &in, &value) && is_code(&sections[in]) &&
	    value <= sections[in].size)
		return l->bases[in] + value;
	return NO_CODE;
}

static uint64_t address_of(struct linker *l, uint32_t symbol)
{
	if (symbol >= l->z->elf.symbols_len)
		return 0;
	if (l->addresses[symbol] == NOT_ASKED)
		l->addresses[symbol] = find_address(l, symbol);
	return l->addresses[symbol] == NO_CODE ? 0 : l->addresses[symbol];
}

static void apply(struct linker *l, const struct aif_device_section *relocations,
		  const struct aif_device_section *to, bool has_addends)
{
	struct line_cursor p = line_cursor(relocations->bytes, relocations->size);
	uint8_t *bytes = l->copy + (to->bytes - l->from);

	while (line_left(&p) >= (has_addends ? 24 : 16) && l->left && l->left--) {
		uint64_t offset = line_u64(&p), info = line_u64(&p), v;
		size_t size = (uint32_t)info == TYPE_ADDRESS_64   ? 8
			      : (uint32_t)info == TYPE_ADDRESS_32 ? 4
								  : 0;
		uint64_t addend = has_addends ? line_u64(&p) : 0;

		if (!size || offset > to->size || size > to->size - offset)
			continue;
		v = 0;
		memcpy(&v, bytes + offset, size);
		v = htole64(address_of(l, (uint32_t)(info >> 32)) +
			    (has_addends ? addend : le64toh(v)));
		memcpy(bytes + offset, &v, size);
	}
}

/* The debug section that ".rela.debug_line" is for, and so on. */
static void apply_all(struct linker *l)
{
	size_t done = 0;

	for (size_t i = 0; i < l->z->elf.sections_len && done < MAX_RELOCATED; i++) {
		const struct aif_device_section *s = &l->z->elf.sections[i], *to;
		bool has_addends = strncmp(s->name, ".rela.debug_", 12) == 0;

		if (!s->size || (!has_addends && strncmp(s->name, ".rel.debug_", 11) != 0))
			continue;
		to = aif_device_elf_section(&l->z->elf, s->name + (has_addends ? 5 : 4));
		done++;
		if (to && to->size)
			apply(l, s, to, has_addends);
	}
}

static int link_copy(const struct aif_zebin *z, const uint64_t *bases, struct linker *l, size_t n)
{
	l->z = z;
	l->bases = bases;
	l->left = n / 16;
	l->copy = malloc(n);
	l->addresses = calloc(z->elf.symbols_len + 1, sizeof(*l->addresses));
	if (!l->copy || !l->addresses)
		return -ENOMEM;
	memcpy(l->copy, l->from, n);
	apply_all(l);
	return 0;
}

int aif_zebin_lines_new(const struct aif_zebin *z, const void *bytes, size_t n,
			struct aif_zebin_lines **ret)
{
	struct linker k = {.z = z, .from = bytes};
	struct aif_zebin_lines *l;
	int r;

	if (!aif_device_elf_section(&z->elf, ".debug_info") ||
	    !aif_device_elf_section(&z->elf, ".debug_line"))
		return -ENODATA;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->zebin = z;
	l->elf.fd = -1;
	l->bases = calloc(z->elf.sections_len + 1, sizeof(*l->bases));
	r = l->bases ? place_sections(&k, l->bases) : -ENOMEM;
	if (r == 0)
		r = link_copy(z, l->bases, &k, n);
	if (r == 0)
		r = aif_elf_init_bytes(&l->elf, k.copy, n);
	if (r == 0)
		r = aif_dwarf_new(&l->elf, &l->dwarf);
	aif_map_finish(&k.by_name);
	free(k.copy);
	free(k.addresses);
	if (r < 0) {
		aif_zebin_lines_free(l);
		return r == -ENOMEM ? r : -ENODATA;
	}
	*ret = l;
	return 0;
}

void aif_zebin_lines_free(struct aif_zebin_lines *l)
{
	if (!l)
		return;
	aif_dwarf_free(l->dwarf);
	aif_elf_finish(&l->elf);
	free(l->bases);
	free(l);
}

int aif_zebin_lines_resolve(struct aif_zebin_lines *l, uint32_t symbol, uint64_t pc,
			    struct aif_dwarf_level *ret, unsigned max)
{
	const struct aif_device_function *f = aif_device_elf_by_symbol(&l->zebin->elf, symbol);

	if (!f || pc >= f->size || !l->bases[f->section])
		return 0;
	if (aif_dwarf_cached(l->dwarf) > MAX_CACHED)
		aif_dwarf_drop(l->dwarf);
	return aif_dwarf_resolve(l->dwarf, l->bases[f->section] + f->start + pc, ret, max);
}
