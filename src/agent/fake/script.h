/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/*
 * Script of the fake runtime, one order a line: a word, numbers or key=value pairs, in any order. Values with blanks
 * are quoted; \n, \" and \\ work inside. '#' starts a comment.
 *
 *     device 0 name="Fake GPU" kind=gpu units=4 pci=0x300 clock=monotonic    (or raw realtime boottime own)
 *     stream 0 device=0 out_of_order=1
 *     program 0 options="-O2" source="kernel void f() {}\n"
 *     kernel 0 program=0 name=f
 *     launch stream=0 kernel=0 time=1000 stack=0x401000,0x402000 grid=64,1,1 block=8,1,1 start=2000 end=3000
 *     launch stream=0 kind=read bytes=4096 time=5000 stack=0x401000 start=6000 end=7000
 *     launch graph=7 time=8000 stack=0x401000
 *     exec stream=0 kernel=0 start=9000 end=9500 graph=7 node=0 registers=32 shared=4096
 *     clock device=0 before=10 after=20 value=15
 *     note reason=1202 count=3 detail="text"
 *     code 0 name=_Z1fv object="/path/to.cubin" hash=0x1234 symbol=19
 *     reason 0 name=long_scoreboard
 *     window 0 device=0 start=1000 end=2000 period=132000 samples=40 lost=1 others=2
 *     pc window=0 code=0 pc=0x40 hits=0,30,1,7
 *     place code=0 device=0 address=0xfffd0000 size=4096
 *     node 1 graph=1 node=0 time=500 stack=0x401000,0x402000
 *     node 2 graph=7 node=0 time=600 from=0x100000000
 *     counter 0 device=0 name=GpuBusy unit=%
 *     values counter=0 time=1000 values=93,1550
 *     now
 *     sleep time=100000000
 *     generate launches=1000000 rate=1000000 stacks=40 depth=40 kernels=20 streams=3
 *     generate launches=100000 work=10000 vendor=2000
 *
 * A launch without start is one that never ends, unless `exec`s follow: executions of the thread's latest
 * launch. One with a graph has no kernel of its own. generate works in real time: `rate` launches a second
 * (0 = as fast as possible), each with its execution, over as many stacks, kernels and streams. `work` ns of
 * the application's own come before each; `vendor` ns of tracing after each that is captured. A code's object
 * is left for the recorder under `hash`. A pc's hits are reason, samples, reason, samples ... A place without
 * size is gone. A node's id is one of wire.h's kinds. Values are of a counter and those that follow it. From `now` on
 * times are ns since then.
 */
enum aif_fake_verb {
	AIF_FAKE_NOTHING, /* an empty line */
	AIF_FAKE_DEVICE,
	AIF_FAKE_STREAM,
	AIF_FAKE_PROGRAM,
	AIF_FAKE_KERNEL,
	AIF_FAKE_LAUNCH,
	AIF_FAKE_EXEC,
	AIF_FAKE_CLOCK,
	AIF_FAKE_NOTE,
	AIF_FAKE_GENERATE,
	AIF_FAKE_CODE,
	AIF_FAKE_REASON,
	AIF_FAKE_WINDOW,
	AIF_FAKE_PC,
	AIF_FAKE_PLACE,
	AIF_FAKE_NODE,
	AIF_FAKE_COUNTER,
	AIF_FAKE_VALUES,
	AIF_FAKE_NOW,
	AIF_FAKE_SLEEP,
};

#define AIF_FAKE_TEXT  1024
#define AIF_FAKE_DEPTH 64

struct aif_fake_order {
	enum aif_fake_verb verb;
	uint32_t id, device, program, kernel, stream, symbol, code, window, counter;
	uint32_t kind; /* of a device or a launch */
	uint32_t units, clock, out_of_order, reason, pci;
	uint32_t graph, node, registers, shared; /* of an execution */
	uint64_t time, start, end, bytes, before, after, value, count;
	uint64_t launches, rate, stacks, depth, kernels, streams, work, vendor;
	uint64_t from, hash, pc, period, samples, lost, others, address, size;
	uint64_t stack[AIF_FAKE_DEPTH], grid[3], block[3]; /* stack: also a pc's hits, values */
	unsigned stack_len;
	bool own_clock;
	char name[AIF_FAKE_TEXT], options[AIF_FAKE_TEXT], source[AIF_FAKE_TEXT],
		detail[AIF_FAKE_TEXT], object[AIF_FAKE_TEXT], unit[AIF_FAKE_TEXT];
};

/* Reads the line at *text and moves *text behind it. 0, or -EINVAL with *err naming what is wrong. */
int aif_fake_order_read(const char **text, struct aif_fake_order *ret, struct aif_err *err);
