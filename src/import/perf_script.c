/* SPDX-License-Identifier: Apache-2.0 */
#include "import/host.h"
#include "import/lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * What `perf script` prints: a line for each sample, its frames below it, the innermost first, and an empty line.
 *
 *     python3  4711/4712 [003]  1165.644359:   10101010 cpu-clock:pppH:
 *                 1141 inner+0x18 (/usr/bin/spin)
 *
 * pid, [cpu] and the period may be missing; a sample without callers has its one frame in its own line. Layout: perf's own
 * manual (perf-script, "FIELDS") and what 6.1 writes. Samples of clocks count their period, which is ns. Of other events
 * a period is no time: each sample stands for the usual time between two of them, which is that of the busiest thread.
 */
#define DEPTH_MAX 4096 /* perf's own limit is 127, or what kernel.perf_event_max_stack says */
/* What stands for a sample where there are not two: perf's own rate is 4,000 Hz. */
#define DEFAULT_NS UINT64_C(250000)

struct text {
	const char *p;
	size_t len;
};

struct header {
	struct text comm, event;
	uint64_t pid, tid, time, period;
	bool has_pid, has_period;
	struct text rest; /* behind the event: the frame of a sample without callers */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void skip_blanks(struct text *t)
{
	while (t->len && is_blank(*t->p)) {
		t->p++;
		t->len--;
	}
}

static bool word(struct text *t, struct text *ret)
{
	skip_blanks(t);
	*ret = (struct text){t->p, 0};
	while (t->len && !is_blank(*t->p)) {
		t->p++;
		t->len--;
		ret->len++;
	}
	return ret->len > 0;
}

static bool number(struct text t, uint64_t *ret)
{
	uint64_t v = 0;

	for (size_t i = 0; i < t.len; i++)
		if (!is_digit(t.p[i]) || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(t.p[i] - '0'), &v))
			return false;
	*ret = v;
	return t.len > 0;
}

/* "1165.644359:" in ns */
static bool time_of(struct text t, uint64_t *ret)
{
	const char *dot = t.len ? memchr(t.p, '.', t.len) : NULL;
	uint64_t s, part, ns = 1;
	struct text fraction;

	if (!dot || t.p[t.len - 1] != ':')
		return false;
	fraction = (struct text){dot + 1, (size_t)(t.p + t.len - 2 - dot)};
	if (fraction.len < 1 || fraction.len > 9 || !number(fraction, &part) ||
	    !number((struct text){t.p, (size_t)(dot - t.p)}, &s) || s > UINT32_MAX)
		return false;
	for (size_t i = fraction.len; i < 9; i++)
		ns *= 10;
	*ret = s * AIF_NS_PER_S + part * ns;
	return true;
}

/* "4712", "4711/4712" */
static bool ids(struct text t, struct header *h)
{
	const char *slash = t.len ? memchr(t.p, '/', t.len) : NULL;

	h->has_pid = slash != NULL;
	if (!slash)
		return number(t, &h->tid) && h->tid < UINT32_MAX;
	return number((struct text){t.p, (size_t)(slash - t.p)}, &h->pid) &&
	       number((struct text){slash + 1, (size_t)(t.p + t.len - slash - 1)}, &h->tid) &&
	       h->tid < UINT32_MAX && h->pid < UINT32_MAX;
}

static bool is_cpu(struct text t)
{
	uint64_t cpu;

	return t.len > 2 && t.p[0] == '[' && t.p[t.len - 1] == ']' &&
	       number((struct text){t.p + 1, t.len - 2}, &cpu);
}

/* A command's name may hold blanks and numbers: what is sure is the time, and what is before it. */
static bool parse_header(struct text line, struct header *ret)
{
	struct text left = line, w, id = {0}, before = {0};

	*ret = (struct header){0};
	if (!line.len || *line.p == '#')
		return false;
	while (word(&left, &w)) {
		if (id.len && time_of(w, &ret->time) && ids(id, ret))
			break;
		if (!is_cpu(w) || !id.len) {
			before = id;
			id = w;
		}
	}
	if (!w.len || !before.len)
		return false;
	ret->comm = line;
	skip_blanks(&ret->comm);
	ret->comm.len = (size_t)(before.p + before.len - ret->comm.p);
	if (!word(&left, &w))
		return false;
	ret->has_period = number(w, &ret->period);
	if (ret->has_period && !word(&left, &w))
		return false;
	if (w.p[w.len - 1] != ':')
		return false;
	ret->event = (struct text){w.p, w.len - 1};
	ret->rest = left;
	skip_blanks(&ret->rest);
	return true;
}

/* "cpu_core/cycles/ppp" is "cycles": what there is of each kind of core, and modifiers, do not matter. */
static struct text event_name(struct text e)
{
	const char *slash = e.len ? memchr(e.p, '/', e.len) : NULL, *end = e.p + e.len, *colon;

	if (slash && (size_t)(end - slash) > 1) {
		const char *second = memchr(slash + 1, '/', (size_t)(end - slash - 1));

		return (struct text){slash + 1, (size_t)((second ? second : end) - slash - 1)};
	}
	colon = e.len ? memrchr(e.p, ':', e.len) : NULL;
	/* "sched:sched_switch" is a name; "cycles:ppp", "cpu-clock:uhH" are modifiers. */
	if (colon && strspn(colon + 1, "ukhIGHpPSDWe") >= (size_t)(end - colon - 1))
		e.len = (size_t)(colon - e.p);
	return e;
}

static bool is(struct text t, const char *text)
{
	return t.len == strlen(text) && !memcmp(t.p, text, t.len);
}

/* ---- frames -------------------------------------------------------------------------------------- */

struct frame {
	uint64_t ip;
	struct text name, module; /* empty: not known */
};

static bool parse_frame(struct text line, struct frame *ret)
{
	struct text left = line, w, deleted = {" (deleted))", 11};
	const char *open;

	*ret = (struct frame){0};
	if (!word(&left, &w) || w.len > 16)
		return false;
	for (size_t i = 0; i < w.len; i++) {
		char c = w.p[i] | 0x20;

		if (!is_digit(w.p[i]) && !(c >= 'a' && c <= 'f'))
			return false;
		ret->ip = ret->ip << 4 | (uint64_t)(is_digit(c) ? c - '0' : c - 'a' + 10);
	}
	skip_blanks(&left);
	while (left.len && is_blank(left.p[left.len - 1]))
		left.len--;
	ret->name = left;
	if (left.len > 2 && left.p[left.len - 1] == ')') {
		size_t len = left.len - 1;

		if (left.len > deleted.len &&
		    !memcmp(left.p + left.len - deleted.len, deleted.p, deleted.len))
			len = left.len - deleted.len;
		open = memrchr(left.p, '(', len);
		if (open && (open == left.p || open[-1] == ' ')) {
			ret->module = (struct text){open + 1, (size_t)(left.p + len - open - 1)};
			ret->name.len = (size_t)(open - left.p) - (open > left.p);
		}
	}
	if (is(ret->module, "[unknown]") || is(ret->module, "inlined"))
		ret->module.len = 0;
	if (is(ret->name, "[unknown]"))
		ret->name.len = 0;
	for (size_t i = ret->name.len; i-- > 2;) { /* name+0x18 */
		char c = ret->name.p[i] | 0x20;

		if (c == 'x' && ret->name.p[i - 1] == '0' && ret->name.p[i - 2] == '+' && i > 2) {
			ret->name.len = i - 2;
			break;
		}
		if (!is_digit(ret->name.p[i]) && !(c >= 'a' && c <= 'f'))
			break;
	}
	return true;
}

struct perf {
	struct aif_host host;
	struct aif_lines lines;
	struct header at;
	bool is_in, is_kept, is_idle; /* a sample: it has begun; it is one of those that count */
	uint32_t frames[DEPTH_MAX];
	size_t frames_len;
	bool is_cut;
	struct aif_buf comm, event, other; /* of the sample; the event that counts */
	uint64_t others, idle, weightless;
	size_t first_row;
	bool is_clock;
};

/* CPython 3.12 and later: "py::function:/path/file.py", one frame for each function that perf sees. */
static uint32_t python_frame(struct perf *x, struct text name)
{
	struct aif_builder *b = x->host.b;
	const char *from = name.p + 4, *end = name.p + name.len,
		   *colon = memchr(from, ':', (size_t)(end - from));

	return aif_host_frame(
		&x->host, AIF_FRAME_PYTHON, AIF_NONE,
		aif_builder_str(b, from, (size_t)((colon ? colon : end) - from)),
		colon ? aif_builder_str(b, colon + 1, (size_t)(end - colon - 1)) : AIF_NONE, 0);
}

/* What a CPU runs that has nothing to do. */
static bool is_idle(struct text name)
{
	static const char *const words[] = {"cpuidle", "idle_call", "native_safe_halt", "do_idle",
					    "default_idle"};

	for (size_t i = 0; i < AIF_ARRAY_LEN(words); i++)
		if (memmem(name.p, name.len, words[i], strlen(words[i])))
			return true;
	return false;
}

static void take_frame(struct perf *x, const struct frame *f)
{
	struct aif_builder *b = x->host.b;
	uint32_t module, frame;
	bool is_os;

	if (x->frames_len == DEPTH_MAX) {
		x->is_cut = true;
		return;
	}
	if (x->at.tid == 0)
		x->is_idle |= is_idle(f->name);
	is_os = aif_host_is_os(f->module.p, f->module.len) || f->ip >> 63;
	module =
		f->module.len && !is_os ? aif_builder_str(b, f->module.p, f->module.len) : AIF_NONE;
	if (!f->name.len)
		frame = aif_host_unnamed(&x->host, module, f->ip);
	else if (!is_os && f->name.len > 4 && !memcmp(f->name.p, "py::", 4))
		frame = python_frame(x, f->name);
	else
		frame = aif_host_frame(&x->host, is_os ? AIF_FRAME_OS : AIF_FRAME_NATIVE, module,
				       aif_builder_str(b, f->name.p, f->name.len), AIF_NONE, 0);
	x->frames[x->frames_len++] = frame;
}

/* The sample is over. */
static int flush(struct perf *x)
{
	struct aif_builder *b = x->host.b;
	struct aif_cpu_row *row;
	uint32_t stack = AIF_NONE, name;

	if (!x->is_in)
		return 0;
	x->is_in = false;
	if (!x->is_kept)
		return 0;
	name = aif_builder_str(b, x->comm.data, x->comm.len);
	if (x->at.tid == 0 && (x->is_idle || !x->frames_len)) {
		x->idle++;
		return 0;
	}
	if (!x->frames_len) /* perf says where it was, or it did not know */
		x->frames[x->frames_len++] =
			aif_host_frame(&x->host, AIF_FRAME_MARK, AIF_NONE,
				       aif_builder_puts(b, "[no stack]"), AIF_NONE, 0);
	for (size_t i = x->frames_len; i-- > 0;)
		stack = aif_builder_stack(b, stack, x->frames[i],
					  i == 0 && x->is_cut ? AIF_STACK_TRUNCATED : 0);
	row = aif_builder_wait(b);
	if (!row || b->failed)
		return -ENOMEM;
	*row = (struct aif_cpu_row){
		.time = x->at.time,
		.weight = x->at.period,
		/* Without a process's number, a process is what has the same name. */
		.thread = aif_host_thread(&x->host,
					  x->at.has_pid ? x->at.pid : UINT64_C(1) << 32 | name,
					  x->at.tid, name, name),
		.stack = stack};
	x->lines.source->events++;
	return 0;
}

static int take_header(struct perf *x, const struct header *h)
{
	struct text event = event_name(h->event);
	struct frame f;
	int r = flush(x);

	if (r < 0)
		return r;
	x->at = *h;
	x->is_in = true;
	x->is_idle = x->is_cut = false;
	x->frames_len = 0;
	aif_buf_clear(&x->comm);
	aif_buf_append(&x->comm, h->comm.p, h->comm.len);
	if (!x->event.len) {
		aif_buf_append(&x->event, event.p, event.len);
		x->is_clock = is(event, "cpu-clock") || is(event, "task-clock");
	}
	x->is_kept = event.len && event.len == x->event.len &&
		     !memcmp(event.p, x->event.data, event.len);
	if (!x->is_kept && !x->others++)
		aif_buf_append(&x->other, event.p, event.len);
	if (x->is_kept && x->is_clock && (!h->has_period || h->period > AIF_NS_PER_S * 3600)) {
		x->weightless++;
		x->at.period = 0;
	}
	if (x->is_kept && h->rest.len && parse_frame(h->rest, &f))
		take_frame(x, &f);
	return aif_buf_failed(&x->comm) || aif_buf_failed(&x->event) ? -ENOMEM : 0;
}

static int take(struct perf *x, struct text line)
{
	struct header h;

	if (!line.len)
		return flush(x);
	if (*line.p == '#')
		return 0;
	/* Commands may be right-justified, with blanks before them; a frame ends with its module. */
	if (is_blank(*line.p) && x->is_in) {
		struct frame f;
		bool is_frame = parse_frame(line, &f);

		if (!(is_frame && line.p[line.len - 1] == ')') && parse_header(line, &h))
			return take_header(x, &h);
		/* Source lines, which perf puts between frames if it is asked to, begin with no number. */
		if (x->is_kept && is_frame)
			take_frame(x, &f);
		return 0;
	}
	if (parse_header(line, &h))
		return take_header(x, &h);
	aif_lines_bad(&x->lines);
	return 0;
}

/* ---- weights ------------------------------------------------------------------------------------- */

static void weigh(struct perf *x, uint64_t count_ns)
{
	struct aif_builder *b = x->host.b;
	uint64_t each = count_ns;
	char text[400];

	if (!each && x->is_clock && !x->weightless)
		return;
	if (!each) {
		each = aif_host_usual_gap(b, x->first_row);
		each = AIF_MIN(each ? each : DEFAULT_NS, AIF_NS_PER_S);
		snprintf(text, sizeof(text), "%s: %.*s: %" PRIu64 " ns each",
			 aif_input_name(x->lines.source->input), (int)AIF_MIN(x->event.len, 60),
			 aif_buf_str(&x->event), each);
		aif_builder_loss(b, AIF_REASON_IMPORT_WEIGHT, AIF_NONE, aif_builder_puts(b, text),
				 1);
	}
	for (size_t i = x->first_row; i < b->waits_len; i++)
		b->waits[i].weight = each;
}

static int probe(const uint8_t *head, size_t len)
{
	const char *at = (const char *)head, *end = at + len;
	bool has_header = false;

	for (unsigned lines = 0; at < end && lines < 400; lines++) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		struct text line = {at, (size_t)((nl ? nl : end) - at)};
		struct header h;
		struct frame f;

		at += line.len + 1;
		while (line.len && line.p[line.len - 1] == '\r')
			line.len--;
		if (has_header && (!line.len || (is_blank(*line.p) && parse_frame(line, &f))))
			return 8;
		if (!line.len || *line.p == '#')
			continue;
		if (!parse_header(line, &h))
			return 0;
		if (h.rest.len && parse_frame(h.rest, &f))
			return 8;
		has_header = true;
	}
	return has_header ? 5 : 0;
}

static int read_file(struct aif_import_source *s, struct aif_builder *b, void **state,
		     struct aif_err *err)
{
	struct perf *x = calloc(1, sizeof(*x));
	struct text line;
	char *p;
	int r;

	(void)state;
	if (!x)
		return aif_err_set(err, -ENOMEM, "out of memory");
	x->host.b = b;
	x->lines.source = s;
	x->first_row = b->waits_len;
	while ((r = aif_lines_next(&x->lines, &p, &line.len, err)) > 0) {
		line.p = p;
		r = take(x, line);
		if (r < 0)
			goto memory;
	}
	if (r < 0)
		goto out;
	r = flush(x);
	if (r < 0)
		goto memory;
	if (!r && b->waits_len == x->first_row)
		r = aif_err_set(err, -ENODATA, "%s: no sample in it", aif_input_name(s->input));
	if (!r) {
		weigh(x, s->opts->count_ns);
		if (x->others || x->idle)
			aif_builder_meta(b, "imported.not_kept",
					 "%" PRIu64 " samples of other events (%s), %" PRIu64
					 " of idle CPUs",
					 x->others, x->others ? aif_buf_str(&x->other) : "none",
					 x->idle);
		aif_builder_meta(b, "imported.event", "%s", aif_buf_str(&x->event));
	}
	goto out;
memory:
	aif_err_set(err, r, "%s: %s", aif_input_name(s->input), strerror(-r));
out:
	aif_lines_finish(&x->lines, b);
	aif_host_finish(&x->host);
	aif_buf_finish(&x->comm);
	aif_buf_finish(&x->event);
	aif_buf_finish(&x->other);
	free(x);
	return r;
}

const struct aif_importer aif_importer_perf_script = {
	.name = "perf script",
	.summary = "what `perf script` prints: CPU samples with stacks",
	.probe = probe,
	.read = read_file,
};
