/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/top.h"

#include "base/clock.h"
#include "base/name_sanitize.h"
#include "cmd/command.h"
#include "report/summary/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

/* The last output of the command, which is printed when the screen is left. */
#define TAIL 4096

/* ---- the terminal ---------------------------------------------------------------------------- */

/*
 * The terminal while `top` has it: the alternate screen, no echo, a key at a time. It is as it was before after
 * terminal_leave(), and when the signal of a fault ends the process.
 */
struct terminal {
	int in, out; /* out: standard output */
	bool has_colours, is_utf8;
};

/* Alternate screen, no cursor, no wrapping; and back. */
static const char enter[] = "\033[?1049h\033[?25l\033[?7l\033[2J";
static const char leave[] = "\033[?2026l\033[0m\033[?7h\033[?25h\033[?1049l";

static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP};
static struct sigaction before[sizeof(faults) / sizeof(*faults)];
static struct termios as_it_was, raw;
static volatile sig_atomic_t is_taken;
static int tty = -1;

static void restore(void)
{
	ssize_t n;

	if (!is_taken)
		return;
	is_taken = 0;
	n = write(STDOUT_FILENO, leave, sizeof(leave) - 1);
	(void)n;
	tcsetattr(tty, TCSAFLUSH, &as_it_was);
}

static void on_fault(int number)
{
	restore();
	signal(number, SIG_DFL);
	raise(number); /* which comes when this returns */
}

int aif_top_can_live(struct aif_err *err)
{
	const char *term = getenv("TERM");

	if (!isatty(STDOUT_FILENO))
		return aif_err_set(err, -ENOTTY,
				   "top: standard output is no terminal; use --once, with --format "
				   "json for programs");
	if (!term || !*term || !strcmp(term, "dumb"))
		return aif_err_set(err, -ENOTTY,
				   "top: TERM is %s: a terminal that can place its cursor is "
				   "needed; use --once",
				   term && *term ? term : "not set");
	return 0;
}

static bool is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < AIF_ARRAY_LEN(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

/* May be called twice. */
static void terminal_leave(struct terminal *t)
{
	(void)t;
	if (!is_taken)
		return;
	restore();
	for (size_t i = 0; i < AIF_ARRAY_LEN(faults); i++)
		sigaction(faults[i], &before[i], NULL);
}

/* Takes the terminal. 0 or -errno with *err. */
static int terminal_enter(struct terminal *t, struct aif_err *err)
{
	const char *no_color = getenv("NO_COLOR");
	struct sigaction fault = {.sa_handler = on_fault};
	ssize_t n;

	t->out = STDOUT_FILENO;
	t->in = isatty(STDIN_FILENO) ? STDIN_FILENO
		: tty >= 0           ? tty
				     : open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	t->has_colours = !no_color || !*no_color;
	t->is_utf8 = is_utf8();
	tty = t->in;
	if (tty < 0 || tcgetattr(tty, &as_it_was) < 0)
		return aif_err_set(err, -errno, "top: cannot read keys: %s; use --once",
				   strerror(errno));
	raw = as_it_was;
	raw.c_iflag &= ~(tcflag_t)(BRKINT | ICRNL | INLCR | IGNCR | ISTRIP | IXON);
	raw.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ICANON | IEXTEN | ISIG);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	for (size_t i = 0; i < AIF_ARRAY_LEN(faults); i++)
		sigaction(faults[i], &fault, &before[i]);
	is_taken = 1;
	if (tcsetattr(tty, TCSAFLUSH, &raw) < 0) {
		terminal_leave(t);
		return aif_err_set(err, -errno, "top: cannot set the terminal: %s; use --once",
				   strerror(errno));
	}
	n = write(STDOUT_FILENO, enter, sizeof(enter) - 1);
	(void)n;
	return 0;
}

/* Takes the terminal again after others had it: a shell, while the process was stopped. */
static void terminal_resume(struct terminal *t)
{
	ssize_t n;

	if (!is_taken)
		return;
	tcsetattr(t->in, TCSADRAIN, &raw);
	n = write(t->out, enter, sizeof(enter) - 1);
	(void)n;
}

static void terminal_size(const struct terminal *t, unsigned *ret_columns, unsigned *ret_rows)
{
	struct winsize size = {0};

	if (ioctl(t->out, TIOCGWINSZ, &size) < 0 || !size.ws_col || !size.ws_row)
		size = (struct winsize){.ws_col = 80, .ws_row = 24};
	*ret_columns = size.ws_col;
	*ret_rows = size.ws_row;
}

/* ---- the live view --------------------------------------------------------------------------- */

struct live {
	struct aif_top_session *s;
	struct terminal terminal;
	struct aif_top_ui ui;
	struct aif_screen screen;
	struct aif_buf out;
	int signals;
	sigset_t old_mask;
	bool quit, is_dirty;
	int killed; /* the signal that ends us */
	char tail[TAIL];
	size_t tail_len;
	char why_ended[1100];
};

/* ---- the screen ------------------------------------------------------------------------------ */

static int send_all(int fd, const uint8_t *data, size_t n)
{
	while (n) {
		ssize_t sent = write(fd, data, n);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return -errno;
		data += sent;
		n -= (size_t)sent;
	}
	return 0;
}

static void draw(struct live *l)
{
	unsigned columns, rows;

	l->is_dirty = false;
	terminal_size(&l->terminal, &columns, &rows);
	aif_buf_clear(&l->out);
	if (aif_top_draw(&l->ui, l->s->model, aif_live_profile(l->s->reader), &l->s->info,
			 &l->screen, columns, rows) == 0)
		aif_screen_send(&l->screen, &l->out);
	/* The terminal is gone: there is nobody to show anything to. */
	if (!aif_buf_failed(&l->out) && send_all(l->terminal.out, l->out.data, l->out.len) < 0)
		l->quit = true;
}

static void say(struct live *l, const struct aif_err *err)
{
	snprintf(l->ui.message, sizeof(l->ui.message), "%s", err->text);
}

static void analyse(struct live *l)
{
	struct aif_err err = {0};

	l->is_dirty = true;
	if (!aif_live_profile(l->s->reader))
		return;
	if (aif_top_session_analyse(l->s, l->ui.view, &err) < 0) {
		l->s->model = NULL;
		say(l, &err);
		return;
	}
	if (l->ui.sort != AIF_TOP_BY_TIME)
		aif_top_sort(l->s->model,
			     (struct aif_top_rows *)(uintptr_t)&l->s->model->rows[l->ui.view],
			     l->ui.sort);
}

/* ---- what keys ask for ----------------------------------------------------------------------- */

static void show_callers(struct live *l)
{
	const struct aif_top_row *row = aif_top_selected(&l->ui, l->s->model);
	struct aif_buf text = {0};
	struct aif_err err = {0};
	char title[128];

	if (!row)
		return;
	snprintf(title, sizeof(title), "Who launched %s", aif_top_str(l->s->model, row->name));
	if (aif_top_callers(l->s->top, l->ui.view, row, &text, &err) < 0)
		say(l, &err);
	else
		aif_top_show(&l->ui, title, &text);
	aif_buf_finish(&text);
}

static void show_listing(struct live *l)
{
	const struct aif_top_row *row = aif_top_selected(&l->ui, l->s->model);
	struct aif_buf text = {0};
	struct aif_err err = {0};

	if (!row)
		return;
	if (aif_top_annotate(l->s->top, row, l->screen.columns, &text, &err) < 0)
		say(l, &err);
	else
		aif_top_show(&l->ui, "Instructions and lines with their samples in this window",
			     &text);
	aif_buf_finish(&text);
}

static void show_trouble(struct live *l)
{
	const struct aif_profile *p = aif_live_profile(l->s->reader);
	struct aif_buf text = {0};

	if (p)
		aif_summary_trouble(p, false, "aiflame.data", &text);
	if (!text.len)
		aif_buf_puts(&text, "Nothing was lost, and nothing was refused.\n");
	aif_top_show(&l->ui, "What did not work, or was lost, since the recording began", &text);
	aif_buf_finish(&text);
}

static void save(struct live *l)
{
	struct aif_err err = {0};
	char path[64];
	struct stat st;
	unsigned i = 1;

	if (!aif_live_profile(l->s->reader))
		return;
	do
		snprintf(path, sizeof(path), "aiflame-top-%u.data", i);
	while (i++ < 10000 && lstat(path, &st) == 0);
	if (aif_live_save(l->s->reader, path, NULL, &err) < 0)
		say(l, &err);
	else
		snprintf(l->ui.message, sizeof(l->ui.message), "wrote %s; see: aiflame report %s",
			 path, path);
}

static void freeze(struct live *l)
{
	aif_live_freeze(l->s->reader, l->ui.is_frozen);
}

static void suspend(struct live *l)
{
	terminal_leave(&l->terminal);
	raise(SIGSTOP);
	if (terminal_enter(&l->terminal, NULL) < 0)
		l->quit = true;
	l->screen.is_known = false;
	l->is_dirty = true;
}

static void act(struct live *l, enum aif_top_action action)
{
	l->is_dirty |= action != AIF_TOP_NOTHING;
	switch (action) {
	case AIF_TOP_QUIT:
		l->quit = true;
		break;
	case AIF_TOP_SUSPEND:
		suspend(l);
		break;
	case AIF_TOP_ANALYSE:
		analyse(l);
		break;
	case AIF_TOP_CALLERS:
		show_callers(l);
		break;
	case AIF_TOP_ANNOTATE:
		show_listing(l);
		break;
	case AIF_TOP_TROUBLE:
		show_trouble(l);
		break;
	case AIF_TOP_FREEZE:
		freeze(l);
		break;
	case AIF_TOP_SAVE:
		save(l);
		break;
	case AIF_TOP_NOTHING:
	case AIF_TOP_REDRAW:
		break;
	}
}

/* False: the terminal is gone. */
static bool read_keys(struct live *l)
{
	uint8_t bytes[256];
	ssize_t n = read(l->terminal.in, bytes, sizeof(bytes));
	size_t used;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	for (size_t at = 0; n > 0 && at < (size_t)n && !l->quit; at += used) {
		enum aif_key key = aif_key_next(bytes + at, (size_t)n - at, &used);

		if (key == AIF_KEY_CTRL_L) {
			l->screen.is_known = false;
			l->is_dirty = true;
		} else {
			act(l, aif_top_key(&l->ui, key));
		}
	}
	return n > 0;
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void read_signals(struct live *l)
{
	struct signalfd_siginfo si;

	while (read(l->signals, &si, sizeof(si)) == (ssize_t)sizeof(si))
		switch (si.ssi_signo) {
		case SIGWINCH:
			l->is_dirty = true;
			break;
		case SIGCONT:
			terminal_resume(&l->terminal);
			l->screen.is_known = false;
			l->is_dirty = true;
			break;
		case SIGTSTP:
			suspend(l);
			break;
		default:
			l->killed = (int)si.ssi_signo;
			l->quit = true;
			break;
		}
}

/* Keeps the last bytes that the command wrote. */
static void read_output(struct live *l)
{
	char bytes[TAIL];
	ssize_t n = read(l->s->source.output, bytes, sizeof(bytes));
	size_t keep;

	if (n <= 0) {
		close(l->s->source.output);
		l->s->source.output = -1;
		return;
	}
	keep = AIF_MIN(l->tail_len, TAIL - (size_t)n);
	memmove(l->tail, l->tail + l->tail_len - keep, keep);
	memcpy(l->tail + keep, bytes, (size_t)n);
	l->tail_len = keep + (size_t)n;
}

static void stream_ended(struct live *l, const struct aif_err *err)
{
	close(l->s->source.stream);
	l->s->source.stream = -1;
	snprintf(l->why_ended, sizeof(l->why_ended), "%s; q quits, w writes the window",
		 err->code            ? err->text
		 : *l->s->source.name ? "the recording has ended"
				      : "what was recorded has ended");
	l->ui.ended = l->why_ended;
	l->is_dirty = true;
}

static void read_stream(struct live *l)
{
	struct aif_err err = {0};
	unsigned commits;
	int r = aif_top_session_read(l->s, &commits, &err);

	if (commits && !l->ui.is_frozen) {
		analyse(l);
		if (l->s->model)
			(void)aif_top_note_busy(&l->ui, l->s->model);
	}
	if (r < 0)
		stream_ended(l, &err);
	/* A recording that never began says why when the screen is left. */
	if (r < 0 && ((aif_top_source_said(&l->s->source) && l->s->source.said.err.code) ||
		      !aif_live_profile(l->s->reader)))
		l->quit = true;
}

static int open_signals(struct live *l)
{
	static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGCONT, SIGTSTP};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < AIF_ARRAY_LEN(caught); i++)
		sigaddset(&set, caught[i]);
	sigprocmask(SIG_BLOCK, &set, &l->old_mask);
	l->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return l->signals < 0 ? -errno : 0;
}

static void loop(struct live *l)
{
	draw(l);
	while (!l->quit) {
		struct pollfd fds[] = {{.fd = l->terminal.in, .events = POLLIN},
				       {.fd = l->signals, .events = POLLIN},
				       {.fd = l->s->source.stream, .events = POLLIN},
				       {.fd = l->s->source.output, .events = POLLIN}};

		if (poll(fds, AIF_ARRAY_LEN(fds), -1) < 0 && errno != EINTR)
			break;
		if (fds[1].revents)
			read_signals(l);
		if (fds[0].revents && !l->quit && !read_keys(l))
			l->quit = true;
		if (fds[3].revents)
			read_output(l);
		if (fds[2].revents && !l->quit)
			read_stream(l);
		if (l->is_dirty && !l->quit)
			draw(l);
	}
}

static void print_tail(const struct live *l)
{
	struct aif_buf clean = {0};
	const char *from = l->tail;
	size_t n = l->tail_len;

	/* Not the rest of a line. */
	if (n == TAIL) {
		const char *line = memchr(from, '\n', n);

		n -= line ? (size_t)(line + 1 - from) : 0;
		from = line ? line + 1 : from;
	}
	aif_name_sanitize_lines(from, n, &clean);
	if (clean.len)
		fwrite(clean.data, 1, clean.len, stderr);
	if (clean.len && clean.data[clean.len - 1] != '\n')
		fputc('\n', stderr);
	aif_buf_finish(&clean);
}

int aif_top_live(struct aif_top_session *s, struct aif_err *err)
{
	struct live *l = calloc(1, sizeof(*l));
	int r, killed = 0;

	if (!l) {
		aif_err_set(err, -ENOMEM, "out of memory");
		return AIF_EXIT_FAILURE;
	}
	l->s = s;
	l->ui.view = s->o->view == AIF_TOP_VIEWS ? AIF_TOP_KERNEL : (enum aif_top_view)s->o->view;
	r = open_signals(l);
	if (!r)
		r = terminal_enter(&l->terminal, err);
	else
		aif_err_set(err, r, "signalfd: %s", strerror(-r));
	if (!r) {
		l->screen.has_colours = l->terminal.has_colours;
		l->screen.is_utf8 = l->terminal.is_utf8;
		loop(l);
		terminal_leave(&l->terminal);
		print_tail(l);
		killed = l->killed;
	}
	if (l->signals >= 0)
		close(l->signals);
	sigprocmask(SIG_SETMASK, &l->old_mask, NULL);
	aif_top_ui_finish(&l->ui);
	aif_screen_finish(&l->screen);
	aif_buf_finish(&l->out);
	free(l);
	return r < 0 ? AIF_EXIT_FAILURE : killed ? 128 + killed : AIF_EXIT_OK;
}
