/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scratch.h"
#include "export/timeline.h"
#include "text/proto.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/*
 * A log directory that TensorBoard's profile plug-in (XProf) opens: plugins/profile/RUN/HOST.xplane.pb, a serialized
 * tensorflow.profiler.XSpace (openxla, xplane.proto). A device is a plane `/device:GPU:N`, the threads that launched are
 * lines of `/host:CPU`, with their operators, ranges and calls. A plane's length stands before it, so it is held in memory, about 30 bytes an event.
 */
enum { XSPACE_PLANES = 1, XSPACE_HOSTNAMES = 4 };
enum {
	XPLANE_ID = 1,
	XPLANE_NAME = 2,
	XPLANE_LINES = 3,
	XPLANE_EVENT_METADATA = 4,
	XPLANE_STAT_METADATA = 5
};
enum {
	XLINE_ID = 1,
	XLINE_NAME = 2,
	XLINE_TIMESTAMP_NS = 3,
	XLINE_EVENTS = 4,
	XLINE_DURATION_PS = 9
};
enum { XEVENT_METADATA_ID = 1, XEVENT_OFFSET_PS = 2, XEVENT_DURATION_PS = 3, XEVENT_STATS = 4 };
enum { STAT_CORRELATION = 1, STAT_BYTES, STAT_COUNT };

#define NO_CORRELATION UINT64_MAX

struct tensorboard {
	struct aif_timeline_walk t;
	struct aif_map names; /* of a plane: name in the tree -> its metadata's number, from 1 */
	uint32_t *used;       /* these names, by number */
	size_t used_len, used_cap;
	uint32_t *op_names; /* by string of the profile: name + 1 in the tree, 0 not known yet */
	uint32_t planes;    /* of devices, until now */
	size_t plane, line; /* where they begin */
};

static void plane_begin(struct tensorboard *w, uint32_t id, const char *name)
{
	static const char *const stats[STAT_COUNT] = {NULL, "correlation_id", "bytes_transferred"};

	w->plane = aif_proto_begin(w->t.b, XSPACE_PLANES);
	aif_proto_u64(w->t.b, XPLANE_ID, id);
	aif_proto_text(w->t.b, XPLANE_NAME, name);
	for (unsigned i = 1; i < STAT_COUNT; i++) {
		size_t entry = aif_proto_begin_small(w->t.b, XPLANE_STAT_METADATA), value;

		aif_proto_u64(w->t.b, 1, i);
		value = aif_proto_begin_small(w->t.b, 2);
		aif_proto_u64(w->t.b, 1, i);
		aif_proto_text(w->t.b, 2, stats[i]);
		aif_proto_end_small(w->t.b, value);
		aif_proto_end_small(w->t.b, entry);
	}
	aif_map_finish(&w->names); /* not cleared, at the cost of the widest plane before */
	w->used_len = 0;
}

/* With the names that its events had. */
static void plane_end(struct tensorboard *w)
{
	for (size_t i = 0; i < w->used_len; i++) {
		size_t entry = aif_proto_begin(w->t.b, XPLANE_EVENT_METADATA), value, len;
		const char *text = aif_tree_text(&w->t.stacks.tree, w->used[i], &len);

		aif_proto_u64(w->t.b, 1, i + 1);
		value = aif_proto_begin(w->t.b, 2);
		aif_proto_u64(w->t.b, 1, i + 1);
		aif_proto_string(w->t.b, 2, text, len);
		aif_proto_end(w->t.b, value);
		aif_proto_end(w->t.b, entry);
	}
	aif_proto_end(w->t.b, w->plane);
	aif_out_flush_if_full(w->t.out);
}

/* 0 when memory runs out. */
static uint64_t metadata_of(struct tensorboard *w, uint32_t name)
{
	uint64_t i;

	if (aif_map_get(&w->names, name, &i))
		return i;
	if (aif_grow(&w->used, &w->used_cap, w->used_len + 1, sizeof(*w->used)) < 0 ||
	    aif_map_put(&w->names, name, w->used_len + 1) < 0)
		return 0;
	w->used[w->used_len++] = name;
	return w->used_len;
}

/* *name is finished. */
static void line_begin(struct tensorboard *w, uint32_t id, struct aif_buf *name)
{
	w->line = aif_proto_begin(w->t.b, XPLANE_LINES);
	aif_proto_u64(w->t.b, XLINE_ID, id);
	aif_proto_text(w->t.b, XLINE_NAME, aif_buf_str(name));
	aif_buf_finish(name);
	aif_proto_u64(w->t.b, XLINE_TIMESTAMP_NS,
		      aif_export_unix_start(w->t.p) + (uint64_t)w->t.events.start_ns);
}

static void stat_put(struct tensorboard *w, unsigned id, uint64_t v)
{
	size_t at = aif_proto_begin_small(w->t.b, XEVENT_STATS);

	aif_proto_u64(w->t.b, 1, id);
	aif_proto_u64(w->t.b, 3, v);
	aif_proto_end_small(w->t.b, at);
}

/* ns as ps; what 64 bits cannot say is as much as they can. */
static uint64_t picoseconds(uint64_t ns)
{
	return ns > INT64_MAX / 1000 ? INT64_MAX : ns * 1000;
}

static int event_put(struct tensorboard *w, uint32_t name, int64_t at, uint64_t dur,
		     uint64_t correlation, uint64_t bytes)
{
	uint64_t metadata = metadata_of(w, name);
	size_t event = aif_proto_begin_small(w->t.b, XLINE_EVENTS);

	aif_proto_u64(w->t.b, XEVENT_METADATA_ID, metadata);
	aif_proto_u64(w->t.b, XEVENT_OFFSET_PS, picoseconds((uint64_t)(at - w->t.events.start_ns)));
	aif_proto_u64(w->t.b, XEVENT_DURATION_PS, picoseconds(dur));
	if (correlation != NO_CORRELATION)
		stat_put(w, STAT_CORRELATION, correlation);
	if (bytes)
		stat_put(w, STAT_BYTES, bytes);
	aif_proto_end_small(w->t.b, event);
	return metadata ? 0 : -ENOMEM;
}

static int device_put(struct aif_timeline_walk *t, uint32_t device)
{
	struct tensorboard *w = (struct tensorboard *)t;
	struct aif_buf name = {0};

	(void)device;
	aif_buf_printf(&name, "/device:GPU:%u", w->planes++);
	plane_begin(w, w->planes, aif_buf_str(&name));
	aif_buf_finish(&name);
	return 0;
}

static int device_end(struct aif_timeline_walk *t, uint32_t device)
{
	(void)device;
	plane_end((struct tensorboard *)t);
	return 0;
}

static int track_put(struct aif_timeline_walk *t, uint32_t track)
{
	struct aif_buf name = {0};

	aif_event_track_name(t->p, &t->events.tracks[track], &name);
	line_begin((struct tensorboard *)t, track + 1, &name);
	return 0;
}

static int line_end(struct aif_timeline_walk *t, uint32_t of)
{
	(void)of;
	aif_proto_end(t->b, ((struct tensorboard *)t)->line);
	return 0;
}

static int exec_put(struct aif_timeline_walk *t, const struct aif_event_exec *x)
{
	uint32_t name;

	if (aif_timeline_exec_name(t, x, &name) < 0)
		return -ENOMEM;
	return event_put((struct tensorboard *)t, name, x->start, x->dur,
			 x->by == AIF_NONE ? x->launch : x->by, x->bytes);
}

/* Writes when nothing was captured: a line of its own beside the streams. */
static int gaps_put(struct aif_timeline_walk *t, uint32_t track, const struct aif_gap *gaps,
		    size_t n)
{
	struct tensorboard *w = (struct tensorboard *)t;
	uint32_t text = aif_tree_name(&t->stacks.tree, AIF_TREE_SYNTHETIC, AIF_EVENT_GAP,
				      strlen(AIF_EVENT_GAP));
	struct aif_buf name = {0};
	int r = 0;

	if (text == AIF_STR_NONE)
		return -ENOMEM;
	aif_event_gaps_name(t->p, &t->events.tracks[track], &name);
	line_begin(w, (uint32_t)t->events.tracks_len + track + 1, &name);
	for (size_t i = 0; i < n && !r; i++)
		r = event_put(w, text, (int64_t)gaps[i].start, gaps[i].end - gaps[i].start,
			      NO_CORRELATION, 0);
	line_end(t, track);
	return r;
}

/* ---- threads of programs ------------------------------------------------------------------------- */

static int calls_put(struct aif_timeline_walk *t, uint32_t thread)
{
	struct aif_buf name = {0};

	aif_export_thread_name(t->p, thread, &name);
	line_begin((struct tensorboard *)t, thread == AIF_NONE ? 0 : thread + 1, &name);
	return 0;
}

static int launch_put(struct aif_timeline_walk *t, uint32_t i, int64_t end)
{
	const struct aif_event_launch *l = &t->events.launches[i];
	uint32_t node = aif_host_stacks_node(&t->stacks, l->stack), name;

	if (!node || aif_timeline_launch_name(t, l, node, &name) < 0)
		return -ENOMEM;
	return event_put((struct tensorboard *)t, name, l->time, (uint64_t)(end - l->time), i, 0);
}

static int op_put(struct aif_timeline_walk *t, const struct aif_event_op *o, int64_t end)
{
	struct tensorboard *w = (struct tensorboard *)t;
	uint32_t string = AIF_MIN(o->name, (uint32_t)t->p->strings.len), name;
	const char *text = o->name == AIF_NONE ? "?" : aif_profile_str(t->p, o->name);

	if (!w->op_names[string]) {
		name = aif_tree_name(&t->stacks.tree, AIF_TREE_CXX, text, strlen(text));
		if (name == AIF_STR_NONE)
			return -ENOMEM;
		w->op_names[string] = name + 1;
	}
	return event_put(w, w->op_names[string] - 1, o->start, (uint64_t)(end - o->start),
			 o->launch == AIF_NONE ? NO_CORRELATION : o->launch, 0);
}

/* ---- all ----------------------------------------------------------------------------------------- */

static int begin(struct aif_timeline_walk *t)
{
	struct tensorboard *w = (struct tensorboard *)t;

	w->op_names = calloc(t->p->strings.len + 1, sizeof(*w->op_names));
	return w->op_names ? 0 : -ENOMEM;
}

/* Threads are lines of one plane. */
static int pass_begin(struct aif_timeline_walk *t, unsigned parts)
{
	if (parts & AIF_TIMELINE_OPS)
		plane_begin((struct tensorboard *)t, (uint32_t)t->events.tracks_len + 1,
			    "/host:CPU");
	return 0;
}

static int pass_end(struct aif_timeline_walk *t, unsigned parts)
{
	if (parts & AIF_TIMELINE_OPS)
		plane_end((struct tensorboard *)t);
	return 0;
}

static int end(struct aif_timeline_walk *t)
{
	aif_proto_text(t->b, XSPACE_HOSTNAMES, aif_profile_meta(t->p, "host"));
	return 0;
}

/* Events of a line lie in each other. */
static const struct aif_timeline_sink sink = {
	.passes = {AIF_TIMELINE_DEVICES | AIF_TIMELINE_EXECS,
		   AIF_TIMELINE_OPS | AIF_TIMELINE_LAUNCHES},
	.is_nested = true,
	.begin = begin,
	.pass_begin = pass_begin,
	.pass_end = pass_end,
	.end = end,
	.device = device_put,
	.device_end = device_end,
	.gaps = gaps_put,
	.track = track_put,
	.track_end = line_end,
	.exec = exec_put,
	.calls = calls_put,
	.calls_end = line_end,
	.launch = launch_put,
	.op = op_put,
};

static int space_write(const struct aif_export *x, struct aif_out *out, struct aif_err *err)
{
	struct tensorboard w = {0};
	int r = aif_timeline_write(&w.t, &sink, x, out, err);

	aif_timeline_finish(&w.t);
	aif_map_finish(&w.names);
	free(w.used);
	free(w.op_names);
	return r;
}

/* ---- the directory ------------------------------------------------------------------------------- */

/* Returns the length of the part of the path that is there: of all of it, or of the directories above. */
static size_t existing_len(const char *dir)
{
	size_t len = strlen(dir);
	char *part = strdup(dir);

	while (part && len && access(part, F_OK) < 0) {
		while (len && part[len - 1] != '/') /* the last name, then the slash before it */
			len--;
		while (len && part[len - 1] == '/')
			len--;
		part[len] = 0;
	}
	free(part);
	return part ? len : strlen(dir);
}

/* The path and each directory on the way from `from` on. */
static int directories_make(char *path, size_t from, struct aif_err *err)
{
	for (size_t i = from;; i++) {
		char c = path[i];

		if (c && c != '/')
			continue;
		path[i] = 0;
		if (mkdir(path, 0777) < 0 && errno != EEXIST)
			return aif_err_set(err, -errno,
					   "%s: cannot be made: %s; choose another directory", path,
					   strerror(errno));
		path[i] = c;
		if (!c)
			return 0;
	}
}

/* After a failure: those of the file's path that are empty, but for its first bytes. */
static void directories_remove(struct aif_buf *path, size_t keep)
{
	char *text = (char *)(uintptr_t)aif_buf_str(path), *slash;

	while ((slash = strrchr(text, '/')) != NULL && (size_t)(slash - text) > keep) {
		*slash = 0;
		if (rmdir(text) < 0)
			break;
	}
}

/* Puts into or takes from *s the path's directories that are removed while its file is not there: all but its first
 * `keep` bytes. */
static void directories_scratch(struct aif_scratch *s, const struct aif_buf *path, size_t keep,
				void (*change)(struct aif_scratch *, const char *))
{
	struct aif_buf part = {0};

	for (size_t i = 1; i < path->len; i++) {
		if (i <= keep || path->data[i] != '/')
			continue;
		aif_buf_clear(&part);
		aif_buf_append(&part, path->data, i);
		change(s, aif_buf_str(&part));
	}
	aif_buf_finish(&part);
}

/* A host's name becomes part of a file's. */
static void host_put_name(const struct aif_profile *p, struct aif_buf *path)
{
	const char *host = aif_profile_meta(p, "host");
	size_t i = 0;

	for (; host[i] && i < 64; i++)
		aif_buf_putc(path,
			     host[i] == '/' || host[i] == '.' || host[i] < '!' || host[i] > '~'
				     ? '_'
				     : host[i]);
	if (!i)
		aif_buf_puts(path, "host");
}

static int tensorboard_write(const struct aif_export *x, const char *dir, struct aif_err *err)
{
	time_t start = (time_t)(aif_export_unix_start(x->profile) / AIF_NS_PER_S);
	struct aif_buf path = {0};
	struct tm tm = {0};
	char run[32] = "run";
	size_t keep = existing_len(dir);
	int r;

	if (!strcmp(dir, "-"))
		return aif_err_set(err, -EINVAL,
				   "export: tensorboard is a log directory, which standard output "
				   "cannot be; name one with -o");
	if (gmtime_r(&start, &tm))
		strftime(run, sizeof(run), "%Y_%m_%d_%H_%M_%S", &tm);
	aif_buf_printf(&path, "%s/plugins/profile/%s", dir, run);
	r = aif_buf_failed(&path) ? aif_err_set(err, -ENOMEM, "export: out of memory")
				  : directories_make((char *)(uintptr_t)aif_buf_str(&path),
						     AIF_MAX(keep, (size_t)1), err);
	if (!r) {
		aif_buf_putc(&path, '/');
		host_put_name(x->profile, &path);
		aif_buf_puts(&path, ".xplane.pb");
	}
	directories_scratch(x->scratch, &path, keep, aif_scratch_put);
	if (!r)
		r = aif_export_file(x, aif_buf_str(&path), false, space_write, err);
	directories_scratch(x->scratch, &path, keep, aif_scratch_take);
	if (r)
		directories_remove(&path, keep);
	aif_buf_finish(&path);
	return r;
}

const struct aif_exporter aif_exporter_tensorboard = {
	.name = "tensorboard",
	.output = "aiflame-tensorboard",
	.suffixes = "",
	.write_path = tensorboard_write,
};
