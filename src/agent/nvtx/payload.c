/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/nvtx/payload.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Types of a field's value, by NVTX's numbers. Those that are not here are not read. */
enum kind { NOT_READ, SIGNED, UNSIGNED, REAL, LETTER, POINTER, TEXT, REGISTERED };

static const struct {
	uint8_t size, kind;
} types[] = {
	[1] = {1, LETTER},     [2] = {1, UNSIGNED},   [3] = {2, SIGNED},    [4] = {2, UNSIGNED},
	[5] = {4, SIGNED},     [6] = {4, UNSIGNED},   [7] = {8, SIGNED},    [8] = {8, UNSIGNED},
	[9] = {8, SIGNED},     [10] = {8, UNSIGNED},  [11] = {1, SIGNED},   [12] = {1, UNSIGNED},
	[13] = {2, SIGNED},    [14] = {2, UNSIGNED},  [15] = {4, SIGNED},   [16] = {4, UNSIGNED},
	[17] = {8, SIGNED},    [18] = {8, UNSIGNED},  [19] = {4, REAL},     [20] = {8, REAL},
	[21] = {16, NOT_READ}, [22] = {8, UNSIGNED},  [23] = {8, POINTER},  [24] = {4, NOT_READ},
	[25] = {1, LETTER},    [26] = {2, NOT_READ},  [27] = {4, NOT_READ}, [32] = {1, UNSIGNED},
	[33] = {16, NOT_READ}, [34] = {16, NOT_READ}, [42] = {2, NOT_READ}, [43] = {4, REAL},
	[44] = {8, REAL},      [45] = {16, NOT_READ}, [50] = {2, NOT_READ}, [52] = {4, NOT_READ},
	[68] = {4, UNSIGNED},  [69] = {4, UNSIGNED},  [70] = {8, UNSIGNED}, [71] = {4, UNSIGNED},
	[72] = {8, UNSIGNED},  [73] = {4, UNSIGNED},  [74] = {8, UNSIGNED}, [75] = {8, TEXT},
	[76] = {8, TEXT},      [77] = {8, NOT_READ},  [78] = {8, NOT_READ}, [80] = {8, REGISTERED},
};

/* Text and first type of the fixed arrays of characters that are kept as text. */
#define TEXT_TYPE      UINT64_C(75)
#define TEXT_UTF8_TYPE UINT64_C(76)

/* Longer strings within a payload are cut; registered ones only by the text's end: XLA's first is a stack of Python's. */
#define STRING_MAX 200

static void copy_name(const struct aif_nvtx_world *w, char to[AIF_NVTX_FIELD_NAME],
		      const char *from)
{
	size_t n = 0;

	for (; from && n < AIF_NVTX_FIELD_NAME - 1 && aif_nvtx_is_readable(w, from + n, 1); n++) {
		if (!from[n])
			break;
		to[n] = from[n];
	}
	to[n] = '\0';
}

/* ---- schemas --------------------------------------------------------------------------------- */

struct extent {
	uint64_t size, align; /* size 0: not known, and so is where the next field begins */
};

static struct extent extent_of(const struct aif_nvtx_schema_entry *e, uint32_t domain,
			       const struct aif_nvtx_world *w)
{
	uint64_t array = e->flags & AIF_NVTX_ENTRY_ARRAY;
	struct extent x = {0, 1};

	if (e->flags &
	    (AIF_NVTX_ENTRY_POINTER | AIF_NVTX_ENTRY_FROM_BASE | AIF_NVTX_ENTRY_FROM_HERE))
		return (struct extent){8, 8};
	if (e->type < AIF_ARRAY_LEN(types)) {
		x.size = types[e->type].size;
		x.align = AIF_MAX(x.size, UINT64_C(1));
	} else {
		const struct aif_nvtx_schema *s = w->schema(w->arg, domain, e->type);

		x = (struct extent){s ? s->size : 0, s && s->is_enum && s->size ? s->size : 8};
	}
	if (array == AIF_NVTX_ENTRY_ARRAY_FIXED) {
		if (e->type == TEXT_TYPE || e->type == TEXT_UTF8_TYPE)
			x = (struct extent){1, 1};
		if (__builtin_mul_overflow(x.size, e->detail, &x.size))
			x.size = 0;
	} else if (array) {
		x.size = 0;
	}
	return x;
}

/* True if the field's value is one that is read. */
static bool is_read(const struct aif_nvtx_schema_entry *e, uint32_t *ret_length)
{
	uint64_t array = e->flags & AIF_NVTX_ENTRY_ARRAY;
	bool is_text =
		e->type == 1 || e->type == 25 || e->type == TEXT_TYPE || e->type == TEXT_UTF8_TYPE;

	*ret_length = 0;
	if (e->flags & (AIF_NVTX_ENTRY_HIDE | AIF_NVTX_ENTRY_POINTER | AIF_NVTX_ENTRY_FROM_BASE |
			AIF_NVTX_ENTRY_FROM_HERE))
		return false;
	if (array == AIF_NVTX_ENTRY_ARRAY_FIXED && is_text && e->detail) {
		*ret_length = (uint32_t)AIF_MIN(e->detail, (uint64_t)STRING_MAX);
		return true;
	}
	return !array && (e->type >= AIF_ARRAY_LEN(types) || types[e->type].kind != NOT_READ);
}

static void note_repeated(struct aif_nvtx_schema *s)
{
	for (uint32_t i = 0; i < s->len; i++) {
		const struct aif_nvtx_field *f = &s->fields[i];

		if (f->is_hidden || f->length)
			continue;
		if (f->type >= AIF_ARRAY_LEN(types) || types[f->type].kind == TEXT) {
			s->is_repeated = false;
			return;
		}
		s->is_repeated |= types[f->type].kind == REGISTERED;
	}
}

bool aif_nvtx_schema_copy(const struct aif_nvtx_schema_attributes *a, uint32_t domain,
			  const struct aif_nvtx_world *w, struct aif_nvtx_schema *ret)
{
	const uint64_t needed = AIF_NVTX_SCHEMA_ENTRIES | AIF_NVTX_SCHEMA_ENTRIES_LEN;
	uint64_t at = 0, pack = a->fields & AIF_NVTX_SCHEMA_PACK ? a->pack : 0;
	bool is_known = true;

	if ((a->fields & needed) != needed || !a->entries ||
	    ((a->fields & AIF_NVTX_SCHEMA_TYPE) && a->type != AIF_NVTX_SCHEMA_STATIC))
		return false;
	*ret = (struct aif_nvtx_schema){.domain = domain};
	if (a->fields & AIF_NVTX_SCHEMA_ID)
		ret->id = a->id;
	for (uint64_t i = 0; i < a->entries_len && ret->len < AIF_NVTX_FIELDS; i++) {
		const struct aif_nvtx_schema_entry *e = &a->entries[i];
		struct aif_nvtx_field *f = &ret->fields[ret->len];
		struct extent x;
		uint64_t align;

		if (!aif_nvtx_is_readable(w, e, sizeof(*e)))
			break;
		ret->len++;
		x = extent_of(e, domain, w);
		align = pack ? AIF_MIN(x.align, pack) : x.align;
		if (e->offset) {
			at = e->offset;
			is_known = true;
		} else if (at % align && __builtin_add_overflow(at, align - at % align, &at)) {
			is_known = false;
		}
		f->type = e->type;
		f->offset = at;
		f->is_hidden = !is_read(e, &f->length) || !is_known;
		copy_name(w, f->name, e->name);
		is_known &= x.size != 0 && !__builtin_add_overflow(at, x.size, &at);
	}
	ret->size = a->fields & AIF_NVTX_SCHEMA_SIZE ? a->size : is_known ? at : 0;
	note_repeated(ret);
	return ret->len > 0;
}

bool aif_nvtx_enum_copy(const struct aif_nvtx_enum_attributes *a, uint32_t domain,
			const struct aif_nvtx_world *w, struct aif_nvtx_schema *ret)
{
	const uint64_t needed = AIF_NVTX_ENUM_ENTRIES | AIF_NVTX_ENUM_ENTRIES_LEN;

	if ((a->fields & needed) != needed || !a->entries)
		return false;
	*ret = (struct aif_nvtx_schema){.domain = domain, .is_enum = true, .size = 4};
	if (a->fields & AIF_NVTX_ENUM_ID)
		ret->id = a->id;
	if (a->fields & AIF_NVTX_ENUM_SIZE)
		ret->size = a->size;
	if (ret->size != 1 && ret->size != 2 && ret->size != 4 && ret->size != 8)
		return false;
	for (uint64_t i = 0; i < a->entries_len && ret->len < AIF_NVTX_FIELDS; i++) {
		struct aif_nvtx_field *f = &ret->fields[ret->len];

		if (!aif_nvtx_is_readable(w, &a->entries[i], sizeof(a->entries[i])))
			break;
		ret->len++;
		f->offset = a->entries[i].value;
		copy_name(w, f->name, a->entries[i].name);
	}
	return true;
}

/* ---- payloads -------------------------------------------------------------------------------- */

struct writing {
	const struct aif_nvtx_world *w;
	uint32_t domain;
	char *text;
	size_t len, cap;
	unsigned fields; /* that may yet be written: schemas within schemas multiply */
};

AIF_PRINTF(2, 3) static void put(struct writing *x, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(x->text + x->len, x->cap - x->len, format, args);
	va_end(args);
	if (n > 0)
		x->len = AIF_MIN(x->len + (size_t)n, x->cap - 1);
}

static void put_field(struct writing *x, const char *name)
{
	if (x->len)
		put(x, ", ");
	put(x, *name ? "%s=" : "%s", name);
}

static uint64_t unsigned_at(const uint8_t *data, size_t size)
{
	uint64_t v = 0;

	memcpy(&v, data, AIF_MIN(size, sizeof(v)));
	return v;
}

static int64_t signed_at(const uint8_t *data, size_t size)
{
	unsigned shift = (unsigned)(64 - 8 * size);

	return (int64_t)(unsigned_at(data, size) << shift) >> shift;
}

static double real_at(const uint8_t *data, size_t size)
{
	float f;
	double d;

	if (size == sizeof(f)) {
		memcpy(&f, data, sizeof(f));
		return (double)f;
	}
	memcpy(&d, data, sizeof(d));
	return d;
}

static void put_text(struct writing *x, const struct aif_nvtx_field *f, uint64_t address)
{
	char text[STRING_MAX + 1];
	size_t n = address ? x->w->read(x->w->arg, address, text, STRING_MAX) : 0;

	put_field(x, f->name);
	put(x, "%.*s", (int)strnlen(text, n), text);
}

static void put_value(struct writing *x, const struct aif_nvtx_field *f, const uint8_t *data)
{
	size_t size = types[f->type].size;
	const char *text;

	switch (types[f->type].kind) {
	case SIGNED:
		put_field(x, f->name);
		put(x, "%" PRId64, signed_at(data, size));
		break;
	case UNSIGNED:
		put_field(x, f->name);
		put(x, "%" PRIu64, unsigned_at(data, size));
		break;
	case REAL:
		put_field(x, f->name);
		put(x, "%g", real_at(data, size));
		break;
	case LETTER:
		put_field(x, f->name);
		put(x, "%c", *data ? *data : ' ');
		break;
	case POINTER:
		put_field(x, f->name);
		put(x, "%#" PRIx64, unsigned_at(data, size));
		break;
	case TEXT:
		put_text(x, f, unsigned_at(data, size));
		break;
	case REGISTERED:
		text = x->w->registered(x->w->arg, unsigned_at(data, size));
		if (text) {
			put_field(x, f->name);
			put(x, "%s", text);
		}
		break;
	default:
		break;
	}
}

static void put_enum(struct writing *x, const struct aif_nvtx_field *f,
		     const struct aif_nvtx_schema *s, uint64_t value)
{
	put_field(x, f->name);
	for (uint32_t i = 0; i < s->len; i++)
		if (s->fields[i].offset == value && *s->fields[i].name) {
			put(x, "%s", s->fields[i].name);
			return;
		}
	put(x, "%" PRIu64, value);
}

static void put_schema(struct writing *x, const struct aif_nvtx_schema *s, const uint8_t *data,
		       uint64_t size, unsigned nesting);

static void put_one(struct writing *x, const struct aif_nvtx_field *f, const uint8_t *data,
		    uint64_t size, unsigned nesting)
{
	const struct aif_nvtx_schema *s;
	uint64_t needed;

	if (f->length) {
		if (size < f->length || !aif_nvtx_is_readable(x->w, data, f->length))
			return;
		put_field(x, f->name);
		put(x, "%.*s", (int)strnlen((const char *)data, f->length), (const char *)data);
		return;
	}
	if (f->type < AIF_ARRAY_LEN(types)) {
		needed = types[f->type].size;
		if (needed && size >= needed && aif_nvtx_is_readable(x->w, data, needed))
			put_value(x, f, data);
		return;
	}
	s = x->w->schema(x->w->arg, x->domain, f->type);
	if (s && s->is_enum && size >= s->size && aif_nvtx_is_readable(x->w, data, s->size))
		put_enum(x, f, s, unsigned_at(data, s->size));
	else if (s && !s->is_enum && nesting < AIF_NVTX_NESTING)
		put_schema(x, s, data, size, nesting + 1);
}

static void put_schema(struct writing *x, const struct aif_nvtx_schema *s, const uint8_t *data,
		       uint64_t size, unsigned nesting)
{
	for (uint32_t i = 0; i < s->len && x->fields; i++) {
		const struct aif_nvtx_field *f = &s->fields[i];

		x->fields--;
		if (!f->is_hidden && f->offset < size)
			put_one(x, f, data + f->offset, size - f->offset, nesting);
	}
}

size_t aif_nvtx_payload_text(const struct aif_nvtx_world *w, uint32_t domain,
			     const struct aif_nvtx_data *d, char *text, size_t len, size_t cap)
{
	struct writing x = {w, domain, text, len, cap, 2 * AIF_NVTX_FIELDS};
	struct aif_nvtx_field whole = {.type = d->schema};
	const struct aif_nvtx_schema *s =
		d->schema >= AIF_ARRAY_LEN(types) ? w->schema(w->arg, domain, d->schema) : NULL;
	uint64_t size = d->size;

	if (len < cap)
		text[len] = '\0';
	if (size == UINT64_MAX)
		size = s ? s->size : d->schema < AIF_ARRAY_LEN(types) ? types[d->schema].size : 0;
	if (!d->data || !size || len >= cap)
		return len;
	if (s && !s->is_enum)
		put_schema(&x, s, d->data, size, 0);
	else
		put_one(&x, &whole, d->data, size, 0);
	return x.len;
}

bool aif_nvtx_payload_number(const struct aif_nvtx_world *w, const struct aif_nvtx_schema *s,
			     const struct aif_nvtx_data *d, const char *part, uint64_t *ret)
{
	const uint64_t size = d->size == UINT64_MAX ? s->size : d->size;

	for (uint32_t i = 0; d->data && !s->is_enum && i < s->len; i++) {
		const struct aif_nvtx_field *f = &s->fields[i];
		uint64_t needed;

		if (f->is_hidden || f->length || f->type >= AIF_ARRAY_LEN(types) ||
		    (types[f->type].kind != SIGNED && types[f->type].kind != UNSIGNED) ||
		    !strstr(f->name, part))
			continue;
		needed = types[f->type].size;
		if (f->offset >= size || size - f->offset < needed ||
		    !aif_nvtx_is_readable(w, (const uint8_t *)d->data + f->offset, needed))
			return false;
		*ret = unsigned_at((const uint8_t *)d->data + f->offset, needed);
		return true;
	}
	return false;
}

size_t aif_nvtx_number_text(const struct aif_nvtx_attributes *a, char *text, size_t len, size_t cap)
{
	struct writing x = {.text = text, .len = len, .cap = cap};

	if (len >= cap)
		return len;
	switch (a->payload_type) {
	case AIF_NVTX_PAYLOAD_U64:
		put_field(&x, "payload");
		put(&x, "%" PRIu64, a->payload.u64);
		break;
	case AIF_NVTX_PAYLOAD_I64:
		put_field(&x, "payload");
		put(&x, "%" PRId64, a->payload.i64);
		break;
	case AIF_NVTX_PAYLOAD_DOUBLE:
		put_field(&x, "payload");
		put(&x, "%g", a->payload.f64);
		break;
	case AIF_NVTX_PAYLOAD_U32:
		put_field(&x, "payload");
		put(&x, "%" PRIu32, a->payload.u32);
		break;
	case AIF_NVTX_PAYLOAD_I32:
		put_field(&x, "payload");
		put(&x, "%" PRId32, a->payload.i32);
		break;
	case AIF_NVTX_PAYLOAD_FLOAT:
		put_field(&x, "payload");
		put(&x, "%g", (double)a->payload.f32);
		break;
	default:
		break;
	}
	return x.len;
}
