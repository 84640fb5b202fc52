/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way into a program on glibc before 2.34. There, the program's own start-up object ran its
 * constructors: it handed __libc_start_main a function that did. Since then the C library runs
 * them, the object hands over NULL, and __libc_start_main has a new version so that such a program
 * does not start on an old library with its constructors left out. This stands between the two:
 * called by today's object, it hands the old version (which every glibc still has) that function.
 */
#define HIDDEN __attribute__((visibility("hidden")))

typedef int main_fn(int, char **, char **);
typedef void init_fn(int, char **, char **);

int old_libc_start_main(main_fn *main, int argc, char **argv, init_fn *init, void (*fini)(void),
			void (*loader_fini)(void), void *stack_end);
__asm__(".symver old_libc_start_main, __libc_start_main@GLIBC_2.2.5");

HIDDEN int __libc_start_main(main_fn *main, int argc, char **argv, init_fn *init,
			     void (*fini)(void), void (*loader_fini)(void), void *stack_end);
extern init_fn *__preinit_array_start[] HIDDEN, *__preinit_array_end[] HIDDEN;
extern init_fn *__init_array_start[] HIDDEN, *__init_array_end[] HIDDEN;
extern void _init(void) HIDDEN;

static void run_constructors(int argc, char **argv, char **env)
{
	for (init_fn **f = __preinit_array_start; f < __preinit_array_end; f++)
		(*f)(argc, argv, env);
	_init();
	for (init_fn **f = __init_array_start; f < __init_array_end; f++)
		(*f)(argc, argv, env);
}

/* Destructors are the loader's in every version. */
int __libc_start_main(main_fn *main, int argc, char **argv, init_fn *init, void (*fini)(void),
		      void (*loader_fini)(void), void *stack_end)
{
	(void)init;
	return old_libc_start_main(main, argc, argv, run_constructors, fini, loader_fini,
				   stack_end);
}
