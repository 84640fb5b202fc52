/* SPDX-License-Identifier: Apache-2.0 */
#include "top/draw.h"

#include "base/human.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Rows below which less is shown than all: devices share one line, the head of the table and the keys go. */
#define ROWS_SMALL 12

static const char help[] = "aiflame top: the last seconds of device work, anew each second.\n"
			   "\n"
			   "Tab, Right   next view: kernel, stack, process, stall, idle\n"
			   "Left         view before\n"
			   "1 to 5       that view\n"
			   "Up, Down, j, k, PgUp, PgDn, Home, End   move\n"
			   "s            sort by time, launches, average, name\n"
			   "/            show rows that contain a text; / Enter: all\n"
			   "Enter        who launched the row, with stacks\n"
			   "a            the kernel's instructions and lines (aiflame annotate)\n"
			   "i            what did not work, or was lost\n"
			   "f, Space     freeze and go on\n"
			   "w            write the window as a profile (aiflame-top-N.data)\n"
			   "?, h         this text\n"
			   "Ctrl-L       draw anew        Ctrl-Z   suspend\n"
			   "q, Ctrl-C    quit\n"
			   "\n"
			   "busy      share of the window in which the device ran something\n"
			   "share     of the window's device time; idle: of its idle time\n"
			   "joined    launches whose execution was seen\n"
			   "left out  launches that were not captured, to keep to the overhead\n"
			   "idle      by what the thread did that launched next\n";

int aif_top_note_busy(struct aif_top_ui *ui, const struct aif_top_model *m)
{
	size_t had = ui->history_cap;

	if (aif_grow(&ui->history, &ui->history_cap, m->devices_len, sizeof(*ui->history)) < 0)
		return -ENOMEM;
	if (ui->history_cap > had)
		memset(ui->history + had, 0, (ui->history_cap - had) * sizeof(*ui->history));
	for (size_t i = 0; i < m->devices_len; i++) {
		struct aif_top_busy *b = &ui->history[i];

		if (b->len == AIF_TOP_HISTORY)
			memmove(b->percent, b->percent + 1, --b->len);
		b->percent[b->len++] = (uint8_t)(m->devices[i].busy_ppm / 10000);
	}
	return 0;
}

void aif_top_ui_finish(struct aif_top_ui *ui)
{
	aif_buf_finish(&ui->text);
	aif_buf_finish(&ui->at_name);
	free(ui->history);
	ui->history = NULL;
}

void aif_top_show(struct aif_top_ui *ui, const char *title, struct aif_buf *text)
{
	aif_buf_clear(&ui->text);
	aif_buf_append(&ui->text, text->data, text->len);
	aif_buf_finish(text);
	snprintf(ui->text_title, sizeof(ui->text_title), "%s", title);
	ui->text_first = 0;
	ui->mode = AIF_TOP_TEXT;
}

/* ---- which rows ------------------------------------------------------------------------------ */

static bool keeps(const struct aif_top_ui *ui, const struct aif_top_model *m,
		  const struct aif_top_row *row)
{
	return !*ui->filter || strcasestr(aif_top_str(m, row->name), ui->filter) ||
	       strcasestr(aif_top_str(m, row->detail), ui->filter);
}

static const struct aif_top_row *nth(const struct aif_top_ui *ui, const struct aif_top_model *m,
				     size_t n)
{
	const struct aif_top_rows *rows = &m->rows[ui->view];

	for (size_t i = 0; i < rows->len; i++)
		if (keeps(ui, m, &rows->at[i]) && !n--)
			return &rows->at[i];
	return NULL;
}

const struct aif_top_row *aif_top_selected(const struct aif_top_ui *ui,
					   const struct aif_top_model *m)
{
	return m ? nth(ui, m, ui->selected) : NULL;
}

static bool is_at(struct aif_top_ui *ui, const struct aif_top_model *m,
		  const struct aif_top_row *row)
{
	const char *at = aif_buf_str(&ui->at_name), *name = aif_top_str(m, row->name);
	size_t len = strlen(name);

	return !strncmp(at, name, len) && at[len] == '\n' &&
	       !strcmp(at + len + 1, aif_top_str(m, row->detail));
}

/* Counts the rows, keeps the selection on the row that the user chose, and within the page. */
static void place_rows(struct aif_top_ui *ui, const struct aif_top_model *m, unsigned page)
{
	const struct aif_top_rows *rows = &m->rows[ui->view];
	const struct aif_top_row *row;
	bool is_found = !ui->at_name.len;

	ui->shown = 0;
	for (size_t i = 0; i < rows->len; i++) {
		if (!keeps(ui, m, &rows->at[i]))
			continue;
		if (!is_found && is_at(ui, m, &rows->at[i])) {
			ui->selected = ui->shown;
			is_found = true;
		}
		ui->shown++;
	}
	ui->page = AIF_MAX(page, 1U);
	if (ui->selected >= ui->shown)
		ui->selected = ui->shown ? ui->shown - 1 : 0;
	if (ui->first > ui->selected)
		ui->first = ui->selected;
	if (ui->selected >= ui->first + ui->page)
		ui->first = ui->selected - ui->page + 1;
	if (ui->first + ui->page > ui->shown)
		ui->first = ui->shown > ui->page ? ui->shown - ui->page : 0;
	/* The topmost row stays selected whatever it is; another one is followed. */
	row = ui->selected ? nth(ui, m, ui->selected) : NULL;
	aif_buf_clear(&ui->at_name);
	if (row)
		aif_buf_printf(&ui->at_name, "%s\n%s", aif_top_str(m, row->name),
			       aif_top_str(m, row->detail));
}

/* ---- the top --------------------------------------------------------------------------------- */

static uint32_t colour_of(uint64_t ppm)
{
	return ppm >= 700000 ? AIF_CELL_GREEN : ppm >= 300000 ? AIF_CELL_YELLOW : AIF_CELL_RED;
}

static void draw_title(const struct aif_top_ui *ui, const struct aif_top_model *m,
		       const struct aif_top_info *info, struct aif_screen *s)
{
	char head[96], state[64] = "";
	unsigned at;

	snprintf(head, sizeof(head), "aiflame top  %.1f s of ",
		 m ? (double)(m->to_ns - m->from_ns) / 1e9 : 0.0);
	if (ui->ended)
		snprintf(state, sizeof(state), " ENDED ");
	else if (ui->is_frozen)
		snprintf(state, sizeof(state), " FROZEN ");
	at = aif_screen_put(s, 0, 0, s->columns, AIF_CELL_BOLD, head);
	if (s->columns > at + strlen(state))
		aif_screen_put_elided(s, at, 0, s->columns - at - (unsigned)strlen(state), 0,
				      info->what);
	if (*state && s->columns > strlen(state))
		aif_screen_put(s, s->columns - (unsigned)strlen(state), 0, s->columns,
			       AIF_CELL_REVERSE, state);
}

/* A bar of `width` columns, in brackets. */
static void draw_bar(struct aif_screen *s, unsigned at, unsigned row, unsigned width, uint64_t ppm)
{
	unsigned full = (unsigned)(((uint64_t)(width - 2) * ppm + 500000) / 1000000);

	aif_screen_put(s, at, row, 1, 0, "[");
	for (unsigned i = 0; i < full && i < width - 2; i++)
		aif_screen_put(s, at + 1 + i, row, 1, colour_of(ppm), "|");
	aif_screen_put(s, at + width - 1, row, 1, 0, "]");
}

static void draw_history(struct aif_screen *s, unsigned at, unsigned row, unsigned width,
			 const struct aif_top_busy *b)
{
	static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const plain[] = {" ", ".", ".", ":", ":", "-", "=", "#", "#"};
	size_t n = AIF_MIN((size_t)width, b->len);

	for (size_t i = 0; i < n; i++) {
		unsigned percent = b->percent[b->len - n + i];

		aif_screen_put(s, at + width - (unsigned)n + (unsigned)i, row, 1, AIF_CELL_CYAN,
			       (s->is_utf8 ? blocks : plain)[(percent * 8 + 99) / 100]);
	}
}

static void draw_device(const struct aif_top_ui *ui, const struct aif_top_model *m,
			const struct aif_profile *p, size_t i, struct aif_screen *s, unsigned row)
{
	const struct aif_top_device *d = &m->devices[i];
	unsigned bar = s->columns >= 100 ? 32 : s->columns >= 60 ? 20 : 12, at = 0;
	unsigned history = s->columns >= 120 ? 60 : s->columns >= 70 ? 20 : 0;
	char number[32];
	struct aif_buf text = {0};

	snprintf(number, sizeof(number), "%u ", d->device);
	at += aif_screen_put(s, at, row, 8, AIF_CELL_BOLD, number);
	draw_bar(s, at, row, bar, d->busy_ppm);
	snprintf(number, sizeof(number), " %5.1f %% ", (double)d->busy_ppm / 1e4);
	at += bar;
	at += aif_screen_put(s, at, row, 16, AIF_CELL_BOLD, number);
	aif_top_counters(d, &text);
	if (text.len)
		aif_buf_puts(&text, "  ");
	aif_buf_puts(&text, aif_profile_str(p, p->devices[d->device].name));
	if (s->columns > at + history + 1)
		aif_screen_put_elided(s, at, row, s->columns - at - (history ? history + 1 : 0), 0,
				      aif_buf_str(&text));
	if (history && i < ui->history_cap)
		draw_history(s, s->columns - history, row, history, &ui->history[i]);
	aif_buf_finish(&text);
}

/* Returns the row behind the devices. What does not fit is counted. */
static unsigned draw_devices(const struct aif_top_ui *ui, const struct aif_top_model *m,
			     const struct aif_profile *p, struct aif_screen *s, unsigned row)
{
	size_t most = s->rows < ROWS_SMALL ? 1
		      : s->rows < 24       ? 4
					   : s->rows / 3,
	       n = AIF_MIN(m->devices_len, most);
	char more[64];

	for (size_t i = 0; i < n; i++)
		draw_device(ui, m, p, i, s, row++);
	if (!n)
		aif_screen_put(s, 0, row++, s->columns, AIF_CELL_DIM,
			       "no device was used in this window");
	if (n < m->devices_len && s->rows >= ROWS_SMALL) {
		snprintf(more, sizeof(more), "and %zu more devices: enlarge the terminal",
			 m->devices_len - n);
		aif_screen_put(s, 0, row++, s->columns, AIF_CELL_DIM, more);
	}
	return row;
}

static unsigned draw_quality(const struct aif_top_model *m, const struct aif_top_info *info,
			     struct aif_screen *s, unsigned row)
{
	struct aif_buf text = {0};

	aif_top_quality(m, info, &text);
	aif_buf_puts(&text, "; ");
	aif_top_cost(info, &text);
	aif_screen_put(s, 0, row, s->columns,
		       m->lost + info->missed ? AIF_CELL_YELLOW : AIF_CELL_DIM, aif_buf_str(&text));
	aif_buf_finish(&text);
	return row + 1;
}

/* ---- the table ------------------------------------------------------------------------------- */

static unsigned draw_views(const struct aif_top_ui *ui, struct aif_screen *s, unsigned row)
{
	char sort[96];
	unsigned at = 0;

	for (unsigned v = 0; v < AIF_TOP_VIEWS; v++) {
		char name[24];

		snprintf(name, sizeof(name), " %s ", aif_top_view_name((enum aif_top_view)v));
		at += aif_screen_put(
			s, at, row, s->columns,
			v == ui->view ? AIF_CELL_REVERSE | AIF_CELL_BOLD : AIF_CELL_DIM, name);
	}
	snprintf(sort, sizeof(sort), "  by %s%s%s", aif_top_sort_name(ui->sort),
		 *ui->filter ? "  /" : "", ui->filter);
	if (s->columns > at)
		aif_screen_put(s, at, row, s->columns - at, 0, sort);
	return row + 1;
}

/* Numbers of a row, right in their columns: those that the width has room for. */
static unsigned draw_numbers(struct aif_screen *s, unsigned row, enum aif_top_view v,
			     const char *const cells[4], uint32_t attr)
{
	static const unsigned widths[] = {8, 10, 10, 10};
	unsigned n = v == AIF_TOP_STALL || v == AIF_TOP_IDLE ? 2 : s->columns >= 76 ? 4 : 2, at = 0;

	if (s->columns < 50)
		n = 1;
	for (unsigned i = 0; i < n; i++) {
		size_t len = strlen(cells[i]);

		aif_screen_put(s, at + (len < widths[i] ? widths[i] - (unsigned)len : 0), row,
			       widths[i], attr, cells[i]);
		at += widths[i];
	}
	return at + 1;
}

/* The name has three fifths of the rest, what stands behind it two. Of stacks and narrow terminals there is the name only. */
static void draw_names(struct aif_screen *s, unsigned row, unsigned at, enum aif_top_view v,
		       const char *name, const char *detail, uint32_t attr)
{
	unsigned rest = s->columns > at ? s->columns - at : 0, first = rest * 3 / 5;

	if (v == AIF_TOP_IDLE || v == AIF_TOP_STALL)
		first = AIF_MIN(first, 20U);
	if (v == AIF_TOP_STACK)
		first = rest > 100 ? rest - 30 : rest;
	else if (rest < 40 && v != AIF_TOP_IDLE && v != AIF_TOP_STALL)
		first = rest;
	if (!rest)
		return;
	aif_screen_put_elided(s, at, row, first == rest ? first : first - 1, attr, name);
	if (first < rest)
		aif_screen_put_elided(s, at + first, row, rest - first, attr, detail);
}

static void draw_row(const struct aif_top_ui *ui, const struct aif_top_model *m,
		     const struct aif_top_row *r, struct aif_screen *s, unsigned row, bool selected)
{
	struct aif_buf cells[4] = {0};
	const char *texts[4];
	unsigned at;

	aif_human_share(&cells[0], r->share_ppm);
	if (ui->view == AIF_TOP_STALL)
		aif_human_count(&cells[1], r->samples);
	else
		aif_human_ns(&cells[1], r->ns);
	aif_human_count(&cells[2], r->launches);
	aif_human_ns(&cells[3], r->launches ? r->ns / r->launches : 0);
	for (unsigned i = 0; i < 4; i++)
		texts[i] = aif_buf_str(&cells[i]);
	at = draw_numbers(s, row, ui->view, texts, 0);
	draw_names(s, row, at, ui->view, aif_top_str(m, r->name), aif_top_str(m, r->detail), 0);
	if (selected)
		aif_screen_paint(s, row, AIF_CELL_REVERSE);
	for (unsigned i = 0; i < 4; i++)
		aif_buf_finish(&cells[i]);
}

static void draw_table(struct aif_top_ui *ui, const struct aif_top_model *m, struct aif_screen *s,
		       unsigned row, unsigned end)
{
	const char *const heads[] = {"share", ui->view == AIF_TOP_STALL ? "samples" : "time",
				     "launches", "average"};
	const struct aif_top_row *r;

	if (s->rows >= ROWS_SMALL && row < end) {
		unsigned at = draw_numbers(s, row, ui->view, heads, AIF_CELL_BOLD);

		draw_names(s, row++, at, ui->view, aif_top_name_head(ui->view),
			   aif_top_detail_head(ui->view), AIF_CELL_BOLD);
	}
	place_rows(ui, m, end > row ? end - row : 0);
	for (size_t i = ui->first; row < end && (r = nth(ui, m, i)); i++)
		draw_row(ui, m, r, s, row++, i == ui->selected);
	if (!ui->shown && row < end)
		aif_screen_put(s, 0, row, s->columns, AIF_CELL_DIM,
			       *ui->filter ? "no row contains the text behind /"
					   : aif_top_none(m, ui->view));
}

/* ---- texts, and all of it -------------------------------------------------------------------- */

static size_t lines_of(const struct aif_buf *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->len; i++)
		n += b->data[i] == '\n';
	return n + (b->len && b->data[b->len - 1] != '\n');
}

static void draw_text(struct aif_top_ui *ui, struct aif_screen *s)
{
	size_t lines = lines_of(&ui->text), at = 0;
	unsigned row = 1, end = s->rows > 2 ? s->rows - 1 : s->rows;
	const char *text = aif_buf_str(&ui->text);

	ui->page = end > row ? end - row : 1;
	ui->text_first = AIF_MIN(ui->text_first, lines > ui->page ? lines - ui->page : 0);
	aif_screen_put_elided(s, 0, 0, s->columns, AIF_CELL_BOLD, ui->text_title);
	for (; *text && row < end; at++) {
		size_t len = strcspn(text, "\n");
		struct aif_buf line = {0};

		aif_buf_append(&line, text, len);
		if (at >= ui->text_first)
			aif_screen_put(s, 0, row++, s->columns, 0, aif_buf_str(&line));
		aif_buf_finish(&line);
		text += len + (text[len] == '\n');
	}
	if (s->rows > 2)
		aif_screen_put(s, 0, s->rows - 1, s->columns, AIF_CELL_DIM,
			       lines > ui->page ? "Esc, q: back   Up, Down, PgUp, PgDn: scroll"
						: "Esc, q: back");
}

static void draw_bottom(const struct aif_top_ui *ui, struct aif_screen *s, unsigned row)
{
	char filter[96];

	if (ui->mode == AIF_TOP_FILTER) {
		snprintf(filter, sizeof(filter), "show rows that contain: %s_", ui->filter);
		aif_screen_put(s, 0, row, s->columns, AIF_CELL_BOLD, filter);
	} else if (*ui->message || ui->ended) {
		aif_screen_put(s, 0, row, s->columns, AIF_CELL_BOLD,
			       *ui->message ? ui->message : ui->ended);
	} else {
		aif_screen_put(s, 0, row, s->columns, AIF_CELL_DIM,
			       "q quit  ? help  Tab view  s sort  / find  Enter who  a code  "
			       "f freeze  w write");
	}
}

int aif_top_draw(struct aif_top_ui *ui, const struct aif_top_model *m, const struct aif_profile *p,
		 const struct aif_top_info *info, struct aif_screen *s, unsigned columns,
		 unsigned rows)
{
	unsigned row = 1, end;

	if (aif_screen_begin(s, columns, rows) < 0)
		return -ENOMEM;
	if (ui->mode == AIF_TOP_TEXT) {
		draw_text(ui, s);
		return 0;
	}
	/* The last line may be needed for a message at any size. */
	end = s->rows > 3 ? s->rows - 1 : s->rows;
	draw_title(ui, m, info, s);
	if (m) {
		row = draw_devices(ui, m, p, s, row);
		row = draw_quality(m, info, s, row);
		row = draw_views(ui, s, row);
		draw_table(ui, m, s, row, end);
	} else {
		aif_screen_put(s, 0, row, s->columns, AIF_CELL_DIM,
			       ui->ended ? "" : "waiting for the first second of the recording");
	}
	if (end < s->rows)
		draw_bottom(ui, s, end);
	return 0;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static enum aif_top_action text_key(struct aif_top_ui *ui, enum aif_key key)
{
	size_t page = ui->page;

	switch ((int)key) {
	case AIF_KEY_CTRL_C:
		return AIF_TOP_QUIT;
	case AIF_KEY_CTRL_Z:
		return AIF_TOP_SUSPEND;
	case 'j':
	case AIF_KEY_DOWN:
		ui->text_first++;
		break;
	case 'k':
	case AIF_KEY_UP:
		ui->text_first -= ui->text_first > 0;
		break;
	case ' ':
	case AIF_KEY_PAGE_DOWN:
		ui->text_first += page;
		break;
	case 'b':
	case AIF_KEY_PAGE_UP:
		ui->text_first -= AIF_MIN(ui->text_first, page);
		break;
	case 'g':
	case AIF_KEY_HOME:
		ui->text_first = 0;
		break;
	case 'G':
	case AIF_KEY_END:
		ui->text_first = SIZE_MAX / 2;
		break;
	case 'q':
	case AIF_KEY_ESCAPE:
	case AIF_KEY_ENTER:
	case AIF_KEY_BACKSPACE:
	case AIF_KEY_LEFT:
		ui->mode = AIF_TOP_TABLE;
		break;
	default:
		return AIF_TOP_NOTHING;
	}
	return AIF_TOP_REDRAW;
}

static enum aif_top_action filter_key(struct aif_top_ui *ui, enum aif_key key)
{
	size_t len = strlen(ui->filter);

	if (key == AIF_KEY_CTRL_C)
		return AIF_TOP_QUIT;
	if (key == AIF_KEY_ESCAPE)
		ui->filter[0] = '\0';
	if (key == AIF_KEY_ESCAPE || key == AIF_KEY_ENTER)
		ui->mode = AIF_TOP_TABLE;
	else if (key == AIF_KEY_BACKSPACE && len)
		ui->filter[len - 1] = '\0';
	else if ((int)key >= ' ' && (int)key < 0x7f && len + 1 < sizeof(ui->filter))
		snprintf(ui->filter + len, sizeof(ui->filter) - len, "%c", (char)key);
	aif_buf_clear(&ui->at_name);
	ui->selected = ui->first = 0;
	return AIF_TOP_REDRAW;
}

static enum aif_top_action go_to(struct aif_top_ui *ui, size_t row)
{
	aif_buf_clear(&ui->at_name);
	ui->selected = ui->shown ? AIF_MIN(row, ui->shown - 1) : 0;
	return AIF_TOP_REDRAW;
}

static enum aif_top_action view(struct aif_top_ui *ui, unsigned v)
{
	ui->view = (enum aif_top_view)(v % AIF_TOP_VIEWS);
	go_to(ui, 0);
	ui->first = 0;
	return AIF_TOP_ANALYSE;
}

static enum aif_top_action command_key(struct aif_top_ui *ui, int key)
{
	struct aif_buf text = {0};

	switch (key) {
	case 'q':
	case AIF_KEY_CTRL_C:
		return AIF_TOP_QUIT;
	case AIF_KEY_CTRL_Z:
		return AIF_TOP_SUSPEND;
	case AIF_KEY_TAB:
	case AIF_KEY_RIGHT:
		return view(ui, ui->view + 1U);
	case AIF_KEY_LEFT:
		return view(ui, ui->view + AIF_TOP_VIEWS - 1U);
	case 's':
		ui->sort = (enum aif_top_sort)((ui->sort + 1) % AIF_TOP_SORTS);
		return AIF_TOP_ANALYSE;
	case '/':
		ui->mode = AIF_TOP_FILTER;
		ui->filter[0] = '\0';
		return AIF_TOP_REDRAW;
	case AIF_KEY_ENTER:
		return AIF_TOP_CALLERS;
	case 'a':
		return AIF_TOP_ANNOTATE;
	case 'i':
		return AIF_TOP_TROUBLE;
	case 'f':
	case ' ':
		ui->is_frozen = !ui->is_frozen;
		return AIF_TOP_FREEZE;
	case 'w':
		return AIF_TOP_SAVE;
	case '?':
	case 'h':
		aif_buf_puts(&text, help);
		aif_top_show(ui, "aiflame top: keys", &text);
		return AIF_TOP_REDRAW;
	case AIF_KEY_ESCAPE:
		ui->filter[0] = '\0';
		return AIF_TOP_REDRAW;
	default:
		return AIF_TOP_NOTHING;
	}
}

enum aif_top_action aif_top_key(struct aif_top_ui *ui, enum aif_key key)
{
	if (ui->mode == AIF_TOP_TEXT)
		return text_key(ui, key);
	if (ui->mode == AIF_TOP_FILTER)
		return filter_key(ui, key);
	ui->message[0] = '\0';
	switch ((int)key) {
	case AIF_KEY_UP:
	case 'k':
		return go_to(ui, ui->selected ? ui->selected - 1 : 0);
	case AIF_KEY_DOWN:
	case 'j':
		return go_to(ui, ui->selected + 1);
	case AIF_KEY_PAGE_UP:
		return go_to(ui, ui->selected - AIF_MIN(ui->selected, (size_t)ui->page));
	case AIF_KEY_PAGE_DOWN:
		return go_to(ui, ui->selected + ui->page);
	case AIF_KEY_HOME:
	case 'g':
		return go_to(ui, 0);
	case AIF_KEY_END:
	case 'G':
		return go_to(ui, SIZE_MAX / 2);
	default:
		break;
	}
	if ((int)key >= '1' && (int)key < '1' + AIF_TOP_VIEWS)
		return view(ui, (unsigned)key - '1');
	return command_key(ui, (int)key);
}
