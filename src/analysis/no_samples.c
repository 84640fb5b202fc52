/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/no_samples.h"

#include "base/human.h"
#include "base/reasons.h"

#include <stdlib.h>
#include <string.h>

#define NONE "no instruction samples"
/* Bytes of a reason's details that are shown: messages are one line. */
#define DETAIL_BYTES 120

/* Reasons in the order of interest: a refusal of the sampler comes before launches that are not
 * seen at all. */
static const enum aif_reason reasons[] = {
	AIF_REASON_CUDA_COUNTERS,       AIF_REASON_CUDA_COUNTERS_HELD, AIF_REASON_CUDA_NO_SAMPLING,
	AIF_REASON_CUDA_SHORT,          AIF_REASON_XE_DENIED,          AIF_REASON_XE_BUSY,
	AIF_REASON_XE_FAILED,           AIF_REASON_ZE_METRICS_DENIED,  AIF_REASON_ZE_METRICS_BUSY,
	AIF_REASON_ZE_METRICS_OFF,      AIF_REASON_ZE_METRICS_NONE,    AIF_REASON_ZE_METRICS_FAILED,
	AIF_REASON_ZE_METRICS_UNWANTED, AIF_REASON_STALLS_SHORT,       AIF_REASON_SAMPLES_NONE,
	AIF_REASON_SAMPLES_DEVICE,      AIF_REASON_CUDA_YIELDED,       AIF_REASON_CUDA_CROWDED,
	AIF_REASON_CUDA_REFUSED,        AIF_REASON_CUDA_NO_CUPTI,
};

/* CPU time of a program that may well be over before its first sample. */
#define SHORT_NS (AIF_NS_PER_S / 10)

/* Returns the reason of a recording with --cpu, or NULL. */
static const char *no_program_samples(const struct aif_profile *p)
{
	const char *used = aif_profile_meta(p, "cost.target_cpu_ns");

	if (aif_profile_loss(p, AIF_REASON_NOT_COVERED_STATIC))
		return "the program is statically linked, and the agent, which samples, cannot be loaded "
		       "into it; link it dynamically, or record as root with --ebpf, which samples it "
		       "from outside";
	if (p->traits.lacks & AIF_LACK_CPU || *aif_profile_meta(p, "steps_asked") || !*used ||
	    strtoull(used, NULL, 10) >= SHORT_NS)
		return NULL;
	for (size_t i = 0; i < p->processes_len; i++)
		if (p->processes[i].flags & AIF_PROCESS_AGENT)
			return "the program was over before its first sample; record one that runs for "
			       "longer, or several runs of it in a script";
	return NULL;
}

const char *aif_no_cpu_samples(const struct aif_profile *p)
{
	if (p->traits.is_imported || p->dropped_launches || *aif_profile_meta(p, "ebpf") ||
	    *aif_profile_meta(p, "outside") || !strcmp(aif_profile_meta(p, "cpu_rate"), "0"))
		return NULL;
	if (*aif_profile_meta(p, "cpu_programs"))
		return no_program_samples(p);
	for (size_t i = 0; i < p->processes_len; i++)
		if (p->processes[i].flags & (AIF_PROCESS_RUNTIME | AIF_PROCESS_JOINED))
			return NULL;
	return "no process used a device, and others are sampled on CPUs only if that is asked for; "
	       "record with --cpu";
}

static const struct aif_loss *find(const struct aif_profile *p)
{
	const struct aif_loss *l = NULL;

	for (size_t i = 0; i < AIF_ARRAY_LEN(reasons) && !l; i++)
		l = aif_profile_loss(p, reasons[i]);
	return l;
}

static bool is_switched_off(const struct aif_profile *p)
{
	return !strcmp(aif_profile_meta(p, "device_rate"), "0");
}

static void put_reason(const struct aif_profile *p, const struct aif_loss *l,
		       const struct aif_reason_info *info, struct aif_buf *out)
{
	const char *detail = l->detail == AIF_NONE ? "" : aif_profile_str(p, l->detail);

	if (info->is_loss) {
		aif_human_count(out, l->count);
		aif_buf_putc(out, ' ');
	}
	aif_reason_say(info, l->count, out);
	/* For this reason the detail is only CUPTI's name of the error. */
	if (*detail && l->reason != AIF_REASON_CUDA_COUNTERS)
		aif_buf_printf(out, " (%.*s)", DETAIL_BYTES, detail);
}

const char *aif_no_samples_say(const struct aif_profile *p, struct aif_buf *out)
{
	const struct aif_loss *l = is_switched_off(p) ? NULL : find(p);
	const struct aif_reason_info *info = l ? aif_reason_info((int)l->reason) : NULL;

	if (is_switched_off(p)) {
		aif_buf_puts(out, NONE ": --device-rate was 0");
		return "record without --device-rate 0";
	}
	if (!info) {
		aif_buf_puts(out, NONE);
		return "";
	}
	if (strncmp(info->sentence, NONE, strlen(NONE)) != 0)
		aif_buf_puts(out, NONE ": ");
	put_reason(p, l, info, out);
	return info->fix;
}

void aif_no_samples_because(const struct aif_profile *p, struct aif_buf *out)
{
	struct aif_buf said = {0};
	const char *fix = aif_no_samples_say(p, &said);

	if (!strcmp(aif_buf_str(&said), NONE))
		aif_buf_puts(out, "; see aiflame info");
	else
		aif_buf_printf(out, "; %s%s%s", aif_buf_str(&said), *fix ? "; " : "", fix);
	aif_buf_finish(&said);
}
