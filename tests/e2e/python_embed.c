/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/python.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/*
 * A program that loads Python late, for itself only (RTLD_LOCAL), enters a second interpreter, ends Python
 * and begins it anew:  python_embed LIBPYTHON. Prints "ok WHAT" or "not ok WHAT", exits 1 after a failure.
 */

static struct aif_python python;
static struct aif_stack_bounds bounds;
static struct aif_python_frame frames[100];
static struct aif_python_stack stack;
static char names[1000], buffer[AIF_PYTHON_CODE_BUFFER];
static void *lib;
static int bad;

static void say(bool holds, const char *what)
{
	printf("%sok %s\n", holds ? "" : "not ", what);
	bad |= !holds;
}

static void take(struct aif_stack_bounds here)
{
	struct aif_python_code code;

	names[0] = 0;
	aif_python_walk(&python, AIF_PYTHON_AT_CALL, here, frames, 100, &stack);
	for (unsigned i = 0; i < stack.depth; i++) {
		if (aif_python_code_read(&python, frames[i].code, buffer, sizeof(buffer), &code))
			continue;
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%.*s ",
			 (int)code.name_len, code.name);
		if (frames[i].id == 0)
			aif_python_code_publish(&python, &code);
	}
	aif_python_walk(&python, AIF_PYTHON_AT_CALL, here, frames, 100, &stack);
}

/* PyCFunction: the interpreter calls it as walk() */
static void *walk(void *self, void *args)
{
	void *(*none)(const char *, ...) = dlsym(lib, "Py_BuildValue");

	(void)self;
	(void)args;
	take(bounds);
	return none("");
}

static struct {
	const char *name;
	void *(*call)(void *, void *);
	int flags;
	const char *doc;
} method = {"walk", walk, 1, NULL}; /* METH_VARARGS */

static void run(const char *source)
{
	void *(*new_function)(void *, void *, void *) = dlsym(lib, "PyCFunction_NewEx");
	void *(*add_module)(const char *) = dlsym(lib, "PyImport_AddModule");
	int (*set)(void *, const char *, void *) = dlsym(lib, "PyObject_SetAttrString");
	int (*run_string)(const char *, void *) = dlsym(lib, "PyRun_SimpleStringFlags");

	names[0] = 0;
	memset(&stack, 0, sizeof(stack));
	set(add_module("__main__"), "walk", new_function(&method, NULL, NULL));
	if (run_string(source, NULL))
		say(false, "Python runs");
}

static const char source[] = "def f(k):\n    return walk() if k == 0 else f(k - 1)\n"
			     "sorted([1], key=lambda x: f(2) or x)\n";
static const char expected[] = "f f f <lambda> <module> ";

static void *bare_thread(void *arg)
{
	struct aif_stack_bounds here;

	(void)arg;
	if (aif_stack_bounds_here(&here) == 0)
		take(here);
	return NULL;
}

int main(int argc, char **argv)
{
	void (*initialize)(int), *(*new_interpreter)(void), (*end_interpreter)(void *),
		*(*swap)(void *), *first, *second;
	int (*finalize)(void);
	pthread_t thread;

	if (argc < 2 || aif_stack_bounds_here(&bounds))
		return 2;
	aif_python_detect(&python);
	say(aif_python_state(&python) == AIF_PYTHON_ABSENT && aif_python_wanted(&python),
	    "nothing there");
	take(bounds);
	say(stack.depth == 0, "no frames");

	lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		printf("%s\n", dlerror());
		return 2;
	}
	initialize = dlsym(lib, "Py_InitializeEx");
	finalize = dlsym(lib, "Py_FinalizeEx");
	new_interpreter = dlsym(lib, "Py_NewInterpreter");
	end_interpreter = dlsym(lib, "Py_EndInterpreter");
	swap = dlsym(lib, "PyThreadState_Swap");
	aif_python_detect(&python);
	say(aif_python_state(&python) == AIF_PYTHON_CHECKING,
	    "a library that was loaded late is found");
	take(bounds);
	say(stack.depth == 0 && aif_python_state(&python) == AIF_PYTHON_CHECKING,
	    "an interpreter that was not begun says nothing");

	initialize(0);
	run(source);
	say(strcmp(names, expected) == 0 && stack.unknown == 0, "its frames");
	take(bounds);
	say(stack.depth == 0, "no frames outside of Python");
	if (pthread_create(&thread, NULL, bare_thread, NULL) == 0)
		pthread_join(thread, NULL);
	say(stack.depth == 0, "no frames in a thread without Python");

	first = swap(NULL);
	swap(first);
	second = new_interpreter();
	if (second) {
		run(source);
		say(names[0] == 0 && stack.depth == 0, "another interpreter's thread stays native");
		end_interpreter(second);
		swap(first);
	}
	run(source);
	say(strcmp(names, expected) == 0, "the main interpreter's frames, after another");

	finalize();
	take(bounds);
	say(stack.depth == 0, "no frames after the end");
	initialize(0);
	run(source);
	say(strcmp(names, expected) == 0 || stack.depth == 0, "a second life");
	finalize();
	aif_python_stop(&python);
	return bad;
}
