/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/message.h"

#include "base/name_sanitize.h"
#include "record/record.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

void aif_message(const char *fmt, ...)
{
	struct aif_buf shown = {0};
	char *text = NULL;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0)
		return;
	aif_name_sanitize(text, (size_t)len, &shown);
	aif_name_break_orders(&shown, 0);
	fprintf(stderr, "aiflame: %s\n", aif_buf_str(&shown));
	aif_buf_finish(&shown);
	free(text);
}

/* ---- the line of a recording ------------------------------------------------------------------ */

/* True if the command has written something, wherever to, or nobody knows. */
static bool has_written(int pid)
{
	unsigned long long written = 0;
	char path[64], line[128];
	bool known = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/io", pid);
	f = fopen(path, "re");
	while (f && !known && fgets(line, sizeof(line), f))
		known = sscanf(line, "wchar: %llu", &written) == 1;
	if (f)
		fclose(f);
	return !known || written;
}

/* False once the command may have written to the terminal that it shares with the line: from its
 * first output on, or its first child. */
static bool is_terminal_free(const struct aif_live_line *l, const struct aif_record_progress *p)
{
	return !l->shares_terminal || (p->processes <= 1 && !has_written(p->command));
}

/* Returns how much of the text fits into the columns, without its last parts: a line that wraps
 * cannot be cleared. */
static int fit(const char *text, int len, int columns)
{
	while (columns && len >= columns) {
		do
			len--;
		while (len > 0 && text[len] != ',');
	}
	return len;
}

static void draw(const struct aif_live_line *l, const struct aif_record_progress *p)
{
	struct winsize size = {0};
	char text[128];
	int len;

	len = snprintf(text, sizeof(text),
		       "aiflame: %.0f s, %u process%s, %" PRIu64 " launches, %" PRIu64
		       " samples, %.1f MB",
		       (double)p->elapsed_ns / 1e9, p->targets, p->targets == 1 ? "" : "es",
		       p->launches, p->samples, (double)p->bytes / 1e6);
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0)
		size.ws_col = 0;
	if (!l->shares_terminal) /* with the cursor behind the line */
		fprintf(stderr, "\r%.*s \033[K", fit(text, len, size.ws_col ? size.ws_col - 1 : 0),
			text);
	else if (size.ws_col > len)
		/* At the right, and the cursor at the left, where the command will write. */
		fprintf(stderr, "\r\033[K\033[%dG%s\r", size.ws_col - len, text);
	fflush(stderr);
}

void aif_live_line_init(struct aif_live_line *l, bool has_command)
{
	*l = (struct aif_live_line){.is_on = isatty(STDERR_FILENO),
				    .shares_terminal = has_command && isatty(STDOUT_FILENO)};
}

void aif_live_line_progress(void *line, const struct aif_record_progress *p)
{
	struct aif_live_line *l = line;

	if (!l->is_on || (p->is_over && !l->is_drawn))
		return;
	if (!is_terminal_free(l, p)) {
		l->is_on = false;
	} else if (p->is_over) {
		fputs("\r\033[K", stderr);
		l->is_drawn = false;
	} else {
		draw(l, p);
		l->is_drawn = true;
	}
}
