/* SPDX-License-Identifier: Apache-2.0 */
#include "export/exporter.h"
#include "export/locations.h"
#include "text/proto.h"
#include "export/weighted.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

/*
 * OTLP profiles, a serialized ProfilesData of opentelemetry.proto.profiles.v1development as of opentelemetry-proto
 * 1.11.0 (2026-07-21), whose messages its owners may still change. One Profile for each kind of value that is not 0
 * everywhere; stacks, locations, attributes and strings are in the dictionary, whose first entries are empty as the format
 * has it. Samples are kept until all are known, as each belongs to one Profile only: 40 bytes each.
 */
enum { RESOURCE_PROFILES = 1, DICTIONARY = 2 };
enum {
	MAPPING_TABLE = 1,
	LOCATION_TABLE,
	FUNCTION_TABLE,
	LINK_TABLE,
	STRING_TABLE,
	ATTRIBUTE_TABLE,
	STACK_TABLE
};

struct sample {
	uint32_t stack, attributes; /* attributes: a string of .attribute_lists */
	uint64_t value;
};

struct otlp {
	const struct aif_export *x;
	struct aif_out *out;
	struct aif_buf *b;
	struct aif_host_stacks stacks;
	struct aif_locations locations;
	struct aif_buf labels, key;
	struct aif_map known_stacks;       /* node -> number in .stack_nodes + 1 */
	struct aif_buf stack_table;        /* serialized entries */
	struct aif_strset attributes;      /* bytes: key, value, as u32 of .locations.strings */
	struct aif_strset attribute_lists; /* bytes: u32 of .attributes */
	struct samples {
		struct sample *at;
		size_t len, cap;
	} samples[AIF_WEIGHTED_COUNT];
};

/* ---- taking -------------------------------------------------------------------------------------- */

static int stack_of(struct otlp *w, uint32_t node, uint32_t *ret)
{
	uint64_t found;
	const uint32_t *ids;
	size_t n, at, packed;

	if (aif_map_get(&w->known_stacks, node, &found)) {
		*ret = (uint32_t)found;
		return 0;
	}
	ids = aif_locations_get(&w->locations, node, &n);
	if (!ids)
		return -ENOMEM;
	at = aif_proto_begin(&w->stack_table, STACK_TABLE);
	packed = aif_proto_begin(&w->stack_table, 1);
	for (size_t i = 0; i < n; i++)
		aif_proto_varint(&w->stack_table, (uint64_t)ids[i] + 1);
	aif_proto_end(&w->stack_table, packed);
	aif_proto_end(&w->stack_table, at);
	*ret = (uint32_t)w->known_stacks.len + 1;
	return aif_map_put(&w->known_stacks, node, *ret);
}

static int attributes_of(struct otlp *w, const struct aif_weighted *s, uint32_t *ret)
{
	struct aif_weighted_label labels[AIF_WEIGHTED_LABELS];
	size_t n = aif_weighted_labels(w->x, &w->stacks, s, &w->labels, labels);

	aif_buf_clear(&w->key);
	for (size_t i = 0; i < n; i++) {
		const char *value = (const char *)w->labels.data + labels[i].value;
		uint32_t pair[2] = {aif_locations_string(&w->locations, labels[i].key),
				    aif_locations_string(&w->locations, value)},
			 id = aif_strset_put(&w->attributes, pair, sizeof(pair));

		if (id == AIF_STR_NONE)
			return -ENOMEM;
		aif_buf_append(&w->key, &id, sizeof(id));
	}
	if (aif_buf_failed(&w->labels) || aif_buf_failed(&w->key))
		return -ENOMEM;
	*ret = aif_strset_put(&w->attribute_lists, w->key.data, w->key.len);
	return *ret == AIF_STR_NONE ? -ENOMEM : 0;
}

static int sample_take(void *arg, const struct aif_weighted *s)
{
	struct otlp *w = arg;
	struct sample sample;
	int r = stack_of(w, s->node, &sample.stack);

	if (!r)
		r = attributes_of(w, s, &sample.attributes);
	for (unsigned i = 0; i < AIF_WEIGHTED_COUNT && !r; i++) {
		struct samples *to = &w->samples[i];

		if (!s->values[i])
			continue;
		r = aif_grow(&to->at, &to->cap, to->len + 1, sizeof(*to->at));
		sample.value = s->values[i];
		if (!r)
			to->at[to->len++] = sample;
	}
	return r;
}

/* ---- writing ------------------------------------------------------------------------------------- */

/* Returns the type of the period, which stores name a profile by: without one, and a period other than 0, they refuse
 * it (Pyroscope, pkg/ingester/otlp/convert.go; Parca, pkg/normalizer/otel.go). Each value is of single ns or events. */
static const char *period_type(unsigned type)
{
	return type == AIF_WEIGHTED_CPU || type == AIF_WEIGHTED_WAITING ? "cpu" : "device";
}

static void value_type_put(struct otlp *w, uint32_t field, const char *type, const char *unit)
{
	size_t at = aif_proto_begin_small(w->b, field);

	aif_proto_u64(w->b, 1, aif_locations_string(&w->locations, type));
	aif_proto_u64(w->b, 2, aif_locations_string(&w->locations, unit));
	aif_proto_end_small(w->b, at);
}

/* The file that the command runs, or its first process; as OpenTelemetry's SDKs have it where neither is known. */
static void service_name(const struct aif_profile *p, struct aif_buf *out)
{
	const char *from = p->traits.is_imported ? "" : aif_profile_meta(p, "command"), *slash;
	size_t len = strcspn(from, " "), at;

	if (!len && p->processes_len) {
		from = aif_export_process_own(p, 0);
		len = strcspn(from, " ");
	}
	slash = len ? memrchr(from, '/', len) : NULL;
	at = slash ? (size_t)(slash + 1 - from) : 0;
	if (at < len)
		aif_buf_append(out, from + at, len - at);
	else
		aif_buf_puts(out, "unknown_service");
}

/* KeyValue of common.v1, its key a string; `field` of the message that has it. */
static void key_value(struct aif_buf *b, uint32_t field, const char *key, const char *value)
{
	size_t at = aif_proto_begin(b, field), inner;

	aif_proto_text(b, 1, key);
	inner = aif_proto_begin(b, 2);
	aif_proto_text(b, 1, value);
	aif_proto_end(b, inner);
	aif_proto_end(b, at);
}

static void sample_put(struct otlp *w, const struct sample *s)
{
	size_t at = aif_proto_begin_small(w->b, 2), packed, len;
	const char *list = aif_strset_get(&w->attribute_lists, s->attributes, &len);

	aif_proto_u64(w->b, 1, s->stack);
	packed = aif_proto_begin_small(w->b, 2);
	for (size_t i = 0; i < len; i += sizeof(uint32_t)) {
		uint32_t id;

		memcpy(&id, list + i, sizeof(id));
		aif_proto_varint(w->b, (uint64_t)id + 1);
	}
	aif_proto_end_small(w->b, packed);
	packed = aif_proto_begin_small(w->b, 4);
	aif_proto_varint(w->b, AIF_MIN(s->value, (uint64_t)INT64_MAX));
	aif_proto_end_small(w->b, packed);
	aif_proto_end_small(w->b, at);
}

static void profile_put(struct otlp *w, unsigned type)
{
	const struct aif_profile *p = w->x->profile;
	const struct samples *s = &w->samples[type];
	struct aif_weighted_type is = aif_weighted_type(p, type);
	uint64_t id[2] = {htole64(aif_mix64(aif_export_unix_start(p) ^ aif_mix64(p->start_ns))),
			  htole64(aif_mix64(p->end_ns + type + 1))};
	size_t at = aif_proto_begin(w->b, 2);

	value_type_put(w, 1, is.type, is.unit);
	for (size_t i = 0; i < s->len; i++)
		sample_put(w, &s->at[i]);
	if (aif_export_unix_start(p))
		aif_proto_fixed64(w->b, 3, aif_export_unix_start(p));
	aif_proto_u64(w->b, 4, p->end_ns - p->start_ns);
	value_type_put(w, 5, period_type(type), "nanoseconds");
	aif_proto_u64(w->b, 6, 1);
	aif_proto_bytes(w->b, 7, id, sizeof(id)); /* profile_id: any 16 bytes, not all 0 */
	aif_proto_end(w->b, at);
}

static void resource_put(struct otlp *w)
{
	const struct aif_profile *p = w->x->profile;
	size_t at = aif_proto_begin(w->b, RESOURCE_PROFILES), inner, scope;
	struct aif_buf service = {0};

	inner = aif_proto_begin(w->b, 1);
	service_name(p, &service);
	key_value(w->b, 1, "service.name", aif_buf_str(&service));
	aif_buf_finish(&service);
	key_value(w->b, 1, "host.name", aif_profile_meta(p, "host"));
	key_value(w->b, 1, "process.command_line", aif_profile_meta(p, "command"));
	aif_proto_end(w->b, inner);
	inner = aif_proto_begin(w->b, 2);
	scope = aif_proto_begin_small(w->b, 1);
	aif_proto_text(w->b, 1, "aiflame");
	aif_proto_text(w->b, 2, AIF_VERSION);
	aif_proto_end_small(w->b, scope);
	for (unsigned i = 0; i < AIF_WEIGHTED_COUNT; i++)
		if (w->samples[i].len)
			profile_put(w, i);
	aif_proto_end(w->b, inner);
	aif_proto_end(w->b, at);
	aif_out_flush_if_full(w->out);
}

/* A table's first entry. */
static void empty_put(struct otlp *w, uint32_t table)
{
	aif_proto_bytes(w->b, table, "", 0);
}

static int mappings(struct otlp *w)
{
	const struct aif_profile *p = w->x->profile;

	empty_put(w, MAPPING_TABLE);
	for (size_t i = 0; i < p->modules_len; i++) {
		const struct aif_module *m = &p->modules[i];
		size_t at = aif_proto_begin_small(w->b, MAPPING_TABLE), packed;

		aif_proto_u64(w->b, 2, UINT64_MAX); /* memory_limit; from 0 on */
		aif_proto_u64(w->b, 4,
			      aif_locations_string(&w->locations, aif_profile_str(p, m->path)));
		if (m->build_id != AIF_NONE) {
			uint32_t pair[2] = {aif_locations_string(
						    &w->locations,
						    m->kind == AIF_MODULE_ELF
							    ? "process.executable.build_id.gnu"
							    : "build_id"),
					    aif_locations_string(&w->locations,
								 aif_profile_str(p, m->build_id))},
				 id = aif_strset_put(&w->attributes, pair, sizeof(pair));

			if (id == AIF_STR_NONE)
				return -ENOMEM;
			packed = aif_proto_begin_small(w->b, 5);
			aif_proto_varint(w->b, (uint64_t)id + 1);
			aif_proto_end_small(w->b, packed);
		}
		aif_proto_end_small(w->b, at);
	}
	return 0;
}

static void locations(struct otlp *w)
{
	const struct aif_profile *p = w->x->profile;

	empty_put(w, LOCATION_TABLE);
	for (uint32_t i = 0; i < w->locations.locations.len; i++) {
		size_t lines, at = aif_proto_begin(w->b, LOCATION_TABLE);
		uint32_t frame = aif_locations_frame(&w->locations, i, &lines);

		if (frame != AIF_NONE && p->frames[frame].module != AIF_NONE) {
			aif_proto_u64(w->b, 1, (uint64_t)p->frames[frame].module + 1);
			aif_proto_u64(w->b, 2, p->frames[frame].address);
		}
		for (size_t k = 0; k < lines; k++) {
			struct aif_location_line line = aif_locations_line(&w->locations, i, k);
			size_t inner = aif_proto_begin_small(w->b, 3);

			aif_proto_u64(w->b, 1, (uint64_t)line.function + 1);
			if (line.line)
				aif_proto_u64(w->b, 2, line.line);
			aif_proto_end_small(w->b, inner);
		}
		aif_proto_end(w->b, at);
	}
}

static int dictionary_put(struct otlp *w)
{
	size_t dictionary = aif_proto_begin(w->b, DICTIONARY), at, inner, len;
	int r = mappings(w);

	locations(w);
	empty_put(w, FUNCTION_TABLE);
	for (uint32_t i = 0; i < w->locations.functions.len; i++) {
		struct aif_location_function f = aif_locations_function(&w->locations, i);

		at = aif_proto_begin_small(w->b, FUNCTION_TABLE);
		aif_proto_u64(w->b, 1, f.name);
		aif_proto_u64(w->b, 2, f.system_name);
		aif_proto_u64(w->b, 3, f.file);
		aif_proto_end_small(w->b, at);
	}
	empty_put(w, LINK_TABLE);
	empty_put(w, ATTRIBUTE_TABLE);
	for (uint32_t i = 0; i < w->attributes.len; i++) {
		uint32_t pair[2];
		const char *value;

		memcpy(pair, aif_strset_get(&w->attributes, i, NULL), sizeof(pair));
		value = aif_strset_get(&w->locations.strings, pair[1], &len);
		at = aif_proto_begin(w->b, ATTRIBUTE_TABLE);
		aif_proto_u64(w->b, 1, pair[0]);
		inner = aif_proto_begin(w->b, 2);
		aif_proto_string(w->b, 1, value, len);
		aif_proto_end(w->b, inner);
		aif_proto_end(w->b, at);
	}
	empty_put(w, STACK_TABLE);
	aif_buf_append(w->b, w->stack_table.data, w->stack_table.len);
	w->b->failed |= aif_buf_failed(&w->stack_table);
	for (uint32_t i = 0; i < w->locations.strings.len; i++) {
		const char *text = aif_strset_get(&w->locations.strings, i, &len);

		aif_proto_string(w->b, STRING_TABLE, text, len);
	}
	aif_proto_end(w->b, dictionary);
	return r;
}

static int otlp_write(const struct aif_export *x, struct aif_out *out, struct aif_err *err)
{
	struct otlp w = {.x = x, .out = out, .b = aif_out_buf(out)};
	int r = aif_host_stacks_init(&w.stacks, x->names, x->detail);

	if (!r)
		r = aif_locations_init(&w.locations, &w.stacks);
	if (!r)
		r = aif_weighted_each(x, &w.stacks, sample_take, &w, err);
	if (!r) {
		resource_put(&w);
		r = dictionary_put(&w);
	}
	aif_locations_finish(&w.locations);
	aif_host_stacks_finish(&w.stacks);
	aif_buf_finish(&w.labels);
	aif_buf_finish(&w.key);
	aif_buf_finish(&w.stack_table);
	aif_map_finish(&w.known_stacks);
	aif_strset_finish(&w.attributes);
	aif_strset_finish(&w.attribute_lists);
	for (unsigned i = 0; i < AIF_WEIGHTED_COUNT; i++)
		free(w.samples[i].at);
	return r == -ENOMEM ? aif_err_set(err, r, "export: out of memory") : r;
}

const struct aif_exporter aif_exporter_otlp = {
	.name = "otlp",
	.output = "aiflame.otlp",
	.suffixes = ".otlp .otlp.pb",
	.by_range = true,
	.write = otlp_write,
};
