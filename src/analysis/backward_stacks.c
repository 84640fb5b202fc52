/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/backward_stacks.h"

#include "base/memory.h"

#include "analysis/torch_names.h"

#include <errno.h>
#include <string.h>

/* PyTorch's own, and what Megatron and DeepSpeed call theirs. */
#define CHECKPOINT "CheckpointFunction"

struct torch_frame {
	uint8_t kind; /* enum aif_torch_kind */
	bool is_python;
	uint32_t family,
		name; /* Python: the family of a class that has its own forward and backward */
	bool is_forward, is_backward, is_checkpoint; /* of such a class */
};

static int intern(struct aif_strset *s, const struct aif_buf *text, uint32_t *ret)
{
	*ret = aif_buf_failed(text) ? AIF_STR_NONE : aif_strset_put(s, text->data, text->len);
	return *ret == AIF_STR_NONE ? -ENOMEM : 0;
}

/* "Scale.forward": of class Scale, which may be a torch.autograd.Function. */
static int python_frame(struct aif_torch_stacks *t, const char *name, struct aif_buf *text,
			struct torch_frame *f)
{
	const char *dot = strrchr(name, '.');

	f->is_python = true;
	f->is_forward = dot && !strcmp(dot, ".forward");
	f->is_backward = dot && !strcmp(dot, ".backward");
	f->is_checkpoint = !strncmp(name, CHECKPOINT ".", strlen(CHECKPOINT "."));
	if (!f->is_forward && !f->is_backward)
		return 0;
	aif_buf_clear(text);
	aif_buf_append(text, name, (size_t)(dot - name));
	if (intern(&t->names, text, &f->name) < 0)
		return -ENOMEM;
	aif_buf_clear(text);
	aif_buf_puts(text, "class ");
	aif_buf_append(text, name, (size_t)(dot - name));
	return intern(&t->families, text, &f->family);
}

static int native_frame(struct aif_torch_stacks *t, const char *name, struct aif_buf *text,
			struct torch_frame *f)
{
	size_t len;
	const char *part;

	f->kind = (uint8_t)aif_torch_kind(name, &part, &len);
	if (f->kind != AIF_TORCH_NODE && f->kind != AIF_TORCH_VARIABLE)
		return 0;
	aif_buf_clear(text);
	aif_buf_append(text, part, len);
	if (intern(&t->names, text, &f->name) < 0)
		return -ENOMEM;
	aif_buf_clear(text);
	if (f->kind == AIF_TORCH_NODE)
		aif_torch_family_of_node(part, len, text);
	else
		aif_torch_family_of_operator(part, len, text);
	return intern(&t->families, text, &f->family);
}

/* Finds what each frame of the profile is, by frame; NULL in *ret: there is no backward. */
static int frames_look(struct aif_torch_stacks *t, const struct aif_profile *p,
		       struct torch_frame **ret)
{
	struct torch_frame *frames = calloc(p->frames_len + 1, sizeof(*frames));
	struct aif_buf text = {0};
	bool have_engine = false;
	int r = frames ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < p->frames_len; i++)
		frames[i] = (struct torch_frame){.family = AIF_NONE, .name = AIF_NONE};
	for (size_t i = 0; r == 0 && i < p->frame_names_len; i++) {
		const struct aif_frame_name *n = &p->frame_names[i];
		struct torch_frame *f = &frames[n->frame];
		const char *name = aif_profile_str(p, n->name);

		if (p->frames[n->frame].kind == AIF_FRAME_PYTHON)
			r = python_frame(t, name, &text, f);
		else if (p->frames[n->frame].kind == AIF_FRAME_NATIVE && f->kind == AIF_TORCH_OTHER)
			r = native_frame(t, name, &text, f);
		have_engine |= f->kind == AIF_TORCH_ENGINE;
	}
	aif_buf_finish(&text);
	if (r < 0 || !have_engine) {
		free(frames);
		frames = NULL;
	}
	*ret = frames;
	return r;
}

static const struct aif_torch_stack nothing = {
	.family = AIF_NONE,
	.call = AIF_NONE,
	.python = AIF_NONE,
	.node = AIF_NONE,
	.name = AIF_NONE,
	.site = AIF_NONE,
};

/* A node begins, or what the engine does beside nodes. */
static void node_begin(struct aif_torch_stack *s, uint32_t stack, uint32_t family, uint32_t name)
{
	*s = nothing;
	s->is_engine = true;
	s->node = stack;
	s->site = stack;
	s->family = family;
	s->name = name;
}

/* Gradient checkpointing by a node of its own runs the forward again, and the engine inside of that node; what
 * is computed there makes the nodes that the inner engine runs. */
static bool is_computed_again(const struct aif_torch_stack *s)
{
	return s->is_checkpoint && s->python != AIF_NONE;
}

/* Adds the frame of `stack` to what its caller's says. The role is that of the innermost frame that has one. */
static void step(struct aif_torch_stack *s, const struct aif_torch_stack *caller, uint32_t stack,
		 const struct torch_frame *f)
{
	bool is_operator = s->role == AIF_TORCH_FORWARD;

	if (f->is_python && s->is_python_node && f->is_backward && s->role == AIF_TORCH_BACKWARD) {
		s->family = f->family;
		s->name = f->name;
		s->is_python_node = false;
		s->is_checkpoint = f->is_checkpoint;
	} else if (f->is_python && s->is_apply) {
		/* The class makes one node; what it calls makes none. Decorators may stand before it. */
		if (f->is_forward) {
			s->is_apply = false;
			s->role = AIF_TORCH_FORWARD;
			s->family = f->family;
			s->site = stack;
		}
	} else if (f->is_python) {
		/* Inside a class's forward the operator is the class. */
		if (is_operator && s->site != AIF_NONE)
			return;
		s->python = stack;
		if (is_operator) {
			s->role = AIF_TORCH_NOT;
			s->family = AIF_NONE;
		}
	}
	switch (f->kind) {
	case AIF_TORCH_ENGINE:
		node_begin(s, stack, AIF_NONE, AIF_NONE);
		s->role = AIF_TORCH_AFTER;
		break;
	case AIF_TORCH_NODE:
		node_begin(s, stack, f->family, f->name);
		s->role = AIF_TORCH_BACKWARD;
		break;
	case AIF_TORCH_NODE_PYTHON:
		node_begin(s, stack, AIF_NONE, AIF_NONE);
		s->role = AIF_TORCH_BACKWARD;
		s->is_python_node = true;
		break;
	case AIF_TORCH_NODE_INSIDE:
		if (s->role == AIF_TORCH_BACKWARD && s->site == caller->site)
			s->site = stack;
		break;
	case AIF_TORCH_APPLY_PYTHON:
		if (!s->is_engine) {
			s->is_apply = true;
			s->call = stack;
		}
		break;
	case AIF_TORCH_VARIABLE:
		if (!is_operator && (!s->is_engine || is_computed_again(s))) {
			s->role = AIF_TORCH_FORWARD;
			s->family = f->family;
			s->call = stack;
			s->site = AIF_NONE;
		}
		break;
	default:
		break;
	}
}

int aif_torch_stacks_init(struct aif_torch_stacks *t, const struct aif_profile *p)
{
	struct torch_frame *frames;
	int r;

	*t = (struct aif_torch_stacks){0};
	r = frames_look(t, p, &frames);
	if (r < 0 || !frames)
		goto out;
	t->stacks = aif_memory_calloc(p->stacks_len + 1, sizeof(*t->stacks));
	r = t->stacks ? 0 : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < p->stacks_len; i++) {
		const struct aif_stack *s = &p->stacks[i];
		/* A caller has a smaller number. */
		const struct aif_torch_stack *caller =
			s->parent < i ? &t->stacks[s->parent] : &nothing;

		t->stacks[i] = *caller;
		if (s->frame < p->frames_len)
			step(&t->stacks[i], caller, i, &frames[s->frame]);
	}
out:
	free(frames);
	if (r < 0)
		aif_torch_stacks_finish(t);
	return r;
}

void aif_torch_stacks_finish(struct aif_torch_stacks *t)
{
	free(t->stacks);
	aif_strset_finish(&t->families);
	aif_strset_finish(&t->names);
	*t = (struct aif_torch_stacks){0};
}
