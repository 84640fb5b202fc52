/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scratch.h"
#include "export/event_ops.h"
#include "export/exporter.h"
#include "export/host_stacks.h"
#include "export/proto.h"

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
/* As in Trace Event JSON: the end of a call is not recorded. */
#define CALL_NS 1000

struct tensorboard {
	const struct aif_export *x;
	const struct aif_profile *p;
	struct aif_out *out;
	struct aif_buf *b;
	struct aif_events events;
	struct aif_event_ops ops;
	struct aif_host_stacks stacks;
	struct aif_map names; /* of a plane: name in the tree -> its metadata's number, from 1 */
	uint32_t *used;       /* these names, by number */
	size_t used_len, used_cap;
	uint32_t *op_names; /* by string of the profile: name + 1 in the tree, 0 not known yet */
	int64_t *ends;      /* of what is open on a line */
	size_t ends_cap;
	uint32_t *
		names_of; /* of executions' kernels, then kinds: name + 1 in the tree, 0 not known yet */
	size_t plane;
	uint64_t given; /* events: operators, launches and executions */
};

static void plane_begin(struct tensorboard *w, uint32_t id, const char *name)
{
	static const char *const stats[STAT_COUNT] = {NULL, "correlation_id", "bytes_transferred"};

	w->plane = aif_proto_begin(w->b, XSPACE_PLANES);
	aif_proto_u64(w->b, XPLANE_ID, id);
	aif_proto_text(w->b, XPLANE_NAME, name);
	for (unsigned i = 1; i < STAT_COUNT; i++) {
		size_t entry = aif_proto_begin_small(w->b, XPLANE_STAT_METADATA), value;

		aif_proto_u64(w->b, 1, i);
		value = aif_proto_begin_small(w->b, 2);
		aif_proto_u64(w->b, 1, i);
		aif_proto_text(w->b, 2, stats[i]);
		aif_proto_end_small(w->b, value);
		aif_proto_end_small(w->b, entry);
	}
	aif_map_finish(&w->names); /* not cleared, at the cost of the widest plane before */
	w->used_len = 0;
}

/* With the names that its events had. */
static void plane_end(struct tensorboard *w)
{
	for (size_t i = 0; i < w->used_len; i++) {
		size_t entry = aif_proto_begin(w->b, XPLANE_EVENT_METADATA), value, len;
		const char *text = aif_tree_text(&w->stacks.tree, w->used[i], &len);

		aif_proto_u64(w->b, 1, i + 1);
		value = aif_proto_begin(w->b, 2);
		aif_proto_u64(w->b, 1, i + 1);
		aif_proto_string(w->b, 2, text, len);
		aif_proto_end(w->b, value);
		aif_proto_end(w->b, entry);
	}
	aif_proto_end(w->b, w->plane);
	aif_out_flush_if_full(w->out);
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

static size_t line_begin(struct tensorboard *w, uint32_t id, const char *name)
{
	size_t at = aif_proto_begin(w->b, XPLANE_LINES);

	aif_proto_u64(w->b, XLINE_ID, id);
	aif_proto_text(w->b, XLINE_NAME, name);
	aif_proto_u64(w->b, XLINE_TIMESTAMP_NS,
		      aif_export_unix_start(w->p) + (uint64_t)w->events.start_ns);
	return at;
}

static void stat_put(struct tensorboard *w, unsigned id, uint64_t v)
{
	size_t at = aif_proto_begin_small(w->b, XEVENT_STATS);

	aif_proto_u64(w->b, 1, id);
	aif_proto_u64(w->b, 3, v);
	aif_proto_end_small(w->b, at);
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
	size_t event = aif_proto_begin_small(w->b, XLINE_EVENTS);

	aif_proto_u64(w->b, XEVENT_METADATA_ID, metadata);
	aif_proto_u64(w->b, XEVENT_OFFSET_PS, picoseconds((uint64_t)(at - w->events.start_ns)));
	aif_proto_u64(w->b, XEVENT_DURATION_PS, picoseconds(dur));
	if (correlation != NO_CORRELATION)
		stat_put(w, STAT_CORRELATION, correlation);
	if (bytes)
		stat_put(w, STAT_BYTES, bytes);
	aif_proto_end_small(w->b, event);
	return metadata ? 0 : -ENOMEM;
}

static int exec_name(struct tensorboard *w, const struct aif_event_exec *x, uint32_t *ret)
{
	uint32_t kind = AIF_MIN(x->kind, (uint32_t)AIF_LAUNCH_KIND_COUNT - 1);
	uint32_t *known = &w->names_of[x->kind == AIF_LAUNCH_KERNEL && x->kernel != AIF_NONE
					       ? x->kernel
					       : w->p->kernels_len + kind];
	struct aif_frame_label l;

	if (!*known) {
		if (aif_frame_labels_kernel(w->stacks.labels, x->kernel, x->kind, &l) < 0)
			return -ENOMEM;
		*known = l.name + 1;
	}
	*ret = *known - 1;
	return 0;
}

static int track_put(struct tensorboard *w, uint32_t track)
{
	const struct aif_event_track *t = &w->events.tracks[track];
	struct aif_buf name = {0};
	size_t line;
	int r = 0;

	aif_event_track_name(w->p, t, &name);
	line = line_begin(w, track + 1, aif_buf_str(&name));
	aif_buf_finish(&name);
	for (size_t i = t->first; i < t->first + t->len && !r; i++) {
		const struct aif_event_exec *x = &w->events.execs[i];
		uint32_t text;

		r = exec_name(w, x, &text);
		if (!r)
			r = event_put(w, text, x->start, x->dur,
				      x->by == AIF_NONE ? x->launch : x->by, x->bytes);
	}
	aif_proto_end(w->b, line);
	return r;
}

/* When nothing was captured: a line of its own beside the streams. */
static int gaps_put(struct tensorboard *w, uint32_t track)
{
	const struct aif_event_track *t = &w->events.tracks[track];
	struct aif_buf name = {0};
	size_t n, line;
	const struct aif_gap *gaps = aif_event_gaps(&w->events, t->process, &n);
	uint32_t text;
	int r = 0;

	if (!n)
		return 0;
	text = aif_tree_name(&w->stacks.tree, AIF_TREE_MARK, AIF_EVENT_GAP, strlen(AIF_EVENT_GAP));
	if (text == AIF_STR_NONE)
		return -ENOMEM;
	aif_event_gaps_name(w->p, t, &name);
	line = line_begin(w, (uint32_t)w->events.tracks_len + track + 1, aif_buf_str(&name));
	aif_buf_finish(&name);
	for (size_t i = 0; i < n && !r; i++)
		r = event_put(w, text, (int64_t)gaps[i].start, gaps[i].end - gaps[i].start,
			      NO_CORRELATION, 0);
	aif_proto_end(w->b, line);
	return r;
}

static int devices_put(struct tensorboard *w)
{
	const struct aif_events *e = &w->events;
	uint32_t planes = 0;
	int r = 0;

	for (uint32_t i = 0; i < e->tracks_len && !r; planes++) {
		uint32_t device = e->tracks[i].device;
		struct aif_buf name = {0};

		aif_buf_printf(&name, "/device:GPU:%u", planes);
		plane_begin(w, planes + 1, aif_buf_str(&name));
		aif_buf_finish(&name);
		for (; i < e->tracks_len && e->tracks[i].device == device && !r; i++) {
			w->given += e->tracks[i].len;
			if (aif_event_track_has_gaps(e, i))
				r = gaps_put(w, i);
			if (!r)
				r = track_put(w, i);
		}
		plane_end(w);
	}
	return r;
}

/* ---- threads of programs ------------------------------------------------------------------------- */

static int launch_put(struct tensorboard *w, uint32_t i, int64_t end)
{
	const struct aif_event_launch *l = &w->events.launches[i];
	uint32_t node = aif_host_stacks_node(&w->stacks, l->stack), name;
	struct aif_frame_label label;

	if (!node)
		return -ENOMEM;
	name = w->stacks.nodes[node].name;
	if (aif_host_type(&w->stacks, node) != AIF_TREE_API) {
		if (aif_frame_labels_kernel(w->stacks.labels, l->kernel, l->kind, &label) < 0)
			return -ENOMEM;
		name = label.name;
	}
	return event_put(w, name, l->time, (uint64_t)(end - l->time), i, 0);
}

static int op_put(struct tensorboard *w, const struct aif_event_op *o, int64_t end)
{
	uint32_t string = AIF_MIN(o->name, (uint32_t)w->p->strings.len), name;
	const char *text = o->name == AIF_NONE ? "?" : aif_profile_str(w->p, o->name);

	if (!w->op_names[string]) {
		name = aif_tree_name(&w->stacks.tree, AIF_TREE_CXX, text, strlen(text));
		if (name == AIF_STR_NONE)
			return -ENOMEM;
		w->op_names[string] = name + 1;
	}
	return event_put(w, w->op_names[string] - 1, o->start, (uint64_t)(end - o->start),
			 o->launch == AIF_NONE ? NO_CORRELATION : o->launch, 0);
}

/* The next ones that are drawn: a launch whose call is known is drawn as that. */
static size_t next_op(const struct tensorboard *w, size_t i)
{
	while (i < w->ops.len && !aif_event_op_is_shown(&w->ops.ops[i], &w->events))
		i++;
	return i;
}
static size_t next_launch(const struct tensorboard *w, size_t i)
{
	while (i < w->events.launches_len &&
	       (!w->events.launches[i].is_kept || w->ops.calls[i] != AIF_NONE))
		i++;
	return i;
}

/* When the thread's next event begins: INT64_MAX where there is none. */
static int64_t op_time(const struct tensorboard *w, size_t i, uint32_t thread)
{
	return i < w->ops.len && w->ops.ops[i].thread == thread ? w->ops.ops[i].start : INT64_MAX;
}
static int64_t launch_time(const struct tensorboard *w, size_t i, uint32_t thread)
{
	return i < w->events.launches_len && w->events.launches[i].thread == thread
		       ? w->events.launches[i].time
		       : INT64_MAX;
}

/* Events of a line lie in each other: what runs on beyond what it began in is cut there. */
static int line_put(struct tensorboard *w, uint32_t thread, size_t *op, size_t *launch)
{
	size_t depth = 0;
	int r = 0;

	for (;;) {
		int64_t of_op = op_time(w, *op, thread),
			of_launch = launch_time(w, *launch, thread),
			start = AIF_MIN(of_op, of_launch), end;
		bool is_op = of_op <= of_launch;
		size_t at = is_op ? *op : *launch;

		if (start == INT64_MAX || r)
			return r;
		while (depth && w->ends[depth - 1] <= start)
			depth--;
		if (is_op) {
			*op = next_op(w, at + 1);
			end = aif_event_op_end(&w->ops.ops[at]);
		} else {
			*launch = next_launch(w, at + 1);
			end = AIF_MIN(op_time(w, *op, thread), launch_time(w, *launch, thread));
			end = AIF_MIN(end, start + CALL_NS);
		}
		if (depth)
			end = AIF_MIN(end, w->ends[depth - 1]);
		if (is_op && aif_grow(&w->ends, &w->ends_cap, depth + 1, sizeof(*w->ends)) < 0)
			return -ENOMEM;
		if (is_op)
			w->ends[depth++] = end;
		w->given++;
		r = is_op ? op_put(w, &w->ops.ops[at], end) : launch_put(w, (uint32_t)at, end);
	}
}

static int host_put(struct tensorboard *w)
{
	const struct aif_events *e = &w->events;
	size_t op = next_op(w, 0), launch = next_launch(w, 0);
	int r = 0;

	plane_begin(w, (uint32_t)e->tracks_len + 1, "/host:CPU");
	while ((op < w->ops.len || launch < e->launches_len) && !r) {
		uint32_t of_op = op < w->ops.len ? w->ops.ops[op].thread : AIF_NONE,
			 of_launch =
				 launch < e->launches_len ? e->launches[launch].thread : AIF_NONE,
			 thread = AIF_MIN(of_op, of_launch);
		struct aif_buf name = {0};
		size_t line;

		aif_export_thread_name(w->p, thread, &name);
		line = line_begin(w, thread == AIF_NONE ? 0 : thread + 1, aif_buf_str(&name));
		aif_buf_finish(&name);
		r = line_put(w, thread, &op, &launch);
		aif_proto_end(w->b, line);
	}
	plane_end(w);
	return r;
}

static int write_space(const struct aif_export *x, struct aif_out *out, struct aif_err *err)
{
	struct tensorboard w = {.x = x, .p = x->profile, .out = out, .b = aif_out_buf(out)};
	int r = aif_host_stacks_init(&w.stacks, w.p, x->detail);

	w.names_of = calloc(w.p->kernels_len + AIF_LAUNCH_KIND_COUNT, sizeof(*w.names_of));
	w.op_names = calloc(w.p->strings.len + 1, sizeof(*w.op_names));
	if (!r && (!w.names_of || !w.op_names))
		r = -ENOMEM;
	if (!r)
		r = aif_events_init(&w.events, x, err);
	if (!r)
		r = aif_event_ops_init(&w.ops, &w.events, x);
	if (!r)
		r = devices_put(&w);
	if (!r)
		r = host_put(&w);
	if (!r)
		r = aif_export_is_captured_only(x);
	if (!r && !w.given)
		r = aif_export_nothing(err);
	aif_proto_text(w.b, XSPACE_HOSTNAMES, aif_profile_meta(w.p, "host"));
	aif_event_ops_finish(&w.ops);
	aif_events_finish(&w.events);
	aif_host_stacks_finish(&w.stacks);
	aif_map_finish(&w.names);
	free(w.used);
	free(w.op_names);
	free(w.ends);
	free(w.names_of);
	return r == -ENOMEM ? aif_err_set(err, r, "export: out of memory") : r;
}

/* ---- the directory ------------------------------------------------------------------------------- */

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

/* Those of the path that are ours to remove, as long as its file is not there. */
static void directories_tell(struct aif_scratch *s, const struct aif_buf *path, size_t keep,
			     void (*tell)(struct aif_scratch *, const char *))
{
	struct aif_buf part = {0};

	for (size_t i = 1; i < path->len; i++) {
		if (i <= keep || path->data[i] != '/')
			continue;
		aif_buf_clear(&part);
		aif_buf_append(&part, path->data, i);
		tell(s, aif_buf_str(&part));
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
	struct aif_out out;
	struct tm tm = {0};
	char run[32] = "run";
	size_t keep;
	bool is_new = access(dir, F_OK) < 0;
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
						     AIF_MAX(strlen(dir), (size_t)1), err);
	if (!r) {
		aif_buf_putc(&path, '/');
		host_put_name(x->profile, &path);
		aif_buf_puts(&path, ".xplane.pb");
		r = aif_out_open_stoppable(&out, aif_buf_str(&path), x->stopped, x->scratch, err);
	}
	keep = is_new ? 0 : strlen(dir);
	directories_tell(x->scratch, &path, keep, aif_scratch_put);
	if (!r) {
		out.max = x->max_bytes;
		r = write_space(x, &out, err);
		if (r < 0)
			aif_out_abort(&out);
		else
			r = aif_out_commit(&out, err);
	}
	directories_tell(x->scratch, &path, keep, aif_scratch_take);
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
