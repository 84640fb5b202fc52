/* SPDX-License-Identifier: Apache-2.0 */
#include "record/outname.h"

#include "base/buf.h"
#include "base/job_rank.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void put_host(struct aif_buf *b)
{
	char host[256] = "host";

	gethostname(host, sizeof(host) - 1);
	aif_buf_puts(b, host);
}

/* A value from outside must not lead into another directory. */
static void put_value(struct aif_buf *b, const char *value)
{
	for (; *value; value++)
		aif_buf_putc(b, *value == '/' ? '_' : *value);
}

int aif_outname(const char *pattern, char *ret, size_t size, struct aif_err *err)
{
	const char *rank = aif_job_rank_own();
	struct aif_buf b = {0};
	bool unique = false;
	int r = 0;

	if (!strcmp(pattern, "-"))
		return aif_err_set(err, -EINVAL,
				   "-o: a profile cannot go to standard output; name a file");
	for (const char *p = pattern; *p; p++) {
		if (*p != '%') {
			aif_buf_putc(&b, *p);
			continue;
		}
		switch (*++p) {
		case '%':
			aif_buf_putc(&b, '%');
			break;
		case 'h':
			put_host(&b);
			break;
		case 'p':
			aif_buf_printf(&b, "%d", (int)getpid());
			unique = true;
			break;
		case 'r':
			put_value(&b, rank ? rank : "0");
			unique = true;
			break;
		case 'q': {
			const char *end = p[1] == '{' ? strchr(p, '}') : NULL;
			char name[128];

			if (!end || (size_t)(end - p - 2) >= sizeof(name)) {
				r = aif_err_set(err, -EINVAL,
						"-o: %%q needs a variable; write %%q{NAME}");
				goto out;
			}
			memcpy(name, p + 2, (size_t)(end - p - 2));
			name[end - p - 2] = '\0';
			if (!getenv(name)) {
				r = aif_err_set(
					err, -EINVAL,
					"-o: %%q{%s}: the variable is not set; set it or leave it out",
					name);
				goto out;
			}
			put_value(&b, getenv(name));
			unique = true;
			p = end;
			break;
		}
		default:
			r = aif_err_set(err, -EINVAL,
					"-o: unknown %%%c; use %%h, %%p, %%r, %%q{VAR} or %%%%",
					*p ? *p : ' ');
			goto out;
		}
	}
	if (rank && !unique) {
		aif_buf_putc(&b, '.');
		put_host(&b);
		aif_buf_putc(&b, '.');
		put_value(&b, rank);
	}
	if (aif_buf_failed(&b) || b.len >= size || !b.len)
		r = aif_err_set(err, -ENAMETOOLONG, "-o: the name is empty or too long");
	else
		memcpy(ret, aif_buf_str(&b), b.len + 1);
out:
	aif_buf_finish(&b);
	return r;
}
