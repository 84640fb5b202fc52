/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/kineto/events.h"
#include "import/kineto/machine.h"
#include "profile/model.h"

/* Returns what a device's event is: a kernel, or a copy of some direction. */
enum aif_launch_kind kineto_exec_kind(const struct kineto_event *e, const char *name, size_t len);
/* Does the thread do nothing in this call but wait for a device? */
/* True if a kernel of this name is a wait of the device, for an event or another stream. */
bool kineto_is_wait(const char *name, size_t len);
bool kineto_waits(const char *name, size_t len);
/* Returns the runtime that a call's name, or its category, is of, where `known` does not say it yet. */
enum kineto_family kineto_family_of(enum kineto_family known, const struct kineto_event *e,
				    const char *name, size_t len);
/* Sets .class, .correlation and .bytes of one of unitrace's events by its name. Returns how much of *name is the
 * kernel's or call's; *name may move. */
size_t kineto_unitrace_classify(struct kineto_event *e, const char **name, size_t len);
