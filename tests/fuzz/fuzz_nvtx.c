/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/nvtx/payload.h"

#include <stdlib.h>
#include <string.h>

/* Schemas of any layout, in each other, and a payload of any bytes and size: the text is terminated and within its
 * buffer, and no byte beyond the payload's size is read (the sanitizer sees to that). */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SCHEMAS 4
static struct aif_nvtx_schema schemas[SCHEMAS];

static const struct aif_nvtx_schema *find(void *arg, uint32_t domain, uint64_t id)
{
	(void)arg;
	(void)domain;
	return id >= 1024 && id < 1024 + SCHEMAS && schemas[id - 1024].len ? &schemas[id - 1024]
									   : NULL;
}

static const char *registered(void *arg, uint64_t handle)
{
	(void)arg;
	return handle % 2 ? "registered" : NULL;
}

static size_t read_none(void *arg, uint64_t address, void *to, size_t len)
{
	size_t n = address % (len + 1);

	(void)arg;
	memset(to, 'x', n);
	return n;
}

static bool is_readable(void *arg, uint64_t address, size_t len)
{
	(void)arg;
	return address && len;
}

/* Takes bytes of the input, zeros behind its end. */
static void take(const uint8_t **data, size_t *size, void *to, size_t n)
{
	size_t have = AIF_MIN(n, *size);

	memset(to, 0, n);
	memcpy(to, *data, have);
	*data += have;
	*size -= have;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t offsets[] = {0, 0, 1, 4, 8, 12, 63, UINT64_MAX, UINT64_MAX - 3};
	const struct aif_nvtx_world w = {.schema = find,
					 .registered = registered,
					 .read = read_none,
					 .is_readable = is_readable};
	char text[AIF_NVTX_TEXT];
	uint8_t head[4];
	size_t len = 0;

	memset(schemas, 0, sizeof(schemas));
	for (unsigned s = 0; s < SCHEMAS; s++) {
		struct aif_nvtx_schema_entry entries[40];
		struct aif_nvtx_schema_attributes a = {
			.fields = UINT64_MAX, .type = 1, .entries = entries};
		struct aif_nvtx_enum_entry values[40];
		struct aif_nvtx_enum_attributes e = {.fields = UINT64_MAX, .entries = values};

		take(&data, &size, head, sizeof(head));
		for (unsigned i = 0; i < head[0] % 40; i++) {
			uint8_t b[4];

			take(&data, &size, b, sizeof(b));
			entries[i] = (struct aif_nvtx_schema_entry){
				.flags = b[0],
				.type = b[1] < 200 ? b[1] : UINT64_C(1024) + b[1] % SCHEMAS,
				.name = b[2] % 3 ? "field" : NULL,
				.detail = b[2] == 255 ? UINT64_MAX : b[2],
				.offset = offsets[b[3] % AIF_ARRAY_LEN(offsets)]};
			values[i] = (struct aif_nvtx_enum_entry){.name = b[0] % 2 ? "value" : NULL,
								 .value = b[1]};
		}
		a.entries_len = e.entries_len = head[0] % 40;
		a.size = head[1] == 255 ? UINT64_MAX : head[1] % 2 ? head[1] : 0;
		a.pack = head[2] % 9;
		e.size = head[3] % 9;
		if (head[3] & 128 ? !aif_nvtx_enum_copy(&e, 0, &w, &schemas[s])
				  : !aif_nvtx_schema_copy(&a, 0, &w, &schemas[s]))
			schemas[s].len = 0;
	}
	for (unsigned i = 0; i < SCHEMAS; i++) {
		uint8_t *own = malloc(size + 1); /* its end is watched */
		struct aif_nvtx_data d = {.schema = 1024 + i, .size = size, .data = own};

		if (!own)
			break;
		memcpy(own, data, size);
		len = aif_nvtx_payload_text(&w, 0, &d, text, len, sizeof(text));
		if (len >= sizeof(text) || text[len] != '\0')
			abort();
		d.schema = i < 2 ? head[i] : 75;
		len = aif_nvtx_payload_text(&w, 0, &d, text, len, sizeof(text));
		if (len >= sizeof(text) || text[len] != '\0')
			abort();
		free(own);
	}
	return 0;
}
