/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/stacks.h"
#include "text/json.h"

#include <inttypes.h>

static void put_text(struct aif_buf *out, const char *key, const char *text)
{
	if (!text)
		return;
	aif_out_json_key(out, key);
	aif_out_json_escaped_text(out, text);
}

static void put_flag(struct aif_buf *out, const char *key, bool v)
{
	aif_out_json_key(out, key);
	aif_buf_puts(out, v ? "true" : "false");
}

static void put_frame(struct aif_buf *out, const struct aif_stacks_frame *f)
{
	aif_buf_puts(out, "{\"function\":");
	aif_out_json_escaped_text(out, f->function);
	put_text(out, "kind", f->is_python ? "python" : f->is_inlined ? "inlined" : "native");
	put_text(out, "file", f->file);
	if (f->line)
		aif_json_put_u64(out, "line", f->line);
	put_text(out, "module", f->module);
	if (!f->is_python) {
		aif_out_json_key(out, "address");
		aif_buf_printf(out, "\"0x%" PRIx64 "\"", f->address);
	}
	if (f->is_interpreter)
		put_flag(out, "interpreter", true);
	aif_buf_puts(out, "}");
}

static const char *activity_name(enum aif_stacks_activity activity)
{
	static const char *const names[] = {
		[AIF_STACKS_RUNS] = "runs",   [AIF_STACKS_WAITS] = "waits",
		[AIF_STACKS_FAULT] = "fault", [AIF_STACKS_STOPPED] = "stopped",
		[AIF_STACKS_ENDED] = "ended", [AIF_STACKS_UNKNOWN] = "unknown",
	};

	return names[activity];
}

static const char *lock_name(enum aif_stacks_lock lock)
{
	static const char *const names[] = {
		[AIF_STACKS_NO_LOCK] = NULL,          [AIF_STACKS_MUTEX] = "mutex",
		[AIF_STACKS_RWLOCK] = "rwlock",       [AIF_STACKS_CONDITION] = "condition",
		[AIF_STACKS_SEMAPHORE] = "semaphore", [AIF_STACKS_BARRIER] = "barrier",
		[AIF_STACKS_JOIN] = "join",           [AIF_STACKS_GIL] = "gil",
		[AIF_STACKS_FUTEX] = "futex",
	};

	return names[lock];
}

static void put_thread(struct aif_buf *out, const struct aif_stacks_thread *t)
{
	aif_buf_printf(out, "{\"tid\":%d", t->tid);
	put_text(out, "name", t->name);
	put_text(out, "activity", activity_name(t->activity));
	put_text(out, "waits", t->waits);
	if (t->activity == AIF_STACKS_WAITS)
		aif_json_put_u64(out, "system_call", (uint64_t)t->call.number);
	put_text(out, "wchan", t->wchan[0] ? t->wchan : NULL);
	put_text(out, "lock", lock_name(t->lock));
	if (t->lock) {
		aif_out_json_key(out, "lock_address");
		aif_buf_printf(out, "\"0x%" PRIx64 "\"", t->lock_at);
	}
	if (t->holder)
		aif_json_put_u64(out, "holder", (uint64_t)t->holder);
	if (t->has_python)
		put_flag(out, "holds_gil", t->holds_gil);
	if (t->was_stopped)
		aif_json_put_u64(out, "stopped_ns", t->stop_ns);
	if (t->error)
		aif_json_put_u64(out, "errno", (uint64_t)-t->error);
	if (t->is_served)
		put_flag(out, "served", true);
	put_flag(out, "complete",
		 t->pcs && t->walk.end == AIF_REMOTE_END && !t->python_cut && !t->unordered);
	put_flag(out, "guessed", t->walk.guessed);
	aif_out_json_key(out, "stack");
	aif_buf_puts(out, "[");
	for (size_t i = 0; i < t->frames_len; i++) {
		aif_buf_puts(out, i ? ",\n    " : "\n    ");
		put_frame(out, &t->frames[i]);
	}
	aif_buf_puts(out, "]}");
}

void aif_stacks_json(const struct aif_stacks *s, struct aif_buf *out)
{
	bool begins = true;

	aif_buf_printf(out, "{\"pid\":%d,\"uid\":%u", s->pid, (unsigned)s->uid);
	put_text(out, "command", s->command);
	if (s->python_found == AIF_REMOTE_PYTHON_FOUND) {
		aif_out_json_key(out, "python");
		aif_buf_printf(out, "\"3.%u\"", s->python.layout.minor);
	}
	aif_json_put_u64(out, "left_out", s->left_out);
	aif_json_put_u64(out, "stops", s->stops);
	aif_json_put_u64(out, "longest_stop_ns", s->longest_stop_ns);
	aif_out_json_key(out, "threads");
	aif_buf_puts(out, "[");
	for (size_t i = 0; i < s->len; i++) {
		aif_buf_puts(out, i ? ",\n  " : "\n  ");
		put_thread(out, &s->threads[i]);
	}
	aif_buf_puts(out, "]");
	aif_out_json_key(out, "deadlocks");
	aif_buf_puts(out, "[");
	for (size_t i = 0; i < s->deadlocks_len; i++) {
		if (s->deadlocks[i] == SIZE_MAX) {
			aif_buf_puts(out, "]");
			begins = true;
			continue;
		}
		aif_buf_puts(out, begins ? (i ? ",[" : "[") : ",");
		begins = false;
		aif_out_json_i64(out, s->threads[s->deadlocks[i]].tid);
	}
	aif_buf_puts(out, "]}");
}
