/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/fde.h"

#include "base/buf.h"

#include <errno.h>
#include <string.h>

/*
 * Passes once over the section. Only the two address fields of each FDE are wanted, so of a CIE
 * only the encoding of FDE pointers ('R' in its augmentation) is read, and remembered for the CIE
 * last seen: FDEs that share one follow each other.
 */

enum {
	MAX_EH_FRAME = 256 << 20, /* libtorch_cpu's is 11 MB */
	/* Limits of a CIE, which each FDE may have of its own. */
	MAX_LEB_BITS = 70,
	MAX_AUGMENTATION = 16, /* characters; five are known */
	ENTRY_COST = 256,      /* of sorting it, too */
	PE_ABSPTR = 0x00,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_PCREL = 0x10,
	PE_APPLICATION = 0x70,
};

struct cursor {
	const uint8_t *data;
	size_t at, end;
	bool is_big, bad;
};

static uint64_t take(struct cursor *c, unsigned n)
{
	uint64_t v = 0;

	if (c->bad || c->end - c->at < n) {
		c->bad = true;
		return 0;
	}
	for (unsigned i = 0; i < n; i++)
		v |= (uint64_t)c->data[c->at + i] << 8 * (c->is_big ? n - 1 - i : i);
	c->at += n;
	return v;
}

static uint64_t take_leb(struct cursor *c)
{
	uint64_t v = 0, byte;
	unsigned shift = 0;

	do {
		byte = take(c, 1);
		if (shift < 64)
			v |= (byte & 0x7f) << shift;
		shift += 7;
		c->bad |= shift > MAX_LEB_BITS;
	} while (byte & 0x80 && !c->bad);
	return v;
}

static uint64_t take_value(struct cursor *c, unsigned encoding)
{
	switch (encoding & 0x0f) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		return take(c, 8);
	case PE_UDATA2:
		return take(c, 2);
	case PE_UDATA4:
		return take(c, 4);
	case PE_SDATA2:
		return (uint64_t)(int16_t)take(c, 2);
	case PE_SDATA4:
		return (uint64_t)(int32_t)take(c, 4);
	}
	c->bad = true;
	return 0;
}

/* Reads the CIE whose contents (after its id) are at c: returns the encoding of addresses in its FDEs, *ret_signal
 * says whether they describe frames that a signal interrupted. */
static unsigned cie_encoding(struct cursor *c, bool *ret_signal)
{
	unsigned version = (unsigned)take(c, 1), encoding = PE_ABSPTR;
	const char *augmentation = (const char *)c->data + c->at;
	size_t end = c->at + MAX_AUGMENTATION;

	*ret_signal = false;
	while (take(c, 1))
		c->bad |= c->at > end;
	if (c->bad || augmentation[0] != 'z')
		return encoding;
	take_leb(c); /* code alignment */
	take_leb(c); /* data alignment */
	if (version == 1)
		take(c, 1);
	else
		take_leb(c); /* return address register */
	take_leb(c);         /* augmentation's length */
	for (const char *a = augmentation + 1; *a && !c->bad; a++) {
		if (*a == 'R')
			encoding = (unsigned)take(c, 1);
		else if (*a == 'P') {
			unsigned personality = (unsigned)take(c, 1);

			take_value(c, personality);
		} else if (*a == 'L')
			take(c, 1);
		else if (*a == 'S')
			*ret_signal = true;
		else if (*a != 'B')
			break;
	}
	return encoding;
}

static int add_fde(struct aif_fdes *f, struct cursor *c, uint64_t section, unsigned encoding,
		   bool is_signal_return)
{
	uint64_t at = section + c->at, start, size;
	int r;

	start = take_value(c, encoding);
	if ((encoding & PE_APPLICATION) == PE_PCREL)
		start += at;
	else if (encoding & PE_APPLICATION)
		return 0; /* relative to sections: no compiler for Linux writes it */
	size = take_value(c, encoding);
	if ((encoding & 0x0f) == PE_SDATA4)
		size &= UINT32_MAX;
	if (c->bad || !size || start + size < start || !start || start + size > INT64_MAX)
		return 0;
	r = aif_grow(&f->fdes, &f->cap, f->len + 1, sizeof(*f->fdes));
	if (r == 0)
		f->fdes[f->len++] = (struct aif_fde){start, start + size, is_signal_return};
	return r;
}

static int scan(struct aif_fdes *f, const struct aif_elf *elf, const uint8_t *data, size_t n,
		uint64_t section)
{
	size_t at = 0, known_cie = SIZE_MAX;
	unsigned encoding = PE_ABSPTR;
	bool is_signal_return = false;
	int r = 0;

	while (r == 0 && n - at >= 4 && !aif_effort_spend(elf->effort, ENTRY_COST)) {
		struct cursor c = {.data = data, .at = at, .end = n, .is_big = elf->is_big};
		uint64_t length = take(&c, 4), id;
		size_t id_at;

		if (length == UINT32_MAX)
			length = take(&c, 8);
		if (!length)
			break; /* the terminator */
		if (c.bad || length > n - c.at)
			break;
		id_at = c.at;
		c.end = at = id_at + length;
		id = take(&c, 4);
		if (c.bad || !id)
			continue; /* a CIE: read when an FDE asks for it */
		if (id > id_at)
			continue;
		if (id_at - id != known_cie) {
			struct cursor cie = {
				.data = data, .at = id_at - id, .end = n, .is_big = elf->is_big};
			uint64_t cie_length = take(&cie, 4);

			if (cie_length == UINT32_MAX)
				cie_length = take(&cie, 8);
			if (cie.bad || cie_length > n - cie.at)
				continue;
			cie.end = cie.at + cie_length;
			if (take(&cie, 4)) /* no CIE */
				continue;
			encoding = cie_encoding(&cie, &is_signal_return);
			if (cie.bad)
				continue;
			known_cie = id_at - id;
		}
		r = add_fde(f, &c, section, encoding, is_signal_return);
	}
	return r;
}

static int by_start(const void *pa, const void *pb)
{
	const struct aif_fde *a = pa, *b = pb;

	return AIF_ORDER(a->start, b->start) ?: AIF_ORDER(a->end, b->end);
}

int aif_fdes_init(struct aif_fdes *f, const struct aif_elf *elf)
{
	const struct aif_elf_section *section = aif_elf_section(elf, ".eh_frame");
	uint8_t *data;
	size_t n;
	int r;

	*f = (struct aif_fdes){0};
	r = aif_elf_load(elf, section, MAX_EH_FRAME, &data, &n);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = scan(f, elf, data, n, section->addr);
	free(data);
	if (r < 0)
		aif_fdes_finish(f);
	else if (f->len)
		qsort(f->fdes, f->len, sizeof(*f->fdes), by_start);
	return r;
}

void aif_fdes_finish(struct aif_fdes *f)
{
	free(f->fdes);
	*f = (struct aif_fdes){0};
}

const struct aif_fde *aif_fdes_find(const struct aif_fdes *f, uint64_t address)
{
	size_t lo = AIF_BISECT(mid, 0, f->len, f->fdes[mid].start <= address);

	return lo && address < f->fdes[lo - 1].end ? &f->fdes[lo - 1] : NULL;
}
