/* SPDX-License-Identifier: Apache-2.0 */
#include "text/iaprof_text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* A stack of 2048 long C++ names fits. */
#define MAX_LINE   (4u << 20)
#define MAX_FIELDS 16

enum { COMM, STACK, FILE_NAME, SYMBOL, INSTRUCTION, OS_STACK };

const char *aif_iaprof_count_name(unsigned column)
{
	static const char *const names[AIF_IAPROF_COUNTS] = {
		"active", "control", "pipestall",  "send",  "dist_acc",
		"sbid",   "sync",    "inst_fetch", "other", "tdr"};

	return column < AIF_IAPROF_COUNTS ? names[column] : "?";
}

/* ---- reading
 * ------------------------------------------------------------------------------------- */

struct field {
	const char *at;
	size_t len;
};

static bool is(const struct field *f, const char *word)
{
	return f->len == strlen(word) && !memcmp(f->at, word, f->len);
}

static int digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : 16;
}

/* Decimal, or with 0x hexadecimal: all of the field. */
static bool number(const struct field *f, uint64_t *ret)
{
	bool is_hex = f->len > 2 && f->at[0] == '0' && (f->at[1] | 32) == 'x';
	uint64_t base = is_hex ? 16 : 10, v = 0;

	for (size_t i = is_hex ? 2 : 0; i < f->len; i++) {
		uint64_t d = (uint64_t)digit(f->at[i]);

		if (d >= base || v > (UINT64_MAX - d) / base)
			return false;
		v = v * base + d;
	}
	*ret = v;
	return f->len > 0;
}

/* "1234.567890": ns, of at most nine places. */
static bool seconds(const struct field *f, uint64_t *ret)
{
	const char *dot = memchr(f->at, '.', f->len);
	struct field whole = {f->at, dot ? (size_t)(dot - f->at) : f->len}, part = {"0", 1};
	uint64_t s, ns;

	if (dot)
		part = (struct field){dot + 1, f->len - whole.len - 1};
	if (part.len > 9 || !number(&whole, &s) || !number(&part, &ns) ||
	    s >= UINT64_MAX / AIF_NS_PER_S)
		return false;
	for (size_t i = dot ? part.len : 9; i < 9; i++)
		ns *= 10;
	*ret = s * AIF_NS_PER_S + ns;
	return true;
}

static bool numbers(const struct field *f, size_t n, uint64_t *ret)
{
	for (size_t i = 0; i < n; i++)
		if (!number(&f[i], &ret[i]))
			return false;
	return true;
}

/* iaprof has 0 for what it does not know: code that it met and nobody launched. */
static const char *text_of(const struct aif_iaprof_reader *r, uint64_t id, bool *is_missed)
{
	uint64_t own;

	if (aif_map_get(&r->ids, id, &own))
		return aif_strset_get(&r->texts, (uint32_t)own, NULL);
	*is_missed |= id != 0;
	return "";
}

/* The rest of the line, tabs and all. */
static int on_string(struct aif_iaprof_reader *r, const struct field *id, const char *end)
{
	const char *text = id->at + id->len;
	uint64_t key;
	uint32_t own;

	if (text == end || !number(id, &key))
		return -EINVAL;
	own = aif_strset_put(&r->texts, text + 1, (size_t)(end - text) - 1);
	return own == AIF_STR_NONE ? -ENOMEM : aif_map_put(&r->ids, key, own);
}

static int on_kernel(struct aif_iaprof_reader *r, const struct field *f)
{
	uint64_t v[6];

	if (!numbers(f, 6, v))
		return -EINVAL;
	r->at.address = v[0];
	r->at.pid = v[2];
	r->names[COMM] = v[1];
	r->names[STACK] = v[3];
	r->names[FILE_NAME] = v[4];
	r->names[SYMBOL] = v[5];
	r->has_kernel = true;
	return 0;
}

static int on_eustall(struct aif_iaprof_reader *r, const struct field *f)
{
	struct aif_iaprof_sample *s = &r->at;
	uint64_t v[2 + AIF_IAPROF_COUNTS];
	bool is_missed = false;

	if (!r->has_kernel || !numbers(f, AIF_ARRAY_LEN(v), v))
		return -EINVAL;
	s->offset = v[0];
	s->instruction = text_of(r, v[1], &is_missed);
	memcpy(s->counts, v + 2, sizeof(s->counts));
	s->comm = text_of(r, r->names[COMM], &is_missed);
	s->stack = text_of(r, r->names[STACK], &is_missed);
	s->file = text_of(r, r->names[FILE_NAME], &is_missed);
	s->symbol = text_of(r, r->names[SYMBOL], &is_missed);
	s->is_nameless = is_missed;
	return r->sink.sample(r->sink.arg, s);
}

/* ---- as of 2025 ---- */

static bool hexadecimal(const struct field *f, uint64_t *ret)
{
	uint64_t v = 0;

	for (size_t i = 0; i < f->len; i++) {
		uint64_t d = (uint64_t)digit(f->at[i]);

		if (d > 15 || v >> 60)
			return false;
		v = v << 4 | d;
	}
	*ret = v;
	return f->len > 0;
}

/* Returns "" for the text that stands for what is not known. */
static const char *known(const char *text, const char *unknown)
{
	return strcmp(text, unknown) != 0 ? text : "";
}

static unsigned count_of(const char *reason)
{
	for (unsigned i = 0; i < AIF_IAPROF_COUNTS; i++)
		if (!strcmp(reason, aif_iaprof_count_name(i)))
			return i;
	return count_of("other");
}

static int on_e(struct aif_iaprof_reader *r, const struct field *f)
{
	struct aif_iaprof_sample *s = &r->at;
	uint64_t stack, reason, count;
	bool is_missed = false;

	if (!number(&f[0], &stack) || !number(&f[1], &reason) || !hexadecimal(&f[2], &s->offset) ||
	    !number(&f[3], &count))
		return -EINVAL;
	memset(s->counts, 0, sizeof(s->counts));
	s->counts[count_of(text_of(r, reason, &is_missed))] = count;
	aif_buf_clear(&r->stack);
	aif_buf_puts(&r->stack, text_of(r, r->names[STACK], &is_missed));
	aif_buf_putc(&r->stack, ';');
	aif_buf_puts(&r->stack, text_of(r, r->names[OS_STACK], &is_missed));
	if (aif_buf_failed(&r->stack))
		return -ENOMEM;
	s->stack = aif_buf_str(&r->stack);
	s->comm = text_of(r, r->names[COMM], &is_missed);
	s->file = known(text_of(r, r->names[FILE_NAME], &is_missed), "[unknown file]");
	s->symbol = text_of(r, r->names[SYMBOL], &is_missed);
	s->instruction = known(text_of(r, r->names[INSTRUCTION], &is_missed), "[failed decode]");
	s->is_nameless = is_missed;
	return r->sink.sample(r->sink.arg, s);
}

/* Reads a line of what the following samples have in common; -ENOENT: it is no such line. */
static int on_state(struct aif_iaprof_reader *r, const struct field *f, size_t n)
{
	static const struct {
		const char *word;
		int name;
	} names[] = {
		{"proc_name", COMM},     {"ustack", STACK},      {"kstack", OS_STACK},
		{"gpu_file", FILE_NAME}, {"gpu_symbol", SYMBOL}, {"insn_text", INSTRUCTION},
	};
	uint64_t v;

	if (is(&f[0], "interval_end") && n == 1)
		return 0;
	if (is(&f[0], "interval_start") && n == 3)
		return number(&f[1], &r->at.interval) && seconds(&f[2], &r->at.end_ns) ? 0
										       : -EINVAL;
	if (n != 2)
		return -ENOENT;
	for (size_t i = 0; i < AIF_ARRAY_LEN(names); i++)
		if (is(&f[0], names[i].word))
			return number(&f[1], &r->names[names[i].name]) ? 0 : -EINVAL;
	if (is(&f[0], "pid"))
		return number(&f[1], &r->at.pid) ? 0 : -EINVAL;
	return is(&f[0], "shader_type") && number(&f[1], &v) ? 0 : -ENOENT;
}

static int on_metric(struct aif_iaprof_reader *r, const struct field *f)
{
	struct aif_iaprof_metric m = {.interval = r->at.interval, .end_ns = r->at.end_ns};
	char name[64];

	if (f[0].len >= sizeof(name) || !number(&f[1], &m.value))
		return -EINVAL;
	memcpy(name, f[0].at, f[0].len);
	name[f[0].len] = '\0';
	m.name = name;
	return r->sink.metric ? r->sink.metric(r->sink.arg, &m) : 0;
}

/* Begins an interval; its kernels come anew. */
static int on_interval(struct aif_iaprof_reader *r, const struct field *f)
{
	uint64_t n, end;

	if (!number(&f[0], &n) || !seconds(&f[1], &end))
		return -EINVAL;
	r->at.interval = n;
	r->at.end_ns = end;
	r->has_kernel = false;
	return 0;
}

/* 0, -ENOMEM, a sink's; -EINVAL: not understood. */
static int on_line(struct aif_iaprof_reader *r, const char *line, size_t len)
{
	const char *end = line + len, *at = line;
	struct field f[MAX_FIELDS];
	size_t n = 0;
	int r2;

	while (n < MAX_FIELDS) {
		const char *tab = memchr(at, '\t', (size_t)(end - at));

		f[n++] = (struct field){at, (size_t)((tab ? tab : end) - at)};
		if (!tab)
			break;
		at = tab + 1;
	}
	if (is(&f[0], "string") && n >= 3)
		return on_string(r, &f[1], end);
	if (is(&f[0], "interval") && n == 3)
		return on_interval(r, f + 1);
	if (is(&f[0], "kernel") && n == 7)
		return on_kernel(r, f + 1);
	if (is(&f[0], "eustall") && n == 3 + AIF_IAPROF_COUNTS)
		return on_eustall(r, f + 1);
	if (is(&f[0], "metric") && n == 3)
		return on_metric(r, f + 1);
	if (is(&f[0], "e") && n == 5)
		return on_e(r, f + 1);
	r2 = on_state(r, f, n);
	return r2 == -ENOENT ? -EINVAL : r2;
}

/* A sink's own -EINVAL counts as a bad line, too. */
static int end_line(struct aif_iaprof_reader *r, const char *line, size_t len)
{
	int r2 = -EINVAL;

	r->lines++;
	len -= len && line[len - 1] == '\r';
	if (!r->skipping)
		r2 = len ? on_line(r, line, len) : 0;
	r->skipping = false;
	r->good += !r2 && len;
	if (r2 != -EINVAL)
		return r2;
	if (!r->bad++)
		r->first_bad = r->lines;
	return 0;
}

int aif_iaprof_read(struct aif_iaprof_reader *r, const void *bytes, size_t n)
{
	const char *at = bytes, *end = n ? at + n : at;
	int r2 = 0;

	while (at < end && !r2) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((stop ? stop : end) - at);

		if (!r->line.len && stop && !r->skipping) {
			r2 = end_line(r, at, len);
		} else {
			r->skipping |= r->line.len + len > MAX_LINE;
			if (!r->skipping)
				aif_buf_append(&r->line, at, len);
			if (aif_buf_failed(&r->line))
				return -ENOMEM;
			if (stop)
				r2 = end_line(r, (const char *)r->line.data, r->line.len);
			if (stop || r->skipping)
				aif_buf_clear(&r->line);
		}
		at += len + (stop != NULL);
	}
	return r2;
}

int aif_iaprof_read_end(struct aif_iaprof_reader *r)
{
	int r2 = 0;

	if (r->line.len || r->skipping)
		r2 = end_line(r, (const char *)r->line.data, r->line.len);
	aif_buf_finish(&r->line);
	aif_buf_finish(&r->stack);
	aif_strset_finish(&r->texts);
	aif_map_finish(&r->ids);
	return r2;
}

/* ---- writing
 * ------------------------------------------------------------------------------------- */

/* The ID of a text, from 1 on; its line comes first. */
static uint64_t tell(struct aif_iaprof_writer *w, const char *text)
{
	uint32_t id = aif_strset_puts(&w->texts, text ? text : "");

	if (id == AIF_STR_NONE)
		w->out.failed = true;
	if (id == AIF_STR_NONE || id < w->written)
		return (uint64_t)id + 1;
	w->written = (size_t)id + 1;
	aif_buf_printf(&w->out, "string\t%" PRIu64 "\t", (uint64_t)id + 1);
	for (const char *c = text ? text : ""; *c; c++)
		aif_buf_putc(&w->out, *c == '\t' || *c == '\n' || *c == '\r' ? ' ' : *c);
	aif_buf_putc(&w->out, '\n');
	return (uint64_t)id + 1;
}

void aif_iaprof_write_interval(struct aif_iaprof_writer *w, uint64_t interval, uint64_t end_ns)
{
	aif_buf_printf(&w->out, "interval\t%" PRIu64 "\t%" PRIu64 ".%06" PRIu64 "\n", interval,
		       end_ns / AIF_NS_PER_S, end_ns % AIF_NS_PER_S / 1000);
	w->has_kernel = false;
}

void aif_iaprof_write_sample(struct aif_iaprof_writer *w, const struct aif_iaprof_sample *s)
{
	uint64_t names[4] = {tell(w, s->comm), tell(w, s->stack), tell(w, s->file),
			     tell(w, s->symbol)},
		 instruction = tell(w, s->instruction);

	if (!w->has_kernel || w->address != s->address || w->pid != s->pid ||
	    memcmp(w->names, names, sizeof(names)) != 0) {
		aif_buf_printf(&w->out,
			       "kernel\t0x%" PRIx64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
			       "\t%" PRIu64 "\t%" PRIu64 "\n",
			       s->address, names[COMM], s->pid, names[STACK], names[FILE_NAME],
			       names[SYMBOL]);
		memcpy(w->names, names, sizeof(names));
		w->address = s->address;
		w->pid = s->pid;
		w->has_kernel = true;
	}
	aif_buf_printf(&w->out, "eustall\t0x%" PRIx64 "\t%" PRIu64, s->offset, instruction);
	for (unsigned i = 0; i < AIF_IAPROF_COUNTS; i++)
		aif_buf_printf(&w->out, "\t%" PRIu64, s->counts[i]);
	aif_buf_putc(&w->out, '\n');
}

void aif_iaprof_write_metric(struct aif_iaprof_writer *w, const char *name, uint64_t value)
{
	aif_buf_printf(&w->out, "metric\t%s\t%" PRIu64 "\n", name, value);
}

void aif_iaprof_writer_finish(struct aif_iaprof_writer *w)
{
	aif_buf_finish(&w->out);
	aif_strset_finish(&w->texts);
	*w = (struct aif_iaprof_writer){0};
}
