/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Since glibc 2.38, whose headers know C23, these have a second name each: the one that reads 0b101
 * as well. Nothing that is linked here asks for that; it is what the compiler writes.
 */
#include <stdarg.h>
#include <stdio.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* Declares the functions by their names in the library: the headers would turn them into the new
 * ones. */
#define ALIAS(type, name)                                                        \
	type first_##name(const char *, char **, int) __asm__(#name);            \
	HIDDEN type __isoc23_##name(const char *text, char **ret_end, int base); \
	type __isoc23_##name(const char *text, char **ret_end, int base)         \
	{                                                                        \
		return first_##name(text, ret_end, base);                        \
	}
ALIAS(long, strtol)
ALIAS(unsigned long, strtoul)
ALIAS(long long, strtoll)
ALIAS(unsigned long long, strtoull)

int first_vsscanf(const char *, const char *, va_list) __asm__("__isoc99_vsscanf");
int first_vfscanf(FILE *, const char *, va_list) __asm__("__isoc99_vfscanf");
HIDDEN int __isoc23_sscanf(const char *text, const char *format, ...);
HIDDEN int __isoc23_fscanf(FILE *file, const char *format, ...);

int __isoc23_sscanf(const char *text, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = first_vsscanf(text, format, args);
	va_end(args);
	return n;
}

int __isoc23_fscanf(FILE *file, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = first_vfscanf(file, format, args);
	va_end(args);
	return n;
}
