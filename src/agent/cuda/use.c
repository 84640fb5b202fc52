/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/use.h"

#include "agent/cuda/cuda.h"
#include "agent/cuda/errors.h"
#include "base/build_id.h"
#include "base/cupti_faults.h"

#include <link.h>
#include <stdio.h>
#include <string.h>

/*
 * Decides how much libcupti is asked to do (enum aif_cupti_use of wire/shm.h).
 *
 * A fault in libcupti ends the program that is watched. So the agent asks of a build only what is
 * known to end nothing: to switch records and samples in turns of those versions that
 * `bench/gpu/survive` has tried (bench/results/), of others to switch them on once; and less after
 * a recording of this user has ended in that build. The user may choose otherwise (--cupti).
 */

/* cuptiGetVersion() of the versions that survived: of CUDA 13.0, with driver 580. */
static const uint32_t proven[] = {130001};

/* Returns a fault that switching would run into; NULL: none is known. */
static const struct aif_cupti_fault *fault_of_switching(uint32_t version)
{
	const struct aif_cupti_fault *fault = NULL;

	while ((fault = aif_cupti_fault_next(version, fault)) && !fault->is_of_switching)
		;
	return fault;
}

static bool is_proven(uint32_t version)
{
	if (fault_of_switching(version))
		return false;
	for (unsigned i = 0; i < AIF_ARRAY_LEN(proven); i++)
		if (proven[i] == version)
			return true;
	return false;
}

struct search {
	uintptr_t inside; /* an address of libcupti's */
	uint8_t *id;      /* AIF_SHM_CUPTI_ID */
};

static bool holds(const struct dl_phdr_info *info, uintptr_t at)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD && at - info->dlpi_addr - ph->p_vaddr < ph->p_memsz)
			return true;
	}
	return false;
}

static int find_id(struct dl_phdr_info *info, size_t size, void *user)
{
	const struct search *s = user;

	(void)size;
	if (!holds(info, s->inside))
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const void *notes =
			ph->p_type == PT_NOTE
				? aif_segment_in_memory(ph, info->dlpi_addr, info->dlpi_phdr,
							info->dlpi_phnum)
				: NULL;
		const uint8_t *id;
		size_t len;

		if (!notes)
			continue;
		id = aif_build_id_find(notes, ph->p_filesz, AIF_IS_BIG, &len);
		if (!id)
			continue;
		memcpy(s->id, id, AIF_MIN(len, (size_t)AIF_SHM_CUPTI_ID));
		return 1;
	}
	return 1;
}

void aif_cuda_use_init(struct aif_cuda *cuda)
{
	/* No dlinfo(): its newest name is of glibc 2.34, and the agent must load in older
	 * processes. */
	struct search s = {.inside = (uintptr_t)cuda->api.cuptiGetVersion, .id = cuda->id};

	dl_iterate_phdr(find_id, &s);
}

/* Returns what was asked of this build in a recording that ended in it; 0 = there was none. */
static uint32_t crashed_with(const struct aif_cuda *cuda, const struct aif_shm *shm)
{
	static const uint8_t none[AIF_SHM_CUPTI_ID];
	uint32_t use = 0;

	if (!memcmp(cuda->id, none, sizeof(none)))
		return 0;
	for (unsigned i = 0; i < AIF_SHM_CUPTI_CRASHES; i++)
		if (!memcmp(shm->cupti_crashes[i].id, cuda->id, sizeof(cuda->id)))
			use = AIF_MAX(use, shm->cupti_crashes[i].use);
	return use;
}

/* Says why less is asked than could be. */
static void report(const struct aif_cuda *cuda, uint32_t crashed)
{
	const struct aif_cupti_fault *fault = fault_of_switching(cuda->version);
	char text[240];

	if (crashed)
		snprintf(text, sizeof(text),
			 "a recording with this libcupti has ended by a signal; now --cupti %s",
			 aif_cupti_use_name(cuda->use));
	else if (fault)
		snprintf(text, sizeof(text),
			 "version %u: NVIDIA knows of %s (fixed in CUPTI %s); --cupti blocks "
			 "switches them nevertheless",
			 cuda->version, fault->what, fault->fixed_in);
	else
		snprintf(text, sizeof(text),
			 "version %u; --cupti blocks switches them nevertheless", cuda->version);
	aif_cuda_report_error(crashed ? AIF_REASON_CUDA_CRASHED : AIF_REASON_CUDA_UNPROVEN, text,
			      0);
}

void aif_cuda_use_choose(struct aif_cuda *cuda)
{
	struct aif_shm *shm = aif_agent.session.shm;
	uint32_t crashed, use;

	if (!shm || cuda->use_session == aif_agent.session.generation)
		return;
	cuda->use_session = aif_agent.session.generation;
	crashed = crashed_with(cuda, shm);
	use = shm->cupti;
	if (use == AIF_CUPTI_USE_AUTO || use >= AIF_CUPTI_USE_COUNT) {
		use = is_proven(cuda->version) ? AIF_CUPTI_USE_BLOCKS : AIF_CUPTI_USE_THROUGHOUT;
		use = AIF_MIN(AIF_MAX(use, crashed ? crashed + 1 : 0), AIF_CUPTI_USE_LAUNCHES);
		cuda->use = use;
		/* Without a budget nothing is switched anyway. */
		if (crashed || (use != AIF_CUPTI_USE_BLOCKS && aif_agent.budget.asked_ppm))
			report(cuda, crashed);
	}
	cuda->use = use;
}

void aif_cuda_use_publish(const struct aif_cuda *cuda, bool is_used)
{
	struct aif_shm *shm = aif_agent.session.shm;
	uint32_t use = cuda->use;

	if (!shm)
		return;
	/* Without a budget records stay on, as with --cupti throughout. */
	if (!aif_agent.budget.asked_ppm)
		use = AIF_MAX(use, AIF_CUPTI_USE_THROUGHOUT);
	memcpy(shm->cupti_id, cuda->id, sizeof(shm->cupti_id));
	atomic_store(&shm->cupti_version, cuda->version);
	atomic_store(&shm->cupti_use, is_used ? use : 0);
}
