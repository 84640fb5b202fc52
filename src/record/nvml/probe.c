/* SPDX-License-Identifier: Apache-2.0 */
#include "record/nvml/probe.h"

#include "record/nvml/card.h"

#include <time.h>

/* Time between two samples of GPM that are compared. */
#define GPM_NS 100000000

struct found {
	bool has[AIF_NVML_COUNTERS];
};

static void on_value(void *arg, const struct aif_nvml_card *c, uint64_t time,
		     enum aif_nvml_counter counter, double value)
{
	struct found *f = arg;

	(void)c, (void)time, (void)value;
	f->has[counter] = true;
}

static void on_failed(void *arg, const struct aif_nvml_card *c, const char *call, int result)
{
	(void)arg, (void)c, (void)call, (void)result;
}

static void on_back(void *arg, const struct aif_nvml_card *c)
{
	(void)arg, (void)c;
}

static void on_call(void *arg, const struct aif_nvml_card *c, const char *call)
{
	(void)arg, (void)c, (void)call;
}

static void say(const struct found *f, const struct aif_nvml_card *c, struct aif_buf *out)
{
	static const struct {
		enum aif_nvml_counter counter;
		const char *name;
	} said[] = {{AIF_NVML_SM_CLOCK, "clocks"},
		    {AIF_NVML_REASONS, "what holds them down"},
		    {AIF_NVML_POWER, "power"},
		    {AIF_NVML_ENERGY, "energy"}};
	const char *between = "";

	for (size_t i = 0; i < AIF_ARRAY_LEN(said); i++) {
		if (!f->has[said[i].counter])
			continue;
		aif_buf_printf(out, "%s%s", between, said[i].name);
		between = ", ";
	}
	aif_buf_printf(out, "%sSM, tensor and DRAM activity (GPM): %s", *between ? "; " : "",
		       aif_nvml_gpm_text(c->facts.gpm));
}

bool aif_nvml_probe(uint32_t pci, struct aif_buf *out)
{
	const struct timespec pause = {.tv_nsec = GPM_NS};
	struct found f = {0};
	const struct aif_nvml_sink sink = {.arg = &f,
					   .value = on_value,
					   .failed = on_failed,
					   .went_back = on_back,
					   .calling = on_call};
	struct aif_nvml n;
	struct aif_nvml_card card = {0};
	const char *why = aif_nvml_load(&n);
	int r;

	if (why) {
		aif_buf_puts(out, why);
		return false;
	}
	r = n.init();
	if (r == AIF_NVML_OK) {
		r = aif_nvml_card_open(&n, pci, &sink, &card);
		for (int i = 0; i < 2 && r == AIF_NVML_OK; i++) {
			for (unsigned g = 0; g < AIF_NVML_GROUPS; g++)
				aif_nvml_card_read(&n, &card, (enum aif_nvml_group)g, &sink);
			if (i == 0)
				nanosleep(&pause, NULL);
		}
		if (r == AIF_NVML_OK)
			say(&f, &card, out);
		aif_nvml_card_finish(&n, &card);
		if (n.shutdown)
			n.shutdown();
	}
	if (r != AIF_NVML_OK)
		aif_buf_puts(out, aif_nvml_result_text(r));
	aif_nvml_unload(&n);
	return r == AIF_NVML_OK;
}
