/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/dwarf_scope.h"

#include <dwarf.h>
#include <string.h>

/*
 * DWARF stores no parents. But entries lie in the file in the order of the tree, so the way down
 * from the unit to an entry is found by taking, at each level, the last child that begins at or
 * before it: a look at the siblings of a few levels and not at the whole unit.
 */

enum {
	MAX_ORIGINS = 16,
	MAX_SCOPES = 64,
	MAX_SIBLINGS = 1 << 20,
	MAX_SCOPED_NAME = 4096,
};

/* The entry that has the name: the abstract instance, its declaration, or itself. */
static bool declaration_of(const Dwarf_Die *function, Dwarf_Die *ret)
{
	*ret = *function;
	for (unsigned i = 0; i < MAX_ORIGINS; i++) {
		Dwarf_Attribute attr;
		Dwarf_Die next;

		if (!dwarf_attr(ret, DW_AT_abstract_origin, &attr) &&
		    !dwarf_attr(ret, DW_AT_specification, &attr))
			return dwarf_hasattr(ret, DW_AT_name);
		if (!dwarf_formref_die(&attr, &next))
			return false;
		*ret = next;
	}
	return false;
}

/* Steps to the child in whose extent `target` lies. */
static bool step_towards(Dwarf_Die *at, Dwarf_Off target, unsigned *budget)
{
	Dwarf_Die child, next;

	if (dwarf_child(at, &child) != 0 || dwarf_dieoffset(&child) > target)
		return false;
	while (dwarf_siblingof(&child, &next) == 0 && dwarf_dieoffset(&next) <= target &&
	       dwarf_dieoffset(&next) > dwarf_dieoffset(&child)) {
		if ((*budget)-- == 0)
			return false;
		child = next;
	}
	*at = child;
	return true;
}

/* A class without a name around operator() is a lambda's. */
static void append_scope(Dwarf_Die *die, const char *function, struct aif_buf *ret)
{
	const char *name;

	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
		name = dwarf_diename(die);
		aif_buf_puts(ret, name ? name : "(anonymous namespace)");
		break;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_subprogram: {
		Dwarf_Die named;

		name = declaration_of(die, &named) ? dwarf_diename(&named) : NULL;
		if (!name)
			name = strcmp(function, "operator()") ? "{unnamed}" : "{lambda}";
		aif_buf_puts(ret, name);
		break;
	}
	default: /* a block */
		return;
	}
	aif_buf_puts(ret, "::");
}

bool aif_dwarf_scoped_name(Dwarf_Die *function, struct aif_buf *ret)
{
	unsigned budget = MAX_SIBLINGS;
	size_t begin = ret->len;
	Dwarf_Die named, at;
	const char *name;
	Dwarf_Off target;

	if (!declaration_of(function, &named) || !(name = dwarf_diename(&named)) ||
	    !dwarf_diecu(&named, &at, NULL, NULL))
		return false;
	switch (dwarf_srclang(&at)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
		break;
	default:
		return false;
	}
	target = dwarf_dieoffset(&named);
	for (unsigned i = 0; i < MAX_SCOPES && step_towards(&at, target, &budget); i++) {
		if (dwarf_dieoffset(&at) == target) {
			aif_buf_puts(ret, name);
			return !ret->failed;
		}
		append_scope(&at, name, ret);
		if (ret->len - begin > MAX_SCOPED_NAME)
			break;
	}
	ret->len = begin;
	return false;
}
