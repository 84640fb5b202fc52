/* SPDX-License-Identifier: Apache-2.0 */
#include "export/exporter.h"
#include "export/locations.h"
#include "text/proto.h"
#include "export/weighted.h"

#include <errno.h>
#include <string.h>

/*
 * pprof: a gzipped perftools.profiles.Profile (github.com/google/pprof, proto/profile.proto). Modules' addresses are in
 * the numbering of their own files, for which a mapping of all of the address space stands, as pprof takes it.
 */
enum { /* Profile */
       SAMPLE_TYPE = 1,
       SAMPLE = 2,
       MAPPING = 3,
       LOCATION = 4,
       FUNCTION = 5,
       STRING = 6,
       TIME_NANOS = 9,
       DURATION_NANOS = 10,
       COMMENT = 13,
       DEFAULT_SAMPLE_TYPE = 14,
};

struct pprof {
	const struct aif_export *x;
	struct aif_out *out;
	struct aif_host_stacks stacks;
	struct aif_locations locations;
	struct aif_buf labels;
	bool has_device;
	uint64_t *cpu_ns; /* by process */
};

static void sample_types(struct pprof *w)
{
	struct aif_buf *b = aif_out_buf(w->out);

	for (unsigned i = 0; i < AIF_WEIGHTED_COUNT; i++) {
		struct aif_weighted_type t = aif_weighted_type(w->x->profile, i);
		size_t at = aif_proto_begin_small(b, SAMPLE_TYPE);

		aif_proto_u64(b, 1, aif_locations_string(&w->locations, t.type));
		aif_proto_u64(b, 2, aif_locations_string(&w->locations, t.unit));
		aif_proto_end_small(b, at);
	}
}

static int sample_put(void *arg, const struct aif_weighted *s)
{
	struct pprof *w = arg;
	struct aif_buf *b = aif_out_buf(w->out);
	struct aif_weighted_label labels[AIF_WEIGHTED_LABELS];
	size_t n, at, packed,
		labels_len = aif_weighted_labels(w->x, &w->stacks, s, &w->labels, labels);
	const uint32_t *ids = aif_locations_get(&w->locations, s->node, &n);

	if (!ids || aif_buf_failed(&w->labels))
		return -ENOMEM;
	w->has_device |= s->device != AIF_NONE;
	if (s->process != AIF_NONE)
		w->cpu_ns[s->process] += s->values[AIF_WEIGHTED_CPU];
	at = aif_proto_begin(b, SAMPLE);
	packed = aif_proto_begin(b, 1);
	for (size_t i = 0; i < n; i++)
		aif_proto_varint(b, (uint64_t)ids[i] + 1);
	aif_proto_end(b, packed);
	packed = aif_proto_begin_small(b, 2);
	for (unsigned i = 0; i < AIF_WEIGHTED_COUNT; i++)
		aif_proto_varint(b, AIF_MIN(s->values[i], (uint64_t)INT64_MAX));
	aif_proto_end_small(b, packed);
	for (size_t i = 0; i < labels_len; i++) {
		size_t label = aif_proto_begin_small(b, 3);

		aif_proto_u64(b, 1, aif_locations_string(&w->locations, labels[i].key));
		aif_proto_u64(b, 2,
			      aif_locations_string(&w->locations,
						   (const char *)w->labels.data + labels[i].value));
		aif_proto_end_small(b, label);
	}
	aif_proto_end(b, at);
	aif_out_flush_if_full(w->out);
	return w->out->error;
}

static void mapping_put(struct pprof *w, size_t i, bool is_named)
{
	const struct aif_profile *p = w->x->profile;
	const struct aif_module *m = &p->modules[i];
	const char *path = aif_profile_str(p, m->path);
	struct aif_buf *b = aif_out_buf(w->out);
	size_t at = aif_proto_begin_small(b, MAPPING);

	aif_proto_u64(b, 1, i + 1);
	aif_proto_u64(b, 3, UINT64_MAX); /* memory_limit; from 0 on */
	aif_proto_u64(b, 5, aif_locations_string(&w->locations, *path ? path : "[module]"));
	if (m->build_id != AIF_NONE)
		aif_proto_u64(b, 6,
			      aif_locations_string(&w->locations, aif_profile_str(p, m->build_id)));
	for (unsigned has = 7; is_named && has <= 10; has++)
		aif_proto_u64(b, has, 1);
	aif_proto_end_small(b, at);
	aif_out_flush_if_full(w->out);
}

/* Returns the first process that used a device, or where none did the one with most CPU time. */
static size_t main_process(const struct pprof *w)
{
	const struct aif_profile *p = w->x->profile;
	size_t i = 0, most = 0;

	while (i < p->processes_len && !(p->processes[i].flags & AIF_PROCESS_RUNTIME))
		i++;
	if (i < p->processes_len)
		return i;
	for (i = 0; i < p->processes_len; i++)
		most = w->cpu_ns[i] > w->cpu_ns[most] ? i : most;
	return most;
}

/* Returns the module of its program; SIZE_MAX where none is there. */
static size_t main_module(const struct pprof *w)
{
	const struct aif_profile *p = w->x->profile;
	size_t i = main_process(w);

	for (size_t m = 0; i < p->processes_len && m < p->modules_len; m++)
		if (p->modules[m].path != AIF_NONE && p->modules[m].path == p->processes[i].exe)
			return m;
	return SIZE_MAX;
}

/* Puts a mapping for the program of which no code was met, as an interpreter's, whose code is in a library. */
static void program_put(struct pprof *w)
{
	const struct aif_profile *p = w->x->profile;
	size_t i = main_process(w), at;
	const char *path = i < p->processes_len ? aif_profile_str(p, p->processes[i].exe) : "";
	struct aif_buf *b = aif_out_buf(w->out);

	if (*path != '/' || p->traits.is_imported)
		return;
	at = aif_proto_begin_small(b, MAPPING);
	aif_proto_u64(b, 1, p->modules_len + 1);
	aif_proto_u64(b, 5, aif_locations_string(&w->locations, path));
	for (unsigned has = 7; has <= 10; has++)
		aif_proto_u64(b, has, 1);
	aif_proto_end_small(b, at);
}

static int mappings(struct pprof *w)
{
	const struct aif_profile *p = w->x->profile;
	/* Notes stand in a module of the recorder's, which is no file. */
	bool *is_named = calloc(p->modules_len + 1, sizeof(*is_named)),
	     *is_notes = calloc(p->modules_len + 1, sizeof(*is_notes));
	size_t main;

	if (!is_named || !is_notes) {
		free(is_named);
		free(is_notes);
		return -ENOMEM;
	}
	for (size_t i = 0; i < p->frames_len; i++)
		if (p->frames[i].kind == AIF_FRAME_MARK && p->frames[i].module != AIF_NONE)
			is_notes[p->frames[i].module] = true;
	for (uint32_t i = 0; i < w->locations.locations.len; i++) {
		size_t lines;
		uint32_t frame = aif_locations_frame(&w->locations, i, &lines);

		if (frame == AIF_NONE || p->frames[frame].module == AIF_NONE)
			continue;
		is_notes[p->frames[frame].module] = false;
		if (lines)
			is_named[p->frames[frame].module] = true;
	}
	/* pprof takes the first for the program. */
	main = main_module(w);
	if (main < p->modules_len)
		mapping_put(w, main, is_named[main]);
	else
		program_put(w);
	for (size_t i = 0; i < p->modules_len; i++)
		if (i != main && !is_notes[i])
			mapping_put(w, i, is_named[i]);
	free(is_named);
	free(is_notes);
	return 0;
}

static void locations(struct pprof *w)
{
	const struct aif_profile *p = w->x->profile;
	struct aif_buf *b = aif_out_buf(w->out);

	for (uint32_t i = 0; i < w->locations.locations.len; i++) {
		size_t lines, at = aif_proto_begin(b, LOCATION);
		uint32_t frame = aif_locations_frame(&w->locations, i, &lines);

		aif_proto_u64(b, 1, (uint64_t)i + 1);
		if (frame != AIF_NONE && p->frames[frame].module != AIF_NONE) {
			aif_proto_u64(b, 2, (uint64_t)p->frames[frame].module + 1);
			aif_proto_u64(b, 3, p->frames[frame].address);
		}
		for (size_t k = 0; k < lines; k++) {
			struct aif_location_line line = aif_locations_line(&w->locations, i, k);
			size_t inner = aif_proto_begin_small(b, 4);

			aif_proto_u64(b, 1, (uint64_t)line.function + 1);
			if (line.line)
				aif_proto_u64(b, 2, line.line);
			aif_proto_end_small(b, inner);
		}
		aif_proto_end(b, at);
		aif_out_flush_if_full(w->out);
	}
}

static void functions(struct pprof *w)
{
	struct aif_buf *b = aif_out_buf(w->out);

	for (uint32_t i = 0; i < w->locations.functions.len; i++) {
		struct aif_location_function f = aif_locations_function(&w->locations, i);
		size_t at = aif_proto_begin_small(b, FUNCTION);

		aif_proto_u64(b, 1, (uint64_t)i + 1);
		aif_proto_u64(b, 2, f.name);
		aif_proto_u64(b, 3, f.system_name);
		aif_proto_u64(b, 4, f.file);
		aif_proto_end_small(b, at);
		aif_out_flush_if_full(w->out);
	}
}

static int write_all(struct pprof *w, struct aif_err *err)
{
	const struct aif_profile *p = w->x->profile;
	struct aif_buf *b = aif_out_buf(w->out), comment = {0};
	int r = 0;

	sample_types(w);
	r = aif_weighted_each(w->x, &w->stacks, sample_put, w, err);
	if (!r)
		r = mappings(w);
	if (r)
		return r;
	locations(w);
	functions(w);
	if (aif_export_unix_start(p))
		aif_proto_u64(b, TIME_NANOS, aif_export_unix_start(p));
	aif_proto_u64(b, DURATION_NANOS, p->end_ns - p->start_ns);
	aif_buf_printf(&comment, "%s on %s, by aiflame %s", aif_profile_meta(p, "command"),
		       aif_profile_meta(p, "host"), AIF_VERSION);
	aif_proto_u64(b, COMMENT, aif_locations_string(&w->locations, aif_buf_str(&comment)));
	aif_buf_finish(&comment);
	aif_proto_u64(
		b, DEFAULT_SAMPLE_TYPE,
		aif_locations_string(&w->locations,
				     aif_weighted_type(p, w->has_device ? AIF_WEIGHTED_DEVICE_TIME
									: AIF_WEIGHTED_CPU)
					     .type));
	for (uint32_t i = 0; i < w->locations.strings.len; i++) {
		size_t len;
		const char *text = aif_strset_get(&w->locations.strings, i, &len);

		aif_proto_string(b, STRING, text, len);
		aif_out_flush_if_full(w->out);
	}
	return 0;
}

static int pprof_write(const struct aif_export *x, struct aif_out *out, struct aif_err *err)
{
	struct pprof w = {.x = x, .out = out};
	int r = aif_host_stacks_init(&w.stacks, x->names, x->detail);

	w.cpu_ns = calloc(x->profile->processes_len + 1, sizeof(*w.cpu_ns));
	if (!r && !w.cpu_ns)
		r = -ENOMEM;
	if (!r)
		r = aif_locations_init(&w.locations, &w.stacks);
	if (!r)
		r = write_all(&w, err);
	aif_locations_finish(&w.locations);
	aif_host_stacks_finish(&w.stacks);
	aif_buf_finish(&w.labels);
	free(w.cpu_ns);
	return r == -ENOMEM ? aif_err_set(err, r, "export: out of memory") : r;
}

const struct aif_exporter aif_exporter_pprof = {
	.name = "pprof",
	.output = "aiflame.pb.gz",
	.suffixes = ".pb.gz .pprof .pb",
	.is_gzip = true,
	.by_range = true,
	.write = pprof_write,
};
