/* SPDX-License-Identifier: Apache-2.0 */
#include "base/human.h"
#include "base/name_sanitize.h"
#include "stacks/print.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <sys/syscall.h>

/* Numbers of threads that are listed where many have one stack. */
#define LISTED 8

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Puts a name of the process's own on one line, whatever it holds. */
static void put_name(struct aif_buf *out, const char *name)
{
	aif_name_sanitize(name, strlen(name), out);
}

void aif_stacks_put_thread(const struct aif_stacks_thread *t, struct aif_buf *out)
{
	aif_buf_printf(out, "%d \"", t->tid);
	put_name(out, t->name);
	aif_buf_putc(out, '"');
}

/* Frames of the interpreter that stand for Python functions: all but those further in than the innermost of these. */
static bool is_shown(const struct aif_stacks_thread *t, size_t i, bool *in_python, bool full)
{
	*in_python |= t->frames[i].is_python;
	if (full || !t->frames[i].is_interpreter)
		return true;
	return !*in_python && strcmp(t->frames[i].function, "_PyEval_EvalFrameDefault") != 0;
}

static void put_frame(const struct aif_stacks_frame *f, struct aif_buf *out)
{
	aif_buf_puts(out, "    ");
	put_name(out, f->function);
	if (f->is_inlined)
		aif_buf_puts(out, " [inlined]");
	if (f->file) {
		aif_buf_puts(out, " (");
		put_name(out, f->file);
		if (f->line)
			aif_buf_printf(out, ":%u", f->line);
		aif_buf_putc(out, ')');
	} else if (f->module && f->function[0] != '[') {
		aif_buf_puts(out, " [");
		put_name(out, last_part(f->module));
		aif_buf_putc(out, ']');
	}
	aif_buf_putc(out, '\n');
}

static void put_missing(const struct aif_stacks_thread *t, struct aif_buf *out)
{
	if (t->error == -EPERM || t->error == -EACCES)
		aif_buf_puts(out,
			     "    [not seen: it may not be stopped; a debugger traces it, or the "
			     "machine forbids ptrace]\n");
	else if (t->error == -ETIMEDOUT)
		aif_buf_puts(out, "    [not seen: it is in an uninterruptible sleep]\n");
	else if (t->error)
		aif_buf_printf(out, "    [not seen: %s]\n", strerror(-t->error));
	else if (t->activity == AIF_STACKS_ENDED)
		aif_buf_puts(out, "    [ended]\n");
	else if (t->is_served)
		aif_buf_puts(out,
			     "    [truncated: its stack lies on a file system that a user serves "
			     "(FUSE), which root does not read]\n");
	else if (t->walk.end == AIF_REMOTE_DEEP)
		aif_buf_puts(out, "    [truncated: too deep]\n");
	else if (t->walk.end == AIF_REMOTE_REGISTERS)
		aif_buf_puts(
			out,
			"    [truncated: its frame pointer is in a register, for which it would "
			"have to be stopped; that would make its system call fail]\n");
	else if (t->walk.end != AIF_REMOTE_END)
		aif_buf_puts(out, "    [truncated]\n");
	if (t->walk.guessed)
		aif_buf_puts(
			out,
			"    [guessed: a caller was found by its frame pointer, not by a table]\n");
	if (t->python_cut)
		aif_buf_puts(out, "    [truncated: some Python functions are missing]\n");
	if (t->unordered)
		aif_buf_puts(out,
			     "    [Python's functions stand together: where they belong is not "
			     "known]\n");
}

void aif_stacks_put_activity(const struct aif_stacks_thread *t, struct aif_buf *out)
{
	switch (t->activity) {
	case AIF_STACKS_RUNS:
		aif_buf_puts(out, " runs");
		break;
	case AIF_STACKS_STOPPED:
		aif_buf_puts(out, t->state == 't' ? " is stopped by a debugger"
						  : " is stopped by a signal");
		break;
	case AIF_STACKS_WAITS:
	case AIF_STACKS_FAULT:
		aif_buf_printf(out, " waits %s ",
			       t->lock || t->activity == AIF_STACKS_FAULT ||
					       t->call.number == SYS_wait4 ||
					       t->call.number == SYS_waitid
				       ? "for"
				       : "in");
		put_name(out, t->waits ? t->waits : "the kernel");
		break;
	case AIF_STACKS_ENDED:
		aif_buf_puts(out, " has ended");
		break;
	case AIF_STACKS_UNKNOWN:
		break;
	}
	if (t->holds_gil)
		aif_buf_puts(out, ", holds Python's GIL");
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	return aif_hash_bytes(text ? text : "", text ? strlen(text) : 0) ^
	       hash * UINT64_C(0x9E3779B97F4A7C15);
}

void aif_stacks_put_frames(const struct aif_stacks_thread *t, bool full, struct aif_buf *out)
{
	bool in_python = false;

	for (size_t i = 0; i < t->frames_len; i++)
		if (is_shown(t, i, &in_python, full))
			put_frame(&t->frames[i], out);
	put_missing(t, out);
}

uint64_t aif_stacks_hash_frames(const struct aif_stacks_thread *t)
{
	uint64_t hash = (uint64_t)t->activity << 32 | (uint32_t)t->error;

	for (size_t i = 0; i < t->frames_len; i++)
		hash = hash_text(hash + t->frames[i].line, t->frames[i].function);
	return hash + t->holds_gil;
}

/* Equal for threads that do the same. */
static uint64_t hash_thread(const struct aif_stacks_thread *t)
{
	return hash_text(aif_stacks_hash_frames(t), t->waits);
}

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

bool aif_stacks_is_same_frames(const struct aif_stacks_thread *a, const struct aif_stacks_thread *b)
{
	if (a->activity != b->activity || a->error != b->error || a->holds_gil != b->holds_gil ||
	    a->frames_len != b->frames_len)
		return false;
	for (size_t i = 0; i < a->frames_len; i++)
		if (a->frames[i].line != b->frames[i].line ||
		    strcmp(a->frames[i].function, b->frames[i].function) != 0 ||
		    !is_same_text(a->frames[i].file, b->frames[i].file))
			return false;
	return true;
}

static bool is_same(const struct aif_stacks_thread *a, const struct aif_stacks_thread *b)
{
	return is_same_text(a->waits, b->waits) && aif_stacks_is_same_frames(a, b);
}

static void put_thread(const struct aif_stacks *s, size_t i, const uint64_t *hashes,
		       const struct aif_stacks_opts *o, struct aif_buf *out)
{
	const struct aif_stacks_thread *t = &s->threads[i];
	size_t same = 0;

	aif_buf_puts(out, "\nthread ");
	aif_stacks_put_thread(t, out);
	aif_stacks_put_activity(t, out);
	if (o->verbose && t->was_stopped) {
		aif_buf_puts(out, " (stopped for ");
		aif_human_ns(out, t->stop_ns);
		aif_buf_puts(out, ")");
	}
	if (o->verbose && t->wchan[0])
		aif_buf_printf(out, " [%s]", t->wchan);
	aif_buf_puts(out, "\n");
	aif_stacks_put_frames(t, o->full, out);
	for (size_t k = i + 1; k < s->len; k++) {
		if (hashes[k] != hashes[i] || !is_same(&s->threads[k], t))
			continue;
		if (same < LISTED) {
			aif_buf_puts(out, same ? ", " : "    [the same: ");
			aif_stacks_put_thread(&s->threads[k], out);
		}
		same++;
	}
	if (same > LISTED) {
		aif_buf_puts(out, " and ");
		aif_human_count(out, same - LISTED);
		aif_buf_puts(out, " more");
	}
	if (same)
		aif_buf_puts(out, "]\n");
}

static void put_deadlocks(const struct aif_stacks *s, struct aif_buf *out)
{
	bool begins = true;

	for (size_t i = 0; i < s->deadlocks_len; i++) {
		const struct aif_stacks_thread *t;

		if (s->deadlocks[i] == SIZE_MAX) {
			aif_buf_puts(out, "\n");
			begins = true;
			continue;
		}
		t = &s->threads[s->deadlocks[i]];
		aif_buf_puts(out, begins ? "\ndeadlock: thread " : "; thread ");
		aif_stacks_put_thread(t, out);
		aif_buf_puts(out, " waits for ");
		put_name(out, t->waits ? t->waits : "");
		begins = false;
	}
}

static void put_head(const struct aif_stacks *s, struct aif_buf *out)
{
	const struct passwd *user = getpwuid(s->uid);

	aif_buf_printf(out, "process %d: ", s->pid);
	put_name(out, s->command ? s->command : "");
	aif_buf_putc(out, '\n');
	if (user)
		aif_buf_printf(out, "user %s, ", user->pw_name);
	else
		aif_buf_printf(out, "user %u, ", (unsigned)s->uid);
	aif_human_counted(out, s->len, "thread");
	if (s->left_out) {
		aif_buf_puts(out, " and ");
		aif_human_count(out, s->left_out);
		aif_buf_puts(out, " more that are left out");
	}
	switch (s->python_found) {
	case AIF_REMOTE_PYTHON_NONE:
		break;
	case AIF_REMOTE_PYTHON_FOUND:
		aif_buf_printf(out, ", Python 3.%u", s->python.layout.minor);
		break;
	case AIF_REMOTE_PYTHON_UNKNOWN:
		aif_buf_puts(out,
			     ", Python of a version that is not known, or without the GIL: its "
			     "functions are not shown");
		break;
	case AIF_REMOTE_PYTHON_UNREADABLE:
		aif_buf_puts(out,
			     ", Python that is starting or ending: its functions are not shown");
		break;
	}
	aif_buf_puts(out, "\n");
}

void aif_stacks_text(const struct aif_stacks *s, const struct aif_stacks_opts *o,
		     struct aif_buf *out)
{
	uint64_t *hashes = malloc(AIF_MAX(s->len, 1) * sizeof(*hashes));
	struct aif_map seen = {0};

	put_head(s, out);
	for (size_t i = 0; hashes && i < s->len; i++)
		hashes[i] = hash_thread(&s->threads[i]);
	for (size_t i = 0; hashes && i < s->len; i++) {
		uint64_t first;

		if (aif_map_get(&seen, hashes[i], &first) &&
		    is_same(&s->threads[first], &s->threads[i]))
			continue;
		aif_map_put(&seen, hashes[i], i);
		put_thread(s, i, hashes, o, out);
	}
	put_deadlocks(s, out);
	if (o->verbose) {
		aif_buf_puts(out, "\nstopped: ");
		aif_human_counted(out, s->stops, "thread");
		if (s->stops) {
			aif_buf_puts(out, ", the longest for ");
			aif_human_ns(out, s->longest_stop_ns);
		}
		aif_buf_puts(out, "\n");
	}
	out->failed |= !hashes;
	free(hashes);
	aif_map_finish(&seen);
}
