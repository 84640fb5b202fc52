/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "record/nvml/library.h"

/*
 * Readings of a GPU. come in three groups by their cost, measured on an H200 (driver 580.159, as root and
 * as nobody): QUICK, eight calls of about 1 us each; GPM, a sample and its metrics, 1 to 2.5 ms; ENERGY, one call of 2.4
 * ms, at most 17.
 */
enum aif_nvml_group { AIF_NVML_QUICK, AIF_NVML_GPM_GROUP, AIF_NVML_ENERGY_GROUP, AIF_NVML_GROUPS };

enum aif_nvml_counter {
#define AIF_NVML_COUNTER(id, name, unit)     AIF_NVML_##id,
#define AIF_NVML_GPM(id, name, unit, metric) AIF_NVML_##id,
#include "record/nvml/counters.def"
	AIF_NVML_COUNTERS
};
const char *aif_nvml_counter_name(enum aif_nvml_counter c);
const char *aif_nvml_counter_unit(enum aif_nvml_counter c);

/* State of a GPU's GPM, as found by reading it. */
enum aif_nvml_gpm {
	AIF_GPM_UNKNOWN, /* not tried yet */
	AIF_GPM_UNSUPPORTED,
	AIF_GPM_DENIED, /* for lack of permission */
	AIF_GPM_FAILED,
	AIF_GPM_MIG, /* a divided GPU has none as a whole */
	AIF_GPM_READ,
};
const char *aif_nvml_gpm_text(enum aif_nvml_gpm gpm);

/* Facts that do not change while recording; 0: not known. */
struct aif_nvml_facts {
	char driver[81];
	double power_limit;                        /* W */
	unsigned most_sm_clock, most_memory_clock; /* MHz */
	enum aif_nvml_gpm gpm;
	bool is_mig;
};

struct aif_nvml_card;

/* Gets what a card reads: a value, measured at `time` (CLOCK_MONOTONIC ns); a call that fails, for its first time. */
struct aif_nvml_sink {
	void *arg;
	void (*value)(void *arg, const struct aif_nvml_card *c, uint64_t time,
		      enum aif_nvml_counter counter, double value);
	void (*failed)(void *arg, const struct aif_nvml_card *c, const char *call, int result);
	/* Total energy that is less than before; the difference is no energy. */
	void (*went_back)(void *arg, const struct aif_nvml_card *c);
	/* Called around each call: its name, NULL when it has returned. */
	void (*calling)(void *arg, const struct aif_nvml_card *c, const char *call);
};

struct aif_nvml_card {
	uint32_t pci; /* as in wire.h; 0: the only GPU */
	uint32_t tag; /* the caller's */
	void *handle;
	struct aif_nvml_facts facts;
	uint64_t
		off; /* 1 << counter: a reading that the GPU or the driver does not have, or that fails again and again */
	uint64_t failed;                           /* 1 << counter: a failure has been reported */
	unsigned char failures[AIF_NVML_COUNTERS]; /* one after another */
	unsigned char gpm_failures;
	bool has_energy;
	unsigned long long energy; /* mJ, at the last reading */
	void *gpm[2];              /* samples; [0] is the last if has_gpm */
	bool has_gpm;
	struct aif_gpm_get *get;
};

/* Finds the GPU and its facts. An enum aif_nvml_result; the card is finished by the caller in any case. */
int aif_nvml_card_open(const struct aif_nvml *n, uint32_t pci, const struct aif_nvml_sink *sink,
		       struct aif_nvml_card *ret);
void aif_nvml_card_finish(const struct aif_nvml *n, struct aif_nvml_card *c);

void aif_nvml_card_read(const struct aif_nvml *n, struct aif_nvml_card *c, enum aif_nvml_group g,
			const struct aif_nvml_sink *sink);
