/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/nvtx/entries.h"
#include "agent/nvtx/ranges.h"

/*
 * Initialisation by NVTX. Each library and program that includes NVTX's headers has tables of its own, and at its first call
 * opens the library that NVTX_INJECTION64_PATH names (injection.h) and calls the functions below: so they are called
 * many times, perhaps by several threads at once. Our functions stay in tables until their libraries go.
 */
AIF_PUBLIC int InitializeInjectionNvtx2(aif_nvtx_get_export_table *get);
AIF_PUBLIC int InitializeInjectionNvtxExtension(struct aif_nvtx_extension *e);

static void install(const struct aif_nvtx_callbacks *callbacks, enum aif_nvtx_module module,
		    const struct aif_nvtx_entry *entries, unsigned len)
{
	void ***table = NULL;
	uint32_t n = 0;

	if (!callbacks->module_table((uint32_t)module, &table, &n) || !table)
		return;
	for (unsigned i = 0; i < len; i++)
		if (entries[i].number < n && table[entries[i].number])
			__atomic_store_n((uintptr_t *)table[entries[i].number],
					 (uintptr_t)entries[i].function, __ATOMIC_RELEASE);
}

/* 0: NVTX takes its functions for ones that do nothing, and does not ask again. */
int InitializeInjectionNvtx2(aif_nvtx_get_export_table *get)
{
	const struct aif_nvtx_callbacks *callbacks =
		get && aif_agent.env.carrier ? get(AIF_NVTX_EXPORT_CALLBACKS) : NULL;

	if (!callbacks || callbacks->size < sizeof(*callbacks) || !aif_nvtx_get())
		return 0;
	install(callbacks, AIF_NVTX_MODULE_CORE, aif_nvtx_core, aif_nvtx_core_len);
	install(callbacks, AIF_NVTX_MODULE_CORE2, aif_nvtx_core2, aif_nvtx_core2_len);
	return 1;
}

int InitializeInjectionNvtxExtension(struct aif_nvtx_extension *e)
{
	const struct aif_nvtx_segment *s;

	if (!e || e->size < sizeof(*e) || e->module != AIF_NVTX_EXTENSION_PAYLOAD ||
	    !e->segments_len || !e->segments || !aif_agent.env.carrier || !aif_nvtx_get())
		return 0;
	s = &e->segments[0];
	for (unsigned i = 0; i < aif_nvtx_payload_len; i++)
		if (aif_nvtx_payload[i].number < s->slots)
			__atomic_store_n(&s->function_slots[aif_nvtx_payload[i].number],
					 (intptr_t)aif_nvtx_payload[i].function, __ATOMIC_RELEASE);
	return 1;
}
