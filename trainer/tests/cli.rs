//! What a user of `train` and `explain` sees: commands with their output, in `cmd/*.trycmd`.

#[test]
fn commands_print_what_their_pages_show() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd");
}
