import Glibc
import SQLite
import Storage

// A fixed little life of a store, for tests that make system calls fail or kill the process at one.
//
//     store-exerciser run DIRECTORY     insert, freeze, acknowledge, checkpoint; one line per step, each written at once
//     store-exerciser check DIRECTORY   open with the real code; what is there
//
// Lines of `run`: `try ID` before an insert, `stored ID` once it has returned, `failed ID MESSAGE`;
// `gone ID` for each id of an acknowledged batch once that has returned, `leaving ID` before it; `done` at the end.

/// write(2), so that what was said has been said when the process dies.
func say(_ line: String) {
    var bytes = Array((line + "\n").utf8)[...]
    while !bytes.isEmpty {
        let count = bytes.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
        guard count > 0 else { exit(74) }
        bytes = bytes.dropFirst(count)
    }
}

func fail(_ message: String) -> Never {
    say("error \(message)")
    exit(1)
}

guard CommandLine.arguments.count == 3 else { fail("usage: store-exerciser run|check DIRECTORY") }
let directory = CommandLine.arguments[2]
switch CommandLine.arguments[1] {
case "run":
    var exercise = Exercise(directory)
    exercise.run()
case "check": Check(directory).run()
default: fail("unknown command")
}
