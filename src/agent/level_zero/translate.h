/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/emit.h"
#include "agent/level_zero/ze_abi.h"

/* The adapter's pure half: numbers of Level Zero -> ours. No call into Level Zero, tested without it. */

enum aif_emit_device_kind aif_ze_device_kind(uint32_t type);

/* Execution units; 0 = not known. */
uint32_t aif_ze_device_units(const struct aif_ze_device_properties *p);

/* The kind of a copy by where its ends lie (AIF_ZE_MEMORY_...; shared counts as the device's). */
enum aif_emit_kind aif_ze_copy_kind(uint32_t to, uint32_t from);

/* Returns the PCI address as AIF_WIRE_DEVICE has it; 0: that is no address. */
uint32_t aif_ze_pci(const struct aif_ze_pci_properties *p);

uint64_t aif_ze_region_bytes(const struct aif_ze_copy_region *r);

/* group: a kernel's group size, 0 = not known. count NULL: it is in the device's memory. */
void aif_ze_shape(const struct aif_ze_group_count *count, const uint32_t group[3],
		  struct aif_emit_shape *ret);

/*
 * Counters of 32 or 36 bits come around in minutes. The value of 64 bits that has the low `bits` of `value` and
 * lies nearest to `reference`: right as long as the two are less than half a turn apart. bits 0 or more than 63:
 * the value itself.
 */
uint64_t aif_ze_extend(uint64_t reference, uint64_t value, uint32_t bits);

/* Ticks a second, from what a device says of its timer: drivers since 1.2 are asked for just that, older ones answer
 * with ns of a tick all the same. 0, which none should say: ns. */
uint64_t aif_ze_hertz(uint64_t timer_resolution);

/* Ticks in ns, which is what a clock is taken to count before there are two readings of it. */
uint64_t aif_ze_ns(uint64_t ticks, uint64_t hertz);

/* Extends to 64 bits start and end, ticks, of an execution that ended about `now`. False: they cannot be true. */
bool aif_ze_times(const struct aif_ze_kernel_times *t, uint64_t now, uint32_t bits,
		  uint64_t *ret_start, uint64_t *ret_end);

/* The sections ".text.NAME" of an ELF file of 64 bits, in order, as Intel's compilers write device code (zebin):
 * calls tell() with the name (not terminated) and the size in bytes of each. What is no such file, or lies
 * outside of it, is passed over. Returns their number. */
unsigned aif_ze_texts(const uint8_t *bytes, size_t n,
		      void (*tell)(void *arg, const char *name, size_t len, uint64_t size),
		      void *arg);
