/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/map.h"
#include "record/place_frames.h"

/*
 * Where the device functions of all processes lie in devices' memory, and since when: what turns an address that a
 * device has sampled into a function. Belongs to the drain thread.
 *
 * Every process has an address space of its own on the device, and drivers put code at the same addresses in each: so an
 * address may be of several processes. Hardware of before Xe3p tells 32 bits of it only.
 */

/* More than that many functions at a time are no application's: 16 MiB. */
#define AIF_PLACES_MAX (UINT32_C(1) << 17)
/* Functions that are looked at for one address. */
#define AIF_PLACES_HITS 16

struct aif_place {
	uint64_t address, size; /* bytes; as AIF_WIRE_PLACE has them */
	uint64_t from, to;      /* CLOCK_MONOTONIC ns; to: UINT64_MAX while it lasts */
	uint32_t process, device, module, name; /* of the store; module, name: the function's */
	uint32_t code;                          /* the process's id of it */
	uint32_t pci;                           /* of the device (wire.h), 0 = not known */
	struct aif_account *payer;              /* NULL: its process is gone */
	uint32_t next;                          /* of the same function + 1, 0 = none */
};

enum aif_places_space {
	AIF_PLACES_32, /* the lowest 32 bits of addresses count */
	AIF_PLACES_64,
	AIF_PLACES_SPACES
};

struct aif_places {
	struct aif_place *at;
	size_t len, cap, ended;
	uint32_t device; /* of the latest that was told; 0 before */
	bool is_told;
	struct aif_place_frames frames; /* of what was sampled in them */
	uint64_t since;                 /* what had ended by then is in no index */
	struct aif_map by_code;         /* process, device, code -> the newest + 1 */
	struct aif_map
		ran[2]; /* process and kernel's name -> ns, of this window and the one before */
	struct aif_places_index { /* pieces of a space without a border within; sorted */
		struct aif_places_piece {
			uint64_t start;
			uint32_t first, n; /* of `candidates` */
		} * pieces;
		size_t pieces_len, pieces_cap;
		uint32_t *candidates; /* indexes of `at` */
		size_t candidates_len, candidates_cap;
		size_t last;  /* piece that was asked for: the next is often there, too */
		bool is_made; /* since the latest change */
	} index[AIF_PLACES_SPACES];
};

void aif_places_finish(struct aif_places *p);

/* place->next, to and payer need not be set; the store's payer pays. Size 0: the code is gone from that address, or with
 * address 0 from wherever it was on that device. Needs the store's lock. */
void aif_places_put(struct aif_places *p, struct aif_store *s, const struct aif_place *place);
/* The process has ended, and pays no more. */
void aif_places_end(struct aif_places *p, uint32_t process, uint64_t at);
/* What had ended by then is not asked for any more. Needs the store's lock. */
void aif_places_forget(struct aif_places *p, struct aif_store *s, uint64_t before);

/* An execution has been told of: it weighs where several processes may have been at an address. */
void aif_places_ran(struct aif_places *p, uint32_t process, uint32_t name, uint64_t ns);
uint64_t aif_places_time(const struct aif_places *p, const struct aif_place *place);
/* A window has ended: what ran in the one before it counts no more. */
void aif_places_turn(struct aif_places *p);

/* The functions whose code lay at `address` sometime from `from` to `to`, on the device of that number or one that has
 * none. Returns how many; pointers hold until the next change. The index is made anew where it has to be: n log n. */
size_t aif_places_find(struct aif_places *p, enum aif_places_space space, uint64_t address,
		       uint32_t pci, uint64_t from, uint64_t to,
		       const struct aif_place *ret[AIF_PLACES_HITS]);
/* Up to which address, exclusive, the answer is that for `address`, which was asked for last. */
uint64_t aif_places_until(const struct aif_places *p, enum aif_places_space space,
			  uint64_t address);
/* How far behind the place's start the address is. */
uint64_t aif_places_offset(const struct aif_place *place, enum aif_places_space space,
			   uint64_t address);
