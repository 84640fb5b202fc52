/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

/* Calls of runtimes that can hold a program's thread up. */

enum aif_host_call_kind {
	AIF_HOST_CALL_SYNCHRONISE, /* waits for the device */
	AIF_HOST_CALL_COPY,        /* moves data, and may return only when they are there */
	AIF_HOST_CALL_ALLOCATE,
	AIF_HOST_CALL_FREE,
	AIF_HOST_CALL_COMPILE,
	AIF_HOST_CALL_LOAD,        /* makes compiled code ready */
	AIF_HOST_CALL_PREPARE,     /* makes data, addresses or DMA ready for the device */
	AIF_HOST_CALL_COMMUNICATE, /* waits for other ranks of the job */
	AIF_HOST_CALL_KINDS
};
/* "synchronise", "copy", "allocate", "free", "compile", "load", "prepare", "communicate"; "?" for others. */
const char *aif_host_call_kind_name(unsigned kind);

#define AIF_HOST_CALL(kind, name) AIF_CALL_##name,
enum aif_host_call_id {
#include "base/host_calls.def"
	AIF_HOST_CALLS
};
#undef AIF_HOST_CALL
/* "clFinish"; NULL for others. */
const char *aif_host_call_name(unsigned id);

enum aif_host_call_kind aif_host_call_kind(enum aif_host_call_id id);

/* Sets *ret_kind, the kind of the call of that name, versions behind it (_v2, _ptsz) not looked at. False: it is none of
 * host_calls.def. */
bool aif_host_call_kind_of(const char *name, enum aif_host_call_kind *ret_kind);
/* A call that returns when a device has done something: what the thread does next, it could not have done before. */
static inline bool aif_host_call_waits(enum aif_host_call_kind kind)
{
	return kind == AIF_HOST_CALL_SYNCHRONISE || kind == AIF_HOST_CALL_COPY;
}
