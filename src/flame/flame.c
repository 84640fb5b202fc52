/* SPDX-License-Identifier: Apache-2.0 */
#include "flame/flame.h"

#include "base/open_named.h"
#include "names/filter.h"
#include "flame/folded.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* Says how to get what a suffix asks for that is written by other means: "" where there is none. */
static void say_other_way(const char *path, const char *dot, struct aif_buf *out)
{
	static const char *const pixels[] = {".png", ".jpg", ".jpeg", ".webp", ".gif", ".pdf"};
	bool is_pixels = false;

	for (size_t i = 0; i < AIF_ARRAY_LEN(pixels); i++)
		is_pixels |= !strcasecmp(dot, pixels[i]);
	if (!strcmp(dot, ".html"))
		aif_buf_puts(out, "; a page with the picture in it: aiflame view -o FILE.html");
	else if (is_pixels)
		aif_buf_printf(out,
			       "; write FILE.svg, of which a browser or rsvg-convert makes a "
			       "picture of pixels: rsvg-convert -o %s FILE.svg",
			       path);
}

static int no_format(const char *path, const char *dot, struct aif_err *err)
{
	struct aif_buf way = {0};
	int r;

	if (dot)
		say_other_way(path, dot, &way);
	r = aif_err_set(err, -EINVAL, "%s: the suffix names no format; use .svg, .folded or .txt%s",
			path, aif_buf_str(&way));
	aif_buf_finish(&way);
	return r;
}

int aif_flame_format_of(const char *path, enum aif_flame_format *ret, struct aif_err *err)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');

	if (!strcmp(path, "-") || (dot && !strcmp(dot, ".svg")))
		*ret = AIF_FLAME_SVG;
	else if (dot && (!strcmp(dot, ".folded") || !strcmp(dot, ".txt")))
		*ret = AIF_FLAME_FOLDED;
	else
		return no_format(path, dot, err);
	return 0;
}

bool aif_flame_is_folded(const char *path)
{
	static const char magic[16] = "SQLite format 3";
	char head[sizeof(magic)];
	struct stat st;
	ssize_t n;
	int fd;

	if (!strcmp(path, "-"))
		return true;
	if (stat(path, &st) < 0 || S_ISDIR(st.st_mode))
		return false;
	if (!S_ISREG(st.st_mode))
		return true; /* a pipe: no database, and not to be opened twice */
	fd = aif_open_named(path, NULL);
	if (fd < 0)
		return false;
	n = read(fd, head, sizeof(head));
	close(fd);
	return n >= 0 && (n < (ssize_t)sizeof(head) || memcmp(head, magic, sizeof(head)) != 0);
}

static int tree_read(int fd, const char *name, const struct aif_filter *f, struct aif_tree *t,
		     struct aif_buf *ret_warning, struct aif_err *err)
{
	struct aif_folded_stats stats;
	int r = aif_folded_read(fd, name, t, &stats, err);

	if (r < 0)
		return r;
	r = aif_filter_tree(f, t);
	if (r == 0)
		r = aif_tree_seal(t);
	if (r < 0)
		return aif_err_set(err, r, "%s: %s", name, strerror(-r));
	if (!t->nodes[0].total)
		return aif_err_set(err, -ENODATA, "%s: nothing to draw: %s", name,
				   aif_filter_is_set(f)
					   ? "no stack matches --focus and --ignore; widen "
					     "them"
					   : "all counts are 0");
	aif_folded_warning(&stats, name, ret_warning);
	return 0;
}

int aif_flame_read_folded(const char *path, const char *focus, const char *ignore,
			  struct aif_tree *ret, struct aif_buf *ret_warning, struct aif_err *err)
{
	bool is_stdin = !strcmp(path, "-");
	struct aif_filter f;
	struct aif_tree t = {0};
	int fd = -1, r = aif_filter_init(&f, focus, ignore, err);

	if (r < 0)
		return r;
	fd = is_stdin ? STDIN_FILENO : aif_open_named_or_pipe(path, err);
	if (fd < 0)
		r = fd;
	else if (aif_tree_init(&t, false) < 0)
		r = aif_err_set(err, -ENOMEM, "%s: out of memory", path);
	else
		r = tree_read(fd, is_stdin ? "standard input" : path, &f, &t, ret_warning, err);
	if (fd >= 0 && !is_stdin)
		close(fd);
	aif_filter_finish(&f);
	if (r < 0)
		aif_tree_finish(&t);
	else
		*ret = t;
	return r;
}

int aif_flame_write_bounded(const struct aif_tree *t, enum aif_flame_format format,
			    const struct aif_svg_opts *svg, const char *path, uint64_t max_bytes,
			    struct aif_err *err)
{
	struct aif_out out;
	int r = aif_out_open(&out, path, err);

	if (r < 0)
		return r;
	out.max = max_bytes;
	if (format == AIF_FLAME_FOLDED)
		aif_folded_write(t, &out);
	else
		r = aif_svg_write(t, svg, &out);
	if (r < 0) {
		aif_out_abort(&out);
		return aif_err_set(err, r, "%s: %s", path, strerror(-r));
	}
	return aif_out_commit(&out, err);
}
