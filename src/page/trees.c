/* SPDX-License-Identifier: Apache-2.0 */
#include "page/trees.h"

#include "text/json.h"

#include <stdio.h>
#include <string.h>

void aif_page_lack(struct aif_buf *lacks, const char *text)
{
	if (lacks->len)
		aif_buf_putc(lacks, ',');
	aif_out_json_text(lacks, text);
}

int aif_page_tree_add(const struct aif_page_trees *t, const char *key, const char *unit,
		      struct aif_page_tree *tree, struct aif_err *err)
{
	char prefix[32];
	int r;

	snprintf(prefix, sizeof(prefix), "%s_", key);
	r = aif_page_tree_write(tree, prefix, t->texts, t->columns);
	if (r < 0)
		return aif_err_set(err, r, "view: %s", strerror(-r));
	aif_buf_printf(t->json, "%s{\"key\":\"%s\",\"unit\":", t->json->len ? "," : "", key);
	aif_out_json_text(t->json, unit);
	aif_buf_printf(t->json, ",\"join\":%u,\"joined\":%zu,\"joined_below\":%llu}",
		       tree->cells ? tree->cells->join : 1, tree->joined,
		       (unsigned long long)tree->joined_below);
	return 0;
}
