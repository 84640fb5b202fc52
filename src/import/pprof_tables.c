/* SPDX-License-Identifier: Apache-2.0 */
#include "import/pprof.h"

#include <string.h>

/* Types of values, mappings, functions, locations and strings of a file. */

struct pprof_bytes pprof_string(const struct pprof *x, uint64_t number)
{
	return number < x->strings_len ? x->strings[number].text : (struct pprof_bytes){NULL, 0};
}

uint32_t pprof_string_id(struct pprof *x, uint64_t number)
{
	struct pprof_string *s;

	if (number >= x->strings_len)
		return aif_builder_puts(x->b, "");
	s = &x->strings[number];
	if (s->id == AIF_NONE)
		s->id = aif_builder_str(x->b, s->text.len ? s->text.p : (const uint8_t *)"",
					s->text.len);
	return s->id;
}

bool pprof_is(struct pprof_bytes s, const char *text)
{
	return s.len == strlen(text) && (!s.len || !memcmp(s.p, text, s.len));
}

static uint32_t clipped(uint64_t v)
{
	return v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

static void type_add(struct pprof *x, struct aif_proto_in m)
{
	uint64_t type = 0, unit = 0;

	while (aif_proto_next(&m))
		if (m.wire == AIF_PROTO_VARINT)
			*(m.field == 1 ? &type : m.field == 2 ? &unit : &(uint64_t){0}) = m.value;
	x->bad += m.is_bad;
	if (x->types_len == PPROF_TYPES_MAX) {
		x->bad++;
		return;
	}
	x->types[x->types_len].type = clipped(type);
	x->types[x->types_len++].unit = clipped(unit);
}

/* Rows have numbers of their own, none of them 0: others are not kept, however many there are. */
static bool is_new(struct pprof *x, struct aif_map *ids, uint64_t id, size_t at)
{
	uint64_t known;

	if (!id || aif_map_get(ids, id, &known)) {
		x->bad++;
		return false;
	}
	x->is_memory |= aif_map_put(ids, id, at) < 0;
	return !x->is_memory;
}

static void mapping_add(struct pprof *x, struct aif_proto_in m)
{
	struct pprof_mapping row = {0};

	while (aif_proto_next(&m)) {
		if (m.field == 1)
			row.id = m.value;
		if (m.field == 5)
			row.file = clipped(m.value);
	}
	if (!is_new(x, &x->mapping_ids, row.id, x->mappings_len))
		return;
	PPROF_ADD(x, mappings, row);
}

static void function_add(struct pprof *x, struct aif_proto_in m)
{
	struct pprof_function row = {0};
	uint32_t system_name = 0;

	while (aif_proto_next(&m)) {
		if (m.field == 1)
			row.id = m.value;
		if (m.field == 2)
			row.name = clipped(m.value);
		if (m.field == 3)
			system_name = clipped(m.value);
		if (m.field == 4)
			row.file = clipped(m.value);
	}
	if (!row.name)
		row.name = system_name;
	if (!is_new(x, &x->function_ids, row.id, x->functions_len))
		return;
	PPROF_ADD(x, functions, row);
}

static void location_add(struct pprof *x, struct aif_proto_in m)
{
	struct pprof_location row = {.bytes = {m.at, (size_t)(m.end - m.at)}};

	while (aif_proto_next(&m)) {
		if (m.field == 1)
			row.id = m.value;
		if (m.field == 2)
			row.mapping = m.value;
		if (m.field == 3)
			row.address = m.value;
	}
	x->bad += m.is_bad;
	if (!is_new(x, &x->location_ids, row.id, x->locations_len))
		return;
	PPROF_ADD(x, locations, row);
}

void pprof_tables_read(struct pprof *x)
{
	struct aif_proto_in p = aif_proto_of(x->text.data, x->text.len);

	while (!x->is_memory && aif_proto_next(&p)) {
		struct aif_proto_in m = aif_proto_of(p.bytes, p.len);

		if (p.wire == AIF_PROTO_VARINT && p.field == PPROF_DEFAULT_SAMPLE_TYPE)
			x->default_type = p.value;
		if (p.wire != AIF_PROTO_BYTES)
			continue;
		switch (p.field) {
		case PPROF_SAMPLE_TYPE:
			type_add(x, m);
			break;
		case PPROF_MAPPING:
			mapping_add(x, m);
			break;
		case PPROF_LOCATION:
			location_add(x, m);
			break;
		case PPROF_FUNCTION:
			function_add(x, m);
			break;
		case PPROF_STRING:
			PPROF_ADD(x, strings,
				  (struct pprof_string){.text = {p.bytes, p.len}, .id = AIF_NONE});
			break;
		default:
			break;
		}
	}
	x->is_torn |= p.is_bad;
}

static uint64_t unit_ns(struct pprof_bytes unit)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{"nanoseconds", 1},        {"nanosecond", 1},        {"ns", 1},
		{"microseconds", 1000},    {"microsecond", 1000},    {"us", 1000},
		{"milliseconds", 1000000}, {"millisecond", 1000000}, {"ms", 1000000},
		{"seconds", AIF_NS_PER_S}, {"second", AIF_NS_PER_S}, {"s", AIF_NS_PER_S},
	};

	for (size_t i = 0; i < AIF_ARRAY_LEN(units); i++)
		if (pprof_is(unit, units[i].name))
			return units[i].ns;
	return 0;
}

void pprof_values_choose(struct pprof *x)
{
	x->value_at = x->types_len ? x->types_len - 1 : SIZE_MAX;
	x->device_at = x->cpu_at = x->wait_at = SIZE_MAX;
	for (size_t i = 0; i < x->types_len; i++) {
		struct pprof_bytes type = pprof_string(x, x->types[i].type);

		if (x->default_type && x->types[i].type == x->default_type)
			x->value_at = i;
		if (pprof_is(type, "device_time"))
			x->device_at = i;
		if (pprof_is(type, "cpu") || pprof_is(type, "wall"))
			x->cpu_at = i;
		if (pprof_is(type, "device_wait"))
			x->wait_at = i;
	}
	if (x->device_at == SIZE_MAX || x->cpu_at == SIZE_MAX)
		x->device_at = SIZE_MAX;
	if (x->value_at != SIZE_MAX)
		x->unit_ns = unit_ns(pprof_string(x, x->types[x->value_at].unit));
}

bool pprof_is_wall(const struct pprof *x)
{
	size_t at = x->device_at == SIZE_MAX ? x->value_at : x->cpu_at;

	return at != SIZE_MAX && unit_ns(pprof_string(x, x->types[at].unit)) &&
	       pprof_is(pprof_string(x, x->types[at].type), "wall");
}
