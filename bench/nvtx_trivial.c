/* SPDX-License-Identifier: Apache-2.0 */
/* The least that a tool of NVTX can be: its push and pop count. For bench/nvtx.sh. */
#include "agent/nvtx/abi.h"

int InitializeInjectionNvtx2(aif_nvtx_get_export_table *get);

static __thread int depth;

static int push_text(const char *text)
{
	(void)text;
	return depth++;
}
static int push_attributes(const void *domain, const void *attributes)
{
	(void)domain;
	(void)attributes;
	return depth++;
}
static int pop(const void *domain)
{
	(void)domain;
	return --depth;
}
static int pop_default(void)
{
	return --depth;
}

int InitializeInjectionNvtx2(aif_nvtx_get_export_table *get)
{
	const struct aif_nvtx_callbacks *c = get(AIF_NVTX_EXPORT_CALLBACKS);
	void ***table;
	uint32_t n;

	if (!c->module_table(AIF_NVTX_MODULE_CORE, &table, &n))
		return 0;
	*table[AIF_NVTX_CORE_PUSH_A] = (void *)push_text;
	*table[AIF_NVTX_CORE_POP] = (void *)pop_default;
	if (!c->module_table(AIF_NVTX_MODULE_CORE2, &table, &n))
		return 0;
	*table[AIF_NVTX_CORE2_PUSH_EX] = (void *)push_attributes;
	*table[AIF_NVTX_CORE2_POP] = (void *)pop;
	return 1;
}
