/* SPDX-License-Identifier: Apache-2.0 */
#include "record/nvml/card.h"

#include "base/clock.h"

#include <math.h>
#include <stdio.h>

/* A call that has failed so often, one time after another, is not made again. */
#define MOST_FAILURES 20

struct counter_words {
	const char *name, *unit;
	unsigned metric; /* of GPM; 0: none */
};
static const struct counter_words words[] = {
#define AIF_NVML_COUNTER(id, name, unit)     {name, unit, 0},
#define AIF_NVML_GPM(id, name, unit, metric) {name, unit, metric},
#include "record/nvml/counters.def"
};

const char *aif_nvml_counter_name(enum aif_nvml_counter c)
{
	return words[c].name;
}

const char *aif_nvml_counter_unit(enum aif_nvml_counter c)
{
	return words[c].unit;
}

const char *aif_nvml_gpm_text(enum aif_nvml_gpm gpm)
{
	static const char *const texts[] = {[AIF_GPM_UNKNOWN] = "not tried",
					    [AIF_GPM_UNSUPPORTED] = "not supported by this GPU",
					    [AIF_GPM_DENIED] = "not permitted",
					    [AIF_GPM_FAILED] = "failed",
					    [AIF_GPM_MIG] = "not of a divided GPU (MIG)",
					    [AIF_GPM_READ] = "read"};

	return texts[gpm];
}

/* A reading under way: of which card, and for whom. */
struct turn {
	const struct aif_nvml *n;
	struct aif_nvml_card *c;
	const struct aif_nvml_sink *sink;
	uint64_t time;
};

/* Calls FIELD of the library as the reading of `counter`; false: there is no value. */
#define CALL(t, FIELD, ...)                                                 \
	({                                                                  \
		int result_ = AIF_NVML_NOT_SUPPORTED;                       \
                                                                            \
		if ((t)->n->FIELD) {                                        \
			(t)->sink->calling((t)->sink->arg, (t)->c, #FIELD); \
			result_ = (t)->n->FIELD(__VA_ARGS__);               \
			(t)->sink->calling((t)->sink->arg, (t)->c, NULL);   \
		}                                                           \
		result_;                                                    \
	})

static bool is_off(const struct turn *t, enum aif_nvml_counter counter)
{
	return t->c->off >> counter & 1;
}

/* Notes what a reading came to; true if there is a value. */
static bool worked(const struct turn *t, enum aif_nvml_counter counter, const char *call,
		   int result)
{
	struct aif_nvml_card *c = t->c;

	if (result == AIF_NVML_OK) {
		c->failures[counter] = 0;
		return true;
	}
	/* Many GPUs lack a reading or two: that is no failure. */
	if (result == AIF_NVML_NOT_SUPPORTED || result == 13) {
		c->off |= UINT64_C(1) << counter;
		return false;
	}
	if (!(c->failed >> counter & 1))
		t->sink->failed(t->sink->arg, c, call, result);
	c->failed |= UINT64_C(1) << counter;
	if (result == AIF_NVML_NO_PERMISSION || ++c->failures[counter] >= MOST_FAILURES)
		c->off |= UINT64_C(1) << counter;
	return false;
}

static void put(const struct turn *t, enum aif_nvml_counter counter, double value)
{
	if (isfinite(value))
		t->sink->value(t->sink->arg, t->c, t->time, counter, value);
}

static void read_clock(const struct turn *t, enum aif_nvml_counter counter, unsigned type)
{
	unsigned mhz;

	if (!is_off(t, counter) &&
	    worked(t, counter, "nvmlDeviceGetClockInfo", CALL(t, clock, t->c->handle, type, &mhz)))
		put(t, counter, mhz);
}

static void read_reasons(const struct turn *t)
{
	unsigned long long bits;
	int r;

	if (is_off(t, AIF_NVML_REASONS))
		return;
	r = t->n->reasons ? CALL(t, reasons, t->c->handle, &bits)
			  : CALL(t, old_reasons, t->c->handle, &bits);
	if (worked(t, AIF_NVML_REASONS, "nvmlDeviceGetCurrentClocksEventReasons", r))
		put(t, AIF_NVML_REASONS, (double)bits);
}

static void read_quick(const struct turn *t)
{
	struct aif_nvml_memory memory;
	struct aif_nvml_use use;
	void *handle = t->c->handle;
	unsigned value;

	read_clock(t, AIF_NVML_SM_CLOCK, AIF_NVML_CLOCK_SM);
	read_clock(t, AIF_NVML_MEMORY_CLOCK, AIF_NVML_CLOCK_MEMORY);
	read_reasons(t);
	if (!is_off(t, AIF_NVML_POWER) &&
	    worked(t, AIF_NVML_POWER, "nvmlDeviceGetPowerUsage", CALL(t, power, handle, &value)))
		put(t, AIF_NVML_POWER, value / 1e3);
	if (!is_off(t, AIF_NVML_TEMPERATURE) &&
	    worked(t, AIF_NVML_TEMPERATURE, "nvmlDeviceGetTemperature",
		   CALL(t, temperature, handle, AIF_NVML_TEMPERATURE_GPU, &value)))
		put(t, AIF_NVML_TEMPERATURE, value);
	if (!is_off(t, AIF_NVML_MEMORY) &&
	    worked(t, AIF_NVML_MEMORY, "nvmlDeviceGetMemoryInfo", CALL(t, memory, handle, &memory)))
		put(t, AIF_NVML_MEMORY, (double)memory.used / (1 << 20));
	if (is_off(t, AIF_NVML_USE) ||
	    !worked(t, AIF_NVML_USE, "nvmlDeviceGetUtilizationRates", CALL(t, use, handle, &use)))
		return;
	put(t, AIF_NVML_USE, use.gpu);
	put(t, AIF_NVML_MEMORY_USE, use.memory);
}

/* Reads the energy since the last reading: the first one gives 0, so that an interval begins there. */
static void read_energy(struct turn *t)
{
	struct aif_nvml_card *c = t->c;
	uint64_t begin = aif_now_ns();
	unsigned long long total;

	if (is_off(t, AIF_NVML_ENERGY) ||
	    !worked(t, AIF_NVML_ENERGY, "nvmlDeviceGetTotalEnergyConsumption",
		    CALL(t, energy, c->handle, &total)))
		return;
	/* The call takes milliseconds; when in it the counter is read is not known. */
	t->time = begin + (aif_now_ns() - begin) / 2;
	if (c->has_energy && total < c->energy)
		t->sink->went_back(t->sink->arg, c);
	put(t, AIF_NVML_ENERGY,
	    c->has_energy && total > c->energy ? (double)(total - c->energy) / 1e3 : 0);
	c->has_energy = true;
	c->energy = total;
}

/* ---- GPM ------------------------------------------------------------------------------------- */

static void gpm_fail(const struct turn *t, const char *call, int result)
{
	struct aif_nvml_card *c = t->c;

	if (!c->gpm_failures++ && result != AIF_NVML_NOT_SUPPORTED)
		t->sink->failed(t->sink->arg, c, call, result);
	if (c->facts.gpm == AIF_GPM_UNKNOWN)
		c->facts.gpm = result == AIF_NVML_NO_PERMISSION   ? AIF_GPM_DENIED
			       : result == AIF_NVML_NOT_SUPPORTED ? AIF_GPM_UNSUPPORTED
								  : AIF_GPM_FAILED;
	c->has_gpm = false;
	if (result == AIF_NVML_NO_PERMISSION || result == AIF_NVML_NOT_SUPPORTED ||
	    c->gpm_failures >= MOST_FAILURES) {
		free(c->get);
		c->get = NULL; /* no more of it */
	}
}

static void put_metrics(const struct turn *t)
{
	struct aif_gpm_get *get = t->c->get;

	for (unsigned i = 0; i < get->len; i++)
		if (get->metrics[i].result == AIF_NVML_OK)
			put(t, AIF_NVML_SM_ACTIVE + i, get->metrics[i].value);
}

static void read_gpm(struct turn *t)
{
	struct aif_nvml_card *c = t->c;
	void *last = c->gpm[0];
	int r;

	if (!c->get)
		return;
	r = CALL(t, gpm_sample, c->handle, c->gpm[1]);
	t->time = aif_now_ns();
	if (r != AIF_NVML_OK) {
		gpm_fail(t, "nvmlGpmSampleGet", r);
		return;
	}
	c->gpm[0] = c->gpm[1];
	c->gpm[1] = last;
	if (!c->has_gpm) {
		c->has_gpm = true;
		return;
	}
	*c->get = (struct aif_gpm_get){.version = 1, .from = c->gpm[1], .to = c->gpm[0]};
	for (unsigned i = AIF_NVML_SM_ACTIVE; i < AIF_NVML_COUNTERS; i++)
		c->get->metrics[c->get->len++].id = words[i].metric;
	r = CALL(t, gpm_metrics, c->get);
	if (r != AIF_NVML_OK) {
		gpm_fail(t, "nvmlGpmMetricsGet", r);
		return;
	}
	c->facts.gpm = AIF_GPM_READ;
	c->gpm_failures = 0;
	put_metrics(t);
}

static void open_gpm(struct turn *t)
{
	struct aif_nvml_card *c = t->c;
	struct aif_gpm_support support = {.version = 1};

	c->facts.gpm = c->facts.is_mig ? AIF_GPM_MIG : AIF_GPM_UNSUPPORTED;
	if (c->facts.is_mig || !t->n->gpm_alloc || !t->n->gpm_free || !t->n->gpm_sample ||
	    !t->n->gpm_metrics || CALL(t, gpm_support, c->handle, &support) != AIF_NVML_OK ||
	    !support.is_supported)
		return;
	c->facts.gpm = AIF_GPM_UNKNOWN;
	if (CALL(t, gpm_alloc, &c->gpm[0]) != AIF_NVML_OK)
		c->gpm[0] = NULL;
	if (CALL(t, gpm_alloc, &c->gpm[1]) != AIF_NVML_OK)
		c->gpm[1] = NULL;
	if (c->gpm[0] && c->gpm[1])
		c->get = malloc(sizeof(*c->get));
	if (!c->get)
		c->facts.gpm = AIF_GPM_FAILED;
}

/* ---- cards ----------------------------------------------------------------------------------- */

static int find_handle(struct turn *t, uint32_t pci)
{
	unsigned count = 0;
	char id[32];
	int r;

	if (!pci) {
		r = CALL(t, count, &count);
		if (r == AIF_NVML_OK && count != 1)
			return AIF_NVML_NOT_FOUND;
		return r == AIF_NVML_OK ? CALL(t, by_index, 0, &t->c->handle) : r;
	}
	snprintf(id, sizeof(id), "%08x:%02x:%02x.%x", pci >> 16, pci >> 8 & 0xff, pci >> 3 & 0x1f,
		 pci & 7);
	return CALL(t, by_pci, id, &t->c->handle);
}

int aif_nvml_card_open(const struct aif_nvml *n, uint32_t pci, const struct aif_nvml_sink *sink,
		       struct aif_nvml_card *ret)
{
	struct turn t = {.n = n, .c = ret, .sink = sink};
	struct aif_nvml_facts *f = &ret->facts;
	unsigned mode = 0, pending = 0, mw = 0;
	int r;

	ret->pci = pci;
	r = find_handle(&t, pci);
	if (r != AIF_NVML_OK)
		return r;
	if (CALL(&t, driver, f->driver, sizeof(f->driver) - 1) != AIF_NVML_OK)
		*f->driver = '\0';
	f->driver[sizeof(f->driver) - 1] = '\0';
	f->is_mig = CALL(&t, mig, ret->handle, &mode, &pending) == AIF_NVML_OK &&
		    mode == AIF_NVML_MIG_ON;
	if (CALL(&t, most_clock, ret->handle, AIF_NVML_CLOCK_SM, &f->most_sm_clock) != AIF_NVML_OK)
		f->most_sm_clock = 0;
	if (CALL(&t, most_clock, ret->handle, AIF_NVML_CLOCK_MEMORY, &f->most_memory_clock) !=
	    AIF_NVML_OK)
		f->most_memory_clock = 0;
	if (CALL(&t, power_limit, ret->handle, &mw) == AIF_NVML_OK)
		f->power_limit = mw / 1e3;
	open_gpm(&t);
	return AIF_NVML_OK;
}

void aif_nvml_card_finish(const struct aif_nvml *n, struct aif_nvml_card *c)
{
	for (unsigned i = 0; i < 2; i++)
		if (c->gpm[i])
			n->gpm_free(c->gpm[i]);
	free(c->get);
	c->get = NULL;
	c->gpm[0] = c->gpm[1] = NULL;
}

void aif_nvml_card_read(const struct aif_nvml *n, struct aif_nvml_card *c, enum aif_nvml_group g,
			const struct aif_nvml_sink *sink)
{
	struct turn t = {.n = n, .c = c, .sink = sink, .time = aif_now_ns()};

	if (g == AIF_NVML_QUICK)
		read_quick(&t);
	else if (g == AIF_NVML_GPM_GROUP)
		read_gpm(&t);
	else
		read_energy(&t);
}
