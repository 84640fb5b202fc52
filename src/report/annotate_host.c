/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the lines of a host function with the device time that each launched. */
#include "report/annotate.h"

#include "base/human.h"
#include "names/filter.h"
#include "names/launch_functions.h"
#include "report/annotate_json.h"
#include "report/annotate_places.h"
#include "text/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int places_find(const struct aif_launch_functions *f, const struct aif_launch_function *of,
		       struct aif_places *l)
{
	int r = 0;

	l->len = 0;
	for (size_t i = 0; i < of->len && !r; i++) {
		const struct aif_launch_line *at = &f->lines[of->first + i];

		r = aif_places_add(l, at->frame, at->depth, at->ns);
	}
	return r;
}

static void put_head(const struct aif_launch_functions *f, const struct aif_launch_function *of,
		     const struct aif_places *l, struct aif_buf *out)
{
	aif_buf_printf(out, "%s\n%s\n", aif_launch_function_name(f, of),
		       aif_profile_str(l->p, of->file));
	aif_human_share(out, aif_share_ppm(of->ns, f->time_ns));
	aif_buf_puts(out, " of device time: ");
	aif_human_ns(out, of->ns);
	aif_buf_puts(out, " launched by it and by what it calls");
	if (!strcmp(aif_profile_meta(l->p, "imported"), "kineto"))
		aif_buf_puts(out, "\nlines are where functions begin: the trace has no others");
}

static int no_match(const struct aif_launch_functions *f, const struct aif_attribution *a,
		    const struct aif_annotate_opts *o, struct aif_err *err)
{
	if (!a->rows_len)
		return aif_err_set(
			err, -ENODATA,
			"annotate: nothing ran on a device in this profile; functions by "
			"their CPU time: --of cpu");
	if (!f->len)
		return aif_err_set(err, -ENODATA,
				   "annotate: no launch with a time has a stack whose lines are "
				   "known; see aiflame info");
	return aif_err_set(err, -ENODATA,
			   "annotate: no function that launched device work matches '%s'; one is "
			   "'%.200s'",
			   o->kernel, aif_launch_function_name(f, &f->at[0]));
}

int aif_annotate_host_write(const struct aif_names *names, const struct aif_attribution *a,
			    const struct aif_annotate_opts *o, struct aif_buf *out,
			    struct aif_err *err)
{
	struct aif_launch_functions f = {0};
	struct aif_places l = {.p = names->p};
	struct aif_regex wanted;
	size_t shown = 0;
	int r = aif_regex_init(&wanted, "annotate: FUNCTION", o->kernel, err);

	if (r < 0)
		return r;
	r = aif_launch_functions_find(names, a, &f, err);
	for (size_t i = 0; i < f.len && !r; i++) {
		if (!f.at[i].ns ||
		    !aif_annotate_matches(&wanted, aif_launch_function_name(&f, &f.at[i])))
			continue;
		r = places_find(&f, &f.at[i], &l);
		if (r)
			break;
		if (shown++)
			aif_buf_puts(out, "\n\n");
		put_head(&f, &f.at[i], &l, out);
		aif_buf_puts(out, "\n\n");
		r = aif_places_put_lines(&l, o, f.at[i].ns, out);
	}
	if (!r && !shown)
		r = no_match(&f, a, o, err);
	else if (r < 0 && !err->code)
		aif_err_set(err, r, "annotate: %s", strerror(-r));
	aif_regex_finish(&wanted);
	aif_launch_functions_finish(&f);
	free(l.at);
	return r;
}

int aif_annotate_host_json(const struct aif_names *names, const struct aif_attribution *a,
			   size_t most, struct aif_strset *used, struct aif_buf *functions,
			   struct aif_buf *json)
{
	struct aif_launch_functions f = {0};
	struct aif_places l = {.p = names->p};
	struct aif_buf head = {0};
	struct aif_err err = {0};
	int r = aif_launch_functions_find(names, a, &f, &err);

	for (size_t i = 0; i < f.len && most && !r; i++) {
		if (!f.at[i].ns)
			continue;
		most--;
		r = places_find(&f, &f.at[i], &l);
		if (r)
			break;
		aif_annotate_json_name(functions, used, aif_launch_function_name(&f, &f.at[i]),
				       aif_profile_str(names->p, f.at[i].file));
		aif_buf_puts(json, json->data[json->len - 1] == '[' ? "" : ",");
		aif_buf_puts(json, "{\"head\":");
		put_head(&f, &f.at[i], &l, &head);
		aif_annotate_json_lines(json, &head);
		aif_buf_clear(&head);
		aif_buf_printf(json, ",\"all\":%" PRIu64 ",\"unit\":\"ns\",\"functions\":[{",
			       f.at[i].ns);
		r = aif_places_json(&l, f.at[i].ns, json);
		aif_buf_puts(json, ",\"code\":[]}]}");
	}
	if (aif_buf_failed(functions) || aif_buf_failed(json))
		r = -ENOMEM;
	aif_launch_functions_finish(&f);
	aif_buf_finish(&head);
	free(l.at);
	return r;
}
