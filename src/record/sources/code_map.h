/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"
#include "record/sources/code_map_frames.h"

/*
 * Places of the device functions of all processes in devices' memory, and since when: they turn an address that a
 * device has sampled into a function. Belongs to the drain thread.
 *
 * Every process has an address space of its own on the device, and drivers put code at the same addresses in each: so an
 * address may be of several processes. Hardware of before Xe3p tells 32 bits of it only.
 */

/* More than that many functions at a time are no application's: 16 MiB. */
#define AIF_CODE_MAP_MAX (UINT32_C(1) << 17)
/* Functions that are looked at for one address. */
#define AIF_CODE_MAP_HITS 16

struct aif_code_range {
	uint64_t address, size; /* bytes; as AIF_WIRE_PLACE has them */
	uint64_t from, to;      /* CLOCK_MONOTONIC ns; to: UINT64_MAX while it lasts */
	uint32_t process, device, module,
		name;            /* the store's numbers; module, name: the function's */
	uint32_t code;           /* the process's id of it */
	uint32_t pci;            /* PCI address of the device (wire.h), 0 = not known */
	struct aif_quota *payer; /* NULL: its process is gone */
	uint32_t next;           /* next range of the same function + 1, 0 = none */
};

enum aif_code_map_space {
	AIF_CODE_MAP_32, /* the lowest 32 bits of addresses count */
	AIF_CODE_MAP_64,
	AIF_CODE_MAP_SPACES
};

struct aif_code_map {
	struct aif_code_range *at;
	size_t len, cap, ended;
	uint32_t device; /* device of the latest range that was put */
	bool has_device;
	struct aif_code_map_frames frames; /* frames of what was sampled in ranges */
	uint64_t since;                    /* ranges that had ended by then are in no index */
	uint64_t turned_ns;     /* begin of the window in which running kernels are counted */
	struct aif_map by_code; /* process, device, code -> the newest + 1 */
	struct aif_map
		ran[2]; /* process and kernel's name -> ns, of this window and the one before */
	struct aif_code_map_index { /* pieces of a space without a border within; sorted */
		struct aif_code_map_piece {
			uint64_t start;
			uint32_t first, n; /* part of `candidates` */
		} * pieces;
		size_t pieces_len, pieces_cap;
		uint32_t *candidates; /* indexes of `at` */
		size_t candidates_len, candidates_cap;
		size_t last;  /* piece that was asked for: the next is often there, too */
		bool is_made; /* since the latest change */
	} index[AIF_CODE_MAP_SPACES];
};

void aif_code_map_finish(struct aif_code_map *p);

/* place->next, to and payer need not be set; the store's payer pays. Size 0: the code is gone from that address, or with
 * address 0 from wherever it was on that device. Needs the store's lock. */
void aif_code_map_put(struct aif_code_map *p, struct aif_store *s,
		      const struct aif_code_range *place);
/* Ends all ranges of a process that has ended, and pays no more. */
void aif_code_map_end(struct aif_code_map *p, uint32_t process, uint64_t at);
/* Forgets what had ended before `before`. Needs the store's lock. */
void aif_code_map_forget(struct aif_code_map *p, struct aif_store *s, uint64_t before);

/* Adds an execution's time: it weighs where several processes have code at an address. */
void aif_code_map_ran(struct aif_code_map *p, uint32_t process, uint32_t name, uint64_t ns);
uint64_t aif_code_map_time(const struct aif_code_map *p, const struct aif_code_range *place);
/* Begins a new window at `at` (CLOCK_MONOTONIC ns): what ran before the one that ends counts no more. */
void aif_code_map_turn(struct aif_code_map *p, uint64_t at);

/* The functions whose code lay at `address` sometime from `from` to `to`, on the device of that number or one that has
 * none. Returns how many; pointers hold until the next change. The index is made anew where it has to be: n log n. */
size_t aif_code_map_find(struct aif_code_map *p, enum aif_code_map_space space, uint64_t address,
			 uint32_t pci, uint64_t from, uint64_t to,
			 const struct aif_code_range *ret[AIF_CODE_MAP_HITS]);
/* Up to which address, exclusive, the answer is that for `address`, which was asked for last. */
uint64_t aif_code_map_until(const struct aif_code_map *p, enum aif_code_map_space space,
			    uint64_t address);
/* Returns the address's offset in the place. */
uint64_t aif_code_map_offset(const struct aif_code_range *place, enum aif_code_map_space space,
			     uint64_t address);
