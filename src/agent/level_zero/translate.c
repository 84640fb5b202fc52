/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/level_zero/translate.h"

#include <elf.h>
#include <string.h>

/* More kernels are in no module: oneDNN's largest have some hundreds. */
#define TEXTS_MAX 65536

enum aif_emit_device_kind aif_ze_device_kind(uint32_t type)
{
	switch (type) {
	case AIF_ZE_DEVICE_GPU:
		return AIF_EMIT_DEVICE_GPU;
	case AIF_ZE_DEVICE_CPU:
		return AIF_EMIT_DEVICE_CPU;
	case AIF_ZE_DEVICE_FPGA:
	case AIF_ZE_DEVICE_MCA:
	case AIF_ZE_DEVICE_VPU:
		return AIF_EMIT_DEVICE_ACCELERATOR;
	default:
		return AIF_EMIT_DEVICE_OTHER;
	}
}

uint32_t aif_ze_device_units(const struct aif_ze_device_properties *p)
{
	uint64_t n = (uint64_t)p->slices * p->subslices_per_slice;

	n = n > UINT32_MAX ? UINT32_MAX : n * p->eus_per_subslice;
	return (uint32_t)AIF_MIN(n, (uint64_t)UINT32_MAX);
}

uint32_t aif_ze_pci(const struct aif_ze_pci_properties *p)
{
	if (p->domain > 0xffff || p->bus > 0xff || p->device > 0x1f || p->function > 7)
		return 0;
	return p->domain << 16 | p->bus << 8 | p->device << 3 | p->function;
}

static bool on_device(uint32_t memory)
{
	return memory == AIF_ZE_MEMORY_DEVICE || memory == AIF_ZE_MEMORY_SHARED;
}

enum aif_emit_kind aif_ze_copy_kind(uint32_t to, uint32_t from)
{
	if (on_device(to) == on_device(from))
		return AIF_EMIT_COPY;
	return on_device(to) ? AIF_EMIT_WRITE : AIF_EMIT_READ;
}

uint64_t aif_ze_region_bytes(const struct aif_ze_copy_region *r)
{
	return r ? (uint64_t)r->width * AIF_MAX(r->height, 1u) * AIF_MAX(r->depth, 1u) : 0;
}

static uint32_t items(uint32_t groups, uint32_t size)
{
	return (uint32_t)AIF_MIN((uint64_t)groups * AIF_MAX(size, 1u), (uint64_t)UINT32_MAX);
}

void aif_ze_shape(const struct aif_ze_group_count *count, const uint32_t group[3],
		  struct aif_emit_shape *ret)
{
	*ret = (struct aif_emit_shape){.block = {group[0], group[1], group[2]}};
	if (!count)
		return;
	ret->grid[0] = items(count->x, group[0]);
	ret->grid[1] = items(count->y, group[1]);
	ret->grid[2] = items(count->z, group[2]);
}

uint64_t aif_ze_extend(uint64_t reference, uint64_t value, uint32_t bits)
{
	uint64_t turn, near;

	if (!bits || bits > 63)
		return value;
	turn = UINT64_C(1) << bits;
	near = (reference & ~(turn - 1)) | (value & (turn - 1));
	if (near > reference && near - reference > turn / 2 && near >= turn)
		return near - turn;
	if (near < reference && reference - near > turn / 2 && near <= UINT64_MAX - turn)
		return near + turn;
	return near;
}

/* No timer is slower than this, and none has ticks as long as so many ns. */
#define SLOWEST_HERTZ 100000

uint64_t aif_ze_hertz(uint64_t timer_resolution)
{
	if (!timer_resolution)
		return AIF_NS_PER_S;
	return timer_resolution >= SLOWEST_HERTZ ? timer_resolution
						 : AIF_NS_PER_S / timer_resolution;
}

uint64_t aif_ze_ns(uint64_t ticks, uint64_t hertz)
{
	return (uint64_t)((unsigned __int128)ticks * AIF_NS_PER_S / hertz);
}

bool aif_ze_times(const struct aif_ze_kernel_times *t, uint64_t now, uint32_t bits,
		  uint64_t *ret_start, uint64_t *ret_end)
{
	uint64_t start, end;

	/* Times that were never written are all zero, all one, or the driver's mark: all are the same number. */
	if (t->start == t->end && (!t->start || t->start == t->context_start))
		return false;
	end = aif_ze_extend(now, t->end, bits);
	start = aif_ze_extend(end, t->start, bits);
	if (start > end)
		return false;
	*ret_start = start;
	*ret_end = end;
	return true;
}

static const Elf64_Shdr *section(const uint8_t *bytes, size_t n, const Elf64_Ehdr *h, unsigned i,
				 Elf64_Shdr *copy)
{
	uint64_t at = h->e_shoff + (uint64_t)i * sizeof(*copy);

	if (h->e_shoff > n || at > n - sizeof(*copy))
		return NULL;
	memcpy(copy, bytes + at, sizeof(*copy));
	return copy;
}

unsigned aif_ze_texts(const uint8_t *bytes, size_t n,
		      void (*tell)(void *arg, const char *name, size_t len, uint64_t size),
		      void *arg)
{
	static const char prefix[] = ".text.";
	const size_t prefix_len = sizeof(prefix) - 1;
	unsigned found = 0;
	Elf64_Ehdr h;
	Elf64_Shdr names, s;

	if (n < sizeof(h))
		return 0;
	memcpy(&h, bytes, sizeof(h));
	if (memcmp(h.e_ident, ELFMAG, SELFMAG) || h.e_ident[EI_CLASS] != ELFCLASS64 ||
	    h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_shentsize != sizeof(s) ||
	    !section(bytes, n, &h, h.e_shstrndx, &names) || names.sh_offset > n ||
	    names.sh_size > n - names.sh_offset)
		return 0;
	for (unsigned i = 0; i < h.e_shnum && found < TEXTS_MAX; i++) {
		const char *name, *end;

		if (!section(bytes, n, &h, i, &s))
			break;
		if (s.sh_type != SHT_PROGBITS || s.sh_name >= names.sh_size)
			continue;
		name = (const char *)bytes + names.sh_offset + s.sh_name;
		end = memchr(name, '\0', names.sh_size - s.sh_name);
		if (!end || (size_t)(end - name) <= prefix_len || memcmp(name, prefix, prefix_len))
			continue;
		found++;
		tell(arg, name + prefix_len, (size_t)(end - name) - prefix_len, s.sh_size);
	}
	return found;
}
