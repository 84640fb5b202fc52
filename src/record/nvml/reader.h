/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/reasons.h"
#include "record/nvml/card.h"

/*
 * The thread that reads NVML, so that a call that takes long holds nobody up. Each group of a card's readings has a pace of
 * its own: QUICK ten times a second, GPM four times, ENERGY once, and never more often than what its calls have taken
 * allows: they may take a 200th of the time, all cards together, so that three groups take at most 1.5 % of one CPU. A
 * call that takes 2 s is thus made again after 30 s, which is the longest pause.
 */
#define AIF_NVML_QUICK_NS  (100 * 1000 * 1000)
#define AIF_NVML_GPM_NS    (250 * 1000 * 1000)
#define AIF_NVML_ENERGY_NS (1000 * 1000 * 1000)
#define AIF_NVML_SHARE     200
#define AIF_NVML_PAUSE_NS  (30 * UINT64_C(1000) * 1000 * 1000)
/* A call that takes longer is reported. */
#define AIF_NVML_SLOW_NS (100 * 1000 * 1000)
#define AIF_NVML_CARDS   64

struct aif_nvml_reader;

struct aif_nvml_value {
	uint64_t time; /* CLOCK_MONOTONIC ns */
	double value;
	uint32_t tag; /* of the card */
	enum aif_nvml_counter counter;
};

struct aif_nvml_note {
	enum aif_reason reason;
	uint64_t count;
	char detail[160];
};

/* Cost of all calls, known when the thread has ended. */
struct aif_nvml_cost {
	uint64_t cpu_ns, calls_ns, most_ns, calls; /* calls_ns: by the clock, waits included */
};

/* Starts the thread, which loads the library. NULL: no memory, no thread. */
struct aif_nvml_reader *aif_nvml_reader_new(void);
/* Reads this card from now on. False: there are too many. */
bool aif_nvml_reader_add(struct aif_nvml_reader *r, uint32_t pci, uint32_t tag);
/* rests: nobody uses the cards. They are read once more, and then when that has changed. */
void aif_nvml_reader_rest(struct aif_nvml_reader *r, bool rests);

/* Take what has been read, found out and noticed since the last call. */
size_t aif_nvml_reader_take(struct aif_nvml_reader *r, struct aif_nvml_value *ret, size_t max);
bool aif_nvml_reader_facts(struct aif_nvml_reader *r, uint32_t *ret_tag,
			   struct aif_nvml_facts *ret);
bool aif_nvml_reader_note(struct aif_nvml_reader *r, struct aif_nvml_note *ret);

/* Reads all cards a last time and ends the thread; waits for at most `ns`. False: a call has not returned, so that the
 * thread is left alone, with what it needs. *ret_cost is what is known of it. */
bool aif_nvml_reader_stop(struct aif_nvml_reader *r, uint64_t ns, struct aif_nvml_cost *ret_cost);
/* Frees a stopped reader. */
void aif_nvml_reader_free(struct aif_nvml_reader *r);
