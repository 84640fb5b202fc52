// SPDX-License-Identifier: Apache-2.0

// Launches kernels by cgo: twice from inner, by way of outer, and once from other, in main's goroutine and in another.
package main

/*
#cgo LDFLAGS: -lOpenCL
#include "towers.h"
*/
import "C"

//go:noinline
func inner(grow [64]int) int { C.launch(); return grow[3] }

//go:noinline
func outer() int { return inner([64]int{3: 1}) + inner([64]int{3: 2}) }

//go:noinline
func other() { C.launch() }

// Deep enough that the goroutine's stack is moved.
//
//go:noinline
func deep(n int) int {
	if n == 0 {
		other()
		return 0
	}
	return 1 + deep(n-1)
}

func main() {
	if C.start() != 0 {
		panic("no device")
	}
	done := make(chan bool)
	for i := 0; i < 10; i++ {
		outer()
		other()
		C.finish()
	}
	go func() {
		for i := 0; i < 10; i++ {
			other()
			C.finish()
		}
		deep(500)
		C.finish()
		done <- true
	}()
	<-done
}
