/* SPDX-License-Identifier: Apache-2.0 */
#include "report/why/why.h"

enum aif_why_group aif_why_group_of(enum aif_idle_cause cause)
{
	switch (cause) {
	case AIF_IDLE_CAUSE_LAUNCH:
	case AIF_IDLE_CAUSE_HOST:
	case AIF_IDLE_CAUSE_CPU:
		return AIF_WHY_HOST;
	case AIF_IDLE_CAUSE_WAIT:
		return AIF_WHY_SYNC;
	case AIF_IDLE_CAUSE_LATE:
		return AIF_WHY_LATE;
	case AIF_IDLE_CAUSE_OFF_CPU:
		return AIF_WHY_OFF_CPU;
	case AIF_IDLE_CAUSE_COMPILE:
		return AIF_WHY_COMPILE;
	case AIF_IDLE_CAUSE_ALLOCATE:
		return AIF_WHY_ALLOCATE;
	case AIF_IDLE_CAUSE_PREPARE:
		return AIF_WHY_PREPARE;
	case AIF_IDLE_CAUSE_COLLECT:
		return AIF_WHY_COLLECT;
	case AIF_IDLE_CAUSE_INPUT:
		return AIF_WHY_INPUT;
	case AIF_IDLE_CAUSE_GIL:
		return AIF_WHY_GIL;
	case AIF_IDLE_CAUSE_RANKS:
		return AIF_WHY_WAITING;
	case AIF_IDLE_CAUSE_NO_CPU:
		return AIF_WHY_NO_CPU;
	case AIF_IDLE_CAUSE_DEMAND:
		return AIF_WHY_DEMAND;
	case AIF_IDLE_CAUSE_UNKNOWN:
	case AIF_IDLE_CAUSES:
		break;
	}
	return AIF_WHY_UNKNOWN;
}
