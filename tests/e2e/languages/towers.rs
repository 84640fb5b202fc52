// SPDX-License-Identifier: Apache-2.0
//! Launches kernels through C functions: twice from inner, by way of outer, and once from other, in a thread, too.
extern "C" {
    fn tower_start() -> i32;
    fn tower_launch() -> i32;
    fn tower_finish() -> i32;
}

struct Caller<T>(T);

trait Inner {
    fn inner(&self) -> i32;
}

impl Inner for Caller<u8> {
    #[inline(never)]
    fn inner(&self) -> i32 {
        unsafe { tower_launch() + self.0 as i32 }
    }
}

#[inline(never)]
fn outer(c: &dyn Inner) -> i32 {
    c.inner() + c.inner()
}

#[inline(never)]
fn other() -> i32 {
    unsafe { tower_launch() * 2 }
}

fn main() {
    assert_eq!(unsafe { tower_start() }, 0);
    let c = std::hint::black_box(Caller(0u8));
    for _ in 0..10 {
        assert_eq!(outer(&c) + other() + unsafe { tower_finish() }, 0);
    }
    std::thread::spawn(|| {
        for _ in 0..10 {
            assert_eq!(other() + unsafe { tower_finish() }, 0);
        }
    })
    .join()
    .unwrap();
}
