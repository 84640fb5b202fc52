/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <yajl/yajl_parse.h>

/* Measures how long yajl takes to read a text in parts of 256 KiB and do nothing with it:
 * bench/import.sh. */
static int on_text(void *sum, const unsigned char *p, size_t n)
{
	(void)p;
	*(size_t *)sum += n;
	return 1;
}

static int on_number(void *sum, const char *p, size_t n)
{
	(void)p;
	*(size_t *)sum += n;
	return 1;
}

int main(int argc, char **argv)
{
	static const yajl_callbacks callbacks = {
		.yajl_number = on_number, .yajl_string = on_text, .yajl_map_key = on_text};
	static unsigned char buf[256 << 10];
	size_t sum = 0, n;
	yajl_handle h = yajl_alloc(&callbacks, NULL, &sum);
	FILE *f = argc > 1 ? fopen(argv[1], "re") : NULL;

	if (!h || !f)
		return 1;
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
		if (yajl_parse(h, buf, n) != yajl_status_ok)
			return 1;
	fclose(f);
	if (yajl_complete_parse(h) != yajl_status_ok)
		return 1;
	yajl_free(h);
	return sum == 0;
}
