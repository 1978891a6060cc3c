//! Telling from the standard error that a program died of an exception nobody caught.

use super::words::words;

words! {
    /// The traces of runtimes: their heading, or a line of the stack as only they write it.
    TRACE = r#"(?mx)
        ^Traceback\ \(most\ recent\ call\ last\):                                  # Python
        | ^\s*\+?\s*Exception\ Group\ Traceback                                    # Python
        | ^\s+at\ .{0,400}[:(]\d+:\d+\)?\s*$                                       # Node, Bun, Deno
        | ^\s+at\ [\w.$<>/]+\([\w$]+\.(?:java|kt|scala|groovy):\d+\)               # Java and its relatives
        | ^\s+at\ [\w.$<>/]+\((?:Native\ Method|Unknown\ Source)\)
        | ^Exception\ in\ thread\ "
        | ^goroutine\ \d+\ (?:gp=\S+\ m=\S+\ (?:mp=\S+\ )?)?\[[^\]]+\]:            # Go
        | ^thread\ '[^']*'\ (?:\(\d+\)\ )?panicked\ at                             # Rust
        | ^fatal\ runtime\ error:
        | ^\s+at\ .{0,400}\ in\ \S+:line\ \d+\s*$                                  # .NET
        | ^Unhandled\ exception\.\ [\w.]+Exception
        | ^terminate\ called\ after\ throwing                                      # C++
        | ^\s*(?:from\ )?\S+\.rb:\d+:in\ [`']                                      # Ruby
    "#;
}

/// Whether a text holds the trace of an uncaught exception.
pub(super) fn is_trace(stderr: &str) -> bool {
    TRACE.are_in(stderr)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_traces_of_common_runtimes_are_known() {
        for text in [
            "Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\nValueError: x\n",
            "/app/cli.js:3\nthrow new Error('x')\n^\n\nError: x\n    at Object.<anonymous> (/app/cli.js:3:7)\n    at node:internal/main:1:2\n\nNode.js v22.1.0\n",
            "error: x\n      at main (/$bunfs/root/cli.js:10:9)\n",
            "TypeError: x is not a function\n    at file:///app/x.mjs:1:1\n",
            "panic: x\n\ngoroutine 1 [running]:\nmain.main()\n\t/app/main.go:4 +0x1d\nexit status 2\n",
            "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 gp=0xc0001 m=0 mp=0x1 [chan receive]:\n",
            "Exception in thread \"main\" java.lang.IllegalStateException: x\n\tat com.x.Main.main(Main.java:5)\n",
            "thread 'main' panicked at src/main.rs:2:5:\nx\n",
            "thread 'main' (4711) panicked at src/main.rs:2:5:\nx\n",
            "a warning\nthread 'tokio-runtime-worker' panicked at 'x', src/main.rs:2\n",
        ] {
            assert!(is_trace(text), "{text}");
        }
    }

    #[test]
    fn a_message_is_no_trace() {
        for text in [
            "",
            "error: unknown option '--x'\n",
            "Error: Input must be provided either through stdin or as a prompt argument\n",
            "usage: claw [-h]\nclaw: error: argument command: invalid choice: 'x'\n",
            "Look at line 3:4 of the file\n",
            "the thread 'main' was busy\n",
            "    at 12:30 the job starts\n",
        ] {
            assert!(!is_trace(text), "{text}");
        }
    }
}
