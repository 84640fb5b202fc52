/* SPDX-License-Identifier: Apache-2.0 */
#include "import/weighted_stacks.h"

#include <errno.h>
#include <string.h>

/* True for a name of a transfer that says more than its kind. */
static bool is_own_name(enum aif_launch_kind kind, const char *name, size_t len)
{
	const char *known = aif_transfer_name(kind);

	return name[0] != '[' && (strlen(known) != len || memcmp(known, name, len) != 0);
}

bool aif_weighted_is_wait(const char *name, size_t len)
{
	static const char begin[] = "[waiting";
	size_t n = sizeof(begin) - 1;

	return len > n && !memcmp(name, begin, n) && name[len - 1] == ']' &&
	       (len == n + 1 || name[n] == ':');
}

int aif_weighted_stack_split(struct aif_synthetic_timeline *l, struct aif_host *h,
			     const struct aif_weighted_frame *frames, size_t n,
			     enum aif_import_as as, struct aif_weighted_stack *ret)
{
	struct aif_builder *b = l->b;
	struct aif_weighted_stack s = {.stack = AIF_NONE, .kernel = AIF_NONE, .place = AIF_NONE};
	struct aif_buf inside = {0};
	size_t device = n;

	for (size_t i = 0; i < n && device == n && as != AIF_IMPORT_AS_CPU; i++)
		if (frames[i].kind == AIF_FRAME_DEVICE)
			device = i;
	if (device == n && as == AIF_IMPORT_AS_DEVICE && n)
		device = n - 1;
	for (size_t i = 0; i < device; i++) {
		const struct aif_weighted_frame *f = &frames[i];
		enum aif_frame_kind kind = f->kind == AIF_FRAME_DEVICE ? AIF_FRAME_NATIVE : f->kind;
		uint32_t name = aif_builder_str(b, f->name, f->len), frame;

		if (name == AIF_NONE)
			return -ENOMEM;
		frame = f->is_inlined && (kind == AIF_FRAME_NATIVE || kind == AIF_FRAME_OS)
				? aif_host_inlined(h, kind, f->module, name, f->file, f->line)
				: aif_host_frame(h, kind, f->module, name, f->file, f->line);
		s.stack = aif_builder_stack(b, s.stack, frame, 0);
	}
	if (device < n) {
		s.is_device = true;
		s.kind = (uint8_t)aif_transfer_kind(frames[device].name, frames[device].len);
		for (size_t i = device + 1; i < n; i++) {
			if (inside.len)
				aif_buf_puts(&inside, ";");
			aif_buf_append(&inside, frames[i].name, frames[i].len);
		}
		if (s.kind == AIF_LAUNCH_KERNEL ||
		    is_own_name(s.kind, frames[device].name, frames[device].len))
			s.kernel = aif_builder_str(b, frames[device].name, frames[device].len);
		if (s.kind == AIF_LAUNCH_KERNEL) {
			s.place = aif_synthetic_timeline_inside(
				l, s.kernel, aif_buf_str(&inside), inside.len,
				device + 1 < n && frames[device + 1].is_inlined);
		}
	}
	b->failed |= aif_buf_failed(&inside);
	aif_buf_finish(&inside);
	*ret = s;
	return b->failed ? -ENOMEM : 0;
}

int aif_weighted_stack_put(struct aif_synthetic_timeline *l, const struct aif_weighted_stack *s,
			   uint64_t ns)
{
	int r;

	if (s->is_wait)
		return aif_synthetic_timeline_wait(l, s->stack, ns);
	if (!s->is_device)
		return aif_synthetic_timeline_cpu(l, s->stack, ns);
	r = aif_synthetic_timeline_device(l, s->stack, s->kind, s->kernel, ns);
	return r < 0 || s->kind != AIF_LAUNCH_KERNEL || !ns
		       ? r
		       : aif_synthetic_timeline_sample(l, s->place, AIF_NONE, ns);
}

void aif_weighted_stacks_count(struct aif_builder *b, const char *unit)
{
	aif_builder_meta(b, "cpu_sampling", "counts");
	aif_builder_meta(b, "cpu_counts", "%s", unit);
}

void aif_weighted_stacks_wall(struct aif_builder *b)
{
	aif_builder_meta(b, "cpu_sampling", "wall");
}

/* A count of samples has 32 bits where it is shared out: shares are what matters here. */
int aif_weighted_stacks_finish(struct aif_builder *b, void *state, int r, struct aif_err *err)
{
	uint64_t most = 0;
	unsigned shift = 0;

	(void)state;
	(void)err;
	aif_builder_meta(b, "imported.rows", "lengths");
	for (size_t i = 0; i < b->samples_len; i++)
		most = AIF_MAX(most, b->samples[i].count);
	while (most >> shift > UINT32_MAX)
		shift++;
	for (size_t i = 0; shift && i < b->samples_len; i++)
		b->samples[i].count = AIF_MAX(b->samples[i].count >> shift, UINT64_C(1));
	return r;
}
