/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/counters.h"
#include "base/err.h"

/*
 * Clocks, power and energy of devices in a part of a recording, from the counters of NVML (src/record/nvml/counters.def).
 *
 *   energy   a reading is of the time since the one before it; of one that lies only partly in the part counts that share
 *            of it. Where the first reading comes later than the part begins, or the last one before its end, less of the
 *            part is covered: .energy_ns
 *   reasons  a reading stands for the time since the one before it, at most AIF_POWER_MOST_NS
 *   clocks   medians are of readings in which the GPU was not idle, since an idle GPU lowers its clocks itself
 */
#define AIF_POWER_MOST_NS INT64_C(5000000000)

/* Reasons why clocks are lower than asked for: bits of nvmlClocksEventReasons. */
enum aif_clock_reason {
	AIF_CLOCK_IDLE = 0x1,
	AIF_CLOCK_SET = 0x2, /* by an application's setting */
	AIF_CLOCK_POWER_CAP = 0x4,
	AIF_CLOCK_HARDWARE = 0x8,
	AIF_CLOCK_SYNC_BOOST = 0x10,
	AIF_CLOCK_HEAT = 0x20,
	AIF_CLOCK_HARDWARE_HEAT = 0x40,
	AIF_CLOCK_POWER_BRAKE = 0x80,
};
/* Reasons that slow a GPU down which could run faster. */
#define AIF_CLOCK_SLOWED                                                                       \
	(AIF_CLOCK_POWER_CAP | AIF_CLOCK_HARDWARE | AIF_CLOCK_HEAT | AIF_CLOCK_HARDWARE_HEAT | \
	 AIF_CLOCK_POWER_BRAKE)
enum { AIF_CLOCK_REASONS = 8 }; /* 1 << i is known for i below this */
/* Returns words for the reason 1 << i: "power cap". */
const char *aif_clock_reason_name(unsigned i);

struct aif_power_device {
	uint32_t device;
	double energy_j;
	uint64_t energy_ns;          /* of the part, with energy known */
	uint64_t read_ns, slowed_ns; /* with reasons known; with any of AIF_CLOCK_SLOWED */
	uint64_t reason_ns[AIF_CLOCK_REASONS]; /* with the reason 1 << i */
	double clock_mhz, power_w;             /* medians; 0: no reading */
	double most_clock_mhz, power_limit_w;  /* as recorded; 0: not known */
};

struct aif_power {
	struct aif_power_device *devices; /* with any of it, by id */
	size_t len, cap;
	uint64_t damaged; /* chunks that could not be read */
};

/* Measures [from, to), ns since the recording's start, of the devices that `sel` (NULL: all) keeps; its time is not looked
 * at. 0 or -ENOMEM; *ret is finished by the caller in any case. */
int aif_power_measure(const struct aif_profile *p, const struct aif_selection *sel, int64_t from,
		      int64_t to, struct aif_power *ret);
void aif_power_finish(struct aif_power *w);

/* Fills means of a device's power (W) and SM clock (MHz) in `len` equal parts of [0, ns), a part without a reading like the
 * one before it; 0: none yet. Sets *ret_w and *ret_mhz to their limits, or to the most that was read if that is more; 0:
 * there is no reading. */
void aif_power_cells(const struct aif_profile *p, const struct aif_counters *c, uint32_t device,
		     uint64_t ns, size_t len, double *power_w, double *clock_mhz, double *ret_w,
		     double *ret_mhz);

/*
 * Energy of a device shared by device time: what a nanosecond of work stood for in the mean of the time from the first to
 * the last work of the part that `sel` selects. A GPU counts its energy as a whole, about once a second: kernels that take
 * more power than others get too little, and what it took while it was idle, or worked for others, is in it.
 */
struct aif_power_rates {
	double *uj_per_ns; /* by device; 0: not known */
	size_t len;
	/* Sums over the devices with a rate: energy; time with work; time from the first to the last work; the part of
	 * that time whose energy was read. */
	double energy_j;
	uint64_t busy_ns, of_ns, known_ns;
};
/* 0, -ENOMEM, or -ENODATA where no energy of a device that worked is known; with *err. *ret is finished by the caller in any
 * case. */
int aif_power_rates_make(const struct aif_profile *p, const struct aif_selection *sel,
			 struct aif_power_rates *ret, struct aif_err *err);
void aif_power_rates_finish(struct aif_power_rates *r);
/* Appends "1.21 kJ, shared by device time (grade: apportioned), 12.0 % of it idle". */
void aif_power_rates_say(const struct aif_power_rates *r, struct aif_buf *out);

/* Sums of energy and covered time over all devices. False: none is known. */
bool aif_power_energy(const struct aif_power *w, double *ret_j, uint64_t *ret_ns);
/* Returns the device that was slowed down, or whose clock was below its maximum, most: one with at least 5 % of its time or
 * a median below 80 %; NULL: there is none. */
const struct aif_power_device *aif_power_slowed(const struct aif_power *w);
/* Appends "slowed down for 48 % of the time (power cap 48 %); SM clock 1,485 of 1,980 MHz (median)". */
void aif_power_say_slowed(const struct aif_power_device *d, struct aif_buf *out);
