#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| pelton_fuzz::csv(data));
