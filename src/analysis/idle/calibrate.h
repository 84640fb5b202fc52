/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analysis/idle/blaming.h"

/*
 * Amounts of idle time where launches were left out, by CPU samples, which were taken all the time.
 *
 * A gap that was captured whole stands for others as the launch that ended it does. A gap that is longer than a block is hardly ever
 * captured whole, and of rare ones, such as a checkpoint each hundred steps, a few blocks have too many or none. But the launching
 * threads' samples and sleeps are there in blocks with and without capture. So the idle time in a stack is
 *
 *   all the time that these threads were in it, times the part of that in which the device was idle for them
 *
 * where the part is of the moments at which the device's state is known: in blocks with capture, also in gaps that reach out of
 * one, up to its end, for the thread that launched last, while it computes. Where a stack has few such moments the stack around it counts, too.
 * The shares in the stack are multiplied to have that time; a stack without any gets one. What nothing was seen of in gaps stays, as
 * far as all samples leave it over. A process with several devices is left alone, one whose times off CPU are all
 * known, and one whose samples ended. 0 or -ENOMEM.
 */
int aif_idle_calibrate(struct aif_idle_blaming *b, const struct aif_utilization *u);
