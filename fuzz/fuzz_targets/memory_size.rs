#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    bridged_fuzz::named("memory_size").expect("it is listed").attack(bytes);
});
