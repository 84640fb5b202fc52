/* SPDX-License-Identifier: Apache-2.0 */
#include "import/synthetic_timeline.h"

#include <errno.h>
#include <string.h>

void aif_synthetic_timeline_begin(struct aif_synthetic_timeline *l, const char *name)
{
	uint32_t str = aif_builder_puts(l->b, name);
	struct aif_process process = {
		.exe = str, .cmdline = str, .host = AIF_NONE, .exit_status = -1};
	struct aif_thread thread = {.name = AIF_NONE};

	l->process = thread.process = aif_builder_process(l->b, &process);
	l->thread = aif_builder_thread(l->b, &thread);
	l->device = l->stream = AIF_NONE;
}

void aif_synthetic_timeline_finish(struct aif_synthetic_timeline *l)
{
	aif_map_finish(&l->frames);
}

/* Returns the frame of a name; AIF_FRAME_NATIVE, _PYTHON, _OS or _MARK. */
static uint32_t frame_of(struct aif_synthetic_timeline *l, enum aif_frame_kind kind,
			 const char *text, size_t len)
{
	uint32_t str = aif_builder_str(l->b, text, len);
	struct aif_frame f = {.kind = kind, .module = AIF_NONE, .address = str};
	uint64_t key = (uint64_t)kind << 32 | str, id;

	if (str == AIF_NONE)
		return AIF_NONE;
	if (kind == AIF_FRAME_PYTHON)
		f.address <<= 32;
	if (aif_map_get(&l->frames, key, &id))
		return (uint32_t)id;
	id = kind == AIF_FRAME_MARK ? aif_builder_frame(l->b, &f)
				    : aif_builder_named_frame(l->b, &f, str, AIF_NONE, 0);
	l->b->failed |= aif_map_put(&l->frames, key, id) < 0;
	return (uint32_t)id;
}

bool aif_synthetic_timeline_cut_suffix(const char *text, size_t *len, char kind)
{
	const char *end = text + *len;

	if (*len <= 4 || end[-4] != '_' || end[-3] != '[' || end[-2] != kind || end[-1] != ']')
		return false;
	*len -= 4;
	return true;
}

bool aif_synthetic_timeline_cut_compiled(const char *text, size_t *len)
{
	return aif_synthetic_timeline_cut_suffix(text, len, 'j') ||
	       aif_synthetic_timeline_cut_suffix(text, len, '0') ||
	       aif_synthetic_timeline_cut_suffix(text, len, '1');
}

uint32_t aif_synthetic_timeline_host_frame(struct aif_synthetic_timeline *l, const char *text,
					   size_t len)
{
	enum aif_frame_kind kind = AIF_FRAME_NATIVE;

	aif_synthetic_timeline_cut_suffix(text, &len, 'i');
	if (aif_synthetic_timeline_cut_suffix(text, &len, 'p'))
		kind = AIF_FRAME_PYTHON;
	else if (aif_synthetic_timeline_cut_suffix(text, &len, 'k'))
		kind = AIF_FRAME_OS;
	else if (aif_synthetic_timeline_cut_compiled(text, &len))
		kind = AIF_FRAME_NATIVE;
	else if (len && text[0] == '[' && text[len - 1] == ']')
		kind = AIF_FRAME_MARK;
	else if (memmem(text, len, ".py)", 4) || memmem(text, len, ".py:", 4))
		kind = AIF_FRAME_PYTHON;
	return frame_of(l, kind, text, len);
}

static int advance(struct aif_synthetic_timeline *l, uint64_t ns)
{
	if (ns > AIF_SYNTHETIC_TIMELINE_MAX - l->at)
		return -ERANGE;
	l->at += ns;
	return 0;
}

int aif_synthetic_timeline_cpu(struct aif_synthetic_timeline *l, uint32_t stack, uint64_t ns)
{
	struct aif_cpu_row *row;
	uint64_t at = l->at;
	int r = advance(l, ns);

	if (r < 0)
		return r;
	row = aif_builder_wait(l->b);
	if (!row)
		return -ENOMEM;
	*row = (struct aif_cpu_row){.time = at, .weight = ns, .thread = l->thread, .stack = stack};
	return 0;
}

int aif_synthetic_timeline_wait(struct aif_synthetic_timeline *l, uint32_t stack, uint64_t ns)
{
	struct aif_cpu_row *row;
	int r = aif_synthetic_timeline_cpu(l, stack, ns);

	if (r < 0)
		return r;
	row = &l->b->waits[l->b->waits_len - 1];
	row->waiting = row->weight;
	row->weight = 0;
	return 0;
}

void aif_synthetic_timeline_make_device(struct aif_synthetic_timeline *l, const char *name)
{
	uint32_t none = aif_builder_puts(l->b, "");
	struct aif_device device = {.name = aif_builder_puts(l->b, name),
				    .vendor = none,
				    .driver = none,
				    .runtime = aif_builder_puts(l->b, "imported"),
				    .kind = AIF_DEVICE_ACCELERATOR,
				    .clock = AIF_CLOCK_MONOTONIC};
	struct aif_stream stream = {.process = l->process};

	l->device = stream.device = aif_builder_device(l->b, &device);
	l->stream = aif_builder_stream(l->b, &stream);
	l->b->p.processes[l->process].flags |= AIF_PROCESS_RUNTIME;
}

int aif_synthetic_timeline_device(struct aif_synthetic_timeline *l, uint32_t stack,
				  enum aif_launch_kind kind, uint32_t kernel, uint64_t ns)
{
	struct aif_launch_row *launch;
	struct aif_exec_row *exec;
	uint64_t at = l->at;
	int r = advance(l, ns);

	if (r < 0)
		return r;
	if (l->device == AIF_NONE)
		aif_synthetic_timeline_make_device(l, "device");
	launch = aif_builder_launch(l->b);
	exec = aif_builder_exec(l->b);
	if (!launch || !exec || l->b->failed)
		return -ENOMEM;
	*launch = (struct aif_launch_row){
		.launch = l->b->launches_len,
		.time = at,
		.thread = l->thread,
		.kind = kind,
		.kernel = kernel == AIF_NONE ? AIF_NONE : aif_builder_kernel(l->b, kernel),
		.device = l->device,
		.stream = l->stream,
		.stack = stack,
		.shape = AIF_NONE};
	*exec = (struct aif_exec_row){.launch = launch->launch,
				      .start = at,
				      .end = at + ns,
				      .clock = AIF_CLOCK_MONOTONIC,
				      .process = l->process,
				      .kind = kind,
				      .kernel = launch->kernel,
				      .device = l->device,
				      .stream = l->stream};
	return 0;
}

static uint32_t inlined_frame(struct aif_builder *b, const struct aif_frame *f, uint32_t name,
			      bool is_inlined)
{
	uint32_t frame = aif_builder_named_frame(b, f, name, AIF_NONE, 0);

	if (is_inlined && frame != AIF_NONE && b->p.frame_names_len)
		b->p.frame_names[b->p.frame_names_len - 1].inline_depth = 1;
	return frame;
}

uint32_t aif_synthetic_timeline_inside(struct aif_synthetic_timeline *l, uint32_t kernel,
				       const char *names, size_t len, bool is_inlined)
{
	struct aif_frame f = {.kind = AIF_FRAME_DEVICE, .address = AIF_ADDRESS_UNKNOWN};
	uint32_t all = aif_builder_str(l->b, names, len);
	uint64_t key = UINT64_C(1) << 63 | (uint64_t)is_inlined << 62 | (uint64_t)kernel << 32 |
		       all,
		 frame = AIF_NONE;
	const char *end = names + len;

	if (aif_map_get(&l->frames, key, &frame))
		return (uint32_t)frame;
	f.module = aif_builder_device_module(l->b, aif_builder_kernel(l->b, kernel));
	if (names == end)
		frame = aif_builder_named_frame(l->b, &f, kernel, AIF_NONE, 0);
	for (const char *at = names; at < end;) {
		const char *semicolon = memchr(at, ';', (size_t)(end - at));
		uint32_t name;

		name = aif_builder_str(l->b, at, (size_t)((semicolon ? semicolon : end) - at));
		if (at == names)
			frame = inlined_frame(l->b, &f, name, is_inlined);
		else if (frame != AIF_NONE)
			aif_builder_name(l->b, (uint32_t)frame, name, AIF_NONE, 0);
		at = semicolon ? semicolon + 1 : end;
	}
	l->b->failed |= aif_map_put(&l->frames, key, frame) < 0;
	return (uint32_t)frame;
}

int aif_synthetic_timeline_sample(struct aif_synthetic_timeline *l, uint32_t frame, uint32_t reason,
				  uint64_t count)
{
	struct aif_builder *b = l->b;
	const struct aif_exec_row *exec = &b->execs[b->execs_len - 1];
	struct aif_window_row *w;
	struct aif_sample_row *s;

	if (!b->windows_len || b->windows[b->windows_len - 1].start != exec->start ||
	    b->windows[b->windows_len - 1].end != exec->end) {
		w = aif_builder_window(b);
		if (!w)
			return -ENOMEM;
		*w = (struct aif_window_row){.start = exec->start,
					     .end = exec->end,
					     .window = (uint32_t)b->windows_len - 1,
					     .device = l->device,
					     .process = l->process,
					     .held = AIF_HELD,
					     .launches = 1,
					     .thread = AIF_NONE};
	}
	s = aif_builder_sample(b);
	if (!s)
		return -ENOMEM;
	*s = (struct aif_sample_row){.time = exec->start,
				     .count = count,
				     .thread = AIF_NONE,
				     .process = l->process,
				     .device = l->device,
				     .frame = frame,
				     .reason = reason,
				     .window = (uint32_t)b->windows_len - 1};
	return 0;
}
