/* SPDX-License-Identifier: Apache-2.0 */
#include "base/host_calls.h"

#include <string.h>

static const struct call {
	const char *name;
	enum aif_host_call_kind kind;
} calls[AIF_HOST_CALLS] = {
#define AIF_HOST_CALL(kind, name) {#name, AIF_HOST_CALL_##kind},
#include "base/host_calls.def"
#undef AIF_HOST_CALL
};

const char *aif_host_call_kind_name(unsigned kind)
{
	static const char *const names[AIF_HOST_CALL_KINDS] = {
		"synchronise", "copy", "allocate", "free",
		"compile",     "load", "prepare",  "communicate"};

	return kind < AIF_HOST_CALL_KINDS ? names[kind] : "?";
}

const char *aif_host_call_name(unsigned id)
{
	return id < AIF_HOST_CALLS ? calls[id].name : NULL;
}

enum aif_host_call_kind aif_host_call_kind(enum aif_host_call_id id)
{
	return id < AIF_HOST_CALLS ? calls[id].kind : AIF_HOST_CALL_KINDS;
}

/* Versions stand behind a '_', which names of the list have only behind MPI. */
bool aif_host_call_kind_of(const char *name, enum aif_host_call_kind *ret_kind)
{
	size_t len = strcspn(name, "_");

	for (size_t i = 0; i < AIF_ARRAY_LEN(calls); i++) {
		if (strcmp(calls[i].name, name) &&
		    (strncmp(calls[i].name, name, len) || calls[i].name[len]))
			continue;
		*ret_kind = calls[i].kind;
		return true;
	}
	return false;
}
